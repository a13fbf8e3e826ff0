//! Foreign keys: whether a row with a key exists, and which rows have it.

use engine::{Cursor, IsolationLevel, KeyRange, RowLocator, RowLock, ScanOptions};
use plan_ir::foreign_key::KeyPlace;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::values::write_value;
use rustc_hash::FxHashMap;
use types::{SqlError, Value};

use super::changed::pick;
use super::spill::gathered::{ALL_AT_ONCE, Gathered};

/// A row that has one of the keys looked for: which key, where, what.
pub(crate) struct FoundRow {
    pub(crate) key: usize,
    pub(crate) locator: RowLocator,
    pub(crate) row: Row,
}

/// Looks keys up at an end of a foreign key.
pub(crate) trait FindKeys {
    /// Is there a row with the key?
    fn exists(&self, runtime: &Runtime<'_>, key: &[Value]) -> Result<bool, SqlError>;

    /// A row with any of the keys.
    fn first_of(
        &self,
        runtime: &Runtime<'_>,
        keys: &[&[Value]],
        lock: RowLock,
    ) -> Result<Option<FoundRow>, SqlError>;

    /// Hands out all rows with any of the keys, locked to be changed, each with the gathered row that begins with its key.
    fn rows_to_change(
        &self,
        runtime: &Runtime<'_>,
        keys: &Gathered,
        take: &mut dyn FnMut(FoundRow, &Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError>;
}

impl FindKeys for KeyPlace {
    fn exists(&self, runtime: &Runtime<'_>, key: &[Value]) -> Result<bool, SqlError> {
        let found = self.first_of(runtime, &[key], RowLock::Shared)?;
        Ok(found.is_some())
    }

    fn first_of(
        &self,
        runtime: &Runtime<'_>,
        keys: &[&[Value]],
        lock: RowLock,
    ) -> Result<Option<FoundRow>, SqlError> {
        let mut first = None;
        find(self, runtime, keys, lock, &mut |found| {
            first = Some(found);
            Ok(false)
        })?;
        Ok(first)
    }

    fn rows_to_change(
        &self,
        runtime: &Runtime<'_>,
        keys: &Gathered,
        take: &mut dyn FnMut(FoundRow, &Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        keys.for_each_chunk(runtime, ALL_AT_ONCE, &mut |rows| {
            let keys: Vec<&[Value]> = rows.iter().map(|row| self.first_key(row)).collect();
            find(self, runtime, &keys, RowLock::Update, &mut |found| {
                let key = &rows[found.key];
                take(found, key).map(|()| true)
            })
        })
    }
}

/// Calls `take` for the rows with any of the keys until it has enough. Without an index the table is read once, however many keys
/// there are.
fn find(
    place: &KeyPlace,
    runtime: &Runtime<'_>,
    keys: &[&[Value]],
    lock: RowLock,
    take: &mut dyn FnMut(FoundRow) -> Result<bool, SqlError>,
) -> Result<(), SqlError> {
    if keys.is_empty() {
        return Ok(());
    }
    // Uncommitted changes of other transactions must never decide about a key.
    let isolation = runtime.options.isolation.max(IsolationLevel::ReadCommitted);
    let options = ScanOptions { isolation, row_lock: lock, ..ScanOptions::default() };
    let Some((index, order)) = &place.index else {
        let wanted = by_bytes(place, keys);
        let mut bytes = Vec::new();
        let cursor = open(place, runtime, None, &options)?;
        return each_row(place, runtime, cursor, take, &mut |row| {
            write_bytes(place, &pick(row, &place.columns), &mut bytes);
            wanted.get(bytes.as_slice()).copied()
        });
    };
    for (at, key) in keys.iter().enumerate() {
        let range = KeyRange::equal(pick(key, order));
        let cursor = open(place, runtime, Some((*index, &range)), &options)?;
        let mut enough = false;
        each_row(
            place,
            runtime,
            cursor,
            &mut |found| {
                enough = !take(found)?;
                Ok(!enough)
            },
            &mut |row| place.has_key(row, key).then_some(at),
        )?;
        if enough {
            break;
        }
    }
    Ok(())
}

fn open(
    place: &KeyPlace,
    runtime: &Runtime<'_>,
    range: Option<(i32, &KeyRange)>,
    options: &ScanOptions,
) -> Result<Cursor, SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&place.source.table, runtime.options.isolation)?;
    let base_id = place.source.def.base().index_id;
    let index_id = range.map_or(base_id, |(index, _)| index);
    super::uses::note_read(place, &place.source, (index_id, range.is_some(), index_id != base_id), runtime);
    match range {
        Some((index, range)) => place.source.table.seek(transaction, index, range, options, None),
        None => place.source.table.scan(transaction, base_id, options, None),
    }
}

fn each_row(
    place: &KeyPlace,
    runtime: &Runtime<'_>,
    mut cursor: Cursor,
    take: &mut dyn FnMut(FoundRow) -> Result<bool, SqlError>,
    key_of: &mut dyn FnMut(&Row) -> Option<usize>,
) -> Result<(), SqlError> {
    let mut row = Row::new();
    loop {
        runtime.check_cancelled()?;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&place.source.table, runtime.options.isolation)?;
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

fn by_bytes(place: &KeyPlace, keys: &[&[Value]]) -> FxHashMap<Vec<u8>, usize> {
    let mut wanted = FxHashMap::default();
    for (at, key) in keys.iter().enumerate() {
        let mut bytes = Vec::new();
        write_bytes(place, key, &mut bytes);
        wanted.insert(bytes, at);
    }
    wanted
}

fn write_bytes(place: &KeyPlace, key: &[Value], bytes: &mut Vec<u8>) {
    bytes.clear();
    for (value, ordinal) in key.iter().zip(&place.columns) {
        write_value(value, place.source.def.columns[*ordinal].collation, bytes);
    }
}
