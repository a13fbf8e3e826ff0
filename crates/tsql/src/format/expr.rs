//! Expressions, with parentheses only where the parser needs them.

use super::Printer;
use crate::ast::{
    Arithmetic, BinaryOp, Case, ColumnRef, ComparisonOp, Convert, ConvertForm, DataType, Expr, ExprKind,
    Frame, FrameBound, FullText, FunctionCall, FunctionExtra, InList, Literal, OdbcLiteralKind, OrderByItem,
    SetQuantifier, TrimSide, TypeArgument, UnaryOp, Window,
};

/// Functions whose arguments are kept as one text.
const OPAQUE_FUNCTIONS: [&str; 8] = [
    "MATCH",
    "CHANGETABLE",
    "PREDICT",
    "CONTAINSTABLE",
    "FREETEXTTABLE",
    "SEMANTICKEYPHRASETABLE",
    "SEMANTICSIMILARITYTABLE",
    "SEMANTICSIMILARITYDETAILSTABLE",
];

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const PREDICATE: u8 = 4;
const SUM: u8 = 5;
const SIGN: u8 = 6;
const PRODUCT: u8 = 7;
const BIT_NOT: u8 = 8;
const POSTFIX: u8 = 9;
const PRIMARY: u8 = 10;

/// How strongly the outermost operator of the expression binds.
fn level(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Or(_) => OR,
        ExprKind::And(_) => AND,
        ExprKind::Not(_) => NOT,
        ExprKind::Comparison(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsDistinct { .. }
        | ExprKind::Between(_)
        | ExprKind::In(_)
        | ExprKind::Like(_)
        | ExprKind::Quantified(_)
        | ExprKind::KeyValue(_) => PREDICATE,
        ExprKind::Arithmetic(chain) => chain_level(chain),
        ExprKind::Unary(UnaryOp::BitNot, _) => BIT_NOT,
        ExprKind::Unary(..) => SIGN,
        ExprKind::Collate(..)
        | ExprKind::AtTimeZone(_)
        | ExprKind::MethodCall(_)
        | ExprKind::Property(..) => POSTFIX,
        _ => PRIMARY,
    }
}

fn chain_level(chain: &Arithmetic) -> u8 {
    match chain.rest.first() {
        Some((BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo, _)) => PRODUCT,
        _ => SUM,
    }
}

impl Printer {
    /// An expression or condition.
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.expr_kind(&expr.kind);
    }

    /// An expression in parentheses unless it binds at least as strongly as `least`.
    fn at_least(&mut self, expr: &Expr, least: u8) {
        let wrap = level(expr) < least;
        self.flag("(", wrap);
        self.expr(expr);
        self.flag(")", wrap);
    }

    fn expr_kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Variable(name) | ExprKind::GlobalVariable(name) => self.w(name),
            ExprKind::Column(column) => self.column(column),
            ExprKind::Default => self.w("DEFAULT"),
            ExprKind::Unary(op, operand) => {
                self.w(match op {
                    UnaryOp::Plus => "+",
                    UnaryOp::Minus => "-",
                    UnaryOp::BitNot => "~",
                });
                self.at_least(operand, if *op == UnaryOp::BitNot { POSTFIX } else { PRODUCT });
            }
            ExprKind::Arithmetic(chain) => self.arithmetic(chain),
            ExprKind::And(operands) => self.junction(operands, " AND ", NOT),
            ExprKind::Or(operands) => self.junction(operands, " OR ", AND),
            ExprKind::Not(operand) => {
                self.w("NOT ");
                self.at_least(operand, NOT);
            }
            ExprKind::Subquery(query) => {
                self.w("(");
                self.query(query);
                self.w(")");
            }
            ExprKind::Case(case) => self.case(case),
            ExprKind::Convert(convert) => self.convert(convert),
            ExprKind::Function(call) => self.function(call),
            ExprKind::Collate(operand, collation) => {
                self.at_least(operand, POSTFIX);
                self.w(" COLLATE ");
                self.ident(collation);
            }
            ExprKind::AtTimeZone(pair) => {
                self.at_least(&pair.0, POSTFIX);
                self.w(" AT TIME ZONE ");
                self.at_least(&pair.1, PRIMARY);
            }
            ExprKind::MethodCall(call) => {
                self.target(&call.target);
                self.w(".");
                self.ident(&call.method);
                self.paren_list(&call.args, Self::expr);
            }
            ExprKind::Property(target, property) => {
                self.target(target);
                self.w(".");
                self.ident(property);
            }
            _ => self.rare(kind),
        }
    }

    /// Conditions and rare values.
    fn rare(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::NextValueFor(next) => {
                self.w("NEXT VALUE FOR ");
                self.name(&next.sequence);
                self.opt(" OVER ", &next.over, Self::window);
            }
            ExprKind::StaticCall(call) => {
                self.name(&call.type_name);
                self.w("::");
                self.ident(&call.member);
                self.opt("", &call.args, |p, args| p.paren_list(args, Self::expr));
            }
            ExprKind::Identity(identity) => {
                self.w("IDENTITY(");
                self.data_type(&identity.data_type);
                self.opt(", ", &identity.seed, Self::expr);
                self.opt(", ", &identity.increment, Self::expr);
                self.w(")");
            }
            ExprKind::OdbcLiteral(kind, text) => {
                self.w(match kind {
                    OdbcLiteralKind::Date => "{d ",
                    OdbcLiteralKind::Time => "{t ",
                    OdbcLiteralKind::Timestamp => "{ts ",
                    OdbcLiteralKind::Guid => "{guid ",
                });
                self.string(text);
                self.w("}");
            }
            ExprKind::KeyValue(pair) => {
                self.expr(&pair.0);
                self.w(" : ");
                self.expr(&pair.1);
            }
            ExprKind::FullText(full_text) => self.full_text(full_text),
            _ => self.predicate(kind),
        }
    }

    fn predicate(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Comparison(comparison) => {
                self.at_least(&comparison.left, SUM);
                self.comparison_operator(comparison.op);
                self.at_least(&comparison.right, SUM);
            }
            ExprKind::IsNull { operand, negated } => {
                self.at_least(operand, SUM);
                self.w(if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            ExprKind::IsDistinct { operands, negated } => {
                self.at_least(&operands.0, SUM);
                self.w(if *negated { " IS NOT DISTINCT FROM " } else { " IS DISTINCT FROM " });
                self.at_least(&operands.1, SUM);
            }
            ExprKind::Between(between) => {
                self.at_least(&between.operand, SUM);
                self.w(if between.negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.at_least(&between.low, SUM);
                self.w(" AND ");
                self.at_least(&between.high, SUM);
            }
            ExprKind::In(list) => {
                self.at_least(&list.operand, SUM);
                self.w(if list.negated { " NOT IN (" } else { " IN (" });
                match &list.list {
                    InList::Values(values) => self.list(values, Self::expr),
                    InList::Query(query) => self.query(query),
                }
                self.w(")");
            }
            ExprKind::Like(like) => {
                self.at_least(&like.operand, SUM);
                self.w(if like.negated { " NOT LIKE " } else { " LIKE " });
                self.at_least(&like.pattern, SUM);
                self.opt(" ESCAPE ", &like.escape, |p, escape| p.at_least(escape, SUM));
            }
            ExprKind::Exists(query) => {
                self.w("EXISTS (");
                self.query(query);
                self.w(")");
            }
            ExprKind::Quantified(quantified) => {
                self.at_least(&quantified.operand, SUM);
                self.comparison_operator(quantified.op);
                self.w(if quantified.all { "ALL (" } else { "ANY (" });
                self.query(&quantified.query);
                self.w(")");
            }
            _ => {}
        }
    }

    /// The target of a method or property; a bare column would be parsed as a qualified name.
    fn target(&mut self, target: &Expr) {
        match &target.kind {
            ExprKind::Variable(_)
            | ExprKind::Function(_)
            | ExprKind::MethodCall(_)
            | ExprKind::Property(..) => {
                self.expr(target);
            }
            ExprKind::Subquery(_) => self.expr(target),
            _ => {
                self.w("(");
                self.expr(target);
                self.w(")");
            }
        }
    }

    fn arithmetic(&mut self, chain: &Arithmetic) {
        let own = chain_level(chain);
        self.at_least(&chain.first, if own == SUM { SIGN } else { BIT_NOT });
        for (op, operand) in &chain.rest {
            self.w(match op {
                BinaryOp::Add => " + ",
                BinaryOp::Subtract => " - ",
                BinaryOp::Multiply => " * ",
                BinaryOp::Divide => " / ",
                BinaryOp::Modulo => " % ",
                BinaryOp::BitAnd => " & ",
                BinaryOp::BitOr => " | ",
                BinaryOp::BitXor => " ^ ",
                BinaryOp::Concat => " || ",
                BinaryOp::ShiftLeft => " << ",
                BinaryOp::ShiftRight => " >> ",
            });
            self.at_least(operand, if own == SUM { PRODUCT } else { BIT_NOT });
        }
    }

    fn junction(&mut self, operands: &[Expr], word: &str, least: u8) {
        for (index, operand) in operands.iter().enumerate() {
            self.flag(word, index > 0);
            self.at_least(operand, least);
        }
    }

    fn comparison_operator(&mut self, op: ComparisonOp) {
        self.w(match op {
            ComparisonOp::Equal => " = ",
            ComparisonOp::NotEqual => " <> ",
            ComparisonOp::Less => " < ",
            ComparisonOp::LessEqual => " <= ",
            ComparisonOp::Greater => " > ",
            ComparisonOp::GreaterEqual => " >= ",
            ComparisonOp::LeftOuter => " *= ",
            ComparisonOp::RightOuter => " =* ",
        });
    }

    pub(super) fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.w("NULL"),
            Literal::Int(value) => self.w(&value.to_string()),
            Literal::Numeric(text) => self.w(text),
            Literal::Float(value) => self.w(&format!("{value:e}")),
            Literal::String(text) => self.string(text),
            Literal::NString(text) => {
                self.w("N");
                self.string(text);
            }
            Literal::Binary(bytes) => {
                self.w("0x");
                for byte in bytes {
                    self.w(&format!("{byte:02X}"));
                }
            }
            Literal::Money(text) => {
                self.w("$");
                self.w(text);
            }
        }
    }

    pub(super) fn column(&mut self, column: &ColumnRef) {
        if let Some(qualifier) = &column.qualifier {
            self.name(qualifier);
            self.w(".");
        }
        self.ident(&column.name);
    }

    fn case(&mut self, case: &Case) {
        self.w("CASE");
        self.opt(" ", &case.operand, Self::expr);
        for (when, then) in &case.branches {
            self.w(" WHEN ");
            self.expr(when);
            self.w(" THEN ");
            self.expr(then);
        }
        self.opt(" ELSE ", &case.otherwise, Self::expr);
        self.w(" END");
    }

    fn convert(&mut self, convert: &Convert) {
        self.flag("TRY_", convert.is_try);
        if convert.form == ConvertForm::Convert {
            self.w("CONVERT(");
            self.data_type(&convert.target);
            self.w(", ");
            self.expr(&convert.operand);
            self.opt(", ", &convert.style, Self::expr);
        } else {
            self.w(if convert.form == ConvertForm::Cast { "CAST(" } else { "PARSE(" });
            self.expr(&convert.operand);
            self.w(" AS ");
            self.data_type(&convert.target);
            self.opt(" USING ", &convert.style, Self::expr);
        }
        self.w(")");
    }

    fn function(&mut self, call: &FunctionCall) {
        self.flag("{fn ", call.is_odbc);
        self.name(&call.name);
        if call.is_niladic {
            return;
        }
        let plain = FunctionExtra::default();
        let extra = call.extra.as_deref().unwrap_or(&plain);
        self.w("(");
        match call.quantifier {
            Some(SetQuantifier::Distinct) => self.w("DISTINCT "),
            Some(SetQuantifier::All) => self.w("ALL "),
            None => {}
        }
        let opaque = OPAQUE_FUNCTIONS.iter().any(|name| call.name.is_simple() && call.name.name.is(name));
        match (call.args.as_slice(), opaque) {
            ([Expr { kind: ExprKind::Literal(Literal::String(text)), .. }], true) => self.w(text),
            (args, _) if extra.trim_from || extra.trim.is_some() => self.trim_arguments(args, extra),
            (args, _) => self.list(args, Self::expr),
        }
        self.flag("*", call.star);
        self.opt("", &extra.null_on_null, |p, null| {
            p.w(if *null { " NULL ON NULL" } else { " ABSENT ON NULL" })
        });
        self.opt(" RETURNING ", &extra.json_returning, Self::data_type);
        self.w(")");
        self.opt(" WITHIN GROUP (", &extra.within_group, |p, order_by| {
            p.order_by(order_by);
            p.w(")");
        });
        self.opt("", &extra.ignore_nulls, |p, ignore| {
            p.w(if *ignore { " IGNORE NULLS" } else { " RESPECT NULLS" })
        });
        self.opt(" OVER ", &extra.over, Self::window);
        self.flag("}", call.is_odbc);
    }

    fn trim_arguments(&mut self, args: &[Expr], extra: &FunctionExtra) {
        match extra.trim {
            Some(TrimSide::Leading) => self.w("LEADING "),
            Some(TrimSide::Trailing) => self.w("TRAILING "),
            Some(TrimSide::Both) => self.w("BOTH "),
            None => {}
        }
        for (index, arg) in args.iter().enumerate() {
            self.flag(" FROM ", index > 0);
            self.expr(arg);
        }
    }

    /// `name` or `(..)`.
    pub(super) fn window(&mut self, window: &Window) {
        let bare = window.partition_by.is_empty() && window.order_by.is_empty() && window.frame.is_none();
        if let (Some(name), true) = (&window.name, bare) {
            return self.ident(name);
        }
        self.window_body(window);
    }

    /// `(..)`
    pub(super) fn window_body(&mut self, window: &Window) {
        self.w("(");
        self.opt("", &window.name, |p, name| {
            p.ident(name);
            p.w(" ");
        });
        if !window.partition_by.is_empty() {
            self.w("PARTITION BY ");
            self.list(&window.partition_by, Self::expr);
            self.flag(" ", !window.order_by.is_empty() || window.frame.is_some());
        }
        self.order_by(&window.order_by);
        self.opt(" ", &window.frame, Self::frame);
        self.w(")");
    }

    fn frame(&mut self, frame: &Frame) {
        self.w(if frame.rows { "ROWS " } else { "RANGE " });
        self.flag("BETWEEN ", frame.end.is_some());
        self.frame_bound(&frame.start);
        self.opt(" AND ", &frame.end, Self::frame_bound);
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.w("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.w("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.w("CURRENT ROW"),
            FrameBound::Preceding(amount) => {
                self.at_least(amount, SUM);
                self.w(" PRECEDING");
            }
            FrameBound::Following(amount) => {
                self.at_least(amount, SUM);
                self.w(" FOLLOWING");
            }
        }
    }

    /// `ORDER BY ..`, or nothing.
    pub(super) fn order_by(&mut self, items: &[OrderByItem]) {
        if items.is_empty() {
            return;
        }
        self.w("ORDER BY ");
        self.list(items, |p, item| {
            p.expr(&item.expr);
            p.direction(item.descending);
        });
    }

    pub(super) fn direction(&mut self, descending: Option<bool>) {
        self.opt("", &descending, |p, descending| p.w(if *descending { " DESC" } else { " ASC" }));
    }

    fn full_text(&mut self, full_text: &FullText) {
        self.w(if full_text.freetext { "FREETEXT(" } else { "CONTAINS(" });
        match full_text.columns.as_slice() {
            [] => self.w("*"),
            [column] => self.column(column),
            columns => self.paren_list(columns, Self::column),
        }
        self.w(", ");
        self.expr(&full_text.term);
        self.opt(", LANGUAGE ", &full_text.language, Self::expr);
        self.w(")");
    }

    pub(super) fn data_type(&mut self, data_type: &DataType) {
        self.name(&data_type.name);
        if let Some(schema) = &data_type.xml_schema {
            self.w("(");
            self.opt("", &schema.0, |p, document| p.w(if *document { "DOCUMENT " } else { "CONTENT " }));
            self.name(&schema.1);
            self.w(")");
        }
        if !data_type.args.is_empty() {
            self.paren_list(&data_type.args, |p, arg| match arg {
                TypeArgument::Max => p.w("MAX"),
                TypeArgument::Number(number) => p.w(&number.to_string()),
                TypeArgument::Word(word) => p.ident(word),
            });
        }
        self.flag(" VARYING", data_type.varying);
    }
}
