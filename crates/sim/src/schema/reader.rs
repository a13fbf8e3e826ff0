//! Clients of scenario `schema` that only read the common marks, each at one isolation level, and check the result: no data whose commit was never
//! requested, and within a transaction the guarantees of the level; and the client that creates and drops databases.

use std::sync::Arc;

use os::sim::{Fault, Operation, World};
use os::{Latch, Os, Rng, WaitType};
use session::SessionShared;

use super::ledger::{DatabaseStage, SchemaLedger};
use super::{DATA, DATABASE, MARKS, Plan};
use crate::client::Client;
use crate::nemesis::Trouble;
use crate::teller::{NO_ROOM, RETRYABLE};

/// Queries run twice in one transaction: by key, a range, all rows, through the index; in wild worlds also of the heap whose rows move (by key
/// and all rows), and rows that are inserted and deleted. Each with the permanent marks that it must find, whatever moves meanwhile.
const READS: [(&str, Finds); 7] = [
    ("SELECT id, version FROM marks WHERE id = {id} ORDER BY id", Finds::One),
    ("SELECT id, version FROM marks WHERE id <= {id} ORDER BY id", Finds::UpTo),
    ("SELECT id, version FROM marks ORDER BY id", Finds::All),
    ("SELECT id, version FROM marks WITH (INDEX(by_version)) WHERE version >= 0 ORDER BY id", Finds::Some),
    ("SELECT id, version FROM shelf WHERE id = {id}", Finds::One),
    ("SELECT id, version FROM shelf ORDER BY id", Finds::All),
    ("SELECT id, version FROM marks WHERE id >= 100 ORDER BY id", Finds::Some),
];
const READS_OF_TAME_WORLDS: u64 = 4;

/// The permanent marks that a query must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finds {
    One,
    UpTo,
    All,
    /// The scan follows an index whose keys change.
    Some,
}

/// A reader at one level.
pub(crate) struct Reader {
    pub(crate) os: Os,
    pub(crate) sessions: SessionShared,
    pub(crate) ledger: Arc<Latch<SchemaLedger>>,
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    pub(crate) level: &'static str,
}

impl Reader {
    pub(crate) fn run(mut self) {
        let Ok(mut client) = Client::connect(&self.sessions, DATABASE) else {
            assert!(self.plan.trouble.makes_errors(), "logging in on a healthy disk");
            return;
        };
        for _ in 0..2 * self.plan.transactions {
            let id = self.rng.below(MARKS as u64).to_string();
            let reads = if self.plan.is_wild { READS.len() as u64 } else { READS_OF_TAME_WORLDS };
            let (text, finds) = READS[self.rng.below(reads) as usize];
            let wanted = match finds {
                Finds::One => Some(1),
                Finds::UpTo => id.parse::<usize>().ok().map(|id| id + 1),
                Finds::All => Some(MARKS as usize),
                Finds::Some => None,
            };
            if !self.read_twice(&mut client, &text.replace("{id}", &id), wanted) {
                break;
            }
        }
        client.close();
    }

    /// False: the server cannot go on, as planned.
    fn read_twice(&mut self, client: &mut Client, text: &str, wanted: Option<usize>) -> bool {
        client.execute(&format!("SET TRANSACTION ISOLATION LEVEL {}; BEGIN TRAN", self.level));
        let mut before: Option<Vec<Vec<i64>>> = None;
        for _ in 0..2 {
            let answer = client.execute(text);
            if let Some(error) = answer.error_number() {
                let _ = client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN");
                assert!(
                    RETRYABLE.contains(&error) || self.plan.trouble.makes_errors(),
                    "{text} on a healthy disk: {}",
                    answer.error_text()
                );
                return RETRYABLE.contains(&error);
            }
            let Ok(rows) = answer.numbers() else { panic!("marks are numbers") };
            self.judge(text, &rows, (before.as_ref(), wanted));
            before = Some(rows);
            let pause_ns = self.rng.below(3_000_000);
            let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
        }
        client.execute("COMMIT TRAN").errors.is_empty()
    }

    fn judge(
        &self,
        text: &str,
        rows: &[Vec<i64>],
        (before, wanted): (Option<&Vec<Vec<i64>>>, Option<usize>),
    ) {
        let mut ledger = self.ledger.lock();
        if self.level != "READ UNCOMMITTED" {
            rows.iter().for_each(|row| ledger.has_seen(row[1]));
            let count = rows.iter().filter(|row| row[0] < MARKS).count();
            if wanted.is_some_and(|wanted| count != wanted) {
                ledger.sightings.push(format!("MISSING: {} saw {rows:?}: {text}", self.level));
            }
        }
        let dirty = rows.iter().find(|row| !ledger.may_be_seen(row[1])).cloned();
        if let Some(row) = dirty.filter(|_| self.level != "READ UNCOMMITTED") {
            ledger.sightings.push(format!("DIRTY: {} saw {row:?}: {text}", self.level));
        }
        let broken = |before: &&Vec<Vec<i64>>| match self.level {
            // New rows may appear, also one that the first read missed while it moved along the index; rows once seen must stay.
            "REPEATABLE READ" => !before.iter().all(|row| rows.contains(row)),
            "SERIALIZABLE" => before.as_slice() != rows,
            _ => false,
        };
        if let Some(before) = before.filter(broken) {
            ledger
                .sightings
                .push(format!("UNREPEATABLE: {} saw {before:?}, then {rows:?}: {text}", self.level));
        }
    }
}

/// Creates databases, inserts rows into them, drops them.
pub(crate) struct Founder {
    pub(crate) os: Os,
    pub(crate) sessions: SessionShared,
    pub(crate) ledger: Arc<Latch<SchemaLedger>>,
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    /// In some worlds the folder of a database cannot be synced while the database is dropped, and the power may fail soon after.
    pub(crate) failing: Option<World>,
}

/// The power fails within so many I/Os after a drop that is not durable: they include those of the next database.
const IOS_BEHIND_DROP: u64 = 120;

impl Founder {
    pub(crate) fn run(mut self) {
        let Ok(mut client) = Client::connect(&self.sessions, "master") else {
            assert!(self.plan.trouble.makes_errors(), "logging in on a healthy disk");
            return;
        };
        let mut there = self.ledger.lock().databases_there();
        for turn in 0..4 {
            let going = match there.pop() {
                Some(name) if self.rng.chance(1, 2) => self.drop_database(&mut client, &name),
                Some(name) => {
                    there.push(name.clone());
                    self.add_row(&mut client, &name)
                }
                None => {
                    let name = format!("extra_{}_{turn}", self.plan.generation);
                    there.push(name.clone());
                    self.found(&mut client, &name)
                }
            };
            if !going {
                break;
            }
            let pause_ns = self.rng.below(5_000_000);
            let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
        }
        client.close();
    }

    fn found(&mut self, client: &mut Client, name: &str) -> bool {
        self.ledger.lock().database(name, DatabaseStage::Creating);
        // A folder of its own, whose syncs can be made to fail.
        let place = match self.failing {
            Some(_) => format!(
                " ON (NAME = d, FILENAME = '{DATA}/{name}/{name}.mdf') LOG ON (NAME = l, FILENAME = '{DATA}/{name}/{name}.ldf')"
            ),
            None => String::new(),
        };
        let created = self.ask(client, &format!("CREATE DATABASE {name}{place}"));
        if created {
            self.ledger.lock().database(name, DatabaseStage::There);
        }
        created && self.ask(client, &format!("CREATE TABLE {name}.dbo.t (k int NOT NULL PRIMARY KEY)"))
    }

    fn add_row(&mut self, client: &mut Client, name: &str) -> bool {
        self.ledger.lock().row(name, false);
        let added = self
            .ask(client, &format!("INSERT INTO {name}.dbo.t SELECT ISNULL(MAX(k), 0) + 1 FROM {name}.dbo.t"));
        if added {
            self.ledger.lock().row(name, true);
        }
        added
    }

    fn drop_database(&mut self, client: &mut Client, name: &str) -> bool {
        self.ledger.lock().database(name, DatabaseStage::Dropping);
        let failing = self.failing.clone().filter(|_| self.rng.chance(2, 3));
        if let Some(world) = &failing {
            world.inject(Fault::fail_from(Operation::Sync, 0).on(name));
        }
        let dropped = self.ask(client, &format!("DROP DATABASE {name}"));
        if dropped {
            self.ledger.lock().database(name, DatabaseStage::Gone);
        }
        if let Some(world) = failing {
            os::sim::reach(|| "a drop that is not hard".to_owned());
            if self.rng.chance(2, 3) {
                world.power_off_after_ios(1 + self.rng.below(IOS_BEHIND_DROP));
            }
            if self.rng.chance(1, 2) {
                world.clear_faults();
            }
        }
        dropped
    }

    /// False: the server, or this database, cannot go on, as planned.
    fn ask(&self, client: &mut Client, text: &str) -> bool {
        let answer = client.execute(text);
        let Some(error) = answer.error_number() else { return true };
        os::report::info("founder", &answer.error_text());
        let is_full = matches!(self.plan.trouble, Trouble::FullAfter(_)) && NO_ROOM.contains(&error);
        // A crash may have taken the table of a database that is there: its CREATE was not acknowledged.
        let is_without_table = error == 208;
        assert!(
            is_full || is_without_table || self.plan.trouble.makes_errors(),
            "{text} on a healthy disk: {}",
            answer.error_text()
        );
        false
    }
}
