//! The results of a compile-only run so far.

use query::showplan::StatementPlan;

/// The results of a compile-only run so far.
#[derive(Default)]
pub(crate) struct CompileOnlyState {
    /// Statements of the batch and of the procedures it calls.
    pub(crate) statements: Vec<StatementPlan>,
    /// Procedures that have been visited: each plan is shown once, and recursion ends.
    pub(crate) entered: Vec<String>,
    /// Frames whose statements are being compiled.
    pub(crate) depth: u32,
}
