//! Truncated, flipped and random bytes end in an error, never in a panic (reliability F18).
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Random, all_types, value_of};
use hardpan_tds::client::{RequestWriter, TokenReader};
use hardpan_tds::login7::TdsVersion;
use hardpan_tds::packet::{MessageReader, PacketKind, ReadLimits};
use hardpan_tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use hardpan_tds::server::{Column, Encoder, decode_request};

const KINDS: [PacketKind; 7] = [
    PacketKind::PreLogin,
    PacketKind::Login7,
    PacketKind::SqlBatch,
    PacketKind::Rpc,
    PacketKind::TransactionManager,
    PacketKind::Attention,
    PacketKind::BulkLoad,
];

fn payload_of(bytes: &[u8]) -> Vec<u8> {
    let mut reader = MessageReader::new(ReadLimits::default());
    reader.feed(bytes).unwrap();
    reader.next().unwrap().expect("a whole message");
    reader.payload().to_vec()
}

fn rpc_payload(random: &mut Random) -> Vec<u8> {
    let parameter = |sql_type| Parameter {
        name: "@p".into(),
        output: false,
        default: false,
        table: None,
        sql_type,
        value: value_of(random, &sql_type),
    };
    let parameters =
        all_types().into_iter().filter(|one| (0..100).contains(&one.max_length())).map(parameter).collect();
    let call = RpcCall { procedure: Procedure::Id(ProcedureId::Prepare), flags: 0, parameters };
    payload_of(&RequestWriter::new(TdsVersion::V7_4, 32_000).rpc(&[call]))
}

fn try_all(payload: &[u8]) {
    for kind in KINDS {
        for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
            let _ = decode_request(kind, payload, version);
        }
    }
}

#[test]
fn damaged_calls_never_panic() {
    let mut random = Random(1);
    let payload = rpc_payload(&mut random);
    for length in 0..payload.len() {
        try_all(&payload[..length]);
    }
    for _ in 0..20_000 {
        let mut damaged = payload.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(damaged.len() as u64) as usize;
            damaged[at] = if random.below(2) == 0 { random.next() as u8 } else { 0xFF };
        }
        let _ = decode_request(PacketKind::Rpc, &damaged, TdsVersion::V7_4);
    }
}

#[test]
fn random_payloads_never_panic() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let count = random.below(300) as usize;
        try_all(&random.bytes(count));
    }
}

#[test]
fn damaged_answers_never_panic() {
    let mut random = Random(3);
    let types = all_types();
    let columns: Vec<Column> = types.iter().map(|one| Column::new("c", *one)).collect();
    let mut encoder = Encoder::new(TdsVersion::V7_4, 32_000, 51, "S");
    encoder.columns(columns.iter().copied(), false);
    let sent = encoder.row(
        &types
            .iter()
            .map(|one| {
                if !(0..100).contains(&one.max_length()) {
                    types::Value::Null
                } else {
                    value_of(&mut random, one)
                }
            })
            .collect::<Vec<_>>(),
    );
    assert!(sent);
    encoder.done_attention();
    let mut bytes = Vec::new();
    encoder.finish(&mut bytes);
    let payload = payload_of(&bytes);
    for _ in 0..5_000 {
        let mut damaged = payload.clone();
        let at = random.below(damaged.len() as u64) as usize;
        damaged[at] = random.next() as u8;
        damaged.truncate(1 + random.below(damaged.len() as u64) as usize);
        let _ = TokenReader::new(&damaged, TdsVersion::V7_4).collect();
    }
}

#[test]
fn random_packets_never_panic_and_never_grow_beyond_what_came() {
    let mut random = Random(4);
    for _ in 0..2_000 {
        let mut reader = MessageReader::new(ReadLimits::PRE_LOGIN);
        'connection: for _ in 0..20 {
            let mut bytes = random.bytes(64);
            bytes[0] = KINDS[random.below(7) as usize] as u8;
            (bytes[2], bytes[3]) = (0, random.below(70) as u8);
            if reader.feed(&bytes).is_err() {
                break;
            }
            loop {
                match reader.next() {
                    Ok(Some(head)) => drop(decode_request(head.kind, reader.payload(), TdsVersion::V7_4)),
                    Ok(None) => break,
                    Err(_) => break 'connection,
                }
            }
            assert!(reader.payload().len() <= 20 * 64);
        }
    }
}
