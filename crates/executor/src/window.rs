//! Window functions: rows are read and sorted by partition and order keys, and each call is computed for one row after the other of a
//! gathered partition. Rows that come in that order are not sorted. Row numbers without partitions are computed while rows are read.

use std::ops::Range;

use plan_ir::kinds::{FrameBound, WindowFrame};
use plan_ir::physical::plan::{AggregateNode, Node, WindowNode, WindowNodeKind, WindowPlan};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::aggregate::Accumulator;
use super::keys::{compare_values, sort_values};
use super::operations::{Evaluate, Open};
use super::partition::{Keyed, Partition, RowAt};
use super::verified::{Claim, verified};
use crate::spill::sorter::{self, Sorted, Sorter, key_order};

/// States: new -> (next: sort) giving a partition, or a row at a time (`is_stream`) -> the end.
pub(crate) struct Window<'p> {
    plan: &'p WindowPlan,
    ordered: Option<Ordered<'p>>,
    /// The first row of the next partition.
    ahead: Option<Keyed>,
    at_hand: Option<Computed<'p>>,
    numbers: Numbers,
}

/// Rows in the order of partition and order keys.
enum Ordered<'p> {
    Sorted(Sorted),
    /// As they come.
    Given(Box<dyn RowSource + 'p>),
}

/// Where a partition is that is numbered row by row.
#[derive(Default)]
struct Numbers {
    row: i64,
    rank: i64,
    dense_rank: i64,
    last: Option<Vec<Value>>,
}

impl<'p> Window<'p> {
    pub(crate) fn new(plan: &'p WindowPlan) -> Window<'p> {
        assert_eq!(plan.partition.len(), plan.partition_collations.len(), "a collation for each key");
        Window { plan, ordered: None, ahead: None, at_hand: None, numbers: Numbers::default() }
    }

    /// Do all functions number rows, and so need none but the last one?
    fn is_stream(&self) -> bool {
        self.plan.calls.iter().all(|call| {
            matches!(call.kind, WindowNodeKind::RowNumber | WindowNodeKind::Rank | WindowNodeKind::DenseRank)
        })
    }

    fn open(&self, runtime: &Runtime<'_>) -> Result<Ordered<'p>, SqlError> {
        Ok(match self.plan.is_in_order {
            true => Ordered::Given(in_order(self.plan, runtime)?),
            false => Ordered::Sorted(self.sort(runtime)?),
        })
    }

    fn key_of(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Vec<Value>, SqlError> {
        let nodes = self.plan.partition.iter();
        let mut key = nodes.map(|node| node.eval(runtime, row)).collect::<Result<Vec<_>, _>>()?;
        key.append(&mut sort_values(&self.plan.order, runtime, row)?);
        Ok(key)
    }

    fn sort(&self, runtime: &Runtime<'_>) -> Result<Sorted, SqlError> {
        let plan = self.plan;
        let partition = plan.partition_collations.iter().map(|collation| (*collation, false));
        let order = partition.chain(key_order(&plan.order)).collect();
        let mut sorter = Sorter::new(order, usize::MAX, runtime);
        let mut source = plan.input.open(runtime)?;
        let mut row = Row::new();
        while source.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            let width = row.len();
            for node in plan.partition.iter().chain(plan.order.iter().map(|key| &key.node)) {
                let value = node.eval(runtime, &row[..width])?;
                row.push(value);
            }
            let empty = Row::with_capacity(row.len());
            sorter.add(runtime, sorter::Keyed::new(std::mem::replace(&mut row, empty), width))?;
        }
        sorter.finish(runtime)
    }

    fn next_ordered(&mut self, runtime: &Runtime<'_>) -> Result<Option<Keyed>, SqlError> {
        let next = match self.ordered.as_mut().expect("opened before") {
            Ordered::Sorted(sorted) => sorted.next()?.map(sorter::Keyed::into_parts),
            Ordered::Given(source) => {
                let mut row = Row::new();
                match source.next(runtime, &mut row)? {
                    true => Some((self.key_of(runtime, &row)?, row)),
                    false => None,
                }
            }
        };
        Ok(next.map(|(key, row)| Keyed { key, partition: self.plan.partition.len(), row }))
    }

    fn is_same_partition(&self, a: &[Value], b: &[Value]) -> bool {
        a.iter()
            .zip(b)
            .zip(&self.plan.partition_collations)
            .all(|((x, y), collation)| types::sort_compare(x, y, *collation).is_eq())
    }

    /// Gathers the rows of the next partition; false when there is none.
    fn next_partition(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let first = match self.ahead.take() {
            Some(first) => first,
            None => match self.next_ordered(runtime)? {
                Some(first) => first,
                None => return Ok(false),
            },
        };
        // The sorter has charged the rows that it holds.
        let is_charged = matches!(&self.ordered, Some(Ordered::Sorted(sorted)) if !sorted.is_on_disk());
        let mut partition = Partition::new(runtime, is_charged);
        let key = first.partition().to_vec();
        partition.push(runtime, first)?;
        while let Some(keyed) = self.next_ordered(runtime)? {
            runtime.check_cancelled()?;
            if !self.is_same_partition(&key, keyed.partition()) {
                self.ahead = Some(keyed);
                break;
            }
            partition.push(runtime, keyed)?;
        }
        self.at_hand = Some(Computed::new(self.plan, partition.finish(runtime)?));
        Ok(true)
    }

    /// The next row with its numbers.
    fn next_numbered(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let Some(mut keyed) = self.next_ordered(runtime)? else { return Ok(false) };
        let mut numbers = std::mem::take(&mut self.numbers);
        let split = keyed.partition;
        let is_peer = match &numbers.last {
            Some(last) if self.is_same_partition(&last[..split], keyed.partition()) => {
                compare_values(&self.plan.order, &last[split..], keyed.order()).is_eq()
            }
            _ => {
                numbers = Numbers::default();
                false
            }
        };
        numbers.row += 1;
        if !is_peer {
            (numbers.rank, numbers.dense_rank) = (numbers.row, numbers.dense_rank + 1);
        }
        debug_assert!(numbers.dense_rank <= numbers.rank && numbers.rank <= numbers.row, "ranks lag behind");
        *row = std::mem::take(&mut keyed.row);
        row.extend(self.plan.calls.iter().map(|call| {
            Value::BigInt(match call.kind {
                WindowNodeKind::RowNumber => numbers.row,
                WindowNodeKind::Rank => numbers.rank,
                WindowNodeKind::DenseRank => numbers.dense_rank,
                _ => unreachable!("asked by `is_stream`"),
            })
        }));
        numbers.last = Some(keyed.key);
        self.numbers = numbers;
        Ok(true)
    }
}

/// The rows of a partition, one after the other, with the values of the calls.
struct Computed<'p> {
    plan: &'p WindowPlan,
    partition: Partition,
    /// The row that is next.
    at: usize,
    /// The row and its peers in the order.
    peers: Range<usize>,
    dense_rank: i64,
    has_peers: bool,
    looks_back: bool,
    calls: Vec<CallState<'p>>,
}

/// The rows of the partition read so far: the only row with a value among them; the others are NULL.
#[derive(Default)]
struct Seen {
    range: Range<usize>,
    found: Option<usize>,
}

/// The state of a call from the rows before.
#[derive(Default)]
struct CallState<'p> {
    /// For an aggregate: the rows that it has added, and its value for the row before.
    running: Option<Accumulator<'p>>,
    taken: Range<usize>,
    last: Value,
    /// For NTILE: the size of most groups, and the number of groups with one more row.
    tiles: Option<(usize, usize)>,
    /// With IGNORE NULLS: the state of the rows read before.
    seen: Seen,
}

impl<'p> Computed<'p> {
    fn new(plan: &'p WindowPlan, partition: Partition) -> Computed<'p> {
        let is_about_peers = |call: &WindowNode| match call.kind {
            WindowNodeKind::Rank
            | WindowNodeKind::DenseRank
            | WindowNodeKind::PercentRank
            | WindowNodeKind::CumeDist => true,
            WindowNodeKind::Edge { .. } | WindowNodeKind::Aggregate(_) => !call.frame.rows,
            _ => false,
        };
        // An aggregate whose frame begins with the partition and ends with the row or behind it takes each row once, before it goes.
        let looks_back = |call: &WindowNode| match call.kind {
            WindowNodeKind::Shift { .. } | WindowNodeKind::Edge { .. } => true,
            WindowNodeKind::Aggregate(_) => {
                !matches!(call.frame.start, FrameBound::UnboundedPreceding)
                    || matches!(call.frame.end, FrameBound::Preceding(_) | FrameBound::UnboundedPreceding)
            }
            _ => false,
        };
        Computed {
            plan,
            partition,
            at: 0,
            peers: 0..0,
            dense_rank: 0,
            has_peers: plan.calls.iter().any(is_about_peers),
            looks_back: plan.calls.iter().any(looks_back),
            calls: plan.calls.iter().map(|_| CallState::default()).collect(),
        }
    }

    fn row(&self, at: usize) -> Result<RowAt<'_>, SqlError> {
        self.partition.row(at, (self.plan.partition.len(), self.plan.order.len()))
    }

    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        if self.at == self.partition.len() {
            return Ok(false);
        }
        debug_assert!(self.at < self.partition.len(), "a row is left");
        if self.at == self.peers.end && self.has_peers {
            self.peers = self.at..self.end_of_peers(runtime)?;
            self.dense_rank += 1;
        }
        let mut calls = std::mem::take(&mut self.calls);
        let values = self.plan.calls.iter().zip(&mut calls);
        let values: Result<Vec<Value>, SqlError> =
            values.map(|(call, state)| self.value(runtime, call, state)).collect();
        self.calls = calls;
        let keys = (self.plan.partition.len(), self.plan.order.len());
        *row = match self.looks_back {
            true => self.row(self.at)?.row.clone(),
            false => self.partition.take_row(self.at, keys)?,
        };
        row.append(&mut values?);
        self.at += 1;
        Ok(true)
    }

    fn end_of_peers(&self, runtime: &Runtime<'_>) -> Result<usize, SqlError> {
        if self.plan.order.is_empty() {
            return Ok(self.partition.len());
        }
        let first = self.row(self.at)?;
        let mut end = self.at + 1;
        while end < self.partition.len() {
            runtime.check_cancelled()?;
            let next = self.row(end)?;
            if compare_values(&self.plan.order, first.order(), next.order()).is_ne() {
                break;
            }
            end += 1;
        }
        Ok(end)
    }

    fn value(
        &self,
        runtime: &Runtime<'_>,
        call: &'p WindowNode,
        state: &mut CallState<'p>,
    ) -> Result<Value, SqlError> {
        let (at, count) = (self.at, self.partition.len());
        debug_assert!(!self.has_peers || self.peers.contains(&at), "a row is one of its peers");
        match &call.kind {
            WindowNodeKind::RowNumber => Ok(Value::BigInt(at as i64 + 1)),
            WindowNodeKind::Rank => Ok(Value::BigInt(self.peers.start as i64 + 1)),
            WindowNodeKind::DenseRank => Ok(Value::BigInt(self.dense_rank)),
            WindowNodeKind::PercentRank => {
                let below = (count.max(2) - 1) as f64;
                Ok(Value::Float(if count == 1 { 0.0 } else { self.peers.start as f64 / below }))
            }
            WindowNodeKind::CumeDist => Ok(Value::Float(self.peers.end as f64 / count as f64)),
            WindowNodeKind::Tile(node) => {
                let (size, larger) = match state.tiles {
                    Some(tiles) => tiles,
                    None => *state.tiles.insert(tiles(node.eval_i64(runtime, &self.row(0)?.row)?, count)?),
                };
                Ok(Value::BigInt(tile_of(at, size, larger) as i64 + 1))
            }
            WindowNodeKind::Shift { value, offset, default, lead, ignores_nulls } => {
                let own = self.row(at)?;
                let Some(distance) = offset.eval_i64(runtime, &own.row)? else { return Ok(Value::Null) };
                if distance < 0 {
                    return Err(SqlError::new(8730, &[]));
                }
                let target = match ignores_nulls {
                    true => self.shifted_over_nulls(runtime, value, (*lead, distance), &mut state.seen)?,
                    false => {
                        let target = if *lead { at as i64 + distance } else { at as i64 - distance };
                        usize::try_from(target).ok().filter(|target| *target < count)
                    }
                };
                match target {
                    Some(target) => value.eval(runtime, &self.row(target)?.row),
                    None => default.as_ref().map_or(Ok(Value::Null), |node| node.eval(runtime, &own.row)),
                }
            }
            WindowNodeKind::Edge { value, last, ignores_nulls } => {
                let range = self.frame(call);
                let target = match ignores_nulls {
                    true => self.edge_over_nulls(runtime, value, (range, *last), &mut state.seen)?,
                    false if range.is_empty() => None,
                    false if *last => Some(range.end - 1),
                    false => Some(range.start),
                };
                target.map_or(Ok(Value::Null), |target| value.eval(runtime, &self.row(target)?.row))
            }
            WindowNodeKind::Aggregate(aggregate) => self.aggregate(runtime, call, aggregate, state),
        }
    }

    fn frame(&self, call: &WindowNode) -> Range<usize> {
        frame_range(&call.frame, self.at, self.partition.len(), &self.peers)
    }

    /// The row of LAG or LEAD with IGNORE NULLS: so many rows away, not counting those whose value is NULL.
    fn shifted_over_nulls(
        &self,
        runtime: &Runtime<'_>,
        value: &Node,
        (lead, distance): (bool, i64),
        seen: &mut Seen,
    ) -> Result<Option<usize>, SqlError> {
        let mut found = Some(self.at);
        for step in 0..distance {
            let Some(from) = found else { break };
            let range = if lead { from + 1..self.partition.len() } else { 0..from };
            // What was seen for the row before is of use to the first step alone.
            found = match step {
                0 => self.edge_over_nulls(runtime, value, (range, !lead), seen)?,
                _ => self.edge_over_nulls(runtime, value, (range, !lead), &mut Seen::default())?,
            };
        }
        Ok(found)
    }

    /// The first or last row of a range whose value is not NULL. Rows are read once as long as the ranges of a partition move forward.
    fn edge_over_nulls(
        &self,
        runtime: &Runtime<'_>,
        value: &Node,
        (range, last): (Range<usize>, bool),
        seen: &mut Seen,
    ) -> Result<Option<usize>, SqlError> {
        let is_there = |at: usize| -> Result<bool, SqlError> {
            runtime.check_cancelled()?;
            Ok(!value.eval(runtime, &self.row(at)?.row)?.is_null())
        };
        let known = std::mem::take(&mut seen.range);
        let mut found = None;
        let mut at = if last { range.end } else { range.start };
        while found.is_none() && if last { at > range.start } else { at < range.end } {
            let next = if last { at - 1 } else { at };
            if known.contains(&next) {
                // Nothing but NULL lies in `known` before or behind what was found there.
                found = seen.found.filter(|found| if last { *found <= next } else { *found >= next });
                at = if last { known.start } else { known.end };
                continue;
            }
            if is_there(next)? {
                found = Some(next);
            }
            at = if last { next } else { next + 1 };
        }
        found = found.filter(|found| range.contains(found));
        debug_assert!(range.end <= self.partition.len(), "rows of the partition are looked at");
        seen.range = match (found, last) {
            (Some(found), true) => found..range.end,
            (Some(found), false) => range.start..found + 1,
            (None, _) => range,
        };
        seen.found = found;
        Ok(found)
    }

    fn aggregate(
        &self,
        runtime: &Runtime<'_>,
        call: &'p WindowNode,
        aggregate: &'p AggregateNode,
        state: &mut CallState<'p>,
    ) -> Result<Value, SqlError> {
        let range = self.frame(call);
        // A frame that only grows is extended; one whose start moves is computed afresh.
        let afresh = range.start != state.taken.start || range.end < state.taken.end;
        if afresh {
            state.running = None;
        }
        let is_new = state.running.is_none();
        let running = state.running.get_or_insert_with(|| Accumulator::new(aggregate));
        if is_new {
            state.taken = range.start..range.start;
        }
        if range == state.taken && !is_new {
            return Ok(state.last.clone());
        }
        for at in state.taken.end..range.end {
            runtime.check_cancelled()?;
            running.add_row(runtime, &self.row(at)?.row)?;
        }
        debug_assert!(range.end <= self.partition.len(), "a frame lies in its partition");
        state.taken = range;
        state.last = running.current(runtime)?;
        Ok(state.last.clone())
    }
}

/// The input whose rows come sorted by partition and order.
fn in_order<'p>(plan: &'p WindowPlan, runtime: &Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    Ok(verified(plan.input.open(runtime)?, &plan.input, runtime, || {
        Claim::partitioned(&plan.partition, &plan.partition_collations, &plan.order)
    }))
}

/// ROW_NUMBER over rows in whatever order they come: whoever stops reading stops the input.
pub(crate) struct RowNumbers<'p> {
    input: Box<dyn RowSource + 'p>,
    /// How many columns get the number.
    columns: usize,
    given: i64,
}

impl<'p> RowNumbers<'p> {
    pub(crate) fn open(plan: &'p WindowPlan, runtime: &Runtime<'_>) -> Result<RowNumbers<'p>, SqlError> {
        assert!(plan.only_numbers_rows(), "other functions need the rows of their partition");
        let input = match plan.is_in_order {
            true => in_order(plan, runtime)?,
            false => plan.input.open(runtime)?,
        };
        Ok(RowNumbers { input, columns: plan.calls.len(), given: 0 })
    }
}

impl RowSource for RowNumbers<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if !self.input.next(runtime, row)? {
            return Ok(false);
        }
        self.given += 1;
        row.extend(std::iter::repeat_n(Value::BigInt(self.given), self.columns));
        Ok(true)
    }
}

fn frame_range(frame: &WindowFrame, index: usize, count: usize, peers: &Range<usize>) -> Range<usize> {
    let start = match frame.start {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(n) => index.saturating_sub(n as usize),
        FrameBound::Current if frame.rows => index,
        FrameBound::Current => peers.start,
        FrameBound::Following(n) => index.saturating_add(n as usize).min(count),
        FrameBound::UnboundedFollowing => count,
    };
    let end = match frame.end {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(n) => (index + 1).saturating_sub(n as usize),
        FrameBound::Current if frame.rows => index + 1,
        FrameBound::Current => peers.end,
        FrameBound::Following(n) => index.saturating_add(n as usize).saturating_add(1).min(count),
        FrameBound::UnboundedFollowing => count,
    };
    start..end.max(start)
}

/// The size of most groups of NTILE, and how many have one more.
fn tiles(wanted: Option<i64>, count: usize) -> Result<(usize, usize), SqlError> {
    match wanted {
        Some(number) if number > 0 => Ok((count / number as usize, count % number as usize)),
        _ => Err(plan_ir::errors::tile_count_invalid()),
    }
}

/// The group of a row; the larger ones come first.
fn tile_of(at: usize, size: usize, larger: usize) -> usize {
    debug_assert!(size > 0 || larger > 0, "rows are in some group");
    let in_larger = larger * (size + 1);
    if at < in_larger { at / (size + 1) } else { larger + (at - in_larger) / size }
}

impl RowSource for Window<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.ordered.is_none() {
            self.ordered = Some(self.open(runtime)?);
        }
        if self.is_stream() {
            runtime.check_cancelled()?;
            return self.next_numbered(runtime, row);
        }
        loop {
            if let Some(at_hand) = &mut self.at_hand
                && at_hand.next(runtime, row)?
            {
                return Ok(true);
            }
            // The memory of one partition is free before the next one comes.
            self.at_hand = None;
            if !self.next_partition(runtime)? {
                return Ok(false);
            }
        }
    }
}
