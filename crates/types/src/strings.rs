//! Immutable strings that clone cheaply: [`ByteStr`] (char, varchar, binary: bytes) and [`WideStr`] (nchar, nvarchar: UTF-16
//! units). Short ones (22 bytes, 11 units) live inside the value, longer ones behind a shared pointer.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

const INLINE_BYTES: usize = 22;
const INLINE_UNITS: usize = 11;

#[derive(Clone)]
enum Bytes {
    Inline(u8, [u8; INLINE_BYTES]),
    Shared(Arc<[u8]>),
}

#[derive(Clone)]
enum Units {
    Inline(u8, [u16; INLINE_UNITS]),
    Shared(Arc<[u16]>),
}

/// Bytes of a char, varchar (in the collation's code page, 1252) or binary value. 24 bytes, clone is a copy or a reference count.
#[derive(Clone)]
pub struct ByteStr(Bytes);

/// UTF-16 units of an nchar, nvarchar, sysname or xml value; surrogates are not checked (neither does SQL Server).
#[derive(Clone)]
pub struct WideStr(Units);

/// A shared slice that `fill` writes in its place: a large one is there once.
fn shared<T: Copy + Default>(length: usize, fill: impl FnOnce(&mut [T])) -> Arc<[T]> {
    let mut slice: Arc<[T]> = std::iter::repeat_n(T::default(), length).collect();
    fill(Arc::get_mut(&mut slice).expect("nobody shares it yet"));
    slice
}

impl ByteStr {
    /// Joins `parts`, of `length` bytes together.
    pub fn from_parts<'p>(length: usize, parts: impl Iterator<Item = &'p [u8]>) -> Self {
        if length <= INLINE_BYTES {
            return Self::new(&parts.flatten().copied().collect::<Vec<u8>>());
        }
        ByteStr(Bytes::Shared(shared(length, |bytes| {
            let mut rest = bytes;
            for part in parts {
                let (to, behind) = rest.split_at_mut(part.len());
                to.copy_from_slice(part);
                rest = behind;
            }
        })))
    }

    /// The string of no bytes.
    pub const EMPTY: ByteStr = ByteStr(Bytes::Inline(0, [0; INLINE_BYTES]));

    /// Copies `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes.len()].copy_from_slice(bytes);
            return ByteStr(Bytes::Inline(bytes.len() as u8, inline));
        }
        ByteStr(Bytes::Shared(Arc::from(bytes)))
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline(len, bytes) => &bytes[..usize::from(*len)],
            Bytes::Shared(bytes) => bytes,
        }
    }

    /// Encodes text in code page 1252; characters that the page lacks become `?`.
    pub fn from_text(text: &str) -> Self {
        Self::from(crate::codepage::encode(text))
    }

    /// Decodes the bytes from code page 1252.
    pub fn to_text(&self) -> String {
        crate::codepage::decode(self.as_bytes())
    }
}

impl WideStr {
    /// The string of no units.
    pub const EMPTY: WideStr = WideStr(Units::Inline(0, [0; INLINE_UNITS]));

    /// Copies `units`.
    pub fn new(units: &[u16]) -> Self {
        if units.len() <= INLINE_UNITS {
            let mut inline = [0; INLINE_UNITS];
            inline[..units.len()].copy_from_slice(units);
            return WideStr(Units::Inline(units.len() as u8, inline));
        }
        WideStr(Units::Shared(Arc::from(units)))
    }

    /// The UTF-16 units.
    #[inline]
    pub fn as_units(&self) -> &[u16] {
        match &self.0 {
            Units::Inline(len, units) => &units[..usize::from(*len)],
            Units::Shared(units) => units,
        }
    }

    /// Encodes text as UTF-16.
    pub fn from_text(text: &str) -> Self {
        Self::from(text.encode_utf16().collect::<Vec<u16>>())
    }

    /// Decodes the units; a lone surrogate becomes U+FFFD.
    pub fn to_text(&self) -> String {
        let units = self.as_units();
        // Most texts are of ASCII alone, statements above all: each unit is a byte then.
        if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
            let bytes = units.iter().map(|unit| *unit as u8).collect();
            return String::from_utf8(bytes).expect("ASCII is UTF-8");
        }
        String::from_utf16_lossy(units)
    }

    /// Reads little-endian UTF-16, as the wire and the disk carry it; an odd last byte is dropped.
    pub fn from_le_bytes(bytes: &[u8]) -> Self {
        if bytes.len() / 2 <= INLINE_UNITS {
            let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            return Self::new(&units.collect::<Vec<u16>>());
        }
        WideStr(Units::Shared(shared(bytes.len() / 2, |units| {
            for (unit, pair) in units.iter_mut().zip(bytes.chunks_exact(2)) {
                *unit = u16::from_le_bytes([pair[0], pair[1]]);
            }
        })))
    }

    /// The same of joined `parts`, of `length` bytes together, which may end in the midst of a unit.
    pub fn from_le_parts<'p>(length: usize, parts: impl Iterator<Item = &'p [u8]>) -> Self {
        if length / 2 <= INLINE_UNITS {
            return Self::from_le_bytes(&parts.flatten().copied().collect::<Vec<u8>>());
        }
        WideStr(Units::Shared(shared(length / 2, |units| {
            for (at, byte) in parts.flatten().enumerate().take(length / 2 * 2) {
                units[at / 2] |= u16::from(*byte) << (at % 2 * 8);
            }
        })))
    }

    /// Appends the units in little-endian order.
    pub fn write_le_bytes(&self, out: &mut Vec<u8>) {
        out.reserve(self.len() * 2);
        self.iter().for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
    }
}

impl From<Vec<u8>> for ByteStr {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() <= INLINE_BYTES { Self::new(&bytes) } else { ByteStr(Bytes::Shared(Arc::from(bytes))) }
    }
}

impl From<&[u8]> for ByteStr {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes)
    }
}

impl From<Vec<u16>> for WideStr {
    fn from(units: Vec<u16>) -> Self {
        if units.len() <= INLINE_UNITS { Self::new(&units) } else { WideStr(Units::Shared(Arc::from(units))) }
    }
}

impl From<&[u16]> for WideStr {
    fn from(units: &[u16]) -> Self {
        Self::new(units)
    }
}

impl From<&str> for WideStr {
    fn from(text: &str) -> Self {
        Self::from_text(text)
    }
}

impl Deref for ByteStr {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Deref for WideStr {
    type Target = [u16];
    #[inline]
    fn deref(&self) -> &[u16] {
        self.as_units()
    }
}

impl PartialEq for ByteStr {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for ByteStr {}

impl Hash for ByteStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialEq for WideStr {
    fn eq(&self, other: &Self) -> bool {
        self.as_units() == other.as_units()
    }
}

impl Eq for WideStr {}

impl Hash for WideStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_units().hash(state);
    }
}

impl Default for ByteStr {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Default for WideStr {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Debug for ByteStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl fmt::Debug for WideStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "N{:?}", self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of any lengths, cut anywhere, give what one part gives.
    #[test]
    fn parts_join_to_the_whole() {
        for length in [0, 1, 2, 21, 22, 23, 24, 25, 1_000, 70_001] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            for step in [1, 2, 3, 1_000_000] {
                assert_eq!(ByteStr::from_parts(length, bytes.chunks(step)).as_bytes(), bytes);
                let units: Vec<u16> =
                    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
                assert_eq!(WideStr::from_le_parts(length, bytes.chunks(step)).as_units(), units);
                assert_eq!(WideStr::from_le_bytes(&bytes).as_units(), units);
            }
        }
    }
}
