//! Performance counters of one database, by its name.

use os::Os;

pub(crate) const DATABASES: &str = "SQLServer:Databases";

/// A dropped database no longer shows counters.
pub(crate) fn forget(os: &Os, database_name: &str) {
    os.counters().remove_instance(DATABASES, database_name);
}

/// A renamed database keeps its counters under its new name.
pub(crate) fn rename(os: &Os, old: &str, new: &str) {
    os.counters().rename_instance(DATABASES, old, new);
}
