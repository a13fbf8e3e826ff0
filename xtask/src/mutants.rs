//! `cargo xtask mutants`: plants the bugs of mutants.toml into a copy of the source, all behind one switch, and says which ring of tests finds each.
//!
//! One build serves all: in the copy, `os::mutant(n)` asks the environment which bug is switched on. The simulation runs first, each
//! scenario until a seed fails or so many have passed; what it does not find goes to the tests of the crates. A bug that nobody finds fails
//! the run, and so does a ring that fails, or takes too long, without any bug.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tidy::source::workspace_root;

/// The switch, as the copies of the code see it.
const SWITCH: &str = "HARDPAN_MUTANT";
/// The crates whose tests are the second ring.
const TESTED: [&str; 6] = ["log", "pages", "txn", "access", "engine", "session"];
/// The scenarios that find most.
const FIRST: [&str; 2] = ["schema", "store"];
/// What takes so many times as much of the processor as without a bug, and more than this, is held up by the bug: it counts as found. So does
/// what waits for ever; the clock on the wall says little on a machine that does other things, too.
const PATIENCE: u32 = 8;
const PATIENCE_TIME: Duration = Duration::from_secs(60);
/// What a ring may take by the clock on the wall.
const WALL_TIME: Duration = Duration::from_secs(1_800);

/// How a command ended.
enum Ended {
    /// All is well, for so much of the processor.
    Passed(Duration),
    /// With an error, and this last line.
    Failed(String),
    /// Not in time.
    Late,
}

/// A ring: a scenario of the simulation or the tests of a crate, and how long it takes without any bug.
struct Ring {
    name: String,
    command: Vec<String>,
    takes: Duration,
}

/// A bug to plant.
pub struct Mutant {
    name: String,
    file: String,
    find: String,
    replace: String,
}

/// Runs the rings on every bug whose name contains `only`, and prints a line of a table for each.
///
/// # Errors
/// A text when something could not be built, or a bug was found by no ring.
pub fn run(seeds: u64, only: &str, is_simulation_alone: bool) -> Result<(), String> {
    let root = workspace_root()?;
    let mutants = read(&root)?;
    let copy = plant(&root, &mutants)?;
    build(&copy, is_simulation_alone)?;
    let mut rings = rings(&copy, seeds, is_simulation_alone)?;
    for ring in &mut rings {
        match run_ring(&copy, 0, ring, WALL_TIME)? {
            Ended::Passed(takes) => ring.takes = takes,
            Ended::Failed(what) => return Err(format!("{} fails without any bug: {what}", ring.name)),
            Ended::Late => return Err(format!("{} takes too long without any bug", ring.name)),
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut passed = Vec::new();
    for (index, mutant) in mutants.iter().enumerate().filter(|(_, mutant)| mutant.name.contains(only)) {
        let found = found_by(&copy, index + 1, &rings)?;
        let (ring, how) = found.as_ref().map_or(("nobody", ""), |(ring, how)| (ring.as_str(), how.as_str()));
        println!("| {} | {} | {ring} | {how} |", mutant.name, mutant.file);
        match found {
            Some((ring, _)) => *counts.entry(ring).or_default() += 1,
            None => passed.push(mutant.name.as_str()),
        }
    }
    println!("{counts:?}, found by nobody: {}", passed.len());
    if passed.is_empty() { Ok(()) } else { Err(format!("found by nobody: {}", passed.join("; "))) }
}

/// The rings in their order.
fn rings(copy: &Path, seeds: u64, is_simulation_alone: bool) -> Result<Vec<Ring>, String> {
    let new = |name: String, command: &[&str]| {
        let command = command.iter().map(|part| (*part).to_owned()).collect();
        Ring { name, command, takes: Duration::ZERO }
    };
    let simulation = copy.with_file_name("target").join("release/examples/sim").display().to_string();
    let seeds = seeds.to_string();
    let mut rings = Vec::new();
    for scenario in scenarios(copy)? {
        let arguments = [&simulation, "--scenario", &scenario, "--seeds", &seeds, "--jobs", "1", "--stop"];
        rings.push(new(format!("simulation, {scenario}"), &arguments));
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    for package in TESTED.iter().filter(|_| !is_simulation_alone) {
        let arguments = [&cargo, "test", "--quiet", "--package", &format!("hardpan-{package}")];
        rings.push(new(format!("tests of {package}"), &arguments));
    }
    Ok(rings)
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

/// The environment of builds and tests in the copy: quick to build rather than quick to run.
fn in_copy(mut command: Command, copy: &Path) -> Command {
    command.current_dir(copy).env("CARGO_TARGET_DIR", copy.with_file_name("target"));
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command.env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true").env("MALLOC_ARENA_MAX", "1");
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
        let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        cargo.args(arguments);
        let status = in_copy(cargo, copy).status().map_err(|error| format!("cargo: {error}"))?;
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
    // Those that find most come first: a bug costs the time until it is found.
    names.sort_by_key(|name| {
        (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), name.clone())
    });
    Ok(names)
}

/// The first ring that finds a bug, and how.
fn found_by(copy: &Path, number: usize, rings: &[Ring]) -> Result<Option<(String, String)>, String> {
    for ring in rings {
        let time = PATIENCE_TIME.max(ring.takes * PATIENCE);
        match run_ring(copy, number, ring, time)? {
            Ended::Passed(_) => {}
            Ended::Failed(how) => return Ok(Some((ring.name.clone(), how))),
            Ended::Late => return Ok(Some((ring.name.clone(), "does not end".to_owned()))),
        }
    }
    Ok(None)
}

/// Runs a ring with a bug switched on (0: none).
fn run_ring(copy: &Path, number: usize, ring: &Ring, time: Duration) -> Result<Ended, String> {
    let mut command = Command::new(&ring.command[0]);
    command.args(&ring.command[1..]).env(SWITCH, number.to_string());
    let output = copy.with_file_name("output");
    let options = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&output);
    let file = options.map_err(|error| error.to_string())?;
    let errors = file.try_clone().map_err(|error| error.to_string())?;
    let mut command = in_copy(command, copy);
    let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
    let mut child = child.map_err(|error| format!("{}: {error}", ring.command[0]))?;
    let (began, mut used) = (Instant::now(), Duration::ZERO);
    loop {
        used = used.max(processor_time(child.id()));
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(Ended::Passed(used)),
            Some(_) => return Ok(Ended::Failed(what_failed(&output))),
            None if used > time || began.elapsed() > WALL_TIME => {
                child.kill().map_err(|error| error.to_string())?;
                child.wait().map_err(|error| error.to_string())?;
                return Ok(Ended::Late);
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// What a process and the children that it has waited for have had of the processor: fields 14 to 17 of /proc/PID/stat, in hundredths of a
/// second (proc(5)). Zero where that cannot be read.
fn processor_time(process: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = behind_name.split_whitespace().skip(11).take(4);
    Duration::from_millis(10 * ticks.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
}

/// From what a failed ring has printed: the seed or the test, in a few words.
fn what_failed(output: &Path) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(output).unwrap_or_default()).into_owned();
    let is_telling = |line: &&str| line.trim_start().starts_with("seed ") || line.starts_with("---- ");
    let line = text.lines().find(is_telling).or_else(|| text.lines().last()).unwrap_or_default();
    line.trim().replace('|', "/").chars().take(160).collect()
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
    fn a_process_that_works_uses_the_processor() {
        let began = processor_time(std::process::id());
        let mut sum = 0u64;
        while processor_time(std::process::id()) < began + Duration::from_millis(30) {
            sum = (0..1_000_000).fold(sum, |sum, number| sum.rotate_left(3) ^ number);
        }
        assert!(sum != 1, "{sum}");
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
