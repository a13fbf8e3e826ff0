//! State that all handles of one heap or tree share while the database is open.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use os::{Latch, LatchRank};
use pages::PageId;

use crate::unit_uses::UnitUses;

/// State shared by the handles of a heap. Hints and counts: losing them costs time.
pub(crate) struct HeapState {
    /// The page that took the last row.
    pub(crate) insert_page: AtomicU64,
    /// Pages where rows were deleted.
    pub(crate) candidates: Latch<VecDeque<PageId>>,
    pub(crate) uses: UnitUses,
}

impl Default for HeapState {
    fn default() -> HeapState {
        HeapState {
            insert_page: AtomicU64::new(0),
            candidates: Latch::new(LatchRank::Leaf, VecDeque::new()),
            uses: UnitUses::default(),
        }
    }
}

/// State shared by the handles of a tree. Hints and counts only, except `has_ranges`.
#[derive(Default)]
pub(crate) struct TreeState {
    /// The rightmost leaf, as last seen: an insert of rising keys needs no search.
    pub(crate) rightmost: AtomicU64,
    /// A transaction has locked key ranges since the database was opened: inserts must check the next key's lock.
    pub(crate) has_ranges: AtomicBool,
    /// Object id of the tree's table, once a handle was made with it: part of the names of its key locks.
    pub(crate) object: AtomicU32,
    pub(crate) uses: UnitUses,
}
