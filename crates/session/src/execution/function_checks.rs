//! What the body of a function may hold, checked when it is created: nothing that changes data outside of it, sends rows or messages, or depends
//! on more than its arguments and the database (documentation of CREATE FUNCTION, "Valid statements in a function").

use std::sync::Arc;

use engine::ObjectDef;
use tsql::ast::{
    self, CursorOption, DmlTarget, DmlTargetKind, FunctionBody, FunctionReturns, ModuleOption, QueryBody,
    SelectItem, StatementKind, TableSource,
};
use types::{SqlError, SqlResult};

use crate::batch::program::Program;
use crate::errors::UNDECLARED_VARIABLE;
use crate::execution::function_program::compile_function;
use crate::execution::module::uncompiled;
use crate::interruption::Interruption;
use crate::objects::tsql_name;
use crate::refusal::{kind_name, not_supported};
use crate::session::Session;

/// Parameters of a function (documentation of CREATE FUNCTION).
const PARAMETERS_MAX: usize = 1024;

impl Session {
    /// A function's text must compile when it is created. Errors 443, 444, 455, and those of compilation and binding.
    pub(crate) fn check_function(
        &self,
        function: &ast::CreateFunction,
        text: &Arc<str>,
    ) -> Result<(), Interruption> {
        check_options(function).map_err(uncompiled)?;
        if function.parameters.len() > PARAMETERS_MAX {
            return Err(uncompiled(SqlError::new(180, &[&"CREATE FUNCTION", &PARAMETERS_MAX])));
        }
        if function.returns == FunctionReturns::InlineTable {
            return Ok(());
        }
        if let FunctionBody::Block(body) = &function.body {
            check_body(body, function).map_err(uncompiled)?;
        }
        let program = compile_function(text, function, self.types_in()).map_err(uncompiled)?;
        match self.bind_ahead(&program) {
            Err(mut errors) => {
                let undeclared = errors.iter().position(|error| error.number == UNDECLARED_VARIABLE);
                let last = match undeclared {
                    Some(at) => errors.remove(at),
                    None => errors.pop().expect("a refused text has at least one error"),
                };
                Err(uncompiled(last.after_all(errors)))
            }
            Ok(()) if function.options.contains(&ModuleOption::SchemaBinding) => {
                self.check_bound_names(function, &program).map_err(uncompiled)
            }
            Ok(()) => Ok(()),
        }
    }

    /// The names in the body of a schema-bound function have two parts, and the modules that they mean are schema-bound. Errors 1054, 4512, 4513.
    fn check_bound_names(&self, function: &ast::CreateFunction, program: &Program) -> SqlResult<()> {
        if query::ddl::takes_all_columns(&program.text, self.options.quoted_identifier) {
            return Err(SqlError::new(1054, &[&"*"]));
        }
        let module = tsql_name(&function.name);
        for (cell, visible, line) in program.cells_before_use() {
            for (written, object) in self.named_in(program, cell, visible).map_err(|e| e.at_line(line))? {
                if written.name.value.starts_with('#') {
                    continue;
                }
                let refused = |number| {
                    SqlError::new(number, &[&"function", &module, &tsql_name(&written)]).at_line(line)
                };
                if written.schema.is_none() || written.database.is_some() || written.server.is_some() {
                    return Err(refused(4512));
                }
                if matches!(&object, ObjectDef::Module(found) if !found.is_schema_bound) {
                    return Err(refused(4513));
                }
            }
        }
        Ok(())
    }
}

/// Options that functions do not have, or not of this kind; those that are not implemented `binder/src/clauses` refuses.
fn check_options(function: &ast::CreateFunction) -> SqlResult<()> {
    let is_scalar = matches!(function.returns, FunctionReturns::Scalar(_));
    for option in &function.options {
        let near = match option {
            ModuleOption::Recompile => "RECOMPILE",
            ModuleOption::ViewMetadata => "VIEW_METADATA",
            ModuleOption::NativeCompilation => return Err(not_supported("A natively compiled function")),
            ModuleOption::ReturnsNullOnNullInput if !is_scalar => "RETURNS",
            ModuleOption::CalledOnNullInput if !is_scalar => "CALLED",
            _ => continue,
        };
        return Err(SqlError::new(102, &[&near]));
    }
    let both = [ModuleOption::ReturnsNullOnNullInput, ModuleOption::CalledOnNullInput];
    if both.iter().all(|option| function.options.contains(option)) {
        return Err(SqlError::new(1039, &[&"CALLED"]));
    }
    Ok(())
}

/// Checks each statement; the last is RETURN (455).
fn check_body(body: &[ast::Statement], function: &ast::CreateFunction) -> SqlResult<()> {
    check_statements(body)?;
    match body.last() {
        Some(ast::Statement { kind: StatementKind::Return(value), span }) => {
            if value.is_none() && matches!(function.returns, FunctionReturns::Scalar(_)) {
                return Err(SqlError::new(1075, &[]).at_line(span.line));
            }
            Ok(())
        }
        last => {
            let line = last.map_or(1, |statement| statement.span.line);
            Err(SqlError::new(455, &[]).at_line(line))
        }
    }
}

fn check_statements(body: &[ast::Statement]) -> SqlResult<()> {
    body.iter().try_for_each(|statement| {
        check_statement(statement).map_err(|error| error.at_line(statement.span.line))
    })
}

fn side_effect(operator: &str) -> SqlResult<()> {
    Err(SqlError::new(443, &[&operator]))
}

fn check_statement(statement: &ast::Statement) -> SqlResult<()> {
    use StatementKind as Kind;
    match &statement.kind {
        Kind::Block(body) => check_statements(body),
        Kind::If(branching) => {
            let bodies = branching.branches.iter().map(|(_, body)| body).chain(&branching.otherwise);
            bodies.into_iter().try_for_each(|body| check_statements(std::slice::from_ref(body)))
        }
        Kind::While(repetition) => check_statements(std::slice::from_ref(&repetition.body)),
        Kind::TryCatch(_) => side_effect("BEGIN TRY"),
        Kind::Select(select) if query::is_select_into(select) => side_effect("SELECT INTO"),
        Kind::Select(select) => match is_assignment(&select.query.body) {
            true => Ok(()),
            false => Err(SqlError::new(444, &[])),
        },
        Kind::Insert(insert) => {
            if matches!(insert.source, ast::InsertSource::Execute(_)) {
                return side_effect("INSERT EXEC");
            }
            check_change(&insert.target, &[], &insert.output, "INSERT")
        }
        Kind::Update(update) => check_change(&update.target, &update.from, &update.output, "UPDATE"),
        Kind::Delete(delete) => check_change(&delete.target, &delete.from, &delete.output, "DELETE"),
        Kind::Merge(merge) => check_change(&merge.target, &[], &merge.output, "MERGE"),
        Kind::Execute(execute) => match &execute.target {
            ast::ExecuteTarget::Text { .. } => side_effect("EXECUTE STRING"),
            ast::ExecuteTarget::Procedure(..) | ast::ExecuteTarget::Variable(..) => Ok(()),
        },
        Kind::DeclareCursor(cursor) if cursor.definition.options.contains(&CursorOption::Global) => {
            side_effect("DECLARE CURSOR")
        }
        Kind::OpenCursor(cursor) | Kind::CloseCursor(cursor) | Kind::DeallocateCursor(cursor) => {
            check_cursor(cursor)
        }
        Kind::Fetch(fetch) if fetch.into.is_empty() => Err(SqlError::new(444, &[])),
        Kind::Fetch(fetch) => check_cursor(&fetch.cursor),
        Kind::Return(_)
        | Kind::Declare(_)
        | Kind::DeclareCursor(_)
        | Kind::DeclareTable(_)
        | Kind::SetVariable(_)
        | Kind::Break
        | Kind::Continue
        | Kind::Goto(_)
        | Kind::Label(_) => Ok(()),
        Kind::Print(_) => side_effect("PRINT"),
        Kind::RaisError(_) => side_effect("RAISERROR"),
        Kind::Throw(_) => side_effect("THROW"),
        Kind::WaitFor(_) => side_effect("WAITFOR"),
        Kind::Set(_) => side_effect("SET OPTION ON"),
        Kind::BeginTransaction(_) => side_effect("BEGIN TRANSACTION"),
        Kind::Commit(_) => side_effect("COMMIT TRANSACTION"),
        Kind::Rollback(_) => side_effect("ROLLBACK TRANSACTION"),
        Kind::SaveTransaction(_) => side_effect("SAVE TRANSACTION"),
        Kind::Truncate(_) => side_effect("TRUNCATE TABLE"),
        other => side_effect(&kind_name(other)),
    }
}

/// Functions have local cursors only.
fn check_cursor(cursor: &ast::CursorRef) -> SqlResult<()> {
    match cursor {
        ast::CursorRef::Name { global: true, .. } => side_effect("GLOBAL CURSOR"),
        _ => Ok(()),
    }
}

/// A change of a table variable, which sends no rows.
fn check_change(
    target: &DmlTarget,
    from: &[TableSource],
    output: &[ast::Output],
    operator: &str,
) -> SqlResult<()> {
    let is_own = match &target.kind {
        DmlTargetKind::Variable(..) => true,
        DmlTargetKind::Table(name) => from.iter().any(|source| is_variable_called(source, name)),
        DmlTargetKind::Source(_) => false,
    };
    if !is_own {
        return side_effect(operator);
    }
    for part in output {
        match &part.into {
            None => return Err(SqlError::new(444, &[])),
            Some(into) if !matches!(into.target, DmlTargetKind::Variable(..)) => {
                return side_effect("OUTPUT INTO");
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Is a table variable under this alias in the source of rows?
fn is_variable_called(source: &TableSource, alias: &ast::ObjectName) -> bool {
    match source {
        TableSource::Variable { alias: Some(own), .. } => {
            alias.schema.is_none() && own.value.eq_ignore_ascii_case(&alias.name.value)
        }
        TableSource::Join(join) => {
            [&join.left, &join.right].into_iter().any(|side| is_variable_called(side, alias))
        }
        _ => false,
    }
}

/// Does the query give values to variables, and send no row?
fn is_assignment(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => {
            select.items.iter().all(|item| matches!(item, SelectItem::Assign { .. }))
        }
        QueryBody::SetOperation(_) | QueryBody::Ordered(_) => false,
    }
}
