//! Checkpoints: changed pages go to the data files, so that recovery has little to redo and the log can be used again.
//!
//! One checkpoint, in order (each step makes the next one sound):
//! 1. LOP_BEGIN_CKPT is appended at `C`.
//! 2. Every page with a change older than `C` is written out (its log first: the WAL rule of `pages`).
//! 3. Active transactions are noted in the log, then LOP_END_CKPT, which says where redo starts; the log is hardened.
//! 4. The log's header names `C` as the place where recovery starts.
//! 5. SIMPLE recovery model: log that nobody needs any more is free again. (FULL without a backup behaves the same, as in SQL Server;
//!    backups do not exist yet.)
//!
//! A full log is when a checkpoint is needed most. One that will give a VLF back takes its few records' room from the log's margin; one that
//! would only take (a transaction still needs the oldest VLF) does so once in a sixteenth of the log, to shorten recovery; one that comes
//! sooner is content with what is free, and is not made when that is nothing: the margin belongs to rollbacks.
//!
//! tempdb keeps no page safe: its checkpoint only gives log back.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use log::{LogError, Lsn};
use os::{JoinHandle, Latch, LatchRank, Signal, WaitType};
use pages::PageError;
use txn::TxnError;
use txn::recovery::{CheckpointPayment, write_checkpoint};

use crate::database::Database;
use crate::error::StorageError;
use crate::instance::Instance;
use crate::shutdown;

/// Log records since the last checkpoint, in bytes, at which the next one begins: about a second of redo.
const LOG_BYTES_BETWEEN_CHECKPOINTS: u64 = 128 << 20;
/// Used part of the log, in percent, at which one begins (SIMPLE recovery model).
const LOG_USED_PERCENT: u64 = 70;
/// Used part of the log, in percent, at which whoever begins a transaction gives log back himself: the thread may be too late for a small
/// log under load, and the log must not be full for want of a checkpoint.
const LOG_PRESSED_PERCENT: u64 = 85;
/// A checkpoint that frees nothing may take its room from the margin when more records than this part of the log are behind the last one.
const LOG_PART_BETWEEN_VAIN_CHECKPOINTS: u64 = 16;
/// Every so many transactions the log is looked at.
const TRANSACTIONS_BETWEEN_LOOKS: u64 = 32;
/// How often the checkpoint thread looks.
const POLL_NS: u64 = 250_000_000;

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

/// What a database remembers of its checkpoints.
pub(crate) struct CheckpointState {
    /// Held by the checkpoint that runs.
    running: Latch<()>,
    /// `record_bytes_total` of the log when the last one began.
    log_bytes: AtomicU64,
    /// Transactions begun.
    begun: AtomicU64,
}

impl Default for CheckpointState {
    fn default() -> CheckpointState {
        CheckpointState {
            running: Latch::new(LatchRank::Checkpoint, ()),
            log_bytes: AtomicU64::new(0),
            begun: AtomicU64::new(0),
        }
    }
}

/// One checkpoint, start to end. An error that the database cannot survive makes it suspect.
pub(crate) fn run(database: &Arc<Database>, reason: Reason) -> Result<(), StorageError> {
    let _one_at_a_time = database.checkpoint_state.running.lock();
    run_alone(database, reason)
}

/// Called by whoever is about to begin a transaction, holding nothing. Almost always only counts.
pub(crate) fn before_transaction(database: &Arc<Database>) {
    let state = &database.checkpoint_state;
    if !state.begun.fetch_add(1, Relaxed).is_multiple_of(TRANSACTIONS_BETWEEN_LOOKS) {
        return;
    }
    let stats = database.log.stats();
    let since = stats.record_bytes_total.saturating_sub(state.log_bytes.load(Relaxed));
    let is_pressed = stats.used_bytes * 100 > stats.size_bytes * LOG_PRESSED_PERCENT;
    if !is_pressed || since <= stats.size_bytes / 100 {
        return;
    }
    let _mask = os::task::mask_interrupts();
    if let Some(_one_at_a_time) = state.running.try_lock()
        && let Err(error) = run_alone(database, Reason::Automatic)
    {
        os::report::warn("checkpoint", &format!("database {}: {error}", database.name()));
    }
}

fn run_alone(database: &Arc<Database>, reason: Reason) -> Result<(), StorageError> {
    let log_bytes = database.log.stats().record_bytes_total;
    let result = if database.is_volatile() { give_log_back(database) } else { write_all(database, reason) };
    if let Err(error) = &result
        && is_fatal(error)
    {
        database.suspect(&format!("the checkpoint ({reason:?}) failed: {error}"));
    }
    // Nothing to gain and no room for it: the thread need not try again before more has been written.
    let is_vain = reason == Reason::Automatic && result.as_ref().is_err_and(is_for_want_of_room);
    if result.is_ok() || is_vain {
        database.checkpoint_state.log_bytes.store(log_bytes, Relaxed);
    }
    if is_vain { Ok(()) } else { result }
}

fn is_for_want_of_room(error: &StorageError) -> bool {
    match error {
        StorageError::Log(error) | StorageError::Txn(TxnError::Log(error)) => {
            matches!(error, LogError::Full { .. })
        }
        _ => false,
    }
}

/// Who gives room to the checkpoint's records.
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

fn write_all(database: &Database, reason: Reason) -> Result<(), StorageError> {
    let payment = payment(database, reason);
    let begin = database.txns.begin_checkpoint(payment)?;
    let written = database.space.write_out_dirty(begin, 0)?;
    count_pages(database, written);
    let dirty: Vec<Lsn> = database.space.dirty_pages()?.into_iter().map(|(_, recovery)| recovery).collect();
    // What keeps recovery short and lets the log be used again: step 2 has left nothing of before.
    assert!(
        dirty.iter().all(|recovery| *recovery > begin),
        "a checkpoint writes every change older than itself"
    );
    let image = write_checkpoint(&database.txns, begin, &dirty, payment)?;
    shutdown::quiesce(&database.log, image.end)?;
    // Once more: where recovery starts is not moved when a page could not be written meanwhile.
    database.space.refuse_if_suspect()?;
    match reason {
        Reason::Recovery => database.log.record_recovery(begin, image.min)?,
        _ => database.log.record_checkpoint(begin, image.min)?,
    }
    give_log_back(database)
}

/// Must the database be recovered before anything more of it is acknowledged? A full log or disk is not such a case.
fn is_fatal(error: &StorageError) -> bool {
    match error {
        StorageError::Log(error) => error.is_fatal_to_database(),
        StorageError::Txn(error) => error.is_fatal_to_database(),
        StorageError::Page(PageError::Io(_) | PageError::Suspect(_)) => true,
        StorageError::Page(PageError::Log(error)) => error.is_fatal_to_database(),
        _ => false,
    }
}

/// Frees what log nobody needs.
pub(crate) fn give_log_back(database: &Database) -> Result<(), StorageError> {
    // The pin first: truncation asks the pins.
    database.txns.oldest_begin();
    database.log.truncate()?;
    Ok(())
}

fn count_pages(database: &Database, written: u64) {
    let counter = database.os.counters().counter("SQLServer:Buffer Manager", "Checkpoint pages/sec", "");
    counter.add(i64::try_from(written).unwrap_or(i64::MAX));
}

/// Has the database written enough log for an automatic checkpoint?
fn is_due(database: &Database) -> bool {
    let stats = database.log.stats();
    let since = stats.record_bytes_total.saturating_sub(database.checkpoint_state.log_bytes.load(Relaxed));
    let is_nearly_full = stats.used_bytes * 100 > stats.size_bytes * LOG_USED_PERCENT;
    if database.is_volatile() {
        return is_nearly_full;
    }
    // A nearly full log that a checkpoint has just not been able to empty (a long transaction) is not tried again for nothing.
    since > LOG_BYTES_BETWEEN_CHECKPOINTS || (is_nearly_full && since > stats.size_bytes / 100)
}

/// The thread `CHECKPOINT`: looks at every database and checkpoints those that are due.
pub(crate) struct Checkpointer {
    shared: Arc<Shared>,
    thread: JoinHandle,
}

struct Shared {
    stop: AtomicBool,
    bell: Signal,
}

impl Checkpointer {
    /// Starts the thread. It does not keep the instance alive.
    pub(crate) fn start(instance: &Arc<Instance>) -> Checkpointer {
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), bell: Signal::new() });
        let (body, weak) = (Arc::clone(&shared), Arc::downgrade(instance));
        let thread = instance.os().spawn("CHECKPOINT", move || {
            loop {
                body.bell.wait(WaitType::CHECKPOINT_QUEUE, Some(POLL_NS));
                let Some(instance) = weak.upgrade().filter(|_| !body.stop.load(Acquire)) else { return };
                checkpoint_due_databases(&instance);
            }
        });
        Checkpointer { shared, thread }
    }

    /// Ends the thread, after the checkpoint that it may be at.
    pub(crate) fn stop(self) {
        self.shared.stop.store(true, Release);
        self.shared.bell.set();
        if self.thread.join().is_err() {
            os::report::error("checkpoint", "the checkpoint thread had failed");
        }
    }
}

fn checkpoint_due_databases(instance: &Arc<Instance>) {
    instance.decisions().sweep(instance);
    for database in instance.databases() {
        if database.check_usable().is_err() || !is_due(&database) {
            continue;
        }
        let result = database.in_background(|| run(&database, Reason::Automatic));
        if let Some(Err(error)) = result {
            os::report::warn("checkpoint", &format!("database {}: {error}", database.name()));
        }
    }
}
