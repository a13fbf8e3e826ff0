//! Hash join: the right side goes into a table by key, the left side probes it.

use rustc_hash::FxHashMap;
use types::SqlError;

use super::keys::write_key;
use super::room::Room;
use super::simple::pad_nulls;
use super::{Row, RowSource, open};
use crate::expr::runtime::Runtime;
use crate::plan::logical::JoinKind;
use crate::plan::physical::HashJoinPlan;

/// States: new -> (next: build) probing -> (left side ends, FULL only) unmatched.
pub(crate) struct HashJoin<'p> {
    plan: &'p HashJoinPlan,
    left: Option<Box<dyn RowSource + 'p>>,
    rows: Vec<Row>,
    /// Index of the next row with the same key, `NONE` at the end of the chain.
    chain: Vec<u32>,
    table: FxHashMap<Box<[u8]>, u32>,
    matched: Vec<bool>,
    left_row: Row,
    at: u32,
    in_row: bool,
    found: bool,
    key: Vec<u8>,
    unmatched_at: Option<usize>,
}

const NONE: u32 = u32::MAX;

impl<'p> HashJoin<'p> {
    pub(crate) fn new(plan: &'p HashJoinPlan) -> HashJoin<'p> {
        HashJoin {
            plan,
            left: None,
            rows: Vec::new(),
            chain: Vec::new(),
            table: FxHashMap::default(),
            matched: Vec::new(),
            left_row: Row::new(),
            at: NONE,
            in_row: false,
            found: false,
            key: Vec::new(),
            unmatched_at: None,
        }
    }

    fn build(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let mut right = open(&self.plan.right, runtime)?;
        let mut row = Row::new();
        let mut tails: FxHashMap<u32, u32> = FxHashMap::default();
        while right.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            let complete =
                write_key(&self.plan.right_keys, &self.plan.collations, runtime, &row, &mut self.key)?;
            if !complete && self.plan.kind != JoinKind::Full {
                continue;
            }
            let index = self.rows.len() as u32;
            self.rows.room_for_one()?;
            self.rows.push(std::mem::take(&mut row));
            self.chain.push(NONE);
            if !complete {
                continue;
            }
            match self.table.get(self.key.as_slice()) {
                Some(&head) => {
                    let tail = tails.entry(head).or_insert(head);
                    self.chain[*tail as usize] = index;
                    *tail = index;
                }
                None => {
                    self.table.room_for_one()?;
                    self.table.insert(self.key.as_slice().into(), index);
                }
            }
        }
        if self.plan.kind == JoinKind::Full {
            self.matched = vec![false; self.rows.len()];
        }
        self.left = Some(open(&self.plan.left, runtime)?);
        Ok(())
    }

    fn unmatched_right(&mut self, row: &mut Row) -> bool {
        let Some(at) = &mut self.unmatched_at else {
            return false;
        };
        while *at < self.rows.len() {
            let index = *at;
            *at += 1;
            if !self.matched[index] {
                row.clear();
                pad_nulls(row, self.plan.left_width);
                row.append(&mut self.rows[index]);
                return true;
            }
        }
        false
    }

    /// Reads a left row and finds its chain; false at the end of the left side.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let left = self.left.as_mut().expect("built before probing");
        if !left.next(runtime, &mut self.left_row)? {
            return Ok(false);
        }
        runtime.check_cancelled()?;
        let complete =
            write_key(&self.plan.left_keys, &self.plan.collations, runtime, &self.left_row, &mut self.key)?;
        self.at = if complete { self.table.get(self.key.as_slice()).copied().unwrap_or(NONE) } else { NONE };
        self.in_row = true;
        self.found = false;
        Ok(true)
    }

    fn accepts(&self, runtime: &Runtime<'_>, row: &Row) -> Result<bool, SqlError> {
        match &self.plan.residual {
            None => Ok(true),
            Some(residual) => Ok(residual.test(runtime, row)? == Some(true)),
        }
    }
}

impl RowSource for HashJoin<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.unmatched_at.is_some() {
            return Ok(self.unmatched_right(row));
        }
        if self.left.is_none() {
            self.build(runtime)?;
        }
        loop {
            if !self.in_row && !self.advance(runtime)? {
                if self.plan.kind == JoinKind::Full {
                    self.unmatched_at = Some(0);
                    return Ok(self.unmatched_right(row));
                }
                return Ok(false);
            }
            while self.at != NONE {
                let index = self.at as usize;
                self.at = self.chain[index];
                row.clear();
                row.extend_from_slice(&self.left_row);
                row.extend_from_slice(&self.rows[index]);
                if !self.accepts(runtime, row)? {
                    continue;
                }
                self.found = true;
                match self.plan.kind {
                    JoinKind::Inner | JoinKind::Left => return Ok(true),
                    JoinKind::Full => {
                        self.matched[index] = true;
                        return Ok(true);
                    }
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
