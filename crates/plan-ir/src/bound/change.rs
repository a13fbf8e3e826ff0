//! The bound tree of INSERT, UPDATE, DELETE and MERGE: rows to find, values to store, constraints to check, rows of OUTPUT.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::tree::{Expr, Rel, TopSpec};
use crate::context::{ColumnDescription, EventTriggers};
use crate::foreign_key::Reference;
use crate::kinds::{ColumnId, IdentityRule, ScanHints};
use crate::table::{SequenceSource, TableSource};

/// How one column of a new row gets its value.
#[derive(Debug)]
pub struct BoundStore {
    pub ordinal: usize,
    pub value: BoundValue,
}

/// Where the value comes from.
#[derive(Debug)]
pub enum BoundValue {
    /// Already of the column's type.
    Direct(Expr),
    /// Text and binary: the length is checked when stored (error 2628).
    Assign(Expr),
    Null,
    Identity,
    RowVersion,
    /// A default, which other rows of the statement have, too.
    Shared(Arc<BoundValue>),
    /// The first value, or the default in place of NULL.
    OrDefault(Box<BoundValue>, Box<BoundValue>),
}

impl BoundStore {
    /// Adds every column whose value matters to the stored one.
    pub fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        self.value.collect_read(into);
    }
}

impl BoundValue {
    fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match self {
            BoundValue::Direct(expr) | BoundValue::Assign(expr) => expr.collect_read(into),
            BoundValue::Shared(value) => value.collect_read(into),
            BoundValue::OrDefault(value, _) => value.collect_read(into),
            BoundValue::Null | BoundValue::Identity | BoundValue::RowVersion => {}
        }
    }
}

/// Conditions over the columns of a row.
#[derive(Debug, Default)]
pub struct RowConditions {
    /// The row's columns, in the order of its table.
    pub columns: Vec<ColumnId>,
    pub conditions: Vec<Expr>,
}

/// The constraints of a table.
#[derive(Debug, Default)]
pub struct BoundConstraints {
    /// The row's columns in `computed` and `checks`, in the order of its table.
    pub columns: Vec<ColumnId>,
    /// Computed columns: position and expression over the row itself.
    pub computed: Vec<(usize, Expr)>,
    pub checks: Vec<BoundCheck>,
    /// Foreign keys of the table.
    pub references: Vec<Reference>,
    /// Conditions of views WITH CHECK OPTION through which the rows come.
    pub view_checks: RowConditions,
    /// Foreign keys to the table, for statements that take keys away.
    pub dependents: Vec<BoundDependent>,
    /// The triggers that such a change of rows fires.
    pub triggers: Option<Arc<EventTriggers>>,
    /// The trigger that runs instead of the change: no row is changed, and none checked.
    pub instead_of: Option<Arc<EventTriggers>>,
}

/// A CHECK constraint.
#[derive(Debug)]
pub struct BoundCheck {
    pub name: String,
    pub predicate: Expr,
    /// The column, when the predicate reads only one.
    pub column: Option<String>,
}

/// A foreign key that refers to the table, and what happens to its rows.
#[derive(Debug)]
pub struct BoundDependent {
    pub reference: Reference,
    pub action: BoundAction,
}

/// The referential action on the referring rows, with the constraints of their own table.
#[derive(Debug)]
pub enum BoundAction {
    /// NO ACTION: there may be none.
    Nothing,
    /// CASCADE of a DELETE.
    Delete(BoundConstraints),
    /// They get another key; `changed` are the columns that change with it.
    Assign { values: Vec<BoundKey>, changed: Vec<usize>, constraints: BoundConstraints },
}

/// A part of the key that referring rows get.
#[derive(Debug)]
pub enum BoundKey {
    /// CASCADE of an UPDATE: the value that the row referred to has now.
    Same,
    Null,
    Default(BoundStore),
}

/// The OUTPUT clauses of a statement.
#[derive(Debug, Default)]
pub struct BoundOutputs {
    /// The columns of `inserted` and `deleted`, in this order, which stand behind those of the statement's rows.
    pub changed: Vec<ColumnId>,
    pub clauses: Vec<BoundOutput>,
}

/// One OUTPUT clause.
#[derive(Debug)]
pub struct BoundOutput {
    pub items: Vec<Expr>,
    pub columns: Vec<ColumnDescription>,
    pub into: Option<BoundOutputInto>,
}

/// OUTPUT ... INTO.
#[derive(Debug)]
pub struct BoundOutputInto {
    pub source: Arc<TableSource>,
    /// The columns of the items in `stores`.
    pub items: Vec<ColumnId>,
    pub stores: Vec<BoundStore>,
    pub constraints: BoundConstraints,
}

/// An INSERT.
#[derive(Debug)]
pub struct BoundInsert {
    pub source: Arc<TableSource>,
    pub input: BoundInput,
    pub constraints: BoundConstraints,
    pub outputs: BoundOutputs,
    pub hints: ScanHints,
    /// For a table with an identity column.
    pub identity: Option<IdentityRule>,
    /// TOP over rows that no query gives.
    pub top: Option<TopSpec>,
    /// It has TOP: SET ROWCOUNT does not count.
    pub has_top: bool,
}

/// Where the rows come from.
#[derive(Debug)]
pub enum BoundInput {
    /// VALUES and DEFAULT VALUES: one list of stores a row.
    Values(Vec<Vec<BoundStore>>),
    /// A query.
    Query(Box<BoundSource>),
}

/// An INSERT whose rows the caller has: INSERT ... EXEC.
#[derive(Debug)]
pub struct BoundRowsInsert {
    /// The same of no rows.
    pub insert: BoundInsert,
    /// The columns of the caller's rows.
    pub columns: Vec<ColumnId>,
    pub stores: Vec<BoundStore>,
}

/// The query of an INSERT.
#[derive(Debug)]
pub struct BoundSource {
    pub rel: Rel,
    /// The columns of the rows that it gives, in order.
    pub order: Vec<ColumnId>,
    pub stores: Vec<BoundStore>,
    /// Positions that hold what the query has drawn from sequences.
    pub drawn: Vec<(Arc<SequenceSource>, usize)>,
}

/// The rows of a table that a statement changes.
#[derive(Debug)]
pub struct ChangedRows {
    pub source: Arc<TableSource>,
    /// The query that finds them.
    pub rel: Rel,
    /// The column with their locator.
    pub locator: ColumnId,
    /// The table's columns, in its order.
    pub columns: Vec<ColumnId>,
    /// The query has TOP: SET ROWCOUNT does not count.
    pub has_top: bool,
}

/// An UPDATE.
#[derive(Debug)]
pub struct BoundUpdate {
    pub rows: ChangedRows,
    pub steps: Vec<BoundStep>,
    /// Ordinals of the columns that may change.
    pub changed: Vec<usize>,
    pub constraints: BoundConstraints,
    pub outputs: BoundOutputs,
    /// A join may give a target row several times: only the first counts.
    pub may_repeat: bool,
}

/// One assignment, in order.
#[derive(Debug)]
pub enum BoundStep {
    Column { store: BoundStore, variable: Option<StoredVariable> },
    Variable { slot: usize, value: Expr },
}

/// A variable that gets what was stored into a column.
#[derive(Debug)]
pub struct StoredVariable {
    pub slot: usize,
    /// The stored value in `value`.
    pub stored: ColumnId,
    pub value: Expr,
}

impl BoundStep {
    /// Adds every column whose value matters to the assigned one.
    pub fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match self {
            BoundStep::Column { store, .. } => store.collect_read(into),
            BoundStep::Variable { value, .. } => value.collect_read(into),
        }
    }
}

/// A DELETE.
#[derive(Debug)]
pub struct BoundDelete {
    pub rows: ChangedRows,
    pub constraints: BoundConstraints,
    pub outputs: BoundOutputs,
    /// A join may give a target row several times: only the first counts.
    pub may_repeat: bool,
}

/// A MERGE.
#[derive(Debug)]
pub struct BoundMerge {
    /// Target and source joined; only rows for which there is something to do. The locator is NULL where there is no target row.
    pub rows: ChangedRows,
    /// The column with the action's number.
    pub action: ColumnId,
    /// The column that OUTPUT reads as `$action`.
    pub action_name: ColumnId,
    pub actions: Vec<BoundMergeAction>,
    /// Ordinals of the columns that an UPDATE may change.
    pub changed: Vec<usize>,
    pub inserts: BoundConstraints,
    pub updates: BoundConstraints,
    pub deletes: BoundConstraints,
    pub outputs: BoundOutputs,
    pub identity: Option<IdentityRule>,
}

/// The action of a WHEN clause.
#[derive(Debug)]
pub enum BoundMergeAction {
    /// The values of the new row, over the joined rows.
    Insert(Vec<BoundStore>),
    Update(Vec<BoundStep>),
    Delete,
}

impl BoundMergeAction {
    /// Adds every column whose value matters to what is done.
    pub fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match self {
            BoundMergeAction::Insert(stores) => stores.iter().for_each(|store| store.collect_read(into)),
            BoundMergeAction::Update(steps) => steps.iter().for_each(|step| step.collect_read(into)),
            BoundMergeAction::Delete => {}
        }
    }
}
