//! The records of a checkpoint: LOP_BEGIN_CKPT, LOP_XACT_CKPT (as many as needed), LOP_END_CKPT.
//!
//! A checkpoint is fuzzy: transactions go on. It is correct by its order: first LOP_BEGIN_CKPT, then the dirty pages are written out, then
//! the table of transactions is noted, then LOP_END_CKPT is hardened, and only then does the log's header name the new checkpoint. A crash
//! before that last step recovers from the checkpoint before. Of the pages that are *still* dirty it notes only the number and the oldest record
//! that one of them may lack (as part of the redo start): redo compares page LSNs, so no pass would read a list
//! of pages.
//!
//! Its space: three records at least, 34 bytes or so more for each active transaction. [`CheckpointPayment`] says where the space comes from.

use log::records::{ActiveXact, BeginCkpt, EndCkpt, XactCkpt};
use log::{LogOp, Lsn, RecordBuf, RecordHeader};

use crate::TxnResult;
use crate::transaction::TxnManager;

/// The contents of one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointImage {
    /// Its LOP_BEGIN_CKPT.
    pub begin: Lsn,
    /// Its LOP_END_CKPT; must be hardened before the checkpoint counts.
    pub end: Lsn,
    /// Analysis and redo start here.
    pub redo_start: Lsn,
    /// The oldest record that recovery from this checkpoint needs (redo or undo).
    pub min: Lsn,
    /// Transactions that were active.
    pub active: Vec<ActiveXact>,
    /// Pages left dirty.
    pub dirty_page_count: u32,
}

/// Where the records of a checkpoint get their space in a nearly full log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointPayment {
    /// From free space that is not reserved: error 9002 when there is none.
    FreeSpace,
    /// Also from the log's margin: for a checkpoint that frees more than it takes, or that opening or closing the database needs.
    Margin,
}

fn append(manager: &TxnManager, record: &RecordBuf, payment: CheckpointPayment) -> TxnResult<Lsn> {
    assert!(record.header.txn.is_null(), "a checkpoint is nobody's transaction");
    Ok(match payment {
        CheckpointPayment::FreeSpace => manager.log().append(record)?,
        CheckpointPayment::Margin => manager.log().append_from_reservation(record)?,
    })
}

impl TxnManager {
    /// The first step of a checkpoint: LOP_BEGIN_CKPT. Dirty pages are to be written after it.
    pub fn begin_checkpoint(&self, payment: CheckpointPayment) -> TxnResult<Lsn> {
        let begin = BeginCkpt { begin_time: self.log_time(), max_txn: self.max_txn() };
        let record = RecordBuf::from_payload(RecordHeader::new(LogOp::BeginCkpt), &begin);
        let lsn = append(self, &record, payment)?;
        let redo_start = Lsn::from_raw(self.redo_start.load(std::sync::atomic::Ordering::Relaxed));
        assert!(redo_start < lsn, "a checkpoint begins behind the redo start of the one before");
        Ok(lsn)
    }
}

/// The last step but one: notes the active transactions, and appends LOP_END_CKPT. `dirty`: for each page that is dirty after the
/// checkpoint's writing, the oldest record that it may lack on disk. The caller then hardens the log, with the reason of its checkpoint, and records the checkpoint in the log's header.
pub fn write_checkpoint(
    manager: &TxnManager,
    begin: Lsn,
    dirty: &[Lsn],
    payment: CheckpointPayment,
) -> TxnResult<CheckpointImage> {
    let snapshot = manager.active_snapshot();
    let active: Vec<ActiveXact> = snapshot
        .rows
        .iter()
        .filter(|row| !row.begin.is_null() && !row.is_ended)
        .map(|row| ActiveXact { txn: row.id, begin: row.begin, last: row.last, undo_next: row.last })
        .collect();
    assert!(active.iter().all(|xact| xact.begin <= xact.last), "a transaction begins with its first record");
    assert!(dirty.iter().all(|recovery| !recovery.is_null()), "a dirty page lacks a record on disk");
    assert!(
        active.iter().all(|xact| xact.txn <= manager.max_txn()),
        "numbers are given out before they are used"
    );
    assert!(begin < manager.log().end(), "a checkpoint begins with a record");
    let oldest_dirty = dirty.iter().copied().min().unwrap_or(Lsn::MAX);
    manager.note_redo_start(begin.min(snapshot.scan_start));
    let redo_start = begin.min(snapshot.scan_start).min(oldest_dirty);
    let oldest_active = active.iter().map(|xact| xact.begin).min().unwrap_or(Lsn::MAX);
    let min = redo_start.min(oldest_active);
    assert!(!min.is_null(), "a checkpoint names the oldest record that recovery needs");
    append_image(manager, &active, payment)?;
    let dirty_page_count = u32::try_from(dirty.len()).unwrap_or(u32::MAX);
    let end = EndCkpt { begin, end_time: manager.log_time(), min, redo_start, dirty_page_count };
    let record = RecordBuf::from_payload(RecordHeader::new(LogOp::EndCkpt), &end);
    let end = append(manager, &record, payment)?;
    assert!(
        min <= redo_start && redo_start <= begin && begin < end,
        "the positions of a checkpoint are ordered"
    );
    Ok(CheckpointImage { begin, end, redo_start, min, active, dirty_page_count })
}

fn append_image(manager: &TxnManager, active: &[ActiveXact], payment: CheckpointPayment) -> TxnResult<()> {
    for part in active.chunks(XactCkpt::ENTRIES_MAX) {
        assert!(part.iter().all(|xact| !xact.begin.is_null()), "only who has written is noted");
        let image = XactCkpt { transactions: part.to_vec() };
        append(manager, &RecordBuf::from_payload(RecordHeader::new(LogOp::XactCkpt), &image), payment)?;
    }
    Ok(())
}
