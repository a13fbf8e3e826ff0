//! The rules: headings, sizes, bans, unsafe, flush call sites, assertions, long functions.

use super::source::{SourceFile, workspace_root};
use super::{Finding, production};
use std::collections::BTreeMap;
use std::path::Path;

/// The most lines of a file.
const FILE_LINES_MAX: usize = 800;
/// The most lines of a function, signature and braces included.
const FUNCTION_LINES_MAX: usize = 70;
/// Assertions per function, on average, in the crates that protect durability and in those that make and run plans, each with its present minimum, to
/// be raised over time; each run prints the figures. The goal is 1.0 for the first three (pages has reached it), 0.7 for access.
const ASSERTION_FLOORS: [(&str, f64); 7] = [
    ("log", 0.81),
    ("txn", 0.82),
    ("pages", 1.0),
    ("access", 0.55),
    ("engine", 0.05),
    ("planner", 0.2),
    ("executor", 0.2),
];
/// The list of tolerated long functions, with their lengths; they may only shrink.
const RATCHET_FILE: &str = "xtask/long-functions.txt";

/// Line 1 says what a file is for.
pub fn headings(files: &[SourceFile]) -> Vec<Finding> {
    let missing = files.iter().filter(|f| !f.text.starts_with("//! ") && !f.text.starts_with("#![no_main]"));
    missing.map(|f| Finding::new(&f.path, "line 1 is not a `//!` heading")).collect()
}

/// The limit for files.
pub fn file_sizes(files: &[SourceFile]) -> Vec<Finding> {
    let long = files.iter().filter(|f| f.text.lines().count() > FILE_LINES_MAX);
    long.map(|f| Finding::new(&f.path, format!("{} lines (wall {FILE_LINES_MAX})", f.text.lines().count())))
        .collect()
}

/// Each crate has a README.
pub fn readmes(root: &Path) -> Vec<Finding> {
    let Ok(entries) = std::fs::read_dir(root.join("crates")) else { return Vec::new() };
    let crates = entries.flatten().map(|e| e.path()).filter(|p| p.join("Cargo.toml").exists());
    let missing = crates.filter(|p| !p.join("README.md").exists());
    missing.map(|p| Finding::new(p.display().to_string(), "crate without a README.md")).collect()
}

/// Names that only `os` may use, and those that no code outside tests may use.
pub fn bans(files: &[SourceFile]) -> Vec<Finding> {
    let world =
        ["std::fs::", "std::net::", "std::thread::", "std::time::Instant", "std::time::SystemTime", "libc::"];
    let nowhere = [".unwrap()", "todo!(", "unimplemented!(", "dbg!("];
    let hashing = [
        "std::collections::HashMap",
        "std::collections::HashSet",
        "collections::{HashMap",
        "collections::{HashSet",
    ];
    let mut findings = Vec::new();
    for file in production(files) {
        for (number, line) in file.code.lines().enumerate() {
            let place = format!("{}:{}", file.path, number + 1);
            let outside_os = !matches!(file.krate.as_str(), "os" | "xtask");
            let line = line.replace("std::thread::panicking", "");
            let world_hit = world.iter().find(|ban| outside_os && line.contains(**ban));
            let own_hasher = file.code.contains("BuildHasherDefault");
            let hash_hit = hashing.iter().find(|ban| outside_os && !own_hasher && line.contains(**ban));
            let never_hit = nowhere.iter().find(|ban| line.contains(**ban));
            if let Some(ban) = world_hit {
                findings.push(Finding::new(&place, format!("`{ban}` belongs behind `os`")));
            }
            if let Some(ban) = hash_hit {
                findings.push(Finding::new(
                    &place,
                    format!("`{ban}`: use FxHashMap, whose order is the same each run"),
                ));
            }
            if let Some(ban) = never_hit {
                findings.push(Finding::new(&place, format!("`{ban}` outside tests")));
            }
        }
    }
    findings
}

/// `unsafe` is only in `os`, and each block says why it is sound.
pub fn unsafe_places(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in production(files).filter(|f| f.krate != "xtask") {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in file.code.lines().enumerate() {
            let is_unsafe = ["unsafe {", "unsafe impl", "unsafe fn"].iter().any(|form| line.contains(form));
            if !is_unsafe {
                continue;
            }
            let place = format!("{}:{}", file.path, number + 1);
            if file.krate != "os" {
                findings.push(Finding::new(&place, "`unsafe` outside os"));
            }
            let from = number.saturating_sub(6);
            let argued = lines[from..=number].iter().any(|l| l.contains("SAFETY:") || l.contains("# Safety"));
            if !argued {
                findings.push(Finding::new(&place, "`unsafe` without SAFETY:"));
            }
        }
    }
    findings
}

/// Each reason to flush has exactly one call site in the workspace.
pub fn flush_reasons(files: &[SourceFile]) -> Vec<Finding> {
    let Some(reasons) = production(files).find_map(|f| enum_variants(&f.code, "pub enum FlushReason")) else {
        return vec![Finding::new("crates/log", "`pub enum FlushReason` not found")];
    };
    let mut findings = Vec::new();
    for reason in reasons {
        let name = format!("FlushReason::{reason}");
        let sites: Vec<String> = production(files).flat_map(|f| call_sites(f, &name)).collect();
        if sites.len() != 1 {
            findings.push(Finding::new(
                &name,
                format!("{} call sites, not one: {}", sites.len(), sites.join(", ")),
            ));
        }
    }
    findings
}

/// Lines that pass the reason to the log; arms of a `match` only name it.
fn call_sites(file: &SourceFile, name: &str) -> Vec<String> {
    let lines = file.code.lines().enumerate();
    let hits = lines.filter(|(_, l)| contains_word(l, name) && !l.contains("=>") && !l.contains("matches!"));
    hits.map(|(number, _)| format!("{}:{}", file.path, number + 1)).collect()
}

fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[at + word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

fn enum_variants(code: &str, head: &str) -> Option<Vec<String>> {
    let start = code.find(head)?;
    let open = start + code[start..].find('{')?;
    let close = open + code[open..].find('}')?;
    let names = code[open + 1..close].split(',').filter_map(|part| part.split_whitespace().last());
    Some(names.map(str::to_string).collect())
}

/// The durability crates assert generously, in release builds too; what holds of plans and rows is mostly asserted in debug builds alone.
pub fn assertion_density(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (krate, floor) in ASSERTION_FLOORS {
        let (mut functions, mut assertions) = (0usize, 0usize);
        for file in production(files).filter(|f| f.krate == krate) {
            functions += function_spans(&file.code).len();
            assertions += assertions_of(&file.code);
        }
        let density = assertions as f64 / functions.max(1) as f64;
        println!("tidy: {krate}: {functions} functions, {assertions} assertions, {density:.2} per function");
        if functions > 0 && density < floor {
            findings.push(Finding::new(
                krate,
                format!("{density:.2} assertions per function, {floor:.2} at least"),
            ));
        }
    }
    findings
}

/// The number of assertions in a text. An assertion in a function such as `assert_state` counts once, and not again at each call.
fn assertions_of(code: &str) -> usize {
    let forms = ["assert!(", "assert_eq!(", "assert_ne!(", "never!("];
    forms.iter().map(|form| code.matches(form).count()).sum()
}

/// The limit for functions, except for the tolerated ones.
///
/// # Errors
/// When the list of tolerated functions cannot be written.
pub fn long_functions(files: &[SourceFile], update: bool) -> Result<Vec<Finding>, String> {
    let path = workspace_root()?.join(RATCHET_FILE);
    let known = parse_ratchet(&std::fs::read_to_string(&path).unwrap_or_default());
    let mut long = BTreeMap::new();
    for file in production(files) {
        for (name, lines) in function_spans(&file.code) {
            if lines > FUNCTION_LINES_MAX {
                let worst: &mut usize = long.entry(format!("{}::{name}", file.path)).or_default();
                *worst = lines.max(*worst);
            }
        }
    }
    if update {
        let text: String = long.iter().map(|(name, lines)| format!("{name} {lines}\n")).collect();
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
        return Ok(Vec::new());
    }
    let grown = long.iter().filter(|(name, lines)| known.get(*name).is_none_or(|allowed| *lines > allowed));
    Ok(grown
        .map(|(n, l)| Finding::new(n.as_str(), format!("{l} lines (wall {FUNCTION_LINES_MAX})")))
        .collect())
}

fn parse_ratchet(text: &str) -> BTreeMap<String, usize> {
    let pairs = text.lines().filter_map(|line| line.rsplit_once(' '));
    pairs.filter_map(|(name, lines)| Some((name.to_string(), lines.parse().ok()?))).collect()
}

/// Name and length in lines of each function with a body.
fn function_spans(code: &str) -> Vec<(String, usize)> {
    let mut spans = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if let Some(end) = body_end(code.as_bytes(), at).filter(|_| !name.is_empty()) {
            spans.push((name, code[at..end].lines().count()));
        }
    }
    spans
}

/// End of the body of the function at `at`; none for a signature that ends in a semicolon.
fn body_end(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut braces, mut round) = (0i32, 0i32);
    for (i, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b';' if braces == 0 && round == 0 => return None,
            b'{' => braces += 1,
            b'}' => {
                braces -= 1;
                if braces == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path, text.to_string())
    }

    #[test]
    fn a_second_call_site_of_a_flush_reason_is_found() {
        let home = file("crates/log/src/flush.rs", "//! x\npub enum FlushReason { Commit, Quiesce }\n");
        let one = file("crates/txn/src/commit.rs", "log.harden(lsn, FlushReason::Commit);");
        let two = file("crates/engine/src/shutdown.rs", "log.harden(lsn, FlushReason::Quiesce);");
        let arm = file(
            "crates/log/src/stats.rs",
            "match r { FlushReason::Commit => 1, FlushReason::Quiesce => 2 }",
        );
        let files = vec![home, one, two, arm];
        assert!(flush_reasons(&files).is_empty());
        let mut more = files;
        more.push(file("crates/engine/src/x.rs", "log.harden(lsn, FlushReason::Commit);"));
        assert_eq!(flush_reasons(&more).len(), 1);
    }

    #[test]
    fn bans_bite_in_production_and_not_in_tests() {
        let bad = file("crates/log/src/a.rs", "//! x\nfn f() { x.unwrap(); std::fs::read(p); }");
        let test = file("crates/log/tests/a.rs", "//! x\nfn f() { x.unwrap(); }");
        assert_eq!(bans(&[bad, test]).len(), 2);
    }

    #[test]
    fn unsafe_needs_a_reason_and_a_home() {
        let good = file("crates/os/src/a.rs", "//! x\n// SAFETY: the pointer is ours\nunsafe { f() }");
        let bad = file("crates/log/src/a.rs", "//! x\nunsafe { f() }");
        assert_eq!(unsafe_places(&[good]).len(), 0);
        assert_eq!(unsafe_places(&[bad]).len(), 2);
    }

    #[test]
    fn an_assertion_counts_once_however_often_it_is_called() {
        let code = "fn assert_state(&self) { assert!(self.a); assert_eq!(self.b, 1); }\n\
                    fn f() { self.assert_state(); debug_assert_ne!(x, y); self.assert_state(); }\n\
                    fn g() { self.state.assert_state(State::Open); if os::never!(x) { } }\n";
        assert_eq!(assertions_of(code), 4);
    }

    #[test]
    fn functions_are_measured() {
        let spans = function_spans("fn a() {\n 1\n}\ntrait T { fn b(); }\nfn c(x: [u8; 4]) -> u8 { 2 }\n");
        assert_eq!(spans, [("a".to_string(), 3), ("c".to_string(), 1)]);
    }

    #[test]
    fn a_file_without_heading_is_found() {
        assert_eq!(headings(&[file("crates/log/src/a.rs", "use x;\n")]).len(), 1);
        assert_eq!(headings(&[file("crates/log/src/a.rs", "//! What it is for.\n")]).len(), 0);
    }
}
