//! [`SqlType`]: the name of a type with its length, precision and scale; its numbers in the catalogue and its precedence.

use std::fmt;

/// The declared length of a variable-length type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// At most this many bytes (varchar, varbinary: 1..=8000) or UTF-16 units (nvarchar: 1..=4000).
    N(u16),
    /// `(max)`: up to 2^31-1 bytes.
    Max,
}

impl Length {
    /// The length that holds `len` (never 0), or `Max` when it is above `limit` (8000 or 4000).
    pub fn of(len: usize, limit: usize) -> Length {
        if len > limit { Length::Max } else { Length::N(len.max(1) as u16) }
    }

    /// The number of bytes or units, `None` for `max`.
    pub fn limit(self) -> Option<usize> {
        match self {
            Length::N(n) => Some(usize::from(n)),
            Length::Max => None,
        }
    }
}

/// A SQL Server data type. Collation and nullability belong to the column or expression, not to the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// bit
    Bit,
    /// tinyint
    TinyInt,
    /// smallint
    SmallInt,
    /// int
    Int,
    /// bigint
    BigInt,
    /// decimal(p, s): 1..=38 digits
    Decimal {
        /// All digits, 1..=38.
        precision: u8,
        /// Digits after the point, 0..=precision.
        scale: u8,
    },
    /// numeric(p, s): decimal under its other name
    Numeric {
        /// All digits, 1..=38.
        precision: u8,
        /// Digits after the point, 0..=precision.
        scale: u8,
    },
    /// money
    Money,
    /// smallmoney
    SmallMoney,
    /// real, float(1..=24)
    Real,
    /// float, float(25..=53)
    Float,
    /// char(n): 1..=8000 bytes
    Char(u16),
    /// varchar(n | max)
    VarChar(Length),
    /// nchar(n): 1..=4000 units
    NChar(u16),
    /// nvarchar(n | max)
    NVarChar(Length),
    /// binary(n): 1..=8000 bytes
    Binary(u16),
    /// varbinary(n | max)
    VarBinary(Length),
    /// date
    Date,
    /// time(0..=7)
    Time(u8),
    /// datetime
    DateTime,
    /// smalldatetime
    SmallDateTime,
    /// datetime2(0..=7)
    DateTime2(u8),
    /// datetimeoffset(0..=7)
    DateTimeOffset(u8),
    /// uniqueidentifier
    UniqueIdentifier,
    /// sysname: nvarchar(128), NOT NULL unless said otherwise
    SysName,
    /// text (deprecated)
    Text,
    /// ntext (deprecated)
    NText,
    /// image (deprecated)
    Image,
    /// sql_variant
    SqlVariant,
    /// xml
    Xml,
    /// rowversion, timestamp: binary(8)
    RowVersion,
}

/// The family of a type: the unit of conversion and operator rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeFamily {
    /// bit, tinyint, smallint, int, bigint
    Integer,
    /// decimal, numeric
    Decimal,
    /// money, smallmoney
    Money,
    /// real, float
    Approximate,
    /// char, varchar, text
    Char,
    /// nchar, nvarchar, sysname, ntext
    NChar,
    /// binary, varbinary, image, rowversion
    Binary,
    /// date, time, datetime, smalldatetime, datetime2, datetimeoffset
    DateTime,
    /// uniqueidentifier
    Guid,
    /// sql_variant
    Variant,
    /// xml
    Xml,
}

impl SqlType {
    /// varchar(max)
    pub const VARCHAR_MAX: SqlType = SqlType::VarChar(Length::Max);
    /// nvarchar(max)
    pub const NVARCHAR_MAX: SqlType = SqlType::NVarChar(Length::Max);
    /// varbinary(max)
    pub const VARBINARY_MAX: SqlType = SqlType::VarBinary(Length::Max);

    /// varchar(n), 1..=8000
    pub const fn varchar(n: u16) -> SqlType {
        SqlType::VarChar(Length::N(n))
    }

    /// nvarchar(n), 1..=4000
    pub const fn nvarchar(n: u16) -> SqlType {
        SqlType::NVarChar(Length::N(n))
    }

    /// varbinary(n), 1..=8000
    pub const fn varbinary(n: u16) -> SqlType {
        SqlType::VarBinary(Length::N(n))
    }

    /// decimal(p, s)
    pub const fn decimal(precision: u8, scale: u8) -> SqlType {
        SqlType::Decimal { precision, scale }
    }

    /// The name without arguments, as in `sys.types.name`.
    pub fn name(&self) -> &'static str {
        match self {
            SqlType::Bit => "bit",
            SqlType::TinyInt => "tinyint",
            SqlType::SmallInt => "smallint",
            SqlType::Int => "int",
            SqlType::BigInt => "bigint",
            SqlType::Decimal { .. } => "decimal",
            SqlType::Numeric { .. } => "numeric",
            SqlType::Money => "money",
            SqlType::SmallMoney => "smallmoney",
            SqlType::Real => "real",
            SqlType::Float => "float",
            SqlType::Char(_) => "char",
            SqlType::VarChar(_) => "varchar",
            SqlType::NChar(_) => "nchar",
            SqlType::NVarChar(_) => "nvarchar",
            SqlType::Binary(_) => "binary",
            SqlType::VarBinary(_) => "varbinary",
            SqlType::Date => "date",
            SqlType::Time(_) => "time",
            SqlType::DateTime => "datetime",
            SqlType::SmallDateTime => "smalldatetime",
            SqlType::DateTime2(_) => "datetime2",
            SqlType::DateTimeOffset(_) => "datetimeoffset",
            SqlType::UniqueIdentifier => "uniqueidentifier",
            SqlType::SysName => "sysname",
            SqlType::Text => "text",
            SqlType::NText => "ntext",
            SqlType::Image => "image",
            SqlType::SqlVariant => "sql_variant",
            SqlType::Xml => "xml",
            SqlType::RowVersion => "timestamp",
        }
    }

    /// `sys.types.system_type_id`.
    pub fn system_type_id(&self) -> u8 {
        match self {
            SqlType::Image => 34,
            SqlType::Text => 35,
            SqlType::UniqueIdentifier => 36,
            SqlType::Date => 40,
            SqlType::Time(_) => 41,
            SqlType::DateTime2(_) => 42,
            SqlType::DateTimeOffset(_) => 43,
            SqlType::TinyInt => 48,
            SqlType::SmallInt => 52,
            SqlType::Int => 56,
            SqlType::SmallDateTime => 58,
            SqlType::Real => 59,
            SqlType::Money => 60,
            SqlType::DateTime => 61,
            SqlType::Float => 62,
            SqlType::SqlVariant => 98,
            SqlType::NText => 99,
            SqlType::Bit => 104,
            SqlType::Decimal { .. } => 106,
            SqlType::Numeric { .. } => 108,
            SqlType::SmallMoney => 122,
            SqlType::BigInt => 127,
            SqlType::VarBinary(_) => 165,
            SqlType::VarChar(_) => 167,
            SqlType::Binary(_) => 173,
            SqlType::Char(_) => 175,
            SqlType::RowVersion => 189,
            SqlType::NVarChar(_) | SqlType::SysName => 231,
            SqlType::NChar(_) => 239,
            SqlType::Xml => 241,
        }
    }

    /// `sys.types.user_type_id`: the system type's number, 256 for sysname.
    pub fn user_type_id(&self) -> i32 {
        if *self == SqlType::SysName { 256 } else { i32::from(self.system_type_id()) }
    }

    /// `sys.columns.max_length`: bytes at most, -1 for the max types and xml, 16 for text, ntext and image.
    pub fn max_length(&self) -> i16 {
        match *self {
            SqlType::Bit | SqlType::TinyInt => 1,
            SqlType::SmallInt => 2,
            SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => 4,
            SqlType::BigInt | SqlType::Money | SqlType::Float | SqlType::DateTime | SqlType::RowVersion => 8,
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => match precision {
                ..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            SqlType::Char(n) | SqlType::Binary(n) => n as i16,
            SqlType::NChar(n) => 2 * n as i16,
            SqlType::VarChar(length) | SqlType::VarBinary(length) => length.limit().map_or(-1, |n| n as i16),
            SqlType::NVarChar(length) => length.limit().map_or(-1, |n| 2 * n as i16),
            SqlType::SysName => 256,
            SqlType::Date => 3,
            SqlType::Time(scale) => time_bytes(scale),
            SqlType::DateTime2(scale) => 3 + time_bytes(scale),
            SqlType::DateTimeOffset(scale) => 5 + time_bytes(scale),
            SqlType::UniqueIdentifier | SqlType::Text | SqlType::NText | SqlType::Image => 16,
            SqlType::SqlVariant => 8016,
            SqlType::Xml => -1,
        }
    }

    /// `sys.columns.precision`: digits of a number, characters of a date or time, 0 for others.
    pub fn precision(&self) -> u8 {
        let with_fraction = |whole: u8, scale: u8| if scale == 0 { whole } else { whole + 1 + scale };
        match *self {
            SqlType::Bit => 1,
            SqlType::TinyInt => 3,
            SqlType::SmallInt => 5,
            SqlType::Int | SqlType::SmallMoney | SqlType::Date => 10,
            SqlType::BigInt | SqlType::Money => 19,
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => precision,
            SqlType::Real => 24,
            SqlType::Float => 53,
            SqlType::SmallDateTime => 16,
            SqlType::DateTime => 23,
            SqlType::Time(scale) => with_fraction(8, scale),
            SqlType::DateTime2(scale) => with_fraction(19, scale),
            SqlType::DateTimeOffset(scale) => with_fraction(26, scale),
            _ => 0,
        }
    }

    /// `sys.columns.scale`: digits after the point.
    pub fn scale(&self) -> u8 {
        match *self {
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => scale,
            SqlType::Money | SqlType::SmallMoney => 4,
            SqlType::DateTime => 3,
            SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => scale,
            _ => 0,
        }
    }

    /// Rank in SQL Server's data type precedence: the higher wins in mixed expressions (documented order, sql_variant 30 down to
    /// binary 1).
    pub fn precedence(&self) -> u8 {
        match self {
            SqlType::SqlVariant => 30,
            SqlType::Xml => 29,
            SqlType::DateTimeOffset(_) => 28,
            SqlType::DateTime2(_) => 27,
            SqlType::DateTime => 26,
            SqlType::SmallDateTime => 25,
            SqlType::Date => 24,
            SqlType::Time(_) => 23,
            SqlType::Float => 22,
            SqlType::Real => 21,
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => 20,
            SqlType::Money => 19,
            SqlType::SmallMoney => 18,
            SqlType::BigInt => 17,
            SqlType::Int => 16,
            SqlType::SmallInt => 15,
            SqlType::TinyInt => 14,
            SqlType::Bit => 13,
            SqlType::NText => 12,
            SqlType::Text => 11,
            SqlType::Image => 10,
            SqlType::RowVersion => 9,
            SqlType::UniqueIdentifier => 8,
            SqlType::NVarChar(_) | SqlType::SysName => 7,
            SqlType::NChar(_) => 6,
            SqlType::VarChar(_) => 5,
            SqlType::Char(_) => 4,
            SqlType::VarBinary(_) => 3,
            SqlType::Binary(_) => 1,
        }
    }

    /// The family whose rules the type follows.
    pub fn family(&self) -> TypeFamily {
        match self {
            SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
                TypeFamily::Integer
            }
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => TypeFamily::Decimal,
            SqlType::Money | SqlType::SmallMoney => TypeFamily::Money,
            SqlType::Real | SqlType::Float => TypeFamily::Approximate,
            SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Text => TypeFamily::Char,
            SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::SysName | SqlType::NText => TypeFamily::NChar,
            SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image | SqlType::RowVersion => {
                TypeFamily::Binary
            }
            SqlType::Date
            | SqlType::Time(_)
            | SqlType::DateTime
            | SqlType::SmallDateTime
            | SqlType::DateTime2(_)
            | SqlType::DateTimeOffset(_) => TypeFamily::DateTime,
            SqlType::UniqueIdentifier => TypeFamily::Guid,
            SqlType::SqlVariant => TypeFamily::Variant,
            SqlType::Xml => TypeFamily::Xml,
        }
    }

    /// Is it a character type (the types that have a collation)?
    pub fn is_character(&self) -> bool {
        matches!(self.family(), TypeFamily::Char | TypeFamily::NChar)
    }

    /// Is it an exact or approximate number, bit and money included?
    pub fn is_numeric(&self) -> bool {
        use TypeFamily::*;
        matches!(self.family(), Integer | Decimal | Money | Approximate)
    }

    /// Is the value kept out of row when long: the max types, text, ntext, image, xml?
    pub fn is_large_object(&self) -> bool {
        matches!(self, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml)
            || matches!(
                self,
                SqlType::VarChar(Length::Max)
                    | SqlType::NVarChar(Length::Max)
                    | SqlType::VarBinary(Length::Max)
            )
    }

    /// The type as its own for nullability and length purposes: sysname becomes nvarchar(128), every other stays.
    pub fn base(&self) -> SqlType {
        if *self == SqlType::SysName { SqlType::nvarchar(128) } else { *self }
    }
}

fn time_bytes(scale: u8) -> i16 {
    match scale {
        ..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// The type as declared: `decimal(10, 2)`, `varchar(max)`, `time(7)`.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                write!(f, "({precision},{scale})")
            }
            SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => write!(f, "({n})"),
            SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => match length
            {
                Length::N(n) => write!(f, "({n})"),
                Length::Max => f.write_str("(max)"),
            },
            SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => {
                write!(f, "({scale})")
            }
            _ => Ok(()),
        }
    }
}
