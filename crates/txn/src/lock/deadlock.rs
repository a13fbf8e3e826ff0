//! Deadlocks: detected by the request that closes the cycle, before it waits; resolved by choosing a victim of the cycle (error 1205).
//!
//! The search reads one lock partition at a time, so it does not see a consistent graph: a blocker may have released its lock, and wait for another
//! resource by the time it is read. So the edges of a cycle are read again. A space that waits releases nothing: when every member
//! is in the same wait before and after the second reading, all edges existed at the same time.
//! Victim: the lowest deadlock priority, then the least log to undo, then the youngest space.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::head::Outcome;
use super::manager::{LockManager, WaitNote};

struct Step {
    space: u64,
    note: WaitNote,
    blockers: Vec<u64>,
}

enum Search {
    /// `start` is on no cycle, or no longer waits.
    Nothing,
    /// A cycle dissolved while it was read: there may be others.
    Changed,
    /// The waits of the cycle.
    Cycle(Vec<WaitNote>),
}

impl LockManager {
    /// Searches for cycles through `start`, which has just queued, until there is none.
    pub(super) fn break_deadlocks(&self, start: u64) {
        loop {
            match self.find_cycle(start) {
                Search::Nothing => return,
                Search::Changed => self.os.yield_point(),
                Search::Cycle(cycle) => {
                    let victim = choose_victim(&cycle);
                    if self.kill(&victim) {
                        self.counters.of(&victim.key.resource).deadlocks.increment();
                    }
                }
            }
        }
    }

    /// A depth-first walk along "waits for".
    fn find_cycle(&self, start: u64) -> Search {
        let mut seen = FxHashSet::default();
        assert!(start > 0, "spaces count from 1");
        let Some(first) = self.step(start) else { return Search::Nothing };
        let mut path = vec![first];
        seen.insert(start);
        while let Some(step) = path.last_mut() {
            let Some(blocker) = step.blockers.pop() else {
                path.pop();
                continue;
            };
            if blocker == start {
                if !self.stands(&path) {
                    return Search::Changed;
                }
                return Search::Cycle(path.into_iter().map(|step| step.note).collect());
            }
            if seen.insert(blocker)
                && let Some(next) = self.step(blocker)
            {
                path.push(next);
                assert!(path.len() <= seen.len(), "no space is on the path twice");
            }
        }
        Search::Nothing
    }

    /// The resource that `space` waits for and its blockers; `None` when it does not wait.
    fn step(&self, space: u64) -> Option<Step> {
        let note = self.waiting.lock().get(&space)?.clone();
        let mut blockers = Vec::new();
        let partition = self.partition(&note.key).lock();
        if note.waiter.outcome() != Outcome::Waiting {
            return None;
        }
        partition.heads.get(&note.key)?.blockers(&note.waiter, &mut blockers);
        drop(partition);
        assert!(!blockers.contains(&space), "nobody is in its own way");
        Some(Step { space, note, blockers })
    }

    /// Does each member of the cycle still block the one before it?
    fn stands(&self, path: &[Step]) -> bool {
        assert!(
            path.iter().all(|step| step.note.waiter.space.id() == step.space),
            "each step is a space's own wait"
        );
        let blocks_still = |(at, step): (usize, &Step)| {
            let blocker = path[(at + 1) % path.len()].space;
            self.step(step.space).is_some_and(|again| {
                Arc::ptr_eq(&again.note.waiter, &step.note.waiter) && again.blockers.contains(&blocker)
            })
        };
        path.iter().enumerate().all(blocks_still) && self.is_still_waiting(path)
    }

    fn is_still_waiting(&self, path: &[Step]) -> bool {
        assert!(path.len() > 1, "nobody is in its own way");
        let waiting = self.waiting.lock();
        path.iter().all(|step| {
            let same =
                waiting.get(&step.space).is_some_and(|note| Arc::ptr_eq(&note.waiter, &step.note.waiter));
            same && step.note.waiter.outcome() == Outcome::Waiting
        })
    }

    /// False when the victim was granted or timed out in the meantime.
    fn kill(&self, victim: &WaitNote) -> bool {
        let mut partition = self.partition(&victim.key).lock();
        let Some(head) = partition.heads.get_mut(&victim.key) else { return false };
        if !head.make_victim(&victim.waiter) {
            return false;
        }
        assert_eq!(victim.waiter.outcome(), Outcome::Victim, "who is killed is told so");
        self.grant_waiters(head);
        if head.is_unused() {
            partition.heads.remove(&victim.key);
        }
        drop(partition);
        assert_eq!(victim.waiter.outcome(), Outcome::Victim, "who is woken has an outcome");
        victim.waiter.signal.set();
        true
    }
}

fn choose_victim(cycle: &[WaitNote]) -> WaitNote {
    assert!(cycle.len() > 1, "nobody is in its own way");
    use std::cmp::Reverse;
    let price = |note: &&WaitNote| {
        let space = &note.waiter.space;
        (space.deadlock_priority(), space.log_bytes(), Reverse(space.id()))
    };
    cycle.iter().min_by_key(price).expect("a cycle has members").clone()
}
