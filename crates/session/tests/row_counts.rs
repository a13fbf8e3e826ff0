//! The row count stored for each heap and index: exact after every change, savepoint, rollback, rebuild, restart and loss of power.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::random::Random;
use crate::common::simulated::after_power_loss;
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const TABLES: [&str; 3] = ["h", "k", "f"];

const MAKE: &str = "CREATE TABLE h (id int, v int); CREATE TABLE k (id int PRIMARY KEY, v int UNIQUE);
     CREATE TABLE f (id int, v int); CREATE INDEX part ON f (v) WHERE v > 50; CREATE INDEX every ON f (id)";

fn make(session: &mut Session) {
    for text in MAKE.split("; ") {
        assert!(numbers(&run(session, text)).is_empty(), "{text}");
    }
}

/// The stored count equals the actual one: for each table and index, and in OBJECTPROPERTYEX.
fn check(session: &mut Session, after: &str) {
    for table in TABLES {
        let told = rows(
            session,
            &format!(
                "SELECT index_id, rows FROM sys.partitions WHERE object_id = OBJECT_ID('{table}') ORDER BY 1"
            ),
        );
        let all = rows(session, &format!("SELECT COUNT(*) FROM {table} WITH (INDEX(0))"))[0].clone();
        let filtered = rows(session, "SELECT COUNT(*) FROM f WHERE v > 50")[0].clone();
        for line in told {
            let (index, found) = line.split_once('|').unwrap();
            let is_filtered = table == "f" && index == "2";
            assert_eq!(
                found,
                if is_filtered { &filtered } else { &all },
                "index {index} of {table} after {after}"
            );
        }
        let property = format!("SELECT OBJECTPROPERTYEX(OBJECT_ID('{table}'), 'Cardinality')");
        assert_eq!(rows(session, &property)[0], all, "{table} after {after}");
    }
}

fn drawn(random: &mut Random, open: &mut bool) -> String {
    let table = TABLES[random.below(3) as usize];
    let (id, v) = (random.below(60), random.below(100));
    match random.below(16) {
        0..=3 => format!("INSERT {table} VALUES ({id}, {v})"),
        4 | 5 => format!("INSERT {table} SELECT id + {id}, v + {v} FROM {table}"),
        6 | 7 => format!("DELETE {table} WHERE id % 7 = {}", random.below(7)),
        8 => format!("UPDATE {table} SET id = id + {id}, v = v + 1 WHERE id > 40"),
        9 => format!("UPDATE f SET v = {v} WHERE id < {id}"),
        10 => format!("INSERT {table} VALUES ({id}, {v}), ({v}, {id}), ({id}, {id})"),
        11 if *open => "SAVE TRAN s".into(),
        12 if *open => "ROLLBACK TRAN s".into(),
        11 | 12 => {
            *open = true;
            "BEGIN TRAN; SAVE TRAN s".into()
        }
        13 => {
            let text = if random.below(2) == 0 { "COMMIT" } else { "ROLLBACK" };
            let text = if *open { text.into() } else { format!("TRUNCATE TABLE {table}") };
            *open = false;
            text
        }
        14 => {
            "ALTER INDEX ALL ON f REBUILD; ALTER TABLE h ADD more int; ALTER TABLE h DROP COLUMN more; ALTER TABLE f REBUILD; ALTER TABLE k REBUILD"
                .into()
        }
        _ => format!("TRUNCATE TABLE {table}"),
    }
}

#[test]
fn counts_follow_every_change() {
    for seed in 0..12 {
        let (mut world, mut session) = World::in_database(&format!("row-counts-{seed}"));
        make(&mut session);
        let (mut random, mut open) = (Random::new(seed), false);
        for number in 0..120 {
            let text = drawn(&mut random, &mut open);
            run(&mut session, &text);
            check(&mut session, &format!("seed {seed}, statement {number}: {text}"));
        }
        run(&mut session, "IF @@TRANCOUNT > 0 COMMIT");
        session.close();
        world.restart();
        let mut session = world.session();
        run(&mut session, "USE d");
        // Counted once, then stored again; the second query reads nothing.
        check(&mut session, "restart");
        run(&mut session, "INSERT f VALUES (1000, 1000)");
        check(&mut session, "a change after the restart");
        session.close();
    }
}

/// Uncommitted rows of another session are not counted, once the count is stored; its commit adds them, its rollback does not.
#[test]
fn a_count_holds_what_is_committed() {
    let mut world = World::new("row-counts-others");
    let count = "SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('d.dbo.t')";
    let mut one = world.session();
    run(&mut one, "CREATE DATABASE d");
    run(&mut one, "USE d");
    run(&mut one, "CREATE TABLE t (id int)");
    let mut other = world.session();
    run(&mut other, "USE d");
    run(&mut other, "BEGIN TRAN; INSERT t VALUES (1), (2)");
    assert_eq!((rows(&mut one, count), rows(&mut other, count)), (vec!["0".into()], vec!["2".into()]));
    run(&mut other, "COMMIT");
    assert_eq!(rows(&mut one, count), ["2"]);
    run(&mut other, "BEGIN TRAN; INSERT t VALUES (3); ROLLBACK");
    assert_eq!(rows(&mut one, count), ["2"]);
    one.close();
    other.close();
    world.restart();
    let (mut one, mut other) = (world.session(), world.session());
    run(&mut one, "USE d");
    run(&mut other, "USE d");
    // While another session changes the table, no stored count can be used: its rows are read, too.
    run(&mut other, "BEGIN TRAN; INSERT t VALUES (4)");
    assert_eq!(rows(&mut one, count), ["3"]);
    run(&mut other, "ROLLBACK");
    assert_eq!(rows(&mut one, count), ["2"]);
    one.close();
    other.close();
}

/// After a loss of power the counts are those of the rows that recovery has left.
#[test]
fn counts_after_a_loss_of_power() {
    for seed in 0..6 {
        let cut = move |session: &mut Session, _: &os::sim::World| {
            let (mut random, mut open) = (Random::new(seed), false);
            for _ in 0..40 {
                let text = drawn(&mut random, &mut open);
                run(session, &text);
            }
        };
        after_power_loss(seed, None, make, cut, move |session| {
            check(session, &format!("power loss, seed {seed}"));
            run(session, "INSERT f VALUES (1, 99); DELETE k");
            check(session, &format!("changes after power loss, seed {seed}"));
        });
    }
}
