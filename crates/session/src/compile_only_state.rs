//! What a compile-only run of a request has found so far.

use query::showplan::StatementPlan;

/// What a compile-only run has found so far.
#[derive(Default)]
pub(crate) struct CompileOnlyState {
    /// Statements of the batch and of what it calls.
    pub(crate) statements: Vec<StatementPlan>,
    /// Procedures that have been gone into: a plan is shown once, and recursion ends.
    pub(crate) entered: Vec<String>,
    /// Frames whose statements are being compiled.
    pub(crate) depth: u32,
}
