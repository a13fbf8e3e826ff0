//! decimal: result shapes, rounding, overflow; the kernel against long arithmetic on digits.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Random, d, number};
use hardpan_types::arith::{BinaryOp, evaluate, plan_binary};
use hardpan_types::decimal::kernel;
use hardpan_types::decimal::rules::{result_shape, union_shape};
use hardpan_types::{Decimal, SqlError, SqlType, Value};

/// Computes on two literals as a SELECT would.
fn compute(op: BinaryOp, left: &str, right: &str) -> Result<String, SqlError> {
    let (left, right) = (d(left), d(right));
    let plan = plan_binary(op, &left.natural_type(), &right.natural_type())?;
    match evaluate(op, &left, &right, &plan.result)? {
        Value::Decimal(value) => Ok(value.to_string()),
        other => panic!("{other:?} is no decimal"),
    }
}

#[test]
fn result_shapes_follow_the_documented_rules() {
    // (operator, left, right, result): the table of "Precision, scale, and length", and its reductions above 38 digits.
    let cases = [
        (BinaryOp::Add, (10, 2), (10, 2), (11, 2)),
        (BinaryOp::Add, (5, 5), (20, 0), (26, 5)),
        (BinaryOp::Subtract, (38, 10), (38, 10), (38, 10)),
        (BinaryOp::Add, (38, 20), (38, 0), (38, 0)),
        (BinaryOp::Multiply, (10, 2), (10, 2), (21, 4)),
        (BinaryOp::Multiply, (30, 20), (30, 20), (38, 17)),
        (BinaryOp::Multiply, (30, 10), (30, 10), (38, 6)),
        (BinaryOp::Multiply, (38, 2), (38, 2), (38, 4)),
        (BinaryOp::Divide, (10, 2), (10, 2), (23, 13)),
        (BinaryOp::Divide, (1, 0), (2, 1), (8, 6)),
        (BinaryOp::Divide, (2, 1), (1, 0), (7, 6)),
        (BinaryOp::Divide, (38, 10), (38, 10), (38, 6)),
        (BinaryOp::Modulo, (10, 2), (5, 3), (5, 3)),
    ];
    for (op, left, right, result) in cases {
        assert_eq!(result_shape(op, left, right), result, "{op:?} {left:?} {right:?}");
    }
    assert_eq!(union_shape((10, 2), (10, 5)), (13, 5));
    assert_eq!(union_shape((38, 0), (38, 20)), (38, 0));
}

#[test]
fn operators_round_and_cut_as_sql_server_does() {
    let cases = [
        (BinaryOp::Add, "1.10", "2.205", "3.305"),
        (BinaryOp::Subtract, "1", "2.5", "-1.5"),
        (BinaryOp::Multiply, "1.5", "1.5", "2.25"),
        // Division cuts: 2/3.0 is 0.666666, not ...67.
        (BinaryOp::Divide, "2", "3.0", "0.666666"),
        (BinaryOp::Divide, "5", "3.0", "1.666666"),
        (BinaryOp::Divide, "3.0", "2", "1.500000"),
        (BinaryOp::Divide, "-1", "3.0", "-0.333333"),
        (BinaryOp::Modulo, "5.5", "2", "1.5"),
        (BinaryOp::Modulo, "-5.5", "2", "-1.5"),
    ];
    for (op, left, right, expected) in cases {
        assert_eq!(compute(op, left, right).as_deref(), Ok(expected), "{left} {op:?} {right}");
    }
    assert_eq!(number(compute(BinaryOp::Divide, "1.0", "0.0")), 8134);
    assert_eq!(number(compute(BinaryOp::Modulo, "1.0", "0")), 8134);
    let nines = "9".repeat(38);
    assert_eq!(number(compute(BinaryOp::Add, &nines, "1")), 8115);
    assert_eq!(number(compute(BinaryOp::Multiply, &nines, &nines)), 8115);
}

#[test]
fn products_that_lose_scale_are_rounded() {
    // The documentation's pair: at decimal(30,10) the small factor rounds up to the sixth digit, at (30,20) it stays.
    let at = |text: &str, scale| Decimal::parse(text, 30, scale).expect("fits");
    let narrow = at("0.0000009", 10).multiply(&at("1", 10), (38, 6)).expect("fits");
    assert_eq!(narrow.to_string(), "0.000001");
    let wide = at("0.0000009", 20).multiply(&at("1", 20), (38, 17)).expect("fits");
    assert_eq!(wide.to_string(), "0.00000090000000000");
}

#[test]
fn integer_constants_count_their_own_digits() {
    let precision = |number| Decimal::from_i64(number).precision();
    assert_eq!((precision(0), precision(2), precision(-1000)), (1, 1, 4));
    let plan = plan_binary(BinaryOp::Divide, &SqlType::Int, &SqlType::decimal(2, 1)).expect("allowed");
    assert_eq!(plan.left, SqlType::decimal(10, 0));
    assert_eq!(plan.result, SqlType::decimal(17, 6));
}

#[test]
fn text_is_read_and_written() {
    let parse =
        |text: &str, precision, scale| Decimal::parse(text, precision, scale).map(|value| value.to_string());
    assert_eq!(parse(" -1.005 ", 10, 2).as_deref(), Ok("-1.01"));
    assert_eq!(parse("1.004999", 10, 2).as_deref(), Ok("1.00"));
    assert_eq!(parse(".5", 10, 0).as_deref(), Ok("1"));
    assert_eq!(parse("5.", 10, 1).as_deref(), Ok("5.0"));
    assert_eq!(parse("+7", 10, 0).as_deref(), Ok("7"));
    assert_eq!(parse(&"9".repeat(38), 38, 0).as_deref(), Ok("9".repeat(38).as_str()));
    for text in ["", " ", ".", "-", "1e3", "1,000", "abc", "1.2.3"] {
        assert!(parse(text, 10, 2).is_err(), "{text:?}");
    }
    assert!(parse(&"9".repeat(39), 38, 0).is_err());
    assert!(parse("100", 2, 0).is_err());
    assert!(parse("99.6", 2, 0).is_err(), "rounding may carry over the precision");
    let literal = Decimal::from_literal("0.50").expect("a literal");
    assert_eq!((literal.precision(), literal.scale()), (2, 2));
    let literal = Decimal::from_literal("0012.5").expect("a literal");
    assert_eq!((literal.precision(), literal.scale()), (3, 1));
    assert_eq!(Decimal::from_literal(&"9".repeat(39)), None);
}

/// Long arithmetic on decimal digits, least significant first: slow and obvious.
mod digits {
    pub fn of(mut value: u128) -> Vec<u8> {
        let mut out = Vec::new();
        while value > 0 {
            out.push((value % 10) as u8);
            value /= 10;
        }
        out
    }

    pub fn multiply(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut out = vec![0u32; a.len() + b.len() + 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                out[i + j] += u32::from(*x) * u32::from(*y);
            }
            for k in 0..out.len() - 1 {
                out[k + 1] += out[k] / 10;
                out[k] %= 10;
            }
        }
        out.into_iter().map(|digit| digit as u8).collect()
    }

    /// Drops `places` digits, rounding half up.
    pub fn round(value: &[u8], places: usize) -> Option<u128> {
        let up = places > 0 && value.get(places - 1).is_some_and(|digit| *digit >= 5);
        let kept = value.get(places..).unwrap_or(&[]);
        let number = kept
            .iter()
            .rev()
            .try_fold(0u128, |sum, digit| sum.checked_mul(10)?.checked_add(u128::from(*digit)))?;
        number.checked_add(u128::from(up))
    }

    /// Schoolbook division by repeated subtraction of the divisor, digit by digit; cut.
    pub fn divide(value: &[u8], divisor: u128) -> Option<u128> {
        let (mut quotient, mut rest) = (0u128, 0u128);
        for digit in value.iter().rev() {
            // rest < divisor < 10^38, so ten times it may pass 128 bits: take it in halves.
            let mut count = 0;
            let (mut high, mut low) =
                (rest / 10u128.pow(20) * 10, rest % 10u128.pow(20) * 10 + u128::from(*digit));
            high += low / 10u128.pow(20);
            low %= 10u128.pow(20);
            let (dh, dl) = (divisor / 10u128.pow(20), divisor % 10u128.pow(20));
            while (high, low) >= (dh, dl) {
                if low < dl {
                    high -= 1;
                    low += 10u128.pow(20);
                }
                high -= dh;
                low -= dl;
                count += 1;
            }
            rest = high * 10u128.pow(20) + low;
            quotient = quotient.checked_mul(10)?.checked_add(count)?;
        }
        Some(quotient)
    }
}

#[test]
fn the_kernel_agrees_with_long_arithmetic() {
    let mut random = Random(42);
    for _ in 0..20_000 {
        let (a, b) = (random.digits(38), random.digits(38));
        let places = random.below(77) as u8;
        let expected = digits::round(
            &digits::multiply(&digits::of(a as u128), &digits::of(b as u128)),
            usize::from(places),
        )
        .and_then(|value| i128::try_from(value).ok());
        assert_eq!(
            kernel::multiply_rounding(a, -b, places),
            expected.map(|value| -value),
            "{a} * -{b} / 10^{places}"
        );
        if b == 0 {
            continue;
        }
        let scaled: Vec<u8> =
            std::iter::repeat_n(0, usize::from(places)).chain(digits::of(a as u128)).collect();
        let expected = digits::divide(&scaled, b as u128).and_then(|value| i128::try_from(value).ok());
        assert_eq!(kernel::divide_scaled(a, places, b), expected, "{a} * 10^{places} / {b}");
    }
}

#[test]
fn small_sums_agree_with_i128() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let (s1, s2) = (random.below(9) as u8, random.below(9) as u8);
        let (a, b) = (random.digits(18) - random.digits(18), random.digits(18) - random.digits(18));
        let (left, right) = (Decimal::new(a, 19, s1), Decimal::new(b, 19, s2));
        let scale = s1.max(s2);
        let lift = |value: i128, from: u8| value * 10i128.pow(u32::from(scale - from));
        assert_eq!(left.add(&right, (38, scale)).expect("fits").mantissa(), lift(a, s1) + lift(b, s2));
        assert_eq!(left.compare(&right), lift(a, s1).cmp(&lift(b, s2)));
        if b != 0 {
            assert_eq!(left.modulo(&right, (38, scale)).expect("fits").mantissa(), lift(a, s1) % lift(b, s2));
        }
    }
}

#[test]
fn floats_convert_by_seventeen_digits() {
    let from = |value: f64, precision, scale| {
        Decimal::from_f64(value, precision, scale).map(|value| value.to_string())
    };
    assert_eq!(from(0.1, 38, 20).as_deref(), Ok("0.10000000000000001000"));
    assert_eq!(from(-1234.5678, 10, 2).as_deref(), Ok("-1234.57"));
    assert_eq!(from(1e-40, 10, 2).as_deref(), Ok("0.00"));
    assert_eq!(from(1e22, 38, 0).as_deref(), Ok("10000000000000000000000"));
    assert!(from(1e38, 38, 0).is_err());
    assert!(from(100.0, 2, 0).is_err());
    let Value::Decimal(value) = d("12345678901234567890.5") else { unreachable!() };
    assert_eq!(value.to_f64(), 12345678901234567890.5);
}

#[test]
fn sums_of_more_than_38_digits_overflow() {
    let nines = "9".repeat(38);
    let cases = [
        (BinaryOp::Add, nines.clone(), nines.clone()),
        (BinaryOp::Add, format!("-{nines}"), format!("-{nines}")),
        (BinaryOp::Subtract, nines.clone(), format!("-{nines}")),
        (BinaryOp::Add, nines.clone(), "1".into()),
    ];
    for (op, left, right) in cases {
        assert_eq!(compute(op, &left, &right).unwrap_err().number, 8115, "{left} {op:?} {right}");
    }
    assert_eq!(compute(BinaryOp::Subtract, &nines, &nines).unwrap(), "0");
}
