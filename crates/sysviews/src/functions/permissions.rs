//! The permissions that exist, and those of a login: all for an administrator, otherwise those of `public`.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use plan_ir::names::name_parts;
use types::{SqlError, SqlType, Value};

use super::metadata::find_object;
use crate::permission_classes::class;
use crate::principals;

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[FunctionDef::new(
    "HAS_PERMS_BY_NAME",
    &[Parameter::Wide],
    ResultRule::Fixed(SqlType::Int),
    has_permission,
)
.arity(3, 5)
.sees_nulls()
.runtime()];

fn has_permission(call: &Call<'_, '_>) -> Result<Value> {
    let securable = call.text(0);
    let class_name = call.text(1).unwrap_or_else(|| "SERVER".to_string());
    let Some(permission) = call.text(2) else {
        return Ok(Value::Null);
    };
    let (Some(class), permission) = (class(&class_name), permission.trim().to_ascii_uppercase()) else {
        return Ok(Value::Null);
    };
    let known = permission == "ANY" || class.permissions.iter().any(|known| known.0 == permission);
    let database = &call.runtime.database;
    let exists = match (class.class, &securable) {
        ("SERVER", None) => true,
        ("DATABASE", None) => true,
        ("DATABASE", Some(name)) => {
            let name = name_parts(name).pop().unwrap_or_default();
            call.runtime.instance.database(&name).is_ok()
        }
        ("SCHEMA", Some(name)) => {
            let name = name_parts(name).pop().unwrap_or_default();
            call.runtime.look_up(|lookup| lookup.schema_id(database, &name))?.is_some()
        }
        ("OBJECT", Some(name)) => object_exists(call, name)?,
        ("TYPE", Some(name)) => {
            crate::type_list::type_by_name(&name_parts(name).pop().unwrap_or_default()).is_some()
                || super::metadata::alias_type(call, name)?.is_some()
        }
        ("LOGIN", Some(name)) => {
            principals::named(&principals::of_server(call.runtime.state.login_name()), name).is_some()
        }
        ("USER" | "ROLE", Some(name)) => principals::named(&principals::of_database(), name).is_some(),
        _ => false,
    };
    if !known || !exists {
        return Ok(Value::Null);
    }
    let column_exists = match (call.text(3), call.text(4)) {
        (Some(column), Some(kind)) if kind.eq_ignore_ascii_case("column") => {
            let name = name_parts(&column).pop().unwrap_or_default();
            match find_object(call, &securable.unwrap_or_default())? {
                Some(engine::ObjectDef::Table(table)) => table.column_ordinal(&name).is_some(),
                Some(engine::ObjectDef::Module(module)) => {
                    crate::bound_columns(call.runtime, database, &module)
                        .iter()
                        .any(|column| plan_ir::names::same_name(&column.name, &name))
                }
                Some(engine::ObjectDef::Sequence(_)) | None => false,
            }
        }
        (None, _) => true,
        _ => false,
    };
    if !column_exists {
        return Ok(Value::Null);
    }
    Ok(Value::Int(i32::from(call.runtime.state.is_sysadmin())))
}

fn object_exists(call: &Call<'_, '_>, name: &str) -> Result<bool> {
    if find_object(call, name)?.is_some() {
        return Ok(true);
    }
    let mut parts = name_parts(name);
    let own = parts.pop().unwrap_or_default();
    let schema = parts.pop().filter(|part| !part.is_empty());
    Ok(crate::find(schema.as_deref(), &own).is_some())
}
