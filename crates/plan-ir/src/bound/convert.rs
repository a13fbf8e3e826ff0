//! Conversions of bound expressions; constants are folded on the way.

use types::convert::matrix;
use types::sql_type::TypeFamily;
use types::{ConvertContext, SqlError, SqlType, Value};

use super::coercibility::check_stored;
use super::tree::{Expr, ExprKind};
use crate::kinds::{Conversion, ConversionKind};

/// Converts `expr` implicitly to `to`. Errors 206, 257 when there is no such conversion.
pub fn implicit(expr: Expr, to: &SqlType) -> Result<Expr, SqlError> {
    convert(expr, to, Conversion::IMPLICIT)
}

/// Converts for storing into a variable: strings are cut in silence.
pub fn for_variable(expr: Expr, to: &SqlType) -> Result<Expr, SqlError> {
    convert(expr, to, Conversion { kind: ConversionKind::Assign, style: types::DEFAULT_STYLE })
}

/// Converts `expr`; nothing happens when it already is of the type.
pub fn convert(expr: Expr, to: &SqlType, conversion: Conversion) -> Result<Expr, SqlError> {
    let explicit = matches!(conversion.kind, ConversionKind::Explicit | ConversionKind::Try);
    let changes_width = expr.sql_type.family() != to.family();
    if conversion.kind == ConversionKind::Assign
        || (conversion.kind == ConversionKind::Implicit && changes_width)
    {
        check_stored(&expr, to)?;
    }
    crate::bound::untyped::note(&expr, *to);
    // A NULL that is cast stays a cast, also to int: it has a type, which the literal NULL has not.
    let gives_type = explicit && expr.is_null_literal();
    if expr.sql_type == *to && conversion.style == types::DEFAULT_STYLE && !gives_type {
        return Ok(expr);
    }
    // decimal and numeric are two names of one type.
    if is_decimal_of(&expr.sql_type, to) && conversion.style == types::DEFAULT_STYLE && !gives_type {
        let nullable = expr.nullable;
        return Ok(match expr.kind {
            ExprKind::Constant(_) => Expr { sql_type: *to, ..expr },
            _ => Expr::new(ExprKind::Retype(Box::new(expr)), *to, nullable),
        });
    }
    if !expr.is_null_literal() {
        matrix::check(&expr.sql_type, to, explicit)?;
    }
    // A conversion that overflows is NULL under SET ARITHABORT OFF and ANSI_WARNINGS OFF.
    let nullable =
        expr.nullable || conversion.kind == ConversionKind::Try || may_overflow(&expr.sql_type, to);
    if let ExprKind::Constant(value) = &expr.kind
        && !gives_type
    {
        let folded = fold_conversion(value, &expr.sql_type, to, conversion);
        if let Ok(value) = folded {
            return Ok(Expr { kind: ExprKind::Constant(value), sql_type: *to, ..expr });
        }
    }
    // A value that was no text gets the database's collation when it becomes text.
    let (collation, coercibility) = match expr.sql_type.is_character() {
        true => (expr.collation, expr.coercibility),
        false => Default::default(),
    };
    Ok(Expr {
        kind: ExprKind::Convert(Box::new(expr), conversion),
        sql_type: *to,
        nullable,
        collation,
        coercibility,
    })
}

/// Are both decimals of the same digits?
fn is_decimal_of(from: &SqlType, to: &SqlType) -> bool {
    let is_decimal = from.family() == TypeFamily::Decimal && to.family() == TypeFamily::Decimal;
    is_decimal && from.precision() == to.precision() && from.scale() == to.scale()
}

/// May a value of `from` lie outside the range of `to`? Then the conversion counts as one that can give NULL.
fn may_overflow(from: &SqlType, to: &SqlType) -> bool {
    let integer = |sql_type: &SqlType| {
        let integers = [SqlType::Bit, SqlType::TinyInt, SqlType::SmallInt, SqlType::Int, SqlType::BigInt];
        integers.iter().position(|one| one == sql_type)
    };
    match (integer(from), integer(to)) {
        (Some(from), Some(to)) => from > to,
        _ => !to.is_character() && from.family() != to.family(),
    }
}

fn fold_conversion(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    conversion: Conversion,
) -> Result<Value, SqlError> {
    // Text to a date depends on the session's DATEFORMAT: left to run time.
    let depends_on_session = to.family() == TypeFamily::DateTime && from.is_character();
    if value.is_null() {
        return Ok(Value::Null);
    }
    if depends_on_session {
        return Err(SqlError::custom(0, 0, 0, String::new()));
    }
    let context = ConvertContext::default();
    match conversion.kind {
        ConversionKind::Assign => types::assign(value, from, to, types::AssignTarget::Variable, &context),
        _ => types::convert(value, from, to, conversion.style, &context),
    }
}
