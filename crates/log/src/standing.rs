//! The kind of record at an LSN that a client named: read from the cache or the file, without waiting.

use crate::error::LogError;
use crate::limits::FIRST_BLOCK_SECTOR;
use crate::log::Log;
use crate::lsn::Lsn;
use crate::record::LogOp;

/// The contents of an LSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A record of this kind.
    Record(LogOp),
    /// No record begins there, and none did since its VLF came into its present use.
    Nothing,
    /// Not known: not in the file yet, not in the log any more, or the file cannot be read.
    Unknown,
}

/// Can it be the address of a record: in a VLF, behind its header, at a slot?
pub fn can_be_record(lsn: Lsn) -> bool {
    lsn.vlf() > 0 && lsn.block() >= FIRST_BLOCK_SECTOR && lsn.slot() > 0
}

impl Log {
    /// The contents of `lsn`, which may be any number. If the file has to be read for that, `others` is called with all records of the block.
    pub fn standing(&self, lsn: Lsn, others: impl FnMut(Lsn, LogOp)) -> Standing {
        let shared = self.shared();
        if !can_be_record(lsn) || lsn >= self.end() {
            return Standing::Nothing;
        }
        if lsn <= shared.positions.hardened() {
            return self.standing_in_file(lsn, others);
        }
        // The buffer of a block in flight has left the cache.
        match shared.cache.lock().record(lsn) {
            Some(Some(record)) => Standing::Record(record.header.op),
            Some(None) => Standing::Nothing,
            None => Standing::Unknown,
        }
    }

    fn standing_in_file(&self, lsn: Lsn, mut others: impl FnMut(Lsn, LogOp)) -> Standing {
        assert!(lsn < self.end(), "what is hard has been appended");
        let mut reader = self.reader();
        match reader.read(lsn) {
            Ok(record) => {
                assert_eq!(record.lsn, lsn, "the record of that place");
                reader.seek(lsn.with_slot(1));
                // Records behind a damaged one are not passed to `others`: nothing is known about them.
                let _: Result<bool, LogError> = reader.next_block(|at, record| {
                    others(at, record.header.op);
                    Ok(())
                });
                Standing::Record(record.header.op)
            }
            // Checked after the read: the VLF belonged to the log all the time.
            Err(LogError::NotThere(_)) if lsn.vlf() >= self.shared().vlfs.lock().oldest_active() => {
                Standing::Nothing
            }
            Err(_) => Standing::Unknown,
        }
    }
}
