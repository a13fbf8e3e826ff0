//! Performance counters of one database, by its name.

use os::Os;

pub(crate) const DATABASES: &str = "SQLServer:Databases";

/// A dropped database shows no counters any more.
pub(crate) fn forget(os: &Os, database_name: &str) {
    os.counters().remove_instance(DATABASES, database_name);
}

/// A renamed database's counters go on under its new name.
pub(crate) fn rename(os: &Os, old: &str, new: &str) {
    os.counters().rename_instance(DATABASES, old, new);
}
