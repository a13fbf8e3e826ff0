//! CREATE, ALTER and CREATE OR ALTER of views, procedures and functions, whose whole text is stored; triggers have their own file.

use std::cell::RefCell;
use std::sync::Arc;

use binder::kept_stars::Stars;
use binder::{Binder, Observed, OutputColumn};
use engine::{KeptStar, ModuleDef, ModuleKind, ModuleSettings, ObjectDef};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{same_name, written};
use tsql::ast::{self, FunctionReturns, ModuleAction, StatementKind};
use types::SqlError;

use super::subject::{database_of, find_object, schema_of, with_transaction};

/// Creates or replaces a module. Errors 166, 2714, 208, 2010 and those of binding a view.
pub(super) fn create(
    statement: &ast::Statement,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let (name, action, kind) = wanted(&statement.kind);
    check_no_database(name, kind)?;
    check_temporary(name, kind)?;
    let settings = settings_of(&statement.kind, context.options);
    let checked = match &statement.kind {
        StatementKind::CreateView(view) => Some(check_view(view, context)?),
        StatementKind::CreateFunction(function) if kind == ModuleKind::InlineFunction => {
            Some(check_inline_function(function, &schema_of(name), context)?)
        }
        _ => None,
    };
    let stars = checked.as_ref().map_or(&[][..], |checked| &checked.stars);
    if let (true, Some(Checked { named, .. })) = (settings.is_schema_bound, &checked) {
        let word = if kind == ModuleKind::View { "view" } else { "function" };
        super::schema_binding::check_names(
            (word, &written(name)),
            named,
            (text, settings.quoted_identifier),
        )?;
    }
    let database = database_of(name, context)?;
    let existing = find_object(&database, name, context)?;
    let replace = replaced(name, action, existing, kind)?;
    let schema = schema_of(name);
    let references = match settings.is_schema_bound {
        true => super::schema_binding::references(text, settings.quoted_identifier, &database, context)?,
        false => Vec::new(),
    };
    if let Some(module) = &replace {
        let object = ObjectDef::Module(module.clone());
        super::schema_binding::check_not_bound(&database, &object, ("ALTER", &written(name)), context)?;
    }
    let temporary = name.name.value.starts_with('#');
    let real = match &replace {
        Some(module) => module.name.to_string(),
        None if temporary => {
            // A procedure whose creation a rollback undid does not exist any more.
            context.names.remove_temp_table(&name.name.value);
            context.names.add_temp_procedure(&name.name.value)?
        }
        None => name.name.value.clone(),
    };
    let made = with_transaction(context, &database, |transaction| {
        let replace = replace.as_ref();
        database.create_module(transaction, kind, &schema, &real, text, settings, &references, stars, replace)
    });
    match &made {
        Ok(object_id) if temporary && replace.is_none() => context.names.note_made(&real, *object_id),
        Err(_) if temporary && replace.is_none() => context.names.remove_temp_table(&name.name.value),
        _ => {}
    }
    match (made, action) {
        // Another transaction has created it meanwhile: it is altered.
        (Err(error), ModuleAction::CreateOrAlter) if error.number == 2714 && replace.is_none() => {
            Err(SqlError::stale_plan())
        }
        (made, _) => made.map(|_| ()),
    }
}

/// A module can be created in the current database only. Error 166.
fn check_no_database(name: &ast::ObjectName, kind: ModuleKind) -> Result<(), SqlError> {
    let statement = match kind {
        _ if name.database.is_none() => return Ok(()),
        ModuleKind::View => "'CREATE VIEW'",
        ModuleKind::Procedure => "'CREATE/ALTER PROCEDURE'",
        _ => "'CREATE FUNCTION'",
    };
    Err(SqlError::new(166, &[&statement]))
}

/// The module that the new one replaces, if there is one. Errors 208, 2714, 2010.
fn replaced(
    name: &ast::ObjectName,
    action: ModuleAction,
    existing: Option<ObjectDef>,
    kind: ModuleKind,
) -> Result<Option<Arc<ModuleDef>>, SqlError> {
    match (action, existing) {
        (ModuleAction::Alter, None) => Err(crate::errors::invalid_object(&written(name))),
        (ModuleAction::Create | ModuleAction::CreateOrAlter, None) => Ok(None),
        (ModuleAction::Create, Some(_)) => Err(crate::errors::already_exists(&name.name.value)),
        (_, Some(ObjectDef::Module(module))) if module.kind == kind => Ok(Some(module)),
        (_, Some(_)) => Err(crate::errors::alter_wrong_kind(&written(name))),
    }
}

/// The names in the text of a view or inline function, and the expansion of each `*` in it.
pub(super) struct Checked {
    named: Observed,
    pub(super) stars: Vec<KeptStar>,
}

impl Checked {
    fn of(binder: &mut Binder<'_>) -> Checked {
        Checked {
            named: binder.observed.take().map(RefCell::into_inner).unwrap_or_default(),
            stars: std::mem::take(&mut binder.stars).into_noted(),
        }
    }
}

/// What is wrong with the query of an inline function. Errors 207, 208, 4506, 4514.
pub(super) fn check_inline_function(
    function: &ast::CreateFunction,
    schema: &str,
    context: &ExecContext<'_>,
) -> Result<Checked, SqlError> {
    let bind = super::subject::bind_context(context, &[]);
    let mut binder = crate::registry::binder(&bind);
    binder.refuses_temporary = true;
    binder.makes_function = true;
    binder.schema = Some(schema.into());
    binder.observed = Some(RefCell::default());
    binder.stars = Stars::noting();
    binder.tells_all_names = true;
    let bound = binder.inline_function_columns(function);
    let bound = binder.with_unknown_names(bound)?;
    if let Some(at) = bound.columns.iter().position(|column| column.name.is_empty()) {
        return Err(SqlError::new(4514, &[&(at + 1)]));
    }
    let names: Vec<&str> = bound.columns.iter().map(|column| &*column.name).collect();
    check_different(&names, &function.name.name.value)?;
    Ok(Checked::of(&mut binder))
}

/// Name, CREATE or ALTER, and kind of the module that a statement defines.
fn wanted(statement: &StatementKind) -> (&ast::ObjectName, ModuleAction, ModuleKind) {
    match statement {
        StatementKind::CreateView(view) => (&view.name, view.action, ModuleKind::View),
        StatementKind::CreateProcedure(procedure) => {
            (&procedure.name, procedure.action, ModuleKind::Procedure)
        }
        StatementKind::CreateFunction(function) => {
            let kind = match function.returns {
                FunctionReturns::Scalar(_) => ModuleKind::ScalarFunction,
                FunctionReturns::InlineTable => ModuleKind::InlineFunction,
                FunctionReturns::Table { .. } | FunctionReturns::ClrTable(_) => ModuleKind::TableFunction,
            };
            (&function.name, function.action, kind)
        }
        _ => unreachable!("called for modules only"),
    }
}

/// What a module is made with: two settings of the session, and its own options.
fn settings_of(statement: &StatementKind, options: &plan_ir::context::SetOptions) -> ModuleSettings {
    let has = |option: ast::ModuleOption| match statement {
        StatementKind::CreateProcedure(procedure) => procedure.options.contains(&option),
        StatementKind::CreateFunction(function) => function.options.contains(&option),
        StatementKind::CreateView(view) => {
            option == ast::ModuleOption::SchemaBinding
                && view.options.iter().any(|written| written.is("SCHEMABINDING"))
        }
        _ => false,
    };
    ModuleSettings {
        quoted_identifier: options.quoted_identifier,
        ansi_nulls: options.ansi_nulls,
        is_schema_bound: has(ast::ModuleOption::SchemaBinding),
        uses_native_compilation: has(ast::ModuleOption::NativeCompilation),
        trigger: engine::TriggerDef::default(),
    }
}

/// Only procedures may be temporary.
fn check_temporary(name: &ast::ObjectName, kind: ModuleKind) -> Result<(), SqlError> {
    match kind {
        _ if !name.name.value.starts_with('#') => Ok(()),
        ModuleKind::Procedure => Ok(()),
        ModuleKind::View => {
            let text = format!("\"{}\": Temporary views are not allowed.", name.name.value);
            Err(SqlError::custom(4103, 15, 1, text))
        }
        _ => Err(crate::errors::unsupported("temporary functions")),
    }
}

/// A view's column names, from its list or its query, must be unique: 4506.
fn check_column_names(view: &ast::CreateView, columns: &[OutputColumn]) -> Result<(), SqlError> {
    let names: Vec<&str> = match view.columns.is_empty() {
        true => columns.iter().map(|column| &*column.name).collect(),
        false => view.columns.iter().map(|name| name.value.as_str()).collect(),
    };
    check_different(&names, &view.name.name.value)
}

fn check_different(names: &[&str], module: &str) -> Result<(), SqlError> {
    let mut seen = names.iter().enumerate();
    match seen.find(|(at, name)| names[..*at].iter().any(|other| same_name(other, name))) {
        Some((_, name)) => Err(SqlError::new(4506, &[name, &module])),
        None => Ok(()),
    }
}

/// A view must bind when it is created: 208, 207, 4511 (unnamed column), 4506, 1033 (ORDER BY without TOP),
/// 4510 (WITH CHECK OPTION on a view that is not updatable).
pub(super) fn check_view(view: &ast::CreateView, context: &ExecContext<'_>) -> Result<Checked, SqlError> {
    let query = &view.query.query;
    let has_top = matches!(&query.body, ast::QueryBody::Select(select) if select.top.is_some());
    if !query.order_by.is_empty() && !has_top && query.offset.is_none() {
        return Err(crate::errors::order_by_in_view());
    }
    let bind = super::subject::bind_context(context, &[]);
    let mut binder = crate::registry::binder(&bind);
    binder.refuses_temporary = true;
    binder.schema = Some(schema_of(&view.name).into());
    binder.observed = Some(RefCell::default());
    binder.stars = Stars::noting();
    if let Some(with) = &view.query.with {
        binder.add_common_tables(with)?;
    }
    binder.tells_all_names = true;
    let bound = binder.query(query);
    let bound = binder.with_unknown_names(bound)?;
    binder.check_output(&bound)?;
    if !view.columns.is_empty() && view.columns.len() != bound.columns.len() {
        return Err(crate::errors::column_list_mismatch(
            &view.name.name.value,
            view.columns.len(),
            bound.columns.len(),
        ));
    }
    if view.columns.is_empty()
        && let Some(position) = bound.columns.iter().position(|column| column.name.is_empty())
    {
        return Err(crate::errors::view_column_unnamed(position + 1));
    }
    check_column_names(view, &bound.columns)?;
    if view.check_option {
        binder.check_can_check(&bound.rel, &view.name.name.value)?;
    }
    Ok(Checked::of(&mut binder))
}
