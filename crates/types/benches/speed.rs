//! Speed of the hot kernels, in nanoseconds an operation: `cargo bench -p hardpan-types`.
#![allow(clippy::disallowed_methods, reason = "a bench reads the clock; no other crate is under it")]

use std::hint::black_box;
use std::time::Instant;

use hardpan_types::arith::{BinaryOp, evaluate};
use hardpan_types::collation::LikePattern;
use hardpan_types::{Collation, ConvertContext, DEFAULT_STYLE, Decimal, SqlType, Value, compare, convert};

fn measure(what: &str, mut body: impl FnMut()) {
    let rounds = 2_000_000u32;
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        (0..rounds).for_each(|_| body());
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    println!("{what:<70} {best:8.1} ns");
}

/// The result is used, as far as the compiler knows.
fn keep<T>(value: T) {
    let _ = black_box(value);
}

fn main() {
    let decimal = |text: &str| Decimal::from_literal(text).expect("a decimal literal");
    let (a, b) = (decimal("12345678901234.56"), decimal("98765.4321"));
    let (wide_a, wide_b) =
        (decimal("12345678901234567890123456789012345678"), decimal("0.98765432109876543210987654321098765"));
    measure("decimal 16 x 9 digits, multiply", || keep(black_box(&a).multiply(black_box(&b), (26, 6))));
    measure("decimal 38 x 35 digits, multiply to 6", || {
        keep(black_box(&wide_a).multiply(black_box(&wide_b), (38, 0)))
    });
    measure("decimal 16 / 9 digits, divide", || keep(black_box(&a).divide(black_box(&b), (38, 12))));
    measure("decimal 16 + 9 digits, add", || keep(black_box(&a).add(black_box(&b), (20, 4))));
    let (one, two) = (Value::Int(1), Value::Int(2));
    measure("int + int through evaluate", || {
        keep(evaluate(BinaryOp::Add, black_box(&one), black_box(&two), &SqlType::Int))
    });
    let (left, right) = (Value::varchar("Customer Name 0001"), Value::varchar("customer name 0002"));
    measure("varchar compare, 18 characters", || {
        keep(compare(black_box(&left), black_box(&right), Collation::DEFAULT))
    });
    let long = "The quick brown fox jumps over the lazy dog, and then again!";
    let pairs = [
        ("'x' and char(60) 'x'", "x".to_owned(), format!("{:60}", "x")),
        ("'x' and char(60) 'y'", "x".to_owned(), format!("{:60}", "y")),
        ("60 characters, the same", long.to_owned(), long.to_owned()),
        ("60 characters, in another case", long.to_owned(), long.to_uppercase()),
    ];
    for name in ["SQL_Latin1_General_CP1_CI_AS", "Latin1_General_CI_AS", "Latin1_General_CS_AS"] {
        let collation = Collation::by_name(name).expect("a known collation");
        for (what, one, other) in &pairs {
            for make in [Value::varchar as fn(&str) -> Value, Value::nvarchar] {
                let (left, right) = (make(one), make(other));
                let kind = if matches!(left, Value::Char(_)) { "varchar" } else { "nvarchar" };
                measure(&format!("{name}, {kind} {what}"), || {
                    keep(compare(black_box(&left), black_box(&right), collation))
                });
            }
        }
    }
    let (left, right) = (Value::nvarchar("Customer Name 0001"), Value::nvarchar("customer name 0002"));
    measure("nvarchar compare, 18 characters", || {
        keep(compare(black_box(&left), black_box(&right), Collation::DEFAULT))
    });
    let mut key = Vec::new();
    measure("nvarchar key, 18 characters", || {
        key.clear();
        Collation::DEFAULT.key(black_box(&left), &mut key);
    });
    let pattern = LikePattern::new(Collation::DEFAULT, &Value::varchar("%name%2"), None).expect("not NULL");
    let text = Value::varchar("customer name 0002");
    measure("LIKE '%name%2', 18 characters", || keep(pattern.matches(black_box(&text))));
    let context = ConvertContext::default();
    let number = Value::varchar("12345");
    measure("varchar to int", || {
        keep(convert(black_box(&number), &SqlType::varchar(5), &SqlType::Int, DEFAULT_STYLE, &context))
    });
    let date = Value::varchar("2024-01-02 03:04:05.678");
    measure("varchar to datetime2", || {
        keep(convert(
            black_box(&date),
            &SqlType::varchar(30),
            &SqlType::DateTime2(7),
            DEFAULT_STYLE,
            &context,
        ))
    });
    measure("clone of a short varchar", || keep(black_box(&text).clone()));
}
