//! `LatchRank`: the order in which latches may be taken, checked in debug builds and in simulation.
//!
//! A thread takes latches in ascending rank; taking one of an equal or lower rank than one it holds is a bug (a possible
//! deadlock) and panics. `try_` methods never wait and are not checked. Gaps are for later ranks.

use std::cell::RefCell;

/// The rank of a latch; declare one per kind of latch. Latches must be taken in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum LatchRank {
    /// The server's own tables: listeners, connections, workers.
    Server = 100,
    /// One session's shared state.
    Session = 200,
    /// The instance's table of databases, its settings.
    Instance = 250,
    /// Serialises whole operations on a database: ALTER DATABASE, checkpoint, close.
    Database = 300,
    /// One checkpoint of a database at a time.
    Checkpoint = 350,
    /// Catalog caches and schema snapshots.
    Catalog = 400,
    /// Compiled plans.
    PlanCache = 450,
    /// Memory grants for queries, and their queue.
    QueryMemory = 460,
    /// Sequences and identity values.
    Sequence = 500,
    /// A page of a tree or heap in the buffer pool: parent before child, left before right (several may be held).
    /// Access methods try locks and append to the log while they hold page latches, so these come before the
    /// lock table's and the log's.
    BTreePage = 700,
    /// The table of active transactions: a first change is logged, and so entered here, while its page is latched.
    TransactionTable = 760,
    /// A partition of the lock table.
    LockPartition = 780,
    /// Wait-for graph of the deadlock search.
    LockMonitor = 790,
    /// A partition of the buffer pool's page table.
    BufferPartition = 800,
    /// Writing dirty pages: doublewrite area.
    WriteOut = 820,
    /// Table of data files, their sizes.
    DataFiles = 840,
    /// Pins and truncation of the log.
    LogPins = 860,
    /// The log cache: open block, append.
    LogCache = 880,
    /// The log's flush queue.
    FlushQueue = 900,
    /// The map of virtual log files.
    VlfMap = 920,
    /// Log file handles and headers.
    LogFile = 930,
    /// The file of spilled row versions: written and read while the page of their rows is latched.
    VersionFile = 935,
    /// One connection's state. The thread that completes a log write calls the wakers of pending commits, with any latches that it
    /// holds (a checkpoint's among them), so the rank is above all latches that may be held while the log is written.
    Connection = 940,
    /// The connections that are ready for a worker: above, for the same reason.
    ReadyQueue = 945,
    /// The received bytes of a connection with several sessions: the monitor looks at them under the connection's latch.
    ClientBytes = 947,
    /// Statistics.
    Stats = 950,
    /// Innermost: nothing else is taken while it is held.
    Leaf = 1000,
}

impl LatchRank {
    /// True when a thread may hold several latches of this rank, in an order of their own.
    pub fn allows_several(self) -> bool {
        matches!(self, LatchRank::BTreePage)
    }
}

thread_local! {
    static HELD: RefCell<Vec<LatchRank>> = const { RefCell::new(Vec::new()) };
}

/// True when ranks are checked: in debug builds, and in any build while a simulation exists in the process.
#[inline]
fn checked() -> bool {
    cfg!(debug_assertions) || crate::seat::any_world()
}

/// Called before waiting for a latch. Panics on a breach of the order.
#[inline]
#[track_caller]
pub(crate) fn check(rank: LatchRank) {
    if checked() {
        check_cold(rank);
    }
}

#[cold]
#[track_caller]
fn check_cold(rank: LatchRank) {
    let highest = HELD.with_borrow(|held| held.iter().max().copied());
    let Some(highest) = highest else { return };
    let fine = highest < rank || (highest == rank && rank.allows_several());
    // While unwinding, a second panic would abort and hide the first.
    if !fine && !std::thread::panicking() {
        panic!("latch order: {rank:?} asked for while {highest:?} is held");
    }
}

/// Called when a latch has been taken.
#[inline]
pub(crate) fn taken(rank: LatchRank) {
    if checked() {
        taken_cold(rank);
    }
}

// Out of line, so that taking a latch stays a few instructions where it is inlined.
#[cold]
fn taken_cold(rank: LatchRank) {
    HELD.with_borrow_mut(|held| held.push(rank));
}

/// Called when a latch is released (in any order).
#[inline]
pub(crate) fn released(rank: LatchRank) {
    if checked() {
        released_cold(rank);
    }
}

#[cold]
fn released_cold(rank: LatchRank) {
    HELD.with_borrow_mut(|held| {
        if let Some(at) = held.iter().rposition(|&other| other == rank) {
            held.swap_remove(at);
        }
    });
}

/// The ranks that this thread holds, for assertions such as "no page latch during a lock wait".
/// Empty in release builds outside simulation.
pub fn held() -> Vec<LatchRank> {
    HELD.with_borrow(|held| held.clone())
}
