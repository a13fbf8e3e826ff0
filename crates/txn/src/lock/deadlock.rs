//! Deadlocks: found by the one who closes the cycle, before it waits; solved by making one of the cycle a victim (error 1205).
//!
//! The search reads one lock partition at a time, so it sees the graph piece by piece. That is sound: a space that waits releases
//! nothing, so when every member of a found cycle is *still in the same wait* afterwards, all edges stood at the same time.
//! Victim: the lowest deadlock priority, then the least log to undo, then the youngest space.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::head::Outcome;
use super::{LockManager, WaitNote};

struct Step {
    space: u64,
    note: WaitNote,
    blockers: Vec<u64>,
}

impl LockManager {
    /// Searches for cycles through `start`, which has just queued, until there is none.
    pub(super) fn break_deadlocks(&self, start: u64) {
        while let Some(cycle) = self.find_cycle(start) {
            let victim = choose_victim(&cycle);
            if self.kill(&victim) {
                self.counters.deadlocks.increment();
            }
        }
    }

    /// A depth-first walk along "waits for"; `None` when `start` is not on a cycle, or no longer waits.
    fn find_cycle(&self, start: u64) -> Option<Vec<WaitNote>> {
        let mut seen = FxHashSet::default();
        let mut path = vec![self.step(start)?];
        seen.insert(start);
        while let Some(step) = path.last_mut() {
            let Some(blocker) = step.blockers.pop() else {
                path.pop();
                continue;
            };
            if blocker == start {
                let cycle: Vec<_> = path.iter().map(|step| step.note.clone()).collect();
                if self.is_still_waiting(&path) {
                    return Some(cycle);
                }
                return None;
            }
            if seen.insert(blocker)
                && let Some(next) = self.step(blocker)
            {
                path.push(next);
            }
        }
        None
    }

    /// What `space` waits for and who is in its way; `None` when it does not wait.
    fn step(&self, space: u64) -> Option<Step> {
        let note = self.waiting.lock().get(&space)?.clone();
        let mut blockers = Vec::new();
        let partition = self.partition(&note.resource).lock();
        if note.waiter.outcome() != Outcome::Waiting {
            return None;
        }
        partition.heads.get(&note.resource)?.blockers(&note.waiter, &mut blockers);
        drop(partition);
        Some(Step { space, note, blockers })
    }

    fn is_still_waiting(&self, path: &[Step]) -> bool {
        let waiting = self.waiting.lock();
        path.iter().all(|step| {
            let same =
                waiting.get(&step.space).is_some_and(|note| Arc::ptr_eq(&note.waiter, &step.note.waiter));
            same && step.note.waiter.outcome() == Outcome::Waiting
        })
    }

    /// False when the victim got away (granted or timed out) in the meantime.
    fn kill(&self, victim: &WaitNote) -> bool {
        let mut partition = self.partition(&victim.resource).lock();
        let Some(head) = partition.heads.get_mut(&victim.resource) else { return false };
        if !head.make_victim(&victim.waiter) {
            return false;
        }
        self.grant_waiters(head);
        if head.is_unused() {
            partition.heads.remove(&victim.resource);
        }
        drop(partition);
        victim.waiter.signal.set();
        true
    }
}

fn choose_victim(cycle: &[WaitNote]) -> WaitNote {
    use std::cmp::Reverse;
    use std::sync::atomic::Ordering::Relaxed;
    let price = |note: &&WaitNote| {
        let space = &note.waiter.space;
        (space.deadlock_priority(), space.log_bytes.load(Relaxed), Reverse(space.id))
    };
    cycle.iter().min_by_key(price).expect("a cycle has members").clone()
}
