//! [`CatalogUndo`]: the undo of changes of the cache.

use std::sync::Arc;

use super::entries::{Entry, EntryKey};
use crate::schema::{ObjectDef, ObjectId, SchemaDef};

/// The undo of one change.
#[derive(Debug)]
pub enum CatalogUndo {
    /// An object as it was; `None` when it did not exist. With the names that the change made unsettled.
    Object {
        /// Its number.
        id: ObjectId,
        /// As it was.
        previous: Option<ObjectDef>,
        /// Names.
        names: Vec<(i32, String)>,
    },
    /// A schema as it was.
    Schema {
        /// Its number.
        id: i32,
        /// As it was.
        previous: Option<Arc<SchemaDef>>,
        /// Names.
        names: Vec<(i32, String)>,
    },
    /// Names that were reserved.
    Names(Vec<(i32, String)>),
    /// An entry as it was.
    Entry {
        /// What identifies it.
        key: EntryKey,
        /// As it was.
        previous: Option<Arc<Entry>>,
        /// Names.
        names: Vec<(i32, String)>,
    },
}
