//! Estimates of a tree's number of rows and of the share of a range, from a few descents.

use std::ops::Bound;

use pages::{LatchMode, header, slots};

use super::BTree;
use super::page::{child_slot, search, split_row};
use crate::error::{AccessError, AccessResult};
use crate::key::KeyRange;

/// Descents that an estimate makes: along the first children, the middle ones, the last ones.
const WAYS: u16 = 3;

impl BTree {
    /// An estimate of the number of keys: the product of the children and keys on each of three descents, averaged. Reads one page per level and
    /// descent, takes no lock. An error when a page is freed meanwhile.
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
            // Levels must fall: circular links are an error, never an endless descent.
            guard = self.fix_child(&guard, slot as u16, LatchMode::Shared, &[])?;
        }
    }
}

impl BTree {
    /// The estimated share of the keys in a range, from 0 to 1: from the positions of its ends on their descents, as if all subtrees of a page were
    /// equal. Takes no lock.
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

    /// The value of the key at about this share of all keys; `None` when the leaf found is empty. Takes no lock:
    /// the value serves statistics only and is shown to no user.
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
