//! Conversions: which are allowed ([`matrix`]), how they are done ([`convert()`]), how values are stored ([`assign`](assign::assign)).
//! One file per family of targets: [`integer`], [`number`], [`text`], [`temporal`], [`binary`].

use crate::{SqlResult, SqlType, Value};

pub mod assign;
pub mod binary;
mod context;
pub(crate) mod errors;
pub mod float_text;
mod integer;
pub mod matrix;
pub mod number;
pub mod temporal;
pub mod text;
mod xml;

pub use context::ConvertContext;
pub use xml::check_sent as check_xml;

/// Converts as CAST and CONVERT do (explicitly: text and binary are cut to the target's length in silence). Whether the
/// conversion is allowed at all is [`matrix::check`], done once at bind time; a pair that it refuses gives error 529 here. NULL
/// stays NULL. `style` is [`DEFAULT_STYLE`](crate::DEFAULT_STYLE) or CONVERT's third argument.
///
/// Errors: 220, 232, 234, 235, 236, 237, 293, 294, 241, 242, 244, 245, 248, 281, 295, 529, 8114, 8115, 8169, 8170, 9809.
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
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::SysName | SqlType::NText => {
            text::to_nchar(value, from, to, style)
        }
        SqlType::Xml => text::to_xml(value, from, style),
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

/// The value of an integer type; `None` when out of its range.
pub(crate) fn narrow_integer(number: i128, to: &SqlType) -> Option<Value> {
    match to {
        SqlType::Bit => Some(Value::Bit(number != 0)),
        _ => integer::narrow(number, to),
    }
}
