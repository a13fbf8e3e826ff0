//! Parameters of DDL: new tables, columns, constraints and indexes.

use types::{Collation, SqlType};

use crate::filter::FilterTest;
use crate::index_settings::IndexSettings;
use crate::schema::{ComputedDef, IdentityDef, ObjectId};

/// A new column.
#[derive(Clone, Debug)]
pub struct NewColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// NULL allowed.
    pub nullable: bool,
    /// Collation; the default one if none is given.
    pub collation: Collation,
    /// IDENTITY.
    pub identity: Option<IdentityDef>,
    /// DEFAULT: constraint name when given, source text.
    pub default: Option<(Option<String>, String)>,
    /// Computed column.
    pub computed: Option<ComputedDef>,
    /// ROWGUIDCOL.
    pub is_rowguidcol: bool,
    /// `user_type_id` of its alias type, 0 when it has none.
    pub user_type_id: i32,
}

/// A property that a column can get or lose without any change of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnProperty {
    /// ROWGUIDCOL.
    RowGuid,
    /// NOT FOR REPLICATION, of an identity column.
    NotForReplication,
}

/// A new constraint.
#[derive(Clone, Debug)]
pub enum NewConstraint {
    /// PRIMARY KEY or UNIQUE.
    Key {
        /// Name when given.
        name: Option<String>,
        /// PRIMARY KEY.
        primary: bool,
        /// CLUSTERED or NONCLUSTERED if given.
        clustered: Option<bool>,
        /// Columns and DESC.
        columns: Vec<(String, bool)>,
        /// WITH (...).
        settings: IndexSettings,
    },
    /// CHECK.
    Check {
        /// Name when given.
        name: Option<String>,
        /// Source of the predicate.
        text: String,
        /// WITH NOCHECK: existing rows are not checked.
        is_not_trusted: bool,
        /// NOT FOR REPLICATION.
        is_not_for_replication: bool,
    },
    /// FOREIGN KEY.
    Foreign(NewForeignKey),
    /// DEFAULT for an existing column.
    Default {
        /// Name when given.
        name: Option<String>,
        /// Column.
        column: String,
        /// Source of the expression.
        text: String,
    },
}

/// A new foreign key.
#[derive(Clone, Debug)]
pub struct NewForeignKey {
    /// Name when given.
    pub name: Option<String>,
    /// Columns here.
    pub columns: Vec<String>,
    /// Table referred to; `None` for the table itself.
    pub referenced_object_id: Option<ObjectId>,
    /// Columns there; none for its primary key.
    pub referenced_columns: Vec<String>,
    /// 0 NO ACTION, 1 CASCADE, 2 SET NULL, 3 SET DEFAULT.
    pub delete_action: u8,
    /// As `delete_action`.
    pub update_action: u8,
    /// WITH NOCHECK: existing rows are not checked.
    pub is_not_trusted: bool,
    /// NOT FOR REPLICATION.
    pub is_not_for_replication: bool,
}

/// A new index.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// Name.
    pub name: String,
    /// UNIQUE.
    pub unique: bool,
    /// CLUSTERED.
    pub clustered: bool,
    /// Key columns and DESC.
    pub columns: Vec<(String, bool)>,
    /// INCLUDE.
    pub included: Vec<String>,
    /// WHERE.
    pub filter: Option<NewFilter>,
    /// WITH (DROP_EXISTING = ON): it replaces the index of its name.
    pub replaces: bool,
    /// The other WITH (...) settings.
    pub settings: IndexSettings,
}

/// The filter of a new index.
#[derive(Clone, Debug)]
pub struct NewFilter {
    /// As the catalog shows it.
    pub text: String,
    /// Columns by name, with the conditions on their values: constants of the column's type.
    pub terms: Vec<(String, FilterTest)>,
}

/// A new table.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Columns.
    pub columns: Vec<NewColumn>,
    /// Constraints of columns and of the table.
    pub constraints: Vec<NewConstraint>,
    /// Inline indexes.
    pub indexes: Vec<NewIndex>,
    /// SET ANSI_NULLS of the creating session.
    pub ansi_nulls: bool,
}
