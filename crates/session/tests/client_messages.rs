//! What ORMs, migration tools and retry code parse from messages: each row of `client_messages.txt` is compared with the message of a real statement.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, run};
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
            let text = types::SqlError::new(number, &[&51, &"lock"]).message.clone();
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

/// Clients print severity and state, and some look at them (18456's, 1205's). From published transcripts of SQL Server.
#[test]
fn errors_have_their_severity_and_state() {
    let world = World::new("client-messages-states");
    let mut session = world.session();
    prepare(&mut session);
    let mut wrong: Vec<String> = Vec::new();
    for (statement, expected) in [
        ("CREATE INDEX ix ON missing (i)", "1088 16 12"),
        ("CREATE TABLE t (i int)", "2714 16 6"),
        ("EXEC ('CREATE VIEW t AS SELECT 1 AS i')", "2714 16 3"),
        ("ALTER TABLE child ADD CONSTRAINT uq_t UNIQUE (t_id)", "1750 16 1"),
        ("ALTER TABLE t ADD CONSTRAINT pk_other PRIMARY KEY (id)", "1750 16 1"),
        ("ALTER TABLE t ADD name int", "2705 16 4"),
        ("ALTER TABLE t DROP COLUMN rank", "4922 16 9"),
        ("DROP TABLE missing", "3701 11 5"),
        ("DROP INDEX pk_t ON t", "3723 16 4"),
        ("CREATE CLUSTERED INDEX other ON t (name)", "1902 16 3"),
        ("EXEC missing", "2812 16 62"),
        ("CREATE DATABASE db", "1801 16 3"),
        ("SELECT * FROM missing", "208 16 1"),
        ("SELECT missing FROM t", "207 16 1"),
        ("EXEC ('SELECT @missing')", "137 15 2"),
        ("EXEC ('SELECT * FROM @missing')", "1087 15 2"),
        ("SELECT MISSING()", "195 15 10"),
        ("INSERT t (id) VALUES (NULL)", "515 16 2"),
        ("INSERT child VALUES (77)", "547 16 0"),
        ("INSERT t VALUES (1, 'other', 1, 1)", "2627 14 1"),
        ("INSERT t VALUES (2, 'longer than five', 1, 1)", "2628 16 1"),
        ("INSERT t (id, small) VALUES (2, 300)", "220 16 2"),
        ("SELECT CAST('x' AS decimal(5, 2))", "8114 16 5"),
        ("SELECT CAST(123456 AS decimal(5, 2))", "8115 16 8"),
        ("SELECT 2147483647 + rank FROM t", "8115 16 2"),
        ("SELECT CAST('20201301' AS datetime)", "242 16 3"),
        ("SELECT CAST('x' AS int)", "245 16 1"),
        ("SELECT LEFT('x', -1)", "537 16 3"),
        ("SELECT rank / 0 FROM t", "8134 16 1"),
        ("SELECT DATEDIFF(second, '19000101', '21000101')", "535 16 0"),
        ("SELECT id + CAST('20200101' AS date) FROM t", "206 16 2"),
        ("EXEC ('DROP INDEX ux_t')", "159 15 1"),
    ] {
        let text = statement.replace('\'', "''");
        let caught = format!(
            "BEGIN TRY EXEC ('{text}') END TRY BEGIN CATCH SELECT CONCAT(ERROR_NUMBER(), ' ', ERROR_SEVERITY(), ' ', ERROR_STATE()) END CATCH"
        );
        let seen = run(&mut session, &caught);
        let found = seen.sets.last().map_or("nothing", |set| set.1[0][0].as_str());
        if found != expected {
            wrong.push(format!("{statement}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
