//! Tests of rows: every type reads back, NULLs, columns added later, long values go out of row, hostile bytes.

use types::{
    Date, DateTime, DateTime2, DateTimeOffset, Decimal, Length, SmallDateTime, SqlType, Time, Value, Variant,
};

use super::*;

fn column(sql_type: SqlType) -> RowColumn {
    RowColumn { sql_type, collation: Collation::DEFAULT }
}

fn every_type() -> Vec<(SqlType, Value)> {
    let ticks = 630_000_000_000_000_000;
    vec![
        (SqlType::Bit, Value::Bit(true)),
        (SqlType::TinyInt, Value::TinyInt(200)),
        (SqlType::SmallInt, Value::SmallInt(-300)),
        (SqlType::Int, Value::Int(i32::MIN)),
        (SqlType::BigInt, Value::BigInt(i64::MAX)),
        (SqlType::decimal(9, 2), Value::Decimal(Decimal::new(-123_456_789, 9, 2))),
        (SqlType::decimal(38, 0), Value::Decimal(Decimal::new(10i128.pow(38) - 1, 38, 0))),
        (SqlType::Money, Value::Money(-5)),
        (SqlType::SmallMoney, Value::Money(-214_748_364)),
        (SqlType::Real, Value::Real(1.5)),
        (SqlType::Float, Value::Float(-2.25)),
        (SqlType::Char(5), Value::varchar("ab   ")),
        (SqlType::NChar(3), Value::nvarchar("xyz")),
        (SqlType::Binary(4), Value::binary(&[1, 2, 0, 0])),
        (SqlType::VarChar(Length::N(50)), Value::varchar("hello")),
        (SqlType::NVarChar(Length::N(50)), Value::nvarchar("wörld")),
        (SqlType::VarBinary(Length::Max), Value::binary(&[9; 3000])),
        (SqlType::Date, Value::Date(Date { days: 3_652_058 })),
        (SqlType::Time(7), Value::Time(Time { ticks: 863_999_999_999 })),
        (SqlType::DateTime, Value::DateTime(DateTime { days: -53_690, ticks: 25_919_999 })),
        (SqlType::SmallDateTime, Value::SmallDateTime(SmallDateTime { days: 65_535, minutes: 1439 })),
        (SqlType::DateTime2(7), Value::DateTime2(DateTime2 { ticks })),
        (
            SqlType::DateTimeOffset(7),
            Value::DateTimeOffset(DateTimeOffset { utc: DateTime2 { ticks }, offset_minutes: -840 }),
        ),
        (SqlType::UniqueIdentifier, Value::Guid([7; 16])),
        (
            SqlType::SqlVariant,
            Value::Variant(std::sync::Arc::new(Variant {
                sql_type: SqlType::decimal(10, 3),
                value: Value::Decimal(Decimal::new(-1, 10, 3)),
            })),
        ),
        (SqlType::SysName, Value::nvarchar("dbo")),
    ]
}

fn no_lob(_: &[u8]) -> AccessResult<LobPointer> {
    panic!("nothing is long here")
}

#[test]
fn every_type_reads_back_with_and_without_null() {
    let all = every_type();
    let format = RowFormat::new(all.iter().map(|(sql_type, _)| column(*sql_type)).collect());
    for null_every in [1usize, 2, 3, 100] {
        let values: Vec<Value> = (all.iter().enumerate())
            .map(
                |(at, (_, value))| {
                    if at % null_every == null_every - 1 { Value::Null } else { value.clone() }
                },
            )
            .collect();
        let (mut row, mut back) = (Vec::new(), Vec::new());
        format.encode(&values, ROW_BYTES_MAX, &mut row, &mut no_lob).expect("fits");
        format.decode(&row, &mut back, &mut |_| panic!("nothing is out of row")).expect("sound");
        assert_eq!(back, values);
    }
}

#[test]
fn a_one_int_row_takes_eight_bytes() {
    let format = RowFormat::new(vec![column(SqlType::Int)]);
    let mut row = Vec::new();
    format.encode(&[Value::Int(7)], ROW_BYTES_MAX, &mut row, &mut no_lob).expect("fits");
    assert_eq!(row.len(), 8);
}

#[test]
fn rows_older_than_a_column_miss_it() {
    let old = RowFormat::new(vec![column(SqlType::Int), column(SqlType::varchar(9))]);
    let new = RowFormat::new(vec![
        column(SqlType::Int),
        column(SqlType::varchar(9)),
        column(SqlType::BigInt),
        column(SqlType::varchar(5)),
    ]);
    let mut row = Vec::new();
    old.encode(&[Value::Int(1), Value::varchar("x")], ROW_BYTES_MAX, &mut row, &mut no_lob).expect("fits");
    assert_eq!(new.column(&row, 1).expect("sound"), ColumnValue::Here(Value::varchar("x")));
    assert_eq!(new.column(&row, 2).expect("sound"), ColumnValue::Missing);
    assert_eq!(new.column(&row, 3).expect("sound"), ColumnValue::Missing);
}

#[test]
fn long_values_go_out_of_row_longest_first() {
    let format = RowFormat::new(vec![
        column(SqlType::VARCHAR_MAX),
        column(SqlType::varchar(8000)),
        column(SqlType::VARBINARY_MAX),
    ]);
    let values =
        [Value::varchar(&"a".repeat(9000)), Value::varchar(&"b".repeat(5000)), Value::binary(&[3; 4000])];
    let mut stored: Vec<Vec<u8>> = Vec::new();
    let mut row = Vec::new();
    format
        .encode(&values, ROW_BYTES_MAX, &mut row, &mut |bytes| {
            stored.push(bytes.to_vec());
            let page = pages::PageId::new(1, stored.len() as u32);
            Ok(LobPointer { page, bytes: bytes.len() as u32, stamp: 5 })
        })
        .expect("fits with pointers");
    assert_eq!(stored.iter().map(Vec::len).collect::<Vec<_>>(), vec![9000, 5000]);
    let mut back = Vec::new();
    format
        .decode(&row, &mut back, &mut |pointer| Ok(stored[pointer.page.page as usize - 1].clone()))
        .expect("sound");
    assert_eq!(back, values);
    assert_eq!(format.lob_pointers(&row).expect("sound").len(), 2);
}

#[test]
fn a_row_of_fixed_columns_beyond_the_page_is_refused() {
    let format = RowFormat::new(vec![column(SqlType::Char(8000)), column(SqlType::Char(100))]);
    let values = [Value::varchar("a"), Value::varchar("b")];
    let result = format.encode(&values, ROW_BYTES_MAX, &mut Vec::new(), &mut no_lob);
    assert!(matches!(result, Err(AccessError::RowTooLarge { .. })));
}

#[test]
fn hostile_rows_give_errors_not_panics() {
    let all = every_type();
    let format = RowFormat::new(all.iter().map(|(sql_type, _)| column(*sql_type)).collect());
    let mut row = Vec::new();
    let values: Vec<Value> = all.into_iter().map(|(_, value)| value).collect();
    format.encode(&values, ROW_BYTES_MAX, &mut row, &mut no_lob).expect("fits");
    let mut state = 1u64;
    let mut roll = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for _ in 0..5000 {
        let mut hostile = row[..roll(row.len() + 1)].to_vec();
        for _ in 0..roll(4) {
            if let Some(at) = (!hostile.is_empty()).then(|| roll(hostile.len())) {
                hostile[at] = roll(256) as u8;
            }
        }
        let _ = format.decode(&hostile, &mut Vec::new(), &mut |_| Ok(Vec::new()));
        let _ = format.lob_pointers(&hostile);
    }
}
