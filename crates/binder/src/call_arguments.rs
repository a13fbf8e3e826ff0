//! Arguments of users' functions as they are written, and the tables that table-valued parameters stand for.

use std::sync::Arc;

use engine::Database;
use plan_ir::bound::tree::{Expr, Rel};
use plan_ir::context::FunctionColumn;
use plan_ir::data_type::table_type_in;
use plan_ir::stored::table_type_definition;
use tsql::ast::{self, Ident, ObjectName};
use types::SqlError;

use super::table_argument::{Argument, ParameterTable, PassedTable, TableTypeName};
use super::{Binder, ScopeColumn, ScopeTable};

impl Binder<'_> {
    /// The arguments of a call as they are written.
    pub(super) fn call_arguments(&mut self, arguments: &[ast::Expr]) -> Result<Vec<Argument>, SqlError> {
        let bind = |argument: &ast::Expr| match &argument.kind {
            ast::ExprKind::Default => Ok(Argument::Default),
            ast::ExprKind::Variable(name) if !self.is_scalar_variable(name) => Ok(self
                .passed_table(name)
                .map_or_else(|| Argument::Unknown(argument.clone()), Argument::Table)),
            _ => self.value(argument).map(Argument::Value),
        };
        arguments.iter().map(bind).collect()
    }

    /// Arguments for a function of which only the columns are wanted: a typed NULL for each value, no rows for each table.
    pub(super) fn unknown_arguments(
        &mut self,
        function: &ast::CreateFunction,
        database: &Database,
    ) -> Result<Vec<Argument>, SqlError> {
        let unknown = |parameter: &ast::Parameter| {
            let table_type = table_type_in(&parameter.data_type, database, self.context.lookup)?;
            Ok(if table_type.is_some() { Argument::Default } else { Argument::Value(Expr::null()) })
        };
        function.parameters.iter().map(unknown).collect()
    }

    /// The table variable of this name, or what a parameter of this name stands for.
    fn passed_table(&mut self, name: &str) -> Option<PassedTable> {
        match self.parameter_table(name) {
            Some(ParameterTable::Passed(table)) => return Some(table.clone()),
            Some(ParameterTable::Empty(_)) => return None,
            None if self.view_depth > 0 => return None,
            None => {}
        }
        let real_name = self.dependencies.temporary(self.context.names, name)?;
        let table_type = self.context.names.type_of_table_variable(name);
        Some(PassedTable { written: name.to_string(), real_name, table_type })
    }

    /// Is it a variable or parameter for one value? Where parameters are looked for, any unknown one is.
    fn is_scalar_variable(&self, name: &str) -> bool {
        self.context.undeclared.is_some()
            || self.arguments.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
            || self.context.variables.iter().any(|variable| variable.name.eq_ignore_ascii_case(name))
    }

    fn parameter_table(&self, name: &str) -> Option<&ParameterTable> {
        let mut arguments = self.table_arguments.iter();
        arguments.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, table)| table)
    }

    /// A table-valued parameter of an inlined function in FROM; `None` when the name is none.
    pub(super) fn parameter_source(
        &mut self,
        name: &str,
        alias: Option<&Ident>,
    ) -> Option<Result<Rel, SqlError>> {
        let alias = alias.cloned().unwrap_or_else(|| Ident::new(name));
        match self.parameter_table(name)?.clone() {
            ParameterTable::Passed(table) => {
                let object = ObjectName {
                    database: Some(Ident::new("tempdb")),
                    schema: Some(Ident::new("dbo")),
                    ..ObjectName::simple(table.real_name)
                };
                Some(self.named_source(&object, Some(&alias), &[], false))
            }
            ParameterTable::Empty(columns) => Some(Ok(self.empty_table(&columns, &alias.value))),
        }
    }

    fn empty_table(&mut self, columns: &[FunctionColumn], alias: &str) -> Rel {
        let (mut ids, mut visible) = (Vec::new(), Vec::new());
        for column in columns {
            let id = self.new_column(column.sql_type, column.nullable, column.collation);
            let name = column.name.clone();
            ids.push(id);
            visible.push(ScopeColumn { name, id, identity: false, rowguid: false, base: true });
        }
        let table = ScopeTable { alias: alias.into(), schema: None, database: None, columns: visible };
        self.scope().tables.push(table);
        Rel::Values { columns: ids, rows: Vec::new() }
    }

    /// The table of a parameter that has a table type; `None` when its type is another. Error 206.
    pub(super) fn table_for_parameter(
        &mut self,
        parameter: &ast::Parameter,
        database: &Arc<Database>,
        argument: &Argument,
    ) -> Result<Option<ParameterTable>, SqlError> {
        let lookup = self.context.lookup;
        let Some(wanted) = table_type_in(&parameter.data_type, database, lookup)? else {
            return match argument {
                Argument::Table(table) => {
                    let own = table.table_type.as_ref().map_or("table", |(_, name)| name);
                    Err(SqlError::new(206, &[&own, &parameter.data_type.name.name.value]))
                }
                _ => Ok(None),
            };
        };
        let clash = |own: &str| Err(SqlError::new(206, &[&own, &wanted.name]));
        let is_wanted = |own: &TableTypeName| own.0 == (database.number(), wanted.table_object_id);
        match argument {
            Argument::Table(table) => match &table.table_type {
                Some(own) if is_wanted(own) => Ok(Some(ParameterTable::Passed(table.clone()))),
                Some((_, name)) => clash(name),
                None => clash("table"),
            },
            Argument::Unknown(variable) => Err(plan_ir::errors::undeclared_table_variable(name_of(variable))),
            Argument::Value(value) if value.is_constant_null() => clash("void type"),
            Argument::Value(value) => clash(value.sql_type.name()),
            Argument::Default => {
                let (elements, _) = table_type_definition(&wanted, database, lookup)?;
                Ok(Some(ParameterTable::Empty(self.function_columns(&elements)?.into())))
            }
        }
    }
}

fn name_of(variable: &ast::Expr) -> &str {
    match &variable.kind {
        ast::ExprKind::Variable(name) => name,
        _ => "",
    }
}
