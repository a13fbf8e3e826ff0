//! The state that all parts of an open log share, and the positions with one updater each.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use os::{Condition, IoError, JoinHandle, Latch, Os, Signal, Watermark};

use crate::cache::Cache;
use crate::error::LogError;
use crate::files::LogFiles;
use crate::flush_queue::{FlushQueue, WriterState};
use crate::flush_reason::DelayedFlushPolicy;
use crate::lsn::Lsn;
use crate::options::LogOptions;
use crate::stats::Counters;
use crate::truncate::{LogPin, PinTable};
use crate::vlf::{VlfMap, VlfRule};

/// The positions of a log; the table in lib.rs says which function moves each.
pub(crate) struct Positions {
    /// Where the next record goes at the earliest. Updated by append and seal, under the cache latch.
    pub(crate) end: AtomicU64,
    /// Newest record of the newest sealed block. Updated by `Shared::note_sealed`, under the cache latch.
    pub(crate) sealed: AtomicU64,
    /// Newest record of the newest issued block. Updated by `Shared::register`, by the holder of the writer role.
    pub(crate) issued: AtomicU64,
    /// Newest record of the contiguous durable prefix. Updated by `Shared::complete`, under the queue latch.
    pub(crate) hardened: Watermark,
    /// Newest record that the persisted log buffer has had, with all before it; NULL without a buffer. Updated by `Shared::persist`, under the
    /// cache latch.
    pub(crate) persisted: AtomicU64,
    /// Begin of the last completed checkpoint. Updated by `Log::record_checkpoint`.
    pub(crate) checkpoint: AtomicU64,
    /// MinLSN as of the last truncation. Updated by `Log::truncate`.
    pub(crate) min: AtomicU64,
}

impl Positions {
    pub(crate) fn new(last: Lsn, end: Lsn, checkpoint: Lsn, min: Lsn) -> Positions {
        assert!(last < end && checkpoint <= last && min <= end);
        Positions {
            end: AtomicU64::new(end.raw()),
            sealed: AtomicU64::new(last.raw()),
            issued: AtomicU64::new(last.raw()),
            hardened: Watermark::new(last.raw()),
            persisted: AtomicU64::new(Lsn::NULL.raw()),
            checkpoint: AtomicU64::new(checkpoint.raw()),
            min: AtomicU64::new(min.raw()),
        }
    }

    pub(crate) fn end(&self) -> Lsn {
        Lsn::from_raw(self.end.load(Ordering::Acquire))
    }

    pub(crate) fn sealed(&self) -> Lsn {
        Lsn::from_raw(self.sealed.load(Ordering::Acquire))
    }

    pub(crate) fn issued(&self) -> Lsn {
        Lsn::from_raw(self.issued.load(Ordering::Acquire))
    }

    pub(crate) fn hardened(&self) -> Lsn {
        Lsn::from_raw(self.hardened.get())
    }

    pub(crate) fn persisted(&self) -> Lsn {
        Lsn::from_raw(self.persisted.load(Ordering::Acquire))
    }

    /// The newest record that survives a loss of power with all before it: in the file, or in the persisted log buffer.
    pub(crate) fn safe(&self) -> Lsn {
        self.hardened().max(self.persisted())
    }

    pub(crate) fn checkpoint(&self) -> Lsn {
        Lsn::from_raw(self.checkpoint.load(Ordering::Acquire))
    }

    pub(crate) fn min(&self) -> Lsn {
        Lsn::from_raw(self.min.load(Ordering::Acquire))
    }

    /// The order of the table, as far as it can be read without latches: each is read before the greater one. A log without a
    /// checkpoint begins at its first place, which is above NULL.
    pub(crate) fn assert_order(&self) {
        let min = self.min();
        let checkpoint = self.checkpoint();
        let hardened = self.hardened();
        assert!(checkpoint <= hardened, "checkpoint {checkpoint} is not hard, {hardened} is");
        assert!(min <= hardened || checkpoint.is_null(), "log from {min} on is needed, {hardened} is hard");
        let issued = self.issued();
        let sealed = self.sealed();
        let persisted = self.persisted();
        let end = self.end();
        assert!(persisted < end, "{persisted} was kept, the end is {end}");
        assert!(hardened <= issued && issued <= sealed && sealed < end, "{hardened} {issued} {sealed} {end}");
    }
}

/// The insides of a `Log`.
pub(crate) struct Shared {
    /// Itself, for the threads that it starts.
    pub(crate) me: Weak<Shared>,
    pub(crate) os: Os,
    pub(crate) options: LogOptions,
    pub(crate) files: Arc<LogFiles>,
    pub(crate) log_id: u32,
    pub(crate) epoch: u32,
    padding_bytes: usize,
    pub(crate) cache: Latch<Cache>,
    /// Appenders that wait for a buffer or for growth.
    pub(crate) room: Condition,
    pub(crate) vlfs: Latch<VlfMap>,
    pub(crate) queue: Latch<FlushQueue>,
    /// Wakes the LOG WRITER.
    pub(crate) writer_signal: Signal,
    pub(crate) positions: Positions,
    /// Bytes in the open block; a hint for the delayed flush policy.
    pub(crate) open_bytes: AtomicU32,
    /// The last growth failed, and that was reported.
    pub(crate) growth_failed: AtomicBool,
    /// Growth steps at once; more than one while appends have to wait for growth.
    pub(crate) growth_steps: AtomicU32,
    /// An append has waited for growth since the last one.
    pub(crate) growth_was_waited_for: AtomicBool,
    /// A block has been begun while little of the log was left ([`crate::Log::take_pressed`]).
    pub(crate) is_pressed: AtomicBool,
    pub(crate) policy: AtomicU64,
    /// How many VLFs growth makes: a number of [`VlfRule`].
    pub(crate) vlf_rule: AtomicU8,
    pub(crate) pins: Arc<PinTable>,
    pub(crate) checkpoint_pin: LogPin,
    pub(crate) reuse_wait: AtomicU8,
    pub(crate) counters: Counters,
    poison: OnceLock<Arc<IoError>>,
    pub(crate) stopping: AtomicBool,
    pub(crate) background_suspended: AtomicBool,
    /// A persisted log buffer is on: `harden` uses it.
    pub(crate) persists: AtomicBool,
    /// The LOG WRITER's newest thread, if it has had one.
    pub(crate) writer: Latch<Option<JoinHandle>>,
}

/// The arguments of [`Shared::new`].
pub(crate) struct Parts {
    pub(crate) os: Os,
    pub(crate) options: LogOptions,
    pub(crate) files: Arc<LogFiles>,
    pub(crate) cache: Cache,
    pub(crate) vlfs: VlfMap,
    pub(crate) queue: FlushQueue,
    pub(crate) checkpoint: Lsn,
    pub(crate) min: Lsn,
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Arc<Shared> {
        Arc::new_cyclic(|me| Shared::with_handle(parts, me.clone()))
    }

    fn with_handle(parts: Parts, me: Weak<Shared>) -> Shared {
        use os::LatchRank;
        let Parts { os, options, files, cache, vlfs, queue, checkpoint, min } = parts;
        let header = files.first().header();
        assert_eq!(header.volatile, options.volatile, "a volatile log stays volatile");
        assert_eq!(vlfs.current().sequence, cache.end().vlf(), "the log goes on in its current VLF");
        let pins = PinTable::new();
        let needed = if options.volatile { Lsn::MAX } else { min };
        let checkpoint_pin = pins.pin(crate::truncate::LogReuseWait::Checkpoint, "checkpoint", needed);
        let counters = Counters::new(&os, &options.database);
        counters.set_file_bytes(vlfs.size_bytes());
        Shared {
            me,
            log_id: header.log_id,
            epoch: header.epoch,
            padding_bytes: files.sector_bytes().max(options.padding_bytes),
            positions: Positions::new(cache.last, cache.end(), checkpoint, min),
            cache: Latch::new(LatchRank::LogCache, cache),
            room: Condition::new(),
            vlfs: Latch::new(LatchRank::VlfMap, vlfs),
            queue: Latch::new(LatchRank::FlushQueue, queue),
            writer_signal: Signal::new(),
            open_bytes: AtomicU32::new(0),
            growth_failed: AtomicBool::new(false),
            growth_steps: AtomicU32::new(1),
            growth_was_waited_for: AtomicBool::new(false),
            is_pressed: AtomicBool::new(false),
            policy: AtomicU64::new(options.delayed_flush.to_raw()),
            vlf_rule: AtomicU8::new(options.vlf_rule as u8),
            pins,
            checkpoint_pin,
            reuse_wait: AtomicU8::new(0),
            counters,
            poison: OnceLock::new(),
            stopping: AtomicBool::new(false),
            background_suspended: AtomicBool::new(false),
            persists: AtomicBool::new(false),
            writer: Latch::new(LatchRank::Leaf, None),
            os,
            options,
            files,
        }
    }

    /// Errors once a log write has failed.
    pub(crate) fn check_alive(&self) -> Result<(), LogError> {
        if self.is_failed() { self.why_failed() } else { Ok(()) }
    }

    #[cold]
    fn why_failed(&self) -> Result<(), LogError> {
        self.poison.get().map_or(Ok(()), |error| Err(LogError::Failed(Arc::clone(error))))
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.poison.get().is_some()
    }

    /// A log write has failed: nothing more becomes durable, every waiter gets the error, and the write is never retried
    /// (the system may have dropped the data while reporting the error once).
    pub(crate) fn fail(&self, error: IoError) {
        os::report::error("log", &format!("log of {} failed: {error}", self.options.database));
        if self.poison.set(Arc::new(error)).is_err() {
            return;
        }
        self.positions.hardened.poison();
        assert!(self.check_alive().is_err(), "from now on nothing is appended or acknowledged");
        let wakers = self.queue.lock().drain_waiters();
        wakers.into_iter().for_each(std::task::Waker::wake);
        // A task that checked the poison before it was set waits in `room` by the time the cache latch is free.
        drop(self.cache.lock());
        self.room.notify_all();
        self.wake_writer(&WriterState::WAITING);
    }

    pub(crate) fn policy(&self) -> DelayedFlushPolicy {
        DelayedFlushPolicy::from_raw(self.policy.load(Ordering::Relaxed))
    }

    /// How many VLFs growth makes.
    pub(crate) fn vlf_rule(&self) -> VlfRule {
        VlfRule::from_number(self.vlf_rule.load(Ordering::Relaxed)).expect("only numbers of rules are stored")
    }

    /// The unit that blocks are padded to, in bytes.
    pub(crate) fn sector_bytes(&self) -> usize {
        assert!(self.padding_bytes.is_multiple_of(crate::limits::SECTOR_BYTES), "blocks are whole sectors");
        self.padding_bytes
    }

    /// Damage at a block.
    pub(crate) fn corrupt(&self, block: Lsn, what: &str) -> LogError {
        let vlfs = self.vlfs.lock();
        let file = vlfs.by_sequence(block.vlf()).map_or(crate::FIRST_LOG_FILE, |vlf| vlf.file);
        let offset = vlfs.offset_of(block).unwrap_or(0);
        drop(vlfs);
        self.files.corrupt(file, offset, what)
    }

    /// Space that only rollbacks may use, beyond their reservations: padding of their blocks, ends of VLFs.
    pub(crate) fn margin_bytes(&self) -> u64 {
        margin_of(self.counters.file_bytes())
    }
}

/// See `Shared::margin_bytes`, of a log of so many bytes.
pub(crate) fn margin_of(log_bytes: u64) -> u64 {
    (log_bytes / 16).clamp(64 * 1024, 1024 * 1024)
}
