//! 5074 and 4922: which dependents prevent a column's alteration or removal, and which do not (documentation of ALTER TABLE, "ALTER COLUMN" and
//! "DROP COLUMN").
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

const SCHEMA: &str = "
CREATE TABLE t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, u varchar(10) NOT NULL CONSTRAINT uq UNIQUE, r varchar(10) NOT NULL CONSTRAINT uqr UNIQUE,
    k varchar(10) CONSTRAINT ck CHECK (k <> 'x'), n int CONSTRAINT ckn CHECK (n > 0), d int CONSTRAINT df DEFAULT 1,
    dl varchar(10) CONSTRAINT dfl DEFAULT 'a', dp decimal(9,2) CONSTRAINT dfp DEFAULT 0, b int, comp AS b + 1, f int CONSTRAINT fk REFERENCES t (id),
    fl varchar(10) CONSTRAINT fkl REFERENCES t (r), v rowversion, g uniqueidentifier ROWGUIDCOL, i int, free int)
CREATE INDEX ix ON t (i)
INSERT t (id, u, r, n, b, f) VALUES (1, 'a', 'a', 5, 5, 1)";

/// The change, and the errors that it causes.
const ALTERED: &[(&str, &[i32])] = &[
    ("id bigint NOT NULL", &[5074, 5074, 4922]),
    ("id int NULL", &[5074, 4922]),
    ("u varchar(20) NOT NULL", &[]),
    ("u varchar(5) NOT NULL", &[5074, 4922]),
    ("u nvarchar(20) NOT NULL", &[5074, 4922]),
    // A key refers to it.
    ("r varchar(20) NOT NULL", &[5074, 4922]),
    ("k varchar(20)", &[]),
    ("k varchar(5)", &[]),
    ("k nvarchar(5)", &[5074, 4922]),
    ("n bigint", &[5074, 4922]),
    ("n int NOT NULL", &[]),
    ("d bigint", &[5074, 4922]),
    ("dl varchar(30)", &[]),
    ("dl char(30)", &[5074, 4922]),
    ("dp decimal(12,3)", &[]),
    ("b bigint", &[5074, 4922]),
    ("b int NOT NULL", &[5074, 4922]),
    ("b int", &[]),
    ("comp int", &[4928]),
    ("f bigint", &[5074, 4922]),
    ("f int NOT NULL", &[]),
    ("fl varchar(20)", &[5074, 4922]),
    ("v binary(8)", &[4928]),
    ("g varchar(40)", &[4928]),
    ("i bigint", &[5074, 4922]),
    ("free bigint", &[]),
];

/// The column, and the errors of dropping it.
const DROPPED: &[(&str, &[i32])] = &[
    ("id", &[5074, 5074, 4922]),
    ("r", &[5074, 5074, 4922]),
    ("k", &[5074, 4922]),
    ("b", &[5074, 4922]),
    ("f", &[5074, 4922]),
    ("i", &[5074, 4922]),
    ("dl", &[5074, 4922]),
    ("comp", &[]),
    ("b", &[]),
    ("free", &[]),
    ("v", &[]),
];

#[test]
fn what_stands_against_a_change_of_a_column() {
    let world = World::new("column-alter");
    let mut s = world.session();
    let seen = run(&mut s, SCHEMA);
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    for (change, expected) in ALTERED {
        let seen = run(&mut s, &format!("ALTER TABLE t ALTER COLUMN {change}"));
        assert_eq!(numbers(&seen), *expected, "{change}: {:?}", seen.messages);
    }
    let seen = run(&mut s, "ALTER TABLE t ALTER COLUMN b bigint");
    assert!(
        seen.messages[0].2.contains("The column 'comp' is dependent on column 'b'."),
        "{:?}",
        seen.messages
    );
    assert_eq!(rows(&mut s, "SELECT id, u, n, b, comp, f FROM t"), ["1|a|5|5|6|1"]);
}

#[test]
fn what_stands_against_dropping_a_column() {
    let world = World::new("column-drop");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    for (column, expected) in DROPPED {
        let seen = run(&mut s, &format!("ALTER TABLE t DROP COLUMN {column}"));
        assert_eq!(numbers(&seen), *expected, "{column}: {:?}", seen.messages);
    }
    // The CHECK that was kept still works.
    assert_eq!(numbers(&run(&mut s, "UPDATE t SET k = 'x'")), [547, 3621]);
}
