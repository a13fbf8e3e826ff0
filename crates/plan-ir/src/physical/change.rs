//! Compiled INSERT, UPDATE, DELETE and MERGE: rows to find, values to store, constraints to check, rows of OUTPUT.

use std::sync::Arc;

use types::SqlType;

use super::plan::{BoolNode, Node, Plan};
use crate::context::{ColumnDescription, EventTriggers};
use crate::foreign_key::Reference;
use crate::kinds::{IdentityRule, ScanHints};
use crate::table::{SequenceSource, TableSource};

/// How one column of a new row gets its value.
#[derive(Debug)]
pub struct Store {
    pub ordinal: usize,
    pub kind: StoreKind,
}

/// Where the value comes from.
#[derive(Debug)]
pub enum StoreKind {
    /// Already of the column's type.
    Direct(Node),
    /// Text and binary: the length is checked when stored (error 2628). The type is that of the value.
    Assign(Node, SqlType),
    Null,
    Identity,
    RowVersion,
    /// A default, which other rows of the statement have, too.
    Shared(Arc<StoreKind>),
    /// The first value, or the default in place of NULL.
    OrDefault(Box<StoreKind>, Box<StoreKind>),
}

/// The constraints of a table.
#[derive(Debug, Default)]
pub struct Constraints {
    pub checks: Vec<Check>,
    /// Computed columns: position and program over the row itself.
    pub computed: Vec<(usize, Node)>,
    /// Foreign keys of the table.
    pub references: Vec<Reference>,
    /// Conditions of views WITH CHECK OPTION through which the rows come, over the row itself.
    pub view_checks: Vec<BoolNode>,
    /// Foreign keys to the table, for statements that take keys away.
    pub dependents: Vec<Dependent>,
    /// The triggers that such a change of rows fires.
    pub triggers: Option<Arc<EventTriggers>>,
    /// The trigger that runs instead of the change: no row is changed, and none checked.
    pub instead_of: Option<Arc<EventTriggers>>,
}

/// A CHECK constraint.
#[derive(Debug)]
pub struct Check {
    pub name: String,
    pub predicate: BoolNode,
    /// The column, when the predicate reads only one.
    pub column: Option<String>,
    /// It calls a function of a user, which may read the table: it is tested when the rows stand there.
    pub calls_function: bool,
}

/// A foreign key that refers to the table, and what happens to its rows. The foreign keys that act form a tree (error 1785), so this is
/// finite.
#[derive(Debug)]
pub struct Dependent {
    pub reference: Reference,
    pub action: Action,
}

/// The referential action on the referring rows.
#[derive(Debug)]
pub enum Action {
    /// NO ACTION: there may be none.
    Nothing,
    /// CASCADE of a DELETE.
    Delete(Child),
    /// They get another key; `changed` are the columns that change with it.
    Assign { values: Vec<NewKey>, changed: Vec<usize>, child: Child },
}

/// A part of the key that referring rows get.
#[derive(Debug)]
pub enum NewKey {
    /// CASCADE of an UPDATE: the value that the row referred to has now.
    Same,
    Null,
    Default(Store),
}

/// The referring table's own constraints, for the change that the action makes there.
#[derive(Debug)]
pub struct Child {
    pub constraints: Constraints,
}

/// One OUTPUT clause.
#[derive(Debug)]
pub struct OutputPlan {
    /// Over the source row, then the inserted row, then the deleted row.
    pub items: Vec<Node>,
    pub columns: Vec<ColumnDescription>,
    pub into: Option<OutputInto>,
}

/// OUTPUT ... INTO.
#[derive(Debug)]
pub struct OutputInto {
    pub source: Arc<TableSource>,
    /// Over the items.
    pub stores: Vec<Store>,
    pub constraints: Constraints,
}

/// A compiled INSERT.
#[derive(Debug)]
pub struct InsertPlan {
    pub source: Arc<TableSource>,
    pub input: InsertInput,
    pub constraints: Constraints,
    pub outputs: Vec<OutputPlan>,
    pub hints: ScanHints,
    /// For a table with an identity column.
    pub identity: Option<IdentityRule>,
    /// TOP over rows that no query gives.
    pub top: Option<TopOfRows>,
    /// It has TOP: SET ROWCOUNT does not count.
    pub has_top: bool,
}

/// TOP over rows that are in memory.
#[derive(Debug)]
pub struct TopOfRows {
    pub count: Node,
    pub percent: bool,
}

/// Where the rows come from.
#[derive(Debug)]
pub enum InsertInput {
    /// VALUES and DEFAULT VALUES: one list of stores a row.
    Values(Vec<Vec<Store>>),
    /// A query. Read whole before the first insert when it reads the target (Halloween protection).
    /// `drawn`: positions that hold what the query has drawn from sequences.
    Query { plan: Plan, stores: Vec<Store>, read_first: bool, drawn: Vec<(Arc<SequenceSource>, usize)> },
}

/// A compiled UPDATE.
#[derive(Debug)]
pub struct UpdatePlan {
    pub source: Arc<TableSource>,
    pub plan: Plan,
    /// Position of the locator in the plan's rows.
    pub locator: usize,
    /// Positions of the target's columns in the plan's rows.
    pub old: Vec<usize>,
    pub steps: Vec<SetStep>,
    /// Ordinals of the columns that may change.
    pub changed: Vec<usize>,
    pub constraints: Constraints,
    pub outputs: Vec<OutputPlan>,
    /// A join may give a target row several times: only the first counts.
    pub may_repeat: bool,
    pub has_top: bool,
}

/// One assignment, in order.
#[derive(Debug)]
pub enum SetStep {
    Column { store: Store, variable: Option<(usize, Node)> },
    Variable { slot: usize, node: Node },
}

/// A compiled DELETE.
#[derive(Debug)]
pub struct DeletePlan {
    pub source: Arc<TableSource>,
    pub plan: Plan,
    pub locator: usize,
    /// Ordinals of the needed columns: keys of indexes and of references, columns of OUTPUT.
    pub columns: Vec<usize>,
    /// Where they stand in the plan's rows.
    pub old: Vec<usize>,
    pub constraints: Constraints,
    pub outputs: Vec<OutputPlan>,
    pub may_repeat: bool,
    pub has_top: bool,
}

/// A compiled MERGE.
#[derive(Debug)]
pub struct MergePlan {
    pub source: Arc<TableSource>,
    /// Target and source joined; only rows for which there is something to do.
    pub plan: Plan,
    pub has_top: bool,
    /// Position of the target's locator in the plan's rows; NULL where there is no target row.
    pub locator: usize,
    /// Position of the action's number.
    pub action: usize,
    /// Position that OUTPUT reads as `$action`.
    pub action_name: usize,
    /// Positions of the target's columns.
    pub old: Vec<usize>,
    pub actions: Vec<MergeAction>,
    /// Ordinals of the columns that an UPDATE may change.
    pub changed: Vec<usize>,
    pub inserts: Constraints,
    pub updates: Constraints,
    pub deletes: Constraints,
    pub outputs: Vec<OutputPlan>,
    pub identity: Option<IdentityRule>,
}

/// The action of a WHEN clause.
#[derive(Debug)]
pub enum MergeAction {
    /// The values of the new row, over the plan's rows.
    Insert(Vec<Store>),
    Update(Vec<SetStep>),
    Delete,
}
