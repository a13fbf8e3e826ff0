//! Runs the triggers that a statement has fired, inside its transaction.
//!
//! ```text
//!  the statement's changes are made ──fire_triggers──► each trigger ──all succeeded──► the statement ends as without triggers
//!                                                        │ it ended the transaction: 3609    it left a doomed one: 3616
//!                                                        └ an error: the transaction is rolled back, the batch ends
//! ```
//! Outside a user transaction the statement's own becomes one of level 1 while its triggers run; clients are not told of it.

use std::rc::Rc;
use std::sync::Arc;

use engine::{Database, Lookup, ModuleDef, ModuleKind, ObjectDef};
use query::StatementOutcome;
use query::context::{EventTriggers, Fired, RunningTrigger};
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::compile::{compile, compile_ahead};
use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::batch::program::Program;
use crate::batch::program_key::ProgramKey;
use crate::errors::UNDECLARED_VARIABLE;
use crate::execution::module::{own_schema, uncompiled};
use crate::interruption::{Failure, Interruption, Stop};
use crate::refusal::{not_supported, syntax_error};
use crate::session::Session;
use crate::sink::ResultSink;

/// The options that decide whether a trigger fires another, or itself.
const RECURSIVE_TRIGGERS: &str = "RECURSIVE_TRIGGERS";

/// Where the statement stands that has fired triggers.
#[derive(Clone, Copy)]
pub(crate) struct FiringPlace<'a> {
    pub(crate) line: u32,
    pub(crate) procedure: Option<&'a str>,
    /// Its own program has a TRY block around it.
    pub(crate) is_guarded: bool,
}

impl<'a> FiringPlace<'a> {
    /// The instruction at this position of a program.
    pub(crate) fn of(frame: &'a Frame, (instruction, at): (&Instruction, usize)) -> Self {
        let is_guarded = frame.program.region_of(at).is_some();
        FiringPlace { line: instruction.line, procedure: frame.procedure.as_deref(), is_guarded }
    }
}

impl Session {
    /// Runs what the statement has fired. Its transaction stays as it is when all of that succeeds.
    pub(crate) fn fire_triggers(
        &mut self,
        place: FiringPlace<'_>,
        outcome: &mut StatementOutcome,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let fired = std::mem::take(&mut outcome.fired);
        let identity = outcome.identity.take();
        let count = outcome.row_count.map_or(0, |count| i64::try_from(count).unwrap_or(i64::MAX));
        self.run_fired(place, sink, |session, sink| {
            if let Some(identity) = identity {
                session.state.set_identity(identity);
            }
            fired.into_iter().try_for_each(|fired| session.fire(fired, count, sink))
        })
    }

    /// Runs triggers behind the changes of a statement, in its transaction.
    pub(super) fn run_fired(
        &mut self,
        place: FiringPlace<'_>,
        sink: &mut dyn ResultSink,
        run: impl FnOnce(&mut Session, &mut dyn ResultSink) -> Result<(), Interruption>,
    ) -> Result<(), Interruption> {
        let ended = self.transactions.statement_end();
        if let Err(error) = ended {
            return self.end_statement(false).and(Err(error)).map_err(Interruption::from);
        }
        let is_own = self.state.transaction_count == 0;
        if is_own {
            self.transactions.goes_on();
            self.state.transaction_count = 1;
            self.is_transaction_hidden = true;
        }
        self.guards += u32::from(place.is_guarded);
        let result = run(self, sink);
        self.guards -= u32::from(place.is_guarded);
        if let Err(interruption) = result {
            let interruption = match interruption {
                Interruption::Failed(Failure { error, origin }) => {
                    let error = error.at_line(place.line).in_procedure(place.procedure);
                    Interruption::Failed(Failure { error, origin })
                }
                stopped => stopped,
            };
            return Err(self.after_failed_trigger(interruption, is_own, sink));
        }
        // More levels are those of a transaction that a trigger has begun and left open; one that it has begun after a ROLLBACK is not the statement's.
        if is_own && std::mem::take(&mut self.is_transaction_hidden) {
            self.state.transaction_count -= 1;
            if self.state.transaction_count > 0 {
                self.tell_hidden_transaction(sink);
            }
        }
        self.state.last_error = 0;
        Ok(())
    }

    /// The triggers of one event, one after the other.
    fn fire(&mut self, fired: Fired, count: i64, sink: &mut dyn ResultSink) -> Result<(), Interruption> {
        let fired = Rc::new(fired);
        for module in &fired.triggers.triggers {
            if !self.fires(&fired.triggers, module) {
                continue;
            }
            self.state.row_count = count;
            self.state.last_error = 0;
            let running = RunningTrigger { fired: fired.clone(), module: module.clone() };
            self.run_trigger((module, &fired.triggers.database), Some(Rc::new(running)), sink)?;
        }
        Ok(())
    }

    /// May a statement of the running trigger fire this one? An AFTER trigger fires others if the server allows that, and itself if the database does.
    fn fires(&self, triggers: &EventTriggers, module: &ModuleDef) -> bool {
        let Some((running, _)) = self.state.triggers.last() else { return true };
        if triggers.is_instead_of {
            return true;
        }
        self.fires_inside(*running, module, &triggers.database)
    }

    /// The same of an AFTER trigger that a statement of the running one fires.
    pub(super) fn fires_inside(&self, running: i32, module: &ModuleDef, database: &Database) -> bool {
        let is_direct = running == module.object_id;
        let is_recursive = database.options().switches.get(RECURSIVE_TRIGGERS).copied().unwrap_or(false);
        let is_nested = self.instance.configuration(engine::NESTED_TRIGGERS) != 0;
        is_nested && (!is_direct || is_recursive)
    }

    /// Runs one trigger under the settings of its creation, in its own database, with XACT_ABORT ON. `running`: with the rows of a DML trigger.
    /// Errors 3609 (it has ended the transaction) and 3616 (it has left a doomed one).
    pub(super) fn run_trigger(
        &mut self,
        (module, database): (&Arc<ModuleDef>, &Arc<Database>),
        running: Option<Rc<RunningTrigger>>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let was_doomed = self.state.doomed;
        self.check_nest_level()?;
        let database = database.clone();
        let is_elsewhere = !Arc::ptr_eq(&database, &self.database);
        if is_elsewhere {
            self.transactions.enter_known_database(&database).map_err(crate::interruption::refused_entry)?;
        }
        let outer_database = std::mem::replace(&mut self.database, database);
        let outer = (self.options.quoted_identifier, self.options.ansi_nulls, self.options.xact_abort);
        (self.options.quoted_identifier, self.options.ansi_nulls, self.options.xact_abort) =
            (module.quoted_identifier, module.ansi_nulls, true);
        self.state.triggers.push((module.object_id, module.trigger.is_instead_of));
        let result = self.run_trigger_inside(module, running, sink);
        self.state.triggers.pop();
        (self.options.quoted_identifier, self.options.ansi_nulls, self.options.xact_abort) = outer;
        if is_elsewhere {
            self.move_to(outer_database);
        } else {
            self.database = outer_database;
        }
        // A trigger may leave another number of transactions: that has its own error.
        self.unequal_count = None;
        result?;
        self.settle_before_more(sink)?;
        if self.state.transaction_count == 0 {
            return Err(SqlError::new(3609, &[]).into());
        }
        if self.state.doomed && !was_doomed {
            return Err(SqlError::new(3616, &[]).into());
        }
        Ok(())
    }

    fn run_trigger_inside(
        &mut self,
        module: &Arc<ModuleDef>,
        running: Option<Rc<RunningTrigger>>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let program = self.trigger_program(module).map_err(uncompiled)?;
        let own = running.as_ref().map(|_| module.clone());
        let outer = std::mem::replace(&mut self.trigger, own);
        let bound = self.bind_module_ahead(&program, &module.name);
        self.trigger = outer;
        bound.map_err(|errors| self.first_of(errors, sink))?;
        let named = (Some(&*module.name), module.object_id);
        self.run_scope_of(&program, Vec::new(), named, running, sink).map(drop)
    }

    /// What follows an error of a trigger: nothing of the transaction stays. A TRY block outside finds it doomed, or, if it was the statement's own,
    /// rolled back.
    fn after_failed_trigger(
        &mut self,
        interruption: Interruption,
        is_own: bool,
        sink: &mut dyn ResultSink,
    ) -> Interruption {
        let has_ended = self.state.transaction_count == 0;
        match interruption {
            Interruption::Stopped(stop @ (Stop::Batch | Stop::Connection)) => stop.into(),
            Interruption::Stopped(Stop::Attention) => {
                self.rollback_everything(sink);
                Stop::Attention.into()
            }
            Interruption::Stopped(Stop::Raised(failure)) => {
                self.leave_doomed(is_own, sink);
                Stop::Raised(failure).into()
            }
            Interruption::Failed(failure) if self.guards > 0 || has_ended => {
                self.leave_doomed(is_own, sink);
                Interruption::Failed(failure)
            }
            Interruption::Failed(Failure { error, .. }) => {
                error.told().for_each(|told| sink.message(told));
                self.rollback_everything(sink);
                self.state.last_error = error.number;
                Stop::Batch.into()
            }
        }
    }

    fn leave_doomed(&mut self, is_own: bool, sink: &mut dyn ResultSink) {
        if is_own {
            self.rollback_everything(sink);
        } else if self.state.transaction_count > 0 {
            self.state.doomed = true;
        }
    }

    /// The program of a trigger's text, from the cache or compiled now.
    fn trigger_program(&self, module: &ModuleDef) -> SqlResult<Arc<Program>> {
        let text = &module.definition;
        let key = ProgramKey::trigger(text, self.program_conditions());
        if let Some(program) = self.programs.get(&key) {
            return Ok(program);
        }
        let (era, held_bytes) = (self.programs.era(), os::memory::thread_bytes());
        let options = tsql::ParseOptions { quoted_identifier: self.options.quoted_identifier };
        let batch =
            tsql::parse_batch(text, &options).map_err(|mut errors| syntax_error(errors.swap_remove(0)))?;
        let Some(StatementKind::CreateTrigger(trigger)) = batch.statements.first().map(|s| &s.kind) else {
            return Err(query::errors::stored_text_damaged());
        };
        let mut program = compile(text.clone(), body_of(trigger)?, Vec::new(), true, Some(self.types_in()))?;
        program.schema = schema_of(module);
        self.programs.note_compiled();
        let program = Arc::new(program);
        program.statistics.made(self.now_ticks());
        program.note_made(held_bytes);
        self.programs.put(key, program.clone(), era);
        Ok(program)
    }

    /// A trigger's text must compile when it is created: variables, types, labels, and columns of the tables that are there already.
    pub(crate) fn check_trigger(
        &mut self,
        trigger: &ast::CreateTrigger,
        text: &Arc<str>,
    ) -> Result<(), Interruption> {
        if trigger.on == ast::TriggerScope::AllServer {
            return Ok(());
        }
        let body = body_of(trigger).map_err(uncompiled)?;
        let (mut program, lacks_types) =
            compile_ahead(text.clone(), body, Vec::new(), self.types_in()).map_err(uncompiled)?;
        check_statements(&program).map_err(uncompiled)?;
        let ast::TriggerScope::Object(on) = &trigger.on else {
            let outer = self.trigger.take();
            let bound = self.bind_ahead(&program);
            self.trigger = outer;
            return told_ahead(bound, lacks_types);
        };
        program.schema = own_schema(on);
        let schema = on.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
        let found = Lookup::new(&self.transactions).object(&self.database, schema, &on.name.value)?;
        // What it is created on has its own errors.
        let Some(target) = found else { return Ok(()) };
        let outer = self.trigger.replace(Arc::new(self.unborn(trigger, &target)));
        let bound = self.bind_ahead(&program);
        self.trigger = outer;
        told_ahead(bound, lacks_types)
    }

    /// A trigger that is not created yet, for the check of its text.
    fn unborn(&self, trigger: &ast::CreateTrigger, target: &ObjectDef) -> ModuleDef {
        let now = engine::date_time_of(0);
        let is_instead_of = trigger.timing == ast::TriggerTiming::InsteadOf;
        ModuleDef {
            object_id: 0,
            schema_id: target.schema_id(),
            schema: "dbo".into(),
            name: trigger.name.name.value.as_str().into(),
            kind: ModuleKind::Trigger,
            definition: "".into(),
            quoted_identifier: self.options.quoted_identifier,
            ansi_nulls: self.options.ansi_nulls,
            is_schema_bound: false,
            uses_native_compilation: false,
            stars: [].into(),
            parent_object_id: target.object_id(),
            trigger: engine::TriggerDef { is_instead_of, ..engine::TriggerDef::default() },
            create_date: now,
            modify_date: now,
        }
    }
}

/// The errors of a text that was bound before it is stored, unless types that it names are not there yet.
fn told_ahead(bound: Result<(), Vec<SqlError>>, lacks_types: bool) -> Result<(), Interruption> {
    match bound {
        Err(mut errors) if !lacks_types || errors[0].number == UNDECLARED_VARIABLE => {
            let last = errors.pop().expect("a refused text has at least one error");
            Err(uncompiled(last.after_all(errors)))
        }
        _ => Ok(()),
    }
}

fn body_of(trigger: &ast::CreateTrigger) -> SqlResult<&[ast::Statement]> {
    match &trigger.body {
        ast::ModuleBody::Statements(body) => Ok(body),
        ast::ModuleBody::External(_) => Err(not_supported("A CLR trigger")),
    }
}

fn schema_of(module: &ModuleDef) -> Option<Arc<str>> {
    (module.kind.is_in_schema() && &*module.schema != "dbo").then(|| module.schema.clone())
}

/// What no trigger may do. Error 287.
fn check_statements(program: &Program) -> SqlResult<()> {
    let refused = |instruction: &Instruction| match &instruction.kind {
        InstructionKind::CreateDatabase(_) => Some("CREATE DATABASE"),
        InstructionKind::AlterDatabase(_) => Some("ALTER DATABASE"),
        InstructionKind::DropDatabase(_) => Some("DROP DATABASE"),
        InstructionKind::Reconfigure { .. } => Some("RECONFIGURE"),
        _ => None,
    };
    let found = program.instructions.iter().find_map(|one| refused(one).map(|name| (name, one.line)));
    found.map_or(Ok(()), |(name, line)| Err(SqlError::new(287, &[&name]).at_line(line)))
}
