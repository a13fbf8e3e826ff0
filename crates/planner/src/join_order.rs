//! The order of inner joins by cost: for up to ten relations the cheapest left-deep order (dynamic
//! programming over sets of relations, after Selinger), for more relations a greedy choice of the cheapest next one.
//!
//! Inputs for each relation: its cardinality after its own conditions (of a small table that of the rows it has now), the cost of reading it, and, for a table, the density of the
//! first columns of each index. The cardinality of a join is the product, divided for each equality by the greater number of distinct values
//! of its sides; equalities that follow from others count once. Several columns of two relations are not independent where an index gives their
//! number of distinct combinations.

use engine::IndexKind;
use plan_ir::bound::columns::Columns;
use plan_ir::bound::tree::{Expr, Rel, TableScan};
use plan_ir::kinds::{ColumnId, JoinKind};
use rustc_hash::FxHashSet;

use super::costs::{ENTRY_COST, LOOKUP_COST, RANGE_COST, ROW_COST, ReadOnce, read_once_cost, restarts_cost};
use super::infer::{Classes, equal_columns};
use super::statistics::distinct_values;

/// The search is exhaustive up to so many relations.
const EXHAUSTIVE_MAX: usize = 10;
/// Default selectivity of a join condition without equality.
const OTHER_SHARE: f64 = 0.3;
/// Default share of distinct values in a column without statistics.
const DIFFERENT_SHARE: f64 = 0.1;
/// Relations without a join condition form a cross product early only up to so many rows.
const CROSS_ROWS_MAX: f64 = 1000.0;

/// A small table may have grown when its plan runs, so reading it is planned for more rows than it has. The order of joins is chosen by those that
/// it has, at least so many: otherwise its key seems to tell apart rows that do not exist, and a join by another column than the key looks selective.
const COUNTED_ROWS_MIN: f64 = 20.0;

/// The estimates of a relation before it is joined.
pub(super) struct Relation<'r> {
    pub(super) rel: &'r Rel,
    pub(super) columns: FxHashSet<ColumnId>,
    /// Rows after its own conditions for which it is planned, and their cost.
    pub(super) rows: f64,
    pub(super) cost: f64,
    /// The additional cost of a seek whose page is not cached.
    pub(super) far: f64,
    /// The ordinals of its needed columns; `None`: all.
    pub(super) wanted: Option<Vec<usize>>,
    /// Columns that its own conditions bind to one value.
    pub(super) bound: FxHashSet<ColumnId>,
}

/// An equality between columns of two relations.
struct Edge {
    relations: (usize, usize),
    columns: (ColumnId, ColumnId),
    class: Option<usize>,
    share: f64,
}

/// Two relations with equalities of several classes between them, for which an index gives the number of distinct combinations.
struct Composite {
    relations: (usize, usize),
    /// The number of this set of classes.
    group: usize,
    /// Correction factor: joined rows, divided by the estimate that treats the equalities as independent.
    factor: f64,
}

/// An index of a table that a join may seek.
struct SoughtIndex {
    key: Vec<ColumnId>,
    /// Rows a value of the first 1, 2, ... columns.
    rows_per_value: Vec<f64>,
    per_row: f64,
}

/// The input for the cost of each step of a join order.
struct Orders<'r> {
    relations: &'r [Relation<'r>],
    count: Count,
    edges: Vec<Edge>,
    composites: Vec<Composite>,
    /// For each other condition the set of relations that it reads.
    others: Vec<u64>,
    indexes: Vec<Vec<SoughtIndex>>,
}

/// A way to join a set of relations.
#[derive(Clone, Debug)]
struct Way {
    cost: f64,
    rows: f64,
    order: Vec<usize>,
}

/// A relation that might be joined next.
struct Step {
    relation: usize,
    cost: f64,
    is_linked: bool,
}

/// The join order, and the cardinality after each step.
pub(super) fn order(
    relations: &[Relation<'_>],
    conjuncts: &[Expr],
    classes: &Classes,
    columns: &Columns,
) -> Vec<(usize, f64)> {
    assert!(relations.len() <= 64, "more relations than a set holds");
    debug_assert!(
        relations.iter().all(|relation| relation.rows >= 0.0 && relation.cost >= 0.0),
        "rows and costs are known"
    );
    let orders = Orders::new(relations, (conjuncts, classes), columns, Count::OfNow);
    // What is done with joined rows is planned for what small tables may grow to.
    let grown = relations.iter().any(|relation| share_counted(relation.rel) < 1.0);
    let grown = grown.then(|| Orders::new(relations, (conjuncts, classes), columns, Count::Planned));
    let way = if relations.len() <= EXHAUSTIVE_MAX { orders.exhaustive() } else { orders.greedy() };
    assert_eq!(way.order.len(), relations.len(), "every relation is joined once");
    let mut set = 0;
    let mut steps = Vec::with_capacity(way.order.len());
    for relation in way.order {
        set |= 1 << relation;
        steps.push((relation, grown.iter().fold(orders.rows(set), |rows, grown| rows.max(grown.rows(set)))));
    }
    steps
}

impl<'r> Orders<'r> {
    fn new(
        relations: &'r [Relation<'r>],
        (conjuncts, classes): (&[Expr], &Classes),
        columns: &Columns,
        count: Count,
    ) -> Orders<'r> {
        let indexes: Vec<Vec<SoughtIndex>> = relations.iter().map(sought_indexes).collect();
        let mut orders = Orders {
            relations,
            count,
            edges: Vec::new(),
            composites: Vec::new(),
            others: Vec::new(),
            indexes,
        };
        for conjunct in conjuncts {
            let mut set = 0u64;
            for (at, relation) in relations.iter().enumerate() {
                set |= u64::from(conjunct.uses_any(&relation.columns)) << at;
            }
            match equal_columns(conjunct, columns) {
                Some((a, b)) if set.count_ones() == 2 => orders.add_edge(a, b, classes),
                _ => orders.others.push(set),
            }
        }
        orders.composites = orders.composites();
        orders
    }

    /// The densities of indexes for several columns that are compared together.
    fn composites(&self) -> Vec<Composite> {
        let (mut found, mut groups): (Vec<Composite>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        let count = self.relations.len();
        for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
            let mut between: Vec<(usize, &Edge)> = Vec::new();
            for edge in self.edges.iter().filter(|edge| edge.is_within(1 << one | 1 << other)) {
                let Some(class) = edge.class else { continue };
                if between.iter().all(|known| known.0 != class) {
                    between.push((class, edge));
                }
            }
            if between.len() < 2 {
                continue;
            }
            between.sort_by_key(|known| known.0);
            let together = [one, other].into_iter().filter_map(|relation| {
                let own =
                    |edge: &Edge| if edge.relations.0 == relation { edge.columns.0 } else { edge.columns.1 };
                let columns: Vec<ColumnId> = between.iter().map(|known| own(known.1)).collect();
                self.different_together(relation, &columns)
            });
            let Some(together) = together.reduce(f64::max) else { continue };
            let share: f64 = between.iter().map(|known| known.1.share).product();
            let classes: Vec<usize> = between.iter().map(|known| known.0).collect();
            let group = groups.iter().position(|known| *known == classes).unwrap_or_else(|| {
                groups.push(classes);
                groups.len() - 1
            });
            debug_assert!(share > 0.0, "an equality lets some pairs through: {share}");
            let factor = (1.0 / (share * together.max(1.0))).max(1.0);
            found.push(Composite { relations: (one, other), group, factor });
        }
        found
    }

    /// The number of distinct combinations of several columns, from an index that begins with them.
    fn different_together(&self, relation: usize, columns: &[ColumnId]) -> Option<f64> {
        let Rel::Table(scan) = self.relations[relation].rel else { return None };
        let begins = |index: &&SoughtIndex| {
            index
                .key
                .get(..columns.len())
                .is_some_and(|key| columns.iter().all(|column| key.contains(column)))
        };
        let of_index =
            |index: &SoughtIndex| self.count.of(scan) / index.rows_per_value[columns.len() - 1].max(1.0);
        self.indexes[relation].iter().filter(begins).map(of_index).reduce(f64::max)
    }

    fn add_edge(&mut self, a: ColumnId, b: ColumnId, classes: &Classes) {
        let of = |id: ColumnId| {
            let found = self.relations.iter().position(|relation| relation.columns.contains(&id));
            found.expect("the set of the condition says so")
        };
        let (one, other) = (of(a), of(b));
        assert_ne!(one, other, "an edge ties two relations");
        let different = self.different(one, a).max(self.different(other, b)).max(1.0);
        let class = classes.find(a);
        self.edges.push(Edge { relations: (one, other), columns: (a, b), class, share: 1.0 / different });
    }

    /// The number of distinct values of a column.
    fn different(&self, relation: usize, column: ColumnId) -> f64 {
        match self.relations[relation].rel {
            Rel::Table(scan) => {
                let found = distinct_values(scan, column);
                found.unwrap_or_else(|| scan.source.row_estimate() * DIFFERENT_SHARE).min(self.count.of(scan))
            }
            _ => self.counted(relation),
        }
    }

    /// The rows of one relation.
    fn counted(&self, at: usize) -> f64 {
        let relation = &self.relations[at];
        match self.count {
            Count::OfNow => (relation.rows * share_counted(relation.rel)).max(1.0),
            Count::Planned => relation.rows,
        }
    }

    /// The rows of a set of relations.
    fn rows(&self, set: u64) -> f64 {
        debug_assert!(set != 0, "a relation is among those that are joined");
        let members = (0..self.relations.len()).filter(|at| set & (1 << at) != 0);
        let mut rows: f64 = members.map(|at| self.counted(at)).product();
        // An equivalence class counts one equality fewer than it has relations here; the most selective come first.
        let mut inside: Vec<&Edge> = self.edges.iter().filter(|edge| edge.is_within(set)).collect();
        inside.sort_by(|a, b| a.share.total_cmp(&b.share));
        let mut groups = Groups::default();
        for edge in inside {
            let counts = edge.class.is_none_or(|class| groups.join(class, edge.relations));
            rows *= if counts { edge.share } else { 1.0 };
        }
        let mut together = Groups::default();
        for composite in &self.composites {
            let (one, other) = composite.relations;
            let is_within = set & (1 << one) != 0 && set & (1 << other) != 0;
            if is_within && together.join(composite.group, composite.relations) {
                rows *= composite.factor;
            }
        }
        let others = self.others.iter().filter(|used| **used != 0 && **used & !set == 0).count();
        (rows * OTHER_SHARE.powi(others.min(4) as i32)).max(1.0)
    }

    /// The cost of joining one more relation to a set of joined relations.
    fn step(&self, set: u64, rows: f64, next: usize) -> Step {
        debug_assert!(set & (1 << next) == 0, "a relation is joined once");
        let relation = &self.relations[next];
        let own_column = |edge: &Edge| match edge.relations {
            (one, other) if one == next && set & (1 << other) != 0 => Some(edge.columns.0),
            (one, other) if other == next && set & (1 << one) != 0 => Some(edge.columns.1),
            _ => None,
        };
        let linked: FxHashSet<ColumnId> = self.edges.iter().filter_map(own_column).collect();
        let is_linked =
            !linked.is_empty() || self.others.iter().any(|used| used & (1 << next) != 0 && used & set != 0);
        let once = ReadOnce { rows: relation.rows, cost: relation.cost };
        let read = read_once_cost(JoinKind::Inner, rows, once, !linked.is_empty());
        let sought = self.indexes[next].iter().filter_map(|index| {
            let is_known = |column: &&ColumnId| linked.contains(column) || relation.bound.contains(column);
            let known = index.key.iter().take_while(is_known).count();
            let uses_link = index.key[..known].iter().any(|column| linked.contains(column));
            let each = || RANGE_COST + index.rows_per_value[known - 1] * index.per_row;
            uses_link.then(|| restarts_cost(rows, relation.far, each()))
        });
        let cost = sought.fold(read, f64::min);
        debug_assert!(cost >= 0.0, "a step costs no less than nothing: {cost}");
        Step { relation: next, cost, is_linked }
    }

    fn exhaustive(&self) -> Way {
        let count = self.relations.len();
        assert!(count <= EXHAUSTIVE_MAX, "there are more orders than can be looked at");
        let mut best: Vec<Option<Way>> = vec![None; 1 << count];
        for at in 0..count {
            let relation = &self.relations[at];
            best[1 << at] = Some(Way { cost: relation.cost, rows: self.counted(at), order: vec![at] });
        }
        for set in 1u64..1 << count {
            let Some(way) = best[set as usize].clone() else { continue };
            let outside = (0..count).filter(|next| set & (1 << next) == 0);
            let steps: Vec<Step> = outside.map(|next| self.step(set, way.rows, next)).collect();
            // A relation without a join condition is deferred while another one has a join condition.
            let any_linked = steps.iter().any(|step| step.is_linked);
            for step in steps {
                let many = way.rows * self.relations[step.relation].rows > CROSS_ROWS_MAX;
                if any_linked && !step.is_linked && many {
                    continue;
                }
                let joined = set | 1 << step.relation;
                let rows = self.rows(joined);
                let cost = way.cost + step.cost + rows * ROW_COST;
                let place = &mut best[joined as usize];
                // The first of equally cheap orders: the order written.
                if place.as_ref().is_none_or(|known| cost < known.cost * 0.999) {
                    let mut order = way.order.clone();
                    order.push(step.relation);
                    *place = Some(Way { cost, rows, order });
                }
            }
        }
        best.pop().flatten().expect("every set can be joined one way or another")
    }

    fn greedy(&self) -> Way {
        let count = self.relations.len();
        let by_rows = |a: &usize, b: &usize| self.relations[*a].rows.total_cmp(&self.relations[*b].rows);
        let first = (0..count).min_by(by_rows).expect("there are relations");
        let (mut set, mut order, mut cost) = (1u64 << first, vec![first], self.relations[first].cost);
        while order.len() < count {
            let rows = self.rows(set);
            let outside = (0..count).filter(|next| set & (1 << next) == 0);
            let whole = |next: usize| {
                let step = self.step(set, rows, next);
                Step { cost: step.cost + self.rows(set | 1 << next) * ROW_COST, ..step }
            };
            let by_cost = |a: &Step, b: &Step| b.is_linked.cmp(&a.is_linked).then(a.cost.total_cmp(&b.cost));
            let step = outside.map(whole).min_by(by_cost).expect("some are left");
            set |= 1 << step.relation;
            cost += step.cost;
            order.push(step.relation);
        }
        Way { cost, rows: self.rows(set), order }
    }
}

/// From which rows of tables joined rows are counted.
#[derive(Clone, Copy, PartialEq)]
enum Count {
    /// Those that they have now.
    OfNow,
    /// Those for which reading them is planned.
    Planned,
}

impl Count {
    fn of(self, scan: &TableScan) -> f64 {
        let planned = scan.source.row_estimate();
        match self {
            Count::OfNow => {
                (scan.source.table.row_count_estimate() as f64).max(COUNTED_ROWS_MIN).min(planned)
            }
            Count::Planned => planned,
        }
    }
}

/// The share of the rows that a relation is planned for which are there now.
fn share_counted(rel: &Rel) -> f64 {
    match rel {
        Rel::Table(scan) => Count::OfNow.of(scan) / scan.source.row_estimate(),
        Rel::Filter { input, .. } | Rel::Project { input, .. } => share_counted(input),
        _ => 1.0,
    }
}

impl Edge {
    fn is_within(&self, set: u64) -> bool {
        set & (1 << self.relations.0) != 0 && set & (1 << self.relations.1) != 0
    }
}

/// Which relations the equalities of each class have joined so far: (class, relation, group).
#[derive(Default)]
struct Groups(Vec<(usize, usize, usize)>);

impl Groups {
    /// Joins two relations; false when they were joined already.
    fn join(&mut self, class: usize, (one, other): (usize, usize)) -> bool {
        let (into, from) = (self.group_of(class, one), self.group_of(class, other));
        if into == from {
            return false;
        }
        for known in self.0.iter_mut().filter(|known| known.0 == class && known.2 == from) {
            known.2 = into;
        }
        self.0.extend([(class, one, into), (class, other, into)]);
        true
    }

    /// The group of a relation: itself at first.
    fn group_of(&self, class: usize, relation: usize) -> usize {
        let found = self.0.iter().find(|known| known.0 == class && known.1 == relation);
        found.map_or(relation, |known| known.2)
    }
}

fn sought_indexes(relation: &Relation<'_>) -> Vec<SoughtIndex> {
    let Rel::Table(scan) = relation.rel else { return Vec::new() };
    let is_sought = |index: &&engine::IndexDef| index.kind != IndexKind::Heap && index.is_whole();
    scan.source
        .def
        .indexes
        .iter()
        .filter(is_sought)
        .map(|index| sought_index(relation, scan, index))
        .collect()
}

fn sought_index(relation: &Relation<'_>, scan: &TableScan, index: &engine::IndexDef) -> SoughtIndex {
    let rows_of = |columns: usize| match index.unique && columns == index.key.len() {
        true => 1.0,
        false => {
            let found = scan.source.table.density(index.index_id, columns);
            found.map_or_else(|| scan.source.row_estimate() * DIFFERENT_SHARE, |found| found.rows_per_value)
        }
    };
    let covers =
        |wanted: &[usize]| scan.locator.is_none() && scan.source.table.is_covered_by(index.index_id, wanted);
    SoughtIndex {
        key: index.key.iter().map(|key| scan.columns[key.ordinal]).collect(),
        rows_per_value: (1..=index.key.len()).map(rows_of).collect(),
        per_row: match index.kind {
            IndexKind::Clustered => 1.0,
            _ if relation.wanted.as_ref().is_some_and(|wanted| covers(wanted)) => ENTRY_COST,
            _ => LOOKUP_COST,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn of_three_equal_columns_two_equalities_count() {
        let mut groups = Groups::default();
        assert!(groups.join(0, (1, 2)) && groups.join(0, (3, 4)) && groups.join(0, (2, 3)));
        assert!(!groups.join(0, (1, 4)) && !groups.join(0, (2, 4)));
        assert!(groups.join(1, (1, 4)), "another class");
    }
}
