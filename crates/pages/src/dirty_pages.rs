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
            if let Some(lsn) = self.recovery_lsn_of(frame) {
                dirty.push((PageId::unpack(frame.key()), lsn));
            }
        });
        dirty.sort_unstable();
        assert!(dirty.is_sorted_by(|one, next| one.0 < next.0), "a page is in one frame");
        // Checked after the scan: a failed write sets the suspect state before its page counts as not being written.
        self.refuse_if_suspect()?;
        Ok(dirty)
    }

    fn recovery_lsn_of(&self, frame: &Arc<Frame>) -> Option<Lsn> {
        if !self.owns(frame.key()) {
            return None;
        }
        if frame.latch().is_held_exclusively() {
            // Its record may be in the log while the page does not say so yet.
            drop(frame.latch().read());
        }
        frame.oldest_unwritten().filter(|_| self.owns(frame.key()))
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
                if self.recovery_lsn_of(frame).is_some_and(|lsn| lsn <= limit) {
                    due.push(frame.key());
                }
            });
            if due.is_empty() {
                return Ok(written);
            }
            due.sort_unstable();
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
