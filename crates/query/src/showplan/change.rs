//! Operators of INSERT, UPDATE, DELETE, MERGE, SELECT INTO and SELECT @v = ...

use engine::IndexKind;
use plan_ir::physical::change::{
    DeletePlan, InsertInput, InsertPlan, MergePlan, SetStep, Store, StoreKind, UpdatePlan,
};
use plan_ir::physical::plan::{Node, Plan};
use plan_ir::table::TableSource;

use super::scalar::{PlanColumn, Scalar};
use super::{Describer, Operator, PlanObject, Shape};
use crate::ddl::SelectIntoPlan;

/// Operators by what the target's rows stand in: a heap, a clustered index.
const INSERT: [&str; 2] = ["Table Insert", "Clustered Index Insert"];
const UPDATE: [&str; 2] = ["Table Update", "Clustered Index Update"];
const DELETE: [&str; 2] = ["Table Delete", "Clustered Index Delete"];
const MERGE: [&str; 2] = ["Table Merge", "Clustered Index Merge"];

impl<'p> Describer<'p> {
    pub(super) fn insert(&mut self, insert: &'p InsertPlan) -> Operator {
        let (input, stores, columns) = match &insert.input {
            InsertInput::Values(rows) => {
                let rows_count = rows.len() as f64;
                let stores = rows.first().map(Vec::as_slice).unwrap_or_default();
                let shown = if rows.len() == 1 {
                    Vec::new()
                } else {
                    rows.iter().map(|row| row.iter().map(|store| self.store(store, &[])).collect()).collect()
                };
                let input = Operator::leaf("Constant Scan", rows_count, Shape::Constant { rows: shown });
                (input, stores, Vec::new())
            }
            InsertInput::Query { plan, stores, read_first, drawn: _ } => {
                let (mut input, columns) = self.plan(plan);
                if *read_first {
                    input = Operator::spool("Eager Spool", input);
                }
                (input, stores.as_slice(), columns)
            }
        };
        let is_list = matches!(&insert.input, InsertInput::Values(rows) if rows.len() > 1);
        let set = if is_list { Vec::new() } else { self.stores(&insert.source, stores.iter(), &columns) };
        self.change(&INSERT, "Insert", &insert.source, set, input)
    }

    pub(super) fn update(&mut self, update: &'p UpdatePlan) -> Operator {
        let (input, columns) = self.plan(&update.plan);
        let stores = update.steps.iter().filter_map(|step| match step {
            SetStep::Column { store, .. } => Some(store),
            SetStep::Variable { .. } => None,
        });
        let set = self.stores(&update.source, stores, &columns);
        self.change(&UPDATE, "Update", &update.source, set, input)
    }

    pub(super) fn delete(&mut self, delete: &'p DeletePlan) -> Operator {
        let (input, _) = self.plan(&delete.plan);
        self.change(&DELETE, "Delete", &delete.source, Vec::new(), input)
    }

    pub(super) fn merge(&mut self, merge: &'p MergePlan) -> Operator {
        let (input, _) = self.plan(&merge.plan);
        self.change(&MERGE, "Merge", &merge.source, Vec::new(), input)
    }

    pub(super) fn select_into(&mut self, into: &'p SelectIntoPlan) -> Operator {
        let (input, columns) = self.plan(&into.plan);
        let names = vec![into.database.name().to_string(), into.schema.clone(), into.name.clone()];
        let target = PlanObject { names, index: None, kind: None };
        let set = into.columns.iter().zip(columns).map(|(column, value)| {
            Scalar::equal(Scalar::column(PlanColumn::expression(column.name.clone())), Scalar::column(value))
        });
        let set = set.collect();
        changed("Table Insert", "Insert", vec![target], set, input)
    }

    pub(super) fn assignment(&mut self, plan: &'p Plan, items: &'p [(usize, Node)]) -> Operator {
        let (input, columns) = self.plan(plan);
        let values: Vec<(PlanColumn, Scalar)> =
            items.iter().map(|item| (self.new_expression(), self.scalar(&item.1, &columns))).collect();
        let input = self.with_subqueries(input);
        Operator::compute("Compute Scalar", "ComputeScalar", values, input)
    }

    /// `column = value` for each store.
    fn stores(
        &mut self,
        source: &TableSource,
        stores: impl Iterator<Item = &'p Store>,
        input: &[PlanColumn],
    ) -> Vec<Scalar> {
        let each = stores.map(|store| {
            let column = super::operators::table_column(source, store.ordinal);
            Scalar::equal(Scalar::column(column), self.store(store, input))
        });
        each.collect()
    }

    fn store(&mut self, store: &'p Store, input: &[PlanColumn]) -> Scalar {
        self.store_of_kind(&store.kind, input)
    }

    fn store_of_kind(&mut self, kind: &'p StoreKind, input: &[PlanColumn]) -> Scalar {
        match kind {
            StoreKind::Shared(kind) => self.store_of_kind(kind, input),
            StoreKind::OrDefault(kind, _) => self.store_of_kind(kind, input),
            StoreKind::Direct(node) | StoreKind::Assign(node, _) => self.scalar(node, input),
            StoreKind::Null => Scalar::constant("NULL"),
            StoreKind::Identity => Scalar::call("getidentity", Vec::new()),
            StoreKind::RowVersion => Scalar::call("gettimestamp", Vec::new()),
        }
    }

    /// The change of a table and of its indexes.
    fn change(
        &mut self,
        names: &[&'static str; 2],
        logical: &'static str,
        source: &TableSource,
        set: Vec<Scalar>,
        input: Operator,
    ) -> Operator {
        let input = self.with_subqueries(input);
        let clustered = source.def.base().kind == IndexKind::Clustered;
        let objects =
            source.def.indexes.iter().map(|index| super::operators::object(source, index)).collect();
        changed(names[usize::from(clustered)], logical, objects, set, input)
    }
}

fn changed(
    physical: &'static str,
    logical: &'static str,
    objects: Vec<PlanObject>,
    set: Vec<Scalar>,
    input: Operator,
) -> Operator {
    let mut arguments: Vec<String> =
        objects.iter().map(|object| format!("OBJECT:({})", object.text())).collect();
    if !set.is_empty() {
        let set: Vec<String> = set.iter().map(Scalar::text).collect();
        arguments.push(format!("SET:({})", set.join(",")));
    }
    let rows = input.rows;
    let predicate = match set.len() {
        0 | 1 => set.into_iter().next(),
        _ => Some(Scalar::call("set", set)),
    };
    Operator {
        argument: arguments.join(", "),
        objects,
        predicate,
        io: 0.01 * rows.max(1.0).log2().max(1.0),
        cpu: 0.000_001 * rows,
        rows,
        children: vec![input],
        ..Operator::named(physical, logical, Shape::Update)
    }
}
