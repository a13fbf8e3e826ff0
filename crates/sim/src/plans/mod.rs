//! Scenario `plans`: any query over any tables gives the same rows however it is planned: naively, with each rule of the optimizer alone, with all of
//! them, and with any. INSERT, UPDATE, DELETE and MERGE leave the same tables.
//!
//! Oracle (F11): the naive plan, which reads tables from end to end and judges conditions where they were written. Rows are compared as multisets, in
//! order where ORDER BY goes down to a key. Where the naive plan fails another may succeed, since nothing asks for the row that fails; where it
//! succeeds, all do. Plans that succeed agree with each other. In the end DBCC CHECKDB passes.

mod changes;
mod columns;
mod predicates;
mod queries;
mod tables;
mod variants;

use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng};

use self::tables::Table;
use self::variants::{Variant, option};
use crate::client::{Answer, Client, shared};
use crate::{Outcome, prepared};

const DATA: &str = "/data";
/// Statements of a world.
const QUERIES: u64 = 24;
const CHANGES: u64 = 8;
/// Small tables have up to so many rows.
const ROWS: u64 = 40;
/// In some worlds a table has one of these numbers of rows.
const LARGE_ROWS: [u64; 3] = [300, 5_000, 5_001];

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::nvme(), prepared_disk());
    world.plant(bug);
    let mut outcome = Outcome::new(seed);
    let found = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let seen = Arc::clone(&found);
    let report = world.run(move |os| {
        let instance = open(os).expect("a prepared disk");
        let sessions = shared(&instance);
        let client = Client::connect(&sessions, "plans").expect("its database");
        let mut court = Court { client, found: seen, tables: Vec::new() };
        court.hold(seed);
        court.client.close();
        instance.shutdown();
    });
    outcome.note(&report);
    outcome.violations.append(&mut found.lock());
    outcome.reached = world.reached();
    outcome
}

/// A disk with an empty database, made once in the process.
fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    let make = || {
        prepared::disk(open, |mut client, _| {
            client.must("CREATE DATABASE plans");
            client.must("ALTER DATABASE plans SET RECOVERY SIMPLE, DELAYED_DURABILITY = FORCED");
            client.close();
        })
    };
    PREPARED.get_or_init(make).clone()
}

fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions { buffer_pool_bytes: 32 << 20, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// What a statement gave: its rows as text, or the number of its error.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Rows(Vec<String>),
    Error(i32),
}

impl Verdict {
    fn of(answer: &Answer, is_ordered: bool) -> Verdict {
        if let Some(number) = answer.error_number() {
            return Verdict::Error(number);
        }
        Verdict::Rows(rows_as_text(answer, is_ordered))
    }
}

/// The rows of an answer, sorted where they come in no order.
fn rows_as_text(answer: &Answer, is_ordered: bool) -> Vec<String> {
    let mut rows: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
    if !is_ordered {
        rows.sort_unstable();
    }
    rows
}

/// The statements of a world and what is found.
struct Court {
    client: Client,
    found: Arc<Latch<Vec<String>>>,
    tables: Vec<Table>,
}

impl Court {
    fn hold(&mut self, seed: u64) {
        let mut rng = Rng::named(seed, "plans");
        let is_large = rng.chance(1, 20);
        let count = 2 + rng.below(2);
        for number in 0..count {
            let rows = match rng.below(10) {
                0 => rng.below(2),
                _ if is_large && number == 0 => *columns::pick(&mut rng, &LARGE_ROWS),
                _ => 1 + rng.below(ROWS),
            };
            let table = Table::draw(&mut rng, number, rows);
            self.make(&table);
            self.tables.push(table);
        }
        let share = if is_large { 4 } else { 1 };
        for _ in 0..QUERIES / share {
            self.judge_query(&mut rng, is_large);
        }
        for _ in 0..CHANGES / share {
            self.judge_change(&mut rng, is_large);
        }
        let check = self.client.execute("DBCC CHECKDB WITH NO_INFOMSGS");
        if !check.errors.is_empty() {
            self.tell(&format!("CHECKDB: {}", check.error_text()));
        }
    }

    fn make(&mut self, table: &Table) {
        for text in &table.making {
            let answer = self.client.execute(text);
            if !answer.errors.is_empty() {
                self.tell(&format!("{text}: {}", answer.error_text()));
            }
        }
        for text in &table.indexes {
            // What a type or a filter does not allow is refused.
            let answer = self.client.execute(text);
            let is_made = if answer.errors.is_empty() { "made" } else { "refused" };
            os::sim::reach(|| format!("an index is {is_made}"));
        }
    }

    /// A violation, and the statements that lead to it.
    fn tell(&self, what: &str) {
        let mut text = what.to_owned();
        for table in &self.tables {
            table.making.iter().chain(&table.indexes).for_each(|made| text.push_str(&format!("\n{made};")));
        }
        self.found.lock().push(text);
    }

    fn judge_query(&mut self, rng: &mut Rng, is_large: bool) {
        let select = queries::select(rng, &self.tables, is_large);
        let run = |court: &mut Court, variant: &Variant| {
            let text = format!("{} {}{}", select.declarations, select.text, option(variant));
            Verdict::of(&court.client.execute(&text), select.is_ordered)
        };
        let text = format!("{} {}", select.declarations, select.text);
        self.judge(rng, ("query", &text), is_large, run);
    }

    fn judge_change(&mut self, rng: &mut Rng, is_large: bool) {
        let change = changes::change(rng, &self.tables, is_large);
        let name = self.tables[change.table].name.clone();
        let run = |court: &mut Court, variant: &Variant| {
            let text =
                format!("{} {}{}; SELECT @@ROWCOUNT", change.declarations, change.text, option(variant));
            court.client.must("BEGIN TRAN");
            let answer = court.client.execute(&text);
            let mut verdict = Verdict::of(&answer, false);
            if let Verdict::Rows(rows) = &mut verdict {
                let after = court.client.must(&format!("SELECT * FROM {name}{}", option(&variants::naive())));
                rows.extend(rows_as_text(&after, false));
            }
            court.client.must("IF @@TRANCOUNT > 0 ROLLBACK");
            verdict
        };
        let text = format!("{} {}", change.declarations, change.text);
        self.judge(rng, ("change", &text), is_large, run);
    }

    /// Runs a statement in all ways and compares what they give.
    fn judge(
        &mut self,
        rng: &mut Rng,
        (kind, text): (&str, &str),
        is_large: bool,
        mut run: impl FnMut(&mut Court, &Variant) -> Verdict,
    ) {
        let naive = run(self, &variants::naive());
        let mut agreed = match &naive {
            Verdict::Rows(rows) => {
                os::sim::reach(|| {
                    format!("a {kind} gives {}", if rows.is_empty() { "no rows" } else { "rows" })
                });
                Some(naive.clone())
            }
            Verdict::Error(number) => {
                os::sim::reach(|| format!("a {kind} fails naively: {number}"));
                None
            }
        };
        for variant in variants::others(rng, is_large) {
            let verdict = run(self, &variant);
            let is_right = match (&agreed, &verdict) {
                (Some(agreed), verdict) => agreed == verdict,
                // Nothing says what is right, until a plan succeeds.
                (None, Verdict::Rows(_)) => {
                    agreed = Some(verdict.clone());
                    true
                }
                (None, Verdict::Error(_)) => true,
            };
            let may_fail = matches!(naive, Verdict::Error(_)) && matches!(verdict, Verdict::Error(_));
            if !is_right && !may_fail {
                let agreed = agreed.as_ref().unwrap_or(&naive);
                let (given, wanted) = (told(&verdict), told(agreed));
                self.tell(&format!("is {given}, not {wanted}: {text}{}", option(&variant)));
                return;
            }
        }
    }
}

/// The first rows of a verdict.
fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Error(number) => format!("error {number}"),
        Verdict::Rows(rows) => {
            let first: Vec<&str> = rows.iter().take(12).map(String::as_str).collect();
            format!("{} rows: {}", rows.len(), first.join(" "))
        }
    }
}
