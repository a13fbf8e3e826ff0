//! `HeapCursor`: every row of a heap, page by page, in physical order.

use pages::{LatchMode, PageId, PageType, header};
use txn::Transaction;

use super::{Heap, WORTH_BYTES};
use crate::error::{AccessError, AccessResult, stop_if_asked};
use crate::ids::Rid;
use crate::options::{Locking, RowLock, ScanOptions, Selection};
use crate::prefetch::NextPage;
use crate::unit_uses::UnitUse;
use crate::visibility::{PageView, Reader, Visibility};

/// Reads a heap. Where locks allow, it copies a page's rows under one latch and emits them afterwards.
pub struct HeapCursor {
    heap: Heap,
    options: ScanOptions,
    selection: Selection,
    locking: Option<Locking>,
    page: PageId,
    /// The page before it in the chain.
    previous: PageId,
    slot: u16,
    bytes: Vec<u8>,
    rows: Vec<(Rid, usize, usize)>,
    at: usize,
    kept: Option<Rid>,
}

/// The reason why the filling of a batch stopped.
enum Stop {
    Full,
    Locked(Rid),
    Moved(Rid),
    EndOfPage(PageId),
}

impl Heap {
    /// Reads every row.
    pub fn scan(&self, options: ScanOptions) -> HeapCursor {
        HeapCursor::new(self.clone(), options)
    }

    /// An estimate of the number of rows, from its number of pages and the rows on its first and its last page. Takes no lock.
    pub fn estimate_rows(&self, pages: u64) -> AccessResult<u64> {
        let first = self.fix_row_page(self.def.first_page, LatchMode::Shared)?;
        let (of_first, last) = (header::slot_count(first.page()), header::prev(first.page()));
        drop(first);
        if last.is_null() || last == self.def.first_page {
            return Ok(u64::from(of_first));
        }
        let of_last = header::slot_count(self.fix_row_page(last, LatchMode::Shared)?.page());
        // The last page may have few rows yet: all other pages are assumed to be like the first.
        Ok(u64::from(of_first).saturating_mul(pages.saturating_sub(1)).saturating_add(u64::from(of_last)))
    }
}

impl HeapCursor {
    pub(super) fn new(heap: Heap, options: ScanOptions) -> HeapCursor {
        let page = heap.def.first_page;
        heap.state.uses.note(UnitUse::RangeScan);
        HeapCursor {
            heap,
            options,
            selection: Selection::default(),
            locking: None,
            page,
            previous: PageId::NULL,
            slot: 0,
            bytes: Vec::new(),
            rows: Vec::new(),
            at: 0,
            kept: None,
        }
    }

    /// Moves to the next row; false at the end. The row before, if it was locked only for reading, is unlocked; one that was
    /// locked to be changed later (`RowLock::Update`) stays locked, so that no other transaction changes it meanwhile.
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
        assert!(
            self.at < self.rows.len() && self.kept.is_none(),
            "one row is at hand, the one before is let go"
        );
        if let Some(Locking::Hold { until_next: true, .. }) = self.locking {
            self.kept = Some(self.rid());
        }
        Ok(true)
    }

    /// Chooses the rows and columns to emit, before the first row is read.
    pub fn select(&mut self, selection: Selection) {
        assert!(self.locking.is_none() && self.rows.is_empty(), "no row has been handed up yet");
        self.selection = selection;
    }

    /// Moves to the next rows, all that one latch gives; returns their number, 0 at the end. The locks are those of [`HeapCursor::next`];
    /// a reader with row locks gets one row at a time.
    pub fn next_page(&mut self, txn: &Transaction) -> AccessResult<usize> {
        self.at = self.rows.len().saturating_sub(1);
        if !self.next(txn)? {
            return Ok(0);
        }
        assert!(self.at == 0 && !self.rows.is_empty(), "all rows in hand are new");
        assert!(self.kept.is_none() || self.rows.len() == 1, "a lock is kept for one row");
        Ok(self.rows.len())
    }

    /// The address of one row of the batch.
    #[inline]
    pub fn rid_at(&self, at: usize) -> Rid {
        self.rows[at].0
    }

    /// One row of the batch.
    #[inline]
    pub fn row_at(&self, at: usize) -> &[u8] {
        let (_, start, end) = self.rows[at];
        debug_assert!(end > start || self.options.counts_only, "a row has bytes");
        &self.bytes[start..end]
    }

    /// The current row's address.
    pub fn rid(&self) -> Rid {
        self.rid_at(self.at)
    }

    /// The current row.
    pub fn row(&self) -> &[u8] {
        self.row_at(self.at)
    }

    /// Releases the current row's lock now: the row does not qualify.
    pub fn release_row(&mut self, txn: &Transaction) {
        if let (Some(rid), Some(Locking::Hold { mode, .. })) = (self.kept.take(), self.locking) {
            txn.unlock(&self.heap.row_resource(rid), mode);
        }
    }

    fn fill(&mut self, txn: &Transaction) -> AccessResult<bool> {
        let heap = &self.heap;
        let locking = self.options.locking_of_more(self.locking, txn, &heap.object_resource()).of_heap();
        self.locking = Some(locking);
        let reader = Reader::new(txn, locking, &self.options);
        self.rows.clear();
        self.bytes.clear();
        self.at = 0;
        let mut waited = None;
        while !self.page.is_null() {
            let stop = self.fill_from_page(reader)?;
            drop(waited.take());
            match stop {
                Stop::Full => {}
                Stop::EndOfPage(next) => self.go_on_to(next)?,
                Stop::Locked(rid) if self.rows.is_empty() => {
                    let resource = self.heap.row_resource(rid);
                    waited = Some(self.heap.waiting(|| reader.wait(resource, self.options.wait))?);
                }
                Stop::Moved(rid) if self.rows.is_empty() => {
                    if self.heap.read(reader, rid, self.options.wait, &mut self.bytes)? {
                        self.take_moved(reader, rid);
                    }
                    self.slot = rid.slot + 1;
                }
                Stop::Locked(_) | Stop::Moved(_) => {}
            }
            if !self.rows.is_empty() {
                return Ok(true);
            }
            stop_if_asked()?;
        }
        Ok(false)
    }

    /// Emits a moved row that has been read, if it qualifies.
    fn take_moved(&mut self, reader: Reader<'_>, rid: Rid) {
        assert!(self.rows.is_empty(), "a moved row is read alone");
        if self.selection.accepts(&self.bytes) {
            self.rows.push((rid, 0, self.bytes.len()));
        } else {
            reader.pass_over(|| self.heap.row_resource(rid));
            self.bytes.clear();
        }
    }

    /// Moves to the page that the current one names. The chain never leads back to its beginning, and each page names the one before:
    /// so it ends.
    fn go_on_to(&mut self, next: PageId) -> AccessResult<()> {
        if next == self.heap.def.first_page {
            return Err(AccessError::corrupt(self.page, "leads back to the first page of its heap"));
        }
        assert!(next != self.page, "a page that follows itself does not come in");
        (self.previous, self.page, self.slot) = (self.page, next, 0);
        Ok(())
    }

    /// Copies rows from the current page, from the current slot on. Leaves `slot` at the first row that was not processed.
    fn fill_from_page(&mut self, reader: Reader<'_>) -> AccessResult<Stop> {
        assert!(self.rows.is_empty() && self.bytes.is_empty(), "rows are read when none is left");
        let heap = &self.heap;
        let guard = heap.methods.fix_of(self.page, LatchMode::Shared, PageType::Heap, heap.def.unit.0)?;
        let page = guard.page();
        if !self.previous.is_null() && header::prev(page) != self.previous {
            let what = format!("follows {}, but says that it follows {}", self.previous, header::prev(page));
            return Err(AccessError::corrupt(self.page, what));
        }
        let view = PageView::new(page, reader);
        let copies = !(self.options.counts_only && reader.locking.reads_ahead());
        let mut next = match reader.locking.reads_ahead() {
            true => NextPage::new(&heap.methods, header::next(page)),
            false => NextPage::default(),
        };
        for slot in self.slot..header::slot_count(page) {
            self.slot = slot;
            let rid = Rid { page: self.page, slot };
            let seen = view.see(slot, || heap.lock_of(rid));
            let row = match &seen {
                Visibility::Bytes(row) => {
                    next.like(page, slot, row);
                    row
                }
                Visibility::Version(row) => &**row,
                Visibility::Gone => continue,
                Visibility::Wait => return Ok(Stop::Locked(rid)),
                Visibility::Moved => return Ok(Stop::Moved(rid)),
                Visibility::Lost | Visibility::Conflict => return Err(seen.error()),
            };
            if !self.selection.accepts(row) {
                reader.pass_over(|| heap.row_resource(rid));
                continue;
            }
            let start = self.bytes.len();
            debug_assert!(
                self.rows.last().is_none_or(|(last, _, _)| *last < rid),
                "rows come in physical order"
            );
            if copies {
                self.bytes.extend_from_slice(row);
            }
            self.rows.push((rid, start, self.bytes.len()));
            if !reader.locking.reads_ahead() {
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
