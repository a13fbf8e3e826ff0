//! `cargo xtask mutants`: plants the bugs of mutants.toml into a copy of the source, all behind one switch, and says which ring of tests finds each.
//!
//! One build serves all: in the copy, `os::mutant(n)` asks the environment which bug is switched on. The simulation runs first, each
//! scenario for so many seeds; what it does not find goes to the tests of the crates. A bug that nobody finds fails the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tidy::source::workspace_root;

/// The switch, as the copies of the code see it.
const SWITCH: &str = "HARDPAN_MUTANT";
/// The crates whose tests are the second ring.
const TESTED: [&str; 6] = ["log", "pages", "txn", "access", "engine", "session"];
/// What has not ended by then is held up by the bug: it counts as found.
const SCENARIO_TIME: Duration = Duration::from_secs(240);
const TESTS_TIME: Duration = Duration::from_secs(600);

/// A bug to plant.
pub struct Mutant {
    name: String,
    file: String,
    find: String,
    replace: String,
}

/// Runs the rings on every bug whose name contains `only`.
///
/// # Errors
/// A text when something could not be built, or a bug was found by no ring.
pub fn run(seeds: u64, only: &str, is_simulation_alone: bool) -> Result<(), String> {
    let root = workspace_root()?;
    let mutants = read(&root)?;
    let copy = plant(&root, &mutants)?;
    build(&copy, is_simulation_alone)?;
    for scenario in scenarios(&copy)? {
        if !simulate(&copy, 0, &scenario, seeds)? {
            return Err(format!("scenario {scenario} fails without any bug"));
        }
    }
    let mut rings: BTreeMap<String, usize> = BTreeMap::new();
    let mut passed = Vec::new();
    for (index, mutant) in mutants.iter().enumerate().filter(|(_, mutant)| mutant.name.contains(only)) {
        let ring = found_by(&copy, index + 1, seeds, is_simulation_alone)?;
        println!("{:<24} {}: {}", ring.as_deref().unwrap_or("NOBODY"), mutant.file, mutant.name);
        match ring {
            Some(ring) => *rings.entry(ring).or_default() += 1,
            None => passed.push(mutant.name.as_str()),
        }
    }
    println!("{rings:?}, found by nobody: {}", passed.len());
    if passed.is_empty() { Ok(()) } else { Err(format!("found by nobody: {}", passed.join("; "))) }
}

/// The bugs of mutants.toml; each anchor stands once in its file.
fn read(root: &Path) -> Result<Vec<Mutant>, String> {
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
            find: field("find")?,
            replace: field("replace")?,
        };
        let source = std::fs::read_to_string(root.join(&mutant.file))
            .map_err(|error| format!("{}: {error}", mutant.file))?;
        let count = source.matches(&mutant.find).count();
        if count != 1 || mutant.replace.matches("MUTANT").count() == 0 {
            return Err(format!(
                "mutant '{}': its anchor stands {count} times in {}",
                mutant.name, mutant.file
            ));
        }
        mutants.push(mutant);
    }
    Ok(mutants)
}

/// Copies the source to target/mutants/source with every bug in it, each behind its number.
fn plant(root: &Path, mutants: &[Mutant]) -> Result<PathBuf, String> {
    let copy = root.join("target/mutants/source");
    let files = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
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
        // What is as it was keeps its time, so that the next run builds little.
        if std::fs::read(&to).is_ok_and(|present| present == bytes) {
            continue;
        }
        std::fs::write(&to, bytes).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(copy)
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

fn cargo(copy: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(arguments).current_dir(copy);
    command.env("CARGO_TARGET_DIR", copy.with_file_name("target")).env("MALLOC_ARENA_MAX", "1");
    command
}

fn build(copy: &Path, is_simulation_alone: bool) -> Result<(), String> {
    let mut builds =
        vec![vec!["build", "--quiet", "--release", "--package", "hardpan-sim", "--example", "sim"]];
    if !is_simulation_alone {
        let mut tests = vec!["test", "--quiet", "--no-run"];
        let packages: &[&str] = &[
            "hardpan-log",
            "hardpan-pages",
            "hardpan-txn",
            "hardpan-access",
            "hardpan-engine",
            "hardpan-session",
        ];
        packages.iter().for_each(|package| tests.extend(["--package", *package]));
        builds.push(tests);
    }
    for arguments in builds {
        let status = cargo(copy, &arguments).status().map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err("the copy with the bugs does not build".to_owned());
        }
    }
    Ok(())
}

/// The scenarios that have a corpus.
fn scenarios(copy: &Path) -> Result<Vec<String>, String> {
    let folder = std::fs::read_dir(copy.join("crates/sim/corpus")).map_err(|error| error.to_string())?;
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_suffix(".seeds").map(str::to_owned)
    };
    let mut names: Vec<String> = folder.filter_map(name).collect();
    names.sort();
    Ok(names)
}

/// The first ring that finds a bug.
fn found_by(
    copy: &Path,
    number: usize,
    seeds: u64,
    is_simulation_alone: bool,
) -> Result<Option<String>, String> {
    for scenario in scenarios(copy)? {
        if !simulate(copy, number, &scenario, seeds)? {
            return Ok(Some(format!("simulation ({scenario})")));
        }
    }
    for package in TESTED.iter().filter(|_| !is_simulation_alone) {
        let mut command = cargo(copy, &["test", "--quiet", "--package", &format!("hardpan-{package}")]);
        if !passes(command.env(SWITCH, number.to_string()), TESTS_TIME)? {
            return Ok(Some(format!("tests of {package}")));
        }
    }
    Ok(None)
}

/// True: the seeds pass with that bug switched on (0: none).
fn simulate(copy: &Path, number: usize, scenario: &str, seeds: u64) -> Result<bool, String> {
    let mut command = Command::new(copy.with_file_name("target").join("release/examples/sim"));
    command.args(["--scenario", scenario, "--seeds", &seeds.to_string()]);
    command.env(SWITCH, number.to_string()).env("MALLOC_ARENA_MAX", "1").current_dir(copy);
    passes(&mut command, SCENARIO_TIME)
}

/// Runs a command without its output; false when it fails or does not end in time.
fn passes(command: &mut Command, time: Duration) -> Result<bool, String> {
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status.success()),
            None if began.elapsed() > time => {
                child.kill().map_err(|error| error.to_string())?;
                child.wait().map_err(|error| error.to_string())?;
                return Ok(false);
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            find: "a();".into(),
            replace: "if !MUTANT { a(); }".into(),
        };
        let text = with_bugs("crates/os/src/lib.rs", "b(); a();", std::slice::from_ref(&mutant));
        assert!(text.starts_with("b(); if !::os::mutant(1) { a(); }") && text.contains("pub fn mutant"));
        assert_eq!(with_bugs("other.rs", "a();", &[mutant]), "a();");
    }
}
