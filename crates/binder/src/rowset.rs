//! Table-valued functions whose columns depend on their arguments (`plan_ir::view::ColumnRule`): the types of the columns, and of the arguments.

use std::sync::Arc;

use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::{CatalogReading, Coercibility};
use plan_ir::view::View;
use types::{Collation, Length, SqlError, SqlType, Value};

use super::{Binder, coerce};

/// The types of such a function: its converted arguments, the type of its first column, and its number of columns.
pub(super) struct Typed {
    arguments: Vec<Expr>,
    sql_type: SqlType,
    collation: (Collation, Coercibility),
    columns: usize,
}

impl Binder<'_> {
    /// Adds such a function as a table.
    pub(super) fn add_rowset(
        &mut self,
        view: &'static View,
        database: Arc<engine::Database>,
        typed: Typed,
        alias: &str,
    ) -> Result<Rel, SqlError> {
        let reading = CatalogReading::Settled;
        let rel = self.add_system(view, database, typed.arguments, (alias, true), reading)?;
        let columns = &mut self.scope().tables.last_mut().expect("added above").columns;
        columns.truncate(typed.columns);
        let id = columns[0].id;
        let info = &mut self.columns[id.0 as usize];
        (info.sql_type, info.collation) = (typed.sql_type, typed.collation.0);
        self.coercibilities.insert(id, typed.collation.1);
        Ok(rel)
    }
}

/// Arguments (text, separator [, 1]): parts of the text's type, with their places when a third argument asks for them.
pub(super) fn parts_of_text(function: &'static str, arguments: &[Expr]) -> Result<Typed, SqlError> {
    let [text, separator, rest @ ..] = arguments else {
        return Err(plan_ir::errors::too_few_arguments(function));
    };
    let name = || function.to_ascii_lowercase();
    let has_places = match rest.first().map(|places| &places.kind) {
        None | Some(ExprKind::Constant(Value::Null)) => false,
        Some(ExprKind::Constant(value)) => match value.as_i64() {
            Some(places @ (0 | 1)) => places == 1,
            Some(places) => return Err(SqlError::new(4199, &[&places, &3, &name()])),
            None => {
                return Err(SqlError::new(8116, &[&rest[0].sql_type.name(), &3, &name()]));
            }
        },
        Some(_) => return Err(SqlError::new(8748, &[&name()])),
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
    let collation = plan_ir::bound::coercibility::combined(function, [text])?;
    let arguments = vec![
        coerce::implicit(text.clone(), &sql_type)?,
        coerce::implicit(separator.clone(), &separator_type)?,
    ];
    Ok(Typed { arguments, sql_type, collation, columns: 1 + usize::from(has_places) })
}

/// Arguments (start, stop [, step]): numbers of the type that the three have. Errors 5373 (they have several), 8116 of what is no exact
/// number.
pub(super) fn series(function: &str, arguments: &[Expr]) -> Result<Typed, SqlError> {
    if arguments.len() < 2 {
        return Err(plan_ir::errors::too_few_arguments(function));
    }
    for (index, argument) in arguments.iter().enumerate() {
        plan_ir::bound::untyped::note(argument, SqlType::BigInt);
        let is_exact = argument.sql_type.is_numeric()
            && !matches!(
                argument.sql_type,
                SqlType::Bit | SqlType::Float | SqlType::Real | SqlType::Money | SqlType::SmallMoney
            );
        if !is_exact && !argument.is_null_literal() && plan_ir::bound::untyped::of(argument).is_none() {
            let name = function.to_ascii_lowercase();
            return Err(SqlError::new(8116, &[&argument.sql_type.name(), &(index + 1), &name]));
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
