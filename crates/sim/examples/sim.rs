//! Runs seeds of the simulation, each twice if asked, and prints one line to reproduce a failure (`cargo xtask sim`).

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use clap::Parser;
use hardpan_sim::{Outcome, Scenario, bug_by_name, run_seed};
use os::sim::Bug;
use os::{Latch, LatchRank, Os, SpawnOptions, WaitType};

/// Simulated workloads, crashes, recoveries and oracles.
#[derive(Parser)]
struct Arguments {
    /// How many seeds [default: 200, or 1 with --seed].
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Only this scenario (log, store, sql, schema, across, full, delayed, versions, lies, files, mass, damage, plans); all by default.
    #[arg(long)]
    scenario: Option<String>,
    /// Plant a known bug (acknowledge-before-harden, hardened-jumps-over-hole, page-before-log, decide-before-prepared, reservation-too-small,
    /// vlf-reused-under-pin, hand-out-before-harden, ticket-before-hardened, loss-bound-ignored, counted-before-stored, cache-takeover-skipped, acknowledged-before-fence, buffer-not-copied,
    /// built-page-not-chained, used-before-noted, given-up-before-checkpoint, given-up-after-one-checkpoint, announcement-ignored, seen-before-harden, version-freed-too-early, snapshot-sees-later-commit, lost-update-under-snapshot,
    /// many-reserved-as-one, many-leave-one-version, needed-by-commit-order, conflicts-forgotten, own-insert-opens-gap, damaged-map-is-free, young-heap-is-dropped, maps-judged-after-checkpoint, empty-page-is-new,
    /// decision-forgotten-early, ahead-not-hardened): it must be found.
    #[arg(long)]
    plant: Option<String>,
    /// Run each seed twice and compare the traces.
    #[arg(long)]
    twice: bool,
    /// Print how often each named code position was reached.
    #[arg(long)]
    reached: bool,
    /// Stop at the first seed that fails.
    #[arg(long)]
    stop: bool,
    /// Stop after this many minutes.
    #[arg(long)]
    minutes: Option<f64>,
    /// Number of worlds run in parallel.
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// A seed that has not ended after so many seconds has failed: it is reported, and no more seeds are run.
    #[arg(long, default_value_t = 600)]
    patience: u64,
}

#[derive(Default)]
struct Totals {
    seeds: u64,
    switches: u64,
    crashes: u64,
    acknowledged: u64,
    pending_commits: u64,
    /// Code positions by name, with counts.
    reached: BTreeMap<String, u64>,
    failed: Vec<Outcome>,
}

/// Shared state of the jobs of one scenario.
struct Race {
    scenario: Scenario,
    bug: Option<Bug>,
    seeds: Vec<u64>,
    twice: bool,
    /// One failed seed is enough.
    stops: bool,
    end_ns: u64,
    next: AtomicU64,
    /// Running seeds, with their start times.
    running: Latch<BTreeMap<u64, u64>>,
    totals: Latch<Totals>,
}

fn main() -> ExitCode {
    let (os, arguments) = (Os::real(), Arguments::parse());
    match run(&os, &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the requested seeds; an error names the seeds that failed (or the planted bug that was not found).
fn run(os: &Os, arguments: &Arguments) -> Result<(), String> {
    let scenarios = match &arguments.scenario {
        None => Scenario::ALL.to_vec(),
        Some(name) => vec![Scenario::by_name(name).ok_or(format!("no scenario {name}"))?],
    };
    let mut problems = Vec::new();
    for scenario in scenarios {
        if let Err(problem) = run_scenario(os, scenario, arguments) {
            problems.push(problem);
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn run_scenario(os: &Os, scenario: Scenario, arguments: &Arguments) -> Result<(), String> {
    let bug = match &arguments.plant {
        None => None,
        Some(name) => Some(bug_by_name(name).ok_or(format!("no bug {name}"))?),
    };
    if bug.is_some_and(|bug| !scenario.can_see(bug)) {
        println!("{}: does not reach that code", scenario.name());
        return Ok(());
    }
    let first = arguments.seed.unwrap_or(0);
    let count = arguments.seeds.unwrap_or(if arguments.seed.is_some() { 1 } else { 200 });
    let mut seeds = if bug.is_none() && arguments.seed.is_none() { scenario.corpus() } else { Vec::new() };
    seeds.extend(first..first + count);
    let start_ns = os.clock().monotonic_ns();
    let end_ns = arguments.minutes.map_or(u64::MAX, |minutes| start_ns + (minutes * 60e9) as u64);
    let (next, totals) = (AtomicU64::new(0), Latch::new(LatchRank::Leaf, Totals::default()));
    let stops = bug.is_some() || arguments.stop;
    let running = Latch::new(LatchRank::Leaf, BTreeMap::new());
    let race =
        Arc::new(Race { scenario, bug, seeds, twice: arguments.twice, stops, end_ns, next, running, totals });
    let (os_of_watch, watched, patience_ns) =
        (os.clone(), Arc::downgrade(&race), arguments.patience * 1_000_000_000);
    os.spawn("watch", move || watch(&os_of_watch, &watched, patience_ns));
    let job = |number| {
        let (os_of_job, race) = (os.clone(), Arc::clone(&race));
        let options = SpawnOptions::named(&format!("job {number}")).stack_bytes(4 << 20);
        os.try_spawn(&options, move || race.work(&os_of_job)).map_err(|error| error.to_string())
    };
    let jobs = (0..arguments.jobs).map(job).collect::<Result<Vec<_>, _>>()?;
    for job in jobs {
        job.join().map_err(|panicked| panicked.0)?;
    }
    let totals = std::mem::take(&mut *race.totals.lock());
    totals.print(scenario, (os.clock().monotonic_ns() - start_ns) as f64 / 1e9);
    if arguments.reached {
        totals.reached.iter().for_each(|(place, count)| println!("  {count:>9} {place}"));
    }
    totals.verdict(scenario, arguments.plant.as_deref())
}

impl Race {
    fn work(&self, os: &Os) {
        while let Some(&seed) = self.seeds.get(self.next.fetch_add(1, Relaxed) as usize) {
            let is_enough = self.stops && !self.totals.lock().failed.is_empty();
            if is_enough || os.clock().monotonic_ns() > self.end_ns {
                return;
            }
            self.running.lock().insert(seed, os.clock().monotonic_ns());
            let mut outcome = run_seed(self.scenario, seed, self.bug);
            if self.twice {
                compare(&mut outcome, &run_seed(self.scenario, seed, self.bug));
            }
            self.running.lock().remove(&seed);
            self.totals.lock().add(outcome);
        }
    }
}

/// Reports a seed that does not end, and ends the program, since its world cannot be stopped.
fn watch(os: &Os, race: &Weak<Race>, patience_ns: u64) {
    while os.sleep(1_000_000_000, WaitType::SLEEP_TASK).is_ok() {
        let Some(race) = race.upgrade() else { return };
        let begun_before_ns = os.clock().monotonic_ns().saturating_sub(patience_ns);
        let running = race.running.lock();
        if let Some((seed, _)) = running.iter().find(|(_, begun_ns)| **begun_ns < begun_before_ns) {
            let (scenario, seconds) = (race.scenario.name(), patience_ns / 1_000_000_000);
            eprintln!(
                "{scenario}: seed {seed} has not ended after {seconds} s; reproduce: cargo xtask sim --scenario {scenario} --seed {seed}"
            );
            os::process::exit(1);
        }
    }
}

fn compare(first: &mut Outcome, second: &Outcome) {
    if first.trace_hash != second.trace_hash {
        let text =
            format!("NONDETERMINISM: trace {:016x}, then {:016x}", first.trace_hash, second.trace_hash);
        first.violations.push(text);
    }
}

impl Totals {
    fn add(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.switches += outcome.switches;
        self.crashes += outcome.crashes;
        self.acknowledged += outcome.acknowledged;
        self.pending_commits += outcome.pending_commits;
        for (place, count) in &outcome.reached {
            *self.reached.entry(place.clone()).or_default() += count;
        }
        if !outcome.violations.is_empty() {
            self.failed.push(outcome);
        }
    }

    fn print(&self, scenario: Scenario, seconds: f64) {
        println!(
            "{}: {} seeds in {seconds:.1} s ({:.0}/s), {} crashes, {} commits acknowledged, {} left pending, {:.0} switches/s, {} failed",
            scenario.name(),
            self.seeds,
            self.seeds as f64 / seconds,
            self.crashes,
            self.acknowledged,
            self.pending_commits,
            self.switches as f64 / seconds,
            self.failed.len()
        );
    }

    fn verdict(mut self, scenario: Scenario, plant: Option<&str>) -> Result<(), String> {
        self.failed.sort_by_key(|outcome| outcome.seed);
        let Some(first) = self.failed.first() else {
            return match plant {
                None => Ok(()),
                Some(bug) => Err(format!("{}: {bug} was not found in {} seeds", scenario.name(), self.seeds)),
            };
        };
        for text in first.log.iter().rev().take(20).rev().chain(first.violations.iter().take(8)) {
            println!("  {text}");
        }
        if let Some(bug) = plant {
            println!(
                "{}: {bug} found at seed {} (seeds looked at: {})",
                scenario.name(),
                first.seed,
                self.seeds
            );
            return Ok(());
        }
        for outcome in self.failed.iter().take(30) {
            let text = outcome.violations.first().map_or("", String::as_str);
            println!("  seed {}: {}", outcome.seed, text.chars().take(200).collect::<String>());
        }
        let seeds: Vec<u64> = self.failed.iter().map(|outcome| outcome.seed).collect();
        let again = format!("cargo xtask sim --scenario {} --seed {}", scenario.name(), first.seed);
        Err(format!("{}: failed seeds {seeds:?}; reproduce: {again}", scenario.name()))
    }
}
