//! The table of bugs and the rings that found them: a line each, written as soon as it is known, and read by the next run, which continues it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::simulation::Asked;

const NOT_YET: &str = "not yet";

/// The verdict on a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Found by this ring, with this failure.
    Found(String, String),
    /// Not found by these seeds of the simulation.
    NotYet(Asked),
    /// Found neither by the simulation nor by the tests.
    Nobody,
}

/// Verdicts by the bugs' names; in a file, too, if one was named.
pub(super) struct Table {
    file: Option<PathBuf>,
    pub(super) verdicts: BTreeMap<String, Verdict>,
}

impl Table {
    /// Reads the existing file; the last line of a bug counts.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub(super) fn open(file: Option<&Path>) -> Result<Table, String> {
        let text = match file {
            Some(file) if file.exists() => {
                std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
            }
            _ => String::new(),
        };
        let verdicts = text.lines().filter_map(read).collect();
        Ok(Table { file: file.map(Path::to_owned), verdicts })
    }

    /// Records and prints the new verdict on a bug.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn note(&mut self, name: &str, verdict: Verdict) -> Result<(), String> {
        let line = write(name, &verdict);
        println!("{line}");
        if let Some(file) = &self.file {
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
            let written = opened.and_then(|mut file| writeln!(file, "{line}"));
            written.map_err(|error| format!("{}: {error}", file.display()))?;
        }
        self.verdicts.insert(name.to_owned(), verdict);
        Ok(())
    }
}

fn write(name: &str, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Found(ring, how) => format!("| {name} | {ring} | {how} |"),
        Verdict::Nobody => format!("| {name} | nobody | |"),
        Verdict::NotYet(asked) => {
            let seeds: Vec<String> =
                asked.iter().map(|(scenario, count)| format!("{scenario} {count}")).collect();
            format!("| {name} | {NOT_YET} | {} |", seeds.join(", "))
        }
    }
}

fn read(line: &str) -> Option<(String, Verdict)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let (name, ring, how) = (cells.next()?, cells.next()?, cells.next()?);
    let seeds = |part: &str| {
        let (scenario, count) = part.trim().split_once(' ')?;
        Some((scenario.to_owned(), count.parse().ok()?))
    };
    let verdict = match ring {
        NOT_YET => Verdict::NotYet(how.split(',').filter_map(seeds).collect()),
        "nobody" => Verdict::Nobody,
        _ => Verdict::Found(ring.to_owned(), how.to_owned()),
    };
    Some((name.to_owned(), verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_run_knows_what_the_last_one_wrote() {
        let file = std::env::temp_dir().join(format!("hardpan-table-{}", std::process::id()));
        let asked = Asked::from([("log".to_owned(), 40), ("schema".to_owned(), 3)]);
        let found = Verdict::Found("simulation, log".to_owned(), "seed 3: LOST: record 7".to_owned());
        let mut table = Table::open(Some(&file)).unwrap();
        table.note("one", Verdict::NotYet(Asked::from([("log".to_owned(), 2)]))).unwrap();
        table.note("two", found.clone()).unwrap();
        table.note("three", Verdict::Nobody).unwrap();
        table.note("one", Verdict::NotYet(asked.clone())).unwrap();
        let again = Table::open(Some(&file)).unwrap().verdicts;
        std::fs::remove_file(&file).unwrap();
        assert_eq!(again, table.verdicts);
        assert_eq!((&again["one"], &again["two"]), (&Verdict::NotYet(asked), &found));
        assert_eq!(again["three"], Verdict::Nobody);
    }
}
