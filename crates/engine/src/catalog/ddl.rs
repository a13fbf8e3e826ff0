//! DDL: new definitions, checked, written to the system tables and published; tables rebuilt when their shape changes.

use std::sync::Arc;

use access::BTreeKind;
use txn::LockMode;
use types::{Collation, SqlError, SqlType, Value};

use super::definition_rows::{difference, rows_of};
use super::new::{NewColumn, NewConstraint, NewForeignKey, NewIndex, NewTable};
use super::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{
    CheckDef, ColumnDef, DefaultDef, ForeignKeyDef, IndexColumn, IndexDef, IndexKind, ModuleDef, ModuleKind,
    ObjectDef, ObjectId, SchemaDef, TableDef,
};
use crate::table::Table;

/// The most columns a table may have.
const COLUMNS_MAX: usize = 1024;
/// The most columns an index key may have.
const KEY_COLUMNS_MAX: usize = 32;

impl Database {
    /// CREATE TABLE.
    ///
    /// # Errors
    /// 2714, 2705, 2760, 1779, 1902, 1911, 8110, 8111, 1702 and those of storage.
    pub fn create_table(self: &Arc<Self>, txn: &DbTransaction, new: &NewTable) -> SqlResult<Arc<TableDef>> {
        let schema_id =
            self.catalog().schema_id(&new.schema).ok_or_else(|| SqlError::new(2760, &[&new.schema]))?;
        self.check_name_free(txn, schema_id, &new.name)?;
        if new.columns.len() > COLUMNS_MAX {
            return Err(SqlError::new(1702, &[&new.name, &COLUMNS_MAX]));
        }
        let schema = self.catalog().schema(schema_id).map_or_else(|| "dbo".into(), |s| s.name.clone());
        let now = self.now();
        let mut table = TableDef {
            object_id: self.catalog().new_object_id(),
            schema_id,
            schema,
            name: new.name.as_str().into(),
            is_system: false,
            columns: Vec::new(),
            indexes: vec![heap_definition()],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            create_date: now,
            modify_date: now,
            next_column_id: 1,
        };
        txn.lock_object(table.object_id, LockMode::SchM)?;
        for column in &new.columns {
            self.append_column(&mut table, column)?;
        }
        for constraint in &new.constraints {
            self.append_constraint(&mut table, constraint)?;
        }
        for index in &new.indexes {
            append_index(&mut table, index, None)?;
        }
        self.make_units(txn, &mut table, |_| true)?;
        self.write_definition(txn, None, Some(ObjectDef::Table(Arc::new(table.clone()))))?;
        Ok(Arc::new(table))
    }

    /// DROP TABLE of a table found before.
    ///
    /// # Errors
    /// 3726 when another table refers to it; those of storage.
    pub fn drop_table(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<()> {
        let table = self.lock_for_change(txn, table.object_id)?;
        self.check_not_referenced(&table)?;
        self.drop_units(txn, &table.indexes)?;
        self.forget_identity(txn, table.object_id)?;
        self.write_definition(txn, Some(ObjectDef::Table(table)), None)
    }

    /// TRUNCATE TABLE: new, empty units in place of the old ones; the identity starts again.
    ///
    /// # Errors
    /// 4712 when another table refers to it; those of storage.
    pub fn truncate_table(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        if self.referencing_table(&old).is_some() {
            return Err(SqlError::new(4712, &[&old.name]));
        }
        let mut new = old.as_ref().clone();
        self.make_units(txn, &mut new, |_| true)?;
        self.drop_units(txn, &old.indexes)?;
        self.forget_identity(txn, old.object_id)?;
        self.write_definition(txn, Some(ObjectDef::Table(old)), Some(ObjectDef::Table(Arc::new(new))))
    }

    /// CREATE INDEX.
    ///
    /// # Errors
    /// 1505 on duplicate keys, 1902, 1911, 1913; those of storage.
    pub fn create_index(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        index: &NewIndex,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let mut new = old.as_ref().clone();
        append_index(&mut new, index, None)?;
        self.restructure(txn, &old, new, &|row| Ok(row.to_vec()))
    }

    /// DROP INDEX.
    ///
    /// # Errors
    /// 3701 when there is none, 3723 when a constraint owns it; those of storage.
    pub fn drop_index(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let wanted = old.indexes.iter().find(|i| i.name.as_ref().is_some_and(|n| same(n, name)));
        let shown = format!("{}.{name}", old.name);
        let Some(index) = wanted else { return Err(SqlError::new(3701, &[&"drop", &"index", &shown])) };
        if index.constraint_id != 0 {
            let kind = if index.primary_key { "PRIMARY KEY" } else { "UNIQUE KEY" };
            return Err(SqlError::new(3723, &[&shown, &kind]));
        }
        let mut new = old.as_ref().clone();
        remove_index(&mut new, index.index_id);
        self.restructure(txn, &old, new, &|row| Ok(row.to_vec()))
    }

    /// ALTER TABLE ADD column; `fill` gives the value for the rows that exist.
    ///
    /// # Errors
    /// 2705, 4901 when rows exist and the column needs a value; those of storage.
    pub fn add_column(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        column: &NewColumn,
        fill: &Value,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let mut new = old.as_ref().clone();
        self.append_column(&mut new, column)?;
        let needs_value =
            !column.nullable && column.identity.is_none() && column.computed.is_none() && fill.is_null();
        if needs_value && self.has_rows(txn, &old)? {
            return Err(SqlError::new(4901, &[&column.name, &old.name]));
        }
        let next = std::cell::Cell::new(column.identity.map(|i| i.seed));
        let extend = |row: &[Value]| {
            let mut longer = row.to_vec();
            longer.push(match (next.get(), column.identity) {
                (Some(value), Some(identity)) => {
                    next.set(Some(value + identity.increment));
                    crate::identity::value_of(value, &column.sql_type)?
                }
                _ => fill.clone(),
            });
            Ok(longer)
        };
        self.restructure(txn, &old, new, &extend)
    }

    /// ALTER TABLE DROP COLUMN.
    ///
    /// # Errors
    /// 4924 when there is none, 5074/4922 when something needs it; those of storage.
    pub fn drop_column(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let at = old
            .column_ordinal(name)
            .ok_or_else(|| SqlError::new(4924, &[&"DROP COLUMN", &name, &old.name]))?;
        if let Some(owner) = user_of_column(&old, at) {
            return Err(SqlError::new(4922, &[&"DROP COLUMN", &name, &owner]));
        }
        let mut new = old.as_ref().clone();
        new.columns.remove(at);
        for index in &mut new.indexes {
            index.key.iter_mut().for_each(|k| k.ordinal -= usize::from(k.ordinal > at));
            index.included.iter_mut().for_each(|ordinal| *ordinal -= usize::from(*ordinal > at));
        }
        let shorten = |row: &[Value]| {
            Ok(row.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v.clone()).collect())
        };
        self.restructure(txn, &old, new, &shorten)
    }

    /// ALTER TABLE ALTER COLUMN; `convert` turns an old value into one of the new type.
    ///
    /// # Errors
    /// 4924, 515 when a NULL meets NOT NULL, 5074/4922; those of `convert` and of storage.
    pub fn alter_column(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
        sql_type: &SqlType,
        nullable: bool,
        convert: &dyn Fn(&Value) -> SqlResult<Value>,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let at = old
            .column_ordinal(name)
            .ok_or_else(|| SqlError::new(4924, &[&"ALTER COLUMN", &name, &old.name]))?;
        let mut new = old.as_ref().clone();
        new.columns[at].sql_type = *sql_type;
        new.columns[at].nullable = nullable;
        let change = |row: &[Value]| {
            let mut changed = row.to_vec();
            changed[at] = convert(&row[at])?;
            if changed[at].is_null() && !nullable {
                return Err(SqlError::new(515, &[&name, &old.qualified_name(), &"UPDATE"]));
            }
            Ok(changed)
        };
        self.restructure(txn, &old, new, &change)
    }

    /// ALTER TABLE ADD CONSTRAINT. Whether existing rows satisfy a CHECK or FOREIGN KEY is the caller's to test.
    ///
    /// # Errors
    /// As CREATE TABLE; 1505 when a key finds duplicates.
    pub fn add_constraint(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        constraint: &NewConstraint,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let mut new = old.as_ref().clone();
        self.append_constraint(&mut new, constraint)?;
        self.restructure(txn, &old, new, &|row| Ok(row.to_vec()))
    }

    /// ALTER TABLE DROP CONSTRAINT.
    ///
    /// # Errors
    /// 3728 when there is none; those of storage.
    pub fn drop_constraint(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table.object_id)?;
        let mut new = old.as_ref().clone();
        let index = new
            .indexes
            .iter()
            .find(|i| i.constraint_id != 0 && i.name.as_ref().is_some_and(|n| same(n, name)));
        if let Some(index_id) = index.map(|i| i.index_id) {
            remove_index(&mut new, index_id);
        }
        new.checks.retain(|c| !same(&c.name, name));
        new.foreign_keys.retain(|f| !same(&f.name, name));
        for column in &mut new.columns {
            if column.default.as_ref().is_some_and(|d| same(&d.name, name)) {
                column.default = None;
            }
        }
        if new == *old {
            return Err(SqlError::new(3728, &[&name]));
        }
        self.restructure(txn, &old, new, &|row| Ok(row.to_vec()))
    }

    /// CREATE SCHEMA.
    ///
    /// # Errors
    /// 2714 when there is one of that name.
    pub fn create_schema(self: &Arc<Self>, txn: &DbTransaction, name: &str) -> SqlResult<()> {
        if self.catalog().schema_id(name).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let taken = self.catalog().schemas().iter().map(|s| s.schema_id).max().unwrap_or(0);
        let schema_id = taken.max(4) + 1;
        self.system_table(system_tables::SCHEMAS)
            .insert(txn, &[Value::Int(schema_id), Value::nvarchar(name)])?;
        let schema = Arc::new(SchemaDef { schema_id, name: name.into() });
        txn.note_catalog_change(self.catalog().put_schema(schema_id, Some(schema)));
        Ok(())
    }

    /// DROP SCHEMA.
    ///
    /// # Errors
    /// 15151 when there is none, 3729 when it is not empty.
    pub fn drop_schema(self: &Arc<Self>, txn: &DbTransaction, name: &str) -> SqlResult<()> {
        let id = self.catalog().schema_id(name).filter(|id| *id > 4);
        let id = id.ok_or_else(|| SqlError::new(15151, &[&"drop", &"schema", &name]))?;
        if let Some(inside) = self.catalog().objects().iter().find(|o| o.schema_id() == id) {
            return Err(SqlError::new(3729, &[&"DROP SCHEMA", &name, inside.name()]));
        }
        self.system_table(system_tables::SCHEMAS).delete_key(txn, &[Value::Int(id)])?;
        txn.note_catalog_change(self.catalog().put_schema(id, None));
        Ok(())
    }

    /// CREATE VIEW, PROCEDURE, FUNCTION or TRIGGER, or ALTER when `replace` names the one that exists.
    ///
    /// # Errors
    /// 2714, 2760; those of storage.
    #[allow(clippy::too_many_arguments, reason = "the parts of a module, each of its own type")]
    pub fn create_module(
        self: &Arc<Self>,
        txn: &DbTransaction,
        kind: ModuleKind,
        schema: &str,
        name: &str,
        definition: &str,
        quoted_identifier: bool,
        ansi_nulls: bool,
        replace: Option<&Arc<ModuleDef>>,
    ) -> SqlResult<ObjectId> {
        let schema_id = self.catalog().schema_id(schema).ok_or_else(|| SqlError::new(2760, &[&schema]))?;
        let object_id = match replace {
            Some(old) => old.object_id,
            None => {
                self.check_name_free(txn, schema_id, name)?;
                self.catalog().new_object_id()
            }
        };
        txn.lock_object(object_id, LockMode::SchM)?;
        let now = self.now();
        let module = ModuleDef {
            object_id,
            schema_id,
            schema: schema.into(),
            name: name.into(),
            kind,
            definition: definition.into(),
            quoted_identifier,
            ansi_nulls,
            parent_object_id: 0,
            create_date: replace.map_or(now, |old| old.create_date),
            modify_date: now,
        };
        self.write_definition(
            txn,
            replace.cloned().map(ObjectDef::Module),
            Some(ObjectDef::Module(Arc::new(module))),
        )?;
        Ok(object_id)
    }

    /// DROP VIEW, PROCEDURE, FUNCTION, TRIGGER.
    ///
    /// # Errors
    /// Those of storage.
    pub fn drop_module(self: &Arc<Self>, txn: &DbTransaction, module: &Arc<ModuleDef>) -> SqlResult<()> {
        txn.lock_object(module.object_id, LockMode::SchM)?;
        self.write_definition(txn, Some(ObjectDef::Module(module.clone())), None)
    }

    /// Locks a table for a change of its definition and gives the definition that holds under the lock.
    fn lock_for_change(&self, txn: &DbTransaction, object_id: ObjectId) -> SqlResult<Arc<TableDef>> {
        txn.lock_object(object_id, LockMode::SchM)?;
        match self.catalog().object(object_id) {
            Some(ObjectDef::Table(table)) => Ok(table),
            _ => Err(crate::error::stale_plan()),
        }
    }

    /// Nobody has the name; waits for a transaction that is just making or dropping such an object.
    fn check_name_free(&self, txn: &DbTransaction, schema_id: i32, name: &str) -> SqlResult<()> {
        let Some(schema) = self.catalog().schema(schema_id) else { return Ok(()) };
        if let Some(existing) = self.catalog().resolve(&schema.name, name) {
            txn.lock_object(existing, LockMode::SchS)?;
            if self.catalog().resolve(&schema.name, name).is_some() {
                return Err(SqlError::new(2714, &[&name]));
            }
        }
        Ok(())
    }

    /// Writes what differs between two definitions to the system tables and publishes the new one.
    fn write_definition(
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
        let undo = match (new, old) {
            (Some(new), _) => self.catalog().put(new),
            (None, Some(old)) => self.catalog().remove(old.object_id()),
            (None, None) => return Ok(()),
        };
        txn.note_catalog_change(undo);
        Ok(())
    }

    /// Brings a table from one shape to another. Units whose content stays as it is are kept; when the rows' home or their form changes,
    /// everything is built anew from the old rows.
    fn restructure(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: &Arc<TableDef>,
        mut new: TableDef,
        map: &dyn Fn(&[Value]) -> SqlResult<Vec<Value>>,
    ) -> SqlResult<()> {
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
        let fresh: Vec<i32> = new.indexes.iter().filter(|i| !is_kept(i)).map(|i| i.index_id).collect();
        self.make_units(txn, &mut new, |index| fresh.contains(&index.index_id))?;
        let new = Arc::new(new);
        if !fresh.is_empty() {
            let (source, target) = (self.table(old), self.unpublished_table(&new));
            let moves = fresh.contains(&new.base().index_id);
            let copied = source.for_each_located(txn, &mut |row, locator| match moves {
                true => target.insert(txn, &map(row)?),
                false => target.insert_entries(txn, row, locator, &fresh),
            });
            copied.map_err(duplicate_found)?;
        }
        let dropped: Vec<IndexDef> =
            old.indexes.iter().filter(|o| !new.indexes.iter().any(|n| n.unit == o.unit)).cloned().collect();
        self.drop_units(txn, &dropped)?;
        self.write_definition(txn, Some(ObjectDef::Table(old.clone())), Some(ObjectDef::Table(new)))
    }

    /// Makes empty units for the indexes that `wanted` names.
    fn make_units(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &mut TableDef,
        wanted: impl Fn(&IndexDef) -> bool,
    ) -> SqlResult<()> {
        for index in table.indexes.iter_mut().filter(|i| wanted(i)) {
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
        }
        Ok(())
    }

    fn drop_units(&self, txn: &DbTransaction, indexes: &[IndexDef]) -> SqlResult<()> {
        for index in indexes {
            self.access
                .drop_unit(txn.inner(), access::UnitId(index.unit))
                .map_err(|error| txn.sql_error(&error.into()))?;
        }
        Ok(())
    }

    fn has_rows(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<bool> {
        let mut any = false;
        self.table(table).for_each_row(txn, &mut |_| {
            any = true;
            Ok(())
        })?;
        Ok(any)
    }

    fn referencing_table(&self, table: &TableDef) -> Option<Arc<TableDef>> {
        self.catalog().objects().into_iter().find_map(|object| match object {
            ObjectDef::Table(other) if other.object_id != table.object_id => {
                let refers = other.foreign_keys.iter().any(|f| f.referenced_object_id == table.object_id);
                refers.then_some(other)
            }
            _ => None,
        })
    }

    fn check_not_referenced(&self, table: &TableDef) -> SqlResult<()> {
        match self.referencing_table(table) {
            Some(_) => Err(SqlError::new(3726, &[&table.name])),
            None => Ok(()),
        }
    }

    fn append_column(&self, table: &mut TableDef, column: &NewColumn) -> SqlResult<()> {
        if table.column_ordinal(&column.name).is_some() {
            return Err(SqlError::new(2705, &[&table.name, &column.name]));
        }
        if column.identity.is_some() && table.identity_ordinal().is_some() {
            return Err(SqlError::new(2744, &[&table.name]));
        }
        let column_id = table.next_column_id;
        table.next_column_id += 1;
        let default = column
            .default
            .as_ref()
            .map(|(name, text)| self.new_default(table, &column.name, name.as_deref(), text));
        table.columns.push(ColumnDef {
            column_id,
            name: column.name.as_str().into(),
            sql_type: column.sql_type,
            nullable: column.nullable && column.identity.is_none(),
            collation: column.collation,
            identity: column.identity,
            default,
            computed: column.computed.clone(),
            is_rowguidcol: column.is_rowguidcol,
        });
        Ok(())
    }

    fn new_default(&self, table: &TableDef, column: &str, name: Option<&str>, text: &str) -> DefaultDef {
        let object_id = self.catalog().new_object_id();
        let name_text =
            name.map_or_else(|| system_name("DF", &table.name, Some(column), object_id), str::to_string);
        DefaultDef { object_id, name: name_text.into(), text: text.into(), is_system_named: name.is_none() }
    }

    fn append_constraint(&self, table: &mut TableDef, constraint: &NewConstraint) -> SqlResult<()> {
        let given = match constraint {
            NewConstraint::Key { name, .. }
            | NewConstraint::Check { name, .. }
            | NewConstraint::Default { name, .. } => name,
            NewConstraint::Foreign(foreign) => &foreign.name,
        };
        if let Some(name) = given {
            let taken = self.catalog().resolve(&table.schema, name).is_some()
                || table.constraints().iter().any(|(_, n, _)| same(n, name));
            if taken {
                return Err(SqlError::new(2714, &[name]));
            }
        }
        let object_id = self.catalog().new_object_id();
        let named =
            |prefix: &str| given.clone().unwrap_or_else(|| system_name(prefix, &table.name, None, object_id));
        match constraint {
            NewConstraint::Key { primary, clustered, columns, .. } => {
                let name = named(if *primary { "PK" } else { "UQ" });
                append_key(table, &name, given.is_none(), object_id, *primary, *clustered, columns)
            }
            NewConstraint::Check { text, .. } => {
                let name = named("CK").into();
                table.checks.push(CheckDef {
                    object_id,
                    name,
                    text: text.as_str().into(),
                    is_system_named: given.is_none(),
                });
                Ok(())
            }
            NewConstraint::Default { column, text, name } => {
                let at = table
                    .column_ordinal(column)
                    .ok_or_else(|| SqlError::new(1752, &[column, &table.name]))?;
                if table.columns[at].default.is_some() {
                    return Err(SqlError::new(1781, &[]));
                }
                table.columns[at].default = Some(self.new_default(table, column, name.as_deref(), text));
                Ok(())
            }
            NewConstraint::Foreign(foreign) => {
                self.append_foreign_key(table, foreign, &named("FK"), object_id)
            }
        }
    }

    fn append_foreign_key(
        &self,
        table: &mut TableDef,
        foreign: &NewForeignKey,
        name: &str,
        object_id: ObjectId,
    ) -> SqlResult<()> {
        let of_self = foreign.referenced_object_id == table.object_id;
        let referenced = match self.catalog().object(foreign.referenced_object_id) {
            Some(ObjectDef::Table(referenced)) => referenced,
            _ if of_self => Arc::new(table.clone()),
            _ => return Err(SqlError::new(1767, &[&name])),
        };
        let ids = |table: &TableDef, names: &[String]| -> SqlResult<Vec<i32>> {
            let id = |column: &String| {
                let at = table
                    .column_ordinal(column)
                    .ok_or_else(|| SqlError::new(1769, &[&name, column, &table.name]))?;
                Ok(table.columns[at].column_id)
            };
            names.iter().map(id).collect()
        };
        table.foreign_keys.push(ForeignKeyDef {
            object_id,
            name: name.into(),
            column_ids: ids(table, &foreign.columns)?,
            referenced_object_id: referenced.object_id,
            referenced_column_ids: ids(&referenced, &foreign.referenced_columns)?,
            is_system_named: foreign.name.is_none(),
            delete_action: foreign.delete_action,
            update_action: foreign.update_action,
        });
        Ok(())
    }

    /// A handle to one of the system tables.
    pub(crate) fn system_table(self: &Arc<Self>, table: usize) -> Table {
        self.table(&self.system_definitions()[table])
    }
}

/// A duplicate key while an index is being built is an error of its own.
fn duplicate_found(error: SqlError) -> SqlError {
    match error.number {
        2627 | 2601 => SqlError::new(1505, &[&error.message]),
        _ => error,
    }
}

fn same(a: &str, b: &str) -> bool {
    Collation::DEFAULT.same_name(a, b)
}

/// Do the rows of the two columns look the same on disk?
fn same_storage(a: &ColumnDef, b: &ColumnDef) -> bool {
    a.column_id == b.column_id
        && a.sql_type == b.sql_type
        && a.nullable == b.nullable
        && a.collation == b.collation
}

fn heap_definition() -> IndexDef {
    IndexDef {
        index_id: 0,
        name: None,
        kind: IndexKind::Heap,
        unique: false,
        primary_key: false,
        unique_constraint: false,
        constraint_id: 0,
        is_system_named: true,
        key: Vec::new(),
        included: Vec::new(),
        unit: 0,
        root: pages::PageId::NULL,
    }
}

/// Adds an index to a definition; a clustered one takes the heap's place and makes every other one be built anew.
fn append_index(
    table: &mut TableDef,
    new: &NewIndex,
    constraint: Option<(ObjectId, bool, bool)>,
) -> SqlResult<()> {
    if table.indexes.iter().any(|i| i.name.as_ref().is_some_and(|n| same(n, &new.name))) {
        return Err(SqlError::new(1913, &[&new.name, &table.qualified_name()]));
    }
    if new.columns.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(1904, &[&new.name, &table.name, &new.columns.len()]));
    }
    let ordinal = |name: &String| table.column_ordinal(name).ok_or_else(|| SqlError::new(1911, &[name]));
    let mut key = Vec::with_capacity(new.columns.len());
    for (name, descending) in &new.columns {
        let ordinal = ordinal(name)?;
        if table.columns[ordinal].sql_type.max_length() == -1 {
            return Err(SqlError::new(1919, &[name, &table.name]));
        }
        if key.iter().any(|k: &IndexColumn| k.ordinal == ordinal) {
            return Err(SqlError::new(1909, &[name]));
        }
        key.push(IndexColumn { ordinal, descending: *descending });
    }
    let included = new.included.iter().map(ordinal).collect::<SqlResult<Vec<usize>>>()?;
    let next_id = table.indexes.iter().map(|i| i.index_id).max().unwrap_or(0).max(1) + 1;
    let (constraint_id, primary_key, is_system_named) = constraint.unwrap_or((0, false, false));
    let index = IndexDef {
        index_id: if new.clustered { 1 } else { next_id },
        name: Some(new.name.as_str().into()),
        kind: if new.clustered { IndexKind::Clustered } else { IndexKind::Nonclustered },
        unique: new.unique,
        primary_key,
        unique_constraint: constraint_id != 0 && !primary_key,
        constraint_id,
        is_system_named,
        key,
        included,
        unit: 0,
        root: pages::PageId::NULL,
    };
    if !new.clustered {
        table.indexes.push(index);
        return Ok(());
    }
    if !table.is_heap() {
        let existing = table.base().name.clone().unwrap_or_else(|| "".into());
        return Err(SqlError::new(1902, &[&table.name, &existing]));
    }
    table.indexes[0] = index;
    table.indexes[1..].iter_mut().for_each(|i| i.unit = 0);
    Ok(())
}

/// Takes an index out of a definition; without its clustered index the table is a heap again.
fn remove_index(table: &mut TableDef, index_id: i32) {
    if index_id == 1 {
        table.indexes[0] = heap_definition();
        table.indexes[1..].iter_mut().for_each(|i| i.unit = 0);
    } else {
        table.indexes.retain(|i| i.index_id != index_id);
    }
}

fn append_key(
    table: &mut TableDef,
    name: &str,
    is_system_named: bool,
    object_id: ObjectId,
    primary: bool,
    clustered: Option<bool>,
    columns: &[(String, bool)],
) -> SqlResult<()> {
    if primary && table.indexes.iter().any(|i| i.primary_key) {
        return Err(SqlError::new(1779, &[&table.name]));
    }
    if primary {
        for (column, _) in columns {
            let at = table.column_ordinal(column).ok_or_else(|| SqlError::new(1911, &[column]))?;
            table.columns[at].nullable = false;
        }
    }
    let clustered = clustered.unwrap_or(primary && table.is_heap());
    let index = NewIndex {
        name: name.to_string(),
        unique: true,
        clustered,
        columns: columns.to_vec(),
        included: Vec::new(),
    };
    append_index(table, &index, Some((object_id, primary, is_system_named)))
}

/// What keeps a column from being dropped.
fn user_of_column(table: &TableDef, ordinal: usize) -> Option<String> {
    let column = &table.columns[ordinal];
    if let Some(default) = &column.default {
        return Some(default.name.to_string());
    }
    let uses = |index: &&IndexDef| {
        index.key.iter().any(|k| k.ordinal == ordinal) || index.included.contains(&ordinal)
    };
    if let Some(index) = table.indexes.iter().find(uses) {
        return index.name.as_ref().map(|n| n.to_string());
    }
    let key = table.foreign_keys.iter().find(|f| f.column_ids.contains(&column.column_id))?;
    Some(key.name.to_string())
}

/// The name that the system gives a constraint: prefix, pieces of the table's and column's names, a number nobody else has.
fn system_name(prefix: &str, table: &str, column: Option<&str>, object_id: ObjectId) -> String {
    let cut = |text: &str, n: usize| text.chars().take(n).collect::<String>();
    match column {
        Some(column) => format!("{prefix}__{}__{}__{object_id:08X}", cut(table, 9), cut(column, 5)),
        None => format!("{prefix}__{}__{:016X}", cut(table, 9), i64::from(object_id)),
    }
}
