//! Converts data types of the syntax tree to `SqlType`.

use engine::{Database, Lookup};
use tsql::ast::{DataType, TypeArgument};
use types::{Length, SqlError, SqlType};

use crate::names::written;

/// Types that take nothing in parentheses.
const WITHOUT_LENGTH: [&str; 22] = [
    "bit",
    "tinyint",
    "smallint",
    "int",
    "integer",
    "bigint",
    "money",
    "smallmoney",
    "real",
    "double precision",
    "date",
    "datetime",
    "smalldatetime",
    "uniqueidentifier",
    "sysname",
    "text",
    "ntext",
    "image",
    "sql_variant",
    "xml",
    "rowversion",
    "timestamp",
];

/// The types that SQL Server builds on CLR: name, `user_type_id`, `max_length`. Catalog views list them; nothing can have such a type here.
pub const CLR_TYPES: [(&str, i32, i32); 3] =
    [("hierarchyid", 128, 892), ("geometry", 129, -1), ("geography", 130, -1)];

/// Where a type is written, and as the how manieth: errors say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypePlace {
    /// A column's, or a type's or sequence's own.
    Column(usize),
    /// A variable's or parameter's.
    Variable(usize),
}

impl TypePlace {
    fn position(self) -> usize {
        match self {
            TypePlace::Column(position) | TypePlace::Variable(position) => position,
        }
    }

    /// 2715.
    fn unknown_type(self, data_type: &DataType) -> SqlError {
        let state = if matches!(self, TypePlace::Variable(_)) { 3 } else { 6 };
        crate::errors::unknown_type(self.position(), &written(&data_type.name)).with_state(state)
    }
}

/// The type of a column, variable or parameter. Errors 2715 (unknown), 131, 1001, 2716, 2717, 2750, 2751.
pub fn declared(data_type: &DataType, place: TypePlace) -> Result<SqlType, SqlError> {
    resolve(data_type, 1, place.position())?.ok_or_else(|| place.unknown_type(data_type))
}

/// A type as written in a database: one of the system's, or an alias of the database's own.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// The type, or the base type of an alias.
    pub sql_type: SqlType,
    /// `user_type_id` of the alias, 0 when it is none.
    pub alias_id: i32,
    /// The nullability of the alias.
    pub nullable: Option<bool>,
}

/// The type of a column, variable or parameter, alias types included; waits for a transaction that is changing the alias. Errors as [`declared`],
/// 2716 (an alias takes no length), and those of waiting.
pub fn declared_in(
    data_type: &DataType,
    place: TypePlace,
    database: &Database,
    lookup: Lookup<'_>,
) -> Result<Declared, SqlError> {
    declared_by(data_type, place, |schema, name| lookup.type_named(database, schema, name))
}

/// The table type that a declaration names, if it names one; waits for a transaction that is changing it.
pub fn table_type_in(
    data_type: &DataType,
    database: &Database,
    lookup: Lookup<'_>,
) -> Result<Option<engine::TypeDef>, SqlError> {
    let name = &data_type.name;
    let is_plain = data_type.args.is_empty() && data_type.xml_schema.is_none() && name.database.is_none();
    let is_of_system = |sql_type: Result<Option<SqlType>, SqlError>| !matches!(sql_type, Ok(None));
    if !is_plain || is_of_system(resolve(data_type, 1, 1)) {
        return Ok(None);
    }
    let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
    Ok(lookup.type_named(database, schema, &name.name.value)?.filter(engine::TypeDef::is_table))
}

/// The number of the table type that a parameter of a module has, for views.
pub fn table_type_now(data_type: &DataType, database: &Database) -> Option<engine::TypeDef> {
    let (catalog, name) = (database.catalog(), &data_type.name);
    let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
    let found = catalog.find_type(catalog.schema_id(schema)?, &name.name.value);
    found.filter(|def| def.is_table() && matches!(resolve(data_type, 1, 1), Ok(None)))
}

/// The declared type for views of modules' parameters, with the current alias of the catalog.
pub fn declared_now(data_type: &DataType, database: &Database) -> Result<Declared, SqlError> {
    let catalog = database.catalog();
    let find = |schema: &str, name: &str| {
        Ok(catalog.schema_id(schema).and_then(|schema| catalog.find_type(schema, name)))
    };
    declared_by(data_type, TypePlace::Variable(1), find)
}

fn declared_by(
    data_type: &DataType,
    place: TypePlace,
    find: impl Fn(&str, &str) -> Result<Option<engine::TypeDef>, SqlError>,
) -> Result<Declared, SqlError> {
    let name = &data_type.name;
    let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
    if let Some(sql_type) = resolve(data_type, 1, place.position())? {
        return Ok(Declared { sql_type, alias_id: 0, nullable: None });
    }
    let alias = find(schema, &name.name.value)?.ok_or_else(|| place.unknown_type(data_type))?;
    if !data_type.args.is_empty() {
        return Err(SqlError::new(2716, &[&place.position(), &alias.name]));
    }
    if alias.is_table() {
        return Err(place.unknown_type(data_type));
    }
    Ok(Declared { sql_type: alias.sql_type, alias_id: alias.user_type_id, nullable: Some(alias.nullable) })
}

/// The type of CAST, CONVERT, PARSE and their like, where `varchar` without length means 30. Errors 243: unknown, or an alias, which cannot be
/// converted to; 291: it takes no length, or no scale.
pub fn cast_target(data_type: &DataType) -> Result<SqlType, SqlError> {
    let name = &data_type.name;
    match resolve(data_type, 30, 1) {
        Err(error) if error.number == 2716 => Err(SqlError::new(291, &[&name.name.value])),
        found => found?.ok_or_else(|| SqlError::new(243, &[&written(name)])),
    }
}

/// Checks the arguments in a type's parentheses.
fn check_arguments(data_type: &DataType, name: &str, position: usize) -> Result<(), SqlError> {
    if data_type.xml_schema.is_some() {
        return Err(crate::errors::unsupported("xml with a schema collection"));
    }
    if !data_type.args.is_empty() && WITHOUT_LENGTH.contains(&name) {
        return Err(SqlError::new(2716, &[&position, &name]));
    }
    Ok(())
}

/// One of the system's types; `None` when no such type is there.
fn resolve(data_type: &DataType, default_length: u16, position: usize) -> Result<Option<SqlType>, SqlError> {
    check_arguments(data_type, &data_type.name.name.value.to_ascii_lowercase(), position)?;
    let found = system_type(data_type, default_length, position)?;
    if let Some((name, ..)) =
        CLR_TYPES.iter().find(|(name, ..)| data_type.name.name.value.eq_ignore_ascii_case(name))
    {
        return Err(crate::errors::unsupported(&format!("the type {name}")));
    }
    let takes_scale = matches!(found, Some(SqlType::Decimal { .. } | SqlType::Numeric { .. }));
    let most = if takes_scale { 2 } else { 1 };
    if found.is_some() && data_type.args.len() > most {
        return Err(SqlError::new(2716, &[&position, &data_type.name.name.value]));
    }
    Ok(found)
}

fn system_type(
    data_type: &DataType,
    default_length: u16,
    position: usize,
) -> Result<Option<SqlType>, SqlError> {
    let name = data_type.name.name.value.to_ascii_lowercase();
    let length = |limit: u64| -> Result<Length, SqlError> {
        match data_type.args.first() {
            None => Ok(Length::N(default_length)),
            Some(TypeArgument::Max) => Ok(Length::Max),
            Some(TypeArgument::Number(0)) => Err(crate::errors::length_zero(0)),
            Some(TypeArgument::Number(n)) if *n <= limit => Ok(Length::N(*n as u16)),
            Some(TypeArgument::Number(n)) => Err(crate::errors::length_too_long(&name, *n, limit)),
            Some(TypeArgument::Word(word)) => Err(crate::errors::syntax_near(&word.value)),
        }
    };
    let fixed = |limit: u64| -> Result<u16, SqlError> {
        match length(limit)? {
            Length::N(n) => Ok(n),
            Length::Max => Err(crate::errors::syntax_near("max")),
        }
    };
    Ok(Some(match name.as_str() {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" | "integer" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "decimal" | "dec" => {
            let (precision, scale) = precision_and_scale(data_type, position)?;
            SqlType::Decimal { precision, scale }
        }
        "numeric" => {
            let (precision, scale) = precision_and_scale(data_type, position)?;
            SqlType::Numeric { precision, scale }
        }
        "money" => SqlType::Money,
        "smallmoney" => SqlType::SmallMoney,
        "real" => SqlType::Real,
        "float" => match number(data_type, 0) {
            Some(1..=24) => SqlType::Real,
            None | Some(25..=53) => SqlType::Float,
            Some(other) => return Err(crate::errors::precision_invalid(position, other, 53)),
        },
        "double precision" => SqlType::Float,
        "char" | "character" => SqlType::Char(fixed(8000)?),
        "varchar" | "char varying" | "character varying" => SqlType::VarChar(length(8000)?),
        "nchar" | "national char" | "national character" => SqlType::NChar(fixed(4000)?),
        "nvarchar" | "national char varying" | "national character varying" => {
            SqlType::NVarChar(length(4000)?)
        }
        "binary" => SqlType::Binary(fixed(8000)?),
        "varbinary" | "binary varying" => SqlType::VarBinary(length(8000)?),
        "date" => SqlType::Date,
        "time" => SqlType::Time(fraction(data_type)?),
        "datetime" => SqlType::DateTime,
        "smalldatetime" => SqlType::SmallDateTime,
        "datetime2" => SqlType::DateTime2(fraction(data_type)?),
        "datetimeoffset" => SqlType::DateTimeOffset(fraction(data_type)?),
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "sysname" => SqlType::SysName,
        "text" => SqlType::Text,
        "ntext" | "national text" => SqlType::NText,
        "image" => SqlType::Image,
        "sql_variant" => SqlType::SqlVariant,
        "xml" => SqlType::Xml,
        "rowversion" | "timestamp" => SqlType::RowVersion,
        _ => return Ok(None),
    }))
}

fn number(data_type: &DataType, index: usize) -> Option<u64> {
    match data_type.args.get(index) {
        Some(TypeArgument::Number(n)) => Some(*n),
        _ => None,
    }
}

fn precision_and_scale(data_type: &DataType, position: usize) -> Result<(u8, u8), SqlError> {
    let precision = number(data_type, 0).unwrap_or(18);
    let scale = number(data_type, 1).unwrap_or(0);
    if precision == 0 || precision > 38 {
        return Err(crate::errors::precision_invalid(position, precision, 38));
    }
    if scale > precision {
        return Err(crate::errors::scale_above_precision());
    }
    Ok((precision as u8, scale as u8))
}

fn fraction(data_type: &DataType) -> Result<u8, SqlError> {
    match number(data_type, 0) {
        None => Ok(7),
        Some(scale @ 0..=7) => Ok(scale as u8),
        Some(scale) => Err(crate::errors::fraction_invalid(scale)),
    }
}
