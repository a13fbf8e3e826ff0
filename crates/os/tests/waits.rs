//! The attribution of waits: threads that run other tasks, waits without a thread, and the observer of a thread's waits.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use hardpan_os::sim::{Profile, World};
use hardpan_os::task::{self, InterruptReason, run_as};
use hardpan_os::wait_as;
use hardpan_os::{
    DetachedWait, Interrupted, Latch, LatchRank, OpenOptions, Os, Signal, WaitObserver, WaitOutcome,
    WaitType, WriteMode, observe_waits,
};

const MOMENT_NS: u64 = 1_000_000;

/// Runs `body` as the root of a simulated world.
fn simulated(body: impl FnOnce(&Os) + Send + 'static) {
    World::new(1, Profile::constant_latency()).run(body).assert_ok();
}

#[derive(Default)]
struct Told {
    waits: AtomicU64,
    open: AtomicI64,
}

impl WaitObserver for Told {
    fn wait_begins(&self) {
        assert_eq!(self.open.fetch_add(1, SeqCst), 0, "a wait inside a wait is not told");
    }

    fn wait_ends(&self) {
        assert_eq!(self.open.fetch_sub(1, SeqCst), 1, "what ends has begun");
        self.waits.fetch_add(1, SeqCst);
    }
}

impl Told {
    /// Observes the calling thread's waits.
    fn observe() -> Arc<Told> {
        let told = Arc::<Told>::default();
        observe_waits(Some(told.clone()));
        told
    }

    /// Waits observed during `body`; all have ended.
    fn during(&self, body: impl FnOnce()) -> u64 {
        let before = self.waits.load(SeqCst);
        body();
        assert_eq!(self.open.load(SeqCst), 0, "told in pairs");
        self.waits.load(SeqCst) - before
    }

    fn is_waiting(&self) -> bool {
        self.open.load(SeqCst) == 1
    }
}

#[test]
fn the_observer_is_told_of_what_keeps_the_thread() {
    simulated(|os| {
        let told = Told::observe();
        let signal = Arc::new(Signal::new());
        let timed_out = || assert_eq!(signal.wait(WaitType::WAITFOR, Some(MOMENT_NS)), WaitOutcome::TimedOut);
        assert_eq!(told.during(timed_out), 1);
        signal.set();
        let is_set = || assert_eq!(signal.wait(WaitType::WAITFOR, None), WaitOutcome::Set);
        assert_eq!(told.during(is_set), 0, "it did not wait");
        let sleeps = || os.sleep(MOMENT_NS, WaitType::WAITFOR).unwrap();
        assert_eq!(told.during(sleeps), 1);
        let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
        assert_eq!(told.during(|| file.write_at(&[1; 512], 0, WriteMode::Durable).unwrap()), 1);
        assert_eq!(told.during(|| file.read_exact_at(&mut [0; 512], 0).unwrap()), 1);
        let nested = || {
            wait_as(WaitType::WRITELOG, || {
                sleeps();
                file.write_at(&[2; 512], 0, WriteMode::Durable).unwrap();
            });
        };
        assert_eq!(told.during(nested), 1, "it is one wait");
        task::current().interrupt(InterruptReason::Attention);
        assert_eq!(told.during(|| assert!(os.sleep(MOMENT_NS, WaitType::WAITFOR).is_err())), 1);
        task::current().clear_interrupt();
        let again = os.clone();
        let other = os.spawn("other", move || again.sleep(MOMENT_NS, WaitType::WAITFOR).unwrap());
        assert_eq!(told.during(|| other.join().unwrap()), 1, "the thread's own wait, not the other's");
        observe_waits(None);
        assert_eq!(told.during(sleeps), 0, "nobody asks any more");
    });
}

#[test]
fn the_observer_is_told_before_and_after() {
    simulated(|os| {
        let (signal, told) = (Arc::new(Signal::new()), Arc::<Told>::default());
        let (in_task, observer) = (signal.clone(), told.clone());
        let waiter = os.spawn("waiter", move || {
            observe_waits(Some(observer.clone()));
            assert!(!observer.is_waiting());
            assert_eq!(in_task.wait(WaitType::WAITFOR, None), WaitOutcome::Set);
            assert!(!observer.is_waiting());
        });
        while waiter.task().current_wait().is_none() || !told.is_waiting() {
            os.sleep(1_000, WaitType::SLEEP_TASK).unwrap();
        }
        assert_eq!(told.waits.load(SeqCst), 0);
        signal.set();
        waiter.join().unwrap();
        assert_eq!(told.waits.load(SeqCst), 1);
    });
}

#[test]
fn the_observer_is_not_told_of_latches() {
    simulated(|os| {
        let (latch, told) = (Arc::new(Latch::new(LatchRank::Leaf, 0)), Arc::<Told>::default());
        let (in_task, observer) = (latch.clone(), told.clone());
        let guard = latch.lock();
        let waiter = os.spawn("waiter", move || {
            observe_waits(Some(observer));
            *in_task.lock() += 1;
        });
        while waiter.task().current_wait().is_none() {
            os.yield_point();
        }
        assert!(waiter.task().current_wait().is_some_and(|(wait_type, _)| wait_type == WaitType::LATCH_EX));
        drop(guard);
        waiter.join().unwrap();
        assert_eq!((*latch.lock(), told.waits.load(SeqCst)), (1, 0));
    });
}

#[test]
fn the_observer_is_told_when_a_thread_blocks_in_a_wait_without_a_thread() {
    simulated(|os| {
        let told = Told::observe();
        let connection = os.new_task("connection");
        let begin = || run_as(&connection, || DetachedWait::begin(WaitType::WRITELOG));
        assert_eq!(told.during(|| drop(begin())), 0, "it keeps no thread");
        let waiting = begin();
        let block = || {
            run_as(&connection, || waiting.block(|| os.sleep(MOMENT_NS, WaitType::WAITFOR).unwrap()));
        };
        assert_eq!(told.during(block), 1);
        assert_eq!(connection.current_wait().map(|(wait_type, _)| wait_type), Some(WaitType::WRITELOG));
        drop(waiting);
        assert_eq!(connection.waits_total().0, 2, "blocking was part of the second one");
        assert_eq!(os.wait_stats().row(WaitType::WRITELOG).waiting_tasks_count, 2);
        assert_eq!(os.wait_stats().row(WaitType::WAITFOR).waiting_tasks_count, 0);
    });
}

#[test]
fn waits_and_interrupts_are_those_of_the_task_that_runs() {
    simulated(|os| {
        let (thread, connection) = (task::current(), os.new_task("connection"));
        let sleep = |duration_ns| os.sleep(duration_ns, WaitType::WAITFOR);
        let (own_waits, _) = thread.waits_total();
        let name = run_as(&connection, || {
            sleep(MOMENT_NS).unwrap();
            task::current().name().to_owned()
        });
        assert_eq!((name.as_str(), task::current().id()), ("connection", thread.id()));
        let (waits, wait_ns) = connection.waits_total();
        assert!(waits == 1 && wait_ns >= MOMENT_NS && connection.last_wait() == Some(WaitType::WAITFOR));
        assert_eq!(thread.waits_total().0, own_waits);
        // The connection is killed, by another task, while its thread waits.
        let (killer, victim) = (os.clone(), connection.clone());
        let killing = os.spawn("killer", move || {
            killer.sleep(MOMENT_NS, WaitType::SLEEP_TASK).unwrap();
            assert!(victim.current_wait().is_some());
            victim.interrupt(InterruptReason::Kill);
        });
        run_as(&connection, || {
            assert_eq!(sleep(u64::MAX), Err(Interrupted));
            assert!(task::interrupt_pending());
        });
        killing.join().unwrap();
        assert!(!task::interrupt_pending(), "the thread goes on with others");
        sleep(MOMENT_NS).unwrap();
        // And the other way round.
        connection.clear_interrupt();
        thread.interrupt(InterruptReason::Shutdown);
        run_as(&connection, || sleep(MOMENT_NS)).unwrap();
        assert_eq!(sleep(MOMENT_NS), Err(Interrupted));
        thread.clear_interrupt();
    });
}

#[test]
fn the_thread_is_itself_again_after_a_panic() {
    simulated(|os| {
        let thread = task::current();
        let (outer, inner) = (os.new_task("outer"), os.new_task("inner"));
        run_as(&outer, || {
            let panicked = catch_unwind(AssertUnwindSafe(|| run_as(&inner, || panic!("on purpose"))));
            assert!(panicked.is_err());
            assert_eq!(task::current().id(), outer.id());
        });
        assert_eq!(task::current().id(), thread.id());
        os.sleep(MOMENT_NS, WaitType::WAITFOR).unwrap();
        assert_eq!((outer.waits_total().0, inner.waits_total().0), (0, 0));
    });
}

#[test]
fn a_wait_without_a_thread_lasts_until_it_is_dropped() {
    simulated(|os| {
        let (thread, connection) = (task::current(), os.new_task("connection"));
        let row = || os.wait_stats().row(WaitType::WRITELOG);
        let waiting = run_as(&connection, || DetachedWait::begin(WaitType::WRITELOG));
        let began_ns = os.clock().monotonic_ns();
        assert!(thread.current_wait().is_none());
        os.sleep(10 * MOMENT_NS, WaitType::SLEEP_TASK).unwrap();
        let waited_ns = os.clock().monotonic_ns() - began_ns;
        assert_eq!(connection.current_wait(), Some((WaitType::WRITELOG, waited_ns)));
        assert_eq!((row().waiting_tasks_count, row().wait_time_ns), (1, 0), "it has not ended");
        connection.note_signalled();
        os.sleep(4 * MOMENT_NS, WaitType::SLEEP_TASK).unwrap();
        // Ended by another thread than the one that has begun it, during a wait of its own.
        os.spawn("finisher", move || wait_as(WaitType::WAITFOR, || drop(waiting))).join().unwrap();
        let (waits, wait_ns) = connection.waits_total();
        assert!(connection.current_wait().is_none() && waits == 1);
        assert!(wait_ns >= 14 * MOMENT_NS && row().wait_time_ns == wait_ns && row().waiting_tasks_count == 1);
        let signal_ms = (wait_ns - waited_ns) / MOMENT_NS;
        assert!((4..=row().wait_time_ms).contains(&signal_ms));
        assert_eq!(row().signal_wait_time_ms, signal_ms);
    });
}

#[test]
fn a_wait_that_nobody_signals_has_no_signal_time() {
    simulated(|os| {
        let connection = os.new_task("connection");
        // Signalled before the wait: does not count for it.
        connection.note_signalled();
        let waiting = run_as(&connection, || DetachedWait::begin(WaitType::WRITELOG));
        os.sleep(5 * MOMENT_NS, WaitType::SLEEP_TASK).unwrap();
        drop(waiting);
        let row = os.wait_stats().row(WaitType::WRITELOG);
        assert!(row.wait_time_ms >= 5 && row.signal_wait_time_ms == 0);
    });
}

#[test]
fn what_blocks_inside_a_wait_without_a_thread_is_not_counted_again() {
    simulated(|os| {
        let connection = os.new_task("connection");
        run_as(&connection, || {
            let waiting = DetachedWait::begin(WaitType::WRITELOG);
            os.sleep(MOMENT_NS, WaitType::WAITFOR).unwrap();
            drop(waiting);
        });
        assert_eq!(connection.waits_total().0, 1);
        let count = |wait_type| os.wait_stats().row(wait_type).waiting_tasks_count;
        assert_eq!((count(WaitType::WRITELOG), count(WaitType::WAITFOR)), (1, 0));
    });
}
