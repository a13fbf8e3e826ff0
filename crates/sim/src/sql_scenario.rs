//! Scenario `sql`: sessions transfer money in mixed durability while checkpoints run and little memory forces page writes; crash,
//! restart, judge; repeat. In one seed of eight many visitors make the LOG WRITER lead. Some sessions leave their commits pending.
//!
//! Oracles (F1-F4, F7, F9-F12 of the reliability plan): full commits survive, delayed losses are a suffix, no phantom, no
//! torn transaction (balances, heap, receipts and index agree with the history); the state that one recovery has shown stays; no identity value of
//! a committed row comes again, and in most worlds no value of a sequence at all; tempdb is empty after each start, never recovered and never
//! synced, and when its files fail other databases are not affected. Where log caches survive the process, its death loses no commit at all.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, End, Fault, Operation, Profile, World};
use os::{Latch, LatchRank, Os, Rng};

use crate::client::{Client, shared};
use crate::nemesis::{Nemesis, Trouble};
use crate::receipts::Receipts;
use crate::sql_ledger::{ACCOUNTS, Found, OPENING_BALANCE, SqlLedger, Transfer};
use crate::survival::{self, Survival};
use crate::teller::{DRAWS, Ledgers, Plan, Teller};
use crate::tickets::{self, Kind, Tickets};
use crate::visitor::{Visitor, Visits};
use crate::{Outcome, Scenario, prepared};

const DATA: &str = "/data";
/// The random stream that decides which worlds have surviving log caches. Its name was chosen so that no seed of the corpus has any.
const SURVIVAL: &str = "sql cache that outlives 329390";
/// The random stream that decides which worlds end between stores; its name was chosen in the same way.
const AT_STORES: &str = "sql at stores 1";
/// Part of the paths of tempdb's files, and of no others.
const TEMPDB_FILES: &str = "/temp";

/// Visitors of a seed with many sessions, in addition to the tellers; and visits of each in one life.
const VISITORS: i64 = 56;
const VISITS: u64 = 25;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    // A stream of its own, so that the seeds of the corpus keep their meaning.
    let is_crowded = Rng::named(seed, "sql crowd").chance(1, 8);
    let (sequences, has_drawer) = draw_sequences(seed);
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk(is_crowded, sequences));
    world.plant(bug);
    let mut rng = Rng::named(seed, "sql scenario");
    let ledgers = Ledgers {
        bank: Arc::new(Latch::new(LatchRank::Leaf, SqlLedger::default())),
        receipts: Arc::new(Latch::new(LatchRank::Leaf, Receipts::default())),
        visits: Arc::new(Latch::new(LatchRank::Leaf, Visits::default())),
        tickets: Arc::new(Latch::new(LatchRank::Leaf, Tickets::default())),
    };
    let mut survival = Survival::draw(seed, (SURVIVAL, AT_STORES), true);
    let mut late = Rng::named(seed, "sql late ends");
    let mut outcome = Outcome::new(seed);
    let generations = 1 + rng.below(3) as i64;
    for generation in 1..=generations {
        let nemesis = if is_crowded {
            Nemesis::draw(&mut rng, 3_000, 60_000)
        } else {
            Nemesis::draw(&mut rng, 1_000, 8_000)
        };
        // Where one client draws all the time, many lives last until a few ranges are used up, or end while it draws.
        let (planned, ends_after_draws) = match has_drawer.then(|| late.below(6)) {
            Some(1) => (Nemesis::PowerOffAtSwitch(2_000 + late.below(8_000)), None),
            Some(2..) => (Nemesis::None, Some(late.below(DRAWS))),
            _ => (nemesis, None),
        };
        let (cache, nemesis) = survival.begin_life(&world, planned);
        nemesis.arm(&world);
        let trouble = Trouble::draw(&mut rng, 600);
        trouble.arm(&world);
        let plan = Plan {
            generation,
            cache_survives: cache.is_some(),
            clients: 2 + rng.below(5) as i64,
            transactions: 4 + rng.below(12),
            trouble,
            is_crowded,
            sequences,
            has_drawer,
            ends_after_draws: ends_after_draws.filter(|_| nemesis == planned),
            checkpoints_often: Rng::named(seed, "sql checkpoints").chance(2, 3),
            tempdb_fails_after: rng.chance(1, 12).then(|| 20 + rng.below(60)),
        };
        if let Some(writes) = plan.tempdb_fails_after {
            world.inject(Fault::fail_from(Operation::Write, writes).on(TEMPDB_FILES));
        }
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        let end = live(&world, &ledgers, (plan, cache), &mut outcome);
        Trouble::heal(&world);
        let cache = survival.end_life(&world, end);
        outcome.acknowledged += ledgers.bank.lock().acknowledged();
        outcome.acknowledged += ledgers.visits.lock().acknowledged();
        ledgers.tickets.lock().end_life();
        recover(&world, &ledgers, ((is_crowded, sequences), cache, &mut survival), &mut rng, &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.pending_commits = ledgers.visits.lock().pending_commits;
    outcome.reached = world.reached();
    for (name, count) in ledgers.tickets.lock().ended_in_range() {
        outcome.reached.insert(format!("a life ends in the middle of a range of {name}"), count);
    }
    outcome
}

/// Number of sequences of a world, and whether one client only draws from them. The seeds of the corpus keep their meaning.
fn draw_sequences(seed: u64) -> (usize, bool) {
    let has_few = Rng::named(seed, "sql tickets").chance(1, 2);
    if Scenario::Sql.corpus().contains(&seed) {
        return (if has_few { tickets::FEW } else { 0 }, false);
    }
    match Rng::named(seed, "sql sequences").below(6) {
        0 => (0, false),
        1 | 2 => (tickets::FEW, true),
        _ => (tickets::KINDS.len(), true),
    }
}

/// A data directory with the bank's database and `sequences` sequences, made once in the process, in a world of its own.
fn prepared_disk(is_crowded: bool, sequences: usize) -> DiskImage {
    const NUMBERS: usize = tickets::KINDS.len() + 1;
    static PREPARED: [OnceLock<DiskImage>; 2 * NUMBERS] = [const { OnceLock::new() }; 2 * NUMBERS];
    let one = &PREPARED[NUMBERS * usize::from(is_crowded) + sequences];
    one.get_or_init(|| prepare(is_crowded, sequences)).clone()
}

fn prepare(is_crowded: bool, sequences: usize) -> DiskImage {
    prepared::disk(
        |os| open(os, None),
        move |mut client, _| {
            client.must("CREATE DATABASE bank");
            client.must("ALTER DATABASE bank SET DELAYED_DURABILITY = ALLOWED");
            client.must("USE bank");
            client.must("CREATE TABLE accounts (id int NOT NULL PRIMARY KEY, balance bigint NOT NULL)");
            client.must(
            "CREATE TABLE history (number bigint NOT NULL PRIMARY KEY, source int NOT NULL, target int NOT NULL, \
             amount bigint NOT NULL, heap_rows int NOT NULL, note varchar(400) NOT NULL)",
        );
            client.must("CREATE INDEX by_amount ON history (amount)");
            client.must("CREATE TABLE heap (number bigint NOT NULL, payload varchar(2000) NOT NULL)");
            // No key: the oracle must see duplicate values; error 2627 would hide them.
            client.must("CREATE TABLE receipts (receipt tinyint IDENTITY(1, 1) NOT NULL, number bigint NOT NULL, stamp rowversion)");
            if is_crowded {
                client.must("CREATE TABLE visits (number bigint NOT NULL)");
            }
            for kind in &tickets::KINDS[..sequences] {
                client.must(&kind.definition());
            }
            for id in 0..ACCOUNTS {
                client.must(&format!("INSERT INTO accounts (id, balance) VALUES ({id}, {OPENING_BALANCE})"));
            }
            client.close();
        },
    )
}

/// Opens the instance with little memory, so that dirty pages must be written during the workload.
fn open(os: &Os, log_cache_folder: Option<PathBuf>) -> Result<Arc<Instance>, String> {
    let mut options = InstanceOptions { log_cache_folder, ..InstanceOptions::new(DATA) };
    options.buffer_pool_bytes = 1 << 20;
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server: clients work until the nemesis strikes or the work is done.
fn live(
    world: &World,
    ledgers: &Ledgers,
    (plan, log_cache_folder): (Plan, Option<PathBuf>),
    outcome: &mut Outcome,
) -> End {
    forbid_syncs_of_tempdb(world);
    let (ledgers, device) = (ledgers.clone(), world.clone());
    let report = world.run(move |os| {
        let instance = match open(os, log_cache_folder) {
            Ok(instance) => instance,
            Err(_) if plan.trouble.makes_errors() || plan.tempdb_fails_after.is_some() => return,
            Err(error) => panic!("opening what recovery has just opened: {error}"),
        };
        let sessions = shared(&instance);
        let start = |number| {
            let teller = Teller::new(os, &sessions, &ledgers, plan, number);
            os.spawn(&format!("client {number}"), move || teller.run())
        };
        let visit = |number: i64| {
            let visitor = Visitor {
                os: os.clone(),
                sessions: sessions.clone(),
                visits: Arc::clone(&ledgers.visits),
                trouble: plan.trouble,
                rng: os.rng(&format!("visitor {number}")),
                next_number: (plan.generation << 40) | (number << 32),
                count: VISITS,
            };
            os.spawn(&format!("visitor {number}"), move || visitor.run())
        };
        let mut clients: Vec<_> = (0..plan.clients).map(start).collect();
        clients.extend((0..if plan.is_crowded { VISITORS } else { 0 }).map(visit));
        if plan.has_drawer {
            let drawer = Teller::new(os, &sessions, &ledgers, plan, plan.clients);
            clients.push(os.spawn("drawer", move || drawer.draw(&device)));
        }
        for client in clients {
            let _ = client.join();
        }
        instance.shutdown();
        if !plan.trouble.makes_errors() {
            // An orderly stop flushes.
            ledgers.bank.lock().drained();
        }
    });
    outcome.note(&report);
    report.end
}

/// Makes every sync of tempdb's files fail with an error that no fault explains (F12).
fn forbid_syncs_of_tempdb(world: &World) {
    world.inject(Fault::fail_from(Operation::Harden, 0).on(TEMPDB_FILES));
}

/// Restarts, possibly crashing in the middle of recovery a few times, and judges what is there.
fn recover(
    world: &World,
    ledgers: &Ledgers,
    ((is_crowded, sequences), log_cache_folder, survival): ((bool, usize), Option<PathBuf>, &mut Survival),
    rng: &mut Rng,
    outcome: &mut Outcome,
) {
    for attempt in 0..4 {
        let disturbed = attempt < 3 && rng.chance(1, 3);
        let nemesis = if disturbed { Nemesis::PowerOffAtIo(1 + rng.below(150)) } else { Nemesis::None };
        let nemesis = survival.disturb(nemesis);
        nemesis.arm(world);
        forbid_syncs_of_tempdb(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let (answer, cache) = (Arc::clone(&found), log_cache_folder.clone());
        let tickets = Arc::clone(&ledgers.tickets);
        let report = world.run(move |os| {
            let shown = show(os, is_crowded, cache, (&tickets, sequences));
            *answer.lock() = Some(shown);
        });
        outcome.note(&report);
        if survival::is_crash(report.end) {
            ledgers.tickets.lock().end_life();
        }
        let takes_over = survival.end_recovery(report.end);
        if report.log.iter().any(|line| line.contains("recovery: database tempdb")) {
            outcome.violations.push("TEMPDB: it was recovered".to_owned());
        }
        let shown = survival::told_to_the_end(report.end, &found);
        match shown {
            None if survival::is_crash(report.end) => continue,
            None => return,
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok(shown)) => {
                if takes_over {
                    ledgers.bank.lock().drained();
                }
                let receipts = ledgers.receipts.lock().judge(&shown.receipts, &shown.bank.history);
                outcome.violations.extend(ledgers.bank.lock().judge(&shown.bank));
                outcome.violations.extend(receipts);
                outcome.violations.extend(ledgers.receipts.lock().judge_stamps(shown.last_stamp));
                outcome.violations.extend(ledgers.visits.lock().judge(&shown.visits));
                if shown.tempdb_tables > 0 {
                    outcome.violations.push(format!("TEMPDB: {} tables in it", shown.tempdb_tables));
                }
            }
        }
        return;
    }
}

/// The observed state of a recovered server.
struct Shown {
    bank: Found,
    /// Number and transaction.
    receipts: Vec<(i64, i64)>,
    last_stamp: i64,
    /// Empty without visitors.
    visits: Vec<i64>,
    tempdb_tables: i64,
}

/// Opens the instance and reads the state that the oracles check.
fn show(
    os: &Os,
    is_crowded: bool,
    log_cache_folder: Option<PathBuf>,
    (tickets, sequences): (&Latch<Tickets>, usize),
) -> Result<Shown, String> {
    let instance = open(os, log_cache_folder)?;
    let mut client = Client::connect(&shared(&instance), "bank").map_err(|error| format!("{error:?}"))?;
    let mut read = |text: &str| {
        let answer = client.execute(text);
        if answer.errors.is_empty() {
            answer.numbers()
        } else {
            Err(format!("{text}: {}", answer.error_text()))
        }
    };
    // Structure, an owner of every page, every index against its table.
    for database in ["bank", "master", "tempdb"] {
        read(&format!("DBCC CHECKDB ({database}) WITH NO_INFOMSGS"))?;
    }
    // After each crash: no value comes again.
    for (kind, Kind { name, .. }) in tickets::KINDS[..sequences].iter().enumerate() {
        tickets.lock().ask(kind, 1);
        let drawn = read(&format!("SELECT NEXT VALUE FOR {name}"))?[0][0];
        tickets.lock().hand_out(kind, drawn)?;
    }
    let mut bank = Found::default();
    for row in read("SELECT id, balance FROM accounts")? {
        bank.balances.insert(row[0], row[1]);
    }
    for row in read("SELECT number, source, target, amount, heap_rows FROM history")? {
        let transfer = Transfer { from: row[1], to: row[2], amount: row[3], heap_rows: row[4] };
        if bank.history.insert(row[0], transfer).is_some() {
            return Err(format!("transaction {} is in the history twice", row[0]));
        }
    }
    for row in read("SELECT number, COUNT(*) FROM heap GROUP BY number")? {
        bank.heap_rows.insert(row[0], row[1]);
    }
    bank.indexed = read("SELECT COUNT(*) FROM history WHERE amount >= 1")?[0][0];
    let receipts = read("SELECT receipt, number FROM receipts")?.iter().map(|row| (row[0], row[1])).collect();
    let visits = if is_crowded { read("SELECT number FROM visits")? } else { Vec::new() };
    let visits = visits.iter().map(|row| row[0]).collect();
    let tempdb_tables = read("SELECT COUNT(*) FROM tempdb.sys.objects WHERE type = 'U'")?[0][0];
    let last_stamp = read("SELECT CAST(@@DBTS AS bigint)")?[0][0];
    client.close();
    instance.shutdown();
    Ok(Shown { bank, receipts, last_stamp, visits, tempdb_tables })
}
