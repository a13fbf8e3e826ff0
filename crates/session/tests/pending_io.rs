//! `sys.dm_io_pending_io_requests` on a device slow enough to show requests in progress, read as in article 002 (claims 248 to 251),
//! and the limits that releases set on their number.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::simulated::{NAME, Server, connect};
use crate::common::{rows, run};
use hardpan_session::Session;
use os::sim::{Profile, World};
use os::{Os, WaitType};

/// Duration of a durable write.
const WRITE_NS: u64 = 200_000_000;

/// The article's query for a file.
fn query(file: &str) -> String {
    format!(
        "select vfs.database_id, df.name, df.physical_name
,vfs.file_id, ior.io_pending
,ior.io_handle, vfs.file_handle
from sys.dm_io_pending_io_requests ior
inner join sys.dm_io_virtual_file_stats (DB_ID(), NULL) vfs on (vfs.file_handle = ior.io_handle)
inner join sys.database_files df on (df.file_id = vfs.file_id)
where df.name = '{file}'"
    )
}

/// A machine with a slow device.
fn slow_machine(seed: u64, body: impl FnOnce(&Os) + Send + 'static) {
    let profile = Profile {
        durable_write_ns: (WRITE_NS, WRITE_NS),
        ns_per_kib: 0,
        switches_max: 40_000_000,
        ..Profile::nvme()
    };
    World::new(seed, profile).run(body).assert_ok();
}

/// A server with the tests' database and a table of wide rows in it.
fn server_with_wide_rows(os: &Os) -> (Server, Session) {
    let server = Server::open(os);
    let mut session = server.session_in("master");
    // A log that need not grow: zeroing would also appear as I/O in progress.
    let files = format!(
        "ON (NAME = d, FILENAME = 'C:\\d.mdf') LOG ON (NAME = {NAME}_log, FILENAME = 'C:\\l.ldf', SIZE = 128MB)"
    );
    run(&mut session, &format!("CREATE DATABASE {NAME} {files}"));
    run(
        &mut session,
        &format!("USE {NAME}; CREATE TABLE dbo.T1(col1 INT NOT NULL, filler char(8000) NOT NULL)"),
    );
    (server, session)
}

/// In a session of its own: inserts wide rows in one transaction.
fn write_rows(os: &Os, server: &Server, count: u32) -> os::JoinHandle {
    let shared = server.shared();
    os.spawn("writer", move || {
        let mut other = connect(&shared, NAME);
        let text =
            format!("BEGIN TRAN; INSERT dbo.T1 SELECT TOP ({count}) 1, 'x' FROM master..spt_values; COMMIT");
        assert!(run(&mut other, &text).messages.is_empty());
        other.close();
    })
}

/// Claims 248 to 251: one row per write while it is in progress, by the article's join, and none when the device is idle.
#[test]
fn writes_of_the_log_are_seen_while_they_are_on_their_way_and_no_longer() {
    slow_machine(9, |os| {
        let (server, mut session) = server_with_wide_rows(os);
        let log = query(&format!("{NAME}_log"));
        assert!(rows(&mut session, &log).is_empty(), "idle: nothing is on its way");
        let writer = write_rows(os, &server, 40);
        os.sleep(WRITE_NS / 2, WaitType::WAITFOR).unwrap();
        let seen = rows(&mut session, &log);
        let outstanding = server.database().log().files()[0].pending.len();
        assert!(seen.len() > 1, "full blocks fly together: {seen:?}");
        assert_eq!(seen.len(), outstanding, "a row for each");
        assert!(outstanding as u64 <= server.database().log().stats().outstanding_ios_high_water);
        for row in &seen {
            let cells: Vec<&str> = row.split('|').collect();
            assert_eq!((cells[1], cells[3], cells[4]), ("PerformanceV3_log", "2", "1"), "{row}");
            assert_eq!(cells[5], cells[6], "the handles are equal");
        }
        let more = "SELECT io_type, io_pending_ms_ticks, COUNT(*) OVER (), MIN(io_offset) OVER (), RIGHT(io_handle_path, 4) FROM \
                    sys.dm_io_pending_io_requests";
        let first = rows(&mut session, more).remove(0);
        let cells: Vec<&str> = first.split('|').collect();
        assert_eq!((cells[0], cells[4]), ("disk", ".ldf"), "{first}");
        assert!(
            (1..=200).contains(&cells[1].parse::<i64>().unwrap()),
            "milliseconds since it was asked: {first}"
        );
        assert!(cells[3].parse::<i64>().unwrap() >= 8192, "behind the file's header: {first}");
        writer.join().unwrap();
        assert!(rows(&mut session, &log).is_empty(), "answered");
        assert!(rows(&mut session, &query("d")).is_empty(), "the data file was not asked for anything");
        server.stop(session);
    });
}

/// LOG_LIMITS (article 002's table of releases): observed from outside, I/O in progress never exceeds the release's limit; how often and how
/// long writers waited at the limit is counted; the database stores the choice.
#[test]
fn the_limits_of_a_release_hold_for_a_database() {
    slow_machine(10, |os| {
        let (server, mut session) = server_with_wide_rows(os);
        let limits = "SELECT log_limits, outstanding_ios_max, outstanding_kb_max FROM sys.dm_db_log_limits WHERE database_id = DB_ID()";
        assert_eq!(rows(&mut session, limits), ["SQL2012|112|3840"]);
        let releases = [
            ("SQL2000", "8|NULL", 8..=8),
            ("SQL2005_X86", "8|480", 8..=8),
            ("SQL2005_X64", "32|480", 8..=8),
            ("SQL2008_X86", "8|3840", 8..=8),
            ("SQL2008_X64", "32|3840", 32..=32),
            ("SQL2012", "112|3840", 68..=69),
        ];
        for (word, shown, most) in releases {
            assert!(
                run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = {word}"))
                    .messages
                    .is_empty()
            );
            assert_eq!(rows(&mut session, limits), [format!("{word}|{shown}")]);
            // 600 rows of 8 KB: about 85 blocks of 55 KB, since the eighth row does not fit a block; 69 of them are nearly 3,840 KB.
            let writer = write_rows(os, &server, 600);
            let mut highest = 0;
            loop {
                os.sleep(WRITE_NS / 10, WaitType::WAITFOR).unwrap();
                let seen = rows(&mut session, &query(&format!("{NAME}_log"))).len();
                highest = highest.max(seen);
                if seen == 0 {
                    break;
                }
            }
            writer.join().unwrap();
            assert!(most.contains(&highest), "{word}: as many as it allows, and no more: {highest}");
        }
        let reached = "SELECT IIF(ios_limit_reached_count > 0, 'counted', ''), IIF(ios_limit_reached_ms >= 200, 'timed', ''), \
                       IIF(kb_limit_reached_count > 0, 'counted', ''), IIF(kb_limit_reached_ms >= 200, 'timed', ''), \
                       IIF(highest_outstanding_kb <= 3840, 'within', ''), outstanding_ios FROM sys.dm_db_log_limits WHERE database_id = DB_ID()";
        assert_eq!(rows(&mut session, reached), ["counted|timed|counted|timed|within|0"]);
        run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = SQL2005_X64"));
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(rows(&mut session, limits), ["SQL2005_X64|32|480"]);
        server.stop(session);
    });
}
