//! What stands at a place of the log that somebody from outside has named: only what the file itself says, without waiting for anything.

use crate::error::LogError;
use crate::limits::FIRST_BLOCK_SECTOR;
use crate::log::Log;
use crate::lsn::Lsn;
use crate::record::LogOp;

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A record of this kind.
    Record(LogOp),
    /// No record begins there, and none ever did while the log has held what it holds now.
    Nothing,
    /// It cannot be told: not in the file yet, not in the log any more, or the file cannot be read.
    Unknown,
}

/// Could a record stand there: in a VLF, behind its header, at a slot?
pub fn can_be_record(lsn: Lsn) -> bool {
    lsn.vlf() > 0 && lsn.block() >= FIRST_BLOCK_SECTOR && lsn.slot() > 0
}

impl Log {
    /// What stands at `lsn`, whatever number that is.
    pub fn standing(&self, lsn: Lsn) -> Standing {
        let shared = self.shared();
        if !can_be_record(lsn) {
            return Standing::Nothing;
        }
        if lsn > shared.positions.hardened() {
            return Standing::Unknown;
        }
        assert!(lsn < self.end(), "what is hard has been appended");
        match self.reader().read(lsn) {
            Ok(record) => {
                assert_eq!(record.lsn, lsn, "the record of that place");
                Standing::Record(record.header.op)
            }
            // Asked after the read: the VLF was the log's all the time.
            Err(LogError::NotThere(_)) if lsn.vlf() >= shared.vlfs.lock().oldest_active() => {
                Standing::Nothing
            }
            Err(_) => Standing::Unknown,
        }
    }
}
