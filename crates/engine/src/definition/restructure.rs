//! Definition changes on disk: rows of the system tables, units created and dropped, rows copied when their format changes.

use std::sync::Arc;

use access::BTreeKind;
use txn::{LockMode, Resource};
use types::{SqlError, Value};

use super::shape::same_storage;
use crate::catalog::definition_rows::{difference, rows_of};
use crate::catalog::names::{NameKey, Reserve, key_of, schema_resource};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{IndexDef, IndexKind, ObjectDef, SCHEMA_INFORMATION, SCHEMA_SYS, SchemaDef, TableDef};
use crate::shared_lock::{Shared, settled};
use crate::table::{Builder, ScanOptions, Table};

/// A change of a table's shape in progress.
pub(super) struct Rebuild {
    pub(super) old: Arc<TableDef>,
    pub(super) new: Arc<TableDef>,
    /// Indexes whose units are new and empty.
    pub(super) fresh: Vec<i32>,
}

impl Rebuild {
    /// Do the rows move to another unit, or change their format?
    pub(super) fn moves_rows(&self) -> bool {
        self.fresh.contains(&self.new.base().index_id)
    }
}

impl Database {
    /// Locks an object of any kind for a change of its definition.
    ///
    /// # Errors
    /// 259 for a table of the catalog, whose root only the boot page names: with another root it is lost at the next start. 1205, 1222; the
    /// marker of a stale plan when another has changed it since it was found.
    pub fn lock_definition(&self, txn: &DbTransaction, found: &ObjectDef) -> SqlResult<()> {
        if matches!(found, ObjectDef::Table(table) if table.is_system) {
            return Err(SqlError::new(259, &[]));
        }
        let id = found.object_id();
        self.share_schema(txn, found.schema_id())?;
        txn.lock_object(id, LockMode::SchM)?;
        let present = self.catalog().object(id);
        let is_own = present.is_some() && self.catalog().is_changed_by(txn.inner().space().id(), id);
        match present {
            Some(present) if is_own || present.is_same(found) => {
                txn.leave_definition(id);
                Ok(())
            }
            _ => Err(SqlError::stale_plan()),
        }
    }

    /// Locks a table; returns its definition under the lock.
    pub(super) fn lock_for_change(
        &self,
        txn: &DbTransaction,
        found: &Arc<TableDef>,
    ) -> SqlResult<Arc<TableDef>> {
        self.lock_definition(txn, &ObjectDef::Table(found.clone()))?;
        match self.catalog().object(found.object_id) {
            Some(ObjectDef::Table(table)) => Ok(table),
            _ => Err(SqlError::stale_plan()),
        }
    }

    /// Locks a schema against a drop until the transaction ends. System schemas cannot be dropped.
    pub(super) fn share_schema(&self, txn: &DbTransaction, schema_id: i32) -> SqlResult<()> {
        if schema_id <= SCHEMA_SYS {
            return Ok(());
        }
        let resource = schema_resource(self.number(), schema_id);
        let locked = txn.inner().lock(resource, LockMode::SchS, txn.lock_wait());
        locked.map_err(|error| txn.sql_error(&error.into()))?;
        self.catalog().schema(schema_id).map(drop).ok_or_else(SqlError::stale_plan)
    }

    /// The schema for a new object, locked until the transaction ends. System schemas are refused.
    pub(super) fn schema_for(&self, txn: &DbTransaction, name: &str) -> SqlResult<Arc<SchemaDef>> {
        let owner = txn.inner().space().id();
        let found =
            settled(|held| self.catalog().look_schema(owner, held, name), |resource| txn.share(resource))?;
        let id = found.filter(|id| ![SCHEMA_SYS, SCHEMA_INFORMATION].contains(id));
        let id = id.ok_or_else(|| SqlError::new(2760, &[&name]))?;
        self.share_schema(txn, id)?;
        self.catalog().schema(id).ok_or_else(SqlError::stale_plan)
    }

    /// Reserves a name in a schema for an object that will be published under it. Waits for a transaction that is creating or dropping an object of
    /// that name. `resource`: on which the transaction holds Sch-M.
    ///
    /// # Errors
    /// 2714 when another object has the name.
    pub(super) fn reserve_name(
        &self,
        txn: &DbTransaction,
        schema_id: i32,
        name: &str,
        resource: Resource,
    ) -> SqlResult<()> {
        self.reserve(txn, key_of(schema_id, name), name, resource)
    }

    pub(super) fn reserve(
        &self,
        txn: &DbTransaction,
        key: NameKey,
        name: &str,
        resource: Resource,
    ) -> SqlResult<()> {
        let mut held = None;
        loop {
            let under = held.as_ref().map(|held: &(Resource, Shared)| held.0);
            match self.catalog().reserve(txn.change_under(resource), under, key.clone()) {
                Reserve::Reserved(undo) => {
                    txn.note_catalog_change(undo);
                    return Ok(());
                }
                Reserve::Taken => return Err(SqlError::new(2714, &[&name])),
                Reserve::Unsettled(resource) => {
                    drop(held.take());
                    held = Some((resource, txn.share(resource)?));
                }
            }
        }
    }

    /// Writes the difference between two definitions to the system tables and publishes the new one.
    pub(super) fn write_definition(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: Option<ObjectDef>,
        new: Option<ObjectDef>,
    ) -> SqlResult<()> {
        let old_rows = old.as_ref().map(rows_of).unwrap_or_default();
        let new_rows = new.as_ref().map(rows_of).unwrap_or_default();
        let (gone, added) = difference(&old_rows, &new_rows);
        for (table, row) in &gone {
            let system = self.system_table(*table);
            let key_columns = system.definition().base().key.len();
            system.delete_key(txn, &row[..key_columns])?;
        }
        for (table, row) in &added {
            self.system_table(*table).insert(txn, row)?;
        }
        self.forget_properties_between(txn, old.as_ref(), new.as_ref())?;
        self.forget_statistics_between(txn, old.as_ref(), new.as_ref())?;
        let change = |object: &ObjectDef| txn.change_under(txn.object_resource(object.object_id()));
        let undo = match (new, old) {
            (Some(new), _) => self.catalog().put(change(&new), new)?,
            (None, Some(old)) => self.catalog().remove(change(&old), old.object_id())?,
            (None, None) => return Ok(()),
        };
        txn.note_catalog_change(undo);
        Ok(())
    }

    /// Changes the definition of a table whose rows stay as they are.
    pub(super) fn change_definition(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        change: impl FnOnce(&mut TableDef) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        let mut new = old.as_ref().clone();
        change(&mut new)?;
        self.restructure(txn, &old, new, &|row| Ok(row.to_vec()))
    }

    /// Changes a table from one shape to another. Units with unchanged content are kept; when the rows' unit or format changes,
    /// everything is built anew from the old rows.
    pub(super) fn restructure(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: &Arc<TableDef>,
        new: TableDef,
        map: &dyn Fn(&[Value]) -> SqlResult<Vec<Value>>,
    ) -> SqlResult<()> {
        let rebuild = self.begin_rebuild(txn, old, new)?;
        if !rebuild.fresh.is_empty() {
            let (source, target) = (self.table(old), self.unpublished_table(&rebuild.new));
            let moves = rebuild.moves_rows();
            target.lock_for_write(txn)?;
            let mut builder = Builder::new(txn, &target, &rebuild.fresh);
            let wanted =
                if moves { (0..old.columns.len()).collect() } else { target.columns_of(&rebuild.fresh) };
            let copied = source.for_each_located(txn, &wanted, &mut |row, locator| match moves {
                true => builder.add_row(txn, &map(row)?),
                false => builder.add_entries(txn, row, locator),
            });
            copied.and_then(|()| builder.finish(txn)).map_err(|error| target.while_building(error))?;
        }
        self.end_rebuild(txn, rebuild)
    }

    /// Creates the empty units that the new shape needs and the old one does not have.
    pub(super) fn begin_rebuild(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: &Arc<TableDef>,
        mut new: TableDef,
    ) -> SqlResult<Rebuild> {
        new.modify_date = self.now();
        let same_rows = old.columns.len() == new.columns.len()
            && old.columns.iter().zip(&new.columns).all(|(a, b)| same_storage(a, b));
        let same_home = same_rows
            && old.base().kind == new.base().kind
            && old.base().key == new.base().key
            && old.base().unit == new.base().unit;
        let is_kept = |index: &IndexDef| {
            same_home && index.unit != 0 && old.indexes.iter().any(|o| o.unit == index.unit)
        };
        let to_build = new.indexes.iter().filter(|i| i.has_unit() && !is_kept(i));
        let fresh: Vec<i32> = to_build.map(|i| i.index_id).collect();
        self.make_units(txn, &mut new, |index| fresh.contains(&index.index_id))?;
        Ok(Rebuild { old: old.clone(), new: Arc::new(new), fresh })
    }

    /// The new units are filled: drops the units that only the old shape used, and publishes the new shape.
    pub(super) fn end_rebuild(self: &Arc<Self>, txn: &DbTransaction, rebuild: Rebuild) -> SqlResult<()> {
        let Rebuild { old, new, .. } = rebuild;
        let dropped: Vec<IndexDef> =
            old.indexes.iter().filter(|o| !new.indexes.iter().any(|n| n.unit == o.unit)).cloned().collect();
        self.drop_units(txn, &dropped)?;
        self.write_definition(txn, Some(ObjectDef::Table(old)), Some(ObjectDef::Table(new)))
    }

    /// Creates empty units for the indexes that `wanted` names; disabled ones have none.
    pub(super) fn make_units(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &mut TableDef,
        wanted: impl Fn(&IndexDef) -> bool,
    ) -> SqlResult<()> {
        for index in table.indexes.iter_mut().filter(|i| i.has_unit() && wanted(i)) {
            index.unit = self.catalog().new_unit();
            let unit = access::UnitId(index.unit);
            let made = match index.kind {
                IndexKind::Heap => self.access.create_heap(txn.inner(), unit),
                IndexKind::Clustered => self.access.create_btree(txn.inner(), unit, BTreeKind::Clustered),
                IndexKind::Nonclustered => {
                    self.access.create_btree(txn.inner(), unit, BTreeKind::Nonclustered)
                }
            };
            index.root = made.map_err(|error| txn.sql_error(&error.into()))?;
            self.row_counts.begin(index.unit);
            txn.row_counts.borrow_mut().note_begun(index.unit);
        }
        Ok(())
    }

    pub(super) fn drop_units(&self, txn: &DbTransaction, indexes: &[IndexDef]) -> SqlResult<()> {
        for index in indexes.iter().filter(|index| index.has_unit()) {
            self.access
                .drop_unit(txn.inner(), access::UnitId(index.unit))
                .map_err(|error| txn.sql_error(&error.into()))?;
            txn.row_counts.borrow_mut().note_dropped(index.unit);
        }
        Ok(())
    }

    pub(super) fn has_rows(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<bool> {
        let options = ScanOptions { isolation: txn.isolation(), ..ScanOptions::default() };
        let mut cursor = self.table(table).scan(txn, table.base().index_id, &options, None)?;
        cursor.next(txn, &mut Vec::new())
    }

    /// A handle to one of the system tables.
    pub(crate) fn system_table(self: &Arc<Self>, table: usize) -> Table {
        self.table(&self.system_definitions()[table])
    }
}
