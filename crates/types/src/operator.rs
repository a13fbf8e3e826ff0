//! The operators of expressions.

/// The binary operators that compute (comparisons are in [`crate::compare()`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, also concatenation
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// The unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Negate,
    /// `~`
    BitNot,
}

impl BinaryOp {
    /// As messages 402 and 8117 name it.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Subtract => "subtract",
            BinaryOp::Multiply => "multiply",
            BinaryOp::Divide => "divide",
            BinaryOp::Modulo => "modulo",
            BinaryOp::BitAnd => "'&'",
            BinaryOp::BitOr => "'|'",
            BinaryOp::BitXor => "'^'",
            BinaryOp::ShiftLeft => "'<<'",
            BinaryOp::ShiftRight => "'>>'",
        }
    }

    pub(crate) fn is_bitwise(self) -> bool {
        use BinaryOp::*;
        matches!(self, BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight)
    }
}
