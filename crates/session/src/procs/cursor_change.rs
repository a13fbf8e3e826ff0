//! sp_cursor: changes, refreshes and locks the rows of a cursor's fetch buffer, and inserts rows into its table. Changes run as texts with the
//! row's key in variables, so that they are what the same statements of a batch would be.

use query::{ColumnDescription, VariableDef};
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult, SqlType, Value};

use super::arguments::int_at;
use super::cursor_options::KEYSET;
use crate::batch::call::{Argument, CallResult};
use crate::batch::cursor::Keyed;
use crate::cursors::{Cursor, CursorId};
use crate::fetch_buffer::{BufferFetch, BufferRow};
use crate::interruption::Interruption;
use crate::objects::parse_name;
use crate::refusal::syntax_error;
use crate::session::Session;
use crate::sink::{Flow, NullSink, ResultSink, SinkLayer};
use crate::values;

const UPDATE: i32 = 0x01;
const DELETE: i32 = 0x02;
const INSERT: i32 = 0x04;
const REFRESH: i32 = 0x08;
const LOCK: i32 = 0x10;
const SETPOSITION: i32 = 0x20;
const ABSOLUTE: i32 = 0x40;

/// The status of a change that has failed with an error of its own.
const FAILED: i32 = 1;
/// OUTPUT cannot be used on a table with triggers.
const OUTPUT_REFUSED: i32 = 334;

/// `sp_cursor @cursor, @optype, @rownum, @table [, values...]`
pub(super) fn sp_cursor(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = int_at(&arguments, 0)?.unwrap_or(0);
    let id = session.state.cursors.id_of_handle(handle, "sp_cursor")?;
    let (operation, flags) = operation_of(int_at(&arguments, 1)?.unwrap_or(0))?;
    let number = int_at(&arguments, 2)?.unwrap_or(0);
    let cursor = session.state.cursors.get(id);
    if cursor.opened.is_none() {
        return Err(SqlError::new(16917, &[]).into());
    }
    let rows = match operation {
        INSERT => return insert(session, id, &arguments, sink),
        SETPOSITION => {
            set_position(cursor, usize::try_from(number).unwrap_or(0));
            return Ok(CallResult::default());
        }
        _ if flags & ABSOLUTE != 0 && cursor.api.as_ref().is_some_and(|api| api.scroll == KEYSET) => {
            vec![Row::Kept(kept_row(cursor, number)?)]
        }
        _ => rows_of_buffer(cursor, number)?.map(Row::Buffered).collect(),
    };
    if operation == UPDATE || operation == DELETE || operation == LOCK {
        keyed_of(cursor)?;
    }
    let mut status = 0;
    for row in rows {
        let done = match operation {
            UPDATE => update(session, id, &row, &arguments, sink)?,
            DELETE => delete(session, id, &row, &arguments, sink)?,
            LOCK => lock(session, id, &row, &arguments, sink)?,
            _ => refresh(session, id, &row, sink)?,
        };
        status = if done { status } else { FAILED };
        if let (true, Row::Buffered(at)) = (flags & SETPOSITION != 0, &row) {
            set_position(session.state.cursors.get(id), at + 1);
        }
    }
    Ok(CallResult { status, ..CallResult::default() })
}

/// A row that an operation is for.
enum Row {
    /// By its number in the buffer, from 0.
    Buffered(usize),
    /// One of the keyset.
    Kept(BufferRow),
}

/// The one operation and the flags beside it. Errors 16902, 16904.
fn operation_of(kind: i32) -> SqlResult<(i32, i32)> {
    let (operation, flags) = (kind & !(SETPOSITION | ABSOLUTE), kind & (SETPOSITION | ABSOLUTE));
    if flags & ABSOLUTE != 0 && !matches!(operation, UPDATE | DELETE) {
        return Err(SqlError::new(16904, &[]));
    }
    match operation {
        0 if flags == SETPOSITION => Ok((SETPOSITION, 0)),
        INSERT if flags == 0 => Ok((INSERT, 0)),
        UPDATE | DELETE | REFRESH | LOCK => Ok((operation, flags)),
        _ => Err(SqlError::new(16902, &[&"sp_cursor", &"optype"])),
    }
}

/// The rows of the buffer that a number from 1 means, all for 0. Errors 16930, 16931.
fn rows_of_buffer(cursor: &Cursor, number: i32) -> SqlResult<std::ops::Range<usize>> {
    let count = cursor.api.as_ref().map_or(0, |api| api.buffer.len());
    match usize::try_from(number) {
        _ if count == 0 => Err(SqlError::new(16931, &[])),
        Ok(0) => Ok(0..count),
        Ok(number) if number <= count => Ok(number - 1..number),
        _ => Err(SqlError::new(16930, &[])),
    }
}

/// The row of the keyset with a number from 1. Error 16930.
fn kept_row(cursor: &Cursor, number: i32) -> SqlResult<BufferRow> {
    let opened = cursor.opened.as_ref().expect("asked before");
    let position = usize::try_from(number).ok().filter(|at| (1..=opened.count).contains(at));
    let Some(position) = position else { return Err(SqlError::new(16930, &[])) };
    let key = opened.row_at(position).to_vec();
    Ok(BufferRow { position, key, checksum: Value::Null, is_missing: false })
}

/// A number that is no row of the buffer means its first one.
fn set_position(cursor: &mut Cursor, number: usize) {
    let (Some(opened), Some(api)) = (&mut cursor.opened, &cursor.api) else { return };
    let row = number.checked_sub(1).and_then(|at| api.buffer.get(at)).or_else(|| api.buffer.first());
    if let Some(row) = row {
        opened.make_current(row);
    }
}

/// What finds the rows again. Error 16929 for a cursor that only reads.
fn keyed_of(cursor: &Cursor) -> SqlResult<std::sync::Arc<Keyed>> {
    let keyed = cursor.opened.as_ref().and_then(|opened| opened.keyed.clone());
    keyed.filter(|_| !cursor.plan.properties.is_read_only).ok_or_else(|| SqlError::new(16929, &[]))
}

/// A text and the values of its variables.
struct Change {
    text: String,
    variables: Vec<VariableDef>,
    values: Vec<Value>,
}

impl Change {
    fn new(text: String) -> Change {
        Change { text, variables: Vec::new(), values: Vec::new() }
    }

    fn bind(&mut self, name: String, sql_type: SqlType, value: Value) {
        self.variables.push(VariableDef { name, sql_type });
        self.values.push(value);
    }

    /// The condition that a row is this one, and unchanged since it was fetched.
    fn add_where(&mut self, keyed: &Keyed, row: &BufferRow) {
        // On a line of its own: the text before may end with a comment.
        self.text.push_str("\nWHERE ");
        for (at, ((name, sql_type), value)) in keyed.table.key.iter().zip(&row.key).enumerate() {
            let and = if at == 0 { "" } else { " AND " };
            self.text.push_str(&format!("{and}{} = @key_{at}", quoted(name)));
            self.bind(format!("@key_{at}"), *sql_type, value.clone());
        }
        if !row.checksum.is_null() {
            self.text.push_str(" AND BINARY_CHECKSUM(*) = @checksum");
            self.bind("@checksum".to_string(), SqlType::Int, row.checksum.clone());
        }
    }
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// The name of the table to change: the one that the call gives, which must be the cursor's (16933), or the cursor's.
fn table_name(session: &Session, keyed: &Keyed, arguments: &[Argument]) -> SqlResult<String> {
    let given = arguments.get(3).and_then(|given| values::to_text(&given.or_null()));
    let Some(given) = given.filter(|given| !given.trim().is_empty()) else {
        let parts = keyed.table.parts.iter();
        let parts = parts.map(|part| if part.is_empty() { String::new() } else { quoted(part) });
        return Ok(parts.collect::<Vec<_>>().join("."));
    };
    let kind = ast::DmlTargetKind::Table(parse_name(&given)?);
    let target = ast::DmlTarget { kind, hints: Vec::new() };
    let other = || SqlError::new(16933, &[]);
    let context = session.bind_context_with(&[], None);
    let (database, object_id) = query::cursors::changed_table(&target, &context).map_err(|_| other())?;
    let is_own =
        object_id == keyed.table.object_id && std::sync::Arc::ptr_eq(&database, &keyed.table.database);
    if is_own { Ok(given) } else { Err(other()) }
}

/// The values of a call: columns with their values, or the pieces of a statement.
enum Given {
    Columns(Vec<(String, Argument)>),
    Text(String),
}

/// Error 16936 for named and unnamed values together; 16935 without any.
fn given_values(cursor: &Cursor, keyed: &Keyed, arguments: &[Argument], verb: &str) -> SqlResult<Given> {
    let values = arguments.get(4..).unwrap_or_default();
    let is_text = |value: &Argument| {
        value.name.as_ref().is_none_or(|name| values.len() == 1 && name.eq_ignore_ascii_case("@VALUES"))
    };
    if values.is_empty() {
        return Err(SqlError::new(16935, &[&verb]));
    }
    if values.iter().all(is_text) {
        let pieces = values.iter().map(|value| values::to_text(&value.or_null()).unwrap_or_default());
        return Ok(Given::Text(pieces.collect::<Vec<_>>().join(", ")));
    }
    let column = |value: &Argument| {
        let name = value.name.as_ref().ok_or_else(|| SqlError::new(16936, &[]))?;
        Ok((column_of(cursor, keyed, name.trim_start_matches('@')), value.clone()))
    };
    Ok(Given::Columns(values.iter().map(column).collect::<SqlResult<_>>()?))
}

/// The column of the table that a value names, by its own name or by that of the query.
fn column_of(cursor: &Cursor, keyed: &Keyed, name: &str) -> String {
    let origins = &keyed.table.origins;
    let own = origins.iter().flatten().find(|base| base.eq_ignore_ascii_case(name));
    let shown = || {
        let columns = &cursor.opened.as_ref()?.columns;
        let at = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
        origins.get(at)?.as_ref()
    };
    own.or_else(shown).map_or_else(|| name.to_string(), String::clone)
}

/// One row changed. False: an error has been told.
fn update(
    session: &mut Session,
    id: CursorId,
    row: &Row,
    arguments: &[Argument],
    sink: &mut dyn ResultSink,
) -> Result<bool, Interruption> {
    let (keyed, target) = target_of(session, id, row)?;
    let cursor = session.state.cursors.get(id);
    let given = given_values(cursor, &keyed, arguments, "UPDATE")?;
    let text_of = |session: &mut Session, with_output: bool| -> SqlResult<Change> {
        let table = || table_name(session, &keyed, arguments);
        let mut change = match &given {
            Given::Text(text) => {
                let text = match first_word(text).as_str() {
                    "update" => text.clone(),
                    "set" => format!("UPDATE {} {text}", table()?),
                    _ => format!("UPDATE {} SET {text}", table()?),
                };
                check_kind(
                    session,
                    &text,
                    |kind| matches!(kind, StatementKind::Update(update) if update.filter.is_none()),
                )?;
                Change::new(text)
            }
            Given::Columns(columns) => {
                let set = columns.iter().enumerate();
                let set = set.map(|(at, (column, _))| format!("{} = @value_{at}", quoted(column)));
                let set = set.collect::<Vec<_>>().join(", ");
                let mut change = Change::new(format!("UPDATE {} SET {set}", table()?));
                bind_values(&mut change, columns);
                change
            }
        };
        if with_output {
            change.text.push_str(&output_of(&keyed));
        }
        change.add_where(&keyed, &target);
        Ok(change)
    };
    let is_key = |name: &String| keyed.table.key.iter().any(|key| key.0.eq_ignore_ascii_case(name));
    let changes_key =
        matches!(&given, Given::Columns(columns) if columns.iter().any(|(name, _)| is_key(name)));
    let (done, keys) = run_with_keys(session, id, changes_key, text_of, sink)?;
    if !done {
        return Ok(false);
    }
    changed(session, !target.checksum.is_null())?;
    let cursor = session.state.cursors.get(id);
    cursor.row_changed(row.number(), &target, keys.into_iter().next());
    cursor.last_operation = (4, 1);
    Ok(true)
}

fn delete(
    session: &mut Session,
    id: CursorId,
    row: &Row,
    arguments: &[Argument],
    sink: &mut dyn ResultSink,
) -> Result<bool, Interruption> {
    let (keyed, target) = target_of(session, id, row)?;
    let text_of = |session: &mut Session, _| -> SqlResult<Change> {
        let mut change = Change::new(format!("DELETE {}", table_name(session, &keyed, arguments)?));
        change.add_where(&keyed, &target);
        Ok(change)
    };
    let (done, _) = run_with_keys(session, id, false, text_of, sink)?;
    if done {
        changed(session, !target.checksum.is_null())?;
        let cursor = session.state.cursors.get(id);
        cursor.row_changed(row.number(), &target, None);
        cursor.last_operation = (5, 1);
    }
    Ok(done)
}

/// Keeps others from changing the row until the transaction ends.
fn lock(
    session: &mut Session,
    id: CursorId,
    row: &Row,
    arguments: &[Argument],
    sink: &mut dyn ResultSink,
) -> Result<bool, Interruption> {
    let (keyed, target) = target_of(session, id, row)?;
    let text_of = |session: &mut Session, _| -> SqlResult<Change> {
        let table = table_name(session, &keyed, arguments)?;
        let mut change = Change::new(format!("SELECT 1 FROM {table} WITH (UPDLOCK)"));
        change.add_where(&keyed, &BufferRow { checksum: Value::Null, ..target.clone() });
        Ok(change)
    };
    // The row is no result of the call.
    let (done, _) = run_with_keys(session, id, true, text_of, sink)?;
    Ok(done)
}

/// Sends the row again, or all of a call for the whole buffer, one by one.
fn refresh(
    session: &mut Session,
    id: CursorId,
    row: &Row,
    sink: &mut dyn ResultSink,
) -> Result<bool, Interruption> {
    if let Row::Buffered(at) = row {
        session.fetch_buffer(id, BufferFetch::RefreshRow(*at), sink)?;
    }
    Ok(true)
}

fn insert(
    session: &mut Session,
    id: CursorId,
    arguments: &[Argument],
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let cursor = session.state.cursors.get(id);
    let keyed = keyed_of(cursor)?;
    let given = given_values(cursor, &keyed, arguments, "INSERT")?;
    let is_built = matches!(given, Given::Columns(_));
    let text_of = |session: &mut Session, with_output: bool| -> SqlResult<Change> {
        let table = || table_name(session, &keyed, arguments);
        match &given {
            Given::Text(text) => {
                let text = match (first_word(text).as_str(), text.trim_start().starts_with('(')) {
                    ("insert", _) => text.clone(),
                    ("values" | "default", _) => format!("INSERT {} {text}", table()?),
                    (_, true) => format!("INSERT {} VALUES {text}", table()?),
                    (_, false) => format!("INSERT {} VALUES ({text})", table()?),
                };
                check_kind(session, &text, |kind| matches!(kind, StatementKind::Insert(_)))?;
                Ok(Change::new(text))
            }
            Given::Columns(columns) => {
                let names = columns.iter().map(|(column, _)| quoted(column)).collect::<Vec<_>>().join(", ");
                let variables = (0..columns.len()).map(|at| format!("@value_{at}"));
                let variables = variables.collect::<Vec<_>>().join(", ");
                let output = if with_output { output_of(&keyed) } else { String::new() };
                let text = format!("INSERT {} ({names}){output} VALUES ({variables})", table()?);
                let mut change = Change::new(text);
                bind_values(&mut change, columns);
                Ok(change)
            }
        }
    };
    let (done, keys) = run_with_keys(session, id, is_built, text_of, sink)?;
    let cursor = session.state.cursors.get(id);
    if done {
        cursor.last_operation = (3, 1);
    }
    if let (true, Some(opened)) = (done, cursor.opened.as_mut()) {
        // What the cursor itself has inserted is the last of its rows.
        keys.into_iter().for_each(|key| opened.add_row(key));
    }
    Ok(CallResult { status: if done { 0 } else { FAILED }, ..CallResult::default() })
}

impl Row {
    fn number(&self) -> Option<usize> {
        match self {
            Row::Buffered(at) => Some(*at),
            Row::Kept(_) => None,
        }
    }
}

/// What an operation is for: how the rows are found, and the row.
fn target_of(
    session: &mut Session,
    id: CursorId,
    row: &Row,
) -> SqlResult<(std::sync::Arc<Keyed>, BufferRow)> {
    let cursor = session.state.cursors.get(id);
    let keyed = keyed_of(cursor)?;
    let row = match row {
        Row::Kept(row) => row.clone(),
        Row::Buffered(at) => cursor.api.as_ref().expect("the cursor is a client's").buffer[*at].clone(),
    };
    Ok((keyed, row))
}

fn bind_values(change: &mut Change, columns: &[(String, Argument)]) {
    for (at, (_, value)) in columns.iter().enumerate() {
        change.bind(format!("@value_{at}"), value.sql_type, value.or_null());
    }
}

fn output_of(keyed: &Keyed) -> String {
    let columns = keyed.table.key.iter().map(|(name, _)| format!("inserted.{}", quoted(name)));
    format!(" OUTPUT {}", columns.collect::<Vec<_>>().join(", "))
}

/// The first word of a piece of text, in lower case.
fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect()
}

/// The text must be one statement of the kind. Error 16936, and those of the syntax.
fn check_kind(session: &Session, text: &str, is_kind: impl Fn(&StatementKind) -> bool) -> SqlResult<()> {
    let options = tsql::ParseOptions { quoted_identifier: session.options.quoted_identifier };
    let batch =
        tsql::parse_batch(text, &options).map_err(|mut errors| syntax_error(errors.swap_remove(0)))?;
    match &batch.statements[..] {
        [statement] if is_kind(&statement.kind) => Ok(()),
        _ => Err(SqlError::new(16936, &[])),
    }
}

/// No row was changed: it is gone (16947), or others have changed it since it was fetched (16934 before that).
fn changed(session: &Session, is_checked: bool) -> SqlResult<()> {
    if session.state.row_count != 0 {
        return Ok(());
    }
    let told = |number| {
        let mut error = SqlError::new(number, &[]);
        error.severity = 16;
        error
    };
    let earlier = if is_checked { vec![told(16934)] } else { Vec::new() };
    Err(told(16947).after_all(earlier))
}

/// Runs a change in the cursor's database. With `keeps_keys` its rows are no result for the client but the keys that come back; a table with
/// triggers gives none. False: its error has been told.
fn run_with_keys(
    session: &mut Session,
    id: CursorId,
    keeps_keys: bool,
    text_of: impl Fn(&mut Session, bool) -> SqlResult<Change>,
    sink: &mut dyn ResultSink,
) -> Result<(bool, Vec<Vec<Value>>), Interruption> {
    session.in_database_of(id, |session| {
        for with_output in [true, false] {
            let Change { text, variables, values } = text_of(session, with_output && keeps_keys)?;
            let mut keys = KeySink { sink, keeps: with_output && keeps_keys, keys: Vec::new() };
            session.state.last_error = 0;
            match session.run_text(&text, &variables, values, &mut keys) {
                Err(Interruption::Failed(failure))
                    if with_output && keeps_keys && failure.error.number == OUTPUT_REFUSED => {}
                Err(interruption) => return Err(interruption),
                Ok(_) => {
                    let keys = std::mem::take(&mut keys.keys);
                    return Ok((session.state.last_error == 0, keys));
                }
            }
        }
        Ok((false, Vec::new()))
    })
}

/// Keeps the rows of OUTPUT; everything else goes to the client.
struct KeySink<'a> {
    sink: &'a mut dyn ResultSink,
    keeps: bool,
    keys: Vec<Vec<Value>>,
}

impl SinkLayer for KeySink<'_> {
    fn next(&mut self) -> &mut dyn ResultSink {
        self.sink
    }
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        if self.keeps { NullSink.columns(columns) } else { self.sink.columns(columns) }
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        if !self.keeps {
            return self.sink.row(row);
        }
        self.keys.push(row.to_vec());
        Flow::Continue
    }
}
