//! Functions that give rows, made of their arguments alone: STRING_SPLIT, GENERATE_SERIES, OPENJSON. What their columns are hangs on the arguments,
//! so `bind/rowset.rs` has a say in them; values come here in the types that it has chosen.

use types::functions::json;
use types::{Decimal, SqlError, Value};

use crate::view::{Cell, SystemView, ViewContext};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

/// The rows of OPENJSON ... WITH: the objects whose members become columns.
pub(crate) const JSON_ITEMS: &str = "OPENJSON WITH";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new("STRING_SPLIT", "value nvarchar(4000), ordinal bigint", string_split)
        .with_parameters(3)
        .in_schema("dbo"),
    SystemView::new("GENERATE_SERIES", "value bigint", generate_series).with_parameters(3).in_schema("dbo"),
    SystemView::new("OPENJSON", "key nvarchar(4000), value nvarchar(max), type tinyint", open_json)
        .with_parameters(2)
        .in_schema("dbo"),
    SystemView::new(JSON_ITEMS, "item nvarchar(max)", json_items).with_parameters(2).in_schema("dbo"),
];

/// Parts of the same kind of string as the whole.
fn string_split(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let text = |index: usize| context.arguments.get(index).and_then(Value::as_text);
    let (Some(whole), Some(separator)) = (text(0), text(1)) else { return Ok(()) };
    if separator.encode_utf16().count() != 1 {
        return Err(SqlError::custom(
            214,
            16,
            11,
            "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.".to_string(),
        ));
    }
    let is_narrow = matches!(context.arguments[0], Value::Char(_));
    for (index, part) in whole.split(&separator).enumerate() {
        let part = if is_narrow { Value::varchar(part) } else { Value::nvarchar(part) };
        context.row(&[("value", part.into()), ("ordinal", (index as i64 + 1).into())]);
    }
    Ok(())
}

/// Numbers of one type, that of the arguments.
fn generate_series(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let number = |value: &Value| match value {
        Value::Decimal(decimal) => Some(decimal.mantissa()),
        other => other.as_i64().map(i128::from),
    };
    let number_at = |index: usize| context.arguments.get(index).and_then(number);
    let (Some(start), Some(stop)) = (number_at(0), number_at(1)) else { return Ok(()) };
    let one = match &context.arguments[0] {
        Value::Decimal(decimal) => 10i128.pow(u32::from(decimal.scale())),
        _ => 1,
    };
    let step = match context.arguments.get(2) {
        None => one * if start <= stop { 1 } else { -1 },
        Some(step) => match number(step) {
            Some(step) => step,
            None => return Ok(()),
        },
    };
    if step == 0 {
        let kind = context.arguments[0].natural_type();
        let text = format!("Argument value 0 is invalid for the step of {}.", kind.name());
        return Err(SqlError::custom(4199, 16, 1, text));
    }
    let first = context.arguments[0].clone();
    let mut at = start;
    while if step > 0 { at <= stop } else { at >= stop } {
        let value = match &first {
            Value::Decimal(like) => Value::Decimal(Decimal::new(at, like.precision(), like.scale())),
            Value::TinyInt(_) => Value::TinyInt(at as u8),
            Value::SmallInt(_) => Value::SmallInt(at as i16),
            Value::Int(_) => Value::Int(at as i32),
            _ => Value::BigInt(at as i64),
        };
        context.row(&[("value", value.into())]);
        context.runtime.check_cancelled()?;
        at += step;
    }
    Ok(())
}

/// The text and the path of OPENJSON; `None` without a text.
fn json_arguments(context: &ViewContext<'_, '_>) -> Option<(String, String)> {
    let text = |index: usize| context.arguments.get(index).map(Value::as_text);
    let path = text(1).unwrap_or_else(|| Some("$".to_string()))?;
    Some((text(0).flatten()?, path))
}

fn open_json(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some((text, path)) = json_arguments(context) else { return Ok(()) };
    for entry in json::open(&text, &path)? {
        let kind = Cell::from(i32::from(entry.kind));
        context.row(&[("key", entry.key.into()), ("value", entry.value.into()), ("type", kind)]);
    }
    Ok(())
}

fn json_items(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some((text, path)) = json_arguments(context) else { return Ok(()) };
    for item in json::items(&text, &path)? {
        context.row(&[("item", item.into())]);
    }
    Ok(())
}
