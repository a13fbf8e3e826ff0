//! The ledger of scenario `schema`: the expected tables after each transaction of each client; the versions of the common marks whose
//! commit was requested; the databases that were created and dropped.
//!
//! A recovered server shows, for each client, the number of its last transaction. That transaction must be one that may exist, no transaction
//! that must exist may follow it, and the tables are exactly those after it: schema, rows and indexes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contest_state::Contest;
use super::model::{Tables, difference};
use crate::sql_ledger::Stage;

/// A new version of a mark, by the mark's number; `None`: it was deleted.
pub(crate) type MarkWrite = (i64, Option<i64>);

/// One transaction of a client.
#[derive(Clone, Debug)]
struct Entry {
    number: i64,
    started: u64,
    stage: Stage,
    /// It was committed as fully durable.
    is_full: bool,
    /// The tables after it.
    after: Arc<Tables>,
}

/// One client's transactions in order.
#[derive(Clone, Debug, Default)]
struct Chain {
    /// The state that the last recovery showed.
    base: (i64, Arc<Tables>),
    entries: Vec<Entry>,
}

/// All attempts and acknowledgements.
#[derive(Default)]
pub(crate) struct SchemaLedger {
    chains: Vec<Chain>,
    stamp: u64,
    flushed_before: u64,
    /// Progress of the transaction that wrote each version of a mark.
    marks: BTreeMap<i64, Stage>,
    /// Writers of marks in the order of their commit requests. That is the order of the writers of each mark, since they lock it.
    mark_writes: Vec<(usize, i64, MarkWrite)>,
    /// The marks as of the last recovery.
    marks_base: BTreeMap<i64, i64>,
    /// Versions seen by readers at levels that read committed data only.
    seen: BTreeSet<i64>,
    /// The table whose name all authors use.
    pub(crate) contest: Contest,
    databases: BTreeMap<String, DatabaseStage>,
    /// Progress of adding and removing the second data file; `None`: never attempted.
    pub(crate) second_file: Option<DatabaseStage>,
    /// Rows acknowledged in each database, and attempted.
    rows: BTreeMap<String, (i64, i64)>,
    /// Violations that clients observed.
    pub(crate) sightings: Vec<String>,
    /// Committed changes by kind.
    pub(crate) changes: BTreeMap<&'static str, u64>,
}

/// Progress of creating and dropping a database or one of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseStage {
    /// CREATE was requested: it may exist.
    Creating,
    /// CREATE was acknowledged: it must exist.
    There,
    /// DROP was requested: it may exist.
    Dropping,
    /// DROP was acknowledged: it must not exist.
    Gone,
}

/// One client's data on a recovered server.
pub(crate) struct Shown {
    pub(crate) number: i64,
    pub(crate) tables: Tables,
}

impl SchemaLedger {
    pub(crate) fn new(clients: usize) -> SchemaLedger {
        SchemaLedger { chains: vec![Chain::default(); clients], ..SchemaLedger::default() }
    }

    /// The next stamp.
    pub(crate) fn tick(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// The tables and the number with which a client's next life begins.
    pub(crate) fn base(&self, client: usize) -> (i64, Arc<Tables>) {
        self.chains[client].base.clone()
    }

    /// A client's transaction begins.
    pub(crate) fn begin(&mut self, client: usize, number: i64) {
        let started = self.tick();
        let entries = &mut self.chains[client].entries;
        assert!(entries.last().is_none_or(|last| last.number < number), "numbers rise");
        let stage = Stage::Open;
        entries.push(Entry { number, started, stage, is_full: false, after: Arc::default() });
    }

    /// It requests its commit, after which the tables are these and the marks have these versions.
    pub(crate) fn committing(
        &mut self,
        client: usize,
        after: Arc<Tables>,
        marks: &[MarkWrite],
        is_full: bool,
    ) {
        let entry = self.chains[client].entries.last_mut().expect("it has begun");
        entry.stage = Stage::Committing;
        entry.is_full = is_full;
        entry.after = after;
        let number = entry.number;
        self.marks.extend(marks.iter().filter_map(|(_, version)| Some(((*version)?, Stage::Committing))));
        self.mark_writes.extend(marks.iter().map(|mark| (client, number, *mark)));
    }

    /// A reader has seen this version of a mark as committed.
    pub(crate) fn has_seen(&mut self, version: i64) {
        self.seen.insert(version);
    }

    /// It is rolled back, or its commit was never requested.
    pub(crate) fn rolled_back(&mut self, client: usize) {
        self.chains[client].entries.last_mut().expect("it has begun").stage = Stage::RolledBack;
    }

    /// Its commit is acknowledged.
    pub(crate) fn acknowledge(&mut self, client: usize, is_full: bool) {
        let stamp = self.tick();
        let stage = if is_full { Stage::Full(stamp) } else { Stage::Delayed(stamp) };
        self.chains[client].entries.last_mut().expect("it has begun").stage = stage;
    }

    /// sys.sp_flush_log, called at this stamp, has returned.
    pub(crate) fn flushed(&mut self, called_at: u64) {
        self.flushed_before = self.flushed_before.max(called_at);
    }

    /// An orderly stop: no acknowledged commit may be lost.
    pub(crate) fn drained(&mut self) {
        self.flushed_before = self.tick();
    }

    /// Acknowledged commits so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        let is_acknowledged = |entry: &&Entry| matches!(entry.stage, Stage::Full(_) | Stage::Delayed(_));
        self.chains.iter().map(|chain| chain.entries.iter().filter(is_acknowledged).count() as u64).sum()
    }

    /// May a reader see this version of a mark now?
    pub(crate) fn may_be_seen(&self, version: i64) -> bool {
        version == 0 || self.marks.contains_key(&version)
    }

    /// Sets the progress of a database.
    pub(crate) fn database(&mut self, name: &str, stage: DatabaseStage) {
        self.databases.insert(name.to_owned(), stage);
    }

    /// A row of that database was attempted, or acknowledged.
    pub(crate) fn row(&mut self, name: &str, is_acknowledged: bool) {
        let rows = self.rows.entry(name.to_owned()).or_default();
        *(if is_acknowledged { &mut rows.0 } else { &mut rows.1 }) += 1;
    }

    /// Judges whether a recovered database has the second data file, and takes its answer as the durable state.
    pub(crate) fn judge_second_file(&mut self, is_there: bool) -> Option<String> {
        let before =
            self.second_file.replace(if is_there { DatabaseStage::There } else { DatabaseStage::Gone });
        match before.unwrap_or(DatabaseStage::Gone) {
            DatabaseStage::There if !is_there => Some("LOST: the second data file".to_owned()),
            DatabaseStage::Gone if is_there => Some("PHANTOM: the second data file was removed".to_owned()),
            _ => None,
        }
    }

    /// Judges the databases that a recovered server lists, with their rows (`None`: unreadable), and takes them as the durable state.
    pub(crate) fn judge_databases(&mut self, shown: &BTreeMap<String, Option<i64>>) -> Vec<String> {
        let mut violations = Vec::new();
        for (name, stage) in &self.databases {
            match (stage, shown.get(name)) {
                (DatabaseStage::There, None) => violations.push(format!("LOST: database {name}")),
                (DatabaseStage::Gone, Some(_)) => {
                    violations.push(format!("PHANTOM: database {name} was dropped"))
                }
                (DatabaseStage::There, Some(None)) => violations.push(format!("UNREADABLE: database {name}")),
                (DatabaseStage::There, Some(Some(count))) => {
                    let (acknowledged, asked) = self.rows.get(name).copied().unwrap_or_default();
                    if !(acknowledged..=asked).contains(count) {
                        violations.push(format!(
                            "LOST: {count} rows in database {name}, acknowledged {acknowledged}, asked for {asked}"
                        ));
                    }
                }
                _ => {}
            }
        }
        for name in shown.keys().filter(|name| !self.databases.contains_key(*name)) {
            violations.push(format!("PHANTOM: database {name} was never made"));
        }
        for (name, stage) in &mut self.databases {
            *stage = if shown.contains_key(name) { DatabaseStage::There } else { DatabaseStage::Gone };
        }
        for (name, rows) in &mut self.rows {
            let count = shown.get(name).copied().flatten().unwrap_or(0);
            *rows = (count, count);
        }
        violations
    }

    /// The databases that exist according to the ledger.
    pub(crate) fn databases_there(&self) -> Vec<String> {
        let is_there = |(_, stage): &(&String, &DatabaseStage)| **stage == DatabaseStage::There;
        self.databases.iter().filter(is_there).map(|(name, _)| name.clone()).collect()
    }

    /// Judges each client's data and the marks of a recovered server, and takes them as the durable state.
    pub(crate) fn judge(&mut self, shown: &[Shown], marks: &BTreeMap<i64, i64>) -> Vec<String> {
        let mut violations = Vec::new();
        let mut last_start = 0;
        for (chain, shown) in self.chains.iter().zip(shown) {
            let last = chain.entries.iter().find(|entry| entry.number == shown.number);
            last_start = last_start.max(last.map_or(0, |entry| entry.started));
        }
        for (client, (chain, shown)) in self.chains.iter().zip(shown).enumerate() {
            judge_chain(client, chain, shown, (self.flushed_before, last_start), &mut violations);
        }
        for (id, version) in marks {
            if !self.may_be_seen(*version) {
                violations.push(format!("PHANTOM: mark {id} has version {version}"));
            }
        }
        self.judge_marks(shown, marks, &mut violations);
        self.judge_seen(shown, &mut violations);
        let stamp = self.tick();
        self.flushed_before = stamp;
        for (chain, shown) in self.chains.iter_mut().zip(shown) {
            *chain = Chain { base: (shown.number, Arc::new(shown.tables.clone())), entries: Vec::new() };
        }
        self.marks = marks.values().map(|version| (*version, Stage::Full(stamp))).collect();
        self.marks_base = marks.clone();
        self.mark_writes.clear();
        self.seen.clear();
        violations
    }

    /// Each mark must be as the last surviving transaction that wrote it left it.
    fn judge_marks(&self, shown: &[Shown], marks: &BTreeMap<i64, i64>, violations: &mut Vec<String>) {
        let mut expected = self.marks_base.clone();
        for (client, number, (id, version)) in &self.mark_writes {
            if *number > shown[*client].number {
                continue;
            }
            match version {
                Some(version) => drop(expected.insert(*id, *version)),
                None => drop(expected.remove(id)),
            }
        }
        let ids: BTreeSet<&i64> = expected.keys().chain(marks.keys()).collect();
        for id in ids {
            // Marks that were never written have version 0.
            let (found, wanted) = (marks.get(id), expected.get(id));
            if found != wanted && !(wanted.is_none() && found == Some(&0)) {
                violations
                    .push(format!("TORN: mark {id} has version {found:?}, its last writer left {wanted:?}"));
            }
        }
    }

    /// A crash may not lose a fully durable commit that a reader has seen as committed.
    fn judge_seen(&self, shown: &[Shown], violations: &mut Vec<String>) {
        for (client, (chain, shown)) in self.chains.iter().zip(shown).enumerate() {
            let lost = chain.entries.iter().filter(|entry| entry.number > shown.number && entry.is_full);
            for entry in lost {
                let versions = self.seen.range(entry.number << 4..(entry.number + 1) << 4);
                violations.extend(versions.map(|version| {
                    format!(
                        "SEEN: version {version} of client {client}'s transaction {} was seen, then lost",
                        entry.number
                    )
                }));
            }
        }
    }
}

fn judge_chain(
    client: usize,
    chain: &Chain,
    shown: &Shown,
    (flushed_before, last_start): (u64, u64),
    violations: &mut Vec<String>,
) {
    let number = shown.number;
    let expected = if number == chain.base.0 {
        Some(&chain.base.1)
    } else {
        let entry = chain.entries.iter().find(|entry| entry.number == number);
        match entry.map(|entry| entry.stage) {
            None => violations.push(format!("PHANTOM: client {client} never began transaction {number}")),
            Some(Stage::Open | Stage::RolledBack) => {
                violations.push(format!("PHANTOM: transaction {number} of client {client} was not committed"))
            }
            Some(_) => {}
        }
        entry.map(|entry| &entry.after)
    };
    for entry in chain.entries.iter().filter(|entry| entry.number > number) {
        match entry.stage {
            Stage::Full(_) => {
                violations.push(format!("LOST: transaction {} of client {client}", entry.number))
            }
            Stage::Delayed(at) if at < flushed_before => violations.push(format!(
                "LOSTD: transaction {} of client {client} was acknowledged before a flush",
                entry.number
            )),
            Stage::Delayed(at) if at < last_start => violations.push(format!(
                "HOLE: transaction {} of client {client} is lost, a later one is there",
                entry.number
            )),
            _ => {}
        }
    }
    if let Some(what) = expected.and_then(|expected| difference(expected, &shown.tables)) {
        violations.push(format!("TORN: client {client} behind transaction {number}: {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::model::{Kind, Table};

    fn tables(count: usize) -> Tables {
        let table =
            Table { kind: Kind::Heap, added: Vec::new(), indexes: BTreeMap::new(), rows: BTreeMap::new() };
        (0..count).map(|at| (format!("t{at}"), table.clone())).collect()
    }

    /// Transactions 1 (full, one table), 2 (delayed, two), 3 (delayed, three), 4 (rolled back), 5 (commit requested, five).
    fn five() -> SchemaLedger {
        let mut ledger = SchemaLedger::new(1);
        for number in 1..=5 {
            ledger.begin(0, number);
            if number == 4 {
                ledger.rolled_back(0);
                continue;
            }
            let mark = (number, Some(number << 4));
            ledger.committing(0, Arc::new(tables(number as usize)), &[mark], number == 1 || number == 5);
            if number < 4 {
                ledger.acknowledge(0, number == 1);
            }
        }
        ledger
    }

    fn judged(ledger: &mut SchemaLedger, number: i64, count: usize) -> Vec<String> {
        let shown = [Shown { number, tables: tables(count) }];
        let is_there = |id: &i64| *id <= number && *id != 4 && !ledger.marks_base.contains_key(id);
        let mut marks = ledger.marks_base.clone();
        marks.extend((1..=5).filter(is_there).map(|id| (id, id << 4)));
        let violations = ledger.judge(&shown, &marks);
        violations.iter().map(|text| text.split(':').next().unwrap_or("").to_owned()).collect()
    }

    #[test]
    fn the_oracle_judges() {
        for number in [1, 2, 3, 5] {
            assert!(judged(&mut five(), number, number as usize).is_empty(), "{number}");
        }
        assert_eq!(judged(&mut five(), 0, 0), ["LOST"]);
        assert_eq!(judged(&mut five(), 4, 0), ["PHANTOM"]);
        assert_eq!(judged(&mut five(), 9, 0), ["PHANTOM"]);
        let mut seen = five();
        seen.has_seen(3 << 4);
        assert!(judged(&mut seen, 2, 2).is_empty(), "a delayed commit may be seen and lost");
        let mut seen = five();
        seen.has_seen(5 << 4);
        assert_eq!(judged(&mut seen, 3, 3), ["SEEN"]);
        assert_eq!(judged(&mut five(), 2, 1), ["TORN"]);
        let mut drained = five();
        drained.drained();
        assert_eq!(judged(&mut drained, 1, 1), ["LOSTD", "LOSTD"]);
        let mut again = five();
        assert!(judged(&mut again, 2, 2).is_empty());
        assert_eq!(judged(&mut again, 2, 1), ["TORN"], "what recovery has shown stays");
    }

    #[test]
    fn versions_that_nobody_committed_are_no_sight() {
        let mut ledger = five();
        assert!(ledger.may_be_seen(0) && ledger.may_be_seen(5 << 4) && !ledger.may_be_seen(4 << 4));
        let shown = [Shown { number: 5, tables: tables(5) }];
        let marks = BTreeMap::from([(1, 4 << 4), (2, 2 << 4), (3, 3 << 4), (5, 5 << 4)]);
        let violations = ledger.judge(&shown, &marks);
        assert!(violations[0].starts_with("PHANTOM: mark 1") && violations[1].starts_with("TORN: mark 1"));
        assert_eq!(violations.len(), 2);
    }

    #[test]
    fn marks_are_as_their_last_writer_left_them() {
        let shown = |number| [Shown { number, tables: tables(number as usize) }];
        let written = BTreeMap::from([(1, 1 << 4), (2, 2 << 4), (3, 3 << 4)]);
        assert!(five().judge(&shown(3), &written).is_empty());
        let lost = BTreeMap::from([(1, 1 << 4), (3, 3 << 4), (7, 0)]);
        assert!(five().judge(&shown(3), &lost)[0].starts_with("TORN: mark 2"), "7 was there at first");
        let mut gone = five();
        gone.begin(0, 6);
        gone.committing(0, Arc::new(tables(6)), &[(1, None)], false);
        assert_eq!(
            gone.judge(&shown(6), &BTreeMap::from([(1, 1 << 4), (5, 5 << 4), (2, 32), (3, 48)])).len(),
            1
        );
    }

    #[test]
    fn databases_are_there_or_gone() {
        let mut ledger = SchemaLedger::new(0);
        for (name, stage) in [
            ("a", DatabaseStage::There),
            ("b", DatabaseStage::Gone),
            ("c", DatabaseStage::Creating),
            ("d", DatabaseStage::Dropping),
        ] {
            ledger.database(name, stage);
        }
        ledger.row("a", false);
        ledger.row("a", true);
        let there = |names: &[(&str, i64)]| {
            names.iter().map(|(name, rows)| ((*name).to_owned(), Some(*rows))).collect::<BTreeMap<_, _>>()
        };
        assert!(ledger.judge_databases(&there(&[("a", 1), ("c", 0)])).is_empty());
        assert_eq!(ledger.judge_databases(&there(&[("a", 0), ("b", 0)])).len(), 3, "rows of a, b, and c");
    }
}
