//! How many rows a tree has, about: told from a few pages on the way down.

use pages::{LatchMode, header};

use super::BTree;
use crate::error::{AccessError, AccessResult};

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
