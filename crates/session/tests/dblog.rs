//! sys.fn_dblog: columns, arguments, which log it reads and which it skips, and that the log is not truncated while it is read (claim 40).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::simulated::{NAME, SMALL, Server, log_file, on_a_machine, repeat};
use crate::common::{World, numbers, rows, run};
use hardpan_session::{ColumnDescription, Done, EnvironmentChange, Flow, ResultSink, Session};
use types::{SqlError, SqlType, Value};

/// A database whose log grows at once to 64 MB, so that no checkpoint comes by itself, and a session in it.
fn world(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    run(
        &mut session,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf') LOG ON (NAME = d_log, FILENAME = 'd.ldf', SIZE = 64MB)",
    );
    run(&mut session, "USE d; CREATE TABLE heap (i int NOT NULL, v varchar(100) NOT NULL)");
    run(
        &mut session,
        "CREATE TABLE tree (i int NOT NULL CONSTRAINT tree_key PRIMARY KEY, v varchar(100) NOT NULL)",
    );
    run(&mut session, "CREATE INDEX by_v ON tree (v); CHECKPOINT");
    (world, session)
}

fn one(session: &mut Session, text: &str) -> String {
    let rows = rows(session, text);
    assert_eq!(rows.len(), 1, "{text}: {rows:?}");
    rows[0].clone()
}

/// The newest record of the log.
fn last_lsn(session: &mut Session) -> String {
    one(session, "SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)")
}

/// Reads of the log's file so far.
fn reads(session: &mut Session) -> i64 {
    one(session, "SELECT num_of_reads FROM sys.dm_io_virtual_file_stats(DB_ID('d'), 2)").parse().unwrap()
}

/// Claim 40: records and bytes of a piece of work are the difference of two counts, and they are what the log itself counts and what
/// `hardpan log dump` finds in the file.
#[test]
fn records_and_bytes_of_a_piece_of_work() {
    on_a_machine(40, |os| {
        let (server, mut session) = Server::with_table(os);
        let counted = "SELECT COUNT(*), SUM(CAST([Log Record Length] AS bigint)), \
                       SUM(CASE Operation WHEN 'LOP_BEGIN_XACT' THEN 1 ELSE 0 END), SUM(CASE Operation WHEN 'LOP_INSERT_ROWS' THEN 1 ELSE 0 END), \
                       SUM(CASE Operation WHEN 'LOP_COMMIT_XACT' THEN 1 ELSE 0 END) FROM fn_dblog(NULL, NULL)";
        let figures = |session: &mut Session| -> Vec<i64> {
            let row = one(session, counted);
            row.split('|').map(|figure| figure.parse().unwrap_or(0)).collect()
        };
        run(&mut session, "CHECKPOINT");
        let log = server.database().log().clone();
        let (before, stats) = (figures(&mut session), log.stats());
        let dumped = server.dump(&log_file().to_string_lossy());
        repeat(&mut session, 1, 1_000, SMALL);
        let (after, later) = (figures(&mut session), log.stats());
        let work: Vec<i64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
        assert_eq!(work[2..], [1_000, 1_000, 1_000], "begin, insert and commit each");
        assert!((3_000..3_020).contains(&work[0]), "and a few new pages: {work:?}");
        assert_eq!(work[0], (later.records_total - stats.records_total) as i64);
        assert_eq!(work[1], (later.record_bytes_total - stats.record_bytes_total) as i64);
        run(&mut session, "EXEC sys.sp_flush_log");
        let dump = server.dump(&log_file().to_string_lossy());
        assert_eq!(work[0], (dump.records_total - dumped.records_total) as i64, "{NAME}: the same decoders");
        assert_eq!(work[1], (dump.record_bytes_total - dumped.record_bytes_total) as i64);
        server.stop(session);
    });
}

#[test]
fn it_has_the_columns_that_tools_expect() {
    let (_world, mut session) = world("dblog-columns");
    let seen = run(&mut session, "SELECT TOP (1) * FROM sys.fn_dblog(NULL, NULL)");
    let (names, _) = &seen.sets[0];
    assert_eq!(names.len(), 130);
    let at = |name: &str| names.iter().position(|column| column == name).unwrap() + 1;
    let expected = [
        ("Current LSN", 1, SqlType::nvarchar(23)),
        ("Transaction ID", 4, SqlType::nvarchar(14)),
        ("Log Record Fixed Length", 7, SqlType::SmallInt),
        ("AllocUnitName", 13, SqlType::nvarchar(387)),
        ("Minimum LSN", 28, SqlType::nvarchar(23)),
        ("SPID", 36, SqlType::Int),
        ("Transaction SID", 41, SqlType::varbinary(85)),
        ("Savepoint Name", 67, SqlType::nvarchar(33)),
        ("New Split Page", 83, SqlType::nvarchar(14)),
        ("Description", 104, SqlType::nvarchar(256)),
        ("VLFs added", 110, SqlType::nvarchar(688)),
        ("RowLog Contents 0", 117, SqlType::varbinary(8_000)),
        ("PageFormat FormatOption", 129, SqlType::SmallInt),
        ("Log Record", 130, SqlType::varbinary(8_000)),
    ];
    for (name, position, sql_type) in expected {
        assert_eq!((at(name), seen.types[0][position - 1]), (position, sql_type), "{name}");
    }
    // Also with the columns alone, without a row.
    assert_eq!(rows(&mut session, "SELECT TOP (0) * FROM fn_dblog(NULL, NULL)").len(), 0);
}

#[test]
fn a_savepoint_is_in_the_log_of_a_transaction_that_is() {
    let (_world, mut session) = world("dblog-savepoints");
    let marks = "SELECT ISNULL([Savepoint Name], '-') FROM sys.fn_dblog(NULL, NULL) WHERE Operation = 'LOP_MARK_SAVEPOINT'";
    let newest = "SELECT IIF(database_transaction_most_recent_savepoint_lsn IS NULL, 'none', \
                  IIF(database_transaction_most_recent_savepoint_lsn = database_transaction_last_lsn, 'last', 'earlier')) \
                  FROM sys.dm_tran_database_transactions WHERE database_id = DB_ID() AND database_transaction_type = 1";
    let records = "SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL)";
    let before = rows(&mut session, records);
    // Nothing is written for a transaction that only reads.
    run(&mut session, "BEGIN TRAN; SAVE TRAN early; SELECT COUNT(*) FROM heap");
    assert_eq!((rows(&mut session, records), rows(&mut session, marks)), (before, vec![]));
    run(&mut session, "INSERT heap VALUES (1, 'one'); SAVE TRAN first");
    assert_eq!(rows(&mut session, newest), ["last"]);
    run(&mut session, "INSERT heap VALUES (2, 'two'); SAVE TRAN second; INSERT heap VALUES (3, 'three')");
    assert_eq!(rows(&mut session, marks), ["first", "second"]);
    assert_eq!(rows(&mut session, newest), ["earlier"]);
    let position = "SELECT database_transaction_most_recent_savepoint_lsn FROM sys.dm_tran_database_transactions \
                    WHERE database_id = DB_ID() AND database_transaction_type = 1";
    let of_second = rows(&mut session, position);
    // Back to the first: the second is gone, and the first is the newest again.
    run(&mut session, "ROLLBACK TRAN first");
    assert_ne!(rows(&mut session, position), of_second);
    assert_eq!(
        (rows(&mut session, newest), rows(&mut session, "SELECT COUNT(*) FROM heap")),
        (vec!["earlier".to_owned()], vec!["1".to_owned()])
    );
    // Back behind the beginning in the log: there is none.
    run(&mut session, "ROLLBACK TRAN early");
    assert_eq!(rows(&mut session, newest), ["none"]);
    run(&mut session, "COMMIT");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM heap"), ["0"]);
}

#[test]
fn a_transaction_is_told_with_names_pages_and_images() {
    let (_world, mut session) = world("dblog-told");
    run(
        &mut session,
        "BEGIN TRAN; INSERT heap VALUES (1, 'one'); SAVE TRAN here; UPDATE heap SET v = 'two' WHERE i = 1; ROLLBACK TRAN here; \
         INSERT tree VALUES (7, 'seven'); DELETE tree; COMMIT",
    );
    let told = rows(
        &mut session,
        "DECLARE @t nvarchar(14) = (SELECT MAX([Transaction ID]) FROM fn_dblog(NULL, NULL) WHERE [Operation] = 'LOP_BEGIN_XACT' AND SPID = @@SPID);
         SELECT Operation, Context, ISNULL(AllocUnitName, '-') FROM sys.fn_dblog(NULL, NULL) WHERE [Transaction ID] = @t",
    );
    assert_eq!(
        told,
        [
            "LOP_BEGIN_XACT|LCX_NULL|-",
            "LOP_INSERT_ROWS|LCX_HEAP|dbo.heap",
            "LOP_MARK_SAVEPOINT|LCX_NULL|-",
            "LOP_MODIFY_ROW|LCX_HEAP|dbo.heap",
            "LOP_MODIFY_ROW|LCX_HEAP|dbo.heap",
            "LOP_INSERT_ROWS|LCX_CLUSTERED|dbo.tree.tree_key",
            "LOP_INSERT_ROWS|LCX_INDEX_LEAF|dbo.tree.by_v",
            "LOP_DELETE_ROWS|LCX_INDEX_LEAF|dbo.tree.by_v",
            "LOP_DELETE_ROWS|LCX_CLUSTERED|dbo.tree.tree_key",
            "LOP_COMMIT_XACT|LCX_NULL|-",
        ]
    );
    let text = "SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL) AS r JOIN sys.allocation_units AS u ON u.allocation_unit_id = r.AllocUnitId
                JOIN sys.partitions AS p ON p.hobt_id = u.container_id WHERE p.object_id = OBJECT_ID('tree')
                AND r.Operation = 'LOP_INSERT_ROWS'";
    assert_eq!(one(&mut session, text), "2", "units are those of sys.allocation_units");
    let text = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_INSERT_ROWS' AND Context = 'LCX_HEAP'
                AND [Page ID] LIKE '0001:________' AND [Slot ID] = 0 AND CHARINDEX('one', CAST([RowLog Contents 0] AS varchar(8000))) > 0
                AND [RowLog Contents 1] IS NULL";
    assert_eq!(one(&mut session, text), "1", "the row's image");
    let text = "SELECT CAST([RowLog Contents 0] AS varchar(8000)) + ' ' + CAST([RowLog Contents 1] AS varchar(8000))
                FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_MODIFY_ROW' AND Description NOT LIKE 'COMPENSATION%'";
    assert_eq!(one(&mut session, text), "one two", "before and after");
    let text = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Description LIKE 'COMPENSATION%' AND [Flag Bits] & 32 = 32";
    assert_eq!(one(&mut session, text), "1");
    // What every record has: lengths that agree with its bytes, a previous record of the same transaction.
    let text = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE [Log Record Length] <> DATALENGTH([Log Record])
                OR [Log Record Fixed Length] NOT BETWEEN 2 AND [Log Record Length]
                OR [Transaction ID] <> '0000:00000000' AND Operation <> 'LOP_BEGIN_XACT' AND [Previous LSN] NOT IN
                (SELECT [Current LSN] FROM fn_dblog(NULL, NULL) AS p WHERE p.[Transaction ID] = fn_dblog.[Transaction ID])";
    assert_eq!(one(&mut session, text), "0");
    let text = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_BEGIN_XACT' AND SPID = @@SPID
                AND ABS(DATEDIFF(second, CONVERT(datetime, STUFF([Begin Time], 20, 1, '.'), 121), GETUTCDATE())) < 3600";
    assert_ne!(one(&mut session, text), "0", "times are UTC");
    // A table that is gone has given its pages back.
    run(&mut session, "DROP TABLE heap");
    let text = "SELECT DISTINCT AllocUnitName FROM fn_dblog(NULL, NULL) WHERE Context = 'LCX_HEAP'";
    assert_eq!(one(&mut session, text), "Unknown Alloc Unit");
}

#[test]
fn arguments_are_decimal_or_hexadecimal_and_both_ends_belong_to_it() {
    let (_world, mut session) = world("dblog-arguments");
    let before = last_lsn(&mut session);
    run(&mut session, "INSERT heap VALUES (1, 'a')");
    let mut lsns = rows(&mut session, &format!("SELECT [Current LSN] FROM fn_dblog('0x{before}', NULL)"));
    assert_eq!(lsns.remove(0), before, "the first belongs to it");
    let wanted: Vec<String> = rows(&mut session, "SELECT [Current LSN] FROM fn_dblog(NULL, NULL)");
    assert!(wanted.ends_with(&lsns) && lsns.len() >= 3);
    let decimal = |lsn: &str| {
        let parts: Vec<String> =
            lsn.split(':').map(|part| u32::from_str_radix(part, 16).unwrap().to_string()).collect();
        parts.join(":")
    };
    let (first, last) = (lsns[0].clone(), lsns[lsns.len() - 1].clone());
    for (start, end) in [
        (decimal(&first), decimal(&last)),
        (format!("0x{first}"), format!("0x{last}")),
        (first.clone(), last.clone()),
        (decimal(&first), "ffffff:1:1".replace("ffffff", "16777215")),
    ] {
        let text = format!("SELECT [Current LSN] FROM sys.fn_dblog(N'{start}', '{end}')");
        assert_eq!(rows(&mut session, &text), lsns, "{text}");
    }
    let text = format!(
        "DECLARE @s nvarchar(25) = '{}'; SELECT COUNT(*) FROM d.sys.fn_dblog(@s, @s)",
        decimal(&first)
    );
    assert_eq!(one(&mut session, &text), "1");
    let text = format!("SELECT COUNT(*) FROM fn_dblog('{last}', '{first}')");
    assert_eq!(one(&mut session, &text), "0", "the end before the start");
    let text = format!("SELECT COUNT(*) FROM ::fn_dblog(NULL, '{first}')");
    assert_eq!(one(&mut session, &text), (wanted.len() - lsns.len() + 1).to_string());
    for (text, number) in [
        ("SELECT 1 FROM fn_dblog('x', NULL)", 9005),
        ("SELECT 1 FROM fn_dblog(NULL, '1:2')", 9005),
        ("SELECT 1 FROM fn_dblog('0:0:1', NULL)", 9005),
        ("SELECT 1 FROM fn_dblog('16777215:16:1', NULL)", 9005),
        ("SELECT 1 FROM fn_dblog(12, NULL)", 9005),
        ("SELECT 1 FROM fn_dblog(NULL)", 313),
        ("SELECT 1 FROM fn_dblog()", 313),
        ("SELECT 1 FROM fn_dblog(NULL, NULL, NULL)", 8144),
        ("SELECT 1 FROM missing.sys.fn_dblog(NULL, NULL)", 208),
        (
            &format!(
                "SELECT 1 FROM fn_dump_dblog(NULL, NULL, N'DISK', 1, N'd.bak'{})",
                ", DEFAULT".repeat(63)
            ),
            40514,
        ),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [number], "{text}");
    }
}

/// Records that are only in memory are shown; those of the query itself, and those that other sessions append while it runs, are not.
#[test]
fn it_ends_with_what_was_there_when_it_began() {
    let (world, mut session) = world("dblog-end");
    run(&mut session, "ALTER DATABASE d SET DELAYED_DURABILITY = FORCED; INSERT heap VALUES (1, 'delayed')");
    let mut other = world.session();
    run(&mut other, "USE d; BEGIN TRAN; INSERT heap VALUES (2, 'open')");
    let text = "SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_INSERT_ROWS' AND Context = 'LCX_HEAP'";
    assert_eq!(one(&mut session, text), "2");
    // The query would never end if it read its own records.
    run(&mut session, "SELECT * INTO copied FROM fn_dblog(NULL, NULL)");
    let copied: usize = one(&mut session, "SELECT COUNT(*) FROM copied").parse().unwrap();
    assert!(copied > 5);
    run(&mut session, "INSERT copied SELECT * FROM fn_dblog(NULL, NULL)");
    run(&mut other, "ROLLBACK");
}

/// In tempdb the log has what undo needs: an inserted row leaves no image (claim 82).
#[test]
fn the_log_of_tempdb_is_read_as_well() {
    let (_world, mut session) = world("dblog-tempdb");
    run(
        &mut session,
        "USE tempdb; CREATE TABLE #t (v varchar(20)); INSERT #t VALUES ('in tempdb'); DELETE #t",
    );
    let text = "SELECT Operation, CASE WHEN [RowLog Contents 0] IS NULL THEN 'none' ELSE 'image' END FROM fn_dblog(NULL, NULL)
                WHERE Context = 'LCX_HEAP' AND Operation IN ('LOP_INSERT_ROWS', 'LOP_DELETE_ROWS') AND AllocUnitName LIKE 'dbo.#t%'";
    assert_eq!(rows(&mut session, text), ["LOP_INSERT_ROWS|none", "LOP_DELETE_ROWS|none"]);
    assert_eq!(
        one(
            &mut session,
            "SELECT COUNT(*) FROM d.sys.fn_dblog(NULL, NULL) WHERE AllocUnitName LIKE 'dbo.#t%'"
        ),
        "0"
    );
}

/// A log of some 20 MB: TOP, bounds on [Current LSN] and a [Transaction ID] read a few pieces of it only, and find what a whole scan does.
#[test]
fn only_the_blocks_that_are_wanted_are_read() {
    let (_world, mut session) = world("dblog-reads");
    run(
        &mut session,
        "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 40 BEGIN
           INSERT heap SELECT value, REPLICATE('x', 90) FROM GENERATE_SERIES(1, 3000); INSERT tree VALUES (@i, 'tree'); SET @i += 1 END",
    );
    run(&mut session, "EXEC sys.sp_flush_log");
    let costs = |session: &mut Session, text: &str| {
        let before = reads(session);
        let found = rows(session, text);
        (found, reads(session) - before)
    };
    let (all, whole) =
        costs(&mut session, "SELECT COUNT(*), SUM([Log Record Length]) FROM fn_dblog(NULL, NULL)");
    let mut figures = all[0].split('|').map(|figure| figure.parse::<i64>().unwrap());
    assert!(figures.next().unwrap() > 3_000 && figures.next().unwrap() > 12_000_000, "{all:?}");
    assert!(whole > 12, "{whole} reads for the whole log");

    let (first, cost) = costs(&mut session, "SELECT TOP (3) [Current LSN] FROM fn_dblog(NULL, NULL)");
    assert_eq!((first.len(), cost), (3, 1), "it stops with TOP");

    let text = "SELECT [Transaction ID], [Current LSN] FROM fn_dblog(NULL, NULL) WHERE AllocUnitName = 'dbo.tree.tree_key'
                ORDER BY [Current LSN] OFFSET 25 ROWS FETCH NEXT 1 ROWS ONLY";
    let (found, _) = costs(&mut session, text);
    let (txn, lsn) = found[0].split_once('|').unwrap();
    let by_hand = rows(
        &mut session,
        &format!(
            "SELECT [Current LSN], Operation FROM fn_dblog(NULL, NULL) WHERE [Transaction ID] + '' = '{txn}'"
        ),
    );
    assert!(by_hand.len() >= 4 && by_hand[0].ends_with("|LOP_BEGIN_XACT"), "{by_hand:?}");
    let of_txn = |predicate: &str| {
        format!("SELECT [Current LSN], Operation FROM fn_dblog(NULL, NULL) WHERE {predicate}")
    };
    let (found, cost) = costs(&mut session, &of_txn(&format!("[Transaction ID] = '{txn}'")));
    assert_eq!(found, by_hand);
    assert!(cost <= 2, "{cost} reads for one transaction");
    let (found, cost) = costs(&mut session, &of_txn("'0123:00000001' = [Transaction ID]"));
    assert_eq!((found.len(), cost), (0, 0), "a transaction that nobody was");

    let (begin, end) = (&by_hand[0][..22], &by_hand[by_hand.len() - 1][..22]);
    for (predicate, rows_least, cost_most) in [
        (format!("[Current LSN] = '{lsn}'"), 1, 2),
        (format!("[Current LSN] = '{}'", lsn.to_uppercase()), 1, 2),
        (format!("[Current LSN] BETWEEN '{begin}' AND '{end}'"), by_hand.len(), 2),
        (format!("[Current LSN] > '{begin}' AND '{end}' >= [Current LSN]"), by_hand.len() - 1, 2),
        (format!("[Current LSN] = (SELECT '{lsn}')"), 1, 2),
        ("[Current LSN] > 'ffffffff:ffffffff:ffff'".to_owned(), 0, whole),
        ("[Current LSN] = NULL".to_owned(), 0, whole),
    ] {
        let (found, cost) = costs(&mut session, &of_txn(&predicate));
        let whole_scan =
            rows(&mut session, &of_txn(&predicate.replace("[Current LSN]", "([Current LSN] + '')")));
        assert_eq!(found, whole_scan, "{predicate}");
        assert!(
            found.len() >= rows_least && cost <= cost_most,
            "{predicate}: {} rows, {cost} reads",
            found.len()
        );
    }
    let (found, cost) = costs(&mut session, &format!("SELECT COUNT(*) FROM fn_dblog('{begin}', '{end}')"));
    assert!(found[0].parse::<usize>().unwrap() >= by_hand.len() && cost <= 1, "{found:?}, {cost} reads");
}

/// Rows of a query; at the first one another session works.
struct Interrupting {
    other: Session,
    work: String,
    /// The log holders meanwhile.
    holders: Vec<String>,
    /// What comes, in its order: nothing is kept, so that the memory seen is the query's.
    expected: std::vec::IntoIter<String>,
    count: usize,
    unexpected: usize,
    errors: Vec<i32>,
    /// Memory pages of the reading session, sampled.
    memory_pages: Vec<i64>,
}

impl ResultSink for Interrupting {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.count += 1;
        self.unexpected += usize::from(self.expected.next() != row[0].as_text());
        if self.count == 1 {
            for _ in 0..2 {
                run(&mut self.other, &self.work);
                run(&mut self.other, "CHECKPOINT");
            }
            let text = "SELECT holder, held_from_lsn FROM sys.dm_db_log_holders
                        WHERE database_id = DB_ID() AND log_reuse_wait_desc = 'LOG_SCAN'";
            self.holders = rows(&mut self.other, text);
        }
        if self.count % 20_000 == 1 {
            let text = "SELECT memory_usage FROM sys.dm_exec_sessions WHERE session_id = @@SPID - 1";
            self.memory_pages.push(one(&mut self.other, text).parse().unwrap());
        }
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        self.errors.push(message.number);
    }
    fn done(&mut self, _done: Done) {}
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
    fn environment(&mut self, _change: EnvironmentChange) {}
}

/// Work and a checkpoint happen during the query: the log being read is kept, the query is shown as its holder, and the log is released afterwards.
#[test]
fn nobody_takes_the_log_from_under_it() {
    let (world, mut session) = world("dblog-truncation");
    // A row for each statement: rows that are inserted together are one record.
    let work = "SET NOCOUNT ON; DECLARE @i int = 0; BEGIN TRAN; WHILE @i < 90000 BEGIN
                  INSERT heap VALUES (@i, REPLICATE('x', 90)); SET @i += 1 END; COMMIT";
    run(&mut session, work);
    let expected = rows(&mut session, "SELECT [Current LSN] FROM fn_dblog(NULL, NULL)");
    let mut other = world.session();
    run(&mut other, "USE d");
    let mut seen = Interrupting {
        other,
        work: work.to_owned(),
        holders: Vec::new(),
        expected: expected.clone().into_iter(),
        count: 0,
        unexpected: 0,
        errors: Vec::new(),
        memory_pages: Vec::new(),
    };
    assert_eq!(seen.other.id(), session.id() + 1);
    session.execute_batch("SELECT [Current LSN] FROM fn_dblog(NULL, NULL)", &mut seen);
    assert_eq!(seen.errors, [0; 0]);
    let left = seen.expected.len();
    assert_eq!(
        (seen.unexpected, left, seen.count),
        (0, 0, expected.len()),
        "all that was there when it began, nothing else"
    );
    let holder = format!("fn_dblog of session {}|{}", session.id(), expected[0]);
    assert_eq!(seen.holders, [holder]);
    // 90,000 records of some 9 MB use a bounded amount of memory: rows are produced one by one.
    let (first, most) = (seen.memory_pages[0], *seen.memory_pages.iter().max().unwrap());
    assert!(seen.memory_pages.len() >= 5 && most < first + 64, "{:?} pages of 8 KB", seen.memory_pages);
    run(&mut session, "CHECKPOINT");
    assert_eq!(
        one(
            &mut session,
            "SELECT COUNT(*) FROM sys.dm_db_log_holders WHERE log_reuse_wait_desc = 'LOG_SCAN'"
        ),
        "0"
    );
    let count: usize = one(&mut session, "SELECT COUNT(*) FROM fn_dblog(NULL, NULL)").parse().unwrap();
    assert!(count < 10, "a checkpoint leaves little: {count}");
    assert_eq!(
        numbers(&run(&mut session, &format!("SELECT 1 FROM fn_dblog('{}', NULL)", expected[0]))),
        [9005]
    );
}

/// DBCC LOG shows these records, with more columns for higher second arguments.
#[test]
fn dbcc_log_shows_the_same_records() {
    let (_world, mut session) = world("dblog-dbcc");
    run(&mut session, "INSERT heap VALUES (1, 'a')");
    let expected = rows(
        &mut session,
        "SELECT [Current LSN], Operation, Context, [Transaction ID] FROM fn_dblog(NULL, NULL)",
    );
    for (text, columns) in [
        ("DBCC LOG", 5),
        ("DBCC LOG (d, 0)", 5),
        ("DBCC LOG ('d', 1) WITH NO_INFOMSGS", 12),
        ("DBCC LOG (0, 2)", 16),
        ("USE master; DBCC LOG (d, 3)", 129),
        ("USE master; DBCC LOG ('d', 4)", 130),
    ] {
        let seen = run(&mut session, text);
        let (names, found) = seen.sets.last().unwrap();
        assert_eq!((names.len(), found.len()), (columns, expected.len()), "{text}");
        assert!(found.iter().zip(&expected).all(|(row, expected)| row[..4].join("|") == *expected), "{text}");
    }
    for (text, number) in [
        ("DBCC LOG (d, 5)", 2526),
        ("DBCC LOG (missing, 0)", 2520),
        ("DBCC LOG (d, 0) WITH TABLERESULTS", 2526),
    ] {
        assert_eq!(numbers(&run(&mut session, text))[0], number, "{text}");
    }
}
