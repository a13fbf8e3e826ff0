//! Storing a value into a column, variable or parameter: implicit conversion, then the target's length rules.

use super::{convert, text};
use crate::{ConvertContext, DEFAULT_STYLE, SqlError, SqlResult, SqlType, Value};

/// Where a value goes; decides what happens to text that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignTarget<'a> {
    /// A variable or parameter: cut in silence.
    Variable,
    /// A column: error 2628 with these names, unless only trailing blanks (or zero bytes) are lost.
    Column {
        /// Table with schema and database as the message shows it.
        table: &'a str,
        /// Column name.
        column: &'a str,
    },
}

/// Converts `value` of type `from` implicitly to `to` and applies the target's length rules. Whether the conversion is allowed is
/// [`super::matrix::check`], at bind time.
pub fn assign(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    target: AssignTarget<'_>,
    context: &ConvertContext,
) -> SqlResult<Value> {
    if let AssignTarget::Column { table, column } = target
        && context.ansi_warnings
        && let Some(cut) = would_truncate(value, to)
    {
        return Err(SqlError::new(2628, &[&table, &column, &cut]));
    }
    convert(value, from, to, DEFAULT_STYLE, context)
}

/// The text that would be kept, when something other than trailing blanks (zero bytes of a binary) would be lost.
fn would_truncate(value: &Value, to: &SqlType) -> Option<String> {
    let limit = text::character_limit(to)?;
    let is_binary_target = matches!(to, SqlType::Binary(_) | SqlType::VarBinary(_));
    match value {
        Value::Char(bytes) if !is_binary_target => {
            let lost = bytes.get(limit..)?;
            lost.iter().any(|byte| *byte != b' ').then(|| crate::codepage::decode(&bytes[..limit]))
        }
        Value::NChar(units) if !is_binary_target => {
            let lost = units.get(limit..)?;
            lost.iter().any(|unit| *unit != 0x20).then(|| String::from_utf16_lossy(&units[..limit]))
        }
        Value::Binary(bytes) => {
            let lost = bytes.get(limit..)?;
            lost.iter().any(|byte| *byte != 0).then(String::new)
        }
        Value::Variant(inner) => would_truncate(&inner.value, to),
        _ => None,
    }
}
