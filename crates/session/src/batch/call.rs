//! A procedure call: its arguments and its results.

use std::sync::Arc;

use query::VariableDef;
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::compile::CURSOR_PARAMETER;
use crate::rpc::{RpcParameter, SentTable};
use crate::table_types::TableType;

/// One evaluated argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// Name with `@`; `None`: positional.
    pub(crate) name: Option<String>,
    pub(crate) sql_type: SqlType,
    /// `None` asks for the parameter's default.
    pub(crate) value: Option<Value>,
    pub(crate) output: bool,
    /// The table that is passed instead of a value.
    pub(crate) table: Option<TableArgument>,
    /// It is a cursor variable.
    pub(crate) is_cursor: bool,
}

/// A table as an argument.
#[derive(Clone, Debug)]
pub(crate) enum TableArgument {
    /// A table variable of the caller, by its real name; a table that was declared without a type has none.
    Variable(String, Option<Arc<TableType>>),
    /// A table that the client has sent.
    Sent(Arc<SentTable>),
}

/// A parameter that is a table, bound to an argument; `None`: an empty table.
pub(crate) struct BoundTable {
    pub(crate) name: String,
    pub(crate) table_type: Arc<TableType>,
    pub(crate) argument: Option<TableArgument>,
}

impl TableArgument {
    /// The name of its type. Error 206 when it has none.
    pub(crate) fn type_name(&self) -> SqlResult<String> {
        let (schema, name): (&str, &str) = match self {
            TableArgument::Variable(_, Some(own)) => (&own.schema, &own.name),
            TableArgument::Sent(sent) if !sent.name.is_empty() => (&sent.schema, &sent.name),
            _ => return Err(SqlError::new(206, &[&"table", &"table type"])),
        };
        let quoted = |part: &str| format!("[{}]", part.replace(']', "]]"));
        let schema = if schema.is_empty() { "dbo" } else { schema };
        Ok(format!("{}.{}", quoted(schema), quoted(name)))
    }
}

impl BoundTable {
    /// An empty table for a parameter without an argument.
    pub(crate) fn empty(parameter: &str, table_type: &Arc<TableType>) -> BoundTable {
        BoundTable { name: parameter.to_string(), table_type: table_type.clone(), argument: None }
    }
}

/// The results of a call.
#[derive(Debug, Default)]
pub(crate) struct CallResult {
    pub(crate) status: i32,
    /// OUTPUT arguments: index of the argument, the parameter's name and type, its last value.
    pub(crate) outputs: Vec<(usize, String, SqlType, Value)>,
    /// The value of a scalar function.
    pub(crate) returned: Option<(SqlType, Value)>,
}

impl Argument {
    /// Error 206 when only one of argument and parameter is a cursor.
    pub(crate) fn check_kind(&self, parameter: &VariableDef) -> SqlResult<()> {
        match (self.is_cursor, parameter.name.starts_with(CURSOR_PARAMETER)) {
            (true, false) => Err(SqlError::new(206, &[&"cursor", &parameter.sql_type.name()])),
            (false, true) => Err(SqlError::new(206, &[&self.sql_type.name(), &"cursor"])),
            _ => Ok(()),
        }
    }

    /// The value; NULL when the default is asked for.
    pub(crate) fn or_null(&self) -> Value {
        self.value.clone().unwrap_or(Value::Null)
    }

    pub(crate) fn from_rpc(parameter: RpcParameter) -> Argument {
        let RpcParameter { name, sql_type, value, output, default, table } = parameter;
        let name = Some(name).filter(|n| !n.is_empty());
        let table = table.filter(|_| !default).map(|sent| TableArgument::Sent(Arc::from(sent)));
        let has_value = !default && table.is_none();
        Argument { name, sql_type, value: has_value.then_some(value), output, table, is_cursor: false }
    }

    /// Binds it to a parameter that is a table. Error 206.
    pub(crate) fn bind_table(&self, parameter: &str, table_type: &Arc<TableType>) -> SqlResult<BoundTable> {
        let clash = |own: &str| Err(SqlError::new(206, &[&own, &table_type.name]));
        match (&self.table, &self.value) {
            (Some(TableArgument::Variable(_, None)), _) => return clash("table"),
            (Some(TableArgument::Variable(_, Some(own))), _) if !own.is_same(table_type) => {
                return clash(&own.name);
            }
            (Some(TableArgument::Sent(sent)), _) if !sent.may_be(table_type) => return clash(&sent.name),
            (None, Some(Value::Null)) => return clash("void type"),
            (None, Some(_)) => return clash(self.sql_type.name()),
            _ => {}
        }
        let (name, table_type) = (parameter.to_string(), table_type.clone());
        Ok(BoundTable { name, table_type, argument: self.table.clone() })
    }

    /// The name of the table's type, for a parameter that is none. Error 206.
    pub(crate) fn refuse_table(&self, wanted: &SqlType) -> SqlResult<()> {
        let own: &str = match &self.table {
            None => return Ok(()),
            Some(TableArgument::Variable(_, Some(own))) => &own.name,
            Some(TableArgument::Sent(sent)) if !sent.name.is_empty() => &sent.name,
            Some(_) => "table",
        };
        Err(SqlError::new(206, &[&own, &wanted.name()]))
    }
}
