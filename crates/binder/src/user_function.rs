//! Calls of functions that users have created: scalar functions in expressions, multi-statement table-valued functions in FROM.

use std::sync::{Arc, OnceLock};

use engine::{Database, ModuleDef, ModuleKind, ObjectDef};
use plan_ir::bound::convert::for_variable;
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::context::{FunctionColumn, UserFunction};
use plan_ir::data_type::{TypePlace, declared_in};
use plan_ir::names::written;
use tsql::ast::{
    self, ColumnConstraint, ColumnConstraintKind, FunctionReturns, TableConstraintKind, TableElement,
};
use types::{Collation, SqlError, SqlType};

use super::from::{as_parameter, stored_function};
use super::names::Resolved;
use super::table_argument::{Argument, ParameterTable};
use super::{Binder, ScopeColumn, ScopeTable};

impl Binder<'_> {
    /// A call of a user's scalar function. Errors 4121 (no such function), 313 and 8144 (number of arguments).
    pub(super) fn user_call(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        let unknown = || plan_ir::errors::unknown_scalar_function(&written(&call.name));
        let resolved = self
            .resolve_table(&call.name)
            .map_err(|error| if error.number == 208 { unknown() } else { error })?;
        let Resolved::Object(database, object) = resolved else { return Err(unknown()) };
        let ObjectDef::Module(module) = &object else { return Err(unknown()) };
        if module.kind != ModuleKind::ScalarFunction {
            return Err(unknown());
        }
        if call.star || call.extra.is_some() {
            return Err(SqlError::new(102, &[&"*"]));
        }
        let arguments = self.call_arguments(&call.args)?;
        self.observe_call(&database, &object);
        let text = stored_function(module)?;
        let (function, returns, arguments) =
            self.signature(&database, module, &text, arguments).map_err(|error| named(error, &call.name))?;
        let sql_type = returns.expect("a scalar function returns a value");
        if let Some(value) = self.inlined(&function, &text, sql_type, &arguments)? {
            return Ok(value);
        }
        Ok(Expr::new(ExprKind::UserCall(function, arguments), sql_type, true))
    }

    /// The table of a multi-statement table-valued function under an alias.
    pub(super) fn function_table(
        &mut self,
        database: &Arc<Database>,
        module: &Arc<ModuleDef>,
        arguments: Vec<Argument>,
        (alias, name): (&str, &ast::ObjectName),
    ) -> Result<Rel, SqlError> {
        let text = stored_function(module)?;
        let (function, _, arguments) =
            self.signature(database, module, &text, arguments).map_err(|error| named(error, name))?;
        let mut columns = Vec::with_capacity(function.columns.len());
        let mut visible = Vec::with_capacity(function.columns.len());
        for column in &function.columns {
            let id = self.new_column(column.sql_type, column.nullable, column.collation);
            columns.push(id);
            visible.push(ScopeColumn {
                name: column.name.clone(),
                id,
                identity: false,
                rowguid: false,
                base: false,
            });
        }
        let table = ScopeTable { alias: alias.into(), schema: None, database: None, columns: visible };
        self.scope().tables.push(table);
        Ok(Rel::FunctionTable { function, arguments, columns })
    }

    /// A function with its arguments converted to the types of its parameters, and the type of its value if it is scalar.
    #[allow(clippy::type_complexity, reason = "used twice, here")]
    pub(super) fn signature(
        &mut self,
        database: &Arc<Database>,
        module: &Arc<ModuleDef>,
        text: &ast::CreateFunction,
        arguments: Vec<Argument>,
    ) -> Result<(Arc<UserFunction>, Option<SqlType>, Vec<Expr>), SqlError> {
        self.isolated(database.clone(), module.schema.clone(), module.ansi_nulls, |binder| {
            let arguments = binder.function_arguments(text, arguments)?;
            let (returns, columns) = match &text.returns {
                FunctionReturns::Scalar(data_type) => {
                    let place = TypePlace::Variable(0);
                    let declared = declared_in(data_type, place, database, binder.context.lookup)?;
                    (Some(declared.sql_type), Vec::new())
                }
                FunctionReturns::Table { elements, .. } => (None, binder.function_columns(elements)?),
                FunctionReturns::InlineTable | FunctionReturns::ClrTable(_) => {
                    return Err(plan_ir::errors::stored_text_damaged());
                }
            };
            let mut function = UserFunction {
                database: database.clone(),
                module: module.clone(),
                parameters: arguments.iter().map(|argument| argument.sql_type).collect(),
                is_strict: text.options.contains(&ast::ModuleOption::ReturnsNullOnNullInput),
                is_deterministic: false,
                columns,
                program: OnceLock::new(),
                trigger_table: None,
            };
            if let (true, Some(returns)) = (module.is_schema_bound, returns) {
                function.is_deterministic = binder.is_body_deterministic(&function, text, returns)?;
            }
            Ok((Arc::new(function), returns, arguments))
        })
    }

    /// The arguments of a function as values of its parameters' types; that of a table is its name. Errors 206, 313, 8144.
    fn function_arguments(
        &mut self,
        function: &ast::CreateFunction,
        arguments: Vec<Argument>,
    ) -> Result<Vec<Expr>, SqlError> {
        let bound = self.bound_arguments(function, arguments)?;
        let values = bound.into_iter().map(|argument| match argument {
            Bound::Value(value) => value,
            Bound::Table(table) => table.as_value(),
        });
        Ok(values.collect())
    }

    /// The arguments of an inlined function: its parameters stand for them from here on.
    pub(super) fn take_arguments(
        &mut self,
        function: &ast::CreateFunction,
        arguments: Vec<Argument>,
    ) -> Result<(), SqlError> {
        let bound = self.bound_arguments(function, arguments)?;
        for (parameter, argument) in function.parameters.iter().zip(bound) {
            let name = parameter.name.clone();
            match argument {
                Bound::Value(value) => self.arguments.push((name, as_parameter(value))),
                Bound::Table(table) => self.table_arguments.push((name, table)),
            }
        }
        Ok(())
    }

    fn bound_arguments(
        &mut self,
        function: &ast::CreateFunction,
        arguments: Vec<Argument>,
    ) -> Result<Vec<Bound>, SqlError> {
        let name = written(&function.name);
        if arguments.len() < function.parameters.len() {
            return Err(plan_ir::errors::too_few_arguments(&name));
        }
        if arguments.len() > function.parameters.len() {
            return Err(plan_ir::errors::too_many_arguments(&name));
        }
        let database = self.current_database();
        let mut bound = Vec::with_capacity(arguments.len());
        for (at, (parameter, argument)) in function.parameters.iter().zip(arguments).enumerate() {
            if let Some(table) = self.table_for_parameter(parameter, &database, &argument)? {
                bound.push(Bound::Table(table));
                continue;
            }
            let place = TypePlace::Variable(at + 1);
            let declared = declared_in(&parameter.data_type, place, &database, self.context.lookup)?;
            let argument = match (argument, &parameter.default) {
                (Argument::Value(argument), _) => argument,
                (Argument::Unknown(variable), _) => self.value(&variable)?,
                (_, Some(default)) => self.value(default)?,
                (_, None) => return Err(plan_ir::errors::too_few_arguments(&name)),
            };
            bound.push(Bound::Value(for_variable(argument, &declared.sql_type)?));
        }
        Ok(bound)
    }

    /// The columns of the table that a function declares.
    pub(super) fn function_columns(
        &mut self,
        elements: &[TableElement],
    ) -> Result<Vec<FunctionColumn>, SqlError> {
        let database = self.current_database();
        let mut columns: Vec<FunctionColumn> = Vec::new();
        let mut computed = Vec::new();
        for element in elements {
            let TableElement::Column(column) = element else { continue };
            let place = TypePlace::Column(columns.len() + 1);
            let (sql_type, may_be_null) = match (&column.computed, &column.data_type) {
                (Some(value), _) => {
                    computed.push((columns.len(), &value.expr));
                    (SqlType::Int, true)
                }
                (None, Some(data_type)) => {
                    let declared = declared_in(data_type, place, &database, self.context.lookup)?;
                    (declared.sql_type, declared.nullable.unwrap_or(true))
                }
                // `timestamp`, written as the name of the column alone.
                (None, None) => (SqlType::RowVersion, false),
            };
            let collation = match &column.collation {
                Some(name) => Collation::by_name(&name.value)
                    .ok_or_else(|| plan_ir::errors::invalid_collation(&name.value))?,
                None => Collation::default(),
            };
            let is_primary = |constraint: &ColumnConstraint| matches!(&constraint.kind, ColumnConstraintKind::Key(key) if key.primary);
            let is_key = column.identity.is_some() || column.constraints.iter().any(is_primary);
            let nullable = column.nullable.unwrap_or(may_be_null && !is_key);
            columns.push(FunctionColumn { name: column.name.value.clone(), sql_type, nullable, collation });
        }
        for (at, expression) in computed {
            let value = self.computed_value(expression, &columns)?;
            let column = &mut columns[at];
            (column.sql_type, column.nullable, column.collation) =
                (value.sql_type, value.nullable, value.collation);
        }
        for element in elements {
            let TableElement::Constraint(constraint) = element else { continue };
            let TableConstraintKind::Key(key) = &constraint.kind else { continue };
            for name in key.columns.iter().filter(|_| key.primary) {
                let is_named =
                    |column: &&mut FunctionColumn| plan_ir::names::same_name(&column.name, &name.name.value);
                if let Some(column) = columns.iter_mut().find(is_named) {
                    column.nullable = false;
                }
            }
        }
        Ok(columns)
    }

    /// The value of a computed column over the others.
    fn computed_value(
        &mut self,
        expression: &ast::Expr,
        columns: &[FunctionColumn],
    ) -> Result<Expr, SqlError> {
        let mut visible = Vec::with_capacity(columns.len());
        for column in columns {
            let id = self.new_column(column.sql_type, column.nullable, column.collation);
            let name = column.name.clone();
            visible.push(ScopeColumn { name, id, identity: false, rowguid: false, base: false });
        }
        let table = ScopeTable { alias: String::new(), schema: None, database: None, columns: visible };
        self.scopes.push(super::Scope { tables: vec![table], ..super::Scope::default() });
        let value = self.value(expression);
        self.scopes.pop();
        value
    }
}

/// An argument that fits its parameter.
enum Bound {
    Value(Expr),
    Table(ParameterTable),
}

/// The error of a call names the function as the call does.
fn named(error: SqlError, name: &ast::ObjectName) -> SqlError {
    match error.number {
        313 => plan_ir::errors::too_few_arguments(&written(name)),
        8144 => plan_ir::errors::too_many_arguments(&written(name)),
        _ => error,
    }
}
