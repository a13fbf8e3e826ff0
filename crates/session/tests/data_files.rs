//! Data files of a database: numbers, proportional fill, adding, removing and shrinking through crashes, a missing file, tempdb's files; on a
//! simulated machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::simulated::{NAME, Server, connect, kept, number, on_a_machine, through_power_cut};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::Os;
use os::sim::{Bug, World};

const SECOND: &str = "/data/drives/e/second.ndf";
const ADD: &str = r"ALTER DATABASE CURRENT ADD FILE (NAME = second, FILENAME = 'E:\second.ndf', SIZE = 512KB, FILEGROWTH = 256KB)";
const REMOVE: &str = "ALTER DATABASE CURRENT REMOVE FILE second";
const EMPTY: &str = "DBCC SHRINKFILE (second, EMPTYFILE) WITH NO_INFOMSGS";
const FILES: &str = "SELECT file_id, name, type, size FROM sys.database_files ORDER BY file_id";
const NOTHING: [i32; 0] = [];

/// The tests' database, and a table whose rows have a page each.
fn small(os: &Os) -> (Server, Session) {
    let server = Server::open(os);
    let mut session = server.session_in("master");
    let data = r"NAME = d, FILENAME = 'D:\d.mdf', SIZE = 1MB, FILEGROWTH = 256KB";
    run(&mut session, &format!("CREATE DATABASE {NAME} ON ({data})"));
    run(&mut session, &format!("USE {NAME}; CREATE TABLE t (i int NOT NULL, v char(5000) NOT NULL)"));
    (server, session)
}

fn insert(session: &mut Session, numbers_of_rows: std::ops::Range<i64>) {
    for i in numbers_of_rows {
        assert_eq!(numbers(&run(session, &format!("INSERT t VALUES ({i}, 'x')"))), NOTHING, "row {i}");
    }
}

/// All pages are in their place, also after a restart.
fn assert_sound(session: &mut Session) {
    let seen = run(session, "DBCC CHECKDB WITH NO_INFOMSGS");
    assert_eq!(numbers(&seen), NOTHING, "{:?}", seen.messages);
}

/// Pages in use of each file, by file_id.
fn used(session: &mut Session) -> Vec<i64> {
    let text = "SELECT allocated_extent_page_count FROM sys.dm_db_file_space_usage ORDER BY file_id";
    rows(session, text).iter().map(|row| row.parse().unwrap()).collect()
}

/// Data and log files share one sequence of numbers: each new file gets the least free number, whatever its type.
#[test]
fn files_have_numbers_of_their_own() {
    on_a_machine(320, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        let data =
            r"(NAME = d, FILENAME = 'D:\d.mdf', SIZE = 1MB), (NAME = d2, FILENAME = 'D:\d2.ndf', SIZE = 1MB)";
        let log =
            r"(NAME = l, FILENAME = 'L:\l.ldf', SIZE = 1MB), (NAME = l2, FILENAME = 'L:\l2.ldf', SIZE = 1MB)";
        run(&mut session, &format!("CREATE DATABASE {NAME} ON {data} LOG ON {log}; USE {NAME}"));
        let names = "SELECT CONCAT(file_id, name, type) FROM sys.database_files ORDER BY file_id";
        assert_eq!(rows(&mut session, names), ["1d0", "2l1", "3d20", "4l21"]);
        assert_eq!(numbers(&run(&mut session, ADD)), NOTHING);
        run(&mut session, "ALTER DATABASE CURRENT ADD LOG FILE (NAME = l3, SIZE = 512KB)");
        run(&mut session, "ALTER DATABASE CURRENT REMOVE FILE d2");
        let several = "(NAME = d3, SIZE = 1MB), (NAME = d4, SIZE = 1MB) TO FILEGROUP [PRIMARY]";
        assert_eq!(
            numbers(&run(&mut session, &format!("ALTER DATABASE CURRENT ADD FILE {several}"))),
            NOTHING
        );
        let now = ["1d0", "2l1", "3d30", "4l21", "5second0", "6l31", "7d40"];
        assert_eq!(rows(&mut session, names), now);
        run(&mut session, "CREATE TABLE t (i int NOT NULL, v char(5000) NOT NULL)");
        insert(&mut session, 0..80);
        // The same numbers in all views, and in the addresses of pages.
        let shown = "SELECT COUNT(*) FROM sys.database_files f JOIN sys.dm_io_virtual_file_stats(DB_ID(), NULL) s ON s.file_id = f.file_id \
                     JOIN sys.master_files m ON m.file_id = f.file_id AND m.database_id = DB_ID() AND m.name = f.name";
        assert_eq!(number(&mut session, shown), 7);
        assert_eq!(rows(&mut session, "SELECT FILE_NAME(5), FILE_ID('d4'), FILE_IDEX('l2')"), ["second|7|4"]);
        assert_eq!(used(&mut session).len(), 4);
        assert_eq!(
            number(
                &mut session,
                "SELECT COUNT(*) FROM sys.database_files WHERE FILEPROPERTY(name, 'SpaceUsed') >= 0"
            ),
            7
        );
        server.stop(session);

        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(rows(&mut session, names), now);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 80);
        assert_sound(&mut session);
        server.stop(session);
    });
}

/// New pages go to the files in proportion to what is free in them; when all are full one of them grows, within its own limits.
#[test]
fn files_are_filled_in_proportion() {
    on_a_machine(321, |os| {
        let (server, mut session) = small(os);
        let limits = "SIZE = 4MB, MAXSIZE = 4MB), (NAME = third, SIZE = 8MB, FILEGROWTH = 0";
        run(&mut session, &format!("ALTER DATABASE CURRENT ADD FILE (NAME = second, {limits})"));
        run(&mut session, "ALTER DATABASE CURRENT MODIFY FILE (NAME = d, FILEGROWTH = 0)");
        let before = used(&mut session);
        insert(&mut session, 0..600);
        let after = used(&mut session);
        let grown: Vec<i64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        // 512 and 1,024 pages, and a few of the first file: 600 rows, about 1 to 2.
        let ratio = grown[2] as f64 / grown[1] as f64;
        assert!((1.8..2.2).contains(&ratio), "{grown:?}");
        insert(&mut session, 600..1200);
        let full = used(&mut session);
        assert!(full[1] < 512 && full[2] < 1024 && full[1] > 350, "none is full before the others: {full:?}");
        // Full to the last page: 1105. More room is used as soon as it is there.
        let mut i = 1200;
        while numbers(&run(&mut session, &format!("INSERT t VALUES ({i}, 'x')"))).is_empty() {
            i += 1;
        }
        assert_eq!(numbers(&run(&mut session, "INSERT t VALUES (-1, 'x')")), [1105]);
        let grow = "ALTER DATABASE CURRENT MODIFY FILE (NAME = third, SIZE = 9MB, NEWNAME = last)";
        assert_eq!(numbers(&run(&mut session, grow)), NOTHING);
        insert(&mut session, i..i + 100);
        for (wrong, error) in [
            ("MODIFY FILE (NAME = second, SIZE = 5MB)", 5040),
            ("MODIFY FILE (NAME = second, SIZE = 1MB)", 5039),
            ("MODIFY FILE (NAME = third, SIZE = 50MB)", 5041),
            ("MODIFY FILE (NAME = second, NEWNAME = D)", 1828),
            ("ADD FILE (NAME = LAST, SIZE = 1MB)", 1828),
            ("ADD FILE (NAME = a, SIZE = 1MB), (NAME = A, SIZE = 1MB)", 1828),
            (r"ADD FILE (NAME = a, FILENAME = 'D:\d.mdf')", 5170),
            ("ADD FILE (NAME = a, SIZE = 8KB)", 5174),
            ("ADD FILE (NAME = a, SIZE = 2MB, MAXSIZE = 1MB)", 5103),
            ("ADD FILE (NAME = a) TO FILEGROUP other", 1921),
            ("ADD FILEGROUP other", 40517),
            ("REMOVE FILE nothing", 5009),
            ("REMOVE FILE d", 5020),
            ("REMOVE FILE second", 5042),
        ] {
            assert_eq!(
                numbers(&run(&mut session, &format!("ALTER DATABASE CURRENT {wrong}"))),
                [error],
                "{wrong}"
            );
        }
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM sys.database_files"), 4);
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), i + 100);
        assert_eq!(number(&mut session, "SELECT size FROM sys.database_files WHERE name = 'last'"), 9 * 128);
        assert_sound(&mut session);
        server.stop(session);
    });
}

/// A missing second data file: the database waits for it (RECOVERY_PENDING, 945), all others work; with the file it is complete.
#[test]
fn a_missing_data_file_leaves_the_database_pending() {
    on_a_machine(322, |os| {
        let (server, mut session) = small(os);
        run(&mut session, ADD);
        run(&mut session, "CREATE DATABASE other");
        insert(&mut session, 0..100);
        assert!(used(&mut session)[1] > 30);
        server.stop(session);
        let (disk, away) = (os.disk(), Path::new("/data/away.ndf"));
        disk.rename(Path::new(SECOND), away).unwrap();

        let server = Server::open(os);
        let mut session = server.session_in("other");
        let state = format!("SELECT state_desc FROM sys.databases WHERE name = '{NAME}'");
        assert_eq!(rows(&mut session, &state), ["RECOVERY_PENDING"]);
        assert_eq!(numbers(&run(&mut session, &format!("USE {NAME}"))), [945]);
        assert_eq!(numbers(&run(&mut session, "CREATE TABLE works (i int)")), NOTHING);
        server.stop(session);
        disk.rename(away, Path::new(SECOND)).unwrap();

        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 100);
        assert_sound(&mut session);
        server.stop(session);
    });
}

/// The acknowledgements of one life of [`join_and_leave`].
#[derive(Clone, Copy)]
struct Told {
    rows: i64,
    state: &'static str,
}

/// When the power fails: after so many I/Os from here on.
#[derive(Clone, Copy, Debug)]
enum Cut {
    FromJoining(u64),
    FromLeaving(u64),
}

/// ADD FILE, growth in it, EMPTYFILE and REMOVE FILE; the power fails in the middle. Returns the position of the failure; an error when a row is
/// lost, the database does not open or is inconsistent, or the disk has other files than the catalog.
fn join_and_leave(cut: Cut, bug: Option<Bug>) -> Result<&'static str, String> {
    let (Cut::FromJoining(seed) | Cut::FromLeaving(seed)) = cut;
    let told = kept(Told { rows: 0, state: "absent" });
    let (noted, seen) = (told.clone(), told.clone());
    let work = move |os: &Os, device: &World| {
        let (server, mut session) = small(os);
        run(&mut session, "CHECKPOINT");
        if let Cut::FromJoining(ios) = cut {
            device.power_off_after_ios(ios);
        }
        noted.lock().state = "joining";
        assert_eq!(numbers(&run(&mut session, ADD)), NOTHING);
        noted.lock().state = "there";
        for i in 0..130 {
            insert(&mut session, i..i + 1);
            noted.lock().rows = i + 1;
        }
        assert_eq!(numbers(&run(&mut session, "CHECKPOINT; UPDATE t SET v = 'y'")), NOTHING);
        noted.lock().state = "emptying";
        assert_eq!(numbers(&run(&mut session, EMPTY)), NOTHING);
        if let Cut::FromLeaving(ios) = cut {
            device.power_off_after_ios(ios);
        }
        noted.lock().state = "leaving";
        assert_eq!(numbers(&run(&mut session, REMOVE)), [0]);
        noted.lock().state = "gone";
        for i in 130..140 {
            insert(&mut session, i..i + 1);
            noted.lock().rows = i + 1;
        }
        (server, session)
    };
    let judge = move |os: &Os| {
        let Told { rows: acknowledged, state } = *seen.lock();
        let server = Server::open(os);
        let mut session = server.session();
        let found = number(&mut session, "SELECT COUNT(*) FROM t");
        assert!(found >= acknowledged, "{state}: {found} of {acknowledged} rows");
        assert_sound(&mut session);
        let shown = number(&mut session, "SELECT COUNT(*) FROM sys.database_files WHERE name = 'second'");
        assert_eq!(os.disk().exists(Path::new(SECOND)), shown == 1, "{state}: catalog and disk agree");
        match state {
            "there" | "emptying" => assert_eq!(shown, 1),
            "absent" | "gone" => assert_eq!(shown, 0),
            _ => {}
        }
        // The interrupted statement can be completed.
        if shown == 0 {
            assert_eq!(numbers(&run(&mut session, ADD)), NOTHING, "{state}");
        }
        insert(&mut session, 1000..1010);
        assert_eq!(numbers(&run(&mut session, EMPTY)), NOTHING);
        assert_eq!(numbers(&run(&mut session, REMOVE)), [0]);
        assert_sound(&mut session);
        server.stop(session);
    };
    let judged = through_power_cut(seed, bug, work, judge);
    let state = told.lock().state;
    judged.map(|()| state).map_err(|error| format!("{state}: {error}"))
}

/// Positions of the failure: each of the first I/Os, some of the many for rows and emptying, and each of the removal.
fn cuts() -> impl Iterator<Item = Cut> {
    (1..40).chain((40..700).step_by(7)).map(Cut::FromJoining).chain((1..40).map(Cut::FromLeaving))
}

#[test]
fn joining_and_leaving_survive_power_cuts() {
    let mut states = BTreeSet::new();
    for cut in cuts() {
        let state = join_and_leave(cut, None).unwrap_or_else(|error| panic!("{cut:?}: {error}"));
        states.insert(state);
    }
    assert_eq!(states.into_iter().collect::<Vec<_>>(), ["emptying", "gone", "joining", "leaving", "there"]);
}

/// The test above detects files that are used before master records them, or are removed before it does or while redo may need them.
#[test]
fn planted_bugs_of_joining_and_leaving_are_found() {
    for bug in [Bug::UsedBeforeNoted, Bug::LeaveBeforeNoted, Bug::GivenUpBeforeCheckpoint] {
        let found = cuts().find(|&cut| join_and_leave(cut, Some(bug)).is_err());
        println!("{bug:?} at {found:?}");
        assert!(found.is_some(), "{bug:?} was not seen");
    }
}

/// A table at the end of the only file is dropped or moved and the end is released; the power fails after so many I/Os of that. Returns whether the
/// file was smaller by then.
fn shrink(cut_after: u64, bug: Option<Bug>) -> Result<bool, String> {
    let told = kept(false);
    let noted = told.clone();
    let work = move |os: &Os, device: &World| {
        let (server, mut session) = small(os);
        run(
            &mut session,
            "CREATE TABLE big (i int NOT NULL PRIMARY KEY, v char(5000) NOT NULL, w varchar(max))",
        );
        let fill = "INSERT big SELECT TOP (150) ROW_NUMBER() OVER (ORDER BY name), 'x', REPLICATE('w', 9000) FROM sys.all_columns";
        assert_eq!(numbers(&run(&mut session, fill)), NOTHING);
        insert(&mut session, 0..20);
        run(&mut session, "CHECKPOINT; UPDATE big SET v = 'y'");
        let before = number(&mut session, "SELECT size FROM sys.database_files WHERE file_id = 1");
        run(&mut session, "DROP TABLE big");
        device.power_off_after_ios(cut_after);
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (d, 1) WITH NO_INFOMSGS")), NOTHING);
        let after = number(&mut session, "SELECT size FROM sys.database_files WHERE file_id = 1");
        assert!(after < before / 2, "{before} pages, then {after}");
        *noted.lock() = true;
        insert(&mut session, 20..90);
        (server, session)
    };
    let judge = move |os: &Os| {
        let server = Server::open(os);
        let mut session = server.session();
        assert!(number(&mut session, "SELECT COUNT(*) FROM t WHERE i < 20") == 20);
        assert_sound(&mut session);
        insert(&mut session, 100..300);
        assert_sound(&mut session);
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (d) WITH NO_INFOMSGS")), NOTHING);
        assert_sound(&mut session);
        server.stop(session);
    };
    through_power_cut(cut_after, bug, work, judge).map(|()| *told.lock())
}

#[test]
fn shrinking_survives_power_cuts() {
    let mut seen = BTreeSet::new();
    for cut_after in (1..60).chain((60..200).step_by(9)) {
        seen.insert(shrink(cut_after, None).unwrap_or_else(|error| panic!("cut {cut_after}: {error}")));
    }
    assert_eq!(seen.len(), 2, "before and after");
}

#[test]
fn planted_bugs_of_shrinking_are_found() {
    let bug = Bug::GivenUpBeforeCheckpoint;
    let found = (1..60).chain((60..200).step_by(9)).find(|&cut_after| shrink(cut_after, Some(bug)).is_err());
    println!("{bug:?} at cut {found:?}");
    assert!(found.is_some(), "{bug:?} was not seen");
}

/// SHRINKFILE moves pages while other sessions read and change them; NOTRUNCATE keeps the size, TRUNCATEONLY moves nothing; SHRINKDATABASE
/// processes all files; no row is lost.
#[test]
fn files_are_shrunk_under_load() {
    on_a_machine(323, |os| {
        let (server, mut session) = small(os);
        run(&mut session, "CREATE TABLE gap (i int NOT NULL, v char(5000) NOT NULL)");
        let fill = "INSERT gap SELECT TOP (300) ROW_NUMBER() OVER (ORDER BY name), 'x' FROM sys.all_columns";
        assert_eq!(numbers(&run(&mut session, fill)), NOTHING);
        run(
            &mut session,
            "CREATE TABLE k (i int NOT NULL PRIMARY KEY, n int NOT NULL, v char(2000) NOT NULL, w varchar(max)); CREATE INDEX n ON k (n)",
        );
        insert(&mut session, 0..50);
        let size = "SELECT size FROM sys.database_files WHERE file_id = 1";
        run(&mut session, "TRUNCATE TABLE gap");
        let before = number(&mut session, size);
        let shared = server.shared();
        let writer = os.spawn("writer", move || {
            let mut session = connect(&shared, NAME);
            for i in 0..150 {
                let text = format!(
                    "INSERT k VALUES ({i}, {}, 'x', REPLICATE('w', {})); UPDATE t SET v = 'y' WHERE i = {}",
                    -i,
                    i * 100,
                    i % 50
                );
                assert_eq!(numbers(&run(&mut session, &text)), NOTHING);
            }
            session.close();
        });
        assert_eq!(
            numbers(&run(&mut session, "DBCC SHRINKFILE (1, 1, NOTRUNCATE) WITH NO_INFOMSGS")),
            NOTHING
        );
        assert!(number(&mut session, size) >= before);
        for _ in 0..6 {
            assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (d, 2) WITH NO_INFOMSGS")), NOTHING);
        }
        writer.join().unwrap();
        assert_eq!(
            numbers(&run(&mut session, "DBCC SHRINKFILE (d, TRUNCATEONLY) WITH NO_INFOMSGS")),
            NOTHING
        );
        assert!(number(&mut session, size) <= before);
        assert_sound(&mut session);
        run(&mut session, "DROP TABLE k; ALTER DATABASE CURRENT MODIFY FILE (NAME = d, SIZE = 40MB)");
        let seen = rows(&mut session, "DBCC SHRINKDATABASE (0, 10, TRUNCATEONLY) WITH NO_INFOMSGS");
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(number(&mut session, size) < 1000);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t WHERE v = 'y'"), 50);
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (d, EMPTYFILE)")), [2555]);
        assert_sound(&mut session);
        server.stop(session);
    });
}

/// A file that is being emptied is not filled meanwhile; an open transaction's contents keep it (5042); it can be removed after the rollback, too.
#[test]
fn a_file_with_open_transactions_is_not_removed() {
    on_a_machine(324, |os| {
        let (server, mut session) = small(os);
        run(&mut session, ADD);
        insert(&mut session, 0..60);
        run(&mut session, "CREATE TABLE other (i int NOT NULL, v char(5000) NOT NULL)");
        let mut open = server.session();
        run(&mut open, "BEGIN TRAN; INSERT other SELECT i, v FROM t");
        assert_eq!(
            numbers(&run(&mut session, "SET LOCK_TIMEOUT 50; DBCC SHRINKFILE (second, EMPTYFILE)")),
            [1222]
        );
        assert_eq!(numbers(&run(&mut session, REMOVE)), [5042]);
        run(&mut open, "ROLLBACK");
        open.close();
        assert_eq!(numbers(&run(&mut session, EMPTY)), NOTHING);
        insert(&mut session, 60..70);
        assert_eq!(used(&mut session)[1], 0, "it stays empty");
        // With a new size it is filled again.
        run(&mut session, "ALTER DATABASE CURRENT MODIFY FILE (NAME = second, SIZE = 5MB)");
        insert(&mut session, 70..100);
        assert!(used(&mut session)[1] > 0);
        assert_eq!(numbers(&run(&mut session, EMPTY)), NOTHING);
        assert_eq!(run(&mut session, REMOVE).messages[0].2, "The file 'second' has been removed.");
        assert_eq!(rows(&mut session, FILES).len(), 2);
        assert!(!os.disk().exists(Path::new(SECOND)));
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 100);
        assert_sound(&mut session);
        server.stop(session);
    });
}

/// Set-up scripts for tempdb: sizes and files take effect at once, and tempdb is created with them at each start.
#[test]
fn tempdb_keeps_its_files() {
    on_a_machine(325, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        for text in [
            "ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, SIZE = 16MB, FILEGROWTH = 4MB)",
            "ALTER DATABASE tempdb MODIFY FILE (NAME = templog, SIZE = 4MB)",
            r"ALTER DATABASE tempdb ADD FILE (NAME = temp2, FILENAME = 'T:\temp2.ndf', SIZE = 16MB, FILEGROWTH = 4MB)",
            r"ALTER DATABASE tempdb ADD FILE (NAME = temp3, FILENAME = 'T:\temp3.ndf', SIZE = 16MB), (NAME = temp4, SIZE = 16MB)",
            r"ALTER DATABASE tempdb ADD LOG FILE (NAME = templog2, FILENAME = 'T:\templog2.ldf', SIZE = 2MB)",
            "ALTER DATABASE tempdb REMOVE FILE temp4",
        ] {
            assert!(matches!(numbers(&run(&mut session, text))[..], [] | [0]), "{text}");
        }
        let files = "SELECT CONCAT(file_id, ' ', name, ' ', size / 128, ' ', growth) FROM sys.master_files WHERE database_id = 2 ORDER BY file_id";
        let expected = [
            "1 tempdev 16 512",
            "2 templog 4 8192",
            "3 temp2 16 512",
            "4 temp3 16 8192",
            "6 templog2 2 8192",
        ];
        assert_eq!(rows(&mut session, files), expected);
        let fill = "CREATE TABLE #t (i int, v char(5000)); INSERT #t SELECT TOP (900) 1, 'x' FROM sys.all_columns a, sys.all_columns b";
        for _ in 0..3 {
            assert_eq!(numbers(&run(&mut session, &format!("{fill}; DROP TABLE #t"))), NOTHING);
        }
        run(&mut session, fill);
        let spread =
            "SELECT COUNT(*) FROM tempdb.sys.dm_db_file_space_usage WHERE allocated_extent_page_count > 200";
        assert_eq!(number(&mut session, spread), 3);
        assert_eq!(numbers(&run(&mut session, "ALTER DATABASE tempdb REMOVE FILE temp3")), [5042]);
        server.stop(session);

        for _ in 0..2 {
            let server = Server::open(os);
            let mut session = server.session_in("tempdb");
            assert_eq!(rows(&mut session, files), expected);
            assert_eq!(numbers(&run(&mut session, fill)), NOTHING);
            assert_sound(&mut session);
            server.stop(session);
        }
        // The folder of some files is missing: the server starts without them.
        os.disk().remove(Path::new("/data/drives/t/temp2.ndf")).unwrap();
        let server = Server::open(os);
        let mut session = server.session_in("tempdb");
        assert_eq!(rows(&mut session, files), expected, "made anew");
        let remove = "DBCC SHRINKFILE (temp2, EMPTYFILE) WITH NO_INFOMSGS; ALTER DATABASE tempdb REMOVE FILE temp2; \
                      ALTER DATABASE tempdb REMOVE FILE templog2";
        assert_eq!(numbers(&run(&mut session, remove)), [0, 0]);
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session_in("tempdb");
        assert_eq!(rows(&mut session, files).len(), 3);
        assert!(!os.disk().exists(Path::new("/data/drives/t/temp2.ndf")));
        server.stop(session);
    });
}
