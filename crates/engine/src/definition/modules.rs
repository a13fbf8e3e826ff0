//! DDL of schemas and of views, procedures and functions; triggers have their own file.

use std::sync::Arc;

use txn::{LockMode, Resource};
use types::{SqlError, Value};

use super::shape::same;
use crate::catalog::names::{key_of_schema, schema_resource};
use crate::catalog::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{
    KeptStar, ModuleDef, ModuleKind, ModuleSettings, ObjectDef, ObjectId, SCHEMA_SYS, SchemaDef,
};
use crate::shared_lock::settled;

impl Database {
    /// CREATE SCHEMA.
    ///
    /// # Errors
    /// 2714 when one of that name exists.
    pub fn create_schema(self: &Arc<Self>, txn: &DbTransaction, name: &str) -> SqlResult<()> {
        let schema_id = self.catalog().new_schema_id();
        let resource = schema_resource(self.number(), schema_id);
        lock_schema(txn, resource)?;
        self.reserve(txn, key_of_schema(name), name, resource)?;
        self.system_table(system_tables::SCHEMAS)
            .insert(txn, &[Value::Int(schema_id), Value::nvarchar(name)])?;
        let schema = Arc::new(SchemaDef { schema_id, name: name.into() });
        let change = txn.change_under(resource);
        txn.note_catalog_change(self.catalog().put_schema(Some(change), schema_id, Some(schema)));
        Ok(())
    }

    /// DROP SCHEMA.
    ///
    /// # Errors
    /// 15151 when there is none, 15150 for a schema of the server, 3729 when it is not empty.
    pub fn drop_schema(self: &Arc<Self>, txn: &DbTransaction, name: &str) -> SqlResult<()> {
        let missing = || SqlError::new(15151, &[&"drop", &"schema", &name]);
        let owner = txn.inner().space().id();
        let found =
            settled(|held| self.catalog().look_schema(owner, held, name), |resource| txn.share(resource))?;
        let id = found.ok_or_else(missing)?;
        if id <= SCHEMA_SYS {
            return Err(SqlError::new(15150, &[&"drop", &"schema", &name]));
        }
        let resource = schema_resource(self.number(), id);
        // A transaction that creates, drops or renames an object in the schema holds Sch-S.
        lock_schema(txn, resource)?;
        if self.catalog().schema(id).is_none_or(|schema| !same(&schema.name, name)) {
            return Err(SqlError::stale_plan());
        }
        if let Some(inside) = self.catalog().objects().iter().find(|o| o.schema_id() == id) {
            return Err(SqlError::new(3729, &[&"DROP SCHEMA", &name, inside.name()]));
        }
        if let Some(inside) = self.catalog().types().iter().find(|def| def.schema_id == id) {
            return Err(SqlError::new(3729, &[&"DROP SCHEMA", &name, &inside.name]));
        }
        let owner = crate::catalog::PropertyOwner { class: 3, major_id: id, minor_id: 0 };
        self.forget_properties(txn, &[owner])?;
        self.system_table(system_tables::SCHEMAS).delete_key(txn, &[Value::Int(id)])?;
        txn.note_catalog_change(self.catalog().put_schema(Some(txn.change_under(resource)), id, None));
        Ok(())
    }

    /// CREATE VIEW, PROCEDURE, FUNCTION or TYPE AS TABLE, or ALTER when `replace` names the existing one. The objects that a schema-bound module refers to
    /// are locked until the transaction ends; a later change of them finds the module.
    ///
    /// # Errors
    /// 2714, 2760; those of storage.
    #[allow(clippy::too_many_arguments, reason = "the parts of a module, each of its own type")]
    pub fn create_module(
        self: &Arc<Self>,
        txn: &DbTransaction,
        kind: ModuleKind,
        schema: &str,
        name: &str,
        definition: &str,
        settings: ModuleSettings,
        references: &[ObjectDef],
        stars: &[KeptStar],
        replace: Option<&Arc<ModuleDef>>,
    ) -> SqlResult<ObjectId> {
        // No statement names the objects of table types, and the triggers of a database have no schema: they are in `sys`.
        let home = match kind {
            ModuleKind::TableType | ModuleKind::DatabaseTrigger => {
                self.catalog().schema(SCHEMA_SYS).ok_or_else(SqlError::stale_plan)?
            }
            _ => self.schema_for(txn, schema)?,
        };
        for object in references {
            self.share_definition(txn, object)?;
        }
        let object_id = match replace {
            Some(old) => {
                self.lock_definition(txn, &ObjectDef::Module(old.clone()))?;
                old.object_id
            }
            None => {
                let object_id = self.catalog().new_object_id();
                txn.lock_object(object_id, LockMode::SchM)?;
                self.reserve_name(txn, home.schema_id, name, txn.object_resource(object_id))?;
                object_id
            }
        };
        let now = self.now();
        let module = ModuleDef {
            object_id,
            schema_id: home.schema_id,
            schema: home.name.clone(),
            name: name.into(),
            kind,
            definition: definition.into(),
            quoted_identifier: settings.quoted_identifier,
            ansi_nulls: settings.ansi_nulls,
            is_schema_bound: settings.is_schema_bound,
            uses_native_compilation: settings.uses_native_compilation,
            stars: stars.into(),
            parent_object_id: 0,
            trigger: settings.trigger,
            create_date: replace.map_or(now, |old| old.create_date),
            modify_date: now,
        };
        self.write_definition(
            txn,
            replace.cloned().map(ObjectDef::Module),
            Some(ObjectDef::Module(Arc::new(module))),
        )?;
        Ok(object_id)
    }

    /// Locks an object against changes until the transaction ends.
    fn share_definition(&self, txn: &DbTransaction, found: &ObjectDef) -> SqlResult<()> {
        txn.lock_object(found.object_id(), LockMode::SchS)?;
        match self.catalog().object(found.object_id()) {
            Some(present) if present.is_same(found) => Ok(()),
            _ => Err(SqlError::stale_plan()),
        }
    }

    /// DROP VIEW, PROCEDURE, FUNCTION; a view's triggers go with it.
    ///
    /// # Errors
    /// Those of storage.
    pub fn drop_module(self: &Arc<Self>, txn: &DbTransaction, module: &Arc<ModuleDef>) -> SqlResult<()> {
        self.lock_definition(txn, &ObjectDef::Module(module.clone()))?;
        self.drop_triggers_of(txn, module.object_id)?;
        self.write_definition(txn, Some(ObjectDef::Module(module.clone())), None)
    }
}

fn lock_schema(txn: &DbTransaction, resource: Resource) -> SqlResult<()> {
    let locked = txn.inner().lock(resource, LockMode::SchM, txn.lock_wait());
    locked.map_err(|error| txn.sql_error(&error.into()))
}
