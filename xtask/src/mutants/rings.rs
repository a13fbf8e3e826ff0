//! The rings: scenarios of the simulation, and the test programs of the crates that keep data; each is run with a bug switched on or with none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::source::SWITCH;

/// The crates whose tests are the second ring: those in whose source the bugs stand.
const TESTED: [&str; 5] = ["log", "pages", "txn", "access", "engine"];
/// The scenarios that find most.
const FIRST: [&str; 2] = ["schema", "store"];
/// What takes so many times as much of the processor as without a bug, and more than `PATIENCE_TIME`, is held up by the bug: it counts as
/// found. So does what stands still; the clock on the wall says little else on a machine that does other things, too.
const PATIENCE: u32 = 8;
const PATIENCE_TIME: Duration = Duration::from_secs(60);
/// What has had nothing of the processor for so long waits for ever.
const STILL_TIME: Duration = Duration::from_secs(90);
/// What a ring without a bug may take of the processor.
const MEASURE_TIME: Duration = Duration::from_secs(1_800);

/// How a command ended.
enum Ended {
    /// All is well, for so much of the processor.
    Passed(Duration),
    /// With an error, and this telling line.
    Failed(String),
    /// Not in time.
    Late,
}

/// A scenario of the simulation or a test program of a crate, and how long it takes without any bug.
pub(super) struct Ring {
    pub(super) name: String,
    /// Place in the order; test programs share the last.
    place: usize,
    /// The crate whose tests these are; empty for a scenario.
    package: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// Where it is run, and next to what it leaves its output.
    folder: PathBuf,
    output: PathBuf,
    takes: Duration,
}

/// Builds the simulation of the copy.
///
/// # Errors
/// It does not build.
pub(super) fn simulation(copy: &Path, seeds: u64) -> Result<Vec<Ring>, String> {
    build(copy, &["build", "--package", "hardpan-sim", "--example", "sim"])?;
    let program = copy.with_file_name("target").join("release/examples/sim");
    let ring = |(place, scenario): (usize, String)| Ring {
        name: format!("simulation, {scenario}"),
        place,
        package: String::new(),
        program: program.clone(),
        arguments: ["--scenario", &scenario, "--seeds", &seeds.to_string(), "--jobs", "1", "--stop"]
            .map(str::to_owned)
            .to_vec(),
        folder: copy.to_owned(),
        output: copy.with_file_name(format!("output-{}", std::process::id())),
        takes: Duration::ZERO,
    };
    Ok(scenarios(copy)?.into_iter().enumerate().map(ring).collect())
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

/// The ring of one of cargo's messages, if it tells of a test program.
fn ring_of_message(copy: &Path, line: &str) -> Option<Ring> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let program = PathBuf::from(message.get("executable")?.as_str()?);
    let target = message.get("target")?.get("name")?.as_str()?;
    let folder = Path::new(message.get("manifest_path")?.as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_str()?.to_owned();
    Some(Ring {
        name: format!("tests of {package}: {}", target.trim_start_matches("hardpan-")),
        place: usize::MAX,
        package,
        program,
        arguments: vec!["--quiet".to_owned()],
        folder,
        output: copy.with_file_name(format!("output-{}", std::process::id())),
        takes: Duration::ZERO,
    })
}

/// Runs cargo in the copy: what is quick to build rather than quick to run, with the checks of the tests' usual profile.
fn build(copy: &Path, arguments: &[&str]) -> Result<String, String> {
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

impl Ring {
    /// Runs it without any bug.
    ///
    /// # Errors
    /// It fails, or does not end.
    pub(super) fn measure(&mut self) -> Result<(), String> {
        match self.run(0, MEASURE_TIME, STILL_TIME)? {
            Ended::Passed(takes) => {
                self.takes = takes;
                Ok(())
            }
            Ended::Failed(what) => Err(format!("{} fails without any bug: {what}", self.name)),
            Ended::Late => Err(format!("{} takes too long without any bug", self.name)),
        }
    }

    /// How it finds this bug, if it does.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn finds(&self, number: usize) -> Result<Option<String>, String> {
        let limit = PATIENCE_TIME.max(self.takes * PATIENCE);
        Ok(match self.run(number, limit, STILL_TIME)? {
            Ended::Passed(_) => None,
            Ended::Failed(how) => Some(how),
            Ended::Late => Some("does not end".to_owned()),
        })
    }

    /// When it is asked about a bug of this crate.
    pub(super) fn turn(&self, package: &str) -> (usize, bool, Duration) {
        (self.place, self.package != package, self.takes)
    }

    /// Runs it with a bug switched on (0: none) until it ends, has had `limit` of the processor, or has stood still for `still`.
    fn run(&self, number: usize, limit: Duration, still: Duration) -> Result<Ended, String> {
        let options = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&self.output);
        let file = options.map_err(|error| error.to_string())?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder).env(SWITCH, number.to_string());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("MALLOC_ARENA_MAX", "1");
        let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let mut child = child.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let (mut moved_at, mut processor) = (Instant::now(), Duration::ZERO);
        loop {
            let now = processor_time(child.id());
            if now > processor {
                (moved_at, processor) = (Instant::now(), now);
            }
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(Ended::Passed(processor)),
                Some(_) => return Ok(Ended::Failed(what_failed(&self.output))),
                None if processor > limit || moved_at.elapsed() > still => {
                    child.kill().map_err(|error| error.to_string())?;
                    child.wait().map_err(|error| error.to_string())?;
                    return Ok(Ended::Late);
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
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
    fn a_process_that_works_uses_the_processor() {
        let began = processor_time(std::process::id());
        let mut sum = 0u64;
        while processor_time(std::process::id()) < began + Duration::from_millis(30) {
            sum = (0..1_000_000).fold(sum, |sum, number| sum.rotate_left(3) ^ number);
        }
        assert!(sum != 1, "{sum}");
    }

    #[test]
    fn cargo_tells_of_test_programs() {
        let line = r#"{"executable":"/c/target/release/deps/tail-1","manifest_path":"/c/source/crates/log/Cargo.toml","target":{"name":"tail"}}"#;
        let ring = ring_of_message(Path::new("/c/source"), line).unwrap();
        assert_eq!(
            (ring.name.as_str(), ring.folder.as_path()),
            ("tests of log: tail", Path::new("/c/source/crates/log"))
        );
        assert!(ring.turn("log") < ring.turn("txn"), "its own crate's bugs come first");
        let library = r#"{"executable":null,"manifest_path":"/c/source/crates/log/Cargo.toml","target":{"name":"log"}}"#;
        assert!(ring_of_message(Path::new("/c/source"), library).is_none());
    }

    #[test]
    fn what_fails_or_stays_is_found() {
        let folder = std::env::temp_dir();
        let ring = |script: &str| Ring {
            name: script.to_owned(),
            place: 0,
            package: String::new(),
            program: PathBuf::from("sh"),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            folder: folder.clone(),
            output: folder.join(format!("hardpan-ring-{}", std::process::id())),
            takes: Duration::ZERO,
        };
        let only_with_bug_3 = ring("test $HARDPAN_MUTANT != 3");
        assert_eq!((only_with_bug_3.finds(2), only_with_bug_3.finds(3)), (Ok(None), Ok(Some(String::new()))));
        let short = Duration::from_millis(200);
        assert!(
            matches!(ring("exec sleep 100").run(1, MEASURE_TIME, short), Ok(Ended::Late)),
            "stands still"
        );
        assert!(
            matches!(ring("while :; do :; done").run(1, short, STILL_TIME), Ok(Ended::Late)),
            "never ends"
        );
        let mut sound = ring("exit 0");
        assert!(sound.measure().is_ok() && ring("exit 1").measure().is_err());
        std::fs::remove_file(&sound.output).unwrap();
    }
}
