//! What the catalog holds besides objects and schemas: extended properties, alias types, statistics, and in master the users' messages and the
//! configured values. Each is one row of a system table and one entry of the cache; both change together and are undone together.

use std::sync::Arc;

use txn::{LockMode, Resource};
use types::{DateTime, SqlError, SqlType, Value};

use super::names::{Change, Look, entry_resource};
use super::rows::{Fields, column_status, int, text, type_of, type_parts};
use super::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ObjectDef, ObjectId, TableDef};
use crate::statistics::StatisticsDef;

/// The first number of users' types.
pub const FIRST_USER_TYPE_ID: i32 = 257;

/// What an extended property stands at: class of the catalog view, object, part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyOwner {
    /// 0 database, 1 object or column, 2 parameter, 3 schema, 4 principal, 6 type, 7 index, 20 filegroup.
    pub class: u8,
    /// `major_id`.
    pub major_id: i32,
    /// `minor_id`.
    pub minor_id: i32,
}

impl PropertyOwner {
    /// Is it an object, or a part of one?
    pub(super) fn is_of_object(&self) -> bool {
        matches!(self.class, 1 | 2 | 7) && self.major_id > 0
    }
}

/// An extended property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyDef {
    /// Where it stands.
    pub owner: PropertyOwner,
    /// Name.
    pub name: Arc<str>,
    /// A `sql_variant`, or NULL.
    pub value: Value,
}

/// An alias type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDef {
    /// `user_type_id`.
    pub user_type_id: i32,
    /// Schema.
    pub schema_id: i32,
    /// Name.
    pub name: Arc<str>,
    /// What it stands for.
    pub sql_type: SqlType,
    /// Columns of it may be NULL unless they say otherwise.
    pub nullable: bool,
    /// When it was created.
    pub create_date: DateTime,
}

/// A message of users, for RAISERROR by number.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageDef {
    /// Number, above 50000.
    pub number: i32,
    /// `language_id`: 1033.
    pub language_id: i32,
    /// Severity.
    pub severity: u8,
    /// Always in the server's log.
    pub is_logged: bool,
    /// Text with its placeholders.
    pub text: Arc<str>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Extended property.
    Property(PropertyDef),
    /// Alias type.
    Type(TypeDef),
    /// Message.
    Message(MessageDef),
    /// Configured value of an option of the server: `configuration_id`, value.
    Configuration(i32, i32),
    /// Statistics of a table's columns or of an index.
    Statistics(Arc<StatisticsDef>),
}

/// What identifies an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// Where it stands, its name folded.
    Property(PropertyOwner, String),
    /// `user_type_id`.
    Type(i32),
    /// Number and language.
    Message(i32, i32),
    /// `configuration_id`.
    Configuration(i32),
    /// Table and `stats_id`.
    Statistics(ObjectId, i32),
}

impl Entry {
    /// What identifies it.
    pub fn key(&self) -> EntryKey {
        match self {
            Entry::Property(property) => {
                EntryKey::Property(property.owner, super::names::fold(&property.name))
            }
            Entry::Type(def) => EntryKey::Type(def.user_type_id),
            Entry::Message(message) => EntryKey::Message(message.number, message.language_id),
            Entry::Configuration(id, _) => EntryKey::Configuration(*id),
            Entry::Statistics(def) => EntryKey::Statistics(def.object_id, def.stats_id),
        }
    }

    fn table(&self) -> usize {
        match self {
            Entry::Property(_) => system_tables::PROPERTIES,
            Entry::Type(_) => system_tables::TYPES,
            Entry::Message(_) => system_tables::MESSAGES,
            Entry::Configuration(..) => system_tables::CONFIGURATIONS,
            Entry::Statistics(_) => system_tables::STATISTICS,
        }
    }

    fn row(&self) -> Vec<Value> {
        match self {
            Entry::Property(property) => vec![
                Value::TinyInt(property.owner.class),
                int(property.owner.major_id),
                int(property.owner.minor_id),
                text(&property.name),
                property.value.clone(),
            ],
            Entry::Type(def) => {
                let (length, precision, scale, bits) = type_parts(&def.sql_type);
                let nullable = if def.nullable { column_status::NULLABLE } else { 0 };
                vec![
                    int(def.user_type_id),
                    int(def.schema_id),
                    text(&def.name),
                    Value::TinyInt(def.sql_type.system_type_id()),
                    int(length),
                    Value::TinyInt(precision),
                    Value::TinyInt(scale),
                    int(bits | nullable),
                    Value::DateTime(def.create_date),
                ]
            }
            Entry::Message(message) => vec![
                int(message.number),
                int(message.language_id),
                Value::TinyInt(message.severity),
                int(i32::from(message.is_logged)),
                text(&message.text),
            ],
            Entry::Configuration(id, value) => vec![int(*id), int(*value)],
            Entry::Statistics(def) => def.row(),
        }
    }

    /// The entry that a row of a system table holds; none for other tables and for rows that make no sense.
    pub(super) fn from_row(table: usize, row: &[Value]) -> Option<Entry> {
        let fields = Fields(row);
        Some(match table {
            system_tables::PROPERTIES => Entry::Property(PropertyDef {
                owner: PropertyOwner {
                    class: fields.tiny(0)?,
                    major_id: fields.int(1)?,
                    minor_id: fields.int(2)?,
                },
                name: fields.text(3)?,
                value: row.get(4)?.clone(),
            }),
            system_tables::TYPES => {
                let status = fields.int(7)?;
                Entry::Type(TypeDef {
                    user_type_id: fields.int(0)?,
                    schema_id: fields.int(1)?,
                    name: fields.text(2)?,
                    sql_type: type_of(
                        fields.tiny(3)?,
                        fields.int(4)?,
                        fields.tiny(5)?,
                        fields.tiny(6)?,
                        status,
                    )?,
                    nullable: status & column_status::NULLABLE != 0,
                    create_date: fields.date_time(8)?,
                })
            }
            system_tables::MESSAGES => Entry::Message(MessageDef {
                number: fields.int(0)?,
                language_id: fields.int(1)?,
                severity: fields.tiny(2)?,
                is_logged: fields.int(3)? != 0,
                text: fields.text(4)?,
            }),
            system_tables::CONFIGURATIONS => Entry::Configuration(fields.int(0)?, fields.int(1)?),
            system_tables::STATISTICS => Entry::Statistics(Arc::new(StatisticsDef::from_row(row)?)),
            _ => return None,
        })
    }
}

impl super::Catalog {
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
        self.state.read().type_named(&super::names::key_of_type(schema_id, name)).cloned()
    }

    /// An alias type by its name, as [`super::Catalog::look`] finds objects.
    pub(crate) fn look_type(
        &self,
        owner: u64,
        held: Option<Resource>,
        schema: &str,
        name: &str,
    ) -> Look<Option<TypeDef>> {
        self.state.read().look_type(owner, held, schema, name)
    }

    /// An entry by its key, in the same way.
    pub(crate) fn look_entry(
        &self,
        owner: u64,
        held: Option<Resource>,
        key: &EntryKey,
    ) -> Look<Option<Arc<Entry>>> {
        self.state.read().look_entry(owner, held, key)
    }

    /// All entries as a reader sees them, in order of their keys.
    pub(crate) fn entries_seen(&self, owner: u64, image: super::CatalogImage) -> Vec<Arc<Entry>> {
        self.state.read().entries_seen(owner, image)
    }

    /// An alias type by its number.
    pub fn type_by_id(&self, user_type_id: i32) -> Option<TypeDef> {
        match self.entry(&EntryKey::Type(user_type_id)).as_deref() {
            Some(Entry::Type(def)) => Some(def.clone()),
            _ => None,
        }
    }

    /// The statistics of a table that have been made, by number.
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

    /// Publishes or forgets an entry.
    pub(super) fn put_entry(
        &self,
        change: Option<Change>,
        key: EntryKey,
        entry: Option<Arc<Entry>>,
    ) -> super::CatalogUndo {
        let is_type = matches!(key, EntryKey::Type(_));
        let undo = self.state.write().replace_entry(change, key, entry);
        if is_type {
            // What was bound with the old meaning of a type's name looks again.
            self.touch();
        }
        undo
    }
}

impl Database {
    /// Adds, changes or removes an entry, the row and the cache, under a lock for the change. `old`: as the caller has found it.
    ///
    /// # Errors
    /// The marker of a stale plan when another has changed it since it was found; 1205, 1222; those of storage.
    pub fn change_entry(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: Option<&Entry>,
        new: Option<Entry>,
    ) -> SqlResult<()> {
        let Some(key) = new.as_ref().or(old).map(Entry::key) else { return Ok(()) };
        let resource = self.lock_entry(txn, &key, LockMode::SchM)?;
        if self.catalog().entry(&key).as_deref() != old {
            return Err(crate::error::stale_plan());
        }
        if let Some(old) = old {
            let system = self.system_table(old.table());
            let key_columns = system.definition().base().key.len();
            system.delete_key(txn, &old.row()[..key_columns])?;
        }
        if let (Some(old), Some(new)) = (old, &new) {
            assert_eq!(old.key(), new.key(), "an entry changes, it does not become another");
        }
        if let Some(new) = &new {
            self.system_table(new.table()).insert(txn, &new.row())?;
        }
        let change = txn.change_under(resource);
        txn.note_catalog_change(self.catalog().put_entry(Some(change), key, new.map(Arc::new)));
        Ok(())
    }

    /// Locks what stands for an entry until the transaction ends.
    pub(crate) fn lock_entry(
        &self,
        txn: &DbTransaction,
        key: &EntryKey,
        mode: LockMode,
    ) -> SqlResult<Resource> {
        let resource = entry_resource(self.number(), key);
        let locked = txn.inner().lock(resource, mode, txn.lock_wait());
        locked.map(|_| resource).map_err(|error| txn.sql_error(&error.into()))
    }

    /// Keeps an alias type as it is until the transaction ends: something is to have it.
    pub(super) fn share_type(&self, txn: &DbTransaction, user_type_id: i32) -> SqlResult<()> {
        if user_type_id == 0 {
            return Ok(());
        }
        self.lock_entry(txn, &EntryKey::Type(user_type_id), LockMode::SchS)?;
        self.catalog().type_by_id(user_type_id).map(drop).ok_or_else(crate::error::stale_plan)
    }

    /// A new extended property; the object it stands at is locked for a change.
    ///
    /// # Errors
    /// 15233 when there is one of that name, which `shown` names; those of storage.
    pub fn add_property(
        self: &Arc<Self>,
        txn: &DbTransaction,
        property: PropertyDef,
        shown: &str,
    ) -> SqlResult<()> {
        let new = Entry::Property(property);
        self.lock_property_owner(txn, &new.key())?;
        if let Some(Entry::Property(existing)) = self.catalog().entry(&new.key()).as_deref() {
            return Err(SqlError::new(15233, &[&existing.name, &shown]));
        }
        self.change_entry(txn, None, Some(new))
    }

    /// Another value for an extended property, or none any more when `value` is none.
    ///
    /// # Errors
    /// 15217 when there is none of that name; those of storage.
    pub fn change_property(
        self: &Arc<Self>,
        txn: &DbTransaction,
        owner: PropertyOwner,
        name: &str,
        value: Option<Value>,
        shown: &str,
    ) -> SqlResult<()> {
        let key = EntryKey::Property(owner, super::names::fold(name));
        self.lock_property_owner(txn, &key)?;
        let found = self.catalog().entry(&key);
        let Some(Entry::Property(old)) = found.as_deref() else {
            return Err(SqlError::new(15217, &[&name, &shown]));
        };
        let new = value.map(|value| Entry::Property(PropertyDef { value, ..old.clone() }));
        self.change_entry(txn, found.as_deref(), new)
    }

    /// Locks what a property stands at; it is still there.
    fn lock_property_owner(&self, txn: &DbTransaction, key: &EntryKey) -> SqlResult<()> {
        self.lock_entry(txn, key, LockMode::SchM)?;
        let EntryKey::Property(owner, _) = key else { return Ok(()) };
        let id = owner.major_id;
        let is_constraint = |object: &ObjectDef| match object {
            ObjectDef::Table(table) => table.constraints().iter().any(|constraint| constraint.0 == id),
            ObjectDef::Module(_) | ObjectDef::Sequence(_) => false,
        };
        let catalog = self.catalog();
        let exists = match owner.class {
            _ if owner.is_of_object() => {
                catalog.object(id).is_some() || catalog.objects().iter().any(is_constraint)
            }
            3 => catalog.schema(id).is_some(),
            6 => catalog.type_by_id(id).is_some(),
            _ => true,
        };
        if exists { Ok(()) } else { Err(crate::error::stale_plan()) }
    }

    /// A new alias type.
    ///
    /// # Errors
    /// 219 when there is one of that name, 2760 when there is no such schema; those of storage.
    pub fn create_type(
        self: &Arc<Self>,
        txn: &DbTransaction,
        schema: &str,
        name: &str,
        sql_type: SqlType,
        nullable: bool,
    ) -> SqlResult<TypeDef> {
        let schema_id = self.schema_for(txn, schema)?.schema_id;
        let taken = self.catalog().types().iter().map(|def| def.user_type_id).max();
        let user_type_id = taken.map_or(FIRST_USER_TYPE_ID, |id| id + 1);
        let resource = self.lock_entry(txn, &EntryKey::Type(user_type_id), LockMode::SchM)?;
        let key = super::names::key_of_type(schema_id, name);
        self.reserve(txn, key, name, resource).map_err(|error| match error.number {
            2714 => SqlError::new(219, &[&format!("{schema}.{name}")]),
            _ => error,
        })?;
        let def = TypeDef {
            user_type_id,
            schema_id,
            name: name.into(),
            sql_type,
            nullable,
            create_date: self.now(),
        };
        self.change_entry(txn, None, Some(Entry::Type(def.clone())))?;
        Ok(def)
    }

    /// Drops an alias type and what is written about it. Whether modules use it is the caller's to see.
    ///
    /// # Errors
    /// 3732 when a column or a sequence has it; those of storage.
    pub fn drop_type(self: &Arc<Self>, txn: &DbTransaction, def: &TypeDef) -> SqlResult<()> {
        // Whoever is giving it to a column has locked it.
        self.lock_entry(txn, &EntryKey::Type(def.user_type_id), LockMode::SchM)?;
        for object in self.catalog().objects() {
            if let ObjectDef::Table(table) = &object
                && table.columns.iter().any(|column| column.user_type_id == def.user_type_id)
            {
                return Err(SqlError::new(3732, &[&def.name, &table.name]));
            }
            if let ObjectDef::Sequence(sequence) = &object
                && sequence.user_type_id == def.user_type_id
            {
                return Err(SqlError::new(3732, &[&def.name, &sequence.name]));
            }
        }
        self.forget_properties(txn, &[PropertyOwner { class: 6, major_id: def.user_type_id, minor_id: 0 }])?;
        self.change_entry(txn, Some(&Entry::Type(def.clone())), None)
    }

    /// Another name for an alias type.
    ///
    /// # Errors
    /// 15335 when another type of the schema has it; those of storage.
    pub fn rename_type(self: &Arc<Self>, txn: &DbTransaction, def: &TypeDef, name: &str) -> SqlResult<()> {
        let resource = self.lock_entry(txn, &EntryKey::Type(def.user_type_id), LockMode::SchM)?;
        // The same name in other letters is free for its owner.
        if !super::shape::same(&def.name, name) {
            let key = super::names::key_of_type(def.schema_id, name);
            self.reserve(txn, key, name, resource).map_err(|error| match error.number {
                2714 => SqlError::new(15335, &[&name, &"USERDATATYPE"]),
                _ => error,
            })?;
        }
        let new = TypeDef { name: name.into(), ..def.clone() };
        self.change_entry(txn, Some(&Entry::Type(def.clone())), Some(Entry::Type(new)))
    }

    /// Properties of what is in `old` and no longer in `new` go with it.
    pub(super) fn forget_properties_between(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: Option<&ObjectDef>,
        new: Option<&ObjectDef>,
    ) -> SqlResult<()> {
        let Some(old) = old else { return Ok(()) };
        let kept = new.map(owners_in).unwrap_or_default();
        let mut gone = owners_in(old);
        gone.retain(|owner| !kept.contains(owner));
        if new.is_none() {
            // Columns and parameters of a dropped module have no definition of their own.
            let is_inside =
                |owner: PropertyOwner| matches!(owner.class, 1 | 2 | 7) && owner.major_id == old.object_id();
            gone.extend(self.catalog().entries().iter().filter_map(|entry| match &**entry {
                Entry::Property(property) if is_inside(property.owner) => Some(property.owner),
                _ => None,
            }));
        }
        self.forget_properties(txn, &gone)
    }

    pub(super) fn forget_properties(
        self: &Arc<Self>,
        txn: &DbTransaction,
        owners: &[PropertyOwner],
    ) -> SqlResult<()> {
        for entry in self.catalog().entries() {
            if let Entry::Property(property) = &*entry
                && owners.contains(&property.owner)
            {
                self.change_entry(txn, Some(&*entry), None)?;
            }
        }
        Ok(())
    }
}

/// Everything of an object that properties may stand at.
fn owners_in(object: &ObjectDef) -> Vec<PropertyOwner> {
    let owner = |class: u8, major_id: i32, minor_id: i32| PropertyOwner { class, major_id, minor_id };
    let mut all = vec![owner(1, object.object_id(), 0)];
    let ObjectDef::Table(table) = object else {
        return all;
    };
    let table: &TableDef = table;
    all.extend(table.columns.iter().map(|column| owner(1, table.object_id, column.column_id)));
    all.extend(table.constraints().iter().map(|(id, ..)| owner(1, *id, 0)));
    all.extend(table.indexes.iter().map(|index| owner(7, table.object_id, index.index_id)));
    all
}
