//! Bulk load over the wire against real sessions: INSERT BULK and the message behind it (MS-TDS, "Bulk Load BCP"); all types, hints, errors,
//! transactions, attention and connections that end in the middle.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::client::{Client, error_numbers, final_status};
use common::world::{World, number};
use tds::client::Token;
use tds::token::done;
use types::{ByteStr, Decimal, Length, SqlType, Value};

const INT: [(&str, SqlType); 1] = [("i", SqlType::Int)];
const NO_ERROR: [i32; 0] = [];
/// CurCmd of a bulk load's DONE.
const BULK_INSERT: u16 = 0xF0;

/// Announces and sends rows; the answer to them.
fn load(
    client: &mut Client,
    statement: &str,
    columns: &[(&str, SqlType)],
    rows: &[Vec<Value>],
) -> Vec<Token> {
    let announced = client.batch(statement);
    assert_eq!(error_numbers(&announced), NO_ERROR, "{statement}: {announced:?}");
    let bytes = client.writer.bulk_load(columns, rows, rows.len().is_multiple_of(2));
    client.send(&bytes);
    client.tokens()
}

/// The row count of an answer without errors.
fn loaded(tokens: &[Token]) -> u64 {
    assert_eq!(error_numbers(tokens), NO_ERROR, "{tokens:?}");
    match tokens.last() {
        Some(Token::Done(token)) => {
            assert_eq!((token.command, token.status & done::COUNT), (BULK_INSERT, done::COUNT));
            token.row_count
        }
        other => panic!("the answer ends with {other:?}"),
    }
}

fn ints(numbers: impl Iterator<Item = i32>) -> Vec<Vec<Value>> {
    numbers.map(|number| vec![Value::Int(number)]).collect()
}

fn ask(client: &mut Client, query: &str) -> i64 {
    number(&client.batch(query))
}

fn count(client: &mut Client, table: &str) -> i64 {
    ask(client, &format!("SELECT COUNT(*) FROM {table}"))
}

fn rows_of(tokens: &[Token]) -> Vec<Vec<Value>> {
    tokens
        .iter()
        .filter_map(|token| if let Token::Row(row) = token { Some(row.clone()) } else { None })
        .collect()
}

/// Any number of rows, into a heap and into trees with several indexes; what is there before stays.
#[test]
fn rows_of_any_number_are_loaded() {
    let world = World::new("bulk-numbers");
    let mut client = world.client();
    client.batch(
        "CREATE TABLE h (i int); CREATE TABLE c (i int NOT NULL PRIMARY KEY, j AS i + 1, d int DEFAULT 5)",
    );
    client.batch("CREATE INDEX h1 ON h (i); CREATE UNIQUE INDEX c1 ON c (j); CREATE INDEX c2 ON c (d, i)");
    let mut from = 0;
    for rows in [0, 1, 5_001, 100_000] {
        for table in ["h", "c"] {
            // Neither ascending nor descending.
            let values = (0..rows).map(|at| from + (at * 7_919) % rows.max(1));
            let tokens = load(&mut client, &format!("INSERT BULK {table} (i int)"), &INT, &ints(values));
            assert_eq!(loaded(&tokens), rows as u64);
            assert_eq!(count(&mut client, table), i64::from(from + rows));
        }
        from += rows;
    }
    assert_eq!(ask(&mut client, "SELECT COUNT(*) FROM c WITH (INDEX(c2)) WHERE d = 5"), i64::from(from));
    assert_eq!(
        ask(&mut client, "SELECT SUM(CAST(j AS bigint) - i) FROM c WITH (INDEX(c1))"),
        i64::from(from)
    );
    assert_eq!(error_numbers(&client.batch("DBCC CHECKTABLE ('c'); DBCC CHECKTABLE ('h')")), NO_ERROR);
}

/// MS-TDS: COLMETADATA describes the columns as the statement does; max types in chunks, the old long types with a text pointer.
#[test]
fn values_of_all_types_arrive() {
    let world = World::new("bulk-types");
    let mut client = world.client();
    let long = "x".repeat(20_000);
    let columns: [(&str, SqlType, Value); 20] = [
        ("bit", SqlType::Bit, Value::Bit(true)),
        ("tinyint", SqlType::TinyInt, Value::TinyInt(255)),
        ("smallint", SqlType::SmallInt, Value::SmallInt(-5)),
        ("bigint", SqlType::BigInt, Value::BigInt(i64::MIN)),
        ("real", SqlType::Real, Value::Real(1.5)),
        ("float", SqlType::Float, Value::Float(-0.25)),
        ("money", SqlType::Money, Value::Money(123_456)),
        ("smallmoney", SqlType::SmallMoney, Value::Money(-123_456)),
        (
            "decimal(20,3)",
            SqlType::Decimal { precision: 20, scale: 3 },
            Value::Decimal(Decimal::new(-1_234_567, 20, 3)),
        ),
        ("varchar(10)", SqlType::varchar(10), Value::Char(ByteStr::new(b"na\xEFve"))),
        ("nvarchar(10)", SqlType::nvarchar(10), Value::nvarchar("\u{6F22}\u{5B57}")),
        ("char(5)", SqlType::Char(5), Value::Char(ByteStr::new(b"ab   "))),
        ("varbinary(5)", SqlType::varbinary(5), Value::Binary(ByteStr::new(&[1, 2]))),
        ("varchar(max)", SqlType::VarChar(Length::Max), Value::Char(ByteStr::new(long.as_bytes()))),
        ("nvarchar(max)", SqlType::NVARCHAR_MAX, Value::nvarchar(&long)),
        ("varbinary(max)", SqlType::VarBinary(Length::Max), Value::Binary(ByteStr::new(&[7; 9_000]))),
        ("text", SqlType::Text, Value::Char(ByteStr::new(b"old"))),
        ("ntext", SqlType::NText, Value::nvarchar("older")),
        ("image", SqlType::Image, Value::Binary(ByteStr::new(&[0; 10]))),
        ("uniqueidentifier", SqlType::UniqueIdentifier, Value::Guid([9; 16])),
    ];
    let declared = |form: &dyn Fn(usize, &str) -> String| {
        let each = columns.iter().enumerate().map(|(at, (written, ..))| form(at, written));
        each.collect::<Vec<_>>().join(", ")
    };
    let list = declared(&|at, written| format!("c{at} {written}"));
    client.batch(&format!("CREATE TABLE t ({list})"));
    let names: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
    let sent: Vec<(&str, SqlType)> =
        names.iter().zip(&columns).map(|(name, (_, sql_type, _))| (name.as_str(), *sql_type)).collect();
    let whole: Vec<Value> = columns.iter().map(|(.., value)| value.clone()).collect();
    let rows = vec![whole.clone(), vec![Value::Null; whole.len()], whole];
    let tokens = load(&mut client, &format!("INSERT BULK t ({list})"), &sent, &rows);
    assert_eq!(loaded(&tokens), 3);
    let tokens = load(&mut client, &format!("INSERT BULK t ({list})"), &sent, &rows[..2]);
    assert_eq!(loaded(&tokens), 2, "as NBCROW");
    let stored = rows_of(&client.batch("SELECT * FROM t"));
    assert_eq!(stored.len(), 5);
    for (row, sent) in stored.iter().zip(rows.iter().chain(&rows[..2])) {
        assert_eq!(row, sent);
    }
}

#[test]
fn dates_xml_and_variants_arrive() {
    let world = World::new("bulk-dates");
    let mut client = world.client();
    let list = "a date, b time(3), c datetime2(7), d datetimeoffset(0), e datetime, f smalldatetime, x xml, v sql_variant";
    client.batch(&format!(
        "CREATE TABLE t ({list}); CREATE TABLE s ({list});
         INSERT s VALUES ('2024-02-29', '12:34:56.789', '0001-01-01', '2024-01-01 10:00 +02:00', '1753-01-01', '2079-06-06', '<a/>', 5),
             (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    ));
    let rows = rows_of(&client.batch("SELECT * FROM s"));
    let sent = [
        ("a", SqlType::Date),
        ("b", SqlType::Time(3)),
        ("c", SqlType::DateTime2(7)),
        ("d", SqlType::DateTimeOffset(0)),
        ("e", SqlType::DateTime),
        ("f", SqlType::SmallDateTime),
        ("x", SqlType::Xml),
        ("v", SqlType::SqlVariant),
    ];
    assert_eq!(loaded(&load(&mut client, &format!("INSERT BULK t ({list})"), &sent, &rows)), 2);
    assert_eq!(rows_of(&client.batch("SELECT * FROM t")), rows);
}

/// SqlBulkCopyOptions.KeepNulls and KeepIdentity: without KeepNulls NULL becomes the default; without KeepIdentity the client leaves the identity column
/// out, and it generates its values. A column that is named keeps what comes, as pymssql's and FreeTDS's bulk copy expect, which send no such hint.
#[test]
fn nulls_identities_and_rowversions_are_kept_or_made() {
    let world = World::new("bulk-keep");
    let mut client = world.client();
    client.batch(
        "CREATE TABLE t (i int IDENTITY(10, 5) NOT NULL, d int DEFAULT 7, n varchar(9) NULL DEFAULT 'none', r rowversion)",
    );
    let columns = [("i", SqlType::Int), ("d", SqlType::Int)];
    let rows = [
        vec![Value::Int(3), Value::Null],
        vec![Value::Int(4), Value::Int(1)],
        vec![Value::Null, Value::Null],
    ];
    let alone: Vec<Vec<Value>> = rows.iter().map(|row| row[1..].to_vec()).collect();
    let hints = ["", " WITH (KEEP_NULLS)"];
    for hint in hints {
        assert_eq!(
            loaded(&load(&mut client, &format!("INSERT BULK t (d int){hint}"), &columns[1..], &alone)),
            3
        );
    }
    let tokens = load(
        &mut client,
        "INSERT BULK t (i int, d int) WITH (KEEP_IDENTITY, KEEP_NULLS)",
        &columns,
        &rows[..2],
    );
    assert_eq!(loaded(&tokens), 2);
    let tokens =
        load(&mut client, "INSERT BULK t (i int, d int)", &columns, &[vec![Value::Int(41), Value::Int(1)]]);
    assert_eq!(loaded(&tokens), 1);
    client.batch("INSERT t (d) VALUES (2)");
    let stored = rows_of(&client.batch("SELECT i, d FROM t WHERE n = 'none' AND r IS NOT NULL ORDER BY r"));
    let pair = |i, d: Option<i32>| vec![Value::Int(i), d.map_or(Value::Null, Value::Int)];
    let expected = [
        pair(10, Some(7)),
        pair(15, Some(1)),
        pair(20, Some(7)),
        pair(25, None),
        pair(30, Some(1)),
        pair(35, None),
        pair(3, None),
        pair(4, Some(1)),
        pair(41, Some(1)),
        pair(46, Some(2)),
    ];
    assert_eq!(stored, expected);
    // NULL for an identity column that keeps its values.
    for hint in ["", " WITH (KEEP_IDENTITY)"] {
        let tokens = load(&mut client, &format!("INSERT BULK t (i int){hint}"), &INT, &[vec![Value::Null]]);
        assert_eq!(error_numbers(&tokens), [515]);
    }
}

/// BULK INSERT, CHECK_CONSTRAINTS: "Without the CHECK_CONSTRAINTS option, any CHECK and FOREIGN KEY constraints are ignored, and after the
/// operation the constraint on the table is marked as not-trusted. UNIQUE, PRIMARY KEY and NOT NULL constraints are always enforced."
#[test]
fn constraints_are_checked_when_asked_and_else_not_trusted() {
    let world = World::new("bulk-constraints");
    let mut client = world.client();
    client.batch(
        "CREATE TABLE p (i int PRIMARY KEY); INSERT p VALUES (1);
         CREATE TABLE t (i int NOT NULL CONSTRAINT c CHECK (i < 10) CONSTRAINT f REFERENCES p)",
    );
    let untrusted = "SELECT (SELECT COUNT(*) FROM sys.check_constraints WHERE is_not_trusted = 1) * 10
        + (SELECT COUNT(*) FROM sys.foreign_keys WHERE is_not_trusted = 1)";
    let checked = "INSERT BULK t (i int) WITH (CHECK_CONSTRAINTS)";
    assert_eq!(error_numbers(&load(&mut client, checked, &INT, &ints(5..6))), [547]);
    assert_eq!(error_numbers(&load(&mut client, checked, &INT, &ints(11..12))), [547]);
    assert_eq!(loaded(&load(&mut client, checked, &INT, &ints(1..2))), 1);
    assert_eq!(ask(&mut client, untrusted), 0);
    for _ in 0..2 {
        assert_eq!(loaded(&load(&mut client, "INSERT BULK t (i int)", &INT, &ints(5..15))), 10);
        assert_eq!(ask(&mut client, untrusted), 11);
    }
    assert_eq!(error_numbers(&client.batch("INSERT t VALUES (11)")), [547], "they are still in force");
    let tokens = load(&mut client, "INSERT BULK t (i int)", &INT, &[vec![Value::Int(1)], vec![Value::Null]]);
    assert_eq!(error_numbers(&tokens), [515]);
    assert_eq!(count(&mut client, "t"), 21);
}

/// A load is one statement: whatever fails, none of its rows stays, and those of the transaction around it do.
#[test]
fn a_load_that_fails_leaves_nothing() {
    let world = World::new("bulk-fails");
    let mut client = world.client();
    client.batch("CREATE TABLE t (i int NOT NULL PRIMARY KEY, s varchar(3)); INSERT t VALUES (-1, 'a')");
    let columns = [("i", SqlType::Int), ("s", SqlType::varchar(8))];
    let row = |i: i32, s: &str| vec![Value::Int(i), Value::Char(ByteStr::new(s.as_bytes()))];
    let many = |last: Vec<Value>| (0..5_000).map(|i| row(i, "abc")).chain([last]).collect::<Vec<_>>();
    let announced = "INSERT BULK t (i int, s varchar(8))";
    for begin in ["", "BEGIN TRAN; INSERT t VALUES (-2, 'b')"] {
        client.batch(begin);
        assert_eq!(error_numbers(&load(&mut client, announced, &columns, &many(row(4_999, "x")))), [2627]);
        assert_eq!(error_numbers(&load(&mut client, announced, &columns, &many(row(-1, "x")))), [2627]);
        assert_eq!(error_numbers(&load(&mut client, announced, &columns, &many(row(-9, "abcd")))), [2628]);
        let null = vec![Value::Null, Value::Null];
        assert_eq!(error_numbers(&load(&mut client, announced, &columns, &many(null))), [515]);
        let there = if begin.is_empty() { 1 } else { 2 };
        assert_eq!(count(&mut client, "t"), there);
    }
    assert_eq!(loaded(&load(&mut client, announced, &columns, &many(row(9_999, "y")))), 5_001);
    client.batch("ROLLBACK");
    assert_eq!(count(&mut client, "t"), 1, "it takes part in the transaction");
    client.batch("SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (-3, 'c')");
    let tokens = load(&mut client, announced, &columns, &many(row(0, "x")));
    assert_eq!(error_numbers(&tokens), [2627]);
    assert_eq!(ask(&mut client, "SELECT @@TRANCOUNT * 10 + COUNT(*) FROM t"), 1);
}

#[test]
fn ignored_duplicates_are_left_out() {
    let world = World::new("bulk-duplicates");
    let mut client = world.client();
    client
        .batch("CREATE TABLE t (i int NOT NULL PRIMARY KEY WITH (IGNORE_DUP_KEY = ON)); INSERT t VALUES (3)");
    let tokens = load(&mut client, "INSERT BULK t (i int)", &INT, &ints((0..10).chain(5..12)));
    assert_eq!(loaded(&tokens), 11);
    let notices = |token: &Token| matches!(token, Token::Message { error, .. } if error.number == 3604);
    assert!(tokens.iter().any(notices), "{tokens:?}");
}

/// BULK INSERT, ORDER: rows in another order than the hint says are an error when that is the order of the clustered index.
#[test]
fn the_order_hint_is_held_to() {
    let world = World::new("bulk-order");
    let mut client = world.client();
    client.batch("CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int); CREATE TABLE d (i int); CREATE CLUSTERED INDEX c ON d (i DESC)");
    let sorted = "INSERT BULK t (i int) WITH (ORDER (i ASC), TABLOCK)";
    assert_eq!(error_numbers(&load(&mut client, sorted, &INT, &ints([1, 3, 2].into_iter()))), [4819]);
    assert_eq!(error_numbers(&load(&mut client, sorted, &INT, &ints([1, 1].into_iter()))), [4819]);
    assert_eq!(loaded(&load(&mut client, sorted, &INT, &ints(0..2_000))), 2_000);
    let other = "INSERT BULK t (i int) WITH (ORDER ([i] DESC))";
    assert_eq!(
        loaded(&load(&mut client, other, &INT, &ints([9_000, 8_999, 9_001].into_iter()))),
        3,
        "no order of an index"
    );
    let falling = "INSERT BULK d (i int) WITH (ORDER ([i] DESC))";
    assert_eq!(loaded(&load(&mut client, falling, &INT, &ints([5, 5, 4].into_iter()))), 3);
    assert_eq!(error_numbers(&load(&mut client, falling, &INT, &ints([4, 5].into_iter()))), [4819]);
    assert_eq!(error_numbers(&client.batch("INSERT BULK t (i int) WITH (ORDER (x))")), [4817]);
    assert_eq!(error_numbers(&client.batch("INSERT BULK t (i int) WITH (ORDER (i, i))")), [4818]);
}

#[test]
fn announcements_are_checked_and_forgotten() {
    let world = World::new("bulk-announced");
    let mut client = world.client();
    client.batch("CREATE TABLE t (i int, c AS i + 1)");
    for (statement, error) in [
        ("INSERT BULK nothing (i int)", 208),
        ("INSERT BULK t (x int)", 207),
        ("INSERT BULK t (i int, i int)", 264),
        ("INSERT BULK t (c int)", 271),
        ("INSERT BULK t (i nosuch)", 2715),
        ("INSERT BULK t (i int) WITH (KEEPNULLS)", 155),
    ] {
        assert_eq!(error_numbers(&client.batch(statement)), [error], "{statement}");
    }
    let rows = client.writer.bulk_load(&INT, &ints(0..5_000), false);
    client.send(&rows);
    assert_eq!(error_numbers(&client.tokens()), [4002], "none was announced");
    client.batch("INSERT BULK t (i int)");
    client.batch("SELECT 1");
    client.send(&rows);
    assert_eq!(error_numbers(&client.tokens()), [4002], "it was forgotten");
    // Other columns, another type, another table.
    let two = [("i", SqlType::Int), ("j", SqlType::Int)];
    let pair = vec![vec![Value::Int(1), Value::Int(1)]];
    assert_eq!(error_numbers(&load(&mut client, "INSERT BULK t (i int)", &two, &pair)), [4816]);
    let image = [("i", SqlType::Image)];
    let bytes = vec![vec![Value::Binary(ByteStr::new(&[1]))]];
    assert_eq!(error_numbers(&load(&mut client, "INSERT BULK t (i int)", &image, &bytes)), [4816]);
    for change in ["ALTER TABLE t ADD k int", "DROP TABLE t; CREATE TABLE t (i int)", "DROP TABLE t"] {
        client.batch("INSERT BULK t (i int)");
        let mut other = world.client();
        assert_eq!(error_numbers(&other.batch(change)), NO_ERROR);
        client.send(&rows);
        assert_eq!(error_numbers(&client.tokens()), [4891], "{change}");
    }
    assert_eq!(error_numbers(&client.batch("SELECT 1")), NO_ERROR);
}

/// A wrong length inside a row is told for its column, and the connection stays; a message that ends inside a row ends it.
#[test]
fn wrong_bytes_are_told() {
    let world = World::new("bulk-bytes");
    let mut client = world.client();
    client.batch("CREATE TABLE t (i int, s varchar(5))");
    let announce = "INSERT BULK t (i int, s varchar(5))";
    let columns = [("i", SqlType::Int), ("s", SqlType::varchar(5))];
    let row = vec![Value::Int(1), Value::Char(ByteStr::new(b"abcde"))];
    let whole = client.writer.bulk_load(&columns, &[row.clone(), row], false);
    // The length of the last value: before its five bytes and the DONE.
    let at = whole.len() - 13 - 5 - 2;
    for (length, error) in [(6, 4815), (200, 4815)] {
        client.batch(announce);
        let mut wrong = whole.clone();
        wrong[at] = length;
        client.send(&wrong);
        assert_eq!(error_numbers(&client.tokens()), [error]);
    }
    assert_eq!(count(&mut client, "t"), 0);
    client.batch(announce);
    let mut short = whole.clone();
    short.truncate(whole.len() - 15);
    let length = (short.len() as u16).to_be_bytes();
    short[2..4].copy_from_slice(&length);
    client.send(&short);
    let tokens = client.tokens();
    assert_eq!(error_numbers(&tokens), [4804]);
    assert_ne!(final_status(&tokens) & done::SERVER_ERROR, 0);
    assert_eq!(client.receive(), None);
    assert_eq!(count(&mut world.client(), "t"), 0);
}

/// The first packets of a long load, without its end.
fn begun(client: &mut Client) -> Vec<u8> {
    let bytes = client.writer.bulk_load(&INT, &ints(0..50_000), false);
    let packets = bytes.len() / 4_096;
    bytes[..(packets - 3) * 4_096].to_vec()
}

/// Attention between two packets, the IGNORE bit on the last one, a client that goes away: no row stays, no lock either.
#[test]
fn a_load_that_is_given_up_leaves_nothing() {
    let world = World::new("bulk-given-up");
    let (mut client, mut watcher) = (world.client(), world.client());
    client.batch("CREATE TABLE t (i int NOT NULL PRIMARY KEY)");
    client.batch("INSERT BULK t (i int)");
    let bytes = begun(&mut client);
    client.send(&bytes);
    let attention = client.writer.attention();
    client.send(&attention);
    let answer = client.tokens();
    assert_eq!(final_status(&answer) & done::ATTENTION, 0, "{answer:?}");
    assert_ne!(final_status(&client.tokens()) & done::ATTENTION, 0);
    assert_eq!(count(&mut watcher, "t"), 0);

    client.batch("BEGIN TRAN; INSERT t VALUES (-1)");
    client.batch("INSERT BULK t (i int)");
    client.send(&bytes);
    client.send(&[7, 3, 0, 8, 0, 0, 1, 0]);
    assert_eq!(error_numbers(&client.tokens()), [3617]);
    assert_eq!(count(&mut client, "t"), 1, "the transaction goes on");
    client.batch("COMMIT");

    let id = ask(&mut client, "SELECT @@SPID");
    client.batch("INSERT BULK t (i int) WITH (TABLOCK)");
    client.send(&bytes);
    client.stream.shutdown();
    world.wait_for_end_of(id, &mut watcher);
    assert_eq!(count(&mut watcher, "t"), 1);
}

/// KILL finds a session that waits for the next packet.
#[test]
fn a_load_that_waits_for_its_client_is_killed() {
    let world = World::new("bulk-kill");
    let (mut client, mut watcher) = (world.client(), world.client());
    client.batch("CREATE TABLE t (i int NOT NULL PRIMARY KEY)");
    let id = ask(&mut client, "SELECT @@SPID");
    client.batch("INSERT BULK t (i int)");
    let bytes = begun(&mut client);
    client.send(&bytes);
    let waits = format!(
        "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = {id} AND command = 'BULK INSERT' AND wait_type = 'ASYNC_NETWORK_IO'"
    );
    while ask(&mut watcher, &waits) == 0 {
        world.pause(5);
    }
    assert_eq!(error_numbers(&watcher.batch(&format!("KILL {id}"))), NO_ERROR);
    world.wait_for_end_of(id, &mut watcher);
    assert_eq!(count(&mut watcher, "t"), 0);
}

/// A value of several MB in packets of 4 KB, twice; both rows are as they were sent.
#[test]
fn a_large_value_arrives_packet_by_packet() {
    let world = World::new("bulk-large");
    let mut client = world.client();
    client.batch("CREATE TABLE t (b varbinary(max), n nvarchar(max))");
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|at| (at % 251) as u8).collect();
    let columns = [("b", SqlType::VarBinary(Length::Max)), ("n", SqlType::NVARCHAR_MAX)];
    let row = vec![Value::Binary(ByteStr::new(&bytes)), Value::nvarchar(&"\u{E9}".repeat(1_000_000))];
    let announce = "INSERT BULK t (b varbinary(max), n nvarchar(max))";
    let tokens = load(&mut client, announce, &columns, &[row.clone(), row.clone()]);
    assert_eq!(loaded(&tokens), 2);
    let stored = rows_of(&client.batch("SELECT * FROM t"));
    assert!(stored == [row.clone(), row]);
}

/// Readers do not see rows before the load's commit; TABLOCK locks them out.
#[test]
fn a_reader_meanwhile_sees_nothing_or_waits() {
    let world = World::new("bulk-reader");
    let (mut client, mut reader) = (world.client(), world.client());
    client.batch("CREATE TABLE t (i int NOT NULL PRIMARY KEY); INSERT t VALUES (-1)");
    reader.batch("SET LOCK_TIMEOUT 0");
    for (hint, dirty) in [("", 1), (" WITH (TABLOCK)", 1_222)] {
        client.batch("BEGIN TRAN");
        let tokens = load(&mut client, &format!("INSERT BULK t (i int){hint}"), &INT, &ints(0..3_000));
        assert_eq!(loaded(&tokens), 3_000);
        let readpast = reader.batch("SELECT COUNT(*) FROM t WITH (READPAST, READCOMMITTEDLOCK)");
        match dirty {
            1 => assert_eq!(number(&readpast), 1),
            error => assert_eq!(error_numbers(&readpast), [error]),
        }
        client.batch("ROLLBACK");
        assert_eq!(count(&mut reader, "t"), 1);
    }
}

/// bulk-insert-transact-sql: INSERT triggers fire only if FIRE_TRIGGERS asks for it, once a load, for all its rows; their errors undo the load.
#[test]
fn triggers_fire_when_asked() {
    let world = World::new("bulk-triggers");
    let mut client = world.client();
    client.batch("CREATE TABLE t (i int); CREATE TABLE seen (number int, rows int)");
    client.batch("CREATE VIEW v AS SELECT i FROM t");
    client.batch(
        "CREATE TRIGGER after_t ON t AFTER INSERT AS INSERT seen SELECT COUNT(*), @@ROWCOUNT FROM inserted",
    );
    client.batch("CREATE TRIGGER instead_v ON v INSTEAD OF INSERT AS INSERT seen SELECT -COUNT(*), @@ROWCOUNT FROM inserted");
    for (rows, wanted) in [(0, 1), (1, 2), (5_001, 3)] {
        let tokens = load(&mut client, "INSERT BULK t (i int) WITH (FIRE_TRIGGERS)", &INT, &ints(0..rows));
        assert_eq!(loaded(&tokens), rows as u64);
        assert_eq!(count(&mut client, "seen"), wanted);
        let query = format!("SELECT COUNT(*) FROM seen WHERE number = {rows} AND rows = {rows}");
        assert_eq!(ask(&mut client, &query), 1);
    }
    assert_eq!(loaded(&load(&mut client, "INSERT BULK t (i int)", &INT, &ints(0..3))), 3);
    assert_eq!((count(&mut client, "seen"), count(&mut client, "t")), (3, 5_005));
    assert_eq!(
        loaded(&load(&mut client, "INSERT BULK v (i int) WITH (FIRE_TRIGGERS)", &INT, &ints(0..2))),
        2
    );
    assert_eq!((ask(&mut client, "SELECT MIN(number) FROM seen"), count(&mut client, "t")), (-2, 5_005));
    assert_eq!(loaded(&load(&mut client, "INSERT BULK v (i int)", &INT, &ints(0..2))), 2);
    assert_eq!(count(&mut client, "t"), 5_007);

    client.batch("ALTER TRIGGER after_t ON t AFTER INSERT AS ROLLBACK");
    let tokens = load(&mut client, "INSERT BULK t (i int) WITH (FIRE_TRIGGERS)", &INT, &ints(0..3));
    assert_eq!(error_numbers(&tokens), [3609]);
    assert_ne!(final_status(&tokens) & done::ERROR, 0);
    assert_eq!((count(&mut client, "t"), ask(&mut client, "SELECT @@TRANCOUNT")), (5_007, 0));
    client.batch("BEGIN TRAN; INSERT seen VALUES (99, 99)");
    client.batch("ALTER TRIGGER after_t ON t AFTER INSERT AS THROW 50001, 'no', 1");
    client.batch("IF @@TRANCOUNT = 0 BEGIN TRAN");
    let tokens = load(&mut client, "INSERT BULK t (i int) WITH (FIRE_TRIGGERS)", &INT, &ints(0..3));
    assert_eq!(error_numbers(&tokens), [50001]);
    assert_eq!((count(&mut client, "t"), ask(&mut client, "SELECT @@TRANCOUNT")), (5_007, 0));
    assert_eq!(ask(&mut client, "SELECT COUNT(*) FROM seen WHERE number = 99"), 0);
}
