//! Conversions: each case is a behaviour that SQL Server documents.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{cast, cast_via, convert_style, d, n, number, s, show};
use hardpan_types::convert::matrix::{self, Conversion};
use hardpan_types::{AssignTarget, ConvertContext, DateFormat, Length, SqlType, Value, assign, convert};

#[test]
fn integers() {
    assert_eq!(cast(&s(" 42 "), SqlType::Int), Ok(Value::Int(42)));
    assert_eq!(cast(&s("-7"), SqlType::SmallInt), Ok(Value::SmallInt(-7)));
    assert_eq!(cast(&s(""), SqlType::Int), Ok(Value::Int(0)));
    assert_eq!(cast(&s("-"), SqlType::Int), Ok(Value::Int(0)));
    assert_eq!(number(cast(&s("12.0"), SqlType::Int)), 245);
    assert_eq!(number(cast(&s("abc"), SqlType::Int)), 245);
    assert_eq!(number(cast(&s("abc"), SqlType::BigInt)), 8114);
    assert_eq!(number(cast(&s("99999999999"), SqlType::Int)), 248);
    assert_eq!(number(cast(&s("300"), SqlType::TinyInt)), 244);
    assert_eq!(number(cast(&Value::Int(300), SqlType::TinyInt)), 220);
    assert_eq!(number(cast(&Value::Int(-1), SqlType::TinyInt)), 220);
    assert_eq!(number(cast(&Value::Int(40_000), SqlType::SmallInt)), 220);
    assert_eq!(number(cast(&Value::BigInt(1 << 40), SqlType::Int)), 8115);
    assert_eq!(number(cast(&d("99999999999.0"), SqlType::Int)), 8115);
    assert_eq!(number(cast(&Value::Float(3e9), SqlType::Int)), 232);
    // decimal and float cut, money rounds.
    assert_eq!(cast(&d("10.9"), SqlType::Int), Ok(Value::Int(10)));
    assert_eq!(cast(&d("-10.9"), SqlType::Int), Ok(Value::Int(-10)));
    assert_eq!(cast(&Value::Float(-10.9), SqlType::Int), Ok(Value::Int(-10)));
    assert_eq!(cast(&Value::Money(105_000), SqlType::Int), Ok(Value::Int(11)));
    assert_eq!(cast(&Value::binary(&[1, 2]), SqlType::Int), Ok(Value::Int(258)));
    assert_eq!(cast(&Value::binary(&[0xFF; 9]), SqlType::BigInt), Ok(Value::BigInt(-1)));
    assert_eq!(cast(&Value::Null, SqlType::Int), Ok(Value::Null));
}

#[test]
fn bits() {
    for (value, expected) in [
        (s("true"), true),
        (s("FALSE"), false),
        (s("1"), true),
        (s("0"), false),
        (s("5"), true),
        (Value::Int(-3), true),
        (d("0.0"), false),
        (d("0.1"), true),
        (Value::Float(0.5), true),
    ] {
        assert_eq!(cast(&value, SqlType::Bit), Ok(Value::Bit(expected)), "{value:?}");
    }
    assert_eq!(number(cast(&s("yes"), SqlType::Bit)), 245);
}

#[test]
fn numbers_to_text() {
    let text = |value: &Value, to| cast(value, to).map(|value| value.as_text().expect("text"));
    assert_eq!(text(&Value::Int(12345), SqlType::varchar(5)).as_deref(), Ok("12345"));
    // int, smallint, tinyint that do not fit show as a star in char types and fail in nchar types.
    assert_eq!(text(&Value::Int(12345), SqlType::varchar(4)).as_deref(), Ok("*"));
    assert_eq!(number(cast(&Value::Int(12345), SqlType::nvarchar(4))), 8115);
    assert_eq!(number(cast(&Value::BigInt(12345), SqlType::varchar(4))), 8115);
    assert_eq!(number(cast(&d("123.45"), SqlType::varchar(4))), 8115);
    assert_eq!(number(cast(&Value::Float(123.45), SqlType::varchar(4))), 232);
    assert_eq!(text(&Value::Int(5), SqlType::Char(3)).as_deref(), Ok("5  "));
    assert_eq!(text(&Value::Bit(true), SqlType::varchar(1)).as_deref(), Ok("1"));
    assert_eq!(text(&d("-0.50"), SqlType::varchar(10)).as_deref(), Ok("-0.50"));
}

#[test]
fn floats_to_text() {
    let style = |value: f64, style| {
        let converted = convert_style(&Value::Float(value), SqlType::Float, SqlType::varchar(50), style);
        converted.expect("fits").as_text().expect("text")
    };
    for (value, expected) in [
        (0.0, "0"),
        (1.0, "1"),
        (123456.0, "123456"),
        (1234567.0, "1.23457e+006"),
        (0.1, "0.1"),
        (0.0001, "0.0001"),
        (0.00001, "1e-005"),
        (-2.5, "-2.5"),
        (1e100, "1e+100"),
        (999999.5, "1e+006"),
    ] {
        assert_eq!(style(value, -1), expected);
        assert_eq!(style(value, 0), expected);
    }
    assert_eq!(style(1234567.0, 1), "1.2345670e+006");
    assert_eq!(style(1234567.0, 2), "1.234567000000000e+006");
    assert_eq!(style(1.0 / 3.0, 3), "3.3333333333333331e-001");
}

#[test]
fn money() {
    let style = |units: i64, style| {
        convert_style(&Value::Money(units), SqlType::Money, SqlType::varchar(50), style)
            .expect("fits")
            .as_text()
            .expect("text")
    };
    assert_eq!(style(12_345_678_950, -1), "1234567.90");
    assert_eq!(style(12_345_678_950, 1), "1,234,567.90");
    assert_eq!(style(12_345_678_950, 2), "1234567.8950");
    assert_eq!(style(-50, 0), "-0.01");
    for (text, units) in [
        ("$1,234.56789", 12_345_679),
        ("-$5", -50_000),
        ("$-5", -50_000),
        ("", 0),
        (".5", 5_000),
        ("\u{20ac}3", 30_000),
        ("12", 120_000),
    ] {
        assert_eq!(cast(&s(text), SqlType::Money), Ok(Value::Money(units)), "{text:?}");
    }
    for text in ["abc", "1.2.3", "--1", "$$1", "1e3"] {
        assert_eq!(number(cast(&s(text), SqlType::Money)), 235, "{text:?}");
    }
    assert_eq!(number(cast(&Value::BigInt(i64::MAX), SqlType::Money)), 8115);
    assert_eq!(number(cast(&Value::Int(300_000), SqlType::SmallMoney)), 8115);
    assert_eq!(cast(&d("1.00005"), SqlType::Money), Ok(Value::Money(10_001)));
}

#[test]
fn decimals() {
    let to = |value: &Value, p, sc| {
        cast(value, SqlType::decimal(p, sc)).map(|value| show(&value, SqlType::decimal(p, sc)))
    };
    assert_eq!(to(&d("1.005"), 10, 2).as_deref(), Ok("1.01"));
    assert_eq!(to(&d("-1.005"), 10, 2).as_deref(), Ok("-1.01"));
    assert_eq!(to(&s("12.345"), 10, 1).as_deref(), Ok("12.3"));
    assert_eq!(to(&Value::Int(7), 5, 2).as_deref(), Ok("7.00"));
    assert_eq!(to(&Value::Float(2.5), 5, 0).as_deref(), Ok("3"));
    assert_eq!(to(&Value::Money(15_000), 5, 1).as_deref(), Ok("1.5"));
    assert_eq!(number(to(&Value::Int(1000), 3, 0)), 8115);
    assert_eq!(number(to(&s("1000"), 3, 0)), 8115);
    assert_eq!(number(to(&s("x"), 3, 0)), 8114);
    assert_eq!(number(to(&s(""), 3, 0)), 8114);
    let bytes = cast(&d("1.5"), SqlType::VARBINARY_MAX).expect("allowed");
    assert_eq!(bytes, Value::binary(&[2, 1, 0, 1, 15, 0, 0, 0]));
    assert_eq!(to(&bytes, 5, 2).as_deref(), Ok("1.50"));
}

#[test]
fn text_lengths() {
    assert_eq!(cast(&s("hello"), SqlType::varchar(3)), Ok(s("hel")));
    assert_eq!(cast(&s("hi"), SqlType::Char(4)), Ok(s("hi  ")));
    assert_eq!(cast(&n("hi"), SqlType::NChar(4)), Ok(n("hi  ")));
    assert_eq!(
        cast(&n("na\u{ef}ve \u{2192} \u{4e2d}"), SqlType::varchar(20)),
        Ok(Value::binary_text(b"na\xEFve ? ?"))
    );
    assert_eq!(cast(&s("\u{20ac}5"), SqlType::nvarchar(5)), Ok(n("\u{20ac}5")));
}

/// Bytes as a varchar value.
trait BinaryText {
    fn binary_text(bytes: &[u8]) -> Value;
}

impl BinaryText for Value {
    fn binary_text(bytes: &[u8]) -> Value {
        Value::Char(hardpan_types::ByteStr::new(bytes))
    }
}

#[test]
fn binaries() {
    let to = |value: &Value, to, style| convert_style(value, value.natural_type(), to, style);
    assert_eq!(cast(&Value::Int(1), SqlType::Binary(2)), Ok(Value::binary(&[0, 1])));
    assert_eq!(cast(&Value::Int(1), SqlType::varbinary(8)), Ok(Value::binary(&[0, 0, 0, 1])));
    assert_eq!(cast(&Value::Int(1), SqlType::Binary(6)), Ok(Value::binary(&[0, 0, 0, 0, 0, 1])));
    assert_eq!(cast(&s("ab"), SqlType::Binary(4)), Ok(Value::binary(b"ab\0\0")));
    assert_eq!(cast(&s("abc"), SqlType::varbinary(2)), Ok(Value::binary(b"ab")));
    assert_eq!(cast(&n("a"), SqlType::varbinary(8)), Ok(Value::binary(&[0x61, 0])));
    assert_eq!(to(&s("0x4E616d"), SqlType::varbinary(8), 1), Ok(Value::binary(b"Nam")));
    assert_eq!(to(&s("4E616d"), SqlType::varbinary(8), 2), Ok(Value::binary(b"Nam")));
    assert_eq!(number(to(&s("4E616d"), SqlType::varbinary(8), 1)), 8114);
    assert_eq!(number(to(&s("4E61g0"), SqlType::varbinary(8), 2)), 8114);
    assert_eq!(to(&Value::binary(b"Nam"), SqlType::varchar(20), 1), Ok(s("0x4E616D")));
    assert_eq!(to(&Value::binary(b"Nam"), SqlType::Char(6), 2), Ok(s("4E616D")));
    assert_eq!(to(&Value::binary(b"Name"), SqlType::Char(5), 2), Ok(s("4E61 ")));
    assert_eq!(to(&Value::binary(b"Nam"), SqlType::varchar(20), 0), Ok(s("Nam")));
    assert_eq!(
        cast_via("1900-01-02 00:00:01", SqlType::DateTime, SqlType::varbinary(8)),
        Ok(Value::binary(&[0, 0, 0, 1, 0, 0, 1, 0x2C]))
    );
}

#[test]
fn guids() {
    let text = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
    let guid = cast(&s(text), SqlType::UniqueIdentifier).expect("a guid");
    assert_eq!(show(&guid, SqlType::UniqueIdentifier), text);
    assert_eq!(cast(&s(&text.to_lowercase()), SqlType::UniqueIdentifier), Ok(guid.clone()));
    assert_eq!(cast(&s(&format!("{{{text}}}")), SqlType::UniqueIdentifier), Ok(guid.clone()));
    assert!(matches!(cast(&guid, SqlType::Binary(16)), Ok(Value::Binary(bytes)) if bytes.len() == 16));
    let Value::Guid(bytes) = guid else { panic!("a guid") };
    assert_eq!(&bytes[..4], &[0xFF, 0x19, 0x96, 0x6F], "the first group is stored little-endian");
    assert_eq!(number(cast(&s("6F9619FF-8B86-D011-B42D"), SqlType::UniqueIdentifier)), 8169);
    assert_eq!(number(cast(&guid, SqlType::varchar(10))), 8170);
}

#[test]
fn assignment_refuses_to_truncate_columns() {
    let context = ConvertContext::default();
    let column = AssignTarget::Column { table: "db.dbo.t", column: "c" };
    let store = |value: &Value, to: &SqlType, target, context: &ConvertContext| {
        assign(value, &value.natural_type(), to, target, context)
    };
    let error = store(&s("hello"), &SqlType::varchar(3), column, &context).expect_err("too long");
    assert_eq!(error.number, 2628);
    for part in ["db.dbo.t", "'c'", "'hel'"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert_eq!(store(&s("hi   "), &SqlType::varchar(3), column, &context), Ok(s("hi ")));
    assert_eq!(store(&s("hi   "), &SqlType::varchar(8), column, &context), Ok(s("hi   ")));
    assert_eq!(store(&s("hello"), &SqlType::varchar(3), AssignTarget::Variable, &context), Ok(s("hel")));
    let silent = ConvertContext { ansi_warnings: false, ..context };
    assert_eq!(store(&s("hello"), &SqlType::varchar(3), column, &silent), Ok(s("hel")));
    assert_eq!(number(store(&n("hello"), &SqlType::Char(3), column, &context)), 2628);
    assert_eq!(number(store(&Value::binary(&[1, 2, 3]), &SqlType::Binary(2), column, &context)), 2628);
    assert_eq!(
        store(&Value::binary(&[1, 0, 0]), &SqlType::varbinary(2), column, &context),
        Ok(Value::binary(&[1, 0]))
    );
    assert_eq!(store(&s("a"), &SqlType::Char(3), column, &context), Ok(s("a  ")));
    assert_eq!(
        store(&Value::Int(300), &SqlType::TinyInt, column, &context).map_err(|error| error.number),
        Err(220)
    );
}

#[test]
fn the_matrix_of_conversions() {
    use Conversion::{Explicit, Implicit, NotAllowed};
    let text = SqlType::varchar(10);
    let cases = [
        (SqlType::Int, text, Implicit),
        (text, SqlType::Int, Implicit),
        (text, SqlType::varbinary(10), Explicit),
        (SqlType::varbinary(10), text, Implicit),
        (SqlType::Money, text, Explicit),
        (SqlType::DateTime, SqlType::Int, Explicit),
        (SqlType::Int, SqlType::DateTime, Implicit),
        (SqlType::Date, SqlType::Int, NotAllowed),
        (SqlType::Int, SqlType::Date, NotAllowed),
        (SqlType::DateTime2(7), SqlType::decimal(10, 0), NotAllowed),
        (SqlType::Date, SqlType::Time(7), NotAllowed),
        (SqlType::DateTime, SqlType::Date, Implicit),
        (SqlType::UniqueIdentifier, SqlType::Int, NotAllowed),
        (SqlType::UniqueIdentifier, text, Implicit),
        (SqlType::Float, SqlType::varbinary(8), Implicit),
        (SqlType::varbinary(8), SqlType::Float, NotAllowed),
        (SqlType::SqlVariant, SqlType::Int, Explicit),
        (SqlType::Int, SqlType::SqlVariant, Implicit),
        (SqlType::VARCHAR_MAX, SqlType::SqlVariant, NotAllowed),
        (SqlType::Text, SqlType::Int, NotAllowed),
        (SqlType::Xml, text, Explicit),
        (text, SqlType::Xml, Implicit),
    ];
    for (from, to, expected) in cases {
        assert_eq!(matrix::conversion(&from, &to), expected, "{from} -> {to}");
    }
    assert_eq!(number(matrix::check(&SqlType::Money, &text, false)), 257);
    assert_eq!(number(matrix::check(&SqlType::Date, &SqlType::Int, true)), 529);
    assert_eq!(number(matrix::check(&SqlType::Date, &SqlType::Int, false)), 206);
}

#[test]
fn what_the_matrix_allows_the_conversion_can_do() {
    // Every pair either converts some value, or says that the value (not the pair) is wrong.
    let samples: Vec<(SqlType, Value)> = vec![
        (SqlType::Bit, Value::Bit(true)),
        (SqlType::TinyInt, Value::TinyInt(1)),
        (SqlType::SmallInt, Value::SmallInt(1)),
        (SqlType::Int, Value::Int(1)),
        (SqlType::BigInt, Value::BigInt(1)),
        (SqlType::decimal(2, 1), d("1.0")),
        (SqlType::Money, Value::Money(10_000)),
        (SqlType::SmallMoney, Value::Money(10_000)),
        (SqlType::Real, Value::Real(1.0)),
        (SqlType::Float, Value::Float(1.0)),
        (SqlType::Char(1), s("1")),
        (SqlType::varchar(1), s("1")),
        (SqlType::NChar(1), n("1")),
        (SqlType::NVarChar(Length::Max), n("1")),
        (SqlType::Binary(1), Value::binary(&[1])),
        (SqlType::varbinary(1), Value::binary(&[1])),
        (SqlType::Date, cast(&s("2024-01-02"), SqlType::Date).expect("a date")),
        (SqlType::Time(7), cast(&s("03:04:05"), SqlType::Time(7)).expect("a time")),
        (SqlType::DateTime, cast(&s("2024-01-02"), SqlType::DateTime).expect("a datetime")),
        (SqlType::SmallDateTime, cast(&s("2024-01-02"), SqlType::SmallDateTime).expect("a smalldatetime")),
        (SqlType::DateTime2(3), cast(&s("2024-01-02"), SqlType::DateTime2(3)).expect("a datetime2")),
        (
            SqlType::DateTimeOffset(0),
            cast(&s("2024-01-02"), SqlType::DateTimeOffset(0)).expect("a datetimeoffset"),
        ),
        (SqlType::UniqueIdentifier, Value::Guid([7; 16])),
        (SqlType::SysName, n("1")),
        (SqlType::Text, s("1")),
        (SqlType::NText, n("1")),
        (SqlType::Image, Value::binary(&[1])),
        (SqlType::Xml, n("<a/>")),
        (SqlType::RowVersion, Value::binary(&[0; 8])),
    ];
    for (from, value) in &samples {
        for (to, _) in &samples {
            let converted = convert(value, from, to, -1, &ConvertContext::default());
            if matrix::conversion(from, to) != Conversion::NotAllowed {
                assert!(
                    converted.as_ref().map_err(|error| error.number) != Err(529),
                    "{from} -> {to}: {converted:?}"
                );
            }
        }
    }
}

#[test]
fn dateformat_and_language_rule_what_text_means() {
    let mut context = ConvertContext::default();
    let read = |text: &str, context: &ConvertContext, to: SqlType| {
        let value = convert(&s(text), &SqlType::varchar(40), &to, -1, context)?;
        Ok::<String, hardpan_types::SqlError>(show(&value, to))
    };
    assert_eq!(read("1/2/2024", &context, SqlType::Date).as_deref(), Ok("2024-01-02"));
    context.date_format = DateFormat::Dmy;
    assert_eq!(read("1/2/2024", &context, SqlType::Date).as_deref(), Ok("2024-02-01"));
    // datetime reads yyyy-mm-dd by DATEFORMAT, the newer types do not.
    assert_eq!(read("2024-02-01", &context, SqlType::DateTime).as_deref(), Ok("Jan  2 2024 12:00AM"));
    assert_eq!(read("2024-02-01", &context, SqlType::Date).as_deref(), Ok("2024-02-01"));
    assert_eq!(
        read("2024-02-01T00:00:00", &context, SqlType::DateTime).as_deref(),
        Ok("Feb  1 2024 12:00AM")
    );
    assert_eq!(read("20240201", &context, SqlType::DateTime).as_deref(), Ok("Feb  1 2024 12:00AM"));
    context.date_format = DateFormat::Ymd;
    assert_eq!(read("24/2/1", &context, SqlType::Date).as_deref(), Ok("2024-02-01"));
}
