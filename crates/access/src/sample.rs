//! Rows of some pages of a heap or tree, evenly spread, for statistics: what is found says something of values in general. Asks for no lock
//! and waits for nobody; changes that are not decided are seen.

use pages::{LatchMode, PageBytes, PageId, PageType, header, slots, tree_rows};

use crate::error::AccessResult;
use crate::ids::UnitId;
use crate::map_page::{entries, owner};
use crate::methods::AccessMethods;

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledPages {
    /// Pages that the unit has, large values and inner levels of a tree included.
    pub all: u64,
    /// Those of them that were read.
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
    /// Hands the rows of some pages of a unit to `work`: of a heap the rows, of a tree the values of its leaves. `wanted` says how many pages, of
    /// so many that there are. A page that has gone meanwhile, or become another's, has none. `work` runs without a latch; it says whether
    /// to go on.
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
            // The middle of each of as many equal parts.
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

/// The rows of a page of a heap or the values of a leaf, one behind the other, and where each ends. A row that has moved is met where it
/// lies.
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
