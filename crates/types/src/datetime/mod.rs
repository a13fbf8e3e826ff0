//! Dates and times: civil arithmetic over 0001-01-01..=9999-12-31, text forms, and the kernels of the date functions.

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

/// datetimeoffset(n): an instant with the offset it is shown in. Two with one instant are equal whatever their offsets.
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

/// The date parts of DATEADD, DATEDIFF, DATEPART, DATENAME, DATETRUNC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DatePart {
    /// year, yy, yyyy
    Year,
    /// quarter, qq, q
    Quarter,
    /// month, mm, m
    Month,
    /// dayofyear, dy, y
    DayOfYear,
    /// day, dd, d
    Day,
    /// week, wk, ww
    Week,
    /// weekday, dw, w
    WeekDay,
    /// hour, hh
    Hour,
    /// minute, mi, n
    Minute,
    /// second, ss, s
    Second,
    /// millisecond, ms
    Millisecond,
    /// microsecond, mcs
    Microsecond,
    /// nanosecond, ns
    Nanosecond,
    /// tzoffset, tz
    TzOffset,
    /// iso_week, isowk, isoww
    IsoWeek,
}
