//! A scan of a database's log records, for fn_dblog; and the owners of the pages that records are about.

use log::{LogError, LogScan, ScanRange};
use pages::PageId;
use types::SqlError;

use crate::database::Database;
use crate::error::{SqlResult, sql_error};

impl Database {
    /// Begins to read the log; `owner` is shown as the reader that keeps it from truncation.
    ///
    /// # Errors
    /// 9005 when no log of the active part begins at `range.from`; 9001 when the log has failed.
    pub fn scan_log(&self, owner: &str, range: ScanRange) -> SqlResult<LogScan> {
        self.check_usable()?;
        self.log().scan(owner, range).map_err(|error| self.log_scan_error(error))
    }

    /// The user's error when a scan of the log cannot continue.
    pub fn log_scan_error(&self, error: LogError) -> SqlError {
        match error {
            LogError::NotThere(_) => SqlError::new(9005, &[]),
            error => sql_error(&error.into(), self.name(), 0),
        }
    }

    /// The allocation unit that owns a page now (`file << 32 | page`, as log records name pages); `None`: no unit.
    ///
    /// # Errors
    /// 823, 824 when the allocation map cannot be read.
    pub fn unit_of_page(&self, page: u64) -> SqlResult<Option<u32>> {
        let page = PageId::unpack(page);
        let unit = self.access.unit_of_page(page);
        let unit = unit.map_err(|error| sql_error(&error.into(), self.name(), 0))?;
        Ok(unit.map(|unit| unit.0))
    }
}
