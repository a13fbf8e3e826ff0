//! The counters of the object `Transactions`: active transactions, snapshot readers, and the memory of row versions, over all databases.

use os::{CounterRow, CounterType};
use txn::SnapshotKind;

use crate::instance::Instance;

pub(crate) const TRANSACTIONS: &str = "SQLServer:Transactions";
const KB: u64 = 1024;

#[derive(Default)]
struct Sums {
    snapshots: u64,
    writers: u64,
    snapshot_writers: u64,
    kb_left: u64,
    kb_forgotten: u64,
    kb: u64,
    units: u64,
    units_taken: u64,
    conflicts: u64,
    snapshot_transactions: u64,
    longest_s: u64,
}

fn sums(instance: &Instance) -> Sums {
    let mut sums = Sums::default();
    for database in instance.databases() {
        let (transactions, versions) = (database.transactions(), database.transactions().versions());
        let (figures, open) = (versions.figures(), versions.open_snapshots());
        sums.snapshots += open.iter().filter(|one| one.kind == SnapshotKind::Transaction).count() as u64;
        sums.writers += figures.writers;
        sums.snapshot_writers += figures.snapshot_writers;
        sums.kb_left += figures.bytes_left_total / KB;
        sums.kb_forgotten += figures.bytes_forgotten_total / KB;
        sums.kb += (figures.bytes + figures.bytes_there).div_ceil(KB);
        sums.units += figures.units.used;
        sums.units_taken += figures.units.taken_total;
        sums.conflicts += figures.conflicts_total;
        sums.snapshot_transactions += figures.snapshot_transactions_total;
        if versions.are_kept() {
            let begun = transactions.active().into_iter().map(|row| row.begin_time);
            let times = begun.chain(open.iter().map(|one| one.opened)).filter(|time| time.0 > 0);
            let longest = times.map(|time| database.seconds_since(time)).max().unwrap_or(0);
            sums.longest_s = sums.longest_s.max(longest.max(0).unsigned_abs());
        }
    }
    sums
}

/// Names, values and types. `rows`: the event counters.
pub(crate) fn of(instance: &Instance, rows: &[CounterRow]) -> Vec<(&'static str, i64, CounterType)> {
    let sums = sums(instance);
    let active =
        |row: &&CounterRow| row.counter_name == "Active Transactions" && row.instance_name != "_Total";
    let transactions: i64 = rows.iter().filter(active).map(|row| row.cntr_value).sum();
    let raw = |name, value: u64| (name, value as i64, CounterType::RawCount);
    vec![
        ("Transactions", transactions, CounterType::RawCount),
        raw("Snapshot Transactions", sums.snapshots),
        raw("Update Snapshot Transactions", sums.snapshot_writers),
        raw("NonSnapshot Version Transactions", sums.writers.saturating_sub(sums.snapshot_writers)),
        raw("Longest Transaction Running Time", sums.longest_s),
        ("Version Generation rate (KB/s)", sums.kb_left as i64, CounterType::BulkCount),
        ("Version Cleanup rate (KB/s)", sums.kb_forgotten as i64, CounterType::BulkCount),
        raw("Version Store Size (KB)", sums.kb),
        raw("Version Store unit count", sums.units),
        raw("Version Store unit creation", sums.units_taken),
        raw("Version Store unit truncation", sums.units_taken.saturating_sub(sums.units)),
        ("Update conflict ratio", sums.conflicts as i64, CounterType::RawFraction),
        ("Update conflict ratio base", sums.snapshot_transactions as i64, CounterType::RawBase),
    ]
}
