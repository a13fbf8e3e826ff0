//! FORMAT.

use types::functions::format::{Culture, format};
use types::{SqlError, SqlType, Value};

use crate::function_def::{Call, FunctionDef, Parameter, ResultRule};

pub(crate) static TABLE: &[FunctionDef] = &[FunctionDef::new(
    "FORMAT",
    &[Parameter::Any, Parameter::Wide, Parameter::Wide],
    ResultRule::Fixed(SqlType::nvarchar(4000)),
    format_value,
)
.arity(2, 3)];

/// The value must be a number, a date or a time; a format that does not suit it gives NULL. Errors 8116, 9818.
fn format_value(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    if call.types[0].is_character()
        || matches!(call.args[0], Value::Binary(_) | Value::Guid(_) | Value::Bit(_))
    {
        return Err(SqlError::new(8116, &[&call.types[0].name(), &1, &"format"]));
    }
    let culture = match call.text(2) {
        None => Culture::default_culture(),
        Some(name) => Culture::by_name(&name).ok_or_else(|| SqlError::new(9818, &[&name]))?,
    };
    let pattern = call.text(1).unwrap_or_default();
    let text = format(&call.args[0], &pattern, culture);
    Ok(text.map_or(Value::Null, |text| Value::nvarchar(&text)))
}
