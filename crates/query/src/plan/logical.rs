//! The logical tree that the binder makes: relational operators over column ids.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::expr::{ColumnId, Expr};
use crate::plan::table::{SequenceSource, TableSource};
use crate::sysviews::SystemView;

/// A row source.
#[derive(Clone, Debug)]
pub(crate) enum Rel {
    /// One row of no columns: SELECT without FROM.
    OneRow,
    /// VALUES lists.
    Values {
        columns: Vec<ColumnId>,
        rows: Vec<Vec<Expr>>,
    },
    Table(Box<TableScan>),
    System(Box<SystemScan>),
    Filter {
        input: Box<Rel>,
        predicate: Expr,
    },
    Project {
        input: Box<Rel>,
        items: Vec<(ColumnId, Expr)>,
    },
    Join {
        kind: JoinKind,
        left: Box<Rel>,
        right: Box<Rel>,
        on: Option<Expr>,
    },
    /// The right side reads columns of the left side.
    Apply {
        outer: bool,
        left: Box<Rel>,
        right: Box<Rel>,
    },
    Aggregate {
        input: Box<Rel>,
        keys: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggregateCall)>,
    },
    Window {
        input: Box<Rel>,
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// Adds a column with the next value of a sequence to each row.
    Draw {
        input: Box<Rel>,
        sequence: (ColumnId, Arc<SequenceSource>),
    },
    Distinct {
        input: Box<Rel>,
    },
    Sort {
        input: Box<Rel>,
        keys: Vec<SortKey>,
    },
    Top {
        input: Box<Rel>,
        top: TopSpec,
    },
    Offset {
        input: Box<Rel>,
        offset: Expr,
        fetch: Option<Expr>,
    },
    SetOp {
        kind: SetOpKind,
        left: Box<Rel>,
        right: Box<Rel>,
        columns: Vec<ColumnId>,
    },
    /// A recursive CTE: rows of `anchor`, then of `step` over the rows made last, until none come.
    Recursive {
        anchor: Box<Rel>,
        step: Box<Rel>,
        columns: Vec<ColumnId>,
        work: u32,
    },
    /// The rows made last of the recursive CTE `work`.
    WorkTable {
        work: u32,
        columns: Vec<ColumnId>,
    },
}

/// A base table with the ids of its columns, in table order.
#[derive(Clone, Debug)]
pub(crate) struct TableScan {
    pub(crate) source: Arc<TableSource>,
    pub(crate) columns: Vec<ColumnId>,
    /// Rows come with a locator in this pseudo column: the scan of an UPDATE's or DELETE's target.
    pub(crate) locator: Option<ColumnId>,
    pub(crate) hints: ScanHints,
}

/// Table hints that change locking or access.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScanHints {
    pub(crate) isolation: Option<engine::IsolationLevel>,
    /// READCOMMITTEDLOCK: READ COMMITTED with locks, whatever the database does.
    pub(crate) locks_committed: bool,
    pub(crate) update_lock: bool,
    pub(crate) exclusive_lock: bool,
    pub(crate) table_lock: bool,
    pub(crate) read_past: bool,
    pub(crate) no_wait: bool,
    /// INDEX (..): empty when nothing is said.
    pub(crate) indexes: Vec<HintedIndex>,
}

/// An index as a hint names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HintedIndex {
    Name(String),
    /// `index_id`; 0 is a scan of the heap or clustered index.
    Number(i32),
}

/// A system view or function with its arguments.
#[derive(Clone)]
pub(crate) struct SystemScan {
    pub(crate) view: &'static SystemView,
    pub(crate) database: Arc<engine::Database>,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) reading: CatalogReading,
}

/// What a catalog view shows of what others are changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CatalogReading {
    /// It waits until that is settled, if the answer hangs on it.
    Settled,
    /// NOLOCK: the change.
    Uncommitted,
    /// READPAST: nothing of it.
    SkipUnsettled,
}

impl std::fmt::Debug for SystemScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.view)
    }
}

/// Kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
    Full,
    /// Left rows that have a match, once.
    Semi,
    /// Left rows that have none.
    Anti,
}

/// UNION ALL, EXCEPT, INTERSECT; UNION is Distinct over UNION ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetOpKind {
    UnionAll,
    Except,
    Intersect,
}

/// One ORDER BY item.
#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) descending: bool,
}

/// TOP.
#[derive(Clone, Debug)]
pub(crate) struct TopSpec {
    pub(crate) count: Expr,
    pub(crate) percent: bool,
    /// Sort keys when WITH TIES was given.
    pub(crate) ties: Vec<SortKey>,
}

/// An aggregate.
#[derive(Clone, Debug)]
pub(crate) struct AggregateCall {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Option<Expr>,
    /// Separator of STRING_AGG.
    pub(crate) separator: Option<Expr>,
    pub(crate) distinct: bool,
    /// WITHIN GROUP (ORDER BY ...).
    pub(crate) order: Vec<SortKey>,
    pub(crate) sql_type: types::SqlType,
}

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    CountRows,
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    StandardDeviation,
    StandardDeviationPopulation,
    Variance,
    VariancePopulation,
    StringAgg,
    ChecksumAgg,
}

/// A window function over its partition.
#[derive(Clone, Debug)]
pub(crate) struct WindowCall {
    pub(crate) kind: WindowKind,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) frame: WindowFrame,
}

/// Which window function.
#[derive(Clone, Debug)]
pub(crate) enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Tile(Expr),
    /// LAG is a negative offset.
    Shift {
        value: Expr,
        offset: Expr,
        default: Option<Expr>,
        lead: bool,
    },
    FirstValue(Expr),
    LastValue(Expr),
    Aggregate(AggregateCall),
}

/// ROWS or RANGE frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowFrame {
    pub(crate) rows: bool,
    pub(crate) start: FrameBound,
    pub(crate) end: FrameBound,
}

/// End of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameBound {
    UnboundedPreceding,
    Preceding(u64),
    Current,
    Following(u64),
    UnboundedFollowing,
}

/// Rows that a TOP, OFFSET or FETCH is thought to ask for, where no constant says so.
const ROWS_ASKED: f64 = 100.0;

/// The rows that an expression of TOP, OFFSET or FETCH asks for.
pub(crate) fn rows_asked(count: &Expr) -> f64 {
    match &count.kind {
        crate::expr::ExprKind::Constant(value) => {
            value.as_i64().map_or(ROWS_ASKED, |rows| rows.max(0) as f64)
        }
        _ => ROWS_ASKED,
    }
}

impl Rel {
    /// Output columns in order.
    pub(crate) fn output(&self) -> Vec<ColumnId> {
        match self {
            Rel::OneRow => Vec::new(),
            Rel::Values { columns, .. }
            | Rel::SetOp { columns, .. }
            | Rel::Recursive { columns, .. }
            | Rel::WorkTable { columns, .. } => columns.clone(),
            Rel::Table(scan) => scan.columns.iter().copied().chain(scan.locator).collect(),
            Rel::System(scan) => scan.columns.clone(),
            Rel::Filter { input, .. }
            | Rel::Distinct { input }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Offset { input, .. } => input.output(),
            Rel::Project { items, .. } => items.iter().map(|item| item.0).collect(),
            Rel::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => left.output(),
            Rel::Join { left, right, .. } | Rel::Apply { left, right, .. } => {
                let mut all = left.output();
                all.extend(right.output());
                all
            }
            Rel::Aggregate { keys, aggregates, .. } => {
                keys.iter().map(|key| key.0).chain(aggregates.iter().map(|aggregate| aggregate.0)).collect()
            }
            Rel::Window { input, calls } => {
                input.output().into_iter().chain(calls.iter().map(|call| call.0)).collect()
            }
            Rel::Draw { input, sequence } => input.output().into_iter().chain([sequence.0]).collect(),
        }
    }

    /// The inputs.
    pub(crate) fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::OneRow | Rel::Values { .. } | Rel::Table(_) | Rel::System(_) | Rel::WorkTable { .. } => {
                Vec::new()
            }
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Window { input, .. }
            | Rel::Draw { input, .. }
            | Rel::Distinct { input }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Offset { input, .. } => vec![input],
            Rel::Join { left, right, .. }
            | Rel::Apply { left, right, .. }
            | Rel::SetOp { left, right, .. } => vec![left, right],
            Rel::Recursive { anchor, step, .. } => vec![anchor, step],
        }
    }

    /// Expressions of this node itself.
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        match self {
            Rel::OneRow
            | Rel::Table(_)
            | Rel::Distinct { .. }
            | Rel::SetOp { .. }
            | Rel::Recursive { .. }
            | Rel::WorkTable { .. }
            | Rel::Draw { .. }
            | Rel::Apply { .. } => Vec::new(),
            Rel::Values { rows, .. } => rows.iter().flatten().collect(),
            Rel::System(scan) => scan.arguments.iter().collect(),
            Rel::Filter { predicate, .. } => vec![predicate],
            Rel::Project { items, .. } => items.iter().map(|item| &item.1).collect(),
            Rel::Join { on, .. } => on.iter().collect(),
            Rel::Aggregate { keys, aggregates, .. } => keys
                .iter()
                .map(|key| &key.1)
                .chain(aggregates.iter().flat_map(|aggregate| aggregate.1.expressions()))
                .collect(),
            Rel::Window { calls, .. } => calls.iter().flat_map(|call| call.1.expressions()).collect(),
            Rel::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
            Rel::Top { top, .. } => {
                std::iter::once(&top.count).chain(top.ties.iter().map(|key| &key.expr)).collect()
            }
            Rel::Offset { offset, fetch, .. } => std::iter::once(offset).chain(fetch.as_ref()).collect(),
        }
    }

    /// Adds every column whose value matters somewhere in the tree, subqueries included: what a table under it need not give otherwise.
    /// What becomes of the output is the caller's to say.
    pub(crate) fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        self.expressions().into_iter().for_each(|expr| expr.collect_read(into));
        for input in self.inputs() {
            input.collect_read(into);
            // These look at whole rows.
            if matches!(self, Rel::Distinct { .. } | Rel::SetOp { .. } | Rel::Recursive { .. }) {
                into.extend(input.output());
            }
        }
    }

    /// Adds the columns that the tree reads but does not itself make: its correlation.
    pub(crate) fn collect_free(&self, into: &mut FxHashSet<ColumnId>) {
        let mut used = FxHashSet::default();
        let mut made = FxHashSet::default();
        self.collect_used_and_made(&mut used, &mut made);
        into.extend(used.difference(&made));
    }

    /// Columns that the tree reads but does not itself make.
    pub(crate) fn free_columns(&self) -> FxHashSet<ColumnId> {
        let mut free = FxHashSet::default();
        self.collect_free(&mut free);
        free
    }

    fn collect_used_and_made(&self, used: &mut FxHashSet<ColumnId>, made: &mut FxHashSet<ColumnId>) {
        for expr in self.expressions() {
            expr.collect_columns(used);
        }
        made.extend(self.output());
        for input in self.inputs() {
            input.collect_used_and_made(used, made);
        }
    }
}

impl AggregateCall {
    /// Its expressions.
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        self.argument
            .iter()
            .chain(self.separator.as_ref())
            .chain(self.order.iter().map(|key| &key.expr))
            .collect()
    }

    /// The same, mutable.
    pub(crate) fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        self.argument
            .iter_mut()
            .chain(self.separator.as_mut())
            .chain(self.order.iter_mut().map(|key| &mut key.expr))
            .collect()
    }
}

impl WindowCall {
    /// Its expressions.
    pub(crate) fn expressions(&self) -> Vec<&Expr> {
        let own: Vec<&Expr> = match &self.kind {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist => Vec::new(),
            WindowKind::Tile(expr) | WindowKind::FirstValue(expr) | WindowKind::LastValue(expr) => vec![expr],
            WindowKind::Shift { value, offset, default, .. } => {
                [Some(value), Some(offset), default.as_ref()].into_iter().flatten().collect()
            }
            WindowKind::Aggregate(aggregate) => aggregate.expressions(),
        };
        own.into_iter().chain(&self.partition).chain(self.order.iter().map(|key| &key.expr)).collect()
    }

    /// The same, mutable.
    pub(crate) fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let own: Vec<&mut Expr> = match &mut self.kind {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist => Vec::new(),
            WindowKind::Tile(expr) | WindowKind::FirstValue(expr) | WindowKind::LastValue(expr) => vec![expr],
            WindowKind::Shift { value, offset, default, .. } => {
                [Some(value), Some(offset), default.as_mut()].into_iter().flatten().collect()
            }
            WindowKind::Aggregate(aggregate) => aggregate.expressions_mut(),
        };
        own.into_iter()
            .chain(&mut self.partition)
            .chain(self.order.iter_mut().map(|key| &mut key.expr))
            .collect()
    }
}

impl Rel {
    /// Replaces reads of a column from outside, through the whole tree.
    pub(crate) fn rename_free(&mut self, from: ColumnId, to: &Expr) {
        self.visit_expressions_mut(&mut |expr| {
            expr.rewrite_deep(&mut |part| match &part.kind {
                crate::expr::ExprKind::Column(id) if *id == from => Some(to.clone()),
                _ => None,
            });
        });
    }

    /// Calls `f` on every expression of the tree.
    pub(crate) fn visit_expressions_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Rel::OneRow | Rel::Table(_) | Rel::WorkTable { .. } => {}
            Rel::Values { rows, .. } => rows.iter_mut().flatten().for_each(f),
            Rel::System(scan) => scan.arguments.iter_mut().for_each(f),
            Rel::Filter { input, predicate } => {
                f(predicate);
                input.visit_expressions_mut(f);
            }
            Rel::Project { input, items } => {
                items.iter_mut().for_each(|item| f(&mut item.1));
                input.visit_expressions_mut(f);
            }
            Rel::Join { left, right, on, .. } => {
                on.iter_mut().for_each(&mut *f);
                left.visit_expressions_mut(f);
                right.visit_expressions_mut(f);
            }
            Rel::Apply { left, right, .. } | Rel::SetOp { left, right, .. } => {
                left.visit_expressions_mut(f);
                right.visit_expressions_mut(f);
            }
            Rel::Aggregate { input, keys, aggregates } => {
                keys.iter_mut().for_each(|key| f(&mut key.1));
                aggregates.iter_mut().flat_map(|aggregate| aggregate.1.expressions_mut()).for_each(&mut *f);
                input.visit_expressions_mut(f);
            }
            Rel::Window { input, calls } => {
                calls.iter_mut().flat_map(|call| call.1.expressions_mut()).for_each(&mut *f);
                input.visit_expressions_mut(f);
            }
            Rel::Distinct { input } | Rel::Draw { input, .. } => input.visit_expressions_mut(f),
            Rel::Sort { input, keys } => {
                keys.iter_mut().for_each(|key| f(&mut key.expr));
                input.visit_expressions_mut(f);
            }
            Rel::Top { input, top } => {
                f(&mut top.count);
                top.ties.iter_mut().for_each(|key| f(&mut key.expr));
                input.visit_expressions_mut(f);
            }
            Rel::Offset { input, offset, fetch } => {
                f(offset);
                fetch.iter_mut().for_each(&mut *f);
                input.visit_expressions_mut(f);
            }
            Rel::Recursive { anchor, step, .. } => {
                anchor.visit_expressions_mut(f);
                step.visit_expressions_mut(f);
            }
        }
    }
}
