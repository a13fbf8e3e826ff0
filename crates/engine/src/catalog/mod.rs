//! The catalog of one database: a cache of the definitions in its system tables.
//!
//! A DDL statement ([`crate::definition`]) changes the rows of the system tables (logged, undone and recovered like any row) and the cache together,
//! under a Sch-M lock on the object. No other session sees that before the transaction has ended: a look-up of an unsettled name
//! waits ([`names`]), and a session that has found an object before checks it again under its lock. When the transaction rolls back, the cache is
//! restored as well ([`CatalogUndo`]). At open the cache is loaded from the tables.

pub(crate) mod definition_rows;
mod dependency;
mod entries;
mod entry_cache;
mod filter_rows;
mod load;
pub(crate) mod names;
pub(crate) mod rows;
mod sequences;
mod stars;
pub mod system_tables;
mod undo;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use os::{LatchRank, RwLatch};
use txn::Resource;
use types::Collation;

pub(crate) use dependency::Dependency;
pub(crate) use entries::fold;
pub use entries::{
    Entry, EntryKey, FIRST_USER_TYPE_ID, MessageDef, PropertyDef, PropertyOwner, TABLE_SYSTEM_TYPE_ID,
    TypeDef,
};
pub(crate) use load::load;
pub use names::CatalogImage;
use names::{Change, Look, NameKey, Reserve, State};
pub use undo::CatalogUndo;

use crate::error::SqlResult;
use crate::schema::{ObjectDef, ObjectId, SCHEMA_DBO, SCHEMA_INFORMATION, SCHEMA_SYS, SchemaDef};

/// User objects are numbered from here; numbers below belong to the system.
const FIRST_USER_OBJECT_ID: ObjectId = 581_577_110;
/// The step from one object number to the next.
const OBJECT_ID_STEP: ObjectId = 16;
/// Allocation units of user tables are numbered from here.
pub(crate) const FIRST_USER_UNIT: u32 = access::SYSTEM_UNITS_END;

/// Versions from here on are those of a catalog whose database has been closed.
const RETIRED: u64 = 1 << 63;

/// The cache. Readers hold the latch shared for a moment and take an `Arc`.
pub struct Catalog {
    state: RwLatch<State>,
    /// Grows with each change; a plan that was made at another version validates its dependencies.
    version: AtomicU64,
    /// Grows when all plans must be made anew, whatever they depend on.
    era: AtomicU64,
    next_object_id: AtomicI32,
    next_schema_id: AtomicI32,
    next_unit: AtomicU32,
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
            era: AtomicU64::new(0),
            next_object_id: AtomicI32::new(FIRST_USER_OBJECT_ID),
            next_schema_id: AtomicI32::new(SCHEMA_SYS + 1),
            next_unit: AtomicU32::new(FIRST_USER_UNIT),
        }
    }

    /// Changes whenever a definition changes.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The holder of a name in a schema: an object, or the table whose constraint it names. Settled or not.
    pub fn resolve(&self, schema: &str, name: &str) -> Option<ObjectId> {
        let state = self.state.read();
        state.names.get(&names::key_of(state.schema_id(schema)?, name)).copied()
    }

    /// An object by number.
    pub fn object(&self, id: ObjectId) -> Option<ObjectDef> {
        self.state.read().objects.get(&id).cloned()
    }

    /// The triggers of a table or view, by number. Whoever asks holds a lock on the table, or binds a name that is settled.
    pub fn triggers_of(&self, parent: ObjectId) -> Vec<Arc<crate::schema::ModuleDef>> {
        self.state.read().triggers_of(parent)
    }

    /// An object by schema and its own name, settled or not: for single-threaded access to the database. A constraint's name finds nothing,
    /// although no other object may take it.
    pub fn find(&self, schema: &str, name: &str) -> Option<ObjectDef> {
        let id = self.resolve(schema, name)?;
        self.object(id).filter(|object| Collation::DEFAULT.same_name(object.name(), name))
    }

    /// The holder of a name in a schema, as in `resolve`. `held`: the lock that the reader has waited for and still holds.
    pub(crate) fn look(
        &self,
        owner: u64,
        held: Option<Resource>,
        schema: &str,
        name: &str,
    ) -> Look<Option<ObjectDef>> {
        self.state.read().look(owner, held, schema, name)
    }

    /// A schema's number, in this way.
    pub(crate) fn look_schema(&self, owner: u64, held: Option<Resource>, name: &str) -> Look<Option<i32>> {
        self.state.read().look_schema(owner, held, name)
    }

    /// Is another transaction changing the object?
    pub(crate) fn is_changed_by_another(&self, owner: u64, id: ObjectId) -> bool {
        self.state.read().is_changed_by_another(owner, id)
    }

    /// Is another transaction creating or dropping the schema?
    pub(crate) fn is_schema_changed_by_another(&self, owner: u64, id: i32) -> bool {
        self.state.read().is_schema_changed_by_another(owner, id)
    }

    /// Has the owner's own transaction changed the object?
    pub(crate) fn is_changed_by(&self, owner: u64, id: ObjectId) -> bool {
        self.state.read().is_changed_by(owner, id)
    }

    /// The lock resources of other transactions' changes.
    pub(crate) fn unsettled_resources(&self, owner: u64) -> Vec<Resource> {
        self.state.read().unsettled_resources(owner)
    }

    /// All objects as a reader sees them, by number.
    pub(crate) fn objects_seen(&self, owner: u64, image: CatalogImage) -> Vec<ObjectDef> {
        self.state.read().objects_seen(owner, image)
    }

    /// All schemas as a reader sees them, by number.
    pub(crate) fn schemas_seen(&self, owner: u64, image: CatalogImage) -> Vec<Arc<SchemaDef>> {
        self.state.read().schemas_seen(owner, image)
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

    /// Reserves a name for an object that will be published under it.
    pub(crate) fn reserve(&self, change: Change, held: Option<Resource>, key: NameKey) -> Reserve {
        self.state.write().reserve(change, held, key)
    }

    /// Publishes an object, new or changed.
    ///
    /// # Errors
    /// 2714 when another object has one of its names.
    pub(crate) fn put(&self, change: Change, object: ObjectDef) -> SqlResult<CatalogUndo> {
        self.replace(Some(change), object.object_id(), Some(object))
    }

    /// Adds an object that was read from disk.
    pub(crate) fn load_object(&self, object: ObjectDef) -> SqlResult<()> {
        self.replace(None, object.object_id(), Some(object)).map(|_| ())
    }

    /// Removes an object.
    pub(crate) fn remove(&self, change: Change, id: ObjectId) -> SqlResult<CatalogUndo> {
        self.replace(Some(change), id, None)
    }

    fn replace(
        &self,
        change: Option<Change>,
        id: ObjectId,
        object: Option<ObjectDef>,
    ) -> SqlResult<CatalogUndo> {
        let undo = self.state.write().replace(change, id, object)?;
        self.version.fetch_add(1, Ordering::Release);
        Ok(undo)
    }

    /// Publishes or removes a schema.
    pub(crate) fn put_schema(
        &self,
        change: Option<Change>,
        id: i32,
        schema: Option<Arc<SchemaDef>>,
    ) -> CatalogUndo {
        self.next_schema_id.fetch_max(id.saturating_add(1), Ordering::Relaxed);
        let undo = self.state.write().replace_schema(change, id, schema);
        self.version.fetch_add(1, Ordering::Release);
        undo
    }

    /// Undoes a change of the cache; changes are undone newest first.
    pub(crate) fn undo(&self, owner: u64, undo: CatalogUndo) {
        let is_type = matches!(undo, CatalogUndo::Entry { key: EntryKey::Type(_), .. });
        self.state.write().undo(owner, undo);
        if is_type {
            self.touch();
        } else {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// The changes of a committed transaction are settled.
    pub(crate) fn settle(&self, owner: u64, changes: impl Iterator<Item = CatalogUndo>) {
        let mut state = self.state.write();
        changes.for_each(|undo| state.settle(owner, undo));
    }

    /// Invalidates all plans (the database has another name). The change itself has been made.
    pub(crate) fn touch(&self) {
        // A reader that sees the new version sees the new era, too.
        self.era.fetch_add(1, Ordering::Release);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes when all plans must be made anew.
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::Acquire)
    }

    /// The database closes: all its plans, also later ones, become invalid.
    pub(crate) fn retire(&self) {
        self.version.fetch_or(RETIRED, Ordering::AcqRel);
    }

    /// Has the database closed?
    pub(crate) fn is_retired(&self) -> bool {
        self.version() & RETIRED != 0
    }

    /// The version for a plan made now; never the present one once the database has closed.
    pub fn version_for_plan(&self) -> u64 {
        self.version() & !RETIRED
    }

    /// A number for a new object.
    pub(crate) fn new_object_id(&self) -> ObjectId {
        self.next_object_id.fetch_add(OBJECT_ID_STEP, Ordering::Relaxed)
    }

    /// A number for a new schema.
    pub(crate) fn new_schema_id(&self) -> i32 {
        self.next_schema_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A number for a new allocation unit.
    pub(crate) fn new_unit(&self) -> u32 {
        self.next_unit.fetch_add(1, Ordering::Relaxed)
    }

    /// Numbers up to these are used.
    pub(crate) fn note_numbers(&self, object_id: ObjectId, unit: u32) {
        self.next_object_id.fetch_max(object_id.saturating_add(OBJECT_ID_STEP), Ordering::Relaxed);
        self.next_unit.fetch_max(unit.saturating_add(1), Ordering::Relaxed);
    }
}
