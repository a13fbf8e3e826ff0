//! Hash join: the right side goes into a table by key, the left side probes it. What does not fit is joined a part at a time.

use std::rc::Rc;

use engine::Run;
use rustc_hash::FxHashMap;
use types::{Collation, SqlError, Value};

use super::keys::{write_key, write_row_key};
use super::room::Room;
use super::simple::pad_nulls;
use super::spill::{Held, RunRows, hashed_bytes, row_bytes};
use crate::exec::spill::parts::{PARTS, Parts, part_of};
use crate::kinds::JoinKind;
use crate::physical::plan::{BoolNode, HashJoinPlan, Node, Plan};
use crate::row::Row;
use crate::row_source::RowSource;
use crate::runtime::Runtime;

/// Parts of parts of parts: what is still too large then is full of one key, or nearly.
const LEVELS_MAX: u32 = 4;

/// ```text
///  new ──begin_part: the right side fits──► probing ──left side ends──► (FULL: unmatched) ──► next part, or the end
///   │                                          ▲
///   ├──split: it does not; both sides go to disk in parts by key──► each part as if it were a join of its own, one level deeper
///   └──a part that no split makes smaller: as many right rows at a time as fit (a chunk), all left rows for each──┘
/// ```
///
/// A left row's equals lie in one part, but in several chunks: which left rows have found one is kept in `matched_left`, and what hangs on
/// having found none waits for the last chunk.
pub(crate) struct HashJoin<'p> {
    shape: Shape<'p>,
    has_begun: bool,
    waiting: Vec<Part>,
    chunks: Option<Chunks>,
    /// What is in memory of the right side is the last of its part.
    is_last_chunk: bool,
    held: Held,
    rows: Vec<Row>,
    /// Index of the next row with the same key, `NONE` at the end of the chain.
    chain: Vec<u32>,
    table: FxHashMap<Box<[u8]>, u32>,
    matched: Vec<bool>,
    left: Option<Box<dyn RowSource + 'p>>,
    left_row: Row,
    left_number: usize,
    at: u32,
    in_row: bool,
    found: bool,
    key: Vec<u8>,
    unmatched_at: Option<usize>,
}

/// What is joined, and how.
struct Shape<'p> {
    kind: JoinKind,
    left: &'p Plan,
    right: &'p Plan,
    /// Keys of the left and the right side; none: whole rows are equal, and NULL is equal to NULL.
    keys: Option<(&'p [Node], &'p [Node])>,
    collations: &'p [Collation],
    residual: Option<&'p BoolNode>,
    left_width: usize,
    right_width: usize,
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Both sides of a part, on disk.
struct Part {
    right: Run,
    left: Rc<Run>,
    level: u32,
    /// All its keys may be one: it is what a larger part had, all of it.
    is_whole: bool,
}

/// A part whose right side is joined a chunk at a time.
struct Chunks {
    right: RunRows<Run>,
    left: Rc<Run>,
    /// A bit for each left row: it has found an equal one.
    matched_left: Vec<u64>,
}

const NONE: u32 = u32::MAX;

impl Shape<'_> {
    /// Writes the key of a row; false when nothing can be equal to it.
    fn write_key(
        &self,
        side: Side,
        runtime: &Runtime<'_>,
        row: &[Value],
        key: &mut Vec<u8>,
    ) -> Result<bool, SqlError> {
        let nodes = match (self.keys, side) {
            (Some((left, _)), Side::Left) => left,
            (Some((_, right)), Side::Right) => right,
            (None, _) => {
                write_row_key(row, self.collations, key);
                return Ok(true);
            }
        };
        write_key(nodes, self.collations, runtime, row, key)
    }

    /// Is it asked whether there is an equal row, and nothing else of it?
    fn asks_for_existence(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti) && self.residual.is_none()
    }

    /// Are left rows that find nothing left out?
    fn drops_unmatched_left(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Semi)
    }
}

impl<'p> HashJoin<'p> {
    pub(crate) fn new(plan: &'p HashJoinPlan, runtime: &Runtime<'_>) -> HashJoin<'p> {
        let shape = Shape {
            kind: plan.kind,
            left: &plan.left,
            right: &plan.right,
            keys: Some((&plan.left_keys, &plan.right_keys)),
            collations: &plan.collations,
            residual: plan.residual.as_ref(),
            left_width: plan.left_width,
            right_width: plan.right_width,
        };
        HashJoin::of(shape, runtime)
    }

    /// Left rows with (Semi) or without (Anti) an equal right row.
    pub(crate) fn of_whole_rows(
        kind: JoinKind,
        left: &'p Plan,
        right: &'p Plan,
        collations: &'p [Collation],
        runtime: &Runtime<'_>,
    ) -> HashJoin<'p> {
        assert!(matches!(kind, JoinKind::Semi | JoinKind::Anti), "whole rows are looked for, not joined");
        let width = collations.len();
        let (left_width, right_width) = (width, width);
        let shape =
            Shape { kind, left, right, keys: None, collations, residual: None, left_width, right_width };
        HashJoin::of(shape, runtime)
    }

    fn of(shape: Shape<'p>, runtime: &Runtime<'_>) -> HashJoin<'p> {
        HashJoin {
            shape,
            has_begun: false,
            waiting: Vec::new(),
            chunks: None,
            is_last_chunk: true,
            held: Held::new(runtime),
            rows: Vec::new(),
            chain: Vec::new(),
            table: FxHashMap::default(),
            matched: Vec::new(),
            left: None,
            left_row: Row::new(),
            left_number: 0,
            at: NONE,
            in_row: false,
            found: false,
            key: Vec::new(),
            unmatched_at: None,
        }
    }

    /// Goes on to what is joined next; false when all is.
    fn begin_part(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        assert!(self.left.is_none() && self.unmatched_at.is_none(), "one part ends before the next begins");
        self.clear();
        if !self.is_last_chunk {
            return self.begin_chunk(runtime).map(|()| true);
        }
        self.chunks = None;
        let Some(part) = (if self.has_begun { self.waiting.pop() } else { None }) else {
            if std::mem::replace(&mut self.has_begun, true) {
                return Ok(false);
            }
            let mut right = self.shape.right.open(runtime)?;
            if self.load(runtime, &mut *right)? {
                self.left = Some(self.shape.left.open(runtime)?);
            } else {
                let right = self.split_right(runtime, &mut *right, 0)?;
                let mut left = self.shape.left.open(runtime)?;
                self.split_left(runtime, right, &mut *left, 0)?;
            }
            return Ok(true);
        };
        let mut right = RunRows::new(part.right.into_reader());
        if self.load(runtime, &mut right)? {
            self.left = Some(Box::new(RunRows::new(part.left.reader())));
        } else if part.level < LEVELS_MAX && !part.is_whole {
            let right = self.split_right(runtime, &mut right, part.level)?;
            self.split_left(runtime, right, &mut RunRows::new(part.left.reader()), part.level)?;
        } else {
            let matched_left = vec![0; part.left.records() as usize / 64 + 1];
            self.left = Some(Box::new(RunRows::new(part.left.reader())));
            self.chunks = Some(Chunks { right, left: part.left, matched_left });
            self.is_last_chunk = false;
        }
        Ok(true)
    }

    fn begin_chunk(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let mut chunks = self.chunks.take().expect("there is another chunk");
        self.is_last_chunk = self.load(runtime, &mut chunks.right)?;
        self.left = Some(Box::new(RunRows::new(chunks.left.reader())));
        self.chunks = Some(chunks);
        Ok(())
    }

    fn clear(&mut self) {
        // What has grown for one part is not kept for the next.
        (self.rows, self.chain, self.matched) = (Vec::new(), Vec::new(), Vec::new());
        self.table = FxHashMap::default();
        self.held.clear();
        (self.left_number, self.in_row) = (0, false);
    }

    /// Puts right rows into the table; false when no more fit, with some rows left to read (or none).
    fn load(&mut self, runtime: &Runtime<'_>, right: &mut dyn RowSource) -> Result<bool, SqlError> {
        let mut row = Row::new();
        let mut tails: FxHashMap<u32, u32> = FxHashMap::default();
        let mut is_whole = true;
        while right.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            let complete = self.shape.write_key(Side::Right, runtime, &row, &mut self.key)?;
            if !complete && self.shape.kind != JoinKind::Full {
                continue;
            }
            let head = if complete { self.table.get(self.key.as_slice()).copied() } else { None };
            if head.is_some() && self.shape.asks_for_existence() {
                continue;
            }
            let index = self.rows.len() as u32;
            let bytes = row_bytes(&row) + hashed_bytes(&self.key);
            self.rows.room_for_one()?;
            self.rows.push(std::mem::take(&mut row));
            self.chain.push(NONE);
            if let Some(head) = head {
                let tail = tails.entry(head).or_insert(head);
                self.chain[*tail as usize] = index;
                *tail = index;
            } else if complete {
                self.table.room_for_one()?;
                self.table.insert(self.key.as_slice().into(), index);
            }
            if self.held.add(runtime, bytes)? {
                is_whole = false;
                break;
            }
        }
        if self.shape.kind == JoinKind::Full {
            self.matched = vec![false; self.rows.len()];
        }
        Ok(is_whole)
    }

    /// Right rows, those in the table and those that are still to be read, go to disk in parts.
    fn split_right(
        &mut self,
        runtime: &Runtime<'_>,
        rest: &mut dyn RowSource,
        level: u32,
    ) -> Result<Vec<Run>, SqlError> {
        let mut parts = Parts::new(self.held.workspace(), runtime)?;
        for row in std::mem::take(&mut self.rows) {
            runtime.check_cancelled()?;
            self.put(runtime, &mut parts, Side::Right, &row, level)?;
        }
        self.clear();
        let mut row = Row::new();
        while rest.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            self.put(runtime, &mut parts, Side::Right, &row, level)?;
        }
        parts.finish()
    }

    fn split_left(
        &mut self,
        runtime: &Runtime<'_>,
        right: Vec<Run>,
        left: &mut dyn RowSource,
        level: u32,
    ) -> Result<(), SqlError> {
        let mut parts = Parts::new(self.held.workspace(), runtime)?;
        let mut row = Row::new();
        while left.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            let complete = self.shape.write_key(Side::Left, runtime, &row, &mut self.key)?;
            let part = if complete { part_of(&self.key, level) } else { 0 };
            if (complete && right[part].records() > 0) || !self.shape.drops_unmatched_left() {
                parts.put(part, &row)?;
            }
        }
        let all: u64 = right.iter().map(Run::records).sum();
        let left = parts.finish()?;
        assert!(right.len() == PARTS && left.len() == PARTS, "each part has two sides");
        for (right, left) in right.into_iter().zip(left) {
            let is_whole = right.records() == all;
            if left.records() > 0 || self.shape.kind == JoinKind::Full && right.records() > 0 {
                self.waiting.push(Part { right, left: Rc::new(left), level: level + 1, is_whole });
            }
        }
        Ok(())
    }

    /// Puts a right row into its part; one without a key, which finds nothing, into any.
    fn put(
        &mut self,
        runtime: &Runtime<'_>,
        parts: &mut Parts,
        side: Side,
        row: &[Value],
        level: u32,
    ) -> Result<(), SqlError> {
        let complete = self.shape.write_key(side, runtime, row, &mut self.key)?;
        if !complete && self.shape.kind != JoinKind::Full {
            return Ok(());
        }
        parts.put(if complete { part_of(&self.key, level) } else { 0 }, row)
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
                pad_nulls(row, self.shape.left_width);
                row.append(&mut self.rows[index]);
                return true;
            }
        }
        self.unmatched_at = None;
        false
    }

    /// Reads a left row and finds its chain; false at the end of the left side.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let left = self.left.as_mut().expect("built before probing");
        if !left.next(runtime, &mut self.left_row)? {
            return Ok(false);
        }
        runtime.check_cancelled()?;
        let complete = self.shape.write_key(Side::Left, runtime, &self.left_row, &mut self.key)?;
        self.at = if complete { self.table.get(self.key.as_slice()).copied().unwrap_or(NONE) } else { NONE };
        self.in_row = true;
        self.left_number += 1;
        self.found = false;
        if let Some(chunks) = &self.chunks {
            let number = self.left_number - 1;
            self.found = chunks.matched_left[number / 64] & 1 << (number % 64) != 0;
            if self.found && matches!(self.shape.kind, JoinKind::Semi | JoinKind::Anti) {
                // It has been decided.
                self.at = NONE;
            }
        }
        Ok(true)
    }

    fn note_found(&mut self) {
        self.found = true;
        if let Some(chunks) = &mut self.chunks {
            let number = self.left_number - 1;
            chunks.matched_left[number / 64] |= 1 << (number % 64);
        }
    }

    fn accepts(&self, runtime: &Runtime<'_>, row: &Row) -> Result<bool, SqlError> {
        match self.shape.residual {
            None => Ok(true),
            Some(residual) => Ok(residual.test(runtime, row)? == Some(true)),
        }
    }

    /// The next row of the part at hand; false at its end.
    fn next_of_part(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            if !self.in_row && !self.advance(runtime)? {
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
                self.note_found();
                match self.shape.kind {
                    JoinKind::Inner | JoinKind::Left => return Ok(true),
                    JoinKind::Full => {
                        self.matched[index] = true;
                        return Ok(true);
                    }
                    JoinKind::Semi => {
                        row.truncate(self.shape.left_width);
                        self.in_row = false;
                        return Ok(true);
                    }
                    JoinKind::Anti => break,
                }
            }
            self.in_row = false;
            if !self.found && self.is_last_chunk && !self.shape.drops_unmatched_left() {
                row.clear();
                row.append(&mut self.left_row);
                if self.shape.kind != JoinKind::Anti {
                    pad_nulls(row, self.shape.right_width);
                }
                return Ok(true);
            }
        }
    }
}

impl RowSource for HashJoin<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            if self.unmatched_at.is_some() && self.unmatched_right(row) {
                return Ok(true);
            }
            if self.left.is_some() {
                if self.next_of_part(runtime, row)? {
                    return Ok(true);
                }
                self.left = None;
                if self.shape.kind == JoinKind::Full {
                    self.unmatched_at = Some(0);
                }
                continue;
            }
            if !self.begin_part(runtime)? {
                return Ok(false);
            }
        }
    }
}
