//! The status of a commit by its ticket, and waits for its durability.

use std::sync::Arc;

use log::FlushReason;

use super::Instance;
use crate::database::Database;
use crate::error::SqlResult;
use crate::ticket::{CommitStatus, CommitTicket};

/// The reason of a log flush for a thread that waits for a ticket; its only mention.
const TICKET: FlushReason = FlushReason::Ticket;

impl Instance {
    fn database_of(&self, ticket: &CommitTicket) -> Option<Arc<Database>> {
        let is_its =
            |database: &Arc<Database>| database.tickets().is_some_and(|tickets| tickets.is_its(ticket));
        self.databases().into_iter().find(is_its)
    }

    /// A session gets the ticket of its own commit: from now on a look-up of this ticket need not read the log.
    pub fn note_told(&self, ticket: &CommitTicket) {
        if let Some(database) = self.database_of(ticket)
            && let Some(tickets) = database.tickets()
        {
            tickets.note_told(ticket);
        }
    }

    /// `sys.fn_commit_status`. `None`: no open database of this instance issued this ticket.
    pub fn commit_status(&self, ticket: &CommitTicket) -> Option<CommitStatus> {
        let database = self.database_of(ticket)?;
        database.tickets()?.status(database.log(), ticket)
    }

    /// `WAITFOR DURABLE`: hardens the commit and waits for that, at most for the given time. Returns its status then; `None` as above.
    ///
    /// # Errors
    /// 9001 when the log fails; an interrupt.
    pub fn wait_durable(
        &self,
        ticket: &CommitTicket,
        timeout_ns: Option<u64>,
    ) -> SqlResult<Option<CommitStatus>> {
        let Some(database) = self.database_of(ticket) else { return Ok(None) };
        if self.commit_status(ticket) == Some(CommitStatus::Pending) {
            database.log().harden_within(ticket.lsn, TICKET, timeout_ns).map_err(|error| {
                if error.is_fatal_to_database() {
                    database.suspect(&error.to_string());
                }
                crate::error::sql_error(&error.into(), database.name(), 0)
            })?;
        }
        Ok(self.commit_status(ticket))
    }
}
