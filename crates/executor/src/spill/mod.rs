//! Rows that operators keep: in memory up to the statement's grant, on disk beyond it.
//!
//! ```text
//!  Held::add (a row more) ──► charged to the statement's Workspace ──more than SMALL_BYTES──► a grant of the instance's budget
//!                               │ the grant is used up
//!                               ▼
//!            true: the operator puts rows on disk (`Sorter` runs, `Later` and joins partitions, `RowStore` the rows behind)
//! ```
//!
//! An operator may always keep a little (`floor_bytes`), whatever the other operators of the statement hold, so each pass over spilled rows
//! makes progress. The limit of `os::memory` bounds all of it: an operator whose data cannot spill gets error 701.

pub(super) mod codec;
pub(super) mod gathered;
pub(super) mod parts;
pub(super) mod sorter;
pub(super) mod store;

use std::rc::Rc;

use engine::{Run, RunReader, RunWriter};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::workspace::Workspace;
use types::{SqlError, Value};

/// An operator's charge grows by at least so much.
const STEP_BYTES: usize = 64 << 10;

/// The memory that an operator keeps, charged to its statement until it is dropped.
pub(super) struct Held {
    workspace: Rc<Workspace>,
    rows: usize,
    bytes: usize,
    charged_bytes: usize,
    has_spilled: bool,
}

impl Held {
    pub(super) fn new(runtime: &Runtime<'_>) -> Held {
        Held { workspace: runtime.workspace(), rows: 0, bytes: 0, charged_bytes: 0, has_spilled: false }
    }

    /// One more is kept, of so many bytes. True: no more fit.
    #[inline]
    pub(super) fn add(&mut self, runtime: &Runtime<'_>, bytes: usize) -> Result<bool, SqlError> {
        self.rows += 1;
        self.add_bytes(runtime, bytes)
    }

    /// What is kept has grown.
    #[inline]
    pub(super) fn add_bytes(&mut self, runtime: &Runtime<'_>, bytes: usize) -> Result<bool, SqlError> {
        self.bytes += bytes;
        if self.bytes <= self.charged_bytes && self.rows < self.workspace.rows_max() {
            return Ok(false);
        }
        self.is_full(runtime)
    }

    #[cold]
    fn is_full(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let is_full = self.charge(runtime)?;
        if is_full && !std::mem::replace(&mut self.has_spilled, true) {
            self.workspace.note_spill();
        }
        Ok(is_full)
    }

    /// Charges what has come since the last time; true when there is no room for it.
    fn charge(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        if self.rows >= self.workspace.rows_max() {
            return Ok(true);
        }
        let step = self.bytes.saturating_sub(self.charged_bytes).max(STEP_BYTES).max(self.charged_bytes / 4);
        let is_charged = self.workspace.charge(step)
            || (self.workspace.ask_for_grant(runtime.instance, runtime.state.session_id())?
                && self.workspace.charge(step));
        if is_charged {
            self.charged_bytes += step;
            return Ok(false);
        }
        if self.charged_bytes + step > self.workspace.floor_bytes() {
            return Ok(true);
        }
        self.workspace.charge_beyond(step);
        self.charged_bytes += step;
        Ok(false)
    }

    /// Nothing is kept any more.
    pub(super) fn clear(&mut self) {
        (self.rows, self.bytes) = (0, 0);
        let charged = std::mem::take(&mut self.charged_bytes);
        debug_assert!(charged <= self.workspace.used_bytes(), "what is charged is given back once");
        self.workspace.release(charged);
    }

    /// How much is kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn workspace(&self) -> &Rc<Workspace> {
        &self.workspace
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The approximate size of a row: its values, their heap data, the allocator's overhead.
#[inline]
pub(super) fn row_bytes(row: &[Value]) -> usize {
    let long: usize = row.iter().map(Value::long_bytes).sum();
    size_of_val(row) + long + size_of::<Row>() + 16
}

/// The approximate size of a key in a hash table.
#[inline]
pub(super) fn hashed_bytes(key: &[u8]) -> usize {
    key.len() + 64
}

/// Rows on their way to disk.
pub(super) struct RowWriter {
    writer: RunWriter,
    record: Vec<u8>,
}

impl RowWriter {
    pub(super) fn new(workspace: &Workspace, runtime: &Runtime<'_>) -> Result<RowWriter, SqlError> {
        Ok(RowWriter { writer: workspace.writer(runtime.instance)?, record: Vec::new() })
    }

    pub(super) fn push(&mut self, row: &[Value]) -> Result<(), SqlError> {
        debug_assert!(!row.is_empty() || self.record.is_empty(), "rows of one run are equally wide");
        self.record.clear();
        codec::encode_row(row, &mut self.record);
        self.writer.push(&self.record)
    }

    pub(super) fn finish(self) -> Result<Run, SqlError> {
        self.writer.finish()
    }
}

/// Rows from disk, in the order in which they were written.
pub(super) struct RunRows<R> {
    reader: RunReader<R>,
    left: u64,
    record: Vec<u8>,
}

impl<R: AsRef<Run>> RunRows<R> {
    pub(super) fn new(reader: RunReader<R>) -> RunRows<R> {
        RunRows { left: reader.run().records(), reader, record: Vec::new() }
    }
}

impl<R: AsRef<Run>> RowSource for RunRows<R> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.left == 0 {
            return Ok(false);
        }
        runtime.check_cancelled()?;
        self.left -= 1;
        self.reader.next(&mut self.record)?;
        row.clear();
        codec::decode_row(&self.record, row);
        Ok(true)
    }
}
