//! The order of modules inside a crate: `[modules]` of `layers.toml` against the `crate::` paths in its files.

use super::Finding;
use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// The rows of one crate, the lowest first.
type Rows = Vec<Vec<String>>;

/// Every path to a module that is not in a lower row, and every module without a row, of the crates that have rows.
///
/// # Errors
/// When `layers.toml` cannot be read.
pub fn check(files: &[SourceFile]) -> Result<Vec<Finding>, String> {
    let table = super::layers::read_table()?;
    let mut findings = Vec::new();
    for (krate, rows) in table.get("modules").and_then(|modules| modules.as_table()).into_iter().flatten() {
        let row = |row: &toml::Value| {
            let names = row.as_array().into_iter().flatten();
            names.filter_map(|name| name.as_str()).map(str::to_string).collect()
        };
        let rows: Rows = rows.as_array().into_iter().flatten().map(row).collect();
        findings.extend(judge(krate, &rows, files));
    }
    Ok(findings)
}

fn judge(krate: &str, rows: &Rows, files: &[SourceFile]) -> Vec<Finding> {
    let mut heights = BTreeMap::new();
    for (height, row) in rows.iter().enumerate() {
        heights.extend(row.iter().map(|name| (name.as_str(), height)));
    }
    let source = format!("crates/{krate}/src/");
    let inside = || files.iter().filter_map(|file| Some((file, file.path.strip_prefix(&source)?)));
    let mut findings = Vec::new();
    let product = inside().filter(|(file, _)| file.is_production());
    let modules: BTreeSet<&str> = product.filter_map(|(_, path)| module_of(path)).collect();
    let known: BTreeSet<&str> = heights.keys().copied().collect();
    let place = format!("layers.toml, modules of {krate}");
    for absent in modules.difference(&known) {
        findings.push(Finding::new(&place, format!("{absent} has no row")));
    }
    for gone in known.difference(&modules) {
        findings.push(Finding::new(&place, format!("{gone} does not exist")));
    }
    let empty = String::new();
    let root = inside().find(|(_, path)| *path == "lib.rs").map_or(&empty, |(file, _)| &file.code);
    let exported = exports(root);
    for (file, path) in inside().filter(|(file, _)| file.is_production()) {
        let Some((from, height)) = module_of(path).and_then(|from| Some((from, heights.get(from)?))) else {
            continue;
        };
        for name in named(&file.code, "crate::", depth_of(path)) {
            let to = exported.get(&name).unwrap_or(&name);
            if to != from && heights.get(to.as_str()).is_some_and(|lower| lower >= height) {
                let problem = format!("uses {to}, which is not in a lower row than {from}");
                findings.push(Finding::new(&file.path, problem));
            }
        }
    }
    findings
}

/// The module directly below the crate's root that contains a file; none for the root itself.
fn module_of(path: &str) -> Option<&str> {
    let first = path.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(name, "lib" | "main")).then_some(name)
}

/// The number of `super` from a file to the crate's root.
fn depth_of(path: &str) -> usize {
    let parts: Vec<&str> = path.split('/').collect();
    parts.len() - usize::from(parts.last() == Some(&"mod.rs"))
}

/// The first names after the root of a crate or folder (`inner`, or so many `super`) in all paths of a file, each once.
pub(super) fn named(code: &str, inner: &str, depth: usize) -> BTreeSet<String> {
    let supers = "super::".repeat(depth);
    let mut names = BTreeSet::new();
    for root in [inner, supers.as_str()] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            // `super::` of a longer chain begins elsewhere; `other_crate::` is another word.
            let is_inside = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$'));
            let rest = &code[at + root.len()..];
            if !is_inside && !rest.starts_with("super::") {
                names.extend(first_names(rest));
            }
        }
    }
    names
}

/// The name at the beginning, or those of the group in braces.
fn first_names(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![word(rest)].into_iter().filter(|name| !name.is_empty()).collect();
    };
    let (mut names, mut depth, mut begins) = (Vec::new(), 1, true);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' => begins = depth == 1,
            c if begins && !c.is_whitespace() => {
                names.push(word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The re-exported names of a root, each with its module.
pub(super) fn exports(root: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let module = word(path.trim_start().trim_start_matches("crate::"));
        let list = path.split_once('{').map_or(path, |(_, list)| list);
        for item in list.split([',', '}']) {
            let name = item.rsplit([':', ' ']).find(|part| !part.trim().is_empty()).map(str::trim);
            exported.extend(name.map(|name| (name.to_string(), module.clone())));
        }
    }
    exported
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "//! x\nmod ground;\nmod tree;\nmod top;\npub use top::{Whole as All, run};\npub use ground::Stone;\n";

    fn problems(path: &str, text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile::new(path, text.to_string());
        let mut files = vec![
            file("crates/a/src/lib.rs", ROOT),
            file("crates/a/src/ground.rs", "//! x\n"),
            file("crates/a/src/tree/mod.rs", "//! x\n"),
            file("crates/a/src/tree/leaf.rs", "//! x\n"),
            file("crates/a/src/top.rs", "//! x\n"),
        ];
        files.retain(|file| file.path != path);
        files.push(file(path, text));
        let rows = [vec!["ground"], vec!["tree"], vec!["top"]];
        let rows: Rows = rows.iter().map(|row| row.iter().map(|name| name.to_string()).collect()).collect();
        judge("a", &rows, &files).into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn an_arrow_downwards_or_inside_is_right() {
        let text =
            "//! x\nuse crate::ground::Stone;\nuse super::leaf;\nuse crate::{ground, tree::{leaf, x}};\n";
        assert_eq!(problems("crates/a/src/tree/mod.rs", text), Vec::<String>::new());
        let text =
            "//! x\nfn f() { crate::tree::leaf::f(); crate::Stone; other_crate::top::f() }\n// crate::top\n";
        assert_eq!(problems("crates/a/src/tree/leaf.rs", text), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_upwards_is_found_however_it_is_written() {
        let up = ["uses top, which is not in a lower row than tree"];
        for line in [
            "use crate::top::Whole;",
            "use crate::{ground::Stone, top};",
            "use crate::{\n    ground::{Stone, Sand},\n    top::Whole,\n};",
            "fn f() -> crate::top::Whole {}",
            "use crate::All;",
            "fn f() { crate::run() }",
            "use super::super::top::Whole;",
        ] {
            let text = format!("//! x\n{line}\n");
            assert_eq!(problems("crates/a/src/tree/leaf.rs", &text), up, "{line}");
        }
        let text = "//! x\nuse super::top::Whole;\n";
        assert_eq!(problems("crates/a/src/tree/mod.rs", text), up);
        assert_eq!(problems("crates/a/src/ground.rs", "//! x\nuse super::tree::leaf;\n").len(), 1);
    }

    #[test]
    fn tests_may_look_up() {
        let text = "//! x\n#[cfg(test)]\nmod tests {\n    use crate::top::Whole;\n}\n";
        assert_eq!(problems("crates/a/src/ground.rs", text), Vec::<String>::new());
    }

    #[test]
    fn modules_and_rows_are_the_same() {
        assert_eq!(problems("crates/a/src/stray.rs", "//! x\n"), ["stray has no row"]);
        let files = [SourceFile::new("crates/a/src/lib.rs", ROOT.to_string())];
        assert_eq!(judge("a", &vec![vec!["ground".to_string()]], &files).len(), 1);
    }
}
