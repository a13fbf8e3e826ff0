//! Tables as arguments: table variables are lent to the procedure, tables of clients become table variables of it.

use tsql::ast::{self, DmlTargetKind, InsertSource, StatementKind};
use types::{SqlError, SqlResult, SqlType};

use crate::batch::call::{BoundTable, TableArgument};
use crate::batch::cell::STALE_PLANS_MAX;
use crate::forward::Forwarder;
use crate::rpc::SentTable;
use crate::session::Session;
use crate::sink::NullSink;
use crate::table_types::{TableType, table_type};

impl Session {
    /// A table variable as an argument of EXECUTE. Error 1087 when it is not declared yet.
    pub(crate) fn table_argument(&self, name: &str) -> SqlResult<TableArgument> {
        let found = self.names.table_variable(name);
        let (real_name, table_type) = found.ok_or_else(|| SqlError::new(1087, &[&name]))?;
        Ok(TableArgument::Variable(real_name, table_type))
    }

    /// Creates an empty table variable in the innermost scope; returns its real name.
    pub(crate) fn make_table_variable(&mut self, table: &ast::DeclareTable) -> SqlResult<String> {
        let real_name = self.names.add_table_variable(&table.name);
        self.transactions.statement_begin();
        let mut variables = Vec::new();
        let mut context = self.context_with(&mut variables);
        let result = query::ddl::create_table_variable(table, &real_name, &mut context);
        if result.is_err() {
            query::SessionNames::remove_temp_table(&self.names, &table.name);
        }
        self.end_statement(result.is_ok())?;
        result.map(|()| real_name)
    }

    /// Passes the tables of a call to the scope that is entered next.
    pub(crate) fn pass_tables(&mut self, tables: Vec<BoundTable>) -> SqlResult<()> {
        self.names.forget_passed();
        let passed = self.pass_each(tables);
        if passed.is_err() {
            self.names.forget_passed();
        }
        passed
    }

    fn pass_each(&mut self, tables: Vec<BoundTable>) -> SqlResult<()> {
        for (at, table) in tables.into_iter().enumerate() {
            let BoundTable { name, table_type, argument } = table;
            let sent = match argument {
                Some(TableArgument::Variable(real_name, _)) => {
                    self.names.pass(&name, real_name, table_type, false);
                    continue;
                }
                Some(TableArgument::Sent(sent)) => Some(sent),
                None => None,
            };
            // No text can name it in the caller's scope, where it stands until the call begins.
            let own_name = format!("@ {at} {}", self.names.new_number());
            let real_name = self.make_table_variable(&table_type.declaration(&own_name))?;
            if let Some(sent) = sent {
                self.fill(&own_name, &table_type, &sent)?;
            }
            self.names.pass(&name, real_name, table_type, true);
        }
        Ok(())
    }

    /// The name by which the call of a function reaches a table: a table variable has one, a client's table becomes a variable. Error 206.
    pub(crate) fn table_for_function(
        &mut self,
        data_type: &ast::DataType,
        table: &TableArgument,
    ) -> SqlResult<String> {
        let sent = match table {
            TableArgument::Variable(real_name, _) => return Ok(real_name.clone()),
            TableArgument::Sent(sent) => sent,
        };
        let wanted = table_type(data_type, self.types_in())?;
        let Some(wanted) = wanted.filter(|wanted| sent.may_be(wanted)) else {
            return Err(SqlError::new(206, &[&sent.name, &data_type.name.name.value]));
        };
        let own_name = format!("@ {}", self.names.new_number());
        self.make_table_variable(&wanted.declaration(&own_name))?;
        self.names.note_table_type(&own_name, wanted.clone());
        self.fill(&own_name, &wanted, sent)?;
        Ok(own_name)
    }

    /// Inserts the rows that a client has sent. Error 500 when the number of columns differs.
    fn fill(&mut self, name: &str, table_type: &TableType, sent: &SentTable) -> SqlResult<()> {
        let Some(columns) = &sent.columns else { return Ok(()) };
        let own = table_type.columns();
        if columns.len() != own.len() {
            return Err(wrong_column_count(columns.len(), own.len()));
        }
        if sent.rows.is_empty() {
            return Ok(());
        }
        let given = own.iter().zip(columns).filter_map(|(name, sql_type)| Some((*name, (*sql_type)?)));
        let (names, types): (Vec<&str>, Vec<SqlType>) = given.unzip();
        if names.is_empty() {
            return self.insert_defaults(name, sent.rows.len());
        }
        let names: Vec<String> = names.iter().map(|name| format!("[{}]", name.replace(']', "]]"))).collect();
        let insert = insert_statement(&format!("({}) EXEC p", names.join(", ")), name)?;
        self.insert_with_retries(|session, sink| {
            let statement =
                query::compile_insert_rows(&insert, &types, &session.bind_context_with(&[], None))?;
            let mut variables = Vec::new();
            let mut context = session.context_with(&mut variables);
            statement.execute(&sent.rows, &mut context, sink).map(drop)
        })
    }

    /// Inserts rows of defaults alone.
    fn insert_defaults(&mut self, name: &str, count: usize) -> SqlResult<()> {
        let insert = insert_statement("DEFAULT VALUES", name)?;
        for _ in 0..count {
            self.insert_with_retries(|session, sink| {
                let statement = query::compile(&insert, &session.bind_context_with(&[], None))?;
                let mut variables = Vec::new();
                let mut context = session.context_with(&mut variables);
                statement.execute(&mut context, sink).map(drop)
            })?;
        }
        Ok(())
    }

    fn insert_with_retries(
        &mut self,
        mut insert: impl FnMut(&mut Session, &mut Forwarder<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut outcome = Err(SqlError::new(2801, &[]));
        for _ in 0..STALE_PLANS_MAX {
            self.transactions.statement_begin();
            let mut nothing = NullSink;
            let mut forward = Forwarder::new(&mut nothing, self.options.text_size);
            let result = insert(self, &mut forward);
            self.end_statement(result.is_ok())?;
            let is_stale = result.as_ref().is_err_and(SqlError::is_stale_plan);
            outcome = result;
            if !is_stale {
                break;
            }
        }
        outcome
    }
}

/// `INSERT` with this rest into the table variable of that name.
fn insert_statement(rest: &str, name: &str) -> SqlResult<ast::Statement> {
    let text = format!("INSERT @t {rest}");
    let batch = tsql::parse_batch(&text, &tsql::ParseOptions { quoted_identifier: true })
        .map_err(|mut errors| crate::refusal::syntax_error(errors.swap_remove(0)))?;
    let mut statement = batch.statements.into_iter().next().expect("the text has one statement");
    if let StatementKind::Insert(insert) = &mut statement.kind {
        debug_assert!(matches!(insert.source, InsertSource::Execute(_) | InsertSource::DefaultValues));
        insert.target.kind = DmlTargetKind::Variable(name.to_string(), statement.span);
    }
    Ok(statement)
}

fn wrong_column_count(sent: usize, own: usize) -> SqlError {
    let text = format!(
        "A table-valued parameter with {sent} column(s) was passed where its user-defined table type needs {own} column(s)."
    );
    SqlError::custom(500, 16, 1, text)
}
