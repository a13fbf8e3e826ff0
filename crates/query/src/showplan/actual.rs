//! The actual figures of a run, shown with the estimates of operators.
//!
//! An operator represents a node of the plan, and has the node's figures. Some nodes are shown as several operators: operators that emit one row for
//! each input row (Compute Scalar, Segment, Sequence Project, Sort, spools that are read once, joins that represent subqueries) have the figures of
//! their input.

use plan_ir::context::{StatementOutcome, VariableDef};
use plan_ir::profile::Actual;

use crate::statement::CompiledStatement;

use super::{Describer, Operator, Shape};

impl Operator {
    /// What a scan or seek has done, with the look-ups that it leads to. `handed`: the rows that it has found, of which `run.rows` are left behind its
    /// condition; where a filter above judges that (`is_filtered_above`), it has given them all.
    pub(super) fn note_reads(&mut self, run: Actual, handed: u64, is_filtered_above: bool) {
        let rows = if is_filtered_above { handed } else { run.rows };
        self.actual = Some(Actual { rows, ..run });
        if let [seek, lookup] = self.children.as_mut_slice() {
            seek.actual = Some(Actual { rows: handed, ..run });
            // Each finds one row at most, and so does not end.
            lookup.actual = Some(Actual { rows, executions: handed, ends: 0 });
        }
    }

    /// Gives figures to the operators that no node stands for alone.
    fn complete(&mut self) {
        self.children.iter_mut().for_each(Operator::complete);
        if self.actual.is_some() {
            return;
        }
        let input = self.children.first().and_then(|child| child.actual);
        let gives_all = matches!(
            self.shape,
            Shape::Compute(_)
                | Shape::Segment { .. }
                | Shape::Sort { .. }
                | Shape::Spool { .. }
                | Shape::Loops { .. }
        );
        if gives_all {
            self.actual = input;
        }
        // The anchor and the steps of a recursion.
        if let (Shape::Concatenation, Some(first)) = (&self.shape, input) {
            let rows = self.children.iter().filter_map(|child| child.actual).map(|actual| actual.rows).sum();
            self.actual = Some(Actual { rows, ..first });
        }
    }
}

impl CompiledStatement {
    /// Its operators with what the run that gave this outcome has done, if that was counted.
    pub fn describe_run(&self, variables: &[VariableDef], outcome: &StatementOutcome) -> Option<Operator> {
        let mut describer = Describer { profile: outcome.profile.as_deref(), ..Describer::new(variables) };
        let mut root = describer.statement(self)?;
        if outcome.profile.is_some() {
            let rows = outcome.row_count.unwrap_or(0);
            if matches!(root.shape, Shape::Update) {
                root.actual = Some(Actual { rows, executions: 1, ends: 1 });
                // The rows of VALUES are no node's.
                let input = root.children.first_mut();
                if let Some(list) = input.filter(|input| matches!(input.shape, Shape::Constant { .. })) {
                    list.actual = list.actual.or(Some(Actual { rows, executions: 1, ends: 1 }));
                }
            }
            root.complete();
        }
        Some(root)
    }
}
