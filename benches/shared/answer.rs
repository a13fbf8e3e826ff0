//! Answers of both servers as text, and their comparison.

use types::Value;

pub use super::postgres::Rows;

/// A value of Hardpan in PostgreSQL's format, except for trailing zeros.
pub fn text_of(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Decimal(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Date(value) => {
            let day = value.civil();
            format!("{:04}-{:02}-{:02}", day.year, day.month, day.day)
        }
        other => match (other.as_i64(), other.as_text()) {
            (Some(number), _) => number.to_string(),
            (None, Some(text)) => text,
            (None, None) => format!("{other:?}"),
        },
    })
}

/// The difference of two answers, in a line; `None` when they are equal. Numbers may differ in the sixth digit after the
/// point or of the whole: the two servers have different rules for the scale of a quotient.
pub fn difference(ours: &Rows, theirs: &Rows) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} rows, PostgreSQL gives {}", ours.len(), theirs.len()));
    }
    for (number, (mine, other)) in ours.iter().zip(theirs).enumerate() {
        if mine.len() != other.len() || !mine.iter().zip(other).all(|(a, b)| same(a.as_deref(), b.as_deref()))
        {
            return Some(format!("row {}: {mine:?}, PostgreSQL gives {other:?}", number + 1));
        }
    }
    None
}

fn same(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let (a, b) = (a.trim_end(), b.trim_end());
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 2e-6 * a.abs().max(b.abs()).max(1.0),
        _ => a == b,
    }
}
