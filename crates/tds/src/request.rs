//! Requests of a client: ALL_HEADERS, SQL batches and transaction manager requests, both ways.

use crate::error::ProtocolError;
use crate::login7::TdsVersion;
use crate::wire::{Reader, put_utf16, put_utf16_at_most, utf16_text};

/// The contents of ALL_HEADERS; all zero below TDS 7.2, which has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers {
    /// The transaction the client believes to be in; 0 for none.
    pub transaction_descriptor: u64,
    /// Requests outstanding on this connection (1 without MARS).
    pub outstanding_requests: u32,
}

const HEADER_TRANSACTION_DESCRIPTOR: u16 = 2;

/// Reads ALL_HEADERS, if `version` has it. Unknown headers are skipped.
pub fn read_headers(reader: &mut Reader<'_>, version: TdsVersion) -> Result<Headers, ProtocolError> {
    let mut headers = Headers::default();
    if !version.is_7_2_or_later() {
        return Ok(headers);
    }
    reader.set_part("ALL_HEADERS");
    let total = reader.u32()? as usize;
    let body =
        total.checked_sub(4).ok_or_else(|| ProtocolError::invalid("ALL_HEADERS length", total as u64))?;
    let mut body = Reader::new(reader.take(body)?, "ALL_HEADERS");
    while !body.is_empty() {
        let length = body.u32()? as usize;
        let kind = body.u16()?;
        let data =
            length.checked_sub(6).ok_or_else(|| ProtocolError::invalid("header length", length as u64))?;
        let mut data = Reader::new(body.take(data)?, "transaction descriptor header");
        if kind == HEADER_TRANSACTION_DESCRIPTOR {
            headers.transaction_descriptor = data.u64()?;
            headers.outstanding_requests = data.u32()?;
        }
    }
    Ok(headers)
}

/// Writes ALL_HEADERS with the transaction descriptor, if `version` has it.
pub fn put_headers(out: &mut Vec<u8>, version: TdsVersion, headers: Headers) {
    if !version.is_7_2_or_later() {
        return;
    }
    out.extend_from_slice(&22u32.to_le_bytes());
    out.extend_from_slice(&18u32.to_le_bytes());
    out.extend_from_slice(&HEADER_TRANSACTION_DESCRIPTOR.to_le_bytes());
    out.extend_from_slice(&headers.transaction_descriptor.to_le_bytes());
    out.extend_from_slice(&headers.outstanding_requests.to_le_bytes());
}

/// Decodes the payload of a SQLBatch message: its headers and its text.
pub fn decode_batch(payload: &[u8], version: TdsVersion) -> Result<(Headers, String), ProtocolError> {
    let mut reader = Reader::new(payload, "SQLBatch");
    let headers = read_headers(&mut reader, version)?;
    let text = reader.take(reader.remaining())?;
    Ok((headers, utf16_text(text)))
}

/// Encodes the payload of a SQLBatch message.
pub fn put_batch(out: &mut Vec<u8>, version: TdsVersion, headers: Headers, text: &str) {
    put_headers(out, version, headers);
    put_utf16(out, text);
}

/// Isolation level in a transaction manager request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum IsolationLevel {
    /// Keep the session's level.
    Unchanged = 0,
    /// READ UNCOMMITTED.
    ReadUncommitted = 1,
    /// READ COMMITTED.
    ReadCommitted = 2,
    /// REPEATABLE READ.
    RepeatableRead = 3,
    /// SERIALIZABLE.
    Serializable = 4,
    /// SNAPSHOT.
    Snapshot = 5,
}

impl IsolationLevel {
    fn from_byte(byte: u8) -> Result<Self, ProtocolError> {
        Ok(match byte {
            0 => IsolationLevel::Unchanged,
            1 => IsolationLevel::ReadUncommitted,
            2 => IsolationLevel::ReadCommitted,
            3 => IsolationLevel::RepeatableRead,
            4 => IsolationLevel::Serializable,
            5 => IsolationLevel::Snapshot,
            _ => return Err(ProtocolError::invalid("isolation level", byte)),
        })
    }
}

/// The transaction to begin, alone or right after the end of another one (fBeginXact: chained transactions of ODBC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginTransaction {
    /// Isolation level to set.
    pub isolation: IsolationLevel,
    /// Name, often empty.
    pub name: String,
}

/// A transaction manager request (0x0E).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionRequest {
    /// TM_BEGIN_XACT.
    Begin(BeginTransaction),
    /// TM_COMMIT_XACT.
    Commit {
        /// Name, often empty.
        name: String,
        /// Begin the next one at once.
        then_begin: Option<BeginTransaction>,
    },
    /// TM_ROLLBACK_XACT: the whole transaction, or back to the savepoint `name`.
    Rollback {
        /// Name of a savepoint or transaction, or empty.
        name: String,
        /// Begin the next one at once.
        then_begin: Option<BeginTransaction>,
    },
    /// TM_SAVE_XACT.
    Save {
        /// Name of the savepoint.
        name: String,
    },
}

const TM_GET_DTC_ADDRESS: u16 = 0;
const TM_PROPAGATE: u16 = 1;
const TM_BEGIN: u16 = 5;
const TM_PROMOTE: u16 = 6;
const TM_COMMIT: u16 = 7;
const TM_ROLLBACK: u16 = 8;
const TM_SAVE: u16 = 9;
const FLAG_BEGIN_NEXT: u8 = 0x01;

/// Decodes the payload of a transaction manager request. Distributed transactions give an error that keeps the connection.
pub fn decode_transaction_request(
    payload: &[u8],
    version: TdsVersion,
) -> Result<(Headers, TransactionRequest), ProtocolError> {
    let mut reader = Reader::new(payload, "transaction manager request");
    let headers = read_headers(&mut reader, version)?;
    reader.set_part("transaction manager request");
    let kind = reader.u16()?;
    let request = match kind {
        TM_BEGIN => TransactionRequest::Begin(read_begin(&mut reader)?),
        TM_COMMIT => {
            let (name, then_begin) = read_end(&mut reader)?;
            TransactionRequest::Commit { name, then_begin }
        }
        TM_ROLLBACK => {
            let (name, then_begin) = read_end(&mut reader)?;
            TransactionRequest::Rollback { name, then_begin }
        }
        TM_SAVE => TransactionRequest::Save { name: read_name(&mut reader)? },
        TM_GET_DTC_ADDRESS | TM_PROPAGATE | TM_PROMOTE => {
            return Err(ProtocolError::DistributedTransaction);
        }
        _ => return Err(ProtocolError::invalid("transaction manager request type", kind)),
    };
    Ok((headers, request))
}

fn read_begin(reader: &mut Reader<'_>) -> Result<BeginTransaction, ProtocolError> {
    let isolation = IsolationLevel::from_byte(reader.u8()?)?;
    Ok(BeginTransaction { isolation, name: read_name(reader)? })
}

/// A name and, behind the flag, the next transaction. Clients may leave the flag out, or all that comes behind the length of the name: then
/// there is none.
fn read_end(reader: &mut Reader<'_>) -> Result<(String, Option<BeginTransaction>), ProtocolError> {
    if reader.remaining() == 1 {
        reader.u8()?;
        return Ok((String::new(), None));
    }
    let name = read_name(reader)?;
    if reader.is_empty() {
        return Ok((name, None));
    }
    let begin = reader.u8()? & FLAG_BEGIN_NEXT != 0;
    Ok((name, if begin { Some(read_begin(reader)?) } else { None }))
}

/// B_VARBYTE: a length in bytes, then UTF-16.
fn read_name(reader: &mut Reader<'_>) -> Result<String, ProtocolError> {
    let bytes = reader.u8()?;
    Ok(utf16_text(reader.take(bytes.into())?))
}

/// Encodes the payload of a transaction manager request.
pub fn put_transaction_request(
    out: &mut Vec<u8>,
    version: TdsVersion,
    headers: Headers,
    request: &TransactionRequest,
) {
    put_headers(out, version, headers);
    let mut put_end = |kind: u16, name: &str, then_begin: &Option<BeginTransaction>| {
        out.extend_from_slice(&kind.to_le_bytes());
        put_name(out, name);
        out.push(if then_begin.is_some() { FLAG_BEGIN_NEXT } else { 0 });
        if let Some(begin) = then_begin {
            out.push(begin.isolation as u8);
            put_name(out, &begin.name);
        }
    };
    match request {
        TransactionRequest::Begin(begin) => {
            out.extend_from_slice(&TM_BEGIN.to_le_bytes());
            out.push(begin.isolation as u8);
            put_name(out, &begin.name);
        }
        TransactionRequest::Commit { name, then_begin } => put_end(TM_COMMIT, name, then_begin),
        TransactionRequest::Rollback { name, then_begin } => put_end(TM_ROLLBACK, name, then_begin),
        TransactionRequest::Save { name } => {
            out.extend_from_slice(&TM_SAVE.to_le_bytes());
            put_name(out, name);
        }
    }
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    let at = out.len();
    out.push(0);
    let units = put_utf16_at_most(out, name, 127);
    out[at] = (units * 2) as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: Headers =
        Headers { transaction_descriptor: 0x0123_4567_89AB_CDEF, outstanding_requests: 1 };

    #[test]
    fn batches_survive_with_and_without_headers() {
        for (version, headers) in [(TdsVersion::V7_4, HEADERS), (TdsVersion::V7_1, Headers::default())] {
            let mut out = Vec::new();
            put_batch(&mut out, version, headers, "SELECT N'€'");
            assert_eq!(decode_batch(&out, version), Ok((headers, "SELECT N'€'".to_string())));
        }
    }

    #[test]
    fn transaction_requests_survive_and_truncation_is_an_error() {
        let begin = BeginTransaction { isolation: IsolationLevel::Serializable, name: "outer".into() };
        let requests = [
            TransactionRequest::Begin(begin.clone()),
            TransactionRequest::Commit { name: String::new(), then_begin: Some(begin.clone()) },
            TransactionRequest::Commit { name: "outer".into(), then_begin: None },
            TransactionRequest::Rollback { name: "s1".into(), then_begin: Some(begin) },
            TransactionRequest::Save { name: "s1".into() },
        ];
        for request in requests {
            let mut out = Vec::new();
            put_transaction_request(&mut out, TdsVersion::V7_4, HEADERS, &request);
            assert_eq!(decode_transaction_request(&out, TdsVersion::V7_4), Ok((HEADERS, request)));
            for length in 0..out.len() - 1 {
                // A missing flag byte at the end is allowed; everything shorter is an error, never a panic.
                let _ = decode_transaction_request(&out[..length], TdsVersion::V7_4);
            }
        }
    }

    /// A client may send the length of a name and nothing behind it: the request ends the whole transaction.
    #[test]
    fn a_length_without_a_name_is_no_name() {
        for length in [0, 1, 8, 255] {
            for (kind, is_commit) in [(TM_ROLLBACK, false), (TM_COMMIT, true)] {
                let mut out = Vec::new();
                put_headers(&mut out, TdsVersion::V7_4, HEADERS);
                out.extend_from_slice(&kind.to_le_bytes());
                out.push(length);
                let (name, then_begin) = (String::new(), None);
                let request = match is_commit {
                    true => TransactionRequest::Commit { name, then_begin },
                    false => TransactionRequest::Rollback { name, then_begin },
                };
                assert_eq!(decode_transaction_request(&out, TdsVersion::V7_4), Ok((HEADERS, request)));
                // An incomplete name is no name.
                out.push(b'x');
                let cut = decode_transaction_request(&out, TdsVersion::V7_4);
                assert_eq!(cut.is_err(), length > 1, "{cut:?}");
            }
        }
    }

    #[test]
    fn distributed_transactions_are_refused_politely() {
        for kind in [TM_GET_DTC_ADDRESS, TM_PROPAGATE, TM_PROMOTE] {
            let mut out = Vec::new();
            put_headers(&mut out, TdsVersion::V7_4, HEADERS);
            out.extend_from_slice(&kind.to_le_bytes());
            let error = decode_transaction_request(&out, TdsVersion::V7_4).unwrap_err();
            assert!(error == ProtocolError::DistributedTransaction && error.is_refusal());
        }
    }

    #[test]
    fn hostile_header_lengths_are_errors() {
        for total in [0u32, 3, 5, 0xFFFF_FFFF] {
            assert!(decode_batch(&total.to_le_bytes(), TdsVersion::V7_4).is_err());
        }
        let nested = [&10u32.to_le_bytes()[..], &3u32.to_le_bytes(), &[2, 0]].concat();
        assert!(decode_batch(&nested, TdsVersion::V7_4).is_err());
    }
}
