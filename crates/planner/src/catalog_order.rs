//! The row order of joined catalog views. SQL Server looks up each system table by its clustered key for each row of the tables before it.
//! So rows come in the key order of those tables that are not looked up by a whole key. Programs that read `sys.index_columns` in joins
//! without ORDER BY rely on this order.

use plan_ir::kinds::ColumnId;
use plan_ir::physical::plan::Plan;
use rustc_hash::FxHashSet;

/// The known row orders of the catalog views of a statement.
#[derive(Default)]
pub(super) struct CatalogOrder {
    views: Vec<View>,
    /// Columns that joins of such views compare.
    equal: Vec<(ColumnId, ColumnId)>,
}

struct View {
    key: Vec<ColumnId>,
    columns: Vec<ColumnId>,
}

impl CatalogOrder {
    /// A view is read; its rows ascend by the columns at these positions.
    pub(super) fn note_view(&mut self, columns: &[ColumnId], key: &[usize]) {
        if !key.is_empty() {
            let key = key.iter().map(|at| columns[*at]).collect();
            self.views.push(View { key, columns: columns.to_vec() });
        }
    }

    /// Are the left rows those to be looked up for each right one, not the other way about?
    pub(super) fn is_led_by_right(
        &mut self,
        left: &[ColumnId],
        right: &[ColumnId],
        equal: impl Iterator<Item = (ColumnId, ColumnId)>,
    ) -> bool {
        self.equal.extend(equal);
        !self.determines(left, right) && self.determines(right, left)
    }

    /// Is there one row of the others for a row of these at most?
    fn determines(&self, these: &[ColumnId], others: &[ColumnId]) -> bool {
        let mut known: FxHashSet<ColumnId> = these.iter().copied().collect();
        loop {
            let before = known.len();
            for (one, other) in &self.equal {
                if known.contains(one) || known.contains(other) {
                    known.extend([*one, *other]);
                }
            }
            for view in &self.views {
                if view.key.iter().all(|column| known.contains(column)) {
                    known.extend(&view.columns);
                }
            }
            if known.len() == before {
                return others.iter().all(|column| known.contains(column));
            }
        }
    }
}

/// Is it a view of the catalog, or a join of such views: rows whose order is known?
pub(super) fn joins_catalog_views(plan: &Plan) -> bool {
    match plan {
        Plan::System(_) => true,
        Plan::Filter { .. }
        | Plan::Startup { .. }
        | Plan::Project { .. }
        | Plan::HashJoin(_)
        | Plan::NestedLoop(_) => plan.inputs().into_iter().all(joins_catalog_views),
        _ => false,
    }
}
