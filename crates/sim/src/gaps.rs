//! Key ranges at SERIALIZABLE. A reader reads a range, inserts a key into it, and reads it again, while other clients insert and delete keys. The
//! second read must return the first result plus the reader's own key: the insertion splits a locked gap, and both halves stay locked.

use std::collections::BTreeSet;

use os::{Os, Rng, WaitType};

use crate::client::{Answer, Client};

/// The statements that create the table; its two indexes order the keys ascending and descending.
pub(crate) const SETUP: [&str; 3] = [
    "CREATE TABLE gaps (id int NOT NULL PRIMARY KEY, other int NOT NULL, filler varchar(300) NOT NULL)",
    "CREATE UNIQUE INDEX by_other ON gaps (other)",
    "INSERT gaps SELECT TOP (12) 8 * ROW_NUMBER() OVER (ORDER BY name), -8 * ROW_NUMBER() OVER (ORDER BY name), '' FROM sys.all_columns",
];
/// Upper bound of the keys.
const KEYS: u64 = 110;
/// Duplicate key: possible only for a client that has not read the range.
const DUPLICATE: [i32; 2] = [2601, 2627];

/// One visit: as the reader, or as one of the other clients.
pub(crate) fn visit(os: &Os, client: &mut Client, rng: &mut Rng) -> Result<(), Answer> {
    if rng.chance(1, 2) { read_and_insert(os, client, rng) } else { disturb(client, rng) }
}

fn disturb(client: &mut Client, rng: &mut Rng) -> Result<(), Answer> {
    let key = rng.below(KEYS);
    let text = match rng.below(3) {
        0 => format!("DELETE gaps WHERE id = {key}"),
        _ => insertion(rng, key),
    };
    let answer = client.execute(&format!("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; {text}"));
    match answer.error_number() {
        Some(number) if !DUPLICATE.contains(&number) => Err(answer),
        _ => Ok(()),
    }
}

fn insertion(rng: &mut Rng, key: u64) -> String {
    format!("INSERT gaps VALUES ({key}, -{key}, REPLICATE('g', {}))", rng.below(300))
}

fn read_and_insert(os: &Os, client: &mut Client, rng: &mut Rng) -> Result<(), Answer> {
    let low = rng.below(KEYS);
    let high = (low + 4 + rng.below(40)).min(KEYS + 20);
    let by_hint = rng.chance(1, 3);
    let level = if by_hint { "READ COMMITTED" } else { "SERIALIZABLE" };
    let hint = if by_hint { "WITH (HOLDLOCK)" } else { "" };
    let (order, range) = match rng.below(3) {
        0 => ("", format!("id BETWEEN {low} AND {high}")),
        1 => (" ORDER BY id DESC", format!("id BETWEEN {low} AND {high}")),
        _ => ("", format!("other BETWEEN -{high} AND -{low}")),
    };
    let reading = format!("SELECT id FROM gaps {hint} WHERE {range}{order}");
    let begun = client.execute(&format!("SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRAN; {reading}"));
    let mut known = keys(begun)?;
    for _ in 0..1 + rng.below(2) {
        let free: Vec<u64> = (low..=high).filter(|key| !known.contains(&(*key as i64))).collect();
        if free.is_empty() {
            break;
        }
        let own = free[rng.below(free.len() as u64) as usize];
        let inserted = client.execute(&insertion(rng, own));
        assert!(
            inserted.error_number().is_none_or(|number| !DUPLICATE.contains(&number)),
            "PHANTOM: {own} was not in {low} to {high} when that was read: {}",
            inserted.error_text()
        );
        keys(inserted)?;
        known.insert(own as i64);
        if rng.chance(2, 3) {
            let _ = os.sleep(rng.below(3_000_000), WaitType::SLEEP_TASK);
        }
        let again = keys(client.execute(&reading))?;
        assert_eq!(again, known, "PHANTOM: keys from {low} to {high} are not those read before");
        os::sim::reach(|| "a range is read again behind its reader's own insertion".to_owned());
    }
    let end = if rng.chance(1, 3) { "ROLLBACK TRAN" } else { "COMMIT TRAN" };
    keys(client.execute(end)).map(|_| ())
}

/// The keys of an answer; an answer with an error is returned as the error.
fn keys(answer: Answer) -> Result<BTreeSet<i64>, Answer> {
    if !answer.errors.is_empty() {
        return Err(answer);
    }
    Ok(answer.numbers().expect("keys are numbers").iter().map(|row| row[0]).collect())
}
