//! How often the log is flushed, and why: exact counts on a simulated device (claims 11-18, 57-62, 80, 81). The background draining of
#![allow(clippy::unwrap_used, reason = "a test")]
//! delayed commits is held back, so that every flush has a cause that the test names.

mod support;

use std::sync::Arc;

use hardpan_engine::{Database, DelayedDurability, Instance, OptionChange, Table};
use log::FlushReason;
use os::sim::{Fault, Operation, Profile, World};
use support::{Session, all_rows, create_database, create_table, in_world, item, items, open};

const COMMITS: i32 = 40;

struct Setup {
    instance: Arc<Instance>,
    database: Arc<Database>,
    table: Table,
    next_id: i32,
}

impl Setup {
    fn new(os: &os::Os) -> Setup {
        let instance = open(os);
        let database = create_database(&instance, support::NAME).expect("a new database");
        Setup::in_database(instance, database)
    }

    fn in_database(instance: Arc<Instance>, database: Arc<Database>) -> Setup {
        let table = create_table(&instance, &database, &items("T1"));
        database.log().suspend_background_flush(true);
        Setup { instance, database, table, next_id: 1 }
    }

    fn flushes(&self) -> u64 {
        self.database.log().stats().flushes_total
    }

    fn flushes_for(&self, reason: FlushReason) -> u64 {
        self.database.log().stats().flushes_by_reason_total[reason.index()]
    }

    fn set(&self, option: DelayedDurability) {
        let change = [OptionChange::DelayedDurability(option)];
        self.instance.alter_database(self.database.name(), &change).expect("ALTER DATABASE SET");
        assert_eq!(self.database.delayed_durability(), option);
    }

    /// Runs so many one-row transactions, each with or without delayed durability; returns the number of flushes.
    fn commit(&mut self, count: i32, asked: Option<bool>) -> u64 {
        let before = self.flushes();
        let mut session = Session::new(&self.instance, &self.database, 51);
        for _ in 0..count {
            let (table, id) = (self.table.clone(), self.next_id);
            self.next_id += 1;
            session.autocommit(asked, |txn| table.insert(txn, &item(id, 1, 10))).expect("one row");
        }
        self.flushes() - before
    }
}

/// Claims 11, 12, 57: one flush per commit with changes, none for readers, whatever COMMIT requests.
#[test]
fn disabled_flushes_once_per_writing_commit() {
    in_world(1, Profile::constant_latency(), |os| {
        let mut setup = Setup::new(os);
        assert_eq!(
            setup.database.delayed_durability(),
            DelayedDurability::Disabled,
            "the default (claim 41)"
        );
        setup.commit(1, None);
        assert_eq!(setup.commit(COMMITS, None), COMMITS as u64);
        assert_eq!(setup.commit(COMMITS, Some(true)), COMMITS as u64);
        assert_eq!(setup.commit(COMMITS, Some(false)), COMMITS as u64);
        let before = (setup.flushes(), setup.database.log().stats().records_total);
        for _ in 0..COMMITS {
            assert!(!all_rows(&setup.instance, &setup.database, &setup.table).is_empty());
        }
        assert_eq!(
            (setup.flushes(), setup.database.log().stats().records_total),
            before,
            "reading writes no log"
        );
    });
}

/// Claims 13, 25, 58: under FORCED no commit flushes, even one that requests full durability; the option takes effect at once.
#[test]
fn forced_never_waits_for_the_log() {
    in_world(2, Profile::constant_latency(), |os| {
        let mut setup = Setup::new(os);
        setup.commit(1, None);
        setup.set(DelayedDurability::Forced);
        assert_eq!(setup.commit(COMMITS, None), 0);
        assert_eq!(setup.commit(COMMITS, Some(false)), 0);
        assert!(
            setup.database.log().hardened() < setup.database.log().last(),
            "what was acknowledged is not hard yet"
        );
        setup.set(DelayedDurability::Disabled);
        assert_eq!(setup.commit(1, None), 1, "one full commit takes all before it along");
        assert_eq!(setup.database.log().hardened(), setup.database.log().last());
    });
}

/// Claims 59, 60, 62: under ALLOWED exactly the commits without a requested delay flush.
#[test]
fn allowed_flushes_for_the_commits_that_do_not_ask() {
    in_world(3, Profile::constant_latency(), |os| {
        let mut setup = Setup::new(os);
        setup.set(DelayedDurability::Allowed);
        setup.commit(1, None);
        assert_eq!(setup.commit(COMMITS, None), COMMITS as u64);
        assert_eq!(setup.commit(COMMITS, Some(false)), COMMITS as u64);
        assert_eq!(setup.commit(COMMITS, Some(true)), 0);
        let before = setup.flushes();
        for at in 0..COMMITS {
            setup.commit(1, Some(at % 2 == 0));
        }
        assert_eq!(setup.flushes() - before, COMMITS as u64 / 2);
    });
}

/// Claim 15: an open transaction flushes once per full block and not otherwise.
#[test]
fn a_full_block_is_flushed_without_anybody_waiting() {
    in_world(4, Profile::constant_latency(), |os| {
        let setup = Setup::new(os);
        let mut session = Session::new(&setup.instance, &setup.database, 51);
        session.set.begin_explicit();
        let before = (setup.flushes(), setup.database.log().stats().record_bytes_total);
        for id in 1..=2_000 {
            let table = setup.table.clone();
            session.statement(|txn| table.insert(txn, &item(id, id, 300))).expect("one row");
        }
        os.sleep(50_000_000, os::WaitType::SLEEP_TASK).expect("nobody interrupts the test");
        let stats = setup.database.log().stats();
        let blocks = (stats.record_bytes_total - before.1) / 61_440;
        let flushes = stats.flushes_total - before.0;
        assert!(blocks >= 10, "enough log to mean something: {blocks} blocks");
        assert!(
            flushes >= blocks && flushes <= blocks + blocks / 10 + 2,
            "{flushes} flushes for {blocks} blocks of log"
        );
        assert_eq!(
            setup.flushes_for(FlushReason::BlockFull),
            flushes,
            "all of them because a block was full"
        );
        session.set.commit(None).expect("a healthy disk");
    });
}

/// Claims 16 and 17: a checkpoint hardens the log of the pages before it writes them.
#[test]
fn a_checkpoint_flushes_before_it_writes_pages() {
    in_world(5, Profile::constant_latency(), |os| {
        let mut setup = Setup::new(os);
        setup.set(DelayedDurability::Forced);
        setup.database.checkpoint().expect("CHECKPOINT");
        assert_eq!(setup.commit(10, None), 0);
        let before = setup.flushes_for(FlushReason::WriteAhead);
        setup.database.checkpoint().expect("CHECKPOINT");
        assert_eq!(
            setup.flushes_for(FlushReason::WriteAhead),
            before + 1,
            "one flush for the whole batch of pages"
        );
        let again = setup.flushes_for(FlushReason::WriteAhead);
        setup.database.checkpoint().expect("CHECKPOINT");
        assert_eq!(
            setup.flushes_for(FlushReason::WriteAhead),
            again,
            "nothing to write, nothing to flush first"
        );
    });
}

/// Claim 18: sp_flush_log is one flush and makes delayed commits durable; with nothing to flush it is none.
#[test]
fn flush_log_hardens_what_was_delayed() {
    in_world(6, Profile::constant_latency(), |os| {
        let mut setup = Setup::new(os);
        setup.set(DelayedDurability::Forced);
        assert_eq!(setup.commit(COMMITS, None), 0);
        let before = setup.flushes_for(FlushReason::FlushLogProc);
        setup.database.flush_log().expect("sp_flush_log");
        assert_eq!(setup.flushes_for(FlushReason::FlushLogProc), before + 1);
        assert_eq!(setup.database.log().hardened(), setup.database.log().last());
        setup.database.flush_log().expect("sp_flush_log");
        assert_eq!(setup.flushes_for(FlushReason::FlushLogProc), before + 1);
    });
}

/// Claims 14, 80, 81: in tempdb no commit flushes, whatever the option, which can be set nevertheless.
#[test]
fn tempdb_commits_never_flush() {
    in_world(7, Profile::constant_latency(), |os| {
        let instance = open(os);
        let tempdb = instance.tempdb();
        let mut setup = Setup::in_database(instance, tempdb);
        for option in [DelayedDurability::Disabled, DelayedDurability::Allowed, DelayedDurability::Forced] {
            setup.set(option);
            assert_eq!(setup.commit(COMMITS, None), 0, "{option:?}");
            assert_eq!(setup.commit(COMMITS, Some(true)), 0, "{option:?}");
        }
    });
}

/// Claims 14, 78: nothing of tempdb is ever made durable: not at its creation, not by work that fills blocks of its log and makes it grow,
/// not by a checkpoint, not at the stop.
#[test]
fn nothing_of_tempdb_is_made_durable() {
    let world = World::new(9, Profile::constant_latency());
    world.inject(Fault::fail_from(Operation::Harden, 0).on("/temp"));
    for _start in 0..2 {
        world
            .run(|os| {
                let instance = open(os);
                let mut setup = Setup::in_database(Arc::clone(&instance), instance.tempdb());
                let table = setup.table.clone();
                let mut session = Session::new(&instance, &setup.database, 51);
                session.set.begin_explicit();
                for id in 0..15_000 {
                    session.statement(|txn| table.insert(txn, &item(-id - 1, 1, 20))).expect("one row");
                }
                session.set.commit(None).expect("a healthy disk");
                let stats = setup.database.log().stats();
                assert!(
                    stats.flushes_total > 4 && stats.size_bytes > 1 << 20,
                    "it fills blocks and grows: {stats:?}"
                );
                assert_eq!(setup.commit(1, None), 0);
                setup.database.checkpoint().expect("a healthy disk");
                instance.shutdown();
            })
            .assert_ok();
    }
    assert_eq!(world.faults_hit_total(), 0);
}

/// A transaction over two durable databases is fully durable whatever is requested; touching tempdb does not make it so.
#[test]
fn a_cross_database_commit_is_fully_durable() {
    in_world(8, Profile::constant_latency(), |os| {
        let instance = open(os);
        let first = create_database(&instance, "first").expect("a new database");
        let second = create_database(&instance, "second").expect("a new database");
        let mut first = Setup::in_database(Arc::clone(&instance), first);
        let second = Setup::in_database(Arc::clone(&instance), second);
        let tempdb = Setup::in_database(Arc::clone(&instance), instance.tempdb());
        first.set(DelayedDurability::Forced);
        second.set(DelayedDurability::Forced);
        first.next_id = 1_000;
        let mut commit = |others: &[&Setup]| {
            let before = first.flushes() + second.flushes();
            let mut session = Session::new(&instance, &first.database, 51);
            session.set.begin_explicit();
            first.next_id += 1;
            for setup in std::iter::once(&first).chain(others.iter().copied()) {
                let level = hardpan_engine::IsolationLevel::ReadCommitted;
                let txn = session.set.in_database(&setup.database, level).expect("joins");
                setup.table.insert(txn, &item(first.next_id, 1, 5)).expect("one row");
            }
            session.set.commit(None).expect("a healthy disk");
            first.flushes() + second.flushes() - before
        };
        assert_eq!(commit(&[]), 0);
        assert_eq!(commit(&[&tempdb]), 0, "tempdb is no second database for durability");
        assert_eq!(commit(&[&second]), 2, "one flush in each database");
    });
}
