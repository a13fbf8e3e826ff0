//! Scenario `files`: sessions commit small transactions with savepoints in a small log that wraps and grows. Tasks are stalled in the middle of
//! an append (`World::stall_tasks`), while one client creates and drops large tables, shrinks the data file, adds, empties and removes a
//! second one, and runs checkpoints. The server dies soon after files have changed; restart, judge; repeat.
//!
//! Oracles (F1, F2, F9, F10, F26 of the reliability plan): the database opens and is consistent, whichever append was in progress when a checkpoint
//! began and pages were deallocated; a prefix of each client's transactions exists, with all acknowledged ones where commits are full; changes
//! rolled back to a savepoint do not exist; a file exists or not as was acknowledged.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use session::SessionShared;

use crate::client::{Client, shared};
use crate::nemesis::Nemesis;
use crate::recovery::{self, Disturbance};
use crate::{Outcome, prepared};

const DATA: &str = "/data";
const SECOND_FILE: &str = "/data/second.ndf";
/// Limit of the clients; each has rows of its own.
const CLIENTS: usize = 7;
/// The longest stall of a task: longer than a checkpoint takes.
const STALL_NS: u64 = 400_000_000;

/// Attempted and acknowledged commits, kept outside the world.
#[derive(Default)]
struct Ledger {
    /// For each client the number of the last transaction attempted, and of the last acknowledged.
    tried: [i64; CLIENTS],
    acknowledged: [i64; CLIENTS],
    /// Whether the second file is there; `None`: it was being added or removed.
    second: Option<bool>,
    sightings: Vec<String>,
}

type Shared = Arc<Latch<Ledger>>;

/// The settings that all lives of a world share.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// All commits are delayed; else all are full.
    is_forced: bool,
    /// One task in so many is stalled.
    one_in: u64,
    /// The stall point.
    on: &'static str,
    /// One client runs checkpoints all the time.
    has_checkpoints: bool,
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "files scenario");
    let one_in = if rng.chance(1, 2) { 2 + rng.below(5) } else { 6 + rng.below(60) };
    // "" is any point: a stalled task has latched a page, for which checkpoints wait. At "entering" that page is often clean.
    let on = ["", "", "entering", "noting"][rng.below(4) as usize];
    let kind = Kind { is_forced: rng.chance(1, 2), one_in, on, has_checkpoints: rng.chance(1, 3) };
    let ledger: Shared =
        Arc::new(Latch::new(LatchRank::Leaf, Ledger { second: Some(false), ..Ledger::default() }));
    let mut outcome = Outcome::new(seed);
    for generation in 1..=1 + rng.below(3) {
        let nemesis = if rng.chance(2, 3) { Nemesis::None } else { Nemesis::draw(&mut rng, 900, 9_000) };
        nemesis.arm(&world);
        let clients = 2 + rng.below(CLIENTS as u64 - 1) as usize;
        outcome.log.push(format!("generation {generation}: {clients} clients, {kind:?}, {nemesis:?}"));
        live(&world, &ledger, (kind, clients), &mut outcome);
        recover(&world, &ledger, kind, &mut rng, &mut outcome);
        outcome.violations.append(&mut ledger.lock().sightings);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.acknowledged = ledger.lock().acknowledged.iter().sum::<i64>().unsigned_abs();
    outcome.reached = world.reached();
    outcome
}

/// A disk with the database on it, made once in the process in a world of its own.
fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    let make = || {
        prepared::disk(open, |mut client, _| {
            client.must(
                "CREATE DATABASE works ON (NAME = works, FILENAME = '/data/works.mdf', SIZE = 1MB, FILEGROWTH = 256KB) \
                 LOG ON (NAME = works_log, FILENAME = '/data/works.ldf', SIZE = 512KB, FILEGROWTH = 512KB)",
            );
            client.must("USE works");
            (0..CLIENTS).for_each(|number| {
                let columns = "number bigint NOT NULL PRIMARY KEY, payload varchar(2000) NOT NULL";
                client.must(&format!("CREATE TABLE steps{number} ({columns})"));
            });
            client.close();
        })
    };
    PREPARED.get_or_init(make).clone()
}

fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions { buffer_pool_bytes: 2 << 20, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server.
fn live(world: &World, ledger: &Shared, (kind, clients): (Kind, usize), outcome: &mut Outcome) {
    let ledger = Arc::clone(ledger);
    let device = world.clone();
    let report = world.run(move |os| {
        let instance = open(os).unwrap_or_else(|error| panic!("opening what was recovered: {error}"));
        let sessions = shared(&instance);
        let durability = if kind.is_forced { "FORCED" } else { "DISABLED" };
        let mut client = Client::connect(&sessions, "works").expect("works");
        client.must(&format!("ALTER DATABASE works SET DELAYED_DURABILITY = {durability}"));
        client.close();
        device.stall_tasks(kind.one_in, STALL_NS, kind.on);
        let mut tasks = Vec::new();
        for number in 0..clients {
            let (sessions, ledger) = (sessions.clone(), Arc::clone(&ledger));
            let rng = os.rng(&format!("committer {number}"));
            let committer = move || commit(&sessions, &ledger, number, rng);
            tasks.push(os.spawn(&format!("committer {number}"), committer));
        }
        if kind.has_checkpoints {
            let (task, sessions) = (os.clone(), sessions.clone());
            tasks.push(os.spawn("checkpoints", move || checkpoint(&task, &sessions)));
        }
        let has_checkpoints = kind.has_checkpoints;
        let keeper =
            Keeper { os: os.clone(), world: device.clone(), ledger, rng: os.rng("keeper"), has_checkpoints };
        tasks.push(os.spawn("keeper", move || keeper.run(&sessions)));
        for task in tasks {
            let _ = task.join();
        }
        device.stall_tasks(0, 0, "");
        instance.shutdown();
    });
    world.stall_tasks(0, 0, "");
    outcome.note(&report);
}

/// A client: transactions of two rows, one of which is rolled back to a savepoint.
fn commit(sessions: &SessionShared, ledger: &Shared, number: usize, mut rng: Rng) {
    let mut client = Client::connect(sessions, "works").expect("works");
    for _ in 0..20 + rng.below(40) {
        let step = {
            let mut ledger = ledger.lock();
            ledger.tried[number] += 1;
            ledger.tried[number]
        };
        let row = |key: i64, length: u64| {
            format!("INSERT steps{number} VALUES ({key}, REPLICATE('s', {length})); ")
        };
        let mut text = format!("BEGIN TRAN; {}SAVE TRAN here; ", row(step, 1 + rng.below(60)));
        if rng.chance(2, 3) {
            text += &format!("{}ROLLBACK TRAN here; ", row(-step, 1 + rng.below(1_900)));
        }
        if step > 20 && rng.chance(1, 2) {
            text += &format!("UPDATE steps{number} SET payload = 'again' WHERE number = {}; ", step - 20);
        }
        let answer = client.execute(&format!("{text}COMMIT"));
        if !answer.errors.is_empty() {
            ledger.lock().sightings.push(format!("committer {number}: {}", answer.error_text()));
            return;
        }
        ledger.lock().acknowledged[number] = step;
    }
    client.close();
}

fn checkpoint(os: &Os, sessions: &SessionShared) {
    let mut client = Client::connect(sessions, "works").expect("works");
    let mut rng = os.rng("checkpoints");
    for _ in 0..20 + rng.below(60) {
        let _ = os.sleep(rng.below(STALL_NS / 4), WaitType::SLEEP_TASK);
        client.must("CHECKPOINT");
    }
    client.close();
}

/// The client that fills the end of the data files and shrinks them.
struct Keeper {
    os: Os,
    world: World,
    ledger: Shared,
    rng: Rng,
    has_checkpoints: bool,
}

impl Keeper {
    fn run(mut self, sessions: &SessionShared) {
        let mut client = Client::connect(sessions, "works").expect("works");
        for _ in 0..1 + self.rng.below(4) {
            let is_done = match self.rng.below(3) {
                0 => self.add_and_remove(&mut client),
                _ => self.shrink(&mut client),
            };
            if !is_done {
                return;
            }
            // Soon after the files have changed, before or after a checkpoint of another client.
            let pause_ns_max = if self.rng.chance(1, 2) { 50_000_000 } else { 400_000_000 };
            // Mostly no checkpoint if no other client runs any: the next one would hide the effects of the previous one.
            let checkpoints = if self.has_checkpoints { self.rng.below(4) } else { self.rng.below(6) / 5 };
            for _ in 0..checkpoints {
                let pause_ns = self.rng.below(pause_ns_max);
                let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
                self.ask(&mut client, "CHECKPOINT");
            }
            match self.rng.below(5) {
                0 => self.world.kill_process(),
                1 => self.world.power_off(),
                2 => self.world.power_off_after_ios(1 + self.rng.below(12)),
                3 => self.world.kill_after_switches(1 + self.rng.below(60)),
                _ => {}
            }
        }
        client.close();
    }

    /// Fills the end of the first file and empties it: redo from the last checkpoint then has many pages to process.
    fn shrink(&mut self, client: &mut Client) -> bool {
        let rows = 60 + self.rng.below(100);
        let text = format!(
            "DROP TABLE IF EXISTS big; CREATE TABLE big (i int NOT NULL PRIMARY KEY, v char(5000) NOT NULL); \
             INSERT big SELECT TOP ({rows}) ROW_NUMBER() OVER (ORDER BY name), 'x' FROM sys.all_columns; \
             UPDATE big SET v = 'y' WHERE i % 3 = 0; DROP TABLE big"
        );
        self.ask(client, &text) && self.ask(client, "DBCC SHRINKFILE (works, TRUNCATEONLY) WITH NO_INFOMSGS")
    }

    fn add_and_remove(&mut self, client: &mut Client) -> bool {
        let is_there = self.ledger.lock().second;
        if is_there != Some(true) {
            self.ledger.lock().second = None;
            let file = format!("NAME = second, FILENAME = '{SECOND_FILE}', SIZE = 512KB, FILEGROWTH = 256KB");
            if !self.ask(client, &format!("ALTER DATABASE works ADD FILE ({file})")) {
                return false;
            }
            self.ledger.lock().second = Some(true);
            if self.rng.chance(1, 2) {
                let _ = self.os.sleep(self.rng.below(100_000_000), WaitType::SLEEP_TASK);
            }
        }
        let emptied = client.execute("DBCC SHRINKFILE (second, EMPTYFILE) WITH NO_INFOMSGS");
        if !emptied.errors.is_empty() {
            return self.explains(&emptied.errors, &[2555, 1205], "EMPTYFILE");
        }
        self.ledger.lock().second = None;
        let removed = client.execute("ALTER DATABASE works REMOVE FILE second");
        let is_removed = removed.errors.iter().all(|error| error.severity <= 10);
        self.ledger.lock().second = Some(!is_removed);
        is_removed || self.explains(&removed.errors, &[5042], "REMOVE FILE")
    }

    fn ask(&self, client: &mut Client, text: &str) -> bool {
        let answer = client.execute(text);
        answer.errors.is_empty() || self.explains(&answer.errors, &[], text)
    }

    fn explains(&self, errors: &[types::SqlError], expected: &[i32], what: &str) -> bool {
        let strange = errors.iter().find(|error| !expected.contains(&error.number) && error.number != 3621);
        if let Some(error) = strange {
            self.ledger.lock().sightings.push(format!("keeper: {what}: {}: {}", error.number, error.message));
        }
        strange.is_none()
    }
}

/// Restarts and judges what is there.
fn recover(world: &World, ledger: &Shared, kind: Kind, rng: &mut Rng, outcome: &mut Outcome) {
    const DISTURBANCE: Disturbance = Disturbance { one_in: 4, ios_max: 120 };
    if let Some(shown) = recovery::recover(world, rng, &DISTURBANCE, outcome, show) {
        judge(&mut ledger.lock(), &shown, kind, &mut outcome.violations);
    }
}

/// For each client the number of rows, with the least and the greatest number; and whether the second file exists.
type Shown = (Vec<(i64, i64, i64)>, bool);

fn show(os: &Os) -> Result<Shown, String> {
    let instance = open(os)?;
    let mut client = Client::connect(&shared(&instance), "works").map_err(|error| error.message.clone())?;
    let sound = client.execute("DBCC CHECKDB (works) WITH NO_INFOMSGS");
    if !sound.errors.is_empty() {
        return Err(sound.error_text());
    }
    let mut steps = Vec::new();
    for number in 0..CLIENTS {
        let count =
            format!("SELECT COUNT_BIG(*), ISNULL(MIN(number), 1), ISNULL(MAX(number), 0) FROM steps{number}");
        let rows = client.execute(&count).numbers()?;
        let row = rows.first().ok_or_else(|| format!("steps{number} cannot be read"))?;
        steps.push((row[0], row[1], row[2]));
    }
    let second = client.execute("SELECT COUNT(*) FROM sys.database_files WHERE name = 'second'").numbers()?;
    let is_there = second.first().is_some_and(|row| row[0] == 1);
    if os.disk().exists(Path::new(SECOND_FILE)) != is_there {
        return Err(format!(
            "the second file is among those of the database: {is_there}; the disk disagrees"
        ));
    }
    client.close();
    instance.shutdown();
    Ok((steps, is_there))
}

fn judge(ledger: &mut Ledger, (steps, is_there): &Shown, kind: Kind, violations: &mut Vec<String>) {
    for (number, &(count, least, greatest)) in steps.iter().enumerate() {
        if least < 1 || count != greatest {
            violations.push(format!("STEPS: {count} rows of client {number}, from {least} to {greatest}"));
        }
        let (tried, acknowledged) = (ledger.tried[number], ledger.acknowledged[number]);
        let must = if kind.is_forced { 0 } else { acknowledged };
        if greatest > tried || greatest < must {
            violations.push(format!(
                "STEPS: client {number} has {greatest}, tried {tried}, {acknowledged} acknowledged"
            ));
        }
        // The client continues after the last row found.
        ledger.tried[number] = greatest;
        ledger.acknowledged[number] = greatest;
    }
    if ledger.second.is_some_and(|known| known != *is_there) {
        violations.push(format!("FILE: the second is there: {is_there}, acknowledged: {:?}", ledger.second));
    }
    ledger.second = Some(*is_there);
}
