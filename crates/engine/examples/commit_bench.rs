//! Measures one session below SQL: `cargo run --release -p hardpan-engine --example commit_bench -- DIRECTORY [SECONDS [PART]]`,
//! PART being a part of the name of a measurement.
//!
//! One-row transactions, fully and delayed durable, in a user database and in tempdb, and one large transaction; beside them the raw
//! device: 512 durable bytes at a time in the same directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hardpan_engine::{
    CreateDatabaseOptions, Database, Instance, InstanceOptions, IsolationLevel, NewColumn, NewTable, Table,
    TransactionSet,
};
use os::{AlignedBuf, OpenOptions, Os, WriteMode};
use types::{Collation, SqlType, Value};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().expect("a directory for the data"));
    let seconds: u64 = arguments.next().map_or(2, |text| text.parse().expect("a number of seconds"));
    let part = arguments.next().unwrap_or_default();
    let os = Os::real();
    println!("raw device: {} durable writes/s", raw_writes(&os, &directory, seconds));
    let instance =
        Instance::open(&os, &InstanceOptions::new(directory.join("instance"))).expect("the instance opens");
    let new = CreateDatabaseOptions { name: "bench".into(), ..CreateDatabaseOptions::default() };
    let user = match instance.database("bench") {
        Ok(database) => database,
        Err(_) => instance.create_database(&new).expect("a new database"),
    };
    let forced =
        [hardpan_engine::OptionChange::DelayedDurability(hardpan_engine::DelayedDurability::Allowed)];
    instance.alter_database("bench", &forced).expect("ALTER DATABASE SET");
    for (name, database, asked) in [
        ("user, full", &user, Some(false)),
        ("user, delayed", &user, Some(true)),
        ("tempdb", &instance.tempdb(), None),
    ] {
        if !name.contains(&part) {
            continue;
        }
        os.wait_stats().clear();
        let bench = Bench::new(&os, &instance, database, name);
        let (commits, ns) = bench.small(seconds, asked);
        println!("{name}: {} one-row transactions/s, {} ns each", commits * 1_000_000_000 / ns, ns / commits);
        let (rows, ns) = bench.large(seconds);
        println!("{name}: {} rows/s in one transaction, {} ns each", rows * 1_000_000_000 / ns, ns / rows);
        let mut waits = os.wait_stats().snapshot();
        waits.retain(|row| row.wait_time_ms > 50 && !row.wait_type.name().ends_with("QUEUE"));
        for row in waits {
            println!(
                "    {}: {} waits, {} ms",
                row.wait_type.name(),
                row.waiting_tasks_count,
                row.wait_time_ms
            );
        }
    }
    instance.shutdown();
}

fn raw_writes(os: &Os, directory: &Path, seconds: u64) -> u64 {
    const FILE_BYTES: u64 = 16 << 20;
    os.disk().create_dir_all(directory).expect("the directory can be made");
    let options = OpenOptions { direct: true, ..OpenOptions::create() };
    let file = os.disk().open(&directory.join("raw.bin"), &options).expect("a file");
    file.allocate_zeroed(0, FILE_BYTES).expect("space");
    let buffer = AlignedBuf::from_slice(&[7; 512], 512);
    let began_ns = os.clock().monotonic_ns();
    let mut writes = 0;
    while os.clock().monotonic_ns() - began_ns < seconds * 1_000_000_000 {
        file.write_at(&buffer, writes * 512 % FILE_BYTES, WriteMode::Durable).expect("a write");
        writes += 1;
    }
    writes / seconds
}

struct Bench {
    os: Os,
    instance: Arc<Instance>,
    database: Arc<Database>,
    table: Table,
}

impl Bench {
    fn new(os: &Os, instance: &Arc<Instance>, database: &Arc<Database>, name: &str) -> Bench {
        let column = NewColumn {
            name: "col1".into(),
            sql_type: SqlType::Int,
            nullable: false,
            collation: Collation::DEFAULT,
            identity: None,
            default: None,
            computed: None,
            is_rowguidcol: false,
            user_type_id: 0,
        };
        let unique = os.clock().monotonic_ns();
        let new = NewTable {
            ansi_nulls: true,
            schema: "dbo".into(),
            name: format!("{name} {unique}"),
            columns: vec![column],
            constraints: Vec::new(),
            indexes: Vec::new(),
        };
        let mut set = TransactionSet::new(instance, 99);
        let txn = set.in_database(database, IsolationLevel::ReadCommitted).expect("usable");
        let definition = database.create_table(txn, &new).expect("a table");
        set.commit(None).expect("a commit");
        Bench {
            os: os.clone(),
            instance: Arc::clone(instance),
            database: Arc::clone(database),
            table: database.table(&definition),
        }
    }

    fn insert(&self, set: &mut TransactionSet, number: u64) {
        set.statement_begin();
        let txn = set.in_database(&self.database, IsolationLevel::ReadCommitted).expect("usable");
        self.table.insert(txn, &[Value::Int(number as i32)]).expect("one row");
        set.statement_end().expect("the statement ends");
    }

    fn small(&self, seconds: u64, asked: Option<bool>) -> (u64, u64) {
        let mut set = TransactionSet::new(&self.instance, 51);
        set.enter_database(self.database.name()).expect("usable");
        let began_ns = self.os.clock().monotonic_ns();
        let mut commits = 0;
        loop {
            self.insert(&mut set, commits);
            set.commit(asked).expect("a commit");
            commits += 1;
            let ns = self.os.clock().monotonic_ns() - began_ns;
            if ns > seconds * 1_000_000_000 {
                return (commits, ns);
            }
        }
    }

    fn large(&self, seconds: u64) -> (u64, u64) {
        let mut set = TransactionSet::new(&self.instance, 51);
        set.enter_database(self.database.name()).expect("usable");
        set.begin_explicit();
        let began_ns = self.os.clock().monotonic_ns();
        let mut rows = 0;
        while self.os.clock().monotonic_ns() - began_ns < seconds * 1_000_000_000 {
            for _ in 0..100 {
                self.insert(&mut set, rows);
                rows += 1;
            }
        }
        set.commit(None).expect("a commit");
        (rows, self.os.clock().monotonic_ns() - began_ns)
    }
}
