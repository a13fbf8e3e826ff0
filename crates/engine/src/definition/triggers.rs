//! DDL of triggers. A trigger belongs to a table or view: each change of it locks that, and renews its definition, so that the plans of
//! statements that change the table's rows are made anew.

use std::sync::Arc;

use txn::LockMode;

use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ModuleDef, ModuleKind, ModuleSettings, ObjectDef, ObjectId};
use crate::trigger_def::TriggerDef;

/// The parts of a new trigger, or of one that replaces another.
pub struct NewTrigger<'a> {
    /// The table or view.
    pub parent: &'a ObjectDef,
    /// Its name.
    pub name: &'a str,
    /// The whole batch.
    pub definition: &'a str,
    /// The settings of its creation.
    pub settings: ModuleSettings,
    /// The one that ALTER replaces.
    pub replace: Option<&'a Arc<ModuleDef>>,
}

impl Database {
    /// CREATE TRIGGER or ALTER TRIGGER.
    ///
    /// # Errors
    /// 2714; those of storage.
    pub fn create_trigger(
        self: &Arc<Self>,
        txn: &DbTransaction,
        new: &NewTrigger<'_>,
    ) -> SqlResult<ObjectId> {
        let NewTrigger { parent, name, definition, settings, replace } = new;
        self.lock_definition(txn, parent)?;
        let schema_id = parent.schema_id();
        let object_id = match replace {
            Some(old) => {
                self.lock_definition(txn, &ObjectDef::Module(Arc::clone(old)))?;
                old.object_id
            }
            None => {
                let object_id = self.catalog().new_object_id();
                txn.lock_object(object_id, LockMode::SchM)?;
                self.reserve_name(txn, schema_id, name, txn.object_resource(object_id))?;
                object_id
            }
        };
        let schema = match parent {
            ObjectDef::Table(table) => table.schema.clone(),
            ObjectDef::Module(module) => module.schema.clone(),
            ObjectDef::Sequence(sequence) => sequence.schema.clone(),
        };
        let now = self.now();
        let module = ModuleDef {
            object_id,
            schema_id,
            schema,
            name: (*name).into(),
            kind: ModuleKind::Trigger,
            definition: (*definition).into(),
            quoted_identifier: settings.quoted_identifier,
            ansi_nulls: settings.ansi_nulls,
            is_schema_bound: false,
            uses_native_compilation: false,
            stars: [].into(),
            parent_object_id: parent.object_id(),
            trigger: settings.trigger,
            create_date: replace.map_or(now, |old| old.create_date),
            modify_date: now,
        };
        let old = replace.map(|old| ObjectDef::Module(Arc::clone(old)));
        self.write_definition(txn, old, Some(ObjectDef::Module(Arc::new(module))))?;
        self.renew(txn, parent.object_id())?;
        Ok(object_id)
    }

    /// DROP TRIGGER.
    ///
    /// # Errors
    /// Those of storage.
    pub fn drop_trigger(self: &Arc<Self>, txn: &DbTransaction, trigger: &Arc<ModuleDef>) -> SqlResult<()> {
        self.lock_with_parent(txn, trigger)?;
        self.write_definition(txn, Some(ObjectDef::Module(trigger.clone())), None)?;
        self.renew(txn, trigger.parent_object_id)
    }

    /// ENABLE TRIGGER, DISABLE TRIGGER, `sp_settriggerorder`.
    ///
    /// # Errors
    /// Those of storage.
    pub fn set_trigger(
        self: &Arc<Self>,
        txn: &DbTransaction,
        trigger: &Arc<ModuleDef>,
        def: TriggerDef,
    ) -> SqlResult<()> {
        self.lock_with_parent(txn, trigger)?;
        let mut new = trigger.as_ref().clone();
        new.trigger = def;
        new.modify_date = self.now();
        let old = ObjectDef::Module(trigger.clone());
        self.write_definition(txn, Some(old), Some(ObjectDef::Module(Arc::new(new))))?;
        self.renew(txn, trigger.parent_object_id)
    }

    /// Drops the triggers of a table or view, which is locked and goes, too.
    pub(super) fn drop_triggers_of(self: &Arc<Self>, txn: &DbTransaction, parent: ObjectId) -> SqlResult<()> {
        for trigger in self.catalog().triggers_of(parent) {
            self.lock_definition(txn, &ObjectDef::Module(trigger.clone()))?;
            self.write_definition(txn, Some(ObjectDef::Module(trigger)), None)?;
        }
        Ok(())
    }

    /// First the table, then the trigger: as a statement that fires it.
    fn lock_with_parent(&self, txn: &DbTransaction, trigger: &Arc<ModuleDef>) -> SqlResult<()> {
        if let Some(parent) = self.catalog().object(trigger.parent_object_id) {
            self.lock_definition(txn, &parent)?;
        }
        self.lock_definition(txn, &ObjectDef::Module(trigger.clone()))
    }

    /// Renews the definition of a table or view: plans that depend on it are made anew. Until the transaction ends no other session uses it.
    pub(super) fn renew(self: &Arc<Self>, txn: &DbTransaction, id: ObjectId) -> SqlResult<()> {
        let old = self.catalog().object(id);
        let new = match &old {
            Some(ObjectDef::Table(table)) => ObjectDef::Table(Arc::new(table.as_ref().clone())),
            Some(ObjectDef::Module(module)) => ObjectDef::Module(Arc::new(module.as_ref().clone())),
            _ => return Ok(()),
        };
        self.write_definition(txn, old, Some(new))
    }
}
