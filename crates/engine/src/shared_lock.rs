//! Waiting for a name that another transaction changes: Sch-S on its object, until the answer is settled.

use std::sync::Arc;

use txn::{HeldLocks, LockError, LockManager, LockMode, LockOwner, LockSpace, LockWait, Resource};

use crate::catalog::names::Look;
use crate::error::SqlResult;

/// A Sch-S lock, held until dropped.
pub(crate) struct Shared {
    locks: HeldLocks,
}

impl Shared {
    pub(crate) fn wait(
        manager: &Arc<LockManager>,
        space: &Arc<LockSpace>,
        resource: Resource,
        wait: LockWait,
    ) -> Result<Shared, LockError> {
        let mut locks = HeldLocks::new(manager.clone(), space.clone(), LockOwner::Workspace);
        locks.lock(resource, LockMode::SchS, wait)?;
        Ok(Shared { locks })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.locks.unlock_all();
    }
}

/// Calls `look` until its answer is settled; waits in between.
pub(crate) fn settled<T>(
    look: impl Fn(Option<Resource>) -> Look<T>,
    wait: impl Fn(Resource) -> SqlResult<Shared>,
) -> SqlResult<T> {
    let mut held: Option<(Resource, Shared)> = None;
    loop {
        match look(held.as_ref().map(|held| held.0)) {
            Look::Settled(found) => return Ok(found),
            Look::Unsettled(resource) => {
                // No thread waits for one lock while it holds another that it no longer needs.
                drop(held.take());
                held = Some((resource, wait(resource)?));
            }
        }
    }
}
