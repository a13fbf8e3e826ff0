//! Copies users' objects in model to a new database: schemas, tables with their rows, modules.

use std::sync::Arc;

use txn::{CommitMode, TxnOptions};

use crate::catalog::{Entry, TypeDef};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::definition::{NewColumn, NewConstraint, NewFilter, NewIndex, NewTable, NewTrigger};
use crate::error::SqlResult;
use crate::schema::{IndexKind, ModuleDef, ModuleKind, ObjectDef, ObjectId, TableDef};

/// Copies all users' objects from `model`.
///
/// # Errors
/// Those of storage.
pub(crate) fn copy(model: &Arc<Database>, target: &Arc<Database>) -> SqlResult<()> {
    let objects: Vec<ObjectDef> =
        model.catalog().objects().into_iter().filter(|o| o.type_code() != "S ").collect();
    let schemas: Vec<_> = model.catalog().schemas().into_iter().filter(|s| s.schema_id > 4).collect();
    // Messages and configured values are only in master.
    let written: Vec<_> = model.catalog().entries();
    if objects.is_empty() && schemas.is_empty() && written.is_empty() {
        return Ok(());
    }
    let begin = |database: &Arc<Database>| {
        DbTransaction::new(database.clone(), database.transactions().begin(TxnOptions::default()), 0)
    };
    let (source, sink) = (begin(model), begin(target));
    for schema in schemas {
        target.create_schema(&sink, &schema.name)?;
    }
    for def in model.catalog().types() {
        let table = model.catalog().object(def.table_object_id);
        let table_object_id = match table.filter(|_| def.is_table()) {
            Some(ObjectDef::Module(module)) => copy_module(target, &sink, &module)?,
            _ => 0,
        };
        target.change_entry(&sink, None, Some(Entry::Type(TypeDef { table_object_id, ..def })))?;
    }
    let mut triggers = Vec::new();
    for object in objects {
        match object {
            ObjectDef::Table(table) => copy_table(model, &source, target, &sink, &table)?,
            // With its type.
            ObjectDef::Module(module) if module.kind == ModuleKind::TableType => {}
            // Behind its table or view.
            ObjectDef::Module(module) if module.kind == ModuleKind::Trigger => triggers.push(module),
            ObjectDef::Module(module) => drop(copy_module(target, &sink, &module)?),
            ObjectDef::Sequence(sequence) => drop(target.copy_sequence(&sink, &sequence)?),
        }
    }
    for trigger in triggers {
        copy_trigger(model, target, &sink, &trigger)?;
    }
    source.commit(CommitMode::Volatile)?;
    sink.commit(if target.is_volatile() { CommitMode::Volatile } else { CommitMode::Full })
}

fn copy_table(
    model: &Arc<Database>,
    source: &DbTransaction,
    target: &Arc<Database>,
    sink: &DbTransaction,
    table: &Arc<TableDef>,
) -> SqlResult<()> {
    let made = target.create_table(sink, &as_new(table))?;
    let copy = target.table(&made);
    model.table(table).for_each_row(source, &mut |row| copy.insert(sink, row))
}

fn copy_module(target: &Arc<Database>, sink: &DbTransaction, module: &ModuleDef) -> SqlResult<ObjectId> {
    target.create_module(
        sink,
        module.kind,
        &module.schema,
        &module.name,
        &module.definition,
        module.settings(),
        &[],
        &module.stars,
        None,
    )
}

fn copy_trigger(
    model: &Arc<Database>,
    target: &Arc<Database>,
    sink: &DbTransaction,
    trigger: &ModuleDef,
) -> SqlResult<()> {
    let parent = model.catalog().object(trigger.parent_object_id);
    let parent = parent.and_then(|parent| target.catalog().find(&trigger.schema, parent.name()));
    let Some(parent) = parent else { return Ok(()) };
    let (name, definition) = (&*trigger.name, &*trigger.definition);
    let new = NewTrigger { parent: &parent, name, definition, settings: trigger.settings(), replace: None };
    target.create_trigger(sink, &new).map(drop)
}

/// A definition as the statement that would create it.
fn as_new(table: &TableDef) -> NewTable {
    let columns = table.columns.iter().map(|c| NewColumn {
        name: c.name.to_string(),
        sql_type: c.sql_type,
        nullable: c.nullable,
        collation: c.collation,
        identity: c.identity,
        default: c
            .default
            .as_ref()
            .map(|d| ((!d.is_system_named).then(|| d.name.to_string()), d.text.to_string())),
        computed: c.computed.clone(),
        is_rowguidcol: c.is_rowguidcol,
        user_type_id: c.user_type_id,
    });
    let name_of = |ordinal: usize| table.columns[ordinal].name.to_string();
    let mut constraints: Vec<NewConstraint> = Vec::new();
    let mut indexes = Vec::new();
    for index in table.indexes.iter().filter(|i| i.kind != IndexKind::Heap) {
        let key: Vec<(String, bool)> = index.key.iter().map(|k| (name_of(k.ordinal), k.descending)).collect();
        let name = index.name.as_ref().map(|n| n.to_string());
        if index.constraint_id != 0 {
            constraints.push(NewConstraint::Key {
                name: name.filter(|_| !index.is_system_named),
                primary: index.primary_key,
                clustered: Some(index.kind == IndexKind::Clustered),
                columns: key,
                settings: index.settings,
            });
        } else {
            indexes.push(NewIndex {
                name: name.unwrap_or_default(),
                unique: index.unique,
                clustered: index.kind == IndexKind::Clustered,
                columns: key,
                included: index.included.iter().map(|o| name_of(*o)).collect(),
                filter: index.filter.as_ref().map(|filter| NewFilter {
                    text: filter.text.to_string(),
                    terms: filter.terms.iter().map(|t| (name_of(t.ordinal), t.test.clone())).collect(),
                }),
                replaces: false,
                settings: index.settings,
            });
        }
    }
    constraints.extend(table.checks.iter().map(|c| NewConstraint::Check {
        name: (!c.is_system_named).then(|| c.name.to_string()),
        text: c.text.to_string(),
        is_not_trusted: c.state.is_not_trusted,
        is_not_for_replication: c.state.is_not_for_replication,
    }));
    NewTable {
        ansi_nulls: table.ansi_nulls,
        schema: table.schema.to_string(),
        name: table.name.to_string(),
        columns: columns.collect(),
        constraints,
        indexes,
    }
}
