//! Expressions of a plan as showplan shows them: a tree of named columns, constants and operations, as text and as XML.

use plan_ir::kinds::{CompareOp, Conversion, ConversionKind};
use plan_ir::table::SequenceSource;
use types::SqlType;
use types::arith::{BinaryOp, UnaryOp};

use super::writer::Writer;

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
