//! System views: each is a name, a column list in the documentation's words, and a function that makes its rows.
//!
//! To add a view: one `SystemView` in the table of its family's file. Columns that a row does not set are NULL, or 0 for `bit`.

mod absent;
mod cached_plans;
pub(crate) mod columns;
mod compatibility;
mod databases;
mod dblog;
mod dblog_columns;
mod dependencies;
mod describe;
pub(crate) mod dm_exec;
mod dm_os;
mod empty;
mod information_schema;
mod information_schema_sql;
mod logs;
mod msdb;
mod objects;
mod odbc;
mod permissions;
mod properties;
mod rowsets;
mod sequences;
mod server;
mod storage;
pub(crate) mod stream;
mod transactions;
mod versions;
mod waits;

use std::sync::{Arc, LazyLock};

use engine::Database;
use rustc_hash::FxHashMap;
use types::{SqlError, SqlType, Value};

use crate::row::Row;
use crate::runtime::Runtime;

use databases::shown_file_id;
pub use databases::{DatabaseFile, database_files};
pub(crate) use dependencies::{bound_columns, bound_views, named_columns};
pub(crate) use describe::tds_type;
pub(crate) use objects::module_parameters;
pub(crate) use properties::{PropertyLevel, property_targets};
pub(crate) use rowsets::JSON_ITEMS;
pub(crate) use storage::count_rows;

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
    /// Makes the rows.
    pub(crate) rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError>,
    /// Or the query that does, over other views; its columns are brought to the types of `column_list`.
    pub(crate) query: Option<&'static str>,
    /// Or it makes them while they are read.
    pub(crate) stream: Option<stream::Stream>,
}

/// A column of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// May be NULL.
    pub nullable: bool,
    /// A view's column that is a table's identity column.
    pub identity: bool,
}

/// What a view's function reads and writes.
pub(crate) struct ViewContext<'a, 'r> {
    pub(crate) runtime: &'a Runtime<'r>,
    /// The database in whose context the view is read.
    pub(crate) database: &'a Arc<Database>,
    pub(crate) arguments: &'a [Value],
    view: &'static SystemView,
    positions: &'static FxHashMap<String, usize>,
    rows: Vec<Row>,
}

impl SystemView {
    /// A view of the schema `sys`.
    pub(crate) const fn new(
        name: &'static str,
        column_list: &'static str,
        rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError>,
    ) -> SystemView {
        SystemView { schema: "sys", name, column_list, parameters: 0, rows, query: None, stream: None }
    }

    /// A view of the schema `sys` that is a query over others.
    pub(crate) const fn in_sql(
        name: &'static str,
        column_list: &'static str,
        query: &'static str,
    ) -> SystemView {
        let rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError> =
            |_| unreachable!("the binder puts a view's query in its place");
        SystemView { schema: "sys", name, column_list, parameters: 0, rows, query: Some(query), stream: None }
    }

    /// A function of the schema `sys` that makes its rows while they are read, and can make use of bounds on some columns.
    pub(crate) const fn streamed(
        name: &'static str,
        column_list: &'static str,
        open: stream::OpenStream,
        bounded: &'static [&'static str],
    ) -> SystemView {
        let rows: fn(&mut ViewContext<'_, '_>) -> Result<(), SqlError> =
            |_| unreachable!("its rows are read one by one");
        let stream = Some(stream::Stream { open, bounded });
        SystemView { schema: "sys", name, column_list, parameters: 0, rows, query: None, stream }
    }

    /// In another schema.
    pub(crate) const fn in_schema(mut self, schema: &'static str) -> SystemView {
        self.schema = schema;
        self
    }

    /// With arguments.
    pub(crate) const fn with_parameters(mut self, count: usize) -> SystemView {
        self.parameters = count;
        self
    }

    /// Its columns in order.
    pub fn columns(&self) -> &'static [ViewColumn] {
        &shape(self).columns
    }

    /// Reads it.
    pub(crate) fn read(
        &'static self,
        runtime: &Runtime<'_>,
        database: &Arc<Database>,
        arguments: &[Value],
    ) -> Result<Vec<Row>, SqlError> {
        let positions = &shape(self).positions;
        let mut context =
            ViewContext { runtime, database, arguments, view: self, positions, rows: Vec::new() };
        (self.rows)(&mut context)?;
        os::memory::check().map_err(crate::errors::out_of_memory)?;
        Ok(context.rows)
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
    pub(crate) fn row(&mut self, cells: &[(&str, Cell)]) {
        if os::memory::is_spent() {
            return;
        }
        let columns = self.view.columns();
        let mut row: Row = columns
            .iter()
            .map(|column| if column.nullable { Value::Null } else { zero(&column.sql_type) })
            .collect();
        for (name, cell) in cells {
            let position = self.positions.get(*name);
            assert!(position.is_some(), "{:?} has no column {name}", self.view);
            if let Some(position) = position {
                row[*position] = cell.to_value(&columns[*position].sql_type);
            }
        }
        self.rows.push(row);
    }

    /// An integer argument; NULL and absent are `None`.
    pub(crate) fn integer_argument(&self, index: usize) -> Option<i64> {
        self.arguments.get(index).and_then(Value::as_i64)
    }
}

/// A cell before it is brought to its column's type.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
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

static VIEWS: LazyLock<FxHashMap<String, &'static SystemView>> = LazyLock::new(|| {
    let mut map = FxHashMap::default();
    for view in SYSTEM_VIEWS.iter().copied().flatten() {
        let before = map.insert(format!("{}.{}", view.schema, view.name).to_ascii_lowercase(), view);
        assert!(before.is_none(), "two system views are named {view:?}");
    }
    map
});

/// The columns of a view, parsed.
struct Shape {
    columns: Vec<ViewColumn>,
    positions: FxHashMap<String, usize>,
}

static SHAPES: LazyLock<FxHashMap<String, Shape>> = LazyLock::new(|| {
    let shape = |view: &SystemView| {
        let columns = parse_columns(view.column_list);
        let positions =
            columns.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect();
        Shape { columns, positions }
    };
    VIEWS.iter().map(|(name, view)| (name.clone(), shape(view))).collect()
});

fn shape(view: &SystemView) -> &'static Shape {
    &SHAPES[&format!("{}.{}", view.schema, view.name).to_ascii_lowercase()]
}

/// All system views, a table a family.
pub static SYSTEM_VIEWS: &[&[SystemView]] = &[
    objects::VIEWS,
    columns::VIEWS,
    databases::VIEWS,
    dblog::VIEWS,
    dm_os::VIEWS,
    waits::VIEWS,
    transactions::VIEWS,
    versions::VIEWS,
    dm_exec::VIEWS,
    cached_plans::VIEWS,
    information_schema::VIEWS,
    sequences::VIEWS,
    absent::VIEWS,
    empty::VIEWS,
    rowsets::VIEWS,
    compatibility::VIEWS,
    dependencies::VIEWS,
    describe::VIEWS,
    permissions::VIEWS,
    properties::VIEWS,
    storage::VIEWS,
    server::VIEWS,
    msdb::VIEWS,
    odbc::VIEWS,
    information_schema_sql::VIEWS,
];

/// The same under the name the views themselves use.
pub(crate) use SYSTEM_VIEWS as VIEW_TABLES;

/// A system view by schema and name, in any letter case. The compatibility views (`sysobjects` and its kin) and the functions `fn_..` are
/// found without a schema and in `dbo`, too; of the others, without a schema, only those of `dbo`.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<&'static SystemView> {
    let name = name.to_ascii_lowercase();
    let schema = schema.unwrap_or("dbo").to_ascii_lowercase();
    if schema == MSDB_SCHEMA {
        return None;
    }
    let found = VIEWS.get(&format!("{schema}.{name}"));
    let found = found.or_else(|| {
        let is_old = schema == "dbo" && (name.starts_with("sys") || name.starts_with("fn_"));
        if is_old { VIEWS.get(&format!("sys.{name}")) } else { None }
    });
    found.copied()
}

/// The columns of sys.fn_dblog, for DBCC LOG.
pub fn log_columns() -> &'static [ViewColumn] {
    find(Some("sys"), "fn_dblog").map_or(&[], SystemView::columns)
}

/// The schema under which the tables of msdb are kept here: nobody can write it, since they are in that database alone.
const MSDB_SCHEMA: &str = "msdb.dbo";

/// The same, in a database: msdb has tables of its own in `dbo`.
pub(crate) fn find_in(database: &Database, schema: Option<&str>, name: &str) -> Option<&'static SystemView> {
    let is_dbo = schema.is_none_or(|schema| schema.eq_ignore_ascii_case("dbo"));
    let own = || VIEWS.get(&format!("{MSDB_SCHEMA}.{}", name.to_ascii_lowercase())).copied();
    let of_msdb = if is_dbo && database.id() == engine::MSDB as i16 { own() } else { None };
    of_msdb.or_else(|| find(schema, name))
}

/// `name type, [a name] type(8,2), ...`; `not null` may follow a type. sysname and bit are not nullable.
fn parse_columns(list: &str) -> Vec<ViewColumn> {
    let mut columns = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (position, character) in list.char_indices().chain([(list.len(), ',')]) {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                let item = list[start..position].trim();
                start = position + 1;
                if !item.is_empty() {
                    columns.push(parse_column(item));
                }
            }
            _ => {}
        }
    }
    columns
}

fn parse_column(item: &str) -> ViewColumn {
    let in_brackets = item.strip_prefix('[').and_then(|item| item.split_once(']'));
    let (name, rest) = in_brackets.or_else(|| item.split_once(' ')).expect("a column has a type");
    let rest = rest.trim();
    let (type_text, not_null) = match rest.strip_suffix("not null") {
        Some(text) => (text.trim(), true),
        None => (rest, false),
    };
    let (word, arguments) = match type_text.split_once('(') {
        Some((word, arguments)) => (word, arguments.trim_end_matches(')')),
        None => (type_text, ""),
    };
    let numbers: Vec<u16> = arguments.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let first = numbers.first().copied();
    let sql_type = match word {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "real" => SqlType::Real,
        "float" => SqlType::Float,
        "datetime" => SqlType::DateTime,
        "datetime2" => SqlType::DateTime2(7),
        "datetimeoffset" => SqlType::DateTimeOffset(7),
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "sysname" => SqlType::SysName,
        "sql_variant" => SqlType::SqlVariant,
        "numeric" => SqlType::Numeric {
            precision: first.unwrap_or(18) as u8,
            scale: numbers.get(1).copied().unwrap_or(0) as u8,
        },
        "char" => SqlType::Char(first.unwrap_or(1)),
        "nchar" => SqlType::NChar(first.unwrap_or(1)),
        "varchar" => first.map_or(SqlType::VARCHAR_MAX, SqlType::varchar),
        "nvarchar" => first.map_or(SqlType::NVARCHAR_MAX, SqlType::nvarchar),
        "xml" => SqlType::Xml,
        "binary" => SqlType::Binary(first.unwrap_or(1)),
        "varbinary" => first.map_or(SqlType::VARBINARY_MAX, SqlType::varbinary),
        other => panic!("unknown type {other} in a system view"),
    };
    let nullable = !not_null && !matches!(sql_type, SqlType::SysName | SqlType::Bit);
    ViewColumn { name: name.to_string(), sql_type, nullable, identity: false }
}

/// The types of `sys.types`, with their greatest or usual arguments.
pub(crate) fn all_types() -> &'static [SqlType] {
    use types::Length::N;
    &[
        SqlType::Image,
        SqlType::Text,
        SqlType::UniqueIdentifier,
        SqlType::Date,
        SqlType::Time(7),
        SqlType::DateTime2(7),
        SqlType::DateTimeOffset(7),
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::SmallDateTime,
        SqlType::Real,
        SqlType::Money,
        SqlType::DateTime,
        SqlType::Float,
        SqlType::SqlVariant,
        SqlType::NText,
        SqlType::Bit,
        SqlType::Decimal { precision: 38, scale: 38 },
        SqlType::Numeric { precision: 38, scale: 38 },
        SqlType::SmallMoney,
        SqlType::BigInt,
        SqlType::VarBinary(N(8000)),
        SqlType::VarChar(N(8000)),
        SqlType::Binary(8000),
        SqlType::Char(8000),
        SqlType::RowVersion,
        SqlType::SysName,
        SqlType::NVarChar(N(4000)),
        SqlType::NChar(4000),
        SqlType::Xml,
    ]
}

/// A type by its name in `sys.types`.
pub(crate) fn type_by_name(name: &str) -> Option<SqlType> {
    all_types().iter().find(|sql_type| sql_type.name().eq_ignore_ascii_case(name.trim())).copied()
}

/// A property of a database for DATABASEPROPERTYEX.
pub(crate) fn database_property(database: &Arc<Database>, property: &str) -> Value {
    databases::property(database, property)
}

/// A system view by that number.
pub(crate) fn by_object_id(id: i32) -> Option<&'static SystemView> {
    if id >= 0 {
        return None;
    }
    VIEW_TABLES.iter().copied().flatten().find(|view| object_id_of(view) == id)
}

/// A stable negative number for a system view.
pub(crate) fn object_id_of(view: &SystemView) -> i32 {
    system_object_id(view.schema, view.name)
}

/// The same for anything that comes with the server.
pub(crate) fn system_object_id(schema: &str, name: &str) -> i32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in format!("{schema}.{name}").bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    -((hash & 0x3fff_ffff) as i32) - 1
}
