//! Changes of catalog entries (neither objects nor schemas): an entry's row and its place in the cache, together.

use std::sync::Arc;

use txn::{LockMode, Resource};
use types::{SqlError, SqlType, Value};

use crate::catalog::names::entry_resource;
use crate::catalog::{Entry, EntryKey, FIRST_USER_TYPE_ID, PropertyDef, PropertyOwner, TypeDef};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ModuleKind, ModuleSettings, ObjectDef, ObjectId, TableDef};

/// Characters of a table type's name in the name of its object: the whole has at most 128.
const TYPE_CHARACTERS: usize = 116;

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
            return Err(SqlError::stale_plan());
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

    /// Locks an entry's resource until the transaction ends.
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

    /// Locks an alias type against changes until the transaction ends, because a new object uses it.
    pub(super) fn share_type(&self, txn: &DbTransaction, user_type_id: i32) -> SqlResult<()> {
        if user_type_id == 0 {
            return Ok(());
        }
        self.lock_entry(txn, &EntryKey::Type(user_type_id), LockMode::SchS)?;
        self.catalog().type_by_id(user_type_id).map(drop).ok_or_else(SqlError::stale_plan)
    }

    /// Adds an extended property; its owner is locked for a change.
    ///
    /// # Errors
    /// 15233 when one of that name, which `shown` names, exists; those of storage.
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

    /// Changes the value of an extended property, or drops it when `value` is none.
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
        let key = EntryKey::Property(owner, crate::catalog::fold(name));
        self.lock_property_owner(txn, &key)?;
        let found = self.catalog().entry(&key);
        let Some(Entry::Property(old)) = found.as_deref() else {
            return Err(SqlError::new(15217, &[&name, &shown]));
        };
        let new = value.map(|value| Entry::Property(PropertyDef { value, ..old.clone() }));
        self.change_entry(txn, found.as_deref(), new)
    }

    /// Locks the owner of a property, and checks that it still exists.
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
        if exists { Ok(()) } else { Err(SqlError::stale_plan()) }
    }

    /// Creates an alias type.
    ///
    /// # Errors
    /// 219 when one of that name exists, 2760 when there is no such schema; those of storage.
    pub fn create_type(
        self: &Arc<Self>,
        txn: &DbTransaction,
        schema: &str,
        name: &str,
        sql_type: SqlType,
        nullable: bool,
    ) -> SqlResult<TypeDef> {
        self.add_type(txn, (schema, name), sql_type, nullable, |_, _| Ok(0))
    }

    /// Creates a table type, and the object that holds its text.
    ///
    /// # Errors
    /// As [`Database::create_type`].
    pub fn create_table_type(
        self: &Arc<Self>,
        txn: &DbTransaction,
        (schema, name): (&str, &str),
        definition: &str,
        settings: ModuleSettings,
    ) -> SqlResult<TypeDef> {
        self.add_type(txn, (schema, name), SqlType::SqlVariant, false, |database, user_type_id| {
            let object_name =
                format!("TT_{}_{user_type_id:08X}", name.chars().take(TYPE_CHARACTERS).collect::<String>());
            let kind = ModuleKind::TableType;
            database.create_module(txn, kind, "sys", &object_name, definition, settings, &[], &[], None)
        })
    }

    /// `make_table` makes the object of a table type of that number.
    fn add_type(
        self: &Arc<Self>,
        txn: &DbTransaction,
        (schema, name): (&str, &str),
        sql_type: SqlType,
        nullable: bool,
        make_table: impl FnOnce(&Arc<Self>, i32) -> SqlResult<ObjectId>,
    ) -> SqlResult<TypeDef> {
        let schema_id = self.schema_for(txn, schema)?.schema_id;
        let taken = self.catalog().types().iter().map(|def| def.user_type_id).max();
        let user_type_id = taken.map_or(FIRST_USER_TYPE_ID, |id| id + 1);
        let resource = self.lock_entry(txn, &EntryKey::Type(user_type_id), LockMode::SchM)?;
        let key = crate::catalog::names::key_of_type(schema_id, name);
        self.reserve(txn, key, name, resource).map_err(|error| match error.number {
            2714 => SqlError::new(219, &[&format!("{schema}.{name}")]),
            _ => error,
        })?;
        let table_object_id = make_table(self, user_type_id)?;
        let def = TypeDef {
            user_type_id,
            schema_id,
            name: name.into(),
            sql_type,
            table_object_id,
            nullable,
            create_date: self.now(),
        };
        self.change_entry(txn, None, Some(Entry::Type(def.clone())))?;
        Ok(def)
    }

    /// Drops an alias type or a table type, and its properties. The caller checks whether modules use it.
    ///
    /// # Errors
    /// 3732 when a column or a sequence has it; those of storage.
    pub fn drop_type(self: &Arc<Self>, txn: &DbTransaction, def: &TypeDef) -> SqlResult<()> {
        // A transaction that is giving it to a column has locked it.
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
        self.change_entry(txn, Some(&Entry::Type(def.clone())), None)?;
        match self.catalog().object(def.table_object_id) {
            Some(ObjectDef::Module(module)) if def.is_table() => self.drop_module(txn, &module),
            _ => Ok(()),
        }
    }

    /// Renames an alias type.
    ///
    /// # Errors
    /// 15335 when another type of the schema has the name; those of storage.
    pub fn rename_type(self: &Arc<Self>, txn: &DbTransaction, def: &TypeDef, name: &str) -> SqlResult<()> {
        let resource = self.lock_entry(txn, &EntryKey::Type(def.user_type_id), LockMode::SchM)?;
        // The same name in another letter case is free for its owner.
        if !super::shape::same(&def.name, name) {
            let key = crate::catalog::names::key_of_type(def.schema_id, name);
            self.reserve(txn, key, name, resource).map_err(|error| match error.number {
                2714 => SqlError::new(15335, &[&name, &"USERDATATYPE"]),
                _ => error,
            })?;
        }
        let new = TypeDef { name: name.into(), ..def.clone() };
        self.change_entry(txn, Some(&Entry::Type(def.clone())), Some(Entry::Type(new)))
    }

    /// Drops the properties of objects and parts that are in `old` but not in `new`.
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

/// All parts of an object that can have properties.
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
