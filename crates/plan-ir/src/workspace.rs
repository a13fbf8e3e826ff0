//! The memory of one statement's operators: the grant from the instance's budget, and the spill file.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use engine::{GatheredMemory, Grant, GrantRequest, Instance, RunWriter, SpillFile, Workspaces};
use types::SqlError;

use crate::measure::MemoryUse;

/// A statement that keeps no more asks for no grant.
const SMALL_BYTES: usize = 1 << 20;
/// What an operator may keep at least.
const FLOOR_BYTES_MIN: usize = 256 << 10;
/// How long a query waits for its memory when `query wait (s)` is -1.
const QUERY_WAIT_S: u64 = 300;

/// The memory of one statement's operators.
pub struct Workspace {
    allowed_bytes: Cell<usize>,
    used_bytes: Cell<usize>,
    rows_max: usize,
    /// The peak of memory in use.
    peak_bytes: Cell<usize>,
    grant: RefCell<Option<Grant>>,
    file: RefCell<Option<Rc<SpillFile>>>,
    spills: Cell<u64>,
    of_keys: Cell<GatheredMemory>,
}

impl Workspace {
    /// The workspace of a statement without a grant yet.
    pub fn new(instance: &Instance) -> Workspace {
        let is_limited = Workspaces::total_bytes().is_some();
        Workspace {
            allowed_bytes: Cell::new(if is_limited { SMALL_BYTES } else { usize::MAX }),
            used_bytes: Cell::new(0),
            peak_bytes: Cell::new(0),
            rows_max: instance.workspaces().rows_in_memory_max(),
            grant: RefCell::new(None),
            file: RefCell::new(None),
            spills: Cell::new(0),
            of_keys: Cell::default(),
        }
    }

    /// Rows that an operator may keep: a setting of tests, else no limit.
    pub fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// Charges `bytes` if they are within what is granted.
    pub fn charge(&self, bytes: usize) -> bool {
        let used = self.used_bytes.get().saturating_add(bytes);
        let is_within = used <= self.allowed_bytes.get() && os::memory::ask(bytes).is_ok();
        if is_within {
            self.set_used(used);
        }
        is_within
    }

    /// Charges `bytes` beyond the grant: the minimum that an operator may always keep.
    pub fn charge_beyond(&self, bytes: usize) {
        self.set_used(self.used_bytes.get().saturating_add(bytes));
    }

    fn set_used(&self, bytes: usize) {
        self.used_bytes.set(bytes);
        self.peak_bytes.set(self.peak_bytes.get().max(bytes));
    }

    /// What is charged.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.get()
    }

    /// Gives `bytes` back.
    pub fn release(&self, bytes: usize) {
        self.used_bytes.set(self.used_bytes.get().saturating_sub(bytes));
    }

    /// Asks for a grant, once a statement; false when it has one.
    pub fn ask_for_grant(&self, instance: &Instance, session_id: i16) -> Result<bool, SqlError> {
        if self.allowed_bytes.get() == usize::MAX || self.grant.borrow().is_some() {
            return Ok(false);
        }
        let required_kb = u64::try_from(instance.configuration(engine::MIN_QUERY_MEMORY)).unwrap_or(0);
        let request = GrantRequest {
            session_id,
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

    /// What an operator may keep at least.
    pub fn floor_bytes(&self) -> usize {
        (self.allowed_bytes.get() / 8).max(FLOOR_BYTES_MIN)
    }

    /// An operator had more than fits.
    pub fn note_spill(&self) {
        self.spills.set(self.spills.get() + 1);
    }

    /// The memory that the statement has used so far.
    pub fn used(&self) -> MemoryUse {
        let of_keys = self.of_keys.get();
        let own = self.grant.borrow().as_ref().map_or(MemoryUse::default(), |grant| MemoryUse {
            granted_bytes: grant.bytes(),
            ideal_bytes: grant.requested_bytes(),
            used_bytes: grant.bytes().min(self.peak_bytes.get() as u64),
            spills: 0,
        });
        MemoryUse {
            spills: self.spills.get(),
            granted_bytes: own.granted_bytes + of_keys.granted_bytes,
            ideal_bytes: own.ideal_bytes + of_keys.ideal_bytes,
            used_bytes: own.used_bytes + of_keys.used_bytes,
        }
    }

    /// Keys that a table has gathered to change them: they have a grant of their own.
    pub fn note_keys(&self, of_keys: GatheredMemory) {
        let before = self.of_keys.get();
        self.of_keys.set(GatheredMemory {
            granted_bytes: before.granted_bytes + of_keys.granted_bytes,
            ideal_bytes: before.ideal_bytes + of_keys.ideal_bytes,
            used_bytes: before.used_bytes + of_keys.used_bytes,
        });
    }

    /// A run in the statement's file.
    pub fn writer(&self, instance: &Instance) -> Result<RunWriter, SqlError> {
        let mut file = self.file.borrow_mut();
        if file.is_none() {
            *file = Some(SpillFile::create(instance.workspaces())?);
        }
        Ok(file.as_ref().expect("made above").writer())
    }

    /// How many runs may be read at once.
    pub fn fan_in(&self) -> usize {
        if self.rows_max < usize::MAX {
            3
        } else {
            (self.floor_bytes() / engine::SPILL_BLOCK_BYTES).clamp(4, 64)
        }
    }
}
