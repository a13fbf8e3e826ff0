//! The bound tree: row sources over column numbers, and the scalar expressions in them. Names are resolved, types known, conversions explicit.

use std::sync::Arc;

use types::arith::{BinaryOp, UnaryOp};
use types::{Collation, SqlType, Value};

use crate::context::UserFunction;
use crate::function_def::FunctionDef;
use crate::kinds::{
    AggregateKind, CatalogReading, Coercibility, ColumnId, CompareOp, Conversion, ConversionKind, JoinKind,
    ScanHints, WindowFrame,
};
use crate::rows_format::RowsFormat;
use crate::table::{SequenceSource, TableSource};
use crate::view::View;

/// A row source.
#[derive(Clone, Debug)]
pub enum Rel {
    /// One row of no columns: SELECT without FROM.
    OneRow,
    /// VALUES lists.
    Values {
        columns: Vec<ColumnId>,
        rows: Vec<Vec<Expr>>,
    },
    Table(Box<TableScan>),
    System(Box<SystemScan>),
    /// The table that a multi-statement table-valued function returns.
    FunctionTable {
        function: Arc<UserFunction>,
        arguments: Vec<Expr>,
        columns: Vec<ColumnId>,
    },
    Filter {
        input: Box<Rel>,
        predicate: Expr,
    },
    Project {
        input: Box<Rel>,
        items: Vec<(ColumnId, Expr)>,
    },
    Join {
        kind: JoinKind,
        left: Box<Rel>,
        right: Box<Rel>,
        on: Option<Expr>,
    },
    /// The right side reads columns of the left side.
    Apply {
        outer: bool,
        left: Box<Rel>,
        right: Box<Rel>,
    },
    Aggregate {
        input: Box<Rel>,
        keys: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggregateCall)>,
    },
    Window {
        input: Box<Rel>,
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// Adds a column with the next value of a sequence to each row.
    NextValue {
        input: Box<Rel>,
        sequence: (ColumnId, Arc<SequenceSource>),
    },
    Distinct {
        input: Box<Rel>,
    },
    Sort {
        input: Box<Rel>,
        keys: Vec<SortKey>,
    },
    Top {
        input: Box<Rel>,
        top: TopSpec,
    },
    Offset {
        input: Box<Rel>,
        offset: Expr,
        fetch: Option<Expr>,
    },
    /// FOR XML, FOR JSON: the rows as one text.
    Formatted {
        input: Box<Rel>,
        format: Arc<RowsFormat>,
        /// The columns of the rows, in order.
        read: Vec<ColumnId>,
        /// The text.
        column: ColumnId,
    },
    SetOp {
        kind: SetOpKind,
        left: Box<Rel>,
        right: Box<Rel>,
        columns: Vec<ColumnId>,
    },
    /// A recursive CTE: rows of `anchor`, then of `step` over the rows made last, until none come.
    Recursive {
        anchor: Box<Rel>,
        step: Box<Rel>,
        columns: Vec<ColumnId>,
        work: u32,
    },
    /// The rows made last of the recursive CTE `work`.
    WorkTable {
        work: u32,
        columns: Vec<ColumnId>,
    },
}

/// A base table with the ids of its columns, in table order.
#[derive(Clone, Debug)]
pub struct TableScan {
    pub source: Arc<TableSource>,
    pub columns: Vec<ColumnId>,
    /// Rows come with a locator in this pseudo column: the scan of an UPDATE's or DELETE's target.
    pub locator: Option<ColumnId>,
    /// Rows come with their locator itself behind the columns: a branch of a union of indexes. Not beside `locator`.
    pub names_rows: bool,
    /// Columns by their ordinals whose values are computed when they are read, not taken from the rows.
    pub computed: Vec<(usize, Expr)>,
    pub hints: ScanHints,
}

/// A system view or function with its arguments.
#[derive(Clone)]
pub struct SystemScan {
    pub view: &'static View,
    pub database: Arc<engine::Database>,
    pub arguments: Vec<Expr>,
    pub columns: Vec<ColumnId>,
    pub reading: CatalogReading,
}

impl std::fmt::Debug for SystemScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.view)
    }
}

/// UNION ALL, EXCEPT, INTERSECT; UNION is Distinct over UNION ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOpKind {
    UnionAll,
    Except,
    Intersect,
}

/// One ORDER BY item.
#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

/// TOP.
#[derive(Clone, Debug)]
pub struct TopSpec {
    pub count: Expr,
    pub percent: bool,
    /// Sort keys when WITH TIES was given.
    pub ties: Vec<SortKey>,
}

/// An aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    pub kind: AggregateKind,
    pub argument: Option<Expr>,
    /// Separator of STRING_AGG.
    pub separator: Option<Expr>,
    pub distinct: bool,
    /// WITHIN GROUP (ORDER BY ...).
    pub order: Vec<SortKey>,
    pub sql_type: types::SqlType,
}

/// A window function over its partition.
#[derive(Clone, Debug)]
pub struct WindowCall {
    pub kind: WindowKind,
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub frame: WindowFrame,
}

/// Which window function.
#[derive(Clone, Debug)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Tile(Expr),
    /// LAG and LEAD.
    Shift {
        value: Expr,
        offset: Expr,
        default: Option<Expr>,
        lead: bool,
        /// IGNORE NULLS: rows whose value is NULL are not counted.
        ignores_nulls: bool,
    },
    /// The first or last value of the frame, with IGNORE NULLS of those that are not NULL.
    Edge {
        value: Expr,
        last: bool,
        ignores_nulls: bool,
    },
    Aggregate(AggregateCall),
}

/// A bound expression.
#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub sql_type: SqlType,
    pub nullable: bool,
    pub collation: Collation,
    /// The collation label: its precedence over other collations.
    pub coercibility: Coercibility,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    Constant(Value),
    Variable(usize),
    /// An undeclared parameter: NULL, until its type is deduced from its place.
    Undeclared(Arc<crate::undeclared::Undeclared>),
    Column(ColumnId),
    /// Arithmetic, bit operation or concatenation; operands have been converted as `types::arith::plan_binary` says.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Convert(Box<Expr>, Conversion),
    /// Both sides have the same type.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    /// TRUE where the condition fails: it is asked once more, of the rows that all others let through.
    Tolerant(Box<Expr>),
    IsNull(Box<Expr>),
    Like(Box<LikeExpr>),
    InList(Box<Expr>, Vec<Expr>),
    /// Searched CASE.
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    Coalesce(Vec<Expr>),
    Call(&'static FunctionDef, Vec<Expr>),
    /// A scalar function that a user has created.
    UserCall(Arc<UserFunction>, Vec<Expr>),
    Subquery(Box<SubqueryExpr>),
    /// COLLATE and other wrappers that only change the static type.
    Retype(Box<Expr>),
    /// NEXT VALUE FOR: one next value per row, however often it is evaluated.
    NextValue(Arc<SequenceSource>),
}

/// LIKE with its parts.
#[derive(Clone, Debug)]
pub struct LikeExpr {
    pub input: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
}

/// A subquery inside an expression.
#[derive(Clone, Debug)]
pub struct SubqueryExpr {
    pub kind: SubqueryKind,
    pub rel: Arc<Rel>,
    /// Its single column, where the kind needs one.
    pub column: Option<ColumnId>,
}

/// The kinds of subqueries.
#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// One value or NULL; error 512 with two rows.
    Scalar,
    /// EXISTS.
    Exists,
    /// `left op ANY (...)`; IN is `= ANY`.
    Any(CompareOp, Expr, Expr),
    /// `left op ALL (...)`.
    All(CompareOp, Expr, Expr),
}

impl Expr {
    /// A constant of a type.
    pub fn constant(value: Value, sql_type: SqlType) -> Expr {
        let nullable = matches!(value, Value::Null);
        Expr {
            kind: ExprKind::Constant(value),
            sql_type,
            nullable,
            collation: Collation::default(),
            coercibility: Coercibility::Default,
        }
    }

    /// The constant NULL, an int until converted.
    pub fn null() -> Expr {
        Expr::constant(Value::Null, SqlType::Int)
    }

    /// A node of a type with the default collation.
    pub fn new(kind: ExprKind, sql_type: SqlType, nullable: bool) -> Expr {
        let collation = Collation::default();
        Expr { kind, sql_type, nullable, collation, coercibility: Coercibility::Default }
    }

    /// A predicate.
    pub fn predicate(kind: ExprKind) -> Expr {
        Expr::new(kind, SqlType::Bit, true)
    }

    /// A reference to a column.
    pub fn column(id: ColumnId, sql_type: SqlType, nullable: bool, collation: Collation) -> Expr {
        let coercibility = Coercibility::Implicit;
        Expr { kind: ExprKind::Column(id), sql_type, nullable, collation, coercibility }
    }

    /// Conjunction of all, `None` when there are none.
    pub fn all(conjuncts: impl IntoIterator<Item = Expr>) -> Option<Expr> {
        balanced(conjuncts.into_iter().collect(), ExprKind::And)
    }

    /// Is it the literal NULL as it is written, of no type yet?
    pub fn is_untyped_null(&self) -> bool {
        matches!(&self.kind, ExprKind::Constant(Value::Null)) && self.sql_type == SqlType::Int
    }

    /// Is it the literal NULL (through implicit conversions; CAST gives a NULL its type)?
    pub fn is_null_literal(&self) -> bool {
        match &self.kind {
            ExprKind::Constant(Value::Null) | ExprKind::Undeclared(_) => true,
            ExprKind::Convert(_, conversion)
                if matches!(conversion.kind, ConversionKind::Explicit | ConversionKind::Try) =>
            {
                false
            }
            ExprKind::Convert(inner, _) | ExprKind::Retype(inner) => inner.is_null_literal(),
            _ => false,
        }
    }

    /// Is it NULL before anything runs: the literal, or a conversion of it?
    pub fn is_constant_null(&self) -> bool {
        match &self.kind {
            ExprKind::Constant(value) => value.is_null(),
            ExprKind::Convert(inner, _) | ExprKind::Retype(inner) => inner.is_constant_null(),
            _ => false,
        }
    }

    /// The column it is, when it is nothing else.
    pub fn as_column(&self) -> Option<ColumnId> {
        match &self.kind {
            ExprKind::Column(id) => Some(*id),
            ExprKind::Retype(inner) => inner.as_column(),
            _ => None,
        }
    }
}

/// A chain as a balanced tree, so that a thousand ORs do not nest a thousand deep.
pub fn balanced(mut list: Vec<Expr>, make: fn(Box<Expr>, Box<Expr>) -> ExprKind) -> Option<Expr> {
    while list.len() > 1 {
        let mut next = Vec::with_capacity(list.len().div_ceil(2));
        let mut items = list.into_iter();
        while let Some(left) = items.next() {
            next.push(match items.next() {
                Some(right) => Expr::predicate(make(Box::new(left), Box::new(right))),
                None => left,
            });
        }
        list = next;
    }
    list.pop()
}

/// The collation under which two sides are compared: explicit wins, then any that is not the default.
pub fn comparison_collation(left: &Expr, right: &Expr) -> Collation {
    let is_explicit = |expr: &Expr| expr.coercibility == Coercibility::Explicit;
    let is_own = |expr: &Expr| expr.collation != Collation::default();
    if is_explicit(left) || (is_own(left) && !is_explicit(right)) { left.collation } else { right.collation }
}
