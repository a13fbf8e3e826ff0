//! The bugs of mutants.toml, and a copy of the source that has all of them behind one switch.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The switch, as the code of the copies sees it.
pub(super) const SWITCH: &str = "HARDPAN_MUTANT";

/// A bug to plant.
pub(super) struct Mutant {
    pub(super) name: String,
    pub(super) file: String,
    /// The one scenario that is to find it; the others and the tests are not asked.
    pub(super) scenario: Option<String>,
    find: String,
    replace: String,
}

impl Mutant {
    /// The crate whose source contains it.
    pub(super) fn package(&self) -> &str {
        self.file.split('/').nth(1).unwrap_or_default()
    }

    /// Is this scenario asked about it?
    pub(super) fn may_be_found_by(&self, scenario: &str) -> bool {
        self.scenario.as_ref().is_none_or(|only| only == scenario)
    }
}

/// The bugs of mutants.toml.
pub(super) fn list(root: &Path) -> Result<Vec<Mutant>, String> {
    let text = std::fs::read_to_string(root.join("xtask/mutants.toml")).map_err(|error| error.to_string())?;
    let table: toml::Table = text.parse().map_err(|error| format!("mutants.toml: {error}"))?;
    let list = table.get("mutant").and_then(toml::Value::as_array).ok_or("mutants.toml has no mutant")?;
    let mut mutants = Vec::new();
    for entry in list {
        let field = |name: &str| {
            let value = entry.get(name).and_then(toml::Value::as_str);
            value.map(str::to_owned).ok_or_else(|| format!("mutants.toml: an entry without {name}"))
        };
        let mutant = Mutant {
            name: field("name")?,
            file: field("file")?,
            scenario: entry.get("scenario").and_then(toml::Value::as_str).map(str::to_owned),
            find: field("find")?,
            replace: field("replace")?,
        };
        mutants.push(mutant);
    }
    Ok(mutants)
}

/// The bugs of mutants.toml; each anchor occurs once in its file.
pub(super) fn read(root: &Path) -> Result<Vec<Mutant>, String> {
    let mutants = list(root)?;
    for mutant in &mutants {
        let source = std::fs::read_to_string(root.join(&mutant.file))
            .map_err(|error| format!("{}: {error}", mutant.file))?;
        let count = source.matches(&mutant.find).count();
        if count != 1 || mutant.replace.matches("MUTANT").count() == 0 {
            return Err(format!(
                "mutant '{}': its anchor stands {count} times in {}",
                mutant.name, mutant.file
            ));
        }
    }
    Ok(mutants)
}

/// The folder of the copy.
pub(super) fn copy_of(root: &Path) -> PathBuf {
    root.join("target/mutants/source")
}

/// Copies the source with every bug in it, each behind its number.
pub(super) fn plant(root: &Path, copy: &Path, mutants: &[Mutant]) -> Result<(), String> {
    let files = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let files = files.map_err(|error| format!("git: {error}"))?.stdout;
    for name in String::from_utf8_lossy(&files).split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root.join(name), copy.join(name));
        if !from.exists() {
            continue;
        }
        let mut bytes = std::fs::read(&from).map_err(|error| format!("{name}: {error}"))?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            bytes = with_bugs(name, text, mutants).into_bytes();
        }
        std::fs::create_dir_all(to.parent().ok_or("a file has a folder")?)
            .map_err(|error| error.to_string())?;
        // Unchanged files keep their time stamps, so that the next run builds little.
        if std::fs::read(&to).is_ok_and(|present| present == bytes) {
            continue;
        }
        std::fs::write(&to, bytes).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

fn with_bugs(name: &str, text: &str, mutants: &[Mutant]) -> String {
    let mut text = text.to_owned();
    for (index, mutant) in mutants.iter().enumerate().filter(|(_, mutant)| mutant.file == name) {
        let condition = format!("::os::mutant({})", index + 1);
        text = text.replace(&mutant.find, &mutant.replace.replace("MUTANT", &condition));
    }
    if name == "crates/os/src/lib.rs" {
        text.push_str(&format!(
            "\n/// Is this bug switched on?\n#[allow(clippy::all)]\npub fn mutant(number: u32) -> bool {{\n    \
             static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();\n    \
             *ON.get_or_init(|| std::env::var(\"{SWITCH}\").ok().and_then(|text| text.parse().ok()).unwrap_or(0)) == number\n}}\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::workspace_root;

    #[test]
    fn every_bug_has_its_place_in_the_source() {
        let mutants = read(&workspace_root().unwrap()).unwrap();
        assert!(mutants.len() >= 40, "{} bugs", mutants.len());
    }

    #[test]
    fn bugs_stand_behind_their_number() {
        let mutant = Mutant {
            name: "x".into(),
            file: "crates/os/src/lib.rs".into(),
            scenario: None,
            find: "a();".into(),
            replace: "if !MUTANT { a(); }".into(),
        };
        let text = with_bugs("crates/os/src/lib.rs", "b(); a();", std::slice::from_ref(&mutant));
        assert!(text.starts_with("b(); if !::os::mutant(1) { a(); }") && text.contains("pub fn mutant"));
        assert_eq!(with_bugs("other.rs", "a();", &[mutant]), "a();");
    }
}
