//! The text that FOR XML and FOR JSON write, and how both show values of each type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use types::{SqlError, SqlType, Value};

use crate::room::room_for;

/// UTF-16 units of a text under construction.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) units: Vec<u16>,
}

impl Text {
    /// Adds text as it is. Error 701.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), SqlError> {
        room_for(&mut self.units, text.len())?;
        self.units.extend(text.encode_utf16());
        Ok(())
    }

    /// Adds UTF-16 as it is.
    pub(super) fn push_units(&mut self, units: &[u16]) -> Result<(), SqlError> {
        room_for(&mut self.units, units.len())?;
        self.units.extend_from_slice(units);
        Ok(())
    }

    pub(super) fn push_unit(&mut self, unit: u16) -> Result<(), SqlError> {
        room_for(&mut self.units, 1)?;
        self.units.push(unit);
        Ok(())
    }
}

/// A value as both languages show it.
pub(super) enum Shown {
    /// A bit.
    Bit(bool),
    /// Digits.
    Number(String),
    /// Characters of the language of numbers, dates and identifiers: nothing in them is escaped.
    Plain(String),
    /// Characters of the user.
    Units(Vec<u16>),
}

/// Shows a value that is not NULL: dates in ISO 8601, binary values in base64, approximate numbers with all digits and an exponent.
pub(super) fn shown(value: &Value, sql_type: &SqlType, runtime: &Runtime<'_>) -> Result<Shown, SqlError> {
    Ok(match value {
        Value::Variant(inner) => return shown(&inner.value, &inner.sql_type, runtime),
        Value::Bit(set) => Shown::Bit(*set),
        Value::NChar(_) | Value::Char(_) => {
            os::memory::ask(value.long_bytes().saturating_mul(4)).map_err(plan_ir::errors::out_of_memory)?;
            Shown::Units(match value {
                Value::NChar(units) => units.as_units().to_vec(),
                other => other.as_text().unwrap_or_default().encode_utf16().collect(),
            })
        }
        Value::Binary(bytes) => {
            os::memory::ask(bytes.len().saturating_mul(2)).map_err(plan_ir::errors::out_of_memory)?;
            Shown::Plain(STANDARD.encode(bytes.as_bytes()))
        }
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => Shown::Plain(moment(&converted(value, sql_type, 126, runtime)?)),
        Value::Guid(_) => Shown::Plain(converted(value, sql_type, types::DEFAULT_STYLE, runtime)?),
        Value::Real(_) => Shown::Number(converted(value, sql_type, 1, runtime)?),
        Value::Float(_) | Value::Money(_) => Shown::Number(converted(value, sql_type, 2, runtime)?),
        _ => Shown::Number(converted(value, sql_type, types::DEFAULT_STYLE, runtime)?),
    })
}

fn converted(
    value: &Value,
    sql_type: &SqlType,
    style: i32,
    runtime: &Runtime<'_>,
) -> Result<String, SqlError> {
    let text = types::convert(value, sql_type, &SqlType::NVARCHAR_MAX, style, runtime.convert_context())?;
    Ok(text.as_text().unwrap_or_default())
}

/// A date and time without a fraction of zeros, and with `Z` for the offset 0.
fn moment(text: &str) -> String {
    let (local, zone) = match text.strip_suffix("+00:00") {
        Some(local) => (local, "Z"),
        None => match text.rfind(['+', '-']).filter(|at| text.len() - at == 6 && text.len() > 10) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        },
    };
    let local = match local.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => local,
    };
    format!("{local}{zone}")
}

/// The outermost level whose columns have other values than in the row before, where a new object or element begins; the innermost level begins
/// with each row.
pub(super) fn changed_level(before: &Row, row: &Row, columns: &[&[usize]], types: &[SqlType]) -> usize {
    debug_assert_eq!(row.len(), types.len(), "each column has a type");
    let last = columns.len() - 1;
    let is_changed = |columns: &&[usize]| {
        columns.iter().any(|at| types[*at] == SqlType::Xml || before.get(*at) != row.get(*at))
    };
    columns[..last].iter().position(is_changed).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_lose_zeros_and_keep_offsets() {
        assert_eq!(moment("2020-01-02"), "2020-01-02");
        assert_eq!(moment("2020-01-02T03:04:05.000"), "2020-01-02T03:04:05");
        assert_eq!(moment("2020-01-02T03:04:05.120"), "2020-01-02T03:04:05.120");
        assert_eq!(moment("2020-01-02T03:04:05.0000000+00:00"), "2020-01-02T03:04:05Z");
        assert_eq!(moment("2020-01-02T03:04:05.1200000-04:30"), "2020-01-02T03:04:05.1200000-04:30");
        assert_eq!(moment("03:04:05.0000000"), "03:04:05");
    }
}
