//! The text of an XQuery expression, read by position: blanks and comments, names, literals, and what stands where an error is.

use super::tree;
use crate::{SqlError, SqlResult};

/// Reads a text.
pub struct Scanner<'a> {
    pub text: &'a str,
    pub at: usize,
    /// `XQuery [value()]: `
    pub prefix: String,
}

impl<'a> Scanner<'a> {
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks and comments `(: :)`, which nest.
    pub fn skip(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with("(:") {
                return;
            }
            let mut depth = 0usize;
            loop {
                let rest = self.rest();
                if rest.starts_with("(:") {
                    (depth, self.at) = (depth + 1, self.at + 2);
                } else if rest.starts_with(":)") {
                    (depth, self.at) = (depth - 1, self.at + 2);
                } else {
                    match rest.chars().next() {
                        Some(c) => self.at += c.len_utf8(),
                        None => return,
                    }
                }
                if depth == 0 {
                    break;
                }
            }
        }
    }

    pub fn is_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    /// Does this mark stand here?
    pub fn at_symbol(&mut self, symbol: &str) -> bool {
        self.skip();
        self.rest().starts_with(symbol)
    }

    /// Reads a mark, if it stands here.
    pub fn take(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// Reads a mark that must stand here. Error 9303.
    pub fn expect(&mut self, symbol: &str) -> SqlResult<()> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(self.expected(symbol)),
        }
    }

    /// Does this word stand here, as a whole?
    pub fn at_word(&mut self, word: &str) -> bool {
        self.skip();
        let rest = self.rest();
        rest.starts_with(word) && !rest[word.len()..].starts_with(is_further)
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Reads a word that must stand here. Error 9303.
    pub fn expect_word(&mut self, word: &str) -> SqlResult<()> {
        match self.take_word(word) {
            true => Ok(()),
            false => Err(self.expected(word)),
        }
    }

    /// Do these words stand here, one behind the other? Reads them then.
    pub fn take_words(&mut self, words: &[&str]) -> bool {
        let before = self.at;
        let all = words.iter().all(|word| self.take_word(word));
        if !all {
            self.at = before;
        }
        all
    }

    /// A name without colon.
    pub fn name(&mut self) -> Option<&'a str> {
        self.skip();
        self.name_here()
    }

    /// The same, at this very place.
    pub fn name_here(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        if !rest.starts_with(is_start) {
            return None;
        }
        let length = rest.find(|c| !is_further(c)).unwrap_or(rest.len());
        self.at += length;
        Some(&rest[..length])
    }

    /// `name` or `prefix:name`, as (prefix, name).
    pub fn qualified_name(&mut self) -> Option<(&'a str, &'a str)> {
        let first = self.name()?;
        let rest = self.rest();
        if rest.starts_with(':') && rest[1..].starts_with(is_start) {
            self.at += 1;
            return Some((first, self.name_here().unwrap_or_default()));
        }
        Some(("", first))
    }

    /// `"text"` or `'text'`; doubled marks and references stand for characters.
    pub fn string(&mut self) -> SqlResult<Option<String>> {
        self.skip();
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return Ok(None) };
        let mut out = String::new();
        let mut from = 1;
        loop {
            let Some(length) = rest[from..].find(quote) else {
                return Err(SqlError::new(2274, &[&self.prefix, &1]));
            };
            self.unescape(&rest[from..from + length], false, &mut out)?;
            from += length + 1;
            if !rest[from..].starts_with(quote) {
                break;
            }
            out.push(quote);
            from += 1;
        }
        self.at += from;
        Ok(Some(out))
    }

    /// Appends text with its references replaced. Error 2282: one stands for nothing.
    pub fn unescape(&self, raw: &str, is_attribute: bool, out: &mut String) -> SqlResult<()> {
        let is_known =
            |behind: &str| behind.split_once(';').is_some_and(|(name, _)| tree::reference(name).is_some());
        if !raw.split('&').skip(1).all(is_known) {
            return Err(SqlError::new(2282, &[&self.prefix]));
        }
        tree::unescape(raw, is_attribute, out);
        Ok(())
    }

    /// A text that must stand here. Error 2225.
    pub fn expect_string(&mut self) -> SqlResult<String> {
        match self.string()? {
            Some(text) => Ok(text),
            None => Err(SqlError::new(2225, &[&self.prefix])),
        }
    }

    /// What stands here, for a message.
    pub fn near(&mut self) -> String {
        self.skip();
        let before = self.at;
        let found = match self.qualified_name() {
            Some(("", name)) => name.to_string(),
            Some((prefix, name)) => format!("{prefix}:{name}"),
            None => {
                let rest = self.rest();
                let length = |from: usize, more: fn(char) -> bool| {
                    rest[from..].find(|c| !more(c)).map_or(rest.len(), |at| at + from)
                };
                match rest.chars().next() {
                    None => "<eof>".to_string(),
                    Some('$') => rest[..length(1, is_further)].to_string(),
                    Some(c) if c.is_ascii_digit() => rest[..length(0, |c| c.is_ascii_digit())].to_string(),
                    Some(c) => c.to_string(),
                }
            }
        };
        self.at = before;
        found
    }

    /// Error 2209.
    pub fn syntax(&mut self) -> SqlError {
        let near = self.near();
        SqlError::new(2209, &[&self.prefix, &near])
    }

    /// Error 9303.
    pub fn expected(&mut self, what: &str) -> SqlError {
        let near = self.near();
        SqlError::new(9303, &[&self.prefix, &near, &what])
    }

    /// Error 9335.
    pub fn unsupported(&self, syntax: &str) -> SqlError {
        SqlError::new(9335, &[&self.prefix, &syntax])
    }
}

/// Can a name begin with the character?
pub fn is_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Can the character stand behind the first one?
pub fn is_further(c: char) -> bool {
    is_start(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{B7}')
}
