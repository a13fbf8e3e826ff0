//! READPAST: several readers take messages out of a table that serves as a queue, and none waits for another, with and without
//! READ_COMMITTED_SNAPSHOT and in SNAPSHOT transactions. The statements are those of Hangfire, NServiceBus and MassTransit.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// Each takes the first message that no other reader has taken.
const TAKES: [&str; 7] = [
    "DELETE TOP (1) q OUTPUT deleted.id FROM q WITH (READPAST, UPDLOCK, ROWLOCK, FORCESEEK) WHERE queue IN ('a', 'b') AND (fetched IS NULL OR fetched < DATEADD(second, -30, GETUTCDATE()))",
    "UPDATE TOP (1) q SET fetched = GETUTCDATE() OUTPUT inserted.id FROM q WITH (FORCESEEK, READPAST, UPDLOCK, ROWLOCK) WHERE queue IN ('a') AND fetched IS NULL",
    "WITH message AS (SELECT TOP (1) * FROM q WITH (UPDLOCK, READPAST, ROWLOCK) WHERE fetched IS NULL OR fetched > GETUTCDATE() ORDER BY id) DELETE FROM message OUTPUT deleted.id",
    "DECLARE @t TABLE (id int); WITH m AS (SELECT q.* FROM q WITH (ROWLOCK, READPAST, UPDLOCK) WHERE queue = 'a' AND tries < 3 ORDER BY id OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) UPDATE m SET tries = tries + 1 OUTPUT inserted.id INTO @t; SELECT id FROM @t",
    "DELETE TOP (1) FROM q WITH (ROWLOCK, READPAST) OUTPUT deleted.id",
    "SELECT TOP (1) id FROM q WITH (XLOCK, ROWLOCK, READPAST) WHERE queue = 'a' ORDER BY id",
    "SELECT TOP (1) id FROM q WITH (UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK) ORDER BY id",
];

fn prepare(session: &mut Session, definition: &str) {
    run(session, "DROP TABLE IF EXISTS q");
    let made = run(session, definition);
    assert!(made.messages.is_empty(), "{definition}: {:?}", made.messages);
    run(session, "INSERT q (id, queue) VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'a')");
}

const DEFINITIONS: [&str; 2] = [
    "CREATE TABLE q (id int NOT NULL PRIMARY KEY NONCLUSTERED, queue varchar(20) NOT NULL, fetched datetime NULL, tries int NOT NULL DEFAULT 0); CREATE CLUSTERED INDEX by_queue ON q (queue, id)",
    "CREATE TABLE q (id int NOT NULL PRIMARY KEY, queue varchar(20) NOT NULL, fetched datetime NULL, tries int NOT NULL DEFAULT 0); CREATE INDEX by_queue ON q (queue, id)",
];

#[test]
fn readers_of_a_queue_pass_each_other() {
    let world = World::new("queue-readers");
    let mut sessions = [world.session(), world.session(), world.session()];
    for option in ["OFF", "ON"] {
        run(&mut sessions[0], "USE master");
        let database = format!("queues_{option}");
        run(&mut sessions[0], &format!("CREATE DATABASE {database}"));
        let words = format!(
            "ALTER DATABASE {database} SET READ_COMMITTED_SNAPSHOT {option}; ALTER DATABASE {database} SET ALLOW_SNAPSHOT_ISOLATION ON"
        );
        assert!(numbers(&run(&mut sessions[0], &words)).is_empty());
        for session in &mut sessions {
            run(session, &format!("USE {database}; SET LOCK_TIMEOUT 0"));
        }
        for definition in DEFINITIONS {
            for (take, level) in TAKES
                .iter()
                .flat_map(|take| ["READ COMMITTED", "REPEATABLE READ", "SNAPSHOT"].map(|level| (take, level)))
            {
                // A snapshot is searched before anything is locked, unless a hint says otherwise.
                if level == "SNAPSHOT" && !take.contains("UPDLOCK") && !take.contains("XLOCK") {
                    continue;
                }
                run(&mut sessions[0], "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
                prepare(&mut sessions[0], definition);
                for (number, session) in sessions.iter_mut().enumerate() {
                    run(session, &format!("SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRAN"));
                    let told = format!("{option}, {level}, {definition}: {take}");
                    let seen = run(session, take);
                    assert!(numbers(&seen).is_empty(), "{told}, reader {number}: {:?}", seen.messages);
                    let found = seen.sets.last().map(|(_, set)| set.concat().join(" "));
                    assert_eq!(found, Some((number + 1).to_string()), "{told}");
                }
                sessions.iter_mut().for_each(|session| drop(run(session, "ROLLBACK")));
                assert_eq!(rows(&mut sessions[1], "SELECT COUNT(*) FROM q"), ["4"]);
            }
        }
    }
}

/// A reader of versions meets no locked row: READPAST is refused there, and where key ranges are locked.
#[test]
fn readpast_is_refused_where_no_row_is_locked() {
    let world = World::new("readpast-refused");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE DATABASE v; ALTER DATABASE v SET READ_COMMITTED_SNAPSHOT ON; ALTER DATABASE v SET ALLOW_SNAPSHOT_ISOLATION ON",
    );
    run(&mut session, "USE v");
    prepare(&mut session, DEFINITIONS[0]);
    for (level, read, number) in [
        ("READ COMMITTED", "SELECT id FROM q WITH (READPAST)", 650),
        ("READ COMMITTED", "SELECT id FROM q WITH (READPAST, READCOMMITTED)", 650),
        ("READ COMMITTED", "SELECT id FROM q WITH (READPAST, READCOMMITTEDLOCK)", 0),
        ("READ COMMITTED", "SELECT id FROM q WITH (READPAST, REPEATABLEREAD)", 0),
        ("READ COMMITTED", "SELECT id FROM q WITH (READPAST, UPDLOCK)", 0),
        ("READ COMMITTED", "UPDATE q WITH (READPAST) SET tries = 1", 0),
        ("READ COMMITTED", "SELECT id FROM q WITH (READPAST, UPDLOCK, HOLDLOCK)", 650),
        ("SERIALIZABLE", "SELECT id FROM q WITH (READPAST, UPDLOCK)", 650),
        ("SNAPSHOT", "SELECT id FROM q WITH (READPAST)", 650),
        ("SNAPSHOT", "SELECT id FROM q WITH (READPAST, UPDLOCK)", 0),
    ] {
        run(&mut session, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
        let seen = run(&mut session, read);
        assert_eq!(
            numbers(&seen).first().copied().unwrap_or(0),
            number,
            "{level}: {read}: {:?}",
            seen.messages
        );
    }
}
