//! Scenario `programs`: tables with a trigger that keeps count of their rows are changed by plain statements, MERGE, cursors and bulk loads. Crash,
//! restart, judge; repeat.
//!
//! Oracles (F1 to F4, F9): after any crash each table is as its owner's last acknowledged transaction has left it, or as the unanswered one has, and
//! its trigger has counted just those rows: what a trigger does and the statement that fired it are there together or not at all.

use std::sync::{Arc, OnceLock};

use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng};
use session::{BulkRows, BulkSource};
use types::{SqlError, SqlType, Value};

use super::ledger::{Ledger, Rows};
use super::{Life, ROWS, Shared, TABLES, inserting, is_heap, open, read};
use crate::client::{Client, shared};
use crate::nemesis::Nemesis;
use crate::recovery::{self, Disturbance};
use crate::{Outcome, prepared};

const TRANSACTIONS: u64 = 6;
/// What a trigger adds up of each row.
const TOTAL: &str = "ISNULL(SUM(id * 7 + stamp), 0)";

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    const DISTURBANCE: Disturbance = Disturbance { one_in: 3, ios_max: 150 };
    let mut rng = Rng::named(seed, "programs scenario");
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let first = (1..=ROWS).map(|id| (id, 0)).collect();
    let ledger: Shared = Arc::new(Latch::new(LatchRank::Leaf, Ledger::new(TABLES, &first)));
    let mut outcome = Outcome::new(seed);
    for number in 1..=1 + rng.below(3) as i64 {
        let nemesis = if rng.chance(1, 5) { Nemesis::None } else { Nemesis::draw(&mut rng, 300, 8_000) };
        outcome.log.push(format!("life {number}: {nemesis:?}"));
        live(&world, &ledger, number, nemesis, &mut outcome);
        if let Some(shown) = recovery::recover(&world, &mut rng, &DISTURBANCE, &mut outcome, show) {
            outcome.violations.append(&mut ledger.lock().judge(&shown));
        }
        outcome.violations.append(&mut ledger.lock().sightings);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.acknowledged = ledger.lock().acknowledged;
    outcome.reached = world.reached();
    outcome
}

/// A disk with the tables and their triggers, made once in the process in a world of its own.
fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    let make = |mut client: Client, _: &session::SessionShared| {
        client.must("CREATE DATABASE mass");
        client.must("USE mass");
        for table in 0..TABLES {
            let key = if is_heap(table) { "UNIQUE NONCLUSTERED" } else { "PRIMARY KEY" };
            client.must(&format!(
                "CREATE TABLE part{table} (id bigint NOT NULL {key}, stamp bigint NOT NULL, payload char(200) NOT NULL)"
            ));
            client.must(&format!("CREATE INDEX by_stamp ON part{table} (stamp)"));
            client
                .must(&format!("CREATE TABLE audit{table} (number bigint NOT NULL, total bigint NOT NULL)"));
            client.must(&format!(
                "CREATE TRIGGER watch{table} ON part{table} AFTER INSERT, UPDATE, DELETE AS INSERT audit{table} SELECT \
                 (SELECT COUNT_BIG(*) FROM inserted) - (SELECT COUNT_BIG(*) FROM deleted), \
                 (SELECT {TOTAL} FROM inserted) - (SELECT {TOTAL} FROM deleted)"
            ));
            client.must(&inserting(table, 0, (1, ROWS)));
        }
        client.close();
    };
    PREPARED.get_or_init(|| prepared::disk(open, make)).clone()
}

/// One life of the server.
fn live(world: &World, ledger: &Shared, number: i64, nemesis: Nemesis, outcome: &mut Outcome) {
    let (device, ledger) = (world.clone(), Arc::clone(ledger));
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os).expect("opening what recovery has just opened");
        nemesis.arm(&device);
        let sessions = shared(&instance);
        let life = Life { os: os.clone(), world: device, sessions, ledger, number };
        let owner =
            |table: u64| life.start(&format!("program {table}"), move |life, rng| own(life, rng, table));
        for task in (0..TABLES).map(owner).collect::<Vec<_>>() {
            let _ = task.join();
        }
        instance.shutdown();
    });
    outcome.note(&report);
}

/// The transactions of a table's owner.
fn own(life: &Life, mut rng: Rng, table: u64) {
    let mut client = life.connect();
    for turn in 0..1 + rng.below(TRANSACTIONS) as i64 {
        let mut rows = life.ledger.lock().rows(table);
        let stamp = life.number * 1_000 + turn;
        let is_explicit = rng.chance(1, 2);
        let mut programs = vec![Program::draw(&mut rng, table, stamp, &mut rows)];
        if is_explicit && rng.chance(1, 2) {
            programs.push(Program::draw(&mut rng, table, stamp + 500, &mut rows));
        }
        // Each row that a cursor changes is a statement of its own.
        let is_explicit = is_explicit || matches!(programs[0], Program::Cursor(_));
        if is_explicit {
            client.must("BEGIN TRAN");
        } else {
            life.ledger.lock().ask(table, rows.clone());
        }
        for program in programs {
            program.run(life, &mut client);
        }
        if !is_explicit {
            life.ledger.lock().settle(table);
        } else if rng.chance(1, 5) {
            client.must("ROLLBACK");
        } else {
            life.ledger.lock().ask(table, rows);
            client.must("COMMIT");
            life.ledger.lock().settle(table);
        }
    }
    client.close();
}

/// A change of a table.
enum Program {
    /// One statement.
    Statement(String),
    /// A batch with a cursor.
    Cursor(String),
    /// INSERT BULK, and the rows behind it.
    Load(String, Vec<Vec<Value>>),
}

impl Program {
    /// Draws a change, and makes it in `rows`.
    fn draw(rng: &mut Rng, table: u64, stamp: i64, rows: &mut Rows) -> Program {
        let first = 1 + rng.below(ROWS as u64) as i64;
        let last = first + rng.below(40) as i64;
        let within = first..=last;
        match rng.below(6) {
            0 | 1 => {
                for id in within {
                    match rows.contains_key(&id) && id % 3 == 0 {
                        true => drop(rows.remove(&id)),
                        false => drop(rows.insert(id, stamp)),
                    }
                }
                Program::Statement(format!(
                    "MERGE part{table} AS a USING (SELECT value AS id FROM GENERATE_SERIES(CAST({first} AS bigint), CAST({last} AS bigint))) AS s \
                     ON a.id = s.id WHEN MATCHED AND a.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET stamp = {stamp} \
                     WHEN NOT MATCHED THEN INSERT VALUES (s.id, {stamp}, 'm');"
                ))
            }
            2 | 3 => {
                rows.retain(|id, _| !within.contains(id) || id % 2 == 0);
                rows.range_mut(within).for_each(|(_, value)| *value = stamp);
                let kind = ["KEYSET", "KEYSET SCROLL_LOCKS", "FORWARD_ONLY DYNAMIC"][rng.below(3) as usize];
                Program::Cursor(format!(
                    "DECLARE @i bigint, @s bigint; DECLARE c CURSOR LOCAL {kind} FOR SELECT id, stamp FROM part{table} \
                     WHERE id BETWEEN {first} AND {last} FOR UPDATE; OPEN c; FETCH NEXT FROM c INTO @i, @s; WHILE @@FETCH_STATUS = 0 BEGIN \
                     IF @i % 2 = 0 UPDATE part{table} SET stamp = {stamp} WHERE CURRENT OF c ELSE DELETE part{table} WHERE CURRENT OF c; \
                     FETCH NEXT FROM c INTO @i, @s END; CLOSE c; DEALLOCATE c"
                ))
            }
            4 => {
                let count = 1 + rng.below(60) as i64;
                let loaded: Vec<i64> = (0..count).map(|at| stamp * 10_000 + at).collect();
                rows.extend(loaded.iter().map(|id| (*id, stamp)));
                let row = |id: &i64| vec![Value::BigInt(*id), Value::BigInt(stamp), Value::nvarchar("b")];
                let announced = format!(
                    "INSERT BULK part{table} (id bigint, stamp bigint, payload nvarchar(10)) WITH (FIRE_TRIGGERS)"
                );
                Program::Load(announced, loaded.iter().map(row).collect())
            }
            _ => {
                rows.range_mut(within).for_each(|(_, value)| *value = stamp);
                Program::Statement(format!(
                    "UPDATE part{table} SET stamp = {stamp} WHERE id BETWEEN {first} AND {last}"
                ))
            }
        }
    }

    fn run(self, life: &Life, client: &mut Client) {
        let (text, answer) = match self {
            Program::Statement(text) | Program::Cursor(text) => {
                let answer = client.execute(&text);
                (text, answer)
            }
            Program::Load(text, rows) => {
                client.must(&text);
                let answer = client.load(&mut Sent(rows.into_iter()));
                (text, answer)
            }
        };
        if !answer.errors.is_empty() {
            life.sight(format!("{text}: {}", answer.error_text()));
        }
    }
}

/// The rows of a bulk load.
struct Sent(std::vec::IntoIter<Vec<Value>>);

impl BulkRows for Sent {
    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool, SqlError> {
        let found = self.0.next();
        let has_row = found.is_some();
        *row = found.unwrap_or_default();
        Ok(has_row)
    }
}

impl BulkSource for Sent {
    fn columns(&mut self) -> Result<Vec<SqlType>, SqlError> {
        Ok(vec![SqlType::BigInt, SqlType::BigInt, SqlType::NVARCHAR_MAX])
    }
}

/// The tables of a recovered server; an error where a trigger has counted other rows.
fn show(os: &Os) -> Result<Vec<Rows>, String> {
    let instance = open(os)?;
    let mut client =
        Client::connect(&shared(&instance), "mass").map_err(|error| format!("logging in: {error:?}"))?;
    let sound = client.execute("DBCC CHECKDB (mass) WITH NO_INFOMSGS");
    if !sound.errors.is_empty() {
        return Err(sound.error_text());
    }
    for table in 0..TABLES {
        let counted = client.must(&format!(
            "SELECT (SELECT SUM(number) FROM audit{table}) - (SELECT COUNT_BIG(*) FROM part{table}), \
             (SELECT SUM(total) FROM audit{table}) - (SELECT {TOTAL} FROM part{table})"
        ));
        if counted.numbers()? != [[0, 0]] {
            return Err(format!("the trigger of part{table} has counted other rows: {:?}", counted.rows));
        }
    }
    let shown = (0..TABLES).map(|table| read(&mut client, table)).collect();
    client.close();
    instance.shutdown();
    shown
}
