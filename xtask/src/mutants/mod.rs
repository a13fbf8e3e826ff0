//! `cargo xtask mutants`, mutation testing: plants the bugs of mutants.toml into a copy of the source, all behind one switch, and reports the ring of
//! tests that finds each.
//!
//! One build serves all: in the copy, `os::mutant(n)` asks the environment which bug is switched on. The first ring is the simulation, where
//! each bug has a budget; those that it does not find within it are asked again when all have been asked, with twice as much. The second ring,
//! for what the first does not find, are the tests of the crates that keep data. A bug may name the one scenario that is to find it. With a table in a file, a run goes on where the last one stopped.
//! A bug that nobody finds fails the run, and so does a ring that fails, or takes too long, without any bug.

mod process;
mod rings;
mod simulation;
mod source;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::tidy::source::workspace_root;
use rings::Ring;
use simulation::{Answer, Asked, Simulation};
use source::Mutant;
use table::{Table, Verdict};

/// What is asked of whom.
#[derive(clap::Args)]
pub struct Choice {
    /// Seconds of the processor that the simulation has for each bug when it is asked first; each time again it has twice as many.
    #[arg(long, default_value_t = 30)]
    budget: u64,
    /// How many times the simulation is asked at most about a bug that it does not find.
    #[arg(long, default_value_t = 3)]
    times: u32,
    /// A file with a line for each bug: what it has is not asked again, and what is found is written there at once.
    #[arg(long)]
    table: Option<PathBuf>,
    /// Take the copy as it was built last.
    #[arg(long)]
    built: bool,
    /// Only bugs whose name contains this; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// A sample: one bug of so many.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Do not ask the crates' tests.
    #[arg(long, conflicts_with = "tests_alone")]
    simulation_alone: bool,
    /// Do not ask the simulation.
    #[arg(long)]
    tests_alone: bool,
}

impl Choice {
    fn has(&self, index: usize, mutant: &Mutant) -> bool {
        let is_named = self.only.is_empty() || self.only.iter().any(|part| mutant.name.contains(part));
        is_named && index.is_multiple_of(self.every.max(1))
    }
}

/// Runs the rings on every chosen bug, and prints a line of a table for each.
///
/// # Errors
/// A text when something could not be built, or a bug was found by no ring.
pub fn run(choice: &Choice) -> Result<(), String> {
    let root = workspace_root()?;
    let copy = source::copy_of(&root);
    let mutants = if choice.built { source::list(&copy)? } else { source::read(&root)? };
    if !choice.built {
        source::plant(&root, &copy, &mutants)?;
    }
    let numbered = mutants.iter().enumerate().filter(|(index, mutant)| choice.has(*index, mutant));
    let chosen: Vec<(usize, &Mutant)> = numbered.map(|(index, mutant)| (index + 1, mutant)).collect();
    let mut table = Table::open(choice.table.as_deref())?;
    if !choice.tests_alone {
        ask_simulation(choice, &copy, &chosen, &mut table)?;
    }
    if !choice.simulation_alone {
        ask_tests(&copy, &chosen, &mut table)?;
    }
    sum_up(&chosen, &table)
}

/// Runs the simulation for each bug that is not found yet, once with the budget, then again with twice as much, and so on.
fn ask_simulation(
    choice: &Choice,
    copy: &Path,
    chosen: &[(usize, &Mutant)],
    table: &mut Table,
) -> Result<(), String> {
    let mut simulation = Simulation::new(copy, choice.built)?;
    simulation.measure(|scenario| chosen.iter().any(|(_, mutant)| mutant.may_be_found_by(scenario)))?;
    for time in 0..choice.times {
        let budget = Duration::from_secs(choice.budget << time.min(10));
        for (number, mutant) in chosen {
            let known = table.verdicts.get(&mutant.name).cloned();
            let mut asked = match known.unwrap_or(Verdict::NotYet(Asked::new())) {
                Verdict::NotYet(asked) => asked,
                Verdict::Found(..) | Verdict::Nobody => continue,
            };
            // The first pass is for bugs that no earlier run has tried either.
            if time == 0 && choice.times > 1 && !asked.is_empty() {
                continue;
            }
            let verdict = match simulation.ask((*number, mutant.scenario.as_deref()), budget, &mut asked)? {
                Answer::Found(ring, how) => Verdict::Found(ring, how),
                Answer::NotYet => Verdict::NotYet(asked),
            };
            table.note(&mutant.name, verdict)?;
        }
    }
    Ok(())
}

/// Runs the tests for each bug that is not found yet.
fn ask_tests(copy: &Path, chosen: &[(usize, &Mutant)], table: &mut Table) -> Result<(), String> {
    let is_found = |name: &str| matches!(table.verdicts.get(name), Some(Verdict::Found(..)));
    let is_open = |mutant: &Mutant| mutant.scenario.is_none() && !is_found(&mutant.name);
    let open: Vec<_> = chosen.iter().filter(|(_, mutant)| is_open(mutant)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut rings = rings::tests(copy)?;
    rings.iter_mut().try_for_each(Ring::measure)?;
    for (number, mutant) in open {
        rings.sort_by_key(|ring| ring.turn(mutant.package()));
        let mut verdict = Verdict::Nobody;
        for ring in &rings {
            if let Some(how) = ring.finds(*number)? {
                verdict = Verdict::Found(ring.name.clone(), how);
                break;
            }
        }
        table.note(&mutant.name, verdict)?;
    }
    Ok(())
}

/// The number of bugs found by each ring; an error names those that none has found.
fn sum_up(chosen: &[(usize, &Mutant)], table: &Table) -> Result<(), String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut passed = Vec::new();
    for (_, mutant) in chosen {
        match table.verdicts.get(&mutant.name) {
            Some(Verdict::Found(ring, _)) => *counts.entry(ring.as_str()).or_default() += 1,
            _ => passed.push(mutant.name.as_str()),
        }
    }
    println!("{counts:?}, found by nobody: {} of {}", passed.len(), chosen.len());
    if passed.is_empty() { Ok(()) } else { Err(format!("found by nobody: {}", passed.join("; "))) }
}
