//! Large values as parameters and in rows: sent in chunks, whole at the other end.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::client::{Client, error_numbers};
use common::world::World;
use tds::client::Token;
use tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use types::{ByteStr, Length, SqlType, Value, WideStr};

/// Bytes of a chunk as the server sends it.
const CHUNK: usize = 256 * 1024;

fn parameter(name: &str, sql_type: SqlType, value: Value) -> Parameter {
    Parameter { name: name.into(), output: false, default: false, sql_type, value, table: None }
}

/// Runs a statement with `@b varbinary(max)`, `@n nvarchar(max)` and `@v varchar(max)`; its rows.
fn rows(client: &mut Client, statement: &str, values: [Value; 3]) -> Vec<Vec<Value>> {
    let [bytes, wide, narrow] = values;
    let parameters = vec![
        parameter("", SqlType::NVARCHAR_MAX, Value::nvarchar(statement)),
        parameter(
            "",
            SqlType::NVARCHAR_MAX,
            Value::nvarchar("@b varbinary(max), @n nvarchar(max), @v varchar(max)"),
        ),
        parameter("@b", SqlType::VarBinary(Length::Max), bytes),
        parameter("@n", SqlType::NVARCHAR_MAX, wide),
        parameter("@v", SqlType::VarChar(Length::Max), narrow),
    ];
    let procedure = Procedure::Id(ProcedureId::ExecuteSql);
    let request = client.writer.rpc(&[RpcCall { procedure, flags: 0, parameters }]);
    client.send(&request);
    let tokens = client.tokens();
    assert!(error_numbers(&tokens).is_empty());
    let rows =
        tokens.into_iter().filter_map(|token| if let Token::Row(row) = token { Some(row) } else { None });
    rows.collect()
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Around the length of a chunk and beyond, several in a row, NULL among them; kept in a table and not.
#[test]
fn values_of_any_length_come_back_whole() {
    let world = World::new("large");
    let mut client = world.client();
    let create =
        "CREATE TABLE l (id int IDENTITY, b varbinary(max), n nvarchar(max), v varchar(max), e int NOT NULL)";
    assert!(error_numbers(&client.batch(create)).is_empty());
    for length in [0, 1, CHUNK / 2, CHUNK / 2 + 1, CHUNK - 1, CHUNK, CHUNK + 1, 5_000_001] {
        let binary = Value::Binary(ByteStr::from(bytes(length)));
        let narrow = Value::Char(ByteStr::from(vec![b'a'; length]));
        let units: Vec<u16> = (0..length).map(|at| 0x3000 + (at % 997) as u16).collect();
        let wide = Value::NChar(WideStr::from(units));
        for values in [
            [binary.clone(), wide.clone(), narrow.clone()],
            [Value::Null, wide.clone(), Value::Null],
            [binary.clone(), Value::Null, narrow.clone()],
        ] {
            let [b, n, v] = values.clone();
            let wanted = vec![b, n, v, Value::Int(7)];
            let echoed =
                rows(&mut client, "SELECT @b, @n, @v, 7 UNION ALL SELECT @b, @n, @v, 7", values.clone());
            assert!(echoed == [wanted.clone(), wanted.clone()], "{length}");
            let kept = rows(
                &mut client,
                "TRUNCATE TABLE l; INSERT l VALUES (@b, @n, @v, 7); SELECT b, n, v, e FROM l",
                values,
            );
            assert!(kept == [wanted], "{length} from a table");
        }
    }
    assert_eq!(client.batch("SELECT 1").len(), 3);
}

/// A call may be longer than any other message.
#[test]
fn a_call_may_be_longer_than_a_batch() {
    let world = World::new("large-call");
    let mut client = world.client();
    let length = tds::limits::MESSAGE_BYTES_MAX + 1_000;
    let mut binary = vec![0; length];
    binary[length - 1] = 0xAB;
    let rows = rows(
        &mut client,
        "SELECT DATALENGTH(@b), SUBSTRING(@b, DATALENGTH(@b) - 1, 2)",
        [Value::Binary(ByteStr::from(binary)), Value::Null, Value::Null],
    );
    assert_eq!(rows, [[Value::BigInt(length as i64), Value::binary(&[0, 0xAB])]]);
    let text = "x".repeat(length / 2);
    assert_eq!(error_numbers(&client.batch(&text)), [4002]);
    assert_eq!(client.batch("SELECT 1").len(), 3);
}
