//! Grouping in a hash table, and the accumulators of the aggregate functions (also used by windows).

use plan_ir::kinds::AggregateKind;
use plan_ir::physical::plan::{AggregateNode, AggregatePlan, JoinKeyKind, Node};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::values::write_value;
use rustc_hash::FxHashSet;
use types::{Length, SqlError, SqlType, Value};

use super::key_table::{Key, KeyTable, fits, key_bytes, pair};
use super::keys::{compare_values, sort_values, write_key};
use super::operations::{Evaluate, Open};
use super::room::{Room, room_for};
use super::spill::{Held, hashed_bytes, row_bytes};
use super::sums;
use crate::spill::parts::Later;

/// Most that STRING_AGG gives of texts that are no large ones.
const STRING_AGG_BYTES_MAX: usize = 8000;

/// Groups that are emitted together.
pub(super) const BATCH_GROUPS: usize = 256;

/// Rows of groups that do not fit are deferred until the current groups have been emitted: states building ──► giving ──(a part that was put
/// off)──► building.
pub(crate) struct Aggregate<'p> {
    plan: &'p AggregatePlan,
    groups: Option<Groups<'p>>,
    held: Option<Held>,
    later: Later,
}

/// Groups that are given.
struct Groups<'p> {
    keys: std::vec::IntoIter<Row>,
    accumulators: std::vec::IntoIter<Accumulator<'p>>,
}

/// The groups that are being gathered.
struct Gathered<'p> {
    table: KeyTable,
    /// The values of their keys.
    keys: Vec<Row>,
    /// The accumulators of each group, one per aggregate, contiguous: a row accesses one place in memory.
    accumulators: Vec<Accumulator<'p>>,
    held: Held,
    /// No more groups fit.
    is_full: bool,
}

impl<'p> Aggregate<'p> {
    pub(crate) fn new(plan: &'p AggregatePlan) -> Aggregate<'p> {
        assert_eq!(plan.keys.len(), plan.collations.len(), "a collation for each key");
        assert!(
            plan.keys.is_empty() || fits(plan.key_kind, plan.keys.len()),
            "numbers are keys of one or two columns"
        );
        Aggregate { plan, groups: None, held: None, later: Later::default() }
    }

    fn build(&mut self, runtime: &Runtime<'_>, input: &mut dyn RowSource) -> Result<(), SqlError> {
        (self.held, self.groups) = (None, None);
        let mut gathered = Gathered {
            table: KeyTable::default(),
            keys: Vec::new(),
            accumulators: Vec::new(),
            held: Held::new(runtime),
            is_full: false,
        };
        let (scalar, width) = (self.plan.keys.is_empty(), self.plan.aggregates.len());
        if scalar {
            gathered.begin(self.plan, Row::new());
        }
        let only_counts = scalar && gathered.accumulators.iter().all(Accumulator::counts_rows);
        let (mut batch, mut key) = (Batch::default(), Vec::new());
        while input.next_batch(runtime, &mut batch)? {
            runtime.check_cancelled_after(batch.rows)?;
            if only_counts {
                let accumulators = &mut gathered.accumulators;
                accumulators.iter_mut().for_each(|accumulator| accumulator.add_rows(batch.rows));
                continue;
            }
            if scalar && add_columns(runtime, &mut gathered.accumulators, &batch)? {
                continue;
            }
            for row in (0..batch.rows).map(|at| batch.row(at)) {
                let index = match scalar {
                    true => 0,
                    false => match self.group_of(runtime, row, &mut key, &mut gathered)? {
                        Some(index) => index,
                        None => {
                            write_key(&self.plan.keys, &self.plan.collations, runtime, row, &mut key)?;
                            self.later.put(runtime, gathered.held.workspace(), &key, row)?;
                            continue;
                        }
                    },
                };
                let mut grown_bytes = 0;
                for accumulator in &mut gathered.accumulators[index * width..][..width] {
                    grown_bytes += accumulator.add_row(runtime, row)?;
                }
                if grown_bytes > 0 {
                    gathered.is_full |= gathered.held.add_bytes(runtime, grown_bytes)?;
                }
            }
        }
        debug_assert!(!scalar || gathered.keys.len() == 1, "without keys there is one group");
        debug_assert_eq!(gathered.accumulators.len(), gathered.keys.len() * width, "each group has its own");
        let (keys, accumulators) = (gathered.keys.into_iter(), gathered.accumulators.into_iter());
        self.groups = Some(Groups { keys, accumulators });
        self.held = Some(gathered.held);
        Ok(())
    }

    /// The group of a row, made when it is the first of it; none when no more fit.
    fn group_of(
        &self,
        runtime: &Runtime<'_>,
        row: &[Value],
        key: &mut Vec<u8>,
        gathered: &mut Gathered<'p>,
    ) -> Result<Option<usize>, SqlError> {
        runtime.check_cancelled()?;
        let key = self.key_of(runtime, row, key)?;
        if let Some(index) = gathered.table.get(key) {
            return Ok(Some(index as usize));
        }
        if gathered.is_full {
            return Ok(None);
        }
        let values: Result<Row, SqlError> =
            self.plan.keys.iter().map(|node| node.eval(runtime, row)).collect();
        let (values, index) = (values?, gathered.keys.len());
        let own_bytes = size_of::<Row>() + self.plan.aggregates.len() * size_of::<Accumulator<'_>>();
        let bytes = key_bytes(key) + row_bytes(&values) + own_bytes;
        gathered.keys.room_for_one()?;
        room_for(&mut gathered.accumulators, self.plan.aggregates.len())?;
        gathered.table.insert(key, index as u32)?;
        gathered.begin(self.plan, values);
        gathered.is_full |= gathered.held.add(runtime, bytes)?;
        Ok(Some(index))
    }

    /// The key of a row's group, in `bytes` if it is no number. NULL is no number, but a group as others are.
    fn key_of<'k>(
        &self,
        runtime: &Runtime<'_>,
        row: &[Value],
        bytes: &'k mut Vec<u8>,
    ) -> Result<Key<'k>, SqlError> {
        let number = |node: &Node| node.eval_i64(runtime, row);
        let number = match (self.plan.key_kind, &self.plan.keys[..]) {
            (JoinKeyKind::Number, [one]) => number(one)?,
            (JoinKeyKind::Pair, [one, other]) => {
                number(one)?.zip(number(other)?).map(|(one, other)| pair(one, other))
            }
            _ => None,
        };
        if let Some(number) = number {
            return Ok(Key::Number(number));
        }
        write_key(&self.plan.keys, &self.plan.collations, runtime, row, bytes)?;
        Ok(Key::Bytes(bytes))
    }
}

impl<'p> Gathered<'p> {
    fn begin(&mut self, plan: &'p AggregatePlan, key: Row) {
        assert_eq!(
            self.accumulators.len(),
            self.keys.len() * plan.aggregates.len(),
            "each group has its accumulators"
        );
        self.keys.push(key);
        self.accumulators.extend(plan.aggregates.iter().map(Accumulator::new));
    }
}

impl Aggregate<'_> {
    /// Appends the next group; false at the end.
    fn next_group(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.groups.is_none() {
            let mut input = self.plan.input.open(runtime)?;
            self.build(runtime, &mut *input)?;
        }
        loop {
            if let Some(groups) = &mut self.groups
                && let Some(mut key) = groups.keys.next()
            {
                row.append(&mut key);
                for accumulator in groups.accumulators.by_ref().take(self.plan.aggregates.len()) {
                    row.push(accumulator.finish(runtime)?);
                }
                return Ok(true);
            }
            let Some(mut part) = self.later.next_part()? else { return Ok(false) };
            self.build(runtime, &mut part)?;
        }
    }
}

impl RowSource for Aggregate<'_> {
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

/// Gives each accumulator its column of the batch; false when one of them needs more than a column.
fn add_columns(
    runtime: &Runtime<'_>,
    accumulators: &mut [Accumulator<'_>],
    batch: &Batch,
) -> Result<bool, SqlError> {
    if !accumulators.iter().all(|accumulator| accumulator.counts_rows() || accumulator.column().is_some()) {
        return Ok(false);
    }
    for accumulator in accumulators {
        match accumulator.column() {
            Some(position) => accumulator.add_column(runtime, batch, position)?,
            None => accumulator.add_rows(batch.rows),
        }
    }
    Ok(true)
}

/// One aggregate being computed.
pub(crate) struct Accumulator<'p> {
    node: &'p AggregateNode,
    count: i64,
    state: State,
    seen: Option<Box<FxHashSet<Box<[u8]>>>>,
    saw_null: bool,
}

enum State {
    Nothing,
    Integer(i64),
    Value(Value),
    /// Count, mean and sum of squared differences (Welford).
    Moments {
        mean: f64,
        squares: f64,
    },
    Strings(Vec<(Vec<Value>, Value)>),
}

impl<'p> Accumulator<'p> {
    pub(crate) fn new(node: &'p AggregateNode) -> Accumulator<'p> {
        let state = match node.kind {
            AggregateKind::CountRows | AggregateKind::Count => State::Nothing,
            AggregateKind::Sum | AggregateKind::Average | AggregateKind::Minimum | AggregateKind::Maximum => {
                State::Nothing
            }
            AggregateKind::StandardDeviation
            | AggregateKind::StandardDeviationPopulation
            | AggregateKind::Variance
            | AggregateKind::VariancePopulation => State::Moments { mean: 0.0, squares: 0.0 },
            AggregateKind::StringAgg => State::Strings(Vec::new()),
            AggregateKind::ChecksumAgg => State::Integer(0),
        };
        Accumulator { node, count: 0, state, seen: node.distinct.then(Box::default), saw_null: false }
    }

    /// Does it count rows, whatever is in them?
    fn counts_rows(&self) -> bool {
        self.node.argument.is_none()
    }

    fn add_rows(&mut self, rows: usize) {
        assert!(self.counts_rows(), "what looks at values takes row by row");
        self.count += rows as i64;
    }

    /// The column whose values it counts or adds up, if it does nothing else.
    fn column(&self) -> Option<usize> {
        let is_simple =
            matches!(self.node.kind, AggregateKind::Count | AggregateKind::Sum | AggregateKind::Average);
        match &self.node.argument {
            Some(Node::Column(position)) if is_simple && self.seen.is_none() => Some(*position),
            _ => None,
        }
    }

    fn add_column(&mut self, runtime: &Runtime<'_>, batch: &Batch, position: usize) -> Result<(), SqlError> {
        let before = self.count;
        for value in batch.column(position) {
            if value.is_null() {
                continue;
            }
            self.count += 1;
            if self.node.kind != AggregateKind::Count {
                sums::accumulate(state_value(&mut self.state), value, self.node)?;
            }
        }
        if !self.saw_null && ((self.count - before) as usize) < batch.rows {
            self.saw_null = true;
            runtime.note_null_eliminated();
        }
        Ok(())
    }

    /// Takes one input row. Gives by how many bytes it keeps more, if it keeps something of each.
    pub(crate) fn add_row(&mut self, runtime: &Runtime<'_>, row: &[Value]) -> Result<usize, SqlError> {
        let Some(argument) = &self.node.argument else {
            self.count += 1;
            return Ok(0);
        };
        let mut computed = Value::Null;
        let value = argument.eval_in(runtime, row, &mut computed)?;
        if value.is_null() {
            if !self.saw_null {
                self.saw_null = true;
                runtime.note_null_eliminated();
            }
            return Ok(0);
        }
        let mut grown_bytes = 0;
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            write_value(value, self.node.collation, &mut key);
            seen.room_for_one()?;
            grown_bytes += hashed_bytes(&key);
            if !seen.insert(key.into_boxed_slice()) {
                return Ok(0);
            }
        }
        self.count += 1;
        if matches!(self.state, State::Strings(_)) {
            grown_bytes += value.long_bytes() + 2 * size_of::<Value>();
        }
        self.add_value(runtime, row, value)?;
        Ok(grown_bytes)
    }

    fn add_value(&mut self, runtime: &Runtime<'_>, row: &[Value], value: &Value) -> Result<(), SqlError> {
        match (&mut self.state, self.node.kind) {
            (_, AggregateKind::Count | AggregateKind::CountRows) => {}
            (State::Integer(sum), AggregateKind::ChecksumAgg) => *sum ^= value.as_i64().unwrap_or(0),
            (state, AggregateKind::Sum | AggregateKind::Average) => {
                sums::accumulate(state_value(state), value, self.node)?
            }
            (state, AggregateKind::Minimum | AggregateKind::Maximum) => {
                let wanted = if self.node.kind == AggregateKind::Minimum {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Greater
                };
                let current = state_value(state);
                if current.is_null() || types::sort_compare(value, current, self.node.collation) == wanted {
                    *current = value.clone();
                }
            }
            (State::Moments { mean, squares }, _) => {
                let number = plan_ir::values::to_f64(value);
                let delta = number - *mean;
                *mean += delta / self.count as f64;
                *squares += delta * (number - *mean);
            }
            (State::Strings(list), _) => {
                let order = sort_values(&self.node.order, runtime, row)?;
                list.room_for_one()?;
                list.push((order, value.clone()));
            }
            (State::Nothing | State::Integer(_) | State::Value(_), kind) => {
                unreachable!("{kind:?} has its own state")
            }
        }
        Ok(())
    }

    /// The result.
    pub(crate) fn finish(mut self, runtime: &Runtime<'_>) -> Result<Value, SqlError> {
        self.current(runtime)
    }

    /// The result so far; running windows ask for it after each row.
    pub(crate) fn current(&mut self, runtime: &Runtime<'_>) -> Result<Value, SqlError> {
        match self.node.kind {
            AggregateKind::CountRows | AggregateKind::Count => {
                if self.node.sql_type == SqlType::Int {
                    return i32::try_from(self.count)
                        .map(Value::Int)
                        .map_err(|_| plan_ir::errors::overflow("int"));
                }
                Ok(Value::BigInt(self.count))
            }
            AggregateKind::ChecksumAgg => Ok(match self.state {
                State::Integer(sum) => Value::Int(sum as i32),
                _ => Value::Null,
            }),
            AggregateKind::Sum => Ok(match &self.state {
                State::Value(value) => {
                    runtime.forgive(sums::finish_sum(value, &self.node.sql_type), Value::Null)?
                }
                _ => Value::Null,
            }),
            AggregateKind::Minimum | AggregateKind::Maximum => Ok(match &self.state {
                State::Value(value) => value.clone(),
                _ => Value::Null,
            }),
            AggregateKind::Average => match &self.state {
                State::Value(sum) => runtime.forgive(sums::average(sum, self.count, self.node), Value::Null),
                _ => Ok(Value::Null),
            },
            AggregateKind::StringAgg => self.join_strings(runtime),
            _ => Ok(self.spread()),
        }
    }

    fn spread(&self) -> Value {
        let State::Moments { squares, .. } = self.state else {
            return Value::Null;
        };
        let (population, root) = match self.node.kind {
            AggregateKind::StandardDeviation => (false, true),
            AggregateKind::StandardDeviationPopulation => (true, true),
            AggregateKind::VariancePopulation => (true, false),
            _ => (false, false),
        };
        let divisor = if population { self.count } else { self.count - 1 };
        if divisor <= 0 {
            return Value::Null;
        }
        let variance = squares / divisor as f64;
        Value::Float(if root { variance.sqrt() } else { variance })
    }

    fn join_strings(&mut self, runtime: &Runtime<'_>) -> Result<Value, SqlError> {
        let separator = match &self.node.separator {
            Some(node) => node.eval(runtime, &[])?,
            None => Value::Null,
        };
        let State::Strings(list) = &mut self.state else {
            return Ok(Value::Null);
        };
        if list.is_empty() {
            return Ok(Value::Null);
        }
        os::sort_by(list, |a, b| compare_values(&self.node.order, &a.0, &b.0))
            .map_err(|os::Interrupted| plan_ir::errors::cancelled())?;
        let bytes: usize = list.iter().map(|item| item.1.long_bytes() + separator.long_bytes()).sum();
        // As UTF-16, in a list that doubles, then as a value.
        os::memory::ask(bytes.saturating_mul(6)).map_err(plan_ir::errors::out_of_memory)?;
        let joined = sums::join_strings(list.iter().map(|item| &item.1), &separator, &self.node.sql_type);
        let is_short =
            matches!(self.node.sql_type, SqlType::VarChar(Length::N(_)) | SqlType::NVarChar(Length::N(_)));
        if is_short && joined.long_bytes() > STRING_AGG_BYTES_MAX {
            return Err(SqlError::new(9829, &[]));
        }
        Ok(joined)
    }
}

fn state_value(state: &mut State) -> &mut Value {
    if matches!(state, State::Nothing) {
        *state = State::Value(Value::Null);
    }
    match state {
        State::Value(value) => value,
        _ => unreachable!("only sums and extremes keep a value"),
    }
}
