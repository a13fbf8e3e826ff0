//! Functions about values: GUIDs, random bytes, ISNUMERIC, sql_variant properties.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::{SqlError, SqlType, Value};

use Parameter::{Any, Text};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("NEWID", &[], Fixed(SqlType::UniqueIdentifier), new_id).volatile(),
    FunctionDef::new("NEWSEQUENTIALID", &[], Fixed(SqlType::UniqueIdentifier), new_id).volatile(),
    FunctionDef::new("ISNUMERIC", &[Any], Fixed(SqlType::Int), is_numeric).sees_nulls(),
    FunctionDef::new("SQL_VARIANT_PROPERTY", &[Any, Text], Fixed(SqlType::SqlVariant), variant_property),
    FunctionDef::new("CRYPT_GEN_RANDOM", &[Parameter::Int], Fixed(SqlType::varbinary(8000)), gen_random)
        .volatile(),
];

/// A random GUID (version 4), in storage order.
fn new_id(call: &Call<'_, '_>) -> Result<Value> {
    let mut bytes = [0u8; 16];
    call.runtime.instance.os().fill_random(&mut bytes);
    // The version is in the high half of the third group, which is stored little-endian.
    bytes[7] = bytes[7] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Value::Guid(bytes))
}

fn is_numeric(call: &Call<'_, '_>) -> Result<Value> {
    let from = &call.types[0];
    let context = call.runtime.convert_context();
    let numeric = match &call.args[0] {
        Value::Null => false,
        // Blank text converts to 0, but is no number.
        value if value.as_text().is_some_and(|text| text.trim().is_empty()) => false,
        value if from.is_character() => [SqlType::Float, SqlType::Money, SqlType::decimal(38, 10)]
            .iter()
            .any(|to| types::convert(value, from, to, types::DEFAULT_STYLE, context).is_ok()),
        _ => from.is_numeric(),
    };
    Ok(Value::Int(i32::from(numeric)))
}

fn variant_property(call: &Call<'_, '_>) -> Result<Value> {
    let sql_type = match &call.args[0] {
        Value::Variant(inner) => inner.sql_type,
        _ => call.types[0],
    };
    let property = call.text(1).unwrap_or_default().to_ascii_lowercase();
    let value = match property.as_str() {
        "basetype" => Value::nvarchar(sql_type.base().name()),
        "precision" => Value::Int(i32::from(sql_type.precision())),
        "scale" => Value::Int(i32::from(sql_type.scale())),
        "maxlength" | "totalbytes" => Value::Int(i32::from(sql_type.max_length())),
        "collation" if sql_type.is_character() => Value::nvarchar(call.collation.name()),
        _ => Value::Null,
    };
    Ok(plan_ir::values::variant(value))
}

fn gen_random(call: &Call<'_, '_>) -> Result<Value> {
    let length = call.int(0).unwrap_or(0).clamp(0, 8000) as usize;
    let mut bytes = vec![0u8; length];
    call.runtime.instance.os().fill_random(&mut bytes);
    Ok(Value::binary(&bytes))
}
