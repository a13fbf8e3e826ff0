//! Values on the wire: every type's data, both ways, in rows and as parameters.

use types::{ByteStr, ConvertContext, DEFAULT_STYLE, Decimal, SqlType, Value, WideStr, convert};

use crate::error::ProtocolError;
use crate::packet::MessageWriter;
use crate::temporal;
use crate::type_info::{TypeInfo, decimal_bytes, id, read_precision, read_time_scale};
use crate::wire::Reader;

/// NULL of the types with 16-bit lengths.
const NULL_16: u16 = 0xFFFF;
/// NULL of text, ntext and image as parameters.
const NULL_32: u32 = 0xFFFF_FFFF;
/// NULL and unknown total length of PLP values.
const PLP_NULL: u64 = 0xFFFF_FFFF_FFFF_FFFF;
/// Bytes of a chunk of a large value that is sent.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
/// A text pointer and timestamp: their contents mean nothing to a client, but they must be present.
const TEXT_POINTER: [u8; 25] = *b"\x10hardpan text ptr\0\0\0\0\0\0\0\0";

impl TypeInfo {
    /// Writes a column's value in a row. False, with nothing written, for a NULL in a column whose description says that it has none.
    #[inline]
    pub fn put_row_value(&self, out: &mut Vec<u8>, value: &Value) -> bool {
        match (self.id, value) {
            (id::INT4, Value::Int(int)) => out.extend_from_slice(&int.to_le_bytes()),
            (id::INTN, Value::Int(int)) if self.length == 4 => {
                let [a, b, c, d] = int.to_le_bytes();
                out.extend_from_slice(&[4, a, b, c, d]);
            }
            _ if self.is_fixed() => return self.put_fixed(out, value),
            _ if !self.is_long() => self.put_value(out, value),
            (_, Value::Null) => out.push(0),
            _ => {
                out.extend_from_slice(&TEXT_POINTER);
                self.put_value(out, value);
            }
        }
        true
    }

    /// Writes a large value of a max type in chunks, and lets `send` take what is written behind each; false (and nothing written) when it is not
    /// large, or of another type.
    pub(crate) fn put_in_chunks(
        &self,
        writer: &mut MessageWriter,
        value: &Value,
        send: &mut dyn FnMut(&mut MessageWriter),
    ) -> bool {
        let (bytes, units): (&[u8], &[u16]) = match (self.id, value) {
            (id::BIGVARCHAR, Value::Char(bytes)) | (id::BIGVARBINARY, Value::Binary(bytes)) => (bytes, &[]),
            (id::NVARCHAR | id::XML, Value::NChar(units)) => (&[], units),
            _ => return false,
        };
        let total = bytes.len() + units.len() * 2;
        if !self.is_plp() || total <= CHUNK_BYTES {
            return false;
        }
        writer.payload.extend_from_slice(&(total as u64).to_le_bytes());
        for chunk in bytes.chunks(CHUNK_BYTES) {
            writer.payload.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
            writer.payload.extend_from_slice(chunk);
            send(writer);
        }
        for chunk in units.chunks(CHUNK_BYTES / 2) {
            writer.payload.extend_from_slice(&(chunk.len() as u32 * 2).to_le_bytes());
            chunk.iter().for_each(|unit| writer.payload.extend_from_slice(&unit.to_le_bytes()));
            send(writer);
        }
        self.put_end(&mut writer.payload);
        true
    }

    /// The value in the form of the nullable type, without its length.
    fn put_fixed(&self, out: &mut Vec<u8>, value: &Value) -> bool {
        let at = out.len();
        self.with_length().put_value(out, value);
        let length = out[at];
        out.remove(at);
        u32::from(length) == self.length
    }

    /// Writes a value as a parameter or return value. A value of another type than the declared one is converted,
    /// and sent as NULL if that fails (it never should: the executor produces what it declares).
    pub fn put_value(&self, out: &mut Vec<u8>, value: &Value) {
        if value.is_null() {
            return self.put_null(out);
        }
        if self.put_matching(out, value) {
            return;
        }
        let declared = self.sql_type_of(value);
        let converted =
            convert(value, &value.natural_type(), &declared, DEFAULT_STYLE, &ConvertContext::default());
        let written =
            converted.is_ok_and(|converted| !converted.is_null() && self.put_matching(out, &converted));
        debug_assert!(written, "{value:?} cannot be sent as {declared:?}");
        if !written {
            self.put_null(out);
        }
    }

    fn put_null(&self, out: &mut Vec<u8>) {
        match self.id {
            _ if self.is_plp() => out.extend_from_slice(&PLP_NULL.to_le_bytes()),
            id::BIGVARBINARY | id::BIGBINARY | id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR => {
                out.extend_from_slice(&NULL_16.to_le_bytes());
            }
            id::TEXT | id::NTEXT | id::IMAGE => out.extend_from_slice(&NULL_32.to_le_bytes()),
            id::SQL_VARIANT => out.extend_from_slice(&[0; 4]),
            id::NULL => {}
            _ => out.push(0),
        }
    }

    /// Writes a value of the declared kind; false (and nothing written) when it is of another kind.
    fn put_matching(&self, out: &mut Vec<u8>, value: &Value) -> bool {
        match (self.id, value) {
            (id::INTN, _) => return self.put_integer(out, value),
            (id::BITN, Value::Bit(bit)) => out.extend_from_slice(&[1, u8::from(*bit)]),
            (id::DECIMALN | id::NUMERICN, Value::Decimal(decimal)) => return self.put_decimal(out, decimal),
            (id::FLTN, Value::Real(real)) if self.length == 4 => put_short(out, &real.to_le_bytes()),
            (id::FLTN, Value::Float(float)) if self.length == 8 => put_short(out, &float.to_le_bytes()),
            (id::MONEYN, Value::Money(money)) => return self.put_money(out, *money),
            (id::DATETIMN, Value::DateTime(datetime)) if self.length == 8 => {
                put_short(out, &temporal::datetime_bytes(*datetime));
            }
            (id::DATETIMN, Value::SmallDateTime(datetime)) if self.length == 4 => {
                put_short(out, &temporal::smalldatetime_bytes(*datetime));
            }
            (id::DATEN, Value::Date(date)) => put_short(out, &temporal::date_bytes(*date)),
            (id::TIMEN, Value::Time(time)) => {
                out.push(temporal::time_bytes(self.scale));
                temporal::put_time(out, *time, self.scale);
            }
            (id::DATETIME2N, Value::DateTime2(datetime)) => {
                out.push(temporal::time_bytes(self.scale) + 3);
                temporal::put_datetime2(out, *datetime, self.scale);
            }
            (id::DATETIMEOFFSETN, Value::DateTimeOffset(datetime)) => {
                out.push(temporal::time_bytes(self.scale) + 5);
                temporal::put_datetimeoffset(out, *datetime, self.scale);
            }
            (id::GUID, Value::Guid(guid)) => put_short(out, guid),
            (id::BIGCHAR | id::BIGVARCHAR | id::TEXT, Value::Char(text)) => self.put_bytes(out, text),
            (id::BIGBINARY | id::BIGVARBINARY | id::IMAGE, Value::Binary(bytes)) => {
                self.put_bytes(out, bytes)
            }
            (id::NCHAR | id::NVARCHAR | id::NTEXT | id::XML, Value::NChar(text)) => self.put_wide(out, text),
            (id::SQL_VARIANT, Value::Variant(variant)) => put_variant(out, &variant.sql_type, &variant.value),
            (id::SQL_VARIANT, value) => put_variant(out, &value.natural_type(), value),
            _ => return false,
        }
        true
    }

    /// Any integer that fits the declared width.
    fn put_integer(&self, out: &mut Vec<u8>, value: &Value) -> bool {
        let Some(number) = value.as_i64() else {
            return false;
        };
        let fits = match self.length {
            1 => u8::try_from(number).is_ok(),
            2 => i16::try_from(number).is_ok(),
            4 => i32::try_from(number).is_ok(),
            _ => true,
        };
        if fits {
            put_short(out, &number.to_le_bytes()[..self.length as usize]);
        }
        fits
    }

    fn put_decimal(&self, out: &mut Vec<u8>, decimal: &Decimal) -> bool {
        if decimal.scale() != self.scale {
            return false;
        }
        let magnitude = decimal.mantissa().unsigned_abs();
        let bytes = self.length as usize - 1;
        if bytes < 16 && magnitude >> (bytes * 8) != 0 {
            return false;
        }
        out.extend_from_slice(&[self.length as u8, u8::from(decimal.mantissa() >= 0)]);
        out.extend_from_slice(&magnitude.to_le_bytes()[..bytes]);
        true
    }

    fn put_money(&self, out: &mut Vec<u8>, money: i64) -> bool {
        if self.length == 4 {
            let Ok(small) = i32::try_from(money) else {
                return false;
            };
            put_short(out, &small.to_le_bytes());
            return true;
        }
        put_short(out, &money_bytes(money));
        true
    }

    fn put_bytes(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        self.put_length(out, bytes.len());
        out.extend_from_slice(bytes);
        self.put_end(out);
    }

    fn put_wide(&self, out: &mut Vec<u8>, text: &WideStr) {
        self.put_length(out, text.len() * 2);
        text.write_le_bytes(out);
        self.put_end(out);
    }

    /// The length before string data of `bytes` bytes: 16 bits, 32 bits, or a PLP total with one chunk.
    fn put_length(&self, out: &mut Vec<u8>, bytes: usize) {
        if self.is_plp() {
            out.extend_from_slice(&(bytes as u64).to_le_bytes());
            if bytes > 0 {
                out.extend_from_slice(&(bytes as u32).to_le_bytes());
            }
        } else if self.is_long() {
            out.extend_from_slice(&(bytes as u32).to_le_bytes());
        } else {
            debug_assert!(bytes <= usize::from(NULL_16 - 1));
            out.extend_from_slice(&(bytes as u16).to_le_bytes());
        }
    }

    fn put_end(&self, out: &mut Vec<u8>) {
        if self.is_plp() {
            out.extend_from_slice(&[0; 4]);
        }
    }

    /// Reads a column's value in a row.
    pub fn read_row_value(&self, reader: &mut Reader<'_>) -> Result<Value, ProtocolError> {
        if self.is_long() {
            let pointer = reader.u8()?;
            if pointer == 0 {
                return Ok(Value::Null);
            }
            reader.take(usize::from(pointer) + 8)?;
        }
        self.read_value(reader)
    }

    /// Reads a value as a parameter or return value.
    pub fn read_value(&self, reader: &mut Reader<'_>) -> Result<Value, ProtocolError> {
        match self.id {
            id::NULL => Ok(Value::Null),
            id::INT1 | id::BIT | id::INT2 | id::INT4 | id::INT8 => {
                self.read_body(reader, self.length as usize)
            }
            id::FLT4 | id::FLT8 | id::MONEY | id::MONEY4 | id::DATETIME | id::DATETIM4 => {
                self.read_body(reader, self.length as usize)
            }
            id::BIGVARBINARY | id::BIGBINARY | id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR
                if !self.is_plp() =>
            {
                match reader.u16()? {
                    NULL_16 => Ok(Value::Null),
                    length => self.read_body(reader, length.into()),
                }
            }
            _ if self.is_plp() => match reader.u64()? {
                PLP_NULL => Ok(Value::Null),
                _ => self.joined_value(Plp::read(reader)?),
            },
            id::TEXT | id::NTEXT | id::IMAGE => match reader.u32()? {
                NULL_32 => Ok(Value::Null),
                length => self.read_body(reader, length as usize),
            },
            id::SQL_VARIANT => read_variant(reader),
            id::CHAR_OLD | id::VARCHAR_OLD | id::BINARY_OLD | id::VARBINARY_OLD => {
                let length = reader.u8()?.into();
                if length == 0 { Ok(Value::Null) } else { self.read_body(reader, length) }
            }
            _ => match reader.u8()? {
                0 => Ok(Value::Null),
                length => self.read_body(reader, length.into()),
            },
        }
    }

    /// Reads `length` bytes of data that are not NULL.
    fn read_body(&self, reader: &mut Reader<'_>, length: usize) -> Result<Value, ProtocolError> {
        let bytes = reader.take(length)?;
        let invalid = || ProtocolError::invalid("length of a value", length as u64);
        match self.id {
            id::INT1 | id::INT2 | id::INT4 | id::INT8 | id::INTN => {
                integer(bytes, self.length).ok_or_else(invalid)
            }
            id::BIT | id::BITN if length == 1 => Ok(Value::Bit(bytes[0] != 0)),
            id::FLT4 | id::FLT8 | id::FLTN => match (self.length, length) {
                (4, 4) => Ok(Value::Real(f32::from_le_bytes(array(bytes)))),
                (8, 8) => Ok(Value::Float(f64::from_le_bytes(array(bytes)))),
                _ => Err(invalid()),
            },
            id::MONEY | id::MONEY4 | id::MONEYN => match length {
                4 => Ok(Value::Money(i32::from_le_bytes(array(bytes)).into())),
                8 => Ok(Value::Money(money_from(array(bytes)))),
                _ => Err(invalid()),
            },
            id::DATETIME | id::DATETIM4 | id::DATETIMN => match (self.length, length) {
                (4, 4) => temporal::smalldatetime_from(array(bytes)),
                (8, 8) => temporal::datetime_from(array(bytes)),
                _ => Err(invalid()),
            },
            id::DATEN if length == 3 => temporal::date_from(array(bytes)).map(Value::Date),
            id::TIMEN => temporal::time_from(bytes, self.scale),
            id::DATETIME2N => temporal::datetime2_from(bytes, self.scale),
            id::DATETIMEOFFSETN => temporal::datetimeoffset_from(bytes, self.scale),
            id::GUID if length == 16 => Ok(Value::Guid(array(bytes))),
            id::DECIMALN | id::NUMERICN | id::DECIMAL_OLD | id::NUMERIC_OLD => {
                decimal_from(bytes, self.precision, self.scale)
            }
            _ => self.string_value(bytes),
        }
    }

    /// A character or binary value from its bytes.
    pub(crate) fn string_value(&self, bytes: &[u8]) -> Result<Value, ProtocolError> {
        match self.id {
            id::NVARCHAR | id::NCHAR | id::NTEXT | id::XML => {
                if !bytes.len().is_multiple_of(2) {
                    return Err(ProtocolError::invalid("length of a Unicode value", bytes.len() as u64));
                }
                Ok(Value::NChar(WideStr::from_le_bytes(bytes)))
            }
            id::BIGVARCHAR | id::BIGCHAR | id::TEXT | id::CHAR_OLD | id::VARCHAR_OLD => {
                Ok(Value::Char(ByteStr::new(bytes)))
            }
            id::BIGVARBINARY | id::BIGBINARY | id::IMAGE | id::BINARY_OLD | id::VARBINARY_OLD => {
                Ok(Value::Binary(ByteStr::new(bytes)))
            }
            _ => Err(ProtocolError::invalid("length of a value", bytes.len() as u64)),
        }
    }
}

impl TypeInfo {
    /// A large value of its chunks. They are copied once, into the value.
    fn joined_value(&self, plp: Plp<'_>) -> Result<Value, ProtocolError> {
        let bytes = plp.bytes;
        Ok(match self.id {
            id::BIGVARBINARY => Value::Binary(ByteStr::from_parts(bytes, plp.chunks())),
            id::BIGVARCHAR => Value::Char(ByteStr::from_parts(bytes, plp.chunks())),
            _ if bytes.is_multiple_of(2) => Value::NChar(WideStr::from_le_parts(bytes, plp.chunks())),
            _ => return Err(ProtocolError::invalid("length of a Unicode value", bytes as u64)),
        })
    }
}

/// A PLP value whose chunks have been checked.
struct Plp<'b> {
    /// At the first chunk.
    reader: Reader<'b>,
    /// Bytes of all chunks.
    bytes: usize,
}

impl<'b> Plp<'b> {
    /// Behind the total length, which may be unknown; moves `reader` behind the value.
    fn read(reader: &mut Reader<'b>) -> Result<Plp<'b>, ProtocolError> {
        let mut plp = Plp { reader: reader.clone(), bytes: 0 };
        loop {
            let chunk = reader.u32()? as usize;
            if chunk == 0 {
                return Ok(plp);
            }
            plp.bytes += reader.take(chunk)?.len();
        }
    }

    fn chunks(mut self) -> impl Iterator<Item = &'b [u8]> {
        std::iter::from_fn(move || {
            let chunk = self.reader.u32().ok()? as usize;
            if chunk == 0 { None } else { self.reader.take(chunk).ok() }
        })
    }
}

/// A one-byte length and the data.
fn put_short(out: &mut Vec<u8>, data: &[u8]) {
    out.push(data.len() as u8);
    out.extend_from_slice(data);
}

/// Eight bytes of money: the high half first, each half little-endian.
fn money_bytes(money: i64) -> [u8; 8] {
    (money as u64).rotate_left(32).to_le_bytes()
}

fn money_from(bytes: [u8; 8]) -> i64 {
    u64::from_le_bytes(bytes).rotate_left(32) as i64
}

/// `bytes` whose length has been checked.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

/// An integer of 1, 2, 4 or 8 bytes (tinyint is unsigned) as the declared type.
fn integer(bytes: &[u8], declared_bytes: u32) -> Option<Value> {
    if bytes.len() != declared_bytes as usize {
        return None;
    }
    Some(match bytes.len() {
        1 => Value::TinyInt(bytes[0]),
        2 => Value::SmallInt(i16::from_le_bytes(array(bytes))),
        4 => Value::Int(i32::from_le_bytes(array(bytes))),
        8 => Value::BigInt(i64::from_le_bytes(array(bytes))),
        _ => return None,
    })
}

/// Sign byte (1 positive) and 4, 8, 12 or 16 bytes of magnitude.
fn decimal_from(bytes: &[u8], precision: u8, scale: u8) -> Result<Value, ProtocolError> {
    let (sign, digits) = bytes.split_first().ok_or(ProtocolError::Truncated { part: "decimal" })?;
    if digits.len() > 16 {
        return Err(ProtocolError::invalid("length of a decimal", digits.len() as u64));
    }
    let mut magnitude = [0; 16];
    magnitude[..digits.len()].copy_from_slice(digits);
    let magnitude = i128::from_le_bytes(magnitude);
    let signed = if *sign == 0 { magnitude.wrapping_neg() } else { magnitude };
    let limit = 10i128.pow(precision.into());
    if magnitude < 0 || magnitude >= limit {
        return Err(ProtocolError::invalid("decimal with more digits than its precision", precision));
    }
    Ok(Value::Decimal(Decimal::new(signed, precision, scale)))
}

/// Writes a sql_variant: total length, base type, its properties, its data.
fn put_variant(out: &mut Vec<u8>, sql_type: &SqlType, value: &Value) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let info = TypeInfo::for_type(sql_type, crate::login7::TdsVersion::V7_4);
    let mut data = Vec::new();
    info.put_value(&mut data, value);
    let base = info.never_null().id;
    out.push(base);
    let (properties, length_bytes) = match base {
        id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR => {
            let length = (info.length as u16).to_le_bytes();
            ([info.collation.as_slice(), &length].concat(), 2)
        }
        id::BIGVARBINARY | id::BIGBINARY => ((info.length as u16).to_le_bytes().to_vec(), 2),
        id::DECIMALN | id::NUMERICN => (vec![info.precision, info.scale], 1),
        id::TIMEN | id::DATETIME2N | id::DATETIMEOFFSETN => (vec![info.scale], 1),
        _ => (Vec::new(), 1),
    };
    put_short(out, &properties);
    out.extend_from_slice(data.get(length_bytes..).unwrap_or_default());
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Reads a sql_variant into a value with its own type.
fn read_variant(reader: &mut Reader<'_>) -> Result<Value, ProtocolError> {
    let total = reader.u32()? as usize;
    if total == 0 {
        return Ok(Value::Null);
    }
    let mut body = Reader::new(reader.take(total)?, "sql_variant");
    let base = body.u8()?;
    let properties = body.u8()?.into();
    let mut properties = Reader::new(body.take(properties)?, "sql_variant properties");
    let length = body.remaining();
    let mut info = TypeInfo { id: base, length: length as u32, precision: 0, scale: 0, collation: [0; 5] };
    match base {
        id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR => {
            info.collation = properties.array()?;
            info.length = u32::from(properties.u16()?).min(8000);
        }
        id::BIGVARBINARY | id::BIGBINARY => info.length = u32::from(properties.u16()?).min(8000),
        id::DECIMALN | id::NUMERICN => {
            (info.precision, info.scale) = read_precision(&mut properties)?;
            info.length = decimal_bytes(info.precision);
        }
        id::TIMEN | id::DATETIME2N | id::DATETIMEOFFSETN => info.scale = read_time_scale(&mut properties)?,
        id::INT1 | id::INT2 | id::INT4 | id::INT8 | id::BIT | id::FLT4 | id::FLT8 => {}
        id::MONEY | id::MONEY4 | id::DATETIME | id::DATETIM4 | id::DATEN | id::GUID => {}
        _ => return Err(ProtocolError::invalid("base type of a sql_variant", base)),
    }
    let value = info.read_body(&mut body, length)?;
    let sql_type = info.sql_type_of(&value);
    Ok(Value::Variant(std::sync::Arc::new(types::Variant { sql_type, value })))
}
