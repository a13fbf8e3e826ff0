//! How many rows a tree has, about, and what share of them a range: told from a few pages on the way down.

use std::ops::Bound;

use pages::{LatchMode, header, slots};

use super::BTree;
use super::page::{child_slot, search, split_row};
use crate::error::{AccessError, AccessResult};
use crate::key::KeyRange;

/// The ways down that are looked at: along the first children, the middle ones, the last.
const WAYS: u16 = 3;

impl BTree {
    /// An estimate of the number of keys: the children and keys on three ways down, multiplied, and the mean taken. Reads a page a level and
    /// way, asks for no lock. An error when a page goes meanwhile.
    pub fn estimate_rows(&self) -> AccessResult<u64> {
        let mut sum = 0u64;
        for way in 0..WAYS {
            sum = sum.saturating_add(self.rows_along(way)?);
        }
        Ok(sum / u64::from(WAYS))
    }

    fn rows_along(&self, way: u16) -> AccessResult<u64> {
        assert!(way < WAYS, "way {way} of {WAYS}");
        let (mut guard, mut rows) = (self.fix_page(self.def.root, LatchMode::Shared)?, 1u64);
        loop {
            let count = header::slot_count(guard.page());
            rows = rows.saturating_mul(u64::from(count));
            if header::level(guard.page()) == 0 {
                return Ok(rows);
            }
            let Some(last) = count.checked_sub(1) else {
                return Err(AccessError::corrupt(guard.id(), "a page above the leaves without children"));
            };
            let slot = u32::from(last) * u32::from(way) / u32::from(WAYS - 1);
            // Level by level: links that lead back are an error, never a way without end.
            guard = self.fix_child(&guard, slot as u16, LatchMode::Shared, &[])?;
        }
    }
}

impl BTree {
    /// The share of the keys that a range holds, about, from 0 to 1: where its ends lie on the way down, as if all subtrees of a page were
    /// equal. Asks for no lock.
    pub fn share_of(&self, range: &KeyRange) -> AccessResult<f64> {
        let lower = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => self.share_below(key)?,
            Bound::Unbounded => 0.0,
        };
        let upper = match &range.upper {
            Bound::Included(key) | Bound::Excluded(key) => self.share_below(key)?,
            Bound::Unbounded => 1.0,
        };
        let share: f64 = upper - lower;
        assert!(share.is_finite(), "a share is a number");
        Ok(share.clamp(0.0, 1.0))
    }

    fn share_below(&self, key: &[u8]) -> AccessResult<f64> {
        let (mut share, mut width) = (0.0, 1.0);
        let mut guard = self.fix_page(self.def.root, LatchMode::Shared)?;
        loop {
            let (page, count) = (guard.page(), header::slot_count(guard.page()));
            if count == 0 {
                return Ok(share);
            }
            if header::level(page) == 0 {
                let (Ok(slot) | Err(slot)) = search(page, key);
                return Ok(share + width * f64::from(slot) / f64::from(count));
            }
            let slot = child_slot(page, key, false);
            width /= f64::from(count);
            share += width * f64::from(slot);
            guard = self.fix_child(&guard, slot, LatchMode::Shared, &[])?;
        }
    }

    /// The value of the key that has about this share of all keys below it; `None` when the leaf that is found is empty. Asks for no lock:
    /// what is found says something of values in general and is shown to nobody.
    pub fn value_near(&self, share: f64) -> AccessResult<Option<Vec<u8>>> {
        assert!(!share.is_nan(), "a place is a number");
        let mut place = share.clamp(0.0, 1.0);
        let mut guard = self.fix_page(self.def.root, LatchMode::Shared)?;
        loop {
            let (page, count) = (guard.page(), header::slot_count(guard.page()));
            let Some(last) = count.checked_sub(1) else { return Ok(None) };
            let exact = place * f64::from(count);
            let slot = (exact as u16).min(last);
            assert!(exact >= 0.0, "the place of {share} lies in the page");
            if header::level(page) == 0 {
                return Ok(slots::row(page, slot).map(|row| split_row(row).1.to_vec()));
            }
            place = (exact - f64::from(slot)).clamp(0.0, 1.0);
            guard = self.fix_child(&guard, slot, LatchMode::Shared, &[])?;
        }
    }
}
