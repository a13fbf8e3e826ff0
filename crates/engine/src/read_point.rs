//! The snapshot of a reader: its transaction's (SNAPSHOT), its statement's (READ COMMITTED where READ_COMMITTED_SNAPSHOT is on), or none.
//!
//! Both are opened at the first read of data, after the table is locked, so that a definition that has just changed is older than the snapshot.

use std::sync::Arc;

use access::{AccessError, RowLock, ScanOptions};
use txn::{IsolationLevel, Snapshot, SnapshotKind};
use types::SqlError;

use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::ObjectId;
use crate::snapshot_state::SnapshotState;

/// The unit under which changes of definitions leave versions; rows have others.
const DEFINITIONS: u32 = 0;

impl DbTransaction {
    /// May it read data at this level, its own or that of a table hint? Called before a table with versions is locked.
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

    /// The table is locked: at SNAPSHOT the transaction's snapshot is open from here on, and its changes conflict with later ones.
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
        // After the check of the definition: the data for that check is lost with the snapshot.
        check_point(Some(point))?;
        match has_new_definition {
            true => Err(SqlError::new(3961, &[&self.database().name()])),
            false => Ok(()),
        }
    }

    /// Has the snapshot of the transaction been given up (3966)? Then conflicts with its changes can no longer be detected.
    pub(crate) fn has_lost_snapshot(&self) -> bool {
        self.points.of_transaction.borrow().as_ref().is_some_and(|point| point.is_given_up())
    }

    /// The kind of snapshot that a scan with these options reads, if any.
    ///
    /// # Errors
    /// 650: READPAST skips locked rows, and a reader of versions meets none.
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

    /// The snapshot for such a scan of a locked and settled table.
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
        if self.has_new_definition(object, point) {
            Err(SqlError::stale_plan())
        } else {
            Ok(Arc::clone(point))
        }
    }

    /// When its snapshot was opened (monotonic, ns), if it reads one.
    pub(crate) fn snapshot_opened_ns(&self) -> Option<u64> {
        self.points.opened_ns.get()
    }

    /// Notes when the user's transaction opened its first snapshot.
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

    /// Leaves a version of the definition: the transaction holds Sch-M on an object that it will change.
    pub(crate) fn leave_definition(&self, object: ObjectId) {
        self.inner().save_before_image(DEFINITIONS, &object.to_be_bytes(), None);
    }

    /// The statement has ended: closes its snapshot.
    pub(crate) fn end_statement_point(&self) {
        let point = self.points.of_statement.take();
        drop(point);
    }

    /// The transaction ends: closes its snapshots.
    pub(crate) fn end_points(&self) {
        self.end_statement_point();
        let point = self.points.of_transaction.take();
        drop(point);
    }
}

/// Rows read from a snapshot are valid if the snapshot has not been given up.
///
/// # Errors
/// 3966.
pub(crate) fn check_point(point: Option<&Arc<Snapshot>>) -> SqlResult<()> {
    match point {
        Some(point) if point.is_given_up() => Err(SqlError::new(3966, &[])),
        _ => Ok(()),
    }
}

/// Errors of row versioning for a transaction.
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
