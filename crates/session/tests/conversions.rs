//! Every pair of types: CAST and assignment succeed or are refused as the documented chart says (`types/src/convert/matrix.txt`), with the
//! right error number; a value inside a sql_variant converts to each type as the bare value does.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const CHART: &str = include_str!("../../types/src/convert/matrix.txt");

/// The types of the chart with a value of each, one that many other types can take.
const VALUES: [(&str, &str, &str); 30] = [
    ("binary", "binary(8)", "0x0000000000000001"),
    ("varbinary", "varbinary(8)", "0x01"),
    ("char", "char(10)", "'1'"),
    ("varchar", "varchar(60)", "'1'"),
    ("nchar", "nchar(10)", "N'1'"),
    ("nvarchar", "nvarchar(60)", "N'1'"),
    ("datetime", "datetime", "'2020-02-03T04:05:06'"),
    ("smalldatetime", "smalldatetime", "'2020-02-03T04:05:00'"),
    ("date", "date", "'2020-02-03'"),
    ("time", "time", "'04:05:06'"),
    ("datetimeoffset", "datetimeoffset", "'2020-02-03T04:05:06+01:00'"),
    ("datetime2", "datetime2", "'2020-02-03T04:05:06'"),
    ("decimal", "decimal(9,2)", "1.25"),
    ("numeric", "numeric(9,2)", "1.25"),
    ("float", "float", "1.5"),
    ("real", "real", "1.5"),
    ("bigint", "bigint", "1"),
    ("int", "int", "1"),
    ("smallint", "smallint", "1"),
    ("tinyint", "tinyint", "1"),
    ("money", "money", "1.25"),
    ("smallmoney", "smallmoney", "1.25"),
    ("bit", "bit", "1"),
    ("timestamp", "timestamp", "0x0000000000000001"),
    ("uniqueidentifier", "uniqueidentifier", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"),
    ("image", "image", "0x01"),
    ("ntext", "ntext", "N'1'"),
    ("text", "text", "'1'"),
    ("sql_variant", "sql_variant", "'1'"),
    ("xml", "xml", "'<a>1</a>'"),
];

/// Refusals of the pair itself; other errors are about the value.
const REFUSALS: [i32; 3] = [206, 257, 529];

/// Pairs of the chart: numbers of the types and the letter.
fn pairs() -> Vec<(usize, usize, char)> {
    let lines: Vec<&str> = CHART.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), VALUES.len());
    let mut pairs = Vec::new();
    for (from, line) in lines.iter().enumerate() {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some(VALUES[from].0));
        let letters: Vec<&str> = words.collect();
        assert_eq!(letters.len(), VALUES.len(), "{line}");
        pairs.extend(
            letters.iter().enumerate().map(|(to, letter)| (from, to, letter.chars().next().unwrap())),
        );
    }
    pairs
}

/// The row of a SELECT, or the number of its error: one of the two.
fn outcome(session: &mut Session, text: &str) -> Result<String, i32> {
    let seen = run(session, text);
    match seen.messages.first() {
        Some(message) => Err(message.0),
        None => {
            assert_eq!(seen.sets.last().map(|set| set.1.len()), Some(1), "{text}: no row and no error");
            Ok(seen.sets.last().unwrap().1[0].join("|"))
        }
    }
}

#[test]
fn every_pair_of_types_converts_as_the_chart_says() {
    let world = World::new("conversions");
    let mut s = world.session();
    for (name, sql_type, _) in VALUES {
        if matches!(name, "text" | "ntext" | "image") {
            run(&mut s, &format!("CREATE TABLE of_{name} (x {sql_type})"));
        }
    }
    let mut wrong = Vec::new();
    for (from, to, letter) in pairs() {
        let (_, from_type, value) = VALUES[from];
        let (to_name, to_type, _) = VALUES[to];
        let source = format!("CAST({value} AS {from_type})");
        for (form, text) in [
            ("CAST", format!("SELECT CAST({source} AS {to_type}) AS x")),
            ("CONVERT", format!("SELECT CONVERT({to_type}, {source}) AS x")),
        ] {
            let refused = outcome(&mut s, &text).err().filter(|number| REFUSALS.contains(number));
            let expected = (letter == '-').then_some(529);
            if refused != expected {
                wrong.push(format!("{form} {letter} {refused:?}, not {expected:?}: {text}"));
            }
        }
        let unasked = match to_name {
            "text" | "ntext" | "image" => format!("INSERT of_{to_name} SELECT {source}; SELECT 1 AS x"),
            _ => format!("DECLARE @x {to_type}; SET @x = {source}; SELECT 1 AS x"),
        };
        let refused = outcome(&mut s, &unasked).err().filter(|number| REFUSALS.contains(number));
        let expected = match letter {
            'I' => None,
            'E' => Some(257),
            _ => Some(206),
        };
        if refused != expected {
            wrong.push(format!("unasked {letter} {refused:?}, not {expected:?}: {unasked}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_value_in_a_sql_variant_converts_as_it_does_by_itself() {
    let world = World::new("conversions-variant");
    let mut s = world.session();
    let letters = pairs();
    let letter =
        |from: usize, to: usize| letters.iter().find(|pair| (pair.0, pair.1) == (from, to)).unwrap().2;
    let variant = VALUES.iter().position(|value| value.0 == "sql_variant").unwrap();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (from, (name, from_type, value)) in VALUES.iter().enumerate() {
        if letter(from, variant) != 'I' || *name == "sql_variant" {
            continue;
        }
        let shown = |to_type: &str, source: &str| match to_type {
            "sql_variant" => format!("SELECT CAST(CAST({source} AS sql_variant) AS nvarchar(100)) AS x"),
            _ => format!("SELECT CAST({source} AS {to_type}) AS x"),
        };
        for (to, (to_name, to_type, _)) in VALUES.iter().enumerate() {
            let alone = outcome(&mut s, &shown(to_type, &format!("CAST({value} AS {from_type})")));
            let inside = shown(to_type, &format!("CAST(CAST({value} AS {from_type}) AS sql_variant)"));
            let found = outcome(&mut s, &inside);
            let expected = match letter(variant, to) {
                '-' => Err(529),
                _ if letter(from, to) == '-' => Err(529),
                _ => alone,
            };
            tried += 1;
            if found != expected {
                wrong.push(format!("{name} to {to_name}: {found:?}, not {expected:?}: {inside}"));
            }
        }
    }
    assert!(tried > 700, "{tried} pairs");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A column of a derived table that is the literal NULL in all rows has no type of its own: it takes its reader's, as frameworks' MERGE statements
/// ask (`USING (VALUES (1, NULL)) AS s (id, deleted)`); an aggregate of it has none to take (8117).
#[test]
fn a_column_of_untyped_nulls_takes_its_readers_type() {
    let (_world, mut s) = World::in_database("untyped-nulls");
    run(&mut s, "CREATE TABLE n (i int, d datetime2, u uniqueidentifier, b varbinary(9), x xml)");
    for source in [
        "(VALUES (1, NULL)) AS s (k, v)",
        "(VALUES (1, NULL), (2, NULL)) AS s (k, v)",
        "(SELECT 1 AS k, NULL AS v) AS s",
        "(SELECT k, v FROM (SELECT 1 AS k, NULL AS v) AS below) AS s",
        "(SELECT * FROM (SELECT 1 AS k, NULL AS v) AS below) AS s",
        "(SELECT 1 AS k, NULL AS v UNION ALL SELECT 2, NULL) AS s",
    ] {
        for text in [
            format!("INSERT n (d, u, b, x) SELECT v, v, v, v FROM {source}"),
            format!("INSERT n (d) SELECT s.v FROM {source} LEFT JOIN n AS o ON o.d = s.v"),
            format!("UPDATE n SET d = s.v, u = s.v FROM {source}"),
            format!("SELECT v FROM {source} UNION ALL SELECT NEWID() WHERE 1 = 0"),
            format!(
                "SELECT ISNULL(v, NEWID()), COALESCE(v, GETDATE()), CASE WHEN k = 1 THEN v ELSE NEWID() END FROM {source}"
            ),
            format!("SELECT v FROM {source} GROUP BY v ORDER BY v"),
            format!("SELECT ROW_NUMBER() OVER (PARTITION BY v ORDER BY s.v) FROM {source} ORDER BY s.v"),
            format!("DECLARE @d datetime2 SELECT @d = v FROM {source}"),
            format!(
                "MERGE n USING {source} ON n.i = s.k AND n.i = -1 WHEN MATCHED THEN UPDATE SET d = s.v \
                 WHEN NOT MATCHED THEN INSERT (i, d, u) VALUES (s.k, s.v, s.v);"
            ),
        ] {
            assert_eq!(numbers(&run(&mut s, &text)), Vec::<i32>::new(), "{text}");
        }
        assert_eq!(numbers(&run(&mut s, &format!("SELECT MAX(v) FROM {source}"))), [8117], "{source}");
    }
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM n WHERE d IS NOT NULL OR u IS NOT NULL"), ["0"]);
    // Into a table it is an int; CAST, another branch, and a view's definition give it a type.
    run(&mut s, "SELECT v INTO shown FROM (SELECT NULL AS v) AS s");
    let of_shown = "SELECT TYPE_NAME(system_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('shown')";
    assert_eq!(rows(&mut s, of_shown), ["int"]);
    for typed in ["SELECT CAST(NULL AS int) AS v", "SELECT NULL AS v UNION ALL SELECT 1"] {
        let text = format!("INSERT n (d) SELECT v FROM ({typed}) AS s");
        assert_eq!(numbers(&run(&mut s, &text)), [206], "{text}");
    }
    run(&mut s, "CREATE VIEW low AS SELECT NULL AS v");
    // It has a MAX, which leaves NULL out (the warning).
    assert_eq!(numbers(&run(&mut s, "SELECT MAX(v) FROM low")), [8153]);
}
