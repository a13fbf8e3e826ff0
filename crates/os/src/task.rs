//! Tasks: a thread as the other crates see it. Each has a name, a parking word, an interrupt flag and a current wait.
//!
//! ```text
//!  running ──Waiting::begin──► waiting ──unpark (signal)──► signalled ──Waiting::drop──► running
//!                                 └──interrupt()──► signalled (interruptible waits return Interrupted)
//! ```

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use crate::futex::Woke;
use crate::wait::{SessionWaits, WaitStats, WaitType};
use crate::word;

/// Why a task is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum InterruptReason {
    /// The client asked to cancel the running request.
    Attention = 1,
    /// KILL of the session.
    Kill = 2,
    /// The instance stops.
    Shutdown = 3,
}

/// A handle to a task; cheap to clone; may outlive the task.
#[derive(Clone)]
pub struct TaskRef {
    inner: Arc<Inner>,
}

struct Inner {
    id: u64,
    name: String,
    stats: Arc<WaitStats>,
    clock: Arc<dyn crate::Clock>,
    /// EMPTY, NOTIFIED or PARKED; see `park`.
    parking: AtomicU32,
    /// 0 or an `InterruptReason`.
    interrupt: AtomicU32,
    /// 0 or `WaitType as u32 + 1`.
    wait_type: AtomicU32,
    wait_began_ns: AtomicU64,
    /// When the last `unpark` came.
    signalled_ns: AtomicU64,
    waits_total: AtomicU64,
    wait_ns_total: AtomicU64,
    last_wait_type: AtomicU32,
    /// The number of the session whose request it runs; 0: of none.
    session_number: AtomicU64,
    /// The waits of the session whose request it runs.
    session_waits: Mutex<Option<Arc<SessionWaits>>>,
}

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = 2;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Pages that a thread has accessed since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageUses {
    /// Page accesses, in memory or not.
    pub logical: u64,
    /// Read from a file.
    pub physical: u64,
    /// The part of `logical` for large object pages.
    pub lob_logical: u64,
    /// The part of `physical` for large object pages.
    pub lob_physical: u64,
}

impl PageUses {
    /// The page uses since an earlier moment of the same thread.
    pub fn since(&self, before: &PageUses) -> PageUses {
        PageUses {
            logical: self.logical - before.logical,
            physical: self.physical - before.physical,
            lob_logical: self.lob_logical - before.lob_logical,
            lob_physical: self.lob_physical - before.lob_physical,
        }
    }
}

thread_local! {
    /// [`PageUses`], each field by itself: a write of one reads no other.
    static PAGE_USES: [Cell<u64>; 4] = const { [const { Cell::new(0) }; 4] };
    static IN_LARGE_VALUE: Cell<bool> = const { Cell::new(false) };
    static CURRENT: RefCell<Option<TaskRef>> = const { RefCell::new(None) };
    static MASKED: Cell<u32> = const { Cell::new(0) };
}

/// The task of the calling thread. A thread that no `Os` has spawned or adopted gets one with statistics of its own.
pub fn current() -> TaskRef {
    CURRENT.with_borrow_mut(|slot| {
        slot.get_or_insert_with(|| {
            let name = std::thread::current().name().unwrap_or("thread").to_owned();
            TaskRef::new(&name, Arc::default(), Arc::new(crate::clock::RealClock))
        })
        .clone()
    })
}

/// Notes a page access of the calling thread; `is_read`: the page had to be read from its file.
#[inline]
pub fn note_page_use(is_read: bool) {
    PAGE_USES.with(|[logical, physical, lob_logical, lob_physical]| {
        logical.set(logical.get() + 1);
        if is_read {
            physical.set(physical.get() + 1);
        }
        if IN_LARGE_VALUE.get() {
            lob_logical.set(lob_logical.get() + 1);
            lob_physical.set(lob_physical.get() + u64::from(is_read));
        }
    });
}

/// The page uses of the calling thread until now.
pub fn page_uses() -> PageUses {
    PAGE_USES.with(|[logical, physical, lob_logical, lob_physical]| PageUses {
        logical: logical.get(),
        physical: physical.get(),
        lob_logical: lob_logical.get(),
        lob_physical: lob_physical.get(),
    })
}

/// The number of the session whose request the calling thread runs ([`SessionWaits::number`]), if it runs one.
#[inline]
pub fn session_number() -> Option<u64> {
    let of = |task: &Option<TaskRef>| task.as_ref().map_or(0, |task| task.inner.session_number.load(Relaxed));
    Some(CURRENT.with_borrow(of)).filter(|number| *number != 0)
}

/// Runs `body`, whose page accesses count as those of a large value.
pub fn in_large_value<R>(body: impl FnOnce() -> R) -> R {
    let before = IN_LARGE_VALUE.replace(true);
    let result = body();
    IN_LARGE_VALUE.set(before);
    result
}

/// Makes `task` the calling thread's own.
pub(crate) fn set_current(task: TaskRef) {
    CURRENT.set(Some(task));
}

/// Runs `body` as `task`: its waits, its interrupts. One thread at a time may.
pub fn run_as<R>(task: &TaskRef, body: impl FnOnce() -> R) -> R {
    struct Back(Option<TaskRef>);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _back = Back(CURRENT.replace(Some(task.clone())));
    body()
}

/// While the guard lives, the calling thread's waits are not interruptible: for rollback, release and clean-up
/// that must run to the end although the task has been interrupted.
pub fn mask_interrupts() -> InterruptMask {
    MASKED.set(MASKED.get() + 1);
    InterruptMask { _not_send: std::marker::PhantomData }
}

/// See [`mask_interrupts`].
pub struct InterruptMask {
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for InterruptMask {
    fn drop(&mut self) {
        MASKED.set(MASKED.get() - 1);
    }
}

/// How long the calling thread's task has waited in all its completed waits, nanoseconds; 0 for a thread without one.
pub fn waited_ns() -> u64 {
    CURRENT.with_borrow(|slot| slot.as_ref().map_or(0, |task| task.inner.wait_ns_total.load(Relaxed)))
}

/// True when the calling task is interrupted and has not masked interrupts: long loops check this.
pub fn interrupt_pending() -> bool {
    MASKED.get() == 0 && CURRENT.with_borrow(|slot| slot.as_ref().is_some_and(TaskRef::is_interrupted))
}

impl TaskRef {
    pub(crate) fn new(name: &str, stats: Arc<WaitStats>, clock: Arc<dyn crate::Clock>) -> TaskRef {
        TaskRef {
            inner: Arc::new(Inner {
                id: NEXT_ID.fetch_add(1, Relaxed),
                name: name.to_owned(),
                stats,
                clock,
                parking: AtomicU32::new(EMPTY),
                interrupt: AtomicU32::new(0),
                wait_type: AtomicU32::new(0),
                wait_began_ns: AtomicU64::new(0),
                signalled_ns: AtomicU64::new(0),
                waits_total: AtomicU64::new(0),
                wait_ns_total: AtomicU64::new(0),
                last_wait_type: AtomicU32::new(0),
                session_number: AtomicU64::new(0),
                session_waits: Mutex::new(None),
            }),
        }
    }

    /// Unique in the process; not deterministic across simulations, so never order or print by it there.
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// The name given at spawn.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Asks the task to stop: its present interruptible wait, and each later one until `clear_interrupt`, returns
    /// `Interrupted`. Socket waits are ended by `Stream::shutdown` instead.
    pub fn interrupt(&self, reason: InterruptReason) {
        self.inner.interrupt.store(reason as u32, Release);
        self.unpark();
    }

    /// Clears the interrupt (the session has handled it).
    pub fn clear_interrupt(&self) {
        self.inner.interrupt.store(0, Release);
    }

    /// True between `interrupt` and `clear_interrupt`.
    pub fn is_interrupted(&self) -> bool {
        self.inner.interrupt.load(Acquire) != 0
    }

    /// Why it is interrupted, if it is.
    pub fn interrupt_reason(&self) -> Option<InterruptReason> {
        match self.inner.interrupt.load(Acquire) {
            1 => Some(InterruptReason::Attention),
            2 => Some(InterruptReason::Kill),
            3 => Some(InterruptReason::Shutdown),
            _ => None,
        }
    }

    /// The present wait type of the task and its nanoseconds so far (`sys.dm_exec_requests.wait_type`, `wait_time`).
    pub fn current_wait(&self) -> Option<(WaitType, u64)> {
        let wait_type = wait_type_of(self.inner.wait_type.load(Acquire))?;
        let began_ns = self.inner.wait_began_ns.load(Relaxed);
        Some((wait_type, self.now_ns().saturating_sub(began_ns)))
    }

    /// The present wait type, without reading a clock.
    pub(crate) fn current_wait_type(&self) -> Option<WaitType> {
        wait_type_of(self.inner.wait_type.load(Acquire))
    }

    /// The last completed wait since its waits were attributed to a session (`sys.dm_exec_requests.last_wait_type`).
    pub fn last_wait(&self) -> Option<WaitType> {
        wait_type_of(self.inner.last_wait_type.load(Relaxed))
    }

    /// Completed waits and their nanoseconds in total.
    pub fn waits_total(&self) -> (u64, u64) {
        (self.inner.waits_total.load(Relaxed), self.inner.wait_ns_total.load(Relaxed))
    }

    pub(crate) fn same(&self, other: &TaskRef) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.inner.clock.monotonic_ns()
    }

    /// Attributes its waits to a session, too; `None`: to none.
    pub fn attribute_waits(&self, session: Option<Arc<SessionWaits>>) {
        let number = session.as_ref().map_or(0, |session| session.number());
        self.inner.session_number.store(number, Relaxed);
        self.inner.last_wait_type.store(0, Relaxed);
        *self.inner.session_waits.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    pub(crate) fn session_waits(&self) -> Option<Arc<SessionWaits>> {
        self.inner.session_waits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn wait_stats(&self) -> &WaitStats {
        &self.inner.stats
    }

    /// Returns false when the task is already inside an accounted wait.
    pub(crate) fn enter_wait(&self, wait_type: WaitType, now_ns: u64) -> bool {
        if self.inner.wait_type.load(Relaxed) != 0 {
            return false;
        }
        self.inner.wait_began_ns.store(now_ns, Relaxed);
        self.inner.wait_type.store(wait_type as u32 + 1, Release);
        true
    }

    /// Returns when the task was last signalled.
    pub(crate) fn leave_wait(&self) -> u64 {
        self.inner.wait_type.store(0, Release);
        self.inner.signalled_ns.load(Relaxed)
    }

    pub(crate) fn note_wait(&self, wait_type: WaitType, wait_ns: u64) {
        self.inner.waits_total.fetch_add(1, Relaxed);
        self.inner.wait_ns_total.fetch_add(wait_ns, Relaxed);
        self.inner.last_wait_type.store(wait_type as u32 + 1, Relaxed);
    }

    /// Waits for a token from `unpark`, at most until the deadline. Only the task itself may call it.
    pub(crate) fn park(&self, deadline_ns: Option<u64>) -> Woke {
        let parking = &self.inner.parking;
        loop {
            if parking.swap(EMPTY, Acquire) == NOTIFIED {
                return Woke::Woken;
            }
            if parking.compare_exchange(EMPTY, PARKED, AcqRel, Acquire).is_err() {
                continue;
            }
            let woke = word::wait(parking, PARKED, deadline_ns);
            if parking.swap(EMPTY, Acquire) == NOTIFIED {
                return Woke::Woken;
            }
            if woke == Woke::TimedOut {
                return Woke::TimedOut;
            }
        }
    }

    /// The awaited event has happened: the time until the wait ends counts as signal wait time.
    pub fn note_signalled(&self) {
        if self.inner.wait_type.load(Relaxed) != 0 {
            self.inner.signalled_ns.store(self.now_ns(), Relaxed);
        }
    }

    /// Gives the task a token; wakes it when it is parked. Tokens do not add up.
    pub(crate) fn unpark(&self) {
        self.note_signalled();
        if self.inner.parking.swap(NOTIFIED, AcqRel) == PARKED {
            word::wake(&self.inner.parking, 1);
        }
    }
}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskRef({})", self.inner.name)
    }
}

fn wait_type_of(code: u32) -> Option<WaitType> {
    (code as usize).checked_sub(1).and_then(|index| WaitType::ALL.get(index).copied())
}
