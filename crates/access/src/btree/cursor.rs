//! `BTreeCursor`: the keys of a range, forward or backward, while other threads split the pages.
//!
//! Between calls no latch is held. The cursor remembers the last key that it has processed; it continues on the same page if
//! that has not changed since (same LSN), else it looks up the key again.

use std::ops::Bound;
use std::sync::atomic::Ordering::Relaxed;

use log::Lsn;
use pages::{LatchMode, PageGuard, PageId, PageType, header, slots};
use smallvec::SmallVec;
use txn::{LockMode, Resource, Transaction};

use super::BTree;
use super::page::{Fences, KEY_LENGTH_BYTES, key_at, search, split_row, stub_in_tree};
use crate::error::{AccessError, AccessResult, stop_if_asked};
use crate::key::KeyRange;
use crate::options::{Locking, RowLock, ScanOptions, Selection};
use crate::prefetch::NextPage;
use crate::unit_uses::UnitUse;
use crate::visibility::{PageView, Reader, Visibility};

/// Reads a range of keys. Where locks allow, it copies a page's rows under one latch and emits them afterwards.
pub struct BTreeCursor {
    tree: BTree,
    range: KeyRange,
    /// The range is one key: after this key the scan ends.
    is_one_key: bool,
    options: ScanOptions,
    selection: Selection,
    locking: Option<Locking>,
    bytes: Vec<u8>,
    /// Start of key, start of value, end of value.
    rows: SmallVec<[(usize, usize, usize); 1]>,
    at: usize,
    /// The last key processed; `None` before the first.
    last_key: Option<Vec<u8>>,
    place: Option<CursorPosition>,
    /// No row is left after the current batch.
    finished: bool,
    /// SERIALIZABLE: the one key of the range was looked for and is not there, so its gap must be locked.
    is_absent: bool,
    kept: Option<Resource>,
}

/// Where a forward cursor stopped: valid while the page's LSN is the same.
#[derive(Clone, Copy)]
struct CursorPosition {
    page: PageId,
    lsn: Lsn,
    /// The next slot to process.
    slot: u16,
}

/// The reason why the filling of a batch stopped.
enum Stop {
    /// The batch has rows.
    Full,
    /// The range or the tree ends.
    End,
    /// Another transaction has locked the row or gap.
    Locked(Resource),
    /// The page has no more rows; the next page follows.
    Next,
}

impl BTree {
    /// Reads the keys of a range in order (or backward). The cursor is large and made for each seek: it is constructed in place.
    #[inline(always)]
    pub fn scan(&self, range: KeyRange, options: ScanOptions) -> BTreeCursor {
        BTreeCursor::new(self.clone(), range, options)
    }
}

/// The kind of operation to count: a scan, or the look-up of one key.
fn begun(is_one_key: bool) -> UnitUse {
    if is_one_key { UnitUse::SingletonLookup } else { UnitUse::RangeScan }
}

impl BTreeCursor {
    #[inline(always)]
    pub(super) fn new(tree: BTree, range: KeyRange, options: ScanOptions) -> BTreeCursor {
        let is_one_key = range.only_key().is_some();
        tree.state.uses.note(begun(is_one_key));
        BTreeCursor {
            tree,
            is_one_key,
            range,
            options,
            selection: Selection::default(),
            locking: None,
            bytes: Vec::new(),
            rows: SmallVec::new(),
            at: 0,
            last_key: None,
            place: None,
            finished: false,
            is_absent: false,
            kept: None,
        }
    }

    /// Restarts the cursor with another range, keeping its memory.
    pub fn restart(&mut self, range: KeyRange) {
        self.is_one_key = range.only_key().is_some();
        self.tree.state.uses.note(begun(self.is_one_key));
        self.range = range;
        self.rows.clear();
        self.at = 0;
        self.last_key = None;
        self.place = None;
        self.finished = false;
        self.is_absent = false;
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
            return Ok(false);
        }
        assert!(
            self.at < self.rows.len() && self.kept.is_none(),
            "one row is at hand, the one before is let go"
        );
        if let Some(Locking::Hold { until_next: true, .. }) = self.locking {
            self.kept = Some(self.tree.key_resource(self.key()));
        }
        Ok(true)
    }

    /// Chooses the rows and columns to emit, before the first row is read.
    pub fn select(&mut self, selection: Selection) {
        assert!(self.locking.is_none() && self.rows.is_empty(), "no row has been handed up yet");
        self.selection = selection;
    }

    /// Chooses them for a cursor that restarts ([`BTreeCursor::restart`]).
    pub fn select_anew(&mut self, selection: Selection) {
        assert!(
            self.last_key.is_none() && self.rows.is_empty(),
            "no row of the new range has been handed up"
        );
        self.selection = selection;
    }

    /// Moves to the next rows, all that one latch gives; returns their number, 0 at the end. The locks are those of [`BTreeCursor::next`];
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

    /// The key of one row of the batch.
    #[inline]
    pub fn key_at(&self, at: usize) -> &[u8] {
        let (key, value, _) = self.rows[at];
        assert!(key < value, "who asks for keys does not only count rows");
        &self.bytes[key..value]
    }

    /// The value of one row of the batch.
    #[inline]
    pub fn value_at(&self, at: usize) -> &[u8] {
        let (_, value, end) = self.rows[at];
        &self.bytes[value..end]
    }

    /// The current key.
    pub fn key(&self) -> &[u8] {
        self.key_at(self.at)
    }

    /// The current value.
    pub fn value(&self) -> &[u8] {
        self.value_at(self.at)
    }

    /// Releases the current row's lock now: the row does not qualify.
    pub fn release_row(&mut self, txn: &Transaction) {
        if let (Some(resource), Some(Locking::Hold { mode, .. })) = (self.kept.take(), self.locking) {
            txn.unlock(&resource, mode);
        }
    }

    fn fill(&mut self, txn: &Transaction) -> AccessResult<bool> {
        if self.finished {
            self.rows.clear();
            self.at = 0;
            return Ok(false);
        }
        let locking = self.options.locking_of_more(self.locking, txn, &self.tree.object_resource());
        self.locking = Some(locking);
        self.rows.clear();
        self.bytes.clear();
        self.at = 0;
        let reader = Reader::new(txn, locking, &self.options);
        let mut waited = None;
        while !self.finished {
            let seeks_key = self.is_one_key && !self.is_absent;
            let (reader, stop) = match locking {
                Locking::Range { .. } if seeks_key => {
                    let reader = reader.of_row_alone();
                    (reader, self.fill_with_only_key(reader)?)
                }
                Locking::Range { .. } => {
                    // Set before the first page is read: from now on inserts check the next key.
                    if !self.tree.state.has_ranges.load(Relaxed) {
                        self.tree.state.has_ranges.store(true, Relaxed);
                    }
                    (reader, self.fill_with_range(reader)?)
                }
                _ => (reader, self.fill_with_range(reader)?),
            };
            drop(waited.take());
            match stop {
                Stop::End => self.finished = true,
                Stop::Locked(resource) if self.rows.is_empty() => {
                    waited = Some(self.tree.waiting(|| reader.wait(resource, self.options.wait))?);
                }
                Stop::Full | Stop::Next | Stop::Locked(_) => {}
            }
            if !self.rows.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Processes one row: `None` continues. The guard's page is latched.
    fn take_row(
        &mut self,
        view: &PageView<'_, '_>,
        guard: &PageGuard,
        slot: u16,
    ) -> AccessResult<Option<Stop>> {
        let Some(row) = slots::row(guard.page(), slot) else { return Ok(None) };
        let key = split_row(row).0;
        let outside = match self.options.backward {
            false => !self.range.is_below_upper(key),
            true => !self.range.is_above_lower(key),
        };
        let lock = || self.tree.lock_of(key);
        if outside {
            // Serializable: the key beyond the range locks the gap before it. Backward, the gap below the lowest key of the
            // range is locked by that key itself.
            if let Locking::Range { mode } = view.reader().locking
                && !self.options.backward
                && !view.reader().txn.try_lock(lock(), range_only(mode))
            {
                return Ok(Some(Stop::Locked(self.tree.key_resource(key))));
            }
            return Ok(Some(Stop::End));
        }
        let seen = view.see(slot, lock);
        let row = match &seen {
            Visibility::Bytes(row) => Some(*row),
            Visibility::Version(row) => Some(&**row),
            Visibility::Lost | Visibility::Conflict => return Err(seen.error()),
            Visibility::Gone => None,
            Visibility::Wait => return Ok(Some(Stop::Locked(self.tree.key_resource(key)))),
            Visibility::Moved => return Err(stub_in_tree(guard, slot)),
        };
        let goes_on = self.last_key.as_deref().is_none_or(|last| last < key);
        debug_assert!(self.options.backward || goes_on, "a scan never comes back to a key");
        // A serializable reader still has to lock the gap behind.
        let is_last = self.is_one_key && !matches!(view.reader().locking, Locking::Range { .. });
        if !is_last {
            self.remember(key);
        }
        let is_emitted = row.is_some_and(|row| {
            let is_wanted = self.emit(row, true);
            if !is_wanted {
                view.reader().pass_over(|| self.tree.key_resource(key));
            }
            is_wanted
        });
        Ok(match is_last {
            true => Some(Stop::End),
            false => (is_emitted && !view.reader().locking.reads_ahead()).then_some(Stop::Full),
        })
    }

    /// Processes the slots of a leaf that lie entirely inside the range, for a reader that keeps no locks: no key is compared. Returns
    /// the first slot whose row must be waited for.
    fn take_rows(
        &mut self,
        view: &PageView<'_, '_>,
        guard: &PageGuard,
        slots: std::ops::Range<u16>,
    ) -> AccessResult<Option<(u16, Resource)>> {
        assert!(view.reader().locking.reads_ahead(), "who locks rows takes them one by one");
        assert!(slots.end <= header::slot_count(guard.page()), "the slots are those of the page");
        let copies = !self.options.counts_only;
        let mut next = NextPage::new(&self.tree.methods, header::next(guard.page()));
        let mut locked = None;
        let mut end = slots.end;
        for slot in slots.clone() {
            let lock = || self.tree.lock_of(key_at(guard.page(), slot));
            match view.see(slot, lock) {
                Visibility::Bytes(row) => {
                    next.like(guard.page(), slot, row);
                    self.emit(row, copies);
                }
                Visibility::Version(row) => drop(self.emit(&row, copies)),
                seen @ (Visibility::Lost | Visibility::Conflict) => return Err(seen.error()),
                Visibility::Gone => {}
                Visibility::Moved => return Err(stub_in_tree(guard, slot)),
                Visibility::Wait => {
                    (locked, end) = (Some((slot, self.tree.key_resource(key_at(guard.page(), slot)))), slot);
                    break;
                }
            }
        }
        if end > slots.start {
            self.remember(key_at(guard.page(), end - 1));
        }
        Ok(locked)
    }

    /// Copies a visible row; false when it does not qualify.
    #[inline]
    fn emit(&mut self, row: &[u8], copies: bool) -> bool {
        let (key, value) = split_row(row);
        debug_assert!(copies || self.options.counts_only, "only counted rows have no bytes");
        if !self.selection.accepts(value) {
            return false;
        }
        let start = self.bytes.len();
        if copies {
            self.bytes.extend_from_slice(&row[KEY_LENGTH_BYTES..]);
            debug_assert_eq!(self.bytes.len() - start, key.len() + value.len(), "a row is copied whole");
            self.rows.push((start, start + key.len(), self.bytes.len()));
        } else {
            self.rows.push((start, start, start));
        }
        true
    }

    fn remember(&mut self, key: &[u8]) {
        let last = self.last_key.get_or_insert_with(Vec::new);
        last.clear();
        last.extend_from_slice(key);
    }

    /// Latches the page where the scan continues, with the slot.
    fn resume_forward(&mut self) -> AccessResult<(PageGuard, u16)> {
        if let Some(place) = self.place.take() {
            let guard = self.tree.methods.fix(place.page, LatchMode::Shared)?;
            let is_same = guard.lsn() == place.lsn
                && header::page_type(guard.page()) == PageType::BTree
                && header::unit(guard.page()) == self.tree.def.unit.0;
            if is_same {
                assert!(
                    place.slot <= header::slot_count(guard.page()),
                    "an unchanged page has as many slots"
                );
                return Ok((guard, place.slot));
            }
        }
        let (key, included) = match (&self.last_key, &self.range.lower) {
            (Some(last), _) => (last.as_slice(), false),
            (None, Bound::Included(lower)) => (lower.as_slice(), true),
            (None, Bound::Excluded(lower)) => (lower.as_slice(), false),
            (None, Bound::Unbounded) => (&[][..], true),
        };
        let guard = self.tree.descend(key, LatchMode::Shared, false)?;
        let slot = match search(guard.page(), key) {
            Ok(slot) if included => slot,
            Ok(slot) => slot + 1,
            Err(slot) => slot,
        };
        assert!(slot <= header::slot_count(guard.page()), "a scan goes on among the slots or behind them");
        Ok((guard, slot))
    }

    fn fill_with_range(&mut self, reader: Reader<'_>) -> AccessResult<Stop> {
        assert!(!self.finished && self.rows.is_empty(), "rows are read when none is left, up to the end");
        if self.options.backward { self.fill_backward(reader) } else { self.fill_forward(reader) }
    }

    /// SERIALIZABLE, one key: while the key exists, its own lock prevents its delete and a second insert. Only if
    /// it does not exist (`Next`), the gap must be locked.
    fn fill_with_only_key(&mut self, reader: Reader<'_>) -> AccessResult<Stop> {
        assert!(
            matches!(reader.locking, Locking::Hold { .. }),
            "the key's own lock is enough while it is there"
        );
        let key = self.range.only_key().expect("the caller has asked");
        let guard = self.tree.descend(key, LatchMode::Shared, false)?;
        let lock = || self.tree.key_resource(key);
        let found = match search(guard.page(), key) {
            Ok(slot) => (slot, PageView::new(guard.page(), reader).see(slot, lock)),
            Err(slot) => (slot, Visibility::Gone),
        };
        match found {
            (_, Visibility::Bytes(row)) => {
                self.finished = true;
                // The lock stays also when the row does not qualify: no other transaction may change it so that it does.
                Ok(if self.emit(row, true) { Stop::Full } else { Stop::End })
            }
            (_, Visibility::Version(_)) => unreachable!("who locks ranges reads at no snapshot"),
            (_, seen @ (Visibility::Lost | Visibility::Conflict)) => Err(seen.error()),
            (_, Visibility::Wait) => Ok(Stop::Locked(lock())),
            (slot, Visibility::Moved) => Err(stub_in_tree(&guard, slot)),
            (_, Visibility::Gone) => {
                self.is_absent = true;
                Ok(Stop::Next)
            }
        }
    }

    fn fill_forward(&mut self, reader: Reader<'_>) -> AccessResult<Stop> {
        let (mut guard, mut slot) = self.resume_forward()?;
        let first = guard.id();
        loop {
            let stop = self.fill_from_leaf(reader, &guard, slot)?;
            match stop {
                Stop::Next if self.rows.is_empty() => stop_if_asked()?,
                stop => return Ok(stop),
            }
            let Some(next) = self.tree.fix_next(&guard, LatchMode::Shared, &[])? else {
                return Ok(Stop::End);
            };
            // Each page names the one before, so a circle leads back to where this walk began. It may consist of empty leaves.
            let goes_back = header::slot_count(next.page()) > 0
                && self.last_key.as_deref().is_some_and(|last| key_at(next.page(), 0) <= last);
            if goes_back || next.id() == first {
                return Err(AccessError::corrupt(
                    next.id(),
                    format!("follows {}, and its keys do not", guard.id()),
                ));
            }
            guard = next;
            slot = 0;
        }
    }

    fn fill_from_leaf(&mut self, reader: Reader<'_>, guard: &PageGuard, from: u16) -> AccessResult<Stop> {
        let page = guard.page();
        let view = PageView::new(page, reader);
        let count = header::slot_count(page);
        assert!(from <= count, "a scan goes on among the slots or behind them");
        if header::ghosts(page) > 0 && view.is_all_committed() {
            self.tree.methods.note_ghosts(guard.id(), self.tree.def.root);
        }
        let is_inside = || from < count && self.range.is_below_upper(key_at(page, count - 1));
        if reader.locking.reads_ahead() && is_inside() {
            let locked = self.take_rows(&view, guard, from..count)?;
            let next = locked.as_ref().map_or(count, |(slot, _)| *slot);
            self.place = Some(CursorPosition { page: guard.id(), lsn: guard.lsn(), slot: next });
            return Ok(locked.map_or(Stop::Next, |(_, resource)| Stop::Locked(resource)));
        }
        for slot in from..count {
            if let Some(stop) = self.take_row(&view, guard, slot)? {
                let next = if matches!(stop, Stop::Full) { slot + 1 } else { slot };
                self.place = Some(CursorPosition { page: guard.id(), lsn: guard.lsn(), slot: next });
                return Ok(stop);
            }
        }
        self.place = Some(CursorPosition { page: guard.id(), lsn: guard.lsn(), slot: count });
        // A serializable scan locks the gap behind the page's keys before it releases the page.
        Ok(self.lock_gap(reader, guard, count)?.unwrap_or(Stop::Next))
    }

    /// A serializable scan locks the key that bounds the gap at a place in a latched leaf, or the end of the tree behind the last key. If
    /// it must wait for the lock, the scan reads the leaf again afterwards: by then a nearer key may have been inserted.
    fn lock_gap(&self, reader: Reader<'_>, leaf: &PageGuard, slot: u16) -> AccessResult<Option<Stop>> {
        let Locking::Range { mode } = reader.locking else { return Ok(None) };
        self.tree.with_next_key(leaf, slot, |bound| {
            let mode = range_only(mode);
            assert!(mode.guards_gap(), "{mode:?} keeps others out");
            let is_kept = reader.txn.try_lock(bound, mode);
            (!is_kept).then_some(Stop::Locked(bound))
        })
    }

    /// Reads one page's rows, from high to low. Each page is looked up from the root: latches go from left to right only.
    fn fill_backward(&mut self, reader: Reader<'_>) -> AccessResult<Stop> {
        assert!(self.place.is_none(), "a scan downward goes on by its last key");
        let (mut key, mut included) = match (&self.last_key, &self.range.upper) {
            (Some(last), _) => (Some(last.clone()), false),
            (None, Bound::Included(upper)) => (Some(upper.to_vec()), true),
            (None, Bound::Excluded(upper)) => (Some(upper.to_vec()), false),
            (None, Bound::Unbounded) => (None, true),
        };
        if self.last_key.is_none()
            && let Some(stop) = self.lock_above(reader, key.as_deref(), included)?
        {
            return Ok(stop);
        }
        loop {
            let mut fences = Fences::default();
            let bound = key.clone().unwrap_or_else(|| vec![u8::MAX; crate::key::KEY_BYTES_MAX + 1]);
            let guard =
                self.tree.descend_with_fence(&bound, LatchMode::Shared, !included, Some(&mut fences))?;
            let page = guard.page();
            let end = match search(page, &bound) {
                Ok(slot) if included => slot + 1,
                Ok(slot) | Err(slot) => slot,
            };
            let view = PageView::new(page, reader);
            let mut next = match reader.locking.reads_ahead() && end > 1 {
                true => NextPage::new(&self.tree.methods, header::prev(page)),
                false => NextPage::default(),
            };
            for slot in (0..end).rev() {
                slots::row(page, slot).into_iter().for_each(|row| next.like(page, slot, row));
                if let Some(stop) = self.take_row(&view, &guard, slot)? {
                    return Ok(stop);
                }
            }
            if !self.rows.is_empty() {
                return Ok(Stop::Full);
            }
            let Fences { lower, .. } = fences;
            if lower.is_empty() {
                return Ok(Stop::End);
            }
            stop_if_asked()?;
            assert!(lower <= bound, "each page lies to the left of the one before");
            key = Some(lower);
            included = false;
        }
    }

    /// A serializable backward scan first locks the key above its range.
    fn lock_above(
        &mut self,
        reader: Reader<'_>,
        upper: Option<&[u8]>,
        included: bool,
    ) -> AccessResult<Option<Stop>> {
        let Locking::Range { mode } = reader.locking else { return Ok(None) };
        let Some(upper) = upper else {
            let end = self.tree.end_resource();
            return Ok((!reader.txn.try_lock(end, range_only(mode))).then_some(Stop::Locked(end)));
        };
        assert!(self.options.backward, "upward, the key above the range comes last");
        let leaf = self.tree.descend(upper, LatchMode::Shared, false)?;
        let slot = match search(leaf.page(), upper) {
            Ok(slot) if included => slot + 1,
            Ok(slot) | Err(slot) => slot,
        };
        self.lock_gap(reader, &leaf, slot)
    }
}

/// The lock mode for a key that only guards a gap: its row is not read.
fn range_only(mode: LockMode) -> LockMode {
    match mode {
        LockMode::RangeXX => LockMode::RangeSU,
        other => other,
    }
}
