//! LIKE: patterns compiled once, matched without recursion.

use super::Collation;
use crate::Value;

/// A compiled LIKE pattern.
///
/// `%` any run, `_` any one character, `[a-f]` and `[abc]` one of, `[^a]` none of, the escape character takes the next one
/// literally. A bracket that is not closed matches nothing. Ranges follow the collation's order of single characters. Trailing
/// blanks of the text count when text or pattern is nvarchar, and do not when both are varchar (the documented difference).
#[derive(Clone, Debug)]
pub struct LikePattern {
    collation: Collation,
    /// Tokens with weights of UTF-16 units; used when either side is nvarchar.
    wide: Option<Vec<Token>>,
    /// Tokens with weights of code page 1252; `None` when the pattern is nvarchar.
    narrow: Option<Vec<Token>>,
    pattern_is_wide: bool,
    /// The weight of each varchar character: for a pattern that is matched against many texts.
    weights: Option<Box<[u32; 256]>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Literal(u32),
    AnyOne,
    AnyRun,
    Set { negated: bool, ranges: Vec<(u32, u32)> },
}

impl LikePattern {
    /// Compiles a Char or NChar pattern; `None` for NULL (and for values that are not text).
    pub fn new(collation: Collation, pattern: &Value, escape: Option<u16>) -> Option<LikePattern> {
        let (units, pattern_is_wide) = match pattern {
            Value::Char(text) => (crate::codepage::decode_units(text), false),
            Value::NChar(text) => (text.to_vec(), true),
            _ => return None,
        };
        let narrow = match pattern {
            Value::Char(text) => {
                let escape = escape.map(u32::from);
                Some(compile(
                    text.iter().map(|byte| (u32::from(*byte), collation.byte_weight(*byte))),
                    escape,
                ))
            }
            _ => None,
        };
        let wide = compile(
            units.iter().map(|unit| (u32::from(*unit), collation.unit_weight(*unit))),
            escape.map(u32::from),
        );
        Some(LikePattern { collation, wide, narrow: narrow.flatten(), pattern_is_wide, weights: None })
    }

    /// The same pattern, prepared for many texts.
    pub fn for_many(mut self) -> LikePattern {
        if self.narrow.is_some() {
            let mut weights = Box::new([0; 256]);
            for byte in 0..=u8::MAX {
                weights[usize::from(byte)] = self.collation.byte_weight(byte);
            }
            self.weights = Some(weights);
        }
        self
    }

    /// Does the whole text match? `None` for NULL.
    pub fn matches(&self, text: &Value) -> Option<bool> {
        match text {
            Value::Char(text) => Some(self.matches_bytes(text)),
            Value::NChar(text) => Some(self.matches_units(text)),
            _ => None,
        }
    }

    /// Does the whole of a char or varchar text match?
    pub fn matches_bytes(&self, text: &[u8]) -> bool {
        if self.pattern_is_wide {
            return self.matches_units(&crate::codepage::decode_units(text));
        }
        let Some(tokens) = &self.narrow else { return false };
        let blanks = text.iter().rev().take_while(|byte| **byte == b' ').count();
        match &self.weights {
            Some(weights) => matches(tokens, text.len(), blanks, |index| weights[usize::from(text[index])]),
            None => matches(tokens, text.len(), blanks, |index| self.collation.byte_weight(text[index])),
        }
    }

    fn matches_units(&self, text: &[u16]) -> bool {
        let Some(tokens) = &self.wide else { return false };
        matches(tokens, text.len(), 0, |index| self.collation.unit_weight(text[index]))
    }

    /// PATINDEX: the first position (from 1) where the pattern, its leading `%` taken off, matches to the end; 0 when nowhere. `None`
    /// for NULL.
    pub fn position(&self, text: &Value) -> Option<usize> {
        let (tokens, len, weights) = match text {
            Value::Char(text) if !self.pattern_is_wide => {
                let weights: Vec<u32> = text.iter().map(|byte| self.collation.byte_weight(*byte)).collect();
                (&self.narrow, text.len(), weights)
            }
            Value::Char(text) => {
                let units = crate::codepage::decode_units(text);
                (
                    &self.wide,
                    units.len(),
                    units.iter().map(|unit| self.collation.unit_weight(*unit)).collect(),
                )
            }
            Value::NChar(text) => {
                (&self.wide, text.len(), text.iter().map(|unit| self.collation.unit_weight(*unit)).collect())
            }
            _ => return None,
        };
        let Some(tokens) = tokens else { return Some(0) };
        let skip = tokens.iter().take_while(|token| **token == Token::AnyRun).count();
        let tokens = &tokens[skip..];
        // Up to the next `%` the tokens take one character each.
        let (head, rest) =
            tokens.split_at(tokens.iter().position(|token| *token == Token::AnyRun).unwrap_or(tokens.len()));
        let starts = if skip > 0 { 0..len.max(1) } else { 0..1 };
        for start in starts {
            let end = start + head.len();
            let fits =
                end <= len && head.iter().zip(&weights[start..]).all(|(token, weight)| token.takes(*weight));
            if !fits || (rest.is_empty() && end < len) {
                continue;
            }
            // A rest that does not match here matches at no later position either: less text is left there.
            let follows = matches(rest, len - end, 0, |index| weights[end + index]);
            return Some(if follows { start + 1 } else { 0 });
        }
        Some(0)
    }
}

/// `None`: the pattern can match nothing (a bracket or the escape is left open).
fn compile(pattern: impl Iterator<Item = (u32, u32)>, escape: Option<u32>) -> Option<Vec<Token>> {
    let mut symbols = pattern.peekable();
    let mut tokens = Vec::new();
    while let Some((code, weight)) = symbols.next() {
        let token = match char::from_u32(code) {
            _ if Some(code) == escape => Token::Literal(symbols.next()?.1),
            Some('%') => Token::AnyRun,
            Some('_') => Token::AnyOne,
            Some('[') => compile_set(&mut symbols, escape)?,
            _ => Token::Literal(weight),
        };
        if token != Token::AnyRun || tokens.last() != Some(&Token::AnyRun) {
            tokens.push(token);
        }
    }
    Some(tokens)
}

fn compile_set(
    symbols: &mut std::iter::Peekable<impl Iterator<Item = (u32, u32)>>,
    escape: Option<u32>,
) -> Option<Token> {
    let is = |symbol: Option<&(u32, u32)>, c: char| symbol.is_some_and(|(code, _)| *code == u32::from(c));
    let negated = is(symbols.peek(), '^');
    if negated {
        symbols.next();
    }
    let mut ranges = Vec::new();
    loop {
        let (code, weight) = symbols.next()?;
        if code == u32::from(']') && Some(code) != escape {
            return Some(Token::Set { negated, ranges });
        }
        let low = if Some(code) == escape { symbols.next()?.1 } else { weight };
        if !is(symbols.peek(), '-') {
            ranges.push((low, low));
            continue;
        }
        let (_, hyphen) = symbols.next()?;
        if is(symbols.peek(), ']') {
            // A hyphen at the end stands for itself.
            ranges.push((low, low));
            ranges.push((hyphen, hyphen));
            continue;
        }
        let (code, weight) = symbols.next()?;
        let high = if Some(code) == escape { symbols.next()?.1 } else { weight };
        ranges.push((low, high));
    }
}

impl Token {
    #[inline]
    fn takes(&self, weight: u32) -> bool {
        match self {
            Token::Literal(literal) => *literal == weight,
            Token::AnyOne => true,
            Token::AnyRun => false,
            Token::Set { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&weight)) != *negated
            }
        }
    }
}

/// Matches with one backtracking point: the latest `%`, which takes one character more each time the rest fails. `blanks`
/// characters at the end of the text may be left over.
fn matches(tokens: &[Token], len: usize, blanks: usize, weigh: impl Fn(usize) -> u32) -> bool {
    let (mut token, mut index) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if token == tokens.len() && index + blanks >= len {
            return true;
        }
        if tokens.get(token) == Some(&Token::AnyRun) {
            token += 1;
            retry = Some((token, index));
            if token == tokens.len() {
                return true;
            }
            continue;
        }
        if token < tokens.len() && index < len && tokens[token].takes(weigh(index)) {
            token += 1;
            index += 1;
            continue;
        }
        match retry {
            Some((after, start)) if start < len => {
                let mut next = start + 1;
                // A rest that begins with a literal can match only where that character is.
                if let Some(Token::Literal(first)) = tokens.get(after) {
                    while next < len && weigh(next) != *first {
                        next += 1;
                    }
                }
                retry = Some((after, next));
                (token, index) = (after, next);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LikePattern;
    use crate::{Collation, Value};

    /// The definition, by recursion.
    fn is_like(text: &[u8], pattern: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.iter().all(|byte| *byte == b' '),
            Some((b'%', rest)) => (0..=text.len()).any(|at| is_like(&text[at..], rest)),
            Some((b'_', rest)) => !text.is_empty() && is_like(&text[1..], rest),
            Some((byte, rest)) => {
                text.first().is_some_and(|own| own.eq_ignore_ascii_case(byte)) && is_like(&text[1..], rest)
            }
        }
    }

    /// The definition of PATINDEX: blanks at the end count.
    fn place(text: &[u8], pattern: &[u8]) -> usize {
        let rest: &[u8] = &pattern[pattern.iter().take_while(|byte| **byte == b'%').count()..];
        let matches =
            |at: usize| is_like(&[&text[at..], b"#".as_slice()].concat(), &[rest, b"#".as_slice()].concat());
        let ends = if rest.len() < pattern.len() { text.len().max(1) } else { 1 };
        (0..ends).find(|at| matches(*at)).map_or(0, |at| at + 1)
    }

    /// A mismatch is found in one pass over the text, not in one pass from each position.
    #[test]
    fn the_place_of_a_pattern_in_a_long_text_takes_one_pass() {
        let text = Value::Char("ab".repeat(1_000_000).as_bytes().into());
        for (pattern, expected) in [("%a%b%a%c%", 0), ("%a_b%", 0), ("%b%a%", 2), ("%ab", 1_999_999)] {
            let pattern = LikePattern::new(Collation::DEFAULT, &Value::Char(pattern.as_bytes().into()), None);
            assert_eq!(pattern.expect("a pattern").position(&text), Some(expected));
        }
    }

    fn words(letters: &[u8], longest: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..longest {
            last = last
                .iter()
                .flat_map(|word| letters.iter().map(move |letter| [word.as_slice(), &[*letter]].concat()))
                .collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn a_pattern_for_many_texts_matches_what_the_definition_says() {
        let texts = words(b"aB ", 5);
        for pattern in words(b"Ab%_", 4) {
            let value = Value::Char(pattern.as_slice().into());
            let once = LikePattern::new(Collation::DEFAULT, &value, None).expect("a pattern");
            let many = once.clone().for_many();
            for text in &texts {
                let (value, expected) = (Value::Char(text.as_slice().into()), is_like(text, &pattern));
                assert_eq!(once.matches(&value), Some(expected), "{text:?} LIKE {pattern:?}");
                assert_eq!(many.matches(&value), Some(expected), "{text:?} LIKE {pattern:?}, for many");
                let found = once.position(&value).expect("a text");
                assert_eq!(found, place(text, &pattern), "PATINDEX of {pattern:?} in {text:?}");
            }
        }
    }
}
