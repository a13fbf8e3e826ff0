//! JSON_OBJECT and JSON_ARRAY, which write values as FOR JSON does. The binder's first argument has a character for each value: whether it is
//! JSON already.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::functions::json;
use types::{SqlError, SqlType, Value, WideStr};

use crate::formatted::json::push_value;
use crate::formatted::text::Text;

const RESULT: ResultRule = ResultRule::Fixed(SqlType::NVARCHAR_MAX);

/// Marks, then keys and values in turn.
pub(super) static OBJECT: FunctionDef =
    FunctionDef::new("JSON_OBJECT", &[Parameter::Wide, Parameter::Any], RESULT, |call| made(call, 2))
        .arity(1, u8::MAX)
        .sees_nulls()
        .copies(20);

/// Marks, then values.
pub(super) static ARRAY: FunctionDef =
    FunctionDef::new("JSON_ARRAY", &[Parameter::Wide, Parameter::Any], RESULT, |call| made(call, 1))
        .arity(1, u8::MAX)
        .sees_nulls()
        .copies(20);

/// A value is the last of so many arguments.
fn made(call: &Call<'_, '_>, width: usize) -> Result<Value, SqlError> {
    let marks = call.text(0).unwrap_or_default();
    let keeps_nulls = marks.starts_with('n');
    debug_assert_eq!((marks.len() - 1) * width, call.args.len() - 1, "each value has its mark");
    let (open, close) = if width == 2 { ("{", "}") } else { ("[", "]") };
    let mut text = Text::default();
    text.push(open)?;
    let mut is_first = true;
    let members = call.args[1..].chunks_exact(width).zip(call.types[1..].chunks_exact(width));
    for ((arguments, types), mark) in members.zip(marks.bytes().skip(1)) {
        let (value, sql_type) = (&arguments[width - 1], &types[width - 1]);
        if value.is_null() && !keeps_nulls {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            text.push(",")?;
        }
        if width == 2 {
            let key = arguments[0].as_text().ok_or_else(null_key)?;
            text.push(&json::quote(&key))?;
            text.push(":")?;
        }
        push_value(value, sql_type, mark == b'j', call.runtime, &mut text)?;
    }
    text.push(close)?;
    Ok(Value::NChar(WideStr::from(text.units)))
}

fn null_key() -> SqlError {
    plan_ir::errors::unsupported("a NULL key of JSON_OBJECT")
}
