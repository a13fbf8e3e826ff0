//! Test files: each file of a crate's `tests` folder is a test binary or a module of one, so that no file of tests is left out unnoticed.

use std::path::Path;

use super::Finding;
use super::source::SourceFile;

/// Files that no binary holds, of the crates whose manifest names their test binaries.
///
/// # Errors
/// When a manifest cannot be read.
pub fn check(root: &Path, files: &[SourceFile]) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut crates: Vec<&str> = files.iter().map(|file| file.krate.as_str()).collect();
    crates.dedup();
    for krate in crates {
        let manifest = root.join("crates").join(krate).join("Cargo.toml");
        if manifest.exists() {
            let text = std::fs::read_to_string(&manifest)
                .map_err(|error| format!("{}: {error}", manifest.display()))?;
            findings.extend(judge(krate, &text, files)?);
        }
    }
    Ok(findings)
}

fn judge(krate: &str, manifest: &str, files: &[SourceFile]) -> Result<Vec<Finding>, String> {
    let manifest: toml::Table = toml::from_str(manifest).map_err(|error| format!("{krate}: {error}"))?;
    let package = manifest.get("package");
    if package.and_then(|package| package.get("autotests")).and_then(toml::Value::as_bool) != Some(false) {
        return Ok(Vec::new());
    }
    let targets = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten();
    let binaries: Vec<&str> = targets.filter_map(|target| target.get("name")?.as_str()).collect();
    let folder = format!("crates/{krate}/tests/");
    let inside = |file: &&SourceFile| file.path.strip_prefix(&folder).is_some_and(|rest| !rest.contains('/'));
    let tests: Vec<&SourceFile> = files.iter().filter(inside).collect();
    let name = |file: &SourceFile| file.path[folder.len()..].trim_end_matches(".rs").to_string();
    let roots = || tests.iter().filter(|file| binaries.contains(&name(file).as_str()));
    let mut findings = Vec::new();
    for file in tests.iter().filter(|file| !binaries.contains(&name(file).as_str())) {
        let line = format!("mod {};", name(file));
        let holders = roots().filter(|root| root.code.lines().any(|text| text.trim() == line)).count();
        if holders != 1 {
            let problem = format!(
                "is a module of {holders} test binaries (`[[test]]` of its crate's manifest), not of one"
            );
            findings.push(Finding::new(&file.path, problem));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_no_binary_and_one_of_two_are_found() {
        let file =
            |name: &str, text: &str| SourceFile::new(&format!("crates/a/tests/{name}.rs"), text.to_string());
        let files = [
            file("one", "mod common;\nmod twice;\nmod held;\n"),
            file("two", "mod twice;\n"),
            file("held", ""),
            file("twice", ""),
            file("lost", ""),
            file("common/mod", ""),
        ];
        let manifest = "[package]\nautotests = false\n[[test]]\nname = \"one\"\n[[test]]\nname = \"two\"\n";
        let found: Vec<String> =
            judge("a", manifest, &files).unwrap().into_iter().map(|finding| finding.place).collect();
        assert_eq!(found, ["crates/a/tests/twice.rs", "crates/a/tests/lost.rs"]);
        assert!(judge("a", "[package]\n", &files).unwrap().is_empty(), "each file is a binary");
    }
}
