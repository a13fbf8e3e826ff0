//! Scenario `full`: sessions in a database whose small log cannot grow make changes of all kinds until error 9002, then roll back. Crash,
//! restart, judge; repeat.
//!
//! Oracles (F1, F2, F9, F10 of the reliability plan, at the limit): no rollback fails, however full the log is: of a statement, to a savepoint, of a
//! transaction, during recovery. Rolled back data is as before, to the byte; committed data exists; the structure is consistent, and every
//! page has an owner; once all transactions have ended, the log accepts changes again.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, End, Profile, World};
use os::{Latch, LatchRank, Os, Rng};
use session::SessionShared;

use crate::client::{Answer, Client, shared};
use crate::nemesis::Nemesis;
use crate::survival::{self, Survival};
use crate::{Outcome, prepared};

const DATA: &str = "/data";
/// The random stream that decides which worlds have surviving log caches. Its name was chosen so that no seed of the corpus has any.
const SURVIVAL: &str = "full cache that outlives 1";
/// The random stream that decides which worlds end between stores; its name was chosen in the same way.
const AT_STORES: &str = "full at stores 1";
/// Limit of the clients; each has tables of its own, so that they compete for the log only.
const CLIENTS: u64 = 3;
/// Limit of a transaction's statements.
const STATEMENTS: u64 = 80;
/// Errors that a full log or other clients may cause: lock timeout, deadlock victim, log full.
const EXPECTED: [i32; 3] = [1222, 1205, 9002];

/// Attempted and acknowledged commits, kept outside the world.
#[derive(Default)]
struct Ledger {
    /// Rows by number of transaction, and whether the commit was acknowledged.
    kept: BTreeMap<i64, (i64, bool)>,
    /// Violations that clients observed.
    sightings: Vec<String>,
    refused: u64,
}

type Shared = Arc<Latch<Ledger>>;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let (disk, digest) = prepared_disk();
    let world = World::with_disk(seed, Profile::drawn(seed), disk);
    world.plant(bug);
    let mut rng = Rng::named(seed, "full scenario");
    let ledger: Shared = Arc::new(Latch::new(LatchRank::Leaf, Ledger::default()));
    let mut survival = Survival::draw(seed, (SURVIVAL, AT_STORES), true);
    let mut outcome = Outcome::new(seed);
    for generation in 1..=1 + rng.below(2) as i64 {
        // Half of the lives have no fault but the full log.
        let nemesis = if rng.chance(1, 2) { Nemesis::None } else { Nemesis::draw(&mut rng, 2_000, 16_000) };
        let (cache, nemesis) = survival.begin_life(&world, nemesis);
        nemesis.arm(&world);
        let clients = 1 + rng.below(CLIENTS);
        outcome.log.push(format!("generation {generation}: {clients} clients, {nemesis:?}"));
        let end = live(&world, &ledger, (generation, clients), cache, &mut outcome);
        let cache = survival.end_life(&world, end);
        recover(&world, &ledger, (digest, cache, &mut survival), &mut rng, &mut outcome);
        outcome.violations.append(&mut ledger.lock().sightings);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.acknowledged = ledger.lock().kept.values().filter(|kept| kept.1).count() as u64;
    outcome.reached = world.reached();
    let refused = ledger.lock().refused;
    if refused > 0 {
        outcome.reached.insert("statement refused by a full log".to_owned(), refused);
    }
    outcome
}

/// A disk with the database on it, made once in the process in a world of its own, and what its tables hold.
fn prepared_disk() -> (DiskImage, u64) {
    static PREPARED: OnceLock<(DiskImage, u64)> = OnceLock::new();
    PREPARED.get_or_init(prepare).clone()
}

fn prepare() -> (DiskImage, u64) {
    let made = Arc::new(Latch::new(LatchRank::Leaf, 0));
    let answer = Arc::clone(&made);
    let image = prepared::disk(
        |os| open(os, None),
        move |mut client, sessions| {
            client.must(
            "CREATE DATABASE small ON (NAME = small, FILENAME = '/data/small.mdf', SIZE = 8MB) \
             LOG ON (NAME = small_log, FILENAME = '/data/small.ldf', SIZE = 1MB, MAXSIZE = 1MB, FILEGROWTH = 0)",
        );
            client.must("USE small");
            client.must("CREATE TABLE kept (number bigint NOT NULL, payload varchar(4000) NOT NULL)");
            (0..CLIENTS).for_each(|owner| fill(&mut client, owner));
            client.close();
            *answer.lock() = digest(sessions).expect("what was just made can be read");
        },
    );
    let digest = *made.lock();
    (image, digest)
}

/// The tables of one client: a heap, a tree with a second index, large values, and one to be dropped.
fn fill(client: &mut Client, owner: u64) {
    client.must(&format!("CREATE TABLE heap{owner} (id int NOT NULL, payload varchar(4000) NOT NULL)"));
    client.must(&format!(
        "CREATE TABLE tree{owner} (id int NOT NULL PRIMARY KEY, payload varchar(2000) NOT NULL, part int NOT NULL)"
    ));
    client.must(&format!("CREATE INDEX by_part ON tree{owner} (part) INCLUDE (payload)"));
    client.must(&format!(
        "CREATE TABLE lob{owner} (id int NOT NULL PRIMARY KEY, payload varchar(max) NOT NULL)"
    ));
    client.must(&format!(
        "CREATE TABLE goes{owner} (id int NOT NULL PRIMARY KEY, payload varchar(4000) NOT NULL)"
    ));
    for id in 0..24 {
        let length = 50 + 150 * id;
        client.must(&format!("INSERT heap{owner} VALUES ({id}, REPLICATE('h', {length}))"));
        client.must(&format!("INSERT tree{owner} VALUES ({id}, REPLICATE('t', {}), {})", length / 2, id % 5));
        client.must(&format!("INSERT goes{owner} VALUES ({id}, REPLICATE('g', {length}))"));
        if id % 6 == 0 {
            let text = format!("REPLICATE(CAST('l' AS varchar(max)), {})", 900 * id);
            client.must(&format!("INSERT lob{owner} VALUES ({id}, {text})"));
        }
        client.must("CHECKPOINT");
    }
}

fn open(os: &Os, log_cache_folder: Option<PathBuf>) -> Result<Arc<Instance>, String> {
    let mut options = InstanceOptions { log_cache_folder, ..InstanceOptions::new(DATA) };
    options.buffer_pool_bytes = 1 << 20;
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server.
fn live(
    world: &World,
    ledger: &Shared,
    (generation, clients): (i64, u64),
    log_cache_folder: Option<PathBuf>,
    outcome: &mut Outcome,
) -> End {
    let ledger = Arc::clone(ledger);
    let report = world.run(move |os| {
        let instance =
            open(os, log_cache_folder).unwrap_or_else(|error| panic!("opening what was recovered: {error}"));
        let sessions = shared(&instance);
        let start = |number: u64| {
            let mut writer = Writer {
                client: Client::connect(&sessions, "small").expect("small"),
                ledger: Arc::clone(&ledger),
                rng: os.rng(&format!("writer {number}")),
                number,
                next: (generation << 16) + number as i64 * 1_000,
            };
            os.spawn(&format!("writer {number}"), move || writer.run())
        };
        for writer in (0..clients).map(start).collect::<Vec<_>>() {
            let _ = writer.join();
        }
        // No transaction is open any more: the log must be usable again.
        let mut client = Client::connect(&sessions, "small").expect("small");
        let taken = client.execute("CHECKPOINT; UPDATE tree0 SET part = part WHERE id = 1");
        if !taken.errors.is_empty() {
            ledger.lock().sightings.push(format!("STUCK: {}", taken.error_text()));
        }
        client.close();
        instance.shutdown();
    });
    outcome.note(&report);
    report.end
}

/// A client that fills the log.
struct Writer {
    client: Client,
    ledger: Shared,
    rng: Rng,
    number: u64,
    /// The next transaction number or row id.
    next: i64,
}

impl Writer {
    fn run(&mut self) {
        self.client.must("SET LOCK_TIMEOUT 2000");
        for _ in 0..1 + self.rng.below(3) {
            if self.rng.chance(1, 4) { self.keep() } else { self.fill_and_roll_back() }
        }
    }

    /// Runs a statement; false when it was refused. An unexplained error is a violation.
    fn runs(&mut self, text: &str) -> bool {
        let answer = self.client.execute(text);
        self.ledger.lock().refused += u64::from(answer.error_number() == Some(9002));
        if answer.errors.iter().any(|error| !EXPECTED.contains(&error.number) && error.number != 3621) {
            self.sight(text, &answer);
        }
        answer.errors.is_empty()
    }

    fn sight(&self, text: &str, answer: &Answer) {
        self.ledger.lock().sightings.push(format!("{text}: {}", answer.error_text()));
    }

    /// Runs a rollback, which must succeed however full the log is.
    fn rolls_back(&mut self, text: &str) {
        let answer = self.client.execute(text);
        if !answer.errors.is_empty() {
            self.sight(text, &answer);
        }
    }

    /// A transaction that commits if it can.
    fn keep(&mut self) {
        self.next += 1;
        let (number, rows) = (self.next, 1 + self.rng.below(4) as i64);
        let insert = format!("INSERT kept VALUES ({number}, REPLICATE('k', {}))", 1 + self.rng.below(3_000));
        let filled = self.runs("BEGIN TRANSACTION") && (0..rows).all(|_| self.runs(&insert));
        if !filled {
            return self.rolls_back("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
        }
        self.ledger.lock().kept.insert(number, (rows, false));
        if self.runs("COMMIT TRANSACTION") {
            self.ledger.lock().kept.insert(number, (rows, true));
        }
    }

    /// A transaction that makes changes of all kinds until the log is full.
    fn fill_and_roll_back(&mut self) {
        self.runs("BEGIN TRANSACTION");
        let mut refused = 0;
        for _ in 0..STATEMENTS {
            // A failed statement may have ended the transaction; later statements must not commit on their own.
            if self.open_transactions() == 0 {
                break;
            }
            if self.rng.chance(1, 12) {
                self.fill_behind_savepoint();
                continue;
            }
            let text = self.statement();
            let answer = self.client.execute(&text);
            match answer.error_number() {
                None => {}
                Some(9002) => {
                    refused += 1;
                    self.ledger.lock().refused += 1;
                }
                // Expected: errors of statements after others of the transaction, such as a missing table or a duplicate key; a checkpoint
                // without room.
                Some(
                    208 | 3701 | 4902 | 4701 | 1088 | 2627 | 2601 | 1913 | 2714 | 1222 | 1205 | 3930 | 5901,
                ) => {}
                Some(_) => self.sight(&text, &answer),
            }
            // Continues at the limit: small changes may fit where large ones did not.
            if refused > 3 {
                break;
            }
        }
        self.rolls_back("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
    }

    fn open_transactions(&mut self) -> i64 {
        let answer = self.client.execute("SELECT @@TRANCOUNT");
        answer.numbers().map_or(0, |rows| rows[0][0])
    }

    fn fill_behind_savepoint(&mut self) {
        if !self.runs("SAVE TRANSACTION here") {
            return;
        }
        for _ in 0..1 + self.rng.below(4) {
            let text = self.statement();
            self.client.execute(&text);
            if self.open_transactions() == 0 {
                return;
            }
        }
        self.rolls_back("IF XACT_STATE() = 1 ROLLBACK TRANSACTION here");
    }

    /// A change of any kind to the client's own tables.
    fn statement(&mut self) -> String {
        let me = self.number;
        let id = self.rng.below(24);
        let length = 1 + self.rng.below(1_900);
        let letter = char::from(b'a' + self.rng.below(26) as u8);
        let text = format!("REPLICATE('{letter}', {length})");
        self.next += 1;
        let next = self.next;
        match self.rng.below(18) {
            0 => format!("INSERT heap{me} VALUES ({next}, {text} + {text})"),
            1 => format!("INSERT tree{me} VALUES ({next}, {text}, {})", id % 7),
            2 => format!("UPDATE heap{me} SET payload = {text} + {text} WHERE id = {id}"),
            3 => format!("UPDATE heap{me} SET payload = 'short' WHERE id % 4 = {}", id % 4),
            4 => format!("UPDATE tree{me} SET payload = {text} WHERE id = {id}"),
            5 => format!(
                "UPDATE tree{me} SET part = part + 1, payload = LEFT(payload, 30) WHERE part = {}",
                id % 5
            ),
            6 => format!("DELETE heap{me} WHERE id = {id}"),
            7 => format!("DELETE tree{me} WHERE id BETWEEN {id} AND {}", id + 3),
            8 => format!("DELETE tree{me} WHERE id = {id}; INSERT tree{me} VALUES ({id}, 'again', 3)"),
            9 => format!(
                "INSERT lob{me} VALUES ({next}, REPLICATE(CAST('{letter}' AS varchar(max)), {}))",
                length * 10
            ),
            10 => format!(
                "UPDATE lob{me} SET payload = REPLICATE(CAST('{letter}' AS varchar(max)), {}) WHERE id = {}",
                length * 5,
                id / 6 * 6
            ),
            11 => format!("DELETE lob{me} WHERE id = {}", id / 6 * 6),
            12 => format!(
                "CREATE TABLE made{next} (id int NOT NULL PRIMARY KEY, payload varchar(2000)); \
                 INSERT made{next} SELECT id, payload FROM tree{me}"
            ),
            13 => format!("SELECT * INTO copy{next} FROM heap{me}"),
            14 => format!("DROP TABLE goes{me}"),
            15 => format!("TRUNCATE TABLE goes{me}"),
            16 => "CHECKPOINT".to_owned(),
            _ => format!("CREATE INDEX new{next} ON tree{me} (part, id) INCLUDE (payload)"),
        }
    }
}

/// Restarts, possibly crashing in the middle of recovery, and judges what is there.
fn recover(
    world: &World,
    ledger: &Shared,
    (digest, log_cache_folder, survival): (u64, Option<PathBuf>, &mut Survival),
    rng: &mut Rng,
    outcome: &mut Outcome,
) {
    for attempt in 0..4 {
        let disturbed = attempt < 3 && rng.chance(1, 3);
        let nemesis = if disturbed { Nemesis::PowerOffAtIo(1 + rng.below(150)) } else { Nemesis::None };
        let nemesis = survival.disturb(nemesis);
        nemesis.arm(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let (answer, cache) = (Arc::clone(&found), log_cache_folder.clone());
        let report = world.run(move |os| {
            let shown = show(os, cache);
            *answer.lock() = Some(shown);
        });
        outcome.note(&report);
        survival.end_recovery(report.end);
        let shown = survival::told_to_the_end(report.end, &found);
        match shown {
            None if survival::is_crash(report.end) => continue,
            None => {}
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok((now, kept))) => {
                if now != digest {
                    outcome.violations.push("ROLLBACK: the tables are not what they were".to_owned());
                }
                judge(&ledger.lock().kept, &kept, &mut outcome.violations);
            }
        }
        return;
    }
}

/// Acknowledged: all rows exist. Not acknowledged: all or none. Unknown: none.
fn judge(known: &BTreeMap<i64, (i64, bool)>, found: &BTreeMap<i64, i64>, violations: &mut Vec<String>) {
    for (number, &(rows, acknowledged)) in known {
        let there = found.get(number).copied().unwrap_or(0);
        if there != rows && (acknowledged || there != 0) {
            violations
                .push(format!("KEPT: {there} of {rows} rows of {number}, acknowledged: {acknowledged}"));
        }
    }
    let unknown = found.keys().filter(|number| !known.contains_key(number));
    violations.extend(unknown.map(|number| format!("KEPT: rows of {number}, which never committed")));
}

type Shown = (u64, BTreeMap<i64, i64>);

fn show(os: &Os, log_cache_folder: Option<PathBuf>) -> Result<Shown, String> {
    let instance = open(os, log_cache_folder)?;
    let sessions = shared(&instance);
    let mut client = Client::connect(&sessions, "small").map_err(|error| format!("{error:?}"))?;
    let sound = client.execute("DBCC CHECKDB (small) WITH NO_INFOMSGS");
    if !sound.errors.is_empty() {
        return Err(sound.error_text());
    }
    let rows = client.execute("SELECT number, COUNT_BIG(*) FROM kept GROUP BY number").numbers()?;
    let kept = rows.iter().map(|row| (row[0], row[1])).collect();
    client.close();
    let digest = digest(&sessions)?;
    instance.shutdown();
    Ok((digest, kept))
}

/// Digest of every table but that of the commits, and of the list of tables.
fn digest(sessions: &SessionShared) -> Result<u64, String> {
    let mut client = Client::connect(sessions, "small").map_err(|error| format!("{error:?}"))?;
    let mut hasher = DefaultHasher::new();
    let mut read = |text: &str| {
        let answer = client.execute(text);
        if !answer.errors.is_empty() {
            return Err(format!("{text}: {}", answer.error_text()));
        }
        format!("{:?}", answer.rows).hash(&mut hasher);
        Ok(())
    };
    read("SELECT name, object_id FROM sys.objects WHERE type = 'U' ORDER BY name")?;
    read("SELECT object_id, name FROM sys.indexes WHERE object_id > 100 ORDER BY object_id, index_id")?;
    for owner in 0..CLIENTS {
        for table in ["heap", "tree", "lob", "goes"] {
            read(&format!("SELECT id, payload FROM {table}{owner} ORDER BY id"))?;
        }
        read(&format!("SELECT part, id FROM tree{owner} WITH (INDEX (by_part)) ORDER BY part, id"))?;
    }
    client.close();
    Ok(hasher.finish())
}
