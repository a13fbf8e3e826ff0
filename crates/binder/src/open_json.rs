//! OPENJSON: its columns, with and without WITH. `sysviews/src/rowsets.rs` makes its rows.

use plan_ir::bound::tree::{Expr, Rel};
use plan_ir::built_ins::{JsonRows, UnnamedFunction};
use plan_ir::kinds::{CatalogReading, Coercibility, Conversion, ConversionKind};
use tsql::ast::{self, Ident};
use types::{SqlError, SqlType, Value};

use super::{Binder, ScopeColumn, coerce};

/// Its name in messages, and of its table without an alias.
const NAME: &str = "OPENJSON";

impl Binder<'_> {
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
            return Err(plan_ir::errors::too_many_arguments(NAME));
        }
        let alias = open.alias.as_ref().map_or(NAME, |alias| alias.value.as_str());
        let database = self.current_database();
        let rows = if open.columns.is_empty() { JsonRows::Members } else { JsonRows::Objects };
        let view = self.built_ins.json_rows(rows);
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
