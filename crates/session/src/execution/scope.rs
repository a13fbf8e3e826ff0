//! One level of procedure or dynamic text: its own frame, options, temporary tables and SCOPE_IDENTITY.

use std::rc::Rc;
use std::sync::Arc;

use query::VariableDef;
use query::context::RunningTrigger;
use types::{SqlError, SqlResult, Value};

use crate::batch::frame::Frame;
use crate::batch::program::Program;
use crate::errors::Origin;
use crate::interruption::{Failure, Interruption, refused_entry};
use crate::session::Session;
use crate::sink::{DoneKind, ResultSink};

/// Procedures, triggers and dynamic batches may nest this deep (error 217).
pub(crate) const NEST_LEVEL_MAX: i32 = 32;

impl Session {
    /// Checks that another level may begin.
    pub(crate) fn check_nest_level(&self) -> SqlResult<()> {
        if self.state.nest_level >= NEST_LEVEL_MAX {
            return Err(SqlError::new(217, &[&NEST_LEVEL_MAX]));
        }
        Ok(())
    }

    /// Runs dynamic text with parameters (sp_executesql, EXEC('..')); returns the parameters' last values.
    pub(crate) fn run_text(
        &mut self,
        text: &str,
        parameters: &[VariableDef],
        variables: Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Vec<Value>, Interruption> {
        self.check_nest_level()?;
        let program = self.program_to_run(text, parameters, sink)?;
        self.run_program(&program, variables, sink)
    }

    /// The program of dynamic text. All compile errors but the last have been reported.
    pub(crate) fn program_to_run(
        &mut self,
        text: &str,
        parameters: &[VariableDef],
        sink: &mut dyn ResultSink,
    ) -> Result<Arc<Program>, Interruption> {
        self.program_for(text, parameters, false).map_err(|errors| self.first_of(errors, sink))
    }

    /// Runs the program of dynamic text; returns the parameters' last values.
    pub(crate) fn run_program(
        &mut self,
        program: &Program,
        variables: Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Vec<Value>, Interruption> {
        // It uses the caller's database. If it switches with USE, the caller's database stays locked meanwhile.
        if !program.has_use {
            return self.run_scope(program, variables, None, 0, sink).map(|(_, variables)| variables);
        }
        let outer_database = self.database.clone();
        self.transactions.enter_known_database(&outer_database).map_err(refused_entry)?;
        let result = self.run_scope(program, variables, None, 0, sink);
        self.move_to(outer_database);
        result.map(|(_, variables)| variables)
    }

    /// All errors but the last are told at once; the last is raised, so that a TRY block outside can catch it.
    pub(crate) fn first_of(&mut self, mut errors: Vec<SqlError>, sink: &mut dyn ResultSink) -> Interruption {
        let last = errors.pop().expect("a refused text has at least one error");
        errors.iter().for_each(|error| sink.message(error));
        Interruption::Failed(Failure { error: last, origin: Origin::InnerText })
    }

    /// One level of procedure or dynamic text: its own frame, options, temporary tables and SCOPE_IDENTITY.
    pub(crate) fn run_scope(
        &mut self,
        program: &Program,
        variables: Vec<Value>,
        procedure: Option<&str>,
        object_id: i32,
        sink: &mut dyn ResultSink,
    ) -> Result<(i32, Vec<Value>), Interruption> {
        self.run_scope_of(program, variables, (procedure, object_id), None, sink)
    }

    /// The same of a procedure, a text or a trigger.
    pub(crate) fn run_scope_of(
        &mut self,
        program: &Program,
        variables: Vec<Value>,
        (procedure, object_id): (Option<&str>, i32),
        trigger: Option<Rc<RunningTrigger>>,
        sink: &mut dyn ResultSink,
    ) -> Result<(i32, Vec<Value>), Interruption> {
        // The settings are saved only if something may change them: most programs that clients call repeatedly are queries.
        let may_change = !program.leaves_settings || !self.options.runs();
        let options = may_change.then(|| self.options.clone());
        let count_before = self.state.transaction_count;
        let mut frame = Frame::new(program, variables, self.state.caught.len(), DoneKind::InProcedure);
        frame.procedure = procedure.map(Arc::from);
        let own_trigger = trigger.as_ref().map(|running| running.module.clone());
        let outer_trigger = std::mem::replace(&mut self.trigger, own_trigger);
        frame.trigger = trigger;
        self.state.nest_level += 1;
        self.state.scope_identity.push(Value::Null);
        if procedure.is_some() {
            self.state.procedures.push(object_id);
        }
        self.names.enter_scope();
        self.state.cursors.enter_scope();
        let mut outcome = self.run(&mut frame, sink);
        self.state.cursors.leave_scope();
        let ended = self.names.leave_scope();
        if !ended.is_empty() {
            // The drop runs in a transaction of its own.
            outcome = self.settle_before_more(sink).and(outcome);
        }
        self.drop_real_tables(&ended);
        if procedure.is_some() {
            self.state.procedures.pop();
        }
        self.state.scope_identity.pop();
        self.state.nest_level -= 1;
        self.trigger = outer_trigger;
        self.state.caught.truncate(frame.caught_base);
        if let Some(options) = options {
            if self.options != options {
                self.options = options;
                self.tell_lock_options();
                self.publish(|_| {});
            }
        }
        let status = outcome.map_err(Interruption::Stopped)?;
        if procedure.is_some() && self.state.transaction_count != count_before {
            let error = SqlError::new(266, &[&count_before, &self.state.transaction_count]);
            self.unequal_count = Some(error);
        }
        Ok((status, frame.variables))
    }
}
