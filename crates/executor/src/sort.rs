//! Sort, stable; with a limit it keeps only the first rows.

use plan_ir::physical::plan::{Node, Plan, SortNode};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::operations::{Evaluate, Open};
use super::simple::row_limit;
use crate::spill::sorter::{Keyed, Sorted, Sorter, key_order};

pub(crate) struct Sort<'p> {
    input: &'p Plan,
    keys: &'p [SortNode],
    limit: Option<&'p Node>,
    sorted: Option<Sorted>,
}

impl<'p> Sort<'p> {
    pub(crate) fn new(input: &'p Plan, keys: &'p [SortNode], limit: Option<&'p Node>) -> Sort<'p> {
        Sort { input, keys, limit, sorted: None }
    }

    fn sort(&mut self, runtime: &Runtime<'_>) -> Result<Sorted, SqlError> {
        let limit = match self.limit {
            Some(node) => usize::try_from(row_limit(node, runtime)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        let mut sorter = Sorter::new(key_order(self.keys).collect(), limit, runtime);
        let mut source = self.input.open(runtime)?;
        let mut row = Row::new();
        while source.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            let width = row.len();
            for key in self.keys {
                let value = key.node.eval(runtime, &row[..width])?;
                row.push(value);
            }
            if sorter.wants(&row[width..]) {
                let empty = Row::with_capacity(row.len());
                sorter.add(runtime, Keyed::new(std::mem::replace(&mut row, empty), width))?;
            }
        }
        sorter.finish(runtime)
    }
}

impl RowSource for Sort<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(runtime)?);
        }
        match self.sorted.as_mut().expect("sorted above").next()? {
            Some(next) => {
                *row = next.into_row();
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
