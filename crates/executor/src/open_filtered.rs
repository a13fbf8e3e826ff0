//! Opens plans with the runtime filters of a hash join above: filters that a scan can apply are pushed down to it.

use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::{Node, Plan};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::measured::Measured;
use super::operations::{Open, OpenFiltered};
use super::runtime_filter::{RuntimeFilter, split};
use super::verified::{Claim, verified};
use super::{hash_join, nested_loop, open_alone, scan, simple, startup};

impl OpenFiltered for Plan {
    fn open_filtered<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        filters: Vec<RuntimeFilter>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError> {
        match runtime.profile() {
            _ if filters.is_empty() => self.open(runtime),
            None => open_alone_filtered(self, runtime, filters),
            Some(profile) => Measured::open(self, profile, || open_alone_filtered(self, runtime, filters)),
        }
    }
}

fn open_alone_filtered<'p>(
    plan: &'p Plan,
    runtime: &Runtime<'_>,
    filters: Vec<RuntimeFilter>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    Ok(match plan {
        Plan::Scan(scan) => scan::open_filtered(scan, runtime, &filters)?,
        Plan::Filter { input, predicate } => {
            Box::new(simple::Filter { input: input.open_filtered(runtime, filters)?, predicate })
        }
        Plan::Ordered { input, keys } => {
            let source = input.open_filtered(runtime, filters)?;
            verified(source, input, runtime, || Claim::sorted(keys))
        }
        Plan::Startup { input, predicate } => {
            let start = move |runtime: &Runtime<'_>| input.open_filtered(runtime, filters.clone());
            Box::new(startup::Startup::open(predicate, Box::new(start), runtime)?)
        }
        Plan::Project { input, items } => {
            let below =
                filters.into_iter().filter_map(|RuntimeFilter { position, set }| match &items[position] {
                    Node::Column(position) => Some(RuntimeFilter { position: *position, set }),
                    _ => None,
                });
            let input = input.open_filtered(runtime, below.collect())?;
            Box::new(simple::Project { input, items, buffer: Default::default() })
        }
        Plan::HashJoin(join) if join.kind != JoinKind::Full => {
            Box::new(hash_join::HashJoin::filtered(join, runtime, filters))
        }
        Plan::NestedLoop(join) if join.kind != JoinKind::Full => {
            let (left, _) = split(filters, join.left_width);
            nested_loop::open_with(join, join.left.open_filtered(runtime, left)?, runtime)
        }
        _ => open_alone(plan, runtime)?,
    })
}
