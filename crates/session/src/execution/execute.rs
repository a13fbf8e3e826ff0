//! EXECUTE: procedures of the system and of databases, and dynamic text; parameters in, OUTPUT values and status back.

use std::borrow::Cow;
use std::sync::Arc;

use tsql::ast;
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::call::{Argument, CallResult};
use crate::batch::cell::Compiled;
use crate::batch::frame::Frame;
use crate::batch::instruction::{ExecuteCells, ExecuteTarget, Instruction};
use crate::batch::parameters::{BoundParameters, bind_parameters};
use crate::batch::program::Program;
use crate::done_command;
use crate::execution::function::not_callable;
use crate::execution::module::uncompiled;
use crate::interruption::{Interruption, refused_entry};
use crate::objects::{FoundProcedure, parse_name, tsql_name};
use crate::procs;
use crate::result_sets::Redescribed;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::system_procedures;
use crate::values;

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
        // @@ERROR after EXECUTE is that of the procedure's last statement.
        self.state.last_error = 0;
        let result = match &execute.result_sets {
            None => self.execute_target(frame, instruction, execute, arguments, sink),
            Some(wanted) => {
                let mut sink = Redescribed::new(sink, wanted, query::convert_context(&self.options));
                let result = self.execute_target(frame, instruction, execute, arguments, &mut sink);
                let (result, sent) = sink.finish(result);
                if let Some(rows) = sent {
                    self.unfinished = Some((rows, done_command::SELECT));
                }
                result
            }
        };
        self.guards -= u32::from(guarded);
        let result = result?;
        for (index, name, from, value) in result.outputs {
            if let Some(variable) = execute.arguments.get(index).and_then(|a| a.cursor.as_deref()) {
                self.state.cursors.take_returned(&name, variable);
                continue;
            }
            if let Some(slot) = execute.arguments.get(index).and_then(|a| a.output_slot) {
                frame.variables[slot] =
                    values::assign(&value, &from, &frame.program.variables[slot].sql_type)?;
            }
        }
        if let Some(slot) = execute.return_slot {
            let target = frame.program.variables[slot].sql_type;
            let (from, value) = result.returned.unwrap_or((SqlType::Int, Value::Int(result.status)));
            frame.variables[slot] = values::assign(&value, &from, &target)?;
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
            // 16951: a cursor goes out of a procedure, never into it.
            if let Some(variable) = cells.cursor.as_ref().filter(|name| self.state.cursors.holds(name)) {
                return Err(SqlError::new(16951, &[variable]).into());
            }
            let table = cells.table.as_ref().map(|name| self.table_argument(name)).transpose()?;
            let (sql_type, value) = match cells.value {
                None if cells.cursor.is_some() => (SqlType::Int, Some(Value::Null)),
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
                output: cells.output_slot.is_some() || cells.cursor.is_some(),
                table,
                is_cursor: cells.cursor.is_some(),
            });
        }
        Ok(arguments)
    }

    /// Resolves a procedure's name: without a schema, inside a procedure, that procedure's schema comes before `dbo`.
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
            let of_msdb = || system_procedures::in_msdb(&own).filter(|_| database.number() == engine::MSDB);
            if let Some(text) = system_procedures::in_sql(&own).or_else(of_msdb) {
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
            let base = crate::objects::find_synonym(&self.transactions, &self.database, name)
                .map_err(refused_entry)?;
            if let Some(base) = base {
                return self.call(&base, arguments, sink).map_err(|stop| without_base(stop, name, &base));
            }
            if let Some(result) = self.call_function_named(name, &arguments)? {
                return Ok(result);
            }
            let refusal = match refusal {
                Some(refusal) => refusal,
                None => not_callable(self, name)?.unwrap_or_else(|| SqlError::new(2812, &[&tsql_name(name)])),
            };
            return Err(refusal.into());
        };
        self.call_module(found, arguments, sink)
    }

    /// The declared types of a call's OUTPUT parameters, each with the number of its argument. Empty when the call is wrong:
    /// the call itself reports the error.
    pub(crate) fn declared_outputs(&mut self, name: &str, arguments: &[Argument]) -> Vec<(usize, SqlType)> {
        let name = parse_name(name);
        let found = name.and_then(|name| {
            crate::objects::find_procedure(&self.transactions, &self.names, &self.database, &name)
        });
        let Ok(Some(found)) = found else { return Vec::new() };
        // In another database its type names could mean something else.
        if !Arc::ptr_eq(&found.database, &self.database) {
            return Vec::new();
        }
        let outer = (self.options.quoted_identifier, self.options.ansi_nulls);
        (self.options.quoted_identifier, self.options.ansi_nulls) =
            (found.quoted_identifier, found.ansi_nulls);
        let module = self.module_program(&found.definition);
        (self.options.quoted_identifier, self.options.ansi_nulls) = outer;
        let bound = module.and_then(|module| {
            let bound = bind_parameters(&found.name, &module, arguments)?;
            Ok(bound.targets.iter().map(|&(index, slot)| (index, module.variables[slot].sql_type)).collect())
        });
        bound.unwrap_or_default()
    }

    /// Runs a stored procedure's text with its parameters bound, under the settings of its creation.
    fn call_module(
        &mut self,
        found: FoundProcedure,
        arguments: Vec<Argument>,
        sink: &mut dyn ResultSink,
    ) -> Result<CallResult, Interruption> {
        // The caller's database stays locked; a USE inside changes only the procedure's own.
        let FoundProcedure { name, definition, database, object_id, .. } = found;
        self.transactions.enter_known_database(&database).map_err(refused_entry)?;
        let outer_database = std::mem::replace(&mut self.database, database);
        let outer_settings = (self.options.quoted_identifier, self.options.ansi_nulls);
        (self.options.quoted_identifier, self.options.ansi_nulls) =
            (found.quoted_identifier, found.ansi_nulls);
        let outcome = self.module_program(&definition).map_err(uncompiled).and_then(|module| {
            let BoundParameters { values: variables, targets, tables } =
                bind_parameters(&name, &module, &arguments)?;
            // The texts of the system's own procedures are known to be sound.
            if object_id != 0 {
                self.bind_module_ahead(&module, &name).map_err(|errors| self.first_of(errors, sink))?;
            }
            self.pass_tables(tables)?;
            let result = match &module.atomic {
                None => self.run_scope(&module, variables, Some(&name), object_id, sink),
                Some(_) => self.run_atomic(&module, variables, (&name, object_id), sink),
            };
            self.names.forget_passed();
            Ok((module, targets, result?))
        });
        (self.options.quoted_identifier, self.options.ansi_nulls) = outer_settings;
        self.move_to(outer_database);
        let (module, targets, (status, variables)) = outcome?;
        let mut outputs = Vec::new();
        for (index, slot) in targets {
            let parameter = &module.variables[slot];
            outputs.push((index, parameter.name.clone(), parameter.sql_type, variables[slot].clone()));
        }
        Ok(CallResult { status, outputs, returned: None })
    }
}

/// A call of a synonym's base object that ended: error 5313 when there is no such object.
fn without_base(ended: Interruption, synonym: &ast::ObjectName, base: &ast::ObjectName) -> Interruption {
    match ended {
        Interruption::Failed(failure) if failure.error == SqlError::new(2812, &[&tsql_name(base)]) => {
            query::synonym::invalid(&tsql_name(synonym)).into()
        }
        other => other,
    }
}
