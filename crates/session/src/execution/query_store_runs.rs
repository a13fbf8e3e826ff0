//! Adds the execution figures of a frame's statements to the query store of its database.

use std::any::Any;
use std::sync::Arc;

use crate::batch::cell::{Cell, Compiled};
use crate::batch::frame::Frame;
use crate::batch::instruction::InstructionKind;
use crate::batch::program::Program;
use crate::batch::statistics::BUILD;
use crate::query_store::Described;
use crate::session::Session;

impl Session {
    /// Called at the end of a frame: adds the figures of its statements to the store of the session's database.
    pub(crate) fn note_in_query_store(&self, frame: &Frame<'_>) {
        let (incarnation, now) = (self.database.incarnation(), self.now_ticks());
        for (cell, runs) in frame.statistics.executed() {
            let bound = frame.local[cell].clone().or_else(|| frame.program.cells[cell].lock().clone());
            let Some(compiled) = bound else { continue };
            let place: Arc<dyn Any + Send + Sync> = compiled.clone();
            if self.query_stores.add_known(incarnation, &place, &runs, now) {
                continue;
            }
            if let Some(described) = self.described_for_store(frame, cell, &compiled) {
                self.query_stores.add(incarnation, &place, &described, &runs, now);
            }
        }
    }

    fn described_for_store(&self, frame: &Frame<'_>, cell: Cell, compiled: &Compiled) -> Option<Described> {
        let program: &Program = frame.program;
        let Compiled::Statement(statement) = compiled else { return None };
        let is_own =
            |kind: &InstructionKind| matches!(kind, InstructionKind::Query { cell: own, .. } if *own == cell);
        let instruction = program.instructions.iter().find(|instruction| is_own(&instruction.kind))?;
        let plan = program.plan_of(instruction, statement);
        let module = frame.procedure.as_ref().and(self.state.procedures.last());
        Some(Described {
            document: query::showplan::batch_document(BUILD, std::slice::from_ref(&plan)),
            plan_hash: plan.root.as_ref().map_or(0, query::showplan::Operator::hash),
            text: plan.text,
            object_id: module.copied().unwrap_or(0),
            has_parameters: module.is_none() && program.has_parameters,
            compatibility_level: self.database.options().compatibility_level,
        })
    }
}
