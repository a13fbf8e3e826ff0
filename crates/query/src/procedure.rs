//! Finding procedures by name, for EXEC.

use std::sync::Arc;

use engine::{Database, Instance, ModuleKind, ObjectDef};
use tsql::ast::ObjectName;
use types::SqlError;

/// A stored procedure.
#[derive(Clone)]
pub struct FoundProcedure {
    /// Its name as created.
    pub name: String,
    /// The batch that created it.
    pub definition: Arc<str>,
    /// Where it lives: its statements run in this database.
    pub database: Arc<Database>,
    /// `object_id`.
    pub object_id: i32,
}

/// The procedure of a name; a name without database means `current`, one without schema `dbo`. `None` when there is none of the name.
///
/// # Errors
/// 911 for a database that does not exist.
pub fn find_procedure(
    instance: &Arc<Instance>,
    current: &Arc<Database>,
    name: &ObjectName,
) -> Result<Option<FoundProcedure>, SqlError> {
    let database = match &name.database {
        Some(database) => instance.database(&database.value)?,
        None => current.clone(),
    };
    let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
    Ok(match database.catalog().find(schema, &name.name.value) {
        Some(ObjectDef::Module(module)) if module.kind == ModuleKind::Procedure => Some(FoundProcedure {
            name: module.name.to_string(),
            definition: module.definition.clone(),
            object_id: module.object_id,
            database,
        }),
        _ => None,
    })
}
