//! TYPE_INFO: how a SQL type is described on the wire, both ways.

use types::{Length, SqlType, Value};

use crate::error::ProtocolError;
use crate::login7::TdsVersion;
use crate::token::DEFAULT_COLLATION;
use crate::wire::Reader;

/// Type numbers of the wire.
pub mod id {
    #![allow(missing_docs)]
    pub const NULL: u8 = 0x1F;
    pub const INT1: u8 = 0x30;
    pub const BIT: u8 = 0x32;
    pub const INT2: u8 = 0x34;
    pub const INT4: u8 = 0x38;
    pub const DATETIM4: u8 = 0x3A;
    pub const FLT4: u8 = 0x3B;
    pub const MONEY: u8 = 0x3C;
    pub const DATETIME: u8 = 0x3D;
    pub const FLT8: u8 = 0x3E;
    pub const MONEY4: u8 = 0x7A;
    pub const INT8: u8 = 0x7F;
    pub const GUID: u8 = 0x24;
    pub const INTN: u8 = 0x26;
    pub const DECIMAL_OLD: u8 = 0x37;
    pub const NUMERIC_OLD: u8 = 0x3F;
    pub const BITN: u8 = 0x68;
    pub const DECIMALN: u8 = 0x6A;
    pub const NUMERICN: u8 = 0x6C;
    pub const FLTN: u8 = 0x6D;
    pub const MONEYN: u8 = 0x6E;
    pub const DATETIMN: u8 = 0x6F;
    pub const DATEN: u8 = 0x28;
    pub const TIMEN: u8 = 0x29;
    pub const DATETIME2N: u8 = 0x2A;
    pub const DATETIMEOFFSETN: u8 = 0x2B;
    pub const CHAR_OLD: u8 = 0x2F;
    pub const VARCHAR_OLD: u8 = 0x27;
    pub const BINARY_OLD: u8 = 0x2D;
    pub const VARBINARY_OLD: u8 = 0x25;
    pub const BIGVARBINARY: u8 = 0xA5;
    pub const BIGVARCHAR: u8 = 0xA7;
    pub const BIGBINARY: u8 = 0xAD;
    pub const BIGCHAR: u8 = 0xAF;
    pub const NVARCHAR: u8 = 0xE7;
    pub const NCHAR: u8 = 0xEF;
    pub const XML: u8 = 0xF1;
    pub const UDT: u8 = 0xF0;
    pub const TEXT: u8 = 0x23;
    pub const IMAGE: u8 = 0x22;
    pub const NTEXT: u8 = 0x63;
    pub const SQL_VARIANT: u8 = 0x62;
    pub const TABLE: u8 = 0xF3;
}

/// Length of PLP types (`varchar(max)` and the like) in TYPE_INFO.
pub const PLP_LENGTH: u32 = 0xFFFF;
/// Longest text, ntext, image in TYPE_INFO.
const LONG_LENGTH: u32 = 0x7FFF_FFFF;
/// Longest sql_variant in TYPE_INFO.
const VARIANT_LENGTH: u32 = 8009;

/// A type as the wire describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeInfo {
    /// Number of the type, from [`id`].
    pub id: u8,
    /// Greatest length of a value in bytes; [`PLP_LENGTH`] for the max types.
    pub length: u32,
    /// Digits of a decimal.
    pub precision: u8,
    /// Digits behind the point, or of the fraction of a second.
    pub scale: u8,
    /// Collation of character types as the wire carries it.
    pub collation: [u8; 5],
}

impl TypeInfo {
    fn new(id: u8, length: u32) -> Self {
        TypeInfo { id, length, precision: 0, scale: 0, collation: DEFAULT_COLLATION }
    }

    /// The form of a column that is never NULL: types that have a number of their own for it are sent without lengths (`INT4` in place of
    /// `INTN` of 4 bytes), as SQL Server sends them; some clients read `SELECT 1` only so.
    pub fn never_null(self) -> TypeInfo {
        let id = match (self.id, self.length) {
            (id::INTN, 1) => id::INT1,
            (id::INTN, 2) => id::INT2,
            (id::INTN, 4) => id::INT4,
            (id::INTN, _) => id::INT8,
            (id::BITN, _) => id::BIT,
            (id::FLTN, 4) => id::FLT4,
            (id::FLTN, _) => id::FLT8,
            (id::MONEYN, 4) => id::MONEY4,
            (id::MONEYN, _) => id::MONEY,
            (id::DATETIMN, 4) => id::DATETIM4,
            (id::DATETIMN, _) => id::DATETIME,
            (other, _) => other,
        };
        TypeInfo { id, ..self }
    }

    /// Is the type sent without a length or a NULL?
    #[inline]
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.id, id::INT1 | id::BIT | id::INT2 | id::INT4 | id::INT8 | id::FLT4 | id::FLT8)
            || matches!(self.id, id::MONEY | id::MONEY4 | id::DATETIME | id::DATETIM4)
    }

    /// The nullable type that corresponds to a fixed one.
    pub(crate) fn with_length(self) -> TypeInfo {
        let id = match self.id {
            id::INT1 | id::INT2 | id::INT4 | id::INT8 => id::INTN,
            id::BIT => id::BITN,
            id::FLT4 | id::FLT8 => id::FLTN,
            id::MONEY | id::MONEY4 => id::MONEYN,
            id::DATETIME | id::DATETIM4 => id::DATETIMN,
            other => other,
        };
        TypeInfo { id, ..self }
    }

    fn scaled(id: u8, scale: u8) -> Self {
        TypeInfo { scale, ..TypeInfo::new(id, 0) }
    }

    fn decimal(id: u8, precision: u8, scale: u8) -> Self {
        TypeInfo { precision, scale, ..TypeInfo::new(id, decimal_bytes(precision)) }
    }

    /// The wire's form of `sql_type` for a client of `version`: always the nullable forms, and for old clients the
    /// older types that SQL Server sends instead (text for varchar(max), nvarchar for date).
    pub fn for_type(sql_type: &SqlType, version: TdsVersion) -> TypeInfo {
        let has_plp = version.is_7_2_or_later();
        let has_dates = version.is_7_3_or_later();
        match sql_type {
            SqlType::Bit => TypeInfo::new(id::BITN, 1),
            SqlType::TinyInt => TypeInfo::new(id::INTN, 1),
            SqlType::SmallInt => TypeInfo::new(id::INTN, 2),
            SqlType::Int => TypeInfo::new(id::INTN, 4),
            SqlType::BigInt => TypeInfo::new(id::INTN, 8),
            SqlType::Decimal { precision, scale } => TypeInfo::decimal(id::DECIMALN, *precision, *scale),
            SqlType::Numeric { precision, scale } => TypeInfo::decimal(id::NUMERICN, *precision, *scale),
            SqlType::Money => TypeInfo::new(id::MONEYN, 8),
            SqlType::SmallMoney => TypeInfo::new(id::MONEYN, 4),
            SqlType::Real => TypeInfo::new(id::FLTN, 4),
            SqlType::Float => TypeInfo::new(id::FLTN, 8),
            SqlType::Char(n) => TypeInfo::new(id::BIGCHAR, u32::from(*n).max(1)),
            SqlType::VarChar(Length::N(n)) => TypeInfo::new(id::BIGVARCHAR, u32::from(*n).max(1)),
            SqlType::VarChar(Length::Max) if has_plp => TypeInfo::new(id::BIGVARCHAR, PLP_LENGTH),
            SqlType::VarChar(Length::Max) | SqlType::Text => TypeInfo::new(id::TEXT, LONG_LENGTH),
            SqlType::NChar(n) => TypeInfo::new(id::NCHAR, u32::from(*n).max(1) * 2),
            SqlType::NVarChar(Length::N(n)) => TypeInfo::new(id::NVARCHAR, u32::from(*n).max(1) * 2),
            SqlType::NVarChar(Length::Max) if has_plp => TypeInfo::new(id::NVARCHAR, PLP_LENGTH),
            SqlType::Xml if has_plp => TypeInfo::new(id::XML, PLP_LENGTH),
            SqlType::NVarChar(Length::Max) | SqlType::NText | SqlType::Xml => {
                TypeInfo::new(id::NTEXT, LONG_LENGTH)
            }
            SqlType::SysName => TypeInfo::new(id::NVARCHAR, 256),
            SqlType::Binary(n) => TypeInfo::new(id::BIGBINARY, u32::from(*n).max(1)),
            SqlType::VarBinary(Length::N(n)) => TypeInfo::new(id::BIGVARBINARY, u32::from(*n).max(1)),
            SqlType::VarBinary(Length::Max) if has_plp => TypeInfo::new(id::BIGVARBINARY, PLP_LENGTH),
            SqlType::VarBinary(Length::Max) | SqlType::Image => TypeInfo::new(id::IMAGE, LONG_LENGTH),
            SqlType::Date if has_dates => TypeInfo::new(id::DATEN, 3),
            SqlType::Time(scale) if has_dates => TypeInfo::scaled(id::TIMEN, *scale),
            SqlType::DateTime2(scale) if has_dates => TypeInfo::scaled(id::DATETIME2N, *scale),
            SqlType::DateTimeOffset(scale) if has_dates => TypeInfo::scaled(id::DATETIMEOFFSETN, *scale),
            SqlType::Date => TypeInfo::new(id::NVARCHAR, 20),
            SqlType::Time(_) => TypeInfo::new(id::NVARCHAR, 32),
            SqlType::DateTime2(_) => TypeInfo::new(id::NVARCHAR, 54),
            SqlType::DateTimeOffset(_) => TypeInfo::new(id::NVARCHAR, 68),
            SqlType::DateTime => TypeInfo::new(id::DATETIMN, 8),
            SqlType::SmallDateTime => TypeInfo::new(id::DATETIMN, 4),
            SqlType::UniqueIdentifier => TypeInfo::new(id::GUID, 16),
            SqlType::SqlVariant => TypeInfo::new(id::SQL_VARIANT, VARIANT_LENGTH),
            SqlType::RowVersion => TypeInfo::new(id::BIGBINARY, 8),
        }
    }

    /// The SQL type that a value of this type has. `None` for the untyped NULL.
    pub fn sql_type(&self) -> Option<SqlType> {
        let decimal = (self.precision, self.scale);
        Some(match (self.id, self.length) {
            (id::BIT | id::BITN, _) => SqlType::Bit,
            (id::INT1, _) | (id::INTN, 1) => SqlType::TinyInt,
            (id::INT2, _) | (id::INTN, 2) => SqlType::SmallInt,
            (id::INT4, _) | (id::INTN, 4) => SqlType::Int,
            (id::INT8 | id::INTN, _) => SqlType::BigInt,
            (id::DECIMALN | id::DECIMAL_OLD, _) => {
                SqlType::Decimal { precision: decimal.0, scale: decimal.1 }
            }
            (id::NUMERICN | id::NUMERIC_OLD, _) => {
                SqlType::Numeric { precision: decimal.0, scale: decimal.1 }
            }
            (id::MONEY4, _) | (id::MONEYN, 4) => SqlType::SmallMoney,
            (id::MONEY | id::MONEYN, _) => SqlType::Money,
            (id::FLT4, _) | (id::FLTN, 4) => SqlType::Real,
            (id::FLT8 | id::FLTN, _) => SqlType::Float,
            (id::DATETIM4, _) | (id::DATETIMN, 4) => SqlType::SmallDateTime,
            (id::DATETIME | id::DATETIMN, _) => SqlType::DateTime,
            (id::DATEN, _) => SqlType::Date,
            (id::TIMEN, _) => SqlType::Time(self.scale),
            (id::DATETIME2N, _) => SqlType::DateTime2(self.scale),
            (id::DATETIMEOFFSETN, _) => SqlType::DateTimeOffset(self.scale),
            (id::GUID, _) => SqlType::UniqueIdentifier,
            (id::BIGCHAR | id::CHAR_OLD, n) => SqlType::Char(clamp(n, 8000)),
            (id::BIGVARCHAR, PLP_LENGTH) => SqlType::VarChar(Length::Max),
            (id::BIGVARCHAR | id::VARCHAR_OLD, n) => SqlType::VarChar(Length::N(clamp(n, 8000))),
            (id::NCHAR, n) => SqlType::NChar(clamp(n / 2, 4000)),
            (id::NVARCHAR, PLP_LENGTH) => SqlType::NVarChar(Length::Max),
            (id::NVARCHAR, n) => SqlType::NVarChar(Length::N(clamp(n / 2, 4000))),
            (id::BIGBINARY | id::BINARY_OLD, n) => SqlType::Binary(clamp(n, 8000)),
            (id::BIGVARBINARY, PLP_LENGTH) => SqlType::VarBinary(Length::Max),
            (id::BIGVARBINARY | id::VARBINARY_OLD, n) => SqlType::VarBinary(Length::N(clamp(n, 8000))),
            (id::TEXT, _) => SqlType::Text,
            (id::NTEXT, _) => SqlType::NText,
            (id::IMAGE, _) => SqlType::Image,
            (id::XML, _) => SqlType::Xml,
            (id::SQL_VARIANT, _) => SqlType::SqlVariant,
            _ => return None,
        })
    }

    /// Like [`sql_type`](Self::sql_type), with the value's own type where the wire has none.
    pub fn sql_type_of(&self, value: &Value) -> SqlType {
        self.sql_type().unwrap_or_else(|| value.natural_type())
    }

    /// True for text, ntext and image: their columns carry a table name, their row values a text pointer.
    pub fn is_long(&self) -> bool {
        matches!(self.id, id::TEXT | id::NTEXT | id::IMAGE)
    }

    /// Reads TYPE_INFO.
    pub fn read(reader: &mut Reader<'_>, version: TdsVersion) -> Result<TypeInfo, ProtocolError> {
        let type_id = reader.u8()?;
        let mut info = TypeInfo { id: type_id, length: 0, precision: 0, scale: 0, collation: [0; 5] };
        match type_id {
            id::NULL => {}
            id::INT1 | id::BIT => info.length = 1,
            id::INT2 => info.length = 2,
            id::INT4 | id::DATETIM4 | id::FLT4 | id::MONEY4 => info.length = 4,
            id::MONEY | id::DATETIME | id::FLT8 | id::INT8 => info.length = 8,
            id::DATEN => info.length = 3,
            id::INTN | id::BITN | id::FLTN | id::MONEYN | id::DATETIMN | id::GUID => {
                info.length = reader.u8()?.into();
                info.check_fixed_length()?;
            }
            id::DECIMALN | id::NUMERICN | id::DECIMAL_OLD | id::NUMERIC_OLD => {
                info.length = reader.u8()?.into();
                (info.precision, info.scale) = read_precision(reader)?;
            }
            id::TIMEN | id::DATETIME2N | id::DATETIMEOFFSETN => info.scale = read_time_scale(reader)?,
            id::CHAR_OLD | id::VARCHAR_OLD | id::BINARY_OLD | id::VARBINARY_OLD => {
                info.length = reader.u8()?.into()
            }
            id::BIGVARBINARY | id::BIGBINARY => info.length = reader.u16()?.into(),
            id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR => {
                info.length = reader.u16()?.into();
                info.collation = reader.array()?;
            }
            id::TEXT | id::NTEXT => {
                info.length = reader.u32()?;
                info.collation = reader.array()?;
            }
            id::IMAGE | id::SQL_VARIANT => info.length = reader.u32()?,
            id::XML => {
                info.length = PLP_LENGTH;
                read_xml_schema(reader)?;
            }
            id::UDT => return Err(ProtocolError::Unsupported { what: "a user-defined CLR type".into() }),
            id::TABLE => return Err(ProtocolError::Unsupported { what: "a table inside a value".into() }),
            _ => return Err(ProtocolError::invalid("data type", type_id)),
        }
        info.check_version(version)
    }

    /// The lengths that types of fixed sizes may declare.
    fn check_fixed_length(&self) -> Result<(), ProtocolError> {
        let allowed: &[u32] = match self.id {
            id::INTN => &[1, 2, 4, 8],
            id::BITN => &[1],
            // Clients send a NULL without a length, too.
            id::GUID => &[0, 16],
            _ => &[4, 8],
        };
        if !allowed.contains(&self.length) {
            return Err(ProtocolError::invalid("length of a fixed-size type", self.length));
        }
        Ok(())
    }

    /// PLP exists from 7.2 on.
    fn check_version(self, version: TdsVersion) -> Result<TypeInfo, ProtocolError> {
        if self.is_plp() && !version.is_7_2_or_later() {
            return Err(ProtocolError::invalid("data type for this TDS version", self.id));
        }
        Ok(self)
    }

    /// True for the max types and xml, whose values come in chunks.
    pub fn is_plp(&self) -> bool {
        match self.id {
            id::XML => true,
            id::BIGVARCHAR | id::NVARCHAR | id::BIGVARBINARY => self.length == PLP_LENGTH,
            _ => false,
        }
    }

    /// Writes TYPE_INFO.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(self.id);
        match self.id {
            id::INTN | id::BITN | id::FLTN | id::MONEYN | id::DATETIMN | id::GUID => {
                out.push(self.length as u8)
            }
            id::DECIMALN | id::NUMERICN => {
                out.extend_from_slice(&[self.length as u8, self.precision, self.scale])
            }
            id::TIMEN | id::DATETIME2N | id::DATETIMEOFFSETN => out.push(self.scale),
            id::BIGVARBINARY | id::BIGBINARY => out.extend_from_slice(&(self.length as u16).to_le_bytes()),
            id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR => {
                out.extend_from_slice(&(self.length as u16).to_le_bytes());
                out.extend_from_slice(&self.collation);
            }
            id::TEXT | id::NTEXT => {
                out.extend_from_slice(&self.length.to_le_bytes());
                out.extend_from_slice(&self.collation);
            }
            id::IMAGE | id::SQL_VARIANT => out.extend_from_slice(&self.length.to_le_bytes()),
            id::XML => out.push(0),
            _ => {}
        }
    }
}

/// Bytes of a decimal value with this precision: sign and 4, 8, 12 or 16 bytes.
pub fn decimal_bytes(precision: u8) -> u32 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Reads precision (1 to 38) and scale (0 to precision).
pub(crate) fn read_precision(reader: &mut Reader<'_>) -> Result<(u8, u8), ProtocolError> {
    let (precision, scale) = (reader.u8()?, reader.u8()?);
    if precision == 0 || precision > 38 || scale > precision {
        return Err(ProtocolError::invalid(
            "decimal precision and scale",
            u16::from_be_bytes([precision, scale]),
        ));
    }
    Ok((precision, scale))
}

/// Reads the scale of a time type, 0 to 7.
pub(crate) fn read_time_scale(reader: &mut Reader<'_>) -> Result<u8, ProtocolError> {
    match reader.u8()? {
        scale @ 0..=7 => Ok(scale),
        scale => Err(ProtocolError::invalid("scale of a time type", scale)),
    }
}

/// Passes over XML_INFO: an optional schema collection in three parts.
fn read_xml_schema(reader: &mut Reader<'_>) -> Result<(), ProtocolError> {
    if reader.u8()? != 0 {
        reader.b_varchar()?;
        reader.b_varchar()?;
        reader.us_varchar()?;
    }
    Ok(())
}

fn clamp(length: u32, max: u32) -> u16 {
    length.clamp(1, max) as u16
}
