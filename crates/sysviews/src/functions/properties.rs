//! Properties of types, objects, columns and indexes, and the SET options of SESSIONPROPERTY.

use engine::{ModuleKind, ObjectDef, TableDef};
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use plan_ir::names::{name_parts, same_name};
use plan_ir::values::variant;
use types::{SqlError, SqlType, Value};

use super::metadata::{Found, find_object, found_by_id, resolve, table_by_id};

use Parameter::{Int, Wide};
use ResultRule::Fixed;

type Result<T> = std::result::Result<T, SqlError>;

const INT: ResultRule = Fixed(SqlType::Int);

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("TYPEPROPERTY", &[Wide, Wide], INT, type_property).runtime(),
    FunctionDef::new("OBJECTPROPERTY", &[Int, Wide], INT, object_property).runtime(),
    FunctionDef::new("OBJECTPROPERTYEX", &[Int, Wide], Fixed(SqlType::SqlVariant), object_property_ex)
        .runtime(),
    FunctionDef::new("ODBCSCALE", &[Int, Int], INT, |call| {
        let scale = call.int(1).and_then(|scale| i32::try_from(scale).ok()).unwrap_or(0);
        let scale = crate::odbc::scale_of(call.int(0).unwrap_or(0), scale);
        Ok(scale.map_or(Value::Null, Value::Int))
    }),
    FunctionDef::new("COLUMNPROPERTY", &[Int, Wide, Wide], INT, column_property).runtime(),
    FunctionDef::new("INDEXPROPERTY", &[Int, Wide, Wide], INT, index_property).runtime(),
    FunctionDef::new("INDEXKEY_PROPERTY", &[Int, Int, Int, Wide], INT, index_key_property).runtime(),
    FunctionDef::new("SESSIONPROPERTY", &[Wide], Fixed(SqlType::SqlVariant), session_property).runtime(),
];

fn truth(is: bool) -> Value {
    Value::Int(i32::from(is))
}

/// The digits of a number, otherwise characters or bytes: the meaning of `precision` here.
fn precision_of(sql_type: &SqlType) -> Value {
    let precision = sql_type.precision();
    if precision > 0 {
        return Value::Int(i32::from(precision));
    }
    length_of(sql_type)
}

/// Characters of a text, bytes of anything else, -1 for max, the documented limits for the old large types.
fn length_of(sql_type: &SqlType) -> Value {
    let base = sql_type.base();
    Value::Int(match base {
        SqlType::Text | SqlType::Image => i32::MAX,
        SqlType::NText => i32::MAX / 2,
        SqlType::NChar(_) | SqlType::NVarChar(_) if base.max_length() > 0 => i32::from(base.max_length() / 2),
        _ => i32::from(base.max_length()),
    })
}

/// The scale of a type that has one.
fn scale_of(sql_type: &SqlType) -> Value {
    match sql_type.base() {
        SqlType::Real | SqlType::Float | SqlType::Bit => Value::Null,
        base if base.precision() == 0 => Value::Null,
        base => Value::Int(i32::from(base.scale())),
    }
}

fn type_property(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    let name = name_parts(&text).pop().unwrap_or_default();
    let alias = super::metadata::alias_type(call, &text)?;
    let of_system = crate::type_list::type_by_name(&name);
    let Some(sql_type) = of_system.or_else(|| alias.as_ref().map(|alias| alias.sql_type)) else {
        return Ok(Value::Null);
    };
    if let (None, Some(alias), true) =
        (of_system, &alias, call.text(1).unwrap_or_default().eq_ignore_ascii_case("allowsnull"))
    {
        return Ok(truth(alias.nullable));
    }
    Ok(match call.text(1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "precision" => precision_of(&sql_type),
        "scale" => scale_of(&sql_type),
        "allowsnull" => truth(sql_type != SqlType::SysName && sql_type != SqlType::RowVersion),
        "ownerid" => Value::Int(4),
        "usesansitrim" => {
            match sql_type.is_character() || matches!(sql_type, SqlType::Binary(_) | SqlType::VarBinary(_)) {
                true => Value::Int(1),
                false => Value::Null,
            }
        }
        _ => Value::Null,
    })
}

fn object_property(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0) as i32;
    let property = call.text(1).unwrap_or_default().trim().to_ascii_lowercase();
    let Some(found) = found_by_id(call, call.runtime.database, id)? else {
        return Ok(Value::Null);
    };
    if let Some(value) = kind_property(&found, &property) {
        return Ok(value);
    }
    if let Found::Object(ObjectDef::Module(module)) = &found
        && module.kind == ModuleKind::Trigger
        && let Some(value) = crate::triggers::property(module, &property)
    {
        return Ok(value);
    }
    let is_parent = matches!(&found, Found::Object(ObjectDef::Table(_) | ObjectDef::Module(_)));
    let objects = || call.runtime.objects_of(call.runtime.database);
    if is_parent && let Some(value) = crate::triggers::property_of_parent(id, &property, objects) {
        return Ok(value);
    }
    if let Found::Constraint(table, name, _) = &found
        && property.starts_with("cnst")
    {
        return Ok(constraint_property(table, name, &property));
    }
    if let Some(table) = found.table()
        && property.starts_with("table")
    {
        return Ok(table_property(call, table, &property));
    }
    let module = match &found {
        Found::Object(ObjectDef::Module(module)) => Some(module.clone()),
        _ => None,
    };
    Ok(match property.as_str() {
        "execisquotedidenton" | "isquotedidenton" => {
            module.map_or(truth(found.table().is_some()), |module| truth(module.quoted_identifier))
        }
        "execisansinullson" | "isansinullson" => match (module, found.table()) {
            (Some(module), _) => truth(module.ansi_nulls),
            (None, table) => truth(table.is_some_and(|table| table.ansi_nulls)),
        },
        "isschemabound" => truth(module.is_some_and(|module| module.is_schema_bound)),
        "execiswithnativecompilation" => {
            module.map_or(Value::Null, |module| truth(module.uses_native_compilation))
        }
        "execisstartup" | "isencrypted" | "isindexed" | "isreplproc" => truth(false),
        "isindexable" => truth(found.table().is_some()),
        "isdeterministic" => truth(false),
        _ => Value::Null,
    })
}

/// Properties that follow from the kind of an object alone.
fn kind_property(found: &Found, property: &str) -> Option<Value> {
    let code = found.code();
    let shipped = code == "S" || matches!(found, Found::System(_));
    Some(match property {
        "istable" => truth(matches!(code, "U" | "S")),
        "isusertable" => truth(code == "U"),
        "issystemtable" => truth(code == "S"),
        "isview" => truth(code == "V"),
        "isprocedure" => truth(code == "P"),
        "isscalarfunction" => truth(code == "FN"),
        "istablefunction" => truth(matches!(code, "IF" | "TF")),
        "isinlinefunction" => truth(code == "IF"),
        "istrigger" => truth(code == "TR"),
        "isextendedproc" | "isqueue" | "israndomdefault" | "isrule" => truth(false),
        "isconstraint" => truth(matches!(code, "PK" | "UQ" | "F" | "C" | "D")),
        "isprimarykey" => truth(code == "PK"),
        "isuniquecnst" => truth(code == "UQ"),
        "isforeignkey" => truth(code == "F"),
        "ischeckcnst" => truth(code == "C"),
        "isdefaultcnst" => truth(code == "D"),
        "isdefault" => truth(false),
        "ismsshipped" => truth(shipped),
        "ownerid" => Value::Int(if shipped { 4 } else { 1 }),
        "schemaid" => Value::Int(found.schema_id()),
        "issystemverified" => Value::Null,
        _ => return None,
    })
}

fn constraint_property(table: &TableDef, name: &str, property: &str) -> Value {
    let index = table.indexes.iter().find(|index| {
        index.constraint_id != 0 && index.name.as_ref().is_some_and(|own| same_name(own, name))
    });
    let of_column = table
        .columns
        .iter()
        .any(|column| column.default.as_ref().is_some_and(|default| same_name(&default.name, name)));
    match property {
        "cnstisclustkey" => truth(index.is_some_and(|index| index.index_id == 1)),
        "cnstisnonclustkey" => truth(index.is_some_and(|index| index.index_id > 1)),
        "cnstiscolumn" => truth(of_column),
        "cnstisdeletecascade" => {
            truth(table.foreign_keys.iter().any(|key| same_name(&key.name, name) && key.delete_action == 1))
        }
        "cnstisupdatecascade" => {
            truth(table.foreign_keys.iter().any(|key| same_name(&key.name, name) && key.update_action == 1))
        }
        "cnstisnotrepl" => {
            let checks = table.checks.iter().map(|check| (&check.name, check.state));
            let keys = table.foreign_keys.iter().map(|key| (&key.name, key.state));
            let mut all = checks.chain(keys);
            truth(all.any(|(own, state)| state.is_not_for_replication && same_name(own, name)))
        }
        _ => Value::Null,
    }
}

fn table_property(call: &Call<'_, '_>, table: &std::sync::Arc<TableDef>, property: &str) -> Value {
    let type_is =
        |test: fn(&SqlType) -> bool| truth(table.columns.iter().any(|column| test(&column.sql_type)));
    match property {
        "tablehasidentity" => truth(table.identity_ordinal().is_some()),
        "tablehasprimarykey" => truth(table.indexes.iter().any(|index| index.primary_key)),
        "tablehasuniquecnst" => truth(table.indexes.iter().any(|index| index.unique_constraint)),
        "tablehasclustindex" => truth(!table.is_heap()),
        "tablehasnonclustindex" => truth(table.indexes.iter().any(|index| index.index_id > 1)),
        "tablehasindex" => truth(table.indexes.len() > 1 || !table.is_heap()),
        "tablehasforeignkey" => truth(!table.foreign_keys.is_empty()),
        "tablehasforeignref" => {
            truth(call.runtime.objects_of(call.runtime.database).iter().any(|object| match object {
                ObjectDef::Table(other) => {
                    other.foreign_keys.iter().any(|key| key.referenced_object_id == table.object_id)
                }
                ObjectDef::Module(_) | ObjectDef::Sequence(_) => false,
            }))
        }
        "tablehascheckcnst" => truth(!table.checks.is_empty()),
        "tablehasdefaultcnst" => truth(table.columns.iter().any(|column| column.default.is_some())),
        "tablehasrowguidcol" => truth(table.columns.iter().any(|column| column.is_rowguidcol)),
        "tablehastextimage" => type_is(SqlType::is_large_object),
        "tablehastimestamp" => type_is(|sql_type| *sql_type == SqlType::RowVersion),
        "tablehasactivefulltextindex"
        | "tablehascolumnset"
        | "tableisfake"
        | "tableislockedonbulkload"
        | "tableispinned"
        | "tabletextinrowlimit"
        | "tabletemporaltype"
        | "tableismemoryoptimized"
        | "tablehasvardecimalstorageformat" => truth(false),
        _ => Value::Null,
    }
}

/// As OBJECTPROPERTY, and additionally the base type and cardinality, which are no integers.
fn object_property_ex(call: &Call<'_, '_>) -> Result<Value> {
    let id = call.int(0).unwrap_or(0) as i32;
    let database = call.runtime.database;
    match call.text(1).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "basetype" => {
            let found = match found_by_id(call, database, id)? {
                Some(found) => base_type(call, &found)?,
                None => None,
            };
            Ok(found.map_or(Value::Null, |code| variant(Value::varchar(&format!("{code:<2}")))))
        }
        "cardinality" => match table_by_id(call, i64::from(id))? {
            Some(table) => {
                let rows = crate::count_rows(call.runtime, database, &table, table.base())?;
                Ok(variant(Value::BigInt(rows)))
            }
            None => Ok(Value::Null),
        },
        _ => object_property(call).map(variant),
    }
}

/// The type of an object; of a synonym, that of its base object, if it exists.
fn base_type(call: &Call<'_, '_>, found: &Found) -> Result<Option<&'static str>> {
    match found {
        Found::Object(ObjectDef::Module(module)) if module.kind == ModuleKind::Synonym => {
            let base = plan_ir::synonym::base_of(module, call.runtime.database);
            let written = plan_ir::synonym::bracketed(&base);
            if let Some(object) = find_object(call, &written)? {
                return Ok(Some(object.type_code()));
            }
            let Some((database, schema, name)) = resolve(call, &written) else { return Ok(None) };
            Ok(crate::find_in(&database, Some(&schema), &name).map(|_| "V "))
        }
        found => Ok(Some(found.code())),
    }
}

fn column_property(call: &Call<'_, '_>) -> Result<Value> {
    let property = call.text(2).unwrap_or_default().trim().to_ascii_lowercase();
    let name = call.text(1).unwrap_or_default();
    let id = call.int(0).unwrap_or(0) as i32;
    let found = found_by_id(call, call.runtime.database, id)?;
    let table = match &found {
        Some(Found::Object(ObjectDef::Table(table))) => table,
        Some(Found::Object(ObjectDef::Module(module))) => {
            return Ok(module_property(call, module, &name, &property));
        }
        _ => return Ok(Value::Null),
    };
    let Some(ordinal) = table.column_ordinal(&name) else {
        return Ok(Value::Null);
    };
    let column = &table.columns[ordinal];
    Ok(match property.as_str() {
        "isidentity" => truth(column.identity.is_some()),
        "allowsnull" => truth(column.nullable),
        "iscomputed" => truth(column.computed.is_some()),
        "isrowguidcol" => truth(column.is_rowguidcol),
        "isidnotforrepl" => truth(column.identity.is_some_and(|identity| identity.is_not_for_replication)),
        "columnid" => Value::Int(column.column_id),
        // Position of the column among the existing ones.
        "ordinal" => Value::Int(ordinal as i32 + 1),
        "isindexable" => {
            let is_short = !column.sql_type.is_large_object() && column.sql_type.max_length() != -1;
            truth(is_short && column.is_deterministic())
        }
        "isdeterministic" => truth(column.is_deterministic()),
        other => shape_property(&column.sql_type, other),
    })
}

/// Properties that follow from the type of a column, or hold for every column.
fn shape_property(sql_type: &SqlType, property: &str) -> Value {
    match property {
        "precision" => precision_of(sql_type),
        "scale" => scale_of(sql_type),
        "charmaxlen" => {
            let has_length = sql_type.is_character()
                || matches!(sql_type.base(), SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image);
            if has_length { length_of(sql_type) } else { Value::Null }
        }
        "usesansitrim" => {
            match sql_type.is_character() || matches!(sql_type, SqlType::Binary(_) | SqlType::VarBinary(_)) {
                true => Value::Int(1),
                false => Value::Null,
            }
        }
        "isprecise" => Value::Int(1),
        "isidnotforrepl"
        | "isoutparam"
        | "issparse"
        | "iscolumnset"
        | "ishidden"
        | "isfulltextindexed"
        | "generatedalwaystype"
        | "iscursortype"
        | "issystemverified"
        | "statisticalsemantics"
        | "isxmlindexable" => Value::Int(0),
        _ => Value::Null,
    }
}

/// A parameter of a procedure or function, or a column of a view or inline function.
fn module_property(
    call: &Call<'_, '_>,
    module: &std::sync::Arc<engine::ModuleDef>,
    name: &str,
    property: &str,
) -> Value {
    if name.starts_with('@') {
        let parameters = crate::module_parameters(call.runtime.database, module);
        let Some(at) = parameters.iter().position(|parameter| same_name(&parameter.name, name)) else {
            return Value::Null;
        };
        return match property {
            "isoutparam" => truth(parameters[at].output),
            "allowsnull" => truth(true),
            "columnid" | "ordinal" => Value::Int(at as i32 + 1),
            _ if parameters[at].is_cursor => Value::Null,
            other => shape_property(&parameters[at].sql_type, other),
        };
    }
    let columns = crate::bound_columns(call.runtime, call.runtime.database, module);
    let Some(at) = columns.iter().position(|column| same_name(&column.name, name)) else {
        return Value::Null;
    };
    match property {
        "allowsnull" => truth(columns[at].nullable),
        "columnid" => Value::Int(at as i32 + 1),
        "isidentity" | "iscomputed" | "isrowguidcol" | "isindexable" => truth(false),
        other => shape_property(&columns[at].sql_type, other),
    }
}

fn index_property(call: &Call<'_, '_>) -> Result<Value> {
    let Some(table) = table_by_id(call, call.int(0).unwrap_or(0))? else {
        return Ok(Value::Null);
    };
    let name = call.text(1).unwrap_or_default();
    let named = |index: &&engine::IndexDef| index.name.as_ref().is_some_and(|found| same_name(found, &name));
    let Some(index) = table.indexes.iter().find(named) else {
        return Ok(Value::Null);
    };
    Ok(match call.text(2).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "indexid" => Value::Int(index.index_id),
        "isunique" => truth(index.unique),
        "isclustered" => truth(index.index_id == 1),
        "isprimarykey" => truth(index.primary_key),
        "isdisabled" => truth(index.is_disabled),
        "indexfillfactor" => Value::Int(i32::from(index.settings.fill_factor)),
        "ispadindex" => truth(index.settings.is_padded),
        "ispagelockdisallowed" => truth(!index.settings.allow_page_locks),
        "isrowlockdisallowed" => truth(!index.settings.allow_row_locks),
        "isoptimizedforsequentialkey" => truth(index.settings.optimize_for_sequential_key),
        "indexdepth" | "isstatistics" | "isautostatistics" | "ishypothetical" | "isfulltextkey"
        | "iscolumnstore" => Value::Int(0),
        _ => Value::Null,
    })
}

fn index_key_property(call: &Call<'_, '_>) -> Result<Value> {
    let index_id = call.int(1).unwrap_or(0) as i32;
    let position = usize::try_from(call.int(2).unwrap_or(0) - 1).unwrap_or(usize::MAX);
    let Some(table) = table_by_id(call, call.int(0).unwrap_or(0))? else {
        return Ok(Value::Null);
    };
    let Some(key) = table.index(index_id).and_then(|index| index.key.get(position)) else {
        return Ok(Value::Null);
    };
    Ok(match call.text(3).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "columnid" => Value::Int(table.columns[key.ordinal].column_id),
        "isdescending" => truth(key.descending),
        _ => Value::Null,
    })
}

fn session_property(call: &Call<'_, '_>) -> Result<Value> {
    let options = call.runtime.options;
    Ok(match call.text(0).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "ansi_nulls" => variant(truth(options.ansi_nulls)),
        "ansi_padding" => variant(truth(options.ansi_padding)),
        "ansi_warnings" => variant(truth(options.ansi_warnings)),
        "arithabort" => variant(truth(options.arithabort)),
        "concat_null_yields_null" => variant(truth(options.concat_null_yields_null)),
        "numeric_roundabort" => variant(truth(options.numeric_roundabort)),
        "quoted_identifier" => variant(truth(options.quoted_identifier)),
        _ => Value::Null,
    })
}
