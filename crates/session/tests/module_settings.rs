//! Modules run under the QUOTED_IDENTIFIER and ANSI_NULLS of their creation (documentation of CREATE PROCEDURE), in whichever
//! session and by whichever statement they are called.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const OFF: &str = "SET QUOTED_IDENTIFIER OFF SET ANSI_NULLS OFF";
const ON: &str = "SET QUOTED_IDENTIFIER ON SET ANSI_NULLS ON";

/// A table with a NULL, and procedures, views and functions of both kinds, whose results show their settings.
fn world_of_modules(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    run(&mut session, "CREATE TABLE t (a int, [x y] varchar(9)) INSERT t VALUES (1, 'col'), (NULL, 'col')");
    for (setting, suffix) in [(OFF, "off"), (ON, "on")] {
        run(&mut session, setting);
        run(
            &mut session,
            &format!(
                "CREATE VIEW v_{suffix} AS SELECT COUNT(*) AS n, MAX(\"x y\") AS q FROM t WHERE a = NULL"
            ),
        );
        run(
            &mut session,
            &format!(
                "CREATE FUNCTION f_{suffix} (@v int) RETURNS TABLE AS RETURN SELECT COUNT(*) AS n, MAX(\"x y\") AS q FROM t WHERE a = NULL"
            ),
        );
        run(
            &mut session,
            &format!(
                "CREATE PROCEDURE p_{suffix} @v int = NULL AS SELECT COUNT(*) AS n, MAX(\"x y\") AS q FROM t WHERE a = @v"
            ),
        );
        run(&mut session, &format!("CREATE PROCEDURE outer_{suffix} AS EXEC p_{suffix}"));
    }
    (world, session)
}

/// The results: under OFF the NULL row, and `"x y"` is text.
fn expected(suffix: &str) -> &'static str {
    if suffix == "off" { "1|x y" } else { "0|NULL" }
}

/// Every way to call a module, from a session of either setting.
#[test]
fn a_module_runs_under_its_own_settings() {
    let (_world, mut session) = world_of_modules("modules-entries");
    for setting in [OFF, ON] {
        run(&mut session, setting);
        for suffix in ["off", "on"] {
            for text in [
                format!("SELECT n, q FROM v_{suffix}"),
                format!("SELECT n, q FROM f_{suffix}(5)"),
                format!("SELECT * FROM (SELECT * FROM v_{suffix}) AS d"),
                format!("WITH c AS (SELECT * FROM f_{suffix}(1)) SELECT * FROM c"),
                format!("EXEC p_{suffix}"),
                format!("EXEC outer_{suffix}"),
                format!("DECLARE @p sysname = 'p_{suffix}' EXEC @p"),
                format!("EXEC('EXEC p_{suffix}')"),
                format!("EXEC sp_executesql N'EXEC p_{suffix}'"),
                format!(
                    "DECLARE @r TABLE (n int, q varchar(9)) INSERT @r EXEC p_{suffix} SELECT n, q FROM @r"
                ),
            ] {
                assert_eq!(rows(&mut session, &text), [expected(suffix)], "{setting}: {text}");
            }
        }
        // The session's own have not changed.
        let own = if setting == OFF { "x y|1" } else { "col|0" };
        let seen =
            run(&mut session, "SELECT TOP (1) \"x y\", (SELECT COUNT(*) FROM t WHERE a = NULL) FROM t");
        assert_eq!(seen.sets[0].1[0].join("|"), own, "{setting}");
    }
    session.close();
}

/// A view of one setting over a view of the other: each keeps its own.
#[test]
fn nested_views_keep_their_own() {
    let (_world, mut session) = world_of_modules("modules-nested");
    run(&mut session, ON);
    run(
        &mut session,
        "CREATE VIEW w_on AS SELECT v.n, v.q, (SELECT COUNT(*) FROM t WHERE a = NULL) AS own FROM v_off AS v",
    );
    run(&mut session, OFF);
    run(
        &mut session,
        "CREATE VIEW w_off AS SELECT v.n, v.q, (SELECT COUNT(*) FROM t WHERE a = NULL) AS own FROM v_on AS v",
    );
    for setting in [OFF, ON] {
        run(&mut session, setting);
        assert_eq!(rows(&mut session, "SELECT * FROM w_on"), ["1|x y|0"]);
        assert_eq!(rows(&mut session, "SELECT * FROM w_off"), ["0|NULL|1"]);
    }
    session.close();
}

/// The views and functions that show the settings; ALTER stores those of the altering session, a rename changes nothing.
#[test]
fn altering_takes_the_new_settings() {
    let (_world, mut session) = world_of_modules("modules-alter");
    let told = |session: &mut Session, name: &str| {
        rows(
            session,
            &format!(
                "SELECT uses_quoted_identifier, uses_ansi_nulls, OBJECTPROPERTY(object_id, 'ExecIsQuotedIdentOn'), \
                 OBJECTPROPERTY(object_id, 'ExecIsAnsiNullsOn') FROM sys.sql_modules WHERE object_id = OBJECT_ID('{name}')"
            ),
        )
        .join(";")
    };
    for kind in ["v", "f", "p"] {
        assert_eq!(told(&mut session, &format!("{kind}_off")), "0|0|0|0");
        assert_eq!(told(&mut session, &format!("{kind}_on")), "1|1|1|1");
    }
    run(&mut session, ON);
    run(&mut session, "EXEC sp_rename 'p_off', 'p_old'");
    assert_eq!(told(&mut session, "p_old"), "0|0|0|0");
    run(&mut session, "ALTER VIEW v_off AS SELECT COUNT(*) AS n, MAX(\"x y\") AS q FROM t WHERE a = NULL");
    assert_eq!(told(&mut session, "v_off"), "1|1|1|1");
    assert_eq!(rows(&mut session, "SELECT * FROM v_off"), ["0|NULL"]);
    run(&mut session, OFF);
    run(&mut session, "CREATE OR ALTER PROCEDURE p_on AS SELECT COUNT(*), \"x y\" FROM t WHERE a = NULL");
    assert_eq!(told(&mut session, "p_on"), "0|0|0|0");
    run(&mut session, ON);
    assert_eq!(rows(&mut session, "EXEC p_on"), ["1|x y"]);
    session.close();
}

/// SET of the two inside a procedure is accepted without effect, also by SET ANSI_DEFAULTS; dynamic text inside begins with the
/// procedure's setting and may change it for itself (documentation of SET QUOTED_IDENTIFIER).
#[test]
fn a_procedure_cannot_change_them_for_itself() {
    let (_world, mut session) = world_of_modules("modules-set");
    let count = "SELECT COUNT(*), \"x y\" FROM t WHERE a = NULL";
    run(&mut session, OFF);
    run(
        &mut session,
        &format!(
            "CREATE PROCEDURE tries AS SET QUOTED_IDENTIFIER ON SET ANSI_NULLS ON {count} SET ANSI_DEFAULTS ON {count}"
        ),
    );
    run(
        &mut session,
        &format!("CREATE PROCEDURE dynamic AS EXEC('{count}') EXEC('SET ANSI_NULLS ON {count}') {count}"),
    );
    run(&mut session, ON);
    let seen = run(
        &mut session,
        "EXEC tries SELECT SESSIONPROPERTY('QUOTED_IDENTIFIER'), SESSIONPROPERTY('ANSI_NULLS')",
    );
    let found: Vec<String> = seen.sets.iter().map(|set| set.1[0].join("|")).collect();
    assert_eq!(found, ["1|x y", "1|x y", "1|1"], "{:?}", seen.messages);
    let seen = run(&mut session, "EXEC dynamic");
    let found: Vec<String> = seen.sets.iter().map(|set| set.1[0].join("|")).collect();
    assert_eq!(found, ["1|x y", "0|x y", "1|x y"], "{:?}", seen.messages);
    // The system's own procedures run as they were written.
    let [off, on] = [OFF, ON].map(|setting| {
        run(&mut session, setting);
        let seen = run(&mut session, "EXEC sp_help 't'");
        (numbers(&seen), seen.sets)
    });
    assert!(off.1.len() > 2, "{off:?}");
    assert_eq!(off, on);
    session.close();
}

/// Texts stored for a table keep the meaning they had at its creation: double quotes, and comparisons with NULL.
#[test]
fn texts_of_a_table_mean_what_they_meant() {
    let world = World::new("modules-tables");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    let table = |name: &str, text: &str| {
        format!(
            "CREATE TABLE {name} (a int, b varchar(9) DEFAULT {text}, c AS CASE WHEN a = NULL THEN {text} ELSE 'not' END, \
             CONSTRAINT ck_{name} CHECK (a <> 5 AND b <> {text} + 'x' OR a = NULL))"
        )
    };
    run(&mut session, OFF);
    run(&mut session, &table("t_off", "\"it's\""));
    run(&mut session, ON);
    run(&mut session, &table("t_on", "'it''s'"));
    run(&mut session, "ALTER TABLE t_off ADD d AS CASE WHEN a = NULL THEN 1 ELSE 0 END PERSISTED");
    run(&mut session, "CREATE TABLE quoted (\"a b\" int, c AS \"a b\" + 1, CHECK (\"a b\" > 0))");
    for setting in [OFF, ON] {
        run(&mut session, setting);
        for name in ["t_off", "t_on", "quoted"] {
            run(&mut session, &format!("DELETE {name}"));
        }
        run(
            &mut session,
            "INSERT t_off (a) VALUES (NULL), (1) INSERT t_on (a) VALUES (NULL), (1) INSERT quoted VALUES (1)",
        );
        assert_eq!(
            rows(&mut session, "SELECT a, b, c, d FROM t_off ORDER BY a"),
            ["NULL|it's|it's|1", "1|it's|not|0"]
        );
        assert_eq!(
            rows(&mut session, "SELECT a, b, c FROM t_on ORDER BY a"),
            ["NULL|it's|not", "1|it's|not"]
        );
        assert_eq!(rows(&mut session, "SELECT c FROM quoted"), ["2"]);
        assert_eq!(numbers(&run(&mut session, "INSERT t_off (a, b) VALUES (1, 'it''sx')"))[0], 547);
        assert_eq!(numbers(&run(&mut session, "INSERT quoted VALUES (0)"))[0], 547);
    }
    assert_eq!(
        rows(
            &mut session,
            "SELECT name, uses_ansi_nulls, OBJECTPROPERTY(object_id, 'IsAnsiNullsOn') FROM sys.tables ORDER BY name"
        ),
        ["quoted|1|1", "t_off|0|0", "t_on|1|1"]
    );
    session.close();
}

/// All this survives a restart: it is stored in the catalog.
#[test]
fn a_restart_forgets_no_setting() {
    let (mut world, session) = world_of_modules("modules-restart");
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE db");
    assert_eq!(rows(&mut session, "EXEC p_off"), ["1|x y"]);
    assert_eq!(rows(&mut session, "SELECT * FROM v_off"), ["1|x y"]);
    assert_eq!(rows(&mut session, "SELECT * FROM f_on(1)"), ["0|NULL"]);
    session.close();
}

/// SET ANSI_NULLS: a literal NULL and a variable that is NULL, on either side; columns are compared as ever.
#[test]
fn ansi_nulls_off_compares_literals_and_variables() {
    let (_world, mut session) = world_of_modules("modules-compare");
    run(&mut session, OFF);
    run(
        &mut session,
        "CREATE TABLE u (a int, b int) INSERT u VALUES (1, 1), (NULL, NULL), (NULL, 2), (3, NULL)",
    );
    for (predicate, expected) in [
        ("a = NULL", 2),
        ("NULL = a", 2),
        ("a <> NULL", 2),
        ("a != NULL", 2),
        ("a = @n", 2),
        ("@n = a", 2),
        ("a <> @n", 2),
        ("a = @one", 1),
        ("a <> @one", 1),
        ("NOT (a = @n)", 2),
        ("NOT (a <> @n)", 2),
        ("@n = @n", 4),
        ("@n <> @n", 0),
        ("@n = @one", 0),
        ("@n <> @one", 4),
        ("a = b", 1),
        ("a > @n", 0),
    ] {
        let text = format!("DECLARE @n int, @one int = 1 SELECT COUNT(*) FROM u WHERE {predicate}");
        assert_eq!(rows(&mut session, &text), [expected.to_string()], "{predicate}");
    }
    session.close();
}
