//! Prepared statements: handles that clients keep, the text and parameters behind them.

use query::VariableDef;
use rustc_hash::FxHashMap;
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult, SqlType, Value};

use crate::execute::{Argument, CallResult, parameters_of};
use crate::run::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::values;

/// A session may keep this many handles.
const HANDLES_MAX: usize = 100_000;

/// The handles of one session.
#[derive(Default)]
pub(crate) struct Prepared {
    last_handle: i32,
    statements: FxHashMap<i32, Statement>,
}

/// What stands behind a handle.
#[derive(Clone)]
struct Statement {
    text: std::sync::Arc<str>,
    parameters: std::sync::Arc<[Declared]>,
}

/// One declared parameter.
#[derive(Clone)]
struct Declared {
    definition: VariableDef,
    default: Option<ast::Expr>,
}

/// `sp_executesql @statement [, @params, values...]`
pub(crate) fn sp_executesql(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let mut arguments = arguments;
    if arguments.is_empty() {
        return Err(SqlError::new(201, &[&"sp_executesql", &"@statement"]).into());
    }
    let text = statement_text(&arguments[0])?;
    let declarations =
        arguments.get(1).map(|a| values::to_text(&a.or_null()).unwrap_or_default()).unwrap_or_default();
    let parameters = declare(&declarations)?;
    let skipped = arguments.len().min(2);
    let given = arguments.split_off(skipped);
    run(session, &text, &parameters, given, skipped, sink)
}

/// `sp_prepare @handle OUTPUT, @params, @statement [, @options]`
pub(crate) fn sp_prepare(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let statement = prepare(&arguments)?;
    // A text that cannot be parsed or bound is refused now, not at its first execution.
    let definitions: Vec<VariableDef> = statement.parameters.iter().map(|p| p.definition.clone()).collect();
    if let Err(mut errors) = session.program_for(&statement.text, &definitions, false) {
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
    let mut arguments = arguments;
    let handle = handle_of(&arguments)?.unwrap_or(0);
    let statement = session.prepared.statements.get(&handle).cloned();
    let statement = statement.ok_or_else(|| SqlError::new(8179, &[&handle]))?;
    let given = arguments.split_off(1);
    run(session, &statement.text, &statement.parameters, given, 1, sink)
}

/// `sp_prepexec @handle OUTPUT, @params, @statement, values...`; an old handle that comes in is given up.
pub(crate) fn sp_prepexec(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let mut arguments = arguments;
    let statement = prepare(&arguments)?;
    if let Some(old) = handle_of(&arguments)? {
        session.prepared.statements.remove(&old);
    }
    let handle = session.prepared.keep(statement.clone())?;
    let mut result = handle_result(&arguments, handle);
    let given = arguments.split_off(arguments.len().min(3));
    let run = run(session, &statement.text, &statement.parameters, given, 3, sink)?;
    result.status = run.status;
    result.outputs.extend(run.outputs);
    Ok(result)
}

/// `sp_prepexecrpc @handle OUTPUT, @procedure, values...`: how ODBC prepares and runs `{CALL p (?)}`. The handle stands for
/// an EXEC of that procedure with as many parameters.
pub(crate) fn sp_prepexecrpc(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let [handle, procedure, values @ ..] = &arguments[..] else {
        return Err(SqlError::new(201, &[&"sp_prepexecrpc", &"@rpccall"]).into());
    };
    let mut declarations = Vec::new();
    let mut passed = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let (number, output) = (index + 1, if value.output { " OUTPUT" } else { "" });
        let name = value.name.as_ref().map_or(String::new(), |name| format!("{name} = "));
        declarations.push(format!("@P{number} {}{output}", value.sql_type));
        passed.push(format!("{name}@P{number}{output}"));
    }
    let text = |text: &str| Argument {
        name: None,
        sql_type: SqlType::NVARCHAR_MAX,
        value: Some(Value::nvarchar(text)),
        output: false,
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

impl Prepared {
    fn keep(&mut self, statement: Statement) -> SqlResult<i32> {
        if self.statements.len() >= HANDLES_MAX {
            return Err(SqlError::new(701, &[&"internal"]));
        }
        self.last_handle += 1;
        self.statements.insert(self.last_handle, statement);
        Ok(self.last_handle)
    }
}

fn handle_result(arguments: &[Argument], handle: i32) -> CallResult {
    let wanted = arguments.first().is_some_and(|a| a.output);
    let output = (0, "@handle".to_string(), SqlType::Int, Value::Int(handle));
    CallResult { status: 0, outputs: if wanted { vec![output] } else { Vec::new() } }
}

fn handle_of(arguments: &[Argument]) -> SqlResult<Option<i32>> {
    let first = arguments.first().ok_or_else(|| SqlError::new(201, &[&"sp_execute", &"@handle"]))?;
    values::to_int(&first.or_null())
}

fn prepare(arguments: &[Argument]) -> SqlResult<Statement> {
    let [_, declarations, text, ..] = arguments else {
        return Err(SqlError::new(201, &[&"sp_prepare", &"@stmt"]));
    };
    let declarations = values::to_text(&declarations.or_null()).unwrap_or_default();
    Ok(Statement { text: statement_text(text)?.into(), parameters: declare(&declarations)?.into() })
}

/// The statement must be Unicode text (error 214).
fn statement_text(argument: &Argument) -> SqlResult<String> {
    match argument.value.as_ref() {
        Some(Value::NChar(units)) => Ok(units.to_text()),
        Some(Value::Null) | None => Ok(String::new()),
        Some(_) => Err(SqlError::new(214, &[&"@statement", &"ntext/nchar/nvarchar"])),
    }
}

/// `@a int, @b nvarchar(10) = N'x' OUTPUT` as declarations. They have the syntax of a procedure's parameters.
fn declare(declarations: &str) -> SqlResult<Vec<Declared>> {
    if declarations.trim().is_empty() {
        return Ok(Vec::new());
    }
    let wrapped = format!("CREATE PROCEDURE p {declarations} AS RETURN");
    let batch = tsql::parse_batch(&wrapped, &tsql::ParseOptions::default())
        .map_err(|mut e| crate::syntax_error(e.swap_remove(0)))?;
    let Some(StatementKind::CreateProcedure(procedure)) = batch.statements.into_iter().next().map(|s| s.kind)
    else {
        return Err(SqlError::new(102, &[&declarations]));
    };
    let definitions = parameters_of(&procedure.parameters)?;
    let defaults = procedure.parameters.into_iter().map(|p| p.default);
    Ok(definitions
        .into_iter()
        .zip(defaults)
        .map(|(definition, default)| Declared { definition, default })
        .collect())
}

/// Runs a text with its parameters; `skipped` arguments of the call stood before the values.
fn run(
    session: &mut Session,
    text: &str,
    parameters: &[Declared],
    given: Vec<Argument>,
    skipped: usize,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let mut values_in: Vec<Option<Value>> = vec![None; parameters.len()];
    let mut targets = Vec::new();
    for (index, argument) in given.iter().enumerate() {
        let by_name = argument
            .name
            .as_ref()
            .and_then(|n| parameters.iter().position(|p| p.definition.name.eq_ignore_ascii_case(n)));
        let slot = match (&argument.name, by_name) {
            (_, Some(slot)) => slot,
            (None, None) if index < parameters.len() => index,
            _ => {
                return Err(SqlError::new(
                    8178,
                    &[
                        &text.chars().take(100).collect::<String>(),
                        &argument.name.clone().unwrap_or_default(),
                    ],
                )
                .into());
            }
        };
        if let Some(value) = &argument.value {
            values_in[slot] =
                Some(values::pass(value, &argument.sql_type, &parameters[slot].definition.sql_type)?);
        }
        if argument.output {
            targets.push((index + skipped, slot));
        }
    }
    let mut bound = Vec::with_capacity(parameters.len());
    for (value, parameter) in values_in.into_iter().zip(parameters) {
        bound.push(match (value, &parameter.default) {
            (Some(value), _) => value,
            (None, Some(default)) => values::constant(default, &parameter.definition.sql_type)?,
            (None, None) => {
                let declared: Vec<String> = parameters
                    .iter()
                    .map(|p| format!("{} {}", p.definition.name, p.definition.sql_type.name()))
                    .collect();
                let shown = format!("({}){}", declared.join(","), text.chars().take(100).collect::<String>());
                return Err(SqlError::new(8178, &[&shown, &parameter.definition.name]).into());
            }
        });
    }
    let definitions: Vec<VariableDef> = parameters.iter().map(|p| p.definition.clone()).collect();
    let last = session.run_text(text, &definitions, bound, sink)?;
    let outputs = targets.into_iter().map(|(index, slot)| {
        let definition = &parameters[slot].definition;
        (index, definition.name.clone(), definition.sql_type, last[slot].clone())
    });
    Ok(CallResult { status: 0, outputs: outputs.collect() })
}
