//! How a scan or seek locks: isolation level and hints become one decision per row.

use os::sim::{Bug, is_planted};
use txn::{IsolationLevel, LockMode, LockWait, Resource, Transaction};

use crate::error::AccessResult;
use crate::row_test::RowTest;

/// The lock that a read asks for on each row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowLock {
    /// To read (S).
    #[default]
    Shared,
    /// To change it later (U): the search of UPDATE and DELETE, UPDLOCK. Stays locked to the end of the transaction, unless
    /// the row does not qualify and is given back.
    Update,
    /// To change it now (X): XLOCK.
    Exclusive,
}

/// How rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// The level after table hints (NOLOCK, HOLDLOCK, REPEATABLEREAD ...). Without a `snapshot`, Snapshot reads as READ COMMITTED: constraint
    /// checks look up keys this way.
    pub isolation: IsolationLevel,
    /// The lock mode of rows.
    pub row_lock: RowLock,
    /// How long to wait for a row.
    pub wait: LockWait,
    /// Pass over rows that others have locked (READPAST).
    pub skip_locked: bool,
    /// Rows one by one, each kept locked until the next is asked for: for rows whose large values are read afterwards.
    pub keep_row: bool,
    /// From the highest key down (trees).
    pub backward: bool,
    /// The table is locked as a whole, S to read and X to change (TABLOCK); the caller that opens the scan takes this lock.
    pub table_lock: bool,
    /// A snapshot may answer, if the level asks for one: its transaction's, or its statement's. The caller that opens the scan sets
    /// `snapshot` from it. Without it rows are locked, as READCOMMITTEDLOCK asks for.
    pub may_be_versioned: bool,
    /// Rows are seen as of this commit number; none is locked or waited for. The caller keeps the snapshot open and checks
    /// afterwards whether it is still valid ([`txn::Snapshot::is_given_up`]).
    pub snapshot: Option<u64>,
    /// Rows are only counted: the caller reads neither their bytes nor their keys, and they are not copied unless a lock depends on them.
    /// A caller that changes the rows needs their keys.
    pub counts_only: bool,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions {
            isolation: IsolationLevel::ReadCommitted,
            row_lock: RowLock::Shared,
            wait: LockWait::Session,
            skip_locked: false,
            keep_row: false,
            backward: false,
            table_lock: false,
            may_be_versioned: false,
            snapshot: None,
            counts_only: false,
        }
    }
}

/// The rows and columns that a cursor emits, of those visible to its reader.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// A row that does not satisfy it is skipped in place.
    pub test: Option<RowTest>,
}

impl Selection {
    /// Is the row wanted?
    #[inline]
    pub(crate) fn accepts(&self, row: &[u8]) -> bool {
        self.test.as_ref().is_none_or(|test| test.accepts(row))
    }
}

/// The row locking of a scan, decided once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locking {
    /// No row locks: READ UNCOMMITTED, or the table lock covers the rows.
    None,
    /// Rows are seen as they were at a snapshot: no row locks.
    Versioned { snapshot: u64 },
    /// A row is read when no other transaction has it exclusively; no lock is kept.
    Probe,
    /// Each row is locked; `until_next`: the caller may release it (`release_row`), and a row that was only read is unlocked when
    /// the next row is asked for.
    Hold { mode: LockMode, until_next: bool },
    /// Key ranges are locked to the end of the transaction.
    Range { mode: LockMode },
}

impl ScanOptions {
    /// Does the reader keep no lock on the rows that it sees, whatever its transaction has locked? Then it may read ahead.
    pub fn keeps_nothing(&self) -> bool {
        let reads_committed = matches!(
            self.isolation,
            IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted | IsolationLevel::Snapshot
        );
        self.row_lock == RowLock::Shared && !self.keep_row && (reads_committed || self.snapshot.is_some())
    }

    /// The locking for the next rows. A reader with row locks decides again: since the last row, its locks may have been escalated to a table
    /// lock, and then it reads whole pages.
    pub(crate) fn locking_of_more(
        &self,
        decided: Option<Locking>,
        txn: &Transaction,
        object: &Resource,
    ) -> Locking {
        match decided {
            None | Some(Locking::Hold { .. }) => self.locking(txn, object),
            Some(decided) => decided,
        }
    }

    pub(crate) fn locking(&self, txn: &Transaction, object: &Resource) -> Locking {
        if let Some(snapshot) = self.snapshot {
            assert_eq!(self.row_lock, RowLock::Shared, "who will change rows locks them");
            return Locking::Versioned { snapshot };
        }
        let table_mode = if self.row_lock == RowLock::Shared { LockMode::S } else { LockMode::X };
        if txn.has_table_lock(object, table_mode) {
            return Locking::None;
        }
        let (plain, range) = match self.row_lock {
            RowLock::Shared => (LockMode::S, LockMode::RangeSS),
            RowLock::Update => (LockMode::U, LockMode::RangeSU),
            RowLock::Exclusive => (LockMode::X, LockMode::RangeXX),
        };
        match (self.isolation, self.row_lock) {
            (IsolationLevel::Serializable, _) => Locking::Range { mode: range },
            (IsolationLevel::ReadUncommitted, RowLock::Shared) => Locking::None,
            (IsolationLevel::RepeatableRead, RowLock::Shared) if is_planted(Bug::ReadLockReleasedEarly) => {
                Locking::Hold { mode: plain, until_next: true }
            }
            (IsolationLevel::RepeatableRead, _) | (_, RowLock::Exclusive) => {
                Locking::Hold { mode: plain, until_next: false }
            }
            (_, RowLock::Update) => Locking::Hold { mode: plain, until_next: true },
            (_, RowLock::Shared) if self.keep_row => Locking::Hold { mode: plain, until_next: true },
            (_, RowLock::Shared) => Locking::Probe,
        }
    }
}

impl Locking {
    /// The mode in which a row must be obtainable.
    pub(crate) fn row_mode(self) -> Option<LockMode> {
        match self {
            Locking::None | Locking::Versioned { .. } => None,
            Locking::Probe => Some(LockMode::S),
            Locking::Hold { mode, .. } | Locking::Range { mode } => Some(mode),
        }
    }

    /// May the reader take a whole page of rows at once?
    pub(crate) fn reads_ahead(self) -> bool {
        matches!(self, Locking::None | Locking::Versioned { .. } | Locking::Probe)
    }

    /// The locking of heap rows, which have no key order: only the row itself can be locked.
    pub(crate) fn of_heap(self) -> Locking {
        let locking = match self {
            Locking::Range { mode } => Locking::Hold { mode: row_alone(mode), until_next: false },
            other => other,
        };
        assert_eq!(
            locking.row_mode().is_some(),
            self.row_mode().is_some(),
            "who locks rows locks these, too"
        );
        locking
    }
}

/// The part of a range lock that remains without the gap below the key.
pub(crate) fn row_alone(mode: LockMode) -> LockMode {
    let alone = match mode {
        LockMode::RangeSS => LockMode::S,
        LockMode::RangeSU => LockMode::U,
        LockMode::RangeXX => LockMode::X,
        other => other,
    };
    assert!(mode.covers(alone), "{alone:?} is part of {mode:?}");
    alone
}

/// A lock that was waited for, kept while its owner reads the row again. If it were released before, the next waiter would get it, and
/// several waiters for one row could pass the lock around forever. Drop it before any other wait.
pub(crate) struct Waited<'t> {
    txn: &'t Transaction,
    resource: Resource,
    mode: LockMode,
}

impl Waited<'_> {
    pub(crate) fn wait(
        txn: &Transaction,
        resource: Resource,
        mode: LockMode,
        wait: LockWait,
    ) -> AccessResult<Waited<'_>> {
        txn.lock(resource, mode, wait)?;
        let object = resource.parent_object();
        let is_held = txn.held_mode(&resource).is_some_and(|held| held.covers(mode));
        let is_covered = || object.is_some_and(|object| txn.held_mode(&object).is_some());
        assert!(is_held || is_covered(), "what was waited for is held, or its object's lock covers it");
        Ok(Waited { txn, resource, mode })
    }
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        self.txn.unlock(&self.resource, self.mode);
    }
}
