//! Describes the first result set and the undeclared parameters of a text without running it; implements the front end for
//! views.

use std::sync::Arc;

use binder::observe::{bound_module, named_columns};
use engine::{Database, Lookup, ModuleDef, ModuleKind, ObjectDef, TableDef};
use plan_ir::context::{BindContext, ColumnDescription, VariableDef};
use plan_ir::data_type::TypePlace;
use plan_ir::front_end::{BindAnew, BoundModule, FrontEnd, Reference};
use plan_ir::undeclared::Undeclared;
use plan_ir::undeclared::UndeclaredParameters;
use plan_ir::view::View;
use plan_ir::view_shape::ViewShape;
use tsql::ast::{self, StatementKind};
use types::SqlError;

/// The front end: what `session` hands to each statement that it runs.
pub const FRONT_END: FrontEnd = FrontEnd(&Whole);

/// Binder, planner and the list of views, together.
struct Whole;

impl BindAnew for Whole {
    fn views(&self) -> Vec<&'static ViewShape> {
        sysviews::all().iter().map(View::shape).collect()
    }

    fn module(&self, context: &BindContext<'_>, module: &ModuleDef) -> Option<BoundModule> {
        bound_module(crate::registry::binder(context), module)
    }

    fn is_inlineable(&self, context: &BindContext<'_>, module: &Arc<ModuleDef>) -> bool {
        crate::registry::binder(context).is_inlineable(context.database, module)
    }

    fn references(&self, context: &BindContext<'_>, module: &ModuleDef) -> Vec<Reference> {
        crate::references::of_module(context, module)
    }

    fn named_columns(
        &self,
        context: &BindContext<'_>,
        database: &Arc<Database>,
        table: &Arc<TableDef>,
        text: &str,
    ) -> Vec<i32> {
        named_columns(crate::registry::binder(context), database, table, text)
    }

    fn declared_parameters(
        &self,
        text: &str,
        database: &Arc<Database>,
        lookup: Lookup<'_>,
    ) -> Result<Vec<VariableDef>, SqlError> {
        declared_parameters(text, database, lookup)
    }

    fn first_result_set(
        &self,
        text: &str,
        context: &BindContext<'_>,
    ) -> Result<Option<Vec<ColumnDescription>>, SqlError> {
        first_result_set(text, context)
    }
}

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
            for (at, declaration) in declarations.iter().enumerate() {
                if is_table(&declaration.data_type, context.database, context.lookup)? {
                    continue;
                }
                let place = TypePlace::Variable(at + 1);
                let declared = plan_ir::data_type::declared_in(
                    &declaration.data_type,
                    place,
                    context.database,
                    context.lookup,
                )?;
                variables.push(VariableDef { name: declaration.name.clone(), sql_type: declared.sql_type });
            }
            Ok(None)
        }
        StatementKind::Select(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Merge(_) => {
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
        StatementKind::Execute(execute) => match (said_result_sets(execute), &execute.target) {
            // What the statement says is believed: it is checked when it runs.
            (Some(said), _) => said.first().map(|set| said_columns(set, context)).transpose(),
            (None, ast::ExecuteTarget::Procedure(name, _)) if depth > 0 => {
                in_procedure(name, context, depth - 1)
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// WITH RESULT SETS, when it says which there are; none for NONE.
fn said_result_sets(execute: &ast::Execute) -> Option<&[ast::ResultSet]> {
    execute.options.iter().find_map(|option| match option {
        ast::ExecuteOption::ResultSetsNone => Some(&[][..]),
        ast::ExecuteOption::ResultSets(sets) => Some(sets.as_slice()),
        ast::ExecuteOption::Recompile | ast::ExecuteOption::ResultSetsUndefined => None,
    })
}

fn said_columns(set: &ast::ResultSet, context: &BindContext<'_>) -> Result<Vec<ColumnDescription>, SqlError> {
    let ast::ResultSet::Columns(columns) = set else {
        return Err(crate::errors::unsupported("WITH RESULT SETS (AS ...)"));
    };
    let describe = |(at, column): (usize, &ast::ResultColumn)| {
        let place = TypePlace::Column(at + 1);
        let declared =
            plan_ir::data_type::declared_in(&column.data_type, place, context.database, context.lookup)?;
        Ok(ColumnDescription {
            name: column.name.value.clone(),
            sql_type: declared.sql_type,
            nullable: column.nullable.or(declared.nullable).unwrap_or(true),
            identity: false,
            updatable: false,
            computed: false,
            table: None,
        })
    };
    columns.iter().enumerate().map(describe).collect()
}

/// What is called: a name without a schema means one of the caller's schema, or of `dbo`.
fn called(
    name: &ast::ObjectName,
    database: &Arc<Database>,
    context: &BindContext<'_>,
) -> Result<Option<ObjectDef>, SqlError> {
    let find = |schema: &str| context.lookup.object(database, schema, &name.name.value);
    match &name.schema {
        Some(schema) => find(&schema.value),
        None => Ok(find(context.default_schema)?.or(find("dbo")?)),
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
    let Some(ObjectDef::Module(module)) = called(name, &database, context)? else {
        return Err(SqlError::new(2812, &[&name.name.value]));
    };
    if module.kind != ModuleKind::Procedure {
        return Ok(None);
    }
    let StatementKind::CreateProcedure(procedure) = plan_ir::stored::parse_module(&module)? else {
        return Ok(None);
    };
    let ast::ModuleBody::Statements(body) = &procedure.body else { return Ok(None) };
    let mut variables = Vec::new();
    for (at, parameter) in procedure.parameters.iter().enumerate() {
        if is_table(&parameter.data_type, &database, context.lookup)? {
            continue;
        }
        let place = TypePlace::Variable(at + 1);
        let declared =
            plan_ir::data_type::declared_in(&parameter.data_type, place, &database, context.lookup)?;
        variables.push(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type });
    }
    let inner =
        BindContext { database: &database, default_schema: &module.schema, variables: &[], ..*context };
    in_statements(body, &inner, &mut variables, depth)
}

/// Is it a table type? Its variables are no variables of expressions.
fn is_table(
    data_type: &ast::DataType,
    database: &engine::Database,
    lookup: engine::Lookup<'_>,
) -> Result<bool, SqlError> {
    Ok(plan_ir::data_type::table_type_in(data_type, database, lookup)?.is_some())
}

/// The parameters that a batch uses and does not declare, with the types that their places give them; `variables` of the context are declared.
///
/// # Errors
/// Those of parsing and binding; 11503, 11506, 11508.
pub fn undeclared_parameters(
    text: &str,
    context: &BindContext<'_>,
) -> Result<Vec<Arc<Undeclared>>, SqlError> {
    let options = tsql::ParseOptions { quoted_identifier: context.options.quoted_identifier };
    let batch = tsql::parse_batch(text, &options).map_err(|mut errors| {
        let error = errors.swap_remove(0);
        SqlError::custom(error.number, 15, error.state, error.message()).at_line(error.line)
    })?;
    let found = UndeclaredParameters::default();
    let mut variables = context.variables.to_vec();
    let inner = BindContext { undeclared: Some(&found), ..*context };
    bind_all(&batch.statements, &inner, &mut variables)?;
    found.finish()
}

fn bind_all(
    statements: &[ast::Statement],
    context: &BindContext<'_>,
    variables: &mut Vec<VariableDef>,
) -> Result<(), SqlError> {
    statements.iter().try_for_each(|statement| {
        bind_one(statement, context, variables).map_err(|error| error.at_line(statement.span.line))
    })
}

/// Binds what a statement names; nothing of it is run.
fn bind_one(
    statement: &ast::Statement,
    context: &BindContext<'_>,
    variables: &mut Vec<VariableDef>,
) -> Result<(), SqlError> {
    let value = |expr: &ast::Expr, target: Option<&types::SqlType>, variables: &[VariableDef]| {
        crate::compile_scalar(expr, target, &BindContext { variables, ..*context }).map(|_| ())
    };
    let condition = |expr: &ast::Expr, variables: &[VariableDef]| {
        crate::compile_predicate(expr, &BindContext { variables, ..*context }).map(|_| ())
    };
    match &statement.kind {
        StatementKind::Declare(declarations) => {
            for (at, declaration) in declarations.iter().enumerate() {
                let place = TypePlace::Variable(at + 1);
                let declared = plan_ir::data_type::declared_in(
                    &declaration.data_type,
                    place,
                    context.database,
                    context.lookup,
                )?;
                if let Some(initial) = &declaration.initial {
                    value(initial, Some(&declared.sql_type), variables)?;
                }
                variables.push(VariableDef { name: declaration.name.clone(), sql_type: declared.sql_type });
            }
            Ok(())
        }
        StatementKind::SetVariable(set) => match &**set {
            ast::SetVariable::Assign { variable, value: assigned, .. } => {
                let known = variables.iter().rfind(|known| known.name.eq_ignore_ascii_case(variable));
                let known = known.ok_or_else(|| crate::errors::undeclared_variable(variable))?;
                value(assigned, Some(&known.sql_type), variables)
            }
            _ => Ok(()),
        },
        StatementKind::Select(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Merge(_) => {
            crate::compile(statement, &BindContext { variables, ..*context }).map(|_| ())
        }
        StatementKind::Block(statements) => bind_all(statements, context, variables),
        StatementKind::If(branches) => {
            for (when, then) in &branches.branches {
                condition(when, variables)?;
                bind_one(then, context, variables)?;
            }
            branches.otherwise.iter().try_for_each(|last| bind_one(last, context, variables))
        }
        StatementKind::While(repeat) => {
            condition(&repeat.condition, variables)?;
            bind_one(&repeat.body, context, variables)
        }
        StatementKind::TryCatch(guarded) => {
            bind_all(&guarded.body, context, variables)?;
            bind_all(&guarded.catch, context, variables)
        }
        StatementKind::Execute(execute) => match &execute.target {
            ast::ExecuteTarget::Procedure(name, _) => bind_arguments(name, &execute.args, context, variables),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What is passed to a stored procedure has the types of its parameters.
fn bind_arguments(
    name: &ast::ObjectName,
    arguments: &[ast::ExecuteArgument],
    context: &BindContext<'_>,
    variables: &[VariableDef],
) -> Result<(), SqlError> {
    let Some(undeclared) = context.undeclared else { return Ok(()) };
    let is_unknown = |name: &str| !variables.iter().any(|known| known.name.eq_ignore_ascii_case(name));
    let database: Arc<Database> = match &name.database {
        Some(database) => context.instance.database(&database.value)?,
        None => context.database.clone(),
    };
    let Some(ObjectDef::Module(module)) = called(name, &database, context)? else {
        // Those of the system take text and numbers of their own: an argument without a type finds none there.
        let own = name.name.value.to_lowercase();
        let is_system = own.starts_with("sp_") || own.starts_with("xp_");
        return if is_system { Ok(()) } else { Err(SqlError::new(2812, &[&name.name.value])) };
    };
    let formal = sysviews::module_parameters(&database, &module);
    for (at, argument) in arguments.iter().enumerate() {
        let ast::ExprKind::Variable(variable) = &argument.value.kind else { continue };
        if !is_unknown(variable) {
            continue;
        }
        let wanted = match &argument.name {
            Some(name) => formal.iter().find(|formal| formal.name.eq_ignore_ascii_case(name)),
            None => formal.get(at),
        };
        let wanted = wanted.ok_or_else(|| SqlError::new(8144, &[&name.name.value]))?;
        let met = undeclared.meet(variable, argument.value.span.start);
        met.note_formal(&wanted.name, wanted.sql_type, wanted.output);
    }
    Ok(())
}

/// Type and length with which an undeclared parameter goes over the wire.
pub fn tds_type_of(sql_type: &types::SqlType) -> (i32, i32) {
    sysviews::tds_type(&sql_type.base(), true)
}

/// Parameters as sp_executesql declares them: `@a int, @b nvarchar(10)`.
///
/// # Errors
/// Those of parsing; 2715.
pub fn declared_parameters(
    text: &str,
    database: &Database,
    lookup: Lookup<'_>,
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
    let define = |(at, parameter): (usize, &ast::Parameter)| {
        let place = TypePlace::Variable(at + 1);
        let declared = plan_ir::data_type::declared_in(&parameter.data_type, place, database, lookup)?;
        Ok(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type })
    };
    procedure.parameters.iter().enumerate().map(define).collect()
}
