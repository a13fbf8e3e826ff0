//! What sp_recompile, sp_refreshview and sp_refreshsqlmodule look for: an object by its name in a text, and whether a module's text still binds.

use engine::{Lookup, ModuleDef, ModuleKind, ObjectDef};
use tsql::ast::StatementKind;
use types::SqlError;

use crate::exec_context::ExecContext;
use crate::names::{name_parts, same_name};

/// The object of the current database that a text names. Error 15165 when there is none.
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

/// Binds the text of a view or function anew, as when it was created. Procedures find what they name when they run.
///
/// # Errors
/// Those of binding: 208, 207 and their like.
pub fn bind_again(context: &ExecContext<'_>, module: &ModuleDef) -> Result<(), SqlError> {
    match crate::stored::parse_module(module)? {
        StatementKind::CreateView(view) => super::module::check_view(&view, context).map(drop),
        StatementKind::CreateFunction(function) if module.kind == ModuleKind::InlineFunction => {
            super::module::check_inline_function(&function, &module.schema, context).map(drop)
        }
        _ => Ok(()),
    }
}
