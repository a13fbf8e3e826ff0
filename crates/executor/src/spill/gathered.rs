//! [`Gathered`]: rows that a statement gathers completely before it processes the first one: the rows to be changed, and those of
//! its OUTPUT. All are in memory, or all on disk; on disk their memory is free for running operators.

use std::ops::ControlFlow;
use std::rc::Rc;

use engine::Run;
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::{Held, RowWriter, RunRows, row_bytes};
use crate::room::Room;

/// The largest number of rows handed out together, for a caller that makes new data from each row.
pub(crate) const MANY_AT_ONCE: usize = 64 << 10;
/// For a caller that walks a table once for all rows handed out.
pub(crate) const ALL_AT_ONCE: usize = usize::MAX;
/// Bytes of rows that come from disk and are handed out together: what an operator may keep at least, within these.
const BYTES_AT_ONCE: std::ops::RangeInclusive<usize> = 1 << 20..=16 << 20;

/// Rows that outlive their statement stay in memory up to this.
const DETACHED_BYTES_MAX: usize = 1 << 20;

/// See the heading. Rows are added, `finish` is called, then they are read as often as wanted.
///
/// ```text
/// IN MEMORY ──push: no more fit──► BEING WRITTEN ──finish──► ON DISK
/// ```
#[derive(Default)]
pub(crate) struct Gathered {
    rows: Vec<Row>,
    /// A single row is kept without charge.
    held: Option<Held>,
    writer: Option<RowWriter>,
    run: Option<Rc<Run>>,
    count: usize,
}

/// A cursor over gathered rows.
#[derive(Default)]
pub(crate) struct GatheredWalk {
    at: usize,
    reader: Option<RunRows<Rc<Run>>>,
    row: Row,
}

impl Gathered {
    /// One more row.
    pub(crate) fn push(&mut self, runtime: &Runtime<'_>, row: Row) -> Result<(), SqlError> {
        assert!(self.run.is_none(), "all rows come before the first is read");
        self.count += 1;
        if let Some(writer) = &mut self.writer {
            return writer.push(&row);
        }
        self.rows.room_for_one()?;
        let bytes = row_bytes(&row);
        self.rows.push(row);
        if self.rows.len() == 1 {
            return Ok(());
        }
        let held = self.held.get_or_insert_with(|| Held::new(runtime));
        match held.add(runtime, bytes)? {
            true => self.put_out(runtime),
            false => Ok(()),
        }
    }

    #[cold]
    fn put_out(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let held = self.held.as_mut().expect("what is full was charged");
        let mut writer = RowWriter::new(held.workspace(), runtime)?;
        for row in std::mem::take(&mut self.rows) {
            runtime.check_cancelled()?;
            writer.push(&row)?;
        }
        held.clear();
        self.writer = Some(writer);
        Ok(())
    }

    /// All have come.
    pub(crate) fn finish(mut self) -> Result<Gathered, SqlError> {
        self.run = self.writer.take().map(RowWriter::finish).transpose()?.map(Rc::new);
        self.assert_state();
        Ok(self)
    }

    /// All rows without their charge: they outlive their statement, whose grant must not wait for others. Many rows go to disk.
    pub(crate) fn detached(mut self, runtime: &Runtime<'_>) -> Result<Gathered, SqlError> {
        let is_large = self.held.as_ref().is_some_and(|held| held.bytes() > DETACHED_BYTES_MAX);
        if is_large && self.run.is_none() && self.writer.is_none() {
            self.put_out(runtime)?;
        }
        let mut finished = if self.run.is_none() { self.finish()? } else { self };
        finished.held = None;
        Ok(finished)
    }

    fn assert_state(&self) {
        assert!(self.writer.is_none(), "finished");
        let kept = self.rows.len() + self.run.as_ref().map_or(0, |run| run.records() as usize);
        assert_eq!(kept, self.count, "every row is in one place");
        assert!(self.run.is_none() || self.rows.is_empty(), "in memory or on disk");
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Hands them out in the order in which they came, so many at once at most; fewer of those that come from disk.
    pub(crate) fn for_each_chunk(
        &self,
        runtime: &Runtime<'_>,
        rows_max: usize,
        work: &mut dyn FnMut(&[Row]) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.assert_state();
        let Some(run) = &self.run else {
            return self.rows.chunks(rows_max).try_for_each(work);
        };
        let workspace = self.held.as_ref().expect("rows read in chunks are not detached").workspace();
        let rows_max = workspace.rows_max().clamp(1, rows_max);
        let bytes_max = workspace.floor_bytes().clamp(*BYTES_AT_ONCE.start(), *BYTES_AT_ONCE.end());
        let mut source = RunRows::new(run.reader());
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        loop {
            let mut row = Row::new();
            let is_there = source.next(runtime, &mut row)?;
            if is_there {
                bytes += row_bytes(&row);
                chunk.room_for_one()?;
                chunk.push(row);
            }
            if !is_there || chunk.len() >= rows_max || bytes >= bytes_max {
                if !chunk.is_empty() {
                    work(&chunk)?;
                }
                chunk.clear();
                bytes = 0;
            }
            if !is_there {
                return Ok(());
            }
        }
    }

    /// Passes the rows one by one to `work`, until it stops.
    pub(crate) fn for_each(
        &self,
        runtime: &Runtime<'_>,
        work: &mut dyn FnMut(&Row) -> Result<ControlFlow<()>, SqlError>,
    ) -> Result<(), SqlError> {
        let mut walk = GatheredWalk::default();
        while let Some(row) = walk.next(runtime, self)? {
            if work(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl GatheredWalk {
    /// The next row.
    pub(crate) fn next<'a>(
        &'a mut self,
        runtime: &Runtime<'_>,
        gathered: &'a Gathered,
    ) -> Result<Option<&'a Row>, SqlError> {
        gathered.assert_state();
        let Some(run) = &gathered.run else {
            self.at += 1;
            return Ok(gathered.rows.get(self.at - 1));
        };
        let reader = self.reader.get_or_insert_with(|| RunRows::new(run.reader()));
        Ok(reader.next(runtime, &mut self.row)?.then_some(&self.row))
    }
}
