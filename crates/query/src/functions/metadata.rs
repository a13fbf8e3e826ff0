//! Functions that look into the catalog.

use std::sync::Arc;

use engine::{Database, ObjectDef, TableDef};
use types::{SqlError, SqlType, Value, Variant};

use super::{Call, FunctionDef, Parameter, ResultRule};
use crate::bind::names::same_name;
use crate::sysviews;

use Parameter::{Any, Int, Wide};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

const NAME: ResultRule = Fixed(SqlType::nvarchar(128));
const INT: ResultRule = Fixed(SqlType::Int);

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("OBJECT_ID", &[Wide, Wide], INT, object_id).arity(1, 2).sees_nulls().runtime(),
    FunctionDef::new("OBJECT_NAME", &[Int, Int], NAME, |call| {
        named(call, |object, _| object.name().to_string())
    })
    .arity(1, 2)
    .runtime(),
    FunctionDef::new("OBJECT_SCHEMA_NAME", &[Int, Int], NAME, |call| {
        named(call, |object, database| {
            database
                .catalog()
                .schema(object.schema_id())
                .map_or_else(String::new, |schema| schema.name.to_string())
        })
    })
    .arity(1, 2)
    .runtime(),
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
    FunctionDef::new("TYPEPROPERTY", &[Wide, Wide], INT, type_property).runtime(),
    FunctionDef::new("OBJECTPROPERTY", &[Int, Wide], INT, object_property).runtime(),
    FunctionDef::new("OBJECTPROPERTYEX", &[Int, Wide], Fixed(SqlType::SqlVariant), |call| {
        object_property(call).map(variant)
    })
    .runtime(),
    FunctionDef::new("COLUMNPROPERTY", &[Int, Wide, Wide], INT, column_property).runtime(),
    FunctionDef::new("INDEXPROPERTY", &[Int, Wide, Wide], INT, index_property).runtime(),
    FunctionDef::new("INDEX_COL", &[Wide, Int, Int], NAME, index_col).runtime(),
    FunctionDef::new("DATABASEPROPERTYEX", &[Wide, Wide], Fixed(SqlType::SqlVariant), database_property)
        .runtime(),
    FunctionDef::new("DATABASEPROPERTY", &[Wide, Wide], INT, |_| Ok(Value::Int(0))).runtime(),
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
    FunctionDef::new("FILE_ID", &[Wide], Fixed(SqlType::SmallInt), |_| Ok(Value::Null)).runtime(),
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
    FunctionDef::new("STATS_DATE", &[Int, Int], Fixed(SqlType::DateTime), |_| Ok(Value::Null)).runtime(),
    FunctionDef::new("COLLATIONPROPERTY", &[Wide, Wide], Fixed(SqlType::SqlVariant), collation_property)
        .runtime(),
    FunctionDef::new("APPLOCK_TEST", &[Any], INT, |_| Ok(Value::Int(1))).arity(4, 4).runtime(),
];

/// A sql_variant of a value; NULL stays NULL.
pub(crate) fn variant(value: Value) -> Value {
    match value {
        Value::Null | Value::Variant(_) => value,
        value => Value::Variant(Arc::new(Variant { sql_type: value.natural_type(), value })),
    }
}

/// The parts of a name in text, brackets and quotes undone; empty parts stay.
pub(crate) fn name_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.trim().chars().peekable();
    let mut closing: Option<char> = None;
    while let Some(c) = chars.next() {
        let part = parts.last_mut().expect("never empty");
        match closing {
            Some(close) if c == close => {
                if chars.peek() == Some(&close) {
                    chars.next();
                    part.push(close);
                } else {
                    closing = None;
                }
            }
            Some(_) => part.push(c),
            None => match c {
                '[' => closing = Some(']'),
                '"' => closing = Some('"'),
                '.' => parts.push(String::new()),
                c => part.push(c),
            },
        }
    }
    parts
}

/// What a name in text means: database, schema, object name. `None` when the database does not exist.
fn resolve(call: &Call<'_, '_>, text: &str) -> Option<(Arc<Database>, String, String)> {
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

fn find_object(call: &Call<'_, '_>, text: &str) -> Option<ObjectDef> {
    let (database, schema, name) = resolve(call, text)?;
    let catalog = database.catalog();
    catalog.object(catalog.resolve(&schema, &name)?)
}

fn table_of(object: ObjectDef) -> Option<Arc<TableDef>> {
    match object {
        ObjectDef::Table(table) => Some(table),
        ObjectDef::Module(_) => None,
    }
}

fn object_id(call: &Call<'_, '_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let wanted = call.text(1).map(|code| code.trim().to_ascii_uppercase());
    if let Some(object) = find_object(call, &text) {
        let code = object.type_code().trim();
        let matches = wanted.as_ref().is_none_or(|wanted| wanted == code);
        return Ok(if matches { Value::Int(object.object_id()) } else { Value::Null });
    }
    let Some((database, schema, name)) = resolve(call, &text) else {
        return Ok(Value::Null);
    };
    // Constraints are objects, too.
    for object in database.catalog().objects() {
        if let ObjectDef::Table(table) = &object
            && same_name(&table.schema, &schema)
            && let Some(constraint) =
                table.constraints().iter().find(|constraint| same_name(&constraint.1, &name))
        {
            let matches = wanted.as_ref().is_none_or(|wanted| wanted == constraint.2.trim());
            return Ok(if matches { Value::Int(constraint.0) } else { Value::Null });
        }
    }
    Ok(match sysviews::find(Some(&schema), &name) {
        Some(view) if wanted.as_deref().is_none_or(|wanted| wanted == "V") => {
            Value::Int(sysviews::object_id_of(view))
        }
        _ => Value::Null,
    })
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

fn named(call: &Call<'_, '_>, part: impl Fn(&ObjectDef, &Database) -> String) -> Result<Value> {
    let (Some(id), Some(database)) = (call.int(0), database_at(call, 1)) else {
        return Ok(Value::Null);
    };
    Ok(database
        .catalog()
        .object(id as i32)
        .map_or(Value::Null, |object| Value::nvarchar(&part(&object, &database))))
}

fn object_definition(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0) as i32;
    Ok(match call.runtime.database.catalog().object(id) {
        Some(ObjectDef::Module(module)) => Value::nvarchar(&module.definition),
        _ => Value::Null,
    })
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
    Ok(call.runtime.database.catalog().schema_id(&name).map_or(Value::Null, Value::Int))
}

fn schema_name(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.int(0) {
        None => Value::nvarchar("dbo"),
        Some(id) => call
            .runtime
            .database
            .catalog()
            .schema(id as i32)
            .map_or(Value::Null, |schema| Value::nvarchar(&schema.name)),
    })
}

fn table_by_id(call: &Call<'_, '_>, id: i64) -> Option<Arc<TableDef>> {
    table_of(call.runtime.database.catalog().object(id as i32)?)
}

fn col_name(call: &Call<'_, '_>) -> Result<Value> {
    let found = table_by_id(call, call.int(0).unwrap_or(0));
    let id = call.int(1).unwrap_or(0) as i32;
    Ok(found
        .and_then(|table| {
            table
                .columns
                .iter()
                .find(|column| column.column_id == id)
                .map(|column| Value::nvarchar(&column.name))
        })
        .unwrap_or(Value::Null))
}

fn col_length(call: &Call<'_, '_>) -> Result<Value> {
    let table = find_object(call, &call.text(0).unwrap_or_default()).and_then(table_of);
    let name = call.text(1).unwrap_or_default();
    Ok(table
        .and_then(|table| {
            table
                .column_ordinal(&name)
                .map(|ordinal| Value::SmallInt(table.columns[ordinal].sql_type.max_length()))
        })
        .unwrap_or(Value::Null))
}

fn type_id(call: &Call<'_, '_>) -> Result<Value> {
    let name = name_parts(&call.text(0).unwrap_or_default()).pop().unwrap_or_default();
    Ok(sysviews::type_by_name(&name).map_or(Value::Null, |found| Value::Int(found.user_type_id())))
}

fn type_name(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0);
    Ok(sysviews::all_types()
        .iter()
        .find(|sql_type| i64::from(sql_type.user_type_id()) == id)
        .map_or(Value::Null, |found| Value::nvarchar(found.name())))
}

fn type_property(call: &Call<'_, '_>) -> Result<Value> {
    let name = name_parts(&call.text(0).unwrap_or_default()).pop().unwrap_or_default();
    let Some(sql_type) = sysviews::type_by_name(&name) else {
        return Ok(Value::Null);
    };
    Ok(match call.text(1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "precision" => Value::Int(i32::from(sql_type.precision())),
        "scale" => Value::Int(i32::from(sql_type.scale())),
        "allowsnull" => Value::Int(i32::from(sql_type != SqlType::SysName)),
        "ownerid" => Value::Int(4),
        _ => Value::Null,
    })
}

fn object_property(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0) as i32;
    let property = call.text(1).unwrap_or_default().to_ascii_lowercase();
    let Some(object) = call.runtime.database.catalog().object(id) else {
        return Ok(Value::Null);
    };
    let code = object.type_code().trim();
    let table = table_of(object.clone());
    let has = |test: &dyn Fn(&TableDef) -> bool| {
        Value::Int(i32::from(table.as_ref().is_some_and(|table| test(table))))
    };
    Ok(match property.as_str() {
        "istable" => Value::Int(i32::from(table.is_some())),
        "isusertable" => Value::Int(i32::from(code == "U")),
        "issystemtable" => Value::Int(i32::from(code == "S")),
        "isview" => Value::Int(i32::from(code == "V")),
        "isprocedure" => Value::Int(i32::from(code == "P")),
        "isscalarfunction" => Value::Int(i32::from(code == "FN")),
        "istablefunction" => Value::Int(i32::from(matches!(code, "IF" | "TF"))),
        "isinlinefunction" => Value::Int(i32::from(code == "IF")),
        "istrigger" => Value::Int(i32::from(code == "TR")),
        "ismsshipped" => Value::Int(i32::from(code == "S")),
        "ownerid" => Value::Int(1),
        "schemaid" => Value::Int(object.schema_id()),
        "tablehasidentity" => has(&|table| table.identity_ordinal().is_some()),
        "tablehasprimarykey" => has(&|table| table.indexes.iter().any(|index| index.primary_key)),
        "tablehasclustindex" => has(&|table| !table.is_heap()),
        "tablehasindex" => has(&|table| table.indexes.len() > 1 || !table.is_heap()),
        "tablehasforeignkey" => has(&|table| !table.foreign_keys.is_empty()),
        "tablehascheckcnst" => has(&|table| !table.checks.is_empty()),
        "tablehasdefaultcnst" => has(&|table| table.columns.iter().any(|column| column.default.is_some())),
        "execisquotedidenton" | "execisansinullson" => Value::Int(1),
        _ => Value::Null,
    })
}

fn column_property(call: &Call<'_, '_>) -> Result<Value> {
    let Some(table) = table_by_id(call, call.int(0).unwrap_or(0)) else {
        return Ok(Value::Null);
    };
    let Some(ordinal) = table.column_ordinal(&call.text(1).unwrap_or_default()) else {
        return Ok(Value::Null);
    };
    let column = &table.columns[ordinal];
    Ok(match call.text(2).unwrap_or_default().to_ascii_lowercase().as_str() {
        "isidentity" => Value::Int(i32::from(column.identity.is_some())),
        "allowsnull" => Value::Int(i32::from(column.nullable)),
        "iscomputed" => Value::Int(i32::from(column.computed.is_some())),
        "columnid" => Value::Int(column.column_id),
        "isrowguidcol" => Value::Int(i32::from(column.is_rowguidcol)),
        "precision" => Value::Int(i32::from(match column.sql_type.precision() {
            0 => column.sql_type.max_length(),
            precision => i16::from(precision),
        })),
        "scale" => Value::Int(i32::from(column.sql_type.scale())),
        "charmaxlen" => Value::Int(i32::from(column.sql_type.max_length())),
        "isidnotforrepl"
        | "isoutparam"
        | "issparse"
        | "iscolumnset"
        | "ishidden"
        | "isfulltextindexed"
        | "generatedalwaystype" => Value::Int(0),
        "usesansitrim" => Value::Int(1),
        "isindexable" => Value::Int(i32::from(!column.sql_type.is_large_object())),
        "isdeterministic" | "isprecise" => Value::Int(1),
        _ => Value::Null,
    })
}

fn index_property(call: &Call<'_, '_>) -> Result<Value> {
    let Some(table) = table_by_id(call, call.int(0).unwrap_or(0)) else {
        return Ok(Value::Null);
    };
    let name = call.text(1).unwrap_or_default();
    let Some(index) =
        table.indexes.iter().find(|index| index.name.as_ref().is_some_and(|found| same_name(found, &name)))
    else {
        return Ok(Value::Null);
    };
    Ok(match call.text(2).unwrap_or_default().to_ascii_lowercase().as_str() {
        "indexid" => Value::Int(index.index_id),
        "isunique" => Value::Int(i32::from(index.unique)),
        "isclustered" => Value::Int(i32::from(index.index_id == 1)),
        "isprimarykey" => Value::Int(i32::from(index.primary_key)),
        "isstatistics" | "isautostatistics" | "ishypothetical" | "isdisabled" | "ispadindex"
        | "isfulltextkey" | "indexfillfactor" => Value::Int(0),
        _ => Value::Null,
    })
}

fn index_col(call: &Call<'_, '_>) -> Result<Value> {
    let table = find_object(call, &call.text(0).unwrap_or_default()).and_then(table_of);
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
    Ok(variant(sysviews::database_property(&database, &property)))
}

fn has_db_access(call: &Call<'_, '_>) -> Result<Value> {
    Ok(match call.runtime.instance.database(&call.text(0).unwrap_or_default()) {
        Ok(_) => Value::Int(1),
        Err(_) => Value::Null,
    })
}

fn identity(
    call: &Call<'_, '_>,
    part: impl Fn(&TableDef, &engine::IdentityDef) -> Option<i64>,
) -> Result<Value> {
    let table = find_object(call, &call.text(0).unwrap_or_default()).and_then(table_of);
    let number = table.and_then(|table| {
        let ordinal = table.identity_ordinal()?;
        part(&table, table.columns[ordinal].identity.as_ref()?)
    });
    Ok(number.map_or(Value::Null, |number| Value::Decimal(types::Decimal::new(i128::from(number), 38, 0))))
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
    if types::Collation::by_name(&name).is_none() {
        return Ok(Value::Null);
    }
    Ok(match call.text(1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "codepage" => variant(Value::Int(1252)),
        "lcid" => variant(Value::Int(1033)),
        "comparisonstyle" => variant(Value::Int(196_609)),
        "version" => variant(Value::TinyInt(0)),
        _ => Value::Null,
    })
}
