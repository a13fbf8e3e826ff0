//! Date and time values: conversion to and from their fields ([`Moment`]), [`format`] their text forms, [`parts`] DATEPART and friends, [`functions`]
//! DATEADD, DATEDIFF and friends.

pub mod format;
pub mod functions;
pub mod parts;

pub use parts::DatePart;

use crate::datetime::{
    Date, DateTime2, DateTimeOffset, Moment, SmallDateTime, TICKS_PER_DAY, TICKS_PER_SECOND, Time, civil,
    cut_ticks, round_ticks,
};
use crate::{SqlType, Value};

const SMALLDATETIME_MAX: SmallDateTime = SmallDateTime { days: 65_535, minutes: 1439 };

impl Moment {
    /// The fields of a date or time value; `None` for other values.
    pub fn of(value: &Value) -> Option<Moment> {
        Some(match *value {
            Value::Date(date) => Moment::new(date.days, 0),
            Value::Time(time) => Moment::new(civil::DAYS_TO_1900, time.ticks),
            Value::DateTime(moment) => Moment::new(
                moment.days + civil::DAYS_TO_1900,
                (u64::from(moment.ticks) * TICKS_PER_SECOND + 150) / 300,
            ),
            Value::SmallDateTime(moment) => Moment::new(
                i32::from(moment.days) + civil::DAYS_TO_1900,
                u64::from(moment.minutes) * 60 * TICKS_PER_SECOND,
            ),
            Value::DateTime2(moment) => moment.moment(),
            Value::DateTimeOffset(moment) => moment.local(),
            _ => return None,
        })
    }

    /// As a value of a date or time type, rounded to its scale; `None` when outside its range (or `target` is another kind of type).
    pub fn to_value(&self, target: &SqlType) -> Option<Value> {
        Some(match *target {
            SqlType::Date => Value::Date(Date { days: self.days }),
            SqlType::Time(scale) => {
                // A time does not round up into the next day.
                let rounded = round_ticks(self.ticks, scale);
                let is_inside = rounded < TICKS_PER_DAY;
                Value::Time(Time { ticks: if is_inside { rounded } else { cut_ticks(self.ticks, scale) } })
            }
            SqlType::DateTime => Value::DateTime(self.to_datetime()?),
            SqlType::SmallDateTime => {
                let rounded = self.to_datetime()?;
                let minutes = (rounded.ticks + 30 * 300) / (60 * 300);
                let days = rounded.days + (minutes / 1440) as i32;
                let small =
                    SmallDateTime { days: u16::try_from(days).ok()?, minutes: (minutes % 1440) as u16 };
                (small <= SMALLDATETIME_MAX).then_some(())?;
                Value::SmallDateTime(small)
            }
            SqlType::DateTime2(scale) => {
                Value::DateTime2(DateTime2 { ticks: self.rounded(scale).total_ticks() })
            }
            SqlType::DateTimeOffset(scale) => {
                // The value must be in range in UTC, too.
                let is_inside = |moment: &Moment| Moment::from_ticks(moment.utc_ticks()).is_some();
                let cut = Moment { ticks: cut_ticks(self.ticks, scale), ..*self };
                let rounded = [self.rounded(scale), cut].into_iter().find(is_inside)?;
                let utc = DateTime2 { ticks: rounded.utc_ticks() };
                Value::DateTimeOffset(DateTimeOffset { utc, offset_minutes: self.offset_minutes })
            }
            _ => return None,
        })
    }
}
