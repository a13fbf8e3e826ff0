//! ALTER TABLE.

use std::sync::Arc;

use binder::{Clause, Scope};
use engine::{Database, NewConstraint, NewTable, TableDef};
use executor::operations::Evaluate;
use plan_ir::data_type::{TypePlace, declared_in};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::same_name;
use plan_ir::names::written;
use plan_ir::physical::plan::Node;
use plan_ir::row::{Row, row_version};
use plan_ir::runtime::Runtime;
use planner::Planner;
use planner::compile::Layout;
use tsql::ast::{
    self, AlterColumnChange, AlterTableAction, AlterTableDrop, ColumnConstraintKind, TableConstraintKind,
    TableElement,
};
use types::{SqlError, Value};

use super::constraint_state::{self, check_rows};
use super::create;
use super::subject::{bind_context, existing_columns, find_table_for_change, reload, with_transaction};

/// ALTER TABLE. Error 4902 when the table does not exist.
pub(super) fn table(
    alter: &ast::AlterTable,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let Some((database, table)) = find_table_for_change(&alter.name, context)? else {
        return Err(crate::errors::alter_missing_table(&written(&alter.name)));
    };
    match &alter.action {
        AlterTableAction::Add { check, elements } => {
            let to = Altered { database: &database, name: &alter.name, check: *check != Some(false) };
            add(&to, table, elements, text, context)
        }
        AlterTableAction::AlterColumn(change) => alter_column(&database, &table, change, context),
        AlterTableAction::Drop(items) => drop_items(&database, table, items, context),
        AlterTableAction::Set(_) => Ok(()),
        AlterTableAction::Rebuild { partition, options } => {
            let what = (partition.as_ref(), options.as_slice());
            super::index::rebuild_table((&database, &alter.name), &table, what, context)
        }
        AlterTableAction::CheckConstraint { with_check, enable, names } => {
            constraint_state::set(&database, &table, (*with_check == Some(true), *enable), names, context)
        }
        AlterTableAction::Trigger { enable, names } => {
            super::trigger::enable_in(&database, &table, (*enable, names), context)
        }
        AlterTableAction::ChangeTracking { .. } => Err(crate::errors::unsupported("change tracking")),
        AlterTableAction::Switch { .. } => Err(crate::errors::unsupported("SWITCH")),
        AlterTableAction::FileTableNamespace { .. } | AlterTableAction::Other(_) => {
            Err(crate::errors::unsupported("this ALTER TABLE"))
        }
    }
}

/// The table that ADD changes, and whether existing rows must satisfy new constraints.
struct Altered<'a> {
    database: &'a Arc<Database>,
    name: &'a ast::ObjectName,
    check: bool,
}

fn add(
    to: &Altered<'_>,
    mut table: Arc<TableDef>,
    elements: &[TableElement],
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let (database, name) = (to.database, to.name);
    for value in create::defaults_of(elements) {
        super::sequence::share_in_default(value, database, context)?;
    }
    for element in elements {
        check_added_default(&table, element)?;
        let mut new = NewTable {
            ansi_nulls: table.ansi_nulls,
            schema: String::new(),
            name: table.name.to_string(),
            columns: Vec::new(),
            constraints: Vec::new(),
            indexes: Vec::new(),
        };
        match element {
            TableElement::Column(column) => {
                let home = (database.as_ref(), &*table.name);
                let made = create::column((column, 1), text, context, home, &existing_columns(&table))?;
                create::column_constraints(column, name, text, context, &mut new)?;
                add_column(database, &table, column, &made, context)?;
            }
            TableElement::Constraint(ast::TableConstraint {
                kind: ast::TableConstraintKind::ForeignKey { .. },
                ..
            }) if create::is_skipped(name, "FOREIGN")? => {}
            TableElement::Constraint(constraint) => {
                new.constraints.push(create::table_constraint(constraint, text, context, name)?)
            }
            TableElement::Index(index) => new.indexes.push(super::index::inline_index(index, None)?),
            TableElement::Period(..) => return Err(crate::errors::unsupported("PERIOD FOR SYSTEM_TIME")),
        }
        table = reload(database, &table)?;
        new.columns = existing_columns(&table);
        create::check_expressions(std::slice::from_ref(element), &new, database, context)?;
        super::index::add_filters(&mut new, std::slice::from_ref(element), name, context)?;
        for constraint in &mut new.constraints {
            match constraint {
                NewConstraint::Check { is_not_trusted, .. } => *is_not_trusted = !to.check,
                NewConstraint::Foreign(foreign) => foreign.is_not_trusted = !to.check,
                _ => {}
            }
            with_transaction(context, database, |transaction| {
                database.add_constraint(transaction, &table, constraint)
            })?;
            let before: Vec<engine::ObjectId> = table.constraints().iter().map(|found| found.0).collect();
            table = reload(database, &table)?;
            if to.check && matches!(constraint, NewConstraint::Check { .. } | NewConstraint::Foreign(_)) {
                let mut added = table.constraints();
                added.retain(|found| !before.contains(&found.0));
                let added: Vec<engine::ObjectId> = added.iter().map(|found| found.0).collect();
                check_rows(database, &table, &added, context)?;
            }
        }
        for index in &new.indexes {
            with_transaction(context, database, |transaction| {
                database.create_index(transaction, &table, index)
            })?;
            table = reload(database, &table)?;
        }
    }
    Ok(())
}

/// Adds a column. Existing rows get the computed value, a new row version, or the default when the column is NOT NULL or
/// WITH VALUES is specified; otherwise NULL.
fn add_column(
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    column: &ast::ColumnDefinition,
    made: &engine::NewColumn,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let default = column.constraints.iter().find_map(|constraint| match &constraint.kind {
        ColumnConstraintKind::Default { value, with_values } if *with_values || !made.nullable => Some(value),
        _ => None,
    });
    let node = match (&column.computed, default) {
        (Some(computed), _) => {
            Some(fill_node(database, &computed.expr, (Some(table), table.ansi_nulls), made, context)?)
        }
        (None, Some(default)) => Some(fill_node(database, default, (None, table.ansi_nulls), made, context)?),
        (None, None) => None,
    };
    let is_version = made.sql_type == types::SqlType::RowVersion;
    let has_fill = node.is_some() || is_version;
    let runtime = Runtime::new(context);
    // The transaction is borrowed for each step only, because the expression may read tables.
    let mut fill = in_transaction(&runtime, database, |txn| database.add_column(txn, table, made, has_fill))?;
    let mut row = Row::new();
    while in_transaction(&runtime, database, |txn| fill.next_row(txn, &mut row))? {
        runtime.check_cancelled()?;
        runtime.begin_row();
        let value = match &node {
            Some(node) => node.eval(&runtime, &row)?,
            None if is_version => {
                row_version(in_transaction(&runtime, database, |txn| txn.next_row_version())?)
            }
            None => Value::Null,
        };
        in_transaction(&runtime, database, |txn| fill.put(txn, &mut row, value))?;
    }
    in_transaction(&runtime, database, |txn| fill.finish(txn))
}

/// Runs `work` with the transaction in a database; `work` must not evaluate expressions.
fn in_transaction<T>(
    runtime: &Runtime<'_>,
    database: &Arc<Database>,
    work: impl FnOnce(&engine::DbTransaction) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    work(transactions.in_database(database, runtime.options.isolation)?)
}

/// Does the default, if it is one, fit the column that it is for? Error 302.
fn check_added_default(table: &TableDef, element: &TableElement) -> Result<(), SqlError> {
    let TableElement::Constraint(added) = element else { return Ok(()) };
    let TableConstraintKind::Default { value, column, .. } = &added.kind else { return Ok(()) };
    match table.column_ordinal(&column.value) {
        Some(at) => create::check_sequential_id(value, &table.columns[at].sql_type),
        None => Ok(()),
    }
}

/// The expression that fills a column, over the table's rows when it is a computed one.
fn fill_node(
    database: &Arc<Database>,
    expr: &ast::Expr,
    (table, ansi_nulls): (Option<&Arc<TableDef>>, bool),
    made: &engine::NewColumn,
    context: &ExecContext<'_>,
) -> Result<Node, SqlError> {
    let bind = bind_context(context, &[]);
    let mut binder = crate::registry::binder(&bind);
    binder.ansi_nulls = ansi_nulls;
    binder.refuses_subqueries = true;
    let columns = table.map(|table| create::scope_of(&mut binder, &existing_columns(table)));
    let layout = columns.iter().flat_map(|table| table.columns.iter().map(|column| column.id));
    let layout = Layout::new(&layout.collect::<Vec<_>>());
    let tables = columns.into_iter().collect();
    binder.scopes.push(Scope { tables, clause: Clause::Rows, ..Scope::default() });
    match table {
        Some(_) => binder.next_values.refuse_in_definition(),
        None => {
            binder.next_values.allow_in_default(expr);
            binder.database = database.clone();
        }
    }
    let value = binder.value(expr)?;
    let value = plan_ir::bound::convert::implicit(value, &made.sql_type)?;
    Planner::new(&binder.columns).node(&value, &layout)
}

fn alter_column(
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    change: &ast::AlterColumn,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let (data_type, nullable) = match &change.change {
        AlterColumnChange::Type { data_type, nullable, .. } => (data_type, nullable),
        AlterColumnChange::Property { add, property, mask: _ } => {
            let what = match property.is("ROWGUIDCOL") {
                true => engine::ColumnProperty::RowGuid,
                false => engine::ColumnProperty::NotForReplication,
            };
            return with_transaction(context, database, |transaction| {
                database.set_column_property(transaction, table, &change.name.value, (what, *add))
            });
        }
    };
    let declared =
        declared_in(data_type, TypePlace::Column(1), database, engine::Lookup::new(context.transactions))?;
    let to = declared.sql_type;
    create::check_padding(&to, context)?;
    let ordinal = table
        .column_ordinal(&change.name.value)
        .ok_or_else(|| crate::errors::alter_missing_column(&change.name.value, &table.name))?;
    let from = table.columns[ordinal].sql_type;
    types::convert::matrix::check(&from, &to, false)?;
    let convert_context = plan_ir::values::convert_context(context.options);
    let full_name = format!("{}.{}.{}", database.name(), table.schema, table.name);
    let column = change.name.value.clone();
    let convert = move |value: &Value| {
        types::assign(
            value,
            &from,
            &to,
            types::AssignTarget::Column { table: &full_name, column: &column },
            &convert_context,
        )
    };
    let nullable = nullable.or(declared.nullable).unwrap_or(true);
    // A CHECK allows a change of a variable type's length; a computed column prevents any change.
    let is_length = from.system_type_id() == to.system_type_id()
        && matches!(
            to,
            types::SqlType::VarChar(_) | types::SqlType::NVarChar(_) | types::SqlType::VarBinary(_)
        );
    let is_changed = (from, table.columns[ordinal].nullable) != (to, nullable);
    let mut named = named_by(context, database, table, ordinal, (from != to && !is_length, is_changed));
    named.extend(module_that_names(context, database, table, ordinal)?);
    with_transaction(context, database, |transaction| {
        database.alter_column(
            transaction,
            table,
            &change.name.value,
            (&to, declared.alias_id, nullable),
            named,
            &convert,
        )
    })
}

/// An error 5074 for each CHECK (if `checks`) and each computed column (if `computed`) whose text names the column.
fn named_by(
    context: &ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    ordinal: usize,
    (checks, computed): (bool, bool),
) -> Vec<SqlError> {
    let bind = bind_context(context, &[]);
    let column = &table.columns[ordinal];
    let names = |text: &str| {
        binder::observe::named_columns(crate::registry::binder(&bind), database, table, text)
            .contains(&column.column_id)
    };
    let depends = |kind: &str, name: &str| SqlError::new(5074, &[&kind, &name, &"column", &column.name]);
    let constraints = table.checks.iter().filter(|check| checks && names(&check.text));
    let constraints = constraints.map(|check| depends("object", &check.name));
    let columns = table.columns.iter().filter(|other| {
        computed && other.computed.as_ref().is_some_and(|definition| names(&definition.text))
    });
    constraints.chain(columns.map(|other| depends("column", &other.name))).collect()
}

/// Error 5074 if a schema-bound module refers to the column.
fn module_that_names(
    context: &ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    ordinal: usize,
) -> Result<Option<SqlError>, SqlError> {
    let (object, column) = (engine::ObjectDef::Table(table.clone()), &table.columns[ordinal].name);
    let module = super::schema_binding::module_that_needs(database, &object, Some(column), context)?;
    Ok(module.map(|module| SqlError::new(5074, &[&"object", &module, &"column", column])))
}

fn drop_items(
    database: &Arc<Database>,
    mut table: Arc<TableDef>,
    items: &[AlterTableDrop],
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    for item in items {
        match item {
            AlterTableDrop::Column { if_exists, name } => {
                if *if_exists && table.column_ordinal(&name.value).is_none() {
                    continue;
                }
                let ordinal = table.column_ordinal(&name.value);
                let mut named = Vec::new();
                if let Some(ordinal) = ordinal {
                    named.extend(named_by(context, database, &table, ordinal, (true, true)));
                    named.extend(module_that_names(context, database, &table, ordinal)?);
                }
                with_transaction(context, database, |transaction| {
                    database.drop_column(transaction, &table, &name.value, named)
                })?;
            }
            AlterTableDrop::Constraint { if_exists, name, .. } => {
                let exists =
                    table.constraints().iter().any(|constraint| same_name(&constraint.1, &name.value));
                if *if_exists && !exists {
                    continue;
                }
                with_transaction(context, database, |transaction| {
                    database.drop_constraint(transaction, &table, &name.value)
                })?;
            }
            AlterTableDrop::Index { name, .. } => {
                with_transaction(context, database, |transaction| {
                    database.drop_index(transaction, &table, &name.value)
                })?;
            }
            AlterTableDrop::Period => return Err(crate::errors::unsupported("PERIOD FOR SYSTEM_TIME")),
        }
        table = reload(database, &table)?;
    }
    Ok(())
}
