//! The tokens of a response that carry no column values: their numbers, their layouts, their encoders.

use types::SqlError;

use crate::login7::TdsVersion;
use crate::wire::{put_b_varchar, put_us_varchar};

/// First bytes of tokens.
pub mod kind {
    /// Result of a RETURN in a procedure.
    pub const RETURN_STATUS: u8 = 0x79;
    /// Columns of the rows that follow.
    pub const COLUMN_METADATA: u8 = 0x81;
    /// The tables of a cursor's result.
    pub const TABLE_NAME: u8 = 0xA4;
    /// Where the columns of a cursor's result come from.
    pub const COLUMN_INFO: u8 = 0xA5;
    /// Ordering columns.
    pub const ORDER: u8 = 0xA9;
    /// Error message.
    pub const ERROR: u8 = 0xAA;
    /// Informational message.
    pub const INFO: u8 = 0xAB;
    /// Value of an OUTPUT parameter.
    pub const RETURN_VALUE: u8 = 0xAC;
    /// Login accepted.
    pub const LOGIN_ACK: u8 = 0xAD;
    /// Feature extensions acknowledged.
    pub const FEATURE_EXTENSION_ACK: u8 = 0xAE;
    /// A row.
    pub const ROW: u8 = 0xD1;
    /// A row with a bitmap of NULLs.
    pub const NULL_BITMAP_ROW: u8 = 0xD2;
    /// A change of the session's environment.
    pub const ENV_CHANGE: u8 = 0xE3;
    /// End of a statement of a batch.
    pub const DONE: u8 = 0xFD;
    /// End of a procedure.
    pub const DONE_PROC: u8 = 0xFE;
    /// End of a statement within a procedure.
    pub const DONE_IN_PROC: u8 = 0xFF;
}

/// Status bits of the DONE tokens.
pub mod done {
    /// More results follow.
    pub const MORE: u16 = 0x0001;
    /// The statement ended in an error.
    pub const ERROR: u16 = 0x0002;
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 0x0004;
    /// The row count is valid.
    pub const COUNT: u16 = 0x0010;
    /// Acknowledges an attention.
    pub const ATTENTION: u16 = 0x0020;
    /// The end of a call behind which another one of the same message follows.
    pub const RPC_IN_BATCH: u16 = 0x0080;
    /// An error so severe that results may be missing.
    pub const SERVER_ERROR: u16 = 0x0100;
}

/// Which of the three DONE tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DoneKind {
    /// DONE: a statement of a batch, or the whole answer.
    Statement = kind::DONE,
    /// DONEPROC: a procedure.
    Procedure = kind::DONE_PROC,
    /// DONEINPROC: a statement within a procedure.
    InProcedure = kind::DONE_IN_PROC,
}

/// A DONE token of any of the three kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoneToken {
    /// Which one.
    pub kind: DoneKind,
    /// Bits of [`done`].
    pub status: u16,
    /// The statement's command number (193 SELECT, 195 INSERT, ...; 0 when unknown).
    pub command: u16,
    /// Rows; meaningful with [`done::COUNT`]. Cut to 32 bits below TDS 7.2.
    pub row_count: u64,
}

/// Status of a RETURNVALUE: an OUTPUT parameter.
pub(crate) const OUTPUT_PARAMETER: u8 = 0x01;
/// Status of a RETURNVALUE: the value of a user's function.
pub(crate) const FUNCTION_VALUE: u8 = 0x02;

/// The default collation as the wire carries it: SQL_Latin1_General_CP1_CI_AS (LCID 0x0409, ignore case, kana and
/// width; sort order 52).
pub const DEFAULT_COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];

/// A change of environment, with its new value first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvChange {
    /// Current database: new name, old name.
    Database(String, String),
    /// Language: new, old.
    Language(String, String),
    /// Packet size in bytes: new, old.
    PacketSize(u32, u32),
    /// Collation of the database.
    Collation([u8; 5]),
    /// A transaction began; its descriptor, never 0.
    BeginTransaction(u64),
    /// The transaction with this descriptor was committed.
    CommitTransaction(u64),
    /// The transaction with this descriptor was rolled back.
    RollbackTransaction(u64),
    /// The session was reset on request of its client.
    ResetConnection,
}

/// Writes `change`.
pub fn put_env_change(out: &mut Vec<u8>, change: &EnvChange) {
    out.push(kind::ENV_CHANGE);
    let length_at = put_length_gap(out);
    match change {
        EnvChange::Database(new, old) => put_texts(out, 1, new, old),
        EnvChange::Language(new, old) => put_texts(out, 2, new, old),
        EnvChange::PacketSize(new, old) => put_texts(out, 4, &new.to_string(), &old.to_string()),
        EnvChange::Collation(collation) => put_blobs(out, 7, collation, &[]),
        EnvChange::BeginTransaction(descriptor) => put_blobs(out, 8, &descriptor.to_le_bytes(), &[]),
        EnvChange::CommitTransaction(descriptor) => put_blobs(out, 9, &[], &descriptor.to_le_bytes()),
        EnvChange::RollbackTransaction(descriptor) => put_blobs(out, 10, &[], &descriptor.to_le_bytes()),
        EnvChange::ResetConnection => put_blobs(out, 18, &[], &[]),
    }
    fill_length(out, length_at);
}

fn put_texts(out: &mut Vec<u8>, number: u8, new: &str, old: &str) {
    out.push(number);
    put_b_varchar(out, new);
    put_b_varchar(out, old);
}

fn put_blobs(out: &mut Vec<u8>, number: u8, new: &[u8], old: &[u8]) {
    out.push(number);
    for value in [new, old] {
        out.push(value.len() as u8);
        out.extend_from_slice(value);
    }
}

/// Longest message text of an ERROR or INFO token in UTF-16 units, so that the token's 16-bit length holds it.
const MESSAGE_UNITS_MAX: usize = 16_000;

/// Writes an ERROR token (severity above 10) or an INFO token. Severity 10 travels as 0, as SQL Server sends it:
/// DB-Library clients treat 10 as a failure.
pub fn put_message(out: &mut Vec<u8>, version: TdsVersion, error: &SqlError, server_name: &str) {
    out.push(if error.severity > 10 { kind::ERROR } else { kind::INFO });
    let length_at = put_length_gap(out);
    out.extend_from_slice(&error.number.to_le_bytes());
    out.push(error.state);
    out.push(if error.severity == 10 { 0 } else { error.severity });
    let cut =
        error.message.char_indices().nth(MESSAGE_UNITS_MAX / 2).map_or(error.message.len(), |(at, _)| at);
    put_us_varchar(out, &error.message[..cut]);
    put_b_varchar(out, server_name);
    put_b_varchar(out, error.procedure.as_deref().unwrap_or(""));
    if version.is_7_2_or_later() {
        out.extend_from_slice(&error.line.to_le_bytes());
    } else {
        out.extend_from_slice(&(error.line.min(u32::from(u16::MAX)) as u16).to_le_bytes());
    }
    fill_length(out, length_at);
}

/// Writes LOGINACK: protocol version, program name and version (major, minor, build).
pub fn put_login_ack(out: &mut Vec<u8>, version: TdsVersion, program: &str, program_version: (u8, u8, u16)) {
    out.push(kind::LOGIN_ACK);
    let length_at = put_length_gap(out);
    out.push(1); // SQL_TSQL
    out.extend_from_slice(&version.0.to_be_bytes());
    put_b_varchar(out, program);
    let (major, minor, build) = program_version;
    out.extend_from_slice(&[major, minor]);
    out.extend_from_slice(&build.to_be_bytes());
    fill_length(out, length_at);
}

/// Writes FEATUREEXTACK with the features granted; nothing at all when there are none.
pub fn put_feature_acks(out: &mut Vec<u8>, features: &[(u8, Vec<u8>)]) {
    if features.is_empty() {
        return;
    }
    out.push(kind::FEATURE_EXTENSION_ACK);
    for (id, data) in features {
        out.push(*id);
        out.extend_from_slice(&(data.len() as u32).to_le_bytes());
        out.extend_from_slice(data);
    }
    out.push(crate::login7::feature::TERMINATOR);
}

/// Writes one of the DONE tokens.
pub fn put_done(out: &mut Vec<u8>, version: TdsVersion, token: &DoneToken) {
    out.push(token.kind as u8);
    out.extend_from_slice(&token.status.to_le_bytes());
    out.extend_from_slice(&token.command.to_le_bytes());
    if version.is_7_2_or_later() {
        out.extend_from_slice(&token.row_count.to_le_bytes());
    } else {
        out.extend_from_slice(&(token.row_count.min(u64::from(u32::MAX)) as u32).to_le_bytes());
    }
}

/// Writes RETURNSTATUS.
pub fn put_return_status(out: &mut Vec<u8>, status: i32) {
    out.push(kind::RETURN_STATUS);
    out.extend_from_slice(&status.to_le_bytes());
}

fn put_length_gap(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0, 0]);
    out.len()
}

/// Fills the 16-bit length of the bytes after `start`.
fn fill_length(out: &mut [u8], start: usize) {
    let length = out.len() - start;
    debug_assert!(length <= usize::from(u16::MAX));
    out[start - 2..start].copy_from_slice(&(length as u16).to_le_bytes());
}
