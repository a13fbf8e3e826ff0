//! Synonyms and sessions: plans of other sessions, definitions that are rolled back, other databases, names of other sessions' uncommitted objects, a restart, model.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

#[test]
fn another_session_follows_a_synonym_that_changes() {
    let (world, mut session) = World::in_database("synonyms-sessions");
    run(
        &mut session,
        "CREATE TABLE a (i int) CREATE TABLE b (i int) INSERT a VALUES (1) INSERT b VALUES (2), (3)",
    );
    run(&mut session, "CREATE SYNONYM s FOR a");
    run(&mut session, "CREATE VIEW v AS SELECT i FROM s");
    let mut other = world.session();
    run(&mut other, "USE d");
    let all = "SELECT (SELECT SUM(i) FROM s), (SELECT SUM(i) FROM v)";
    assert_eq!(rows(&mut other, all), ["1|1"]);
    run(&mut session, "DROP SYNONYM s CREATE SYNONYM s FOR b");
    assert_eq!(rows(&mut other, all), ["5|5"]);
    // The name is unsettled until the transaction ends.
    run(&mut session, "BEGIN TRAN DROP SYNONYM s");
    assert_eq!(numbers(&run(&mut other, "SET LOCK_TIMEOUT 0 SELECT i FROM s")), [1222]);
    run(&mut session, "ROLLBACK");
    assert_eq!(rows(&mut other, all), ["5|5"]);
    // The base object is dropped and comes again with other columns.
    run(&mut session, "DROP TABLE b");
    assert_eq!(numbers(&run(&mut other, all)), [5313]);
    run(&mut session, "CREATE TABLE b (x int, i int) INSERT b VALUES (9, 6)");
    assert_eq!(rows(&mut other, all), ["6|6"]);
}

#[test]
fn a_synonym_reaches_another_database_and_is_used_from_there() {
    let (_world, mut session) = World::in_database("synonyms-databases");
    run(&mut session, "CREATE DATABASE e");
    run(
        &mut session,
        "CREATE TABLE t (i int) INSERT t VALUES (1) CREATE SYNONYM own FOR t CREATE SYNONYM far FOR e..t",
    );
    run(&mut session, "CREATE PROCEDURE p AS SELECT DB_NAME()");
    run(&mut session, "CREATE SYNONYM call FOR p");
    run(&mut session, "USE e CREATE TABLE t (i int) INSERT t VALUES (20)");
    // The base name of a synonym is one of the synonym's database.
    let all = "INSERT d.dbo.own VALUES (2) INSERT d.dbo.far VALUES (30) SELECT (SELECT SUM(i) FROM d.dbo.own), (SELECT SUM(i) FROM d.dbo.far)";
    assert_eq!(rows(&mut session, all), ["3|50"]);
    assert_eq!(rows(&mut session, "EXEC d..call"), ["d"]);
    run(&mut session, "USE d DROP DATABASE e");
    assert_eq!(numbers(&run(&mut session, "SELECT * FROM far")), [5313]);
}

#[test]
fn a_restart_finds_the_synonyms_that_were_committed() {
    let (mut world, mut session) = World::in_database("synonyms-restart");
    run(
        &mut session,
        "CREATE TABLE t (i int) INSERT t VALUES (7) CREATE SYNONYM kept FOR t CREATE SYNONYM gone FOR [a]]b].t DROP SYNONYM gone",
    );
    run(&mut session, "BEGIN TRAN CREATE SYNONYM undone FOR t DROP SYNONYM kept");
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE d");
    assert_eq!(rows(&mut session, "SELECT i FROM kept"), ["7"]);
    assert_eq!(rows(&mut session, "SELECT name, type, base_object_name FROM sys.synonyms"), ["kept|SN|[t]"]);
}

#[test]
fn a_new_database_has_the_synonyms_of_model() {
    let (_world, mut session) = World::in_database("synonyms-model");
    run(&mut session, "USE model CREATE TABLE t (i int) CREATE SYNONYM s FOR t");
    run(&mut session, "USE master CREATE DATABASE e");
    run(&mut session, "USE e INSERT s VALUES (1)");
    assert_eq!(rows(&mut session, "SELECT i FROM e.dbo.t"), ["1"]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM model.dbo.t"), ["0"]);
}
