//! An index seek gives the result of a table scan for any type of the value: for every pair of a column's type and a value's type, `c op value` over
//! an indexed column, over one without an index, and as `CASE WHEN` agree; with constants, variables, lists, ranges, joins that seek by an outer
//! value, composite, descending and filtered indexes, and the least and greatest value.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, run};
use hardpan_session::Session;

/// A column's type, and values of it.
const COLUMNS: [(&str, &str); 27] = [
    ("bit", "0, 1, 1"),
    ("tinyint", "0, 1, 2, 254, 255"),
    ("smallint", "-32768, -1, 0, 1, 32767"),
    ("int", "-2147483648, -1, 0, 1, 2, 40000, 2147483647"),
    ("bigint", "-9223372036854775808, -1, 0, 1, 2147483648, 9223372036854775807"),
    ("decimal(5, 2)", "-999.99, -1, -0.01, 0, 0.99, 1, 1.01, 999.99"),
    ("numeric(38, 0)", "-99999999999999999999999999999999999999, 0, 1, 2"),
    ("decimal(38, 10)", "-1.2, -1, 0, 0.0000000001, 1, 1.4, 1.5"),
    ("money", "-922337203685477.5808, -0.0001, 0, 0.05, 1, 922337203685477.5807"),
    ("smallmoney", "-214748.3648, 0, 0.0001, 1, 214748.3647"),
    ("real", "-3.4e38, -0.1, 0, 0.1, 0.3, 1, 16777216, 3.4e38"),
    ("float", "-1e300, -0.1, 0, 0.1, 1, 16777217, 1e300"),
    ("char(3)", "'aaa', 'abc', 'ab', '', 'b', 'ß', 'æ'"),
    (
        "varchar(3)",
        "'aaa', 'abc', 'ab', 'ab ', '', 'b', 'ss', 'ß', 'ae', 'æ', 'a' + CHAR(1), '1', '12', 'abd'",
    ),
    (
        "varchar(3) COLLATE Latin1_General_CI_AS",
        "'aaa', 'abc', 'ab', 'ab ', '', 'b', 'ss', 'ß', 'ae', 'æ', 'a' + CHAR(1), 'A', 'é', 'a-b'",
    ),
    ("varchar(3) COLLATE Latin1_General_BIN2", "'aaa', 'abc', 'ab', 'A', '', '€', 'ÿ', 'a' + CHAR(1)"),
    ("nvarchar(3)", "N'aaa', N'abc', N'ab', N'ab ', N'', N'ß', N'æ', N'ae', N'Ω'"),
    ("nchar(2) COLLATE Latin1_General_CI_AI", "N'aa', N'a', N'é', N'e', N'Ω'"),
    ("varbinary(2)", "0x, 0x00, 0x01, 0x0100, 0x0101, 0xFF, 0xFFFF"),
    ("binary(2)", "0x00, 0x01, 0x0101, 0xFFFF"),
    ("date", "'0001-01-01', '1900-01-01', '2020-02-29', '9999-12-31'"),
    ("time(0)", "'00:00', '12:00', '12:00:01', '23:59:59'"),
    (
        "datetime",
        "'1753-01-01', '1900-01-01', '2020-02-29 12:00:00.003', '2020-02-29 12:00', '9999-12-31 23:59:59.997'",
    ),
    ("smalldatetime", "'1900-01-01', '2020-02-29 12:00', '2020-02-29 12:01', '2079-06-06 23:59'"),
    (
        "datetime2(3)",
        "'0001-01-01', '2020-02-29 12:00:00.003', '2020-02-29 12:00', '9999-12-31 23:59:59.999'",
    ),
    (
        "datetimeoffset(0)",
        "'0001-01-01 00:00 +00:00', '2020-02-29 12:00 +01:00', '2020-02-29 11:00 +00:00', '9999-12-31 23:59:59 +00:00'",
    ),
    (
        "uniqueidentifier",
        "'00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'",
    ),
];

/// A value's type, and values of it: shorter, longer, between two of a column, beyond all of them, with trailing blanks.
const VALUES: [(&str, &[&str]); 30] = [
    ("bit", &["0", "1"]),
    ("tinyint", &["0", "2", "255"]),
    ("smallint", &["-1", "256", "32767"]),
    ("int", &["-1", "0", "1", "2", "256", "70000", "-2147483648", "NULL"]),
    ("bigint", &["-1", "1", "2147483648", "-9223372036854775808", "9223372036854775807"]),
    ("decimal(9, 4)", &["0.005", "-0.0001", "1.0000", "0.5", "99999.9999", "-1.5"]),
    ("decimal(38, 10)", &["1.2", "-1.2", "0.00005", "1e20"]),
    (
        "numeric(38, 0)",
        &["99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", "1"],
    ),
    ("money", &["0.05", "1.5", "922337203685477.5807", "-0.0001"]),
    ("smallmoney", &["0.5", "214748.3647"]),
    ("real", &["0.1", "0.5", "3.4e38", "-0.1"]),
    ("float", &["0.1", "0.5", "1", "1e300", "-1e300", "0.30000001192092896"]),
    ("char(5)", &["'abc'", "'abcd'", "''", "'ab'"]),
    (
        "varchar(10)",
        &["'abcd'", "'abc '", "'ab'", "'ss'", "'ß'", "'aec'", "'1'", "''", "NULL", "'ab' + CHAR(1)"],
    ),
    (
        "nvarchar(10)",
        &[
            "N'abcd'",
            "N'abc '",
            "N'ss'",
            "N'ß'",
            "N'æ'",
            "N'ae'",
            "N'a'",
            "N'Ω'",
            "N'ａ'",
            "N'e' + NCHAR(769)",
            "N'€'",
            "NULL",
        ],
    ),
    ("nchar(4)", &["N'abc'", "N'abcd'", "N'A'"]),
    ("varchar(max)", &["REPLICATE('a', 3) + 'b'", "REPLICATE(CAST('b' AS varchar(max)), 9000)"]),
    ("varbinary(4)", &["0x", "0x0000", "0x01000000", "0x010101", "0xFFFFFF", "0x0001"]),
    ("binary(1)", &["0x00", "0x01", "0xFF"]),
    ("date", &["'1900-01-01'", "'2020-02-29'", "'2020-03-01'"]),
    ("time(7)", &["'12:00:00.0000001'", "'11:59:59.9999999'", "'12:00'", "'23:59:59.9999999'"]),
    ("time(3)", &["'12:00:00.5'"]),
    ("datetime", &["'2020-02-29 12:00'", "'2020-02-29 12:00:00.003'", "'1753-01-01'"]),
    ("smalldatetime", &["'2020-02-29 12:00'", "'2079-06-06 23:59'"]),
    (
        "datetime2(7)",
        &[
            "'2020-02-29 12:00:00.0033333'",
            "'2020-02-29 12:00:00.003'",
            "'0001-01-01'",
            "'9999-12-31 23:59:59.9999999'",
        ],
    ),
    ("datetime2(0)", &["'2020-02-29 12:00'", "'2100-01-01'"]),
    (
        "datetimeoffset(7)",
        &["'2020-02-29 12:00 +01:00'", "'2020-02-29 11:00:00.5 +00:00'", "'0001-01-01 00:00 +00:00'"],
    ),
    ("uniqueidentifier", &["'00000000-0000-0000-0000-000000000001'"]),
    ("sql_variant", &["CAST(1 AS int)", "CAST(0.5 AS decimal(3, 1))", "'abcd'"]),
    ("sysname", &["N'abc'", "N'aec'"]),
];

/// Predicates about the column `#` and the values `@v` and `@w`.
const PREDICATES: [&str; 14] = [
    "# = @v",
    "# <> @v",
    "# < @v",
    "# <= @v",
    "# > @v",
    "# >= @v",
    "@v < #",
    "# BETWEEN @v AND @w",
    "# NOT BETWEEN @v AND @w",
    "# IN (@v, @w)",
    "# NOT IN (@v, @w)",
    "# IN (@v, @w, @w, @w, @w, @w, @w, @w, @w, @w, @w, @v)",
    "NOT (# > @v)",
    "(# = @v OR # > @w)",
];

/// Number of predicates drawn for each value.
const DRAWN: usize = 2;

/// The queried aggregates: how many rows there are and which.
const ANSWER: &str =
    "CAST(COUNT(*) AS varchar(9)) + ':' + ISNULL(CAST(SUM(POWER(2, id)) AS varchar(12)), '-')";

fn made(session: &mut Session, column: &str, values: &str) {
    let rows: Vec<String> = values.split(", ").map(|value| format!("({value}, {value})")).collect();
    run(session, "DROP TABLE IF EXISTS t, o, d, f");
    let seen = run(
        session,
        &format!(
            "CREATE TABLE t (id int IDENTITY, c {column} NULL, u {column} NULL, one int NOT NULL DEFAULT 1)
             INSERT t (c, u) VALUES {}, (NULL, NULL)
             CREATE INDEX ic ON t (c)
             SELECT * INTO o FROM t; CREATE INDEX io ON o (one, c DESC)
             SELECT * INTO d FROM t; CREATE CLUSTERED INDEX id ON d (c DESC, id)
             SELECT * INTO f FROM t",
            rows.join(", ")
        ),
    );
    let wrong: Vec<i32> = crate::common::numbers(&seen).into_iter().filter(|number| *number != 0).collect();
    assert!(wrong.is_empty(), "{column}: {:?}", seen.messages);
    // An index of the rows about the middle value: does a condition imply its filter?
    let middle = values.split(", ").nth(1).unwrap();
    if !middle.contains('+') {
        run(session, &format!("CREATE INDEX \"if\" ON f (id) INCLUDE (c) WHERE c >= {middle}"));
    }
}

/// The queries of one predicate, which must agree.
fn questions(predicate: &str) -> Vec<String> {
    let of = |column: &str| predicate.replace('#', column);
    let count = |from: &str, condition: &str| format!("(SELECT {ANSWER} FROM {from} WHERE {condition})");
    vec![
        count("t", &of("u")),
        count("t", &format!("CASE WHEN {} THEN 1 ELSE 0 END = 1", of("u"))),
        count("t", &of("c")),
        count("t WITH (INDEX (ic))", &of("c")),
        count("o", &format!("one = 1 AND {}", of("c"))),
        count("d", &of("c")),
        count("f", &format!("id > 0 AND {}", of("c"))),
    ]
}

/// The least and the greatest value, by the index and without it.
fn ends(predicate: &str) -> Vec<String> {
    let of = |name: &str, column: &str| {
        format!(
            "(SELECT id FROM (SELECT TOP 1 id FROM t WHERE u = (SELECT {name}({column}) FROM t WHERE {}) ORDER BY id) x)",
            predicate.replace('#', column)
        )
    };
    vec![of("MIN", "u"), of("MIN", "c"), of("MAX", "u"), of("MAX", "c")]
}

/// All queries in one statement; `None` where the types cannot be compared.
fn ask(session: &mut Session, declared: &str, questions: &[String]) -> Option<Vec<String>> {
    let seen = run(session, &format!("{declared} SELECT {}", questions.join(", ")));
    seen.sets.first().and_then(|set| set.1.first()).cloned()
}

fn check(session: &mut Session, column: &str, declared: &str, predicate: &str, asked: &mut u64) {
    let questions = questions(predicate);
    let Some(answers) = ask(session, declared, &questions) else {
        // The table scan fails as well.
        assert!(
            ask(session, declared, &questions[..1]).is_none()
                || ask(session, declared, &questions[1..2]).is_none(),
            "{column}: {declared} {predicate}"
        );
        return;
    };
    *asked += 1;
    for (question, answer) in questions.iter().zip(&answers) {
        assert_eq!(answer, &answers[0], "c {column}: {declared} {question}");
    }
    if column != "bit" && column != "uniqueidentifier" {
        let ends = ends(predicate);
        let answers = ask(session, declared, &ends).unwrap();
        assert_eq!((&answers[0], &answers[2]), (&answers[1], &answers[3]), "c {column}: {declared} {ends:?}");
    }
}

/// Every third column, with all values of all types: for each some of the predicates, with variables or constants.
fn check_columns(name: &str, part: usize) {
    let world = World::new(name);
    let mut session = world.session();
    let mut random = Random::new(seed(7) + part as u64);
    let mut asked = 0;
    for (column, values) in COLUMNS.iter().skip(part).step_by(3) {
        made(&mut session, column, values);
        for (sql_type, values) in VALUES {
            let before = asked;
            for (at, value) in values.iter().enumerate() {
                let other = values[(at + 1) % values.len()];
                for _ in 0..DRAWN {
                    let predicate = *random.one_of(&PREDICATES);
                    if random.below(2) == 0 {
                        let declared = format!("DECLARE @v {sql_type} = {value}, @w {sql_type} = {other}");
                        check(&mut session, column, &declared, predicate, &mut asked);
                    } else {
                        let cast = |value: &str| format!("CAST({value} AS {sql_type})");
                        let constant = predicate.replace("@v", &cast(value)).replace("@w", &cast(other));
                        check(&mut session, column, "", &constant, &mut asked);
                    }
                }
            }
            if asked > before && sql_type != "sql_variant" {
                check_joins(&mut session, column, sql_type, values);
            }
        }
    }
    assert!(asked > 500, "{asked} predicates had an answer");
}

/// Joins that look the rows of `t` up by values of `v`.
fn check_joins(session: &mut Session, column: &str, sql_type: &str, values: &[&str]) {
    let rows: Vec<String> = values.iter().map(|value| format!("({value})")).collect();
    let made = format!(
        "DROP TABLE IF EXISTS v; CREATE TABLE v (x {sql_type} NULL); INSERT v VALUES {}",
        rows.join(", ")
    );
    run(session, &made);
    for op in ["=", "<", ">="] {
        let answer = |session: &mut Session, on: &str| {
            ask(
                session,
                "",
                &[format!(
                    "(SELECT CAST(COUNT(*) AS varchar(9)) + ':' + CAST(ISNULL(SUM(POWER(2, t.id)), 0) AS varchar(12)) FROM v JOIN t ON {on})"
                )],
            )
        };
        let expected = answer(session, &format!("CASE WHEN t.u {op} v.x THEN 1 ELSE 0 END = 1"));
        for on in [
            format!("t.c {op} v.x"),
            format!("t.u {op} v.x"),
            format!("t.one = 1 AND v.x {} t.c", op.replace('<', "+").replace('>', "<").replace('+', ">")),
        ] {
            let found = answer(session, &on);
            assert!(
                found == expected || expected.is_none(),
                "c {column}, v.x {sql_type}: {on}: {found:?}, not {expected:?}"
            );
        }
    }
}

#[test]
fn an_index_tells_of_values_of_any_type_what_the_table_tells() {
    check_columns("seeks_by_other_types", 0);
}

#[test]
fn an_index_tells_of_values_of_any_type_what_the_table_tells_second_part() {
    check_columns("seeks_by_other_types_2", 1);
}

#[test]
fn an_index_tells_of_values_of_any_type_what_the_table_tells_third_part() {
    check_columns("seeks_by_other_types_3", 2);
}

/// The examples, and columns that a conversion has changed before they are compared.
#[test]
fn what_is_converted_before_it_is_compared_is_not_sought_by_what_it_was() {
    let world = World::new("seeks_by_converted_columns");
    let mut session = world.session();
    let mut one = |query: &str| {
        let seen = run(&mut session, query);
        assert_eq!(seen.sets.len(), 1, "{query}: {:?}", seen.messages);
        seen.sets[0].1[0].join("|")
    };
    assert_eq!(
        one(
            "CREATE TABLE a (c varchar(3) INDEX i); INSERT a VALUES ('abc'), ('aaa'); SELECT COUNT(*) FROM a WHERE c < 'abcd'"
        ),
        "2"
    );
    assert_eq!(
        one("CREATE TABLE b (flag bit INDEX i); INSERT b VALUES (0), (1), (1)
             SELECT (SELECT COUNT(*) FROM b WHERE flag < 2), (SELECT COUNT(*) FROM b WHERE flag > -1), (SELECT COUNT(*) FROM b WHERE flag BETWEEN -1 AND 5)"),
        "3|3|3"
    );
    // A union of two decimals of 38 digits keeps fewer digits after the point.
    assert_eq!(
        one("CREATE TABLE e (c decimal(38, 10) INDEX i); INSERT e VALUES (1.4), (1.5), (2)
             SELECT (SELECT COUNT(*) FROM (SELECT c FROM e UNION ALL SELECT CAST(7 AS decimal(38, 0))) x WHERE c = 1),
                    (SELECT COUNT(*) FROM (SELECT c + 0 AS c FROM e UNION ALL SELECT CAST(7 AS decimal(38, 0))) x WHERE c = 1)"),
        "1|1"
    );
    // A parameter of an inline function is of its own type.
    assert_eq!(
        one("CREATE TABLE g (c int INDEX i); INSERT g VALUES (0), (1), (5), (NULL)
             EXEC ('CREATE FUNCTION is_set (@p bit) RETURNS TABLE AS RETURN SELECT 1 AS one WHERE @p = 1')
             SELECT COUNT(*) FROM g CROSS APPLY is_set(g.c) x"),
        "2"
    );
    // Two rows of a unique index may equal one value of another type.
    assert_eq!(
        one("CREATE TABLE h (c varchar(3) PRIMARY KEY); INSERT h VALUES ('ss'), ('ß'), ('s')
             SELECT (SELECT COUNT(*) FROM h WHERE c = N'ss'), (SELECT COUNT(*) FROM h WHERE c = 'ss'), (SELECT COUNT(*) FROM h WHERE c IN (N'ß', N's'))"),
        "2|1|3"
    );
}
