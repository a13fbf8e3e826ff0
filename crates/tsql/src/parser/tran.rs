//! BEGIN, COMMIT, ROLLBACK and SAVE of transactions.

use super::{Parsed, Parser};
use crate::ast::{BeginTransaction, Commit, Rollback, StatementKind, TransactionName};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// BEGIN [DISTRIBUTED] TRAN [name [WITH MARK ['text']]]
    pub(super) fn begin_transaction(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let distributed = self.accept(Keyword::Distributed);
        self.expect_tran()?;
        let name = self.transaction_name_opt()?;
        let mark = self.accept_words(&["WITH", "MARK"]);
        let described = mark && (self.at_string() || self.kind() == TokenKind::Variable);
        let mark_description = if described { Some(self.signed_constant()?) } else { None };
        let begin = BeginTransaction { distributed, name, mark, mark_description };
        Ok(StatementKind::BeginTransaction(Box::new(begin)))
    }

    /// COMMIT [WORK | TRAN [name]] [WITH (DELAYED_DURABILITY = ON | OFF)]; Hardpan's own: MAX_WAIT = n MS in the list
    pub(super) fn commit(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let work = self.accept_word("WORK");
        let mut commit = Commit { work, name: None, delayed_durability: None, max_wait_ms: None };
        if !commit.work && self.accept_tran() {
            commit.name = self.transaction_name_opt()?;
        }
        if !commit.work && self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
            self.advance();
            self.advance();
            self.commit_option(&mut commit)?;
            while self.accept_symbol(b',') {
                self.commit_option(&mut commit)?;
            }
            self.expect_symbol(b')')?;
        }
        Ok(StatementKind::Commit(Box::new(commit)))
    }

    /// Each at most once; a delayed commit has no wait to bound.
    fn commit_option(&mut self, commit: &mut Commit) -> Parsed<()> {
        let is_new = commit.max_wait_ms.is_none() && commit.delayed_durability != Some(true);
        if is_new && self.accept_word("MAX_WAIT") {
            self.expect_symbol(b'=')?;
            commit.max_wait_ms = Some(self.signed_constant()?);
            return self.expect_word("MS");
        }
        if commit.delayed_durability.is_some() {
            return Err(self.unexpected());
        }
        self.expect_word("DELAYED_DURABILITY")?;
        self.expect_symbol(b'=')?;
        if commit.max_wait_ms.is_some() && self.at(Keyword::On) {
            return Err(self.unexpected());
        }
        commit.delayed_durability = Some(self.on_off()?);
        Ok(())
    }

    /// ROLLBACK [WORK | TRAN [name]]
    pub(super) fn rollback(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut rollback = Rollback { work: self.accept_word("WORK"), name: None };
        if !rollback.work && self.accept_tran() {
            rollback.name = self.transaction_name_opt()?;
        }
        Ok(StatementKind::Rollback(Box::new(rollback)))
    }

    /// SAVE TRAN name
    pub(super) fn save_transaction(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_tran()?;
        match self.transaction_name_opt()? {
            Some(name) => Ok(StatementKind::SaveTransaction(name)),
            None => Err(self.unexpected()),
        }
    }

    fn accept_tran(&mut self) -> bool {
        self.accept(Keyword::Tran) || self.accept(Keyword::Transaction)
    }

    fn expect_tran(&mut self) -> Parsed<()> {
        if self.accept_tran() { Ok(()) } else { Err(self.unexpected()) }
    }

    fn transaction_name_opt(&mut self) -> Parsed<Option<TransactionName>> {
        if self.kind() == TokenKind::Variable {
            return Ok(Some(TransactionName::Variable(self.variable()?)));
        }
        if self.at_label() {
            return Ok(None);
        }
        Ok(self.ident_opt().map(TransactionName::Name))
    }
}
