//! Insert of many keys in key order: one descent, one latch and one log record for all keys of a leaf.

use std::sync::atomic::Ordering::Relaxed;

use log::bulk_records::PageRows;
use log::{LogContext, LogOp};
use pages::{BODY_BYTES, LatchMode, PageBytes, PageGuard, header, slots};
use txn::{LockMode, Transaction, UndoBytes};

use super::change::TREE_ROW_BYTES;
use super::page::{Fences, KEY_LENGTH_BYTES, entry_bytes, key_at, search};
use super::{BTree, Inserted};
use crate::error::AccessResult;
use crate::key::KEY_BYTES_MAX;
use crate::unit_uses::UnitUse;

/// Keys of one leaf: the slot of each after the insert of those before it.
type Places<'k> = Vec<(u16, &'k [u8], &'k [u8])>;

impl BTree {
    /// Inserts keys with their values, as [`BTree::insert`] would each; `inserted` counts those inserted, also when it ends early:
    /// an error or a duplicate is about the next key. Ascending keys are inserted into a leaf together.
    pub fn insert_sorted<'k>(
        &self,
        txn: &Transaction,
        rows: impl ExactSizeIterator<Item = (&'k [u8], &'k [u8])> + Clone,
        inserted: &mut usize,
    ) -> AccessResult<Inserted> {
        *inserted = 0;
        let mut left = rows;
        let (mut images, mut places) = (Vec::new(), Places::new());
        while left.len() > 0 {
            let together = if left.len() > 1 {
                self.insert_on_leaf(txn, left.clone(), &mut places, &mut images)?
            } else {
                0
            };
            assert!(together != 1 && together <= left.len(), "{together} rows went in together");
            if together > 0 {
                left.nth(together - 1);
                *inserted += together;
                continue;
            }
            let Some((key, value)) = left.next() else { break };
            if self.insert(txn, key, value)? == Inserted::Duplicate {
                return Ok(Inserted::Duplicate);
            }
            *inserted += 1;
        }
        assert_eq!(left.len(), 0, "all of them are in");
        Ok(Inserted::Done)
    }

    /// Inserts the first keys, if two or more of them fit on one leaf, with no range lock of another transaction and no ghost in their places;
    /// returns their number.
    fn insert_on_leaf<'k>(
        &self,
        txn: &Transaction,
        rows: impl Iterator<Item = (&'k [u8], &'k [u8])> + Clone,
        places: &mut Places<'k>,
        images: &mut Vec<u8>,
    ) -> AccessResult<usize> {
        let Some((first, _)) = rows.clone().next() else { return Ok(0) };
        let (mut leaf, fences) = self.leaf_with_fences(first)?;
        self.place_on_leaf(txn, &leaf, &fences.upper, rows, places);
        match places[..] {
            // Locks already taken are kept: the caller inserts these keys next.
            [] | [_] => Ok(0),
            _ => self.write_rows(txn, &mut leaf, places, images).map(|()| places.len()),
        }
    }

    /// The leaf for a change of `key`, latched exclusively, and the bounds of its keys.
    fn leaf_with_fences(&self, key: &[u8]) -> AccessResult<(PageGuard, Fences)> {
        let mut fences = Fences::default();
        if let Some(guard) = self.rightmost_leaf_for(key)? {
            assert!(guard.is_exclusive(), "the leaf is for a change");
            return Ok((guard, fences));
        }
        let leaf = self.descend_with_fence(key, LatchMode::Exclusive, false, Some(&mut fences))?;
        if header::next(leaf.page()).is_null() {
            self.state.rightmost.store(leaf.id().pack(), Relaxed);
        }
        Ok((leaf, fences))
    }

    /// Finds the places of keys on a latched leaf, all of them below `upper`, and locks them.
    fn place_on_leaf<'k>(
        &self,
        txn: &Transaction,
        leaf: &PageGuard,
        upper: &[u8],
        rows: impl Iterator<Item = (&'k [u8], &'k [u8])>,
        places: &mut Places<'k>,
    ) {
        places.clear();
        let page = leaf.page();
        // Range locks of other transactions are checked key by key.
        if self.state.has_ranges.load(Relaxed) {
            return;
        }
        let count = header::slot_count(page);
        let (mut room, mut at) = (slots::room(page), 0);
        for (key, value) in rows {
            let bytes = entry_bytes(key, value.len());
            let is_key = !key.is_empty() && key.len() <= KEY_BYTES_MAX;
            let is_next = places.last().is_none_or(|(_, before, _)| *before < key);
            let is_here = upper.is_empty() || key < upper;
            if !(is_key && is_next && is_here) || bytes > BODY_BYTES || bytes > room {
                return;
            }
            // A key usually belongs in the slot after the one before it.
            let is_before = |slot: u16| slot == count || key < key_at(page, slot);
            if places.is_empty() || !is_before(at) {
                match search(page, key) {
                    Err(slot) if slot >= at => at = slot,
                    _ => return,
                }
            }
            if !txn.try_lock(self.lock_of(key), LockMode::X) {
                return;
            }
            assert!(at <= count && places.len() < BODY_BYTES, "a place among the slots, or behind them");
            places.push((at + places.len() as u16, key, value));
            room -= bytes;
        }
    }

    fn write_rows(
        &self,
        txn: &Transaction,
        leaf: &mut PageGuard,
        places: &Places<'_>,
        images: &mut Vec<u8>,
    ) -> AccessResult<()> {
        assert!(header::level(leaf.page()) == 0 && leaf.is_exclusive(), "rows lie in leaves");
        assert!(places.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "keys ascend");
        images.clear();
        let mut ends = Vec::with_capacity(places.len());
        let mut undo = UndoBytes { record_count: 0, payload_bytes: 0 };
        for (_, key, value) in places {
            self.save_before_image(txn, key, None);
            images.extend_from_slice(&(key.len() as u16).to_le_bytes());
            images.extend_from_slice(key);
            let logged = images.len();
            images.extend_from_slice(value);
            ends.push((logged, images.len()));
            undo.record_count += 1;
            undo.payload_bytes += (TREE_ROW_BYTES + key.len()) as u64;
        }
        let rows = |is_whole: bool| {
            let mut begin = 0;
            let each = places.iter().zip(&ends).map(|((slot, ..), (key_end, end))| {
                let row = &images[begin..if is_whole { *end } else { *key_end }];
                begin = *end;
                (*slot, row)
            });
            each.collect::<Vec<_>>()
        };
        let page = leaf.id().pack();
        let record = PageRows { page, root: self.def.root.pack(), rows: rows(!self.methods.undo_only) };
        let context = LogContext::BulkOperationPage;
        let lsn = self.methods.append(txn, LogOp::InsertRows, context, undo, |out| record.encode(out))?;
        let before = usize::from(header::slot_count(leaf.page()));
        apply_inserts(leaf.page_mut(), &rows(true));
        leaf.set_lsn(lsn);
        let after = usize::from(header::slot_count(leaf.page()));
        self.state.uses.add(UnitUse::LeafInsert, places.len());
        assert_eq!(before + places.len(), after, "what was inserted is there");
        Ok(())
    }
}

/// Inserts rows between their neighbours, each at its slot after those before it.
pub(crate) fn apply_inserts(page: &mut PageBytes, rows: &[(u16, &[u8])]) {
    for (slot, row) in rows {
        assert!(row.len() > KEY_LENGTH_BYTES, "a row has a key");
        slots::insert(page, *slot, &[row], 0);
    }
}
