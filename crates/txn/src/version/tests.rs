//! Tests of versions without a database: visibility and garbage collection.

use super::*;

const UNIT: u32 = 7;

fn writer(id: u64) -> Arc<VersionWriter> {
    Arc::new(VersionWriter::new(TxnId(id), false))
}

fn commit(versions: &Versions, writer: &Arc<VersionWriter>) -> usize {
    versions.counts.has_begun(writer);
    versions.commit(writer, Lsn::from_raw(writer.txn.0)).len()
}

fn see(versions: &Versions, key: &[u8], snapshot: u64) -> VersionLookup {
    versions.see(UNIT, key, snapshot, TxnId(999))
}

fn open(versions: &Versions, number: u64, id: u64) {
    let row = OpenSnapshot {
        number,
        txn: TxnId(1000 + id),
        session_id: 51,
        kind: SnapshotKind::Transaction,
        opened: log::records::LogTime(0),
        first_number: number,
    };
    versions.order.lock().open.insert((number, id), row);
}

fn close(versions: &Versions, number: u64, id: u64) -> usize {
    let mut order = versions.order.lock();
    order.open.remove(&(number, id));
    let gone = order.collect();
    versions.publish(&order);
    drop(order);
    versions.forget(&gone);
    gone.len()
}

/// Each snapshot finds the row as it was when it was opened, over several writers, and the writers themselves see the page.
#[test]
fn each_snapshot_sees_its_own_moment() {
    let versions = Versions::new(&os::Os::real());
    for (at, id) in [10u64, 11, 12].into_iter().enumerate() {
        open(&versions, at as u64 + 1, id);
        let writer = writer(id);
        let image = [at as u8];
        versions.store.leave(&writer, UNIT, b"row", (at > 0).then_some(&image[..]));
        versions.store.leave(&writer, UNIT, b"row", Some(b"a second image does not count"));
        assert_eq!(versions.see(UNIT, b"row", 1, TxnId(id)), VersionLookup::Present, "its own");
        assert_eq!(commit(&versions, &writer), 0, "snapshots below need it");
    }
    assert_eq!(see(&versions, b"row", 1), VersionLookup::Absent);
    assert_eq!(see(&versions, b"row", 2), VersionLookup::Was([1].as_slice().into()));
    assert_eq!(see(&versions, b"row", 3), VersionLookup::Was([2].as_slice().into()));
    assert_eq!(see(&versions, b"row", 4), VersionLookup::Present);
    assert_eq!(see(&versions, b"another", 1), VersionLookup::Present);
    assert_eq!(versions.see(UNIT + 1, b"row", 1, TxnId(999)), VersionLookup::Present, "of another unit");
    assert_eq!(close(&versions, 1, 10), 1, "the first writer is needed no more");
    assert_eq!(see(&versions, b"row", 2), VersionLookup::Was([1].as_slice().into()));
    assert_eq!(close(&versions, 3, 12), 0, "an older one is open");
    assert_eq!(close(&versions, 2, 11), 2);
    assert_eq!((versions.figures().versions, versions.figures().bytes), (0, 0));
}

/// Readers see undone rows as they were before; the versions are then dropped.
#[test]
fn an_undone_writer_leaves_nothing() {
    let versions = Versions::new(&os::Os::real());
    let undone = writer(5);
    versions.store.leave(&undone, UNIT, b"row", Some(b"before"));
    assert_eq!(see(&versions, b"row", 9), VersionLookup::Was(b"before".as_slice().into()));
    assert!(!versions.has_changed_since(UNIT, b"row", 1, TxnId(6)), "it has not committed");
    versions.counts.has_begun(&undone);
    versions.give_up(&undone);
    assert_eq!(see(&versions, b"row", 9), VersionLookup::Present);
    assert_eq!(versions.figures().bytes, 0);
}

/// The first to commit wins: a change conflicts with a writer that its snapshot does not see, also after only a delete or insert.
#[test]
fn a_later_commit_conflicts() {
    let versions = Versions::new(&os::Os::real());
    open(&versions, 1, 1);
    let first = writer(5);
    versions.store.leave(&first, UNIT, b"row", None);
    commit(&versions, &first);
    assert!(versions.has_changed_since(UNIT, b"row", 1, TxnId(6)));
    assert!(!versions.has_changed_since(UNIT, b"row", 2, TxnId(6)));
    assert!(!versions.has_changed_since(UNIT, b"row", 1, TxnId(5)), "its own change");
}

/// Without space the oldest snapshot is given up first; without a snapshot to give up the image is dropped, and readers get an error.
#[test]
fn a_full_store_gives_up_the_oldest_snapshot_and_then_images() {
    let versions = Versions::new(&os::Os::real());
    versions.set_bytes_max(1_000);
    open(&versions, 1, 1);
    let first = writer(5);
    versions.store.leave(&first, UNIT, b"row", Some(&[1; 2_000]));
    commit(&versions, &first);
    open(&versions, 2, 2);
    versions.give_up_oldest();
    assert_eq!(versions.open_snapshots().len(), 1, "the newer one keeps nothing");
    assert_eq!(versions.given_up_below.load(Acquire), 2);
    assert_eq!(versions.figures().bytes, 0);
    let second = writer(6);
    versions.store.leave(&second, UNIT, b"one", Some(&[1; 2_000]));
    versions.store.leave(&second, UNIT, b"two", Some(b"no room"));
    assert_eq!(see(&versions, b"one", 2), VersionLookup::Was([1; 2_000].as_slice().into()));
    assert_eq!(see(&versions, b"two", 2), VersionLookup::Lost);
}

/// With a file, images beyond half of the memory are on disk, and read like those in memory; their bytes do not count against the memory.
#[test]
fn images_without_memory_lie_on_disk() {
    let world = os::sim::World::new(1, os::sim::Profile::constant_latency());
    let report = world.run(|os| {
        os.disk().create_dir_all("/data".as_ref()).expect("a folder");
        let versions = Versions::new(os);
        versions.set_bytes_max(400_000);
        versions.spill_to("/data/hardpan.spill.versions.5".into());
        open(&versions, 1, 1);
        let first = writer(5);
        let image = |number: u32| vec![number as u8; 1_000 + number as usize];
        for number in 0..1_000u32 {
            versions.store.leave(&first, UNIT, &number.to_be_bytes(), Some(&image(number)));
            versions.store.leave(&first, UNIT, &number.to_be_bytes(), Some(b"a second image does not count"));
        }
        commit(&versions, &first);
        let figures = versions.figures();
        assert!(figures.bytes < 400_000 && figures.bytes_there > 800_000, "{figures:?}");
        assert!(figures.units.used >= 3, "{figures:?}");
        for number in 0..1_000u32 {
            let expected = VersionLookup::Was(image(number).into());
            assert_eq!(see(&versions, &number.to_be_bytes(), 1), expected, "{number}");
        }
        assert_eq!(versions.stored().iter().filter(|one| one.before == Before::Lost).count(), 0);
        assert_eq!(close(&versions, 1, 1), 1);
        let figures = versions.figures();
        assert_eq!((figures.bytes, figures.bytes_there, figures.units.used), (0, 0, 0));
        assert_eq!(figures.bytes_left_total, figures.bytes_forgotten_total);
    });
    report.assert_ok();
}

/// The names alone fill the memory at last: then snapshots are given up as usual.
#[test]
fn names_stay_in_memory_and_are_bounded() {
    let world = os::sim::World::new(2, os::sim::Profile::constant_latency());
    let report = world.run(|os| {
        os.disk().create_dir_all("/data".as_ref()).expect("a folder");
        let versions = Versions::new(os);
        versions.set_bytes_max(20_000);
        versions.spill_to("/data/hardpan.spill.versions.5".into());
        open(&versions, 1, 1);
        let first = writer(5);
        let mut number = 0u32;
        while versions.store.has_room() {
            versions.store.leave(&first, UNIT, &number.to_be_bytes(), Some(&[1; 500]));
            number += 1;
            assert!(number < 1_000, "bounded");
        }
        assert!(number > 60, "{number} images: more than memory alone has room for");
        commit(&versions, &first);
        versions.give_up_oldest();
        assert_eq!((versions.open_snapshots().len(), versions.figures().bytes), (0, 0));
    });
    report.assert_ok();
}

/// With a full disk the store behaves as without one: it uses all of the memory.
#[test]
fn a_disk_that_takes_nothing_leaves_the_memory() {
    let versions = Versions::new(&os::Os::real());
    versions.set_bytes_max(100_000);
    versions.spill_to("/nowhere/hardpan.spill.versions.5".into());
    open(&versions, 1, 1);
    let first = writer(5);
    let mut number = 0u32;
    while versions.store.has_room() {
        versions.store.leave(&first, UNIT, &number.to_be_bytes(), Some(&[7; 1_000]));
        number += 1;
    }
    assert!(number > 85, "{number} images of 1,000 bytes");
    let figures = versions.figures();
    assert_eq!((figures.bytes_there, figures.units.taken_total), (0, 0));
    assert_eq!(
        see(&versions, &(number - 1).to_be_bytes(), 1),
        VersionLookup::Was([7; 1_000].as_slice().into())
    );
    versions.store.leave(&first, UNIT, b"one more", Some(b"no room"));
    assert_eq!(see(&versions, b"one more", 1), VersionLookup::Lost);
}
