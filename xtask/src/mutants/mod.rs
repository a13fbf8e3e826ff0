//! `cargo xtask mutants`: plants the bugs of mutants.toml into a copy of the source, all behind one switch, and says which ring of tests finds each.
//!
//! One build serves all: in the copy, `os::mutant(n)` asks the environment which bug is switched on. The first ring is the simulation, each
//! scenario until a seed fails or so many have passed; the second, for what the first does not find, the tests of the crates that keep data.
//! A bug that nobody finds fails the run, and so does a ring that fails, or takes too long, without any bug.

mod rings;
mod source;

use std::collections::BTreeMap;

use crate::tidy::source::workspace_root;
use rings::Ring;
use source::Mutant;

/// What is asked of whom.
pub struct Choice {
    /// Seeds of each scenario.
    pub seeds: u64,
    /// Only bugs whose name contains one of these; all when there is none.
    pub only: Vec<String>,
    /// One bug of so many.
    pub every: usize,
    /// Ask the simulation.
    pub asks_simulation: bool,
    /// Ask the crates' tests.
    pub asks_tests: bool,
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
    let mutants = source::read(&root)?;
    let copy = source::plant(&root, &mutants)?;
    let mut rings = Vec::new();
    if choice.asks_simulation {
        rings.extend(rings::simulation(&copy, choice.seeds)?);
    }
    if choice.asks_tests {
        rings.extend(rings::tests(&copy)?);
    }
    rings.iter_mut().try_for_each(|ring| ring.measure())?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut passed = Vec::new();
    for (index, mutant) in mutants.iter().enumerate().filter(|(index, mutant)| choice.has(*index, mutant)) {
        let found = found_by(&mut rings, index + 1, mutant)?;
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

/// The first ring that finds a bug, and how: scenarios in their order, then tests of the crate that has the bug, then the quickest.
fn found_by(rings: &mut [Ring], number: usize, mutant: &Mutant) -> Result<Option<(String, String)>, String> {
    rings.sort_by_key(|ring| ring.turn(mutant.package()));
    for ring in rings {
        if let Some(how) = ring.finds(number)? {
            return Ok(Some((ring.name.clone(), how)));
        }
    }
    Ok(None)
}
