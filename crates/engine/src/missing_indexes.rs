//! Missing indexes: indexes by which statements would have found their rows, with the number of plans that asked for them and of their runs.
//!
//! They are kept in memory, [`MISSING_INDEXES_MAX`] per database at most, and forgotten when the database is closed. An entry is valid for the
//! definition of its table: a change of that (an index created or dropped, a column added) removes it.

use std::sync::Arc;

use os::{Latch, LatchRank};
use rustc_hash::FxHashMap;
use types::DateTime;

use crate::schema::{ObjectId, TableDef};

/// The most that are kept (SQL Server's limit); a further one is ignored.
pub const MISSING_INDEXES_MAX: usize = 600;

/// An index that a plan asks for: columns by `column_id`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MissingIndex {
    /// The table.
    pub object_id: ObjectId,
    /// Columns that are compared for equality.
    pub equality: Vec<i32>,
    /// Columns that are compared otherwise.
    pub inequality: Vec<i32>,
    /// Other columns that the statement needs.
    pub included: Vec<i32>,
}

/// The figures of a missing index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissingIndexFigures {
    /// Its number in the database, from 1.
    pub number: i32,
    /// The number of plans that asked for it.
    pub compiles: i64,
    /// The number of their runs.
    pub seeks: i64,
    /// The time of the last run: UTC in ticks of 100 ns since 0001-01-01.
    pub last_seek: i64,
    /// The estimated cost of the runs together.
    pub cost_total: f64,
    /// By how many per cent the index would have reduced that, summed.
    pub impact_total: f64,
}

/// A run of a plan that asks for an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissedRun {
    /// It is the plan's first.
    pub is_first: bool,
    /// Its estimated cost.
    pub cost: f64,
    /// By how many per cent the index would reduce that.
    pub impact: f64,
    /// UTC in ticks of 100 ns since 0001-01-01.
    pub now: i64,
}

/// The missing indexes of a database. See the heading.
pub struct MissingIndexes {
    state: Latch<State>,
}

#[derive(Default)]
struct State {
    last_number: i32,
    wishes: FxHashMap<MissingIndex, (Shape, MissingIndexFigures)>,
}

/// Identifies a version of a table's definition.
#[derive(Clone, PartialEq)]
struct Shape {
    modified: DateTime,
    next_column_id: i32,
    indexes: Vec<i32>,
}

impl Shape {
    fn of(table: &TableDef) -> Shape {
        Shape {
            modified: table.modify_date,
            next_column_id: table.next_column_id,
            indexes: table.indexes.iter().map(|index| index.index_id).collect(),
        }
    }
}

impl Default for MissingIndexes {
    fn default() -> MissingIndexes {
        MissingIndexes { state: Latch::new(LatchRank::Stats, State::default()) }
    }
}

impl MissingIndexes {
    /// A plan that asks for the index has begun to run.
    pub fn note(&self, table: &TableDef, index: &MissingIndex, run: MissedRun) {
        let mut state = self.state.lock();
        let shape = Shape::of(table);
        let is_known = state.wishes.get(index).is_some_and(|(known, _)| *known == shape);
        if !is_known {
            state.wishes.retain(|wish, (known, _)| wish.object_id != index.object_id || *known == shape);
            if state.wishes.len() >= MISSING_INDEXES_MAX {
                return;
            }
            state.last_number += 1;
            let figures = MissingIndexFigures { number: state.last_number, ..Default::default() };
            state.wishes.insert(index.clone(), (shape, figures));
        }
        let (_, figures) = state.wishes.get_mut(index).expect("it is there or was put there");
        // A plan that is older than the entry, which was removed meanwhile, counts as a new one.
        figures.compiles += i64::from(run.is_first || figures.compiles == 0);
        figures.seeks += 1;
        figures.last_seek = run.now;
        figures.cost_total += run.cost;
        figures.impact_total += run.impact;
    }

    /// All that are valid for the present definitions, by number; removes the others.
    pub fn all(
        &self,
        table_of: &dyn Fn(ObjectId) -> Option<Arc<TableDef>>,
    ) -> Vec<(Arc<TableDef>, MissingIndex, MissingIndexFigures)> {
        let noted: Vec<_> = {
            let state = self.state.lock();
            state.wishes.iter().map(|(wish, (shape, told))| (wish.clone(), shape.clone(), *told)).collect()
        };
        let (mut found, mut ended) = (Vec::new(), Vec::new());
        for (wish, shape, figures) in noted {
            match table_of(wish.object_id).filter(|table| Shape::of(table) == shape) {
                Some(table) => found.push((table, wish, figures)),
                None => ended.push((wish, figures.number)),
            }
        }
        let mut state = self.state.lock();
        for (wish, number) in ended {
            if state.wishes.get(&wish).is_some_and(|(_, figures)| figures.number == number) {
                state.wishes.remove(&wish);
            }
        }
        found.sort_by_key(|(_, _, figures)| figures.number);
        found
    }
}
