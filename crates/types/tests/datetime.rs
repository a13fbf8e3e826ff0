//! Dates and times: text forms, rounding, arithmetic.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Random, cast, cast_via, convert_style, number, s, show};
use hardpan_types::datetime::civil;
use hardpan_types::temporal::functions::*;
use hardpan_types::temporal::parts::{DatePart, date_name, date_part};
use hardpan_types::{ConvertContext, DEFAULT_STYLE, SqlType, Value, convert};

const DT2: SqlType = SqlType::DateTime2(7);

fn at(text: &str, to: SqlType) -> Value {
    cast(&s(text), to).unwrap_or_else(|error| panic!("{text:?} as {to}: {error}"))
}

#[test]
fn days_round_trip_over_the_whole_calendar() {
    let mut previous = civil::from_days(0);
    assert_eq!((previous.year, previous.month, previous.day), (1, 1, 1));
    for days in 0..=civil::DAYS_MAX {
        let date = civil::from_days(days);
        assert_eq!(civil::to_days(date.year, date.month, date.day), Some(days));
        assert!(days == 0 || date > previous);
        previous = date;
    }
    assert_eq!((previous.year, previous.month, previous.day), (9999, 12, 31));
    assert_eq!(civil::to_days(1900, 1, 1), Some(civil::DAYS_TO_1900));
    assert_eq!(civil::to_days(1753, 1, 1), Some(civil::DAYS_TO_1753));
    assert_eq!(civil::to_days(2023, 2, 29), None);
    assert_eq!(civil::weekday(civil::to_days(2024, 1, 1).expect("a day")), 0, "a Monday");
}

#[test]
fn every_literal_form_is_read() {
    let expected = "2024-01-02 15:04:05.6780000";
    for text in [
        "2024-01-02 15:04:05.678",
        "2024-01-02T15:04:05.678",
        "2024-01-02T15:04:05.678Z",
        "20240102 15:04:05.678",
        "20240102 15:04:05:678",
        "Jan 2 2024 3:04:05.678PM",
        "January 2, 2024 3:04:05.678 pm",
        "2 Jan 2024 15:04:05.678",
        "2024 Jan 2 15:04:05.678",
        "1/2/2024 15:04:05.678",
        "01.02.2024 15:04:05.678",
        "1-2-24 3:04:05.678 PM",
        "15:04:05.678 1/2/2024",
        "{ts '2024-01-02 15:04:05.678'}",
        "  2024/01/02   15:04:05.678  ",
    ] {
        assert_eq!(show(&at(text, DT2), DT2), expected, "{text:?}");
    }
    for (text, expected) in [
        ("", "1900-01-01"),
        ("2024", "2024-01-01"),
        ("240102", "2024-01-02"),
        ("500102", "1950-01-02"),
        ("Jan 2024", "2024-01-01"),
        ("{d '2024-01-02'}", "2024-01-02"),
        ("2 jan 49", "2049-01-02"),
        ("12:30", "1900-01-01"),
        ("29 Feb 2024", "2024-02-29"),
        ("0001-01-01", "0001-01-01"),
        ("9999-12-31", "9999-12-31"),
    ] {
        assert_eq!(show(&at(text, SqlType::Date), SqlType::Date), expected, "{text:?}");
    }
    for (text, expected) in [
        ("3PM", "15:00:00.0000000"),
        ("12AM", "00:00:00.0000000"),
        ("12:30 PM", "12:30:00.0000000"),
        ("3:4", "03:04:00.0000000"),
        ("{t '15:04:05'}", "15:04:05.0000000"),
        ("23:59:59.9999999", "23:59:59.9999999"),
    ] {
        assert_eq!(show(&at(text, SqlType::Time(7)), SqlType::Time(7)), expected, "{text:?}");
    }
    let offset = SqlType::DateTimeOffset(7);
    for (text, expected) in [
        ("2024-01-02 03:04:05 +05:30", "2024-01-02 03:04:05.0000000 +05:30"),
        ("2024-01-02T03:04:05.5-08:00", "2024-01-02 03:04:05.5000000 -08:00"),
        ("2024-01-02", "2024-01-02 00:00:00.0000000 +00:00"),
    ] {
        assert_eq!(show(&at(text, offset), offset), expected, "{text:?}");
    }
}

#[test]
fn what_is_no_date_is_refused_with_the_right_error() {
    let error = |text: &str, to: SqlType| number(cast(&s(text), to));
    for text in [
        "abc",
        "2024-1",
        "1/2",
        "2024-01-02 25",
        "Foo 2 2024",
        "2024-01-02 3:04:05.",
        "12345",
        "1,2,2024x",
        "{ts '2024'",
    ] {
        assert_eq!(error(text, SqlType::DateTime), 241, "{text:?}");
        assert_eq!(error(text, SqlType::SmallDateTime), 295, "{text:?}");
        assert_eq!(error(text, SqlType::Date), 241, "{text:?}");
    }
    for text in ["2024-02-30", "2024-13-01", "2024-01-02 24:00", "2024-01-02 23:60", "1752-12-31", "20230229"]
    {
        assert_eq!(error(text, SqlType::DateTime), 242, "{text:?}");
    }
    assert_eq!(error("2024-02-30", SqlType::Date), 241);
    assert_eq!(error("2024-01-02 00:00:00.1234", SqlType::DateTime), 241, "datetime takes three digits");
    assert_eq!(error("2024-01-02 00:00:00 +01:00", SqlType::DateTime), 241, "datetime takes no offset");
    assert_eq!(error("2080-01-01", SqlType::SmallDateTime), 242);
    assert_eq!(error("2024-01-02 00:00:00 +15:00", SqlType::DateTimeOffset(7)), 241);
}

#[test]
fn datetime_rounds_to_three_hundredths_of_a_second() {
    // The documentation's table for datetime.
    for (text, expected) in [
        ("2024-01-01 23:59:59.999", "2024-01-02 00:00:00.000"),
        ("2024-01-01 23:59:59.998", "2024-01-01 23:59:59.997"),
        ("2024-01-01 23:59:59.995", "2024-01-01 23:59:59.997"),
        ("2024-01-01 23:59:59.994", "2024-01-01 23:59:59.993"),
        ("2024-01-01 23:59:59.992", "2024-01-01 23:59:59.993"),
        ("2024-01-01 23:59:59.991", "2024-01-01 23:59:59.990"),
        ("2024-01-01 23:59:59.990", "2024-01-01 23:59:59.990"),
    ] {
        let value = at(text, SqlType::DateTime);
        let shown = convert_style(&value, SqlType::DateTime, SqlType::varchar(30), 121).expect("text");
        assert_eq!(shown.as_text().as_deref(), Some(expected), "{text}");
    }
    // smalldatetime: up to 29.998 seconds down, from 29.999 up.
    let small = |text: &str| show(&at(text, SqlType::SmallDateTime), SqlType::SmallDateTime);
    assert_eq!(small("2024-01-01 12:35:29.998"), "Jan  1 2024 12:35PM");
    assert_eq!(small("2024-01-01 12:35:29.999"), "Jan  1 2024 12:36PM");
    // Scales round, and carry into the next day.
    assert_eq!(
        show(&at("2024-01-01 23:59:59.96", SqlType::DateTime2(1)), SqlType::DateTime2(1)),
        "2024-01-02 00:00:00.0"
    );
    assert_eq!(
        show(&at("9999-12-31 23:59:59.9999999", SqlType::DateTime2(0)), SqlType::DateTime2(0)),
        "9999-12-31 23:59:59"
    );
    assert_eq!(show(&at("12:34:56.789", SqlType::Time(2)), SqlType::Time(2)), "12:34:56.79");
    // From datetime to datetime2 the third of a millisecond shows.
    assert_eq!(
        cast_via("2024-01-01 00:00:00.003", SqlType::DateTime, DT2).map(|v| show(&v, DT2)).as_deref(),
        Ok("2024-01-01 00:00:00.0033333")
    );
}

#[test]
fn every_style_writes_its_form() {
    let value = at("2024-01-02 15:04:05.677", SqlType::DateTime);
    let cases = [
        (-1, "Jan  2 2024  3:04PM"),
        (0, "Jan  2 2024  3:04PM"),
        (1, "01/02/24"),
        (2, "24.01.02"),
        (3, "02/01/24"),
        (4, "02.01.24"),
        (5, "02-01-24"),
        (6, "02 Jan 24"),
        (7, "Jan 02, 24"),
        (8, "15:04:05"),
        (9, "Jan  2 2024  3:04:05:677PM"),
        (10, "01-02-24"),
        (11, "24/01/02"),
        (12, "240102"),
        (13, "02 Jan 2024 15:04:05:677"),
        (14, "15:04:05:677"),
        (20, "2024-01-02 15:04:05"),
        (21, "2024-01-02 15:04:05.677"),
        (22, "01/02/24  3:04:05 PM"),
        (23, "2024-01-02"),
        (24, "15:04:05"),
        (25, "2024-01-02 15:04:05.677"),
        (100, "Jan  2 2024  3:04PM"),
        (101, "01/02/2024"),
        (102, "2024.01.02"),
        (103, "02/01/2024"),
        (104, "02.01.2024"),
        (105, "02-01-2024"),
        (106, "02 Jan 2024"),
        (107, "Jan 02, 2024"),
        (108, "15:04:05"),
        (109, "Jan  2 2024  3:04:05:677PM"),
        (110, "01-02-2024"),
        (111, "2024/01/02"),
        (112, "20240102"),
        (113, "02 Jan 2024 15:04:05:677"),
        (114, "15:04:05:677"),
        (120, "2024-01-02 15:04:05"),
        (121, "2024-01-02 15:04:05.677"),
        (126, "2024-01-02T15:04:05.677"),
        (127, "2024-01-02T15:04:05.677"),
        (131, "20/06/1445  3:04:05:677PM"),
    ];
    for (style, expected) in cases {
        let shown =
            convert_style(&value, SqlType::DateTime, SqlType::varchar(60), style).expect("a known style");
        assert_eq!(shown.as_text().as_deref(), Some(expected), "style {style}");
    }
    assert_eq!(number(convert_style(&value, SqlType::DateTime, SqlType::varchar(60), 99)), 281);
    let whole = at("2024-01-02 15:04:05", SqlType::DateTime);
    let shown = convert_style(&whole, SqlType::DateTime, SqlType::varchar(60), 126).expect("a known style");
    assert_eq!(shown.as_text().as_deref(), Some("2024-01-02T15:04:05"), "no milliseconds, none shown");
    let offset = SqlType::DateTimeOffset(3);
    let value = at("2024-01-02 03:04:05.5 +02:00", offset);
    for (style, expected) in [
        (-1, "2024-01-02 03:04:05.500 +02:00"),
        (126, "2024-01-02T03:04:05.500+02:00"),
        (127, "2024-01-02T01:04:05.500Z"),
    ] {
        let shown = convert_style(&value, offset, SqlType::varchar(60), style).expect("a known style");
        assert_eq!(shown.as_text().as_deref(), Some(expected), "style {style}");
    }
}

#[test]
fn what_a_style_writes_it_reads() {
    let mut random = Random(9);
    let context = ConvertContext::default();
    for _ in 0..2000 {
        let days = random.below(3_652_059 - 639_905) as i32 + 639_905;
        let seconds = random.below(86_400);
        let value = Value::DateTime2(hardpan_types::DateTime2 {
            ticks: (i64::from(days) * 86_400 + seconds as i64) * 10_000_000,
        });
        let datetime = convert(&value, &DT2, &SqlType::DateTime, DEFAULT_STYLE, &context).expect("in range");
        for style in [9, 13, 20, 21, 109, 113, 120, 121, 126, 131] {
            let text =
                convert_style(&datetime, SqlType::DateTime, SqlType::varchar(60), style).expect("text");
            let back = convert(&text, &SqlType::varchar(60), &SqlType::DateTime, style, &context);
            assert_eq!(back.as_ref(), Ok(&datetime), "style {style}: {text:?}");
        }
    }
}

#[test]
fn binary_forms_are_read_back() {
    for (text, to) in [
        ("2024-01-02", SqlType::Date),
        ("03:04:05.678", SqlType::Time(3)),
        ("2024-01-02 03:04:05.6789", DT2),
        ("2024-01-02 03:04 -05:00", SqlType::DateTimeOffset(0)),
        ("2024-01-02 03:04:05.677", SqlType::DateTime),
        ("2024-01-02 03:04", SqlType::SmallDateTime),
    ] {
        let value = at(text, to);
        let bytes = convert_style(&value, to, SqlType::VARBINARY_MAX, DEFAULT_STYLE).expect("allowed");
        assert_eq!(convert_style(&bytes, SqlType::VARBINARY_MAX, to, DEFAULT_STYLE), Ok(value), "{text}");
    }
    assert_eq!(number(cast(&Value::binary(&[9, 9]), SqlType::Date)), 9803);
}

#[test]
fn numbers_are_days_since_1900() {
    let to = |value: Value| cast(&value, SqlType::DateTime).map(|value| show(&value, SqlType::DateTime));
    assert_eq!(to(Value::Int(0)).as_deref(), Ok("Jan  1 1900 12:00AM"));
    assert_eq!(to(Value::Float(1.5)).as_deref(), Ok("Jan  2 1900 12:00PM"));
    assert_eq!(to(Value::Int(-53691)).map_err(|error| error.number), Err(8115));
    assert_eq!(cast_via("1900-01-02 12:00", SqlType::DateTime, SqlType::Float), Ok(Value::Float(1.5)));
    assert_eq!(cast_via("1900-01-02 12:00", SqlType::DateTime, SqlType::Int), Ok(Value::Int(2)));
}

fn shown(value: Result<Value, hardpan_types::SqlError>, of: SqlType) -> String {
    show(&value.expect("no error"), of)
}

#[test]
fn dateadd_keeps_to_the_calendar() {
    let cases = [
        (DatePart::Month, 1, "2024-01-31", "2024-02-29 00:00:00.0000000"),
        (DatePart::Month, -1, "2024-03-31", "2024-02-29 00:00:00.0000000"),
        (DatePart::Year, 1, "2024-02-29", "2025-02-28 00:00:00.0000000"),
        (DatePart::Quarter, 1, "2024-11-30", "2025-02-28 00:00:00.0000000"),
        (DatePart::Day, -1, "2024-03-01", "2024-02-29 00:00:00.0000000"),
        (DatePart::Week, 2, "2024-01-01", "2024-01-15 00:00:00.0000000"),
        (DatePart::WeekDay, 2, "2024-01-01", "2024-01-03 00:00:00.0000000"),
        (DatePart::Hour, 25, "2024-01-01", "2024-01-02 01:00:00.0000000"),
        (DatePart::Second, -1, "2024-01-01", "2023-12-31 23:59:59.0000000"),
        (DatePart::Millisecond, 1, "2024-01-01", "2024-01-01 00:00:00.0010000"),
        (DatePart::Microsecond, 1, "2024-01-01", "2024-01-01 00:00:00.0000010"),
        (DatePart::Nanosecond, 150, "2024-01-01", "2024-01-01 00:00:00.0000002"),
    ];
    for (part, number, start, expected) in cases {
        assert_eq!(
            shown(date_add(part, number, &at(start, DT2)), DT2),
            expected,
            "{part:?} {number} {start}"
        );
    }
    let milliseconds = |count| {
        let moved =
            date_add(DatePart::Millisecond, count, &at("2024-01-01", SqlType::DateTime)).expect("in range");
        convert_style(&moved, SqlType::DateTime, SqlType::varchar(30), 121)
            .expect("text")
            .as_text()
            .expect("text")
    };
    assert_eq!(milliseconds(1), "2024-01-01 00:00:00.000");
    assert_eq!(milliseconds(2), "2024-01-01 00:00:00.003");
    assert_eq!(milliseconds(-2), "2023-12-31 23:59:59.997");
    assert_eq!(number(date_add(DatePart::Year, 8000, &at("2024-01-01", DT2))), 517);
    assert_eq!(number(date_add(DatePart::Day, -1, &at("1753-01-01", SqlType::DateTime))), 517);
    assert_eq!(number(date_add(DatePart::Year, i64::MAX, &at("2024-01-01", DT2))), 517);
    assert_eq!(number(date_add(DatePart::Hour, 1, &at("2024-01-01", SqlType::Date))), 9810);
    assert_eq!(number(date_add(DatePart::Year, 1, &at("12:00", SqlType::Time(7)))), 9810);
    assert_eq!(number(date_add(DatePart::Microsecond, 1, &at("2024-01-01", SqlType::DateTime))), 9810);
    assert_eq!(
        shown(date_add(DatePart::Hour, 2, &at("23:00", SqlType::Time(7))), SqlType::Time(7)),
        "01:00:00.0000000"
    );
    assert_eq!(date_add(DatePart::Day, 1, &Value::Null), Ok(Value::Null));
}

/// Claim 37: DATEDIFF counts boundaries.
#[test]
fn datediff_counts_boundaries() {
    // The documentation's own example: one tick crosses a boundary of every part.
    let (start, end) = (at("2005-12-31 23:59:59.9999999", DT2), at("2006-01-01 00:00:00.0000000", DT2));
    use DatePart::*;
    for part in [Year, Quarter, Month, DayOfYear, Day, Week, Hour, Minute, Second, Millisecond, Microsecond] {
        assert_eq!(date_diff(part, &start, &end), Ok(Value::Int(1)), "{part:?}");
    }
    assert_eq!(date_diff(Nanosecond, &start, &end), Ok(Value::Int(100)));
    assert_eq!(
        date_diff(Second, &at("2024-01-01 00:00:00.9", DT2), &at("2024-01-01 00:00:01.1", DT2)),
        Ok(Value::Int(1))
    );
    assert_eq!(date_diff(Day, &end, &start), Ok(Value::Int(-1)));
    // Weeks begin on Sunday: Saturday to Sunday is one.
    assert_eq!(date_diff(Week, &at("2024-01-06", DT2), &at("2024-01-07", DT2)), Ok(Value::Int(1)));
    assert_eq!(date_diff(Week, &at("2024-01-07", DT2), &at("2024-01-13", DT2)), Ok(Value::Int(0)));
    assert_eq!(number(date_diff(Millisecond, &at("1900-01-01", DT2), &at("2024-01-01", DT2))), 535);
    assert_eq!(number(date_diff(Nanosecond, &at("2024-01-01", DT2), &at("2024-01-02", DT2))), 535);
    assert_eq!(
        date_diff_big(Nanosecond, &at("2024-01-01", DT2), &at("2024-01-02", DT2)),
        Ok(Value::BigInt(86_400_000_000_000))
    );
    assert_eq!(number(date_diff_big(Nanosecond, &at("0001-01-01", DT2), &at("9999-12-31", DT2))), 535);
    // Both sides are converted to UTC first.
    let offset = SqlType::DateTimeOffset(0);
    assert_eq!(
        date_diff(Hour, &at("2024-01-01 00:00 +02:00", offset), &at("2024-01-01 00:00 +00:00", offset)),
        Ok(Value::Int(2))
    );
    assert_eq!(date_diff(Day, &Value::Null, &end), Ok(Value::Null));
}

#[test]
fn parts_and_names() {
    let value = at("2007-10-30 12:15:32.1234567 +05:10", SqlType::DateTimeOffset(7));
    use DatePart::*;
    // The documentation's table for DATEPART of this value.
    for (part, expected) in [
        (Year, 2007),
        (Quarter, 4),
        (Month, 10),
        (DayOfYear, 303),
        (Day, 30),
        (Week, 44),
        (WeekDay, 3),
        (Hour, 12),
        (Minute, 15),
        (Second, 32),
        (Millisecond, 123),
        (Microsecond, 123456),
        (Nanosecond, 123456700),
        (TzOffset, 310),
        (IsoWeek, 44),
    ] {
        assert_eq!(date_part(part, &value, 7), Ok(Value::Int(expected)), "{part:?}");
    }
    let name = |part, value: &Value| date_name(part, value, 7).expect("a name").as_text().expect("text");
    assert_eq!(name(Month, &value), "October");
    assert_eq!(name(WeekDay, &value), "Tuesday");
    assert_eq!(name(TzOffset, &value), "+05:10");
    assert_eq!(name(Year, &value), "2007");
    assert_eq!(date_part(WeekDay, &value, 1), Ok(Value::Int(2)), "DATEFIRST 1");
    assert_eq!(date_part(Week, &at("2024-01-01", DT2), 7), Ok(Value::Int(1)));
    assert_eq!(date_part(Week, &at("2024-01-07", DT2), 7), Ok(Value::Int(2)));
    assert_eq!(date_part(IsoWeek, &at("2021-01-03", DT2), 7), Ok(Value::Int(53)));
    assert_eq!(
        date_part(Millisecond, &at("2024-01-01 00:00:00.007", SqlType::DateTime), 7),
        Ok(Value::Int(7))
    );
    assert_eq!(number(date_part(Hour, &at("2024-01-01", SqlType::Date), 7)), 9810);
    assert_eq!(DatePart::by_name("QQ"), Some(Quarter));
    assert_eq!(DatePart::by_name("w"), Some(WeekDay));
    assert_eq!(DatePart::by_name("fortnight"), None);
}

#[test]
fn other_date_functions() {
    let date = SqlType::Date;
    assert_eq!(shown(end_of_month(&at("2024-02-10", date), 0), date), "2024-02-29");
    assert_eq!(shown(end_of_month(&at("2024-01-31", date), 1), date), "2024-02-29");
    assert_eq!(shown(end_of_month(&at("2024-01-31", date), -2), date), "2023-11-30");
    assert_eq!(shown(date_from_parts(2024, 2, 29), date), "2024-02-29");
    assert_eq!(number(date_from_parts(2023, 2, 29)), 289);
    assert_eq!(shown(time_from_parts(23, 59, 59, 5, 1), SqlType::Time(1)), "23:59:59.5");
    assert_eq!(number(time_from_parts(23, 59, 59, 10, 1)), 289);
    let value = at("2021-12-08 11:30:15.1234567", DT2);
    use DatePart::*;
    // The documentation's table for DATETRUNC.
    for (part, expected) in [
        (Year, "2021-01-01 00:00:00.0000000"),
        (Quarter, "2021-10-01 00:00:00.0000000"),
        (Month, "2021-12-01 00:00:00.0000000"),
        (Week, "2021-12-05 00:00:00.0000000"),
        (IsoWeek, "2021-12-06 00:00:00.0000000"),
        (DayOfYear, "2021-12-08 00:00:00.0000000"),
        (Day, "2021-12-08 00:00:00.0000000"),
        (Hour, "2021-12-08 11:00:00.0000000"),
        (Minute, "2021-12-08 11:30:00.0000000"),
        (Second, "2021-12-08 11:30:15.0000000"),
        (Millisecond, "2021-12-08 11:30:15.1230000"),
        (Microsecond, "2021-12-08 11:30:15.1234560"),
    ] {
        assert_eq!(shown(date_trunc(part, &value, &DT2, 7), DT2), expected, "{part:?}");
    }
    let offset = SqlType::DateTimeOffset(0);
    let Value::DateTimeOffset(moment) = at("2024-01-01 00:00 +00:00", offset) else { panic!("an offset") };
    let moved = switch_offset(moment, -300).expect("a valid offset");
    assert_eq!(show(&Value::DateTimeOffset(moved), offset), "2023-12-31 19:00:00 -05:00");
    assert_eq!(number(switch_offset(moment, 841)), 9812);
}
