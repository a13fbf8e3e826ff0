//! CREATE TYPE ... FROM and DROP TYPE: alias types; DROP TYPE of table types, too.

use plan_ir::data_type::{TypePlace, declared};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::written;
use tsql::ast::{self, ObjectName, TypeDefinition};
use types::{SqlError, SqlType};

use super::subject::{database_of, schema_of, with_transaction};

/// CREATE TYPE name FROM base [NULL | NOT NULL]. `text` is the statement's.
pub(super) fn create(
    create: &ast::CreateType,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let (base, nullable) = match &create.definition {
        TypeDefinition::Alias { base, nullable } => (base, nullable),
        TypeDefinition::Table { elements, options } => {
            return super::table_type::create(&create.name, (elements, options), text, context);
        }
        TypeDefinition::External(_) => return Err(crate::errors::unsupported("CREATE TYPE EXTERNAL NAME")),
    };
    let sql_type = declared(base, TypePlace::Column(1))?;
    if matches!(sql_type, SqlType::RowVersion | SqlType::Xml) {
        return Err(crate::errors::unknown_type(1, &base.name.name.value));
    }
    let database = database_of(&create.name, context)?;
    let (schema, name) = (schema_of(&create.name), &create.name.name.value);
    with_transaction(context, &database, |transaction| {
        database.create_type(transaction, &schema, name, sql_type, nullable.unwrap_or(true)).map(|_| ())
    })
}

/// DROP TYPE. Error 3701 when it does not exist, 3732 when a column or a parameter uses it.
pub(super) fn drop(
    name: &ObjectName,
    if_exists: bool,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let database = database_of(name, context)?;
    let catalog = database.catalog();
    let lookup = engine::Lookup::new(context.transactions);
    let Some(def) = lookup.type_named(&database, &schema_of(name), &name.name.value)? else {
        return if if_exists { Ok(()) } else { Err(SqlError::new(218, &[&written(name)])) };
    };
    for object in catalog.objects() {
        if let engine::ObjectDef::Module(module) = &object
            && sysviews::module_parameters(&database, module)
                .iter()
                .any(|parameter| parameter.user_type_id == def.user_type_id)
        {
            return Err(SqlError::new(3732, &[&def.name, &module.name]));
        }
    }
    with_transaction(context, &database, |transaction| database.drop_type(transaction, &def))
}
