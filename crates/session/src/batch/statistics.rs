//! Rows of cached programs for views: `sys.dm_exec_query_stats` and `sys.dm_exec_cached_plans`, and their plans.

use std::sync::atomic::Ordering::Relaxed;

use query::showplan::StatementPlan;
use query::{CachedPlan, CachedStatement, CompiledStatement, ProgramRuns};

use crate::batch::cell::{Cell, Compiled};
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::batch::program::Program;
use crate::batch::program_key::ProgramKey;

/// Build number in plan documents: that of the product version.
pub(crate) const BUILD: &str = "16.0.4135.4";

impl Program {
    /// The program as the views show it.
    pub(crate) fn as_cached_plan(&self, key: &ProgramKey) -> CachedPlan {
        let sums = self.statistics.sums.lock();
        let (runs, whole, statements) = (sums.runs, sums.whole, sums.statements.clone());
        drop(sums);
        let mut shown = Vec::new();
        for instruction in &self.instructions {
            let InstructionKind::Query { cell, .. } = instruction.kind else { continue };
            let Some(one) = statements.get(cell).filter(|one| one.executions > 0) else { continue };
            shown.push(CachedStatement {
                start: instruction.start as usize,
                end: instruction.end as usize,
                generation: one.bound,
                executions: one.executions,
                last_began_ticks: one.last_began,
                elapsed_ns: one.elapsed,
                working_ns: one.working,
                rows: one.rows,
                spills: one.spills,
                granted_bytes: one.grants.granted,
                ideal_bytes: one.grants.ideal,
                used_bytes: one.grants.used,
                query_hash: query::query_hash(&self.text_of(instruction)),
                plan_hash: self.plan_hash_of(instruction, cell),
                logical_reads: one.logical_reads,
                physical_reads: one.physical_reads,
            });
        }
        CachedPlan {
            number: self.statistics.number.load(Relaxed),
            incarnation: key.incarnation(),
            kind: key.kind(),
            text: self.text.clone(),
            size_bytes: self.size_bytes(),
            made_ticks: self.statistics.made_ticks.load(Relaxed),
            runs,
            whole: ProgramRuns {
                last_began_ticks: whole.last_began,
                elapsed_ns: whole.elapsed,
                working_ns: whole.working,
                spills: whole.spills,
                logical_reads: whole.logical_reads,
                physical_reads: whole.physical_reads,
            },
            statements: shown,
        }
    }

    /// Hash of a statement's plan, independent of its literals.
    fn plan_hash_of(&self, instruction: &Instruction, cell: Cell) -> Option<u64> {
        let compiled = self.cells[cell].lock().clone();
        let Some(Compiled::Statement(statement)) = compiled.as_deref() else { return None };
        statement.plan_hash(&self.variables[..instruction.variables_visible])
    }

    /// The plans of all bound cells, in the form of SHOWPLAN_XML.
    pub(crate) fn plan_document(&self) -> String {
        let mut statements = Vec::new();
        for instruction in &self.instructions {
            let InstructionKind::Query { cell, .. } = instruction.kind else { continue };
            let compiled = self.cells[cell].lock().clone();
            let Some(Compiled::Statement(statement)) = compiled.as_deref() else { continue };
            statements.push(self.plan_of(instruction, statement));
        }
        query::showplan::batch_document(BUILD, &statements)
    }

    /// The showplan description of a compiled statement.
    pub(crate) fn plan_of(&self, instruction: &Instruction, statement: &CompiledStatement) -> StatementPlan {
        StatementPlan {
            text: self.text_of(instruction),
            statement_type: statement.statement_type(),
            root: statement.describe(&self.variables[..instruction.variables_visible]),
        }
    }
}
