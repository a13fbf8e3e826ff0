//! The OUTPUT clause: expressions over the rows changed, sent to the client or into a table.

use std::ops::ControlFlow;

use plan_ir::context::{Flow, RowSink};
use plan_ir::physical::change::{OutputInto, OutputPlan};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use types::SqlError;

use super::new_rows::NewRows;
use super::operations::Evaluate;
use super::spill::gathered::Gathered;

/// Rows of the OUTPUT clauses of one statement, held until the statement has succeeded.
pub(crate) struct OutputRows<'p> {
    plans: &'p [OutputPlan],
    rows: Vec<Gathered>,
    buffer: Row,
}

impl<'p> OutputRows<'p> {
    pub(crate) fn new(plans: &'p [OutputPlan]) -> OutputRows<'p> {
        OutputRows { plans, rows: plans.iter().map(|_| Gathered::default()).collect(), buffer: Row::new() }
    }

    /// Is there anything to do?
    pub(crate) fn is_wanted(&self) -> bool {
        !self.plans.is_empty()
    }

    /// Takes one changed row.
    pub(crate) fn add(
        &mut self,
        runtime: &Runtime<'_>,
        source: &[types::Value],
        inserted: &[types::Value],
        deleted: &[types::Value],
    ) -> Result<(), SqlError> {
        runtime.check_cancelled()?;
        self.buffer.clear();
        self.buffer.extend_from_slice(source);
        self.buffer.extend_from_slice(inserted);
        self.buffer.extend_from_slice(deleted);
        debug_assert!(
            inserted.is_empty() || deleted.is_empty() || inserted.len() == deleted.len(),
            "one table"
        );
        for (plan, rows) in self.plans.iter().zip(&mut self.rows) {
            let values = plan.items.iter().map(|node| node.eval(runtime, &self.buffer));
            rows.push(runtime, values.collect::<Result<Row, SqlError>>()?)?;
        }
        Ok(())
    }

    /// Stores or sends them; true when a result set was sent.
    pub(crate) fn finish(self, runtime: &Runtime<'_>, sink: &mut dyn RowSink) -> Result<bool, SqlError> {
        let mut sent = false;
        for (plan, rows) in self.plans.iter().zip(self.rows) {
            let rows = rows.finish()?;
            match &plan.into {
                Some(OutputInto { source, stores, constraints }) => {
                    let mut new = NewRows::of_insert(source, constraints);
                    rows.for_each(runtime, &mut |row| {
                        new.add(runtime, stores, row)?;
                        if new.is_full() {
                            new.put_in(runtime)?;
                        }
                        Ok(ControlFlow::Continue(()))
                    })?;
                    new.put_in(runtime)?;
                    new.finish(runtime)?;
                }
                None => {
                    sent = true;
                    if sink.columns(&plan.columns) == Flow::Stop {
                        continue;
                    }
                    rows.for_each(runtime, &mut |row| {
                        let stops = sink.row(row) == Flow::Stop;
                        Ok(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                    })?;
                }
            }
        }
        Ok(sent)
    }
}
