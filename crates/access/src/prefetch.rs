//! Pages that come next: while the rows of one are looked at, what will be looked at of the next one is asked for.

use pages::{PageBytes, PageId, PrefetchHint};

use crate::methods::AccessMethods;

/// The next page of a scan. Pages of one table are alike: where this page has a row, the next one has one, too, or nearly.
#[derive(Default)]
pub(crate) struct NextPage(Option<PrefetchHint>);

/// Bytes behind the beginning of a row that are asked for beside the first: its key and its fixed columns end there, as a rule.
const ROW_BYTES: usize = 64;
/// Slots that come together.
const SLOTS: u16 = 16;

impl NextPage {
    /// The page will be latched when the rows of the present one have been looked at.
    #[inline]
    pub(crate) fn new(methods: &AccessMethods, page: PageId) -> NextPage {
        NextPage(methods.fetch_early(page))
    }

    /// A row of the present page is looked at.
    #[inline]
    pub(crate) fn like(&mut self, page: &PageBytes, slot: u16, row: &[u8]) {
        let Some(hint) = &mut self.0 else { return };
        if slot.is_multiple_of(SLOTS) {
            hint.fetch_slot(slot);
        }
        // What lies elsewhere (an older version) is beyond the page's end.
        let offset = row.as_ptr().addr().wrapping_sub(page.as_ptr().addr());
        hint.fetch(offset);
        if row.len() > ROW_BYTES {
            hint.fetch(offset.wrapping_add(ROW_BYTES));
        }
    }
}
