//! Reads of catalog views alone: while other transactions change definitions, the result is computed twice, without their changes
//! and with them. Equal results do not depend on the changes and are returned at once; otherwise the statement waits until these transactions end.

use engine::{CatalogImage, IsolationLevel};
use plan_ir::physical::plan::{CatalogPlan, Plan};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::operations::Open;
use super::room::Room;
use super::simple::Buffered;

/// PlanDependencies of more rows are not compared: then each view waits for itself.
const ROWS_COMPARED_MAX: usize = 50_000;

/// Starts it; waits where it must.
pub(super) fn open<'p>(
    plan: &'p CatalogPlan,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    let reads_uncommitted = runtime.options.isolation == IsolationLevel::ReadUncommitted;
    if reads_uncommitted || runtime.read_as.get().is_some() || !has_unsettled(plan, runtime) {
        return plan.input.open(runtime);
    }
    let Some(settled) = answer(&plan.input, CatalogImage::Settled, runtime)? else {
        return plan.input.open(runtime);
    };
    // A read that fails with the changes of others depends on them.
    if answer(&plan.input, CatalogImage::Present, runtime)
        .is_ok_and(|present| present.as_ref() == Some(&settled))
    {
        return Ok(Box::new(Buffered { rows: settled.into_iter() }));
    }
    let master = runtime.instance.master();
    runtime.look_up(|lookup| {
        plan.databases.iter().try_for_each(|database| lookup.wait_for_changes(database))?;
        lookup.wait_for_changes(&master)
    })?;
    match answer(&plan.input, CatalogImage::Settled, runtime)? {
        Some(rows) => Ok(Box::new(Buffered { rows: rows.into_iter() })),
        None => plan.input.open(runtime),
    }
}

/// Is another transaction changing definitions that it may read? User-defined messages of all databases are in master.
fn has_unsettled(plan: &CatalogPlan, runtime: &Runtime<'_>) -> bool {
    let master = runtime.instance.master();
    runtime.look_up(|lookup| {
        plan.databases.iter().any(|database| lookup.has_unsettled(database)) || lookup.has_unsettled(&master)
    })
}

/// All rows, with every view inside read as that image shows the catalog; `None`: there are too many.
fn answer(plan: &Plan, image: CatalogImage, runtime: &Runtime<'_>) -> Result<Option<Vec<Row>>, SqlError> {
    let before = runtime.read_as.replace(Some(image));
    // Kept results of subqueries are from the other catalog image.
    runtime.forget_kept();
    let rows = rows_of(plan, runtime);
    runtime.forget_kept();
    runtime.read_as.set(before);
    rows
}

fn rows_of(plan: &Plan, runtime: &Runtime<'_>) -> Result<Option<Vec<Row>>, SqlError> {
    let mut source = plan.open(runtime)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut row = Row::new();
    while source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        if rows.len() == ROWS_COMPARED_MAX {
            return Ok(None);
        }
        rows.room_for_one()?;
        rows.push(std::mem::take(&mut row));
    }
    Ok(Some(rows))
}
