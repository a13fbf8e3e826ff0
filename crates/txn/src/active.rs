//! The transactions that have written and not ended, in two orders: by number, and by a lower bound of their first record.
//!
//! Both are sorted lists: an insertion is at the end or near it, a removal near the front, and few transactions are open at a time, so nothing is
//! allocated and little is moved.

use std::collections::VecDeque;
use std::sync::Arc;

use log::{LogPin, Lsn, TxnId};

use crate::entry::XactEntry;

#[derive(Default)]
pub(crate) struct ActiveTable {
    /// By number, rising.
    entries: VecDeque<(TxnId, Arc<XactEntry>)>,
    /// (lower bound of its begin, number), rising. Bounds are read under the table's latch, so new entries go to the end.
    by_begin: VecDeque<(Lsn, TxnId)>,
    pub(crate) pin: Option<LogPin>,
}

impl ActiveTable {
    pub(crate) fn is_empty(&self) -> bool {
        assert_eq!(
            self.entries.is_empty(),
            self.by_begin.is_empty(),
            "both orders hold the same transactions"
        );
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// By number.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<XactEntry>> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// The least number.
    pub(crate) fn oldest_id(&self) -> Option<TxnId> {
        self.entries.front().map(|(id, _)| *id)
    }

    /// The least bound.
    pub(crate) fn oldest_bound(&self) -> Option<Lsn> {
        self.by_begin.front().map(|(bound, _)| *bound)
    }

    /// The greatest bound.
    pub(crate) fn newest_bound(&self) -> Option<Lsn> {
        self.by_begin.back().map(|(bound, _)| *bound)
    }

    /// `bound`: the transaction has no record below it.
    pub(crate) fn insert(&mut self, entry: &Arc<XactEntry>, bound: Lsn) {
        let id = entry.id;
        assert!(id.0 > 0 && !bound.is_null(), "transaction {id} has a number and begins somewhere");
        let before = insert_sorted(&mut self.entries, (id, Arc::clone(entry)), |(other, _)| *other < id);
        assert!(before.is_none_or(|(other, _)| *other > id), "transaction {id} is in the table once");
        let place = (bound, id);
        let before = insert_sorted(&mut self.by_begin, place, |other| *other < place);
        assert!(before.is_none_or(|other| *other > place), "transaction {id} begins once");
        self.assert_state();
    }

    /// False when it is not in the lists. `bound`: the one that it was inserted with.
    pub(crate) fn remove(&mut self, id: TxnId, bound: Lsn) -> bool {
        let Ok(at) = self.entries.binary_search_by_key(&id, |(other, _)| *other) else { return false };
        let gone = self.entries.remove(at);
        assert!(gone.is_some_and(|(_, entry)| entry.id == id), "the entry of {id} stands at its number");
        let at = self.by_begin.binary_search(&(bound, id));
        self.by_begin.remove(at.expect("both orders of the table hold the same transactions"));
        self.assert_state();
        true
    }

    fn assert_state(&self) {
        assert_eq!(self.entries.len(), self.by_begin.len(), "both orders hold the same transactions");
        #[cfg(debug_assertions)]
        {
            assert!(self.entries.iter().is_sorted_by(|one, other| one.0 < other.0), "numbers rise");
            assert!(self.by_begin.iter().is_sorted_by(|one, other| one < other), "bounds rise");
        }
    }
}

/// Inserts it behind all elements that are `below`; returns the next element.
fn insert_sorted<T>(list: &mut VecDeque<T>, new: T, below: impl Fn(&T) -> bool) -> Option<&T> {
    let at = if list.back().is_none_or(&below) { list.len() } else { list.partition_point(below) };
    assert!(at <= list.len(), "a place in the list");
    list.insert(at, new);
    list.get(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transactions enter in one order and leave in another; the oldest is known at each step.
    #[test]
    fn both_orders_know_the_oldest() {
        let mut table = ActiveTable::default();
        let bound = |n: u64| Lsn::new(3, 16 + n as u32, 1);
        // Numbers are assigned before the first record: a later number may begin earlier.
        let by_begin: Vec<u64> = (0..200).map(|n| n ^ 5).collect();
        for (at, &id) in by_begin.iter().enumerate() {
            let entry = Arc::new(XactEntry::new(TxnId(id + 1), 0));
            table.insert(&entry, bound(at as u64 / 2));
            assert_eq!(table.newest_bound(), Some(bound(at as u64 / 2)));
        }
        let mut left: Vec<(usize, u64)> = by_begin.iter().copied().enumerate().collect();
        let mut step = 7;
        while !left.is_empty() {
            assert_eq!(table.len(), left.len());
            assert_eq!(table.oldest_id(), left.iter().map(|(_, id)| TxnId(id + 1)).min());
            assert_eq!(table.oldest_bound(), left.iter().map(|(at, _)| bound(*at as u64 / 2)).min());
            assert!(table.entries().map(|entry| entry.id).is_sorted());
            step = (step * 31 + 17) % 1009;
            let (at, id) = left.swap_remove(step % left.len());
            assert!(table.remove(TxnId(id + 1), bound(at as u64 / 2)));
            assert!(!table.remove(TxnId(id + 1), bound(at as u64 / 2)), "it has left");
        }
        assert!(table.is_empty() && table.oldest_bound().is_none() && table.oldest_id().is_none());
    }
}
