//! The reach of errors: each row of `error_matrix.txt` is tried in a batch, in a procedure and in a TRY block, within a transaction, under XACT_ABORT
//! OFF and ON.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{Seen, World, numbers, rows, run};
use hardpan_session::Session;

const TABLE: &str = include_str!("error_matrix.txt");

struct Row<'t> {
    number: i32,
    /// That of what is told last.
    caught: i32,
    statement: &'t str,
    /// Under OFF and ON.
    reach: [&'t str; 2],
    state: [&'t str; 2],
}

fn table() -> Vec<Row<'static>> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let [number, statement, off, on, state, source] = fields[..] else {
                panic!("six fields: {line}")
            };
            assert!(!source.is_empty() && source.split(", ").all(|s| "XTRIBLO".contains(s)), "{line}");
            let (state_off, state_on) = state.split_once(' ').unwrap();
            assert!(
                [off, on].iter().all(|reach| ["next", "scope", "keep", "batch"].contains(reach)),
                "{line}"
            );
            let (number, caught) = number.split_once(' ').unwrap_or((number, number));
            let (number, caught) = (number.parse().unwrap(), caught.parse().unwrap());
            Row { number, caught, statement, reach: [off, on], state: [state_off, state_on] }
        })
        .collect()
}

/// A session with the tables and procedures that the statements name, as new.
fn prepare(session: &mut Session) {
    let modules = [
        "CREATE PROCEDURE none AS RETURN 0",
        "CREATE PROCEDURE two @a int, @b int AS SELECT @a",
        "CREATE PROCEDURE spare @a int = 1, @b int = 2 AS SELECT @a",
        "CREATE PROCEDURE begins AS BEGIN TRAN",
        "CREATE PROCEDURE deep AS EXEC deep",
        "CREATE VIEW low AS SELECT i, j FROM t WHERE i < 5 WITH CHECK OPTION",
        "CREATE VIEW both_tables AS SELECT j, child.i AS x FROM t JOIN child ON child.i = t.i",
    ];
    let seen = run(
        session,
        "IF @@TRANCOUNT > 0 ROLLBACK SET XACT_ABORT OFF USE master DROP PROCEDURE IF EXISTS none, two, spare, begins, deep, tried \
         DROP VIEW IF EXISTS low, both_tables \
         DROP TABLE IF EXISTS child, t, id, id2, twice, wide, x",
    );
    assert!(numbers(&seen).iter().all(|number| *number == 5701), "{:?}", seen.messages);
    let seen = run(
        session,
        "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int CHECK (j < 100), s varchar(3), d tinyint) \
         CREATE TABLE child (i int REFERENCES t (i)) CREATE TABLE id (i int IDENTITY, j int) CREATE UNIQUE INDEX uj ON id (j) \
         CREATE TABLE id2 (i int IDENTITY) CREATE TABLE twice (i int) CREATE TABLE wide (v varchar(2000), f char(901)) CREATE INDEX wv ON wide (v) \
         INSERT t VALUES (1, 1, 'a', 1), (2, 2, 'b', 2) INSERT child VALUES (1) INSERT twice VALUES (1), (1)",
    );
    // The warning of the wide key.
    assert_eq!(numbers(&seen), [1945], "{:?}", seen.messages);
    for module in modules {
        let seen = run(session, module);
        assert!(seen.messages.is_empty(), "{module}: {:?}", seen.messages);
    }
}

/// Which of the marks `SELECT 'x'` have come.
fn marks(seen: &Seen) -> Vec<String> {
    let values = seen.sets.iter().filter_map(|set| set.1.first()).filter_map(|row| row.first());
    values.filter(|value| value.starts_with("mark ")).map(|value| value[5..].to_string()).collect()
}

/// What a reach means: does the next statement run, does the caller go on, does the transaction live?
fn meaning(reach: &str) -> (bool, bool, bool) {
    match reach {
        "next" => (true, true, true),
        "scope" => (false, true, true),
        "keep" => (false, false, true),
        _ => (false, false, false),
    }
}

#[test]
fn an_error_ends_what_its_row_says() {
    os::memory::set_limits(4 << 30, 1 << 30);
    let world = World::new("error-matrix");
    let mut wrong = Vec::new();
    for row in table() {
        for (xact_abort, setting) in ["OFF", "ON"].into_iter().enumerate() {
            // Refused sessions would lose temporary settings: each trial has its own.
            let mut session = world.session();
            for place in ["batch", "procedure", "try"] {
                if let Err(found) = attempt(&mut session, &row, xact_abort, setting, place) {
                    wrong.push(format!("{} {} ({place}, {setting}): {found}", row.number, row.statement));
                }
            }
            prepare(&mut session);
            session.close();
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn attempt(
    session: &mut Session,
    row: &Row<'_>,
    xact_abort: usize,
    setting: &str,
    place: &str,
) -> Result<(), String> {
    prepare(session);
    run(session, "SET IDENTITY_INSERT id OFF SET IDENTITY_INSERT id2 OFF");
    let (next, caller, lives) = meaning(row.reach[xact_abort]);
    let catches = row.state[xact_abort] != "no";
    let statement = row.statement;
    let (text, expected): (String, Vec<&str>) = match place {
        "batch" => (format!("{statement} SELECT 'mark next'"), if next { vec!["next"] } else { vec![] }),
        "procedure" => {
            let seen =
                run(session, &format!("CREATE PROCEDURE tried AS BEGIN {statement} SELECT 'mark next' END"));
            if !seen.messages.is_empty() {
                // USE may not stand in a procedure, and what may not be compiled is not made.
                return Ok(());
            }
            let mut expected = if next { vec!["next"] } else { vec![] };
            expected.extend(caller.then_some("caller"));
            ("EXEC tried SELECT 'mark caller'".to_string(), expected)
        }
        _ => {
            let caught = "BEGIN CATCH SELECT 'mark ' + CAST(ERROR_NUMBER() AS varchar) + ' ' + CAST(XACT_STATE() AS varchar) END CATCH";
            let text = format!(
                "BEGIN TRY {statement} SELECT 'mark next' END TRY {caught} IF XACT_STATE() = -1 ROLLBACK"
            );
            (text, Vec::new())
        }
    };
    run(session, &format!("SET XACT_ABORT {setting} BEGIN TRAN"));
    let seen = run(session, &text);
    let open = rows(session, "SELECT @@TRANCOUNT")[0] != "0";
    if place == "try" && catches {
        let expected = format!("{} {}", row.caught, row.state[xact_abort]);
        let found = marks(&seen);
        return if found == [expected.clone()] {
            Ok(())
        } else {
            Err(format!("caught {found:?}, not {expected}: {:?}", seen.messages))
        };
    }
    let told = numbers(&seen);
    if !told.contains(&row.number) || !told.contains(&row.caught) {
        return Err(format!("told {:?}", seen.messages));
    }
    let found = marks(&seen);
    if found != expected || open != lives {
        return Err(format!("marks {found:?}, not {expected:?}; transaction open: {open}; {told:?}"));
    }
    Ok(())
}

/// @@ERROR behind a statement that failed and went on is its number; behind EXECUTE it is that of the procedure's last statement.
#[test]
fn the_number_of_the_last_error_is_at_hand() {
    let world = World::new("last-error");
    let mut session = world.session();
    for row in table().iter().filter(|row| row.reach[0] == "next") {
        prepare(&mut session);
        let seen = run(
            &mut session,
            &format!("BEGIN TRAN {} SELECT 'mark ' + CAST(@@ERROR AS varchar)", row.statement),
        );
        assert_eq!(marks(&seen), [row.number.to_string()], "{}: {:?}", row.statement, seen.messages);
    }
    prepare(&mut session);
    run(&mut session, "CREATE PROCEDURE tried AS SELECT 1 / 0");
    let seen = run(&mut session, "EXEC tried SELECT 'mark ' + CAST(@@ERROR AS varchar)");
    assert_eq!(marks(&seen), ["8134"]);
    run(&mut session, "ALTER PROCEDURE tried AS SELECT 1 / 0 SELECT 1");
    let seen = run(&mut session, "EXEC tried SELECT 'mark ' + CAST(@@ERROR AS varchar)");
    assert_eq!(marks(&seen), ["0"]);
}
