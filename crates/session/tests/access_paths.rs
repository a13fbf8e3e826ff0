//! Which way a table is read: by what each way costs for the rows that there are. The shape of plans, not their text.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{World, rows, run};
use hardpan_session::Session;

/// 20,000 rows: `k` unique, `v` 2,000 values, `few` 4 values, `w` as `k` without an index.
fn filled(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int NOT NULL, few int NOT NULL, w int NOT NULL, s varchar(10) NOT NULL, pad char(100) NOT NULL)
         INSERT t SELECT n, n % 2000, n % 4, n, 's' + STR(n % 500, 4), 'x' FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n
         FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) a CROSS JOIN
         (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) b) q
         CREATE INDEX iv ON t (v) CREATE INDEX ifew ON t (few) INCLUDE (v) CREATE INDEX istr ON t (s)",
    );
    (world, session)
}

/// The reads of a statement's plan, from the top: `seek iv` or `scan pk`.
fn shape(session: &mut Session, statement: &str) -> Vec<String> {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, statement);
    run(session, "SET SHOWPLAN_TEXT OFF");
    let mut found = Vec::new();
    for line in seen.sets.iter().flat_map(|set| &set.1).map(|row| &row[0]) {
        let kind = if line.contains("Seek(OBJECT") {
            "seek"
        } else if line.contains("Scan(OBJECT") {
            "scan"
        } else {
            continue;
        };
        let object = line.split("OBJECT:(").nth(1).unwrap().split(')').next().unwrap();
        let name = object.rsplit('.').next().unwrap().split(']').next().unwrap().trim_start_matches('[');
        let name = if name.starts_with("PK") { "pk" } else { name };
        found.push(format!("{kind} {name}"));
    }
    found
}

#[test]
fn the_cheapest_way_is_taken() {
    let (_world, mut session) = filled("access-paths");
    let mut wrong: Vec<String> = Vec::new();
    for (statement, expected) in [
        ("SELECT pad FROM t WHERE k = 5", "seek pk"),
        ("SELECT pad FROM t WHERE v = 5", "seek iv, seek pk"),
        ("SELECT pad FROM t WHERE v IN (5, 6, 700)", "seek iv, seek pk"),
        ("SELECT pad FROM t WHERE v BETWEEN 10 AND 12", "seek iv, seek pk"),
        ("SELECT pad FROM t WHERE v > 1990", "seek iv, seek pk"),
        // Wide: each row would be looked up.
        ("SELECT pad FROM t WHERE v > 1000", "scan pk"),
        ("SELECT pad FROM t WHERE v BETWEEN 10 AND 1500", "scan pk"),
        ("SELECT pad FROM t WHERE few = 1", "scan pk"),
        // As wide, but the index has what is wanted.
        ("SELECT v FROM t WHERE v > 1000", "seek iv"),
        ("SELECT SUM(v) FROM t WHERE few = 1", "seek ifew"),
        ("SELECT v FROM t WHERE few >= 1", "seek ifew"),
        ("SELECT pad FROM t WHERE k > 5000", "seek pk"),
        ("SELECT pad FROM t WHERE s LIKE 's 12%' AND v = 12", "seek iv, seek pk"),
        ("SELECT COUNT(*) FROM t WHERE s LIKE 's 12%'", "seek istr"),
        // What nobody knows yet: an equality by the index's density, a range by a guess.
        ("DECLARE @v int = 3 SELECT pad FROM t WHERE v = @v", "seek iv, seek pk"),
        ("DECLARE @v int = 3 SELECT pad FROM t WHERE few = @v", "scan pk"),
        ("DECLARE @v int = 3 SELECT pad FROM t WHERE v > @v", "scan pk"),
        // A narrower index serves a whole scan; a table without one is scanned.
        ("SELECT COUNT(*) FROM t", "scan iv"),
        ("SELECT AVG(v) FROM t", "scan iv"),
        ("SELECT SUM(few + v) FROM t", "scan ifew"),
        ("SELECT MAX(pad) FROM t", "scan pk"),
        ("SELECT pad FROM t WHERE w = 3", "scan pk"),
    ] {
        let found = shape(&mut session, statement).join(", ");
        if found != expected {
            wrong.push(format!("{statement}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    session.close();
}

/// A plan is made anew when its table has another size: what was right for an empty table is not kept for a large one.
#[test]
fn a_plan_goes_with_the_size_of_its_table() {
    let (_world, mut session) = filled("access-paths-growth");
    run(
        &mut session,
        "CREATE TABLE grown (k int NOT NULL PRIMARY KEY, v int NOT NULL, pad char(200) NOT NULL); CREATE INDEX iv ON grown (v)",
    );
    run(&mut session, "CREATE PROCEDURE asked AS SELECT COUNT(pad) FROM grown WHERE v >= 100");
    let reads = |session: &mut Session| -> u64 {
        let seen = run(session, "SET STATISTICS IO ON; EXEC asked; SET STATISTICS IO OFF");
        let told = seen.messages.iter().find(|message| message.0 == 3615).unwrap();
        told.2.split("logical reads ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    };
    reads(&mut session);
    run(&mut session, "INSERT grown SELECT k, k, 'x' FROM t");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM grown WHERE v >= 100"), ["19901"]);
    // A look-up of each row would be 19,901 times two pages and more; a scan reads some 2,000.
    let found = reads(&mut session);
    assert!(found < 10_000, "{found} pages");
    session.close();
}
