//! DBCC, KILL, CHECKPOINT, SHUTDOWN, RECONFIGURE and rare statements kept as text.

use super::{Parsed, Parser};
use crate::ast::{Dbcc, DbccArgument, Expr, ExprKind, Kill, NamedOption, StatementKind};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Statements of administration, by their reserved keyword.
    pub(super) fn administration(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        match keyword {
            Keyword::Dbcc => self.dbcc(),
            Keyword::Kill => self.kill(),
            Keyword::Checkpoint => {
                self.advance();
                let constant = matches!(self.kind(), TokenKind::Integer | TokenKind::Variable);
                let duration = if constant { Some(Box::new(self.signed_constant()?)) } else { None };
                Ok(StatementKind::Checkpoint(duration))
            }
            Keyword::Shutdown => {
                self.advance();
                Ok(StatementKind::Shutdown { no_wait: self.accept_words(&["WITH", "NOWAIT"]) })
            }
            Keyword::Reconfigure => {
                self.advance();
                Ok(StatementKind::Reconfigure { with_override: self.accept_words(&["WITH", "OVERRIDE"]) })
            }
            Keyword::End if self.word_ahead(1, "CONVERSATION") => self.other("END CONVERSATION"),
            Keyword::Add if self.word_ahead(1, "SIGNATURE") || self.word_ahead(1, "COUNTER") => {
                self.other("ADD SIGNATURE")
            }
            Keyword::Add if self.word_ahead(1, "SENSITIVITY") => self.other("ADD SENSITIVITY CLASSIFICATION"),
            Keyword::Readtext => self.other("READTEXT"),
            Keyword::Writetext => self.other("WRITETEXT"),
            Keyword::Updatetext => self.other("UPDATETEXT"),
            Keyword::Setuser => self.other("SETUSER"),
            Keyword::Lineno => self.other("LINENO"),
            Keyword::Dump | Keyword::Load | Keyword::Disk => Err(self.unexpected()),
            _ => Err(self.unexpected()),
        }
    }

    /// `DBCC command [( args )] [WITH options]`
    fn dbcc(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.ident_or_keyword()?;
        let mut dbcc = Dbcc { name, args: Vec::new(), parenthesized: false, options: Vec::new() };
        if self.accept_symbol(b'(') {
            dbcc.parenthesized = true;
            if !self.at_symbol(b')') {
                dbcc.args = self.comma_list(Self::dbcc_argument)?;
            }
            self.expect_symbol(b')')?;
        }
        if self.at(Keyword::With) && self.ident_ahead(1) {
            self.advance();
            dbcc.options = self.comma_list(|p| {
                let name = p.ident()?;
                let value = if p.accept_symbol(b'=') { Some(p.option_value()?) } else { None };
                Ok(NamedOption { name, value })
            })?;
        }
        Ok(StatementKind::Dbcc(Box::new(dbcc)))
    }

    fn dbcc_argument(&mut self) -> Parsed<DbccArgument> {
        if self.at_ident() && self.symbol_ahead(1, b'=') {
            let name = self.ident()?;
            self.advance();
            return Ok(DbccArgument::Named(name, self.signed_constant()?));
        }
        let token = self.token();
        if self.at_ident() {
            let column = self.column_ref()?;
            return Ok(DbccArgument::Value(Expr {
                span: self.span_from(token),
                kind: ExprKind::Column(column),
            }));
        }
        // `DBCC INPUTBUFFER (@@SPID)`
        if token.kind == TokenKind::GlobalVariable {
            return Ok(DbccArgument::Value(self.value()?));
        }
        Ok(DbccArgument::Value(self.signed_constant()?))
    }

    fn kill(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let kill = if self.accept_words(&["QUERY", "NOTIFICATION", "SUBSCRIPTION"]) {
            let id = if self.accept(Keyword::All) { None } else { Some(self.signed_constant()?) };
            Kill::QueryNotification(id)
        } else if self.accept_words(&["STATS", "JOB"]) {
            Kill::StatsJob(self.signed_constant()?)
        } else {
            let id = self.signed_constant()?;
            let option = if self.accept(Keyword::With) { Some(self.ident_or_keyword()?) } else { None };
            Kill::Session { id, option }
        };
        Ok(StatementKind::Kill(Box::new(kill)))
    }
}
