//! Insert, update and delete of one key.

use std::sync::atomic::Ordering::Relaxed;

use log::LogOp;
use log::page_records::{RowPatch, TreeRow};
use os::sim::{Bug, is_planted};
use pages::{BODY_BYTES, LatchMode, PageBytes, PageGuard, PageId, header, slots};
use smallvec::{SmallVec, smallvec};
use txn::{LockMode, LockOwner, LockWait, Resource, Transaction, UndoBytes};

use super::page::{KEY_LENGTH_BYTES, entry_bytes, key_at, search, split_row};
use super::{BTree, Inserted};
use crate::error::{AccessError, AccessResult};
use crate::key::KEY_BYTES_MAX;
use crate::options::Waited;
use crate::patch::{self, Change};
use crate::row_change::{PATCH_BYTES, PLACE_BYTES, apply_ghost, context_of};
use crate::unit_uses::UnitUse;

/// Bytes of a record about a row of a tree besides key and images, at most: where it is, the root, the length of the key.
pub(super) const TREE_ROW_BYTES: usize = PLACE_BYTES + 8 + 3;

impl BTree {
    /// Inserts a key that is not there; it is locked exclusively. The caller holds IX on the table. Waits for any transaction with
    /// an uncommitted change of the key. Respects the range locks of other transactions (RangeI-N on the next key); a key in a range that the
    /// transaction itself has locked is locked with the gap below it (RangeX-X).
    pub fn insert(&self, txn: &Transaction, key: &[u8], value: &[u8]) -> AccessResult<Inserted> {
        if key.len() > KEY_BYTES_MAX {
            return Err(AccessError::KeyTooLarge { bytes: key.len() });
        }
        if key.is_empty() {
            // Key bytes may come from pages, too, so a bad one is damage.
            return Err(AccessError::corrupt(self.def.root, "is to get a row without a key"));
        }
        let bytes = entry_bytes(key, value.len());
        if bytes > BODY_BYTES {
            return Err(AccessError::RowTooLarge { bytes, limit: BODY_BYTES });
        }
        // Counted when the row is inserted, or the key turns out to exist; and before each wait.
        let resource = self.key_resource(key);
        let mut waited = None;
        loop {
            let mut leaf = self.leaf_for(key)?;
            match search(leaf.page(), key) {
                Ok(slot) if slots::flags(leaf.page(), slot) & slots::GHOST == 0 => {
                    if txn.could_lock(&resource, LockMode::S) {
                        self.state.uses.note(UnitUse::RowLock);
                        return Ok(Inserted::Duplicate);
                    }
                    drop(leaf);
                    drop(waited.take());
                    let wait = || Waited::wait(txn, resource, LockMode::S, LockWait::Session);
                    waited = Some(self.asking(wait)?);
                }
                Ok(slot) => {
                    if !txn.try_lock(resource, LockMode::X) {
                        drop(leaf);
                        drop(waited.take());
                        self.asking(|| txn.lock(resource, LockMode::X, LockWait::Session))?;
                        continue;
                    }
                    self.check_conflict(txn, key)?;
                    let before = slots::row(leaf.page(), slot).map_or(0, <[u8]>::len);
                    let after = KEY_LENGTH_BYTES + key.len() + value.len();
                    if after > before && after - before > room_to_grow(leaf.page()) {
                        self.make_room(txn, leaf, key, after - before)?;
                        continue;
                    }
                    return self.write_row(txn, &mut leaf, slot, true, key, value);
                }
                Err(slot) => {
                    let mode = match self.mode_of_new_key(txn, &leaf, slot)? {
                        Ok(mode) => mode,
                        Err(next) => {
                            drop(leaf);
                            drop(waited.take());
                            let wait = || Waited::wait(txn, next, LockMode::RangeIN, LockWait::Session);
                            waited = Some(self.waiting(wait)?);
                            continue;
                        }
                    };
                    if !txn.try_lock(resource, mode) {
                        drop(leaf);
                        drop(waited.take());
                        self.asking(|| txn.lock(resource, mode, LockWait::Session))?;
                        continue;
                    }
                    if bytes > slots::room(leaf.page()) {
                        self.make_room(txn, leaf, key, bytes)?;
                        continue;
                    }
                    return self.write_row(txn, &mut leaf, slot, false, key, value);
                }
            }
        }
    }

    /// The lock mode of a key inserted at a place in a latched leaf: with the gap below it if the transaction has locked the gap that it splits.
    /// `Err`: another transaction has locked that gap, by the lock of this key.
    fn mode_of_new_key(
        &self,
        txn: &Transaction,
        leaf: &PageGuard,
        slot: u16,
    ) -> AccessResult<Result<LockMode, Resource>> {
        assert!(leaf.is_exclusive(), "nobody else puts a key there before this one comes");
        if !self.state.has_ranges.load(Relaxed) {
            return Ok(Ok(LockMode::X));
        }
        let next = self.next_key_resource(leaf, slot)?;
        if !txn.could_lock(&next, LockMode::RangeIN) {
            os::sim::reach(|| "a new key waits for whoever keeps its gap".to_owned());
            return Ok(Err(next));
        }
        let is_its_own = txn.held_mode(&next).is_some_and(LockMode::guards_gap);
        if is_its_own {
            os::sim::reach(|| "a new key splits a gap that its transaction keeps".to_owned());
        }
        let is_its_own = is_its_own && !is_planted(Bug::OwnInsertOpensGap);
        Ok(Ok(if is_its_own { LockMode::RangeXX } else { LockMode::X }))
    }

    fn write_row(
        &self,
        txn: &Transaction,
        leaf: &mut PageGuard,
        slot: u16,
        over_ghost: bool,
        key: &[u8],
        value: &[u8],
    ) -> AccessResult<Inserted> {
        let count = header::slot_count(leaf.page());
        assert!(header::level(leaf.page()) == 0 && slot <= count, "rows lie in leaves");
        assert!(!key.is_empty(), "a row has a key");
        let begin = if over_ghost { slot + 1 } else { slot };
        assert!(slot == 0 || key_at(leaf.page(), slot - 1) < key, "keys ascend");
        assert!(begin >= count || key < key_at(leaf.page(), begin), "keys ascend");
        let image = if self.methods.undo_only { &[] } else { value };
        let page = leaf.id().pack();
        self.save_before_image(txn, key, None);
        let record = TreeRow { page, slot, over_ghost, root: self.def.root.pack(), key, value: image };
        let context = context_of(leaf.page());
        let undo = UndoBytes::one(TREE_ROW_BYTES + key.len());
        let lsn = self.methods.append(txn, LogOp::InsertRows, context, undo, |out| record.encode(out))?;
        apply_insert(leaf.page_mut(), slot, over_ghost, key, value, Change::Forward(txn.id().0));
        leaf.set_lsn(lsn);
        self.state.uses.note_locked_insert();
        assert_eq!(slots::flags(leaf.page(), slot), 0, "what was inserted is there");
        Ok(Inserted::Done)
    }

    /// Keeps the row's image before its first change, for snapshots; see [`Transaction::save_before_image`].
    #[inline]
    pub(super) fn save_before_image(&self, txn: &Transaction, key: &[u8], before: Option<&[u8]>) {
        if self.leaves_versions {
            txn.save_before_image(self.def.unit.0, key, before);
        }
    }

    /// Error 3960 for a locked key that another transaction has changed since the snapshot of this one.
    pub(super) fn check_conflict(&self, txn: &Transaction, key: &[u8]) -> AccessResult<()> {
        match self.leaves_versions && txn.conflicts_over(self.def.unit.0, key) {
            true => Err(AccessError::UpdateConflict),
            false => Ok(()),
        }
    }

    /// Locks a key before its change, and checks for a write conflict ([`AccessError::UpdateConflict`]).
    pub fn claim(&self, txn: &Transaction, key: &[u8]) -> AccessResult<()> {
        let resource = self.lock_of(key);
        if !txn.try_lock(resource, LockMode::X) {
            self.waiting(|| txn.lock(resource, LockMode::X, LockWait::Session))?;
        }
        let is_locked = || {
            txn.held_mode(&resource).is_some_and(|held| held.covers(LockMode::X))
                || txn.has_table_lock(&self.object_resource(), LockMode::X)
        };
        debug_assert!(is_locked(), "a row is changed under its lock");
        self.check_conflict(txn, key)
    }

    /// The lock resource of the key that follows slot `slot` of a latched leaf, ghosts included.
    pub(super) fn next_key_resource(&self, leaf: &PageGuard, slot: u16) -> AccessResult<Resource> {
        self.with_next_key(leaf, slot, |next| next)
    }

    /// Passes that resource to `ask` while every page between the slot and the key is latched: no insert can come between.
    pub(super) fn with_next_key<T>(
        &self,
        leaf: &PageGuard,
        slot: u16,
        ask: impl FnOnce(Resource) -> T,
    ) -> AccessResult<T> {
        assert!(
            header::level(leaf.page()) == 0 && slot <= header::slot_count(leaf.page()),
            "a place in a leaf"
        );
        if slot < header::slot_count(leaf.page()) {
            return Ok(ask(self.key_resource(key_at(leaf.page(), slot))));
        }
        // There may be empty leaves between.
        let mut passed: SmallVec<[PageGuard; 1]> = SmallVec::new();
        let mut ids: SmallVec<[PageId; 4]> = smallvec![leaf.id()];
        while let Some(next) = self.fix_next(passed.last().unwrap_or(leaf), LatchMode::Shared, &ids)? {
            if header::slot_count(next.page()) > 0 {
                return Ok(ask(self.key_resource(key_at(next.page(), 0))));
            }
            ids.push(next.id());
            passed.push(next);
        }
        Ok(ask(self.end_resource()))
    }

    /// Removes ghosts from the leaf, or splits it; afterwards the caller reads the page again.
    pub(super) fn make_room(
        &self,
        txn: &Transaction,
        mut leaf: PageGuard,
        key: &[u8],
        bytes: usize,
    ) -> AccessResult<()> {
        assert!(leaf.is_exclusive() && bytes > 0, "room is made in a leaf at hand");
        if self.expunge_leaf(txn.manager(), &mut leaf)? && slots::room(leaf.page()) >= bytes {
            return Ok(());
        }
        let full = leaf.id();
        drop(leaf);
        self.split_for(txn, full, key, bytes)
    }

    /// Removes the ghosts of a leaf that no rollback may restore and no range lock names.
    pub(super) fn expunge_leaf(&self, manager: &txn::TxnManager, leaf: &mut PageGuard) -> AccessResult<bool> {
        assert!(leaf.is_exclusive() && header::level(leaf.page()) == 0, "ghosts are taken out of leaves");
        let has_ranges = self.state.has_ranges.load(Relaxed);
        let (locks, space) = (manager.lock_manager(), &self.methods.cleanup_locks);
        self.methods.expunge(manager, leaf, |row| {
            if !has_ranges {
                return true;
            }
            let resource = self.key_resource(split_row(row).0);
            let granted = locks.try_acquire(space, LockOwner::Session, resource, LockMode::X).is_some();
            if granted {
                locks.release(space, LockOwner::Session, &resource);
            }
            granted
        })
    }

    /// Replaces the value of a key; the key is locked exclusively. The caller holds IX on the table. Error `RowGone` when
    /// the key is not there.
    pub fn update(&self, txn: &Transaction, key: &[u8], value: &[u8]) -> AccessResult<()> {
        let bytes = entry_bytes(key, value.len());
        if bytes > BODY_BYTES {
            return Err(AccessError::RowTooLarge { bytes, limit: BODY_BYTES });
        }
        self.claim(txn, key)?;
        loop {
            let mut leaf = self.leaf_for(key)?;
            let slot = live_slot(&leaf, key)?;
            let row = slots::row(leaf.page(), slot).ok_or(AccessError::RowGone)?;
            let (at, old, new) = patch::difference(split_row(row).1, value);
            if old.is_empty() && new.is_empty() {
                return Ok(());
            }
            if new.len() > old.len() && new.len() - old.len() > room_to_grow(leaf.page()) {
                let growth = new.len() - old.len();
                self.make_room(txn, leaf, key, growth)?;
                continue;
            }
            self.save_before_image(txn, key, Some(row));
            let lengths = (old.len() as u16, new.len() as u16);
            let record = RowPatch {
                page: leaf.id().pack(),
                slot,
                tree: Some((self.def.root.pack(), key)),
                is_stub: (false, false),
                offset: at as u16,
                lengths,
                old,
                new: if self.methods.undo_only { &[] } else { new },
            };
            let context = context_of(leaf.page());
            let image = if self.methods.undo_only { 0 } else { old.len() };
            let undo = UndoBytes::one(TREE_ROW_BYTES + key.len() + PATCH_BYTES + image);
            let lsn = self.methods.append(txn, LogOp::ModifyRow, context, undo, |out| record.encode(out))?;
            let at = KEY_LENGTH_BYTES + key.len() + at;
            patch::apply(leaf.page_mut(), slot, at, lengths, new, Change::Forward(txn.id().0));
            leaf.set_lsn(lsn);
            self.state.uses.note(UnitUse::LeafUpdate);
            assert!(key_at(leaf.page(), slot) == key, "an update leaves the key");
            return Ok(());
        }
    }

    /// Deletes a key: it becomes a ghost. The key is locked exclusively; the caller holds IX on the table. Error `RowGone`
    /// when the key is not there.
    pub fn delete(&self, txn: &Transaction, key: &[u8]) -> AccessResult<()> {
        self.claim(txn, key)?;
        let mut leaf = self.leaf_for(key)?;
        let slot = live_slot(&leaf, key)?;
        let row = slots::row(leaf.page(), slot).ok_or(AccessError::RowGone)?;
        self.save_before_image(txn, key, Some(row));
        let record = TreeRow {
            page: leaf.id().pack(),
            slot,
            over_ghost: false,
            root: self.def.root.pack(),
            key,
            value: split_row(row).1,
        };
        let context = context_of(leaf.page());
        let image = if self.methods.undo_only { 0 } else { record.value.len() };
        let undo = UndoBytes::one(TREE_ROW_BYTES + key.len() + image);
        let lsn = self.methods.append(txn, LogOp::DeleteRows, context, undo, |out| record.encode(out))?;
        apply_ghost(leaf.page_mut(), slot, txn.id().0);
        leaf.set_lsn(lsn);
        assert!(header::last_remover(leaf.page()) >= txn.id().0, "its ghost stays until it has ended");
        self.state.uses.note(UnitUse::LeafGhost);
        assert!(slots::flags(leaf.page(), slot) & slots::GHOST != 0, "a deleted row stays as a ghost");
        if header::ghosts(leaf.page()) == 1 {
            self.methods.note_ghosts(leaf.id(), self.def.root);
        }
        Ok(())
    }
}

/// Bytes by which a row may grow. On a page with one row, the bytes reserved for undo can only belong to that row.
fn room_to_grow(page: &PageBytes) -> usize {
    if header::slot_count(page) == 1 { header::free_bytes(page) } else { slots::room(page) }
}

/// The slot of a live row with this key.
pub(super) fn live_slot(leaf: &PageGuard, key: &[u8]) -> AccessResult<u16> {
    match search(leaf.page(), key) {
        Ok(slot) if slots::flags(leaf.page(), slot) & slots::GHOST == 0 => Ok(slot),
        _ => Err(AccessError::RowGone),
    }
}

/// Puts a row into a leaf, over a ghost of the same key or between its neighbours.
pub(crate) fn apply_insert(
    page: &mut PageBytes,
    slot: u16,
    over_ghost: bool,
    key: &[u8],
    value: &[u8],
    change: Change,
) {
    assert!(key.len() <= usize::from(u16::MAX), "the length of a key has two bytes");
    let length = (key.len() as u16).to_le_bytes();
    if !over_ghost {
        slots::insert(page, slot, &[&length, key, value], 0);
        return;
    }
    let old = slots::row(page, slot).map_or(0, <[u8]>::len);
    assert!(old >= KEY_LENGTH_BYTES + key.len(), "a ghost has its key");
    let at = KEY_LENGTH_BYTES + key.len();
    let lengths = ((old - at) as u16, value.len() as u16);
    patch::apply(page, slot, at, lengths, value, change);
    slots::set_flags(page, slot, 0);
}
