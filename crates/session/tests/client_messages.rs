//! What ORMs, migration tools and retry code take out of messages: each row of `client_messages.txt` against the message of a real statement.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{World, run};
use hardpan_session::Session;

const TABLE: &str = include_str!("client_messages.txt");

/// Does the text match, letter case aside? `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or("")) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Does a client find in the message what it looks for?
fn finds(wanted: &str, message: &str) -> bool {
    if let Some(pattern) = wanted.strip_prefix("has ") {
        return matches(pattern, message);
    }
    let (how, value) = wanted.rsplit_once(" is ").unwrap();
    let found = if let Some(borders) = how.strip_prefix("between ") {
        let (from, to) = borders.split_once(" and ").unwrap();
        message.split_once(from).and_then(|found| found.1.split_once(to)).map(|found| found.0)
    } else if let Some(rest) = how.strip_prefix("word ") {
        let (number, quote) = rest.split_once(" in ").unwrap();
        let word = message.split_whitespace().nth(number.parse().unwrap());
        word.and_then(|word| word.split(quote).nth(1))
    } else {
        let (number, quote) = how.strip_prefix("part ").unwrap().split_once(" by ").unwrap();
        message.split(quote).nth(number.parse().unwrap())
    };
    found == Some(value)
}

fn prepare(session: &mut Session) {
    for batch in [
        "CREATE DATABASE db",
        "USE db",
        "CREATE TABLE t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, name varchar(5) CONSTRAINT uq_t UNIQUE, rank int CONSTRAINT ck_t CHECK (rank >= 0), \
         small tinyint); CREATE UNIQUE INDEX ux_t ON t (rank); INSERT t VALUES (1, 'one', 10, 1)",
        "CREATE TABLE child (t_id int CONSTRAINT fk_child REFERENCES t); INSERT child VALUES (1)",
        "CREATE TABLE twice (i int); INSERT twice VALUES (1), (1); CREATE TABLE counted (i int IDENTITY)",
        "CREATE PROCEDURE begins AS BEGIN TRAN",
        "CREATE VIEW joined AS SELECT name, t_id FROM t JOIN child ON t_id = id",
        "CREATE VIEW derived AS SELECT rank * 2 AS twice FROM t",
    ] {
        let seen = run(session, batch);
        assert!(seen.messages.iter().all(|message| message.0 == 5701), "{batch}: {:?}", seen.messages);
    }
}

#[test]
fn clients_find_in_messages_what_they_look_for() {
    let world = World::new("client-messages");
    let mut session = world.session();
    prepare(&mut session);
    let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut count, mut wrong) = (0, Vec::new());
    for row in rows {
        let fields: Vec<&str> = row.split(" | ").collect();
        let [_client, number, statement, wanted, source] = fields[..] else { panic!("five fields: {row}") };
        assert!(!source.is_empty(), "{row}");
        count += 1;
        let number: i32 = number.parse().unwrap();
        if statement.starts_with('>') {
            // A deadlock takes two sessions: its message is the catalogue's, which other tests see raised.
            let text = types::SqlError::new(number, &[&51, &"lock"]).message;
            assert!(finds(wanted, &text), "{row}: {text}");
            continue;
        }
        let seen = run(&mut session, statement);
        let message = seen.messages.iter().find(|message| message.0 == number);
        match message {
            Some(message) if finds(wanted, &message.2) => {}
            _ => wrong.push(format!("{row}\n    {:?}", seen.messages)),
        }
        run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK; USE db");
    }
    assert!(count > 50 && wrong.is_empty(), "{count} rows, wrong:\n{}", wrong.join("\n"));
}
