//! DISTINCT, EXCEPT, INTERSECT and recursive common table expressions.

use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::Plan;
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use rustc_hash::FxHashSet;
use types::{Collation, SqlError, Value};

use super::hash_join::HashJoin;
use super::keys::write_row_key;
use super::operations::Open;
use super::room::Room;
use super::spill::{Held, hashed_bytes};
use crate::spill::parts::Later;

/// The keys that distinguish rows.
pub(crate) enum Compared<'p> {
    /// All columns, under these collations.
    Columns(&'p [Collation]),
    /// The last column alone, a locator, which goes no further.
    LastLocator,
    /// A locator at this position.
    LocatorAt(usize),
}

impl Compared<'_> {
    fn fits(&self, width: usize) -> bool {
        match self {
            Compared::Columns(collations) => width == collations.len(),
            Compared::LastLocator => width > 0,
            Compared::LocatorAt(at) => *at < width,
        }
    }
}

/// Passes each row the first time. Rows for whose keys there is no room are put off until the input ends.
pub(crate) struct Distinct<'p> {
    input: Box<dyn RowSource + 'p>,
    compared: Compared<'p>,
    seen: FxHashSet<Box<[u8]>>,
    key: Vec<u8>,
    held: Held,
    is_full: bool,
    later: Later,
}

impl<'p> Distinct<'p> {
    pub(crate) fn new(
        input: Box<dyn RowSource + 'p>,
        compared: Compared<'p>,
        runtime: &Runtime<'_>,
    ) -> Distinct<'p> {
        Distinct {
            input,
            compared,
            seen: FxHashSet::default(),
            key: Vec::new(),
            held: Held::new(runtime),
            is_full: false,
            later: Later::default(),
        }
    }
}

impl RowSource for Distinct<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            while self.input.next(runtime, row)? {
                runtime.check_cancelled()?;
                debug_assert!(self.compared.fits(row.len()), "rows have what tells them apart");
                match self.compared {
                    Compared::Columns(collations) => write_row_key(row, collations, &mut self.key),
                    Compared::LastLocator => write_locator(&row[row.len() - 1], &mut self.key),
                    Compared::LocatorAt(at) => write_locator(&row[at], &mut self.key),
                }
                if self.seen.contains(self.key.as_slice()) {
                    continue;
                }
                if self.is_full {
                    self.later.put(runtime, self.held.workspace(), &self.key, row)?;
                    continue;
                }
                self.seen.room_for_one()?;
                self.seen.insert(self.key.as_slice().into());
                self.is_full = self.held.add(runtime, hashed_bytes(&self.key))?;
                if matches!(self.compared, Compared::LastLocator) {
                    row.pop();
                }
                return Ok(true);
            }
            let Some(part) = self.later.next_part()? else { return Ok(false) };
            self.input = Box::new(part);
            self.seen = FxHashSet::default();
            self.held.clear();
            self.is_full = false;
        }
    }
}

/// The bytes of a locator; none of one that is missing. Unlike binary values, two that differ by zeros at their end are two.
fn write_locator(locator: &Value, key: &mut Vec<u8>) {
    key.clear();
    match locator {
        Value::Binary(bytes) => key.extend_from_slice(bytes.as_bytes()),
        missing => assert!(missing.is_null(), "a locator is bytes"),
    }
}

/// EXCEPT and INTERSECT: distinct left rows without, or with, an equal right row. NULLs are equal here.
pub(crate) fn set_op<'p>(
    intersect: bool,
    left: &'p Plan,
    right: &'p Plan,
    collations: &'p [Collation],
    runtime: &Runtime<'_>,
) -> Distinct<'p> {
    let kind = if intersect { JoinKind::Semi } else { JoinKind::Anti };
    let joined = HashJoin::of_whole_rows(kind, left, right, collations, runtime);
    Distinct::new(Box::new(joined), Compared::Columns(collations), runtime)
}

/// Rows of the anchor, then of the step over the rows of the previous round. A row of a round past the limit is error 530; that the last
/// round within it has been the last shows when the next one makes no row.
pub(crate) struct Recursive<'p> {
    step: &'p Plan,
    work: u32,
    running: Box<dyn RowSource + 'p>,
    made: Vec<Row>,
    rounds: u32,
}

impl<'p> Recursive<'p> {
    pub(crate) fn open(
        anchor: &'p Plan,
        step: &'p Plan,
        work: u32,
        runtime: &Runtime<'_>,
    ) -> Result<Recursive<'p>, SqlError> {
        Ok(Recursive { step, work, running: anchor.open(runtime)?, made: Vec::new(), rounds: 0 })
    }
}

impl RowSource for Recursive<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            if self.running.next(runtime, row)? {
                runtime.check_cancelled()?;
                let limit = runtime.max_recursion();
                if limit != 0 && self.rounds > limit {
                    return Err(plan_ir::errors::max_recursion(limit));
                }
                debug_assert!(
                    self.made.first().is_none_or(|first| first.len() == row.len()),
                    "rows of a recursion are equally wide"
                );
                self.made.room_for_one()?;
                self.made.push(row.clone());
                return Ok(true);
            }
            if self.made.is_empty() {
                return Ok(false);
            }
            self.rounds += 1;
            runtime.set_work_table(self.work, std::mem::take(&mut self.made));
            self.running = self.step.open(runtime)?;
        }
    }
}

/// Reads the rows that the recursion made last.
pub(crate) struct WorkTable {
    pub(crate) work: u32,
    pub(crate) at: usize,
}

impl RowSource for WorkTable {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let found = runtime.work_table_row(self.work, self.at, row);
        self.at += 1;
        Ok(found)
    }
}
