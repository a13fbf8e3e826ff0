//! Dates and times as text: the styles of CONVERT.

use crate::datetime::{Moment, TICKS_PER_SECOND, civil, hijri};
use crate::styles::DEFAULT_STYLE;
use crate::{SqlType, Value};

/// The style of CAST and of CONVERT without one: 0 for datetime and smalldatetime, 121 for the newer types.
pub fn default_style(from: &SqlType) -> i32 {
    if matches!(from, SqlType::DateTime | SqlType::SmallDateTime) { 0 } else { 121 }
}

/// `value` of type `from` as text. `None`: the style is not known, or shows no part of the type.
pub fn to_text(value: &Value, from: &SqlType, style: i32) -> Option<String> {
    let style = if style == DEFAULT_STYLE { default_style(from) } else { style };
    let mut moment = Moment::of(value)?;
    if style == 127 && matches!(value, Value::DateTimeOffset(_)) {
        moment = Moment::from_ticks(moment.utc_ticks())?;
    }
    let clock = Clock::new(value, from, &moment);
    let date = || date_text(moment.days, style);
    let with_offset = |text: String, gap: &str| match value {
        Value::DateTimeOffset(_) => format!("{text}{gap}{}", offset_text(moment.offset_minutes)),
        _ => text,
    };
    match from {
        SqlType::Date => match style {
            8 | 14 | 24 | 108 | 114 => None,
            _ => date(),
        },
        SqlType::Time(_) => clock.text(style, true),
        _ => {
            let Some(date) = date() else {
                let text = clock.text(style, false)?;
                return Some(with_offset(text, " "));
            };
            match clock.text(style, false) {
                None => Some(date),
                Some(time) => Some(match style {
                    126 => with_offset(format!("{date}T{time}"), ""),
                    127 => {
                        let zulu = if matches!(value, Value::DateTimeOffset(_)) { "Z" } else { "" };
                        format!("{date}T{time}{zulu}")
                    }
                    _ => with_offset(format!("{date} {time}"), " "),
                }),
            }
        }
    }
}

/// `+hh:mm`.
pub fn offset_text(minutes: i16) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60)
}

/// The date half of a style; `None` when it shows only a time (or is unknown).
fn date_text(days: i32, style: i32) -> Option<String> {
    let civil::Civil { year, month, day } = civil::from_days(days);
    let short = year % 100;
    let name = &civil::MONTHS[month as usize - 1][..3];
    Some(match style {
        0 | 9 | 100 | 109 => format!("{name} {day:2} {year:04}"),
        1 | 22 => format!("{month:02}/{day:02}/{short:02}"),
        2 => format!("{short:02}.{month:02}.{day:02}"),
        3 => format!("{day:02}/{month:02}/{short:02}"),
        4 => format!("{day:02}.{month:02}.{short:02}"),
        5 => format!("{day:02}-{month:02}-{short:02}"),
        6 => format!("{day:02} {name} {short:02}"),
        7 => format!("{name} {day:02}, {short:02}"),
        10 => format!("{month:02}-{day:02}-{short:02}"),
        11 => format!("{short:02}/{month:02}/{day:02}"),
        12 => format!("{short:02}{month:02}{day:02}"),
        13 | 106 | 113 => format!("{day:02} {name} {year:04}"),
        20 | 21 | 23 | 25 | 120 | 121 | 126 | 127 => format!("{year:04}-{month:02}-{day:02}"),
        101 => format!("{month:02}/{day:02}/{year:04}"),
        102 => format!("{year:04}.{month:02}.{day:02}"),
        103 => format!("{day:02}/{month:02}/{year:04}"),
        104 => format!("{day:02}.{month:02}.{year:04}"),
        105 => format!("{day:02}-{month:02}-{year:04}"),
        107 => format!("{name} {day:02}, {year:04}"),
        110 => format!("{month:02}-{day:02}-{year:04}"),
        111 => format!("{year:04}/{month:02}/{day:02}"),
        112 => format!("{year:04}{month:02}{day:02}"),
        130 => {
            let (year, month, day) = hijri::from_days(days);
            format!("{day:2} {} {year:04}", HIJRI_MONTHS[month as usize - 1])
        }
        131 => {
            let (year, month, day) = hijri::from_days(days);
            format!("{day:2}/{month:02}/{year:04}")
        }
        _ => return None,
    })
}

const HIJRI_MONTHS: [&str; 12] = [
    "محرم",
    "صفر",
    "ربيع الاول",
    "ربيع الثاني",
    "جمادى الاولى",
    "جمادى الثانية",
    "رجب",
    "شعبان",
    "رمضان",
    "شوال",
    "ذو القعدة",
    "ذو الحجة",
];

/// The time half.
struct Clock {
    hour: u64,
    minute: u64,
    second: u64,
    /// Digits after the seconds, as the type shows them.
    fraction: String,
    /// datetime and smalldatetime write `:mmm` in the old styles.
    is_old: bool,
    has_fraction: bool,
}

impl Clock {
    fn new(value: &Value, from: &SqlType, moment: &Moment) -> Clock {
        let seconds = moment.ticks / TICKS_PER_SECOND;
        let fraction = match (value, from) {
            (Value::DateTime(datetime), _) => format!("{:03}", datetime.milliseconds() % 1000),
            (Value::SmallDateTime(_), _) => "000".to_owned(),
            (_, SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale)) => {
                let digits = format!("{:07}", moment.ticks % TICKS_PER_SECOND);
                digits[..usize::from((*scale).min(7))].to_owned()
            }
            _ => String::new(),
        };
        let has_fraction = fraction.bytes().any(|digit| digit != b'0');
        Clock {
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction,
            is_old: matches!(from, SqlType::DateTime | SqlType::SmallDateTime),
            has_fraction,
        }
    }

    /// The time of a style; `None` when the style shows no time.
    fn text(&self, style: i32, alone: bool) -> Option<String> {
        let &Clock { hour, minute, second, .. } = self;
        let hour12 = if hour.is_multiple_of(12) { 12 } else { hour % 12 };
        let half = if hour < 12 { "AM" } else { "PM" };
        let seconds = format!("{hour:02}:{minute:02}:{second:02}");
        let point = |separator: &str| match self.fraction.as_str() {
            "" => String::new(),
            digits => format!("{separator}{digits}"),
        };
        let old_separator = if self.is_old { ":" } else { "." };
        Some(match style {
            0 | 100 if alone => format!("{hour12}:{minute:02}{half}"),
            0 | 100 => format!("{hour12:2}:{minute:02}{half}"),
            8 | 20 | 24 | 108 | 120 => seconds,
            9 | 109 | 130 | 131 => {
                format!("{hour12:2}:{minute:02}:{second:02}{}{half}", point(old_separator))
            }
            13 | 14 | 113 | 114 => seconds + &point(old_separator),
            21 | 25 | 121 => seconds + &point("."),
            22 => format!("{hour12:2}:{minute:02}:{second:02} {half}"),
            // ISO 8601: a datetime without milliseconds shows none.
            126 | 127 if self.is_old && !self.has_fraction => seconds,
            126 | 127 => seconds + &point("."),
            _ => return None,
        })
    }
}
