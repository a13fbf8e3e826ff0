//! INSERT, UPDATE, DELETE, MERGE, TRUNCATE, bulk loading.

use super::{
    AssignOp, ColumnRef, CursorRef, DataType, Execute, Expr, Ident, NamedOption, ObjectName, Query,
    QueryHint, SelectItem, TableHint, TableSource, Top, With,
};

/// INSERT.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Insert {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub columns: Vec<ColumnRef>,
    pub output: Vec<Output>,
    pub source: InsertSource,
    pub options: Vec<QueryHint>,
}

/// What to insert.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum InsertSource {
    /// Rows of expressions; `ExprKind::Default` stands for DEFAULT.
    Values(Vec<Vec<Expr>>),
    Query(Query),
    Execute(Execute),
    DefaultValues,
}

/// The table that is changed.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DmlTarget {
    pub kind: DmlTargetKind,
    pub hints: Vec<TableHint>,
}

/// What can be changed.
#[derive(Debug, Clone, PartialEq)]
pub enum DmlTargetKind {
    /// A table, a view, or (UPDATE/DELETE with FROM) an alias of the FROM clause.
    Table(ObjectName),
    /// `@t`
    Variable(String, super::Span),
    /// OPENROWSET / OPENQUERY.
    Source(Box<TableSource>),
}

/// One OUTPUT clause (a statement may have two: one INTO, one to the client).
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Output {
    pub items: Vec<SelectItem>,
    pub into: Option<OutputInto>,
}

/// `INTO target (columns)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct OutputInto {
    pub target: DmlTargetKind,
    pub columns: Vec<ColumnRef>,
}

/// UPDATE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Update {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub set: Vec<SetClause>,
    pub output: Vec<Output>,
    pub from: Vec<TableSource>,
    pub filter: Option<DmlFilter>,
    pub options: Vec<QueryHint>,
}

/// One assignment of UPDATE .. SET or of MERGE's UPDATE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SetClause {
    /// `col op expr`
    Column { column: ColumnRef, op: AssignOp, value: Expr },
    /// `@v op expr`
    Variable { variable: String, op: AssignOp, value: Expr },
    /// `@v = col op expr`
    VariableAndColumn { variable: String, column: ColumnRef, op: AssignOp, value: Expr },
    /// `col.WRITE(expr, offset, length)`, `col.modify('..')`, `col.SetX(..)`
    Method { column: ColumnRef, method: Ident, args: Vec<Expr> },
}

/// WHERE of UPDATE and DELETE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum DmlFilter {
    Where(Expr),
    CurrentOf(CursorRef),
}

/// DELETE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Delete {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub output: Vec<Output>,
    pub from: Vec<TableSource>,
    pub filter: Option<DmlFilter>,
    pub options: Vec<QueryHint>,
}

/// MERGE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Merge {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: DmlTarget,
    pub alias: Option<Ident>,
    pub source: TableSource,
    pub on: Expr,
    pub clauses: Vec<MergeClause>,
    pub output: Vec<Output>,
    pub options: Vec<QueryHint>,
}

/// `WHEN .. THEN ..`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct MergeClause {
    pub when: MergeWhen,
    pub condition: Option<Expr>,
    pub action: MergeAction,
}

/// Which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MergeWhen {
    Matched,
    NotMatchedByTarget,
    NotMatchedBySource,
}

/// What to do with them.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum MergeAction {
    Update(Vec<SetClause>),
    Delete,
    /// Columns and values; no values for DEFAULT VALUES.
    Insert(Vec<ColumnRef>, Option<Vec<Expr>>),
}

/// TRUNCATE TABLE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Truncate {
    pub table: ObjectName,
    /// `(from, to)` of WITH (PARTITIONS (..)).
    pub partitions: Vec<(Expr, Option<Expr>)>,
}

/// BULK INSERT table FROM 'file' WITH (..)
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct BulkInsert {
    pub table: ObjectName,
    pub file: Expr,
    pub options: Vec<NamedOption>,
}

/// `INSERT BULK table (column type, ..) WITH (..)`, sent by drivers before a bulk-load packet.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct InsertBulk {
    pub table: ObjectName,
    pub columns: Vec<BulkColumn>,
    pub options: Vec<NamedOption>,
}

/// Column of INSERT BULK.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct BulkColumn {
    pub name: Ident,
    pub data_type: DataType,
    pub collation: Option<Ident>,
    pub nullable: Option<bool>,
}
