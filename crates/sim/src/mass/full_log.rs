//! A DELETE of many rows stays open while other sessions fill the log to its last byte. Then it rolls back, which must succeed, or the process dies
//! and recovery rolls it back.

use os::Rng;

use super::{Change, Life, TABLES, read};
use crate::client::Client;

/// Row lengths that fill the log: the smallest is refused only when no small change fits any more.
const LENGTHS: [u64; 6] = [3_900, 1_500, 400, 100, 20, 1];
const TURNS: u64 = 3;

/// One life.
pub(super) fn live(life: &Life) {
    let mut rng = life.os.rng("full log");
    for turn in 0..1 + rng.below(TURNS) {
        let opened: Vec<Client> =
            (0..1 + rng.below(TABLES)).map(|table| delete(life, &mut rng, (table, turn))).collect();
        let fillers: Vec<_> = (0..1 + rng.below(2))
            .map(|number| life.start(&format!("filler {turn} {number}"), fill))
            .collect();
        for filler in fillers {
            let _ = filler.join();
        }
        for (table, client) in opened.into_iter().enumerate() {
            roll_back(life, client, (table as u64, rng.chance(1, 3)));
        }
        // The log is not pinned any more.
        let mut client = life.connect();
        for text in ["CHECKPOINT", "TRUNCATE TABLE filler"] {
            let answer = client.execute(text);
            if !answer.errors.is_empty() {
                life.sight(format!("STUCK: {text}: {}", answer.error_text()));
            }
        }
        client.close();
    }
}

/// Deletes many rows in a transaction that stays open; its inserts may be refused.
fn delete(life: &Life, rng: &mut Rng, (table, turn): (u64, u64)) -> Client {
    let mut client = life.connect();
    let before = life.ledger.lock().rows(table);
    let stamp = life.number * 1_000 + turn as i64;
    let change = Change::draw(rng, table, stamp, &before);
    client.must("BEGIN TRAN");
    client.must("SAVE TRAN before");
    for text in &change.texts {
        let answer = client.execute(text);
        if answer.errors.iter().any(|error| error.number != 9002 && error.number != 3621) {
            life.sight(format!("{text}: {}", answer.error_text()));
        }
    }
    client
}

/// Inserts rows, each in a transaction of its own, until not one byte more fits.
fn fill(life: &Life, _rng: Rng) {
    let mut client = life.connect();
    for length in LENGTHS {
        loop {
            let text = format!("INSERT filler VALUES (REPLICATE('f', {length}))");
            let answer = client.execute(&text);
            match answer.error_number() {
                None => {}
                Some(9002) => break,
                Some(_) => {
                    life.sight(format!("{text}: {}", answer.error_text()));
                    return client.close();
                }
            }
        }
    }
    os::sim::reach(|| "log filled to its last byte beside an open DELETE".to_owned());
    client.close();
}

/// Rolls back, to a savepoint or completely, however full the log is; then the table must be as before.
fn roll_back(life: &Life, mut client: Client, (table, to_savepoint): (u64, bool)) {
    let back = if to_savepoint { "ROLLBACK TRAN before" } else { "ROLLBACK" };
    for text in [back, "IF @@TRANCOUNT > 0 ROLLBACK"] {
        let answer = client.execute(text);
        if !answer.errors.is_empty() {
            life.sight(format!("{text}: {}", answer.error_text()));
        }
    }
    os::sim::reach(|| "a mass DELETE rolls back in a full log".to_owned());
    let expected = life.ledger.lock().rows(table);
    match read(&mut client, table) {
        Ok(found) if found == expected => {}
        Ok(found) => {
            life.sight(format!("ROLLBACK part{table}: {}", super::ledger::difference(&expected, &found)));
        }
        Err(text) => life.sight(text),
    }
    client.close();
}
