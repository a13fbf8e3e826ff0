//! Conversions: which are allowed ([`matrix`]), how they are done ([`convert()`]), how values are stored ([`assign`](assign::assign)).
//! One file per family of targets: [`integer`], [`number`], [`text`], [`temporal`], [`binary`].

use crate::datetime::parse::ParseOptions;
use crate::{DateFormat, SqlError, SqlResult, SqlType, Value};

pub mod assign;
pub mod binary;
pub mod float_text;
mod integer;
pub mod matrix;
pub mod number;
pub mod temporal;
pub mod text;

/// No style given: CAST, implicit conversion, CONVERT with two arguments.
pub const DEFAULT_STYLE: i32 = -1;

/// What of the session's settings conversions look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertContext {
    /// SET DATEFORMAT.
    pub date_format: DateFormat,
    /// SET DATEFIRST, 1 (Monday)..=7 (Sunday, us_english).
    pub date_first: u8,
    /// SET ANSI_WARNINGS: off lets assignments truncate in silence.
    pub ansi_warnings: bool,
    /// Two digits of a year mean the hundred years that end with this one.
    pub two_digit_year_cutoff: u16,
}

impl Default for ConvertContext {
    fn default() -> Self {
        ConvertContext {
            date_format: DateFormat::Mdy,
            date_first: 7,
            ansi_warnings: true,
            two_digit_year_cutoff: 2049,
        }
    }
}

impl ConvertContext {
    /// How text is read as a date under these settings.
    pub fn parse_options(&self, is_old_type: bool) -> ParseOptions {
        ParseOptions {
            date_format: self.date_format,
            is_old_type,
            two_digit_year_cutoff: self.two_digit_year_cutoff,
        }
    }
}

/// Converts as CAST and CONVERT do (explicitly: text and binary are cut to the target's length in silence). Whether the
/// conversion is allowed at all is [`matrix::check`], done once at bind time; a pair that it refuses gives error 529 here. NULL
/// stays NULL. `style` is [`DEFAULT_STYLE`] or CONVERT's third argument.
///
/// Errors: 220, 232, 235, 241, 242, 244, 245, 248, 281, 295, 529, 8114, 8115, 8169, 8170, 9809.
pub fn convert(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    context: &ConvertContext,
) -> SqlResult<Value> {
    match (value, to) {
        (Value::Null, _) => return Ok(Value::Null),
        (Value::Int(_), SqlType::Int)
        | (Value::BigInt(_), SqlType::BigInt)
        | (Value::Float(_), SqlType::Float) => {
            return Ok(value.clone());
        }
        (Value::Int(number), SqlType::BigInt) => return Ok(Value::BigInt(i64::from(*number))),
        (Value::Variant(_), SqlType::SqlVariant) => return Ok(value.clone()),
        (Value::Variant(inner), _) => return convert(&inner.value, &inner.sql_type, to, style, context),
        _ => {}
    }
    match to {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            integer::to_integer(value, from, to)
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            number::to_decimal(value, from, to, *precision, *scale)
        }
        SqlType::Money | SqlType::SmallMoney => number::to_money(value, from, to),
        SqlType::Real | SqlType::Float => number::to_float(value, from, to),
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Text => text::to_char(value, from, to, style),
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::SysName | SqlType::NText | SqlType::Xml => {
            text::to_nchar(value, from, to, style)
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image | SqlType::RowVersion => {
            binary::to_binary(value, from, to, style)
        }
        SqlType::Date
        | SqlType::Time(_)
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2(_)
        | SqlType::DateTimeOffset(_) => temporal::to_temporal(value, from, to, style, context),
        SqlType::UniqueIdentifier => binary::to_guid(value, from),
        SqlType::SqlVariant => {
            Ok(Value::Variant(std::sync::Arc::new(crate::Variant { sql_type: *from, value: value.clone() })))
        }
    }
}

/// TRY_CAST, TRY_CONVERT: NULL when the value does not convert; errors only for pairs that never convert.
pub fn try_convert(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    context: &ConvertContext,
) -> SqlResult<Value> {
    match convert(value, from, to, style, context) {
        Err(error) if error.number != 529 => Ok(Value::Null),
        other => other,
    }
}

/// The value of an integer type; `None` when out of its range.
pub(crate) fn narrow_integer(number: i128, to: &SqlType) -> Option<Value> {
    match to {
        SqlType::Bit => Some(Value::Bit(number != 0)),
        _ => integer::narrow(number, to),
    }
}

/// The name of a type as messages show it: decimal is `numeric`, sysname its base.
pub(crate) fn shown(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Decimal { .. } => "numeric",
        SqlType::SysName => "nvarchar",
        other => other.name(),
    }
}

/// Error 529: this pair is not in the matrix.
pub(crate) fn not_allowed(from: &SqlType, to: &SqlType) -> SqlError {
    SqlError::new(529, &[&from.name(), &to.name()])
}

/// Error 9809: the style means nothing between these types.
pub(crate) fn unknown_style(style: i32, from: &SqlType, to: &SqlType) -> SqlError {
    SqlError::new(9809, &[&style, &shown(from), &shown(to)])
}

/// Error 8115: the value of a type does not fit another.
pub(crate) fn overflow(from: &str, to: &SqlType) -> SqlError {
    let error = SqlError::new(8115, &[&from, &shown(to)]);
    if matches!(to, SqlType::Decimal { .. }) { error.with_state(8) } else { error }
}

/// Error 8114: the text is not of the type.
pub(crate) fn unreadable(from: &SqlType, to: &SqlType) -> SqlError {
    SqlError::new(8114, &[&shown(from), &shown(to)])
}

/// The text of a Char or NChar value.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    value.as_text()
}
