//! Scanning JSON text: checking it, and iterating over members and elements of checked text.

use std::ops::Range;

use crate::{SqlError, SqlResult};

/// Deepest nesting of arrays and objects.
const DEPTH_MAX: usize = 128;

/// The kind of a value, known from its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `"..."`
    String,
    /// A number.
    Number,
    /// `true`, `false`
    Boolean,
    /// `[...]`
    Array,
    /// `{...}`
    Object,
}

/// Checks a whole text and gives the place of its value. Error 13609 with the character and position where it is invalid.
pub fn check(text: &str) -> SqlResult<Range<usize>> {
    let start = skip_blanks(text, 0);
    let error = |at: usize| {
        let found =
            text.get(at..).and_then(|rest| rest.chars().next()).map_or_else(|| ".".to_owned(), String::from);
        let position = text.get(..at).map_or(at, |before| before.chars().count());
        SqlError::new(13609, &[&found, &position])
    };
    let end = value_end(text, start, 0).map_err(error)?;
    match skip_blanks(text, end) {
        rest if rest < text.len() => Err(error(rest)),
        _ => Ok(start..end),
    }
}

/// The kind of the checked value that begins here.
pub fn kind_at(text: &str, start: usize) -> Kind {
    match text.as_bytes().get(start) {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// The members of the checked object that begins here: places of key (with quotes) and value.
pub fn members(text: &str, start: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let mut at = start + 1;
    std::iter::from_fn(move || next_member(text, &mut at))
}

/// The member at `at` or behind it; moves `at` behind it.
pub fn next_member(text: &str, at: &mut usize) -> Option<(Range<usize>, Range<usize>)> {
    let key = skip_blanks(text, *at);
    if text.as_bytes().get(key) != Some(&b'"') {
        return None;
    }
    let key_end = string_end(text, key)?;
    let colon = skip_blanks(text, key_end);
    let value = skip_blanks(text, colon + 1);
    let value_end = value_end(text, value, 0).ok()?;
    *at = skip_comma(text, value_end);
    Some((key..key_end, value..value_end))
}

/// The elements of the checked array that begins here.
pub fn elements(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = start + 1;
    std::iter::from_fn(move || next_element(text, &mut at))
}

/// The element at `at` or behind it; moves `at` behind it.
pub fn next_element(text: &str, at: &mut usize) -> Option<Range<usize>> {
    let value = skip_blanks(text, *at);
    let end = value_end(text, value, 0).ok()?;
    *at = skip_comma(text, end);
    Some(value..end)
}

fn skip_comma(text: &str, at: usize) -> usize {
    let next = skip_blanks(text, at);
    if text.as_bytes().get(next) == Some(&b',') { next + 1 } else { next }
}

fn skip_blanks(text: &str, at: usize) -> usize {
    let blanks = text
        .as_bytes()
        .get(at..)
        .unwrap_or(&[])
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    at + blanks.count()
}

/// The end of the value that begins here, or the position where it is invalid.
fn value_end(text: &str, start: usize, depth: usize) -> Result<usize, usize> {
    if depth > DEPTH_MAX {
        return Err(start);
    }
    let word = |word: &str| if text[start..].starts_with(word) { Ok(start + word.len()) } else { Err(start) };
    match text.as_bytes().get(start) {
        Some(b'{') => container_end(text, start, depth, b'}'),
        Some(b'[') => container_end(text, start, depth, b']'),
        Some(b'"') => string_end(text, start).ok_or(start),
        Some(b't') => word("true"),
        Some(b'f') => word("false"),
        Some(b'n') => word("null"),
        _ => number_end(text, start),
    }
}

fn container_end(text: &str, start: usize, depth: usize, close: u8) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let mut at = skip_blanks(text, start + 1);
    if bytes.get(at) == Some(&close) {
        return Ok(at + 1);
    }
    loop {
        if close == b'}' {
            if bytes.get(at) != Some(&b'"') {
                return Err(at);
            }
            let colon = skip_blanks(text, string_end(text, at).ok_or(at)?);
            if bytes.get(colon) != Some(&b':') {
                return Err(colon);
            }
            at = skip_blanks(text, colon + 1);
        }
        at = skip_blanks(text, value_end(text, at, depth + 1)?);
        match bytes.get(at) {
            Some(b',') => at = skip_blanks(text, at + 1),
            Some(byte) if *byte == close => return Ok(at + 1),
            _ => return Err(at),
        }
    }
}

/// The end of the string whose opening quote is here; `None` when it is not closed or has an invalid escape.
pub(super) fn string_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match bytes.get(at + 1)? {
                b'u' => {
                    bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                    at += 6;
                }
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                _ => return None,
            },
            0..=0x1F => return None,
            _ => at += 1,
        }
    }
}

fn number_end(text: &str, start: usize) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let digits = |at: usize| {
        at + bytes.get(at..).unwrap_or(&[]).iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = if bytes.get(start) == Some(&b'-') { start + 1 } else { start };
    let mut at = digits(whole);
    if at == whole || (bytes[whole] == b'0' && at > whole + 1) {
        return Err(start);
    }
    if bytes.get(at) == Some(&b'.') {
        let end = digits(at + 1);
        if end == at + 1 {
            return Err(end);
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end == at + 1 + sign {
            return Err(end);
        }
        at = end;
    }
    Ok(at)
}

/// The text of a checked string with its quotes.
pub(super) fn unescape(quoted: &str) -> String {
    let inner = &quoted[1..quoted.len() - 1];
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let plain = match (c, c == '\\') {
            (_, false) => c,
            _ => match chars.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let code = chars
                        .by_ref()
                        .take(4)
                        .fold(0, |sum, digit| sum * 16 + digit.to_digit(16).unwrap_or(0));
                    units.push(code as u16);
                    continue;
                }
                Some(other) => other,
                None => '\\',
            },
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

/// Text as a JSON string.
pub fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// Text with the characters escaped that JSON requires: STRING_ESCAPE(text, 'json').
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}
