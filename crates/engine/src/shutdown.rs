//! Clean close of a database: all its commits, delayed or not, are on disk afterwards (better than SQL Server promises).

use std::sync::Arc;

use crate::checkpoint::{self, Reason};
use crate::database::Database;
use crate::error::StorageError;
use crate::quiesce::quiesce;

/// Drains the log, writes the pages, marks the log as cleanly closed and drops the pages. The database is no longer in use.
/// A suspect database is only released: recovery will repair it.
pub(crate) fn close_database(database: &Arc<Database>) -> Result<(), StorageError> {
    database.catalog().retire();
    database.end_background();
    let is_usable = database.check_usable().is_ok();
    let result = if is_usable { drain(database) } else { Ok(()) };
    database.space.discard_pages();
    result
}

fn drain(database: &Arc<Database>) -> Result<(), StorageError> {
    if !database.is_volatile() {
        let noted = database.note_positions();
        if let Err(error) = noted {
            os::report::warn(
                "shutdown",
                &format!("database {}: positions of identities: {error}", database.name()),
            );
        }
        quiesce(&database.log, database.log.last())?;
        checkpoint::run(database, Reason::Shutdown)?;
    }
    database.log.close()?;
    Ok(())
}
