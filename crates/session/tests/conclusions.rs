//! Messages after an error or the success of a definition: "could not create the constraint" (1750) and similar errors come second, and a
//! CATCH block sees them; warnings of wide keys (1945).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::{RpcCall, RpcParameter, RpcTarget};
use types::{SqlType, Value};

/// The failing statement, and all its messages.
const CASES: [(&str, &[i32]); 27] = [
    ("CREATE TABLE n (a int NULL PRIMARY KEY)", &[8111, 1750]),
    ("CREATE TABLE n (a int, CONSTRAINT c CHECK (a > 0))", &[2714, 1750]),
    ("CREATE TABLE t (a int)", &[2714]),
    ("CREATE TABLE n (a int REFERENCES nobody (a))", &[1767, 1750]),
    ("CREATE TABLE n (a int REFERENCES t (nope))", &[1770, 1750]),
    ("CREATE TABLE n (a int REFERENCES t (a))", &[1776, 1750]),
    ("CREATE TABLE n (a int, FOREIGN KEY (nope) REFERENCES parent (a))", &[1769, 1750]),
    ("CREATE TABLE n (a int PRIMARY KEY, b int PRIMARY KEY)", &[8110]),
    ("CREATE TABLE n (a int, UNIQUE (nope))", &[1911, 1750]),
    ("CREATE TABLE n (a int, UNIQUE (a, a))", &[1909, 1750]),
    ("CREATE TABLE n (a varchar(max) PRIMARY KEY)", &[1919, 1750]),
    ("CREATE TABLE n (a char(901) PRIMARY KEY)", &[1944, 1750]),
    ("DECLARE @n TABLE (a varchar(max) PRIMARY KEY)", &[1919, 1750]),
    ("ALTER TABLE t ADD PRIMARY KEY (a)", &[8111, 1750]),
    ("ALTER TABLE t ADD UNIQUE (b)", &[1505, 1750]),
    ("ALTER TABLE t ADD CONSTRAINT c UNIQUE (a)", &[2714, 1750]),
    ("ALTER TABLE t ADD DEFAULT 1 FOR a, DEFAULT 2 FOR a", &[1781, 1750]),
    ("ALTER TABLE t ADD DEFAULT 1 FOR nope", &[1752, 1750]),
    ("ALTER TABLE parent ADD PRIMARY KEY (b)", &[1779, 1750]),
    ("ALTER TABLE t ADD CHECK (b > 5)", &[547]),
    ("CREATE UNIQUE INDEX u ON t (b)", &[1505]),
    ("CREATE INDEX u ON t (nope)", &[1911]),
    ("ALTER TABLE t DROP CONSTRAINT nobody", &[3728, 3727]),
    ("ALTER TABLE parent DROP CONSTRAINT pk", &[3725, 3727]),
    ("ALTER TABLE t CHECK CONSTRAINT nobody", &[4917, 4916]),
    ("ALTER TABLE t NOCHECK CONSTRAINT nobody", &[4917, 4916]),
    ("ALTER TABLE t DROP COLUMN d", &[5074, 5074, 4922]),
];

fn world(name: &str) -> (World, hardpan_session::Session) {
    let world = World::new(name);
    let mut session = world.session();
    let seen = run(
        &mut session,
        "CREATE TABLE t (a int, b int, d int CONSTRAINT df DEFAULT 1, CONSTRAINT c CHECK (a > 0)); CREATE INDEX ix ON t (d)
         INSERT t VALUES (1, 1, 1), (2, 1, 2)
         CREATE TABLE parent (a int CONSTRAINT pk PRIMARY KEY, b int NOT NULL); CREATE TABLE child (a int REFERENCES parent (a))",
    );
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    (world, session)
}

#[test]
fn the_conclusion_is_told_second_and_is_what_is_caught() {
    let (_world, mut session) = world("conclusions");
    for (text, expected) in CASES {
        let seen = run(&mut session, text);
        assert_eq!(numbers(&seen), expected, "{text}");
        assert!(seen.messages.iter().all(|message| message.1 == 1), "{text}: {:?}", seen.messages);
        let caught = run(
            &mut session,
            &format!("BEGIN TRY {text} END TRY BEGIN CATCH SELECT ERROR_NUMBER(), @@ERROR END CATCH"),
        );
        let last = expected.last().unwrap().to_string();
        assert_eq!(caught.sets[0].1, [[last.clone(), last]], "{text}");
        assert!(caught.messages.is_empty(), "{text}: {:?}", caught.messages);
        // A rethrow passes on all messages.
        let thrown = run(&mut session, &format!("BEGIN TRY {text} END TRY BEGIN CATCH THROW END CATCH"));
        assert_eq!(numbers(&thrown), expected, "{text}");
    }
}

#[test]
fn the_words_are_those_that_clients_look_for() {
    let (_world, mut session) = world("conclusions-words");
    let words = [
        (
            "CREATE TABLE n (a int NULL PRIMARY KEY)",
            "Could not create constraint or index. See previous errors.",
        ),
        ("ALTER TABLE t DROP CONSTRAINT nobody", "Could not drop constraint. See previous errors."),
        (
            "ALTER TABLE t DROP COLUMN d",
            "ALTER TABLE DROP COLUMN d failed because one or more objects access this column.",
        ),
    ];
    for (text, last) in words {
        assert_eq!(run(&mut session, text).messages.last().unwrap().2, last);
    }
    let seen = run(&mut session, "ALTER TABLE t DROP COLUMN d");
    assert_eq!(seen.messages[0].2, "The object 'df' is dependent on column 'd'.");
    assert_eq!(seen.messages[1].2, "The index 'ix' is dependent on column 'd'.");
    let seen = run(&mut session, "CREATE TABLE named (a int NULL PRIMARY KEY)");
    assert!(seen.messages[0].2.contains("'named'"), "{:?}", seen.messages);
}

#[test]
fn a_key_that_may_become_too_long_is_made_with_a_warning() {
    let (_world, mut session) = world("wide-keys");
    let cases: [(&str, &[i32]); 8] = [
        ("CREATE TABLE w1 (a varchar(901) PRIMARY KEY)", &[1945]),
        (
            "CREATE TABLE w2 (a nvarchar(451) PRIMARY KEY, b varchar(1700) UNIQUE, c nvarchar(851) UNIQUE)",
            &[1945, 1945],
        ),
        ("CREATE TABLE w3 (a varchar(900) PRIMARY KEY, b varchar(1700) UNIQUE)", &[]),
        ("CREATE INDEX i ON w3 (a, b)", &[1945]),
        ("ALTER TABLE w3 ADD c varchar(1701) UNIQUE", &[1945]),
        ("ALTER TABLE w3 ADD d int", &[]),
        ("ALTER TABLE t ADD w varchar(2000)", &[]),
        ("CREATE TABLE #w (a varchar(901) PRIMARY KEY)", &[1945]),
    ];
    for (text, expected) in cases {
        assert_eq!(numbers(&run(&mut session, text)), expected, "{text}");
    }
    let seen = run(&mut session, "INSERT w1 VALUES (REPLICATE('a', 901))");
    assert_eq!(numbers(&seen), [1946, 3621]);
    assert_eq!(numbers(&run(&mut session, "INSERT w1 VALUES (REPLICATE('a', 900))")), [0; 0]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM w1"), ["1"]);
}

#[test]
fn parameters_are_counted() {
    let (_world, mut session) = world("parameters");
    let declared: Vec<String> = (0..2101).map(|at| format!("@p{at} int")).collect();
    let seen = run(&mut session, &format!("CREATE PROCEDURE many {} AS SELECT 1", declared.join(", ")));
    assert_eq!(numbers(&seen), [180]);
    let seen =
        run(&mut session, &format!("CREATE PROCEDURE many {} AS SELECT 1", declared[..2100].join(", ")));
    assert_eq!(numbers(&seen), [0; 0]);
    let values = vec!["1"; 2101].join(", ");
    assert_eq!(numbers(&run(&mut session, &format!("EXEC many {values}"))), [180]);
    let parameter = RpcParameter {
        name: String::new(),
        sql_type: SqlType::Int,
        value: Value::Int(1),
        output: false,
        default: false,
        table: None,
    };
    for (count, expected) in [(2101, vec![8003]), (2100, vec![])] {
        let mut seen = crate::common::Seen::default();
        let parameters = vec![parameter.clone(); count];
        let target = RpcTarget::Name("many".into());
        session.execute_rpc(RpcCall { target, parameters, no_metadata: false }, &mut seen);
        assert_eq!(numbers(&seen), expected, "{count} parameters");
    }
}
