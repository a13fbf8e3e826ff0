//! The plans of a statement with ranges between variables: beside the general plan one for each order of magnitude of their widths.

use std::sync::Arc;

use os::{Latch, LatchRank};
use plan_ir::bound::variable_ranges::{Magnitudes, VariableRange, magnitudes};
use types::Value;

/// A statement keeps so many plans beside its general one.
const PLANS_MAX: usize = 4;

/// The ranges of a statement, and its plans by their magnitudes.
pub(crate) struct RangedPlans<T> {
    pub(crate) ranges: Vec<VariableRange>,
    kept: Latch<Vec<(Magnitudes, Arc<T>)>>,
}

impl<T> RangedPlans<T> {
    pub(crate) fn new(ranges: Vec<VariableRange>) -> RangedPlans<T> {
        RangedPlans { ranges, kept: Latch::new(LatchRank::PlanCache, Vec::new()) }
    }

    /// The magnitudes for which there is or may be a plan of their own.
    #[inline]
    pub(crate) fn magnitudes(&self, variables: &[Value]) -> Option<Magnitudes> {
        magnitudes(&self.ranges, variables)
    }

    /// The plan for these magnitudes; `Err`: there is none, and whether there is room for one.
    pub(crate) fn find(&self, wanted: &Magnitudes) -> Result<Arc<T>, bool> {
        let kept = self.kept.lock();
        let found = kept.iter().find(|(magnitudes, _)| magnitudes == wanted);
        found.map(|(_, plan)| plan.clone()).ok_or(kept.len() < PLANS_MAX)
    }

    /// Keeps a plan, in place of an earlier one for the same magnitudes.
    pub(crate) fn keep(&self, of: Magnitudes, plan: &Arc<T>) {
        let mut kept = self.kept.lock();
        kept.retain(|(magnitudes, _)| *magnitudes != of);
        if kept.len() < PLANS_MAX {
            kept.push((of, plan.clone()));
        }
    }

    /// Drops the plan for these magnitudes.
    pub(crate) fn forget(&self, of: &Magnitudes) {
        self.kept.lock().retain(|(magnitudes, _)| magnitudes != of);
    }
}

#[cfg(test)]
mod tests {
    use super::{PLANS_MAX, RangedPlans};
    use std::sync::Arc;

    #[test]
    fn a_few_plans_are_kept_and_replaced() {
        let plans = RangedPlans::new(Vec::new());
        let of = |number: usize| [number as u8; 8];
        (0..=PLANS_MAX).for_each(|number| plans.keep(of(number), &Arc::new(number)));
        assert_eq!(plans.find(&of(PLANS_MAX - 1)), Ok(Arc::new(PLANS_MAX - 1)));
        assert_eq!(plans.find(&of(PLANS_MAX)), Err(false), "no room");
        plans.keep(of(1), &Arc::new(7));
        assert_eq!(plans.find(&of(1)), Ok(Arc::new(7)));
        plans.forget(&of(1));
        assert_eq!(plans.find(&of(1)), Err(true));
    }
}
