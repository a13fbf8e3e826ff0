//! Record payloads: typed structs with encode, decode and a description for fn_dblog and the dumper.
//!
//! To add a payload: write its struct, `impl Payload`, and its lines in the table of body.rs. A payload that belongs to several
//! operations (a row in INSERT and DELETE) is one struct named by several lines. Codec helpers are in codec.rs.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::codec::{DecodeError, Reader, put_bytes, put_varint};
use crate::limits::RECORD_PAYLOAD_BYTES_MAX;
use crate::lsn::{Lsn, TxnId};

/// A typed record payload.
pub trait Payload: Sized {
    /// Appends the encoding to `out`.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads it back; arbitrary bytes give an error, never a panic, and allocate no more than their own length allows.
    fn decode(payload: &[u8]) -> Result<Self, DecodeError>;
    /// One line for fn_dblog's Description and the dumper.
    fn describe(&self) -> String;
}

/// Milliseconds since 2000-01-01 UTC: the resolution in which fn_dblog prints times, in 6 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct LogTime(pub u64);

impl LogTime {
    /// 100 ns ticks from 0001-01-01 to 2000-01-01.
    const EPOCH_100NS: u64 = 630_822_816_000_000_000;

    /// From UTC in 100 ns ticks since 0001-01-01; earlier times read as the epoch.
    pub fn from_utc_100ns(ticks: u64) -> LogTime {
        LogTime(ticks.saturating_sub(LogTime::EPOCH_100NS) / 10_000)
    }

    /// UTC in 100 ns ticks since 0001-01-01.
    pub fn to_utc_100ns(self) -> u64 {
        self.0.saturating_mul(10_000).saturating_add(LogTime::EPOCH_100NS)
    }
}

impl std::fmt::Display for LogTime {
    /// `yyyy/mm/dd hh:mm:ss:mmm`, as fn_dblog prints times.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (days, ms) = (self.0 / 86_400_000, self.0 % 86_400_000);
        if days > 3_000_000 {
            return write!(f, "{} ms", self.0);
        }
        // Civil date from days, counting years from 1 March (era 2000-03-01 is day 60).
        let shifted = days as i64 - 60 + 146_097;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        assert!((1..=12).contains(&month) && (1..=31).contains(&day), "a day of the calendar");
        let year = 1_600 + era * 400 + year_of_era + i64::from(month <= 2);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        write!(f, "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}:{:03}", ms % 1_000)
    }
}

/// LOP_BEGIN_XACT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginXact {
    /// When the transaction began to write.
    pub begin_time: LogTime,
    /// Session id, 0 for none.
    pub spid: u32,
    /// Transaction name; the default `user_transaction` takes one byte on disk. At most 255 bytes are kept.
    pub name: Cow<'static, str>,
}

/// The name that a transaction has when none was given.
pub const DEFAULT_TRANSACTION_NAME: &str = "user_transaction";

impl Payload for BeginXact {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.begin_time.0);
        put_varint(out, u64::from(self.spid));
        let name = if self.name == DEFAULT_TRANSACTION_NAME { "" } else { clip(&self.name, 255) };
        put_bytes(out, name.as_bytes());
        debug_assert!(BeginXact::decode(&out[start..]).is_ok_and(|read| self.name.starts_with(&*read.name)));
    }

    fn decode(payload: &[u8]) -> Result<BeginXact, DecodeError> {
        let mut reader = Reader::new(payload);
        let begin_time = LogTime(reader.varint()?);
        let spid = reader.varint_u32()?;
        let name = match reader.bytes()? {
            [] => DEFAULT_TRANSACTION_NAME.into(),
            bytes => text(bytes)?.into(),
        };
        reader.finish()?;
        Ok(BeginXact { begin_time, spid, name })
    }

    fn describe(&self) -> String {
        format!("{};spid {};{}", self.name, self.spid, self.begin_time)
    }
}

/// LOP_COMMIT_XACT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitXact {
    /// When the transaction committed.
    pub end_time: LogTime,
}

impl Payload for CommitXact {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.end_time.0);
        debug_assert_eq!(
            CommitXact::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn decode(payload: &[u8]) -> Result<CommitXact, DecodeError> {
        let mut reader = Reader::new(payload);
        let end_time = LogTime(reader.varint()?);
        reader.finish()?;
        Ok(CommitXact { end_time })
    }

    fn describe(&self) -> String {
        self.end_time.to_string()
    }
}

/// LOP_ABORT_XACT: the rollback of the transaction is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortXact {
    /// When the rollback ended.
    pub end_time: LogTime,
}

impl Payload for AbortXact {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.end_time.0);
        debug_assert_eq!(
            AbortXact::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn decode(payload: &[u8]) -> Result<AbortXact, DecodeError> {
        CommitXact::decode(payload).map(|commit| AbortXact { end_time: commit.end_time })
    }

    fn describe(&self) -> String {
        self.end_time.to_string()
    }
}

/// LOP_PREP_XACT: the transaction has written in several databases, and is complete in this one. One database has the decision whether it commits in
/// all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepXact {
    /// Identity of the database in which the decision is looked up.
    pub home: [u8; 16],
    /// The decision's number there. No decision of that number: the transaction is rolled back.
    pub decision: u64,
}

impl Payload for PrepXact {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.decision);
        put_bytes(out, &self.home);
        debug_assert_eq!(
            PrepXact::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn decode(payload: &[u8]) -> Result<PrepXact, DecodeError> {
        let mut reader = Reader::new(payload);
        let decision = reader.varint()?;
        let home = reader.bytes()?.try_into().map_err(|_| DecodeError("home is not 16 bytes"))?;
        reader.finish()?;
        Ok(PrepXact { home, decision })
    }

    fn describe(&self) -> String {
        let home: String = self.home.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("decision {:016x} in database {home}", self.decision)
    }
}

/// LOP_MARK_SAVEPOINT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkSavepoint {
    /// Savepoint name.
    pub name: String,
}

impl Payload for MarkSavepoint {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_bytes(out, clip(&self.name, 255).as_bytes());
        debug_assert!(
            MarkSavepoint::decode(&out[start..]).is_ok_and(|read| self.name.starts_with(&read.name))
        );
    }

    fn decode(payload: &[u8]) -> Result<MarkSavepoint, DecodeError> {
        let mut reader = Reader::new(payload);
        let name = text(reader.bytes()?)?;
        reader.finish()?;
        Ok(MarkSavepoint { name })
    }

    fn describe(&self) -> String {
        self.name.clone()
    }
}

/// LOP_BEGIN_CKPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginCkpt {
    /// When the checkpoint began.
    pub begin_time: LogTime,
    /// The highest transaction id handed out so far.
    pub max_txn: TxnId,
}

impl Payload for BeginCkpt {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.begin_time.0);
        put_varint(out, self.max_txn.0);
        debug_assert_eq!(
            BeginCkpt::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn decode(payload: &[u8]) -> Result<BeginCkpt, DecodeError> {
        let mut reader = Reader::new(payload);
        let begin_time = LogTime(reader.varint()?);
        let max_txn = TxnId(reader.varint()?);
        reader.finish()?;
        Ok(BeginCkpt { begin_time, max_txn })
    }

    fn describe(&self) -> String {
        format!("{};max xdesid {}", self.begin_time, self.max_txn)
    }
}

/// A transaction that was active at a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveXact {
    /// Its id.
    pub txn: TxnId,
    /// Its LOP_BEGIN_XACT.
    pub begin: Lsn,
    /// Its newest record.
    pub last: Lsn,
    /// The next record to undo if it is rolled back.
    pub undo_next: Lsn,
}

/// An unused field behind each transaction of LOP_XACT_CKPT.
const UNUSED: u64 = 0;

/// LOP_XACT_CKPT: active transactions. A checkpoint writes as many as it needs between BEGIN and END.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct XactCkpt {
    /// Active transactions.
    pub transactions: Vec<ActiveXact>,
}

impl XactCkpt {
    /// Entries that surely fit one record.
    pub const ENTRIES_MAX: usize = RECORD_PAYLOAD_BYTES_MAX / 56;
}

/// Logs of before 22 November 2026 have a list of dirty pages behind the transactions: a count, then three numbers a page. Readers skip it.
fn skip_dirty_pages(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    if reader.remaining() == 0 {
        return Ok(());
    }
    for _ in 0..reader.varint()? {
        let _page = (reader.varint_u16()?, reader.varint_u32()?, reader.varint()?);
    }
    Ok(())
}

impl Payload for XactCkpt {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let entries = self.transactions.len();
        assert!(entries <= XactCkpt::ENTRIES_MAX, "{entries} entries in one record");
        put_varint(out, self.transactions.len() as u64);
        for xact in &self.transactions {
            assert!(
                xact.begin <= xact.last && xact.undo_next <= xact.last,
                "{xact:?} begins with its first record"
            );
            for number in [xact.txn.0, xact.begin.raw(), xact.last.raw(), xact.undo_next.raw(), UNUSED] {
                put_varint(out, number);
            }
        }
        debug_assert_eq!(
            XactCkpt::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn decode(payload: &[u8]) -> Result<XactCkpt, DecodeError> {
        let mut reader = Reader::new(payload);
        let mut image = XactCkpt::default();
        for _ in 0..reader.varint()? {
            image.transactions.push(ActiveXact {
                txn: TxnId(reader.varint()?),
                begin: Lsn::from_raw(reader.varint()?),
                last: Lsn::from_raw(reader.varint()?),
                undo_next: Lsn::from_raw(reader.varint()?),
            });
            let _unused = reader.varint()?;
        }
        skip_dirty_pages(&mut reader)?;
        reader.finish()?;
        Ok(image)
    }

    fn describe(&self) -> String {
        let mut line = format!("{} transactions", self.transactions.len());
        for xact in self.transactions.iter().take(4) {
            let _ = write!(line, ";{} began {}", xact.txn, xact.begin);
        }
        line
    }
}

/// LOP_END_CKPT: the checkpoint with the BEGIN record at `begin` is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndCkpt {
    /// Its LOP_BEGIN_CKPT.
    pub begin: Lsn,
    /// When it ended.
    pub end_time: LogTime,
    /// The oldest record that recovery from this checkpoint needs.
    pub min: Lsn,
    /// Where analysis and redo start: at or below `begin`, below which every change is on disk and known to the checkpoint.
    pub redo_start: Lsn,
    /// Dirty pages that the checkpoint left (named in its LOP_XACT_CKPT records).
    pub dirty_page_count: u32,
}

impl Payload for EndCkpt {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(
            self.min <= self.redo_start && self.redo_start <= self.begin,
            "a checkpoint's positions: {self:?}"
        );
        let numbers = [
            self.begin.raw(),
            self.end_time.0,
            self.min.raw(),
            self.redo_start.raw(),
            u64::from(self.dirty_page_count),
        ];
        for number in numbers {
            put_varint(out, number);
        }
        debug_assert_eq!(
            EndCkpt::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn decode(payload: &[u8]) -> Result<EndCkpt, DecodeError> {
        let mut reader = Reader::new(payload);
        let begin = Lsn::from_raw(reader.varint()?);
        let end_time = LogTime(reader.varint()?);
        let min = Lsn::from_raw(reader.varint()?);
        let redo_start = Lsn::from_raw(reader.varint()?);
        let dirty_page_count = reader.varint_u32()?;
        reader.finish()?;
        Ok(EndCkpt { begin, end_time, min, redo_start, dirty_page_count })
    }

    fn describe(&self) -> String {
        format!(
            "began {};{};minimum {};redo from {};{} dirty pages",
            self.begin, self.end_time, self.min, self.redo_start, self.dirty_page_count
        )
    }
}

fn text(bytes: &[u8]) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| DecodeError("name is not UTF-8"))
}

fn clip(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    assert!(end <= bytes_max && end + 4 > bytes_max.min(text.len()), "no more is cut off than one character");
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_of_older_logs_with_their_dirty_pages_are_read() {
        let xact = ActiveXact {
            txn: TxnId(7),
            begin: Lsn::new(1, 16, 1),
            last: Lsn::new(1, 16, 3),
            undo_next: Lsn::new(1, 16, 2),
        };
        let image = XactCkpt { transactions: vec![xact] };
        let mut payload = Vec::new();
        image.encode(&mut payload);
        assert_eq!(XactCkpt::decode(&payload), Ok(image.clone()));

        for number in [2, 1, 20, 300, 1, 70_000, 400] {
            put_varint(&mut payload, number);
        }
        assert_eq!(XactCkpt::decode(&payload), Ok(image));

        payload.pop();
        assert!(XactCkpt::decode(&payload).is_err(), "a list that ends early");
        put_varint(&mut payload, u64::MAX);
        put_varint(&mut payload, 1);
        assert!(XactCkpt::decode(&payload).is_err(), "more than the list");
    }
}
