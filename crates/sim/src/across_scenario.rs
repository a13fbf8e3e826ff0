//! Scenario `across`: transactions over drawn sets of one instance's databases: one to three user databases, with or without master, in
//! varying order. Checkpoints run, and little memory forces page writes. Crash, restart (which may crash, too), judge; repeat.
//!
//! Each transaction inserts a row with its number into each of its databases and increments a counter there. Oracles: a transaction is in all of its
//! databases or in none, and in no other; acknowledged ones stay; rolled back ones are nowhere; the counters agree with the rows; the state that
//! one recovery has shown stays; no lock and no commit decision is left over.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use engine::{
    Database, Instance, InstanceOptions, IsolationLevel, KeyRange, NewColumn, NewConstraint, NewTable,
    ObjectDef, RowChange, RowLock, ScanOptions, SqlResult, Table, TransactionSet,
};
use os::sim::{Bug, DiskImage, Fault, Operation, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use types::{Collation, SqlType, Value};

use crate::nemesis::{Nemesis, Trouble};
use crate::{Outcome, survival};

const NAMES: [&str; 4] = ["a", "b", "c", "master"];
const DATA: &str = "/across";
/// Where a log begins to fail in some lives: the commit decision has been made, and the databases have not recorded it yet.
const DECIDED: &str = "between deciding and ending";
/// The longest stall of a commit at that point: meanwhile other tasks find that the log has failed.
const STALL_NS: u64 = 20_000_000;
/// The counter's key; transactions have higher numbers.
const COUNTER: i32 = 0;

/// Progress of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not answered yet, or the commit failed midway: all or nothing.
    Open,
    RolledBack,
    Acknowledged,
}

/// Attempted and acknowledged transactions, kept outside the world: by number, the databases (bits) and the stage.
#[derive(Default)]
struct AcrossLedger {
    tried: BTreeMap<i32, (u8, Stage)>,
}

type Ledger = Arc<Latch<AcrossLedger>>;
/// By database: the counter, and the numbers of the rows.
type Found = Vec<(i32, Vec<i32>)>;

impl AcrossLedger {
    fn set(&mut self, number: i32, stage: Stage) {
        self.tried.get_mut(&number).expect("it was begun").1 = stage;
    }

    fn acknowledged(&self) -> u64 {
        self.tried.values().filter(|(_, stage)| *stage == Stage::Acknowledged).count() as u64
    }

    /// Judges what recovery found, and takes it as the durable state.
    fn judge(&mut self, found: &Found) -> Vec<String> {
        let mut violations = Vec::new();
        let mut present: BTreeMap<i32, u8> = BTreeMap::new();
        for (at, (counter, rows)) in found.iter().enumerate() {
            if *counter != rows.len() as i32 {
                violations.push(format!("TORN: {} counts {counter} and has {} rows", NAMES[at], rows.len()));
            }
            rows.iter().for_each(|number| *present.entry(*number).or_default() |= 1 << at);
        }
        for (number, there) in &present {
            match self.tried.get(number) {
                None => violations.push(format!("PHANTOM: {number} in {there:04b}")),
                Some((_, Stage::RolledBack)) => {
                    violations.push(format!("PHANTOM: {number} was rolled back, is in {there:04b}"));
                }
                Some((wanted, _)) if wanted != there => {
                    violations.push(format!("TORN: {number} is in {there:04b} of {wanted:04b}"));
                }
                Some(_) => {}
            }
        }
        for (number, (wanted, stage)) in &mut self.tried {
            let is_there = present.contains_key(number);
            if *stage == Stage::Acknowledged && !is_there {
                violations.push(format!("LOST: {number} in {wanted:04b}"));
            }
            *stage = if is_there { Stage::Acknowledged } else { Stage::RolledBack };
        }
        violations
    }
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared());
    world.plant(bug);
    let mut rng = Rng::named(seed, "across scenario");
    let mut troubles = Rng::named(seed, "across recoveries");
    // A stream of its own, so that the seeds of the corpus keep their meaning.
    let mut ambushes = Rng::named(seed, "across ambushes");
    let ledger: Ledger = Arc::new(Latch::new(LatchRank::Leaf, AcrossLedger::default()));
    let mut outcome = Outcome::new(seed);
    for generation in 0..1 + rng.below(3) as i32 {
        let mut nemesis = Nemesis::draw(&mut rng, 260, 6_000);
        let victim = ambush(&world, &mut ambushes);
        // A failure at that point needs a few commits before it.
        match ambushes.below(4) {
            0 | 1 if victim.is_some() => nemesis = Nemesis::None,
            2 if victim.is_some() => nemesis = Nemesis::PowerOffAtIo(400 + ambushes.below(600)),
            _ => {}
        }
        nemesis.arm(&world);
        let trouble = Trouble::draw(&mut rng, 240);
        trouble.arm(&world);
        let mut tellers = 1 + rng.below(4) as i32;
        if victim.is_some() {
            tellers = tellers.max(3);
        }
        outcome.log.push(format!(
            "generation {generation}, {tellers} tellers, {trouble:?} {nemesis:?}, ambush: {victim:?}"
        ));
        let plan = Plan { generation, tellers, may_fail: trouble.makes_errors() || victim.is_some(), victim };
        let report = live(&world, &ledger, plan);
        outcome.note(&report);
        world.call_off();
        world.stall_tasks(0, 0, "");
        Trouble::heal(&world);
        outcome.acknowledged += ledger.lock().acknowledged();
        recover(&world, &ledger, (&mut rng, &mut troubles), &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.reached = world.reached();
    outcome
}

/// In most lives the log of one database fails for good when a decided commit is about to end; the other databases work on. Returns that database.
fn ambush(world: &World, rng: &mut Rng) -> Option<usize> {
    if rng.chance(1, 5) {
        return None;
    }
    let victim = rng.below(3) as usize;
    let file = ["/a_log.ldf", "/b_log.ldf", "/c_log.ldf"][victim];
    world.inject_at(DECIDED, 1 + rng.below(4), Fault::fail_from(Operation::Write, 0).on(file));
    world.stall_tasks(1, STALL_NS, DECIDED);
    Some(victim)
}

/// The plan of one life.
#[derive(Clone, Copy)]
struct Plan {
    generation: i32,
    tellers: i32,
    /// The disk causes errors.
    may_fail: bool,
    /// The database whose log is to fail.
    victim: Option<usize>,
}

/// A disk with the databases on it, made once in the process, in a world of its own.
fn prepared() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    let prepare = || {
        let world = World::new(0, Profile::nvme());
        let report = world.run(|os| {
            let instance = open(os).expect("a healthy disk");
            for name in NAMES {
                let new = engine::CreateDatabaseOptions { name: name.into(), ..Default::default() };
                let database = match name {
                    "master" => instance.master(),
                    _ => instance.create_database(&new).expect("a new database"),
                };
                make_table(&instance, &database).expect("a table");
            }
            instance.shutdown();
        });
        report.assert_ok();
        world.disk_image()
    };
    PREPARED.get_or_init(prepare).clone()
}

fn open(os: &Os) -> Result<Arc<Instance>, engine::StorageError> {
    let options =
        InstanceOptions { buffer_pool_bytes: 4 << 20, background: false, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options)
}

fn make_table(instance: &Arc<Instance>, database: &Arc<Database>) -> SqlResult<()> {
    let column = |name: &str, sql_type: SqlType| NewColumn {
        name: name.into(),
        sql_type,
        nullable: false,
        collation: Collation::DEFAULT,
        identity: None,
        default: None,
        computed: None,
        is_rowguidcol: false,
        user_type_id: 0,
    };
    let key = NewConstraint::Key {
        name: None,
        primary: true,
        clustered: None,
        columns: vec![("id".into(), false)],
        settings: engine::IndexSettings::default(),
    };
    let new = NewTable {
        ansi_nulls: true,
        schema: "dbo".into(),
        name: "T".into(),
        columns: vec![
            column("id", SqlType::Int),
            column("n", SqlType::Int),
            column("filler", SqlType::varchar(4_000)),
        ],
        constraints: vec![key],
        indexes: Vec::new(),
    };
    let mut set = TransactionSet::new(instance, 51);
    set.begin_explicit();
    let txn = set.in_database(database, IsolationLevel::ReadCommitted)?;
    let table = database.table(&database.create_table(txn, &new)?);
    table.insert(txn, &row(COUNTER, 0, 0))?;
    set.commit(None)
}

fn row(id: i32, n: i32, filler_bytes: usize) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(n), Value::varchar(&"x".repeat(filler_bytes))]
}

fn table_of(database: &Arc<Database>) -> Option<Table> {
    let id = database.catalog().resolve("dbo", "T")?;
    match database.catalog().object(id)? {
        ObjectDef::Table(definition) => Some(database.table(&definition)),
        ObjectDef::Module(_) | ObjectDef::Sequence(_) => None,
    }
}

/// One life of the process: tasks commit over databases until the nemesis strikes or the work is done.
fn live(world: &World, ledger: &Ledger, plan: Plan) -> os::sim::Report {
    let ledger = Arc::clone(ledger);
    world.run(move |os| {
        let instance = match open(os) {
            Ok(instance) => instance,
            Err(_) if plan.may_fail => return,
            Err(error) => panic!("opening what recovery has just opened: {error}"),
        };
        let mut tasks = Vec::new();
        for number in 0..plan.tellers {
            let (instance, ledger) = (Arc::clone(&instance), Arc::clone(&ledger));
            let rng = os.rng(&format!("teller {number}"));
            let first = 1 + (plan.generation * 8 + number) * 1_000;
            let ambush_rng = os.rng(&format!("teller {number} ambush"));
            let teller = Teller {
                instance,
                ledger,
                rng,
                ambush_rng,
                os: os.clone(),
                next: first,
                may_fail: plan.may_fail,
                victim: plan.victim,
            };
            tasks.push(os.spawn(&format!("teller {number}"), move || teller.run(number)));
        }
        if let Some(victim) = plan.victim {
            let (task, instance) = (os.clone(), Arc::clone(&instance));
            tasks.push(os.spawn("flusher", move || flush(&task, &instance, NAMES[victim])));
        }
        tasks.into_iter().for_each(|task| drop(task.join()));
        instance.shutdown();
    })
}

/// Writes what others have logged, so that a failing log has failed before the stalled commits reach it.
fn flush(os: &Os, instance: &Arc<Instance>, name: &str) {
    for _ in 0..40 {
        let _ = os.sleep(STALL_NS / 5, WaitType::SLEEP_TASK);
        let flushed = instance.database(name).and_then(|database| database.flush_log());
        if flushed.is_err() {
            return;
        }
    }
}

struct Teller {
    os: Os,
    instance: Arc<Instance>,
    ledger: Ledger,
    rng: Rng,
    next: i32,
    may_fail: bool,
    victim: Option<usize>,
    ambush_rng: Rng,
}

impl Teller {
    fn run(mut self, number: i32) {
        let mut set = TransactionSet::new(&self.instance, 51 + number as i16);
        for _ in 0..12 {
            if self.rng.chance(1, 8) {
                let at = self.rng.below(NAMES.len() as u64) as usize;
                let written = self.instance.database(NAMES[at]).and_then(|database| database.checkpoint());
                assert!(written.is_ok() || self.may_fail, "a healthy disk, yet: {written:?}");
            }
            if self.rng.chance(1, 3) {
                let _ = self.os.sleep(self.rng.below(3_000_000), WaitType::SLEEP_TASK);
            }
            if !self.transact(&mut set) {
                // One database may have failed: the next transaction may do without it.
                set = TransactionSet::new(&self.instance, 51 + number as i16);
            }
        }
    }

    /// Runs one transaction; false when something has failed.
    fn transact(&mut self, set: &mut TransactionSet) -> bool {
        let number = self.next;
        self.next += 1;
        let mut company: Vec<usize> = (0..NAMES.len()).filter(|_| self.rng.chance(3, 5)).collect();
        if company.is_empty() {
            company.push(0);
        }
        // Mostly in ascending order; the other order causes deadlocks.
        if self.rng.chance(1, 5) {
            company.reverse();
        }
        if let Some(victim) = self.victim.filter(|victim| !company.contains(victim))
            && self.ambush_rng.chance(3, 4)
        {
            company.push(victim);
            company.sort_unstable();
        }
        let bits = company.iter().fold(0, |bits, at| bits | 1 << at);
        self.ledger.lock().tried.insert(number, (bits, Stage::Open));
        set.begin_explicit();
        let changed = company.iter().try_for_each(|at| self.change(set, NAMES[*at], number));
        let takes_back = self.rng.chance(1, 8);
        let ended = match changed {
            Ok(()) if !takes_back => set.commit(None).map(|()| Stage::Acknowledged),
            Ok(()) => set.rollback().map(|()| Stage::RolledBack),
            Err(error) => set.rollback().and(Err(error)),
        };
        match ended {
            Ok(stage) => self.ledger.lock().set(number, stage),
            Err(error) if error.number == 1205 => self.ledger.lock().set(number, Stage::RolledBack),
            Err(error) => {
                assert!(self.may_fail, "a healthy disk, yet: {error}");
                let _ = set.rollback();
                return false;
            }
        }
        true
    }

    /// Inserts the transaction's row and increments the counter in one database.
    fn change(&mut self, set: &mut TransactionSet, name: &str, number: i32) -> SqlResult<()> {
        let database = self.instance.database(name)?;
        let table = table_of(&database).expect("the table survived");
        let filler_bytes = self.rng.below(600) as usize;
        set.statement_begin();
        let txn = set.in_database(&database, IsolationLevel::ReadCommitted)?;
        table.insert(txn, &row(number, 1, filler_bytes))?;
        let options = ScanOptions { row_lock: RowLock::Update, ..ScanOptions::default() };
        let range = KeyRange::equal(vec![Value::Int(COUNTER)]);
        let mut cursor = table.seek(txn, table.definition().base().index_id, &range, &options, None)?;
        let mut old = Vec::new();
        assert!(cursor.next(txn, &mut old)?, "the counter is there");
        let locator = cursor.locator()?;
        let mut new = old.clone();
        new[1] = Value::Int(old[1].as_i64().expect("a number") as i32 + 1);
        table.update(txn, RowChange { locator: &locator, old: &old, new: &new, changed: &[1] })?;
        set.statement_end()
    }
}

/// Restarts, possibly crashing in the middle of recovery a few times, and judges what is there.
fn recover(world: &World, ledger: &Ledger, (rng, troubles): (&mut Rng, &mut Rng), outcome: &mut Outcome) {
    for attempt in 0..4 {
        let disturbed = attempt < 3 && rng.chance(1, 3);
        let nemesis = if disturbed { Nemesis::PowerOffAtIo(1 + rng.below(120)) } else { Nemesis::None };
        nemesis.arm(world);
        // One database fails and the others recover: its commit decisions must still be found later.
        let fails = (attempt < 3 && troubles.chance(1, 4)).then(|| {
            let file = ["/a.mdf", "/b.mdf", "/c.mdf", "/a_log.ldf", "/b_log.ldf", "/c_log.ldf"];
            let file = file[troubles.below(file.len() as u64) as usize];
            world.inject(Fault::fail_from(Operation::Read, troubles.below(12)).on(file));
            file
        });
        outcome.log.push(format!("recovery {attempt} {nemesis:?}, fails: {fails:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let answer = Arc::clone(&found);
        let report = world.run(move |os| *answer.lock() = Some(show(os)));
        Trouble::heal(world);
        outcome.note(&report);
        let shown = survival::told_to_the_end(report.end, &found);
        match shown {
            None if survival::is_crash(report.end) => continue,
            None => return,
            Some(Err(_)) if fails.is_some() => continue,
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok(found)) => outcome.violations.extend(ledger.lock().judge(&found)),
        }
        return;
    }
}

/// Opens the instance and reads the state that the oracle checks.
fn show(os: &Os) -> Result<Found, String> {
    let instance = open(os).map_err(|error| format!("open: {error}"))?;
    let locked = instance.locks().locked_resource_count();
    if locked > 0 {
        return Err(format!("{locked} resources are locked after recovery"));
    }
    let found = NAMES.iter().map(|name| read(&instance, name)).collect::<Result<Found, String>>();
    instance.shutdown();
    found
}

fn read(instance: &Arc<Instance>, name: &str) -> Result<(i32, Vec<i32>), String> {
    let told = |error: types::SqlError| format!("{name}: {error}");
    let database = instance.database(name).map_err(told)?;
    let table = table_of(&database).ok_or_else(|| format!("{name} has lost its table"))?;
    let mut set = TransactionSet::new(instance, 60);
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).map_err(told)?;
    let base = table.definition().base().index_id;
    let mut cursor = table.scan(txn, base, &ScanOptions::default(), None).map_err(told)?;
    let (mut counter, mut numbers, mut row) = (0, Vec::new(), Vec::new());
    while cursor.next(txn, &mut row).map_err(told)? {
        let int = |at: usize| row[at].as_i64().and_then(|value| i32::try_from(value).ok()).unwrap_or(-1);
        if int(0) == COUNTER { counter = int(1) } else { numbers.push(int(0)) }
    }
    drop(cursor);
    set.rollback().map_err(told)?;
    Ok((counter, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(stage: Stage, found: &[(i32, &[i32])]) -> Vec<String> {
        let mut ledger = AcrossLedger::default();
        ledger.tried.insert(7, (0b011, stage));
        let found = found.iter().map(|(counter, rows)| (*counter, rows.to_vec())).collect();
        let violations = ledger.judge(&found);
        violations.iter().map(|text| text.split(':').next().unwrap_or("").to_owned()).collect()
    }

    #[test]
    fn the_oracle_sees_loss_tears_and_phantoms() {
        let all: [(i32, &[i32]); 3] = [(1, &[7]), (1, &[7]), (0, &[])];
        let none: [(i32, &[i32]); 3] = [(0, &[]), (0, &[]), (0, &[])];
        for stage in [Stage::Open, Stage::Acknowledged] {
            assert!(judged(stage, &all).is_empty());
        }
        assert!(judged(Stage::Open, &none).is_empty() && judged(Stage::RolledBack, &none).is_empty());
        assert_eq!(judged(Stage::Acknowledged, &none), ["LOST"]);
        assert_eq!(judged(Stage::RolledBack, &all), ["PHANTOM"]);
        assert_eq!(judged(Stage::Open, &[(1, &[7]), (0, &[]), (0, &[])]), ["TORN"]);
        assert_eq!(judged(Stage::Open, &[(1, &[7]), (1, &[7]), (1, &[7])]), ["TORN"]);
        assert_eq!(judged(Stage::Open, &[(1, &[7]), (0, &[7]), (0, &[])]), ["TORN"]);
        assert_eq!(judged(Stage::Open, &[(1, &[8]), (0, &[]), (0, &[])]), ["PHANTOM"]);
    }
}
