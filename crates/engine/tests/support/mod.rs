//! Shared code of the engine's tests: an instance in a simulated world, a table, rows in and out.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::Path;
use std::sync::Arc;

use hardpan_engine::{
    CreateDatabaseOptions, Database, DbTransaction, IdentityDef, Instance, InstanceOptions, IsolationLevel,
    KeyRange, NewColumn, NewConstraint, NewIndex, NewTable, ObjectDef, ScanOptions, SqlResult, StorageError,
    Table, TransactionSet,
};
use os::Os;
use os::sim::{Profile, Report, World};
use types::{Collation, SqlType, Value};

/// The directory of the instance.
pub const DATA: &str = "/data";
/// The user database of most tests.
pub const NAME: &str = "hk";

/// Instance options for tests: little memory, no background threads unless asked for.
pub fn options(background: bool) -> InstanceOptions {
    InstanceOptions { buffer_pool_bytes: 8 << 20, background, ..InstanceOptions::new(Path::new(DATA)) }
}

/// Opens (or makes) the instance without background threads.
pub fn open(os: &Os) -> Arc<Instance> {
    try_open(os).expect("the instance opens")
}

/// Opens it, for tests in which it may fail.
pub fn try_open(os: &Os) -> Result<Arc<Instance>, StorageError> {
    Instance::open(os, &options(false))
}

/// Runs `body` in a fresh world on a healthy disk.
pub fn in_world(seed: u64, profile: Profile, body: impl FnOnce(&Os) + Send + 'static) -> Report {
    let world = World::new(seed, profile);
    let report = world.run(body);
    report.assert_ok();
    report
}

/// CREATE DATABASE with defaults.
pub fn create_database(instance: &Arc<Instance>, name: &str) -> SqlResult<Arc<Database>> {
    instance.create_database(&CreateDatabaseOptions { name: name.into(), ..CreateDatabaseOptions::default() })
}

/// A column.
pub fn column(name: &str, sql_type: SqlType, nullable: bool) -> NewColumn {
    NewColumn {
        name: name.into(),
        sql_type,
        nullable,
        collation: Collation::DEFAULT,
        identity: None,
        default: None,
        computed: None,
        is_rowguidcol: false,
        user_type_id: 0,
    }
}

/// An identity column from 1 in steps of 1.
pub fn identity_column(name: &str, sql_type: SqlType) -> NewColumn {
    NewColumn {
        identity: Some(IdentityDef { seed: 1, increment: 1, is_not_for_replication: false }),
        ..column(name, sql_type, false)
    }
}

/// A table `dbo.name` without keys.
pub fn heap(name: &str, columns: Vec<NewColumn>) -> NewTable {
    NewTable {
        ansi_nulls: true,
        schema: "dbo".into(),
        name: name.into(),
        columns,
        constraints: Vec::new(),
        indexes: Vec::new(),
    }
}

/// The table of most tests: `(id int primary key clustered, tag int, filler varchar(400))` with an index on `tag`.
pub fn items(name: &str) -> NewTable {
    let key = NewConstraint::Key {
        name: Some(format!("PK_{name}")),
        primary: true,
        clustered: None,
        columns: vec![("id".into(), false)],
        settings: hardpan_engine::IndexSettings::default(),
    };
    let index = NewIndex {
        name: format!("IX_{name}"),
        unique: false,
        clustered: false,
        columns: vec![("tag".into(), false)],
        included: Vec::new(),
        filter: None,
        replaces: false,
        settings: hardpan_engine::IndexSettings::default(),
    };
    let columns = vec![
        column("id", SqlType::Int, false),
        column("tag", SqlType::Int, false),
        column("filler", SqlType::varchar(400), true),
    ];
    NewTable { constraints: vec![key], indexes: vec![index], ..heap(name, columns) }
}

/// A row of such a table.
pub fn item(id: i32, tag: i32, filler_bytes: usize) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(tag), Value::varchar(&"x".repeat(filler_bytes))]
}

/// One session's connection to a database.
pub struct Session {
    /// Its transactions.
    pub set: TransactionSet,
    database: Arc<Database>,
}

impl Session {
    /// A session that uses `database`.
    pub fn new(instance: &Arc<Instance>, database: &Arc<Database>, number: i16) -> Session {
        Session { set: TransactionSet::new(instance, number), database: Arc::clone(database) }
    }

    /// Its transaction in the database.
    pub fn txn(&mut self) -> SqlResult<&DbTransaction> {
        self.set.in_database(&self.database, IsolationLevel::ReadCommitted)
    }

    /// Runs one statement as a transaction of its own, committed as `asked`.
    pub fn autocommit<T>(
        &mut self,
        asked: Option<bool>,
        work: impl FnOnce(&DbTransaction) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.set.statement_begin();
        let result = self.set.in_database(&self.database, IsolationLevel::ReadCommitted).and_then(work);
        match result {
            Ok(value) => {
                self.set.statement_end()?;
                self.set.commit(asked)?;
                Ok(value)
            }
            Err(error) => {
                self.set.rollback()?;
                Err(error)
            }
        }
    }

    /// Runs one statement inside the open transaction; rolls back its changes when it fails.
    pub fn statement<T>(&mut self, work: impl FnOnce(&DbTransaction) -> SqlResult<T>) -> SqlResult<T> {
        self.set.statement_begin();
        let result = self.set.in_database(&self.database, IsolationLevel::ReadCommitted).and_then(work);
        match result {
            Ok(value) => {
                self.set.statement_end()?;
                Ok(value)
            }
            Err(error) => {
                self.set.statement_rollback()?;
                Err(error)
            }
        }
    }
}

/// CREATE TABLE as a transaction of its own.
pub fn create_table(instance: &Arc<Instance>, database: &Arc<Database>, new: &NewTable) -> Table {
    let mut session = Session::new(instance, database, 99);
    let made = session.autocommit(None, |txn| database.create_table(txn, new)).expect("the table is made");
    database.table(&made)
}

/// A table by name.
pub fn table(database: &Arc<Database>, name: &str) -> Option<Table> {
    let id = database.catalog().resolve("dbo", name)?;
    match database.catalog().object(id)? {
        ObjectDef::Table(definition) => Some(database.table(&definition)),
        ObjectDef::Module(_) | ObjectDef::Sequence(_) => None,
    }
}

/// All rows by the index `index_id` (0 or 1: heap or clustered index).
pub fn rows(txn: &DbTransaction, table: &Table, index_id: i32) -> SqlResult<Vec<Vec<Value>>> {
    let mut cursor = table.scan(txn, index_id, &ScanOptions::default(), None)?;
    let (mut all, mut row) = (Vec::new(), Vec::new());
    while cursor.next(txn, &mut row)? {
        all.push(row.clone());
    }
    Ok(all)
}

/// All rows, read by a session of its own.
pub fn all_rows(instance: &Arc<Instance>, database: &Arc<Database>, table: &Table) -> Vec<Vec<Value>> {
    let base = table.definition().base().index_id;
    let mut session = Session::new(instance, database, 98);
    session.autocommit(None, |txn| rows(txn, table, base)).expect("reading goes on")
}

/// The rows whose key begins with `key`, with their locators, locked for change.
pub fn find(
    txn: &DbTransaction,
    table: &Table,
    key: i32,
) -> SqlResult<Option<(hardpan_engine::RowLocator, Vec<Value>)>> {
    let base = table.definition().base().index_id;
    let options = ScanOptions { row_lock: hardpan_engine::RowLock::Update, ..ScanOptions::default() };
    let range = KeyRange::equal(vec![Value::Int(key)]);
    let mut cursor = table.seek(txn, base, &range, &options, None)?;
    let mut row = Vec::new();
    if cursor.next(txn, &mut row)? { Ok(Some((cursor.locator()?, row))) } else { Ok(None) }
}

/// An int of a row.
pub fn int(row: &[Value], at: usize) -> i64 {
    row[at].as_i64().expect("a column of whole numbers")
}
