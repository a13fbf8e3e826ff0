//! Records about values that are assigned in memory, so that none is repeated after a crash: identities and rowversions.
//! `identity.rs` and `row_version.rs` count; `sequence.rs` writes its own records.

use std::sync::Arc;

use txn::{CommitMode, TxnOptions};
use types::{SqlError, Value};

use crate::catalog::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::identity::{cells_of, number_of_cells};
use crate::row_version::{ActiveRowVersion, Drawn, RANGE_VALUES};
use crate::schema::{IdentityDef, ObjectDef, ObjectId, TableDef};

/// How often the first record of a table's identity is tried: if it exists, another transaction has written it, unless it is rolled back at once.
const FIRST_NOTE_TRIES: u32 = 100;

/// The row of `sysidentities` that holds the ceiling of the database's rowversion values.
pub(crate) const ROW_VERSIONS_ID: ObjectId = 0;

impl Database {
    /// Identity values of a table up to `noted` may have been assigned. A transaction of its own, so that the user's rollback does not
    /// undo it; it is not flushed by itself (claim 113). A transaction that has emptied the table writes the record itself, because no other
    /// can reach it: the record commits or rolls back with the table's rows.
    pub(crate) fn note_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        object_id: ObjectId,
        identity: IdentityDef,
        noted: i128,
    ) -> SqlResult<()> {
        let replaces = |before| if identity.increment > 0 { noted > before } else { noted < before };
        match txn.has_forgotten_identity(object_id) {
            true => self.put_identity(txn, object_id, noted, &replaces)?,
            false => self.write_identity(object_id, noted, &replaces, CommitMode::Volatile)?,
        }
        self.identities.was_noted(object_id, identity, noted);
        Ok(())
    }

    /// The cache has been turned off: removes the reservations, so that a crash leaves no gap from now on.
    pub(crate) fn settle_identities(self: &Arc<Self>) -> SqlResult<()> {
        for (object_id, _) in self.identities.positions() {
            let own = DbTransaction::new(self.clone(), self.txns.begin(TxnOptions::default()), 0);
            match self.settle_identity(&own, object_id) {
                Ok(()) => own.commit(CommitMode::Volatile)?,
                Err(error) => {
                    own.rollback()?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn settle_identity(self: &Arc<Self>, txn: &DbTransaction, object_id: ObjectId) -> SqlResult<()> {
        let table = self.system_table(system_tables::IDENTITIES);
        let Some(row) = table.take_key(txn, &[Value::Int(object_id)])? else { return Ok(()) };
        // Under the row's lock: a session that draws a value from now on writes its record after this one.
        let settled = self.identities.settle(object_id).map(cells_of);
        let [value, wide] = settled.unwrap_or_else(|| [row[1].clone(), row[2].clone()]);
        table.insert(txn, &[Value::Int(object_id), value, wide])
    }

    /// DBCC CHECKIDENT ... RESEED: counting continues after `value`, or begins with it when nothing was counted yet; a rollback restores
    /// the old position.
    ///
    /// # Errors
    /// The marker of a stale plan; those of storage.
    pub fn reseed_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        value: i128,
    ) -> SqlResult<()> {
        self.lock_definition(txn, &ObjectDef::Table(table.clone()))?;
        let has_counted = self.identities.current(table.object_id).is_some();
        self.forget_identity(txn, table.object_id)?;
        if has_counted {
            self.identities.restore(table.object_id, value);
            self.put_identity(txn, table.object_id, value, &|_| true)
        } else {
            self.identities.start_at(table.object_id, value);
            self.put_identity(txn, start_row(table.object_id), value, &|_| true)
        }
    }

    /// Rowversion values up to `noted` may be assigned once this has returned: the record is durable then. It is stored among the identities, under
    /// a number that no table has.
    pub(crate) fn note_row_versions(self: &Arc<Self>, noted: i64) -> SqlResult<()> {
        self.write_identity(
            ROW_VERSIONS_ID,
            i128::from(noted),
            &|before| i128::from(noted) > before,
            CommitMode::Full,
        )
    }

    /// A clean close: writes the exact positions, so that the next start leaves no gap.
    pub(crate) fn note_positions(self: &Arc<Self>) -> SqlResult<()> {
        let row_versions = self.row_versions.position().map(i128::from);
        let row_versions = row_versions.map(|last| (ROW_VERSIONS_ID, last));
        for (object_id, last) in self.identities.positions().into_iter().chain(row_versions) {
            self.write_identity(object_id, last, &|_| true, CommitMode::Volatile)?;
        }
        self.note_sequence_positions()
    }

    /// Writes the record if it `replaces` the existing one. Two transactions may write the first record of a table (2601): then this tries again, but
    /// not forever, because a damaged tree may disagree about whether the record exists.
    fn write_identity(
        self: &Arc<Self>,
        object_id: ObjectId,
        noted: i128,
        replaces: &dyn Fn(i128) -> bool,
        mode: CommitMode,
    ) -> SqlResult<()> {
        let mut tries = 1;
        loop {
            match self.try_write_identity(object_id, noted, replaces, mode) {
                Err(error) if matches!(error.number, 2601 | 2627) && tries < FIRST_NOTE_TRIES => tries += 1,
                result => return result,
            }
        }
    }

    fn try_write_identity(
        self: &Arc<Self>,
        object_id: ObjectId,
        noted: i128,
        replaces: &dyn Fn(i128) -> bool,
        mode: CommitMode,
    ) -> SqlResult<()> {
        let own = DbTransaction::new(self.clone(), self.txns.begin(TxnOptions::default()), 0);
        match self.put_identity(&own, object_id, noted, replaces) {
            Ok(()) => own.commit(mode),
            Err(error) => {
                own.rollback()?;
                Err(error)
            }
        }
    }

    fn put_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        object_id: ObjectId,
        noted: i128,
        replaces: &dyn Fn(i128) -> bool,
    ) -> SqlResult<()> {
        let table = self.system_table(system_tables::IDENTITIES);
        let before = table
            .take_key(txn, &[Value::Int(object_id)])?
            .and_then(|row| number_of_cells(&row[1], row.get(2)));
        let value = before.filter(|&before| !replaces(before)).unwrap_or(noted);
        let [value, wide] = cells_of(value);
        table.insert(txn, &[Value::Int(object_id), value, wide])
    }

    /// A table is dropped or emptied: its identity begins again, unless the transaction is rolled back.
    pub(crate) fn forget_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        object_id: ObjectId,
    ) -> SqlResult<()> {
        for row in [object_id, start_row(object_id)] {
            self.system_table(system_tables::IDENTITIES).delete_key(txn, &[Value::Int(row)])?;
        }
        txn.note_forgotten_identity(object_id, self.identities.forget(object_id));
        Ok(())
    }

    /// The rowversion value used last in the database (`@@DBTS`).
    pub fn last_row_version(&self) -> u64 {
        self.row_versions.last()
    }

    /// The lowest rowversion value of an active transaction, or the next value (`MIN_ACTIVE_ROWVERSION()`).
    pub fn min_active_row_version(&self) -> u64 {
        self.row_versions.lowest_active()
    }

    /// A new value; sets `first` when it is the transaction's first.
    pub(crate) fn next_row_version(
        self: &Arc<Self>,
        first: &std::cell::OnceCell<ActiveRowVersion>,
    ) -> SqlResult<u64> {
        loop {
            match self.row_versions.draw(first.get().is_none()) {
                Drawn::Value(value) => {
                    first.get_or_init(|| ActiveRowVersion::new(self.row_versions.clone(), value));
                    return Ok(value);
                }
                Drawn::UsedUp(ceiling) => self.raise_row_version_ceiling(ceiling)?,
            }
        }
    }

    /// Other sessions may raise it at the same time: all write the same value, and each continues when it is durable.
    fn raise_row_version_ceiling(self: &Arc<Self>, from: u64) -> SqlResult<()> {
        let overflow = || SqlError::new(8115, &[&"ROWVERSION", &"timestamp"]);
        let ceiling = from.checked_add(RANGE_VALUES).ok_or_else(overflow)?;
        if !self.is_volatile() {
            self.note_row_versions(i64::try_from(ceiling).map_err(|_| overflow())?)?;
        }
        self.row_versions.raise(ceiling);
        Ok(())
    }
}

/// The key of the row of `sysidentities` with the first value of a table's identity, if that is not the seed. Tables have positive
/// numbers.
fn start_row(table: ObjectId) -> ObjectId {
    -table
}
