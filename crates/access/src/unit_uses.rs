//! Operation counters of a heap or tree, counted by its handles, for `sys.dm_db_index_operational_stats`.
//!
//! A count is one addition to a cell that few other threads write, mostly none; the rows of a page that change together are counted together. Work
//! that is rolled back stays counted. Undo, recovery, and the build of whole trees (`TreeLoader`) are not counted.

use os::{CounterSet, Os};

/// The operations counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum UnitUse {
    /// A row was inserted.
    LeafInsert,
    /// A row was updated.
    LeafUpdate,
    /// A row was deleted: it is a ghost.
    LeafGhost,
    /// An entry above the leaves was inserted: a page was split.
    NonleafInsert,
    /// An entry above the leaves was deleted: an empty leaf was freed.
    NonleafDelete,
    /// A page for rows was allocated.
    LeafAllocation,
    /// A page above the leaves was allocated.
    NonleafAllocation,
    /// An empty leaf was freed.
    LeafMerge,
    /// A scan of the whole or of a range has begun.
    RangeScan,
    /// One row was looked up.
    SingletonLookup,
    /// A moved row of a heap was read at its target.
    ForwardedFetch,
    /// The lock of a row or key was requested.
    RowLock,
    /// A lock was waited for.
    RowLockWait,
    /// The time of lock waits, in nanoseconds.
    RowLockWaitNanoseconds,
}

const KINDS: usize = UnitUse::RowLockWaitNanoseconds as usize + 1;

/// The counters of one heap or tree while its database is open.
#[derive(Default)]
pub struct UnitUses(CounterSet<KINDS>);

impl UnitUses {
    /// Adds to a counter.
    #[inline]
    pub(crate) fn add(&self, what: UnitUse, count: usize) {
        self.0.add(what as usize, count as i64);
    }

    /// Adds one to a counter.
    #[inline]
    pub(crate) fn note(&self, what: UnitUse) {
        self.add(what, 1);
    }

    /// Counts a row that was inserted after a lock request.
    #[inline]
    pub(crate) fn note_locked_insert(&self) {
        self.0.count_each([UnitUse::RowLock as usize, UnitUse::LeafInsert as usize]);
    }

    /// The value of a counter.
    pub fn count(&self, what: UnitUse) -> i64 {
        let count = self.0.sum(what as usize);
        assert!(count >= 0, "what is counted only rises");
        count
    }

    /// Is any counter above 0?
    pub fn is_used(&self) -> bool {
        self.0.is_used()
    }

    /// Counts and times a wait for a row's lock; no latch is held.
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
