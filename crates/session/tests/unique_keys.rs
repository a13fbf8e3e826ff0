//! Uniqueness is checked at the end of a statement: shifts, swaps and permutations of keys succeed, real duplicates fail the whole statement; every
//! index agrees with its table afterwards, and foreign keys check the final rows.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// No error.
const NONE: [i32; 0] = [];

/// Tables with a unique key `v`, by every kind of index or constraint, and the error of a duplicate.
const TABLES: [(&str, i32); 7] = [
    ("CREATE TABLE s (v int NOT NULL PRIMARY KEY CLUSTERED, w int, name varchar(10))", 2627),
    ("CREATE TABLE s (v int NOT NULL PRIMARY KEY NONCLUSTERED, w int, name varchar(10))", 2627),
    (
        "CREATE TABLE s (v int NOT NULL PRIMARY KEY CLUSTERED, w int, name varchar(10)); CREATE INDEX by_w ON s (w); \
         CREATE UNIQUE INDEX by_name ON s (name) INCLUDE (w)",
        2627,
    ),
    ("CREATE TABLE s (v int NULL UNIQUE NONCLUSTERED, w int, name varchar(10) NOT NULL PRIMARY KEY)", 2627),
    (
        "CREATE TABLE s (v int NULL, w int, name varchar(10)); CREATE UNIQUE CLUSTERED INDEX by_v ON s (v DESC)",
        2601,
    ),
    (
        "CREATE TABLE s (v int NULL, w int, name varchar(10)); CREATE UNIQUE INDEX by_v ON s (v); CREATE INDEX by_w ON s (w, v)",
        2601,
    ),
    (
        "CREATE TABLE s (v int NOT NULL, w int NOT NULL, name varchar(10), PRIMARY KEY (w, v)); \
         CREATE UNIQUE INDEX by_v ON s (v); CREATE CLUSTERED INDEX none ON other (a)",
        2601,
    ),
];

/// Statements, and the resulting keys of 1, 2, 3, 4 (`None`: a duplicate).
const STATEMENTS: [(&str, Option<[i32; 4]>); 9] = [
    ("UPDATE s SET v = v + 1", Some([2, 3, 4, 5])),
    ("UPDATE s SET v = v - 1", Some([0, 1, 2, 3])),
    ("UPDATE s SET v = 5 - v", Some([4, 3, 2, 1])),
    ("UPDATE s SET v = v % 4 + 1", Some([2, 3, 4, 1])),
    ("UPDATE s SET v = CASE v WHEN 1 THEN 2 ELSE 1 END WHERE v <= 2", Some([2, 1, 3, 4])),
    ("UPDATE s SET v = v + 1 WHERE v >= 2", Some([1, 3, 4, 5])),
    ("UPDATE a SET v = b.v FROM s a JOIN s b ON b.v = 5 - a.v", Some([4, 3, 2, 1])),
    ("UPDATE s SET v = v + 1 WHERE v < 4", None),
    ("UPDATE s SET v = (v + 1) / 2", None),
];

fn contents(session: &mut Session) -> Vec<String> {
    rows(session, "SELECT name, v, w FROM s ORDER BY name")
}

/// Every index has exactly the rows of its table.
fn assert_indexes_agree(session: &mut Session, told: &str) {
    let seen = run(session, "DBCC CHECKTABLE (s) WITH NO_INFOMSGS");
    assert_eq!(seen.messages, [], "{told}");
}

fn set_up(session: &mut Session, table: &str) {
    run(session, "DROP TABLE IF EXISTS s; DROP TABLE IF EXISTS other; CREATE TABLE other (a int)");
    run(session, table);
    run(session, "INSERT s (v, w, name) VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd')");
}

#[test]
fn keys_are_judged_when_the_statement_ends() {
    let world = World::new("unique-end");
    let mut session = world.session();
    for (table, duplicate) in TABLES {
        for (statement, end) in STATEMENTS {
            let told = format!("{table}: {statement}");
            set_up(&mut session, table);
            run(&mut session, "BEGIN TRAN");
            let seen = run(&mut session, statement);
            let expected = match end {
                Some(keys) => {
                    assert_eq!(numbers(&seen), NONE, "{told}: {:?}", seen.messages);
                    keys
                }
                None => {
                    assert_eq!(numbers(&seen), [duplicate, 3621], "{told}");
                    [1, 2, 3, 4]
                }
            };
            let after: Vec<String> =
                ["a", "b", "c", "d"].iter().zip(expected).map(|(name, v)| format!("{name}|{v}|")).collect();
            let found = contents(&mut session);
            assert!(found.iter().zip(&after).all(|(row, start)| row.starts_with(start)), "{told}: {found:?}");
            assert_indexes_agree(&mut session, &told);
            run(&mut session, "ROLLBACK");
            assert_indexes_agree(&mut session, &told);
            let found = contents(&mut session);
            assert_eq!(found, ["a|1|10", "b|2|20", "c|3|30", "d|4|40"], "{told}: rolled back");
        }
    }
    session.close();
}

#[test]
fn rows_of_one_insert_must_differ() {
    let world = World::new("unique-insert");
    let mut session = world.session();
    for (table, duplicate) in TABLES {
        set_up(&mut session, table);
        for statement in [
            "INSERT s (v, w, name) VALUES (7, 1, 'e'), (7, 1, 'f')",
            "INSERT s (v, w, name) SELECT 7, 1, name + 'x' FROM s",
            "INSERT s (v, w, name) VALUES (8, 1, 'e'), (3, 30, 'f')",
        ] {
            let seen = run(&mut session, statement);
            // Where two keys are violated, either may be reported first.
            assert!(
                matches!(numbers(&seen)[..], [2627 | 2601, 3621]),
                "{table}: {statement}: {duplicate} {:?}",
                numbers(&seen)
            );
            assert_eq!(contents(&mut session).len(), 4, "{table}: {statement}");
        }
        assert_indexes_agree(&mut session, table);
    }
    session.close();
}

#[test]
fn foreign_keys_see_what_is_there_in_the_end() {
    let world = World::new("unique-foreign");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE s (v int NOT NULL PRIMARY KEY, name varchar(10)); INSERT s VALUES (1, 'a'), (2, 'b'), (3, 'c');
         CREATE TABLE child (v int NULL REFERENCES s (v)); INSERT child VALUES (2), (NULL), (3)",
    );
    // 2 and 3 still exist, though other rows have them.
    assert_eq!(numbers(&run(&mut session, "UPDATE s SET v = v % 3 + 1")), NONE);
    assert_eq!(numbers(&run(&mut session, "UPDATE s SET v = v + 2")), [547, 3621]);
    assert_eq!(numbers(&run(&mut session, "UPDATE s SET v = v + 1 WHERE v = 3")), [547, 3621]);
    assert_eq!(
        numbers(&run(&mut session, "UPDATE s SET v = 9 WHERE v = 1; UPDATE s SET v = v WHERE v > 1")),
        NONE
    );
    assert_eq!(rows(&mut session, "SELECT v FROM s ORDER BY v"), ["2", "3", "9"]);
    run(
        &mut session,
        "CREATE TABLE tree (id int NOT NULL PRIMARY KEY, above int NULL); INSERT tree VALUES (1, NULL), (2, 1), (3, 1);
         ALTER TABLE tree ADD CONSTRAINT up FOREIGN KEY (above) REFERENCES tree (id)",
    );
    // Each row refers to a key that exists only when all are changed.
    assert_eq!(numbers(&run(&mut session, "UPDATE tree SET id = id + 10, above = above + 10")), NONE);
    assert_eq!(rows(&mut session, "SELECT id, above FROM tree ORDER BY id"), ["11|NULL", "12|11", "13|11"]);
    assert_eq!(numbers(&run(&mut session, "UPDATE tree SET id = id + 10")), [547, 3621]);
    session.close();
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Random changes of three columns, each unique or not, against a model.
#[test]
fn random_changes_of_keys_are_as_a_model_says() {
    let world = World::new("unique-model");
    let mut session = world.session();
    let shapes: [(&str, &[&[usize]]); 6] = [
        ("a int NOT NULL PRIMARY KEY, b int, c int", &[&[0]]),
        ("a int NOT NULL PRIMARY KEY, b int UNIQUE, c int, INDEX i (c)", &[&[0], &[1]]),
        ("a int, b int UNIQUE, c int UNIQUE CLUSTERED", &[&[1], &[2]]),
        ("a int, b int, c int, INDEX i CLUSTERED (b), UNIQUE (a)", &[&[0]]),
        ("a int, b int, c int, UNIQUE (a, b), UNIQUE CLUSTERED (c DESC, a)", &[&[0, 1], &[2, 0]]),
        ("a int, b int, c int, UNIQUE (b, a), UNIQUE (c)", &[&[1, 0], &[2]]),
    ];
    let (mut passed, mut refused) = (0, 0);
    for (number, (columns, unique)) in shapes.iter().enumerate() {
        let mut random = Random(number as u64 + 1);
        run(&mut session, &format!("DROP TABLE IF EXISTS m; CREATE TABLE m (id int, {columns})"));
        let mut model: BTreeMap<u64, [i64; 3]> = BTreeMap::new();
        for id in 0..12u64 {
            let value = id as i64;
            run(&mut session, &format!("INSERT m VALUES ({id}, {value}, {value}, {value})"));
            model.insert(id, [value; 3]);
        }
        for _ in 0..120 {
            let names = ["a", "b", "c"];
            let column = random.below(3) as usize;
            let other = random.below(3) as usize;
            let (low, amount) = (random.below(12), random.below(5) as i64 - 2);
            let high = low + random.below(12);
            let kind = random.below(4);
            let new = |row: &[i64; 3]| match kind {
                0 => row[column] + amount,
                1 => -row[column],
                2 => row[other],
                _ => (row[column] * 5 + amount).rem_euclid(13),
            };
            let (name, from) = (names[column], names[other]);
            let expression = match kind {
                0 => format!("{name} + {amount}"),
                1 => format!("-{name}"),
                2 => from.to_string(),
                _ => format!("(({name} * 5 + {amount}) % 13 + 13) % 13"),
            };
            let statement = format!("UPDATE m SET {name} = {expression} WHERE id BETWEEN {low} AND {high}");
            let mut wanted = model.clone();
            for (_, row) in wanted.range_mut(low..=high) {
                row[column] = new(row);
            }
            let is_unique = unique.iter().all(|key| {
                let keys: BTreeSet<Vec<i64>> =
                    wanted.values().map(|row| key.iter().map(|at| row[*at]).collect()).collect();
                keys.len() == wanted.len()
            });
            let seen = run(&mut session, &statement);
            if is_unique {
                assert_eq!(numbers(&seen), NONE, "{columns}: {statement}: {model:?}");
                model = wanted;
                passed += 1;
            } else {
                assert_eq!(numbers(&seen), [2627, 3621], "{columns}: {statement}: {model:?}");
                refused += 1;
            }
            let expected: Vec<String> =
                model.iter().map(|(id, [a, b, c])| format!("{id}|{a}|{b}|{c}")).collect();
            let found = rows(&mut session, "SELECT id, a, b, c FROM m ORDER BY id");
            assert_eq!(found, expected, "{columns}: {statement}");
            let seen = run(&mut session, "DBCC CHECKTABLE (m) WITH NO_INFOMSGS");
            assert_eq!(seen.messages, [], "{columns}: {statement}");
        }
    }
    assert!(passed > 200 && refused > 100, "{passed} passed, {refused} refused");
    session.close();
}

/// An index on a row version follows it.
#[test]
fn an_index_on_a_row_version_follows_it() {
    let world = World::new("unique-version");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE s (v int NOT NULL PRIMARY KEY, w int, stamp rowversion); CREATE UNIQUE INDEX by_stamp ON s (stamp);
         INSERT s (v, w) VALUES (1, 1), (2, 2); UPDATE s SET w = 7",
    );
    let found = rows(
        &mut session,
        "SELECT a.v FROM s a JOIN s b WITH (INDEX (by_stamp)) ON a.stamp = b.stamp AND a.v = b.v ORDER BY a.v",
    );
    assert_eq!(found, ["1", "2"]);
    assert_indexes_agree(&mut session, "a row version");
    session.close();
}

/// Rows of an INSERT are inserted one after the other: the error names the first that finds its key, from another row of the statement or from
/// before. An UPDATE changes keys in their order.
#[test]
fn the_error_names_the_first_row_that_finds_its_key() {
    for (table, number) in TABLES.into_iter().filter(|(table, _)| !table.contains("(w, v)")) {
        let world = World::new("unique-first");
        let mut session = world.session();
        run(&mut session, "CREATE DATABASE d; USE d");
        run(&mut session, table);
        run(&mut session, "INSERT s VALUES (3, 3, 'three'), (9, 9, 'nine')");
        for (values, named) in [
            ("(5, 1, 'a'), (5, 1, 'b'), (1, 1, 'c'), (1, 1, 'd')", "(5)"),
            ("(1, 1, 'a'), (5, 1, 'b'), (1, 1, 'c'), (5, 1, 'd')", "(1)"),
            ("(7, 1, 'a'), (9, 1, 'b'), (3, 1, 'c')", "(9)"),
            ("(7, 1, 'a'), (3, 1, 'b'), (9, 1, 'c')", "(3)"),
            ("(8, 1, 'a'), (9, 1, 'b'), (8, 1, 'c')", "(9)"),
            ("(8, 1, 'a'), (8, 1, 'b'), (3, 1, 'c')", "(8)"),
            ("(6, 1, 'a'), (4, 1, 'b'), (6, 1, 'c'), (4, 1, 'd')", "(6)"),
        ] {
            for statement in [
                format!("INSERT s VALUES {values}"),
                format!("INSERT s SELECT * FROM (VALUES {values}) x(v, w, name)"),
            ] {
                let seen = run(&mut session, &statement);
                assert_eq!(numbers(&seen), [number, 3621], "{table}: {statement}");
                assert!(seen.messages[0].2.contains(named), "{table}: {statement}: {:?}", seen.messages[0]);
            }
        }
        if table.contains("DESC") {
            // Its keys go in from the highest on: the one that is waited for below would be the first.
            continue;
        }
        // The error message does not wait for an uncommitted row that it could name.
        let mut other = world.session();
        run(&mut other, "USE d; BEGIN TRAN; INSERT s VALUES (20, 20, 'twenty')");
        let seen =
            run(&mut session, "SET LOCK_TIMEOUT 0; INSERT s VALUES (20, 1, 'a'), (10, 1, 'b'), (10, 1, 'c')");
        assert!(seen.messages[0].2.contains("(10)"), "{table}: {:?}", seen.messages);
        run(&mut other, "ROLLBACK");
        let seen = run(&mut session, "UPDATE s SET v = v / 10");
        assert!(seen.messages[0].2.contains("(0)"), "{table}: {:?}", seen.messages);
        assert_eq!(rows(&mut session, "SELECT v FROM s ORDER BY v"), ["3", "9"], "{table}");
        assert_indexes_agree(&mut session, table);
    }
}

/// IGNORE_DUP_KEY sends its message once a statement, with the rows inserted; the setting persists.
#[test]
fn keys_that_are_there_are_left_out_where_it_is_said() {
    let (mut world, mut session) = World::in_database("unique-ignored");
    run(&mut session, "CREATE TABLE s (v int NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON), w int UNIQUE)");
    let one_message = vec![(3604, 1, "Duplicate key was ignored.".to_string())];
    let seen = run(&mut session, "INSERT s VALUES (1, 1), (1, 2), (2, 3), (2, 4)");
    assert_eq!((&seen.messages, &seen.counts), (&one_message, &vec![Some(2)]));
    let seen = run(&mut session, "INSERT s VALUES (3, 5)");
    assert_eq!((&seen.messages, &seen.counts), (&vec![], &vec![Some(1)]));
    let seen = run(&mut session, "SET XACT_ABORT ON; BEGIN TRAN; INSERT s VALUES (1, 1); COMMIT");
    assert_eq!(seen.messages, one_message);
    // A key of an index without the option ends the statement, which sends no message about ignored rows.
    let seen = run(&mut session, "SET XACT_ABORT OFF; INSERT s VALUES (1, 9), (9, 1)");
    assert_eq!(numbers(&seen), [2627, 3621]);
    run(&mut session, "ALTER TABLE s REBUILD WITH (IGNORE_DUP_KEY = ON (SUPPRESS_MESSAGES = ON))");
    let seen = run(&mut session, "INSERT s VALUES (1, 9), (4, 6)");
    assert_eq!((&seen.messages, &seen.counts), (&vec![], &vec![Some(1)]));
    // A statement that waits for another transaction's uncommitted row leaves its own out or not, as that transaction ends.
    let mut other = world.session();
    run(&mut other, "USE d; BEGIN TRAN; INSERT s VALUES (20, 20)");
    let waiting = run(&mut session, "SET LOCK_TIMEOUT 0; INSERT s VALUES (20, 21)");
    assert_eq!(numbers(&waiting)[0], 1222);
    run(&mut other, "ROLLBACK");
    assert_eq!(run(&mut session, "INSERT s VALUES (20, 21)").counts, [Some(1)]);
    drop((session, other));
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE d");
    assert_eq!(run(&mut session, "INSERT s VALUES (20, 99), (21, 22)").counts, [Some(1)]);
    assert_eq!(rows(&mut session, "SELECT v FROM s ORDER BY v"), ["1", "2", "3", "4", "20", "21"]);
    assert_indexes_agree(&mut session, "after all");
}

/// A key that another session inserts after the check: the row's entries that are already inserted are removed again.
#[test]
fn a_key_that_comes_meanwhile_is_left_out_whole() {
    const TABLE: &str = "CREATE TABLE s (id int NOT NULL, a int NOT NULL, b int NOT NULL, c int, big varchar(max))
        CREATE INDEX by_c ON s (c) INCLUDE (big) CREATE UNIQUE INDEX ia ON s (a) INCLUDE (big) WITH (IGNORE_DUP_KEY = ON)
        CREATE UNIQUE INDEX ib ON s (b) WITH (IGNORE_DUP_KEY = ON) CREATE UNIQUE INDEX ic ON s (c)
        INSERT s VALUES (50, 50, 50, 50, 'there')";
    const LEFT_OUT: &str =
        "INSERT s VALUES (2, 7, 1, 2, REPLICATE(CAST('x' AS varchar(max)), 20000)), (3, 8, 8, 3, 'y')";
    // A key of an index without the option: the whole statement is undone, and rows that it had removed stay removed.
    let fails = format!("{LEFT_OUT}, (4, 10, 10, 50, 'z')");
    let statements: &'static [(&str, i32, bool)] =
        Box::leak(Box::new([(LEFT_OUT, 3604, true), (String::leak(fails), 2601, false)]));
    let bases = [
        "",
        "CREATE CLUSTERED INDEX base ON s (id)",
        "CREATE UNIQUE CLUSTERED INDEX base ON s (id) WITH (IGNORE_DUP_KEY = ON)",
    ];
    for base in bases {
        crate::common::simulated::on_a_machine(1, move |os| {
            use crate::common::schedules::{Answer, play, prepare};
            let server = prepare(os, &format!("{TABLE} {base}"));
            let places = [("isolation", "READ COMMITTED"), ("versioned", "READ COMMITTED")];
            for (place, (statement, number, succeeds)) in
                places.into_iter().flat_map(|place| statements.iter().map(move |one| (place, *one)))
            {
                let mut session = crate::common::simulated::connect(&server.shared(), place.0);
                run(&mut session, "DELETE s WHERE id <> 50");
                session.close();
                let steps = [
                    (1, "INSERT s VALUES (1, 1, 1, 1, 'first')"),
                    // Its `a` does not exist; for its `b` it waits.
                    (0, statement),
                    (2, "INSERT s VALUES (9, 7, 9, 9, REPLICATE(CAST('z' AS varchar(max)), 20000))"),
                    (2, "COMMIT"),
                    (1, "ROLLBACK"),
                    (0, "COMMIT"),
                ];
                let answers = play(os, &server.shared(), "left out", &steps, place);
                assert_eq!(answers[1], Answer::Error(number), "{base}: it says so");
                let mut session = crate::common::simulated::connect(&server.shared(), place.0);
                let found = rows(&mut session, "SELECT id, a, b, c, LEN(big) FROM s ORDER BY id");
                let expected = ["3|8|8|3|1", "9|7|9|9|20000", "50|50|50|50|5"];
                let expected = &expected[usize::from(!succeeds)..];
                assert_eq!(found, expected, "{base}");
                assert_indexes_agree(&mut session, base);
                let count = expected.len().to_string();
                assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM s WITH (INDEX (by_c))"), [count]);
                // Freed pages of removed entries can be used by others, once.
                let more =
                    "INSERT s SELECT v, v, v, v, REPLICATE(CAST(CHAR(64 + v % 26) AS varchar(max)), 30000)
                    FROM (VALUES (60), (61), (62)) AS more (v)";
                assert_eq!(numbers(&run(&mut session, more)), [0; 0]);
                let whole = "SELECT COUNT(*) FROM s WHERE id >= 60 AND big = REPLICATE(CAST(CHAR(64 + id % 26) AS varchar(max)), 30000)";
                assert_eq!(rows(&mut session, whole), ["3"], "{base}");
                assert_eq!(run(&mut session, "DBCC CHECKDB WITH NO_INFOMSGS").messages, [], "{base}");
                session.close();
            }
            server.instance.shutdown();
        });
    }
}
