//! The filter of an index or of statistics: from CREATE INDEX or STATISTICS ... WHERE to the engine's form.
//!
//! The documented grammar: comparisons of a column with a constant, `column IN (constants)`, `column IS [NOT] NULL`, and AND between them.
//! The column is never converted: a constant that cannot be converted to the column's type is refused (10611, 10612).

use binder::Scope;
use engine::{FilterOp, FilterTest, NewColumn, NewFilter};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{same_name, written};
use planner::filter::{constant_value, same_in_type, unlimited};
use tsql::ast::{self, ExprKind};
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType, Value};

use super::subject::{bind_context, schema_of};

/// The owner of a filter.
pub(super) struct Filtered<'a> {
    /// `index` or `statistics`, in messages.
    pub(super) kind: &'static str,
    /// Its name.
    pub(super) name: &'a str,
    /// Its table as written.
    pub(super) table: &'a ast::ObjectName,
    /// The table's columns.
    pub(super) columns: &'a [NewColumn],
}

/// A filter with its constants evaluated. Errors 207, 1934, 4104, 10609, 10611, 10612, 10620, 10735.
pub(super) fn bind(
    predicate: &ast::Expr,
    of: &Filtered<'_>,
    context: &ExecContext<'_>,
) -> Result<NewFilter, SqlError> {
    let conjuncts = match &predicate.kind {
        ExprKind::And(list) => list.iter().collect(),
        _ => vec![predicate],
    };
    let (mut terms, mut texts) = (Vec::new(), Vec::new());
    for conjunct in conjuncts {
        of.term(conjunct, context, &mut terms, &mut texts)?;
    }
    Ok(NewFilter { text: format!("({})", texts.join(" AND ")), terms })
}

impl Filtered<'_> {
    fn malformed(&self) -> SqlError {
        self.refused(10735)
    }

    fn refused(&self, number: i32) -> SqlError {
        SqlError::new(number, &[&self.kind, &self.name, &written(self.table)])
    }

    fn refused_for(&self, number: i32, column: &NewColumn) -> SqlError {
        SqlError::new(number, &[&self.kind, &self.name, &written(self.table), &column.name])
    }

    /// Does the qualifier name the table?
    fn is_own(&self, qualifier: &ast::ObjectName) -> bool {
        let is_same_database = match (&qualifier.database, &self.table.database) {
            (Some(one), Some(other)) => same_name(&one.value, &other.value),
            _ => true,
        };
        let is_same_schema =
            qualifier.schema.is_none() || same_name(&schema_of(qualifier), &schema_of(self.table));
        same_name(&qualifier.name.value, &self.table.name.value) && is_same_schema && is_same_database
    }

    fn term(
        &self,
        conjunct: &ast::Expr,
        context: &ExecContext<'_>,
        terms: &mut Vec<(String, FilterTest)>,
        texts: &mut Vec<String>,
    ) -> Result<(), SqlError> {
        match &conjunct.kind {
            ExprKind::And(list) => {
                return list.iter().try_for_each(|part| self.term(part, context, terms, texts));
            }
            ExprKind::IsNull { operand, negated } => {
                let column = self.column(operand)?;
                let (test, word) = match negated {
                    true => (FilterTest::IsNotNull, "IS NOT NULL"),
                    false => (FilterTest::IsNull, "IS NULL"),
                };
                texts.push(format!("{} {word}", quoted(&column.name)));
                terms.push((column.name.clone(), test));
            }
            ExprKind::Comparison(comparison) => {
                let column = self.column(&comparison.left)?;
                let (op, sign) = operator(comparison.op).ok_or_else(|| self.malformed())?;
                let value = self.constant(&comparison.right, column, context)?;
                texts.push(format!("{}{sign}{}", quoted(&column.name), shown(&comparison.right)));
                terms.push((column.name.clone(), FilterTest::Compare(op, value)));
            }
            ExprKind::In(list) if !list.negated => {
                let column = self.column(&list.operand)?;
                let ast::InList::Values(items) = &list.list else { return Err(self.malformed()) };
                let values = items.iter().map(|item| self.constant(item, column, context));
                let values = values.collect::<Result<Vec<Value>, SqlError>>()?;
                let shown: Vec<String> = items.iter().map(shown).collect();
                texts.push(format!("{} IN ({})", quoted(&column.name), shown.join(", ")));
                terms.push((column.name.clone(), FilterTest::In(values)));
            }
            _ => return Err(self.malformed()),
        }
        Ok(())
    }

    /// The column of a term; it may be qualified with its table. Errors 207, 4104, 10609, 10735.
    fn column(&self, expr: &ast::Expr) -> Result<&NewColumn, SqlError> {
        let ExprKind::Column(name) = &expr.kind else { return Err(self.malformed()) };
        if let Some(qualifier) = name.qualifier.as_ref().filter(|qualifier| !self.is_own(qualifier)) {
            let name = format!("{}.{}", written(qualifier), name.name.value);
            return Err(crate::errors::multi_part_not_bound(&name));
        }
        let column = self.columns.iter().find(|column| same_name(&column.name, &name.name.value));
        let column = column.ok_or_else(|| crate::errors::invalid_column(&name.name.value))?;
        if column.computed.is_some() {
            return Err(self.refused_for(10609, column));
        }
        Ok(column)
    }

    /// A constant as a value of the column's type. Errors 10611, 10612, 10620, 10735.
    fn constant(
        &self,
        expr: &ast::Expr,
        column: &NewColumn,
        context: &ExecContext<'_>,
    ) -> Result<Value, SqlError> {
        if matches!(expr.kind, ExprKind::Literal(ast::Literal::Null)) {
            return Err(self.refused(10620));
        }
        if !is_constant(expr) {
            return Err(self.malformed());
        }
        let bind = bind_context(context, &[]);
        let mut binder = crate::registry::binder(&bind);
        binder.scopes.push(Scope::default());
        let bound = binder.value(expr)?;
        let refused = |number: i32| self.refused_for(number, column);
        let convert_context = plan_ir::values::convert_context(context.options);
        let value = constant_value(&bound, &convert_context).ok_or_else(|| refused(10612))?;
        if value.is_null() {
            return Err(self.refused(10620));
        }
        let (from, to) = (&bound.sql_type, &column.sql_type);
        // Exact numeric constants are accepted if their value fits the column's type (a bit column compared with 0).
        let is_number = |sql_type: &SqlType| {
            matches!(sql_type.family(), TypeFamily::Integer | TypeFamily::Decimal | TypeFamily::Money)
        };
        let is_kin = from.family() == to.family() || (is_number(from) && is_number(to));
        let keeps_value = is_kin && from.family() != TypeFamily::DateTime;
        if from.precedence() > to.precedence() && !keeps_value {
            return Err(refused(10611));
        }
        let is_allowed = types::convert::matrix::check(from, to, false).is_ok() && is_compared(to);
        let converted = match is_kin {
            _ if !is_allowed => None,
            true => same_in_type(&value, from, to, column.collation, &convert_context),
            false => {
                types::convert(&value, from, &unlimited(to), types::DEFAULT_STYLE, &convert_context).ok()
            }
        };
        converted.ok_or_else(|| refused(if is_number(from) && is_number(to) { 10611 } else { 10612 }))
    }
}

/// Types whose values a filter can compare.
fn is_compared(sql_type: &SqlType) -> bool {
    !matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::SqlVariant)
}

/// Literals, also with a sign and inside CAST and CONVERT.
fn is_constant(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::OdbcLiteral(..) => true,
        ExprKind::Unary(_, inner) => is_constant(inner),
        ExprKind::Convert(convert) => is_constant(&convert.operand),
        _ => false,
    }
}

fn operator(op: ast::ComparisonOp) -> Option<(FilterOp, &'static str)> {
    use ast::ComparisonOp;
    Some(match op {
        ComparisonOp::Equal => (FilterOp::Equal, "="),
        ComparisonOp::NotEqual => (FilterOp::NotEqual, "<>"),
        ComparisonOp::Less => (FilterOp::Less, "<"),
        ComparisonOp::LessEqual => (FilterOp::LessOrEqual, "<="),
        ComparisonOp::Greater => (FilterOp::Greater, ">"),
        ComparisonOp::GreaterEqual => (FilterOp::GreaterOrEqual, ">="),
        ComparisonOp::LeftOuter | ComparisonOp::RightOuter => return None,
    })
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A constant as the catalog shows it: numbers in parentheses, strings as they are.
fn shown(constant: &ast::Expr) -> String {
    let text = tsql::format_expression(constant);
    match &constant.kind {
        ExprKind::Literal(ast::Literal::Int(_) | ast::Literal::Numeric(_) | ast::Literal::Float(_))
        | ExprKind::Unary(..) => format!("({text})"),
        _ => text,
    }
}
