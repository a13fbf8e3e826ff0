//! The log's size: automatic growth, growth by ALTER DATABASE, adding and removing files, shrinking.
//!
//! One task changes the size at a time (`Cache::growing`); appends go on meanwhile. Added VLFs are described, durable and read as zeros before a
//! block can go there, and are zeroed ahead of the log (`zeroing.rs`); removed VLFs leave the map before the file gets smaller.
//! A file joins and leaves in steps, between which the caller notes the members durably:
//!
//! ```text
//!  noted as joining ─► prepare_file: formatted, durable; the first file says that it is not alone ─► noted as a member ─► join_file
//!  detach_file: no VLF of it is active, none is used any more ─► noted as leaving ─► forget_file ─► noted no more
//!                    └──── not noted: join_file puts it back
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use os::sim::{Bug, is_planted};
use os::{LatchGuard, WaitType};

use crate::cache::Cache;
use crate::error::LogError;
use crate::file::{FIRST_LOG_FILE, LogFile};
use crate::files;
use crate::limits::{LOG_BYTES_MIN, VLF_HEADER_BYTES};
use crate::log::Log;
use crate::options::{Growth, LogFileOptions};
use crate::shared::{Shared, margin_of};
use crate::vlf::{Vlf, VlfHeader};

/// Log grows by at least this many bytes.
const GROWTH_BYTES_MIN: u64 = 256 * 1024;
/// A log grows ahead when less than this and less than an eighth of it is free and not reserved for rollbacks.
const LITTLE_BYTES: u64 = 16 << 20;
/// Most steps of growth at once, and their bytes.
const STEPS_MAX: u32 = 16;
const STEPS_BYTES_MAX: u64 = 16 << 20;
/// VLFs that a shrink always leaves in the first file of a log.
const FIRST_FILE_VLFS_MIN: usize = 2;

/// A file of the log, for views.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// Its number: file_id.
    pub number: u16,
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub size_bytes: u64,
    /// Its size when it was made; 0 when that is not known.
    pub created_bytes: u64,
    /// FILEGROWTH.
    pub growth: Growth,
    /// MAXSIZE in bytes.
    pub bytes_max: u64,
    /// Its I/O counts.
    pub stats: os::FileStats,
    /// Requests that have not been answered.
    pub pending: Vec<os::PendingIo>,
}

/// A file that belongs to the log and is not used: about to join, or about to leave.
pub struct IdleFile {
    file: Arc<LogFile>,
    vlfs: Vec<Vlf>,
}

/// Why a file cannot leave the log, or the log get smaller.
#[derive(Clone, Debug)]
pub enum ResizeError {
    /// VLFs of it are needed.
    InUse,
    /// The rest would be less than the space reserved for rollbacks.
    TooLittleLeft,
    /// An error of the log.
    Log(LogError),
}

impl From<LogError> for ResizeError {
    fn from(error: LogError) -> ResizeError {
        ResizeError::Log(error)
    }
}

/// The result of shrinking a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// Bytes of the file.
    pub size_bytes: u64,
    /// Its least possible size.
    pub least_bytes: u64,
    /// A VLF behind the requested size is in use.
    pub is_held_by_use: bool,
}

impl Log {
    /// Every file, in the order of their numbers.
    pub fn files(&self) -> Vec<FileInfo> {
        let info = |file: Arc<LogFile>| {
            let (growth, bytes_max) = *file.growth.lock();
            let (size_bytes, created_bytes) = (file.header().size_bytes, file.header().created_bytes);
            let (stats, pending) = (file.stats(), file.pending());
            FileInfo {
                number: file.number,
                path: file.path.clone(),
                size_bytes,
                created_bytes,
                growth,
                bytes_max,
                stats,
                pending,
            }
        };
        self.shared.files.all().into_iter().map(info).collect()
    }

    /// FILEGROWTH and MAXSIZE (in bytes) of a file from now on.
    pub fn set_growth(&self, number: u16, growth: Growth, bytes_max: u64) {
        if let Some(file) = self.shared.files.get(number) {
            file.set_growth(growth, bytes_max);
        }
    }

    /// FILEGROWTH and MAXSIZE (in bytes) in force for the file with the current VLF, which grows first.
    pub fn growth(&self) -> (Growth, u64) {
        let current = self.shared.vlfs.lock().current().file;
        let file = self.shared.files.get(current);
        file.map_or((Growth::None, 0), |file| *file.growth.lock())
    }

    /// Makes a file larger (ALTER DATABASE MODIFY FILE); nothing when it has `bytes` already. Errors leave it as it was.
    pub fn grow_to(&self, number: u16, bytes: u64) -> Result<(), LogError> {
        self.shared.grow_to(number, bytes)
    }

    /// Makes another file, which no block goes to before [`Log::join_file`]. Errors leave nothing behind.
    pub fn prepare_file(&self, options: &LogFileOptions) -> Result<IdleFile, LogError> {
        let shared = &self.shared;
        shared.check_alive()?;
        assert!(options.number > FIRST_LOG_FILE, "{options:?} cannot join");
        let log_bytes = shared.vlfs.lock().size_bytes();
        let layout = shared.vlf_rule().layout_in(0, files::rounded(options.size_bytes), log_bytes);
        let create_lsn = shared.positions.end();
        let file = files::create_another(&shared.os, shared.files.first(), options, &layout, create_lsn)?;
        let given_up = |error: LogError| {
            let _ = shared.os.disk().remove(&options.path);
            error
        };
        if file.sector_bytes > shared.sector_bytes() {
            let what = format!(
                "its device has sectors of {} bytes, the log those of {}",
                file.sector_bytes,
                shared.sector_bytes()
            );
            return Err(given_up(LogError::NotOurs { file: options.path.clone(), what }));
        }
        shared.files.first().update_header_twice(|header| header.has_more_files = true).map_err(given_up)?;
        assert!(shared.files.get(options.number).is_none(), "nobody uses it before it joins");
        let log_id = shared.log_id;
        let of = |&(begin_offset, size_bytes): &(u64, u64)| {
            Vlf::unused(&VlfHeader { log_id, begin_offset, size_bytes, create_lsn }, options.number)
        };
        Ok(IdleFile { vlfs: layout.iter().map(of).collect(), file: Arc::new(file) })
    }

    /// A file joins the log, or rejoins it: its VLFs are used in turn.
    pub fn join_file(&self, idle: IdleFile) {
        let shared = &self.shared;
        assert!(shared.files.first().header().has_more_files, "who knows the first file knows of others");
        drop(shared.begin_resize());
        shared.files.add(Arc::clone(&idle.file));
        let mut cache = shared.cache.lock();
        let mut vlfs = shared.vlfs.lock();
        assert_eq!(vlfs.of_file(idle.file.number).count(), 0, "none of its VLFs is used yet");
        vlfs.put_back(&idle.vlfs);
        cache.add_space(idle.vlfs.iter().map(Vlf::block_bytes).sum());
        cache.assert_space(vlfs.reusable().1);
        drop(vlfs);
        drop(cache);
        drop(shared.growth_is_over());
        shared.note_size();
    }

    /// Stops using a file. Errors: [`ResizeError::InUse`] while one of its VLFs is active, and when less would be left than is
    /// reserved for rollbacks.
    pub fn detach_file(&self, number: u16) -> Result<IdleFile, ResizeError> {
        let shared = &self.shared;
        shared.check_alive()?;
        assert_ne!(number, FIRST_LOG_FILE, "a log keeps its first file");
        let cache = shared.begin_resize();
        let file = shared.files.get(number).expect("the caller knows the members");
        let cache = if is_planted(Bug::LeaveWhileNeeded) {
            drop(cache);
            shared.free_below(shared.positions.hardened());
            shared.cache.lock()
        } else {
            cache
        };
        let count = shared.vlfs.lock().of_file(number).count();
        let taken = shared.take_vlfs(cache, number, count);
        if taken.is_ok() {
            shared.files.remove(number);
        }
        drop(shared.growth_is_over());
        shared.note_size();
        Ok(IdleFile { vlfs: taken?, file })
    }

    /// A detached file is no member any more: its space goes back, and the caller removes it. When only the first is left,
    /// its header says so.
    pub fn forget_file(&self, idle: IdleFile) -> Result<(), LogError> {
        assert!(self.shared.files.get(idle.file.number).is_none(), "it has left");
        assert_eq!(self.shared.vlfs.lock().of_file(idle.file.number).count(), 0, "with all its VLFs");
        idle.file.empty();
        self.note_alone()
    }

    /// The first file says that it is the only one, if it is.
    pub(crate) fn note_alone(&self) -> Result<(), LogError> {
        let files = &self.shared.files;
        if files.all().len() > 1 || !files.first().header().has_more_files {
            return Ok(());
        }
        files.first().update_header(|header| header.has_more_files = false)
    }

    /// Removes unused VLFs at the end of a file, as long as the file keeps `target_bytes`.
    pub fn shrink_file(&self, number: u16, target_bytes: u64) -> Result<Shrunk, ResizeError> {
        let shared = &self.shared;
        shared.check_alive()?;
        let cache = shared.begin_resize();
        let result = shared.shrink(cache, number, target_bytes);
        if let Err(ResizeError::Log(LogError::Failed(error))) = &result {
            shared.fail((**error).clone());
        }
        drop(shared.growth_is_over());
        shared.note_size();
        if result.is_ok() {
            shared.note_used();
        }
        result
    }

    /// Continues the log in its next VLF, although the current one is not full, so that the current one can be removed once no pin needs it.
    /// False when there is no other VLF, or the rest is reserved.
    pub fn move_on(&self) -> Result<bool, LogError> {
        let shared = &self.shared;
        shared.check_alive()?;
        let mut cache = shared.cache.lock();
        if cache.closed || !cache.space_allows(0, cache.rest_of_vlf_bytes(), shared.margin_bytes()) {
            return Ok(false);
        }
        if shared.vlfs.lock().reusable().0 == 0 {
            return Ok(false);
        }
        if cache.open.as_ref().is_some_and(|open| open.offsets.is_empty()) {
            cache.discard_empty();
        }
        let sealed = cache.seal_full();
        if let Some(last) = sealed {
            shared.note_sealed(&cache, last);
        }
        let moved = cache.enter_next_vlf(|end| shared.vlfs.lock().advance(end)).is_ok();
        assert!(moved, "there is a VLF to be used next");
        assert!(cache.end() > cache.last, "what comes next lies behind what there is");
        shared.positions.end.store(cache.end().raw(), Release);
        drop(cache);
        if sealed.is_some() {
            shared.ring_for_sealed();
        }
        Ok(true)
    }
}

impl Shared {
    /// Waits until no other task changes the size, and excludes other tasks until `growth_is_over`.
    fn begin_resize(&self) -> LatchGuard<'_, Cache> {
        let _mask = os::task::mask_interrupts();
        let mut cache = self.cache.lock();
        while cache.growing || cache.zero_underway {
            (cache, _) = self.room.wait(cache, WaitType::LOGMGR_RESERVE_APPEND, None);
        }
        cache.growing = true;
        cache
    }

    /// The end of a change of the log's size.
    pub(crate) fn growth_is_over(self: &Arc<Self>) -> LatchGuard<'_, Cache> {
        let mut cache = self.cache.lock();
        assert!(cache.growing);
        cache.growing = false;
        self.zero_behind(&mut cache);
        drop(cache);
        self.room.notify_all();
        self.cache.lock()
    }

    fn note_size(&self) {
        let bytes = self.vlfs.lock().size_bytes();
        self.counters.set_file_bytes(bytes);
    }

    /// Removes VLFs at the end of a file from the map, if none is in use and enough space is left.
    fn take_vlfs(
        &self,
        mut cache: LatchGuard<'_, Cache>,
        number: u16,
        count: usize,
    ) -> Result<Vec<Vlf>, ResizeError> {
        let mut vlfs = self.vlfs.lock();
        if vlfs.of_file(number).rev().take(count).any(|vlf| vlf.active) {
            return Err(ResizeError::InUse);
        }
        let bytes: u64 = vlfs.of_file(number).rev().take(count).map(Vlf::block_bytes).sum();
        let left_bytes = vlfs.size_bytes() - bytes;
        if !cache.space_allows(0, bytes, margin_of(left_bytes)) {
            return Err(ResizeError::TooLittleLeft);
        }
        let taken = vlfs.take(number, count);
        assert_eq!(taken.len(), count, "as many VLFs leave as were asked for");
        assert!(taken.iter().all(|vlf| !vlf.active), "no record is in what leaves the log");
        cache.take_space(bytes);
        cache.assert_space(vlfs.reusable().1);
        Ok(taken)
    }

    fn shrink(
        &self,
        cache: LatchGuard<'_, Cache>,
        number: u16,
        target_bytes: u64,
    ) -> Result<Shrunk, ResizeError> {
        let file = self.files.get(number).expect("the caller knows the members");
        let of_file: Vec<Vlf> = self.vlfs.lock().of_file(number).copied().collect();
        let keeps = if number == FIRST_LOG_FILE { FIRST_FILE_VLFS_MIN } else { 1 };
        let end = |kept: usize| of_file[kept - 1].begin_offset + of_file[kept - 1].size_bytes;
        let least = (1..=of_file.len()).find(|kept| *kept >= keeps && end(*kept) >= LOG_BYTES_MIN);
        let least = least.unwrap_or(of_file.len());
        let wanted = (least..=of_file.len()).find(|kept| end(*kept) >= target_bytes).unwrap_or(of_file.len());
        let in_use = of_file.iter().rposition(|vlf| vlf.active).map_or(0, |last| last + 1);
        let kept = wanted.max(in_use);
        assert!((least..=of_file.len()).contains(&kept), "{kept} of {} VLFs stay", of_file.len());
        let is_held_by_use = in_use > wanted;
        let shrunk = Shrunk { size_bytes: end(kept), least_bytes: end(least), is_held_by_use };
        if kept == of_file.len() {
            return Ok(shrunk);
        }
        let taken = self.take_vlfs(cache, number, of_file.len() - kept)?;
        assert_eq!(taken.len() + kept, of_file.len(), "what is not kept is taken");
        if let Err(error) = file.shrink(end(kept), kept as u32) {
            if !matches!(error, LogError::Failed(_)) {
                let mut cache = self.cache.lock();
                let mut vlfs = self.vlfs.lock();
                vlfs.put_back(&taken);
                cache.add_space(taken.iter().map(Vlf::block_bytes).sum());
                cache.assert_space(vlfs.reusable().1);
            }
            return Err(error.into());
        }
        self.counters.shrinks.increment();
        Ok(shrunk)
    }

    fn grow_to(self: &Arc<Self>, number: u16, bytes: u64) -> Result<(), LogError> {
        let cache = self.begin_resize();
        let present = self.vlfs.lock().end_offset(number);
        drop(cache);
        let wanted = bytes.next_multiple_of(64 * 1024);
        let file = self.files.get(number).filter(|_| wanted >= present + GROWTH_BYTES_MIN);
        let grown = file.map_or(Ok(()), |file| self.grow_by(&file, &[wanted - present]));
        drop(self.growth_is_over());
        grown
    }

    /// Grows a file by its growth option: the one with the current VLF, or else the next that can grow. The caller has set `growing`. Errors
    /// with the reason, if there is one besides the options.
    pub(crate) fn grow_by_option(&self) -> Result<(), Option<Arc<os::IoError>>> {
        let mut all = self.files.all();
        let current = self.vlfs.lock().current().file;
        let first = all.iter().position(|file| file.number == current).unwrap_or(0);
        all.rotate_left(first);
        assert_eq!(all[0].number, current, "the file that is written grows first");
        let mut why = None;
        for file in &all {
            let steps = self.growth_steps(file);
            if steps.is_empty() {
                continue;
            }
            match self.grow_by(file, &steps) {
                Ok(()) => return Ok(()),
                Err(LogError::Io(error)) => why = Some(error),
                Err(_) => {}
            }
        }
        Err(why)
    }

    /// The next growth steps of a file; none when it may not grow. While appends have to wait for growth, several steps at once, which need as many
    /// writes as one: twice as many each time, and fewer again when no append waits.
    fn growth_steps(&self, file: &LogFile) -> Vec<u64> {
        let before = self.growth_steps.load(Relaxed);
        let was_waited_for = self.growth_was_waited_for.swap(false, Relaxed) && self.options.grow_ahead;
        let count = if was_waited_for { (before * 2).min(STEPS_MAX) } else { (before / 2).max(1) };
        self.growth_steps.store(count, Relaxed);
        let mut present = self.vlfs.lock().end_offset(file.number);
        let mut steps: Vec<u64> = Vec::new();
        while let Some(step) = self.growth_step(file, present) {
            let total = steps.iter().sum::<u64>() + step;
            if !steps.is_empty() && (steps.len() as u32 >= count || total > STEPS_BYTES_MAX) {
                break;
            }
            steps.push(step);
            present += step;
        }
        assert!(steps.len() as u32 <= count, "{} steps of {count}", steps.len());
        steps
    }

    /// By how much a file of so many bytes grows next; none when it may not.
    fn growth_step(&self, file: &LogFile, present: u64) -> Option<u64> {
        let (growth, bytes_max) = *file.growth.lock();
        let step = match growth {
            Growth::None => return None,
            Growth::Bytes(bytes) => bytes,
            Growth::Percent(percent) => present / 100 * u64::from(percent),
        };
        let step = step.max(GROWTH_BYTES_MIN).next_multiple_of(64 * 1024);
        let step = step.min(bytes_max.saturating_sub(present) / (64 * 1024) * (64 * 1024));
        assert!(
            step < GROWTH_BYTES_MIN || present + step <= bytes_max,
            "a file grows to its MAXSIZE at most"
        );
        (step >= GROWTH_BYTES_MIN).then_some(step)
    }

    /// Adds so many bytes to a file, in steps that have VLFs of their own: described and durable; only then usable, as far as it is zeroed.
    /// The caller has set `growing`.
    fn grow_by(&self, file: &LogFile, steps: &[u64]) -> Result<(), LogError> {
        let (present, log_bytes) = {
            let vlfs = self.vlfs.lock();
            (vlfs.end_offset(file.number), vlfs.size_bytes())
        };
        let (mut layout, mut bytes) = (Vec::new(), 0);
        for step in steps {
            layout.extend(self.vlf_rule().layout_in(present + bytes, *step, log_bytes + bytes));
            bytes += step;
        }
        let create_lsn = self.positions.end();
        assert!(
            layout.first().is_some_and(|vlf| vlf.0 == present),
            "what is added begins where the file ended"
        );
        assert!(self.cache.lock().growing, "one grows a log at a time");
        let grown = file.grow(&layout, create_lsn);
        if let Err(LogError::Io(error)) = &grown
            && !self.growth_failed.swap(true, Relaxed)
        {
            // A problem of the machine, not of a statement: the error log reports it, once until growth succeeds.
            let path = file.path.display();
            os::report::error("log", &format!("log file {path} cannot grow by {bytes} bytes: {error}"));
        }
        let grown = grown?;
        self.growth_failed.store(false, Relaxed);
        assert_eq!(grown.headers.len(), layout.len());
        let block_bytes = layout.iter().map(|vlf| vlf.1 - VLF_HEADER_BYTES).sum();
        let mut cache = self.cache.lock();
        let mut vlfs = self.vlfs.lock();
        vlfs.add(file.number, &grown.headers, grown.is_zeroed);
        cache.add_space(block_bytes);
        cache.assert_space(vlfs.reusable().1);
        assert_eq!(vlfs.end_offset(file.number), present + bytes, "what was added is there");
        drop(vlfs);
        drop(cache);
        self.note_size();
        self.counters.growths.add(steps.len() as i64);
        self.counters.own_growths.fetch_add(steps.len() as u64, Relaxed);
        Ok(())
    }

    /// Starts growth in the background, so that appends need not wait for it later: when a block was opened in the last usable VLF and the log
    /// is at least three quarters used, or little space is left that is not reserved for rollbacks.
    pub(crate) fn grow_ahead(self: &Arc<Self>, cache: &mut Cache) {
        if !self.options.grow_ahead || cache.growing {
            return;
        }
        let total_bytes = self.counters.file_bytes();
        let free_bytes = cache.space_left_bytes.saturating_sub(cache.reserved_bytes + self.margin_bytes());
        let is_nearly_full = cache.space_left_bytes <= total_bytes / 4;
        let is_tight = free_bytes < (total_bytes / 8).min(LITTLE_BYTES);
        if !is_tight && (!is_nearly_full || self.vlfs.lock().reusable().0 > 0) {
            return;
        }
        let may_grow = |file: &Arc<LogFile>| {
            let present = self.vlfs.lock().end_offset(file.number);
            self.growth_step(file, present).is_some()
        };
        if !self.files.all().iter().any(may_grow) {
            return;
        }
        cache.growing = true;
        let shared = Arc::clone(self);
        let body = move || {
            // A failure is not reported here: an append that needs the space tries again and gets the error.
            let _ = shared.grow_by_option();
            drop(shared.growth_is_over());
        };
        let name = os::SpawnOptions::named("LOG GROWTH");
        if self.os.try_spawn(&name, body).is_err() {
            cache.growing = false;
        }
    }
}
