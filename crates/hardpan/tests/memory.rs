//! The real program with a limit of its address space and little memory: whatever the requests, it survives, serves others, and returns freed memory
//! to the system.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself, starts processes and keeps time"
)]

mod common;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Folder, PASSWORD, PROGRAM, Server};
use os::{Os, Stream};
use tds::client::{RequestWriter, Token, TokenReader};
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::{MessageReader, ReadLimits};
use tds::token::done;

/// The value of `--memory`, and the limit of the address space.
const MEMORY_MB: u64 = 64;
const ADDRESS_SPACE_KB: u64 = 2_000_000;
/// Longer than any request that ends.
const PATIENCE: Duration = Duration::from_secs(300);
/// Pages, requests, and the other memory of the process and its allocator.
const RESIDENT_MB_MAX: u64 = 2 * MEMORY_MB + 200;

struct Limited {
    server: Server,
    _folder: Folder,
}

impl Limited {
    fn start(name: &str) -> Limited {
        let folder = Folder::new(&format!("memory-{name}"));
        let limited = format!("ulimit -v {ADDRESS_SPACE_KB}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, PROGRAM, "serve", "--listen", "127.0.0.1:0"]);
        command.args(["--memory", &MEMORY_MB.to_string(), "--log-cache", "OFF", "--data"]).arg(&folder.0);
        command.env("HARDPAN_SA_PASSWORD", PASSWORD);
        Limited { server: Server::start(&mut command), _folder: folder }
    }

    fn resident_mb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("the process lives");
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    fn assert_alive(&mut self) {
        assert_eq!(self.server.child.try_wait().unwrap(), None, "the server lives");
        let resident_mb = self.resident_mb();
        assert!(resident_mb < RESIDENT_MB_MAX, "{resident_mb} MB");
    }

    fn client(&self) -> Client {
        let stream = Os::real().net().connect(&self.server.socket_address(), 5_000_000_000).unwrap();
        stream.set_read_timeout(Some(60_000_000_000)).unwrap();
        let version = TdsVersion::V7_4;
        let mut client = Client {
            stream,
            reader: MessageReader::new(ReadLimits::session(1 << 30)),
            writer: RequestWriter::new(version, 4096),
            version,
        };
        let login = Login7 {
            version,
            user_name: "sa".into(),
            password: Password(PASSWORD.into()),
            database: "master".into(),
            ..Login7::default()
        };
        let bytes = client.writer.login7(&login);
        client.stream.write_all(&bytes).unwrap();
        assert!(client.tokens().iter().any(|token| matches!(token, Token::LoginAck { .. })));
        client
    }
}

struct Client {
    stream: Arc<dyn Stream>,
    reader: MessageReader,
    writer: RequestWriter,
    version: TdsVersion,
}

impl Client {
    fn send(&mut self, text: &str) {
        let bytes = self.writer.batch(text, 0);
        self.stream.write_all(&bytes).unwrap();
    }

    fn tokens(&mut self) -> Vec<Token> {
        let mut buffer = [0; 65_536];
        loop {
            if self.reader.next().unwrap().is_some() {
                return TokenReader::new(self.reader.payload(), self.version).collect().unwrap();
            }
            let count = self.stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the connection goes on");
            self.reader.feed(&buffer[..count]).unwrap();
        }
    }

    /// The errors of a batch and its number of rows.
    fn batch(&mut self, text: &str) -> (Vec<i32>, usize) {
        self.send(text);
        let tokens = self.tokens();
        let errors = tokens.iter().filter_map(|token| match token {
            Token::Message { error, .. } if error.severity > 10 => Some(error.number),
            _ => None,
        });
        (errors.collect(), tokens.iter().filter(|token| matches!(token, Token::Row(_))).count())
    }

    fn number(&mut self, text: &str) -> i64 {
        self.send(text);
        let row = self.tokens().into_iter().find_map(|token| match token {
            Token::Row(row) => row[0].as_i64(),
            _ => None,
        });
        row.unwrap_or_else(|| panic!("{text}"))
    }
}

/// 24,000 rows of 1,500 bytes.
fn fill(client: &mut Client) {
    let made = "CREATE TABLE w (i int NOT NULL, v varchar(2000)) \
                INSERT w SELECT TOP 1500 ROW_NUMBER() OVER (ORDER BY (SELECT 1)), REPLICATE('v', 1500) FROM sys.all_columns";
    assert_eq!(client.batch(made).0, []);
    for d in 0..4 {
        let text = format!("INSERT w SELECT TOP 12000 i + {}, v FROM w", 1500 << d);
        assert_eq!(client.batch(&text).0, [], "{text}");
    }
    assert_eq!(client.number("SELECT COUNT(*) FROM w"), 24_000);
}

const HUNGRY: [&str; 5] = [
    "DECLARE @s varchar(max) = 'x' WHILE 1 = 1 SET @s = @s + @s",
    "SELECT REPLICATE(CAST('x' AS varchar(max)), 1900000000)",
    "SELECT COUNT(DISTINCT v + CAST(i AS varchar(9)) + CAST(n AS char(1))), COUNT(*) FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)",
    "SELECT LEN(STRING_AGG(CAST(v + CAST(i AS varchar(9)) AS varchar(max)), '') WITHIN GROUP (ORDER BY i)), COUNT(*) FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)",
    "SELECT LEN(STRING_AGG(CAST(v AS varchar(max)), '')) FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)",
];

/// More than a query is granted, and more than all may use: these rows spill to disk.
const LARGE: [(&str, i64); 9] = [
    (
        "SELECT COUNT(DISTINCT v + CAST(i AS varchar(9)) + CAST(n AS char(1))) FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)",
        96_000,
    ),
    (
        "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY v, n, i DESC) n, v FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)) x",
        96_000,
    ),
    (
        "SELECT COUNT_BIG(*) FROM (SELECT DISTINCT v + CAST(n AS char(1)) v, i FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)) x",
        96_000,
    ),
    (
        "SELECT COUNT_BIG(*) FROM (SELECT v, i, n, COUNT(*) c FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n) GROUP BY v, i, n) x",
        96_000,
    ),
    (
        "SELECT COUNT_BIG(*) FROM w a JOIN (SELECT v, i FROM w UNION ALL SELECT v, i FROM w UNION ALL SELECT v, i FROM w) b ON a.i = b.i AND a.v = b.v",
        72_000,
    ),
    (
        "SELECT COUNT_BIG(s) FROM (SELECT SUM(i) OVER (ORDER BY v, i) s, LAG(v) OVER (ORDER BY v, i) p, v FROM w CROSS JOIN (VALUES (1), (2), (3), (4)) b (n)) x",
        96_000,
    ),
    ("BEGIN TRAN UPDATE w SET v = v + 'x', i = i + 1 SELECT ROWCOUNT_BIG() ROLLBACK", 24_000),
    (
        "BEGIN TRAN MERGE w USING (SELECT i + 1 AS i FROM w) x ON w.i = x.i WHEN MATCHED THEN UPDATE SET v = v + 'y'
         WHEN NOT MATCHED BY SOURCE THEN DELETE; SELECT ROWCOUNT_BIG() ROLLBACK",
        24_000,
    ),
    ("BEGIN TRAN DELETE w FROM w JOIN (SELECT i, v FROM w) x ON w.i = x.i SELECT ROWCOUNT_BIG() ROLLBACK", 24_000),
];

#[test]
fn what_does_not_fit_goes_to_disk_and_the_process_stays_small() {
    let mut server = Limited::start("large");
    let mut client = server.client();
    fill(&mut client);
    for (text, expected) in LARGE {
        assert_eq!(client.number(text), expected, "{text}");
        server.assert_alive();
        println!("{} MB: {text}", server.resident_mb());
    }
}

#[test]
fn one_after_the_other_and_twenty_at_once_are_refused_and_their_memory_goes_back() {
    let mut server = Limited::start("hungry");
    let (mut client, mut other) = (server.client(), server.client());
    fill(&mut client);
    for text in HUNGRY {
        assert_eq!(client.batch(text).0, [701], "{text}");
        assert_eq!(other.batch("SELECT name FROM sys.databases WHERE database_id = 1"), (vec![], 1));
        server.assert_alive();
    }
    let mut clients: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        client.send(HUNGRY[at % HUNGRY.len()]);
    }
    for _ in 0..20 {
        assert_eq!(other.batch("SELECT TOP 3 i FROM w WHERE i < 4 ORDER BY v, i"), (vec![], 3));
        server.assert_alive();
        std::thread::sleep(Duration::from_millis(20));
    }
    for client in &mut clients {
        let refused = client
            .tokens()
            .iter()
            .any(|token| matches!(token, Token::Message { error, .. } if error.number == 701));
        assert!(refused);
        assert_eq!(client.number("SELECT @@TRANCOUNT + 5"), 5);
    }
    server.assert_alive();
    assert_eq!(client.number("SELECT COUNT(*) FROM w"), 24_000);
    // Pages stay in memory; the memory of requests is freed.
    let began = Instant::now();
    while server.resident_mb() > MEMORY_MB + 100 {
        assert!(began.elapsed() < PATIENCE, "{} MB stay", server.resident_mb());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn long_texts_are_refused_whole_or_while_they_come_in() {
    let mut server = Limited::start("texts");
    let mut client = server.client();
    // 2,000,000 statements, 50 MB on the wire.
    for text in ["SELECT 1 FROM".replace("FROM", "\n").repeat(2_000_000), "SET @x=1 ".repeat(2_500_000)] {
        assert_eq!(client.batch(&text).0, [701]);
        server.assert_alive();
    }
    assert_eq!(client.number("SELECT 8"), 8);
    // Many that never end, then end.
    let mut halves: Vec<Client> = (0..8).map(|_| server.client()).collect();
    let text = "PRINT 1 ".repeat(2_000_000);
    let bytes = client.writer.batch(&text, 0);
    let most = bytes.len() - 10_000;
    for half in &mut halves {
        half.stream.write_all(&bytes[..most]).unwrap();
        server.assert_alive();
    }
    assert_eq!(client.number("SELECT 9"), 9);
    for half in &mut halves {
        half.stream.write_all(&bytes[most..]).unwrap();
        let tokens = half.tokens();
        assert!(
            tokens.iter().any(|token| matches!(token, Token::Message { error, .. } if error.number == 701)),
            "{tokens:?}"
        );
        assert_eq!(half.number("SELECT 10"), 10);
    }
    server.assert_alive();
}

#[test]
fn a_client_that_does_not_read_costs_little_and_one_that_goes_away_nothing() {
    let mut server = Limited::start("slow");
    let (mut slow, mut other) = (server.client(), server.client());
    fill(&mut other);
    slow.send("SELECT a.v, b.v FROM w a CROSS JOIN w b");
    let mut gone: Vec<Client> = (0..3).map(|_| server.client()).collect();
    gone[0].send("DECLARE @s varchar(max) = REPLICATE(CAST('x' AS varchar(max)), 1000000) WHILE 1 = 1 SET @s = REVERSE(@s)");
    gone[1].send("WHILE 1 = 1 SET LANGUAGE us_english");
    // The next request is unread while the present one runs.
    gone[2].send("WHILE 1 = 1 DECLARE @i int = 1");
    gone[2].send("SELECT 2");
    let running = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID";
    let began = Instant::now();
    while other.number(running) < 4 {
        assert!(began.elapsed() < PATIENCE, "all of them run");
    }
    server.assert_alive();
    drop(gone);
    while other.number(running) > 1 {
        assert!(began.elapsed() < PATIENCE, "loops of clients that are gone end");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(slow);
    while other.number(running) > 0 {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    server.assert_alive();
}

/// After an attention only the content of the sockets' buffers still arrives: it does not grow with the result.
#[test]
fn an_attention_in_the_middle_of_a_result_is_answered_behind_what_was_on_its_way() {
    let server = Limited::start("attention");
    let mut client = server.client();
    fill(&mut client);
    for wait_ms in [20, 200] {
        client.send("SELECT a.v, b.v FROM w a CROSS JOIN w b");
        std::thread::sleep(Duration::from_millis(wait_ms));
        let attention = client.writer.attention();
        client.stream.write_all(&attention).unwrap();
        let began = Instant::now();
        let (mut bytes, mut buffer) = (0, vec![0; 65_536]);
        // The rest of the answer, then the acknowledgement.
        let mut ends = Vec::new();
        while ends.len() < 2 {
            let count = client.stream.read(&mut buffer).unwrap();
            bytes += count;
            client.reader.feed(&buffer[..count]).unwrap();
            while client.reader.next().unwrap().is_some() {
                let payload = client.reader.payload();
                ends.push(u16::from_le_bytes([payload[payload.len() - 12], payload[payload.len() - 11]]));
            }
        }
        assert_eq!((ends[0] & done::ERROR, ends[1] & done::ATTENTION), (done::ERROR, done::ATTENTION));
        println!("{bytes} bytes in {:?} after the attention", began.elapsed());
        // The sender's socket takes up to 4 MB (tcp_wmem), the reader's and the packets on their way less than one more.
        assert!(bytes < 5 << 20, "{bytes} bytes after the attention");
        assert_eq!(client.number("SELECT 3"), 3);
    }
}

/// Rows that a function generates from a few numbers or a text are not all in memory at once.
#[test]
fn rows_of_functions_are_made_while_they_are_read() {
    let mut limited = Limited::start("functions");
    let mut client = limited.client();
    let made = "CREATE TABLE g (i int PRIMARY KEY, b int) INSERT g SELECT value, -value FROM GENERATE_SERIES(1, 1500000)";
    assert_eq!(client.batch(made).0, []);
    assert_eq!(client.number("SELECT COUNT_BIG(*) FROM g WHERE b = -i"), 1_500_000);
    let series = "SELECT COUNT_BIG(*) FROM GENERATE_SERIES(CAST(1 AS bigint), CAST(3000000 AS bigint)) WHERE value % 3 = 0";
    assert_eq!(client.number(series), 1_000_000);
    let parts = "SELECT COUNT_BIG(*) FROM STRING_SPLIT(REPLICATE(CAST('a,' AS varchar(max)), 2000000), ',', 1) WHERE value = 'a'";
    assert_eq!(client.number(parts), 2_000_000);
    limited.assert_alive();
}

/// The memory count of cached plans is accurate: texts that are never sent again do not use up memory. (Before, it was a guess of a
/// tenth: after 820 of these texts everything got 701, `DBCC FREEPROCCACHE` too.)
#[test]
fn texts_that_are_never_sent_again_do_not_spend_the_memory() {
    let mut limited = Limited::start("texts");
    let mut client = limited.client();
    let one = "SELECT a.*, b.*, c.name AS type_name FROM sys.all_columns a JOIN sys.all_objects b ON b.object_id = a.object_id \
               JOIN sys.types c ON c.user_type_id = a.user_type_id WHERE a.object_id = -";
    let text = |n: usize| {
        (0..6).map(|part| format!("{one}{}", 6 * n + part)).collect::<Vec<_>>().join(" UNION ALL ")
    };
    for n in 0..450 {
        assert_eq!(client.batch(&text(n)), (Vec::new(), 0), "{n}");
    }
    // Those of procedures are bound when they are run.
    for n in 0..60 {
        assert_eq!(client.batch(&format!("CREATE PROCEDURE p{n} AS {}", text(n))), (Vec::new(), 0), "{n}");
        assert_eq!(client.batch(&format!("EXEC p{n}")), (Vec::new(), 0), "{n}");
    }
    let said =
        client.number("SELECT SUM(CAST(size_in_bytes AS bigint)) / 1024 FROM sys.dm_exec_cached_plans");
    let taken = client
        .number("SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLGENERAL'");
    assert!(taken < 36 << 10 && taken < said + (4 << 10), "{taken} KB are taken, {said} KB are said to be");
    assert_eq!(client.number("SELECT 1"), 1);
    limited.assert_alive();
}

/// The memory that a session keeps between requests (the texts of its handles) leaves room for other sessions.
#[test]
fn handles_of_one_session_leave_room_for_others() {
    let mut limited = Limited::start("handles");
    let (mut hoarder, mut other) = (limited.client(), limited.client());
    let text = "DECLARE @h int, @i int = 0, @s nvarchar(max) = N'SELECT 1 -- ' + REPLICATE(CAST(N'x' AS nvarchar(max)), 700000) \
                WHILE @i < 15 BEGIN DECLARE @t nvarchar(max) = @s + CAST(@i AS nvarchar(9)) \
                EXEC sp_prepare @h OUTPUT, N'', @t SET @i += 1 END";
    // 21 MB a request.
    let refused = (0..20).map(|_| hoarder.batch(text).0).find(|errors| !errors.is_empty());
    assert_eq!(refused, Some(vec![701]), "no more than there is room for");
    for _ in 0..20 {
        assert_eq!(
            other.batch("SELECT a.name FROM sys.all_columns a WHERE a.object_id = -1"),
            (Vec::new(), 0)
        );
        assert!(other.number("SELECT COUNT(*) FROM sys.all_columns a CROSS JOIN sys.types b") > 100_000);
    }
    assert_eq!(hoarder.number("SELECT 1"), 1);
    limited.assert_alive();
}

/// Rows of each table, in chunks of so many, whose locks cannot be escalated to a table lock, because others read there, too.
const ROWS: usize = 40_000;
const PIECE: usize = 1_000;

/// Eight sessions hold as many row locks as they get: they are refused, and may end their transactions; other sessions are not affected.
#[test]
fn sessions_that_hold_many_locks_starve_nobody() {
    let mut server = Limited::start("locks");
    let mut readers: Vec<Client> = (0..8).map(|_| server.client()).collect();
    let mut holders: Vec<Client> = (0..8).map(|_| server.client()).collect();
    for (at, (reader, holder)) in readers.iter_mut().zip(&mut holders).enumerate() {
        let made = format!(
            "CREATE TABLE h{at} (k int PRIMARY KEY, v int) INSERT h{at} SELECT value, 0 FROM GENERATE_SERIES(1, {ROWS} + 1)"
        );
        assert_eq!(holder.batch(&made).0, []);
        let shared = format!("BEGIN TRAN SELECT v FROM h{at} WITH (REPEATABLEREAD) WHERE k = {ROWS} + 1");
        assert_eq!(reader.batch(&shared), (vec![], 1));
    }
    let mut small = server.client();
    assert_eq!(small.batch("CREATE TABLE small (k int PRIMARY KEY, v varchar(100))").0, []);
    assert!(holders.iter_mut().all(|holder| holder.batch("BEGIN TRAN").0.is_empty()));
    let mut refused = 0;
    for first in (0..ROWS).step_by(PIECE) {
        for (at, holder) in holders.iter_mut().enumerate() {
            let text = format!("UPDATE h{at} SET v += 1 WHERE k > {first} AND k <= {first} + {PIECE}");
            match holder.batch(&text).0[..] {
                [] => {}
                [701] => refused += 1,
                ref other => panic!("{other:?}"),
            }
        }
        let text =
            format!("INSERT small SELECT {first}, 'a small one' SELECT v FROM small WHERE k = {first}");
        assert_eq!(small.batch(&text), (vec![], 1), "{first}");
        let mut other = server.client();
        let list: String = (0..200).map(|n| format!(", {n}")).collect();
        assert_eq!(other.batch(&format!("SELECT COUNT(*) FROM small WHERE k IN (-1{list})")), (vec![], 1));
        server.assert_alive();
    }
    assert!(refused > 0, "there is not room for all of these locks");
    for holder in &mut holders {
        assert_eq!(holder.batch("SELECT 1 WHERE @@TRANCOUNT > 1").1, 0);
        assert_eq!(holder.batch("ROLLBACK").0, []);
    }
    for (at, holder) in holders.iter_mut().enumerate() {
        assert_eq!(holder.number(&format!("SELECT COUNT(*) FROM h{at} WHERE v = 0")), ROWS as i64 + 1);
    }
    server.assert_alive();
}

/// Eight sessions send long lists and build long strings, all at once: they may be refused; a small session and new logins are not affected.
#[test]
fn sessions_with_long_lists_and_strings_starve_nobody() {
    let mut server = Limited::start("lists");
    let mut large: Vec<Client> = (0..8).map(|_| server.client()).collect();
    let mut small = server.client();
    let made = "CREATE TABLE small (k int PRIMARY KEY, v varchar(100)) INSERT small VALUES (-1, 'a')";
    assert_eq!(small.batch(made).0, []);
    let numbers: String = (0..60_000).map(|n| format!(",{n}")).collect();
    let texts: String = (0..20_000).map(|n| format!(",'a text that is number {n} of many'")).collect();
    let long = "REPLICATE(CAST(N'x' AS nvarchar(max)), 2000000)";
    let kinds = [
        format!("SELECT COUNT(*) FROM small WHERE k IN (-1{numbers})"),
        format!("SELECT COUNT(*) FROM small WHERE v IN ('a'{texts})"),
        format!(
            "DECLARE @s nvarchar(max) = {long}, @i int = 0 WHILE @i < 8 BEGIN SET @s = @s + {long} SET @i += 1 END SELECT 1"
        ),
        format!("SELECT COUNT(*) FROM (SELECT {long} AS v FROM GENERATE_SERIES(1, 40) UNION SELECT 'b') x"),
    ];
    let (mut refused, mut done) = (0, 0);
    for round in 0..6 {
        for (at, session) in large.iter_mut().enumerate() {
            session.send(&kinds[(at + round) % kinds.len()]);
        }
        for number in 0..10 {
            let key = round * 10 + number;
            let text = format!("INSERT small SELECT {key}, 'b' SELECT v FROM small WHERE k = {key}");
            assert_eq!(small.batch(&text), (vec![], 1), "round {round}");
            let list: String = (0..200).map(|n| format!(", {n}")).collect();
            let text = format!("SELECT COUNT(*) FROM small WHERE k IN (-1{list})");
            assert_eq!(server.client().batch(&text), (vec![], 1), "round {round}");
        }
        for session in &mut large {
            let tokens = session.tokens();
            let error = tokens.iter().find_map(|token| match token {
                Token::Message { error, .. } if error.severity > 10 => Some(error.number),
                _ => None,
            });
            match error {
                None => done += 1,
                Some(701 | 8623) => refused += 1,
                Some(other) => panic!("{other}"),
            }
        }
        server.assert_alive();
    }
    println!("{done} done, {refused} refused");
    assert!(refused > 0 && done > 0, "there is room for some of these: {done}, not for all: {refused}");
}

/// If no other session uses their tables, row locks are escalated to table locks as soon as memory is short, long before 5,000 of each.
#[test]
fn row_locks_escalate_early_when_memory_is_short() {
    let server = Limited::start("escalation");
    let (mut holder, mut client) = (server.client(), server.client());
    let mut reader = server.client();
    let made = format!(
        "CREATE TABLE h (k int PRIMARY KEY) INSERT h SELECT value FROM GENERATE_SERIES(0, {})",
        4 * ROWS
    );
    assert_eq!(holder.batch(&made).0, []);
    assert_eq!(
        client
            .batch(
                "CREATE TABLE few (k int PRIMARY KEY) INSERT few SELECT value FROM GENERATE_SERIES(1, 4000)"
            )
            .0,
        []
    );
    assert_eq!(
        reader.batch(&format!("BEGIN TRAN SELECT * FROM h WITH (UPDLOCK) WHERE k = {}", 4 * ROWS)),
        (vec![], 1)
    );
    assert_eq!(holder.batch("BEGIN TRAN").0, []);
    // A row that is not locked: no other session can lock it when the whole table is locked.
    let untouched = "SET LOCK_TIMEOUT 0 SELECT k FROM few WITH (UPDLOCK) WHERE k = 3999";
    assert_eq!(holder.batch("SELECT COUNT(*) FROM few WITH (UPDLOCK) WHERE k <= 10").0, []);
    assert_eq!(client.batch(untouched), (vec![], 1));
    let mut has_escalated = false;
    // Short for this session: more than half of its limit.
    for first in (0..3 * ROWS).step_by(PIECE) {
        let text =
            format!("SELECT COUNT(*) FROM h WITH (UPDLOCK) WHERE k >= {first} AND k < {first} + {PIECE}");
        if holder.batch(&text).0 == [701] {
            break;
        }
        if first == 5 * ROWS / 2 {
            assert_eq!(holder.batch("SELECT COUNT(*) FROM few WITH (UPDLOCK) WHERE k <= 2000").0, []);
            has_escalated = client.batch(untouched).0 == [1222];
        }
    }
    assert!(has_escalated, "2,000 locks have become one");
    assert_eq!(holder.batch("ROLLBACK").0, []);
    assert_eq!(holder.batch("BEGIN TRAN SELECT COUNT(*) FROM few WITH (UPDLOCK) WHERE k <= 2000").0, []);
    assert_eq!(client.batch(untouched), (vec![], 1), "with room as ever");
}
