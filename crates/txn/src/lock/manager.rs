//! `LockManager`: the lock table in partitions, requests, waits and releases.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{Counter, Latch, LatchRank, Os, WaitOutcome};
use rustc_hash::FxHashMap;

use super::head::{Head, Outcome, Waiter};
use super::modes::LockMode;
use super::resource::{LockError, LockOwner, LockWait, Resource, ResourceKey, ResourceMap};
use super::row::{LockRow, RequestStatus};
use super::space::LockSpace;

/// Partitions of the lock table; a power of two.
const PARTITIONS: usize = 64;
const _: () = assert!(PARTITIONS.is_power_of_two(), "a key's partition is a few of its hash's bits");

#[derive(Default)]
pub(super) struct Partition {
    pub(super) heads: ResourceMap<Head>,
}

/// The wait of a space; the node's edge in the wait-for graph.
#[derive(Clone)]
pub(super) struct WaitNote {
    pub(super) key: ResourceKey,
    pub(super) waiter: Arc<Waiter>,
}

/// One per instance; see the heading of mod.rs.
pub struct LockManager {
    partitions: Box<[Latch<Partition>]>,
    pub(super) waiting: Latch<FxHashMap<u64, WaitNote>>,
    next_space: AtomicU64,
    pub(super) counters: LockCounters,
    pub(super) os: Os,
}

pub(super) struct LockCounters {
    kinds: [KindCounters; Resource::COUNTER_INSTANCES.len()],
    escalations: Arc<Counter>,
}

/// The counters of one kind of resource.
pub(super) struct KindCounters {
    requests: Arc<Counter>,
    waits: Arc<Counter>,
    wait_time_ms: Arc<Counter>,
    /// After a wait and without one.
    timeouts: Arc<Counter>,
    waited_timeouts: Arc<Counter>,
    pub(super) deadlocks: Arc<Counter>,
}

impl LockCounters {
    fn new(os: &Os) -> LockCounters {
        let kind = |at: usize| {
            let counter =
                |name: &str| os.counters().counter("SQLServer:Locks", name, Resource::COUNTER_INSTANCES[at]);
            KindCounters {
                requests: counter("Lock Requests/sec"),
                waits: counter("Lock Waits/sec"),
                wait_time_ms: counter("Lock Wait Time (ms)"),
                timeouts: counter("Lock Timeouts/sec"),
                waited_timeouts: counter("Lock Timeouts (timeout > 0)/sec"),
                deadlocks: counter("Number of Deadlocks/sec"),
            }
        };
        LockCounters {
            kinds: std::array::from_fn(kind),
            escalations: os.counters().counter("SQLServer:Access Methods", "Table Lock Escalations/sec", ""),
        }
    }

    pub(super) fn of(&self, resource: &Resource) -> &KindCounters {
        &self.kinds[resource.counter_index()]
    }
}

impl LockManager {
    /// An empty lock table.
    pub fn new(os: &Os) -> Arc<LockManager> {
        let partition = || Latch::new(LatchRank::LockPartition, Partition::default());
        Arc::new(LockManager {
            partitions: (0..PARTITIONS).map(|_| partition()).collect(),
            waiting: Latch::new(LatchRank::LockMonitor, FxHashMap::default()),
            next_space: AtomicU64::new(1),
            counters: LockCounters::new(os),
            os: os.clone(),
        })
    }

    /// A new lock space: for a session (its number) or a background task (0).
    pub fn new_space(&self, session_id: u32) -> Arc<LockSpace> {
        Arc::new(LockSpace::new(self.next_space.fetch_add(1, Relaxed), session_id))
    }

    /// Asks for `mode`, in addition to what the owner holds on the resource; waits as `wait` says. Returns the mode then held.
    pub(crate) fn acquire_hashed(
        &self,
        space: &Arc<LockSpace>,
        owner: LockOwner,
        key: ResourceKey,
        mode: LockMode,
        wait: LockWait,
    ) -> Result<LockMode, LockError> {
        let mut partition = self.partition(&key).lock();
        let head = partition.heads.entry(key).or_default();
        if let Some(held) = head.try_grant(space, owner, mode) {
            assert!(held.covers(mode), "{held:?} where {mode:?} was asked for");
            return Ok(held);
        }
        let timeout_ns = space.timeout_ns(wait);
        if timeout_ns == Some(0) {
            head.assert_in_use();
            self.counters.of(&key.resource).timeouts.increment();
            return Err(LockError::Timeout);
        }
        self.counters.of(&key.resource).waits.increment();
        let waiter = head.enqueue(space, owner, mode);
        assert!(waiter.mode.covers(mode), "who waits for {:?} gets {mode:?}", waiter.mode);
        self.note_waiting(space.id(), WaitNote { key, waiter: Arc::clone(&waiter) });
        drop(partition);
        self.wait_until_granted(space, &key, &waiter, timeout_ns)
    }

    /// Asks for `mode` without waiting; may be called while page latches are held. `None`: not granted.
    pub(crate) fn try_acquire_hashed(
        &self,
        space: &Arc<LockSpace>,
        owner: LockOwner,
        key: ResourceKey,
        mode: LockMode,
    ) -> Option<LockMode> {
        let mut partition = self.partition(&key).lock();
        let head = partition.heads.entry(key).or_default();
        let granted = head.try_grant(space, owner, mode);
        // A refusal leaves no unused head behind.
        head.assert_in_use();
        assert!(granted.is_none_or(|held| held.covers(mode)), "{granted:?} where {mode:?} was asked for");
        granted
    }

    /// Would the request be granted now? Makes no entry; may be called while page latches are held.
    pub(crate) fn could_acquire_hashed(&self, space: &LockSpace, key: &ResourceKey, mode: LockMode) -> bool {
        let partition = self.partition(key).lock();
        partition.heads.get(key).is_none_or(|head| head.could_grant(space.id(), mode))
    }

    /// Releases the owner's lock on the resource and grants the waiters that can be granted now.
    pub(crate) fn release_hashed(&self, space: &LockSpace, owner: LockOwner, key: &ResourceKey) {
        let mut partition = self.partition(key).lock();
        let Entry::Occupied(mut entry) = partition.heads.entry(*key) else {
            unreachable!("a held lock has a head");
        };
        let head = entry.get_mut();
        // Usually there is no other holder and no waiter.
        if !head.is_held_alone(space.id(), owner) {
            head.remove_grant(space.id(), owner);
            self.grant_waiters(head);
            if !head.is_unused() {
                return;
            }
        }
        entry.remove();
    }

    /// Requests a lock without waiting: `None` when another request conflicts. May be called while page latches are held.
    pub fn try_acquire(
        &self,
        space: &Arc<LockSpace>,
        owner: LockOwner,
        resource: Resource,
        mode: LockMode,
    ) -> Option<LockMode> {
        self.try_acquire_hashed(space, owner, ResourceKey::new(resource), mode)
    }

    /// Releases a lock that `acquire` or `try_acquire` granted.
    pub fn release(&self, space: &LockSpace, owner: LockOwner, resource: &Resource) {
        self.release_hashed(space, owner, &ResourceKey::new(*resource));
    }

    /// All granted and waiting requests: the rows of `sys.dm_tran_locks`, ordered by resource.
    pub fn snapshot(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for partition in &self.partitions {
            let partition = partition.lock();
            for (key, head) in &partition.heads {
                head.rows(&key.resource, &mut rows);
            }
        }
        rows.sort_by_key(|row| row.resource);
        rows
    }

    /// The session that blocks `session_id` now, if it waits for a lock (`sys.dm_exec_requests.blocking_session_id`).
    pub fn blocking_session(&self, session_id: u32) -> Option<u32> {
        let rows = self.snapshot();
        let row =
            rows.iter().find(|row| row.session_id == session_id && row.status != RequestStatus::Grant)?;
        Some(row.blocking_session_id)
    }

    /// Number of resources locked now; 0 at rest.
    pub fn locked_resource_count(&self) -> usize {
        self.partitions.iter().map(|partition| partition.lock().heads.len()).sum()
    }

    fn wait_until_granted(
        &self,
        space: &Arc<LockSpace>,
        key: &ResourceKey,
        waiter: &Arc<Waiter>,
        timeout_ns: Option<u64>,
    ) -> Result<LockMode, LockError> {
        assert_no_page_latch_held();
        let began_ns = self.os.clock().monotonic_ns();
        self.break_deadlocks(space.id());
        let outcome = waiter.signal.wait(waiter.mode.wait_type(), timeout_ns);
        let result = self.conclude_wait(key, waiter, outcome);
        let noted = self.waiting.lock().remove(&space.id());
        assert!(noted.is_some_and(|note| Arc::ptr_eq(&note.waiter, waiter)), "a space waits for one lock");
        let waited_ms = self.os.clock().monotonic_ns().saturating_sub(began_ns) / 1_000_000;
        self.counters.of(&key.resource).wait_time_ms.add(waited_ms as i64);
        result
    }

    /// The wait has ended: by a grant, as a victim, by time or by interrupt. The state in the queue decides, not the cause of the wakeup.
    fn conclude_wait(
        &self,
        key: &ResourceKey,
        waiter: &Arc<Waiter>,
        woken: WaitOutcome,
    ) -> Result<LockMode, LockError> {
        let mut partition = self.partition(key).lock();
        match waiter.outcome() {
            Outcome::Granted => {
                let head = partition.heads.get(key);
                assert!(head.is_some_and(|head| head.has_granted(waiter)), "a granted lock is in the table");
                return Ok(waiter.mode);
            }
            Outcome::Victim => {
                let head = partition.heads.get(key);
                assert!(head.is_none_or(|head| !head.is_queued(waiter)), "a victim has left the queue");
                return Err(LockError::Deadlock);
            }
            Outcome::Waiting => {}
        }
        assert!(woken != WaitOutcome::Set, "a lock wait was signalled without an outcome");
        let head = partition.heads.get_mut(key).expect("a waited-for lock has a head");
        head.remove_waiter(waiter);
        self.grant_waiters(head);
        assert_eq!(waiter.outcome(), Outcome::Waiting, "who has given up is served by nobody");
        if head.is_unused() {
            partition.heads.remove(key);
        }
        if woken == WaitOutcome::TimedOut {
            self.counters.of(&key.resource).timeouts.increment();
            self.counters.of(&key.resource).waited_timeouts.increment();
            return Err(LockError::Timeout);
        }
        Err(LockError::Interrupted)
    }

    pub(super) fn grant_waiters(&self, head: &mut Head) {
        while let Some(waiter) = head.grant_next() {
            assert_eq!(waiter.outcome(), Outcome::Granted, "who is woken has an outcome");
            waiter.signal.set();
        }
    }

    fn note_waiting(&self, space: u64, note: WaitNote) {
        assert_eq!(note.waiter.space.id(), space, "a space's own wait");
        let before = self.waiting.lock().insert(space, note);
        assert!(before.is_none(), "one lock space waits for two locks");
    }

    #[inline]
    pub(super) fn partition(&self, key: &ResourceKey) -> &Latch<Partition> {
        debug_assert_eq!(key.hash, ResourceKey::new(key.resource).hash, "the hash is the resource's own");
        // The map inside uses the lowest and the highest bits; take some between.
        &self.partitions[(key.hash >> 40) as usize % PARTITIONS]
    }

    /// Counts the requests, by kind of resource.
    pub(crate) fn count_requests<'a>(&self, asked: impl Iterator<Item = &'a ResourceKey>) {
        let mut counts = [0; Resource::COUNTER_INSTANCES.len()];
        asked.for_each(|key| counts[key.resource.counter_index()] += 1);
        for (kind, count) in self.counters.kinds.iter().zip(counts).filter(|(_, count)| *count > 0) {
            kind.requests.add(count);
        }
    }

    pub(crate) fn count_escalation(&self) {
        self.counters.escalations.increment();
    }
}

/// The rule that keeps page latches short: no thread waits for a lock while holding one.
fn assert_no_page_latch_held() {
    let held = os::held_ranks();
    assert!(!held.contains(&LatchRank::BTreePage), "waiting for a lock while holding a page latch");
}
