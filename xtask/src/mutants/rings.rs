//! The second ring: the test programs of the crates that store data; each runs with a bug switched on or with none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::process::{Ended, MEASURE_TIME, PATIENCE, PATIENCE_TIME, Program, STILL_TIME};

/// The crates whose tests are the second ring: those whose source contains the bugs.
const TESTED: [&str; 5] = ["log", "pages", "txn", "access", "engine"];

/// A test program of a crate, and its time without any bug.
pub(super) struct Ring {
    pub(super) name: String,
    /// The crate of these tests.
    package: String,
    program: Program,
    arguments: Vec<String>,
    takes: Duration,
}

/// Builds the test programs of the crates of the copy, with the libraries that the simulation has built.
///
/// # Errors
/// They do not build.
pub(super) fn tests(copy: &Path) -> Result<Vec<Ring>, String> {
    let packages: Vec<String> = TESTED.iter().map(|package| format!("--package=hardpan-{package}")).collect();
    let mut arguments = vec!["test", "--no-run", "--tests", "--message-format=json"];
    arguments.extend(packages.iter().map(String::as_str));
    let messages = build(copy, &arguments)?;
    let rings: Vec<Ring> = messages.lines().filter_map(|line| ring_of_message(copy, line)).collect();
    if rings.len() < TESTED.len() { Err(format!("{} test programs", rings.len())) } else { Ok(rings) }
}

/// The test program in one of cargo's messages, if there is one.
fn ring_of_message(copy: &Path, line: &str) -> Option<Ring> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let program = PathBuf::from(message.get("executable")?.as_str()?);
    let target = message.get("target")?.get("name")?.as_str()?;
    let folder = Path::new(message.get("manifest_path")?.as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_str()?.to_owned();
    Some(Ring {
        name: format!("tests of {package}: {}", target.trim_start_matches("hardpan-")),
        package,
        program: Program::of_copy(copy, program, folder),
        arguments: vec!["--quiet".to_owned()],
        takes: Duration::ZERO,
    })
}

/// Runs cargo in the copy: optimized for build time rather than run time, with the checks of the tests' usual profile.
pub(super) fn build(copy: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    cargo.args(arguments).args(["--release", "--quiet"]).current_dir(copy);
    cargo.env("CARGO_TARGET_DIR", copy.with_file_name("target")).env("CARGO_PROFILE_RELEASE_LTO", "off");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16").env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true");
    let output = cargo.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err("the copy with the bugs does not build".to_owned())
    }
}

impl Ring {
    /// Runs it without any bug.
    ///
    /// # Errors
    /// It fails, or does not end.
    pub(super) fn measure(&mut self) -> Result<(), String> {
        match self.program.run(&self.arguments, 0, (MEASURE_TIME, STILL_TIME))? {
            (Ended::Passed, takes) => {
                self.takes = takes;
                Ok(())
            }
            (Ended::Failed(what), _) => Err(format!("{} fails without any bug: {what}", self.name)),
            (Ended::Late, _) => Err(format!("{} takes too long without any bug", self.name)),
        }
    }

    /// The failure by which it finds this bug, if it does.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn finds(&self, number: usize) -> Result<Option<String>, String> {
        let limit = PATIENCE_TIME.max(self.takes * PATIENCE);
        Ok(match self.program.run(&self.arguments, number, (limit, STILL_TIME))?.0 {
            Ended::Passed => None,
            Ended::Failed(how) => Some(how),
            Ended::Late => Some("does not end".to_owned()),
        })
    }

    /// Its position in the order for a bug of this crate: the crate's own tests first, then the quickest.
    pub(super) fn turn(&self, package: &str) -> (bool, Duration) {
        (self.package != package, self.takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_tells_of_test_programs() {
        let line = r#"{"executable":"/c/target/release/deps/tail-1","manifest_path":"/c/source/crates/log/Cargo.toml","target":{"name":"tail"}}"#;
        let ring = ring_of_message(Path::new("/c/source"), line).unwrap();
        assert_eq!(
            (ring.name.as_str(), ring.program.folder.as_path()),
            ("tests of log: tail", Path::new("/c/source/crates/log"))
        );
        assert!(ring.turn("log") < ring.turn("txn"), "its own crate's bugs come first");
        let library = r#"{"executable":null,"manifest_path":"/c/source/crates/log/Cargo.toml","target":{"name":"log"}}"#;
        assert!(ring_of_message(Path::new("/c/source"), library).is_none());
    }

    #[test]
    fn what_fails_finds() {
        let folder = std::env::temp_dir();
        let output = folder.join(format!("hardpan-ring-{}", std::process::id()));
        let program = Program { path: PathBuf::from("sh"), folder, output };
        let ring = |script: &str| Ring {
            name: script.to_owned(),
            package: String::new(),
            program: program.clone(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            takes: Duration::ZERO,
        };
        let only_with_bug_3 = ring("test $HARDPAN_MUTANT != 3");
        assert_eq!((only_with_bug_3.finds(2), only_with_bug_3.finds(3)), (Ok(None), Ok(Some(String::new()))));
        assert!(ring("exit 0").measure().is_ok() && ring("exit 1").measure().is_err());
        std::fs::remove_file(&program.output).unwrap();
    }
}
