//! Dynamic cursors whose rows come in the order of their keys: each row is sought from the key of the one before, so that rows which others insert
//! meanwhile are seen.

use std::sync::Arc;

use query::CompiledStatement;
use types::{SqlError, Value};

use crate::batch::cell::STALE_PLANS_MAX;
use crate::batch::cursor::{Direction, Keyed, select_statement};
use crate::cursors::{BEHIND_ALL, CursorId, Opened};
use crate::execution::cursor_fetch::OneRow;
use crate::interruption::{Interruption, Stop};
use crate::session::Session;
use crate::sink::ResultSink;

/// Where a search begins.
#[derive(Clone, Debug)]
pub(crate) enum Spot {
    BeforeFirst,
    /// At the row with this key, which may be gone.
    Key(Vec<Value>),
    AfterLast,
}

impl Session {
    /// The row that FETCH asks for; the cursor stands there afterwards.
    pub(super) fn sought(
        &mut self,
        id: CursorId,
        keyed: &Keyed,
        (direction, number): (Direction, i64),
        opened: &mut Opened,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<Vec<Value>>, Interruption> {
        let mut spot = match opened.position {
            0 => Spot::BeforeFirst,
            BEHIND_ALL => Spot::AfterLast,
            _ => Spot::Key(opened.values.clone()),
        };
        let (steps, forward) = match direction {
            Direction::Next => (1, true),
            Direction::Prior => (1, false),
            Direction::First => {
                spot = Spot::BeforeFirst;
                (1, true)
            }
            Direction::Last => {
                spot = Spot::AfterLast;
                (1, false)
            }
            Direction::Relative(_) if number != 0 => (number.unsigned_abs(), number > 0),
            // The row itself, or the next one when it is gone.
            Direction::Relative(_) | Direction::Absolute(_) => {
                if let Spot::Key(key) = &spot {
                    let row = self.read_row(id, keyed, key, sink)?;
                    if row.is_some() {
                        return Ok(row);
                    }
                }
                (u64::from(matches!(spot, Spot::Key(_))), true)
            }
        };
        let mut found = None;
        for _ in 0..steps {
            found = self.seek_row(id, keyed, &spot, forward, sink)?;
            let Some((key, _)) = &found else {
                opened.position = if forward { BEHIND_ALL } else { 0 };
                return Ok(None);
            };
            spot = Spot::Key(key.clone());
        }
        Ok(found.map(|(key, row)| {
            opened.position = 1;
            opened.values = key;
            row
        }))
    }

    /// The next row behind the spot, or before it: its key, and its values with the checksum behind them.
    pub(super) fn seek_row(
        &mut self,
        id: CursorId,
        keyed: &Keyed,
        spot: &Spot,
        forward: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<(Vec<Value>, Vec<Value>)>, Interruption> {
        let key = match (spot, forward) {
            (Spot::Key(key), _) => Some(key),
            (Spot::BeforeFirst, true) | (Spot::AfterLast, false) => None,
            (Spot::BeforeFirst, false) | (Spot::AfterLast, true) => return Ok(None),
        };
        if os::task::interrupt_pending() {
            return Err(Stop::Attention.into());
        }
        let columns = keyed.table.key.len();
        let mut variables = self.state.cursors.get(id).variables.clone();
        match key {
            Some(key) => variables.extend_from_slice(key),
            None => variables.resize(variables.len() + columns, Value::Null),
        }
        variables.push(Value::Null);
        self.in_database_of(id, |session| {
            for _ in 0..STALE_PLANS_MAX {
                let statement = session.seek_statement(id, keyed, key.is_some(), forward)?;
                let mut row = OneRow::default();
                match session.run_for_cursor(&statement, (&mut variables, None), &mut row, sink) {
                    Err(interruption) if interruption.is_stale_plan() => {
                        *keyed.seek(key.is_some(), forward).lock() = None;
                    }
                    Err(interruption) => return Err(interruption),
                    Ok(_) => {
                        return Ok(row.0.map(|mut row| {
                            let key = row.split_off(row.len() - columns);
                            (key, row)
                        }));
                    }
                }
            }
            Err(SqlError::new(2801, &[]).into())
        })
    }

    /// The statement, kept or made now. Error 16943 when it cannot be bound any more.
    fn seek_statement(
        &mut self,
        id: CursorId,
        keyed: &Keyed,
        from_key: bool,
        forward: bool,
    ) -> Result<Arc<CompiledStatement>, Interruption> {
        let place = keyed.seek(from_key, forward);
        let kept = place.lock().clone();
        // However many rows the table has by now: the key's index finds the next one.
        if let Some(kept) = kept.filter(|kept| kept.is_current()) {
            return Ok(kept);
        }
        let cursor = self.state.cursors.get(id);
        let (plan, schema) = (cursor.plan.clone(), cursor.schema.clone());
        let mut variables = plan.variables.clone();
        variables.extend(query::cursors::key_variables(&keyed.table));
        let properties = &plan.properties;
        let sought = query::cursors::sought_row(
            &plan.select,
            &keyed.table,
            (from_key, forward),
            properties.is_checked(),
            properties.locks,
        );
        let context = self.bind_context_with(&variables, schema.as_deref());
        let statement = query::compile(&select_statement(sought, plan.span), &context)
            .map_err(|_| SqlError::new(16943, &[]))?;
        let statement = Arc::new(statement);
        // No other session may see definitions of this transaction before it commits.
        if statement.is_shareable() && !self.transactions.has_changed_catalog() {
            *place.lock() = Some(statement.clone());
        }
        Ok(statement)
    }
}
