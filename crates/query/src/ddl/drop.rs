//! DROP of tables, views, procedures, functions, triggers, synonyms, schemas and indexes; types and sequences have their own files.

use engine::{Lookup, ModuleKind, ObjectDef};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::written;
use tsql::ast::{self, DropKind, ObjectName};
use types::SqlError;

use super::subject::{database_of, find_object, find_table, find_table_for_change, there, with_transaction};

/// DROP kind [IF EXISTS] names. Error 3701 when an object does not exist.
pub(super) fn objects(drop: &ast::Drop, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    for name in &drop.names {
        match drop.kind {
            DropKind::Table => table(name, drop.if_exists, context)?,
            DropKind::View => module(name, "view", drop.if_exists, &[ModuleKind::View], context)?,
            DropKind::Synonym => module(name, "synonym", drop.if_exists, &[ModuleKind::Synonym], context)?,
            DropKind::Procedure => {
                module(name, "procedure", drop.if_exists, &[ModuleKind::Procedure], context)?
            }
            DropKind::Function => {
                let kinds =
                    [ModuleKind::ScalarFunction, ModuleKind::InlineFunction, ModuleKind::TableFunction];
                module(name, "function", drop.if_exists, &kinds, context)?;
            }
            DropKind::Trigger if drop.scope == Some(ast::TriggerScope::Database) => {
                super::database_trigger::drop_one(name, drop.if_exists, context)?;
            }
            DropKind::Trigger if drop.scope == Some(ast::TriggerScope::AllServer) => {
                return Err(crate::errors::unsupported("server and logon triggers"));
            }
            DropKind::Trigger => super::trigger::drop_one(name, drop.if_exists, context)?,
            DropKind::Type => super::alias::drop(name, drop.if_exists, context)?,
            DropKind::Sequence => super::sequence::drop(name, drop.if_exists, context)?,
            DropKind::Schema => schema(name, drop.if_exists, context)?,
            // Objects of unsupported kinds cannot exist: with IF EXISTS that is no error.
            _ if drop.if_exists => {}
            _ => return Err(crate::errors::cannot_drop(kind_word(drop.kind), &written(name))),
        }
    }
    Ok(())
}

fn kind_word(kind: DropKind) -> &'static str {
    match kind {
        DropKind::Sequence => "sequence object",
        DropKind::User => "user",
        DropKind::Login => "login",
        DropKind::Role => "role",
        _ => "object",
    }
}

fn table(name: &ObjectName, if_exists: bool, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let Some((database, table)) = find_table(name, context)? else {
        return if if_exists { Ok(()) } else { Err(crate::errors::cannot_drop("table", &written(name))) };
    };
    let object = ObjectDef::Table(table.clone());
    super::schema_binding::check_not_bound(&database, &object, ("DROP TABLE", &written(name)), context)?;
    with_transaction(context, &database, |transaction| database.drop_table(transaction, &table))?;
    if name.name.value.starts_with('#') {
        drop_name(&name.name.value, context);
    }
    Ok(())
}

/// Removes the session's name of a dropped temporary object; a rollback restores it.
fn drop_name(name: &str, context: &ExecContext<'_>) {
    match context.state.transaction_count() {
        0 => context.names.remove_temp_table(name),
        _ => context.names.drop_temp_table(name),
    }
}

fn module(
    name: &ObjectName,
    word: &str,
    if_exists: bool,
    kinds: &[ModuleKind],
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let Some(database) = there(database_of(name, context))? else {
        return if if_exists { Ok(()) } else { Err(crate::errors::cannot_drop(word, &written(name))) };
    };
    match find_object(&database, name, context)? {
        Some(ObjectDef::Module(module)) if kinds.contains(&module.kind) => {
            let statement = format!("DROP {}", word.to_uppercase());
            let object = ObjectDef::Module(module.clone());
            super::schema_binding::check_not_bound(
                &database,
                &object,
                (&statement, &written(name)),
                context,
            )?;
            with_transaction(context, &database, |transaction| database.drop_module(transaction, &module))?;
            if name.name.value.starts_with('#') {
                drop_name(&name.name.value, context);
            }
            Ok(())
        }
        Some(_) => Err(crate::errors::drop_wrong_kind(word, &written(name))),
        None if if_exists => Ok(()),
        None => Err(crate::errors::cannot_drop(word, &written(name))),
    }
}

fn schema(name: &ObjectName, if_exists: bool, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let database = context.database.clone();
    let found = Lookup::new(context.transactions).schema_id(&database, &name.name.value)?;
    if if_exists && found.is_none() {
        return Ok(());
    }
    with_transaction(context, &database, |transaction| database.drop_schema(transaction, &name.name.value))
}

/// DROP INDEX.
pub(super) fn indexes(drop: &ast::DropIndex, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    for item in &drop.indexes {
        let shown = format!("{}.{}", written(&item.table), item.name.value);
        let Some((database, table)) = find_table_for_change(&item.table, context)? else {
            if drop.if_exists {
                continue;
            }
            return Err(crate::errors::cannot_drop("index", &shown));
        };
        let exists = table.indexes.iter().any(|index| {
            index.name.as_ref().is_some_and(|name| plan_ir::names::same_name(name, &item.name.value))
        });
        if !exists && drop.if_exists {
            continue;
        }
        with_transaction(context, &database, |transaction| {
            database.drop_index(transaction, &table, &item.name.value)
        })?;
    }
    Ok(())
}
