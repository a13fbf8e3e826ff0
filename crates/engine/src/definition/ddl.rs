//! DDL: new definitions are checked, written to the system tables and published; tables are rebuilt when their shape changes.

use std::borrow::Cow;
use std::sync::Arc;

use txn::LockMode;
use types::{SqlError, SqlType, Value};

use super::fill::ColumnFill;
use super::new::{ColumnProperty, NewColumn, NewConstraint, NewIndex, NewTable};
use super::shape::{
    append_index, check_row_size, grows_in_place, heap_definition, remove_constraint, remove_index,
    replace_index, same, users_against_change, users_of_column,
};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{IndexDef, ObjectDef, TableDef};

/// The most columns a table may have.
const COLUMNS_MAX: usize = 1024;

impl Database {
    /// CREATE TABLE.
    ///
    /// # Errors
    /// 2714, 2705, 2760, 1701, 1902, 1911, 1944, 8110, 8111, 8112, 1702 and those of storage.
    pub fn create_table(self: &Arc<Self>, txn: &DbTransaction, new: &NewTable) -> SqlResult<Arc<TableDef>> {
        let schema = self.schema_for(txn, &new.schema)?;
        let object_id = self.catalog().new_object_id();
        txn.lock_object(object_id, LockMode::SchM)?;
        let reserved = self.reserve_name(txn, schema.schema_id, &new.name, txn.object_resource(object_id));
        reserved.map_err(|error| if error.number == 2714 { error.with_state(6) } else { error })?;
        if new.columns.len() > COLUMNS_MAX {
            return Err(SqlError::new(1702, &[&new.columns[COLUMNS_MAX].name, &new.name, &COLUMNS_MAX]));
        }
        check_keys(new)?;
        let now = self.now();
        let mut table = TableDef {
            object_id,
            schema_id: schema.schema_id,
            schema: schema.name.clone(),
            name: new.name.as_str().into(),
            is_system: false,
            ansi_nulls: new.ansi_nulls,
            columns: Vec::new(),
            indexes: vec![heap_definition()],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            create_date: now,
            modify_date: now,
            next_column_id: 1,
        };
        for column in &new.columns {
            self.append_column(txn, &mut table, column)?;
        }
        check_row_size(&table)?;
        // Foreign keys are added last: they may refer to a key of the table itself.
        let (foreign, own): (Vec<_>, Vec<_>) =
            new.constraints.iter().partition(|constraint| matches!(constraint, NewConstraint::Foreign(_)));
        for constraint in own {
            self.append_constraint(txn, &mut table, &beside_clustered(constraint, new))?;
        }
        for index in &new.indexes {
            append_index(&mut table, index, None)?;
        }
        for constraint in foreign {
            self.append_constraint(txn, &mut table, constraint)?;
        }
        self.touch_referenced(txn, &[], &table.foreign_keys)?;
        self.make_units(txn, &mut table, |_| true)?;
        if table.identity_ordinal().is_some() {
            // A rolled-back table may have left a record under its number, which may be this one's after a restart.
            self.forget_identity(txn, object_id)?;
        }
        let table = Arc::new(table);
        self.write_definition(txn, None, Some(ObjectDef::Table(table.clone())))?;
        Ok(table)
    }

    /// DROP TABLE of a table found before.
    ///
    /// # Errors
    /// 3726 when another table refers to it; those of storage.
    pub fn drop_table(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<()> {
        let table = self.lock_for_change(txn, table)?;
        self.check_not_referenced(&table)?;
        self.drop_units(txn, &table.indexes)?;
        self.forget_identity(txn, table.object_id)?;
        self.touch_referenced(txn, &table.foreign_keys, &[])?;
        self.drop_triggers_of(txn, table.object_id)?;
        self.write_definition(txn, Some(ObjectDef::Table(table)), None)
    }

    /// TRUNCATE TABLE: new, empty units replace the old ones; the identity starts again.
    ///
    /// # Errors
    /// 4712 when another table refers to it; those of storage.
    pub fn truncate_table(self: &Arc<Self>, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        if self.referencing_table(&old).is_some() {
            return Err(SqlError::new(4712, &[&old.name]));
        }
        let mut new = old.as_ref().clone();
        self.make_units(txn, &mut new, |_| true)?;
        self.drop_units(txn, &old.indexes)?;
        self.forget_identity(txn, old.object_id)?;
        self.forget_sample_percents(txn, &old)?;
        self.write_definition(txn, Some(ObjectDef::Table(old)), Some(ObjectDef::Table(Arc::new(new))))
    }

    /// CREATE INDEX.
    ///
    /// # Errors
    /// 1505 on duplicate keys, 1902, 1909, 1911, 1913, 1987, 1999; 3723, 7999 of one to be replaced; those of storage.
    pub fn create_index(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        index: &NewIndex,
    ) -> SqlResult<()> {
        self.change_definition(txn, table, |new| match index.replaces {
            true => {
                self.check_index_is_free(new, &index.name)?;
                replace_index(new, index)
            }
            false => append_index(new, index, None),
        })
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
        self.change_definition(txn, table, |new| {
            let shown = format!("{}.{name}", new.name);
            let Some(index) = new.index_named(name) else {
                return Err(SqlError::new(3701, &[&"drop", &"index", &shown]));
            };
            let index_id = index.index_id;
            self.check_index_is_free(new, name)?;
            remove_index(new, index_id);
            Ok(())
        })
    }

    /// Checks that no constraint owns the index. Error 3723.
    fn check_index_is_free(&self, table: &TableDef, name: &str) -> SqlResult<()> {
        let Some(index) = table.index_named(name) else { return Ok(()) };
        let shown = format!("{}.{name}", table.name);
        if index.constraint_id != 0 {
            let kind = if index.primary_key { "PRIMARY KEY" } else { "UNIQUE KEY" };
            return Err(SqlError::new(3723, &[&shown, &kind]));
        }
        if self.foreign_key_on(table, index).is_some() {
            return Err(SqlError::new(3723, &[&shown, &"FOREIGN KEY"]));
        }
        Ok(())
    }

    /// Begins ALTER TABLE ADD column: the caller then gives each existing row its value (see [`ColumnFill`]). `has_fill`: the caller has a value
    /// other than NULL.
    ///
    /// # Errors
    /// 1701, 2705, 4901 when rows exist and the column needs a value; those of storage.
    pub fn add_column(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        column: &NewColumn,
        has_fill: bool,
    ) -> SqlResult<ColumnFill> {
        let old = self.lock_for_change(txn, table)?;
        self.check_rows_in_use(&old)?;
        let mut new = old.as_ref().clone();
        self.append_column(txn, &mut new, column)?;
        check_row_size(&new)?;
        let needs_value = !column.nullable && column.identity.is_none() && !has_fill;
        if needs_value && self.has_rows(txn, &old)? {
            return Err(SqlError::new(4901, &[&column.name, &old.name]));
        }
        let rebuild = self.begin_rebuild(txn, &old, new)?;
        ColumnFill::begin(self, txn, rebuild, column)
    }

    /// ALTER TABLE DROP COLUMN.
    ///
    /// # Errors
    /// 4924 when there is none, 4923 when it is the only one with data, 5074/4922 when something depends on it: also `named`, the CHECKs and computed
    /// columns of `table` that name it; those of storage.
    pub fn drop_column(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
        named: Vec<SqlError>,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        check_texts_stand(&old, table)?;
        self.check_rows_in_use(&old)?;
        let at = old
            .column_ordinal(name)
            .ok_or_else(|| SqlError::new(4924, &[&"ALTER TABLE DROP COLUMN", &name, &old.name]))?;
        let is_other_data =
            |(other, column): (usize, &crate::schema::ColumnDef)| other != at && column.computed.is_none();
        if old.columns[at].computed.is_none() && !old.columns.iter().enumerate().any(is_other_data) {
            return Err(SqlError::new(4923, &[&name, &old.name]));
        }
        let mut users = users_of_column(&old, at);
        users.extend(self.users_statistics_on(&old, at));
        users.extend(self.foreign_keys_to(&old, old.columns[at].column_id));
        users.extend(named);
        if !users.is_empty() {
            let error = SqlError::new(4922, &[&"ALTER TABLE DROP COLUMN", &name]);
            return Err(error.after_all(users));
        }
        let mut new = old.as_ref().clone();
        new.columns.remove(at);
        for index in &mut new.indexes {
            index.key.iter_mut().for_each(|k| k.ordinal -= usize::from(k.ordinal > at));
            index.included.iter_mut().for_each(|ordinal| *ordinal -= usize::from(*ordinal > at));
            let terms = index.filter.iter_mut().flat_map(|filter| &mut filter.terms);
            terms.for_each(|term| term.ordinal -= usize::from(term.ordinal > at));
        }
        let shorten = |row: &[Value]| {
            Ok(row.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v.clone()).collect())
        };
        self.restructure(txn, &old, new, &shorten)
    }

    /// ALTER TABLE ALTER COLUMN; `convert` turns an old value into one of the new type.
    ///
    /// # Errors
    /// 1701, 4924, 4928, 515 when a NULL meets NOT NULL, 5074/4922 (also for `named`, the CHECKs and computed columns of `table` that name it and
    /// do not allow the change); those of `convert` and of storage.
    pub fn alter_column(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
        (sql_type, user_type_id, nullable): (&SqlType, i32, bool),
        named: Vec<SqlError>,
        convert: &dyn Fn(&Value) -> SqlResult<Value>,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        check_texts_stand(&old, table)?;
        let at = old
            .column_ordinal(name)
            .ok_or_else(|| SqlError::new(4924, &[&"ALTER TABLE ALTER COLUMN", &name, &old.name]))?;
        self.share_type(txn, user_type_id)?;
        self.check_rows_in_use(&old)?;
        let column = &old.columns[at];
        let fixed = match column {
            _ if column.computed.is_some() => Some("COMPUTED"),
            _ if column.sql_type == SqlType::RowVersion => Some("timestamp"),
            _ if column.is_rowguidcol && column.sql_type != *sql_type => Some("ROWGUIDCOL"),
            _ => None,
        };
        if let Some(what) = fixed {
            return Err(SqlError::new(4928, &[&name, &what]));
        }
        let mut against = users_against_change(&old, at, sql_type, nullable);
        if (column.sql_type, column.nullable) != (*sql_type, nullable)
            && !grows_in_place(&column.sql_type, sql_type)
        {
            against.extend(self.users_statistics_on(&old, at));
        }
        if column.sql_type != *sql_type {
            against.extend(self.foreign_keys_to(&old, column.column_id));
        }
        against.extend(named);
        if !against.is_empty() {
            let error = SqlError::new(4922, &[&"ALTER TABLE ALTER COLUMN", &name]);
            return Err(error.after_all(against));
        }
        let mut new = old.as_ref().clone();
        new.columns[at].sql_type = *sql_type;
        new.columns[at].user_type_id = user_type_id;
        new.columns[at].nullable = nullable;
        check_row_size(&new)?;
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

    /// ALTER TABLE ALTER COLUMN ... ADD or DROP of a property.
    ///
    /// # Errors
    /// 2761, 4924, 4925, 4926, 4991; those of storage.
    pub fn set_column_property(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
        (property, is_on): (ColumnProperty, bool),
    ) -> SqlResult<()> {
        self.change_definition(txn, table, |new| {
            let at = new
                .column_ordinal(name)
                .ok_or_else(|| SqlError::new(4924, &[&"ALTER TABLE ALTER COLUMN", &name, &new.name]))?;
            let table = new.name.clone();
            let has_rowguidcol = new.columns.iter().any(|column| column.is_rowguidcol);
            let column = &mut new.columns[at];
            match property {
                ColumnProperty::RowGuid if is_on => {
                    if column.sql_type != SqlType::UniqueIdentifier || column.computed.is_some() {
                        return Err(SqlError::new(2761, &[]));
                    }
                    if has_rowguidcol {
                        return Err(SqlError::new(4925, &[&table]));
                    }
                    column.is_rowguidcol = true;
                }
                ColumnProperty::RowGuid => {
                    if !column.is_rowguidcol {
                        return Err(SqlError::new(4926, &[&name]));
                    }
                    column.is_rowguidcol = false;
                }
                ColumnProperty::NotForReplication => match &mut column.identity {
                    Some(identity) => identity.is_not_for_replication = is_on,
                    None => return Err(SqlError::new(4991, &[&name, &table])),
                },
            }
            Ok(())
        })
    }

    /// ALTER TABLE ADD CONSTRAINT. The caller tests whether existing rows satisfy a CHECK or FOREIGN KEY.
    ///
    /// # Errors
    /// As CREATE TABLE; 1505 when a key finds duplicates.
    pub fn add_constraint(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        constraint: &NewConstraint,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        self.check_rows_in_use(&old)?;
        self.change_definition(txn, table, |new| {
            self.append_constraint(txn, new, constraint)?;
            self.touch_referenced(txn, &old.foreign_keys, &new.foreign_keys)
        })
    }

    /// ALTER TABLE DROP CONSTRAINT.
    ///
    /// # Errors
    /// 3728 when there is none, 3725 when a foreign key depends on it; those of storage.
    pub fn drop_constraint(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        name: &str,
    ) -> SqlResult<()> {
        let old = self.lock_for_change(txn, table)?;
        self.change_definition(txn, table, |new| {
            let is_named =
                |i: &&IndexDef| i.constraint_id != 0 && i.name.as_ref().is_some_and(|n| same(n, name));
            if let Some(index) = new.indexes.iter().find(is_named)
                && let Some((other, key)) = self.foreign_key_on(new, index)
            {
                return Err(SqlError::new(3725, &[&name, &other, &key]));
            }
            remove_constraint(new, name)?;
            self.touch_referenced(txn, &old.foreign_keys, &new.foreign_keys)
        })
    }
}

/// The CHECKs and computed columns that name a column were searched before the lock: have they changed since?
fn check_texts_stand(now: &TableDef, then: &TableDef) -> SqlResult<()> {
    let is_same = now.checks == then.checks && now.columns == then.columns;
    if is_same { Ok(()) } else { Err(SqlError::stale_plan()) }
}

/// A primary key without a specified kind is nonclustered if another key or index of the new table is specified as clustered.
fn beside_clustered<'c>(constraint: &'c NewConstraint, new: &NewTable) -> Cow<'c, NewConstraint> {
    let is_clustered = |one: &NewConstraint| matches!(one, NewConstraint::Key { clustered: Some(true), .. });
    let has_clustered =
        new.indexes.iter().any(|index| index.clustered) || new.constraints.iter().any(is_clustered);
    match constraint {
        NewConstraint::Key { primary: true, clustered: None, .. } if has_clustered => {
            let mut key = constraint.clone();
            if let NewConstraint::Key { clustered, .. } = &mut key {
                *clustered = Some(false);
            }
            Cow::Owned(key)
        }
        _ => Cow::Borrowed(constraint),
    }
}

/// A table has one primary key and at most one clustered constraint: 8110, 8112.
fn check_keys(new: &NewTable) -> SqlResult<()> {
    let keys = new.constraints.iter().filter_map(|constraint| match constraint {
        NewConstraint::Key { primary, clustered, .. } => Some((*primary, *clustered)),
        _ => None,
    });
    let keys: Vec<(bool, Option<bool>)> = keys.collect();
    if keys.iter().filter(|key| key.0).count() > 1 {
        return Err(SqlError::new(8110, &[&new.name]));
    }
    if keys.iter().filter(|key| key.1 == Some(true)).count() > 1 {
        return Err(SqlError::new(8112, &[&new.name]));
    }
    Ok(())
}
