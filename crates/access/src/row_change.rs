//! Code shared by row changes of heaps and trees: their log context, the bytes that their undo may need, ghosts.

use log::{LogContext, TxnId};
use pages::{PageBytes, PageType, header, slots};

/// Bit of the page header's flags in pages of clustered indexes.
pub(crate) const CLUSTERED_FLAG: u8 = 1;

/// The most bytes by which the location of a row (page and slot) may be longer in the compensation record than in the record.
pub(crate) const PLACE_BYTES: usize = 12;

/// Bytes of offset and lengths in LOP_MODIFY_ROW, at most.
pub(crate) const PATCH_BYTES: usize = 3 * 3;

/// Bytes of a [`log::page_records::MapBits`] about one page, at most: map page, change, number of runs, one run.
pub(crate) const MAP_BITS_OF_PAGE_BYTES: usize = 8 + 1 + 1 + 2 * 2;

/// The log context of changes to rows of a page.
pub(crate) fn context_of(page: &PageBytes) -> LogContext {
    match (header::page_type(page), header::level(page), header::flags(page)) {
        (PageType::BTree, 0, flags) if flags & CLUSTERED_FLAG != 0 => LogContext::Clustered,
        (PageType::BTree, 0, _) => LogContext::IndexLeaf,
        (PageType::BTree, _, _) => LogContext::IndexInterior,
        _ => LogContext::Heap,
    }
}

/// Makes a row a ghost: it stays until its deleter's end.
pub(crate) fn apply_ghost(page: &mut PageBytes, slot: u16, txn: u64) {
    let flags = slots::flags(page, slot);
    slots::set_flags(page, slot, flags | slots::GHOST);
    header::raise_last_remover(page, txn);
}

/// May the page's ghosts and reserved bytes be reclaimed: have all transactions that made them ended, and does no snapshot need the rows?
pub(crate) fn removers_are_done(page: &PageBytes, oldest_needed: TxnId) -> bool {
    header::last_remover(page) < oldest_needed.0
}
