//! What a scan asks of the door to its rows, with the values that the conditions have in this run.

use engine::{Accepted, Condition, ConditionKind};
use types::Value;

use crate::kinds::CompareOp;
use crate::physical::plan::{DoorCondition, DoorFilter, DoorKind, Node};
use crate::runtime::Runtime;

impl DoorFilter {
    /// Do all conditions compare with constants?
    pub(super) fn is_constant(&self) -> bool {
        self.conditions.iter().all(DoorCondition::is_constant)
    }

    /// The conditions with their values; `None` when a value cannot be had: the whole filter then says so, if there is a row to say it of.
    pub(super) fn conditions(&self, runtime: &Runtime<'_>) -> Option<Vec<Condition>> {
        self.conditions.iter().map(|condition| condition.with_values(runtime)).collect()
    }
}

impl DoorCondition {
    fn is_constant(&self) -> bool {
        let is_constant = |node: &Node| matches!(node, Node::Constant(_));
        match &self.kind {
            DoorKind::Null { .. } | DoorKind::CompareColumn { .. } | DoorKind::Like { .. } => true,
            DoorKind::Compare { value, .. } => is_constant(value),
            DoorKind::OneOf { values, .. } => values.iter().all(is_constant),
            DoorKind::Any(branches) => branches.iter().flatten().all(DoorCondition::is_constant),
        }
    }

    fn with_values(&self, runtime: &Runtime<'_>) -> Option<Condition> {
        let value = |node: &Node| node.eval(runtime, &[]).ok();
        let accepted = |op: &CompareOp| Accepted::by(|ordering| op.accepts(ordering));
        let kind = match &self.kind {
            DoorKind::Null { is_null } => ConditionKind::Null { is_null: *is_null },
            DoorKind::Compare { op, value: other, collation } => {
                let (accepted, value) = (accepted(op), value(other)?);
                ConditionKind::Compare { accepted, value, collation: *collation }
            }
            DoorKind::CompareColumn { op, other } => {
                ConditionKind::CompareColumn { accepted: accepted(op), other: *other }
            }
            DoorKind::OneOf { values, collation, is_negated } => {
                let values = values.iter().map(value).collect::<Option<Vec<Value>>>()?;
                ConditionKind::OneOf { values, collation: *collation, is_negated: *is_negated }
            }
            DoorKind::Like { pattern, is_negated } => {
                ConditionKind::Like { pattern: pattern.clone(), is_negated: *is_negated }
            }
            DoorKind::Any(branches) => {
                let branch = |branch: &Vec<DoorCondition>| {
                    branch.iter().map(|condition| condition.with_values(runtime)).collect()
                };
                ConditionKind::Any(branches.iter().map(branch).collect::<Option<_>>()?)
            }
        };
        Some(Condition { column: self.ordinal, kind })
    }
}
