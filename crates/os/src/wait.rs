//! Wait types and wait statistics (`sys.dm_os_wait_stats`); `waiting.rs` does the accounting of each blocking primitive.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::rank::LatchRank;

macro_rules! wait_types {
    ($($name:ident),+ $(,)?) => {
        /// Why a task waits, by SQL Server's names (`sys.dm_os_wait_stats.wait_type`).
        #[allow(non_camel_case_types, missing_docs, reason = "SQL Server's own names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum WaitType { $($name),+ }

        impl WaitType {
            /// Each wait type once, in the order of declaration.
            pub const ALL: &'static [WaitType] = &[$(WaitType::$name),+];

            /// The name as `sys.dm_os_wait_stats` shows it.
            pub fn name(self) -> &'static str {
                match self { $(WaitType::$name => stringify!($name)),+ }
            }
        }
    };
}

wait_types! {
    WRITELOG, LOGBUFFER, LOGMGR, LOGMGR_QUEUE, LOGMGR_RESERVE_APPEND, LOGMGR_FLUSH, LOGGENERATION, LOGMGR_PMM_LOG,
    LOG_RATE_GOVERNOR, LOGCAPTURE_LOGPOOLTRUNCPOINT, LOGPOOL_CACHESIZE, LOGPOOL_CONSUMER, LOGPOOL_MGRSET,
    LOGPOOLREFCOUNTEDOBJECT_REFDONE,
    HADR_SYNC_COMMIT, HADR_GROUP_COMMIT, HADR_LOGCAPTURE_WAIT, HADR_LOGCAPTURE_SYNC, HADR_LOGPROGRESS_SYNC,
    HADR_SYNCHRONIZING_THROTTLE, HADR_DATABASE_FLOW_CONTROL, HADR_TRANSPORT_FLOW_CONTROL,
    DBMIRROR_SEND, DBMIRROR_EVENTS_QUEUE, DBMIRROR_WORKER_QUEUE,
    PAGEIOLATCH_NL, PAGEIOLATCH_KP, PAGEIOLATCH_SH, PAGEIOLATCH_UP, PAGEIOLATCH_EX, PAGEIOLATCH_DT,
    PAGELATCH_NL, PAGELATCH_KP, PAGELATCH_SH, PAGELATCH_UP, PAGELATCH_EX, PAGELATCH_DT,
    LATCH_NL, LATCH_KP, LATCH_SH, LATCH_UP, LATCH_EX, LATCH_DT,
    LCK_M_SCH_S, LCK_M_SCH_M, LCK_M_S, LCK_M_U, LCK_M_X, LCK_M_IS, LCK_M_IU, LCK_M_IX, LCK_M_SIU, LCK_M_SIX,
    LCK_M_UIX, LCK_M_BU, LCK_M_RS_S, LCK_M_RS_U, LCK_M_RIn_NL, LCK_M_RIn_S, LCK_M_RIn_U, LCK_M_RIn_X, LCK_M_RX_S,
    LCK_M_RX_U, LCK_M_RX_X,
    THREADPOOL, ASYNC_NETWORK_IO, ASYNC_IO_COMPLETION, IO_COMPLETION, WRITE_COMPLETION, SLEEP_BPOOL_FLUSH,
    CHECKPOINT_QUEUE, CHKPT, DIRTY_PAGE_POLL, LAZYWRITER_SLEEP, REQUEST_FOR_DEADLOCK_SEARCH, SOS_SCHEDULER_YIELD,
    RESOURCE_SEMAPHORE, RESOURCE_QUEUE, CXPACKET, CXCONSUMER, WAITFOR,
    TRANSACTION_MUTEX, XACT_OWN_TRANSACTION, XACT_RECLAIM_SESSION, XACTLOCKINFO, XACTWORKSPACE_MUTEX,
    PREEMPTIVE_OS_WRITEFILEGATHER, PREEMPTIVE_OS_WRITEFILE, PREEMPTIVE_OS_FLUSHFILEBUFFERS,
    PREEMPTIVE_OS_DEVICEIOCONTROL,
    BACKUPIO, BACKUPBUFFER, BACKUP, BACKUPTHREAD,
    WAIT_XTP_TRAN_DEPENDENCY, WAIT_XTP_OFFLINE_CKPT_NEW_LOG, WAIT_XTP_RECOVERY, WAIT_XTP_CKPT_CLOSE, DISKIO_SUSPEND,
    SLEEP_DBSTARTUP, SLEEP_TEMPDBSTARTUP, SLEEP_MASTERDBREADY, SLEEP_DCOMSTARTUP, SLEEP_TASK, SLEEP_SYSTEMTASK,
    ENABLE_VERSIONING, DISABLE_VERSIONING, OLEDB, SQLTRACE_BUFFER_FLUSH, MISCELLANEOUS,
}

impl WaitType {
    /// A wait for a latch, in memory and short.
    pub(crate) fn is_latch(self) -> bool {
        use WaitType::*;
        matches!(
            self,
            PAGELATCH_NL
                | PAGELATCH_KP
                | PAGELATCH_SH
                | PAGELATCH_UP
                | PAGELATCH_EX
                | PAGELATCH_DT
                | LATCH_NL
                | LATCH_KP
                | LATCH_SH
                | LATCH_UP
                | LATCH_EX
                | LATCH_DT
        )
    }
}

/// The task was interrupted (attention, KILL, shutdown) while it waited or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Why a wait for a watermark ended without reaching its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The task was interrupted.
    Interrupted,
    /// The watermark will never advance again (its writer failed).
    Poisoned,
    /// The time-out passed (only from `wait_for_timeout`).
    TimedOut,
}

/// How a wait with a time-out ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// The awaited event has happened.
    Set,
    /// The time-out passed first.
    TimedOut,
    /// The task was interrupted first.
    Interrupted,
}

/// One row of `sys.dm_os_wait_stats`. Times in milliseconds as there; `wait_time_ns` is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// Why.
    pub wait_type: WaitType,
    /// Waits begun.
    pub waiting_tasks_count: u64,
    /// Sum over completed waits, signal time included.
    pub wait_time_ms: u64,
    /// The longest completed wait.
    pub max_wait_time_ms: u64,
    /// Part of `wait_time_ms` between being signalled and running again.
    pub signal_wait_time_ms: u64,
    /// `wait_time_ms` before rounding, in nanoseconds.
    pub wait_time_ns: u64,
    /// Waits that have begun and not ended; clearing leaves them.
    pub in_progress: u64,
}

#[derive(Default)]
struct Cell {
    /// Waits that have begun, and in the lowest [`IN_PROGRESS_BITS`] bits how many of them last: one addition says both.
    begun: AtomicU64,
    wait_ns_total: AtomicU64,
    wait_ns_max: AtomicU64,
    signal_ns_total: AtomicU64,
}

/// More tasks than can wait at once.
const IN_PROGRESS_BITS: u32 = 20;
const IN_PROGRESS_MASK: u64 = (1 << IN_PROGRESS_BITS) - 1;

/// Wait statistics of one instance; only the blocking primitives of this crate fill them.
pub struct WaitStats {
    cells: Vec<Cell>,
    /// Few rows, updated only after a wait.
    latches: Mutex<Vec<LatchRow>>,
}

/// One row of `sys.dm_os_latch_stats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatchRow {
    /// The latches' rank.
    pub class: String,
    /// Waits that have ended.
    pub waits_total: u64,
    /// Their time, in nanoseconds.
    pub wait_ns_total: u64,
    /// The longest.
    pub wait_ns_max: u64,
    rank: LatchRank,
}

impl Default for WaitStats {
    fn default() -> WaitStats {
        WaitStats {
            cells: WaitType::ALL.iter().map(|_| Cell::default()).collect(),
            latches: Mutex::default(),
        }
    }
}

impl WaitStats {
    /// One row per known wait type, also those with zeros.
    pub fn snapshot(&self) -> Vec<WaitRow> {
        WaitType::ALL.iter().map(|&wait_type| self.row(wait_type)).collect()
    }

    /// The row of one wait type.
    pub fn row(&self, wait_type: WaitType) -> WaitRow {
        let cell = &self.cells[wait_type as usize];
        let (wait_time_ns, begun) = (cell.wait_ns_total.load(Relaxed), cell.begun.load(Relaxed));
        WaitRow {
            wait_type,
            waiting_tasks_count: begun >> IN_PROGRESS_BITS,
            wait_time_ms: wait_time_ns / 1_000_000,
            max_wait_time_ms: cell.wait_ns_max.load(Relaxed) / 1_000_000,
            signal_wait_time_ms: cell.signal_ns_total.load(Relaxed) / 1_000_000,
            wait_time_ns,
            in_progress: begun & IN_PROGRESS_MASK,
        }
    }

    /// Sets everything to zero, as `DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR)`.
    pub fn clear(&self) {
        for cell in &self.cells {
            cell.begun.fetch_and(IN_PROGRESS_MASK, Relaxed);
            cell.wait_ns_total.store(0, Relaxed);
            cell.wait_ns_max.store(0, Relaxed);
            cell.signal_ns_total.store(0, Relaxed);
        }
    }

    /// One row per class of latches with waits, in the order of ranks.
    pub fn latches(&self) -> Vec<LatchRow> {
        let mut rows = self.latches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        rows.sort_by_key(|row| row.rank);
        rows
    }

    /// Sets the latch statistics to zero, as `DBCC SQLPERF('sys.dm_os_latch_stats', CLEAR)`.
    pub fn clear_latches(&self) {
        self.latches.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn note_latch(&self, rank: LatchRank, wait_ns: u64) {
        let mut rows = self.latches.lock().unwrap_or_else(PoisonError::into_inner);
        let at = rows.iter().position(|row| row.rank == rank).unwrap_or_else(|| {
            let class = format!("{rank:?}");
            rows.push(LatchRow { class, waits_total: 0, wait_ns_total: 0, wait_ns_max: 0, rank });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.waits_total += 1;
        row.wait_ns_total += wait_ns;
        row.wait_ns_max = row.wait_ns_max.max(wait_ns);
    }

    pub(crate) fn begin(&self, wait_type: WaitType) {
        let before = self.cells[wait_type as usize].begun.fetch_add((1 << IN_PROGRESS_BITS) | 1, Relaxed);
        assert!(before & IN_PROGRESS_MASK < IN_PROGRESS_MASK, "fewer tasks than can be counted wait");
    }

    pub(crate) fn end(&self, wait_type: WaitType, wait_ns: u64, signal_ns: u64) {
        let cell = &self.cells[wait_type as usize];
        cell.wait_ns_total.fetch_add(wait_ns, Relaxed);
        // Other threads write it at the same time: the check avoids most stores.
        if cell.wait_ns_max.load(Relaxed) < wait_ns {
            cell.wait_ns_max.fetch_max(wait_ns, Relaxed);
        }
        if signal_ns > 0 {
            cell.signal_ns_total.fetch_add(signal_ns, Relaxed);
        }
        let before = cell.begun.fetch_sub(1, Relaxed);
        assert!(before & IN_PROGRESS_MASK > 0, "what ends has begun");
    }
}

/// The waits of one session: of the tasks that have run its requests ([`crate::task::TaskRef::attribute_waits`]). Small, since there are
/// thousands of sessions: only the wait types that have occurred.
#[derive(Debug)]
pub struct SessionWaits {
    number: u64,
    rows: Mutex<Vec<WaitRow>>,
}

/// The number of the session made next.
static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);

impl Default for SessionWaits {
    fn default() -> SessionWaits {
        SessionWaits { number: NEXT_SESSION.fetch_add(1, Relaxed), rows: Mutex::default() }
    }
}

impl SessionWaits {
    /// Unique among the sessions of this process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// One row per wait type that has occurred, in the order of first occurrence.
    pub fn snapshot(&self) -> Vec<WaitRow> {
        self.rows().clone()
    }

    /// Clears all completed waits, as when the session is reset.
    pub fn clear(&self) {
        self.rows().retain_mut(|row| {
            *row = WaitRow { in_progress: row.in_progress, ..WaitRow::zero(row.wait_type) };
            row.in_progress > 0
        });
    }

    pub(crate) fn begin(&self, wait_type: WaitType) {
        self.of(wait_type, |row| {
            row.waiting_tasks_count += 1;
            row.in_progress += 1;
        });
    }

    pub(crate) fn end(&self, wait_type: WaitType, wait_ns: u64, signal_ns: u64) {
        self.of(wait_type, |row| {
            row.wait_time_ns += wait_ns;
            row.wait_time_ms = row.wait_time_ns / 1_000_000;
            row.max_wait_time_ms = row.max_wait_time_ms.max(wait_ns / 1_000_000);
            row.signal_wait_time_ms += signal_ns / 1_000_000;
            row.in_progress = row.in_progress.saturating_sub(1);
        });
    }

    fn of(&self, wait_type: WaitType, change: impl FnOnce(&mut WaitRow)) {
        let mut rows = self.rows();
        let at = rows.iter().position(|row| row.wait_type == wait_type).unwrap_or_else(|| {
            rows.push(WaitRow::zero(wait_type));
            rows.len() - 1
        });
        change(&mut rows[at]);
    }

    fn rows(&self) -> MutexGuard<'_, Vec<WaitRow>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitRow {
    fn zero(wait_type: WaitType) -> WaitRow {
        WaitRow {
            wait_type,
            waiting_tasks_count: 0,
            wait_time_ms: 0,
            max_wait_time_ms: 0,
            signal_wait_time_ms: 0,
            wait_time_ns: 0,
            in_progress: 0,
        }
    }
}

/// The deadline of a time-out that starts now.
pub(crate) fn deadline_after(now_ns: u64, timeout_ns: Option<u64>) -> Option<u64> {
    timeout_ns.map(|timeout| now_ns.saturating_add(timeout))
}
