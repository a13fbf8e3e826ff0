//! The judgement of a rule on an observation, with its severity.

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A figure; nothing is wrong.
    Ok,
    /// Worth knowing; the server works as requested.
    Note,
    /// Something is wrong.
    Warning,
    /// Commits have stopped or will stop soon.
    Critical,
}

impl Severity {
    /// The name in the answer.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// The judgement of a rule on an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Its severity.
    pub severity: Severity,
    /// The finding, in one sentence.
    pub verdict: String,
    /// The numbers behind it, with units.
    pub evidence: String,
    /// The advice; empty when there is none.
    pub advice: &'static str,
}
