//! API server cursors: sp_cursoropen and its kin as drivers call them (sp-cursoropen-transact-sql, sp-cursorfetch-transact-sql,
//! sp-cursor-transact-sql, sp-cursoroption-transact-sql).
#![allow(clippy::unwrap_used, reason = "a test")]

use hardpan_session::{RequestEnd, RpcCall, RpcParameter, RpcTarget, Session};
use types::{Length, SqlType, Value};

use crate::common::{Seen, World, is_free, numbers, rows, run};

fn int(value: i32) -> RpcParameter {
    parameter("", SqlType::Int, Value::Int(value), false)
}

fn out(value: i32) -> RpcParameter {
    parameter("", SqlType::Int, Value::Int(value), true)
}

fn text(value: &str) -> RpcParameter {
    parameter("", SqlType::NVarChar(Length::Max), Value::nvarchar(value), false)
}

fn named(name: &str, value: &str) -> RpcParameter {
    parameter(name, SqlType::NVarChar(Length::Max), Value::nvarchar(value), false)
}

fn parameter(name: &str, sql_type: SqlType, value: Value, output: bool) -> RpcParameter {
    RpcParameter { name: name.into(), sql_type, value, output, default: false, table: None }
}

fn call(session: &mut Session, number: u16, parameters: Vec<RpcParameter>) -> Seen {
    let mut seen = Seen::default();
    let call = RpcCall { target: RpcTarget::Number(number), parameters, no_metadata: false };
    assert_eq!(session.execute_rpc(call, &mut seen), RequestEnd::Finished);
    seen
}

const CURSOR: u16 = 1;
const OPEN: u16 = 2;
const PREPARE: u16 = 3;
const EXECUTE: u16 = 4;
const PREPEXEC: u16 = 5;
const UNPREPARE: u16 = 6;
const FETCH: u16 = 7;
const OPTION: u16 = 8;
const CLOSE: u16 = 9;

const KEYSET: i32 = 1;
const DYNAMIC: i32 = 2;
const FORWARD_ONLY: i32 = 4;
const STATIC: i32 = 8;
const FAST_FORWARD: i32 = 16;
const READ_ONLY: i32 = 1;
const LOCKS: i32 = 2;
const OPTIMISTIC: i32 = 4;
const DIRECT: i32 = 0x2000;

fn try_open(session: &mut Session, query: &str, scroll: i32, concurrency: i32) -> Seen {
    call(session, OPEN, vec![out(0), text(query), out(scroll), out(concurrency), out(0)])
}

/// The handle of a cursor, its scrollopt, ccopt and rowcount.
fn opened(session: &mut Session, query: &str, scroll: i32, concurrency: i32) -> (i32, [i32; 3]) {
    let seen = try_open(session, query, scroll, concurrency);
    assert_eq!(numbers(&seen), [0; 0], "{query}: {:?}", seen.messages);
    let values: Vec<i32> = seen.outputs.iter().map(|(_, value)| value.parse().unwrap()).collect();
    let [handle, scroll, concurrency, count] = values[..] else { panic!("{values:?}") };
    assert_eq!((seen.status, seen.sets[0].1.len()), (Some(0), 0), "the columns alone");
    assert_eq!(seen.sets[0].0.last().map(String::as_str), Some("ROWSTAT"));
    (handle, [scroll, concurrency, count])
}

fn try_fetch(session: &mut Session, handle: i32, kind: i32, row: i32, count: i32) -> Seen {
    call(session, FETCH, vec![int(handle), int(kind), int(row), int(count)])
}

/// The rows of a fetch, with ROWSTAT.
fn fetch(session: &mut Session, handle: i32, kind: i32, row: i32, count: i32) -> Vec<String> {
    let seen = try_fetch(session, handle, kind, row, count);
    assert_eq!(numbers(&seen), [0; 0], "{:?}", seen.messages);
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

fn change(session: &mut Session, handle: i32, kind: i32, row: i32, values: Vec<RpcParameter>) -> Seen {
    let mut parameters = vec![int(handle), int(kind), int(row), text("")];
    parameters.extend(values);
    call(session, CURSOR, parameters)
}

fn world(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, name varchar(20) NULL, n int NOT NULL DEFAULT 7); \
         INSERT t (id, name) VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd'), (5, 'e'), (6, 'f')",
    );
    (world, session)
}

const ALL: &str = "SELECT id, name FROM t ORDER BY id";

/// What comes back in scrollopt, ccopt and rowcount, and what a cursor is converted to.
#[test]
fn the_open_cursor_tells_what_it_has_become() {
    let (_world, mut s) = world("api-open");
    run(&mut s, "CREATE TABLE heap (i int); INSERT heap VALUES (1), (1), (2)");
    for (query, asked, got) in [
        (ALL, [STATIC, READ_ONLY], [STATIC, READ_ONLY, 6]),
        (ALL, [STATIC, OPTIMISTIC], [STATIC, READ_ONLY, 6]),
        (ALL, [KEYSET, OPTIMISTIC | DIRECT], [KEYSET, OPTIMISTIC, 6]),
        (ALL, [KEYSET, READ_ONLY], [KEYSET, READ_ONLY, 6]),
        (ALL, [0, 0], [KEYSET, OPTIMISTIC, 6]),
        (ALL, [DYNAMIC, LOCKS], [DYNAMIC, LOCKS, -1]),
        (ALL, [FORWARD_ONLY, 8], [FORWARD_ONLY, 8, -1]),
        (ALL, [FAST_FORWARD, READ_ONLY], [FAST_FORWARD, READ_ONLY, -1]),
        ("SELECT id FROM t WHERE id > 99", [KEYSET, READ_ONLY], [KEYSET, READ_ONLY, 0]),
        ("SELECT i FROM heap", [KEYSET, OPTIMISTIC], [STATIC, READ_ONLY, 3]),
        ("SELECT DISTINCT n FROM t", [DYNAMIC, OPTIMISTIC], [STATIC, READ_ONLY, 1]),
        ("SELECT a.id FROM t a JOIN t b ON a.id = b.id", [DYNAMIC, OPTIMISTIC], [STATIC, READ_ONLY, 6]),
        ("SELECT id FROM t ORDER BY name", [DYNAMIC, OPTIMISTIC], [KEYSET, OPTIMISTIC, 6]),
        ("SELECT id FROM t FOR UPDATE", [KEYSET, OPTIMISTIC], [KEYSET, OPTIMISTIC, 6]),
    ] {
        let (handle, told) = opened(&mut s, query, asked[0], asked[1]);
        assert_eq!(told, got, "{query} {asked:?}");
        let option = |s: &mut Session, code| {
            call(s, OPTION, vec![int(handle), int(code), out(0)]).outputs[0].1.clone()
        };
        assert_eq!([4, 5, 6].map(|code| option(&mut s, code)), got.map(|value| value.to_string()), "{query}");
        assert_eq!(numbers(&call(&mut s, CLOSE, vec![int(handle)])), [0; 0]);
        assert_eq!(numbers(&call(&mut s, CLOSE, vec![int(handle)])), [16909], "it is closed");
    }
}

#[test]
fn a_cursor_that_is_not_accepted_is_refused() {
    let (_world, mut s) = world("api-accepted");
    const CHECK: i32 = 0x8000;
    let join = "SELECT a.id FROM t a JOIN t b ON a.id = b.id";
    let numbers_of =
        |s: &mut Session, query: &str, scroll, concurrency| numbers(&try_open(s, query, scroll, concurrency));
    assert_eq!(numbers_of(&mut s, join, KEYSET | CHECK | KEYSET << 16, READ_ONLY), [16955]);
    assert_eq!(numbers_of(&mut s, join, KEYSET | CHECK | STATIC << 16, READ_ONLY), [0; 0]);
    assert_eq!(numbers_of(&mut s, join, KEYSET, OPTIMISTIC | CHECK | OPTIMISTIC << 16), [16955]);
    assert_eq!(numbers_of(&mut s, ALL, KEYSET, OPTIMISTIC | CHECK | OPTIMISTIC << 16), [0; 0]);
    assert_eq!(numbers_of(&mut s, ALL, KEYSET | STATIC, READ_ONLY), [16902]);
    assert_eq!(numbers_of(&mut s, "SELECT * FROM no_such", KEYSET, READ_ONLY), [208]);
    assert_eq!(numbers_of(&mut s, "SELECT FROM", KEYSET, READ_ONLY), [156]);
    assert_eq!(numbers(&call(&mut s, OPEN, vec![out(0)])), [16903]);
}

/// sp-cursorfetch-transact-sql: all fetch types, and those that a type of cursor does not have.
#[test]
fn fetches_go_in_all_directions() {
    let (_world, mut s) = world("api-fetch");
    const FIRST: i32 = 1;
    const NEXT: i32 = 2;
    const PREV: i32 = 4;
    const LAST: i32 = 8;
    const ABSOLUTE: i32 = 0x10;
    const RELATIVE: i32 = 0x20;
    const REFRESH: i32 = 0x80;
    const NOADJUST: i32 = 0x200;
    for scroll in [STATIC, KEYSET, DYNAMIC] {
        let (h, _) = opened(&mut s, ALL, scroll, READ_ONLY);
        let ids = |s: &mut Session, kind, row, count| {
            let seen = try_fetch(s, h, kind, row, count);
            assert_eq!(numbers(&seen), [0; 0], "{scroll} {kind}");
            (seen.sets[0].1.iter().map(|row| row[0].clone()).collect::<String>(), seen.status.unwrap())
        };
        let is = |text: &str, status| (text.to_string(), status);
        assert_eq!(ids(&mut s, NEXT, 0, 4), is("1234", 0));
        assert_eq!(ids(&mut s, NEXT, 0, 4), is("56", 0));
        assert_eq!(ids(&mut s, NEXT, 0, 4), is("", 0));
        assert_eq!(ids(&mut s, NEXT, 0, 4), is("", 0));
        assert_eq!(ids(&mut s, PREV, 0, 4), is("3456", 0));
        assert_eq!(ids(&mut s, PREV, 0, 4), is("1234", 2), "adjusted");
        assert_eq!(ids(&mut s, PREV, 0, 4), is("", 0), "before the first row");
        assert_eq!(ids(&mut s, NEXT, 0, 1), is("1", 0));
        assert_eq!(ids(&mut s, LAST, 0, 2), is("56", 0));
        assert_eq!(ids(&mut s, NOADJUST, 0, 3), is("234", 0));
        assert_eq!(ids(&mut s, NOADJUST, 0, 3), is("1", 0));
        assert_eq!(ids(&mut s, RELATIVE, 2, 2), is("34", 0));
        assert_eq!(ids(&mut s, REFRESH, 0, 0), is("34", 0));
        assert_eq!(ids(&mut s, RELATIVE, -1, 2), is("23", 0));
        assert_eq!(ids(&mut s, RELATIVE, -2, 2), is("12", 2), "adjusted");
        assert_eq!(ids(&mut s, RELATIVE, -1, 2), is("", 0));
        assert_eq!(ids(&mut s, LAST, 0, 0), is("", 0));
        assert_eq!(ids(&mut s, PREV, 0, 1), is("6", 0));
        assert_eq!(ids(&mut s, FIRST, 0, 0), is("", 0));
        assert_eq!(ids(&mut s, NEXT, 0, 20), is("123456", 0));
        let absolute = numbers(&try_fetch(&mut s, h, ABSOLUTE, 2, 2));
        match scroll {
            DYNAMIC => assert_eq!(absolute, [16925]),
            _ => {
                assert_eq!(ids(&mut s, ABSOLUTE, 2, 2), is("23", 0));
                assert_eq!(ids(&mut s, ABSOLUTE, -2, 5), is("56", 0));
                assert_eq!(ids(&mut s, ABSOLUTE, 7, 5), is("", 0));
            }
        }
        assert_eq!(
            numbers(&try_fetch(&mut s, h, NEXT, 0, 0)),
            [16902],
            "only the ends are reached without rows"
        );
        assert_eq!(numbers(&try_fetch(&mut s, h, 0x40, 0, 1)), [16902]);
    }
    for scroll in [FORWARD_ONLY, FAST_FORWARD] {
        let (h, _) = opened(&mut s, ALL, scroll, OPTIMISTIC);
        assert_eq!(fetch(&mut s, h, NEXT, 0, 2), ["1|a|1", "2|b|1"]);
        for kind in [FIRST, PREV, LAST, ABSOLUTE, RELATIVE, NOADJUST] {
            assert_eq!(numbers(&try_fetch(&mut s, h, kind, 1, 1)), [16911], "{kind}");
        }
        assert_eq!(fetch(&mut s, h, NEXT, 0, 20).len(), 4);
    }
    assert_eq!(numbers(&try_fetch(&mut s, 1, NEXT, 0, 1)), [16909]);
}

/// INFO: position and number of rows.
#[test]
fn info_tells_position_and_count() {
    let (_world, mut s) = world("api-info");
    let info = |s: &mut Session, h| {
        let seen = call(s, FETCH, vec![int(h), int(0x100), out(0), out(0)]);
        seen.outputs.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>().join(" ")
    };
    let (h, _) = opened(&mut s, ALL, KEYSET, READ_ONLY);
    assert_eq!(info(&mut s, h), "0 6");
    fetch(&mut s, h, 0x10, 3, 2);
    assert_eq!(info(&mut s, h), "3 6");
    fetch(&mut s, h, 0x10, 30, 2);
    assert_eq!(info(&mut s, h), "-1 6");
    let (h, _) = opened(&mut s, ALL, DYNAMIC, READ_ONLY);
    fetch(&mut s, h, 2, 0, 2);
    assert_eq!(info(&mut s, h), "1 -1");
}

/// AUTO_FETCH sends the first rows with the answer; AUTO_CLOSE closes behind the last one (status 16).
#[test]
fn a_fast_forward_cursor_fetches_and_closes_itself() {
    let (_world, mut s) = world("api-auto");
    let open = |s: &mut Session, query: &str, bits: i32, size: i32| {
        call(s, OPEN, vec![out(0), text(query), int(FAST_FORWARD | bits), int(READ_ONLY), out(size)])
    };
    let seen = open(&mut s, ALL, 0x6000, 4);
    assert_eq!((seen.sets[0].1.len(), seen.status, seen.outputs[1].1.as_str()), (4, Some(0), "4"));
    let h: i32 = seen.outputs[0].1.parse().unwrap();
    let seen = try_fetch(&mut s, h, 2, 0, 4);
    assert_eq!((seen.sets[0].1.len(), seen.status), (2, Some(16)));
    assert_eq!(numbers(&try_fetch(&mut s, h, 2, 0, 4)), [16909]);
    let seen = open(&mut s, ALL, 0x6000, 20);
    assert_eq!((seen.sets[0].1.len(), seen.status, seen.outputs[0].1.as_str()), (6, Some(16), "0"));
    let seen = open(&mut s, "SELECT id FROM t WHERE id < 0", 0x2000, 20);
    assert_eq!((seen.sets[0].1.len(), seen.status, seen.outputs[1].1.as_str()), (0, Some(0), "0"));
}

/// A keyset keeps its members: a deleted row is missing (ROWSTAT 2), a changed one shows its new values.
#[test]
fn a_keyset_keeps_its_members() {
    let (world, mut s) = world("api-keyset");
    let mut other = world.session();
    let (h, _) = opened(&mut s, "SELECT id, name, n FROM t", KEYSET, OPTIMISTIC);
    run(
        &mut other,
        "DELETE t WHERE id = 2; UPDATE t SET name = 'new' WHERE id = 3; INSERT t (id) VALUES (7)",
    );
    let seen = fetch(&mut s, h, 1, 0, 10);
    assert_eq!(seen, ["1|a|7|1", "0|NULL|0|2", "3|new|7|1", "4|d|7|1", "5|e|7|1", "6|f|7|1"]);
    assert_eq!(numbers(&change(&mut s, h, 2, 2, vec![])), [16947], "it is gone");
}

#[test]
fn rows_are_changed_through_the_buffer() {
    let (_world, mut s) = world("api-change");
    let (h, _) = opened(&mut s, "SELECT id, name AS words, n FROM t", KEYSET, OPTIMISTIC | 0x4000);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![named("@n", "1")])), [16931], "nothing is fetched");
    fetch(&mut s, h, 2, 0, 4);
    // Named values, by the name of the table or of the query.
    assert_eq!(numbers(&change(&mut s, h, 0x21, 1, vec![named("@words", "one"), named("@n", "10")])), [0; 0]);
    assert_eq!(
        numbers(&change(&mut s, h, 1, 1, vec![named("@n", "11")])),
        [0; 0],
        "its own change is no conflict"
    );
    // Pieces of a statement.
    assert_eq!(
        numbers(&change(&mut s, h, 1, 2, vec![text("name = 'two'"), text("n = n * 2 -- twice")])),
        [0; 0]
    );
    assert_eq!(numbers(&change(&mut s, h, 1, 3, vec![text("SET n = 33")])), [0; 0]);
    assert_eq!(numbers(&change(&mut s, h, 1, 3, vec![text("UPDATE t SET name = 'three'")])), [0; 0]);
    assert_eq!(numbers(&change(&mut s, h, 2, 4, vec![])), [0; 0]);
    assert_eq!(
        rows(&mut s, "SELECT id, name, n FROM t"),
        ["1|one|11", "2|two|14", "3|three|33", "5|e|7", "6|f|7"]
    );
    // A new key keeps its place with UPDT_IN_PLACE.
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![named("@id", "100")])), [0; 0]);
    assert_eq!(fetch(&mut s, h, 0x80, 0, 0), ["100|one|11|1", "2|two|14|1", "3|three|33|1", "0|NULL|0|2"]);
    // What the cursor inserts is its last row.
    assert_eq!(numbers(&change(&mut s, h, 4, 0, vec![named("@id", "50"), named("@name", "fifty")])), [0; 0]);
    assert_eq!(fetch(&mut s, h, 8, 0, 1), ["50|fifty|7|1"]);
    for piece in ["(51, 'x', 1)", "VALUES (52, 'x', 1)", "INSERT INTO t VALUES (53, 'x', 1)", "54, 'x', 1"] {
        assert_eq!(numbers(&change(&mut s, h, 4, 0, vec![text(piece)])), [0; 0], "{piece}");
    }
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t WHERE name = 'x'"), ["4"]);
}

#[test]
fn mistakes_of_sp_cursor() {
    let (_world, mut s) = world("api-mistakes");
    run(&mut s, "CREATE TABLE u (id int NOT NULL PRIMARY KEY)");
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    fetch(&mut s, h, 2, 0, 2);
    let n = || vec![named("@n", "1")];
    assert_eq!(numbers(&change(&mut s, h, 1, 3, n())), [16930]);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![])), [16935]);
    assert_eq!(numbers(&change(&mut s, h, 3, 1, n())), [16902]);
    assert_eq!(numbers(&change(&mut s, h, 0x48, 1, n())), [16904]);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![named("@n", "1"), text("n = 2")])), [16936]);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![text("n = 1; DELETE t")])), [16936]);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![text("n = 1 WHERE id = 5")])), [16936]);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![named("@no", "1")])), [207]);
    let with_table = |s: &mut Session, table: &str| {
        numbers(&call(s, CURSOR, vec![int(h), int(1), int(1), text(table), named("@n", "8")]))
    };
    assert_eq!(with_table(&mut s, "u"), [16933]);
    assert_eq!(with_table(&mut s, "no_such"), [16933]);
    assert_eq!(with_table(&mut s, "[master].[dbo].[t]"), [0; 0]);
    let seen = change(&mut s, h, 1, 1, vec![parameter("@n", SqlType::Int, Value::Null, false)]);
    assert_eq!((numbers(&seen), seen.status), (vec![515, 3621], Some(1)));
    let (h, _) = opened(&mut s, ALL, STATIC, OPTIMISTIC);
    fetch(&mut s, h, 2, 0, 2);
    assert_eq!(numbers(&change(&mut s, h, 1, 1, n())), [16929]);
    assert_eq!(numbers(&change(&mut s, h, 4, 1, n())), [16929]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t WHERE n = 8"), ["1"]);
}

/// rownum 0 means all rows of the buffer, each with a count of its own; ABSOLUTE counts in the keyset.
#[test]
fn all_rows_of_the_buffer_and_rows_of_the_keyset() {
    let (_world, mut s) = world("api-all");
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    fetch(&mut s, h, 2, 0, 3);
    let seen = change(&mut s, h, 1, 0, vec![named("@n", "1")]);
    assert_eq!(seen.counts[..3], [Some(1), Some(1), Some(1)]);
    assert_eq!(numbers(&change(&mut s, h, 0x41, 6, vec![named("@n", "6")])), [0; 0]);
    assert_eq!(numbers(&change(&mut s, h, 0x42, 5, vec![])), [0; 0]);
    assert_eq!(numbers(&change(&mut s, h, 0x42, 7, vec![])), [16930]);
    assert_eq!(rows(&mut s, "SELECT id, n FROM t"), ["1|1", "2|1", "3|1", "4|7", "6|6"]);
    let seen = change(&mut s, h, 8, 2, vec![]);
    assert_eq!(seen.sets[0].1, [["2", "b", "1"]], "REFRESH sends the row");
}

/// 16934 when another session has changed the row since it was fetched; not with locks, nor after a refresh.
#[test]
fn optimistic_changes_fail_after_others() {
    let (world, mut s) = world("api-optimistic");
    let mut other = world.session();
    run(&mut other, "SET LOCK_TIMEOUT 0");
    for concurrency in [OPTIMISTIC, 8] {
        let (h, _) = opened(&mut s, ALL, KEYSET, concurrency);
        fetch(&mut s, h, 2, 0, 3);
        run(&mut other, "UPDATE t SET n += 1 WHERE id = 1");
        assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![named("@n", "100")])), [16934, 16947]);
        assert_eq!(numbers(&change(&mut s, h, 2, 1, vec![])), [16934, 16947]);
        fetch(&mut s, h, 0x80, 0, 0);
        assert_eq!(numbers(&change(&mut s, h, 1, 1, vec![named("@n", "100")])), [0; 0]);
    }
    run(&mut s, "BEGIN TRAN");
    let (h, _) = opened(&mut s, ALL, KEYSET, LOCKS);
    fetch(&mut s, h, 2, 0, 2);
    assert!(!is_free(&mut other, "UPDATE t SET n += 1 WHERE id = 1"));
    assert!(is_free(&mut other, "UPDATE t SET n += 1 WHERE id = 5"));
    run(&mut s, "COMMIT");
    run(&mut s, "BEGIN TRAN");
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    fetch(&mut s, h, 2, 0, 3);
    let seen = change(&mut s, h, 0x10, 3, vec![]);
    assert_eq!((numbers(&seen), seen.sets.len()), (vec![], 0), "LOCK has no result");
    assert!(!is_free(&mut other, "UPDATE t SET n += 1 WHERE id = 3"));
    assert!(is_free(&mut other, "UPDATE t SET n += 1 WHERE id = 2"));
    run(&mut s, "ROLLBACK");
}

/// CURSOR_NAME lets T-SQL change the row that SETPOSITION chooses; the first one of the buffer without it.
#[test]
fn a_named_cursor_has_positioned_changes() {
    let (_world, mut s) = world("api-name");
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    assert_eq!(numbers(&call(&mut s, OPTION, vec![int(h), int(2), text("SQL_CUR1")])), [0; 0]);
    let (other, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    assert_eq!(numbers(&call(&mut s, OPTION, vec![int(other), int(2), text("sql_cur1")])), [16915]);
    fetch(&mut s, h, 2, 0, 3);
    run(&mut s, "UPDATE t SET n = 1 WHERE CURRENT OF SQL_CUR1");
    change(&mut s, h, 0x20, 3, vec![]);
    run(&mut s, "UPDATE t SET n = 3 WHERE CURRENT OF SQL_CUR1");
    change(&mut s, h, 0x20, 30, vec![]);
    run(&mut s, "UPDATE t SET n += 10 WHERE CURRENT OF SQL_CUR1");
    assert_eq!(rows(&mut s, "SELECT id, n FROM t WHERE n <> 7"), ["1|11", "3|3"]);
    call(&mut s, CLOSE, vec![int(h)]);
    assert_eq!(numbers(&run(&mut s, "DELETE t WHERE CURRENT OF SQL_CUR1")), [16916]);
}

#[test]
fn statements_without_a_cursor_are_executed_or_refused() {
    let (_world, mut s) = world("api-direct");
    run(
        &mut s,
        "CREATE PROCEDURE one @from int AS BEGIN SELECT id, name FROM t WHERE id > @from ORDER BY id END",
    );
    run(&mut s, "CREATE PROCEDURE two AS SELECT 1 SELECT 2");
    for statement in [
        "SELECT 1; SELECT 2",
        "UPDATE t SET n = 8",
        "SELECT 1 AS i INTO #x",
        "EXEC two",
        "DECLARE @i int = 1",
    ] {
        assert_eq!(numbers(&try_open(&mut s, statement, KEYSET, READ_ONLY)), [16938], "{statement}");
    }
    let seen = try_open(&mut s, "SELECT 1; SELECT 2", STATIC, READ_ONLY | DIRECT);
    assert_eq!((numbers(&seen), seen.sets.len()), (vec![16954], 2));
    assert_eq!(seen.outputs[0].1, "0", "there is no cursor");
    let seen = try_open(&mut s, "UPDATE t SET n = 8", STATIC, READ_ONLY | DIRECT);
    assert_eq!((numbers(&seen), seen.counts[0]), (vec![16954], Some(6)));
    // A procedure that is one SELECT has a cursor over its rows.
    let (h, told) = opened(&mut s, "EXEC one 3", KEYSET, OPTIMISTIC);
    assert_eq!(told, [STATIC, READ_ONLY, 3]);
    assert_eq!(fetch(&mut s, h, 8, 0, 2), ["5|e|1", "6|f|1"]);
    let parameters = vec![
        out(0),
        text("EXEC one @f"),
        out(STATIC | 0x1000),
        out(READ_ONLY),
        out(0),
        text("@f int"),
        int(5),
    ];
    let seen = call(&mut s, OPEN, parameters);
    assert_eq!(seen.outputs[3].1, "1");
}

#[test]
fn prepared_cursors() {
    let (_world, mut s) = world("api-prepared");
    let query = "SELECT id, name FROM t WHERE id > @from ORDER BY id";
    let seen = call(
        &mut s,
        PREPARE,
        vec![out(0), text("@from int"), text(query), int(1), out(KEYSET), out(READ_ONLY)],
    );
    assert_eq!((numbers(&seen), seen.sets[0].0.join(" ")), (vec![], "id name ROWSTAT".to_string()));
    let prepared: i32 = seen.outputs[0].1.parse().unwrap();
    for from in [4, 0, 9] {
        let seen = call(
            &mut s,
            EXECUTE,
            vec![int(prepared), out(0), out(KEYSET), out(READ_ONLY), out(0), int(from)],
        );
        assert_eq!(seen.outputs[3].1, (6 - from).max(0).to_string());
        let h: i32 = seen.outputs[0].1.parse().unwrap();
        assert_eq!(fetch(&mut s, h, 2, 0, 20).len(), usize::try_from((6 - from).max(0)).unwrap());
    }
    assert_eq!(numbers(&call(&mut s, UNPREPARE, vec![int(prepared)])), [0; 0]);
    assert_eq!(numbers(&call(&mut s, UNPREPARE, vec![int(prepared)])), [8179]);
    assert_eq!(numbers(&call(&mut s, EXECUTE, vec![int(prepared), out(0)])), [8179]);
    let prepexec = |s: &mut Session, old, text_of: &str, scroll, from| {
        let start = vec![
            out(old),
            out(0),
            text("@from int"),
            text(text_of),
            int(scroll),
            int(READ_ONLY | DIRECT),
            out(0),
        ];
        call(s, PREPEXEC, start.into_iter().chain([int(from)]).collect())
    };
    let seen = prepexec(&mut s, 0, query, STATIC | 0x1000, 2);
    let [handle, cursor, count] = [0, 1, 2].map(|at| seen.outputs[at].1.parse::<i32>().unwrap());
    assert_eq!((count, fetch(&mut s, cursor, 2, 0, 1)), (4, vec!["3|NULL|1".to_string()]));
    let seen = prepexec(&mut s, handle, "INSERT t (id) VALUES (@from)", STATIC | 0x1000, 70);
    assert_eq!((numbers(&seen), seen.counts[0]), (vec![16954], Some(1)));
    assert_eq!(numbers(&call(&mut s, UNPREPARE, vec![int(handle)])), [8179], "the old handle is released");
    let seen = call(&mut s, PREPARE, vec![out(0), text(""), text("SELECT * FROM no_such"), int(1)]);
    assert_eq!(numbers(&seen), [208, 8180]);
}

/// Transactions, CURSOR_CLOSE_ON_COMMIT, a reset of the connection.
#[test]
fn how_cursors_end() {
    let (_world, mut s) = world("api-end");
    run(&mut s, "BEGIN TRAN");
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    fetch(&mut s, h, 2, 0, 2);
    run(&mut s, "COMMIT");
    assert_eq!(fetch(&mut s, h, 2, 0, 2), ["3|NULL|1", "4|d|1"]);
    run(&mut s, "SET CURSOR_CLOSE_ON_COMMIT ON; BEGIN TRAN; COMMIT");
    assert_eq!(numbers(&try_fetch(&mut s, h, 2, 0, 2)), [16917]);
    assert_eq!(numbers(&change(&mut s, h, 2, 1, vec![])), [16917]);
    let info = call(&mut s, FETCH, vec![int(h), int(0x100), out(5), out(5)]);
    assert_eq!(info.outputs.iter().map(|output| output.1.as_str()).collect::<Vec<_>>(), ["0", "0"]);
    let (a, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    let (b, _) = opened(&mut s, ALL, STATIC, OPTIMISTIC);
    assert_eq!(
        (fetch(&mut s, a, 2, 0, 2).len(), fetch(&mut s, b, 2, 0, 3).len()),
        (2, 3),
        "several cursors at once"
    );
    s.reset(false, &mut hardpan_session::NullSink);
    assert_eq!([a, b].map(|h| numbers(&try_fetch(&mut s, h, 2, 0, 2))), [[16909], [16909]]);
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    run(&mut s, "DROP TABLE t");
    assert_eq!(numbers(&try_fetch(&mut s, h, 2, 0, 2)), [16943]);
}

/// The same procedures called by name in T-SQL.
#[test]
fn procedures_by_name() {
    let (_world, mut s) = world("api-names");
    let seen = run(
        &mut s,
        "DECLARE @h int, @p int, @rows int, @scroll int = 1, @cc int = 4; \
         EXEC sp_cursorprepare @p OUTPUT, N'@from int', N'SELECT id FROM t WHERE id > @from', 0; \
         EXEC sp_cursorexecute @p, @h OUTPUT, @scroll OUTPUT, @cc OUTPUT, @rows OUTPUT, 4; \
         EXEC sp_cursorfetch @h; EXEC sp_cursorunprepare @p; EXEC sp_cursorclose @h; SELECT @rows, @scroll, @cc",
    );
    assert_eq!(numbers(&seen), [0; 0], "{:?}", seen.messages);
    let sets: Vec<_> =
        seen.sets.iter().map(|set| set.1.iter().map(|row| row.join("|")).collect::<Vec<_>>()).collect();
    assert_eq!(sets, [vec![], vec!["5|1", "6|1"], vec!["2|1|4"]]);
}

/// A dynamic cursor sees rows that others insert, behind and before its buffer.
#[test]
fn a_dynamic_cursor_sees_inserted_rows() {
    let (world, mut s) = world("api-dynamic");
    let mut other = world.session();
    for query in ["SELECT id FROM t", "SELECT id FROM t ORDER BY id"] {
        let (h, _) = opened(&mut s, query, DYNAMIC, OPTIMISTIC);
        assert_eq!(fetch(&mut s, h, 2, 0, 3), ["1|1", "2|1", "3|1"]);
        run(&mut other, "INSERT t (id) VALUES (0), (7); DELETE t WHERE id IN (3, 4)");
        assert_eq!(fetch(&mut s, h, 2, 0, 3), ["5|1", "6|1", "7|1"]);
        assert_eq!(fetch(&mut s, h, 4, 0, 4), ["0|1", "1|1", "2|1", "5|1"], "one row less before: adjusted");
        assert_eq!(fetch(&mut s, h, 0x20, -1, 2), [""; 0]);
        assert_eq!(fetch(&mut s, h, 8, 0, 2), ["6|1", "7|1"]);
        assert_eq!(numbers(&change(&mut s, h, 4, 0, vec![named("@id", "9")])), [0; 0]);
        assert_eq!(numbers(&change(&mut s, h, 0x22, 2, vec![])), [0; 0]);
        assert_eq!(fetch(&mut s, h, 2, 0, 2), ["9|1"]);
        run(&mut other, "DELETE t WHERE id IN (0, 9); INSERT t (id) VALUES (3), (4)");
    }
}

/// sys.dm_exec_cursors shows cursors of both interfaces, of one session or of all.
#[test]
fn the_view_of_cursors() {
    let (world, mut s) = world("api-view");
    let mut other = world.session();
    let (h, _) = opened(&mut s, ALL, KEYSET, OPTIMISTIC);
    call(&mut s, OPTION, vec![int(h), int(2), text("mine")]);
    fetch(&mut s, h, 0x10, 2, 3);
    run(
        &mut s,
        "DECLARE c CURSOR GLOBAL DYNAMIC READ_ONLY FOR SELECT id FROM t; DECLARE d CURSOR GLOBAL STATIC FOR SELECT 1; OPEN d",
    );
    let (own, others) = (s.id(), other.id());
    let view = |session: &mut Session, of: i16| {
        rows(
            session,
            &format!(
                "SELECT name, properties, is_open, fetch_status, fetch_buffer_size, fetch_buffer_start, ansi_position, is_close_on_commit \
                 FROM sys.dm_exec_cursors({of}) WHERE creation_time <= DATEADD(second, 1, SYSDATETIME()) ORDER BY cursor_id DESC"
            ),
        )
    };
    let wanted = [
        "mine|API | Keyset | Optimistic | Global (0)|1|0|3|2|1|0",
        "d|TSQL | Snapshot | Read Only | Global (0)|1|-9|1|0|0|0",
        "c|TSQL | Dynamic | Read Only | Global (0)|0|-9|1|0|0|0",
    ];
    assert_eq!(view(&mut s, 0), wanted);
    assert_eq!(view(&mut s, own), wanted);
    assert_eq!(view(&mut other, own), wanted);
    assert_eq!(view(&mut other, others), [""; 0]);
    let local = "DECLARE l CURSOR LOCAL FAST_FORWARD FOR SELECT id FROM t OPEN l FETCH l; \
                 SELECT properties, fetch_status, fetch_buffer_start FROM sys.dm_exec_cursors(@@SPID) WHERE name = 'l'";
    let seen = run(&mut other, local);
    assert_eq!(seen.sets[1].1, [["TSQL | Fast_Forward | Read Only | Local (0)", "0", "-1"]]);
    assert_eq!(view(&mut s, others), [""; 0], "it has ended with its batch");
    run(&mut s, "DEALLOCATE c DEALLOCATE d");
    call(&mut s, CLOSE, vec![int(h)]);
    assert_eq!(view(&mut other, 0), [""; 0]);
}
