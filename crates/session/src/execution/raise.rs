//! PRINT, RAISERROR, THROW, WAITFOR: messages that a batch sends, and its waits.

use os::{WaitType, task};
use query::SessionState;
use types::{SqlError, Value};

use crate::batch::cell::Cell;
use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, RaisErrorCells};
use crate::errors::Origin;
use crate::interruption::{Failure, Interruption, Stop};
use crate::session::Session;
use crate::sink::ResultSink;
use crate::values::{to_int, to_text};

/// PRINT sends at most so many characters of nvarchar (8,000 of varchar).
const PRINT_CHARACTERS_MAX: usize = 4000;
const PRINT_BYTES_MAX: usize = 8000;
/// Lowest number of a system message that RAISERROR accepts.
const SYSTEM_ERROR_MIN: i32 = 13000;
/// User messages begin here.
const USER_ERROR_MIN: i32 = 50000;

impl Session {
    pub(crate) fn print(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let value = self.value(frame, instruction, cell)?;
        let limit = if matches!(value, Value::NChar(_)) { PRINT_CHARACTERS_MAX } else { PRINT_BYTES_MAX };
        let text: String = to_text(&value).unwrap_or_else(|| " ".into()).chars().take(limit).collect();
        let mut message = SqlError::custom(0, 0, 1, text).at_line(instruction.line);
        message.procedure = frame.procedure.as_deref().map(str::to_string);
        sink.message(&message);
        self.state.row_count = 0;
        self.tell_end(frame, instruction, sink);
        Ok(())
    }

    pub(crate) fn raise_error(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        raise: &RaisErrorCells,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let message = self.value(frame, instruction, raise.message)?;
        let severity_given = self.optional_int(frame, instruction, raise.severity)?.unwrap_or(16);
        let state = self.optional_int(frame, instruction, raise.state)?.unwrap_or(1);
        let mut arguments = Vec::with_capacity(raise.arguments.len());
        for cell in &raise.arguments {
            arguments.push(self.value(frame, instruction, *cell)?);
        }
        check_substitutes(&arguments)?;
        let (number, own_severity, is_logged, template) = match &message {
            Value::Int(number) => self.message_of(*number, severity_given, state)?,
            other => (USER_ERROR_MIN, 16, false, to_text(other).unwrap_or_default()),
        };
        // A negative severity asks for the message's own.
        let severity = if severity_given < 0 { own_severity } else { severity_given.min(25) };
        if severity > 18 && !raise.log {
            return Err(SqlError::new(2754, &[&18]).into());
        }
        let text = types::substitute(&template, &arguments)?;
        let state = if state < 0 { 1 } else { u8::try_from(state.min(255)).unwrap_or(1) };
        let severity = u8::try_from(severity).unwrap_or(16);
        let error = SqlError::custom(number, severity, state, text).at_line(instruction.line);
        if raise.log || is_logged {
            os::report::info("raiserror", &format!("{error}"));
        }
        if severity <= 10 {
            sink.message(&error);
            if raise.no_wait {
                sink.flush();
            }
            self.state.last_error = if raise.set_error { number } else { 0 };
            self.state.row_count = 0;
            self.tell_end(frame, instruction, sink);
            return Ok(());
        }
        Err(Interruption::Failed(Failure { error, origin: Origin::RaisError }))
    }

    /// A message by number, user-defined or system: number, severity, whether it is logged, text. Errors 2732, 18054.
    fn message_of(
        &self,
        number: i32,
        severity: i32,
        state: i32,
    ) -> Result<(i32, i32, bool, String), SqlError> {
        if number < SYSTEM_ERROR_MIN || number == USER_ERROR_MIN {
            return Err(SqlError::new(2732, &[&number, &SYSTEM_ERROR_MIN, &i32::MAX]));
        }
        if let Some(own) =
            engine::Lookup::new(&self.transactions).user_message(&self.instance.master(), number)?
        {
            return Ok((number, i32::from(own.severity), own.is_logged, own.text.to_string()));
        }
        match types::messages::lookup(number) {
            Some(known) => Ok((number, i32::from(known.severity), false, known.text.to_string())),
            None => Err(SqlError::new(18054, &[&number, &severity, &state])),
        }
    }

    fn optional_int(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Option<Cell>,
    ) -> Result<Option<i32>, Interruption> {
        let Some(cell) = cell else { return Ok(None) };
        let value = self.value(frame, instruction, cell)?;
        Ok(to_int(&value)?)
    }

    pub(crate) fn throw(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        parts: Option<&[Cell; 3]>,
    ) -> Result<(), Interruption> {
        let error = match parts {
            None => match self.state.caught_error().cloned() {
                Some(error) => error,
                None => return Err(SqlError::new(10704, &[]).into()),
            },
            Some([number, message, state]) => {
                let number = to_int(&self.value(frame, instruction, *number)?)?.unwrap_or(0);
                let message = to_text(&self.value(frame, instruction, *message)?).unwrap_or_default();
                let state = to_int(&self.value(frame, instruction, *state)?)?.unwrap_or(1);
                if number < USER_ERROR_MIN {
                    return Err(SqlError::new(35100, &[&number]).into());
                }
                let state = u8::try_from(state.clamp(0, 255)).unwrap_or(1);
                SqlError::custom(number, 16, state, message).at_line(instruction.line)
            }
        };
        Err(Interruption::Failed(Failure { error, origin: Origin::Throw }))
    }

    /// WAITFOR DELAY and TIME; an attention ends it early.
    pub(crate) fn wait_for(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
        until_time: bool,
    ) -> Result<(), Interruption> {
        let value = self.value(frame, instruction, cell)?;
        let asked_ms = delay_ms(&value)?;
        let wait_ms =
            if until_time { until_ms(asked_ms, self.instance.os().clock().utc_100ns()) } else { asked_ms };
        match self.instance.os().sleep(wait_ms * 1_000_000, WaitType::WAITFOR) {
            Ok(()) => Ok(()),
            Err(_) => {
                assert!(task::current().is_interrupted(), "only an interrupt ends a sleep early");
                Err(Stop::Attention.into())
            }
        }
    }
}

/// Checks the substitution values of RAISERROR: integers, texts and binaries; 2748 for other types, with the position counted from the message on.
fn check_substitutes(arguments: &[Value]) -> Result<(), SqlError> {
    const BEFORE: usize = 4;
    let is_refused = |value: &Value| {
        let is_taken = matches!(
            value,
            Value::Null
                | Value::TinyInt(_)
                | Value::SmallInt(_)
                | Value::Int(_)
                | Value::BigInt(_)
                | Value::Char(_)
                | Value::NChar(_)
                | Value::Binary(_)
        );
        !is_taken
    };
    match arguments.iter().position(is_refused) {
        Some(at) => {
            let name = match &arguments[at] {
                // A literal's type has this name, and a decimal is one.
                Value::Decimal(_) => "numeric",
                other => other.natural_type().name(),
            };
            Err(SqlError::new(2748, &[&name, &(at + BEFORE)]))
        }
        None => Ok(()),
    }
}

/// Milliseconds from now until the next occurrence of the time of day `asked_ms`.
fn until_ms(asked_ms: u64, now_100ns: i64) -> u64 {
    const DAY_MS: u64 = 86_400_000;
    let now_ms = now_100ns.unsigned_abs() / 10_000 % DAY_MS;
    (asked_ms + DAY_MS - now_ms) % DAY_MS
}

/// The requested time of day, from a datetime or a text. Errors 148, and 9815 for the types that came after datetime.
fn delay_ms(value: &Value) -> Result<u64, SqlError> {
    let refused = |name: &str| Err(SqlError::new(9815, &[&name]).with_state(0));
    match value {
        Value::DateTime(moment) => Ok(u64::from(moment.ticks) * 10 / 3),
        Value::SmallDateTime(moment) => Ok(u64::from(moment.minutes) * 60_000),
        Value::Time(_) => refused("time"),
        Value::Date(_) => refused("date"),
        Value::DateTime2(_) => refused("datetime2"),
        Value::DateTimeOffset(_) => refused("datetimeoffset"),
        Value::Variant(variant) => delay_ms(&variant.value),
        _ => {
            let text = to_text(value).unwrap_or_default();
            parse_delay_ms(&text).ok_or_else(|| SqlError::new(148, &[&text]))
        }
    }
}

/// `hh:mm[:ss[.mmm]]`, at most 24 hours; milliseconds.
fn parse_delay_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let time = text.rsplit(' ').next().unwrap_or(text);
    let mut parts = time.split(':');
    let hours: u64 = parts.next()?.parse().ok()?;
    let minutes: u64 = parts.next()?.parse().ok()?;
    let (seconds, fraction) = match parts.next() {
        None => ("0", ""),
        Some(rest) => rest.split_once('.').unwrap_or((rest, "")),
    };
    let seconds: u64 = seconds.parse().ok()?;
    let fraction_ms: u64 = match fraction.len() {
        0 => 0,
        1..=3 => format!("{fraction:0<3}").parse().ok()?,
        _ => fraction.get(..3)?.parse().ok()?,
    };
    let valid = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    valid.then_some(((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datetime_asks_for_its_time_of_day() {
        let at = |days, ticks| delay_ms(&Value::DateTime(types::datetime::DateTime { days, ticks }));
        assert_eq!(at(0, 60), Ok(200));
        assert_eq!(at(43_000, 300 * 86_400 - 1), Ok(86_399_996));
        let minutes = Value::SmallDateTime(types::datetime::SmallDateTime { days: 5, minutes: 90 });
        assert_eq!(delay_ms(&minutes), Ok(5_400_000));
        assert_eq!(delay_ms(&Value::Null).map_err(|error| error.number), Err(148));
    }

    #[test]
    fn delays_are_read_as_documented() {
        assert_eq!(parse_delay_ms("00:00:05"), Some(5_000));
        assert_eq!(parse_delay_ms("0:0:0.25"), Some(250));
        assert_eq!(parse_delay_ms("01:30"), Some(5_400_000));
        assert_eq!(parse_delay_ms("24:00:00"), None);
        assert_eq!(parse_delay_ms("x"), None);
    }
}
