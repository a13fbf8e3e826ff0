//! `docs/claims.md`: every claim has one row, every test it names exists and cites the claim.

use super::Finding;
use super::source::SourceFile;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// The document.
const PAGE: &str = "docs/claims.md";
/// Claims that must have a row.
const CLAIMS: RangeInclusive<u32> = 1..=318;
/// The beginning of a row without a test: the reason.
const EXCUSES: [&str; 4] = ["Advice:", "History:", "Measured:", "Later:"];

/// One row of the document.
struct Row {
    line: usize,
    claim: u32,
    words: String,
    proof: String,
}

/// Checks the document against the tree.
pub fn check(root: &Path, files: &[SourceFile]) -> Vec<Finding> {
    match std::fs::read_to_string(root.join(PAGE)) {
        Ok(page) => check_page(&page, files),
        Err(error) => vec![Finding::new(PAGE, error.to_string())],
    }
}

fn check_page(page: &str, files: &[SourceFile]) -> Vec<Finding> {
    let rows = rows(page);
    let mut findings = Vec::new();
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for row in &rows {
        *count.entry(row.claim).or_default() += 1;
        findings.extend(check_row(row, files));
    }
    for claim in CLAIMS {
        let found = count.get(&claim).copied().unwrap_or(0);
        if found != 1 {
            findings.push(Finding::new(PAGE, format!("claim {claim} has {found} rows, not one")));
        }
    }
    findings
}

fn check_row(row: &Row, files: &[SourceFile]) -> Vec<Finding> {
    let place = format!("{PAGE}:{}", row.line);
    let mut findings = Vec::new();
    let mut problem =
        |text: String| findings.push(Finding::new(&place, format!("claim {}: {text}", row.claim)));
    if row.words.is_empty() {
        problem("says nothing".to_string());
    }
    let tests = tests_named(&row.proof);
    if tests.is_empty() && !EXCUSES.iter().any(|excuse| row.proof.starts_with(excuse)) {
        problem(format!("names no test and does not begin with one of {EXCUSES:?}"));
    }
    for (path, function) in tests {
        let Some(file) = files.iter().find(|file| file.path == path) else {
            problem(format!("{path} does not exist"));
            continue;
        };
        match comment_of_test(&file.text, function) {
            None => problem(format!("{path} has no test {function}")),
            Some(comment) if !cites(&comment, row.claim) => {
                problem(format!("the comment of {path}::{function} does not cite it"));
            }
            Some(_) => {}
        }
    }
    findings
}

/// Rows of the document's tables that begin with a number.
fn rows(page: &str) -> Vec<Row> {
    let parse = |(index, line): (usize, &str)| {
        let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.splitn(3, '|').map(str::trim);
        let claim = cells.next()?.parse().ok()?;
        let (words, proof) = (cells.next()?.to_string(), cells.next()?.to_string());
        Some(Row { line: index + 1, claim, words, proof })
    };
    page.lines().enumerate().filter_map(parse).collect()
}

/// `path.rs::function` in backquotes; other names with colons are just names.
fn tests_named(proof: &str) -> Vec<(&str, &str)> {
    let quoted = proof.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"));
    quoted.filter(|(path, _)| path.ends_with(".rs")).collect()
}

/// The comment above the test function; none when there is no such test.
fn comment_of_test(text: &str, function: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let head = format!("fn {function}(");
    let at = lines.iter().position(|line| line.starts_with(&head))?;
    let is_above = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
    let above: Vec<&str> = lines[..at].iter().rev().take_while(is_above).copied().collect();
    if !above.iter().any(|line| line.starts_with("#[test]")) {
        return None;
    }
    let words = above.iter().rev().filter_map(|line| line.strip_prefix("///"));
    Some(words.collect::<Vec<_>>().join(" "))
}

/// Does the text say "claim 7" or "claims 3, 5 to 9 and 11" with this number in it?
fn cites(text: &str, claim: u32) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if !["claim", "claims"].contains(&word.trim_start_matches('(')) {
            continue;
        }
        let (mut last, mut is_range) = (None, false);
        while let Some(word) = words.peek() {
            let bare = word.trim_end_matches([',', '.', ':', ';', ')']);
            match bare.parse::<u32>() {
                Ok(number) => {
                    let from = if is_range { last.unwrap_or(number) } else { number };
                    if (from..=number).contains(&claim) {
                        return true;
                    }
                    (last, is_range) = (Some(number), false);
                }
                Err(_) if bare == "to" => is_range = true,
                Err(_) if bare == "and" => {}
                Err(_) => break,
            }
            words.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document in which every claim has a row with this proof, except as `change` says.
    fn page(change: impl Fn(u32) -> Option<String>) -> String {
        let row = |claim| change(claim).unwrap_or_else(|| format!("| {claim} | words | Advice: do it |\n"));
        format!(
            "# Claims\n\n| claim | words | proof |\n|---|---|---|\n{}",
            CLAIMS.map(row).collect::<String>()
        )
    }

    fn tree() -> Vec<SourceFile> {
        let text = "//! x\n/// Claims 3 to 5: it works.\n#[test]\nfn works() {}\n\n/// Claim 9.\nfn helper() {}\n\n#[test]\nfn silent() {}\n";
        vec![SourceFile::new("crates/a/tests/a.rs", text.to_string())]
    }

    fn problems(page: &str) -> Vec<String> {
        check_page(page, &tree()).into_iter().map(|finding| finding.problem).collect()
    }

    fn with_row(claim: u32, row: &str) -> Vec<String> {
        problems(&page(|number| (number == claim).then(|| format!("{row}\n"))))
    }

    #[test]
    fn a_complete_page_passes() {
        assert_eq!(problems(&page(|_| None)), Vec::<String>::new());
        assert_eq!(with_row(4, "| 4 | words | `crates/a/tests/a.rs::works` |"), Vec::<String>::new());
    }

    #[test]
    fn missing_and_double_rows_are_found() {
        assert_eq!(with_row(7, ""), ["claim 7 has 0 rows, not one"]);
        assert_eq!(
            with_row(78, "| 79 | words | Advice: x |"),
            ["claim 78 has 0 rows, not one", "claim 79 has 2 rows, not one"]
        );
        assert_eq!(with_row(7, "| 7, 8 | words | Advice: x |"), ["claim 7 has 0 rows, not one"]);
    }

    #[test]
    fn a_row_needs_a_test_or_a_reason() {
        assert_eq!(with_row(7, "| 7 | words | somewhere |").len(), 1);
        assert_eq!(with_row(7, "| 7 | | Advice: x |"), ["claim 7: says nothing"]);
    }

    #[test]
    fn tests_must_exist_as_tests_and_cite_the_claim() {
        let row = |claim, test: &str| with_row(claim, &format!("| {claim} | words | `{test}` |"));
        assert_eq!(row(4, "crates/a/tests/b.rs::works"), ["claim 4: crates/a/tests/b.rs does not exist"]);
        assert_eq!(row(4, "crates/a/tests/a.rs::work"), ["claim 4: crates/a/tests/a.rs has no test work"]);
        assert_eq!(
            row(9, "crates/a/tests/a.rs::helper"),
            ["claim 9: crates/a/tests/a.rs has no test helper"]
        );
        assert_eq!(row(6, "crates/a/tests/a.rs::works").len(), 1, "6 is not among 3 to 5");
        assert_eq!(row(6, "crates/a/tests/a.rs::silent").len(), 1);
    }

    #[test]
    fn citations_are_read_as_people_write_them() {
        assert!(cites("Claims 1, 2 and 4: x", 4) && !cites("Claims 1, 2 and 4: x", 3));
        assert!(cites("what it says (claim 82).", 82) && cites("Claims 28 to 31 and 36: y", 30));
        assert!(cites("Claims 28 to 31 and 36: y", 36) && !cites("Claims 28 to 31 and 36: y", 33));
        assert!(!cites("Seeds 3 and 4 claim nothing; 16 sessions", 16));
    }
}
