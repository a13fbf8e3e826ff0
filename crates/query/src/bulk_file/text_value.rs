//! The text of a field as a value of its column.

use types::{ByteStr, ConvertContext, DEFAULT_STYLE, Length, SqlType, Value, WideStr, convert};

use super::options::Encoding;

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldFault {
    /// 4864: it is none of the type, or its bytes are none of the code page.
    Type,
    /// 4863: it is longer than the column.
    Truncation,
    /// 4867: it is beyond the range of the type.
    Overflow,
}

/// CONVERT's style for hexadecimal digits with 0x before them, and without.
const WITH_PREFIX: i32 = 1;
const WITHOUT_PREFIX: i32 = 2;

/// The value; the caller has made NULL of an empty field.
pub(crate) fn text_value(
    bytes: &[u8],
    to: &SqlType,
    encoding: Encoding,
    context: &ConvertContext,
) -> Result<Value, FieldFault> {
    match to {
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Text => {
            let bytes = match encoding {
                Encoding::Page1252 => ByteStr::new(bytes),
                _ => ByteStr::new(&types::codepage::encode(utf8(bytes)?)),
            };
            let length = bytes.len();
            let bytes = match to {
                SqlType::Char(n) => padded(bytes, usize::from(*n))?,
                SqlType::VarChar(Length::N(n)) if length > usize::from(*n) => {
                    return Err(FieldFault::Truncation);
                }
                _ => bytes,
            };
            Ok(Value::Char(bytes))
        }
        SqlType::NVarChar(_) | SqlType::NChar(_) | SqlType::SysName | SqlType::NText | SqlType::Xml => {
            wide_value(bytes, to, encoding, context)
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image => {
            let text = utf8(bytes)?;
            let style =
                if text.starts_with("0x") || text.starts_with("0X") { WITH_PREFIX } else { WITHOUT_PREFIX };
            let most = match to {
                SqlType::Binary(n) | SqlType::VarBinary(Length::N(n)) => usize::from(*n),
                _ => usize::MAX,
            };
            if text.len().saturating_sub(if style == WITH_PREFIX { 2 } else { 0 }).div_ceil(2) > most {
                return Err(FieldFault::Truncation);
            }
            converted(text, to, style, context)
        }
        SqlType::SqlVariant => converted(&types::codepage::decode(bytes), to, DEFAULT_STYLE, context),
        _ => converted(utf8(bytes)?.trim(), to, DEFAULT_STYLE, context),
    }
}

fn padded(bytes: ByteStr, length: usize) -> Result<ByteStr, FieldFault> {
    if bytes.len() > length {
        return Err(FieldFault::Truncation);
    }
    let mut padded = bytes.as_bytes().to_vec();
    padded.resize(length, b' ');
    Ok(ByteStr::new(&padded))
}

fn wide_value(
    bytes: &[u8],
    to: &SqlType,
    encoding: Encoding,
    context: &ConvertContext,
) -> Result<Value, FieldFault> {
    let wide = match encoding {
        Encoding::Page1252 => WideStr::new(&types::codepage::decode_units(bytes)),
        _ => WideStr::from_text(utf8(bytes)?),
    };
    let most = match to {
        SqlType::NChar(n) | SqlType::NVarChar(Length::N(n)) => usize::from(*n),
        SqlType::SysName => 128,
        _ => usize::MAX,
    };
    if wide.len() > most {
        return Err(FieldFault::Truncation);
    }
    let value = Value::NChar(wide);
    if !matches!(to, SqlType::NChar(_) | SqlType::Xml) {
        return Ok(value);
    }
    convert(&value, &SqlType::NVARCHAR_MAX, to, DEFAULT_STYLE, context).map_err(|_| FieldFault::Type)
}

fn utf8(bytes: &[u8]) -> Result<&str, FieldFault> {
    str::from_utf8(bytes).map_err(|_| FieldFault::Type)
}

fn converted(text: &str, to: &SqlType, style: i32, context: &ConvertContext) -> Result<Value, FieldFault> {
    let value = Value::Char(ByteStr::from_text(text));
    let from = SqlType::VarChar(Length::Max);
    convert(&value, &from, to, style, context).map_err(|error| match error.number {
        220 | 232 | 234 | 237 | 242 | 244 | 248 | 8115 => FieldFault::Overflow,
        _ => FieldFault::Type,
    })
}
