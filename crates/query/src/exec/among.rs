//! What a hash join knows of its left rows before the first is read: their keys are among those of the right side. Whoever reads the rows asks that of
//! them where they lie; a join finds the few that come though they should not have.

use std::sync::Arc;

use engine::NumberSet;
use types::SqlError;

use super::measured::Measured;
use super::{hash_join, nested_loop, scan, simple, startup};
use crate::kinds::JoinKind;
use crate::physical::plan::{Node, Plan};
use crate::row_source::RowSource;
use crate::runtime::Runtime;

/// More keys are not looked for: a set of them would not stay in the processor's caches.
pub(super) const KEYS_MAX: usize = 1 << 20;

/// The column at a position has a number of the set, or the row is not wanted.
#[derive(Clone, Debug)]
pub(super) struct Among {
    pub(super) position: usize,
    pub(super) set: Arc<NumberSet>,
}

impl Plan {
    /// As [`Plan::open`]; rows that are not wanted may be left out.
    pub(super) fn open_among<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        among: Vec<Among>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError> {
        match runtime.profile() {
            _ if among.is_empty() => self.open(runtime),
            None => self.open_alone_among(runtime, among),
            Some(profile) => Measured::open(self, profile, || self.open_alone_among(runtime, among)),
        }
    }

    fn open_alone_among<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        among: Vec<Among>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError> {
        Ok(match self {
            Plan::Scan(plan) => scan::open_among(plan, runtime, &among)?,
            Plan::Filter { input, predicate } => {
                Box::new(simple::Filter { input: input.open_among(runtime, among)?, predicate })
            }
            Plan::Startup { input, predicate } => {
                let start = move |runtime: &Runtime<'_>| input.open_among(runtime, among.clone());
                Box::new(startup::Startup::open(predicate, Box::new(start), runtime)?)
            }
            Plan::Project { input, items } => {
                let below = among.into_iter().filter_map(|Among { position, set }| match &items[position] {
                    Node::Column(position) => Some(Among { position: *position, set }),
                    _ => None,
                });
                let input = input.open_among(runtime, below.collect())?;
                Box::new(simple::Project { input, items, buffer: Default::default() })
            }
            Plan::HashJoin(join) if join.kind != JoinKind::Full => {
                Box::new(hash_join::HashJoin::among(join, runtime, among))
            }
            Plan::NestedLoop(join) if join.kind != JoinKind::Full => {
                let (left, _) = split(among, join.left_width);
                nested_loop::open_with(join, join.left.open_among(runtime, left)?, runtime)
            }
            _ => self.open_alone(runtime)?,
        })
    }
}

/// What is asked of the columns of the left side of a join, and of the right side's.
pub(super) fn split(among: Vec<Among>, left_width: usize) -> (Vec<Among>, Vec<Among>) {
    let (left, mut right): (Vec<Among>, Vec<Among>) =
        among.into_iter().partition(|among| among.position < left_width);
    right.iter_mut().for_each(|among| among.position -= left_width);
    (left, right)
}
