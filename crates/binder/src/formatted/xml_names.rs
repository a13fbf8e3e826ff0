//! Names in XML: which are allowed, and how RAW and AUTO escape those that are not.

use types::SqlError;

/// Can a name begin with the character?
fn is_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Can the character stand behind the first one?
fn is_further(c: char) -> bool {
    is_start(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{B7}')
}

/// The name with `_xHHHH_` for each character that is not allowed at its place.
pub(super) fn escaped(name: &str) -> String {
    let mut out = String::new();
    let is_reserved = name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("xml"));
    for (at, c) in name.char_indices() {
        let is_allowed = match at {
            0 => is_start(c) && !is_reserved,
            _ => is_further(c),
        };
        if is_allowed && !(c == '_' && is_escape(&name[at..])) {
            out.push(c);
            continue;
        }
        let mut units = [0; 2];
        match c.encode_utf16(&mut units) {
            [unit] => out.push_str(&format!("_x{unit:04X}_")),
            _ => out.push_str(&format!("_x{:08X}_", c as u32)),
        }
    }
    out
}

/// Would the underscore begin an escaped character?
fn is_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 7 && bytes[1] == b'x' && bytes[6] == b'_' && bytes[2..6].iter().all(u8::is_ascii_hexdigit)
}

/// A name that must be allowed as it is, with a declared prefix. `what` names it in the message. Errors 6846, 6850.
pub(super) fn check(what: &str, name: &str, full: &str, prefixes: &[&str]) -> Result<(), SqlError> {
    let invalid = |c: char| SqlError::new(6850, &[&what, &full, &c, &format!("{:04X}", c as u32)]);
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) => (Some(prefix), local),
        None => (None, name),
    };
    for part in prefix.into_iter().chain([local]) {
        if part.is_empty() {
            return Err(invalid(if prefix.is_some() { ':' } else { '/' }));
        }
        for (at, c) in part.char_indices() {
            if !(if at == 0 { is_start(c) } else { is_further(c) }) {
                return Err(invalid(c));
            }
        }
    }
    match prefix {
        Some(prefix) if prefix != "xml" && !prefixes.contains(&prefix) => {
            Err(SqlError::new(6846, &[&prefix, &what, &full]))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, escaped};

    #[test]
    fn names_are_escaped_where_they_must() {
        assert_eq!(escaped("a b"), "a_x0020_b");
        assert_eq!(escaped("1a"), "_x0031_a");
        assert_eq!(escaped("dbo.t"), "dbo.t");
        assert_eq!(escaped("#t"), "_x0023_t");
        assert_eq!(escaped("a_x0020_b"), "a_x005F_x0020_b");
        assert_eq!(escaped("a:b"), "a_x003A_b");
        assert_eq!(escaped("Größe"), "Größe");
    }

    #[test]
    fn paths_take_allowed_names_alone() {
        assert!(check("Column", "a-b.c", "a-b.c", &[]).is_ok());
        assert_eq!(check("Column", "a b", "a b", &[]).map_err(|error| error.number), Err(6850));
        assert_eq!(check("Column", "p:b", "p:b", &[]).map_err(|error| error.number), Err(6846));
        assert!(check("Column", "p:b", "p:b", &["p"]).is_ok());
    }
}
