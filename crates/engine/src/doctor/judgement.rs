//! What a rule says of an observation, and how bad it is.

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A figure, and nothing is wrong.
    Ok,
    /// Worth knowing; the server does what it was asked to do.
    Note,
    /// Something is not as it should be.
    Warning,
    /// Commits have stopped or are about to.
    Critical,
}

impl Severity {
    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// What a rule says of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// How bad it is.
    pub severity: Severity,
    /// What is the case, in one sentence.
    pub verdict: String,
    /// The numbers it follows from, with units.
    pub evidence: String,
    /// What to do; empty when there is nothing.
    pub advice: &'static str,
}
