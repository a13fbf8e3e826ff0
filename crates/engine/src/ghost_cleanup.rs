//! The ghost cleanup: a background thread that takes deleted rows off their pages for good and gives empty leaves back.
//!
//! A deleted row stays as a ghost until its deleter has ended, so that a rollback finds its room. Inserts take ghosts out of the page that
//! they want; this thread does it for pages that nobody inserts into any more. Its records are structural: they belong to no transaction,
//! ride with the log and never flush it.

use std::sync::Arc;

use os::{JoinHandle, Signal, WaitOutcome, WaitType};

use crate::database::Database;
use crate::instance::Instance;

/// How long it rests between rounds.
const PAUSE_NS: u64 = 5_000_000_000;
/// Pages that it looks at before it lets a checkpoint or a close go first.
const STEP_PAGES: usize = 64;

/// The running thread; [`GhostCleanup::stop`] ends it.
pub(crate) struct GhostCleanup {
    stop: Arc<Signal>,
    thread: JoinHandle,
}

impl GhostCleanup {
    /// Starts the thread `GHOST CLEANUP`. It does not keep the instance alive.
    pub(crate) fn start(instance: &Arc<Instance>) -> GhostCleanup {
        let stop = Arc::new(Signal::new());
        let (signal, weak) = (Arc::clone(&stop), Arc::downgrade(instance));
        let thread = instance.os().spawn("GHOST CLEANUP", move || {
            while !matches!(signal.wait(WaitType::SLEEP_TASK, Some(PAUSE_NS)), WaitOutcome::Set) {
                let Some(instance) = weak.upgrade() else { return };
                instance.databases().iter().for_each(clean);
            }
        });
        GhostCleanup { stop, thread }
    }

    /// Ends the thread, after the round that it may be at.
    pub(crate) fn stop(self) {
        self.stop.set();
        if self.thread.join().is_err() {
            os::report::error("ghost cleanup", "the ghost cleanup thread had failed");
        }
    }
}

/// Looks once at every page that waits in the database: those whose deleters have not ended come again in the next round.
fn clean(database: &Arc<Database>) {
    let mut waiting = database.access.ghost_pages_waiting();
    while waiting > 0 && database.check_usable().is_ok() {
        let pages = waiting.min(STEP_PAGES);
        let step = || database.access.clean_ghosts(&database.txns, pages);
        match database.in_background(step) {
            Some(Ok(_)) => waiting -= pages,
            // Closing.
            None => return,
            Some(Err(error)) => {
                os::report::warn("ghost cleanup", &format!("database {}: {error}", database.name()));
                return;
            }
        }
    }
}
