//! [`PlanDependencies`]: the answer of every name lookup of a statement. The compiled statement is valid while each lookup would give the same answer.
//!
//! Names that found no object are included: a table created later in the user's own schema takes precedence over that of `dbo`. So are the
//! current database and the objects behind the session's temporary names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use engine::{CatalogDependencies, Database, Validity};

use crate::context::{NameScope, SessionNames};
use crate::missing::Missing;

/// Names that were never compared.
const NEVER: u64 = u64::MAX;

/// Name lookups and their answers.
#[derive(Default)]
pub struct PlanDependencies {
    /// The incarnation of the current database, where a name without a database was looked up in it.
    home: Option<u64>,
    catalogs: Vec<CatalogDependencies>,
    /// Temporary names of the session, and what in tempdb stood behind each.
    temporary: Vec<(String, String)>,
    /// Names that found no object; the catalogs are in `catalogs`.
    missing: Missing,
    /// The version of the session's names at which those were last known to hold.
    names_compared: AtomicU64,
}

impl PlanDependencies {
    /// The answers of a database's catalog; to be asked for before its first question.
    pub fn of(&mut self, database: &Arc<Database>) -> &mut CatalogDependencies {
        let known = self.catalogs.iter().position(|catalog| Arc::ptr_eq(catalog.database(), database));
        let at = known.unwrap_or_else(|| {
            self.catalogs.push(CatalogDependencies::begin(database));
            self.catalogs.len() - 1
        });
        &mut self.catalogs[at]
    }

    /// A name without a database is looked up in the current one.
    pub fn note_home(&mut self, database: &Database) {
        self.home = Some(database.incarnation());
    }

    /// The real name in tempdb of `#name`, `##name` or `@name`.
    pub fn temporary(&mut self, names: &dyn SessionNames, name: &str) -> Option<String> {
        let version = names.version();
        let Some(real) = names.temp_table(name) else {
            self.missing.temporary.push(name.to_string());
            return None;
        };
        // A global name has one meaning for all sessions: tempdb's catalog resolves it.
        if !name.starts_with("##") {
            self.temporary.push((name.to_string(), real.clone()));
            *self.names_compared.get_mut() = version;
        }
        Some(real)
    }

    /// A database that has been named is not to be had.
    pub fn note_missing_database(&mut self, name: &str) {
        self.missing.databases.push(name.to_string());
    }

    /// Why the statement could not be bound.
    pub fn into_missing(self) -> Missing {
        Missing { catalogs: self.catalogs, ..self.missing }
    }

    /// Has no database been asked?
    pub fn names_nothing(&self) -> bool {
        self.catalogs.is_empty()
    }

    /// Would other sessions be told the same? Temporary names are a session's own.
    pub fn are_of_all_sessions(&self) -> bool {
        self.temporary.is_empty()
    }

    /// Would all of it be answered in the same way from there? One atomic read for each database in which nothing has changed.
    #[inline]
    pub fn hold(&self, from: NameScope<'_>) -> bool {
        let mut has_moved = false;
        for catalog in &self.catalogs {
            match catalog.validity() {
                Validity::Unchanged => {}
                Validity::StillValid => has_moved = true,
                Validity::Stale => return false,
            }
        }
        self.home.is_none_or(|home| home == from.database.incarnation())
            && (self.temporary.is_empty() || self.temporary_hold(has_moved, from.names))
    }

    /// Do the answers of catalogs alone still hold?
    pub fn hold_in_catalogs(&self) -> bool {
        self.catalogs.iter().all(|catalog| catalog.validity() != Validity::Stale)
    }

    fn temporary_hold(&self, has_moved: bool, names: &dyn SessionNames) -> bool {
        let version = names.version();
        if !has_moved && self.names_compared.load(Relaxed) == version {
            return true;
        }
        let is_so = |(name, real): &(String, String)| names.temp_table(name).as_ref() == Some(real);
        let hold = self.temporary.iter().all(is_so);
        // The names have been compared at this version, and are not compared again.
        self.names_compared.store(if hold { version } else { NEVER }, Relaxed);
        hold
    }
}
