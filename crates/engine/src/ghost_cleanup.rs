//! The ghost cleanup: a background thread that takes deleted rows off their pages for good and gives empty leaves back.
//!
//! A deleted row stays as a ghost until its deleter has ended, so that a rollback finds its room. Inserts take ghosts out of the page that
//! they want; this thread does it for pages that nobody inserts into any more. Its records are structural: they belong to no transaction,
//! ride with the log and never flush it.

use std::sync::Arc;

use crate::database::Database;

/// Pages that it looks at before it lets a checkpoint or a close go first.
const STEP_PAGES: usize = 64;

/// Looks once at every page that waits in the database: those whose deleters have not ended come again in the next round.
pub(crate) fn clean(database: &Arc<Database>) {
    let mut waiting = database.access.ghost_pages_waiting();
    while waiting > 0 && database.check_usable().is_ok() {
        let pages = waiting.min(STEP_PAGES);
        let step = || database.access.clean_ghosts(&database.txns, pages);
        match database.in_background(step) {
            Some(Ok(_)) => waiting -= pages,
            // Closing.
            None => return,
            Some(Err(error)) => {
                os::report::warn("ghost cleanup", &format!("database {}: {error}", database.name()));
                return;
            }
        }
    }
}
