//! Tables that clients send as parameters (RPC): to procedures and to sp_executesql.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::World;
use hardpan_session::{
    ColumnDescription, Done, EnvironmentChange, Flow, RequestEnd, ResultSink, RpcCall, RpcParameter,
    RpcTarget, SentTable, Session,
};
use types::{SqlError, SqlType, Value};

#[derive(Default)]
struct Seen {
    rows: Vec<Vec<Value>>,
    errors: Vec<i32>,
}

impl ResultSink for Seen {
    fn columns(&mut self, _: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.rows.push(row.to_vec());
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            self.errors.push(message.number);
        }
    }
    fn done(&mut self, _: Done) {}
    fn return_status(&mut self, _: i32) {}
    fn return_value(&mut self, _: u16, _: &str, _: &SqlType, _: &Value) {}
    fn environment(&mut self, _: EnvironmentChange) {}
}

fn scalar(name: &str, value: Value) -> RpcParameter {
    let (name, sql_type) = (name.to_string(), value.natural_type());
    RpcParameter { name, sql_type, value, output: false, default: false, table: None }
}

fn table(name: &str, columns: Option<Vec<Option<SqlType>>>, rows: Vec<Vec<Value>>) -> RpcParameter {
    let sent = SentTable { schema: "dbo".into(), name: "lines".into(), columns, rows };
    RpcParameter { table: Some(Box::new(sent)), ..scalar(name, Value::Null) }
}

fn call(session: &mut Session, name: &str, parameters: Vec<RpcParameter>) -> Seen {
    let mut seen = Seen::default();
    let call = RpcCall { target: RpcTarget::Name(name.into()), parameters, no_metadata: false };
    assert_eq!(session.execute_rpc(call, &mut seen), RequestEnd::Finished);
    seen
}

fn batch(session: &mut Session, text: &str) -> Seen {
    let mut seen = Seen::default();
    assert_eq!(session.execute_batch(text, &mut seen), RequestEnd::Finished, "{text}");
    seen
}

/// The type has an identity column and a default; its procedure counts and adds.
fn session(world: &World) -> Session {
    let mut session = world.session();
    for text in [
        "CREATE TYPE dbo.lines AS TABLE (id int IDENTITY(1, 1), amount int NULL, note nvarchar(10) NOT NULL DEFAULT N'none', CHECK (amount < 10000))",
        "CREATE PROCEDURE dbo.total @lines dbo.lines READONLY, @more int = 0 AS SELECT COUNT(*), SUM(amount) + @more, MIN(note), MAX(id) FROM @lines",
    ] {
        assert_eq!(batch(&mut session, text).errors, [0; 0], "{text}");
    }
    session
}

/// The identity column has its default; the third has one too, or is sent.
fn columns(note: bool) -> Option<Vec<Option<SqlType>>> {
    Some(vec![None, Some(SqlType::SmallInt), note.then_some(SqlType::NVARCHAR_MAX)])
}

#[test]
fn rows_arrive_in_procedures() {
    let world = World::new("table-parameters");
    let mut session = session(&world);
    for count in [0, 1, 5001] {
        let rows = (0..count).map(|i| vec![Value::SmallInt(i), Value::nvarchar("x")]).collect();
        let seen = call(&mut session, "dbo.total", vec![table("@lines", columns(true), rows)]);
        let total: i32 = (0..i32::from(count)).sum();
        let expected = match count {
            0 => vec![Value::Int(0), Value::Null, Value::Null, Value::Null],
            _ => vec![
                Value::Int(count.into()),
                Value::Int(total),
                Value::nvarchar("x"),
                Value::Int(count.into()),
            ],
        };
        assert_eq!((seen.errors, seen.rows), (vec![], vec![expected]), "{count}");
    }
}

/// Columns of defaults, NULLs, a table without columns of values, no table at all, DEFAULT, no argument.
#[test]
fn defaults_and_missing_tables() {
    let world = World::new("table-parameters-defaults");
    let mut session = session(&world);
    let mut total = |parameters: Vec<RpcParameter>| {
        let seen = call(&mut session, "dbo.total", parameters);
        assert_eq!(seen.errors, [0; 0]);
        seen.rows[0].clone()
    };
    let rows = vec![vec![Value::SmallInt(4)], vec![Value::Null]];
    let two = [Value::Int(2), Value::Int(5), Value::nvarchar("none"), Value::Int(2)];
    assert_eq!(total(vec![table("", columns(false), rows), scalar("@more", Value::Int(1))]), two);
    let defaults = [Value::Int(3), Value::Null, Value::nvarchar("none"), Value::Int(3)];
    assert_eq!(total(vec![table("@lines", Some(vec![None; 3]), vec![Vec::new(); 3])]), defaults);
    let nothing = [Value::Int(0), Value::Null, Value::Null, Value::Null];
    assert_eq!(total(vec![table("@lines", None, Vec::new())]), nothing);
    assert_eq!(total(vec![RpcParameter { default: true, ..table("@lines", None, Vec::new()) }]), nothing);
    assert_eq!(total(Vec::new()), nothing);
}

#[test]
fn dynamic_text_takes_tables() {
    let world = World::new("table-parameters-text");
    let mut session = session(&world);
    let text = "SELECT COUNT(*) + @more FROM @lines; EXEC dbo.total @lines";
    let parameters = vec![
        scalar("", Value::nvarchar(text)),
        scalar("", Value::nvarchar("@lines dbo.lines READONLY, @more int")),
        table("@lines", columns(false), vec![vec![Value::SmallInt(2)]]),
        scalar("@more", Value::Int(1)),
    ];
    let seen = call(&mut session, "sp_executesql", parameters);
    assert_eq!(seen.errors, [0; 0]);
    let total = vec![Value::Int(1), Value::Int(2), Value::nvarchar("none"), Value::Int(1)];
    assert_eq!(seen.rows, [vec![Value::Int(2)], total]);
}

/// 500: number of columns; 206: another type, no table, a table for a scalar; 1077: a value for the identity column; 547: a check. Nothing of
/// a refused call stays, and the session goes on.
#[test]
fn refusals() {
    let world = World::new("table-parameters-refusals");
    let mut session = session(&world);
    let one = || vec![vec![Value::SmallInt(2)]];
    let mut other = table("@lines", columns(false), one());
    other.table.as_mut().unwrap().name = "others".into();
    let identity = Some(vec![Some(SqlType::SmallInt), None, None]);
    let cases = [
        (table("@lines", Some(vec![Some(SqlType::SmallInt)]), one()), 500),
        (other, 206),
        (scalar("@lines", Value::Int(1)), 206),
        (table("@more", columns(false), one()), 206),
        (table("@lines", identity, one()), 1077),
        (table("@lines", columns(false), vec![vec![Value::SmallInt(10_000)]]), 547),
        (table("@nothing", columns(false), one()), 8145),
    ];
    for (parameter, number) in cases {
        let shown = format!("{parameter:?}");
        let seen = call(&mut session, "dbo.total", vec![parameter]);
        assert_eq!(seen.errors.first(), Some(&number), "{shown}");
        let left = batch(&mut session, "SELECT COUNT(*) FROM tempdb.sys.tables");
        assert_eq!((left.errors, left.rows), (vec![], vec![vec![Value::Int(0)]]), "{shown}");
    }
}

/// Of two tables the second is refused: the first does not reach the next call.
#[test]
fn a_refused_table_leaves_no_other_behind() {
    let world = World::new("table-parameters-two");
    let mut session = session(&world);
    let text = "CREATE PROCEDURE dbo.two @lines dbo.lines READONLY, @more dbo.lines READONLY AS SELECT COUNT(*) FROM @lines";
    assert_eq!(batch(&mut session, text).errors, [0; 0]);
    let good = table("@lines", columns(false), vec![vec![Value::SmallInt(1)]]);
    let bad = table("@more", Some(vec![None]), vec![Vec::new()]);
    let seen = call(&mut session, "dbo.two", vec![good.clone(), bad]);
    assert_eq!((seen.errors, seen.rows.len()), (vec![500], 0));
    let own = batch(&mut session, "EXEC (N'DECLARE @lines TABLE (own int); SELECT COUNT(own) FROM @lines')");
    assert_eq!((own.errors, own.rows), (vec![], vec![vec![Value::Int(0)]]));
    let more = table("@more", columns(false), Vec::new());
    let seen = call(&mut session, "dbo.two", vec![more, good]);
    assert_eq!((seen.errors, seen.rows), (vec![], vec![vec![Value::Int(1)]]));
}

/// ODBC prepares and runs a call in one (sp_prepexecrpc).
#[test]
fn a_prepared_call_takes_tables() {
    let world = World::new("table-parameters-prepared");
    let mut session = session(&world);
    let handle = RpcParameter { output: true, ..scalar("", Value::Int(0)) };
    let lines = table("", columns(false), vec![vec![Value::SmallInt(2)]]);
    let parameters = vec![handle, scalar("", Value::nvarchar("dbo.total")), lines.clone()];
    let total = vec![Value::Int(1), Value::Int(2), Value::nvarchar("none"), Value::Int(1)];
    let seen = call(&mut session, "sp_prepexecrpc", parameters);
    assert_eq!((seen.errors, seen.rows), (vec![], vec![total.clone()]));
    let seen = call(&mut session, "sp_execute", vec![scalar("", Value::Int(1)), lines]);
    assert_eq!((seen.errors, seen.rows), (vec![], vec![total]));
}
