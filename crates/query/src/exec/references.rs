//! Foreign keys: is there a row with the key, and which rows have it.

use engine::{Cursor, IsolationLevel, KeyRange, RowLocator, RowLock, ScanOptions};
use rustc_hash::FxHashMap;
use types::{SqlError, Value};

use super::changed::pick;
use super::spill::gathered::{ALL_AT_ONCE, Gathered};
use crate::foreign_key::{KeyPlace, Reference};
use crate::row::Row;
use crate::runtime::Runtime;
use crate::values::write_value;

/// A row that has one of the keys looked for: which key, where, what.
pub(crate) struct FoundRow {
    pub(crate) key: usize,
    pub(crate) locator: RowLocator,
    pub(crate) row: Row,
}

impl Reference {
    /// The key of a referring row; `None` when a part is NULL: then it refers to nothing.
    pub(crate) fn own_key(&self, row: &[Value]) -> Option<Row> {
        self.here.key_of(row)
    }

    /// Does the row refer to itself?
    pub(crate) fn is_satisfied_by_itself(&self, row: &[Value], key: &[Value]) -> bool {
        self.is_self && self.there.has_key(row, key)
    }

    /// Error 547. `verb`: the statement that fails; `is_parent`: it has taken away a key that is still referred to.
    pub(crate) fn conflict(&self, verb: &str, is_parent: bool) -> SqlError {
        let (kind, other) = match (is_parent, self.is_self) {
            (false, false) => ("FOREIGN KEY", &self.there),
            (false, true) => ("FOREIGN KEY SAME TABLE", &self.there),
            (true, false) => ("REFERENCE", &self.here),
            (true, true) => ("SAME TABLE REFERENCE", &self.here),
        };
        let column = match other.columns.as_slice() {
            [one] => Some(other.source.def.columns[*one].name.to_string()),
            _ => None,
        };
        crate::errors::constraint_conflict(
            verb,
            kind,
            &self.name,
            other.source.database.name(),
            &other.source.two_part_name(),
            column.as_deref(),
        )
    }
}

impl KeyPlace {
    /// The key in a row of this end; `None` when a part is NULL.
    pub(crate) fn key_of(&self, row: &[Value]) -> Option<Row> {
        let key = pick(row, &self.columns);
        (!key.iter().any(Value::is_null)).then_some(key)
    }

    /// The key that a gathered row begins with.
    pub(crate) fn first_key<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        &row[..self.columns.len()]
    }

    /// Has the row the key, as the columns compare?
    fn has_key(&self, row: &[Value], key: &[Value]) -> bool {
        self.columns.iter().zip(key).all(|(ordinal, value)| {
            let collation = self.source.def.columns[*ordinal].collation;
            types::sort_compare(&row[*ordinal], value, collation).is_eq()
        })
    }

    /// Is there a row with the key?
    pub(crate) fn exists(&self, runtime: &Runtime<'_>, key: &[Value]) -> Result<bool, SqlError> {
        let found = self.first_of(runtime, &[key], RowLock::Shared)?;
        Ok(found.is_some())
    }

    /// A row with any of the keys.
    pub(crate) fn first_of(
        &self,
        runtime: &Runtime<'_>,
        keys: &[&[Value]],
        lock: RowLock,
    ) -> Result<Option<FoundRow>, SqlError> {
        let mut first = None;
        self.find(runtime, keys, lock, &mut |found| {
            first = Some(found);
            Ok(false)
        })?;
        Ok(first)
    }

    /// Hands out all rows with any of the keys, locked to be changed, each with the gathered row that begins with its key.
    pub(in crate::exec) fn rows_to_change(
        &self,
        runtime: &Runtime<'_>,
        keys: &Gathered,
        take: &mut dyn FnMut(FoundRow, &Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        keys.for_each_chunk(runtime, ALL_AT_ONCE, &mut |rows| {
            let keys: Vec<&[Value]> = rows.iter().map(|row| self.first_key(row)).collect();
            self.find(runtime, &keys, RowLock::Update, &mut |found| {
                let key = &rows[found.key];
                take(found, key).map(|()| true)
            })
        })
    }

    /// Calls `take` for the rows with any of the keys until it has enough. Without an index the table is read once, however many keys
    /// there are.
    fn find(
        &self,
        runtime: &Runtime<'_>,
        keys: &[&[Value]],
        lock: RowLock,
        take: &mut dyn FnMut(FoundRow) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        if keys.is_empty() {
            return Ok(());
        }
        // What others have not committed must never decide about a key.
        let isolation = runtime.options.isolation.max(IsolationLevel::ReadCommitted);
        let options = ScanOptions { isolation, row_lock: lock, ..ScanOptions::default() };
        let Some((index, order)) = &self.index else {
            let wanted = self.by_bytes(keys);
            let mut bytes = Vec::new();
            let cursor = self.open(runtime, None, &options)?;
            return self.each_row(runtime, cursor, take, &mut |row| {
                self.write_bytes(&pick(row, &self.columns), &mut bytes);
                wanted.get(bytes.as_slice()).copied()
            });
        };
        for (at, key) in keys.iter().enumerate() {
            let range = KeyRange::equal(pick(key, order));
            let cursor = self.open(runtime, Some((*index, &range)), &options)?;
            let mut enough = false;
            self.each_row(
                runtime,
                cursor,
                &mut |found| {
                    enough = !take(found)?;
                    Ok(!enough)
                },
                &mut |row| self.has_key(row, key).then_some(at),
            )?;
            if enough {
                break;
            }
        }
        Ok(())
    }

    fn open(
        &self,
        runtime: &Runtime<'_>,
        range: Option<(i32, &KeyRange)>,
        options: &ScanOptions,
    ) -> Result<Cursor, SqlError> {
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&self.source.table, runtime.options.isolation)?;
        let base_id = self.source.def.base().index_id;
        let index_id = range.map_or(base_id, |(index, _)| index);
        super::uses::note_read(self, &self.source, (index_id, range.is_some(), index_id != base_id), runtime);
        match range {
            Some((index, range)) => self.source.table.seek(transaction, index, range, options, None),
            None => self.source.table.scan(transaction, base_id, options, None),
        }
    }

    fn each_row(
        &self,
        runtime: &Runtime<'_>,
        mut cursor: Cursor,
        take: &mut dyn FnMut(FoundRow) -> Result<bool, SqlError>,
        key_of: &mut dyn FnMut(&Row) -> Option<usize>,
    ) -> Result<(), SqlError> {
        let mut row = Row::new();
        loop {
            runtime.check_cancelled()?;
            let mut transactions = runtime.transactions.borrow_mut();
            let transaction = transactions.for_table(&self.source.table, runtime.options.isolation)?;
            if !cursor.next(transaction, &mut row)? {
                return Ok(());
            }
            let Some(key) = key_of(&row) else {
                cursor.release_row(transaction);
                continue;
            };
            let locator = cursor.locator()?;
            drop(transactions);
            if !take(FoundRow { key, locator, row: std::mem::take(&mut row) })? {
                return Ok(());
            }
        }
    }

    fn by_bytes(&self, keys: &[&[Value]]) -> FxHashMap<Vec<u8>, usize> {
        let mut wanted = FxHashMap::default();
        for (at, key) in keys.iter().enumerate() {
            let mut bytes = Vec::new();
            self.write_bytes(key, &mut bytes);
            wanted.insert(bytes, at);
        }
        wanted
    }

    fn write_bytes(&self, key: &[Value], bytes: &mut Vec<u8>) {
        bytes.clear();
        for (value, ordinal) in key.iter().zip(&self.columns) {
            write_value(value, self.source.def.columns[*ordinal].collation, bytes);
        }
    }
}
