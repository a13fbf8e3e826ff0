//! sp_configure, RECONFIGURE and sys.configurations: an option that can be set has an effect, others are refused; msdb exists.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

const SHOWN: &str =
    "SELECT CAST(value AS int), CAST(value_in_use AS int) FROM sys.configurations WHERE name = ";

#[test]
fn a_value_is_configured_then_installed_and_survives_a_restart() {
    let mut world = World::new("configure");
    let mut session = world.session();
    let shown = format!("{SHOWN}'show advanced options'");
    let seen = run(&mut session, "EXEC sp_configure 'show advanced options', 1");
    assert_eq!(numbers(&seen), [15457]);
    assert!(
        seen.messages[0].2.contains("'show advanced options' changed from 0 to 1"),
        "{:?}",
        seen.messages
    );
    assert_eq!(rows(&mut session, &shown), ["1|0"]);
    // Not in effect yet: an advanced option is unknown.
    assert_eq!(numbers(&run(&mut session, "EXEC sp_configure 'max degree of parallelism'")), [15123]);
    assert!(run(&mut session, "RECONFIGURE").messages.is_empty());
    assert_eq!(rows(&mut session, &shown), ["1|1"]);
    assert_eq!(
        rows(&mut session, "EXEC sp_configure 'max degree of parallelism'"),
        ["max degree of parallelism|0|32767|1|1"]
    );
    drop(session);
    world.restart();
    assert_eq!(rows(&mut world.session(), &shown), ["1|1"]);
}

#[test]
fn without_arguments_all_options_are_listed_the_advanced_ones_when_they_are_shown() {
    let world = World::new("configure-list");
    let mut session = world.session();
    let plain = run(&mut session, "EXEC sp_configure");
    assert_eq!(plain.sets[0].0, ["name", "minimum", "maximum", "config_value", "run_value"]);
    let plain: Vec<String> = plain.sets[0].1.iter().map(|row| row[0].clone()).collect();
    assert!(plain.is_sorted_by_key(|name| name.to_lowercase()) && plain.contains(&"clr enabled".to_string()));
    assert!(!plain.contains(&"xp_cmdshell".to_string()));
    run(&mut session, "EXEC sp_configure 'show adv', 1 RECONFIGURE WITH OVERRIDE");
    let all = rows(&mut session, "EXEC sp_configure");
    let counted = rows(&mut session, "SELECT COUNT(*) FROM sys.configurations");
    assert_eq!(all.len().to_string(), counted[0]);
    assert!(all.len() > plain.len());
}

#[test]
fn user_options_are_those_with_which_sessions_begin() {
    let world = World::new("configure-user-options");
    let mut session = world.session();
    let on = "SELECT @@OPTIONS & (512 | 16384)";
    assert_eq!(rows(&mut session, on), ["0"]);
    run(&mut session, "EXEC sp_configure 'user options', 16896 RECONFIGURE");
    assert_eq!(rows(&mut session, on), ["0"], "the session that configures keeps its own");
    assert_eq!(rows(&mut world.session(), on), ["16896"]);
    session.reset(false, &mut crate::common::Seen::default());
    assert_eq!(rows(&mut session, on), ["16896"]);
    let mut other = world.session();
    run(&mut other, "CREATE TABLE t (i int)");
    assert!(run(&mut other, "INSERT t VALUES (1)").counts.is_empty(), "NOCOUNT");
}

/// The rows of SQL Server 2022 ("Server configuration options" names 90 and more; the rest stand in `sys.configurations` of a stock instance).
#[test]
fn every_option_has_a_row() {
    let world = World::new("configure-rows");
    let mut session = world.session();
    let shown = |name: &str| {
        format!(
            "SELECT configuration_id, CAST(minimum AS int), CAST(maximum AS int), CAST(value_in_use AS int), is_dynamic, is_advanced
             FROM sys.configurations WHERE name = '{name}'"
        )
    };
    for (name, expected) in [
        ("locks", "106|5000|2147483647|0|0|1"),
        ("priority boost", "1517|0|1|0|0|1"),
        ("affinity I/O mask", "1550|-2147483648|2147483647|0|0|1"),
        ("min memory per query (KB)", "1540|512|2147483647|1024|1|1"),
        ("PH timeout (s)", "1557|1|3600|60|1|1"),
        ("access check cache quota", "1583|0|2147483647|0|1|1"),
        ("column encryption enclave type", "1588|0|2|0|0|0"),
        ("ADR Preallocation Factor", "1592|0|32767|4|1|1"),
        ("backup compression algorithm", "1602|0|3|0|1|0"),
        ("polybase enabled", "16399|0|1|0|1|0"),
    ] {
        assert_eq!(rows(&mut session, &shown(name)), [expected], "{name}");
    }
    assert_eq!(
        rows(&mut session, "SELECT COUNT(*), COUNT(DISTINCT configuration_id) FROM sys.configurations"),
        ["96|96"]
    );
    // Each either can be set to another value, because it has an effect or only permits something, or is refused by name.
    run(&mut session, "EXEC sp_configure 'show advanced options', 1 RECONFIGURE");
    let names = rows(&mut session, "SELECT name FROM sys.configurations");
    let mut set = Vec::new();
    for name in names {
        let other = format!(
            "DECLARE @n int = (SELECT CASE WHEN value < maximum THEN CAST(value AS int) + 1 ELSE CAST(value AS int) - 1 END
                               FROM sys.configurations WHERE name = '{name}'),
                     @least int = (SELECT CAST(minimum AS int) FROM sys.configurations WHERE name = '{name}')
             IF @n < @least SET @n = @least
             EXEC sp_configure '{name}', @n"
        );
        match numbers(&run(&mut session, &other)).as_slice() {
            [15457] => set.push(name),
            [40517] => {}
            other => panic!("{name}: {other:?}"),
        }
    }
    // 1 is DISABLE_DEF_CNST_CHK of `user options`, which is refused.
    assert_eq!(
        set,
        [
            "allow updates",
            "nested triggers",
            "cross db ownership chaining",
            "show advanced options",
            "remote proc trans",
            "min memory per query (KB)",
            "query wait (s)",
            "max server memory (MB)",
            "clr enabled",
            "backup compression default",
            "optimize for ad hoc workloads",
            "backup checksum default",
            "external scripts enabled",
            "clr strict security",
            "Agent XPs",
            "Database Mail XPs",
            "SMO and DMO XPs",
            "Ole Automation Procedures",
            "xp_cmdshell",
            "Ad Hoc Distributed Queries",
            "Replication XPs",
            "contained database authentication",
            "remote data archive",
            "allow polybase export",
            "allow filesystem enumeration",
            "polybase enabled"
        ]
    );
}

/// "allow updates Server Configuration Option": it has no effect but that RECONFIGURE fails, which WITH OVERRIDE does not.
#[test]
fn allow_updates_makes_reconfigure_fail() {
    let world = World::new("configure-allow-updates");
    let mut session = world.session();
    run(&mut session, "EXEC sp_configure 'allow updates', 1 EXEC sp_configure 'show advanced options', 1");
    assert_eq!(numbers(&run(&mut session, "RECONFIGURE")), [5808]);
    assert_eq!(
        rows(&mut session, &format!("{SHOWN}'show advanced options'")),
        ["1|0"],
        "nothing was installed"
    );
    assert_eq!(numbers(&run(&mut session, "RECONFIGURE WITH OVERRIDE")), [0; 0]);
    assert_eq!(rows(&mut session, &format!("{SHOWN}'show advanced options'")), ["1|1"]);
    assert_eq!(numbers(&run(&mut session, "UPDATE sys.configurations SET value = 1")), [259]);
    assert_eq!(numbers(&run(&mut session, "RECONFIGURE")), [5808]);
    run(&mut session, "EXEC sp_configure 'allow updates', 0");
    assert_eq!(numbers(&run(&mut session, "RECONFIGURE")), [0; 0]);
}

#[test]
fn what_has_no_effect_is_refused_and_mistakes_are_told() {
    let world = World::new("configure-errors");
    let mut session = world.session();
    for (text, expected) in [
        ("EXEC sp_configure 'no such option', 1", 15123),
        ("EXEC sp_configure 'xp_cmdshell', 1", 15123),
        ("EXEC sp_configure 'backup', 1", 15124),
        ("EXEC sp_configure 'show advanced options', 2", 15129),
        ("EXEC sp_configure 'user options', -1", 15129),
        ("EXEC sp_configure 'user options', 1", 40517),
        ("EXEC sp_configure 'nested triggers', 0", 15457),
        ("EXEC sp_configure 'remote access', 1", 40517),
        // A fixed value may be set to itself.
        ("EXEC sp_configure 'clr enabled', 0", 15457),
        ("EXEC sp_configure 'nested triggers', 1", 15457),
        ("BEGIN TRAN EXEC sp_configure 'show advanced options', 1 ROLLBACK", 15002),
        ("BEGIN TRAN; RECONFIGURE; ROLLBACK", 574),
    ] {
        let seen = run(&mut session, text);
        assert_eq!(numbers(&seen).first(), Some(&expected), "{text}: {:?}", seen.messages);
        run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
    }
    assert_eq!(rows(&mut session, &format!("{SHOWN}'show advanced options'")), ["0|0"]);
    // Whatever the session's setting is, the value is committed.
    run(
        &mut session,
        "SET IMPLICIT_TRANSACTIONS ON EXEC sp_configure 'show advanced options', 1 RECONFIGURE",
    );
    assert_eq!(rows(&mut world.session(), &format!("{SHOWN}'show advanced options'")), ["1|1"]);
}

#[test]
fn the_system_databases_have_their_names_numbers_and_files() {
    let mut world = World::new("configure-msdb");
    let listed = "SELECT d.name, d.database_id, f.name FROM sys.databases d JOIN sys.master_files f ON f.database_id = d.database_id
                  WHERE d.database_id < 5 ORDER BY d.database_id, f.file_id";
    let expected = [
        "master|1|master",
        "master|1|mastlog",
        "tempdb|2|tempdev",
        "tempdb|2|templog",
        "model|3|modeldev",
        "model|3|modellog",
        "msdb|4|MSDBData",
        "msdb|4|MSDBLog",
    ];
    assert_eq!(rows(&mut world.session(), listed), expected);
    let mut session = world.session();
    run(&mut session, "USE msdb CREATE TABLE mine (i int) INSERT mine VALUES (7)");
    assert_eq!(numbers(&run(&mut session, "USE master DROP DATABASE msdb")), [5701, 3708]);
    assert_eq!(numbers(&run(&mut session, "CREATE DATABASE msdb")), [1801]);
    assert_eq!(numbers(&run(&mut session, "ALTER DATABASE msdb MODIFY NAME = other")), [3708]);
    run(&mut session, "CREATE DATABASE first");
    assert_eq!(rows(&mut session, "SELECT DB_ID('first'), DB_ID('msdb')"), ["5|4"]);
    assert_eq!(rows(&mut session, "SELECT OBJECT_ID('first..mine')"), ["NULL"], "msdb is not copied");
    drop(session);
    world.restart();
    assert_eq!(rows(&mut world.session(), listed), expected);
    assert_eq!(rows(&mut world.session(), "SELECT i FROM msdb..mine"), ["7"]);
}
