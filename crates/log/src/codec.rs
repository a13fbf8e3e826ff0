//! The small building blocks of record payloads: varints, zigzag, lengths, and a reader that never panics.

use std::fmt;

/// Bytes that do not decode. Carries what was being read, for the dumper's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError(pub &'static str);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "undecodable log record: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

/// Appends `value` in 1 to 10 bytes, seven bits each, least significant first.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    let (start, whole) = (out.len(), value);
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    debug_assert_eq!(Reader::new(&out[start..]).varint(), Ok(whole), "what is written can be read back");
}

/// A signed value as an unsigned one of about the same magnitude.
pub(crate) fn zigzag(value: i64) -> u64 {
    let raw = ((value << 1) ^ (value >> 63)) as u64;
    debug_assert_eq!((raw >> 1) as i64 ^ -((raw & 1) as i64), value, "what is written can be read back");
    raw
}

/// Appends a length (varint) and the bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    debug_assert_eq!(Reader::new(&out[start..]).bytes(), Ok(bytes), "what is written can be read back");
}

/// Reads what the `put_` functions wrote, from a slice it borrows.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.rest.split_first().ok_or(DecodeError("ends early"))?;
        self.rest = rest;
        Ok(*first)
    }

    /// Two bytes, little endian.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Four bytes, little endian.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Eight bytes, little endian.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?;
        let mut array = [0; 8];
        array.copy_from_slice(bytes);
        Ok(u64::from_le_bytes(array))
    }

    /// A varint.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        // Most are of one byte or of two.
        match self.rest {
            [first, rest @ ..] if first & 0x80 == 0 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            [first, second, rest @ ..] if second & 0x80 == 0 => {
                self.rest = rest;
                Ok(u64::from(first & 0x7f) | u64::from(*second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(DecodeError("number too large"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError("number too long"))
    }

    /// A varint that must fit 32 bits.
    #[inline]
    pub fn varint_u32(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.varint()?).map_err(|_| DecodeError("number exceeds 32 bits"))
    }

    /// A varint that must fit 16 bits.
    #[inline]
    pub fn varint_u16(&mut self) -> Result<u16, DecodeError> {
        u16::try_from(self.varint()?).map_err(|_| DecodeError("number exceeds 16 bits"))
    }

    /// A signed number.
    #[inline]
    pub fn zigzag(&mut self) -> Result<i64, DecodeError> {
        let raw = self.varint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// A length and that many bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.varint()?).map_err(|_| DecodeError("length too large"))?;
        self.take(length)
    }

    /// Exactly `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.rest.len() {
            return Err(DecodeError("ends early"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Number of bytes left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Errors unless everything was read.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError("has bytes left over")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_at_their_edges() {
        let unsigned = [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let signed = [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN];
        let mut out = Vec::new();
        unsigned.iter().for_each(|value| put_varint(&mut out, *value));
        signed.iter().for_each(|value| put_varint(&mut out, zigzag(*value)));
        put_bytes(&mut out, b"row");
        let mut reader = Reader::new(&out);
        unsigned.iter().for_each(|value| assert_eq!(reader.varint(), Ok(*value)));
        signed.iter().for_each(|value| assert_eq!(reader.zigzag(), Ok(*value)));
        assert_eq!(reader.bytes(), Ok(&b"row"[..]));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn hostile_bytes_are_errors() {
        assert!(Reader::new(&[0xff; 10]).varint().is_err());
        assert!(Reader::new(&[0xff; 3]).varint().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0x7f, 1]).bytes().is_err());
        assert!(Reader::new(&[1]).u64().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0x04]).varint_u16().is_err());
        assert!(Reader::new(&[1]).finish().is_err());
    }
}
