//! INFORMATION_SCHEMA: the SQL standard's views of the catalog.

use engine::{IndexDef, ModuleKind, ObjectDef, TableDef};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType};

use super::objects::user_tables;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

const NAMES: &str = "INFORMATION_SCHEMA";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new("TABLES", "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, TABLE_TYPE varchar(10)", tables).in_schema(NAMES),
    SystemView::new(
        "COLUMNS",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME nvarchar(128) not null, COLUMN_NAME nvarchar(128), \
         ORDINAL_POSITION int, COLUMN_DEFAULT nvarchar(4000), IS_NULLABLE varchar(3), DATA_TYPE nvarchar(128), \
         CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, \
         NUMERIC_SCALE int, DATETIME_PRECISION smallint, CHARACTER_SET_CATALOG nvarchar(128), CHARACTER_SET_SCHEMA nvarchar(128), \
         CHARACTER_SET_NAME nvarchar(128), COLLATION_CATALOG nvarchar(128), COLLATION_SCHEMA nvarchar(128), COLLATION_NAME nvarchar(128), \
         DOMAIN_CATALOG nvarchar(128), DOMAIN_SCHEMA nvarchar(128), DOMAIN_NAME nvarchar(128)",
        columns,
    )
    .in_schema(NAMES),
    SystemView::new(
        "SCHEMATA",
        "CATALOG_NAME nvarchar(128), SCHEMA_NAME sysname, SCHEMA_OWNER nvarchar(128), DEFAULT_CHARACTER_SET_CATALOG varchar(6), \
         DEFAULT_CHARACTER_SET_SCHEMA varchar(3), DEFAULT_CHARACTER_SET_NAME nvarchar(128)",
        schemata,
    )
    .in_schema(NAMES),
    SystemView::new(
        "VIEWS",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, VIEW_DEFINITION nvarchar(4000), CHECK_OPTION varchar(7), \
         IS_UPDATABLE varchar(2) not null",
        views,
    )
    .in_schema(NAMES),
    SystemView::new(
        "TABLE_CONSTRAINTS",
        "CONSTRAINT_CATALOG nvarchar(128), CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME sysname, TABLE_CATALOG nvarchar(128), \
         TABLE_SCHEMA nvarchar(128), TABLE_NAME nvarchar(128), CONSTRAINT_TYPE varchar(11), IS_DEFERRABLE varchar(2) not null, \
         INITIALLY_DEFERRED varchar(2) not null",
        table_constraints,
    )
    .in_schema(NAMES),
    SystemView::new(
        "KEY_COLUMN_USAGE",
        "CONSTRAINT_CATALOG nvarchar(128), CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME nvarchar(128) not null, \
         TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME nvarchar(128) not null, COLUMN_NAME nvarchar(128), \
         ORDINAL_POSITION int not null",
        key_columns,
    )
    .in_schema(NAMES),
    SystemView::new(
        "CONSTRAINT_TABLE_USAGE",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME nvarchar(128) not null, CONSTRAINT_CATALOG nvarchar(128), \
         CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME nvarchar(128) not null",
        constraint_tables,
    )
    .in_schema(NAMES),
    SystemView::new(
        "REFERENTIAL_CONSTRAINTS",
        "CONSTRAINT_CATALOG nvarchar(128), CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME sysname, UNIQUE_CONSTRAINT_CATALOG nvarchar(128), \
         UNIQUE_CONSTRAINT_SCHEMA nvarchar(128), UNIQUE_CONSTRAINT_NAME nvarchar(128), MATCH_OPTION varchar(7), UPDATE_RULE varchar(11), \
         DELETE_RULE varchar(11)",
        referential,
    )
    .in_schema(NAMES),
    SystemView::new(
        "CHECK_CONSTRAINTS",
        "CONSTRAINT_CATALOG nvarchar(128), CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME sysname, CHECK_CLAUSE nvarchar(4000)",
        checks,
    )
    .in_schema(NAMES),
];

fn database_name(context: &ViewContext<'_, '_>) -> String {
    context.database.name().to_string()
}

fn tables(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for object in context.runtime.objects_of(context.database) {
        let (schema, kind) = match &object {
            ObjectDef::Table(table) if !table.is_system => (table.schema.clone(), "BASE TABLE"),
            ObjectDef::Module(module) if module.kind == ModuleKind::View => (module.schema.clone(), "VIEW"),
            _ => continue,
        };
        context.row(&[
            ("TABLE_CATALOG", database.as_str().into()),
            ("TABLE_SCHEMA", schema.to_string().into()),
            ("TABLE_NAME", object.name().to_string().into()),
            ("TABLE_TYPE", kind.into()),
        ]);
    }
    Ok(())
}

/// Columns of tables and views, ordered by object id.
fn columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    let mut rows = columns_of_tables(context, &database);
    rows.extend(columns_of_views(context, &database));
    rows.sort_by_key(|(object_id, _)| *object_id);
    rows.iter().for_each(|(_, cells)| context.row(cells));
    Ok(())
}

/// An object id, and a row about one of the object's columns.
type ColumnRow = (i32, Vec<(&'static str, Cell)>);

fn columns_of_tables(context: &ViewContext<'_, '_>, database: &str) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    for table in user_tables(context) {
        for (index, column) in table.columns.iter().enumerate() {
            let default = column.default.as_ref().map(|default| default.text.to_string());
            let place = (database, &*table.schema, &*table.name, index + 1);
            let mut cells =
                column_cells(place, &column.name, &column.sql_type, column.nullable, column.collation);
            cells.push(("COLUMN_DEFAULT", default.into()));
            if let Some(alias) = context.database.catalog().type_by_id(column.user_type_id) {
                let schema = context.database.catalog().schema(alias.schema_id);
                cells.extend([
                    ("DOMAIN_CATALOG", Cell::from(database)),
                    ("DOMAIN_SCHEMA", schema.map(|schema| schema.name.to_string()).into()),
                    ("DOMAIN_NAME", alias.name.to_string().into()),
                ]);
            }
            rows.push((table.object_id, cells));
        }
    }
    rows
}

fn columns_of_views(context: &ViewContext<'_, '_>, database: &str) -> Vec<ColumnRow> {
    let mut rows = Vec::new();
    let objects = context.runtime.objects_of(context.database);
    let schemas = context.runtime.schemas_of(context.database);
    for (object_id, view) in super::dependencies::bound_views(context.runtime, context.database) {
        let is_it = |object: &&ObjectDef| object.object_id() == object_id && object.type_code() == "V ";
        let Some(object) = objects.iter().find(is_it) else {
            continue;
        };
        let schema = schemas.iter().find(|schema| schema.schema_id == object.schema_id());
        let schema = schema.map_or_else(String::new, |schema| schema.name.to_string());
        for (index, column) in view.iter().enumerate() {
            let place = (database, schema.as_str(), &**object.name(), index + 1);
            let collation = types::Collation::default();
            let cells = column_cells(place, &column.name, &column.sql_type, column.nullable, collation);
            rows.push((object_id, cells));
        }
    }
    rows
}

fn column_cells(
    (database, schema, table, position): (&str, &str, &str, usize),
    name: &str,
    sql_type: &SqlType,
    nullable: bool,
    collation: types::Collation,
) -> Vec<(&'static str, Cell)> {
    let family = sql_type.family();
    let base = sql_type.base();
    let text = matches!(family, TypeFamily::Char | TypeFamily::NChar | TypeFamily::Binary)
        && *sql_type != SqlType::RowVersion;
    let bytes = i32::from(base.max_length());
    let (length, octets) = match (family, base) {
        (_, SqlType::Text | SqlType::Image) => (i32::MAX, i32::MAX),
        (_, SqlType::NText) => (i32::MAX / 2, i32::MAX - 1),
        (TypeFamily::NChar, _) if bytes > 0 => (bytes / 2, bytes),
        _ => (bytes, bytes),
    };
    let exact = matches!(family, TypeFamily::Integer | TypeFamily::Decimal | TypeFamily::Money)
        && base != SqlType::Bit;
    let approximate = family == TypeFamily::Approximate;
    let fraction = match base {
        SqlType::Date | SqlType::SmallDateTime => Some(0),
        SqlType::DateTime => Some(3),
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => {
            Some(i32::from(scale))
        }
        _ => None,
    };
    vec![
        ("TABLE_CATALOG", database.into()),
        ("TABLE_SCHEMA", schema.into()),
        ("TABLE_NAME", table.into()),
        ("COLUMN_NAME", name.into()),
        ("ORDINAL_POSITION", (position as i32).into()),
        ("IS_NULLABLE", if nullable { "YES" } else { "NO" }.into()),
        ("DATA_TYPE", base.name().into()),
        ("CHARACTER_MAXIMUM_LENGTH", text.then_some(length).into()),
        ("CHARACTER_OCTET_LENGTH", text.then_some(octets).into()),
        ("NUMERIC_PRECISION", (exact || approximate).then_some(i32::from(base.precision())).into()),
        ("NUMERIC_PRECISION_RADIX", if exact { Some(10) } else { approximate.then_some(2) }.into()),
        ("NUMERIC_SCALE", exact.then_some(i32::from(base.scale())).into()),
        ("DATETIME_PRECISION", fraction.into()),
        (
            "CHARACTER_SET_NAME",
            match family {
                TypeFamily::Char => Some("iso_1"),
                TypeFamily::NChar => Some("UNICODE"),
                _ => None,
            }
            .into(),
        ),
        ("COLLATION_NAME", sql_type.is_character().then(|| collation.name()).into()),
    ]
}

fn schemata(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for schema in context.runtime.schemas_of(context.database) {
        context.row(&[
            ("CATALOG_NAME", database.as_str().into()),
            ("SCHEMA_NAME", schema.name.to_string().into()),
            (
                "SCHEMA_OWNER",
                if schema.schema_id <= 4 { schema.name.to_string() } else { "dbo".to_string() }.into(),
            ),
            ("DEFAULT_CHARACTER_SET_NAME", "iso_1".into()),
        ]);
    }
    Ok(())
}

/// Texts longer than the column are NULL, as in SQL Server.
fn short_text(text: &str) -> Option<String> {
    (text.encode_utf16().count() <= 4000).then(|| text.to_string())
}

fn views(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for object in context.runtime.objects_of(context.database) {
        if let ObjectDef::Module(module) = &object
            && module.kind == ModuleKind::View
        {
            let is_checked = super::objects::has_check_option(module);
            let check_option = if is_checked { "CASCADE" } else { "NONE" };
            context.row(&[
                ("TABLE_CATALOG", database.as_str().into()),
                ("TABLE_SCHEMA", module.schema.to_string().into()),
                ("TABLE_NAME", module.name.to_string().into()),
                ("VIEW_DEFINITION", short_text(&module.definition).into()),
                ("CHECK_OPTION", check_option.into()),
                ("IS_UPDATABLE", "NO".into()),
            ]);
        }
    }
    Ok(())
}

/// Cells that name a constraint and its table.
fn constraint_cells(database: &str, table: &TableDef, name: &str) -> Vec<(&'static str, Cell)> {
    vec![
        ("CONSTRAINT_CATALOG", database.into()),
        ("CONSTRAINT_SCHEMA", table.schema.to_string().into()),
        ("CONSTRAINT_NAME", name.into()),
        ("TABLE_CATALOG", database.into()),
        ("TABLE_SCHEMA", table.schema.to_string().into()),
        ("TABLE_NAME", table.name.to_string().into()),
    ]
}

fn keys(table: &TableDef) -> impl Iterator<Item = &IndexDef> {
    table.indexes.iter().filter(|index| index.constraint_id != 0)
}

fn table_constraints(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for table in user_tables(context) {
        let keys = keys(&table).map(|index| {
            (
                index.name.as_deref().unwrap_or("").to_string(),
                if index.primary_key { "PRIMARY KEY" } else { "UNIQUE" },
            )
        });
        let foreign = table.foreign_keys.iter().map(|key| (key.name.to_string(), "FOREIGN KEY"));
        let checks = table.checks.iter().map(|check| (check.name.to_string(), "CHECK"));
        for (name, kind) in keys.chain(foreign).chain(checks) {
            let mut cells = constraint_cells(&database, &table, &name);
            cells.extend([
                ("CONSTRAINT_TYPE", Cell::from(kind)),
                ("IS_DEFERRABLE", "NO".into()),
                ("INITIALLY_DEFERRED", "NO".into()),
            ]);
            context.row(&cells);
        }
    }
    Ok(())
}

fn key_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for table in user_tables(context) {
        let mut rows: Vec<(String, String, usize)> = Vec::new();
        for index in keys(&table) {
            for (position, key) in index.key.iter().enumerate() {
                rows.push((
                    index.name.as_deref().unwrap_or("").to_string(),
                    table.columns[key.ordinal].name.to_string(),
                    position + 1,
                ));
            }
        }
        for key in &table.foreign_keys {
            for (position, id) in key.column_ids.iter().enumerate() {
                if let Some(column) = table.columns.iter().find(|column| column.column_id == *id) {
                    rows.push((key.name.to_string(), column.name.to_string(), position + 1));
                }
            }
        }
        for (name, column, position) in rows {
            let mut cells = constraint_cells(&database, &table, &name);
            cells.push(("COLUMN_NAME", column.into()));
            cells.push(("ORDINAL_POSITION", (position as i32).into()));
            context.row(&cells);
        }
    }
    Ok(())
}

fn constraint_tables(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for table in user_tables(context) {
        for (_, name, code) in table.constraints() {
            if code != "D " {
                context.row(&constraint_cells(&database, &table, &name));
            }
        }
    }
    Ok(())
}

fn rule(action: u8) -> &'static str {
    match action {
        1 => "CASCADE",
        2 => "SET NULL",
        3 => "SET DEFAULT",
        _ => "NO ACTION",
    }
}

/// The key constraint that a foreign key refers to.
fn referenced_key(context: &ViewContext<'_, '_>, key: &engine::ForeignKeyDef) -> Option<(String, String)> {
    let mut objects = context.runtime.objects_of(context.database).into_iter();
    let ObjectDef::Table(table) = objects.find(|object| object.object_id() == key.referenced_object_id)?
    else {
        return None;
    };
    let index = table.indexes.iter().find(|index| {
        index.unique
            && index.key.len() == key.referenced_column_ids.len()
            && index
                .key
                .iter()
                .all(|column| key.referenced_column_ids.contains(&table.columns[column.ordinal].column_id))
    })?;
    Some((table.schema.to_string(), index.name.as_deref()?.to_string()))
}

fn referential(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for table in user_tables(context) {
        for key in &table.foreign_keys {
            let target = referenced_key(context, key);
            context.row(&[
                ("CONSTRAINT_CATALOG", database.as_str().into()),
                ("CONSTRAINT_SCHEMA", table.schema.to_string().into()),
                ("CONSTRAINT_NAME", key.name.to_string().into()),
                ("UNIQUE_CONSTRAINT_CATALOG", database.as_str().into()),
                ("UNIQUE_CONSTRAINT_SCHEMA", target.as_ref().map(|target| target.0.clone()).into()),
                ("UNIQUE_CONSTRAINT_NAME", target.map(|target| target.1).into()),
                ("MATCH_OPTION", "SIMPLE".into()),
                ("UPDATE_RULE", rule(key.update_action).into()),
                ("DELETE_RULE", rule(key.delete_action).into()),
            ]);
        }
    }
    Ok(())
}

fn checks(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = database_name(context);
    for table in user_tables(context) {
        for check in &table.checks {
            context.row(&[
                ("CONSTRAINT_CATALOG", database.as_str().into()),
                ("CONSTRAINT_SCHEMA", table.schema.to_string().into()),
                ("CONSTRAINT_NAME", check.name.to_string().into()),
                ("CHECK_CLAUSE", check.text.to_string().into()),
            ]);
        }
    }
    Ok(())
}
