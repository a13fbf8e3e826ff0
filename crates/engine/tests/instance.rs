//! An instance from first start to restart: databases, tables, rows, DDL that rolls back, on a real disk.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::path::PathBuf;
use std::sync::Arc;

use engine::{
    CreateDatabaseOptions, Database, DbTransaction, IdentityDef, Instance, InstanceOptions, IsolationLevel,
    KeyRange, NewColumn, NewConstraint, NewTable, ScanOptions, TableDef, TransactionSet,
};
use hardpan_engine as engine;
use os::Os;
use types::{Collation, Length, SqlType, Value};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("hardpan-engine-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        Scratch(folder)
    }

    fn open(&self) -> Arc<Instance> {
        Instance::open(&Os::real(), &InstanceOptions::new(&self.0)).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn column(name: &str, sql_type: SqlType) -> NewColumn {
    NewColumn {
        name: name.into(),
        sql_type,
        nullable: true,
        collation: Collation::DEFAULT,
        identity: None,
        default: None,
        computed: None,
        is_rowguidcol: false,
        user_type_id: 0,
    }
}

fn people() -> NewTable {
    let mut id = column("id", SqlType::Int);
    id.identity = Some(IdentityDef { seed: 1, increment: 1, is_not_for_replication: false });
    NewTable {
        ansi_nulls: true,
        schema: "dbo".into(),
        name: "People".into(),
        columns: vec![
            id,
            column("name", SqlType::NVarChar(Length::N(50))),
            column("note", SqlType::NVarChar(Length::Max)),
        ],
        constraints: vec![
            NewConstraint::Key {
                name: None,
                primary: true,
                clustered: None,
                columns: vec![("id".into(), false)],
                settings: engine::IndexSettings::default(),
            },
            NewConstraint::Key {
                name: Some("UQ_name".into()),
                primary: false,
                clustered: None,
                columns: vec![("name".into(), false)],
                settings: engine::IndexSettings::default(),
            },
        ],
        indexes: Vec::new(),
    }
}

fn find(database: &Arc<Database>, name: &str) -> Arc<TableDef> {
    match database.catalog().find("dbo", name) {
        Some(engine::ObjectDef::Table(table)) => table,
        other => panic!("{name}: {other:?}"),
    }
}

fn rows(database: &Arc<Database>, txn: &DbTransaction, name: &str) -> Vec<Vec<Value>> {
    let table = database.table(&find(database, name));
    let mut cursor =
        table.scan(txn, table.definition().base().index_id, &ScanOptions::default(), None).unwrap();
    let (mut all, mut row) = (Vec::new(), Vec::new());
    while cursor.next(txn, &mut row).unwrap() {
        all.push(row.clone());
    }
    all
}

fn person(id: i32, name: &str, note: &str) -> Vec<Value> {
    vec![Value::Int(id), Value::nvarchar(name), Value::nvarchar(note)]
}

#[test]
fn rows_and_definitions_survive_a_restart() {
    let scratch = Scratch::new("restart");
    let long = "x".repeat(20_000);
    {
        let instance = scratch.open();
        let database = instance
            .create_database(&CreateDatabaseOptions {
                name: "Sales".into(),
                ..CreateDatabaseOptions::default()
            })
            .unwrap();
        let mut set = TransactionSet::new(&instance, 51);
        let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
        let table = database.create_table(txn, &people()).unwrap();
        let handle = database.table(&table);
        handle.insert(txn, &person(1, "Ada", &long)).unwrap();
        handle.insert(txn, &person(2, "Bob", "short")).unwrap();
        set.commit(None).unwrap();
        instance.shutdown();
    }
    let instance = scratch.open();
    let database = instance.database("SALES").unwrap();
    let mut set = TransactionSet::new(&instance, 51);
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
    assert_eq!(rows(&database, txn, "people"), vec![person(1, "Ada", &long), person(2, "Bob", "short")]);
    let table = find(&database, "People");
    assert!(table.indexes[0].name.as_ref().unwrap().starts_with("PK__People__"));
    let by_name = database.table(&table);
    let range = KeyRange::equal(vec![Value::nvarchar("bob")]);
    let mut cursor =
        by_name.seek(txn, table.indexes[1].index_id, &range, &ScanOptions::default(), None).unwrap();
    let mut row = Vec::new();
    assert!(cursor.next(txn, &mut row).unwrap());
    assert_eq!(row, person(2, "Bob", "short"));
    assert!(!cursor.next(txn, &mut row).unwrap());
    set.rollback().unwrap();
    instance.shutdown();
}

#[test]
fn duplicates_are_refused_and_the_statement_is_undone() {
    let scratch = Scratch::new("duplicates");
    let instance = scratch.open();
    let database = instance.database("master").unwrap();
    let mut set = TransactionSet::new(&instance, 51);
    set.begin_explicit();
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
    let table = database.create_table(txn, &people()).unwrap();
    let handle = database.table(&table);
    handle.insert(txn, &person(1, "Ada", "")).unwrap();
    set.statement_begin();
    let txn = set.member(&database).unwrap();
    assert_eq!(handle.insert(txn, &person(1, "Eve", "")).unwrap_err().number, 2627);
    assert_eq!(handle.insert(txn, &person(3, "ADA", "")).unwrap_err().number, 2627);
    set.statement_rollback().unwrap();
    let txn = set.member(&database).unwrap();
    assert_eq!(rows(&database, txn, "People").len(), 1);
    set.commit(None).unwrap();
    instance.shutdown();
}

#[test]
fn ddl_rolls_back_with_its_transaction() {
    let scratch = Scratch::new("ddl");
    let instance = scratch.open();
    let database = instance.database("master").unwrap();
    let mut set = TransactionSet::new(&instance, 51);
    set.begin_explicit();
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
    database.create_table(txn, &people()).unwrap();
    assert!(database.catalog().find("dbo", "People").is_some());
    set.rollback().unwrap();
    assert!(database.catalog().find("dbo", "People").is_none());
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
    database.create_table(txn, &people()).unwrap();
    set.commit(None).unwrap();
    instance.shutdown();
    let again = scratch.open();
    assert!(again.master().catalog().find("dbo", "People").is_some());
    again.shutdown();
}

#[test]
fn an_index_can_be_added_to_rows_and_dropped() {
    let scratch = Scratch::new("index");
    let instance = scratch.open();
    let database = instance.database("master").unwrap();
    let mut set = TransactionSet::new(&instance, 51);
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
    let new = NewTable {
        ansi_nulls: true,
        schema: "dbo".into(),
        name: "T".into(),
        columns: vec![column("a", SqlType::Int), column("b", SqlType::Int)],
        constraints: Vec::new(),
        indexes: Vec::new(),
    };
    let table = database.create_table(txn, &new).unwrap();
    let handle = database.table(&table);
    for number in 0..500 {
        handle.insert(txn, &[Value::Int(number % 7), Value::Int(number)]).unwrap();
    }
    let index = |name: &str, unique, clustered, column: &str| engine::NewIndex {
        name: name.into(),
        unique,
        clustered,
        columns: vec![(column.into(), true)],
        included: Vec::new(),
        filter: None,
        replaces: false,
        settings: engine::IndexSettings::default(),
    };
    assert_eq!(database.create_index(txn, &table, &index("ux", true, false, "a")).unwrap_err().number, 1505);
    set.rollback().unwrap();
    let txn = set.in_database(&database, IsolationLevel::ReadCommitted).unwrap();
    let table = database.create_table(txn, &new).unwrap();
    let handle = database.table(&table);
    for number in 0..500 {
        handle.insert(txn, &[Value::Int(number % 7), Value::Int(number)]).unwrap();
    }
    database.create_index(txn, &table, &index("ix", false, false, "a")).unwrap();
    database.create_index(txn, &find(&database, "T"), &index("cx", true, true, "b")).unwrap();
    let table = find(&database, "T");
    assert_eq!(table.indexes.len(), 2);
    let all = rows(&database, txn, "T");
    assert_eq!(all.first().unwrap()[1], Value::Int(499), "descending clustered order");
    let handle = database.table(&table);
    let wanted = KeyRange::equal(vec![Value::Int(3)]);
    let mut cursor = handle
        .seek(txn, table.indexes[1].index_id, &wanted, &ScanOptions::default(), Some(&[0].into()))
        .unwrap();
    let (mut count, mut row) = (0, Vec::new());
    while cursor.next(txn, &mut row).unwrap() {
        assert_eq!(row, [Value::Int(3)], "the column that is wanted, and no other");
        count += 1;
    }
    assert_eq!(count, 71);
    set.commit(None).unwrap();
    instance.shutdown();
}

#[test]
fn a_second_server_is_refused() {
    let scratch = Scratch::new("second");
    let instance = scratch.open();
    let refused = Instance::open(&Os::real(), &InstanceOptions::new(&scratch.0));
    assert!(refused.err().unwrap().to_string().contains("in use by another"));
    instance.shutdown();
}

#[test]
fn a_foreign_directory_is_refused() {
    let scratch = Scratch::new("foreign");
    std::fs::create_dir_all(&scratch.0).unwrap();
    std::fs::write(scratch.0.join("letter.txt"), "hello").unwrap();
    let refused = Instance::open(&Os::real(), &InstanceOptions::new(&scratch.0));
    assert!(refused.err().unwrap().to_string().contains("not a Hardpan data directory"));
}

/// A moved or copied directory uses its own files; it never opens those of its former place.
#[test]
fn a_copied_directory_works_on_its_own_files() {
    let (original, copy) = (Scratch::new("original"), Scratch::new("copy"));
    let create = |database: &Arc<Database>, instance: &Arc<Instance>, table: &str| {
        let mut set = TransactionSet::new(instance, 51);
        let txn = set.in_database(database, IsolationLevel::ReadCommitted).unwrap();
        database
            .create_table(txn, &NewTable { name: table.into(), constraints: Vec::new(), ..people() })
            .unwrap();
        set.commit(None).unwrap();
    };
    let instance = original.open();
    let sales = CreateDatabaseOptions { name: "Sales".into(), ..CreateDatabaseOptions::default() };
    let database = instance.create_database(&sales).unwrap();
    create(&database, &instance, "before");
    instance.shutdown();
    std::fs::create_dir_all(&copy.0).unwrap();
    for entry in std::fs::read_dir(&original.0).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.0.join(entry.file_name())).unwrap();
    }
    // Both at once: each uses its own.
    let (first, second) = (original.open(), copy.open());
    create(&first.database("Sales").unwrap(), &first, "only_in_the_original");
    let copied = second.database("Sales").unwrap();
    assert!(copied.catalog().find("dbo", "before").is_some());
    create(&copied, &second, "only_in_the_copy");
    assert!(second.database_infos().iter().all(|info| info.log_files[0].path.starts_with(&copy.0)));
    first.shutdown();
    second.shutdown();
    let (first, second) = (original.open(), copy.open());
    let has = |instance: &Arc<Instance>, name: &str| {
        instance.database("Sales").unwrap().catalog().find("dbo", name).is_some()
    };
    assert!(has(&first, "only_in_the_original") && !has(&first, "only_in_the_copy"));
    assert!(has(&second, "only_in_the_copy") && !has(&second, "only_in_the_original"));
    first.shutdown();
    second.shutdown();
}
