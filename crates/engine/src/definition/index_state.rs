//! ALTER INDEX: disabling and rebuilding of indexes; ALTER TABLE ... REBUILD.
//!
//! A disabled nonclustered index loses its pages. A disabled clustered index keeps them, because they are the table's rows, but the rows can be
//! neither read nor changed (8655), and every other index is disabled with it. Foreign keys that depend on a disabled index are disabled, too; only
//! ALTER TABLE ... CHECK CONSTRAINT enables them again. (Documented under "Disable indexes and constraints".)

use std::sync::Arc;

use types::SqlError;

use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::index_settings::IndexSettingsChange;
use crate::schema::{ConstraintState, ForeignKeyDef, IndexDef, IndexKind, ObjectDef, ObjectId, TableDef};

/// Foreign keys to disable: their table, and name and number of each.
type Hanging = Vec<(Arc<TableDef>, Vec<(Arc<str>, ObjectId)>)>;

impl Database {
    /// ALTER INDEX ... DISABLE of the indexes with these numbers. Returns the warnings (1992, 3750).
    ///
    /// # Errors
    /// Those of locks and storage.
    pub fn disable_indexes(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        index_ids: &[i32],
    ) -> SqlResult<Vec<SqlError>> {
        let old = self.lock_for_change(txn, table)?;
        let is_whole_table = index_ids.contains(&1);
        let mut warnings = Vec::new();
        let named: Vec<&IndexDef> =
            old.indexes.iter().filter(|index| index_ids.contains(&index.index_id)).collect();
        for (other, keys) in self.keys_hanging_on(&old, &named, is_whole_table) {
            let state = |id: &ObjectId| {
                let found = other.foreign_keys.iter().find(|key| key.object_id == *id);
                found.map_or_else(ConstraintState::default, |key| key.state).taken(true, false)
            };
            let states: Vec<_> = keys.iter().map(|(_, id)| (*id, state(id))).collect();
            self.set_constraint_states(txn, &other, &states)?;
            for (key, id) in &keys {
                let found = other.foreign_keys.iter().find(|key| key.object_id == *id);
                let parent = found.map_or(old.object_id, |key| key.referenced_object_id);
                let parent = match self.catalog().object(parent) {
                    Some(object) => object.name().clone(),
                    None => old.name.clone(),
                };
                let index = named.first().and_then(|index| index.name.clone()).unwrap_or_default();
                warnings.push(SqlError::new(1992, &[key, &other.name, &parent, &index]));
            }
        }
        let present = self.lock_for_change(txn, table)?;
        self.change_definition(txn, &present, |new| {
            let name = new.name.clone();
            for index in new.indexes.iter_mut().filter(|index| index.kind != IndexKind::Heap) {
                let is_named = index_ids.contains(&index.index_id);
                if index.is_disabled || !(is_named || is_whole_table) {
                    continue;
                }
                if !is_named {
                    let shown = index.name.clone().unwrap_or_default();
                    warnings.push(SqlError::new(3750, &[&shown, &"table", &name, &"table"]));
                }
                index.is_disabled = true;
                if index.kind == IndexKind::Nonclustered {
                    index.unit = 0;
                    index.root = pages::PageId::NULL;
                }
            }
            Ok(())
        })?;
        Ok(warnings)
    }

    /// ALTER INDEX ... REBUILD of the indexes with these numbers: they are built from the rows, with the given settings, and enabled.
    ///
    /// # Errors
    /// 1505 when a unique index finds duplicates; those of locks and storage.
    pub fn rebuild_indexes(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        index_ids: &[i32],
        said: IndexSettingsChange,
    ) -> SqlResult<()> {
        self.change_indexes(txn, table, index_ids, |index| {
            index.is_disabled = false;
            // A heap has no settings.
            if index.kind != IndexKind::Heap {
                index.settings = index.settings.taken(said);
            }
            index.unit = 0;
            index.root = pages::PageId::NULL;
        })
    }

    /// Makes one change of the indexes with these numbers.
    fn change_indexes(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        index_ids: &[i32],
        change: impl Fn(&mut IndexDef),
    ) -> SqlResult<()> {
        self.change_definition(txn, table, |new| {
            new.indexes.iter_mut().filter(|index| index_ids.contains(&index.index_id)).for_each(&change);
            Ok(())
        })
    }

    /// ALTER INDEX ... SET of the indexes with these numbers.
    ///
    /// # Errors
    /// Those of locks and storage.
    pub fn set_index_settings(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        index_ids: &[i32],
        said: IndexSettingsChange,
    ) -> SqlResult<()> {
        self.change_indexes(txn, table, index_ids, |index| index.settings = index.settings.taken(said))
    }

    /// ALTER TABLE ... REBUILD: the heap or clustered index is built anew from its rows, in full pages and without moved rows, together with
    /// all enabled indexes, whose entries store locators. A disabled index stays disabled, except the clustered one.
    ///
    /// # Errors
    /// Those of locks and storage; the marker of a stale plan when another has changed the table.
    pub fn rebuild_table(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        said: IndexSettingsChange,
    ) -> SqlResult<()> {
        self.rebuild_indexes(txn, table, &[table.base().index_id], said)
    }

    /// Moves a table with all its enabled indexes to new pages, without other changes.
    ///
    /// # Errors
    /// Those of locks and storage; the marker of a stale plan when another has changed the table.
    pub(crate) fn build_anew(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<()> {
        let in_use = table.indexes.iter().filter(|index| !index.is_disabled);
        let index_ids: Vec<i32> = in_use.map(|index| index.index_id).collect();
        self.rebuild_indexes(txn, table, &index_ids, IndexSettingsChange::default())
    }

    /// The enabled foreign keys that depend on indexes to be disabled: those that refer to their columns; if the clustered index is among them, all
    /// of the table and to the table.
    fn keys_hanging_on(&self, table: &Arc<TableDef>, named: &[&IndexDef], is_whole_table: bool) -> Hanging {
        let hangs = |owner: &TableDef, key: &ForeignKeyDef| {
            if key.state.is_disabled {
                return false;
            }
            let refers_here = key.referenced_object_id == table.object_id;
            if is_whole_table && (refers_here || owner.object_id == table.object_id) {
                return true;
            }
            let by = if refers_here { table.referenced_index(key) } else { None };
            by.is_some_and(|index| named.iter().any(|other| other.index_id == index.index_id))
        };
        let mut found = Vec::new();
        for object in self.catalog().objects() {
            let ObjectDef::Table(other) = object else { continue };
            let keys: Vec<_> = other
                .foreign_keys
                .iter()
                .filter(|key| hangs(&other, key))
                .map(|key| (key.name.clone(), key.object_id))
                .collect();
            if !keys.is_empty() {
                found.push((other, keys));
            }
        }
        found
    }

    /// An enabled foreign key needs an enabled index on the referenced columns. Error 1989.
    pub(super) fn check_key_is_in_use(&self, table: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
        let index = |parent: &TableDef| {
            parent.referenced_index(key).filter(|index| index.is_disabled).map(|index| index.name.clone())
        };
        let disabled = match self.catalog().object(key.referenced_object_id) {
            _ if key.referenced_object_id == table.object_id => index(table),
            Some(ObjectDef::Table(parent)) => index(&parent),
            _ => None,
        };
        match disabled {
            Some(name) => Err(SqlError::new(1989, &[&key.name, &name.unwrap_or_default()])),
            None => Ok(()),
        }
    }

    /// The rows of a table whose clustered index is disabled cannot change their format. Error 1974.
    pub(super) fn check_rows_in_use(&self, table: &TableDef) -> SqlResult<()> {
        let base = table.base();
        if base.is_disabled {
            let index = base.name.clone().unwrap_or_default();
            return Err(SqlError::new(1974, &[&"table", &table.name, &index]));
        }
        Ok(())
    }
}
