//! The recursive-descent parser: its state, token helpers and errors. The grammar is in the other files.
//!
//! Functions named `at_..` test the next tokens, `accept_..` take if present, `expect_..` take or fail, and those named after a
//! piece of grammar parse it. A failure carries the first error; the statement list in `batch.rs` recovers.

mod admin;
mod backup;
mod batch;
mod control;
mod cursor;
mod ddl_column;
mod ddl_database;
mod ddl_index;
mod ddl_misc;
mod ddl_module;
mod ddl_table;
mod dml;
mod exec;
mod expr;
mod from;
mod function;
mod literal;
mod name;
mod options;
mod query_hint;
mod scope;
mod security;
mod select;
mod set_options;
mod tran;
mod unquote;

use crate::ast::{Batch, Expr, Ident, OrderByItem, Span};
use crate::error::SyntaxError;
use crate::keywords::Keyword;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::options::ParseOptions;

use scope::Scope;

/// Result of a piece of grammar.
type Parsed<T> = Result<T, Box<SyntaxError>>;

/// Deepest nesting of queries, expressions and blocks together, by their weights: beyond it error 191. Such a batch
/// parses in a part of a worker's stack of 512 KB (tested in `tests/limits.rs`).
const NESTING_MAX: u32 = 240;

/// Characters of an identifier or variable, the delimiters apart.
const IDENTIFIER_CHARACTERS_MAX: usize = 128;

/// Weight of parentheses and signs.
const LIGHT: u32 = 1;
/// Weight of calls, CASE, statements, lists of options.
const CALL: u32 = 2;
/// Weight of queries and table sources.
const QUERY: u32 = 3;

/// State of one parse.
pub(crate) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    position: usize,
    /// How many constructs are open.
    depth: u32,
    /// Height that the tree under the construct being parsed reaches, counted from the root.
    deepest: u32,
    errors: Vec<SyntaxError>,
    quoted_identifier: bool,
    /// How often SET QUOTED_IDENTIFIER may still change the meaning of the text behind it.
    relex_budget: u32,
    /// The context of the statement: batch, procedure, loop, labels.
    scope: Scope,
    /// Is a subquery, derived table or common table expression being parsed? Only there may a branch of a set operation have ORDER BY.
    in_subquery: bool,
    /// Are the items of an OUTPUT clause being parsed? They may contain no query.
    in_output: bool,
    /// An ORDER BY that was read behind a SELECT and belongs to the whole query.
    order_read: Option<Vec<OrderByItem>>,
    /// Is an expression without a row source being parsed (PRINT, DEFAULT)? It may contain no column (128) and no query (1046).
    without_rows: bool,
    /// Are the rows of an INSERT being parsed? They may contain no column without a table name (128).
    in_values: bool,
    /// The first part that is not allowed in such an expression.
    misplaced: Option<Box<SyntaxError>>,
    /// The position of the unit of DATEADD and similar functions: a word, not a column.
    unit_at: Option<u32>,
    /// The first SET SHOWPLAN met.
    showplan: Option<Token>,
    /// Must the parse be stopped?
    is_spent: fn() -> bool,
    /// The position at which it was stopped.
    given_up: Option<Token>,
}

/// Parses a whole batch.
pub(crate) fn parse_batch(text: &str, options: &ParseOptions) -> Result<Batch, Vec<SyntaxError>> {
    parse_batch_while(text, options, || false)
}

/// Parses a batch until `is_spent` returns true: then that is the only error.
pub(crate) fn parse_batch_while(
    text: &str,
    options: &ParseOptions,
    is_spent: fn() -> bool,
) -> Result<Batch, Vec<SyntaxError>> {
    let mut parser = Parser::within(text, options, is_spent);
    if let Some(token) = parser.given_up {
        return Err(vec![*parser.out_of_memory(token)]);
    }
    if let Some(error) = parser.too_long_identifier() {
        return Err(vec![error]);
    }
    let statements = parser.batch();
    if let Some(token) = parser.given_up {
        return Err(vec![*parser.out_of_memory(token)]);
    }
    if parser.errors.is_empty() { Ok(Batch { statements }) } else { Err(parser.errors) }
}

/// Parses a text that is one expression or condition.
pub(crate) fn parse_expression(text: &str, options: &ParseOptions) -> Result<Expr, Vec<SyntaxError>> {
    let mut parser = Parser::new(text, options);
    let parsed = parser
        .expression_or_condition()
        .and_then(|expr| if parser.kind() == TokenKind::End { Ok(expr) } else { Err(parser.unexpected()) });
    parsed.map_err(|error| vec![*error])
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, options: &ParseOptions) -> Parser<'t> {
        Parser::within(text, options, || false)
    }

    fn within(text: &'t str, options: &ParseOptions, is_spent: fn() -> bool) -> Parser<'t> {
        let (tokens, whole) = Lexer::new(text, options.quoted_identifier).tokenize_while(is_spent);
        Parser {
            is_spent,
            given_up: if whole { None } else { tokens.last().copied() },
            quoted_identifier: options.quoted_identifier,
            relex_budget: 100,
            text,
            tokens,
            position: 0,
            depth: 0,
            deepest: 0,
            errors: Vec::new(),
            scope: Scope::default(),
            in_subquery: false,
            in_output: false,
            order_read: None,
            without_rows: false,
            in_values: false,
            misplaced: None,
            unit_at: None,
            showplan: None,
        }
    }

    /// SET QUOTED_IDENTIFIER holds for the text behind it, in the same batch.
    fn set_quoted_identifier(&mut self, on: bool) {
        if on == self.quoted_identifier || self.relex_budget == 0 || self.position == 0 {
            return;
        }
        self.quoted_identifier = on;
        self.relex_budget -= 1;
        let last = self.tokens[self.position - 1];
        if memchr::memchr(b'"', &self.text.as_bytes()[last.end as usize..]).is_some() {
            self.tokens.truncate(self.position);
            let (tokens, whole) = Lexer::resume(self.text, on, last).tokenize_while(self.is_spent);
            self.tokens.extend(tokens);
            if !whole {
                self.given_up = self.tokens.last().copied();
            }
        }
    }

    /// Error 103: the first identifier or variable that is too long.
    fn too_long_identifier(&self) -> Option<SyntaxError> {
        let is_too_long = |token: &&Token| {
            let length_bytes = (token.end - token.start) as usize;
            length_bytes > IDENTIFIER_CHARACTERS_MAX
                && matches!(
                    token.kind,
                    TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted | TokenKind::Variable
                )
                && self.ident_of(**token).value.chars().count() > IDENTIFIER_CHARACTERS_MAX
        };
        let token = *self.tokens.iter().find(is_too_long)?;
        let near = self.ident_of(token).value.chars().take(IDENTIFIER_CHARACTERS_MAX).collect();
        Some(*self.error_at(103, token, near))
    }

    // ---- looking at tokens

    #[inline]
    fn token(&self) -> Token {
        self.tokens[self.position]
    }

    #[inline]
    fn kind(&self) -> TokenKind {
        self.tokens[self.position].kind
    }

    /// The token `ahead` places on; the closing `End` beyond the last.
    #[inline]
    fn peek(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[(self.position + ahead).min(last)]
    }

    #[inline]
    fn peek_kind(&self, ahead: usize) -> TokenKind {
        self.peek(ahead).kind
    }

    fn token_text(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    #[inline]
    fn advance(&mut self) -> Token {
        let token = self.tokens[self.position];
        if self.position + 1 < self.tokens.len() {
            self.position += 1;
        }
        token
    }

    #[inline]
    fn at(&self, keyword: Keyword) -> bool {
        self.kind() == TokenKind::Keyword(keyword)
    }

    #[inline]
    fn at_ahead(&self, ahead: usize, keyword: Keyword) -> bool {
        self.peek_kind(ahead) == TokenKind::Keyword(keyword)
    }

    #[inline]
    fn at_symbol(&self, symbol: u8) -> bool {
        self.kind() == TokenKind::Symbol(symbol)
    }

    #[inline]
    fn symbol_ahead(&self, ahead: usize, symbol: u8) -> bool {
        self.peek_kind(ahead) == TokenKind::Symbol(symbol)
    }

    /// Whether the token is an unquoted, non-reserved word equal to `word` (upper case).
    #[inline]
    fn at_word(&self, word: &str) -> bool {
        self.word_ahead(0, word)
    }

    #[inline]
    fn word_ahead(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek(ahead);
        token.kind == TokenKind::Word && self.token_text(token).eq_ignore_ascii_case(word)
    }

    /// Whether the token spells `word`, reserved or not.
    fn spells_ahead(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek(ahead);
        matches!(token.kind, TokenKind::Word | TokenKind::Keyword(_))
            && self.token_text(token).eq_ignore_ascii_case(word)
    }

    fn at_spelling(&self, word: &str) -> bool {
        self.spells_ahead(0, word)
    }

    /// Whether the token is an identifier (word or quoted).
    #[inline]
    fn at_ident(&self) -> bool {
        self.ident_ahead(0)
    }

    #[inline]
    fn ident_ahead(&self, ahead: usize) -> bool {
        matches!(self.peek_kind(ahead), TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted)
    }

    fn at_string(&self) -> bool {
        matches!(self.kind(), TokenKind::String | TokenKind::NString)
    }

    // ---- taking tokens

    #[inline]
    fn accept(&mut self, keyword: Keyword) -> bool {
        let found = self.at(keyword);
        if found {
            self.advance();
        }
        found
    }

    #[inline]
    fn accept_symbol(&mut self, symbol: u8) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    #[inline]
    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes all of `words` (each reserved or not) or none.
    fn accept_words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, word)| self.spells_ahead(ahead, word));
        if found {
            for _ in words {
                self.advance();
            }
        }
        found
    }

    fn expect(&mut self, keyword: Keyword) -> Parsed<()> {
        if self.accept(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_symbol(&mut self, symbol: u8) -> Parsed<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    // ---- spans and lists

    fn span_from(&self, start: Token) -> Span {
        let end = match self.position {
            0 => start.end,
            position => self.tokens[position - 1].end,
        };
        Span { start: start.start, end: end.max(start.start), line: start.line }
    }

    fn span_of(&self, token: Token) -> Span {
        Span { start: token.start, end: token.end, line: token.line }
    }

    /// `item, item, ..`
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let first = item(self)?;
        if !self.at_symbol(b',') {
            return Ok(vec![first]);
        }
        let mut items = Vec::with_capacity(4);
        items.push(first);
        while self.accept_symbol(b',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, item, ..)`
    fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect_symbol(b'(')?;
        let items = self.comma_list(item)?;
        self.expect_symbol(b')')?;
        Ok(items)
    }

    /// Runs `inner` deeper by `weight` (`LIGHT`, `CALL` or `QUERY`); error 191 beyond the limit.
    #[inline]
    fn nested<T>(&mut self, weight: u32, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth + weight > NESTING_MAX {
            return Err(self.too_deep());
        }
        if (self.is_spent)() {
            return Err(self.give_up());
        }
        self.depth += weight;
        self.deepest = self.deepest.max(self.depth);
        let result = inner(self);
        self.depth -= weight;
        result
    }

    /// The text of tokens from `start` up to the current one, as written.
    fn raw_since(&self, start: Token) -> String {
        self.span_from(start).slice(self.text).to_string()
    }

    // ---- errors

    /// Stops parsing: the rest of the text counts as its end.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self) -> Box<SyntaxError> {
        let token = *self.given_up.get_or_insert(self.tokens[self.position]);
        self.position = self.tokens.len() - 1;
        self.out_of_memory(token)
    }

    fn out_of_memory(&self, token: Token) -> Box<SyntaxError> {
        let error = self.error_at(701, token, String::new());
        Box::new(SyntaxError { severity: 17, state: 123, ..*error })
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&self) -> Box<SyntaxError> {
        self.error_at(191, self.token(), String::new())
    }

    fn error_at(&self, number: i32, token: Token, near: String) -> Box<SyntaxError> {
        Box::new(SyntaxError { number, severity: 15, state: 1, line: token.line, near, offset: token.start })
    }

    /// The error for a token that does not fit: 156 near a keyword, 102 near anything else. At the end of the
    /// text SQL Server names the last token, as 102.
    fn unexpected(&self) -> Box<SyntaxError> {
        self.unexpected_at(self.position)
    }

    fn unexpected_at(&self, position: usize) -> Box<SyntaxError> {
        let token = self.tokens[position];
        match token.kind {
            TokenKind::End => {
                let last = self.tokens[position.saturating_sub(1)];
                self.error_at(102, last, self.near(last))
            }
            TokenKind::Keyword(_) => self.error_at(156, token, self.near(token)),
            TokenKind::Unclosed => self.error_at(105, token, self.near(token)),
            TokenKind::UnclosedComment => self.error_at(113, token, String::new()),
            _ => self.error_at(102, token, self.near(token)),
        }
    }

    /// How an error message shows a token: strings and quoted names without their quotes.
    fn near(&self, token: Token) -> String {
        const NEAR_CHARS_MAX: usize = 128;
        let text = self.token_text(token);
        let shown = match token.kind {
            TokenKind::String | TokenKind::NString | TokenKind::Bracketed | TokenKind::Quoted => {
                unquote::unquote(text)
            }
            TokenKind::Unclosed => text.trim_start_matches(['N', 'n']).chars().skip(1).collect(),
            _ => text.to_string(),
        };
        if shown.len() <= NEAR_CHARS_MAX { shown } else { shown.chars().take(NEAR_CHARS_MAX).collect() }
    }

    /// Error for a name that is spelled by `ident` (102 near it).
    fn unknown_word(&self, ident: &Ident, token: Token) -> Box<SyntaxError> {
        self.error_at(102, token, ident.value.clone())
    }
}
