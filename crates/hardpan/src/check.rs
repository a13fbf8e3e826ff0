//! `hardpan check`: parses scripts without running them and reports errors in SQL Server's form.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use os::Os;
use tsql::ast::{SetStatement, StatementKind, SwitchOption};
use tsql::{ParseOptions, ScriptBatch, SyntaxError, parse_batch, split_go};

/// Arguments of `hardpan check`.
#[derive(clap::Args)]
pub struct CheckArguments {
    /// Scripts; batches end at GO.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object a batch, each on a line.
    #[arg(long)]
    json: bool,
}

/// Checks the files; fails if one cannot be read or a batch has an error.
pub fn run(os: &Os, arguments: &CheckArguments) -> ExitCode {
    let mut failed = false;
    for path in &arguments.files {
        let script = match crate::files::read_text(os, path) {
            Ok(script) => script,
            Err(error) => {
                eprintln!("hardpan check: {}: {error}", path.display());
                failed = true;
                continue;
            }
        };
        for verdict in check(&script) {
            failed |= !verdict.errors.is_empty();
            let text = if arguments.json { json(path, &verdict) } else { plain(path, &verdict) };
            crate::dump::print(&text);
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The result of parsing one batch.
struct Verdict {
    /// 1-based number of the batch in its script.
    number: usize,
    batch: ScriptBatch,
    errors: Vec<SyntaxError>,
}

impl Verdict {
    /// Line of the script where the error is.
    fn script_line(&self, error: &SyntaxError) -> u32 {
        self.batch.line + error.line - 1
    }
}

fn check(script: &str) -> Vec<Verdict> {
    let mut options = ParseOptions::default();
    let mut verdicts = Vec::new();
    for (batch, number) in split_go(script).into_iter().zip(1..) {
        let errors = match parse_batch(&batch.text, &options) {
            Ok(tree) => {
                for statement in &tree.statements {
                    quoted_identifier(&statement.kind, &mut options);
                }
                Vec::new()
            }
            Err(errors) => errors,
        };
        verdicts.push(Verdict { number, batch, errors });
    }
    verdicts
}

/// Applies SET QUOTED_IDENTIFIER to the batches after it.
fn quoted_identifier(statement: &StatementKind, options: &mut ParseOptions) {
    if let StatementKind::Set(set) = statement
        && let SetStatement::Switches { options: switches, on } = &**set
        && switches.contains(&SwitchOption::QuotedIdentifier)
    {
        options.quoted_identifier = *on;
    }
}

/// Errors as SQL Server's clients show them, with the line of the script.
fn plain(path: &Path, verdict: &Verdict) -> String {
    let mut out = String::new();
    for error in &verdict.errors {
        let _ = writeln!(
            out,
            "Msg {}, Level {}, State {}, File {}, Batch {}, Line {}\n{}",
            error.number,
            error.severity,
            error.state,
            path.display(),
            verdict.number,
            verdict.script_line(error),
            error.message()
        );
    }
    out
}

/// One line of JSON: `line` of an error counts in the batch, `script_line` in the file.
fn json(path: &Path, verdict: &Verdict) -> String {
    let errors: Vec<String> = verdict
        .errors
        .iter()
        .map(|error| {
            format!(
                "{{\"number\":{},\"level\":{},\"state\":{},\"line\":{},\"script_line\":{},\"offset\":{},\
                 \"near\":{},\"message\":{}}}",
                error.number,
                error.severity,
                error.state,
                error.line,
                verdict.script_line(error),
                error.offset,
                json_string(&error.near),
                json_string(&error.message())
            )
        })
        .collect();
    format!(
        "{{\"file\":{},\"batch\":{},\"line\":{},\"count\":{},\"ok\":{},\"errors\":[{}]}}\n",
        json_string(&path.to_string_lossy()),
        verdict.number,
        verdict.batch.line,
        verdict.batch.count,
        verdict.errors.is_empty(),
        errors.join(",")
    )
}

fn json_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_count_lines_in_batch_and_script() {
        let verdicts = check("SELECT 1\nGO\n\nSELECT *\nFORM \"t\"\nGO 3\nPRINT 'x'");
        assert_eq!(verdicts.len(), 3);
        assert!(verdicts[0].errors.is_empty() && verdicts[2].errors.is_empty());
        assert_eq!(
            plain(Path::new("a.sql"), &verdicts[1]),
            "Msg 102, Level 15, State 1, File a.sql, Batch 2, Line 5\nIncorrect syntax near 'FORM'.\n"
        );
        assert_eq!(
            json(Path::new("a\".sql"), &verdicts[1]),
            "{\"file\":\"a\\\".sql\",\"batch\":2,\"line\":3,\"count\":3,\"ok\":false,\"errors\":[{\"number\":102,\
             \"level\":15,\"state\":1,\"line\":3,\"script_line\":5,\"offset\":10,\"near\":\"FORM\",\
             \"message\":\"Incorrect syntax near 'FORM'.\"}]}\n"
        );
    }

    #[test]
    fn quoted_identifier_reaches_later_batches() {
        let verdicts = check("SET QUOTED_IDENTIFIER OFF\nGO\nCREATE TABLE \"t\" (a int)\nGO\nPRINT \"text\"");
        let numbers: Vec<usize> = verdicts.iter().map(|verdict| verdict.errors.len()).collect();
        assert_eq!(numbers, [0, 1, 0]);
    }
}
