//! Cutting a script into batches at GO, as SQL Server's clients do.

/// One batch of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptBatch {
    /// The text between two GO lines.
    pub text: String,
    /// 1-based line of the script where the text starts.
    pub line: u32,
    /// How often to run it (`GO 5`).
    pub count: u64,
}

/// Cuts `script` at lines that hold only `GO [count]`, outside of strings, quoted names and comments.
pub fn split_go(script: &str) -> Vec<ScriptBatch> {
    let _ = script;
    todo!()
}
