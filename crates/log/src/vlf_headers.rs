//! Reads the VLF headers of a file, many at once: a log of thousands of VLFs opens as fast as one of a few.
//!
//! Where a VLF begins is known from the one before it. Most are as large as that one, so the next ones are read ahead at the places that follow
//! from it; a page read at a position where no VLF begins is dropped.

use std::sync::Arc;

use os::{AlignedBuf, Completion, File, IoQueue, Os, Request};
use rustc_hash::FxHashMap;

use crate::error::LogError;
use crate::limits::VLF_HEADER_BYTES;

/// Reads in flight at once.
const AHEAD_MAX: usize = 32;
/// So many VLFs are read one after another before reading ahead begins: most logs have no more.
const ALONE: u32 = 32;

/// A VLF's header and the header of its first block.
pub(crate) const PAGE_BYTES: usize = VLF_HEADER_BYTES as usize + 4096;

/// Reads the beginnings of VLFs in the order of their places.
pub(crate) struct VlfHeaders<'a> {
    os: &'a Os,
    file: &'a Arc<dyn File>,
    /// Where the file's formatted part ends.
    end: u64,
    queue: Option<Box<dyn IoQueue>>,
    /// Pages read ahead, by file offset.
    ready: FxHashMap<u64, AlignedBuf>,
    count: u32,
}

impl<'a> VlfHeaders<'a> {
    pub(crate) fn new(os: &'a Os, file: &'a Arc<dyn File>, end: u64) -> VlfHeaders<'a> {
        VlfHeaders { os, file, end, queue: None, ready: FxHashMap::default(), count: 0 }
    }

    /// The beginning of the VLF at `at`; the one before it had so many bytes (0: there is none).
    pub(crate) fn page(&mut self, at: u64, before_bytes: u64) -> Result<AlignedBuf, LogError> {
        assert!(at + PAGE_BYTES as u64 <= self.end, "a VLF at {at} begins within the file");
        self.count += 1;
        if self.count > ALONE && !self.ready.contains_key(&at) {
            self.read_ahead(at, before_bytes);
        }
        // A page that could not be read ahead, for whatever reason, is read alone, which returns the error.
        match self.ready.remove(&at) {
            Some(page) => Ok(page),
            None => {
                let mut page = AlignedBuf::new(PAGE_BYTES);
                self.file.read_exact_at(&mut page, at)?;
                Ok(page)
            }
        }
    }

    fn read_ahead(&mut self, at: u64, step_bytes: u64) {
        assert!(step_bytes > 0, "there is a VLF before {at}");
        self.ready.clear();
        let os = self.os;
        let queue = self.queue.get_or_insert_with(|| os.disk().io_queue(AHEAD_MAX));
        let last = self.end - PAGE_BYTES as u64;
        let places =
            (0..AHEAD_MAX as u64).map(|step| at + step * step_bytes).take_while(|place| *place <= last);
        for place in places {
            queue.submit(self.file, Request::Read, AlignedBuf::new(PAGE_BYTES), PAGE_BYTES, place, place);
        }
        while queue.in_flight() > 0 {
            for Completion { token, result, buffer } in queue.reap(true) {
                if result.is_ok() {
                    self.ready.insert(token, buffer);
                }
            }
        }
        assert!(self.ready.len() <= AHEAD_MAX, "what was asked for was read once");
    }
}
