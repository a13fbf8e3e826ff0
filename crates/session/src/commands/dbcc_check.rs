//! DBCC CHECKDB, CHECKALLOC and CHECKTABLE: arguments and messages; the engine performs the checks.
//!
//! Tables are checked one after the other, each under its own shared lock, held during its check. Each inconsistency is reported as a message of
//! severity 16, and the command goes on.

use std::sync::Arc;

use engine::{CheckOptions, Database, ObjectDef, TableDef};
use tsql::ast;
use types::{SqlError, SqlResult, Value};

use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;

/// One command with its arguments resolved.
struct CheckCommand<'a> {
    name: &'a str,
    says_little: bool,
    options: CheckOptions,
}

/// Error counts.
#[derive(Default)]
struct Errors {
    allocation: usize,
    consistency: usize,
}

impl Session {
    /// Runs one of the three commands; the caller sends the closing 2528.
    pub(crate) fn dbcc_check(
        &mut self,
        dbcc: &ast::Dbcc,
        name: &str,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let mut command = CheckCommand { name, says_little: false, options: CheckOptions::default() };
        for option in &dbcc.options {
            match option.name.value.to_uppercase().as_str() {
                "NO_INFOMSGS" => command.says_little = true,
                "PHYSICAL_ONLY" if name != "CHECKALLOC" => command.options.is_physical_only = true,
                // No effect here: all errors are reported, values and logical consistency are checked, tables are locked, one thread runs the check.
                "ALL_ERRORMSGS" | "TABLOCK" => {}
                "EXTENDED_LOGICAL_CHECKS" | "DATA_PURITY" | "MAXDOP" if name != "CHECKALLOC" => {}
                "ESTIMATEONLY" => return Err(not_supported(&format!("DBCC {name} ... WITH ESTIMATEONLY"))),
                _ => return Err(SqlError::new(2526, &[])),
            }
        }
        let mut arguments = dbcc.args.iter().map(argument).collect::<SqlResult<Vec<_>>>()?;
        if arguments.len() > 2 {
            return Err(SqlError::new(2526, &[]));
        }
        match arguments.get(1).map(|word| word.as_text().unwrap_or_default().to_uppercase()) {
            None => {}
            Some(word) if word == "NOINDEX" => command.options.skips_indexes = true,
            Some(word) if word.starts_with("REPAIR_") => {
                return Err(not_supported(&format!("DBCC {name} ... {word}")));
            }
            Some(_) => return Err(SqlError::new(2560, &[&2])),
        }
        let first = if arguments.is_empty() { None } else { Some(arguments.swap_remove(0)) };
        match (name, first) {
            ("CHECKTABLE", None) => Err(SqlError::new(2526, &[])),
            ("CHECKTABLE", Some(table)) => self.check_one_table(&command, &table, sink),
            (_, database) => {
                let database = self.named_for_check(database.as_ref())?;
                self.check_database(&command, &database, sink)
            }
        }
    }

    /// The database of CHECKDB and CHECKALLOC, by name or number; 0 and no argument mean the current one.
    pub(crate) fn named_for_check(&self, which: Option<&Value>) -> SqlResult<Arc<Database>> {
        match which {
            None => Ok(self.database.clone()),
            Some(value) => match value.as_i64() {
                Some(0) => Ok(self.database.clone()),
                Some(number) => {
                    let found = i16::try_from(number).ok().and_then(|id| self.instance.database_by_id(id));
                    found.ok_or_else(|| SqlError::new(2520, &[&number]))
                }
                None => {
                    let name = value.as_text().unwrap_or_default();
                    self.instance.database(&name).map_err(|error| match error.number {
                        911 => SqlError::new(2520, &[&name]),
                        _ => error,
                    })
                }
            },
        }
    }

    fn check_database(
        &mut self,
        command: &CheckCommand<'_>,
        database: &Arc<Database>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let mut total = Errors::default();
        if !command.says_little {
            sink.message(&SqlError::new(2536, &[&database.name()]));
        }
        if command.name == "CHECKDB" {
            for table in database.tables() {
                let found = self.check_and_tell(command, database, &table, sink)?;
                total.allocation += found.allocation;
                total.consistency += found.consistency;
            }
        }
        let lost = database.check_allocation()?;
        lost.iter().for_each(|error| sink.message(error));
        total.allocation += lost.len();
        if !command.says_little || total.allocation + total.consistency > 0 {
            let told = [&command.name as &dyn std::fmt::Display, &total.allocation, &total.consistency];
            sink.message(&SqlError::new(8989, &[told[0], told[1], told[2], &database.name()]));
        }
        Ok(())
    }

    fn check_one_table(
        &mut self,
        command: &CheckCommand<'_>,
        table: &Value,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let (database, definition) = self.table_for_check(table)?;
        self.check_and_tell(command, &database, &definition, sink).map(|_| ())
    }

    /// A table by its name or number.
    pub(crate) fn table_for_check(&self, table: &Value) -> SqlResult<(Arc<Database>, Arc<TableDef>)> {
        let shown = table.as_text().unwrap_or_else(|| table.as_i64().unwrap_or(0).to_string());
        let missing = || SqlError::new(2501, &[&shown]);
        let lookup = engine::Lookup::new(&self.transactions);
        let (database, found) = match table.as_i64() {
            Some(number) => {
                let id = i32::try_from(number).map_err(|_| missing())?;
                (self.database.clone(), lookup.object_numbered(&self.database, id)?)
            }
            None => {
                let name = crate::objects::parse_name(&shown)?;
                let database = match &name.database {
                    Some(database) => self.instance.database(&database.value)?,
                    None if shown.starts_with('#') => self.instance.database("tempdb")?,
                    None => self.database.clone(),
                };
                let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
                let real = query::SessionNames::temp_table(&self.names, &name.name.value);
                let table = real.unwrap_or_else(|| name.name.value.clone());
                let found = lookup.object(&database, schema, &table)?;
                (database, found)
            }
        };
        match found {
            Some(ObjectDef::Table(definition)) => Ok((database, definition)),
            _ => Err(missing()),
        }
    }

    /// Checks a table inside the session's transaction, so that it does not wait for its own locks, and reports what it found.
    fn check_and_tell(
        &mut self,
        command: &CheckCommand<'_>,
        database: &Arc<Database>,
        table: &Arc<TableDef>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Errors> {
        self.transactions.statement_begin();
        let isolation = self.options.isolation;
        let found = match self.transactions.in_database(database, isolation) {
            Ok(transaction) => database.check_table(transaction, table, command.options),
            Err(error) => Err(error),
        };
        self.end_statement(found.is_ok())?;
        let Some(found) = found? else { return Ok(Errors::default()) };
        if !command.says_little {
            sink.message(&SqlError::new(2536, &[&table.name]));
            sink.message(&SqlError::new(2593, &[&found.rows, &found.pages, &table.name]));
        }
        found.allocation_errors.iter().chain(&found.consistency_errors).for_each(|error| sink.message(error));
        let errors =
            Errors { allocation: found.allocation_errors.len(), consistency: found.consistency_errors.len() };
        if errors.allocation + errors.consistency > 0 {
            sink.message(&SqlError::new(
                8990,
                &[&command.name, &errors.allocation, &errors.consistency, &table.name, &table.object_id],
            ));
        }
        Ok(errors)
    }
}

/// An argument: a constant, or a name as text.
pub(crate) fn argument(argument: &ast::DbccArgument) -> SqlResult<Value> {
    match argument {
        ast::DbccArgument::Value(ast::Expr { kind: ast::ExprKind::Column(column), .. }) => {
            let mut text = String::new();
            if let Some(qualifier) = &column.qualifier {
                for part in [&qualifier.database, &qualifier.schema, &Some(qualifier.name.clone())]
                    .into_iter()
                    .flatten()
                {
                    text.push_str(&format!("[{}].", part.value.replace(']', "]]")));
                }
            }
            text.push_str(&if text.is_empty() {
                column.name.value.clone()
            } else {
                format!("[{}]", column.name.value.replace(']', "]]"))
            });
            Ok(Value::nvarchar(&text))
        }
        ast::DbccArgument::Value(ast::Expr {
            kind: ast::ExprKind::Literal(ast::Literal::Int(number)),
            ..
        }) => Ok(Value::BigInt(i64::from(*number))),
        ast::DbccArgument::Value(value) => crate::values::constant(value, &types::SqlType::nvarchar(776)),
        ast::DbccArgument::Named(..) => Err(SqlError::new(2526, &[])),
    }
}
