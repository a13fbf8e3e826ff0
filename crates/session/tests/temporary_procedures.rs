//! Temporary procedures: a local one is visible to its session only and is dropped with it; a global one is visible to all sessions.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::{Server, on_a_machine};
use crate::common::{Seen, numbers, rows, run};

/// No messages.
const NONE: [i32; 0] = [];
/// The temporary procedures that tempdb has.
const KEPT: &str =
    "SELECT LEFT(name, 4), LEN(name), type FROM tempdb.sys.objects WHERE type = 'P' ORDER BY 1, name";

#[test]
fn a_temporary_procedure_is_the_sessions_own() {
    on_a_machine(1, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        assert_eq!(numbers(&run(&mut one, "CREATE PROCEDURE #p @n INT AS SELECT @n + 1 AS more")), NONE);
        assert_eq!(rows(&mut one, "EXEC #p 1"), ["2"]);
        assert_eq!(rows(&mut one, "EXEC #P @n = 2"), ["3"]);
        assert_eq!(rows(&mut one, "EXEC ('EXEC #p 3')"), ["4"]);
        assert_eq!(rows(&mut one, "EXEC sp_executesql N'EXEC #p @n', N'@n INT', 4"), ["5"]);
        assert_eq!(rows(&mut one, "DECLARE @name SYSNAME = '#p'; EXEC @name 5"), ["6"]);
        assert_eq!(rows(&mut one, KEPT), ["#p__|128|P "], "under a name that nobody else has");
        assert_eq!(numbers(&run(&mut two, "EXEC #p 1")), [2812]);
        assert_eq!(numbers(&run(&mut two, "DROP PROCEDURE #p")), [3701]);
        assert_eq!(numbers(&run(&mut two, "ALTER PROCEDURE #p AS SELECT 1")), [208]);
        // The other session has one of that name, too.
        assert_eq!(numbers(&run(&mut two, "CREATE PROCEDURE #p AS SELECT 'two' AS x")), NONE);
        assert_eq!(rows(&mut two, "EXEC #p"), ["two"]);
        assert_eq!(rows(&mut one, "EXEC #p 1"), ["2"]);
        assert_eq!(rows(&mut one, KEPT).len(), 2);
        assert_eq!(numbers(&run(&mut one, "CREATE PROCEDURE #p AS SELECT 1")), [2714]);
        assert_eq!(numbers(&run(&mut one, "ALTER PROCEDURE #p AS SELECT 'altered' AS x")), NONE);
        assert_eq!(rows(&mut one, "EXEC #p"), ["altered"]);
        assert_eq!(numbers(&run(&mut one, "CREATE OR ALTER PROCEDURE #p AS SELECT 'again' AS x")), NONE);
        assert_eq!(rows(&mut one, "EXEC #p"), ["again"]);
        assert_eq!(numbers(&run(&mut one, "CREATE OR ALTER PROCEDURE #new AS SELECT 'new' AS x")), NONE);
        assert_eq!(rows(&mut one, "EXEC #new"), ["new"]);
        assert_eq!(numbers(&run(&mut one, "DROP PROCEDURE #p, #new")), NONE);
        assert_eq!(numbers(&run(&mut one, "EXEC #p")), [2812]);
        assert_eq!(rows(&mut one, KEPT).len(), 1);
        two.close();
        assert!(rows(&mut one, KEPT).is_empty(), "it goes with its session");
        run(&mut one, "CREATE PROCEDURE #p AS SELECT 1");
        one.reset(false, &mut Seen::default());
        assert_eq!(numbers(&run(&mut one, "EXEC #p")), [2812], "and with a reset");
        assert!(rows(&mut one, KEPT).is_empty());
        assert_eq!(numbers(&run(&mut one, "CREATE VIEW #v AS SELECT 1 AS one")), [4103]);
        server.stop(one);
    });
}

#[test]
fn where_it_is_made_and_where_it_runs() {
    on_a_machine(2, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        for name in ["one", "two"] {
            run(
                &mut session,
                &format!(
                    "CREATE DATABASE {name}; CREATE TABLE {name}.dbo.t (x CHAR(3)); INSERT {name}.dbo.t VALUES ('{name}')"
                ),
            );
        }
        // Created inside dynamic text and inside a procedure: it lasts as long as the session.
        run(&mut session, "USE one; EXEC ('CREATE PROCEDURE #p AS SELECT x FROM t')");
        assert_eq!(rows(&mut session, "EXEC #p"), ["one"]);
        run(&mut session, "USE two");
        assert_eq!(rows(&mut session, "EXEC #p"), ["two"], "names mean what they mean where it is called");
        run(
            &mut session,
            "CREATE PROCEDURE makes AS EXEC ('CREATE PROCEDURE #inner AS SELECT 7'); EXEC #inner",
        );
        assert_eq!(rows(&mut session, "EXEC makes"), ["7"]);
        assert_eq!(rows(&mut session, "EXEC #inner"), ["7"]);
        // A rollback removes it, and it can be created again.
        run(&mut session, "BEGIN TRAN; EXEC ('CREATE PROCEDURE #r AS SELECT 8'); ROLLBACK");
        assert_eq!(numbers(&run(&mut session, "EXEC #r")), [2812]);
        assert_eq!(numbers(&run(&mut session, "CREATE PROCEDURE #r AS SELECT 9")), NONE);
        assert_eq!(rows(&mut session, "EXEC #r"), ["9"]);
        let seen = run(&mut session, "EXEC ('CREATE PROCEDURE #fails AS SELECT 1/0'); EXEC #fails");
        assert_eq!(numbers(&seen), [8134]);
        server.stop(session);
    });
}

#[test]
fn a_global_one_is_everybodys_and_goes_with_its_maker() {
    on_a_machine(3, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        run(&mut one, "CREATE PROCEDURE ##g AS SELECT 'global' AS x");
        assert_eq!(rows(&mut two, "EXEC ##g"), ["global"]);
        assert_eq!(rows(&mut two, KEPT), ["##g|3|P "]);
        assert_eq!(numbers(&run(&mut two, "CREATE PROCEDURE ##g AS SELECT 1")), [2714]);
        assert_eq!(numbers(&run(&mut two, "ALTER PROCEDURE ##g AS SELECT 'altered' AS x")), NONE);
        assert_eq!(rows(&mut one, "EXEC ##g"), ["altered"]);
        one.close();
        assert_eq!(numbers(&run(&mut two, "EXEC ##g")), [2812]);
        run(&mut two, "CREATE PROCEDURE ##g AS SELECT 2; ");
        assert_eq!(numbers(&run(&mut two, "DROP PROCEDURE ##g; EXEC ##g")), [2812]);
        server.stop(two);
    });
}
