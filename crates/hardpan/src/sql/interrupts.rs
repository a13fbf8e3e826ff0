//! Ctrl-C (SIGINT): it cancels the batch that runs; a client that only waits for more text is left by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use os::task::{InterruptReason, TaskRef};
use os::{Os, TerminationWatcher};

/// Status of a client that Ctrl-C has ended, and of a script whose batch it has cancelled: 128 and the number of SIGINT.
pub(super) const STATUS_INTERRUPTED: u8 = 130;

/// What the client does when the signal comes.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Neither of the others; the client itself looks before it begins the next batch.
    Working = 0,
    /// A batch runs.
    Batch = 1,
    /// It waits for text that nobody types.
    Reading = 2,
}

/// Watches for Ctrl-C.
pub(super) struct Interrupts {
    watcher: Arc<TerminationWatcher>,
    activity: Arc<AtomicU8>,
    task: TaskRef,
}

impl Interrupts {
    /// Takes SIGINT over. The calling thread is the one that runs batches.
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

    /// Takes the signal over again: the prompt's line editor has a handler of its own, which would keep it from the batch.
    pub(super) fn take_again(&self) -> Result<(), String> {
        self.watcher.take_signals().map_err(|error| error.to_string())
    }

    /// How often Ctrl-C has come so far.
    pub(super) fn count(&self) -> u32 {
        self.watcher.count()
    }

    /// Does something during which the signal means `activity`.
    pub(super) fn during<T>(&self, activity: Activity, f: impl FnOnce() -> T) -> T {
        self.task.clear_interrupt();
        self.activity.store(activity as u8, Ordering::Release);
        let result = f();
        self.activity.store(Activity::Working as u8, Ordering::Release);
        self.task.clear_interrupt();
        result
    }
}
