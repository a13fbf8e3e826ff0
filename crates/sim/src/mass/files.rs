//! A mass DELETE, then a shrink or a file's removal, then the ghost cleanup; then the power fails before the next
//! checkpoint: redo must not access deallocated pages.

use os::Rng;

use super::{Change, Life, TABLES, inserting, is_heap};
use crate::client::Client;

/// Rounds of one life.
const ROUNDS: u64 = 3;
/// Longer than the interval of the ghost cleanup.
const CLEANUP_NS: u64 = 6_000_000_000;
/// The power fails within so many disk operations.
const IOS_LEFT: u64 = 6;
const ADD: &str = "ALTER DATABASE mass ADD FILE (NAME = second, FILENAME = '/data/mass_2.ndf', SIZE = 512KB, FILEGROWTH = 128KB)";

/// One life: rounds, of which the last ends with a power failure.
pub(super) fn live(life: &Life) {
    let mut rng = life.os.rng("files");
    let mut client = life.connect();
    let answer = client.must("SELECT 0, COUNT(*) FROM sys.database_files WHERE name = 'second'");
    let mut has_second = answer.numbers().expect("a count")[0][1] == 1;
    for round in 0..1 + rng.below(ROUNDS) as i64 {
        let stamp = life.number * 1_000 + round * 10;
        if !has_second && rng.chance(1, 2) {
            client.must(ADD);
            has_second = true;
        }
        let table = rng.below(TABLES);
        grow(life, &mut client, table, stamp);
        let before = life.ledger.lock().rows(table);
        let change = Change::draw(&mut rng, table, stamp + 1, &before);
        commit(life, &mut client, change);
        if rng.chance(1, 2) {
            truncate(life, &mut client, rng.below(TABLES));
        }
        if has_second && rng.chance(2, 3) {
            let is_empty =
                client.execute("DBCC SHRINKFILE (second, EMPTYFILE) WITH NO_INFOMSGS").errors.is_empty();
            if is_empty && client.execute("ALTER DATABASE mass REMOVE FILE second").errors.is_empty() {
                os::sim::reach(|| "a data file is removed after a mass DELETE".to_owned());
                has_second = false;
            }
        }
        client.must("DBCC SHRINKFILE (mass, 1) WITH NO_INFOMSGS");
        os::sim::reach(|| "files shrink after a mass DELETE".to_owned());
        if rng.chance(4, 5) {
            life.sleep(CLEANUP_NS);
            os::sim::reach(|| "ghost cleanup after files have shrunk".to_owned());
        }
    }
    end(life, &mut rng, client);
}

/// Makes the table grow, so that its new pages are at the end of a file.
fn grow(life: &Life, client: &mut Client, table: u64, stamp: i64) {
    let mut after = life.ledger.lock().rows(table);
    let first = after.last_key_value().map_or(1, |(id, _)| id + 1);
    let range = (first, first + 199);
    after.extend((range.0..=range.1).map(|id| (id, stamp)));
    commit(life, client, Change { table, texts: vec![inserting(table, stamp, range)], after });
}

/// Deallocates pages with ghosts that have not been cleaned up yet.
fn truncate(life: &Life, client: &mut Client, table: u64) {
    let texts = vec![format!("DELETE part{table}"), format!("TRUNCATE TABLE part{table}")];
    let heap = if is_heap(table) { "heap" } else { "tree" };
    os::sim::reach(|| format!("a {heap} is given up with its ghosts"));
    commit(life, client, Change { table, texts, after: super::Rows::new() });
}

fn commit(life: &Life, client: &mut Client, change: Change) {
    client.must("BEGIN TRAN");
    change.texts.iter().for_each(|text| drop(client.must(text)));
    life.ledger.lock().ask(change.table, change.after);
    client.must("COMMIT");
    life.ledger.lock().settle(change.table);
}

/// Ends the life: the power fails while small commits harden the log of the cleanup, or at once after one of them.
fn end(life: &Life, rng: &mut Rng, mut client: Client) {
    if rng.chance(1, 8) {
        return client.close();
    }
    os::sim::reach(|| "the power goes before the next checkpoint".to_owned());
    client.must("INSERT filler VALUES ('hardens')");
    life.world.power_off_after_ios(1 + rng.below(IOS_LEFT));
    loop {
        client.must("INSERT filler VALUES ('hardens more')");
    }
}
