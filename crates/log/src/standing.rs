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
    /// What stands at `lsn`, whatever number that is. Where the file has to be read for that, `others` is told of all records in the block.
    pub fn standing(&self, lsn: Lsn, others: impl FnMut(Lsn, LogOp)) -> Standing {
        let shared = self.shared();
        if !can_be_record(lsn) || lsn >= self.end() {
            return Standing::Nothing;
        }
        if lsn <= shared.positions.hardened() {
            return self.standing_in_file(lsn, others);
        }
        // Of a block that is on its way its buffer has left the cache.
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
                // Those behind one that is damaged are not told of: nothing is known of them.
                let _: Result<bool, LogError> = reader.next_block(|at, record| {
                    others(at, record.header.op);
                    Ok(())
                });
                Standing::Record(record.header.op)
            }
            // Asked after the read: the VLF was the log's all the time.
            Err(LogError::NotThere(_)) if lsn.vlf() >= self.shared().vlfs.lock().oldest_active() => {
                Standing::Nothing
            }
            Err(_) => Standing::Unknown,
        }
    }
}
