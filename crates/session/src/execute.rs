//! EXECUTE in all its forms: procedures, dynamic text, calls from clients; parameters in, OUTPUT values and status back.

use std::borrow::Cow;
use std::sync::Arc;

use query::VariableDef;
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult, SqlType, Value};

use crate::cache::ProgramKey;
use crate::errors::Origin;
use crate::objects::FoundProcedure;
use crate::procs;
use crate::program::{Compiled, ExecuteCells, ExecuteTarget, Instruction, Program};
use crate::rpc::{RpcCall, RpcParameter, RpcTarget, procedure_name, shown_name};
use crate::run::{Failure, Frame, Interruption, Stop};
use crate::session::{RequestEnd, Session, refused_entry};
use crate::sink::{Done, DoneKind, ResultSink};
use crate::values;

/// Procedures, triggers and dynamic batches may nest this deep (error 217).
const NEST_LEVEL_MAX: i32 = 32;

/// 8023: a number that real and float do not have. No other value on the wire can be outside its type.
fn refused_value(parameters: &[RpcParameter]) -> Option<SqlError> {
    let at = parameters.iter().position(|parameter| match parameter.value {
        Value::Real(number) => !number.is_finite(),
        Value::Float(number) => !number.is_finite(),
        _ => false,
    })?;
    let RpcParameter { name, sql_type, .. } = &parameters[at];
    Some(SqlError::new(8023, &[&(at + 1), name, &sql_type.name()]).with_state(2))
}

/// One argument of a call, evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// With `@`; none when positional.
    pub(crate) name: Option<String>,
    pub(crate) sql_type: SqlType,
    /// None asks for the parameter's default.
    pub(crate) value: Option<Value>,
    pub(crate) output: bool,
}

/// What a call gives back.
#[derive(Debug, Default)]
pub(crate) struct CallResult {
    pub(crate) status: i32,
    /// Index of the argument, the parameter's name and type, its last value.
    pub(crate) outputs: Vec<(usize, String, SqlType, Value)>,
}

impl Argument {
    /// The value, NULL for a default.
    pub(crate) fn or_null(&self) -> Value {
        self.value.clone().unwrap_or(Value::Null)
    }
}

impl Session {
    /// The EXECUTE statement; gives the procedure's status.
    pub(crate) fn execute_statement(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        execute: &ExecuteCells,
        sink: &mut dyn ResultSink,
    ) -> Result<i32, Interruption> {
        let arguments = self.arguments(frame, instruction, execute)?;
        let guarded = frame.program.region_of(at).is_some();
        self.guards += u32::from(guarded);
        // What the procedure leaves in @@ERROR is that of its last statement.
        self.facts.last_error = 0;
        let result = self.execute_target(frame, instruction, execute, arguments, sink);
        self.guards -= u32::from(guarded);
        let result = result?;
        for (index, _, from, value) in result.outputs {
            if let Some(slot) = execute.arguments.get(index).and_then(|a| a.output_slot) {
                frame.variables[slot] =
                    values::assign(&value, &from, &frame.program.variables[slot].sql_type)?;
            }
        }
        if let Some(slot) = execute.return_slot {
            let target = frame.program.variables[slot].sql_type;
            frame.variables[slot] = values::assign(&Value::Int(result.status), &SqlType::Int, &target)?;
        }
        self.unequal_count.take().map_or(Ok(result.status), |error| Err(error.into()))
    }

    fn execute_target(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        execute: &ExecuteCells,
        arguments: Vec<Argument>,
        sink: &mut dyn ResultSink,
    ) -> Result<CallResult, Interruption> {
        match &execute.target {
            ExecuteTarget::Procedure(name) => {
                let name = self.called(frame.program, name)?;
                self.call(&name, arguments, sink)
            }
            ExecuteTarget::Variable(slot) => {
                let text = values::to_text(&frame.variables[*slot]).unwrap_or_default();
                let name = parse_name(&text)?;
                let name = self.called(frame.program, &name)?;
                self.call(&name, arguments, sink)
            }
            ExecuteTarget::Text(cell) => {
                let text = values::to_text(&self.value(frame, instruction, *cell)?).unwrap_or_default();
                self.run_text(&text, &[], Vec::new(), sink).map(|_| CallResult::default())
            }
        }
    }

    pub(crate) fn arguments(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        execute: &ExecuteCells,
    ) -> Result<Vec<Argument>, Interruption> {
        let mut arguments = Vec::with_capacity(execute.arguments.len());
        for cells in &execute.arguments {
            let (sql_type, value) = match cells.value {
                None => (SqlType::Int, None),
                Some(cell) => {
                    let compiled = self.bound(frame, instruction, cell)?;
                    let Compiled::Scalar(program) = compiled.as_ref() else {
                        unreachable!("arguments are expressions")
                    };
                    let sql_type = *program.sql_type();
                    (sql_type, Some(self.value(frame, instruction, cell)?))
                }
            };
            arguments.push(Argument {
                name: cells.name.clone(),
                sql_type,
                value,
                output: cells.output_slot.is_some(),
            });
        }
        Ok(arguments)
    }

    /// Another level may begin.
    pub(crate) fn check_nest_level(&self) -> SqlResult<()> {
        if self.facts.nest_level >= NEST_LEVEL_MAX {
            return Err(SqlError::new(217, &[&NEST_LEVEL_MAX]));
        }
        Ok(())
    }

    /// The procedure that a name means: without a schema, inside a procedure, one of that procedure's schema comes before one of `dbo`.
    pub(crate) fn called<'n>(
        &self,
        program: &Program,
        name: &'n ast::ObjectName,
    ) -> SqlResult<Cow<'n, ast::ObjectName>> {
        let (Some(schema), None, None) = (&program.schema, &name.schema, &name.database) else {
            return Ok(Cow::Borrowed(name));
        };
        let own = ast::ObjectName { schema: Some(ast::Ident::new(&**schema)), ..name.clone() };
        let found = crate::objects::find_procedure(&self.transactions, &self.names, &self.database, &own)?;
        Ok(if found.is_some() { Cow::Owned(own) } else { Cow::Borrowed(name) })
    }

    /// Calls a procedure by its number in the protocol.
    fn call_number(
        &mut self,
        number: u16,
        arguments: Vec<Argument>,
        sink: &mut dyn ResultSink,
    ) -> Result<CallResult, Interruption> {
        let Some(name) = procedure_name(number) else {
            return Err(SqlError::new(2812, &[&number]).into());
        };
        match procs::native(name) {
            Some(_) if !self.may_call_native(name) => Ok(CallResult::default()),
            Some(native) => native(self, arguments, sink),
            None => self.call(&ast::ObjectName::simple(name), arguments, sink),
        }
    }

    /// Calls a procedure by name: one of the system's own, or one of a database's.
    pub(crate) fn call(
        &mut self,
        name: &ast::ObjectName,
        arguments: Vec<Argument>,
        sink: &mut dyn ResultSink,
    ) -> Result<CallResult, Interruption> {
        self.check_nest_level()?;
        let own = name.name.value.to_lowercase();
        let may_be_system = own.starts_with("sp_")
            || own.starts_with("xp_")
            || own.starts_with("fn_")
            || name.schema.as_ref().is_some_and(|s| s.is("sys"));
        if may_be_system {
            let written = name.database.as_ref().filter(|database| !database.value.is_empty());
            let database = match written {
                Some(database) => self.instance.database(&database.value)?,
                None => self.database.clone(),
            };
            if let Some(native) = procs::native(&own) {
                if !self.may_call_native(&own) {
                    return Ok(CallResult::default());
                }
                if Arc::ptr_eq(&database, &self.database) {
                    return native(self, arguments, sink);
                }
                self.transactions.enter_known_database(&database).map_err(refused_entry)?;
                let outer = std::mem::replace(&mut self.database, database);
                let result = native(self, arguments, sink);
                self.move_to(outer);
                return result;
            }
            if let Some(text) = procs::in_sql(&own) {
                let found = FoundProcedure {
                    name: own.as_str().into(),
                    definition: text.into(),
                    database,
                    object_id: 0,
                    quoted_identifier: true,
                    ansi_nulls: true,
                    is_native: false,
                };
                return self.call_module(found, arguments, sink);
            }
        }
        let refusal = if may_be_system { procs::refused::refusal(&own) } else { None };
        let found = crate::objects::find_procedure(&self.transactions, &self.names, &self.database, name)
            .map_err(refused_entry)?;
        let Some(found) = found else {
            return Err(refusal.unwrap_or_else(|| SqlError::new(2812, &[&tsql_name(name)])).into());
        };
        self.call_module(found, arguments, sink)
    }

    /// Runs a stored procedure's text with its parameters bound, under the settings with which it was created.
    fn call_module(
        &mut self,
        found: FoundProcedure,
        arguments: Vec<Argument>,
        sink: &mut dyn ResultSink,
    ) -> Result<CallResult, Interruption> {
        // What the caller is in stays locked; a USE inside changes only the procedure's own.
        let FoundProcedure { name, definition, database, object_id, .. } = found;
        self.transactions.enter_known_database(&database).map_err(refused_entry)?;
        let outer_database = std::mem::replace(&mut self.database, database);
        let outer_settings = (self.options.quoted_identifier, self.options.ansi_nulls);
        (self.options.quoted_identifier, self.options.ansi_nulls) =
            (found.quoted_identifier, found.ansi_nulls);
        let outcome = self.module_program(&definition).map_err(uncompiled).and_then(|module| {
            let (variables, targets) = self.bind_parameters(&name, &module, &arguments)?;
            let result = match &module.atomic {
                None => self.run_scope(&module, variables, Some(&name), object_id, sink)?,
                Some(_) => self.run_atomic(&module, variables, (&name, object_id), sink)?,
            };
            Ok((module, targets, result))
        });
        (self.options.quoted_identifier, self.options.ansi_nulls) = outer_settings;
        self.move_to(outer_database);
        let (module, targets, (status, variables)) = outcome?;
        let mut outputs = Vec::new();
        for (index, slot) in targets {
            let parameter = &module.variables[slot];
            outputs.push((index, parameter.name.clone(), parameter.sql_type, variables[slot].clone()));
        }
        Ok(CallResult { status, outputs })
    }

    /// The program of a module's text, from the cache or compiled now.
    fn module_program(&self, text: &str) -> SqlResult<Arc<Program>> {
        let key = ProgramKey::module(text, self.program_conditions());
        if let Some(program) = self.programs.get(&key) {
            return Ok(program);
        }
        let (era, held_bytes) = (self.programs.era(), os::memory::thread_bytes());
        let options = tsql::ParseOptions { quoted_identifier: self.options.quoted_identifier };
        let batch = tsql::parse_batch(text, &options)
            .map_err(|mut errors| crate::syntax_error(errors.swap_remove(0)))?;
        let Some(StatementKind::CreateProcedure(procedure)) = batch.statements.first().map(|s| &s.kind)
        else {
            return Err(SqlError::custom(
                2812,
                16,
                62,
                "The stored text of the procedure is not a CREATE PROCEDURE statement.".into(),
            ));
        };
        let ast::ModuleBody::Statements(body) = &procedure.body else {
            return Err(crate::run::not_supported("CLR procedures"));
        };
        let (parameters, uses_alias_types) = parameters_of(&procedure.parameters, self.types_in())?;
        let mut program = match crate::native::block_of(procedure)? {
            None => crate::compile::compile(text.into(), body, parameters, true, Some(self.types_in()))?,
            Some(block) => crate::compile::compile_native(
                text.into(),
                block,
                (parameters, &procedure.parameters),
                self.types_in(),
            )?,
        };
        program.uses_alias_types |= uses_alias_types;
        program.parameters.clone_from(&procedure.parameters);
        program.schema = own_schema(&procedure.name);
        self.programs.note_compiled();
        let program = Arc::new(program);
        program.statistics.made(self.now_ticks());
        program.note_made(held_bytes);
        self.programs.put(key, program.clone(), era);
        Ok(program)
    }

    /// A procedure's text must compile when it is created: variables, types, labels, and columns of the tables that are there already.
    pub(crate) fn check_procedure(
        &self,
        procedure: &ast::CreateProcedure,
        text: &Arc<str>,
    ) -> Result<(), Interruption> {
        if procedure.parameters.len() > crate::compile::PARAMETERS_MAX {
            let error = SqlError::new(180, &[&"CREATE PROCEDURE", &crate::compile::PARAMETERS_MAX]);
            return Err(uncompiled(error));
        }
        let ast::ModuleBody::Statements(body) = &procedure.body else { return Ok(()) };
        let types_in = self.types_in();
        if let Some(block) = crate::native::block_of(procedure).map_err(uncompiled)? {
            let checked = parameters_of(&procedure.parameters, types_in).and_then(|(parameters, _)| {
                crate::native::check_statements(&block.body, text)?;
                let declared = (parameters, procedure.parameters.as_slice());
                let mut program = crate::compile::compile_native(text.clone(), block, declared, types_in)?;
                program.schema = own_schema(&procedure.name);
                self.check_native(procedure, &program)
            });
            return checked.map_err(uncompiled);
        }
        let program = parameters_of(&procedure.parameters, types_in)
            .and_then(|(parameters, _)| {
                let mut program =
                    crate::compile::compile(text.clone(), body, parameters, true, Some(types_in))?;
                program.schema = own_schema(&procedure.name);
                Ok(program)
            })
            .map_err(uncompiled)?;
        self.bind_ahead(&program).map_err(|mut errors| uncompiled(errors.swap_remove(0)))
    }

    /// Puts arguments into parameters: by position, by name, defaults for the rest. Also tells which arguments come back from which
    /// parameter.
    fn bind_parameters(
        &self,
        name: &str,
        module: &Program,
        arguments: &[Argument],
    ) -> SqlResult<(Vec<Value>, Vec<(usize, usize)>)> {
        let parameters = &module.parameters;
        check_arguments(name, parameters, arguments)?;
        let mut values: Vec<Option<Value>> = vec![None; parameters.len()];
        let mut named = vec![false; parameters.len()];
        let mut targets = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            let slot = match &argument.name {
                Some(wanted) => parameters
                    .iter()
                    .position(|p| p.name.eq_ignore_ascii_case(wanted))
                    .ok_or_else(|| SqlError::new(8145, &[wanted, &name]))?,
                None => index,
            };
            if std::mem::replace(&mut named[slot], true) {
                return Err(SqlError::new(8143, &[&parameters[slot].name]));
            }
            if argument.output && !parameters[slot].output {
                return Err(SqlError::new(8162, &[&parameters[slot].name]));
            }
            if argument.output {
                targets.push((index, slot));
            }
            if let Some(value) = &argument.value {
                values[slot] =
                    Some(values::pass(value, &argument.sql_type, &module.variables[slot].sql_type)?);
            }
        }
        let mut bound = Vec::with_capacity(parameters.len());
        for (slot, value) in values.into_iter().enumerate() {
            let value = match (value, &parameters[slot].default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.default_value(default, &module.variables[slot].sql_type)?,
                (None, None) => return Err(SqlError::new(201, &[&name, &parameters[slot].name])),
            };
            if value.is_null() && module.never_null.contains(&slot) {
                return Err(crate::atomic::null_refused(&parameters[slot].name));
            }
            bound.push(value);
        }
        Ok((bound, targets))
    }

    fn default_value(&self, default: &ast::Expr, target: &SqlType) -> SqlResult<Value> {
        // A bare word is a string there: `@p varchar(10) = abc`.
        let bare = match &default.kind {
            ast::ExprKind::Column(column) => Some(column.name.value.clone()),
            _ => None,
        };
        if let Some(word) = bare {
            let value = Value::NChar(word.encode_utf16().collect::<Vec<u16>>().into());
            return values::pass(&value, &SqlType::SysName, target);
        }
        values::constant(default, target)
    }

    /// Runs dynamic text with parameters (sp_executesql, EXEC('..')); gives the parameters' last values.
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

    /// The program of dynamic text; what is wrong with it has been told but for the last error.
    pub(crate) fn program_to_run(
        &mut self,
        text: &str,
        parameters: &[VariableDef],
        sink: &mut dyn ResultSink,
    ) -> Result<Arc<Program>, Interruption> {
        self.program_for(text, parameters, false).map_err(|errors| self.first_of(errors, sink))
    }

    /// Runs dynamic text's program; gives the parameters' last values.
    pub(crate) fn run_program(
        &mut self,
        program: &Program,
        variables: Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Vec<Value>, Interruption> {
        // Its database is its caller's, unless it goes into another one: then the caller's stays locked meanwhile.
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
    fn first_of(&mut self, mut errors: Vec<SqlError>, sink: &mut dyn ResultSink) -> Interruption {
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
        // Kept only where something may change them: most programs that clients call again and again are queries.
        let may_change = !program.leaves_settings || !self.options.runs();
        let options = may_change.then(|| self.options.clone());
        let count_before = self.facts.transaction_count;
        let mut frame = Frame::new(program, variables, self.facts.caught.len(), DoneKind::InProcedure);
        frame.procedure = procedure.map(Arc::from);
        self.facts.nest_level += 1;
        self.facts.scope_identity.push(Value::Null);
        if procedure.is_some() {
            self.facts.procedures.push(object_id);
        }
        self.names.enter_scope();
        let mut outcome = self.run(&mut frame, sink);
        let ended = self.names.leave_scope();
        if !ended.is_empty() {
            // Dropping them takes a transaction of its own.
            outcome = self.settle_before_more(sink).and(outcome);
        }
        self.drop_real_tables(&ended);
        if procedure.is_some() {
            self.facts.procedures.pop();
        }
        self.facts.scope_identity.pop();
        self.facts.nest_level -= 1;
        self.facts.caught.truncate(frame.caught_base);
        if let Some(options) = options {
            if self.options != options {
                self.options = options;
                self.tell_lock_options();
                self.publish(|_| {});
            }
        }
        let status = outcome.map_err(Interruption::Stopped)?;
        if procedure.is_some() && self.facts.transaction_count != count_before {
            let error = SqlError::new(266, &[&count_before, &self.facts.transaction_count]);
            self.unequal_count = Some(error);
        }
        Ok((status, frame.variables))
    }

    /// A call as a client sends it: results, return status, OUTPUT parameters, the end of the procedure.
    pub fn execute_rpc(&mut self, call: RpcCall, sink: &mut dyn ResultSink) -> RequestEnd {
        self.request(sink, |session, sink| {
            session.note_call(&called_name(&call.target));
            if call.parameters.len() > crate::compile::PARAMETERS_MAX {
                let error = SqlError::new(8003, &[&crate::compile::PARAMETERS_MAX]);
                return session.answer_rpc(Err(error.into()), &[], sink);
            }
            // Only what comes back is told in its caller's type.
            let last_output = call.parameters.iter().rposition(|parameter| parameter.output);
            let callers: Vec<SqlType> = call.parameters[..last_output.map_or(0, |last| last + 1)]
                .iter()
                .map(|parameter| parameter.sql_type)
                .collect();
            let refusal = refused_value(&call.parameters);
            let arguments: Vec<Argument> = call.parameters.into_iter().map(Argument::from_rpc).collect();
            let outcome = match (refusal, call.target) {
                (Some(error), _) => Err(error.into()),
                (None, RpcTarget::Number(number)) => session.call_number(number, arguments, sink),
                (None, RpcTarget::Name(name)) => parse_name(&name)
                    .map_err(Interruption::from)
                    .and_then(|name| session.call(&name, arguments, sink)),
            };
            session.answer_rpc(outcome, &callers, sink)
        })
    }

    fn answer_rpc(
        &mut self,
        outcome: Result<CallResult, Interruption>,
        callers: &[SqlType],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Stop> {
        let command = crate::done_command::EXECUTE;
        if let Some(error) = self.unequal_count.take() {
            self.facts.last_error = error.number;
            sink.message(&error);
        }
        let (error, stop) = match outcome {
            Ok(result) => {
                self.note_call_ends();
                sink.return_status(result.status);
                for (index, name, sql_type, value) in result.outputs {
                    let (sql_type, value) = as_callers(callers.get(index), sql_type, value);
                    sink.return_value(u16::try_from(index).unwrap_or(u16::MAX), &name, &sql_type, &value);
                }
                (false, None)
            }
            Err(Interruption::Failed(failure)) => {
                self.settle_before_more(sink)?;
                let frame_line = failure.error.clone().at_line(1);
                self.facts.last_error = frame_line.number;
                frame_line.told().for_each(|told| sink.message(told));
                let reach = crate::errors::reach(&frame_line, failure.origin, self.options.xact_abort);
                if reach >= crate::errors::Reach::Batch {
                    self.rollback_everything(sink);
                }
                (true, None)
            }
            Err(Interruption::Stopped(stop)) => (true, Some(stop)),
        };
        if !matches!(stop, Some(Stop::Attention)) {
            sink.done(Done { kind: DoneKind::Procedure, row_count: None, error, command });
        }
        stop.map_or(Ok(()), Err)
    }
}

impl Argument {
    fn from_rpc(parameter: crate::rpc::RpcParameter) -> Argument {
        let crate::rpc::RpcParameter { name, sql_type, value, output, default } = parameter;
        let name = Some(name).filter(|n| !n.is_empty());
        Argument { name, sql_type, value: (!default).then_some(value), output }
    }
}

/// An OUTPUT parameter goes back in the type that its caller gave it, scale and all: that is the variable it is assigned to. Texts and
/// binary strings keep their own, which may be longer: nothing is to be cut.
fn as_callers(caller: Option<&SqlType>, sql_type: SqlType, value: Value) -> (SqlType, Value) {
    use types::sql_type::TypeFamily;
    let is_text = |sql_type: &SqlType| sql_type.is_character() || sql_type.family() == TypeFamily::Binary;
    let Some(caller) = caller.filter(|c| **c != sql_type && !is_text(c) && **c != SqlType::SqlVariant) else {
        return (sql_type, value);
    };
    let context = types::ConvertContext::default();
    match types::convert(&value, &sql_type, caller, types::DEFAULT_STYLE, &context) {
        Ok(converted) => (*caller, converted),
        Err(_) => (sql_type, value),
    }
}

/// What is wrong with a call as a whole, before any value is looked at: too many arguments, a parameter without a value, a name that is
/// none of a parameter, in this order.
fn check_arguments(name: &str, parameters: &[ast::Parameter], arguments: &[Argument]) -> SqlResult<()> {
    if parameters.is_empty() && !arguments.is_empty() {
        return Err(SqlError::new(8146, &[&name]));
    }
    if arguments.len() > parameters.len() {
        return Err(SqlError::new(8144, &[&name]));
    }
    let slot = |(index, argument): (usize, &Argument)| match &argument.name {
        Some(wanted) => parameters.iter().position(|p| p.name.eq_ignore_ascii_case(wanted)),
        None => Some(index),
    };
    let given: Vec<Option<usize>> = arguments.iter().enumerate().map(slot).collect();
    let has_value =
        |slot: usize| given.iter().zip(arguments).any(|(g, a)| *g == Some(slot) && a.value.is_some());
    let missing = (0..parameters.len()).find(|slot| parameters[*slot].default.is_none() && !has_value(*slot));
    if let Some(slot) = missing {
        return Err(SqlError::new(201, &[&name, &parameters[slot].name]).with_state(4));
    }
    match given.iter().position(Option::is_none) {
        Some(at) => {
            let wanted = arguments[at].name.as_deref().unwrap_or_default();
            Err(SqlError::new(8145, &[&wanted, &name]))
        }
        None => Ok(()),
    }
}

/// A module's text that does not compile: nothing of it has run.
fn uncompiled(error: SqlError) -> Interruption {
    Interruption::Failed(Failure { error, origin: Origin::InnerText })
}

/// The schema of a procedure's name when it is not `dbo` or the system's.
fn own_schema(name: &ast::ObjectName) -> Option<Arc<str>> {
    let schema = name.schema.as_ref()?;
    let is_own = !schema.value.is_empty() && !schema.is("dbo") && !schema.is("sys");
    is_own.then(|| schema.value.as_str().into())
}

/// The types of declared parameters, as the first variables of the program; and whether an alias type is among them.
pub(crate) fn parameters_of(
    parameters: &[ast::Parameter],
    types_in: crate::compile::TypesIn<'_>,
) -> SqlResult<(Vec<VariableDef>, bool)> {
    let mut uses_alias_types = false;
    let mut definitions = Vec::with_capacity(parameters.len());
    for (at, parameter) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&parameter.name)) {
            return Err(SqlError::new(134, &[&parameter.name]));
        }
        let place = query::TypePlace::Variable(at + 1);
        let declared = query::resolve_type_in(&parameter.data_type, place, types_in.0, types_in.1)?;
        uses_alias_types |= declared.alias_id != 0;
        definitions.push(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type });
    }
    Ok((definitions, uses_alias_types))
}

/// The procedure that a client's call names, as it is shown.
fn called_name(target: &RpcTarget) -> Cow<'_, str> {
    match target {
        RpcTarget::Name(name) => Cow::Borrowed(name),
        RpcTarget::Number(number) => {
            shown_name(*number).map_or_else(|| Cow::Owned(number.to_string()), Cow::Borrowed)
        }
    }
}

/// A possibly qualified procedure name in text.
pub(crate) fn parse_name(text: &str) -> SqlResult<ast::ObjectName> {
    let script = format!("EXEC {text}");
    let batch = tsql::parse_batch(&script, &tsql::ParseOptions::default());
    let name = batch.ok().and_then(|mut b| match b.statements.pop().map(|s| s.kind) {
        Some(StatementKind::Execute(execute)) => match execute.target {
            ast::ExecuteTarget::Procedure(name, _) => Some(name),
            _ => None,
        },
        _ => None,
    });
    name.ok_or_else(|| SqlError::new(2812, &[&text]))
}

/// A name as written, for messages.
fn tsql_name(name: &ast::ObjectName) -> String {
    let parts = [name.server.as_ref(), name.database.as_ref(), name.schema.as_ref(), Some(&name.name)];
    let written: Vec<&str> = parts.into_iter().flatten().map(|i| i.value.as_str()).collect();
    written.join(".")
}
