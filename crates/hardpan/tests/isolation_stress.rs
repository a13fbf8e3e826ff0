//! Lists that connections append to and read concurrently, over TDS from the real server: at each isolation level only the anomalies that the level
//! allows, by a search for dependency cycles (sim's dependencies.rs).
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folder itself and starts a process"
)]

mod common;
#[path = "../../sim/src/dependencies.rs"]
mod dependencies;
#[allow(dead_code, reason = "the client of hardpan's own commands, of which this needs batches")]
#[path = "../src/remote.rs"]
mod remote;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{Folder, PASSWORD, Server, serve_plainly};
use dependencies::{Done, History, Level, judge};
use os::Os;
use remote::{Connection, ConnectionOptions, address_of};
use tds::client::Token;
use types::Value;

const KEYS: u32 = 5;
const CONNECTIONS: u64 = 4;
/// Transactions of a connection at a level, if there is time.
const TRANSACTIONS: u64 = 60;
/// The time limit of one level; six levels stay within 10 s.
const TIME: Duration = Duration::from_millis(1_500);
/// A failed transaction does not count: deadlock, update conflict.
const EXPECTED: [i32; 2] = [1205, 3960];

/// Database, level, its promise; without a promise to readers their reads are not checked (READ UNCOMMITTED forbids write cycles only).
const LEVELS: [(&str, &str, Option<Level>); 6] = [
    ("locking", "READ UNCOMMITTED", None),
    ("locking", "READ COMMITTED", Some(Level::Committed)),
    ("versioned", "READ COMMITTED", Some(Level::Committed)),
    ("locking", "REPEATABLE READ", Some(Level::Serializable)),
    ("versioned", "SNAPSHOT", Some(Level::Snapshot)),
    ("locking", "SERIALIZABLE", Some(Level::Serializable)),
];

struct Stressed {
    server: Server,
    _folder: Folder,
}

impl Stressed {
    fn start() -> Stressed {
        let folder = Folder::new("stress");
        Stressed { server: Server::start(&mut serve_plainly(&folder.join("data"))), _folder: folder }
    }

    fn connect(&self, database: &str) -> Client {
        let options = ConnectionOptions {
            address: address_of(&self.server.address()).unwrap(),
            user: "sa".into(),
            password: PASSWORD.into(),
            database: database.into(),
            application: "stress".into(),
            trust_certificate: true,
        };
        Client(Connection::open(&Os::real(), &options, &mut |_| ()).unwrap())
    }
}

struct Client(Connection);

impl Client {
    /// The rows, or the error that the batch met first.
    fn run(&mut self, text: &str) -> Result<Vec<Vec<Value>>, i32> {
        let (mut rows, mut first) = (Vec::new(), None);
        let mut seen = |token: &Token| match token {
            Token::Row(row) => rows.push(row.clone()),
            Token::Message { error, .. } if error.severity > 10 => {
                first.get_or_insert(error.number);
            }
            _ => {}
        };
        self.0.batch(text, &|| 0, &mut seen).unwrap();
        match first {
            Some(number) => Err(number),
            None => Ok(rows),
        }
    }

    /// Keys and lists.
    fn lists(&mut self, condition: &str) -> Result<Vec<(u32, Vec<u64>)>, i32> {
        let rows = self.run(&format!("SELECT id, list FROM lists {condition}"))?;
        let pair = |row: &Vec<Value>| {
            let Value::Int(key) = row[0] else { panic!("{row:?}") };
            let text = row[1].as_text().unwrap();
            let list = text.split_terminator(';').map(|element| element.parse().unwrap()).collect();
            (u32::try_from(key).unwrap(), list)
        };
        Ok(rows.iter().map(pair).collect())
    }
}

/// One transaction of a few steps; `Err`: it failed and does not count.
fn transact(
    client: &mut Client,
    level: &str,
    promise: Option<Level>,
    first_element: u64,
    done: &mut Done,
) -> Result<(), i32> {
    let mut mixed =
        first_element.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    client.run(&format!("SET TRANSACTION ISOLATION LEVEL {level} BEGIN TRAN"))?;
    for step in 0..3 {
        mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (key, kind) = ((mixed >> 33) as u32 % KEYS, (mixed >> 50) % 5);
        if kind < 3 {
            let element = first_element + step;
            // Noted before it is sent: a transaction that fails has not appended it.
            done.appends.push((key, element));
            client.run(&format!("UPDATE lists SET list = list + '{element};' WHERE id = {key}"))?;
        } else if promise.is_some() {
            let condition = if kind == 3 { format!("WHERE id = {key}") } else { String::new() };
            done.reads.extend(client.lists(&condition)?);
        }
    }
    client.run(if first_element.is_multiple_of(7) { "ROLLBACK" } else { "COMMIT" }).map(|_| ())
}

/// Four connections at a level; returns the number of dependencies checked.
fn play(server: &Stressed, (database, level, promise): (&str, &str, Option<Level>)) -> u64 {
    let mut setup = server.connect(database);
    setup.run("DELETE lists").unwrap();
    for key in 0..KEYS {
        setup.run(&format!("INSERT lists VALUES ({key}, '')")).unwrap();
    }
    let history = Mutex::new(History::default());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let (mut client, history) = (server.connect(database), &history);
            scope.spawn(move || {
                for number in 0..TRANSACTIONS {
                    if began.elapsed() > TIME {
                        break;
                    }
                    let first_element = (connection * TRANSACTIONS + number + 1) * 10;
                    let mut done = Done::new(promise.unwrap_or(Level::Committed));
                    let result = transact(&mut client, level, promise, first_element, &mut done);
                    let mut history = history.lock().unwrap();
                    match result {
                        Ok(()) if !first_element.is_multiple_of(7) => history.committed.push(done),
                        Ok(()) => history.aborted.extend(done.appends.iter().map(|append| append.1)),
                        Err(number) => {
                            assert!(EXPECTED.contains(&number), "{level}: {number}");
                            history.aborted.extend(done.appends.iter().map(|append| append.1));
                            drop(history);
                            client.run("IF @@TRANCOUNT > 0 ROLLBACK").unwrap();
                        }
                    }
                }
            });
        }
    });
    let lists: BTreeMap<u32, Vec<u64>> = setup.lists("").unwrap().into_iter().collect();
    let history = history.into_inner().unwrap();
    judge(&history, &lists).unwrap_or_else(|wrong| panic!("{database}, {level}: {wrong}"))
}

/// Every level, and each history is long enough to matter.
#[test]
fn no_level_shows_what_it_forbids_over_the_wire() {
    let server = Stressed::start();
    let mut master = server.connect("master");
    for database in ["locking", "versioned"] {
        master.run(&format!("CREATE DATABASE {database}")).unwrap();
    }
    for option in ["READ_COMMITTED_SNAPSHOT", "ALLOW_SNAPSHOT_ISOLATION"] {
        master.run(&format!("ALTER DATABASE versioned SET {option} ON")).unwrap();
    }
    for database in ["locking", "versioned"] {
        let table = "CREATE TABLE lists (id int NOT NULL PRIMARY KEY, list varchar(7900) NOT NULL)";
        master.run(&format!("USE {database}")).unwrap();
        master.run(table).unwrap();
    }
    for place in LEVELS {
        let dependencies = play(&server, place);
        assert!(dependencies >= 20, "{place:?}: {dependencies} dependencies");
    }
}

/// The check finds the anomalies of a weaker level, so its silence at the others has a meaning: READ COMMITTED does not keep the promise of
/// SERIALIZABLE.
#[test]
fn what_read_committed_allows_is_condemned_where_more_is_promised() {
    let (mut reader, mut writer) = (Done::new(Level::Serializable), Done::new(Level::Serializable));
    // The reader has not seen the writer's element of key 0, but the one of key 1.
    reader.reads = vec![(0, Vec::new()), (1, vec![2])];
    writer.appends = vec![(0, 1), (1, 2)];
    let lists = BTreeMap::from([(0, vec![1]), (1, vec![2])]);
    let history = History { committed: vec![reader, writer], ..History::default() };
    assert!(judge(&history, &lists).is_err_and(|wrong| wrong.contains("G-single")));
}
