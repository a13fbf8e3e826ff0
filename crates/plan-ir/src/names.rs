//! Names: comparison, and their parts in a text.

use types::Collation;

/// Do two names mean the same object?
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || Collation::default().same_name(left, right)
}

/// The parts of a name in text, brackets and quotes undone; empty parts stay.
pub fn name_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.trim().chars().peekable();
    let mut closing: Option<char> = None;
    while let Some(c) = chars.next() {
        let part = parts.last_mut().expect("never empty");
        match closing {
            Some(close) if c == close => {
                if chars.peek() == Some(&close) {
                    chars.next();
                    part.push(close);
                } else {
                    closing = None;
                }
            }
            Some(_) => part.push(c),
            None => match c {
                '[' => closing = Some(']'),
                '"' => closing = Some('"'),
                '.' => parts.push(String::new()),
                c => part.push(c),
            },
        }
    }
    parts
}

/// The name as written, for messages.
pub fn written(name: &tsql::ast::ObjectName) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in [&name.server, &name.database, &name.schema] {
        match part {
            Some(part) => parts.push(&part.value),
            None if !parts.is_empty() => parts.push(""),
            None => {}
        }
    }
    parts.push(&name.name.value);
    parts.join(".")
}
