//! The rows that triggers see: kept when a change has been made, read as `inserted` and `deleted` while the triggers run.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use engine::ObjectDef;
use plan_ir::context::{EventTriggers, Fired, TriggerTable};
use plan_ir::physical::plan::{BoolNode, FunctionTable};
use plan_ir::row::Row;
use plan_ir::row_source::{Empty, RowSource};
use plan_ir::runtime::Runtime;
use types::{SqlError, SqlType};

use super::operations::Test;
use super::spill::gathered::{Gathered, GatheredWalk};

/// The changed rows, for as long as the triggers run. Each has the columns of the table at `inserted`, at `deleted`, or at both.
pub(crate) struct TriggerRows {
    rows: Gathered,
    inserted: Option<usize>,
    deleted: Option<usize>,
}

/// How changed rows have been gathered.
#[derive(Clone, Copy)]
pub(crate) enum RowsOf {
    /// The new row.
    Insert,
    /// Locator, old row, new row.
    Update,
    /// Locator, old row.
    Delete,
}

/// What the triggers get.
pub(crate) fn fired(
    triggers: &Arc<EventTriggers>,
    rows: Gathered,
    (form, width): (RowsOf, usize),
    set: Option<&[usize]>,
    runtime: &Runtime<'_>,
) -> Result<Fired, SqlError> {
    let rows = rows.detached(runtime)?;
    let count = rows.len() as u64;
    let (inserted, deleted) = match form {
        RowsOf::Insert => (Some(0), None),
        RowsOf::Update => (Some(1 + width), Some(1)),
        RowsOf::Delete => (None, Some(1)),
    };
    let rows: Rc<dyn Any> = Rc::new(TriggerRows { rows, inserted, deleted });
    // Computed columns and row versions follow the others: no statement sets them.
    let is_set = |ordinal: &usize| match &triggers.target {
        ObjectDef::Table(table) => {
            let column = &table.columns[*ordinal];
            column.computed.is_none() && column.sql_type != SqlType::RowVersion
        }
        _ => true,
    };
    let set = set.map(|set| set.iter().copied().filter(is_set).collect());
    Ok(Fired { triggers: triggers.clone(), rows, count, set })
}

/// Opens a table of the running trigger.
pub(crate) fn open<'p>(
    table: TriggerTable,
    plan: &'p FunctionTable,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    let running = runtime.trigger.ok_or_else(|| plan_ir::errors::invalid_object("inserted"))?;
    let rows = running.fired.rows.clone().downcast::<TriggerRows>();
    let Ok(rows) = rows else { unreachable!("operators have made them") };
    let at = match table {
        TriggerTable::Inserted => rows.inserted,
        TriggerTable::Deleted => rows.deleted,
    };
    let Some(at) = at else { return Ok(Box::new(Empty)) };
    let (width, filter) = (plan.function.columns.len(), plan.filter.as_ref());
    Ok(Box::new(TriggerScan { rows, walk: GatheredWalk::default(), at, width, filter }))
}

struct TriggerScan<'p> {
    rows: Rc<TriggerRows>,
    walk: GatheredWalk,
    at: usize,
    width: usize,
    filter: Option<&'p BoolNode>,
}

impl RowSource for TriggerScan<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while let Some(found) = self.walk.next(runtime, &self.rows.rows)? {
            runtime.check_cancelled()?;
            row.clear();
            row.extend_from_slice(&found[self.at..self.at + self.width]);
            let is_kept = match self.filter {
                Some(filter) => filter.is_true(runtime, row)?,
                None => true,
            };
            if is_kept {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
