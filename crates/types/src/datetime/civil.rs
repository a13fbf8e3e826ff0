//! The calendar: proleptic Gregorian, days counted from 0001-01-01 (a Monday).

/// Days from 0001-01-01 to 1900-01-01, the base of datetime.
pub const DAYS_TO_1900: i32 = 693_595;
/// Days from 0001-01-01 to 1753-01-01, the first datetime.
pub const DAYS_TO_1753: i32 = 639_905;
/// The last day, 9999-12-31.
pub const DAYS_MAX: i32 = 3_652_058;

/// A day of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Civil {
    /// 1..=9999
    pub year: i32,
    /// 1..=12
    pub month: u32,
    /// 1..=31
    pub day: u32,
}

/// Is it a leap year?
pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The length of a month, 28..=31.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the month in its year.
pub fn days_before_month(year: i32, month: u32) -> i32 {
    const BEFORE: [i32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    BEFORE[month as usize - 1] + i32::from(month > 2 && is_leap(year))
}

/// Days since 0001-01-01 of a day; `None` when there is no such day in years 1..=9999.
pub fn to_days(year: i32, month: u32, day: u32) -> Option<i32> {
    let valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && day >= 1
        && day <= days_in_month(year, month);
    valid.then(|| {
        let before = year - 1;
        before * 365 + before / 4 - before / 100 + before / 400 + days_before_month(year, month) + day as i32
            - 1
    })
}

/// The day of the calendar of a count in 0..=[`DAYS_MAX`].
pub fn from_days(days: i32) -> Civil {
    debug_assert!((0..=DAYS_MAX).contains(&days), "a date outside years 1..=9999");
    // Eras of 400 years beginning on a 1 March (Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 306;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_era + era * 400 + i32::from(month <= 2);
    Civil { year, month, day }
}

/// 0 = Monday ..= 6 = Sunday.
pub fn weekday(days: i32) -> u32 {
    days.rem_euclid(7) as u32
}

/// English month names.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// English weekday names from Monday.
pub const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
