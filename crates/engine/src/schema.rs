//! Definitions of the catalog: the objects of a database without data, immutable once published.

use std::sync::Arc;

use pages::PageId;
use types::{Collation, DateTime, SqlType, Value};

use crate::filter::{FilterTerm, IndexFilter};
use crate::index_settings::IndexSettings;
use crate::index_uses::IndexUses;
pub use crate::object_id::ObjectId;
use crate::sequence_def::SequenceDef;
use crate::trigger_def::TriggerDef;

/// `dbo`.
pub const SCHEMA_DBO: i32 = 1;
/// `INFORMATION_SCHEMA`.
pub const SCHEMA_INFORMATION: i32 = 3;
/// `sys`.
pub const SCHEMA_SYS: i32 = 4;

/// A schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaDef {
    /// `schema_id`.
    pub schema_id: i32,
    /// Name.
    pub name: Arc<str>,
}

/// An object that has a name of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectDef {
    /// A table of users or of the system.
    Table(Arc<TableDef>),
    /// A view, procedure, function or trigger: defined by its text.
    Module(Arc<ModuleDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
}

impl ObjectDef {
    /// `object_id`.
    pub fn object_id(&self) -> ObjectId {
        match self {
            ObjectDef::Table(table) => table.object_id,
            ObjectDef::Module(module) => module.object_id,
            ObjectDef::Sequence(sequence) => sequence.object_id,
        }
    }

    /// `schema_id`.
    pub fn schema_id(&self) -> i32 {
        match self {
            ObjectDef::Table(table) => table.schema_id,
            ObjectDef::Module(module) => module.schema_id,
            ObjectDef::Sequence(sequence) => sequence.schema_id,
        }
    }

    /// Name.
    pub fn name(&self) -> &Arc<str> {
        match self {
            ObjectDef::Table(table) => &table.name,
            ObjectDef::Module(module) => &module.name,
            ObjectDef::Sequence(sequence) => &sequence.name,
        }
    }

    /// Is it the same definition object, not just an equal one?
    pub fn is_same(&self, other: &ObjectDef) -> bool {
        match (self, other) {
            (ObjectDef::Table(one), ObjectDef::Table(other)) => Arc::ptr_eq(one, other),
            (ObjectDef::Module(one), ObjectDef::Module(other)) => Arc::ptr_eq(one, other),
            (ObjectDef::Sequence(one), ObjectDef::Sequence(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Two-letter type of `sys.objects`: "U ", "S ", "V ", "P ", "FN", "IF", "TF", "TR", "TT", "SO".
    pub fn type_code(&self) -> &'static str {
        match self {
            ObjectDef::Table(table) if table.is_system => "S ",
            ObjectDef::Table(_) => "U ",
            ObjectDef::Module(module) => module.kind.type_code(),
            ObjectDef::Sequence(_) => "SO",
        }
    }

    /// When it was created.
    pub fn create_date(&self) -> DateTime {
        match self {
            ObjectDef::Table(table) => table.create_date,
            ObjectDef::Module(module) => module.create_date,
            ObjectDef::Sequence(sequence) => sequence.create_date,
        }
    }

    /// When it was last changed.
    pub fn modify_date(&self) -> DateTime {
        match self {
            ObjectDef::Table(table) => table.modify_date,
            ObjectDef::Module(module) => module.modify_date,
            ObjectDef::Sequence(sequence) => sequence.modify_date,
        }
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    /// `object_id`.
    pub object_id: ObjectId,
    /// `schema_id`.
    pub schema_id: i32,
    /// Schema name.
    pub schema: Arc<str>,
    /// Name; for temporary tables the real one in tempdb.
    pub name: Arc<str>,
    /// A table of the catalog itself.
    pub is_system: bool,
    /// SET ANSI_NULLS when it was created: it applies to its CHECK constraints, defaults and computed columns.
    pub ansi_nulls: bool,
    /// In order of `column_id`; dropped columns are gone from here but keep their number unused.
    pub columns: Vec<ColumnDef>,
    /// The heap or clustered index first (index_id 0 or 1), then the nonclustered ones.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// FOREIGN KEY constraints of this table.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// When it was created.
    pub create_date: DateTime,
    /// When it was last changed.
    pub modify_date: DateTime,
    /// Next number for a column.
    pub next_column_id: i32,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// `column_id`, from 1, never used again after a drop.
    pub column_id: i32,
    /// Name.
    pub name: Arc<str>,
    /// Type.
    pub sql_type: SqlType,
    /// NULL allowed.
    pub nullable: bool,
    /// Collation of character columns.
    pub collation: Collation,
    /// IDENTITY(seed, increment).
    pub identity: Option<IdentityDef>,
    /// DEFAULT constraint.
    pub default: Option<DefaultDef>,
    /// Computed column.
    pub computed: Option<ComputedDef>,
    /// ROWGUIDCOL.
    pub is_rowguidcol: bool,
    /// `user_type_id` of its alias type, 0 when it has none.
    pub user_type_id: i32,
}

impl ColumnDef {
    /// Does its value depend on its row alone?
    pub fn is_deterministic(&self) -> bool {
        self.computed.as_ref().is_none_or(|computed| computed.is_deterministic)
    }

    /// The rows do not store it.
    pub(crate) fn is_made_when_read(&self) -> bool {
        self.computed.as_ref().is_some_and(|computed| !computed.persisted)
    }
}

/// IDENTITY of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdentityDef {
    /// First value.
    pub seed: i128,
    /// Step, not 0.
    pub increment: i128,
    /// NOT FOR REPLICATION. There are no replication agents, so it has no effect.
    pub is_not_for_replication: bool,
}

/// A DEFAULT constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultDef {
    /// `object_id` of the constraint.
    pub object_id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// Source of the expression.
    pub text: Arc<str>,
    /// The system chose the name.
    pub is_system_named: bool,
}

/// A computed column's source.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputedDef {
    /// Source of the expression.
    pub text: Arc<str>,
    /// PERSISTED.
    pub persisted: bool,
    /// Its value depends on the row alone. Otherwise (GETDATE, @@SPID) it is computed at each read, and a value stored in a row
    /// is ignored; it is neither persisted nor in an index.
    pub is_deterministic: bool,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDef {
    /// `object_id` of the constraint.
    pub object_id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// Source of the predicate.
    pub text: Arc<str>,
    /// The system chose the name.
    pub is_system_named: bool,
    /// Is it checked, and do the rows satisfy it?
    pub state: ConstraintState,
}

/// Whether a CHECK or FOREIGN KEY constraint is in force (`is_disabled`, `is_not_trusted`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstraintState {
    /// NOCHECK CONSTRAINT: new rows are not checked.
    pub is_disabled: bool,
    /// Some rows have not been checked: added WITH NOCHECK, or disabled once.
    pub is_not_trusted: bool,
    /// NOT FOR REPLICATION, and then never trusted. There are no replication agents: it is checked for all sessions.
    pub is_not_for_replication: bool,
}

impl ConstraintState {
    /// The state of a new constraint, enabled. A NOT FOR REPLICATION constraint is not trusted.
    pub(crate) fn of_new(is_not_trusted: bool, is_not_for_replication: bool) -> ConstraintState {
        let is_not_trusted = is_not_trusted || is_not_for_replication;
        ConstraintState { is_disabled: false, is_not_trusted, is_not_for_replication }
    }

    /// Enabled or disabled; `is_checked`: all rows satisfy it.
    pub fn taken(self, is_disabled: bool, is_checked: bool) -> ConstraintState {
        let is_trusted = is_checked || !(self.is_not_trusted || is_disabled);
        let is_not_trusted = !is_trusted || self.is_not_for_replication;
        ConstraintState { is_disabled, is_not_trusted, ..self }
    }
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKeyDef {
    /// `object_id` of the constraint.
    pub object_id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// Numbers of the columns here.
    pub column_ids: Vec<i32>,
    /// Table referred to.
    pub referenced_object_id: ObjectId,
    /// Numbers of the columns there.
    pub referenced_column_ids: Vec<i32>,
    /// The system chose the name.
    pub is_system_named: bool,
    /// 0 NO ACTION, 1 CASCADE, 2 SET NULL, 3 SET DEFAULT.
    pub delete_action: u8,
    /// As `delete_action`.
    pub update_action: u8,
    /// Is it checked, and do the rows satisfy it?
    pub state: ConstraintState,
}

/// The kind of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// No clustered index: rows are wherever there was free space.
    Heap,
    /// The rows are in the tree.
    Clustered,
    /// Keys with locators of the rows.
    Nonclustered,
}

/// A heap or an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// 0 heap, 1 clustered, 2 and more nonclustered.
    pub index_id: i32,
    /// Name; none for a heap.
    pub name: Option<Arc<str>>,
    /// Its kind.
    pub kind: IndexKind,
    /// No two rows have the same key.
    pub unique: bool,
    /// Created by a PRIMARY KEY constraint.
    pub primary_key: bool,
    /// Created by a UNIQUE constraint.
    pub unique_constraint: bool,
    /// `object_id` of that constraint, 0 for a plain index.
    pub constraint_id: ObjectId,
    /// The system chose the constraint's name.
    pub is_system_named: bool,
    /// Key columns in order.
    pub key: Vec<IndexColumn>,
    /// Ordinals (positions in `TableDef::columns`) of included columns.
    pub included: Vec<usize>,
    /// Only rows that satisfy it have entries; `None`: all have. Only for nonclustered indexes.
    pub filter: Option<IndexFilter>,
    /// ALTER INDEX ... DISABLE: a nonclustered index then has no unit (0) and no entries; if a table's clustered index is disabled, the
    /// rows exist but can be neither read nor changed.
    pub is_disabled: bool,
    /// Its WITH (...) settings.
    pub settings: IndexSettings,
    /// Allocation unit.
    pub unit: u32,
    /// First page of a heap, root of a tree; fixed for the unit's life.
    pub root: PageId,
    /// Its usage counts.
    pub uses: IndexUses,
}

impl IndexDef {
    /// Has it pages? A disabled nonclustered index has none.
    pub fn has_unit(&self) -> bool {
        !self.is_disabled || self.kind != IndexKind::Nonclustered
    }

    /// Has it an entry for every row of the table?
    pub fn is_whole(&self) -> bool {
        self.filter.is_none() && self.has_unit()
    }

    /// Has it this name, in any letter case?
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|own| Collation::DEFAULT.same_name(own, name))
    }
}

/// One key column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Position in `TableDef::columns`.
    pub ordinal: usize,
    /// DESC.
    pub descending: bool,
}

/// The kind of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleKind {
    /// CREATE VIEW.
    View,
    /// CREATE PROCEDURE.
    Procedure,
    /// Scalar function.
    ScalarFunction,
    /// Inline table function.
    InlineFunction,
    /// Table function with a body.
    TableFunction,
    /// CREATE TRIGGER.
    Trigger,
    /// The table of a table type; its text is the CREATE TYPE.
    TableType,
    /// CREATE SYNONYM; its text is the name of its base object.
    Synonym,
    /// CREATE TRIGGER ... ON DATABASE.
    DatabaseTrigger,
}

impl ModuleKind {
    /// Type of `sys.objects`.
    pub fn type_code(self) -> &'static str {
        match self {
            ModuleKind::View => "V ",
            ModuleKind::Procedure => "P ",
            ModuleKind::ScalarFunction => "FN",
            ModuleKind::InlineFunction => "IF",
            ModuleKind::TableFunction => "TF",
            ModuleKind::Trigger => "TR",
            ModuleKind::TableType => "TT",
            ModuleKind::Synonym => "SN",
            ModuleKind::DatabaseTrigger => "DT",
        }
    }

    /// Is it an object of a schema, so that the lists of objects show it?
    pub fn is_in_schema(self) -> bool {
        self != ModuleKind::DatabaseTrigger
    }

    /// Is its text a statement that a user wrote to define a module?
    pub fn has_module_text(self) -> bool {
        !matches!(self, ModuleKind::TableType | ModuleKind::Synonym)
    }

    /// From the type of `sys.objects`.
    pub fn from_type_code(code: &str) -> Option<ModuleKind> {
        Some(match code.trim_end() {
            "V" => ModuleKind::View,
            "P" => ModuleKind::Procedure,
            "FN" => ModuleKind::ScalarFunction,
            "IF" => ModuleKind::InlineFunction,
            "TF" => ModuleKind::TableFunction,
            "TR" => ModuleKind::Trigger,
            "TT" => ModuleKind::TableType,
            "SN" => ModuleKind::Synonym,
            "DT" => ModuleKind::DatabaseTrigger,
            _ => return None,
        })
    }
}

/// A view, procedure, function, trigger or synonym, or the table of a table type.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleDef {
    /// `object_id`.
    pub object_id: ObjectId,
    /// `schema_id`.
    pub schema_id: i32,
    /// Schema name.
    pub schema: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: ModuleKind,
    /// The whole batch that created it.
    pub definition: Arc<str>,
    /// SET QUOTED_IDENTIFIER when it was created.
    pub quoted_identifier: bool,
    /// SET ANSI_NULLS when it was created.
    pub ansi_nulls: bool,
    /// WITH SCHEMABINDING: the objects that its text names by schema and name can neither be dropped nor changed.
    pub is_schema_bound: bool,
    /// WITH NATIVE_COMPILATION.
    pub uses_native_compilation: bool,
    /// The columns of each `*` in the text of a view or inline function; empty for those of an earlier version.
    pub stars: Arc<[KeptStar]>,
    /// Table or view of a trigger.
    pub parent_object_id: ObjectId,
    /// When a trigger fires; of other modules it says nothing.
    pub trigger: TriggerDef,
    /// When it was created.
    pub create_date: DateTime,
    /// When it was last changed.
    pub modify_date: DateTime,
}

/// A `*` or `t.*` in the text of a module, and its columns when the module was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStar {
    /// Its position: its first byte in the definition.
    pub place: u32,
    /// The columns in order.
    pub columns: Vec<KeptColumn>,
}

/// A column of a `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptColumn {
    /// Position of its table in the FROM clause.
    pub table: u16,
    /// Its name.
    pub name: Arc<str>,
}

/// The settings that a module is created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleSettings {
    /// SET QUOTED_IDENTIFIER of the session.
    pub quoted_identifier: bool,
    /// SET ANSI_NULLS of the session.
    pub ansi_nulls: bool,
    /// WITH SCHEMABINDING.
    pub is_schema_bound: bool,
    /// WITH NATIVE_COMPILATION.
    pub uses_native_compilation: bool,
    /// When a trigger fires.
    pub trigger: TriggerDef,
}

/// Bits of `status` in the row of a module in the catalog's list of objects.
const QUOTED_IDENTIFIER_BIT: i32 = 1;
const ANSI_NULLS_BIT: i32 = 2;
const SCHEMA_BOUND_BIT: i32 = 4;
const NATIVE_COMPILATION_BIT: i32 = 8;

impl ModuleSettings {
    /// From the catalog's form.
    pub(crate) fn from_status(status: i32) -> ModuleSettings {
        let has = |bit| status & bit != 0;
        ModuleSettings {
            quoted_identifier: has(QUOTED_IDENTIFIER_BIT),
            ansi_nulls: has(ANSI_NULLS_BIT),
            is_schema_bound: has(SCHEMA_BOUND_BIT),
            uses_native_compilation: has(NATIVE_COMPILATION_BIT),
            trigger: TriggerDef::from_status(status),
        }
    }

    /// In the catalog's form.
    pub(crate) fn status(self) -> i32 {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        bit(self.quoted_identifier, QUOTED_IDENTIFIER_BIT)
            | bit(self.ansi_nulls, ANSI_NULLS_BIT)
            | bit(self.is_schema_bound, SCHEMA_BOUND_BIT)
            | bit(self.uses_native_compilation, NATIVE_COMPILATION_BIT)
            | self.trigger.status()
    }
}

impl ModuleDef {
    /// The settings that it was created with.
    pub fn settings(&self) -> ModuleSettings {
        ModuleSettings {
            quoted_identifier: self.quoted_identifier,
            ansi_nulls: self.ansi_nulls,
            is_schema_bound: self.is_schema_bound,
            uses_native_compilation: self.uses_native_compilation,
            trigger: self.trigger,
        }
    }
}

impl TableDef {
    /// The heap or clustered index, which holds the rows.
    pub fn base(&self) -> &IndexDef {
        self.indexes.first().expect("a table has a heap or a clustered index")
    }

    /// Is it a heap?
    pub fn is_heap(&self) -> bool {
        self.base().kind == IndexKind::Heap
    }

    /// Position of a column by name, ignoring letter case.
    pub fn column_ordinal(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| Collation::DEFAULT.same_name(&c.name, name))
    }

    /// The identity column's position.
    pub fn identity_ordinal(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.identity.is_some())
    }

    /// An index by its number.
    pub fn index(&self, index_id: i32) -> Option<&IndexDef> {
        self.indexes.iter().find(|i| i.index_id == index_id)
    }

    /// Is it a table variable (assuming a table of tempdb)? Its name there is `#` and eight hexadecimal digits; temporary tables have longer ones.
    pub fn is_table_variable(&self) -> bool {
        match self.name.as_bytes() {
            [b'#', digits @ ..] => digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit),
            _ => false,
        }
    }

    /// Is it a temporary table or table variable of tempdb?
    pub fn is_temporary(&self) -> bool {
        self.name.starts_with('#')
    }

    /// Has it an enabled index with a filter?
    pub fn has_filtered_index(&self) -> bool {
        self.indexes.iter().any(|index| index.filter.is_some() && index.has_unit())
    }

    /// An index by its name, in any letter case.
    pub fn index_named(&self, name: &str) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.is_named(name))
    }

    /// The unique index by which a foreign key finds its rows here: its key columns are the referenced ones.
    pub fn referenced_index(&self, key: &ForeignKeyDef) -> Option<&IndexDef> {
        self.key_over(&key.referenced_column_ids)
    }

    /// The unique index over exactly these columns (by number, in any order) and all rows. A primary key is preferred, a disabled index is the last
    /// choice.
    pub fn key_over(&self, column_ids: &[i32]) -> Option<&IndexDef> {
        let covers = |index: &&IndexDef| {
            index.unique
                && index.filter.is_none()
                && index.key.len() == column_ids.len()
                && index.key.iter().all(|k| column_ids.contains(&self.columns[k.ordinal].column_id))
        };
        let mut found: Vec<&IndexDef> = self.indexes.iter().filter(covers).collect();
        found.sort_by_key(|index| (index.is_disabled, !index.primary_key));
        found.first().copied()
    }

    /// `schema.name` for messages.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Names and numbers of the constraints, which are objects, too: (object_id, name, type of `sys.objects`).
    pub fn constraints(&self) -> Vec<(ObjectId, Arc<str>, &'static str)> {
        let mut all = Vec::new();
        for index in self.indexes.iter().filter(|i| i.constraint_id != 0) {
            let name = index.name.clone().unwrap_or_else(|| Arc::from(""));
            all.push((index.constraint_id, name, if index.primary_key { "PK" } else { "UQ" }));
        }
        all.extend(
            self.columns
                .iter()
                .filter_map(|c| c.default.as_ref())
                .map(|d| (d.object_id, d.name.clone(), "D ")),
        );
        all.extend(self.checks.iter().map(|c| (c.object_id, c.name.clone(), "C ")));
        all.extend(self.foreign_keys.iter().map(|f| (f.object_id, f.name.clone(), "F ")));
        all
    }
}

impl IndexFilter {
    /// Does a row of the table have an entry in the index?
    pub fn accepts(&self, table: &TableDef, row: &[Value]) -> bool {
        assert_eq!(row.len(), table.columns.len(), "a filter judges whole rows");
        let holds =
            |term: &FilterTerm| term.test.accepts(&row[term.ordinal], table.columns[term.ordinal].collation);
        self.terms.iter().all(holds)
    }
}
