//! Where names may occur and what they denote: unreserved keywords, names of several parts, ORDER BY of a set operation.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

/// Unreserved keywords of T-SQL, and PRECISION, which is in the list of reserved words and yet usable as a name.
const WORDS: [&str; 18] = [
    "precision",
    "length",
    "scale",
    "value",
    "name",
    "type",
    "date",
    "time",
    "level",
    "state",
    "status",
    "row",
    "rows",
    "first",
    "next",
    "last",
    "offset",
    "action",
];

#[test]
fn words_that_are_not_reserved_are_names() {
    let world = World::new("names-words");
    let mut s = world.session();
    for word in WORDS {
        let upper = word.to_uppercase();
        for text in [
            format!(
                "CREATE TABLE {word} ({word} int NOT NULL CONSTRAINT ck_{word} CHECK ({word} > 0), b int DEFAULT 1)"
            ),
            format!("CREATE INDEX {word} ON {word} ({word})"),
            format!("INSERT {word} ({word}) VALUES (5)"),
            format!("UPDATE {word} SET {word} = {word} + 1 WHERE {word} = 5"),
            format!("CREATE PROCEDURE p_{word} @{word} int AS SELECT @{word} AS {word}"),
        ] {
            let seen = run(&mut s, &text);
            assert_eq!(numbers(&seen), [0; 0], "{text}: {:?}", seen.messages);
        }
        let select = format!(
            "SELECT {upper}.{word}, {word} AS {word}, {word} = 7 FROM dbo.{word} {word} ORDER BY {word}.b"
        );
        assert_eq!(rows(&mut s, &select), ["6|6|7"], "{word}");
        assert_eq!(
            rows(&mut s, &format!("WITH {word} AS (SELECT 1 {word}) SELECT {word} FROM {word}")),
            ["1"],
            "{word}"
        );
        assert_eq!(rows(&mut s, &format!("EXEC p_{word} @{word} = 3")), ["3"], "{word}");
    }
    // Two words make one type, also where the second is a name elsewhere.
    assert_eq!(
        rows(&mut s, "DECLARE @precision double precision = 1.5 SELECT @precision precision"),
        ["1.5"]
    );
}

#[test]
fn names_of_several_parts() {
    let world = World::new("names-parts");
    let mut s = world.session();
    run(&mut s, "CREATE SCHEMA s");
    run(&mut s, "CREATE TABLE s.t (id int); INSERT s.t VALUES (1)");
    run(&mut s, "CREATE VIEW s.v AS SELECT id FROM s.t");
    run(&mut s, "CREATE VIEW dbo.v AS SELECT id + 10 AS id FROM s.t");
    for table in ["t", "v"] {
        for text in [
            format!("SELECT s.{table}.id FROM s.{table}"),
            format!("SELECT master.s.{table}.id FROM s.{table}"),
            format!(
                "SELECT master.s.{table}.id FROM master.s.{table} WHERE s.{table}.id = 1 ORDER BY {table}.id"
            ),
            format!("SELECT s.{table}.* FROM s.{table}"),
        ] {
            assert_eq!(rows(&mut s, &text), ["1"], "{text}");
        }
        // An alias takes the name's place; another schema is another thing.
        for text in [
            format!("SELECT s.{table}.id FROM s.{table} AS x"),
            format!("SELECT dbo.{table}.id FROM s.{table}"),
            format!("SELECT tempdb.s.{table}.id FROM s.{table}"),
        ] {
            assert_eq!(numbers(&run(&mut s, &text)), [4104], "{text}");
        }
    }
    assert_eq!(rows(&mut s, "SELECT s.v.id, dbo.v.id FROM s.v CROSS JOIN dbo.v"), ["1|11"]);
}

#[test]
fn set_operations_are_ordered_by_what_the_first_branch_selects() {
    let world = World::new("names-order");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE t (a int, b int); INSERT t VALUES (1, 9), (2, 8)");
    for (order, expected) in [
        ("x", ["1", "2", "8", "9"]),
        ("a", ["1", "2", "8", "9"]),
        ("a DESC", ["9", "8", "2", "1"]),
        ("t.a", ["1", "2", "8", "9"]),
        ("1 DESC", ["9", "8", "2", "1"]),
    ] {
        let text = format!("SELECT a AS x FROM t UNION ALL SELECT b FROM t ORDER BY {order}");
        assert_eq!(rows(&mut s, &text), expected, "{order}");
    }
    assert_eq!(
        rows(&mut s, "SELECT a + 1 FROM t UNION SELECT 0 EXCEPT SELECT 9 ORDER BY a + 1"),
        ["0", "2", "3"]
    );
    // The name of the result comes before the one behind an alias.
    assert_eq!(
        rows(&mut s, "SELECT a AS b, b AS a FROM t UNION SELECT 0, 0 ORDER BY a"),
        ["0|0", "2|8", "1|9"]
    );
    for order in ["b", "y", "a + 1"] {
        let text = format!("SELECT a AS x FROM t UNION SELECT b AS y FROM t ORDER BY {order}");
        assert_eq!(numbers(&run(&mut s, &text)), [104], "{order}");
    }
}
