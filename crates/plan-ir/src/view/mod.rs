//! The definition of a system view: its columns in the documentation's notation, and the function that makes its rows.

pub mod stream;

use std::ops::Deref;
use std::sync::Arc;

use engine::Database;
use types::{SqlError, SqlType, Value};

use crate::row::Row;
use crate::runtime::Runtime;
use crate::view_shape::{ViewColumn, ViewShape};

/// A view or table-valued function of the system.
pub struct SystemView {
    /// `sys`, `INFORMATION_SCHEMA` or `dbo`.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// `name type, [a name] type, ...`
    pub column_list: &'static str,
    /// How many arguments it takes at most; 0 for a view.
    pub parameters: usize,
    /// How the binder chooses its columns.
    pub column_rule: ColumnRule,
    /// Makes the rows.
    pub rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError>,
    /// Or the query that does, over other views; its columns are brought to the types of `column_list`.
    pub query: Option<&'static str>,
    /// Or it makes them while they are read.
    pub stream: Option<stream::Stream>,
}

/// How the binder chooses the columns of a view or table-valued function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRule {
    /// They are as listed.
    Listed,
    /// The first has the string type of the first argument; the second is there only if the third argument is 1.
    PartsOfText,
    /// There is one, of the numeric type that the arguments share.
    Series,
}

/// The input and output of a view's function.
pub struct ViewContext<'a, 'r> {
    pub runtime: &'a Runtime<'r>,
    /// The database in whose context the view is read.
    pub database: &'a Arc<Database>,
    pub arguments: &'a [Value],
    view: &'static View,
    rows: Vec<Row>,
    /// Rows had no room: what there is is not the answer, whatever room there is now.
    spent: Option<os::memory::OutOfMemory>,
}

impl SystemView {
    /// A view of the schema `sys`.
    pub const fn new(
        name: &'static str,
        column_list: &'static str,
        rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError>,
    ) -> SystemView {
        SystemView::of_sys(name, column_list, rows, None, None)
    }

    /// A view of the schema `sys` that is a query over others.
    pub const fn in_sql(name: &'static str, column_list: &'static str, query: &'static str) -> SystemView {
        let rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError> =
            |_| unreachable!("the binder puts a view's query in its place");
        SystemView::of_sys(name, column_list, rows, Some(query), None)
    }

    /// A function of the schema `sys` that makes its rows while they are read, and can make use of bounds on some columns.
    pub const fn streamed(
        name: &'static str,
        column_list: &'static str,
        open: stream::OpenStream,
        bounded: &'static [&'static str],
    ) -> SystemView {
        let rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError> =
            |_| unreachable!("its rows are read one by one");
        let stream = Some(stream::Stream { open, bounded });
        SystemView::of_sys(name, column_list, rows, None, stream)
    }

    const fn of_sys(
        name: &'static str,
        column_list: &'static str,
        rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError>,
        query: Option<&'static str>,
        stream: Option<stream::Stream>,
    ) -> SystemView {
        let (parameters, column_rule) = (0, ColumnRule::Listed);
        SystemView { schema: "sys", name, column_list, parameters, column_rule, rows, query, stream }
    }

    /// In another schema.
    pub const fn in_schema(mut self, schema: &'static str) -> SystemView {
        self.schema = schema;
        self
    }

    /// With arguments.
    pub const fn with_parameters(mut self, count: usize) -> SystemView {
        self.parameters = count;
        self
    }

    /// With columns that depend on the arguments.
    pub const fn with_column_rule(mut self, rule: ColumnRule) -> SystemView {
        self.column_rule = rule;
        self
    }
}

/// A view among all views: as its family's table has it, with its columns parsed.
pub struct View {
    def: &'static SystemView,
    shape: ViewShape,
    /// Positions of the columns by which its rows ascend.
    key: Vec<usize>,
}

impl View {
    /// The view of a table's entry, whose rows ascend by these columns.
    pub fn new(def: &'static SystemView, key: &[&str]) -> View {
        let shape = ViewShape::new(def.schema, def.name, def.parameters, def.column_list);
        let key = key.iter().map(|name| *shape.positions.get(*name).expect("a key's column")).collect();
        View { def, shape, key }
    }

    /// Positions of the columns by which its rows ascend.
    pub fn key(&self) -> &[usize] {
        &self.key
    }

    /// Its names and columns.
    pub fn shape(&self) -> &ViewShape {
        &self.shape
    }

    /// Its columns in order.
    pub fn columns(&self) -> &[ViewColumn] {
        &self.shape.columns
    }

    /// Reads it.
    pub fn read(
        &'static self,
        runtime: &Runtime<'_>,
        database: &Arc<Database>,
        arguments: &[Value],
    ) -> Result<Vec<Row>, SqlError> {
        let mut context =
            ViewContext { runtime, database, arguments, view: self, rows: Vec::new(), spent: None };
        (self.def.rows)(&mut context)?;
        context.spent.map_or_else(os::memory::check, Err).map_err(crate::errors::out_of_memory)?;
        let mut rows = context.rows;
        if !self.key.is_empty() {
            rows.sort_by(|one, other| self.key_of(one).cmp(self.key_of(other)));
        }
        Ok(rows)
    }

    /// The sort key of a row; numbers below 0 are the greatest.
    fn key_of<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = u64> + 'a {
        self.key.iter().map(|at| row[*at].as_i64().unwrap_or_default() as u64)
    }
}

impl Deref for View {
    type Target = SystemView;

    fn deref(&self) -> &SystemView {
        self.def
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.def.fmt(f)
    }
}

impl std::fmt::Debug for SystemView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

impl ViewContext<'_, '_> {
    /// Adds a row from `(column, value)` pairs. Values are brought to the columns' types; an unknown name is our bug. When memory is spent, the
    /// rows are in vain: `read` will say so.
    pub fn row(&mut self, cells: &[(&str, Cell)]) {
        self.spent = self.spent.take().or(os::memory::check().err());
        if self.spent.is_some() {
            return;
        }
        let columns = self.view.columns();
        let mut row: Row = columns
            .iter()
            .map(|column| if column.nullable { Value::Null } else { zero(&column.sql_type) })
            .collect();
        for (name, cell) in cells {
            let position = self.view.shape.positions.get(*name);
            assert!(position.is_some(), "{:?} has no column {name}", self.view);
            if let Some(position) = position {
                row[*position] = cell.to_value(&columns[*position].sql_type);
            }
        }
        self.rows.push(row);
    }

    /// An integer argument; NULL and absent are `None`.
    pub fn integer_argument(&self, index: usize) -> Option<i64> {
        self.arguments.get(index).and_then(Value::as_i64)
    }
}

/// A cell before it is brought to its column's type.
#[derive(Clone, Debug)]
pub enum Cell {
    Null,
    Integer(i64),
    Text(String),
    Value(Value),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::Integer(number)
    }
}

impl From<i32> for Cell {
    fn from(number: i32) -> Cell {
        Cell::Integer(i64::from(number))
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Cell {
        Cell::Integer(i64::from(truth))
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Integer(number as i64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Cell {
        Cell::Value(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }
}

impl Cell {
    fn to_value(&self, sql_type: &SqlType) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Value(value) => value.clone(),
            Cell::Text(text) => match sql_type {
                SqlType::Char(n) => Value::varchar(&format!("{text:<width$}", width = usize::from(*n))),
                SqlType::NChar(n) => Value::nvarchar(&format!("{text:<width$}", width = usize::from(*n))),
                SqlType::VarChar(_) => Value::varchar(text),
                _ => Value::nvarchar(text),
            },
            Cell::Integer(number) => integer_value(*number, sql_type),
        }
    }
}

fn integer_value(number: i64, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Bit => Value::Bit(number != 0),
        SqlType::TinyInt => Value::TinyInt(number as u8),
        SqlType::SmallInt => Value::SmallInt(number as i16),
        SqlType::Int => Value::Int(number as i32),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => Value::Decimal(
            types::Decimal::new(i128::from(number) * 10i128.pow(u32::from(*scale)), *precision, *scale),
        ),
        SqlType::Real => Value::Real(number as f32),
        SqlType::Float => Value::Float(number as f64),
        SqlType::VarBinary(_) => Value::binary(&number.to_be_bytes()),
        SqlType::Binary(n) => {
            let bytes = number.to_be_bytes();
            let wanted = usize::from(*n);
            let mut padded = vec![0u8; wanted.saturating_sub(8)];
            padded.extend_from_slice(&bytes[8usize.saturating_sub(wanted)..]);
            Value::binary(&padded)
        }
        _ => Value::BigInt(number),
    }
}

fn zero(sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::SysName => Value::nvarchar(""),
        other => integer_value(0, other),
    }
}
