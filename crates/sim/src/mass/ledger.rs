//! The requests and acknowledgements of the tables' owners, and the oracle: a table is as its last acknowledged transaction has left it, or as the
//! unanswered one has.

use std::collections::BTreeMap;

use crate::client::Answer;

/// Rows by id, with the stamp of the transaction that wrote each.
pub(super) type Rows = BTreeMap<i64, i64>;

/// A table that one client changes.
#[derive(Default)]
struct Owned {
    /// Its state after each acknowledged transaction.
    settled: Vec<Rows>,
    /// Its state after the transaction whose commit was requested.
    asked: Option<Rows>,
}

/// All tables, kept outside the world.
#[derive(Default)]
pub(super) struct Ledger {
    tables: Vec<Owned>,
    pub(super) acknowledged: u64,
    /// Violations that clients observed.
    pub(super) sightings: Vec<String>,
}

impl Ledger {
    /// The initial tables.
    pub(super) fn new(tables: u64, rows: &Rows) -> Ledger {
        let owned = || Owned { settled: vec![rows.clone()], asked: None };
        Ledger { tables: (0..tables).map(|_| owned()).collect(), ..Ledger::default() }
    }

    /// A table after its last acknowledged transaction.
    pub(super) fn rows(&self, table: u64) -> Rows {
        self.tables[table as usize].settled.last().expect("one at least").clone()
    }

    /// A commit is requested after which the table has these rows.
    pub(super) fn ask(&mut self, table: u64, rows: Rows) {
        let before = self.tables[table as usize].asked.replace(rows);
        assert!(before.is_none(), "a table has one owner");
    }

    /// The commit was acknowledged.
    pub(super) fn settle(&mut self, table: u64) {
        let owned = &mut self.tables[table as usize];
        owned.settled.push(owned.asked.take().expect("it was asked for"));
        self.acknowledged += 1;
    }

    /// The commit was refused without effect.
    pub(super) fn refuse(&mut self, table: u64) {
        self.tables[table as usize].asked = None;
    }

    /// Number of acknowledged states of a table: a reader that begins now sees the last of them, or a later one.
    pub(super) fn position(&self, table: u64) -> usize {
        self.tables[table as usize].settled.len() - 1
    }

    /// May a reader that began at `position` see this state?
    pub(super) fn may_be(&self, table: u64, position: usize, found: &Rows) -> bool {
        let owned = &self.tables[table as usize];
        owned.settled[position..].contains(found) || owned.asked.as_ref() == Some(found)
    }

    /// Judges the state that a recovered server shows, and takes it as the durable state.
    pub(super) fn judge(&mut self, shown: &[Rows]) -> Vec<String> {
        let mut violations = Vec::new();
        for (table, (owned, found)) in self.tables.iter_mut().zip(shown).enumerate() {
            let asked = owned.asked.take();
            let last = owned.settled.last().expect("one at least");
            if last != found && asked.as_ref() != Some(found) {
                violations.push(format!("TABLE part{table}: {}", difference(last, found)));
            }
            owned.settled = vec![found.clone()];
        }
        violations
    }
}

/// Describes briefly which rows are missing and which are unexpected.
pub(super) fn difference(expected: &Rows, found: &Rows) -> String {
    let missing = expected.iter().filter(|(id, stamp)| found.get(id) != Some(stamp)).count();
    let foreign = found.iter().filter(|(id, stamp)| expected.get(id) != Some(stamp)).count();
    format!("{} rows expected, {} found, {missing} missing, {foreign} foreign", expected.len(), found.len())
}

/// Ids and stamps of an answer; a duplicate id is an error.
pub(super) fn rows_of(answer: &Answer) -> Result<Rows, String> {
    let numbers = answer.numbers()?;
    let rows: Rows = numbers.iter().map(|row| (row[0], row[1])).collect();
    if rows.len() == numbers.len() { Ok(rows) } else { Err("an id comes twice".to_owned()) }
}
