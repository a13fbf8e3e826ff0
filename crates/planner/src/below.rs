//! Which predicates may be pushed below an operator that merges equal values (DISTINCT, GROUP BY, set operations) or removes rows. Such a predicate
//! gives one result for all equal values and one result each time, and it raises no error for a row that the operator would have removed.

use plan_ir::bound::columns::Columns;
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::{ColumnId, ConversionKind};
use types::SqlType;
use types::arith::{BinaryOp, UnaryOp, decimal_shape};
use types::sql_type::TypeFamily;

/// May a predicate over these columns of an operator be asked of its rows before they are compared?
pub(super) fn may_pass(predicate: &Expr, own: &[ColumnId], columns: &Columns) -> bool {
    !predicate.has_subquery()
        && !predicate.is_volatile()
        && cannot_fail(predicate)
        && is_same_for_equals(predicate, own, columns)
}

/// Has an expression one value for all rows that are equal in these columns?
fn is_same_for_equals(expr: &Expr, own: &[ColumnId], columns: &Columns) -> bool {
    let of_all = |parts: &[&Expr]| parts.iter().all(|part| is_same_for_equals(part, own, columns));
    // A comparison by the rules of the operator does not tell apart what these do not.
    let is_compared = |side: &Expr| match &side.kind {
        ExprKind::Column(id) => {
            let info = &columns[id.0 as usize];
            !own.contains(id)
                || !(info.sql_type.is_character() || info.sql_type == SqlType::SqlVariant)
                || expr.collation == info.collation
        }
        _ => is_same_for_equals(side, own, columns),
    };
    match &expr.kind {
        ExprKind::Column(id) => !own.contains(id) || has_one_form(&columns[id.0 as usize].sql_type),
        ExprKind::Compare(_, left, right) => is_compared(left) && is_compared(right),
        ExprKind::InList(left, list) => is_compared(left) && list.iter().all(is_compared),
        ExprKind::IsNull(inner) if matches!(inner.kind, ExprKind::Column(_)) => true,
        _ => of_all(&expr.children()),
    }
}

/// Are equal values of a type the same in every respect? Text differs by case, accents and trailing blanks, binaries by trailing zeros, floats by the sign of
/// zero, points in time by their offset.
fn has_one_form(sql_type: &SqlType) -> bool {
    match sql_type.family() {
        TypeFamily::Integer | TypeFamily::Decimal | TypeFamily::Money | TypeFamily::Guid => true,
        TypeFamily::DateTime => !matches!(sql_type, SqlType::DateTimeOffset(_)),
        _ => false,
    }
}

/// Is there nothing in it that fails for some values only? What is computed for all rows meets values that an evaluation for each row does not.
pub(super) fn cannot_fail(expr: &Expr) -> bool {
    !fails_itself(expr) && (is_tolerant(expr) || expr.children().into_iter().all(cannot_fail))
}

/// May the outermost operation fail for some values of its operands?
fn fails_itself(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(op, left, right) => !has_room(*op, left, right, &expr.sql_type),
        ExprKind::Unary(op, _) => *op == UnaryOp::Negate && expr.sql_type.family() == TypeFamily::Integer,
        ExprKind::Convert(inner, conversion) => {
            conversion.kind != ConversionKind::Try && !always_converts(&inner.sql_type, &expr.sql_type)
        }
        ExprKind::Like(like) => like.escape.is_some(),
        ExprKind::Call(function, arguments) => {
            let is_cut = CUTTING_FUNCTIONS.contains(&function.name) && arguments[1..].iter().all(is_length);
            !is_cut && !TOTAL_FUNCTIONS.contains(&function.name)
        }
        ExprKind::Subquery(_) | ExprKind::NextValue(_) | ExprKind::UserCall(..) => true,
        _ => false,
    }
}

fn is_tolerant(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Tolerant(_))
}

/// Functions that have a value for every argument.
const TOTAL_FUNCTIONS: [&str; 12] = [
    "UPPER",
    "LOWER",
    "LEN",
    "DATALENGTH",
    "ISNULL",
    "LTRIM",
    "RTRIM",
    "YEAR",
    "MONTH",
    "DAY",
    "SIGN",
    "NULLIF",
];

/// Functions that fail for negative lengths only.
const CUTTING_FUNCTIONS: [&str; 3] = ["SUBSTRING", "LEFT", "RIGHT"];

/// Is it a constant that is no negative number?
fn is_length(argument: &Expr) -> bool {
    match &argument.kind {
        ExprKind::Constant(value) => value.as_i64().is_some_and(|length| length >= 0),
        ExprKind::Convert(inner, _) | ExprKind::Retype(inner) => is_length(inner),
        _ => false,
    }
}

/// Is there something in it that fails for the values of some rows? What reads no column fails for all rows or for none.
pub(super) fn fails_by_row(expr: &Expr) -> bool {
    !is_tolerant(expr)
        && (fails_itself(expr) && !expr.columns().is_empty() || expr.children().into_iter().any(fails_by_row))
}

/// May a condition fail, its subqueries and their conditions included?
pub(super) fn fails_inside(expr: &Expr) -> bool {
    fn in_tree(rel: &Rel) -> bool {
        rel.expressions().into_iter().any(fails_inside) || rel.inputs().into_iter().any(in_tree)
    }
    let fails = match &expr.kind {
        ExprKind::Subquery(subquery) => in_tree(&subquery.rel),
        _ => fails_itself(expr) && !expr.columns().is_empty(),
    };
    !is_tolerant(expr) && (fails || expr.children().into_iter().any(fails_inside))
}

/// A condition that is asked early, of rows that nothing else may ask for: it lets those through for which it fails. `None` where it must wait: it asks
/// tables, or gives another answer each time.
pub(super) fn tolerant(predicate: &Expr) -> Option<Expr> {
    let may_be_asked_twice = !predicate.has_subquery() && !predicate.is_volatile();
    may_be_asked_twice.then(|| Expr::predicate(ExprKind::Tolerant(Box::new(predicate.clone()))))
}

/// Conditions over rows that more may be asked of: what is asked of them now, and what once more when all else has been asked.
pub(super) fn split_fallible(predicates: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let (mut now, mut later) = (Vec::with_capacity(predicates.len()), Vec::new());
    for predicate in predicates {
        if fails_by_row(&predicate) {
            now.extend(tolerant(&predicate));
            later.push(predicate);
        } else {
            now.push(predicate);
        }
    }
    (now, later)
}

/// Does the type of the result hold what the operator makes of any two values?
fn has_room(op: BinaryOp, left: &Expr, right: &Expr, result: &SqlType) -> bool {
    let digits = |expr: &Expr| decimal_shape(&expr.sql_type).map(|(precision, scale)| precision - scale);
    match (op, result.family()) {
        (BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor, _) => true,
        (BinaryOp::Add, TypeFamily::Char | TypeFamily::NChar | TypeFamily::Binary) => true,
        // Only zero divides nothing, and only -1 makes the least integer one too great.
        (BinaryOp::Divide | BinaryOp::Modulo, TypeFamily::Integer) => {
            let ExprKind::Constant(divisor) = &right.kind else { return false };
            divisor.as_i64().is_some_and(|divisor| divisor != 0 && divisor != -1)
        }
        (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply, TypeFamily::Decimal) => {
            let Some((left, right)) = digits(left).zip(digits(right)) else { return false };
            let needed = if op == BinaryOp::Multiply { left + right } else { left.max(right) + 1 };
            needed <= result.precision() - result.scale()
        }
        _ => false,
    }
}

/// Has every value of one type one of the other? Text is cut in silence.
fn always_converts(from: &SqlType, to: &SqlType) -> bool {
    use TypeFamily::{Approximate, Binary, Char, DateTime, Decimal, Integer, Money, NChar};
    let digits = |sql_type: &SqlType| decimal_shape(sql_type).map(|(precision, scale)| precision - scale);
    if from == to {
        return true;
    }
    match (from.family(), to.family()) {
        (_, Integer) if *to == SqlType::Bit => decimal_shape(from).is_some(),
        // The digits of an integer's type are those of its greatest value.
        (Integer, Integer) => digits(from) <= digits(to),
        (Integer | Decimal | Money, Decimal) => {
            // Rounding may carry into one more.
            let carried = u8::from(from.scale() > to.scale());
            digits(from).is_some_and(|own| own + carried <= to.precision() - to.scale())
        }
        (Integer, Money) => *to == SqlType::Money && *from != SqlType::BigInt,
        (Money, Money) => *to == SqlType::Money,
        (Integer | Decimal | Money, Approximate) => *to == SqlType::Float,
        (Approximate, Approximate) => *to == SqlType::Float,
        (Char | NChar, Char | NChar) | (Binary, Binary) => true,
        (DateTime, DateTime) => match (from, to) {
            (SqlType::Date | SqlType::SmallDateTime | SqlType::DateTime, SqlType::DateTime2(_)) => true,
            (SqlType::SmallDateTime, SqlType::DateTime) => true,
            (SqlType::SmallDateTime | SqlType::DateTime | SqlType::DateTime2(_), SqlType::Date) => true,
            (SqlType::Time(own), SqlType::Time(other)) => own <= other,
            (SqlType::DateTime2(own), SqlType::DateTime2(other)) => own <= other,
            _ => false,
        },
        _ => false,
    }
}
