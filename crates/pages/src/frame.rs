//! A frame of the buffer pool, and the guard through which a page in it is read and changed.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use log::Lsn;
use os::{AlignedBuf, LatchRank, ReadArcGuard, RwLatch, WaitType, WriteArcGuard};

use crate::header;
use crate::page_id::{PAGE_BYTES, PageBytes, PageId};

/// The key of a frame that holds no page.
pub(crate) const NO_KEY: u64 = u64::MAX;

/// How a page is to be latched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatchMode {
    /// For reading, shared with other readers.
    Shared,
    /// For changing, exclusive.
    Exclusive,
}

/// Memory for one page, 4096-aligned for direct I/O.
pub(crate) struct FrameBytes(AlignedBuf);

/// Frames whose memory is allocated together.
pub(crate) const FRAMES_OF_BLOCK: usize = 64;

impl FrameBytes {
    #[inline]
    pub(crate) fn page(&self) -> &PageBytes {
        self.0[..].try_into().expect("a frame is one page")
    }

    #[inline]
    pub(crate) fn page_mut(&mut self) -> &mut PageBytes {
        (&mut self.0[..]).try_into().expect("a frame is one page")
    }
}

/// A frame for a page. Holding a clone of its `Arc` pins it: the pool evicts only frames without other holders.
///
/// Dirty state, both fields raw LSNs, 0 for none:
/// ```text
///   clean ──set_lsn──► recovery_lsn ≠ 0 ──begin_write──► writing_lsn ≠ 0 ──end_write(ok)──► clean
///                            ▲     ▲                         │   (may become dirty again meanwhile)
///                            │     └──────end_write(failed)──┘   (and failed_lsn ≠ 0 from then on)
/// ```
/// A page may need redo from the lowest of the three. A reader reads `recovery_lsn`, then `writing_lsn`, then `failed_lsn`: an LSN moves
/// from the first to the second and from the second to the third, and is stored in the new field before it is cleared in the old one, so the reader
/// finds it in one of them. `failed_lsn` stays, since a page whose write has failed never counts as written again.
pub(crate) struct Frame {
    key: AtomicU64,
    /// The address of its bytes, for [`PrefetchHint`] only.
    address: usize,
    latch: RwLatch<FrameBytes>,
    recovery_lsn: AtomicU64,
    writing_lsn: AtomicU64,
    failed_lsn: AtomicU64,
    referenced: AtomicBool,
}

impl Frame {
    /// An empty frame with the memory of one page.
    pub(crate) fn new(bytes: AlignedBuf) -> Frame {
        assert_eq!(bytes.len(), PAGE_BYTES, "a frame is one page");
        let bytes = FrameBytes(bytes);
        let address = bytes.0.as_ptr().addr();
        assert!(address.is_multiple_of(PAGE_BYTES / 2), "a frame is aligned for direct I/O");
        let (shared, exclusive) = (WaitType::PAGELATCH_SH, WaitType::PAGELATCH_EX);
        Frame {
            key: AtomicU64::new(NO_KEY),
            address,
            latch: RwLatch::with_wait_types(LatchRank::BTreePage, shared, exclusive, bytes),
            recovery_lsn: AtomicU64::new(0),
            writing_lsn: AtomicU64::new(0),
            failed_lsn: AtomicU64::new(0),
            referenced: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    #[inline]
    pub(crate) fn key(&self) -> u64 {
        self.key.load(Acquire)
    }

    pub(crate) fn set_key(&self, key: u64) {
        assert!((key == NO_KEY) != (self.key() == NO_KEY), "a frame changes its page through none");
        assert!(
            key != NO_KEY || self.recovery_lsn.load(Acquire) == 0,
            "changes are never dropped with the page"
        );
        assert!(
            key != NO_KEY || self.writing_lsn.load(Acquire) == 0,
            "a page stays in its frame until its write has ended"
        );
        self.key.store(key, Release);
    }

    /// Invariant while no other thread can reach the frame: a frame without a page is clean.
    pub(crate) fn assert_state(&self) {
        assert!(self.key() != NO_KEY || !self.is_dirty(), "an empty frame has changes");
        let (recovery, failed) = (self.recovery_lsn.load(Acquire), self.failed_lsn.load(Acquire));
        assert!(failed == 0 || recovery == 0 || failed <= recovery, "what failed first is the oldest");
    }

    #[inline]
    pub(crate) fn note_use(&self) {
        if !self.referenced.load(Relaxed) {
            self.referenced.store(true, Relaxed);
        }
    }

    /// Was it used since the last round of the clock?
    pub(crate) fn take_reference(&self) -> bool {
        self.referenced.swap(false, Relaxed)
    }

    #[inline]
    pub(crate) fn latch(&self) -> &RwLatch<FrameBytes> {
        &self.latch
    }

    /// The oldest log record that the page on disk may lack; `None` when it lacks none.
    pub(crate) fn oldest_unwritten(&self) -> Option<Lsn> {
        // In this order; see the heading of `Frame`.
        let recovery = self.recovery_lsn.load(Acquire);
        let writing = self.writing_lsn.load(Acquire);
        let failed = self.failed_lsn.load(Acquire);
        [recovery, writing, failed].into_iter().filter(|&lsn| lsn != 0).min().map(Lsn::from_raw)
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.oldest_unwritten().is_some()
    }

    /// Has a thread claimed the page for writing and not ended the write?
    pub(crate) fn is_being_written(&self) -> bool {
        self.writing_lsn.load(Acquire) != 0
    }

    /// Has a write of the page failed? Then its database or its log has failed, and the page is never written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed_lsn.load(Acquire) != 0
    }

    /// Under a latch: its database writes no pages any more, so the page counts as one whose write has failed.
    pub(crate) fn note_failed(&self) {
        if let Some(oldest) = self.oldest_unwritten() {
            let _ = self.failed_lsn.compare_exchange(0, oldest.raw(), AcqRel, Relaxed);
        }
        assert!(self.has_failed() || !self.is_dirty(), "no search for a frame waits for this page any more");
    }

    /// Marks the page as clean because its database goes away. Under the exclusive latch, while no thread writes it.
    pub(crate) fn forget_changes(&self) {
        assert!(!self.is_being_written(), "the end of a write would mark the frame again");
        self.recovery_lsn.store(0, Release);
        self.failed_lsn.store(0, Release);
        assert!(self.oldest_unwritten().is_none(), "the frame has no changes any more");
    }

    /// Under the exclusive latch: the page was changed by `lsn`.
    #[inline]
    fn note_change(&self, lsn: Lsn) {
        assert!(!lsn.is_null(), "a change has a log record");
        let recovery = self.recovery_lsn.load(Relaxed);
        assert!(recovery <= lsn.raw(), "the first change that the disk lacks is the oldest");
        if recovery == 0 {
            // Fails only when a failed write has just put an older LSN there.
            let _ = self.recovery_lsn.compare_exchange(0, lsn.raw(), AcqRel, Relaxed);
        }
    }

    /// Under the shared latch: claims the page for writing. False when it is clean or another thread writes it.
    pub(crate) fn begin_write(&self) -> bool {
        assert!(self.key() != NO_KEY, "a frame without a page is not written");
        let recovery = self.recovery_lsn.load(Acquire);
        if recovery == 0 || self.writing_lsn.compare_exchange(0, recovery, AcqRel, Relaxed).is_err() {
            return false;
        }
        if self.recovery_lsn.load(Acquire) != recovery {
            self.writing_lsn.store(0, Release);
            return false;
        }
        self.recovery_lsn.store(0, Release);
        assert_eq!(self.writing_lsn.load(Acquire), recovery, "one writer claims a page");
        true
    }

    /// The write claimed by [`Frame::begin_write`] is durable, or failed.
    pub(crate) fn end_write(&self, succeeded: bool) {
        let writing = self.writing_lsn.load(Acquire);
        assert!(writing != 0, "a write ends that never began");
        let newer = self.recovery_lsn.load(Acquire);
        assert!(newer == 0 || newer >= writing, "changes since then have newer records");
        if !succeeded {
            if self.failed_lsn.load(Acquire) == 0 {
                self.failed_lsn.store(writing, Release);
            }
            assert!(
                self.failed_lsn.load(Acquire) <= writing,
                "what a page lacks since its first failed write is the oldest"
            );
            // Lower than the LSN of any later change: the page on disk still lacks the older records.
            self.recovery_lsn.store(writing, Release);
        }
        self.writing_lsn.store(0, Release);
    }
}

/// A latched page. Dropping it releases the latch, and then the pin: an evictor never finds a frame that is unpinned but latched.
pub struct PageGuard {
    hold: Hold,
}

enum Hold {
    Shared(ReadArcGuard<Frame, FrameBytes>),
    Exclusive(WriteArcGuard<Frame, FrameBytes>),
}

impl PageGuard {
    #[inline]
    pub(crate) fn take(frame: Arc<Frame>, mode: LatchMode) -> PageGuard {
        let hold = match mode {
            LatchMode::Shared => Hold::Shared(ReadArcGuard::take(frame, Frame::latch)),
            LatchMode::Exclusive => Hold::Exclusive(WriteArcGuard::take(frame, Frame::latch)),
        };
        PageGuard { hold }
    }

    pub(crate) fn try_take(frame: Arc<Frame>, mode: LatchMode) -> Option<PageGuard> {
        let hold = match mode {
            LatchMode::Shared => Hold::Shared(ReadArcGuard::try_take(frame, Frame::latch)?),
            LatchMode::Exclusive => Hold::Exclusive(WriteArcGuard::try_take(frame, Frame::latch)?),
        };
        Some(PageGuard { hold })
    }

    #[inline]
    pub(crate) fn frame(&self) -> &Arc<Frame> {
        match &self.hold {
            Hold::Shared(guard) => ReadArcGuard::owner(guard),
            Hold::Exclusive(guard) => WriteArcGuard::owner(guard),
        }
    }

    /// The page's address.
    #[inline]
    pub fn id(&self) -> PageId {
        let key = self.frame().key();
        debug_assert!(key != NO_KEY, "a latched frame keeps its page");
        PageId::unpack(key)
    }

    /// The page.
    #[inline]
    pub fn page(&self) -> &PageBytes {
        match &self.hold {
            Hold::Shared(guard) => guard.page(),
            Hold::Exclusive(guard) => guard.page(),
        }
    }

    /// The page for a change; [`PageGuard::set_lsn`] must follow with the record that describes it.
    #[inline]
    pub fn page_mut(&mut self) -> &mut PageBytes {
        match &mut self.hold {
            Hold::Shared(_) => panic!("a page is changed under an exclusive latch only"),
            Hold::Exclusive(guard) => guard.page_mut(),
        }
    }

    /// Is the latch exclusive?
    pub fn is_exclusive(&self) -> bool {
        matches!(self.hold, Hold::Exclusive(_))
    }

    /// The log record that changed the page last.
    #[inline]
    pub fn lsn(&self) -> Lsn {
        header::lsn(self.page())
    }

    /// The page now contains the change that record `lsn` describes; it is dirty from that record on.
    #[inline]
    pub fn set_lsn(&mut self, lsn: Lsn) {
        assert!(!lsn.is_null(), "a change has a log record");
        let page = self.page_mut();
        assert!(header::lsn(page) <= lsn, "page LSN goes back from {} to {lsn}", header::lsn(page));
        assert!(header::version(page) != 0, "a page is formatted before it is changed");
        let own = header::id(page);
        header::set_lsn(page, lsn);
        assert_eq!(own, self.id(), "a page stands in its own frame");
        self.frame().note_change(lsn);
        debug_assert!(self.frame().is_dirty());
    }

    /// Downgrades the latch to shared.
    pub fn downgrade(self) -> PageGuard {
        let key = self.frame().key();
        let hold = match self.hold {
            Hold::Shared(guard) => Hold::Shared(guard),
            Hold::Exclusive(guard) => Hold::Shared(guard.downgrade()),
        };
        let guard = PageGuard { hold };
        assert_eq!(guard.frame().key(), key, "the frame keeps its page meanwhile");
        guard
    }
}

impl std::fmt::Debug for PageGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PageGuard{}", self.id())
    }
}

/// Called before a wait for pages that other threads latch: the caller must hold no page latch that they wait for.
pub(crate) fn assert_no_page_latch_held() {
    assert!(!os::held_ranks().contains(&LatchRank::BTreePage), "waiting for pages while holding one");
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::Os;

    /// A page whose writes fail looks dirty to every reader at every moment, also between the two stores of a failed write.
    #[test]
    fn a_page_whose_write_fails_never_looks_clean() {
        const ROUNDS: u64 = 2_000_000;
        let frame = Arc::new(Frame::new(AlignedBuf::new(PAGE_BYTES)));
        frame.set_key(PageId::new(1, 8).pack());
        frame.note_change(Lsn::from_raw(1));
        let done = Arc::new(AtomicBool::new(false));
        let (watched, watch_ended) = (Arc::clone(&frame), Arc::clone(&done));
        let watcher = Os::real().spawn("watcher", move || {
            let mut looks = 0u64;
            while !watch_ended.load(Acquire) {
                let oldest = watched.oldest_unwritten();
                assert_eq!(oldest, Some(Lsn::from_raw(1)), "after {looks} looks");
                looks += 1;
            }
        });
        for round in 0..ROUNDS {
            assert!(frame.begin_write(), "round {round}");
            frame.end_write(false);
        }
        done.store(true, Release);
        watcher.join().expect("the page was never seen clean");
    }
}
