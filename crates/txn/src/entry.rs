//! `XactEntry`: the state that a transaction shares with the table of active transactions, each number an atomic; see table.rs.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use log::records::LogTime;
use log::{Lsn, TxnId};

/// One row of the active table (`sys.dm_tran_database_transactions`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveRow {
    /// Number.
    pub id: TxnId,
    /// The session that has begun it; 0 for one that a crash interrupted.
    pub session_id: u32,
    /// When its LOP_BEGIN_XACT was written; `LogTime(0)` for one that a crash interrupted.
    pub begin_time: LogTime,
    /// Its LOP_BEGIN_XACT; NULL while that is being written.
    pub begin: Lsn,
    /// Its newest record.
    pub last: Lsn,
    /// Records written.
    pub record_count: u64,
    /// Log bytes written.
    pub log_bytes: u64,
    /// Log bytes reserved for its rollback.
    pub reserved_bytes: u64,
    /// Its end is in the log and only waits to be hardened.
    pub is_ended: bool,
    /// The record that its rollback undoes next; its newest when no rollback runs.
    pub next_undo: Lsn,
    /// Where the last rollback to a savepoint has ended.
    pub rolled_back_to: Option<Lsn>,
    /// The newest LOP_MARK_SAVEPOINT to which it can still be rolled back.
    pub mark: Option<Lsn>,
}

/// The state shared by the table and the transaction.
pub(crate) struct XactEntry {
    pub(crate) id: TxnId,
    session_id: u32,
    begin_time: AtomicU64,
    begin: AtomicU64,
    last: AtomicU64,
    /// Lower bound of `begin`, known before it; written once, under the table's latch.
    pub(crate) begin_bound: AtomicU64,
    /// Lower bound of the LSN of an append in progress; 0 when there is none.
    pub(crate) appending: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
    pub(crate) reserved: AtomicU64,
    /// Its LOP_COMMIT_XACT or LOP_ABORT_XACT is in the log.
    ended: AtomicBool,
    /// The record that a rollback undoes next; 0 while no rollback runs.
    next_undo: AtomicU64,
    /// Where the last rollback to a savepoint ended; 0: there was none.
    rolled_back_to: AtomicU64,
    /// Its newest LOP_MARK_SAVEPOINT that was not rolled back; 0: there is none.
    mark: AtomicU64,
}

impl XactEntry {
    pub(crate) fn new(id: TxnId, session_id: u32) -> XactEntry {
        assert!(!id.is_null(), "transactions count from 1");
        XactEntry {
            id,
            session_id,
            begin_time: AtomicU64::new(0),
            begin: AtomicU64::new(0),
            begin_bound: AtomicU64::new(0),
            last: AtomicU64::new(0),
            appending: AtomicU64::new(0),
            records: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            next_undo: AtomicU64::new(0),
            rolled_back_to: AtomicU64::new(0),
            mark: AtomicU64::new(0),
        }
    }

    /// As the views show it; the caller has read `begin` and `last`.
    pub(crate) fn row(&self, begin: Lsn, last: Lsn) -> ActiveRow {
        assert!(begin <= last || last.is_null(), "{} was read before its newest record", self.id);
        ActiveRow {
            id: self.id,
            session_id: self.session_id,
            begin_time: LogTime(self.begin_time.load(Relaxed)),
            begin,
            last,
            record_count: self.records.load(Relaxed),
            log_bytes: self.bytes(),
            reserved_bytes: self.reserved.load(Relaxed),
            is_ended: self.ended.load(Acquire),
            next_undo: self.next_undo(last),
            rolled_back_to: Some(Lsn::from_raw(self.rolled_back_to.load(Relaxed)))
                .filter(|lsn| !lsn.is_null()),
            mark: Some(self.mark()).filter(|lsn| !lsn.is_null()),
        }
    }

    /// The record that a rollback undoes next, or would undo first; `last` is the newest record.
    fn next_undo(&self, last: Lsn) -> Lsn {
        let noted = Lsn::from_raw(self.next_undo.load(Relaxed));
        assert!(noted <= self.last(), "what is undone was written");
        if noted.is_null() { last } else { noted }
    }

    /// A rollback continues with this record.
    pub(crate) fn note_next_undo(&self, next: Lsn) {
        assert!(!self.has_ended(), "what has ended is not undone");
        assert!(next < self.last(), "undo goes back");
        self.next_undo.store(next.raw(), Relaxed);
    }

    /// The newest LOP_MARK_SAVEPOINT to which the transaction can be rolled back; NULL when there is none.
    pub(crate) fn mark(&self) -> Lsn {
        Lsn::from_raw(self.mark.load(Relaxed))
    }

    /// LOP_MARK_SAVEPOINT has been written.
    pub(crate) fn note_mark(&self, mark: Lsn) {
        assert!(mark > self.mark() && mark <= self.last(), "the newest of its marks");
        self.mark.store(mark.raw(), Relaxed);
    }

    /// A rollback to a savepoint is over; `mark` is the newest that is left.
    pub(crate) fn note_rolled_back(&self, to: Lsn, mark: Lsn) {
        assert!(to <= self.last(), "a savepoint of this transaction");
        assert!(!self.has_ended(), "a transaction goes on after a rollback to a savepoint");
        assert!(mark <= to && mark <= self.mark(), "marks behind the savepoint are gone, no other");
        self.mark.store(mark.raw(), Relaxed);
        self.next_undo.store(0, Relaxed);
        self.rolled_back_to.store(to.raw(), Relaxed);
    }

    /// The entry of a transaction that a crash interrupted.
    pub(crate) fn of_loser(id: TxnId, begin: Lsn, last: Lsn) -> XactEntry {
        assert!(!id.is_null() && !last.is_null(), "a loser has written");
        let entry = XactEntry::new(id, 0);
        entry.begin.store(begin.raw(), Relaxed);
        entry.last.store(last.raw(), Relaxed);
        entry.assert_state();
        entry
    }

    /// Invariants while its transaction is not appending.
    pub(crate) fn assert_state(&self) {
        let (begin, last) = (self.begin(), self.last());
        assert!(
            begin <= last && begin.is_null() == last.is_null(),
            "{} begins with its first record",
            self.id
        );
        assert!(
            begin.raw() >= self.begin_bound.load(Relaxed) || begin.is_null(),
            "the bound of {begin} is lower"
        );
        assert!(!self.has_ended() || !last.is_null(), "transaction {} ends in the log", self.id);
    }

    /// Is its LOP_COMMIT_XACT or LOP_ABORT_XACT in the log?
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    pub(crate) fn begin(&self) -> Lsn {
        Lsn::from_raw(self.begin.load(Acquire))
    }

    pub(crate) fn last(&self) -> Lsn {
        Lsn::from_raw(self.last.load(Acquire))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// A lower bound of its records; NULL before it has entered the table.
    pub(crate) fn begin_bound(&self) -> Lsn {
        let bound = Lsn::from_raw(self.begin_bound.load(Relaxed));
        assert!(bound <= self.begin() || self.begin().is_null(), "the bound of {} is lower", self.begin());
        bound
    }

    pub(crate) fn begin_append(&self, bound: Lsn) {
        let is_first = self.last().is_null();
        assert!(is_first || self.appending.load(Relaxed) == 0, "a transaction appends one record at a time");
        assert!(!self.has_ended(), "nothing is appended behind its end");
        // A checkpoint that reads the entry has appended its own record, under the same latch of the log: either this append was before that, and
        // the stores before it are visible, or its record is behind the checkpoint's and analysis finds it there.
        self.appending.store(bound.raw().max(1), Release);
    }

    pub(crate) fn end_append(&self) {
        self.appending.store(0, Release);
    }

    pub(crate) fn set_ended(&self) {
        assert!(!self.ended.load(Relaxed), "a transaction ends once");
        assert!(self.appending.load(Relaxed) != 0, "its end is announced until the table knows of it");
        self.ended.store(true, Release);
    }

    pub(crate) fn note_append(&self, lsn: Lsn, bytes: u64, reserved: u64) {
        let before = self.last();
        let announced = self.appending.load(Relaxed);
        assert!(lsn > before && announced != 0, "an append is announced");
        assert!(lsn.raw() >= announced, "{lsn} lies below what was announced");
        assert!(bytes > 0, "a record has bytes");
        assert_eq!(before.is_null(), self.begin().is_null(), "a transaction begins with its first record");
        if before.is_null() {
            // Before the announcement is cleared: a reader that finds none must find where the transaction begins.
            self.begin.store(lsn.raw(), Release);
        }
        self.last.store(lsn.raw(), Release);
        self.records.store(self.records.load(Relaxed) + 1, Relaxed);
        self.bytes.store(self.bytes.load(Relaxed) + bytes, Relaxed);
        self.add_reserved(reserved);
        self.end_append();
    }

    /// Its LOP_BEGIN_XACT is about to be written.
    pub(crate) fn set_begin_time(&self, time: LogTime) {
        assert!(self.last().is_null(), "a transaction begins once");
        self.begin_time.store(time.0, Relaxed);
    }

    /// More log is reserved for its undo.
    pub(crate) fn add_reserved(&self, bytes: u64) {
        self.reserved.store(self.reserved.load(Relaxed) + bytes, Relaxed);
    }

    /// Takes up to `bytes` off the reservation, but leaves `kept`; returns how much.
    pub(crate) fn pay(&self, bytes: u64, kept: u64) -> u64 {
        let reserved = self.reserved.load(Relaxed);
        let paid = bytes.min(reserved.saturating_sub(kept));
        assert!(paid <= reserved, "what was never set aside pays for nothing");
        self.reserved.store(reserved - paid, Relaxed);
        paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkpoint may read the entry between a first append and the next step of its transaction: once the append is not announced any more, the
    /// entry says where the transaction begins.
    #[test]
    fn an_entry_says_where_it_begins_before_its_announcement_goes() {
        let entry = XactEntry::new(TxnId(7), 51);
        entry.begin_append(Lsn::from_raw(9));
        assert!(entry.begin().is_null() && entry.appending.load(Acquire) != 0);
        entry.note_append(Lsn::from_raw(12), 40, 64);
        assert_eq!(entry.appending.load(Acquire), 0);
        assert_eq!((entry.begin(), entry.last()), (Lsn::from_raw(12), Lsn::from_raw(12)));
        entry.begin_append(Lsn::from_raw(12));
        entry.note_append(Lsn::from_raw(15), 40, 64);
        assert_eq!((entry.begin(), entry.last()), (Lsn::from_raw(12), Lsn::from_raw(15)), "it begins once");
    }
}
