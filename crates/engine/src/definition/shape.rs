//! The shape of a table under DDL: columns, keys, constraints and indexes of a definition, checked before anything is written.

use access::ROW_BYTES_MAX;
use types::{Collation, SqlError, SqlType};

use super::new::{NewColumn, NewConstraint, NewFilter, NewIndex};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::filter::{FilterTerm, FilterTest, IndexFilter};
use crate::index_settings::IndexSettings;
use crate::index_uses::IndexUses;
use crate::schema::{
    CheckDef, ColumnDef, ConstraintState, DefaultDef, IndexColumn, IndexDef, IndexKind, ObjectId, TableDef,
};

/// The most columns an index key may have.
const KEY_COLUMNS_MAX: usize = 32;

/// State of 2714 when a constraint's name is taken.
pub const CONSTRAINT_NAME_TAKEN: u8 = 5;

/// Bytes at the head of each row and for the number of its columns, as SQL Server counts them.
const ROW_HEAD_BYTES: usize = 6;

/// The smallest row of the table, with empty variable-length columns, must fit into a page: 1701. Sizes are counted as in SQL Server, whose rows are
/// a few bytes longer than those here, so that both accept the same definitions.
pub(super) fn check_row_size(table: &TableDef) -> SqlResult<()> {
    let stored = || table.columns.iter().filter(|column| !column.is_made_when_read());
    let is_fixed = |sql_type: &SqlType| access::fixed_bytes(sql_type).is_some();
    let bits = stored().filter(|column| column.sql_type == SqlType::Bit).count();
    let fixed: usize = stored()
        .filter(|column| column.sql_type != SqlType::Bit && is_fixed(&column.sql_type))
        .map(|column| usize::try_from(column.sql_type.max_length()).unwrap_or(0))
        .sum();
    let variable = stored().filter(|column| !is_fixed(&column.sql_type)).count();
    let ends = if variable == 0 { 0 } else { 2 + 2 * variable };
    let overhead = ROW_HEAD_BYTES + stored().count().div_ceil(8) + ends;
    let bytes = fixed + bits.div_ceil(8) + overhead;
    if bytes <= ROW_BYTES_MAX {
        return Ok(());
    }
    Err(SqlError::new(1701, &[&table.name, &bytes, &overhead, &ROW_BYTES_MAX]))
}

impl Database {
    pub(super) fn append_column(
        &self,
        txn: &DbTransaction,
        table: &mut TableDef,
        column: &NewColumn,
    ) -> SqlResult<()> {
        if table.column_ordinal(&column.name).is_some() {
            return Err(SqlError::new(2705, &[&column.name, &table.name]));
        }
        if column.identity.is_some() && table.identity_ordinal().is_some() {
            return Err(SqlError::new(2744, &[&table.name]));
        }
        if column.is_rowguidcol && table.columns.iter().any(|other| other.is_rowguidcol) {
            return Err(SqlError::new(8196, &[]));
        }
        self.share_type(txn, column.user_type_id)?;
        let column_id = table.next_column_id;
        table.next_column_id += 1;
        let default = column
            .default
            .as_ref()
            .map(|(name, text)| self.new_default(txn, table, &column.name, name.as_deref(), text))
            .transpose()?;
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
            user_type_id: column.user_type_id,
        });
        Ok(())
    }

    fn new_default(
        &self,
        txn: &DbTransaction,
        table: &TableDef,
        column: &str,
        name: Option<&str>,
        text: &str,
    ) -> SqlResult<DefaultDef> {
        let object_id = self.catalog().new_object_id();
        self.take_constraint_name(txn, table, name)?;
        let name_text =
            name.map_or_else(|| system_name("DF", &table.name, Some(column), object_id), str::to_string);
        Ok(DefaultDef {
            object_id,
            name: name_text.into(),
            text: text.into(),
            is_system_named: name.is_none(),
        })
    }

    /// Reserves the user's name of a constraint. Error 2714. Generated names contain a unique number.
    fn take_constraint_name(
        &self,
        txn: &DbTransaction,
        table: &TableDef,
        name: Option<&str>,
    ) -> SqlResult<()> {
        let Some(name) = name else { return Ok(()) };
        let is_taken = same(&table.name, name) || table.constraints().iter().any(|(_, n, _)| same(n, name));
        if is_taken {
            return Err(SqlError::new(2714, &[&name]).with_state(CONSTRAINT_NAME_TAKEN));
        }
        let reserved = self.reserve_name(txn, table.schema_id, name, txn.object_resource(table.object_id));
        reserved.map_err(|error| match error.number {
            2714 => error.with_state(CONSTRAINT_NAME_TAKEN),
            _ => error,
        })
    }

    pub(super) fn append_constraint(
        &self,
        txn: &DbTransaction,
        table: &mut TableDef,
        constraint: &NewConstraint,
    ) -> SqlResult<()> {
        let given = match constraint {
            NewConstraint::Key { name, .. }
            | NewConstraint::Check { name, .. }
            | NewConstraint::Default { name, .. } => name,
            NewConstraint::Foreign(foreign) => &foreign.name,
        };
        // A default reserves its name itself.
        if !matches!(constraint, NewConstraint::Default { .. }) {
            self.take_constraint_name(txn, table, given.as_deref())?;
        }
        let object_id = self.catalog().new_object_id();
        let named =
            |prefix: &str| given.clone().unwrap_or_else(|| system_name(prefix, &table.name, None, object_id));
        match constraint {
            NewConstraint::Key { primary, clustered, columns, settings, .. } => {
                let name = named(if *primary { "PK" } else { "UQ" });
                let key = (*primary, *clustered, *settings);
                append_key(table, &name, given.is_none(), object_id, key, columns)
            }
            NewConstraint::Check { text, is_not_trusted, is_not_for_replication, .. } => {
                let name = named("CK").into();
                table.checks.push(CheckDef {
                    object_id,
                    name,
                    text: text.as_str().into(),
                    is_system_named: given.is_none(),
                    state: ConstraintState::of_new(*is_not_trusted, *is_not_for_replication),
                });
                Ok(())
            }
            NewConstraint::Default { column, text, name } => {
                let at = table
                    .column_ordinal(column)
                    .ok_or_else(|| SqlError::new(1752, &[column, &table.name]))?;
                let found = &table.columns[at];
                if found.default.is_some() {
                    return Err(SqlError::new(1781, &[]));
                }
                if found.identity.is_some() || found.sql_type == SqlType::RowVersion {
                    let number = if found.identity.is_some() { 1754 } else { 1755 };
                    return Err(SqlError::new(number, &[&table.name, column]));
                }
                let default = self.new_default(txn, table, column, name.as_deref(), text)?;
                table.columns[at].default = Some(default);
                Ok(())
            }
            NewConstraint::Foreign(foreign) => {
                self.append_foreign_key(table, foreign, &named("FK"), object_id)
            }
        }
    }
}

pub(super) fn same(a: &str, b: &str) -> bool {
    Collation::DEFAULT.same_name(a, b)
}

/// Have both columns the same storage format?
pub(super) fn same_storage(a: &ColumnDef, b: &ColumnDef) -> bool {
    a.column_id == b.column_id
        && a.sql_type == b.sql_type
        && a.nullable == b.nullable
        && a.collation == b.collation
}

pub(super) fn heap_definition() -> IndexDef {
    IndexDef::heap()
}

impl IndexDef {
    /// The heap of a new table, without pages.
    pub fn heap() -> IndexDef {
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
            filter: None,
            is_disabled: false,
            settings: IndexSettings::default(),
            unit: 0,
            root: pages::PageId::NULL,
            uses: IndexUses::default(),
        }
    }
}

/// IGNORE_DUP_KEY is only for unique indexes without a filter. Errors 1916, 10618.
fn check_duplicates_option(table: &TableDef, new: &NewIndex) -> SqlResult<()> {
    match &new.filter {
        _ if !new.settings.ignore_dup_key => Ok(()),
        Some(_) => Err(SqlError::new(10618, &[&"create", &new.name, &table.name])),
        None if !new.unique => Err(SqlError::new(1916, &[])),
        None => Ok(()),
    }
}

/// Adds an index to a definition; a clustered one replaces the heap and causes a rebuild of every other one.
pub(super) fn append_index(
    table: &mut TableDef,
    new: &NewIndex,
    constraint: Option<(ObjectId, bool, bool)>,
) -> SqlResult<()> {
    if table.index_named(&new.name).is_some() {
        return Err(SqlError::new(1913, &[&new.name, &table.qualified_name()]));
    }
    if table.base().is_disabled {
        let shown: [&dyn std::fmt::Display; 6] =
            [&"create", &"index", &new.name, &"table", &table.name, &"clustered index"];
        return Err(SqlError::new(1987, &shown));
    }
    if new.columns.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(1904, &[&new.name, &table.name, &new.columns.len(), &KEY_COLUMNS_MAX]));
    }
    check_duplicates_option(table, new)?;
    let key = key_columns(table, new)?;
    let included = included_columns(table, new, &key)?;
    let filter = new.filter.as_ref().map(|filter| resolved(table, filter)).transpose()?;
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
        filter,
        is_disabled: false,
        settings: new.settings,
        unit: 0,
        root: pages::PageId::NULL,
        uses: IndexUses::default(),
    };
    // If the fixed-length columns are too long, no row could ever be inserted.
    let (limit, fixed) = (index.key_bytes_max(), index.fixed_key_bytes(table));
    if fixed > limit {
        return Err(SqlError::new(1944, &[&new.name, &fixed, &limit]));
    }
    if !new.clustered {
        table.indexes.push(index);
        return Ok(());
    }
    if !table.is_heap() {
        let existing = table.base().name.clone().unwrap_or_else(|| "".into());
        return Err(SqlError::new(1902, &[&table.name, &existing]));
    }
    assert!(index.filter.is_none(), "a clustered index has every row");
    table.indexes[0] = index;
    for other in &mut table.indexes[1..] {
        other.unit = 0;
        // A new clustered index rebuilds every other one, also disabled ones; DROP_EXISTING leaves these disabled.
        other.is_disabled &= new.replaces;
    }
    Ok(())
}

/// An index cannot contain a nondeterministic column. Error 2729.
fn check_deterministic(table: &TableDef, ordinal: usize, index: &NewIndex) -> SqlResult<()> {
    let column = &table.columns[ordinal];
    match column.is_deterministic() {
        true => Ok(()),
        false => Err(SqlError::new(2729, &[&column.name, &"index", &index.name])),
    }
}

/// The key columns of an index. Errors 1909, 1911, 1919, 1977, 2729.
fn key_columns(table: &TableDef, new: &NewIndex) -> SqlResult<Vec<IndexColumn>> {
    let ordinal = |name: &String| table.column_ordinal(name).ok_or_else(|| SqlError::new(1911, &[name]));
    let mut key = Vec::with_capacity(new.columns.len());
    for (name, descending) in &new.columns {
        let ordinal = ordinal(name)?;
        let sql_type = table.columns[ordinal].sql_type;
        if sql_type == SqlType::Xml {
            return Err(SqlError::new(1977, &[&new.name, name, &table.name]));
        }
        if !may_be_key(&sql_type) {
            return Err(SqlError::new(1919, &[name, &table.name]));
        }
        check_deterministic(table, ordinal, new)?;
        if key.iter().any(|k: &IndexColumn| k.ordinal == ordinal) {
            return Err(SqlError::new(1909, &[name]));
        }
        key.push(IndexColumn { ordinal, descending: *descending });
    }
    Ok(key)
}

/// Positions of the columns of INCLUDE. Errors 1909, 1911, 1999, 10601.
fn included_columns(table: &TableDef, new: &NewIndex, key: &[IndexColumn]) -> SqlResult<Vec<usize>> {
    if new.clustered && !new.included.is_empty() {
        return Err(SqlError::new(10601, &[]));
    }
    let mut included = Vec::with_capacity(new.included.len());
    for name in &new.included {
        let ordinal = table.column_ordinal(name).ok_or_else(|| SqlError::new(1911, &[name]))?;
        check_deterministic(table, ordinal, new)?;
        if included.contains(&ordinal) || key.iter().any(|k| k.ordinal == ordinal) {
            return Err(SqlError::new(1909, &[name]));
        }
        if is_old_large(&table.columns[ordinal].sql_type) {
            return Err(SqlError::new(1999, &[name, &table.name]));
        }
        included.push(ordinal);
    }
    Ok(included)
}

/// A filter with resolved columns. Error 207.
fn resolved(table: &TableDef, filter: &NewFilter) -> SqlResult<IndexFilter> {
    let term = |(name, test): &(String, FilterTest)| {
        let ordinal = table.column_ordinal(name).ok_or_else(|| SqlError::new(207, &[name]))?;
        Ok(FilterTerm { ordinal, test: test.clone() })
    };
    let terms = filter.terms.iter().map(term).collect::<SqlResult<Vec<_>>>()?;
    assert!(!terms.is_empty(), "a filter says something");
    Ok(IndexFilter { text: filter.text.as_str().into(), terms })
}

/// Replaces the index with its name (DROP_EXISTING). Errors 1925, 7999 and those of `append_index`.
pub(super) fn replace_index(table: &mut TableDef, new: &NewIndex) -> SqlResult<()> {
    let Some(at) = table.indexes.iter().position(|index| index.is_named(&new.name)) else {
        return Err(SqlError::new(7999, &[&new.name, &table.name]));
    };
    let old = table.indexes[at].clone();
    if old.kind == IndexKind::Clustered && !new.clustered {
        return Err(SqlError::new(1925, &[]));
    }
    remove_index(table, old.index_id);
    append_index(table, new, None)?;
    if !new.clustered {
        let mut index = table.indexes.pop().expect("appended just now");
        index.index_id = old.index_id;
        table.indexes.insert(at, index);
    }
    Ok(())
}

/// May a column of the type be in the key of an index?
fn may_be_key(sql_type: &SqlType) -> bool {
    sql_type.max_length() != -1 && *sql_type != SqlType::Xml && !is_old_large(sql_type)
}

/// The old large types (text, ntext, image) cannot be in an index at all.
fn is_old_large(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image)
}

/// Removes an index from a definition; without its clustered index the table is a heap again.
pub(super) fn remove_index(table: &mut TableDef, index_id: i32) {
    if index_id == 1 {
        table.indexes[0] = heap_definition();
        table.indexes[1..].iter_mut().for_each(|i| i.unit = 0);
    } else {
        table.indexes.retain(|i| i.index_id != index_id);
    }
}

/// Removes a constraint of any kind from a definition.
pub(super) fn remove_constraint(table: &mut TableDef, name: &str) -> SqlResult<()> {
    let key = table
        .indexes
        .iter()
        .find(|i| i.constraint_id != 0 && i.name.as_ref().is_some_and(|n| same(n, name)))
        .map(|i| i.index_id);
    if let Some(index_id) = key {
        remove_index(table, index_id);
    }
    let before = (table.checks.len(), table.foreign_keys.len());
    table.checks.retain(|c| !same(&c.name, name));
    table.foreign_keys.retain(|f| !same(&f.name, name));
    let mut found = key.is_some() || before != (table.checks.len(), table.foreign_keys.len());
    for column in &mut table.columns {
        if column.default.as_ref().is_some_and(|d| same(&d.name, name)) {
            column.default = None;
            found = true;
        }
    }
    if found { Ok(()) } else { Err(SqlError::new(3728, &[&name])) }
}

fn append_key(
    table: &mut TableDef,
    name: &str,
    is_system_named: bool,
    object_id: ObjectId,
    (primary, clustered, settings): (bool, Option<bool>, IndexSettings),
    columns: &[(String, bool)],
) -> SqlResult<()> {
    if primary && table.indexes.iter().any(|i| i.primary_key) {
        return Err(SqlError::new(1779, &[&table.name]));
    }
    if primary {
        for (column, _) in columns {
            let at = table.column_ordinal(column).ok_or_else(|| SqlError::new(1911, &[column]))?;
            if table.columns[at].nullable {
                return Err(SqlError::new(8111, &[&table.name]));
            }
        }
    }
    let clustered = clustered.unwrap_or(primary && table.is_heap());
    let index = NewIndex {
        name: name.to_string(),
        unique: true,
        clustered,
        columns: columns.to_vec(),
        included: Vec::new(),
        filter: None,
        replaces: false,
        settings,
    };
    append_index(table, &index, Some((object_id, primary, is_system_named)))
}

/// The objects that prevent the drop of a column: an error 5074 for each.
pub(super) fn users_of_column(table: &TableDef, ordinal: usize) -> Vec<SqlError> {
    let column = &table.columns[ordinal];
    let depends = |kind: &str, name: &str| SqlError::new(5074, &[&kind, &name, &"column", &column.name]);
    let mut users = Vec::new();
    users.extend(column.default.iter().map(|default| depends("object", &default.name)));
    let uses = |index: &&IndexDef| {
        index.key.iter().any(|k| k.ordinal == ordinal)
            || index.included.contains(&ordinal)
            || index.filter.as_ref().is_some_and(|filter| filter.is_about(&[ordinal]))
    };
    for index in table.indexes.iter().filter(uses) {
        let kind = if index.constraint_id != 0 { "object" } else { "index" };
        users.extend(index.name.iter().map(|name| depends(kind, name)));
    }
    let keys = table.foreign_keys.iter().filter(|key| key.column_ids.contains(&column.column_id));
    users.extend(keys.map(|key| depends("object", &key.name)));
    users
}

/// The objects that prevent a change of a column, an error 5074 for each (documented under ALTER TABLE, "ALTER COLUMN"): of an indexed column only
/// the length of a variable-length type may grow, outside of a primary key and of filters; with a default only length, precision and scale may
/// change; a column of a foreign key keeps its type.
pub(super) fn users_against_change(
    table: &TableDef,
    ordinal: usize,
    sql_type: &SqlType,
    nullable: bool,
) -> Vec<SqlError> {
    let column = &table.columns[ordinal];
    if (column.sql_type, column.nullable) == (*sql_type, nullable) {
        return Vec::new();
    }
    let depends = |kind: &str, name: &str| SqlError::new(5074, &[&kind, &name, &"column", &column.name]);
    let is_same_kind = sql_type.system_type_id() == column.sql_type.system_type_id();
    let grows = grows_in_place(&column.sql_type, sql_type);
    let is_against = |index: &&IndexDef| {
        let is_key = index.key.iter().any(|k| k.ordinal == ordinal);
        let is_filtered = index.filter.as_ref().is_some_and(|filter| filter.is_about(&[ordinal]));
        let may_grow = grows && !index.primary_key && !(is_key && sql_type.max_length() == -1);
        is_filtered || ((is_key || index.included.contains(&ordinal)) && !may_grow)
    };
    let mut against = Vec::new();
    if let Some(default) = column.default.as_ref().filter(|_| !is_same_kind) {
        against.push(depends("object", &default.name));
    }
    for index in table.indexes.iter().filter(is_against) {
        let kind = if index.constraint_id != 0 { "object" } else { "index" };
        against.extend(index.name.iter().map(|name| depends(kind, name)));
    }
    if column.sql_type != *sql_type {
        let keys = table.foreign_keys.iter().filter(|key| key.column_ids.contains(&column.column_id));
        against.extend(keys.map(|key| depends("object", &key.name)));
    }
    against
}

/// Is it the same variable-length type, no shorter than before?
pub(super) fn grows_in_place(old: &SqlType, new: &SqlType) -> bool {
    let is_variable = matches!(new, SqlType::VarChar(_) | SqlType::NVarChar(_) | SqlType::VarBinary(_));
    let (before, after) = (i32::from(old.max_length()), i32::from(new.max_length()));
    let has_room = after == -1 || (before != -1 && after >= before);
    is_variable && new.system_type_id() == old.system_type_id() && has_room
}

/// The generated name of a constraint: prefix, parts of the table's and column's names, a unique number.
fn system_name(prefix: &str, table: &str, column: Option<&str>, object_id: ObjectId) -> String {
    let cut = |text: &str, n: usize| text.chars().take(n).collect::<String>();
    match column {
        Some(column) => format!("{prefix}__{}__{}__{object_id:08X}", cut(table, 9), cut(column, 5)),
        None => format!("{prefix}__{}__{:016X}", cut(table, 9), i64::from(object_id)),
    }
}
