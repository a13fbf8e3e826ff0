//! Dates and times: the six types, and civil arithmetic over 0001-01-01..=9999-12-31. Functions on values of them are in
//! [`temporal`](crate::temporal).
//!
//! [`Moment`] is their common form: a day, 100 ns ticks in it, an offset. [`civil`] is the calendar, [`parse`] reads text.

use std::cmp::Ordering;

pub mod civil;
pub mod hijri;
pub mod parse;

/// 100 ns ticks in a second.
pub const TICKS_PER_SECOND: u64 = 10_000_000;
/// 100 ns ticks in a day.
pub const TICKS_PER_DAY: u64 = 86_400 * TICKS_PER_SECOND;
/// Ticks of 1/300 s in a day.
pub const DATETIME_TICKS_PER_DAY: u32 = 86_400 * 300;

/// date: days since 0001-01-01, 0..=3_652_058.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date {
    /// Days since 0001-01-01.
    pub days: i32,
}

/// time(n): 100 ns ticks since midnight, 0..864_000_000_000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time {
    /// 100 ns ticks since midnight.
    pub ticks: u64,
}

/// datetime: 1753-01-01..=9999-12-31 in steps of 1/300 s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTime {
    /// Days since 1900-01-01, negative before.
    pub days: i32,
    /// 1/300 s since midnight, 0..25_920_000.
    pub ticks: u32,
}

/// smalldatetime: 1900-01-01..=2079-06-06 in minutes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SmallDateTime {
    /// Days since 1900-01-01.
    pub days: u16,
    /// Minutes since midnight, 0..1440.
    pub minutes: u16,
}

/// datetime2(n): 100 ns ticks since 0001-01-01 00:00.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTime2 {
    /// 100 ns ticks since 0001-01-01 00:00.
    pub ticks: i64,
}

/// datetimeoffset(n): an instant with the offset it is shown in. `==` distinguishes offsets; SQL compares instants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DateTimeOffset {
    /// The instant in UTC.
    pub utc: DateTime2,
    /// Minutes east of Greenwich, -840..=840.
    pub offset_minutes: i16,
}

/// SET DATEFORMAT.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DateFormat {
    /// Month, day, year: us_english.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
    /// Year, day, month.
    Ydm,
    /// Month, year, day.
    Myd,
    /// Day, year, month.
    Dym,
}

impl DateFormat {
    /// The format of a name (`mdy`, in any case).
    pub fn by_name(name: &str) -> Option<DateFormat> {
        use DateFormat::*;
        let named = [("mdy", Mdy), ("dmy", Dmy), ("ymd", Ymd), ("ydm", Ydm), ("myd", Myd), ("dym", Dym)];
        named.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, format)| format)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            DateFormat::Mdy => "mdy",
            DateFormat::Dmy => "dmy",
            DateFormat::Ymd => "ymd",
            DateFormat::Ydm => "ydm",
            DateFormat::Myd => "myd",
            DateFormat::Dym => "dym",
        }
    }
}

/// The fields of any date or time. A type without a date has 1900-01-01, one without a time midnight, one without an offset 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Days since 0001-01-01, local.
    pub days: i32,
    /// 100 ns ticks since midnight, local.
    pub ticks: u64,
    /// Minutes east of Greenwich.
    pub offset_minutes: i16,
}

impl Moment {
    /// A moment of day and ticks, offset 0.
    pub fn new(days: i32, ticks: u64) -> Moment {
        Moment { days, ticks, offset_minutes: 0 }
    }

    /// Ticks since 0001-01-01, local.
    pub fn total_ticks(&self) -> i64 {
        i64::from(self.days) * TICKS_PER_DAY as i64 + self.ticks as i64
    }

    /// Ticks since 0001-01-01 in UTC.
    pub fn utc_ticks(&self) -> i64 {
        self.total_ticks() - i64::from(self.offset_minutes) * 60 * TICKS_PER_SECOND as i64
    }

    /// A moment of ticks since 0001-01-01; `None` outside years 1..=9999.
    pub fn from_ticks(ticks: i64) -> Option<Moment> {
        let days = ticks.div_euclid(TICKS_PER_DAY as i64);
        let in_day = ticks.rem_euclid(TICKS_PER_DAY as i64) as u64;
        (0..=i64::from(civil::DAYS_MAX)).contains(&days).then(|| Moment::new(days as i32, in_day))
    }

    /// Rounded to `scale` digits of a second, half up; at the very end of 9999 it is cut, so as to stay inside.
    pub fn rounded(&self, scale: u8) -> Moment {
        let ticks = round_ticks(self.ticks, scale);
        if ticks < TICKS_PER_DAY {
            return Moment { ticks, ..*self };
        }
        if self.days < civil::DAYS_MAX {
            return Moment { days: self.days + 1, ticks: ticks - TICKS_PER_DAY, ..*self };
        }
        Moment { ticks: cut_ticks(self.ticks, scale), ..*self }
    }

    /// As a datetime; `None` outside its range.
    pub fn to_datetime(self) -> Option<DateTime> {
        let ticks = (self.ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
        let carry = ticks / u64::from(DATETIME_TICKS_PER_DAY);
        let days = self.days + carry as i32;
        (civil::DAYS_TO_1753..=civil::DAYS_MAX).contains(&days).then(|| DateTime {
            days: days - civil::DAYS_TO_1900,
            ticks: (ticks % u64::from(DATETIME_TICKS_PER_DAY)) as u32,
        })
    }
}

/// Ticks rounded to `scale` digits of a second, half up; may reach a whole day.
pub fn round_ticks(ticks: u64, scale: u8) -> u64 {
    let unit = 10u64.pow(u32::from(7 - scale.min(7)));
    (ticks + unit / 2) / unit * unit
}

/// Ticks cut to `scale` digits of a second.
pub fn cut_ticks(ticks: u64, scale: u8) -> u64 {
    let unit = 10u64.pow(u32::from(7 - scale.min(7)));
    ticks - ticks % unit
}

impl Date {
    /// The day of the calendar.
    pub fn civil(self) -> civil::Civil {
        civil::from_days(self.days)
    }

    /// The date of a day; `None` when there is none.
    pub fn from_civil(year: i32, month: u32, day: u32) -> Option<Date> {
        civil::to_days(year, month, day).map(|days| Date { days })
    }
}

impl DateTime {
    /// Milliseconds in the day as they show: .000, .003, .007.
    pub fn milliseconds(self) -> u32 {
        ((u64::from(self.ticks) * 10 + 1) / 3) as u32
    }
}

impl DateTime2 {
    /// Its fields.
    pub fn moment(self) -> Moment {
        Moment::from_ticks(self.ticks).expect("a datetime2 lies in years 1..=9999")
    }
}

impl DateTimeOffset {
    /// The local time it shows, with its offset. At the edges of the calendar the local time may be out of range; it is then clamped to
    /// the edge.
    pub fn local(self) -> Moment {
        let ticks = self.utc.ticks + i64::from(self.offset_minutes) * 60 * TICKS_PER_SECOND as i64;
        let last = (i64::from(civil::DAYS_MAX) + 1) * TICKS_PER_DAY as i64 - 1;
        let moment = Moment::from_ticks(ticks.clamp(0, last)).expect("clamped into the calendar");
        Moment { offset_minutes: self.offset_minutes, ..moment }
    }
}

impl PartialOrd for DateTimeOffset {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By instant, then (so that it agrees with `==`) by offset.
impl Ord for DateTimeOffset {
    fn cmp(&self, other: &Self) -> Ordering {
        self.utc.cmp(&other.utc).then(self.offset_minutes.cmp(&other.offset_minutes))
    }
}
