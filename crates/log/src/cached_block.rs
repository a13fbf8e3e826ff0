//! A block of the log cache: under construction, or waiting for the writer.

use os::AlignedBuf;

use crate::block::BlockState;
use crate::flush_reason::FlushReason;
use crate::limits::BLOCK_HEADER_BYTES;
use crate::lsn::{Lsn, TxnId};
use crate::record::{OwnedRecord, decode_record};

/// A block under construction or waiting for the writer.
pub(crate) struct CachedBlock {
    pub(crate) state: BlockState,
    /// Its address, slot 0.
    pub(crate) start: Lsn,
    /// Where it goes in the file.
    pub(crate) file_offset: u64,
    /// Number of the file.
    pub(crate) file: u16,
    pub(crate) buffer: AlignedBuf,
    /// Bytes in use, header included.
    pub(crate) used_bytes: usize,
    /// Most bytes it can have here.
    pub(crate) capacity_bytes: usize,
    /// Padded size; set by seal.
    pub(crate) padded_bytes: usize,
    /// Where each record begins.
    pub(crate) offsets: Vec<u16>,
    pub(crate) base_txn: TxnId,
    pub(crate) parity: u8,
    /// Why it was sealed.
    pub(crate) reason: Option<FlushReason>,
    /// The place of its buffer in memory that outlives the process.
    pub(crate) place: Option<u32>,
    /// With such memory: the hash of its records, and the checksum of those of the block before it.
    pub(crate) records_hash: u64,
    pub(crate) previous_checksum: u32,
    /// The part of it that is in the persisted log buffer.
    pub(crate) kept: CachedPart,
}

impl CachedBlock {
    /// Its newest record.
    pub(crate) fn last(&self) -> Lsn {
        self.start.with_slot(self.offsets.len() as u16)
    }

    /// The record in `slot`, copied; `None` when there is none yet.
    pub(crate) fn record(&self, slot: u16) -> Option<OwnedRecord> {
        let at = usize::from(*self.offsets.get(usize::from(slot).checked_sub(1)?)?);
        assert!((BLOCK_HEADER_BYTES..self.used_bytes).contains(&at), "a record lies in the used part");
        let lsn = self.start.with_slot(slot);
        let (record, bytes) = decode_record(&self.buffer[at..self.used_bytes], lsn, self.base_txn)
            .expect("the cache decodes what it has encoded");
        Some(OwnedRecord {
            lsn,
            header: record.header,
            payload: record.payload.to_vec(),
            encoded_bytes: bytes as u32,
        })
    }
}

/// The part of a block that is in the persisted log buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CachedPart {
    pub(crate) place: Option<u32>,
    pub(crate) records: usize,
    pub(crate) hash: u64,
    /// Which buffer.
    pub(crate) id: u64,
}
