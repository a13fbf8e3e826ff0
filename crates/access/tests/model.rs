//! Random work of several workers on one heap and one tree, against a model, with crashes (claims 4-6, faults F1-F3, F9).
#![allow(clippy::unwrap_used, reason = "a test")]
//!
//! Each worker owns the keys that are its number modulo the workers, so all share pages. A key's row is in the heap; the
//! tree's value is the heap row's address and a copy of the row. After a crash each worker's keys must be exactly as one of its
//! commits left them, not older than its last fully durable one.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Db, Place, create, open, try_open};
use hardpan_access::{AccessError, AccessResult, Inserted, KeyRange, Rid, ScanOptions};
use os::sim::{Bug, End, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use txn::{CommitMode, Transaction};

const WORKERS: u64 = 4;
const KEYS: u64 = 40;

type Rows = BTreeMap<u64, Vec<u8>>;

/// The history of a worker: the states after each requested commit, and how many of them are surely durable.
#[derive(Clone, Default)]
struct History {
    states: Vec<Rows>,
    durable: usize,
}

type Ledger = Arc<Latch<Vec<History>>>;

fn key_bytes(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

fn random_row(key: u64, rng: &mut Rng) -> Vec<u8> {
    let length = match rng.below(20) {
        0 => 2000 + rng.below(1500),
        1..=4 => 200 + rng.below(600),
        _ => 1 + rng.below(60),
    };
    let mut row = key.to_le_bytes().to_vec();
    row.extend((0..length).map(|_| rng.below(256) as u8));
    row
}

fn value_of(rid: Rid, row: &[u8]) -> Vec<u8> {
    let mut value = rid.to_bytes().to_vec();
    value.extend_from_slice(row);
    value
}

fn insert(db: &Db, txn: &Transaction, key: u64, row: &[u8]) -> AccessResult<bool> {
    let rid = db.heap.insert(txn, row)?;
    let inserted = db.tree.insert(txn, &key_bytes(key), &value_of(rid, row))?;
    Ok(inserted == Inserted::Done)
}

fn rid_of(db: &Db, txn: &Transaction, key: u64) -> AccessResult<Rid> {
    let mut value = Vec::new();
    let found = db.tree.get(txn, &key_bytes(key), &ScanOptions::default(), &mut value)?;
    assert!(found, "the model has key {key}");
    Ok(Rid::from_bytes(&value).expect("a value begins with an address"))
}

/// One random change of one of the worker's keys, made to the database and to `rows`.
fn change(db: &Db, txn: &Transaction, worker: u64, rows: &mut Rows, rng: &mut Rng) -> AccessResult<()> {
    if rng.chance(1, 8) {
        return delete_some(db, txn, rows, rng);
    }
    if rng.chance(1, 8) {
        return insert_some(db, txn, worker, rows, rng);
    }
    let key = rng.below(KEYS) * WORKERS + worker;
    let row = random_row(key, rng);
    match (rows.contains_key(&key), rng.below(3)) {
        (false, _) => {
            assert!(insert(db, txn, key, &row)?, "the model lacks key {key}");
            rows.insert(key, row);
        }
        (true, 0) => {
            let rid = rid_of(db, txn, key)?;
            db.heap.delete(txn, rid)?;
            db.tree.delete(txn, &key_bytes(key))?;
            rows.remove(&key);
        }
        (true, 1) => {
            let rid = rid_of(db, txn, key)?;
            db.heap.update(txn, rid, &row)?;
            db.tree.update(txn, &key_bytes(key), &value_of(rid, &row))?;
            rows.insert(key, row);
        }
        (true, _) => {
            let twice = db.tree.insert(txn, &key_bytes(key), b"12345678twice")?;
            assert_eq!(twice, Inserted::Duplicate);
        }
    }
    Ok(())
}

/// Deletes a third of the worker's keys at once.
fn delete_some(db: &Db, txn: &Transaction, rows: &mut Rows, rng: &mut Rng) -> AccessResult<()> {
    let gone: Vec<u64> = rows.keys().copied().filter(|_| rng.chance(1, 3)).collect();
    let mut rids = gone.iter().map(|key| rid_of(db, txn, *key)).collect::<AccessResult<Vec<Rid>>>()?;
    db.heap.delete_many(txn, &mut rids)?;
    let keys: Vec<[u8; 8]> = gone.iter().map(|key| key_bytes(*key)).collect();
    let mut deleted = 0;
    db.tree.delete_sorted(txn, &keys, &mut deleted)?;
    assert_eq!(deleted, keys.len());
    gone.iter().for_each(|key| drop(rows.remove(key)));
    Ok(())
}

/// Inserts several of the worker's missing keys at once, possibly one of them twice.
fn insert_some(db: &Db, txn: &Transaction, worker: u64, rows: &mut Rows, rng: &mut Rng) -> AccessResult<()> {
    let keys = (0..KEYS).map(|key| key * WORKERS + worker);
    let wanted: Vec<u64> = keys.filter(|key| !rows.contains_key(key) && rng.chance(1, 2)).collect();
    let new: Vec<(u64, Vec<u8>)> = wanted.into_iter().map(|key| (key, random_row(key, rng))).collect();
    let images: Vec<&[u8]> = new.iter().map(|(_, row)| row.as_slice()).collect();
    let mut rids = Vec::new();
    db.heap.insert_many(txn, &images, &mut rids)?;
    assert_eq!(rids.len(), new.len());
    let entries: Vec<([u8; 8], Vec<u8>)> =
        new.iter().zip(&rids).map(|((key, row), rid)| (key_bytes(*key), value_of(*rid, row))).collect();
    let each = entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
    let mut inserted = 0;
    assert_eq!(db.tree.insert_sorted(txn, each.clone(), &mut inserted)?, Inserted::Done);
    assert_eq!(inserted, new.len());
    if let Some(last) = each.clone().next_back() {
        assert_eq!(db.tree.insert_sorted(txn, [last, last].into_iter(), &mut inserted)?, Inserted::Duplicate);
        assert_eq!(inserted, 0);
    }
    rows.extend(new);
    Ok(())
}

fn transact(db: &Db, worker: u64, ledger: &Ledger, rng: &mut Rng) -> AccessResult<()> {
    let txn = db.begin();
    let mut rows = ledger.lock()[worker as usize].states.last().cloned().unwrap_or_default();
    let work = (|| {
        for _ in 0..1 + rng.below(8) {
            change(db, &txn, worker, &mut rows, rng)?;
            if rng.chance(1, 5) {
                let savepoint = txn.savepoint();
                let mut thrown_away = rows.clone();
                for _ in 0..1 + rng.below(4) {
                    change(db, &txn, worker, &mut thrown_away, rng)?;
                }
                txn.rollback_to(savepoint)?;
            }
        }
        Ok::<(), AccessError>(())
    })();
    if work.is_err() || rng.chance(1, 5) {
        txn.rollback()?;
        return match work {
            Err(AccessError::Lock(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        };
    }
    let number = {
        let mut ledger = ledger.lock();
        let history = &mut ledger[worker as usize];
        history.states.push(rows);
        history.states.len()
    };
    let mode = if rng.chance(1, 2) { CommitMode::Full } else { CommitMode::Delayed };
    let outcome = txn.commit(mode)?;
    // A transaction that changed nothing waits for nothing, not even for the delayed commit before it.
    if mode == CommitMode::Full && !outcome.lsn.is_null() {
        ledger.lock()[worker as usize].durable = number;
    }
    Ok(())
}

fn work(os: &Os, db: &Arc<Db>, ledger: &Ledger, transactions: u64) {
    let mut tasks = Vec::new();
    for worker in 0..WORKERS {
        let (db, ledger, os2) = (Arc::clone(db), Arc::clone(ledger), os.clone());
        tasks.push(os.spawn(&format!("worker {worker}"), move || {
            let mut rng = os2.rng(&format!("worker {worker}"));
            for _ in 0..transactions {
                transact(&db, worker, &ledger, &mut rng).expect("a healthy disk");
            }
        }));
    }
    let (db2, os2) = (Arc::clone(db), os.clone());
    tasks.push(os.spawn("background", move || {
        let mut rng = os2.rng("background");
        for _ in 0..6 {
            let _ = os2.sleep(rng.below(4_000_000), WaitType::CHECKPOINT_QUEUE);
            if rng.chance(1, 2) {
                db2.checkpoint().expect("a healthy disk");
            } else {
                db2.access.clean_ghosts(&db2.manager, 100).expect("a healthy disk");
            }
        }
    }));
    for task in tasks {
        task.join().expect("a worker");
    }
    assert_eq!(db.locks.locked_resource_count(), 0, "the lock table is empty at rest");
}

/// All rows, read through the tree, checked against the heap.
fn read_all(db: &Db, backward: bool) -> Rows {
    let txn = db.begin();
    let mut rows = Rows::new();
    let mut cursor = db.tree.scan(KeyRange::all(), ScanOptions { backward, ..ScanOptions::default() });
    let mut previous: Option<u64> = None;
    while cursor.next(&txn).expect("a healthy disk") {
        let key = u64::from_be_bytes(cursor.key().try_into().expect("eight bytes"));
        assert!(previous.is_none_or(|previous| (previous < key) != backward), "keys come in order");
        previous = Some(key);
        let rid = Rid::from_bytes(cursor.value()).expect("an address");
        let row = cursor.value()[Rid::BYTES..].to_vec();
        let mut fetched = Vec::new();
        assert!(db.heap.fetch(&txn, rid, &ScanOptions::default(), &mut fetched).expect("a healthy disk"));
        assert_eq!(fetched, row, "heap and tree agree on key {key}");
        rows.insert(key, row);
    }
    let mut heap_rows = 0;
    let mut cursor = db.heap.scan(ScanOptions::default());
    while cursor.next(&txn).expect("a healthy disk") {
        let key = u64::from_le_bytes(cursor.row()[..8].try_into().expect("eight bytes"));
        assert_eq!(rows.get(&key).map(Vec::as_slice), Some(cursor.row()), "heap row {key} is in the tree");
        heap_rows += 1;
    }
    assert_eq!(heap_rows, rows.len(), "every row is in heap and tree");
    txn.commit(CommitMode::Full).expect("nothing to log");
    rows
}

/// Checks the structure, and that each worker's rows are the state of one of its commits. After a recovery the histories end with the recovered
/// state.
fn judge(db: &Db, ledger: &Ledger, is_recovered: bool) {
    if let Err(problems) = db.verify() {
        panic!("structure: {problems}");
    }
    let rows = read_all(db, false);
    assert_eq!(rows, read_all(db, true), "backward as forward");
    for worker in 0..WORKERS {
        let own: Rows = rows
            .iter()
            .filter(|(key, _)| *key % WORKERS == worker)
            .map(|(key, row)| (*key, row.clone()))
            .collect();
        let mut ledger = ledger.lock();
        let history = &mut ledger[worker as usize];
        let found = match own.is_empty() && history.durable == 0 {
            true => Some(0),
            false => (0..history.states.len()).rev().find(|at| history.states[*at] == own).map(|at| at + 1),
        };
        let number = found.unwrap_or_else(|| panic!("worker {worker}: rows of no commit (TORN or PHANTOM)"));
        if number < history.durable {
            let wanted = &history.states[history.durable - 1];
            let lost: Vec<_> =
                wanted.iter().filter(|row| own.get(row.0) != Some(row.1)).map(|row| row.0).collect();
            let extra: Vec<_> = own.keys().filter(|key| !wanted.contains_key(key)).collect();
            panic!(
                "worker {worker}: LOST commit {} of {number} ({}), recovered {is_recovered}: missing {lost:?}, extra {extra:?}",
                history.durable,
                history.states.len()
            );
        }
        if is_recovered {
            // The recovered state is durable.
            history.states.truncate(number);
            history.durable = number;
        }
    }
}

/// The number of power losses, and of rollbacks that continued in the middle of a multi-row delete.
type Reached = (u64, u64);

fn run_seed(seed: u64, bug: Option<Bug>) -> Result<Reached, String> {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let mut rng = Rng::named(seed, "access test");
    let place = Place { pool_bytes: (64 + rng.below(200)) * 8192, ..Place::new("/data/t") };
    let ledger: Ledger = Arc::new(Latch::new(LatchRank::Leaf, vec![History::default(); WORKERS as usize]));
    let place2 = place.clone();
    world.run(move |os| drop(create(os, &place2))).assert_ok();
    let mut crashes = 0;
    for _ in 0..3 {
        world.disarm();
        match rng.below(3) {
            0 => world.power_off_after_ios(1 + rng.below(200)),
            1 => world.kill_after_switches(1 + rng.below(6_000)),
            _ => world.power_off_after_switches(1 + rng.below(6_000)),
        }
        let (place2, ledger2) = (place.clone(), Arc::clone(&ledger));
        let report = world.run(move |os| {
            let db = Arc::new(open(os, &place2));
            judge(&db, &ledger2, true);
            work(os, &db, &ledger2, 25);
            judge(&db, &ledger2, false);
        });
        crashes += u64::from(report.end != End::Returned);
        if report.end == End::Failed {
            return Err(report.failures.join("; "));
        }
        for _ in 0..rng.below(3) {
            world.disarm();
            world.power_off_after_ios(1 + rng.below(40));
            let place2 = place.clone();
            let report = world.run(move |os| drop(open(os, &place2)));
            if report.end == End::Failed {
                return Err(format!("in recovery: {}", report.failures.join("; ")));
            }
        }
        world.disarm();
        let (place2, ledger2) = (place.clone(), Arc::clone(&ledger));
        let report = world.run(move |os| judge(&open(os, &place2), &ledger2, true));
        if report.end == End::Failed {
            return Err(report.failures.join("; "));
        }
    }
    let resumed = world.reached().get("undo resumes among rows deleted together").copied().unwrap_or(0);
    Ok((crashes, resumed))
}

fn seed_range() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("HARDPAN_TEST_FIRST_SEED").unwrap_or(0);
    first..first + number("HARDPAN_TEST_SEEDS").unwrap_or(12)
}

#[test]
fn rows_are_as_some_commit_left_them_after_every_crash() {
    let (mut crashes, mut resumed) = (0, 0);
    for seed in seed_range() {
        let reached = run_seed(seed, None).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        (crashes, resumed) = (crashes + reached.0, resumed + reached.1);
    }
    println!("{crashes} crashes; undo went on among rows deleted together {resumed} times");
    assert!(crashes > 0, "the seeds must crash to mean anything");
}

#[test]
fn the_oracle_finds_a_page_written_before_its_log() {
    let found = (0..500)
        .find_map(|seed| run_seed(seed, Some(Bug::PageBeforeLog)).err().map(|failure| (seed, failure)));
    let (seed, failure) = found.expect("the planted bug is found within 500 seeds");
    println!("found at seed {seed}: {failure}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let hash = || {
        let world = World::new(3, Profile::drawn(3));
        world
            .run(|os| {
                let db = Arc::new(create(os, &Place::new("/data/t")));
                let ledger: Ledger =
                    Arc::new(Latch::new(LatchRank::Leaf, vec![History::default(); WORKERS as usize]));
                work(os, &db, &ledger, 10);
            })
            .trace_hash
    };
    assert_eq!(hash(), hash());
}

/// A torn or failing disk at each single operation of a short run: no panic, and afterwards a recovered database.
#[test]
fn any_single_failing_write_leaves_a_recoverable_database() {
    for k in [1, 2, 3, 5, 8, 13, 21, 34, 55] {
        let world = World::new(k, Profile::nvme());
        let place = Place::new("/data/t");
        let place2 = place.clone();
        world.run(move |os| drop(create(os, &place2))).assert_ok();
        world.inject(os::sim::Fault::fail_once(os::sim::Operation::Write, k).on("t.mdf"));
        let place2 = place.clone();
        let report = world.run(move |os| {
            let Ok(db) = try_open(os, &place2) else { return };
            let txn = db.begin();
            let inserted = (0..300u64).all(|key| insert(&db, &txn, key, &[7; 500]).is_ok());
            let _ = if inserted { txn.commit(CommitMode::Full).map(|_| ()) } else { txn.rollback() };
            let failed = db.checkpoint().is_err();
            assert_eq!(
                failed,
                db.space.suspect_reason().is_some(),
                "a failed write makes the database suspect"
            );
            if failed {
                assert!(db.checkpoint().is_err(), "a suspect database is not written any more");
            }
        });
        report.assert_ok();
        world.clear_faults();
        let place2 = place.clone();
        world
            .run(move |os| {
                let db = open(os, &place2);
                let rows = db.verify().expect("sound");
                assert!(rows.is_multiple_of(300), "all or nothing: {rows} rows in heap and tree");
            })
            .assert_ok();
    }
}
