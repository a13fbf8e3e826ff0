//! Tests of the lock manager: order of granting, deadlocks, time-outs, interrupts, escalation.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use os::{Latch, LatchRank, Os};

use super::*;

const ROW: Resource = Resource::Rid { database: 5, object: 7, file: 1, page: 100, slot: 3 };
const OTHER_ROW: Resource = Resource::Rid { database: 5, object: 7, file: 1, page: 100, slot: 4 };
const TABLE: Resource = Resource::Object { database: 5, object: 7 };

fn row(number: u32) -> Resource {
    Resource::Rid { database: 5, object: 7, file: 1, page: number / 100, slot: (number % 100) as u16 }
}

struct Bench {
    os: Os,
    manager: Arc<LockManager>,
    next_owner: AtomicU32,
}

impl Bench {
    fn new() -> Bench {
        let os = Os::real();
        Bench { manager: LockManager::new(&os), os, next_owner: AtomicU32::new(1) }
    }

    fn owner(&self) -> HeldLocks {
        let number = self.next_owner.fetch_add(1, SeqCst);
        let space = self.manager.new_space(50 + number);
        HeldLocks::new(Arc::clone(&self.manager), space, LockOwner::Transaction(u64::from(number)))
    }

    /// Waits until so many requests wait.
    fn until_waiting(&self, count: usize) {
        let waiting =
            || self.manager.snapshot().iter().filter(|row| row.status != RequestStatus::Grant).count();
        while waiting() != count {
            self.os.sleep(200_000, os::WaitType::SLEEP_TASK).expect("nobody interrupts the test");
        }
    }

    fn assert_empty(&self) {
        assert_eq!(self.manager.locked_resource_count(), 0, "{:?}", self.manager.snapshot());
        assert!(self.manager.waiting.lock().is_empty());
    }
}

#[test]
fn held_locks_are_counted_and_given_back() {
    let bench = Bench::new();
    let mut owner = bench.owner();
    owner.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    owner.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    owner.unlock(&ROW, LockMode::S);
    assert_eq!(owner.mode(&ROW), Some(LockMode::S));
    owner.unlock(&ROW, LockMode::S);
    assert_eq!(owner.mode(&ROW), None);
    owner.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    owner.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
    owner.unlock(&ROW, LockMode::S);
    assert_eq!(owner.mode(&ROW), Some(LockMode::X), "a lock that became stronger stays");
    owner.unlock_all();
    bench.assert_empty();
}

#[test]
fn no_wait_and_time_out_refuse_without_leaving_a_trace() {
    let bench = Bench::new();
    let (mut holder, mut other) = (bench.owner(), bench.owner());
    holder.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
    assert!(!other.try_lock(ROW, LockMode::S));
    assert!(!other.could_lock(&ROW, LockMode::S));
    assert!(holder.could_lock(&ROW, LockMode::S));
    assert_eq!(other.lock(ROW, LockMode::S, LockWait::NoWait), Err(LockError::Timeout));
    assert_eq!(other.lock(ROW, LockMode::S, LockWait::Milliseconds(20)), Err(LockError::Timeout));
    other.space.set_lock_timeout_ms(20);
    assert_eq!(other.lock(ROW, LockMode::S, LockWait::Session), Err(LockError::Timeout));
    assert_eq!(bench.manager.snapshot().len(), 1);
    holder.unlock_all();
    assert!(other.try_lock(ROW, LockMode::S));
    other.unlock_all();
    bench.assert_empty();
}

/// No request overtakes: a reader behind a waiting writer waits although it could share with the holder.
#[test]
fn requests_are_granted_in_order_of_arrival() {
    let bench = Arc::new(Bench::new());
    let order = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let mut holder = bench.owner();
    holder.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    let mut tasks = Vec::new();
    for (at, mode) in [LockMode::X, LockMode::S, LockMode::S].into_iter().enumerate() {
        let (mut owner, order) = (bench.owner(), Arc::clone(&order));
        tasks.push(bench.os.spawn("waiter", move || {
            owner.lock(ROW, mode, LockWait::Forever).unwrap();
            order.lock().push(mode);
            owner.unlock_all();
        }));
        bench.until_waiting(at + 1);
    }
    assert!(!bench.owner().try_lock(ROW, LockMode::S), "the queue is not overtaken");
    holder.unlock_all();
    for task in tasks {
        task.join().unwrap();
    }
    assert_eq!(*order.lock(), [LockMode::X, LockMode::S, LockMode::S]);
    bench.assert_empty();
}

#[test]
fn a_conversion_goes_before_new_requests() {
    let bench = Arc::new(Bench::new());
    let order = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let (mut reader, mut converter, mut newcomer) = (bench.owner(), bench.owner(), bench.owner());
    reader.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    converter.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    let noted = Arc::clone(&order);
    let first = bench.os.spawn("newcomer", move || {
        newcomer.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
        noted.lock().push("newcomer");
        newcomer.unlock_all();
    });
    bench.until_waiting(1);
    let noted = Arc::clone(&order);
    let second = bench.os.spawn("converter", move || {
        converter.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
        noted.lock().push("converter");
        converter.unlock_all();
    });
    bench.until_waiting(2);
    let statuses: Vec<_> = bench.manager.snapshot().iter().map(|row| row.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == RequestStatus::Convert).count(), 1);
    reader.unlock_all();
    first.join().unwrap();
    second.join().unwrap();
    assert_eq!(*order.lock(), ["converter", "newcomer"]);
    bench.assert_empty();
}

/// Runs two owners into a deadlock over two rows; gives the results of (first, second), where the second closes the cycle.
fn cross(bench: &Arc<Bench>, mut first: HeldLocks, mut second: HeldLocks) -> [Result<(), LockError>; 2] {
    first.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
    second.lock(OTHER_ROW, LockMode::X, LockWait::Forever).unwrap();
    let result = Arc::new(Latch::new(LatchRank::Leaf, None));
    let noted = Arc::clone(&result);
    let task = bench.os.spawn("first", move || {
        let outcome = first.lock(OTHER_ROW, LockMode::X, LockWait::Forever);
        first.unlock_all();
        *noted.lock() = Some(outcome);
    });
    bench.until_waiting(1);
    let outcome = second.lock(ROW, LockMode::X, LockWait::Forever);
    second.unlock_all();
    task.join().unwrap();
    let first_outcome = result.lock().take();
    bench.assert_empty();
    [first_outcome.expect("the task has noted its result"), outcome]
}

#[test]
fn the_victim_has_the_lowest_priority() {
    let bench = Arc::new(Bench::new());
    let (first, second) = (bench.owner(), bench.owner());
    first.space.set_deadlock_priority(-5);
    first.space.add_log_bytes(1_000_000);
    assert_eq!(cross(&bench, first, second), [Err(LockError::Deadlock), Ok(())]);
}

#[test]
fn among_equals_the_victim_has_the_least_to_undo() {
    let bench = Arc::new(Bench::new());
    let (first, second) = (bench.owner(), bench.owner());
    first.space.add_log_bytes(100);
    second.space.add_log_bytes(10_000);
    assert_eq!(cross(&bench, first, second), [Err(LockError::Deadlock), Ok(())]);
    let (first, second) = (bench.owner(), bench.owner());
    first.space.add_log_bytes(10_000);
    second.space.add_log_bytes(100);
    assert_eq!(cross(&bench, first, second), [Ok(()), Err(LockError::Deadlock)]);
}

/// Two readers that both want to write: the classic conversion deadlock.
#[test]
fn two_conversions_deadlock() {
    let bench = Arc::new(Bench::new());
    let (mut first, mut second) = (bench.owner(), bench.owner());
    first.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    second.lock(ROW, LockMode::S, LockWait::Forever).unwrap();
    first.space.add_log_bytes(500);
    let task = bench.os.spawn("first", move || {
        first.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
        first.unlock_all();
    });
    bench.until_waiting(1);
    assert_eq!(second.lock(ROW, LockMode::X, LockWait::Forever), Err(LockError::Deadlock));
    assert_eq!(second.mode(&ROW), Some(LockMode::S), "the victim keeps what it had until it rolls back");
    second.unlock_all();
    task.join().unwrap();
    bench.assert_empty();
}

/// Many owners over few rows in random order: every deadlock is found, every owner ends, no lock is left.
#[test]
fn random_crossings_always_end() {
    let bench = Arc::new(Bench::new());
    let deadlocks = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = (0..6)
        .map(|task| {
            let (bench, deadlocks) = (Arc::clone(&bench), Arc::clone(&deadlocks));
            let os = bench.os.clone();
            os.spawn("crosser", move || {
                let mut state = 0x9e37_79b9_u32.wrapping_mul(task + 1) | 1;
                let mut random = || {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    state
                };
                for _ in 0..400 {
                    let mut owner = bench.owner();
                    for _ in 0..4 {
                        let mode = if random() % 2 == 0 { LockMode::S } else { LockMode::X };
                        if owner.lock(row(random() % 5), mode, LockWait::Forever).is_err() {
                            deadlocks.fetch_add(1, SeqCst);
                            break;
                        }
                        bench.os.yield_point();
                    }
                    owner.unlock_all();
                }
            })
        })
        .collect();
    for task in tasks {
        task.join().unwrap();
    }
    bench.assert_empty();
}

#[test]
fn an_interrupt_ends_the_wait() {
    let bench = Arc::new(Bench::new());
    let (mut holder, mut waiter) = (bench.owner(), bench.owner());
    holder.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
    let task_ref = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (noted, own_bench) = (Arc::clone(&task_ref), Arc::clone(&bench));
    let task = bench.os.spawn("waiter", move || {
        *noted.lock() = Some(os::task::current());
        assert_eq!(waiter.lock(ROW, LockMode::S, LockWait::Forever), Err(LockError::Interrupted));
        assert_eq!(own_bench.manager.snapshot().len(), 1, "the waiter has left the queue");
    });
    bench.until_waiting(1);
    let current = task_ref.lock().clone().expect("the waiter has noted itself");
    assert_eq!(current.current_wait().map(|(wait_type, _)| wait_type), Some(os::WaitType::LCK_M_S));
    current.interrupt(os::task::InterruptReason::Kill);
    task.join().unwrap();
    holder.unlock_all();
    bench.assert_empty();
}

#[test]
fn locks_of_one_space_do_not_conflict() {
    let bench = Bench::new();
    let space = bench.manager.new_space(51);
    let mut session = HeldLocks::new(Arc::clone(&bench.manager), Arc::clone(&space), LockOwner::Session);
    let mut transaction = HeldLocks::new(Arc::clone(&bench.manager), space, LockOwner::Transaction(9));
    session.lock(TABLE, LockMode::S, LockWait::Forever).unwrap();
    transaction.lock(TABLE, LockMode::X, LockWait::NoWait).unwrap();
    assert!(!bench.owner().try_lock(TABLE, LockMode::IS));
    transaction.unlock_all();
    assert!(bench.owner().try_lock(TABLE, LockMode::IS));
    session.unlock_all();
}

#[test]
fn five_thousand_row_locks_become_one_object_lock() {
    let bench = Bench::new();
    let mut owner = bench.owner();
    owner.lock(TABLE, LockMode::IX, LockWait::Forever).unwrap();
    for number in 0..ESCALATION_THRESHOLD_LOCKS - 1 {
        owner.lock(row(number), LockMode::X, LockWait::Forever).unwrap();
    }
    assert_eq!(owner.mode(&TABLE), Some(LockMode::IX));
    owner.lock(row(9_999), LockMode::X, LockWait::Forever).unwrap();
    assert_eq!(owner.mode(&TABLE), Some(LockMode::X));
    assert_eq!(bench.manager.locked_resource_count(), 1, "the row locks are gone");
    owner.lock(row(10_000), LockMode::X, LockWait::Forever).unwrap();
    assert_eq!(bench.manager.locked_resource_count(), 1, "rows of the object need no lock any more");
    assert!(owner.covers_rows(&TABLE, LockMode::X));
    owner.unlock_all();
    bench.assert_empty();
}

#[test]
fn a_refused_escalation_is_tried_again_later() {
    let bench = Bench::new();
    let (mut owner, mut other) = (bench.owner(), bench.owner());
    other.lock(TABLE, LockMode::IX, LockWait::Forever).unwrap();
    owner.lock(TABLE, LockMode::IS, LockWait::Forever).unwrap();
    let mut number = 0;
    let mut lock_more = |owner: &mut HeldLocks, count: u32| {
        for _ in 0..count {
            owner.lock(row(number), LockMode::S, LockWait::Forever).unwrap();
            number += 1;
        }
    };
    lock_more(&mut owner, ESCALATION_THRESHOLD_LOCKS);
    assert_eq!(owner.mode(&TABLE), Some(LockMode::IS), "somebody else intends to change the table");
    other.unlock_all();
    lock_more(&mut owner, ESCALATION_RETRY_LOCKS - 1);
    assert_eq!(owner.mode(&TABLE), Some(LockMode::IS));
    lock_more(&mut owner, 1);
    assert_eq!(owner.mode(&TABLE), Some(LockMode::S), "readers escalate to S");
    owner.unlock_all();
    bench.assert_empty();
}

/// Owners of one lock each cannot deadlock, whatever their order: an owner that releases and queues again during a search is no member
/// of a cycle.
#[test]
fn who_queues_for_one_resource_is_never_a_victim() {
    for seed in 0..300 {
        let world = os::sim::World::new(seed, os::sim::Profile::nvme());
        let report = world.run(|os| {
            let manager = LockManager::new(os);
            let start = |number: u64| {
                let manager = Arc::clone(&manager);
                os.spawn(&format!("owner {number}"), move || {
                    for round in 0..12 {
                        let space = manager.new_space(50 + number as u32);
                        let owner = LockOwner::Transaction(number * 100 + round);
                        let mut held = HeldLocks::new(Arc::clone(&manager), space, owner);
                        held.lock(ROW, LockMode::X, LockWait::Forever)
                            .expect("nothing to wait for in a circle");
                        manager.os.yield_point();
                        held.unlock_all();
                        // The same owner comes back at once.
                        held.lock(ROW, LockMode::X, LockWait::Forever)
                            .expect("nothing to wait for in a circle");
                        held.unlock_all();
                    }
                })
            };
            for owner in (0..4).map(start).collect::<Vec<_>>() {
                owner.join().expect("no owner fails");
            }
        });
        report.assert_ok();
    }
}

#[test]
fn locks_since_a_mark_are_given_back_those_before_stay_as_strong_as_they_are() {
    let bench = Bench::new();
    let mut owner = bench.owner();
    let database = Resource::Database { database: 5 };
    owner.lock(TABLE, LockMode::IS, LockWait::Forever).unwrap();
    owner.lock(ROW, LockMode::U, LockWait::Forever).unwrap();
    let mark = owner.mark();
    owner.lock(database, LockMode::S, LockWait::Forever).unwrap();
    owner.lock(TABLE, LockMode::IX, LockWait::Forever).unwrap();
    owner.lock(ROW, LockMode::X, LockWait::Forever).unwrap();
    owner.lock(OTHER_ROW, LockMode::S, LockWait::Forever).unwrap();
    (0..20).for_each(|number| owner.lock(row(number), LockMode::X, LockWait::Forever).unwrap());
    owner.unlock_since(mark);
    assert_eq!(owner.mode(&TABLE), Some(LockMode::IX), "a conversion stays");
    assert_eq!((owner.mode(&ROW), owner.mode(&OTHER_ROW)), (Some(LockMode::X), None));
    assert_eq!((owner.mode(&database), owner.len()), (Some(LockMode::S), 3));
    // A row that was released and locked again counts from the second lock.
    owner.unlock(&ROW, LockMode::X);
    let mark = owner.mark();
    owner.lock(OTHER_ROW, LockMode::X, LockWait::Forever).unwrap();
    owner.unlock(&OTHER_ROW, LockMode::X);
    owner.lock(OTHER_ROW, LockMode::X, LockWait::Forever).unwrap();
    owner.unlock_since(mark);
    assert_eq!(owner.mode(&OTHER_ROW), None);
    // The lock that rows were escalated to covers rows locked before the mark, too.
    let mark = owner.mark();
    for number in 0..ESCALATION_THRESHOLD_LOCKS {
        owner.lock(row(number), LockMode::X, LockWait::Forever).unwrap();
    }
    assert_eq!((owner.mode(&TABLE), owner.mode(&ROW)), (Some(LockMode::X), None));
    owner.unlock_since(mark);
    assert_eq!(owner.mode(&TABLE), Some(LockMode::X), "an escalation stays");
    owner.unlock_all();
    bench.assert_empty();
}

/// Row locks under a covering object lock are not looked up one by one; they are again after the object lock is released.
#[test]
fn rows_of_a_whole_object_are_locked_with_it_and_no_longer() {
    let bench = Bench::new();
    let (mut owner, mut other) = (bench.owner(), bench.owner());
    let of_another = Resource::Rid { database: 5, object: 8, file: 1, page: 100, slot: 3 };
    let mark = owner.mark();
    owner.lock(TABLE, LockMode::IX, LockWait::Forever).unwrap();
    for number in 0..2 * ESCALATION_THRESHOLD_LOCKS {
        assert!(owner.try_lock(row(number), LockMode::X));
    }
    assert_eq!((owner.mode(&TABLE), owner.len()), (Some(LockMode::X), 1), "escalated");
    assert!(other.try_lock(of_another, LockMode::X));
    assert!(!owner.try_lock(of_another, LockMode::S), "another object's rows are not under it");
    assert!(!other.try_lock(TABLE, LockMode::IX));
    owner.unlock_since(mark);
    assert!(owner.is_empty(), "the object was locked behind the mark");
    assert!(owner.try_lock(row(1), LockMode::X) && !other.try_lock(row(1), LockMode::X), "row by row again");
    assert!(other.try_lock(row(2), LockMode::X) && !owner.try_lock(row(2), LockMode::S));
    owner.unlock_all();
    // An object lock taken before any row lock uses the shortcut, too; with row locks of its own it does not.
    other.unlock(&row(2), LockMode::X);
    assert!(owner.try_lock(row(3), LockMode::X));
    assert!(owner.try_lock(TABLE, LockMode::X) && owner.try_lock(row(3), LockMode::X));
    owner.unlock(&row(3), LockMode::X);
    assert_eq!(owner.mode(&row(3)), Some(LockMode::X), "asked for twice, given back once");
    owner.unlock_all();
    assert!(owner.try_lock(TABLE, LockMode::X) && owner.try_lock(row(3), LockMode::X));
    assert_eq!((owner.mode(&row(3)), owner.len()), (None, 1));
    owner.unlock(&TABLE, LockMode::X);
    assert!(owner.try_lock(row(3), LockMode::X) && !other.try_lock(row(3), LockMode::X));
    owner.unlock_all();
    other.unlock_all();
    bench.assert_empty();
}

#[test]
fn the_rows_of_a_page_lie_beside_each_other() {
    let key =
        |page, slot| ResourceKey::new(Resource::Rid { database: 5, object: 77, file: 1, page, slot }).hash;
    let mut partitions = std::collections::BTreeSet::new();
    for page in 0..1000 {
        let first = key(page, 0);
        let hashes: Vec<u64> = (0..400).map(|slot| key(page, slot)).collect();
        let follows =
            |(slot, hash): (usize, &u64)| *hash as u32 == (first as u32).wrapping_add(2 * slot as u32);
        assert!(hashes.iter().enumerate().all(follows), "the next place but one in the map");
        // A map compares sixteen neighbours by seven bits before it looks at their keys.
        for near in hashes.windows(16) {
            let tags: std::collections::BTreeSet<u64> = near.iter().map(|hash| hash >> 57).collect();
            assert_eq!(tags.len(), 16, "page {page}");
        }
        let of_page: std::collections::BTreeSet<u64> = hashes.iter().map(|hash| hash >> 40 & 63).collect();
        assert!(of_page.len() <= 2, "one partition, but for a carry");
        partitions.extend(of_page);
    }
    assert_eq!(partitions.len(), 64, "pages spread over all partitions");
}

/// Sessions are charged by the number of their locks: the estimate is close to the allocator's count.
#[test]
fn a_lock_takes_about_what_it_is_charged() {
    const LOCKS: usize = 4_000;
    let bench = Bench::new();
    let mut owner = bench.owner();
    let before = os::memory::thread_bytes();
    for number in 0..LOCKS as u32 {
        owner.lock(row(number), LockMode::X, LockWait::Forever).unwrap();
    }
    let taken = usize::try_from(os::memory::thread_bytes() - before).unwrap() / LOCKS;
    assert!(taken < 2 * super::LOCK_BYTES && super::LOCK_BYTES < 2 * taken, "{taken} bytes each");
    owner.unlock_all();
    bench.assert_empty();
}
