//! Hostile input: any text, any bytes, any pair of types give a value or an error, never a panic.

mod common;

use common::Random;
use hardpan_types::arith::{BinaryOp, UnaryOp, evaluate, evaluate_unary, plan_binary, plan_unary};
use hardpan_types::collation::LikePattern;
use hardpan_types::functions::Culture;
use hardpan_types::functions::format::format;
use hardpan_types::temporal::DatePart;
use hardpan_types::temporal::functions::{date_add, date_diff_big, date_trunc, end_of_month};
use hardpan_types::{Collation, ConvertContext, DEFAULT_STYLE, DateFormat, SqlType, Value, convert};

const TARGETS: &[SqlType] = &[
    SqlType::Bit,
    SqlType::TinyInt,
    SqlType::SmallInt,
    SqlType::Int,
    SqlType::BigInt,
    SqlType::decimal(38, 0),
    SqlType::decimal(38, 38),
    SqlType::decimal(5, 2),
    SqlType::Money,
    SqlType::SmallMoney,
    SqlType::Real,
    SqlType::Float,
    SqlType::Char(3),
    SqlType::varchar(5),
    SqlType::VARCHAR_MAX,
    SqlType::NChar(3),
    SqlType::nvarchar(5),
    SqlType::SysName,
    SqlType::Binary(3),
    SqlType::varbinary(20),
    SqlType::Date,
    SqlType::Time(0),
    SqlType::Time(7),
    SqlType::DateTime,
    SqlType::SmallDateTime,
    SqlType::DateTime2(0),
    SqlType::DateTime2(7),
    SqlType::DateTimeOffset(7),
    SqlType::UniqueIdentifier,
    SqlType::SqlVariant,
    SqlType::Xml,
    SqlType::RowVersion,
];

const WORDS: &[&str] = &[
    "",
    " ",
    "-",
    "+",
    ".",
    "0",
    "1",
    "9999999999",
    "1e400",
    "1e-400",
    "-1.5",
    "$",
    "\u{20ac}",
    "0x",
    "0xFFF",
    "{ts '",
    "'}",
    "{",
    "}",
    "Jan",
    "feb",
    "13",
    "31",
    "2024",
    "24",
    "0000",
    "9999",
    "-12-31",
    "/",
    ":",
    "T",
    "Z",
    "AM",
    "pm",
    "12:30",
    ".9999999",
    "+14:00",
    "-14:01",
    ",",
    "\u{e9}",
    "\u{1f600}",
    "a",
    "[",
    "]",
    "%",
    "_",
    "^",
    "\0",
    "true",
    "23:59:59.9999999",
    "99999999999999999999999999999999999999",
    "6F9619FF-8B86-D011-B42D-00C04FC964FF",
];

fn text(random: &mut Random) -> String {
    (0..random.below(5)).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]).collect()
}

#[test]
fn any_text_and_bytes_convert_or_fail() {
    let mut random = Random(99);
    let styles =
        [DEFAULT_STYLE, 0, 1, 2, 3, 8, 12, 20, 22, 100, 103, 112, 114, 121, 126, 127, 130, 131, 999, -5];
    let formats = [
        DateFormat::Mdy,
        DateFormat::Dmy,
        DateFormat::Ymd,
        DateFormat::Ydm,
        DateFormat::Myd,
        DateFormat::Dym,
    ];
    for _ in 0..4000 {
        let context =
            ConvertContext { date_format: formats[random.below(6) as usize], ..ConvertContext::default() };
        let words = text(&mut random);
        let bytes: Vec<u8> = (0..random.below(20)).map(|_| random.next() as u8).collect();
        for value in [Value::varchar(&words), Value::nvarchar(&words), Value::binary(&bytes)] {
            let from = value.natural_type();
            for to in TARGETS {
                let style = styles[random.below(styles.len() as u64) as usize];
                let Ok(first) = convert(&value, &from, to, style, &context) else { continue };
                // The results can be converted again, and can be keyed and compared.
                let next = TARGETS[random.below(TARGETS.len() as u64) as usize];
                let _ = convert(&first, to, &next, style, &context);
                let mut key = Vec::new();
                Collation::DEFAULT.key(&first, &mut key);
            }
        }
    }
}

fn any_value(random: &mut Random) -> (Value, SqlType) {
    let to = TARGETS[random.below(TARGETS.len() as u64) as usize];
    let context = ConvertContext::default();
    let extremes = [
        "0",
        "1",
        "-1",
        "255",
        "2147483647",
        "-2147483648",
        "9999-12-31",
        "1753-01-01",
        "0001-01-01",
        "0.5",
        "23:59:59.9999999",
    ];
    for _ in 0..20 {
        let word = extremes[random.below(extremes.len() as u64) as usize];
        if let Ok(value) = convert(&Value::varchar(word), &SqlType::varchar(30), &to, DEFAULT_STYLE, &context)
        {
            return (value, to);
        }
    }
    (Value::Null, to)
}

#[test]
fn any_operands_compute_or_fail() {
    use BinaryOp::*;
    let mut random = Random(123);
    let context = ConvertContext::default();
    for _ in 0..40_000 {
        let ((left, left_type), (right, right_type)) = (any_value(&mut random), any_value(&mut random));
        let ops = [Add, Subtract, Multiply, Divide, Modulo, BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight];
        let op = ops[random.below(10) as usize];
        if let Ok(plan) = plan_binary(op, &left_type, &right_type) {
            let left = convert(&left, &left_type, &plan.left, DEFAULT_STYLE, &context);
            let right = convert(&right, &right_type, &plan.right, DEFAULT_STYLE, &context);
            if let (Ok(left), Ok(right)) = (left, right) {
                let result = evaluate(op, &left, &right, &plan.result);
                let refused = matches!(&result, Err(error) if error.number == 402);
                assert!(!refused, "{left:?} {op:?} {right:?} was planned as {plan:?}, then refused");
            }
        }
        for unary in [UnaryOp::Plus, UnaryOp::Negate, UnaryOp::BitNot] {
            if let Ok(result) = plan_unary(unary, &left_type) {
                let operand = convert(&left, &left_type, &result, DEFAULT_STYLE, &context);
                let _ = operand.and_then(|operand| evaluate_unary(unary, &operand, &result));
            }
        }
    }
}

#[test]
fn any_date_arithmetic_stays_in_the_calendar_or_fails() {
    use DatePart::*;
    let mut random = Random(321);
    let parts = [
        Year,
        Quarter,
        Month,
        DayOfYear,
        Day,
        Week,
        WeekDay,
        Hour,
        Minute,
        Second,
        Millisecond,
        Microsecond,
        Nanosecond,
        TzOffset,
        IsoWeek,
    ];
    for _ in 0..40_000 {
        let (left, left_type) = any_value(&mut random);
        let (right, _) = any_value(&mut random);
        let part = parts[random.below(15) as usize];
        let shift = random.below(64);
        let number =
            [random.next() as i64 >> shift, i64::MAX, i64::MIN][random.below(12).saturating_sub(9) as usize];
        if let Ok(moved) = date_add(part, number, &left) {
            // A shifted value still converts to text.
            let shown = convert(
                &moved,
                &left_type,
                &SqlType::NVARCHAR_MAX,
                DEFAULT_STYLE,
                &ConvertContext::default(),
            );
            assert!(shown.is_ok() || left_type.is_numeric(), "{moved:?} {shown:?}");
        }
        let _ = date_diff_big(part, &left, &right);
        let _ = date_trunc(part, &left, &left_type, 1 + (number.unsigned_abs() % 7) as u8);
        let _ = end_of_month(&left, number);
    }
}

#[test]
fn any_pattern_matches_or_does_not() {
    let mut random = Random(77);
    let bits = [
        "#", "0", ",", ".", "%", ";", "'", "\"", "\\", "E", "y", "M", "d", "h", "H", "s", "f", "t", "z", "K",
        " ", "\u{e9}", "C2", "N", "X", "P3",
    ];
    for _ in 0..20_000 {
        let (subject, _) = any_value(&mut random);
        let pattern: String =
            (0..random.below(7)).map(|_| bits[random.below(bits.len() as u64) as usize]).collect();
        let _ = format(&subject, &pattern, Culture::default_culture());
        let words = text(&mut random);
        if let Some(like) =
            LikePattern::new(Collation::DEFAULT, &Value::nvarchar(&words), Some(u16::from(b'%')))
        {
            let subject = Value::nvarchar(&text(&mut random));
            let _ = (like.matches(&subject), like.position(&subject));
        }
    }
}
