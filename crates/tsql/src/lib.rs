//! T-SQL text to syntax tree and back, with SQL Server's syntax errors.
//!
//! [`parse_batch`] turns one batch into [`ast::Batch`] or the syntax errors SQL Server would report;
//! [`split_go`] splits a script into batches as its clients do; [`format`](fn@format) prints a tree back.

pub mod ast;
mod error;
mod format;
mod keywords;
mod lexer;
mod options;
mod parser;
mod script;
mod set_words;

pub use error::SyntaxError;
pub use keywords::{Keyword, is_global};
pub use lexer::{Lexer, Token, TokenKind};
pub use options::ParseOptions;
pub use script::{GoLine, ScriptBatch, ScriptPlace, split_go};

/// Parses a whole batch. No statement of a batch with an error may run; errors come in text order, at least one.
pub fn parse_batch(text: &str, options: &ParseOptions) -> Result<ast::Batch, Vec<SyntaxError>> {
    parser::parse_batch(text, options)
}

/// The same as [`parse_batch`], stopped with error 701 (severity 17, state 123) when `is_spent` returns true. It is called for every construct and
/// every few thousand tokens, so it should be fast.
pub fn parse_batch_while(
    text: &str,
    options: &ParseOptions,
    is_spent: fn() -> bool,
) -> Result<ast::Batch, Vec<SyntaxError>> {
    parser::parse_batch_while(text, options, is_spent)
}

/// Parses one expression that must fill `text` (stored defaults, checks, computed columns).
pub fn parse_expression(text: &str, options: &ParseOptions) -> Result<ast::Expr, Vec<SyntaxError>> {
    parser::parse_expression(text, options)
}

/// Prints a batch canonically: parsing the result gives an equal tree.
pub fn format(batch: &ast::Batch) -> String {
    format::batch(batch)
}

/// Prints one expression canonically.
pub fn format_expression(expr: &ast::Expr) -> String {
    format::expression(expr)
}

/// The form in which SQL Server's catalog keeps the expression of a default, a CHECK or a computed column. `None` for an expression
/// with parts whose form is not known.
pub fn normal_expression(expr: &ast::Expr) -> Option<String> {
    let text = format::normal::text(expr)?;
    // The form must parse to the same meaning.
    let again = parse_expression(&text, &ParseOptions::default()).ok()?;
    (format::normal::text(&again).as_ref() == Some(&text)).then_some(text)
}
