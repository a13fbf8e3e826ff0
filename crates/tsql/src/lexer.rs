//! The lexer: text to tokens without copying. A token is a kind and a range of the text.

use crate::keywords::{self, Keyword};

/// Kinds of tokens. Operators of several characters are several tokens, as in SQL Server (`> =` is legal).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A word without quotes that is not reserved; includes `#t`, `##t` and `$action`.
    Word,
    /// A reserved keyword.
    Keyword(Keyword),
    /// `[..]`
    Bracketed,
    /// `".."` with QUOTED_IDENTIFIER ON.
    Quoted,
    /// `'..'`, or `".."` with QUOTED_IDENTIFIER OFF.
    String,
    /// `N'..'`
    NString,
    /// `@x`; a lone `@` and `@@mine` too.
    Variable,
    /// `@@ROWCOUNT` and every other value of the server's.
    GlobalVariable,
    /// Digits only.
    Integer,
    /// Digits with a point.
    Decimal,
    /// With an exponent.
    Float,
    /// `0x..`
    Binary,
    /// `$1.5` and other currency signs.
    Money,
    /// One character of punctuation, or an ASCII character of no token.
    Symbol(u8),
    /// A character outside ASCII of no token.
    Unknown,
    /// `'..` or `[..` or `"..` without an end: error 105.
    Unclosed,
    /// `/* ..` without an end: error 113.
    UnclosedComment,
    /// End of the text.
    End,
}

/// Tokens between two checks of `is_spent`.
const TOKENS_A_LOOK: usize = 4_096;
/// Initial capacity of the token list.
const TOKENS_AT_FIRST: usize = 65_536;

/// One token.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte in the text.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// 1-based line of the first byte.
    pub line: u32,
}

/// An iterator of tokens; ends after `End` (which it does not return).
pub struct Lexer<'t> {
    text: &'t str,
    position: usize,
    line: u32,
    quoted_identifier: bool,
}

impl<'t> Lexer<'t> {
    /// Starts at the beginning of `text`, which must be shorter than 4 GB.
    pub fn new(text: &'t str, quoted_identifier: bool) -> Lexer<'t> {
        assert!(text.len() < u32::MAX as usize, "offsets are 32 bits");
        Lexer { text, position: 0, line: 1, quoted_identifier }
    }

    /// Continues behind `token`, which must be on one line, with another meaning of double quotes.
    pub(crate) fn resume(text: &'t str, quoted_identifier: bool, token: Token) -> Lexer<'t> {
        Lexer { text, position: token.end as usize, line: token.line, quoted_identifier }
    }

    /// All tokens, closed by one `End`.
    pub fn tokenize(self) -> Vec<Token> {
        self.tokenize_while(|| false).0
    }

    /// All tokens, or false with an early `End` when `is_spent` returns true (called every 4,096 tokens).
    pub(crate) fn tokenize_while(mut self, is_spent: fn() -> bool) -> (Vec<Token>, bool) {
        let mut tokens = Vec::with_capacity(((self.text.len() - self.position) / 5 + 2).min(TOKENS_AT_FIRST));
        loop {
            let mut token = self.next_token();
            let gives_up = tokens.len() % TOKENS_A_LOOK == TOKENS_A_LOOK - 1 && is_spent();
            if gives_up {
                token.kind = TokenKind::End;
            }
            tokens.push(token);
            if token.kind == TokenKind::End {
                return (tokens, !gives_up);
            }
        }
    }

    /// The next token; `End` for ever after the last.
    pub fn next_token(&mut self) -> Token {
        if let Some(unclosed) = self.skip_blanks() {
            return unclosed;
        }
        let (start, line) = (self.position, self.line);
        let kind = match self.byte(0) {
            None => TokenKind::End,
            Some(first) => self.scan(first),
        };
        Token { kind, start: start as u32, end: self.position as u32, line }
    }

    #[inline]
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    /// Skips white space and comments; a comment without an end is returned as a token.
    #[inline]
    fn skip_blanks(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        loop {
            let mut position = self.position;
            while let Some(&byte) = bytes.get(position)
                && CLASS[byte as usize] & BLANK != 0
            {
                self.line += u32::from(byte == b'\n');
                position += 1;
            }
            self.position = position;
            match bytes.get(position) {
                Some(&byte) if CLASS[byte as usize] & MAY_SKIP != 0 => match self.skip_rare(byte) {
                    Skipped::Some => {}
                    Skipped::Nothing => return None,
                    Skipped::Unclosed(token) => return Some(token),
                },
                _ => return None,
            }
        }
    }

    /// Skips a comment, or a blank outside ASCII, if `byte` starts one here.
    fn skip_rare(&mut self, byte: u8) -> Skipped {
        let bytes = self.text.as_bytes();
        match byte {
            b'-' if self.byte(1) == Some(b'-') => {
                self.position = match memchr::memchr(b'\n', &bytes[self.position..]) {
                    Some(at) => self.position + at,
                    None => bytes.len(),
                };
                Skipped::Some
            }
            b'/' if self.byte(1) == Some(b'*') => match self.skip_comment() {
                Some(unclosed) => Skipped::Unclosed(unclosed),
                None => Skipped::Some,
            },
            0x80.. => match self.text[self.position..].chars().next() {
                Some(c) if c.is_whitespace() || c == '\u{FEFF}' || c == '\u{200B}' => {
                    self.position += c.len_utf8();
                    Skipped::Some
                }
                _ => Skipped::Nothing,
            },
            _ => Skipped::Nothing,
        }
    }

    /// Skips `/* .. */`, which nests.
    fn skip_comment(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        let (start, line) = (self.position, self.line);
        self.position += 2;
        let mut depth = 1;
        while depth > 0 {
            let Some(at) = memchr::memchr3(b'*', b'/', b'\n', &bytes[self.position..]) else {
                self.position = bytes.len();
                let (start, end) = (start as u32, bytes.len() as u32);
                return Some(Token { kind: TokenKind::UnclosedComment, start, end, line });
            };
            self.position += at;
            match (bytes[self.position], self.byte(1)) {
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.position += 2;
                }
                (b'/', Some(b'*')) => {
                    depth += 1;
                    self.position += 2;
                }
                (b'\n', _) => {
                    self.line += 1;
                    self.position += 1;
                }
                _ => self.position += 1,
            }
        }
        None
    }

    /// Scans one token that starts with `first` at the current position.
    fn scan(&mut self, first: u8) -> TokenKind {
        match first {
            b'\'' => self.quoted(b'\'', TokenKind::String),
            b'N' | b'n' if self.byte(1) == Some(b'\'') => {
                self.position += 1;
                self.quoted(b'\'', TokenKind::NString)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(true),
            b'#' => self.word(false),
            b'[' => self.quoted(b']', TokenKind::Bracketed),
            b'"' if self.quoted_identifier => self.quoted(b'"', TokenKind::Quoted),
            b'"' => self.quoted(b'"', TokenKind::String),
            b'@' => self.variable(),
            b'0' if matches!(self.byte(1), Some(b'x' | b'X')) => self.binary(),
            b'0'..=b'9' => self.number(),
            b'.' if matches!(self.byte(1), Some(b'0'..=b'9')) => self.number(),
            b'$' => match self.byte(1) {
                Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.word(false),
                Some(b'(') => self.symbol(first),
                _ => self.money(1),
            },
            0x80.. => self.beyond_ascii(),
            _ => self.symbol(first),
        }
    }

    fn symbol(&mut self, byte: u8) -> TokenKind {
        self.position += 1;
        TokenKind::Symbol(byte)
    }

    fn beyond_ascii(&mut self) -> TokenKind {
        let Some(first) = self.text[self.position..].chars().next() else { return TokenKind::End };
        if first.is_alphabetic() {
            self.skip_word_rest();
            TokenKind::Word
        } else if is_currency(first) {
            self.money(first.len_utf8())
        } else {
            self.position += first.len_utf8();
            TokenKind::Unknown
        }
    }

    /// A word that starts with an ASCII character; only plain letters can spell a keyword.
    #[inline]
    fn word(&mut self, may_be_keyword: bool) -> TokenKind {
        let start = self.position;
        self.position += 1;
        self.skip_word_rest();
        if may_be_keyword && let Some(keyword) = keywords::lookup(self.text.as_bytes(), start, self.position)
        {
            return TokenKind::Keyword(keyword);
        }
        TokenKind::Word
    }

    #[inline]
    fn skip_word_rest(&mut self) {
        let bytes = self.text.as_bytes();
        let mut position = self.position;
        while let Some(&byte) = bytes.get(position)
            && CLASS[byte as usize] & IN_WORD != 0
        {
            position += 1;
        }
        self.position = position;
        if bytes.get(position).is_some_and(|byte| !byte.is_ascii()) {
            self.skip_word_beyond_ascii();
        }
    }

    /// The rest of a word from a character outside ASCII on, if that belongs to a word.
    #[cold]
    fn skip_word_beyond_ascii(&mut self) {
        for c in self.text[self.position..].chars() {
            let belongs = match u8::try_from(c) {
                Ok(byte) if byte.is_ascii() => CLASS[byte as usize] & IN_WORD != 0,
                _ => c.is_alphanumeric() || is_mark(c),
            };
            if !belongs {
                return;
            }
            self.position += c.len_utf8();
        }
    }

    /// A name with two at signs is a variable like any other, unless the server has a value of that name.
    fn variable(&mut self) -> TokenKind {
        let start = self.position;
        self.position += 1;
        let may_be_global = self.byte(0) == Some(b'@');
        self.skip_word_rest();
        let is_global = may_be_global && keywords::is_global(&self.text[start..self.position]);
        if is_global { TokenKind::GlobalVariable } else { TokenKind::Variable }
    }

    /// A string or quoted name: up to `close` that is not doubled.
    fn quoted(&mut self, close: u8, kind: TokenKind) -> TokenKind {
        let bytes = self.text.as_bytes();
        let body = self.position + 1;
        let mut at = body;
        loop {
            let Some(found) = memchr::memchr(close, &bytes[at..]) else {
                self.line += count_lines(&bytes[body..]);
                self.position = bytes.len();
                return TokenKind::Unclosed;
            };
            at += found + 1;
            if bytes.get(at) != Some(&close) {
                break;
            }
            at += 1;
        }
        self.line += count_lines(&bytes[body..at]);
        self.position = at;
        kind
    }

    /// `0x` and hexadecimal digits, which a backslash at the end of a line continues on the next.
    fn binary(&mut self) -> TokenKind {
        self.position += 2;
        loop {
            match self.byte(0) {
                Some(byte) if byte.is_ascii_hexdigit() => self.position += 1,
                Some(b'\\') if self.byte(1) == Some(b'\n') => {
                    self.position += 2;
                    self.line += 1;
                }
                Some(b'\\') if self.byte(1) == Some(b'\r') && self.byte(2) == Some(b'\n') => {
                    self.position += 3;
                    self.line += 1;
                }
                _ => return TokenKind::Binary,
            }
        }
    }

    fn number(&mut self) -> TokenKind {
        let mut kind = TokenKind::Integer;
        self.skip_digits();
        if self.byte(0) == Some(b'.') {
            self.position += 1;
            self.skip_digits();
            kind = TokenKind::Decimal;
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            let digit = matches!(self.byte(1 + sign), Some(b'0'..=b'9'));
            let word_goes_on = self.byte(1 + sign).is_some_and(|byte| CLASS[byte as usize] & IN_WORD != 0);
            // `1e` and `1e+` are complete to SQL Server; `1else` is not.
            if digit || !word_goes_on {
                self.position += 1 + sign;
                self.skip_digits();
                kind = TokenKind::Float;
            }
        }
        kind
    }

    fn skip_digits(&mut self) {
        while matches!(self.byte(0), Some(b'0'..=b'9')) {
            self.position += 1;
        }
    }

    fn money(&mut self, sign_bytes: usize) -> TokenKind {
        self.position += sign_bytes;
        self.skip_digits();
        if self.byte(0) == Some(b'.') && matches!(self.byte(1), Some(b'0'..=b'9')) {
            self.position += 1;
            self.skip_digits();
        }
        TokenKind::Money
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let token = self.next_token();
        (token.kind != TokenKind::End).then_some(token)
    }
}

/// What `skip_rare` did.
enum Skipped {
    Some,
    Nothing,
    Unclosed(Token),
}

/// Class of a byte: continues a word.
const IN_WORD: u8 = 1;
/// Class of a byte: a blank. All control characters are blanks to SQL Server.
const BLANK: u8 = 2;
/// Class of a byte: may start a comment or a blank outside ASCII.
const MAY_SKIP: u8 = 4;

/// Classes of all bytes.
const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'@' | b'#' | b'$' => IN_WORD,
            0..=b' ' | 0x7F => BLANK,
            b'-' | b'/' | 0x80.. => MAY_SKIP,
            _ => 0,
        };
        byte += 1;
    }
    table
};

fn count_lines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}

/// Combining marks that are allowed inside a name.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{200C}' | '\u{200D}' | '\u{FF3F}')
}

/// Currency signs that start a money constant, besides `$`.
fn is_currency(c: char) -> bool {
    matches!(
        c,
        '¢' | '£' | '¤' | '¥' | '\u{09F2}' | '\u{09F3}' | '\u{0E3F}' | '\u{17DB}' | '\u{20A0}'
            ..='\u{20B1}'
                | '\u{FDFC}'
                | '\u{FE69}'
                | '\u{FF04}'
                | '\u{FFE0}'
                | '\u{FFE1}'
                | '\u{FFE5}'
                | '\u{FFE6}'
    )
}

#[cfg(test)]
mod tests {
    use super::TokenKind::*;
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        Lexer::new(text, true).map(|t| t.kind).collect()
    }

    #[test]
    fn every_kind_of_token_is_recognised() {
        assert_eq!(
            kinds(
                "a [a]]b] \"q\"\"r\" 'x''y' N'z' @v @@rowcount #t ##t $action 1 1.5 .5 1. 1e5 1e-3 1e 0x1F 0x $1.5 £2"
            ),
            [
                Word,
                Bracketed,
                Quoted,
                String,
                NString,
                Variable,
                GlobalVariable,
                Word,
                Word,
                Word,
                Integer,
                Decimal,
                Decimal,
                Decimal,
                Float,
                Float,
                Float,
                Binary,
                Binary,
                Money,
                Money
            ]
        );
        assert_eq!(kinds("select"), [TokenKind::Keyword(keywords::Keyword::Select)]);
        assert_eq!(kinds("1else"), [Integer, TokenKind::Keyword(keywords::Keyword::Else)]);
    }

    #[test]
    fn comments_nest_and_lines_count() {
        let tokens: Vec<Token> = Lexer::new("/* a /* b\n */ c\n*/ x -- y\n'p\nq' z", true).collect();
        let lines: Vec<u32> = tokens.iter().map(|t| t.line).collect();
        assert_eq!(lines, [3, 4, 5]);
        assert_eq!(kinds("a /* b /* c */ d"), [Word, UnclosedComment]);
    }

    #[test]
    fn quotes_follow_the_option_and_may_stay_open() {
        assert_eq!(Lexer::new("\"x\"", false).next_token().kind, String);
        assert_eq!(kinds("'abc''"), [Unclosed]);
        assert_eq!(kinds("[abc"), [Unclosed]);
    }

    #[test]
    fn names_beyond_ascii_and_odd_blanks() {
        assert_eq!(kinds("größe\u{A0}Ünïcode \u{FEFF}名前 ♥"), [Word, Word, Word, Unknown]);
    }
}
