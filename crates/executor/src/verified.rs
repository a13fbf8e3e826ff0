//! An operator of debug builds that hands rows through and checks what the plan claims of them: how many values a row has, and in which order rows come.

use std::cmp::Ordering;

use engine::IsolationLevel;
use plan_ir::physical::plan::{AccessPath, Node, Plan, SortNode};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::values::write_value;
use rustc_hash::FxHashSet;
use types::{Collation, SqlError, Value};

/// The keys of so many groups that have ended are kept, to find one that comes again.
const ENDED_GROUPS_MAX: usize = 4096;

/// What a plan claims of rows on which the reader relies.
#[derive(Default)]
pub(super) struct Claim {
    /// The values of each row, where the reader knows their number.
    pub(super) width: Option<usize>,
    /// Rows are sorted by these columns.
    pub(super) sorted: Vec<ColumnOrder>,
    /// Rows that are equal in these columns come one behind the other.
    pub(super) grouped: Vec<(usize, Collation)>,
}

/// A column that rows are sorted by.
pub(super) struct ColumnOrder {
    pub(super) position: usize,
    pub(super) descending: bool,
    pub(super) collation: Collation,
}

impl Claim {
    /// The order of sort keys, as far as these are columns: what else they are is not computed a second time.
    pub(super) fn sorted(keys: &[SortNode]) -> Claim {
        let sorted = keys.iter().map_while(|key| match key.node {
            Node::Column(position) => {
                Some(ColumnOrder { position, descending: key.descending, collation: key.collation })
            }
            _ => None,
        });
        Claim { sorted: sorted.collect(), ..Claim::default() }
    }

    /// The order of partitions, and of the rows in each.
    pub(super) fn partitioned(partition: &[Node], collations: &[Collation], order: &[SortNode]) -> Claim {
        let columns = columns(partition, collations);
        let is_whole = columns.len() == partition.len();
        let sorted = columns.into_iter().map(|(position, collation)| ColumnOrder {
            position,
            descending: false,
            collation,
        });
        let mut sorted: Vec<ColumnOrder> = sorted.collect();
        if is_whole {
            sorted.extend(Claim::sorted(order).sorted);
        }
        Claim { sorted, ..Claim::default() }
    }

    /// Groups one behind the other, if all keys are columns.
    pub(super) fn grouped(keys: &[Node], collations: &[Collation]) -> Claim {
        let columns = columns(keys, collations);
        let grouped = if columns.len() == keys.len() { columns } else { Vec::new() };
        Claim { grouped, ..Claim::default() }
    }

    fn is_nothing(&self) -> bool {
        self.width.is_none() && self.sorted.is_empty() && self.grouped.is_empty()
    }
}

/// The first nodes that are columns, with their collations.
fn columns(nodes: &[Node], collations: &[Collation]) -> Vec<(usize, Collation)> {
    assert_eq!(nodes.len(), collations.len(), "a collation for each key");
    let pairs = nodes.iter().zip(collations);
    let columns = pairs.map_while(|(node, collation)| match node {
        Node::Column(position) => Some((*position, *collation)),
        _ => None,
    });
    columns.collect()
}

/// A source behind a check of what its plan claims. Release builds check nothing.
pub(super) fn verified<'p>(
    source: Box<dyn RowSource + 'p>,
    plan: &Plan,
    runtime: &Runtime<'_>,
    claim: impl FnOnce() -> Claim,
) -> Box<dyn RowSource + 'p> {
    if !cfg!(debug_assertions) {
        return source;
    }
    let claim = claim();
    if claim.is_nothing() {
        return source;
    }
    let may_move = looks_rows_up(plan, runtime);
    if may_move && !is_alone(runtime) {
        // The claim is about entries; the rows that they lead to may have got other values since.
        let claim = Claim { width: claim.width, ..Claim::default() };
        return Box::new(Verified::new(source, claim, may_move));
    }
    Box::new(Verified::new(source, claim, may_move))
}

/// Does it look rows up by entries of an index that others may change before the row is read?
fn looks_rows_up(plan: &Plan, runtime: &Runtime<'_>) -> bool {
    let looks_up = match plan {
        Plan::Scan(scan) => match scan.path {
            AccessPath::Seek { index_id, .. } => {
                let isolation = scan.hints.isolation.unwrap_or(runtime.options.isolation);
                let keeps_entries = matches!(
                    isolation,
                    IsolationLevel::RepeatableRead | IsolationLevel::Serializable | IsolationLevel::Snapshot
                );
                index_id != scan.source.def.base().index_id && !scan.is_covered && !keeps_entries
            }
            AccessPath::Scan => false,
        },
        _ => false,
    };
    looks_up || plan.inputs().into_iter().any(|input| looks_rows_up(input, runtime))
}

/// Is there no other session?
fn is_alone(runtime: &Runtime<'_>) -> bool {
    runtime.state.sessions().len() <= 1
}

/// See the heading.
struct Verified<'p> {
    source: Box<dyn RowSource + 'p>,
    claim: Claim,
    /// Another session that comes while rows are read may change their order.
    may_move: bool,
    /// The sorted columns of the row before.
    last: Option<Row>,
    /// The key of the group at hand, and those of groups that have ended.
    group: Option<Vec<u8>>,
    ended: FxHashSet<Vec<u8>>,
}

impl<'p> Verified<'p> {
    fn new(source: Box<dyn RowSource + 'p>, claim: Claim, may_move: bool) -> Verified<'p> {
        Verified { source, claim, may_move, last: None, group: None, ended: FxHashSet::default() }
    }

    fn begin(&mut self) {
        (self.last, self.group) = (None, None);
        self.ended.clear();
    }

    fn check(&mut self, runtime: &Runtime<'_>, row: &[Value]) {
        if let Some(width) = self.claim.width {
            assert_eq!(row.len(), width, "a row has as many values as the plan claims");
        }
        if !self.claim.sorted.is_empty() {
            self.check_order(runtime, row);
        }
        if !self.claim.grouped.is_empty() {
            self.check_group(runtime, row);
        }
    }

    fn check_order(&mut self, runtime: &Runtime<'_>, row: &[Value]) {
        let columns = &self.claim.sorted;
        assert!(
            columns.iter().all(|column| column.position < row.len()),
            "what rows are sorted by is among their values"
        );
        let values: Row = columns.iter().map(|column| row[column.position].clone()).collect();
        if let Some(last) = &self.last {
            let is_in_order = compare(columns, last, &values) != Ordering::Greater;
            assert!(
                is_in_order || self.may_move && !is_alone(runtime),
                "rows come in the order that the plan claims: {last:?} before {values:?}"
            );
        }
        self.last = Some(values);
    }

    fn check_group(&mut self, runtime: &Runtime<'_>, row: &[Value]) {
        let mut key = Vec::new();
        for (position, collation) in &self.claim.grouped {
            write_value(&row[*position], *collation, &mut key);
        }
        if self.group.as_ref() == Some(&key) {
            return;
        }
        assert!(
            !self.ended.contains(&key) || self.may_move && !is_alone(runtime),
            "the rows of a group come one behind the other, as the plan claims"
        );
        let before = self.group.replace(key);
        if self.ended.len() < ENDED_GROUPS_MAX {
            self.ended.extend(before);
        }
    }
}

/// How the sorted columns of two rows stand to each other.
fn compare(columns: &[ColumnOrder], one: &[Value], other: &[Value]) -> Ordering {
    for (column, (one, other)) in columns.iter().zip(one.iter().zip(other)) {
        let ordering = types::sort_compare(one, other, column.collation);
        if ordering != Ordering::Equal {
            return if column.descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

impl RowSource for Verified<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        let found = self.source.next(runtime, row)?;
        if found {
            self.check(runtime, row);
        }
        Ok(found)
    }

    fn again(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        self.begin();
        self.source.again(runtime)
    }

    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        let found = self.source.next_batch(runtime, batch)?;
        if found {
            assert!(batch.rows > 0, "a batch has a row at least");
            assert_eq!(batch.values.len(), batch.rows * batch.width, "the rows of a batch are equally wide");
            (0..batch.rows).for_each(|at| self.check(runtime, batch.row(at)));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::{Database, Instance, Lookup, ModuleDef, TableDef, TransactionSet};
    use plan_ir::context::{BindContext, ColumnDescription, NoNames, SessionState, SetOptions, VariableDef};
    use plan_ir::exec_context::ExecContext;
    use plan_ir::front_end::{BindAnew, BoundModule, FrontEnd, Reference};
    use plan_ir::kinds::JoinKind;
    use plan_ir::physical::plan::{AggregatePlan, JoinKeyKind, MergeJoinPlan, MergeKey};
    use plan_ir::view_shape::ViewShape;

    use super::*;
    use crate::operations::Open;

    /// A session without texts to be bound.
    struct Nobody;

    impl SessionState for Nobody {
        fn session_id(&self) -> i16 {
            51
        }
        fn login_name(&self) -> &str {
            "sa"
        }
    }

    impl BindAnew for Nobody {
        fn views(&self) -> Vec<&'static ViewShape> {
            Vec::new()
        }
        fn module(&self, _: &BindContext<'_>, _: &ModuleDef) -> Option<BoundModule> {
            None
        }
        fn is_inlineable(&self, _: &BindContext<'_>, _: &Arc<ModuleDef>) -> bool {
            false
        }
        fn references(&self, _: &BindContext<'_>, _: &ModuleDef) -> Vec<Reference> {
            Vec::new()
        }
        fn named_columns(
            &self,
            _: &BindContext<'_>,
            _: &Arc<Database>,
            _: &Arc<TableDef>,
            _: &str,
        ) -> Vec<i32> {
            Vec::new()
        }
        fn declared_parameters(
            &self,
            _: &str,
            _: &Arc<Database>,
            _: Lookup<'_>,
        ) -> Result<Vec<VariableDef>, SqlError> {
            Ok(Vec::new())
        }
        fn first_result_set(
            &self,
            _: &str,
            _: &BindContext<'_>,
        ) -> Result<Option<Vec<ColumnDescription>>, SqlError> {
            Ok(None)
        }
    }

    /// Opens a plan and reads all of its rows.
    fn rows_of(plan: &Plan, name: &str) -> Vec<Row> {
        let directory = std::env::temp_dir().join(format!("hardpan-verified-{name}-{}", std::process::id()));
        let options =
            engine::InstanceOptions { background: false, ..engine::InstanceOptions::new(&directory) };
        let instance = Instance::open(&os::Os::real(), &options).expect("an instance opens");
        let mut transactions = TransactionSet::new(&instance, 51);
        let mut context = ExecContext {
            instance: &instance,
            database: &instance.master(),
            variables: &mut [],
            transactions: &mut transactions,
            state: &Nobody,
            functions: &plan_ir::context::NoFunctions,
            options: &SetOptions::default(),
            names: &NoNames,
            front_end: FrontEnd(&Nobody),
            trigger: None,
        };
        let runtime = Runtime::new(&mut context);
        let mut source = plan.open(&runtime).expect("the plan opens");
        let (mut rows, mut row) = (Vec::new(), Row::new());
        while source.next(&runtime, &mut row).expect("a row is read") {
            rows.push(row.clone());
        }
        drop(source);
        drop(runtime);
        drop(transactions);
        drop(instance);
        let _ = std::fs::remove_dir_all(&directory);
        rows
    }

    fn numbers(numbers: &[i32]) -> Plan {
        Plan::Values(numbers.iter().map(|number| vec![Node::Constant(Value::Int(*number))]).collect())
    }

    fn merged(left: &[i32], right: &[i32], right_width: usize) -> Plan {
        let collation = Collation::default();
        Plan::MergeJoin(Box::new(MergeJoinPlan {
            kind: JoinKind::Inner,
            left: numbers(left),
            right: numbers(right),
            keys: vec![MergeKey { left: 0, right: 0, descending: false, collation }],
            has_unique_left: false,
            residual: None,
            left_width: 1,
            right_width,
        }))
    }

    fn ordered(rows: &[i32], descending: bool) -> Plan {
        let key = SortNode { node: Node::Column(0), descending, collation: Collation::default() };
        Plan::Ordered { input: Box::new(numbers(rows)), keys: vec![key] }
    }

    fn grouped(rows: &[i32]) -> Plan {
        Plan::Aggregate(Box::new(AggregatePlan {
            input: numbers(rows),
            is_in_order: true,
            keys: vec![Node::Column(0)],
            collations: vec![Collation::default()],
            key_kind: JoinKeyKind::Number,
            aggregates: Vec::new(),
        }))
    }

    #[test]
    fn rows_in_the_claimed_order_pass() {
        assert_eq!(rows_of(&merged(&[1, 2, 2, 5], &[2, 3, 5], 1), "merged").len(), 3);
        assert_eq!(rows_of(&ordered(&[3, 3, 1], true), "ordered").len(), 3);
        // A group may stand anywhere, if it stands there as a whole.
        assert_eq!(rows_of(&grouped(&[2, 2, 1, 3, 3]), "grouped").len(), 3);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "rows come in the order that the plan claims")]
    fn a_side_of_a_merge_that_is_out_of_order_is_found() {
        rows_of(&merged(&[1, 2, 3], &[1, 3, 2, 4], 1), "side");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a row has as many values as the plan claims")]
    fn a_side_of_another_width_is_found() {
        rows_of(&merged(&[1], &[1], 2), "width");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "rows come in the order that the plan claims")]
    fn rows_that_are_not_sorted_though_a_sort_was_saved_are_found() {
        rows_of(&ordered(&[1, 2, 3], true), "saved");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the rows of a group come one behind the other")]
    fn a_group_that_comes_twice_is_found() {
        rows_of(&grouped(&[1, 1, 2, 1]), "twice");
    }
}
