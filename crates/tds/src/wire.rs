//! Bounds-checked reading and plain writing of the little-endian pieces that every TDS structure is made of.

use crate::error::ProtocolError;

/// A cursor over received bytes. Every read checks its bounds; nothing here can panic on hostile input.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    part: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `bytes`; `part` names the structure in errors.
    pub fn new(bytes: &'a [u8], part: &'static str) -> Self {
        Reader { bytes, at: 0, part }
    }

    /// Position from the start of the bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True at the end.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Sets the structure that later errors name.
    pub fn set_part(&mut self, part: &'static str) {
        self.part = part;
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        if count > self.remaining() {
            return Err(ProtocolError::Truncated { part: self.part });
        }
        let piece = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(piece)
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// The next byte without moving.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.take(1)?[0])
    }

    /// Two bytes, little-endian.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Two bytes, big-endian (PRELOGIN and packet headers).
    pub fn u16_be(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes, little-endian.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, ProtocolError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little-endian.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, ProtocolError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// `units` UTF-16 code units as text; unpaired surrogates become U+FFFD.
    pub fn utf16(&mut self, units: usize) -> Result<String, ProtocolError> {
        let bytes = units.checked_mul(2).ok_or(ProtocolError::Truncated { part: self.part })?;
        Ok(utf16_text(self.take(bytes)?))
    }

    /// Text with a one-byte length in UTF-16 units (B_VARCHAR).
    pub fn b_varchar(&mut self) -> Result<String, ProtocolError> {
        let units = self.u8()?;
        self.utf16(units.into())
    }

    /// Text with a two-byte length in UTF-16 units (US_VARCHAR).
    pub fn us_varchar(&mut self) -> Result<String, ProtocolError> {
        let units = self.u16()?;
        self.utf16(units.into())
    }
}

/// UTF-16LE bytes as text (an odd last byte is dropped); unpaired surrogates become U+FFFD. ASCII takes a fast path.
pub fn utf16_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 2);
    let (pairs, _odd) = bytes.as_chunks::<2>();
    let ascii = pairs.iter().take_while(|pair| pair[1] == 0 && pair[0] < 0x80).count();
    text.extend(pairs[..ascii].iter().map(|pair| char::from(pair[0])));
    let rest = pairs[ascii..].iter().map(|pair| u16::from_le_bytes(*pair));
    text.extend(char::decode_utf16(rest).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    text
}

/// Appends `text` as UTF-16LE and returns the number of code units written.
pub fn put_utf16(out: &mut Vec<u8>, text: &str) -> usize {
    let start = out.len();
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
    (out.len() - start) / 2
}

/// Appends B_VARCHAR: one length byte in units; longer text is cut at 255 units.
pub fn put_b_varchar(out: &mut Vec<u8>, text: &str) {
    let at = out.len();
    out.push(0);
    let units = put_utf16_at_most(out, text, u8::MAX.into());
    out[at] = units as u8;
}

/// Appends US_VARCHAR: two length bytes in units; longer text is cut at 65,535 units.
pub fn put_us_varchar(out: &mut Vec<u8>, text: &str) {
    let at = out.len();
    out.extend_from_slice(&[0, 0]);
    let units = put_utf16_at_most(out, text, u16::MAX.into());
    out[at..at + 2].copy_from_slice(&(units as u16).to_le_bytes());
}

/// Appends at most `units_max` UTF-16 units of `text` and returns how many.
pub fn put_utf16_at_most(out: &mut Vec<u8>, text: &str, units_max: usize) -> usize {
    let mut units = 0;
    for unit in text.encode_utf16().take(units_max) {
        out.extend_from_slice(&unit.to_le_bytes());
        units += 1;
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end() {
        let mut reader = Reader::new(&[1, 2, 3], "test");
        assert_eq!(reader.u16(), Ok(0x0201));
        assert_eq!(reader.u16(), Err(ProtocolError::Truncated { part: "test" }));
        assert_eq!(reader.u8(), Ok(3));
        assert!(reader.is_empty());
        assert!(reader.utf16(usize::MAX).is_err());
    }

    #[test]
    fn text_survives_both_ways() {
        for text in ["", "SELECT 1", "naïve € 漢字 🦀 end"] {
            let mut out = Vec::new();
            put_utf16(&mut out, text);
            assert_eq!(utf16_text(&out), text);
        }
        assert_eq!(utf16_text(&[0x00, 0xD8, 0x41, 0x00, 7]), "\u{FFFD}A");
    }

    #[test]
    fn long_text_is_cut_to_its_length_field() {
        let mut out = Vec::new();
        put_b_varchar(&mut out, &"x".repeat(300));
        assert_eq!((out[0], out.len()), (255, 1 + 510));
    }
}
