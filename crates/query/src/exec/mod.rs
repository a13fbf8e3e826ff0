//! The executor: Volcano iterators over a physical plan, one row buffer handed down and filled.

pub(crate) mod aggregate;
pub(crate) mod cascade;
pub(crate) mod constraints;
pub(crate) mod delete;
pub(crate) mod hash_join;
pub(crate) mod insert;
pub(crate) mod keys;
pub(crate) mod merge;
pub(crate) mod nested_loop;
pub(crate) mod output;
pub(crate) mod references;
pub(crate) mod room;
pub(crate) mod scan;
pub(crate) mod set_op;
pub(crate) mod simple;
pub(crate) mod sort;
pub(crate) mod spill;
pub(crate) mod store;
pub(crate) mod subquery;
pub(crate) mod update;
pub(crate) mod window;

use types::{SqlError, Value};

use crate::expr::runtime::Runtime;
use crate::plan::physical::Plan;

/// A row under construction or just read.
pub(crate) type Row = Vec<Value>;

/// A running operator.
pub(crate) trait RowSource {
    /// Replaces `row` by the next row; false at the end, after which it is not called again.
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError>;

    /// Replaces the batch by the next rows, at least one; false at the end, after which it is not called again. Whoever reads takes either
    /// rows or batches.
    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        if !self.next(runtime, &mut batch.values)? {
            return Ok(false);
        }
        (batch.rows, batch.width) = (1, batch.values.len());
        Ok(true)
    }
}

/// Rows of equal width, one behind the other.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) values: Row,
    pub(crate) rows: usize,
    pub(crate) width: usize,
}

impl Batch {
    /// Begins anew.
    pub(crate) fn clear(&mut self, width: usize) {
        self.values.clear();
        (self.rows, self.width) = (0, width);
    }

    /// One of its rows.
    #[inline]
    pub(crate) fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..(at + 1) * self.width]
    }
}

/// Starts an operator tree. Reads of parameters happen here or in `next`, so they must be set before.
pub(crate) fn open<'p>(plan: &'p Plan, runtime: &Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    Ok(match plan {
        Plan::OneRow => Box::new(simple::OneRow { given: false }),
        Plan::Empty => Box::new(simple::Empty),
        Plan::Values(rows) => Box::new(simple::Values { rows, at: 0 }),
        Plan::Scan(scan) => scan::open(scan, runtime)?,
        Plan::System(system) => scan::open_system(system, runtime)?,
        Plan::Filter { input, predicate } => {
            Box::new(simple::Filter { input: open(input, runtime)?, predicate })
        }
        Plan::Project { input, items } => {
            Box::new(simple::Project { input: open(input, runtime)?, items, buffer: Batch::default() })
        }
        Plan::NestedLoop(join) => nested_loop::open(join, runtime)?,
        Plan::HashJoin(join) => Box::new(hash_join::HashJoin::new(join, runtime)),
        Plan::Aggregate(aggregate) => Box::new(aggregate::Aggregate::new(aggregate)),
        Plan::Window(window) if window.only_numbers_rows() => {
            Box::new(window::RowNumbers::open(window, runtime)?)
        }
        Plan::Window(window) => Box::new(window::Window::new(window)),
        Plan::Distinct { input, collations } => {
            Box::new(set_op::Distinct::new(open(input, runtime)?, collations, runtime))
        }
        Plan::Sort { input, keys, limit } => Box::new(sort::Sort::new(input, keys, limit.as_ref())),
        Plan::Draw { input, sequence } => Box::new(simple::Draw { input: open(input, runtime)?, sequence }),
        Plan::Top { input, count, percent, ties } => {
            Box::new(simple::Top::open(input, count, *percent, ties, runtime)?)
        }
        Plan::Offset { input, offset, fetch } => {
            Box::new(simple::Offset::open(input, offset, fetch.as_ref(), runtime)?)
        }
        Plan::Concat(left, right) => {
            Box::new(simple::Concat { first: Some(open(left, runtime)?), second: right, opened: None })
        }
        Plan::SetOp { intersect, left, right, collations } => {
            Box::new(set_op::set_op(*intersect, left, right, collations, runtime))
        }
        Plan::Recursive { anchor, step, work } => {
            Box::new(set_op::Recursive::open(anchor, step, *work, runtime)?)
        }
        Plan::WorkTable(work) => Box::new(set_op::WorkTable { work: *work, at: 0 }),
    })
}

/// Calls `f` for every row of a table.
pub(crate) fn scan_all(
    source: &crate::plan::table::TableSource,
    runtime: &Runtime<'_>,
    f: &mut dyn FnMut(&Row) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let options =
        engine::ScanOptions { isolation: runtime.options.isolation, ..engine::ScanOptions::default() };
    let mut cursor = {
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        source.table.scan(transaction, source.def.base().index_id, &options, None)?
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
