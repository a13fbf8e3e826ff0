//! Redo and undo of each log record of this crate.
//!
//! A record may change several pages; each is brought up to date by its own LSN, so redo may be repeated any number of times
//! and may find any mixture of old and new pages.

use log::bulk_records::{PageRows, TreePage};
use log::page_records::{
    Expunge, HeapAppend, HeapRow, LobPage, MapBits, MapChange, RootGrow, RowPatch, TreeRow, TreeSplit,
    TreeUnlink, UnitCreate,
};
use log::{LogContext, LogOp, Lsn, RecordHeader, TxnId};
use os::sim::{Bug, is_planted};
use pages::{BODY_BYTES, LatchMode, PageBytes, PageGuard, PageId, PageType, SLOT_BYTES, header, slots};
use txn::{ResourceManager, Transaction, TxnError, TxnResult};

use crate::btree::page::KEY_LENGTH_BYTES;
use crate::btree::{
    apply_built_page, apply_ghosts, apply_insert, apply_inserts, apply_root_grow_child, apply_root_grow_root,
    apply_split_left, apply_split_parent, apply_split_right, apply_take_out, apply_unlink_parent,
};
use crate::error::{AccessError, AccessResult};
use crate::heap::{
    apply_append_first, apply_append_new, apply_expunge, apply_patch, apply_rows, apply_rows_brought_back,
    apply_rows_taken_out,
};
use crate::lob::{LOB_PIECE_BYTES, apply_lob};
use crate::map_page::{self, apply_bits, apply_create, check_map, map_of, set_owner};
use crate::methods::AccessMethods;
use crate::patch::{self, Change};
use crate::row_change::apply_ghost;

impl ResourceManager for AccessMethods {
    fn redo(&self, lsn: Lsn, header: &RecordHeader, payload: &[u8]) -> TxnResult<()> {
        reached("redo", header);
        self.redo_record(lsn, header, payload).map_err(|error| in_record(lsn, header, error))
    }

    fn undo(&self, txn: &Transaction, lsn: Lsn, header: &RecordHeader, payload: &[u8]) -> TxnResult<()> {
        assert!(!header.is_compensation(), "a compensation is never undone");
        reached("undo", header);
        self.undo_record(txn, lsn, header, payload).map_err(|error| in_record(lsn, header, error))
    }

    fn waits_for_end(&self, transaction: TxnId) -> bool {
        self.has_pending(transaction)
    }

    fn finished(&self, transaction: TxnId, committed: bool) {
        if let Err(error) = self.finish_pending(transaction, committed) {
            // The pages stay marked; the sweep of the next start frees them.
            os::report::warn(
                "access",
                &format!("pages dropped by transaction {transaction} not freed yet: {error}"),
            );
        }
    }
}

/// The simulation counts the kinds of records that its crashes lead to redo.
fn reached(pass: &str, header: &RecordHeader) {
    os::sim::reach(|| {
        let again = if header.is_compensation() { " (compensation)" } else { "" };
        format!("{pass} {} {}{again}", header.op.name(), header.context.name())
    });
}

/// Errors of recovery must name the record.
fn in_record(lsn: Lsn, header: &RecordHeader, error: AccessError) -> TxnError {
    match TxnError::from(error) {
        TxnError::Corrupt { what } => {
            TxnError::Corrupt { what: format!("log record {lsn} ({}): {what}", header.op.name()) }
        }
        other => other,
    }
}

fn undecodable(error: log::codec::DecodeError) -> AccessError {
    AccessError::corrupt(PageId::NULL, error.0)
}

impl AccessMethods {
    /// Brings one page up to date, if it does not contain record `lsn` yet.
    fn redo_page(
        &self,
        page: PageId,
        lsn: Lsn,
        change: impl FnOnce(&mut PageBytes) -> AccessResult<()>,
    ) -> AccessResult<()> {
        let guard = self.fix(page, LatchMode::Exclusive)?;
        redo_guard(guard, lsn, |bytes| {
            // Redo of a record that does not format its page expects a page that another record has formatted.
            if header::version(bytes) == 0 {
                os::sim::reach(|| "redo finds a page empty that its record changes".to_owned());
                return Err(AccessError::corrupt(page, "is empty, and a log record changes it"));
            }
            change(bytes)
        })
    }

    /// Like the function above, for a page that must be of this unit, type and level.
    fn redo_page_of(
        &self,
        page: PageId,
        lsn: Lsn,
        (page_type, level, unit): (PageType, u8, u32),
        change: impl FnOnce(&mut PageBytes) -> AccessResult<()>,
    ) -> AccessResult<()> {
        if is_planted(Bug::EmptyPageIsNew) {
            self.format_if_empty(page, (page_type, level, unit))?;
        }
        self.redo_page(page, lsn, |bytes| {
            let found = (header::page_type(bytes), header::level(bytes), header::unit(bytes));
            assert!(found.0 != PageType::Empty || bytes[0] != 0, "an empty page was refused before");
            if found != (page_type, level, unit) {
                let what = format!(
                    "is {} of level {} of unit {}, the log record changes {} of level {level} of unit {unit}",
                    found.0.name(),
                    found.1,
                    found.2,
                    page_type.name()
                );
                return Err(AccessError::corrupt(page, what));
            }
            change(bytes)
        })
    }

    /// The effect of [`Bug::EmptyPageIsNew`].
    fn format_if_empty(
        &self,
        page: PageId,
        (page_type, level, unit): (PageType, u8, u32),
    ) -> AccessResult<()> {
        let mut guard = self.fix(page, LatchMode::Exclusive)?;
        if header::version(guard.page()) == 0 {
            header::format(guard.page_mut(), page, page_type, level, unit);
        }
        Ok(())
    }

    /// For a page that the record formats: its previous content does not matter.
    fn redo_format(&self, page: PageId, lsn: Lsn, change: impl FnOnce(&mut PageBytes)) -> AccessResult<()> {
        let guard = self.space.fix_for_format_redo(page)?;
        redo_guard(guard, lsn, |page| {
            change(page);
            Ok(())
        })
    }

    fn redo_owner(&self, page: PageId, owner: u32, lsn: Lsn) -> AccessResult<()> {
        let map_id = map_of(page);
        let guard = self.space.fix_for_map_redo(map_id)?;
        check_map(map_id, guard.page())?;
        self.note_redone(&guard, page, owner, lsn)?;
        redo_guard(guard, lsn, |map| {
            let before = map_page::owner(map, page);
            if map_page::is_system_page(page)
                || before != 0 && owner != 0 && before & !map_page::PENDING != owner
            {
                let what = format!("a log record gives a page of unit {before:#x} to unit {owner}");
                return Err(AccessError::corrupt(page, what));
            }
            set_owner(map, map_id, page, owner);
            Ok(())
        })
    }

    fn redo_record(&self, lsn: Lsn, header: &RecordHeader, payload: &[u8]) -> AccessResult<()> {
        use LogOp as Lop;
        match (header.op, header.context) {
            (Lop::InsertRows | Lop::DeleteRows, LogContext::Heap) => {
                let row = HeapRow::decode(payload).map_err(undecodable)?;
                self.redo_heap_row(lsn, header, &row)
            }
            (Lop::InsertRows | Lop::DeleteRows, LogContext::MarkAsGhost | LogContext::BulkOperationPage) => {
                let rows = PageRows::decode(payload).map_err(undecodable)?;
                self.redo_rows(lsn, header, &rows)
            }
            (Lop::InsertRows | Lop::DeleteRows, _) => {
                let row = TreeRow::decode(payload).map_err(undecodable)?;
                self.redo_tree_row(lsn, header, &row)
            }
            (Lop::ModifyRow, _) => {
                self.redo_patch(lsn, header, &RowPatch::decode(payload).map_err(undecodable)?)
            }
            (Lop::ExpungeRows, _) => self.redo_expunge(lsn, &Expunge::decode(payload).map_err(undecodable)?),
            (Lop::CreateAllocchain, _) if payload.is_empty() => Ok(()),
            (Lop::CreateAllocchain, _) => {
                let create = UnitCreate::decode(payload).map_err(undecodable)?;
                let page = PageId::unpack(create.page);
                self.redo_owner(page, create.unit, lsn)?;
                self.redo_format(page, lsn, |page| apply_create(page, &create))
            }
            (Lop::FormatPage, LogContext::Heap) => {
                self.redo_append(lsn, &HeapAppend::decode(payload).map_err(undecodable)?)
            }
            (Lop::FormatPage, LogContext::Clustered | LogContext::IndexLeaf | LogContext::IndexInterior) => {
                self.redo_built_page(lsn, &TreePage::decode(payload).map_err(undecodable)?)
            }
            (Lop::FormatPage, _) => {
                let lob = LobPage::decode(payload).map_err(undecodable)?;
                let page = PageId::unpack(lob.page);
                if lob.data.len() > LOB_PIECE_BYTES {
                    return Err(AccessError::corrupt(page, "a piece of a large value that no page holds"));
                }
                self.redo_owner(page, lob.unit, lsn)?;
                self.redo_format(page, lsn, |page| apply_lob(page, &lob))
            }
            (Lop::DeleteSplit, _) => self.redo_split(lsn, &TreeSplit::decode(payload).map_err(undecodable)?),
            (Lop::RootChange, _) => {
                let grow = RootGrow::decode(payload).map_err(undecodable)?;
                let child = PageId::unpack(grow.child);
                self.redo_owner(child, grow.unit, lsn)?;
                self.redo_format(child, lsn, |page| apply_root_grow_child(page, &grow))?;
                self.redo_format(PageId::unpack(grow.root), lsn, |page| apply_root_grow_root(page, &grow))
            }
            (Lop::ModifyHeader, _) => {
                self.redo_unlink(lsn, &TreeUnlink::decode(payload).map_err(undecodable)?)
            }
            (Lop::SetBits, _) if payload.is_empty() => Ok(()),
            (Lop::SetBits, _) => self.redo_bits(lsn, &MapBits::decode(payload).map_err(undecodable)?),
            (op, _) => {
                Err(AccessError::corrupt(PageId::NULL, format!("{} is no record of pages", op.name())))
            }
        }
    }

    fn redo_bits(&self, lsn: Lsn, bits: &MapBits) -> AccessResult<()> {
        let mut guard = self.space.fix_for_map_redo(PageId::unpack(bits.map))?;
        check_map(guard.id(), guard.page())?;
        if map_of(guard.id()) == guard.id() {
            self.note_record(&guard, lsn, map_page::pages_of_runs(guard.id(), &bits.runs))?;
        }
        if guard.lsn() >= lsn {
            return Ok(());
        }
        if header::version(guard.page()) == 0 && !is_planted(Bug::DamagedMapIsFree) {
            return Err(AccessError::corrupt(
                guard.id(),
                "is an empty allocation map, and a log record frees pages of it",
            ));
        }
        apply_bits(&mut guard, bits, lsn)?;
        assert_eq!(guard.lsn(), lsn, "a record is redone once");
        Ok(())
    }

    fn redo_expunge(&self, lsn: Lsn, expunge: &Expunge) -> AccessResult<()> {
        self.redo_page(PageId::unpack(expunge.page), lsn, |page| {
            require_rows_type(page)?;
            require_slots(page, &expunge.slots)?;
            if !expunge.slots.is_sorted_by(|one, next| one < next) {
                return Err(mismatch(page, 0));
            }
            apply_expunge(page, &expunge.slots);
            Ok(())
        })
    }

    fn redo_heap_row(&self, lsn: Lsn, header: &RecordHeader, row: &HeapRow<'_>) -> AccessResult<()> {
        let is_clr = header.is_compensation();
        if is_planted(Bug::EmptyPageIsNew) {
            let page = PageId::unpack(row.page);
            let unit = map_page::owner(self.fix(map_of(page), LatchMode::Shared)?.page(), page);
            self.format_if_empty(page, (PageType::Heap, 0, unit & !map_page::PENDING))?;
        }
        self.redo_page(PageId::unpack(row.page), lsn, |page| {
            if header::page_type(page) != PageType::Heap {
                return Err(mismatch(page, row.slot));
            }
            match (header.op, is_clr) {
                (LogOp::InsertRows, false) => {
                    let new =
                        (usize::from(row.slot) + 1).saturating_sub(usize::from(header::slot_count(page)));
                    let bytes = row.row.len() + SLOT_BYTES * new;
                    if slots::row(page, row.slot).is_some()
                        || row.row.is_empty()
                        || bytes > header::free_bytes(page)
                    {
                        return Err(mismatch(page, row.slot));
                    }
                    let flags = if row.is_forwarded { slots::FORWARDED } else { 0 };
                    slots::put(page, row.slot, &[row.row], flags);
                }
                (LogOp::InsertRows, true) => {
                    require_slots(page, &[row.slot])?;
                    let flags = slots::flags(page, row.slot);
                    slots::set_flags(page, row.slot, flags & !slots::GHOST);
                }
                (_, false) => {
                    require_slots(page, &[row.slot])?;
                    apply_ghost(page, row.slot, header.txn.0);
                }
                (_, true) => {
                    require_slots(page, &[row.slot])?;
                    slots::free(page, row.slot);
                }
            }
            let is_live =
                slots::row(page, row.slot).is_some() && slots::flags(page, row.slot) & slots::GHOST == 0;
            assert_eq!(is_live, header.op == LogOp::InsertRows, "the row is as the record leaves it");
            Ok(())
        })
    }

    fn redo_tree_row(&self, lsn: Lsn, header: &RecordHeader, row: &TreeRow<'_>) -> AccessResult<()> {
        let is_clr = header.is_compensation();
        let change = if is_clr { Change::Compensation } else { Change::Forward(header.txn.0) };
        self.redo_page(PageId::unpack(row.page), lsn, |page| {
            if header::page_type(page) != PageType::BTree {
                return Err(mismatch(page, row.slot));
            }
            let is_new = header.op == LogOp::InsertRows && !row.over_ghost;
            if is_new {
                let bytes = crate::btree::page::entry_bytes(row.key, row.value.len());
                if row.slot > header::slot_count(page) || bytes > header::free_bytes(page) {
                    return Err(mismatch(page, row.slot));
                }
            } else if crate::btree::page::key_at(page, row.slot) != row.key
                || slots::row(page, row.slot).is_none()
            {
                return Err(mismatch(page, row.slot));
            }
            let is_over = header.op == LogOp::InsertRows && row.over_ghost;
            if is_over
                && row.value.len()
                    > slots::row(page, row.slot).map_or(0, <[u8]>::len) - KEY_LENGTH_BYTES - row.key.len()
                        + header::free_bytes(page)
            {
                return Err(mismatch(page, row.slot));
            }
            match (header.op, is_clr) {
                (LogOp::InsertRows, _) => {
                    apply_insert(page, row.slot, row.over_ghost, row.key, row.value, change);
                }
                (_, false) => apply_ghost(page, row.slot, header.txn.0),
                (_, true) => apply_take_out(page, row.slot, row.over_ghost),
            }
            let has_row =
                || crate::btree::page::key_at(page, row.slot) == row.key && slots::flags(page, row.slot) == 0;
            assert!(header.op != LogOp::InsertRows || has_row(), "what was inserted is there");
            Ok(())
        })
    }

    /// Inserts or deletes of several rows of a page.
    fn redo_rows(&self, lsn: Lsn, header: &RecordHeader, record: &PageRows<'_>) -> AccessResult<()> {
        let is_of_tree = record.root != 0;
        self.redo_page(PageId::unpack(record.page), lsn, |page| {
            let page_type = if is_of_tree { PageType::BTree } else { PageType::Heap };
            let is_clr = header.is_compensation();
            if header::page_type(page) != page_type || is_of_tree && is_clr {
                return Err(mismatch(page, 0));
            }
            match (header.op, header.context) {
                (LogOp::InsertRows, LogContext::BulkOperationPage) if is_of_tree => {
                    require_room(page, &record.rows)?;
                    apply_inserts(page, &record.rows);
                }
                (LogOp::InsertRows, LogContext::BulkOperationPage) if !is_clr => {
                    require_room(page, &record.rows)?;
                    if let Some((slot, _)) =
                        record.rows.iter().find(|(slot, _)| slots::row(page, *slot).is_some())
                    {
                        return Err(mismatch(page, *slot));
                    }
                    apply_rows(page, &record.rows);
                }
                (LogOp::DeleteRows, LogContext::BulkOperationPage) if is_clr => {
                    require_rows(page, record)?;
                    apply_rows_taken_out(page, record);
                }
                (LogOp::DeleteRows, LogContext::MarkAsGhost) if !is_clr => {
                    require_rows(page, record)?;
                    apply_ghosts(page, record.rows.iter().map(|(slot, _)| *slot), header.txn.0);
                }
                (LogOp::InsertRows, LogContext::MarkAsGhost) if is_clr => {
                    require_rows(page, record)?;
                    apply_rows_brought_back(page, record);
                }
                _ => return Err(mismatch(page, 0)),
            }
            let is_there = |(slot, row): &(u16, &[u8])| slots::row(page, *slot) == Some(*row);
            let are_new = header.context == LogContext::BulkOperationPage && header.op == LogOp::InsertRows;
            debug_assert!(!are_new || record.rows.iter().all(is_there), "what was inserted is there");
            Ok(())
        })
    }

    fn redo_built_page(&self, lsn: Lsn, built: &TreePage<'_>) -> AccessResult<()> {
        let (page, previous) = (PageId::unpack(built.page), PageId::unpack(built.previous));
        let bytes: usize = built.rows.iter().map(|(row, _)| row.len() + SLOT_BYTES).sum();
        if bytes > BODY_BYTES || built.rows.iter().any(|(row, _)| row.len() < KEY_LENGTH_BYTES) {
            return Err(AccessError::corrupt(page, "a log record builds a page of rows that no page holds"));
        }
        if !built.is_root {
            self.redo_owner(page, built.unit, lsn)?;
        }
        self.redo_format(page, lsn, |page| apply_built_page(page, built))?;
        if previous.is_null() || is_planted(Bug::BuiltPageNotChained) {
            return Ok(());
        }
        self.redo_page_of(previous, lsn, (PageType::BTree, built.level, built.unit), |left| {
            header::set_next(left, page);
            Ok(())
        })
    }

    fn redo_patch(&self, lsn: Lsn, header: &RecordHeader, record: &RowPatch<'_>) -> AccessResult<()> {
        let change =
            if header.is_compensation() { Change::Compensation } else { Change::Forward(header.txn.0) };
        self.redo_page(PageId::unpack(record.page), lsn, |page| {
            let is_other_key =
                record.tree.is_some_and(|(_, key)| crate::btree::page::key_at(page, record.slot) != key);
            let page_type = if record.tree.is_some() { PageType::BTree } else { PageType::Heap };
            if header::page_type(page) != page_type || is_other_key {
                return Err(mismatch(page, record.slot));
            }
            let base = record.tree.map_or(0, |(_, key)| KEY_LENGTH_BYTES + key.len());
            let at = base + usize::from(record.offset);
            let (before, after) = (usize::from(record.lengths.0), usize::from(record.lengths.1));
            let row = slots::row(page, record.slot).map_or(0, <[u8]>::len);
            let fits = at + before <= row && after <= before + header::free_bytes(page);
            let is_moved = slots::flags(page, record.slot) & slots::FORWARDED != 0;
            if !fits || record.new.len() != after || is_moved && record.is_stub.1 {
                return Err(mismatch(page, record.slot));
            }
            match record.tree {
                Some(_) => patch::apply(page, record.slot, at, record.lengths, record.new, change),
                None => {
                    let stub = record.is_stub.1;
                    apply_patch(page, record.slot, at, record.lengths, record.new, stub, change);
                }
            }
            Ok(())
        })
    }

    fn redo_append(&self, lsn: Lsn, append: &HeapAppend) -> AccessResult<()> {
        let (page, previous, first) =
            (PageId::unpack(append.page), PageId::unpack(append.previous), PageId::unpack(append.first));
        self.redo_owner(page, append.unit, lsn)?;
        self.redo_format(page, lsn, |page| apply_append_new(page, append))?;
        if previous != first {
            self.redo_page_of(previous, lsn, (PageType::Heap, 0, append.unit), |previous| {
                header::set_next(previous, page);
                Ok(())
            })?;
        }
        self.redo_page_of(first, lsn, (PageType::Heap, 0, append.unit), |page| {
            apply_append_first(page, append);
            Ok(())
        })
    }

    fn redo_split(&self, lsn: Lsn, split: &TreeSplit<'_>) -> AccessResult<()> {
        assert!(!is_planted(Bug::RedoOfSplitPanics), "a planted panic");
        let (right, of_level) = (PageId::unpack(split.right), (PageType::BTree, split.level, split.unit));
        let of_parent = (PageType::BTree, split.level.saturating_add(1), split.unit);
        self.redo_owner(right, split.unit, lsn)?;
        self.redo_format(right, lsn, |page| apply_split_right(page, split))?;
        self.redo_page_of(PageId::unpack(split.left), lsn, of_level, |page| {
            if split.split_slot > header::slot_count(page) {
                return Err(mismatch(page, split.split_slot));
            }
            apply_split_left(page, split);
            Ok(())
        })?;
        if split.next != 0 {
            self.redo_page_of(PageId::unpack(split.next), lsn, of_level, |page| {
                header::set_prev(page, right);
                Ok(())
            })?;
        }
        self.redo_page_of(PageId::unpack(split.parent), lsn, of_parent, |page| {
            let bytes = crate::btree::page::entry_bytes(split.separator, crate::btree::page::CHILD_BYTES);
            if split.parent_slot > header::slot_count(page) || bytes > header::free_bytes(page) {
                return Err(mismatch(page, split.parent_slot));
            }
            apply_split_parent(page, split);
            Ok(())
        })
    }

    fn redo_unlink(&self, lsn: Lsn, unlink: &TreeUnlink) -> AccessResult<()> {
        let (page, left, right) =
            (PageId::unpack(unlink.page), PageId::unpack(unlink.left), PageId::unpack(unlink.right));
        self.redo_owner(page, 0, lsn)?;
        self.redo_format(page, lsn, |bytes| header::format(bytes, page, PageType::Empty, 0, 0))?;
        if !left.is_null() {
            self.redo_page(left, lsn, |page| {
                require_tree(page)?;
                header::set_next(page, right);
                Ok(())
            })?;
        }
        self.redo_page(right, lsn, |page| {
            require_tree(page)?;
            header::set_prev(page, left);
            Ok(())
        })?;
        self.redo_page(PageId::unpack(unlink.parent), lsn, |page| {
            require_slots(page, &[unlink.parent_slot])?;
            if header::page_type(page) != PageType::BTree {
                return Err(mismatch(page, unlink.parent_slot));
            }
            apply_unlink_parent(page, unlink.parent_slot);
            Ok(())
        })
    }

    fn undo_record(
        &self,
        txn: &Transaction,
        lsn: Lsn,
        header: &RecordHeader,
        payload: &[u8],
    ) -> AccessResult<()> {
        use LogOp as Lop;
        let next = header.prev;
        match (header.op, header.context) {
            (Lop::InsertRows, LogContext::Heap) => {
                self.undo_heap_insert(txn, &HeapRow::decode(payload).map_err(undecodable)?, next)
            }
            (Lop::DeleteRows, LogContext::Heap) => {
                self.undo_heap_delete(txn, &HeapRow::decode(payload).map_err(undecodable)?, next)
            }
            (Lop::InsertRows, LogContext::BulkOperationPage) => {
                let rows = PageRows::decode(payload).map_err(undecodable)?;
                match rows.root {
                    0 => self.undo_heap_inserts(txn, &rows, next),
                    _ => self.undo_tree_inserts(txn, &rows, (lsn, next)),
                }
            }
            (Lop::InsertRows, _) => {
                self.undo_tree_insert(txn, &TreeRow::decode(payload).map_err(undecodable)?, next)
            }
            (Lop::DeleteRows, LogContext::MarkAsGhost) => {
                let rows = PageRows::decode(payload).map_err(undecodable)?;
                match rows.root {
                    0 => self.undo_heap_deletes(txn, &rows, next),
                    _ => self.undo_tree_deletes(txn, &rows, (lsn, next)),
                }
            }
            (Lop::DeleteRows, _) => {
                self.undo_tree_delete(txn, &TreeRow::decode(payload).map_err(undecodable)?, next)
            }
            (Lop::ModifyRow, _) => {
                let patch = RowPatch::decode(payload).map_err(undecodable)?;
                match patch.tree {
                    Some((root, key)) => self.undo_tree_patch(txn, &patch, root, key, next),
                    None => self.undo_heap_patch(txn, &patch, next),
                }
            }
            (Lop::CreateAllocchain, _) => {
                let create = UnitCreate::decode(payload).map_err(undecodable)?;
                self.free_unit_now(create.unit)?;
                // Freeing is idempotent and belongs to no transaction; this only logs that it is done.
                self.append_compensation(txn, Lop::CreateAllocchain, LogContext::Null, next, |_| {})?;
                Ok(())
            }
            (Lop::FormatPage, LogContext::TextMix) => {
                let lob = LobPage::decode(payload).map_err(undecodable)?;
                self.undo_lob_page(&lob)?;
                self.append_compensation(txn, Lop::SetBits, LogContext::Null, next, |_| {})?;
                Ok(())
            }
            (Lop::SetBits, _) => {
                let bits = MapBits::decode(payload).map_err(undecodable)?;
                if bits.change != MapChange::Pending {
                    return Err(AccessError::corrupt(
                        PageId::unpack(bits.map),
                        "no pending free of a transaction",
                    ));
                }
                self.keep_pending(txn, &bits, next)
            }
            (op, _) => Err(AccessError::corrupt(PageId::NULL, format!("{} cannot be undone", op.name()))),
        }
    }
}

fn redo_guard(
    mut guard: PageGuard,
    lsn: Lsn,
    change: impl FnOnce(&mut PageBytes) -> AccessResult<()>,
) -> AccessResult<()> {
    if guard.lsn() >= lsn {
        return Ok(());
    }
    change(guard.page_mut())?;
    guard.set_lsn(lsn);
    assert!(guard.lsn() == lsn && guard.is_exclusive(), "a record is redone once");
    Ok(())
}

fn require_tree(page: &PageBytes) -> AccessResult<()> {
    if header::page_type(page) == PageType::BTree { Ok(()) } else { Err(mismatch(page, 0)) }
}

fn require_rows_type(page: &PageBytes) -> AccessResult<()> {
    let has_rows = matches!(header::page_type(page), PageType::BTree | PageType::Heap);
    if has_rows { Ok(()) } else { Err(mismatch(page, 0)) }
}

fn require_slots(page: &PageBytes, wanted: &[u16]) -> AccessResult<()> {
    match wanted.iter().find(|slot| slots::row(page, **slot).is_none()) {
        None => Ok(()),
        Some(slot) => Err(mismatch(page, *slot)),
    }
}

/// Is there room for the rows, and do their slots leave no gap behind the last one?
fn require_room(page: &PageBytes, rows: &[(u16, &[u8])]) -> AccessResult<()> {
    let count = usize::from(header::slot_count(page));
    let bytes: usize = rows.iter().map(|(_, row)| row.len() + SLOT_BYTES).sum();
    if bytes > header::free_bytes(page) {
        return Err(mismatch(page, 0));
    }
    match rows.iter().enumerate().find(|(at, (slot, row))| usize::from(*slot) > count + at || row.is_empty())
    {
        None => Ok(()),
        Some((_, (slot, _))) => Err(mismatch(page, *slot)),
    }
}

/// Are the rows there, with the logged bytes where the record has them?
fn require_rows(page: &PageBytes, record: &PageRows<'_>) -> AccessResult<()> {
    let is_other = |(slot, row): &&(u16, &[u8])| match slots::row(page, *slot) {
        Some(found) => record.root != 0 && found != *row,
        None => true,
    };
    match record.rows.iter().find(is_other) {
        None => Ok(()),
        Some((slot, _)) => Err(mismatch(page, *slot)),
    }
}

/// The page is not in the state that the log record expects (3456).
fn mismatch(page: &PageBytes, slot: u16) -> AccessError {
    let what = format!("slot {slot} is not as the log record found it (page LSN {})", header::lsn(page));
    AccessError::corrupt(header::id(page), what)
}
