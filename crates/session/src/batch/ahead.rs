//! [`Ahead`]: what a program keeps of its last binding ahead. One that waits for nothing costs its next run one flag.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use os::{Latch, LatchRank};
use query::Missing;

/// What a program keeps of its last binding ahead.
pub(crate) struct Ahead {
    /// Every statement was bound, or waits for what only the run itself can bring.
    is_complete: AtomicBool,
    /// What the others wait for. `None`: it has never been bound ahead, or that has been forgotten.
    waits: Latch<Option<Arc<Waits>>>,
}

/// What statements of a program wait for.
#[derive(Default)]
pub(crate) struct Waits {
    /// It was bound to what its session's own transaction had defined, which others do not see.
    pub(crate) is_own: bool,
    /// Another transaction was changing what a name means.
    pub(crate) is_unsettled: bool,
    /// What was not there.
    pub(crate) missing: Vec<Missing>,
}

impl Waits {
    fn are_over(&self) -> bool {
        !self.is_own && !self.is_unsettled && self.missing.is_empty()
    }
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { is_complete: AtomicBool::new(false), waits: Latch::new(LatchRank::PlanCache, None) }
    }
}

impl Ahead {
    /// It has been bound ahead, and nothing was wrong with it.
    pub(crate) fn note(&self, waits: Waits) {
        let is_complete = waits.are_over();
        let mut kept = self.waits.lock();
        *kept = Some(Arc::new(waits));
        self.is_complete.store(is_complete, Relaxed);
    }

    /// Nothing of it waits.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.load(Relaxed)
    }

    pub(crate) fn waits(&self) -> Option<Arc<Waits>> {
        self.waits.lock().clone()
    }

    /// Lets go of what catalogs have said that say something else now, or nothing, since their databases have been closed.
    pub(crate) fn forget_stale(&self) {
        let Some(kept) = self.waits() else { return };
        if kept.missing.iter().all(Missing::is_current) {
            return;
        }
        self.waits.lock().take_if(|waits| Arc::ptr_eq(waits, &kept));
    }
}
