//! Queries of tools that open a server's object tree: endpoints, permissions, memory, msdb, the input of sessions, parameters of
//! system procedures.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

#[test]
fn endpoints_principals_and_memory() {
    let world = World::new("tree-endpoints");
    let mut s = world.session();
    assert_eq!(
        rows(
            &mut s,
            "SELECT name, endpoint_id, protocol_desc, type_desc, state_desc, is_admin_endpoint FROM sys.endpoints"
        ),
        ["TSQL Default TCP|4|TCP|TSQL|STARTED|0"]
    );
    let joined = "SELECT DISTINCT e.name FROM sys.dm_exec_sessions AS s JOIN sys.tcp_endpoints AS e ON e.endpoint_id = s.endpoint_id";
    assert_eq!(rows(&mut s, joined), ["TSQL Default TCP"]);
    let members = "SELECT r.name, m.name FROM sys.server_role_members AS x JOIN sys.server_principals AS r ON r.principal_id = \
                   x.role_principal_id JOIN sys.server_principals AS m ON m.principal_id = x.member_principal_id WHERE m.name = 'sa'";
    assert_eq!(rows(&mut s, members), ["sysadmin|sa"]);
    let owners = "SELECT r.name, m.name FROM sys.database_role_members AS x JOIN sys.database_principals AS r ON r.principal_id = \
                  x.role_principal_id JOIN sys.database_principals AS m ON m.principal_id = x.member_principal_id";
    assert_eq!(rows(&mut s, owners), ["db_owner|dbo"]);
    let granted = "SELECT g.name, p.class_desc, p.permission_name, p.state_desc FROM sys.server_permissions AS p JOIN \
                   sys.server_principals AS g ON g.principal_id = p.grantee_principal_id WHERE g.name IN ('sa', 'public') ORDER BY 1, 2, 3";
    assert_eq!(
        rows(&mut s, granted),
        [
            "public|ENDPOINT|CONNECT|GRANT",
            "public|SERVER|VIEW ANY DATABASE|GRANT",
            "sa|SERVER|CONNECT SQL|GRANT"
        ]
    );
    let memory = "SELECT CASE WHEN m.total_physical_memory_kb = i.physical_memory_kb AND i.physical_memory_kb > 0
                      AND m.available_physical_memory_kb BETWEEN 1 AND m.total_physical_memory_kb THEN 1 ELSE 0 END,
                      CASE WHEN m.system_high_memory_signal_state = 1 AND m.system_low_memory_signal_state = 1 THEN 0 ELSE 1 END
                  FROM sys.dm_os_sys_memory AS m, sys.dm_os_sys_info AS i";
    assert_eq!(rows(&mut s, memory), ["1|1"]);
}

#[test]
fn msdb_has_its_tables_and_no_other_database_has_them() {
    let world = World::new("tree-msdb");
    let mut s = world.session();
    for table in
        ["sysjobs", "sysjobhistory", "sysschedules", "backupset", "backupmediafamily", "restorehistory"]
    {
        assert_eq!(rows(&mut s, &format!("SELECT COUNT(*) FROM msdb.dbo.{table}")), ["0"], "{table}");
        assert_eq!(rows(&mut s, &format!("SELECT COUNT(*) FROM msdb..{table}")), ["0"], "{table}");
        assert_eq!(numbers(&run(&mut s, &format!("SELECT COUNT(*) FROM dbo.{table}"))), [208], "{table}");
        assert_eq!(
            numbers(&run(&mut s, &format!("SELECT COUNT(*) FROM [msdb.dbo].{table}"))),
            [208],
            "{table}"
        );
    }
    run(&mut s, "USE msdb");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sysjobs"), ["0"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT MAX(backup_finish_date) FROM backupset WHERE database_name = 'master' AND type = 'D'"
        ),
        ["NULL"]
    );
}

#[test]
fn what_a_session_has_sent_last() {
    let world = World::new("tree-input");
    let (mut one, mut other) = (world.session(), world.session());
    let id = one.id();
    run(&mut one, "SELECT 'mine' /* ö */");
    let buffer =
        format!("SELECT event_type, parameters, event_info FROM sys.dm_exec_input_buffer({id}, NULL)");
    assert_eq!(rows(&mut other, &buffer), ["Language Event|0|SELECT 'mine' /* ö */"]);
    let seen = run(&mut other, &format!("DBCC INPUTBUFFER ({id}) WITH NO_INFOMSGS"));
    assert_eq!(seen.sets[0].0.join(" "), "EventType Parameters EventInfo");
    assert_eq!(seen.sets[0].1[0].join("|"), "Language Event|0|SELECT 'mine' /* ö */");
    let own = run(&mut other, "DBCC INPUTBUFFER (@@SPID) WITH NO_INFOMSGS");
    assert_eq!(own.sets[0].1[0][2], "DBCC INPUTBUFFER (@@SPID) WITH NO_INFOMSGS");
    // Characters are counted, not bytes.
    run(&mut one, &format!("SELECT '{}'", "ö".repeat(5_000)));
    let length =
        buffer.replace("event_type, parameters, event_info", "LEN(event_info), RIGHT(event_info, 1)");
    assert_eq!(rows(&mut other, &length), ["4000|ö"]);
    for (text, number) in [
        ("DBCC INPUTBUFFER (9999)".to_string(), 7955),
        (format!("DBCC INPUTBUFFER ({id}, 1)"), 7955),
        ("DBCC INPUTBUFFER".to_string(), 2526),
    ] {
        assert_eq!(numbers(&run(&mut other, &text)), [number], "{text}");
    }
    assert!(rows(&mut other, "SELECT * FROM sys.dm_exec_input_buffer(9999, 0)").is_empty());
}

#[test]
fn parameters_of_the_systems_procedures() {
    let world = World::new("tree-parameters");
    let mut s = world.session();
    let of = |name: &str| {
        format!(
            "SELECT name, parameter_id, TYPE_NAME(user_type_id), is_output FROM sys.all_parameters
             WHERE object_id = OBJECT_ID('{name}') AND parameter_id < 4 ORDER BY parameter_id"
        )
    };
    assert_eq!(
        rows(&mut s, &of("sys.sp_prepexec")),
        ["@handle|1|int|1", "@params|2|ntext|0", "@stmt|3|ntext|0"]
    );
    for version in ["sp_columns", "sp_columns_90", "sp_columns_100"] {
        assert_eq!(
            rows(&mut s, &of(version)),
            ["@table_name|1|nvarchar|0", "@table_owner|2|nvarchar|0", "@table_qualifier|3|sysname|0"],
            "{version}"
        );
    }
    // Every procedure is there, those in T-SQL with a text.
    let missing =
        "SELECT name FROM sys.all_objects AS o WHERE o.type = 'P' AND o.is_ms_shipped = 1 AND o.object_id < 0
                   AND NOT EXISTS (SELECT * FROM sys.system_parameters AS p WHERE p.object_id = o.object_id)
                   AND o.name NOT IN ('sp_flush_log', 'sp_databases', 'sp_linkedservers', 'sp_helpsort')";
    assert!(rows(&mut s, missing).is_empty(), "{:?}", rows(&mut s, missing));
    run(&mut s, "CREATE PROCEDURE own @a int AS SELECT 1");
    assert_eq!(rows(&mut s, &of("own")), ["@a|1|int|0"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sys.system_parameters WHERE object_id >= 0"), ["0"]);
}

#[test]
fn a_transaction_has_a_number_of_its_own() {
    let world = World::new("tree-transaction");
    let mut s = world.session();
    let own = "SELECT CURRENT_TRANSACTION_ID()";
    let (first, second) = (rows(&mut s, own), rows(&mut s, own));
    assert_ne!(first, second, "each statement is a transaction");
    run(&mut s, "CREATE TABLE n (a int); BEGIN TRAN; INSERT n VALUES (1)");
    let inside = rows(&mut s, own);
    assert_eq!(rows(&mut s, own), inside);
    let active = "SELECT transaction_id FROM sys.dm_tran_active_transactions WHERE transaction_id = CURRENT_TRANSACTION_ID()";
    assert_eq!(rows(&mut s, active), inside);
    run(&mut s, "ROLLBACK");
    assert_ne!(rows(&mut s, own), inside);
}
