//! Commit tickets: the status of a commit can be asked for at any later time, after any number of crashes.
//!
//! A ticket names the database, its incarnation and the commit record. An incarnation is the time between two openings. Where the log ended
//! at the end of an incarnation is recorded before the next begins: commits up to there are durable, later ones are lost, and other records reuse
//! their log positions. A database restored from a copy does not know the incarnations after the copy was made, though it may have others with
//! the same number: it never issued such a ticket.
//!
//! ```text
//!  commits get tickets ──crash or stop──► Log::open notes the end in the log's header, once
//!        ▲                                        │ recovery (a crash in it finds the end noted already)
//!        └── record_recovery ◄── the checkpoint makes the row hard ◄── note_end: a row of sysincarnations
//! ```

use log::{Incarnation, Log, LogOp, Lsn, Standing};
use os::sim::{Bug, is_planted};

use crate::known_commits::KnownCommits;

/// Bytes of a ticket: `binary(32)`.
pub const COMMIT_TICKET_BYTES: usize = 32;

/// Bytes of the database's identity in a ticket; older tickets, from before incarnations had a random half, have all 16, and only the number.
const GUID_BYTES: usize = 12;
/// Bytes that identify the incarnation and the database.
const PLACE_BYTES: usize = GUID_BYTES + 8;
/// Bytes that the checksum covers.
const CHECKED_BYTES: usize = COMMIT_TICKET_BYTES - 4;

/// Identifies one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitTicket {
    /// The database's identity and the incarnation, in the ticket's encoding.
    place: [u8; PLACE_BYTES],
    pub(crate) lsn: Lsn,
}

/// The status of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitStatus {
    /// It survives any crash.
    Hardened,
    /// It is not durable yet: a crash now might lose it.
    Pending,
    /// A crash has lost it.
    Lost,
}

impl CommitStatus {
    /// The name in `sys.fn_commit_status`.
    pub fn name(self) -> &'static str {
        match self {
            CommitStatus::Hardened => "HARDENED",
            CommitStatus::Pending => "PENDING",
            CommitStatus::Lost => "LOST",
        }
    }
}

impl CommitTicket {
    /// A prefix of the database's GUID, the incarnation and the LSN (big endian, so that tickets of a database sort by age), CRC-32C.
    pub fn to_bytes(&self) -> [u8; COMMIT_TICKET_BYTES] {
        let mut bytes = [0; COMMIT_TICKET_BYTES];
        bytes[..PLACE_BYTES].copy_from_slice(&self.place);
        bytes[PLACE_BYTES..CHECKED_BYTES].copy_from_slice(&self.lsn.raw().to_be_bytes());
        let checksum = crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// `None`: it is no valid ticket.
    pub fn from_bytes(bytes: &[u8]) -> Option<CommitTicket> {
        let bytes: &[u8; COMMIT_TICKET_BYTES] = bytes.try_into().ok()?;
        let (checked, checksum) = bytes.split_at(CHECKED_BYTES);
        if crc32c::crc32c(checked).to_be_bytes() != checksum {
            return None;
        }
        let (place, lsn) = checked.split_at(PLACE_BYTES);
        let lsn = Lsn::from_raw(u64::from_be_bytes(lsn.try_into().ok()?));
        Some(CommitTicket { place: place.try_into().ok()?, lsn })
    }

    fn new(database_guid: [u8; 16], incarnation: Incarnation, lsn: Lsn) -> CommitTicket {
        let mut place = [0; PLACE_BYTES];
        place[..GUID_BYTES].copy_from_slice(&database_guid[..GUID_BYTES]);
        place[GUID_BYTES..].copy_from_slice(&incarnation.raw().to_be_bytes());
        let ticket = CommitTicket { place, lsn };
        debug_assert!(
            ticket.incarnations(database_guid).any(|one| one == incarnation),
            "it can be read back"
        );
        ticket
    }

    /// The incarnations of the database with this identity that the ticket may name, by the present layout and the older one.
    fn incarnations(&self, database_guid: [u8; 16]) -> impl Iterator<Item = Incarnation> + use<> {
        let (guid, raw) = self.place.split_at(GUID_BYTES);
        let raw = raw.try_into().map_or(0, u64::from_be_bytes);
        let is_its = guid == &database_guid[..GUID_BYTES];
        let is_old = self.place[..16] == database_guid;
        let raws = [is_its.then_some(raw), is_old.then_some(raw & u64::from(u32::MAX))];
        raws.into_iter().flatten().map(Incarnation::from_raw)
    }
}

/// The incarnations of a database.
#[derive(Debug)]
pub(crate) struct Tickets {
    database_guid: [u8; 16],
    incarnation: Incarnation,
    /// The ends of the earlier ones, by age.
    ends: Vec<(Incarnation, Lsn)>,
    known: KnownCommits,
}

impl Tickets {
    /// For the database with this log. `ends`: of every earlier incarnation, in order.
    pub(crate) fn new(log: &Log, database_guid: [u8; 16], ends: Vec<(Incarnation, Lsn)>) -> Tickets {
        assert!(log.incarnation_end().is_none(), "the incarnation has begun");
        let incarnation = log.incarnation();
        assert!(ends.iter().all(|end| end.0 < incarnation), "{ends:?} before {incarnation:?}");
        assert!(ends.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "a log that was hard stays so: {ends:?}");
        Tickets { database_guid, incarnation, ends, known: KnownCommits::default() }
    }

    /// The incarnation of the database that issued the ticket, if it is known.
    fn incarnation_of(&self, ticket: &CommitTicket) -> Option<Incarnation> {
        let is_known = |one: &Incarnation| *one == self.incarnation || self.end_of(*one).is_some();
        ticket.incarnations(self.database_guid).find(is_known)
    }

    fn end_of(&self, incarnation: Incarnation) -> Option<Lsn> {
        let at = self.ends.binary_search_by_key(&incarnation, |end| end.0).ok()?;
        Some(self.ends[at].1)
    }

    /// Did the database issue the ticket, in any incarnation?
    pub(crate) fn is_its(&self, ticket: &CommitTicket) -> bool {
        self.incarnation_of(ticket).is_some()
    }

    /// The ticket of a commit of this incarnation.
    pub(crate) fn ticket(&self, lsn: Lsn) -> CommitTicket {
        CommitTicket::new(self.database_guid, self.incarnation, lsn)
    }

    /// Where the log ended when the incarnation began; NULL for the first.
    fn beginning_of(&self, incarnation: Incarnation) -> Lsn {
        let at = self.ends.partition_point(|end| end.0 < incarnation);
        at.checked_sub(1).map_or(Lsn::NULL, |before| self.ends[before].1)
    }

    /// A session gets this ticket, of its own commit: a later look-up need not read the log.
    pub(crate) fn note_told(&self, ticket: &CommitTicket) {
        if self.incarnation_of(ticket) == Some(self.incarnation) {
            self.known.note(ticket.lsn);
        }
    }

    /// `None`: the database never issued this ticket: no commit of its incarnation can be at that position, or, as far as the log still
    /// exists, none is.
    pub(crate) fn status(&self, log: &Log, ticket: &CommitTicket) -> Option<CommitStatus> {
        let incarnation = self.incarnation_of(ticket)?;
        if !log::can_be_record(ticket.lsn) || ticket.lsn <= self.beginning_of(incarnation) {
            return None;
        }
        let status = self.status_at(log, incarnation, ticket)?;
        // Other records use the positions of lost commits.
        let is_kept = status != CommitStatus::Lost;
        (!is_kept || self.is_commit(log, ticket.lsn)).then_some(status)
    }

    /// Is there, or was there, a commit record at that position, as far as the log can still tell? A block that has to be read is read once for all
    /// its commits.
    fn is_commit(&self, log: &Log, lsn: Lsn) -> bool {
        if self.known.has(lsn) {
            return true;
        }
        let note = |at, op| {
            if op == LogOp::CommitXact {
                self.known.note(at);
            }
        };
        match log.standing(lsn, note) {
            Standing::Record(op) => op == LogOp::CommitXact,
            Standing::Nothing => false,
            Standing::Unknown => true,
        }
    }

    /// The status by the position alone.
    fn status_at(&self, log: &Log, incarnation: Incarnation, ticket: &CommitTicket) -> Option<CommitStatus> {
        if incarnation != self.incarnation {
            let is_hard = ticket.lsn <= self.end_of(incarnation)?;
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
        let ticket = CommitTicket::new([7; 16], Incarnation::from_raw(3 << 32 | 5), Lsn::new(1, 40, 9));
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
        let ticket = |incarnation: Incarnation, lsn| CommitTicket::new([7; 16], incarnation, lsn).to_bytes();
        let first = Incarnation::from_raw(1 << 32 | 77);
        let ordered = [
            ticket(first, Lsn::new(1, 40, 9)),
            ticket(first, Lsn::new(2, 16, 1)),
            ticket(first.next(3), Lsn::new(1, 39, 1)),
            ticket(Incarnation::from_raw(256 << 32 | 1), Lsn::new(1, 16, 1)),
        ];
        assert!(ordered.is_sorted());
    }

    /// The older format, from before incarnations had a random half: the whole GUID, and only the number.
    #[test]
    fn an_older_ticket_still_names_its_incarnation() {
        let (guid, mut place) = ([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6], [0; PLACE_BYTES]);
        place[..16].copy_from_slice(&guid);
        place[16..].copy_from_slice(&41u32.to_be_bytes());
        let ticket = CommitTicket { place, lsn: Lsn::new(1, 40, 9) };
        assert!(ticket.incarnations(guid).any(|one| one == Incarnation::from_raw(41)));
        assert_eq!(ticket.incarnations([1; 16]).count(), 0, "of another database");
    }
}
