//! Removing quotes from strings and names.

/// The inside of `'..'`, `N'..'`, `[..]` or `".."`, with doubled closing quotes undone and, in strings, a backslash
/// at the end of a line taken out together with the line's end.
pub(super) fn unquote(text: &str) -> String {
    let text = text.strip_prefix(['N', 'n']).unwrap_or(text);
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
    let close = match text.as_bytes().first() {
        Some(b'[') => ']',
        Some(b'"') => '"',
        _ => '\'',
    };
    let doubled = memchr::memchr(close as u8, inner.as_bytes()).is_some();
    let continued = close != ']' && memchr::memchr(b'\\', inner.as_bytes()).is_some();
    if !doubled && !continued {
        return inner.to_string();
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c == close && chars.peek() == Some(&close) {
            chars.next();
        }
        if c == '\\' && continued {
            let mut ahead = chars.clone();
            let skipped = match ahead.next() {
                Some('\n') => 1,
                Some('\r') if ahead.next() == Some('\n') => 2,
                _ => 0,
            };
            if skipped > 0 {
                chars.nth(skipped - 1);
                continue;
            }
        }
        out.push(c);
    }
    out
}
