//! The ghost cleanup: a background thread that removes committed deleted rows from their pages and frees empty leaves.
//!
//! A deleted row stays as a ghost until its deleter has ended, so that a rollback finds its space. Inserts remove ghosts from the page that
//! they use; this thread does it for pages without further inserts. Its records are structural: they belong to no transaction,
//! and it never flushes the log for them.

use std::sync::Arc;

use crate::database::Database;

/// Pages that it processes before it lets a checkpoint or a close run first.
const STEP_PAGES: usize = 64;

/// Processes every noted page of the database once: a page whose deleters have not ended is processed again in the next round.
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
