//! Dates and times by standard and custom formats.

use crate::datetime::{Moment, TICKS_PER_SECOND, civil};
use crate::functions::Culture;

pub(super) fn format_moment(
    moment: &Moment,
    offset: Option<i16>,
    format: &str,
    culture: &Culture,
) -> Option<String> {
    let [short_date, long_date, short_time, long_time, month_day, year_month] = culture.patterns;
    let join = |date: &str, time: &str| format!("{date} {time}");
    let pattern = match format {
        "" | "G" => join(short_date, long_time),
        "d" => short_date.to_owned(),
        "D" => long_date.to_owned(),
        "f" => join(long_date, short_time),
        "F" => join(long_date, long_time),
        "g" => join(short_date, short_time),
        "m" | "M" => month_day.to_owned(),
        "y" | "Y" => year_month.to_owned(),
        "t" => short_time.to_owned(),
        "T" => long_time.to_owned(),
        "o" | "O" if offset.is_some() => "yyyy-MM-ddTHH:mm:ss.fffffffzzz".to_owned(),
        "o" | "O" => "yyyy-MM-ddTHH:mm:ss.fffffff".to_owned(),
        "r" | "R" => {
            let english = Culture::invariant();
            return Some(custom(moment, offset, "ddd, dd MMM yyyy HH:mm:ss 'GMT'", english));
        }
        "s" => "yyyy-MM-ddTHH:mm:ss".to_owned(),
        "u" => "yyyy-MM-dd HH:mm:ss'Z'".to_owned(),
        "U" => join(long_date, long_time),
        other if other.chars().count() == 1 => return None,
        other => other.to_owned(),
    };
    Some(custom(moment, offset, &pattern, culture))
}

/// time values are spans in .NET: `hh\:mm\:ss`, separators escaped; `c`, `g` and `G` are the standard forms.
pub(super) fn format_time(ticks: u64, format: &str) -> Option<String> {
    let fraction = if ticks.is_multiple_of(TICKS_PER_SECOND) { "" } else { "\\.fffffff" };
    let pattern = match format {
        "" | "c" | "t" | "T" => format!("hh\\:mm\\:ss{fraction}"),
        "g" => format!("h\\:mm\\:ss{fraction}"),
        "G" => "0\\:hh\\:mm\\:ss\\.fffffff".to_owned(),
        other => other.to_owned(),
    };
    // A colon or point that is not escaped is an error there, and FORMAT gives NULL.
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    let seconds = ticks / TICKS_PER_SECOND;
    while let Some(c) = chars.next() {
        let mut run = 1;
        while chars.peek() == Some(&c) && "hmsf".contains(c) {
            chars.next();
            run += 1;
        }
        match c {
            'h' => out.push_str(&format!("{:0run$}", seconds / 3600)),
            'm' => out.push_str(&format!("{:0run$}", seconds / 60 % 60)),
            's' => out.push_str(&format!("{:0run$}", seconds % 60)),
            'f' if run <= 7 => out.push_str(&fraction_text(ticks)[..run]),
            '\\' => out.extend(chars.next()),
            '\'' | '"' => out.extend(chars.by_ref().take_while(|next| *next != c)),
            '0'..='9' => out.push(c),
            _ => return None,
        }
    }
    Some(out)
}

fn fraction_text(ticks: u64) -> String {
    format!("{:07}", ticks % TICKS_PER_SECOND)
}

fn custom(moment: &Moment, offset: Option<i16>, pattern: &str, culture: &Culture) -> String {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let mut run = 1;
        while c.is_ascii_alphabetic() && chars.peek() == Some(&c) {
            chars.next();
            run += 1;
        }
        match c {
            '\\' => out.extend(chars.next()),
            '\'' | '"' => out.extend(chars.by_ref().take_while(|next| *next != c)),
            '%' => {}
            _ => push_part(&mut out, c, run, moment, offset, culture),
        }
    }
    out
}

fn push_part(
    out: &mut String,
    letter: char,
    run: usize,
    moment: &Moment,
    offset: Option<i16>,
    culture: &Culture,
) {
    let date = civil::from_days(moment.days);
    let seconds = moment.ticks / TICKS_PER_SECOND;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let month = date.month as usize - 1;
    let weekday = civil::weekday(moment.days) as usize;
    let two = run.min(2);
    let piece = match (letter, run) {
        ('y', 1 | 2) => format!("{:0run$}", date.year % 100),
        ('y', _) => format!("{:0run$}", date.year),
        ('M', 1 | 2) => format!("{:0two$}", date.month),
        ('M', 3) => culture.short_months[month].to_owned(),
        ('M', _) => culture.months[month].to_owned(),
        ('d', 1 | 2) => format!("{:0two$}", date.day),
        ('d', 3) => culture.short_weekdays[weekday].to_owned(),
        ('d', _) => culture.weekdays[weekday].to_owned(),
        ('H', _) => format!("{hour:0two$}"),
        ('h', _) => format!("{:0two$}", if hour.is_multiple_of(12) { 12 } else { hour % 12 }),
        ('m', _) => format!("{minute:0two$}"),
        ('s', _) => format!("{second:0two$}"),
        ('f', 1..=7) => fraction_text(moment.ticks)[..run].to_owned(),
        ('F', 1..=7) => {
            let text = fraction_text(moment.ticks)[..run].trim_end_matches('0').to_owned();
            if text.is_empty() && out.ends_with('.') {
                out.pop();
            }
            text
        }
        ('t', 1) => culture.halves[usize::from(hour >= 12)].chars().take(1).collect(),
        ('t', _) => culture.halves[usize::from(hour >= 12)].to_owned(),
        ('z' | 'K', _) => offset_part(letter, run, offset),
        ('g', _) => "A.D.".to_owned(),
        (other, _) => std::iter::repeat_n(other, run).collect(),
    };
    out.push_str(&piece);
}

fn offset_part(letter: char, run: usize, offset: Option<i16>) -> String {
    if letter == 'K' && offset.is_none() {
        return String::new();
    }
    let minutes = offset.unwrap_or(0);
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
    match (letter, run) {
        ('z', 1) => format!("{sign}{hours}"),
        ('z', 2) => format!("{sign}{hours:02}"),
        _ => format!("{sign}{hours:02}:{rest:02}"),
    }
}
