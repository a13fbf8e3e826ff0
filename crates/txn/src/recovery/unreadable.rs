//! A log record that recovery cannot decode, reported as damage.

use log::OwnedRecord;
use log::records::Payload;

use crate::{TxnError, TxnResult};

pub(super) fn decode<P: Payload>(record: &OwnedRecord) -> TxnResult<P> {
    P::decode(&record.payload).map_err(|error| damaged(record, error.0))
}

pub(super) fn damaged(record: &OwnedRecord, what: &str) -> TxnError {
    TxnError::Corrupt { what: format!("log record {} ({}): {what}", record.lsn, record.header.op.name()) }
}
