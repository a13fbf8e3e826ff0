//! Window functions: rows are read, ordered by partition and order keys, and each call is computed a partition at a time. Row
//! numbers without an order are given as the rows come.

use std::ops::Range;

use types::{SqlError, Value};

use super::aggregate::Accumulator;
use super::keys::{compare_values, sort_values};
use super::room::Room;
use crate::exec::spill::sorter::{Sorted, Sorter, key_order};
use crate::kinds::{FrameBound, WindowFrame};
use crate::physical::plan::{AggregateNode, WindowNode, WindowNodeKind, WindowPlan};
use crate::row::Row;
use crate::row_source::RowSource;
use crate::runtime::Runtime;

/// States: new -> (next: sort) giving a partition, or a row at a time (`is_stream`) -> the end.
pub(crate) struct Window<'p> {
    plan: &'p WindowPlan,
    sorted: Option<Sorted>,
    /// The first row of the next partition.
    ahead: Option<Keyed>,
    ready: std::vec::IntoIter<Row>,
    numbers: Numbers,
}

/// A row with its partition and order keys.
struct Keyed {
    /// Of the partition first, then of the order.
    key: Vec<Value>,
    partition: usize,
    row: Row,
}

impl Keyed {
    fn partition(&self) -> &[Value] {
        &self.key[..self.partition]
    }

    fn order(&self) -> &[Value] {
        &self.key[self.partition..]
    }
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
        let (ready, numbers) = (Vec::new().into_iter(), Numbers::default());
        Window { plan, sorted: None, ahead: None, ready, numbers }
    }

    /// Do all functions number rows, and so need none but the last one?
    fn is_stream(&self) -> bool {
        self.plan.calls.iter().all(|call| {
            matches!(call.kind, WindowNodeKind::RowNumber | WindowNodeKind::Rank | WindowNodeKind::DenseRank)
        })
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
            let mut key =
                plan.partition.iter().map(|node| node.eval(runtime, &row)).collect::<Result<Vec<_>, _>>()?;
            key.append(&mut sort_values(&plan.order, runtime, &row)?);
            sorter.add(runtime, key, std::mem::take(&mut row))?;
        }
        sorter.finish(runtime)
    }

    fn next_sorted(&mut self) -> Result<Option<Keyed>, SqlError> {
        let next = self.sorted.as_mut().expect("sorted before").next()?;
        Ok(next.map(|(key, row)| Keyed { key, partition: self.plan.partition.len(), row }))
    }

    fn is_same_partition(&self, a: &[Value], b: &[Value]) -> bool {
        a.iter()
            .zip(b)
            .zip(&self.plan.partition_collations)
            .all(|((x, y), collation)| types::sort_compare(x, y, *collation).is_eq())
    }

    /// The rows of the next partition; false when there is none.
    fn next_partition(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let first = match self.ahead.take() {
            Some(first) => first,
            None => match self.next_sorted()? {
                Some(first) => first,
                None => return Ok(false),
            },
        };
        let mut rows = vec![first];
        while let Some(keyed) = self.next_sorted()? {
            runtime.check_cancelled()?;
            if !self.is_same_partition(rows[0].partition(), keyed.partition()) {
                self.ahead = Some(keyed);
                break;
            }
            rows.room_for_one()?;
            rows.push(keyed);
        }
        self.compute_partition(runtime, &mut rows)?;
        self.ready = rows.into_iter().map(|keyed| keyed.row).collect::<Vec<_>>().into_iter();
        Ok(true)
    }

    /// The next row with its numbers.
    fn next_numbered(&mut self, row: &mut Row) -> Result<bool, SqlError> {
        let Some(mut keyed) = self.next_sorted()? else { return Ok(false) };
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

    fn compute_partition(&self, runtime: &Runtime<'_>, rows: &mut [Keyed]) -> Result<(), SqlError> {
        runtime.check_cancelled()?;
        for call in &self.plan.calls {
            runtime.check_cancelled()?;
            let values = self.call_values(runtime, call, rows)?;
            assert!(values.len() == rows.len(), "a window function gives one value a row");
            for (keyed, value) in rows.iter_mut().zip(values) {
                keyed.row.push(value);
            }
        }
        Ok(())
    }

    /// First row of each row's peer group.
    fn peer_starts(&self, rows: &[Keyed]) -> Vec<usize> {
        let mut starts: Vec<usize> = Vec::with_capacity(rows.len());
        for index in 0..rows.len() {
            let same = index > 0
                && compare_values(&self.plan.order, rows[index - 1].order(), rows[index].order()).is_eq();
            starts.push(if same { starts[index - 1] } else { index });
        }
        starts
    }

    /// End (exclusive) of each row's peer group.
    fn peer_ends(&self, rows: &[Keyed]) -> Vec<usize> {
        let starts = self.peer_starts(rows);
        let mut ends = vec![rows.len(); rows.len()];
        for index in (0..rows.len().saturating_sub(1)).rev() {
            ends[index] = if starts[index + 1] == index + 1 { index + 1 } else { ends[index + 1] };
        }
        ends
    }

    fn call_values(
        &self,
        runtime: &Runtime<'_>,
        call: &WindowNode,
        rows: &[Keyed],
    ) -> Result<Vec<Value>, SqlError> {
        let count = rows.len();
        match &call.kind {
            WindowNodeKind::RowNumber => Ok((1..=count as i64).map(Value::BigInt).collect()),
            WindowNodeKind::Rank => {
                Ok(self.peer_starts(rows).into_iter().map(|start| Value::BigInt(start as i64 + 1)).collect())
            }
            WindowNodeKind::DenseRank => {
                let starts = self.peer_starts(rows);
                let mut rank = 0;
                Ok((0..count)
                    .map(|index| {
                        rank += i64::from(starts[index] == index);
                        Value::BigInt(rank)
                    })
                    .collect())
            }
            WindowNodeKind::PercentRank => {
                let below = (count.max(2) - 1) as f64;
                Ok(self
                    .peer_starts(rows)
                    .into_iter()
                    .map(|start| Value::Float(if count == 1 { 0.0 } else { start as f64 / below }))
                    .collect())
            }
            WindowNodeKind::CumeDist => Ok(self
                .peer_ends(rows)
                .into_iter()
                .map(|end| Value::Float(end as f64 / count as f64))
                .collect()),
            WindowNodeKind::Tile(node) => tiles(runtime, node.eval_i64(runtime, &rows[0].row)?, count),
            WindowNodeKind::Shift { value, offset, default, lead } => (0..count)
                .map(|index| {
                    let Some(distance) = offset.eval_i64(runtime, &rows[index].row)? else {
                        return Ok(Value::Null);
                    };
                    let target = if *lead { index as i64 + distance } else { index as i64 - distance };
                    match usize::try_from(target).ok().filter(|target| *target < count) {
                        Some(target) => value.eval(runtime, &rows[target].row),
                        None => default
                            .as_ref()
                            .map_or(Ok(Value::Null), |node| node.eval(runtime, &rows[index].row)),
                    }
                })
                .collect(),
            WindowNodeKind::FirstValue(node) => {
                self.framed(call, rows, |range| node.eval(runtime, &rows[range.start].row))
            }
            WindowNodeKind::LastValue(node) => {
                self.framed(call, rows, |range| node.eval(runtime, &rows[range.end - 1].row))
            }
            WindowNodeKind::Aggregate(aggregate) => self.aggregate(runtime, call, aggregate, rows),
        }
    }

    fn framed(
        &self,
        call: &WindowNode,
        rows: &[Keyed],
        mut value: impl FnMut(Range<usize>) -> Result<Value, SqlError>,
    ) -> Result<Vec<Value>, SqlError> {
        let (starts, ends) = (self.peer_starts(rows), self.peer_ends(rows));
        (0..rows.len())
            .map(|index| {
                let range = frame_range(&call.frame, index, rows.len(), &starts, &ends);
                if range.is_empty() { Ok(Value::Null) } else { value(range) }
            })
            .collect()
    }

    fn aggregate(
        &self,
        runtime: &Runtime<'_>,
        call: &WindowNode,
        aggregate: &AggregateNode,
        rows: &[Keyed],
    ) -> Result<Vec<Value>, SqlError> {
        let (starts, ends) = (self.peer_starts(rows), self.peer_ends(rows));
        let mut values = Vec::with_capacity(rows.len());
        let mut running = Accumulator::new(aggregate);
        let mut taken: Range<usize> = 0..0;
        for index in 0..rows.len() {
            let range = frame_range(&call.frame, index, rows.len(), &starts, &ends);
            // A frame that only grows is extended; one whose start moves is computed afresh.
            let afresh = index == 0 || range.start != taken.start || range.end < taken.end;
            if afresh {
                running = Accumulator::new(aggregate);
                taken = range.start..range.start;
            }
            for row in &rows[taken.end.min(range.end)..range.end] {
                runtime.check_cancelled()?;
                running.add_row(runtime, &row.row)?;
            }
            let value = if range == taken && !afresh {
                Value::clone(&values[index - 1])
            } else {
                running.current(runtime)?
            };
            values.push(value);
            taken = range;
        }
        Ok(values)
    }
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
        Ok(RowNumbers { input: plan.input.open(runtime)?, columns: plan.calls.len(), given: 0 })
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

fn frame_range(
    frame: &WindowFrame,
    index: usize,
    count: usize,
    starts: &[usize],
    ends: &[usize],
) -> Range<usize> {
    let start = match frame.start {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(n) => index.saturating_sub(n as usize),
        FrameBound::Current if frame.rows => index,
        FrameBound::Current => starts[index],
        FrameBound::Following(n) => index.saturating_add(n as usize).min(count),
        FrameBound::UnboundedFollowing => count,
    };
    let end = match frame.end {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(n) => (index + 1).saturating_sub(n as usize),
        FrameBound::Current if frame.rows => index + 1,
        FrameBound::Current => ends[index],
        FrameBound::Following(n) => index.saturating_add(n as usize).saturating_add(1).min(count),
        FrameBound::UnboundedFollowing => count,
    };
    start..end.max(start)
}

fn tiles(_runtime: &Runtime<'_>, wanted: Option<i64>, count: usize) -> Result<Vec<Value>, SqlError> {
    let wanted = match wanted {
        Some(number) if number > 0 => number as usize,
        _ => return Err(crate::errors::tile_count_invalid()),
    };
    let (size, larger) = (count / wanted, count % wanted);
    let mut values = Vec::with_capacity(count);
    for tile in 0..wanted.min(count) {
        let rows = size + usize::from(tile < larger);
        values.extend(std::iter::repeat_n(Value::BigInt(tile as i64 + 1), rows));
    }
    Ok(values)
}

impl RowSource for Window<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(runtime)?);
        }
        if self.is_stream() {
            runtime.check_cancelled()?;
            return self.next_numbered(row);
        }
        loop {
            if let Some(next) = self.ready.next() {
                *row = next;
                return Ok(true);
            }
            if !self.next_partition(runtime)? {
                return Ok(false);
            }
        }
    }
}
