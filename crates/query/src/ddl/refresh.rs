//! Name lookup for sp_recompile, sp_refreshview and sp_refreshsqlmodule, and binding of a module's text again.

use std::sync::Arc;

use engine::{Lookup, ModuleDef, ModuleKind, ObjectDef};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{name_parts, same_name};
use tsql::ast::StatementKind;
use types::SqlError;

use super::subject::with_transaction;

/// The object of the current database that a text names. Error 15165 when it does not exist.
pub fn named_object(context: &ExecContext<'_>, text: &str) -> Result<ObjectDef, SqlError> {
    let missing = || SqlError::new(15165, &[&text]);
    let mut parts = name_parts(text);
    if parts.len() == 3 {
        let database = parts.remove(0);
        if !database.is_empty() && !same_name(&database, context.database.name()) {
            return Err(missing());
        }
    }
    let (schema, name) = match parts.as_slice() {
        [name] => ("dbo", name.as_str()),
        [schema, name] if schema.is_empty() => ("dbo", name.as_str()),
        [schema, name] => (schema.as_str(), name.as_str()),
        _ => return Err(missing()),
    };
    Lookup::new(context.transactions).object(context.database, schema, name)?.ok_or_else(missing)
}

/// Binds the text of a view or inline function again, as at its creation: `*` in it then stands for the current columns.
/// Procedures resolve their names when they run.
///
/// # Errors
/// Those of binding: 208, 207 and similar; those of a definition.
pub fn bind_again(context: &mut ExecContext<'_>, module: &Arc<ModuleDef>) -> Result<(), SqlError> {
    let checked = match plan_ir::stored::parse_module(module)? {
        StatementKind::CreateView(view) => super::module::check_view(&view, context)?,
        StatementKind::CreateFunction(function) if module.kind == ModuleKind::InlineFunction => {
            super::module::check_inline_function(&function, &module.schema, context)?
        }
        _ => return Ok(()),
    };
    if checked.stars[..] == module.stars[..] {
        return Ok(());
    }
    let database = context.database.clone();
    let (schema, name, text) = (&module.schema, &module.name, &module.definition);
    let (settings, replace) = (module.settings(), Some(module));
    with_transaction(context, &database, |transaction| {
        let stars = &checked.stars;
        database.create_module(transaction, module.kind, schema, name, text, settings, &[], stars, replace)
    })
    .map(drop)
}
