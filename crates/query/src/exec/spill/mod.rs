//! What operators keep and where: memory up to the statement's grant, disk beyond it.
//!
//! ```text
//!  Held::add (a row more) ──► charged to the statement's Workspace ──more than SMALL_BYTES──► a grant of the instance's budget
//!                               │ the grant is used up
//!                               ▼
//!            true: the operator puts rows on disk (`Sorter` runs, `Later` and joins partitions, `RowStore` the rows behind)
//! ```
//!
//! An operator may always keep a little (`floor_bytes`), whoever else of the statement has the rest: so each pass over what lies on disk
//! brings it further. The limit of `os::memory` stands behind all of it: who keeps what cannot go to disk gets 701.

pub(super) mod codec;
pub(super) mod parts;
pub(super) mod sorter;
pub(super) mod store;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine::{Grant, GrantRequest, Instance, Run, RunReader, RunWriter, SpillFile, Workspaces};
use types::{SqlError, Value};

use super::{Row, RowSource};
use crate::expr::runtime::Runtime;

/// A statement that keeps no more asks for no grant.
const SMALL_BYTES: usize = 1 << 20;
/// What an operator may keep at least.
const FLOOR_BYTES_MIN: usize = 256 << 10;
/// An operator's charge grows by at least so much.
const STEP_BYTES: usize = 64 << 10;
/// How long a query waits for its memory when `query wait (s)` is -1.
const QUERY_WAIT_S: u64 = 300;

/// The memory of one statement's operators.
pub(crate) struct Workspace {
    allowed_bytes: Cell<usize>,
    used_bytes: Cell<usize>,
    rows_max: usize,
    grant: RefCell<Option<Grant>>,
    file: RefCell<Option<Rc<SpillFile>>>,
    spills: Cell<u64>,
}

impl Workspace {
    /// Of a statement that has asked for nothing yet.
    pub(crate) fn new(instance: &Instance) -> Workspace {
        let is_limited = Workspaces::total_bytes().is_some();
        Workspace {
            allowed_bytes: Cell::new(if is_limited { SMALL_BYTES } else { usize::MAX }),
            used_bytes: Cell::new(0),
            rows_max: instance.workspaces().rows_in_memory_max(),
            grant: RefCell::new(None),
            file: RefCell::new(None),
            spills: Cell::new(0),
        }
    }

    /// Charges `bytes` if they are within what is granted.
    fn charge(&self, bytes: usize) -> bool {
        let used = self.used_bytes.get().saturating_add(bytes);
        let is_within = used <= self.allowed_bytes.get() && os::memory::ask(bytes).is_ok();
        if is_within {
            self.used_bytes.set(used);
        }
        is_within
    }

    /// Asks for a grant, once a statement; false when it has one.
    fn ask_for_grant(&self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        if self.allowed_bytes.get() == usize::MAX || self.grant.borrow().is_some() {
            return Ok(false);
        }
        let instance = runtime.instance;
        let required_kb = u64::try_from(instance.configuration(engine::MIN_QUERY_MEMORY)).unwrap_or(0);
        let request = GrantRequest {
            session_id: runtime.facts.session_id(),
            required_bytes: required_kb * 1024,
            timeout_s: u64::try_from(instance.configuration(engine::QUERY_WAIT)).unwrap_or(QUERY_WAIT_S),
        };
        let grant = instance.workspaces().grant(request)?;
        let bytes =
            grant.as_ref().map_or(usize::MAX, |grant| usize::try_from(grant.bytes()).unwrap_or(usize::MAX));
        self.allowed_bytes.set(bytes);
        *self.grant.borrow_mut() = grant;
        Ok(true)
    }

    fn floor_bytes(&self) -> usize {
        (self.allowed_bytes.get() / 8).max(FLOOR_BYTES_MIN)
    }

    /// How often an operator had more than fits.
    pub(crate) fn spills(&self) -> u64 {
        self.spills.get()
    }

    /// A run in the statement's file.
    pub(super) fn writer(&self, runtime: &Runtime<'_>) -> Result<RunWriter, SqlError> {
        let mut file = self.file.borrow_mut();
        if file.is_none() {
            *file = Some(SpillFile::create(runtime.instance)?);
        }
        Ok(file.as_ref().expect("made above").writer())
    }

    /// How many runs may be read at once.
    fn fan_in(&self) -> usize {
        if self.rows_max < usize::MAX {
            3
        } else {
            (self.floor_bytes() / engine::SPILL_BLOCK_BYTES).clamp(4, 64)
        }
    }
}

/// What an operator keeps, charged to its statement until it is dropped.
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
        if self.bytes <= self.charged_bytes && self.rows < self.workspace.rows_max {
            return Ok(false);
        }
        self.is_full(runtime)
    }

    #[cold]
    fn is_full(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let is_full = self.charge(runtime)?;
        if is_full && !std::mem::replace(&mut self.has_spilled, true) {
            self.workspace.spills.set(self.workspace.spills.get() + 1);
        }
        Ok(is_full)
    }

    /// Charges what has come since the last time; true when there is no room for it.
    fn charge(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        if self.rows >= self.workspace.rows_max {
            return Ok(true);
        }
        let step = self.bytes.saturating_sub(self.charged_bytes).max(STEP_BYTES).max(self.charged_bytes / 4);
        let is_charged = self.workspace.charge(step)
            || (self.workspace.ask_for_grant(runtime)? && self.workspace.charge(step));
        if is_charged {
            self.charged_bytes += step;
            return Ok(false);
        }
        if self.charged_bytes + step > self.workspace.floor_bytes() {
            return Ok(true);
        }
        self.workspace.used_bytes.set(self.workspace.used_bytes.get().saturating_add(step));
        self.charged_bytes += step;
        Ok(false)
    }

    /// Nothing is kept any more.
    pub(super) fn clear(&mut self) {
        (self.rows, self.bytes) = (0, 0);
        let charged = std::mem::take(&mut self.charged_bytes);
        self.workspace.used_bytes.set(self.workspace.used_bytes.get().saturating_sub(charged));
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

/// What a row takes, about: its values, what they have outside of themselves, the allocator's share.
#[inline]
pub(super) fn row_bytes(row: &[Value]) -> usize {
    let long: usize = row.iter().map(Value::long_bytes).sum();
    size_of_val(row) + long + size_of::<Row>() + 16
}

/// What a key takes in a table, about.
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
        Ok(RowWriter { writer: workspace.writer(runtime)?, record: Vec::new() })
    }

    pub(super) fn push(&mut self, row: &[Value]) -> Result<(), SqlError> {
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
