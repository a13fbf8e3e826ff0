//! Row versions that do not fit into memory: where they are stored, their views and counters, and the behaviour without any space.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::{Server, number, on_a_machine};
use crate::common::{numbers, rows, run};
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

/// 1.2 MB of images with space for 0.8: half of that stays in memory, the others are on disk, and the snapshot reads all of them. Also
/// the views and the counters of the object Transactions (docs/performance-counters.md).
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
        // An update under the snapshot conflicts, and the counters show it.
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

/// Version headers alone exceed the limit: the snapshot is cancelled, with an error at its next read; the writer blocks no session.
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

/// Single-row changes at SNAPSHOT, with every locking hint.
const CHANGES: [&str; 12] = [
    "UPDATE t SET v = v + 10 WHERE id = 1",
    "UPDATE t WITH (UPDLOCK) SET v = v + 10 WHERE id = 1",
    "UPDATE t WITH (READCOMMITTEDLOCK) SET v = v + 10 WHERE id = 1",
    "UPDATE t WITH (XLOCK, ROWLOCK) SET v = v + 10 WHERE id = 1",
    "UPDATE t WITH (TABLOCKX) SET v = v + 10 WHERE id = 1",
    "UPDATE t WITH (REPEATABLEREAD) SET v = v + 10 WHERE id = 1",
    "UPDATE t WITH (HOLDLOCK) SET v = v + 10 WHERE id BETWEEN 1 AND 2",
    "DELETE t WITH (READCOMMITTEDLOCK) WHERE id = 1",
    "DELETE t WITH (UPDLOCK) WHERE id < 5",
    "MERGE t WITH (READCOMMITTEDLOCK) USING (VALUES (1)) s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = v + 10;",
    "INSERT t VALUES (-1, 1, '')",
    "SELECT v FROM t WITH (UPDLOCK) WHERE id = 1",
];

/// The snapshot was cancelled, and with it the knowledge whether a row has changed since: no hint allows a change that cannot be checked.
#[test]
fn no_change_goes_over_what_a_lost_snapshot_has_forgotten() {
    on_a_machine(3, |os| {
        let server = Server::open(os);
        let (mut writer, mut reader) = prepare(&server, 100_000);
        for rebuilt in [
            "",
            "CREATE INDEX by_v ON t (v)",
            "DROP INDEX by_v ON t; SELECT * INTO u FROM t; DROP TABLE t; EXEC sp_rename 'u', 't'",
            "CREATE UNIQUE INDEX by_id ON t (id)",
        ] {
            run(&mut writer, rebuilt);
            for change in CHANGES {
                // The whole table was read, so the snapshot is valid; or nothing of it.
                for first in ["SELECT COUNT(*) FROM t", "SELECT v FROM t WITH (UPDLOCK) WHERE id = 7"] {
                    quiet(&mut reader, &format!("BEGIN TRAN; {first}"));
                    for _ in 0..3 {
                        quiet(&mut writer, "UPDATE t WITH (READPAST) SET v = v + 1 WHERE id <> 7");
                    }
                    let before = rows(&mut writer, "SELECT COUNT(*), SUM(v) FROM t WHERE id <> 7");
                    let told = format!("{rebuilt}; {first}; {change}");
                    assert_eq!(numbers(&run(&mut reader, change)), [3966], "{told}");
                    assert_eq!(rows(&mut reader, "SELECT @@TRANCOUNT"), ["0"], "{told}");
                    let after = rows(&mut writer, "SELECT COUNT(*), SUM(v) FROM t WHERE id <> 7");
                    assert_eq!(before, after, "{told}");
                    quiet(&mut reader, "BEGIN TRAN UPDATE t SET v = v + 0 WHERE id = 1 COMMIT");
                }
            }
        }
        writer.close();
        server.stop(reader);
    });
}

/// The same when the snapshot is cancelled in the middle of a statement: while it waits for the row.
#[test]
fn a_snapshot_that_goes_while_a_change_waits_conflicts() {
    // A session that waits for the table blocks later ones.
    for change in CHANGES[..10].iter().filter(|change| !change.contains("TABLOCKX")) {
        on_a_machine(4, move |os| {
            let server = Server::open(os);
            let (mut writer, mut reader) = prepare(&server, 100_000);
            quiet(&mut reader, "BEGIN TRAN SELECT COUNT(*) FROM t");
            quiet(&mut writer, "BEGIN TRAN UPDATE t SET v = v + 100 WHERE id = 1");
            let waiting = os.spawn("reader", move || {
                let number = numbers(&run(&mut reader, change));
                assert!(number == [3966] || number == [3960], "{change}: {number:?}");
                reader.close();
            });
            os.sleep(50_000_000, os::WaitType::WAITFOR).unwrap();
            let mut other = server.session_in("db");
            for _ in 0..3 {
                quiet(&mut other, "SET LOCK_TIMEOUT 0 UPDATE t WITH (READPAST) SET v = v + 1 WHERE id > 10");
            }
            other.close();
            quiet(&mut writer, "COMMIT");
            waiting.join().unwrap();
            assert_eq!(rows(&mut writer, "SELECT v FROM t WHERE id = 1"), ["101"], "{change}");
            server.stop(writer);
        });
    }
}
