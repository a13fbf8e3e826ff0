//! Hashes that are equal for statements and plans that differ only in literals: `query_hash` and `query_plan_hash`.

use tsql::{Lexer, TokenKind};

/// FNV-1a: the same in every database and after a restart.
pub struct Hasher(u64);

impl Default for Hasher {
    fn default() -> Hasher {
        Hasher::new()
    }
}

impl Hasher {
    pub fn new() -> Hasher {
        Hasher(0xcbf2_9ce4_8422_2325)
    }

    /// A word, and that it ends.
    pub fn word(&mut self, text: &str) {
        for byte in text.bytes().chain(std::iter::once(0)) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn number(&self) -> u64 {
        self.0
    }
}

/// The number of a statement's text: neither its literals matter nor its letters' case, blanks and comments.
pub fn query_hash(text: &str) -> u64 {
    let mut hasher = Hasher::new();
    let mut lexer = Lexer::new(text, true);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => return hasher.number(),
            TokenKind::Symbol(b';') => {}
            TokenKind::String
            | TokenKind::NString
            | TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Binary
            | TokenKind::Money => hasher.word("'"),
            // One name, however it is written.
            TokenKind::Bracketed | TokenKind::Quoted => {
                let name = text[token.start as usize..token.end as usize].trim_matches(['[', ']', '"']);
                hasher.word(&name.to_lowercase());
            }
            _ => hasher.word(&text[token.start as usize..token.end as usize].to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::query_hash;

    #[test]
    fn literals_blanks_and_case_do_not_matter() {
        let one = query_hash("SELECT a FROM t WHERE b = 1 AND c = 'x'");
        for other in [
            "select  a from T where B = 27 and c = N'long'",
            "SELECT a -- first\n FROM [t] WHERE b = 1.5 AND \"c\" = 0x01;",
        ] {
            assert_eq!(query_hash(other), one, "{other}");
        }
        for other in [
            "SELECT b FROM t WHERE b = 1 AND c = 'x'",
            "SELECT a FROM t WHERE b = 1 OR c = 'x'",
            "SELECT a FROM t WHERE b = @p AND c = 'x'",
            "SELECT a FROM t WHERE b > 1 AND c = 'x'",
        ] {
            assert_ne!(query_hash(other), one, "{other}");
        }
    }
}
