//! The programs of functions: the body of CREATE FUNCTION as instructions.

use std::sync::Arc;

use engine::{Lookup, TransactionSet};
use query::SetOptions;
use query::context::UserFunction;
use tsql::ast::{self, FunctionBody, FunctionReturns, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::compile::{self, FunctionResult, TypesIn};
use crate::batch::parameters::{DeclaredParameters, parameters_of};
use crate::batch::program::Program;
use crate::batch::program_key::{ProgramConditions, ProgramKey};
use crate::execution::module::own_schema;
use crate::refusal::{not_supported, syntax_error};
use crate::state::State;

/// The program of a function, from the cache or compiled now.
pub(crate) fn program_of(
    state: &State,
    function: &UserFunction,
    options: &SetOptions,
    transactions: &TransactionSet,
) -> SqlResult<Arc<Program>> {
    if let Some(kept) = function.program.get().and_then(|kept| kept.clone().downcast::<Program>().ok()) {
        return Ok(kept);
    }
    let text = &function.module.definition;
    let conditions = ProgramConditions::new(function.database.incarnation(), options);
    let key = ProgramKey::module(text, conditions);
    let program = match state.programs.get(&key) {
        Some(program) => program,
        None => {
            let (era, held_bytes) = (state.programs.era(), os::memory::thread_bytes());
            let parsed = parse(text, options)?;
            let types_in = (&*function.database, Lookup::new(transactions));
            let program = Arc::new(compile_function(text, &parsed, types_in)?);
            state.programs.note_compiled();
            program.note_made(held_bytes);
            state.programs.put(key, program.clone(), era);
            program
        }
    };
    // An alias type may mean something else at the next call.
    if !program.uses_alias_types {
        let _ = function.program.set(program.clone());
    }
    Ok(program)
}

fn parse(text: &str, options: &SetOptions) -> SqlResult<Box<ast::CreateFunction>> {
    let options = tsql::ParseOptions { quoted_identifier: options.quoted_identifier };
    let batch =
        tsql::parse_batch(text, &options).map_err(|mut errors| syntax_error(errors.swap_remove(0)))?;
    match batch.statements.into_iter().next().map(|statement| statement.kind) {
        Some(StatementKind::CreateFunction(function)) => Ok(function),
        _ => Err(query::errors::stored_text_damaged()),
    }
}

/// Compiles the body of a scalar or multi-statement table-valued function.
///
/// # Errors
/// As [`compile::compile`]; refused by name: CLR functions, natively compiled functions.
pub(crate) fn compile_function(
    text: &Arc<str>,
    function: &ast::CreateFunction,
    types_in: TypesIn<'_>,
) -> SqlResult<Program> {
    let body = match &function.body {
        FunctionBody::Block(body) => body,
        FunctionBody::Atomic(_) => return Err(not_supported("A natively compiled function")),
        FunctionBody::External(_) => return Err(not_supported("A CLR function")),
        FunctionBody::Query(_) => return Err(query::errors::stored_text_damaged()),
    };
    let DeclaredParameters { definitions: parameters, tables, uses_alias_types } =
        parameters_of(&function.parameters, types_in)?;
    let result = match &function.returns {
        FunctionReturns::Scalar(data_type) => FunctionResult::Value(data_type),
        FunctionReturns::Table { variable, elements, options } => {
            let (elements, options) = (elements.clone(), options.clone());
            let table = ast::DeclareTable { name: variable.clone(), elements, options };
            FunctionResult::Table(table, select_all_of(variable)?)
        }
        FunctionReturns::InlineTable | FunctionReturns::ClrTable(_) => {
            return Err(not_supported("A CLR function"));
        }
    };
    let mut program = compile::compile_function(text.clone(), body, (parameters, result), types_in)?;
    program.uses_alias_types |= uses_alias_types;
    program.parameters.clone_from(&function.parameters);
    program.table_parameters = tables;
    program.schema = own_schema(&function.name);
    Ok(program)
}

/// `SELECT * FROM` the table that a function returns.
fn select_all_of(variable: &str) -> SqlResult<ast::Statement> {
    let batch = tsql::parse_batch(&format!("SELECT * FROM {variable}"), &tsql::ParseOptions::default());
    let statement = batch.ok().and_then(|batch| batch.statements.into_iter().next());
    statement.ok_or_else(|| SqlError::new(102, &[&variable]))
}
