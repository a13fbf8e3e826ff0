//! DONE tokens of an answer, with their counts, as SET NOCOUNT goes on and off: in a batch, in procedures, by RPC.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::client::Client;
use common::world::World;
use tds::client::Token;
use tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use tds::token::{DoneKind, done};
use types::Value;

/// The rows and ends of an answer: `*` a row; `DONE`, `IN` (DONEINPROC) or `PROC` with the command, `=count` if the count is valid, `!` for an
/// error; `status`. Of all ends the last alone says that nothing follows.
fn shown(tokens: &[Token]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut more = Vec::new();
    for token in tokens {
        match token {
            Token::Row(_) => words.push("*".into()),
            Token::ReturnStatus(status) => words.push(format!("status={status}")),
            Token::Done(end) => {
                let kind = match end.kind {
                    DoneKind::Statement => "DONE",
                    DoneKind::InProcedure => "IN",
                    DoneKind::Procedure => "PROC",
                };
                let count = end.status & done::COUNT != 0;
                let count = if count { format!("={}", end.row_count) } else { String::new() };
                let error = if end.status & done::ERROR != 0 { "!" } else { "" };
                words.push(format!("{kind}:{:X}{count}{error}", end.command));
                more.push(end.status & done::MORE != 0);
            }
            _ => {}
        }
    }
    assert_eq!(more.pop(), Some(false), "the last: {tokens:?}");
    assert!(more.iter().all(|more| *more), "more follows: {tokens:?}");
    words.join(" ")
}

fn client(world: &World) -> Client {
    let mut client = world.client();
    for text in [
        "CREATE TABLE t (i int PRIMARY KEY, j int)",
        "CREATE PROCEDURE loud AS BEGIN INSERT t VALUES (10, 0) SELECT i FROM t WHERE i = 10 DELETE t WHERE i = 10 RETURN 3 END",
        "CREATE PROCEDURE quiet AS BEGIN SET NOCOUNT ON INSERT t VALUES (10, 0) SELECT i FROM t WHERE i = 10 DELETE t WHERE i = 10 RETURN 4 END",
        "CREATE PROCEDURE outer_one AS BEGIN EXEC quiet DELETE t WHERE i = 99 END",
        "CREATE PROCEDURE opens AS SET NOCOUNT OFF UPDATE t SET j = 0 WHERE i = 99",
    ] {
        assert!(!shown(&client.batch(text)).contains('!'), "{text}");
    }
    client
}

fn check(client: &mut Client, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(shown(&client.batch(text)), *expected, "{text}");
    }
}

/// Without NOCOUNT each statement ends by itself, with its count; under it those alone that return rows, without one.
#[test]
fn a_batch_tells_counts_until_nocount_is_on() {
    let world = World::new("counts");
    let mut client = client(&world);
    let statements = "INSERT t VALUES (1, 1), (2, 2) UPDATE t SET j = 5 SELECT i FROM t WHERE i = 1 \
                      MERGE t USING (VALUES (2), (3)) s(i) ON t.i = s.i WHEN MATCHED THEN UPDATE SET j = 6 \
                      WHEN NOT MATCHED THEN INSERT VALUES (s.i, 0); SELECT i INTO #c FROM t DELETE t";
    check(
        &mut client,
        &[
            (statements, "DONE:C3=2 DONE:C5=2 * DONE:C1=1 DONE:117=2 DONE:C2=3 DONE:C4=3"),
            (
                &format!("DROP TABLE #c SET NOCOUNT ON {statements} DROP TABLE #c SET NOCOUNT OFF"),
                "DONE:C7 * DONE:C1",
            ),
            (
                "SET NOCOUNT ON INSERT t VALUES (1, 1) SET NOCOUNT OFF UPDATE t SET j = 2 SET NOCOUNT ON SELECT i FROM t DELETE t",
                "DONE:C5=1 * DONE:C1",
            ),
            ("SELECT i FROM t INSERT t VALUES (1, 1)", "DONE:C1"),
            ("SET NOCOUNT OFF DELETE t", "DONE:C4=1"),
            (
                "INSERT t OUTPUT inserted.i VALUES (1, 1) SET NOCOUNT ON DELETE t OUTPUT deleted.i SET NOCOUNT OFF",
                "* DONE:C3=1 * DONE:C4",
            ),
            ("DECLARE @a int = 1 SET @a = 2 SELECT @a = 3 PRINT 'x'", "DONE:C1=1 DONE:FD"),
            (
                "SET NOCOUNT ON DECLARE @a int = 1 SET @a = 2 SELECT @a = 3 PRINT 'x' SET NOCOUNT OFF",
                "DONE:0",
            ),
            (
                "IF 1 = 1 DELETE t ELSE SELECT 1 AS a WHILE (SELECT COUNT(*) FROM t) < 2 INSERT t SELECT COUNT(*), 0 FROM t DELETE t",
                "DONE:C4=0 DONE:C3=1 DONE:C3=1 DONE:C4=2",
            ),
            (
                "SET NOCOUNT ON IF 1 = 1 DELETE t WHILE (SELECT COUNT(*) FROM t) < 2 INSERT t SELECT COUNT(*), 0 FROM t SELECT i FROM t DELETE t SET NOCOUNT OFF",
                "* * DONE:C1",
            ),
            (
                "BEGIN TRY INSERT t VALUES (1, 1) INSERT t VALUES (1, 1) END TRY BEGIN CATCH SELECT 1 AS a END CATCH DELETE t",
                "DONE:C3=1 * DONE:C1=1 DONE:C4=1",
            ),
            (
                "SET NOCOUNT ON BEGIN TRY INSERT t VALUES (1, 1) INSERT t VALUES (1, 1) END TRY BEGIN CATCH SELECT 1 AS a END CATCH DELETE t SET NOCOUNT OFF",
                "* DONE:C1",
            ),
            ("INSERT t VALUES (1, 1) INSERT t VALUES (1, 1) DELETE t", "DONE:C3=1 DONE:C3! DONE:C4=1"),
            (
                "SET NOCOUNT ON INSERT t VALUES (1, 1) INSERT t VALUES (1, 1) DELETE t SET NOCOUNT OFF",
                "DONE:C3!",
            ),
            ("", "DONE:0"),
        ],
    );
}

/// A procedure's SET ends with it; its caller's SET is in force in it. Its own DONE is sent whatever NOCOUNT says.
#[test]
fn nocount_of_a_procedure_ends_with_it() {
    let world = World::new("counts_in_procedures");
    let mut client = client(&world);
    check(
        &mut client,
        &[
            ("EXEC loud DELETE t", "IN:C3=1 * IN:C1=1 IN:C4=1 status=3 PROC:E0 DONE:C4=0"),
            ("EXEC quiet DELETE t", "* IN:C1 status=4 PROC:E0 DONE:C4=0"),
            ("EXEC outer_one DELETE t", "* IN:C1 IN:E0 IN:C4=0 status=0 PROC:E0 DONE:C4=0"),
            ("SET NOCOUNT ON EXEC loud DELETE t", "* IN:C1 status=3 PROC:E0"),
            ("EXEC opens DELETE t", "IN:C5=0 status=0 PROC:E0"),
            ("SET NOCOUNT OFF EXEC opens DELETE t", "IN:C5=0 status=0 PROC:E0 DONE:C4=0"),
            (
                "EXEC sp_executesql N'SET NOCOUNT ON INSERT t VALUES (1, 1) SELECT i FROM t' DELETE t",
                "* IN:C1 status=0 PROC:E0 DONE:C4=1",
            ),
            (
                "EXEC ('SET NOCOUNT ON INSERT t VALUES (1, 1) SELECT i FROM t') DELETE t",
                "* IN:C1 PROC:E0 DONE:C4=1",
            ),
            (
                "INSERT t (i) EXEC ('SELECT 7 AS i') DELETE t SET NOCOUNT ON INSERT t (i) EXEC ('SELECT 7 AS i') DELETE t SET NOCOUNT OFF",
                "DONE:C3=1 DONE:C4=1",
            ),
        ],
    );
}

#[test]
fn calls_tell_counts_as_batches_do() {
    let world = World::new("counts_of_calls");
    let mut client = client(&world);
    let text_call = |client: &mut Client, text: &str| {
        let value = Value::nvarchar(text);
        let sql_type = value.natural_type();
        let text =
            Parameter { name: String::new(), output: false, default: false, sql_type, value, table: None };
        call(client, Procedure::Id(ProcedureId::ExecuteSql), vec![text])
    };
    let named = |client: &mut Client, name: &str| call(client, Procedure::Name(name.into()), Vec::new());
    assert_eq!(named(&mut client, "loud"), "IN:C3=1 * IN:C1=1 IN:C4=1 status=3 PROC:E0");
    assert_eq!(named(&mut client, "quiet"), "* IN:C1 status=4 PROC:E0");
    let statements = "INSERT t VALUES (1, 1) SELECT i FROM t DELETE t";
    let loud = "IN:C3=1 * IN:C1=1 IN:C4=1 status=0 PROC:E0";
    assert_eq!(text_call(&mut client, statements), loud);
    assert_eq!(text_call(&mut client, &format!("SET NOCOUNT ON {statements}")), "* IN:C1 status=0 PROC:E0");
    assert_eq!(text_call(&mut client, statements), loud, "what the call set ended with it");
    // A batch's SET is in force for later calls.
    assert_eq!(shown(&client.batch("SET NOCOUNT ON")), "DONE:0");
    assert_eq!(named(&mut client, "loud"), "* IN:C1 status=3 PROC:E0");
    assert_eq!(named(&mut client, "opens"), "IN:C5=0 status=0 PROC:E0");
    assert_eq!(named(&mut client, "loud"), "* IN:C1 status=3 PROC:E0");
    assert_eq!(text_call(&mut client, statements), "* IN:C1 status=0 PROC:E0");
}

fn call(client: &mut Client, procedure: Procedure, parameters: Vec<Parameter>) -> String {
    let bytes = client.writer.rpc(&[RpcCall { procedure, flags: 0, parameters }]);
    client.send(&bytes);
    shown(&client.tokens())
}
