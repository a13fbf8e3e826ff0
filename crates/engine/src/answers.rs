//! [`CatalogAnswers`]: what a plan has been told by one database's catalog, and whether it still holds.
//!
//! ```text
//!  hold: version as when it was last compared ──► yes (one atomic read)
//!        closed, or changed as a whole        ──► no
//!        another version ──► ask again ──► the same answers ──► yes; compared at this version
//!                                          another answer   ──► no
//! ```
//! A change of what the plan has not asked for (another's temporary table in tempdb) costs it a few look-ups, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::catalog::Answer;
use crate::database::Database;
use crate::schema::{ObjectDef, ObjectId};

/// The answers of one database. Begun before the first question: what changes meanwhile makes the answers differ.
pub struct CatalogAnswers {
    database: Arc<Database>,
    /// The catalog's era then.
    era: u64,
    /// The version at which the answers were last known to hold.
    compared: AtomicU64,
    answers: Vec<Answer>,
}

/// Do answers hold?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing of the database has changed since that was asked last.
    Unmoved,
    /// Something has, but none of the answers.
    Same,
    /// One of the answers is another now, or the database is not what it was.
    Other,
}

impl CatalogAnswers {
    /// Nothing has been asked yet.
    pub fn begin(database: &Arc<Database>) -> CatalogAnswers {
        let catalog = database.catalog();
        // The version first: an era that begins behind it comes with another version.
        let compared = AtomicU64::new(catalog.version_for_plan());
        CatalogAnswers { database: database.clone(), era: catalog.era(), compared, answers: Vec::new() }
    }

    /// Whose answers they are.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// A look-up has found that holder of a name.
    pub fn note_name(&mut self, schema: &str, name: &str, holder: Option<&ObjectDef>) {
        let answer = self.database.catalog().answer_to(schema, name, holder);
        self.answers.push(answer);
    }

    /// The object of that number is asked for; its answer is kept.
    pub fn object(&mut self, id: ObjectId) -> Option<ObjectDef> {
        let object = self.database.catalog().object(id);
        self.answers.push(Answer::Number(id, object.clone()));
        object
    }

    /// An object that was found by what it is, not by its name.
    pub fn note_object(&mut self, object: &ObjectDef) {
        self.answers.push(Answer::Number(object.object_id(), Some(object.clone())));
    }

    /// Do they hold?
    #[inline]
    pub fn standing(&self) -> Standing {
        let now = self.database.catalog().version();
        if now == self.compared.load(Relaxed) { Standing::Unmoved } else { self.compare(now) }
    }

    #[cold]
    fn compare(&self, now: u64) -> Standing {
        let catalog = self.database.catalog();
        if catalog.is_retired() || catalog.era() != self.era || !catalog.says(&self.answers) {
            return Standing::Other;
        }
        self.compared.store(now, Relaxed);
        Standing::Same
    }
}
