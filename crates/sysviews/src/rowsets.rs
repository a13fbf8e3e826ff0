//! Table-valued functions that stream rows from their arguments alone: STRING_SPLIT, GENERATE_SERIES, OPENJSON. Their columns depend
//! on the arguments, so `binder/src/rowset.rs` chooses the column types; values come here in these types.

use std::sync::Arc;

use engine::Database;
use plan_ir::row::Row;
use plan_ir::row_source::Empty;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::view::stream::StreamRequest;
use plan_ir::view::{ColumnRule, SystemView};
use types::functions::json::Parts;
use types::{Decimal, SqlError, Value};

type Opened = Result<Box<dyn RowSource>, SqlError>;

/// OPENJSON without WITH.
pub(super) const JSON_MEMBERS: &str = "OPENJSON";
/// With WITH. Not to be called by name: a name has no spaces.
pub(super) const JSON_OBJECTS: &str = "OPENJSON WITH";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::streamed("STRING_SPLIT", "value nvarchar(4000), ordinal bigint", string_split, &[])
        .with_parameters(3)
        .with_column_rule(ColumnRule::PartsOfText)
        .in_schema("dbo"),
    SystemView::streamed("GENERATE_SERIES", "value bigint", generate_series, &[])
        .with_parameters(3)
        .with_column_rule(ColumnRule::Series)
        .in_schema("dbo"),
    SystemView::streamed(
        JSON_MEMBERS,
        "key nvarchar(4000), value nvarchar(max), type tinyint",
        open_json,
        &[],
    )
    .with_parameters(2)
    .in_schema("dbo"),
    SystemView::streamed(JSON_OBJECTS, "item nvarchar(max)", json_items, &[])
        .with_parameters(2)
        .in_schema("dbo"),
];

/// The iterator over a text's parts between separators.
struct Split {
    whole: String,
    separator: String,
    is_narrow: bool,
    /// Position of the next part; `None` after the last one.
    at: Option<usize>,
    given: i64,
}

/// The parts have the whole text's type of string.
fn string_split(_: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    let text = |index: usize| request.arguments.get(index).and_then(Value::as_text);
    let (Some(whole), Some(separator)) = (text(0), text(1)) else { return Ok(Box::new(Empty)) };
    if separator.encode_utf16().count() != 1 {
        return Err(SqlError::custom(
            214,
            16,
            11,
            "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.".to_string(),
        ));
    }
    let is_narrow = matches!(request.arguments[0], Value::Char(_));
    Ok(Box::new(Split { whole, separator, is_narrow, at: Some(0), given: 0 }))
}

impl RowSource for Split {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let Some(at) = self.at else { return Ok(false) };
        let rest = &self.whole[at..];
        let part = match rest.find(&self.separator) {
            Some(length) => {
                self.at = Some(at + length + self.separator.len());
                &rest[..length]
            }
            None => {
                self.at = None;
                rest
            }
        };
        self.given += 1;
        row.clear();
        row.push(if self.is_narrow { Value::varchar(part) } else { Value::nvarchar(part) });
        row.push(Value::BigInt(self.given));
        Ok(true)
    }
}

/// The iterator over the numbers of a series.
struct Series {
    at: i128,
    stop: i128,
    /// Never 0.
    step: i128,
    /// A value of their type.
    like: Value,
}

/// The numbers have the type of the arguments. A NULL argument gives no rows.
fn generate_series(_: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    let number = |value: &Value| match value {
        Value::Decimal(decimal) => Some(decimal.mantissa()),
        other => other.as_i64().map(i128::from),
    };
    let number_at = |index: usize| request.arguments.get(index).and_then(number);
    let (Some(start), Some(stop)) = (number_at(0), number_at(1)) else { return Ok(Box::new(Empty)) };
    let like = request.arguments[0].clone();
    let one = match &like {
        Value::Decimal(decimal) => 10i128.pow(u32::from(decimal.scale())),
        _ => 1,
    };
    let step = match request.arguments.get(2) {
        None => one * if start <= stop { 1 } else { -1 },
        Some(step) => match number(step) {
            Some(step) => step,
            None => return Ok(Box::new(Empty)),
        },
    };
    if step == 0 {
        return Err(SqlError::new(4199, &[&0, &3, &"generate_series"]));
    }
    Ok(Box::new(Series { at: start, stop, step, like }))
}

impl RowSource for Series {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let at = self.at;
        if if self.step > 0 { at > self.stop } else { at < self.stop } {
            return Ok(false);
        }
        row.clear();
        row.push(match &self.like {
            Value::Decimal(like) => Value::Decimal(Decimal::new(at, like.precision(), like.scale())),
            Value::TinyInt(_) => Value::TinyInt(at as u8),
            Value::SmallInt(_) => Value::SmallInt(at as i16),
            Value::Int(_) => Value::Int(at as i32),
            _ => Value::BigInt(at as i64),
        });
        self.at = at.saturating_add(self.step);
        Ok(true)
    }
}

/// The JSON parts that the arguments select; `None` when the text is NULL.
fn json_parts(
    request: &StreamRequest<'_>,
    parts: fn(String, &str) -> Result<Parts, SqlError>,
) -> Result<Option<Parts>, SqlError> {
    let text = |index: usize| request.arguments.get(index).map(Value::as_text);
    let path = text(1).unwrap_or_else(|| Some("$".to_string()));
    match (text(0).flatten(), path) {
        (Some(whole), Some(path)) => parts(whole, &path).map(Some),
        _ => Ok(None),
    }
}

struct JsonEntries(Parts);

fn open_json(_: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    Ok(match json_parts(request, Parts::entries)? {
        Some(parts) => Box::new(JsonEntries(parts)),
        None => Box::new(Empty),
    })
}

impl RowSource for JsonEntries {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let Some(entry) = self.0.next_entry() else { return Ok(false) };
        row.clear();
        row.push(Value::nvarchar(&entry.key));
        row.push(entry.value.map_or(Value::Null, |value| Value::nvarchar(&value)));
        row.push(Value::TinyInt(entry.kind));
        Ok(true)
    }
}

struct JsonItems(Parts);

fn json_items(_: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    Ok(match json_parts(request, Parts::items)? {
        Some(parts) => Box::new(JsonItems(parts)),
        None => Box::new(Empty),
    })
}

impl RowSource for JsonItems {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let Some(item) = self.0.next_item() else { return Ok(false) };
        row.clear();
        row.push(Value::nvarchar(&item));
        Ok(true)
    }
}
