//! sp_describe_undeclared_parameters: the documented algorithm, its columns in order, its errors.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

fn prepared(name: &str) -> (World, Session) {
    let (world, mut s) = World::in_database(name);
    run(
        &mut s,
        "CREATE TABLE t(i int, small smallint, s varchar(20), n nvarchar(30), d decimal(10,2), at datetime, c char(30), m varchar(max),
             b binary(4), o datetimeoffset(3), x money)",
    );
    run(&mut s, "CREATE PROCEDURE p @first varchar(7), @second decimal(5,1) OUTPUT AS SET @second = 1");
    (world, s)
}

/// `name=type` of each parameter.
fn deduced(s: &mut Session, text: &str) -> String {
    let call = format!("EXEC sp_describe_undeclared_parameters N'{}'", text.replace('\'', "''"));
    let seen = run(s, &call);
    assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
    let pairs = seen.sets[0].1.iter().map(|row| format!("{}={}", row[1], row[3]));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Text, and the types of its parameters. Simple deduction with `=`, in assignments, VALUES, CAST; general deduction elsewhere.
const DEDUCED: &[(&str, &str)] = &[
    ("SELECT * FROM t", ""),
    ("SELECT * FROM t WHERE c = @a AND c > @b", "@a=char(30) @b=varchar(8000)"),
    (
        "SELECT * FROM t WHERE @a = n OR n <> @b OR s >= @c",
        "@a=nvarchar(30) @b=nvarchar(30) @c=varchar(8000)",
    ),
    ("SELECT * FROM t WHERE at BETWEEN @a AND @b", "@a=datetime @b=datetime"),
    (
        "SELECT * FROM t WHERE d < @a AND x < @b AND o < @c AND b < @d AND m < @e",
        "@a=numeric(38,19) @b=money @c=datetimeoffset(7) @d=varbinary(8000) @e=varchar(max)",
    ),
    ("SELECT * FROM t WHERE i IN (@a, 3, @b) AND @c IN (small, small)", "@a=int @b=int @c=smallint"),
    ("SELECT * FROM t WHERE s LIKE @a AND @b LIKE n", "@a=varchar(8000) @b=nvarchar(4000)"),
    ("SELECT * FROM t WHERE i = i + @a", "@a=int"),
    ("SELECT NULL + @a", "@a=int"),
    ("SELECT @a + 2", "@a=int"),
    ("SELECT CAST(@a AS money), CONVERT(varchar(3), @b)", "@a=money @b=varchar(3)"),
    ("SELECT SUBSTRING(@a, @b, 2), DATEADD(day, @c, at) FROM t", "@a=nvarchar(4000) @b=bigint @c=int"),
    (
        "SELECT ISNULL(@a, i), COALESCE(n, @b), CASE i WHEN @c THEN d ELSE @d END FROM t",
        "@a=int @b=nvarchar(30) @c=int @d=decimal(10,2)",
    ),
    ("SELECT TOP (@a) i FROM t ORDER BY i", "@a=bigint"),
    ("SELECT i FROM t ORDER BY i OFFSET @a ROWS FETCH NEXT @b ROWS ONLY", "@a=bigint @b=bigint"),
    (
        "INSERT t(i, s, d) VALUES (@a, @b, @c), (4, @d, @e)",
        "@a=int @b=varchar(20) @c=decimal(10,2) @d=varchar(20) @e=decimal(10,2)",
    ),
    (
        "UPDATE t SET s = @a, d = d + @b WHERE i = (SELECT MAX(i) FROM t WHERE n = @c)",
        "@a=varchar(20) @b=numeric(38,19) @c=nvarchar(30)",
    ),
    ("DELETE t WHERE i = @a", "@a=int"),
    (
        "DECLARE @k smallint = @a; IF @k = @b SELECT 1 ELSE WHILE @c > 1.5 BREAK",
        "@a=smallint @b=smallint @c=numeric(38,19)",
    ),
    ("DECLARE @k int; SET @k = @a; SELECT i FROM t WHERE i = @k", "@a=int"),
    ("EXEC p @a, @second = @b", "@a=varchar(7) @b=decimal(5,1)"),
];

#[test]
fn types_come_from_the_places() {
    let (_world, mut s) = prepared("undeclared-types");
    for (text, expected) in DEDUCED {
        assert_eq!(deduced(&mut s, text), *expected, "{text}");
    }
    // The text does not run.
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t"), ["0"]);
}

#[test]
fn what_gives_no_type_is_an_error() {
    let (_world, mut s) = prepared("undeclared-errors");
    let cases: &[(&str, i32)] = &[
        ("SELECT @a", 11506),
        ("SELECT 1 WHERE @a IS NULL", 11506),
        ("SELECT * FROM t WHERE @a = @b", 11503),
        ("SELECT * FROM t WHERE i = @a + @b", 11503),
        ("SELECT * FROM t WHERE @a = SUBSTRING(@b, 2, 3)", 11503),
        ("SELECT * FROM t WHERE s LIKE @a + @b", 11503),
        ("SELECT * FROM t WHERE i = @a OR i > @a", 11508),
        ("SELECT * FROM nobody WHERE i = @a", 208),
        ("SELECT * FROM t WHERE nobody = @a", 207),
        ("SELECT FROM t", 156),
        ("EXEC nobody @a", 2812),
        ("EXEC p 'a', 1, @a", 8144),
    ];
    for (text, number) in cases {
        let call = format!("EXEC sp_describe_undeclared_parameters N'{}'", text.replace('\'', "''"));
        assert_eq!(numbers(&run(&mut s, &call)), [*number], "{text}");
    }
    assert_eq!(numbers(&run(&mut s, "EXEC sp_describe_undeclared_parameters")), [201]);
    // Elsewhere a variable must be declared.
    assert_eq!(numbers(&run(&mut s, "SELECT * FROM t WHERE i = @a")), [137]);
}

#[test]
fn columns_and_declared_parameters() {
    let (_world, mut s) = prepared("undeclared-columns");
    let text = "EXEC sp_describe_undeclared_parameters N'EXEC p @x, @y OUTPUT; SELECT i FROM t WHERE i = @z AND n = @w', N'@w int'";
    let seen = run(&mut s, text);
    let names = "parameter_ordinal name suggested_system_type_id suggested_system_type_name suggested_max_length suggested_precision \
                 suggested_scale suggested_user_type_id suggested_user_type_database suggested_user_type_schema suggested_user_type_name \
                 suggested_assembly_qualified_type_name suggested_xml_collection_id suggested_xml_collection_database \
                 suggested_xml_collection_schema suggested_xml_collection_name suggested_is_xml_document suggested_is_case_sensitive \
                 suggested_is_fixed_length_clr_type suggested_is_input suggested_is_output formal_parameter_name suggested_tds_type_id \
                 suggested_tds_length";
    assert_eq!(seen.sets[0].0.join(" "), names);
    let shown: Vec<String> = seen.sets[0].1.iter().map(|row| row.join("|")).collect();
    let nulls = "NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|0|0|0|1";
    assert_eq!(
        shown,
        [
            format!("1|@x|167|varchar(7)|7|0|0|{nulls}|0|@first|167|7"),
            format!("2|@y|106|decimal(5,1)|5|5|1|{nulls}|1|@second|106|17"),
            format!("3|@z|56|int|4|10|0|{nulls}|0|NULL|38|4")
        ]
    );
}
