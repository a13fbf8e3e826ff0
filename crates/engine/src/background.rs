//! A thread of the instance that wakes up periodically to check for work.

use std::sync::Arc;

use os::{JoinHandle, Os, Signal, WaitOutcome, WaitType};

/// The running thread; [`Background::stop`] ends it.
pub(crate) struct Background {
    name: &'static str,
    stop: Arc<Signal>,
    thread: JoinHandle,
}

impl Background {
    /// Starts a thread that calls `round` every `pause_ns`, as long as that returns true.
    pub(crate) fn start(
        os: &Os,
        name: &'static str,
        wait_type: WaitType,
        pause_ns: u64,
        round: impl Fn() -> bool + Send + 'static,
    ) -> Background {
        let stop = Arc::new(Signal::new());
        let signal = Arc::clone(&stop);
        let thread = os.spawn(name, move || {
            while !matches!(signal.wait(wait_type, Some(pause_ns)), WaitOutcome::Set) && round() {}
        });
        Background { name, stop, thread }
    }

    /// Ends the thread, after its current round.
    pub(crate) fn stop(self) {
        self.stop.set();
        if self.thread.join().is_err() {
            os::report::error("engine", &format!("the thread {} had failed", self.name));
        }
    }
}
