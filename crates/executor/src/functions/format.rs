//! FORMAT.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::functions::Culture;
use types::functions::format::format;
use types::{SqlError, SqlType, Value};

pub(crate) static TABLE: &[FunctionDef] = &[FunctionDef::new(
    "FORMAT",
    &[Parameter::Any, Parameter::Wide, Parameter::Wide],
    ResultRule::Fixed(SqlType::nvarchar(4000)),
    format_value,
)
.arity(2, 3)
.sees_nulls()];

/// The culture that an argument names; that of us_english, every session's language, without the argument. Error 9818, also for
/// NULL.
pub(super) fn culture(call: &Call<'_, '_>, index: usize) -> Result<&'static Culture, SqlError> {
    if index >= call.args.len() {
        return Ok(Culture::default_culture());
    }
    let name = call.text(index);
    let known = name.as_deref().and_then(Culture::by_name);
    known.ok_or_else(|| SqlError::new(9818, &[&name.as_deref().unwrap_or("NULL")]))
}

/// The value must be a number, a date or a time; a format that does not match its type gives NULL. Errors 8116, 9818.
fn format_value(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    if call.types[0].is_character()
        || matches!(call.args[0], Value::Binary(_) | Value::Guid(_) | Value::Bit(_))
    {
        return Err(SqlError::new(8116, &[&call.types[0].name(), &1, &"format"]));
    }
    let culture = culture(call, 2)?;
    if call.args[0].is_null() || call.args[1].is_null() {
        return Ok(Value::Null);
    }
    let pattern = call.text(1).unwrap_or_default();
    let text = format(&call.args[0], &pattern, culture);
    Ok(text.map_or(Value::Null, |text| Value::nvarchar(&text)))
}
