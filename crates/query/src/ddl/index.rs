//! CREATE INDEX, ALTER INDEX, ALTER TABLE ... REBUILD, and INDEX inside a table definition.

use std::sync::Arc;

use binder::clauses::index_settings;
use engine::{
    Database, IndexDef, IndexKind, IndexSettings, IndexSettingsChange, NewIndex, NewTable, TableDef,
};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::same_name;
use plan_ir::names::written;
use tsql::ast::{self, AlterIndexAction, TableElement};
use types::SqlError;

use super::filter::{self, Filtered};
use super::subject::{
    database_of, existing_columns, find_object, find_table_for_change, there, with_transaction,
};

/// The columns of a key, and whether each is descending.
pub(super) fn key_columns(columns: &[ast::CreateIndexColumn]) -> Vec<(String, bool)> {
    columns.iter().map(|column| (column.name.value.clone(), column.descending == Some(true))).collect()
}

/// The settings that the options of a new index specify.
pub(super) fn new_settings(options: &[ast::NamedOption]) -> IndexSettings {
    IndexSettings::default().taken(index_settings(options))
}

/// INDEX inside a table definition; `add_filters` adds its filter later, when all columns are known.
pub(super) fn inline_index(index: &ast::InlineIndex, column: Option<&str>) -> Result<NewIndex, SqlError> {
    if index.columnstore || index.hash {
        return Err(crate::errors::unsupported("columnstore and hash indexes"));
    }
    let mut columns = key_columns(&index.columns);
    if let (true, Some(column)) = (columns.is_empty(), column) {
        columns.push((column.to_string(), false));
    }
    let clustered = index.clustered == Some(true);
    check_filtered_kind(clustered, index.filter.as_ref())?;
    Ok(NewIndex {
        name: index.name.value.clone(),
        unique: index.unique,
        clustered,
        columns,
        included: index.include.iter().map(|name| name.value.clone()).collect(),
        filter: None,
        replaces: false,
        settings: new_settings(&index.options),
    })
}

/// Adds the filters of the indexes in a table definition whose columns are all known.
pub(super) fn add_filters(
    new: &mut NewTable,
    elements: &[TableElement],
    table: &ast::ObjectName,
    context: &ExecContext<'_>,
) -> Result<(), SqlError> {
    let written = elements.iter().filter_map(|element| match element {
        TableElement::Column(column) => column.index.as_ref(),
        TableElement::Index(index) => Some(index),
        _ => None,
    });
    for index in written {
        let Some(predicate) = &index.filter else { continue };
        context.options.check_for_filters("CREATE TABLE")?;
        let of = Filtered { kind: "index", name: &index.name.value, table, columns: &new.columns };
        let filter = filter::bind(predicate, &of, context)?;
        let made = new.indexes.iter_mut().find(|made| same_name(&made.name, &index.name.value));
        made.expect("every index written has been noted").filter = Some(filter);
    }
    Ok(())
}

/// A clustered index cannot have a filter: its grammar has none.
fn check_filtered_kind(clustered: bool, predicate: Option<&ast::Expr>) -> Result<(), SqlError> {
    match predicate {
        Some(_) if clustered => Err(crate::errors::syntax_near("WHERE")),
        _ => Ok(()),
    }
}

/// CREATE INDEX.
pub(super) fn create(create: &ast::CreateIndex, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    if create.kind != ast::IndexKind::Rows {
        return Err(crate::errors::unsupported("columnstore, XML and special indexes"));
    }
    let clustered = create.clustered == Some(true);
    check_filtered_kind(clustered, create.filter.as_ref())?;
    let shown = written(&create.table);
    let Some((database, table)) = find_table_for_change(&create.table, context)? else {
        let object = match there(database_of(&create.table, context))? {
            Some(database) => find_object(&database, &create.table, context)?,
            None => None,
        };
        return Err(match (object, &create.filter) {
            (Some(_), Some(_)) => SqlError::new(10610, &[&"index", &create.name.value, &shown]),
            _ => crate::errors::index_without_table(&shown),
        });
    };
    let filter = match &create.filter {
        None => None,
        Some(predicate) => {
            context.options.check_for_filters("CREATE INDEX")?;
            let columns = existing_columns(&table);
            let of =
                Filtered { kind: "index", name: &create.name.value, table: &create.table, columns: &columns };
            Some(filter::bind(predicate, &of, context)?)
        }
    };
    let new = NewIndex {
        name: create.name.value.clone(),
        unique: create.unique,
        clustered,
        columns: key_columns(&create.columns),
        included: create.include.iter().map(|name| name.value.clone()).collect(),
        filter,
        replaces: create.options.iter().any(|option| option.name.is("DROP_EXISTING") && is_on(option)),
        settings: new_settings(&create.options),
    };
    if database.catalog().statistics(table.object_id).iter().any(|def| def.is_named(&new.name)) {
        return Err(SqlError::new(1913, &[&new.name, &table.name]));
    }
    with_transaction(context, &database, |transaction| database.create_index(transaction, &table, &new))?;
    let no_recompute = super::statistics::no_recompute_of(&create.options);
    super::statistics::of_new_index(context, &database, &create.table, &new.name, no_recompute)
}

fn is_on(option: &ast::NamedOption) -> bool {
    matches!(option.value, Some(ast::OptionValue::Switch(true, _)))
}

/// ALTER INDEX. Returns the warnings of DISABLE. Errors 1088, 1915, 1934, 1973, 1979, 1987, 2552, 2727, 7729, 7735.
pub(super) fn alter(
    alter: &ast::AlterIndex,
    context: &mut ExecContext<'_>,
) -> Result<Vec<SqlError>, SqlError> {
    let Some((database, table)) = find_table_for_change(&alter.table, context)? else {
        return Err(crate::errors::index_without_table(&written(&alter.table)));
    };
    let chosen: Vec<&IndexDef> = match &alter.name {
        None => table.indexes.iter().filter(|index| index.kind != IndexKind::Heap).collect(),
        Some(name) => match table.index_named(&name.value) {
            Some(index) => vec![index],
            None => return Err(SqlError::new(2727, &[&name.value])),
        },
    };
    let numbers: Vec<i32> = chosen.iter().map(|index| index.index_id).collect();
    check_partition(alter, &table)?;
    match &alter.action {
        AlterIndexAction::Disable => with_transaction(context, &database, |transaction| {
            database.disable_indexes(transaction, &table, &numbers)
        }),
        AlterIndexAction::Rebuild { options, .. } => {
            let no_recompute = super::statistics::no_recompute_of(options);
            if chosen.iter().any(|index| index.filter.is_some()) {
                context.options.check_for_filters("ALTER INDEX")?;
            }
            check_clustered_in_use(&table, &chosen)?;
            check_duplicates_option(&table, &chosen, index_settings(options))?;
            with_transaction(context, &database, |transaction| {
                database.rebuild_indexes(transaction, &table, &numbers, index_settings(options))
            })?;
            // A rebuild reads all rows in the index's order; so its statistics come from all rows, too.
            for name in chosen.iter().filter_map(|index| index.name.as_ref()) {
                super::statistics::of_new_index(context, &database, &alter.table, name, no_recompute)?;
            }
            Ok(Vec::new())
        }
        // Pages are compacted as they become empty: nothing is left to do.
        AlterIndexAction::Reorganize { .. } => {
            check_in_use(alter, &table, &chosen)?;
            let locked = chosen.iter().find(|index| !index.settings.allow_page_locks);
            locked.map_or(Ok(Vec::new()), |index| {
                let name: Arc<str> = index.name.clone().unwrap_or_default();
                Err(SqlError::new(2552, &[&name, &table.name]))
            })
        }
        AlterIndexAction::Set(options) => {
            check_in_use(alter, &table, &chosen)?;
            if let Some(no_recompute) = super::statistics::no_recompute_of(options) {
                super::statistics::set_recompute_of(context, &database, &table, (&numbers, no_recompute))?;
            }
            let said = index_settings(options);
            check_duplicates_option(&table, &chosen, said)?;
            if said != IndexSettingsChange::default() {
                with_transaction(context, &database, |transaction| {
                    database.set_index_settings(transaction, &table, &numbers, said)
                })?;
            }
            Ok(Vec::new())
        }
        _ => Err(crate::errors::unsupported("this ALTER INDEX")),
    }
}

/// Which indexes may get IGNORE_DUP_KEY by ALTER INDEX: unique ones without a filter, but not those of constraints, which are changed by a
/// rebuild of the table. Errors 1915, 1979, 10618.
fn check_duplicates_option(
    table: &TableDef,
    chosen: &[&IndexDef],
    said: IndexSettingsChange,
) -> Result<(), SqlError> {
    if said.ignore_dup_key != Some(true) {
        return Ok(());
    }
    for index in chosen {
        let name: Arc<str> = index.name.clone().unwrap_or_default();
        if index.constraint_id != 0 {
            return Err(SqlError::new(1979, &[&name]));
        }
        if index.filter.is_some() {
            return Err(SqlError::new(10618, &[&"alter", &name, &table.name]));
        }
        if !index.unique {
            return Err(SqlError::new(1915, &[]));
        }
    }
    Ok(())
}

/// A named index must not be disabled. Error 1973.
fn check_in_use(alter: &ast::AlterIndex, table: &TableDef, chosen: &[&IndexDef]) -> Result<(), SqlError> {
    match chosen.iter().find(|index| index.is_disabled) {
        Some(index) if alter.name.is_some() => {
            let name = index.name.clone().unwrap_or_default();
            Err(SqlError::new(1973, &[&name, &"table", &table.name]))
        }
        _ => Ok(()),
    }
}

/// ALTER TABLE ... REBUILD of a table by name, with the specified partition and options. Errors 1915, 1934, 7729.
pub(super) fn rebuild_table(
    (database, name): (&Arc<Database>, &ast::ObjectName),
    table: &Arc<TableDef>,
    (partition, options): (Option<&ast::Expr>, &[ast::NamedOption]),
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    if !partition.is_none_or(is_all) {
        return Err(SqlError::new(7729, &[&"ALTER TABLE", &"table", &table.name]));
    }
    let is_heap = table.base().kind == IndexKind::Heap;
    // Indexes of a heap contain row addresses and are rebuilt with it. Those of a clustered index contain its keys.
    let made = table.indexes.iter().filter(|index| !index.is_disabled || index.kind == IndexKind::Clustered);
    let made: Vec<&IndexDef> = made.filter(|index| is_heap || index.kind == IndexKind::Clustered).collect();
    if made.iter().any(|index| index.filter.is_some()) {
        context.options.check_for_filters("ALTER TABLE")?;
    }
    let said = index_settings(options);
    if said.ignore_dup_key == Some(true) && !table.base().unique {
        return Err(SqlError::new(1915, &[]));
    }
    with_transaction(context, database, |transaction| database.rebuild_table(transaction, table, said))?;
    let no_recompute = super::statistics::no_recompute_of(options);
    for index in made.iter().filter_map(|index| index.name.as_ref()) {
        super::statistics::of_new_index(context, database, name, index, no_recompute)?;
    }
    Ok(())
}

/// `PARTITION = ALL`.
fn is_all(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, ast::ExprKind::Literal(ast::Literal::String(word)) if word == "ALL")
}

/// A nonclustered index cannot be rebuilt while the clustered index is disabled, unless that is rebuilt, too. Error 1987.
fn check_clustered_in_use(table: &TableDef, chosen: &[&IndexDef]) -> Result<(), SqlError> {
    let includes_base = chosen.iter().any(|index| index.kind == IndexKind::Clustered);
    match chosen.first() {
        Some(index) if table.base().is_disabled && !includes_base => {
            let name: Arc<str> = index.name.clone().unwrap_or_default();
            let shown: [&dyn std::fmt::Display; 6] =
                [&"rebuild", &"index", &name, &"table", &table.name, &"clustered index"];
            Err(SqlError::new(1987, &shown))
        }
        _ => Ok(()),
    }
}

/// There are no partitions: only PARTITION = ALL is accepted. Errors 7729, 7735.
fn check_partition(alter: &ast::AlterIndex, table: &TableDef) -> Result<(), SqlError> {
    let partition = match &alter.action {
        AlterIndexAction::Rebuild { partition, .. } | AlterIndexAction::Reorganize { partition, .. } => {
            partition.as_ref()
        }
        _ => None,
    };
    if partition.is_none_or(is_all) {
        return Ok(());
    }
    Err(match &alter.name {
        Some(name) => SqlError::new(7729, &[&"ALTER INDEX", &"index", &name.value]),
        None => {
            let first = table.indexes.iter().find_map(|index| index.name.clone());
            match first {
                Some(index) => SqlError::new(7735, &[&"ALTER INDEX", &"index", &index]),
                None => SqlError::new(7735, &[&"ALTER INDEX", &"table", &table.name]),
            }
        }
    })
}
