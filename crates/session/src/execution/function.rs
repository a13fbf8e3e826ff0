//! Users' functions: a call runs the body inside the statement that calls it, in the statement's transactions, with variables, table variables
//! and settings of its own. A body changes nothing but its own table variables (`function_checks.rs`), so it needs no savepoint.

use std::sync::Arc;

use engine::{Database, Instance, Lookup, ModuleKind, ObjectDef, TransactionSet};
use query::context::FunctionRunner;
use query::{
    BindContext, ColumnDescription, ExecContext, Flow, FunctionCall, NameScope, RowSink, ScalarProgram,
    SessionNames, SetOptions, VariableDef,
};
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult, Value};

use crate::batch::call::{Argument, CallResult};
use crate::batch::cell::{Cell, Compiled, STALE_PLANS_MAX};
use crate::batch::frame::Frame;
use crate::batch::instruction::{ExecuteTarget, Instruction, InstructionKind};
use crate::batch::program::Program;
use crate::execution::function_program::program_of;
use crate::execution::function_state::FunctionState;
use crate::execution::scope::NEST_LEVEL_MAX;
use crate::interruption::Interruption;
use crate::names::TemporaryNames;
use crate::objects::tsql_name;
use crate::session::Session;
use crate::sink::DoneKind;
use crate::state::State;
use crate::temporary::drop_temporary_table;
use crate::values;

/// What error 2809 calls a function that gives rows.
const TABLE_FUNCTION: &str = "table valued function";

impl FunctionRunner for State {
    /// Errors 217 when it is nested too deeply; those of its body.
    fn call_function(&self, call: FunctionCall<'_>) -> SqlResult<Value> {
        run(self, call, |run, frame| {
            let program = frame.program;
            let returned = run.instructions(frame)?;
            let (Some(Some((at, cell))), Some(_)) = (returned, program.returns) else {
                return Err(SqlError::new(455, &[]));
            };
            run.scalar(frame, &program.instructions[at], cell, ScalarProgram::eval)
        })
    }

    fn call_table_function(&self, call: FunctionCall<'_>) -> SqlResult<Vec<Vec<Value>>> {
        run(self, call, |run, frame| {
            run.instructions(frame)?;
            let program = frame.program;
            let (Some(cell), Some(last)) = (program.returned_rows, program.instructions.last()) else {
                return Err(SqlError::new(455, &[]));
            };
            let mut rows = Gathered::default();
            run.query(frame, last, cell, &mut rows)?;
            rows.result
        })
    }
}

impl Session {
    /// EXECUTE of a scalar function; `None` when the name means none. Errors 8143, 8144, 8145, 313.
    pub(crate) fn call_function_named(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[Argument],
    ) -> Result<Option<CallResult>, Interruption> {
        let Some((found, module)) = find_function(self, name)? else { return Ok(None) };
        let written = tsql_name(name);
        let places = places_of(&written, &module.parameters, arguments)?;
        let mut variables = Vec::with_capacity(arguments.len());
        let mut values = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            variables.push(VariableDef { name: format!("@{at}"), sql_type: argument.sql_type });
            values.push(argument.or_null());
        }
        let span = ast::Span::default();
        let mut args = Vec::with_capacity(places.len());
        for (at, parameter) in places.iter().zip(&module.parameters) {
            let kind = match at.map(|at| (at, &arguments[at])) {
                Some((_, Argument { table: Some(table), .. })) => {
                    ast::ExprKind::Variable(self.table_for_function(&parameter.data_type, table)?)
                }
                Some((at, argument)) if argument.value.is_some() => ast::ExprKind::Variable(format!("@{at}")),
                _ => ast::ExprKind::Default,
            };
            args.push(ast::Expr { span, kind });
        }
        let call = ast::FunctionCall {
            name: found,
            quantifier: None,
            star: false,
            args,
            is_niladic: false,
            is_odbc: false,
            extra: None,
        };
        let call = ast::Expr { span, kind: ast::ExprKind::Function(Box::new(call)) };
        let program = query::compile_scalar(&call, None, &self.bind_context_with(&variables, None))?;
        let value = program.eval(&mut self.context_with(&mut values));
        // It has read tables: its autocommit transaction ends with it.
        if self.state.transaction_count == 0 && !self.transactions.is_idle() {
            self.end_statement(value.is_ok())?;
        } else {
            self.transactions.keep_table_variables()?;
        }
        let returned = Some((*program.sql_type(), value?));
        Ok(Some(CallResult { returned, ..CallResult::default() }))
    }
}

/// Error 2809 for the name of an object that EXECUTE cannot call; `None` when nothing has that name.
pub(crate) fn not_callable(session: &Session, name: &ast::ObjectName) -> SqlResult<Option<SqlError>> {
    let refused = |own: &str, kind: &str| SqlError::new(2809, &[&"procedure", &own, &own, &kind]);
    let Some((object, _)) = object_named(session, name)? else {
        let in_schema = |wanted: &str| name.schema.as_ref().is_some_and(|schema| schema.is(wanted));
        let mut views = query::FRONT_END.0.views().into_iter();
        let view = views.find(|view| name.name.is(view.name) && in_schema(view.schema));
        return Ok(
            view.map(|view| refused(view.name, if view.parameters > 0 { TABLE_FUNCTION } else { "view" }))
        );
    };
    let kind = match &object {
        ObjectDef::Table(_) => "table",
        ObjectDef::Sequence(_) => "sequence",
        ObjectDef::Module(module) => match module.kind {
            ModuleKind::View => "view",
            ModuleKind::InlineFunction | ModuleKind::TableFunction => TABLE_FUNCTION,
            ModuleKind::Trigger | ModuleKind::DatabaseTrigger => "trigger",
            ModuleKind::Procedure
            | ModuleKind::ScalarFunction
            | ModuleKind::TableType
            | ModuleKind::Synonym => return Ok(None),
        },
    };
    Ok(Some(refused(object.name(), kind)))
}

/// The argument for each parameter of a function that is called by EXECUTE. Errors 8143, 8144, 8145, 8162.
fn places_of(
    name: &str,
    parameters: &[ast::Parameter],
    arguments: &[Argument],
) -> SqlResult<Vec<Option<usize>>> {
    if arguments.len() > parameters.len() {
        return Err(SqlError::new(8144, &[&name]));
    }
    let mut places = vec![None; parameters.len()];
    for (at, argument) in arguments.iter().enumerate() {
        let parameter = match &argument.name {
            None => at,
            Some(wanted) => parameters
                .iter()
                .position(|parameter| parameter.name.eq_ignore_ascii_case(wanted))
                .ok_or_else(|| SqlError::new(8145, &[wanted, &name]))?,
        };
        if places[parameter].replace(at).is_some() {
            return Err(SqlError::new(8143, &[&parameters[parameter].name]));
        }
        if argument.output {
            return Err(SqlError::new(8162, &[&parameters[parameter].name]));
        }
    }
    Ok(places)
}

/// A scalar function by its name, which gets the schema in which it was found, and the statement that made it.
fn find_function(
    session: &Session,
    name: &ast::ObjectName,
) -> SqlResult<Option<(ast::ObjectName, Box<ast::CreateFunction>)>> {
    let Some((ObjectDef::Module(module), schema)) = object_named(session, name)? else { return Ok(None) };
    if module.kind != ModuleKind::ScalarFunction {
        return Ok(None);
    }
    let StatementKind::CreateFunction(function) = query::stored::parse_module(&module)? else {
        return Err(query::errors::stored_text_damaged());
    };
    let named = ast::ObjectName { schema: Some(ast::Ident::new(schema)), ..name.clone() };
    Ok(Some((named, function)))
}

/// The object of a name, and the schema in which it was found.
fn object_named<'n>(session: &Session, name: &'n ast::ObjectName) -> SqlResult<Option<(ObjectDef, &'n str)>> {
    let database = match name.database.as_ref().filter(|database| !database.value.is_empty()) {
        Some(database) => session.instance.database(&database.value)?,
        None => session.database.clone(),
    };
    let schema = name.schema.as_ref().map(|schema| schema.value.as_str()).filter(|schema| !schema.is_empty());
    let schema = schema.unwrap_or("dbo");
    let found = Lookup::new(&session.transactions).object(&database, schema, &name.name.value)?;
    Ok(found.map(|object| (object, schema)))
}

/// Prepares the run of a body, and drops its table variables afterwards.
fn run<T>(
    state: &State,
    call: FunctionCall<'_>,
    body: impl FnOnce(&mut FunctionRun<'_>, &mut Frame<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    if query::SessionState::nest_level(state) >= NEST_LEVEL_MAX {
        return Err(SqlError::new(217, &[&NEST_LEVEL_MAX]));
    }
    os::memory::check().map_err(query::errors::out_of_memory)?;
    let FunctionCall { function, arguments, instance, options, transactions } = call;
    let module = &function.module;
    let mut options = options.clone();
    (options.quoted_identifier, options.ansi_nulls) = (module.quoted_identifier, module.ansi_nulls);
    let program = program_of(state, function, &options, transactions)?;
    let of_statement = transactions.suspend_table_variables();
    state.function_level.update(|level| level + 1);
    let mut run = FunctionRun {
        state: FunctionState::new(state, module.object_id),
        runner: state,
        instance,
        database: &function.database,
        options,
        names: TemporaryNames::new(Arc::clone(&state.name_count), instance.tempdb()),
        has_tables: false,
        transactions,
    };
    let mut frame = Frame::new(&program, arguments, 0, DoneKind::InProcedure);
    let outcome = match run.take_tables(&mut frame) {
        Ok(()) => body(&mut run, &mut frame),
        Err(error) => Err(error),
    };
    state.function_level.update(|level| level - 1);
    let ended = run.end(outcome.is_ok());
    run.transactions.resume_table_variables(of_statement);
    let value = outcome?;
    ended.map(|()| value)
}

/// One running function.
pub(super) struct FunctionRun<'a> {
    pub(super) state: FunctionState<'a>,
    runner: &'a State,
    instance: &'a Arc<Instance>,
    pub(super) database: &'a Arc<Database>,
    pub(super) options: SetOptions,
    /// Its table variables.
    names: TemporaryNames,
    /// It has table-valued parameters, in a scope of names of their own.
    has_tables: bool,
    transactions: &'a mut TransactionSet,
}

/// Where RETURN stands and the cell of its value; `None` without a value.
type Returned = Option<(usize, Cell)>;

impl FunctionRun<'_> {
    /// Runs the instructions up to RETURN; `None` when the body ends without it.
    fn instructions(&mut self, frame: &mut Frame<'_>) -> SqlResult<Option<Returned>> {
        let program = frame.program;
        for &at in &program.tables_anyway {
            self.step(frame, &program.instructions[at])?;
        }
        let mut at = 0;
        while let Some(instruction) = program.instructions.get(at) {
            os::memory::check().map_err(query::errors::out_of_memory)?;
            let next = match &instruction.kind {
                InstructionKind::Jump(target) => *target,
                InstructionKind::JumpUnless { cell, target, .. } => {
                    match self.scalar(frame, instruction, *cell, ScalarProgram::eval_predicate)? {
                        true => at + 1,
                        false => *target,
                    }
                }
                InstructionKind::Return(None) => return Ok(Some(None)),
                InstructionKind::Return(Some(cell)) => return Ok(Some(Some((at, *cell)))),
                _ => {
                    self.step(frame, instruction)?;
                    at + 1
                }
            };
            if next <= at && os::task::interrupt_pending() {
                return Err(query::errors::cancelled());
            }
            at = next;
        }
        Ok(None)
    }

    fn step(&mut self, frame: &mut Frame<'_>, instruction: &Instruction) -> SqlResult<()> {
        match &instruction.kind {
            InstructionKind::SetVariable { slot, cell } => {
                frame.variables[*slot] = self.scalar(frame, instruction, *cell, ScalarProgram::eval)?;
                self.state.row_count.set(1);
                Ok(())
            }
            InstructionKind::Query { cell, .. } => {
                self.query(frame, instruction, *cell, &mut Gathered::default())
            }
            InstructionKind::DeclareTable(table) => self.declare_table(frame, table),
            InstructionKind::Cursor(step) => self.cursor_step(frame, instruction, step),
            InstructionKind::Execute(execute) => match &execute.target {
                ExecuteTarget::Text(_) => Err(SqlError::new(443, &[&"EXECUTE STRING"])),
                ExecuteTarget::Procedure(_) | ExecuteTarget::Variable(_) => Err(SqlError::new(557, &[])),
            },
            InstructionKind::Refuse(refusal) => Err(refusal.clone()),
            _ => Err(SqlError::new(557, &[])),
        }
    }

    /// The tables that are arguments become table variables of the call, READONLY ones. The caller's keep their names in tempdb; DEFAULT makes an
    /// empty table.
    fn take_tables(&mut self, frame: &mut Frame<'_>) -> SqlResult<()> {
        let program = frame.program;
        if program.table_parameters.iter().all(Option::is_none) {
            return Ok(());
        }
        let parameters = program.table_parameters.iter().zip(&program.parameters).enumerate();
        for (slot, (table_type, parameter)) in parameters {
            let Some(table_type) = table_type else { continue };
            let argument = std::mem::take(&mut frame.variables[slot]);
            let passed = values::to_text(&argument).filter(|name| !name.is_empty());
            let (is_own, real_name) = match passed {
                Some(real_name) => (false, real_name),
                None => {
                    let table = table_type.declaration(&parameter.name);
                    let real_name = self.names.add_table_variable(&parameter.name);
                    query::ddl::create_table_variable(&table, &real_name, &mut self.context(&mut []))?;
                    (true, real_name)
                }
            };
            self.names.pass(&parameter.name, real_name, table_type.clone(), is_own);
        }
        self.settle(true)?;
        self.names.enter_scope();
        self.has_tables = true;
        Ok(())
    }

    /// An empty table variable; one that is declared already keeps its rows.
    fn declare_table(&mut self, frame: &mut Frame<'_>, table: &tsql::ast::DeclareTable) -> SqlResult<()> {
        if self.names.temp_table(&table.name).is_some() {
            return Ok(());
        }
        let real_name = self.names.add_table_variable(&table.name);
        let result =
            query::ddl::create_table_variable(table, &real_name, &mut self.context(&mut frame.variables));
        self.settle(result.is_ok()).and(result)
    }

    pub(super) fn context<'c>(&'c mut self, variables: &'c mut [Value]) -> ExecContext<'c> {
        ExecContext {
            instance: self.instance,
            database: self.database,
            variables,
            transactions: self.transactions,
            state: &self.state,
            functions: self.runner,
            options: &self.options,
            names: &self.names,
            front_end: query::FRONT_END,
            trigger: None,
        }
    }

    /// The bound content of a cell: this call's, the program's, or freshly bound.
    pub(super) fn bound(
        &self,
        frame: &mut Frame<'_>,
        instruction: &Instruction,
        cell: Cell,
    ) -> SqlResult<Arc<Compiled>> {
        let scope = NameScope { database: self.database, names: &self.names };
        if let Some(compiled) = frame.local[cell].take_if(|compiled| compiled.is_valid(scope)) {
            return Ok(compiled);
        }
        let program = frame.program;
        let kept = program.cells[cell].lock().clone();
        if let Some(compiled) = kept.filter(|compiled| compiled.is_valid(scope)) {
            return Ok(compiled);
        }
        let fresh = Arc::new(self.bind(program, instruction.variables_visible, cell)?);
        // No other session may see definitions of this transaction before it commits.
        if fresh.is_shareable() && !self.transactions.has_changed_catalog() {
            program.keep(cell, &fresh);
        }
        Ok(fresh)
    }

    fn bind(&self, program: &Program, variables_visible: usize, cell: Cell) -> SqlResult<Compiled> {
        let context = self.bind_context(&program.variables[..variables_visible], program.schema.as_deref());
        let mut result = Err(SqlError::new(2801, &[]));
        for _ in 0..STALE_PLANS_MAX {
            result = program.bind_cell(cell, &context);
            if !result.as_ref().is_err_and(SqlError::is_stale_plan) {
                break;
            }
        }
        result
    }

    pub(super) fn bind_context<'c>(
        &'c self,
        variables: &'c [VariableDef],
        schema: Option<&'c str>,
    ) -> BindContext<'c> {
        BindContext {
            instance: self.instance,
            database: self.database,
            default_schema: schema.unwrap_or("dbo"),
            variables,
            options: &self.options,
            names: &self.names,
            lookup: Lookup::new(self.transactions),
            undeclared: None,
            missing: None,
            in_function: true,
            trigger: None,
        }
    }

    pub(super) fn scalar<T>(
        &mut self,
        frame: &mut Frame<'_>,
        instruction: &Instruction,
        cell: Cell,
        evaluate: impl Fn(&ScalarProgram, &mut ExecContext<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        for _ in 0..STALE_PLANS_MAX {
            let compiled = self.bound(frame, instruction, cell)?;
            let Compiled::Scalar(program) = compiled.as_ref() else {
                unreachable!("the cell of an expression holds one")
            };
            let result = evaluate(program, &mut self.context(&mut frame.variables));
            frame.local[cell] = Some(compiled);
            match result {
                Err(error) if error.is_stale_plan() => frame.forget(cell),
                result => {
                    self.settle(result.is_ok())?;
                    return result;
                }
            }
        }
        Err(SqlError::new(2801, &[]))
    }

    /// A query or a change of table variables.
    fn query(
        &mut self,
        frame: &mut Frame<'_>,
        instruction: &Instruction,
        cell: Cell,
        rows: &mut Gathered,
    ) -> SqlResult<()> {
        for _ in 0..STALE_PLANS_MAX {
            let compiled = self.bound(frame, instruction, cell)?;
            let Compiled::Statement(statement) = compiled.as_ref() else {
                unreachable!("the cell of a query holds a statement")
            };
            let result = statement.execute(&mut self.context(&mut frame.variables), rows);
            frame.local[cell] = Some(compiled);
            match result {
                Err(error) if error.is_stale_plan() => {
                    self.settle(false)?;
                    frame.forget(cell);
                }
                Ok(outcome) => {
                    self.settle(true)?;
                    let count = outcome.row_count.map_or(0, |count| i64::try_from(count).unwrap_or(i64::MAX));
                    self.state.row_count.set(count);
                    return Ok(());
                }
                Err(error) => return self.settle(false).and(Err(error)),
            }
        }
        Err(SqlError::new(2801, &[]))
    }

    /// Keeps the changes of table variables that one statement of the body has made, or takes them back.
    pub(super) fn settle(&mut self, is_kept: bool) -> SqlResult<()> {
        match is_kept {
            true => self.transactions.keep_table_variables(),
            false => self.transactions.take_back_table_variables(),
        }
    }

    /// Drops the table variables.
    fn end(&mut self, is_kept: bool) -> SqlResult<()> {
        let mut result = self.settle(is_kept);
        let mut all_ended = if self.has_tables { self.names.leave_scope() } else { Vec::new() };
        all_ended.extend(self.names.end_batch());
        for ended in all_ended {
            result = result.and(drop_temporary_table(self.instance, self.transactions, &ended));
        }
        result
    }
}

/// Keeps the rows of a query.
struct Gathered {
    result: SqlResult<Vec<Vec<Value>>>,
}

impl Default for Gathered {
    fn default() -> Gathered {
        Gathered { result: Ok(Vec::new()) }
    }
}

impl RowSink for Gathered {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, row: &[Value]) -> Flow {
        if let Err(spent) = os::memory::check() {
            self.result = Err(query::errors::out_of_memory(spent));
        }
        match &mut self.result {
            Ok(rows) => {
                rows.push(row.to_vec());
                Flow::Continue
            }
            Err(_) => Flow::Stop,
        }
    }

    fn message(&mut self, _message: &SqlError) {}
}
