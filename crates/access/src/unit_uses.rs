//! What happens to the rows and pages of a heap or tree, counted by its handles: `sys.dm_db_index_operational_stats` shows it.
//!
//! A count is one addition to a cell that few other threads write, mostly none; a page's rows are counted together where they are changed together. What is
//! rolled back has been counted. Undo, recovery, and the building of whole trees (`TreeLoader`) are not.

use os::{CounterSet, Os};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum UnitUse {
    /// A row came.
    LeafInsert,
    /// A row got another value.
    LeafUpdate,
    /// A row was deleted: it is a ghost.
    LeafGhost,
    /// An entry above the leaves came: a page was split.
    NonleafInsert,
    /// An entry above the leaves went: an empty leaf was given up.
    NonleafDelete,
    /// A page for rows.
    LeafAllocation,
    /// A page above the leaves.
    NonleafAllocation,
    /// An empty leaf was given up.
    LeafMerge,
    /// A scan of all or of a range has begun.
    RangeScan,
    /// One row was looked for.
    SingletonLookup,
    /// A row of a heap was read at the place to which it has moved.
    ForwardedFetch,
    /// The lock of a row or key was asked for.
    RowLock,
    /// It was waited for.
    RowLockWait,
    /// So long, in nanoseconds.
    RowLockWaitNanoseconds,
}

const KINDS: usize = UnitUse::RowLockWaitNanoseconds as usize + 1;

/// The counters of one heap or tree while its database is open.
#[derive(Default)]
pub struct UnitUses(CounterSet<KINDS>);

impl UnitUses {
    /// It has happened so often.
    #[inline]
    pub(crate) fn add(&self, what: UnitUse, count: usize) {
        self.0.add(what as usize, count as i64);
    }

    /// It has happened once.
    #[inline]
    pub(crate) fn note(&self, what: UnitUse) {
        self.add(what, 1);
    }

    /// A row has come whose lock was asked for.
    #[inline]
    pub(crate) fn note_locked_insert(&self) {
        self.0.count_each([UnitUse::RowLock as usize, UnitUse::LeafInsert as usize]);
    }

    /// How often it has happened.
    pub fn count(&self, what: UnitUse) -> i64 {
        let count = self.0.sum(what as usize);
        assert!(count >= 0, "what is counted only rises");
        count
    }

    /// Has anything happened?
    pub fn is_used(&self) -> bool {
        self.0.is_used()
    }

    /// A row's lock is waited for; no latch is held.
    pub(crate) fn wait<T>(&self, os: &Os, wait: impl FnOnce() -> T) -> T {
        let began = os.clock().monotonic_ns();
        let waited = wait();
        self.note(UnitUse::RowLockWait);
        let ended = os.clock().monotonic_ns();
        assert!(ended >= began, "this clock goes forward");
        self.0.add(UnitUse::RowLockWaitNanoseconds as usize, (ended - began) as i64);
        assert!(self.count(UnitUse::RowLockWait) > 0, "a wait has been counted");
        waited
    }
}
