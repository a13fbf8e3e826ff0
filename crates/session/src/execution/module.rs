//! Stored procedures' texts: their programs, and the checks at creation.

use std::sync::Arc;

use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::compile::{PARAMETERS_MAX, compile, compile_ahead, compile_native};
use crate::batch::parameters::{DeclaredParameters, parameters_of};
use crate::batch::program::Program;
use crate::batch::program_key::ProgramKey;
use crate::errors::{Origin, UNDECLARED_VARIABLE};
use crate::execution::native::{block_of, check_statements};
use crate::interruption::{Failure, Interruption};
use crate::refusal::{not_supported, syntax_error};
use crate::session::Session;

impl Session {
    /// The program of a module's text, from the cache or compiled now.
    pub(crate) fn module_program(&self, text: &str) -> SqlResult<Arc<Program>> {
        let key = ProgramKey::module(text, self.program_conditions());
        if let Some(program) = self.programs.get(&key) {
            return Ok(program);
        }
        let (era, held_bytes) = (self.programs.era(), os::memory::thread_bytes());
        let options = tsql::ParseOptions { quoted_identifier: self.options.quoted_identifier };
        let batch =
            tsql::parse_batch(text, &options).map_err(|mut errors| syntax_error(errors.swap_remove(0)))?;
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
            return Err(not_supported("CLR procedures"));
        };
        let DeclaredParameters { definitions: parameters, tables, uses_alias_types } =
            parameters_of(&procedure.parameters, self.types_in())?;
        let mut program = match block_of(procedure)? {
            None => compile(text.into(), body, parameters, true, Some(self.types_in()))?,
            Some(block) => {
                compile_native(text.into(), block, (parameters, &procedure.parameters), self.types_in())?
            }
        };
        program.uses_alias_types |= uses_alias_types;
        program.parameters.clone_from(&procedure.parameters);
        program.table_parameters = tables;
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
        if procedure.parameters.len() > PARAMETERS_MAX {
            let error = SqlError::new(180, &[&"CREATE PROCEDURE", &PARAMETERS_MAX]);
            return Err(uncompiled(error));
        }
        let ast::ModuleBody::Statements(body) = &procedure.body else { return Ok(()) };
        let types_in = self.types_in();
        if let Some(block) = block_of(procedure).map_err(uncompiled)? {
            let checked = parameters_of(&procedure.parameters, types_in).and_then(|parameters| {
                check_statements(&block.body, text)?;
                let declared = (parameters.definitions, procedure.parameters.as_slice());
                let mut program = compile_native(text.clone(), block, declared, types_in)?;
                program.schema = own_schema(&procedure.name);
                self.check_native(procedure, &program)
            });
            return checked.map_err(uncompiled);
        }
        let (program, lacks_types) = parameters_of(&procedure.parameters, types_in)
            .and_then(|parameters| {
                let (mut program, lacks_types) =
                    compile_ahead(text.clone(), body, parameters.definitions, types_in)?;
                program.schema = own_schema(&procedure.name);
                Ok((program, lacks_types))
            })
            .map_err(uncompiled)?;
        match self.bind_ahead(&program) {
            // A statement that does not fit a missing type may fit once the type exists.
            Err(mut errors) if !lacks_types || errors[0].number == UNDECLARED_VARIABLE => {
                let last = errors.pop().expect("a refused text has at least one error");
                Err(uncompiled(last.after_all(errors)))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a module's text that does not compile: nothing of it has run.
pub(crate) fn uncompiled(error: SqlError) -> Interruption {
    Interruption::Failed(Failure { error, origin: Origin::InnerText })
}

/// The schema of a procedure's name unless it is `dbo` or `sys`.
pub(crate) fn own_schema(name: &ast::ObjectName) -> Option<Arc<str>> {
    let schema = name.schema.as_ref()?;
    let is_own = !schema.value.is_empty() && !schema.is("dbo") && !schema.is("sys");
    is_own.then(|| schema.value.as_str().into())
}
