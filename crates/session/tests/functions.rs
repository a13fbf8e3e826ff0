//! Every documented function of T-SQL works or is refused by name: each row of `functions.txt` is run.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use crate::common::{World, numbers, run};

const TABLE: &str = include_str!("functions.txt");

/// Name, what becomes of it, and what is run (and seen, or the reason).
fn table() -> Vec<(&'static str, &'static str, &'static str)> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, rest) = line.split_once(" | ").expect(line);
            let (fate, example) = rest.split_once(" | ").expect(line);
            (name, fate, example)
        })
        .collect()
}

/// A row is a statement already, or an expression.
fn statement(text: &str) -> String {
    if text.starts_with("SELECT ") { text.to_string() } else { format!("SELECT {text}") }
}

#[test]
fn every_function_works_or_is_refused_by_name() {
    let world = World::new("functions");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    run(
        &mut session,
        "CREATE TABLE own (id int IDENTITY(10, 5) CONSTRAINT own_key PRIMARY KEY, name varchar(9))",
    );
    run(&mut session, "INSERT own (name) VALUES ('a') CREATE SEQUENCE draws AS int START WITH 3");
    run(&mut session, "CREATE VIEW view_of_own AS SELECT id FROM dbo.own");
    let mut wrong = Vec::new();
    for (name, fate, example) in table() {
        if fate == "works" {
            let (text, expected) = example.rsplit_once(" => ").expect(example);
            let seen = run(&mut session, &statement(text));
            let got = seen.sets.first().and_then(|set| set.1.first()).map(|row| row[0].trim().to_string());
            let fits = got.as_deref().is_some_and(|got| expected.trim() == "*" || got == expected.trim());
            if !seen.messages.iter().all(|message| message.0 == 8153) || !fits {
                wrong.push(format!("{name}: {text}: {got:?} {:?}, not {expected}", seen.messages));
            }
        } else {
            let number: i32 = fate.strip_prefix("error ").expect(example).parse().unwrap();
            let (text, reason) = example.rsplit_once(" | ").expect(example);
            assert!(!reason.is_empty());
            let seen = run(&mut session, &statement(text));
            let is_named = number != 40514
                || name.starts_with('$')
                || seen.messages.first().is_some_and(|message| message.2.to_uppercase().contains(name));
            if numbers(&seen).first() != Some(&number) || !is_named {
                wrong.push(format!("{name}: {text}: {:?}, not {number} with its name", seen.messages));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing stands in the code's lists that is not in the table.
#[test]
fn the_table_has_every_function_of_the_code() {
    let known: BTreeSet<&str> = table().iter().map(|row| row.0).collect();
    let all = query::function_names();
    assert!(all.len() > 250, "{}", all.len());
    let missing: Vec<_> = all.into_iter().filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// APPLOCK_TEST and APPLOCK_MODE tell what sp_getapplock would meet, and has taken.
#[test]
fn application_locks_are_told_as_they_are() {
    let world = World::new("application-locks");
    let (mut one, mut two) = (world.session(), world.session());
    let ask = |session: &mut hardpan_session::Session, owner: &str| {
        let tests = ["Shared", "Update", "IntentExclusive", "Exclusive"]
            .map(|mode| format!("APPLOCK_TEST('public', 'r', '{mode}', '{owner}')"));
        let text = format!("SELECT CONCAT({}), APPLOCK_MODE('public', 'r', '{owner}')", tests.join(", "));
        crate::common::rows(session, &text)[0].clone()
    };
    assert_eq!(ask(&mut one, "Session"), "1111|NoLock");
    for (mode, left) in [
        ("Shared", "1100"),
        ("Update", "1000"),
        ("IntentShared", "1110"),
        ("IntentExclusive", "0010"),
        ("Exclusive", "0000"),
    ] {
        run(&mut one, &format!("EXEC sp_getapplock 'r', '{mode}', 'Session'"));
        assert_eq!(ask(&mut one, "Session"), format!("1111|{mode}"));
        assert_eq!(ask(&mut one, "Transaction"), "1111|NoLock", "{mode}");
        assert_eq!(ask(&mut two, "Session"), format!("{left}|NoLock"), "{mode}");
        run(&mut one, "EXEC sp_releaseapplock 'r', 'Session'");
        run(&mut two, &format!("BEGIN TRAN EXEC sp_getapplock 'r', '{mode}'"));
        assert_eq!(ask(&mut two, "Transaction"), format!("1111|{mode}"));
        assert_eq!(ask(&mut one, "Session"), format!("{left}|NoLock"), "{mode}");
        run(&mut two, "ROLLBACK");
        assert_eq!(ask(&mut one, "Session"), "1111|NoLock");
    }
    assert_eq!(numbers(&run(&mut one, "SELECT APPLOCK_TEST('public', 'r', 'None', 'Session')")), [15600]);
}
