//! The switches of ALTER DATABASE SET that sys.databases shows: each shows its last value, also after a restart.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

/// What is said, the column that shows it, and what it shows before, after the first, after the second.
const SWITCHES: [(&str, &str, &str, [&str; 3]); 22] = [
    ("MIXED_PAGE_ALLOCATION ON", "MIXED_PAGE_ALLOCATION OFF", "is_mixed_page_allocation_on", ["0", "1", "0"]),
    (
        "TEMPORAL_HISTORY_RETENTION OFF",
        "TEMPORAL_HISTORY_RETENTION ON",
        "is_temporal_history_retention_enabled",
        ["1", "0", "1"],
    ),
    ("ANSI_NULL_DEFAULT ON", "ANSI_NULL_DEFAULT OFF", "is_ansi_null_default_on", ["0", "1", "0"]),
    ("ANSI_NULLS ON", "ANSI_NULLS OFF", "is_ansi_nulls_on", ["0", "1", "0"]),
    ("ANSI_PADDING ON", "ANSI_PADDING OFF", "is_ansi_padding_on", ["0", "1", "0"]),
    ("ANSI_WARNINGS ON", "ANSI_WARNINGS OFF", "is_ansi_warnings_on", ["0", "1", "0"]),
    ("ARITHABORT ON", "ARITHABORT OFF", "is_arithabort_on", ["0", "1", "0"]),
    (
        "CONCAT_NULL_YIELDS_NULL ON",
        "CONCAT_NULL_YIELDS_NULL OFF",
        "is_concat_null_yields_null_on",
        ["0", "1", "0"],
    ),
    ("NUMERIC_ROUNDABORT ON", "NUMERIC_ROUNDABORT OFF", "is_numeric_roundabort_on", ["0", "1", "0"]),
    ("QUOTED_IDENTIFIER ON", "QUOTED_IDENTIFIER OFF", "is_quoted_identifier_on", ["0", "1", "0"]),
    ("AUTO_CREATE_STATISTICS OFF", "AUTO_CREATE_STATISTICS ON", "is_auto_create_stats_on", ["1", "0", "1"]),
    ("AUTO_UPDATE_STATISTICS OFF", "AUTO_UPDATE_STATISTICS ON", "is_auto_update_stats_on", ["1", "0", "1"]),
    (
        "AUTO_UPDATE_STATISTICS_ASYNC ON",
        "AUTO_UPDATE_STATISTICS_ASYNC OFF",
        "is_auto_update_stats_async_on",
        ["0", "1", "0"],
    ),
    (
        "DATE_CORRELATION_OPTIMIZATION ON",
        "DATE_CORRELATION_OPTIMIZATION OFF",
        "is_date_correlation_on",
        ["0", "1", "0"],
    ),
    ("PARAMETERIZATION FORCED", "PARAMETERIZATION SIMPLE", "is_parameterization_forced", ["0", "1", "0"]),
    (
        "CURSOR_CLOSE_ON_COMMIT ON",
        "CURSOR_CLOSE_ON_COMMIT OFF",
        "is_cursor_close_on_commit_on",
        ["0", "1", "0"],
    ),
    ("CURSOR_DEFAULT LOCAL", "CURSOR_DEFAULT GLOBAL", "is_local_cursor_default", ["0", "1", "0"]),
    ("DB_CHAINING ON", "DB_CHAINING OFF", "is_db_chaining_on", ["0", "1", "0"]),
    ("TRUSTWORTHY ON", "TRUSTWORTHY OFF", "is_trustworthy_on", ["0", "1", "0"]),
    (
        "READ_COMMITTED_SNAPSHOT ON",
        "READ_COMMITTED_SNAPSHOT OFF",
        "is_read_committed_snapshot_on",
        ["0", "1", "0"],
    ),
    (
        "ALLOW_SNAPSHOT_ISOLATION ON",
        "ALLOW_SNAPSHOT_ISOLATION OFF",
        "snapshot_isolation_state",
        ["0", "1", "0"],
    ),
    (
        "TARGET_RECOVERY_TIME = 90 SECONDS",
        "TARGET_RECOVERY_TIME = 60 SECONDS",
        "target_recovery_time_in_seconds",
        ["60", "90", "60"],
    ),
];

#[test]
fn what_was_said_is_shown_and_stays() {
    let (mut world, mut s) = World::in_database("database-switches");
    let columns: Vec<&str> = SWITCHES.iter().map(|switch| switch.2).collect();
    let shown = format!("SELECT {} FROM sys.databases WHERE name = 'd'", columns.join(", "));
    let expected = |at: usize| SWITCHES.iter().map(|switch| switch.3[at]).collect::<Vec<_>>().join("|");
    assert_eq!(rows(&mut s, &shown), [expected(0)]);
    for (at, said) in [(1, SWITCHES.map(|switch| switch.0)), (2, SWITCHES.map(|switch| switch.1))] {
        for text in said {
            let answer = run(&mut s, &format!("ALTER DATABASE d SET {text}"));
            assert_eq!(numbers(&answer), Vec::<i32>::new(), "{text}");
        }
        assert_eq!(rows(&mut s, &shown), [expected(at)]);
        drop(s);
        world.restart();
        s = world.session();
        run(&mut s, "USE d");
        assert_eq!(rows(&mut s, &shown), [expected(at)], "after a restart");
    }
}
