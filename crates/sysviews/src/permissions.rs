//! Functions that return permissions as rows: all that exist, and those of the caller.

use plan_ir::names::name_parts;
use plan_ir::view::{SystemView, ViewContext};
use types::{SqlError, Value};

use crate::permission_classes::{CLASSES, PermissionClass, applies, class};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

const MINE: &str = "entity_name nvarchar(128) not null, subentity_name nvarchar(128) not null, permission_name nvarchar(60) not null";

const BUILTIN: &str = "class_desc nvarchar(60) not null, permission_name nvarchar(60) not null, type varchar(4) not null, \
     covering_permission_name nvarchar(60) not null, parent_class_desc nvarchar(60) not null, \
     parent_covering_permission_name nvarchar(60) not null";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new("fn_my_permissions", MINE, my_permissions).with_parameters(2),
    SystemView::new("fn_my_permissions", MINE, my_permissions).with_parameters(2).in_schema("dbo"),
    SystemView::new("fn_builtin_permissions", BUILTIN, builtin_permissions).with_parameters(1),
    SystemView::new("fn_builtin_permissions", BUILTIN, builtin_permissions)
        .with_parameters(1)
        .in_schema("dbo"),
];

/// `fn_my_permissions(securable, class)`: an administrator has all permissions of the class; other logins have those of `public`.
fn my_permissions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let securable = context.arguments.first().and_then(Value::as_text);
    let class_name =
        context.arguments.get(1).and_then(Value::as_text).unwrap_or_else(|| "SERVER".to_string());
    let Some(class) = class(&class_name) else {
        return Ok(());
    };
    let all = context.runtime.state.is_sysadmin();
    let granted = |class: &PermissionClass, permission: &str| {
        all || matches!(
            (class.class, permission),
            ("SERVER", "CONNECT SQL" | "VIEW ANY DATABASE") | ("DATABASE", "CONNECT")
        )
    };
    if class.class != "OBJECT" {
        let entity = match class.class {
            "SERVER" => "server".to_string(),
            "DATABASE" => "database".to_string(),
            _ => securable.unwrap_or_default(),
        };
        for (permission, _) in class.permissions.iter().filter(|permission| granted(class, permission.0)) {
            context
                .row(&[("entity_name", entity.as_str().into()), ("permission_name", (*permission).into())]);
        }
        return Ok(());
    }
    let entity = securable.unwrap_or_default();
    let mut parts = name_parts(&entity);
    let name = parts.pop().unwrap_or_default();
    let schema = parts.pop().filter(|part| !part.is_empty()).unwrap_or_else(|| "dbo".to_string());
    let found = context.runtime.look_up(|lookup| lookup.object(context.database, &schema, &name))?;
    let Some(object) = found else {
        return Ok(());
    };
    let columns: Vec<String> = match &object {
        engine::ObjectDef::Table(table) => {
            table.columns.iter().map(|column| column.name.to_string()).collect()
        }
        engine::ObjectDef::Module(module) => {
            super::dependencies::bound_columns(context.runtime, context.database, module)
                .into_iter()
                .map(|column| column.name)
                .collect()
        }
        engine::ObjectDef::Sequence(_) => Vec::new(),
    };
    let applying = class.permissions.iter().map(|permission| permission.0);
    let applying: Vec<&str> = applying
        .filter(|permission| applies(permission, object.type_code()) && granted(class, permission))
        .collect();
    for permission in &applying {
        context.row(&[("entity_name", entity.as_str().into()), ("permission_name", (*permission).into())]);
    }
    for column in columns {
        for permission in
            applying.iter().filter(|permission| matches!(**permission, "SELECT" | "UPDATE" | "REFERENCES"))
        {
            context.row(&[
                ("entity_name", entity.as_str().into()),
                ("subentity_name", column.as_str().into()),
                ("permission_name", (*permission).into()),
            ]);
        }
    }
    Ok(())
}

/// `fn_builtin_permissions({DEFAULT | NULL | '' | 'class'})`.
fn builtin_permissions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let wanted = context.arguments.first().and_then(Value::as_text).unwrap_or_default();
    for class in CLASSES
        .iter()
        .filter(|class| wanted.trim().is_empty() || class.class.eq_ignore_ascii_case(wanted.trim()))
    {
        for (permission, code) in class.permissions {
            let covering = match (class.class, *permission) {
                ("SERVER", "CONTROL SERVER") | (_, "CONTROL") => "",
                ("SERVER", _) => "CONTROL SERVER",
                _ => "CONTROL",
            };
            let parent_covering = match class.parent {
                None => "",
                Some("SERVER") => "CONTROL SERVER",
                Some(_) => "CONTROL",
            };
            context.row(&[
                ("class_desc", class.class.into()),
                ("permission_name", (*permission).into()),
                ("type", (*code).into()),
                ("covering_permission_name", covering.into()),
                ("parent_class_desc", class.parent.unwrap_or("").into()),
                ("parent_covering_permission_name", parent_covering.into()),
            ]);
        }
    }
    Ok(())
}
