//! Lock waits of sessions that change the two sides of a foreign key, at every isolation level.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Each case: what the first session leaves open, and what the second must wait for then.
const CASES: [(&str, &str); 8] = [
    ("DELETE p WHERE id = 1", "INSERT c VALUES(9, 1)"),
    ("UPDATE p SET id = 50 WHERE id = 1", "INSERT c VALUES(9, 1)"),
    ("INSERT p VALUES(3)", "INSERT c VALUES(9, 3)"),
    ("INSERT p VALUES(3)", "UPDATE c SET pid = 3 WHERE id = 7"),
    ("INSERT c VALUES(9, 1)", "DELETE p WHERE id = 1"),
    ("UPDATE c SET pid = 1 WHERE id = 7", "DELETE p WHERE id = 1"),
    ("INSERT c VALUES(9, 1)", "UPDATE p SET id = 50 WHERE id = 1"),
    ("INSERT s VALUES(9, 2)", "DELETE p WHERE id = 2"),
];

#[test]
fn nobody_refers_to_what_is_not_committed() {
    let world = World::new("foreign-key-locks");
    let (mut first, mut second) = (world.session(), world.session());
    run(&mut first, "CREATE TABLE p(id int PRIMARY KEY); INSERT p VALUES(1), (2)");
    run(&mut first, "CREATE TABLE c(id int PRIMARY KEY, pid int REFERENCES p(id)); INSERT c VALUES(7, 2)");
    run(
        &mut first,
        "CREATE TABLE s(id int PRIMARY KEY, pid int INDEX ix REFERENCES p(id) ON DELETE CASCADE); DELETE c",
    );
    run(&mut first, "INSERT c VALUES(7, NULL)");
    run(&mut second, "SET LOCK_TIMEOUT 50");
    for level in LEVELS {
        for session in [&mut first, &mut second] {
            run(session, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
        }
        for (open, waits) in CASES {
            let opened = run(&mut first, &format!("BEGIN TRAN; {open}"));
            assert!(opened.messages.is_empty(), "{open}: {:?}", opened.messages);
            let seen = run(&mut second, waits);
            assert_eq!(
                numbers(&seen).first(),
                Some(&1222),
                "{level}: {open}; then {waits}: {:?}",
                seen.messages
            );
            run(&mut first, "ROLLBACK");
        }
    }
}

#[test]
fn a_new_foreign_key_waits_for_changes_of_the_table_it_refers_to() {
    let world = World::new("foreign-key-made");
    let (mut first, mut second) = (world.session(), world.session());
    run(
        &mut first,
        "CREATE TABLE p(id int PRIMARY KEY); INSERT p VALUES(1); CREATE TABLE c(pid int); INSERT c VALUES(1)",
    );
    // A statement that was bound before the key existed must look at it.
    let delete = "DELETE p WHERE id = 1";
    run(&mut first, &format!("BEGIN TRAN; {delete}"));
    run(&mut second, "SET LOCK_TIMEOUT 50");
    let add = "ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY(pid) REFERENCES p(id)";
    assert_eq!(numbers(&run(&mut second, add)).first(), Some(&1222));
    run(&mut first, "ROLLBACK");
    assert!(run(&mut second, add).messages.is_empty());
    assert_eq!(numbers(&run(&mut first, delete)).first(), Some(&547));
    run(&mut second, "ALTER TABLE c NOCHECK CONSTRAINT fk");
    assert!(run(&mut first, delete).messages.is_empty());
    assert_eq!(rows(&mut first, "SELECT COUNT(*) FROM p"), ["0"]);
}
