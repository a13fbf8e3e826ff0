//! Runtime filters of hash joins: a probe row qualifies only if its key is among the keys of the build side. The scan of the probe side tests
//! its rows by this set. The join still looks up each key, so the set may admit rows without a match.

use std::sync::Arc;

use engine::NumberSet;

/// Beyond this number of keys there is no filter: the set would not stay in the processor's caches.
pub(super) const KEYS_MAX: usize = 1 << 20;

/// A row qualifies if the column at `position` has a number of the set.
#[derive(Clone, Debug)]
pub(super) struct RuntimeFilter {
    pub(super) position: usize,
    pub(super) set: Arc<NumberSet>,
}

/// Splits filters into those on columns of the left side of a join and those on the right side.
pub(super) fn split(
    filters: Vec<RuntimeFilter>,
    left_width: usize,
) -> (Vec<RuntimeFilter>, Vec<RuntimeFilter>) {
    let (left, mut right): (Vec<RuntimeFilter>, Vec<RuntimeFilter>) =
        filters.into_iter().partition(|filter| filter.position < left_width);
    right.iter_mut().for_each(|filter| filter.position -= left_width);
    (left, right)
}
