//! [`Ahead`]: the result of binding a program before it runs. A program that is completely bound costs its next run the test of one flag.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use os::{Latch, LatchRank};
use query::Missing;

/// The result of the last binding of a program before it ran.
pub(crate) struct Ahead {
    /// Every statement was bound, or needs an object that only the run itself creates.
    is_complete: AtomicBool,
    /// The reasons why other statements were not bound. `None`: the program was never bound before a run, or the reasons were dropped.
    waits: Latch<Option<Arc<Waits>>>,
}

/// The reasons why statements of a program are not bound yet.
#[derive(Default)]
pub(crate) struct Waits {
    /// It was bound under uncommitted definitions of its session's own transaction, which other sessions do not see.
    pub(crate) is_own: bool,
    /// Another transaction had uncommitted changes of a name's definition.
    pub(crate) is_unsettled: bool,
    /// The missing objects.
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
    /// Stores the result of a binding that found no error.
    pub(crate) fn note(&self, waits: Waits) {
        let is_complete = waits.are_over();
        let mut kept = self.waits.lock();
        *kept = Some(Arc::new(waits));
        self.is_complete.store(is_complete, Relaxed);
    }

    /// Is every statement bound?
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.load(Relaxed)
    }

    pub(crate) fn waits(&self) -> Option<Arc<Waits>> {
        self.waits.lock().clone()
    }

    /// Drops results that the catalogs no longer confirm: a definition changed, or a database was closed.
    pub(crate) fn forget_stale(&self) {
        let Some(kept) = self.waits() else { return };
        if kept.missing.iter().all(Missing::is_current) {
            return;
        }
        self.waits.lock().take_if(|waits| Arc::ptr_eq(waits, &kept));
    }
}
