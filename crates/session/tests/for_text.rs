//! FOR XML and FOR JSON at the top of a statement: the text goes to the client in rows of 2,033 characters, under the documented column names.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, rows, run};
use hardpan_session::Session;

/// The lengths of a statement's rows, and their text.
fn text_of(session: &mut Session, statement: &str) -> (Vec<usize>, String) {
    let rows = rows(session, statement);
    (rows.iter().map(String::len).collect(), rows.concat())
}

#[test]
fn a_long_text_is_sent_in_pieces() {
    let world = World::new("for-text");
    let mut session = world.session();
    let (lengths, text) =
        text_of(&mut session, "SELECT REPLICATE(CAST('x' AS varchar(max)), 5000) AS a FOR JSON PATH");
    assert_eq!(lengths, [2033, 2033, 944]);
    assert_eq!(text, format!("[{{\"a\":\"{}\"}}]", "x".repeat(5000)));
    let (lengths, text) = text_of(
        &mut session,
        "SELECT value AS v FROM GENERATE_SERIES(1, 5001) ORDER BY value FOR XML RAW, ROOT('r')",
    );
    assert!(lengths.iter().rev().skip(1).all(|length| *length == 2033), "{lengths:?}");
    let written: String = (1..=5001).map(|number| format!("<row v=\"{number}\"/>")).collect();
    assert_eq!(text, format!("<r>{written}</r>"));
    // As long as two pieces: there is no empty third one.
    let (lengths, _) = text_of(&mut session, "SELECT REPLICATE('x', 4066) AS [text()] FOR XML PATH('')");
    assert_eq!(lengths, [2033, 2033]);
}

#[test]
fn the_column_has_the_documented_name_and_type() {
    let world = World::new("for-text-columns");
    let mut session = world.session();
    let mut column = |text: &str| {
        let seen = run(&mut session, text);
        (seen.sets[0].0[0].clone(), seen.types[0][0].to_string())
    };
    let json = ("JSON_F52E2B61-18A1-11d1-B105-00805F49916B".to_string(), "nvarchar(max)".to_string());
    assert_eq!(column("SELECT 1 AS a FOR JSON PATH"), json);
    let xml = ("XML_F52E2B61-18A1-11d1-B105-00805F49916B".to_string(), "ntext".to_string());
    assert_eq!(column("SELECT 1 AS a FOR XML RAW"), xml);
    assert_eq!(column("SELECT 1 AS a FOR XML RAW, TYPE").1, "xml");
    assert_eq!(
        column("SELECT (SELECT 1 AS a FOR XML RAW) AS x"),
        ("x".to_string(), "nvarchar(max)".to_string())
    );
    let described = rows(
        &mut session,
        "CREATE TABLE #d (name nvarchar(128), type nvarchar(128)); INSERT INTO #d SELECT name, system_type_name \
         FROM sys.dm_exec_describe_first_result_set(N'SELECT 1 AS a FOR JSON PATH', NULL, 0); SELECT * FROM #d",
    );
    assert_eq!(described, ["JSON_F52E2B61-18A1-11d1-B105-00805F49916B|nvarchar(max)"]);
}
