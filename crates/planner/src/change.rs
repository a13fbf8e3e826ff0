//! From bound INSERT, UPDATE, DELETE and MERGE to their plans: how the rows are found, and the programs of stored values, checks and OUTPUT.

use std::sync::Arc;

use plan_ir::bound::change::{
    BoundAction, BoundConstraints, BoundDelete, BoundDependent, BoundInput, BoundInsert, BoundKey,
    BoundMerge, BoundMergeAction, BoundOutput, BoundOutputInto, BoundOutputs, BoundRowsInsert, BoundSource,
    BoundStep, BoundStore, BoundUpdate, BoundValue, ChangedRows, RowConditions,
};
use plan_ir::bound::columns::Columns;
use plan_ir::bound::reads::reads_table;
use plan_ir::bound::tree::Expr;
use plan_ir::kinds::ColumnId;
use plan_ir::physical::change::{
    Action, Check, Child, Constraints, DeletePlan, Dependent, InsertInput, InsertPlan, MergeAction,
    MergePlan, NewKey, OutputInto, OutputPlan, SetStep, Store, StoreKind, TopOfRows, UpdatePlan,
};
use plan_ir::physical::plan::{BoolNode, Node};
use plan_ir::table::TableSource;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::catalog::as_a_whole;
use super::compile::Layout;
use super::{Planned, Planner, in_order};

/// Plans one data change statement over its columns.
pub struct ChangePlanner<'a> {
    columns: &'a Columns,
    /// The defaults that several rows have, as bound and as planned.
    shared: Vec<(Arc<BoundValue>, Arc<StoreKind>)>,
}

impl<'a> ChangePlanner<'a> {
    /// A planner over the statement's columns.
    pub fn new(columns: &'a Columns) -> ChangePlanner<'a> {
        ChangePlanner { columns, shared: Vec::new() }
    }

    /// Plans an INSERT.
    pub fn insert(&mut self, insert: BoundInsert) -> Result<InsertPlan, SqlError> {
        let source = insert.source;
        let input = match insert.input {
            BoundInput::Values(rows) => {
                let layout = Layout::default();
                let rows = rows.into_iter().map(|row| self.stores(row, &layout));
                InsertInput::Values(rows.collect::<Result<_, _>>()?)
            }
            BoundInput::Query(query) => self.insert_query(*query, &source)?,
        };
        let constraints = self.constraints(insert.constraints)?;
        let outputs = self.outputs(insert.outputs, &[])?;
        let top = match insert.top {
            Some(top) => {
                let count = self.value(&top.count, &Layout::default())?;
                Some(TopOfRows { count, percent: top.percent })
            }
            None => None,
        };
        let (hints, identity, has_top) = (insert.hints, insert.identity, insert.has_top);
        Ok(InsertPlan { source, input, constraints, outputs, hints, identity, top, has_top })
    }

    /// Plans an INSERT of rows that the caller has; the programs that store each row are returned with the plan.
    pub fn insert_rows(&mut self, rows: BoundRowsInsert) -> Result<(InsertPlan, Vec<Store>), SqlError> {
        let stores = self.stores(rows.stores, &Layout::new(&rows.columns))?;
        Ok((self.insert(rows.insert)?, stores))
    }

    /// The rows of a query, which is read whole before the first insert when it reads the target.
    fn insert_query(&mut self, query: BoundSource, target: &TableSource) -> Result<InsertInput, SqlError> {
        let BoundSource { rel, order, stores, drawn } = query;
        let stores = self.stores(stores, &Layout::new(&order))?;
        let read_first = reads_table(&rel, target);
        let planned =
            Planner::new(self.columns).wanting(&rel, order.iter().copied()).plan(&rel, Vec::new())?;
        let plan = as_a_whole(in_order(planned, &order));
        Ok(InsertInput::Query { plan, stores, read_first, drawn })
    }

    /// Plans an UPDATE.
    pub fn update(&mut self, update: BoundUpdate) -> Result<UpdatePlan, SqlError> {
        let rows = update.rows;
        let mut read = all_of(&rows);
        update.steps.iter().for_each(|step| step.collect_read(&mut read));
        let planned = self.changed(&rows, &update.outputs, read)?;
        let layout = planned.layout();
        let steps = self.steps(update.steps, &layout)?;
        let constraints = self.constraints(update.constraints)?;
        let outputs = self.outputs(update.outputs, &planned.layout)?;
        Ok(UpdatePlan {
            locator: position(&layout, rows.locator),
            old: positions(&layout, &rows.columns),
            source: rows.source,
            plan: planned.plan,
            steps,
            changed: update.changed,
            constraints,
            outputs,
            may_repeat: update.may_repeat,
            has_top: rows.has_top,
        })
    }

    /// Plans a DELETE.
    pub fn delete(&mut self, delete: BoundDelete) -> Result<DeletePlan, SqlError> {
        let rows = delete.rows;
        let constraints = self.constraints(delete.constraints)?;
        let is_whole = constraints.triggers.is_some() || constraints.instead_of.is_some();
        let columns = match delete.outputs.clauses.is_empty() && !is_whole {
            true => columns_that_matter(&rows.source, &constraints),
            false => (0..rows.columns.len()).collect(),
        };
        let ids: Vec<ColumnId> = columns.iter().map(|ordinal| rows.columns[*ordinal]).collect();
        let read = ids.iter().copied().chain([rows.locator]).collect();
        let planned = self.changed(&rows, &delete.outputs, read)?;
        let layout = planned.layout();
        let outputs = self.outputs(delete.outputs, &planned.layout)?;
        Ok(DeletePlan {
            locator: position(&layout, rows.locator),
            old: positions(&layout, &ids),
            source: rows.source,
            plan: planned.plan,
            columns,
            constraints,
            outputs,
            may_repeat: delete.may_repeat,
            has_top: rows.has_top,
        })
    }

    /// Plans a MERGE.
    pub fn merge(&mut self, merge: BoundMerge) -> Result<MergePlan, SqlError> {
        let rows = merge.rows;
        let mut read = all_of(&rows);
        read.extend([merge.action, merge.action_name]);
        merge.actions.iter().for_each(|action| action.collect_read(&mut read));
        let planned = self.changed(&rows, &merge.outputs, read)?;
        let layout = planned.layout();
        let actions = merge.actions.into_iter().map(|action| self.merge_action(action, &layout));
        let actions = actions.collect::<Result<_, _>>()?;
        let inserts = self.constraints(merge.inserts)?;
        let updates = self.constraints(merge.updates)?;
        let deletes = self.constraints(merge.deletes)?;
        let outputs = self.outputs(merge.outputs, &planned.layout)?;
        Ok(MergePlan {
            locator: position(&layout, rows.locator),
            action: position(&layout, merge.action),
            action_name: position(&layout, merge.action_name),
            old: positions(&layout, &rows.columns),
            source: rows.source,
            plan: planned.plan,
            has_top: rows.has_top,
            actions,
            changed: merge.changed,
            inserts,
            updates,
            deletes,
            outputs,
            identity: merge.identity,
        })
    }

    /// Plans the query that finds the rows, of which these columns are read; OUTPUT may name any that the query gives.
    fn changed(
        &mut self,
        rows: &ChangedRows,
        outputs: &BoundOutputs,
        mut read: FxHashSet<ColumnId>,
    ) -> Result<Planned, SqlError> {
        if !outputs.clauses.is_empty() {
            read.extend(rows.rel.output());
        }
        Planner::new(self.columns).wanting(&rows.rel, read).plan(&rows.rel, Vec::new())
    }

    fn merge_action(&mut self, action: BoundMergeAction, layout: &Layout) -> Result<MergeAction, SqlError> {
        Ok(match action {
            BoundMergeAction::Insert(stores) => MergeAction::Insert(self.stores(stores, layout)?),
            BoundMergeAction::Update(steps) => MergeAction::Update(self.steps(steps, layout)?),
            BoundMergeAction::Delete => MergeAction::Delete,
        })
    }

    fn steps(&mut self, steps: Vec<BoundStep>, layout: &Layout) -> Result<Vec<SetStep>, SqlError> {
        steps.into_iter().map(|step| self.step(step, layout)).collect()
    }

    fn step(&mut self, step: BoundStep, layout: &Layout) -> Result<SetStep, SqlError> {
        match step {
            BoundStep::Variable { slot, value } => {
                Ok(SetStep::Variable { slot, node: self.value(&value, layout)? })
            }
            BoundStep::Column { store, variable } => {
                let store = self.store(store, layout)?;
                let variable = match variable {
                    Some(variable) => {
                        let layout = Layout::new(&[variable.stored]);
                        let node = Planner::new(self.columns).node(&variable.value, &layout)?;
                        Some((variable.slot, node))
                    }
                    None => None,
                };
                Ok(SetStep::Column { store, variable })
            }
        }
    }

    fn stores(&mut self, stores: Vec<BoundStore>, layout: &Layout) -> Result<Vec<Store>, SqlError> {
        stores.into_iter().map(|store| self.store(store, layout)).collect()
    }

    /// The program of what is stored into a column.
    fn store(&mut self, store: BoundStore, layout: &Layout) -> Result<Store, SqlError> {
        let kind = match store.value {
            BoundValue::Shared(value) => StoreKind::Shared(self.shared_kind(value)?),
            value => self.store_kind(&value, layout)?,
        };
        Ok(Store { ordinal: store.ordinal, kind })
    }

    /// A default is planned for the first row that takes it.
    fn shared_kind(&mut self, value: Arc<BoundValue>) -> Result<Arc<StoreKind>, SqlError> {
        if let Some((_, kind)) = self.shared.iter().find(|known| Arc::ptr_eq(&known.0, &value)) {
            return Ok(kind.clone());
        }
        let kind = Arc::new(self.store_kind(&value, &Layout::default())?);
        self.shared.push((value, kind.clone()));
        Ok(kind)
    }

    fn store_kind(&mut self, value: &BoundValue, layout: &Layout) -> Result<StoreKind, SqlError> {
        Ok(match value {
            BoundValue::Direct(expr) => StoreKind::Direct(self.value(expr, layout)?),
            BoundValue::Assign(expr) => StoreKind::Assign(self.value(expr, layout)?, expr.sql_type),
            BoundValue::Null => StoreKind::Null,
            BoundValue::Identity => StoreKind::Identity,
            BoundValue::RowVersion => StoreKind::RowVersion,
            BoundValue::OrDefault(value, default) => StoreKind::OrDefault(
                Box::new(self.store_kind(value, layout)?),
                Box::new(self.store_kind(default, &Layout::default())?),
            ),
            BoundValue::Shared(_) => unreachable!("a default is shared once"),
        })
    }

    /// A program that is planned by itself.
    fn value(&self, expr: &Expr, layout: &Layout) -> Result<Node, SqlError> {
        Planner::new(self.columns).wanting_value(expr).node(expr, layout)
    }

    fn predicate(&self, expr: &Expr, layout: &Layout) -> Result<BoolNode, SqlError> {
        Planner::new(self.columns).predicate(expr, layout)
    }

    /// The programs of what rows of a table must satisfy.
    pub fn constraints(&mut self, bound: BoundConstraints) -> Result<Constraints, SqlError> {
        let layout = Layout::new(&bound.columns);
        let BoundConstraints { references, triggers, instead_of, .. } = bound;
        let mut constraints = Constraints { references, triggers, instead_of, ..Constraints::default() };
        for (ordinal, expr) in &bound.computed {
            let node = Planner::new(self.columns).node(expr, &layout)?;
            constraints.computed.push((*ordinal, node));
        }
        for check in bound.checks {
            let predicate = self.predicate(&check.predicate, &layout)?;
            let calls_function = check.predicate.calls_function();
            constraints.checks.push(Check {
                name: check.name,
                predicate,
                column: check.column,
                calls_function,
            });
        }
        for BoundDependent { reference, action } in bound.dependents {
            constraints.dependents.push(Dependent { reference, action: self.action(action)? });
        }
        let RowConditions { columns, conditions } = bound.view_checks;
        let layout = Layout::new(&columns);
        for condition in &conditions {
            constraints.view_checks.push(self.predicate(condition, &layout)?);
        }
        Ok(constraints)
    }

    fn action(&mut self, action: BoundAction) -> Result<Action, SqlError> {
        Ok(match action {
            BoundAction::Nothing => Action::Nothing,
            BoundAction::Delete(constraints) => {
                Action::Delete(Child { constraints: self.constraints(constraints)? })
            }
            BoundAction::Assign { values, changed, constraints } => {
                let values = values.into_iter().map(|value| self.new_key(value));
                Action::Assign {
                    values: values.collect::<Result<_, _>>()?,
                    changed,
                    child: Child { constraints: self.constraints(constraints)? },
                }
            }
        })
    }

    fn new_key(&mut self, key: BoundKey) -> Result<NewKey, SqlError> {
        Ok(match key {
            BoundKey::Same => NewKey::Same,
            BoundKey::Null => NewKey::Null,
            BoundKey::Default(store) => NewKey::Default(self.store(store, &Layout::default())?),
        })
    }

    /// OUTPUT clauses over rows of these columns, behind which those of `inserted` and `deleted` stand.
    fn outputs(&mut self, outputs: BoundOutputs, rows: &[ColumnId]) -> Result<Vec<OutputPlan>, SqlError> {
        let mut layout = Layout::new(rows);
        for (at, id) in outputs.changed.iter().enumerate() {
            layout.set(*id, rows.len() + at);
        }
        outputs.clauses.into_iter().map(|clause| self.output(clause, &layout)).collect()
    }

    fn output(&mut self, output: BoundOutput, layout: &Layout) -> Result<OutputPlan, SqlError> {
        let items = Planner::new(self.columns).nodes(output.items.iter(), layout)?;
        let into = output.into.map(|into| self.output_into(into)).transpose()?;
        Ok(OutputPlan { items, columns: output.columns, into })
    }

    fn output_into(&mut self, into: BoundOutputInto) -> Result<OutputInto, SqlError> {
        let stores = self.stores(into.stores, &Layout::new(&into.items))?;
        let constraints = self.constraints(into.constraints)?;
        Ok(OutputInto { source: into.source, stores, constraints })
    }
}

/// The locator and all columns of the rows' table.
fn all_of(rows: &ChangedRows) -> FxHashSet<ColumnId> {
    rows.columns.iter().copied().chain([rows.locator]).collect()
}

/// The columns of which a DELETE has to know the values: those of its indexes' keys and filters, and those that others refer to. Ascending.
fn columns_that_matter(source: &TableSource, constraints: &Constraints) -> Vec<usize> {
    let mut columns = source.table.columns_of_entries();
    for dependent in &constraints.dependents {
        columns.extend(&dependent.reference.there.columns);
    }
    columns.sort_unstable();
    columns.dedup();
    let count = source.def.columns.len();
    debug_assert!(columns.iter().all(|ordinal| *ordinal < count), "a row has columns of its table");
    columns
}

fn position(layout: &Layout, id: ColumnId) -> usize {
    layout.position(id).expect("the plan gives all columns that are read of the changed rows")
}

fn positions(layout: &Layout, ids: &[ColumnId]) -> Vec<usize> {
    ids.iter().map(|id| position(layout, *id)).collect()
}
