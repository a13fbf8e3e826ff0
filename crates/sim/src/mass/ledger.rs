//! What the owners of tables have asked for and been told, and the oracle: a table is as its last acknowledged transaction has left it, or as the
//! one whose answer nobody has got.

use std::collections::BTreeMap;

use crate::client::Answer;

/// Rows by id, with the stamp of the transaction that made each.
pub(super) type Rows = BTreeMap<i64, i64>;

/// A table that one client changes.
#[derive(Default)]
struct Owned {
    /// As each acknowledged transaction has left it.
    settled: Vec<Rows>,
    /// As the transaction leaves it whose commit was asked for.
    asked: Option<Rows>,
}

/// All tables, outside the world.
#[derive(Default)]
pub(super) struct Ledger {
    tables: Vec<Owned>,
    pub(super) acknowledged: u64,
    /// What must not happen, as seen by clients.
    pub(super) sightings: Vec<String>,
}

impl Ledger {
    /// Tables as they are at first.
    pub(super) fn new(tables: u64, rows: &Rows) -> Ledger {
        let owned = || Owned { settled: vec![rows.clone()], asked: None };
        Ledger { tables: (0..tables).map(|_| owned()).collect(), ..Ledger::default() }
    }

    /// A table as it was left by its last acknowledged transaction.
    pub(super) fn rows(&self, table: u64) -> Rows {
        self.tables[table as usize].settled.last().expect("one at least").clone()
    }

    /// A commit is asked for that leaves the table so.
    pub(super) fn ask(&mut self, table: u64, rows: Rows) {
        let before = self.tables[table as usize].asked.replace(rows);
        assert!(before.is_none(), "a table has one owner");
    }

    /// It was acknowledged.
    pub(super) fn settle(&mut self, table: u64) {
        let owned = &mut self.tables[table as usize];
        owned.settled.push(owned.asked.take().expect("it was asked for"));
        self.acknowledged += 1;
    }

    /// It was refused, and nothing of it is there.
    pub(super) fn refuse(&mut self, table: u64) {
        self.tables[table as usize].asked = None;
    }

    /// How many states of a table are settled: a reader who begins now sees the last of them, or a later one.
    pub(super) fn position(&self, table: u64) -> usize {
        self.tables[table as usize].settled.len() - 1
    }

    /// Is it a state that a reader may see who began when there were so many?
    pub(super) fn may_be(&self, table: u64, position: usize, found: &Rows) -> bool {
        let owned = &self.tables[table as usize];
        owned.settled[position..].contains(found) || owned.asked.as_ref() == Some(found)
    }

    /// Judges what a recovered server shows; that counts from now on.
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

/// Says shortly what is missing and what is too much.
pub(super) fn difference(expected: &Rows, found: &Rows) -> String {
    let missing = expected.iter().filter(|(id, stamp)| found.get(id) != Some(stamp)).count();
    let foreign = found.iter().filter(|(id, stamp)| expected.get(id) != Some(stamp)).count();
    format!("{} rows expected, {} found, {missing} missing, {foreign} foreign", expected.len(), found.len())
}

/// Ids and stamps of an answer; an id that comes twice is an error.
pub(super) fn rows_of(answer: &Answer) -> Result<Rows, String> {
    let numbers = answer.numbers()?;
    let rows: Rows = numbers.iter().map(|row| (row[0], row[1])).collect();
    if rows.len() == numbers.len() { Ok(rows) } else { Err("an id comes twice".to_owned()) }
}
