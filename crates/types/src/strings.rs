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

impl ByteStr {
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
        Self::from(
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect::<Vec<u16>>(),
        )
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
