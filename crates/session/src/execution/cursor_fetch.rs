//! FETCH: moves a cursor and gives the row there to variables or to the client. Nothing is bound or planned for a row.

use query::{ColumnDescription, Flow, RowSink, SetOptions};
use types::{AssignTarget, SqlError, SqlResult, Value};

use crate::batch::cell::STALE_PLANS_MAX;
use crate::batch::cursor::{Direction, FetchStep, Keyed, Properties, select_statement};
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::cursors::{CursorId, Opened};
use crate::done_command;
use crate::forward::Forwarder;
use crate::interruption::{Interruption, Stop};
use crate::session::Session;
use crate::sink::{Done, ResultSink};
use crate::values::to_int;

/// `@@FETCH_STATUS`: a row, no row there, a row that is gone.
pub(super) const FOUND: i32 = 0;
pub(super) const BEYOND: i32 = -1;
const MISSING: i32 = -2;

/// The row of a query by its key.
#[derive(Default)]
pub(super) struct OneRow(pub(super) Option<Vec<Value>>);

impl RowSink for OneRow {
    fn columns(&mut self, _: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.0 = Some(row.to_vec());
        Flow::Continue
    }
    fn message(&mut self, _: &SqlError) {}
}

/// Where a row is to be looked for, and which way to go on from there when it is gone.
pub(super) struct Target {
    pub(super) position: i64,
    pub(super) step: i64,
}

impl Session {
    /// Whether a row was found.
    pub(crate) fn fetch(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        fetch: &FetchStep,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, Interruption> {
        let id = self.state.cursors.id_of(&fetch.cursor)?;
        let number = match fetch.direction {
            Direction::Absolute(cell) | Direction::Relative(cell) => {
                i64::from(to_int(&self.value(frame, instruction, cell)?)?.unwrap_or(0))
            }
            _ => 0,
        };
        let cursor = self.state.cursors.get(id);
        let Some(opened) = cursor.opened.as_ref() else { return Err(SqlError::new(16917, &[]).into()) };
        check_direction(fetch.direction, &cursor.plan.properties, opened)?;
        if !fetch.into.is_empty() && fetch.into.len() != opened.columns.len() {
            return Err(SqlError::new(16924, &[]).into());
        }
        // It is taken out meanwhile, so that rows can be read.
        let mut opened = cursor.opened.take().expect("it is open");
        let result = self.fetch_from(frame, id, fetch, number, &mut opened, sink);
        let status = if result.is_ok() { self.state.cursors.fetch_status } else { BEYOND };
        let cursor = self.state.cursors.get(id);
        (cursor.opened, cursor.fetch_status) = (Some(opened), status);
        cursor.last_operation = (2, i64::from(status == FOUND));
        result
    }

    fn fetch_from(
        &mut self,
        frame: &mut Frame,
        id: CursorId,
        fetch: &FetchStep,
        number: i64,
        opened: &mut Opened,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, Interruption> {
        opened.has_row = false;
        if let Some(keyed) = opened.keyed.clone().filter(|keyed| keyed.is_seeking()) {
            let row = self.sought(id, &keyed, (fetch.direction, number), opened, sink)?;
            let status = if row.is_some() { FOUND } else { BEYOND };
            return self.give_keyed(frame, fetch, (status, row), opened, sink);
        }
        let target = target(fetch.direction, number, opened);
        let Some(keyed) = opened.keyed.clone() else {
            let status = go_to(opened, target.position);
            let row = (status == FOUND).then(|| opened.current());
            return self.give(frame, fetch, (&opened.columns, status, row), sink).inspect(|found| {
                opened.has_row = *found;
            });
        };
        let found = self.read(id, &keyed, target, opened, sink)?;
        self.give_keyed(frame, fetch, found, opened, sink)
    }

    /// Gives a row that was found by its key, and keeps its checksum.
    fn give_keyed(
        &mut self,
        frame: &mut Frame,
        fetch: &FetchStep,
        (status, mut row): (i32, Option<Vec<Value>>),
        opened: &mut Opened,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, Interruption> {
        // Behind the columns stands the checksum.
        let checksum = row.as_mut().filter(|row| row.len() > opened.columns.len()).and_then(Vec::pop);
        opened.checksum = checksum.unwrap_or(Value::Null);
        let found = self.give(frame, fetch, (&opened.columns, status, row.as_deref()), sink)?;
        opened.has_row = found;
        Ok(found)
    }

    /// Reads a row by its key. A dynamic cursor goes past rows that are gone.
    pub(super) fn read(
        &mut self,
        id: CursorId,
        keyed: &Keyed,
        target: Target,
        opened: &mut Opened,
        sink: &mut dyn ResultSink,
    ) -> Result<(i32, Option<Vec<Value>>), Interruption> {
        let mut position = target.position;
        loop {
            if go_to(opened, position) == BEYOND {
                return Ok((BEYOND, None));
            }
            if os::task::interrupt_pending() {
                return Err(Stop::Attention.into());
            }
            match self.read_row(id, keyed, opened.current(), sink)? {
                Some(row) => return Ok((FOUND, Some(row))),
                None if !keyed.is_dynamic => return Ok((MISSING, None)),
                None => position += target.step,
            }
        }
    }

    pub(super) fn read_row(
        &mut self,
        id: CursorId,
        keyed: &Keyed,
        key: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Option<Vec<Value>>, Interruption> {
        let mut variables = self.state.cursors.get(id).variables.clone();
        variables.extend_from_slice(key);
        variables.push(Value::Null);
        self.in_database_of(id, |session| {
            let mut row = OneRow::default();
            // However many rows the table has by now: its key finds one.
            if keyed.row.is_current() {
                let ran = session.run_for_cursor(&keyed.row, (&mut variables, None), &mut row, sink);
                match ran {
                    Err(interruption) if interruption.is_stale_plan() => {}
                    other => return other.map(|_| row.0),
                }
            }
            // A definition has changed since the cursor was opened.
            for _ in 0..STALE_PLANS_MAX {
                let cursor = session.state.cursors.get(id);
                let (plan, schema) = (cursor.plan.clone(), cursor.schema.clone());
                let mut defs = plan.variables.clone();
                defs.extend(query::cursors::key_variables(&keyed.table));
                let properties = &plan.properties;
                let one = query::cursors::one_row(
                    &plan.select,
                    &keyed.table,
                    keyed.is_dynamic,
                    properties.is_checked(),
                    properties.locks,
                );
                let context = session.bind_context_with(&defs, schema.as_deref());
                let statement = query::compile(&select_statement(one, plan.span), &context)
                    .map_err(|_| SqlError::new(16943, &[]))?;
                let mut row = OneRow::default();
                match session.run_for_cursor(&statement, (&mut variables, None), &mut row, sink) {
                    Err(interruption) if interruption.is_stale_plan() => {}
                    other => return other.map(|_| row.0),
                }
            }
            Err(SqlError::new(2801, &[]).into())
        })
    }

    /// Gives the row to the variables or to the client, and sets `@@FETCH_STATUS`.
    fn give(
        &mut self,
        frame: &mut Frame,
        fetch: &FetchStep,
        (columns, status, row): (&[ColumnDescription], i32, Option<&[Value]>),
        sink: &mut dyn ResultSink,
    ) -> Result<bool, Interruption> {
        if !fetch.into.is_empty() {
            if let Some(row) = row {
                assign_row(&self.options, frame, &fetch.into, columns, row)?;
            }
        } else {
            let mut forward = Forwarder::new(sink, self.options.text_size);
            let mut flow = forward.columns(columns);
            if let Some(row) = row.filter(|_| flow == Flow::Continue) {
                flow = forward.row(row);
            }
            let row_count = (!self.options.nocount).then_some(u64::from(row.is_some()));
            sink.done(Done { kind: frame.done_kind, row_count, error: false, command: done_command::SELECT });
            if flow == Flow::Stop {
                return Err(Stop::Attention.into());
            }
        }
        self.state.cursors.fetch_status = status;
        Ok(row.is_some())
    }
}

/// Gives the columns of a row to variables. Error 16922, those of a conversion.
pub(super) fn assign_row(
    options: &SetOptions,
    frame: &mut Frame,
    into: &[usize],
    columns: &[ColumnDescription],
    row: &[Value],
) -> SqlResult<()> {
    for ((slot, column), value) in into.iter().zip(columns).zip(row) {
        let (from, to) = (&column.sql_type, &frame.program.variables[*slot].sql_type);
        frame.variables[*slot] = match from == to {
            true => value.clone(),
            false => {
                let context = query::convert_context(options);
                types::assign(value, from, to, AssignTarget::Variable, &context).map_err(
                    |error| match error.number {
                        206 | 257 | 529 => SqlError::new(16922, &[&from.name(), &to.name()]),
                        _ => error,
                    },
                )?
            }
        };
    }
    Ok(())
}

/// Errors 16911 and 16925: fetch types that the cursor does not have.
pub(super) fn check_direction(
    direction: Direction,
    properties: &Properties,
    opened: &Opened,
) -> SqlResult<()> {
    if direction == Direction::Next {
        return Ok(());
    }
    if !properties.scrolls {
        return Err(SqlError::new(16911, &[&"fetch", &direction.word()]));
    }
    let is_dynamic = opened.keyed.as_ref().is_some_and(|keyed| keyed.is_dynamic);
    match direction {
        Direction::Absolute(_) if is_dynamic => Err(SqlError::new(16925, &[&direction.word()])),
        _ => Ok(()),
    }
}

pub(super) fn target(direction: Direction, number: i64, opened: &Opened) -> Target {
    let at = i64::try_from(opened.position).unwrap_or(i64::MAX);
    let count = i64::try_from(opened.count).unwrap_or(i64::MAX);
    let (position, step) = match direction {
        Direction::Next => (at.saturating_add(1), 1),
        Direction::Prior => (at - 1, -1),
        Direction::First => (1, 1),
        Direction::Last => (count, -1),
        Direction::Absolute(_) if number < 0 => (count + 1 + number, -1),
        Direction::Absolute(_) => (number, 1),
        Direction::Relative(_) => (at.saturating_add(number), if number < 0 { -1 } else { 1 }),
    };
    Target { position, step }
}

/// Moves the cursor; beyond its rows it stands before the first or behind the last.
pub(super) fn go_to(opened: &mut Opened, position: i64) -> i32 {
    let behind = opened.count + 1;
    opened.position = usize::try_from(position.max(0)).unwrap_or(behind).min(behind);
    if opened.position == 0 || opened.position == behind { BEYOND } else { FOUND }
}
