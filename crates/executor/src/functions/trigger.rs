//! Functions of the body of a trigger: which columns the statement sets that has fired it.

use engine::ObjectDef;
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::{Length, SqlError, SqlType, Value};

/// COLUMNS_UPDATED gives a bit for each of at most 1,024 columns.
const COLUMNS_UPDATED_TYPE: ResultRule = ResultRule::Fixed(SqlType::VarBinary(Length::N(128)));

pub(super) static TABLE: &[FunctionDef] =
    &[FunctionDef::new("COLUMNS_UPDATED", &[], COLUMNS_UPDATED_TYPE, columns_updated).runtime()];

/// UPDATE(column): its argument is the position of the column.
pub(super) static COLUMN_SET: FunctionDef =
    FunctionDef::new("UPDATE", &[Parameter::Int], ResultRule::Fixed(SqlType::Bit), is_column_set).runtime();

fn is_column_set(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let ordinal = call.int(0).and_then(|ordinal| usize::try_from(ordinal).ok());
    let is_set = call.runtime.trigger.zip(ordinal).is_some_and(|(trigger, ordinal)| trigger.sets(ordinal));
    Ok(Value::Bit(is_set))
}

/// Bit `n - 1`, counted from the lowest bit of the first byte, is the column of number `n`.
fn columns_updated(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let Some(trigger) = call.runtime.trigger else { return Ok(Value::Null) };
    let numbers: Vec<usize> = match &trigger.fired.triggers.target {
        ObjectDef::Table(table) => {
            table.columns.iter().map(|column| usize::try_from(column.column_id).unwrap_or(1)).collect()
        }
        _ => (1..=trigger.fired.set.as_ref().map_or(0, |set| set.iter().max().map_or(0, |at| at + 1)))
            .collect(),
    };
    let mut bytes = vec![0_u8; numbers.iter().max().copied().unwrap_or(0).div_ceil(8)];
    for (_, number) in numbers.iter().enumerate().filter(|(ordinal, _)| trigger.sets(*ordinal)) {
        bytes[(number - 1) / 8] |= 1 << ((number - 1) % 8);
    }
    Ok(Value::binary(&bytes))
}
