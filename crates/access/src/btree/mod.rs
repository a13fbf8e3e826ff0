//! B+trees: clustered indexes (the value is the row) and nonclustered ones, over keys whose byte order is their order.
//!
//! The root never moves. Leaves form a chain in key order; all pages are latched from parent to child and from left to
//! right, so latches cannot deadlock. A structure modification (split, root growth, unlinking an empty leaf) is one log
//! record with all its pages latched: it happens whole or not at all and no rollback takes it back. Deleted rows stay as
//! ghosts until their deleter has ended, so that undo finds their room and range locks their key.
//!
//! An assertion states an invariant of this code. What a page says about another page comes from disk and may be wrong despite a right checksum:
//! it is refused (`AccessError::Corrupt`, 824) before anything is latched twice or logged.
//!
//! A thread that waits for a row lock holds no latch: it releases the latch, waits, and reads the page again.
//!
//! Invariants (in brackets where each is asserted when it is made; `verify.rs`, and so DBCC CHECKDB, looks for the first six):
//!
//! 1. Keys ascend in a page and from a leaf to the next, ghosts included; no key stands twice. [`change.rs: write_row`, `split.rs: cut_page`]
//! 2. An interior page has at least one child. Its first entry covers everything below the second, whatever key it has; every other
//!    entry's key is above all keys to its left and not above any below it. [`split.rs: cut_interior`, `cut_page`; `page.rs: separator`]
//! 3. Levels fall by one from parent to child, leaves are level 0. [`split.rs: split`, `descend_with_fence`; `fix_child` refuses a page that
//!    says otherwise]
//! 4. `next` and `prev` chain the pages of a level in key order, both ways. [`split.rs: cut_page`, `cleanup.rs: unlink`; `fix_next`
//!    refuses a page that says otherwise]
//! 5. Every page but the root has one parent entry; the root keeps its place and loses its rows to its first child when it grows.
//!    [`split.rs: cut_page`, `grow_root`]
//! 6. Slots of a tree page have no gaps, and no row of a tree is a stub or was moved here. [`pages/slots.rs: free`; `log/page_records.rs:
//!    RowPatch::encode`; `page.rs: stub_in_tree`]
//! 7. A split moves rows and loses none; both halves have a place in the parent before another thread can see either. [`split.rs: cut_page`]
//! 8. Only an empty leaf that is neither the last of the tree nor its parent's only child is unlinked, with parent and neighbours latched.
//!    [`cleanup.rs: unlink`]
//! 9. A ghost stays until every transaction up to its page's `last_remover` has ended, and while a range lock names it. [`change.rs: delete`,
//!    `heap/mod.rs: expunge`]
//! 10. A row is changed in a leaf latched exclusively, after its record, which is then its transaction's newest and the page's LSN.
//!     [`methods.rs: append`, `pages/frame.rs: set_lsn`]

mod change;
mod change_many;
mod cleanup;
mod cursor;
mod estimate;
mod insert_many;
mod load;
mod look_up;
pub(crate) mod page;
mod split;
mod undo;

pub(crate) use change::apply_insert;
pub(crate) use change_many::apply_ghosts;
pub(crate) use cleanup::apply_unlink_parent;
pub use cursor::BTreeCursor;
pub(crate) use insert_many::apply_inserts;
pub(crate) use load::apply_built_page;
pub use load::{BuildFill, TreeLoader};
pub(crate) use split::{
    apply_root_grow_child, apply_root_grow_root, apply_split_left, apply_split_parent, apply_split_right,
};
pub(crate) use undo::apply_take_out;

use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pages::{LatchMode, PageGuard, PageId, PageType, header};
use rustc_hash::FxHasher;
use txn::{HASH_END, Resource, Transaction};

use crate::error::{AccessError, AccessResult};
use crate::hints::TreeState;
use crate::ids::UnitId;
use crate::key::KeyRange;
use crate::methods::AccessMethods;
use crate::options::{Locking, ScanOptions};
use crate::row_change::CLUSTERED_FLAG;
use crate::unit_uses::{UnitUse, UnitUses};
use crate::visibility::{PageView, Reader, Visibility};
use page::{Fences, child_at, child_slot, search, split_row};

/// Levels of a tree, at most: a page that says it is higher is damaged.
const LEVELS_MAX: u8 = 32;

/// The use of a tree. Only names in the log depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BTreeKind {
    /// A nonclustered index: its values are row addresses or included columns.
    Nonclustered = 0,
    /// A clustered index: its values are the table's rows.
    Clustered = CLUSTERED_FLAG,
}

/// The identity of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BTreeDef {
    /// Object id of its table, for locks.
    pub object: u32,
    /// Its allocation unit; also the hobt id in key locks.
    pub unit: UnitId,
    /// Its root page.
    pub root: PageId,
}

/// The outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key is in the tree.
    Done,
    /// The key was there already; nothing was changed (2627, 2601).
    Duplicate,
}

/// A tree. Cheap to clone.
#[derive(Clone)]
pub struct BTree {
    pub(crate) methods: Arc<AccessMethods>,
    pub(crate) def: BTreeDef,
    pub(crate) state: Arc<TreeState>,
    leaves_versions: bool,
}

impl BTree {
    pub(crate) fn new(methods: Arc<AccessMethods>, def: BTreeDef, state: Arc<TreeState>) -> BTree {
        if def.object != 0 {
            state.object.store(def.object, Relaxed);
        }
        BTree { methods, def, state, leaves_versions: true }
    }

    /// This tree, for changes that need no versions because no snapshot reads them: of a table that is being built, or of a system table.
    pub fn without_versions(self) -> BTree {
        BTree { leaves_versions: false, ..self }
    }

    /// The identity of the tree.
    pub fn def(&self) -> &BTreeDef {
        &self.def
    }

    /// The lock resource of a key.
    pub fn key_resource(&self, key: &[u8]) -> Resource {
        let mut hasher = FxHasher::default();
        hasher.write(key);
        let hash = hasher.finish();
        let hash = if hash == HASH_END { 0 } else { hash };
        assert!(hash != HASH_END, "no key is the end");
        self.hash_resource(hash)
    }

    /// The lock resource of the end of the tree, behind the last key.
    pub(crate) fn end_resource(&self) -> Resource {
        self.hash_resource(HASH_END)
    }

    fn hash_resource(&self, hash: u64) -> Resource {
        Resource::Key {
            database: self.methods.database,
            object: self.def.object,
            hobt: u64::from(self.def.unit.0),
            hash,
        }
    }

    /// The lock resource of a key, counted as a lock request.
    #[inline]
    pub(crate) fn lock_of(&self, key: &[u8]) -> Resource {
        self.state.uses.note(UnitUse::RowLock);
        self.key_resource(key)
    }

    /// The operation counters since the database was opened.
    pub fn uses(&self) -> &UnitUses {
        &self.state.uses
    }

    /// Waits for a lock of one of its keys; no latch is held.
    pub(super) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.state.uses.wait(self.methods.space.pool().os(), wait)
    }

    /// Waits for a lock whose request has not been counted.
    #[cold]
    fn asking<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.state.uses.note(UnitUse::RowLock);
        assert!(self.state.uses.is_used(), "it has been counted");
        self.waiting(wait)
    }

    pub(crate) fn object_resource(&self) -> Resource {
        Resource::Object { database: self.methods.database, object: self.def.object }
    }

    /// Appends the value of `key` to `out`, locking as a scan of that one key would; false when the key is not there.
    /// A lock that is kept is released by [`BTree::release`] or at the end of the transaction.
    pub fn get(
        &self,
        txn: &Transaction,
        key: &[u8],
        options: &ScanOptions,
        out: &mut Vec<u8>,
    ) -> AccessResult<bool> {
        let locking = options.locking(txn, &self.object_resource());
        if let Locking::Range { .. } = locking {
            let mut cursor = self.scan(KeyRange::exactly(key), *options);
            let found = cursor.next(txn)?;
            if found {
                out.extend_from_slice(cursor.value());
            }
            return Ok(found);
        }
        self.state.uses.note(UnitUse::SingletonLookup);
        let reader = Reader::new(txn, locking, options);
        let lock = || self.lock_of(key);
        let mut waited = None;
        loop {
            let leaf = self.descend(key, LatchMode::Shared, false)?;
            let Ok(slot) = search(leaf.page(), key) else { return Ok(false) };
            match PageView::new(leaf.page(), reader).see(slot, lock) {
                Visibility::Bytes(row) => {
                    out.extend_from_slice(split_row(row).1);
                    return Ok(true);
                }
                Visibility::Version(row) => {
                    out.extend_from_slice(split_row(&row).1);
                    return Ok(true);
                }
                seen @ (Visibility::Lost | Visibility::Conflict) => return Err(seen.error()),
                Visibility::Gone => return Ok(false),
                Visibility::Moved => return Err(page::stub_in_tree(&leaf, slot)),
                Visibility::Wait => {
                    drop(leaf);
                    drop(waited.take());
                    waited = Some(self.waiting(|| reader.wait(self.key_resource(key), options.wait))?);
                }
            }
        }
    }

    /// Releases the lock with which [`BTree::get`] kept an unchanged row.
    pub fn release(&self, txn: &Transaction, key: &[u8], options: &ScanOptions) {
        if let Locking::Hold { mode, until_next: true } = options.locking(txn, &self.object_resource()) {
            txn.unlock(&self.key_resource(key), mode);
        }
    }

    /// Latches the leaf where `key` belongs (or the keys just below it), coupling latches on the way.
    pub(crate) fn descend(
        &self,
        key: &[u8],
        mode: LatchMode,
        strictly_below: bool,
    ) -> AccessResult<PageGuard> {
        self.descend_with_fence(key, mode, strictly_below, None)
    }

    /// Latches the leaf in this way, and returns the bounds of its keys.
    pub(crate) fn descend_with_fence(
        &self,
        key: &[u8],
        mode: LatchMode,
        strictly_below: bool,
        mut fences: Option<&mut Fences>,
    ) -> AccessResult<PageGuard> {
        let mut guard = self.fix_root(mode)?;
        let mut level = header::level(guard.page());
        while level > 0 {
            let slot = child_slot(guard.page(), key, strictly_below);
            if let Some(fences) = fences.as_deref_mut() {
                fences.go_below(guard.page(), slot);
            }
            let child_mode = if level == 1 { mode } else { LatchMode::Shared };
            guard = self.fix_child(&guard, slot, child_mode, &[])?;
            level -= 1;
        }
        assert_eq!(header::level(guard.page()), 0, "the way down ends at a leaf");
        assert_eq!(guard.is_exclusive(), mode == LatchMode::Exclusive, "the leaf is latched as was asked");
        Ok(guard)
    }

    /// The root: shared while it is above the leaves, in `mode` when it is a leaf itself.
    pub(super) fn fix_root(&self, mode: LatchMode) -> AccessResult<PageGuard> {
        loop {
            let guard = self.fix_page(self.def.root, LatchMode::Shared)?;
            let level = header::level(guard.page());
            if level > LEVELS_MAX {
                return Err(AccessError::corrupt(self.def.root, format!("level {level}")));
            }
            if level > 0 || mode == LatchMode::Shared {
                return Ok(guard);
            }
            drop(guard);
            let guard = self.fix_page(self.def.root, mode)?;
            if header::level(guard.page()) == 0 {
                assert!(guard.is_exclusive() && guard.id() == self.def.root, "the root is the leaf");
                return Ok(guard);
            }
        }
    }

    /// Latches a child of a latched page. Checks that it is a page of this tree, one level below, and none of those in `held`, which are latched.
    pub(super) fn fix_child(
        &self,
        parent: &PageGuard,
        slot: u16,
        mode: LatchMode,
        held: &[PageId],
    ) -> AccessResult<PageGuard> {
        let (child, level) = (child_at(parent.page(), slot)?, header::level(parent.page()));
        assert!(level > 0, "a leaf has no children");
        if child == parent.id() || held.contains(&child) {
            return Err(AccessError::corrupt(parent.id(), format!("leads back to {child}")));
        }
        let guard = self.fix_page(child, mode)?;
        if header::level(guard.page()) + 1 != level {
            let what = format!("level {} under level {level}", header::level(guard.page()));
            return Err(AccessError::corrupt(child, what));
        }
        Ok(guard)
    }

    /// Latches the page to the right of a latched one; each must name the other. `held`: the other latched pages.
    pub(super) fn fix_next(
        &self,
        guard: &PageGuard,
        mode: LatchMode,
        held: &[PageId],
    ) -> AccessResult<Option<PageGuard>> {
        let next = header::next(guard.page());
        if next.is_null() {
            return Ok(None);
        }
        if next == guard.id() || held.contains(&next) {
            return Err(AccessError::corrupt(
                guard.id(),
                format!("is followed by {next}, which is above it"),
            ));
        }
        let right = self.fix_page(next, mode)?;
        let is_neighbour = header::prev(right.page()) == guard.id()
            && header::level(right.page()) == header::level(guard.page());
        assert!(right.id() != guard.id(), "a page that follows itself does not come in");
        if is_neighbour {
            return Ok(Some(right));
        }
        let told = header::prev(right.page());
        Err(AccessError::corrupt(next, format!("follows {}, but says that it follows {told}", guard.id())))
    }

    pub(crate) fn fix_page(&self, page: PageId, mode: LatchMode) -> AccessResult<PageGuard> {
        self.methods.fix_of(page, mode, PageType::BTree, self.def.unit.0)
    }

    /// The leaf for `key` if it is known to be the rightmost one and the key belongs behind all its keys.
    fn rightmost_leaf_for(&self, key: &[u8]) -> AccessResult<Option<PageGuard>> {
        let hint = self.state.rightmost.load(Relaxed);
        if hint == 0 {
            return Ok(None);
        }
        let guard = self.methods.fix(PageId::unpack(hint), LatchMode::Exclusive)?;
        let page = guard.page();
        let count = header::slot_count(page);
        let is_rightmost = header::page_type(page) == PageType::BTree
            && header::unit(page) == self.def.unit.0
            && header::level(page) == 0
            && header::next(page).is_null();
        if is_rightmost && count > 0 && page::key_at(page, count - 1) < key {
            assert!(guard.is_exclusive(), "the leaf is for a change");
            return Ok(Some(guard));
        }
        if !is_rightmost {
            self.state.rightmost.store(0, Relaxed);
        }
        Ok(None)
    }

    /// The leaf for a change of `key`, latched exclusively.
    pub(crate) fn leaf_for(&self, key: &[u8]) -> AccessResult<PageGuard> {
        if let Some(guard) = self.rightmost_leaf_for(key)? {
            return Ok(guard);
        }
        let guard = self.descend(key, LatchMode::Exclusive, false)?;
        assert!(guard.is_exclusive(), "the leaf is for a change");
        if header::next(guard.page()).is_null() {
            self.state.rightmost.store(guard.id().pack(), Relaxed);
        }
        Ok(guard)
    }
}
