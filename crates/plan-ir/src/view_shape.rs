//! The shape of a system view: its names and columns, without the code that makes its rows.

use rustc_hash::FxHashMap;
use types::SqlType;

/// A view's names and columns.
#[derive(Debug)]
pub struct ViewShape {
    /// `sys`, `INFORMATION_SCHEMA` or `dbo`.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// How many arguments it takes at most; 0 for a view.
    pub parameters: usize,
    /// Its columns in order.
    pub columns: Vec<ViewColumn>,
    /// Their places by name.
    pub positions: FxHashMap<String, usize>,
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

impl ViewShape {
    /// A view's with the columns of a list: `name type, [a name] type, ...`.
    pub fn new(schema: &'static str, name: &'static str, parameters: usize, column_list: &str) -> ViewShape {
        let columns = parse_columns(column_list);
        let positions =
            columns.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect();
        ViewShape { schema, name, parameters, columns, positions }
    }

    /// A stable negative number.
    pub fn object_id(&self) -> i32 {
        system_object_id(self.schema, self.name)
    }
}

/// A stable negative number for anything that comes with the server.
pub fn system_object_id(schema: &str, name: &str) -> i32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in format!("{schema}.{name}").bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    -((hash & 0x3fff_ffff) as i32) - 1
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
        "ntext" => SqlType::NText,
        "xml" => SqlType::Xml,
        "binary" => SqlType::Binary(first.unwrap_or(1)),
        "varbinary" => first.map_or(SqlType::VARBINARY_MAX, SqlType::varbinary),
        other => panic!("unknown type {other} in a system view"),
    };
    let nullable = !not_null && !matches!(sql_type, SqlType::SysName | SqlType::Bit);
    ViewColumn { name: name.to_string(), sql_type, nullable, identity: false }
}
