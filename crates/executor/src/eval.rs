//! Evaluation of compiled expressions.

use std::cmp::Ordering;

use plan_ir::context::FunctionCall;
use plan_ir::function_def::Call;
use plan_ir::kinds::{CompareOp, ConversionKind};
use plan_ir::physical::plan::{
    BoolNode, CallNode, ConvertNode, InSet, IntKind, IntNode, LikeNode, Node, UserCallNode,
};
use plan_ir::runtime::Runtime;
use types::arith::{self, BinaryOp};
use types::{Collation, SqlError, SqlType, Value};

use super::operations::{Evaluate, Test};
use super::subquery;

/// How many times its length a value takes while it is converted: decoded, encoded and shared.
const CONVERSION_COPIES: usize = 6;
/// Of errors that say something of values; those of the server and of sessions are others.
const SEVERITY_OF_VALUES: u8 = 16;

/// Work on values of so many bytes takes some microseconds, so an interrupt is checked before each such value.
const LONG_BYTES: usize = 32 << 10;

/// Requests memory for `copies` copies of values with so many bytes together: error 701 is raised before the allocation.
/// Work on long values takes long: an interrupt stops the statement before each of them, not only after some hundreds of rows.
#[inline]
fn room_for(bytes: usize, copies: usize) -> Result<(), SqlError> {
    if bytes >= LONG_BYTES && os::task::interrupt_pending() {
        return Err(plan_ir::errors::cancelled());
    }
    os::memory::ask(bytes.saturating_mul(copies)).map_err(plan_ir::errors::out_of_memory)
}

impl Evaluate for Node {
    fn eval(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError> {
        match self {
            Node::Constant(value) => Ok(value.clone()),
            Node::Variable(slot) => Ok(runtime.variable(*slot)),
            Node::Column(position) => Ok(row[*position].clone()),
            Node::Param(id) => Ok(runtime.param(*id)),
            Node::NextValue(sequence) => runtime.next_value(sequence),
            Node::Integer(node, kind) => Ok(match node.eval(runtime, row)? {
                Some(number) => kind.value(number),
                None => Value::Null,
            }),
            Node::Binary(node) => {
                let (mut one, mut other) = (Value::Null, Value::Null);
                let left = node.left.eval_in(runtime, row, &mut one)?;
                let right = node.right.eval_in(runtime, row, &mut other)?;
                if !runtime.options.concat_null_yields_null
                    && let Some(joined) = join_with_null(node.op, left, right, &node.result)
                {
                    return Ok(joined);
                }
                room_for(left.long_bytes() + right.long_bytes(), 2)?;
                runtime.forgive(arith::evaluate(node.op, left, right, &node.result), Value::Null)
            }
            Node::Unary(op, node, result) => {
                let value = node.eval(runtime, row)?;
                runtime.forgive(arith::evaluate_unary(*op, &value, result), Value::Null)
            }
            Node::Convert(node) => convert(node, runtime, row),
            Node::Predicate(node) => Ok(node.test(runtime, row)?.map_or(Value::Null, Value::Bit)),
            Node::Case(branches, otherwise) => {
                for (condition, value) in branches {
                    if condition.is_true(runtime, row)? {
                        return value.eval(runtime, row);
                    }
                }
                otherwise.as_ref().map_or(Ok(Value::Null), |node| node.eval(runtime, row))
            }
            Node::Coalesce(nodes) => {
                for node in nodes {
                    let value = node.eval(runtime, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Node::Call(node) => call(node, runtime, row),
            Node::UserCall(node) => user_call(node, runtime, row),
            Node::Scalar(plan) => subquery::scalar(plan, runtime, row),
        }
    }

    #[inline]
    fn eval_in<'v>(
        &'v self,
        runtime: &Runtime<'_>,
        row: &'v [Value],
        spare: &'v mut Value,
    ) -> Result<&'v Value, SqlError> {
        match self {
            Node::Column(position) => Ok(&row[*position]),
            Node::Constant(value) => Ok(value),
            node => {
                *spare = node.eval(runtime, row)?;
                Ok(spare)
            }
        }
    }

    #[inline]
    fn eval_i64(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<i64>, SqlError> {
        match self {
            Node::Integer(node, _) => node.eval(runtime, row),
            Node::Variable(slot) => Ok(runtime.variable_i64(*slot)),
            Node::Column(position) => Ok(row[*position].as_i64()),
            node => Ok(node.eval(runtime, row)?.as_i64()),
        }
    }

    fn eval_f64(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<f64>, SqlError> {
        let value = self.eval(runtime, row)?;
        Ok((!value.is_null()).then(|| plan_ir::values::to_f64(&value)))
    }
}

/// With SET CONCAT_NULL_YIELDS_NULL OFF, NULL joined to text is an empty text.
#[cold]
fn join_with_null(op: BinaryOp, left: &Value, right: &Value, result: &SqlType) -> Option<Value> {
    if op != BinaryOp::Add || !result.is_character() {
        return None;
    }
    match (left.is_null(), right.is_null()) {
        (false, false) => None,
        (true, false) => Some(right.clone()),
        (false, true) => Some(left.clone()),
        (true, true) if result.family() == types::sql_type::TypeFamily::NChar => Some(Value::nvarchar("")),
        (true, true) => Some(Value::varchar("")),
    }
}

fn convert(node: &ConvertNode, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError> {
    let value = node.input.eval(runtime, row)?;
    if value.is_null() {
        return Ok(Value::Null);
    }
    room_for(value.long_bytes(), CONVERSION_COPIES)?;
    let result =
        types::convert(&value, &node.from, &node.to, node.conversion.style, runtime.convert_context());
    match node.conversion.kind {
        ConversionKind::Try => Ok(result.unwrap_or(Value::Null)),
        ConversionKind::Implicit | ConversionKind::Explicit => runtime.forgive(result, Value::Null),
        ConversionKind::Assign => {
            let target = types::AssignTarget::Variable;
            let assigned = types::assign(&value, &node.from, &node.to, target, runtime.convert_context());
            runtime.forgive(assigned, Value::Null)
        }
    }
}

fn user_call(node: &UserCallNode, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError> {
    let arguments = values_of(&node.arguments, runtime, row)?;
    if node.function.is_strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    runtime.functions.call_function(FunctionCall {
        function: &node.function,
        arguments,
        instance: runtime.instance,
        options: runtime.options,
        transactions: &mut runtime.transactions.borrow_mut(),
    })
}

/// The values of several expressions for a row.
fn values_of(nodes: &[Node], runtime: &Runtime<'_>, row: &[Value]) -> Result<Vec<Value>, SqlError> {
    nodes.iter().map(|node| node.eval(runtime, row)).collect()
}

fn call(node: &CallNode, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError> {
    let nodes = node.arguments.as_slice();
    match nodes {
        [] => apply(node, runtime, &[]),
        [a] => apply(node, runtime, &[a.eval(runtime, row)?]),
        [a, b] => apply(node, runtime, &[a.eval(runtime, row)?, b.eval(runtime, row)?]),
        [a, b, c] => {
            apply(node, runtime, &[a.eval(runtime, row)?, b.eval(runtime, row)?, c.eval(runtime, row)?])
        }
        many => {
            let values = values_of(many, runtime, row)?;
            apply(node, runtime, &values)
        }
    }
}

fn apply(node: &CallNode, runtime: &Runtime<'_>, args: &[Value]) -> Result<Value, SqlError> {
    if node.function.strict && args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    room_for(args.iter().map(Value::long_bytes).sum(), node.function.copies)?;
    let call =
        Call { args, types: &node.argument_types, result: node.result, collation: node.collation, runtime };
    runtime.forgive((node.function.evaluate)(&call), Value::Null)
}

/// A program of an integer, evaluated over a row.
pub(crate) trait EvaluateInteger {
    /// The integer for a row, `None` for NULL.
    fn eval(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<i64>, SqlError>;
}

impl EvaluateInteger for IntNode {
    #[inline]
    fn eval(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<i64>, SqlError> {
        match self {
            IntNode::Constant(number) => Ok(Some(*number)),
            IntNode::Null => Ok(None),
            IntNode::Variable(slot) => Ok(runtime.variable_i64(*slot)),
            IntNode::Column(position) => Ok(row[*position].as_i64()),
            IntNode::Param(id) => Ok(runtime.param(*id).as_i64()),
            IntNode::VariablePlus(kind, slot, step) => match runtime.variable_i64(*slot) {
                None => Ok(None),
                Some(number) => runtime.forgive(in_range(*kind, number.checked_add(*step)), None),
            },
            IntNode::Binary(op, kind, left, right) => {
                let (Some(left), Some(right)) = (left.eval(runtime, row)?, right.eval(runtime, row)?) else {
                    return Ok(None);
                };
                runtime.forgive(integer_operation(*op, *kind, left, right), None)
            }
            IntNode::Negate(kind, node) => match node.eval(runtime, row)? {
                None => Ok(None),
                Some(number) => runtime.forgive(in_range(*kind, number.checked_neg()), None),
            },
            IntNode::Narrow(kind, node) => match node.eval(runtime, row)? {
                None => Ok(None),
                Some(number) => {
                    let (least, greatest) = kind.range();
                    if number < least || number > greatest {
                        return runtime.forgive(Err(narrowing_error(*kind, number)), None);
                    }
                    Ok(Some(number))
                }
            },
            IntNode::Other(node) => Ok(node.eval(runtime, row)?.as_i64()),
        }
    }
}

#[inline]
fn in_range(kind: IntKind, number: Option<i64>) -> Result<Option<i64>, SqlError> {
    let (least, greatest) = kind.range();
    match number {
        Some(number) if number >= least && number <= greatest => Ok(Some(number)),
        _ => Err(plan_ir::errors::overflow(kind.name())),
    }
}

#[cold]
fn narrowing_error(kind: IntKind, number: i64) -> SqlError {
    match kind {
        IntKind::Tiny | IntKind::Small => plan_ir::errors::small_overflow(kind.name(), number),
        IntKind::Int | IntKind::Big => plan_ir::errors::overflow(kind.name()),
    }
}

#[inline]
fn integer_operation(op: BinaryOp, kind: IntKind, left: i64, right: i64) -> Result<Option<i64>, SqlError> {
    let result = match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide | BinaryOp::Modulo if right == 0 => return Err(plan_ir::errors::divide_by_zero()),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Modulo => Some(left.wrapping_rem(right)),
        BinaryOp::BitAnd => Some(left & right),
        BinaryOp::BitOr => Some(left | right),
        BinaryOp::BitXor => Some(left ^ right),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            unreachable!("shifts are not compiled to the integer path")
        }
    };
    in_range(kind, result)
}

impl Test for BoolNode {
    #[inline]
    fn is_true(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<bool, SqlError> {
        match self {
            BoolNode::And(left, right) => Ok(left.is_true(runtime, row)? && right.is_true(runtime, row)?),
            node => Ok(node.test(runtime, row)? == Some(true)),
        }
    }

    fn test(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<bool>, SqlError> {
        match self {
            BoolNode::Constant(truth) => Ok(*truth),
            BoolNode::VariableInt(op, slot, right) => {
                Ok(runtime.variable_i64(*slot).map(|left| op.accepts(left.cmp(right))))
            }
            BoolNode::CompareInt(op, left, right) => {
                let (Some(left), Some(right)) = (left.eval(runtime, row)?, right.eval(runtime, row)?) else {
                    return Ok(None);
                };
                Ok(Some(op.accepts(left.cmp(&right))))
            }
            BoolNode::Compare(op, collation, left, right) => {
                let (mut one, mut other) = (Value::Null, Value::Null);
                let left = left.eval_in(runtime, row, &mut one)?;
                let right = right.eval_in(runtime, row, &mut other)?;
                Ok(types::compare(left, right, *collation).map(|ordering| op.accepts(ordering)))
            }
            BoolNode::And(left, right) => match left.test(runtime, row)? {
                Some(false) => Ok(Some(false)),
                Some(true) => right.test(runtime, row),
                None => Ok(if right.test(runtime, row)? == Some(false) { Some(false) } else { None }),
            },
            BoolNode::Or(left, right) => match left.test(runtime, row)? {
                Some(true) => Ok(Some(true)),
                Some(false) => right.test(runtime, row),
                None => Ok(if right.test(runtime, row)? == Some(true) { Some(true) } else { None }),
            },
            BoolNode::Not(node) => Ok(node.test(runtime, row)?.map(|truth| !truth)),
            BoolNode::Tolerant(node) => match node.test(runtime, row) {
                Err(error) if error.severity == SEVERITY_OF_VALUES => Ok(Some(true)),
                found => found,
            },
            BoolNode::IsNull(node) => Ok(Some(node.eval_in(runtime, row, &mut Value::Null)?.is_null())),
            BoolNode::Like(node) => like(node, runtime, row),
            BoolNode::InList(collation, node, list) => {
                let mut own = Value::Null;
                let value = node.eval_in(runtime, row, &mut own)?;
                let mut unknown = value.is_null();
                for item in list {
                    match types::compare(value, item.eval_in(runtime, row, &mut Value::Null)?, *collation) {
                        Some(Ordering::Equal) => return Ok(Some(true)),
                        Some(_) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            BoolNode::InSet(collation, node, set) => {
                in_set(set, *collation, node.eval_in(runtime, row, &mut Value::Null)?)
            }
            BoolNode::Exists(plan) => subquery::exists(plan, runtime, row).map(Some),
            BoolNode::Any(CompareOp::Equal, collation, left, plan) => {
                subquery::is_in(plan, runtime, row, left, *collation)
            }
            BoolNode::Any(op, collation, left, plan) => {
                subquery::quantified(plan, runtime, row, *op, left, *collation, false)
            }
            BoolNode::All(op, collation, left, plan) => {
                subquery::quantified(plan, runtime, row, *op, left, *collation, true)
            }
            BoolNode::Value(node) => Ok(match node.eval(runtime, row)? {
                Value::Bit(truth) => Some(truth),
                _ => None,
            }),
        }
    }
}

/// IN over constants.
fn in_set(set: &InSet, collation: Collation, value: &Value) -> Result<Option<bool>, SqlError> {
    if value.is_null() {
        return Ok(None);
    }
    let mut key = Vec::with_capacity(16);
    plan_ir::values::write_value(value, collation, &mut key);
    Ok(match (set.keys.contains(&key), set.has_null) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    })
}

fn like(node: &LikeNode, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<bool>, SqlError> {
    let mut own = Value::Null;
    let input = node.input.eval_in(runtime, row, &mut own)?;
    if let Some(known) = &node.known {
        return Ok(known.matches(input));
    }
    let pattern = node.pattern.eval(runtime, row)?;
    let escape = match &node.escape {
        None => None,
        Some(escape) => match escape.eval(runtime, row)? {
            Value::Null => return Ok(None),
            value => {
                let units: Vec<u16> = value.as_text().unwrap_or_default().encode_utf16().collect();
                match units.as_slice() {
                    [unit] => Some(*unit),
                    _ => return Err(plan_ir::errors::invalid_escape(&value.as_text().unwrap_or_default())),
                }
            }
        },
    };
    Ok(node.collation.like(input, &pattern, escape))
}
