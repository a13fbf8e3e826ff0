//! Files of one folder do not depend on each other in cycles: the dependencies inside each folder, against `[circles]` of `layers.toml`, the list of
//! tolerated cycles.

use super::modules::{exports, named};
use super::source::SourceFile;
use super::{Finding, production};
use std::collections::{BTreeMap, BTreeSet};

/// The dependencies between the files of a folder; `mod` is the folder's root (`mod.rs`, `lib.rs`, `main.rs`, or `tree.rs` beside `tree/`).
type Arrows = BTreeMap<String, BTreeSet<String>>;
/// The root of a folder among its files.
const ROOT: &str = "mod";

/// Every folder with more, or fewer, files in cycles than `[circles]` says. Their number may only decrease.
///
/// # Errors
/// When `layers.toml` cannot be read.
pub fn check(files: &[SourceFile]) -> Result<Vec<Finding>, String> {
    let table = super::layers::read_table()?;
    let known = table.get("circles").and_then(|circles| circles.as_table());
    let known = |place: &str| known.and_then(|known| known.get(place)?.as_integer()).unwrap_or(0);
    let mut findings = Vec::new();
    for (place, arrows) in folders(files) {
        let circle = in_circles(&arrows);
        if usize::try_from(known(&place)) != Ok(circle.len()) {
            let names: Vec<&str> = circle.iter().map(String::as_str).collect();
            let problem = format!(
                "{} files name each other in circles, `[circles]` of layers.toml has {}: {}",
                circle.len(),
                known(&place),
                names.join(", ")
            );
            findings.push(Finding::new(place, problem));
        }
    }
    Ok(findings)
}

/// The dependencies in each folder, by its path (`query`, `query/ddl`).
fn folders(files: &[SourceFile]) -> BTreeMap<String, Arrows> {
    let mut places: BTreeMap<String, Vec<&SourceFile>> = BTreeMap::new();
    for file in production(files).filter(|file| file.krate != "xtask") {
        let Some((krate, path)) = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        let mut place = krate.to_string();
        places.entry(place.clone()).or_default().push(file);
        let parts: Vec<&str> = path.split('/').collect();
        for folder in &parts[..parts.len() - 1] {
            place = format!("{place}/{folder}");
            places.entry(place.clone()).or_default().push(file);
        }
    }
    let besides: Vec<(String, &SourceFile)> = production(files)
        .filter_map(|file| Some((file.path.strip_prefix("crates/")?.replacen("/src/", "/", 1), file)))
        .filter_map(|(path, file)| Some((path.strip_suffix(".rs")?.to_string(), file)))
        .filter(|(folder, _)| places.contains_key(folder))
        .collect();
    for (folder, file) in besides {
        places.entry(folder).or_default().push(file);
    }
    let with_arrows = |(place, files): (String, Vec<&SourceFile>)| {
        let arrows = arrows(&place, &files);
        (place, arrows)
    };
    places.into_iter().map(with_arrows).collect()
}

fn arrows<'a>(place: &str, files: &[&'a SourceFile]) -> Arrows {
    let (krate, folder) = place.split_once('/').unwrap_or((place, ""));
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let (source, inner) =
        (format!("crates/{krate}/src/{folder}"), format!("crate::{}", folder.replace('/', "::")));
    // The file beside a folder belongs to it: it is the folder's root, as `mod.rs` is.
    let inside = |file: &&'a SourceFile| (file.path.strip_prefix(&source).unwrap_or("mod.rs"), *file);
    let paths: Vec<(&str, &SourceFile)> = files.iter().map(inside).collect();
    let modules: BTreeSet<&str> = paths.iter().map(|(path, _)| module_of(path)).collect();
    let root = paths.iter().find(|(path, _)| is_root(path)).map_or("", |(_, file)| file.code.as_str());
    let exported = exports(root);
    let mut arrows = Arrows::new();
    for (path, file) in &paths {
        let from = module_of(path);
        let targets = arrows.entry(from.to_string()).or_default();
        if is_root(path) {
            targets.extend(children(root, &modules));
            continue;
        }
        for name in
            named(&file.code, &inner, path.split('/').count() - usize::from(path.ends_with("/mod.rs")))
        {
            let to = exported.get(&name).filter(|to| modules.contains(to.as_str())).unwrap_or(&name);
            let to = if modules.contains(to.as_str()) { to.as_str() } else { ROOT };
            if to != from && modules.contains(ROOT) {
                targets.insert(to.to_string());
            }
        }
    }
    arrows
}

fn is_root(path: &str) -> bool {
    matches!(path, "mod.rs" | "lib.rs" | "main.rs")
}

fn module_of(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    if is_root(path) { ROOT } else { first.strip_suffix(".rs").unwrap_or(first) }
}

/// The modules that a root uses itself, besides re-exports (`pub use`).
fn children(root: &str, modules: &BTreeSet<&str>) -> BTreeSet<String> {
    let (mut found, mut hands_on) = (BTreeSet::new(), false);
    for line in root.lines() {
        hands_on |= line.trim_start().starts_with("pub") && line.contains(" use ");
        for (at, _) in line.match_indices("::").filter(|_| !hands_on) {
            let before = &line[..at];
            let begin = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |begin| begin + 1);
            let is_first = !before[..begin].ends_with("::") || before[..begin].ends_with("self::");
            if is_first && modules.contains(&before[begin..]) {
                found.insert(before[begin..].to_string());
            }
        }
        hands_on &= !line.contains(';');
    }
    found
}

/// All nodes that can reach themselves.
fn in_circles(arrows: &Arrows) -> Vec<String> {
    let reaches_itself = |start: &String| {
        let mut open: Vec<&String> = arrows[start].iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            if next == start {
                return true;
            }
            if seen.insert(next) {
                open.extend(arrows.get(next).into_iter().flatten());
            }
        }
        false
    };
    arrows.keys().filter(|name| reaches_itself(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(contents: &[(&str, &str)]) -> Vec<String> {
        circles("a/tree", contents)
    }

    fn circles(place: &str, contents: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| {
            SourceFile::new(&format!("crates/a/src/{path}"), format!("//! x\n{text}\n"))
        };
        let files: Vec<SourceFile> = contents.iter().map(file).collect();
        in_circles(&folders(&files)[place])
    }

    const ROOT_FILE: (&str, &str) = (
        "tree/mod.rs",
        "mod leaf;\nmod stem;\npub use leaf::{Green, Red};\nuse crate::top;\nfn own() { stem::hold() }",
    );

    #[test]
    fn arrows_one_way_are_no_circle() {
        let leaf = ("tree/leaf.rs", "use super::stem::Wood;\nuse crate::top::Whole;");
        assert_eq!(circle(&[ROOT_FILE, leaf, ("tree/stem.rs", "use std::fmt;")]), Vec::<String>::new());
        // The root re-exports `Green` without using it.
        let leaf = ("tree/leaf.rs", "use super::own;");
        assert_eq!(circle(&[ROOT_FILE, leaf, ("tree/stem.rs", "")]), Vec::<String>::new());
    }

    #[test]
    fn circles_are_found_however_they_are_written() {
        let leaf = ("tree/leaf.rs", "use super::stem::Wood;");
        for back in [
            "use super::leaf;",
            "use crate::tree::Green;",
            "fn f() { crate::tree::{leaf::g, leaf::h}; }",
            "use super::Red;",
        ] {
            assert_eq!(circle(&[ROOT_FILE, leaf, ("tree/stem.rs", back)]), ["leaf", "stem"], "{back}");
        }
        let deep = ("tree/leaf/vein.rs", "use super::super::stem::Wood;");
        assert_eq!(
            circle(&[ROOT_FILE, ("tree/leaf/mod.rs", ""), deep, ("tree/stem.rs", "use super::leaf;")]),
            ["leaf", "stem"]
        );
        assert_eq!(
            circle(&[ROOT_FILE, ("tree/leaf.rs", ""), ("tree/stem.rs", "use super::own;")]),
            ["mod", "stem"]
        );
    }

    #[test]
    fn the_file_beside_a_folder_is_its_root() {
        let beside = ("tree.rs", ROOT_FILE.1);
        let leaf = ("tree/leaf.rs", "use super::stem::Wood;");
        assert_eq!(circle(&[beside, leaf, ("tree/stem.rs", "use super::leaf;")]), ["leaf", "stem"]);
        assert_eq!(
            circle(&[beside, ("tree/leaf.rs", ""), ("tree/stem.rs", "use super::own;")]),
            ["mod", "stem"]
        );
        assert_eq!(circle(&[beside, leaf, ("tree/stem.rs", "use crate::top::Whole;")]), Vec::<String>::new());
        // A nested folder, with the file beside it among the files of the outer one.
        let deep =
            [("deep/tree.rs", "mod leaf;\nfn own() { leaf::f() }"), ("deep/tree/leaf.rs", "use super::own;")];
        assert_eq!(circles("a/deep/tree", &deep), ["leaf", "mod"]);
        assert_eq!(circles("a/deep", &deep), Vec::<String>::new());
    }

    #[test]
    fn tests_may_name_what_they_test() {
        let stem = (
            "tree/stem.rs",
            "#[cfg(test)]\nmod tests {\n    use super::super::own;\n    use crate::tree::leaf;\n}",
        );
        assert_eq!(
            circle(&[ROOT_FILE, ("tree/leaf.rs", "use super::stem::Wood;"), stem]),
            Vec::<String>::new()
        );
    }
}
