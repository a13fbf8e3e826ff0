//! Each side decodes what the other side encodes: every type, every token, every version, through packets.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Random, all_types, value_of};
use hardpan_tds::client::{RequestWriter, Token, TokenReader};
use hardpan_tds::login7::TdsVersion;
use hardpan_tds::packet::{MessageReader, ReadLimits};
use hardpan_tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use hardpan_tds::server::{Column, Encoder, Origin, Request, decode_request};
use hardpan_tds::token::{DEFAULT_COLLATION, DoneKind, DoneToken, EnvChange, done};
use types::{SqlError, SqlType, Value};

fn tokens(encoder: &mut Encoder) -> Vec<Token> {
    let mut bytes = Vec::new();
    encoder.finish(&mut bytes);
    let mut reader = MessageReader::new(ReadLimits::default());
    reader.feed(&bytes).unwrap();
    reader.next().unwrap().expect("a whole message");
    TokenReader::new(reader.payload(), encoder.version()).collect().unwrap()
}

fn request(bytes: &[u8], version: TdsVersion) -> Request {
    let mut reader = MessageReader::new(ReadLimits::default());
    reader.feed(bytes).unwrap();
    let head = reader.next().unwrap().expect("a whole message");
    decode_request(head.kind, reader.payload(), version).unwrap()
}

/// Types that an old version shows under their own name, and not as an older type.
fn is_native(sql_type: &SqlType, version: TdsVersion) -> bool {
    let dates = matches!(
        sql_type,
        SqlType::Date | SqlType::Time(_) | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_)
    );
    version.is_7_3_or_later() || !dates && *sql_type != SqlType::SqlVariant
}

#[test]
fn rows_of_every_type_arrive_in_every_version() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_3, TdsVersion::V7_4, TdsVersion::V8_0]
    {
        let types: Vec<SqlType> = all_types().into_iter().filter(|one| is_native(one, version)).collect();
        let names: Vec<String> = types.iter().map(|one| format!("{one:?}")).collect();
        let each = types.iter().zip(&names);
        let columns: Vec<Column<'_>> = each.map(|(one, name)| Column::new(name, *one)).collect();
        let mut random = Random(version.0.into());
        let mut encoder = Encoder::new(version, 4096, 51, "HARDPAN");
        let rows: Vec<Vec<Value>> =
            (0..40).map(|_| types.iter().map(|one| value_of(&mut random, one)).collect()).collect();
        encoder.columns(columns.iter().copied(), false);
        rows.iter().for_each(|row| assert!(encoder.row(row)));
        let mut seen = tokens(&mut encoder).into_iter();
        let Some(Token::Columns(described)) = seen.next() else { panic!("no columns") };
        for (described, column) in described.iter().zip(&columns) {
            assert_eq!(described.name, column.name);
            if version.is_7_2_or_later() {
                assert_eq!(described.sql_type, column.sql_type);
            }
        }
        for row in rows {
            assert_eq!(seen.next(), Some(Token::Row(row)), "version {:08X}", version.0);
        }
        assert_eq!(seen.next(), None);
    }
}

/// Never NULL: types with a number of their own for that are sent without lengths, the others in the nullable form.
#[test]
fn columns_that_are_never_null_arrive_in_their_fixed_forms() {
    use hardpan_tds::type_info::id;
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let types: Vec<SqlType> = all_types().into_iter().filter(|one| is_native(one, version)).collect();
        let column = |one: &SqlType| Column { nullable: false, ..Column::new("c", *one) };
        let columns: Vec<Column> = types.iter().map(column).collect();
        let mut random = Random(version.0.into());
        let mut encoder = Encoder::new(version, 4096, 51, "HARDPAN");
        let mut present = |sql_type: &SqlType| loop {
            let value = value_of(&mut random, sql_type);
            if !value.is_null() {
                return value;
            }
        };
        let rows: Vec<Vec<Value>> = (0..20).map(|_| types.iter().map(&mut present).collect()).collect();
        encoder.columns(columns.iter().copied(), false);
        rows.iter().for_each(|row| assert!(encoder.row(row)));
        // A NULL among them cannot be sent, and nothing is written.
        for (at, sql_type) in types.iter().enumerate() {
            let mut row = rows[0].clone();
            row[at] = Value::Null;
            let pending = encoder.pending_bytes();
            let is_fixed = matches!(
                sql_type,
                SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt
            ) || matches!(
                sql_type,
                SqlType::Real | SqlType::Float | SqlType::Money | SqlType::SmallMoney
            ) || matches!(sql_type, SqlType::DateTime | SqlType::SmallDateTime);
            assert_eq!(encoder.row(&row), !is_fixed, "{sql_type:?}");
            encoder.take_back(pending);
        }
        let mut seen = tokens(&mut encoder).into_iter();
        let Some(Token::Columns(described)) = seen.next() else { panic!("no columns") };
        for (described, sql_type) in described.iter().zip(&types) {
            assert!(!described.nullable);
            if *sql_type == SqlType::Int {
                assert_eq!(described.info.id, id::INT4);
            }
            assert_ne!(described.info.id, id::INTN);
        }
        for row in rows {
            assert_eq!(seen.next(), Some(Token::Row(row)));
        }
        assert_eq!(seen.next(), None);
    }
}

/// A client (mssql-jdbc) treats a long type's table name without parts as a broken stream.
#[test]
fn long_columns_name_their_table_in_at_least_one_part() {
    let name_at = |column: Column<'_>, version: TdsVersion| {
        let mut encoder = Encoder::new(version, 4096, 51, "HARDPAN");
        encoder.columns(std::iter::once(column), false);
        let mut bytes = Vec::new();
        encoder.finish(&mut bytes);
        // Header, token, count, user type, flags, type, length, collation.
        let user_type = if version.is_7_2_or_later() { 4 } else { 2 };
        bytes[8 + 1 + 2 + user_type + 2 + 1 + 4 + 5..].to_vec()
    };
    let table = ["db".to_string(), "dbo".into(), "t".into()];
    let plain = Column::new("c", SqlType::NText);
    let named = Column { table: &table, ..plain };
    assert_eq!(name_at(plain, TdsVersion::V7_4)[..3], [1, 0, 0]);
    assert_eq!(name_at(plain, TdsVersion::V7_1)[..2], [0, 0]);
    let parts = [3, 2, 0, b'd', 0, b'b', 0, 3, 0, b'd', 0, b'b', 0, b'o', 0, 1, 0, b't', 0];
    assert_eq!(name_at(named, TdsVersion::V7_4)[..parts.len()], parts);
    assert_eq!(name_at(named, TdsVersion::V7_1)[..2], [8, 0], "one part below 7.2");
}

#[test]
fn columns_that_are_kept_are_sent_again_as_they_were_until_others_come() {
    let columns = [Column::new("a", SqlType::Int), Column::new("b", SqlType::BigInt)];
    let mut encoder = Encoder::new(TdsVersion::V7_4, 4096, 51, "HARDPAN");
    assert!(!encoder.columns_again(), "there are none");
    encoder.columns(columns.into_iter(), true);
    let length = encoder.pending_bytes();
    assert!(encoder.row(&[Value::Int(1), Value::BigInt(2)]));
    let rows_at = encoder.pending_bytes();
    assert!(encoder.columns_again() && encoder.pending_bytes() == rows_at + length);
    assert!(encoder.row(&[Value::Int(3), Value::BigInt(4)]));
    let mut bytes = Vec::new();
    encoder.take_all(&mut bytes);
    assert_eq!(bytes[8..8 + rows_at].len(), bytes[8 + rows_at..].len());
    assert_eq!(bytes[8..8 + length], bytes[8 + rows_at..][..length]);
    encoder.columns(columns[..1].iter().copied(), false);
    assert!(!encoder.columns_again(), "others have come, which are not kept");
    encoder.columns(columns.into_iter(), true);
    encoder.negotiate(TdsVersion::V7_1, 4096);
    assert!(!encoder.columns_again(), "another version writes them otherwise");
}

/// FreeTDS and others send no length for a NULL uniqueidentifier.
#[test]
fn a_null_uniqueidentifier_may_have_no_length() {
    let parameter = Parameter {
        name: "@g".into(),
        output: false,
        default: false,
        table: None,
        sql_type: SqlType::UniqueIdentifier,
        value: Value::Null,
    };
    let call = RpcCall { procedure: Procedure::Name("p".into()), flags: 0, parameters: vec![parameter] };
    let mut bytes = RequestWriter::new(TdsVersion::V7_4, 4096).rpc(std::slice::from_ref(&call));
    let end = bytes.len();
    assert_eq!(bytes[end - 3..], [0x24, 16, 0]);
    bytes[end - 2] = 0;
    let Request::Rpc { calls, .. } = request(&bytes, TdsVersion::V7_4) else { panic!("not an RPC") };
    assert_eq!(calls, [call]);
}

#[test]
fn parameters_of_every_type_arrive() {
    let types: Vec<SqlType> = all_types();
    for version in [TdsVersion::V7_2, TdsVersion::V7_4] {
        let types: Vec<SqlType> = types.iter().copied().filter(|one| is_native(one, version)).collect();
        for seed in 0..20 {
            let mut random = Random(seed);
            let mut calls = Vec::new();
            for procedure in
                [Procedure::Id(ProcedureId::ExecuteSql), Procedure::Name("[sys].sp_tables".into())]
            {
                let parameter = |sql_type: &SqlType| Parameter {
                    name: if seed % 2 == 0 { format!("@p{}", random.below(9)) } else { String::new() },
                    output: random.below(3) == 0,
                    default: false,
                    table: None,
                    sql_type: *sql_type,
                    value: value_of(&mut random, sql_type),
                };
                let parameters = types.iter().map(parameter).collect();
                calls.push(RpcCall { procedure, flags: seed as u16 & 3, parameters });
            }
            let mut writer = RequestWriter::new(version, 4096);
            writer.transaction_descriptor = 7;
            let Request::Rpc { headers, calls: seen } = request(&writer.rpc(&calls), version) else {
                panic!("not an RPC")
            };
            assert_eq!(headers.transaction_descriptor, 7);
            assert_eq!(seen, calls, "seed {seed}");
        }
    }
}

#[test]
fn every_token_arrives_in_every_version() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let mut encoder = Encoder::new(version, 512, 51, "HARDPAN");
        let mut error = SqlError::custom(2627, 14, 1, "Violation of PRIMARY KEY".into()).at_line(70_000);
        error.procedure = Some("dbo.p".into());
        let information = SqlError::custom(5701, 0, 2, "Changed database".into());
        let changes = [
            EnvChange::Database("tempdb".into(), "master".into()),
            EnvChange::Language("us_english".into(), String::new()),
            EnvChange::PacketSize(8000, 4096),
            EnvChange::Collation(DEFAULT_COLLATION),
            EnvChange::BeginTransaction(0x1122_3344),
            EnvChange::CommitTransaction(0x1122_3344),
            EnvChange::RollbackTransaction(u64::MAX),
            EnvChange::ResetConnection,
        ];
        changes.iter().for_each(|change| encoder.env_change(change));
        encoder.message(&error);
        encoder.message(&information);
        encoder.login_ack("Microsoft SQL Server", (16, 0, 1000));
        encoder.feature_acks(&[(10, vec![1])]);
        encoder.return_status(-6);
        encoder.return_value(2, "@out", &SqlType::Int, &Value::Int(42));
        let status = done::COUNT | done::MORE;
        let ends = [DoneKind::InProcedure, DoneKind::Procedure, DoneKind::Statement].map(|kind| DoneToken {
            kind,
            status,
            command: 193,
            row_count: 1_000_000,
        });
        ends.iter().for_each(|end| encoder.done(end));
        encoder.done_attention();

        if !version.is_7_2_or_later() {
            error.line = 65_535;
        }
        let mut expected: Vec<Token> = changes.into_iter().map(Token::EnvChange).collect();
        expected.push(Token::Message { error, server_name: "HARDPAN".into() });
        expected.push(Token::Message { error: information, server_name: "HARDPAN".into() });
        let program = "Microsoft SQL Server".to_string();
        expected.push(Token::LoginAck { version, program, program_version: (16, 0, 1000) });
        expected.push(Token::FeatureAcks(vec![(10, vec![1])]));
        expected.push(Token::ReturnStatus(-6));
        let (name, value) = ("@out".to_string(), Value::Int(42));
        expected.push(Token::ReturnValue { ordinal: 2, name, sql_type: SqlType::Int, value });
        expected.extend(ends.map(Token::Done));
        let status = done::ATTENTION;
        expected.push(Token::Done(DoneToken { kind: DoneKind::Statement, status, command: 0, row_count: 0 }));
        assert_eq!(tokens(&mut encoder), expected);
    }
}

#[test]
fn a_message_too_long_for_its_token_is_cut() {
    let mut encoder = Encoder::new(TdsVersion::V7_4, 4096, 51, "HARDPAN");
    encoder.message(&SqlError::custom(50000, 16, 1, "🦀".repeat(60_000)));
    assert!(
        matches!(&tokens(&mut encoder)[..], [Token::Message { error, .. }] if error.message.len() > 10_000)
    );
}

/// MS-TDS, TABNAME and COLINFO: behind COLMETADATA, the table's name in parts and three bytes a column, with the base name of a renamed one.
#[test]
fn the_origins_of_a_cursors_columns() {
    let origin =
        |is_expression, renamed, is_key, is_hidden| Origin { is_expression, renamed, is_key, is_hidden };
    let origins = [
        origin(false, None, true, false),
        origin(false, Some("b"), false, false),
        origin(true, None, false, true),
    ];
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let mut encoder = Encoder::new(version, 4096, 51, "HARDPAN");
        let columns = ["a", "x", "ROWSTAT"].map(|name| Column::new(name, SqlType::Int));
        encoder.columns(columns.into_iter(), false);
        let start = encoder.pending_bytes();
        encoder.origins(&["dbo".to_string(), "t".to_string()], origins.into_iter());
        assert!(encoder.row(&[Value::Int(1), Value::Int(2), Value::Int(1)]));
        let mut bytes = Vec::new();
        encoder.finish(&mut bytes);
        let wanted = [
            &[0xA4, 13, 0, 2, 3, 0][..],
            &[b'd', 0, b'b', 0, b'o', 0, 1, 0, b't', 0],
            &[0xA5, 12, 0, 1, 1, 0x08, 2, 1, 0x20, 1, b'b', 0, 3, 0, 0x14],
        ]
        .concat();
        let payload = &bytes[8..];
        assert_eq!(payload[start..start + wanted.len()], wanted, "{version:?}");
        let mut reader = MessageReader::new(ReadLimits::default());
        reader.feed(&bytes).unwrap();
        reader.next().unwrap().expect("a whole message");
        let seen = TokenReader::new(reader.payload(), version).collect().unwrap();
        let ignored = [Token::Ignored(0xA4), Token::Ignored(0xA5)];
        assert_eq!(seen[1..3], ignored, "a client may skip them");
        assert!(matches!(&seen[3], Token::Row(_)));
    }
    // Without a table all are expressions.
    let mut encoder = Encoder::new(TdsVersion::V7_4, 4096, 51, "HARDPAN");
    encoder.origins(&[], origins.into_iter().take(1));
    let mut bytes = Vec::new();
    encoder.finish(&mut bytes);
    assert_eq!(bytes[8..], [0xA5, 3, 0, 1, 0, 0x0C]);
}
