//! Dirty pages: listing them, and writing them for a checkpoint.

use std::sync::Arc;

use log::Lsn;

use crate::doublewrite::BATCH_PAGES_MAX;
use crate::error::PageError;
use crate::frame::{Frame, assert_no_page_latch_held};
use crate::page_id::PageId;
use crate::pool::IfLatched;
use crate::space::FileSpace;
use crate::write_out::write_out;

impl FileSpace {
    /// Every page that may lack log records on disk, with the oldest that it may lack. Complete for all records appended
    /// before the call: it waits for pages that are being changed. The caller holds no page latch. An error once a page
    /// could not be written: no checkpoint may be recorded any more.
    pub fn dirty_pages(&self) -> Result<Vec<(PageId, Lsn)>, PageError> {
        assert_no_page_latch_held();
        let mut dirty = Vec::new();
        self.pool().for_each_frame(|frame| {
            if let Some((key, lsn)) = self.recovery_lsn_of(frame) {
                dirty.push((PageId::unpack(key), lsn));
            }
        });
        dirty.sort_unstable();
        // A page may have been written, evicted and read into a later frame meanwhile: its oldest record counts.
        dirty.dedup_by_key(|(page, _)| *page);
        let is_whole = |(page, lsn): &(PageId, Lsn)| !page.is_null() && !lsn.is_null();
        assert!(dirty.iter().all(is_whole), "a dirty page has an address, and lacks a record on disk");
        // Checked after the scan: a failed write sets the suspect state before its page counts as not being written.
        self.refuse_if_suspect()?;
        Ok(dirty)
    }

    /// The key of a frame with a page of this space, and the oldest record that the page may lack on disk.
    fn recovery_lsn_of(&self, frame: &Arc<Frame>) -> Option<(u64, Lsn)> {
        loop {
            let key = frame.key();
            if !self.owns(key) {
                return None;
            }
            if frame.latch().is_held_exclusively() {
                // Its record may be in the log while the page does not say so yet.
                drop(frame.latch().read());
            }
            let oldest = frame.oldest_unwritten();
            // Another page may have come into the frame meanwhile.
            if frame.key() == key {
                return oldest.map(|lsn| (key, lsn));
            }
        }
    }

    /// Writes out every page whose oldest missing record is at or below `up_to` (NULL: every dirty page); returns how
    /// many were written. The caller holds no page latch.
    pub fn write_out_dirty(&self, up_to: Lsn) -> Result<u64, PageError> {
        assert_no_page_latch_held();
        let limit = if up_to.is_null() { Lsn::MAX } else { up_to };
        let mut written = 0;
        loop {
            let mut due = Vec::new();
            self.pool().for_each_frame(|frame| {
                if let Some((key, _)) = self.recovery_lsn_of(frame).filter(|(_, lsn)| *lsn <= limit) {
                    due.push(key);
                }
            });
            if due.is_empty() {
                return Ok(written);
            }
            due.sort_unstable();
            due.dedup();
            if due.len() > BATCH_PAGES_MAX && !up_to.is_null() {
                os::sim::reach(|| "checkpoint of several doublewrite batches".to_owned());
            }
            let before = written;
            for batch in due.chunks(BATCH_PAGES_MAX) {
                let frames = batch.iter().filter_map(|key| self.pool().lookup(*key)).collect();
                let some = write_out(self, frames, IfLatched::Wait)? as u64;
                assert!(some <= batch.len() as u64, "a page is written once");
                written += some;
            }
            if up_to.is_null() {
                return Ok(written);
            }
            if written == before {
                // Other threads are writing all pages that are due: let their batch finish.
                os::sim::reach(|| "checkpoint waits for pages that others write".to_owned());
                drop(self.doublewrite().lock());
                self.pool().os().yield_point();
            }
        }
    }
}
