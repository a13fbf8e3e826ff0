//! PARSE and TRY_PARSE. Errors follow captures from SQL Server.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::datetime::Moment;
use types::functions::parse::parse;
use types::{SqlError, SqlType, Value};

use super::format::culture;

/// Limit of the text's length, in units of UTF-16.
const MAX_UNITS: usize = 4000;

/// Arguments: text and, if given, culture; the binder sets the result type. Cannot be called by name.
pub(crate) static PARSE: FunctionDef =
    FunctionDef::new("PARSE", &[Parameter::Any], ResultRule::Fixed(SqlType::Int), |call| {
        parsed(call)?.map_err(|text| failed(call, &text))
    })
    .arity(1, 2)
    .sees_nulls()
    .runtime();

/// The same; NULL for a text that PARSE cannot read. Other errors stay.
pub(crate) static TRY_PARSE: FunctionDef =
    FunctionDef::new("TRY_PARSE", &[Parameter::Any], ResultRule::Fixed(SqlType::Int), |call| {
        Ok(parsed(call)?.unwrap_or(Value::Null))
    })
    .arity(1, 2)
    .sees_nulls()
    .runtime();

/// The value, or the text that does not parse. Errors 9818, 8152.
fn parsed(call: &Call<'_, '_>) -> Result<Result<Value, String>, SqlError> {
    let culture = culture(call, 1)?;
    let Some(text) = call.text(0) else { return Ok(Ok(Value::Null)) };
    if text.len() > MAX_UNITS && text.encode_utf16().count() > MAX_UNITS {
        return Err(SqlError::new(8152, &[]).with_state(10));
    }
    let minutes = call.runtime.instance.os().clock().local_offset_minutes();
    let local = call.runtime.now_utc_ticks() + i64::from(minutes) * 600_000_000;
    let now = Moment::from_ticks(local).ok_or_else(|| plan_ir::errors::overflow("datetime2"))?;
    let now = Moment { offset_minutes: minutes as i16, ..now };
    Ok(parse(&text, &call.result, culture, &now).ok_or(text))
}

/// Error 9819, with the culture as given.
fn failed(call: &Call<'_, '_>, text: &str) -> SqlError {
    SqlError::new(9819, &[&text, &call.result.name(), &call.text(1).unwrap_or_default()])
}
