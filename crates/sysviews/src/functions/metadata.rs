//! Catalog functions.

use std::sync::Arc;

use engine::{Database, ObjectDef, TableDef};
use plan_ir::data_type::CLR_TYPES;
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use plan_ir::names::{name_parts, same_name};
use plan_ir::values::variant;
use plan_ir::view::View;
use plan_ir::view_shape::ViewColumn;
use plan_ir::view_shape::system_object_id;
use types::{SqlError, SqlType, Value};

use Parameter::{Int, Wide};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

const NAME: ResultRule = Fixed(SqlType::nvarchar(128));
const INT: ResultRule = Fixed(SqlType::Int);

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("OBJECT_ID", &[Wide, Wide], INT, object_id).arity(1, 2).sees_nulls().runtime(),
    FunctionDef::new("OBJECT_NAME", &[Int, Int], NAME, object_name).arity(1, 2).runtime(),
    FunctionDef::new("OBJECT_SCHEMA_NAME", &[Int, Int], NAME, object_schema_name).arity(1, 2).runtime(),
    FunctionDef::new("OBJECT_DEFINITION", &[Int], Fixed(SqlType::NVARCHAR_MAX), object_definition).runtime(),
    FunctionDef::new("DB_ID", &[Wide], Fixed(SqlType::SmallInt), db_id).arity(0, 1).runtime(),
    FunctionDef::new("DB_NAME", &[Int], NAME, db_name).arity(0, 1).runtime(),
    FunctionDef::new("ORIGINAL_DB_NAME", &[], NAME, db_name).runtime(),
    FunctionDef::new("SCHEMA_ID", &[Wide], INT, schema_id).arity(0, 1).runtime(),
    FunctionDef::new("SCHEMA_NAME", &[Int], Fixed(SqlType::SysName), schema_name).arity(0, 1).runtime(),
    FunctionDef::new("COL_NAME", &[Int, Int], NAME, col_name).runtime(),
    FunctionDef::new("COL_LENGTH", &[Wide, Wide], Fixed(SqlType::SmallInt), col_length).runtime(),
    FunctionDef::new("TYPE_ID", &[Wide], INT, type_id).runtime(),
    FunctionDef::new("TYPE_NAME", &[Int], NAME, type_name).runtime(),
    FunctionDef::new("INDEX_COL", &[Wide, Int, Int], NAME, index_col).runtime(),
    FunctionDef::new("DATABASEPROPERTYEX", &[Wide, Wide], Fixed(SqlType::SqlVariant), database_property)
        .runtime(),
    FunctionDef::new("DATABASEPROPERTY", &[Wide, Wide], INT, old_database_property).runtime(),
    FunctionDef::new("HAS_DBACCESS", &[Wide], INT, has_db_access).runtime(),
    FunctionDef::new("IDENT_SEED", &[Wide], Fixed(SqlType::Numeric { precision: 38, scale: 0 }), |call| {
        identity(call, |_, identity| Some(identity.seed))
    })
    .runtime(),
    FunctionDef::new("IDENT_INCR", &[Wide], Fixed(SqlType::Numeric { precision: 38, scale: 0 }), |call| {
        identity(call, |_, identity| Some(identity.increment))
    })
    .runtime(),
    FunctionDef::new(
        "IDENT_CURRENT",
        &[Wide],
        Fixed(SqlType::Numeric { precision: 38, scale: 0 }),
        ident_current,
    )
    .runtime(),
    FunctionDef::new("FILE_ID", &[Wide], Fixed(SqlType::SmallInt), |call| {
        Ok(file_id(call).map_or(Value::Null, |id| Value::SmallInt(id as i16)))
    })
    .runtime(),
    FunctionDef::new("FILE_IDEX", &[Wide], INT, |call| Ok(file_id(call).map_or(Value::Null, Value::Int)))
        .runtime(),
    FunctionDef::new("FILE_NAME", &[Int], NAME, file_name).runtime(),
    FunctionDef::new("FILEPROPERTY", &[Wide, Wide], INT, file_property).runtime(),
    FunctionDef::new("FULLTEXTSERVICEPROPERTY", &[Wide], INT, |call| {
        let is_known =
            call.text(0).is_some_and(|name| name.trim().eq_ignore_ascii_case("isfulltextinstalled"));
        Ok(if is_known { Value::Int(0) } else { Value::Null })
    }),
    FunctionDef::new("FILEGROUP_ID", &[Wide], INT, |call| {
        Ok(if call.text(0).is_some_and(|name| name.eq_ignore_ascii_case("primary")) {
            Value::Int(1)
        } else {
            Value::Null
        })
    })
    .runtime(),
    FunctionDef::new("FILEGROUP_NAME", &[Int], NAME, |call| {
        Ok(if call.int(0) == Some(1) { Value::nvarchar("PRIMARY") } else { Value::Null })
    })
    .runtime(),
    FunctionDef::new("STATS_DATE", &[Int, Int], Fixed(SqlType::DateTime), |call| {
        let number = |at: usize| call.int(at).and_then(|number| i32::try_from(number).ok());
        let (Some(object_id), Some(stats_id)) = (number(0), number(1)) else { return Ok(Value::Null) };
        Ok(crate::statistics_date(call.runtime, object_id, stats_id))
    })
    .runtime(),
    FunctionDef::new("COLLATIONPROPERTY", &[Wide, Wide], Fixed(SqlType::SqlVariant), collation_property)
        .runtime(),
    FunctionDef::new("FILEGROUPPROPERTY", &[Wide, Wide], INT, filegroup_property).runtime(),
    // Azure's storage tiers, assemblies and full-text catalogs do not exist here.
    FunctionDef::new("FILEPROPERTYEX", &[Wide, Wide], Fixed(SqlType::SqlVariant), |_| Ok(Value::Null))
        .runtime(),
    FunctionDef::new("ASSEMBLYPROPERTY", &[Wide, Wide], Fixed(SqlType::SqlVariant), |_| Ok(Value::Null))
        .runtime(),
    FunctionDef::new("FULLTEXTCATALOGPROPERTY", &[Wide, Wide], INT, |_| Ok(Value::Null)).runtime(),
];

/// Resolves a name in text: database, schema, object name. `None` when the database does not exist.
pub(super) fn resolve(call: &Call<'_, '_>, text: &str) -> Option<(Arc<Database>, String, String)> {
    let mut parts = name_parts(text);
    let name = parts.pop()?;
    let schema = parts.pop().filter(|part| !part.is_empty()).unwrap_or_else(|| "dbo".to_string());
    let database = match parts.pop().filter(|part| !part.is_empty()) {
        Some(database) => call.runtime.instance.database(&database).ok()?,
        None => call.runtime.database.clone(),
    };
    if name.starts_with('#') {
        let real = call.runtime.names.temp_table(&name)?;
        return Some((call.runtime.instance.database("tempdb").ok()?, "dbo".to_string(), real));
    }
    Some((database, schema, name))
}

/// The object of a name in text. Waits while another transaction is changing the object of that name.
pub(super) fn find_object(call: &Call<'_, '_>, text: &str) -> Result<Option<ObjectDef>> {
    let Some((database, schema, name)) = resolve(call, text) else { return Ok(None) };
    call.runtime.look_up(|lookup| lookup.object(&database, &schema, &name))
}

pub(super) fn table_of(object: ObjectDef) -> Option<Arc<TableDef>> {
    match object {
        ObjectDef::Table(table) => Some(table),
        ObjectDef::Module(_) | ObjectDef::Sequence(_) => None,
    }
}

fn object_id(call: &Call<'_, '_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let wanted = call.text(1).map(|code| code.trim().to_ascii_uppercase());
    if let Some(object) = find_object(call, &text)? {
        let code = object.type_code().trim();
        let matches = wanted.as_ref().is_none_or(|wanted| wanted == code);
        return Ok(if matches { Value::Int(object.object_id()) } else { Value::Null });
    }
    let Some((database, schema, name)) = resolve(call, &text) else {
        return Ok(Value::Null);
    };
    // Constraints are objects, too.
    let holder = call.runtime.look_up(|lookup| lookup.holder(&database, &schema, &name))?;
    if let Some(table) = holder.and_then(table_of)
        && let Some(constraint) =
            table.constraints().iter().find(|constraint| same_name(&constraint.1, &name))
    {
        let matches = wanted.as_ref().is_none_or(|wanted| wanted == constraint.2.trim());
        return Ok(if matches { Value::Int(constraint.0) } else { Value::Null });
    }
    Ok(match crate::find_in(&database, Some(&schema), &name) {
        Some(view) if wanted.as_deref().is_none_or(|wanted| wanted == "V") => {
            Value::Int(view.shape().object_id())
        }
        Some(_) => Value::Null,
        None => system_procedure(call, &schema, &name, wanted.as_deref()).map_or(Value::Null, Value::Int),
    })
}

/// The id of a system procedure: it is found in `sys`, and in `dbo` as EXEC finds it.
fn system_procedure(call: &Call<'_, '_>, schema: &str, name: &str, wanted: Option<&str>) -> Option<i32> {
    if !schema.eq_ignore_ascii_case("sys") && !schema.eq_ignore_ascii_case("dbo") {
        return None;
    }
    let procedures = call.runtime.state.system_procedures();
    let found = procedures.iter().find(|procedure| procedure.name.eq_ignore_ascii_case(name))?;
    let is_wanted = wanted.is_none_or(|wanted| wanted == found.type_code.trim());
    is_wanted.then(|| system_object_id("sys", found.name))
}

/// The database of an optional database id argument.
fn database_at(call: &Call<'_, '_>, index: usize) -> Option<Arc<Database>> {
    match call.int(index) {
        None => Some(call.runtime.database.clone()),
        Some(id) => {
            call.runtime.instance.databases().into_iter().find(|database| i64::from(database.id()) == id)
        }
    }
}

/// The object of an object id.
pub(super) enum Found {
    Object(ObjectDef),
    /// A constraint: its table, its name, its type of `sys.objects`.
    Constraint(Arc<TableDef>, Arc<str>, &'static str),
    System(&'static View),
}

impl Found {
    pub(super) fn name(&self) -> String {
        match self {
            Found::Object(object) => object.name().to_string(),
            Found::Constraint(_, name, _) => name.to_string(),
            Found::System(view) => view.name.to_string(),
        }
    }

    pub(super) fn schema_id(&self) -> i32 {
        match self {
            Found::Object(object) => object.schema_id(),
            Found::Constraint(table, ..) => table.schema_id,
            Found::System(view) if view.schema == "sys" => 4,
            Found::System(view) if view.schema == "dbo" => 1,
            Found::System(_) => 3,
        }
    }

    /// The type of `sys.objects`, without the blank.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Found::Object(object) => object.type_code().trim(),
            Found::Constraint(.., code) => code.trim(),
            Found::System(view) => {
                if view.parameters > 0 {
                    "IF"
                } else {
                    "V"
                }
            }
        }
    }

    pub(super) fn table(&self) -> Option<&Arc<TableDef>> {
        match self {
            Found::Object(ObjectDef::Table(table)) => Some(table),
            _ => None,
        }
    }
}

/// An object, constraint or system view by its number.
pub(super) fn found_by_id(call: &Call<'_, '_>, database: &Database, id: i32) -> Result<Option<Found>> {
    if let Some(object) = call.runtime.look_up(|lookup| lookup.object_numbered(database, id))? {
        return Ok(Some(Found::Object(object)));
    }
    if let Some(view) = crate::by_object_id(id) {
        return Ok(Some(Found::System(view)));
    }
    let table = call.runtime.look_up(|lookup| lookup.table_of_constraint(database, id))?;
    Ok(table.and_then(|table| {
        let (_, name, code) = table.constraints().into_iter().find(|constraint| constraint.0 == id)?;
        Some(Found::Constraint(table, name, code))
    }))
}

/// Columns of a table, view, inline function or system view, in order: number, name, type.
fn columns_of(call: &Call<'_, '_>, database: &Arc<Database>, found: &Found) -> Vec<(i32, String, SqlType)> {
    let numbered = |columns: &[ViewColumn]| {
        let column =
            |(at, column): (usize, &ViewColumn)| (at as i32 + 1, column.name.clone(), column.sql_type);
        columns.iter().enumerate().map(column).collect()
    };
    match found {
        Found::Object(ObjectDef::Table(table)) => {
            let column =
                |column: &engine::ColumnDef| (column.column_id, column.name.to_string(), column.sql_type);
            table.columns.iter().map(column).collect()
        }
        Found::Object(ObjectDef::Module(module)) => {
            numbered(&crate::bound_columns(call.runtime, database, module))
        }
        Found::System(view) => numbered(view.columns()),
        Found::Constraint(..) | Found::Object(ObjectDef::Sequence(_)) => Vec::new(),
    }
}

fn object_name(call: &Call<'_, '_>) -> Result<Value> {
    let (Some(id), Some(database)) = (call.int(0), database_at(call, 1)) else {
        return Ok(Value::Null);
    };
    Ok(found_by_id(call, &database, id as i32)?.map_or(Value::Null, |found| Value::nvarchar(&found.name())))
}

fn object_schema_name(call: &Call<'_, '_>) -> Result<Value> {
    let (Some(id), Some(database)) = (call.int(0), database_at(call, 1)) else {
        return Ok(Value::Null);
    };
    let schema = match found_by_id(call, &database, id as i32)? {
        Some(found) => call.runtime.look_up(|lookup| lookup.schema_numbered(&database, found.schema_id()))?,
        None => None,
    };
    Ok(schema.map_or(Value::Null, |schema| Value::nvarchar(&schema.name)))
}

fn object_definition(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0) as i32;
    let text = match found_by_id(call, call.runtime.database, id)? {
        Some(Found::Object(ObjectDef::Module(module))) if module.kind.has_module_text() => {
            Some(module.definition.clone())
        }
        Some(Found::Constraint(table, ..)) => {
            let check =
                table.checks.iter().find(|check| check.object_id == id).map(|check| check.text.clone());
            let defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
            check.or_else(|| {
                defaults
                    .into_iter()
                    .find(|default| default.object_id == id)
                    .map(|default| default.text.clone())
            })
        }
        _ => None,
    };
    Ok(text.map_or(Value::Null, |text| Value::nvarchar(&text)))
}

fn db_id(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.text(0) {
        None => Value::SmallInt(call.runtime.database.id()),
        Some(name) => call
            .runtime
            .instance
            .database(name.trim_end())
            .map_or(Value::Null, |database| Value::SmallInt(database.id())),
    })
}

fn db_name(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.int(0) {
        Some(0) => Value::nvarchar(call.runtime.database.name()),
        _ => database_at(call, 0).map_or(Value::Null, |database| Value::nvarchar(database.name())),
    })
}

fn schema_id(call: &Call<'_, '_>) -> Result<Value> {
    let name = call.text(0).unwrap_or_else(|| "dbo".to_string());
    let found = call.runtime.look_up(|lookup| lookup.schema_id(call.runtime.database, &name))?;
    Ok(found.map_or(Value::Null, Value::Int))
}

fn schema_name(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.int(0) {
        None => Value::nvarchar("dbo"),
        Some(id) => call
            .runtime
            .look_up(|lookup| lookup.schema_numbered(call.runtime.database, id as i32))?
            .map_or(Value::Null, |schema| Value::nvarchar(&schema.name)),
    })
}

pub(super) fn table_by_id(call: &Call<'_, '_>, id: i64) -> Result<Option<Arc<TableDef>>> {
    let found = call.runtime.look_up(|lookup| lookup.object_numbered(call.runtime.database, id as i32))?;
    Ok(found.and_then(table_of))
}

fn col_name(call: &Call<'_, '_>) -> Result<Value> {
    let database = &call.runtime.database;
    let id = call.int(1).unwrap_or(0) as i32;
    let found = found_by_id(call, database, call.int(0).unwrap_or(0) as i32)?;
    let column =
        found.and_then(|found| columns_of(call, database, &found).into_iter().find(|column| column.0 == id));
    Ok(column.map_or(Value::Null, |column| Value::nvarchar(&column.1)))
}

fn col_length(call: &Call<'_, '_>) -> Result<Value> {
    let name = call.text(1).unwrap_or_default();
    let text = call.text(0).unwrap_or_default();
    let Some((database, schema, object)) = resolve(call, &text) else {
        return Ok(Value::Null);
    };
    let found = match call.runtime.look_up(|lookup| lookup.object(&database, &schema, &object))? {
        Some(object) => Some(Found::Object(object)),
        None => crate::find_in(&database, Some(&schema), &object).map(Found::System),
    };
    let column = found.and_then(|found| {
        columns_of(call, &database, &found).into_iter().find(|column| same_name(&column.1, &name))
    });
    Ok(column.map_or(Value::Null, |column| Value::SmallInt(column.2.max_length())))
}

/// An alias type by a name in text.
pub(super) fn alias_type(call: &Call<'_, '_>, text: &str) -> Result<Option<engine::TypeDef>> {
    let Some((database, schema, name)) = resolve(call, text) else { return Ok(None) };
    call.runtime.look_up(|lookup| lookup.type_named(&database, &schema, &name))
}

fn type_id(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    let name = name_parts(&text).pop().unwrap_or_default();
    if let Some(found) = crate::type_list::type_by_name(&name) {
        return Ok(Value::Int(found.user_type_id()));
    }
    if let Some((_, id, _)) = CLR_TYPES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(&name)) {
        return Ok(Value::Int(*id));
    }
    Ok(alias_type(call, &text)?.map_or(Value::Null, |alias| Value::Int(alias.user_type_id)))
}

fn type_name(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0);
    let of_system =
        crate::type_list::all_types().iter().find(|sql_type| i64::from(sql_type.user_type_id()) == id);
    if let Some(found) = of_system {
        return Ok(Value::nvarchar(found.name()));
    }
    if let Some((name, ..)) = CLR_TYPES.iter().find(|(_, known, _)| i64::from(*known) == id) {
        return Ok(Value::nvarchar(name));
    }
    let key = engine::EntryKey::Type(id as i32);
    let found = call.runtime.look_up(|lookup| lookup.entry(call.runtime.database, &key))?;
    Ok(match found.as_deref() {
        Some(engine::Entry::Type(alias)) => Value::nvarchar(&alias.name),
        _ => Value::Null,
    })
}

fn index_col(call: &Call<'_, '_>) -> Result<Value> {
    let table = find_object(call, &call.text(0).unwrap_or_default())?.and_then(table_of);
    let (index_id, position) = (call.int(1).unwrap_or(0) as i32, call.int(2).unwrap_or(0));
    Ok(table
        .and_then(|table| {
            let column = table.index(index_id)?.key.get(usize::try_from(position - 1).ok()?)?;
            Some(Value::nvarchar(&table.columns[column.ordinal].name))
        })
        .unwrap_or(Value::Null))
}

fn database_property(call: &Call<'_, '_>) -> Result<Value> {
    let Ok(database) = call.runtime.instance.database(&call.text(0).unwrap_or_default()) else {
        return Ok(Value::Null);
    };
    let property = call.text(1).unwrap_or_default();
    Ok(variant(crate::database_property(&database, &property)))
}

/// DATABASEPROPERTY: the database states of old versions, and the numeric properties of DATABASEPROPERTYEX.
fn old_database_property(call: &Call<'_, '_>) -> Result<Value> {
    let Ok(database) = call.runtime.instance.database(&call.text(0).unwrap_or_default()) else {
        return Ok(Value::Null);
    };
    let property = call.text(1).unwrap_or_default();
    let options = database.options();
    let truth = |is: bool| Ok(Value::Int(i32::from(is)));
    match property.trim().to_ascii_lowercase().as_str() {
        "isreadonly" => return truth(options.read_only),
        "istrunclog" => return truth(options.recovery_model == engine::RecoveryModel::Simple),
        "isbulkcopy" => return truth(options.recovery_model == engine::RecoveryModel::BulkLogged),
        // An open database is in none of these states.
        "isoffline" | "issuspect" | "isinrecovery" | "isinload" | "isemergencymode" | "isshutdown"
        | "isnotrecovered" => {
            return truth(false);
        }
        _ => {}
    }
    let value = crate::database_property(&database, &property);
    Ok(value.as_i64().and_then(|number| i32::try_from(number).ok()).map_or(Value::Null, Value::Int))
}

fn has_db_access(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.runtime.instance.database(&call.text(0).unwrap_or_default()) {
        Ok(_) => Value::Int(1),
        Err(_) => Value::Null,
    })
}

fn identity(
    call: &Call<'_, '_>,
    part: impl Fn(&TableDef, &engine::IdentityDef) -> Option<i128>,
) -> Result<Value> {
    let table = find_object(call, &call.text(0).unwrap_or_default())?.and_then(table_of);
    let number = table.and_then(|table| {
        let ordinal = table.identity_ordinal()?;
        part(&table, table.columns[ordinal].identity.as_ref()?)
    });
    Ok(number.map_or(Value::Null, |number| Value::Decimal(types::Decimal::new(number, 38, 0))))
}

fn ident_current(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    let Some((database, ..)) = resolve(call, &text) else {
        return Ok(Value::Null);
    };
    identity(call, |table, identity| {
        Some(database.table(&Arc::new(table.clone())).current_identity().unwrap_or(identity.seed))
    })
}

fn collation_property(call: &Call<'_, '_>) -> Result<Value> {
    let name = call.text(0).unwrap_or_default();
    let Some(collation) = types::Collation::by_name(&name) else {
        return Ok(Value::Null);
    };
    let info = collation.info();
    Ok(match call.text(1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "codepage" => variant(Value::Int(1252)),
        "lcid" => variant(Value::Int(info.lcid as i32)),
        "tdscollation" => variant(Value::binary(&collation.tds_bytes())),
        "comparisonstyle" => variant(Value::Int(info.comparison_style())),
        "version" => variant(Value::TinyInt(info.version)),
        _ => Value::Null,
    })
}

fn named_file(call: &Call<'_, '_>) -> Option<crate::DatabaseFile> {
    let name = call.text(0)?;
    crate::database_files(call.runtime.instance, call.runtime.database)
        .into_iter()
        .find(|file| same_name(&file.name, name.trim_end()))
}

fn file_id(call: &Call<'_, '_>) -> Option<i32> {
    named_file(call).map(|file| file.file_id)
}
/// There is one filegroup, which the server manages.
fn filegroup_property(call: &Call<'_, '_>) -> Result<Value> {
    if !call.text(0).is_some_and(|name| name.eq_ignore_ascii_case("primary")) {
        return Ok(Value::Null);
    }
    Ok(match call.text(1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "isdefault" => Value::Int(1),
        "isreadonly" | "isuserdefinedfg" => Value::Int(0),
        _ => Value::Null,
    })
}

/// FILEPROPERTY: of a file of the current database; SpaceUsed in pages.
fn file_property(call: &Call<'_, '_>) -> Result<Value> {
    let Some(file) = named_file(call) else { return Ok(Value::Null) };
    let (id, database) = (file.file_id, call.runtime.database);
    Ok(match call.text(1).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "isprimaryfile" => Value::Int(i32::from(id == 1)),
        "islogfile" => Value::Int(i32::from(file.is_log)),
        "isreadonly" => Value::Int(i32::from(database.options().read_only)),
        "spaceused" => {
            let pages = match file.is_log {
                true => used_log_bytes(database, id).div_ceil(8192),
                false => database.used_pages(file.number)?,
            };
            Value::Int(i32::try_from(pages).unwrap_or(i32::MAX))
        }
        _ => Value::Null,
    })
}

/// Bytes in use of a log file; if there are several, its VLFs in use.
fn used_log_bytes(database: &engine::Database, file_id: i32) -> u64 {
    if database.log().files().len() == 1 {
        return database.log().stats().used_bytes;
    }
    let vlfs = database.log().vlfs().into_iter();
    vlfs.filter(|vlf| vlf.active && i32::from(vlf.file) == file_id).map(|vlf| vlf.size_bytes).sum()
}

fn file_name(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0);
    let file = crate::database_files(call.runtime.instance, call.runtime.database)
        .into_iter()
        .find(|file| Some(i64::from(file.file_id)) == id);
    Ok(file.map_or(Value::Null, |file| Value::nvarchar(&file.name)))
}
