//! Which permissions there are, and which a login has: everything, if it is an administrator; public what everybody has.

use types::{SqlError, SqlType, Value};

use super::metadata::find_object;
use crate::function_def::{Call, FunctionDef, Parameter, ResultRule};
use crate::names::name_parts;
use crate::sysviews;

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

/// A securable's class and the permissions that may be had on it, each with its short code.
pub(crate) struct PermissionClass {
    pub(crate) class: &'static str,
    pub(crate) permissions: &'static [(&'static str, &'static str)],
    /// The class that contains it.
    pub(crate) parent: Option<&'static str>,
}

const ON_OWNED: &[(&str, &str)] =
    &[("VIEW DEFINITION", "VW"), ("ALTER", "AL"), ("TAKE OWNERSHIP", "TO"), ("CONTROL", "CL")];

/// All classes.
pub(crate) static CLASSES: &[PermissionClass] = &[
    PermissionClass {
        class: "SERVER",
        permissions: &[
            ("CONNECT SQL", "COSQ"),
            ("SHUTDOWN", "SHDN"),
            ("CREATE ENDPOINT", "CRHE"),
            ("CREATE ANY DATABASE", "CRDB"),
            ("CREATE AVAILABILITY GROUP", "CRAC"),
            ("CREATE SERVER ROLE", "CRSR"),
            ("CREATE DDL EVENT NOTIFICATION", "CRDE"),
            ("CREATE TRACE EVENT NOTIFICATION", "CRTE"),
            ("ALTER ANY LOGIN", "ALLG"),
            ("ALTER ANY CREDENTIAL", "ALCD"),
            ("ALTER ANY ENDPOINT", "ALHE"),
            ("ALTER ANY LINKED SERVER", "ALLS"),
            ("ALTER ANY CONNECTION", "ALCO"),
            ("ALTER ANY DATABASE", "ALDB"),
            ("ALTER ANY EVENT NOTIFICATION", "ALES"),
            ("ALTER ANY EVENT SESSION", "AAES"),
            ("ALTER ANY AVAILABILITY GROUP", "ALAG"),
            ("ALTER ANY SERVER AUDIT", "ALAA"),
            ("ALTER ANY SERVER ROLE", "ALSR"),
            ("ALTER RESOURCES", "ALRS"),
            ("ALTER SETTINGS", "ALST"),
            ("ALTER SERVER STATE", "ALSS"),
            ("ALTER TRACE", "ALTR"),
            ("VIEW ANY DATABASE", "VWDB"),
            ("VIEW ANY DEFINITION", "VWAD"),
            ("VIEW SERVER STATE", "VWSS"),
            ("ADMINISTER BULK OPERATIONS", "ADBO"),
            ("AUTHENTICATE SERVER", "AUTH"),
            ("CONNECT ANY DATABASE", "CADB"),
            ("EXTERNAL ACCESS ASSEMBLY", "XA"),
            ("IMPERSONATE ANY LOGIN", "IAL"),
            ("SELECT ALL USER SECURABLES", "SUS"),
            ("UNSAFE ASSEMBLY", "XU"),
            ("CONTROL SERVER", "CL"),
        ],
        parent: None,
    },
    PermissionClass {
        class: "DATABASE",
        permissions: &[
            ("CREATE TABLE", "CRTB"),
            ("CREATE VIEW", "CRVW"),
            ("CREATE PROCEDURE", "CRPR"),
            ("CREATE FUNCTION", "CRFN"),
            ("CREATE RULE", "CRRU"),
            ("CREATE DEFAULT", "CRDF"),
            ("BACKUP DATABASE", "BADB"),
            ("BACKUP LOG", "BALO"),
            ("CREATE DATABASE DDL EVENT NOTIFICATION", "CRED"),
            ("CREATE TYPE", "CRTY"),
            ("CREATE ASSEMBLY", "CRAS"),
            ("CREATE XML SCHEMA COLLECTION", "CRXS"),
            ("CREATE SCHEMA", "CRSM"),
            ("CREATE SYNONYM", "CRSN"),
            ("CREATE AGGREGATE", "CRAG"),
            ("CREATE ROLE", "CRRL"),
            ("CREATE MESSAGE TYPE", "CRMT"),
            ("CREATE SERVICE", "CRSV"),
            ("CREATE CONTRACT", "CRCT"),
            ("CREATE REMOTE SERVICE BINDING", "CRSB"),
            ("CREATE ROUTE", "CRRT"),
            ("CREATE QUEUE", "CRQU"),
            ("CREATE SYMMETRIC KEY", "CRSK"),
            ("CREATE ASYMMETRIC KEY", "CRAK"),
            ("CREATE FULLTEXT CATALOG", "CRFT"),
            ("CREATE CERTIFICATE", "CRCF"),
            ("CONNECT", "CO"),
            ("CONNECT REPLICATION", "CORP"),
            ("CHECKPOINT", "CP"),
            ("SUBSCRIBE QUERY NOTIFICATIONS", "SUQN"),
            ("AUTHENTICATE", "AUTH"),
            ("SHOWPLAN", "SPLN"),
            ("ALTER ANY USER", "ALUS"),
            ("ALTER ANY ROLE", "ALRL"),
            ("ALTER ANY APPLICATION ROLE", "ALAR"),
            ("ALTER ANY SCHEMA", "ALSM"),
            ("ALTER ANY ASSEMBLY", "ALAS"),
            ("ALTER ANY DATABASE DDL TRIGGER", "ALTG"),
            ("ALTER ANY DATASPACE", "ALDS"),
            ("VIEW DATABASE STATE", "VWDS"),
            ("SELECT", "SL"),
            ("UPDATE", "UP"),
            ("REFERENCES", "RF"),
            ("INSERT", "IN"),
            ("DELETE", "DL"),
            ("EXECUTE", "EX"),
            ("VIEW DEFINITION", "VW"),
            ("ALTER", "AL"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("SERVER"),
    },
    PermissionClass {
        class: "SCHEMA",
        permissions: &[
            ("CREATE SEQUENCE", "CRSO"),
            ("SELECT", "SL"),
            ("UPDATE", "UP"),
            ("REFERENCES", "RF"),
            ("INSERT", "IN"),
            ("DELETE", "DL"),
            ("EXECUTE", "EX"),
            ("VIEW CHANGE TRACKING", "VWCT"),
            ("VIEW DEFINITION", "VW"),
            ("ALTER", "AL"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("DATABASE"),
    },
    PermissionClass {
        class: "OBJECT",
        permissions: &[
            ("SELECT", "SL"),
            ("UPDATE", "UP"),
            ("REFERENCES", "RF"),
            ("INSERT", "IN"),
            ("DELETE", "DL"),
            ("EXECUTE", "EX"),
            ("RECEIVE", "RC"),
            ("VIEW CHANGE TRACKING", "VWCT"),
            ("VIEW DEFINITION", "VW"),
            ("ALTER", "AL"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("SCHEMA"),
    },
    PermissionClass {
        class: "TYPE",
        permissions: &[
            ("REFERENCES", "RF"),
            ("EXECUTE", "EX"),
            ("VIEW DEFINITION", "VW"),
            ("TAKE OWNERSHIP", "TO"),
            ("CONTROL", "CL"),
        ],
        parent: Some("SCHEMA"),
    },
    PermissionClass {
        class: "LOGIN",
        permissions: &[("IMPERSONATE", "IM"), ("VIEW DEFINITION", "VW"), ("ALTER", "AL"), ("CONTROL", "CL")],
        parent: Some("SERVER"),
    },
    PermissionClass {
        class: "USER",
        permissions: &[("IMPERSONATE", "IM"), ("VIEW DEFINITION", "VW"), ("ALTER", "AL"), ("CONTROL", "CL")],
        parent: Some("DATABASE"),
    },
    PermissionClass { class: "ROLE", permissions: ON_OWNED, parent: Some("DATABASE") },
];

/// A class by name, in any letter case.
pub(crate) fn class(name: &str) -> Option<&'static PermissionClass> {
    CLASSES.iter().find(|class| class.class.eq_ignore_ascii_case(name.trim()))
}

/// What applies to an object: procedures are executed, tables and views read and changed.
pub(crate) fn applies(permission: &str, type_code: &str) -> bool {
    match type_code.trim() {
        "P" | "FN" => !matches!(
            permission,
            "SELECT" | "UPDATE" | "INSERT" | "DELETE" | "RECEIVE" | "REFERENCES" | "VIEW CHANGE TRACKING"
        ),
        _ => !matches!(permission, "EXECUTE" | "RECEIVE"),
    }
}

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
            sysviews::type_by_name(&name_parts(name).pop().unwrap_or_default()).is_some()
                || super::metadata::alias_type(call, name)?.is_some()
        }
        ("LOGIN", Some(name)) => {
            name.eq_ignore_ascii_case("sa") || name.eq_ignore_ascii_case(call.runtime.facts.login_name())
        }
        ("USER" | "ROLE", Some(name)) => ["dbo", "guest", "public", "sys", "INFORMATION_SCHEMA", "db_owner"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name)),
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
                    sysviews::bound_columns(call.runtime, database, &module)
                        .iter()
                        .any(|column| crate::names::same_name(&column.name, &name))
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
    Ok(Value::Int(i32::from(call.runtime.facts.is_sysadmin())))
}

fn object_exists(call: &Call<'_, '_>, name: &str) -> Result<bool> {
    if find_object(call, name)?.is_some() {
        return Ok(true);
    }
    let mut parts = name_parts(name);
    let own = parts.pop().unwrap_or_default();
    let schema = parts.pop().filter(|part| !part.is_empty());
    Ok(sysviews::find(schema.as_deref(), &own).is_some())
}
