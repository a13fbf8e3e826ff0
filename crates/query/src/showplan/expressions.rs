//! Converts the expressions of a plan to the trees that showplan shows.

use plan_ir::kinds::Conversion;
use plan_ir::physical::plan::{BoolNode, IntKind, IntNode, Node, SubPlan};
use types::arith::{BinaryOp, UnaryOp};
use types::{SqlType, Value};

use super::Describer;
use super::scalar::{PlanColumn, Scalar, ScalarKind};

/// More values of an IN list than these are not written out.
const LIST_SHOWN_MAX: usize = 64;

impl<'p> Describer<'p> {
    /// What an expression over rows of `input` computes. Subqueries in it are noted, to be shown as joins below.
    pub(super) fn scalar(&mut self, node: &'p Node, input: &[PlanColumn]) -> Scalar {
        match node {
            Node::Constant(value) => Scalar::constant(literal(value)),
            Node::Variable(slot) => self.variable(*slot),
            Node::Column(position) => self.input_column(*position, input),
            Node::Param(id) => self.outer_column(*id),
            Node::NextValue(sequence) => Scalar::next_value(sequence),
            Node::Integer(integer, _) => self.integer(integer, input),
            Node::Binary(binary) => {
                let parts = vec![self.scalar(&binary.left, input), self.scalar(&binary.right, input)];
                Scalar::new(ScalarKind::Arithmetic(binary.op), parts)
            }
            Node::Unary(op, inner, _) => Scalar::new(ScalarKind::Sign(*op), vec![self.scalar(inner, input)]),
            Node::Convert(convert) => {
                let kind = ScalarKind::Convert { to: convert.to, conversion: convert.conversion };
                Scalar::new(kind, vec![self.scalar(&convert.input, input)])
            }
            Node::Predicate(predicate) => self.predicate(predicate, input),
            Node::Case(branches, otherwise) => {
                let last =
                    otherwise.as_ref().map_or_else(|| Scalar::constant("NULL"), |e| self.scalar(e, input));
                branches.iter().rev().fold(last, |otherwise, (condition, value)| {
                    let parts = vec![self.predicate(condition, input), self.scalar(value, input), otherwise];
                    Scalar::new(ScalarKind::If, parts)
                })
            }
            Node::Coalesce(nodes) => {
                let parts = nodes.iter().map(|node| self.scalar(node, input)).collect();
                Scalar::call("coalesce", parts)
            }
            Node::Call(call) => {
                // The place number of RAND() is internal and not shown.
                let is_placed = std::ptr::eq(call.function, &executor::functions::RAND_OF_PLACE);
                let written = if is_placed { &[] } else { &call.arguments[..] };
                let parts = written.iter().map(|node| self.scalar(node, input)).collect();
                Scalar::call(call.function.name.to_lowercase(), parts)
            }
            Node::UserCall(call) => {
                let parts = call.arguments.iter().map(|node| self.scalar(node, input)).collect();
                let module = &call.function.module;
                let database = call.function.database.name();
                Scalar::call(format!("[{database}].[{}].[{}]", module.schema, module.name), parts)
            }
            Node::Scalar(subquery) => self.subquery(subquery, "Left Outer Join"),
        }
    }

    fn input_column(&self, position: usize, input: &[PlanColumn]) -> Scalar {
        let column = input.get(position).cloned();
        Scalar::column(column.unwrap_or_else(|| PlanColumn::expression(format!("Col{position}"))))
    }

    fn variable(&self, slot: usize) -> Scalar {
        let name = self.variables.get(slot).map_or_else(|| format!("@{slot}"), |v| v.name.clone());
        Scalar::column(PlanColumn::expression(name))
    }

    fn outer_column(&mut self, id: usize) -> Scalar {
        let column = self.outer.get(&id).cloned();
        let column = column.unwrap_or_else(|| PlanColumn::expression(format!("Outer{id}")));
        if !self.outer_used.contains(&column) {
            self.outer_used.push(column.clone());
        }
        Scalar::column(column)
    }

    fn integer(&mut self, node: &'p IntNode, input: &[PlanColumn]) -> Scalar {
        match node {
            IntNode::Constant(number) => Scalar::constant(format!("({number})")),
            IntNode::Null => Scalar::constant("NULL"),
            IntNode::Variable(slot) => self.variable(*slot),
            IntNode::Column(position) => self.input_column(*position, input),
            IntNode::Param(id) => self.outer_column(*id),
            IntNode::Binary(op, _, left, right) => {
                let parts = vec![self.integer(left, input), self.integer(right, input)];
                Scalar::new(ScalarKind::Arithmetic(*op), parts)
            }
            IntNode::VariablePlus(_, slot, number) => {
                let parts = vec![self.variable(*slot), Scalar::constant(format!("({number})"))];
                Scalar::new(ScalarKind::Arithmetic(BinaryOp::Add), parts)
            }
            IntNode::Negate(_, inner) => {
                Scalar::new(ScalarKind::Sign(UnaryOp::Negate), vec![self.integer(inner, input)])
            }
            IntNode::Narrow(kind, inner) => {
                let to = match kind {
                    IntKind::Tiny => SqlType::TinyInt,
                    IntKind::Small => SqlType::SmallInt,
                    IntKind::Int => SqlType::Int,
                    IntKind::Big => SqlType::BigInt,
                };
                let kind = ScalarKind::Convert { to, conversion: Conversion::IMPLICIT };
                Scalar::new(kind, vec![self.integer(inner, input)])
            }
            IntNode::Other(node) => self.scalar(node, input),
        }
    }

    /// What a condition over rows of `input` tests.
    pub(super) fn predicate(&mut self, node: &'p BoolNode, input: &[PlanColumn]) -> Scalar {
        let logical = |word, parts| Scalar::new(ScalarKind::Logical(word), parts);
        match node {
            BoolNode::Constant(Some(true)) => Scalar::constant("(1)"),
            BoolNode::Constant(Some(false)) => Scalar::constant("(0)"),
            BoolNode::Constant(None) => Scalar::constant("NULL"),
            BoolNode::CompareInt(op, left, right) => {
                let parts = vec![self.integer(left, input), self.integer(right, input)];
                Scalar::new(ScalarKind::Compare(*op), parts)
            }
            BoolNode::VariableInt(op, slot, number) => {
                let parts = vec![self.variable(*slot), Scalar::constant(format!("({number})"))];
                Scalar::new(ScalarKind::Compare(*op), parts)
            }
            BoolNode::Compare(op, _, left, right) => {
                let parts = vec![self.scalar(left, input), self.scalar(right, input)];
                Scalar::new(ScalarKind::Compare(*op), parts)
            }
            BoolNode::And(left, right) => {
                logical("AND", vec![self.predicate(left, input), self.predicate(right, input)])
            }
            BoolNode::Or(left, right) => {
                logical("OR", vec![self.predicate(left, input), self.predicate(right, input)])
            }
            BoolNode::Not(inner) => logical("NOT", vec![self.predicate(inner, input)]),
            BoolNode::Tolerant(inner) => self.predicate(inner, input),
            BoolNode::IsNull(inner) => logical("IS NULL", vec![self.scalar(inner, input)]),
            BoolNode::Like(like) => {
                let mut parts = vec![self.scalar(&like.input, input), self.scalar(&like.pattern, input)];
                parts.extend(like.escape.as_ref().map(|escape| self.scalar(escape, input)));
                Scalar::call("like", parts)
            }
            BoolNode::InList(_, left, list) => {
                let left = self.scalar(left, input);
                let each = list.iter().take(LIST_SHOWN_MAX);
                let parts: Vec<Scalar> =
                    each.map(|item| Scalar::equal(left.clone(), self.scalar(item, input))).collect();
                if parts.len() == 1 { parts[0].clone() } else { logical("OR", parts) }
            }
            BoolNode::InSet(_, left, set) => {
                let count = set.keys.len() + usize::from(set.has_null);
                let values = Scalar::constant(format!("{count} values"));
                Scalar::call("in", vec![self.scalar(left, input), values])
            }
            BoolNode::Exists(subquery) => self.subquery(subquery, "Left Semi Join"),
            BoolNode::Any(op, _, left, subquery) | BoolNode::All(op, _, left, subquery) => {
                let found = self.subquery(subquery, "Left Outer Join");
                let word = if matches!(node, BoolNode::Any(..)) { "any" } else { "all" };
                let left = self.scalar(left, input);
                Scalar::new(ScalarKind::Compare(*op), vec![left, Scalar::call(word, vec![found])])
            }
            BoolNode::Value(inner) => self.scalar(inner, input),
        }
    }

    fn subquery(&mut self, subquery: &'p SubPlan, join: &'static str) -> Scalar {
        let column = self.new_expression();
        self.subqueries.push((subquery, join, column.clone()));
        Scalar::column(column)
    }
}

/// A constant as text.
fn literal(value: &Value) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    let text = types::convert(
        value,
        &value.natural_type(),
        &SqlType::NVARCHAR_MAX,
        types::DEFAULT_STYLE,
        &types::ConvertContext::default(),
    );
    let text = text.ok().and_then(|text| text.as_text()).unwrap_or_default();
    let natural = value.natural_type();
    if natural.is_character() {
        let prefix = if matches!(value, Value::NChar(_)) { "N" } else { "" };
        return format!("{prefix}'{}'", text.replace('\'', "''"));
    }
    if value.as_i64().is_some() || text.parse::<f64>().is_ok() {
        return format!("({text})");
    }
    format!("'{text}'")
}
