//! [`CatalogDependencies`]: the catalog look-ups that a plan depends on in one database, and whether their results still hold.
//!
//! ```text
//!  hold: version as when it was last compared ──► yes (one atomic read)
//!        closed, or changed as a whole        ──► no
//!        another version ──► ask again ──► the same result ──► yes; compared at this version
//!                                          another answer   ──► no
//! ```
//! After a change that the plan does not depend on (another session's temporary table in tempdb) it repeats a few look-ups, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::catalog::Dependency;
use crate::database::Database;
use crate::schema::{ObjectDef, ObjectId};

/// The look-ups in one database. Made before the first look-up, so that a later change makes the results differ.
pub struct CatalogDependencies {
    database: Arc<Database>,
    /// The catalog's era then.
    era: u64,
    /// The version at which the dependencies were last known to hold.
    compared: AtomicU64,
    dependencies: Vec<Dependency>,
}

/// Do the dependencies hold?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Nothing in the database has changed since the last check.
    Unchanged,
    /// The database has changed, but none of the dependencies.
    StillValid,
    /// A dependency has changed, or the database is another incarnation.
    Stale,
}

impl CatalogDependencies {
    /// Without dependencies yet.
    pub fn begin(database: &Arc<Database>) -> CatalogDependencies {
        let catalog = database.catalog();
        // The version first: an era that begins after it has another version.
        let compared = AtomicU64::new(catalog.version_for_plan());
        CatalogDependencies {
            database: database.clone(),
            era: catalog.era(),
            compared,
            dependencies: Vec::new(),
        }
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Adds a name look-up and its result.
    pub fn note_name(&mut self, schema: &str, name: &str, holder: Option<&ObjectDef>) {
        let answer = self.database.catalog().answer_to(schema, name, holder);
        self.dependencies.push(answer);
    }

    /// Looks up the object of that number, and adds the result.
    pub fn object(&mut self, id: ObjectId) -> Option<ObjectDef> {
        let object = self.database.catalog().object(id);
        self.dependencies.push(Dependency::Number(id, object.clone()));
        object
    }

    /// Adds an object that was found by its identity, not by its name.
    pub fn note_object(&mut self, object: &ObjectDef) {
        self.dependencies.push(Dependency::Number(object.object_id(), Some(object.clone())));
    }

    /// Do they still hold?
    #[inline]
    pub fn validity(&self) -> Validity {
        let now = self.database.catalog().version();
        if now == self.compared.load(Relaxed) { Validity::Unchanged } else { self.compare(now) }
    }

    #[cold]
    fn compare(&self, now: u64) -> Validity {
        let catalog = self.database.catalog();
        if catalog.is_retired() || catalog.era() != self.era || !catalog.holds(&self.dependencies) {
            return Validity::Stale;
        }
        self.compared.store(now, Relaxed);
        Validity::StillValid
    }
}
