//! Trees that read nothing but the catalog: they wait for what others are changing as a whole, not a view at a time.

use std::sync::Arc;

use engine::Database;

use crate::physical::plan::{CatalogPlan, Plan};
use crate::view::View;

/// The tree, as one that answers as a whole if it reads the catalog alone.
pub(crate) fn as_a_whole(plan: Plan) -> Plan {
    let mut databases = Vec::new();
    if !is_of_catalog(&plan, &mut databases) || databases.is_empty() {
        return plan;
    }
    Plan::Catalog(Box::new(CatalogPlan { input: plan, databases }))
}

/// Does it read views of catalogs alone, and whose?
fn is_of_catalog(plan: &Plan, databases: &mut Vec<Arc<Database>>) -> bool {
    match plan {
        Plan::OneRow | Plan::Empty | Plan::Values(_) => true,
        // Rows made of arguments.
        Plan::System(system) if system.view.schema == "dbo" => true,
        Plan::System(system) => {
            if !databases.iter().any(|database| Arc::ptr_eq(database, &system.database)) {
                databases.push(system.database.clone());
            }
            shows_catalog(system.view)
        }
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Distinct { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Top { input, .. }
        | Plan::Offset { input, .. } => is_of_catalog(input, databases),
        Plan::Spool { input, .. } => is_of_catalog(input, databases),
        Plan::NestedLoop(join) => {
            [&join.left, &join.right].into_iter().all(|plan| is_of_catalog(plan, databases))
        }
        Plan::HashJoin(join) => {
            [&join.left, &join.right].into_iter().all(|plan| is_of_catalog(plan, databases))
        }
        Plan::MergeJoin(join) => {
            [&join.left, &join.right].into_iter().all(|plan| is_of_catalog(plan, databases))
        }
        Plan::Aggregate(aggregate) => is_of_catalog(&aggregate.input, databases),
        Plan::Window(window) => is_of_catalog(&window.input, databases),
        Plan::Concat(left, right) | Plan::SetOp { left, right, .. } => {
            [left, right].into_iter().all(|plan| is_of_catalog(plan, databases))
        }
        Plan::Scan(_)
        | Plan::Draw { .. }
        | Plan::Recursive { .. }
        | Plan::WorkTable(_)
        | Plan::Catalog(_) => false,
    }
}

/// Two readings of it are equal while no definition changes.
fn shows_catalog(view: &View) -> bool {
    let is_moving = |name: &str| {
        name.starts_with("dm_")
            || (name.starts_with("fn_") && name != "fn_listextendedproperty")
            || ["sysprocesses", "syslockinfo", "sysperfinfo", "syscacheobjects"].contains(&name)
    };
    view.stream.is_none() && !is_moving(view.name)
}
