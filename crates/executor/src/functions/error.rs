//! The ERROR_ functions of a CATCH block; NULL outside one.

use plan_ir::function_def::ResultRule::Fixed;
use plan_ir::function_def::{Call, FunctionDef};
use types::{SqlError, SqlType, Value};

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("ERROR_NUMBER", &[], Fixed(SqlType::Int), |call| {
        caught(call, |error| Value::Int(error.number))
    })
    .runtime(),
    FunctionDef::new("ERROR_SEVERITY", &[], Fixed(SqlType::Int), |call| {
        caught(call, |error| Value::Int(i32::from(error.severity)))
    })
    .runtime(),
    FunctionDef::new("ERROR_STATE", &[], Fixed(SqlType::Int), |call| {
        caught(call, |error| Value::Int(i32::from(error.state)))
    })
    .runtime(),
    FunctionDef::new("ERROR_LINE", &[], Fixed(SqlType::Int), |call| {
        caught(call, |error| Value::Int(error.line as i32))
    })
    .runtime(),
    FunctionDef::new("ERROR_MESSAGE", &[], Fixed(SqlType::nvarchar(4000)), |call| {
        caught(call, |error| Value::nvarchar(&error.message))
    })
    .runtime(),
    FunctionDef::new("ERROR_PROCEDURE", &[], Fixed(SqlType::nvarchar(128)), |call| {
        caught(call, |error| error.procedure.as_deref().map_or(Value::Null, Value::nvarchar))
    })
    .runtime(),
];

fn caught(call: &Call<'_, '_>, part: impl Fn(&SqlError) -> Value) -> Result<Value, SqlError> {
    Ok(call.runtime.state.caught_error().map_or(Value::Null, part))
}
