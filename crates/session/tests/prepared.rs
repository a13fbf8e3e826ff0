//! Prepared statements: their meaning follows changes of the session and its tables; their arguments.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};

use hardpan_session as session;

/// Prepares `text` in the session; gives its handle.
fn prepare(session: &mut session::Session, parameters: &str, text: &str) -> String {
    let text = text.replace('\'', "''");
    let call =
        format!("DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'{parameters}', N'{text}'; SELECT @h AS handle");
    rows(session, &call).remove(0)
}

#[test]
fn a_prepared_statement_means_what_its_text_means_now() {
    let world = World::new("prepared");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE t (c varchar(10)); INSERT t VALUES ('first')");
    let handle = prepare(&mut s, "", "SELECT \"c\" FROM t");
    let execute = format!("EXEC sp_execute {handle}");
    assert_eq!(rows(&mut s, &execute), ["first"]);
    assert_eq!(rows(&mut s, &execute), ["first"]);
    // A string instead of a name, and back.
    assert_eq!(rows(&mut s, &format!("SET QUOTED_IDENTIFIER OFF; {execute}")), ["c"]);
    assert_eq!(rows(&mut s, &format!("SET QUOTED_IDENTIFIER ON; {execute}")), ["first"]);
    // Another database's table of that name, and back.
    run(&mut s, "CREATE DATABASE other");
    run(&mut s, "USE other; CREATE TABLE t (c int); INSERT t VALUES (7)");
    assert_eq!(rows(&mut s, &execute), ["7"]);
    run(&mut s, "USE master");
    assert_eq!(rows(&mut s, &execute), ["first"]);
    // Another table of that name.
    run(&mut s, "DROP TABLE t; CREATE TABLE t (a int, c int)");
    run(&mut s, "INSERT t VALUES (1, 2)");
    assert_eq!(rows(&mut s, &execute), ["2"]);
    run(&mut s, "DROP TABLE t");
    assert_eq!(numbers(&run(&mut s, &execute)), [208]);
    // A session's own tables.
    run(&mut s, "CREATE TABLE #t (c int); INSERT #t VALUES (3)");
    let execute = format!("EXEC sp_execute {}", prepare(&mut s, "", "SELECT * FROM #t"));
    assert_eq!(rows(&mut s, &execute), ["3"]);
    run(&mut s, "DROP TABLE #t; CREATE TABLE #t (a int, b int)");
    run(&mut s, "INSERT #t VALUES (4, 5)");
    assert_eq!(rows(&mut s, &execute), ["4|5"]);
    s.close();
}

#[test]
fn arguments_go_by_position_or_name_and_defaults_fill_in() {
    let world = World::new("prepared_arguments");
    let mut s = world.session();
    let handle = prepare(&mut s, "@a int, @b int = 5", "SELECT @a - @b");
    assert_eq!(rows(&mut s, &format!("EXEC sp_execute {handle}, 7")), ["2"]);
    assert_eq!(rows(&mut s, &format!("EXEC sp_execute {handle}, 7, 3")), ["4"]);
    assert_eq!(rows(&mut s, &format!("EXEC sp_execute {handle}, @b = 1, @A = 3")), ["2"]);
    assert_eq!(rows(&mut s, &format!("EXEC sp_execute {handle}, 7, DEFAULT")), ["2"]);
    for wrong in ["", ", @b = 1", ", 1, 2, 3", ", @a = 1, @c = 2"] {
        assert_eq!(numbers(&run(&mut s, &format!("EXEC sp_execute {handle}{wrong}"))), [8178], "{wrong}");
    }
    let out = "DECLARE @twice int; EXEC sp_executesql N'SET @o = @i * 2', N'@i int, @o int OUTPUT', @o = @twice OUTPUT, @i = 4; SELECT @twice";
    assert_eq!(rows(&mut s, out), ["8"]);
    run(&mut s, &format!("EXEC sp_unprepare {handle}"));
    assert_eq!(numbers(&run(&mut s, &format!("EXEC sp_execute {handle}, 1"))), [8179]);
    s.close();
}

#[test]
fn a_prepared_statement_may_give_up_itself() {
    let world = World::new("prepared_itself");
    let mut s = world.session();
    let handle = prepare(&mut s, "@h int", "EXEC sp_unprepare @h; SELECT @h");
    assert_eq!(rows(&mut s, &format!("EXEC sp_execute {handle}, {handle}")), std::slice::from_ref(&handle));
    assert_eq!(numbers(&run(&mut s, &format!("EXEC sp_execute {handle}, 1"))), [8179]);
    // One that calls itself ends at the limit of nesting.
    let text = "EXEC sp_execute @h, @h";
    let handle = prepare(&mut s, "@h int", text);
    assert_eq!(numbers(&run(&mut s, &format!("EXEC sp_execute {handle}, {handle}"))), [217]);
    s.close();
}

/// Declarations are cached by their text, except for those whose meaning may change.
#[test]
fn the_same_declarations_mean_what_they_mean_now() {
    let world = World::new("prepared_declarations");
    let mut s = world.session();
    let call = |declared: &str, value: &str| {
        let text = "SELECT CAST(SQL_VARIANT_PROPERTY(@v, ''BaseType'') AS varchar(20)), @v";
        format!("EXEC sp_executesql N'{text}', N'{declared}', {value}")
    };
    for _ in 0..2 {
        assert_eq!(rows(&mut s, &call("@v int", "7")), ["int|7"]);
        assert_eq!(rows(&mut s, &call("@v int", "8")), ["int|8"]);
        assert_eq!(rows(&mut s, &call("@v bigint = 5", "DEFAULT")), ["bigint|5"]);
        assert_eq!(rows(&mut s, &call("@v bigint = 5", "6")), ["bigint|6"]);
    }
    for (from, shown) in [("int", "int|3"), ("varchar(5)", "varchar|3"), ("smallint", "smallint|3")] {
        run(&mut s, &format!("CREATE TYPE own FROM {from}"));
        assert_eq!(rows(&mut s, &call("@v own", "3")), [shown]);
        assert_eq!(rows(&mut s, &call("@v own", "3")), [shown]);
        run(&mut s, "DROP TYPE own");
    }
    assert_eq!(numbers(&run(&mut s, &call("@v own", "3"))), [2715]);
    let long = format!("@v int, @w varchar(8000) = ''{}''", "x".repeat(3_000));
    assert_eq!(rows(&mut s, &call(&long, "9")), rows(&mut s, &call(&long, "9")));
    s.close();
}
