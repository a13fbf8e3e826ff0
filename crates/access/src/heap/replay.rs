//! Heap page changes of log records, at first execution and at redo; removal of ghosts; and undo.

use log::page_records::{Expunge, HeapAppend, HeapRow, RowPatch};
use log::{LogContext, LogOp, Lsn};
use pages::{LatchMode, PageBytes, PageGuard, PageId, PageType, header, slots};
use txn::Transaction;

use crate::error::{AccessError, AccessResult};
use crate::methods::AccessMethods;
use crate::patch::{self, Change};
use crate::row_change::{context_of, removers_are_done};

impl AccessMethods {
    /// Removes the ghosts of a heap page or leaf that `may_go` allows, and frees the bytes reserved for undo, if all transactions that
    /// may roll back have ended. Returns whether anything changed.
    pub(crate) fn expunge(
        &self,
        manager: &txn::TxnManager,
        guard: &mut PageGuard,
        may_go: impl Fn(&[u8]) -> bool,
    ) -> AccessResult<bool> {
        let page = guard.page();
        let nothing = header::ghosts(page) == 0 && header::reserved_bytes(page) == 0;
        if nothing || !removers_are_done(page, manager.oldest_needed_id()) {
            return Ok(false);
        }
        let ghosts = slots::occupied(page)
            .filter(|(_, row, flags)| flags & slots::GHOST != 0 && may_go(row))
            .map(|(slot, _, _)| slot);
        let record = Expunge { page: guard.id().pack(), slots: ghosts.collect() };
        if record.slots.is_empty() && header::reserved_bytes(page) == 0 {
            return Ok(false);
        }
        assert!(guard.is_exclusive(), "nobody reads what is taken out");
        let before = header::ghosts(page);
        let context = context_of(page);
        let lsn = self.append_structural(false, LogOp::ExpungeRows, context, |out| record.encode(out))?;
        apply_expunge(guard.page_mut(), &record.slots);
        guard.set_lsn(lsn);
        let after = usize::from(header::ghosts(guard.page()));
        assert_eq!(after + record.slots.len(), usize::from(before), "only ghosts are taken out");
        assert_eq!(header::reserved_bytes(guard.page()), 0, "nothing is kept for who has ended");
        Ok(true)
    }
}

pub(crate) fn apply_expunge(page: &mut PageBytes, ghosts: &[u16]) {
    let is_tree = header::page_type(page) == PageType::BTree;
    let rows_of = |page: &PageBytes| usize::from(header::slot_count(page) - header::free_slots(page));
    let before = rows_of(page);
    for &slot in ghosts.iter().rev() {
        if is_tree {
            slots::remove(page, slot);
        } else {
            slots::free(page, slot);
        }
    }
    header::set_reserved_bytes(page, 0);
    assert_eq!(rows_of(page) + ghosts.len(), before, "the rows that are named go, and no other");
}

pub(crate) fn apply_append_new(page: &mut PageBytes, append: &HeapAppend) {
    header::format(page, PageId::unpack(append.page), PageType::Heap, 0, append.unit);
    header::set_prev(page, PageId::unpack(append.previous));
    assert!(header::next(page).is_null(), "a new page is the last");
}

pub(crate) fn apply_append_first(page: &mut PageBytes, append: &HeapAppend) {
    header::set_prev(page, PageId::unpack(append.page));
    if append.previous == append.first {
        header::set_next(page, PageId::unpack(append.page));
    }
}

pub(crate) fn apply_patch(
    page: &mut PageBytes,
    slot: u16,
    at: usize,
    lengths: (u16, u16),
    new: &[u8],
    is_stub: bool,
    change: Change,
) {
    patch::apply(page, slot, at, lengths, new, change);
    let flags = slots::flags(page, slot) & !slots::FORWARD;
    slots::set_flags(page, slot, if is_stub { flags | slots::FORWARD } else { flags });
}

/// Undo of a change to a heap row, with its compensation record.
impl AccessMethods {
    /// Latches the page of a heap row whose change is to be undone.
    pub(super) fn fix_for_undo(&self, page: u64, slot: u16) -> AccessResult<PageGuard> {
        let guard = self.fix(PageId::unpack(page), LatchMode::Exclusive)?;
        let is_there =
            header::page_type(guard.page()) == PageType::Heap && slots::row(guard.page(), slot).is_some();
        if is_there { Ok(guard) } else { Err(not_as_logged(&guard, slot)) }
    }

    pub(crate) fn undo_heap_insert(
        &self,
        txn: &Transaction,
        record: &HeapRow<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let mut guard = self.fix_for_undo(record.page, record.slot)?;
        let clr = HeapRow { row: &[], ..*record };
        let lsn = self.append_compensation(txn, LogOp::DeleteRows, LogContext::Heap, undo_next, |out| {
            clr.encode(out);
        })?;
        slots::free(guard.page_mut(), record.slot);
        guard.set_lsn(lsn);
        assert!(slots::row(guard.page(), record.slot).is_none(), "a row that was inserted is gone");
        Ok(())
    }

    pub(crate) fn undo_heap_delete(
        &self,
        txn: &Transaction,
        record: &HeapRow<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let mut guard = self.fix_for_undo(record.page, record.slot)?;
        let lsn = self.append_compensation(txn, LogOp::InsertRows, LogContext::Heap, undo_next, |out| {
            record.encode(out);
        })?;
        let flags = slots::flags(guard.page(), record.slot);
        slots::set_flags(guard.page_mut(), record.slot, flags & !slots::GHOST);
        guard.set_lsn(lsn);
        assert!(slots::row(guard.page(), record.slot).is_some(), "a row that was deleted is back");
        let is_ghost = slots::flags(guard.page(), record.slot) & slots::GHOST != 0;
        assert!(!is_ghost, "and it is no ghost any more");
        Ok(())
    }

    pub(crate) fn undo_heap_patch(
        &self,
        txn: &Transaction,
        record: &RowPatch<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let mut guard = self.fix_for_undo(record.page, record.slot)?;
        let is_moved = slots::flags(guard.page(), record.slot) & slots::FORWARDED != 0;
        if record.is_stub.0 && is_moved || !patch::can_undo(guard.page(), record, 0) {
            return Err(not_as_logged(&guard, record.slot));
        }
        let clr = RowPatch {
            is_stub: (record.is_stub.1, record.is_stub.0),
            lengths: (record.lengths.1, record.lengths.0),
            old: &[],
            new: if self.undo_only { &[] } else { record.old },
            ..*record
        };
        let lsn = self.append_compensation(txn, LogOp::ModifyRow, LogContext::Heap, undo_next, |out| {
            clr.encode(out);
        })?;
        let (slot, at) = (record.slot, usize::from(record.offset));
        let (page, stub) = (guard.page_mut(), record.is_stub.0);
        apply_patch(page, slot, at, clr.lengths, record.old, stub, Change::Compensation);
        guard.set_lsn(lsn);
        let row = slots::row(guard.page(), slot).and_then(|row| row.get(at..at + record.old.len()));
        assert_eq!(row, Some(record.old), "what was changed is as before");
        Ok(())
    }
}

pub(super) fn not_as_logged(guard: &PageGuard, slot: u16) -> AccessError {
    AccessError::corrupt(
        guard.id(),
        format!("slot {slot} is to be undone, but is not as the log record left it"),
    )
}
