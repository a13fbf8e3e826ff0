//! [`TableType`]: a table type as a declaration names it, and the slots of parameters that have one.

use std::sync::Arc;

use engine::{Database, Lookup};
use tsql::ast::{self, NamedOption, TableElement};
use types::SqlResult;

/// A table type.
#[derive(Debug)]
pub(crate) struct TableType {
    pub(crate) schema: Arc<str>,
    pub(crate) name: Arc<str>,
    /// The number of its database, and of its object there.
    identity: (u16, i32),
    pub(crate) elements: Vec<TableElement>,
    pub(crate) options: Vec<NamedOption>,
}

impl TableType {
    /// Is it the same type, not just one of the same name?
    pub(crate) fn is_same(&self, other: &TableType) -> bool {
        self.identity == other.identity
    }

    /// The numbers of its database and its object there, and its name.
    pub(crate) fn identified(&self) -> ((u16, i32), Arc<str>) {
        (self.identity, self.name.clone())
    }

    /// The declaration of a variable of this type.
    pub(crate) fn declaration(&self, name: &str) -> ast::DeclareTable {
        let (elements, options) = (self.elements.clone(), self.options.clone());
        ast::DeclareTable { name: name.to_string(), elements, options }
    }

    /// Names of the columns, in order.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let columns = self.elements.iter().filter_map(|element| match element {
            TableElement::Column(column) => Some(column.name.value.as_str()),
            _ => None,
        });
        columns.collect()
    }
}

/// The table type that a declaration names, if it names one.
pub(crate) fn table_type(
    data_type: &ast::DataType,
    (database, lookup): (&Database, Lookup<'_>),
) -> SqlResult<Option<Arc<TableType>>> {
    let Some(def) = query::table_type_in(data_type, database, lookup)? else { return Ok(None) };
    let (elements, options) = query::stored::table_type_definition(&def, database, lookup)?;
    let schema =
        database.catalog().schema(def.schema_id).map_or_else(|| "dbo".into(), |schema| schema.name.clone());
    let identity = (database.number(), def.table_object_id);
    Ok(Some(Arc::new(TableType { schema, name: def.name, identity, elements, options })))
}

/// Stands behind the name of a parameter that is a table: no expression can name the slot.
const TABLE_SLOT: &str = " (table)";

/// The name of the slot of a parameter that is a table. Its table stands among the temporary names, the slot keeps the place.
pub(crate) fn slot_name(parameter: &str) -> String {
    format!("{parameter}{TABLE_SLOT}")
}

/// The name of the parameter whose slot has this name, if it is a table.
pub(crate) fn parameter_of_slot(name: &str) -> Option<&str> {
    name.strip_suffix(TABLE_SLOT)
}
