//! To char, varchar, text and to nchar, nvarchar, ntext, sysname, xml.

use super::errors::{not_allowed, overflow, shown, unknown_style};
use super::{float_text, xml};
use crate::money::{self, MoneyStyle};
use crate::{
    ByteStr, DEFAULT_STYLE, Length, SqlError, SqlResult, SqlType, Value, WideStr, codepage, datetime, guid,
    temporal,
};

pub(super) fn to_char(value: &Value, from: &SqlType, to: &SqlType, style: i32) -> SqlResult<Value> {
    let bytes = match value {
        Value::Char(text) => match fits(text.len(), to) {
            true => return Ok(value.clone()),
            false => text.to_vec(),
        },
        Value::NChar(units) => codepage::encode_units(units),
        Value::Binary(bytes) if matches!(style, DEFAULT_STYLE | 0) => bytes.to_vec(),
        _ => match plain_text(value, from, to, style)? {
            Some(text) => codepage::encode(&text),
            None => b"*".to_vec(),
        },
    };
    Ok(Value::Char(fit_bytes(bytes, to)))
}

pub(super) fn to_nchar(value: &Value, from: &SqlType, to: &SqlType, style: i32) -> SqlResult<Value> {
    let units: Vec<u16> = match value {
        Value::NChar(text) => match fits(text.len(), to) {
            true => return Ok(value.clone()),
            false => text.to_vec(),
        },
        Value::Char(bytes) => codepage::decode_units(bytes),
        Value::Binary(bytes) if matches!(style, DEFAULT_STYLE | 0) => bytes
            .chunks(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
            .collect(),
        _ => match plain_text(value, from, to, style)? {
            Some(text) => text.encode_utf16().collect(),
            None => return Err(overflow("expression", to)),
        },
    };
    Ok(Value::NChar(fit_units(units, to)))
}

/// To xml, which has to be well-formed. Bit 2 of the style allows a DTD; bit 1 keeps blanks, which are kept in any case.
pub(super) fn to_xml(value: &Value, from: &SqlType, style: i32) -> SqlResult<Value> {
    let (made, source) = match value {
        // It was checked when it was made.
        _ if *from == SqlType::Xml => return Ok(value.clone()),
        Value::Binary(bytes) => (Value::NChar(WideStr::from(xml::decode(bytes)?)), xml::Source::Bytes),
        Value::Char(_) => (to_nchar(value, from, &SqlType::Xml, style)?, xml::Source::Narrow),
        _ => (to_nchar(value, from, &SqlType::Xml, style)?, xml::Source::Wide),
    };
    if let Value::NChar(units) = &made {
        let takes_dtd = style != DEFAULT_STYLE && style & 2 != 0;
        xml::check(units, source, takes_dtd)?;
    }
    Ok(made)
}

/// Is text of this length unchanged by the target's length?
fn fits(len: usize, to: &SqlType) -> bool {
    match to {
        SqlType::Char(n) | SqlType::NChar(n) => len == usize::from(*n),
        other => character_limit(other).is_none_or(|limit| len <= limit),
    }
}

/// The most bytes (char, varchar) or units (nchar, nvarchar) that the type holds; `None` for no limit.
pub fn character_limit(to: &SqlType) -> Option<usize> {
    match to {
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => Some(usize::from(*n)),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length.limit(),
        SqlType::SysName => Some(128),
        _ => None,
    }
}

/// Cuts or fills to a char or varchar type.
pub(crate) fn fit_bytes(mut bytes: Vec<u8>, to: &SqlType) -> ByteStr {
    match *to {
        SqlType::Char(n) => bytes.resize(usize::from(n), b' '),
        SqlType::VarChar(Length::N(n)) => bytes.truncate(usize::from(n)),
        _ => {}
    }
    ByteStr::from(bytes)
}

/// Cuts or fills to an nchar or nvarchar type.
pub(crate) fn fit_units(mut units: Vec<u16>, to: &SqlType) -> WideStr {
    match *to {
        SqlType::NChar(n) => units.resize(usize::from(n), 0x20),
        SqlType::NVarChar(Length::N(n)) => units.truncate(usize::from(n)),
        SqlType::SysName => units.truncate(128),
        _ => {}
    }
    WideStr::from(units)
}

/// The text of a value that is no text; `None`: an int, smallint, tinyint too long for the target, which shows as `*` in char types.
fn plain_text(value: &Value, from: &SqlType, to: &SqlType, style: i32) -> SqlResult<Option<String>> {
    let limit = character_limit(to);
    let too_long = |text: &str| limit.is_some_and(|limit| text.len() > limit);
    let text = match value {
        Value::Bit(set) => if *set { "1" } else { "0" }.to_owned(),
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) => {
            let text = value.as_i64().unwrap_or(0).to_string();
            return Ok((!too_long(&text)).then_some(text));
        }
        Value::BigInt(number) => checked(number.to_string(), too_long, || overflow("expression", to))?,
        Value::Decimal(decimal) => {
            checked(decimal.to_string(), too_long, || overflow("numeric", to).with_state(5))?
        }
        Value::Money(units) => {
            let style = match style {
                1 => MoneyStyle::Commas,
                2 | 126 => MoneyStyle::FourDecimals,
                _ => MoneyStyle::Plain,
            };
            checked(money::format(*units, style), too_long, || {
                SqlError::new(234, &[&to.name()]).with_state(2)
            })?
        }
        Value::Real(number) => {
            let number = f64::from(*number);
            checked(float_text::format(number, style), too_long, || float_overflow(number, to))?
        }
        Value::Float(number) => {
            checked(float_text::format(*number, style), too_long, || float_overflow(*number, to))?
        }
        Value::Guid(bytes) => checked(guid::format(bytes), too_long, || SqlError::new(8170, &[]))?,
        Value::Binary(bytes) => return hex_text(bytes, limit, style, from, to).map(Some),
        _ => temporal::format::to_text(value, from, style).ok_or_else(|| {
            match datetime::Moment::of(value) {
                Some(_) => SqlError::new(281, &[&style, &from.name()]),
                None => not_allowed(from, to),
            }
        })?,
    };
    Ok(Some(text))
}

fn checked(text: String, too_long: impl Fn(&str) -> bool, error: impl Fn() -> SqlError) -> SqlResult<String> {
    if too_long(&text) { Err(error()) } else { Ok(text) }
}

fn float_overflow(number: f64, to: &SqlType) -> SqlError {
    SqlError::new(232, &[&shown(to), &format!("{number:.6}")])
}

/// Styles 1 (with `0x`) and 2 (without); whole bytes only when the target is short.
fn hex_text(
    bytes: &[u8],
    limit: Option<usize>,
    style: i32,
    from: &SqlType,
    to: &SqlType,
) -> SqlResult<String> {
    let prefix = match style {
        1 => "0x",
        2 => "",
        _ => return Err(unknown_style(style, from, to)),
    };
    let room = limit.map_or(bytes.len(), |limit| limit.saturating_sub(prefix.len()) / 2);
    let mut text = String::with_capacity(prefix.len() + 2 * bytes.len());
    text.push_str(prefix);
    for byte in bytes.iter().take(room) {
        text.push_str(&format!("{byte:02X}"));
    }
    Ok(text)
}
