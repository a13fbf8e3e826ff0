//! [`Lookup`]: name resolution for a session. It waits for a name that another transaction is changing, and the answer is the name's state after
//! that transaction's end. It takes no lock for a settled name.

use std::sync::Arc;

use os::WaitType;
use txn::{LockWait, Resource};
use types::Collation;

use crate::catalog::names::{Look, entry_resource, schema_resource};
use crate::catalog::{CatalogImage, Entry, EntryKey, MessageDef, TypeDef};
use crate::database::Database;
use crate::error::SqlResult;
use crate::schema::{ModuleDef, ModuleKind, ObjectDef, ObjectId, SchemaDef, TableDef};
use crate::shared_lock::{Shared, settled};
use crate::statistics::StatisticsDef;
use crate::transaction_set::TransactionSet;

/// The time between the release of a transaction's locks and the catalog's update.
const SETTLING_NS: u64 = 20_000;

/// The language of every user message, which must be added first.
pub const US_ENGLISH: i32 = 1033;

/// Resolves names for a session.
#[derive(Clone, Copy)]
pub struct Lookup<'a> {
    transactions: &'a TransactionSet,
    wait: LockWait,
    /// Unsettled names are not waited for, but seen in this state.
    image: Option<CatalogImage>,
}

impl<'a> Lookup<'a> {
    /// For a session with these transactions; waits according to its LOCK_TIMEOUT.
    pub fn new(transactions: &'a TransactionSet) -> Lookup<'a> {
        Lookup { transactions, wait: LockWait::Session, image: None }
    }

    /// Without waiting: 1222 for an unsettled name.
    pub fn without_waiting(transactions: &'a TransactionSet) -> Lookup<'a> {
        Lookup { transactions, wait: LockWait::NoWait, image: None }
    }

    /// For system views: waits for nothing, and sees other transactions' changes according to `image`.
    pub fn of_image(transactions: &'a TransactionSet, image: CatalogImage) -> Lookup<'a> {
        Lookup { transactions, wait: LockWait::NoWait, image: Some(image) }
    }

    /// The definitions that lists show while other transactions change them: a caller that waits for names has waited before it asks for a list.
    pub fn image(&self) -> CatalogImage {
        self.image.unwrap_or(CatalogImage::Present)
    }

    fn owner(&self) -> u64 {
        self.transactions.space().id()
    }

    fn share(&self, database: &Database, resource: Resource) -> SqlResult<Shared> {
        let manager = self.transactions.instance().locks();
        Shared::wait(manager, self.transactions.space(), resource, self.wait).map_err(|error| {
            crate::error::sql_error(&error.into(), database.name(), self.transactions.session_id())
        })
    }

    /// The object of that name; a constraint's name is none.
    ///
    /// # Errors
    /// 1205, 1222, an interrupt.
    pub fn object(&self, database: &Database, schema: &str, name: &str) -> SqlResult<Option<ObjectDef>> {
        let holder = self.holder(database, schema, name)?;
        Ok(holder.filter(|object| same(object.name(), name)))
    }

    /// The holder of a name: an object, or the table with the constraint of that name.
    ///
    /// # Errors
    /// As `object`.
    pub fn holder(&self, database: &Database, schema: &str, name: &str) -> SqlResult<Option<ObjectDef>> {
        let catalog = database.catalog();
        let Some(image) = self.image else {
            return settled(
                |held| catalog.look(self.owner(), held, schema, name),
                |resource| self.share(database, resource),
            );
        };
        if let Look::Settled(found) = catalog.look(self.owner(), None, schema, name) {
            return Ok(found);
        }
        let schema = self.schemas(database, image).into_iter().find(|known| same(&known.name, schema));
        let Some(schema) = schema else { return Ok(None) };
        let has_name = |object: &ObjectDef| {
            let constraints = match object {
                ObjectDef::Table(table) => table.constraints(),
                ObjectDef::Module(_) | ObjectDef::Sequence(_) => Vec::new(),
            };
            same(object.name(), name) || constraints.iter().any(|constraint| same(&constraint.1, name))
        };
        let mut objects = self.objects(database, image).into_iter();
        Ok(objects.find(|object| object.schema_id() == schema.schema_id && has_name(object)))
    }

    /// The number of the schema of that name.
    ///
    /// # Errors
    /// As `object`.
    pub fn schema_id(&self, database: &Database, name: &str) -> SqlResult<Option<i32>> {
        settled(
            |held| database.catalog().look_schema(self.owner(), held, name),
            |resource| self.share(database, resource),
        )
    }

    /// The alias type of that name.
    ///
    /// # Errors
    /// As `object`.
    pub fn type_named(&self, database: &Database, schema: &str, name: &str) -> SqlResult<Option<TypeDef>> {
        let catalog = database.catalog();
        let Some(image) = self.image else {
            return settled(
                |held| catalog.look_type(self.owner(), held, schema, name),
                |resource| self.share(database, resource),
            );
        };
        let schema = self.schemas(database, image).into_iter().find(|known| same(&known.name, schema));
        let Some(schema) = schema else { return Ok(None) };
        let mut entries = self.entries(database, image).into_iter();
        Ok(entries.find_map(|entry| match &*entry {
            Entry::Type(def) if def.schema_id == schema.schema_id && same(&def.name, name) => {
                Some(def.clone())
            }
            _ => None,
        }))
    }

    /// A catalog entry (neither an object nor a schema) by its key.
    ///
    /// # Errors
    /// As `object`.
    pub fn entry(&self, database: &Database, key: &EntryKey) -> SqlResult<Option<Arc<Entry>>> {
        let catalog = database.catalog();
        match self.image {
            Some(image) => Ok(self.entries(database, image).into_iter().find(|entry| entry.key() == *key)),
            None => settled(
                |held| catalog.look_entry(self.owner(), held, key),
                |resource| self.share(database, resource),
            ),
        }
    }

    /// The us_english message of that number, if users have added one: they are in master.
    ///
    /// # Errors
    /// As `object`.
    pub fn user_message(&self, master: &Database, number: i32) -> SqlResult<Option<MessageDef>> {
        let found = self.entry(master, &EntryKey::Message(number, US_ENGLISH))?;
        Ok(match found.as_deref() {
            Some(Entry::Message(message)) => Some(message.clone()),
            _ => None,
        })
    }

    /// The object of that number.
    ///
    /// # Errors
    /// As `object`.
    pub fn object_numbered(&self, database: &Database, id: ObjectId) -> SqlResult<Option<ObjectDef>> {
        let catalog = database.catalog();
        let _shared = match catalog.is_changed_by_another(self.owner(), id) {
            true => Some(self.share(
                database,
                Resource::Object { database: database.number(), object: id.cast_unsigned() },
            )?),
            false => None,
        };
        Ok(catalog.object(id))
    }

    /// The statistics of a table; waits for transactions that create, update or drop them.
    ///
    /// # Errors
    /// As `object`.
    pub fn statistics(&self, database: &Database, table: ObjectId) -> SqlResult<Vec<Arc<StatisticsDef>>> {
        // One lock covers all statistics of a table.
        let _shared =
            self.share(database, entry_resource(database.number(), &EntryKey::Statistics(table, 0)))?;
        Ok(database.catalog().statistics(table))
    }

    /// The table that has the constraint of that number.
    ///
    /// # Errors
    /// As `object`.
    pub fn table_of_constraint(&self, database: &Database, id: ObjectId) -> SqlResult<Option<Arc<TableDef>>> {
        let constrained = |object: ObjectDef| match object {
            ObjectDef::Table(table) if table.constraints().iter().any(|one| one.0 == id) => Some(table),
            _ => None,
        };
        // Waits for the table that has or had it: another transaction may be creating or dropping it.
        for image in [CatalogImage::Present, CatalogImage::Settled] {
            let seen = self.objects(database, image).into_iter().find_map(constrained);
            if let Some(seen) = seen
                && let Some(now) = self.object_numbered(database, seen.object_id)?
                && let Some(table) = constrained(now)
            {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// The DDL triggers of the database, by number; waits for those that another transaction creates, changes or drops.
    ///
    /// # Errors
    /// As `object`.
    pub fn database_triggers(&self, database: &Database) -> SqlResult<Vec<Arc<ModuleDef>>> {
        let mut ids: Vec<ObjectId> =
            database.catalog().triggers_of(0).iter().map(|trigger| trigger.object_id).collect();
        if self.has_unsettled(database) {
            let is_trigger = |object: &ObjectDef| matches!(object, ObjectDef::Module(m) if m.kind == ModuleKind::DatabaseTrigger);
            let before = self.objects(database, CatalogImage::Settled).into_iter().filter(is_trigger);
            ids.extend(before.map(|object| object.object_id()));
        }
        ids.sort_unstable();
        ids.dedup();
        let mut triggers = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(ObjectDef::Module(trigger)) = self.object_numbered(database, id)? {
                triggers.push(trigger);
            }
        }
        Ok(triggers)
    }

    /// Is another transaction changing the database's catalog?
    pub fn has_unsettled(&self, database: &Database) -> bool {
        !database.catalog().unsettled_resources(self.owner()).is_empty()
    }

    /// Waits for the transactions that are changing the database's catalog now.
    ///
    /// # Errors
    /// As `object`.
    pub fn wait_for_changes(&self, database: &Database) -> SqlResult<()> {
        for resource in database.catalog().unsettled_resources(self.owner()) {
            let _shared = self.share(database, resource)?;
            // The holder has committed and is about to update the catalog.
            while database.catalog().unsettled_resources(self.owner()).contains(&resource) {
                database
                    .os
                    .sleep(SETTLING_NS, WaitType::SLEEP_TASK)
                    .map_err(|_| crate::error::interrupted())?;
            }
        }
        Ok(())
    }

    /// The schema of that number.
    ///
    /// # Errors
    /// As `object`.
    pub fn schema_numbered(&self, database: &Database, id: i32) -> SqlResult<Option<Arc<SchemaDef>>> {
        let catalog = database.catalog();
        let _shared = match catalog.is_schema_changed_by_another(self.owner(), id) {
            true => Some(self.share(database, schema_resource(database.number(), id))?),
            false => None,
        };
        Ok(catalog.schema(id))
    }

    /// All objects of a database, by number; of those that other transactions are changing, the state according to `image`.
    pub fn objects(&self, database: &Database, image: CatalogImage) -> Vec<ObjectDef> {
        database.catalog().objects_seen(self.owner(), image)
    }

    /// All its entries that are neither objects nor schemas, in the same way.
    pub fn entries(&self, database: &Database, image: CatalogImage) -> Vec<Arc<Entry>> {
        database.catalog().entries_seen(self.owner(), image)
    }

    /// All its schemas, in the same way.
    pub fn schemas(&self, database: &Database, image: CatalogImage) -> Vec<Arc<SchemaDef>> {
        database.catalog().schemas_seen(self.owner(), image)
    }
}

fn same(one: &str, other: &str) -> bool {
    Collation::DEFAULT.same_name(one, other)
}
