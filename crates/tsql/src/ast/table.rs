//! Tables, types, sequences, synonyms, DROP.

use super::{ColumnRef, CreateIndexColumn, DataType, Expr, Ident, NamedOption, ObjectName, Span, Storage};

/// CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateTable {
    pub name: ObjectName,
    pub kind: TableKind,
    pub elements: Vec<TableElement>,
    /// ON filegroup or partition scheme (column)
    pub on: Option<Storage>,
    pub textimage_on: Option<Ident>,
    pub filestream_on: Option<Ident>,
    /// WITH (MEMORY_OPTIMIZED = ON, DURABILITY = .., SYSTEM_VERSIONING = ON (..), DATA_COMPRESSION = ..)
    pub options: Vec<NamedOption>,
}

/// Suffix of CREATE TABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TableKind {
    Plain,
    FileTable,
    GraphNode,
    GraphEdge,
    External,
}

/// One item in the parentheses of a table definition.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
#[allow(clippy::large_enum_variant)] // few of them, and plain to match on
pub enum TableElement {
    Column(ColumnDefinition),
    Constraint(TableConstraint),
    Index(InlineIndex),
    /// PERIOD FOR SYSTEM_TIME (from, to)
    Period(Ident, Ident),
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ColumnDefinition {
    pub name: Ident,
    /// None for computed columns, and for `timestamp` written without a name's type.
    pub data_type: Option<DataType>,
    /// `AS expr`
    pub computed: Option<Computed>,
    pub collation: Option<Ident>,
    /// NULL (true), NOT NULL (false), not said.
    pub nullable: Option<bool>,
    /// Written more than once: error 8150.
    pub is_nullable_said_again: bool,
    pub identity: Option<Identity>,
    pub is_rowguidcol: bool,
    pub is_sparse: bool,
    pub is_filestream: bool,
    pub is_hidden: bool,
    /// `COLUMN_SET FOR ALL_SPARSE_COLUMNS`
    pub is_column_set: bool,
    /// GENERATED ALWAYS AS ..
    pub generated: Option<Generated>,
    /// MASKED WITH (FUNCTION = '..')
    pub masked: Option<String>,
    /// ENCRYPTED WITH (..)
    pub encrypted: Vec<NamedOption>,
    pub constraints: Vec<ColumnConstraint>,
    /// Inline INDEX of this column.
    pub index: Option<InlineIndex>,
    pub span: Span,
}

/// `AS expr [PERSISTED]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Computed {
    pub expr: Expr,
    pub persisted: bool,
}

/// `IDENTITY [(seed, increment)] [NOT FOR REPLICATION]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Identity {
    pub seed: Option<Expr>,
    pub increment: Option<Expr>,
    pub not_for_replication: bool,
}

/// GENERATED ALWAYS AS {ROW|TRANSACTION_ID|SEQUENCE_NUMBER} {START|END}
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Generated {
    pub what: Ident,
    pub start: bool,
}

/// A constraint written behind a column.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ColumnConstraint {
    pub name: Option<Ident>,
    pub kind: ColumnConstraintKind,
    pub span: Span,
}

/// Kinds of column constraints.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ColumnConstraintKind {
    Default { value: Expr, with_values: bool },
    Check { condition: Expr, not_for_replication: bool },
    Key(KeyConstraint),
    References(Box<References>),
}

/// A constraint of the table.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct TableConstraint {
    pub name: Option<Ident>,
    pub kind: TableConstraintKind,
    pub span: Span,
}

/// Kinds of table constraints.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum TableConstraintKind {
    Key(KeyConstraint),
    ForeignKey {
        columns: Vec<Ident>,
        references: Box<References>,
    },
    Check {
        condition: Expr,
        not_for_replication: bool,
    },
    /// `DEFAULT expr FOR column` (ALTER TABLE ADD)
    Default {
        value: Expr,
        column: Ident,
        with_values: bool,
    },
    /// `CONNECTION (a TO b, ..)` of graph edges
    Connection(Vec<(ObjectName, ObjectName)>, Option<ReferentialAction>),
}

/// PRIMARY KEY or UNIQUE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct KeyConstraint {
    pub primary: bool,
    /// CLUSTERED (true), NONCLUSTERED (false), not said.
    pub clustered: Option<bool>,
    /// NONCLUSTERED HASH
    pub hash: bool,
    /// Empty when written behind a column.
    pub columns: Vec<CreateIndexColumn>,
    pub options: Vec<NamedOption>,
    pub on: Option<Storage>,
    /// NOT ENFORCED
    pub not_enforced: bool,
}

/// REFERENCES t (c) ON DELETE ..
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct References {
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    pub on_delete: Option<ReferentialAction>,
    pub on_update: Option<ReferentialAction>,
    pub not_for_replication: bool,
}

/// What a foreign key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReferentialAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

/// INDEX inside a table definition.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct InlineIndex {
    pub name: Ident,
    pub unique: bool,
    pub clustered: Option<bool>,
    pub hash: bool,
    pub columnstore: bool,
    pub columns: Vec<CreateIndexColumn>,
    pub include: Vec<Ident>,
    pub filter: Option<Expr>,
    pub options: Vec<NamedOption>,
    pub on: Option<Storage>,
    pub filestream_on: Option<Ident>,
}

/// ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterTable {
    pub name: ObjectName,
    pub action: AlterTableAction,
}

/// What ALTER TABLE does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
#[allow(clippy::large_enum_variant)] // few of them, and plain to match on
pub enum AlterTableAction {
    /// ADD columns and constraints; WITH CHECK (true) / NOCHECK (false).
    Add {
        check: Option<bool>,
        elements: Vec<TableElement>,
    },
    AlterColumn(Box<AlterColumn>),
    Drop(Vec<AlterTableDrop>),
    /// [WITH CHECK|NOCHECK] CHECK|NOCHECK CONSTRAINT ALL|names
    CheckConstraint {
        with_check: Option<bool>,
        enable: bool,
        names: Names,
    },
    /// ENABLE|DISABLE TRIGGER
    Trigger {
        enable: bool,
        names: Names,
    },
    /// ENABLE|DISABLE CHANGE_TRACKING [WITH (..)]
    ChangeTracking {
        enable: bool,
        options: Vec<NamedOption>,
    },
    /// SWITCH [PARTITION n] TO target [PARTITION m] [WITH (..)]
    Switch {
        partition: Option<Expr>,
        target: ObjectName,
        target_partition: Option<Expr>,
        options: Vec<NamedOption>,
    },
    /// SET (..)
    Set(Vec<NamedOption>),
    /// REBUILD [PARTITION = ALL|n] [WITH (..)]
    Rebuild {
        partition: Option<Expr>,
        options: Vec<NamedOption>,
    },
    /// ENABLE|DISABLE FILETABLE_NAMESPACE
    FileTableNamespace {
        enable: bool,
    },
    /// ALTER INDEX name REBUILD ... of memory-optimized tables, kept as text.
    Other(String),
}

/// ALL or a list.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Names {
    All,
    List(Vec<Ident>),
}

/// ALTER TABLE .. ALTER COLUMN
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterColumn {
    pub name: Ident,
    pub change: AlterColumnChange,
    /// WITH (ONLINE = ON)
    pub options: Vec<NamedOption>,
}

/// What changes.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
#[allow(clippy::large_enum_variant)] // few of them, and plain to match on
pub enum AlterColumnChange {
    Type {
        data_type: DataType,
        collation: Option<Ident>,
        nullable: Option<bool>,
        is_sparse: bool,
        encrypted: Vec<NamedOption>,
        masked: Option<String>,
    },
    /// ADD|DROP and PERSISTED, ROWGUIDCOL, SPARSE, HIDDEN, NOT FOR REPLICATION, MASKED
    Property { add: bool, property: Ident, mask: Option<String> },
}

/// One item of ALTER TABLE .. DROP
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum AlterTableDrop {
    Column {
        if_exists: bool,
        name: Ident,
    },
    /// CONSTRAINT, or a bare name.
    Constraint {
        if_exists: bool,
        name: Ident,
        options: Vec<NamedOption>,
    },
    Index {
        if_exists: bool,
        name: Ident,
    },
    Period,
}

/// CREATE/ALTER SEQUENCE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SequenceDefinition {
    pub name: ObjectName,
    pub data_type: Option<DataType>,
    pub start_with: Option<Expr>,
    /// RESTART [WITH n]
    pub restart: Option<Option<Expr>>,
    pub increment: Option<Expr>,
    /// MINVALUE n is Some(Some(n)), NO MINVALUE is Some(None).
    pub min_value: Option<Option<Expr>>,
    pub max_value: Option<Option<Expr>>,
    pub cycle: Option<bool>,
    pub cache: Option<SequenceCache>,
    /// WITH (HARDEN_AHEAD = ON | OFF | NEXT), Hardpan's own.
    pub options: Vec<NamedOption>,
}

/// CACHE of a sequence.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SequenceCache {
    NoCache,
    /// Size not said.
    Default,
    Size(Expr),
}

/// CREATE TYPE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateType {
    pub name: ObjectName,
    pub definition: TypeDefinition,
}

/// What the type is.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum TypeDefinition {
    Alias { base: DataType, nullable: Option<bool> },
    Table { elements: Vec<TableElement>, options: Vec<NamedOption> },
    External(String),
}

/// CREATE SYNONYM name FOR target
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateSynonym {
    pub name: ObjectName,
    pub target: ObjectName,
}

/// DROP kind [IF EXISTS] names
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Drop {
    pub kind: DropKind,
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    /// Triggers: ON DATABASE / ON ALL SERVER.
    pub scope: Option<TriggerScope>,
}

/// What is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DropKind {
    Table,
    View,
    Procedure,
    Function,
    Trigger,
    Schema,
    Sequence,
    Type,
    Synonym,
    User,
    Role,
    ServerRole,
    Login,
    PartitionFunction,
    PartitionScheme,
    Default,
    Rule,
    ApplicationRole,
    ExternalTable,
    Aggregate,
    /// A kind that is only known by name, with IF EXISTS.
    Named(&'static str),
}

/// The scope of a DDL or logon trigger.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum TriggerScope {
    Object(ObjectName),
    Database,
    AllServer,
}

/// Columns by reference (kept here for modules that name columns).
pub type Columns = Vec<ColumnRef>;
