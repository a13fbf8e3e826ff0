//! The first ring: the scenarios of the simulation. They share the processor time of a bug's budget, in rounds.
//!
//! ```text
//!  round 1 ─► 2 ─► 3 ...   each twice as long as the one before; in a round, every scenario runs its next seeds for its share
//!     │ a seed fails: does it pass without the bug?  yes: found   no: the simulation itself is broken, and the run ends
//!     └ the budget is used: not found; who asks again goes on behind the seeds that were asked
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::process::{Ended, MEASURE_TIME, PATIENCE, PATIENCE_TIME, Program, STILL_TIME};
use super::rings::build;

/// The scenarios that find most come first, and have so many shares.
const FIRST: [(&str, u32); 3] = [("schema", 3), ("store", 2), ("lies", 3)];
/// A share of the processor in the first round.
const SHARE_TIME: Duration = Duration::from_millis(700);
/// Seeds of each scenario that are run without any bug, besides its corpus, to measure the cost of one.
const MEASURED_SEEDS: u64 = 12;

/// The number of seeds, by scenario, from the first on, that were tried for a bug. The corpus is run with the first of them.
pub(super) type Asked = BTreeMap<String, u64>;

struct Scenario {
    name: String,
    shares: u32,
    /// The processor time of one seed without any bug.
    seed_time: Duration,
}

/// The simulation of the copy.
pub(super) struct Simulation {
    program: Program,
    scenarios: Vec<Scenario>,
    /// Seeds known to pass without any bug.
    sound: BTreeSet<Vec<String>>,
}

/// The result of a bug's budget.
pub(super) enum Answer {
    /// Found by this scenario, with this failure.
    Found(String, String),
    /// Not found yet.
    NotYet,
}

impl Simulation {
    /// Builds it, unless the existing build is to be used.
    ///
    /// # Errors
    /// It does not build.
    pub(super) fn new(copy: &Path, is_built: bool) -> Result<Simulation, String> {
        if !is_built {
            build(copy, &["build", "--package", "hardpan-sim", "--example", "sim"])?;
        }
        let path = copy.with_file_name("target").join("release/examples/sim");
        let program = Program::of_copy(copy, path, copy.to_owned());
        Ok(Simulation { program, scenarios: scenarios(copy)?, sound: BTreeSet::new() })
    }

    /// Runs the corpus and a few seeds of each scenario that will be asked, without any bug.
    ///
    /// # Errors
    /// A seed fails, or does not end.
    pub(super) fn measure(&mut self, will_be_asked: impl Fn(&str) -> bool) -> Result<(), String> {
        self.scenarios.retain(|scenario| will_be_asked(&scenario.name));
        for scenario in &mut self.scenarios {
            let arguments = arguments(&scenario.name, 0, MEASURED_SEEDS);
            match self.program.run(&arguments, 0, (MEASURE_TIME, STILL_TIME))? {
                (Ended::Passed, took) => scenario.seed_time = took / MEASURED_SEEDS as u32,
                (ended, _) => return Err(format!("{} without any bug: {ended:?}", scenario.name)),
            }
            scenario.seed_time = scenario.seed_time.max(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Asks the scenarios, or the only one that is to find it, about a bug until one finds it or its budget is used.
    ///
    /// # Errors
    /// A seed fails without the bug, too, or nothing can be run.
    pub(super) fn ask(
        &mut self,
        (number, only): (usize, Option<&str>),
        budget: Duration,
        asked: &mut Asked,
    ) -> Result<Answer, String> {
        let (mut spent, mut share) = (Duration::ZERO, SHARE_TIME);
        let is_asked = |scenario: &Scenario| only.is_none_or(|only| only == scenario.name);
        let asked_ones: Vec<usize> =
            (0..self.scenarios.len()).filter(|at| is_asked(&self.scenarios[*at])).collect();
        if asked_ones.is_empty() {
            return Err(format!("no scenario {}", only.unwrap_or_default()));
        }
        while spent < budget {
            for at in asked_ones.iter().copied() {
                let scenario = &self.scenarios[at];
                let name = scenario.name.clone();
                let wanted = (share * scenario.shares).as_micros() / scenario.seed_time.as_micros();
                let seeds = (wanted as u64).max(1);
                let first = asked.entry(name.clone()).or_default();
                let arguments = arguments(&name, *first, seeds);
                *first += seeds;
                let limit = PATIENCE_TIME.max(scenario.seed_time * seeds as u32 * PATIENCE);
                let (ended, took) = self.program.run(&arguments, number, (limit, STILL_TIME))?;
                spent += took;
                let how = match ended {
                    Ended::Passed => continue,
                    Ended::Failed(how) => how,
                    Ended::Late => format!("seeds {}..{first} do not end", *first - seeds),
                };
                self.must_pass_without(&seed_of(&name, &how).unwrap_or(arguments), limit)?;
                return Ok(Answer::Found(format!("simulation, {name}"), how));
            }
            share *= 2;
        }
        Ok(Answer::NotYet)
    }

    /// Checks that the failing seed passes without the bug.
    fn must_pass_without(&mut self, arguments: &[String], limit: Duration) -> Result<(), String> {
        if self.sound.contains(arguments) {
            return Ok(());
        }
        match self.program.run(arguments, 0, (limit, STILL_TIME))? {
            (Ended::Passed, _) => self.sound.insert(arguments.to_vec()),
            (ended, _) => return Err(format!("sim {} without any bug: {ended:?}", arguments.join(" "))),
        };
        Ok(())
    }
}

/// The arguments for so many seeds from `first` on; the corpus precedes the very first.
fn arguments(scenario: &str, first: u64, seeds: u64) -> Vec<String> {
    let mut arguments = vec!["--scenario".to_owned(), scenario.to_owned()];
    if first > 0 {
        arguments.extend(["--seed".to_owned(), first.to_string()]);
    }
    arguments.extend(["--seeds".to_owned(), seeds.to_string()]);
    arguments.extend(["--jobs", "1", "--stop"].map(str::to_owned));
    arguments
}

/// The arguments for the one seed in a line of output.
fn seed_of(scenario: &str, line: &str) -> Option<Vec<String>> {
    let seed: u64 = line.strip_prefix("seed ")?.split(':').next()?.parse().ok()?;
    let seed = ["--scenario", scenario, "--seed", &seed.to_string(), "--jobs", "1"].map(str::to_owned);
    Some(seed.to_vec())
}

/// The scenarios that have a corpus, those that find most first.
fn scenarios(copy: &Path) -> Result<Vec<Scenario>, String> {
    let folder = std::fs::read_dir(copy.join("crates/sim/corpus")).map_err(|error| error.to_string())?;
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_suffix(".seeds").map(str::to_owned)
    };
    let mut names: Vec<String> = folder.filter_map(name).collect();
    let place = |name: &str| FIRST.iter().position(|first| first.0 == name).unwrap_or(FIRST.len());
    names.sort_by_key(|name| (place(name), name.clone()));
    let scenario = |name: String| {
        let shares = FIRST.get(place(&name)).map_or(1, |first| first.1);
        Scenario { name, shares, seed_time: Duration::ZERO }
    };
    Ok(names.into_iter().map(scenario).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulation whose scenario x has two seeds a round at first, and is a script.
    fn scripted(name: &str, script: &str) -> Simulation {
        let folder = std::env::temp_dir().join(format!("hardpan-simulation-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("sim");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        let program = Program { path, output: folder.join("output"), folder };
        let scenario = Scenario { name: "x".to_owned(), shares: 1, seed_time: SHARE_TIME / 2 };
        Simulation { program, scenarios: vec![scenario], sound: BTreeSet::new() }
    }

    fn asked_until(simulation: &mut Simulation, number: usize, asked: &mut Asked) -> Result<String, String> {
        match simulation.ask((number, None), Duration::from_millis(1), asked)? {
            Answer::Found(ring, how) => Ok(format!("{ring}: {how}")),
            Answer::NotYet => Ok("not yet".to_owned()),
        }
    }

    #[test]
    fn a_bug_is_asked_on_behind_the_seeds_it_had() {
        // Bug 3 shows at seed 4 and later; each run uses some processor time, so that a few rounds use up the budget.
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let finds = "[ $HARDPAN_MUTANT = 3 ] && [ \"$3\" = --seed ] && [ $4 -ge 2 ] && { echo ' seed 4: LOST'; exit 1; }";
        let mut simulation = scripted("on", &format!("{work}; {finds}; exit 0"));
        let mut asked = Asked::new();
        assert_eq!(asked_until(&mut simulation, 2, &mut asked), Ok("not yet".to_owned()));
        assert!(asked["x"] >= 2, "{asked:?}");
        let mut asked = Asked::from([("x".to_owned(), 2)]);
        let found = asked_until(&mut simulation, 3, &mut asked);
        assert_eq!(found, Ok("simulation, x: seed 4: LOST".to_owned()));
        assert_eq!(asked["x"], 4, "two seeds more");
        std::fs::remove_dir_all(&simulation.program.folder).unwrap();
    }

    #[test]
    fn a_bug_that_names_its_scenario_is_asked_of_no_other() {
        let finds = "[ \"$2\" = y ] && [ $HARDPAN_MUTANT = 1 ] && { echo ' seed 0: LOST'; exit 1; }";
        let mut simulation = scripted("only", &format!("{finds}; exit 0"));
        let scenario = Scenario { name: "y".to_owned(), shares: 1, seed_time: SHARE_TIME / 2 };
        simulation.scenarios.push(scenario);
        let mut asked = Asked::new();
        let budget = Duration::from_millis(1);
        let answer = simulation.ask((1, Some("y")), budget, &mut asked).unwrap();
        assert!(matches!(answer, Answer::Found(ring, _) if ring == "simulation, y"));
        assert_eq!(asked, Asked::from([("y".to_owned(), 2)]), "x was not asked");
        assert!(simulation.ask((1, Some("z")), budget, &mut asked).is_err(), "there is none");
        std::fs::remove_dir_all(&simulation.program.folder).unwrap();
    }

    #[test]
    fn a_seed_that_fails_without_the_bug_ends_the_run() {
        let mut simulation = scripted("broken", "echo ' seed 1: LOST'; exit 1");
        assert!(asked_until(&mut simulation, 1, &mut Asked::new()).is_err());
        assert!(simulation.measure(|_| true).is_err());
        std::fs::remove_dir_all(&simulation.program.folder).unwrap();
    }

    #[test]
    fn seeds_are_asked_for_as_the_program_wants_them() {
        assert_eq!(arguments("log", 0, 5).join(" "), "--scenario log --seeds 5 --jobs 1 --stop");
        assert_eq!(arguments("log", 5, 5).join(" "), "--scenario log --seed 5 --seeds 5 --jobs 1 --stop");
        assert_eq!(seed_of("log", "seed 17: LOST").unwrap().join(" "), "--scenario log --seed 17 --jobs 1");
        assert_eq!((seed_of("log", "thread panicked"), seed_of("log", "")), (None, None));
    }
}
