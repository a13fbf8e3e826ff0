//! References of views, inline functions and CHECK constraints: their texts are bound again, and the name lookups are recorded.

use std::cell::RefCell;
use std::sync::Arc;

use engine::{Database, ModuleDef, ModuleKind, ObjectDef, TableDef};
use plan_ir::front_end::BoundModule;
use plan_ir::view_shape::ViewColumn;
use tsql::ast::FunctionReturns;

use super::{Binder, Scope, ScopeColumn, ScopeTable};

/// One view or inline function, bound anew; none when it is something else or no longer binds.
pub fn bound_module(mut binder: Binder<'_>, module: &ModuleDef) -> Option<BoundModule> {
    binder.observed = Some(RefCell::default());
    binder.schema = Some(module.schema.clone());
    if module.kind == ModuleKind::TableFunction {
        return bound_table_function(binder, module);
    }
    let query = match module.kind {
        ModuleKind::View => binder.view_query(module).map(|query| (query.rows, query.names)),
        ModuleKind::InlineFunction => binder.inline_function_query(module).map(|query| (query, Vec::new())),
        _ => return None,
    };
    let (query, names) = query.ok()?;
    let columns = query.columns.iter().enumerate().map(|(index, column)| {
        let info = &binder.columns[column.id.0 as usize];
        let name = names.get(index).map_or(column.name.clone(), |name| name.value.clone());
        ViewColumn { name, sql_type: info.sql_type, nullable: info.nullable, identity: column.identity }
    });
    let columns = columns.collect();
    let mut observed = binder.observed.take().map(RefCell::into_inner).unwrap_or_default();
    let used = observed.columns().into_iter().collect();
    observed.name_synonyms();
    let (object_id, is_schema_bound) = (module.object_id, module.is_schema_bound);
    Some(BoundModule { object_id, is_schema_bound, columns, objects: observed.objects, used })
}

/// The columns of the table that a multi-statement function returns; what its body names is found otherwise.
fn bound_table_function(mut binder: Binder<'_>, module: &ModuleDef) -> Option<BoundModule> {
    let text = super::from::stored_function(module).ok()?;
    let FunctionReturns::Table { elements, .. } = &text.returns else { return None };
    let (database, schema) = (binder.database.clone(), module.schema.clone());
    let columns = binder
        .isolated(database, schema, module.ansi_nulls, |binder| binder.function_columns(elements))
        .ok()?
        .into_iter()
        .map(|column| ViewColumn {
            name: column.name,
            sql_type: column.sql_type,
            nullable: column.nullable,
            identity: false,
        })
        .collect();
    let (object_id, is_schema_bound) = (module.object_id, module.is_schema_bound);
    Some(BoundModule { object_id, is_schema_bound, columns, objects: Vec::new(), used: Vec::new() })
}

/// Numbers of the columns that the text of a CHECK or of a computed column names, in the order of the table.
pub fn named_columns(
    mut binder: Binder<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    text: &str,
) -> Vec<i32> {
    binder.observed = Some(RefCell::default());
    let visible = table.columns.iter().map(|column| {
        let id = binder.new_column(column.sql_type, column.nullable, column.collation);
        ScopeColumn { name: column.name.to_string(), id, identity: false, rowguid: false, base: true }
    });
    let columns = visible.collect();
    let scope = ScopeTable { alias: table.name.to_string(), schema: None, database: None, columns };
    binder.scopes.push(Scope { tables: vec![scope], ..Scope::default() });
    binder.observe(database, &ObjectDef::Table(table.clone()));
    if let Ok(expression) = plan_ir::stored::parse_expression(text) {
        // A predicate, or else a value. A text that no longer binds tells what it named before it failed.
        drop(binder.condition(&expression).or_else(|_| binder.value(&expression)));
    }
    let observed = binder.observed.take().map(RefCell::into_inner).unwrap_or_default();
    let named = observed.columns();
    let is_named = |name: &str| named.iter().any(|(_, column)| column == name);
    table.columns.iter().filter(|column| is_named(&column.name)).map(|column| column.column_id).collect()
}
