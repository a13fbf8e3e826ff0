//! What surrounds the statement being parsed.

use std::collections::BTreeSet;

use crate::lexer::Token;

/// What surrounds the statement being parsed.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) kind: ScopeKind,
    /// Enclosing WHILE loops.
    pub(super) loops: u32,
    /// Enclosing statements (blocks, IF, WHILE, TRY).
    pub(super) blocks: u32,
    /// In lower case.
    pub(super) labels: BTreeSet<String>,
    pub(super) gotos: Vec<(String, Token)>,
    /// Variables and parameters declared so far, in lower case.
    pub(super) variables: BTreeSet<String>,
}

/// The kind of module that the statements belong to.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    #[default]
    Batch,
    Procedure,
    ScalarFunction,
    TableFunction,
    Trigger,
}
