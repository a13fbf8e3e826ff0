//! BEGIN, COMMIT, ROLLBACK, SAVE: `@@TRANCOUNT` and names here, the transaction itself in `engine`.
//!
//! ```text
//!  none ──begin_statement / begin_implicit──► open (count 1) ──begin_statement──► open (count n+1)
//!  open (n>1) ──commit_statement──► open (n-1)        open (1) ──commit_statement──► none
//!  open (any) ──rollback_everything──► none           open ──a doomed error──► doomed ──rollback──► none
//! ```
//! Only the outermost COMMIT makes anything durable, so only its DELAYED_DURABILITY option counts (claims 60 and 62).

use engine::CommitRequest;
use tsql::ast::TransactionName;
use types::{SqlError, SqlResult, Value};

use crate::batch::commit_site::CommitSite;
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::interruption::RequestEnd;
use crate::rpc::{RequestedIsolation, TransactionRequest};
use crate::session::Session;
use crate::sink::{Done, DoneKind, EnvironmentChange, NullSink, ResultSink};

/// Longest name of a transaction or savepoint, characters.
const NAME_CHARACTERS_MAX: usize = 32;

impl Session {
    pub(crate) fn begin_statement(
        &mut self,
        frame: &Frame,
        name: Option<&TransactionName>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let name = name.map(|n| transaction_name(frame, n)).transpose()?;
        // BEGIN TRAN, too, begins an implicit transaction, and then adds its own level.
        self.begin_implicit(sink)?;
        self.begin_transaction(name, sink);
        Ok(())
    }

    /// One level deeper; the first level opens the transaction.
    pub(crate) fn begin_transaction(&mut self, name: Option<String>, sink: &mut dyn ResultSink) {
        if self.state.transaction_count == 0 {
            self.transactions.begin_named(name.clone());
            self.publish_transaction(name.as_deref());
            self.transaction_name = name;
            sink.environment(EnvironmentChange::BeginTransaction(self.transactions.descriptor()));
        }
        self.state.transaction_count += 1;
        self.state.row_count = 0;
    }

    /// A trigger has left a level of the statement's own transaction open: from now on the client knows of it.
    pub(crate) fn tell_hidden_transaction(&mut self, sink: &mut dyn ResultSink) {
        let descriptor = self.transactions.becomes_known();
        self.publish_transaction(None);
        sink.environment(EnvironmentChange::BeginTransaction(descriptor));
    }

    /// Publishes the new transaction for the views. Without a name this costs two stores.
    fn publish_transaction(&mut self, name: Option<&str>) {
        let began_ticks = self.instance.os().clock().utc_100ns().max(0).cast_unsigned();
        self.slot.begin_transaction(self.transactions.descriptor(), began_ticks);
        if let Some(name) = name {
            self.slot.update(|published| published.row.transaction_name = Some(name.into()));
        }
    }

    /// Publishes the end of the transaction, by commit or rollback.
    fn forget_transaction(&mut self) {
        self.slot.end_transaction();
        if self.transaction_name.take().is_some() {
            self.slot.update(|published| published.row.transaction_name = None);
        }
    }

    /// Under SET IMPLICIT_TRANSACTIONS ON a statement opens the transaction it needs.
    pub(crate) fn begin_implicit(&mut self, sink: &mut dyn ResultSink) -> SqlResult<()> {
        if self.options.implicit_transactions && self.state.transaction_count == 0 {
            self.begin_transaction(None, sink);
            self.slot.call_transaction_implicit();
        }
        Ok(())
    }

    /// COMMIT. The outermost commit may be left pending if there is a `site` for that.
    pub(crate) fn commit_statement(
        &mut self,
        request: &CommitRequest,
        site: Option<CommitSite>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        match self.state.transaction_count {
            0 => return Err(SqlError::new(3902, &[])),
            1 if self.state.doomed => return Err(SqlError::new(3930, &[])),
            1 => {
                let descriptor = self.transactions.descriptor();
                let is_hidden = std::mem::take(&mut self.is_transaction_hidden);
                self.commit_outermost(request, site, sink)?;
                if !is_hidden {
                    sink.environment(EnvironmentChange::CommitTransaction(descriptor));
                }
                self.note_commit(sink);
            }
            _ => {
                self.state.transaction_count -= 1;
                if request.delayed == Some(true) {
                    self.tell_refused_delay("only the outermost COMMIT decides", sink);
                }
            }
        }
        self.state.row_count = 0;
        Ok(())
    }

    /// Ends the transaction: committed or, with the returned error, rolled back.
    pub(crate) fn commit_outermost(
        &mut self,
        request: &CommitRequest,
        site: Option<CommitSite>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        if let Err(error) = self.commit_at(request, site, sink) {
            self.rollback_everything(sink);
            return Err(error);
        }
        self.state.transaction_count = 0;
        self.forget_transaction();
        if self.closes_cursors_on_commit() {
            self.state.cursors.close_all();
        }
        Ok(())
    }

    /// Ends a statement: its effects are kept or undone; outside a user transaction they are committed or rolled back.
    pub(crate) fn end_statement(&mut self, succeeded: bool) -> SqlResult<()> {
        match (succeeded, self.state.transaction_count) {
            (true, _) => self.keep_statement(None, &mut NullSink),
            (false, 0) => self.transactions.rollback(),
            (false, _) => self.transactions.statement_rollback(),
        }
    }

    /// Keeps the effects of a statement that succeeded; its commit may be left pending if there is a `site` for that.
    pub(crate) fn keep_statement(
        &mut self,
        site: Option<CommitSite>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let ended = self.transactions.statement_end();
        if self.state.transaction_count > 0 {
            return ended;
        }
        let request = self.own_commit_request();
        let committed = ended.and_then(|()| self.commit_at(&request, site, sink));
        if committed.is_err() {
            self.transactions.rollback()?;
        }
        committed
    }

    pub(crate) fn rollback_statement(
        &mut self,
        frame: &Frame,
        name: Option<&TransactionName>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let name = name.map(|n| transaction_name(frame, n)).transpose()?;
        self.rollback_named(name.as_deref(), sink)
    }

    /// Rolls back to the savepoint of that name, or everything when there is no name or it is the outermost transaction's.
    fn rollback_named(&mut self, name: Option<&str>, sink: &mut dyn ResultSink) -> SqlResult<()> {
        if self.state.transaction_count == 0 {
            return Err(SqlError::new(3903, &[]));
        }
        if self.inside_insert_execute {
            return Err(SqlError::new(3915, &[]));
        }
        let Some(name) = name.filter(|n| Some(*n) != self.transaction_name.as_deref()) else {
            self.rollback_everything(sink);
            return Ok(());
        };
        if self.state.doomed {
            return Err(SqlError::new(3931, &[]));
        }
        if !self.transactions.rollback_to(name)? {
            return Err(SqlError::new(6401, &[&name]));
        }
        self.state.row_count = 0;
        Ok(())
    }

    pub(crate) fn save_statement(
        &mut self,
        frame: &Frame,
        instruction: &Instruction,
        name: &TransactionName,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let name = transaction_name(frame, name)?;
        self.save_named(&name)?;
        self.tell_end(frame, instruction, sink);
        Ok(())
    }

    fn save_named(&mut self, name: &str) -> SqlResult<()> {
        if self.state.transaction_count == 0 {
            return Err(SqlError::new(628, &[]));
        }
        if self.state.doomed {
            return Err(SqlError::new(3931, &[]));
        }
        self.transactions.savepoint(name)
    }

    /// Rolls back the whole transaction, whatever its depth. A rollback that fails leaves the database suspect; there is
    /// nothing more to undo here.
    pub(crate) fn rollback_everything(&mut self, sink: &mut dyn ResultSink) {
        let descriptor = self.transactions.descriptor();
        let had_transaction = self.state.transaction_count > 0;
        if let Err(error) = self.transactions.rollback() {
            sink.message(&error);
        }
        self.state.transaction_count = 0;
        self.state.doomed = false;
        self.state.row_count = 0;
        self.forget_transaction();
        if had_transaction {
            if self.closes_cursors_on_commit() {
                self.state.cursors.close_all();
            }
            if !std::mem::take(&mut self.is_transaction_hidden) {
                sink.environment(EnvironmentChange::RollbackTransaction(descriptor));
            }
        }
    }

    /// Runs a transaction manager request, which drivers send instead of BEGIN TRAN and COMMIT text.
    ///
    /// # Errors
    /// As the statements: 3902, 3903, 628, 6401, 3930, and those of commit itself; they go to the sink.
    pub fn transaction_request(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
    ) -> RequestEnd {
        self.request(sink, |session, sink| {
            let outcome = session.run_transaction_request(request, sink);
            session.note_own_transaction();
            if let Err(error) = &outcome {
                session.state.last_error = error.number;
                sink.message(&error.clone().at_line(1));
            }
            sink.done(Done {
                kind: DoneKind::Statement,
                row_count: None,
                error: outcome.is_err(),
                command: match request {
                    TransactionRequest::Begin { .. } => crate::done_command::BEGIN,
                    TransactionRequest::Commit { .. } => crate::done_command::COMMIT,
                    TransactionRequest::Rollback { .. } => crate::done_command::ROLLBACK,
                    TransactionRequest::Save { .. } => crate::done_command::OTHER,
                },
            });
            Ok(())
        })
    }

    fn run_transaction_request(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        match request {
            TransactionRequest::Begin { isolation, name } => self.begin_requested(*isolation, name, sink),
            TransactionRequest::Commit { then_begin, .. } => {
                let site = then_begin.is_none().then_some(CommitSite {
                    line: 1,
                    procedure: None,
                    done_kind: DoneKind::Statement,
                    changes_data: false,
                    command: crate::done_command::COMMIT,
                    in_program: false,
                });
                self.commit_statement(&self.own_commit_request(), site, sink)?;
                self.begin_next(then_begin.as_ref(), sink)
            }
            TransactionRequest::Rollback { name, then_begin } => {
                let name = Some(name.as_str()).filter(|n| !n.is_empty());
                self.rollback_named(name, sink)?;
                self.begin_next(then_begin.as_ref(), sink)
            }
            TransactionRequest::Save { name } => self.save_named(name),
        }
    }

    fn begin_next(
        &mut self,
        next: Option<&(RequestedIsolation, String)>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        match next {
            Some((isolation, name)) if self.state.transaction_count == 0 => {
                self.begin_requested(*isolation, name, sink)
            }
            _ => Ok(()),
        }
    }

    fn begin_requested(
        &mut self,
        isolation: RequestedIsolation,
        name: &str,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        use engine::IsolationLevel;
        self.options.isolation = match isolation {
            RequestedIsolation::Unchanged => self.options.isolation,
            RequestedIsolation::ReadUncommitted => IsolationLevel::ReadUncommitted,
            RequestedIsolation::ReadCommitted => IsolationLevel::ReadCommitted,
            RequestedIsolation::RepeatableRead => IsolationLevel::RepeatableRead,
            RequestedIsolation::Serializable => IsolationLevel::Serializable,
            RequestedIsolation::Snapshot => IsolationLevel::Snapshot,
        };
        self.begin_transaction(Some(name.to_string()).filter(|n| !n.is_empty()), sink);
        Ok(())
    }
}

fn transaction_name(frame: &Frame, name: &TransactionName) -> SqlResult<String> {
    let text = match name {
        TransactionName::Name(ident) => ident.value.clone(),
        TransactionName::Variable(variable) => {
            let slot = frame.program.variables.iter().position(|v| v.name.eq_ignore_ascii_case(variable));
            let slot = slot.ok_or_else(|| SqlError::new(137, &[variable]))?;
            match &frame.variables[slot] {
                Value::NChar(units) => String::from_utf16_lossy(units),
                Value::Char(bytes) => types::codepage::decode(bytes),
                _ => String::new(),
            }
        }
    };
    if text.chars().count() > NAME_CHARACTERS_MAX {
        return Err(SqlError::new(103, &[&"savepoint", &text, &NAME_CHARACTERS_MAX]));
    }
    Ok(text)
}
