//! The bound tree of INSERT, UPDATE, DELETE and MERGE: rows to find, values to store, constraints to check, rows to give back.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::tree::{Expr, Rel, TopSpec};
use crate::context::ColumnDescription;
use crate::foreign_key::Reference;
use crate::kinds::{ColumnId, IdentityRule, ScanHints};
use crate::table::{SequenceSource, TableSource};

/// How one column of a new row gets its value.
#[derive(Debug)]
pub(crate) struct BoundStore {
    pub(crate) ordinal: usize,
    pub(crate) value: BoundValue,
}

/// Where the value comes from.
#[derive(Debug)]
pub(crate) enum BoundValue {
    /// Already of the column's type.
    Direct(Expr),
    /// Text and binary: the length is checked when stored (error 2628).
    Assign(Expr),
    Null,
    Identity,
    RowVersion,
    /// A default, which other rows of the statement have, too.
    Shared(Arc<BoundValue>),
}

impl BoundStore {
    /// Adds every column whose value matters to the stored one.
    pub(crate) fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        self.value.collect_read(into);
    }
}

impl BoundValue {
    fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match self {
            BoundValue::Direct(expr) | BoundValue::Assign(expr) => expr.collect_read(into),
            BoundValue::Shared(value) => value.collect_read(into),
            BoundValue::Null | BoundValue::Identity | BoundValue::RowVersion => {}
        }
    }
}

/// Conditions over the columns of a row.
#[derive(Debug, Default)]
pub(crate) struct RowConditions {
    /// The row's columns, in the order of its table.
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) conditions: Vec<Expr>,
}

/// What rows of a table must satisfy.
#[derive(Debug, Default)]
pub(crate) struct BoundConstraints {
    /// The row's columns in `computed` and `checks`, in the order of its table.
    pub(crate) columns: Vec<ColumnId>,
    /// Computed columns: position and expression over the row itself.
    pub(crate) computed: Vec<(usize, Expr)>,
    pub(crate) checks: Vec<BoundCheck>,
    /// Foreign keys of the table.
    pub(crate) references: Vec<Reference>,
    /// Conditions of views WITH CHECK OPTION through which the rows come.
    pub(crate) view_checks: RowConditions,
    /// Foreign keys to the table, for statements that take keys away.
    pub(crate) dependents: Vec<BoundDependent>,
}

/// A CHECK constraint.
#[derive(Debug)]
pub(crate) struct BoundCheck {
    pub(crate) name: String,
    pub(crate) predicate: Expr,
    /// The column, when the predicate reads only one.
    pub(crate) column: Option<String>,
}

/// A foreign key that refers to the table, and what happens to its rows.
#[derive(Debug)]
pub(crate) struct BoundDependent {
    pub(crate) reference: Reference,
    pub(crate) action: BoundAction,
}

/// What happens to the referring rows, with the constraints of their own table.
#[derive(Debug)]
pub(crate) enum BoundAction {
    /// NO ACTION: there may be none.
    Nothing,
    /// CASCADE of a DELETE.
    Delete(BoundConstraints),
    /// They get another key; `changed` are the columns that change with it.
    Assign { values: Vec<BoundKey>, changed: Vec<usize>, constraints: BoundConstraints },
}

/// A part of the key that referring rows get.
#[derive(Debug)]
pub(crate) enum BoundKey {
    /// CASCADE of an UPDATE: the value that the row referred to has now.
    Same,
    Null,
    Default(BoundStore),
}

/// The OUTPUT clauses of a statement.
#[derive(Debug, Default)]
pub(crate) struct BoundOutputs {
    /// The columns of `inserted` and `deleted`, in this order, which stand behind those of the statement's rows.
    pub(crate) changed: Vec<ColumnId>,
    pub(crate) clauses: Vec<BoundOutput>,
}

/// One OUTPUT clause.
#[derive(Debug)]
pub(crate) struct BoundOutput {
    pub(crate) items: Vec<Expr>,
    pub(crate) columns: Vec<ColumnDescription>,
    pub(crate) into: Option<BoundOutputInto>,
}

/// OUTPUT ... INTO.
#[derive(Debug)]
pub(crate) struct BoundOutputInto {
    pub(crate) source: Arc<TableSource>,
    /// The columns of the items in `stores`.
    pub(crate) items: Vec<ColumnId>,
    pub(crate) stores: Vec<BoundStore>,
    pub(crate) constraints: BoundConstraints,
}

/// An INSERT.
#[derive(Debug)]
pub(crate) struct BoundInsert {
    pub(crate) source: Arc<TableSource>,
    pub(crate) input: BoundInput,
    pub(crate) constraints: BoundConstraints,
    pub(crate) outputs: BoundOutputs,
    pub(crate) hints: ScanHints,
    /// For a table with an identity column.
    pub(crate) identity: Option<IdentityRule>,
    /// TOP over rows that no query gives.
    pub(crate) top: Option<TopSpec>,
    /// It has TOP: SET ROWCOUNT does not count.
    pub(crate) has_top: bool,
}

/// Where the rows come from.
#[derive(Debug)]
pub(crate) enum BoundInput {
    /// VALUES and DEFAULT VALUES: one list of stores a row.
    Values(Vec<Vec<BoundStore>>),
    /// A query.
    Query(Box<BoundSource>),
}

/// An INSERT whose rows the caller has: INSERT ... EXEC.
#[derive(Debug)]
pub(crate) struct BoundRowsInsert {
    /// The same of no rows.
    pub(crate) insert: BoundInsert,
    /// The columns of the caller's rows.
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) stores: Vec<BoundStore>,
}

/// The query of an INSERT.
#[derive(Debug)]
pub(crate) struct BoundSource {
    pub(crate) rel: Rel,
    /// The columns of the rows that it gives, in order.
    pub(crate) order: Vec<ColumnId>,
    pub(crate) stores: Vec<BoundStore>,
    /// Positions that hold what the query has drawn from sequences.
    pub(crate) drawn: Vec<(Arc<SequenceSource>, usize)>,
}

/// The rows of a table that a statement changes.
#[derive(Debug)]
pub(crate) struct ChangedRows {
    pub(crate) source: Arc<TableSource>,
    /// The query that finds them.
    pub(crate) rel: Rel,
    /// The column with their locator.
    pub(crate) locator: ColumnId,
    /// The table's columns, in its order.
    pub(crate) columns: Vec<ColumnId>,
    /// The query has TOP: SET ROWCOUNT does not count.
    pub(crate) has_top: bool,
}

/// An UPDATE.
#[derive(Debug)]
pub(crate) struct BoundUpdate {
    pub(crate) rows: ChangedRows,
    pub(crate) steps: Vec<BoundStep>,
    /// Ordinals of the columns that may change.
    pub(crate) changed: Vec<usize>,
    pub(crate) constraints: BoundConstraints,
    pub(crate) outputs: BoundOutputs,
    /// A join may give a target row several times: only the first counts.
    pub(crate) may_repeat: bool,
}

/// One assignment, in order.
#[derive(Debug)]
pub(crate) enum BoundStep {
    Column { store: BoundStore, variable: Option<StoredVariable> },
    Variable { slot: usize, value: Expr },
}

/// A variable that gets what was stored into a column.
#[derive(Debug)]
pub(crate) struct StoredVariable {
    pub(crate) slot: usize,
    /// The stored value in `value`.
    pub(crate) stored: ColumnId,
    pub(crate) value: Expr,
}

impl BoundStep {
    /// Adds every column whose value matters to the assigned one.
    pub(crate) fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match self {
            BoundStep::Column { store, .. } => store.collect_read(into),
            BoundStep::Variable { value, .. } => value.collect_read(into),
        }
    }
}

/// A DELETE.
#[derive(Debug)]
pub(crate) struct BoundDelete {
    pub(crate) rows: ChangedRows,
    pub(crate) constraints: BoundConstraints,
    pub(crate) outputs: BoundOutputs,
    /// A join may give a target row several times: only the first counts.
    pub(crate) may_repeat: bool,
}

/// A MERGE.
#[derive(Debug)]
pub(crate) struct BoundMerge {
    /// Target and source joined; only rows for which there is something to do. The locator is NULL where there is no target row.
    pub(crate) rows: ChangedRows,
    /// The column with the action's number.
    pub(crate) action: ColumnId,
    /// The column that OUTPUT reads as `$action`.
    pub(crate) action_name: ColumnId,
    pub(crate) actions: Vec<BoundMergeAction>,
    /// Ordinals of the columns that an UPDATE may change.
    pub(crate) changed: Vec<usize>,
    pub(crate) inserts: BoundConstraints,
    pub(crate) updates: BoundConstraints,
    pub(crate) deletes: BoundConstraints,
    pub(crate) outputs: BoundOutputs,
    pub(crate) identity: Option<IdentityRule>,
}

/// What a WHEN clause does.
#[derive(Debug)]
pub(crate) enum BoundMergeAction {
    /// The values of the new row, over the joined rows.
    Insert(Vec<BoundStore>),
    Update(Vec<BoundStep>),
    Delete,
}

impl BoundMergeAction {
    /// Adds every column whose value matters to what is done.
    pub(crate) fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match self {
            BoundMergeAction::Insert(stores) => stores.iter().for_each(|store| store.collect_read(into)),
            BoundMergeAction::Update(steps) => steps.iter().for_each(|step| step.collect_read(into)),
            BoundMergeAction::Delete => {}
        }
    }
}
