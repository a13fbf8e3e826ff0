//! Indexes, statistics, partitions.

use super::{DataType, Expr, Ident, NamedOption, ObjectName};

/// CREATE INDEX, also COLUMNSTORE, XML, SPATIAL, JSON, VECTOR.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateIndex {
    pub name: Ident,
    pub table: ObjectName,
    pub unique: bool,
    /// CLUSTERED (true), NONCLUSTERED (false), not said.
    pub clustered: Option<bool>,
    pub kind: IndexKind,
    pub columns: Vec<CreateIndexColumn>,
    pub include: Vec<Ident>,
    /// WHERE
    pub filter: Option<Expr>,
    /// ORDER (..) of columnstores.
    pub order: Vec<CreateIndexColumn>,
    pub options: Vec<NamedOption>,
    pub on: Option<Storage>,
    pub filestream_on: Option<Ident>,
}

/// Special kinds of indexes.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum IndexKind {
    Rows,
    Columnstore,
    PrimaryXml,
    /// USING XML INDEX name FOR PATH|VALUE|PROPERTY
    SecondaryXml {
        using: Ident,
        purpose: Ident,
    },
    /// Selective XML, SPATIAL, JSON, VECTOR: the word, and the rest as text.
    Special {
        word: Ident,
        rest: String,
    },
}

/// Key column.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateIndexColumn {
    pub name: Ident,
    /// DESC (true), ASC (false), not said.
    pub descending: Option<bool>,
}

/// ON filegroup | scheme (column) | "default"
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Storage {
    pub name: Ident,
    /// Partitioning column.
    pub column: Option<Ident>,
}

/// ALTER INDEX.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterIndex {
    /// None for ALL.
    pub name: Option<Ident>,
    pub table: ObjectName,
    pub action: AlterIndexAction,
}

/// What ALTER INDEX does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum AlterIndexAction {
    Rebuild {
        partition: Option<Expr>,
        options: Vec<NamedOption>,
    },
    Reorganize {
        partition: Option<Expr>,
        options: Vec<NamedOption>,
    },
    Disable,
    Set(Vec<NamedOption>),
    Resume(Vec<NamedOption>),
    Pause,
    Abort,
    /// Selective XML: FOR (..)
    Other(String),
}

/// DROP INDEX.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DropIndex {
    pub if_exists: bool,
    /// Index name and table; the old form `table.index` is given the same way, with `old_style`.
    pub indexes: Vec<DropIndexItem>,
}

/// One index to drop.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DropIndexItem {
    pub name: Ident,
    pub table: ObjectName,
    pub options: Vec<NamedOption>,
    pub old_style: bool,
}

/// CREATE STATISTICS.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateStatistics {
    pub name: Ident,
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    pub filter: Option<Expr>,
    pub options: Vec<NamedOption>,
}

/// UPDATE STATISTICS.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct UpdateStatistics {
    pub table: ObjectName,
    /// Empty for all.
    pub statistics: Vec<Ident>,
    pub options: Vec<NamedOption>,
}

/// CREATE PARTITION FUNCTION name (type) AS RANGE LEFT|RIGHT FOR VALUES (..)
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreatePartitionFunction {
    pub name: Ident,
    pub data_type: DataType,
    /// RIGHT (true), LEFT (false), not said (LEFT).
    pub right: Option<bool>,
    pub values: Vec<Expr>,
}

/// CREATE PARTITION SCHEME name AS PARTITION function [ALL] TO (filegroups)
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreatePartitionScheme {
    pub name: Ident,
    pub function: Ident,
    pub all: bool,
    pub filegroups: Vec<Ident>,
}
