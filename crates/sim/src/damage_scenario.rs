//! Scenario `damage`: sessions put rows in and take them out, in a table whose rows have a page each, a heap and one with an index, while checkpoints
//! run and the data files grow; the server dies. Then the disk is damaged: pages of zeros or noise, mostly allocation maps and pages that were
//! changed since the start. Each damaged disk is a world of its own, so that one death is looked at several times; the next life goes on undamaged.
//!
//! Oracle: the database is suspect and the reason names a damaged page; or each table is right or refused with an error that says so, before and
//! after others have allocated pages, and what CHECKDB passes is right. Never is a row wrong or missing without a word.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use engine::{DatabaseState, Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng};
use session::SessionShared;

use crate::client::{Client, shared};
use crate::nemesis::Nemesis;
use crate::{Outcome, prepared, survival};

const DATA: &str = "/data";
/// The data files, with their numbers.
const FILES: [(&str, u16); 2] = [("/data/works.mdf", 1), ("/data/works2.ndf", 3)];
const PAGE_BYTES: usize = 8_192;
/// Each client has a table of its own.
const TABLES: [&str; 3] = ["wide", "heap", "narrow"];
/// Damaged disks of one death.
const TRIALS: u64 = 2;
/// What a table may answer when its pages or those that it needs are damaged: 823, 824, a large value or index that contradicts itself.
const TELLING: [i32; 8] = [601, 605, 823, 824, 825, 8646, 8928, 8939];

/// For each client the number of the last step that was tried, and of the last that was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    tried: i64,
    acknowledged: i64,
}

type Ledger = Arc<Latch<[Steps; TABLES.len()]>>;

/// The rows of a table behind step `last`: each step puts one in, every other one takes out another.
fn rows_after(last: i64) -> BTreeSet<i64> {
    let mut rows: BTreeSet<i64> = (1..=last).collect();
    (1..=last).filter(|step| takes_out(*step)).for_each(|step| {
        rows.remove(&(step - 5));
    });
    rows
}

fn takes_out(step: i64) -> bool {
    step % 2 == 0 && step > 5
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "damage scenario");
    let ledger: Ledger = Arc::new(Latch::new(LatchRank::Leaf, Default::default()));
    let mut outcome = Outcome::new(seed);
    let lives = 1 + u64::from(rng.chance(1, 4));
    for life in 1..=lives {
        let nemesis = match Nemesis::draw(&mut rng, 500, 5_000) {
            Nemesis::None => Nemesis::PowerOffAtIo(1 + rng.below(500)),
            drawn => drawn,
        };
        let before = world.disk_image();
        outcome.log.push(format!("life {life}, {nemesis:?}"));
        live(&world, &ledger, nemesis, &mut outcome);
        let steps = *ledger.lock();
        for trial in 0..TRIALS {
            let damaged = Damaged::draw(seed ^ (life << 32 | trial << 40), &before, &world, &mut rng);
            damaged.look(bug, steps, &mut outcome);
        }
        if !outcome.violations.is_empty() || life == lives {
            break;
        }
        // What was acknowledged is there, with what is found of the rest; the next life goes on behind it.
        let found = undamaged(&world, steps, &mut outcome);
        *ledger.lock() = found.map(|last| Steps { tried: last, acknowledged: last });
    }
    outcome.acknowledged = ledger.lock().iter().map(|steps| steps.acknowledged.unsigned_abs()).sum();
    for (place, count) in world.reached() {
        *outcome.reached.entry(place).or_default() += count;
    }
    outcome
}

fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    let make = || {
        prepared::disk(open, |mut client, _| {
            client.must(
                "CREATE DATABASE works ON (NAME = works, FILENAME = '/data/works.mdf', SIZE = 1MB, FILEGROWTH = 256KB), \
                 (NAME = works2, FILENAME = '/data/works2.ndf', SIZE = 512KB, FILEGROWTH = 256KB)",
            );
            client.must("USE works");
            client.must("CREATE TABLE wide (id bigint NOT NULL PRIMARY KEY, v char(5000) NOT NULL)");
            client.must("CREATE TABLE heap (id bigint NOT NULL, v varchar(3000) NOT NULL)");
            client.must("CREATE TABLE narrow (id bigint NOT NULL PRIMARY KEY, v varchar(900) NOT NULL, INDEX by_v (v))");
            client.close();
        })
    };
    PREPARED.get_or_init(make).clone()
}

fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions { buffer_pool_bytes: 1 << 20, ..InstanceOptions::new(DATA) };
    let instance = Instance::open(os, &options).map_err(|error| error.to_string())?;
    instance.wait_until_open();
    Ok(instance)
}

/// One life of the server; it ends badly.
fn live(world: &World, ledger: &Ledger, nemesis: Nemesis, outcome: &mut Outcome) {
    let (ledger, device) = (Arc::clone(ledger), world.clone());
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os).unwrap_or_else(|error| panic!("opening what is undamaged: {error}"));
        let sessions = shared(&instance);
        nemesis.arm(&device);
        let start = |number: usize| {
            let (sessions, ledger) = (sessions.clone(), Arc::clone(&ledger));
            let rng = os.rng(&format!("stepper {number}"));
            os.spawn(&format!("stepper {number}"), move || step(&sessions, &ledger, number, rng))
        };
        for task in (0..TABLES.len()).map(start).collect::<Vec<_>>() {
            let _ = task.join();
        }
        device.power_off();
    });
    outcome.note(&report);
}

/// A client's steps.
fn step(sessions: &SessionShared, ledger: &Ledger, number: usize, mut rng: Rng) {
    let mut client = Client::connect(sessions, "works").expect("works");
    let table = TABLES[number];
    let least = if table == "heap" { 1_200 } else { 100 };
    for _ in 0..10 + rng.below(50) {
        let step = ledger.lock()[number].acknowledged + 1;
        ledger.lock()[number].tried = step;
        let mut text =
            format!("BEGIN TRAN; INSERT {table} VALUES ({step}, {}); ", value(step, least + rng.below(700)));
        if takes_out(step) {
            text += &format!("DELETE {table} WHERE id = {}; ", step - 5);
        }
        client.must(&format!("{text}COMMIT"));
        ledger.lock()[number].acknowledged = step;
        if rng.chance(1, 12) {
            client.must("CHECKPOINT");
        }
    }
    client.close();
}

/// A value that tells whose it is.
fn value(step: i64, length: u64) -> String {
    format!("'{step}:' + REPLICATE('v', {length})")
}

/// A disk with damage.
struct Damaged {
    seed: u64,
    image: DiskImage,
    /// File and page, with what was done.
    pages: BTreeMap<(u16, u64), &'static str>,
}

impl Damaged {
    /// Pages of one kind: an allocation map, one that was changed since the life began, or any that has something on it.
    fn draw(seed: u64, before: &DiskImage, world: &World, rng: &mut Rng) -> Damaged {
        let hurt = World::with_disk(seed, Profile::nvme(), world.disk_image());
        let begun = World::with_disk(seed, Profile::nvme(), before.clone());
        let mut pages = BTreeMap::new();
        let kind = rng.below(4);
        for _ in 0..if rng.chance(2, 3) { 1 } else { 1 + rng.below(3) } {
            let (path, file) = FILES[rng.below(2) as usize];
            let path = PathBuf::from(path);
            let (Some(bytes), old) = (hurt.file_bytes(&path), begun.file_bytes(&path).unwrap_or_default())
            else {
                continue;
            };
            let is_used = |page: &[u8]| page.iter().any(|byte| *byte != 0);
            let candidates: Vec<u64> = (0..(bytes.len() / PAGE_BYTES) as u64)
                .filter(|page| match (kind, *page) {
                    // The file's header and the boot page are what opening begins with: nothing is recovered without them.
                    (_, 0 | 9) => false,
                    (0, page) => page == 1,
                    (1, page) => {
                        let range = page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES;
                        is_used(&bytes[range.clone()]) && old.get(range.clone()) != Some(&bytes[range])
                    }
                    (_, page) => {
                        is_used(&bytes[page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES])
                    }
                })
                .collect();
            if candidates.is_empty() {
                continue;
            }
            let page = candidates[rng.below(candidates.len() as u64) as usize];
            let mut damage = vec![0; PAGE_BYTES];
            let what = if rng.chance(2, 3) { "zeros" } else { "noise" };
            if what == "noise" {
                rng.fill(&mut damage);
            }
            hurt.corrupt(&path, page * PAGE_BYTES as u64, &damage);
            pages.insert((file, page), what);
        }
        Damaged { seed, image: hurt.disk_image(), pages }
    }

    /// Starts the server on it and judges what that shows.
    fn look(&self, bug: Option<Bug>, steps: [Steps; TABLES.len()], outcome: &mut Outcome) {
        let world = World::with_disk(self.seed, Profile::nvme(), self.image.clone());
        world.plant(bug);
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let told = Arc::clone(&found);
        let report = world.run(move |os| *told.lock() = Some(show(os, steps)));
        outcome.note(&report);
        for (place, count) in world.reached() {
            *outcome.reached.entry(place).or_default() += count;
        }
        let Some(shown) = found.lock().take() else { return };
        let word = match &shown {
            Shown::Suspect(_) => "suspect, and the page is named",
            Shown::Told => "a statement or CHECKDB tells",
            Shown::Right => "nothing is wrong",
            Shown::Wrong(_) => "wrong",
        };
        *outcome.reached.entry(format!("damage: {word}")).or_default() += 1;
        let is_named = |reason: &str| self.pages.keys().any(|(file, page)| names(reason, *file, *page));
        match shown {
            Shown::Suspect(reason) if !is_named(&reason) => {
                outcome.violations.push(format!("UNNAMED: {:?} damaged, suspect: {reason}", self.pages));
            }
            Shown::Wrong(text) => outcome.violations.push(format!("WRONG: {:?} damaged: {text}", self.pages)),
            Shown::Suspect(_) | Shown::Told | Shown::Right => {}
        }
    }
}

/// Does a text name a page, and not only one whose number begins so?
fn names(text: &str, file: u16, page: u64) -> bool {
    let name = format!("{file}:{page}");
    text.match_indices(&name).any(|(at, _)| {
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        !is_digit(text.as_bytes().get(at + name.len())) && (at == 0 || !is_digit(text.as_bytes().get(at - 1)))
    })
}

/// What a server on a damaged disk shows.
enum Shown {
    /// The reason.
    Suspect(String),
    /// Something of the damage was told.
    Told,
    Right,
    Wrong(String),
}

fn show(os: &Os, steps: [Steps; TABLES.len()]) -> Shown {
    let instance = match open(os) {
        Ok(instance) => instance,
        Err(error) => return Shown::Wrong(format!("the instance does not start: {error}")),
    };
    let info = instance.database_infos().into_iter().find(|info| info.name == "works");
    let shown = match info {
        Some(info) if info.state == DatabaseState::Online => judge(&shared(&instance), steps),
        Some(info) => Shown::Suspect(info.reason.unwrap_or_default()),
        None => Shown::Wrong("the database is gone".to_owned()),
    };
    instance.shutdown();
    shown
}

/// Reads, checks, allocates, reads again.
fn judge(sessions: &SessionShared, steps: [Steps; TABLES.len()]) -> Shown {
    let mut client = match Client::connect(sessions, "works") {
        Ok(client) => client,
        Err(error) if TELLING.contains(&error.number) => return Shown::Told,
        Err(error) => return Shown::Wrong(format!("logging in: {}", error.message)),
    };
    let mut is_told = false;
    let judged = read_all(&mut client, steps, &mut is_told).and_then(|before| {
        let clean = client.execute("DBCC CHECKDB (works) WITH NO_INFOMSGS").errors.is_empty();
        if clean && is_told {
            return Err("CHECKDB passes what a statement has refused".to_owned());
        }
        is_told |= !clean;
        for text in [
            "CREATE TABLE later (id int NOT NULL PRIMARY KEY, v char(5000) NOT NULL)",
            "INSERT later SELECT TOP (60) ROW_NUMBER() OVER (ORDER BY name), 'later' FROM sys.all_columns",
            "CHECKPOINT",
        ] {
            is_told |= !client.execute(text).errors.is_empty();
        }
        let after = read_all(&mut client, steps, &mut is_told)?;
        // Whoever takes a page takes it from nobody.
        match TABLES.iter().zip(before).zip(after).find(|((_, before), after)| *before && !after) {
            Some(((table, _), _)) if client.execute("CHECKPOINT").errors.is_empty() => {
                Err(format!("{table} could be read before others allocated pages, and cannot now"))
            }
            _ => Ok(()),
        }
    });
    client.close();
    match judged {
        Err(text) => Shown::Wrong(text),
        Ok(()) if is_told => Shown::Told,
        Ok(()) => Shown::Right,
    }
}

/// Which tables are right; the others say that they cannot be read.
fn read_all(
    client: &mut Client,
    steps: [Steps; TABLES.len()],
    is_told: &mut bool,
) -> Result<[bool; TABLES.len()], String> {
    let mut right = [false; TABLES.len()];
    for (at, table) in TABLES.into_iter().enumerate() {
        right[at] = read(client, table, steps[at])?.is_some();
        *is_told |= !right[at];
    }
    Ok(right)
}

/// The last step that a table shows; `None`: it says that it cannot be read.
fn read(client: &mut Client, table: &str, steps: Steps) -> Result<Option<i64>, String> {
    let text = format!("SELECT id, CASE WHEN v LIKE CONCAT(id, ':v%') THEN 1 ELSE 0 END FROM {table}");
    let answer = client.execute(&text);
    if let Some(error) = answer.errors.first() {
        let is_telling = TELLING.contains(&error.number);
        return if is_telling {
            Ok(None)
        } else {
            Err(format!("{table}: {}: {}", error.number, error.message))
        };
    }
    let rows = answer.numbers()?;
    let found: BTreeSet<i64> = rows.iter().map(|row| row[0]).collect();
    let Steps { tried, acknowledged } = steps;
    let fits = (acknowledged..=tried).find(|last| rows_after(*last) == found);
    match fits {
        Some(last) if found.len() == rows.len() && rows.iter().all(|row| row[1] == 1) => Ok(Some(last)),
        _ => Err(format!("{table}: {} rows, {steps:?}, found {found:?}", rows.len())),
    }
}

/// The same disk without damage: everything is there.
fn undamaged(world: &World, steps: [Steps; TABLES.len()], outcome: &mut Outcome) -> [i64; TABLES.len()] {
    Nemesis::None.arm(world);
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let told = Arc::clone(&found);
    let report = world.run(move |os| {
        let shown = open(os).and_then(|instance| {
            let mut client =
                Client::connect(&shared(&instance), "works").map_err(|error| error.message.clone())?;
            let mut last = [0; TABLES.len()];
            for (number, table) in TABLES.into_iter().enumerate() {
                let read = read(&mut client, table, steps[number])?;
                last[number] = read.ok_or_else(|| format!("{table} cannot be read"))?;
            }
            client.close();
            instance.shutdown();
            Ok(last)
        });
        *told.lock() = Some(shown);
    });
    outcome.note(&report);
    match survival::told_to_the_end(report.end, &found) {
        Some(Ok(last)) => last,
        other => {
            outcome.violations.push(format!("UNREADABLE without damage: {other:?}"));
            [0; TABLES.len()]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_by_all_of_its_number() {
        assert!(names("page 1:12: is empty", 1, 12) && names("(1:1)", 1, 1));
        assert!(!names("page 1:12: is empty", 1, 1) && !names("page 11:2", 1, 2));
    }

    #[test]
    fn steps_put_in_and_take_out() {
        assert_eq!(rows_after(5), (1..=5).collect());
        assert_eq!(rows_after(8), BTreeSet::from([2, 4, 5, 6, 7, 8]));
    }
}
