//! Kernels of DATEADD, DATEDIFF, DATETRUNC, EOMONTH, the ...FROMPARTS functions, SWITCHOFFSET and TODATETIMEOFFSET.

use super::parts::{DatePart, check_part};
use crate::datetime::{
    self, Date, DateTime2, DateTimeOffset, Moment, TICKS_PER_DAY, TICKS_PER_SECOND, Time, civil,
};
use crate::{SqlError, SqlResult, SqlType, Value};

/// DATEADD(part, number, value): the type of the value stays. NULL gives NULL. Errors 517 (outside the type's range), 9810.
pub fn date_add(part: DatePart, number: i64, value: &Value) -> SqlResult<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let kind = value.natural_type();
    let Some(moment) = Moment::of(value) else {
        return Err(SqlError::new(8116, &[&kind.name(), &3, &"dateadd"]));
    };
    check_part(part, "dateadd", value)?;
    let unsupported = matches!(part, DatePart::TzOffset | DatePart::IsoWeek)
        || (matches!(part, DatePart::Microsecond | DatePart::Nanosecond)
            && matches!(kind, SqlType::DateTime | SqlType::SmallDateTime));
    if unsupported {
        return Err(SqlError::new(9810, &[&part.name(), &"dateadd", &kind.name()]));
    }
    let overflow = || SqlError::new(517, &[&kind.name()]);
    if let (DatePart::Millisecond, Value::DateTime(start)) = (part, value) {
        return add_datetime_milliseconds(*start, number).ok_or_else(overflow);
    }
    let moved = match part {
        DatePart::Year => add_months(&moment, number.checked_mul(12).ok_or_else(overflow)?),
        DatePart::Quarter => add_months(&moment, number.checked_mul(3).ok_or_else(overflow)?),
        DatePart::Month => add_months(&moment, number),
        _ => add_ticks(part, &moment, number, matches!(value, Value::Time(_))),
    };
    let moved = moved.ok_or_else(overflow)?;
    let moved = Moment { offset_minutes: moment.offset_minutes, ..moved };
    let exact_scale = match kind {
        SqlType::DateTime => return moved.to_value(&kind).ok_or_else(overflow),
        other => other,
    };
    moved.to_value(&exact_scale).ok_or_else(overflow)
}

/// A datetime moves by whole 1/300 s: n ms are 3n/10 of them, rounded.
fn add_datetime_milliseconds(start: datetime::DateTime, number: i64) -> Option<Value> {
    let day = i64::from(datetime::DATETIME_TICKS_PER_DAY);
    let scaled = number.checked_mul(3)?;
    let rounded = (scaled + 5 * scaled.signum()) / 10;
    let total = (i64::from(start.days) * day + i64::from(start.ticks)).checked_add(rounded)?;
    let days = total.div_euclid(day);
    let first = i64::from(civil::DAYS_TO_1753 - civil::DAYS_TO_1900);
    let last = i64::from(civil::DAYS_MAX - civil::DAYS_TO_1900);
    (first..=last).contains(&days).then(|| {
        Value::DateTime(datetime::DateTime { days: days as i32, ticks: total.rem_euclid(day) as u32 })
    })
}

/// Months later; a day that the month lacks becomes its last.
fn add_months(moment: &Moment, months: i64) -> Option<Moment> {
    let date = civil::from_days(moment.days);
    let total = (i64::from(date.year) * 12 + i64::from(date.month) - 1).checked_add(months)?;
    let year = i32::try_from(total.div_euclid(12)).ok()?;
    let month = total.rem_euclid(12) as u32 + 1;
    if !(1..=9999).contains(&year) {
        return None;
    }
    let day = date.day.min(civil::days_in_month(year, month));
    Some(Moment { days: civil::to_days(year, month, day)?, ..*moment })
}

fn add_ticks(part: DatePart, moment: &Moment, number: i64, wraps: bool) -> Option<Moment> {
    let second = i128::from(TICKS_PER_SECOND);
    let delta = i128::from(number)
        * match part {
            DatePart::Week => 7 * 86_400 * second,
            DatePart::Hour => 3600 * second,
            DatePart::Minute => 60 * second,
            DatePart::Second => second,
            DatePart::Millisecond => 10_000,
            DatePart::Microsecond => 10,
            DatePart::Nanosecond => {
                // Rounded to units of 100 ns.
                let ticks = (i128::from(number) + 50 * i128::from(number.signum())) / 100;
                return shifted(moment, ticks, wraps);
            }
            _ => 86_400 * second,
        };
    shifted(moment, delta, wraps)
}

/// A time of day wraps at midnight; anything else moves on.
fn shifted(moment: &Moment, delta: i128, wraps: bool) -> Option<Moment> {
    if wraps {
        let ticks = (i128::from(moment.ticks) + delta).rem_euclid(i128::from(TICKS_PER_DAY));
        return Some(Moment { ticks: ticks as u64, ..*moment });
    }
    Moment::from_ticks(i64::try_from(i128::from(moment.total_ticks()) + delta).ok()?)
}

/// DATEDIFF_BIG(part, start, end): the number of boundaries of the part between the two (claim 37: 23:59:59.9 to 00:00:00.0 is a
/// second, a minute, a day, perhaps a year). Both sides are converted to UTC first. NULL gives NULL. Errors 535, 9806.
pub fn date_diff_big(part: DatePart, start: &Value, end: &Value) -> SqlResult<Value> {
    let (Some(from), Some(to)) = (Moment::of(start), Moment::of(end)) else { return Ok(Value::Null) };
    if matches!(part, DatePart::TzOffset | DatePart::IsoWeek) {
        return Err(SqlError::new(9806, &[&part.name(), &"datediff"]));
    }
    let difference = ordinal(part, &to) - ordinal(part, &from);
    let difference =
        i64::try_from(difference).map_err(|_| SqlError::new(535, &[&"datediff_big", &"datediff_big"]))?;
    Ok(Value::BigInt(difference))
}

/// DATEDIFF: as [`date_diff_big`], an int. Error 535 when it does not fit.
pub fn date_diff(part: DatePart, start: &Value, end: &Value) -> SqlResult<Value> {
    match date_diff_big(part, start, end)? {
        Value::BigInt(difference) => match i32::try_from(difference) {
            Ok(difference) => Ok(Value::Int(difference)),
            Err(_) => Err(SqlError::new(535, &[&"datediff", &"datediff"])),
        },
        other => Ok(other),
    }
}

/// How many boundaries of the part are before the moment.
fn ordinal(part: DatePart, moment: &Moment) -> i128 {
    let ticks = i128::from(moment.utc_ticks());
    let second = i128::from(TICKS_PER_SECOND);
    let days = ticks.div_euclid(86_400 * second);
    let date = || civil::from_days((days as i32).clamp(0, civil::DAYS_MAX));
    match part {
        DatePart::Year => i128::from(date().year),
        DatePart::Quarter => i128::from(date().year * 4 + (date().month as i32 - 1) / 3),
        DatePart::Month => i128::from(date().year * 12 + date().month as i32),
        // Weeks begin on Sunday here whatever DATEFIRST says; day 0 was a Monday.
        DatePart::Week => (days + 1).div_euclid(7),
        DatePart::Hour => ticks.div_euclid(3600 * second),
        DatePart::Minute => ticks.div_euclid(60 * second),
        DatePart::Second => ticks.div_euclid(second),
        DatePart::Millisecond => ticks.div_euclid(10_000),
        DatePart::Microsecond => ticks.div_euclid(10),
        DatePart::Nanosecond => ticks * 100,
        _ => days,
    }
}

/// DATETRUNC(part, value): the beginning of the part; the type stays, and must have the digits of the part. Errors 9810, 9837 (a week that began
/// before the first day of the type).
pub fn date_trunc(part: DatePart, value: &Value, kind: &SqlType, date_first: u8) -> SqlResult<Value> {
    let Some(moment) = Moment::of(value) else { return Ok(Value::Null) };
    check_part(part, "datetrunc", value).map_err(|error| error.with_state(10))?;
    let digits = match kind {
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => *scale,
        SqlType::DateTime => 3,
        _ => 0,
    };
    if part == DatePart::Millisecond && digits < 3 || part == DatePart::Microsecond && digits < 6 {
        return Err(SqlError::new(9810, &[&part.name(), &"datetrunc", &kind.name()]).with_state(11));
    }
    let date = civil::from_days(moment.days);
    let day_of = |year, month, day| civil::to_days(year, month, day).unwrap_or(moment.days);
    let cut = |unit: u64| (moment.days, moment.ticks - moment.ticks % unit);
    let back = |days: i32| (moment.days - days, 0);
    let (days, ticks) = match part {
        DatePart::Year => (day_of(date.year, 1, 1), 0),
        DatePart::Quarter => (day_of(date.year, (date.month - 1) / 3 * 3 + 1, 1), 0),
        DatePart::Month => (day_of(date.year, date.month, 1), 0),
        DatePart::Week => back((civil::weekday(moment.days) as i32 + 8 - i32::from(date_first)) % 7),
        DatePart::IsoWeek => back(civil::weekday(moment.days) as i32),
        DatePart::Day | DatePart::DayOfYear => (moment.days, 0),
        DatePart::Hour => cut(3600 * TICKS_PER_SECOND),
        DatePart::Minute => cut(60 * TICKS_PER_SECOND),
        DatePart::Second => cut(TICKS_PER_SECOND),
        DatePart::Millisecond => cut(10_000),
        DatePart::Microsecond => cut(10),
        DatePart::WeekDay | DatePart::TzOffset | DatePart::Nanosecond => {
            return Err(SqlError::new(9810, &[&part.name(), &"datetrunc", &kind.name()]));
        }
    };
    let moved = Moment { days, ticks, ..moment };
    let moved = if days < 0 { None } else { moved.to_value(kind) };
    moved.ok_or_else(|| SqlError::new(9837, &[]).with_state(3))
}

/// DATE_BUCKET(part, width, value [, origin]): the beginning of the bucket of the value, consecutive buckets of so many parts
/// from the origin on, by default midnight of 1 January 1900; the type of the value stays. Errors 206 (an origin of another type), 517,
/// 9810, 9834.
pub fn date_bucket(part: DatePart, width: i64, value: &Value, origin: Option<&Value>) -> SqlResult<Value> {
    let Some(moment) = Moment::of(value) else { return Ok(Value::Null) };
    check_part(part, "date_bucket", value)?;
    let kind = value.natural_type();
    let start = match origin.map(|origin| (origin.natural_type(), Moment::of(origin))) {
        None if matches!(value, Value::Time(_)) => Moment { ticks: 0, ..moment },
        None => Moment { days: civil::DAYS_TO_1900, ticks: 0, ..moment },
        // In the value's own offset.
        Some((own, Some(at))) if own.name() == kind.name() => {
            let local = at.utc_ticks() + (moment.total_ticks() - moment.utc_ticks());
            Moment::from_ticks(local).ok_or_else(|| SqlError::new(517, &[&kind.name()]))?
        }
        Some((own, _)) => return Err(SqlError::new(206, &[&own.name(), &kind.name()])),
    };
    if width <= 0 {
        return Err(SqlError::new(9834, &[&"date_bucket"]));
    }
    let months = match part {
        DatePart::Year => Some(12),
        DatePart::Quarter => Some(3),
        DatePart::Month => Some(1),
        _ => None,
    };
    let overflow = || SqlError::new(517, &[&kind.name()]);
    let moved = if let Some(months) = months {
        let between = (ordinal_of_month(&moment) - ordinal_of_month(&start)).div_euclid(months * width);
        let bucket = |number: i64| add_months(&start, number * months * width);
        match bucket(between) {
            Some(begin) if begin.total_ticks() > moment.total_ticks() => bucket(between - 1),
            begin => begin,
        }
    } else {
        let ticks = ticks_of(part)
            .ok_or_else(|| SqlError::new(9810, &[&part.name(), &"date_bucket", &kind.name()]))?;
        let bucket = i128::from(ticks) * i128::from(width);
        let since = i128::from(moment.total_ticks()) - i128::from(start.total_ticks());
        shifted(&start, since.div_euclid(bucket) * bucket, false)
    };
    let moved = Moment { offset_minutes: moment.offset_minutes, ..moved.ok_or_else(overflow)? };
    moved.to_value(&kind).ok_or_else(overflow)
}

/// Months since year 0.
fn ordinal_of_month(moment: &Moment) -> i64 {
    let date = civil::from_days(moment.days);
    i64::from(date.year) * 12 + i64::from(date.month)
}

/// The length of a part of fixed length that DATE_BUCKET accepts.
fn ticks_of(part: DatePart) -> Option<u64> {
    let day = 86_400 * TICKS_PER_SECOND;
    match part {
        DatePart::Week => Some(7 * day),
        DatePart::Day | DatePart::DayOfYear | DatePart::WeekDay => Some(day),
        DatePart::Hour => Some(3600 * TICKS_PER_SECOND),
        DatePart::Minute => Some(60 * TICKS_PER_SECOND),
        DatePart::Second => Some(TICKS_PER_SECOND),
        DatePart::Millisecond => Some(10_000),
        _ => None,
    }
}

/// EOMONTH(value [, months]): the last day of the month as a date. Error 517.
pub fn end_of_month(value: &Value, months: i64) -> SqlResult<Value> {
    let Some(moment) = Moment::of(value) else { return Ok(Value::Null) };
    let moved = add_months(&moment, months).ok_or_else(|| SqlError::new(517, &[&"date"]))?;
    let date = civil::from_days(moved.days);
    let last = civil::days_in_month(date.year, date.month);
    Ok(Value::Date(Date { days: moved.days + (last - date.day) as i32 }))
}

/// DATEFROMPARTS. Error 289.
pub fn date_from_parts(year: i32, month: i32, day: i32) -> SqlResult<Value> {
    let days = civil_days(year, month, day).ok_or_else(|| cannot_construct(&SqlType::Date))?;
    Ok(Value::Date(Date { days }))
}

/// TIMEFROMPARTS(hour, minute, second, fractions, scale). Error 289.
pub fn time_from_parts(hour: i32, minute: i32, second: i32, fractions: i32, scale: u8) -> SqlResult<Value> {
    let ticks = day_ticks(hour, minute, second, fractions, scale)
        .ok_or_else(|| cannot_construct(&SqlType::Time(7)))?;
    Ok(Value::Time(Time { ticks }))
}

/// Error 289 of a type; the state depends on the type.
fn cannot_construct(target: &SqlType) -> SqlError {
    let state = match target {
        SqlType::Date => 1,
        SqlType::Time(_) => 2,
        SqlType::DateTime => 3,
        SqlType::SmallDateTime => 4,
        SqlType::DateTime2(_) => 5,
        _ => 6,
    };
    SqlError::new(289, &[&target.name()]).with_state(state)
}

/// The whole parts of a date with time.
#[derive(Clone, Copy, Debug)]
pub struct DateTimeParts {
    /// Year, month, day.
    pub date: [i32; 3],
    /// Hour, minute, second.
    pub time: [i32; 3],
    /// Fraction of a second in units of 10^-scale.
    pub fractions: i32,
    /// Digits of the fraction.
    pub scale: u8,
}

impl DateTimeParts {
    fn moment(&self) -> Option<Moment> {
        let [year, month, day] = self.date;
        let [hour, minute, second] = self.time;
        Some(Moment::new(
            civil_days(year, month, day)?,
            day_ticks(hour, minute, second, self.fractions, self.scale)?,
        ))
    }

    /// DATETIMEFROMPARTS, DATETIME2FROMPARTS, SMALLDATETIMEFROMPARTS, by the type given. Error 289.
    pub fn to_value(&self, target: &SqlType) -> SqlResult<Value> {
        self.moment().and_then(|moment| moment.to_value(target)).ok_or_else(|| cannot_construct(target))
    }

    /// DATETIMEOFFSETFROMPARTS. Error 289.
    pub fn to_offset_value(&self, hours: i32, minutes: i32) -> SqlResult<Value> {
        let error = || cannot_construct(&SqlType::DateTimeOffset(7));
        let same_sign = hours == 0 || minutes == 0 || (hours < 0) == (minutes < 0);
        let total = hours * 60 + minutes;
        if !(same_sign && minutes.abs() < 60 && total.abs() <= 840) {
            return Err(error());
        }
        let moment = self.moment().ok_or_else(error)?;
        let moment = Moment { offset_minutes: total as i16, ..moment };
        moment.to_value(&SqlType::DateTimeOffset(self.scale)).ok_or_else(error)
    }
}

fn civil_days(year: i32, month: i32, day: i32) -> Option<i32> {
    civil::to_days(year, u32::try_from(month).ok()?, u32::try_from(day).ok()?)
}

fn day_ticks(hour: i32, minute: i32, second: i32, fractions: i32, scale: u8) -> Option<u64> {
    let valid =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second) && scale <= 7;
    let limit = 10i64.pow(u32::from(scale.min(7)));
    if !valid || !(0..limit).contains(&i64::from(fractions)) {
        return None;
    }
    let seconds = (hour * 3600 + minute * 60 + second) as u64;
    Some(seconds * TICKS_PER_SECOND + fractions as u64 * 10u64.pow(7 - u32::from(scale)))
}

/// SWITCHOFFSET(value, offset): the same instant shown elsewhere. Error 9812.
pub fn switch_offset(value: DateTimeOffset, offset_minutes: i32) -> SqlResult<DateTimeOffset> {
    check_offset(offset_minutes, "switchoffset")?;
    Ok(DateTimeOffset { utc: value.utc, offset_minutes: offset_minutes as i16 })
}

/// TODATETIMEOFFSET(value, offset): the local time with an offset. Error 9812.
pub fn to_datetimeoffset(local: DateTime2, offset_minutes: i32) -> SqlResult<DateTimeOffset> {
    check_offset(offset_minutes, "todatetimeoffset")?;
    let ticks = local.ticks - i64::from(offset_minutes) * 60 * TICKS_PER_SECOND as i64;
    if Moment::from_ticks(ticks).is_none() {
        return Err(SqlError::new(517, &[&"datetimeoffset"]));
    }
    Ok(DateTimeOffset { utc: DateTime2 { ticks }, offset_minutes: offset_minutes as i16 })
}

fn check_offset(offset_minutes: i32, function: &str) -> SqlResult<()> {
    if offset_minutes.abs() > 840 { Err(SqlError::new(9812, &[&function])) } else { Ok(()) }
}
