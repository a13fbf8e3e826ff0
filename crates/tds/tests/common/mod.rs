//! A seeded generator of types and values for the property tests of the wire codec.

use types::{
    Date, DateTime, DateTime2, DateTimeOffset, Decimal, Length, SmallDateTime, SqlType, Time, Value, Variant,
};

/// SplitMix64: deterministic, so a failing case is named by its seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Every type, its lengths and scales at both ends of their ranges.
pub fn all_types() -> Vec<SqlType> {
    let mut types = vec![
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Real,
        SqlType::Float,
        SqlType::Char(1),
        SqlType::Char(8000),
        SqlType::VarChar(Length::N(1)),
        SqlType::VarChar(Length::N(8000)),
        SqlType::VarChar(Length::Max),
        SqlType::NChar(1),
        SqlType::NChar(4000),
        SqlType::NVarChar(Length::N(1)),
        SqlType::NVarChar(Length::N(4000)),
        SqlType::NVarChar(Length::Max),
        SqlType::Binary(1),
        SqlType::Binary(8000),
        SqlType::VarBinary(Length::N(8000)),
        SqlType::VarBinary(Length::Max),
        SqlType::Date,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::UniqueIdentifier,
        SqlType::Text,
        SqlType::NText,
        SqlType::Image,
        SqlType::Xml,
        SqlType::SqlVariant,
    ];
    for (precision, scale) in
        [(1, 0), (9, 9), (10, 3), (19, 0), (20, 20), (28, 1), (29, 4), (38, 0), (38, 38)]
    {
        types.push(SqlType::Decimal { precision, scale });
        types.push(SqlType::Numeric { precision, scale });
    }
    for scale in 0..=7 {
        types.extend([SqlType::Time(scale), SqlType::DateTime2(scale), SqlType::DateTimeOffset(scale)]);
    }
    types
}

fn text_value(random: &mut Random, max: usize) -> Value {
    let count = random.below(max as u64 + 1) as usize;
    Value::NChar((0..count).map(|_| random.below(0xD800) as u16).collect::<Vec<u16>>().into())
}

fn ticks(random: &mut Random, scale: u8) -> u64 {
    let unit = 10u64.pow(7 - u32::from(scale));
    random.below(864_000_000_000 / unit) * unit
}

fn datetime2(random: &mut Random, scale: u8) -> DateTime2 {
    DateTime2 { ticks: (random.below(3_652_059) * 864_000_000_000 + ticks(random, scale)) as i64 }
}

/// A value of `sql_type` that its wire form can carry; NULL one time in eight.
pub fn value_of(random: &mut Random, sql_type: &SqlType) -> Value {
    if random.below(8) == 0 {
        return Value::Null;
    }
    let bits = random.next();
    match *sql_type {
        SqlType::Bit => Value::Bit(bits & 1 == 1),
        SqlType::TinyInt => Value::TinyInt(bits as u8),
        SqlType::SmallInt => Value::SmallInt(bits as i16),
        SqlType::Int => Value::Int(bits as i32),
        SqlType::BigInt => Value::BigInt(bits as i64),
        SqlType::Money => Value::Money(bits as i64),
        SqlType::SmallMoney => Value::Money((bits as i32).into()),
        SqlType::Real => Value::Real(bits as i32 as f32 / 7.0),
        SqlType::Float => Value::Float(bits as i64 as f64 / 7.0),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let limit = 10i128.pow(precision.into());
            let wide = i128::from(bits) << 64 | i128::from(random.next());
            Value::Decimal(Decimal::new(wide % limit, precision, scale))
        }
        SqlType::Char(n) | SqlType::VarChar(Length::N(n)) => {
            let count = random.below(u64::from(n) + 1) as usize;
            Value::Char(random.bytes(count).into())
        }
        SqlType::VarChar(Length::Max) | SqlType::Text => {
            Value::Char(random.bytes((bits % 20_000) as usize).into())
        }
        SqlType::NChar(n) | SqlType::NVarChar(Length::N(n)) => text_value(random, n.into()),
        SqlType::NVarChar(Length::Max) | SqlType::NText | SqlType::Xml => text_value(random, 10_000),
        SqlType::SysName => text_value(random, 128),
        SqlType::Binary(n) | SqlType::VarBinary(Length::N(n)) => {
            let count = random.below(u64::from(n) + 1) as usize;
            Value::Binary(random.bytes(count).into())
        }
        SqlType::VarBinary(Length::Max) | SqlType::Image => {
            Value::Binary(random.bytes((bits % 20_000) as usize).into())
        }
        SqlType::RowVersion => Value::Binary(random.bytes(8).into()),
        SqlType::Date => Value::Date(Date { days: random.below(3_652_059) as i32 }),
        SqlType::Time(scale) => Value::Time(Time { ticks: ticks(random, scale) }),
        SqlType::DateTime2(scale) => Value::DateTime2(datetime2(random, scale)),
        SqlType::DateTimeOffset(scale) => Value::DateTimeOffset(DateTimeOffset {
            utc: datetime2(random, scale),
            offset_minutes: random.below(1681) as i16 - 840,
        }),
        SqlType::DateTime => Value::DateTime(DateTime {
            days: random.below(2_958_463 + 53_690) as i32 - 53_690,
            ticks: random.below(25_920_000) as u32,
        }),
        SqlType::SmallDateTime => {
            Value::SmallDateTime(SmallDateTime { days: bits as u16, minutes: random.below(1440) as u16 })
        }
        SqlType::UniqueIdentifier => {
            let mut guid = [0; 16];
            guid.copy_from_slice(&random.bytes(16));
            Value::Guid(guid)
        }
        SqlType::SqlVariant => variant(random),
    }
}

fn variant(random: &mut Random) -> Value {
    let bases: Vec<SqlType> = all_types()
        .into_iter()
        .filter(|base| {
            let info =
                hardpan_tds::type_info::TypeInfo::for_type(base, hardpan_tds::login7::TdsVersion::V7_4);
            !info.is_long() && !info.is_plp() && *base != SqlType::SqlVariant
        })
        .collect();
    loop {
        let sql_type = bases[random.below(bases.len() as u64) as usize];
        let value = value_of(random, &sql_type);
        if !value.is_null() {
            return Value::Variant(std::sync::Arc::new(Variant { sql_type, value }));
        }
    }
}
