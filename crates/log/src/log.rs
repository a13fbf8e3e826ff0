//! `Log`: the public interface of the crate.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::task::Waker;

use os::Os;

use crate::append::Payment;
use crate::cache::Cache;
use crate::cache_takeover;
use crate::error::LogError;
use crate::file::FileHeader;
use crate::files::LogFiles;
use crate::flush::PendingCommit;
use crate::flush_queue::{FlushQueue, WriterState};
use crate::flush_reason::{DelayedFlushPolicy, FlushReason};
use crate::incarnation::Incarnation;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, FIRST_BLOCK_SECTOR, LogLimits};
use crate::loss_window::{LossBounds, LossWindowInfo};
use crate::lsn::Lsn;
use crate::options::LogOptions;
use crate::options::PersistedOptions;
use crate::persisted;
use crate::persisted::PersistedInfo;
use crate::place::AbandonedLog;
use crate::reader::LogReader;
use crate::record::{Appended, OwnedRecord, RecordBuf};
use crate::shared::{Parts, Shared};
use crate::stats::{LogStats, SessionLimits};
use crate::surviving::{self, SurvivingCache};
use crate::tail::{self, EndOfLog};
use crate::truncate::{LogPin, LogReuseWait, PinInfo};
use crate::vlf::{Vlf, VlfInfo, VlfMap, VlfRule};

/// The transaction log of one database. Shared by `Arc`; every method takes `&self`.
pub struct Log {
    pub(crate) shared: Arc<Shared>,
}

/// What opening a log found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The newest record; NULL when there is none.
    pub last: Lsn,
    /// Begin of the last completed checkpoint that was recorded; NULL when none was.
    pub checkpoint: Lsn,
    /// The oldest record that recovery from that checkpoint needs; NULL: all there is.
    pub min: Lsn,
    /// Whether the log was closed properly (recovery then needs nothing behind the last checkpoint).
    pub clean: bool,
    /// Bytes of log that were looked at to find its end.
    pub scanned_bytes: u64,
}

/// What a recovery would read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryExtent {
    /// Its first record.
    pub from: Lsn,
    /// Bytes of log from there to the end.
    pub bytes: u64,
    /// VLFs that contain them.
    pub vlf_count: u64,
    /// Bytes of log since the last checkpoint began.
    pub since_checkpoint_bytes: u64,
}

impl Log {
    /// Makes the files of a new log; they must not exist (a volatile log replaces an existing file).
    pub fn create(os: &Os, options: &LogOptions) -> Result<Log, LogError> {
        let files = Arc::new(LogFiles::create(os, options)?);
        let mut vlfs = VlfMap::new(files.read_vlfs(os)?);
        let header = files.first().header();
        vlfs.begin_first(header.first_vlf);
        let end = EndOfLog::empty(&header);
        let last_block = cache_takeover::records_checksum(&files, &vlfs, &end)?;
        Ok(Log::start(os, options, files, vlfs, &end, last_block))
    }

    /// Opens a log: finds its end, begins a new recovery epoch. All that is read back is durable.
    /// Errors: [`LogError::Corrupt`], [`LogError::NotOurs`], [`LogError::Io`].
    pub fn open(os: &Os, options: &LogOptions) -> Result<(Log, Tail), LogError> {
        let files = Arc::new(LogFiles::open(os, options, false)?);
        let log_file = Arc::clone(files.first());
        let header = log_file.header();
        if header.volatile || options.volatile {
            let what = "the log of a database that is made anew at each start (tempdb)".to_owned();
            return Err(LogError::NotOurs { file: options.path.clone(), what });
        }
        let mut vlfs = VlfMap::new(files.read_vlfs(os)?);
        let mut end = tail::find_end(&files, &vlfs)?;
        let folder = options.surviving_folder.as_ref();
        let mut taken = Vec::new();
        for left in left_by_last_run(os, options, &log_file)? {
            let more = cache_takeover::take_over(os, &left, &files, &vlfs, &end)?;
            if !more.is_empty() {
                vlfs = VlfMap::new(files.read_vlfs(os)?);
                end = tail::find_end(&files, &vlfs)?;
            }
            taken.extend(more);
        }
        if header.checkpoint > end.last || header.min > header.checkpoint {
            return Err(log_file.corrupt(0, "the header names a checkpoint that is not in the log"));
        }
        if end.last.is_null() {
            vlfs.forget_all();
            vlfs.begin_first(header.first_vlf);
        } else {
            let oldest = if header.min.is_null() { header.first_vlf } else { header.min.vlf() };
            vlfs.restore(oldest.min(end.chain.vlf), end.chain.vlf);
            assert_eq!(
                end.last.vlf(),
                vlfs.current().sequence,
                "the log goes on in the VLF of its newest record"
            );
        }
        // Writes of a killed process may not have reached the device yet.
        files.all().iter().try_for_each(|file| file.file.sync())?;
        let hardened = end.last;
        let last_block = folder.map_or(Ok(0), |_| cache_takeover::records_checksum(&files, &vlfs, &end))?;
        let begin_run = |next: &mut FileHeader| {
            next.epoch = next.epoch.max(end.chain.epoch) + 1;
            next.run_id = crate::file::new_run_id(os, next.log_id, next.epoch);
            next.clean = false;
            next.hardened = hardened;
            next.persisted_id = 0;
            // After an incarnation that has ended already, only recoveries have written log: no session holds a ticket for that log.
            next.incarnation_end = next.incarnation_end.or(Some(hardened));
            if next.next_random == 0 {
                next.next_random = Incarnation::random_of(next.run_id);
            }
        };
        log_file.update_header_twice(begin_run)?;
        let tail = Tail {
            last: end.last,
            checkpoint: header.checkpoint,
            min: header.min,
            // Nothing follows the end of a log that was closed properly. If a record does, the header of the run that wrote it is damaged.
            clean: header.clean && end.last <= header.hardened,
            scanned_bytes: end.scanned_bytes,
        };
        let log = Log::start(os, options, files, vlfs, &end, last_block);
        log.shared.note_taken_over(&taken);
        // A crash may have interrupted a file that was joining or leaving the log.
        log.note_alone()?;
        if let Some(persisted) = &options.persisted {
            log.begin_persisting(persisted).map_err(persisted::not_to_be_had)?;
        }
        Ok((log, tail))
    }

    /// `last_block`: the checksum of the records of the newest block.
    fn start(
        os: &Os,
        options: &LogOptions,
        files: Arc<LogFiles>,
        vlfs: VlfMap,
        end: &EndOfLog,
        last_block: u32,
    ) -> Log {
        let header = files.first().header();
        let vlf: Vlf = *vlfs.current();
        assert_eq!(vlf.sequence, end.chain.vlf);
        assert!(
            header.checkpoint <= end.last && header.min <= header.checkpoint,
            "the checkpoint is in the log"
        );
        let sector_bytes = files.sector_bytes();
        let padding_bytes = sector_bytes.max(options.padding_bytes);
        assert!([512, 4096].contains(&padding_bytes), "padding to {padding_bytes} bytes");
        assert!(padding_bytes.is_multiple_of(sector_bytes), "blocks are whole sectors of the device");
        let sector_step = (padding_bytes / crate::limits::SECTOR_BYTES) as u32;
        let next_sector = end.chain.sector.next_multiple_of(sector_step).min(vlf.sectors());
        let reusable_bytes = vlfs.reusable().1;
        let may_leave = !options.volatile && !options.surviving_is_only_taken;
        let folder = options.surviving_folder.as_ref().filter(|_| may_leave);
        let surviving = folder.and_then(|folder| {
            SurvivingCache::create(os, folder, files.first(), &options.database, last_block)
        });
        let mut cache = Cache::new(vlf, next_sector, end.last, reusable_bytes, padding_bytes);
        cache.surviving = surviving;
        let queue = FlushQueue::new(options.limits, end.chain.checksum.unwrap_or(header.log_id));
        let first = Lsn::new(header.first_vlf, FIRST_BLOCK_SECTOR, 1);
        let shared = Shared::new(Parts {
            os: os.clone(),
            options: options.clone(),
            files,
            cache,
            vlfs,
            queue,
            checkpoint: header.checkpoint,
            min: if header.min.is_null() { first } else { header.min },
        });
        shared.note_used();
        Log { shared }
    }

    /// Appends a record and returns its address; it is not durable yet. Waits (LOGBUFFER) while the cache is full.
    /// Errors: [`LogError::Full`], [`LogError::Failed`], [`LogError::Closed`], [`LogError::Interrupted`].
    pub fn append(&self, record: &RecordBuf) -> Result<Lsn, LogError> {
        Ok(self.append_reserving(record, 0)?.lsn)
    }

    /// Appends a record, and keeps `undo_reserve_bytes` of log for undoing it later ([`Log::reservation_for`] the compensation
    /// records; 0 for what is never undone). The caller sums what it reserved, pays with it
    /// ([`Log::append_paying`]), and gives the rest back with [`Log::release_reservation`] when its transaction has ended.
    pub fn append_reserving(
        &self,
        record: &RecordBuf,
        undo_reserve_bytes: u64,
    ) -> Result<Appended, LogError> {
        self.shared.append(record, Payment::FreeSpace { reserve: undo_reserve_bytes })
    }

    /// Appends a record for which space was reserved (compensation, abort, commit): never [`LogError::Full`] while
    /// reservations cover the records, and not interruptible.
    pub fn append_from_reservation(&self, record: &RecordBuf) -> Result<Lsn, LogError> {
        Ok(self.append_paying(record, 0)?.lsn)
    }

    /// Appends such a record, and takes `paid_bytes` off the caller's reservation: they were reserved for this record.
    pub fn append_paying(&self, record: &RecordBuf, paid_bytes: u64) -> Result<Appended, LogError> {
        self.shared.append(record, Payment::Reservation { paid: paid_bytes })
    }

    /// Log to be reserved for a record of at most `record_bytes` (its header included), so that it surely finds space later;
    /// includes its share of the headers and padding of its blocks, and of the ends of VLFs that are too short for it.
    pub fn reservation_for(&self, record_bytes: u64) -> u64 {
        let whole = crate::append::reservation_for(record_bytes, self.shared.sector_bytes());
        assert!(whole >= record_bytes, "more than the record itself is reserved for it");
        whole
    }

    /// The reservation for a record that closes its block because a committer waits for it: the end of a transaction.
    pub fn reservation_for_end(&self, record_bytes: u64) -> u64 {
        assert!(record_bytes > 0, "an end has a record");
        let whole = record_bytes + (BLOCK_HEADER_BYTES + self.shared.sector_bytes()) as u64;
        assert!(whole <= BLOCK_BYTES_MAX as u64, "one block holds the end of a transaction");
        whole
    }

    /// Gives reserved space back.
    pub fn release_reservation(&self, bytes: u64) {
        if bytes > 0 {
            self.shared.cache.lock().release(bytes);
        }
    }

    /// Makes everything up to and including the record at `lsn` durable; waits for it (WRITELOG). On a volatile log it does
    /// nothing. Not interruptible: a write that was issued cannot be cancelled.
    pub fn harden(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        self.shared.harden(lsn, reason)
    }

    /// Asks to harden the record without blocking, for a caller that has other work meanwhile: when another committer or the LOG WRITER
    /// writes or will write, the caller's `waker` enters the queue instead of its thread. It is called once, perhaps before this
    /// returns, by the thread that finds the record hardened or the log failed, or because the caller is to write now. Then, on any
    /// thread, or earlier if the caller prefers to block, [`Log::finish_harden`] must follow. `None`: nothing was begun, call
    /// [`Log::harden`], which writes or finds the record hardened.
    ///
    /// # Errors
    /// Those of `harden` that are known already.
    pub fn harden_later(
        &self,
        lsn: Lsn,
        reason: FlushReason,
        waker: &Waker,
    ) -> Result<Option<PendingCommit>, LogError> {
        self.shared.harden_later(lsn, reason, waker)
    }

    /// The second half of [`Log::harden_later`]: returns when the record is hardened, at once if it is already, and counts the wait.
    pub fn finish_harden(&self, pending: PendingCommit) -> Result<(), LogError> {
        self.shared.finish_harden(pending)
    }

    /// Asks the LOG WRITER to write everything up to the record at once, for `reason`; does not wait. For a caller that hardens several
    /// logs: it calls this on all of them, then [`Log::harden`] on each, so that their writes run at the same time.
    ///
    /// # Errors
    /// Those of `harden` that are known already.
    pub fn request_flush(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        self.shared.request_flush(lsn, reason)
    }

    /// As [`Log::harden`], but waits at most so long: false when the record is not durable by then. The LOG WRITER writes, so that the wait
    /// can end at any time. Interruptible.
    ///
    /// # Errors
    /// Those of `harden`, and [`LogError::Interrupted`].
    pub fn harden_within(
        &self,
        lsn: Lsn,
        reason: FlushReason,
        timeout_ns: Option<u64>,
    ) -> Result<bool, LogError> {
        self.shared.harden_within(lsn, reason, timeout_ns)
    }

    /// A delayed commit of a transaction that has written `bytes` of log is about to be acknowledged: it counts as at risk until it is
    /// durable, and drains by policy. Waits first while more than the bounds allow would be at risk.
    ///
    /// # Errors
    /// Those of `harden`, when it had to wait.
    pub fn delay(&self, lsn: Lsn, bytes: u64) -> Result<(), LogError> {
        self.shared.delay(lsn, bytes)
    }

    /// As `delay`, for a commit whose wait has timed out, which its caller is told: the commit counts, but does not wait.
    pub fn note_at_risk(&self, lsn: Lsn, bytes: u64) {
        assert!(lsn < self.end(), "{lsn} was appended");
        let mut queue = self.shared.queue.lock();
        if lsn > self.hardened() && !self.is_volatile() {
            queue.loss.add(lsn, bytes, || self.shared.os.clock().monotonic_ns());
        }
    }

    /// Sets the bounds for later commits. Commits that are at risk already stay so.
    pub fn set_loss_bounds(&self, bounds: LossBounds) {
        self.shared.queue.lock().loss.set_bounds(bounds);
        self.shared.wake_writer(&WriterState::WAITING);
    }

    /// The delayed commits that a crash would lose now, and the most since the log was opened.
    pub fn loss_window(&self) -> LossWindowInfo {
        let now_ns = self.shared.os.clock().monotonic_ns();
        let survives_process = self.shared.survives_process();
        LossWindowInfo { survives_process, ..self.shared.queue.lock().loss.info(now_ns) }
    }

    /// The newest incarnation: the time between two openings of the database, in which commits get tickets.
    pub fn incarnation(&self) -> Incarnation {
        self.shared.files.first().header().incarnation
    }

    /// The incarnation that [`Log::record_recovery`] will begin. It does not change until a recovery completes.
    pub fn next_incarnation(&self) -> Incarnation {
        let header = self.shared.files.first().header();
        let next = header.incarnation.next(header.next_random);
        assert!(next > header.incarnation, "incarnations are counted");
        next
    }

    /// Where the log ended when the newest incarnation was over, as long as no other one has begun: its commits up to here are durable,
    /// later ones are lost.
    pub fn incarnation_end(&self) -> Option<Lsn> {
        self.shared.files.first().header().incarnation_end
    }

    /// Asks to harden the record without waiting: a delayed commit, drained by policy (the flush then counts as Background).
    pub fn request_delayed_flush(&self, lsn: Lsn) {
        self.shared.request_delayed_flush(lsn);
    }

    /// The newest record that is durable with all before it, in the file or in the persisted log buffer: `lsn <= hardened()` means safe.
    pub fn hardened(&self) -> Lsn {
        self.shared.positions.safe()
    }

    /// Switches the persisted log buffer on: after this returns, a record is durable once it is in the buffer; the file is written later. Not for a
    /// volatile log, and not while the log has a buffer.
    ///
    /// # Errors
    /// Those of the memory ([`LogError::Io`]): the log then goes on as before. Those of `harden`.
    pub fn begin_persisting(&self, options: &PersistedOptions) -> Result<(), LogError> {
        self.shared.begin_persisting(options)
    }

    /// Switches the persisted log buffer off, if there is one: the file has everything, and the buffer is removed.
    ///
    /// # Errors
    /// Those of `harden`.
    pub fn end_persisting(&self) -> Result<(), LogError> {
        self.shared.end_persisting()
    }

    /// The persisted log buffer, if there is one.
    pub fn persisted_buffer(&self) -> Option<PersistedInfo> {
        self.shared.persisted_info()
    }

    /// Is it a log that is never hardened (tempdb's)?
    pub fn is_volatile(&self) -> bool {
        self.shared.options.volatile
    }

    /// Where the next record goes at the earliest: above every record appended so far.
    pub fn end(&self) -> Lsn {
        self.shared.positions.end()
    }

    /// The newest record appended; NULL when there is none.
    pub fn last(&self) -> Lsn {
        let last = self.shared.cache.lock().last;
        assert!(last < self.end(), "{last} is the newest record, the end is {}", self.end());
        last
    }

    /// One record, from the cache or the file. For many, keep a [`LogReader`].
    pub fn read(&self, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        let record = self.reader().read(lsn)?;
        assert_eq!(record.lsn, lsn, "the record that was asked for");
        Ok(record)
    }

    /// A reader positioned at `lsn` (a record or block address, or NULL: the oldest record in the log), going forward.
    pub fn read_from(&self, lsn: Lsn) -> LogReader {
        let mut reader = self.reader();
        reader.seek(lsn);
        reader
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// A reader for any record.
    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.shared))
    }

    /// Keeps the log from `lsn` on, for `reason`; `owner` is shown to people.
    pub fn pin(&self, reason: LogReuseWait, owner: &str, lsn: Lsn) -> LogPin {
        self.shared.pins.pin(reason, owner, lsn)
    }

    /// All pins.
    pub fn pins(&self) -> Vec<PinInfo> {
        self.shared.pins.infos()
    }

    /// Durably notes a completed checkpoint: its LOP_BEGIN_CKPT and the oldest record that recovery from it needs. The
    /// log keeps itself from `min` on. Its LOP_END_CKPT must be hardened before.
    pub fn record_checkpoint(&self, begin: Lsn, min: Lsn) -> Result<(), LogError> {
        self.note_checkpoint(begin, min, |_| {})
    }

    /// As [`Log::record_checkpoint`], for the checkpoint that ends recovery; a new incarnation begins in the same write. A record that the
    /// checkpoint has hardened notes the end of the incarnation before.
    pub fn record_recovery(&self, begin: Lsn, min: Lsn) -> Result<(), LogError> {
        assert!(self.incarnation_end().is_some(), "one incarnation at a time");
        assert!(!self.is_volatile(), "what is never recovered has no incarnations");
        self.note_checkpoint(begin, min, |header| {
            assert!(header.next_random != 0, "it was drawn when the one before had ended");
            header.incarnation = header.incarnation.next(header.next_random);
            header.next_random = 0;
            header.incarnation_end = None;
        })?;
        // In both copies before a session gets a ticket of it: no incarnation number is given twice.
        self.shared.files.first().update_header(|_| {})
    }

    fn note_checkpoint(
        &self,
        begin: Lsn,
        min: Lsn,
        more: impl FnOnce(&mut FileHeader),
    ) -> Result<(), LogError> {
        let shared = &self.shared;
        shared.check_alive()?;
        let hardened = shared.positions.hardened();
        assert!(begin <= hardened, "checkpoint {begin} is not hard in the file");
        assert!(min <= begin && !min.is_null(), "checkpoint {begin} needs {min}");
        assert!(begin >= shared.positions.checkpoint(), "checkpoints only go forward");
        shared.files.first().update_header(|header| {
            header.checkpoint = begin;
            header.min = min;
            header.hardened = hardened;
            more(header);
        })?;
        shared.positions.checkpoint.store(begin.raw(), Release);
        if !shared.options.volatile {
            shared.checkpoint_pin.move_to(min);
        }
        shared.positions.assert_order();
        assert!(
            shared.options.volatile || shared.checkpoint_pin.lsn() == min,
            "the log keeps itself from {min} on"
        );
        Ok(())
    }

    /// Frees the VLFs that no pin needs; returns MinLSN.
    pub fn truncate(&self) -> Result<Lsn, LogError> {
        self.shared.check_alive()?;
        Ok(self.shared.truncate())
    }

    /// Would a checkpoint free VLFs if no other pin needed log below `needed`?
    pub fn would_free(&self, needed: Lsn) -> bool {
        let shared = &self.shared;
        let others = shared.pins.min_but(LogReuseWait::Checkpoint).map_or(Lsn::MAX, |(lsn, _)| lsn);
        let oldest = shared.vlfs.lock().oldest_active();
        let least = needed.min(others).min(self.end());
        assert!(
            oldest > 0 && oldest <= self.end().vlf(),
            "the log begins at VLF {oldest}, ends at {}",
            self.end()
        );
        assert!(least <= self.end(), "nobody needs what is not there yet");
        least.vlf() > oldest
    }

    /// Why the oldest VLF cannot be freed now, for error 9002: a checkpoint only where one would free it. The pins must be up to
    /// date.
    pub fn reuse_wait_now(&self) -> LogReuseWait {
        let oldest = self.shared.vlfs.lock().oldest_active();
        assert!(oldest > 0, "some VLF is active");
        match self.shared.pins.min_but(LogReuseWait::Checkpoint) {
            Some((lsn, reason)) if lsn.vlf() <= oldest => reason,
            _ => self.shared.present_reuse_wait(),
        }
    }

    /// Has a block been begun, since the last call, while little of the log was left?
    pub fn take_pressed(&self) -> bool {
        self.shared.is_pressed.load(Relaxed) && self.shared.is_pressed.swap(false, Relaxed)
    }

    /// Why the log could not be truncated further, as of the last [`Log::truncate`].
    pub fn reuse_wait(&self) -> LogReuseWait {
        let number = self.shared.reuse_wait.load(Relaxed);
        let reason = LogReuseWait::from_number(number);
        assert_eq!(reason.number(), number, "only numbers of reasons are stored");
        reason
    }

    /// Every VLF in file order.
    pub fn vlfs(&self) -> Vec<VlfInfo> {
        self.shared.vlfs.lock().info()
    }

    /// Where recovery would begin to read if the process ended now, and how much log it would read.
    pub fn recovery_extent(&self) -> RecoveryExtent {
        let shared = &self.shared;
        let (checkpoint, end) = (shared.positions.checkpoint(), shared.positions.end());
        assert!(checkpoint < end, "the checkpoint at {checkpoint} lies in the log, which ends at {end}");
        let from = if self.is_volatile() { end } else { shared.checkpoint_pin.lsn().min(end) };
        let vlfs = shared.vlfs.lock();
        let (bytes, vlf_count) = vlfs.extent(from, end);
        let since_checkpoint_bytes = vlfs.extent(checkpoint, end).0;
        RecoveryExtent { from, bytes, vlf_count, since_checkpoint_bytes }
    }

    /// Figures for views.
    pub fn stats(&self) -> LogStats {
        self.shared.stats()
    }

    /// Brings the counters of used log up to date: appends do not, so the reader of the counters calls this first.
    pub fn note_used(&self) {
        self.shared.note_used();
    }

    /// Which sessions have met the limits of what may be in flight.
    pub fn limits_met(&self) -> Vec<SessionLimits> {
        let queue = self.shared.queue.lock();
        let of = |(number, met): (&u64, &crate::inflight::Met)| SessionLimits {
            session: Some(*number).filter(|number| *number != crate::flush_queue::NO_SESSION),
            ios_total: met.ios.times_total,
            ios_ns_total: met.ios.ns_total,
            bytes_total: met.bytes.times_total,
            bytes_ns_total: met.bytes.ns_total,
        };
        queue.met.iter().map(of).collect()
    }

    /// Limits for later writes in flight; writes that are in flight already stay there.
    pub fn set_limits(&self, limits: LogLimits) {
        let places = self.shared.options.queue_places();
        assert!(limits.outstanding_ios_max <= places, "the writer's queue has {places} places");
        self.shared.queue.lock().in_flight.set_limits(limits);
        // Writers that waited at the former limits check again.
        self.shared.wake_writer(&WriterState::WAITING);
    }

    /// When delayed commits drain from now on.
    pub fn set_delayed_flush_policy(&self, policy: DelayedFlushPolicy) {
        self.shared.policy.store(policy.to_raw(), Relaxed);
        self.shared.wake_writer(&WriterState::WAITING);
    }

    /// Stops (or resumes) the draining of delayed commits, whatever the policy: for tests that count flushes exactly.
    pub fn suspend_background_flush(&self, suspended: bool) {
        self.shared.background_suspended.store(suspended, Relaxed);
        self.shared.wake_writer(&WriterState::WAITING);
    }

    /// Whether the LOG WRITER has a thread now. It has one while there is work for it, and for ten seconds after that.
    pub fn has_writer(&self) -> bool {
        self.shared.queue.lock().writer != WriterState::Ended
    }

    /// How many VLFs growth makes from now on; existing VLFs stay as they are.
    pub fn set_vlf_rule(&self, rule: VlfRule) {
        self.shared.vlf_rule.store(rule as u8, Relaxed);
        assert_eq!(VlfRule::from_number(rule as u8), Some(rule), "a rule is known by its number");
    }

    /// Hardens everything, stops the log writer, marks the file as properly closed. Appends get [`LogError::Closed`] from
    /// then on; a second close does nothing.
    pub fn close(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        let last = {
            let mut cache = shared.cache.lock();
            if std::mem::replace(&mut cache.closed, true) {
                return Ok(());
            }
            cache.last
        };
        let drained = if last.is_null() { Ok(()) } else { shared.drain(last) };
        shared.stop_writer();
        drained?;
        shared.check_alive()?;
        assert_eq!(
            shared.queue.lock().in_flight.outstanding_ios(),
            0,
            "nothing is on its way behind a close"
        );
        assert!(shared.cache.lock().last == last, "nothing is appended behind a close");
        if !shared.options.volatile {
            let hardened = shared.positions.hardened();
            assert!(hardened >= last, "the log is closed at {last}, {hardened} is hard");
            shared.files.first().update_header(|header| {
                header.hardened = last;
                header.clean = true;
                header.persisted_id = 0;
            })?;
            shared.release_persisted();
            shared.forget_surviving();
        }
        Ok(())
    }
}

/// The parts of this log that the process of the last run left in memory, in the order in which they are to be taken over.
fn left_by_last_run(
    os: &Os,
    options: &LogOptions,
    log_file: &crate::file::LogFile,
) -> Result<Vec<AbandonedLog>, LogError> {
    let persisted = persisted::abandoned_log(os, options.persisted.as_ref(), log_file)?;
    let is_clean = log_file.header().clean;
    let folder = options.surviving_folder.as_ref().filter(|_| !is_clean);
    let cache = folder.and_then(|folder| surviving::abandoned_log(os, folder, log_file));
    Ok(cache.into_iter().chain(persisted.filter(|_| !is_clean)).collect())
}

impl Drop for Log {
    /// A log that is dropped unclosed (crash, error at start) loses the records that were not hardened; its writer ends. In a
    /// simulation nothing is touched: the simulated world unwinds its tasks by itself.
    fn drop(&mut self) {
        if !self.shared.stopping.swap(true, AcqRel) && !self.shared.os.is_simulated() {
            self.shared.writer_signal.set();
        }
    }
}

impl Shared {
    /// Ends the LOG WRITER and waits for it and for growth in the background.
    fn stop_writer(&self) {
        self.stopping.store(true, Release);
        self.writer_signal.set();
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            // A panic of the writer has poisoned the log already; `check_alive` returns the error.
            let _ = writer.join();
        }
        let _mask = os::task::mask_interrupts();
        let mut cache = self.cache.lock();
        // Zeroing in the background stops where it is.
        self.room.notify_all();
        while cache.growing || cache.zeroing {
            (cache, _) = self.room.wait(cache, os::WaitType::LOGMGR_QUEUE, None);
        }
        assert!(!cache.growing && self.stopping.load(Relaxed), "nothing begins behind the stop");
    }
}
