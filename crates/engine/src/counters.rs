//! The rows of sys.dm_os_performance_counters: events counted in the registry of `os`, and values computed at a read:
//! sizes, sums over instances (`_Total`), ratios, waits by kind, and the counters of missing features, which are 0.
//! docs/performance-counters.md says what each counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use os::{CounterRow, CounterType, WaitType};

use crate::database_counters::DATABASES;
use crate::instance::Instance;

const LOCKS: &str = "SQLServer:Locks";
const BUFFERS: &str = "SQLServer:Buffer Manager";
const STATEMENTS: &str = "SQLServer:SQL Statistics";
const WAITS: &str = "SQLServer:Wait Statistics";
const TOTAL: &str = "_Total";

/// Database counters of missing features: bulk copy, change tracking, replication, the log pool, in-memory tables.
const NOT_OF_DATABASES: [(&str, CounterType); 33] = [
    ("Avg Dist From EOL/LP Request", CounterType::AverageBulk),
    ("Backup/Restore Throughput/sec", CounterType::BulkCount),
    ("Bulk Copy Rows/sec", CounterType::BulkCount),
    ("Bulk Copy Throughput/sec", CounterType::BulkCount),
    ("Commit table entries", CounterType::RawCount),
    ("DBCC Logical Scan Bytes/sec", CounterType::BulkCount),
    ("Group Commit Time/sec", CounterType::BulkCount),
    ("Log Pool Cache Misses/sec", CounterType::BulkCount),
    ("Log Pool Disk Reads/sec", CounterType::BulkCount),
    ("Log Pool Hash Deletes/sec", CounterType::BulkCount),
    ("Log Pool Hash Inserts/sec", CounterType::BulkCount),
    ("Log Pool Invalid Hash Entry/sec", CounterType::BulkCount),
    ("Log Pool Log Scan Pushes/sec", CounterType::BulkCount),
    ("Log Pool LogWriter Pushes/sec", CounterType::BulkCount),
    ("Log Pool Push Empty FreePool/sec", CounterType::BulkCount),
    ("Log Pool Push Low Memory/sec", CounterType::BulkCount),
    ("Log Pool Push No Free Buffer/sec", CounterType::BulkCount),
    ("Log Pool Req. Behind Trunc/sec", CounterType::BulkCount),
    ("Log Pool Requests Base", CounterType::RawBase),
    ("Log Pool Requests Old VLF/sec", CounterType::BulkCount),
    ("Log Pool Requests/sec", CounterType::BulkCount),
    ("Log Pool Total Active Log Size", CounterType::RawCount),
    ("Log Pool Total Shared Pool Size", CounterType::RawCount),
    ("Repl. Pending Xacts", CounterType::RawCount),
    ("Repl. Trans. Rate", CounterType::BulkCount),
    ("Shrink Data Movement Bytes/sec", CounterType::BulkCount),
    ("Tracked transactions/sec", CounterType::BulkCount),
    ("XTP Controller DLC Latency/Fetch", CounterType::AverageBulk),
    ("XTP Controller DLC Latency/Fetch Base", CounterType::RawBase),
    ("XTP Controller DLC Peak Latency", CounterType::RawCount),
    ("XTP Controller Log Processed/sec", CounterType::BulkCount),
    ("XTP Memory Used (KB)", CounterType::RawCount),
    ("Log Shrinks", CounterType::RawCount),
];

/// There is no auto-parameterization and no plan guide.
const NOT_OF_STATEMENTS: [&str; 7] = [
    "Auto-Param Attempts/sec",
    "Failed Auto-Params/sec",
    "Forced Parameterizations/sec",
    "Guided plan executions/sec",
    "Misguided plan executions/sec",
    "Safe Auto-Params/sec",
    "Unsafe Auto-Params/sec",
];

/// There is no read-ahead and no buffer pool extension, and the checkpoint has no target rate.
const NOT_OF_BUFFERS: [(&str, CounterType); 12] = [
    ("Background writer pages/sec", CounterType::BulkCount),
    ("Extension allocated pages", CounterType::RawCount),
    ("Extension free pages", CounterType::RawCount),
    ("Extension in use as percentage", CounterType::RawCount),
    ("Extension outstanding IO counter", CounterType::RawCount),
    ("Extension page evictions/sec", CounterType::BulkCount),
    ("Extension page reads/sec", CounterType::BulkCount),
    ("Extension page unreferenced time", CounterType::RawCount),
    ("Extension page writes/sec", CounterType::BulkCount),
    ("Integral Controller Slope", CounterType::RawCount),
    ("Readahead pages/sec", CounterType::BulkCount),
    ("Readahead time/sec", CounterType::BulkCount),
];

/// Resources that SQL Server locks and this server does not.
const NEVER_LOCKED: [&str; 7] = ["AllocUnit", "Extent", "File", "HoBT", "OIB", "RowGroup", "Xact"];

/// Updates the sizes. Cheap: a few counters per database. All others have one owner elsewhere: the log (its sizes, growths,
/// truncations) and the transaction manager (transactions).
fn refresh(instance: &Arc<Instance>) {
    for database in instance.databases() {
        database.log.note_used();
        let data_pages: u64 = database.space.files().iter().map(|file| u64::from(file.pages)).sum();
        let size_kb = data_pages * pages::PAGE_BYTES as u64 / 1024;
        let counter = instance.os().counters().counter(DATABASES, "Data File(s) Size (KB)", database.name());
        counter.set(i64::try_from(size_kb).unwrap_or(i64::MAX));
    }
}

impl Instance {
    /// The rows of sys.dm_os_performance_counters, ordered by object, counter and instance.
    pub fn counter_rows(self: &Arc<Self>) -> Vec<CounterRow> {
        refresh(self);
        let mut rows = Rows { rows: self.os().counters().snapshot() };
        assert!(rows.rows.iter().all(|row| row.instance_name != TOTAL), "sums are made here");
        rows.databases();
        rows.locks();
        rows.buffers(&self.pool().stats());
        for name in NOT_OF_STATEMENTS {
            rows.add(STATEMENTS, name, "", 0, CounterType::BulkCount);
        }
        for (counter, value, counter_type) in crate::version_counters::of(self, &rows.rows) {
            rows.add(crate::version_counters::TRANSACTIONS, counter, "", value, counter_type);
        }
        rows.waits(&self.os().wait_stats().snapshot());
        let order =
            |row: &CounterRow| (row.object_name.clone(), row.counter_name.clone(), row.instance_name.clone());
        rows.rows.sort_by_cached_key(order);
        rows.rows
    }
}

struct Rows {
    rows: Vec<CounterRow>,
}

impl Rows {
    fn add(&mut self, object: &str, counter: &str, instance: &str, value: i64, counter_type: CounterType) {
        self.rows.push(CounterRow {
            object_name: object.to_owned(),
            counter_name: counter.to_owned(),
            instance_name: instance.to_owned(),
            cntr_value: value,
            cntr_type: counter_type as i32,
        });
    }

    /// 0 for events that no code counts.
    fn add_unless_counted(&mut self, object: &str, counter: &str, instance: &str, counter_type: CounterType) {
        let is_it = |row: &CounterRow| {
            row.instance_name == instance && row.counter_name == counter && row.object_name == object
        };
        if !self.rows.iter().any(is_it) {
            self.add(object, counter, instance, 0, counter_type);
        }
    }

    /// The sum over the instances of each counter of an object.
    fn totals(&mut self, object: &str) -> BTreeMap<(String, i32), i64> {
        let mut totals = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.object_name == object) {
            assert!(row.instance_name != TOTAL, "{} is summed up here", row.counter_name);
            *totals.entry((row.counter_name.clone(), row.cntr_type)).or_insert(0) += row.cntr_value;
        }
        totals
    }

    fn add_totals(&mut self, object: &str, totals: BTreeMap<(String, i32), i64>) {
        for ((counter_name, cntr_type), cntr_value) in totals {
            let (object_name, instance_name) = (object.to_owned(), TOTAL.to_owned());
            self.rows.push(CounterRow { object_name, counter_name, instance_name, cntr_value, cntr_type });
        }
    }

    /// The registry's value of a counter without instances.
    fn value(&self, object: &str, counter: &str) -> i64 {
        let found = self.rows.iter().find(|row| row.object_name == object && row.counter_name == counter);
        found.map_or(0, |row| row.cntr_value)
    }

    fn databases(&mut self) {
        let mut names: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.object_name == DATABASES)
            .map(|row| row.instance_name.clone())
            .collect();
        names.dedup();
        names.sort();
        names.dedup();
        for name in names {
            for (counter, counter_type) in NOT_OF_DATABASES {
                self.add_unless_counted(DATABASES, counter, &name, counter_type);
            }
        }
        let mut totals = self.totals(DATABASES);
        let of = |totals: &BTreeMap<(String, i32), i64>, counter: &str| {
            totals.get(&(counter.to_owned(), CounterType::RawCount as i32)).copied().unwrap_or(0)
        };
        // A sum of ratios has no meaning.
        let used =
            of(&totals, "Log File(s) Used Size (KB)") * 100 / of(&totals, "Log File(s) Size (KB)").max(1);
        totals.insert(("Percent Log Used".to_owned(), CounterType::RawCount as i32), used);
        self.add_totals(DATABASES, totals);
    }

    fn locks(&mut self) {
        let counters = [
            "Lock Requests/sec",
            "Lock Timeouts (timeout > 0)/sec",
            "Lock Timeouts/sec",
            "Lock Wait Time (ms)",
            "Lock Waits/sec",
            "Number of Deadlocks/sec",
        ];
        for kind in NEVER_LOCKED {
            for counter in counters {
                self.add(LOCKS, counter, kind, 0, CounterType::BulkCount);
            }
        }
        let totals = self.totals(LOCKS);
        self.add_totals(LOCKS, totals);
        let mut averages = Vec::new();
        for row in self.rows.iter().filter(|row| row.object_name == LOCKS) {
            match row.counter_name.as_str() {
                "Lock Wait Time (ms)" => averages.push((
                    "Average Wait Time (ms)",
                    row.instance_name.clone(),
                    row.cntr_value,
                    CounterType::AverageBulk,
                )),
                "Lock Waits/sec" => averages.push((
                    "Average Wait Time Base",
                    row.instance_name.clone(),
                    row.cntr_value,
                    CounterType::RawBase,
                )),
                _ => {}
            }
        }
        for (counter, kind, value, counter_type) in averages {
            self.add(LOCKS, counter, &kind, value, counter_type);
        }
    }

    fn buffers(&mut self, pool: &pages::PoolStats) {
        for (counter, counter_type) in NOT_OF_BUFFERS {
            self.add(BUFFERS, counter, "", 0, counter_type);
        }
        let lookups = pool.lookups_total.cast_signed();
        let reads = self.value(BUFFERS, "Page reads/sec");
        self.add(BUFFERS, "Page lookups/sec", "", lookups, CounterType::BulkCount);
        self.add(BUFFERS, "Buffer cache hit ratio", "", (lookups - reads).max(0), CounterType::RawFraction);
        self.add(BUFFERS, "Buffer cache hit ratio base", "", lookups, CounterType::RawBase);
        self.add(BUFFERS, "Database pages", "", pool.frames as i64, CounterType::RawCount);
        self.add(BUFFERS, "Target pages", "", pool.frames_max as i64, CounterType::RawCount);
        self.add(
            BUFFERS,
            "Page life expectancy",
            "",
            pool.life_expectancy_s.cast_signed(),
            CounterType::RawCount,
        );
        self.add(
            BUFFERS,
            "Free list stalls/sec",
            "",
            pool.stalls_total.cast_signed(),
            CounterType::BulkCount,
        );
        self.add(
            BUFFERS,
            "Lazy writes/sec",
            "",
            pool.lazy_writes_total.cast_signed(),
            CounterType::BulkCount,
        );
    }

    /// Kinds of waits, each with four instances.
    fn waits(&mut self, waits: &[os::WaitRow]) {
        type Kind = (&'static str, fn(WaitType) -> bool);
        let kinds: [Kind; 12] = [
            ("Lock waits", |kind| kind.name().starts_with("LCK_M_")),
            ("Log buffer waits", |kind| kind == WaitType::LOGBUFFER),
            ("Log write waits", |kind| kind == WaitType::WRITELOG),
            ("Memory grant queue waits", |kind| kind == WaitType::RESOURCE_SEMAPHORE),
            ("Network IO waits", |kind| kind == WaitType::ASYNC_NETWORK_IO),
            ("Non-Page latch waits", |kind| kind.name().starts_with("LATCH_")),
            ("Page IO latch waits", |kind| kind.name().starts_with("PAGEIOLATCH_")),
            ("Page latch waits", |kind| kind.name().starts_with("PAGELATCH_")),
            ("Thread-safe memory objects waits", |_| false),
            ("Transaction ownership waits", |kind| {
                matches!(kind, WaitType::TRANSACTION_MUTEX | WaitType::XACT_OWN_TRANSACTION)
            }),
            ("Wait for the worker", |kind| kind == WaitType::THREADPOOL),
            ("Workspace synchronization waits", |kind| kind == WaitType::XACTWORKSPACE_MUTEX),
        ];
        for (counter, is_of_it) in kinds {
            let of_kind: Vec<_> = waits.iter().filter(|row| is_of_it(row.wait_type)).collect();
            let sum = |figure: fn(&os::WaitRow) -> u64| of_kind.iter().map(|row| figure(row)).sum::<u64>();
            let (begun, running) = (sum(|row| row.waiting_tasks_count), sum(|row| row.in_progress));
            let ms = sum(|row| row.wait_time_ns) / 1_000_000;
            let average_ms = ms.checked_div(begun.saturating_sub(running)).unwrap_or(0);
            for (instance, value, counter_type) in [
                ("Average wait time (ms)", average_ms, CounterType::RawCount),
                ("Cumulative wait time (ms) per second", ms, CounterType::BulkCount),
                ("Waits in progress", running, CounterType::RawCount),
                ("Waits started per second", begun, CounterType::BulkCount),
            ] {
                self.add(WAITS, counter, instance, value.cast_signed(), counter_type);
            }
        }
    }
}
