//! The catalog of one database: a cache of definitions over the system tables that hold them.
//!
//! A DDL statement changes the rows of the system tables (logged, undone and recovered like any row) and the cache in the same breath,
//! under a Sch-M lock on the object. Others who find the new definition wait for that lock before they use it. When the transaction rolls
//! back, the cache goes back with it ([`CatalogUndo`]). At open the cache is filled from the tables.

mod ddl;
mod definition_rows;
mod foreign_keys;
mod load;
mod modules;
mod new;
mod restructure;
mod rows;
mod shape;
pub mod system_tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use os::{LatchRank, RwLatch};
use rustc_hash::FxHashMap;
use types::Collation;

pub(crate) use load::load;
pub use new::{NewColumn, NewConstraint, NewForeignKey, NewIndex, NewTable};

use crate::schema::{ObjectDef, ObjectId, SCHEMA_DBO, SCHEMA_INFORMATION, SCHEMA_SYS, SchemaDef};

/// User objects are numbered from here; numbers below belong to the system.
const FIRST_USER_OBJECT_ID: ObjectId = 581_577_110;
/// The step from one object number to the next.
const OBJECT_ID_STEP: ObjectId = 16;
/// Allocation units of user tables are numbered from here.
pub(crate) const FIRST_USER_UNIT: u32 = 256;

/// Versions from here on are those of a catalog whose database has been closed.
const RETIRED: u64 = 1 << 63;

/// The cache. Readers take the latch shared for a moment and leave with an `Arc`.
pub struct Catalog {
    state: RwLatch<State>,
    /// Grows with each change; a plan that was made at another version looks again.
    version: AtomicU64,
    next_object_id: AtomicI32,
    next_unit: AtomicU32,
}

#[derive(Default)]
struct State {
    schemas: BTreeMap<i32, Arc<SchemaDef>>,
    objects: FxHashMap<ObjectId, ObjectDef>,
    /// Names of objects and constraints, folded, by schema.
    names: FxHashMap<(i32, String), ObjectId>,
}

/// How to put one entry of the cache back.
#[derive(Debug)]
pub enum CatalogUndo {
    /// An object as it was; `None` when it did not exist.
    Object(ObjectId, Option<ObjectDef>),
    /// A schema as it was.
    Schema(i32, Option<Arc<SchemaDef>>),
}

impl Catalog {
    /// With the built-in schemas and nothing else.
    pub(crate) fn empty() -> Catalog {
        let mut state = State::default();
        for (schema_id, name) in [
            (SCHEMA_DBO, "dbo"),
            (SCHEMA_INFORMATION, "INFORMATION_SCHEMA"),
            (SCHEMA_SYS, "sys"),
            (2, "guest"),
        ] {
            state.schemas.insert(schema_id, Arc::new(SchemaDef { schema_id, name: name.into() }));
        }
        Catalog {
            state: RwLatch::new(LatchRank::Catalog, state),
            version: AtomicU64::new(1),
            next_object_id: AtomicI32::new(FIRST_USER_OBJECT_ID),
            next_unit: AtomicU32::new(FIRST_USER_UNIT),
        }
    }

    /// Changes whenever a definition changes.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Who has a name in a schema: an object, or the table whose constraint it names.
    pub fn resolve(&self, schema: &str, name: &str) -> Option<ObjectId> {
        let state = self.state.read();
        let schema_id = state.schema_id(schema)?;
        state.names.get(&(schema_id, fold(name))).copied()
    }

    /// An object by number.
    pub fn object(&self, id: ObjectId) -> Option<ObjectDef> {
        self.state.read().objects.get(&id).cloned()
    }

    /// An object by schema and its own name; a constraint's name finds nothing, although nobody else may take it.
    pub fn find(&self, schema: &str, name: &str) -> Option<ObjectDef> {
        let id = self.resolve(schema, name)?;
        self.object(id).filter(|object| Collation::DEFAULT.same_name(object.name(), name))
    }

    /// All objects, by number.
    pub fn objects(&self) -> Vec<ObjectDef> {
        let mut all: Vec<ObjectDef> = self.state.read().objects.values().cloned().collect();
        all.sort_by_key(ObjectDef::object_id);
        all
    }

    /// All schemas, by number.
    pub fn schemas(&self) -> Vec<Arc<SchemaDef>> {
        self.state.read().schemas.values().cloned().collect()
    }

    /// A schema's number.
    pub fn schema_id(&self, name: &str) -> Option<i32> {
        self.state.read().schema_id(name)
    }

    /// A schema by number.
    pub fn schema(&self, id: i32) -> Option<Arc<SchemaDef>> {
        self.state.read().schemas.get(&id).cloned()
    }

    /// Publishes an object, new or changed.
    pub(crate) fn put(&self, object: ObjectDef) -> CatalogUndo {
        let id = object.object_id();
        let previous = self.state.write().replace(id, Some(object));
        self.version.fetch_add(1, Ordering::Release);
        CatalogUndo::Object(id, previous)
    }

    /// Forgets an object.
    pub(crate) fn remove(&self, id: ObjectId) -> CatalogUndo {
        let previous = self.state.write().replace(id, None);
        self.version.fetch_add(1, Ordering::Release);
        CatalogUndo::Object(id, previous)
    }

    /// Publishes or forgets a schema.
    pub(crate) fn put_schema(&self, id: i32, schema: Option<Arc<SchemaDef>>) -> CatalogUndo {
        let previous = self.state.write().replace_schema(id, schema);
        self.version.fetch_add(1, Ordering::Release);
        CatalogUndo::Schema(id, previous)
    }

    /// Puts an entry back.
    pub(crate) fn undo(&self, undo: CatalogUndo) {
        let mut state = self.state.write();
        match undo {
            CatalogUndo::Object(id, previous) => drop(state.replace(id, previous)),
            CatalogUndo::Schema(id, previous) => drop(state.replace_schema(id, previous)),
        }
        drop(state);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Plans that were made before look again (the database has another name).
    pub(crate) fn touch(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The database closes: no plan that was or will be made of it holds any more.
    pub(crate) fn retire(&self) {
        self.version.fetch_or(RETIRED, Ordering::AcqRel);
    }

    /// The version that a plan made now names; never the present one once the database has closed.
    pub fn version_for_plan(&self) -> u64 {
        self.version() & !RETIRED
    }

    /// A number for a new object.
    pub(crate) fn new_object_id(&self) -> ObjectId {
        self.next_object_id.fetch_add(OBJECT_ID_STEP, Ordering::Relaxed)
    }

    /// A number for a new allocation unit.
    pub(crate) fn new_unit(&self) -> u32 {
        self.next_unit.fetch_add(1, Ordering::Relaxed)
    }

    /// Numbers up to these are taken.
    pub(crate) fn note_numbers(&self, object_id: ObjectId, unit: u32) {
        self.next_object_id.fetch_max(object_id.saturating_add(OBJECT_ID_STEP), Ordering::Relaxed);
        self.next_unit.fetch_max(unit.saturating_add(1), Ordering::Relaxed);
    }
}

impl State {
    fn schema_id(&self, name: &str) -> Option<i32> {
        self.schemas.values().find(|s| Collation::DEFAULT.same_name(&s.name, name)).map(|s| s.schema_id)
    }

    fn replace(&mut self, id: ObjectId, object: Option<ObjectDef>) -> Option<ObjectDef> {
        let previous = self.objects.remove(&id);
        if let Some(old) = &previous {
            for key in names_of(old) {
                self.names.remove(&key);
            }
        }
        if let Some(new) = object {
            for key in names_of(&new) {
                self.names.insert(key, id);
            }
            self.objects.insert(id, new);
        }
        previous
    }

    fn replace_schema(&mut self, id: i32, schema: Option<Arc<SchemaDef>>) -> Option<Arc<SchemaDef>> {
        match schema {
            Some(schema) => self.schemas.insert(id, schema),
            None => self.schemas.remove(&id),
        }
    }
}

/// The names that an object takes in its schema: its own and its constraints'.
fn names_of(object: &ObjectDef) -> Vec<(i32, String)> {
    let schema_id = object.schema_id();
    let mut names = vec![(schema_id, fold(object.name()))];
    if let ObjectDef::Table(table) = object {
        names.extend(table.constraints().into_iter().map(|(_, name, _)| (schema_id, fold(&name))));
    }
    names
}

fn fold(name: &str) -> String {
    Collation::DEFAULT.fold_name(name)
}
