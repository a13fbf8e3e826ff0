//! Cache prefetch of the next page: while a scan reads the rows of one page, it prefetches the parts of the next page that it will read.

use pages::{PageBytes, PageId, PrefetchHint};

use crate::methods::AccessMethods;

/// The next page of a scan. Pages of one table are alike: rows of the next page are at nearly the same offsets as on this page.
#[derive(Default)]
pub(crate) struct NextPage(Option<PrefetchHint>);

/// A second prefetch is this many bytes behind the beginning of a row: key and fixed columns normally end before it.
const ROW_BYTES: usize = 64;
/// Slots that one prefetch covers.
const SLOTS: u16 = 16;

impl NextPage {
    /// The scan latches the page after it has read the rows of the present one.
    #[inline]
    pub(crate) fn new(methods: &AccessMethods, page: PageId) -> NextPage {
        NextPage(methods.fetch_early(page))
    }

    /// The scan reads a row of the present page.
    #[inline]
    pub(crate) fn like(&mut self, page: &PageBytes, slot: u16, row: &[u8]) {
        let Some(hint) = &mut self.0 else { return };
        if slot.is_multiple_of(SLOTS) {
            hint.fetch_slot(slot);
        }
        // A row outside the page (an older version) gives an offset beyond the page's end.
        let offset = row.as_ptr().addr().wrapping_sub(page.as_ptr().addr());
        hint.fetch(offset);
        if row.len() > ROW_BYTES {
            hint.fetch(offset.wrapping_add(ROW_BYTES));
        }
    }
}
