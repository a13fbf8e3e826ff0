//! Plan dependencies of a compiled statement: the answers of catalogs, names that found no object, and the place of the lookup.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::World;
use hardpan_query::{self as query, BindContext, CompiledStatement, NameScope};

fn compiled(world: &World, text: &str, default_schema: &str) -> CompiledStatement {
    let batch = tsql::parse_batch(text, &tsql::ParseOptions::default()).unwrap();
    let context = BindContext { default_schema, ..world.bind() };
    query::compile(&batch.statements[0], &context).unwrap()
}

fn is_valid(world: &World, statement: &CompiledStatement) -> bool {
    statement.is_valid(NameScope { database: &world.database, names: &world.names })
}

/// The binder looks names up in catalogs through `PlanDependencies`, in one file: a look-up elsewhere would not make a plan stale when it changes.
#[test]
fn the_binder_asks_no_catalog_in_any_other_way() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../binder/src");
    let mut asks = Vec::new();
    let files = std::fs::read_dir(folder.join("clauses")).unwrap().chain(std::fs::read_dir(folder).unwrap());
    for path in files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&path).unwrap();
        for words in ["catalog()", "lookup.", "Lookup", "temp_table("] {
            if text.contains(words) {
                asks.push(format!("{} {words}", path.file_name().unwrap().to_string_lossy()));
            }
        }
    }
    asks.sort();
    // The tables that refer to one are looked for among all, and noted one by one. The triggers of a table or view that was noted are those of its
    // definition: each change of a trigger renews it.
    let of_triggers =
        ["output.rs", "target.rs", "trigger.rs", "update.rs"].map(|file| format!("{file} catalog()"));
    let known =
        ["constraints.rs catalog()", "names.rs lookup."].map(str::to_string).into_iter().chain(of_triggers);
    assert_eq!(asks, known.collect::<Vec<_>>());
}

/// A user whose default schema is `own`: his tables come before those of dbo, from the moment they are there.
#[test]
fn a_table_that_comes_to_shadow_another_ends_the_plan() {
    let mut world = World::new();
    for text in ["CREATE TABLE t (i int)", "CREATE TABLE u (i int)", "CREATE SCHEMA own"] {
        world.batch(text).unwrap();
    }
    let of_dbo = compiled(&world, "SELECT i FROM dbo.t", "own");
    let of_user = compiled(&world, "SELECT i FROM t", "own");
    let nobody = compiled(&world, "SELECT i FROM u", "nobody");
    let shows = |world: &World| [&of_dbo, &of_user, &nobody].map(|plan| is_valid(world, plan));
    assert_eq!(shows(&world), [true; 3]);
    world.batch("CREATE TABLE own.unrelated (i int)").unwrap();
    world.batch("CREATE VIEW own.u AS SELECT 1 AS i").unwrap();
    assert_eq!(shows(&world), [true; 3], "other names, and another schema");
    world.batch("CREATE TABLE own.t (i int)").unwrap();
    assert_eq!(shows(&world), [true, false, true]);
    let of_user = compiled(&world, "SELECT i FROM t", "own");
    world.batch("DROP TABLE own.t").unwrap();
    assert!(!is_valid(&world, &of_user), "and ends with it");
    world.batch("CREATE SCHEMA nobody").unwrap();
    assert!(!is_valid(&world, &nobody), "the schema of the name that was asked for is there");
}

/// The same statement seen from another database is another one, if it names something there.
#[test]
fn names_without_a_database_hang_on_the_current_one() {
    let mut world = World::new();
    world.batch("CREATE TABLE t (i int)").unwrap();
    let new = engine::CreateDatabaseOptions { name: "far".to_string(), ..Default::default() };
    let far = world.instance.create_database(&new).unwrap();
    let from_far =
        |statement: &CompiledStatement| statement.is_valid(NameScope { database: &far, names: &world.names });
    for (text, is_fixed) in [
        ("SELECT i FROM t", false),
        ("SELECT i FROM db.dbo.t", true),
        ("SELECT 1 AS one", true),
        ("SELECT 1 AS one INTO made", false),
        ("SELECT 1 AS one INTO db.dbo.made", true),
        ("SELECT name FROM sys.objects", false),
        ("DELETE t", false),
    ] {
        let statement = compiled(&world, text, "dbo");
        assert!(is_valid(&world, &statement), "{text}");
        assert_eq!(from_far(&statement), is_fixed, "{text}");
    }
}

/// A change that is taken back has not been one.
#[test]
fn what_a_rollback_brings_back_is_the_same() {
    let mut world = World::new();
    world.batch("CREATE TABLE t (i int)").unwrap();
    let plan = compiled(&world, "SELECT i FROM t", "dbo");
    world.transactions.begin_explicit();
    world.transactions.statement_begin();
    let batch = tsql::parse_batch("ALTER TABLE t ADD j int", &tsql::ParseOptions::default()).unwrap();
    world.with(|context| query::ddl::execute(&batch.statements[0], "", context).map(drop)).unwrap();
    assert!(!is_valid(&world, &plan), "while it is not settled");
    world.transactions.rollback().unwrap();
    assert!(is_valid(&world, &plan));
    world.batch("ALTER TABLE t ADD j int").unwrap();
    assert!(!is_valid(&world, &plan));
}
