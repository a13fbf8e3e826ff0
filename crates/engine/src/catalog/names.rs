//! Names in a catalog, and those that are not settled: taken, given up or changed by a transaction that has not ended.
//!
//! ```text
//!  look: settled ──► answer
//!        unsettled by another ──► wait for Sch-S on what he holds Sch-M on ──► he has ended: look again, under that lock
//! ```
//! Whoever takes a name reserves it first; the look and the reservation are one step, so no name is taken twice. A name that nobody is
//! changing costs no lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use txn::Resource;
use types::{Collation, SqlError};

use super::{CatalogUndo, Entry, EntryKey};
use crate::error::SqlResult;
use crate::schema::{ObjectDef, ObjectId, SchemaDef};

/// A name, folded, in its schema.
pub(super) type NameKey = (i32, String);

/// Names of schemas stand among the others under a schema that no object is in.
const OF_SCHEMAS: i32 = 0;

/// Metadata locks of schemas (`sys.dm_tran_locks` shows the class).
const SCHEMA_CLASS: u32 = 1;

/// The definitions of a database, and what of them is not settled.
#[derive(Default)]
pub(super) struct State {
    pub(super) schemas: BTreeMap<i32, Arc<SchemaDef>>,
    pub(super) objects: FxHashMap<ObjectId, ObjectDef>,
    /// Names of objects and constraints, by schema.
    pub(super) names: FxHashMap<NameKey, ObjectId>,
    /// What is neither: extended properties, alias types, messages, configured values.
    pub(super) entries: BTreeMap<EntryKey, Arc<Entry>>,
    unsettled: FxHashMap<NameKey, Unsettled>,
    changed: FxHashMap<ObjectId, Changed<ObjectDef>>,
    changed_schemas: FxHashMap<i32, Changed<Arc<SchemaDef>>>,
}

/// Who is changing a name.
struct Unsettled {
    owner: u64,
    /// What he holds Sch-M on, for each of his changes, oldest first.
    resources: Vec<Resource>,
}

/// A definition that is being changed.
struct Changed<T> {
    owner: u64,
    /// As it was before; `None` when it did not exist.
    settled: Option<T>,
    changes: usize,
}

/// Who looks and who changes: the space of his locks, and what he holds Sch-M on while he changes.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) owner: u64,
    pub(crate) resource: Resource,
}

/// What a look-up finds.
pub(crate) enum Look<T> {
    Settled(T),
    /// Another is changing it: wait for this.
    Unsettled(Resource),
}

/// What a reservation finds.
pub(super) enum Reserve {
    Reserved(CatalogUndo),
    Taken,
    Unsettled(Resource),
}

/// Which definitions a reader sees of those that others are changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogImage {
    /// As they were before.
    Settled,
    /// As they are now.
    Present,
}

impl State {
    pub(super) fn schema_id(&self, name: &str) -> Option<i32> {
        self.schemas.values().find(|s| Collation::DEFAULT.same_name(&s.name, name)).map(|s| s.schema_id)
    }

    /// What another who has not ended holds because of a name. `held`: the reader holds Sch-S on that himself, so its holder has ended.
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

    /// Who has a name in a schema: an object, or the table whose constraint it names.
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

    /// Does another change the object of that number?
    pub(super) fn is_changed_by_another(&self, owner: u64, id: ObjectId) -> bool {
        self.changed.get(&id).is_some_and(|change| change.owner != owner)
    }

    /// Does another make or drop the schema of that number?
    pub(super) fn is_schema_changed_by_another(&self, owner: u64, id: i32) -> bool {
        self.changed_schemas.get(&id).is_some_and(|change| change.owner != owner)
    }

    /// Has he himself changed the object of that number?
    pub(super) fn is_changed_by(&self, owner: u64, id: ObjectId) -> bool {
        self.changed.get(&id).is_some_and(|change| change.owner == owner)
    }

    /// Takes a name for what will be published under it; a second time by the same owner, too.
    pub(super) fn reserve(&mut self, change: Change, held: Option<Resource>, key: NameKey) -> Reserve {
        if let Some(resource) = self.in_the_way(change.owner, held, &key) {
            return Reserve::Unsettled(resource);
        }
        if self.names.contains_key(&key) || (key.0 == OF_SCHEMAS && self.has_schema(&key.1)) {
            return Reserve::Taken;
        }
        self.mark(change, std::slice::from_ref(&key));
        Reserve::Reserved(CatalogUndo::Names(vec![key]))
    }

    fn has_schema(&self, folded: &str) -> bool {
        self.schemas.values().any(|schema| fold(&schema.name) == folded)
    }

    /// Publishes, changes or forgets an object. `change`: by whom; nobody while the catalog is being read from disk.
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
        if let Some(new) = object {
            for (key, _) in names_of(&new) {
                self.names.insert(key, id);
            }
            self.objects.insert(id, new);
        }
        previous
    }

    /// Publishes or forgets a schema.
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

    /// Puts back what a change has replaced. Newest first.
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
            CatalogUndo::Entry(key, Some(previous)) => drop(self.entries.insert(key, previous)),
            CatalogUndo::Entry(key, None) => drop(self.entries.remove(&key)),
        }
    }

    /// The transaction has committed: what it changed is settled.
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
            CatalogUndo::Entry(..) => {}
        }
    }

    fn mark(&mut self, change: Change, names: &[NameKey]) {
        for key in names {
            let new = || Unsettled { owner: change.owner, resources: Vec::new() };
            let mark = self.unsettled.entry(key.clone()).or_insert_with(new);
            if mark.owner != change.owner {
                // Its owner has ended: whoever comes here has held what he held. He will find that it is not his any more.
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

    /// What others are changing: the resources to wait for.
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
fn names_of(object: &ObjectDef) -> Vec<(NameKey, Arc<str>)> {
    let schema_id = object.schema_id();
    let mut names = vec![((schema_id, fold(object.name())), object.name().clone())];
    if let ObjectDef::Table(table) = object {
        let constraints = table.constraints().into_iter();
        names.extend(constraints.map(|(_, name, _)| ((schema_id, fold(&name)), name)));
    }
    names
}

pub(super) fn key_of(schema_id: i32, name: &str) -> NameKey {
    (schema_id, fold(name))
}

pub(super) fn key_of_schema(name: &str) -> NameKey {
    (OF_SCHEMAS, fold(name))
}

/// What stands for a schema among locks.
pub(crate) fn schema_resource(database: u16, schema_id: i32) -> Resource {
    Resource::Metadata { database, class: SCHEMA_CLASS, id: u64::from(schema_id.unsigned_abs()) }
}

pub(super) fn fold(name: &str) -> String {
    Collation::DEFAULT.fold_name(name)
}
