//! rowversion values: one counter per database, which no restart and no crash resets; `@@DBTS` and `MIN_ACTIVE_ROWVERSION()`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::sync::Arc;

use crate::common::simulated::{Server, kept, number};
use crate::common::{World, rows, run};
use hardpan_session::Session;
use os::sim::{Profile, World as Machine};

const DBTS: &str = "SELECT CAST(@@DBTS AS bigint)";
const MIN_ACTIVE: &str = "SELECT CAST(MIN_ACTIVE_ROWVERSION() AS bigint)";

fn insert(session: &mut Session) -> i64 {
    number(session, "INSERT t (a) OUTPUT CAST(inserted.v AS bigint) VALUES (1)")
}

/// Documentation of rowversion and @@DBTS: the counter belongs to the database, a change of a row takes the next value, a rollback returns
/// none. A new database begins after 0x7D0.
#[test]
fn a_database_counts_the_changes_of_its_rows() {
    let world = World::new("rowversion-count");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE one; CREATE DATABASE two");
    run(&mut session, "USE one; CREATE TABLE t (a int, v rowversion)");
    assert_eq!(rows(&mut session, "SELECT CONVERT(varchar(20), @@DBTS, 1)"), ["0x00000000000007D0"]);
    assert_eq!(rows(&mut session, "SELECT @@DBTS"), rows(&mut session, "SELECT @@DBTS"), "looking uses none");
    assert_eq!(insert(&mut session), 2_001);
    assert_eq!(
        rows(
            &mut session,
            "INSERT t (a) VALUES (2), (3); UPDATE t SET a = a; SELECT CAST(v AS bigint) FROM t ORDER BY v"
        ),
        ["2004", "2005", "2006"]
    );
    run(&mut session, "BEGIN TRAN UPDATE t SET a = 0 ROLLBACK");
    assert_eq!(number(&mut session, DBTS), 2_009);
    assert_eq!(number(&mut session, MIN_ACTIVE), 2_010);
    assert_eq!(insert(&mut session), 2_010);
    // The database whose table it is counts, not the one the session is in; @@DBTS tells of the latter.
    run(&mut session, "USE two; INSERT one.dbo.t (a) VALUES (5)");
    assert_eq!(number(&mut session, DBTS), 2_000);
    run(&mut session, "USE one");
    assert_eq!(number(&mut session, DBTS), 2_011);
    // Every way in which a row gets or changes its version.
    run(&mut session, "ALTER TABLE t ADD b int; CREATE TABLE u (a int PRIMARY KEY); INSERT u VALUES (1)");
    assert_eq!(number(&mut session, DBTS), 2_011);
    run(&mut session, "ALTER TABLE u ADD v rowversion");
    assert_eq!(number(&mut session, "SELECT CAST(v AS bigint) FROM u"), 2_012);
    run(
        &mut session,
        "CREATE TABLE child (a int REFERENCES u ON UPDATE CASCADE, v rowversion); INSERT child (a) VALUES (1); \
         UPDATE u SET a = 2",
    );
    assert_eq!(number(&mut session, "SELECT CAST(v AS bigint) FROM u"), 2_014);
    assert_eq!(number(&mut session, "SELECT CAST(v AS bigint) FROM child"), 2_015);
    // The documentation of rowversion: SELECT INTO copies the values.
    run(&mut session, "SELECT v INTO copied FROM child");
    assert_eq!(number(&mut session, "SELECT CAST(v AS bigint) FROM copied"), 2_015);
    session.close();
}

/// MIN_ACTIVE_ROWVERSION: the lowest value of an open transaction, in every session.
#[test]
fn the_lowest_active_value_waits_for_its_transaction() {
    let world = World::new("rowversion-active");
    let (mut writer, mut second, mut reader) = (world.session(), world.session(), world.session());
    run(&mut writer, "CREATE DATABASE db");
    for session in [&mut writer, &mut second, &mut reader] {
        run(session, "USE db");
    }
    run(&mut writer, "CREATE TABLE t (a int, v rowversion)");
    run(&mut writer, "BEGIN TRAN");
    let first = insert(&mut writer);
    run(&mut second, "BEGIN TRAN");
    let later = insert(&mut second);
    insert(&mut writer);
    assert_eq!(number(&mut reader, MIN_ACTIVE), first);
    run(&mut writer, "SAVE TRAN s");
    insert(&mut writer);
    run(&mut writer, "ROLLBACK TRAN s");
    assert_eq!(number(&mut reader, MIN_ACTIVE), first);
    run(&mut writer, "COMMIT");
    assert_eq!(number(&mut reader, MIN_ACTIVE), later);
    run(&mut second, "ROLLBACK");
    assert_eq!(number(&mut reader, MIN_ACTIVE), number(&mut reader, DBTS) + 1);
    for session in [writer, second, reader] {
        session.close();
    }
}

/// An orderly stop leaves no gap; tempdb begins again.
#[test]
fn a_restart_goes_on_where_the_counter_stood() {
    let mut world = World::new("rowversion-restart");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db; CREATE TABLE t (a int, v rowversion)");
    let last = (0..5).map(|_| insert(&mut session)).last().unwrap();
    run(&mut session, "CREATE TABLE #t (v rowversion, a int); INSERT #t (a) VALUES (1), (2)");
    run(&mut session, "USE tempdb");
    assert_eq!(number(&mut session, DBTS), 2_002);
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE tempdb");
    assert_eq!(number(&mut session, DBTS), 2_000);
    run(&mut session, "USE db");
    assert_eq!(number(&mut session, DBTS), last);
    assert_eq!(insert(&mut session), last + 1);
    session.close();
}

/// The counter after a crash: no value that was given comes again, whether committed or not. Each life draws `draws` values in
/// transactions that a crash may lose.
fn values_of_lives(seed: u64, lives: usize, draws: i64, is_power_lost: bool) -> Vec<Vec<i64>> {
    let machine = Machine::new(seed, Profile::drawn(seed));
    let found = kept(Vec::new());
    for life in 0..lives {
        let (handle, into) = (machine.clone(), Arc::clone(&found));
        machine
            .run(move |os| {
                let server = Server::open(os);
                if life == 0 {
                    let mut session = server.session_in("master");
                    run(&mut session, "CREATE DATABASE db");
                    run(&mut session, "ALTER DATABASE db SET DELAYED_DURABILITY = FORCED");
                    run(&mut session, "USE db; CREATE TABLE t (a int, v rowversion)");
                    run(&mut session, "EXEC sys.sp_flush_log");
                    session.close();
                }
                let mut session = server.session_in("db");
                server.instance.database("db").unwrap().log().suspend_background_flush(true);
                let mut values = vec![number(&mut session, DBTS)];
                values.push(insert(&mut session));
                run(
                    &mut session,
                    &format!(
                        "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < {draws} BEGIN INSERT t (a) VALUES (@i); SET @i += 1 END"
                    ),
                );
                values.push(insert(&mut session));
                into.lock().push(values);
                match is_power_lost {
                    true => handle.power_off(),
                    false => handle.kill_process(),
                }
            })
            .assert_ok();
    }
    found.lock().clone()
}

/// A crash of the process and a loss of power do not reset the counter, although the rows with the values are lost: they were committed with
/// delayed durability, and a client has seen them.
#[test]
fn no_crash_sets_the_counter_back() {
    for seed in 0..6 {
        for (draws, is_power_lost) in [(3, true), (3, false), (4_500, true)] {
            let lives = values_of_lives(seed, 4, draws, is_power_lost);
            let all: Vec<i64> = lives.concat();
            assert!(all.is_sorted(), "seed {seed}: {lives:?}");
            for pair in lives.windows(2) {
                let (before, after) = (pair[0].last().unwrap(), pair[1][1]);
                assert!(after > *before, "seed {seed}: {lives:?}");
                assert!(after - before <= 2_001, "seed {seed}: no more than a range is lost: {lives:?}");
            }
            assert!(lives.iter().all(|life| life[2] - life[1] == draws + 1), "seed {seed}: {lives:?}");
        }
    }
}

/// Concurrent sessions never get the same value, also at the border of two ranges.
#[test]
fn no_two_sessions_get_the_same_value() {
    let world = World::new("rowversion-threads");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db; CREATE TABLE t (a int, v rowversion)");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut own = world.session();
            scope.spawn(move || {
                run(
                    &mut own,
                    "USE db; SET NOCOUNT ON; DECLARE @i int = 0; BEGIN TRAN; WHILE @i < 2500 BEGIN INSERT t (a) VALUES (@i); \
                     SET @i += 1; IF @i % 100 = 0 BEGIN COMMIT; BEGIN TRAN END END; COMMIT",
                );
                own.close();
            });
        }
    });
    assert_eq!(
        rows(
            &mut session,
            "SELECT COUNT(*), COUNT(DISTINCT v), MIN(CAST(v AS bigint)), MAX(CAST(v AS bigint)) FROM t"
        ),
        ["10000|10000|2001|12000"]
    );
    session.close();
}
