//! Splits and root growth: from the leaf upward, each step one log record over all its pages.

use std::sync::atomic::Ordering::Relaxed;

use log::page_records::{MovedRow, PageFacts, RootGrow, TreeSplit};
use log::{LogContext, LogOp};
use pages::{LatchMode, PageBytes, PageGuard, PageId, PageType, header, slots};
use txn::Transaction;

use super::page::{CHILD_BYTES, child_at, child_slot, entry_bytes, key_at, search, separator};
use super::{BTree, LEVELS_MAX};
use crate::error::{AccessError, AccessResult};
use crate::map_page::{FreePage, set_owner};
use crate::row_change::context_of;
use crate::unit_uses::UnitUse;

/// Where a page is cut.
struct Cut {
    /// The first slot that moves to the right half.
    slot: u16,
    /// The least key of the right half.
    separator: Vec<u8>,
}

impl BTree {
    /// Splits the leaf of `key` unless `bytes` more fit on it meanwhile. The caller holds no latch of the tree; it found `full`, and reads
    /// the tree again afterwards.
    pub(super) fn split_for(
        &self,
        txn: &Transaction,
        full: PageId,
        key: &[u8],
        bytes: usize,
    ) -> AccessResult<()> {
        if self.split_below_parent(txn, full, key, bytes)? {
            return Ok(());
        }
        let mut path = vec![self.fix_page(self.def.root, LatchMode::Exclusive)?];
        loop {
            let last = &path[path.len() - 1];
            if header::level(last.page()) == 0 {
                break;
            }
            let held: Vec<PageId> = path.iter().map(PageGuard::id).collect();
            let slot = child_slot(last.page(), key, false);
            path.push(self.fix_child(last, slot, LatchMode::Exclusive, &held)?);
        }
        let leaf = path.len() - 1;
        if self.is_to_be_split(&path[leaf], full, key, bytes) {
            self.split(txn, &mut path, leaf, key, bytes)?;
        }
        Ok(())
    }

    /// The same where the leaf's parent is below the root and has room for one child more, as most have: only those two pages and the leaf's right
    /// neighbour are latched exclusively, and no thread waits for the root. False: that was not so, and nothing has been done.
    fn split_below_parent(
        &self,
        txn: &Transaction,
        full: PageId,
        key: &[u8],
        bytes: usize,
    ) -> AccessResult<bool> {
        let mut parent = self.fix_root(LatchMode::Shared)?;
        let mut level = header::level(parent.page());
        if level < 2 {
            return Ok(false);
        }
        while level > 1 {
            let slot = child_slot(parent.page(), key, false);
            let mode = if level == 2 { LatchMode::Exclusive } else { LatchMode::Shared };
            parent = self.fix_child(&parent, slot, mode, &[])?;
            level -= 1;
        }
        let slot = child_slot(parent.page(), key, false);
        let mut leaf = self.fix_child(&parent, slot, LatchMode::Exclusive, &[])?;
        if !self.is_to_be_split(&leaf, full, key, bytes) {
            return Ok(true);
        }
        let cut = cut_leaf(leaf.page(), key, bytes);
        assert!(parent.is_exclusive(), "the right half gets its place in the parent at once");
        if slots::room(parent.page()) < entry_bytes(&cut.separator, CHILD_BYTES) {
            return Ok(false);
        }
        assert!(parent.id() != self.def.root, "who splits below the root lets others pass it");
        os::sim::reach(|| "tree leaf split below its parent alone".to_owned());
        let held = [parent.id(), leaf.id()];
        self.cut_page(txn, &mut leaf, &mut parent, &cut, &held)?;
        Ok(true)
    }

    /// Is the leaf, which is latched exclusively now, still too full for `bytes` more?
    fn is_to_be_split(&self, leaf: &PageGuard, full: PageId, key: &[u8], bytes: usize) -> bool {
        assert!(leaf.is_exclusive(), "what is said of the leaf holds until it is split");
        if leaf.id() != full {
            // Another thread has split it meanwhile, or it wrongly claims to be the rightmost leaf: the caller must descend from the root, or it
            // would find the same full page forever.
            self.state.rightmost.store(0, Relaxed);
        }
        let page = leaf.page();
        let is_alone = header::slot_count(page) == 1 && search(page, key).is_ok();
        slots::room(page) < bytes && !is_alone && header::slot_count(page) > 0
    }

    /// Splits `path[at]` so that an entry of `bytes` with `key` may find room; `path` then leads to the half for `key`.
    /// All pages of the path are latched exclusively.
    fn split(
        &self,
        txn: &Transaction,
        path: &mut Vec<PageGuard>,
        mut at: usize,
        key: &[u8],
        bytes: usize,
    ) -> AccessResult<()> {
        if at == 0 {
            let child = self.grow_root(txn, &mut path[0])?;
            path.insert(1, child);
            at = 1;
        }
        assert!(path.iter().all(PageGuard::is_exclusive), "all pages of the path are latched");
        let goes_down =
            |pair: &[PageGuard]| header::level(pair[0].page()) == header::level(pair[1].page()) + 1;
        assert!(path.windows(2).all(goes_down), "each page is the parent of the next");
        let cut = match header::level(path[at].page()) {
            0 => cut_leaf(path[at].page(), key, bytes),
            _ => cut_interior(path[at].page(), key)?,
        };
        let wanted = entry_bytes(&cut.separator, CHILD_BYTES);
        while slots::room(path[at - 1].page()) < wanted {
            let depth = path.len();
            self.split(txn, path, at - 1, &cut.separator, wanted)?;
            // The root grew: the path has one more page.
            at += path.len() - depth;
        }
        assert!(
            at > 0 && slots::room(path[at - 1].page()) >= wanted,
            "the parent has room for one child more"
        );
        let held: Vec<PageId> = path.iter().map(PageGuard::id).collect();
        let (upper, lower) = path.split_at_mut(at);
        let right = self.cut_page(txn, &mut lower[0], &mut upper[at - 1], &cut, &held)?;
        if key >= cut.separator.as_slice() {
            path[at] = right;
        }
        Ok(())
    }

    /// Moves the rows behind the cut to a new page; `held` are latched.
    fn cut_page(
        &self,
        txn: &Transaction,
        left: &mut PageGuard,
        parent: &mut PageGuard,
        cut: &Cut,
        held: &[PageId],
    ) -> AccessResult<PageGuard> {
        let (left_id, level) = (left.id(), header::level(left.page()));
        let next_id = header::next(left.page());
        let mut next = self.fix_next(left, LatchMode::Exclusive, held)?;
        let parent_slot = child_slot(parent.page(), &cut.separator, false) + 1;
        if child_at(parent.page(), parent_slot - 1)? != left_id {
            return Err(AccessError::corrupt(
                left_id,
                format!("has keys that its parent {} has elsewhere", parent.id()),
            ));
        }
        let FreePage { mut map, guard: mut right } = self.methods.find_free_page(self.def.unit.0)?;
        let right_id = right.id();
        let before = *left.page();
        let split = TreeSplit {
            unit: self.def.unit.0,
            left: left_id.pack(),
            right: right_id.pack(),
            next: next_id.pack(),
            parent: parent.id().pack(),
            parent_slot,
            level,
            split_slot: cut.slot,
            separator: &cut.separator,
            facts: facts_of(&before),
            rows: rows_from(&before, cut.slot),
        };
        assert!(cut.slot <= header::slot_count(&before), "the cut is in the page");
        assert!(
            level == 0 || cut.slot > 0,
            "an interior page keeps a child; a leaf may wait for the row to come"
        );
        let context = if level == 0 { context_of(&before) } else { LogContext::IndexInterior };
        // In a database that is never redone the images need not be in the log.
        let logged = match self.methods.undo_only {
            true => TreeSplit { rows: Vec::new(), ..split.clone() },
            false => split.clone(),
        };
        let lsn =
            self.methods.append_allocation(txn, LogOp::DeleteSplit, context, |out| logged.encode(out))?;
        let map_id = map.id();
        set_owner(map.page_mut(), map_id, right_id, split.unit);
        map.set_lsn(lsn);
        apply_split_right(right.page_mut(), &split);
        right.set_lsn(lsn);
        apply_split_left(left.page_mut(), &split);
        left.set_lsn(lsn);
        if let Some(next) = &mut next {
            header::set_prev(next.page_mut(), right_id);
            next.set_lsn(lsn);
        }
        apply_split_parent(parent.page_mut(), &split);
        parent.set_lsn(lsn);
        assert_halves(&before, left, &right, cut);
        self.state.uses.note(UnitUse::NonleafInsert);
        self.note_page(level);
        if level == 0 && next_id.is_null() {
            self.state.rightmost.store(right_id.pack(), Relaxed);
        }
        Ok(right)
    }

    /// Moves all of the root's rows to a new child; returns the child.
    fn grow_root(&self, txn: &Transaction, root: &mut PageGuard) -> AccessResult<PageGuard> {
        assert!(root.id() == self.def.root, "only the root grows upward");
        assert!(root.is_exclusive(), "nobody is on the way down");
        if !(header::prev(root.page()).is_null() && header::next(root.page()).is_null()) {
            return Err(AccessError::corrupt(root.id(), "is a root and has neighbours"));
        }
        let FreePage { mut map, guard: mut child } = self.methods.find_free_page(self.def.unit.0)?;
        let child_id = child.id();
        let before = *root.page();
        let grow = RootGrow {
            unit: self.def.unit.0,
            root: root.id().pack(),
            child: child_id.pack(),
            level: header::level(&before),
            facts: facts_of(&before),
            rows: rows_from(&before, 0),
        };
        let logged = match self.methods.undo_only {
            true => RootGrow { rows: Vec::new(), ..grow.clone() },
            false => grow.clone(),
        };
        let context = LogContext::IndexInterior;
        let lsn =
            self.methods.append_allocation(txn, LogOp::RootChange, context, |out| logged.encode(out))?;
        let map_id = map.id();
        set_owner(map.page_mut(), map_id, child_id, grow.unit);
        map.set_lsn(lsn);
        apply_root_grow_child(child.page_mut(), &grow);
        child.set_lsn(lsn);
        apply_root_grow_root(root.page_mut(), &grow);
        root.set_lsn(lsn);
        assert_eq!(header::slot_count(child.page()), header::slot_count(&before), "the child has all rows");
        assert_eq!(child_at(root.page(), 0)?, child_id, "the root leads to its only child");
        self.state.rightmost.store(0, Relaxed);
        // The child is what the root was; the root is of one more level.
        self.note_page(header::level(child.page()));
        self.state.uses.note(UnitUse::NonleafInsert);
        Ok(child)
    }

    fn note_page(&self, level: u8) {
        assert!(level <= LEVELS_MAX, "the root was no higher");
        let is_leaf = level == 0;
        self.state.uses.note(if is_leaf { UnitUse::LeafAllocation } else { UnitUse::NonleafAllocation });
    }
}

/// After a split: all rows, each on its side of the separator, on two pages that follow each other.
fn assert_halves(before: &PageBytes, left: &PageGuard, right: &PageGuard, cut: &Cut) {
    let (kept, moved) = (header::slot_count(left.page()), header::slot_count(right.page()));
    assert_eq!(kept + moved, header::slot_count(before), "a split moves rows and loses none");
    // The first entry of an interior page covers everything below the second, whatever key it has.
    let has_last = kept > 1 || kept == 1 && header::level(before) == 0;
    let last = if has_last { key_at(left.page(), kept - 1) } else { &[][..] };
    assert!(last < cut.separator.as_slice(), "what stays lies below the separator");
    assert!(moved == 0 || key_at(right.page(), 0) >= cut.separator.as_slice(), "what moves does not");
    let is_chain = header::next(left.page()) == right.id() && header::prev(right.page()) == left.id();
    assert!(is_chain, "the halves follow each other");
    assert_eq!(header::level(left.page()), header::level(right.page()), "they are of one level");
    let owner = header::unit(before);
    assert!(header::unit(left.page()) == owner && header::unit(right.page()) == owner, "and of one tree");
}

/// Cuts a leaf in the middle, counting the new entry; behind its last key when keys rise at the end of the tree.
fn cut_leaf(page: &PageBytes, key: &[u8], bytes: usize) -> Cut {
    let count = header::slot_count(page);
    assert!(count > 0, "an empty leaf has room for any row");
    let (position, is_new) = match search(page, key) {
        Ok(slot) => (slot, false),
        Err(slot) => (slot, true),
    };
    if is_new && position == count && header::next(page).is_null() {
        return Cut { slot: count, separator: separator(key_at(page, count - 1), key).to_vec() };
    }
    // The entries with the new one (or the growth of an old one) in its place.
    let mut entries: Vec<(&[u8], usize)> = (0..count)
        .map(|slot| (key_at(page, slot), slots::row(page, slot).map_or(0, <[u8]>::len) + pages::SLOT_BYTES))
        .collect();
    if is_new {
        entries.insert(usize::from(position), (key, bytes));
    } else {
        entries[usize::from(position)].1 += bytes;
    }
    assert!(entries.len() > 1, "one row alone always has room to grow");
    let total: usize = entries.iter().map(|entry| entry.1).sum();
    let mut left = 0;
    let mut index = 0;
    while index + 1 < entries.len() && (index == 0 || left + entries[index].1 / 2 < total / 2) {
        left += entries[index].1;
        index += 1;
    }
    let separator = separator(entries[index - 1].0, entries[index].0).to_vec();
    let slot = if is_new && index > usize::from(position) { index - 1 } else { index };
    assert!(index > 0 && index < entries.len(), "both halves get a row");
    Cut { slot: slot as u16, separator }
}

/// Cuts an interior page at one of its own entries: neither half is empty at any time.
fn cut_interior(page: &PageBytes, key: &[u8]) -> AccessResult<Cut> {
    let count = header::slot_count(page);
    if count < 2 {
        // Keys are far shorter than a page.
        return Err(AccessError::corrupt(header::id(page), "is an interior page that one child fills"));
    }
    let position = child_slot(page, key, false);
    let slot = if position + 1 == count { count - 1 } else { count / 2 };
    assert!(slot > 0 && slot < count, "neither half is empty");
    Ok(Cut { slot, separator: key_at(page, slot).to_vec() })
}

fn facts_of(page: &PageBytes) -> PageFacts {
    PageFacts {
        flags: header::flags(page),
        reserved_bytes: header::reserved_bytes(page) as u16,
        last_remover: header::last_remover(page),
    }
}

fn rows_from(page: &PageBytes, slot: u16) -> Vec<MovedRow<'_>> {
    slots::occupied(page).skip(usize::from(slot)).map(|(_, row, flags)| (row, flags)).collect()
}

fn set_facts(page: &mut PageBytes, facts: &PageFacts) {
    header::set_flags(page, facts.flags);
    header::raise_last_remover(page, facts.last_remover);
    // Bytes are kept for rows; a page without rows keeps none.
    let reserved = if header::slot_count(page) == 0 { 0 } else { usize::from(facts.reserved_bytes) };
    header::set_reserved_bytes(page, reserved);
}

pub(super) fn put_rows(page: &mut PageBytes, rows: &[MovedRow<'_>]) {
    for (slot, (row, flags)) in rows.iter().enumerate() {
        slots::insert(page, slot as u16, &[row], *flags);
    }
    assert_eq!(
        usize::from(header::slot_count(page)),
        rows.len(),
        "all that moves is there, and nothing else"
    );
}

pub(crate) fn apply_split_right(page: &mut PageBytes, split: &TreeSplit<'_>) {
    header::format(page, PageId::unpack(split.right), PageType::BTree, split.level, split.unit);
    put_rows(page, &split.rows);
    set_facts(page, &split.facts);
    header::set_prev(page, PageId::unpack(split.left));
    header::set_next(page, PageId::unpack(split.next));
}

pub(crate) fn apply_split_left(page: &mut PageBytes, split: &TreeSplit<'_>) {
    slots::truncate(page, split.split_slot);
    header::set_next(page, PageId::unpack(split.right));
    if header::slot_count(page) == 0 {
        header::set_reserved_bytes(page, 0);
    }
}

pub(crate) fn apply_split_parent(page: &mut PageBytes, split: &TreeSplit<'_>) {
    let length = (split.separator.len() as u16).to_le_bytes();
    let child = PageId::unpack(split.right).to_bytes();
    slots::insert(page, split.parent_slot, &[&length, split.separator, &child], 0);
}

pub(crate) fn apply_root_grow_child(page: &mut PageBytes, grow: &RootGrow<'_>) {
    header::format(page, PageId::unpack(grow.child), PageType::BTree, grow.level, grow.unit);
    put_rows(page, &grow.rows);
    set_facts(page, &grow.facts);
}

pub(crate) fn apply_root_grow_root(page: &mut PageBytes, grow: &RootGrow<'_>) {
    header::format(page, PageId::unpack(grow.root), PageType::BTree, grow.level + 1, grow.unit);
    header::set_flags(page, grow.facts.flags);
    let child = PageId::unpack(grow.child).to_bytes();
    slots::insert(page, 0, &[&0u16.to_le_bytes(), &child], 0);
    assert_eq!(header::slot_count(page), 1, "a root that has grown has one child");
}
