//! Stream aggregate: groups rows that come group by group. One group is in memory at a time, and there is no hash table.

use plan_ir::physical::plan::{AggregatePlan, Node};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::aggregate::{Accumulator, BATCH_GROUPS};
use super::keys::write_key;
use super::operations::{Evaluate, Open};
use super::spill::Held;
use super::verified::{Claim, verified};

/// The groups of an input that has the rows of each group together.
pub(crate) struct StreamAggregate<'p> {
    plan: &'p AggregatePlan,
    /// `None` after its end.
    input: Option<Box<dyn RowSource + 'p>>,
    /// Buffered rows, and the position of the next one.
    batch: Batch,
    at: usize,
    /// The current group: the values of its keys, its key as bytes, what has been gathered.
    values: Option<Row>,
    key: Vec<u8>,
    accumulators: Vec<Accumulator<'p>>,
    /// The key of the current row.
    other: Vec<u8>,
    held: Held,
}

impl<'p> StreamAggregate<'p> {
    pub(crate) fn open(
        plan: &'p AggregatePlan,
        runtime: &Runtime<'_>,
    ) -> Result<StreamAggregate<'p>, SqlError> {
        assert!(!plan.keys.is_empty(), "one group of all rows needs no order");
        Ok(StreamAggregate {
            plan,
            input: Some(verified(plan.input.open(runtime)?, &plan.input, runtime, || {
                Claim::grouped(&plan.keys, &plan.collations)
            })),
            batch: Batch::default(),
            at: 0,
            values: None,
            key: Vec::new(),
            accumulators: Vec::new(),
            other: Vec::new(),
            held: Held::new(runtime),
        })
    }

    /// Does a row belong to the current group?
    fn is_of_group(&mut self, runtime: &Runtime<'_>, at: usize) -> Result<bool, SqlError> {
        let Some(values) = &self.values else { return Ok(false) };
        let row = self.batch.row(at);
        let is_same = |(node, value): (&Node, &Value)| match node {
            Node::Column(position) => row[*position] == *value,
            _ => false,
        };
        if self.plan.keys.iter().zip(values).all(is_same) {
            return Ok(true);
        }
        // Values that are not the same may still be equal.
        write_key(&self.plan.keys, &self.plan.collations, runtime, row, &mut self.other)?;
        Ok(self.other == self.key)
    }

    fn begin_group(&mut self, runtime: &Runtime<'_>, at: usize) -> Result<(), SqlError> {
        assert!(
            self.values.is_none() && self.accumulators.is_empty(),
            "one group ends before the next begins"
        );
        let row = self.batch.row(at);
        write_key(&self.plan.keys, &self.plan.collations, runtime, row, &mut self.key)?;
        let values: Result<Row, SqlError> =
            self.plan.keys.iter().map(|node| node.eval(runtime, row)).collect();
        self.values = Some(values?);
        self.accumulators.extend(self.plan.aggregates.iter().map(Accumulator::new));
        Ok(())
    }

    /// Appends the current group to `out`; false when there is none.
    fn give_group(&mut self, runtime: &Runtime<'_>, out: &mut Row) -> Result<bool, SqlError> {
        let Some(mut values) = self.values.take() else { return Ok(false) };
        debug_assert_eq!(self.accumulators.len(), self.plan.aggregates.len(), "an accumulator for each");
        out.append(&mut values);
        for accumulator in self.accumulators.drain(..) {
            out.push(accumulator.finish(runtime)?);
        }
        self.held.clear();
        Ok(true)
    }

    /// Appends the next group; false at the end.
    fn next_group(&mut self, runtime: &Runtime<'_>, out: &mut Row) -> Result<bool, SqlError> {
        loop {
            if self.at == self.batch.rows {
                runtime.check_cancelled()?;
                self.at = 0;
                let has_more = match &mut self.input {
                    Some(input) => input.next_batch(runtime, &mut self.batch)?,
                    None => false,
                };
                if !has_more {
                    self.input = None;
                    self.batch.clear(0);
                    return self.give_group(runtime, out);
                }
            }
            while self.at < self.batch.rows {
                if !self.is_of_group(runtime, self.at)? {
                    if self.values.is_some() {
                        return self.give_group(runtime, out);
                    }
                    self.begin_group(runtime, self.at)?;
                }
                let row = self.batch.row(self.at);
                let mut grown_bytes = 0;
                for accumulator in &mut self.accumulators {
                    grown_bytes += accumulator.add_row(runtime, row)?;
                }
                if grown_bytes > 0 {
                    self.held.add_bytes(runtime, grown_bytes)?;
                }
                self.at += 1;
            }
        }
    }
}

impl RowSource for StreamAggregate<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        self.next_group(runtime, row)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        batch.fill(self.plan.keys.len() + self.plan.aggregates.len(), BATCH_GROUPS, |row| {
            self.next_group(runtime, row)
        })
    }
}
