//! Name resolution for the interpreter itself: procedures to call, and procedure names in text.

use std::sync::Arc;

use engine::{Database, Lookup, ModuleDef, ModuleKind, ObjectDef, TransactionSet};
use query::SessionNames;
use tsql::ast::{self, ObjectName, StatementKind};
use types::{SqlError, SqlResult};

/// A procedure that was found by name.
pub(crate) struct FoundProcedure {
    /// Its name as it was created.
    pub(crate) name: Arc<str>,
    /// The source text of CREATE PROCEDURE.
    pub(crate) definition: Arc<str>,
    /// The database that contains it and in which it runs.
    pub(crate) database: Arc<Database>,
    pub(crate) object_id: i32,
    /// SET QUOTED_IDENTIFIER and ANSI_NULLS at its creation, under which it runs.
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
            if module.kind == ModuleKind::Synonym {
                let base = query::synonym::base_of(&module, &database);
                check_not_chained(transactions, &database, name, &base)?;
                return find_procedure(transactions, names, &database, &base);
            }
        }
    }
    Ok(None)
}

/// What the synonym of this name stands for; `None` when the name is no synonym. Error 470 for a synonym of a synonym.
pub(crate) fn find_synonym(
    transactions: &TransactionSet,
    current: &Arc<Database>,
    name: &ObjectName,
) -> SqlResult<Option<ObjectName>> {
    let Some((database, module)) = synonym(transactions, current, name)? else { return Ok(None) };
    let base = query::synonym::base_of(&module, &database);
    check_not_chained(transactions, &database, name, &base)?;
    Ok(Some(base))
}

fn check_not_chained(
    transactions: &TransactionSet,
    database: &Arc<Database>,
    name: &ObjectName,
    base: &ObjectName,
) -> SqlResult<()> {
    match synonym(transactions, database, base) {
        Ok(Some(_)) => Err(query::synonym::chained(&tsql_name(name), &tsql_name(base))),
        Ok(None) => Ok(()),
        Err(error) if error.number == NO_SUCH_DATABASE => Ok(()),
        Err(error) => Err(error),
    }
}

/// A database does not exist.
const NO_SUCH_DATABASE: i32 = 911;

fn synonym(
    transactions: &TransactionSet,
    current: &Arc<Database>,
    name: &ObjectName,
) -> SqlResult<Option<(Arc<Database>, Arc<ModuleDef>)>> {
    let database = match &name.database {
        Some(database) if !database.value.is_empty() => transactions.instance().database(&database.value)?,
        _ => current.clone(),
    };
    let schema = name.schema.as_ref().map(|s| s.value.as_str()).filter(|s| !s.is_empty()).unwrap_or("dbo");
    Ok(match Lookup::new(transactions).object(&database, schema, &name.name.value)? {
        Some(ObjectDef::Module(module)) if module.kind == ModuleKind::Synonym => Some((database, module)),
        _ => None,
    })
}

/// A temporary procedure: the session's own, or a global one. It runs in the caller's database.
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

/// A possibly qualified procedure name in text.
pub(crate) fn parse_name(text: &str) -> SqlResult<ast::ObjectName> {
    let script = format!("EXEC {text}");
    let batch = tsql::parse_batch(&script, &tsql::ParseOptions::default());
    let name = batch.ok().and_then(|mut b| match b.statements.pop().map(|s| s.kind) {
        Some(StatementKind::Execute(execute)) => match execute.target {
            ast::ExecuteTarget::Procedure(name, _) => Some(name),
            _ => None,
        },
        _ => None,
    });
    name.ok_or_else(|| SqlError::new(2812, &[&text]))
}

/// A name as written, for messages.
pub(crate) fn tsql_name(name: &ast::ObjectName) -> String {
    let parts = [name.server.as_ref(), name.database.as_ref(), name.schema.as_ref(), Some(&name.name)];
    let written: Vec<&str> = parts.into_iter().flatten().map(|i| i.value.as_str()).collect();
    written.join(".")
}
