//! Character values for functions: sequences of units, which are bytes of code page 1252 or UTF-16 units; and result types of text.

use plan_ir::function_def::{Argument, Call};
use types::sql_type::TypeFamily;
use types::{ByteStr, Collation, Length, SqlError, SqlType, Value, WideStr};

/// A character value taken apart. Units are bytes of the code page, or UTF-16 units when `wide`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) wide: bool,
    pub(super) units: Vec<u16>,
}

impl Text {
    /// Reads a character value; other values become empty.
    pub(super) fn of(value: &Value) -> Text {
        match value {
            Value::Char(bytes) => {
                Text { wide: false, units: bytes.iter().map(|byte| u16::from(*byte)).collect() }
            }
            Value::NChar(units) => Text { wide: true, units: units.to_vec() },
            _ => Text { wide: false, units: Vec::new() },
        }
    }

    /// Character arguments in one form: wide when any is.
    pub(super) fn arguments<const N: usize>(call: &Call<'_, '_>) -> [Text; N] {
        let wide = call.args.iter().take(N).any(|value| matches!(value, Value::NChar(_)));
        std::array::from_fn(|index| {
            let text = Text::of(call.args.get(index).unwrap_or(&Value::Null));
            if wide { text.widened() } else { text }
        })
    }

    /// As UTF-16.
    pub(super) fn widened(self) -> Text {
        if self.wide {
            return self;
        }
        let bytes: Vec<u8> = self.units.iter().map(|unit| *unit as u8).collect();
        Text { wide: true, units: ByteStr::from(bytes).to_text().encode_utf16().collect() }
    }

    /// Converts it to a value.
    pub(super) fn into_value(self) -> Value {
        if self.wide {
            return Value::NChar(WideStr::from(self.units));
        }
        Value::Char(ByteStr::from(self.units.into_iter().map(|unit| unit as u8).collect::<Vec<u8>>()))
    }

    /// The same kind of text with other units.
    pub(super) fn with(&self, units: Vec<u16>) -> Text {
        Text { wide: self.wide, units }
    }

    /// As a string.
    pub(super) fn to_text(&self) -> String {
        if self.wide {
            return String::from_utf16_lossy(&self.units);
        }
        ByteStr::from(self.units.iter().map(|unit| *unit as u8).collect::<Vec<u8>>()).to_text()
    }

    /// Text of the same kind from a string.
    pub(super) fn like_text(&self, text: &str) -> Text {
        if self.wide {
            return Text { wide: true, units: text.encode_utf16().collect() };
        }
        Text { wide: false, units: ByteStr::from_text(text).iter().map(|byte| u16::from(*byte)).collect() }
    }

    /// Weights under a collation: units that are equal have equal weights.
    pub(super) fn weights(&self, collation: Collation) -> Vec<u32> {
        let weight = |unit: &u16| {
            if self.wide { collation.unit_weight(*unit) } else { collation.byte_weight(*unit as u8) }
        };
        self.units.iter().map(weight).collect()
    }

    /// First position of `wanted` at or after `from`, by weight.
    pub(super) fn find(&self, wanted: &Text, from: usize, collation: Collation) -> Option<usize> {
        find(&self.weights(collation), &wanted.weights(collation), from)
    }
}

/// First position of one list in another.
pub(super) fn find(text: &[u32], wanted: &[u32], from: usize) -> Option<usize> {
    if wanted.is_empty() || from > text.len() {
        return None;
    }
    text[from..].windows(wanted.len()).position(|window| window == wanted).map(|position| position + from)
}

/// Limit of a text type in units, `None` for max.
pub(super) fn units_of(sql_type: &SqlType) -> Option<usize> {
    match sql_type {
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => Some(usize::from(*n)),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length.limit(),
        SqlType::SysName => Some(128),
        _ => None,
    }
}

/// varchar or nvarchar of some length; above the limit it is cut there.
pub(super) fn var_type(wide: bool, units: Option<usize>) -> SqlType {
    match (wide, units) {
        (true, None) => SqlType::NVARCHAR_MAX,
        (false, None) => SqlType::VARCHAR_MAX,
        (true, Some(n)) => SqlType::nvarchar(n.clamp(1, 4000) as u16),
        (false, Some(n)) => SqlType::varchar(n.clamp(1, 8000) as u16),
    }
}

/// Is the type UTF-16?
pub(super) fn is_wide(sql_type: &SqlType) -> bool {
    sql_type.family() == TypeFamily::NChar
}

/// Result rule: variable-length text of the first argument's length.
pub(super) fn same_text(arguments: &[Argument<'_>]) -> Result<SqlType, SqlError> {
    let first = arguments[0].sql_type;
    if first.family() == TypeFamily::Binary {
        return Ok(match units_of(&first) {
            Some(n) => SqlType::VarBinary(Length::N(n.max(1) as u16)),
            None => SqlType::VARBINARY_MAX,
        });
    }
    Ok(var_type(is_wide(&first), units_of(&first)))
}

/// Result rule: 8,000 or 4,000 units, max when the first argument is max.
pub(super) fn long_text(arguments: &[Argument<'_>]) -> Result<SqlType, SqlError> {
    let wide = arguments.iter().any(|argument| is_wide(&argument.sql_type));
    let first = arguments[0].sql_type;
    Ok(if units_of(&first).is_none() && first.is_character() {
        var_type(wide, None)
    } else {
        var_type(wide, Some(8000))
    })
}

/// Result rule: the sum of all lengths.
pub(super) fn joined_text(arguments: &[Argument<'_>]) -> Result<SqlType, SqlError> {
    let wide = arguments.iter().any(|argument| is_wide(&argument.sql_type));
    if arguments
        .iter()
        .any(|argument| argument.sql_type.is_character() && units_of(&argument.sql_type).is_none())
    {
        return Ok(var_type(wide, None));
    }
    let total: usize = arguments.iter().map(|argument| units_of(&argument.sql_type).unwrap_or(0)).sum();
    Ok(var_type(wide, Some(total)))
}
