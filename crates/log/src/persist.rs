//! The persisted log buffer in use: `harden` by copying to it, switching it on and off (state diagram in persisted.rs).

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use os::{IoError, WaitType};

use crate::cache::Cache;
use crate::cached_block::CachedBlock;
use crate::error::LogError;
use crate::flush_reason::FlushReason;
use crate::lsn::Lsn;
use crate::options::PersistedOptions;
use crate::persisted::{PersistedBuffer, PersistedInfo};
use crate::shared::Shared;
use crate::surviving::{SurvivingCache, remove};

/// The reason for writing everything when the buffer is switched on or off; used only here.
const BUFFER_SWITCH: FlushReason = FlushReason::BufferSwitch;

impl Cache {
    /// Copies all records of the cache into the persisted buffer, and returns the newest. There must be a buffer.
    fn persist(&mut self) -> Result<Lsn, IoError> {
        let buffer = self.persisted.as_mut().expect("the caller has looked");
        self.sealed.iter_mut().chain(&mut self.open).try_for_each(|block| buffer.store(block))?;
        buffer.assert_state();
        Ok(self.last)
    }

    /// A block is about to be issued: after that the cache cannot copy it.
    pub(crate) fn persist_whole(&mut self, block: &mut CachedBlock) {
        if let Some(buffer) = &mut self.persisted
            && let Err(error) = buffer.store(block)
        {
            self.persist_error = Some(error);
        }
    }
}

impl Shared {
    /// Makes everything up to `lsn` survive a loss of power by the persisted buffer; false when there is none.
    pub(crate) fn persist(&self, lsn: Lsn) -> Result<bool, LogError> {
        if !self.persists.load(Acquire) {
            return Ok(false);
        }
        self.check_alive()?;
        assert!(lsn < self.positions.end(), "{lsn} was appended");
        let (done, _) = os::wait_timed(WaitType::LOGMGR_PMM_LOG, || {
            let mut cache = self.cache.lock();
            if cache.persisted.is_none() {
                return Ok(false);
            }
            if lsn > self.positions.persisted() {
                let newest = cache.persist()?;
                self.positions.persisted.fetch_max(newest.raw(), Release);
                self.counters.own_persists.fetch_add(1, Relaxed);
            }
            Ok(true)
        });
        match done {
            Ok(is_kept) => {
                assert!(!is_kept || lsn <= self.positions.safe(), "{lsn} counts as safe");
                Ok(is_kept)
            }
            Err(error) => {
                self.fail(error);
                self.check_alive().map(|()| false)
            }
        }
    }

    /// The buffer could not take a block that was about to be issued.
    pub(crate) fn note_persist_error(&self, error: Option<IoError>) {
        if let Some(error) = error {
            self.fail(error);
        }
    }

    /// See `Log::begin_persisting`.
    pub(crate) fn begin_persisting(&self, options: &PersistedOptions) -> Result<(), LogError> {
        assert!(!self.options.volatile, "nothing of a volatile log is ever durable");
        self.check_alive()?;
        let _mask = os::task::mask_interrupts();
        let mut id = [0; 8];
        self.os.fill_random(&mut id);
        let id = u64::from_le_bytes(id).max(1);
        let buffer = PersistedBuffer::create(&self.os, options, self.log_id, id)?;
        if !buffer.memory.is_dax() {
            let (path, database) = (options.path.display(), &self.options.database);
            let what = format!(
                "the persisted log buffer of {database}, {path}, lies in a file system of memory, for a test: a loss of power takes it"
            );
            os::report::warn("log", &what);
        }
        self.files.first().update_header_twice(|header| header.persisted_id = id)?;
        let last = {
            let mut cache = self.cache.lock();
            assert!(cache.persisted.is_none(), "one buffer at a time");
            cache.persisted = Some(buffer);
            cache.last
        };
        // Records that had left the cache before are not in the buffer.
        self.settle(last)?;
        assert!(self.positions.hardened() >= last, "the file has what left the cache before the buffer came");
        self.cache.lock().persisted.as_mut().map_or(Ok(()), |buffer| buffer.note_hardened(last))?;
        self.persists.store(true, Release);
        let last = self.cache.lock().last;
        if !last.is_null() {
            self.persist(last)?;
            self.queue.lock().loss.note_hardened(last, || self.os.clock().monotonic_ns());
        }
        Ok(())
    }

    /// See `Log::end_persisting`.
    pub(crate) fn end_persisting(&self) -> Result<(), LogError> {
        let _mask = os::task::mask_interrupts();
        self.persists.store(false, Release);
        let (buffer, last) = {
            let mut cache = self.cache.lock();
            (cache.take_persisted(), cache.last)
        };
        let Some(buffer) = buffer else { return Ok(()) };
        // Writes the records that only the buffer had; the buffer stays valid until then, in case of a loss of power.
        self.settle(last)?;
        assert!(self.positions.hardened() >= last, "the file has all that only the buffer had");
        self.files.first().update_header_twice(|header| header.persisted_id = 0)?;
        let path = buffer.options.path.clone();
        drop(buffer);
        if let Err(error) = self.os.remove_persistent_memory(&path) {
            os::report::warn("log", &format!("a persisted log buffer that nobody needs stays: {error}"));
        }
        Ok(())
    }

    /// Writes everything up to `last` to the file.
    fn settle(&self, last: Lsn) -> Result<(), LogError> {
        if last.is_null() { Ok(()) } else { self.harden(last, BUFFER_SWITCH) }
    }

    /// The log is closed, and its file has everything: the buffer is not needed to open it.
    pub(crate) fn release_persisted(&self) {
        assert!(self.files.first().header().persisted_id == 0, "what may be needed is kept");
        self.persists.store(false, Release);
        drop(self.cache.lock().take_persisted());
    }

    /// See `Log::persisted_buffer`.
    pub(crate) fn persisted_info(&self) -> Option<PersistedInfo> {
        let cache = self.cache.lock();
        let buffer = cache.persisted.as_ref()?;
        Some(PersistedInfo {
            path: buffer.options.path.clone(),
            is_dax: buffer.memory.is_dax(),
            persisted: self.positions.persisted(),
            hardened_in_file: self.positions.hardened(),
            copies_total: self.counters.own_persists.load(Relaxed),
            copied_bytes_total: buffer.copied_bytes_total,
        })
    }
}

impl Shared {
    /// Do all records in the cache outlive the process?
    pub(crate) fn survives_process(&self) -> bool {
        let cache = self.cache.lock();
        cache.persisted.is_some() || cache.surviving.as_ref().is_some_and(SurvivingCache::is_whole)
    }

    /// The log was closed: nothing is left for the next opening.
    pub(crate) fn forget_surviving(&self) {
        assert!(self.is_failed() || self.files.first().header().clean, "what may be needed is kept");
        if let Some(folder) = &self.options.surviving_folder {
            remove(&self.os, folder, self.files.first());
        }
    }
}
