//! The buffer pool: one per instance. Looks up a page's frame, or finds a free frame for a page (clock replacement).
//!
//! Latches: a partition of the page table and the list of frames are never held together, and neither during I/O.
//! Pinning is holding a clone of the frame's `Arc`; clones are made under the partition's latch only, so that an evictor
//! that holds that latch and counts no other clone may take the frame.

use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use os::{AlignedBuf, Counter, CounterType, Latch, LatchRank, Os, WaitType};
use rustc_hash::FxHashMap;

use crate::error::PageError;
use crate::frame::{FRAMES_OF_BLOCK, Frame, NO_KEY};
use crate::page_id::PAGE_BYTES;

/// Partitions of the page table.
const PARTITIONS: usize = 128;
/// Dirty frames that one evictor writes together, at most.
const EVICT_BATCH: usize = 32;
const _: () = assert!(PARTITIONS.is_power_of_two(), "a key's partition is a few of its hash's bits");
const _: () = assert!(EVICT_BATCH <= crate::doublewrite::BATCH_PAGES_MAX, "an evictor writes one batch");
/// How long a search for a frame continues after it found all of them in use, and the pauses in between, which double each time
/// unless pages are being written.
const SEARCH_NS_MAX: u64 = 500_000_000;
const REST_NS: u64 = 1_000_000;
const REST_NS_MAX: u64 = 16_000_000;
/// Longest search in all, waiting for writes in progress included, whose frames then become free: beyond this the disk counts as stalled.
const STALLED_DISK_NS_MAX: u64 = 300_000_000_000;
/// Clones of a frame's `Arc` that exist when no thread uses it: the frame list's, the page table's and the evictor's.
const CLONES_WHEN_IDLE: usize = 3;

/// The size limit of the pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    /// Memory for pages in bytes; allocated as it is needed. At least 64 pages.
    pub memory_bytes: u64,
}

/// Figures of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Frames that exist.
    pub frames: usize,
    /// Frames that may exist.
    pub frames_max: usize,
    /// Frames whose page differs from the disk.
    pub dirty: usize,
    /// Pages read since start.
    pub reads_total: u64,
    /// Pages written since start.
    pub writes_total: u64,
    /// Pages evicted since start.
    pub evictions_total: u64,
    /// Pages looked up since start, in memory or not.
    pub lookups_total: u64,
    /// Pages written because their frames were needed.
    pub lazy_writes_total: u64,
    /// Searches for a frame that had to wait.
    pub stalls_total: u64,
    /// Seconds that a page stays without further references.
    pub life_expectancy_s: u64,
}

struct FrameList {
    all: Vec<Arc<Frame>>,
    free: Vec<Arc<Frame>>,
    /// Memory for later frames.
    memory: Vec<AlignedBuf>,
    hand: usize,
}

/// How long a page stays without further references, at the mean rate of evictions: every frame is reused once in that time. At most the
/// age of the pool.
fn life_expectancy_s(age_s: u64, frames_max: usize, evictions_total: u64) -> u64 {
    let turns = evictions_total / frames_max.max(1) as u64;
    age_s / (turns + 1)
}

impl FrameList {
    fn assert_state(&self, frames_max: usize) {
        assert!(self.free.len() <= self.all.len(), "free frames are among all");
        assert!(self.all.len() <= frames_max, "{} of {frames_max} frames", self.all.len());
        assert!(
            self.memory.len() <= frames_max - self.all.len(),
            "memory is set aside only for frames that may exist"
        );
        assert!(self.hand == 0 || self.hand < self.all.len(), "the clock's hand points at a frame");
    }
}

/// A page's frame, and the address of its bytes: a prefetch ([`crate::PrefetchHint`]) then does not access the frame.
struct FrameAddress {
    frame: Arc<Frame>,
    address: usize,
}

/// Part of the page table: key to frame, and how often a page was looked up here.
#[derive(Default)]
struct PageTable {
    frames: FxHashMap<u64, FrameAddress>,
    lookups_total: u64,
}

type Partition = Latch<PageTable>;

/// The treatment of a page that another thread is changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfLatched {
    /// Skip it (the caller may hold page latches).
    PassOver,
    /// Wait for it (the caller holds none).
    Wait,
}

/// The owner of pages in the pool: the files of one database. The pool knows only this interface of them.
pub(crate) trait WriteOut: Send + Sync {
    /// Writes those of `frames` that are dirty and its own; returns how many.
    fn write_out(&self, frames: Vec<Arc<Frame>>, if_latched: IfLatched) -> Result<usize, PageError>;
}

/// The result of a search for a frame.
enum Search {
    /// A frame without a page, and without other holders.
    Found(Arc<Frame>),
    /// Other threads use all frames except failed ones; `is_writing`: some pages are being written.
    InUse { is_writing: bool },
    /// Every frame has a page whose write has failed.
    Hopeless,
}

/// Memory for pages of all databases.
pub struct BufferPool {
    os: Os,
    table: Box<[Partition]>,
    frames: Latch<FrameList>,
    frames_max: usize,
    spaces: Latch<FxHashMap<u16, Weak<dyn WriteOut>>>,
    next_space: AtomicU16,
    frames_count: AtomicUsize,
    evictions_total: AtomicU64,
    /// Pages written because their frames were needed.
    lazy_writes_total: AtomicU64,
    /// Searches for a frame that found none and were repeated.
    stalls_total: AtomicU64,
    began_ns: u64,
    reads: Arc<Counter>,
    writes: Arc<Counter>,
}

impl BufferPool {
    /// An empty pool; frames are allocated as pages come in.
    pub fn new(os: &Os, options: PoolOptions) -> Arc<BufferPool> {
        let frames_max = ((options.memory_bytes / PAGE_BYTES as u64) as usize).max(64);
        let table = (0..PARTITIONS).map(|_| Latch::new(LatchRank::BufferPartition, PageTable::default()));
        let counter = |name: &str| {
            os.counters().counter_of_type("SQLServer:Buffer Manager", name, "", CounterType::BulkCount)
        };
        let list = FrameList { all: Vec::new(), free: Vec::new(), memory: Vec::new(), hand: 0 };
        Arc::new(BufferPool {
            table: table.collect(),
            frames: Latch::new(LatchRank::BufferPartition, list),
            frames_max,
            spaces: Latch::new(LatchRank::BufferPartition, FxHashMap::default()),
            next_space: AtomicU16::new(1),
            frames_count: AtomicUsize::new(0),
            evictions_total: AtomicU64::new(0),
            lazy_writes_total: AtomicU64::new(0),
            stalls_total: AtomicU64::new(0),
            began_ns: os.clock().monotonic_ns(),
            reads: counter("Page reads/sec"),
            writes: counter("Page writes/sec"),
            os: os.clone(),
        })
    }

    /// The world that the pool lives in.
    pub fn os(&self) -> &Os {
        &self.os
    }

    /// Figures; counts dirty frames one by one.
    pub fn stats(&self) -> PoolStats {
        let mut dirty = 0;
        self.for_each_frame(|frame| dirty += usize::from(frame.is_dirty()));
        assert!(dirty <= self.frames_count.load(Relaxed), "{dirty} frames are dirty");
        let evictions_total = self.evictions_total.load(Relaxed);
        let age_ns = self.os.clock().monotonic_ns().saturating_sub(self.began_ns);
        PoolStats {
            frames: self.frames_count.load(Relaxed),
            frames_max: self.frames_max,
            dirty,
            reads_total: self.reads.get() as u64,
            writes_total: self.writes.get() as u64,
            evictions_total,
            lookups_total: self.table.iter().map(|partition| partition.lock().lookups_total).sum(),
            lazy_writes_total: self.lazy_writes_total.load(Relaxed),
            stalls_total: self.stalls_total.load(Relaxed),
            life_expectancy_s: life_expectancy_s(age_ns / 1_000_000_000, self.frames_max, evictions_total),
        }
    }

    /// True when new pages will soon need evictions.
    pub(crate) fn is_nearly_full(&self) -> bool {
        let frames = self.frames_count.load(Relaxed);
        assert!(frames <= self.frames_max, "{frames} of {} frames", self.frames_max);
        frames + self.frames_max / 16 >= self.frames_max
    }

    pub(crate) fn note_read(&self) {
        self.reads.increment();
    }

    pub(crate) fn note_writes(&self, pages: usize) {
        assert!(pages > 0, "a batch has pages");
        self.writes.add(pages as i64);
    }

    /// Gives the files of a database their number in the keys of the page table.
    pub(crate) fn register<S: WriteOut + 'static>(&self, make: impl FnOnce(u16) -> Arc<S>) -> Arc<S> {
        let number = loop {
            let number = self.next_space.fetch_add(1, Relaxed) & 0x7fff;
            if number != 0 && self.space(number).is_none() {
                break number;
            }
        };
        assert!((1..=0x7fff).contains(&number), "a key has 15 bits for the number of a space");
        // Pages of an earlier space with this number that was dropped without discarding its pages.
        self.discard(number);
        let space = make(number);
        let weak: Weak<S> = Arc::downgrade(&space);
        let before = self.spaces.lock().insert(number, weak);
        assert!(before.is_none_or(|one| one.upgrade().is_none()), "one space has number {number}");
        assert!(self.space(number).is_some(), "an evictor finds the owner of the space's pages");
        space
    }

    fn space(&self, number: u16) -> Option<Arc<dyn WriteOut>> {
        self.spaces.lock().get(&number).and_then(Weak::upgrade)
    }

    #[inline]
    fn partition(&self, key: u64) -> &Partition {
        // Neighbouring pages spread over the partitions; files and databases are mixed in from above.
        let mixed = key ^ key >> 32 ^ key >> 43;
        &self.table[mixed as usize % PARTITIONS]
    }

    /// The frame that holds the page, pinned.
    #[inline]
    pub(crate) fn lookup(&self, key: u64) -> Option<Arc<Frame>> {
        let mut partition = self.partition(key).lock();
        partition.lookups_total += 1;
        let place = partition.frames.get(&key)?;
        debug_assert_eq!(place.frame.key(), key, "a frame in the table has the page of its entry");
        Some(Arc::clone(&place.frame))
    }

    /// The addresses of the frame that holds the page, and of its bytes, without a pin.
    #[inline]
    pub(crate) fn place_of(&self, key: u64) -> Option<(usize, usize)> {
        assert!(key != NO_KEY, "the page of a frame without one is nowhere");
        let partition = self.partition(key).lock();
        partition.frames.get(&key).map(|place| (Arc::as_ptr(&place.frame).addr(), place.address))
    }

    /// Enters a frame that the caller has latched exclusively; returns the existing frame when another thread was faster.
    pub(crate) fn publish(&self, key: u64, frame: &Arc<Frame>) -> Result<(), Arc<Frame>> {
        let mut partition = self.partition(key).lock();
        if let Some(other) = partition.frames.get(&key) {
            return Err(Arc::clone(&other.frame));
        }
        assert!(key != NO_KEY && frame.key() == NO_KEY && !frame.is_dirty(), "an empty frame takes a page");
        frame.assert_state();
        frame.set_key(key);
        let place = FrameAddress { frame: Arc::clone(frame), address: frame.address() };
        assert!(place.address != 0, "a frame has memory");
        let before = partition.frames.insert(key, place);
        assert!(before.is_none(), "a page is in one frame");
        Ok(())
    }

    /// Removes a page from the table: reading it failed. A thread that waits for its latch then finds the key cleared and tries again.
    pub(crate) fn withdraw(&self, key: u64, frame: &Arc<Frame>) {
        let mut partition = self.partition(key).lock();
        let removed = partition.frames.remove(&key);
        assert!(
            removed.is_some_and(|removed| Arc::ptr_eq(&removed.frame, frame)),
            "withdraws its own frame only"
        );
        frame.set_key(NO_KEY);
        frame.assert_state();
    }

    /// Memory of all its frames, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.frames_max * PAGE_BYTES) as u64
    }

    /// Returns a frame that never got a page.
    pub(crate) fn give_back(&self, frame: Arc<Frame>) {
        assert!(frame.key() == NO_KEY && !frame.is_dirty(), "only empty frames are free");
        let mut list = self.frames.lock();
        assert!(!list.free.iter().any(|free| Arc::ptr_eq(free, &frame)), "a frame is given back once");
        list.free.push(frame);
        list.assert_state(self.frames_max);
    }

    /// A frame without a page and without other holders: free, new, or evicted.
    pub(crate) fn take_frame(&self) -> Result<Arc<Frame>, PageError> {
        {
            let mut list = self.frames.lock();
            list.assert_state(self.frames_max);
            if let Some(frame) = list.free.pop() {
                frame.assert_state();
                return Ok(frame);
            }
            if list.all.len() < self.frames_max {
                if list.memory.is_empty() {
                    let count = FRAMES_OF_BLOCK.min(self.frames_max - list.all.len());
                    list.memory = AlignedBuf::several(count, PAGE_BYTES);
                }
                let memory = list.memory.pop().unwrap_or_else(|| AlignedBuf::new(PAGE_BYTES));
                let frame = Arc::new(Frame::new(memory));
                list.all.push(Arc::clone(&frame));
                self.frames_count.store(list.all.len(), Relaxed);
                assert!(list.all.len() <= self.frames_max);
                return Ok(frame);
            }
        }
        self.evict()
    }

    /// Evicts a page and returns its frame. When all are latched it waits a short time for their users; not for ever, since the caller may hold
    /// latches that they wait for. Page writes in progress wait for no latch (`write_out.rs`): it waits for them as long as
    /// the disk may take. It does not wait for pages whose writes have failed.
    fn evict(&self) -> Result<Arc<Frame>, PageError> {
        let (mut rest_ns, mut rested_ns, mut in_vain_ns) = (REST_NS, 0, 0);
        while in_vain_ns < SEARCH_NS_MAX && rested_ns < STALLED_DISK_NS_MAX {
            let is_writing = match self.search() {
                Search::Found(frame) => {
                    assert!(frame.key() == NO_KEY, "the page has left the frame");
                    frame.assert_state();
                    return Ok(frame);
                }
                Search::Hopeless => break,
                Search::InUse { is_writing } => is_writing,
            };
            self.stalls_total.fetch_add(1, Relaxed);
            let _ = self.os.sleep(rest_ns, WaitType::SLEEP_BPOOL_FLUSH);
            rested_ns += rest_ns;
            in_vain_ns += if is_writing { 0 } else { rest_ns };
            rest_ns = if is_writing { REST_NS } else { (2 * rest_ns).min(REST_NS_MAX) };
        }
        Err(PageError::PoolExhausted)
    }

    /// Clock replacement. Writes dirty pages in small batches when it finds no clean one.
    fn search(&self) -> Search {
        let mut dirty: Vec<Arc<Frame>> = Vec::new();
        let (mut has_hope, mut is_writing) = (false, false);
        let patience = 4 * self.frames_max;
        for step in 1.. {
            if dirty.len() >= EVICT_BATCH || (step % patience == 0 && !dirty.is_empty()) {
                // A database that cannot write is suspect or gets the error at its next commit, and its pages are marked as failed. The
                // caller may belong to another database: the search continues with other pages, until none is left.
                let written = self.write_victims(std::mem::take(&mut dirty)).unwrap_or(0);
                self.lazy_writes_total.fetch_add(written as u64, Relaxed);
            } else if step > 3 * patience {
                break;
            }
            let frame = self.next_candidate();
            let key = frame.key();
            if key != NO_KEY && frame.take_reference() {
                has_hope |= !frame.has_failed();
                continue;
            }
            if key == NO_KEY {
                // Left over from a failed read: only the list and this function hold it.
                if Arc::strong_count(&frame) == CLONES_WHEN_IDLE - 1 {
                    return Search::Found(frame);
                }
                has_hope = true;
                continue;
            }
            if frame.is_dirty() {
                if !frame.has_failed() {
                    has_hope = true;
                    is_writing |= frame.is_being_written();
                    dirty.push(frame);
                    assert!(dirty.len() <= EVICT_BATCH, "an evictor writes one batch at a time");
                }
                continue;
            }
            if self.take_from_table(key, &frame) {
                assert!(frame.key() == NO_KEY && !frame.is_dirty(), "only a clean page is evicted");
                self.evictions_total.fetch_add(1, Relaxed);
                return Search::Found(frame);
            }
            has_hope = true;
        }
        if has_hope { Search::InUse { is_writing } } else { Search::Hopeless }
    }

    fn next_candidate(&self) -> Arc<Frame> {
        let mut list = self.frames.lock();
        assert!(!list.all.is_empty(), "a search goes over frames that exist");
        list.hand = (list.hand + 1) % list.all.len();
        list.assert_state(self.frames_max);
        Arc::clone(&list.all[list.hand])
    }

    fn take_from_table(&self, key: u64, frame: &Arc<Frame>) -> bool {
        let mut partition = self.partition(key).lock();
        let idle = Arc::strong_count(frame) == CLONES_WHEN_IDLE && frame.key() == key && !frame.is_dirty();
        if idle {
            let removed = partition.frames.remove(&key);
            assert!(
                removed.is_some_and(|removed| Arc::ptr_eq(&removed.frame, frame)),
                "a keyed frame is in the table"
            );
            frame.set_key(NO_KEY);
        }
        idle
    }

    /// Writes dirty frames, those of each database together. Skips latched pages: the caller may
    /// hold page latches itself. A database whose log or files fail does not keep the others from being written; its
    /// error is returned.
    pub(crate) fn write_victims(&self, mut frames: Vec<Arc<Frame>>) -> Result<usize, PageError> {
        frames.sort_by_key(|frame| frame.key());
        assert!(frames.len() <= self.frames_max, "victims are frames of this pool");
        let (count, mut written, mut failed) = (frames.len(), 0, None);
        while let Some(first) = frames.first().map(|frame| (frame.key() >> 48) as u16) {
            let rest = frames.split_off(frames.partition_point(|frame| (frame.key() >> 48) as u16 <= first));
            if let Some(space) = self.space(first) {
                match space.write_out(frames, IfLatched::PassOver) {
                    Ok(some) => written += some,
                    Err(error) => failed = Some(error),
                }
            }
            frames = rest;
        }
        assert!(written <= count, "{written} of {count} frames were written");
        failed.map_or(Ok(written), Err)
    }

    /// Calls `body` with every frame, without holding a latch and with no other frame pinned: the body may wait for the page's latch, and
    /// its holder may be searching for a frame.
    pub(crate) fn for_each_frame(&self, mut body: impl FnMut(&Arc<Frame>)) {
        for index in 0.. {
            let Some(frame) = self.frames.lock().all.get(index).cloned() else { return };
            body(&frame);
        }
    }

    /// Discards every page of a database, changed or not. Sessions do not use them any more, but the lazy writer or an evictor may be writing some:
    /// it waits for that, since a write that fails marks its frame as dirty when it ends.
    pub(crate) fn discard(&self, space: u16) {
        self.discard_where(|key| (key >> 48) as u16 == space);
    }

    /// Discards the pages whose keys `is_given_up` accepts. Its last call is under the page's latch, before the page leaves the table.
    pub(crate) fn discard_where(&self, is_given_up: impl Fn(u64) -> bool) {
        self.for_each_frame(|frame| {
            let key = frame.key();
            if key == NO_KEY || !is_given_up(key) {
                return;
            }
            // Held to the end: a thread claims a page for writing under its latch.
            let mut latched = frame.latch().write();
            while frame.key() == key && frame.is_being_written() {
                drop(latched);
                let _ = self.os.sleep(REST_NS, WaitType::SLEEP_BPOOL_FLUSH);
                latched = frame.latch().write();
            }
            let mut partition = self.partition(key).lock();
            if frame.key() != key || !is_given_up(key) {
                return;
            }
            let removed = partition.frames.remove(&key);
            assert!(
                removed.is_some_and(|removed| Arc::ptr_eq(&removed.frame, frame)),
                "a keyed frame is in the table"
            );
            frame.forget_changes();
            frame.set_key(NO_KEY);
            drop(partition);
            drop(latched);
            assert!(!frame.is_dirty(), "a frame without a page is clean");
            // Held only by the list and this function. A frame with another holder is found later by `search`.
            if Arc::strong_count(frame) == CLONES_WHEN_IDLE - 1 {
                let mut list = self.frames.lock();
                debug_assert!(
                    !list.free.iter().any(|free| Arc::ptr_eq(free, frame)),
                    "a frame is given back once"
                );
                list.free.push(Arc::clone(frame));
                list.assert_state(self.frames_max);
            }
        });
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BufferPool({} of {} frames)", self.frames_count.load(Relaxed), self.frames_max)
    }
}
