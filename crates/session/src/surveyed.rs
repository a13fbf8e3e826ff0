//! What a survey of a request has found so far.

use query::showplan::StatementPlan;

/// What a survey has found so far.
#[derive(Default)]
pub(crate) struct Survey {
    /// Statements of the batch and of what it calls.
    pub(crate) statements: Vec<StatementPlan>,
    /// Procedures that have been gone into: a plan is shown once, and recursion ends.
    pub(crate) entered: Vec<String>,
    /// Frames that are being surveyed.
    pub(crate) depth: u32,
}
