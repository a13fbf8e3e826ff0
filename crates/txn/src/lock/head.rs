//! One locked resource: its holders, its queue of waiters, the next grant.
//!
//! ```text
//! request ──try_grant──► granted ──remove_grant──► gone
//!    └────enqueue──► Waiting ──grant_next──► Granted (then as above)
//!                       ├──make_victim──► Victim          (deadlock)
//!                       └──remove_waiter──► gone          (time-out, interrupt)
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Release};

use os::Signal;

use super::grants::{Grant, Grants};
use super::modes::LockMode;
use super::resource::{LockOwner, Resource};
use super::row::{LockRow, RequestStatus};
use super::space::LockSpace;

/// The state of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Outcome {
    Waiting = 0,
    Granted = 1,
    Victim = 2,
}

impl Outcome {
    pub(super) fn from_number(number: u8) -> Outcome {
        match number {
            0 => Outcome::Waiting,
            1 => Outcome::Granted,
            2 => Outcome::Victim,
            _ => unreachable!("outcome {number}"),
        }
    }
}

/// A request that waits. `outcome` changes only under the partition's latch.
pub(super) struct Waiter {
    pub(super) space: Arc<LockSpace>,
    pub(super) owner: LockOwner,
    /// The mode to hold when granted (of a conversion: the combined mode).
    pub(super) mode: LockMode,
    pub(super) is_conversion: bool,
    pub(super) signal: Signal,
    pub(super) outcome: AtomicU8,
}

impl Waiter {
    /// Readable without the partition's latch.
    pub(super) fn outcome(&self) -> Outcome {
        Outcome::from_number(self.outcome.load(Acquire))
    }

    fn new(space: &Arc<LockSpace>, owner: LockOwner, mode: LockMode, is_conversion: bool) -> Arc<Waiter> {
        Arc::new(Waiter {
            space: Arc::clone(space),
            owner,
            mode,
            is_conversion,
            signal: Signal::new(),
            outcome: AtomicU8::new(Outcome::Waiting as u8),
        })
    }
}

/// Holders whose modes [`Head::assert_state`] compares with those of all others, at most.
const PAIRS_CHECKED_MAX: usize = 8;

#[derive(Default)]
pub(super) struct Head {
    grants: Grants,
    queue: VecDeque<Arc<Waiter>>,
}

impl Head {
    /// Invariants after every change: conversions are first in the queue, all in the queue wait, no two grants conflict.
    fn assert_state(&self) {
        self.grants.assert_state();
        let is_sorted = self.queue.iter().is_sorted_by_key(|waiter| !waiter.is_conversion);
        assert!(is_sorted, "conversions wait before everybody else");
        debug_assert!(
            self.queue.iter().all(|waiter| waiter.outcome() == Outcome::Waiting),
            "all in the queue wait"
        );
        let mut some = self.grants.iter().take(PAIRS_CHECKED_MAX);
        debug_assert!(
            some.all(|grant| !self.is_blocked_by_grants(grant.space, grant.mode)),
            "no two spaces hold conflicting modes"
        );
    }

    /// Grants at once when no other request conflicts; returns the mode then held.
    pub(super) fn try_grant(
        &mut self,
        space: &LockSpace,
        owner: LockOwner,
        mode: LockMode,
    ) -> Option<LockMode> {
        if self.is_unused() {
            self.set_grant(None, Grant { space: space.id(), session_id: space.session_id(), owner, mode });
            return Some(mode);
        }
        let own = self.position(space.id(), owner);
        let held = own.map(|at| self.grants.at(at).mode);
        let target = held.map_or(mode, |held| held.combine(mode));
        if held == Some(target) {
            return held;
        }
        let overtakes = self.is_held_by(space.id());
        if (!self.queue.is_empty() && !overtakes) || self.is_blocked_by_grants(space.id(), target) {
            return None;
        }
        self.set_grant(own, Grant { space: space.id(), session_id: space.session_id(), owner, mode: target });
        Some(target)
    }

    /// Would `try_grant` of a new request succeed?
    pub(super) fn could_grant(&self, space: u64, mode: LockMode) -> bool {
        (self.queue.is_empty() || self.is_held_by(space)) && !self.is_blocked_by_grants(space, mode)
    }

    /// Queues a request that `try_grant` refused: a conversion behind the other conversions, anything else at the end.
    pub(super) fn enqueue(
        &mut self,
        space: &Arc<LockSpace>,
        owner: LockOwner,
        mode: LockMode,
    ) -> Arc<Waiter> {
        let own = self.position(space.id(), owner);
        let target = own.map_or(mode, |at| self.grants.at(at).mode.combine(mode));
        let is_conversion = self.is_held_by(space.id());
        assert!(!self.could_grant(space.id(), target), "who could be granted does not wait");
        let waiter = Waiter::new(space, owner, target, is_conversion);
        let at = if is_conversion {
            self.queue.iter().position(|other| !other.is_conversion).unwrap_or(self.queue.len())
        } else {
            self.queue.len()
        };
        self.queue.insert(at, Arc::clone(&waiter));
        assert!(!self.grants.is_empty() || self.queue.len() > 1, "a request waits for somebody");
        self.assert_first_is_blocked();
        self.assert_state();
        waiter
    }

    /// Grants the first waiter if it can be granted; call until `None`. The caller sets its signal.
    pub(super) fn grant_next(&mut self) -> Option<Arc<Waiter>> {
        let waiter = self.queue.front()?;
        if self.is_blocked_by_grants(waiter.space.id(), waiter.mode) {
            return None;
        }
        let waiter = self.queue.pop_front()?;
        assert_eq!(waiter.outcome(), Outcome::Waiting, "a queued waiter waits");
        let own = self.position(waiter.space.id(), waiter.owner);
        let session_id = waiter.space.session_id();
        let grant = Grant { space: waiter.space.id(), session_id, owner: waiter.owner, mode: waiter.mode };
        self.set_grant(own, grant);
        waiter.outcome.store(Outcome::Granted as u8, Release);
        assert!(self.has_granted(&waiter), "a granted request holds its lock");
        Some(waiter)
    }

    /// Removes the waiter as deadlock victim; false when it no longer waits. The caller sets its signal.
    pub(super) fn make_victim(&mut self, waiter: &Arc<Waiter>) -> bool {
        if waiter.outcome() != Outcome::Waiting {
            return false;
        }
        self.remove_waiter(waiter);
        assert!(!self.has_granted(waiter) || waiter.is_conversion, "a victim did not get what it waited for");
        waiter.outcome.store(Outcome::Victim as u8, Release);
        true
    }

    pub(super) fn remove_waiter(&mut self, waiter: &Arc<Waiter>) {
        let at = self.queue.iter().position(|other| Arc::ptr_eq(other, waiter));
        self.queue.remove(at.expect("a waiter is in its queue"));
        assert!(!self.is_queued(waiter), "it stood there once");
        self.assert_state();
    }

    pub(super) fn is_queued(&self, waiter: &Arc<Waiter>) -> bool {
        self.queue.iter().any(|other| Arc::ptr_eq(other, waiter))
    }

    /// Does the waiter's owner hold the mode that it has waited for?
    pub(super) fn has_granted(&self, waiter: &Waiter) -> bool {
        let own = self.position(waiter.space.id(), waiter.owner);
        own.is_some_and(|at| self.grants.at(at).mode.covers(waiter.mode))
    }

    /// After each change: the first in the queue waits for a holder of the lock. No request waits for a free lock.
    fn assert_first_is_blocked(&self) {
        let first = self.queue.front();
        let is_blocked = |first: &Arc<Waiter>| self.is_blocked_by_grants(first.space.id(), first.mode);
        assert!(first.is_none_or(is_blocked), "the first in the queue waits for a holder");
    }

    pub(super) fn remove_grant(&mut self, space: u64, owner: LockOwner) {
        self.grants.remove(self.position(space, owner).expect("only a held lock is released"));
        debug_assert!(self.position(space, owner).is_none(), "an owner has one grant");
    }

    /// Has this owner the only grant, with an empty queue?
    #[inline]
    pub(super) fn is_held_alone(&self, space: u64, owner: LockOwner) -> bool {
        assert!(!self.is_unused(), "a lock that is given back is somebody's");
        self.queue.is_empty() && self.grants.is_only(space, owner)
    }

    pub(super) fn is_unused(&self) -> bool {
        self.grants.is_empty() && self.queue.is_empty()
    }

    pub(super) fn assert_in_use(&self) {
        assert!(!self.is_unused(), "a refused request met nobody");
    }

    /// The spaces that `waiter` waits for: holders of conflicting modes, and its predecessor in the queue (no request overtakes).
    pub(super) fn blockers(&self, waiter: &Arc<Waiter>, into: &mut Vec<u64>) {
        let me = waiter.space.id();
        for grant in self.grants.iter() {
            if grant.space != me && !waiter.mode.is_compatible_with(grant.mode) {
                into.push(grant.space);
            }
        }
        let at = self.queue.iter().position(|other| Arc::ptr_eq(other, waiter));
        assert!(at.is_some(), "who waits is in the queue");
        if let Some(at) = at.filter(|&at| at > 0) {
            into.push(self.queue[at - 1].space.id());
        }
        assert!(!into.is_empty(), "who waits, waits for somebody");
        self.assert_first_is_blocked();
    }

    /// Rows of `sys.dm_tran_locks`.
    pub(super) fn rows(&self, resource: &Resource, rows: &mut Vec<LockRow>) {
        for grant in self.grants.iter() {
            rows.push(LockRow {
                resource: *resource,
                mode: grant.mode,
                status: RequestStatus::Grant,
                session_id: grant.session_id,
                owner: grant.owner,
                blocking_session_id: 0,
            });
        }
        for (at, waiter) in self.queue.iter().enumerate() {
            let status = if waiter.is_conversion { RequestStatus::Convert } else { RequestStatus::Wait };
            rows.push(LockRow {
                resource: *resource,
                mode: waiter.mode,
                status,
                session_id: waiter.space.session_id(),
                owner: waiter.owner,
                blocking_session_id: self.blocking_session(waiter, at),
            });
        }
    }

    fn blocking_session(&self, waiter: &Waiter, at: usize) -> u32 {
        let in_the_way =
            |grant: &&Grant| grant.space != waiter.space.id() && !waiter.mode.is_compatible_with(grant.mode);
        match (self.grants.iter().find(in_the_way), at) {
            (Some(grant), _) => grant.session_id,
            (None, 0) => 0,
            (None, at) => self.queue[at - 1].space.session_id(),
        }
    }

    fn is_blocked_by_grants(&self, space: u64, mode: LockMode) -> bool {
        self.grants.is_in_the_way(space, mode)
    }

    fn is_held_by(&self, space: u64) -> bool {
        self.grants.is_held_by(space)
    }

    fn position(&self, space: u64, owner: LockOwner) -> Option<usize> {
        self.grants.position(space, owner)
    }

    fn set_grant(&mut self, own: Option<usize>, grant: Grant) {
        assert!(!self.is_blocked_by_grants(grant.space, grant.mode), "nobody is granted against another");
        self.grants.set(own, grant);
        self.assert_state();
    }
}
