//! Expressions of a plan as showplan shows them: a tree of named columns, constants and operations, as text and as XML.

use types::arith::{BinaryOp, UnaryOp};
use types::{SqlType, Value};

use super::Describer;
use super::xml::Writer;
use crate::kinds::{CompareOp, Conversion, ConversionKind};
use crate::physical::plan::{BoolNode, IntKind, IntNode, Node, SubPlan};
use crate::table::SequenceSource;

/// More values of an IN list than these are not written out.
const LIST_SHOWN_MAX: usize = 64;

/// A column of a plan: of a table, or an expression with a made-up name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanColumn {
    /// Database, schema and table; none for an expression.
    pub table: Option<[String; 3]>,
    /// The column's name, or `Expr1001`.
    pub name: String,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub(super) kind: ScalarKind,
    pub(super) parts: Vec<Scalar>,
}

/// What it does with its parts.
#[derive(Clone, Debug)]
pub(super) enum ScalarKind {
    Column(PlanColumn),
    /// As text: `(1)`, `'abc'`, `NULL`.
    Constant(String),
    Compare(CompareOp),
    /// AND, OR, NOT, IS NULL.
    Logical(&'static str),
    Arithmetic(BinaryOp),
    /// Sign or complement.
    Sign(UnaryOp),
    Convert {
        to: SqlType,
        conversion: Conversion,
    },
    Call(String),
    /// Condition, then, else.
    If,
}

impl PlanColumn {
    /// An expression's column.
    pub(super) fn expression(name: String) -> PlanColumn {
        PlanColumn { table: None, name }
    }

    /// `[db].[schema].[table].[column]` or `[Expr1001]`.
    pub fn text(&self) -> String {
        let table: String = self.table.iter().flatten().map(|part| format!("{}.", quoted(part))).collect();
        table + &quoted(&self.name)
    }
}

/// A name in brackets.
pub(super) fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

impl Scalar {
    pub(super) fn new(kind: ScalarKind, parts: Vec<Scalar>) -> Scalar {
        Scalar { kind, parts }
    }

    pub(super) fn column(column: PlanColumn) -> Scalar {
        Scalar::new(ScalarKind::Column(column), Vec::new())
    }

    pub(super) fn constant(text: impl Into<String>) -> Scalar {
        Scalar::new(ScalarKind::Constant(text.into()), Vec::new())
    }

    pub(super) fn call(name: impl Into<String>, parts: Vec<Scalar>) -> Scalar {
        Scalar::new(ScalarKind::Call(name.into()), parts)
    }

    pub(super) fn next_value(sequence: &SequenceSource) -> Scalar {
        let name = format!("[{}].[{}]", sequence.def.schema, sequence.def.name);
        Scalar::call("next_value", vec![Scalar::constant(name)])
    }

    pub(super) fn equal(left: Scalar, right: Scalar) -> Scalar {
        Scalar::new(ScalarKind::Compare(CompareOp::Equal), vec![left, right])
    }

    /// As in StmtText.
    pub fn text(&self) -> String {
        let part = |index: usize| self.parts[index].text();
        let inner = |index: usize| match self.parts[index].kind {
            ScalarKind::Arithmetic(_) | ScalarKind::Logical("AND" | "OR") => format!("({})", part(index)),
            _ => part(index),
        };
        match &self.kind {
            ScalarKind::Column(column) => column.text(),
            ScalarKind::Constant(text) => text.clone(),
            ScalarKind::Compare(op) => format!("{}{}{}", inner(0), compare_sign(*op).0, inner(1)),
            ScalarKind::Logical("IS NULL") => format!("{} IS NULL", inner(0)),
            ScalarKind::Logical("NOT") => format!("NOT {}", inner(0)),
            ScalarKind::Logical(word) => {
                let parts: Vec<String> = (0..self.parts.len()).map(inner).collect();
                parts.join(&format!(" {word} "))
            }
            ScalarKind::Arithmetic(op) => format!("{}{}{}", inner(0), arithmetic_sign(*op).0, inner(1)),
            ScalarKind::Sign(op) => format!("{}{}", sign(*op).0, inner(0)),
            ScalarKind::Convert { to, conversion } => {
                let name = match conversion.kind {
                    ConversionKind::Implicit | ConversionKind::Assign => "CONVERT_IMPLICIT",
                    ConversionKind::Explicit => "CONVERT",
                    ConversionKind::Try => "TRY_CONVERT",
                };
                format!("{name}({to},{},{})", part(0), conversion.style)
            }
            ScalarKind::Call(name) => {
                let parts: Vec<String> = self.parts.iter().map(Scalar::text).collect();
                format!("{name}({})", parts.join(","))
            }
            ScalarKind::If => format!("CASE WHEN {} THEN {} ELSE {} END", part(0), part(1), part(2)),
        }
    }

    /// As a `ScalarOperator` element.
    pub(super) fn write(&self, out: &mut Writer, is_root: bool) {
        let text = if is_root { Some(self.text()) } else { None };
        let attributes: Vec<(&str, &str)> = text.iter().map(|text| ("ScalarString", text.as_str())).collect();
        out.element("ScalarOperator", &attributes, |out| self.write_kind(out));
    }

    fn write_kind(&self, out: &mut Writer) {
        match &self.kind {
            ScalarKind::Column(column) => {
                out.element("Identifier", &[], |out| column.write(out));
            }
            ScalarKind::Constant(text) => out.empty("Const", &[("ConstValue", text)]),
            ScalarKind::Compare(op) => {
                self.write_parts(out, "Compare", &[("CompareOp", compare_sign(*op).1)]);
            }
            ScalarKind::Logical(word) => self.write_parts(out, "Logical", &[("Operation", word)]),
            ScalarKind::Arithmetic(op) => match arithmetic_sign(*op).1 {
                Some(name) => self.write_parts(out, "Arithmetic", &[("Operation", name)]),
                None => self.write_parts(out, "Intrinsic", &[("FunctionName", arithmetic_sign(*op).0)]),
            },
            ScalarKind::Sign(op) => self.write_parts(out, "Arithmetic", &[("Operation", sign(*op).1)]),
            ScalarKind::Convert { to, conversion } => {
                let implicit = matches!(conversion.kind, ConversionKind::Implicit | ConversionKind::Assign);
                let attributes = [
                    ("DataType", to.to_string()),
                    ("Style", conversion.style.max(0).to_string()),
                    ("Implicit", u8::from(implicit).to_string()),
                ];
                let attributes = attributes.each_ref().map(|(name, value)| (*name, value.as_str()));
                self.write_parts(out, "Convert", &attributes);
            }
            ScalarKind::Call(name) => self.write_parts(out, "Intrinsic", &[("FunctionName", name)]),
            ScalarKind::If => out.element("IF", &[], |out| {
                for (name, part) in ["Condition", "Then", "Else"].iter().zip(&self.parts) {
                    out.element(name, &[], |out| part.write(out, false));
                }
            }),
        }
    }

    fn write_parts(&self, out: &mut Writer, name: &str, attributes: &[(&str, &str)]) {
        out.element(name, attributes, |out| self.parts.iter().for_each(|part| part.write(out, false)));
    }
}

/// In text, and in XML.
fn compare_sign(op: CompareOp) -> (&'static str, &'static str) {
    match op {
        CompareOp::Equal => ("=", "EQ"),
        CompareOp::NotEqual => ("<>", "NE"),
        CompareOp::Less => ("<", "LT"),
        CompareOp::LessOrEqual => ("<=", "LE"),
        CompareOp::Greater => (">", "GT"),
        CompareOp::GreaterOrEqual => (">=", "GE"),
    }
}

/// In text, and in XML when its schema has the operation.
fn arithmetic_sign(op: BinaryOp) -> (&'static str, Option<&'static str>) {
    match op {
        BinaryOp::Add => ("+", Some("ADD")),
        BinaryOp::Subtract => ("-", Some("SUB")),
        BinaryOp::Multiply => ("*", Some("MULT")),
        BinaryOp::Divide => ("/", Some("DIV")),
        BinaryOp::Modulo => ("%", Some("MOD")),
        BinaryOp::BitAnd => ("&", Some("BIT_AND")),
        BinaryOp::BitOr => ("|", Some("BIT_OR")),
        BinaryOp::BitXor => ("^", Some("BIT_XOR")),
        BinaryOp::ShiftLeft => ("<<", None),
        BinaryOp::ShiftRight => (">>", None),
    }
}

fn sign(op: UnaryOp) -> (&'static str, &'static str) {
    match op {
        UnaryOp::Plus => ("+", "ADD"),
        UnaryOp::Negate => ("-", "MINUS"),
        UnaryOp::BitNot => ("~", "BIT_NOT"),
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
                // Where RAND() is written is nobody's business.
                let is_placed = std::ptr::eq(call.function, &crate::functions::math::RAND_OF_PLACE);
                let written = if is_placed { &[] } else { &call.arguments[..] };
                let parts = written.iter().map(|node| self.scalar(node, input)).collect();
                Scalar::call(call.function.name.to_lowercase(), parts)
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
