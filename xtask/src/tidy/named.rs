//! Names in backquotes in the documents exist: source files (`flush.rs`), paths (`Log::harden`), other words of the code.

use super::Finding;
use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Folders whose documents are checked. `docs/decisions` describe the past.
const FOLDERS: [&str; 4] = [".", "docs", "docs/tour", "docs/formats"];
/// The keywords that precede a definition.
const DEFINERS: [&str; 10] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "macro_rules", "union"];
/// Roots of paths that are not of this project.
const FOREIGN: [&str; 2] = ["std", "core"];

/// Checks ARCHITECTURE.md, the READMEs and `docs` against the tree.
pub fn check(root: &Path, files: &[SourceFile]) -> Vec<Finding> {
    let tree = Tree::new(files);
    let mut findings = Vec::new();
    for page in pages(root) {
        let text = std::fs::read_to_string(root.join(&page)).unwrap_or_default();
        findings.extend(tree.check_page(&page, &text));
    }
    findings
}

fn pages(root: &Path) -> Vec<String> {
    let names_in = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let is_page = |name: &String| name.ends_with(".md");
    let mut pages = Vec::new();
    for folder in FOLDERS {
        let prefix = if folder == "." { String::new() } else { format!("{folder}/") };
        pages.extend(names_in(folder).into_iter().filter(is_page).map(|name| format!("{prefix}{name}")));
    }
    pages.extend(names_in("crates").into_iter().map(|krate| format!("crates/{krate}/README.md")));
    pages.sort();
    pages
}

/// The sources, as far as documents can name them.
struct Tree<'a> {
    paths: BTreeSet<&'a str>,
    /// All words of all files, in code, comments and strings.
    words: BTreeSet<&'a str>,
    /// Each defined name, with the files that define it.
    definitions: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Each file, with its types (by `impl` or a definition).
    types: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Tree<'a> {
    fn new(files: &'a [SourceFile]) -> Tree<'a> {
        let mut tree = Tree {
            paths: files.iter().map(|file| file.path.as_str()).collect(),
            words: BTreeSet::new(),
            definitions: BTreeMap::new(),
            types: BTreeMap::new(),
        };
        for file in files {
            tree.words.extend(words(&file.text).chain(words(&file.path)));
            let mut before = "";
            let types = tree.types.entry(&file.path).or_default();
            for line in file.code.lines() {
                let is_about = ["impl", "enum ", "struct ", "trait "].iter().any(|word| line.contains(word));
                for word in words(line) {
                    // Fields and variants have no keyword: they begin a line.
                    if DEFINERS.contains(&before)
                        || line.trim_start().trim_start_matches("pub ").starts_with(word)
                    {
                        tree.definitions.entry(word).or_default().insert(&file.path);
                    }
                    if is_about {
                        types.insert(word);
                    }
                    before = word;
                }
            }
        }
        tree
    }

    fn check_page(&self, page: &str, text: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut missing =
            |what: String| findings.push(Finding::new(page, format!("names {what}, which does not exist")));
        for quoted in quoted(text) {
            let path = quoted.split("::").next().unwrap_or_default();
            if path.ends_with(".rs") && !path.contains('*') {
                let absent = expand(path).into_iter().filter(|path| !self.has_file(page, path));
                absent.for_each(&mut missing);
            } else if quoted.contains("::") {
                let absent = expand(quoted).into_iter().filter(|path| !self.has_path(path));
                absent.for_each(&mut missing);
            } else if is_name(quoted) && !self.words.contains(quoted) {
                missing(quoted.to_string());
            }
        }
        findings
    }

    /// A path from the root or from `crates`, or the end of one; in a crate's README of that crate.
    fn has_file(&self, page: &str, path: &str) -> bool {
        let home = page.strip_suffix("README.md").unwrap_or_default();
        let end = format!("/{path}");
        self.paths.contains(path)
            || self.paths.contains(format!("crates/{path}").as_str())
            || self.paths.iter().any(|known| known.starts_with(home) && known.ends_with(&end))
    }

    /// Is the last name of the path defined in the file of the one before it (a type, a module, a crate)?
    fn has_path(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split("::").map(|name| name.trim_end_matches("()")).collect();
        let ours = names.iter().all(|name| !name.is_empty() && words(name).eq([*name]));
        let [.., holder, last] = names[..] else { return true };
        if !ours || FOREIGN.contains(&names[0]) {
            return true;
        }
        let defining = self.definitions.get(last).into_iter().flatten();
        defining.clone().any(|file| {
            let is_module = file.split(['/', '.']).any(|part| part == holder);
            is_module || self.types[file].contains(holder)
        })
    }
}

/// The texts in backquotes; of texts with several words (a table of files in a fence) only file names.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for quoted in text.split('`').skip(1).step_by(2) {
        match quoted.contains(char::is_whitespace) {
            false => found.push(quoted),
            true => found.extend(quoted.split_whitespace().filter(|word| word.ends_with(".rs"))),
        }
    }
    found
}

/// A word of code rather than of SQL or English: small letters with an underscore.
fn is_name(quoted: &str) -> bool {
    quoted.contains('_')
        && !quoted.starts_with('_')
        && quoted.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// `x/{a,b}.rs` as two paths.
fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_string()] };
    let Some((names, after)) = rest.split_once('}') else { return vec![path.to_string()] };
    names.split(',').map(|name| format!("{before}{}{after}", name.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(page: &str, text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile::new(path, text.to_string());
        let files = [
            file("crates/log/src/flush.rs", "//! x\nimpl Log {\n    pub fn harden(&self) {}\n}\n"),
            file(
                "crates/log/src/log.rs",
                "//! x\npub struct Log {\n    pub lost_at: Lsn,\n}\nenum Why {\n    Commit,\n}\n",
            ),
            file("crates/txn/src/lock/head.rs", "//! x\n//! The view dm_tran_locks.\nfn grant() {}\n"),
        ];
        let findings = Tree::new(&files).check_page(page, text);
        let problem =
            |finding: Finding| finding.problem.split([' ', ',']).nth(1).unwrap_or_default().to_string();
        findings.into_iter().map(problem).collect()
    }

    #[test]
    fn what_is_there_may_be_named() {
        let text = "`log/src/flush.rs`, `crates/log/src/log.rs::open`, `log/src/{flush,log}.rs`, `flush.rs`, `lock/head.rs`,
            `Log::harden`, `log::flush::harden()`, `head::grant`, `Why::Commit`, `Log::{harden,lost_at}`, `std::mem::swap`, `dm_tran_locks`, `x`
```
src/flush.rs    what does not end a path is not looked at, no_more than
```";
        assert_eq!(missing("docs/x.md", text), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is_found() {
        assert_eq!(
            missing("docs/x.md", "`log/src/gone.rs` and `log/src/{flush,lost}.rs`"),
            ["log/src/gone.rs", "log/src/lost.rs"]
        );
        assert_eq!(
            missing("docs/x.md", "`Log::soften`, `head::harden`, `Why::{Commit,Not}`"),
            ["Log::soften", "head::harden", "Why::Not"]
        );
        assert_eq!(
            missing("docs/x.md", "`no_such_name` and\n```\nsrc/gone.rs  it\n```\n"),
            ["no_such_name", "src/gone.rs"]
        );
    }

    #[test]
    fn a_readme_names_files_of_its_crate() {
        assert_eq!(
            missing("crates/log/README.md", "`flush.rs`, `src/log.rs`, `txn/src/lock/head.rs`"),
            Vec::<String>::new()
        );
        assert_eq!(missing("crates/log/README.md", "`lock/head.rs`"), ["lock/head.rs"]);
    }
}
