//! How many rows a tree has, about: told from a few pages on the way down.

use pages::{LatchMode, header};

use super::BTree;
use super::page::child_at;
use crate::error::AccessResult;

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
        let (mut page, mut rows) = (self.def.root, 1u64);
        loop {
            let guard = self.fix_page(page, LatchMode::Shared)?;
            let count = header::slot_count(guard.page());
            rows = rows.saturating_mul(u64::from(count));
            if header::level(guard.page()) == 0 {
                return Ok(rows);
            }
            assert!(count > 0 && way < WAYS, "a page above the leaves has children");
            let slot = u32::from(count - 1) * u32::from(way) / u32::from(WAYS - 1);
            page = child_at(guard.page(), slot as u16)?;
        }
    }
}
