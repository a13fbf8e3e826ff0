//! Plain evaluation: integers and comparisons over variables and constants alone. It needs no runtime and no
//! transaction. Loops of T-SQL consist of such expressions.
//!
//! A plain evaluation never fails: an overflow, a division by zero or any other expression gives `None`, and `eval` reports the reason.

use types::Value;
use types::arith::BinaryOp;

use super::plan::{BoolNode, IntNode, Node};

/// The result of a plain evaluation: NULL and UNKNOWN are the inner `None`.
pub type Plain<T> = Option<Option<T>>;

impl Node {
    /// The value, if it is an integer of variables and constants.
    #[inline]
    pub fn plain(&self, variables: &[Value]) -> Option<Value> {
        match self {
            Node::Integer(node, kind) => {
                Some(node.plain(variables)?.map_or(Value::Null, |number| kind.value(number)))
            }
            _ => None,
        }
    }
}

impl IntNode {
    #[inline]
    fn plain(&self, variables: &[Value]) -> Plain<i64> {
        let (kind, number) = match self {
            IntNode::Constant(number) => return Some(Some(*number)),
            IntNode::Null => return Some(None),
            IntNode::Variable(slot) => return Some(variables[*slot].as_i64()),
            IntNode::VariablePlus(kind, slot, step) => match variables[*slot].as_i64() {
                Some(number) => (*kind, number.checked_add(*step)?),
                None => return Some(None),
            },
            IntNode::Binary(op, kind, left, right) => {
                match (left.operand(variables)?, right.operand(variables)?) {
                    (Some(left), Some(right)) => (*kind, plain_operation(*op, left, right)?),
                    _ => return Some(None),
                }
            }
            _ => return None,
        };
        let (least, greatest) = kind.range();
        (least..=greatest).contains(&number).then_some(Some(number))
    }

    /// The same, called rather than inlined into itself.
    fn operand(&self, variables: &[Value]) -> Plain<i64> {
        self.plain(variables)
    }
}

/// `None` where the operation fails, or has a rule of its own for failing.
fn plain_operation(op: BinaryOp, left: i64, right: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::BitAnd => Some(left & right),
        BinaryOp::BitOr => Some(left | right),
        BinaryOp::BitXor => Some(left ^ right),
        _ => None,
    }
}

impl BoolNode {
    /// TRUE, FALSE or UNKNOWN, if it compares integers of variables and constants.
    #[inline]
    pub fn plain(&self, variables: &[Value]) -> Plain<bool> {
        match self {
            BoolNode::VariableInt(op, slot, right) => {
                Some(variables[*slot].as_i64().map(|left| op.accepts(left.cmp(right))))
            }
            BoolNode::CompareInt(op, left, right) => {
                match (left.operand(variables)?, right.operand(variables)?) {
                    (Some(left), Some(right)) => Some(Some(op.accepts(left.cmp(&right)))),
                    _ => Some(None),
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::IntKind;
    use super::*;
    use crate::kinds::CompareOp;

    fn int(node: IntNode) -> Node {
        Node::Integer(Box::new(node), IntKind::Int)
    }

    fn binary(op: BinaryOp, left: IntNode, right: IntNode) -> Node {
        int(IntNode::Binary(op, IntKind::Int, Box::new(left), Box::new(right)))
    }

    #[test]
    fn integers_of_variables_and_constants_are_plain() {
        let variables = [Value::Int(7), Value::Null, Value::BigInt(-3)];
        let constant = IntNode::Constant;
        for (node, value) in [
            (int(IntNode::Variable(0)), Some(Value::Int(7))),
            (int(IntNode::Variable(1)), Some(Value::Null)),
            (int(IntNode::VariablePlus(IntKind::Int, 0, 5)), Some(Value::Int(12))),
            (int(IntNode::VariablePlus(IntKind::Int, 1, 5)), Some(Value::Null)),
            (binary(BinaryOp::Add, IntNode::Variable(0), IntNode::Variable(2)), Some(Value::Int(4))),
            (binary(BinaryOp::Subtract, constant(1), IntNode::Variable(0)), Some(Value::Int(-6))),
            (binary(BinaryOp::Multiply, IntNode::Variable(2), IntNode::Variable(2)), Some(Value::Int(9))),
            (binary(BinaryOp::BitXor, constant(6), constant(3)), Some(Value::Int(5))),
            (binary(BinaryOp::Add, constant(6), IntNode::Null), Some(Value::Null)),
            (Node::Variable(0), None),
        ] {
            assert_eq!(node.plain(&variables), value, "{node:?}");
        }
    }

    #[test]
    fn what_fails_is_left_to_eval() {
        let variables = [Value::Int(i32::MAX), Value::BigInt(i64::MAX), Value::Int(0)];
        let big = |step| IntNode::VariablePlus(IntKind::Big, 1, step);
        for node in [
            int(IntNode::VariablePlus(IntKind::Int, 0, 1)),
            Node::Integer(Box::new(big(1)), IntKind::Big),
            binary(BinaryOp::Add, IntNode::Variable(0), IntNode::Constant(1)),
            binary(BinaryOp::Divide, IntNode::Variable(0), IntNode::Variable(2)),
            binary(BinaryOp::Modulo, IntNode::Variable(0), IntNode::Variable(2)),
            binary(BinaryOp::Multiply, IntNode::Variable(1), IntNode::Variable(1)),
        ] {
            assert_eq!(node.plain(&variables), None, "{node:?}");
        }
        assert_eq!(
            Node::Integer(Box::new(big(0)), IntKind::Big).plain(&variables),
            Some(Value::BigInt(i64::MAX))
        );
    }

    #[test]
    fn comparisons_of_them_are_plain() {
        let variables = [Value::Int(7), Value::Null];
        let less = |slot, right| BoolNode::VariableInt(CompareOp::Less, slot, right);
        assert_eq!(less(0, 8).plain(&variables), Some(Some(true)));
        assert_eq!(less(0, 7).plain(&variables), Some(Some(false)));
        assert_eq!(less(1, 7).plain(&variables), Some(None), "UNKNOWN");
        let between = BoolNode::CompareInt(CompareOp::Equal, IntNode::Variable(0), IntNode::Constant(7));
        assert_eq!(between.plain(&variables), Some(Some(true)));
        let other = IntNode::Other(Node::Variable(0));
        assert_eq!(
            BoolNode::CompareInt(CompareOp::Equal, other, IntNode::Constant(7)).plain(&variables),
            None
        );
        assert_eq!(BoolNode::Not(Box::new(less(0, 8))).plain(&variables), None);
    }
}
