//! sp_cursoropen, sp_cursorprepare, sp_cursorexecute, sp_cursorprepexec, sp_cursorunprepare: API server cursors, opened from a text or from a
//! prepared one.

use std::sync::Arc;

use query::{ColumnDescription, VariableDef};
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult, SqlType, Value};

use super::arguments::int_at;
use super::cursor_options::{FAST_FORWARD, KEYSET, Options, ROWS_DEFAULT, STATIC};
use crate::batch::call::{Argument, CallResult};
use crate::batch::cell::Compiled;
use crate::batch::cursor::CursorPlan;
use crate::cursors::{Cursor, CursorId};
use crate::fetch_buffer::{ApiCursor, BufferFetch, Place, Wanted};
use crate::interruption::Interruption;
use crate::objects::find_procedure;
use crate::prepared::{declared, statement_text};
use crate::prepared_handles::{Parameters, Passed, Statement};
use crate::refusal::syntax_error;
use crate::session::Session;
use crate::sink::{ColumnOrigin, Done, DoneKind, ResultSink};
use crate::values;

/// The status of the call when the cursor has closed itself.
const CLOSED_ITSELF: i32 = 16;
/// sp_cursorprepare: the statement has no result whose columns could be described.
const NO_METADATA: i32 = 0x1FF6;

/// Where the arguments of a procedure are.
struct Layout {
    procedure: &'static str,
    cursor: usize,
    scroll: usize,
    /// Behind scrollopt come ccopt and rowcount; the values of the statement begin here.
    values: usize,
}

const OPEN: Layout = Layout { procedure: "sp_cursoropen", cursor: 0, scroll: 2, values: 6 };
const EXECUTE: Layout = Layout { procedure: "sp_cursorexecute", cursor: 1, scroll: 2, values: 5 };
const PREPEXEC: Layout = Layout { procedure: "sp_cursorprepexec", cursor: 1, scroll: 4, values: 7 };

/// What a text holds.
enum Source {
    /// One SELECT.
    Query(Box<ast::SelectStatement>, ast::Span),
    /// A call of a procedure that is one SELECT.
    Procedure(ast::Span),
    /// What has no cursor.
    Other,
}

/// `sp_cursoropen @cursor OUTPUT, @stmt [, @scrollopt OUTPUT [, @ccopt OUTPUT [, @rowcount OUTPUT [, @paramdef, values...]]]]`
pub(super) fn sp_cursoropen(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let Some(text) = arguments.get(1) else {
        return Err(SqlError::new(16903, &[&OPEN.procedure]).into());
    };
    let text = any_text(text);
    let options = options_of(&arguments, &OPEN)?;
    let declarations = match arguments.get(5) {
        Some(declarations) if options.is_parameterized() => any_text(declarations),
        Some(_) => return Err(SqlError::new(16914, &[&OPEN.procedure]).into()),
        None => String::new(),
    };
    let parameters = declared(session, declarations)?;
    let statement = Statement { text: text.into(), parameters, program: None };
    open(session, &statement, (&arguments, &OPEN, options), sink)
}

/// `sp_cursorprepare @handle OUTPUT, @params, @stmt, @options [, @scrollopt OUTPUT [, @ccopt OUTPUT]]`
pub(super) fn sp_cursorprepare(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let [_, declarations, text, ..] = &arguments[..] else {
        return Err(SqlError::new(16903, &[&"sp_cursorprepare"]).into());
    };
    let parameters = declared(session, any_text(declarations))?;
    let statement = Statement { text: statement_text(text)?.into(), parameters, program: None };
    let options = Options::new(int_at(&arguments, 4)?, int_at(&arguments, 5)?, "sp_cursorprepare")?;
    let source = source_of(session, &statement.text, sink)?;
    if matches!(source, Source::Other) && !options.allows_direct() {
        return Err(SqlError::new(16938, &[]).into());
    }
    let mut status = 0;
    let described = describe(session, &statement, &source, sink)?;
    if int_at(&arguments, 3)?.unwrap_or(0) & 1 != 0 {
        match described {
            Some(columns) => {
                sink.columns(&columns);
                let (kind, command) = (DoneKind::InProcedure, crate::done_command::SELECT);
                sink.done(Done { kind, row_count: Some(0), error: false, command });
            }
            None => status = NO_METADATA,
        }
    }
    let handle = session.prepared.keep_cursor(statement)?;
    let mut result = CallResult { status, ..CallResult::default() };
    put_int(&mut result, &arguments, 0, "@handle", handle);
    Ok(result)
}

/// `sp_cursorexecute @handle, @cursor OUTPUT [, @scrollopt OUTPUT [, @ccopt OUTPUT [, @rowcount OUTPUT [, values...]]]]`
pub(super) fn sp_cursorexecute(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = int_at(&arguments, 0)?.unwrap_or(0);
    let Some(statement) = session.prepared.cursors.get(&handle).cloned() else {
        return Err(SqlError::new(8179, &[&handle]).into());
    };
    let options = options_of(&arguments, &EXECUTE)?;
    open(session, &statement, (&arguments, &EXECUTE, options), sink)
}

/// `sp_cursorprepexec @handle OUTPUT, @cursor OUTPUT, @params, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT, values...`, as drivers
/// call it; an old handle passed in is released.
pub(super) fn sp_cursorprepexec(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let [_, _, declarations, text, ..] = &arguments[..] else {
        return Err(SqlError::new(16903, &[&PREPEXEC.procedure]).into());
    };
    let parameters = declared(session, any_text(declarations))?;
    let statement = Statement { text: statement_text(text)?.into(), parameters, program: None };
    let options = options_of(&arguments, &PREPEXEC)?;
    if let Some(old) = int_at(&arguments, 0)? {
        session.prepared.cursors.remove(&old);
    }
    let handle = session.prepared.keep_cursor(statement.clone())?;
    let opened = open(session, &statement, (&arguments, &PREPEXEC, options), sink);
    if opened.is_err() {
        session.prepared.cursors.remove(&handle);
    }
    let mut result = opened?;
    put_int(&mut result, &arguments, 0, "@handle", handle);
    result.outputs.sort_by_key(|output| output.0);
    Ok(result)
}

/// `sp_cursorunprepare @handle`
pub(super) fn sp_cursorunprepare(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let handle = int_at(&arguments, 0)?.unwrap_or(0);
    match session.prepared.cursors.remove(&handle) {
        Some(_) => Ok(CallResult::default()),
        None => Err(SqlError::new(8179, &[&handle]).into()),
    }
}

/// A text of any character type.
fn any_text(argument: &Argument) -> String {
    values::to_text(&argument.or_null()).unwrap_or_default()
}

fn options_of(arguments: &[Argument], layout: &Layout) -> SqlResult<Options> {
    let (scroll, concurrency) = (int_at(arguments, layout.scroll)?, int_at(arguments, layout.scroll + 1)?);
    Options::new(scroll, concurrency, layout.procedure)
}

/// Adds an OUTPUT value if the caller wants it.
fn put_int(result: &mut CallResult, arguments: &[Argument], at: usize, name: &str, value: i32) {
    if arguments.get(at).is_some_and(|argument| argument.output) {
        result.outputs.push((at, name.to_string(), SqlType::Int, Value::Int(value)));
    }
}

/// Opens a cursor for the text, or executes the text when it can have none.
fn open(
    session: &mut Session,
    statement: &Statement,
    (arguments, layout, options): (&[Argument], &Layout, Options),
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    session.check_nest_level()?;
    let Statement { text, parameters, .. } = statement;
    let passed = parameters.pass(text, arguments, layout.values)?;
    let source = source_of(session, text, sink)?;
    if matches!(source, Source::Other) {
        return direct(session, statement, passed, (arguments, layout, options), sink);
    }
    let Passed { values, targets, tables } = passed;
    // The rows of a table that is passed are there only now.
    let properties = match tables.is_empty() {
        true => options.properties(),
        false => Options { scroll: STATIC, ..options }.properties(),
    };
    session.pass_tables(tables)?;
    let opened = match source {
        Source::Query(select, span) => {
            let plan = CursorPlan::for_client(*select, span, properties, &parameters.definitions);
            open_query(session, plan, values, sink)
        }
        Source::Procedure(span) => {
            let plan = CursorPlan::for_client(no_query(), span, properties, &parameters.definitions);
            open_procedure(session, plan, (text, parameters, &targets), values, sink)
        }
        Source::Other => unreachable!("executed before"),
    };
    session.names.forget_passed();
    let (id, handle, returned) = opened?;
    let cursor = session.state.cursors.get(id);
    let (scroll, concurrency) = match options.result(cursor) {
        Ok(bits) => bits,
        Err(error) => {
            session.state.cursors.close_handle(handle);
            return Err(error.into());
        }
    };
    cursor.api = Some(Box::new(api_of(cursor, handle, (scroll, concurrency), options)));
    let (status, row_count) = first_rows(session, id, (arguments, layout, options), sink)?;
    let mut result = CallResult { status, outputs: Vec::new(), returned: None };
    let closed = status == CLOSED_ITSELF;
    put_int(&mut result, arguments, layout.cursor, "@cursor", if closed { 0 } else { handle });
    put_int(&mut result, arguments, layout.scroll, "@scrollopt", scroll);
    put_int(&mut result, arguments, layout.scroll + 1, "@ccopt", concurrency);
    put_int(&mut result, arguments, layout.scroll + 2, "@rowcount", row_count);
    result.outputs.extend(returned);
    Ok(result)
}

/// Sends the description of the columns, with AUTO_FETCH the first rows too. Returns the status and rowcount of the call.
fn first_rows(
    session: &mut Session,
    id: CursorId,
    (arguments, layout, options): (&[Argument], &Layout, Options),
    sink: &mut dyn ResultSink,
) -> Result<(i32, i32), Interruption> {
    if !options.fetches() {
        session.fetch_buffer(id, BufferFetch::Describe, sink)?;
        return Ok((0, rows_of(session.state.cursors.get(id))));
    }
    let asked = int_at(arguments, layout.scroll + 2)?.filter(|rows| *rows > 0).unwrap_or(ROWS_DEFAULT);
    let size = usize::try_from(asked).unwrap_or(0);
    session.fetch_buffer(id, BufferFetch::Move(Wanted::Next, size), sink)?;
    let cursor = session.state.cursors.get(id);
    let api = cursor.api.as_ref().expect("the cursor is a client's");
    let (fetched, handle, closes) = (api.buffer.len(), api.handle, api.closes_itself);
    let is_at_end = fetched < size;
    if closes && is_at_end {
        session.state.cursors.close_handle(handle);
    }
    let status = if closes && is_at_end { CLOSED_ITSELF } else { 0 };
    Ok((status, i32::try_from(fetched).unwrap_or(i32::MAX)))
}

/// Number of rows; -1 when it is not known or not fixed.
pub(super) fn rows_of(cursor: &Cursor) -> i32 {
    let scroll = cursor.api.as_ref().map_or(0, |api| api.scroll);
    match &cursor.opened {
        Some(opened) if matches!(scroll, KEYSET | STATIC) => i32::try_from(opened.count).unwrap_or(i32::MAX),
        Some(_) => -1,
        None => 0,
    }
}

type OpenedCursor = (CursorId, i32, Vec<(usize, String, SqlType, Value)>);

fn open_query(
    session: &mut Session,
    plan: CursorPlan,
    values: Vec<Value>,
    sink: &mut dyn ResultSink,
) -> Result<OpenedCursor, Interruption> {
    let compiled = query::compile(&plan.statement(), &session.bind_context_with(&plan.variables, None))?;
    let cursor = new_cursor(session, plan, Compiled::Statement(compiled), values);
    let (id, handle) = session.state.cursors.add_for_client(cursor);
    match session.open_cursor(id, None, sink) {
        Ok(messages) => {
            messages.iter().for_each(|message| sink.message(&message.clone().at_line(1)));
            Ok((id, handle, Vec::new()))
        }
        Err(interruption) => {
            session.state.cursors.close_handle(handle);
            Err(interruption)
        }
    }
}

fn open_procedure(
    session: &mut Session,
    plan: CursorPlan,
    (text, parameters, targets): (&str, &Parameters, &[(usize, usize)]),
    values: Vec<Value>,
    sink: &mut dyn ResultSink,
) -> Result<OpenedCursor, Interruption> {
    // The rows of the call are all that it has.
    let compiled = query::compile(&plan.statement(), &session.bind_context_with(&[], None))?;
    let cursor = new_cursor(session, plan, Compiled::Statement(compiled), values);
    let (id, handle) = session.state.cursors.add_for_client(cursor);
    match session.open_cursor_of_text(id, (text, &parameters.definitions), sink) {
        Ok(last) => Ok((id, handle, parameters.result(targets, &last).outputs)),
        Err(interruption) => {
            session.state.cursors.close_handle(handle);
            Err(interruption)
        }
    }
}

fn new_cursor(session: &Session, plan: CursorPlan, compiled: Compiled, values: Vec<Value>) -> Cursor {
    Cursor::new(
        Arc::new(plan),
        Arc::new(compiled),
        values,
        (session.database.clone(), None),
        session.now_ticks(),
    )
}

/// `SELECT NULL`, in place of the query of a cursor over a procedure's rows.
fn no_query() -> ast::SelectStatement {
    let batch = tsql::parse_batch("SELECT NULL", &tsql::ParseOptions::default());
    let first = batch.ok().and_then(|mut batch| batch.statements.pop());
    match first.map(|statement| statement.kind) {
        Some(StatementKind::Select(select)) => *select,
        _ => unreachable!("the text is a SELECT"),
    }
}

/// What the procedures keep of an open cursor.
fn api_of(cursor: &Cursor, handle: i32, (scroll, concurrency): (i32, i32), options: Options) -> ApiCursor {
    let opened = cursor.opened.as_ref().expect("it was opened");
    let table = opened.keyed.as_ref().map(|keyed| &keyed.table);
    let origins = opened.columns.iter().enumerate().map(|(at, column)| {
        let base = table.and_then(|table| table.origins.get(at)).and_then(Option::as_ref);
        ColumnOrigin {
            is_expression: base.is_none(),
            is_key: base
                .is_some_and(|base| table.is_some_and(|table| table.key.iter().any(|key| key.0 == *base))),
            renamed: base.filter(|base| **base != column.name).cloned(),
            is_hidden: false,
        }
    });
    let status = ColumnOrigin { is_expression: true, is_hidden: true, ..ColumnOrigin::default() };
    let origins = origins.chain([status]).collect();
    let columns = opened.columns.iter().cloned().chain([status_column()]).collect();
    ApiCursor {
        handle,
        scroll,
        concurrency,
        updates_in_place: options.updates_in_place(),
        closes_itself: options.closes_itself() && scroll == FAST_FORWARD,
        columns,
        table: table.map_or_else(Vec::new, |table| table.parts.clone()),
        origins,
        place: Place::default(),
        buffer: Vec::new(),
    }
}

/// The column behind those of the query: 1 for a row, 2 for one that is gone.
fn status_column() -> ColumnDescription {
    ColumnDescription {
        name: "ROWSTAT".to_string(),
        sql_type: SqlType::Int,
        nullable: false,
        identity: false,
        updatable: false,
        computed: true,
        table: None,
    }
}

/// Executes the text without a cursor, if the call allows that. Error 16938.
fn direct(
    session: &mut Session,
    statement: &Statement,
    passed: Passed,
    (arguments, layout, options): (&[Argument], &Layout, Options),
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if !options.allows_direct() {
        return Err(SqlError::new(16938, &[]).into());
    }
    let mut told = SqlError::new(16954, &[]).at_line(1);
    told.severity = 10;
    sink.message(&told);
    let Statement { text, parameters, .. } = statement;
    session.pass_tables(passed.tables)?;
    let last = session.run_text(text, &parameters.definitions, passed.values, sink);
    session.names.forget_passed();
    let own = parameters.result(&passed.targets, &last?);
    let mut result = CallResult::default();
    put_int(&mut result, arguments, layout.cursor, "@cursor", 0);
    put_int(&mut result, arguments, layout.scroll, "@scrollopt", options.scroll);
    put_int(&mut result, arguments, layout.scroll + 1, "@ccopt", options.concurrency);
    put_int(&mut result, arguments, layout.scroll + 2, "@rowcount", 0);
    result.outputs.extend(own.outputs);
    Ok(result)
}

/// Parses a text. Its FOR UPDATE and FOR READ ONLY are those of a cursor's declaration.
fn source_of(session: &mut Session, text: &str, sink: &mut dyn ResultSink) -> Result<Source, Interruption> {
    let options = tsql::ParseOptions { quoted_identifier: session.options.quoted_identifier };
    let statements = match tsql::parse_batch_while(text, &options, os::memory::is_spent) {
        Ok(batch) => batch.statements,
        Err(errors) => {
            let declaration = tsql::parse_batch(&format!("DECLARE c CURSOR FOR {text}"), &options);
            match declaration.map(|batch| batch.statements) {
                Ok(mut declared) if declared.len() == 1 => return Ok(query_of(declared.remove(0))),
                _ => {
                    let errors = errors.into_iter().map(syntax_error).collect();
                    return Err(session.first_of(errors, sink));
                }
            }
        }
    };
    let [statement] = &statements[..] else { return Ok(Source::Other) };
    match &statement.kind {
        StatementKind::Select(select) if may_be_cursor(select) => {
            Ok(Source::Query(select.clone(), statement.span))
        }
        StatementKind::Execute(execute) if is_one_query(session, execute)? => {
            Ok(Source::Procedure(statement.span))
        }
        _ => Ok(Source::Other),
    }
}

/// The query of a declaration.
fn query_of(statement: ast::Statement) -> Source {
    let StatementKind::DeclareCursor(declared) = statement.kind else { return Source::Other };
    let ast::CursorDefinition { with, query, hints: options, .. } = declared.definition;
    let select = ast::SelectStatement { with, query, options };
    match may_be_cursor(&select) {
        true => Source::Query(Box::new(select), statement.span),
        false => Source::Other,
    }
}

/// It has neither INTO nor a FOR clause nor assignments.
fn may_be_cursor(select: &ast::SelectStatement) -> bool {
    if select.query.for_clause.is_some() {
        return false;
    }
    let ast::QueryBody::Select(block) = &select.query.body else { return true };
    block.into.is_none() && !block.items.iter().any(|item| matches!(item, ast::SelectItem::Assign { .. }))
}

/// Does it call a procedure whose body is one SELECT?
fn is_one_query(session: &Session, execute: &ast::Execute) -> SqlResult<bool> {
    let ast::ExecuteTarget::Procedure(name, _) = &execute.target else { return Ok(false) };
    let found = find_procedure(&session.transactions, &session.names, &session.database, name)?;
    let Some(found) = found else { return Ok(false) };
    let options = tsql::ParseOptions { quoted_identifier: found.quoted_identifier };
    let Ok(batch) = tsql::parse_batch(&found.definition, &options) else { return Ok(false) };
    let Some(StatementKind::CreateProcedure(procedure)) = batch.statements.first().map(|first| &first.kind)
    else {
        return Ok(false);
    };
    let ast::ModuleBody::Statements(body) = &procedure.body else { return Ok(false) };
    let mut body = body.as_slice();
    while let [ast::Statement { kind: StatementKind::Block(inner), .. }] = body {
        body = inner.as_slice();
    }
    Ok(matches!(body, [ast::Statement { kind: StatementKind::Select(select), .. }] if may_be_cursor(select)))
}

/// Binds the text, so that it is refused now and not at its first execution (8180); returns the columns of its rows.
fn describe(
    session: &mut Session,
    statement: &Statement,
    source: &Source,
    sink: &mut dyn ResultSink,
) -> Result<Option<Vec<ColumnDescription>>, Interruption> {
    let definitions: &[VariableDef] = &statement.parameters.definitions;
    let mut refused = |errors: &[SqlError]| {
        errors.iter().for_each(|error| sink.message(error));
        Err(SqlError::new(8180, &[]).into())
    };
    let Source::Query(select, span) = source else {
        return match session.program_for(&statement.text, definitions, false) {
            Ok(_) => Ok(None),
            Err(errors) => refused(&errors),
        };
    };
    let query = ast::Statement { span: *span, kind: StatementKind::Select(select.clone()) };
    let compiled = match query::compile(&query, &session.bind_context_with(definitions, None)) {
        Ok(compiled) => compiled,
        Err(error) => return refused(&[error.at_line(1)]),
    };
    let columns = compiled.result_columns().unwrap_or_default();
    Ok(Some(columns.iter().cloned().chain([status_column()]).collect()))
}
