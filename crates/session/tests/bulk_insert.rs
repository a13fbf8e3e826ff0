//! BULK INSERT from files below the data directory (BULK INSERT (Transact-SQL), "Use a format file to bulk import data", RFC 4180): terminators, CSV, code
//! pages, errors that are borne or not, batches, format files.
#![allow(clippy::disallowed_methods, reason = "a test writes the files that it loads")]

use hardpan_session::Session;

use crate::common::{World, run};

fn write(world: &World, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(world.instance.resolve_path(name).expect("an allowed path"), bytes).expect("written");
}

fn read(world: &World, name: &str) -> Vec<u8> {
    std::fs::read(world.instance.resolve_path(name).expect("an allowed path")).expect("read")
}

/// The numbers of the messages and the last row count.
fn load(session: &mut Session, text: &str) -> (Vec<i32>, Option<u64>) {
    let seen = run(session, text);
    let numbers = seen.messages.iter().map(|message| message.0).collect();
    (numbers, seen.counts.last().copied().flatten())
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<String>> {
    let seen = run(session, text);
    assert_eq!(seen.messages, [], "{text}");
    seen.sets.into_iter().next_back().expect("a result set").1
}

fn row(fields: &[&str]) -> Vec<String> {
    fields.iter().map(ToString::to_string).collect()
}

#[test]
fn fields_end_with_their_terminators() {
    let (world, mut session) = World::in_database("bulk-fields");
    run(&mut session, "CREATE TABLE t (i int, s varchar(10) DEFAULT 'none', d datetime)");
    // Tabs and lines: the defaults. An empty field is NULL, or the default.
    write(&world, "a.txt", "1\tone\t2024-02-29\r\n2\t\t\r\n3\tthree\t1999-12-31 23:59");
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'a.txt'"), (vec![], Some(3)));
    let all = "SELECT i, s, CONVERT(varchar(16), d, 120) FROM t ORDER BY i";
    let expected = [
        row(&["1", "one", "2024-02-29 00:00"]),
        row(&["2", "none", "NULL"]),
        row(&["3", "three", "1999-12-31 23:59"]),
    ];
    assert_eq!(rows(&mut session, all), expected);
    write(&world, "b.txt", "1\tone\t2024-02-29\r\n2\ttwo");
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'b.txt'"),
        (vec![4832, 7399, 7330], None),
        "it ends early"
    );
    write(&world, "c.txt", "1;a;;2;\0;;3;;;");
    let three = "BULK INSERT t FROM 'c.txt' WITH (FIELDTERMINATOR = ';', ROWTERMINATOR = ';;', KEEPNULLS)";
    run(&mut session, "DROP TABLE t; CREATE TABLE t (i int, s varchar(10) DEFAULT 'none')");
    assert_eq!(load(&mut session, three), (vec![], Some(3)));
    let stored = rows(&mut session, "SELECT i, s, DATALENGTH(s) FROM t ORDER BY i");
    assert_eq!(stored, [row(&["1", "a", "1"]), row(&["2", "", "0"]), row(&["3", "NULL", "NULL"])]);
    for (name, bytes, count) in [("0.txt", "", 0), ("1.txt", "7\tx", 1)] {
        write(&world, name, bytes);
        assert_eq!(load(&mut session, &format!("BULK INSERT t FROM '{name}'")), (vec![], Some(count)));
    }
    // A line feed alone, as bytes; a return before it belongs to the field then.
    write(&world, "d.txt", "8\tx\r\n9\ty\n");
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'd.txt' WITH (ROWTERMINATOR = '0x0a')"),
        (vec![], Some(2))
    );
    assert_eq!(rows(&mut session, "SELECT SUM(LEN(s)) FROM t WHERE i > 7"), [row(&["3"])]);
}

/// RFC 4180, section 2: quotes, doubled quotes, terminators and ends of lines inside of quotes.
#[test]
fn csv_is_that_of_rfc_4180() {
    let (world, mut session) = World::in_database("bulk-csv");
    run(&mut session, "CREATE TABLE t (i int, s nvarchar(40), u nvarchar(40))");
    let text = "id,s,u\r\n1,\"a,b\",\"say \"\"hi\"\"\"\r\n2,\"two\r\nlines\",plain\n3,,\"\"\r\n4,\u{6F22},x";
    write(&world, "a.csv", format!("\u{FEFF}{text}"));
    let csv = "BULK INSERT t FROM 'a.csv' WITH (FORMAT = 'CSV', FIRSTROW = 2, CODEPAGE = '65001')";
    assert_eq!(load(&mut session, csv), (vec![], Some(4)));
    let expected = [
        row(&["1", "a,b", "say \"hi\""]),
        row(&["2", "two\r\nlines", "plain"]),
        row(&["3", "NULL", ""]),
        row(&["4", "\u{6F22}", "x"]),
    ];
    assert_eq!(rows(&mut session, "SELECT * FROM t ORDER BY i"), expected);
    write(&world, "q.csv", "1;'it''s;';x\n");
    let quoted = "BULK INSERT t FROM 'q.csv' WITH (FORMAT = 'CSV', FIELDQUOTE = '''', FIELDTERMINATOR = ';')";
    assert_eq!(load(&mut session, quoted), (vec![], Some(1)));
    assert_eq!(rows(&mut session, "SELECT s FROM t WHERE s LIKE 'it%'"), [row(&["it's;"])]);
    for (bytes, why) in [
        ("1,a\n", "too few fields"),
        ("1,a,b,c\n", "too many"),
        ("1,\"a\"b,c\n", "something behind a quote"),
        ("1,\"a,b\n", "a quote that is never closed"),
    ] {
        write(&world, "w.csv", bytes);
        let told = load(&mut session, "BULK INSERT t FROM 'w.csv' WITH (FORMAT = 'CSV')");
        assert_eq!(told, (vec![4879, 7399, 7330], None), "{why}");
    }
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [row(&["5"])]);
}

#[test]
fn code_pages_say_what_the_bytes_mean() {
    let (world, mut session) = World::in_database("bulk-pages");
    run(&mut session, "CREATE TABLE t (v varchar(10), n nvarchar(10))");
    write(&world, "l.txt", b"\x80\t\xFC\n");
    write(&world, "u.txt", "\u{20AC}\t\u{6F22}\n");
    let wide: Vec<u8> = "\u{FEFF}\u{20AC}\t\u{1F600}\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&world, "w.txt", wide);
    for (with, n) in [
        ("'l.txt' WITH (CODEPAGE = 'ACP')", "\u{FC}"),
        ("'l.txt' WITH (CODEPAGE = 1252)", "\u{FC}"),
        ("'u.txt' WITH (CODEPAGE = 65001)", "\u{6F22}"),
        ("'w.txt' WITH (DATAFILETYPE = 'widechar')", "\u{1F600}"),
    ] {
        assert_eq!(load(&mut session, &format!("BULK INSERT t FROM {with}")), (vec![], Some(1)), "{with}");
        assert_eq!(rows(&mut session, "SELECT v, n FROM t"), [row(&["\u{20AC}", n])], "{with}");
        run(&mut session, "DELETE t");
    }
    let invalid = load(&mut session, "BULK INSERT t FROM 'l.txt' WITH (CODEPAGE = 65001)");
    assert_eq!(invalid, (vec![4864], Some(0)), "no UTF-8");
}

/// MAXERRORS: "Specifies the maximum number of syntax errors allowed in the data before the bulk-import operation is canceled ... The default is 10."
#[test]
fn rows_with_errors_are_left_out_up_to_a_limit() {
    let (world, mut session) = World::in_database("bulk-errors");
    run(&mut session, "CREATE TABLE t (i smallint, s varchar(3))");
    write(&world, "e.txt", "1\ta\nx\tb\n3\tlong\n70000\tc\n5\te\n");
    let told = load(&mut session, "BULK INSERT t FROM 'e.txt' WITH (ERRORFILE = 'e.bad')");
    assert_eq!(told, (vec![4864, 4863, 4867], Some(2)));
    assert_eq!(read(&world, "e.bad"), b"x\tb\n3\tlong\n70000\tc\n");
    assert_eq!(rows(&mut session, "SELECT i FROM t ORDER BY i"), [row(&["1"]), row(&["5"])]);
    let again = load(&mut session, "BULK INSERT t FROM 'e.txt' WITH (ERRORFILE = 'e.bad')");
    assert_eq!(again.0, [4861], "it is there already");
    let told = load(&mut session, "BULK INSERT t FROM 'e.txt' WITH (MAXERRORS = 2)");
    assert_eq!(told.0, [4864, 4863, 4867, 4865, 7399, 7330]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [row(&["2"])]);
    let caught = "BEGIN TRY BULK INSERT t FROM 'e.txt' WITH (MAXERRORS = 0) END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH";
    let seen = run(&mut session, caught);
    assert_eq!(seen.sets[0].1, [row(&["7330"])], "{:?}", seen.messages);
    // A field without an end: 8,000 characters are enough to know.
    write(&world, "l.txt", "1".repeat(40_000));
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'l.txt'").0, [4866, 7399, 7330]);
}

#[test]
fn files_outside_or_missing_are_not_read() {
    let (world, mut session) = World::in_database("bulk-files");
    run(&mut session, "CREATE TABLE t (i int)");
    write(&world, "a.txt", "1\n");
    for (statement, error) in [
        ("BULK INSERT t FROM 'nothing.txt'", 4860),
        ("BULK INSERT t FROM '/etc/passwd'", 5133),
        ("BULK INSERT t FROM '../a.txt'", 5105),
        ("BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = 'nothing.fmt')", 4860),
        ("BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = '/etc/passwd')", 5133),
        ("BULK INSERT t FROM 'a.txt' WITH (ERRORFILE = '/tmp/x.bad')", 5133),
        ("BULK INSERT nothing FROM 'a.txt'", 208),
    ] {
        assert_eq!(load(&mut session, statement).0, [error], "{statement}");
    }
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'a.txt'"), (vec![], Some(1)));
}

/// BATCHSIZE: "Each batch is copied to the server as one transaction."
#[test]
fn batches_are_transactions_of_their_own() {
    let (world, mut session) = World::in_database("bulk-batches");
    run(&mut session, "CREATE TABLE t (i int PRIMARY KEY)");
    let mut text: String = (1..=10_001).map(|i| format!("{i}\n")).collect();
    write(&world, "a.txt", &text);
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (FIRSTROW = 3, LASTROW = 5)"),
        (vec![], Some(3))
    );
    run(&mut session, "DELETE t");
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (BATCHSIZE = 1000)"),
        (vec![], Some(10_001))
    );
    run(&mut session, "DELETE t");
    text.push_str("7\n");
    write(&world, "a.txt", &text);
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (BATCHSIZE = 1000)").0, [2627, 3621]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [row(&["10000"])], "ten batches stay");
    run(&mut session, "DELETE t");
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'a.txt'").0, [2627, 3621]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [row(&["0"])]);
    run(&mut session, "BEGIN TRAN");
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (BATCHSIZE = 1000, LASTROW = 10000)"),
        (vec![], Some(10_000))
    );
    run(&mut session, "ROLLBACK");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [row(&["0"])]);
}

#[test]
fn identities_constraints_and_computed_columns_are_those_of_bulk_loads() {
    let (world, mut session) = World::in_database("bulk-insert-rules");
    run(
        &mut session,
        "CREATE TABLE t (i int IDENTITY, c AS n * 2, n int CONSTRAINT k CHECK (n < 10), r rowversion)",
    );
    write(&world, "a.txt", "100\tx\t5\tx\n200\tx\t50\tx\n");
    let checked = load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (CHECK_CONSTRAINTS)");
    assert_eq!(checked.0, [547, 3621]);
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'a.txt'"), (vec![], Some(2)));
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (KEEPIDENTITY, TABLOCK)"),
        (vec![], Some(2))
    );
    let all = rows(&mut session, "SELECT i, c, n FROM t WHERE i >= 100 ORDER BY i");
    assert_eq!(all, [row(&["100", "10", "5"]), row(&["200", "100", "50"])]);
    assert_eq!(rows(&mut session, "SELECT COUNT(DISTINCT i), COUNT(DISTINCT r) FROM t"), [row(&["4", "4"])]);
    assert_eq!(rows(&mut session, "SELECT is_not_trusted FROM sys.check_constraints"), [row(&["1"])]);
}

/// "Non-XML Format Files": fields in another order than the columns, and some of no column.
#[test]
fn a_format_file_says_where_fields_go() {
    let (world, mut session) = World::in_database("bulk-format");
    run(&mut session, "CREATE TABLE t (i int, s varchar(20) DEFAULT 'none', n nvarchar(20))");
    write(
        &world,
        "t.fmt",
        "14.0\r\n3\r\n1 SQLCHAR 0 20 \",\" 3 n \"\"\r\n2 SQLCHAR 0 9 \";\" 0 skipped \"\"\r\n3 SQLCHAR 0 9 \"\\r\\n\" 1 i \"\"\r\n",
    );
    write(&world, "a.txt", "eins,x;1\r\nzwei,;2\r\n");
    assert_eq!(
        load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = 't.fmt')"),
        (vec![], Some(2))
    );
    assert_eq!(
        rows(&mut session, "SELECT * FROM t ORDER BY i"),
        [row(&["1", "none", "eins"]), row(&["2", "none", "zwei"])]
    );
    write(&world, "w.fmt", "14.0\n1\n1 SQLCHAR 0 20 \",\" 4 x \"\"\n");
    assert_eq!(load(&mut session, "BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = 'w.fmt')").0, [4823]);
}

/// "XML Format Files": the columns of the row are those of the table, each names its field; the last columns may be left out.
#[test]
fn an_xml_format_file_says_where_fields_go() {
    let (world, mut session) = World::in_database("bulk-xml-format");
    run(&mut session, "CREATE TABLE t (i int, n nvarchar(20), s varchar(20) DEFAULT 'none')");
    let format = |kind: &str, row_end: &str| {
        format!(
            r#"<?xml version="1.0"?>
<BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
 <RECORD>
  <FIELD ID="1" xsi:type="{kind}" TERMINATOR="," MAX_LENGTH="20"/>
  <FIELD ID="2" xsi:type="{kind}" TERMINATOR=";" MAX_LENGTH="9" COLLATION="SQL_Latin1_General_CP1_CI_AS"/>
  <FIELD ID="3" xsi:type="{kind}" TERMINATOR="{row_end}" MAX_LENGTH="9"/>
 </RECORD>
 <ROW>
  <COLUMN SOURCE="3" NAME="any" xsi:type="SQLINT"/>
  <COLUMN SOURCE="1" NAME="name" xsi:type="SQLNVARCHAR"/>
 </ROW>
</BCPFORMAT>"#
        )
    };
    write(&world, "t.xml", format("CharTerm", "\\r\\n"));
    write(&world, "a.txt", "eins,x;1\r\nzwei,;2\r\n");
    let statement = "BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = 't.xml')";
    assert_eq!(load(&mut session, statement), (vec![], Some(2)));
    write(&world, "w.xml", format("NCharTerm", "\\n\\0"));
    let wide: Vec<u8> = "drei,y;3\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&world, "w.txt", wide);
    let statement = "BULK INSERT t FROM 'w.txt' WITH (FORMATFILE = 'w.xml')";
    assert_eq!(load(&mut session, statement), (vec![], Some(1)));
    assert_eq!(
        rows(&mut session, "SELECT * FROM t ORDER BY i"),
        [row(&["1", "eins", "none"]), row(&["2", "zwei", "none"]), row(&["3", "drei", "none"])]
    );
    write(&world, "wrong.xml", format("CharTerm", "\\n").replace("SOURCE=\"3\"", "SOURCE=\"4\""));
    let statement = "BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = 'wrong.xml')";
    assert_eq!(load(&mut session, statement).0, [4858]);
    write(&world, "broken.xml", "<BCPFORMAT><RECORD>");
    let statement = "BULK INSERT t FROM 'a.txt' WITH (FORMATFILE = 'broken.xml')";
    assert!((9400..9500).contains(&load(&mut session, statement).0[0]));
}

/// OPENROWSET (BULK), SINGLE_BLOB, SINGLE_CLOB, SINGLE_NCLOB: "a single-row, single-column rowset"; "SINGLE_NCLOB requires a UNICODE (widechar) input file".
#[test]
fn a_file_is_one_value() {
    let (world, mut session) = World::in_database("bulk-single");
    write(&world, "b.bin", [0, 1, 0xFF]);
    write(&world, "c.txt", b"na\xEFve\r\n");
    let wide: Vec<u8> = "\u{FEFF}\u{6F22}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&world, "w.txt", wide);
    write(&world, "0.txt", "");
    let one = |session: &mut Session, file: &str, form: &str| {
        let text = format!(
            "SELECT x.BulkColumn, DATALENGTH(BulkColumn) FROM OPENROWSET(BULK '{file}', {form}) AS x"
        );
        rows(session, &text)
    };
    let blob = "SELECT CONVERT(varchar(20), c, 1) FROM OPENROWSET(BULK N'b.bin', SINGLE_BLOB) AS x (c)";
    assert_eq!(rows(&mut session, blob), [row(&["0x0001FF"])]);
    assert_eq!(one(&mut session, "c.txt", "SINGLE_CLOB"), [row(&["na\u{EF}ve\r\n", "7"])]);
    assert_eq!(one(&mut session, "w.txt", "SINGLE_NCLOB"), [row(&["\u{6F22}", "2"])]);
    assert_eq!(one(&mut session, "0.txt", "SINGLE_CLOB"), [row(&["", "0"])]);
    run(&mut session, "CREATE TABLE t (i int, b varbinary(max))");
    let insert = "INSERT t SELECT 1, BulkColumn FROM OPENROWSET(BULK 'b.bin', SINGLE_BLOB) AS x";
    assert_eq!(load(&mut session, insert), (vec![], Some(1)));
    for (from, error) in [
        ("OPENROWSET(BULK 'c.txt', SINGLE_NCLOB) AS x", 4809),
        ("OPENROWSET(BULK 'nothing', SINGLE_CLOB) AS x", 4860),
        ("OPENROWSET(BULK '/etc/passwd', SINGLE_CLOB) AS x", 5133),
        ("OPENROWSET(BULK 'c.txt', SINGLE_CLOB)", 491),
    ] {
        assert_eq!(load(&mut session, &format!("SELECT * FROM {from}")).0, [error], "{from}");
    }
}
