//! Row visibility: what a reader sees of a row. Heap scan, heap fetch, tree look-up and both directions of the tree cursor call this code.

use std::sync::Arc;

use pages::{PageBytes, PageType, header, slots, tree_rows};
use txn::{LockMode, LockWait, Resource, Transaction, VersionLookup};

use crate::error::{AccessError, AccessResult};
use crate::ids::Rid;
use crate::options::{Locking, ScanOptions, Waited, row_alone};

/// A reader: how it locks rows, decided once for a scan or look-up.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'t> {
    pub(crate) txn: &'t Transaction,
    pub(crate) locking: Locking,
    /// READPAST: rows that it would have to wait for are skipped.
    pub(crate) skip_locked: bool,
}

/// What a reader sees in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visibility<'p> {
    /// The row.
    Bytes(&'p [u8]),
    /// The row as it was at the reader's snapshot; the page has something else, or nothing.
    Version(Arc<[u8]>),
    /// A stub: the row's bytes lie on another page; see [`PageView::follow`].
    Moved,
    /// Another transaction that has not ended has the row: release the latch, wait for the lock, read the page again.
    Wait,
    /// No row for this reader.
    Gone,
    /// The row's state at the snapshot is no longer known ([`AccessError::VersionLost`]).
    Lost,
    /// The row is locked, and another transaction has changed it since the snapshot of the reader's transaction, or may have
    /// ([`AccessError::UpdateConflict`]).
    Conflict,
}

/// A latched page as one reader sees it.
pub(crate) struct PageView<'p, 't> {
    page: &'p PageBytes,
    reader: Reader<'t>,
    is_all_committed: bool,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(txn: &'t Transaction, locking: Locking, options: &ScanOptions) -> Reader<'t> {
        Reader { txn, locking, skip_locked: options.skip_locked }
    }

    /// This reader, for a key that exists: it locks no gap.
    pub(crate) fn of_row_alone(self) -> Reader<'t> {
        let locking = match self.locking {
            Locking::Range { mode } => Locking::Hold { mode: row_alone(mode), until_next: false },
            other => other,
        };
        assert!(!matches!(locking, Locking::Range { .. }), "a key alone has no gap");
        Reader { locking, ..self }
    }

    /// The row is visible, but does not qualify: a lock that was taken only to read it is released; REPEATABLE READ and SERIALIZABLE
    /// keep it.
    #[inline]
    pub(crate) fn pass_over(&self, lock: impl Fn() -> Resource) {
        if let Locking::Hold { mode, until_next: true } = self.locking {
            self.txn.unlock(&lock(), mode);
        }
    }

    /// Waits for a row without a latch. The caller reads the page again while it holds the returned lock, and then drops it.
    pub(crate) fn wait(&self, row: Resource, wait: LockWait) -> AccessResult<Waited<'t>> {
        let mode = self.locking.row_mode().expect("rows that need no lock are not waited for");
        Waited::wait(self.txn, row, mode, wait)
    }

    /// Ends what [`PageView::follow`] began: a reader that keeps no locks releases the moved row's lock.
    pub(crate) fn has_followed(&self, row: &Resource) {
        if self.locking == Locking::Probe {
            self.txn.unlock(row, LockMode::S);
        }
    }
}

impl<'p, 't> PageView<'p, 't> {
    /// The page is latched, and stays so until the bytes are copied.
    #[inline]
    pub(crate) fn new(page: &'p PageBytes, reader: Reader<'t>) -> PageView<'p, 't> {
        let manager = reader.txn.manager();
        let undecided_from = match reader.locking {
            Locking::Versioned { .. } => manager.versions_begin_at(),
            _ => manager.oldest_active_lsn(),
        };
        let is_all_committed = header::lsn(page) < undecided_from;
        debug_assert!(
            matches!(header::page_type(page), PageType::Heap | PageType::BTree),
            "only pages with rows are looked at"
        );
        PageView { page, reader, is_all_committed }
    }

    /// The reader.
    #[inline]
    pub(crate) fn reader(&self) -> &Reader<'t> {
        &self.reader
    }

    /// Does the page hold only changes of ended transactions (for a snapshot reader: only changes that its snapshot includes)?
    #[inline]
    pub(crate) fn is_all_committed(&self) -> bool {
        self.is_all_committed
    }

    /// What the reader sees in a slot. `lock` makes the row's lock resource; it is called only when needed.
    ///
    /// 1. The page that holds a row's bytes decides its visibility, under the latch under which they are copied, and no other page. A page
    ///    whose LSN is below the first record of the oldest unfinished writer holds only rows of ended transactions: it is *settled*.
    /// 2. A reader without row locks (READ UNCOMMITTED; or its table lock covers the rows) sees the row as it is on the page.
    /// 3. READ COMMITTED (`Probe`) sees every row of a settled page, and on another page those that it could lock at this moment. It
    ///    keeps no lock.
    /// 4. A reader that keeps its locks (`Hold`: REPEATABLE READ, UPDLOCK, XLOCK, rows with large values; `Range`: SERIALIZABLE) sees a
    ///    row when it has the row's lock, on a settled page too.
    /// 5. A deleted row is gone as soon as its deleter has ended (tested as in rule 3, for `Hold` too: a deleted row is not locked). `Range`
    ///    locks it: its key bounds a gap.
    /// 6. A free slot, and one whose row was moved here from its own address, hold no row of this address.
    /// 7. A stub holds no bytes, and its page does not decide for the page that does. A reader that follows it takes the row's lock first, even
    ///    where rule 3 would need none: until this lock is released, no transaction changes or moves the row, so the stub's target holds
    ///    the row, in a committed state. A reader without locks reads the stub once more after the row.
    /// 8. With READPAST, a row that other readers would wait for counts as gone.
    /// 9. Conditions on the bytes ([`crate::RowTest`]) are evaluated on a visible row only: a reader that has to wait for a row
    ///    waits, whether the row will qualify or not. The lock of a row that does not qualify is treated as in [`Reader::pass_over`].
    /// 10. A snapshot reader locks nothing and waits for nothing. Where no change since the oldest snapshot is possible (the page's LSN is
    ///     below [`txn::TxnManager::versions_begin_at`]) it sees the page as it is. Elsewhere it looks up the row's versions by the row's
    ///     name (a heap row's address or a tree row's key), under the latch under which writers store them. It sees the changes of its own
    ///     transaction and those committed up to its snapshot; of a row with later changes it sees the image before the oldest of them. A moved
    ///     row's name is its stub's address, and the look-up is repeated on the page with its bytes.
    /// 11. A SNAPSHOT transaction that has locked a row changed and committed by another transaction since its snapshot gets a conflict; also
    ///     when the snapshot was given up, because the conflict can then no longer be detected.
    #[inline]
    pub(crate) fn see(&self, slot: u16, lock: impl Fn() -> Resource + Copy) -> Visibility<'p> {
        let Some(row) = slots::row(self.page, slot) else { return Visibility::Gone };
        if let Locking::Versioned { snapshot } = self.reader.locking
            && !self.is_all_committed
        {
            return self.see_at(snapshot, slot, row);
        }
        match slots::flags(self.page, slot) {
            0 if self.may_see(lock) => self.unless_changed(slot, row),
            0 => self.refused(),
            flags if flags & slots::FORWARDED != 0 => Visibility::Gone,
            flags if flags & slots::GHOST == 0 => Visibility::Moved,
            _ if self.is_deletion_decided(lock) => Visibility::Gone,
            _ => self.refused(),
        }
    }

    /// Rule 10.
    fn see_at(&self, snapshot: u64, slot: u16, row: &'p [u8]) -> Visibility<'p> {
        let flags = slots::flags(self.page, slot);
        assert!(!self.is_all_committed, "what is committed is read as it stands");
        if flags & slots::FORWARDED != 0 {
            return Visibility::Gone;
        }
        match self.lookup(snapshot, slot, row) {
            VersionLookup::Present if flags & slots::GHOST != 0 => Visibility::Gone,
            VersionLookup::Present if flags == 0 => Visibility::Bytes(row),
            VersionLookup::Present => Visibility::Moved,
            VersionLookup::Was(image) => Visibility::Version(image),
            VersionLookup::Absent => Visibility::Gone,
            VersionLookup::Lost => Visibility::Lost,
        }
    }

    fn lookup(&self, snapshot: u64, slot: u16, row: &[u8]) -> VersionLookup {
        let (txn, unit) = (self.reader.txn, header::unit(self.page));
        let versions = txn.manager().versions();
        match header::page_type(self.page) {
            PageType::BTree => versions.see(unit, tree_rows::split_row(row).0, snapshot, txn.id()),
            _ => {
                let rid = Rid { page: header::id(self.page), slot };
                versions.see(unit, &rid.to_bytes(), snapshot, txn.id())
            }
        }
    }

    /// Rule 11, for a visible row. Not for `Probe`: it locks nothing and changes nothing.
    #[inline]
    fn unless_changed(&self, slot: u16, row: &'p [u8]) -> Visibility<'p> {
        let keeps = matches!(self.reader.locking, Locking::Hold { .. } | Locking::Range { .. });
        if keeps && self.conflicts(slot, row) { Visibility::Conflict } else { Visibility::Bytes(row) }
    }

    fn conflicts(&self, slot: u16, row: &[u8]) -> bool {
        let unit = header::unit(self.page);
        assert!(self.reader.locking.row_mode().is_some(), "whoever asks has the row's lock");
        match header::page_type(self.page) {
            PageType::BTree => self.reader.txn.conflicts_over(unit, tree_rows::split_row(row).0),
            _ => {
                let rid = Rid { page: header::id(self.page), slot };
                self.reader.txn.conflicts_over(unit, &rid.to_bytes())
            }
        }
    }

    /// Rule 10 for the row whose stub is at `rid`: looked up again under the latch of the page with its bytes.
    pub(crate) fn lookup_of_moved(&self, rid: Rid) -> VersionLookup {
        assert!(header::page_type(self.page) == PageType::Heap, "rows of trees do not move away");
        match self.reader.locking {
            Locking::Versioned { snapshot } => {
                let (txn, unit) = (self.reader.txn, header::unit(self.page));
                txn.manager().versions().see(unit, &rid.to_bytes(), snapshot, txn.id())
            }
            _ => VersionLookup::Present,
        }
    }

    /// Rule 7: takes the lock of the row whose stub is on this page. `Moved`: the reader has it, reads the target, and then calls
    /// [`Reader::has_followed`].
    pub(crate) fn follow(&self, slot: u16, lock: impl Fn() -> Resource) -> Visibility<'p> {
        debug_assert!(header::page_type(self.page) == PageType::Heap, "rows of trees do not move away");
        let mode = match self.reader.locking {
            Locking::None | Locking::Versioned { .. } => return Visibility::Moved,
            Locking::Probe => LockMode::S,
            Locking::Hold { mode, .. } | Locking::Range { mode } => mode,
        };
        if !self.reader.txn.try_lock(lock(), mode) {
            return self.not_followed();
        }
        let keeps = matches!(self.reader.locking, Locking::Hold { .. } | Locking::Range { .. });
        if keeps && self.conflicts(slot, &[]) { Visibility::Conflict } else { Visibility::Moved }
    }

    fn not_followed(&self) -> Visibility<'p> {
        os::sim::reach(|| "a moved row is somebody else's".to_owned());
        self.refused()
    }

    /// The bytes at the target of a stub that has been followed; `None` when no moved row is there.
    pub(crate) fn moved_row(&self, slot: u16) -> Option<&'p [u8]> {
        debug_assert!(header::page_type(self.page) == PageType::Heap, "rows of trees do not move away");
        let is_target = slots::flags(self.page, slot) & (slots::GHOST | slots::FORWARDED) == slots::FORWARDED;
        if is_target { slots::row(self.page, slot) } else { None }
    }

    #[inline]
    fn may_see(&self, lock: impl Fn() -> Resource) -> bool {
        match self.reader.locking {
            Locking::None | Locking::Versioned { .. } => true,
            Locking::Probe => self.is_all_committed || self.reader.txn.could_lock(&lock(), LockMode::S),
            Locking::Hold { mode, .. } | Locking::Range { mode } => self.reader.txn.try_lock(lock(), mode),
        }
    }

    fn is_deletion_decided(&self, lock: impl Fn() -> Resource) -> bool {
        match self.reader.locking {
            Locking::None | Locking::Versioned { .. } => true,
            Locking::Probe | Locking::Hold { .. } => {
                self.is_all_committed || self.reader.txn.could_lock(&lock(), LockMode::S)
            }
            Locking::Range { mode } => self.reader.txn.try_lock(lock(), mode),
        }
    }

    fn refused(&self) -> Visibility<'p> {
        if self.reader.skip_locked { Visibility::Gone } else { Visibility::Wait }
    }
}

impl Visibility<'_> {
    /// The error of a row that cannot be read or must not be changed.
    pub(crate) fn error(&self) -> AccessError {
        match self {
            Visibility::Lost => AccessError::VersionLost,
            Visibility::Conflict => AccessError::UpdateConflict,
            other => unreachable!("{other:?} is an answer"),
        }
    }
}
