//! DDL of schemas and of views, procedures, functions and triggers.

use std::sync::Arc;

use txn::LockMode;
use types::{SqlError, Value};

use super::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ModuleDef, ModuleKind, ObjectDef, ObjectId, SchemaDef};

impl Database {
    /// CREATE SCHEMA.
    ///
    /// # Errors
    /// 2714 when there is one of that name.
    pub fn create_schema(self: &Arc<Self>, txn: &DbTransaction, name: &str) -> SqlResult<()> {
        if self.catalog().schema_id(name).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let taken = self.catalog().schemas().iter().map(|s| s.schema_id).max().unwrap_or(0);
        let schema_id = taken.max(4) + 1;
        self.system_table(system_tables::SCHEMAS)
            .insert(txn, &[Value::Int(schema_id), Value::nvarchar(name)])?;
        let schema = Arc::new(SchemaDef { schema_id, name: name.into() });
        txn.note_catalog_change(self.catalog().put_schema(schema_id, Some(schema)));
        Ok(())
    }

    /// DROP SCHEMA.
    ///
    /// # Errors
    /// 15151 when there is none, 3729 when it is not empty.
    pub fn drop_schema(self: &Arc<Self>, txn: &DbTransaction, name: &str) -> SqlResult<()> {
        let id = self.catalog().schema_id(name).filter(|id| *id > 4);
        let id = id.ok_or_else(|| SqlError::new(15151, &[&"drop", &"schema", &name]))?;
        if let Some(inside) = self.catalog().objects().iter().find(|o| o.schema_id() == id) {
            return Err(SqlError::new(3729, &[&"DROP SCHEMA", &name, inside.name()]));
        }
        self.system_table(system_tables::SCHEMAS).delete_key(txn, &[Value::Int(id)])?;
        txn.note_catalog_change(self.catalog().put_schema(id, None));
        Ok(())
    }

    /// CREATE VIEW, PROCEDURE, FUNCTION or TRIGGER, or ALTER when `replace` names the one that exists.
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
        quoted_identifier: bool,
        ansi_nulls: bool,
        replace: Option<&Arc<ModuleDef>>,
    ) -> SqlResult<ObjectId> {
        let schema_id = self.catalog().schema_id(schema).ok_or_else(|| SqlError::new(2760, &[&schema]))?;
        let object_id = match replace {
            Some(old) => old.object_id,
            None => {
                self.check_name_free(txn, schema_id, name)?;
                self.catalog().new_object_id()
            }
        };
        txn.lock_object(object_id, LockMode::SchM)?;
        let now = self.now();
        let module = ModuleDef {
            object_id,
            schema_id,
            schema: schema.into(),
            name: name.into(),
            kind,
            definition: definition.into(),
            quoted_identifier,
            ansi_nulls,
            parent_object_id: 0,
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

    /// DROP VIEW, PROCEDURE, FUNCTION, TRIGGER.
    ///
    /// # Errors
    /// Those of storage.
    pub fn drop_module(self: &Arc<Self>, txn: &DbTransaction, module: &Arc<ModuleDef>) -> SqlResult<()> {
        txn.lock_object(module.object_id, LockMode::SchM)?;
        self.write_definition(txn, Some(ObjectDef::Module(module.clone())), None)
    }
}
