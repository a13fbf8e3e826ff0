//! The entries of the cache: look-ups and changes.

use std::sync::Arc;

use txn::Resource;

use super::Catalog;
use super::entries::{Entry, EntryKey, TypeDef};
use super::names::{CatalogImage, Change, Look, key_of_type};
use super::undo::CatalogUndo;
use crate::schema::ObjectId;
use crate::statistics::StatisticsDef;

impl Catalog {
    /// All entries, in order of their keys.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.state.read().entries.values().cloned().collect()
    }

    /// An entry by its key.
    pub fn entry(&self, key: &EntryKey) -> Option<Arc<Entry>> {
        self.state.read().entries.get(key).cloned()
    }

    /// An alias type by schema and name, in any letter case.
    pub fn find_type(&self, schema_id: i32, name: &str) -> Option<TypeDef> {
        self.state.read().type_named(&key_of_type(schema_id, name)).cloned()
    }

    /// An alias type by its name, as [`Catalog::look`] finds objects.
    pub(crate) fn look_type(
        &self,
        owner: u64,
        held: Option<Resource>,
        schema: &str,
        name: &str,
    ) -> Look<Option<TypeDef>> {
        self.state.read().look_type(owner, held, schema, name)
    }

    /// An entry by its key, in this way.
    pub(crate) fn look_entry(
        &self,
        owner: u64,
        held: Option<Resource>,
        key: &EntryKey,
    ) -> Look<Option<Arc<Entry>>> {
        self.state.read().look_entry(owner, held, key)
    }

    /// All entries as a reader sees them, in order of their keys.
    pub(crate) fn entries_seen(&self, owner: u64, image: CatalogImage) -> Vec<Arc<Entry>> {
        self.state.read().entries_seen(owner, image)
    }

    /// An alias type by its number.
    pub fn type_by_id(&self, user_type_id: i32) -> Option<TypeDef> {
        match self.entry(&EntryKey::Type(user_type_id)).as_deref() {
            Some(Entry::Type(def)) => Some(def.clone()),
            _ => None,
        }
    }

    /// The existing statistics of a table, by number.
    pub fn statistics(&self, object_id: ObjectId) -> Vec<Arc<StatisticsDef>> {
        let all = EntryKey::Statistics(object_id, i32::MIN)..=EntryKey::Statistics(object_id, i32::MAX);
        let state = self.state.read();
        let found = state.entries.range(all).filter_map(|(_, entry)| match &**entry {
            Entry::Statistics(def) => Some(def.clone()),
            _ => None,
        });
        found.collect()
    }

    /// All alias types.
    pub fn types(&self) -> Vec<TypeDef> {
        let entries = self.entries();
        let types = entries.iter().filter_map(|entry| match &**entry {
            Entry::Type(def) => Some(def.clone()),
            _ => None,
        });
        types.collect()
    }

    /// Publishes or removes an entry.
    pub(crate) fn put_entry(
        &self,
        change: Option<Change>,
        key: EntryKey,
        entry: Option<Arc<Entry>>,
    ) -> CatalogUndo {
        let is_type = matches!(key, EntryKey::Type(_));
        let undo = self.state.write().replace_entry(change, key, entry);
        if is_type {
            // Plans that used a type's name with the old meaning are bound again.
            self.touch();
        }
        undo
    }
}
