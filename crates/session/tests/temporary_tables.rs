//! Temporary tables by name: which sessions see which, and the effect of transactions on them.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// Temporary tables of all sessions; those behind table variables have names without underscores.
const KEPT: &str = "SELECT COUNT(*) FROM tempdb.sys.tables WHERE name LIKE '#%[_][_]%'";

fn done(session: &mut Session, text: &str) {
    assert_eq!(numbers(&run(session, text)), Vec::<i32>::new(), "{text}");
}

#[test]
fn an_inner_table_hides_the_outer_one_and_goes_with_its_scope() {
    let world = World::new("temporary-scopes");
    let mut session = world.session();
    done(&mut session, "CREATE TABLE #T (i int); INSERT #t VALUES (1)");
    assert_eq!(numbers(&run(&mut session, "CREATE TABLE #t (i int)")), [2714]);
    done(
        &mut session,
        "CREATE PROCEDURE inner_one AS BEGIN CREATE TABLE #t (i int); INSERT #t VALUES (2); INSERT seen SELECT i FROM #t; \
         DROP TABLE #t; INSERT seen SELECT i FROM #t END",
    );
    done(&mut session, "CREATE TABLE seen (i int)");
    for text in ["EXEC inner_one", "BEGIN TRAN; EXEC inner_one; COMMIT"] {
        done(&mut session, text);
        assert_eq!(rows(&mut session, "SELECT i FROM seen ORDER BY i"), ["1", "2"], "{text}");
        done(&mut session, "DELETE seen");
        assert_eq!(rows(&mut session, "SELECT i FROM #t"), ["1"]);
        assert_eq!(rows(&mut session, KEPT), ["1"], "{text}");
    }
    done(&mut session, "DROP TABLE #t");
    assert_eq!(numbers(&run(&mut session, "SELECT * FROM #t")), [208]);
    // A table variable is seen in its own scope only.
    let seen = run(&mut session, "DECLARE @t TABLE (i int); INSERT @t VALUES (1); EXEC ('SELECT * FROM @t')");
    assert_eq!(numbers(&seen), [1087]);
    assert_eq!(rows(&mut session, KEPT), ["0"]);
}

#[test]
fn a_rollback_takes_tables_back_and_brings_them_back() {
    let world = World::new("temporary-rollback");
    let mut session = world.session();
    // A table created in the transaction frees its name.
    done(&mut session, "BEGIN TRAN; CREATE TABLE #a (i int); SELECT 1 AS i INTO #b; ROLLBACK");
    assert_eq!(numbers(&run(&mut session, "SELECT * FROM #a")), [208]);
    done(&mut session, "CREATE TABLE #a (i int, j int); SELECT 2 AS i INTO #b");
    assert_eq!(rows(&mut session, "SELECT i FROM #b"), ["2"]);
    // A table dropped in it exists again, in the same batch and in later ones.
    let again = "BEGIN TRAN; DROP TABLE #b; ROLLBACK; SELECT i FROM #b";
    assert_eq!(rows(&mut session, again), ["2"]);
    done(&mut session, "BEGIN TRAN; DROP TABLE #b");
    assert_eq!(numbers(&run(&mut session, "SELECT * FROM #b")), [208]);
    done(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
    assert_eq!(rows(&mut session, "SELECT i FROM #b"), ["2"]);
    // Dropped, created again, rolled back: the old one.
    done(
        &mut session,
        "BEGIN TRAN; DROP TABLE #b; CREATE TABLE #b (i int, k int); INSERT #b (i) VALUES (9); ROLLBACK",
    );
    assert_eq!(rows(&mut session, "SELECT i FROM #b"), ["2"]);
    done(
        &mut session,
        "BEGIN TRAN; SAVE TRAN s; DROP TABLE #b; ROLLBACK TRAN s; INSERT #b VALUES (3); COMMIT",
    );
    assert_eq!(rows(&mut session, "SELECT i FROM #b ORDER BY i"), ["2", "3"]);
    // Dropped and created again, committed.
    done(&mut session, "BEGIN TRAN; DROP TABLE #b; SELECT 7 AS i INTO #b; COMMIT");
    assert_eq!(rows(&mut session, "SELECT i FROM #b"), ["7"]);
    assert_eq!(rows(&mut session, KEPT), ["2"]);
    done(&mut session, "BEGIN TRAN; DROP TABLE #a, #b; ROLLBACK; DROP TABLE #a, #b");
    assert_eq!(rows(&mut session, KEPT), ["0"]);
    assert_eq!(numbers(&run(&mut session, "SELECT * FROM #a")), [208]);
}

#[test]
fn nothing_stays_behind_a_session() {
    let world = World::new("temporary-end");
    let mut session = world.session();
    let mut other = world.session();
    done(&mut session, "CREATE TABLE #a (i int); SELECT 1 AS i INTO #b");
    done(&mut session, "BEGIN TRAN; DROP TABLE #a; CREATE TABLE #a (j int); CREATE TABLE #c (i int)");
    session.close();
    assert_eq!(rows(&mut other, KEPT), ["0"]);
}
