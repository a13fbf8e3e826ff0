//! Trees that read only the catalog: the whole tree waits for uncommitted definitions, not each view alone.

use std::sync::Arc;

use engine::Database;
use plan_ir::physical::plan::{CatalogPlan, Plan};
use plan_ir::view::View;

/// The tree, as one that answers as a whole if it reads the catalog alone.
pub fn as_a_whole(plan: Plan) -> Plan {
    let mut databases = Vec::new();
    if !reads_catalogs_only(&plan, &mut databases) || databases.is_empty() {
        return plan;
    }
    Plan::Catalog(Box::new(CatalogPlan { input: plan, databases }))
}

/// Does it read only catalog views that depend on nothing but definitions? `databases` receives their databases.
fn reads_catalogs_only(plan: &Plan, databases: &mut Vec<Arc<Database>>) -> bool {
    let is_one = match plan {
        // Rows made of arguments.
        Plan::System(system) if system.view.schema == "dbo" => true,
        Plan::System(system) => {
            if !databases.iter().any(|database| Arc::ptr_eq(database, &system.database)) {
                databases.push(system.database.clone());
            }
            shows_catalog(system.view)
        }
        Plan::Scan(_)
        | Plan::FunctionTable(_)
        | Plan::NextValue { .. }
        | Plan::Recursive { .. }
        | Plan::WorkTable(_)
        | Plan::Catalog(_) => false,
        _ => true,
    };
    is_one && plan.inputs().into_iter().all(|input| reads_catalogs_only(input, databases))
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
