//! OUTPUT parameters of calls on the wire: their types, their order, and values of all lengths.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::client::{Client, error_numbers};
use common::world::World;
use tds::client::Token;
use tds::login7::TdsVersion;
use tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use types::{Length, SqlType, Value};

const PROCEDURE: &str = "CREATE PROCEDURE p @m varbinary(max) OUTPUT, @b varbinary(300) OUTPUT, @s nvarchar(max) OUTPUT,
    @d decimal(9, 4) OUTPUT, @v varchar(20) OUTPUT AS
    SELECT @m = CAST(REPLICATE(CAST('m' AS varchar(max)), 9000) AS varbinary(max)), @b = CAST(REPLICATE('b', 200) AS varbinary(300)),
        @s = REPLICATE(CAST(N's' AS nvarchar(max)), 5000), @d = 12.3456, @v = 'twelve'";
/// A variable cannot be of such a type, and an OUTPUT parameter keeps what was passed.
const OLD: &str = "CREATE PROCEDURE o @t text OUTPUT, @i int OUTPUT AS SET @i = DATALENGTH(@t)";

fn parameter(name: &str, sql_type: SqlType, value: Value, output: bool) -> Parameter {
    Parameter { name: name.into(), output, default: false, sql_type, value, table: None }
}

/// The returned parameters: name, type and bytes of text; in the order of the answer.
fn call(
    client: &mut Client,
    procedure: Procedure,
    parameters: Vec<Parameter>,
) -> Vec<(u16, String, SqlType, Value)> {
    let bytes = client.writer.rpc(&[RpcCall { procedure, flags: 0, parameters }]);
    client.send(&bytes);
    let tokens = client.tokens();
    assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
    let values = tokens.into_iter().filter_map(|token| match token {
        Token::ReturnValue { ordinal, name, sql_type, value } => Some((ordinal, name, sql_type, value)),
        _ => None,
    });
    values.collect()
}

/// Each in a type that is too short for its value.
fn short() -> Vec<Parameter> {
    vec![
        parameter("@m", SqlType::VarBinary(Length::N(10)), Value::binary(b"x"), true),
        parameter("@b", SqlType::VarBinary(Length::N(4)), Value::Null, true),
        parameter("@s", SqlType::NVarChar(Length::N(1)), Value::Null, true),
        parameter("@d", SqlType::Decimal { precision: 18, scale: 2 }, Value::Null, true),
        parameter("@v", SqlType::VarChar(Length::N(1)), Value::Null, true),
    ]
}

fn client_of(world: &World, version: TdsVersion) -> Client {
    let mut client = Client::connect(&world.os, world.server(), version);
    let tokens = client.log_in(|_| {});
    assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
    client
}

/// Texts and binary strings are returned in the type that the procedure declares, whole, and large ones after all others; numbers in the caller's.
#[test]
fn values_come_whole_and_large_ones_last() {
    let world = World::new("output");
    for version in [TdsVersion::V7_4, TdsVersion::V7_2, TdsVersion::V7_1] {
        let mut client = client_of(&world, version);
        assert!(error_numbers(&client.batch("DROP PROCEDURE IF EXISTS p")).is_empty());
        assert!(error_numbers(&client.batch(PROCEDURE)).is_empty());
        let has_max = version.is_7_2_or_later();
        let is_binary_max =
            |sql_type| sql_type == if has_max { SqlType::VarBinary(Length::Max) } else { SqlType::Image };
        let is_text_max =
            |sql_type| sql_type == if has_max { SqlType::NVarChar(Length::Max) } else { SqlType::NText };
        let by_name = (Procedure::Name("p".into()), short());
        let text = |text: &str| parameter("", SqlType::NVARCHAR_MAX, Value::nvarchar(text), false);
        let mut prepared = vec![parameter("", SqlType::Int, Value::Null, true), text("p")];
        prepared.extend(short());
        let by_handle = (Procedure::Id(ProcedureId::PrepExecRpc), prepared);
        for (procedure, parameters) in [by_name, by_handle] {
            let what = format!("{version:?} {procedure:?}");
            let values = call(&mut client, procedure, parameters);
            let values: Vec<_> = values.into_iter().filter(|(_, name, ..)| name != "@handle").collect();
            let names: Vec<&str> = values.iter().map(|(_, name, ..)| name.as_str()).collect();
            assert_eq!(names, ["@b", "@d", "@v", "@m", "@s"], "{what}");
            assert_eq!(values[0].2, SqlType::VarBinary(Length::N(300)), "{what}");
            assert_eq!(values[0].3, Value::binary(&[b'b'; 200]), "{what}");
            assert_eq!(values[1].2, SqlType::Decimal { precision: 18, scale: 2 }, "{what}");
            let decimal = types::Decimal::new(1235, 18, 2);
            assert_eq!(values[1].3, Value::Decimal(decimal), "{what}");
            assert_eq!(values[2].2, SqlType::VarChar(Length::N(20)), "{what}");
            assert!(is_binary_max(values[3].2), "{what} {:?}", values[3].2);
            assert_eq!(values[3].3, Value::binary(&[b'm'; 9000]), "{what}");
            assert!(is_text_max(values[4].2), "{what} {:?}", values[4].2);
            assert_eq!(values[4].3, Value::nvarchar(&"s".repeat(5000)), "{what}");
        }
        // The connection continues after the answer.
        assert!(error_numbers(&client.batch("SELECT 1")).is_empty());
    }
}

/// text comes as the clients of each version read it; also NULL, and the empty text.
#[test]
fn old_large_types_come_as_clients_read_them() {
    let world = World::new("pointers");
    for version in [TdsVersion::V7_4, TdsVersion::V7_1] {
        let mut client = client_of(&world, version);
        assert!(error_numbers(&client.batch("DROP PROCEDURE IF EXISTS o")).is_empty());
        assert!(error_numbers(&client.batch(OLD)).is_empty());
        let texts =
            [Value::varchar("many"), Value::varchar(""), Value::Null, Value::varchar(&"x".repeat(20_000))];
        for text in texts {
            let parameters = vec![
                parameter("@t", SqlType::Text, text.clone(), true),
                parameter("@i", SqlType::Int, Value::Null, true),
            ];
            let values = call(&mut client, Procedure::Name("o".into()), parameters);
            let [(1, _, SqlType::Int, _), (0, name, sql_type, value)] = values.as_slice() else {
                panic!("{version:?} {values:?}");
            };
            let wanted =
                if version.is_7_2_or_later() { SqlType::VarChar(Length::Max) } else { SqlType::Text };
            assert_eq!((name.as_str(), *sql_type, value), ("@t", wanted, &text), "{version:?}");
        }
        // Byte for byte in 7.1: the type (0x23), its length and collation, an empty name of a table, a pointer of 16 bytes and a timestamp of 8,
        // the length of the value.
        let parameters = vec![
            parameter("@t", SqlType::Text, Value::varchar("as it is"), true),
            parameter("@i", SqlType::Int, Value::Null, true),
        ];
        let procedure = Procedure::Name("o".into());
        let bytes = client.writer.rpc(&[RpcCall { procedure, flags: 0, parameters }]);
        client.send(&bytes);
        let payload = client.receive().unwrap();
        let at = payload.windows(8).position(|bytes| bytes == b"as it is").unwrap();
        assert_eq!(&payload[at - 4..at], &8u32.to_le_bytes()[..], "{version:?}");
        if version == TdsVersion::V7_1 {
            assert_eq!((payload[at - 41], &payload[at - 31..at - 28]), (0x23, &[0, 0, 16][..]));
        }
        assert!(error_numbers(&client.batch("SELECT 1")).is_empty());
    }
}

/// A scalar function is called like a procedure: status 0, then its value in its declared type, without a name or a place.
#[test]
fn a_function_called_by_name_returns_its_value() {
    let world = World::new("function");
    for version in [TdsVersion::V7_4, TdsVersion::V7_1] {
        let mut client = client_of(&world, version);
        for text in [
            "DROP FUNCTION IF EXISTS area, label, rows_of",
            "CREATE FUNCTION area (@a int, @b int = 3) RETURNS decimal(9, 2) AS BEGIN RETURN @a * @b / 4.0 END",
            "CREATE FUNCTION label (@n int) RETURNS nvarchar(max) AS BEGIN RETURN REPLICATE(CAST(N'x' AS nvarchar(max)), @n) END",
            "CREATE FUNCTION rows_of () RETURNS TABLE AS RETURN SELECT 1 AS one",
        ] {
            assert!(error_numbers(&client.batch(text)).is_empty(), "{text}");
        }
        let int = |name: &str, number: i32| parameter(name, SqlType::Int, Value::Int(number), false);
        let mut function = |name: &str, parameters: Vec<Parameter>| {
            let procedure = Procedure::Name(name.into());
            let bytes = client.writer.rpc(&[RpcCall { procedure, flags: 0, parameters }]);
            client.send(&bytes);
            client.tokens()
        };
        let decimal = |number: i128| Token::FunctionValue {
            sql_type: SqlType::Decimal { precision: 9, scale: 2 },
            value: Value::Decimal(types::Decimal::new(number, 9, 2)),
        };
        let omitted = Parameter { default: true, ..int("", 0) };
        let named = vec![int("@b", 5), int("@a", 2)];
        for (parameters, number) in
            [(vec![int("", 2), int("", 5)], 250), (named, 250), (vec![int("", 2), omitted], 150)]
        {
            let tokens = function("dbo.area", parameters);
            let at = tokens.iter().position(|token| *token == Token::ReturnStatus(0));
            assert_eq!(tokens.get(at.unwrap() + 1), Some(&decimal(number)), "{version:?} {tokens:?}");
        }
        let tokens = function("label", vec![int("@n", 20_000)]);
        let long = tokens.iter().any(|token| {
            matches!(token, Token::FunctionValue { value: Value::NChar(units), .. } if units.len() == 20_000)
        });
        assert!(long, "{version:?}");
        let null = parameter("", SqlType::Int, Value::Null, false);
        let tokens = function("label", vec![null]);
        let is_null = |token: &Token| matches!(token, Token::FunctionValue { value: Value::Null, .. });
        assert!(tokens.iter().any(is_null), "{version:?} {tokens:?}");
        let wrong = [
            ("area", vec![], 313),
            ("area", vec![int("", 1); 3], 8144),
            ("area", vec![int("@x", 1)], 8145),
            ("area", vec![parameter("@a", SqlType::Int, Value::Int(1), true)], 8162),
            ("rows_of", vec![], 2809),
            ("sys.no_such_thing", vec![], 2812),
        ];
        for (name, parameters, number) in wrong {
            let tokens = function(name, parameters);
            assert_eq!(error_numbers(&tokens), [number], "{name}");
            assert!(!tokens.iter().any(|token| matches!(token, Token::FunctionValue { .. })), "{name}");
        }
    }
}
