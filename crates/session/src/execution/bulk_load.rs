//! INSERT BULK, and the load of the rows that come behind it; BULK INSERT of a file's rows.
//!
//! ```text
//!            INSERT BULK                   bulk_load
//!  nothing ──────────────► PendingBulkLoad ─────────► rows inserted, or nothing
//!                           └─ any other request: it is forgotten
//! ```

use engine::TableDef;
use os::task;
use query::StatementOutcome;
use tsql::ast;
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::cell::STALE_PLANS_MAX;
use crate::batch::commit_site::CommitSite;
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::bulk::{BulkSource, PendingBulkLoad};
use crate::done_command;
use crate::errors::Origin;
use crate::execution::trigger::FiringPlace;
use crate::forward::Forwarder;
use crate::interruption::{Failure, Interruption, RequestEnd, Stop};
use crate::registry::Command;
use crate::session::Session;
use crate::sink::{Done, DoneKind, ResultSink};

/// 4002: rows that no INSERT BULK has announced.
const UNANNOUNCED: &str =
    "Bulk load data came without an INSERT BULK statement before it, or other requests came between.";

impl Session {
    /// INSERT BULK: checks the table, the columns and the hints, and waits for the rows.
    pub(crate) fn announce_bulk_load(
        &mut self,
        frame: &Frame,
        instruction: &Instruction,
        statement: &ast::InsertBulk,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let rules = query::bulk_rules(&statement.options)?;
        let context = self.bind_context_with(&[], None);
        let mut types = Vec::new();
        for (at, column) in statement.columns.iter().enumerate() {
            let place = query::TypePlace::Column(at + 1);
            let declared = query::resolve_type_in(&column.data_type, place, &self.database, context.lookup)?;
            types.push(declared.sql_type);
        }
        let names = names_of(statement);
        let types = (!types.is_empty()).then_some(types.as_slice());
        let into = Into { table: &statement.table, names: &names, types, rules: &rules, announced: None };
        let load = into.bind(self)?;
        let table = load.table().1.clone();
        self.pending_bulk_load = Some(PendingBulkLoad { statement: statement.clone(), rules, table });
        self.tell_end(frame, instruction, sink);
        Ok(())
    }

    /// Loads the rows that a client sends behind INSERT BULK, as one statement.
    pub fn bulk_load(&mut self, source: &mut dyn BulkSource, sink: &mut dyn ResultSink) -> RequestEnd {
        let pending = self.pending_bulk_load.take();
        self.request(sink, |session, sink| {
            session.note_call("INSERT BULK");
            session.slot.note(Command::BulkInsert, session.state.transaction_count);
            session.request_began_ticks = None;
            let loaded = match pending {
                Some(pending) => session.load(&pending, source, sink),
                None => Err(SqlError::custom(4002, 16, 1, UNANNOUNCED.into()).into()),
            };
            match loaded {
                Ok(outcome) => session.tell_loaded(outcome, sink),
                Err(_) if task::current().is_interrupted() => return Err(Stop::Attention),
                Err(Interruption::Failed(Failure { error, .. })) => session.tell_not_loaded(error, sink)?,
                Err(Interruption::Stopped(stop)) => return Err(stop),
            }
            Ok(())
        })
    }

    /// Loads what the client sends.
    fn load(
        &mut self,
        pending: &PendingBulkLoad,
        source: &mut dyn BulkSource,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementOutcome, Interruption> {
        let types = source.columns()?;
        if self.state.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        self.begin_implicit(sink)?;
        let names = names_of(&pending.statement);
        let into = Into {
            table: &pending.statement.table,
            names: &names,
            types: Some(&types),
            rules: &pending.rules,
            announced: Some(&pending.table),
        };
        let place = FiringPlace { line: 1, procedure: None, is_guarded: false };
        self.load_rows(&into, &mut SentRows(source), place, sink)
    }

    /// BULK INSERT: loads the rows of a file, each batch as a statement of its own.
    pub(crate) fn bulk_insert(
        &mut self,
        frame: &Frame,
        (instruction, at): (&Instruction, usize),
        statement: &ast::BulkInsert,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        if self.state.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        let options = query::file_options("BULK INSERT option", &statement.options)?;
        let Some(file) = query::literal_text(&statement.file) else {
            return Err(crate::refusal::not_supported("BULK INSERT from anything but a text literal").into());
        };
        let rules = &options.rules;
        let mut into = Into { table: &statement.table, names: &[], types: None, rules, announced: None };
        let table = into.bind(self)?.table().1.clone();
        let context = query::convert_context(&self.options);
        let mut rows = query::open_bulk_file(&file, &options, &table, &self.instance, context)?;
        let names = rows.columns().to_vec();
        (into.names, into.announced) = (&names, Some(table.as_ref()));
        self.begin_implicit(sink)?;
        let mut count = 0;
        while !rows.has_ended() {
            rows.begin_batch();
            let loaded = self.load_rows(&into, &mut rows, FiringPlace::of(frame, (instruction, at)), sink);
            for message in rows.take_messages() {
                sink.message(&message.at_line(instruction.line).in_procedure(frame.procedure.as_deref()));
            }
            match loaded {
                Ok(mut outcome) => {
                    count += outcome.row_count.unwrap_or(0);
                    if let Some(identity) = outcome.identity.take() {
                        self.state.set_identity(identity);
                    }
                }
                Err(_) if task::current().is_interrupted() => return Err(Stop::Attention.into()),
                Err(interruption) => return Err(interruption),
            }
        }
        self.state.last_error = 0;
        self.state.row_count = i64::try_from(count).unwrap_or(i64::MAX);
        if !self.options.nocount {
            let row_count = Some(count);
            let command = done_command::BULK_INSERT;
            sink.done(Done { kind: frame.done_kind, row_count, error: false, command });
        }
        Ok(())
    }

    /// Inserts rows as one statement. Its plan is made again when it has become stale before the first row.
    fn load_rows(
        &mut self,
        into: &Into<'_>,
        rows: &mut dyn query::BulkRows,
        place: FiringPlace<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementOutcome, Interruption> {
        let mut rows = Counted { rows, has_begun: false };
        for _ in 0..STALE_PLANS_MAX {
            self.transactions.statement_begin();
            let result = self.load_once(into, &mut rows, sink);
            match result {
                Ok(mut outcome) => {
                    if !outcome.fired.is_empty() {
                        self.fire_triggers(place, &mut outcome, sink)?;
                    }
                    self.keep_statement(None, sink)?;
                    self.note_own_commit(sink);
                    return Ok(outcome);
                }
                Err(error) => {
                    self.end_statement(false)?;
                    if !error.is_stale_plan() || rows.has_begun {
                        return Err(error.into());
                    }
                }
            }
        }
        Err(SqlError::new(2801, &[]).into())
    }

    fn load_once(
        &mut self,
        into: &Into<'_>,
        rows: &mut Counted<'_>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<StatementOutcome> {
        let mut load = match into.bind(self) {
            Err(error) if matches!(error.number, 207 | 208) => return Err(SqlError::new(4891, &[])),
            load => load?,
        };
        let (database, now) = (load.table().0.clone(), load.table().1.clone());
        if into
            .announced
            .is_some_and(|table| now.object_id != table.object_id || now.columns != table.columns)
        {
            return Err(SqlError::new(4891, &[]));
        }
        if !into.rules.check_constraints {
            let mut variables = Vec::new();
            if query::ddl::distrust(&database, &now, &mut self.context_with(&mut variables))? {
                load = into.bind(self)?;
            }
        }
        let mut variables = Vec::new();
        let mut forward = Forwarder::new(sink, self.options.text_size);
        let outcome = load.execute(rows, &mut self.context_with(&mut variables), &mut forward);
        forward.tell(1, None);
        outcome
    }

    fn tell_loaded(&mut self, mut outcome: StatementOutcome, sink: &mut dyn ResultSink) {
        if let Some(identity) = outcome.identity.take() {
            self.state.set_identity(identity);
        }
        self.state.last_error = 0;
        self.state.row_count = outcome.row_count.map_or(0, |count| i64::try_from(count).unwrap_or(i64::MAX));
        // Also under NOCOUNT: the count is the only answer.
        sink.done(Done {
            kind: DoneKind::Statement,
            row_count: outcome.row_count,
            error: false,
            command: done_command::BULK_INSERT,
        });
    }

    fn tell_not_loaded(&mut self, error: SqlError, sink: &mut dyn ResultSink) -> Result<(), Stop> {
        let error = error.at_line(1);
        self.state.last_error = error.number;
        self.state.row_count = 0;
        let site = CommitSite {
            line: 1,
            procedure: None,
            done_kind: DoneKind::Statement,
            changes_data: true,
            command: done_command::BULK_INSERT,
            in_program: false,
        };
        self.report_failure(&site, &Failure { error, origin: Origin::Runtime }, sink).map(drop)
    }
}

fn names_of(statement: &ast::InsertBulk) -> Vec<ast::Ident> {
    statement.columns.iter().map(|column| column.name.clone()).collect()
}

/// Where the rows go.
struct Into<'a> {
    table: &'a ast::ObjectName,
    /// The columns; none: all.
    names: &'a [ast::Ident],
    /// The types of the rows; `None`: those of the columns.
    types: Option<&'a [SqlType]>,
    rules: &'a query::BulkRules,
    /// The table as it was when the load was announced.
    announced: Option<&'a TableDef>,
}

impl Into<'_> {
    fn bind(&self, session: &Session) -> SqlResult<query::BulkLoad> {
        let context = session.bind_context_with(&[], None);
        query::compile_bulk_load(self.table, self.names, self.types, self.rules, &context)
    }
}

/// Rows of a client.
struct SentRows<'a>(&'a mut dyn BulkSource);

impl query::BulkRows for SentRows<'_> {
    fn next(&mut self, row: &mut Vec<Value>) -> SqlResult<bool> {
        self.0.next(row)
    }
}

/// Rows that know whether one was taken: then the plan cannot be made again.
struct Counted<'a> {
    rows: &'a mut dyn query::BulkRows,
    has_begun: bool,
}

impl query::BulkRows for Counted<'_> {
    fn next(&mut self, row: &mut Vec<Value>) -> SqlResult<bool> {
        self.has_begun = true;
        self.rows.next(row)
    }
}
