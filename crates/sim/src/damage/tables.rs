//! The tables of scenario `damage`: the sessions that fill them, and the rows that a server on a damaged disk returns.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{DatabaseState, Instance, InstanceOptions};
use os::{Latch, Os, Rng};
use session::SessionShared;

use crate::client::{Client, shared};

const DATA: &str = "/data";
/// The tables that the prepared disk has.
pub(super) const PREPARED: [&str; 3] = ["wide", "heap", "narrow"];
/// Heaps that are made while a server runs.
pub(super) const MADE_LATER: [&str; 2] = ["young", "younger"];
/// What a table may answer when its pages or those that it needs are damaged: 823, 824, a large value or index that contradicts itself.
const TELLING: [i32; 8] = [601, 605, 823, 824, 825, 8646, 8928, 8939];

/// A table, with the number of the last step that its client has tried, and of the last that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// It was acknowledged that it was made.
    pub(super) is_made: bool,
    pub(super) tried: i64,
    pub(super) acknowledged: i64,
}

impl Table {
    pub(super) fn new(name: &'static str, is_made: bool) -> Table {
        Table { name, is_made, tried: 0, acknowledged: 0 }
    }
}

/// Each client has a table of its own.
pub(super) type Ledger = Arc<Latch<Vec<Table>>>;

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

pub(super) fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let instance = start(os)?;
    instance.wait_until_open();
    Ok(instance)
}

/// Its databases are recovered meanwhile.
fn start(os: &Os) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions { buffer_pool_bytes: 1 << 20, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// A client's steps, so many and up to 50 more.
pub(super) fn step(sessions: &SessionShared, ledger: &Ledger, number: usize, at_least: u64, mut rng: Rng) {
    let mut client = Client::connect(sessions, "works").expect("works");
    let Table { name, is_made, .. } = ledger.lock()[number];
    if !is_made {
        client.must(&format!("CREATE TABLE {name} (id bigint NOT NULL, v varchar(3000) NOT NULL)"));
        ledger.lock()[number].is_made = true;
    }
    let least = if matches!(name, "wide" | "narrow") { 100 } else { 1_200 };
    for _ in 0..at_least + rng.below(50) {
        let step = ledger.lock()[number].acknowledged + 1;
        ledger.lock()[number].tried = step;
        let mut text =
            format!("BEGIN TRAN; INSERT {name} VALUES ({step}, {}); ", value(step, least + rng.below(700)));
        if takes_out(step) {
            text += &format!("DELETE {name} WHERE id = {}; ", step - 5);
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

/// What a server on a damaged disk shows.
pub(super) enum Shown {
    /// The reason.
    Suspect(String),
    /// Something of the damage was told.
    Told,
    Right,
    Wrong(String),
}

/// Opens a server and looks at it; also what `ios` says while it recovers its databases, from and to. Each time that a disk is looked at has another
/// number.
pub(super) fn show(
    os: &Os,
    tables: &[Table],
    time: usize,
    ios: &dyn Fn() -> u64,
) -> (Shown, std::ops::Range<u64>) {
    let begun = ios();
    let instance = match start(os) {
        Ok(instance) => instance,
        Err(error) => {
            return (Shown::Wrong(format!("the instance does not start: {error}")), begun..begun + 1);
        }
    };
    let started = ios();
    instance.wait_until_open();
    let recovering = started..ios();
    let info = instance.database_infos().into_iter().find(|info| info.name == "works");
    let shown = match info {
        Some(info) if info.state == DatabaseState::Online => judge(&shared(&instance), tables, time),
        Some(info) => Shown::Suspect(info.reason.unwrap_or_default()),
        None => Shown::Wrong("the database is gone".to_owned()),
    };
    instance.shutdown();
    (shown, recovering)
}

/// Reads, checks, allocates, reads again.
fn judge(sessions: &SessionShared, tables: &[Table], time: usize) -> Shown {
    let mut client = match Client::connect(sessions, "works") {
        Ok(client) => client,
        Err(error) if TELLING.contains(&error.number) => return Shown::Told,
        Err(error) => return Shown::Wrong(format!("logging in: {}", error.message)),
    };
    let mut is_told = false;
    let judged = read_all(&mut client, tables, &mut is_told).and_then(|before| {
        let clean = client.execute("DBCC CHECKDB (works) WITH NO_INFOMSGS").errors.is_empty();
        if clean && is_told {
            return Err("CHECKDB passes what a statement has refused".to_owned());
        }
        is_told |= !clean;
        for text in [
            &format!("CREATE TABLE later{time} (id int NOT NULL PRIMARY KEY, v char(5000) NOT NULL)"),
            &format!(
                "INSERT later{time} SELECT TOP (60) ROW_NUMBER() OVER (ORDER BY name), 'later' FROM sys.all_columns"
            ),
            "CHECKPOINT",
        ] {
            is_told |= !client.execute(text).errors.is_empty();
        }
        let after = read_all(&mut client, tables, &mut is_told)?;
        // An allocation never takes a page that is in use.
        match tables.iter().zip(before).zip(after).find(|((_, before), after)| *before && !after) {
            Some(((table, _), _)) if client.execute("CHECKPOINT").errors.is_empty() => {
                Err(format!("{} could be read before others allocated pages, and cannot now", table.name))
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
fn read_all(client: &mut Client, tables: &[Table], is_told: &mut bool) -> Result<Vec<bool>, String> {
    let mut right = Vec::with_capacity(tables.len());
    for table in tables {
        let is_right = read(client, table)?.is_some();
        right.push(is_right);
        *is_told |= !is_right;
    }
    Ok(right)
}

/// A table as it is shown, with the last step that has been done to it; `None`: it says that it cannot be read.
pub(super) fn read(client: &mut Client, table: &Table) -> Result<Option<Table>, String> {
    let Table { name, tried, acknowledged, is_made } = *table;
    let text = format!("SELECT id, CASE WHEN v LIKE CONCAT(id, ':v%') THEN 1 ELSE 0 END FROM {name}");
    let answer = client.execute(&text);
    if let Some(error) = answer.errors.first() {
        return match error.number {
            208 if !is_made => Ok(Some(*table)),
            number if TELLING.contains(&number) => Ok(None),
            number => Err(format!("{name}: {number}: {}", error.message)),
        };
    }
    let rows = answer.numbers()?;
    let found: BTreeSet<i64> = rows.iter().map(|row| row[0]).collect();
    let fits = (acknowledged..=tried).find(|last| rows_after(*last) == found);
    match fits {
        Some(last) if found.len() == rows.len() && rows.iter().all(|row| row[1] == 1) => {
            Ok(Some(Table { name, is_made: true, tried: last, acknowledged: last }))
        }
        _ => Err(format!("{name}: {} rows, {table:?}, found {found:?}", rows.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_put_in_and_take_out() {
        assert_eq!(rows_after(5), (1..=5).collect());
        assert_eq!(rows_after(8), BTreeSet::from([2, 4, 5, 6, 7, 8]));
    }
}
