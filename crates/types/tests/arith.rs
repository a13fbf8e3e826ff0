//! Operators: result types, overflow, unification of types.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{d, n, number, s};
use hardpan_types::arith::{
    BinaryOp, UnaryOp, comparison_type, evaluate, evaluate_unary, plan_binary, plan_unary, unify,
};
use hardpan_types::{ConvertContext, DEFAULT_STYLE, Length, SqlError, SqlType, Value, convert};

/// `left op right` from binding to value.
fn compute(op: BinaryOp, left: Value, right: Value) -> Result<Value, SqlError> {
    let (left_type, right_type) = (left.natural_type(), right.natural_type());
    let plan = plan_binary(op, &left_type, &right_type)?;
    let context = ConvertContext::default();
    let left = convert(&left, &left_type, &plan.left, DEFAULT_STYLE, &context)?;
    let right = convert(&right, &right_type, &plan.right, DEFAULT_STYLE, &context)?;
    evaluate(op, &left, &right, &plan.result)
}

use BinaryOp::*;

#[test]
fn integers_stay_integers_and_overflow() {
    assert_eq!(compute(Divide, Value::Int(7), Value::Int(2)), Ok(Value::Int(3)));
    assert_eq!(compute(Divide, Value::Int(-7), Value::Int(2)), Ok(Value::Int(-3)));
    assert_eq!(compute(Modulo, Value::Int(-7), Value::Int(2)), Ok(Value::Int(-1)));
    assert_eq!(compute(Add, Value::TinyInt(1), Value::Int(2)), Ok(Value::Int(3)));
    assert_eq!(compute(Add, Value::Int(1), Value::BigInt(2)), Ok(Value::BigInt(3)));
    assert_eq!(number(compute(Add, Value::Int(i32::MAX), Value::Int(1))), 8115);
    assert_eq!(number(compute(Subtract, Value::TinyInt(1), Value::TinyInt(2))), 8115);
    assert_eq!(number(compute(Multiply, Value::BigInt(i64::MAX), Value::Int(2))), 8115);
    assert_eq!(number(compute(Multiply, Value::SmallInt(200), Value::SmallInt(200))), 8115);
    assert_eq!(number(compute(Divide, Value::Int(i32::MIN), Value::Int(-1))), 8115);
    assert_eq!(compute(Modulo, Value::Int(i32::MIN), Value::Int(-1)), Ok(Value::Int(0)));
    assert_eq!(number(compute(Divide, Value::Int(1), Value::Int(0))), 8134);
    assert_eq!(number(compute(Modulo, Value::BigInt(1), Value::BigInt(0))), 8134);
    assert_eq!(compute(Add, Value::Null, Value::Int(1)), Ok(Value::Null));
}

#[test]
fn mixed_types_follow_precedence() {
    assert_eq!(compute(Add, s("2"), Value::Int(1)), Ok(Value::Int(3)));
    assert_eq!(number(compute(Add, s("x"), Value::Int(1))), 245);
    assert_eq!(compute(Multiply, Value::Int(2), Value::Float(1.5)), Ok(Value::Float(3.0)));
    assert_eq!(compute(Multiply, Value::Money(15_000), Value::Int(3)), Ok(Value::Money(45_000)));
    assert_eq!(compute(Divide, Value::Money(10_000), Value::Int(3)), Ok(Value::Money(3_333)));
    let product = compute(Multiply, d("1.5"), Value::Int(2)).expect("allowed");
    assert_eq!(common::show(&product, SqlType::decimal(13, 1)), "3.0");
    assert_eq!(number(compute(Divide, Value::Float(1.0), Value::Int(0))), 8134);
    assert_eq!(number(compute(Multiply, Value::Float(1e308), Value::Float(10.0))), 8115);
    assert_eq!(number(compute(Modulo, Value::Float(1.0), Value::Float(1.0))), 402);
    assert_eq!(number(compute(Add, Value::Bit(true), Value::Bit(true))), 402);
    assert_eq!(compute(Add, Value::Bit(true), Value::Int(1)), Ok(Value::Int(2)));
    assert_eq!(number(compute(Subtract, s("a"), s("b"))), 8117);
    assert_eq!(number(compute(Add, Value::Guid([0; 16]), Value::Int(1))), 8117);
}

#[test]
fn concatenation() {
    assert_eq!(compute(Add, s("a"), s("b")), Ok(s("ab")));
    assert_eq!(compute(Add, s("a"), n("b")), Ok(n("ab")));
    assert_eq!(compute(Add, Value::binary(&[1]), Value::binary(&[2])), Ok(Value::binary(&[1, 2])));
    let plan = |left, right| plan_binary(Add, &left, &right).map(|plan| plan.result);
    assert_eq!(plan(SqlType::varchar(10), SqlType::varchar(20)), Ok(SqlType::varchar(30)));
    assert_eq!(plan(SqlType::varchar(10), SqlType::nvarchar(20)), Ok(SqlType::nvarchar(30)));
    assert_eq!(plan(SqlType::varchar(5000), SqlType::varchar(5000)), Ok(SqlType::varchar(8000)));
    assert_eq!(plan(SqlType::nvarchar(3000), SqlType::nvarchar(3000)), Ok(SqlType::nvarchar(4000)));
    assert_eq!(plan(SqlType::VARCHAR_MAX, SqlType::nvarchar(5)), Ok(SqlType::NVARCHAR_MAX));
    assert_eq!(plan(SqlType::SysName, SqlType::varchar(2)), Ok(SqlType::nvarchar(130)));
    // 8000 bytes are the limit, unless a side is max: longer results are cut.
    let long = s(&"x".repeat(5000));
    let joined = compute(Add, long.clone(), long).expect("allowed");
    assert_eq!(joined.as_text().map(|text| text.len()), Some(8000));
    assert_eq!(number(plan(SqlType::Text, SqlType::varchar(5))), 402);
    assert_eq!(number(plan(SqlType::varbinary(5), SqlType::UniqueIdentifier)), 8117);
}

#[test]
fn dates_with_numbers() {
    let date = |text: &str, to| common::cast(&s(text), to).expect("a date");
    let next = compute(Add, date("2024-01-01", SqlType::DateTime), Value::Int(1));
    assert_eq!(next, Ok(date("2024-01-02", SqlType::DateTime)));
    let half = compute(Add, date("2024-01-01", SqlType::DateTime), d("0.5"));
    assert_eq!(half, Ok(date("2024-01-01 12:00", SqlType::DateTime)));
    let span =
        compute(Subtract, date("2024-01-03", SqlType::DateTime), date("2024-01-01", SqlType::DateTime));
    assert_eq!(span, Ok(date("1900-01-03", SqlType::DateTime)));
    assert_eq!(number(compute(Add, date("2024-01-01", SqlType::Date), Value::Int(1))), 206);
    assert_eq!(number(compute(Add, date("2024-01-01", SqlType::DateTime2(7)), Value::Int(1))), 206);
    assert_eq!(number(compute(Multiply, date("2024-01-01", SqlType::DateTime), Value::Int(1))), 8117);
    assert_eq!(number(compute(Add, date("9999-12-31", SqlType::DateTime), Value::Int(1))), 8115);
    assert_eq!(
        number(compute(Subtract, date("2024-01-01", SqlType::Date), date("2024-01-01", SqlType::Date))),
        402
    );
}

#[test]
fn bits_and_shifts() {
    assert_eq!(compute(BitAnd, Value::Int(6), Value::Int(3)), Ok(Value::Int(2)));
    assert_eq!(compute(BitOr, Value::TinyInt(6), Value::Int(3)), Ok(Value::Int(7)));
    assert_eq!(compute(BitXor, Value::Bit(true), Value::Bit(true)), Ok(Value::Bit(false)));
    assert_eq!(compute(BitAnd, Value::binary(&[6]), Value::Int(3)), Ok(Value::Int(2)));
    assert_eq!(number(compute(BitAnd, Value::Float(1.0), Value::Int(3))), 402);
    assert_eq!(compute(ShiftLeft, Value::Int(1), Value::Int(31)), Ok(Value::Int(i32::MIN)));
    assert_eq!(compute(ShiftRight, Value::Int(-1), Value::Int(28)), Ok(Value::Int(15)));
    assert_eq!(compute(ShiftLeft, Value::Int(1), Value::Int(32)), Ok(Value::Int(0)));
    assert_eq!(compute(ShiftLeft, Value::Int(8), Value::Int(-2)), Ok(Value::Int(2)));
}

#[test]
fn unary_operators() {
    let apply = |op, value: Value| {
        let result = plan_unary(op, &value.natural_type())?;
        evaluate_unary(op, &value, &result)
    };
    assert_eq!(apply(UnaryOp::Negate, Value::Int(5)), Ok(Value::Int(-5)));
    assert_eq!(number(apply(UnaryOp::Negate, Value::Int(i32::MIN))), 8115);
    assert_eq!(apply(UnaryOp::Negate, Value::TinyInt(5)), Ok(Value::SmallInt(-5)));
    assert_eq!(apply(UnaryOp::BitNot, Value::TinyInt(1)), Ok(Value::TinyInt(254)));
    assert_eq!(apply(UnaryOp::BitNot, Value::Bit(true)), Ok(Value::Bit(false)));
    assert_eq!(number(apply(UnaryOp::Negate, s("5"))), 8117);
    assert_eq!(number(apply(UnaryOp::BitNot, Value::Float(5.0))), 8117);
}

#[test]
fn branches_find_one_type() {
    let one = |branches: &[SqlType]| {
        unify(&branches.iter().map(|t| Some(*t)).collect::<Vec<_>>()).map(|found| found.expect("typed"))
    };
    assert_eq!(one(&[SqlType::Int, SqlType::BigInt, SqlType::TinyInt]), Ok(SqlType::BigInt));
    assert_eq!(one(&[SqlType::varchar(5), SqlType::varchar(9)]), Ok(SqlType::varchar(9)));
    assert_eq!(one(&[SqlType::Char(5), SqlType::Char(9)]), Ok(SqlType::Char(9)));
    assert_eq!(one(&[SqlType::Char(5), SqlType::nvarchar(3)]), Ok(SqlType::nvarchar(5)));
    assert_eq!(one(&[SqlType::decimal(10, 2), SqlType::decimal(8, 5)]), Ok(SqlType::decimal(13, 5)));
    assert_eq!(one(&[SqlType::decimal(5, 2), SqlType::Int]), Ok(SqlType::decimal(12, 2)));
    assert_eq!(one(&[SqlType::Int, SqlType::varchar(5)]), Ok(SqlType::Int));
    assert_eq!(one(&[SqlType::Date, SqlType::DateTime]), Ok(SqlType::DateTime));
    assert_eq!(one(&[SqlType::DateTime2(3), SqlType::Time(7)]), Ok(SqlType::DateTime2(7)));
    assert_eq!(one(&[SqlType::VARCHAR_MAX, SqlType::nvarchar(5)]), Ok(SqlType::NVarChar(Length::Max)));
    assert_eq!(one(&[SqlType::SysName, SqlType::SysName]), Ok(SqlType::SysName));
    assert_eq!(number(one(&[SqlType::Date, SqlType::Int])), 206);
    assert_eq!(number(one(&[SqlType::UniqueIdentifier, SqlType::Int])), 206);
    assert_eq!(unify(&[None, Some(SqlType::Date), None]), Ok(Some(SqlType::Date)));
    assert_eq!(unify(&[None, None]), Ok(None));
    assert_eq!(
        comparison_type(&SqlType::decimal(10, 2), &SqlType::BigInt, "equal to"),
        Ok(SqlType::decimal(21, 2))
    );
    assert_eq!(number(comparison_type(&SqlType::Text, &SqlType::varchar(5), "equal to")), 402);
    assert_eq!(number(comparison_type(&SqlType::Date, &SqlType::Time(7), "less than")), 402);
}

#[test]
fn catalogue_numbers_of_types() {
    for (sql_type, id, length, precision, scale) in [
        (SqlType::Int, 56, 4, 10, 0),
        (SqlType::BigInt, 127, 8, 19, 0),
        (SqlType::decimal(18, 4), 106, 9, 18, 4),
        (SqlType::Numeric { precision: 38, scale: 0 }, 108, 17, 38, 0),
        (SqlType::nvarchar(50), 231, 100, 0, 0),
        (SqlType::VARCHAR_MAX, 167, -1, 0, 0),
        (SqlType::SysName, 231, 256, 0, 0),
        (SqlType::Time(7), 41, 5, 16, 7),
        (SqlType::DateTime2(0), 42, 6, 19, 0),
        (SqlType::DateTimeOffset(7), 43, 10, 34, 7),
        (SqlType::DateTime, 61, 8, 23, 3),
        (SqlType::SmallMoney, 122, 4, 10, 4),
        (SqlType::UniqueIdentifier, 36, 16, 0, 0),
        (SqlType::Float, 62, 8, 53, 0),
    ] {
        let found =
            (sql_type.system_type_id(), sql_type.max_length(), sql_type.precision(), sql_type.scale());
        assert_eq!(found, (id, length, precision, scale), "{sql_type}");
    }
    assert_eq!(SqlType::SysName.user_type_id(), 256);
    assert_eq!(SqlType::decimal(10, 2).to_string(), "decimal(10,2)");
    assert_eq!(SqlType::NVARCHAR_MAX.to_string(), "nvarchar(max)");
    assert!(size_of::<Value>() <= 32);
}
