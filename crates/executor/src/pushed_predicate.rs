//! The pushed predicate of a scan, with the values of its conditions in this run.

use engine::{Accepted, Condition, ConditionKind, NumberSteps, NumberTest};
use plan_ir::kinds::CompareOp;
use plan_ir::physical::plan::{
    Node, PushedCondition, PushedConditionKind, PushedPredicate, PushedStep, PushedTest,
};
use plan_ir::runtime::Runtime;
use types::Value;

use super::operations::Evaluate;

/// The conditions with their values; `None` when the evaluation of a value fails: the whole filter then raises the error, if there is a row.
pub(super) fn conditions(filter: &PushedPredicate, runtime: &Runtime<'_>) -> Option<Vec<Condition>> {
    filter.conditions.iter().map(|condition| with_values(condition, runtime)).collect()
}

fn with_values(condition: &PushedCondition, runtime: &Runtime<'_>) -> Option<Condition> {
    let value = |node: &Node| node.eval(runtime, &[]).ok();
    let accepted = |op: &CompareOp| Accepted::by(|ordering| op.accepts(ordering));
    let kind = match &condition.kind {
        PushedConditionKind::Null { is_null } => ConditionKind::Null { is_null: *is_null },
        PushedConditionKind::Compare { op, value: other, collation } => {
            let (accepted, value) = (accepted(op), value(other)?);
            ConditionKind::Compare { accepted, value, collation: *collation }
        }
        PushedConditionKind::CompareColumn { op, other } => {
            ConditionKind::CompareColumn { accepted: accepted(op), other: *other }
        }
        PushedConditionKind::OneOf { values, collation, is_negated } => {
            let values = values.iter().map(value).collect::<Option<Vec<Value>>>()?;
            ConditionKind::OneOf { values, collation: *collation, is_negated: *is_negated }
        }
        PushedConditionKind::Like { pattern, is_negated } => {
            ConditionKind::Like { pattern: pattern.clone(), is_negated: *is_negated }
        }
        PushedConditionKind::Computed { steps, test, .. } => computed(steps, test, runtime)?,
        PushedConditionKind::Any(branches) => {
            let branch = |branch: &Vec<PushedCondition>| {
                branch.iter().map(|condition| with_values(condition, runtime)).collect()
            };
            ConditionKind::Any(branches.iter().map(branch).collect::<Option<_>>()?)
        }
    };
    Some(Condition { column: condition.ordinal, kind })
}

/// The condition on what is computed, with the values of this run; `None` with a NULL among them.
fn computed(steps: &[PushedStep], test: &PushedTest, runtime: &Runtime<'_>) -> Option<ConditionKind> {
    let number = |node: &Node| node.eval(runtime, &[]).ok()?.as_i64();
    let mut computed = NumberSteps::default();
    for step in steps {
        let (low, high) = step.kind.range();
        computed.push(step.with(number(&step.operand)?)?, low, high);
    }
    let test = match test {
        PushedTest::Compare { op, value } => {
            let accepted = Accepted::by(|ordering| op.accepts(ordering));
            NumberTest::Compare { accepted, value: number(value)? }
        }
        PushedTest::OneOf { values, is_negated } => {
            let mut sorted = values.iter().map(number).collect::<Option<Vec<i64>>>()?;
            sorted.sort_unstable();
            NumberTest::OneOf { sorted, is_negated: *is_negated }
        }
    };
    Some(ConditionKind::Computed { steps: computed, test })
}
