//! `cargo xtask tidy`: the project rules that a program can check, each in a file of its own.

mod circles;
mod claims;
mod documents;
pub mod layers;
mod modules;
mod named;
mod rules;
pub mod source;
mod test_files;

use source::SourceFile;

/// A violation of a rule at one place.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path and line, or a crate's name.
    pub place: String,
    /// The rule, in words that a contributor can act on.
    pub problem: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Finding { place: place.into(), problem: problem.into() }
    }
}

/// Checks everything and prints what it found.
///
/// # Errors
/// A text with the number of findings when there are any, or the reason why the tree could not be read.
pub fn run(update_ratchet: bool) -> Result<(), String> {
    let files = source::read_tree(&source::workspace_root()?)?;
    let mut findings = layers::check()?;
    findings.extend(modules::check(&files)?);
    findings.extend(circles::check(&files)?);
    findings.extend(rules::headings(&files));
    findings.extend(rules::file_sizes(&files));
    findings.extend(rules::readmes(&source::workspace_root()?));
    findings.extend(rules::bans(&files));
    findings.extend(rules::unsafe_places(&files));
    findings.extend(rules::flush_reasons(&files));
    findings.extend(rules::assertion_density(&files));
    findings.extend(rules::long_functions(&files, update_ratchet)?);
    findings.extend(test_files::check(&source::workspace_root()?, &files)?);
    findings.extend(claims::check(&source::workspace_root()?, &files));
    findings.extend(documents::check(&source::workspace_root()?, &files));
    findings.extend(named::check(&source::workspace_root()?, &files));
    for finding in &findings {
        println!("{}: {}", finding.place, finding.problem);
    }
    println!("tidy: {} files read, {} findings", files.len(), findings.len());
    if findings.is_empty() { Ok(()) } else { Err(format!("tidy: {} findings", findings.len())) }
}

/// Lines of code as the rules see them: comments, strings and tests removed.
fn production(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|file| file.is_production())
}
