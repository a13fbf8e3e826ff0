//! JSON_VALUE, JSON_QUERY, JSON_MODIFY, ISJSON, JSON_PATH_EXISTS.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::functions::json::{self, NewValue};
use types::{SqlError, SqlType, Value};

use Parameter::{Any, Wide};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("JSON_VALUE", &[Wide, Wide], Fixed(SqlType::nvarchar(4000)), json_value),
    FunctionDef::new("JSON_QUERY", &[Wide, Wide], Fixed(SqlType::NVARCHAR_MAX), json_query).arity(1, 2),
    FunctionDef::new("JSON_MODIFY", &[Wide, Wide, Any], Fixed(SqlType::NVARCHAR_MAX), json_modify)
        .sees_nulls()
        .copies(20),
    FunctionDef::new("JSON_PATH_EXISTS", &[Wide, Wide], Fixed(SqlType::Int), |call| {
        let exists = json::path_exists(&call.text(0).unwrap_or_default(), &call.text(1).unwrap_or_default());
        Ok(Value::Int(i32::from(exists)))
    }),
    FunctionDef::new("ISJSON", &[Wide, Wide], Fixed(SqlType::Int), is_json).arity(1, 2),
];

/// The two kinds of columns of OPENJSON ... WITH, of any length: internal functions without a callable name.
pub(crate) static JSON_SCALAR: FunctionDef =
    FunctionDef::new("OPENJSON", &[Wide, Wide], Fixed(SqlType::NVARCHAR_MAX), |call| {
        let (text, path) = (call.text(0).unwrap_or_default(), call.text(1).unwrap_or_default());
        json::json_value(&text, &path).map(text_or_null)
    });
pub(crate) static JSON_PART: FunctionDef =
    FunctionDef::new("OPENJSON", &[Wide, Wide], Fixed(SqlType::NVARCHAR_MAX), json_query);

fn text_or_null(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::nvarchar(&text))
}

/// Longer than 4000 characters: NULL in lax mode, error 13625 in strict mode.
fn json_value(call: &Call<'_, '_>) -> Result<Value> {
    let path = call.text(1).unwrap_or_default();
    let value = json::json_value(&call.text(0).unwrap_or_default(), &path)?;
    match value {
        Some(text) if text.encode_utf16().count() > 4000 => match json::Path::parse(&path)?.strict {
            true => Err(SqlError::new(13625, &[])),
            false => Ok(Value::Null),
        },
        other => Ok(text_or_null(other)),
    }
}

fn json_query(call: &Call<'_, '_>) -> Result<Value> {
    let path = call.text(1).unwrap_or_else(|| "$".to_owned());
    json::json_query(&call.text(0).unwrap_or_default(), &path).map(text_or_null)
}

/// JSON_MODIFY whose new value comes from a function that returns JSON: it is inserted as JSON. The binder selects it by the call, not the name.
pub(crate) static JSON_MODIFY_BY_JSON: FunctionDef =
    FunctionDef::new("JSON_MODIFY", &[Wide, Wide, Wide], Fixed(SqlType::NVARCHAR_MAX), json_modify_by_json)
        .sees_nulls()
        .copies(20);

fn json_modify_by_json(call: &Call<'_, '_>) -> Result<Value> {
    let (Some(text), Some(path)) = (call.text(0), call.text(1)) else { return Ok(Value::Null) };
    let new = call.text(2);
    let value = new.as_deref().map_or(NewValue::Null, NewValue::Raw);
    json::json_modify(&text, &path, value).map(|text| Value::nvarchar(&text))
}

/// Numbers and bits are written without quotes, everything else as a string.
fn json_modify(call: &Call<'_, '_>) -> Result<Value> {
    let (Some(text), Some(path)) = (call.text(0), call.text(1)) else { return Ok(Value::Null) };
    let shown;
    let value = match &call.args[2] {
        Value::Null => NewValue::Null,
        Value::Bit(set) => NewValue::Raw(if *set { "true" } else { "false" }),
        other => {
            let converted = types::convert(
                other,
                &call.types[2],
                &SqlType::NVARCHAR_MAX,
                types::DEFAULT_STYLE,
                call.runtime.convert_context(),
            )?;
            shown = converted.as_text().unwrap_or_default();
            if call.types[2].is_numeric() { NewValue::Raw(&shown) } else { NewValue::Text(&shown) }
        }
    };
    json::json_modify(&text, &path, value).map(|text| Value::nvarchar(&text))
}

fn is_json(call: &Call<'_, '_>) -> Result<Value> {
    let constraint = call.text(1);
    match json::is_json(&call.text(0).unwrap_or_default(), constraint.as_deref()) {
        Some(is) => Ok(Value::Int(i32::from(is))),
        None => Err(SqlError::new(155, &[&constraint.unwrap_or_default(), &"ISJSON"])),
    }
}
