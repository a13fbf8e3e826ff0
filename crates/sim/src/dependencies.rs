//! Transactions that append to lists and read them, judged by a search for dependency cycles (in the manner of Adya, 2000, and of Elle,
//! Kingsbury and Alvaro 2020). The final lists show the order in which their elements were written; a list that was read shows which
//! transactions its reader has seen and which it has not.
//!
//! It depends on nothing but numbers, so that the tests of `access` can include this file, too.

use std::collections::{BTreeMap, BTreeSet};

/// The isolation promised to a transaction or one of its statements. All levels forbid G0 and G1; each also forbids what the levels before it forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// G0, G1a to G1c.
    Committed,
    /// Also G-single, and lost updates.
    Snapshot,
    /// Also G2.
    Serializable,
}

/// The reads (key, list) and appends (key, element) of a committed transaction, in order.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) level: Level,
    pub(crate) reads: Vec<(u32, Vec<u64>)>,
    pub(crate) appends: Vec<(u32, u64)>,
}

impl Done {
    pub(crate) fn new(level: Level) -> Done {
        Done { level, reads: Vec::new(), appends: Vec::new() }
    }
}

/// The outcome of all transactions.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) committed: Vec<Done>,
    /// Elements of transactions that were rolled back.
    pub(crate) aborted: BTreeSet<u64>,
}

/// The dependency graph: `seen` leads from a writer to the transactions that read or extended its writes, `unseen` from a reader to the writers
/// that it has not seen (anti-dependencies).
struct Graph {
    seen: Vec<BTreeSet<usize>>,
    unseen: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// Is there a path? It may leave transactions for which `also_unseen` is true by their `unseen` edges, too.
    fn reaches(&self, from: usize, to: usize, also_unseen: impl Fn(usize) -> bool) -> bool {
        let (mut found, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(at) = open.pop() {
            let more = self.unseen[at].iter().filter(|_| also_unseen(at));
            for &next in self.seen[at].iter().chain(more) {
                if next == to {
                    return true;
                }
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

/// Returns the number of dependencies, or the first anomaly. `lists`: their final state.
pub(crate) fn judge(history: &History, lists: &BTreeMap<u32, Vec<u64>>) -> Result<u64, String> {
    let writers = writers(history, lists)?;
    let graph = graph(history, lists, &writers)?;
    let count = history.committed.len();
    if let Some(at) = (0..count).find(|at| graph.reaches(*at, *at, |_| false)) {
        return Err(format!("G1c: {} depends on itself", name(history, at)));
    }
    let level = |at: usize| history.committed[at].level;
    for reader in (0..count).filter(|at| level(*at) > Level::Committed) {
        for &writer in &graph.unseen[reader] {
            let of_serializable =
                |at| level(reader) == Level::Serializable && level(at) == Level::Serializable;
            if graph.reaches(writer, reader, of_serializable) {
                let (reader, writer) = (name(history, reader), name(history, writer));
                return Err(format!("G-single or G2: {reader} has not seen {writer}, on whom it depends"));
            }
        }
    }
    Ok(graph.seen.iter().map(|edges| edges.len() as u64).sum())
}

/// A short description of a transaction.
fn name(history: &History, at: usize) -> String {
    let done = &history.committed[at];
    let reads: Vec<String> =
        done.reads.iter().map(|(key, list)| format!("{key} up to {:?}", list.last())).collect();
    format!("transaction {at} ({:?}, appends {:?}, reads {})", done.level, done.appends, reads.join(", "))
}

/// The writer of each element. Each committed element must exist once, and no other element may exist.
fn writers(history: &History, lists: &BTreeMap<u32, Vec<u64>>) -> Result<BTreeMap<u64, usize>, String> {
    let mut writers = BTreeMap::new();
    for (at, done) in history.committed.iter().enumerate() {
        for (key, element) in &done.appends {
            writers.insert(*element, at);
            if !lists.get(key).is_some_and(|list| list.contains(element)) {
                return Err(format!("lost: {element} of key {key}, by {}", name(history, at)));
            }
        }
    }
    let mut met = BTreeSet::new();
    for element in lists.values().flatten() {
        if history.aborted.contains(element) {
            return Err(format!("G1a: {element} was rolled back and stands there"));
        }
        if !writers.contains_key(element) || !met.insert(element) {
            return Err(format!("phantom: {element} was appended by nobody, or once"));
        }
    }
    Ok(writers)
}

fn graph(
    history: &History,
    lists: &BTreeMap<u32, Vec<u64>>,
    writers: &BTreeMap<u64, usize>,
) -> Result<Graph, String> {
    let nobody = vec![BTreeSet::new(); history.committed.len()];
    let mut graph = Graph { seen: nobody.clone(), unseen: nobody };
    for list in lists.values() {
        for pair in list.windows(2).filter(|pair| writers[&pair[0]] != writers[&pair[1]]) {
            graph.seen[writers[&pair[0]]].insert(writers[&pair[1]]);
        }
    }
    for (reader, done) in history.committed.iter().enumerate() {
        for (key, read) in &done.reads {
            let list = lists.get(key).ok_or_else(|| format!("key {key} was there"))?;
            if !list.starts_with(read) {
                return Err(format!("G1: key {key} was {read:?}, which it never was: {list:?}"));
            }
            let before = read.last().map(|element| writers[element]).filter(|writer| *writer != reader);
            let after =
                list.get(read.len()).map(|element| writers[element]).filter(|writer| *writer != reader);
            if let Some(before) = before {
                graph.seen[before].insert(reader);
                // The read list must end with the transaction's last element in it; otherwise the reader has seen only part of the transaction.
                if after == Some(before) {
                    return Err(format!("G1b: {read:?} ends in the middle of a transaction"));
                }
            }
            graph.unseen[reader].extend(after);
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod dependencies_tests {
    use super::*;

    type Part<'a> = (Level, &'a [(u32, &'a [u64])], &'a [(u32, u64)]);

    /// The first word of the verdict on these transactions and lists.
    fn judged(parts: &[Part<'_>], lists: &[(u32, &[u64])]) -> String {
        let done = |(level, reads, appends): &Part<'_>| Done {
            level: *level,
            reads: reads.iter().map(|(key, list)| (*key, list.to_vec())).collect(),
            appends: appends.to_vec(),
        };
        let history = History { committed: parts.iter().map(done).collect(), aborted: BTreeSet::from([666]) };
        let lists = lists.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        match judge(&history, &lists) {
            Ok(_) => String::new(),
            Err(wrong) => wrong.split(':').next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn each_level_forbids_what_it_promises() {
        // Two transactions that each read what the other appends to: write skew.
        let skew = |level| -> [Part<'static>; 2] {
            [(level, &[(1, &[]), (2, &[])], &[(1, 10)]), (level, &[(1, &[]), (2, &[])], &[(2, 20)])]
        };
        let lists: [(u32, &[u64]); 2] = [(1, &[10]), (2, &[20])];
        assert_eq!(judged(&skew(Level::Committed), &lists), "");
        assert_eq!(judged(&skew(Level::Snapshot), &lists), "", "which SNAPSHOT lets through");
        assert_eq!(judged(&skew(Level::Serializable), &lists), "G-single or G2");
        // A transaction that has seen half of another.
        let half = |level| -> [Part<'static>; 2] {
            [(Level::Committed, &[], &[(1, 10), (2, 20)]), (level, &[(1, &[10]), (2, &[])], &[])]
        };
        assert_eq!(judged(&half(Level::Committed), &lists), "");
        assert_eq!(judged(&half(Level::Snapshot), &lists), "G-single or G2");
    }

    #[test]
    fn what_no_level_allows_is_told() {
        let one: Part<'_> = (Level::Committed, &[], &[(1, 10), (1, 11)]);
        assert_eq!(judged(&[one], &[(1, &[10, 11])]), "");
        assert_eq!(judged(&[one], &[(1, &[10])]), "lost");
        assert_eq!(judged(&[one], &[(1, &[10, 11, 666])]), "G1a");
        assert_eq!(judged(&[one], &[(1, &[10, 11, 12])]), "phantom");
        assert_eq!(judged(&[one], &[(1, &[10, 11, 10])]), "phantom");
        let reader = |list: &'static [u64]| -> String {
            let read = [(1, list)];
            judged(&[one, (Level::Committed, &read, &[])], &[(1, &[10, 11])])
        };
        assert_eq!([reader(&[]), reader(&[10]), reader(&[11]), reader(&[10, 11])], ["", "G1b", "G1", ""]);
        let circle: [Part<'_>; 2] =
            [(Level::Committed, &[(2, &[20])], &[(1, 10)]), (Level::Committed, &[(1, &[10])], &[(2, 20)])];
        assert_eq!(judged(&circle, &[(1, &[10]), (2, &[20])]), "G1c");
    }
}
