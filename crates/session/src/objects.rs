//! Objects of databases that the interpreter itself needs by name: procedures to call, temporary tables to drop.

use std::sync::Arc;

use engine::{Database, Instance, IsolationLevel, Lookup, ModuleKind, ObjectDef, TransactionSet};
use query::SessionNames;
use tsql::ast::ObjectName;
use types::SqlResult;

use crate::names::Ended;

/// A procedure that was found by name.
pub(crate) struct FoundProcedure {
    /// Its name as it was created.
    pub(crate) name: Arc<str>,
    /// The batch that created it.
    pub(crate) definition: Arc<str>,
    /// Where it lives and runs.
    pub(crate) database: Arc<Database>,
    pub(crate) object_id: i32,
    /// SET QUOTED_IDENTIFIER and ANSI_NULLS of its creation, under which it runs.
    pub(crate) quoted_identifier: bool,
    pub(crate) ansi_nulls: bool,
    /// WITH NATIVE_COMPILATION.
    pub(crate) is_native: bool,
}

/// A user's procedure by its one- to three-part name; `sp_` procedures of master are found from every database.
pub(crate) fn find_procedure(
    transactions: &TransactionSet,
    names: &dyn SessionNames,
    current: &Arc<Database>,
    name: &ObjectName,
) -> SqlResult<Option<FoundProcedure>> {
    let instance = transactions.instance();
    if name.name.value.starts_with('#') {
        return find_temporary_procedure(transactions, names, current, &name.name.value);
    }
    let database = match &name.database {
        Some(database) if !database.value.is_empty() => instance.database(&database.value)?,
        _ => current.clone(),
    };
    let schema = name.schema.as_ref().map(|s| s.value.as_str()).filter(|s| !s.is_empty()).unwrap_or("dbo");
    let own = &name.name.value;
    let mut candidates = vec![database];
    if name.database.is_none() && own.get(..3).is_some_and(|prefix| prefix.eq_ignore_ascii_case("sp_")) {
        candidates.push(instance.master());
    }
    for database in candidates {
        if let Some(ObjectDef::Module(module)) = Lookup::new(transactions).object(&database, schema, own)? {
            if module.kind == ModuleKind::Procedure {
                return Ok(Some(FoundProcedure {
                    name: module.name.clone(),
                    definition: module.definition.clone(),
                    object_id: module.object_id,
                    quoted_identifier: module.quoted_identifier,
                    ansi_nulls: module.ansi_nulls,
                    is_native: module.uses_native_compilation,
                    database,
                }));
            }
        }
    }
    Ok(None)
}

/// A temporary procedure: the session's own, or a global one. It runs in the database where it is called.
fn find_temporary_procedure(
    transactions: &TransactionSet,
    names: &dyn SessionNames,
    current: &Arc<Database>,
    name: &str,
) -> SqlResult<Option<FoundProcedure>> {
    let global = || name.starts_with("##").then(|| name.to_string());
    let Some(real) = names.temp_table(name).or_else(global) else { return Ok(None) };
    let tempdb = transactions.instance().tempdb();
    Ok(match Lookup::new(transactions).object(&tempdb, "dbo", &real)? {
        Some(ObjectDef::Module(module)) if module.kind == ModuleKind::Procedure => Some(FoundProcedure {
            name: name.into(),
            definition: module.definition.clone(),
            object_id: module.object_id,
            quoted_identifier: module.quoted_identifier,
            ansi_nulls: module.ansi_nulls,
            is_native: module.uses_native_compilation,
            database: current.clone(),
        }),
        _ => None,
    })
}

/// Drops a table or procedure of tempdb by its real name; one that is gone already is no error.
pub(crate) fn drop_temporary_table(
    instance: &Arc<Instance>,
    transactions: &mut TransactionSet,
    ended: &Ended,
) -> SqlResult<()> {
    let tempdb = instance.tempdb();
    let found = Lookup::new(transactions).object(&tempdb, "dbo", &ended.real_name)?;
    let is_it = |found: &ObjectDef| ended.object_id.is_none_or(|id| id == found.object_id());
    let Some(found) = found.filter(is_it) else { return Ok(()) };
    match found {
        ObjectDef::Table(table) => {
            let handle = tempdb.table(&table);
            let dropped = {
                let transaction = transactions.for_table(&handle, IsolationLevel::ReadCommitted)?;
                tempdb.drop_table(transaction, &table)
            };
            match dropped {
                Ok(()) => transactions.keep_table_variables(),
                Err(error) => transactions.take_back_table_variables().and(Err(error)),
            }
        }
        ObjectDef::Module(module) => {
            let transaction = transactions.in_database(&tempdb, IsolationLevel::ReadCommitted)?;
            tempdb.drop_module(transaction, &module)
        }
        // No sequence has a temporary name (11714).
        ObjectDef::Sequence(_) => Ok(()),
    }
}
