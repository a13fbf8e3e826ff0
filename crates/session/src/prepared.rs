//! Prepared statements and parameterized texts: `sp_executesql`, `sp_prepare` and similar.

use std::sync::Arc;

use tsql::ast::StatementKind;
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::call::{Argument, CallResult};
use crate::batch::compile::TypesIn;
use crate::batch::parameters::{DeclaredParameters, parameters_of};
use crate::interruption::Interruption;
use crate::prepared_handles::{Parameters, Statement};
use crate::refusal::syntax_error;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::values;

/// Longer declarations are not kept, so that an idle session uses little memory.
const DECLARATIONS_KEPT_BYTES_MAX: usize = 2_000;

/// `sp_executesql @statement [, @params, values...]`
pub(crate) fn sp_executesql(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if arguments.is_empty() {
        return Err(SqlError::new(201, &[&"sp_executesql", &"@statement"]).into());
    }
    let text = statement_text(&arguments[0])?;
    let declarations =
        arguments.get(1).map(|a| values::to_text(&a.or_null()).unwrap_or_default()).unwrap_or_default();
    let parameters = declared(session, declarations)?;
    let passed = parameters.pass(&text, &arguments, 2)?;
    session.pass_tables(passed.tables)?;
    let last = session.run_text(&text, &parameters.definitions, passed.values, sink);
    session.names.forget_passed();
    let last = last?;
    Ok(parameters.result(&passed.targets, &last))
}

/// `sp_prepare @handle OUTPUT, @params, @statement [, @options]`
pub(crate) fn sp_prepare(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let statement = prepare(session, &arguments)?;
    // A text that cannot be parsed or bound is refused now, not at its first execution.
    if let Err(mut errors) = session.program_for(&statement.text, &statement.parameters.definitions, false) {
        let last = errors.pop().expect("a refused text has at least one error");
        errors.iter().for_each(|e| sink.message(e));
        sink.message(&last);
        return Err(SqlError::new(8180, &[]).into());
    }
    let handle = session.prepared.keep(statement)?;
    Ok(handle_result(&arguments, handle))
}

/// `sp_execute @handle, values...`
pub(crate) fn sp_execute(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = handle_of(&arguments)?.unwrap_or(0);
    run(session, handle, &arguments, 1, sink)
}

/// `sp_prepexec @handle OUTPUT, @params, @statement, values...`; an old handle passed in is released.
pub(crate) fn sp_prepexec(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let statement = prepare(session, &arguments)?;
    if let Some(old) = handle_of(&arguments)? {
        session.prepared.statements.remove(&old);
    }
    let handle = session.prepared.keep(statement)?;
    let mut result = handle_result(&arguments, handle);
    let run = run(session, handle, &arguments, 3, sink)?;
    result.status = run.status;
    result.outputs.extend(run.outputs);
    Ok(result)
}

/// `sp_prepexecrpc @handle OUTPUT, @procedure, values...`: how ODBC prepares and runs `{CALL p (?)}`. The handle stands for
/// an EXEC of that procedure with the same number of parameters.
pub(crate) fn sp_prepexecrpc(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let [handle, procedure, values @ ..] = &arguments[..] else {
        return Err(SqlError::new(201, &[&"sp_prepexecrpc", &"@rpccall"]).into());
    };
    // OUTPUT values have the procedure's declared types: the client's own type may be too short.
    let outputs = session.declared_outputs(&statement_text(procedure)?, values);
    let mut declarations = Vec::new();
    let mut passed = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let own = outputs.iter().find(|(at, _)| *at == index).map(|(_, own)| own);
        let (number, output) = (index + 1, if value.output { " OUTPUT" } else { "" });
        let name = value.name.as_ref().map_or(String::new(), |name| format!("{name} = "));
        declarations.push(match &value.table {
            None => format!("@P{number} {}{output}", own.unwrap_or(&value.sql_type)),
            Some(table) => format!("@P{number} {} READONLY", table.type_name()?),
        });
        passed.push(format!("{name}@P{number}{output}"));
    }
    let text = |text: &str| Argument {
        name: None,
        sql_type: SqlType::NVARCHAR_MAX,
        value: Some(Value::nvarchar(text)),
        output: false,
        table: None,
        is_cursor: false,
    };
    let call = format!("EXEC {} {}", statement_text(procedure)?, passed.join(", "));
    let mut rebuilt = vec![handle.clone(), text(&declarations.join(", ")), text(&call)];
    rebuilt.extend(values.iter().map(|value| Argument { name: None, ..value.clone() }));
    let mut result = sp_prepexec(session, rebuilt, sink)?;
    for (index, name, ..) in &mut result.outputs {
        if *index > 0 {
            *index -= 1;
            *name = arguments[*index].name.clone().unwrap_or_default();
        }
    }
    Ok(result)
}

/// `sp_unprepare @handle`
pub(crate) fn sp_unprepare(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = handle_of(&arguments)?.unwrap_or(0);
    match session.prepared.statements.remove(&handle) {
        Some(_) => Ok(CallResult::default()),
        None => Err(SqlError::new(8179, &[&handle]).into()),
    }
}

fn handle_result(arguments: &[Argument], handle: i32) -> CallResult {
    let wanted = arguments.first().is_some_and(|a| a.output);
    let output = (0, "@handle".to_string(), SqlType::Int, Value::Int(handle));
    CallResult { status: 0, outputs: if wanted { vec![output] } else { Vec::new() }, returned: None }
}

fn handle_of(arguments: &[Argument]) -> SqlResult<Option<i32>> {
    let first = arguments.first().ok_or_else(|| SqlError::new(201, &[&"sp_execute", &"@handle"]))?;
    values::to_int(&first.or_null())
}

fn prepare(session: &mut Session, arguments: &[Argument]) -> SqlResult<Statement> {
    let [_, declarations, text, ..] = arguments else {
        return Err(SqlError::new(201, &[&"sp_prepare", &"@stmt"]));
    };
    let declarations = values::to_text(&declarations.or_null()).unwrap_or_default();
    let parameters = declared(session, declarations)?;
    Ok(Statement { text: statement_text(text)?.into(), parameters, program: None })
}

/// The statement must be Unicode text (error 214).
pub(crate) fn statement_text(argument: &Argument) -> SqlResult<String> {
    match argument.value.as_ref() {
        Some(Value::NChar(units)) => Ok(units.to_text()),
        Some(Value::Null) | None => Ok(String::new()),
        Some(_) => Err(SqlError::new(214, &[&"@statement", &"ntext/nchar/nvarchar"])),
    }
}

/// The declared parameters of a call. Alias types are resolved each time.
pub(crate) fn declared(session: &mut Session, declarations: String) -> SqlResult<Arc<Parameters>> {
    if let Some((last, parameters)) = &session.prepared.declared
        && *last == declarations
    {
        return Ok(parameters.clone());
    }
    let (parameters, uses_alias_types) = declare(&declarations, session.types_in())?;
    let parameters = Arc::new(parameters);
    let may_keep = !uses_alias_types && declarations.len() <= DECLARATIONS_KEPT_BYTES_MAX;
    session.prepared.declared = may_keep.then(|| (declarations, parameters.clone()));
    Ok(parameters)
}

/// `@a int, @b nvarchar(10) = N'x' OUTPUT` as declarations, and whether they name an alias type. They have the syntax of a procedure's
/// parameters.
fn declare(declarations: &str, types_in: TypesIn<'_>) -> SqlResult<(Parameters, bool)> {
    if declarations.trim().is_empty() {
        return Ok((Parameters::default(), false));
    }
    let wrapped = format!("CREATE PROCEDURE p {declarations} AS RETURN");
    let batch = tsql::parse_batch(&wrapped, &tsql::ParseOptions::default())
        .map_err(|mut e| syntax_error(e.swap_remove(0)))?;
    let Some(StatementKind::CreateProcedure(procedure)) = batch.statements.into_iter().next().map(|s| s.kind)
    else {
        return Err(SqlError::new(102, &[&declarations]));
    };
    let DeclaredParameters { definitions, tables, uses_alias_types } =
        parameters_of(&procedure.parameters, types_in)?;
    let defaults = procedure.parameters.into_iter().map(|p| p.default).collect();
    Ok((Parameters { definitions, tables, defaults }, uses_alias_types))
}

/// Runs a prepared statement; `skipped` arguments of the call precede its values.
fn run(
    session: &mut Session,
    handle: i32,
    arguments: &[Argument],
    skipped: usize,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let Some(statement) = session.prepared.statements.get(&handle) else {
        return Err(SqlError::new(8179, &[&handle]).into());
    };
    let parameters = statement.parameters.clone();
    let passed = parameters.pass(&statement.text, arguments, skipped)?;
    session.check_nest_level()?;
    let conditions = session.program_conditions();
    let known = statement.program.as_ref().filter(|known| known.0 == conditions);
    let program = match known.and_then(|known| known.1.upgrade()) {
        Some(program) => {
            session.bind_ahead_again(&program).map_err(|errors| session.first_of(errors, sink))?;
            program
        }
        None => {
            let text = statement.text.clone();
            let program = session.program_to_run(&text, &parameters.definitions, sink)?;
            if let Some(statement) = session.prepared.statements.get_mut(&handle) {
                statement.program = Some((conditions, Arc::downgrade(&program)));
            }
            program
        }
    };
    program.note_used();
    session.pass_tables(passed.tables)?;
    let last = session.run_program(&program, passed.values, sink);
    session.names.forget_passed();
    let last = last?;
    Ok(parameters.result(&passed.targets, &last))
}
