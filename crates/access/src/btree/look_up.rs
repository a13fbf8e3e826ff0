//! Look-up of many keys in ascending order: one descent for all keys under a page above the leaves, and one latch for all keys on a leaf.

use std::iter::Peekable;

use pages::{LatchMode, PageBytes, PageGuard, PageId, PrefetchHint, header};
use txn::Transaction;

use super::BTree;
use super::page::{
    GUESS_SLOTS_MIN, child_at, child_slot, guess, key_at, search, search_within, split_row, stub_in_tree,
};
use crate::error::{AccessResult, stop_if_asked};
use crate::options::ScanOptions;
use crate::unit_uses::UnitUse;
use crate::visibility::{PageView, Reader, Visibility};

/// So many keys are looked up while the page above the leaves is latched; then it is released, because another thread may wait to split it.
const KEYS_MAX: usize = 64;

/// A latched page one level above the leaves.
struct Parent {
    guard: PageGuard,
    /// Is it the last page of its level?
    is_rightmost: bool,
    /// Keys that may still be looked up before the page is released.
    left: usize,
    /// The slot of the current leaf.
    slot: u16,
}

/// The leaves of so many following keys are prefetched.
const AHEAD: usize = 6;

/// The keys to prefetch.
struct Ahead<I: Iterator> {
    keys: Peekable<I>,
    /// The number of the next of them.
    at: usize,
    /// The leaf that was prefetched last.
    leaf: Option<(PageId, PrefetchHint)>,
}

impl Parent {
    /// The slot of the key's leaf below this page; `None` if the leaf may lie below another page.
    fn leaf_of(&self, key: &[u8]) -> Option<u16> {
        let slot = child_slot(self.guard.page(), key, false);
        // Keys behind the last separator of the page may lie under the next page.
        let is_below = self.is_rightmost || slot + 1 < header::slot_count(self.guard.page());
        is_below.then_some(slot)
    }

    /// The bounds of the current leaf's keys, as far as this page has them.
    fn bounds(&self) -> (&[u8], &[u8]) {
        assert!(
            self.slot < header::slot_count(self.guard.page()).max(1),
            "the leaf hangs on one of the page's slots"
        );
        (key_at(self.guard.page(), self.slot), key_at(self.guard.page(), self.slot + 1))
    }
}

impl BTree {
    /// Looks up ascending keys, for a reader that keeps no lock ([`ScanOptions::keeps_nothing`]), and passes each visible value to `found` with
    /// the number of its key, under the page's latch.
    pub fn get_many<'k>(
        &self,
        txn: &Transaction,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        options: &ScanOptions,
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> AccessResult<()> {
        let locking = options.locking(txn, &self.object_resource());
        assert!(locking.reads_ahead(), "who locks rows looks them up one by one");
        let reader = Reader::new(txn, locking, options);
        let (mut parent, mut leaf): (Option<Parent>, Option<PageGuard>) = (None, None);
        let mut before: Option<&[u8]> = None;
        let mut ahead = Ahead { keys: keys.clone().peekable(), at: 0, leaf: None };
        for (number, key) in keys.enumerate() {
            assert!(before.replace(key).is_none_or(|before| before <= key), "the keys ascend");
            self.state.uses.note(UnitUse::SingletonLookup);
            let guard = match leaf.take().filter(|leaf| ends_behind(leaf, key)) {
                Some(same) => same,
                None => self.leaf_under(&mut parent, key)?,
            };
            if let Some(parent) = &parent {
                self.look_ahead(&mut ahead, parent, guard.page(), number);
            }
            let Ok(slot) = parent.as_ref().map_or_else(
                || search(guard.page(), key),
                |parent| {
                    let (lower, upper) = parent.bounds();
                    search_within(guard.page(), key, lower, upper)
                },
            ) else {
                leaf = Some(guard);
                continue;
            };
            match PageView::new(guard.page(), reader).see(slot, || self.lock_of(key)) {
                Visibility::Bytes(row) => found(number, split_row(row).1),
                Visibility::Version(row) => found(number, split_row(&row).1),
                Visibility::Gone => {}
                seen @ (Visibility::Lost | Visibility::Conflict) => return Err(seen.error()),
                Visibility::Moved => return Err(stub_in_tree(&guard, slot)),
                Visibility::Wait => {
                    // No thread waits while it holds a latch.
                    drop(guard);
                    parent = None;
                    let mut value = Vec::new();
                    if self.get(txn, key, options, &mut value)? {
                        found(number, &value);
                    }
                    continue;
                }
            }
            leaf = Some(guard);
        }
        Ok(())
    }

    /// Prefetches the parts of the next keys' leaves that will be read, for leaves under the same page. It assumes that these leaves have as many
    /// rows as this one, and of the same length.
    fn look_ahead<'k, I>(&self, ahead: &mut Ahead<I>, parent: &Parent, leaf: &PageBytes, number: usize)
    where
        I: Iterator<Item = &'k [u8]>,
    {
        let (page, count) = (parent.guard.page(), header::slot_count(leaf));
        if count < GUESS_SLOTS_MIN {
            return;
        }
        while ahead.at <= number + AHEAD {
            let Some(key) = ahead.keys.peek() else { return };
            if ahead.at > number {
                let Some(slot) = parent.leaf_of(key) else { return };
                let Ok(child) = child_at(page, slot) else { return };
                if ahead.leaf.is_none_or(|(known, _)| known != child) {
                    ahead.leaf = self.methods.fetch_early(child).map(|coming| (child, coming));
                }
                if let Some((_, coming)) = &mut ahead.leaf {
                    let guess = guess(key_at(page, slot), key_at(page, slot + 1), key, count);
                    coming.fetch_row(guess.unwrap_or_default(), leaf);
                }
            }
            ahead.keys.next();
            ahead.at += 1;
        }
    }

    /// The leaf of a key; from the latched page above if the key belongs below it.
    fn leaf_under(&self, parent: &mut Option<Parent>, key: &[u8]) -> AccessResult<PageGuard> {
        if let Some(held) = parent {
            held.left = held.left.saturating_sub(1);
            if held.left > 0
                && let Some(slot) = held.leaf_of(key)
            {
                held.slot = slot;
                return self.fix_child(&held.guard, slot, LatchMode::Shared, &[]);
            }
        }
        *parent = None;
        stop_if_asked()?;
        let (mut guard, mut is_rightmost) = (self.fix_root(LatchMode::Shared)?, true);
        loop {
            let level = header::level(guard.page());
            if level == 0 {
                return Ok(guard);
            }
            let slot = child_slot(guard.page(), key, false);
            let child = self.fix_child(&guard, slot, LatchMode::Shared, &[])?;
            if level == 1 {
                *parent = Some(Parent { guard, is_rightmost, left: KEYS_MAX, slot });
                return Ok(child);
            }
            is_rightmost &= slot + 1 == header::slot_count(guard.page());
            guard = child;
        }
    }
}

/// Does the key belong to this leaf, given that it is not below the keys looked up here before?
fn ends_behind(leaf: &PageGuard, key: &[u8]) -> bool {
    let count = header::slot_count(leaf.page());
    assert_eq!(header::level(leaf.page()), 0, "keys are looked up in leaves");
    count > 0 && key <= key_at(leaf.page(), count - 1)
}
