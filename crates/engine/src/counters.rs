//! Counters of the object `Databases` that are states, not events: set from files and log whenever somebody is about to read them.

use std::sync::Arc;

use crate::instance::Instance;

const OBJECT: &str = "SQLServer:Databases";

/// Brings the sizes up to date. Cheap: a few counters per database.
pub(crate) fn refresh(instance: &Arc<Instance>) {
    for database in instance.databases() {
        let log = database.log.stats();
        let data_pages: u64 = database.space.files().iter().map(|file| u64::from(file.pages)).sum();
        let values = [
            ("Data File(s) Size (KB)", data_pages * pages::PAGE_BYTES as u64 / 1024),
            ("Log File(s) Size (KB)", log.size_bytes / 1024),
            ("Log File(s) Used Size (KB)", log.used_bytes / 1024),
            ("Percent Log Used", (log.used_bytes * 100).checked_div(log.size_bytes).unwrap_or(0)),
            ("Log Growths", log.growths_total),
            ("Log Truncations", log.truncations_total),
            ("Active Transactions", database.txns.active().len() as u64),
        ];
        for (name, value) in values {
            let counter = instance.os().counters().counter(OBJECT, name, database.name());
            counter.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
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
