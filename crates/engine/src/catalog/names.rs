//! Names in a catalog, and unsettled names: taken, released or changed by an active transaction.
//!
//! ```text
//!  look: settled ──► answer
//!        unsettled by another ──► wait for Sch-S on what he holds Sch-M on ──► he has ended: look again, under that lock
//! ```
//! A transaction that takes a name reserves it first; look-up and reservation are one step, so no name is taken twice. A settled name
//! costs no lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use txn::Resource;
use types::{Collation, SqlError};

use super::entries::{Entry, EntryKey, TypeDef, fold};
use super::undo::CatalogUndo;
use crate::error::SqlResult;
use crate::schema::{ModuleDef, ModuleKind, ObjectDef, ObjectId, SchemaDef};

/// A name, folded, in its schema.
pub(crate) type NameKey = (i32, String);

/// The names of schemas are stored among the others, under a schema number that no schema has.
const OF_SCHEMAS: i32 = 0;

/// Entries that are neither objects nor alias types have generated names, under another schema number that does not exist.
const OF_ENTRIES: i32 = i32::MIN;

/// Classes of metadata locks (`sys.dm_tran_locks` shows the class).
const SCHEMA_CLASS: u32 = 1;
const TYPE_CLASS: u32 = 2;
const MESSAGE_CLASS: u32 = 3;
const PROPERTY_CLASS: u32 = 4;
const CONFIGURATION_CLASS: u32 = 5;
const STATISTICS_CLASS: u32 = 6;

/// The definitions of a database, and its unsettled names.
#[derive(Default)]
pub(super) struct State {
    pub(super) schemas: BTreeMap<i32, Arc<SchemaDef>>,
    pub(super) objects: FxHashMap<ObjectId, ObjectDef>,
    /// The triggers of each table or view that has some.
    triggers: FxHashMap<ObjectId, Vec<ObjectId>>,
    /// Names of objects and constraints, by schema.
    pub(super) names: FxHashMap<NameKey, ObjectId>,
    /// Entries: extended properties, alias types, messages, configured values, statistics.
    pub(super) entries: BTreeMap<EntryKey, Arc<Entry>>,
    unsettled: FxHashMap<NameKey, Unsettled>,
    changed: FxHashMap<ObjectId, Changed<ObjectDef>>,
    changed_schemas: FxHashMap<i32, Changed<Arc<SchemaDef>>>,
    changed_entries: FxHashMap<EntryKey, Changed<Arc<Entry>>>,
}

/// The transaction that is changing a name.
struct Unsettled {
    owner: u64,
    /// The resources on which it holds Sch-M, one per change, oldest first.
    resources: Vec<Resource>,
}

/// A definition that is being changed.
struct Changed<T> {
    owner: u64,
    /// The definition before; `None` when it did not exist.
    settled: Option<T>,
    changes: usize,
}

/// The reader or writer of a name: its lock space, and the resource on which it holds Sch-M for a change.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) owner: u64,
    pub(crate) resource: Resource,
}

/// The result of a look-up.
pub(crate) enum Look<T> {
    Settled(T),
    /// Another transaction is changing it: wait for this lock.
    Unsettled(Resource),
}

/// The result of a reservation.
pub(crate) enum Reserve {
    Reserved(CatalogUndo),
    Taken,
    Unsettled(Resource),
}

/// The state of definitions that other transactions are changing, for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogImage {
    /// The state before.
    Settled,
    /// The present state.
    Present,
}

impl State {
    pub(super) fn schema_id(&self, name: &str) -> Option<i32> {
        self.schemas.values().find(|s| Collation::DEFAULT.same_name(&s.name, name)).map(|s| s.schema_id)
    }

    /// The lock that another active transaction holds because of a name. `held`: the reader holds Sch-S on that resource, so the transaction has
    /// ended.
    fn in_the_way(&self, owner: u64, held: Option<Resource>, key: &NameKey) -> Option<Resource> {
        let mark = self.unsettled.get(key).filter(|mark| mark.owner != owner)?;
        mark.resources.first().copied().filter(|resource| Some(*resource) != held)
    }

    /// A schema by name.
    pub(super) fn look_schema(&self, owner: u64, held: Option<Resource>, name: &str) -> Look<Option<i32>> {
        if !self.unsettled.is_empty()
            && let Some(resource) = self.in_the_way(owner, held, &(OF_SCHEMAS, fold(name)))
        {
            return Look::Unsettled(resource);
        }
        Look::Settled(self.schema_id(name))
    }

    /// The holder of a name in a schema: an object, or the table whose constraint it names.
    pub(super) fn look(
        &self,
        owner: u64,
        held: Option<Resource>,
        schema: &str,
        name: &str,
    ) -> Look<Option<ObjectDef>> {
        let schema_id = match self.look_schema(owner, held, schema) {
            Look::Settled(Some(schema_id)) => schema_id,
            Look::Settled(None) => return Look::Settled(None),
            Look::Unsettled(resource) => return Look::Unsettled(resource),
        };
        let key = (schema_id, fold(name));
        if !self.unsettled.is_empty()
            && let Some(resource) = self.in_the_way(owner, held, &key)
        {
            return Look::Unsettled(resource);
        }
        Look::Settled(self.names.get(&key).and_then(|id| self.objects.get(id)).cloned())
    }

    /// Is another transaction changing the object of that number?
    pub(super) fn is_changed_by_another(&self, owner: u64, id: ObjectId) -> bool {
        self.changed.get(&id).is_some_and(|change| change.owner != owner)
    }

    /// Is another transaction creating or dropping the schema of that number?
    pub(super) fn is_schema_changed_by_another(&self, owner: u64, id: i32) -> bool {
        self.changed_schemas.get(&id).is_some_and(|change| change.owner != owner)
    }

    /// Has the owner itself changed the object of that number?
    pub(super) fn is_changed_by(&self, owner: u64, id: ObjectId) -> bool {
        self.changed.get(&id).is_some_and(|change| change.owner == owner)
    }

    /// Reserves a name for an object that will be published under it; also a second time for the same owner.
    pub(super) fn reserve(&mut self, change: Change, held: Option<Resource>, key: NameKey) -> Reserve {
        if let Some(resource) = self.in_the_way(change.owner, held, &key) {
            return Reserve::Unsettled(resource);
        }
        let is_taken = match key.0 {
            OF_SCHEMAS => self.has_schema(&key.1),
            ..0 => self.type_named(&key).is_some(),
            _ => self.names.contains_key(&key),
        };
        if is_taken {
            return Reserve::Taken;
        }
        self.mark(change, std::slice::from_ref(&key));
        Reserve::Reserved(CatalogUndo::Names(vec![key]))
    }

    /// The alias type of that name, settled or not.
    pub(super) fn type_named(&self, key: &NameKey) -> Option<&TypeDef> {
        let types = self.entries.range(EntryKey::Type(i32::MIN)..=EntryKey::Type(i32::MAX));
        types.map(|(_, entry)| &**entry).find_map(|entry| match entry {
            Entry::Type(def) if key_of_entry(entry) == *key => Some(def),
            _ => None,
        })
    }

    /// An alias type by its name.
    pub(super) fn look_type(
        &self,
        owner: u64,
        held: Option<Resource>,
        schema: &str,
        name: &str,
    ) -> Look<Option<TypeDef>> {
        let schema_id = match self.look_schema(owner, held, schema) {
            Look::Settled(Some(schema_id)) => schema_id,
            Look::Settled(None) => return Look::Settled(None),
            Look::Unsettled(resource) => return Look::Unsettled(resource),
        };
        let key = key_of_type(schema_id, name);
        match self.in_the_way(owner, held, &key) {
            Some(resource) => Look::Unsettled(resource),
            None => Look::Settled(self.type_named(&key).cloned()),
        }
    }

    /// An entry by its key.
    pub(super) fn look_entry(
        &self,
        owner: u64,
        held: Option<Resource>,
        key: &EntryKey,
    ) -> Look<Option<Arc<Entry>>> {
        let others = self.changed_entries.get(key).filter(|change| change.owner != owner);
        let present = self.entries.get(key);
        let before = others.and_then(|change| change.settled.as_ref());
        let names = present.into_iter().chain(before).map(|entry| key_of_entry(entry));
        let mut in_the_way = names.filter_map(|name| self.in_the_way(owner, held, &name));
        in_the_way.next().map_or_else(|| Look::Settled(present.cloned()), Look::Unsettled)
    }

    /// Publishes, changes or removes an entry. `change`: by which owner; none while the catalog is loaded from disk.
    pub(super) fn replace_entry(
        &mut self,
        change: Option<Change>,
        key: EntryKey,
        entry: Option<Arc<Entry>>,
    ) -> CatalogUndo {
        let mut names: Vec<NameKey> = entry.iter().map(|entry| key_of_entry(entry)).collect();
        let previous = self.swap_entry(&key, entry);
        let old = previous.iter().map(|entry| key_of_entry(entry)).filter(|name| !names.contains(name));
        let old: Vec<NameKey> = old.collect();
        names.extend(old);
        if let Some(change) = change {
            self.mark(change, &names);
            note(&mut self.changed_entries, change.owner, key.clone(), &previous);
        }
        CatalogUndo::Entry { key, previous, names }
    }

    fn swap_entry(&mut self, key: &EntryKey, entry: Option<Arc<Entry>>) -> Option<Arc<Entry>> {
        match entry {
            Some(entry) => self.entries.insert(key.clone(), entry),
            None => self.entries.remove(key),
        }
    }

    /// All entries as a reader sees them, in order of their keys.
    pub(super) fn entries_seen(&self, owner: u64, image: CatalogImage) -> Vec<Arc<Entry>> {
        let mut seen = self.entries.clone();
        let others = self.changed_entries.iter().filter(|(_, change)| change.owner != owner);
        for (key, change) in others.filter(|_| image == CatalogImage::Settled) {
            match &change.settled {
                Some(settled) => seen.insert(key.clone(), settled.clone()),
                None => seen.remove(key),
            };
        }
        seen.into_values().collect()
    }

    fn has_schema(&self, folded: &str) -> bool {
        self.schemas.values().any(|schema| fold(&schema.name) == folded)
    }

    /// Publishes, changes or removes an object. `change`: by which owner; none while the catalog is loaded from disk.
    pub(super) fn replace(
        &mut self,
        change: Option<Change>,
        id: ObjectId,
        object: Option<ObjectDef>,
    ) -> SqlResult<CatalogUndo> {
        let added = object.as_ref().map(names_of).unwrap_or_default();
        for (at, (key, name)) in added.iter().enumerate() {
            let is_taken = self.names.get(key).is_some_and(|owner| *owner != id);
            if is_taken || added[..at].iter().any(|other| other.0 == *key) {
                return Err(SqlError::new(2714, &[name]));
            }
        }
        let previous = self.swap(id, object);
        let mut names: Vec<NameKey> = added.into_iter().map(|name| name.0).collect();
        for (key, _) in previous.iter().flat_map(names_of) {
            if !names.contains(&key) {
                names.push(key);
            }
        }
        if let Some(change) = change {
            self.mark(change, &names);
            note(&mut self.changed, change.owner, id, &previous);
        }
        Ok(CatalogUndo::Object { id, previous, names })
    }

    fn swap(&mut self, id: ObjectId, object: Option<ObjectDef>) -> Option<ObjectDef> {
        let previous = self.objects.remove(&id);
        for (key, _) in previous.iter().flat_map(names_of) {
            self.names.remove(&key);
        }
        if let Some(parent) = previous.as_ref().and_then(parent_of_trigger)
            && let Some(own) = self.triggers.get_mut(&parent)
        {
            own.retain(|trigger| *trigger != id);
            if own.is_empty() {
                self.triggers.remove(&parent);
            }
        }
        if let Some(new) = object {
            if let Some(parent) = parent_of_trigger(&new) {
                self.triggers.entry(parent).or_default().push(id);
            }
            for (key, _) in names_of(&new) {
                self.names.insert(key, id);
            }
            self.objects.insert(id, new);
        }
        previous
    }

    /// The triggers of a table or view, by number.
    pub(super) fn triggers_of(&self, parent: ObjectId) -> Vec<Arc<ModuleDef>> {
        let Some(numbers) = self.triggers.get(&parent) else { return Vec::new() };
        let object = |id: &ObjectId| match self.objects.get(id) {
            Some(ObjectDef::Module(module)) => Some(module.clone()),
            _ => None,
        };
        let mut found: Vec<Arc<ModuleDef>> = numbers.iter().filter_map(object).collect();
        found.sort_by_key(|trigger| trigger.object_id);
        found
    }

    /// Publishes or removes a schema.
    pub(super) fn replace_schema(
        &mut self,
        change: Option<Change>,
        id: i32,
        schema: Option<Arc<SchemaDef>>,
    ) -> CatalogUndo {
        let added = schema.clone();
        let previous = self.swap_schema(id, schema);
        let both = added.iter().chain(&previous);
        let names: Vec<NameKey> = both.map(|schema| key_of_schema(&schema.name)).collect();
        if let Some(change) = change {
            self.mark(change, &names);
            note(&mut self.changed_schemas, change.owner, id, &previous);
        }
        CatalogUndo::Schema { id, previous, names }
    }

    fn swap_schema(&mut self, id: i32, schema: Option<Arc<SchemaDef>>) -> Option<Arc<SchemaDef>> {
        match schema {
            Some(schema) => self.schemas.insert(id, schema),
            None => self.schemas.remove(&id),
        }
    }

    /// Restores the state before a change. Newest first.
    pub(super) fn undo(&mut self, owner: u64, undo: CatalogUndo) {
        match undo {
            CatalogUndo::Object { id, previous, names } => {
                self.swap(id, previous);
                forget(&mut self.changed, owner, id);
                self.unmark(owner, &names);
            }
            CatalogUndo::Schema { id, previous, names } => {
                self.swap_schema(id, previous);
                forget(&mut self.changed_schemas, owner, id);
                self.unmark(owner, &names);
            }
            CatalogUndo::Names(names) => self.unmark(owner, &names),
            CatalogUndo::Entry { key, previous, names } => {
                self.swap_entry(&key, previous);
                forget(&mut self.changed_entries, owner, key);
                self.unmark(owner, &names);
            }
        }
    }

    /// The transaction has committed: its changes are settled.
    pub(super) fn settle(&mut self, owner: u64, undo: CatalogUndo) {
        match undo {
            CatalogUndo::Object { id, names, .. } => {
                forget(&mut self.changed, owner, id);
                self.unmark(owner, &names);
            }
            CatalogUndo::Schema { id, names, .. } => {
                forget(&mut self.changed_schemas, owner, id);
                self.unmark(owner, &names);
            }
            CatalogUndo::Names(names) => self.unmark(owner, &names),
            CatalogUndo::Entry { key, names, .. } => {
                forget(&mut self.changed_entries, owner, key);
                self.unmark(owner, &names);
            }
        }
    }

    fn mark(&mut self, change: Change, names: &[NameKey]) {
        for key in names {
            let new = || Unsettled { owner: change.owner, resources: Vec::new() };
            let mark = self.unsettled.entry(key.clone()).or_insert_with(new);
            if mark.owner != change.owner {
                // Its owner has ended: the caller waited for the owner's lock. The owner will find that the mark is no longer its own.
                *mark = new();
            }
            mark.resources.push(change.resource);
        }
    }

    fn unmark(&mut self, owner: u64, names: &[NameKey]) {
        for key in names {
            let Some(mark) = self.unsettled.get_mut(key).filter(|mark| mark.owner == owner) else { continue };
            mark.resources.pop();
            if mark.resources.is_empty() {
                self.unsettled.remove(key);
            }
        }
    }

    /// The lock resources of other transactions' changes.
    pub(super) fn unsettled_resources(&self, owner: u64) -> Vec<Resource> {
        let others = self.unsettled.values().filter(|mark| mark.owner != owner);
        let mut all: Vec<Resource> = others.filter_map(|mark| mark.resources.first().copied()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// All objects as a reader sees them.
    pub(super) fn objects_seen(&self, owner: u64, image: CatalogImage) -> Vec<ObjectDef> {
        let others = self.changed.iter().filter(|(_, change)| change.owner != owner);
        let settled = others.filter(|_| image == CatalogImage::Settled);
        let hidden: FxHashMap<ObjectId, &Option<ObjectDef>> =
            settled.map(|(id, change)| (*id, &change.settled)).collect();
        let present = self.objects.values().filter(|object| !hidden.contains_key(&object.object_id()));
        let mut all: Vec<ObjectDef> = present.chain(hidden.values().copied().flatten()).cloned().collect();
        all.sort_by_key(ObjectDef::object_id);
        all
    }

    /// All schemas as a reader sees them.
    pub(super) fn schemas_seen(&self, owner: u64, image: CatalogImage) -> Vec<Arc<SchemaDef>> {
        let others = self.changed_schemas.iter().filter(|(_, change)| change.owner != owner);
        let settled = others.filter(|_| image == CatalogImage::Settled);
        let hidden: FxHashMap<i32, &Option<Arc<SchemaDef>>> =
            settled.map(|(id, change)| (*id, &change.settled)).collect();
        let present = self.schemas.values().filter(|schema| !hidden.contains_key(&schema.schema_id));
        let mut all: Vec<Arc<SchemaDef>> =
            present.chain(hidden.values().copied().flatten()).cloned().collect();
        all.sort_by_key(|schema| schema.schema_id);
        all
    }
}

fn note<K: std::hash::Hash + Eq, T: Clone>(
    changed: &mut FxHashMap<K, Changed<T>>,
    owner: u64,
    id: K,
    before: &Option<T>,
) {
    let new = || Changed { owner, settled: before.clone(), changes: 0 };
    let change = changed.entry(id).or_insert_with(new);
    if change.owner != owner {
        *change = new();
    }
    change.changes += 1;
}

fn forget<K: std::hash::Hash + Eq, T>(changed: &mut FxHashMap<K, Changed<T>>, owner: u64, id: K) {
    let Some(change) = changed.get_mut(&id).filter(|change| change.owner == owner) else { return };
    change.changes -= 1;
    if change.changes == 0 {
        changed.remove(&id);
    }
}

/// The names that an object takes in its schema: its own and its constraints', as keys and as written.
pub(crate) fn names_of(object: &ObjectDef) -> Vec<(NameKey, Arc<str>)> {
    let schema_id = object.schema_id();
    let mut names = vec![((schema_id, fold(object.name())), object.name().clone())];
    if let ObjectDef::Table(table) = object {
        let constraints = table.constraints().into_iter();
        names.extend(constraints.map(|(_, name, _)| ((schema_id, fold(&name)), name)));
    }
    names
}

/// The table or view of a trigger; 0 for one of the database.
fn parent_of_trigger(object: &ObjectDef) -> Option<ObjectId> {
    match object {
        ObjectDef::Module(module) if module.kind == ModuleKind::DatabaseTrigger => Some(0),
        ObjectDef::Module(module) if module.kind == ModuleKind::Trigger => Some(module.parent_object_id),
        _ => None,
    }
}

pub(crate) fn key_of(schema_id: i32, name: &str) -> NameKey {
    (schema_id, fold(name))
}

pub(crate) fn key_of_schema(name: &str) -> NameKey {
    (OF_SCHEMAS, fold(name))
}

/// Alias types have a name space of their own: under the negative number of their schema.
pub(crate) fn key_of_type(schema_id: i32, name: &str) -> NameKey {
    (-schema_id, fold(name))
}

/// The name that marks a change of an entry.
fn key_of_entry(entry: &Entry) -> NameKey {
    match entry {
        Entry::Type(def) => key_of_type(def.schema_id, &def.name),
        other => (OF_ENTRIES, format!("{:?}", other.key())),
    }
}

/// The lock resource of an entry. Properties of an object, its columns and indexes: the object's.
pub(crate) fn entry_resource(database: u16, key: &EntryKey) -> Resource {
    let (class, id) = match key {
        EntryKey::Property(owner, _) if owner.is_of_object() => {
            return Resource::Object { database, object: owner.major_id.cast_unsigned() };
        }
        EntryKey::Property(owner, _) => {
            (PROPERTY_CLASS, u64::from(owner.class) << 32 | u64::from(owner.major_id.unsigned_abs()))
        }
        EntryKey::Type(id) => (TYPE_CLASS, u64::from(id.unsigned_abs())),
        EntryKey::Message(number, _) => (MESSAGE_CLASS, u64::from(number.unsigned_abs())),
        EntryKey::Configuration(id) => (CONFIGURATION_CLASS, u64::from(id.unsigned_abs())),
        // One lock for all statistics of a table: their names and numbers are assigned under it.
        EntryKey::Statistics(object_id, _) => (STATISTICS_CLASS, u64::from(object_id.unsigned_abs())),
    };
    Resource::Metadata { database, class, id }
}

/// The lock resource of a schema.
pub(crate) fn schema_resource(database: u16, schema_id: i32) -> Resource {
    Resource::Metadata { database, class: SCHEMA_CLASS, id: u64::from(schema_id.unsigned_abs()) }
}
