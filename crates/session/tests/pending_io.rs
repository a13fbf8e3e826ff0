//! `sys.dm_io_pending_io_requests` on a device slow enough to see requests on their way, read as article 002 reads it (claims 248 to 251).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

mod common;

use common::simulated::{NAME, Server, connect};
use common::{rows, run};
use os::WaitType;
use os::sim::{Profile, World};

/// A durable write takes so long.
const WRITE_NS: u64 = 200_000_000;

/// The article's query for a file; `physical_name` and the handles stand at its end, where they can be cut off.
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

#[test]
fn writes_of_the_log_are_seen_while_they_are_on_their_way_and_no_longer() {
    let profile = Profile {
        durable_write_ns: (WRITE_NS, WRITE_NS),
        ns_per_kib: 0,
        switches_max: 40_000_000,
        ..Profile::nvme()
    };
    let report = World::new(9, profile).run(|os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(&mut session, &format!("CREATE DATABASE {NAME}"));
        run(&mut session, &format!("USE {NAME}; CREATE TABLE dbo.T1(col1 INT NOT NULL, filler char(8000) NOT NULL)"));
        let log = query(&format!("{NAME}_log"));
        assert!(rows(&mut session, &log).is_empty(), "idle: nothing is on its way");
        let shared = server.shared();
        let writer = os.spawn("writer", move || {
            let mut other = connect(&shared, NAME);
            run(&mut other, "BEGIN TRAN; INSERT dbo.T1 SELECT TOP (40) 1, 'x' FROM master..spt_values; COMMIT");
            other.close();
        });
        os.sleep(WRITE_NS / 2, WaitType::WAITFOR).unwrap();
        let seen = rows(&mut session, &log);
        let outstanding = server.database().log().pending_io().len();
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
        assert!((1..=200).contains(&cells[1].parse::<i64>().unwrap()), "milliseconds since it was asked: {first}");
        assert!(cells[3].parse::<i64>().unwrap() >= 8192, "behind the file's header: {first}");
        writer.join().unwrap();
        assert!(rows(&mut session, &log).is_empty(), "answered");
        assert!(rows(&mut session, &query(NAME)).is_empty(), "the data file was not asked for anything");
        server.stop(session);
    });
    report.assert_ok();
}
