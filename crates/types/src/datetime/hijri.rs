//! The tabular Islamic calendar (30-year cycle, civil epoch) for CONVERT styles 130 and 131.
//!
//! SQL Server shows dates by the Kuwaiti algorithm, which is this calendar with leap years 2, 5, 7, 10, 13, 15, 18, 21, 24, 26, 29.

/// Days from 0001-01-01 to the first day of the calendar, 16 July 622 in the Julian calendar (19 July Gregorian).
const EPOCH: i32 = 227_014;

/// Year, month 1..=12, day of a count of days since 0001-01-01. Dates before the calendar give year 0 or less.
pub fn from_days(days: i32) -> (i32, u32, u32) {
    let since = days - EPOCH;
    let year = (30 * since + 10_646).div_euclid(10_631);
    let in_year = since - year_start(year);
    let month = ((11 * in_year + 330) / 325).clamp(1, 12);
    let day = in_year - month_start(month) + 1;
    (year, month as u32, day as u32)
}

/// Days since 0001-01-01 of a day of this calendar; `None` when there is none.
pub fn to_days(year: i32, month: u32, day: u32) -> Option<i32> {
    let valid = (1..=9666).contains(&year) && (1..=12).contains(&month) && (1..=30).contains(&day);
    let days = EPOCH + year_start(year) + month_start(month as i32) + day as i32 - 1;
    (valid && from_days(days) == (year, month, day)).then_some(days)
}

/// Days of the whole years before.
fn year_start(year: i32) -> i32 {
    (year - 1) * 354 + (3 + 11 * year).div_euclid(30)
}

/// Days of the months before: 30 and 29 in turn.
fn month_start(month: i32) -> i32 {
    (29 * (month - 1)) + month / 2
}
