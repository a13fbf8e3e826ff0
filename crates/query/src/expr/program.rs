//! The compiled form of expressions: positions instead of names, typed fast paths for integers.

use types::arith::{BinaryOp, UnaryOp};
use types::{Collation, SqlType, Value};

use super::{CompareOp, Conversion};
use crate::functions::FunctionDef;
use crate::plan::physical::SubPlan;

/// A compiled expression that gives a value.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value),
    Variable(usize),
    /// Position in the current row.
    Column(usize),
    /// Value of an outer row's column.
    Param(usize),
    NextValue(std::sync::Arc<crate::plan::table::SequenceSource>),
    /// Integers of 8 to 64 bits, evaluated without building values.
    Integer(Box<IntNode>, IntKind),
    Binary(Box<BinaryNode>),
    Unary(UnaryOp, Box<Node>, SqlType),
    Convert(Box<ConvertNode>),
    /// A predicate as a bit: TRUE 1, FALSE and UNKNOWN 0 or NULL by context.
    Predicate(Box<BoolNode>),
    Case(Vec<(BoolNode, Node)>, Option<Box<Node>>),
    Coalesce(Vec<Node>),
    Call(Box<CallNode>),
    Scalar(Box<SubPlan>),
}

/// Integer width, for overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntKind {
    Tiny,
    Small,
    Int,
    Big,
}

/// A compiled integer expression; NULL is `None`.
#[derive(Debug)]
pub(crate) enum IntNode {
    Constant(i64),
    Null,
    Variable(usize),
    Column(usize),
    Param(usize),
    Binary(BinaryOp, IntKind, Box<IntNode>, Box<IntNode>),
    /// Variable and constant: the commonest loop step.
    VariablePlus(IntKind, usize, i64),
    Negate(IntKind, Box<IntNode>),
    /// Narrowing among integer types with overflow check; widening needs no node.
    Narrow(IntKind, Box<IntNode>),
    Other(Node),
}

/// A compiled predicate; UNKNOWN is `None`.
#[derive(Debug)]
pub(crate) enum BoolNode {
    Constant(Option<bool>),
    CompareInt(CompareOp, IntNode, IntNode),
    /// Variable against constant.
    VariableInt(CompareOp, usize, i64),
    Compare(CompareOp, Collation, Node, Node),
    And(Box<BoolNode>, Box<BoolNode>),
    Or(Box<BoolNode>, Box<BoolNode>),
    Not(Box<BoolNode>),
    IsNull(Node),
    Like(Box<LikeNode>),
    InList(Collation, Node, Vec<Node>),
    /// IN over many constants: memcomparable keys in a set.
    InSet(Collation, Node, Box<InSet>),
    Exists(Box<SubPlan>),
    Any(CompareOp, Collation, Node, Box<SubPlan>),
    All(CompareOp, Collation, Node, Box<SubPlan>),
    /// A bit value used as a predicate inside our own rewrites.
    Value(Node),
}

/// Keys of the constants of an IN list.
#[derive(Debug)]
pub(crate) struct InSet {
    pub(crate) keys: rustc_hash::FxHashSet<Vec<u8>>,
    pub(crate) has_null: bool,
}

/// Arithmetic outside the integer fast path.
#[derive(Debug)]
pub(crate) struct BinaryNode {
    pub(crate) op: BinaryOp,
    pub(crate) left: Node,
    pub(crate) right: Node,
    pub(crate) result: SqlType,
}

/// Conversion.
#[derive(Debug)]
pub(crate) struct ConvertNode {
    pub(crate) input: Node,
    pub(crate) from: SqlType,
    pub(crate) to: SqlType,
    pub(crate) conversion: Conversion,
}

/// LIKE.
#[derive(Debug)]
pub(crate) struct LikeNode {
    pub(crate) input: Node,
    pub(crate) pattern: Node,
    pub(crate) escape: Option<Node>,
    pub(crate) collation: Collation,
    /// The pattern, where it is a constant without an escape character.
    pub(crate) known: Option<types::LikePattern>,
}

/// A call of a registered function.
#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) function: &'static FunctionDef,
    pub(crate) arguments: Vec<Node>,
    pub(crate) argument_types: Vec<SqlType>,
    pub(crate) result: SqlType,
    pub(crate) collation: Collation,
}

impl IntKind {
    /// The kind of an integer type.
    pub(crate) fn of(sql_type: &SqlType) -> Option<IntKind> {
        match sql_type {
            SqlType::TinyInt => Some(IntKind::Tiny),
            SqlType::SmallInt => Some(IntKind::Small),
            SqlType::Int => Some(IntKind::Int),
            SqlType::BigInt => Some(IntKind::Big),
            _ => None,
        }
    }

    /// Smallest and greatest value.
    pub(crate) fn range(self) -> (i64, i64) {
        match self {
            IntKind::Tiny => (0, u8::MAX as i64),
            IntKind::Small => (i16::MIN as i64, i16::MAX as i64),
            IntKind::Int => (i32::MIN as i64, i32::MAX as i64),
            IntKind::Big => (i64::MIN, i64::MAX),
        }
    }

    /// Name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            IntKind::Tiny => "tinyint",
            IntKind::Small => "smallint",
            IntKind::Int => "int",
            IntKind::Big => "bigint",
        }
    }

    /// The value of this width.
    pub(crate) fn value(self, number: i64) -> Value {
        match self {
            IntKind::Tiny => Value::TinyInt(number as u8),
            IntKind::Small => Value::SmallInt(number as i16),
            IntKind::Int => Value::Int(number as i32),
            IntKind::Big => Value::BigInt(number),
        }
    }
}
