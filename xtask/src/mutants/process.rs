//! A program of the copy that runs with a bug switched on, or with none: its result, and its processor time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::source::SWITCH;

/// A program that needs so many times as much processor time as without a bug, and more than `PATIENCE_TIME`, is slowed down by the bug: it counts as
/// found. So does one that stands still; wall-clock time says little on a machine with other work.
pub(super) const PATIENCE: u32 = 8;
pub(super) const PATIENCE_TIME: Duration = Duration::from_secs(60);
/// A program without processor time for so long waits forever.
pub(super) const STILL_TIME: Duration = Duration::from_secs(90);
/// The most processor time of a ring without a bug.
pub(super) const MEASURE_TIME: Duration = Duration::from_secs(1_800);

/// The result of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Success.
    Passed,
    /// An error, with its most informative line.
    Failed(String),
    /// A time-out.
    Late,
}

/// A program, its working directory, and the file of its output.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) output: PathBuf,
}

impl Program {
    /// A program of the copy that is run in `folder`.
    pub(super) fn of_copy(copy: &Path, path: PathBuf, folder: PathBuf) -> Program {
        Program { path, folder, output: copy.with_file_name(format!("output-{}", std::process::id())) }
    }

    /// Runs it with a bug switched on (0: none) until it ends, has used `limit` of processor time, or has stood still for `still`. Also returns
    /// its processor time.
    pub(super) fn run(
        &self,
        arguments: &[String],
        number: usize,
        (limit, still): (Duration, Duration),
    ) -> Result<(Ended, Duration), String> {
        let options = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&self.output);
        let file = options.map_err(|error| error.to_string())?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(&self.folder).env(SWITCH, number.to_string());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("MALLOC_ARENA_MAX", "1");
        let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let mut child = child.map_err(|error| format!("{}: {error}", self.path.display()))?;
        let (mut moved_at, mut processor) = (Instant::now(), Duration::ZERO);
        loop {
            let now = processor_time(child.id());
            if now > processor {
                (moved_at, processor) = (Instant::now(), now);
            }
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok((Ended::Passed, processor)),
                Some(_) => return Ok((Ended::Failed(what_failed(&self.output)), processor)),
                None if processor > limit || moved_at.elapsed() > still => {
                    child.kill().map_err(|error| error.to_string())?;
                    child.wait().map_err(|error| error.to_string())?;
                    return Ok((Ended::Late, processor));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// The processor time of a process and of the children that it has waited for: fields 14 to 17 of /proc/PID/stat, in hundredths of a
/// second (proc(5)). Zero when they cannot be read.
fn processor_time(process: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = behind_name.split_whitespace().skip(11).take(4);
    Duration::from_millis(10 * ticks.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
}

/// The seed or the test in the output of a failed program, in a few words.
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
    fn what_stands_still_or_never_ends_is_late() {
        let folder = std::env::temp_dir();
        let output = folder.join(format!("hardpan-late-{}", std::process::id()));
        let shell = Program { path: PathBuf::from("sh"), folder, output };
        let run = |script: &str, times| shell.run(&["-c".to_owned(), script.to_owned()], 1, times).unwrap();
        let short = Duration::from_millis(200);
        assert_eq!(run("exec sleep 100", (MEASURE_TIME, short)).0, Ended::Late, "stands still");
        let (ended, took) = run("while :; do :; done", (short, STILL_TIME));
        assert!(ended == Ended::Late && took >= short, "never ends: {took:?}");
        std::fs::remove_file(&shell.output).unwrap();
    }
}
