//! What a hash join knows of its left rows before the first is read: their keys are among those of the right side. Whoever reads the rows asks that of
//! them where they lie; a join finds the few that come though they should not have.

use std::sync::Arc;

use engine::NumberSet;

/// More keys are not looked for: a set of them would not stay in the processor's caches.
pub(super) const KEYS_MAX: usize = 1 << 20;

/// The column at a position has a number of the set, or the row is not wanted.
#[derive(Clone, Debug)]
pub(super) struct Among {
    pub(super) position: usize,
    pub(super) set: Arc<NumberSet>,
}

/// What is asked of the columns of the left side of a join, and of the right side's.
pub(super) fn split(among: Vec<Among>, left_width: usize) -> (Vec<Among>, Vec<Among>) {
    let (left, mut right): (Vec<Among>, Vec<Among>) =
        among.into_iter().partition(|among| among.position < left_width);
    right.iter_mut().for_each(|among| among.position -= left_width);
    (left, right)
}
