//! Ctrl-C (SIGINT): cancels the running batch; ends a client that only waits for more text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use os::task::{InterruptReason, TaskRef};
use os::{Os, TerminationWatcher};

/// The exit status of a client ended by Ctrl-C, and of a script whose batch it has cancelled: 128 plus the number of SIGINT.
pub(super) const STATUS_INTERRUPTED: u8 = 130;

/// The effect of the signal.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Neither of the others; the client itself checks before it begins the next batch.
    Working = 0,
    /// A batch runs.
    Batch = 1,
    /// The client waits for typed text.
    Reading = 2,
}

/// Watches for Ctrl-C.
pub(super) struct Interrupts {
    watcher: Arc<TerminationWatcher>,
    activity: Arc<AtomicU8>,
    task: TaskRef,
}

impl Interrupts {
    /// Installs a handler for SIGINT. The calling thread is the one that runs batches.
    pub(super) fn install(os: &Os) -> Result<Interrupts, String> {
        let watcher = TerminationWatcher::install_for_interrupts().map_err(|error| error.to_string())?;
        let watcher = Arc::new(watcher);
        let activity = Arc::new(AtomicU8::new(Activity::Working as u8));
        let task = os::task::current();
        let (seen_by, doing, runner) = (watcher.clone(), activity.clone(), task.clone());
        os.spawn("CTRL-C", move || {
            let mut seen = 0;
            loop {
                seen = seen_by.wait(seen, None);
                match doing.load(Ordering::Acquire) {
                    doing if doing == Activity::Batch as u8 => runner.interrupt(InterruptReason::Attention),
                    doing if doing == Activity::Reading as u8 => {
                        std::process::exit(i32::from(STATUS_INTERRUPTED));
                    }
                    _ => {}
                }
            }
        });
        Ok(Interrupts { watcher, activity, task })
    }

    /// Installs the handler again: the prompt's line editor installs its own, which would not cancel the batch.
    pub(super) fn take_again(&self) -> Result<(), String> {
        self.watcher.take_signals().map_err(|error| error.to_string())
    }

    /// The number of Ctrl-C so far.
    pub(super) fn count(&self) -> u32 {
        self.watcher.count()
    }

    /// Runs something during which the signal has the effect of `activity`.
    pub(super) fn during<T>(&self, activity: Activity, f: impl FnOnce() -> T) -> T {
        self.task.clear_interrupt();
        self.activity.store(activity as u8, Ordering::Release);
        let result = f();
        self.activity.store(Activity::Working as u8, Ordering::Release);
        self.task.clear_interrupt();
        result
    }
}
