//! Dates and times on the wire, with the range checks that hostile bytes need.

use types::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time, Value};

use crate::error::ProtocolError;

const TICKS_PER_DAY: u64 = 864_000_000_000;
/// 9999-12-31 as days since 0001-01-01.
const LAST_DAY: i32 = 3_652_058;
/// datetime's range as days since 1900-01-01: 1753-01-01 to 9999-12-31.
const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
const DATETIME_TICKS_PER_DAY: u32 = 300 * 86_400;
const OFFSET_MINUTES: std::ops::RangeInclusive<i16> = -840..=840;

/// Bytes of a time of this scale.
pub(crate) fn time_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// 100 ns ticks in one unit of this scale.
fn unit_ticks(scale: u8) -> u64 {
    10u64.pow(7 - u32::from(scale.min(7)))
}

fn put_ticks(out: &mut Vec<u8>, ticks: u64, scale: u8) {
    let units = ticks / unit_ticks(scale);
    out.extend_from_slice(&units.to_le_bytes()[..usize::from(time_bytes(scale))]);
}

pub(crate) fn put_time(out: &mut Vec<u8>, time: Time, scale: u8) {
    put_ticks(out, time.ticks, scale);
}

pub(crate) fn date_bytes(date: Date) -> [u8; 3] {
    let [a, b, c, _] = date.days.to_le_bytes();
    [a, b, c]
}

pub(crate) fn put_datetime2(out: &mut Vec<u8>, datetime: DateTime2, scale: u8) {
    let ticks = datetime.ticks.max(0) as u64;
    put_ticks(out, ticks % TICKS_PER_DAY, scale);
    out.extend_from_slice(&date_bytes(Date { days: (ticks / TICKS_PER_DAY) as i32 }));
}

pub(crate) fn put_datetimeoffset(out: &mut Vec<u8>, datetime: DateTimeOffset, scale: u8) {
    put_datetime2(out, datetime.utc, scale);
    out.extend_from_slice(&datetime.offset_minutes.to_le_bytes());
}

pub(crate) fn datetime_bytes(datetime: DateTime) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (datetime.days.to_le_bytes(), datetime.ticks.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

pub(crate) fn smalldatetime_bytes(datetime: SmallDateTime) -> [u8; 4] {
    let ([a, b], [c, d]) = (datetime.days.to_le_bytes(), datetime.minutes.to_le_bytes());
    [a, b, c, d]
}

pub(crate) fn date_from(bytes: [u8; 3]) -> Result<Date, ProtocolError> {
    let days = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
    if days > LAST_DAY {
        return Err(ProtocolError::invalid("date", days as u32));
    }
    Ok(Date { days })
}

fn ticks_from(bytes: &[u8], scale: u8) -> Result<u64, ProtocolError> {
    if bytes.len() != usize::from(time_bytes(scale)) {
        return Err(ProtocolError::invalid("length of a time", bytes.len() as u64));
    }
    let mut units = [0; 8];
    units[..bytes.len()].copy_from_slice(bytes);
    let ticks =
        u64::from_le_bytes(units).checked_mul(unit_ticks(scale)).filter(|ticks| *ticks < TICKS_PER_DAY);
    ticks.ok_or_else(|| ProtocolError::invalid("time", u64::from_le_bytes(units)))
}

pub(crate) fn time_from(bytes: &[u8], scale: u8) -> Result<Value, ProtocolError> {
    Ok(Value::Time(Time { ticks: ticks_from(bytes, scale)? }))
}

fn datetime2_part(bytes: &[u8], scale: u8) -> Result<DateTime2, ProtocolError> {
    let (time, date) = bytes.split_last_chunk::<3>().ok_or(ProtocolError::Truncated { part: "datetime2" })?;
    let days = date_from(*date)?.days as u64;
    Ok(DateTime2 { ticks: (days * TICKS_PER_DAY + ticks_from(time, scale)?) as i64 })
}

pub(crate) fn datetime2_from(bytes: &[u8], scale: u8) -> Result<Value, ProtocolError> {
    Ok(Value::DateTime2(datetime2_part(bytes, scale)?))
}

pub(crate) fn datetimeoffset_from(bytes: &[u8], scale: u8) -> Result<Value, ProtocolError> {
    let (utc, offset) =
        bytes.split_last_chunk::<2>().ok_or(ProtocolError::Truncated { part: "datetimeoffset" })?;
    let offset_minutes = i16::from_le_bytes(*offset);
    if !OFFSET_MINUTES.contains(&offset_minutes) {
        return Err(ProtocolError::invalid("offset of a datetimeoffset", offset_minutes as u16));
    }
    Ok(Value::DateTimeOffset(DateTimeOffset { utc: datetime2_part(utc, scale)?, offset_minutes }))
}

pub(crate) fn datetime_from(bytes: [u8; 8]) -> Result<Value, ProtocolError> {
    let days = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let ticks = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    if !DATETIME_DAYS.contains(&days) || ticks >= DATETIME_TICKS_PER_DAY {
        return Err(ProtocolError::invalid("datetime", u64::from_le_bytes(bytes)));
    }
    Ok(Value::DateTime(DateTime { days, ticks }))
}

pub(crate) fn smalldatetime_from(bytes: [u8; 4]) -> Result<Value, ProtocolError> {
    let days = u16::from_le_bytes([bytes[0], bytes[1]]);
    let minutes = u16::from_le_bytes([bytes[2], bytes[3]]);
    if minutes >= 1440 {
        return Err(ProtocolError::invalid("smalldatetime", minutes));
    }
    Ok(Value::SmallDateTime(SmallDateTime { days, minutes }))
}
