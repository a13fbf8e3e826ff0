//! Scenario `store`: the bank below SQL (store.rs): tasks transfer money in mixed durability while checkpoints run and little
//! memory forces page writes; crash, restart, judge; repeat.
//!
//! Oracles (F1-F4, F7, F9, F10 of the reliability plan): full commits survive, delayed losses are a suffix, no phantom, no
//! torn transaction (balances, heap and index agree with the history); the state that one recovery has shown stays; the structure is consistent.
//! Where the log cache survives the process, its death loses no commit at all.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use access::AccessError;
use os::sim::{Bug, DiskImage, End, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use txn::{LockError, Transaction, XactState};

use crate::Outcome;
use crate::nemesis::{Nemesis, Trouble};
use crate::scraps::{Scrap, Scraps};
use crate::sql_ledger::{ACCOUNTS, Found, SqlLedger, Stage, Transfer};
use crate::store::{Roots, Store, StoreResult};
use crate::survival::{self, Survival};

/// The random stream that decides which worlds are wild. Its name was chosen so that all seeds of the corpus are tame.
const WILD: &str = "store wild 16";

/// The random stream that decides which worlds have surviving log caches; its name was chosen in the same way.
const SURVIVAL: &str = "store cache that outlives 31";
/// The random stream that decides which worlds end between stores; its name was chosen in the same way.
const AT_STORES: &str = "store at stores 1";

/// The place of a store on the disk.
#[derive(Clone)]
struct Place {
    roots: Roots,
    /// The folder of its log cache, if that survives the process.
    log_cache_folder: Option<PathBuf>,
}

impl Place {
    fn open(self, os: &Os) -> StoreResult<Store> {
        Store::open(os, self.roots, self.log_cache_folder)
    }
}

/// Ledgers, kept outside the world so that no crash destroys them.
#[derive(Clone)]
struct Ledgers {
    bank: Arc<Latch<SqlLedger>>,
    scraps: Arc<Latch<Scraps>>,
}

/// The plan of one life of the process.
#[derive(Clone, Copy, Debug)]
struct Plan {
    generation: i64,
    /// The log cache of this life survives the process.
    cache_survives: bool,
    tellers: i64,
    transactions: u64,
    trouble: Trouble,
    /// Some transactions fill several log blocks and change more pages than the pool has.
    has_large: bool,
    /// Batches of rows are inserted and deleted, leaves empty, ghosts are cleaned often, page writes are slow.
    is_wild: bool,
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    // Streams of their own, so that the seeds of the corpus, which are tame, keep their meaning.
    let is_wild = Rng::named(seed, WILD).chance(2, 3);
    let (disk, roots) = prepared(is_wild);
    let world = World::with_disk(seed, Profile::drawn(seed), disk);
    world.plant(bug);
    let mut rng = Rng::named(seed, "store scenario");
    let ledgers = Ledgers {
        bank: Arc::new(Latch::new(LatchRank::Leaf, SqlLedger::default())),
        scraps: Arc::new(Latch::new(LatchRank::Leaf, Scraps::default())),
    };
    let mut survival = Survival::draw(seed, (SURVIVAL, AT_STORES), true);
    let mut outcome = Outcome::new(seed);
    let has_large = Rng::named(seed, "store many rows").chance(1, 3);
    let generations = 1 + rng.below(3) as i64;
    for generation in 1..=generations {
        let nemesis = Nemesis::draw(&mut rng, 1_000, 8_000);
        let (cache, nemesis) = survival.begin_life(&world, nemesis);
        nemesis.arm(&world);
        let mut trouble = Trouble::draw(&mut rng, 600);
        if is_wild && rng.chance(1, 3) {
            trouble = Trouble::draw_slow_pages(&mut rng, 40);
        }
        trouble.arm(&world);
        let place = Place { roots, log_cache_folder: cache };
        let plan = Plan {
            generation,
            cache_survives: place.log_cache_folder.is_some(),
            tellers: 2 + rng.below(5) as i64,
            transactions: 5 + rng.below(25),
            trouble,
            has_large,
            is_wild,
        };
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        let end = live(&world, place, &ledgers, plan, &mut outcome);
        Trouble::heal(&world);
        outcome.acknowledged += ledgers.bank.lock().acknowledged();
        let place = Place { roots, log_cache_folder: survival.end_life(&world, end) };
        recover(&world, (&place, &mut survival), &ledgers, &mut rng, &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.reached = world.reached();
    outcome
}

/// A disk with the bank on it, made once in the process, in a world of its own.
fn prepared(is_wild: bool) -> (DiskImage, Roots) {
    static PREPARED: [OnceLock<(DiskImage, Roots)>; 2] = [OnceLock::new(), OnceLock::new()];
    PREPARED[usize::from(is_wild)].get_or_init(|| prepare(is_wild)).clone()
}

fn prepare(is_wild: bool) -> (DiskImage, Roots) {
    let world = World::new(0, Profile::nvme());
    let made = Arc::new(Latch::new(LatchRank::Leaf, None));
    let answer = Arc::clone(&made);
    let report = world.run(move |os| {
        let roots = Store::create(os, is_wild).expect("making the bank on a healthy disk");
        *answer.lock() = Some(roots);
    });
    report.assert_ok();
    let roots = made.lock().take().expect("the run is ok");
    (world.disk_image(), roots)
}

/// One life of the process: tasks work until the nemesis strikes or the work is done.
fn live(world: &World, place: Place, ledgers: &Ledgers, plan: Plan, outcome: &mut Outcome) -> End {
    let (ledgers, handle) = (ledgers.clone(), world.clone());
    let report = world.run(move |os| {
        let store = match place.open(os) {
            Ok(store) => Arc::new(store),
            Err(_) if plan.trouble.makes_errors() => return,
            Err(error) => panic!("opening what recovery has just opened: {error}"),
        };
        let start = |number| {
            let teller = Teller::new(&handle, os, &store, &ledgers, plan, number);
            os.spawn(&format!("teller {number}"), move || teller.run())
        };
        for teller in (0..plan.tellers).map(start).collect::<Vec<_>>() {
            let _ = teller.join();
        }
        let Some(store) = Arc::into_inner(store) else { panic!("the tellers are gone") };
        match store.close() {
            // An orderly stop flushes.
            Ok(()) => ledgers.bank.lock().drained(),
            Err(error) => assert!(plan.trouble.makes_errors(), "closing a healthy store: {error}"),
        }
    });
    outcome.note(&report);
    report.end
}

/// One task's work.
struct Teller {
    world: World,
    os: Os,
    store: Arc<Store>,
    ledgers: Ledgers,
    plan: Plan,
    rng: Rng,
    next_number: i64,
    /// Batches of scraps that it may delete, with their rows.
    batches: Vec<(i64, u64)>,
}

impl Teller {
    fn new(world: &World, os: &Os, store: &Arc<Store>, ledgers: &Ledgers, plan: Plan, number: i64) -> Teller {
        Teller {
            world: world.clone(),
            os: os.clone(),
            store: Arc::clone(store),
            ledgers: ledgers.clone(),
            batches: ledgers.scraps.lock().batches_of(number),
            plan,
            rng: os.rng(&format!("teller {number}")),
            next_number: (plan.generation << 40) | (number << 32),
        }
    }

    fn run(mut self) {
        for _ in 0..self.plan.transactions {
            let done = match self.rng.below(20) {
                0 => self.store.checkpoint(),
                3..=5 if self.plan.has_large => self.store.checkpoint(),
                1 => self.flush_log(),
                2 => self.store.clean(),
                6..=8 if self.plan.is_wild => self.store.clean(),
                _ => self.transfer(),
            };
            if let Err(error) = done {
                assert!(self.plan.trouble.makes_errors(), "a healthy disk, yet: {error}");
                return;
            }
            if self.rng.chance(1, 4) {
                let pause_ns = self.rng.below(3_000_000);
                let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
            }
        }
    }

    fn flush_log(&mut self) -> StoreResult<()> {
        let called_at = self.ledgers.bank.lock().tick();
        self.store.flush_log()?;
        self.ledgers.bank.lock().flushed(called_at);
        Ok(())
    }

    /// Transfers money in one transaction. A deadlock victim is rolled back and counts as done.
    fn transfer(&mut self) -> StoreResult<()> {
        self.next_number += 1;
        let number = self.next_number;
        let transfer = self.draw_transfer();
        self.ledgers.bank.lock().begin(number, transfer.clone());
        let txn = self.store.begin()?;
        let scrap = self.draw_scrap(&txn);
        match self.change(&txn, number, &transfer).and_then(|()| self.scrap(&txn, number, scrap)) {
            Ok(()) if self.rng.chance(1, 8) => {}
            Ok(()) => {
                let is_full = self.rng.chance(1, 2);
                self.ledgers.bank.lock().set_stage(number, Stage::Committing);
                self.ledgers.scraps.lock().note(number, scrap);
                if let Err(error) = self.store.commit(&txn, is_full) {
                    assert!(self.plan.trouble.makes_errors(), "a healthy disk, yet: {error}");
                    self.world.kill_process();
                }
                if self.plan.cache_survives {
                    survival::told_by_the_living(&self.os);
                }
                self.ledgers.bank.lock().acknowledge(number, is_full);
                self.batches.retain(|(batch, _)| Some(*batch) != scrap.removed);
                if scrap.added > 0 {
                    self.batches.push((number, scrap.added));
                }
                return Ok(());
            }
            Err(AccessError::Lock(LockError::Deadlock)) => {}
            Err(error) => assert!(self.plan.trouble.makes_errors(), "a healthy disk, yet: {error}"),
        }
        self.ledgers.bank.lock().set_stage(number, Stage::RolledBack);
        if txn.state() != XactState::Active {
            // The log failed during a rollback to a savepoint.
            self.world.kill_process();
        }
        if let Err(error) = txn.rollback() {
            let device_failed =
                self.plan.trouble.makes_errors() && !matches!(self.plan.trouble, Trouble::FullAfter(_));
            assert!(device_failed, "rollback needs no room, yet: {error}");
            // Its locks stay; the database must be recovered.
            self.world.kill_process();
        }
        Ok(())
    }

    /// In a wild world: sometimes inserts a batch of scraps, and deletes most of the existing ones.
    fn draw_scrap(&mut self, txn: &Transaction) -> Scrap {
        let mut scrap = Scrap { added: 0, removed: None, xact: txn.id().0 };
        if self.plan.is_wild && self.rng.chance(1, 3) {
            scrap.added = 1 + self.rng.below(40);
        }
        if self.batches.len() > 1 && self.rng.chance(1, 3) {
            scrap.removed = Some(self.batches[self.rng.below(self.batches.len() as u64 - 1) as usize].0);
        }
        scrap
    }

    fn scrap(&mut self, txn: &Transaction, number: i64, scrap: Scrap) -> StoreResult<()> {
        let widths: Vec<usize> = (0..scrap.added).map(|_| 400 + self.rng.below(2_400) as usize).collect();
        if !widths.is_empty() {
            self.store.add_scraps(txn, number, &widths)?;
        }
        let Some(removed) = scrap.removed else { return Ok(()) };
        let rows = self.batches.iter().find(|(batch, _)| *batch == removed).map_or(0, |(_, rows)| *rows);
        self.store.remove_scraps(txn, removed, rows)
    }

    fn change(&mut self, txn: &Transaction, number: i64, transfer: &Transfer) -> StoreResult<()> {
        let Transfer { from, to, amount, heap_rows } = *transfer;
        // Mostly in the order of the accounts; the other orders cause deadlocks.
        let mut updates = [(from, -amount), (to, amount)];
        if self.rng.chance(3, 4) {
            updates.sort_unstable();
        }
        for (id, change) in updates {
            self.store.add(txn, id, change)?;
        }
        let padding = self.rng.below(600) as usize;
        self.store.note(txn, number, transfer, padding)?;
        if self.rng.chance(1, 4) {
            self.work_in_vain(txn, number, transfer)?;
        }
        for _ in 0..heap_rows {
            let padding = self.rng.below(3_000) as usize;
            self.store.pile(txn, number, padding)?;
        }
        Ok(())
    }

    /// Changes that are rolled back to a savepoint.
    fn work_in_vain(&mut self, txn: &Transaction, number: i64, transfer: &Transfer) -> StoreResult<()> {
        let savepoint = txn.savepoint();
        self.store.unnote(txn, number, transfer)?;
        self.store.add(txn, transfer.from, 77)?;
        for _ in 0..self.rng.below(4) {
            self.store.pile(txn, -number, 500)?;
        }
        txn.rollback_to(savepoint)?;
        Ok(())
    }

    fn draw_transfer(&mut self) -> Transfer {
        let from = self.rng.below(ACCOUNTS as u64) as i64;
        let to = (from + 1 + self.rng.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
        let mut heap_rows = if self.rng.chance(1, 3) { self.rng.below(6) as i64 } else { 0 };
        if self.plan.has_large && self.rng.chance(1, 16) {
            heap_rows = 40 + self.rng.below(60) as i64;
        }
        Transfer { from, to, amount: 1 + self.rng.below(50) as i64, heap_rows }
    }
}

/// Restarts, possibly crashing in the middle of recovery a few times, and judges what is there.
fn recover(
    world: &World,
    (place, survival): (&Place, &mut Survival),
    ledgers: &Ledgers,
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
        let (answer, place) = (Arc::clone(&found), place.clone());
        let report = world.run(move |os| {
            let shown = show(os, &place);
            *answer.lock() = Some(shown);
        });
        outcome.note(&report);
        let takes_over = survival.end_recovery(report.end);
        let shown = survival::told_to_the_end(report.end, &found);
        match shown {
            None if survival::is_crash(report.end) => continue,
            None => return,
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok(Shown { bank, scraps, next_xact })) => {
                if takes_over {
                    ledgers.bank.lock().drained();
                }
                let is_there = |number| bank.history.contains_key(&number);
                let violations = ledgers.scraps.lock().judge(is_there, &scraps, next_xact);
                outcome.violations.extend(ledgers.bank.lock().judge(&bank));
                outcome.violations.extend(violations);
            }
        }
        return;
    }
}

/// The observed state of a recovered store.
struct Shown {
    bank: Found,
    /// Rows by batch.
    scraps: BTreeMap<i64, u64>,
    next_xact: u64,
}

/// Opens the store and reads the state that the oracles check.
fn show(os: &Os, place: &Place) -> Result<Shown, String> {
    let store = place.clone().open(os).map_err(|error| format!("open: {error}"))?;
    let (scraps, next_xact) = store.show_scraps()?;
    let bank = store.show()?;
    store.close().map_err(|error| format!("close: {error}"))?;
    Ok(Shown { bank, scraps, next_xact })
}
