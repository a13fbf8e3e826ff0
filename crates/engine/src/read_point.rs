//! By which snapshot a transaction reads: its own (SNAPSHOT), its statement's (READ COMMITTED where READ_COMMITTED_SNAPSHOT is on), or none.
//!
//! Both are opened at the first look at data, behind the lock on the table, so that a definition that has just changed is older than they.

use std::sync::Arc;

use access::{AccessError, RowLock, ScanOptions};
use txn::{IsolationLevel, Snapshot, SnapshotKind};
use types::SqlError;

use crate::db_transaction::DbTransaction;
use crate::error::{SqlResult, stale_plan};
use crate::schema::ObjectId;
use crate::snapshot_state::SnapshotState;

/// The unit under whose name changes of definitions leave versions; rows have others.
const DEFINITIONS: u32 = 0;

impl DbTransaction {
    /// May it look at data at this level, its own or that of a table hint? Before a table with versions is locked.
    ///
    /// # Errors
    /// 3951, 3952, 3954, 3956; 3957 when the user's transaction reads snapshots of other databases that are older than this one's permission.
    pub(crate) fn check_level(&self, level: IsolationLevel) -> SqlResult<()> {
        if self.points.of_transaction.borrow().is_some() {
            return Ok(());
        }
        if self.isolation() != IsolationLevel::Snapshot {
            self.points.began_otherwise.set(true);
        }
        if level != IsolationLevel::Snapshot {
            return Ok(());
        }
        let number = match self.database().snapshot_state() {
            SnapshotState::On if self.points.began_otherwise.get() => 3951,
            SnapshotState::On => match self.points.first_ns.get() {
                Some(first_ns) if !self.database().allowed_snapshots_at(first_ns) => 3957,
                _ => return Ok(()),
            },
            SnapshotState::Off => 3952,
            SnapshotState::ToOff => 3954,
            SnapshotState::ToOn => 3956,
        };
        Err(SqlError::new(number, &[&self.database().name()]))
    }

    /// The table is locked: at SNAPSHOT its transaction's snapshot is open from here on, and its changes conflict with later ones.
    ///
    /// # Errors
    /// 3961 when the definition has changed since; 3966 when the snapshot has been given up.
    #[inline]
    pub(crate) fn settle_level(&self, level: IsolationLevel, object: ObjectId) -> SqlResult<()> {
        if level != IsolationLevel::Snapshot {
            self.inner().set_conflicts_above(u64::MAX);
            return Ok(());
        }
        self.settle_snapshot(object)
    }

    fn settle_snapshot(&self, object: ObjectId) -> SqlResult<()> {
        let mut own = self.points.of_transaction.borrow_mut();
        let point = own.get_or_insert_with(|| {
            self.points.opened_ns.set(Some(self.database().os.clock().monotonic_ns()));
            self.open(SnapshotKind::Transaction)
        });
        self.inner().set_conflicts_above(point.number());
        let has_new_definition = self.has_new_definition(object, point);
        // Behind the look at the definition: with the snapshot what tells of changes has gone.
        check_point(Some(point))?;
        match has_new_definition {
            true => Err(SqlError::new(3961, &[&self.database().name()])),
            false => Ok(()),
        }
    }

    /// Has the snapshot of the transaction been given up (3966)? Then nobody knows any more what conflicts with its changes.
    pub(crate) fn has_lost_snapshot(&self) -> bool {
        self.points.of_transaction.borrow().as_ref().is_some_and(|point| point.is_given_up())
    }

    /// How a scan with these options reads, if not with locks.
    ///
    /// # Errors
    /// 650: READPAST passes over locked rows, and a reader of versions meets none.
    pub(crate) fn versioned_reading(&self, options: &ScanOptions) -> SqlResult<Option<SnapshotKind>> {
        if !options.may_be_versioned || options.table_lock || options.row_lock != RowLock::Shared {
            return Ok(None);
        }
        let kind = match options.isolation {
            IsolationLevel::Snapshot => SnapshotKind::Transaction,
            IsolationLevel::ReadCommitted if self.database().reads_committed_snapshot() => {
                SnapshotKind::Statement
            }
            _ => return Ok(None),
        };
        if options.skip_locked { Err(SqlError::new(650, &[])) } else { Ok(Some(kind)) }
    }

    /// The snapshot for such a scan of a table that is locked and settled.
    ///
    /// # Errors
    /// The marker of a stale plan: its definition is newer than the statement's snapshot.
    pub(crate) fn point(&self, kind: SnapshotKind, object: ObjectId) -> SqlResult<Arc<Snapshot>> {
        if kind == SnapshotKind::Transaction {
            let own = self.points.of_transaction.borrow();
            return Ok(own.clone().expect("the level is settled before it is read at"));
        }
        let mut statement = self.points.of_statement.borrow_mut();
        let point = statement.get_or_insert_with(|| self.open(SnapshotKind::Statement));
        if self.has_new_definition(object, point) { Err(stale_plan()) } else { Ok(Arc::clone(point)) }
    }

    /// When its snapshot was opened (monotonic, ns), if it reads one.
    pub(crate) fn snapshot_opened_ns(&self) -> Option<u64> {
        self.points.opened_ns.get()
    }

    /// The user's transaction has opened its first snapshot then.
    pub(crate) fn note_first_snapshot(&self, first_ns: Option<u64>) {
        self.points.first_ns.set(first_ns);
    }

    fn open(&self, kind: SnapshotKind) -> Arc<Snapshot> {
        let (inner, session) = (self.inner(), self.inner().space().session_id());
        Arc::new(inner.manager().open_snapshot(inner.id(), session, kind))
    }

    fn has_new_definition(&self, object: ObjectId, point: &Snapshot) -> bool {
        let key = object.to_be_bytes();
        let versions = self.inner().manager().versions();
        versions.has_changed_since(DEFINITIONS, &key, point.number(), self.inner().id())
    }

    /// The transaction holds Sch-M on an object whose definition it is about to change.
    pub(crate) fn leave_definition(&self, object: ObjectId) {
        self.inner().save_before_image(DEFINITIONS, &object.to_be_bytes(), None);
    }

    /// The statement has ended, and with it what it read by.
    pub(crate) fn end_statement_point(&self) {
        let point = self.points.of_statement.take();
        drop(point);
    }

    /// The transaction ends: whoever it kept versions for is itself.
    pub(crate) fn end_points(&self) {
        self.end_statement_point();
        let point = self.points.of_transaction.take();
        drop(point);
    }
}

/// What was read by a snapshot is right if that still stands.
///
/// # Errors
/// 3966.
pub(crate) fn check_point(point: Option<&Arc<Snapshot>>) -> SqlResult<()> {
    match point {
        Some(point) if point.is_given_up() => Err(SqlError::new(3966, &[])),
        _ => Ok(()),
    }
}

/// Errors that versions bring to a transaction.
pub(crate) fn error_of(
    txn: &DbTransaction,
    error: &AccessError,
    table: &str,
    database: &str,
) -> Option<SqlError> {
    match error {
        AccessError::UpdateConflict if txn.has_lost_snapshot() => Some(SqlError::new(3966, &[])),
        AccessError::UpdateConflict => Some(SqlError::new(3960, &[&table, &database])),
        AccessError::VersionLost => Some(SqlError::new(3958, &[])),
        _ => None,
    }
}
