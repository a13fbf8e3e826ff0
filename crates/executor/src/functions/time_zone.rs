//! AT TIME ZONE. Errors follow captures from SQL Server.

use plan_ir::built_ins::AT_TIME_ZONE;
use plan_ir::function_def::{Argument, Call, FunctionDef, Parameter, ResultRule};
use plan_ir::zones::{TICKS_PER_SECOND, Zone, unix_s};
use types::datetime::{DateTime2, DateTimeOffset, Moment};
use types::{SqlError, SqlType, Value};

use super::datetime::offset_type;

const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;

pub(crate) static TABLE: &[FunctionDef] =
    &[FunctionDef::new(AT_TIME_ZONE, &[Parameter::Any], ResultRule::Rule(result_type), at_time_zone)
        .arity(2, 2)];

/// datetimeoffset with the digits of the first argument. Error 8116 unless the arguments are a date with a time and a text.
fn result_type(arguments: &[Argument<'_>]) -> Result<SqlType, SqlError> {
    let is_null = |at: usize| arguments[at].constant.is_some_and(Value::is_null);
    let (moment, zone) = (&arguments[0].sql_type, &arguments[1].sql_type);
    let is_moment = matches!(
        moment,
        SqlType::DateTime | SqlType::SmallDateTime | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_)
    );
    for (at, sql_type, is_right) in [(0, moment, is_moment), (1, zone, zone.is_character())] {
        if !is_right && !is_null(at) {
            return Err(SqlError::new(8116, &[&sql_type.name(), &(at + 1), &AT_TIME_ZONE]));
        }
    }
    offset_type(arguments)
}

fn at_time_zone(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let name = call.text(1).unwrap_or_default();
    let zone = Zone::named(&name).ok_or_else(|| SqlError::new(9820, &[&name]))?;
    let overflow = || SqlError::new(9813, &[&AT_TIME_ZONE]);
    if let Value::DateTimeOffset(value) = &call.args[0] {
        return Ok(Value::DateTimeOffset(shown_in(zone, *value)));
    }
    let Some(local) = Moment::of(&call.args[0]) else { return Ok(Value::Null) };
    let ticks = local.total_ticks();
    let offset = zone.read_offset(unix_s(ticks));
    let utc = DateTime2 { ticks: ticks - i64::from(offset) * TICKS_PER_MINUTE };
    Moment::from_ticks(utc.ticks).ok_or_else(overflow)?;
    Ok(Value::DateTimeOffset(shown_in(zone, DateTimeOffset { utc, offset_minutes: 0 })))
}

/// The instant in the zone's local time; in UTC where the local time would be outside the calendar.
fn shown_in(zone: Zone, value: DateTimeOffset) -> DateTimeOffset {
    let (offset, _) = zone.at(unix_s(value.utc.ticks));
    let local = value.utc.ticks + i64::from(offset) * TICKS_PER_MINUTE;
    let offset = Moment::from_ticks(local).map_or(0, |_| offset);
    DateTimeOffset { utc: value.utc, offset_minutes: i16::try_from(offset).unwrap_or(0) }
}
