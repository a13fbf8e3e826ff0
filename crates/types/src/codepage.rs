//! Code page 1252, the code page of the Latin1 collations.

/// Encodes text; characters that the page lacks become `?` (two for a character outside the basic plane, as SQL Server counts).
pub fn encode(text: &str) -> Vec<u8> {
    if text.is_ascii() {
        return text.as_bytes().to_vec();
    }
    text.encode_utf16().map(|unit| encode_unit(unit).unwrap_or(b'?')).collect()
}

/// Encodes UTF-16 units; a surrogate pair becomes two `?`, as SQL Server counts units.
pub fn encode_units(units: &[u16]) -> Vec<u8> {
    units.iter().map(|unit| encode_unit(*unit).unwrap_or(b'?')).collect()
}

/// The byte of one UTF-16 unit, `None` when the page lacks it.
pub fn encode_unit(unit: u16) -> Option<u8> {
    if unit < 0x80 || (0xA0..=0xFF).contains(&unit) {
        return Some(unit as u8);
    }
    HIGH_HALF.iter().position(|high| *high == unit).map(|index| 0x80 + index as u8)
}

/// Decodes bytes to text.
pub fn decode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from_u32(u32::from(decode_byte(*byte))).unwrap_or('\u{FFFD}')).collect()
}

/// Decodes bytes to UTF-16 units, one for one.
pub fn decode_units(bytes: &[u8]) -> Vec<u16> {
    bytes.iter().map(|byte| decode_byte(*byte)).collect()
}

/// The UTF-16 unit of one byte.
#[inline]
pub fn decode_byte(byte: u8) -> u16 {
    if (0x80..0xA0).contains(&byte) { HIGH_HALF[usize::from(byte - 0x80)] } else { u16::from(byte) }
}

/// 0x80..=0x9F, where page 1252 differs from Latin-1; the five unassigned bytes are the control characters of the same number.
const HIGH_HALF: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];
