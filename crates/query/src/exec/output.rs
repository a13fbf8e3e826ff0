//! The OUTPUT clause: expressions over the rows changed, sent to the client or into a table.

use types::SqlError;

use super::room::Room;
use crate::context::{Flow, RowSink};
use crate::physical::change::OutputPlan;
use crate::row::Row;
use crate::runtime::Runtime;

/// Rows of the OUTPUT clauses of one statement, held until the statement has succeeded.
pub(crate) struct OutputRows<'p> {
    plans: &'p [OutputPlan],
    rows: Vec<Vec<Row>>,
    buffer: Row,
}

impl<'p> OutputRows<'p> {
    pub(crate) fn new(plans: &'p [OutputPlan]) -> OutputRows<'p> {
        OutputRows { plans, rows: plans.iter().map(|_| Vec::new()).collect(), buffer: Row::new() }
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
        for (plan, rows) in self.plans.iter().zip(&mut self.rows) {
            rows.room_for_one()?;
            rows.push(
                plan.items
                    .iter()
                    .map(|node| node.eval(runtime, &self.buffer))
                    .collect::<Result<Row, SqlError>>()?,
            );
        }
        Ok(())
    }

    /// Stores or sends them; true when a result set was sent.
    pub(crate) fn finish(self, runtime: &Runtime<'_>, sink: &mut dyn RowSink) -> Result<bool, SqlError> {
        let mut sent = false;
        for (plan, rows) in self.plans.iter().zip(self.rows) {
            match &plan.into {
                Some(into) => {
                    for row in &rows {
                        super::insert::insert_row(
                            runtime,
                            &into.source,
                            &into.stores,
                            &into.constraints,
                            row,
                            "INSERT",
                        )?;
                    }
                }
                None => {
                    sent = true;
                    if sink.columns(&plan.columns) == Flow::Stop {
                        continue;
                    }
                    for row in &rows {
                        if sink.row(row) == Flow::Stop {
                            break;
                        }
                    }
                }
            }
        }
        Ok(sent)
    }
}
