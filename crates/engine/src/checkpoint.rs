//! Checkpoints: write changed pages to the data files, so that recovery has little to redo and the log can be reused.
//!
//! One checkpoint, in order (each step makes the next one sound):
//! 1. LOP_BEGIN_CKPT is appended at `C`.
//! 2. Every page with a change older than `C` is written out (its log first: the WAL rule of `pages`).
//! 3. Active transactions are logged, then LOP_END_CKPT, which says where redo starts; the log is hardened.
//! 4. The log's header names `C` as the place where recovery starts.
//! 5. SIMPLE recovery model: log that is no longer needed becomes free. (FULL without a backup behaves in the same way, as in SQL Server;
//!    backups do not exist yet.)
//!
//! A full log needs a checkpoint most. A checkpoint that will free a VLF takes the room for its few records from the log's margin; one that
//! will free none (a transaction still needs the oldest VLF) does so once in a sixteenth of the log, to shorten recovery; if it comes
//! sooner, it uses free log only, and is not made without it: the margin belongs to rollbacks.
//!
//! A session that begins a transaction makes the checkpoint itself when little log is left, and near the end waits for one that runs.
//! A session that has rolled back a transaction that filled the log does so as well. Error 9002 remains for a transaction too big for its log, and
//! for log that another transaction holds; the error names it.
//!
//! tempdb needs no durable pages: its checkpoint only frees log.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::{LogError, Lsn};
use os::WaitType;
use os::sim::{Bug, is_planted};
use pages::PageError;
use txn::TxnError;
use txn::recovery::{CheckpointPayment, write_checkpoint};
use types::SqlError;

use crate::database::Database;
use crate::error::{SqlResult, StorageError};
use crate::quiesce::quiesce;

/// Bytes of log records since the last checkpoint at which the next one begins: about a second of redo.
const LOG_BYTES_BETWEEN_CHECKPOINTS: u64 = 128 << 20;
/// Used part of the log, in percent, at which one begins (SIMPLE recovery model).
const LOG_USED_PERCENT: u64 = 70;
/// Used part of the log, in percent, at which a session that begins a transaction frees log itself: the thread may be too late for a small
/// log under load, and the log must not become full for lack of a checkpoint.
const LOG_PRESSED_PERCENT: u64 = 80;
/// From here on such a session waits for a checkpoint that already runs.
const LOG_NEARLY_FULL_PERCENT: u64 = 92;
/// A checkpoint that frees nothing may take its room from the margin when more records than this part of the log are behind the last one.
const LOG_PART_BETWEEN_VAIN_CHECKPOINTS: u64 = 16;
/// The log is checked once in so many transactions.
const TRANSACTIONS_BETWEEN_LOOKS: u64 = 32;
/// How long to wait for an announced append before the next check.
const APPEND_PAUSE_NS: u64 = 1_000_000;

/// Why a checkpoint runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The CHECKPOINT statement.
    Statement,
    /// A new database.
    Create,
    /// The end of recovery.
    Recovery,
    /// The checkpoint thread.
    Automatic,
    /// A clean close.
    Shutdown,
}

/// Runs one checkpoint. An error that the database cannot survive makes it suspect.
pub(crate) fn run(database: &Arc<Database>, reason: Reason) -> Result<(), StorageError> {
    let _one_at_a_time = database.checkpoint_state.running.lock();
    run_alone(database, reason).map(|_| ())
}

/// Runs checkpoints until redo after any crash reaches no record below `position`. One is not enough while an append is announced that began
/// before it: redo starts at its announcement, which is lower. The log is hardened beyond `position` after the first one, so later announcements
/// do not matter, and the announcing thread continues by itself.
pub(crate) fn run_past(database: &Arc<Database>, reason: Reason, position: Lsn) -> Result<(), StorageError> {
    assert!(position <= database.log.end(), "redo starts in the log");
    loop {
        let redo_start = {
            let _one_at_a_time = database.checkpoint_state.running.lock();
            run_alone(database, reason)?
        };
        if redo_start >= position || is_planted(Bug::GivenUpAfterOneCheckpoint) {
            return Ok(());
        }
        os::sim::reach(|| "checkpoint again: redo starts before what is given up".to_owned());
        while database.txns.active_snapshot().scan_start < position {
            let slept = database.os.sleep(APPEND_PAUSE_NS, WaitType::SLEEP_TASK);
            slept.map_err(|_| StorageError::Log(LogError::Interrupted))?;
        }
    }
}

/// Called before a transaction begins, without locks or latches. Almost always only counts.
pub(crate) fn before_transaction(database: &Arc<Database>) {
    let begun = database.checkpoint_state.begun.fetch_add(1, Relaxed);
    if begun.is_multiple_of(TRANSACTIONS_BETWEEN_LOOKS) || database.log.take_pressed() {
        look_at_log(database);
    }
}

/// Called before a statement of a transaction that has begun, without latches. Log from before the transaction began may fill the log,
/// and is freed once: the transaction's own log stays.
pub(crate) fn before_statement(database: &Arc<Database>) {
    if !database.log.take_pressed() {
        return;
    }
    let needed = database.txns.oldest_begin().unwrap_or_else(|| database.log.end());
    if database.log.would_free(needed) {
        look_at_log(database);
    }
}

/// Called after a rollback, without locks or latches: it may have filled the log, and the next transaction should not find it full.
pub(crate) fn after_rollback(database: &Arc<Database>) {
    if database.check_usable().is_ok() {
        look_at_log(database);
    }
}

/// Frees log when little is left and more was written since the last attempt.
fn look_at_log(database: &Arc<Database>) {
    let state = &database.checkpoint_state;
    let look = || {
        let stats = database.log.stats();
        let since = stats.record_bytes_total.saturating_sub(state.log_bytes.load(Relaxed));
        let is_worth_it = since > stats.size_bytes / 100;
        stats.used_bytes * 100 / stats.size_bytes * u64::from(is_worth_it)
    };
    let used_percent = look();
    if used_percent <= LOG_PRESSED_PERCENT {
        return;
    }
    let _mask = os::task::mask_interrupts();
    let _one_at_a_time = match state.running.try_lock() {
        Some(running) => running,
        None if used_percent > LOG_NEARLY_FULL_PERCENT => state.running.lock(),
        None => return,
    };
    // Another thread may have done it meanwhile.
    if look() > LOG_PRESSED_PERCENT
        && let Err(error) = run_alone(database, Reason::Automatic)
    {
        os::report::warn("checkpoint", &format!("database {}: {error}", database.name()));
    }
}

/// Returns where redo starts now: nowhere (`Lsn::MAX`) in tempdb, unknown (NULL) when no checkpoint was made.
fn run_alone(database: &Arc<Database>, reason: Reason) -> Result<Lsn, StorageError> {
    let log_bytes = database.log.stats().record_bytes_total;
    let result = match database.is_volatile() {
        true => give_log_back(database).map(|()| Lsn::MAX),
        false => write_all(database, reason),
    };
    if let Err(error) = &result
        && is_fatal(error)
    {
        database.suspect(&format!("the checkpoint ({reason:?}) failed: {error}"));
    }
    // Nothing to free and no room for the records: the thread need not try again before more log is written.
    let is_vain = reason == Reason::Automatic && result.as_ref().is_err_and(is_for_want_of_room);
    if result.is_ok() || is_vain {
        database.checkpoint_state.log_bytes.store(log_bytes, Relaxed);
    }
    if is_vain { Ok(Lsn::NULL) } else { result }
}

fn is_for_want_of_room(error: &StorageError) -> bool {
    match error {
        StorageError::Log(error) | StorageError::Txn(TxnError::Log(error)) => {
            matches!(error, LogError::Full { .. })
        }
        _ => false,
    }
}

/// The source of the log space for the checkpoint's records.
fn payment(database: &Database, reason: Reason) -> CheckpointPayment {
    let needed = database.txns.oldest_begin().unwrap_or_else(|| database.log.end());
    let stats = database.log.stats();
    let since = stats.record_bytes_total.saturating_sub(database.checkpoint_state.log_bytes.load(Relaxed));
    let is_worth_it = since > stats.size_bytes / LOG_PART_BETWEEN_VAIN_CHECKPOINTS;
    match reason {
        Reason::Create | Reason::Recovery | Reason::Shutdown => CheckpointPayment::Margin,
        Reason::Statement | Reason::Automatic if is_worth_it || database.log.would_free(needed) => {
            CheckpointPayment::Margin
        }
        Reason::Statement | Reason::Automatic => CheckpointPayment::FreeSpace,
    }
}

/// Returns where redo starts from now on.
fn write_all(database: &Database, reason: Reason) -> Result<Lsn, StorageError> {
    let payment = payment(database, reason);
    let begin = database.txns.begin_checkpoint(payment)?;
    let written = database.space.write_out_dirty(begin)?;
    count_pages(database, written);
    let dirty: Vec<Lsn> = database.space.dirty_pages()?.into_iter().map(|(_, recovery)| recovery).collect();
    // The purpose of the checkpoint: step 2 has left no change from before.
    assert!(
        dirty.iter().all(|recovery| *recovery > begin),
        "a checkpoint writes every change older than itself"
    );
    let image = write_checkpoint(&database.txns, begin, &dirty, payment)?;
    quiesce(&database.log, image.end)?;
    // Checked once more: the start of recovery is not moved when a page could not be written meanwhile.
    database.space.refuse_if_suspect()?;
    match reason {
        Reason::Recovery => {
            // Before the log says so: the data files must know that the new incarnation follows the one that has ended, not the other way round.
            database.space.note_incarnation(database.log.next_incarnation())?;
            database.log.record_recovery(begin, image.min)?;
        }
        _ => database.log.record_checkpoint(begin, image.min)?,
    }
    give_log_back(database)?;
    Ok(image.redo_start)
}

/// Must the database be recovered before it acknowledges anything more? Not after a full log or disk.
fn is_fatal(error: &StorageError) -> bool {
    match error {
        StorageError::Log(error) => error.is_fatal_to_database(),
        StorageError::Txn(error) => error.is_fatal_to_database(),
        StorageError::Page(PageError::Io(_) | PageError::Suspect(_)) => true,
        StorageError::Page(PageError::Log(error)) => error.is_fatal_to_database(),
        _ => false,
    }
}

/// Frees log that is no longer needed.
pub(crate) fn give_log_back(database: &Database) -> Result<(), StorageError> {
    // The pin first: truncation reads the pins.
    database.txns.oldest_begin();
    database.log.truncate()?;
    Ok(())
}

fn count_pages(database: &Database, written: u64) {
    let counter = database.os.counters().counter("SQLServer:Buffer Manager", "Checkpoint pages/sec", "");
    counter.add(i64::try_from(written).unwrap_or(i64::MAX));
}

/// Has the database written enough log for an automatic checkpoint?
pub(crate) fn is_due(database: &Database) -> bool {
    let stats = database.log.stats();
    let since = stats.record_bytes_total.saturating_sub(database.checkpoint_state.log_bytes.load(Relaxed));
    let is_nearly_full = stats.used_bytes * 100 > stats.size_bytes * LOG_USED_PERCENT;
    if database.is_volatile() {
        return is_nearly_full;
    }
    // A nearly full log that the last checkpoint could not empty (a long transaction) is not tried again without new log.
    since > LOG_BYTES_BETWEEN_CHECKPOINTS || (is_nearly_full && since > stats.size_bytes / 100)
}

impl Database {
    /// CHECKPOINT.
    ///
    /// # Errors
    /// 9001, 9002 and those of data files.
    pub fn checkpoint(self: &Arc<Self>) -> SqlResult<()> {
        run(self, Reason::Statement).map_err(|error| {
            SqlError::custom(
                5901,
                16,
                1,
                format!("The checkpoint of database '{}' failed: {error}", self.name()),
            )
        })
    }
}
