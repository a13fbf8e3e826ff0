//! Global temporary tables: visible to all sessions while their creator's session lasts; dropped with it, as soon as no session uses them.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::{Server, on_a_machine};
use crate::common::{Seen, numbers, rows, run};

/// No messages.
const NONE: [i32; 0] = [];
const KEPT: &str = "SELECT name FROM tempdb.sys.tables WHERE name LIKE '##%' ORDER BY 1";

#[test]
fn it_is_everybodys_and_goes_with_its_maker() {
    on_a_machine(1, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        assert_eq!(numbers(&run(&mut one, "CREATE TABLE ##g (i INT); INSERT ##g VALUES (1)")), NONE);
        assert_eq!(rows(&mut two, "SELECT i FROM ##g"), ["1"]);
        assert_eq!(rows(&mut two, "SELECT i FROM tempdb..##g"), ["1"]);
        assert_eq!(
            rows(
                &mut two,
                "SELECT COUNT(*) FROM tempdb.sys.columns WHERE object_id = OBJECT_ID('tempdb..##g')"
            ),
            ["1"]
        );
        assert_eq!(numbers(&run(&mut two, "INSERT ##g VALUES (2); UPDATE ##g SET i = 3 WHERE i = 1")), NONE);
        assert_eq!(rows(&mut one, "SELECT i FROM ##G ORDER BY i"), ["2", "3"]);
        assert_eq!(numbers(&run(&mut two, "CREATE TABLE ##g (i INT)")), [2714]);
        assert_eq!(numbers(&run(&mut one, "CREATE TABLE ##g (i INT)")), [2714]);
        assert_eq!(numbers(&run(&mut two, "SELECT 1 AS a INTO ##g")), [2714]);
        assert_eq!(numbers(&run(&mut two, "ALTER TABLE ##g ADD j INT; CREATE INDEX ix ON ##g (i)")), NONE);
        assert_eq!(numbers(&run(&mut two, "SELECT 7 AS a INTO ##other")), NONE);
        assert_eq!(rows(&mut one, "SELECT a FROM ##other"), ["7"]);
        assert_eq!(rows(&mut one, KEPT), ["##g", "##other"]);
        one.close();
        assert_eq!(numbers(&run(&mut two, "SELECT i FROM ##g")), [208]);
        assert_eq!(rows(&mut two, KEPT), ["##other"]);
        two.reset(false, &mut Seen::default());
        assert!(rows(&mut two, KEPT).is_empty(), "a reset is an end, too");
        server.stop(two);
    });
}

/// What another has made under the name stays when the first maker goes.
#[test]
fn only_what_it_made_goes_with_a_session() {
    on_a_machine(2, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        run(&mut one, "CREATE TABLE ##g (i INT)");
        run(&mut two, "DROP TABLE ##g; CREATE TABLE ##g (j INT)");
        run(&mut one, "CREATE PROCEDURE ##p AS SELECT 1 AS a");
        run(&mut two, "DROP PROCEDURE ##p");
        run(&mut two, "CREATE PROCEDURE ##p AS SELECT 2 AS b");
        one.close();
        assert_eq!(rows(&mut two, "SELECT COUNT(j) FROM ##g"), ["0"]);
        assert_eq!(rows(&mut two, "EXEC ##p"), ["2"]);
        server.stop(two);
    });
}

#[test]
fn it_outlives_the_procedure_that_makes_it_and_a_rollback_takes_it_back() {
    on_a_machine(3, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        run(&mut one, "CREATE PROCEDURE makes AS CREATE TABLE ##made (i INT)");
        assert_eq!(numbers(&run(&mut one, "EXEC makes")), NONE);
        assert_eq!(rows(&mut two, "SELECT COUNT(*) FROM ##made"), ["0"]);
        run(&mut one, "BEGIN TRAN; CREATE TABLE ##back (i INT); ROLLBACK");
        assert_eq!(numbers(&run(&mut two, "SELECT * FROM ##back")), [208]);
        run(&mut two, "CREATE TABLE ##back (i INT)");
        one.close();
        assert_eq!(rows(&mut two, KEPT), ["##back"]);
        server.stop(two);
    });
}

/// The end of the creator's session does not wait; the table is dropped when its last user has ended.
#[test]
fn while_somebody_uses_it_it_stays() {
    on_a_machine(4, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        run(&mut one, "CREATE TABLE ##g (i INT)");
        run(&mut two, "BEGIN TRAN; INSERT ##g VALUES (1)");
        one.close();
        assert_eq!(rows(&mut two, "SELECT i FROM ##g"), ["1"]);
        run(&mut two, "COMMIT");
        assert_eq!(numbers(&run(&mut two, "SELECT i FROM ##g")), [208]);
        assert!(rows(&mut two, KEPT).is_empty());
        server.stop(two);
    });
}
