//! The program cache in views: figures match the executions, handles return text and plan; and the system procedures in
//! the catalog.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

const STATS: &str = "SELECT q.execution_count, q.total_rows, q.min_rows, q.max_rows, q.last_rows,
        SUBSTRING(t.text, q.statement_start_offset / 2 + 1, (q.statement_end_offset - q.statement_start_offset) / 2 + 1)
    FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t";

#[test]
fn query_stats_count_executions_and_rows_of_each_statement() {
    let world = World::new("cached-plans");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int)");
    let text = "/* ünï𝄞 */ INSERT t SELECT 1 UNION ALL SELECT 2; SELECT i FROM t WHERE i = 1";
    (0..3).for_each(|_| drop(run(&mut session, text)));
    let found = rows(
        &mut session,
        &format!("{STATS} WHERE t.text LIKE N'/* ünï%' ORDER BY q.statement_start_offset"),
    );
    assert_eq!(
        found,
        ["3|6|2|2|2|INSERT t SELECT 1 UNION ALL SELECT 2", "3|6|1|3|3|SELECT i FROM t WHERE i = 1"]
    );
    // One that fails is not counted; a loop counts its rounds.
    run(&mut session, "SELECT 1 / 0 AS failing");
    assert!(rows(&mut session, &format!("{STATS} WHERE t.text LIKE '%AS fail' + 'ing'")).is_empty());
    run(
        &mut session,
        "DECLARE @n int = 0 WHILE @n < 5 BEGIN UPDATE t SET i = i WHERE i = @n SET @n += 1 END",
    );
    let found = rows(&mut session, &format!("{STATS} WHERE t.text LIKE 'DECLARE @n int = 0 WHILE%'"));
    assert_eq!(found, ["5|6|0|3|0|UPDATE t SET i = i WHERE i = @n"]);
    // Another session's runs of the same text are counted with these.
    run(&mut world.session(), text);
    let counted = "SELECT MAX(q.execution_count) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.plan_handle) t
                   WHERE t.text LIKE N'/* ünï%'";
    assert_eq!(rows(&mut session, counted), ["4"]);
}

#[test]
fn times_are_measured_without_waits_and_a_new_plan_is_a_new_generation() {
    let world = World::new("cached-plans-times");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int) INSERT t VALUES (1)");
    let text = "SELECT COUNT(*) AS timed FROM t";
    run(&mut session, text);
    let figures = "SELECT CASE WHEN total_elapsed_time >= total_worker_time AND max_elapsed_time >= min_elapsed_time
                AND total_elapsed_time >= max_elapsed_time AND last_execution_time >= creation_time AND DATEDIFF(minute, creation_time, SYSUTCDATETIME()) < 2
                THEN 'sound' ELSE 'off' END, plan_generation_num
            FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t WHERE t.text LIKE 'SELECT COUNT(*) AS ti' + 'med%'";
    assert_eq!(rows(&mut session, figures), ["sound|1"]);
    run(&mut session, "ALTER TABLE t ADD j int");
    run(&mut session, text);
    assert_eq!(rows(&mut session, figures), ["sound|2"]);
}

#[test]
fn cached_plans_tell_kind_and_uses_and_lead_to_the_plan() {
    let (_world, mut session) = World::in_database("cached-plans-kinds");
    run(&mut session, "CREATE TABLE t (i int PRIMARY KEY)");
    run(&mut session, "CREATE PROCEDURE p @i int AS SELECT i FROM t WHERE i = @i");
    run(&mut session, "EXEC p 1 EXEC p 2");
    run(&mut session, "EXEC sp_executesql N'SELECT i AS prepared FROM t WHERE i > @a', N'@a int', 1");
    let of = |like: &str| {
        format!(
            "SELECT c.objtype, c.usecounts, c.cacheobjtype, DB_NAME(t.dbid), OBJECT_NAME(t.objectid, t.dbid)
             FROM sys.dm_exec_cached_plans c CROSS APPLY sys.dm_exec_sql_text(c.plan_handle) t WHERE t.text LIKE '{like}' AND t.text NOT LIKE '%cacheobjtype%'
             AND (c.objtype <> 'Adhoc' OR t.text NOT LIKE 'CREATE%')"
        )
    };
    assert_eq!(rows(&mut session, &of("CREATE PROCEDURE p%")), ["Proc|2|Compiled Plan|d|p"]);
    assert_eq!(rows(&mut session, &of("SELECT i AS prep%")), ["Prepared|1|Compiled Plan|d|NULL"]);
    assert_eq!(rows(&mut session, &of("EXEC p 1%")), ["Adhoc|1|Compiled Plan|d|NULL"]);
    let plan = "SELECT CAST(q.query_plan AS nvarchar(max)) FROM sys.dm_exec_cached_plans c
                CROSS APPLY sys.dm_exec_sql_text(c.plan_handle) t CROSS APPLY sys.dm_exec_query_plan(c.plan_handle) q
                WHERE t.text LIKE 'CREATE PROCEDURE p%' AND c.objtype = 'Proc'";
    let document = rows(&mut session, plan).remove(0);
    assert!(document.contains("ShowPlanXML") && document.contains("Clustered Index Seek"), "{document}");
    assert!(rows(&mut session, "SELECT text FROM sys.dm_exec_sql_text(0x0200000000)").is_empty());
    let attribute = "SELECT CAST(a.value AS int) FROM sys.dm_exec_cached_plans c CROSS APPLY sys.dm_exec_plan_attributes(c.plan_handle) a
                     CROSS APPLY sys.dm_exec_sql_text(c.plan_handle) t WHERE t.text LIKE 'CREATE PROCEDURE p%' AND c.objtype = 'Proc' AND a.attribute = 'dbid'";
    assert_eq!(rows(&mut session, attribute), rows(&mut session, "SELECT DB_ID()"));
    run(&mut session, "DBCC FREEPROCCACHE");
    assert!(rows(&mut session, &of("CREATE PROCEDURE p%")).is_empty());
}

#[test]
fn the_servers_procedures_are_in_the_catalog() {
    let world = World::new("system-procedures");
    let mut session = world.session();
    let found = "SELECT name, type_desc, is_ms_shipped, SCHEMA_NAME(schema_id) FROM sys.all_objects
                 WHERE name IN ('sp_help', 'sp_executesql', 'sp_configure', 'dm_exec_sql_text') ORDER BY name";
    assert_eq!(
        rows(&mut session, found),
        [
            "dm_exec_sql_text|SQL_INLINE_TABLE_VALUED_FUNCTION|1|sys",
            "sp_configure|SQL_STORED_PROCEDURE|1|sys",
            "sp_executesql|EXTENDED_STORED_PROCEDURE|1|sys",
            "sp_help|SQL_STORED_PROCEDURE|1|sys"
        ]
    );
    let text = "SELECT LEFT(m.definition, 28) FROM sys.system_sql_modules m JOIN sys.system_objects o ON o.object_id = m.object_id WHERE o.name = 'sp_who'";
    assert_eq!(rows(&mut session, text), ["CREATE PROCEDURE sys.sp_who "]);
    // No id denotes two objects, and no id of the server's own objects denotes a user's.
    assert!(
        rows(&mut session, "SELECT object_id FROM sys.all_objects GROUP BY object_id HAVING COUNT(*) > 1")
            .is_empty()
    );
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.objects WHERE name LIKE 'sp[_]%'"), ["0"]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.system_views WHERE type = 'P'"), ["0"]);
}

#[test]
fn trifles_that_frameworks_met() {
    let world = World::new("framework-trifles");
    let mut session = world.session();
    // Columns are called as the query writes them.
    let seen = run(&mut session, "SELECT NAME, Database_ID AS d, S.NAME FROM sys.databases AS s WHERE 1 = 0");
    assert_eq!(seen.sets[0].0, ["NAME", "d", "NAME"]);
    run(&mut session, "CREATE TABLE dbo.t (Id int IDENTITY, v nvarchar(10), r rowversion)");
    assert_eq!(
        run(&mut session, "INSERT t (v) OUTPUT inserted.ID, INSERTED.V VALUES ('a')").sets[0].0,
        ["ID", "V"]
    );
    assert_eq!(run(&mut session, "SELECT $IDENTITY, t.* FROM t").sets[0].0, ["Id", "Id", "v", "r"]);
    // Full names of catalog views qualify their columns; an alias hides them.
    let full = "SELECT tempdb.sys.columns.name FROM tempdb.sys.columns JOIN tempdb.sys.types ON tempdb.sys.types.user_type_id = tempdb.sys.columns.user_type_id WHERE 1 = 0";
    assert!(rows(&mut session, full).is_empty());
    assert!(rows(&mut session, "SELECT master.INFORMATION_SCHEMA.TABLES.TABLE_NAME FROM master.INFORMATION_SCHEMA.TABLES WHERE 1 = 0").is_empty());
    assert_eq!(numbers(&run(&mut session, "SELECT tempdb.sys.columns.name FROM master.sys.columns")), [4104]);
    assert_eq!(numbers(&run(&mut session, "SELECT sys.c.name FROM sys.columns AS c")), [4104]);
    // sql_variant to the large types.
    run(&mut session, "EXEC sp_addextendedproperty 'MS_Description', N'told', 'SCHEMA', 'dbo', 'TABLE', 't'");
    let comment = "SELECT CAST(value AS nvarchar(max)), CAST(value AS varchar(max)), CONVERT(varbinary(max), value) FROM sys.extended_properties";
    assert_eq!(
        rows(&mut session, comment),
        ["told|told|0x74006F006C006400"].map(|row| row.replace("0x74006F006C006400", "told"))
    );
    assert_eq!(numbers(&run(&mut session, "SELECT CAST(value AS text) FROM sys.extended_properties")), [529]);
    // The least bigint as a seed.
    run(
        &mut session,
        "CREATE TABLE low (i bigint IDENTITY(-9223372036854775808, 1), v int) INSERT low (v) VALUES (1), (2)",
    );
    assert_eq!(rows(&mut session, "SELECT i FROM low"), ["-9223372036854775808", "-9223372036854775807"]);
    assert_eq!(
        numbers(&run(&mut session, "CREATE TABLE high (i bigint IDENTITY(9223372036854775808, 1))")),
        [2752]
    );
    let seen = run(&mut session, "INSERT t (r) VALUES (0x01)");
    assert!(
        seen.messages[0].2.contains("Cannot insert an explicit value into a timestamp column"),
        "{:?}",
        seen.messages
    );
    let collation = "SELECT description FROM fn_helpcollations() WHERE name = 'Latin1_General_CI_AS'";
    assert!(rows(&mut session, collation)[0].contains("case-insensitive, accent-sensitive"));
    assert_eq!(
        rows(
            &mut session,
            "SELECT RIGHT(CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(400)), 1)"
        ),
        ["/"]
    );
}

/// READPAST on a catalog view skips rows that other transactions are changing.
#[test]
fn readpast_on_a_catalog_view_does_not_wait() {
    let world = World::new("readpast-catalog");
    let (mut one, mut other) = (world.session(), world.session());
    run(&mut one, "CREATE TABLE stays (i int) CREATE TABLE goes (i int)");
    run(&mut one, "BEGIN TRAN CREATE TABLE comes (i int) DROP TABLE goes");
    run(&mut other, "SET LOCK_TIMEOUT 0");
    let tables = "SELECT name FROM sys.tables";
    assert_eq!(rows(&mut other, &format!("{tables} WITH (READPAST)")), ["stays"]);
    assert_eq!(numbers(&run(&mut other, tables)), [1222]);
    run(&mut one, "ROLLBACK");
    assert_eq!(rows(&mut other, &format!("{tables} WITH (READPAST) ORDER BY name")), ["goes", "stays"]);
}

/// A number that float does not have is refused as a parameter.
#[test]
fn infinity_is_no_float() {
    use hardpan_session::{RpcCall, RpcParameter, RpcTarget};
    use types::{SqlType, Value};
    let world = World::new("infinity");
    let mut session = world.session();
    let text = |text: &str| (SqlType::NVARCHAR_MAX, Value::nvarchar(text));
    for (sql_type, value) in [
        (SqlType::Float, Value::Float(f64::INFINITY)),
        (SqlType::Float, Value::Float(f64::NAN)),
        (SqlType::Real, Value::Real(f32::NEG_INFINITY)),
    ] {
        let parameters = [text("SELECT @p AS p"), text("@p float"), (sql_type, value)];
        let parameters = parameters.into_iter().map(|(sql_type, value)| RpcParameter {
            name: String::new(),
            sql_type,
            value,
            output: false,
            default: false,
            table: None,
        });
        let call =
            RpcCall { target: RpcTarget::Number(10), parameters: parameters.collect(), no_metadata: false };
        let mut seen = crate::common::Seen::default();
        session.execute_rpc(call, &mut seen);
        assert_eq!(numbers(&seen), [8023]);
        assert!(seen.sets.is_empty() && seen.messages[0].2.contains("Parameter 3"), "{:?}", seen.messages);
    }
}

/// Statements that differ only in literals have one query hash, equivalent plans have one plan hash; in the query store, too.
#[test]
fn statements_and_plans_have_numbers_without_their_literals() {
    let (_world, mut session) = World::in_database("cached-plans-hashes");
    run(
        &mut session,
        "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int, k int) CREATE INDEX ij ON t (j) INSERT t SELECT number, number, number FROM master..spt_values
         WHERE type = 'P' ALTER DATABASE CURRENT SET QUERY_STORE = ON",
    );
    let texts = [
        "SELECT j FROM t WHERE i = 1",
        "select  J from T where I = 1700",
        "SELECT i FROM t WHERE i = 1",
        "SELECT i FROM t WHERE j = 5",
    ];
    texts.iter().for_each(|text| drop(run(&mut session, text)));
    let hashes = |session: &mut _, text: &str| -> Vec<String> {
        let cached = format!(
            "SELECT CONVERT(varchar(20), q.query_hash, 1), CONVERT(varchar(20), q.query_plan_hash, 1) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t
             WHERE CAST(t.text AS varbinary(max)) = CAST(N'{text}' AS varbinary(max))"
        );
        let stored = format!(
            "SELECT CONVERT(varchar(20), q.query_hash, 1), CONVERT(varchar(20), p.query_plan_hash, 1) FROM sys.query_store_query q JOIN sys.query_store_query_text t ON q.query_text_id = t.query_text_id
             JOIN sys.query_store_plan p ON p.query_id = q.query_id WHERE CAST(t.query_sql_text AS varbinary(max)) = CAST(N'{text}' AS varbinary(max))"
        );
        let found = rows(session, &cached);
        assert_eq!(found.len(), 1, "{text}");
        let (one, plan) = found[0].split_once('|').unwrap();
        assert!(one.len() == 18 && plan.len() == 18, "{text}: {found:?}");
        assert_eq!(rows(session, &stored), found, "{text}");
        vec![one.to_owned(), plan.to_owned()]
    };
    let found: Vec<Vec<String>> = texts.iter().map(|text| hashes(&mut session, text)).collect();
    assert_eq!(found[0], found[1], "they differ in a literal, blanks and case");
    assert_ne!(found[0][0], found[2][0]);
    assert_eq!(found[0][1], found[2][1], "another column of the same seek");
    assert_ne!(found[2][0], found[3][0]);
    assert_ne!(found[2][1], found[3][1], "another index");
    session.close();
}
