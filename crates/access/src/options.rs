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
    /// The level after table hints (NOLOCK, HOLDLOCK, REPEATABLEREAD ...). Without a `snapshot`, Snapshot reads as READ COMMITTED: that is
    /// how keys are looked up that decide about others' changes.
    pub isolation: IsolationLevel,
    /// What to lock rows with.
    pub row_lock: RowLock,
    /// How long to wait for a row.
    pub wait: LockWait,
    /// Pass over rows that others have locked (READPAST).
    pub skip_locked: bool,
    /// Rows one by one, each kept locked until the next is asked for: for rows whose large values are read afterwards.
    pub keep_row: bool,
    /// From the highest key down (trees).
    pub backward: bool,
    /// The table is locked as a whole, S to read and X to change (TABLOCK); whoever opens the scan locks it.
    pub table_lock: bool,
    /// A snapshot may answer, if the level asks for one: its transaction's, or its statement's. Whoever opens the scan turns this into
    /// `snapshot`. Without it rows are locked, as READCOMMITTEDLOCK asks for.
    pub may_be_versioned: bool,
    /// Rows are seen as they were at this commit number, and none is locked or waited for. Whoever asks keeps the snapshot open and asks
    /// afterwards whether it still is ([`txn::Snapshot::is_given_up`]).
    pub snapshot: Option<u64>,
    /// Rows are only counted: nobody asks for their bytes or keys, and they are not copied where no lock hangs on them. Who changes rows that
    /// it finds asks for their keys.
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

/// What a cursor hands up of the rows that its reader may see.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Rows that do not satisfy it are passed over where they lie.
    pub test: Option<RowTest>,
}

impl Selection {
    /// Is the row wanted?
    #[inline]
    pub(crate) fn accepts(&self, row: &[u8]) -> bool {
        self.test.as_ref().is_none_or(|test| test.accepts(row))
    }
}

/// What locking a scan does, decided once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locking {
    /// No row locks: READ UNCOMMITTED, or the table lock covers the rows.
    None,
    /// Rows are seen as they were at a snapshot: no row locks.
    Versioned { snapshot: u64 },
    /// A row is read when nobody has it exclusively; nothing is kept.
    Probe,
    /// Each row is locked; `until_next`: the caller may give it back (`release_row`), and one that was only read goes when
    /// the next row is asked for.
    Hold { mode: LockMode, until_next: bool },
    /// Key ranges are locked to the end of the transaction.
    Range { mode: LockMode },
}

impl ScanOptions {
    /// Does the reader keep no lock of the rows that it sees, whatever its transaction has locked? Then it may read ahead.
    pub fn keeps_nothing(&self) -> bool {
        let reads_committed = matches!(
            self.isolation,
            IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted | IsolationLevel::Snapshot
        );
        self.row_lock == RowLock::Shared && !self.keep_row && (reads_committed || self.snapshot.is_some())
    }

    /// As it was decided for the rows before. Who locks row by row looks again: since the last row his locks may have become the table's
    /// (escalation), and then he reads pages like anybody with a table lock.
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

    /// May a whole page of rows be read at once?
    pub(crate) fn reads_ahead(self) -> bool {
        matches!(self, Locking::None | Locking::Versioned { .. } | Locking::Probe)
    }

    /// The same for rows of a heap, which have no order: nothing but the row itself can be locked.
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

/// What is left of a range lock when the gap below the key is not wanted.
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

/// A lock that was waited for, kept while its owner looks again at what it is for. Were it given back before, the next in the queue would
/// get it, and those who wait for one row would pass its lock round for ever. To be dropped before anything else is waited for.
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
