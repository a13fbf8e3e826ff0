//! Benchmarks of the row paths in memory: insert into a heap and a tree, seek, scan. `cargo bench -p hardpan-access`.
//! One session, one transaction, on a real directory (`HARDPAN_BENCH_DIR`, else the system's temporary one).

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Place, create};
use hardpan_access::{BTreeDef, BTreeKind, Inserted, KeyRange, ScanOptions, UnitId};
use os::Os;
use pages::LatchMode;
use txn::{CommitMode, LockMode, LockWait, Resource};

const ROWS: u64 = 1_000_000;

fn main() {
    let os = Os::real();
    os.adopt_thread("bench");
    for volatile in [false, true] {
        for round in 0..2 {
            let base = std::env::var_os("HARDPAN_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
            let directory = base.join(format!("hardpan-bench-{}", std::process::id()));
            run(&os, &Place { directory: directory.clone(), pool_bytes: 512 << 20, volatile }, round);
            for entry in os.disk().list(&directory).expect("the directory") {
                os.disk().remove(&directory.join(entry.name)).expect("a file of ours");
            }
            os.disk().remove_dir(&directory).expect("an empty directory");
        }
    }
}

fn timed(os: &Os, what: &str, count: u64, body: impl FnOnce()) {
    let began_ns = os.clock().monotonic_ns();
    body();
    let per_ns = (os.clock().monotonic_ns() - began_ns) as f64 / count as f64;
    println!("  {what:<44} {per_ns:>8.1} ns");
}

fn run(os: &Os, place: &Place, round: u32) {
    println!("{} round {round}", if place.volatile { "tempdb-like" } else { "user database" });
    let db = create(os, place);
    let object = Resource::Object { database: 5, object: 100 };
    let mode = if place.volatile { CommitMode::Volatile } else { CommitMode::Full };
    let options = ScanOptions::default();
    let row = [1u8, 1, 0, 7, 0, 0, 0, 0];
    let log_before = db.log.stats();
    timed(os, "heap insert, 8-byte row, one transaction", ROWS, || {
        let txn = db.begin();
        txn.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
        for _ in 0..ROWS {
            db.heap.insert(&txn, &row).expect("room");
        }
        txn.commit(mode).expect("a disk");
    });
    let log_after = db.log.stats();
    println!(
        "  log: {:.1} bytes and {:.3} records a row, {} flushes",
        (log_after.record_bytes_total - log_before.record_bytes_total) as f64 / ROWS as f64,
        (log_after.records_total - log_before.records_total) as f64 / ROWS as f64,
        log_after.flushes_total - log_before.flushes_total
    );
    timed(os, "heap insert, transaction each (no wait)", ROWS / 4, || {
        for _ in 0..ROWS / 4 {
            let txn = db.begin();
            txn.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
            db.heap.insert(&txn, &row).expect("room");
            txn.commit(CommitMode::Volatile).expect("a disk");
        }
    });
    timed(os, "tree insert, rising key", ROWS, || {
        let txn = db.begin();
        txn.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
        for key in 0..ROWS {
            let inserted = db.tree.insert(&txn, &(key * 2).to_be_bytes(), &row).expect("room");
            assert_eq!(inserted, Inserted::Done);
        }
        txn.commit(mode).expect("a disk");
    });
    timed(os, "tree insert, random key", ROWS / 4, || {
        let txn = db.begin();
        txn.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
        for n in 0..ROWS / 4 {
            let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) * 2 + 1;
            db.tree.insert(&txn, &key.to_be_bytes(), &row).expect("room");
        }
        txn.commit(mode).expect("a disk");
    });
    let txn = db.begin();
    txn.lock(object, LockMode::IS, LockWait::Forever).expect("alone");
    timed(os, "tree seek, random key, READ COMMITTED", ROWS, || {
        let mut value = Vec::new();
        for n in 0..ROWS {
            let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % ROWS) * 2;
            value.clear();
            assert!(db.tree.get(&txn, &key.to_be_bytes(), &options, &mut value).expect("a disk"));
        }
    });
    timed(os, "tree scan, a row", ROWS, || {
        let mut cursor = db.tree.scan(KeyRange::all(), options);
        let mut count = 0;
        while cursor.next(&txn).expect("a disk") {
            count += cursor.value().len();
        }
        assert!(count > 0);
    });
    timed(os, "heap scan, a row", ROWS + ROWS / 4, || {
        let mut cursor = db.heap.scan(options);
        let mut count = 0;
        while cursor.next(&txn).expect("a disk") {
            count += cursor.row().len();
        }
        assert_eq!(count as u64, (ROWS + ROWS / 4) * 8);
    });
    timed(os, "fix a page in memory and let go", ROWS, || {
        for n in 0..ROWS {
            let page = pages::PageId::new(1, 20 + (n % 1000) as u32);
            drop(db.space.fix(page, LatchMode::Shared).expect("in memory"));
        }
    });
    drop(txn);
    timed(os, "update in place, 4 bytes of a row", ROWS / 4, || {
        let txn = db.begin();
        txn.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
        for key in 0..ROWS / 4 {
            let row = [1u8, 1, 0, 8, 8, 8, 8, 0];
            db.tree.update(&txn, &(key * 2).to_be_bytes(), &row).expect("room");
        }
        txn.commit(mode).expect("a disk");
    });
    timed(os, "rollback of an insert into a tree", ROWS / 4, || {
        let txn = db.begin();
        let root = db.access.create_btree(&txn, UnitId(9), BTreeKind::Clustered).expect("room");
        txn.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
        let tree = db.access.btree(BTreeDef { object: 100, unit: UnitId(9), root });
        for key in 0..ROWS / 4 {
            tree.insert(&txn, &key.to_be_bytes(), &row).expect("room");
        }
        txn.rollback().expect("a disk");
    });
    if !place.volatile {
        let began_ns = os.clock().monotonic_ns();
        db.checkpoint().expect("a disk");
        println!(
            "  checkpoint: {} ms, {:?}",
            (os.clock().monotonic_ns() - began_ns) / 1_000_000,
            db.pool.stats()
        );
        db.log.close().expect("a disk");
    }
}
