//! The catalogue of messages: number, severity, text with `%s` and `%d` for the arguments in order. Texts are our own words.

use std::fmt;
use std::fmt::Write;

/// One entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// SQL Server's number.
    pub number: i32,
    /// Severity it is raised with unless said otherwise.
    pub severity: u8,
    /// Text; `%s` and `%d` stand for arguments, `%%` for a percent sign.
    pub text: &'static str,
}

const CATALOGUE: &[Message] = &[];

/// The entry of a number.
pub fn lookup(number: i32) -> Option<&'static Message> {
    CATALOGUE.binary_search_by_key(&number, |message| message.number).ok().map(|index| &CATALOGUE[index])
}

/// All entries by number: `sys.messages`.
pub fn all() -> &'static [Message] {
    CATALOGUE
}

/// Fills the arguments in; missing ones show as `(null)`, as in SQL Server.
pub fn fill(text: &str, args: &[&dyn fmt::Display]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut args = args.iter();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('s' | 'd') => match args.next() {
                Some(arg) => write!(out, "{arg}").expect("writing to a String cannot fail"),
                None => out.push_str("(null)"),
            },
            Some(other) => out.push(other),
            None => out.push('%'),
        }
    }
    out
}
