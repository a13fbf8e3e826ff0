//! Columns of table types, from the texts that made them: no table of a type exists outside of a batch.

use engine::{Database, ModuleDef, ModuleKind, ObjectDef};
use plan_ir::view::ViewContext;
use tsql::ast::{
    ColumnConstraintKind, ColumnDefinition, StatementKind, TableConstraintKind, TableElement, TypeDefinition,
};
use types::SqlType;

/// A column of a table type.
pub(super) struct TypeColumn {
    pub(super) name: String,
    pub(super) sql_type: SqlType,
    /// Number of its alias type, or of the type.
    pub(super) user_type_id: i32,
    pub(super) nullable: bool,
    pub(super) is_identity: bool,
    pub(super) is_computed: bool,
    pub(super) is_rowguidcol: bool,
    /// The text of its default.
    pub(super) default: Option<String>,
}

/// The table types of the view's database with their columns, in order.
pub(super) fn of_types(context: &ViewContext<'_, '_>) -> Vec<(i32, Vec<TypeColumn>)> {
    let objects = context.runtime.objects_of(context.database);
    let types = objects.iter().filter_map(|object| match object {
        ObjectDef::Module(module) if module.kind == ModuleKind::TableType => {
            Some((module.object_id, columns_of(context, module)))
        }
        _ => None,
    });
    types.collect()
}

fn columns_of(context: &ViewContext<'_, '_>, module: &ModuleDef) -> Vec<TypeColumn> {
    let Ok(StatementKind::CreateType(create)) = plan_ir::stored::parse_module(module) else {
        return Vec::new();
    };
    let TypeDefinition::Table { elements, .. } = &create.definition else { return Vec::new() };
    let text = &*module.definition;
    let in_key = keys(elements);
    let mut columns: Vec<TypeColumn> = Vec::new();
    let mut computed = Vec::new();
    for element in elements {
        let TableElement::Column(column) = element else { continue };
        match &column.computed {
            Some(made) => computed.push((columns.len(), plan_ir::stored::expression_text(&made.expr, text))),
            // Its type is gone.
            None if type_of(column, context.database).is_none() => continue,
            None => {}
        }
        columns.push(described(column, context.database, text, &in_key));
    }
    for (at, expression) in computed {
        if let Some((sql_type, nullable)) = computed_type(context, &columns, &expression) {
            let column = &mut columns[at];
            (column.sql_type, column.user_type_id) = (sql_type, sql_type.user_type_id());
            column.nullable &= nullable;
        }
    }
    columns
}

/// The columns of a primary key that stands behind the columns.
fn keys(elements: &[TableElement]) -> Vec<&str> {
    let of_constraint = elements.iter().filter_map(|element| match element {
        TableElement::Constraint(constraint) => match &constraint.kind {
            TableConstraintKind::Key(key) if key.primary => Some(key.columns.iter()),
            _ => None,
        },
        _ => None,
    });
    of_constraint.flatten().map(|column| column.name.value.as_str()).collect()
}

/// The type of a column that is not computed, the number of the type, and whether NULL is allowed if nothing else is said.
fn type_of(column: &ColumnDefinition, database: &Database) -> Option<(SqlType, i32, bool)> {
    let Some(written) = &column.data_type else {
        return Some((SqlType::RowVersion, SqlType::RowVersion.user_type_id(), false));
    };
    let declared = plan_ir::data_type::declared_now(written, database).ok()?;
    let sql_type = declared.sql_type;
    let user_type_id = if declared.alias_id == 0 { sql_type.user_type_id() } else { declared.alias_id };
    Some((sql_type, user_type_id, declared.nullable.unwrap_or(sql_type != SqlType::RowVersion)))
}

fn described(column: &ColumnDefinition, database: &Database, text: &str, in_key: &[&str]) -> TypeColumn {
    let name = column.name.value.clone();
    // The type of a computed column is found later.
    let unknown = (SqlType::Int, SqlType::Int.user_type_id(), true);
    let known = if column.computed.is_some() { None } else { type_of(column, database) };
    let (sql_type, user_type_id, allows_null) = known.unwrap_or(unknown);
    let mut is_key = in_key.iter().any(|key| key.eq_ignore_ascii_case(&name));
    let mut default = None;
    for constraint in &column.constraints {
        match &constraint.kind {
            ColumnConstraintKind::Key(key) => is_key |= key.primary,
            ColumnConstraintKind::Default { value, .. } => {
                default = Some(format!("({})", plan_ir::stored::expression_text(value, text)));
            }
            _ => {}
        }
    }
    let is_identity = column.identity.is_some();
    TypeColumn {
        name,
        sql_type,
        user_type_id,
        nullable: !is_key && !is_identity && column.nullable.unwrap_or(allows_null),
        is_identity,
        is_computed: column.computed.is_some(),
        is_rowguidcol: column.is_rowguidcol,
        default,
    }
}

/// The type of an expression over the other columns, and whether it may be NULL: that of a query over a row of them.
fn computed_type(
    context: &ViewContext<'_, '_>,
    columns: &[TypeColumn],
    expression: &str,
) -> Option<(SqlType, bool)> {
    let mut query = format!("SELECT {expression} FROM (SELECT 1 AS [ 1]");
    for column in columns.iter().filter(|column| !column.is_computed) {
        let name = column.name.replace(']', "]]");
        // Of the base type: rowversion is none that a cast gives.
        let sql_type = match column.sql_type {
            SqlType::RowVersion => SqlType::Binary(8),
            other => other,
        };
        query.push_str(&format!(", CAST(NULL AS {sql_type}) AS [{name}]"));
    }
    query.push_str(") AS t");
    let runtime = context.runtime;
    let found = runtime.look_over(|lookup| {
        let bind = super::binding::context_of(runtime, context.database, lookup);
        runtime.front_end.first_result_set(&query, &bind)
    });
    let columns = found.ok()??;
    columns.first().map(|column| (column.sql_type, column.nullable))
}
