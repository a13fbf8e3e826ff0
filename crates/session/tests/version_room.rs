//! Row versions for which memory has no room: where they lie, what views and counters say of them, and what happens when there is no room at all.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::simulated::{Server, number, on_a_machine};
use common::{numbers, rows, run};
use hardpan_session::Session;

const ROWS: i64 = 3_000;
const ALL: &str = "SELECT COUNT(*), SUM(v), MIN(LEN(w)), MAX(w) FROM t";

fn quiet(session: &mut Session, text: &str) {
    let seen = run(session, text);
    assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
}

/// A database `db` with snapshots allowed, 3,000 rows of some 400 bytes, and `bytes` for versions.
fn prepare(server: &Server, bytes: u64) -> (Session, Session) {
    let mut one = server.session_in("master");
    quiet(&mut one, "CREATE DATABASE db ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON");
    run(&mut one, "USE db");
    quiet(&mut one, "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL, w char(400) NOT NULL)");
    run(
        &mut one,
        &format!(
            "INSERT t SELECT n, 1, 'old' FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM master..spt_values a
             CROSS JOIN (SELECT TOP 3 number FROM master..spt_values) b) q WHERE n <= {ROWS}"
        ),
    );
    server.instance.database("db").unwrap().transactions().versions().set_bytes_max(bytes);
    let mut two = server.session_in("db");
    quiet(&mut two, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
    (one, two)
}

fn counter(session: &mut Session, name: &str) -> i64 {
    number(
        session,
        &format!(
            "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE object_name = 'SQLServer:Transactions' AND counter_name = '{name}'"
        ),
    )
}

/// 1.2 MB of images where there is room for 0.8: half of that stays in memory, the others lie on disk, and the snapshot reads all of them. What the
/// views and the counters of the object Transactions say of it (docs/performance-counters.md).
#[test]
fn what_does_not_fit_into_memory_is_read_from_disk() {
    on_a_machine(1, |os| {
        let server = Server::open(os);
        let (mut writer, mut reader) = prepare(&server, 800_000);
        quiet(&mut reader, "BEGIN TRAN SELECT COUNT(*) FROM t");
        let before = rows(&mut reader, ALL);
        quiet(&mut writer, "UPDATE t SET v = 2, w = 'new'");
        assert_eq!(rows(&mut reader, ALL), before);
        assert_eq!(rows(&mut reader, "SELECT COUNT(*) FROM t WHERE v = 1 AND w = 'old'"), [ROWS.to_string()]);
        let figures = server.instance.database("db").unwrap().transactions().versions().figures();
        assert!(figures.bytes <= 800_000 && figures.bytes_there > 500_000, "{figures:?}");
        assert!(os.disk().list("/data".as_ref()).unwrap().iter().all(|file| !file.name.contains("spill")));
        assert_eq!(counter(&mut writer, "Snapshot Transactions"), 1);
        assert_eq!(counter(&mut writer, "Update Snapshot Transactions"), 0);
        assert!(counter(&mut writer, "Version Store Size (KB)") > 1_200);
        assert!(counter(&mut writer, "Version Generation rate (KB/s)") > 1_200);
        let units = counter(&mut writer, "Version Store unit count");
        assert!(units >= 2 && units <= counter(&mut writer, "Version Store unit creation"), "{units}");
        let generators = "SELECT database_id - DB_ID(), SIGN(aggregated_record_length_in_bytes - 1200000) FROM sys.dm_tran_top_version_generators";
        assert_eq!(rows(&mut writer, generators), ["0|1"]);
        let stored =
            "SELECT COUNT(*), MIN(record_length_first_part_in_bytes) / 400 FROM sys.dm_tran_version_store";
        assert_eq!(rows(&mut writer, stored), [format!("{ROWS}|1")]);
        let kb = "SELECT SIGN(reserved_space_kb - 1200) FROM sys.dm_tran_version_store_space_usage WHERE database_id = DB_ID()";
        assert_eq!(rows(&mut writer, kb), ["1"]);
        let own = "SELECT transaction_is_snapshot, CASE WHEN transaction_id = CURRENT_TRANSACTION_ID() THEN 1 ELSE 0 END,
                   SIGN(last_transaction_sequence_num - transaction_sequence_num), first_useful_sequence_num - transaction_sequence_num
                   FROM sys.dm_tran_current_transaction";
        assert_eq!(rows(&mut reader, own), ["1|1|1|0"]);
        // An update of the snapshot's conflicts, and the counters know.
        assert_eq!(numbers(&run(&mut reader, "UPDATE t SET v = 3 WHERE id = 1")), [3960]);
        assert_eq!(counter(&mut writer, "Update conflict ratio"), 1);
        assert_eq!(counter(&mut writer, "Update conflict ratio base"), 1);
        // Its end has freed everything.
        for name in ["Version Store Size (KB)", "Version Store unit count", "Snapshot Transactions"] {
            assert_eq!(counter(&mut writer, name), 0, "{name}");
        }
        let (created, truncated) = (
            counter(&mut writer, "Version Store unit creation"),
            counter(&mut writer, "Version Store unit truncation"),
        );
        assert_eq!(created, truncated);
        quiet(&mut reader, "BEGIN TRAN UPDATE t SET v = 4 WHERE id = 1");
        quiet(&mut writer, "BEGIN TRAN UPDATE t SET v = 5 WHERE id = 2");
        assert_eq!(counter(&mut writer, "Update Snapshot Transactions"), 1);
        assert_eq!(counter(&mut writer, "NonSnapshot Version Transactions"), 1);
        quiet(&mut writer, "COMMIT");
        quiet(&mut reader, "ROLLBACK DBCC CHECKDB WITH NO_INFOMSGS");
        writer.close();
        server.stop(reader);
    });
}

/// Names alone are too many: the snapshot is given up, and told so at its next read; the writer is not in the way of anybody.
#[test]
fn without_room_the_oldest_snapshot_is_given_up() {
    on_a_machine(2, |os| {
        let server = Server::open(os);
        let (mut writer, mut reader) = prepare(&server, 100_000);
        quiet(&mut reader, "BEGIN TRAN SELECT COUNT(*) FROM t");
        for _ in 0..3 {
            quiet(&mut writer, "UPDATE t SET v = v + 1");
        }
        assert_eq!(numbers(&run(&mut reader, "SELECT SUM(v) FROM t")), [3966]);
        assert_eq!(rows(&mut reader, "SELECT @@TRANCOUNT"), ["0"]);
        assert_eq!(rows(&mut reader, "SELECT SUM(v) FROM t"), [(4 * ROWS).to_string()]);
        writer.close();
        server.stop(reader);
    });
}
