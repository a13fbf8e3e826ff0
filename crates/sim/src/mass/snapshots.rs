//! Owners delete many adjacent rows, and commit in another order than they began, while snapshots that need the rows stay open. Each snapshot reads
//! one unchanging state: the state that was committed when it began.

use std::sync::Arc;

use os::{Latch, LatchRank, Rng};

use super::{Change, Life, Rows, TABLES, read};
use crate::client::Client;

const TRANSACTIONS: u64 = 5;
const READERS: u64 = 2;
/// Longer than the interval of the ghost cleanup.
const CLEANUP_NS: u64 = 6_000_000_000;

/// The open transactions, in the order of their begin.
type Begun = Arc<Latch<(u64, Vec<u64>)>>;

/// One life.
pub(super) fn live(life: &Life) {
    let begun: Begun = Arc::new(Latch::new(LatchRank::Leaf, (0, Vec::new())));
    let mut tasks = Vec::new();
    for table in 0..TABLES {
        let begun = Arc::clone(&begun);
        tasks.push(life.start(&format!("owner {table}"), move |life, rng| own(life, rng, table, &begun)));
    }
    for reader in 0..READERS {
        tasks.push(life.start(&format!("reader {reader}"), move |life, rng| {
            let (mut rng, mut client) = (rng, life.connect());
            for _ in 0..2 + rng.below(3) {
                look(life, &mut rng, &mut client);
            }
            client.close();
        }));
    }
    for task in tasks {
        let _ = task.join();
    }
}

/// The transactions of a table's owner.
fn own(life: &Life, mut rng: Rng, table: u64, begun: &Begun) {
    let mut client = life.connect();
    for turn in 0..2 + rng.below(TRANSACTIONS) as i64 {
        let before = life.ledger.lock().rows(table);
        let change = Change::draw(&mut rng, table, life.number * 1_000 + turn, &before);
        client.must("BEGIN TRAN");
        let mine = {
            let mut begun = begun.lock();
            begun.0 += 1;
            let mine = begun.0;
            begun.1.push(mine);
            mine
        };
        for text in &change.texts {
            client.must(text);
            pause(life, &mut rng);
        }
        let is_kept = !rng.chance(1, 6);
        if is_kept {
            life.ledger.lock().ask(table, change.after);
            client.must("COMMIT");
            life.ledger.lock().settle(table);
        } else {
            client.must("ROLLBACK");
            life.ledger.lock().refuse(table);
        }
        let mut begun = begun.lock();
        if is_kept && begun.1.iter().any(|other| *other < mine) {
            os::sim::reach(|| "a mass DELETE commits before one that began earlier".to_owned());
        }
        begun.1.retain(|other| *other != mine);
        drop(begun);
        pause(life, &mut rng);
    }
    client.close();
}

/// Sometimes long enough for a ghost cleanup.
fn pause(life: &Life, rng: &mut Rng) {
    match rng.below(4) {
        0 => {}
        1 => life.sleep(CLEANUP_NS / 2 + rng.below(CLEANUP_NS)),
        _ => life.sleep(rng.below(20_000_000)),
    }
}

/// A snapshot that reads all tables several times.
fn look(life: &Life, rng: &mut Rng, client: &mut Client) {
    client.must("SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
    let positions: Vec<usize> = (0..TABLES).map(|table| life.ledger.lock().position(table)).collect();
    client.must("BEGIN TRAN");
    let mut first: Vec<Option<Rows>> = vec![None; TABLES as usize];
    for turn in 0..2 + rng.below(3) {
        for table in 0..TABLES {
            let found = match read(client, table) {
                Ok(found) => found,
                Err(text) => return life.sight(format!("SNAPSHOT: {text}")),
            };
            let seen = &mut first[table as usize];
            let ledger = life.ledger.lock();
            let is_known = ledger.may_be(table, positions[table as usize], &found);
            let is_changed = ledger.rows(table) != found;
            drop(ledger);
            if !is_known {
                life.sight(format!("SNAPSHOT part{table}: {} rows that were never so", found.len()));
            }
            match seen {
                Some(before) if *before != found => {
                    let what = super::ledger::difference(before, &found);
                    life.sight(format!("SNAPSHOT part{table}, turn {turn}: {what}"));
                }
                Some(_) if is_changed => {
                    os::sim::reach(|| "a snapshot reads rows that a mass DELETE has taken out".to_owned());
                }
                Some(_) => {}
                None => *seen = Some(found),
            }
        }
        pause(life, rng);
    }
    client.must("COMMIT");
}
