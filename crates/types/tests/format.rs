//! FORMAT: the documented examples of FORMAT and of .NET's format strings.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{cast, d, s};
use hardpan_types::functions::Culture;
use hardpan_types::functions::format::format;
use hardpan_types::{SqlType, Value};

fn show(value: &Value, pattern: &str, culture: &str) -> Option<String> {
    format(value, pattern, Culture::by_name(culture).expect("a known culture"))
}

#[test]
fn numbers() {
    let cases: Vec<(Value, &str, &str)> = vec![
        (d("1234.5678"), "N", "1,234.57"),
        (d("1234.5678"), "N0", "1,235"),
        (d("-1234.5678"), "N1", "-1,234.6"),
        (d("1234.5678"), "F3", "1234.568"),
        (d("1234.5"), "C", "$1,234.50"),
        (d("-1234.5"), "C", "($1,234.50)"),
        (d("0.1234"), "P", "12.34%"),
        (d("0.5"), "P0", "50%"),
        (d("12345.678"), "G", "12345.678"),
        (d("12345.678"), "E2", "1.23E+004"),
        (d("0.00123"), "e3", "1.230e-003"),
        (d("9.999"), "E2", "1.00E+001"),
        (Value::Int(42), "D5", "00042"),
        (Value::Int(-42), "D", "-42"),
        (Value::Int(255), "X4", "00FF"),
        (Value::Int(255), "x", "ff"),
        (Value::Int(123456789), "###-##-####", "123-45-6789"),
        (Value::Int(1234567), "#,##0", "1,234,567"),
        (d("1234.5"), "#,##0.00", "1,234.50"),
        (d("0.5"), "#.##", ".5"),
        (d("0.5"), "0.00", "0.50"),
        (d("0"), "#", ""),
        (d("12"), "0000", "0012"),
        (d("0.25"), "0.#%", "25%"),
        (d("-5"), "0;(0);zero", "(5)"),
        (d("0"), "0;(0);zero", "zero"),
        (d("5"), "0 'items'", "5 items"),
        (d("1234567"), "0,,.0", "1.2"),
        (d("-0.001"), "0.0", "0.0"),
        (Value::Float(1234.5), "N2", "1,234.50"),
        (Value::Money(12_345_000), "C2", "$1,234.50"),
        (d("15"), "0000000000", "0000000015"),
    ];
    for (value, pattern, expected) in cases {
        assert_eq!(show(&value, pattern, "en-US").as_deref(), Some(expected), "{value:?} {pattern}");
    }
    assert_eq!(show(&d("1234.5"), "N", "de-de").as_deref(), Some("1.234,50"));
    assert_eq!(show(&d("1234.5"), "C", "de-de").as_deref(), Some("1.234,50 \u{20ac}"));
    assert_eq!(show(&d("1.5"), "D", "en-us"), None, "D is for integers");
    assert_eq!(show(&s("x"), "D", "en-us"), None);
}

#[test]
fn dates() {
    let date = cast(&s("2024-01-02 15:04:05.678"), SqlType::DateTime2(7)).expect("a date");
    for (pattern, expected) in [
        ("d", "1/2/2024"),
        ("D", "Tuesday, January 2, 2024"),
        ("yyyy-MM-dd", "2024-01-02"),
        ("dd/MM/yy HH:mm:ss", "02/01/24 15:04:05"),
        ("yyyyMMddHHmmssfff", "20240102150405678"),
        ("ddd, MMM d", "Tue, Jan 2"),
        ("h:mm tt", "3:04 PM"),
        ("hh 'o''clock'", "03 oclock"),
        ("s", "2024-01-02T15:04:05"),
        ("o", "2024-01-02T15:04:05.6780000"),
        ("g", "1/2/2024 3:04 PM"),
        ("G", "1/2/2024 3:04:05 PM"),
        ("MMMM yyyy", "January 2024"),
        ("y", "January 2024"),
        ("HH:mm:ss.FFFFFFF", "15:04:05.678"),
        ("R", "Tue, 02 Jan 2024 15:04:05 GMT"),
    ] {
        assert_eq!(show(&date, pattern, "en-US").as_deref(), Some(expected), "{pattern}");
    }
    assert_eq!(show(&date, "D", "de-de").as_deref(), Some("Dienstag, 2. Januar 2024"));
    assert_eq!(show(&date, "d", "en-gb").as_deref(), Some("02/01/2024"));
    // Short names are not the beginnings of long ones everywhere; names of cultures are read in any case, with hyphen or underscore, and a language
    // means its first country.
    let march = cast(&s("2024-03-02"), SqlType::Date).expect("a date");
    for (culture, expected) in
        [("de_DE", "Sa 02 Mrz"), ("fr", "sam. 02 mars"), ("EN", "Sat 02 Mar"), ("iv", "Sat 02 Mar")]
    {
        assert_eq!(show(&march, "ddd dd MMM", culture).as_deref(), Some(expected), "{culture}");
    }
    assert_eq!(show(&date, "dd MMM", "fr-FR").as_deref(), Some("02 janv."));
    assert!(["", "German", "xx-XX", "en-", "en-US "].iter().all(|name| Culture::by_name(name).is_none()));
    assert_eq!(show(&date, "q", "en-us"), None);
    let offset = cast(&s("2024-01-02 15:04:05 -05:30"), SqlType::DateTimeOffset(0)).expect("a date");
    assert_eq!(show(&offset, "HH:mm zzz", "en-us").as_deref(), Some("15:04 -05:30"));
    let time = cast(&s("07:35"), SqlType::Time(7)).expect("a time");
    // The documentation's pair: separators of a time must be escaped.
    assert_eq!(show(&time, "hh\\.mm", "en-us").as_deref(), Some("07.35"));
    assert_eq!(show(&time, "hh.mm", "en-us"), None);
    assert_eq!(show(&time, "hh\\:mm", "en-us").as_deref(), Some("07:35"));
}
