//! The server's own log lines (its ERRORLOG): time, level, source, message, as text or as one JSON object a line.
//!
//! They go to standard error. They must not contain secrets.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use crate::clock::{Clock, RealClock, TICKS_PER_SECOND, UNIX_EPOCH_TICKS};

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `2026-11-21 08:30:00.123 source   message`.
    Text,
    /// `{"time":"...","level":"info","source":"...","message":"..."}`.
    Json,
}

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Normal operation.
    Info,
    /// An administrator should check it.
    Warn,
    /// Something failed.
    Error,
}

/// The form of the lines; held while a line is written, so that lines do not interleave.
static FORMAT: Mutex<Format> = Mutex::new(Format::Text);

/// Chooses the form of the lines.
pub fn set_format(format: Format) {
    *FORMAT.lock().unwrap_or_else(PoisonError::into_inner) = format;
}

/// A line about normal operation. `source` is a database, a session (`spid57`) or a component.
pub fn info(source: &str, message: &str) {
    line(Level::Info, source, message);
}

/// A line that an administrator should check.
pub fn warn(source: &str, message: &str) {
    line(Level::Warn, source, message);
}

/// A line on a failure.
pub fn error(source: &str, message: &str) {
    line(Level::Error, source, message);
}

fn line(level: Level, source: &str, message: &str) {
    if crate::seat::swallow_report(|| format!("{level:?} {source}: {message}")) {
        return;
    }
    let format = FORMAT.lock().unwrap_or_else(PoisonError::into_inner);
    let text = render(*format, RealClock.utc_100ns(), level, source, message);
    // A log that cannot be written must not stop the server.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

pub(crate) fn render(format: Format, utc_100ns: i64, level: Level, source: &str, message: &str) -> String {
    let time = timestamp(utc_100ns);
    match format {
        Format::Text => {
            let mark = match level {
                Level::Info => "",
                Level::Warn => "Warning: ",
                Level::Error => "Error: ",
            };
            format!("{time} {source:<12}{mark}{}\n", message.replace('\n', " "))
        }
        Format::Json => {
            let level = match level {
                Level::Info => "info",
                Level::Warn => "warn",
                Level::Error => "error",
            };
            let (source, message) = (json_text(source), json_text(message));
            format!(
                "{{\"time\":\"{time}Z\",\"level\":\"{level}\",\"source\":{source},\"message\":{message}}}\n"
            )
        }
    }
}

/// `2026-11-21 08:30:00.123` of UTC ticks since year 1.
fn timestamp(utc_100ns: i64) -> String {
    let seconds = (utc_100ns - UNIX_EPOCH_TICKS).div_euclid(TICKS_PER_SECOND);
    let millisecond = utc_100ns.rem_euclid(TICKS_PER_SECOND) / 10_000;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millisecond:03}")
}

/// Year, month and day of a day count since 1970-01-01, over 400-year cycles that begin on 1 March.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let cycle = shifted.div_euclid(146_097);
    let day_of_cycle = shifted.rem_euclid(146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (cycle * 400 + year_of_cycle + i64::from(month <= 2), month, day)
}

fn json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_both_forms() {
        let ticks = UNIX_EPOCH_TICKS + 951_782_400 * TICKS_PER_SECOND + 1_234_567;
        let text = render(Format::Text, ticks, Level::Warn, "spid51", "disk\nslow");
        assert_eq!(text, "2000-02-29 00:00:00.123 spid51      Warning: disk slow\n");
        let json = render(Format::Json, ticks, Level::Error, "a\"b", "x\ny\u{1}");
        let expected = "{\"time\":\"2000-02-29 00:00:00.123Z\",\"level\":\"error\",\"source\":\"a\\\"b\",\
                        \"message\":\"x\\ny\\u0001\"}\n";
        assert_eq!(json, expected);
    }
}
