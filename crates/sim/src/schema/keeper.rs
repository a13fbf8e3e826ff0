//! The client that changes the files of the authors' database in some worlds: it adds a second data file, empties and removes it, and shrinks the
//! first, while other clients work. After any crash the file exists or not as master says.

use std::path::Path;
use std::sync::Arc;

use os::sim::World;
use os::{Latch, Os, Rng, WaitType};
use session::SessionShared;

use super::ledger::{DatabaseStage, SchemaLedger};
use super::{DATABASE, Plan};
use crate::client::{Client, number};
use crate::nemesis::Trouble;
use crate::teller::{NO_ROOM, RETRYABLE};

/// The second data file.
pub(super) const SECOND_FILE: &str = "/data/works_2.ndf";
/// Number of second data files in the database's own catalog.
const COUNT: &str = "SELECT COUNT(*) FROM sys.database_files WHERE name = 'second'";
/// Errors when a file to be emptied or removed still has contents.
const NOT_EMPTY: [i32; 2] = [2555, 5042];
/// Errors when the disk has no room for a new file.
const NO_ROOM_FOR_FILE: [i32; 2] = [5123, 5149];
const TURNS: u64 = 6;
/// Approximate number of I/Os of a statement about files.
const STATEMENT_IOS: u64 = 24;

/// The client's task.
pub(super) struct Keeper {
    pub(super) os: Os,
    pub(super) sessions: SessionShared,
    pub(super) ledger: Arc<Latch<SchemaLedger>>,
    pub(super) plan: Plan,
    pub(super) rng: Rng,
    /// Lets the power fail while a file is added or removed, since such steps are few among all I/Os.
    pub(super) cut: Option<World>,
}

impl Keeper {
    pub(super) fn run(mut self) {
        let Ok(mut client) = Client::connect(&self.sessions, DATABASE) else {
            assert!(self.plan.trouble.makes_errors(), "logging in on a healthy disk");
            return;
        };
        client.execute("SET LOCK_TIMEOUT 50");
        for _ in 0..1 + self.rng.below(TURNS) {
            let pause_ns = self.rng.below(20_000_000);
            let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
            let Some(is_there) = is_there(&mut client) else { break };
            let is_going_on = match self.rng.below(4) {
                0 => {
                    self.cut();
                    self.ask(&mut client, "DBCC SHRINKFILE (works, 1) WITH NO_INFOMSGS").is_some()
                }
                _ if !is_there => self.add(&mut client),
                1 => self.ask(&mut client, "CHECKPOINT").is_some(),
                _ => self.remove(&mut client),
            };
            if !is_going_on {
                break;
            }
        }
        client.close();
    }

    /// In two of three cases the power fails soon.
    fn cut(&mut self) {
        if let Some(world) = &self.cut
            && self.rng.chance(2, 3)
        {
            world.power_off_after_ios(1 + self.rng.below(STATEMENT_IOS));
        }
    }

    fn add(&mut self, client: &mut Client) -> bool {
        self.cut();
        self.ledger.lock().second_file = Some(DatabaseStage::Creating);
        let added = self.ask(
            client,
            &format!(
                "ALTER DATABASE {DATABASE} ADD FILE (NAME = second, FILENAME = '{SECOND_FILE}', SIZE = 512 KB, FILEGROWTH = 256 KB)"
            ),
        );
        if added == Some(true) {
            self.done(DatabaseStage::There, "data file added");
        }
        added.is_some()
    }

    /// Empties it and, if that succeeded, removes it. Between the two steps other clients work.
    fn remove(&mut self, client: &mut Client) -> bool {
        let Some(is_empty) = self.ask(client, "DBCC SHRINKFILE (second, EMPTYFILE) WITH NO_INFOMSGS") else {
            return false;
        };
        if !is_empty {
            return true;
        }
        let _ = self.os.sleep(self.rng.below(5_000_000), WaitType::SLEEP_TASK);
        self.cut();
        self.ledger.lock().second_file = Some(DatabaseStage::Dropping);
        let removed = self.ask(client, &format!("ALTER DATABASE {DATABASE} REMOVE FILE second"));
        match removed {
            Some(true) => self.done(DatabaseStage::Gone, "data file removed"),
            Some(false) => self.ledger.lock().second_file = Some(DatabaseStage::There),
            None => {}
        }
        removed.is_some()
    }

    fn done(&self, stage: DatabaseStage, what: &'static str) {
        let mut ledger = self.ledger.lock();
        ledger.second_file = Some(stage);
        *ledger.changes.entry(what).or_default() += 1;
    }

    /// Whether it succeeded; `None`: the server, or this database, cannot go on, as planned.
    fn ask(&self, client: &mut Client, text: &str) -> Option<bool> {
        let answer = client.execute(text);
        let Some(error) = answer.error_number() else { return Some(true) };
        os::report::info("keeper", &format!("{text}: {}", answer.error_text()));
        let is_full = matches!(self.plan.trouble, Trouble::FullAfter(_));
        let is_out_of_room = NO_ROOM.contains(&error) || NO_ROOM_FOR_FILE.contains(&error);
        if RETRYABLE.contains(&error) || NOT_EMPTY.contains(&error) || is_full && is_out_of_room {
            return Some(false);
        }
        assert!(self.plan.trouble.makes_errors(), "{text} on a healthy disk: {}", answer.error_text());
        None
    }
}

/// Is the second file among those of the database? `None`: the query failed.
fn is_there(client: &mut Client) -> Option<bool> {
    let answer = client.execute(COUNT);
    answer.rows.first().filter(|_| answer.errors.is_empty()).map(|row| number(&row[0]) == Ok(1))
}

/// Reads that from a recovered server; the disk must agree.
///
/// # Errors
/// The disk disagrees, or the query failed.
pub(super) fn show(os: &Os, client: &mut Client) -> Result<bool, String> {
    let is_there = is_there(client).ok_or("the files cannot be listed")?;
    match os.disk().exists(Path::new(SECOND_FILE)) {
        on_disk if on_disk == is_there => Ok(is_there),
        on_disk => Err(format!(
            "FILE: the second is among those of the database: {is_there}, on the disk: {on_disk}"
        )),
    }
}
