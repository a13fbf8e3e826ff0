//! The fetch buffer of an API server cursor: fills it and sends its rows, each with its status.

use query::{Flow, RowSink};
use types::{DEFAULT_STYLE, SqlError, SqlType, Value};

use crate::batch::cursor::Keyed;
use crate::cursors::{CursorId, Opened};
use crate::done_command;
use crate::execution::cursor_fetch::{BEYOND, FOUND, Target, go_to};
use crate::execution::cursor_seek::Spot;
use crate::fetch_buffer::{ApiCursor, BufferFetch, BufferRow, Place, Wanted, Window, window};
use crate::forward::Forwarder;
use crate::interruption::{Interruption, Stop};
use crate::session::Session;
use crate::sink::{Done, DoneKind, ResultSink};

/// The status of a row (ROWSTAT).
const SUCCEEDED: i32 = 1;
const MISSING: i32 = 2;

impl Session {
    /// Fetches and sends rows. True when the fetch would have begun before the first row and begins with it instead. Error 16917.
    pub(crate) fn fetch_buffer(
        &mut self,
        id: CursorId,
        fetch: BufferFetch,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, Interruption> {
        let cursor = self.state.cursors.get(id);
        // Both are taken out meanwhile, so that rows can be read.
        let Some(mut opened) = cursor.opened.take() else { return Err(SqlError::new(16917, &[]).into()) };
        let mut api = cursor.api.take().expect("the procedures find only cursors of clients");
        let result = self.send_buffer(id, fetch, &mut opened, &mut api, sink);
        let cursor = self.state.cursors.get(id);
        (cursor.opened, cursor.api) = (Some(opened), Some(api));
        if let (BufferFetch::Move(..), Some(api)) = (fetch, &cursor.api) {
            cursor.last_operation = (2, i64::try_from(api.buffer.len()).unwrap_or(i64::MAX));
            cursor.fetch_status = if api.buffer.is_empty() { BEYOND } else { FOUND };
        }
        self.publish_cursors();
        result
    }

    fn send_buffer(
        &mut self,
        id: CursorId,
        fetch: BufferFetch,
        opened: &mut Opened,
        api: &mut ApiCursor,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, Interruption> {
        let (rows, is_adjusted) = self.buffer_rows(id, fetch, opened, api, sink)?;
        let mut forward = Forwarder::new(sink, self.options.text_size);
        let mut flow = forward.columns(&api.columns);
        forward.origins(&api.table, &api.origins);
        let count = rows.len() as u64;
        for row in rows {
            if flow == Flow::Stop {
                break;
            }
            flow = forward.row(&with_status(row, api));
        }
        let row_count = (!self.options.nocount).then_some(count);
        let command = done_command::SELECT;
        sink.done(Done { kind: DoneKind::InProcedure, row_count, error: false, command });
        if flow == Flow::Stop {
            return Err(Stop::Attention.into());
        }
        self.state.row_count = i64::try_from(count).unwrap_or(i64::MAX);
        Ok(is_adjusted)
    }

    /// The rows to send, `None` for one that is gone; the buffer has them afterwards.
    fn buffer_rows(
        &mut self,
        id: CursorId,
        fetch: BufferFetch,
        opened: &mut Opened,
        api: &mut ApiCursor,
        sink: &mut dyn ResultSink,
    ) -> Result<(Vec<Option<Vec<Value>>>, bool), Interruption> {
        let mut reader = Reader { session: self, id, opened, sink, rows: Vec::new() };
        let mut adjusted = false;
        match fetch {
            BufferFetch::Describe => return Ok((Vec::new(), false)),
            BufferFetch::RefreshRow(at) => {
                api.buffer[at] = reader.read_again(&api.buffer[at])?;
                return Ok((reader.rows, false));
            }
            BufferFetch::Refresh => {
                for row in &mut api.buffer {
                    *row = reader.read_again(row)?;
                }
            }
            BufferFetch::Move(wanted, size) => {
                let old = std::mem::take(&mut api.buffer);
                let moved = match reader.opened.keyed.clone().filter(|keyed| keyed.is_dynamic) {
                    Some(keyed) => reader.move_dynamic(&keyed, wanted, size, (api, &old)),
                    None => reader.move_fixed(wanted, size, api),
                };
                match moved {
                    Ok(is_adjusted) => adjusted = is_adjusted,
                    // A fetch that fails leaves the cursor where it was.
                    Err(interruption) => {
                        api.buffer = old;
                        return Err(interruption);
                    }
                }
            }
        }
        let rows = reader.rows;
        // Positioned UPDATE and DELETE of T-SQL mean the first row of the buffer.
        match api.buffer.first() {
            Some(row) => opened.make_current(row),
            None => opened.has_row = false,
        }
        Ok((rows, adjusted))
    }
}

/// Reads rows one by one into the buffer.
struct Reader<'a> {
    session: &'a mut Session,
    id: CursorId,
    opened: &'a mut Opened,
    sink: &'a mut dyn ResultSink,
    rows: Vec<Option<Vec<Value>>>,
}

impl Reader<'_> {
    /// The row at a position, which may be gone.
    fn read_at(&mut self, position: usize) -> Result<BufferRow, Interruption> {
        if os::task::interrupt_pending() {
            return Err(Stop::Attention.into());
        }
        os::memory::check_session().map_err(query::errors::out_of_memory)?;
        go_to(self.opened, i64::try_from(position).unwrap_or(i64::MAX));
        let key = self.opened.current().to_vec();
        let Some(keyed) = self.opened.keyed.clone() else {
            self.rows.push(Some(key));
            return Ok(BufferRow { position, key: Vec::new(), checksum: Value::Null, is_missing: false });
        };
        let row = self.session.read_row(self.id, &keyed, &key, self.sink)?;
        Ok(self.keep(position, key, row))
    }

    /// A row of the buffer once more.
    fn read_again(&mut self, row: &BufferRow) -> Result<BufferRow, Interruption> {
        match self.opened.keyed.clone() {
            Some(keyed) => {
                let values = self.session.read_row(self.id, &keyed, &row.key, self.sink)?;
                Ok(self.keep(row.position, row.key.clone(), values))
            }
            None => self.read_at(row.position),
        }
    }

    fn keep(&mut self, position: usize, key: Vec<Value>, mut row: Option<Vec<Value>>) -> BufferRow {
        let columns = self.opened.columns.len();
        // Behind the columns stands the checksum.
        let checksum = row.as_mut().filter(|row| row.len() > columns).and_then(Vec::pop);
        let is_missing = row.is_none();
        self.rows.push(row);
        BufferRow { position, key, checksum: checksum.unwrap_or(Value::Null), is_missing }
    }

    /// A cursor whose rows have fixed places.
    fn move_fixed(&mut self, wanted: Wanted, size: usize, api: &mut ApiCursor) -> Result<bool, Interruption> {
        let Window { first, count, place, is_adjusted } = window(wanted, size, self.opened.count, api.place);
        for position in first..first + count {
            let row = self.read_at(position)?;
            api.buffer.push(row);
        }
        api.place = place;
        Ok(is_adjusted)
    }

    /// A dynamic cursor counts the rows that are there.
    fn move_dynamic(
        &mut self,
        keyed: &Keyed,
        wanted: Wanted,
        size: usize,
        (api, old): (&mut ApiCursor, &[BufferRow]),
    ) -> Result<bool, Interruption> {
        let (start, end) = (Here::start(), self.end());
        let (before, behind) = match (api.place, old) {
            (Place::Rows(..), [first, .., last]) => (Here::at(first), Here::at(last)),
            (Place::Rows(..), [only]) => (Here::at(only), Here::at(only)),
            (Place::AfterLast, _) => (end.clone(), end.clone()),
            _ => (start.clone(), start.clone()),
        };
        match wanted {
            Wanted::First => self.fill(keyed, start, (size, true), api)?,
            Wanted::Next => self.fill(keyed, behind, (size, true), api)?,
            Wanted::Last => self.fill(keyed, end, (size, false), api)?,
            Wanted::PriorWithoutAdjustment => self.fill(keyed, before, (size, false), api)?,
            Wanted::Prior => {
                self.fill(keyed, before, (size, false), api)?;
                if (1..size).contains(&api.buffer.len()) {
                    self.restart(keyed, size, api)?;
                    return Ok(true);
                }
            }
            Wanted::Relative(offset) => return self.relative(keyed, (before, offset), size, api),
            Wanted::Absolute(_) => unreachable!("refused for dynamic cursors"),
        }
        Ok(false)
    }

    /// Behind the last row.
    fn end(&self) -> Here {
        Here { position: self.opened.count + 1, spot: Spot::AfterLast }
    }

    fn restart(&mut self, keyed: &Keyed, size: usize, api: &mut ApiCursor) -> Result<(), Interruption> {
        api.buffer.clear();
        self.rows.clear();
        self.fill(keyed, Here::start(), (size, true), api)
    }

    fn relative(
        &mut self,
        keyed: &Keyed,
        (from, offset): (Here, i64),
        size: usize,
        api: &mut ApiCursor,
    ) -> Result<bool, Interruption> {
        let is_at_row = matches!(from.spot, Spot::Key(_));
        let mut here = from;
        let mut row = None;
        for step in 0..offset.unsigned_abs() {
            let Some((next, values)) = self.step(keyed, &here, offset > 0)? else {
                // From the first row on, it goes before that.
                if offset < 0 && is_at_row && step > 0 && offset.unsigned_abs() <= size as u64 {
                    self.restart(keyed, size, api)?;
                    return Ok(true);
                }
                api.place = if offset < 0 { Place::BeforeFirst } else { Place::AfterLast };
                return Ok(false);
            };
            (here, row) = (next, Some(values));
        }
        let Spot::Key(key) = &here.spot else { return Ok(false) };
        // The row itself is the first one of the buffer.
        let row = match row {
            Some(row) => Some(row),
            None => self.session.read_row(self.id, keyed, key, self.sink)?,
        };
        if row.is_some() {
            let first = self.keep(here.position, key.clone(), row);
            api.buffer.push(first);
        }
        self.fill(keyed, here, (size, true), api)?;
        Ok(false)
    }

    /// The next row that is there.
    fn step(
        &mut self,
        keyed: &Keyed,
        from: &Here,
        forward: bool,
    ) -> Result<Option<(Here, Vec<Value>)>, Interruption> {
        os::memory::check_session().map_err(query::errors::out_of_memory)?;
        if keyed.is_seeking() {
            let found = self.session.seek_row(self.id, keyed, &from.spot, forward, self.sink)?;
            return Ok(found.map(|(key, row)| (Here { position: 1, spot: Spot::Key(key) }, row)));
        }
        let step = if forward { 1 } else { -1 };
        let position = i64::try_from(from.position).unwrap_or(i64::MAX).saturating_add(step);
        let target = Target { position, step };
        let (status, row) = self.session.read(self.id, keyed, target, self.opened, self.sink)?;
        Ok(row.filter(|_| status == FOUND).map(|row| {
            let spot = Spot::Key(self.opened.current().to_vec());
            (Here { position: self.opened.position, spot }, row)
        }))
    }

    /// Fills the buffer with the rows behind or before a place, in the order of the cursor.
    fn fill(
        &mut self,
        keyed: &Keyed,
        from: Here,
        (size, forward): (usize, bool),
        api: &mut ApiCursor,
    ) -> Result<(), Interruption> {
        let mut here = from;
        while api.buffer.len() < size {
            let Some((next, row)) = self.step(keyed, &here, forward)? else { break };
            if let Spot::Key(key) = &next.spot {
                let row = self.keep(next.position, key.clone(), Some(row));
                api.buffer.push(row);
            }
            here = next;
        }
        if !forward {
            api.buffer.reverse();
            self.rows.reverse();
        }
        // Without a row the cursor has passed the last one of its direction; a fetch of no rows goes to the other end.
        api.place = match (api.buffer.len(), forward == (size > 0)) {
            (count @ 1.., _) => Place::Rows(1, count),
            (0, true) => Place::AfterLast,
            (0, false) => Place::BeforeFirst,
        };
        Ok(())
    }
}

/// A place among the rows of a dynamic cursor: by its key, and by its number among the keys that the cursor keeps if it does.
#[derive(Clone)]
struct Here {
    position: usize,
    spot: Spot,
}

impl Here {
    /// Before the first row.
    fn start() -> Here {
        Here { position: 0, spot: Spot::BeforeFirst }
    }

    fn at(row: &BufferRow) -> Here {
        Here { position: row.position, spot: Spot::Key(row.key.clone()) }
    }
}

/// The row as it is sent, with its status; one that is gone has values in place of those that cannot be NULL.
fn with_status(row: Option<Vec<Value>>, api: &ApiCursor) -> Vec<Value> {
    let status = if row.is_some() { SUCCEEDED } else { MISSING };
    let own = &api.columns[..api.columns.len() - 1];
    let mut row = row.unwrap_or_else(|| {
        own.iter()
            .map(|column| if column.nullable { Value::Null } else { nothing_of(&column.sql_type) })
            .collect()
    });
    row.push(Value::Int(status));
    row
}

/// 0, blank, or the first day of the calendar: a value of the type that says nothing.
fn nothing_of(sql_type: &SqlType) -> Value {
    let context = types::ConvertContext::default();
    let blanks = [Value::varchar(""), Value::Int(0), Value::binary(&[0; 16])];
    let converted = blanks.into_iter().filter_map(|blank| {
        types::convert(&blank, &blank.natural_type(), sql_type, DEFAULT_STYLE, &context).ok()
    });
    converted.into_iter().next().unwrap_or_default()
}
