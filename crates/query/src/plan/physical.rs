//! The physical plan: immutable, shared, positions instead of column ids.

use std::sync::Arc;

use types::{Collation, SqlType};

use super::access::{ScanPlan, SystemPlan};
use super::logical::{AggregateKind, JoinKind, WindowFrame};
use crate::expr::ColumnId;
use crate::expr::program::{BoolNode, Node};
use crate::plan::table::SequenceSource;

/// An operator and its inputs.
#[derive(Debug)]
pub(crate) enum Plan {
    OneRow,
    /// No rows: a predicate was found false when bound.
    Empty,
    Values(Vec<Vec<Node>>),
    Scan(Box<ScanPlan>),
    System(Box<SystemPlan>),
    Filter {
        input: Box<Plan>,
        predicate: BoolNode,
    },
    Project {
        input: Box<Plan>,
        items: Vec<Node>,
    },
    NestedLoop(Box<NestedLoopPlan>),
    HashJoin(Box<HashJoinPlan>),
    Aggregate(Box<AggregatePlan>),
    Window(Box<WindowPlan>),
    /// Adds the next value of a sequence to each row.
    Draw {
        input: Box<Plan>,
        sequence: Arc<SequenceSource>,
    },
    Distinct {
        input: Box<Plan>,
        collations: Vec<Collation>,
    },
    Sort {
        input: Box<Plan>,
        keys: Vec<SortNode>,
        limit: Option<Node>,
    },
    Top {
        input: Box<Plan>,
        count: Node,
        percent: bool,
        ties: Vec<SortNode>,
    },
    Offset {
        input: Box<Plan>,
        offset: Node,
        fetch: Option<Node>,
    },
    Concat(Box<Plan>, Box<Plan>),
    SetOp {
        intersect: bool,
        left: Box<Plan>,
        right: Box<Plan>,
        collations: Vec<Collation>,
    },
    Recursive {
        anchor: Box<Plan>,
        step: Box<Plan>,
        work: u32,
    },
    WorkTable(u32),
}

/// Nested loops; the right side is run once a left row, or kept in memory when it does not depend on it.
#[derive(Debug)]
pub(crate) struct NestedLoopPlan {
    pub(crate) kind: JoinKind,
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    pub(crate) on: Option<BoolNode>,
    /// Left positions handed to the right side as parameters.
    pub(crate) pass: Vec<(usize, ColumnId)>,
    /// The right side does not depend on the left row: read it once.
    pub(crate) keep_right: bool,
    pub(crate) left_width: usize,
    pub(crate) right_width: usize,
}

/// Hash join: the right side is the build side.
#[derive(Debug)]
pub(crate) struct HashJoinPlan {
    pub(crate) kind: JoinKind,
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    pub(crate) left_keys: Vec<Node>,
    pub(crate) right_keys: Vec<Node>,
    pub(crate) collations: Vec<Collation>,
    pub(crate) residual: Option<BoolNode>,
    pub(crate) left_width: usize,
    pub(crate) right_width: usize,
}

/// Grouping in a hash table; no keys means one group that always exists.
#[derive(Debug)]
pub(crate) struct AggregatePlan {
    pub(crate) input: Plan,
    pub(crate) keys: Vec<Node>,
    pub(crate) collations: Vec<Collation>,
    pub(crate) aggregates: Vec<AggregateNode>,
}

/// A compiled aggregate.
#[derive(Debug)]
pub(crate) struct AggregateNode {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Option<Node>,
    pub(crate) argument_type: SqlType,
    pub(crate) separator: Option<Node>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<SortNode>,
    pub(crate) collation: Collation,
    pub(crate) sql_type: SqlType,
}

/// Window functions over one partitioning and order.
#[derive(Debug)]
pub(crate) struct WindowPlan {
    pub(crate) input: Plan,
    pub(crate) partition: Vec<Node>,
    pub(crate) partition_collations: Vec<Collation>,
    pub(crate) order: Vec<SortNode>,
    pub(crate) calls: Vec<WindowNode>,
}

impl WindowPlan {
    /// Nothing but numbers for rows as they come: none waits for a later one.
    pub(crate) fn only_numbers_rows(&self) -> bool {
        self.partition.is_empty()
            && self.order.is_empty()
            && self.calls.iter().all(|call| matches!(call.kind, WindowNodeKind::RowNumber))
    }
}

/// A compiled window function.
#[derive(Debug)]
pub(crate) struct WindowNode {
    pub(crate) kind: WindowNodeKind,
    pub(crate) frame: WindowFrame,
}

/// Which one.
#[derive(Debug)]
pub(crate) enum WindowNodeKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Tile(Node),
    Shift { value: Node, offset: Node, default: Option<Node>, lead: bool },
    FirstValue(Node),
    LastValue(Node),
    Aggregate(AggregateNode),
}

/// A compiled sort key.
#[derive(Debug)]
pub(crate) struct SortNode {
    pub(crate) node: Node,
    pub(crate) descending: bool,
    pub(crate) collation: Collation,
}

/// A plan used by an expression.
#[derive(Debug)]
pub(crate) struct SubPlan {
    pub(crate) plan: Arc<Plan>,
    /// Position of its single value in its rows.
    pub(crate) column: usize,
    /// Positions of the current row handed in as parameters.
    pub(crate) pass: Vec<(usize, ColumnId)>,
    /// It depends on nothing outside: run once and kept, under this number.
    pub(crate) constant: Option<u32>,
}
