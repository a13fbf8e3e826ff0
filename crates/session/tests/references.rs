//! References of modules: `sys.dm_sql_referenced_entities`, `sys.dm_sql_referencing_entities` and the rows of procedures in
//! `sys.sql_expression_dependencies`. Each text is bound again, so the result reflects the current meaning of its names.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// Schema, entity, column, its number, and the use: selected, updated, `*`, INSERT without a list, all columns found, incomplete.
fn referenced(session: &mut Session, name: &str) -> Vec<String> {
    rows(
        session,
        &format!(
            "SELECT referenced_schema_name, referenced_entity_name, referenced_minor_name, referenced_minor_id, is_selected, is_updated, \
             is_select_all, is_insert_all, is_all_columns_found, is_incomplete \
             FROM sys.dm_sql_referenced_entities('{name}', 'OBJECT') ORDER BY referenced_entity_name, referenced_minor_id"
        ),
    )
}

#[test]
fn views_functions_and_procedures_tell_what_they_name() {
    let (_world, mut session) = World::in_database("references");
    for text in [
        "CREATE TABLE t (a int, b int, c int)",
        "CREATE TABLE u (x int, y varchar(10))",
        "CREATE VIEW v AS SELECT t.a, t.b + 1 AS d FROM dbo.t WHERE c > 0",
        "CREATE VIEW w AS SELECT v.d, u.y FROM v JOIN dbo.u ON u.x = v.a",
        "CREATE FUNCTION f(@p int) RETURNS TABLE AS RETURN SELECT * FROM dbo.t WHERE a = @p",
        "CREATE PROCEDURE inner_p AS RETURN 0",
        "CREATE PROCEDURE p @p int AS
         DECLARE @n int = (SELECT MAX(x) FROM dbo.u)
         IF EXISTS (SELECT 1 FROM v WHERE a = @p) INSERT u VALUES (@p, 'a')
         WHILE @n > 0 BEGIN SET @n -= 1 UPDATE q SET b = @n FROM dbo.t AS q WHERE q.a = @p END
         EXEC dbo.inner_p
         EXEC inner_p
         EXEC sp_who",
        "CREATE PROCEDURE broken AS SELECT a FROM dbo.t SELECT none FROM dbo.missing",
    ] {
        let seen = run(&mut session, text);
        assert_eq!(numbers(&seen), [0; 0], "{text}");
    }
    assert_eq!(
        referenced(&mut session, "dbo.v"),
        [
            "dbo|t|NULL|0|1|0|0|0|1|0",
            "dbo|t|a|1|1|0|0|0|1|0",
            "dbo|t|b|2|1|0|0|0|1|0",
            "dbo|t|c|3|1|0|0|0|1|0"
        ]
    );
    assert_eq!(
        referenced(&mut session, "dbo.w"),
        [
            "dbo|u|NULL|0|1|0|0|0|1|0",
            "dbo|u|x|1|1|0|0|0|1|0",
            "dbo|u|y|2|1|0|0|0|1|0",
            "NULL|v|NULL|0|1|0|0|0|1|0",
            "NULL|v|a|1|1|0|0|0|1|0",
            "NULL|v|d|2|1|0|0|0|1|0"
        ]
    );
    assert_eq!(referenced(&mut session, "[dbo].[f]")[0], "dbo|t|NULL|0|1|0|1|0|1|0");
    assert_eq!(
        referenced(&mut session, "dbo.p"),
        [
            "dbo|inner_p|NULL|0|0|0|0|0|1|0",
            "dbo|t|NULL|0|1|1|0|0|1|0",
            "dbo|t|a|1|1|0|0|0|1|0",
            "dbo|t|b|2|0|1|0|0|1|0",
            "dbo|u|NULL|0|1|1|0|1|1|0",
            "dbo|u|x|1|1|0|0|0|1|0",
            "NULL|v|NULL|0|1|0|0|0|1|0",
            "NULL|v|a|1|1|0|0|0|1|0"
        ]
    );
    assert_eq!(
        referenced(&mut session, "dbo.broken"),
        ["dbo|missing|NULL|0|0|0|0|0|0|1", "dbo|t|NULL|0|1|0|0|0|1|0", "dbo|t|a|1|1|0|0|0|1|0"]
    );
    for nothing in ["v", "dbo.none", "dbo.t", "d.dbo.v", ""] {
        assert_eq!(referenced(&mut session, nothing), [""; 0], "{nothing}");
    }
    let referencing = "SELECT referencing_schema_name, referencing_entity_name, is_caller_dependent \
                       FROM sys.dm_sql_referencing_entities('dbo.%', 'OBJECT') ORDER BY referencing_entity_name";
    let mut of = |name: &str| rows(&mut session, &referencing.replace('%', name));
    assert_eq!(of("t"), ["dbo|broken|0", "dbo|f|0", "dbo|p|0", "dbo|v|0"]);
    assert_eq!(of("v"), ["dbo|p|0", "dbo|w|0"]);
    assert_eq!(of("inner_p"), ["dbo|p|0"]);
    assert_eq!(of("w"), [""; 0]);
    assert_eq!(rows(&mut session, &referencing.replace('%', "t").replace("OBJECT", "TYPE")), [""; 0]);
    // The text is bound again: its current references are shown.
    run(&mut session, "DROP TABLE u CREATE TABLE missing (none int)");
    assert_eq!(referenced(&mut session, "dbo.broken")[0], "dbo|missing|NULL|0|1|0|0|0|1|0");
    assert_eq!(referenced(&mut session, "dbo.w")[0], "dbo|u|NULL|0|0|0|0|0|0|1");
    assert_eq!(of_procedures(&mut session), ["inner_p|1", "t|1", "u|0", "v|1"]);
}

/// The rows of a procedure in the catalog view.
fn of_procedures(session: &mut Session) -> Vec<String> {
    rows(
        session,
        "SELECT referenced_entity_name, CASE WHEN referenced_id IS NULL THEN 0 ELSE 1 END FROM sys.sql_expression_dependencies \
         WHERE referencing_id = OBJECT_ID('p') ORDER BY referenced_entity_name",
    )
}

#[test]
fn a_call_without_a_schema_hangs_on_its_caller() {
    let (_world, mut session) = World::in_database("references-called");
    run(&mut session, "CREATE PROCEDURE inner_p AS RETURN 0");
    run(
        &mut session,
        "CREATE PROCEDURE p AS EXEC inner_p MERGE t USING (SELECT 1 AS a) AS s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 2 \
                       WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);",
    );
    run(&mut session, "CREATE TABLE t (a int, b int)");
    assert_eq!(
        rows(
            &mut session,
            "SELECT referenced_entity_name, referenced_id, is_caller_dependent FROM sys.dm_sql_referenced_entities('dbo.p', 'object') \
             WHERE referenced_entity_name = 'inner_p'"
        ),
        ["inner_p|NULL|1"]
    );
    assert_eq!(
        referenced(&mut session, "dbo.p")[1..],
        ["NULL|t|NULL|0|1|1|0|0|1|0", "NULL|t|a|1|1|1|0|0|1|0", "NULL|t|b|2|1|1|0|0|1|0"]
    );
    run(&mut session, "CREATE PROCEDURE q AS UPDATE dbo.t SET b = a DELETE t WHERE b = 1 TRUNCATE TABLE t");
    assert_eq!(
        referenced(&mut session, "dbo.q"),
        ["dbo|t|NULL|0|1|1|0|0|1|0", "dbo|t|a|1|1|0|0|0|1|0", "dbo|t|b|2|1|1|0|0|1|0"]
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT referencing_entity_name, is_caller_dependent FROM sys.dm_sql_referencing_entities('dbo.inner_p', 'OBJECT')"
        ),
        ["p|1"]
    );
}
