//! Sorts: by every type, up and down, with equal values and NULLs, and with TOP, which keeps the first rows only. The order of an index says what
//! is right; debug builds compare the values of neighbours as well.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// 3,000 numbers in no order, some of them negative, each five times.
const NUMBERS: &str = "SELECT n AS id, n * 7919 % 600 - 100 AS v INTO numbers
     FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n
         FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 60) x
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 50) y) z";

/// A type, and a value of it made of `v`. Many texts begin alike, with blanks, or with what sorts below a blank.
const TYPES: [(&str, &str); 27] = [
    ("bit", "v % 2"),
    ("tinyint", "ABS(v) % 256"),
    ("smallint", "v * 50"),
    ("int", "v * 4000000"),
    ("bigint", "v * CAST(10000000000000000 AS bigint)"),
    ("decimal(9,4)", "v / 7.0"),
    ("decimal(38,10)", "v * 123456789012345678.0123456789"),
    (
        "decimal(38,0)",
        "CASE WHEN v % 3 = 0 THEN v ELSE v * CAST(1000000000000000000000000000000 AS decimal(38,0)) END",
    ),
    ("money", "v / 3.0"),
    ("smallmoney", "v * 300"),
    ("real", "v / 11.0"),
    ("float", "v * 1E10 / 7"),
    ("date", "DATEADD(day, v * 100, '2000-01-01')"),
    ("time(7)", "DATEADD(second, v * 40, '12:00')"),
    ("datetime", "DATEADD(second, v * 100000, '2000-01-01')"),
    ("smalldatetime", "DATEADD(hour, v, '2000-01-01')"),
    ("datetime2(7)", "DATEADD(day, v * 1000, CAST('1753-01-01' AS datetime2))"),
    ("datetimeoffset", "TODATETIMEOFFSET(DATEADD(hour, v, '2000-01-01'), CAST(v % 10 AS int))"),
    ("char(20)", "CONCAT(SUBSTRING('AbaBcé', ABS(v) % 6 + 1, 1), SPACE(v % 4), v)"),
    ("varchar(40)", "CONCAT('the same text ', CHAR(ABS(v) % 90 + 9), SPACE(ABS(v) % 3), v)"),
    (
        "varchar(40) COLLATE SQL_Latin1_General_CP1_CS_AS",
        "CONCAT(SUBSTRING('aAbB', ABS(v) % 4 + 1, 1), SPACE(ABS(v) % 9), CHAR(ABS(v) % 40 + 7))",
    ),
    (
        "varchar(40) COLLATE Latin1_General_CI_AS",
        "CONCAT(SUBSTRING('a-b''', ABS(v) % 4 + 1, 2), SPACE(ABS(v) % 9), v)",
    ),
    (
        "varchar(40) COLLATE Latin1_General_BIN",
        "CONCAT(SUBSTRING('aAbB', ABS(v) % 4 + 1, 1), SPACE(ABS(v) % 9), v)",
    ),
    ("nvarchar(40)", "CONCAT(NCHAR(ABS(v) % 500 + 32), SPACE(ABS(v) % 9), v)"),
    ("varbinary(20)", "CAST(v * 65536 AS varbinary(4)) + 0x00"),
    ("uniqueidentifier", "CAST(CAST(v * 7919 AS binary(16)) AS uniqueidentifier)"),
    (
        "sql_variant",
        "CASE ABS(v) % 3 WHEN 0 THEN CAST(v AS sql_variant) WHEN 1 THEN CAST(CONCAT('x', v) AS sql_variant) ELSE CAST(v / 2.0 AS sql_variant) END",
    ),
];

const SORT: &str = "OPTION (USE HINT ('HARDPAN_DISABLE_RULE_ORDER_INFERENCE'))";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, NUMBERS)).iter().all(|number| *number == 0));
    (world, session)
}

#[test]
fn each_type_is_sorted_as_an_index_of_it() {
    let (_world, mut session) = filled("sorts-types");
    for (declared, value) in TYPES {
        run(&mut session, "DROP TABLE IF EXISTS t");
        let made = run(
            &mut session,
            &format!(
                "CREATE TABLE t (id int NOT NULL, v {declared} NULL, INDEX by_v CLUSTERED (v, id))
                 INSERT t SELECT id, CASE WHEN id % 50 = 7 THEN NULL ELSE {value} END FROM numbers"
            ),
        );
        // 1945 warns that the key of a sql_variant may be long.
        assert!(
            numbers(&made).iter().all(|number| [0, 1945].contains(number)),
            "{declared}: {:?}",
            made.messages
        );
        for order in ["v, id", "v DESC, id DESC"] {
            let indexed = rows(&mut session, &format!("SELECT id FROM t ORDER BY {order}"));
            assert_eq!(indexed.len(), 3000, "{declared}");
            let sorted = rows(&mut session, &format!("SELECT id FROM t ORDER BY {order} {SORT}"));
            assert!(sorted == indexed, "{declared}, {order}");
            for top in [1, 10, 700, 2999] {
                let first =
                    rows(&mut session, &format!("SELECT TOP ({top}) id FROM t ORDER BY {order} {SORT}"));
                assert!(first == indexed[..top], "{declared}, {order}, the first {top}");
            }
        }
    }
}

#[test]
fn the_first_rows_of_many_equal_ones_are_those_that_came_first() {
    let (_world, mut session) = filled("sorts-equal");
    run(
        &mut session,
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NULL) INSERT t SELECT id, NULLIF(id % 3, 2) FROM numbers",
    );
    let all = rows(&mut session, &format!("SELECT id FROM t ORDER BY v {SORT}"));
    for top in [0, 1, 999, 1000, 1001, 1500, 3000, 4000] {
        let first = rows(&mut session, &format!("SELECT TOP ({top}) id FROM t ORDER BY v {SORT}"));
        assert_eq!(first, all[..top.min(3000)], "{top}");
    }
    let page = rows(
        &mut session,
        &format!("SELECT id FROM t ORDER BY v DESC OFFSET 1990 ROWS FETCH NEXT 20 ROWS ONLY {SORT}"),
    );
    let down = rows(&mut session, &format!("SELECT id FROM t ORDER BY v DESC {SORT}"));
    assert_eq!(page, down[1990..2010]);
    // A key that cannot be computed is an error although its row would not be among the first.
    let seen = run(&mut session, "SELECT TOP (1) id FROM t ORDER BY 10 / (id - 2999), id");
    assert_eq!(numbers(&seen), [8134]);
}
