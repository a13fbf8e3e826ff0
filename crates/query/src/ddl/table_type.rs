//! CREATE TYPE ... AS TABLE.

use plan_ir::exec_context::ExecContext;
use tsql::ast::{self, NamedOption, ObjectName, TableElement};
use types::SqlError;

use super::create::definition;
use super::subject::{database_of, schema_of, with_transaction};

/// CREATE TYPE name AS TABLE (...). The definition is checked with a table that is created and dropped at once; `text`, that of the statement, is
/// what stays.
pub(super) fn create(
    name: &ObjectName,
    (elements, options): (&[TableElement], &[NamedOption]),
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    binder::clauses::check_table_options(options)?;
    let (schema, type_name) = (schema_of(name), name.name.value.as_str());
    let shown = format!("@{type_name}");
    binder::clauses::check_table_elements(elements, &shown)?;
    let database = database_of(name, context)?;
    let mut new = definition(elements, "", context, &database, &ast::ObjectName::simple(shown))?;
    new.schema = schema.clone();
    new.name = format!("TT_{}", type_name.chars().take(100).collect::<String>());
    let settings = engine::ModuleSettings {
        quoted_identifier: context.options.quoted_identifier,
        ansi_nulls: context.options.ansi_nulls,
        is_schema_bound: false,
        uses_native_compilation: false,
        trigger: engine::TriggerDef::default(),
    };
    with_transaction(context, &database, |transaction| {
        let (database, name) = (&database, (schema.as_str(), type_name));
        database.create_table_type(transaction, name, text, settings)?;
        let table = database.create_table(transaction, &new)?;
        database.drop_table(transaction, &table)
    })
}
