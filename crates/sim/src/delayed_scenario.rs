//! Scenario `delayed`: sessions commit in every mode (full, delayed, with MAX_WAIT, with their batch) in two databases
//! whose bounds and flush policies change from life to life; they keep their tickets, query their status and wait for them. Crash, restart,
//! judge every ticket ever given; repeat.
//!
//! Oracles (`promises.rs`): full commits and those reported as HARDENED survive; a ticket's status is right after any number of crashes; the
//! acknowledged delayed commits that a crash loses are within MAX_LOSS and MAX_DELAY and a suffix; an orderly stop loses nothing, nor does the
//! death of the process where the log caches survive it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use log::LogLimitsProfile;
use os::sim::{Bug, DiskImage, End, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use session::SessionShared;

use crate::client::{Answer, Client, shared};
use crate::nemesis::{Nemesis, Trouble};
use crate::promises::{Bounds, Commit, Mode, Promises, Question, Shown};
use crate::survival::{self, Survival};
use crate::{Outcome, prepared};

const DATA: &str = "/data";
/// The random stream that decides which worlds have surviving log caches. Its name was chosen so that no seed of the corpus has any.
const SURVIVAL: &str = "delayed cache that outlives 2";
/// The random stream that decides which worlds end between stores; its name was chosen in the same way.
const AT_STORES: &str = "delayed at stores 6";
const DATABASES: [&str; 2] = ["first", "second"];

/// The plan of one life of the server.
#[derive(Clone, Debug)]
struct Plan {
    life: i64,
    clients: i64,
    commits: u64,
    trouble: Trouble,
    /// Options of DELAYED_DURABILITY, by database.
    options: [String; 2],
    bounds: [Bounds; 2],
    /// No background flush: only the bounds limit the loss.
    is_suspended: bool,
    /// No client commits fully, waits or runs a checkpoint: commits at risk stay so.
    is_reckless: bool,
}

type Kept = Arc<Latch<Promises>>;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "delayed scenario");
    let promises: Kept = Arc::new(Latch::new(LatchRank::Leaf, Promises::default()));
    let mut survival = Survival::draw(seed, (SURVIVAL, AT_STORES), true);
    let mut outcome = Outcome::new(seed);
    for life in 1..=1 + rng.below(3) as i64 {
        let nemesis = Nemesis::draw(&mut rng, 300, 4_000);
        let (cache, nemesis) = survival.begin_life(&world, nemesis);
        let trouble = Trouble::draw(&mut rng, 300);
        let plan = draw_plan(&mut rng, life, trouble);
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        let end = live(&world, &promises, (&plan, cache), nemesis, &mut outcome);
        Trouble::heal(&world);
        outcome.acknowledged += promises.lock().acknowledged();
        let cache = survival.end_life(&world, end);
        recover(&world, &promises, (cache, &mut survival), &mut rng, &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.reached = world.reached();
    outcome.reached.insert("acknowledged delayed commits lost".into(), promises.lock().lost_total);
    outcome
}

fn draw_plan(rng: &mut Rng, life: i64, trouble: Trouble) -> Plan {
    let mut bounds = [Bounds::default(); 2];
    let options = [0, 1].map(|at: usize| {
        let drawn = Bounds {
            delay_ms: rng.chance(1, 2).then(|| 1 + rng.below(5)),
            loss_kb: rng.chance(1, 2).then(|| 1 + rng.below(6)),
        };
        bounds[at] = drawn;
        let flush = ["EAGER", "TIMED, FLUSH_INTERVAL = 3 MS", "BLOCK_FULL"][rng.below(3) as usize];
        let (delay, loss) = (drawn.delay_ms.unwrap_or(0), drawn.loss_kb.unwrap_or(0));
        format!("ALLOWED (FLUSH = {flush}, MAX_DELAY = {delay} MS, MAX_LOSS = {loss} KB)")
    });
    Plan {
        life,
        clients: 2 + rng.below(5) as i64,
        commits: 5 + rng.below(30),
        trouble,
        options,
        bounds,
        is_suspended: rng.chance(1, 2),
        is_reckless: rng.chance(1, 2),
    }
}

/// A data directory with the databases, made once in the process, in a world of its own.
fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    PREPARED.get_or_init(prepare).clone()
}

fn prepare() -> DiskImage {
    prepared::disk(
        |os| open(os, None),
        |mut client, _| {
            for database in DATABASES {
                client.must(&format!("CREATE DATABASE {database}"));
                client.must(&format!("CREATE TABLE {database}.dbo.rows (number bigint NOT NULL PRIMARY KEY, filler varchar(700) NOT NULL)"));
            }
            client.close();
        },
    )
}

fn open(os: &Os, log_cache_folder: Option<PathBuf>) -> Result<Arc<Instance>, String> {
    let options =
        InstanceOptions { buffer_pool_bytes: 4 << 20, log_cache_folder, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server: clients commit until the nemesis strikes or the work is done.
fn live(
    world: &World,
    promises: &Kept,
    (plan, log_cache_folder): (&Plan, Option<PathBuf>),
    nemesis: Nemesis,
    outcome: &mut Outcome,
) -> End {
    let (device, kept, plan) = (world.clone(), Arc::clone(promises), plan.clone());
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os, log_cache_folder).expect("opening what recovery has just opened");
        let sessions = shared(&instance);
        set_options(&instance, &sessions, &plan);
        kept.lock().life = plan.life;
        kept.lock().bounds = plan.bounds.to_vec();
        nemesis.arm(&device);
        plan.trouble.arm(&device);
        let start = |number: i64| {
            let committer = Committer {
                os: os.clone(),
                promises: Arc::clone(&kept),
                plan: plan.clone(),
                rng: os.rng(&format!("committer {number}")),
                next_number: (plan.life << 40) | (number << 32),
            };
            let sessions = sessions.clone();
            os.spawn(&format!("committer {number}"), move || committer.run(&sessions))
        };
        let clients: Vec<_> = (0..plan.clients).map(start).collect();
        for client in clients {
            let _ = client.join();
        }
        instance.shutdown();
        if !plan.trouble.makes_errors() {
            kept.lock().drained();
        }
    });
    outcome.note(&report);
    report.end
}

fn set_options(instance: &Arc<Instance>, sessions: &SessionShared, plan: &Plan) {
    let mut client = Client::connect(sessions, "master").expect("master");
    for (database, options) in DATABASES.iter().zip(&plan.options) {
        client.must(&format!("ALTER DATABASE {database} SET DELAYED_DURABILITY = {options}"));
        // Each life uses the log limits of another release; the log asserts at each write that the I/O in progress is within them.
        let release = LogLimitsProfile::ALL[plan.life as usize % LogLimitsProfile::ALL.len()];
        client.must(&format!("ALTER DATABASE {database} SET LOG_LIMITS = {}", release.word()));
        let database = instance.database(database).expect("it is there");
        database.log().suspend_background_flush(plan.is_suspended);
    }
    client.close();
}

/// One session that commits.
struct Committer {
    os: Os,
    promises: Kept,
    plan: Plan,
    rng: Rng,
    next_number: i64,
}

impl Committer {
    fn run(mut self, sessions: &SessionShared) {
        let Ok(mut client) = Client::connect(sessions, "master") else {
            assert!(self.plan.trouble.makes_errors(), "logging in on a healthy disk");
            return;
        };
        for _ in 0..self.plan.commits {
            let is_going = match self.rng.below(12) {
                _ if self.plan.is_reckless => self.commit(&mut client),
                0 => self.ask(&mut client),
                1 => self.wait(&mut client),
                2 => self.simple(&mut client, "CHECKPOINT"),
                3 | 4 => self.batch(&mut client),
                _ => self.commit(&mut client),
            };
            if !is_going {
                break;
            }
            if self.rng.chance(1, 3) {
                let _ = self.os.sleep(self.rng.below(1_500_000), WaitType::SLEEP_TASK);
            }
        }
        client.close();
    }

    /// False when a planned failure makes the session give up; other errors panic.
    fn goes_on(&self, answer: &Answer) -> bool {
        survival::told_by_the_living(&self.os);
        let is_fine = answer.errors.is_empty();
        assert!(is_fine || self.plan.trouble.makes_errors(), "on a healthy disk: {}", answer.error_text());
        is_fine
    }

    fn simple(&self, client: &mut Client, text: &str) -> bool {
        self.goes_on(&client.execute(text))
    }

    /// A new commit in the ledger; its number and the statement that inserts its row.
    fn begin(&mut self, database: usize, mode: Mode) -> (i64, String) {
        let number = self.next_number;
        self.next_number += 1;
        let bytes = 20 + self.rng.below(600);
        let commit = Commit {
            database,
            mode,
            bytes,
            began_ns: self.os.clock().monotonic_ns(),
            told_ns: None,
            life: self.plan.life,
            ticket: None,
            is_hard: false,
            is_lost: false,
        };
        self.promises.lock().begin(number, commit);
        let text =
            format!("INSERT {}.dbo.rows VALUES ({number}, REPLICATE('x', {bytes}))", DATABASES[database]);
        (number, text)
    }

    /// One transaction; the acknowledgement brings its ticket and the ticket's status.
    fn commit(&mut self, client: &mut Client) -> bool {
        let (mode, end) = match self.rng.below(8) {
            _ if self.plan.is_reckless => (Mode::Delayed, " WITH (DELAYED_DURABILITY = ON)"),
            0 => (Mode::Full, ""),
            1 => (Mode::Within, " WITH (MAX_WAIT = 0 MS)"),
            2 => (Mode::Within, " WITH (MAX_WAIT = 1 MS)"),
            _ => (Mode::Delayed, " WITH (DELAYED_DURABILITY = ON)"),
        };
        let database = self.rng.below(2) as usize;
        let (number, insert) = self.begin(database, mode);
        let answer = client.execute(&format!(
            "BEGIN TRAN; {insert}; COMMIT{end};
             SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1), sys.fn_commit_status(@@COMMIT_TICKET)"
        ));
        if !self.goes_on(&answer) {
            return false;
        }
        let row = &answer.rows[0];
        let text = |at: usize| row[at].as_text().expect("a ticket and a status");
        self.promises.lock().told(number, self.os.clock().monotonic_ns(), Some(text(0)));
        // No other client had the ticket when its status was queried.
        self.hear(Question { number, was_hard: mode == Mode::Full }, &text(1));
        true
    }

    /// Several full commits that are acknowledged with their batch.
    fn batch(&mut self, client: &mut Client) -> bool {
        let count = 1 + self.rng.below(5);
        let mut text = "SET COMMIT_ACK = BATCH;".to_owned();
        let mut numbers = Vec::new();
        for _ in 0..count {
            let database = self.rng.below(2) as usize;
            let (number, insert) = self.begin(database, Mode::Full);
            numbers.push(number);
            text.push_str(&format!("{insert}; SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1);"));
        }
        text.push_str("SET COMMIT_ACK = STATEMENT");
        let answer = client.execute(&text);
        if !self.goes_on(&answer) {
            return false;
        }
        let told_ns = self.os.clock().monotonic_ns();
        for (number, row) in numbers.into_iter().zip(&answer.rows) {
            self.promises.lock().told(number, told_ns, row[0].as_text());
        }
        true
    }

    /// Queries the status of any ticket, of this life or an earlier one.
    fn ask(&mut self, client: &mut Client) -> bool {
        let Some((asked, ticket)) = self.promises.lock().some_ticket(self.rng.below(1 << 20)) else {
            return true;
        };
        let answer = client.execute(&format!("SELECT sys.fn_commit_status({ticket})"));
        if !self.goes_on(&answer) {
            return false;
        }
        self.hear(asked, &answer.rows[0][0].as_text().unwrap_or_default());
        true
    }

    /// Waits for the session's newest ticket.
    fn wait(&mut self, client: &mut Client) -> bool {
        let database = self.rng.below(2) as usize;
        let (number, insert) = self.begin(database, Mode::Delayed);
        let answer = client.execute(&format!(
            "BEGIN TRAN; {insert}; COMMIT WITH (DELAYED_DURABILITY = ON); WAITFOR DURABLE @@COMMIT_TICKET;
             SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1), sys.fn_commit_status(@@COMMIT_TICKET)"
        ));
        if !self.goes_on(&answer) {
            return false;
        }
        let row = &answer.rows[0];
        self.promises.lock().told(number, self.os.clock().monotonic_ns(), row[0].as_text());
        self.promises.lock().is_hard(number);
        self.hear(Question { number, was_hard: true }, &row[1].as_text().unwrap_or_default());
        true
    }

    fn hear(&self, asked: Question, status: &str) {
        let heard = self.promises.lock().hear(asked, status);
        heard.unwrap_or_else(|text| panic!("{text}"));
    }
}

/// Restarts, possibly crashing in the middle of recovery a few times, and judges what is there.
fn recover(
    world: &World,
    promises: &Kept,
    (log_cache_folder, survival): (Option<PathBuf>, &mut Survival),
    rng: &mut Rng,
    outcome: &mut Outcome,
) {
    for attempt in 0..4 {
        let disturbed = attempt < 3 && rng.chance(1, 3);
        let nemesis = if disturbed { Nemesis::PowerOffAtIo(1 + rng.below(150)) } else { Nemesis::None };
        let nemesis = survival.disturb(nemesis);
        nemesis.arm(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?}"));
        let tickets = promises.lock().tickets();
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let (answer, cache) = (Arc::clone(&found), log_cache_folder.clone());
        let report = world.run(move |os| {
            let shown = show(os, tickets, cache);
            *answer.lock() = Some(shown);
        });
        outcome.note(&report);
        let takes_over = survival.end_recovery(report.end);
        let shown = survival::told_to_the_end(report.end, &found);
        match shown {
            None if survival::is_crash(report.end) => continue,
            None => {}
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok(shown)) => {
                if takes_over {
                    promises.lock().drained();
                }
                outcome.violations.extend(promises.lock().judge(&shown));
            }
        }
        return;
    }
}

fn show(os: &Os, tickets: Vec<String>, log_cache_folder: Option<PathBuf>) -> Result<Shown, String> {
    let instance = open(os, log_cache_folder)?;
    let mut client = Client::connect(&shared(&instance), "master").map_err(|error| format!("{error:?}"))?;
    let mut read = |text: &str| {
        let answer = client.execute(text);
        if answer.errors.is_empty() { Ok(answer) } else { Err(format!("{text}: {}", answer.error_text())) }
    };
    let mut shown = Shown::default();
    for database in DATABASES {
        read(&format!("DBCC CHECKDB ({database}) WITH NO_INFOMSGS"))?;
        let rows = read(&format!("SELECT number FROM {database}.dbo.rows"))?.numbers()?;
        let numbers: BTreeSet<i64> = rows.iter().map(|row| row[0]).collect();
        if numbers.len() != rows.len() {
            return Err(format!("{} rows of {} numbers in {database}", rows.len(), numbers.len()));
        }
        shown.rows.push(numbers);
    }
    for ticket in tickets {
        let answer = read(&format!("SELECT sys.fn_commit_status({ticket})"))?;
        shown.status.insert(ticket, answer.rows[0][0].as_text().unwrap_or_default());
    }
    client.close();
    instance.shutdown();
    Ok(shown)
}
