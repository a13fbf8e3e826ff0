//! [`Missing`]: why a statement could not be bound (an object that it names does not exist), and whether that may have changed.

use std::cell::Cell;

use engine::{CatalogDependencies, Instance, Validity};

/// Where a statement that cannot be bound leaves why.
pub type MissingSlot = Cell<Option<Missing>>;

/// The objects that do not exist, and the answers of catalogs to other lookups.
#[derive(Default)]
pub struct Missing {
    pub catalogs: Vec<CatalogDependencies>,
    /// Temporary names of the session behind which nothing stood.
    pub temporary: Vec<String>,
    /// Databases that did not exist, or could not be used.
    pub databases: Vec<String>,
}

impl Missing {
    /// The temporary tables and table variables that were not there.
    pub fn temporary_names(&self) -> &[String] {
        &self.temporary
    }

    /// Could the statement still not be bound? `has_temporary`: is there something behind a temporary name now?
    pub fn lasts(&self, instance: &Instance, has_temporary: impl Fn(&str) -> bool) -> bool {
        if self.temporary.is_empty() && self.databases.is_empty() {
            return self.is_current();
        }
        self.temporary.iter().any(|name| !has_temporary(name))
            || self.databases.iter().any(|name| instance.database(name).is_err())
    }

    /// Would the catalogs say the same? Those of databases that have been closed say nothing any more.
    pub fn is_current(&self) -> bool {
        self.catalogs.iter().all(|catalog| catalog.validity() != Validity::Stale)
    }
}
