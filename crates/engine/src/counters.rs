//! Counters of the object `Databases` that are sizes, not events: set from the files whenever somebody is about to read them.

use std::sync::Arc;

use crate::instance::Instance;

const OBJECT: &str = "SQLServer:Databases";

/// Brings the sizes up to date. Cheap: a few counters per database.
pub(crate) fn refresh(instance: &Arc<Instance>) {
    for database in instance.databases() {
        let pages: u64 = database.space.files().iter().map(|file| u64::from(file.pages)).sum();
        let kilobytes = pages * pages::PAGE_BYTES as u64 / 1024;
        let set = |name: &str, value: u64| {
            let counter = instance.os().counters().counter(OBJECT, name, database.name());
            counter.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        set("Data File(s) Size (KB)", kilobytes);
    }
}

/// A dropped database shows no counters any more.
pub(crate) fn forget(instance: &Instance, database_name: &str) {
    instance.os().counters().remove_instance(OBJECT, database_name);
}
