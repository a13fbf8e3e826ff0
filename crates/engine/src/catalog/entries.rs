//! Catalog entries besides objects and schemas: extended properties, alias types, statistics, and in master the users' messages and the
//! configured values. Each is one row of a system table and one entry of the cache; both change together and are rolled back together.

use std::sync::Arc;

use types::{Collation, DateTime, SqlType, Value};

use super::rows::{Fields, column_status, int, text, type_of, type_parts};
use super::system_tables;
use crate::schema::ObjectId;
use crate::statistics::StatisticsDef;

/// The first number of users' types.
pub const FIRST_USER_TYPE_ID: i32 = 257;

/// The owner of an extended property: class of the catalog view, object, part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyOwner {
    /// 0 database, 1 object or column, 2 parameter, 3 schema, 4 principal, 6 type, 7 index, 20 filegroup.
    pub class: u8,
    /// `major_id`.
    pub major_id: i32,
    /// `minor_id`.
    pub minor_id: i32,
}

impl PropertyOwner {
    /// Is it an object, or a part of one?
    pub(crate) fn is_of_object(&self) -> bool {
        matches!(self.class, 1 | 2 | 7) && self.major_id > 0
    }
}

/// An extended property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyDef {
    /// Its owner.
    pub owner: PropertyOwner,
    /// Name.
    pub name: Arc<str>,
    /// A `sql_variant`, or NULL.
    pub value: Value,
}

/// An alias type or a table type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeDef {
    /// `user_type_id`.
    pub user_type_id: i32,
    /// Schema.
    pub schema_id: i32,
    /// Name.
    pub name: Arc<str>,
    /// Its base type; of a table type it says nothing.
    pub sql_type: SqlType,
    /// The object of a table type that holds its text; 0 for an alias type.
    pub table_object_id: ObjectId,
    /// Columns of it may be NULL unless they are declared otherwise.
    pub nullable: bool,
    /// When it was created.
    pub create_date: DateTime,
}

/// A message of users, for RAISERROR by number.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageDef {
    /// Number, above 50000.
    pub number: i32,
    /// `language_id`: 1033.
    pub language_id: i32,
    /// Severity.
    pub severity: u8,
    /// Always written to the server's log.
    pub is_logged: bool,
    /// Text with its placeholders.
    pub text: Arc<str>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Extended property.
    Property(PropertyDef),
    /// Alias type.
    Type(TypeDef),
    /// Message.
    Message(MessageDef),
    /// Configured value of an option of the server: `configuration_id`, value.
    Configuration(i32, i32),
    /// Statistics of a table's columns or of an index.
    Statistics(Arc<StatisticsDef>),
}

/// `system_type_id` of table types.
pub const TABLE_SYSTEM_TYPE_ID: u8 = 243;

impl TypeDef {
    /// Is it a table type?
    pub fn is_table(&self) -> bool {
        self.table_object_id != 0
    }
}

/// What identifies an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKey {
    /// Its owner, and its name folded.
    Property(PropertyOwner, String),
    /// `user_type_id`.
    Type(i32),
    /// Number and language.
    Message(i32, i32),
    /// `configuration_id`.
    Configuration(i32),
    /// Table and `stats_id`.
    Statistics(ObjectId, i32),
}

impl Entry {
    /// Its key.
    pub fn key(&self) -> EntryKey {
        match self {
            Entry::Property(property) => EntryKey::Property(property.owner, fold(&property.name)),
            Entry::Type(def) => EntryKey::Type(def.user_type_id),
            Entry::Message(message) => EntryKey::Message(message.number, message.language_id),
            Entry::Configuration(id, _) => EntryKey::Configuration(*id),
            Entry::Statistics(def) => EntryKey::Statistics(def.object_id, def.stats_id),
        }
    }

    pub(crate) fn table(&self) -> usize {
        match self {
            Entry::Property(_) => system_tables::PROPERTIES,
            Entry::Type(_) => system_tables::TYPES,
            Entry::Message(_) => system_tables::MESSAGES,
            Entry::Configuration(..) => system_tables::CONFIGURATIONS,
            Entry::Statistics(_) => system_tables::STATISTICS,
        }
    }

    pub(crate) fn row(&self) -> Vec<Value> {
        match self {
            Entry::Property(property) => vec![
                Value::TinyInt(property.owner.class),
                int(property.owner.major_id),
                int(property.owner.minor_id),
                text(&property.name),
                property.value.clone(),
            ],
            Entry::Type(def) if def.is_table() => vec![
                int(def.user_type_id),
                int(def.schema_id),
                text(&def.name),
                Value::TinyInt(TABLE_SYSTEM_TYPE_ID),
                int(def.table_object_id),
                Value::TinyInt(0),
                Value::TinyInt(0),
                int(0),
                Value::DateTime(def.create_date),
            ],
            Entry::Type(def) => {
                let (length, precision, scale, bits) = type_parts(&def.sql_type);
                let nullable = if def.nullable { column_status::NULLABLE } else { 0 };
                vec![
                    int(def.user_type_id),
                    int(def.schema_id),
                    text(&def.name),
                    Value::TinyInt(def.sql_type.system_type_id()),
                    int(length),
                    Value::TinyInt(precision),
                    Value::TinyInt(scale),
                    int(bits | nullable),
                    Value::DateTime(def.create_date),
                ]
            }
            Entry::Message(message) => vec![
                int(message.number),
                int(message.language_id),
                Value::TinyInt(message.severity),
                int(i32::from(message.is_logged)),
                text(&message.text),
            ],
            Entry::Configuration(id, value) => vec![int(*id), int(*value)],
            Entry::Statistics(def) => def.row(),
        }
    }

    /// The entry in a row of a system table; none for other tables and for invalid rows.
    pub(super) fn from_row(table: usize, row: &[Value]) -> Option<Entry> {
        let fields = Fields(row);
        Some(match table {
            system_tables::PROPERTIES => Entry::Property(PropertyDef {
                owner: PropertyOwner {
                    class: fields.tiny(0)?,
                    major_id: fields.int(1)?,
                    minor_id: fields.int(2)?,
                },
                name: fields.text(3)?,
                value: row.get(4)?.clone(),
            }),
            system_tables::TYPES => {
                let (system_type_id, status) = (fields.tiny(3)?, fields.int(7)?);
                let is_table = system_type_id == TABLE_SYSTEM_TYPE_ID;
                let sql_type = match is_table {
                    true => SqlType::SqlVariant,
                    false => {
                        type_of(system_type_id, fields.int(4)?, fields.tiny(5)?, fields.tiny(6)?, status)?
                    }
                };
                Entry::Type(TypeDef {
                    user_type_id: fields.int(0)?,
                    schema_id: fields.int(1)?,
                    name: fields.text(2)?,
                    sql_type,
                    table_object_id: if is_table { fields.int(4)? } else { 0 },
                    nullable: status & column_status::NULLABLE != 0,
                    create_date: fields.date_time(8)?,
                })
            }
            system_tables::MESSAGES => Entry::Message(MessageDef {
                number: fields.int(0)?,
                language_id: fields.int(1)?,
                severity: fields.tiny(2)?,
                is_logged: fields.int(3)? != 0,
                text: fields.text(4)?,
            }),
            system_tables::CONFIGURATIONS => Entry::Configuration(fields.int(0)?, fields.int(1)?),
            system_tables::STATISTICS => Entry::Statistics(Arc::new(StatisticsDef::from_row(row)?)),
            _ => return None,
        })
    }
}

/// A name in the form for comparisons: without letter case.
pub(crate) fn fold(name: &str) -> String {
    Collation::DEFAULT.fold_name(name)
}
