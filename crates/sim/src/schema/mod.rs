//! Scenario `schema`: definitions and rows in transactions. Authors create, alter, truncate and drop tables and indexes, and insert, change and
//! delete rows small and large, with savepoints, rollbacks and long pauses, on a small log that wraps and grows. Readers at four isolation
//! levels watch common marks; a founder creates and drops databases; checkpoints run, memory is scarce, the disk fails. Crash, restart, judge.
//! In a *wild* world rows are wider and move, common rows are inserted and deleted, authors compete for one table name, long pauses allow ghost
//! cleanup, and page writes are so slow that checkpoints overtake them.
//!
//! Oracles (F1-F7, F9, F10, F21 of the reliability plan): each author's tables are exactly those after one of its transactions, no transaction that
//! must exist is missing, losses are a suffix over all authors; each index agrees with its table; databases are complete or absent; no reader
//! sees uncommitted data, and a repeated read returns equal rows where its level promises that.

mod author;
mod contest;
mod contest_state;
mod corrupt_pages;
mod forged;
mod keeper;
mod ledger;
mod lies;
mod model;
mod reader;
mod refusal;
mod show;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng};

use crate::client::shared;
use crate::nemesis::{Nemesis, Trouble};
use crate::{Outcome, prepared, survival};
use author::Author;
use keeper::Keeper;
use ledger::SchemaLedger;
use reader::{Founder, Reader};
use refusal::Units;

const DATA: &str = "/data";
/// The authors' database.
pub(crate) const DATABASE: &str = "works";
const DATA_FILE: &str = "/data/works.mdf";
/// Rows of the common table that readers watch.
pub(crate) const MARKS: i64 = 12;
/// First id of the marks that are inserted and deleted, one for each author.
pub(crate) const VISITING_MARKS: i64 = 100;
/// First number in the ledger of the marks in table `shelf`, a heap in wild worlds.
pub(crate) const SHELF: i64 = 1_000;
/// The number in the ledger of the version that all rows of the table `wide` share.
pub(crate) const WIDE: i64 = 2_000;
/// Rows of that table, each of which fills more than half a page: more pages than the doublewrite file takes at once.
pub(crate) const WIDE_ROWS: i64 = 90;
const AUTHORS_MAX: usize = 4;
/// Number of corruptions tried on one database, each in a world of its own.
const LIES: usize = 2;
/// That number in scenario `lies`.
const LIES_OF_A_LIAR: usize = 6;
/// The random stream that decides which worlds are wild. Its name was chosen so that all seeds of the corpus are tame and keep their meaning.
const WILD: &str = "schema wild 94";
/// The random stream that decides which worlds change data files; its name was chosen so that no seed of the corpus does.
const KEPT: &str = "schema files 119";
/// The stream for worlds whose power fails while files are added or removed.
const CUT: &str = "schema cut files 2";
/// The stream for worlds where folders of a founder's databases cannot always be synced.
const UNSYNCED: &str = "schema unsynced folders";
const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// The settings that all lives of a world share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorldKind {
    is_wild: bool,
    /// One client adds, empties and removes data files.
    has_keeper: bool,
}

/// The plan of one life of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) generation: i64,
    authors: usize,
    readers: usize,
    has_founder: bool,
    has_keeper: bool,
    cuts_files: bool,
    has_unsynced_folders: bool,
    pub(crate) transactions: u64,
    pub(crate) trouble: Trouble,
    memory_bytes: u64,
    pub(crate) is_wild: bool,
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let is_wild = Rng::named(seed, WILD).chance(2, 3);
    let has_keeper = Rng::named(seed, KEPT).chance(1, 3);
    let kind = WorldKind { is_wild, has_keeper };
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk(is_wild));
    world.plant(bug);
    let mut rng = Rng::named(seed, "schema scenario");
    let ledger = Arc::new(Latch::new(LatchRank::Leaf, SchemaLedger::new(AUTHORS_MAX)));
    let mut outcome = Outcome::new(seed);
    let generations = 1 + rng.below(3) as i64;
    let mut is_closed = false;
    for generation in 1..=generations {
        let (ios, switches) = if is_wild { (900, 9_000) } else { (500, 4_000) };
        let nemesis = Nemesis::draw(&mut rng, ios, switches);
        nemesis.arm(&world);
        let mut trouble = Trouble::draw_any(&mut rng, 900);
        if is_wild && rng.chance(1, 4) {
            trouble = Trouble::draw_slow_pages(&mut rng, 60);
        }
        trouble.arm(&world);
        let plan = Plan {
            generation,
            authors: 1 + rng.below(AUTHORS_MAX as u64) as usize,
            readers: rng.below(3) as usize,
            has_founder: rng.chance(1, 3),
            has_keeper,
            cuts_files: Rng::named(seed, CUT).chance(1, 2),
            // The fault is removed together with others, and no other error is expected.
            has_unsynced_folders: trouble == Trouble::None && Rng::named(seed, UNSYNCED).chance(1, 3),
            transactions: 6 + rng.below(14),
            trouble,
            memory_bytes: if rng.chance(1, if is_wild { 4 } else { 2 }) { 1 << 20 } else { 4 << 20 },
            is_wild,
        };
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        live(&world, &ledger, plan, &mut outcome);
        Trouble::heal(&world);
        outcome.acknowledged += ledger.lock().acknowledged();
        let is_damaged = rng.chance(1, 12) && flip_a_bit(&world, &mut rng);
        is_closed = recover(&world, &ledger, (kind, is_damaged), &mut rng, &mut outcome);
        outcome.violations.append(&mut ledger.lock().sightings);
        if is_damaged || !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.reached = world.reached();
    if outcome.violations.is_empty() && is_wild && rng.chance(2, 3) {
        let image = world.disk_image();
        // Pages in a second file are not corrupted.
        let units = (is_closed && !has_keeper).then(|| Units::read(&image));
        (0..LIES).for_each(|_| lie(&image, (corrupt_pages::SIMPLE, units.as_ref()), &mut rng, &mut outcome));
    }
    for (kind, count) in &ledger.lock().changes {
        outcome.reached.insert(format!("committed {kind}"), *count);
    }
    outcome
}

/// Runs scenario `lies` for one seed: a short life of some authors, closed or cut off, then many corruptions of the resulting database.
pub(crate) fn run_lies(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk(true));
    world.plant(bug);
    let mut rng = Rng::named(seed, "lies scenario");
    let ledger = Arc::new(Latch::new(LatchRank::Leaf, SchemaLedger::new(AUTHORS_MAX)));
    let mut outcome = Outcome::new(seed);
    let nemesis = if rng.chance(1, 4) { Nemesis::draw(&mut rng, 400, 4_000) } else { Nemesis::None };
    nemesis.arm(&world);
    let plan = Plan {
        generation: 1,
        authors: 2 + rng.below(2) as usize,
        readers: 0,
        has_founder: false,
        has_keeper: false,
        cuts_files: false,
        has_unsynced_folders: false,
        transactions: 4 + rng.below(6),
        trouble: Trouble::None,
        memory_bytes: 4 << 20,
        is_wild: true,
    };
    outcome.log.push(format!("{plan:?} {nemesis:?}"));
    live(&world, &ledger, plan, &mut outcome);
    outcome.violations.append(&mut ledger.lock().sightings);
    let image = world.disk_image();
    let units = (nemesis == Nemesis::None).then(|| Units::read(&image));
    let kinds = if units.is_some() { corrupt_pages::KINDS } else { corrupt_pages::SIMPLE };
    for _ in 0..LIES_OF_A_LIAR {
        lie(&image, (kinds, units.as_ref()), &mut rng, &mut outcome);
    }
    outcome
}

/// A data directory with the authors' database, made once in the process, in a world of its own.
fn prepared_disk(is_wild: bool) -> DiskImage {
    static PREPARED: [OnceLock<DiskImage>; 2] = [OnceLock::new(), OnceLock::new()];
    PREPARED[usize::from(is_wild)].get_or_init(|| prepare(is_wild)).clone()
}

fn prepare(is_wild: bool) -> DiskImage {
    prepared::disk(
        |os| open(os, 1 << 20),
        move |mut client, _| {
            client.must(&format!(
            "CREATE DATABASE {DATABASE} ON (NAME = works, FILENAME = '{DATA_FILE}', SIZE = 2 MB, FILEGROWTH = 256 KB) \
             LOG ON (NAME = works_log, FILENAME = '/data/works_log.ldf', SIZE = 512 KB, FILEGROWTH = 512 KB)"
        ));
            client.must(&format!("ALTER DATABASE {DATABASE} SET DELAYED_DURABILITY = ALLOWED"));
            client.must(&format!("ALTER DATABASE {DATABASE} SET RECOVERY SIMPLE"));
            client.must(&format!("USE {DATABASE}"));
            client.must("CREATE TABLE progress (client int NOT NULL PRIMARY KEY, number bigint NOT NULL)");
            client.must(
            "CREATE TABLE marks (id int NOT NULL PRIMARY KEY, version bigint NOT NULL, filler char(900) NOT NULL DEFAULT 'm')",
        );
            client.must("CREATE INDEX by_version ON marks (version)");
            for client_number in 0..AUTHORS_MAX {
                client.must(&format!("INSERT INTO progress (client, number) VALUES ({client_number}, 0)"));
            }
            for id in 0..MARKS {
                client.must(&format!("INSERT INTO marks (id, version) VALUES ({id}, 0)"));
            }
            if is_wild {
                client.must(
                "CREATE TABLE shelf (id int NOT NULL PRIMARY KEY NONCLUSTERED, version bigint NOT NULL, filler varchar(6000) NULL)",
            );
                for id in 0..MARKS {
                    client.must(&format!("INSERT INTO shelf (id, version) VALUES ({id}, 0)"));
                }
                client.must("CREATE TABLE wide (id int NOT NULL PRIMARY KEY, version bigint NOT NULL, filler char(5000) NOT NULL DEFAULT 'w')");
                for id in 0..WIDE_ROWS {
                    client.must(&format!("INSERT INTO wide (id, version) VALUES ({id}, 0)"));
                }
            }
            client.close();
        },
    )
}

/// Opens the instance with little memory, so that dirty pages must be written during the workload.
fn open(os: &Os, memory_bytes: u64) -> Result<Arc<Instance>, String> {
    let mut options = InstanceOptions::new(DATA);
    options.buffer_pool_bytes = memory_bytes;
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server: clients work until the nemesis strikes or the work is done.
fn live(world: &World, ledger: &Arc<Latch<SchemaLedger>>, plan: Plan, outcome: &mut Outcome) {
    let (ledger, cut) = (Arc::clone(ledger), plan.cuts_files.then(|| world.clone()));
    let failing = plan.has_unsynced_folders.then(|| world.clone());
    let report = world.run(move |os| {
        let instance = match open(os, plan.memory_bytes) {
            Ok(instance) => instance,
            Err(_) if plan.trouble.makes_errors() => return,
            Err(error) => panic!("opening what recovery has just opened: {error}"),
        };
        let sessions = shared(&instance);
        let mut clients = Vec::new();
        for client in 0..plan.authors {
            let author = Author::new(os, &sessions, &ledger, plan, client);
            clients.push(os.spawn(&format!("author {client}"), move || author.run()));
        }
        for number in 0..plan.readers {
            let mut rng = os.rng(&format!("reader {number}"));
            let level = LEVELS[rng.below(LEVELS.len() as u64) as usize];
            let (os_of_reader, sessions, ledger) = (os.clone(), sessions.clone(), Arc::clone(&ledger));
            let reader = Reader { os: os_of_reader, sessions, ledger, plan, rng, level };
            clients.push(os.spawn(&format!("reader {number}"), move || reader.run()));
        }
        if plan.has_founder {
            let rng = os.rng("founder");
            let (os_of_founder, sessions, ledger) = (os.clone(), sessions.clone(), Arc::clone(&ledger));
            let founder = Founder { os: os_of_founder, sessions, ledger, plan, rng, failing };
            clients.push(os.spawn("founder", move || founder.run()));
        }
        if plan.has_keeper {
            let (os_of_keeper, sessions, ledger) = (os.clone(), sessions.clone(), Arc::clone(&ledger));
            let keeper = Keeper { os: os_of_keeper, sessions, ledger, plan, rng: os.rng("keeper"), cut };
            clients.push(os.spawn("keeper", move || keeper.run()));
        }
        for client in clients {
            let _ = client.join();
        }
        if plan.is_wild && !plan.trouble.makes_errors() {
            // All clients have ended: no page is marked for deallocation or still owned by a dropped object.
            if let Err(text) = show::check(&sessions) {
                ledger.lock().sightings.push(format!("CHECKDB: at the end of a life: {text}"));
            }
        }
        instance.shutdown();
        if !plan.trouble.makes_errors() {
            // An orderly stop flushes.
            ledger.lock().drained();
        }
    });
    outcome.note(&report);
}

/// A last life, with a corrupt page. After a crash, recovery meets it first.
fn lie(
    image: &DiskImage,
    (kinds, units): (&[corrupt_pages::Kind], Option<&Units>),
    rng: &mut Rng,
    outcome: &mut Outcome,
) {
    let seed = rng.next_u64();
    let world = World::with_disk(seed, Profile::drawn(seed), image.clone());
    let Some(lie) = lies::tell(&world, rng, kinds, units) else { return };
    outcome.log.push(format!("{lie:?}"));
    let heard = Arc::new(Latch::new(LatchRank::Leaf, Ok(())));
    let (answer, told) = (Arc::clone(&heard), lie.clone());
    let report = world.run(move |os| {
        let heard = lies::listen(os, &told);
        *answer.lock() = heard;
    });
    outcome.note(&report);
    let heard = std::mem::replace(&mut *heard.lock(), Ok(()));
    outcome.violations.extend(heard.err().map(|text| format!("LIE: {text}")));
    *outcome.reached.entry(lie.name().to_owned()).or_default() += 1;
}

/// Flips one bit of the authors' data file. False: its place was never written.
fn flip_a_bit(world: &World, rng: &mut Rng) -> bool {
    let Some(bytes) = world.file_bytes(Path::new(DATA_FILE)) else { return false };
    let at = rng.below(bytes.len() as u64);
    let page = at as usize / 8192 * 8192;
    let is_used = bytes[page..(page + 8192).min(bytes.len())].iter().any(|byte| *byte != 0);
    world.corrupt(Path::new(DATA_FILE), at, &[bytes[at as usize] ^ (1 << rng.below(8))]);
    is_used
}

/// Restarts, possibly with crashes and disk failures in the middle of recovery, and judges the result. True when it could be read
/// and was closed in an orderly way.
fn recover(
    world: &World,
    ledger: &Arc<Latch<SchemaLedger>>,
    (kind, is_damaged): (WorldKind, bool),
    rng: &mut Rng,
    outcome: &mut Outcome,
) -> bool {
    for attempt in 0..5 {
        let nemesis = match rng.below(3) {
            0 if attempt < 4 => Nemesis::PowerOffAtIo(1 + rng.below(200)),
            _ => Nemesis::None,
        };
        let trouble =
            if attempt < 4 && rng.chance(1, 4) { Trouble::draw_any(rng, 120) } else { Trouble::None };
        nemesis.arm(world);
        trouble.arm(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?} {trouble:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let answer = Arc::clone(&found);
        let report = world.run(move |os| {
            let shown = show::show(os, AUTHORS_MAX, kind, !trouble.makes_errors());
            *answer.lock() = Some(shown);
        });
        Trouble::heal(world);
        outcome.note(&report);
        let shown = survival::told_to_the_end(report.end, &found);
        match shown {
            None if survival::is_crash(report.end) => continue,
            None => return false,
            // Whatever a fault did to one recovery, the next one must succeed.
            Some(Err(_)) if trouble.makes_errors() => continue,
            // A database that could not be recovered shows nothing yet.
            Some(Ok(shown)) if trouble.makes_errors() && shown.databases.values().any(Option::is_none) => {
                continue;
            }
            // The damage was reported and not served as data: this seed shows nothing more.
            Some(Err(text)) if is_damaged && !text.starts_with(show::BLIND) => outcome.log.push(text),
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok(shown)) => {
                let mut ledger = ledger.lock();
                outcome.violations.extend(ledger.judge(&shown.authors, &shown.marks));
                outcome.violations.extend(ledger.contest.judge(shown.has_contest));
                outcome.violations.extend(ledger.judge_databases(&shown.databases));
                let judged = shown.has_second_file.and_then(|is_there| ledger.judge_second_file(is_there));
                outcome.violations.extend(judged);
                return true;
            }
        }
        return false;
    }
    false
}
