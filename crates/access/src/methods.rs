//! `AccessMethods`: one per database. Knows its space and log, writes this crate's log records; handles.rs creates heaps and trees.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use log::{Log, LogContext, LogOp, Lsn, RecordBuf, RecordFlags, RecordHeader, TxnId};
use os::{Latch, LatchRank, Os};
use pages::{FileSpace, LatchMode, PageGuard, PageId, PageType, PrefetchHint, header};
use rustc_hash::FxHashMap;
use txn::{LockSpace, Transaction, UndoBytes};

use crate::allocator::Allocator;
use crate::error::{AccessError, AccessResult};
use crate::hints::{HeapState, TreeState};
use crate::row_change::MAP_BITS_OF_PAGE_BYTES;

/// How much of a change the log records of a database carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logging {
    /// The data for redo and undo.
    Full,
    /// The data for undo only: tempdb, which is never redone (claims 82, 83).
    UndoOnly,
}

/// The parameters of a database's access methods.
#[derive(Clone)]
pub struct AccessOptions {
    /// The operating system interface.
    pub os: Os,
    /// The data files; their log is attached.
    pub space: Arc<FileSpace>,
    /// Database id, for lock resources.
    pub database: u16,
    /// How much log records carry.
    pub logging: Logging,
    /// Lock space of the ghost cleanup (a background task's, from `LockManager::new_space(0)`).
    pub cleanup_locks: Arc<LockSpace>,
}

/// Heaps, trees, allocation and large objects of one database, with their redo and undo.
pub struct AccessMethods {
    pub(crate) me: Weak<AccessMethods>,
    pub(crate) space: Arc<FileSpace>,
    pub(crate) log: Arc<Log>,
    pub(crate) database: u16,
    pub(crate) undo_only: bool,
    pub(crate) allocator: Allocator,
    pub(crate) cleanup_locks: Arc<LockSpace>,
    heaps: Latch<FxHashMap<u32, Arc<HeapState>>>,
    trees: Latch<FxHashMap<u32, Arc<TreeState>>>,
    /// Pages with ghosts, for the cleanup; bounded, only a hint.
    pub(crate) ghost_pages: Latch<Vec<(PageId, PageId)>>,
    next_stamp: AtomicU64,
}

/// Pages that wait for the ghost cleanup, at most; more are found again by scans.
const GHOST_PAGES_MAX: usize = 4096;

thread_local! {
    static RECORD: RefCell<RecordBuf> = RefCell::new(RecordBuf::new());
}

/// Makes the record of a change that belongs to no transaction, and passes it to `append`.
fn structural_record(
    op: LogOp,
    context: LogContext,
    payload: impl FnOnce(&mut Vec<u8>),
    append: impl FnOnce(&RecordBuf) -> AccessResult<Lsn>,
) -> AccessResult<Lsn> {
    RECORD.with_borrow_mut(|record| {
        let flags = RecordFlags::SYSTEM;
        payload(record.start(RecordHeader { context, flags, ..RecordHeader::new(op) }));
        assert!(record.header.txn == TxnId::NULL, "structural records belong to no transaction");
        append(record)
    })
}

impl AccessMethods {
    /// The access methods of a database whose space already has its log.
    pub fn new(options: AccessOptions) -> Arc<AccessMethods> {
        let log = Arc::clone(options.space.log().expect("the log is attached before anything changes pages"));
        let undo_only = options.logging == Logging::UndoOnly;
        assert!(!undo_only || log.is_volatile(), "what is redone after a crash has its images in the log");
        Arc::new_cyclic(|me| AccessMethods {
            me: Weak::clone(me),
            allocator: Allocator::new(),
            space: options.space,
            log,
            database: options.database,
            undo_only,
            cleanup_locks: options.cleanup_locks,
            heaps: Latch::new(LatchRank::Leaf, FxHashMap::default()),
            trees: Latch::new(LatchRank::Leaf, FxHashMap::default()),
            ghost_pages: Latch::new(LatchRank::Leaf, Vec::new()),
            next_stamp: AtomicU64::new(1),
        })
    }

    /// The data files.
    pub fn space(&self) -> &Arc<FileSpace> {
        &self.space
    }

    pub(crate) fn heap_state(&self, unit: u32) -> Arc<HeapState> {
        Arc::clone(self.heaps.lock().entry(unit).or_default())
    }

    pub(crate) fn tree_state(&self, unit: u32) -> Arc<TreeState> {
        Arc::clone(self.trees.lock().entry(unit).or_default())
    }

    pub(crate) fn forget_unit(&self, unit: u32) {
        self.heaps.lock().remove(&unit);
        self.trees.lock().remove(&unit);
    }

    /// A number that no other call returns, not even after a restart, as long as the change that uses it is logged:
    /// the uniquifier of a row in a non-unique clustered index, the stamp of a large object.
    pub fn next_uniquifier(&self) -> u64 {
        let floor = self.log.end().raw();
        let mut current = self.next_stamp.load(Relaxed);
        loop {
            let next = current.max(floor) + 1;
            match self.next_stamp.compare_exchange_weak(current, next, Relaxed, Relaxed) {
                Ok(_) => {
                    assert!(next > floor, "no number of an earlier life comes again");
                    return next;
                }
                Err(now) => current = now,
            }
        }
    }

    /// Appends a change of `txn` that can be undone by writing `undo` at most. Page latches are held.
    #[inline]
    pub(crate) fn append(
        &self,
        txn: &Transaction,
        op: LogOp,
        context: LogContext,
        undo: UndoBytes,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> AccessResult<Lsn> {
        RECORD.with_borrow_mut(|record| {
            payload(record.start(RecordHeader { context, ..RecordHeader::new(op) }));
            let lsn = txn.append(record, undo)?;
            assert_eq!(lsn, txn.last_lsn(), "the change is its transaction's newest record");
            Ok(lsn)
        })
    }

    /// Appends a compensation record whose next record to undo is `undo_next`.
    pub(crate) fn append_compensation(
        &self,
        txn: &Transaction,
        op: LogOp,
        context: LogContext,
        undo_next: Lsn,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> AccessResult<Lsn> {
        RECORD.with_borrow_mut(|record| {
            payload(record.start(RecordHeader { context, ..RecordHeader::new(op) }));
            let lsn = txn.append_compensation(record, undo_next)?;
            assert!(undo_next < lsn && lsn == txn.last_lsn(), "an undo is logged behind what it undoes");
            Ok(lsn)
        })
    }

    /// Appends a change that belongs to no transaction and is never undone: one record, all its pages latched, so it happens
    /// whole or not at all. `for_rollback`: a rollback needs it, it must not fail for space.
    pub(crate) fn append_structural(
        &self,
        for_rollback: bool,
        op: LogOp,
        context: LogContext,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> AccessResult<Lsn> {
        structural_record(op, context, payload, |record| {
            let lsn = match for_rollback {
                true => self.log.append_from_reservation(record)?,
                false => self.log.append(record)?,
            };
            assert!(lsn < self.log.end(), "a record is in the log");
            Ok(lsn)
        })
    }

    /// Like [`Self::append_structural`], for an allocation made during `txn`: reserves log space to free the page again, in case
    /// the transaction that rolls back is the one that created the unit.
    pub(crate) fn append_allocation(
        &self,
        txn: &Transaction,
        op: LogOp,
        context: LogContext,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> AccessResult<Lsn> {
        structural_record(op, context, payload, |record| {
            Ok(txn.append_beside(record, UndoBytes::one(MAP_BITS_OF_PAGE_BYTES))?)
        })
    }

    pub(crate) fn fix(&self, page: PageId, mode: LatchMode) -> AccessResult<PageGuard> {
        Ok(self.space.fix(page, mode)?)
    }

    /// Begins to bring a page that will be latched soon into the processor's cache.
    #[inline]
    pub(crate) fn fetch_early(&self, page: PageId) -> Option<PrefetchHint> {
        self.space.fetch_early(page)
    }

    /// Latches a page that must be of this type and unit.
    pub(crate) fn fix_of(
        &self,
        page: PageId,
        mode: LatchMode,
        page_type: PageType,
        unit: u32,
    ) -> AccessResult<PageGuard> {
        let guard = self.space.fix(page, mode)?;
        if header::page_type(guard.page()) != page_type || header::unit(guard.page()) != unit {
            let found = header::page_type(guard.page()).name();
            let what = format!(
                "expected {} of unit {unit}, found {found} of unit {}",
                page_type.name(),
                header::unit(guard.page())
            );
            return Err(AccessError::corrupt(page, what));
        }
        assert_eq!(guard.id(), page, "the page that was asked for");
        Ok(guard)
    }

    /// Pages that wait for the ghost cleanup.
    pub fn ghost_pages_waiting(&self) -> usize {
        self.ghost_pages.lock().len()
    }

    /// Remembers a page with ghosts for the cleanup. `root`: the tree's, NULL for a heap.
    pub(crate) fn note_ghosts(&self, page: PageId, root: PageId) {
        let mut pages = self.ghost_pages.lock();
        assert!(!page.is_null() && pages.len() <= GHOST_PAGES_MAX, "{} pages wait", pages.len());
        if pages.len() < GHOST_PAGES_MAX && pages.last() != Some(&(page, root)) {
            pages.push((page, root));
        }
    }
}
