//! Renames and schema transfers: rows of the system tables and cache change; numbers, data and references by number stay.

use std::sync::Arc;

use txn::LockMode;
use types::SqlError;

use super::shape::same;
use crate::catalog::names::names_of;
use crate::catalog::{Entry, EntryKey, TypeDef};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ObjectDef, ObjectId, TableDef};
use crate::sequence_def::SequenceDef;

/// The part of a table to rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablePart {
    /// A column, by `column_id`.
    Column(i32),
    /// An index, by `index_id`; its constraint, if it has one, has the same name.
    Index(i32),
    /// A constraint, by `object_id`.
    Constraint(ObjectId),
}

impl Database {
    /// Renames a table, module or sequence.
    ///
    /// # Errors
    /// 15335 when another object in the schema has the name; those of storage.
    pub fn rename_object(self: &Arc<Self>, txn: &DbTransaction, id: ObjectId, name: &str) -> SqlResult<()> {
        let found = self.catalog().object(id).ok_or_else(SqlError::stale_plan)?;
        let parent = match &found {
            ObjectDef::Module(module) => self.catalog().object(module.parent_object_id),
            _ => None,
        };
        // Plans of statements that fire a trigger have its name.
        if let Some(parent) = &parent {
            self.lock_definition(txn, parent)?;
        }
        self.lock_definition(txn, &found)?;
        let old = self.catalog().object(id).ok_or_else(SqlError::stale_plan)?;
        // The same name in another letter case is free for its owner.
        if !same(old.name(), name) {
            self.take_new_name(txn, old.schema_id(), id, name)?;
        }
        let now = self.now();
        let new = match &old {
            ObjectDef::Table(table) => ObjectDef::Table(Arc::new(TableDef {
                name: name.into(),
                modify_date: now,
                ..table.as_ref().clone()
            })),
            ObjectDef::Module(module) => {
                let mut renamed = module.as_ref().clone();
                renamed.name = name.into();
                renamed.modify_date = now;
                ObjectDef::Module(Arc::new(renamed))
            }
            ObjectDef::Sequence(sequence) => ObjectDef::Sequence(Arc::new(SequenceDef {
                name: name.into(),
                modify_date: now,
                ..sequence.as_ref().clone()
            })),
        };
        self.write_definition(txn, Some(old), Some(new))?;
        parent.map_or(Ok(()), |parent| self.renew(txn, parent.object_id()))
    }

    /// Renames a column, an index or a constraint of a table.
    ///
    /// # Errors
    /// 15335 when the name is taken; those of storage.
    pub fn rename_part(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: ObjectId,
        part: TablePart,
        name: &str,
    ) -> SqlResult<()> {
        let Some(ObjectDef::Table(found)) = self.catalog().object(table) else {
            return Err(SqlError::stale_plan());
        };
        let old = self.lock_for_change(txn, &found)?;
        let mut new = old.as_ref().clone();
        let taken = |kind: &str| Err(SqlError::new(15335, &[&name, &kind]));
        match part {
            TablePart::Column(id) => {
                if old.columns.iter().any(|column| column.column_id != id && same(&column.name, name)) {
                    return taken("COLUMN");
                }
                let column = new.columns.iter_mut().find(|column| column.column_id == id);
                column.ok_or_else(SqlError::stale_plan)?.name = name.into();
            }
            TablePart::Index(id) => {
                let has_name =
                    |index: &crate::schema::IndexDef| index.name.as_ref().is_some_and(|own| same(own, name));
                if old.indexes.iter().any(|index| index.index_id != id && has_name(index)) {
                    return taken("INDEX");
                }
                let found = new.indexes.iter_mut().find(|index| index.index_id == id);
                let index = found.ok_or_else(SqlError::stale_plan)?;
                if index.constraint_id != 0 && !has_name(index) {
                    self.take_new_name(txn, old.schema_id, table, name)?;
                }
                index.name = Some(name.into());
            }
            TablePart::Constraint(id) => {
                let current = old.constraints().into_iter().find(|constraint| constraint.0 == id);
                let current = current.ok_or_else(SqlError::stale_plan)?;
                if !same(&current.1, name) {
                    self.take_new_name(txn, old.schema_id, table, name)?;
                }
                rename_constraint(&mut new, id, name);
            }
        }
        new.modify_date = self.now();
        self.write_definition(txn, Some(ObjectDef::Table(old)), Some(ObjectDef::Table(Arc::new(new))))
    }

    /// ALTER SCHEMA ... TRANSFER of a table, module or sequence, with the names of its constraints.
    ///
    /// # Errors
    /// 2760 when there is no such schema, 15530 when another object in it has one of the names; those of storage.
    pub fn transfer_object(
        self: &Arc<Self>,
        txn: &DbTransaction,
        id: ObjectId,
        schema_name: &str,
    ) -> SqlResult<()> {
        let home = self.schema_for(txn, schema_name)?;
        let found = self.catalog().object(id).ok_or_else(SqlError::stale_plan)?;
        self.lock_definition(txn, &found)?;
        let old = self.catalog().object(id).ok_or_else(SqlError::stale_plan)?;
        let (schema_id, schema, modify_date) = (home.schema_id, home.name.clone(), self.now());
        let new = match &old {
            ObjectDef::Table(table) => {
                let table = table.as_ref().clone();
                ObjectDef::Table(Arc::new(TableDef { schema_id, schema, modify_date, ..table }))
            }
            ObjectDef::Module(module) => {
                let mut moved = module.as_ref().clone();
                (moved.schema_id, moved.schema, moved.modify_date) = (schema_id, schema, modify_date);
                ObjectDef::Module(Arc::new(moved))
            }
            ObjectDef::Sequence(sequence) => {
                let sequence = sequence.as_ref().clone();
                ObjectDef::Sequence(Arc::new(SequenceDef { schema_id, schema, modify_date, ..sequence }))
            }
        };
        for (_, name) in names_of(&new) {
            let reserved = self.reserve_name(txn, schema_id, &name, txn.object_resource(id));
            reserved.map_err(|error| taken_there(error, "object", &name))?;
        }
        self.write_definition(txn, Some(old), Some(new))?;
        // A trigger is in the schema of its table.
        for trigger in self.catalog().triggers_of(id) {
            let moved = txn.lock_object(trigger.object_id, LockMode::SchM);
            moved.and_then(|()| self.transfer_object(txn, trigger.object_id, schema_name))?;
        }
        Ok(())
    }

    /// Transfers an alias type.
    ///
    /// # Errors
    /// As `transfer_object`.
    pub fn transfer_type(
        self: &Arc<Self>,
        txn: &DbTransaction,
        def: &TypeDef,
        schema: &str,
    ) -> SqlResult<()> {
        let schema_id = self.schema_for(txn, schema)?.schema_id;
        self.share_schema(txn, def.schema_id)?;
        let resource = self.lock_entry(txn, &EntryKey::Type(def.user_type_id), LockMode::SchM)?;
        let key = crate::catalog::names::key_of_type(schema_id, &def.name);
        let reserved = self.reserve(txn, key, &def.name, resource);
        reserved.map_err(|error| taken_there(error, "type", &def.name))?;
        let new = TypeDef { schema_id, ..def.clone() };
        self.change_entry(txn, Some(&Entry::Type(def.clone())), Some(Entry::Type(new)))
    }

    /// Reserves the new name of an object, and checks that no other object in the schema has it.
    fn take_new_name(&self, txn: &DbTransaction, schema_id: i32, id: ObjectId, name: &str) -> SqlResult<()> {
        self.reserve_name(txn, schema_id, name, txn.object_resource(id)).map_err(|error| match error.number {
            2714 => SqlError::new(15335, &[&name, &"object"]),
            _ => error,
        })
    }
}

/// The error when another object in the target schema has the name.
fn taken_there(error: SqlError, kind: &str, name: &str) -> SqlError {
    if error.number == 2714 { SqlError::new(15530, &[&kind, &name]) } else { error }
}

fn rename_constraint(table: &mut TableDef, id: ObjectId, name: &str) {
    for index in table.indexes.iter_mut().filter(|index| index.constraint_id == id) {
        index.name = Some(name.into());
        index.is_system_named = false;
    }
    for check in table.checks.iter_mut().filter(|check| check.object_id == id) {
        check.name = name.into();
        check.is_system_named = false;
    }
    for key in table.foreign_keys.iter_mut().filter(|key| key.object_id == id) {
        key.name = name.into();
        key.is_system_named = false;
    }
    for default in table.columns.iter_mut().filter_map(|column| column.default.as_mut()) {
        if default.object_id == id {
            default.name = name.into();
            default.is_system_named = false;
        }
    }
}
