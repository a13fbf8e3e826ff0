//! Nested loops: joins on any predicate, index lookups with outer values, and APPLY.

use types::SqlError;

use super::simple::pad_nulls;
use super::{Row, RowSource, read_all};
use crate::expr::runtime::Runtime;
use crate::plan::logical::JoinKind;
use crate::plan::physical::NestedLoopPlan;

/// Picks the form: the right side kept in memory, or run again for each left row.
pub(crate) fn open<'p>(
    plan: &'p NestedLoopPlan,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    let left = super::open(&plan.left, runtime)?;
    if plan.keep_right {
        return Ok(Box::new(KeptLoop {
            plan,
            left,
            right: None,
            matched: Vec::new(),
            left_row: Row::new(),
            at: usize::MAX,
            found: false,
            unmatched_at: None,
        }));
    }
    assert!(plan.kind != JoinKind::Full, "a full join never has a dependent right side");
    Ok(Box::new(DependentLoop {
        plan,
        left,
        right: None,
        left_row: Row::new(),
        right_row: Row::new(),
        found: false,
    }))
}

struct DependentLoop<'p> {
    plan: &'p NestedLoopPlan,
    left: Box<dyn RowSource + 'p>,
    right: Option<Box<dyn RowSource + 'p>>,
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
        runtime.set_params(&self.plan.pass, &self.left_row);
        self.right = Some(super::open(&self.plan.right, runtime)?);
        self.found = false;
        runtime.check_cancelled()?;
        Ok(true)
    }

    fn join_row(&mut self, row: &mut Row) {
        row.clear();
        row.extend_from_slice(&self.left_row);
        row.append(&mut self.right_row);
    }
}

impl RowSource for DependentLoop<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            let Some(right) = &mut self.right else {
                if !self.advance(runtime)? {
                    return Ok(false);
                }
                continue;
            };
            if right.next(runtime, &mut self.right_row)? {
                self.join_row(row);
                if let Some(on) = &self.plan.on
                    && on.test(runtime, row)? != Some(true)
                {
                    continue;
                }
                self.found = true;
                match self.plan.kind {
                    JoinKind::Inner | JoinKind::Left | JoinKind::Full => return Ok(true),
                    JoinKind::Semi => {
                        row.truncate(self.plan.left_width);
                        self.right = None;
                        return Ok(true);
                    }
                    JoinKind::Anti => self.right = None,
                }
                continue;
            }
            self.right = None;
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
    right: Option<Vec<Row>>,
    /// Right rows that found a partner, for FULL joins.
    matched: Vec<bool>,
    left_row: Row,
    /// Next right row for the current left row; `usize::MAX` when a left row is needed.
    at: usize,
    found: bool,
    unmatched_at: Option<usize>,
}

impl KeptLoop<'_> {
    fn unmatched_right(&mut self, row: &mut Row) -> bool {
        let (Some(at), Some(right)) = (&mut self.unmatched_at, &self.right) else {
            return false;
        };
        while *at < right.len() {
            let index = *at;
            *at += 1;
            if !self.matched[index] {
                row.clear();
                pad_nulls(row, self.plan.left_width);
                row.extend_from_slice(&right[index]);
                return true;
            }
        }
        false
    }
}

impl RowSource for KeptLoop<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.unmatched_at.is_some() {
            return Ok(self.unmatched_right(row));
        }
        if self.right.is_none() {
            let rows = read_all(&self.plan.right, runtime)?;
            self.matched = vec![false; if self.plan.kind == JoinKind::Full { rows.len() } else { 0 }];
            self.right = Some(rows);
        }
        loop {
            if self.at == usize::MAX {
                if !self.left.next(runtime, &mut self.left_row)? {
                    if self.plan.kind == JoinKind::Full {
                        self.unmatched_at = Some(0);
                        return Ok(self.unmatched_right(row));
                    }
                    return Ok(false);
                }
                runtime.check_cancelled()?;
                self.at = 0;
                self.found = false;
            }
            let right = self.right.as_ref().expect("read above");
            while self.at < right.len() {
                let index = self.at;
                self.at += 1;
                row.clear();
                row.extend_from_slice(&self.left_row);
                row.extend_from_slice(&right[index]);
                if let Some(on) = &self.plan.on
                    && on.test(runtime, row)? != Some(true)
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
                        self.at = usize::MAX;
                        return Ok(true);
                    }
                    JoinKind::Anti => break,
                }
            }
            self.at = usize::MAX;
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
