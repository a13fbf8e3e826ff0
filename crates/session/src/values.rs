//! Small conversions for the interpreter: texts, ints, parameters, constants.

use tsql::ast::{ExprKind, Literal, UnaryOp};
use types::{AssignTarget, ConvertContext, DEFAULT_STYLE, SqlError, SqlResult, SqlType, Value};

/// The text of a character value; other types as CONVERT shows them; `None` for NULL.
pub(crate) fn to_text(value: &Value) -> Option<String> {
    if value.is_null() {
        return None;
    }
    if let Some(text) = value.as_text() {
        return Some(text);
    }
    let from = value.natural_type();
    let converted = types::convert(
        value,
        &from,
        &SqlType::NVarChar(types::Length::Max),
        DEFAULT_STYLE,
        &ConvertContext::default(),
    );
    converted.ok().and_then(|v| v.as_text())
}

/// An int; `None` for NULL.
pub(crate) fn to_int(value: &Value) -> SqlResult<Option<i32>> {
    if value.is_null() {
        return Ok(None);
    }
    let converted = types::convert(
        value,
        &value.natural_type(),
        &SqlType::Int,
        DEFAULT_STYLE,
        &ConvertContext::default(),
    )?;
    match converted {
        Value::Int(number) => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// Converts a value for a variable.
pub(crate) fn assign(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    types::assign(value, from, to, AssignTarget::Variable, &ConvertContext::default())
}

/// Converts a value for a parameter; error 8114 if it does not fit the type.
pub(crate) fn pass(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    assign(value, from, to).map_err(|error| match error.number {
        245 | 241 | 8115 | 220 | 244 | 248 => SqlError::new(8114, &[&from.name(), &to.name()]),
        _ => error,
    })
}

/// The value of a constant expression (defaults of parameters): a literal, possibly signed.
pub(crate) fn constant(expression: &tsql::ast::Expr, target: &SqlType) -> SqlResult<Value> {
    let (negative, literal) = match &expression.kind {
        ExprKind::Literal(literal) => (false, literal),
        ExprKind::Unary(sign, inner) => match &inner.kind {
            ExprKind::Literal(literal) => (*sign == UnaryOp::Minus, literal),
            _ => return Err(SqlError::new(102, &[&"default"])),
        },
        _ => return Err(SqlError::new(102, &[&"default"])),
    };
    let sign = if negative { "-" } else { "" };
    let value = match literal {
        Literal::Null => return Ok(Value::Null),
        Literal::Int(number) => Value::Int(if negative { -number } else { *number }),
        Literal::Float(number) => Value::Float(if negative { -number } else { *number }),
        Literal::Numeric(text) | Literal::Money(text) => Value::varchar(&format!("{sign}{text}")),
        Literal::String(text) => Value::varchar(text),
        Literal::NString(text) => Value::nvarchar(text),
        Literal::Binary(bytes) => Value::binary(bytes),
    };
    pass(&value, &value.natural_type(), target)
}
