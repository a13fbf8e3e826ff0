//! Loads the catalog's cache from the system tables at open.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::Value;

use super::filter_rows::filter_of;
use super::rows::{
    Fields, column_status, constraint_status, index_column_status, index_status, kind_of, table_status,
    text_class, type_of,
};
use super::{Catalog, Entry, system_tables};
use crate::error::StorageError;
use crate::index_settings::IndexSettings;
use crate::index_uses::IndexUses;
use crate::schema::{
    CheckDef, ColumnDef, ComputedDef, ConstraintState, DefaultDef, ForeignKeyDef, IdentityDef, IndexColumn,
    IndexDef, IndexKind, KeptStar, ModuleDef, ModuleKind, ModuleSettings, ObjectDef, ObjectId, SchemaDef,
    TableDef,
};

/// The rows of every system table, in order of [`system_tables::ALL`].
pub(crate) type SystemRows = Vec<Vec<Vec<Value>>>;

/// Fills an empty cache.
///
/// # Errors
/// When rows are inconsistent; names the object.
pub(crate) fn load(
    catalog: &Catalog,
    system: &[Arc<TableDef>],
    rows: &SystemRows,
) -> Result<(), StorageError> {
    for table in system {
        catalog.load_object(ObjectDef::Table(table.clone())).map_err(|error| contradicts(&error))?;
    }
    for row in &rows[system_tables::SCHEMAS] {
        let fields = Fields(row);
        let (Some(id), Some(name)) = (fields.int(0), fields.text(1)) else {
            return Err(damaged("sysclsobjs", 0));
        };
        catalog.put_schema(None, id, Some(Arc::new(SchemaDef { schema_id: id, name })));
    }
    for (table, rows) in rows.iter().enumerate() {
        for entry in rows.iter().filter_map(|row| Entry::from_row(table, row)) {
            catalog.put_entry(None, entry.key(), Some(Arc::new(entry)));
        }
    }
    let groups = Groups::new(rows);
    // The number of a counter whose sequence was rolled back is never used again.
    groups.sequence_values.keys().for_each(|counter| catalog.note_numbers(*counter, 0));
    for row in &rows[system_tables::OBJECTS] {
        let object = groups
            .object(row, catalog)
            .ok_or_else(|| damaged("sysschobjs", Fields(row).int(0).unwrap_or(0)))?;
        note_numbers(catalog, &object);
        catalog.load_object(object).map_err(|error| contradicts(&error))?;
    }
    Ok(())
}

fn contradicts(error: &types::SqlError) -> StorageError {
    StorageError::Catalog(format!("the catalog contradicts itself: {}", error.message))
}

fn damaged(table: &str, id: ObjectId) -> StorageError {
    StorageError::Catalog(format!("the catalog's table sys.{table} contradicts itself (object {id})"))
}

fn note_numbers(catalog: &Catalog, object: &ObjectDef) {
    catalog.note_numbers(object.object_id(), 0);
    if let ObjectDef::Table(table) = object {
        table.constraints().iter().for_each(|(id, ..)| catalog.note_numbers(*id, 0));
        table.indexes.iter().for_each(|index| catalog.note_numbers(0, index.unit));
    }
    if let ObjectDef::Sequence(sequence) = object {
        catalog.note_numbers(sequence.counter_id, 0);
    }
}

/// Rows by the object they belong to.
struct Groups<'a> {
    columns: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    indexes: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    index_columns: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    texts: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    foreign_keys: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    filters: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    sequences: BTreeMap<ObjectId, Vec<&'a [Value]>>,
    /// By the number of the counter.
    sequence_values: BTreeMap<ObjectId, Vec<&'a [Value]>>,
}

fn group(rows: &[Vec<Value>]) -> BTreeMap<ObjectId, Vec<&[Value]>> {
    let mut groups: BTreeMap<ObjectId, Vec<&[Value]>> = BTreeMap::new();
    for row in rows {
        groups.entry(Fields(row).int(0).unwrap_or(0)).or_default().push(row);
    }
    groups
}

fn of<'a, 'b>(
    groups: &'b BTreeMap<ObjectId, Vec<&'a [Value]>>,
    id: ObjectId,
) -> impl Iterator<Item = Fields<'a>> + use<'a, 'b> {
    groups.get(&id).into_iter().flatten().map(|row| Fields(row))
}

impl<'a> Groups<'a> {
    fn new(rows: &'a SystemRows) -> Groups<'a> {
        Groups {
            columns: group(&rows[system_tables::COLUMNS]),
            indexes: group(&rows[system_tables::INDEXES]),
            index_columns: group(&rows[system_tables::INDEX_COLUMNS]),
            texts: group(&rows[system_tables::TEXTS]),
            foreign_keys: group(&rows[system_tables::FOREIGN_KEYS]),
            filters: group(&rows[system_tables::INDEX_FILTERS]),
            sequences: group(&rows[system_tables::SEQUENCES]),
            sequence_values: group(&rows[system_tables::SEQUENCE_VALUES]),
        }
    }

    fn object(&self, row: &[Value], catalog: &Catalog) -> Option<ObjectDef> {
        let fields = Fields(row);
        let (id, schema_id, name, code) = (fields.int(0)?, fields.int(1)?, fields.text(2)?, fields.text(3)?);
        let schema = catalog.schema(schema_id)?.name.clone();
        let (create_date, modify_date) = (fields.date_time(7)?, fields.date_time(8)?);
        if let Some(kind) = ModuleKind::from_type_code(&code) {
            let definition = of(&self.texts, id).find(|t| t.tiny(1) == Some(text_class::MODULE))?.text(6)?;
            let stars = of(&self.texts, id).filter(|t| t.tiny(1) == Some(text_class::STAR)).map(|t| {
                let columns = super::stars::columns_of(&t.text(6)?)?;
                Some(KeptStar { place: u32::try_from(t.int(2)?).ok()?, columns })
            });
            let stars = stars.collect::<Option<Arc<[KeptStar]>>>()?;
            let settings = ModuleSettings::from_status(fields.int(5)?);
            return Some(ObjectDef::Module(Arc::new(ModuleDef {
                object_id: id,
                schema_id,
                schema,
                name,
                kind,
                definition,
                quoted_identifier: settings.quoted_identifier,
                ansi_nulls: settings.ansi_nulls,
                is_schema_bound: settings.is_schema_bound,
                uses_native_compilation: settings.uses_native_compilation,
                stars,
                parent_object_id: fields.int(4)?,
                trigger: settings.trigger,
                create_date,
                modify_date,
            })));
        }
        if code.trim_end() == "SO" {
            let row = self.sequences.get(&id)?.first()?;
            let home = super::sequences::Home { object_id: id, schema_id, schema, name };
            let recovered = |counter: ObjectId| self.sequence_values.get(&counter)?.first().copied();
            let sequence = super::sequences::sequence_of(row, home, (create_date, modify_date), &recovered)?;
            return Some(ObjectDef::Sequence(Arc::new(sequence)));
        }
        let columns = self.columns(id)?;
        Some(ObjectDef::Table(Arc::new(TableDef {
            object_id: id,
            schema_id,
            schema,
            name,
            is_system: false,
            ansi_nulls: fields.int(5)? & table_status::ANSI_NULLS_OFF == 0,
            indexes: self.indexes(id, &columns)?,
            checks: self.checks(id)?,
            foreign_keys: self.foreign_keys(id)?,
            columns,
            create_date,
            modify_date,
            next_column_id: fields.int(6)?,
        })))
    }

    fn columns(&self, id: ObjectId) -> Option<Vec<ColumnDef>> {
        of(&self.columns, id).map(|row| self.column(id, &row)).collect()
    }

    fn column(&self, id: ObjectId, row: &Fields) -> Option<ColumnDef> {
        let (column_id, status) = (row.int(1)?, row.int(7)?);
        let text = |class: u8| {
            of(&self.texts, id).find(move |t| t.tiny(1) == Some(class) && t.int(2) == Some(column_id))
        };
        let default = text(text_class::DEFAULT).and_then(|t| {
            Some(DefaultDef {
                object_id: t.int(4)?,
                name: t.text(3)?,
                text: t.text(6)?,
                is_system_named: t.int(5)? != 0,
            })
        });
        let computed = text(text_class::COMPUTED).and_then(|t| {
            Some(ComputedDef {
                text: t.text(6)?,
                persisted: status & column_status::PERSISTED != 0,
                is_deterministic: status & column_status::NONDETERMINISTIC == 0,
            })
        });
        let is_identity = status & column_status::IDENTITY != 0;
        let identity = if is_identity {
            Some(IdentityDef {
                seed: row.whole(9, 12)?,
                increment: row.whole(10, 13)?,
                is_not_for_replication: status & column_status::NOT_FOR_REPLICATION != 0,
            })
        } else {
            None
        };
        Some(ColumnDef {
            column_id,
            name: row.text(2)?,
            sql_type: type_of(row.tiny(3)?, row.int(4)?, row.tiny(5)?, row.tiny(6)?, status)?,
            nullable: status & column_status::NULLABLE != 0,
            collation: row.collation(8),
            identity,
            default,
            computed,
            is_rowguidcol: status & column_status::ROWGUIDCOL != 0,
            user_type_id: row.int(11).unwrap_or(0),
        })
    }

    fn indexes(&self, id: ObjectId, columns: &[ColumnDef]) -> Option<Vec<IndexDef>> {
        let indexes: Vec<IndexDef> =
            of(&self.indexes, id).map(|row| self.index(id, &row, columns)).collect::<Option<_>>()?;
        // The heap or clustered index, which holds the rows, comes first.
        indexes.first().is_some_and(|base| base.index_id <= 1).then_some(indexes)
    }

    fn index(&self, id: ObjectId, row: &Fields, columns: &[ColumnDef]) -> Option<IndexDef> {
        let (index_id, status) = (row.int(1)?, row.int(4)?);
        let (mut key, mut included) = (Vec::new(), Vec::new());
        for part in of(&self.index_columns, id).filter(|c| c.int(1) == Some(index_id)) {
            let column_id = part.int(3)?;
            let ordinal = columns.iter().position(|c| c.column_id == column_id)?;
            let flags = part.int(4)?;
            if flags & index_column_status::INCLUDED != 0 {
                included.push(ordinal);
            } else {
                key.push(IndexColumn { ordinal, descending: flags & index_column_status::DESCENDING != 0 });
            }
        }
        let kind = kind_of(row.tiny(3)?)?;
        if key.is_empty() && kind != IndexKind::Heap {
            // Its rows could not be found without an index.
            return None;
        }
        let of_filter = of(&self.filters, id).filter(|row| row.int(1) == Some(index_id)).map(|row| row.0);
        let filter = filter_of(&of_filter.collect::<Vec<_>>(), columns)?;
        Some(IndexDef {
            index_id,
            name: row.text(2),
            kind,
            unique: status & index_status::UNIQUE != 0,
            primary_key: status & index_status::PRIMARY_KEY != 0,
            unique_constraint: status & index_status::UNIQUE_CONSTRAINT != 0,
            constraint_id: row.int(5)?,
            is_system_named: status & index_status::SYSTEM_NAMED != 0,
            key,
            included,
            filter,
            is_disabled: status & index_status::DISABLED != 0,
            settings: IndexSettings::of_status(status),
            unit: u32::try_from(row.int(6)?).ok()?,
            root: row.page(7)?,
            uses: IndexUses::default(),
        })
    }

    fn checks(&self, id: ObjectId) -> Option<Vec<CheckDef>> {
        let rows = of(&self.texts, id).filter(|t| t.tiny(1) == Some(text_class::CHECK));
        rows.map(|t| {
            Some(CheckDef {
                object_id: t.int(4)?,
                name: t.text(3)?,
                text: t.text(6)?,
                is_system_named: t.int(5)? & constraint_status::SYSTEM_NAMED != 0,
                state: state_of(t.int(5)?),
            })
        })
        .collect()
    }

    fn foreign_keys(&self, id: ObjectId) -> Option<Vec<ForeignKeyDef>> {
        let mut keys: Vec<ForeignKeyDef> = Vec::new();
        for row in of(&self.foreign_keys, id) {
            let (object_id, status) = (row.int(1)?, row.int(7)?);
            if keys.last().is_none_or(|k| k.object_id != object_id) {
                keys.push(ForeignKeyDef {
                    object_id,
                    name: row.text(3)?,
                    column_ids: Vec::new(),
                    referenced_object_id: row.int(4)?,
                    referenced_column_ids: Vec::new(),
                    is_system_named: status & constraint_status::SYSTEM_NAMED != 0,
                    state: state_of(status),
                    delete_action: (status >> 8) as u8 & 3,
                    update_action: (status >> 10) as u8 & 3,
                });
            }
            let key = keys.last_mut()?;
            key.column_ids.push(row.int(5)?);
            key.referenced_column_ids.push(row.int(6)?);
        }
        Some(keys)
    }
}

fn state_of(status: i32) -> ConstraintState {
    ConstraintState {
        is_disabled: status & constraint_status::DISABLED != 0,
        is_not_trusted: status & constraint_status::NOT_TRUSTED != 0,
        is_not_for_replication: status & constraint_status::NOT_FOR_REPLICATION != 0,
    }
}
