//! Operators that process one row at a time: filter, project, top, offset, union all, values.

use plan_ir::physical::change::TopOfRows;
use plan_ir::physical::plan::{BoolNode, Node, Plan, SortNode};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::table::SequenceSource;
use types::{SqlError, Value};

use super::keys::compare_rows;
use super::operations::{Evaluate, Open, Test};
use crate::spill::store::{RowStore, StoredRows};

pub(crate) struct OneRow {
    pub(crate) given: bool,
}

impl RowSource for OneRow {
    fn next(&mut self, _runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        Ok(!std::mem::replace(&mut self.given, true))
    }
}

pub(crate) struct Values<'p> {
    pub(crate) rows: &'p [Vec<Node>],
    pub(crate) at: usize,
}

impl RowSource for Values<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let Some(nodes) = self.rows.get(self.at) else {
            return Ok(false);
        };
        debug_assert_eq!(nodes.len(), self.rows[0].len(), "rows are equally wide");
        self.at += 1;
        row.clear();
        for node in nodes {
            row.push(node.eval(runtime, &[])?);
        }
        Ok(true)
    }
}

/// Rows already in memory.
pub(crate) struct Buffered {
    pub(crate) rows: std::vec::IntoIter<Row>,
}

impl RowSource for Buffered {
    fn next(&mut self, _runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        match self.rows.next() {
            Some(next) => {
                *row = next;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

pub(crate) struct Filter<'p> {
    pub(crate) input: Box<dyn RowSource + 'p>,
    pub(crate) predicate: &'p BoolNode,
}

impl RowSource for Filter<'_> {
    fn again(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        self.input.again(runtime)
    }

    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.input.next(runtime, row)? {
            if self.predicate.is_true(runtime, row)? {
                return Ok(true);
            }
            runtime.check_cancelled()?;
        }
        Ok(false)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        while self.input.next_batch(runtime, batch)? {
            runtime.check_cancelled_after(batch.rows)?;
            let (mut kept, width) = (0, batch.width);
            for at in 0..batch.rows {
                if !self.predicate.is_true(runtime, batch.row(at))? {
                    continue;
                }
                if kept < at {
                    (0..width)
                        .for_each(|column| batch.values.swap(kept * width + column, at * width + column));
                }
                kept += 1;
            }
            batch.values.truncate(kept * width);
            batch.rows = kept;
            if kept > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(crate) struct Project<'p> {
    pub(crate) input: Box<dyn RowSource + 'p>,
    pub(crate) items: &'p [Node],
    pub(crate) buffer: Batch,
}

impl RowSource for Project<'_> {
    fn again(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        self.input.again(runtime)
    }

    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if !self.input.next(runtime, &mut self.buffer.values)? {
            return Ok(false);
        }
        row.clear();
        for node in self.items {
            row.push(node.eval(runtime, &self.buffer.values)?);
        }
        Ok(true)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        if !self.input.next_batch(runtime, &mut self.buffer)? {
            return Ok(false);
        }
        batch.clear(self.items.len());
        for at in 0..self.buffer.rows {
            for node in self.items {
                batch.values.push(node.eval(runtime, self.buffer.row(at))?);
            }
        }
        batch.rows = self.buffer.rows;
        Ok(true)
    }
}

/// Adds the next value of a sequence to each row.
pub(crate) struct NextValue<'p> {
    pub(crate) input: Box<dyn RowSource + 'p>,
    pub(crate) sequence: &'p SequenceSource,
}

impl RowSource for NextValue<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if !self.input.next(runtime, row)? {
            return Ok(false);
        }
        row.push(self.sequence.database.next_value(&self.sequence.def)?);
        Ok(true)
    }
}

pub(crate) struct Top<'p> {
    input: Box<dyn RowSource + 'p>,
    left: u64,
    ties: &'p [SortNode],
    last: Option<Row>,
}

impl<'p> Top<'p> {
    pub(crate) fn open(
        input: &'p Plan,
        count: &'p Node,
        percent: bool,
        ties: &'p [SortNode],
        runtime: &Runtime<'_>,
    ) -> Result<Top<'p>, SqlError> {
        if percent {
            let share = percent_of(count, runtime)?;
            let rows = RowStore::read(input, runtime)?;
            let left = part_of(rows.len(), share);
            return Ok(Top { input: Box::new(StoredRows::new(rows)), left, ties, last: None });
        }
        let left = row_limit(count, runtime)?;
        Ok(Top { input: input.open(runtime)?, left, ties, last: None })
    }
}

/// How many of so many rows TOP takes.
pub(crate) fn top_of_rows(top: &TopOfRows, rows: usize, runtime: &Runtime<'_>) -> Result<u64, SqlError> {
    match top.percent {
        true => Ok(part_of(rows, percent_of(&top.count, runtime)?)),
        false => row_limit(&top.count, runtime),
    }
}

/// The share that TOP PERCENT gives; 1014 when it is NULL, 1031 outside 0 to 100.
fn percent_of(count: &Node, runtime: &Runtime<'_>) -> Result<f64, SqlError> {
    let share = count.eval_f64(runtime, &[])?.ok_or_else(plan_ir::errors::row_count_null)?;
    if (0.0..=100.0).contains(&share) { Ok(share) } else { Err(plan_ir::errors::top_percent_range()) }
}

fn part_of(rows: usize, percent: f64) -> u64 {
    debug_assert!((0.0..=100.0).contains(&percent), "a share of the rows: {percent}");
    (rows as f64 * percent / 100.0).ceil() as u64
}

/// A row count given by an expression; 1014 when it is NULL, 127 when it is negative.
pub(crate) fn row_limit(count: &Node, runtime: &Runtime<'_>) -> Result<u64, SqlError> {
    match count.eval_i64(runtime, &[])? {
        Some(number) if number >= 0 => Ok(number as u64),
        Some(_) => Err(plan_ir::errors::row_count_negative()),
        None => Err(plan_ir::errors::row_count_null()),
    }
}

impl RowSource for Top<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.left > 0 {
            if !self.input.next(runtime, row)? {
                self.left = 0;
                return Ok(false);
            }
            self.left -= 1;
            if self.left == 0 && !self.ties.is_empty() {
                self.last = Some(row.clone());
            }
            return Ok(true);
        }
        let Some(last) = &self.last else {
            return Ok(false);
        };
        if self.input.next(runtime, row)? && compare_rows(self.ties, runtime, last, row)?.is_eq() {
            return Ok(true);
        }
        self.last = None;
        Ok(false)
    }
}

pub(crate) struct Offset<'p> {
    input: Box<dyn RowSource + 'p>,
    skip: u64,
    fetch: Option<u64>,
}

impl<'p> Offset<'p> {
    pub(crate) fn open(
        input: &'p Plan,
        offset: &'p Node,
        fetch: Option<&'p Node>,
        runtime: &Runtime<'_>,
    ) -> Result<Offset<'p>, SqlError> {
        let skip = match offset.eval_i64(runtime, &[])? {
            Some(number) if number >= 0 => number as u64,
            Some(_) => return Err(plan_ir::errors::offset_negative()),
            None => return Err(plan_ir::errors::offset_not_whole()),
        };
        let fetch = match fetch {
            None => None,
            Some(node) => match node.eval_i64(runtime, &[])? {
                Some(number) if number > 0 => Some(number as u64),
                Some(_) => return Err(plan_ir::errors::fetch_not_positive()),
                None => return Err(plan_ir::errors::row_count_null()),
            },
        };
        Ok(Offset { input: input.open(runtime)?, skip, fetch })
    }
}

impl RowSource for Offset<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.skip > 0 {
            self.skip -= 1;
            if !self.input.next(runtime, row)? {
                self.skip = 0;
                self.fetch = Some(0);
                return Ok(false);
            }
            runtime.check_cancelled()?;
        }
        match &mut self.fetch {
            Some(0) => return Ok(false),
            Some(left) => *left -= 1,
            None => {}
        }
        self.input.next(runtime, row)
    }
}

pub(crate) struct Concat<'p> {
    pub(crate) first: Option<Box<dyn RowSource + 'p>>,
    pub(crate) second: &'p Plan,
    pub(crate) opened: Option<Box<dyn RowSource + 'p>>,
}

impl RowSource for Concat<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if let Some(first) = &mut self.first {
            if first.next(runtime, row)? {
                return Ok(true);
            }
            debug_assert!(self.opened.is_none(), "the second part begins once");
            self.first = None;
            self.opened = Some(self.second.open(runtime)?);
        }
        match &mut self.opened {
            Some(second) => second.next(runtime, row),
            None => Ok(false),
        }
    }
}

/// Rows of NULLs, for the outer side of joins.
pub(crate) fn pad_nulls(row: &mut Row, count: usize) {
    row.extend(std::iter::repeat_n(Value::Null, count));
}
