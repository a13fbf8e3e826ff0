//! Table-valued functions whose columns depend on their arguments: STRING_SPLIT, GENERATE_SERIES, OPENJSON. Their rows are made in
//! `sysviews/src/rowsets.rs`.

use std::sync::Arc;

use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::built_ins::{JSON_ITEMS, UnnamedFunction};
use plan_ir::kinds::{CatalogReading, Coercibility, Conversion, ConversionKind};
use plan_ir::view::View;
use tsql::ast::{self, Ident};
use types::{Collation, Length, SqlError, SqlType, Value};

use super::{Binder, ScopeColumn, coerce};

/// The types of such a function: its converted arguments, the type of its first column, and its number of columns.
struct Typed {
    arguments: Vec<Expr>,
    sql_type: SqlType,
    collation: (Collation, Coercibility),
    columns: usize,
}

impl Binder<'_> {
    /// A source of rows that `sysviews/src/rowsets.rs` makes, other than OPENJSON; `None`: it is another function.
    pub(super) fn rowset(
        &mut self,
        view: &'static View,
        database: &Arc<engine::Database>,
        arguments: &[Expr],
        alias: &str,
    ) -> Result<Option<Rel>, SqlError> {
        let typed = match view.name {
            "STRING_SPLIT" => string_split(arguments)?,
            "GENERATE_SERIES" => generate_series(arguments)?,
            _ => return Ok(None),
        };
        let reading = CatalogReading::Settled;
        let rel = self.add_system(view, database.clone(), typed.arguments, (alias, true), reading)?;
        let columns = &mut self.scope().tables.last_mut().expect("added above").columns;
        columns.truncate(typed.columns);
        let id = columns[0].id;
        let info = &mut self.columns[id.0 as usize];
        (info.sql_type, info.collation) = (typed.sql_type, typed.collation.0);
        self.coercibilities.insert(id, typed.collation.1);
        Ok(Some(rel))
    }

    /// The columns of the table added last stand for values of the database's collation, which give way to those of tables.
    fn count_as_literals(&mut self) {
        let table = self.scopes.last().and_then(|scope| scope.tables.last()).expect("added above");
        self.coercibilities.extend(table.columns.iter().map(|column| (column.id, Coercibility::Default)));
    }

    /// OPENJSON(text [, path]): key, value and type of what the object or array has in it. WITH: its objects, each a row.
    pub(super) fn open_json(&mut self, open: &ast::OpenJson) -> Result<Rel, SqlError> {
        let mut arguments = Vec::with_capacity(2);
        for argument in &open.args {
            arguments.push(coerce::implicit(self.value(argument)?, &SqlType::NVARCHAR_MAX)?);
        }
        if arguments.len() > 2 {
            return Err(plan_ir::errors::too_many_arguments("OPENJSON"));
        }
        let alias = open.alias.as_ref().map_or("OPENJSON", |alias| alias.value.as_str());
        let database = self.current_database();
        let name = if open.columns.is_empty() { "OPENJSON" } else { JSON_ITEMS };
        let view = self.built_ins.view(&database, None, name).expect("it stands among the views");
        let rel = self.add_system(view, database, arguments, (alias, true), CatalogReading::Settled)?;
        if open.columns.is_empty() {
            self.count_as_literals();
            return Ok(rel);
        }
        let item = self.scope().tables.last().expect("added above").columns[0].id;
        let (mut items, mut visible) = (Vec::new(), Vec::new());
        for (at, column) in open.columns.iter().enumerate() {
            let value = self.json_column((column, at + 1), self.column_expr(item))?;
            let id = self.new_column(value.sql_type, true, value.collation);
            items.push((id, value));
            visible.push(ScopeColumn {
                name: column.name.value.clone(),
                id,
                identity: false,
                rowguid: false,
                base: false,
            });
        }
        self.scope().tables.last_mut().expect("added above").columns = visible;
        self.count_as_literals();
        Ok(Rel::Project { input: Box::new(rel), items })
    }

    /// A column of OPENJSON ... WITH: the scalar at its path, which is the member of its name unless it is said, or a part of JSON.
    fn json_column(
        &mut self,
        (column, position): (&ast::RowsetColumn, usize),
        item: Expr,
    ) -> Result<Expr, SqlError> {
        if column.collation.is_some() {
            return Err(plan_ir::errors::unsupported("COLLATE in OPENJSON"));
        }
        let sql_type =
            plan_ir::data_type::declared(&column.data_type, plan_ir::data_type::TypePlace::Column(position))?;
        let path = match &column.path {
            Some(path) => coerce::implicit(self.value(path)?, &SqlType::NVARCHAR_MAX)?,
            None => {
                let path = Value::nvarchar(&member_path(&column.name));
                Expr::constant(path, SqlType::NVARCHAR_MAX)
            }
        };
        let function = match column.as_json {
            true => UnnamedFunction::JsonPart,
            false => UnnamedFunction::JsonScalar,
        };
        let function = self.built_ins.unnamed(function);
        if column.as_json && sql_type != SqlType::NVARCHAR_MAX {
            return Err(SqlError::new(13618, &[&column.name.value]));
        }
        let value = self.finish_call(function, vec![item, path])?;
        let conversion = Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE };
        coerce::convert(value, &sql_type, conversion)
    }
}

/// `$."name"`
fn member_path(name: &Ident) -> String {
    format!("$.{}", types::functions::json::quote(&name.value))
}

/// STRING_SPLIT(text, separator [, 1]): parts of the text's type, with their places when a third argument asks for them.
fn string_split(arguments: &[Expr]) -> Result<Typed, SqlError> {
    let [text, separator, rest @ ..] = arguments else {
        return Err(plan_ir::errors::too_few_arguments("STRING_SPLIT"));
    };
    let has_places = match rest.first().map(|places| &places.kind) {
        None | Some(ExprKind::Constant(Value::Null)) => false,
        Some(ExprKind::Constant(value)) => match value.as_i64() {
            Some(places @ (0 | 1)) => places == 1,
            Some(places) => return Err(SqlError::new(4199, &[&places, &3, &"string_split"])),
            None => {
                let name = rest[0].sql_type.name();
                return Err(SqlError::new(8116, &[&name, &3, &"string_split"]));
            }
        },
        Some(_) => return Err(SqlError::new(8748, &[&"string_split"])),
    };
    let is_wide = |sql_type: &SqlType| {
        matches!(
            sql_type,
            SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText | SqlType::SysName | SqlType::Xml
        )
    };
    let sql_type = match text.sql_type {
        SqlType::VarChar(Length::Max) | SqlType::Text if is_wide(&separator.sql_type) => {
            SqlType::NVARCHAR_MAX
        }
        SqlType::VarChar(Length::Max) | SqlType::Text => SqlType::VARCHAR_MAX,
        SqlType::NVarChar(Length::Max) | SqlType::NText | SqlType::Xml => SqlType::NVARCHAR_MAX,
        SqlType::Char(size) | SqlType::VarChar(Length::N(size)) => match is_wide(&separator.sql_type) {
            true => SqlType::nvarchar(size.min(4000)),
            false => SqlType::varchar(size),
        },
        SqlType::NChar(size) | SqlType::NVarChar(Length::N(size)) => SqlType::nvarchar(size),
        SqlType::SysName => SqlType::nvarchar(128),
        _ => SqlType::nvarchar(4000),
    };
    let separator_type = if is_wide(&sql_type) { SqlType::nvarchar(4000) } else { SqlType::varchar(8000) };
    let collation = plan_ir::bound::coercibility::combined("STRING_SPLIT", [text])?;
    let arguments = vec![
        coerce::implicit(text.clone(), &sql_type)?,
        coerce::implicit(separator.clone(), &separator_type)?,
    ];
    Ok(Typed { arguments, sql_type, collation, columns: 1 + usize::from(has_places) })
}

/// GENERATE_SERIES(start, stop [, step]): numbers of the type that the three have. Errors 5373 (they have several), 8116 of what is no exact
/// number.
fn generate_series(arguments: &[Expr]) -> Result<Typed, SqlError> {
    if arguments.len() < 2 {
        return Err(plan_ir::errors::too_few_arguments("GENERATE_SERIES"));
    }
    for (index, argument) in arguments.iter().enumerate() {
        plan_ir::bound::untyped::note(argument, SqlType::BigInt);
        let is_exact = argument.sql_type.is_numeric()
            && !matches!(
                argument.sql_type,
                SqlType::Bit | SqlType::Float | SqlType::Real | SqlType::Money | SqlType::SmallMoney
            );
        if !is_exact && !argument.is_null_literal() && plan_ir::bound::untyped::of(argument).is_none() {
            return Err(SqlError::new(8116, &[&argument.sql_type.name(), &(index + 1), &"generate_series"]));
        }
    }
    let mut kinds = arguments
        .iter()
        .filter(|argument| !argument.is_null_literal() && plan_ir::bound::untyped::of(argument).is_none())
        .map(|argument| {
            if matches!(argument.sql_type, SqlType::Decimal { .. } | SqlType::Numeric { .. }) {
                "decimal"
            } else {
                argument.sql_type.name()
            }
        });
    let first = kinds.next();
    if kinds.any(|kind| Some(kind) != first) {
        return Err(SqlError::new(5373, &[]));
    }
    let (arguments, sql_type) = coerce::unify(arguments.to_vec())?;
    Ok(Typed { arguments, sql_type, collation: Default::default(), columns: 1 })
}
