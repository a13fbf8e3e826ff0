//! Scenario `plans`: any query over any tables gives the same rows however it is planned: naively, with each rule of the optimizer alone, with all of
//! them, and with any. INSERT, UPDATE, DELETE and MERGE leave the same tables.
//!
//! Oracle (F11): the naive plan, which reads tables from end to end and judges conditions where they were written. Rows are compared as multisets, in
//! order where ORDER BY goes down to a key. Where the naive plan fails another may succeed, since nothing asks for the row that fails; where it
//! succeeds, all do. Plans that succeed agree with each other. In the end DBCC CHECKDB passes.

mod changes;
mod columns;
mod constants;
mod indexed;
mod modules;
mod predicates;
mod queries;
mod statements;
mod tables;
mod values;
mod variants;

use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng};

use self::changes::Change;
use self::tables::Table;
use self::variants::{Variant, option};
use crate::client::{Answer, Client, shared};
use crate::{Outcome, prepared};

const DATA: &str = "/data";
/// Statements of a world.
const QUERIES: u64 = 60;
const CHANGES: u64 = 18;
const BRANCHINGS: u64 = 4;
/// Small tables have up to so many rows.
const ROWS: u64 = 40;
/// In some worlds a table has one of these numbers of rows: about as many as a page has room for, and those around which locks escalate.
const LARGE_ROWS: [u64; 4] = [120, 250, 5_000, 5_001];
/// In few worlds a table has so many.
const HUGE_ROWS: u64 = 100_000;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    // A statement that changes many rows takes many of them.
    let profile = Profile { switches_max: 400_000_000, ..Profile::nvme() };
    let world = World::with_disk(seed, profile, prepared_disk());
    world.plant(bug);
    let mut outcome = Outcome::new(seed);
    let found = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let seen = Arc::clone(&found);
    let report = world.run(move |os| {
        let instance = open(os).expect("a prepared disk");
        let sessions = shared(&instance);
        let client = Client::connect(&sessions, "plans").expect("its database");
        let mut court = Court { client, found: seen, tables: Vec::new(), judged: 0, is_inside: false };
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

/// How many rows the first table of a world has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
    Huge,
}

impl Size {
    fn draw(rng: &mut Rng) -> Size {
        match rng.below(240) {
            0 => Size::Huge,
            1..=12 => Size::Large,
            _ => Size::Small,
        }
    }

    fn rows(self, rng: &mut Rng) -> u64 {
        if self == Size::Huge { HUGE_ROWS } else { *values::pick(rng, &LARGE_ROWS) }
    }

    /// One of so many statements is judged.
    fn share(self) -> u64 {
        match self {
            Size::Small => 1,
            Size::Large => 9,
            Size::Huge => 18,
        }
    }
}

/// The statements of a world and what is found.
struct Court {
    client: Client,
    found: Arc<Latch<Vec<String>>>,
    tables: Vec<Table>,
    /// Statements so far.
    judged: u64,
    /// The transaction that has made the tables goes on.
    is_inside: bool,
}

impl Court {
    fn hold(&mut self, seed: u64) {
        let mut rng = Rng::named(seed, "plans");
        let size = Size::draw(&mut rng);
        self.is_inside = rng.chance(1, 6);
        let (count, pool) = (2 + rng.below(2), columns::pool(&mut rng));
        for number in 0..count {
            let rows = match rng.below(10) {
                _ if size != Size::Small && number == 0 => size.rows(&mut rng),
                0 => rng.below(2),
                _ => 1 + rng.below(ROWS),
            };
            self.tables.push(Table::draw(&mut rng, number, rows, &pool));
        }
        self.make_all();
        for _ in 0..QUERIES / size.share() {
            self.judge_query(&mut rng, size);
        }
        for _ in 0..BRANCHINGS / size.share() {
            self.judge_branching(&mut rng);
        }
        for _ in 0..CHANGES / size.share() {
            let change = changes::change(&mut rng, &self.tables, size != Size::Small);
            self.judge_change(&mut rng, change, size);
        }
        if size != Size::Small {
            let change = changes::delete_all(&mut rng, &self.tables, 0);
            self.judge_change(&mut rng, change, size);
        }
        self.judge_modules(seed, size);
        self.client.must("IF @@TRANCOUNT > 0 COMMIT");
        let check = self.client.execute("DBCC CHECKDB WITH NO_INFOMSGS");
        if !check.errors.is_empty() {
            self.tell(&format!("CHECKDB: {}", check.error_text()));
        }
    }

    /// Makes the tables: once, or in the transaction in which all is judged.
    fn make_all(&mut self) {
        if self.is_inside {
            self.client.must("BEGIN TRAN");
        }
        for table in std::mem::take(&mut self.tables) {
            self.make(&table);
            self.tables.push(table);
        }
        if self.is_inside && !self.is_in_transaction() {
            // An index has been refused in a way that ends the transaction.
            self.is_inside = false;
            self.client.must("DROP TABLE IF EXISTS t0, t1, t2");
            self.make_all();
        }
    }

    fn is_in_transaction(&mut self) -> bool {
        self.client.must("SELECT @@TRANCOUNT").numbers() != Ok(vec![vec![0]])
    }

    /// Makes the tables again where an error has rolled them back.
    fn make_again(&mut self) {
        if self.is_inside && !self.is_in_transaction() {
            self.make_all();
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

    fn judge_query(&mut self, rng: &mut Rng, size: Size) {
        let select = statements::select(rng, &self.tables, size != Size::Small);
        let run = |court: &mut Court, variant: &Variant| {
            let text = format!("{} {}{}", select.declarations, select.text, option(variant));
            court.make_again();
            Verdict::of(&court.client.execute(&text), select.is_ordered)
        };
        let text = format!("{} {}", select.declarations, select.text);
        let Some(within) = &select.within else {
            return self.judge(rng, ("query", &text), size, run);
        };
        let whole = format!("{} {within}{}", select.declarations, option(&variants::naive()));
        let whole = Verdict::of(&self.client.execute(&whole), false);
        // What the groups are is known; which of them HAVING leaves may differ.
        self.judge_within(rng, &text, &whole, run);
    }

    /// Runs an IF, which takes no hints, and compares the branch that runs with what the naive plan says of its condition. Where the condition fails no
    /// branch runs.
    fn judge_branching(&mut self, rng: &mut Rng) {
        let (declarations, condition) = statements::branching(rng, &self.tables);
        self.judged += 1;
        self.make_again();
        let naive = option(&variants::naive());
        let told_naively =
            format!("{declarations} SELECT CASE WHEN {condition} THEN 1 ELSE 0 END AS x{naive}");
        let naive = Verdict::of(&self.client.execute(&told_naively), false);
        self.make_again();
        let text = format!("{declarations} IF {condition} SELECT 1 AS x ELSE SELECT 0 AS x");
        let answer = self.client.execute(&text);
        let verdict = Verdict::of(&answer, false);
        os::sim::reach(|| format!("an IF {}", if answer.errors.is_empty() { "chooses" } else { "fails" }));
        let may_fail =
            matches!(naive, Verdict::Error(_)) || stops_early(&text) || is_out_of_range(&verdict, &text);
        let is_right = match &verdict {
            Verdict::Error(_) => may_fail && answer.rows.is_empty(),
            Verdict::Rows(_) => matches!(naive, Verdict::Error(_)) || verdict == naive,
        };
        if !is_right {
            let (number, given, rows) = (self.judged, told(&verdict), answer.rows.len());
            self.tell(&format!(
                "statement {number} is {given} with {rows} rows, not {}: {text}",
                told(&naive)
            ));
        }
    }

    fn judge_change(&mut self, rng: &mut Rng, change: Change, size: Size) {
        let name = self.tables[change.table].name.clone();
        let run = |court: &mut Court, variant: &Variant| {
            let text =
                format!("{} {}{}; SELECT @@ROWCOUNT", change.declarations, change.text, option(variant));
            court.make_again();
            court.client.must(if court.is_inside { "SAVE TRAN before" } else { "BEGIN TRAN" });
            let answer = court.client.execute(&text);
            let mut verdict = Verdict::of(&answer, false);
            if let Verdict::Rows(rows) = &mut verdict {
                let after = court.client.must(&format!("SELECT * FROM {name}{}", option(&variants::naive())));
                rows.extend(rows_as_text(&after, false));
            }
            let place = if court.is_inside { " TRAN before" } else { "" };
            court.client.must(&format!("IF @@TRANCOUNT > 0 ROLLBACK{place}"));
            if change.is_of_all && !matches!(&verdict, Verdict::Rows(rows) if rows.len() == 1) {
                let number = court.judged;
                court.tell(&format!("statement {number} is {}, not all rows: {text}", told(&verdict)));
            }
            verdict
        };
        let text = format!("{} {}", change.declarations, change.text);
        self.judge(rng, ("change", &text), size, run);
    }

    /// Runs a statement in all ways and looks for what each gives among the rows of `whole`.
    fn judge_within(
        &mut self,
        rng: &mut Rng,
        text: &str,
        whole: &Verdict,
        mut run: impl FnMut(&mut Court, &Variant) -> Verdict,
    ) {
        self.judged += 1;
        if matches!(whole, Verdict::Error(_)) {
            return;
        }
        let naive = run(self, &variants::naive());
        for variant in variants::others(rng, false) {
            let verdict = run(self, &variant);
            let may_fail = matches!(naive, Verdict::Error(_)) && matches!(verdict, Verdict::Error(_))
                || is_out_of_range(&verdict, text);
            if !may_fail && !is_among(&verdict, whole) {
                let (number, given, wanted) = (self.judged, told(&verdict), told(whole));
                self.tell(&format!(
                    "statement {number} is {given}, not among {wanted}: {text}{}",
                    option(&variant)
                ));
                return;
            }
        }
    }

    /// Runs a statement in all ways and compares what they give.
    fn judge(
        &mut self,
        rng: &mut Rng,
        (kind, text): (&str, &str),
        size: Size,
        mut run: impl FnMut(&mut Court, &Variant) -> Verdict,
    ) {
        self.judged += 1;
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
        for variant in variants::others(rng, size != Size::Small) {
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
            let may_fail = matches!(verdict, Verdict::Error(_))
                && (matches!(naive, Verdict::Error(_))
                    || verdict == DIVIDED_BY_ZERO && stops_early(text)
                    || is_out_of_range(&verdict, text));
            if !is_right && !may_fail {
                let agreed = agreed.as_ref().unwrap_or(&naive);
                let (given, wanted) = (told(&verdict), told(agreed));
                let number = self.judged;
                self.tell(&format!(
                    "statement {number} is {given}, not {wanted}: {text}{}",
                    option(&variant)
                ));
                return;
            }
        }
    }
}

/// 10 divided by a column.
const DIVIDED_BY_ZERO: Verdict = Verdict::Error(8134);

/// Constants that datetime or smalldatetime has no room for.
const DISTANT_DATES: [&str; 2] =
    ["CAST('9999-12-31' AS date)", "date = TRY_CAST(CAST('0001-01-01' AS datetime2(0)) AS date)"];

/// Did it fail since its type has no room for a date? A constant or variable is converted once, also where no row asks for it
/// (docs/optimizer-rules.md).
fn is_out_of_range(verdict: &Verdict, text: &str) -> bool {
    *verdict == Verdict::Error(242) && DISTANT_DATES.iter().any(|date| text.contains(date))
}

/// Does a statement stop at the first row that it finds somewhere? Which rows it has asked until then hangs on their order.
fn stops_early(text: &str) -> bool {
    let stops = ["EXISTS (", "IN (SELECT", "ANY (", "ALL (", "TOP ("];
    text.contains("10 / ") && stops.into_iter().any(|part| text.contains(part))
}

/// Are these rows among those?
fn is_among(verdict: &Verdict, whole: &Verdict) -> bool {
    let (Verdict::Rows(rows), Verdict::Rows(whole)) = (verdict, whole) else { return false };
    let mut left = whole.iter();
    // Both are sorted.
    rows.iter().all(|row| left.any(|one| one == row))
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
