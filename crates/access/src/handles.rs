//! Handles on heaps and trees: `AccessMethods` creates them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pages::{LatchMode, PageId, PageType, header};
use txn::Transaction;

use crate::btree::{BTree, BTreeDef, BTreeKind};
use crate::error::{AccessError, AccessResult};
use crate::heap::{Heap, HeapDef};
use crate::ids::UnitId;
use crate::methods::AccessMethods;

impl AccessMethods {
    /// Makes an empty heap inside `txn`; returns its first page, which stays the same for its life.
    pub fn create_heap(&self, txn: &Transaction, unit: UnitId) -> AccessResult<PageId> {
        self.create_unit(txn, unit, PageType::Heap, 0)
    }

    /// Makes an empty tree inside `txn`; returns its root, which stays the same for its life.
    pub fn create_btree(&self, txn: &Transaction, unit: UnitId, kind: BTreeKind) -> AccessResult<PageId> {
        self.create_unit(txn, unit, PageType::BTree, kind as u8)
    }

    /// A handle on a heap. Handles of one unit share their hints.
    pub fn heap(self: &Arc<Self>, def: HeapDef) -> Heap {
        let state = self.heap_state(def.unit.0);
        Heap::new(Arc::clone(self), def, state)
    }

    /// A handle on a tree. Handles of one unit share their hints.
    pub fn btree(self: &Arc<Self>, def: BTreeDef) -> BTree {
        let state = self.tree_state(def.unit.0);
        BTree::new(Arc::clone(self), def, state)
    }

    /// The tree with this root, from its pages alone: for undo and ghost cleanup, which have no catalog.
    pub(crate) fn tree_of_root(&self, root: PageId) -> AccessResult<BTree> {
        let me = self.me.upgrade().expect("whoever calls holds it");
        let unit = {
            let guard = self.fix(root, LatchMode::Shared)?;
            if header::page_type(guard.page()) != PageType::BTree {
                return Err(AccessError::corrupt(root, "is not the root of a tree"));
            }
            header::unit(guard.page())
        };
        let state = self.tree_state(unit);
        let def = BTreeDef { object: state.object.load(Relaxed), unit: UnitId(unit), root };
        Ok(BTree::new(me, def, state))
    }
}
