//! Merge join: both sides come in the order of the keys and are read once, in step. The right rows of one key are kept while left rows have that key.

use std::cmp::Ordering;
use std::rc::Rc;

use engine::Run;
use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::{MergeJoinPlan, MergeKey, Plan};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::operations::{Open, Test};
use super::simple::pad_nulls;
use super::spill::{Held, RowWriter, RunRows, row_bytes};
use super::verified::{Claim, ColumnOrder, verified};

/// Rows that are emitted together.
const BATCH_ROWS: usize = 256;

/// ```text
///  a left row ──its key is above the right row at hand──► right rows are passed over
///   │ equal: the right rows of the key are gathered (or are, still) and joined with it
///   │ below, or NULL: it finds none
///   ▼
///  the next left row
/// ```
pub(crate) struct MergeJoin<'p> {
    plan: &'p MergeJoinPlan,
    left: Rows<'p>,
    right: Rows<'p>,
    group: Group,
    /// The position of the current left row among the right rows of its key, while it has matches left.
    walk: Option<Walk>,
    found: bool,
}

/// The rows of a side, and the current one.
struct Rows<'p> {
    /// Gone when it has ended.
    source: Option<Box<dyn RowSource + 'p>>,
    batch: Batch,
    at: usize,
}

/// The right rows of one key: as many as fit are in memory, the rest is on disk.
struct Group {
    /// The values of the key; none: there is no group.
    key: Option<Row>,
    rows: Batch,
    behind: Option<Rc<Run>>,
    held: Held,
}

#[derive(Default)]
struct Walk {
    at: usize,
    behind: Option<RunRows<Rc<Run>>>,
    row: Row,
}

impl<'p> Rows<'p> {
    fn open(
        plan: &'p Plan,
        runtime: &Runtime<'_>,
        claim: impl FnOnce() -> Claim,
    ) -> Result<Rows<'p>, SqlError> {
        let source = verified(plan.open(runtime)?, plan, runtime, claim);
        Ok(Rows { source: Some(source), batch: Batch::default(), at: 0 })
    }

    /// Goes on to the next row; false at the end.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        self.at += 1;
        self.fill(runtime)
    }

    /// Makes sure that a row is buffered; false at the end of the input.
    fn fill(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        if self.at < self.batch.rows {
            return Ok(true);
        }
        runtime.check_cancelled()?;
        self.at = 0;
        let has_more = match &mut self.source {
            Some(source) => source.next_batch(runtime, &mut self.batch)?,
            None => false,
        };
        if !has_more {
            self.source = None;
            self.batch.clear(0);
        }
        Ok(has_more)
    }

    fn row(&self) -> &[Value] {
        debug_assert!(self.at < self.batch.rows, "a row is at hand");
        self.batch.row(self.at)
    }
}

impl<'p> MergeJoin<'p> {
    pub(crate) fn open(plan: &'p MergeJoinPlan, runtime: &Runtime<'_>) -> Result<MergeJoin<'p>, SqlError> {
        assert!(plan.kind != JoinKind::Full && !plan.keys.is_empty(), "what is merged has keys");
        assert!(
            plan.keys.iter().all(|key| key.left < plan.left_width && key.right < plan.right_width),
            "both sides have the columns that are equal"
        );
        Ok(MergeJoin {
            plan,
            left: Rows::open(&plan.left, runtime, || claim(plan, plan.left_width, |key| key.left))?,
            right: Rows::open(&plan.right, runtime, || claim(plan, plan.right_width, |key| key.right))?,
            group: Group { key: None, rows: Batch::default(), behind: None, held: Held::new(runtime) },
            walk: None,
            found: false,
        })
    }

    /// Is it asked whether there is an equal row, and nothing else of it?
    fn asks_for_existence(&self) -> bool {
        matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti) && self.plan.residual.is_none()
    }

    /// Finds the right rows of the current left row's key; false when there are none.
    fn find_group(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let keys = &self.plan.keys;
        let left = self.left.row();
        if keys.iter().any(|key| left[key.left].is_null()) {
            return Ok(false);
        }
        if let Some(group) = &self.group.key {
            match compare(keys, left, |at, _| &group[at]) {
                Ordering::Equal => return Ok(true),
                Ordering::Less => return Ok(false),
                Ordering::Greater => self.group.key = None,
            }
        }
        while self.right.fill(runtime)? {
            let (left, right) = (self.left.row(), self.right.row());
            if keys.iter().any(|key| right[key.right].is_null()) {
                self.right.at += 1;
                continue;
            }
            match compare(keys, left, |_, key| &right[key.right]) {
                Ordering::Less => return Ok(false),
                Ordering::Greater => self.right.at += 1,
                Ordering::Equal if self.asks_for_existence() => return Ok(true),
                Ordering::Equal => {
                    self.gather(runtime)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Gathers the right rows that have the key of the current one.
    fn gather(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let MergeJoin { plan, right, group, .. } = self;
        assert!(group.key.is_none(), "one group is gathered after the other");
        let key: Row = plan.keys.iter().map(|key| right.row()[key.right].clone()).collect();
        group.rows.clear(plan.right_width);
        group.behind = None;
        group.held.clear();
        let mut behind: Option<RowWriter> = None;
        loop {
            let row = right.row();
            assert_eq!(row.len(), plan.right_width, "a right row has the width of its plan");
            match &mut behind {
                Some(writer) => writer.push(row)?,
                None => {
                    let bytes = row_bytes(row);
                    super::room::room_for(&mut group.rows.values, plan.right_width)?;
                    group.rows.take_row(&mut right.batch, right.at);
                    if group.held.add(runtime, bytes)? {
                        behind = Some(RowWriter::new(group.held.workspace(), runtime)?);
                    }
                }
            }
            let has_more = right.advance(runtime)?;
            let is_same = |right: &Rows<'_>| {
                plan.keys.iter().zip(&key).all(|(own, value)| is_equal(own, value, &right.row()[own.right]))
            };
            if !has_more || !is_same(right) {
                break;
            }
        }
        group.behind = behind.map(RowWriter::finish).transpose()?.map(Rc::new);
        group.key = Some(key);
        Ok(())
    }

    /// Appends the next row; false at the end.
    fn next_row(&mut self, runtime: &Runtime<'_>, out: &mut Row) -> Result<bool, SqlError> {
        let start = out.len();
        let kind = self.plan.kind;
        loop {
            if let Some(mut walk) = self.walk.take() {
                while walk.next(runtime, &self.group)? {
                    out.truncate(start);
                    out.extend_from_slice(self.left.row());
                    out.extend_from_slice(walk.row(&self.group));
                    let width = self.plan.left_width + self.plan.right_width;
                    debug_assert_eq!(out.len() - start, width, "a row of either side");
                    let is_accepted = match &self.plan.residual {
                        Some(residual) => residual.is_true(runtime, &out[start..])?,
                        None => true,
                    };
                    if !is_accepted {
                        continue;
                    }
                    self.found = true;
                    match kind {
                        JoinKind::Inner | JoinKind::Left => {
                            self.walk = Some(walk);
                            return Ok(true);
                        }
                        JoinKind::Semi => {
                            out.truncate(start + self.plan.left_width);
                            self.left.at += 1;
                            return Ok(true);
                        }
                        JoinKind::Anti => break,
                        JoinKind::Full => unreachable!("is not merged"),
                    }
                }
                out.truncate(start);
                let is_given = !self.found && matches!(kind, JoinKind::Left | JoinKind::Anti);
                if is_given {
                    self.give_left(out);
                }
                self.left.at += 1;
                if is_given {
                    return Ok(true);
                }
            }
            if !self.left.fill(runtime)? {
                return Ok(false);
            }
            runtime.check_cancelled()?;
            self.found = false;
            let has_group = self.find_group(runtime)?;
            if has_group && !self.asks_for_existence() {
                self.walk = Some(Walk::default());
                continue;
            }
            let is_given = match kind {
                JoinKind::Semi => has_group,
                JoinKind::Left | JoinKind::Anti => !has_group,
                JoinKind::Inner | JoinKind::Full => false,
            };
            if is_given {
                self.give_left(out);
            }
            self.left.at += 1;
            if is_given {
                return Ok(true);
            }
        }
    }

    /// Appends the current left row, with NULLs for a right one where rows have both.
    fn give_left(&self, out: &mut Row) {
        out.extend_from_slice(self.left.row());
        if self.plan.kind == JoinKind::Left {
            pad_nulls(out, self.plan.right_width);
        }
    }

    /// Values in a row of the result.
    fn width(&self) -> usize {
        match self.plan.kind {
            JoinKind::Semi | JoinKind::Anti => self.plan.left_width,
            _ => self.plan.left_width + self.plan.right_width,
        }
    }
}

impl Walk {
    /// Goes on to the next row of a group; false at its end.
    fn next(&mut self, runtime: &Runtime<'_>, group: &Group) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        self.at += 1;
        if self.at <= group.rows.rows {
            return Ok(true);
        }
        let Some(run) = &group.behind else { return Ok(false) };
        let behind = self.behind.get_or_insert_with(|| RunRows::new(run.reader()));
        behind.next(runtime, &mut self.row)
    }

    /// The row that it has gone on to.
    fn row<'a>(&'a self, group: &'a Group) -> &'a [Value] {
        debug_assert!(self.at > 0, "it has gone on to a row");
        if self.at <= group.rows.rows { group.rows.row(self.at - 1) } else { &self.row }
    }
}

/// What is relied on of the rows of a side.
fn claim(plan: &MergeJoinPlan, width: usize, position: impl Fn(&MergeKey) -> usize) -> Claim {
    let column = |key: &MergeKey| ColumnOrder {
        position: position(key),
        descending: key.descending,
        collation: key.collation,
    };
    Claim { width: Some(width), sorted: plan.keys.iter().map(column).collect(), ..Claim::default() }
}

/// How a left row's key stands to another one, in the order in which both sides come.
fn compare<'v>(keys: &[MergeKey], left: &[Value], other: impl Fn(usize, &MergeKey) -> &'v Value) -> Ordering {
    for (at, key) in keys.iter().enumerate() {
        let (own, other) = (&left[key.left], other(at, key));
        let ordering = match (own, other) {
            (Value::Int(own), Value::Int(other)) => own.cmp(other),
            _ => types::sort_compare(own, other, key.collation),
        };
        if ordering != Ordering::Equal {
            return if key.descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

fn is_equal(key: &MergeKey, one: &Value, other: &Value) -> bool {
    !other.is_null() && types::sort_compare(one, other, key.collation) == Ordering::Equal
}

impl RowSource for MergeJoin<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        self.next_row(runtime, row)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        batch.fill(self.width(), BATCH_ROWS, |row| self.next_row(runtime, row))
    }
}
