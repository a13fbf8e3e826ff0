//! What surrounds the statement being parsed.

use std::collections::BTreeSet;

use crate::lexer::Token;

/// What surrounds the statement being parsed.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) kind: ScopeKind,
    /// WHILE loops around.
    pub(super) loops: u32,
    /// Statements around (blocks, IF, WHILE, TRY).
    pub(super) blocks: u32,
    /// In lower case.
    pub(super) labels: BTreeSet<String>,
    pub(super) gotos: Vec<(String, Token)>,
    /// Variables and parameters declared so far, in lower case.
    pub(super) variables: BTreeSet<String>,
}

/// Whose statements these are.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    #[default]
    Batch,
    Procedure,
    ScalarFunction,
    TableFunction,
    Trigger,
}
