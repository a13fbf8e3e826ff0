//! Planning of GROUP BY and window functions.

use std::borrow::Cow;

use plan_ir::bound::tree::{AggregateCall, Expr, ExprKind, Rel, SortKey, WindowCall, WindowKind};
use plan_ir::kinds::ColumnId;
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{
    AggregateNode, AggregatePlan, JoinKeyKind, Node, Plan, WindowNode, WindowNodeKind, WindowPlan,
};
use rustc_hash::FxHashSet;
use types::{SqlError, SqlType};

use super::compile::Layout;
use super::order::{Desired, Order, OrderKey, is_one_table, plain_key};
use super::statistics::distinct_values_of;
use super::{Planned, Planner};

/// Groups that a key of which nothing is known makes, for each row.
const UNKNOWN_GROUPS: f64 = 0.1;
/// Cost of a row that is grouped where those of its group come one behind the other, in rows read; where its group is looked up it is one.
const IN_ORDER_COST: f64 = 0.5;
/// For fewer rows no order is looked for.
const IN_ORDER_ROWS_MIN: f64 = 1000.0;

impl Planner<'_> {
    /// Grouping; `below` are predicates for the input.
    pub(super) fn plan_aggregate(
        &mut self,
        input: &Rel,
        keys: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
        below: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let wanted = self.wanted_aggregates(aggregates);
        let aggregates = &wanted[..];
        if keys.is_empty() && aggregates.is_empty() {
            // All rows are one group, and so are none.
            return Ok(Planned::leaf(Plan::OneRow, Vec::new(), 1.0));
        }
        if let Some(planned) = self.plan_extremes(input, keys, aggregates, &below)? {
            return Ok(planned);
        }
        let distinct =
            only_distinct_argument(aggregates).filter(|_| self.has(OptimizerRule::DistinctAggregate));
        let may_stream = distinct.is_none() && self.has(OptimizerRule::StreamAggregate);
        let grouped_by = self.plain_columns(keys).filter(|_| may_stream);
        let early = self.grouped_early(input, keys, aggregates);
        // An error ends the planning as a whole.
        self.two_ways += u32::from(early.is_some());
        let is_early = early.is_some();
        let early =
            early.map(|early| self.plan_grouped_early(early, keys, aggregates, &below)).transpose()?;
        let (planned, is_in_order) = self.plan_in_groups(input, grouped_by.as_deref(), below)?;
        self.two_ways -= u32::from(is_early);
        let is_preferred = self.prefers(OptimizerRule::EarlyAggregation);
        if let Some(early) = early.filter(|early| is_preferred || early.cost < planned.cost + planned.rows) {
            return Ok(early);
        }
        let layout = planned.layout();
        let rows = groups(input, keys, planned.rows);
        let columns =
            keys.iter().map(|key| key.0).chain(aggregates.iter().map(|aggregate| aggregate.0)).collect();
        let mut types: Vec<SqlType> = keys.iter().map(|key| key.1.sql_type).collect();
        let mut plan = AggregatePlan {
            is_in_order,
            keys: self.nodes(keys.iter().map(|key| &key.1), &layout)?,
            collations: keys.iter().map(|key| key.1.collation).collect(),
            key_kind: JoinKeyKind::of(&types),
            aggregates: aggregates
                .iter()
                .map(|aggregate| self.aggregate_node(&aggregate.1, &layout))
                .collect::<Result<_, _>>()?,
            input: planned.plan,
        };
        if let Some(argument) = distinct {
            assert!(!is_in_order, "what is grouped twice is looked up");
            types.push(argument.sql_type);
            plan = group_before(plan, argument, JoinKeyKind::of(&types));
        }
        debug_assert_eq!(plan.keys.len(), plan.collations.len(), "a collation for each key");
        debug_assert!(!is_in_order || !plan.keys.is_empty(), "one group of all rows needs no order");
        let row_cost = if is_in_order { IN_ORDER_COST } else { 1.0 };
        Ok(Planned {
            plan: Plan::Aggregate(Box::new(plan)),
            layout: columns,
            rows,
            cost: planned.cost + planned.rows * row_cost,
            seeks_by_outer: planned.seeks_by_outer,
            order: if is_in_order { order_of_groups(&planned.order, keys) } else { Order::default() },
        })
    }

    /// Those whose values are needed; mostly all of them.
    fn wanted_aggregates<'c>(
        &self,
        aggregates: &'c [(ColumnId, AggregateCall)],
    ) -> Cow<'c, [(ColumnId, AggregateCall)]> {
        match aggregates.iter().all(|call| self.is_wanted(call.0)) {
            true => Cow::Borrowed(aggregates),
            false => aggregates.iter().filter(|call| self.is_wanted(call.0)).cloned().collect(),
        }
    }

    /// The columns that are grouped by, if all keys are columns, compared as their indexes compare them.
    fn plain_columns(&self, keys: &[(ColumnId, Expr)]) -> Option<Vec<ColumnId>> {
        let column = |key: &(ColumnId, Expr)| Some(plain_key(&key.1, false, self.columns)?.column);
        let columns: Option<Vec<ColumnId>> = keys.iter().map(column).collect();
        columns.filter(|columns| !columns.is_empty())
    }

    /// The input of a grouping, and whether the rows of a group come one behind the other: as the cheapest plan gives them, or as an index of its one
    /// table does, where that is less than looking each row's group up.
    fn plan_in_groups(
        &mut self,
        input: &Rel,
        grouped_by: Option<&[ColumnId]>,
        below: Vec<Expr>,
    ) -> Result<(Planned, bool), SqlError> {
        let Some(columns) = grouped_by else { return Ok((self.plan(input, below)?, false)) };
        let planned = self.plan(input, below.clone())?;
        if planned.order.groups(columns) {
            return Ok((planned, true));
        }
        let is_preferred = self.prefers(OptimizerRule::StreamAggregate);
        if !is_one_table(input) || planned.rows < IN_ORDER_ROWS_MIN && !is_preferred {
            return Ok((planned, false));
        }
        let keys = columns.iter().map(|column| OrderKey { column: *column, descending: false }).collect();
        self.desired = Some(Desired { keys, limit: None, is_grouping: true });
        let ordered = self.plan(input, below)?;
        let cost = ordered.cost + ordered.rows * IN_ORDER_COST;
        let is_better = ordered.order.groups(columns) && (cost < planned.cost + planned.rows || is_preferred);
        Ok(if is_better { (ordered, true) } else { (planned, false) })
    }

    pub(super) fn aggregate_node(
        &mut self,
        call: &AggregateCall,
        layout: &Layout,
    ) -> Result<AggregateNode, SqlError> {
        Ok(AggregateNode {
            kind: call.kind,
            argument: call.argument.as_ref().map(|argument| self.node(argument, layout)).transpose()?,
            argument_type: call.argument.as_ref().map_or(types::SqlType::Int, |argument| argument.sql_type),
            separator: call.separator.as_ref().map(|separator| self.node(separator, layout)).transpose()?,
            distinct: call.distinct,
            order: self.sort_nodes(&call.order, layout)?,
            collation: call.argument.as_ref().map_or_else(Default::default, |argument| argument.collation),
            sql_type: call.sql_type,
        })
    }

    /// Window functions: those of equal partitioning and order share one sort; groups are stacked.
    pub(super) fn plan_window(
        &mut self,
        input: &Rel,
        calls: &[(ColumnId, WindowCall)],
        limit: Option<f64>,
    ) -> Result<Planned, SqlError> {
        let mut groups: Vec<Vec<&(ColumnId, WindowCall)>> = Vec::new();
        for call in calls.iter().filter(|call| self.is_wanted(call.0)) {
            let may_share = self.has(OptimizerRule::WindowSharing);
            match groups.iter_mut().find(|group| may_share && same_window(&group[0].1, &call.1)) {
                Some(group) => group.push(call),
                None => groups.push(vec![call]),
            }
        }
        // The first window's order may come for nothing.
        let outside: FxHashSet<ColumnId> = input.output().into_iter().collect();
        let first = groups.first().map(|group| window_keys(&group[0].1, &outside));
        let desired = first.and_then(|(partition, order)| self.order_keys(&[partition, order].concat()));
        let may_stop = groups.iter().all(|group| numbers_in_order(group));
        self.desired = desired.filter(|keys| !keys.is_empty()).map(|keys| Desired {
            keys,
            limit: limit.filter(|_| may_stop),
            is_grouping: false,
        });
        let mut planned = self.plan(input, Vec::new())?;
        for group in groups {
            planned = self.add_windows(planned, &group)?;
        }
        Ok(planned)
    }

    /// Adds the calls over one window.
    fn add_windows(
        &mut self,
        mut planned: Planned,
        group: &[&(ColumnId, WindowCall)],
    ) -> Result<Planned, SqlError> {
        let layout = planned.layout();
        let available = planned.layout.iter().copied().collect();
        let (partition, order) = window_keys(&group[0].1, &available);
        let keys = self.order_keys(&[partition.clone(), order.clone()].concat());
        let plan = WindowPlan {
            is_in_order: keys.is_some_and(|keys| planned.order.satisfies(&keys)),
            partition: self.nodes(partition.iter().map(|key| &key.expr), &layout)?,
            partition_collations: partition.iter().map(|key| key.expr.collation).collect(),
            order: self.sort_nodes(&order, &layout)?,
            calls: group.iter().map(|call| self.window_node(&call.1, &layout)).collect::<Result<_, _>>()?,
            input: planned.plan,
        };
        planned.layout.extend(group.iter().map(|call| call.0));
        let number = if partition.is_empty() { row_number(group) } else { None };
        planned.order = number.map(Order::of_numbers).unwrap_or_default();
        planned.plan = Plan::Window(Box::new(plan));
        Ok(planned)
    }

    fn window_node(&mut self, call: &WindowCall, layout: &Layout) -> Result<WindowNode, SqlError> {
        let kind = match &call.kind {
            WindowKind::RowNumber => WindowNodeKind::RowNumber,
            WindowKind::Rank => WindowNodeKind::Rank,
            WindowKind::DenseRank => WindowNodeKind::DenseRank,
            WindowKind::PercentRank => WindowNodeKind::PercentRank,
            WindowKind::CumeDist => WindowNodeKind::CumeDist,
            WindowKind::Tile(count) => WindowNodeKind::Tile(self.node(count, layout)?),
            WindowKind::Shift { value, offset, default, lead, ignores_nulls } => WindowNodeKind::Shift {
                value: self.node(value, layout)?,
                offset: self.node(offset, layout)?,
                default: default.as_ref().map(|default| self.node(default, layout)).transpose()?,
                lead: *lead,
                ignores_nulls: *ignores_nulls,
            },
            WindowKind::Edge { value, last, ignores_nulls } => WindowNodeKind::Edge {
                value: self.node(value, layout)?,
                last: *last,
                ignores_nulls: *ignores_nulls,
            },
            WindowKind::Aggregate(aggregate) => {
                WindowNodeKind::Aggregate(self.aggregate_node(aggregate, layout)?)
            }
        };
        Ok(WindowNode { kind, frame: call.frame })
    }
}

/// The order of groups whose rows come in this one.
fn order_of_groups(rows: &Order, keys: &[(ColumnId, Expr)]) -> Order {
    let group = |column: ColumnId| keys.iter().find(|key| key.1.as_column() == Some(column)).map(|key| key.0);
    let of_key = |key: &OrderKey| group(key.column).map(|column| OrderKey { column, ..*key });
    Order {
        keys: rows.keys.iter().map_while(of_key).collect(),
        constants: rows.constants.iter().filter_map(|column| group(*column)).collect(),
        is_total: true,
    }
}

/// How many groups there are: as many as the keys have different values together, and no more than there are rows. A key of which nothing is
/// known has a tenth of the rows as values.
fn groups(input: &Rel, keys: &[(ColumnId, Expr)], rows: f64) -> f64 {
    let (mut product, mut all_known) = (1.0, true);
    for (_, key) in keys {
        let known = match &key.kind {
            ExprKind::Column(id) => distinct_values_of(input, *id),
            _ => None,
        };
        all_known &= known.is_some();
        product *= known.unwrap_or(1.0);
    }
    debug_assert!(product >= 0.0, "a key has no fewer values than none: {product}");
    let least = if all_known { 1.0 } else { rows * UNKNOWN_GROUPS };
    f64::max(product, least).min(rows).max(1.0)
}

/// The keys of a window's partitions and of its order. One that is equal in all rows with these columns orders nothing: ORDER BY (SELECT NULL).
fn window_keys(call: &WindowCall, available: &FxHashSet<ColumnId>) -> (Vec<SortKey>, Vec<SortKey>) {
    let partition = call.partition.iter().map(|expr| SortKey { expr: expr.clone(), descending: false });
    let is_varying = |key: &&SortKey| key.expr.uses_any(available) || key.expr.is_volatile();
    (partition.collect(), call.order.iter().filter(is_varying).cloned().collect())
}

/// Does it number rows as they come, once these are in order?
fn numbers_in_order(group: &[&(ColumnId, WindowCall)]) -> bool {
    group.iter().all(|call| call.1.partition.is_empty() && matches!(call.1.kind, WindowKind::RowNumber))
}

/// The column of a group that numbers the rows.
fn row_number(group: &[&(ColumnId, WindowCall)]) -> Option<ColumnId> {
    group.iter().find(|call| matches!(call.1.kind, WindowKind::RowNumber)).map(|call| call.0)
}

/// The argument of all aggregates, if all of them are DISTINCT.
fn only_distinct_argument(aggregates: &[(ColumnId, AggregateCall)]) -> Option<&Expr> {
    let first = aggregates.first()?.1.argument.as_ref()?;
    let is_alike = |(_, call): &(ColumnId, AggregateCall)| {
        let argument = call.argument.as_ref();
        call.distinct && call.order.is_empty() && argument.is_some_and(|argument| argument.same_as(first))
    };
    (aggregates.iter().all(is_alike) && !first.is_volatile()).then_some(first)
}

/// DISTINCT aggregates of one argument, by grouping twice: first by the argument too, then what is left of it. A grouping goes to disk when it
/// is more than memory has room for; the values that one aggregate has seen do not.
fn group_before(mut plan: AggregatePlan, argument: &Expr, key_kind: JoinKeyKind) -> AggregatePlan {
    let outer_keys: Vec<Node> = (0..plan.keys.len()).map(Node::Column).collect();
    let mut keys = std::mem::replace(&mut plan.keys, outer_keys);
    let mut collations = plan.collations.clone();
    let position = keys.len();
    for aggregate in &mut plan.aggregates {
        let node = aggregate.argument.replace(Node::Column(position)).expect("each has the argument");
        keys.truncate(position);
        keys.push(node);
        aggregate.distinct = false;
    }
    collations.push(argument.collation);
    assert_eq!(keys.len(), collations.len(), "a collation for each key");
    let (input, is_in_order) = (plan.input, false);
    let inner = AggregatePlan { input, is_in_order, keys, collations, key_kind, aggregates: Vec::new() };
    AggregatePlan { input: Plan::Aggregate(Box::new(inner)), ..plan }
}

fn same_window(a: &WindowCall, b: &WindowCall) -> bool {
    let same_keys = |x: &[SortKey], y: &[SortKey]| {
        x.len() == y.len()
            && x.iter().zip(y).all(|(a, b)| a.descending == b.descending && a.expr.same_as(&b.expr))
    };
    a.partition.len() == b.partition.len()
        && a.partition.iter().zip(&b.partition).all(|(x, y)| x.same_as(y))
        && same_keys(&a.order, &b.order)
}
