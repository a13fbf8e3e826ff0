//! Ghost cleanup: removes committed deleted rows from their pages, and frees empty leaves.

use log::page_records::TreeUnlink;
use log::{LogContext, LogOp};
use pages::{LatchMode, PageBytes, PageGuard, PageId, PageType, header, slots};
use txn::TxnManager;

use super::BTree;
use super::page::{child_at, child_slot, key_at};
use crate::error::{AccessError, AccessResult};
use crate::map_page::{PENDING, map_of, owner, set_owner};
use crate::methods::AccessMethods;
use crate::row_change::removers_are_done;
use crate::unit_uses::UnitUse;

impl AccessMethods {
    /// One round of the ghost cleanup over at most `pages` pages that had ghosts when last seen; returns how many it
    /// read. A background thread (GHOST CLEANUP) calls it periodically.
    pub fn clean_ghosts(&self, manager: &TxnManager, pages: usize) -> AccessResult<usize> {
        let some: Vec<(PageId, PageId)> = {
            let mut waiting = self.ghost_pages.lock();
            let count = waiting.len().min(pages);
            waiting.drain(..count).collect()
        };
        for &(page, root) in &some {
            let mut guard = self.fix(page, LatchMode::Exclusive)?;
            let is_tree =
                header::page_type(guard.page()) == PageType::BTree && header::level(guard.page()) == 0;
            if !is_tree && header::page_type(guard.page()) != PageType::Heap {
                continue;
            }
            if !removers_are_done(guard.page(), manager.oldest_needed_id()) {
                drop(guard);
                self.note_ghosts(page, root);
                continue;
            }
            let unit = header::unit(guard.page());
            if !is_tree {
                if let Some(_map) = self.map_of_owned(page, unit)? {
                    self.expunge(manager, &mut guard, |_| true)?;
                }
                continue;
            }
            drop(guard);
            // The pages of a dropped tree may name pages that were removed with the end of their file.
            if owner(self.fix(map_of(page), LatchMode::Shared)?.page(), page) & !PENDING != unit {
                continue;
            }
            let tree = match self.tree_of_root(root) {
                Ok(tree) if tree.def.unit.0 == unit => tree,
                _ => continue,
            };
            match tree.clean_leaf(manager, page) {
                // Dropped since the check above: its pages have other owners.
                Err(AccessError::Corrupt { .. }) if !self.is_root_of(root, unit) => {}
                result => result?,
            }
        }
        Ok(some.len())
    }

    /// The map of a latched page that belongs to `unit`, latched too, so that no thread frees the page meanwhile; none when the page is free or has
    /// another owner: the page may have changed hands since it was noted for the cleanup. A log record about a free page would be newer than the
    /// map's newest record (alloc.rs, 8).
    fn map_of_owned(&self, page: PageId, unit: u32) -> AccessResult<Option<PageGuard>> {
        let map = self.fix(map_of(page), LatchMode::Shared)?;
        let is_owned = owner(map.page(), page) & !PENDING == unit;
        if !is_owned {
            os::sim::reach(|| "the ghost cleanup comes to a page that was given up".to_owned());
        }
        Ok(is_owned.then_some(map))
    }

    /// Forgets noted pages that are about to be removed and are free: a page may have become free before its turn. The caller
    /// blocks the cleanup until they are removed, so that the cleanup logs no change of them.
    pub fn forget_ghosts(&self, is_given_up: impl Fn(PageId) -> bool) {
        self.ghost_pages.lock().retain(|(page, root)| !is_given_up(*page) && !is_given_up(*root));
    }

    fn is_root_of(&self, root: PageId, unit: u32) -> bool {
        self.tree_of_root(root).is_ok_and(|tree| tree.def.unit.0 == unit)
    }
}

impl BTree {
    fn clean_leaf(&self, manager: &TxnManager, page: PageId) -> AccessResult<()> {
        let Ok(mut leaf) = self.fix_page(page, LatchMode::Exclusive) else { return Ok(()) };
        if header::level(leaf.page()) != 0 {
            return Ok(());
        }
        let Some(key) = (header::slot_count(leaf.page()) > 0).then(|| key_at(leaf.page(), 0).to_vec()) else {
            return Ok(());
        };
        let Some(map) = self.methods.map_of_owned(page, self.def.unit.0)? else { return Ok(()) };
        self.expunge_leaf(manager, &mut leaf)?;
        drop(map);
        let is_empty = header::slot_count(leaf.page()) == 0;
        drop(leaf);
        if is_empty { self.unlink_leaf(&key, page) } else { Ok(()) }
    }

    /// Removes an empty leaf from the tree. `key`: a key that would belong to it. Does nothing when the leaf is the only child
    /// of its parent, the last of the tree, or no longer empty, or when a transaction is dropping the tree.
    fn unlink_leaf(&self, key: &[u8], page: PageId) -> AccessResult<()> {
        let mut parent = self.fix_page(self.def.root, LatchMode::Exclusive)?;
        while header::level(parent.page()) > 1 {
            let slot = child_slot(parent.page(), key, false);
            parent = self.fix_child(&parent, slot, LatchMode::Exclusive, &[])?;
        }
        if header::level(parent.page()) == 0 || header::slot_count(parent.page()) < 2 {
            return Ok(());
        }
        let parent_slot = child_slot(parent.page(), key, false);
        if child_at(parent.page(), parent_slot)? != page {
            return Ok(());
        }
        if page == parent.id() {
            return Err(AccessError::corrupt(page, "leads back to itself"));
        }
        let left_id = header::prev(self.fix_page(page, LatchMode::Shared)?.page());
        let left = match left_id.is_null() {
            true => None,
            false if left_id == parent.id() || left_id == page => {
                return Err(AccessError::corrupt(page, format!("follows {left_id}, which is above it")));
            }
            false => Some(self.fix_page(left_id, LatchMode::Exclusive)?),
        };
        let leaf = self.fix_page(page, LatchMode::Exclusive)?;
        let right_id = header::next(leaf.page());
        let moved = header::prev(leaf.page()) != left_id
            || left.as_ref().is_some_and(|left| header::next(left.page()) != page);
        if moved || right_id.is_null() || header::slot_count(leaf.page()) > 0 {
            return Ok(());
        }
        let Some(right) = self.fix_next(&leaf, LatchMode::Exclusive, &[parent.id(), left_id])? else {
            return Ok(());
        };
        self.unlink(parent, parent_slot, left, leaf, right)
    }

    fn unlink(
        &self,
        mut parent: PageGuard,
        parent_slot: u16,
        mut left: Option<PageGuard>,
        mut leaf: PageGuard,
        mut right: PageGuard,
    ) -> AccessResult<()> {
        let page = leaf.id();
        assert!(
            header::slot_count(leaf.page()) == 0 && header::level(leaf.page()) == 0,
            "an empty leaf goes"
        );
        assert!(
            header::level(parent.page()) == 1 && header::slot_count(parent.page()) > 1,
            "its parent stays"
        );
        assert!(
            leaf.is_exclusive() && right.is_exclusive() && parent.is_exclusive(),
            "nobody is on the way there"
        );
        let left_id = left.as_ref().map_or(PageId::NULL, PageGuard::id);
        let unlink = TreeUnlink {
            page: page.pack(),
            left: left_id.pack(),
            right: right.id().pack(),
            parent: parent.id().pack(),
            parent_slot,
        };
        let map_id = map_of(page);
        let mut map = self.methods.fix(map_id, LatchMode::Exclusive)?;
        // Marked: a transaction is dropping the tree, and frees the page itself or keeps it.
        if owner(map.page(), page) != self.def.unit.0 {
            return Ok(());
        }
        self.methods.compare_with_pages(&map)?;
        os::sim::reach(|| "tree leaf unlinked".to_owned());
        let context = LogContext::UnlinkedReorgPage;
        let lsn =
            self.methods.append_structural(false, LogOp::ModifyHeader, context, |out| unlink.encode(out))?;
        if let Some(left) = &mut left {
            header::set_next(left.page_mut(), right.id());
            left.set_lsn(lsn);
        }
        header::set_prev(right.page_mut(), left_id);
        right.set_lsn(lsn);
        apply_unlink_parent(parent.page_mut(), parent_slot);
        parent.set_lsn(lsn);
        header::format(leaf.page_mut(), page, PageType::Empty, 0, 0);
        leaf.set_lsn(lsn);
        set_owner(map.page_mut(), map_id, page, 0);
        map.set_lsn(lsn);
        let around = left.as_ref().is_none_or(|left| header::next(left.page()) == right.id());
        assert!(around && header::prev(right.page()) == left_id, "its neighbours follow each other");
        self.state.uses.note(UnitUse::NonleafDelete);
        self.state.uses.note(UnitUse::LeafMerge);
        self.methods.allocator.lower_hint(page);
        Ok(())
    }
}

pub(crate) fn apply_unlink_parent(page: &mut PageBytes, slot: u16) {
    slots::remove(page, slot);
}
