//! Delete of many keys in key order: one descent, one latch and one log record for all keys on a leaf.

use log::bulk_records::PageRows;
use log::{LogContext, LogOp};
use os::sim::{Bug, is_planted};
use pages::{PageBytes, PageGuard, header, slots};
use txn::{LockMode, Transaction, UndoBytes};

use super::BTree;
use super::change::{TREE_ROW_BYTES, live_slot};
use super::page::{key_at, split_row};
use crate::error::{AccessError, AccessResult};
use crate::row_change::apply_ghost;
use crate::unit_uses::UnitUse;

/// The next key is searched in this many following slots before the leaf is left for a new descent.
const SLOTS_LOOKED_AT: u16 = 32;
/// After so many row locks, the delete checks whether escalation has locked the whole table.
const LOCKS_BETWEEN_LOOKS: usize = 256;

impl BTree {
    /// Deletes keys, which ascend: they become ghosts. All are locked exclusively first; the caller holds IX on the table. `deleted` counts
    /// the deleted keys, also after an error: error `RowGone` is about the next key, which is not there; a duplicate key is
    /// damage.
    pub fn delete_sorted<'k>(
        &self,
        txn: &Transaction,
        keys: &[impl AsRef<[u8]> + 'k],
        deleted: &mut usize,
    ) -> AccessResult<()> {
        *deleted = 0;
        // The caller reads each row once, and keys end with the row's identifier: only damaged pages give a key twice.
        if !keys.is_sorted_by(|one, next| one.as_ref() < next.as_ref()) {
            return Err(AccessError::corrupt(
                self.def.root,
                "is the root of a tree in which two rows have one key",
            ));
        }
        self.claim_all(txn, keys)?;
        let mut found: Vec<u16> = Vec::new();
        while let Some(first) = keys.get(*deleted) {
            let mut leaf = self.leaf_for(first.as_ref())?;
            found.clear();
            found.push(live_slot(&leaf, first.as_ref())?);
            for key in &keys[*deleted + 1..] {
                let begin = found.last().expect("the first is there") + 1;
                let Some(slot) = slot_from(leaf.page(), begin, key.as_ref()) else { break };
                found.push(slot);
            }
            self.ghost_all(txn, &mut leaf, &found)?;
            *deleted += found.len();
        }
        assert_eq!(*deleted, keys.len(), "all of them are gone");
        Ok(())
    }

    fn claim_all<'k>(&self, txn: &Transaction, keys: &[impl AsRef<[u8]> + 'k]) -> AccessResult<()> {
        for some in keys.chunks(LOCKS_BETWEEN_LOOKS) {
            let is_covered = txn.has_table_lock(&self.object_resource(), LockMode::X);
            for key in some {
                match is_covered {
                    true => self.check_conflict(txn, key.as_ref())?,
                    false => self.claim(txn, key.as_ref())?,
                }
            }
        }
        Ok(())
    }

    fn ghost_all(&self, txn: &Transaction, leaf: &mut PageGuard, found: &[u16]) -> AccessResult<()> {
        assert!(header::level(leaf.page()) == 0 && leaf.is_exclusive(), "rows lie in leaves");
        let mut rows: Vec<(u16, &[u8])> = Vec::with_capacity(found.len());
        let mut undo = UndoBytes { record_count: 0, payload_bytes: 0 };
        for &slot in found {
            let row = slots::row(leaf.page(), slot).ok_or(AccessError::RowGone)?;
            let (key, value) = split_row(row);
            if rows.is_empty() || !is_planted(Bug::ManyLeaveOneVersion) {
                self.save_before_image(txn, key, Some(row));
            }
            let image = if self.methods.undo_only { 0 } else { value.len() };
            if !rows.is_empty() && is_planted(Bug::ManyReservedAsOne) {
                rows.push((slot, row));
                continue;
            }
            undo.record_count += 1;
            undo.payload_bytes += (TREE_ROW_BYTES + key.len() + image) as u64;
            rows.push((slot, row));
        }
        let record = PageRows { page: leaf.id().pack(), root: self.def.root.pack(), rows };
        let context = LogContext::MarkAsGhost;
        let lsn = self.methods.append(txn, LogOp::DeleteRows, context, undo, |out| record.encode(out))?;
        let before = header::ghosts(leaf.page());
        apply_ghosts(leaf.page_mut(), found.iter().copied(), txn.id().0);
        leaf.set_lsn(lsn);
        assert!(header::last_remover(leaf.page()) >= txn.id().0, "their ghosts stay until it has ended");
        let after = usize::from(header::ghosts(leaf.page()));
        self.state.uses.add(UnitUse::LeafGhost, found.len());
        assert_eq!(after, usize::from(before) + found.len(), "deleted rows stay as ghosts");
        if before == 0 {
            self.methods.note_ghosts(leaf.id(), self.def.root);
        }
        Ok(())
    }
}

/// Rows become ghosts.
pub(crate) fn apply_ghosts(page: &mut PageBytes, slots: impl Iterator<Item = u16>, txn: u64) {
    slots.for_each(|slot| apply_ghost(page, slot, txn));
}

/// The slot of a live row with this key, if it lies on the page not far behind `begin`, where it would be the first.
fn slot_from(page: &PageBytes, begin: u16, key: &[u8]) -> Option<u16> {
    let end = header::slot_count(page).min(begin.saturating_add(SLOTS_LOOKED_AT));
    let slot = (begin..end).find(|slot| key_at(page, *slot) >= key)?;
    let is_live = key_at(page, slot) == key && slots::flags(page, slot) & slots::GHOST == 0;
    is_live.then_some(slot)
}
