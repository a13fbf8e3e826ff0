//! Resource counters of a session's requests and connection. The thread that runs the request writes them, one thread at a time; views read them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use os::task::{self, PageUses};
use query::SessionFigures;

/// A counter with one writer at a time.
#[derive(Debug, Default)]
struct Sum(AtomicU64);

impl Sum {
    #[inline]
    fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed) + more, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Packets of a connection.
#[derive(Debug, Default)]
pub struct PacketCounts {
    read: Sum,
    written: Sum,
}

impl PacketCounts {
    /// Adds packets that were received.
    #[inline]
    pub fn note_read(&self, packets: u64) {
        self.read.add(packets);
    }

    /// Adds packets that were sent.
    #[inline]
    pub fn note_written(&self, packets: u64) {
        self.written.add(packets);
    }

    /// Packets received and sent.
    pub fn counts(&self) -> (u64, u64) {
        (self.read.get(), self.written.get())
    }
}

/// Sums over the requests that have ended.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    elapsed_ns: Sum,
    working_ns: Sum,
    logical_reads: Sum,
    physical_reads: Sum,
    /// Total wait time of the running task before the current request began.
    waited_before_ns: AtomicU64,
}

/// Counter values at the begin of a request, on the thread that runs it.
pub(crate) struct Begun {
    ticks: u64,
    waited_ns: u64,
    pages: PageUses,
}

impl Figures {
    pub(crate) fn begin(&self, now_ticks: u64) -> Begun {
        let begun = Begun { ticks: now_ticks, waited_ns: task::waited_ns(), pages: task::page_uses() };
        self.waited_before_ns.store(begun.waited_ns, Relaxed);
        begun
    }

    /// Ends the request, on the same thread.
    pub(crate) fn end(&self, begun: &Begun, now_ticks: u64) {
        let elapsed_ns = now_ticks.saturating_sub(begun.ticks) * 100;
        let waited_ns = task::waited_ns().saturating_sub(begun.waited_ns);
        let pages = task::page_uses().since(&begun.pages);
        self.elapsed_ns.add(elapsed_ns);
        self.working_ns.add(elapsed_ns.saturating_sub(waited_ns));
        self.logical_reads.add(pages.logical);
        self.physical_reads.add(pages.physical);
    }

    /// The sums, plus the wait time of the current request if `runner` runs one.
    pub(crate) fn told(&self, runner: Option<&task::TaskRef>) -> SessionFigures {
        let request_waited_ns = runner.map_or(0, |runner| {
            let before = self.waited_before_ns.load(Relaxed);
            let present_ns = runner.current_wait().map_or(0, |(_, ns)| ns);
            runner.waits_total().1.saturating_sub(before) + present_ns
        });
        SessionFigures {
            elapsed_ns: self.elapsed_ns.get(),
            working_ns: self.working_ns.get(),
            logical_reads: self.logical_reads.get(),
            physical_reads: self.physical_reads.get(),
            request_waited_ns,
        }
    }
}
