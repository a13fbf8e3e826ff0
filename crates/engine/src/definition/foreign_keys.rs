//! Foreign keys as definitions: their allowed targets, the drops that they prevent, and whether they are enabled.

use std::sync::Arc;

use types::{SqlError, SqlType};

use super::new::NewForeignKey;
use super::shape::same;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ColumnDef, ConstraintState, ForeignKeyDef, IndexDef, ObjectDef, ObjectId, TableDef};
use crate::trigger_def::TriggerEvent;

/// ON DELETE or ON UPDATE without an action.
const NO_ACTION: u8 = 0;
const SET_NULL: u8 = 2;
const SET_DEFAULT: u8 = 3;

impl Database {
    /// Adds a foreign key to a definition. Errors 1761, 1762, 1767, 1769, 1770, 1773, 1774, 1776, 1753, 1757, 1778, 1785, 8139.
    pub(super) fn append_foreign_key(
        &self,
        table: &mut TableDef,
        foreign: &NewForeignKey,
        name: &str,
        object_id: ObjectId,
    ) -> SqlResult<()> {
        let other = match foreign.referenced_object_id {
            None => Arc::new(table.clone()),
            Some(id) if id == table.object_id => Arc::new(table.clone()),
            Some(id) => match self.catalog().object(id) {
                Some(ObjectDef::Table(other)) => other,
                _ => return Err(SqlError::new(1767, &[&name, &"?"])),
            },
        };
        let columns = column_ids(table, &foreign.columns, 1769, name)?;
        let referenced = referenced_columns(&other, foreign, name)?;
        if columns.len() != referenced.len() {
            return Err(match foreign.referenced_columns.is_empty() {
                true => SqlError::new(1774, &[&name, &other.qualified_name()]),
                false => SqlError::new(8139, &[&table.name]),
            });
        }
        if other.key_over(&referenced).is_none_or(|index| index.is_disabled) {
            return Err(SqlError::new(1776, &[&other.qualified_name(), &name]));
        }
        for (own, target) in columns.iter().zip(&referenced) {
            check_pair((table, column_of(table, *own)), (&other, column_of(&other, *target)), name)?;
        }
        let key = ForeignKeyDef {
            object_id,
            name: name.into(),
            column_ids: columns,
            referenced_object_id: other.object_id,
            referenced_column_ids: referenced,
            is_system_named: foreign.name.is_none(),
            delete_action: foreign.delete_action,
            update_action: foreign.update_action,
            state: ConstraintState::of_new(foreign.is_not_trusted, foreign.is_not_for_replication),
        };
        check_actions(table, &key)?;
        self.check_instead_of(table, &key)?;
        self.check_cascades(table, &key)?;
        table.foreign_keys.push(key);
        Ok(())
    }

    /// A key with an action needs a table whose rows such a statement really changes. Error 1787.
    fn check_instead_of(&self, table: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
        let is_replaced = |found: &Arc<crate::schema::ModuleDef>| {
            let (def, acts) = (&found.trigger, |action: u8| action != NO_ACTION);
            def.is_instead_of
                && ((acts(key.delete_action) && def.events.has(TriggerEvent::Delete))
                    || (acts(key.update_action) && def.events.has(TriggerEvent::Update)))
        };
        match self.catalog().triggers_of(table.object_id).iter().any(is_replaced) {
            true => Err(SqlError::new(1787, &[&key.name, &table.name])),
            false => Ok(()),
        }
    }

    /// The cascades of one DELETE or UPDATE must form a tree: no table twice, not even the first one again. Error 1785.
    fn check_cascades(&self, table: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
        let delete = |key: &ForeignKeyDef| key.delete_action != NO_ACTION;
        let update = |key: &ForeignKeyDef| key.update_action != NO_ACTION;
        let kinds: [&dyn Fn(&ForeignKeyDef) -> bool; 2] = [&delete, &update];
        for cascades in kinds.into_iter().filter(|cascades| cascades(key)) {
            let mut edges = vec![(key.referenced_object_id, table.object_id)];
            let own = table.foreign_keys.iter().filter(|key| cascades(key));
            edges.extend(own.map(|key| (key.referenced_object_id, table.object_id)));
            for object in self.catalog().objects() {
                let ObjectDef::Table(other) = &object else { continue };
                if other.object_id != table.object_id {
                    let found = other.foreign_keys.iter().filter(|key| cascades(key));
                    edges.extend(found.map(|key| (key.referenced_object_id, other.object_id)));
                }
            }
            if edges.iter().any(|edge| reaches_twice(edge.0, &edges)) {
                return Err(SqlError::new(1785, &[&key.name, &table.name]));
            }
        }
        Ok(())
    }

    /// ALTER TABLE ... CHECK or NOCHECK CONSTRAINT, by numbers of the constraints. The caller tests whether the rows satisfy a constraint that
    /// becomes trusted.
    ///
    /// # Errors
    /// 1989 when the index that a foreign key needs is disabled; those of storage.
    pub fn set_constraint_states(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        states: &[(ObjectId, ConstraintState)],
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        self.change_definition(txn, table, |new| {
            for (id, state) in states {
                if let Some(key) = new.foreign_keys.iter().find(|key| key.object_id == *id)
                    && !state.is_disabled
                {
                    self.check_key_is_in_use(new, key)?;
                }
                let checks = new.checks.iter_mut().filter(|check| check.object_id == *id);
                checks.for_each(|check| check.state = *state);
                let keys = new.foreign_keys.iter_mut().filter(|key| key.object_id == *id);
                keys.for_each(|key| key.state = *state);
            }
            self.touch_referenced(txn, &old.foreign_keys, &new.foreign_keys)
        })
    }

    /// Invalidates plans of the tables that a new, dropped or changed foreign key refers to: renews the
    /// definition of each such table. Until the transaction ends no other session uses them.
    pub(super) fn touch_referenced(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: &[ForeignKeyDef],
        new: &[ForeignKeyDef],
    ) -> SqlResult<()> {
        let only_in = |here: &[ForeignKeyDef], there: &[ForeignKeyDef]| -> Vec<ObjectId> {
            here.iter().filter(|key| !there.contains(key)).map(|key| key.referenced_object_id).collect()
        };
        let mut touched = only_in(old, new);
        touched.extend(only_in(new, old));
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            // A new table that refers to itself is not in the catalog yet.
            let Some(ObjectDef::Table(found)) = self.catalog().object(id) else { continue };
            let table = self.lock_for_change(txn, &found)?;
            let again = ObjectDef::Table(Arc::new(table.as_ref().clone()));
            self.write_definition(txn, Some(ObjectDef::Table(table)), Some(again))?;
        }
        Ok(())
    }

    /// The table and the name of a foreign key that finds its rows by the index.
    pub(super) fn foreign_key_on(&self, table: &TableDef, index: &IndexDef) -> Option<(String, String)> {
        let uses = |key: &&ForeignKeyDef| {
            key.referenced_object_id == table.object_id
                && table.referenced_index(key).is_some_and(|found| found.index_id == index.index_id)
        };
        self.catalog().objects().into_iter().find_map(|object| {
            let ObjectDef::Table(other) = object else { return None };
            let key = other.foreign_keys.iter().find(uses)?;
            Some((other.name.to_string(), key.name.to_string()))
        })
    }

    /// Foreign keys that refer to a column, an error 5074 for each.
    pub(super) fn foreign_keys_to(&self, table: &TableDef, column_id: i32) -> Vec<SqlError> {
        let Some(column) = table.columns.iter().find(|column| column.column_id == column_id) else {
            return Vec::new();
        };
        let refers = |key: &&ForeignKeyDef| {
            key.referenced_object_id == table.object_id && key.referenced_column_ids.contains(&column_id)
        };
        let tables = self.catalog().objects().into_iter().filter_map(|object| match object {
            ObjectDef::Table(other) => Some(other),
            _ => None,
        });
        let depends =
            |key: &ForeignKeyDef| SqlError::new(5074, &[&"object", &key.name, &"column", &column.name]);
        tables
            .flat_map(|other| other.foreign_keys.iter().filter(refers).map(depends).collect::<Vec<_>>())
            .collect()
    }

    /// Another table with a foreign key to this one.
    pub(super) fn referencing_table(&self, table: &TableDef) -> Option<Arc<TableDef>> {
        self.catalog().objects().into_iter().find_map(|object| match object {
            ObjectDef::Table(other) if other.object_id != table.object_id => {
                let refers = other.foreign_keys.iter().any(|f| f.referenced_object_id == table.object_id);
                refers.then_some(other)
            }
            _ => None,
        })
    }

    pub(super) fn check_not_referenced(&self, table: &TableDef) -> SqlResult<()> {
        match self.referencing_table(table) {
            Some(_) => Err(SqlError::new(3726, &[&table.name])),
            None => Ok(()),
        }
    }
}

/// Does one change of `start` reach a table by two paths, or `start` again?
fn reaches_twice(start: ObjectId, edges: &[(ObjectId, ObjectId)]) -> bool {
    let (mut reached, mut at) = (vec![start], 0);
    while at < reached.len() {
        let table = reached[at];
        for (_, child) in edges.iter().filter(|edge| edge.0 == table) {
            if reached.contains(child) {
                return true;
            }
            reached.push(*child);
        }
        at += 1;
    }
    false
}

fn column_ids(table: &TableDef, names: &[String], missing: i32, key: &str) -> SqlResult<Vec<i32>> {
    let id = |name: &String| {
        let found = table.columns.iter().find(|column| same(&column.name, name));
        found.map(|column| column.column_id).ok_or_else(|| SqlError::new(missing, &[&key, name, &table.name]))
    };
    names.iter().map(id).collect()
}

/// The columns named, or those of the primary key.
fn referenced_columns(other: &TableDef, foreign: &NewForeignKey, name: &str) -> SqlResult<Vec<i32>> {
    if !foreign.referenced_columns.is_empty() {
        return column_ids(other, &foreign.referenced_columns, 1770, name);
    }
    let key = other.indexes.iter().find(|index| index.primary_key);
    let key = key.ok_or_else(|| SqlError::new(1773, &[&name, &other.qualified_name()]))?;
    Ok(key.key.iter().map(|column| other.columns[column.ordinal].column_id).collect())
}

fn column_of(table: &TableDef, id: i32) -> &ColumnDef {
    table.columns.iter().find(|column| column.column_id == id).expect("found by its name just now")
}

/// Both columns must have compatible types. Errors 1753, 1757, 1778.
fn check_pair(
    (table, own): (&TableDef, &ColumnDef),
    (other, target): (&TableDef, &ColumnDef),
    name: &str,
) -> SqlResult<()> {
    let is_exact = |sql_type: &SqlType| matches!(sql_type, SqlType::Decimal { .. } | SqlType::Numeric { .. });
    let (a, b) = (&own.sql_type, &target.sql_type);
    let same_kind = a.system_type_id() == b.system_type_id() || (is_exact(a) && is_exact(b));
    let is_variable = |sql_type: &SqlType| {
        matches!(
            sql_type,
            SqlType::VarChar(_) | SqlType::NVarChar(_) | SqlType::VarBinary(_) | SqlType::SysName
        )
    };
    let same_size = (a.max_length(), a.precision(), a.scale()) == (b.max_length(), b.precision(), b.scale())
        || is_variable(a);
    let number = if !same_kind {
        1778
    } else if !same_size {
        1753
    } else if a.is_character() && own.collation != target.collation {
        1757
    } else {
        return Ok(());
    };
    Err(SqlError::new(number, &[&other.name, &target.name, &table.name, &own.name, &name]))
}

/// Can the columns take the values of the actions? Errors 1761, 1762.
fn check_actions(table: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
    let has = |action: u8| key.delete_action == action || key.update_action == action;
    for id in &key.column_ids {
        let column = column_of(table, *id);
        if has(SET_NULL) && !column.nullable {
            return Err(SqlError::new(1761, &[&key.name, &"SET NULL"]));
        }
        if has(SET_DEFAULT) && !column.nullable && column.default.is_none() {
            return Err(SqlError::new(1762, &[&key.name, &"SET DEFAULT"]));
        }
    }
    Ok(())
}
