//! The profile of a plan's run, operator by operator, for SET STATISTICS PROFILE and XML. It is gathered only on request.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

/// The actual figures of one operator in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actual {
    /// Rows that it gave, in all its executions.
    pub rows: u64,
    /// How often it was begun.
    pub executions: u64,
    /// How often it was read to its end.
    pub ends: u64,
}

/// The figures of one run, by the place in memory of the plan's nodes: a plan does not move while it runs or is described.
#[derive(Debug, Default, PartialEq)]
pub struct Profile {
    operators: RefCell<FxHashMap<usize, Actual>>,
    /// Rows that came from below the operator's own filter, or from what it keeps.
    handed: RefCell<FxHashMap<usize, u64>>,
}

fn place<T>(node: &T) -> usize {
    std::ptr::from_ref(node).addr()
}

impl Profile {
    /// An operator begins, anew or for the first time.
    pub fn note_begun<T>(&self, node: &T) {
        self.operators.borrow_mut().entry(place(node)).or_default().executions += 1;
    }

    /// It has given rows.
    pub fn note_rows<T>(&self, node: &T, rows: u64) {
        self.operators.borrow_mut().entry(place(node)).or_default().rows += rows;
    }

    /// It has no more rows.
    pub fn note_ended<T>(&self, node: &T) {
        self.operators.borrow_mut().entry(place(node)).or_default().ends += 1;
    }

    /// Rows have come to it from below.
    pub fn note_handed<T>(&self, node: &T, rows: u64) {
        *self.handed.borrow_mut().entry(place(node)).or_default() += rows;
    }

    /// The figures of an operator; zeros, if it did not run.
    pub fn of<T>(&self, node: &T) -> Actual {
        self.operators.borrow().get(&place(node)).copied().unwrap_or_default()
    }

    /// The rows that came to it.
    pub fn handed_to<T>(&self, node: &T) -> u64 {
        self.handed.borrow().get(&place(node)).copied().unwrap_or(0)
    }
}
