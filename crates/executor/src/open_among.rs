//! Plans are opened for rows whose keys are among those that a hash join above has: what of that can be asked where the rows lie is handed down.

use plan_ir::kinds::JoinKind;
use plan_ir::physical::plan::{Node, Plan};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::among::{Among, split};
use super::measured::Measured;
use super::operations::{Open, OpenAmong};
use super::{hash_join, nested_loop, open_alone, scan, simple, startup};

impl OpenAmong for Plan {
    fn open_among<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        among: Vec<Among>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError> {
        match runtime.profile() {
            _ if among.is_empty() => self.open(runtime),
            None => open_alone_among(self, runtime, among),
            Some(profile) => Measured::open(self, profile, || open_alone_among(self, runtime, among)),
        }
    }
}

fn open_alone_among<'p>(
    plan: &'p Plan,
    runtime: &Runtime<'_>,
    among: Vec<Among>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    Ok(match plan {
        Plan::Scan(scan) => scan::open_among(scan, runtime, &among)?,
        Plan::Filter { input, predicate } => {
            Box::new(simple::Filter { input: input.open_among(runtime, among)?, predicate })
        }
        Plan::Startup { input, predicate } => {
            let start = move |runtime: &Runtime<'_>| input.open_among(runtime, among.clone());
            Box::new(startup::Startup::open(predicate, Box::new(start), runtime)?)
        }
        Plan::Project { input, items } => {
            let below = among.into_iter().filter_map(|Among { position, set }| match &items[position] {
                Node::Column(position) => Some(Among { position: *position, set }),
                _ => None,
            });
            let input = input.open_among(runtime, below.collect())?;
            Box::new(simple::Project { input, items, buffer: Default::default() })
        }
        Plan::HashJoin(join) if join.kind != JoinKind::Full => {
            Box::new(hash_join::HashJoin::among(join, runtime, among))
        }
        Plan::NestedLoop(join) if join.kind != JoinKind::Full => {
            let (left, _) = split(among, join.left_width);
            nested_loop::open_with(join, join.left.open_among(runtime, left)?, runtime)
        }
        _ => open_alone(plan, runtime)?,
    })
}
