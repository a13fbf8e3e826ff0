//! Heaps: rows wherever there was free space, each at a fixed address.
//!
//! Pages form a chain from the first; the first page's `prev` names the last. A row that outgrows its page moves, and leaves
//! a stub with its new address; only the stub's address is ever visible outside. Deleted rows stay as ghosts until their
//! deleter has ended, so that its rollback always finds them.
//!
//! Latching: one page at a time, except when a page is appended (first, last, map, new).
//!
//! Invariants (in brackets where each is asserted when it is made; `verify.rs`, and so DBCC CHECKDB, looks for 1, 2, 3 and 5; the others are
//! about what came before):
//!
//! 1. The chain from the first page by `next` visits every page of the heap once; `prev` of a page names the one before, `prev` of the first
//!    the last (NULL while it is alone). [`last_page_with_room`; a page that says otherwise is refused there and in `scan.rs: go_on_to`]
//! 2. A slot is free, a row, a stub (FORWARD) or a moved row (FORWARDED); never a stub and a moved row at once. [`pages/slots.rs: assert_flags`]
//! 3. Each stub that is no ghost names a moved row that is no ghost, and each such row has one stub. A stub never names a stub: a row that
//!    moves on gets its first stub corrected. [`update`, `patch_row`; `require_moved_row` refuses a stub that says otherwise]
//! 4. An address, once assigned, means the same row until the row's deleter has committed: stubs and ghosts keep their slot; a slot is
//!    reused only when no transaction has a lock on its address. [`place`; `pages/slots.rs: insert`, `remove` are not for heaps]
//! 5. Every row has room for a stub: it is padded to `ROW_BYTES_MIN`. [`place`, `patch_row`]
//! 6. The bytes that a transaction has released on a page (ghosts, shortened rows) are counted in `reserved_bytes` and kept until every transaction
//!    up to `last_remover` has ended: its rollback finds the space. [`ghost`, `expunge`]
//! 7. A row is changed under its exclusive lock and its page's exclusive latch, after the record is appended; the page's LSN is that record's.
//!    [`methods.rs: append`, `pages/frame.rs: page_mut`, `set_lsn`]

mod look_up;
mod many;
mod replay;
mod scan;

pub(crate) use many::{apply_rows, apply_rows_brought_back, apply_rows_taken_out};
pub(crate) use replay::{apply_append_first, apply_append_new, apply_expunge, apply_patch};
pub use scan::HeapCursor;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::page_records::{HeapAppend, HeapRow, RowPatch};
use log::{LogContext, LogOp};
use pages::{LatchMode, PageGuard, PageId, PageType, header, slots};
use txn::{LockMode, LockWait, Resource, Transaction, UndoBytes, VersionLookup};

use crate::error::{AccessError, AccessResult};
use crate::hints::HeapState;
use crate::ids::{Rid, UnitId};
use crate::map_page::{FreePage, set_owner};
use crate::methods::AccessMethods;
use crate::options::{Locking, ScanOptions};
use crate::patch::{self, Change};
use crate::row::{ROW_BYTES_MAX, ROW_BYTES_MIN};
use crate::row_change::{PATCH_BYTES, PLACE_BYTES, apply_ghost};
use crate::unit_uses::{UnitUse, UnitUses};
use crate::visibility::{PageView, Reader, Visibility};

/// Pages with room that a heap remembers, at most.
const CANDIDATES_MAX: usize = 1024;
/// Remembered pages that one insert tries before it appends a page.
const CANDIDATES_TRIED: usize = 2;
/// How often a reader without locks follows a row that moves meanwhile, before it treats the stub as damaged.
const LOST_STUBS_MAX: u32 = 10_000;
/// A page is remembered when so many of its bytes are free or belong to ghosts.
const WORTH_BYTES: usize = 1024;

/// The identity of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapDef {
    /// Object id of its table, for locks.
    pub object: u32,
    /// Its allocation unit.
    pub unit: UnitId,
    /// Its first page.
    pub first_page: PageId,
}

/// A heap. Cheap to clone.
#[derive(Clone)]
pub struct Heap {
    methods: Arc<AccessMethods>,
    def: HeapDef,
    state: Arc<HeapState>,
    leaves_versions: bool,
}

impl Heap {
    pub(crate) fn new(methods: Arc<AccessMethods>, def: HeapDef, state: Arc<HeapState>) -> Heap {
        Heap { methods, def, state, leaves_versions: true }
    }

    /// This heap, for changes that need no versions because no snapshot reads them: of a table that is being built, or of a system table.
    pub fn without_versions(self) -> Heap {
        Heap { leaves_versions: false, ..self }
    }

    /// Keeps the row's image before its first change, for snapshots; see [`Transaction::save_before_image`].
    #[inline]
    fn save_before_image(&self, txn: &Transaction, rid: Rid, before: Option<&[u8]>) {
        if self.leaves_versions {
            txn.save_before_image(self.def.unit.0, &rid.to_bytes(), before);
        }
    }

    /// Error 3960 for a locked row that another transaction has changed since the snapshot of this one.
    fn check_conflict(&self, txn: &Transaction, rid: Rid) -> AccessResult<()> {
        match self.leaves_versions && txn.conflicts_over(self.def.unit.0, &rid.to_bytes()) {
            true => Err(AccessError::UpdateConflict),
            false => Ok(()),
        }
    }

    /// Locks a row before its change, and checks for a write conflict ([`AccessError::UpdateConflict`]).
    pub fn claim(&self, txn: &Transaction, rid: Rid) -> AccessResult<()> {
        let resource = self.lock_of(rid);
        if !txn.try_lock(resource, LockMode::X) {
            self.waiting(|| txn.lock(resource, LockMode::X, LockWait::Session))?;
        }
        let is_locked = || {
            txn.held_mode(&resource).is_some_and(|held| held.covers(LockMode::X))
                || txn.has_table_lock(&self.object_resource(), LockMode::X)
        };
        debug_assert!(is_locked(), "a row is changed under its lock");
        self.check_conflict(txn, rid)
    }

    /// The identity of the heap.
    pub fn def(&self) -> &HeapDef {
        &self.def
    }

    /// The lock resource of a row.
    pub fn row_resource(&self, rid: Rid) -> Resource {
        Resource::Rid {
            database: self.methods.database,
            object: self.def.object,
            file: rid.page.file,
            page: rid.page.page,
            slot: rid.slot,
        }
    }

    /// The lock resource of a row, counted as a lock request.
    #[inline]
    fn lock_of(&self, rid: Rid) -> Resource {
        self.state.uses.note(UnitUse::RowLock);
        self.row_resource(rid)
    }

    /// The operation counters since the database was opened.
    pub fn uses(&self) -> &UnitUses {
        &self.state.uses
    }

    /// Waits for a lock of one of its rows; no latch is held.
    fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.state.uses.wait(self.methods.space.pool().os(), wait)
    }

    fn object_resource(&self) -> Resource {
        Resource::Object { database: self.methods.database, object: self.def.object }
    }

    fn fix_row_page(&self, page: PageId, mode: LatchMode) -> AccessResult<PageGuard> {
        self.methods.fix_of(page, mode, PageType::Heap, self.def.unit.0)
    }

    /// Inserts a row; it is locked exclusively. The caller holds IX on the table.
    pub fn insert(&self, txn: &Transaction, row: &[u8]) -> AccessResult<Rid> {
        self.place(txn, row, Placing::Row)
    }

    fn place(&self, txn: &Transaction, row: &[u8], placing: Placing) -> AccessResult<Rid> {
        if row.len() > ROW_BYTES_MAX {
            return Err(AccessError::RowTooLarge { bytes: row.len(), limit: ROW_BYTES_MAX });
        }
        let padding = &[0u8; ROW_BYTES_MIN][row.len().min(ROW_BYTES_MIN)..];
        let bytes = row.len() + padding.len();
        let mut guard = self.page_with_room(txn, bytes)?;
        let page = guard.id();
        assert!(
            bytes >= ROW_BYTES_MIN && slots::fits(guard.page(), bytes),
            "{bytes} bytes have room on {page}"
        );
        let mut rid = Rid { page, slot: slots::vacant_slot(guard.page()) };
        if placing == Placing::Row && !txn.try_lock(self.row_resource(rid), LockMode::X) {
            self.state.uses.note(UnitUse::RowLock);
            // Another transaction still waits for the row that was in this slot: use a fresh slot.
            rid.slot = header::slot_count(guard.page());
            let locked = txn.try_lock(self.row_resource(rid), LockMode::X);
            if !locked {
                drop(guard);
                self.waiting(|| txn.lock(self.lock_of(rid), LockMode::X, LockWait::Session))?;
                return self.place(txn, row, placing);
            }
        }
        let is_forwarded = placing == Placing::Forwarded;
        if !is_forwarded {
            self.save_before_image(txn, rid, None);
        }
        let undo = UndoBytes::one(PLACE_BYTES);
        let lsn = self.methods.append(txn, LogOp::InsertRows, LogContext::Heap, undo, |out| {
            let image = if self.methods.undo_only { &[] } else { row };
            HeapRow { page: page.pack(), slot: rid.slot, is_forwarded, row: image }.encode(out);
            if !self.methods.undo_only {
                out.extend_from_slice(padding);
            }
        })?;
        let flags = if is_forwarded { slots::FORWARDED } else { 0 };
        slots::put(guard.page_mut(), rid.slot, &[row, padding], flags);
        guard.set_lsn(lsn);
        assert_eq!(
            slots::row(guard.page(), rid.slot).map(<[u8]>::len),
            Some(bytes),
            "the row has room for a stub"
        );
        if !is_forwarded {
            self.state.uses.note_locked_insert();
        }
        Ok(rid)
    }

    /// Latches a page on which a new row of `bytes` fits.
    fn page_with_room(&self, txn: &Transaction, bytes: usize) -> AccessResult<PageGuard> {
        let hint = self.state.insert_page.load(Relaxed);
        if hint != 0
            && let Some(guard) = self.try_page(txn, PageId::unpack(hint), bytes)?
        {
            return Ok(guard);
        }
        for _ in 0..CANDIDATES_TRIED {
            let candidate = self.state.candidates.lock().pop_front();
            let Some(page) = candidate else { break };
            if let Some(guard) = self.try_page(txn, page, bytes)? {
                self.state.insert_page.store(page.pack(), Relaxed);
                return Ok(guard);
            }
            let guard = self.methods.fix(page, LatchMode::Shared)?;
            if header::ghosts(guard.page()) > 0 || header::reserved_bytes(guard.page()) >= WORTH_BYTES {
                // The deleter has not ended: the page may have room later.
                drop(guard);
                self.note_candidate(page);
            }
        }
        let guard = self.last_page_with_room(txn, bytes)?;
        assert!(guard.is_exclusive() && header::unit(guard.page()) == self.def.unit.0, "a page of this heap");
        self.state.insert_page.store(guard.id().pack(), Relaxed);
        Ok(guard)
    }

    /// The page, if it is of this heap and has room, after its ghosts were removed if necessary.
    fn try_page(&self, txn: &Transaction, page: PageId, bytes: usize) -> AccessResult<Option<PageGuard>> {
        let mut guard = self.methods.fix(page, LatchMode::Exclusive)?;
        if header::page_type(guard.page()) != PageType::Heap || header::unit(guard.page()) != self.def.unit.0
        {
            return Ok(None);
        }
        if !slots::fits(guard.page(), bytes) {
            self.expunge(txn, &mut guard)?;
        }
        Ok(slots::fits(guard.page(), bytes).then_some(guard))
    }

    /// Removes the ghosts of a page and frees the bytes reserved for undo, if all transactions that may need them have ended.
    fn expunge(&self, txn: &Transaction, guard: &mut PageGuard) -> AccessResult<bool> {
        self.methods.expunge(txn.manager(), guard, |_| true)
    }

    /// The last page of the chain if it has room, else a new one behind it.
    fn last_page_with_room(&self, txn: &Transaction, bytes: usize) -> AccessResult<PageGuard> {
        let mut first = self.fix_row_page(self.def.first_page, LatchMode::Exclusive)?;
        let last_id = header::prev(first.page());
        if last_id.is_null() {
            if slots::fits(first.page(), bytes) {
                return Ok(first);
            }
        } else if last_id == first.id() {
            return Err(AccessError::corrupt(last_id, "is its own last page"));
        } else if let Some(last) = self.try_page(txn, last_id, bytes)? {
            return Ok(last);
        }
        let mut last = match last_id.is_null() {
            true => None,
            false => Some(self.fix_row_page(last_id, LatchMode::Exclusive)?),
        };
        let end = last.as_ref().unwrap_or(&first);
        if !header::next(end.page()).is_null() {
            let what = format!("is told to be the last page, but {} follows", header::next(end.page()));
            return Err(AccessError::corrupt(end.id(), what));
        }
        let FreePage { mut map, guard: mut new } = self.methods.find_free_page(self.def.unit.0)?;
        let page = new.id();
        let previous = if last_id.is_null() { first.id() } else { last_id };
        let append = HeapAppend {
            unit: self.def.unit.0,
            page: page.pack(),
            previous: previous.pack(),
            first: first.id().pack(),
        };
        let lsn = self
            .methods
            .append_allocation(txn, LogOp::FormatPage, LogContext::Heap, |out| append.encode(out))?;
        let map_id = map.id();
        set_owner(map.page_mut(), map_id, page, append.unit);
        map.set_lsn(lsn);
        apply_append_new(new.page_mut(), &append);
        new.set_lsn(lsn);
        if let Some(last) = &mut last {
            header::set_next(last.page_mut(), page);
            last.set_lsn(lsn);
        }
        apply_append_first(first.page_mut(), &append);
        first.set_lsn(lsn);
        assert_eq!(header::prev(first.page()), page, "the first page names the last");
        let before = last.as_ref().unwrap_or(&first);
        assert!(
            header::next(before.page()) == page && header::prev(new.page()) == before.id(),
            "a chain both ways"
        );
        assert!(header::next(new.page()).is_null(), "the last page has none behind it");
        self.state.uses.note(UnitUse::LeafAllocation);
        Ok(new)
    }

    /// Remembers a page for reuse of its room.
    fn note_candidate(&self, page: PageId) {
        let mut candidates = self.state.candidates.lock();
        if candidates.len() < CANDIDATES_MAX && !candidates.contains(&page) {
            candidates.push_back(page);
        }
        assert!(candidates.len() <= CANDIDATES_MAX, "{} pages are remembered", candidates.len());
    }

    /// Replaces a row; it keeps its address. The row is locked exclusively; the caller holds IX on the table.
    /// Error `RowGone` when there is no such row.
    pub fn update(&self, txn: &Transaction, rid: Rid, row: &[u8]) -> AccessResult<()> {
        if row.len() > ROW_BYTES_MAX {
            return Err(AccessError::RowTooLarge { bytes: row.len(), limit: ROW_BYTES_MAX });
        }
        let mut padded = row.to_vec();
        padded.resize(row.len().max(ROW_BYTES_MIN), 0);
        self.claim(txn, rid)?;
        let guard = self.fix_row_page(rid.page, LatchMode::Exclusive)?;
        let Some(old) = slots::row(guard.page(), rid.slot) else { return Err(AccessError::RowGone) };
        let flags = slots::flags(guard.page(), rid.slot);
        if flags & (slots::GHOST | slots::FORWARDED) != 0 {
            return Err(AccessError::RowGone);
        }
        self.state.uses.note(UnitUse::LeafUpdate);
        if flags & slots::FORWARD == 0 {
            self.save_before_image(txn, rid, Some(old));
            if self.fits_in_place(txn, guard, rid.slot, &padded)? {
                return Ok(());
            }
            let target = self.place(txn, &padded, Placing::Forwarded)?;
            return self.replace_row(txn, rid, &target.to_bytes(), (false, true));
        }
        // The exclusive lock keeps the stub as it is while its page is not latched.
        let target = Rid::from_bytes(old).ok_or_else(|| bad_stub(rid))?;
        drop(guard);
        let guard = self.fix_row_page(target.page, LatchMode::Exclusive)?;
        require_moved_row(&guard, rid, target.slot)?;
        self.save_before_image(txn, rid, slots::row(guard.page(), target.slot));
        if self.fits_in_place(txn, guard, target.slot, &padded)? {
            return Ok(());
        }
        let new_target = self.place(txn, &padded, Placing::Forwarded)?;
        if new_target == target || new_target == rid {
            return Err(overwritten(new_target));
        }
        self.replace_row(txn, rid, &new_target.to_bytes(), (true, true))?;
        self.ghost(txn, target)
    }

    /// Changes a row where it is, if its page has room.
    fn fits_in_place(
        &self,
        txn: &Transaction,
        mut guard: PageGuard,
        slot: u16,
        row: &[u8],
    ) -> AccessResult<bool> {
        assert!(guard.is_exclusive(), "a row is changed under its page's exclusive latch");
        let old = slots::row(guard.page(), slot).ok_or(AccessError::RowGone)?.len();
        if row.len() > old && row.len() - old > slots::room(guard.page()) {
            self.expunge(txn, &mut guard)?;
        }
        if row.len() > old && row.len() - old > slots::room(guard.page()) {
            return Ok(false);
        }
        self.patch_row(txn, &mut guard, slot, row, (false, false))?;
        Ok(true)
    }

    fn replace_row(
        &self,
        txn: &Transaction,
        rid: Rid,
        row: &[u8],
        is_stub: (bool, bool),
    ) -> AccessResult<()> {
        assert!(is_stub.1 && row.len() == Rid::BYTES, "a stub is an address");
        let mut guard = self.fix_row_page(rid.page, LatchMode::Exclusive)?;
        // The lock keeps the row unchanged; but a wrong map may have given its page to another row.
        let flags = slots::flags(guard.page(), rid.slot);
        let is_as_it_was = flags & (slots::GHOST | slots::FORWARDED) == 0
            && (flags & slots::FORWARD != 0) == is_stub.0
            && slots::row(guard.page(), rid.slot).is_some();
        if !is_as_it_was {
            return Err(overwritten(rid));
        }
        self.patch_row(txn, &mut guard, rid.slot, row, is_stub)
    }

    fn patch_row(
        &self,
        txn: &Transaction,
        guard: &mut PageGuard,
        slot: u16,
        row: &[u8],
        is_stub: (bool, bool),
    ) -> AccessResult<()> {
        let old_row = slots::row(guard.page(), slot).ok_or(AccessError::RowGone)?;
        let (at, old, new) = patch::difference(old_row, row);
        if old.is_empty() && new.is_empty() && is_stub.0 == is_stub.1 {
            return Ok(());
        }
        let flags = slots::flags(guard.page(), slot);
        assert_eq!(is_stub.0, flags & slots::FORWARD != 0, "the record says what the row was");
        assert!(flags & slots::GHOST == 0, "a deleted row is not changed");
        assert!(row.len() >= ROW_BYTES_MIN, "a row keeps room for a stub");
        let lengths = (old.len() as u16, new.len() as u16);
        let record = RowPatch {
            page: guard.id().pack(),
            slot,
            tree: None,
            is_stub,
            offset: at as u16,
            lengths,
            old,
            new: if self.methods.undo_only { &[] } else { new },
        };
        let image = if self.methods.undo_only { 0 } else { old.len() };
        let undo = UndoBytes::one(PLACE_BYTES + PATCH_BYTES + image);
        let lsn =
            self.methods.append(txn, LogOp::ModifyRow, LogContext::Heap, undo, |out| record.encode(out))?;
        apply_patch(guard.page_mut(), slot, at, lengths, new, is_stub.1, Change::Forward(txn.id().0));
        guard.set_lsn(lsn);
        assert_eq!(
            slots::row(guard.page(), slot).map(<[u8]>::len),
            Some(row.len()),
            "the row is the new one"
        );
        if lengths.1 < lengths.0 && header::reserved_bytes(guard.page()) >= WORTH_BYTES {
            self.note_candidate(guard.id());
        }
        Ok(())
    }

    /// Deletes a row: it becomes a ghost. The row is locked exclusively; the caller holds IX on the table.
    /// Error `RowGone` when there is no such row.
    pub fn delete(&self, txn: &Transaction, rid: Rid) -> AccessResult<()> {
        self.claim(txn, rid)?;
        let target = {
            let guard = self.fix_row_page(rid.page, LatchMode::Shared)?;
            let row = slots::row(guard.page(), rid.slot).ok_or(AccessError::RowGone)?;
            let flags = slots::flags(guard.page(), rid.slot);
            if flags & (slots::GHOST | slots::FORWARDED) != 0 {
                return Err(AccessError::RowGone);
            }
            match flags & slots::FORWARD {
                0 => {
                    self.save_before_image(txn, rid, Some(row));
                    None
                }
                _ => Some(Rid::from_bytes(row).ok_or_else(|| bad_stub(rid))?),
            }
        };
        if let Some(target) = target {
            // No transaction moves a locked row: what was checked stays true.
            let guard = self.fix_row_page(target.page, LatchMode::Shared)?;
            require_moved_row(&guard, rid, target.slot)?;
            self.save_before_image(txn, rid, slots::row(guard.page(), target.slot));
        }
        self.ghost(txn, rid)?;
        self.state.uses.note(UnitUse::LeafGhost);
        target.map_or(Ok(()), |target| self.ghost(txn, target))
    }

    fn ghost(&self, txn: &Transaction, rid: Rid) -> AccessResult<()> {
        let mut guard = self.fix_row_page(rid.page, LatchMode::Exclusive)?;
        if slots::row(guard.page(), rid.slot).is_none() {
            return Err(AccessError::RowGone);
        }
        // Two stubs that forward to one row have separate locks.
        if slots::flags(guard.page(), rid.slot) & slots::GHOST != 0 {
            return Err(overwritten(rid));
        }
        let record = HeapRow { page: rid.page.pack(), slot: rid.slot, is_forwarded: false, row: &[] };
        let undo = UndoBytes::one(PLACE_BYTES + record.row.len());
        let lsn =
            self.methods.append(txn, LogOp::DeleteRows, LogContext::Heap, undo, |out| record.encode(out))?;
        apply_ghost(guard.page_mut(), rid.slot, txn.id().0);
        guard.set_lsn(lsn);
        assert!(header::last_remover(guard.page()) >= txn.id().0, "its ghost stays until it has ended");
        let is_ghost = slots::flags(guard.page(), rid.slot) & slots::GHOST != 0;
        assert!(is_ghost, "a deleted row stays as a ghost: its rollback finds it");
        if header::ghosts(guard.page()) == 1 {
            self.note_candidate(rid.page);
            self.methods.note_ghosts(rid.page, PageId::NULL);
        }
        Ok(())
    }

    /// Appends the row at an address to `out`, locking as a scan would; false when there is none (any more). A lock that `Hold`
    /// takes is kept: [`Heap::release`] releases it.
    pub fn fetch(
        &self,
        txn: &Transaction,
        rid: Rid,
        options: &ScanOptions,
        out: &mut Vec<u8>,
    ) -> AccessResult<bool> {
        let locking = options.locking(txn, &self.object_resource()).of_heap();
        self.state.uses.note(UnitUse::SingletonLookup);
        self.read(Reader::new(txn, locking, options), rid, options.wait, out)
    }

    /// Fetches with a reader whose locking is already decided.
    fn read(&self, reader: Reader<'_>, rid: Rid, wait: LockWait, out: &mut Vec<u8>) -> AccessResult<bool> {
        let lock = || self.lock_of(rid);
        let mut waited = None;
        let mut lost = 0;
        loop {
            let guard = self.methods.fix(rid.page, LatchMode::Shared)?;
            let page = guard.page();
            if header::page_type(page) != PageType::Heap || header::unit(page) != self.def.unit.0 {
                return Ok(false);
            }
            let view = PageView::new(page, reader);
            let seen = match view.see(rid.slot, lock) {
                Visibility::Moved => view.follow(rid.slot, lock),
                seen => seen,
            };
            match seen {
                Visibility::Bytes(row) => {
                    out.extend_from_slice(row);
                    return Ok(true);
                }
                Visibility::Version(row) => {
                    out.extend_from_slice(&row);
                    return Ok(true);
                }
                seen @ (Visibility::Lost | Visibility::Conflict) => return Err(seen.error()),
                Visibility::Gone => return Ok(false),
                Visibility::Moved => {
                    let target = stub_target(&guard, rid.slot)?;
                    drop(guard);
                    let found = self.read_moved(reader, rid, target, out);
                    self.state.uses.note(UnitUse::ForwardedFetch);
                    reader.has_followed(&self.row_resource(rid));
                    if found? {
                        return Ok(true);
                    }
                    lost += 1;
                    if lost == LOST_STUBS_MAX {
                        return Err(bad_stub(rid));
                    }
                    self.methods.space.pool().os().yield_point();
                }
                Visibility::Wait => {
                    drop(guard);
                    drop(waited.take());
                    waited = Some(self.waiting(|| reader.wait(self.row_resource(rid), wait))?);
                }
            }
        }
    }

    /// Appends a row that has moved to `target`; false when it has moved on, which only a reader without locks can see.
    fn read_moved(&self, reader: Reader<'_>, rid: Rid, target: Rid, out: &mut Vec<u8>) -> AccessResult<bool> {
        let start = out.len();
        let is_found = {
            let guard = self.methods.fix(target.page, LatchMode::Shared)?;
            let page = guard.page();
            let is_ours = header::page_type(page) == PageType::Heap && header::unit(page) == self.def.unit.0;
            let view = is_ours.then(|| PageView::new(page, reader));
            match view.as_ref().map_or(VersionLookup::Present, |view| view.lookup_of_moved(rid)) {
                VersionLookup::Present => {}
                VersionLookup::Was(row) => {
                    out.extend_from_slice(&row);
                    return Ok(true);
                }
                // Changed between the two reads: the caller reads the stub again.
                VersionLookup::Absent => return Ok(false),
                VersionLookup::Lost => return Err(AccessError::VersionLost),
            }
            let row = view.and_then(|view| view.moved_row(target.slot));
            out.extend_from_slice(row.unwrap_or_default());
            row.is_some()
        };
        if let Locking::Versioned { .. } = reader.locking {
            // If it moved on, the writer has left a version, which was found above.
            return Ok(is_found);
        }
        if reader.locking != Locking::None {
            // No transaction moves a locked row.
            return if is_found { Ok(true) } else { Err(bad_stub(rid)) };
        }
        let guard = self.methods.fix(rid.page, LatchMode::Shared)?;
        let stays = slots::flags(guard.page(), rid.slot) & slots::FORWARD != 0
            && slots::row(guard.page(), rid.slot).and_then(Rid::from_bytes) == Some(target);
        if !(is_found && stays) {
            out.truncate(start);
        }
        Ok(is_found && stays)
    }

    /// Releases the lock with which [`Heap::fetch`] or a cursor kept an unchanged row.
    pub fn release(&self, txn: &Transaction, rid: Rid, options: &ScanOptions) {
        if let Locking::Hold { mode, until_next: true } = options.locking(txn, &self.object_resource()) {
            txn.unlock(&self.row_resource(rid), mode);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placing {
    Row,
    Forwarded,
}

/// The address in a stub on a latched page.
fn stub_target(guard: &PageGuard, slot: u16) -> AccessResult<Rid> {
    let target = slots::row(guard.page(), slot).and_then(Rid::from_bytes);
    target.ok_or_else(|| bad_stub(Rid { page: guard.id(), slot }))
}

/// Does the stub at `rid` lead to a moved row that is there?
fn require_moved_row(guard: &PageGuard, rid: Rid, slot: u16) -> AccessResult<()> {
    let flags = slots::flags(guard.page(), slot);
    let is_target = flags & (slots::GHOST | slots::FORWARDED) == slots::FORWARDED;
    if is_target && slots::row(guard.page(), slot).is_some() { Ok(()) } else { Err(bad_stub(rid)) }
}

/// Another row is where a locked one was.
fn overwritten(rid: Rid) -> AccessError {
    AccessError::corrupt(rid.page, format!("slot {} is not as it was when its row was locked", rid.slot))
}

fn bad_stub(rid: Rid) -> AccessError {
    AccessError::corrupt(rid.page, format!("slot {} forwards to no row", rid.slot))
}
