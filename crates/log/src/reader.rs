//! Reading the log: forward, and by LSN for rollback.

use crate::error::LogError;
use crate::lsn::Lsn;
use crate::record::OwnedRecord;

/// Reads records, from the cache where they are not yet on disk, else from the file. Keeps the last block, so that
/// walking a transaction's chain of previous records is fast.
pub struct LogReader {
    _private: (),
}

impl LogReader {
    /// The record at `lsn`. Errors: [`LogError::NotThere`], [`LogError::Corrupt`], [`LogError::Io`].
    pub fn read(&mut self, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        let _ = lsn;
        todo!()
    }

    /// Positions before `lsn`: `next_record` gives it, or the first after it. NULL: the oldest there is.
    pub fn seek(&mut self, lsn: Lsn) {
        let _ = lsn;
        todo!()
    }

    /// The next record; `None` at the end of what has been appended so far (later calls see what came meanwhile).
    pub fn next_record(&mut self) -> Result<Option<OwnedRecord>, LogError> {
        todo!()
    }
}

impl Iterator for LogReader {
    type Item = Result<OwnedRecord, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}
