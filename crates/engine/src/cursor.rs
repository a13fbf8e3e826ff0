//! [`Cursor`]: the rows of a scan or seek, one at a time, as values of the whole table's width.

use access::{BTreeCursor, HeapCursor, Rid};
use types::{SqlError, Value};

use crate::db_transaction::DbTransaction;
use crate::error::{SqlResult, stale_plan};
use crate::table::{Base, RowLocator, ScanOptions, Table};

/// A running scan or seek. Holds no latch and does not borrow the transaction.
pub struct Cursor {
    table: Table,
    source: Source,
    options: ScanOptions,
    locator: Option<RowLocator>,
}

/// Where the rows come from.
pub(crate) enum Source {
    Heap(HeapCursor),
    Tree(BTreeCursor),
    /// A nonclustered index; `covers`: its entries hold all that is wanted.
    Secondary {
        cursor: BTreeCursor,
        at: usize,
        covers: bool,
    },
}

impl Cursor {
    pub(crate) fn new(table: Table, source: Source, options: ScanOptions) -> Cursor {
        Cursor { table, source, options, locator: None }
    }

    /// The next row; false at the end.
    ///
    /// # Errors
    /// 1205, 1222, 823, 824, or the statement was stopped.
    pub fn next(&mut self, txn: &DbTransaction, out: &mut Vec<Value>) -> SqlResult<bool> {
        let _charge = crate::table::io::charge(self.table.definition(), 0);
        self.locator = None;
        match &mut self.source {
            Source::Heap(cursor) => {
                if !cursor.next(txn.inner()).map_err(|error| txn.sql_error(&error.into()))? {
                    return Ok(false);
                }
                self.table.decode(txn, cursor.row(), out)?;
                Ok(true)
            }
            Source::Tree(cursor) => {
                if !cursor.next(txn.inner()).map_err(|error| txn.sql_error(&error.into()))? {
                    return Ok(false);
                }
                self.table.decode(txn, cursor.value(), out)?;
                Ok(true)
            }
            Source::Secondary { .. } => self.next_by_index(txn, out),
        }
    }

    fn next_by_index(&mut self, txn: &DbTransaction, out: &mut Vec<Value>) -> SqlResult<bool> {
        let Source::Secondary { cursor, at, covers } = &mut self.source else {
            unreachable!("called for index sources")
        };
        loop {
            if !cursor.next(txn.inner()).map_err(|error| txn.sql_error(&error.into()))? {
                return Ok(false);
            }
            let value = cursor.value();
            let (locator, stored) = split_entry(value, &self.table.inner().base).ok_or_else(damaged)?;
            if *covers {
                let secondary = &self.table.inner().secondary[*at];
                let mut part = Vec::new();
                let access = &self.table.inner().database.access;
                let decoded =
                    secondary.format.decode(stored, &mut part, &mut |pointer| access.load_lob(pointer));
                decoded.map_err(|error| txn.sql_error(&error.into()))?;
                out.clear();
                out.resize(self.table.definition().columns.len(), Value::Null);
                for (column, value) in secondary.stored.iter().zip(part) {
                    out[*column] = value;
                }
                self.locator = Some(locator);
                return Ok(true);
            }
            // Between index and row the row may have gone: then it is not there for this reader.
            if self.table.fetch(txn, &locator, &self.options, out)? {
                self.locator = Some(locator);
                return Ok(true);
            }
        }
    }

    /// Where the present row is.
    ///
    /// # Errors
    /// A stale plan, when there is no present row.
    pub fn locator(&self) -> SqlResult<RowLocator> {
        match (&self.source, &self.locator) {
            (_, Some(locator)) => Ok(locator.clone()),
            (Source::Heap(cursor), None) => Ok(RowLocator::Heap(cursor.rid())),
            (Source::Tree(cursor), None) => Ok(RowLocator::Key(cursor.key().into())),
            (Source::Secondary { .. }, None) => Err(stale_plan()),
        }
    }

    /// The present row does not qualify: a lock that was taken only to look at it is given back.
    pub fn release_row(&mut self, txn: &DbTransaction) {
        match &mut self.source {
            Source::Heap(cursor) => cursor.release_row(txn.inner()),
            Source::Tree(cursor) => cursor.release_row(txn.inner()),
            Source::Secondary { cursor, .. } => {
                cursor.release_row(txn.inner());
                if let Some(locator) = &self.locator {
                    self.table.release(txn, locator, &self.options);
                }
            }
        }
    }
}

/// Locator and stored columns of an index entry's value.
pub(crate) fn split_entry<'a>(value: &'a [u8], base: &Base) -> Option<(RowLocator, &'a [u8])> {
    let length = usize::from(u16::from_le_bytes(*value.first_chunk::<2>()?));
    let locator = value.get(2..2 + length)?;
    let stored = &value[2 + length..];
    match base {
        Base::Heap(_) => Some((RowLocator::Heap(Rid::from_bytes(locator)?), stored)),
        Base::Tree(_) => Some((RowLocator::Key(locator.into()), stored)),
    }
}

fn damaged() -> SqlError {
    SqlError::custom(
        824,
        24,
        2,
        "The server found a logical consistency error: an index entry is damaged. Run DBCC CHECKDB.".into(),
    )
}
