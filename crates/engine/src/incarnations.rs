//! Where each incarnation of a database ended: rows of sysincarnations, written before the next one begins; `ticket.rs` tells why.

use std::sync::Arc;

use log::Lsn;
use txn::{CommitMode, TxnOptions};
use types::{SqlError, Value};

use crate::catalog::system_tables::INCARNATIONS;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::StorageError;
use crate::ticket::CommitTicket;

/// Notes in `sysincarnations`, whose rows are given, where the log ended when the last incarnation was over. Returns the ends of all.
/// The note need only be hard before the next incarnation begins.
pub(crate) fn note_end(
    database: &Arc<Database>,
    rows: &[Vec<Value>],
) -> Result<Vec<(u32, Lsn)>, StorageError> {
    let failed = |error: SqlError| StorageError::Catalog(format!("{}: {error}", database.name()));
    let damaged =
        || StorageError::Catalog(format!("{}: a row of sysincarnations is damaged", database.name()));
    let mut ends = Vec::with_capacity(rows.len() + 1);
    for row in rows {
        let number = row[0].as_i64().and_then(|number| u32::try_from(number).ok()).ok_or_else(damaged)?;
        let end = row[1].as_i64().ok_or_else(damaged)?;
        ends.push((number, Lsn::from_raw(end.cast_unsigned())));
    }
    ends.sort_unstable_by_key(|end| end.0);
    let Some(end) = database.log().incarnation_end() else { return Err(damaged()) };
    let number = database.log().incarnation();
    if let Some(noted) = ends.last().filter(|noted| noted.0 >= number) {
        // A crash came between the note and the next incarnation.
        return if *noted == (number, end) { Ok(ends) } else { Err(damaged()) };
    }
    let own = DbTransaction::new(database.clone(), database.transactions().begin(TxnOptions::default()), 0);
    let row = [Value::BigInt(i64::from(number)), Value::BigInt(end.raw().cast_signed())];
    database.system_table(INCARNATIONS).insert(&own, &row).map_err(failed)?;
    own.commit(CommitMode::Volatile).map_err(failed)?;
    ends.push((number, end));
    Ok(ends)
}

impl Database {
    /// The ticket of a commit; none in tempdb.
    pub(crate) fn ticket_of(&self, lsn: Lsn) -> Option<CommitTicket> {
        let tickets = self.tickets()?;
        (!lsn.is_null()).then(|| tickets.ticket(lsn))
    }
}
