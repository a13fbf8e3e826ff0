//! Undo of changes to tree rows: logical, by key from the root, because the row may have moved to another page since.

use log::bulk_records::PageRows;
use log::page_records::{RowPatch, TreeRow};
use log::{LogOp, Lsn};
use pages::{PageBytes, PageGuard, PageId, header, slots};
use txn::Transaction;

use super::BTree;
use super::change::apply_insert;
use super::page::{KEY_LENGTH_BYTES, search, split_row};
use crate::error::{AccessError, AccessResult};
use crate::methods::AccessMethods;
use crate::patch::{self, Change};
use crate::row_change::context_of;

impl AccessMethods {
    pub(crate) fn undo_tree_insert(
        &self,
        txn: &Transaction,
        record: &TreeRow<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let tree = self.tree_of_root(PageId::unpack(record.root))?;
        let (mut leaf, slot) = tree.find_for_undo(record.key)?;
        let clr = TreeRow { page: leaf.id().pack(), slot, value: &[], ..*record };
        let context = context_of(leaf.page());
        let lsn =
            self.append_compensation(txn, LogOp::DeleteRows, context, undo_next, |out| clr.encode(out))?;
        let before = header::slot_count(leaf.page());
        apply_take_out(leaf.page_mut(), slot, record.over_ghost);
        leaf.set_lsn(lsn);
        let after = header::slot_count(leaf.page()) + u16::from(!record.over_ghost);
        assert_eq!(before, after, "a row that was inserted is gone, or the ghost that it was");
        if header::slot_count(leaf.page()) == 0 {
            self.note_ghosts(leaf.id(), tree.def.root);
        }
        Ok(())
    }

    /// Restores rows that were deleted together.
    pub(crate) fn undo_tree_deletes(
        &self,
        txn: &Transaction,
        record: &PageRows<'_>,
        ends: (Lsn, Lsn),
    ) -> AccessResult<()> {
        let is_back = |tree: &BTree, key: &[u8]| {
            let (leaf, slot) = tree.find_for_undo(key)?;
            Ok(slots::flags(leaf.page(), slot) & slots::GHOST == 0)
        };
        let undo = |row: &TreeRow<'_>, next| self.undo_tree_delete(txn, row, next);
        self.undo_rows_of_tree(record, ends, (is_back, "undo resumes among rows deleted together"), undo)
    }

    /// Removes rows that were inserted together.
    pub(crate) fn undo_tree_inserts(
        &self,
        txn: &Transaction,
        record: &PageRows<'_>,
        ends: (Lsn, Lsn),
    ) -> AccessResult<()> {
        let is_gone = |tree: &BTree, key: &[u8]| Ok(!tree.has_slot_of(key)?);
        let undo = |row: &TreeRow<'_>, next| self.undo_tree_insert(txn, row, next);
        self.undo_rows_of_tree(record, ends, (is_gone, "undo resumes among rows inserted together"), undo)
    }

    /// Undoes a change of several rows, the last row first: each compensation record except that of the first row names this record as the next to
    /// undo. After a crash in between, the last rows are undone already, and undo skips them.
    fn undo_rows_of_tree(
        &self,
        record: &PageRows<'_>,
        (lsn, undo_next): (Lsn, Lsn),
        (is_undone, what): (impl Fn(&BTree, &[u8]) -> AccessResult<bool>, &'static str),
        undo: impl Fn(&TreeRow<'_>, Lsn) -> AccessResult<()>,
    ) -> AccessResult<()> {
        assert_ne!(record.root, 0, "rows of a tree");
        let tree = self.tree_of_root(PageId::unpack(record.root))?;
        let mut were_undone = true;
        for (number, (slot, row)) in record.rows.iter().enumerate().rev() {
            let (key, value) = split_row(row);
            if were_undone && number > 0 {
                were_undone = is_undone(&tree, key)?;
                if were_undone {
                    os::sim::reach(|| what.to_owned());
                    continue;
                }
            }
            let row =
                TreeRow { page: record.page, slot: *slot, over_ghost: false, root: record.root, key, value };
            undo(&row, if number == 0 { undo_next } else { lsn })?;
        }
        Ok(())
    }

    pub(crate) fn undo_tree_delete(
        &self,
        txn: &Transaction,
        record: &TreeRow<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let tree = self.tree_of_root(PageId::unpack(record.root))?;
        let (mut leaf, slot) = loop {
            let (leaf, slot) = tree.find_for_undo(record.key)?;
            let before = slots::row(leaf.page(), slot).map_or(0, <[u8]>::len);
            let after = KEY_LENGTH_BYTES + record.key.len() + record.value.len();
            if after <= before + header::free_bytes(leaf.page()) {
                break (leaf, slot);
            }
            let full = leaf.id();
            drop(leaf);
            tree.split_for(txn, full, record.key, after - before)?;
        };
        let value = if self.undo_only { &[] } else { record.value };
        let clr = TreeRow { page: leaf.id().pack(), slot, over_ghost: true, value, ..*record };
        let context = context_of(leaf.page());
        let lsn =
            self.append_compensation(txn, LogOp::InsertRows, context, undo_next, |out| clr.encode(out))?;
        apply_insert(leaf.page_mut(), slot, true, record.key, record.value, Change::Compensation);
        leaf.set_lsn(lsn);
        assert_eq!(slots::flags(leaf.page(), slot), 0, "a row that was deleted is back");
        Ok(())
    }

    pub(crate) fn undo_tree_patch(
        &self,
        txn: &Transaction,
        record: &RowPatch<'_>,
        root: u64,
        key: &[u8],
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let tree = self.tree_of_root(PageId::unpack(root))?;
        let growth = usize::from(record.lengths.0).saturating_sub(usize::from(record.lengths.1));
        let (mut leaf, slot) = loop {
            let (leaf, slot) = tree.find_for_undo(key)?;
            if growth <= header::free_bytes(leaf.page()) {
                break (leaf, slot);
            }
            let full = leaf.id();
            drop(leaf);
            tree.split_for(txn, full, key, growth)?;
        };
        let here = RowPatch { page: leaf.id().pack(), slot, ..*record };
        if !patch::can_undo(leaf.page(), &here, KEY_LENGTH_BYTES + key.len()) {
            return Err(AccessError::corrupt(
                leaf.id(),
                format!("slot {slot} is not as the log record left it"),
            ));
        }
        let clr = RowPatch {
            lengths: (record.lengths.1, record.lengths.0),
            old: &[],
            new: if self.undo_only { &[] } else { record.old },
            ..here
        };
        let context = context_of(leaf.page());
        let lsn =
            self.append_compensation(txn, LogOp::ModifyRow, context, undo_next, |out| clr.encode(out))?;
        let at = KEY_LENGTH_BYTES + key.len() + usize::from(record.offset);
        patch::apply(leaf.page_mut(), slot, at, clr.lengths, record.old, Change::Compensation);
        leaf.set_lsn(lsn);
        let row = slots::row(leaf.page(), slot).and_then(|row| row.get(at..at + record.old.len()));
        assert_eq!(row, Some(record.old), "what was changed is as before");
        Ok(())
    }
}

impl BTree {
    /// Is the key there, as a row or a ghost?
    fn has_slot_of(&self, key: &[u8]) -> AccessResult<bool> {
        let leaf = self.leaf_for(key)?;
        Ok(search(leaf.page(), key).is_ok())
    }

    /// The leaf and slot of a key that must be there, as a row or a ghost.
    fn find_for_undo(&self, key: &[u8]) -> AccessResult<(PageGuard, u16)> {
        let leaf = self.leaf_for(key)?;
        match search(leaf.page(), key) {
            Ok(slot) => {
                assert!(leaf.is_exclusive(), "what is undone is latched to be changed");
                Ok((leaf, slot))
            }
            Err(_) => Err(AccessError::corrupt(leaf.id(), "a row to be undone is not in its tree")),
        }
    }
}

/// Removes an inserted row: it is gone, or again the ghost that it was before.
pub(crate) fn apply_take_out(page: &mut PageBytes, slot: u16, to_ghost: bool) {
    if to_ghost {
        slots::set_flags(page, slot, slots::GHOST);
        return;
    }
    slots::remove(page, slot);
    if header::slot_count(page) == 0 {
        header::set_reserved_bytes(page, 0);
    }
}
