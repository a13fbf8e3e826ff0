//! Samples the rows of some pages of a heap or tree, evenly spread, for statistics. It takes no lock and waits for none; it sees
//! uncommitted changes.

use pages::{LatchMode, PageBytes, PageId, PageType, header, slots, tree_rows};

use crate::error::AccessResult;
use crate::ids::UnitId;
use crate::map_page::{entries, owner};
use crate::methods::AccessMethods;

/// The number of pages sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledPages {
    /// Pages of the unit, large values and inner levels of a tree included.
    pub all: u64,
    /// Pages that were read.
    pub read: u64,
}

impl SampledPages {
    /// Has every page been read?
    pub fn is_whole(&self) -> bool {
        assert!(self.read <= self.all, "no page is read twice");
        self.read == self.all
    }
}

impl AccessMethods {
    /// Passes the rows of some pages of a unit to `work`: the rows of a heap, the values of a tree's leaves. `wanted` gets the unit's number of
    /// pages and returns how many to read. A page that was freed meanwhile, or has another owner now, has no rows. `work` runs without a latch and
    /// returns whether to go on.
    pub fn sample_rows(
        &self,
        unit: UnitId,
        wanted: &dyn Fn(u64) -> u64,
        work: &mut dyn FnMut(&[u8]) -> bool,
    ) -> AccessResult<SampledPages> {
        let mut pages: Vec<PageId> = Vec::new();
        self.for_each_map(|map| {
            let is_own = |page: &PageId| owner(map.page(), *page) == unit.0;
            pages.extend(entries(map.id()).into_iter().filter(is_own));
            Ok(())
        })?;
        let all = pages.len() as u64;
        let read = all.min(wanted(all));
        assert!(read <= all, "no page is read twice");
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for at in 0..read {
            // The middle page of each of `wanted` equal parts.
            let place = ((2 * at + 1) * all) / (2 * read);
            let guard = self.fix(pages[place as usize], LatchMode::Shared)?;
            bytes.clear();
            ends.clear();
            if header::unit(guard.page()) == unit.0 {
                copy_rows(guard.page(), &mut bytes, &mut ends);
            }
            drop(guard);
            let mut start = 0;
            for end in &ends {
                if !work(&bytes[start..*end]) {
                    return Ok(SampledPages { all, read: at + 1 });
                }
                start = *end;
            }
        }
        Ok(SampledPages { all, read })
    }
}

/// The rows of a heap page or the values of a leaf, concatenated, and the end of each. A moved row is read at its target, not at
/// its stub.
fn copy_rows(page: &PageBytes, bytes: &mut Vec<u8>, ends: &mut Vec<usize>) {
    let is_leaf = match header::page_type(page) {
        PageType::Heap => false,
        PageType::BTree if header::level(page) == 0 => true,
        _ => return,
    };
    for (_, row, flags) in slots::occupied(page) {
        if flags & (slots::GHOST | slots::FORWARD) != 0 {
            continue;
        }
        bytes.extend_from_slice(if is_leaf { tree_rows::split_row(row).1 } else { row });
        ends.push(bytes.len());
    }
    assert_eq!(ends.last().copied().unwrap_or(0), bytes.len(), "each row has its end");
}
