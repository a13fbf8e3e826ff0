//! What a hash join knows of its left rows before the first is read: their keys are among those of the right side. Whoever reads the rows asks that of
//! them where they lie; a join finds the few that come though they should not have.

use std::sync::Arc;

use engine::NumberSet;

/// More keys are not looked for: a set of them would not stay in the processor's caches.
pub(super) const KEYS_MAX: usize = 1 << 20;

/// The column at a position has a number of the set, or the row is not wanted.
#[derive(Clone, Debug)]
pub(super) struct RuntimeFilter {
    pub(super) position: usize,
    pub(super) set: Arc<NumberSet>,
}

/// What is asked of the columns of the left side of a join, and of the right side's.
pub(super) fn split(
    filters: Vec<RuntimeFilter>,
    left_width: usize,
) -> (Vec<RuntimeFilter>, Vec<RuntimeFilter>) {
    let (left, mut right): (Vec<RuntimeFilter>, Vec<RuntimeFilter>) =
        filters.into_iter().partition(|filter| filter.position < left_width);
    right.iter_mut().for_each(|filter| filter.position -= left_width);
    (left, right)
}
