//! Commit tickets: what became of a commit can be asked for ever, after any number of crashes.
//!
//! A ticket names the database, its incarnation and the commit record. An incarnation is the time between two openings. Where the log ended
//! when one was over is noted before the next begins: up to there its commits are hard, behind it they are lost, and their places in the
//! log are taken by others.
//!
//! ```text
//!  commits get tickets ──crash or stop──► Log::open notes the end in the log's header, once
//!        ▲                                        │ recovery (a crash in it finds the end noted already)
//!        └── record_recovery ◄── the checkpoint makes the row hard ◄── note_end: a row of sysincarnations
//! ```

use log::{Log, Lsn};
use os::sim::{Bug, is_planted};

/// Bytes of a ticket: `binary(32)`.
pub const COMMIT_TICKET_BYTES: usize = 32;

/// Bytes that the checksum covers.
const CHECKED_BYTES: usize = COMMIT_TICKET_BYTES - 4;

/// Names one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitTicket {
    database_guid: [u8; 16],
    incarnation: u32,
    pub(crate) lsn: Lsn,
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitStatus {
    /// It survives any crash.
    Hardened,
    /// It is not hard yet: a crash now might take it.
    Pending,
    /// A crash has taken it.
    Lost,
}

impl CommitStatus {
    /// As `sys.fn_commit_status` tells it.
    pub fn name(self) -> &'static str {
        match self {
            CommitStatus::Hardened => "HARDENED",
            CommitStatus::Pending => "PENDING",
            CommitStatus::Lost => "LOST",
        }
    }
}

impl CommitTicket {
    /// The database's GUID, the incarnation and the LSN (big endian, so that tickets of a database sort by age), CRC-32C.
    pub fn to_bytes(&self) -> [u8; COMMIT_TICKET_BYTES] {
        let mut bytes = [0; COMMIT_TICKET_BYTES];
        bytes[..16].copy_from_slice(&self.database_guid);
        bytes[16..20].copy_from_slice(&self.incarnation.to_be_bytes());
        bytes[20..CHECKED_BYTES].copy_from_slice(&self.lsn.raw().to_be_bytes());
        let checksum = crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// `None`: it is no ticket.
    pub fn from_bytes(bytes: &[u8]) -> Option<CommitTicket> {
        let bytes: &[u8; COMMIT_TICKET_BYTES] = bytes.try_into().ok()?;
        let (checked, checksum) = bytes.split_at(CHECKED_BYTES);
        if crc32c::crc32c(checked).to_be_bytes() != checksum {
            return None;
        }
        Some(CommitTicket {
            database_guid: checked[..16].try_into().ok()?,
            incarnation: u32::from_be_bytes(checked[16..20].try_into().ok()?),
            lsn: Lsn::from_raw(u64::from_be_bytes(checked[20..].try_into().ok()?)),
        })
    }
}

/// What a database knows of its incarnations.
#[derive(Debug)]
pub(crate) struct Tickets {
    database_guid: [u8; 16],
    incarnation: u32,
    /// The ends of those before, by number.
    ends: Vec<(u32, Lsn)>,
}

impl Tickets {
    /// Of the database with this log. `ends`: of every earlier incarnation, in order.
    pub(crate) fn new(log: &Log, database_guid: [u8; 16], ends: Vec<(u32, Lsn)>) -> Tickets {
        assert!(log.incarnation_end().is_none(), "the incarnation has begun");
        let incarnation = log.incarnation();
        assert!(ends.iter().all(|end| end.0 < incarnation), "{ends:?} before {incarnation}");
        assert!(ends.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "a log that was hard stays so: {ends:?}");
        Tickets { database_guid, incarnation, ends }
    }

    /// Is the ticket one of the database, in whichever incarnation?
    pub(crate) fn is_its(&self, ticket: &CommitTicket) -> bool {
        self.database_guid == ticket.database_guid
    }

    /// The ticket of a commit of this incarnation.
    pub(crate) fn ticket(&self, lsn: Lsn) -> CommitTicket {
        CommitTicket { database_guid: self.database_guid, incarnation: self.incarnation, lsn }
    }

    /// `None`: the database never gave this ticket.
    pub(crate) fn status(&self, log: &Log, ticket: &CommitTicket) -> Option<CommitStatus> {
        if ticket.incarnation != self.incarnation {
            let at = self.ends.binary_search_by_key(&ticket.incarnation, |end| end.0).ok()?;
            let is_hard = ticket.lsn <= self.ends[at].1;
            return Some(if is_hard { CommitStatus::Hardened } else { CommitStatus::Lost });
        }
        if ticket.lsn <= log.hardened() || is_planted(Bug::TicketBeforeHardened) {
            return Some(CommitStatus::Hardened);
        }
        (ticket.lsn < log.end()).then_some(CommitStatus::Pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_survives_as_bytes_and_nothing_else_is_one() {
        let ticket = CommitTicket { database_guid: [7; 16], incarnation: 3, lsn: Lsn::new(1, 40, 9) };
        let bytes = ticket.to_bytes();
        assert_eq!(CommitTicket::from_bytes(&bytes), Some(ticket));
        assert_eq!(CommitTicket::from_bytes(&bytes[..31]), None);
        assert_eq!(CommitTicket::from_bytes(&[0; COMMIT_TICKET_BYTES]), None);
        for bit in 0..COMMIT_TICKET_BYTES * 8 {
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CommitTicket::from_bytes(&other), None, "bit {bit}");
        }
    }

    #[test]
    fn tickets_of_a_database_sort_by_age() {
        let ticket = |incarnation, lsn| CommitTicket { database_guid: [7; 16], incarnation, lsn }.to_bytes();
        let ordered = [
            ticket(1, Lsn::new(1, 40, 9)),
            ticket(1, Lsn::new(2, 16, 1)),
            ticket(2, Lsn::new(1, 39, 1)),
            ticket(256, Lsn::new(1, 16, 1)),
        ];
        assert!(ordered.is_sorted());
    }
}
