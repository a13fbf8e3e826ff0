//! The end position of each incarnation of a database: rows of sysincarnations, written before the next one begins; `ticket.rs` explains why.

use std::sync::Arc;

use log::{Incarnation, Lsn};
use txn::{CommitMode, TxnOptions};
use types::{SqlError, Value};

use crate::catalog::system_tables::INCARNATIONS;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::StorageError;
use crate::ticket::CommitTicket;

/// Records in `sysincarnations`, whose rows are given, where the log of the last incarnation ended. Returns all ends.
/// The record need only be durable before the next incarnation begins.
pub(crate) fn note_end(
    database: &Arc<Database>,
    rows: &[Vec<Value>],
) -> Result<Vec<(Incarnation, Lsn)>, StorageError> {
    let failed = |error: SqlError| StorageError::Catalog(format!("{}: {error}", database.name()));
    let damaged =
        || StorageError::Catalog(format!("{}: a row of sysincarnations is damaged", database.name()));
    let mut ends = Vec::with_capacity(rows.len() + 1);
    for row in rows {
        let (one, end) = (row[0].as_i64().ok_or_else(damaged)?, row[1].as_i64().ok_or_else(damaged)?);
        ends.push((Incarnation::from_raw(one.cast_unsigned()), Lsn::from_raw(end.cast_unsigned())));
    }
    ends.sort_unstable_by_key(|end| end.0);
    // A durable log stays durable: any other order means a damaged page.
    if !ends.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1) {
        return Err(damaged());
    }
    let Some(end) = database.log().incarnation_end() else { return Err(damaged()) };
    let ended = database.log().incarnation();
    if let Some(noted) = ends.last().filter(|noted| noted.0 >= ended) {
        // A crash came between the record and the next incarnation.
        return if *noted == (ended, end) { Ok(ends) } else { Err(damaged()) };
    }
    if ends.last().is_some_and(|noted| noted.1 > end) {
        return Err(damaged());
    }
    let own = DbTransaction::new(database.clone(), database.transactions().begin(TxnOptions::default()), 0);
    let row = [Value::BigInt(ended.raw().cast_signed()), Value::BigInt(end.raw().cast_signed())];
    database.system_table(INCARNATIONS).insert(&own, &row).map_err(failed)?;
    own.commit(CommitMode::Volatile).map_err(failed)?;
    ends.push((ended, end));
    Ok(ends)
}

impl Database {
    /// The ticket of a commit; none in tempdb.
    pub(crate) fn ticket_of(&self, lsn: Lsn) -> Option<CommitTicket> {
        let tickets = self.tickets()?;
        (!lsn.is_null()).then(|| tickets.ticket(lsn))
    }
}
