//! Rows that a statement makes: converted, checked, and inserted many at a time.

use engine::{GatheredEntries, NewRow};
use plan_ir::physical::change::{Constraints, Store, StoreKind};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::{SqlError, Value};

use super::constraints::CheckRows;
use super::store::StoreValue;
use super::store::check_not_null;

/// The largest number of rows that are inserted together.
const ROWS_MAX: usize = 1_000;
/// Their approximate memory limit, unless one row alone takes more.
const BYTES_MAX: usize = 1 << 20;

/// New rows of one table on their way into it. Every row is made before those that are inserted with it are in the table.
pub struct NewRows<'p> {
    source: &'p TableSource,
    constraints: &'p Constraints,
    /// What messages call the statement.
    verb: &'p str,
    /// The first `count` of them are waiting, the others are buffers.
    rows: Vec<Row>,
    count: usize,
    bytes: usize,
    /// Which of the waiting rows have got an explicit value for the identity column.
    with_identity: Vec<usize>,
    entries: GatheredEntries,
    /// IGNORE_DUP_KEY of an INSERT's target: rows whose key already exists are left out.
    leaves_duplicates_out: bool,
    /// The rows claim to come in the order of the clustered index: the last one that came, `None` before the first.
    ordered: Option<Option<Ordered>>,
}

/// A row by its place in the order of the clustered index.
struct Ordered {
    key: Vec<u8>,
    shown: String,
}

impl<'p> NewRows<'p> {
    /// No rows yet for a table; `verb` is the statement in messages.
    pub fn new(source: &'p TableSource, constraints: &'p Constraints, verb: &'p str) -> NewRows<'p> {
        NewRows {
            source,
            constraints,
            verb,
            rows: Vec::new(),
            count: 0,
            bytes: 0,
            with_identity: Vec::new(),
            entries: GatheredEntries::default(),
            leaves_duplicates_out: false,
            ordered: None,
        }
    }

    /// The rows claim to come in the order of the clustered index.
    pub(crate) fn expect_order(&mut self, is_sorted: bool) {
        self.ordered = is_sorted.then_some(None);
    }

    /// Error 4819 when a row comes before the one in front of it, or equals it in a unique index.
    fn check_order(&mut self, row: &Row) -> Result<(), SqlError> {
        let Some(last) = &mut self.ordered else { return Ok(()) };
        let table = &self.source.table;
        let (key, shown) = (table.order_key(row), table.shown_order_key(row));
        if let Some(before) = last {
            let is_wrong = match self.source.def.base().unique {
                true => before.key >= key,
                false => before.key > key,
            };
            if is_wrong {
                return Err(SqlError::new(4819, &[&before.shown, &shown]));
            }
        }
        *last = Some(Ordered { key, shown });
        Ok(())
    }

    /// The rows of an INSERT, as which a MERGE does not count: indexes with IGNORE_DUP_KEY leave out rows whose key already exists.
    pub(crate) fn of_insert(source: &'p TableSource, constraints: &'p Constraints) -> NewRows<'p> {
        let leaves_duplicates_out = source.def.ignores_duplicates();
        NewRows { leaves_duplicates_out, ..NewRows::new(source, constraints, "INSERT") }
    }

    /// Makes and checks a row, which waits from now on.
    pub(crate) fn add(
        &mut self,
        runtime: &Runtime<'_>,
        stores: &[Store],
        input: &[Value],
    ) -> Result<(), SqlError> {
        assert!(!self.is_full(), "who adds rows puts them in");
        let mut row = self.rows.get_mut(self.count).map(std::mem::take).unwrap_or_default();
        make_row(runtime, self.source, stores, self.constraints, input, self.verb, &mut row)?;
        if self.ordered.is_some() {
            self.check_order(&row)?;
        }
        self.add_made(&mut row, explicit_identity(self.source, stores).is_some());
        Ok(())
    }

    /// A row that is as the table wants it waits from now on; the caller gets a buffer back.
    pub fn add_made(&mut self, row: &mut Row, has_given_identity: bool) {
        debug_assert_eq!(row.len(), self.source.def.columns.len(), "a row has each column");
        self.bytes += super::spill::row_bytes(row);
        if has_given_identity {
            self.with_identity.push(self.count);
        }
        match self.rows.get_mut(self.count) {
            Some(place) => std::mem::swap(place, row),
            None => self.rows.push(std::mem::take(row)),
        }
        self.count += 1;
    }

    /// Are so many waiting that they should be put in?
    pub fn is_full(&self) -> bool {
        self.count >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Inserts the waiting rows into the table, and returns the inserted ones. Their index entries may be inserted later, by `finish`, unless
    /// references are checked next: rows are visible before that check, so a transaction that deletes the referenced key meanwhile finds them.
    pub fn put_in(&mut self, runtime: &Runtime<'_>) -> Result<&[Row], SqlError> {
        if self.leaves_duplicates_out {
            return self.put_in_new(runtime);
        }
        let rows = &self.rows[..std::mem::take(&mut self.count)];
        self.bytes = 0;
        if rows.is_empty() {
            return Ok(rows);
        }
        let table = &self.source.table;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(table, runtime.options.isolation)?;
        table.insert_many(transaction, rows, &mut self.entries)?;
        if !self.constraints.references.is_empty() {
            table.insert_gathered_entries(transaction, &mut self.entries)?;
        }
        for at in self.with_identity.drain(..) {
            let value = &rows[at][self.source.def.identity_ordinal().expect("it has got a value")];
            table.note_identity(transaction, value)?;
            runtime.note_identity(value.clone());
        }
        Ok(rows)
    }

    /// Inserts the waiting rows one after the other, without those whose key already exists.
    fn put_in_new(&mut self, runtime: &Runtime<'_>) -> Result<&[Row], SqlError> {
        let count = std::mem::take(&mut self.count);
        let with_identity = std::mem::take(&mut self.with_identity);
        self.bytes = 0;
        let table = &self.source.table;
        let mut transactions = runtime.transactions.borrow_mut();
        let mut inserted = 0;
        for at in 0..count {
            let transaction = transactions.for_table(table, runtime.options.isolation)?;
            match table.insert_new(transaction, &self.rows[at])? {
                NewRow::LeftOut { in_silence: true } => continue,
                NewRow::LeftOut { in_silence: false } => {
                    runtime.note_duplicate_ignored();
                    continue;
                }
                NewRow::Inserted => {}
            }
            if with_identity.binary_search(&at).is_ok() {
                let ordinal = self.source.def.identity_ordinal().expect("it has got a value");
                let value = &self.rows[at][ordinal];
                table.note_identity(transaction, value)?;
                runtime.note_identity(value.clone());
            }
            self.rows.swap(inserted, at);
            inserted += 1;
        }
        Ok(&self.rows[..inserted])
    }

    /// Inserts the remaining index entries of the inserted rows.
    pub fn finish(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        assert_eq!(self.count, 0, "who adds rows puts them in");
        if self.entries.is_empty() {
            return Ok(());
        }
        let table = &self.source.table;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(table, runtime.options.isolation)?;
        table.insert_gathered_entries(transaction, &mut self.entries)
    }
}

/// Makes, checks and inserts one row; messages call the statement `verb`.
#[inline]
pub(super) fn insert_row(
    runtime: &Runtime<'_>,
    source: &TableSource,
    stores: &[Store],
    constraints: &Constraints,
    input: &[Value],
    verb: &str,
) -> Result<Row, SqlError> {
    let mut row = runtime.take_row();
    make_row(runtime, source, stores, constraints, input, verb, &mut row)?;
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
    source.table.insert(transaction, &row)?;
    if let Some(ordinal) = explicit_identity(source, stores) {
        source.table.note_identity(transaction, &row[ordinal])?;
        runtime.note_identity(row[ordinal].clone());
    }
    Ok(row)
}

/// Makes a row that no table takes: a trigger runs instead. It is not checked; an identity column has 0 and a row version nothing in it.
pub(super) fn row_for_trigger(
    runtime: &Runtime<'_>,
    source: &TableSource,
    stores: &[Store],
    constraints: &Constraints,
    input: &[Value],
) -> Result<Row, SqlError> {
    let mut row = vec![Value::Null; source.def.columns.len()];
    for store in stores {
        row[store.ordinal] = match &store.kind {
            StoreKind::Identity => number_of(&source.def.columns[store.ordinal].sql_type)?,
            StoreKind::RowVersion => Value::binary(&[0; 8]),
            _ => store.value(runtime, source, input)?,
        };
    }
    constraints.compute(runtime, &mut row)?;
    Ok(row)
}

/// The number 0 of an identity column's type.
fn number_of(sql_type: &types::SqlType) -> Result<Value, SqlError> {
    let context = types::ConvertContext::default();
    types::convert(&Value::Int(0), &types::SqlType::Int, sql_type, types::DEFAULT_STYLE, &context)
}

#[inline]
fn make_row(
    runtime: &Runtime<'_>,
    source: &TableSource,
    stores: &[Store],
    constraints: &Constraints,
    input: &[Value],
    verb: &str,
    row: &mut Row,
) -> Result<(), SqlError> {
    let columns = source.def.columns.len();
    row.clear();
    row.reserve(columns);
    for store in stores {
        let value = store.value(runtime, source, input)?;
        // Mostly one behind the other.
        if store.ordinal > row.len() {
            row.resize(store.ordinal, Value::Null);
        }
        match row.get_mut(store.ordinal) {
            Some(place) => *place = value,
            None => row.push(value),
        }
    }
    if row.len() < columns {
        row.resize(columns, Value::Null);
    }
    debug_assert_eq!(row.len(), columns, "a row has each column");
    constraints.compute(runtime, row)?;
    check_not_null(source, row, verb)?;
    constraints.check_row(runtime, source, row, verb)
}

/// The identity column when its value was given explicitly.
fn explicit_identity(source: &TableSource, stores: &[Store]) -> Option<usize> {
    let ordinal = source.def.identity_ordinal()?;
    let given = |store: &Store| store.ordinal == ordinal && !matches!(store.kind, StoreKind::Identity);
    stores.iter().any(given).then_some(ordinal)
}
