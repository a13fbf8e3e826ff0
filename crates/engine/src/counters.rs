//! Counters of the object `Databases` that nobody counts as it happens: set whenever somebody is about to read them. All others have
//! one owner elsewhere: the log (its sizes, growths, truncations) and the transaction manager (transactions).

use std::sync::Arc;

use crate::instance::Instance;

const OBJECT: &str = "SQLServer:Databases";

/// Brings the sizes up to date. Cheap: a few counters per database.
pub(crate) fn refresh(instance: &Arc<Instance>) {
    for database in instance.databases() {
        database.log.note_used();
        let data_pages: u64 = database.space.files().iter().map(|file| u64::from(file.pages)).sum();
        let size_kb = data_pages * pages::PAGE_BYTES as u64 / 1024;
        let counter = instance.os().counters().counter(OBJECT, "Data File(s) Size (KB)", database.name());
        counter.set(i64::try_from(size_kb).unwrap_or(i64::MAX));
    }
}

/// A dropped database shows no counters any more.
pub(crate) fn forget(instance: &Instance, database_name: &str) {
    instance.os().counters().remove_instance(OBJECT, database_name);
}

/// A renamed database's counters go on under its new name.
pub(crate) fn rename(instance: &Instance, old: &str, new: &str) {
    instance.os().counters().rename_instance(OBJECT, old, new);
}
