//! The threads that check every database periodically. They do not keep the instance alive.

use std::sync::Arc;

use os::WaitType;

use super::Instance;
use crate::background::Background;
use crate::checkpoint::{self, Reason};
use crate::ghost_cleanup::clean;

/// The poll interval of the checkpoint thread.
const CHECKPOINT_POLL_NS: u64 = 250_000_000;
/// The pause of the ghost cleanup between rounds.
const GHOST_PAUSE_NS: u64 = 5_000_000_000;

impl Instance {
    /// The thread `CHECKPOINT`: polls every database and checkpoints those that are due.
    pub(super) fn start_checkpointer(self: &Arc<Self>) -> Background {
        self.start_looking("CHECKPOINT", WaitType::CHECKPOINT_QUEUE, CHECKPOINT_POLL_NS, |instance| {
            instance.checkpoint_due_databases();
        })
    }

    /// The thread `GHOST CLEANUP`.
    pub(super) fn start_ghost_cleanup(self: &Arc<Self>) -> Background {
        self.start_looking("GHOST CLEANUP", WaitType::SLEEP_TASK, GHOST_PAUSE_NS, |instance| {
            instance.databases().iter().for_each(clean);
        })
    }

    fn start_looking(
        self: &Arc<Self>,
        name: &'static str,
        wait_type: WaitType,
        pause_ns: u64,
        look: impl Fn(&Instance) + Send + 'static,
    ) -> Background {
        let weak = Arc::downgrade(self);
        Background::start(self.os(), name, wait_type, pause_ns, move || {
            let Some(instance) = weak.upgrade() else { return false };
            look(&instance);
            true
        })
    }

    fn checkpoint_due_databases(&self) {
        self.decisions().sweep(&self.master());
        for database in self.databases() {
            if database.check_usable().is_err() || !checkpoint::is_due(&database) {
                continue;
            }
            let result = database.in_background(|| checkpoint::run(&database, Reason::Automatic));
            if let Some(Err(error)) = result {
                os::report::warn("checkpoint", &format!("database {}: {error}", database.name()));
            }
        }
    }
}
