//! Documents that must follow the code: every thread is in `docs/threads.md`, every latch rank in `docs/latches.md`.

use super::source::SourceFile;
use super::{Finding, production};
use std::collections::BTreeSet;
use std::path::Path;

/// Calls whose first argument is the name of a thread.
const THREAD_CALLS: [&str; 4] = [".spawn(", ".spawn_guarded(", "SpawnOptions::named(", ".name("];

/// Checks the documents against the tree.
pub fn check(root: &Path, files: &[SourceFile]) -> Vec<Finding> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    let mut findings = missing("docs/threads.md", &read("docs/threads.md"), &threads(files));
    findings.extend(missing("docs/latches.md", &read("docs/latches.md"), &ranks(files)));
    findings
}

/// One finding for each name that the document does not contain in backquotes or as the first cell of a row.
fn missing(page: &str, text: &str, names: &BTreeSet<String>) -> Vec<Finding> {
    let is_there =
        |name: &&String| text.contains(&format!("`{name}`")) || text.contains(&format!("| {name} |"));
    let absent = names.iter().filter(|name| !is_there(name));
    absent.map(|name| Finding::new(page, format!("says nothing of {name}"))).collect()
}

/// Literal names of the threads that the product starts (the simulation's own are not included).
fn threads(files: &[SourceFile]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in production(files).filter(|file| file.krate != "xtask" && !file.path.contains("/sim/")) {
        for (line, code) in file.text.lines().zip(file.code.lines()) {
            for call in THREAD_CALLS {
                let Some(at) = code.find(call) else { continue };
                let Some(rest) = line.get(at + call.len()..).and_then(|rest| rest.strip_prefix('"')) else {
                    continue;
                };
                names.extend(rest.split('"').next().map(str::to_string));
            }
        }
    }
    names
}

/// The variants of `LatchRank`.
fn ranks(files: &[SourceFile]) -> BTreeSet<String> {
    let Some(file) = files.iter().find(|file| file.path == "crates/os/src/rank.rs") else {
        return BTreeSet::new();
    };
    let body = file
        .code
        .split("pub enum LatchRank")
        .nth(1)
        .and_then(|rest| rest.split('}').next())
        .unwrap_or_default();
    body.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path, text.to_string())
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn threads_are_found_by_their_literal_names() {
        let product = file(
            "crates/log/src/a.rs",
            "//! x\nfn f() { os.spawn(\"WRITER\", b); SpawnOptions::named(\"GROWTH\"); os.spawn(name, b) }\n// os.spawn(\"NOT ME\")\n",
        );
        let test = file("crates/log/tests/a.rs", "//! x\nfn f() { os.spawn(\"waiter\", b) }\n");
        assert_eq!(threads(&[product, test]), set(&["GROWTH", "WRITER"]));
    }

    #[test]
    fn ranks_are_the_variants() {
        let text = "//! x\npub enum LatchRank {\n    /// A.\n    Server = 100,\n    /// B = c.\n    Leaf = 1000,\n}\n";
        assert_eq!(ranks(&[file("crates/os/src/rank.rs", text)]), set(&["Leaf", "Server"]));
    }

    #[test]
    fn what_a_page_does_not_name_is_found() {
        let text = "| Leaf | x |\nand `LOG WRITER`";
        assert_eq!(missing("p", text, &set(&["Leaf", "LOG WRITER"])), []);
        assert_eq!(missing("p", text, &set(&["Server"])).len(), 1);
    }
}
