//! Nested loops: joins on any predicate, index lookups with outer values, and APPLY.

use std::rc::Rc;

use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::NestedLoopPlan;
use plan_ir::profile::Profile;
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::operations::{Open, Test};
use super::simple::pad_nulls;
use crate::spill::store::{RowStore, Walk};

/// Picks the form: the right side kept in memory, or run again for each left row.
pub(crate) fn open<'p>(
    plan: &'p NestedLoopPlan,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    Ok(open_with(plan, plan.left.open(runtime)?, runtime))
}

/// Picks the form, with the left side already open.
pub(super) fn open_with<'p>(
    plan: &'p NestedLoopPlan,
    left: Box<dyn RowSource + 'p>,
    runtime: &Runtime<'_>,
) -> Box<dyn RowSource + 'p> {
    assert!(plan.keep_right || plan.kind != JoinKind::Full, "right rows that none has found are kept");
    debug_assert!(
        plan.pass.iter().all(|(position, _)| *position < plan.left_width),
        "what is handed to the right side is of the left row"
    );
    if plan.keep_right {
        return Box::new(KeptLoop {
            plan,
            left,
            right: None,
            matched: Vec::new(),
            left_row: Row::new(),
            walk: Walk::default(),
            in_row: false,
            found: false,
            unmatched: None,
            profile: runtime.profile().cloned(),
        });
    }
    assert!(plan.kind != JoinKind::Full, "a full join never has a dependent right side");
    Box::new(DependentLoop {
        plan,
        left,
        right: None,
        in_row: false,
        left_row: Row::new(),
        right_row: Row::new(),
        found: false,
    })
}

struct DependentLoop<'p> {
    plan: &'p NestedLoopPlan,
    left: Box<dyn RowSource + 'p>,
    /// Kept from one left row to the next, if it can restart.
    right: Option<Box<dyn RowSource + 'p>>,
    /// The current left row has right rows that have not been read.
    in_row: bool,
    left_row: Row,
    right_row: Row,
    found: bool,
}

impl DependentLoop<'_> {
    /// Takes the next left row and starts the right side for it.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        if !self.left.next(runtime, &mut self.left_row)? {
            return Ok(false);
        }
        debug_assert_eq!(self.left_row.len(), self.plan.left_width, "a left row has the width of its plan");
        runtime.set_params(&self.plan.pass, &self.left_row);
        let begins_anew = match &mut self.right {
            Some(right) => right.again(runtime)?,
            None => false,
        };
        if !begins_anew {
            self.right = Some(self.plan.right.open(runtime)?);
        }
        (self.in_row, self.found) = (true, false);
        runtime.check_cancelled()?;
        Ok(true)
    }

    fn join_row(&mut self, row: &mut Row) {
        debug_assert_eq!(
            self.right_row.len(),
            self.plan.right_width,
            "a right row has the width of its plan"
        );
        row.clear();
        row.extend_from_slice(&self.left_row);
        row.append(&mut self.right_row);
    }
}

impl RowSource for DependentLoop<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            if !self.in_row && !self.advance(runtime)? {
                return Ok(false);
            }
            let right = self.right.as_mut().expect("opened for the left row");
            if right.next(runtime, &mut self.right_row)? {
                self.join_row(row);
                if let Some(on) = &self.plan.on
                    && !on.is_true(runtime, row)?
                {
                    continue;
                }
                self.found = true;
                match self.plan.kind {
                    JoinKind::Inner | JoinKind::Left | JoinKind::Full => return Ok(true),
                    JoinKind::Semi => {
                        row.truncate(self.plan.left_width);
                        self.in_row = false;
                        return Ok(true);
                    }
                    JoinKind::Anti => self.in_row = false,
                }
                continue;
            }
            self.in_row = false;
            if !self.found && matches!(self.plan.kind, JoinKind::Left | JoinKind::Anti) {
                row.clear();
                row.append(&mut self.left_row);
                if self.plan.kind == JoinKind::Left {
                    pad_nulls(row, self.plan.right_width);
                }
                return Ok(true);
            }
        }
    }
}

struct KeptLoop<'p> {
    plan: &'p NestedLoopPlan,
    left: Box<dyn RowSource + 'p>,
    right: Option<RowStore>,
    /// Right rows with a match, for FULL joins.
    matched: Vec<bool>,
    left_row: Row,
    /// Where the current left row is among the right ones, while there is one (`in_row`).
    walk: Walk,
    in_row: bool,
    found: bool,
    unmatched: Option<Walk>,
    /// Counts the walks over the right rows and their lengths; each walk is counted at its end.
    profile: Option<Rc<Profile>>,
}

impl KeptLoop<'_> {
    fn note_walk(&self) {
        if let Some(profile) = &self.profile {
            profile.note_rows(self.plan, self.walk.passed() as u64);
        }
    }

    fn unmatched_right(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let (Some(walk), Some(right)) = (&mut self.unmatched, &self.right) else {
            return Ok(false);
        };
        assert_eq!(self.matched.len(), right.len(), "of each right row it is known whether it was found");
        while let Some((index, found)) = walk.next(runtime, right)? {
            if !self.matched[index] {
                row.clear();
                pad_nulls(row, self.plan.left_width);
                row.extend_from_slice(found);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for KeptLoop<'_> {
    fn drop(&mut self) {
        self.note_walk();
    }
}

impl RowSource for KeptLoop<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.unmatched.is_some() {
            return self.unmatched_right(runtime, row);
        }
        if self.right.is_none() {
            let rows = RowStore::read(&self.plan.right, runtime)?;
            self.matched = vec![false; if self.plan.kind == JoinKind::Full { rows.len() } else { 0 }];
            self.right = Some(rows);
        }
        loop {
            if !self.in_row {
                if !self.left.next(runtime, &mut self.left_row)? {
                    if self.plan.kind == JoinKind::Full {
                        self.unmatched = Some(Walk::default());
                        return self.unmatched_right(runtime, row);
                    }
                    return Ok(false);
                }
                runtime.check_cancelled()?;
                self.note_walk();
                if let Some(profile) = &self.profile {
                    profile.note_begun(self.plan);
                }
                debug_assert_eq!(
                    self.left_row.len(),
                    self.plan.left_width,
                    "a left row as wide as its plan says"
                );
                self.walk = Walk::default();
                (self.in_row, self.found) = (true, false);
            }
            let right = self.right.as_ref().expect("read above");
            while let Some((index, right_row)) = self.walk.next(runtime, right)? {
                row.clear();
                row.extend_from_slice(&self.left_row);
                row.extend_from_slice(right_row);
                debug_assert_eq!(row.len(), self.plan.left_width + self.plan.right_width, "both rows");
                if let Some(on) = &self.plan.on
                    && !on.is_true(runtime, row)?
                {
                    continue;
                }
                self.found = true;
                match self.plan.kind {
                    JoinKind::Full => {
                        self.matched[index] = true;
                        return Ok(true);
                    }
                    JoinKind::Inner | JoinKind::Left => return Ok(true),
                    JoinKind::Semi => {
                        row.truncate(self.plan.left_width);
                        self.in_row = false;
                        return Ok(true);
                    }
                    JoinKind::Anti => break,
                }
            }
            self.in_row = false;
            if !self.found && matches!(self.plan.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti) {
                row.clear();
                row.append(&mut self.left_row);
                if self.plan.kind != JoinKind::Anti {
                    pad_nulls(row, self.plan.right_width);
                }
                return Ok(true);
            }
        }
    }
}
