//! Hash join: the right side is the build side, the left side the probe side. Sides that do not fit spill and are joined one part at a time.

use std::rc::Rc;
use std::sync::Arc;

use engine::{NumberSet, Run};
use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::{BoolNode, HashJoinPlan, JoinKeyKind, Node, Plan};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use rustc_hash::FxHashMap;
use types::{Collation, SqlError, Value};

use super::key_table::{Key, KeyTable, fits, key_bytes, pair, pair_part};
use super::keys::{write_key, write_row_key};
use super::operations::{Evaluate, OpenFiltered, Test};
use super::room::Room;
use super::runtime_filter::{KEYS_MAX, RuntimeFilter, split};
use super::simple::pad_nulls;
use super::spill::{Held, RunRows, row_bytes};
use crate::spill::parts::{PARTS, Parts, part_of};

/// Recursion depth of partitioning: a part that is still too large then consists almost only of one key.
const LEVELS_MAX: u32 = 4;
/// Rows that are emitted together.
const BATCH_ROWS: usize = 256;

/// ```text
///  new ──begin_part: the right side fits──► probing ──left side ends──► (FULL: unmatched) ──► next part, or the end
///   │                                          ▲
///   ├──split: it does not; both sides go to disk in parts by key──► each part as if it were a join of its own, one level deeper
///   └──a part that no split makes smaller: as many right rows at a time as fit (a chunk), all left rows for each──┘
/// ```
///
/// The matches of a left row are in one part, but may be in several chunks: `matched_left` records the left rows with a match, and rows
/// without a match are emitted only after the last chunk.
pub(crate) struct HashJoin<'p> {
    shape: Shape<'p>,
    /// The runtime filters of operators above, for left and right rows.
    filters: (Vec<RuntimeFilter>, Vec<RuntimeFilter>),
    has_begun: bool,
    waiting: Vec<Part>,
    chunks: Option<Chunks>,
    /// The right rows in memory are the last chunk of their part.
    is_last_chunk: bool,
    held: Held,
    /// Rows of the right side that are in memory.
    rows: Batch,
    /// Index of the next row with the same key, `NONE` at the end of the chain.
    chain: Vec<u32>,
    table: KeyTable,
    matched: Vec<bool>,
    left: Option<Box<dyn RowSource + 'p>>,
    /// Buffered left rows, and the current one among them.
    left_rows: Batch,
    left_at: usize,
    left_number: usize,
    at: u32,
    in_row: bool,
    found: bool,
    key: Vec<u8>,
    unmatched_at: Option<usize>,
}

/// The inputs and the kind of the join.
struct Shape<'p> {
    kind: JoinKind,
    left: &'p Plan,
    right: &'p Plan,
    /// Keys of the left and the right side; none: whole rows are equal, and NULL is equal to NULL.
    keys: Option<(&'p [Node], &'p [Node])>,
    collations: &'p [Collation],
    key_kind: JoinKeyKind,
    has_runtime_filter: bool,
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
    /// All its keys may be equal: it has all rows of the part from which it was split.
    is_whole: bool,
}

/// A part whose right side is joined a chunk at a time.
struct Chunks {
    right: RunRows<Run>,
    left: Rc<Run>,
    /// A bit for each left row: it has a match.
    matched_left: Vec<u64>,
}

const NONE: u32 = u32::MAX;

impl Shape<'_> {
    /// The key of a row, in `bytes` if it is no number.
    #[inline]
    fn key<'k>(
        &self,
        side: Side,
        runtime: &Runtime<'_>,
        row: &[Value],
        bytes: &'k mut Vec<u8>,
    ) -> Result<Key<'k>, SqlError> {
        let number = |node: &Node| node.eval_i64(runtime, row);
        let key = match (self.key_kind, self.nodes(side)) {
            (JoinKeyKind::Number, Some([one])) => number(one)?.map(Key::Number),
            (JoinKeyKind::Pair, Some([one, other])) => {
                number(one)?.zip(number(other)?).map(|(one, other)| Key::Number(pair(one, other)))
            }
            _ => self.write_key(side, runtime, row, bytes)?.then_some(Key::Bytes(bytes)),
        };
        Ok(key.unwrap_or(Key::Nothing))
    }

    fn nodes(&self, side: Side) -> Option<&[Node]> {
        self.keys.map(|(left, right)| match side {
            Side::Left => left,
            Side::Right => right,
        })
    }

    /// Writes the key of a row as bytes; false when nothing can be equal to it.
    fn write_key(
        &self,
        side: Side,
        runtime: &Runtime<'_>,
        row: &[Value],
        key: &mut Vec<u8>,
    ) -> Result<bool, SqlError> {
        match self.nodes(side) {
            Some(nodes) => write_key(nodes, self.collations, runtime, row, key),
            None => {
                write_row_key(row, self.collations, key);
                Ok(true)
            }
        }
    }

    /// Values in a row of the result.
    fn width(&self) -> usize {
        match self.kind {
            JoinKind::Semi | JoinKind::Anti => self.left_width,
            _ => self.left_width + self.right_width,
        }
    }

    /// Is it asked whether there is an equal row, and nothing else of it?
    fn asks_for_existence(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti) && self.residual.is_none()
    }

    /// Does the join drop left rows without a match?
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
            key_kind: plan.key_kind,
            has_runtime_filter: plan.has_runtime_filter,
            residual: plan.residual.as_ref(),
            left_width: plan.left_width,
            right_width: plan.right_width,
        };
        HashJoin::of(shape, runtime)
    }

    /// Opens a join below runtime filters. They may drop left rows, also of an outer join, since the rows that it emits for them
    /// are dropped anyhow; they may drop right rows of an inner join.
    pub(super) fn filtered(
        plan: &'p HashJoinPlan,
        runtime: &Runtime<'_>,
        filters: Vec<RuntimeFilter>,
    ) -> HashJoin<'p> {
        assert!(plan.kind != JoinKind::Full, "a full join gives rows that neither side has");
        let (left, mut right) = split(filters, plan.left_width);
        right.retain(|_| plan.kind == JoinKind::Inner);
        HashJoin { filters: (left, right), ..HashJoin::new(plan, runtime) }
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
        let (keys, key_kind, residual) = (None, JoinKeyKind::Bytes, None);
        let shape = Shape {
            kind,
            left,
            right,
            keys,
            collations,
            key_kind,
            has_runtime_filter: false,
            residual,
            left_width,
            right_width,
        };
        HashJoin::of(shape, runtime)
    }

    fn of(shape: Shape<'p>, runtime: &Runtime<'_>) -> HashJoin<'p> {
        if let Some((left, right)) = shape.keys {
            assert_eq!(left.len(), right.len(), "each key has two sides");
            assert_eq!(left.len(), shape.collations.len(), "a collation for each key");
            assert!(fits(shape.key_kind, left.len()), "numbers are keys of one or two columns");
        }
        HashJoin {
            shape,
            filters: Default::default(),
            has_begun: false,
            waiting: Vec::new(),
            chunks: None,
            is_last_chunk: true,
            held: Held::new(runtime),
            rows: Batch::default(),
            chain: Vec::new(),
            table: KeyTable::default(),
            matched: Vec::new(),
            left: None,
            left_rows: Batch::default(),
            left_at: 0,
            left_number: 0,
            at: NONE,
            in_row: false,
            found: false,
            key: Vec::new(),
            unmatched_at: None,
        }
    }

    /// Starts the next part or chunk; false when all are joined.
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
            let (left_filters, right_filters) = std::mem::take(&mut self.filters);
            let mut right = self.shape.right.open_filtered(runtime, right_filters)?;
            if self.load(runtime, &mut *right)? {
                let mut filters = left_filters;
                filters.extend(self.keys_to_look_for());
                self.left = Some(self.shape.left.open_filtered(runtime, filters)?);
            } else {
                let right = self.split_right(runtime, &mut *right, 0)?;
                let mut left = self.shape.left.open_filtered(runtime, left_filters)?;
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
        // Buffers that grew for one part are not kept for the next.
        (self.rows, self.chain, self.matched) = (Batch::default(), Vec::new(), Vec::new());
        self.rows.clear(self.shape.right_width);
        self.table = KeyTable::default();
        self.held.clear();
        self.left_rows.clear(self.shape.left_width);
        (self.left_at, self.left_number, self.in_row) = (0, 0, false);
    }

    /// The runtime filter of left rows: numbers that a right row has. None, where rows without a match are emitted, too, or the keys are no
    /// numbers that left rows hold.
    fn keys_to_look_for(&self) -> Vec<RuntimeFilter> {
        let Some(nodes) = self.shape.nodes(Side::Left) else { return Vec::new() };
        if self.shape.key_kind == JoinKeyKind::Bytes
            || !self.shape.has_runtime_filter
            || !self.shape.drops_unmatched_left()
        {
            return Vec::new();
        }
        let keys = self.table.numbers();
        let bytes = size_of::<i64>() * keys.len() + nodes.len() * NumberSet::bytes_for(keys.len());
        // The filter only saves work: if its memory is not granted, there is no filter.
        if keys.len() > KEYS_MAX || os::memory::ask(bytes).is_err() {
            return Vec::new();
        }
        debug_assert!(fits(self.shape.key_kind, nodes.len()), "a number has one part or two");
        let mut numbers = vec![0; keys.len()];
        let of_column = |(part, node): (usize, &Node)| {
            let Node::Column(position) = node else { return None };
            let is_pair = self.shape.key_kind == JoinKeyKind::Pair;
            for (number, key) in numbers.iter_mut().zip(self.table.numbers()) {
                *number = if is_pair { pair_part(key, part) } else { key };
            }
            Some(RuntimeFilter { position: *position, set: Arc::new(NumberSet::of(&numbers)) })
        };
        nodes.iter().enumerate().filter_map(of_column).collect()
    }

    /// Puts right rows into the table, a batch at a time; false when no more fit, with some rows left to read (or none).
    fn load(&mut self, runtime: &Runtime<'_>, right: &mut dyn RowSource) -> Result<bool, SqlError> {
        let mut batch = Batch::default();
        let mut tails: FxHashMap<u32, u32> = FxHashMap::default();
        let mut is_full = false;
        while !is_full && right.next_batch(runtime, &mut batch)? {
            for at in 0..batch.rows {
                runtime.check_cancelled()?;
                is_full |= self.load_row(runtime, &mut batch, at, &mut tails)?;
            }
        }
        if self.shape.kind == JoinKind::Full {
            self.matched = vec![false; self.rows.rows];
        }
        Ok(!is_full)
    }

    /// Moves a row from the batch into the hash table, if its key can match; true when no more rows fit.
    fn load_row(
        &mut self,
        runtime: &Runtime<'_>,
        batch: &mut Batch,
        at: usize,
        tails: &mut FxHashMap<u32, u32>,
    ) -> Result<bool, SqlError> {
        debug_assert!(at < batch.rows, "a row of the batch");
        assert_eq!(batch.width, self.shape.right_width, "a right row has the width of its plan");
        let row = batch.row(at);
        let key = self.shape.key(Side::Right, runtime, row, &mut self.key)?;
        let is_complete = !matches!(key, Key::Nothing);
        if !is_complete && self.shape.kind != JoinKind::Full {
            return Ok(false);
        }
        let head = self.table.get(key);
        if head.is_some() && self.shape.asks_for_existence() {
            return Ok(false);
        }
        let index = self.rows.rows as u32;
        let bytes = row_bytes(row) + key_bytes(key);
        if let Some(head) = head {
            let tail = tails.entry(head).or_insert(head);
            self.chain[*tail as usize] = index;
            *tail = index;
        } else if is_complete {
            self.table.insert(key, index)?;
        }
        super::room::room_for(&mut self.rows.values, self.shape.right_width)?;
        self.rows.take_row(batch, at);
        self.chain.room_for_one()?;
        self.chain.push(NONE);
        debug_assert_eq!(self.chain.len(), self.rows.rows, "each row has its place in a chain");
        self.held.add(runtime, bytes)
    }

    /// Spills the right rows in parts: those in the table and those that are still to be read.
    fn split_right(
        &mut self,
        runtime: &Runtime<'_>,
        rest: &mut dyn RowSource,
        level: u32,
    ) -> Result<Vec<Run>, SqlError> {
        assert!(level < LEVELS_MAX, "parts are split so often and no more");
        let mut parts = Parts::new(self.held.workspace(), runtime)?;
        let kept = std::mem::take(&mut self.rows);
        for row in (0..kept.rows).map(|at| kept.row(at)) {
            runtime.check_cancelled()?;
            self.put(runtime, &mut parts, Side::Right, row, level)?;
        }
        self.clear();
        let mut batch = Batch::default();
        while rest.next_batch(runtime, &mut batch)? {
            for row in (0..batch.rows).map(|at| batch.row(at)) {
                runtime.check_cancelled()?;
                self.put(runtime, &mut parts, Side::Right, row, level)?;
            }
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
        let mut batch = Batch::default();
        while left.next_batch(runtime, &mut batch)? {
            for row in (0..batch.rows).map(|at| batch.row(at)) {
                runtime.check_cancelled()?;
                let complete = self.shape.write_key(Side::Left, runtime, row, &mut self.key)?;
                let part = if complete { part_of(&self.key, level) } else { 0 };
                if (complete && right[part].records() > 0) || !self.shape.drops_unmatched_left() {
                    parts.put(part, row)?;
                }
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

    /// Writes a right row to its part; a row without a key, which matches no row, goes to any part.
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

    /// Appends the next right row without a match; false at the end.
    fn unmatched_right(&mut self, out: &mut Row) -> bool {
        let Some(at) = &mut self.unmatched_at else {
            return false;
        };
        assert_eq!(self.matched.len(), self.rows.rows, "of each right row it is known whether it was found");
        while *at < self.rows.rows {
            let index = *at;
            *at += 1;
            if !self.matched[index] {
                pad_nulls(out, self.shape.left_width);
                out.extend_from_slice(self.rows.row(index));
                return true;
            }
        }
        self.unmatched_at = None;
        false
    }

    /// Goes on to the next left row and finds its chain; false at the end of the left side.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        self.left_at += 1;
        if self.left_at >= self.left_rows.rows {
            let left = self.left.as_mut().expect("built before probing");
            if !left.next_batch(runtime, &mut self.left_rows)? {
                return Ok(false);
            }
            assert_eq!(self.left_rows.width, self.shape.left_width, "a left row has the width of its plan");
            self.left_at = 0;
        }
        runtime.check_cancelled()?;
        let row = self.left_rows.row(self.left_at);
        let key = self.shape.key(Side::Left, runtime, row, &mut self.key)?;
        self.at = self.table.get(key).unwrap_or(NONE);
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
        debug_assert!(self.in_row, "it is a left row that finds one");
        self.found = true;
        if let Some(chunks) = &mut self.chunks {
            let number = self.left_number - 1;
            chunks.matched_left[number / 64] |= 1 << (number % 64);
        }
    }

    fn accepts(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<bool, SqlError> {
        match self.shape.residual {
            None => Ok(true),
            Some(residual) => residual.is_true(runtime, row),
        }
    }

    /// Appends the next row of the current part; false at its end.
    fn next_of_part(&mut self, runtime: &Runtime<'_>, out: &mut Row) -> Result<bool, SqlError> {
        let start = out.len();
        loop {
            if !self.in_row && !self.advance(runtime)? {
                return Ok(false);
            }
            while self.at != NONE {
                runtime.check_cancelled()?;
                let index = self.at as usize;
                self.at = self.chain[index];
                if self.shape.asks_for_existence() {
                    self.note_found();
                    self.at = NONE;
                    if self.shape.kind == JoinKind::Semi {
                        return Ok(self.give_left(out));
                    }
                    break;
                }
                out.truncate(start);
                out.extend_from_slice(self.left_rows.row(self.left_at));
                out.extend_from_slice(self.rows.row(index));
                if !self.accepts(runtime, &out[start..])? {
                    continue;
                }
                debug_assert_eq!(
                    out.len() - start,
                    self.shape.left_width + self.shape.right_width,
                    "both rows"
                );
                self.note_found();
                match self.shape.kind {
                    JoinKind::Inner | JoinKind::Left => return Ok(true),
                    JoinKind::Full => {
                        self.matched[index] = true;
                        return Ok(true);
                    }
                    JoinKind::Semi => {
                        out.truncate(start + self.shape.left_width);
                        self.in_row = false;
                        return Ok(true);
                    }
                    JoinKind::Anti => break,
                }
            }
            out.truncate(start);
            self.in_row = false;
            if !self.found && self.is_last_chunk && !self.shape.drops_unmatched_left() {
                self.give_left(out);
                if self.shape.kind != JoinKind::Anti {
                    pad_nulls(out, self.shape.right_width);
                }
                return Ok(true);
            }
        }
    }

    /// Appends the left row, which needs no more matches.
    fn give_left(&mut self, out: &mut Row) -> bool {
        out.extend_from_slice(self.left_rows.row(self.left_at));
        self.in_row = false;
        true
    }

    /// Appends the next row; false at the end.
    fn next_row(&mut self, runtime: &Runtime<'_>, out: &mut Row) -> Result<bool, SqlError> {
        loop {
            if self.unmatched_at.is_some() && self.unmatched_right(out) {
                return Ok(true);
            }
            if self.left.is_some() {
                if self.next_of_part(runtime, out)? {
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

impl RowSource for HashJoin<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        self.next_row(runtime, row)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        batch.fill(self.shape.width(), BATCH_ROWS, |row| self.next_row(runtime, row))
    }
}
