//! Bound scalar expressions: names resolved, types known, conversions explicit. The planner works on these.

pub(crate) mod compile;
pub(crate) mod eval;
pub(crate) mod number;
pub(crate) mod plain;
pub(crate) mod program;
pub(crate) mod runtime;
pub(crate) mod walk;

use std::sync::Arc;

use types::arith::{BinaryOp, UnaryOp};
use types::{Collation, SqlType, Value};

use crate::functions::FunctionDef;
use crate::plan::logical::Rel;
use crate::plan::table::SequenceSource;

/// Identifies one column of one row source inside one statement. Positions come only when a plan is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ColumnId(pub(crate) u32);

/// A bound expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) sql_type: SqlType,
    pub(crate) nullable: bool,
    pub(crate) collation: Collation,
    /// The collation was asked for with COLLATE and wins over others.
    pub(crate) explicit_collation: bool,
}

/// What an expression does.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Constant(Value),
    Variable(usize),
    /// A parameter that nobody has declared: NULL, while the type is looked for that its place gives it.
    Undeclared(Arc<crate::Undeclared>),
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
    IsNull(Box<Expr>),
    Like(Box<LikeExpr>),
    InList(Box<Expr>, Vec<Expr>),
    /// Searched CASE.
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    Coalesce(Vec<Expr>),
    Call(&'static FunctionDef, Vec<Expr>),
    Subquery(Box<SubqueryExpr>),
    /// COLLATE and other wrappers that only change the static type.
    Retype(Box<Expr>),
    /// NEXT VALUE FOR, once for the row at hand however often it is asked.
    NextValue(Arc<SequenceSource>),
}

/// LIKE with its parts.
#[derive(Clone, Debug)]
pub(crate) struct LikeExpr {
    pub(crate) input: Expr,
    pub(crate) pattern: Expr,
    pub(crate) escape: Option<Expr>,
}

/// A subquery inside an expression.
#[derive(Clone, Debug)]
pub(crate) struct SubqueryExpr {
    pub(crate) kind: SubqueryKind,
    pub(crate) rel: Arc<Rel>,
    /// Its single column, where the kind needs one.
    pub(crate) column: Option<ColumnId>,
}

/// What is asked of a subquery.
#[derive(Clone, Debug)]
pub(crate) enum SubqueryKind {
    /// One value or NULL; error 512 with two rows.
    Scalar,
    /// EXISTS.
    Exists,
    /// `left op ANY (...)`; IN is `= ANY`.
    Any(CompareOp, Expr, Expr),
    /// `left op ALL (...)`.
    All(CompareOp, Expr, Expr),
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl CompareOp {
    /// Does `ordering` of left against right satisfy the operator?
    pub(crate) fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            CompareOp::Equal => ordering == Equal,
            CompareOp::NotEqual => ordering != Equal,
            CompareOp::Less => ordering == Less,
            CompareOp::LessOrEqual => ordering != Greater,
            CompareOp::Greater => ordering == Greater,
            CompareOp::GreaterOrEqual => ordering != Less,
        }
    }

    /// The operator with its sides exchanged.
    pub(crate) fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
            same => same,
        }
    }

    /// NOT applied to the operator.
    pub(crate) fn negated(self) -> CompareOp {
        match self {
            CompareOp::Equal => CompareOp::NotEqual,
            CompareOp::NotEqual => CompareOp::Equal,
            CompareOp::Less => CompareOp::GreaterOrEqual,
            CompareOp::LessOrEqual => CompareOp::Greater,
            CompareOp::Greater => CompareOp::LessOrEqual,
            CompareOp::GreaterOrEqual => CompareOp::Less,
        }
    }
}

/// How a conversion was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) kind: ConversionKind,
    /// Style of CONVERT, `types::DEFAULT_STYLE` when none.
    pub(crate) style: i32,
}

/// The kinds of conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversionKind {
    /// Inserted by the binder; silent truncation of strings is not an error in expressions.
    Implicit,
    /// CAST or CONVERT.
    Explicit,
    /// TRY_CAST or TRY_CONVERT: failure is NULL.
    Try,
    /// Store into a column or a variable.
    Assign,
}

impl Conversion {
    pub(crate) const IMPLICIT: Conversion =
        Conversion { kind: ConversionKind::Implicit, style: types::DEFAULT_STYLE };
}

impl Expr {
    /// A constant of a type.
    pub(crate) fn constant(value: Value, sql_type: SqlType) -> Expr {
        let nullable = matches!(value, Value::Null);
        Expr {
            kind: ExprKind::Constant(value),
            sql_type,
            nullable,
            collation: Collation::default(),
            explicit_collation: false,
        }
    }

    /// The constant NULL, an int until converted.
    pub(crate) fn null() -> Expr {
        Expr::constant(Value::Null, SqlType::Int)
    }

    /// A node of a type with the default collation.
    pub(crate) fn new(kind: ExprKind, sql_type: SqlType, nullable: bool) -> Expr {
        Expr { kind, sql_type, nullable, collation: Collation::default(), explicit_collation: false }
    }

    /// A predicate.
    pub(crate) fn predicate(kind: ExprKind) -> Expr {
        Expr::new(kind, SqlType::Bit, true)
    }

    /// A reference to a column.
    pub(crate) fn column(id: ColumnId, sql_type: SqlType, nullable: bool, collation: Collation) -> Expr {
        Expr { kind: ExprKind::Column(id), sql_type, nullable, collation, explicit_collation: false }
    }

    /// Conjunction of all, `None` when there are none.
    pub(crate) fn all(conjuncts: impl IntoIterator<Item = Expr>) -> Option<Expr> {
        balanced(conjuncts.into_iter().collect(), ExprKind::And)
    }

    /// Is it the literal NULL (through implicit conversions; CAST gives a NULL its type)?
    pub(crate) fn is_null_literal(&self) -> bool {
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
    pub(crate) fn is_constant_null(&self) -> bool {
        match &self.kind {
            ExprKind::Constant(value) => value.is_null(),
            ExprKind::Convert(inner, _) | ExprKind::Retype(inner) => inner.is_constant_null(),
            _ => false,
        }
    }

    /// The column it is, when it is nothing else.
    pub(crate) fn as_column(&self) -> Option<ColumnId> {
        match &self.kind {
            ExprKind::Column(id) => Some(*id),
            ExprKind::Retype(inner) => inner.as_column(),
            _ => None,
        }
    }
}

/// A chain as a balanced tree, so that a thousand ORs do not nest a thousand deep.
pub(crate) fn balanced(mut list: Vec<Expr>, make: fn(Box<Expr>, Box<Expr>) -> ExprKind) -> Option<Expr> {
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
