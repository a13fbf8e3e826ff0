//! What the first result set of a text would be, without running it.

use std::sync::Arc;

use engine::{Database, ModuleKind, ObjectDef};
use tsql::ast::{self, StatementKind};
use types::SqlError;

use crate::context::{BindContext, ColumnDescription, VariableDef};

/// How deep procedures are followed.
const DEPTH_MAX: u32 = 32;

/// The columns of the first result set of a batch; none when it gives none. `variables` of the context are its parameters.
///
/// # Errors
/// Those of parsing and binding up to that statement.
pub fn first_result_set(
    text: &str,
    context: &BindContext<'_>,
) -> Result<Option<Vec<ColumnDescription>>, SqlError> {
    let options = tsql::ParseOptions { quoted_identifier: context.options.quoted_identifier };
    let batch = tsql::parse_batch(text, &options).map_err(|mut errors| {
        let error = errors.swap_remove(0);
        SqlError::custom(error.number, 15, error.state, error.message()).at_line(error.line)
    })?;
    let mut variables = context.variables.to_vec();
    in_statements(&batch.statements, context, &mut variables, DEPTH_MAX)
}

fn in_statements(
    statements: &[ast::Statement],
    context: &BindContext<'_>,
    variables: &mut Vec<VariableDef>,
    depth: u32,
) -> Result<Option<Vec<ColumnDescription>>, SqlError> {
    for statement in statements {
        let found = in_statement(statement, context, variables, depth)
            .map_err(|error| error.at_line(statement.span.line))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn in_statement(
    statement: &ast::Statement,
    context: &BindContext<'_>,
    variables: &mut Vec<VariableDef>,
    depth: u32,
) -> Result<Option<Vec<ColumnDescription>>, SqlError> {
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            for declaration in declarations {
                let declared =
                    crate::resolve_type_in(&declaration.data_type, context.database, context.lookup)?;
                variables.push(VariableDef { name: declaration.name.clone(), sql_type: declared.sql_type });
            }
            Ok(None)
        }
        StatementKind::Select(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_) => {
            let inner = BindContext { variables, ..*context };
            let compiled = crate::compile(statement, &inner)?;
            Ok(compiled.result_columns().filter(|columns| !columns.is_empty()).map(<[_]>::to_vec))
        }
        StatementKind::Block(statements) => in_statements(statements, context, variables, depth),
        StatementKind::If(branches) => {
            let all = branches.branches.iter().map(|branch| &branch.1).chain(&branches.otherwise);
            for branch in all {
                let found = in_statement(branch, context, variables, depth)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok(None)
        }
        StatementKind::While(repeat) => in_statement(&repeat.body, context, variables, depth),
        StatementKind::TryCatch(guarded) => in_statements(&guarded.body, context, variables, depth),
        StatementKind::Execute(execute) => match &execute.target {
            ast::ExecuteTarget::Procedure(name, _) if depth > 0 => in_procedure(name, context, depth - 1),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The first result set of a stored procedure.
fn in_procedure(
    name: &ast::ObjectName,
    context: &BindContext<'_>,
    depth: u32,
) -> Result<Option<Vec<ColumnDescription>>, SqlError> {
    let database: Arc<Database> = match &name.database {
        Some(database) => context.instance.database(&database.value)?,
        None => context.database.clone(),
    };
    let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
    let Some(ObjectDef::Module(module)) = context.lookup.object(&database, schema, &name.name.value)? else {
        return Err(SqlError::new(2812, &[&name.name.value]));
    };
    if module.kind != ModuleKind::Procedure {
        return Ok(None);
    }
    let StatementKind::CreateProcedure(procedure) = crate::stored::parse_module(&module)? else {
        return Ok(None);
    };
    let ast::ModuleBody::Statements(body) = &procedure.body else { return Ok(None) };
    let mut variables = Vec::new();
    for parameter in &procedure.parameters {
        let declared = crate::resolve_type_in(&parameter.data_type, &database, context.lookup)?;
        variables.push(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type });
    }
    let inner = BindContext { database: &database, variables: &[], ..*context };
    in_statements(body, &inner, &mut variables, depth)
}

/// Parameters as sp_executesql declares them: `@a int, @b nvarchar(10)`.
///
/// # Errors
/// Those of parsing; 2715.
pub fn declared_parameters(
    text: &str,
    database: &Database,
    lookup: engine::Lookup<'_>,
) -> Result<Vec<VariableDef>, SqlError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let wrapped = format!("CREATE PROCEDURE p {text} AS RETURN");
    let batch = tsql::parse_batch(&wrapped, &tsql::ParseOptions::default()).map_err(|mut errors| {
        let error = errors.swap_remove(0);
        SqlError::custom(error.number, 15, error.state, error.message()).at_line(error.line)
    })?;
    let Some(StatementKind::CreateProcedure(procedure)) = batch.statements.into_iter().map(|s| s.kind).next()
    else {
        return Err(SqlError::new(102, &[&text]));
    };
    let define = |parameter: &ast::Parameter| {
        let declared = crate::resolve_type_in(&parameter.data_type, database, lookup)?;
        Ok(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type })
    };
    procedure.parameters.iter().map(define).collect()
}
