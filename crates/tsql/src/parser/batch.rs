//! Statement lists: the start of each statement, rules between statements, labels, recovery after an error.

use super::scope::{Scope, ScopeKind};
use super::{CALL, Parsed, Parser};
use crate::ast::{Ident, Other, Statement, StatementKind};
use crate::error::SyntaxError;
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

/// Errors reported for one batch at most.
const ERRORS_MAX: usize = 50;

impl Parser<'_> {
    /// All statements of the batch; errors are collected.
    pub(super) fn batch(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        loop {
            statements.append(&mut self.statement_list());
            if self.kind() == TokenKind::End || self.errors.len() >= ERRORS_MAX || self.given_up.is_some() {
                break;
            }
            // An END without its BEGIN.
            let error = self.unexpected();
            self.report(error);
            self.advance();
        }
        self.check_labels();
        self.check_showplan(&statements);
        self.errors.sort_by_key(|error| error.offset);
        statements
    }

    /// SET SHOWPLAN must be the only statement of its batch (1067).
    fn check_showplan(&mut self, statements: &[Statement]) {
        let Some(token) = self.showplan else { return };
        if !matches!(statements, [Statement { kind: StatementKind::Set(_), .. }]) && self.errors.is_empty() {
            let error = self.error_at(1067, token, self.near(token));
            self.report(*error);
        }
    }

    /// Runs `inner` in the scope of a module and checks its labels.
    pub(super) fn in_scope<T>(
        &mut self,
        kind: ScopeKind,
        variables: impl Iterator<Item = String>,
        inner: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let scope = Scope { kind, variables: variables.collect(), ..Scope::default() };
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = inner(self);
        self.check_labels();
        self.scope = outer;
        result
    }

    /// Statements up to END or the end of the text. Errors are noted and parsing continues behind them.
    pub(super) fn statement_list(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        let mut terminated = true;
        loop {
            while self.accept_symbol(b';') {
                terminated = true;
            }
            if self.at_list_end() || self.errors.len() >= ERRORS_MAX || self.given_up.is_some() {
                return statements;
            }
            let (start, depth) = (self.position, self.depth);
            match self.statement(terminated) {
                Ok(statement) => statements.push(statement),
                Err(error) => {
                    self.depth = depth;
                    self.report(*error);
                    self.recover(start);
                }
            }
            terminated = false;
        }
    }

    fn at_list_end(&self) -> bool {
        match self.kind() {
            TokenKind::End => true,
            TokenKind::Keyword(Keyword::End) => !self.word_ahead(1, "CONVERSATION"),
            _ => false,
        }
    }

    /// One statement. `terminated`: whether a `;` or the start of a list is before it.
    pub(super) fn statement(&mut self, terminated: bool) -> Parsed<Statement> {
        let start = self.token();
        let kind = self.nested(CALL, |p| p.statement_kind(terminated));
        let misplaced = self.misplaced.take();
        let kind = kind?;
        if let Some(error) = misplaced {
            self.report(error);
        }
        Ok(Statement { span: self.span_from(start), kind })
    }

    /// A statement inside IF, WHILE and the like.
    pub(super) fn inner_statement(&mut self) -> Parsed<Statement> {
        self.scope.blocks += 1;
        let result = self.statement(true);
        self.scope.blocks -= 1;
        result
    }

    /// Statements up to END inside a block; at least one, or a lone `;`.
    pub(super) fn inner_list(&mut self) -> Parsed<Vec<Statement>> {
        let errors = self.errors.len();
        let empty = self.at_list_end();
        self.scope.blocks += 1;
        let statements = self.statement_list();
        self.scope.blocks -= 1;
        if empty && self.errors.len() == errors {
            return Err(self.unexpected());
        }
        Ok(statements)
    }

    fn statement_kind(&mut self, terminated: bool) -> Parsed<StatementKind> {
        match self.kind() {
            TokenKind::Keyword(Keyword::With) => self.with_statement(terminated),
            TokenKind::Keyword(Keyword::If) => self.if_statement(),
            TokenKind::Keyword(Keyword::While) => self.while_statement(),
            TokenKind::Keyword(Keyword::Begin) => self.begin_statement(),
            TokenKind::Keyword(keyword) => self.leaf_statement(keyword),
            TokenKind::Symbol(b'(') if self.opens_query() => {
                Ok(StatementKind::Select(Box::new(self.select_statement(None)?)))
            }
            TokenKind::Symbol(b'{') => self.odbc_call_statement(),
            TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted | TokenKind::Symbol(b'.') => {
                self.word_statement(terminated)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Whether the parentheses here hold a SELECT.
    fn opens_query(&self) -> bool {
        let mut ahead = 0;
        while self.symbol_ahead(ahead, b'(') {
            ahead += 1;
        }
        self.at_ahead(ahead, Keyword::Select)
    }

    #[inline(never)]
    fn with_statement(&mut self, terminated: bool) -> Parsed<StatementKind> {
        if !terminated {
            return Err(self.error_at(319, self.token(), self.near(self.token())));
        }
        let with = Some(self.with_clause()?);
        match self.kind() {
            TokenKind::Keyword(Keyword::Insert) => self.insert(with),
            TokenKind::Keyword(Keyword::Update) => self.update(with),
            TokenKind::Keyword(Keyword::Delete) => self.delete(with),
            TokenKind::Keyword(Keyword::Merge) => self.merge(with),
            TokenKind::Keyword(Keyword::Select) | TokenKind::Symbol(b'(') => {
                Ok(StatementKind::Select(Box::new(self.select_statement(with)?)))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Statements that start with a reserved keyword and hold no statements, but for modules.
    #[inline(never)]
    fn leaf_statement(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        match keyword {
            Keyword::Select => Ok(StatementKind::Select(Box::new(self.select_statement(None)?))),
            Keyword::Insert => self.insert(None),
            Keyword::Update if self.at_ahead(1, Keyword::Statistics) => self.update_statistics(),
            Keyword::Update => self.update(None),
            Keyword::Delete => self.delete(None),
            Keyword::Merge => self.merge(None),
            Keyword::Truncate => self.truncate(),
            Keyword::Bulk => self.bulk_insert(),
            Keyword::Set => self.set_statement(),
            Keyword::Declare => self.declare(),
            Keyword::Exec | Keyword::Execute => self.execute_statement(),
            Keyword::Break | Keyword::Continue => self.loop_jump(keyword),
            Keyword::Return => self.return_statement(),
            Keyword::Goto => self.goto_statement(),
            Keyword::Print => {
                self.advance();
                Ok(StatementKind::Print(Box::new(self.value_without_rows()?)))
            }
            Keyword::Raiserror => self.raiserror(),
            Keyword::Waitfor => self.waitfor(),
            Keyword::Commit => self.commit(),
            Keyword::Rollback => self.rollback(),
            Keyword::Save => self.save_transaction(),
            Keyword::Open | Keyword::Close | Keyword::Deallocate => self.cursor_statement(keyword),
            Keyword::Fetch => self.fetch(),
            Keyword::Create => self.create(),
            Keyword::Alter => self.alter(),
            Keyword::Drop => self.drop(),
            Keyword::Use => {
                if self.scope.kind != ScopeKind::Batch {
                    return Err(self.error_at(154, self.token(), String::new()));
                }
                self.advance();
                Ok(StatementKind::Use(self.ident()?))
            }
            Keyword::Backup => self.backup(),
            Keyword::Restore => self.restore(),
            Keyword::Grant | Keyword::Deny | Keyword::Revoke => self.permission(keyword),
            Keyword::Revert => self.revert(),
            _ => self.administration(keyword),
        }
    }

    /// Statements that start with an ordinary word; a bare procedure call at the start of the batch.
    #[inline(never)]
    fn word_statement(&mut self, terminated: bool) -> Parsed<StatementKind> {
        if self.at_label() {
            return Ok(self.label());
        }
        if self.at_word("THROW") && self.symbol_or_end_after_throw() {
            if !terminated {
                return Err(self.unexpected());
            }
            return self.throw();
        }
        if (self.at_word("ENABLE") || self.at_word("DISABLE")) && self.at_ahead(1, Keyword::Trigger) {
            return self.enable_trigger();
        }
        if let Some(kind_name) = self.opaque_word_statement() {
            return self.other(kind_name);
        }
        if self.is_first_in_batch() {
            return self.bare_call();
        }
        Err(self.unexpected())
    }

    /// Whether THROW here is the statement and not a procedure's name at the start of the batch.
    fn symbol_or_end_after_throw(&self) -> bool {
        !matches!(self.peek_kind(1), TokenKind::Symbol(b'.'))
    }

    /// Name of a statement that starts with an ordinary word and is kept as text.
    fn opaque_word_statement(&self) -> Option<&'static str> {
        match () {
            () if self.at_word("SEND") && self.at_ahead(1, Keyword::On) => Some("SEND"),
            () if self.at_word("RECEIVE") && !self.symbol_ahead(1, b'.') => Some("RECEIVE"),
            () if self.at_word("MOVE") && self.word_ahead(1, "CONVERSATION") => Some("MOVE CONVERSATION"),
            () if self.at_word("GET") && self.word_ahead(1, "CONVERSATION") => Some("GET CONVERSATION GROUP"),
            () if self.at_word("RENAME") && self.word_ahead(1, "OBJECT") => Some("RENAME OBJECT"),
            () if self.at_word("COPY") && self.at_ahead(1, Keyword::Into) => Some("COPY INTO"),
            () => None,
        }
    }

    /// Whether only `;` are before this token.
    pub(super) fn is_first_in_batch(&self) -> bool {
        self.tokens[..self.position].iter().all(|token| token.kind == TokenKind::Symbol(b';'))
    }

    /// The statement from here to its end as text.
    pub(super) fn other(&mut self, kind_name: &str) -> Parsed<StatementKind> {
        let start = self.token();
        self.advance();
        self.skip_statement()?;
        let text = self.raw_since(start);
        Ok(StatementKind::Other(Box::new(Other { kind_name: kind_name.to_string(), text })))
    }

    /// Moves to the `;` or keyword that ends the statement, over anything in balanced parentheses.
    pub(super) fn skip_statement(&mut self) -> Parsed<()> {
        let mut depth = 0u32;
        loop {
            match self.kind() {
                TokenKind::End | TokenKind::Unclosed | TokenKind::UnclosedComment if depth > 0 => {
                    return Err(self.unexpected());
                }
                TokenKind::End | TokenKind::Unclosed | TokenKind::UnclosedComment => return Ok(()),
                TokenKind::Symbol(b';') if depth == 0 => return Ok(()),
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') if depth == 0 => return Err(self.unexpected()),
                TokenKind::Symbol(b')') => depth -= 1,
                TokenKind::Keyword(keyword)
                    if depth == 0 && starts_statement(keyword) && !self.is_clause_word() =>
                {
                    return Ok(());
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Whether the keyword here, which could start a statement, belongs to the clause before it.
    fn is_clause_word(&self) -> bool {
        let Some(before) = self.position.checked_sub(1) else { return false };
        let text = self.token_text(self.tokens[before]);
        let joiners =
            ["AFTER", "BEFORE", "FOR", "ON", "GRANT", "DENY", "ADD", "WITH", "BY", "OF", "TO", "FORCE", ","];
        joiners.iter().any(|joiner| text.eq_ignore_ascii_case(joiner))
            || (self.at(Keyword::Set)
                && !self.at_ahead(1, Keyword::Transaction)
                && self.symbol_ahead(1, b'('))
            || (self.at(Keyword::Execute) && self.at_ahead(1, Keyword::As))
            || (self.at_ahead(1, Keyword::Create) && self.at_ahead(2, Keyword::Any))
    }

    // ---- labels and variables

    fn label(&mut self) -> StatementKind {
        let token = self.advance();
        self.advance();
        let name = self.ident_of(token);
        let key = name.value.to_lowercase();
        if !self.scope.labels.insert(key) {
            let error = self.error_at(132, token, name.value.clone());
            self.report(*error);
        }
        StatementKind::Label(name)
    }

    pub(super) fn note_goto(&mut self, name: &Ident, token: Token) {
        self.scope.gotos.push((name.value.to_lowercase(), token));
    }

    fn check_labels(&mut self) {
        for (name, token) in std::mem::take(&mut self.scope.gotos) {
            if !self.scope.labels.contains(&name) {
                let error = self.error_at(133, token, self.ident_of(token).value);
                self.report(*error);
            }
        }
    }

    /// Notes a declared variable; error 134 if it was declared before in this batch or module.
    pub(super) fn note_variable(&mut self, name: &str, token: Token) {
        if !self.scope.variables.insert(name.to_lowercase()) {
            let error = self.error_at(134, token, name.to_string());
            self.report(*error);
        }
    }

    // ---- errors

    /// Notes an error; a second one at the same position is dropped. 105 is followed by 102, as in SQL Server.
    #[inline(never)]
    pub(super) fn report(&mut self, error: impl Into<SyntaxError>) {
        let error = error.into();
        if self.errors.iter().any(|known| known.offset == error.offset) || self.errors.len() >= ERRORS_MAX {
            return;
        }
        let unclosed = (error.number == 105).then(|| SyntaxError { number: 102, ..error.clone() });
        self.errors.push(error);
        self.errors.extend(unclosed);
    }

    /// Moves from the error inside the statement that began at `start` to where the next may begin.
    #[inline(never)]
    fn recover(&mut self, start: usize) {
        let mut depth = 0i32;
        for token in &self.tokens[start..self.position] {
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth -= 1,
                _ => {}
            }
        }
        if self.position == start && !self.at_list_end() {
            self.advance();
        }
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Symbol(b';') if depth <= 0 => return,
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth -= 1,
                TokenKind::Keyword(Keyword::Else) => {}
                TokenKind::Keyword(keyword) if depth <= 0 && starts_statement(keyword) => return,
                TokenKind::Unclosed | TokenKind::UnclosedComment => {
                    let error = self.unexpected();
                    self.report(*error);
                }
                _ => {}
            }
            self.advance();
        }
    }
}

impl From<Box<SyntaxError>> for SyntaxError {
    fn from(error: Box<SyntaxError>) -> SyntaxError {
        *error
    }
}

/// Reserved keywords that can only begin a statement (or a block's end) where a clause is complete.
pub(super) fn starts_statement(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Alter
            | Keyword::Backup
            | Keyword::Begin
            | Keyword::Break
            | Keyword::Bulk
            | Keyword::Checkpoint
            | Keyword::Close
            | Keyword::Commit
            | Keyword::Continue
            | Keyword::Create
            | Keyword::Dbcc
            | Keyword::Deallocate
            | Keyword::Declare
            | Keyword::Delete
            | Keyword::Deny
            | Keyword::Drop
            | Keyword::Else
            | Keyword::End
            | Keyword::Exec
            | Keyword::Execute
            | Keyword::Fetch
            | Keyword::Goto
            | Keyword::Grant
            | Keyword::If
            | Keyword::Insert
            | Keyword::Kill
            | Keyword::Merge
            | Keyword::Open
            | Keyword::Print
            | Keyword::Raiserror
            | Keyword::Reconfigure
            | Keyword::Restore
            | Keyword::Return
            | Keyword::Revert
            | Keyword::Revoke
            | Keyword::Rollback
            | Keyword::Save
            | Keyword::Select
            | Keyword::Set
            | Keyword::Shutdown
            | Keyword::Truncate
            | Keyword::Update
            | Keyword::Use
            | Keyword::Waitfor
            | Keyword::While
    )
}
