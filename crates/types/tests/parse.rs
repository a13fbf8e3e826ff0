//! PARSE: the meaning of texts in a culture. Cases of the documentation, of captures from SQL Server, and of .NET's rules.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Random, show};
use hardpan_types::datetime::{Moment, civil};
use hardpan_types::functions::Culture;
use hardpan_types::functions::parse::{makes, parse};
use hardpan_types::{Length, SqlType};

/// 2026-11-24 23:30 in a country two hours east of Greenwich.
fn now() -> Moment {
    let days = civil::to_days(2026, 11, 24).unwrap();
    Moment { offset_minutes: 120, ..Moment::new(days, 23 * 36_000_000_000 + 30 * 600_000_000) }
}

/// The result of PARSE for a text, as CAST shows it; `-` for none.
fn parsed(text: &str, target: SqlType, culture: &str) -> String {
    let culture = Culture::by_name(culture).expect("a known culture");
    parse(text, &target, culture, &now()).map_or("-".to_owned(), |value| show(&value, target))
}

fn check(target: SqlType, cases: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(culture, text, expected)| (culture, text, expected, parsed(text, target, culture)))
        .filter(|(_, _, expected, found)| found != *expected)
        .map(|(culture, text, expected, found)| format!("{culture} {text:?}: {found}, not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{target:?}\n{}", wrong.join("\n"));
}

#[test]
fn integers() {
    check(
        SqlType::Int,
        &[
            ("en-US", "123", "123"),
            ("en-US", "  123  ", "123"),
            ("en-US", "\t123\n", "123"),
            ("en-US", "\u{a0}123", "-"),
            ("en-US", "+123", "123"),
            ("en-US", "-123", "-123"),
            ("en-US", "123-", "-123"),
            ("en-US", "123 +", "123"),
            ("en-US", "-123-", "-"),
            ("en-US", "- 123", "-"),
            ("en-US", "(123)", "-"),
            ("en-US", "$123", "-"),
            ("en-US", "1,234", "1234"),
            ("en-US", "1,2,3,4", "1234"),
            ("en-US", ",1", "-"),
            ("en-US", "1,5", "15"),
            ("de-DE", "1.234", "1234"),
            ("en-US", "123.0", "123"),
            ("en-US", "123.", "123"),
            ("en-US", "123.5", "-"),
            ("en-US", "-2.5", "-"),
            ("en-US", "1.5,0", "-"),
            ("en-US", "1e3", "-"),
            ("en-US", "0x10", "-"),
            ("en-US", "\u{ff11}", "-"),
            ("en-US", "", "-"),
            ("en-US", "   ", "-"),
            ("en-US", "-", "-"),
            ("en-US", ".", "-"),
            ("en-US", "x", "-"),
            ("en-US", "12 3", "-"),
            ("fr-FR", "12 3", "123"),
            ("en-US", "2147483647", "2147483647"),
            ("en-US", "-2147483648", "-2147483648"),
            ("en-US", "2147483648", "-"),
            ("en-US", "00000000000000000000000000000000000000000000000000000000000007", "7"),
            ("en-US", "99999999999999999999999999999999999999999999999999999999999999", "-"),
        ],
    );
    check(
        SqlType::TinyInt,
        &[("en-US", "255", "255"), ("en-US", "256", "-"), ("en-US", "-1", "-"), ("en-US", "-0", "0")],
    );
    check(SqlType::SmallInt, &[("en-US", "-32,768", "-32768"), ("en-US", "32768", "-")]);
    check(
        SqlType::BigInt,
        &[
            ("de-DE", "9.223.372.036.854.775.807", "9223372036854775807"),
            ("de-DE", "9223372036854775808", "-"),
        ],
    );
}

#[test]
fn decimals() {
    check(
        SqlType::decimal(10, 2),
        &[
            ("en-US", "1.235", "1.24"),
            ("en-US", "-1.235", "-1.24"),
            ("en-US", "1.225", "1.23"),
            ("en-US", "1,234.5", "1234.50"),
            ("de-DE", "1.234,5", "1234.50"),
            ("de-DE", "1234.5", "12345.00"),
            ("de-DE", "1,5", "1.50"),
            ("fr-FR", "1234,5", "1234.50"),
            ("fr-FR", "1 234,5", "1234.50"),
            ("fr-FR", "1\u{a0}234,5", "1234.50"),
            ("fr-FR", "1\u{202f}234,5", "-"),
            ("en-US", "1.5e2", "-"),
            ("en-US", ".5", "0.50"),
            ("en-US", "5.", "5.00"),
            ("en-US", "1.2.3", "-"),
            ("en-US", "123456789", "-"),
        ],
    );
    check(
        SqlType::decimal(5, 2),
        &[("en-US", "12345.6", "-"), ("en-US", "999.994", "999.99"), ("en-US", "999.995", "-")],
    );
    check(
        SqlType::decimal(38, 38),
        &[
            ("en-US", "0.123456789012345678901234567890123456789", "-"),
            ("en-US", "0.5", "0.50000000000000000000000000000000000000"),
        ],
    );
    // .NET's Decimal has 96 bits.
    check(
        SqlType::decimal(38, 0),
        &[
            ("en-US", "79228162514264337593543950335", "79228162514264337593543950335"),
            ("en-US", "79228162514264337593543950336", "-"),
        ],
    );
    check(SqlType::Numeric { precision: 4, scale: 1 }, &[("en-US", "-0.5", "-0.5")]);
}

#[test]
fn money() {
    let four = |text: &str, culture: &str, target: SqlType| {
        let culture = Culture::by_name(culture).unwrap();
        parse(text, &target, culture, &now()).map(|value| match value {
            hardpan_types::Value::Money(units) => units,
            other => panic!("{other:?}"),
        })
    };
    for (culture, text, expected) in [
        ("en-US", "$1,234.5678", Some(12_345_678)),
        ("en-US", "-$1.50", Some(-15_000)),
        ("en-US", "$-1.50", Some(-15_000)),
        ("en-US", "-$ 1.50", Some(-15_000)),
        ("en-US", "- 1.50", None),
        ("en-US", "($1.50)", Some(-15_000)),
        ("en-US", "$(1.50)", Some(-15_000)),
        ("en-US", "(1.50", None),
        ("en-US", "1.50)", None),
        ("en-US", "-(1.50)", None),
        ("en-US", "$$1", None),
        ("en-US", "1.50-", Some(-15_000)),
        ("en-US", "1.23456", Some(12_346)),
        ("en-US", "$", None),
        ("en-US", "", None),
        ("en-GB", "\u{a3}12.50", Some(125_000)),
        ("en-US", "\u{a3}12.50", None),
        ("de-DE", "1.234,50 \u{20ac}", Some(12_345_000)),
        ("de-DE", "\u{20ac}1.234,50", Some(12_345_000)),
        ("de-DE", "\u{20ac}345,98", Some(3_459_800)),
        ("de-DE", "1 \u{20ac} \u{20ac}", None),
        ("fr-FR", "1 234,50 \u{20ac}", Some(12_345_000)),
        ("iv", "\u{a4}1", Some(10_000)),
        ("en-US", "922337203685477.5807", Some(i64::MAX)),
        ("en-US", "922337203685478", None),
    ] {
        assert_eq!(four(text, culture, SqlType::Money), expected, "{culture} {text:?}");
    }
    assert_eq!(four("214748.3647", "en-US", SqlType::SmallMoney), Some(i64::from(i32::MAX)));
    assert_eq!(four("214748.3648", "en-US", SqlType::SmallMoney), None);
}

#[test]
fn floats() {
    check(
        SqlType::Float,
        &[
            ("en-US", "0.1", "0.1"),
            ("en-US", " -1.5E+300 ", "-1.5e+300"),
            ("en-US", "1e309", "-"),
            ("en-US", "1e99999999999", "-"),
            ("en-US", "1e-99999999999", "0"),
            ("en-US", "Infinity", "-"),
            ("en-US", "NaN", "-"),
            ("de-DE", "0,5", "0.5"),
            ("en-US", "1,000.5", "-"),
            ("en-US", "5-", "-"),
            ("en-US", "1e", "-"),
            ("en-US", "e1", "-"),
            ("en-US", "2.e1", "20"),
        ],
    );
    check(SqlType::Real, &[("en-US", "3.4028235E+38", "3.40282e+038"), ("en-US", "3.5E+38", "-")]);
}

#[test]
fn dates() {
    check(
        SqlType::Date,
        &[
            ("en-GB", "01/02/2020", "2020-02-01"),
            ("en-US", "01/02/2020", "2020-01-02"),
            ("iv", "01/02/2020", "2020-01-02"),
            ("en-US", "12/13/2010", "2010-12-13"),
            ("en-US", "13/12/2010", "-"),
            ("en-GB", "13/12/2010", "2010-12-13"),
            ("de-DE", "02.01.2024", "2024-01-02"),
            ("de-DE", "2. Januar 2024", "2024-01-02"),
            ("de-DE", "2 January 2024", "2024-01-02"),
            ("de-DE", "Dienstag, 2. Januar 2024", "2024-01-02"),
            ("de-DE", "2. Mrz. 24", "2024-03-02"),
            ("fr-FR", "2 janvier 2024", "2024-01-02"),
            ("fr-FR", "25 Mai 2018", "2018-05-25"),
            ("fr-FR", "mar. 2 janv. 2024", "2024-01-02"),
            ("fr-FR", "2 mar 2024", "2024-03-02"),
            ("fr-FR", "2 janv 2024", "-"),
            ("fr-FR", "15 ao\u{fb}t 2024", "2024-08-15"),
            ("fr-FR", "1 D\u{c9}CEMBRE 2024", "2024-12-01"),
            ("en-US", "25 Mai 2018", "-"),
            // The words of a culture, and English ones; none of others.
            ("en-US", "Monday, 13 December 2010", "2010-12-13"),
            ("en-US", "mon 13 dec 2010", "2010-12-13"),
            ("en-US", "13 December 2010 Monday", "2010-12-13"),
            ("en-US", "Tuesday, 13 December 2010", "-"),
            ("en-US", "Monday", "-"),
            ("en-US", "Mon Mon 13 Dec 2010", "-"),
            ("en-US", "December 13, 2010", "2010-12-13"),
            ("en-US", "Dec 13 10", "2010-12-13"),
            ("en-US", "10 Dec 31", "2031-12-10"),
            ("en-US", "31 Dec 10", "2010-12-31"),
            ("en-US", "Sept 1 2010", "-"),
            ("en-US", "December2010", "2010-12-01"),
            ("en-US", "May/25/2018", "2018-05-25"),
            ("en-US", "13-Dec-2010", "2010-12-13"),
            ("en-US", "2010 December 13", "2010-12-13"),
            ("en-US", "2010 13 December", "2010-12-13"),
            // ISO in every culture.
            ("en-GB", "2024-01-02", "2024-01-02"),
            ("de-DE", "2024-01-02", "2024-01-02"),
            ("fr-FR", "2024/1/2", "2024-01-02"),
            ("en-US", "  2024-01-02  ", "2024-01-02"),
            ("en-US", "2024-02-30", "-"),
            ("en-US", "2024-02-29", "2024-02-29"),
            ("en-US", "2023-02-29", "-"),
            ("en-US", "0001-01-01", "0001-01-01"),
            ("en-US", "0000-01-01", "-"),
            ("en-US", "20240102", "-"),
            ("en-US", "2024", "-"),
            ("en-US", "2024-13-01", "-"),
            ("en-US", "2024-01-02-", "-"),
            ("en-US", "01/02/2024/", "-"),
            ("en-US", "/01/02/2024", "-"),
            ("en-US", "01//02/2024", "-"),
            ("en-US", "123456789-01-02", "-"),
            // Separators: blanks, commas, points, in any mixture.
            ("en-US", "12.13.2010", "2010-12-13"),
            ("en-US", "13.12.2010", "-"),
            ("en-US", "12 13, 2010", "2010-12-13"),
            ("en-US", "12-13/2010.", "2010-12-13"),
            ("en-GB", "13.12.2010", "2010-12-13"),
            // Two digits of a year.
            ("en-US", "1/2/49", "2049-01-02"),
            ("en-US", "1/2/50", "1950-01-02"),
            ("en-US", "1/2/30", "2030-01-02"),
            ("en-GB", "1/2/99", "1999-02-01"),
            ("en-US", "1/2/049", "0049-01-02"),
            // Two elements.
            ("en-US", "December 2010", "2010-12-01"),
            ("de-DE", "M\u{e4}rz 2010", "2010-03-01"),
            ("en-US", "2010-12", "2010-12-01"),
            ("en-US", "12/2010", "2010-12-01"),
            ("en-US", "12/13", "2026-12-13"),
            ("en-GB", "13/12", "2026-12-13"),
            ("en-US", "13/12", "-"),
            ("en-US", "December 13", "2026-12-13"),
            ("en-US", "13 December", "2026-12-13"),
            ("en-GB", "13 December", "2026-12-13"),
            ("en-GB", "December 13", "2013-12-01"),
            ("iv", "13 December", "2013-12-01"),
            ("en-US", "December", "-"),
            ("en-US", "12/", "-"),
            ("en-US", "12", "-"),
            ("en-US", "December December 2010", "-"),
            ("en-US", "2010 2010", "-"),
            ("en-US", "1 2 3 4", "-"),
            // A time is dropped; without a date it is today's.
            ("en-US", "2024-01-02 03:04:05", "2024-01-02"),
            ("en-US", "03:04", "2026-11-24"),
            ("en-US", "", "-"),
            ("en-US", " , ", "-"),
            ("en-US", "1/2/2024 A.D.", "-"),
            ("en-US", "#1/2/2024#", "-"),
        ],
    );
}

#[test]
fn times() {
    check(
        SqlType::Time(7),
        &[
            ("en-US", "3:04", "03:04:00.0000000"),
            ("en-US", "3:04 PM", "15:04:00.0000000"),
            ("en-US", "3PM", "15:00:00.0000000"),
            ("en-US", "12 am", "00:00:00.0000000"),
            ("en-US", "12:30 pm", "12:30:00.0000000"),
            ("en-US", "13:00 AM", "-"),
            ("en-US", "13:00 PM", "13:00:00.0000000"),
            ("de-DE", "3:04:05 PM", "15:04:05.0000000"),
            ("en-US", "3 : 04 : 05.5", "03:04:05.5000000"),
            ("en-US", "3:04:05.12345678", "03:04:05.1234568"),
            ("de-DE", "3:04:05,5", "-"),
            ("en-US", "3:04:05.", "03:04:05.0000000"),
            ("en-US", "3", "-"),
            ("en-US", "3:", "-"),
            ("en-US", "3:4:5:6", "-"),
            ("en-US", "3:04 4:05", "-"),
            ("en-US", "25:00:00", "-"),
            ("en-US", "24:00", "-"),
            ("en-US", "3:60", "-"),
            ("en-US", "3:04 P", "-"),
            ("en-US", "2024-01-02 03:04:05", "03:04:05.0000000"),
            ("en-US", "2024-01-02", "00:00:00.0000000"),
        ],
    );
    check(SqlType::Time(0), &[("en-US", "23:59:59.6", "23:59:59"), ("en-US", "23:59:58.6", "23:59:59")]);
}

#[test]
fn moments() {
    check(
        SqlType::DateTime2(7),
        &[
            ("en-US", "Monday, 13 December 2010", "2010-12-13 00:00:00.0000000"),
            ("en-US", "2024-01-02T03:04:05.1234567", "2024-01-02 03:04:05.1234567"),
            ("en-US", "2024-01-02T03:04:05.12345678", "2024-01-02 03:04:05.1234568"),
            ("de-DE", "2024-1-2T03:04", "2024-01-02 03:04:00.0000000"),
            ("en-US", "2024-01-02T3:04", "-"),
            ("en-US", "2024-01-02T03", "-"),
            ("en-US", "2024-01-02T03:04 PM", "-"),
            ("en-US", "01/02/2024T03:04", "-"),
            ("en-US", "2024-01T03:04", "-"),
            ("en-US", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05.0000000"),
            ("en-US", "2024-01-02T03:04:05+05:30", "2024-01-01 21:34:05.0000000"),
            ("en-US", "2024-01-02 03:04:05 -0530", "2024-01-02 08:34:05.0000000"),
            ("en-US", "2024-01-02 03:04 GMT", "2024-01-02 03:04:00.0000000"),
            ("en-US", "2024-01-02 -5", "2024-01-02 05:00:00.0000000"),
            ("en-US", "2024-01-02 03:04Z Z", "-"),
            ("en-US", "Z 03:04", "-"),
            ("en-US", "1/2/2024 3:04:05 PM", "2024-01-02 15:04:05.0000000"),
            ("en-US", "3:04 PM 1/2/2024", "2024-01-02 15:04:00.0000000"),
            ("en-GB", "1/2/2024 3:04", "2024-02-01 03:04:00.0000000"),
            ("de-DE", "02.01.2024 15:04", "2024-01-02 15:04:00.0000000"),
            ("en-US", "13 Dec 2010 10:30", "2010-12-13 10:30:00.0000000"),
            ("en-US", "Fri, 13 Dec 2024 10:30:00 GMT", "2024-12-13 10:30:00.0000000"),
            // Texts that .NET reads in a surprising way.
            ("en-US", "5 Dec 10:30", "-"),
            ("en-US", "12/13 10:30", "-"),
            ("en-US", "3:04 PM", "2026-11-24 15:04:00.0000000"),
            ("en-US", "0001-01-01T00:00+01:00", "-"),
            ("en-US", "9999-12-31T23:59:59.99999999", "-"),
            ("en-US", "Jabberwokkie", "-"),
        ],
    );
    check(SqlType::DateTime2(3), &[("en-US", "2024-01-02T03:04:05.1235", "2024-01-02 03:04:05.124")]);
    check(SqlType::DateTime2(0), &[("en-US", "2024-01-02T03:04:05.5", "2024-01-02 03:04:06")]);
    check(
        SqlType::DateTimeOffset(0),
        &[
            ("en-US", "2024-01-02T03:04:05+05:30", "2024-01-02 03:04:05 +05:30"),
            ("en-US", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05 +00:00"),
            ("en-US", "2024-01-02", "2024-01-02 00:00:00 +00:00"),
            ("en-US", "2024-01-02T03:04:05+15:00", "-"),
            ("en-US", "2024-01-02T03:04:05-14:00", "2024-01-02 03:04:05 -14:00"),
            ("en-US", "2024-01-02T03:04:05+01:60", "-"),
            ("en-US", "9999-12-31T23:00:00-02:00", "-"),
            // Today is the date in the offset's time zone: 21:30 in Greenwich.
            ("en-US", "10:00", "2026-11-24 10:00:00 +00:00"),
            ("en-US", "10:00 +05:00", "2026-11-25 10:00:00 +05:00"),
        ],
    );
    let old = |text: &str, target: SqlType| {
        let value = parse(text, &target, Culture::default_culture(), &now());
        value.map(|value| {
            common::convert_style(&value, target, SqlType::varchar(30), 121).unwrap().as_text().unwrap()
        })
    };
    for (text, expected) in [
        ("2024-01-02 03:04:05.1234567", Some("2024-01-02 03:04:05.123")),
        ("2024-01-02 03:04:05.998", Some("2024-01-02 03:04:05.997")),
        ("2024-01-02 23:59:59.9999999", Some("2024-01-03 00:00:00.000")),
        ("1753-01-01", Some("1753-01-01 00:00:00.000")),
        ("1752-12-31", None),
        ("9999-12-31 23:59:59.999", None),
    ] {
        assert_eq!(old(text, SqlType::DateTime).as_deref(), expected, "{text}");
    }
    for (text, expected) in [
        ("2024-01-02 03:04:29.998", Some("2024-01-02 03:04:00.000")),
        ("2024-01-02 03:04:30", Some("2024-01-02 03:05:00.000")),
        ("2079-06-07", None),
    ] {
        assert_eq!(old(text, SqlType::SmallDateTime).as_deref(), expected, "{text}");
    }
}

/// PARSE reads the output of FORMAT in a culture's standard forms.
#[test]
fn formats_are_read_back() {
    let culture_names = ["en-US", "en-GB", "de-DE", "fr-FR", "iv"];
    let mut random = Random(5);
    for _ in 0..300 {
        let days = civil::to_days(1950, 1, 1).unwrap() + random.below(36_500) as i32;
        let moment =
            Moment::new(days, random.below(86_400) * 10_000_000).to_value(&SqlType::DateTime2(0)).unwrap();
        let amount = hardpan_types::Value::Money(random.next() as i64 / 100_000 * 100);
        for name in culture_names {
            let culture = Culture::by_name(name).unwrap();
            for form in [
                "G",
                "F",
                "s",
                "o",
                "yyyy-MM-dd HH:mm:ss",
                "ddd, d MMM yyyy HH:mm:ss",
                "HH:mm:ss MMMM yyyy d",
            ] {
                let text = hardpan_types::functions::format::format(&moment, form, culture).unwrap();
                let back = parse(&text, &SqlType::DateTime2(0), culture, &now());
                assert_eq!(back.as_ref(), Some(&moment), "{name} {form} {text}");
            }
            for form in ["C", "N2", "G"] {
                let text = hardpan_types::functions::format::format(&amount, form, culture).unwrap();
                assert_eq!(
                    parse(&text, &SqlType::Money, culture, &now()).as_ref(),
                    Some(&amount),
                    "{name} {text}"
                );
            }
        }
    }
}

#[test]
fn only_numbers_and_dates_are_made() {
    for target in [
        SqlType::Bit,
        SqlType::varchar(3),
        SqlType::NVARCHAR_MAX,
        SqlType::Char(3),
        SqlType::VarBinary(Length::Max),
        SqlType::UniqueIdentifier,
        SqlType::SqlVariant,
        SqlType::Xml,
        SqlType::RowVersion,
    ] {
        assert!(!makes(&target), "{target:?}");
    }
    for target in
        [SqlType::TinyInt, SqlType::Real, SqlType::SmallMoney, SqlType::SmallDateTime, SqlType::Time(3)]
    {
        assert!(makes(&target), "{target:?}");
    }
}

/// No text ends the process, whatever its characters.
#[test]
fn any_text_is_read_or_refused() {
    let bits = [
        "1",
        "12",
        "2024",
        "13",
        "-",
        "/",
        ".",
        ",",
        ":",
        " ",
        "\u{a0}",
        "+",
        "T",
        "Z",
        "AM",
        "Dec",
        "d\u{e9}c.",
        "Mon",
        "\u{20ac}",
        "$",
        "(",
        ")",
        "e",
        "\u{130}",
        "\u{df}",
        "\u{1f600}",
        "00000000000",
        "99999999",
    ];
    let mut random = Random(11);
    let targets = [SqlType::Int, SqlType::decimal(38, 10), SqlType::Money, SqlType::Float, SqlType::Real];
    let moments = [
        SqlType::Date,
        SqlType::Time(0),
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::DateTimeOffset(7),
    ];
    let mut read = 0;
    for _ in 0..100_000 {
        let text: String =
            (0..random.below(9)).map(|_| bits[random.below(bits.len() as u64) as usize]).collect();
        let culture =
            Culture::by_name(["en-US", "de-DE", "fr-FR", "en-GB", "iv"][random.below(5) as usize]).unwrap();
        let all = if random.below(2) == 0 { targets } else { moments };
        read += i32::from(parse(&text, &all[random.below(5) as usize], culture, &now()).is_some());
    }
    assert!(read > 1000, "{read}");
}
