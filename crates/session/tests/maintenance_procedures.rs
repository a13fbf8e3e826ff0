//! Procedures that maintenance scripts and migrations call: recompilation of plans and modules, loops over tables and databases, and those
//! refused by name.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

fn counted(session: &mut hardpan_session::Session, counter: &str) -> i64 {
    let text = format!(
        "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = '{counter}' AND object_name LIKE '%SQL Statistics%'"
    );
    rows(session, &text)[0].parse().unwrap()
}

/// A procedure is compiled once, and once more after sp_recompile of it, of its table or of its view; not after that of another.
#[test]
fn sp_recompile_makes_plans_anew() {
    let (_world, mut session) = World::in_database("recompile");
    run(&mut session, "CREATE TABLE t (a int); INSERT t VALUES (1)");
    run(&mut session, "CREATE VIEW v AS SELECT a FROM t");
    run(&mut session, "CREATE PROCEDURE p AS SELECT a FROM v");
    run(&mut session, "CREATE PROCEDURE other AS SELECT a FROM t");
    let mut compiled_by = |text: &str| {
        assert_eq!(run(&mut session, "EXEC p").sets[0].1, [["1"]]);
        let seen = run(&mut session, text);
        assert_eq!(numbers(&seen), [15070], "{text}");
        // The counter's text is compiled before it is read.
        counted(&mut session, "SQL Compilations/sec");
        let before = counted(&mut session, "SQL Compilations/sec");
        assert_eq!(run(&mut session, "EXEC p").sets[0].1, [["1"]]);
        counted(&mut session, "SQL Compilations/sec") - before
    };
    assert_eq!(compiled_by("EXEC sp_recompile 'other'"), 0);
    assert!(compiled_by("EXEC sp_recompile 'dbo.p'") > 0);
    assert_eq!(compiled_by("EXEC sp_recompile N'other'"), 0, "it is compiled and stays");
    assert!(compiled_by("EXEC sp_recompile @objname = '[dbo].[t]'") > 0);
    assert!(compiled_by("EXEC sys.sp_recompile 'v'") > 0);
    for (text, number) in [
        ("EXEC sp_recompile 'missing'", 15165),
        ("EXEC sp_recompile 'other_database.dbo.t'", 15165),
        ("EXEC sp_recompile", 201),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [number], "{text}");
    }
}

/// A view or function is bound again: the objects it names may have been dropped or replaced.
#[test]
fn modules_are_bound_anew() {
    let (_world, mut session) = World::in_database("refresh");
    run(&mut session, "CREATE TABLE t (a int, b int)");
    run(&mut session, "CREATE VIEW every AS SELECT * FROM t");
    run(&mut session, "CREATE VIEW named AS SELECT b FROM t");
    run(&mut session, "CREATE FUNCTION f (@x int) RETURNS TABLE AS RETURN SELECT b FROM t WHERE a = @x");
    run(&mut session, "CREATE PROCEDURE p AS SELECT b FROM t");
    run(&mut session, "ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD c int");
    for (text, expected) in [
        ("EXEC sp_refreshview 'every'", None),
        ("EXEC sp_refreshsqlmodule 'dbo.every'", None),
        ("EXEC sp_refreshsqlmodule 'p', 'OBJECT'", None),
        ("EXEC sp_refreshview 'named'", Some(207)),
        ("EXEC sp_refreshsqlmodule 'f'", Some(207)),
        ("EXEC sp_refreshview 'p'", Some(15165)),
        ("EXEC sp_refreshview 't'", Some(15165)),
        ("EXEC sp_refreshsqlmodule 't'", Some(15165)),
        ("EXEC sp_refreshsqlmodule 'p', 'DATABASE_DDL_TRIGGER'", Some(15165)),
        ("EXEC sp_refreshview", Some(201)),
    ] {
        assert_eq!(numbers(&run(&mut session, text)).first().copied(), expected, "{text}");
    }
    let columns = "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('every') ORDER BY column_id";
    assert_eq!(rows(&mut session, columns), ["a", "c"]);
}

#[test]
fn what_depends_on_what() {
    let (_world, mut session) = World::in_database("depends");
    run(&mut session, "CREATE TABLE t (a int, b int); CREATE TABLE lone (a int)");
    run(&mut session, "CREATE VIEW v AS SELECT a FROM t");
    let seen = run(&mut session, "EXEC sp_depends 'v'");
    assert_eq!(
        (numbers(&seen), &seen.sets[0].1),
        (vec![15459], &vec![["dbo.t", "user table", "no", "yes", "a"].map(String::from).to_vec()])
    );
    let seen = run(&mut session, "EXEC sp_depends 'dbo.t'");
    assert_eq!(
        (numbers(&seen), &seen.sets[0].1),
        (vec![15460], &vec![["dbo.v", "view"].map(String::from).to_vec()])
    );
    assert_eq!(numbers(&run(&mut session, "EXEC sp_depends 'lone'")), [15461]);
    assert_eq!(numbers(&run(&mut session, "EXEC sp_depends 'missing'")), [15009]);
}

#[test]
fn each_table_and_each_database() {
    let (_world, mut session) = World::in_database("each");
    run(&mut session, "CREATE TABLE one (a int); CREATE TABLE [t w]]o] (a int); INSERT [t w]]o] VALUES (1)");
    run(&mut session, "CREATE TABLE seen (place int IDENTITY, name nvarchar(300), held int)");
    run(
        &mut session,
        "EXEC sp_MSforeachtable 'INSERT seen SELECT ''?'', COUNT(*) FROM ?', @whereand = ' AND o.name <> ''seen'''",
    );
    assert_eq!(
        rows(&mut session, "SELECT name, held FROM seen ORDER BY name"),
        ["[dbo].[one]|0", "[dbo].[t w]]o]|1"]
    );
    run(&mut session, "TRUNCATE TABLE seen; EXEC sys.sp_MSforeachtable @command1 = 'IF ''#'' LIKE ''%one%'' DELETE seen', @replacechar = '#',
        @command2 = 'INSERT seen VALUES (''#'', 2)', @precommand = 'INSERT seen VALUES (''before'', 0)', @postcommand = 'INSERT seen VALUES (''after'', 9)'");
    assert_eq!(
        rows(&mut session, "SELECT COUNT(*), MAX(held) FROM seen WHERE name IN ('after', '[dbo].[t w]]o]')"),
        ["2|9"]
    );
    let database = rows(&mut session, "SELECT DB_NAME()").concat();
    run(
        &mut session,
        &format!("EXEC sp_MSforeachdb 'USE [?]; INSERT {database}.dbo.seen VALUES (DB_NAME(), 7)'"),
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT COUNT(*) FROM seen WHERE held = 7 AND name IN (SELECT name FROM sys.databases)"
        ),
        rows(&mut session, "SELECT COUNT(*) FROM sys.databases")
    );
    assert_eq!(rows(&mut session, "SELECT DB_NAME()").concat(), database);
    run(&mut session, "CREATE DATABASE old_name; EXEC sp_renamedb 'old_name', 'new name'");
    assert_eq!(rows(&mut session, "SELECT DB_ID('old_name'), SIGN(DB_ID('new name'))"), ["NULL|1"]);
    assert_eq!(numbers(&run(&mut session, "EXEC sp_renamedb 'missing', 'x'")), [15010]);
}

/// A .NET client's query to derive a command's parameters.
#[test]
fn parameters_for_dot_net() {
    let (_world, mut session) = World::in_database("derive");
    run(
        &mut session,
        "CREATE PROCEDURE p @a int, @b nvarchar(20) = N'x', @c decimal(9, 2) OUTPUT, @d varchar(max), @e datetime2(3) AS RETURN",
    );
    let seen = run(
        &mut session,
        "EXEC sys.sp_procedure_params_100_managed @procedure_name = N'p', @procedure_schema = N'dbo'",
    );
    let (names, rows) = &seen.sets[0];
    let column = |name: &str| names.iter().position(|one| one == name).unwrap();
    let wanted = [
        "PARAMETER_NAME",
        "PARAMETER_TYPE",
        "MANAGED_DATA_TYPE",
        "CHARACTER_MAXIMUM_LENGTH",
        "NUMERIC_PRECISION",
        "NUMERIC_SCALE",
        "TYPE_NAME",
        "SS_DATETIME_PRECISION",
    ]
    .map(column);
    let shown: Vec<String> = rows.iter().map(|row| wanted.map(|at| row[at].clone()).join("|")).collect();
    assert_eq!(
        shown,
        [
            "@RETURN_VALUE|4|8|NULL|10|NULL|int|NULL",
            "@a|1|8|NULL|10|NULL|int|NULL",
            "@b|1|12|20|NULL|NULL|nvarchar|NULL",
            "@c|2|5|NULL|9|2|decimal|NULL",
            "@d|1|22|0|NULL|NULL|varchar|NULL",
            "@e|1|33|NULL|NULL|NULL|datetime2|3",
        ]
    );
}

/// Unsupported procedures are refused by name, not as unknown ones; an option that is off already can be switched off.
#[test]
fn refused_by_name() {
    let (_world, mut session) = World::in_database("refused-procedures");
    run(&mut session, "CREATE TABLE t (a int)");
    for name in ["sp_detach_db", "sp_attach_db", "sp_addrolemember", "xp_cmdshell", "sp_OACreate"] {
        let seen = run(&mut session, &format!("EXEC {name} 'x'; INSERT t VALUES (1)"));
        assert_eq!(numbers(&seen), [40517], "{name}");
        assert!(seen.messages[0].2.contains(&name.to_lowercase()), "{:?}", seen.messages);
    }
    assert_eq!(numbers(&run(&mut session, "EXEC sp_nosuch 'x'; PRINT 'on'")), [2812, 0]);
    for (text, expected) in [
        ("EXEC sp_tableoption 't', 'text in row', 'OFF'", None),
        (
            "EXEC sp_tableoption @TableNamePattern = N'dbo.t', @OptionName = 'large value types out of row', @OptionValue = 0",
            None,
        ),
        ("EXEC sp_tableoption 't', 'table lock on bulk load', 'true'", Some(40517)),
        ("EXEC sp_tableoption 't', 'text in row', '7000'", Some(40517)),
        ("EXEC sp_tableoption 't', 'text in row', '8000'", Some(15600)),
        ("EXEC sp_tableoption 't', 'nosuch', 'OFF'", Some(15600)),
        ("EXEC sp_tableoption 'missing', 'text in row', 'OFF'", Some(15388)),
        ("EXEC sp_tableoption 't', 'text in row'", Some(201)),
    ] {
        assert_eq!(numbers(&run(&mut session, text)).first().copied(), expected, "{text}");
    }
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), ["0"]);
}

/// The documented columns stand in their order in views that hold one real row or none.
#[test]
fn views_have_their_documented_columns() {
    let (_world, mut session) = World::in_database("view-columns");
    let mut columns_of = |view: &str| {
        let text = format!(
            "SELECT STRING_AGG(name, ' ') WITHIN GROUP (ORDER BY column_id) FROM sys.all_columns WHERE object_id = OBJECT_ID('sys.{view}')"
        );
        rows(&mut session, &text).concat()
    };
    for (view, last) in [
        (
            "dm_os_schedulers",
            "failed_to_create_worker active_worker_address memory_object_address task_memory_object_address quantum_length_us total_cpu_usage_ms total_cpu_idle_capped_ms total_scheduler_delay_ms ideal_workers_limit",
        ),
        ("availability_groups", "required_synchronized_secondaries_to_commit sequence_number is_contained"),
        (
            "availability_replicas",
            "read_only_routing_url seeding_mode seeding_mode_desc read_write_routing_url",
        ),
        (
            "dm_hadr_database_replica_states",
            "last_commit_time low_water_mark_for_ghosts secondary_lag_seconds",
        ),
        (
            "dm_hadr_availability_replica_states",
            "last_connect_error_number last_connect_error_description last_connect_error_timestamp",
        ),
        ("server_event_sessions", "track_causality startup_state"),
    ] {
        let columns = columns_of(view);
        assert!(columns.ends_with(last), "{view}: {columns}");
    }
    for table in [
        "backupfile",
        "log_shipping_primary_databases",
        "log_shipping_secondary_databases",
        "log_shipping_monitor_primary",
    ] {
        assert_eq!(rows(&mut session, &format!("SELECT COUNT(*) FROM msdb.dbo.{table}")), ["0"]);
    }
    let busy = "SELECT active_workers_count FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE'";
    assert_eq!(rows(&mut session, busy), ["1"], "this request");
    let times =
        "SELECT SIGN(s.total_cpu_usage_ms), IIF(i.process_user_time_ms + i.process_kernel_time_ms > 0, 1, 0)
        FROM sys.dm_os_schedulers AS s CROSS JOIN sys.dm_os_sys_info AS i";
    assert_eq!(rows(&mut session, times), ["1|1"]);
}

/// What administrators' scripts ask first about roles, files and collations.
#[test]
fn help_for_administrators() {
    let (_world, mut session) = World::in_database("help-procedures");
    assert_eq!(
        rows(&mut session, "EXEC sp_helpsrvrolemember 'sysadmin'")[0].split('|').take(2).collect::<Vec<_>>(),
        ["sysadmin", "sa"]
    );
    assert_eq!(
        rows(&mut session, "EXEC sp_helprolemember 'db_owner'")[0].split('|').take(2).collect::<Vec<_>>(),
        ["db_owner", "dbo"]
    );
    assert_eq!(rows(&mut session, "EXEC sp_helpfilegroup"), ["PRIMARY|1|1"]);
    assert_eq!(run(&mut session, "EXEC sp_helpfilegroup 'PRIMARY'").sets[1].1.len(), 1);
    let collation = "SELECT description FROM fn_helpcollations() WHERE name = SERVERPROPERTY('Collation')";
    assert_eq!(rows(&mut session, "EXEC sp_helpsort"), rows(&mut session, collation));
    for (text, number) in [
        ("EXEC sp_helprolemember 'missing'", 15409),
        ("EXEC sp_helpsrvrolemember 'missing'", 15409),
        ("EXEC sp_helpfilegroup 'missing'", 15478),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [number], "{text}");
    }
}
