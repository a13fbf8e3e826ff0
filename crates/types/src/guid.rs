//! uniqueidentifier: text form, and the order in which SQL Server compares (last six bytes first).

use std::cmp::Ordering;

/// Upper-case text, `6F9619FF-8B86-D011-B42D-00C04FC964FF`, of 16 bytes in storage order (first three groups little-endian).
pub fn format(guid: &[u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut out = String::with_capacity(36);
    for (position, index) in ORDER.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{:02X}", guid[*index]));
    }
    out
}

/// Parses the text form, with or without braces; characters after the form are ignored, as SQL Server does. `None`: not a guid
/// (error 8169).
pub fn parse(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let (braced, start) = if bytes.first() == Some(&b'{') { (true, 1) } else { (false, 0) };
    let body = bytes.get(start..start + 36)?;
    if braced && bytes.get(37) != Some(&b'}') {
        return None;
    }
    let mut digits = [0u8; 32];
    let mut count = 0;
    for (position, byte) in body.iter().enumerate() {
        if matches!(position, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        digits[count] = char::from(*byte).to_digit(16)? as u8;
        count += 1;
    }
    let mut wire = [0u8; 16];
    for (index, byte) in wire.iter_mut().enumerate() {
        *byte = digits[2 * index] << 4 | digits[2 * index + 1];
    }
    wire[0..4].reverse();
    wire[4..6].reverse();
    wire[6..8].reverse();
    Some(wire)
}

/// The order of comparison: bytes 10..16, then 8..10, 6..8, 4..6, 0..4 of the storage form, each group from its first byte.
pub const COMPARE_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];

/// SQL Server's order of two guids.
pub fn compare(left: &[u8; 16], right: &[u8; 16]) -> Ordering {
    COMPARE_ORDER
        .iter()
        .map(|index| left[*index].cmp(&right[*index]))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}
