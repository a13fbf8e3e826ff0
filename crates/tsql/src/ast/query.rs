//! Queries: SELECT, set operations, FROM, hints.

use super::{DataType, Expr, Ident, NamedOption, ObjectName, SetQuantifier, Span, Window};

/// A SELECT as a statement.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SelectStatement {
    pub with: Option<With>,
    pub query: Query,
    /// OPTION (..)
    pub options: Vec<QueryHint>,
}

/// `WITH [XMLNAMESPACES (..),] name AS (..), ..`
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct With {
    /// `(uri, prefix)`; no prefix for DEFAULT.
    pub xml_namespaces: Vec<(String, Option<Ident>)>,
    pub tables: Vec<CommonTable>,
    /// CHANGE_TRACKING_CONTEXT (..)
    pub change_tracking_context: Option<Expr>,
}

/// One common table expression.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CommonTable {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
}

/// A query expression with the clauses that may follow it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Query {
    pub span: Span,
    pub body: QueryBody,
    pub order_by: Vec<OrderByItem>,
    pub offset: Option<Box<Offset>>,
    pub for_clause: Option<Box<ForClause>>,
}

/// One SELECT or several combined.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum QueryBody {
    Select(Box<Select>),
    SetOperation(Box<SetOperation>),
    /// `(SELECT TOP .. ORDER BY ..)` in a set operation of a subquery: a query with an order of its own.
    Ordered(Box<Query>),
}

/// Left-to-right: `((first op1 q1) op2 q2) ..`. INTERSECT binds tighter and is nested in its own node.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SetOperation {
    pub first: QueryBody,
    /// At least one.
    pub rest: Vec<(SetOperator, QueryBody)>,
}

/// Set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetOperator {
    Union,
    UnionAll,
    Except,
    Intersect,
}

/// One SELECT block.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Select {
    pub span: Span,
    pub quantifier: Option<SetQuantifier>,
    pub top: Option<Top>,
    pub items: Vec<SelectItem>,
    pub into: Option<SelectInto>,
    /// Comma-separated sources.
    pub from: Vec<TableSource>,
    pub where_clause: Option<Expr>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Expr>,
    /// WINDOW name AS (..)
    pub windows: Vec<(Ident, Window)>,
}

/// `TOP (n) [PERCENT] [WITH TIES]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Top {
    pub count: Expr,
    pub percent: bool,
    pub with_ties: bool,
}

/// One item of a select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    Star(Span),
    /// `t.*`
    QualifiedStar(ObjectName),
    /// `expr [AS alias]`, `alias = expr`
    Expr {
        /// The value.
        expr: Expr,
        /// Its name.
        alias: Option<Ident>,
    },
    /// `@v = expr`, `@v += expr`
    Assign {
        /// With `@`.
        variable: String,
        /// `=` or a compound operator.
        op: AssignOp,
        /// The value.
        expr: Expr,
    },
}

/// `=`, `+=` and friends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AssignOp {
    Set,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    Concat,
}

/// `INTO name [ON filegroup]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SelectInto {
    pub table: ObjectName,
    pub filegroup: Option<Ident>,
}

/// `expr [ASC|DESC]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct OrderByItem {
    pub expr: Expr,
    /// DESC (true), ASC (false), nothing.
    pub descending: Option<bool>,
}

/// `OFFSET n ROWS [FETCH NEXT m ROWS ONLY]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Offset {
    pub skip: Expr,
    pub fetch: Option<Expr>,
    /// FETCH APPROXIMATE (2025)
    pub approximate: bool,
}

/// GROUP BY.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct GroupBy {
    /// GROUP BY ALL
    pub all: bool,
    pub items: Vec<GroupingElement>,
    /// Old style `WITH CUBE` or `WITH ROLLUP`.
    pub with: Option<GroupByWith>,
    /// WITH (DISTRIBUTED_AGG) of other products is not kept.
    pub span: Span,
}

/// Old-style suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum GroupByWith {
    Cube,
    Rollup,
}

/// One element of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupingElement {
    /// A plain expression.
    Expr(Expr),
    /// `(a, b)`; empty is the grand total.
    Group(Vec<Expr>),
    /// ROLLUP (..)
    Rollup(Vec<GroupingElement>),
    /// CUBE (..)
    Cube(Vec<GroupingElement>),
    /// GROUPING SETS (..)
    Sets(Vec<GroupingElement>),
}

/// FOR at the end of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum ForClause {
    /// FOR BROWSE
    Browse,
    /// FOR XML
    Xml(XmlMode, Vec<NamedOption>),
    /// FOR JSON; true for PATH, false for AUTO
    Json(bool, Vec<NamedOption>),
}

/// Mode of FOR XML with the element name in parentheses.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum XmlMode {
    Raw(Option<String>),
    Auto,
    Explicit,
    Path(Option<String>),
}

/// One source of rows in FROM.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum TableSource {
    Table(Box<TableRef>),
    /// `@t [AS a]`
    Variable {
        name: String,
        alias: Option<Ident>,
        span: Span,
    },
    Derived(Box<DerivedTable>),
    Values(Box<ValuesTable>),
    Function(Box<TableFunction>),
    OpenJson(Box<OpenJson>),
    OpenXml(Box<OpenXml>),
    OpenRowset(Box<OpenRowset>),
    Join(Box<Join>),
    Pivot(Box<Pivot>),
    Unpivot(Box<Unpivot>),
    /// DML with OUTPUT as a source: `FROM (INSERT .. OUTPUT ..) AS a (c)`.
    Dml(Box<DmlTable>),
    /// `{ oj .. }`
    OdbcOuterJoin(Box<TableSource>),
}

/// A named table or view.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct TableRef {
    pub name: ObjectName,
    pub alias: Option<Ident>,
    pub hints: Vec<TableHint>,
    pub sample: Option<TableSample>,
    /// FOR SYSTEM_TIME ..
    pub system_time: Option<SystemTime>,
    /// FOR PATH of graph matches.
    pub for_path: bool,
}

/// One table hint, `WITH (..)` or old style.
#[derive(Debug, Clone, PartialEq)]
pub struct TableHint {
    /// NOLOCK, UPDLOCK, INDEX, FORCESEEK, ...; in the case it was written.
    pub name: Ident,
    /// Names or numbers of INDEX (..) / `INDEX = x`; the index of FORCESEEK (i (c, ..)), SPATIAL_WINDOW_MAX_CELLS = n.
    pub args: Vec<Expr>,
    /// Columns of FORCESEEK.
    pub columns: Vec<Ident>,
}

/// `TABLESAMPLE [SYSTEM] (n [PERCENT|ROWS]) [REPEATABLE (seed)]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct TableSample {
    pub amount: Expr,
    /// ROWS (true), PERCENT (false), nothing.
    pub rows: Option<bool>,
    pub repeatable: Option<Expr>,
}

/// FOR SYSTEM_TIME.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SystemTime {
    AsOf(Expr),
    FromTo(Expr, Expr),
    Between(Expr, Expr),
    ContainedIn(Expr, Expr),
    All,
}

/// `(query) AS alias (columns)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DerivedTable {
    pub query: Query,
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
}

/// `(VALUES (..), ..) AS alias (columns)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ValuesTable {
    pub rows: Vec<Vec<Expr>>,
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
    pub span: Span,
}

/// A table-valued function, also `::fn_x()`, `@x.nodes('..')`, `t.c.nodes('..')`, CHANGETABLE and the like.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct TableFunction {
    /// ExprKind::Function or ExprKind::MethodCall.
    pub call: Expr,
    /// Old `::fn()`.
    pub double_colon: bool,
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
    pub hints: Vec<TableHint>,
    /// WITH (name type, ..) of functions that take a schema.
    pub schema: Vec<RowsetColumn>,
}

/// `OPENJSON (expr [, path]) [WITH (..)] [AS alias]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct OpenJson {
    pub args: Vec<Expr>,
    pub columns: Vec<RowsetColumn>,
    pub alias: Option<Ident>,
    pub span: Span,
}

/// `name type ['path'] [AS JSON]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct RowsetColumn {
    pub name: Ident,
    pub data_type: DataType,
    pub collation: Option<Ident>,
    pub path: Option<Expr>,
    pub as_json: bool,
}

/// `OPENXML (doc, path [, flags]) [WITH (..)|WITH table] [AS alias]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct OpenXml {
    pub args: Vec<Expr>,
    pub columns: Vec<RowsetColumn>,
    pub table: Option<ObjectName>,
    pub alias: Option<Ident>,
    pub span: Span,
}

/// OPENROWSET, OPENQUERY, OPENDATASOURCE(..).db.schema.table
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct OpenRowset {
    pub kind: OpenRowsetKind,
    pub args: Vec<Expr>,
    /// BULK: options after the file name.
    pub options: Vec<NamedOption>,
    /// Table behind OPENDATASOURCE (..) or as last argument of OPENROWSET.
    pub table: Option<ObjectName>,
    /// WITH (..)
    pub columns: Vec<RowsetColumn>,
    pub hints: Vec<TableHint>,
    pub alias: Option<Ident>,
    pub column_aliases: Vec<Ident>,
    pub span: Span,
}

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OpenRowsetKind {
    /// OPENROWSET ('provider', ..)
    Rowset,
    /// OPENROWSET (BULK ..)
    Bulk,
    /// OPENQUERY (server, 'query')
    Query,
    /// OPENDATASOURCE (..).a.b.c
    DataSource,
}

/// `left JOIN right ON on`, CROSS JOIN, APPLY
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Join {
    pub kind: JoinKind,
    pub hint: Option<JoinHint>,
    pub left: TableSource,
    pub right: TableSource,
    /// None for CROSS JOIN and APPLY.
    pub on: Option<Expr>,
}

/// Kind of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    CrossApply,
    OuterApply,
}

/// Join hint between INNER|LEFT|.. and JOIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinHint {
    Loop,
    Hash,
    Merge,
    Remote,
    Redistribute,
    Reduce,
    Replicate,
}

/// `source PIVOT (agg(c) FOR c IN ([a], [b])) AS alias`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Pivot {
    pub source: TableSource,
    pub aggregate: Expr,
    pub column: ColumnName,
    pub values: Vec<Ident>,
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
}

/// A possibly qualified column name as written in PIVOT.
pub type ColumnName = ObjectName;

/// `source UNPIVOT (value FOR name IN (a, b)) AS alias`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Unpivot {
    pub source: TableSource,
    pub value: Ident,
    pub column: Ident,
    pub columns: Vec<ColumnName>,
    pub alias: Option<Ident>,
    pub column_aliases: Vec<Ident>,
}

/// `(INSERT|UPDATE|DELETE|MERGE .. OUTPUT ..) AS alias (columns)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DmlTable {
    pub statement: super::Statement,
    pub alias: Option<Ident>,
    pub columns: Vec<Ident>,
}

/// One hint of OPTION (..).
#[derive(Debug, Clone, PartialEq)]
pub enum QueryHint {
    /// `RECOMPILE`, `HASH JOIN`, `MAXDOP 4`, `LABEL = 'x'`, `MIN_GRANT_PERCENT = 10`: words joined by one blank
    /// as written, and the value behind.
    Plain(Ident, Option<Expr>),
    /// `USE HINT ('a', 'b')`
    UseHint(Vec<String>),
    /// `USE PLAN N'..'`
    UsePlan(Expr),
    /// `OPTIMIZE FOR (@a = 1, @b UNKNOWN)`
    OptimizeFor(Vec<(String, Option<Expr>)>),
    /// `OPTIMIZE FOR UNKNOWN`
    OptimizeForUnknown,
    /// `TABLE HINT (name, hint, ..)`
    TableHint(ObjectName, Vec<TableHint>),
    /// `FOR TIMESTAMP AS OF '..'` of other products.
    ForTimestamp(Expr),
}
