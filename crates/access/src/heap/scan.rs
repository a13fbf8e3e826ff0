//! `HeapCursor`: every row of a heap, page by page, in physical order.

use pages::{LatchMode, PageId, PageType, header, slots};
use txn::Transaction;

use super::{Heap, WORTH_BYTES};
use crate::error::AccessResult;
use crate::methods::Rid;
use crate::options::{Locking, RowLock, ScanOptions};

/// Reads a heap. Where locks allow, a page's rows are copied under one latch and handed out afterwards.
pub struct HeapCursor {
    heap: Heap,
    options: ScanOptions,
    locking: Option<Locking>,
    page: PageId,
    slot: u16,
    bytes: Vec<u8>,
    rows: Vec<(Rid, usize, usize)>,
    at: usize,
    kept: Option<Rid>,
}

/// What stopped the filling of a batch.
enum Stop {
    Full,
    Locked(Rid),
    Moved(Rid, Rid),
    EndOfPage(PageId),
}

impl HeapCursor {
    pub(super) fn new(heap: Heap, options: ScanOptions) -> HeapCursor {
        let page = heap.def.first_page;
        HeapCursor {
            heap,
            options,
            locking: None,
            page,
            slot: 0,
            bytes: Vec::new(),
            rows: Vec::new(),
            at: 0,
            kept: None,
        }
    }

    /// Moves to the next row; false at the end. The row before, if it was locked only for reading, is unlocked; one that was
    /// locked to be changed later (`RowLock::Update`) stays locked, so that nobody changes it meanwhile.
    pub fn next(&mut self, txn: &Transaction) -> AccessResult<bool> {
        if self.options.row_lock == RowLock::Update {
            self.kept = None;
        } else {
            self.release_row(txn);
        }
        if self.at + 1 < self.rows.len() {
            self.at += 1;
        } else if !self.fill(txn)? {
            self.rows.clear();
            return Ok(false);
        }
        if let Some(Locking::Hold { until_next: true, .. }) = self.locking {
            self.kept = Some(self.rid());
        }
        Ok(true)
    }

    /// The present row's address.
    pub fn rid(&self) -> Rid {
        self.rows[self.at].0
    }

    /// The present row.
    pub fn row(&self) -> &[u8] {
        let (_, start, end) = self.rows[self.at];
        &self.bytes[start..end]
    }

    /// Gives the present row's lock back now: it does not qualify.
    pub fn release_row(&mut self, txn: &Transaction) {
        if let (Some(rid), Some(Locking::Hold { mode, .. })) = (self.kept.take(), self.locking) {
            txn.unlock(&self.heap.row_resource(rid), mode);
        }
    }

    fn fill(&mut self, txn: &Transaction) -> AccessResult<bool> {
        let locking =
            *self.locking.get_or_insert_with(|| self.options.locking(txn, &self.heap.object_resource()));
        self.rows.clear();
        self.bytes.clear();
        self.at = 0;
        let mut waited = None;
        while !self.page.is_null() {
            let stop = self.fill_from_page(txn, locking)?;
            drop(waited.take());
            match stop {
                Stop::Full => {}
                Stop::EndOfPage(next) => {
                    self.page = next;
                    self.slot = 0;
                }
                Stop::Locked(rid) if self.rows.is_empty() => {
                    if self.options.skip_locked {
                        self.slot = rid.slot + 1;
                    } else {
                        let resource = self.heap.row_resource(rid);
                        waited = Some(locking.wait_row(txn, &resource, self.options.wait)?);
                    }
                }
                Stop::Moved(rid, target) if self.rows.is_empty() => {
                    if self.heap.fetch_forwarded(target, &mut self.bytes)? {
                        self.rows.push((rid, 0, self.bytes.len()));
                        self.slot = rid.slot + 1;
                    } else {
                        // It has moved on since: look at its stub again, without the stale lock.
                        self.heap.methods.space.pool().os().yield_point();
                    }
                }
                Stop::Locked(_) | Stop::Moved(..) => {}
            }
            if !self.rows.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies rows from the present page, from the present slot on. Leaves `slot` at the first row not dealt with.
    fn fill_from_page(&mut self, txn: &Transaction, locking: Locking) -> AccessResult<Stop> {
        let heap = &self.heap;
        let guard = heap.methods.fix_of(self.page, LatchMode::Shared, PageType::Heap, heap.def.unit.0)?;
        let page = guard.page();
        let is_settled = header::lsn(page) < txn.manager().oldest_active_lsn();
        for slot in self.slot..header::slot_count(page) {
            self.slot = slot;
            let flags = slots::flags(page, slot);
            let Some(row) = slots::row(page, slot) else { continue };
            if flags & slots::FORWARDED != 0 {
                continue;
            }
            let rid = Rid { page: self.page, slot };
            if flags & slots::GHOST != 0 {
                // Deleted: by whom, and for good? Only a deleter who has not ended makes us wait.
                let is_decided = match locking {
                    Locking::None => true,
                    _ => {
                        let resource = heap.row_resource(rid);
                        is_settled || txn.could_lock(&resource, txn::LockMode::S)
                    }
                };
                if is_decided || self.options.skip_locked {
                    continue;
                }
                return Ok(Stop::Locked(rid));
            }
            if !locking.try_row(txn, &heap.row_resource(rid), is_settled) {
                return Ok(Stop::Locked(rid));
            }
            if flags & slots::FORWARD != 0 {
                let target = Rid::from_bytes(row).ok_or_else(|| super::bad_stub(rid))?;
                return Ok(Stop::Moved(rid, target));
            }
            let start = self.bytes.len();
            self.bytes.extend_from_slice(row);
            self.rows.push((rid, start, self.bytes.len()));
            if !locking.reads_ahead() {
                self.slot = slot + 1;
                return Ok(Stop::Full);
            }
        }
        if header::free_bytes(page) >= WORTH_BYTES && !header::next(page).is_null()
            || header::ghosts(page) > 0
        {
            heap.note_candidate(self.page);
        }
        Ok(Stop::EndOfPage(header::next(page)))
    }
}
