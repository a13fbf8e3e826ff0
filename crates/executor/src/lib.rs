//! The executor: Volcano iterators over a physical plan, which fill a row buffer of the caller. It depends on the plan, not on the planner.

mod aggregate;
mod cascade;
mod catalog;
mod changed;
pub mod constraints;
pub mod delete;
mod deleted;
mod eval;
mod formatted;
mod function_table;
pub mod functions;
pub mod generated;
mod hash_join;
pub mod insert;
mod intersection;
mod key_table;
mod keys;
mod measured;
pub mod merge;
mod merge_join;
mod nested_loop;
pub mod new_rows;
mod open_filtered;
pub mod operations;
mod output;
mod partition;
mod pushed_predicate;
mod references;
mod room;
mod runtime_filter;
mod scan;
mod set_op;
mod simple;
mod sort;
mod spill;
mod startup;
mod store;
mod stream_aggregate;
mod subquery;
mod sums;
mod trigger;
pub mod update;
mod uses;
mod verified;
mod window;

use plan_ir::physical::plan::Plan;
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::{Empty, RowSource};
use plan_ir::runtime::Runtime;
use types::SqlError;

use self::operations::Open;

impl Open for Plan {
    fn open<'p>(&'p self, runtime: &Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError> {
        match runtime.profile() {
            None => open_alone(self, runtime),
            Some(profile) => measured::Measured::open(self, profile, || open_alone(self, runtime)),
        }
    }
}

/// The operators without a measure around them.
fn open_alone<'p>(plan: &'p Plan, runtime: &Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    Ok(match plan {
        Plan::OneRow => Box::new(simple::OneRow { given: false }),
        Plan::Empty => Box::new(Empty),
        Plan::Values(rows) => Box::new(simple::Values { rows, at: 0 }),
        Plan::Scan(scan) => scan::open(scan, runtime)?,
        Plan::System(system) => scan::open_system(system, runtime)?,
        Plan::FunctionTable(table) => function_table::open(table, runtime)?,
        Plan::Filter { input, predicate } => {
            Box::new(simple::Filter { input: input.open(runtime)?, predicate })
        }
        Plan::Startup { input, predicate } => {
            Box::new(startup::Startup::open(predicate, Box::new(|runtime| input.open(runtime)), runtime)?)
        }
        Plan::Project { input, items } => {
            Box::new(simple::Project { input: input.open(runtime)?, items, buffer: Batch::default() })
        }
        Plan::NestedLoop(join) => nested_loop::open(join, runtime)?,
        Plan::HashJoin(join) => Box::new(hash_join::HashJoin::new(join, runtime)),
        Plan::MergeJoin(join) => Box::new(merge_join::MergeJoin::open(join, runtime)?),
        Plan::Aggregate(aggregate) if aggregate.is_in_order => {
            Box::new(stream_aggregate::StreamAggregate::open(aggregate, runtime)?)
        }
        Plan::Aggregate(aggregate) => Box::new(aggregate::Aggregate::new(aggregate)),
        Plan::Window(window) if window.only_numbers_rows() => {
            Box::new(window::RowNumbers::open(window, runtime)?)
        }
        Plan::Window(window) => Box::new(window::Window::new(window)),
        Plan::Distinct { input, collations, by_locator } => {
            let compared = match by_locator {
                true => set_op::Compared::LastLocator,
                false => set_op::Compared::Columns(collations),
            };
            Box::new(set_op::Distinct::new(input.open(runtime)?, compared, runtime))
        }
        Plan::Ordered { input, keys } => {
            verified::verified(input.open(runtime)?, input, runtime, || verified::Claim::sorted(keys))
        }
        Plan::Sort { input, keys, limit } => Box::new(sort::Sort::new(input, keys, limit.as_ref())),
        Plan::NextValue { input, sequence } => {
            Box::new(simple::NextValue { input: input.open(runtime)?, sequence })
        }
        Plan::Formatted { input, format } => {
            Box::new(formatted::Formatted::new(input.open(runtime)?, format))
        }
        Plan::Top { input, count, percent, ties } => {
            Box::new(simple::Top::open(input, count, *percent, ties, runtime)?)
        }
        Plan::Offset { input, offset, fetch } => {
            Box::new(simple::Offset::open(input, offset, fetch.as_ref(), runtime)?)
        }
        Plan::Concat(left, right) => {
            Box::new(simple::Concat { first: Some(left.open(runtime)?), second: right, opened: None })
        }
        Plan::SetOp { intersect, left, right, collations } => {
            Box::new(set_op::set_op(*intersect, left, right, collations, runtime))
        }
        Plan::Recursive { anchor, step, work } => {
            Box::new(set_op::Recursive::open(anchor, step, *work, runtime)?)
        }
        Plan::Spool { input, number } => Box::new(spill::store::KeptRows::new(input, *number)),
        Plan::Catalog(catalog) => catalog::open(catalog, runtime)?,
        Plan::WorkTable(work) => Box::new(set_op::WorkTable { work: *work, at: 0 }),
    })
}

/// Calls `f` for every row of a table.
pub fn scan_all(
    source: &plan_ir::table::TableSource,
    runtime: &Runtime<'_>,
    f: &mut dyn FnMut(&Row) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let options =
        engine::ScanOptions { isolation: runtime.options.isolation, ..engine::ScanOptions::default() };
    let mut cursor = {
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        let index_id = source.def.base().index_id;
        uses::note_read(source, source, (index_id, false, false), runtime);
        source.table.scan(transaction, index_id, &options, None)?
    };
    let mut row = Row::new();
    loop {
        let found = {
            let mut transactions = runtime.transactions.borrow_mut();
            let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
            cursor.next(transaction, &mut row)?
        };
        if !found {
            return Ok(());
        }
        runtime.check_cancelled()?;
        f(&row)?;
    }
}
