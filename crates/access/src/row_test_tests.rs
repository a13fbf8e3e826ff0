//! Tests of conditions on bytes: for every fixed-length type and outcome they agree with a comparison of the decoded value.

use std::cmp::Ordering;

use types::{Date, DateTime, DateTime2, DateTimeOffset, Decimal, Length, SmallDateTime, Time};

use super::*;
use crate::row::RowColumn;

/// A type with values of it in ascending order.
fn types() -> Vec<(SqlType, Vec<Value>)> {
    let date = |days| Value::Date(Date { days });
    let decimal = |mantissa| Value::Decimal(Decimal::new(mantissa, 12, 2));
    let offset =
        |ticks| Value::DateTimeOffset(DateTimeOffset { utc: DateTime2 { ticks }, offset_minutes: 60 });
    vec![
        (SqlType::Bit, vec![Value::Bit(false), Value::Bit(true)]),
        (SqlType::TinyInt, vec![Value::TinyInt(0), Value::TinyInt(127), Value::TinyInt(200)]),
        (SqlType::SmallInt, vec![Value::SmallInt(-300), Value::SmallInt(-1), Value::SmallInt(255)]),
        (SqlType::Int, vec![Value::Int(i32::MIN), Value::Int(-1), Value::Int(0), Value::Int(i32::MAX)]),
        (SqlType::BigInt, vec![Value::BigInt(i64::MIN), Value::BigInt(7), Value::BigInt(i64::MAX)]),
        (SqlType::decimal(12, 2), vec![decimal(-100), decimal(0), decimal(99_999)]),
        (SqlType::Money, vec![Value::Money(-5), Value::Money(5)]),
        (SqlType::Real, vec![Value::Real(-1.5), Value::Real(2.5)]),
        (SqlType::Float, vec![Value::Float(-1.5), Value::Float(0.0), Value::Float(1e300)]),
        (SqlType::Char(5), vec![Value::varchar("AIR  "), Value::varchar("rail "), Value::varchar("ship ")]),
        (SqlType::NChar(3), vec![Value::nvarchar("abc"), Value::nvarchar("abd")]),
        (SqlType::Binary(2), vec![Value::binary(&[0, 9]), Value::binary(&[1, 0])]),
        (SqlType::Date, vec![date(0), date(1), date(3_652_058)]),
        (
            SqlType::Time(7),
            vec![Value::Time(Time { ticks: 1 }), Value::Time(Time { ticks: 863_999_999_999 })],
        ),
        (
            SqlType::DateTime,
            vec![
                Value::DateTime(DateTime { days: -53_690, ticks: 25_919_999 }),
                Value::DateTime(DateTime { days: 1, ticks: 0 }),
            ],
        ),
        (
            SqlType::SmallDateTime,
            vec![
                Value::SmallDateTime(SmallDateTime { days: 1, minutes: 1439 }),
                Value::SmallDateTime(SmallDateTime { days: 65_535, minutes: 0 }),
            ],
        ),
        (
            SqlType::DateTime2(7),
            vec![Value::DateTime2(DateTime2 { ticks: 1 }), Value::DateTime2(DateTime2 { ticks: 2 })],
        ),
        (SqlType::DateTimeOffset(7), vec![offset(1), offset(2)]),
        (SqlType::UniqueIdentifier, vec![Value::Guid([7; 16]), Value::Guid([8; 16])]),
    ]
}

fn row_of(format: &RowFormat, values: &[Value]) -> Vec<u8> {
    let mut row = Vec::new();
    format.encode(values, 8060, &mut row, &mut |_| panic!("nothing is long here")).expect("it fits");
    row
}

fn compares(accepted: Accepted, value: &Value) -> Vec<Condition> {
    let kind = ConditionKind::Compare { accepted, value: value.clone(), collation: Collation::default() };
    vec![Condition { column: 1, kind }]
}

#[test]
fn a_comparison_of_bytes_says_what_one_of_values_says() {
    for (sql_type, values) in types() {
        let column = |sql_type| RowColumn { sql_type, collation: Collation::default() };
        // A variable column before it and a fixed one behind it.
        let columns = vec![column(SqlType::VarChar(Length::N(9))), column(sql_type), column(SqlType::Int)];
        let format = Arc::new(RowFormat::new(columns));
        for present in values.iter().chain([&Value::Null]) {
            let row = row_of(&format, &[Value::varchar("ab"), present.clone(), Value::Int(1)]);
            for constant in values.iter().chain([&Value::Null]) {
                for outcomes in 0..8u8 {
                    let accepts = |ordering| match ordering {
                        Ordering::Less => outcomes & 1 != 0,
                        Ordering::Equal => outcomes & 2 != 0,
                        Ordering::Greater => outcomes & 4 != 0,
                    };
                    let expected =
                        types::compare(present, constant, Collation::default()).is_some_and(accepts);
                    let conditions = compares(Accepted::by(accepts), constant);
                    let test = RowTest::new(format.clone(), conditions.clone(), false);
                    assert_eq!(test.accepts(&row), expected, "{present:?} {outcomes:03b} {constant:?}");
                    let entry = [&[3u8, 0, 9, 9, 9], &row[..]].concat();
                    let test = RowTest::new(format.clone(), conditions, true);
                    assert_eq!(test.accepts(&entry), expected, "{present:?} in an entry");
                }
            }
            for is_null in [false, true] {
                let conditions = vec![Condition { column: 1, kind: ConditionKind::Null { is_null } }];
                let test = RowTest::new(format.clone(), conditions, false);
                assert_eq!(test.accepts(&row), present.is_null() == is_null);
            }
        }
    }
}

#[test]
fn texts_of_any_length_are_compared_with_those_of_a_char_column() {
    let column = |sql_type| RowColumn { sql_type, collation: Collation::default() };
    for sql_type in [SqlType::Char(5), SqlType::VarChar(Length::N(5))] {
        let format = Arc::new(RowFormat::new(vec![column(SqlType::Int), column(sql_type)]));
        for stored in ["AIR  ", "airs ", "     ", "ai\tr ", "\u{e9}    "] {
            let row = row_of(&format, &[Value::Int(1), Value::varchar(stored)]);
            for constant in ["AIR", "air", "air    ", "airship", "", "airs", "ai", "ai\tr", "\u{c9}"] {
                let (own, constant) = (Value::varchar(stored), Value::varchar(constant));
                let expected = types::compare(&own, &constant, Collation::default()).expect("no NULL");
                for ordering in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
                    let conditions = compares(Accepted::by(|found| found == ordering), &constant);
                    let test = RowTest::new(format.clone(), conditions, false);
                    assert_eq!(test.accepts(&row), expected == ordering, "{stored:?} and {constant:?}");
                }
            }
        }
    }
}

#[test]
fn all_conditions_must_hold_and_columns_younger_than_the_row_are_null() {
    let column = |sql_type| RowColumn { sql_type, collation: Collation::default() };
    let old = RowFormat::new(vec![column(SqlType::Int)]);
    let young = Arc::new(RowFormat::new(vec![column(SqlType::Int), column(SqlType::Int)]));
    let row = row_of(&old, &[Value::Int(5)]);
    let is_five = Condition {
        column: 0,
        kind: ConditionKind::Compare {
            accepted: Accepted::by(Ordering::is_eq),
            value: Value::BigInt(5),
            collation: Collation::default(),
        },
    };
    let null = |is_null| Condition { column: 1, kind: ConditionKind::Null { is_null } };
    let test = |conditions| RowTest::new(young.clone(), conditions, false).accepts(&row);
    assert!(test(vec![is_five.clone()]) && test(vec![is_five.clone(), null(true)]));
    assert!(!test(vec![is_five, null(false)]) && !test(compares(Accepted::by(|_| true), &Value::Int(1))));
}

#[test]
fn a_row_that_cannot_be_read_passes() {
    let format =
        Arc::new(RowFormat::new(vec![RowColumn { sql_type: SqlType::Int, collation: Collation::default() }]));
    let test = |is_behind| {
        let kind = ConditionKind::Null { is_null: true };
        RowTest::new(format.clone(), vec![Condition { column: 0, kind }], is_behind)
    };
    for bytes in [&[][..], &[0], &[0, 9, 0], &[0, 1, 0, 1, 2], &[200, 0, 1]] {
        assert!(test(false).accepts(bytes) && test(true).accepts(bytes), "{bytes:?}");
    }
}

/// Arithmetic on a column is evaluated; NULL satisfies nothing, and a row for which the arithmetic fails passes.
#[test]
fn computed_numbers_are_judged() {
    use crate::number_steps::NumberStep;
    let format =
        Arc::new(RowFormat::new(vec![RowColumn { sql_type: SqlType::Int, collation: Collation::default() }]));
    let row = |value: Value| {
        let mut bytes = Vec::new();
        format.encode(&[value], usize::MAX, &mut bytes, &mut |_| unreachable!("short")).unwrap();
        bytes
    };
    let mut steps = NumberSteps::default();
    steps.push(NumberStep::Add(1), i64::from(i32::MIN), i64::from(i32::MAX));
    steps.push(NumberStep::Modulo(2), i64::from(i32::MIN), i64::from(i32::MAX));
    let equal =
        NumberTest::Compare { accepted: Accepted::by(|ordering| ordering == Ordering::Equal), value: 0 };
    let none_of = NumberTest::OneOf { sorted: vec![-1, 1], is_negated: true };
    for test in [equal, none_of] {
        let kind = ConditionKind::Computed { steps: steps.clone(), test };
        let test = RowTest::new(Arc::clone(&format), vec![Condition { column: 0, kind }], false);
        let passes: Vec<bool> =
            [Value::Int(1), Value::Int(2), Value::Int(-3), Value::Null, Value::Int(i32::MAX)]
                .map(|value| test.accepts(&row(value)))
                .to_vec();
        assert_eq!(passes, [true, false, true, false, true]);
    }
}
