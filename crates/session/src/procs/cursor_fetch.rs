//! sp_cursorfetch, sp_cursoroption and sp_cursorclose.

use types::{SqlError, SqlResult, SqlType, Value};

use super::arguments::int_at;
use super::cursor_open::rows_of;
use super::cursor_options::{FAST_FORWARD, FORWARD_ONLY, ROWS_DEFAULT};
use crate::batch::call::{Argument, CallResult};
use crate::cursors::Cursor;
use crate::fetch_buffer::{BufferFetch, Place, Wanted};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::values;

const FIRST: i32 = 0x01;
const NEXT: i32 = 0x02;
const PREV: i32 = 0x04;
const LAST: i32 = 0x08;
const ABSOLUTE: i32 = 0x10;
const RELATIVE: i32 = 0x20;
const REFRESH: i32 = 0x80;
const INFO: i32 = 0x100;
const PREV_NOADJUST: i32 = 0x200;
/// Versions of rows are no part of the keyset here: nothing is to be skipped.
const SKIP_UPDT_CNCY: i32 = 0x400;

/// The status of a fetch that begins with the first row instead of before it.
const ADJUSTED: i32 = 2;
/// The status of a fetch behind whose last row the cursor has closed itself.
const CLOSED_ITSELF: i32 = 16;

/// The options that sp_cursoroption sets or tells.
const TEXTPTR_ONLY: i32 = 1;
const CURSOR_NAME: i32 = 2;
const TEXTDATA: i32 = 3;
const SCROLLOPT: i32 = 4;
const CCOPT: i32 = 5;
const ROWCOUNT: i32 = 6;

/// `sp_cursorfetch @cursor [, @fetchtype [, @rownum [, @nrows]]]`
pub(super) fn sp_cursorfetch(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = int_at(&arguments, 0)?.unwrap_or(0);
    let id = session.state.cursors.id_of_handle(handle, "sp_cursorfetch")?;
    let kind = int_at(&arguments, 1)?.unwrap_or(NEXT) & !SKIP_UPDT_CNCY;
    let cursor = session.state.cursors.get(id);
    if kind == INFO {
        return Ok(information(cursor, &arguments));
    }
    let row = i64::from(int_at(&arguments, 2)?.unwrap_or(0));
    let size = int_at(&arguments, 3)?.unwrap_or(ROWS_DEFAULT);
    if cursor.opened.is_none() {
        return Err(SqlError::new(16917, &[]).into());
    }
    let fetch = fetch_of(cursor, kind, row, size)?;
    let is_adjusted = session.fetch_buffer(id, fetch, sink)?;
    let api = session.state.cursors.get(id).api.as_ref().expect("the cursor is a client's");
    let mut status = if is_adjusted { ADJUSTED } else { 0 };
    let wanted = usize::try_from(size).unwrap_or(0);
    if api.closes_itself && api.buffer.len() < wanted {
        session.state.cursors.close_handle(handle);
        status = CLOSED_ITSELF;
    }
    Ok(CallResult { status, ..CallResult::default() })
}

/// Errors 16902, 16911, 16925.
fn fetch_of(cursor: &Cursor, kind: i32, row: i64, size: i32) -> SqlResult<BufferFetch> {
    let wanted = match kind {
        REFRESH => return Ok(BufferFetch::Refresh),
        FIRST => Wanted::First,
        NEXT => Wanted::Next,
        PREV => Wanted::Prior,
        PREV_NOADJUST => Wanted::PriorWithoutAdjustment,
        LAST => Wanted::Last,
        ABSOLUTE => Wanted::Absolute(row),
        RELATIVE => Wanted::Relative(row),
        _ => return Err(SqlError::new(16902, &[&"sp_cursorfetch", &"fetchtype"])),
    };
    let word = match wanted {
        Wanted::First => "FIRST",
        Wanted::Next => "NEXT",
        Wanted::Prior | Wanted::PriorWithoutAdjustment => "PREV",
        Wanted::Last => "LAST",
        Wanted::Absolute(_) => "ABSOLUTE",
        Wanted::Relative(_) => "RELATIVE",
    };
    let scroll = cursor.api.as_ref().map_or(0, |api| api.scroll);
    if matches!(scroll, FORWARD_ONLY | FAST_FORWARD) && kind != NEXT {
        return Err(SqlError::new(16911, &[&"sp_cursorfetch", &word]));
    }
    let is_dynamic = cursor.opened.as_ref().is_some_and(|opened| opened.is_dynamic());
    if is_dynamic && kind == ABSOLUTE {
        return Err(SqlError::new(16925, &[&word]));
    }
    // Without rows only the ends can be reached.
    if size < 0 || (size == 0 && !matches!(kind, FIRST | LAST)) {
        return Err(SqlError::new(16902, &[&"sp_cursorfetch", &"nrows"]));
    }
    Ok(BufferFetch::Move(wanted, usize::try_from(size).unwrap_or(0)))
}

/// INFO: the position and the number of rows come back in the last two parameters.
fn information(cursor: &Cursor, arguments: &[Argument]) -> CallResult {
    let api = cursor.api.as_ref().expect("the cursor is a client's");
    let is_dynamic = cursor.opened.as_ref().is_some_and(|opened| opened.is_dynamic());
    let row = match api.place {
        _ if cursor.opened.is_none() => 0,
        Place::BeforeFirst => 0,
        Place::AfterLast => -1,
        Place::Rows(..) if is_dynamic => 1,
        Place::Rows(first, _) => i32::try_from(first).unwrap_or(i32::MAX),
    };
    let told = [(2, "@rownum", row), (3, "@nrows", rows_of(cursor))];
    let wanted = told.into_iter().filter(|(at, ..)| arguments.get(*at).is_some_and(|given| given.output));
    let outputs = wanted.map(|(at, name, value)| (at, name.to_string(), SqlType::Int, Value::Int(value)));
    CallResult { outputs: outputs.collect(), ..CallResult::default() }
}

/// `sp_cursoroption @cursor, @code, @value [OUTPUT]`
pub(super) fn sp_cursoroption(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = int_at(&arguments, 0)?.unwrap_or(0);
    let id = session.state.cursors.id_of_handle(handle, "sp_cursoroption")?;
    let [_, _, value, ..] = &arguments[..] else {
        return Err(SqlError::new(16903, &[&"sp_cursoroption"]).into());
    };
    let cursor = session.state.cursors.get(id);
    let told = match int_at(&arguments, 1)?.unwrap_or(0) {
        CURSOR_NAME => {
            let name = values::to_text(&value.or_null()).filter(|name| !name.is_empty());
            let Some(name) = name else {
                return Err(SqlError::new(16902, &[&"sp_cursoroption", &"value"]).into());
            };
            session.state.cursors.name(id, &name)?;
            return Ok(CallResult::default());
        }
        code @ (TEXTPTR_ONLY | TEXTDATA) => {
            check_text_column(cursor, int_at(&arguments, 2)?.unwrap_or(0))?;
            // All values are sent as data, so that only text pointers instead of them are refused.
            return match code {
                TEXTDATA => Ok(CallResult::default()),
                _ => Err(crate::refusal::not_supported("sp_cursoroption TEXTPTR_ONLY").into()),
            };
        }
        SCROLLOPT => cursor.api.as_ref().map_or(0, |api| api.scroll),
        CCOPT => cursor.api.as_ref().map_or(0, |api| api.concurrency),
        ROWCOUNT => rows_of(cursor),
        _ => return Err(SqlError::new(16902, &[&"sp_cursoroption", &"code"]).into()),
    };
    let outputs = match value.output {
        true => vec![(2, "@value".to_string(), SqlType::Int, Value::Int(told))],
        false => Vec::new(),
    };
    Ok(CallResult { outputs, ..CallResult::default() })
}

/// Error 16926 unless the column, from 1, is text, ntext or image; 0 means all of these.
fn check_text_column(cursor: &Cursor, number: i32) -> SqlResult<()> {
    let columns = cursor.opened.as_ref().map_or(&[][..], |opened| &opened.columns);
    let at = usize::try_from(number).ok().filter(|at| *at <= columns.len());
    let is_text =
        |at: usize| matches!(columns[at - 1].sql_type, SqlType::Text | SqlType::NText | SqlType::Image);
    match at {
        Some(0) => Ok(()),
        Some(at) if is_text(at) => Ok(()),
        _ => Err(SqlError::new(16926, &[&number])),
    }
}

/// `sp_cursorclose @cursor`
pub(super) fn sp_cursorclose(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = int_at(&arguments, 0)?.unwrap_or(0);
    session.state.cursors.id_of_handle(handle, "sp_cursorclose")?;
    session.state.cursors.close_handle(handle);
    session.publish_cursors();
    Ok(CallResult::default())
}
