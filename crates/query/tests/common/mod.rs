//! A world for tests: an instance, a database, one session's variables and temporary tables.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "a helper of tests")]

use std::cell::RefCell;
use std::sync::Arc;

use engine::{Database, Instance, TransactionSet};
use hardpan_query as query;
use query::{
    BindContext, ColumnDescription, ExecContext, Flow, RowSink, SessionNames, SessionState, SetOptions,
    StatementOutcome, VariableDef,
};
use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlType, Value};

pub struct World {
    directory: std::path::PathBuf,
    pub instance: Arc<Instance>,
    pub database: Arc<Database>,
    pub transactions: TransactionSet,
    pub options: SetOptions,
    pub variables: Vec<VariableDef>,
    pub values: Vec<Value>,
    pub state: State,
    pub names: Names,
}

pub struct State {
    pub row_count: i64,
    pub identity: Value,
}

impl SessionState for State {
    fn session_id(&self) -> i16 {
        51
    }
    fn login_name(&self) -> &str {
        "sa"
    }
    fn row_count(&self) -> i64 {
        self.row_count
    }
    fn scope_identity(&self) -> Value {
        self.identity.clone()
    }
}

#[derive(Default)]
pub struct Names {
    made: RefCell<Vec<String>>,
}

impl SessionNames for Names {
    fn temp_table(&self, name: &str) -> Option<String> {
        let made = self.made.borrow();
        let known = made.iter().enumerate().map(|(number, made)| (made, real_name(made, number)));
        // What the binder has found out is asked for by its name in tempdb.
        let mut found = known.filter(|(made, real)| made.eq_ignore_ascii_case(name) || real == name);
        found.next().map(|(_, real)| real)
    }
    fn version(&self) -> u64 {
        let made = self.made.borrow();
        let gone = made.iter().filter(|name| name.is_empty()).count();
        (made.len() + gone) as u64
    }
    fn add_temp_table(&self, name: &str) -> Result<String, SqlError> {
        let mut made = self.made.borrow_mut();
        made.push(name.to_string());
        Ok(real_name(name, made.len() - 1))
    }
    fn remove_temp_table(&self, name: &str) {
        // Its place stays: numbers are not given twice.
        let mut made = self.made.borrow_mut();
        made.iter_mut().filter(|made| made.eq_ignore_ascii_case(name)).for_each(String::clear);
    }
}

/// Names in tempdb as sessions give them: table variables are known by theirs.
fn real_name(name: &str, number: usize) -> String {
    if name.starts_with('@') { format!("#{number:08X}") } else { format!("{name}_51") }
}

#[derive(Default)]
pub struct Collect {
    pub columns: Vec<ColumnDescription>,
    pub rows: Vec<Vec<Value>>,
    pub messages: Vec<SqlError>,
}

impl RowSink for Collect {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        self.columns = columns.to_vec();
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.rows.push(row.to_vec());
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        self.messages.push(message.clone());
    }
}

impl World {
    pub fn new() -> World {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("hardpan-query-{}-{number}", std::process::id()));
        let options =
            engine::InstanceOptions { background: false, ..engine::InstanceOptions::new(&directory) };
        let instance = Instance::open(&os::Os::real(), &options).unwrap();
        let new = engine::CreateDatabaseOptions { name: "db".to_string(), ..Default::default() };
        let database = instance.create_database(&new).unwrap();
        World {
            directory,
            transactions: TransactionSet::new(&instance, 51),
            instance,
            database,
            options: SetOptions::default(),
            variables: Vec::new(),
            values: Vec::new(),
            state: State { row_count: 0, identity: Value::Null },
            names: Names::default(),
        }
    }

    /// Runs a batch; the rows of all its result sets, or the first error.
    pub fn batch(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let parsed = tsql::parse_batch(sql, &tsql::ParseOptions::default());
        let batch = parsed.map_err(|errors| {
            SqlError::custom(errors[0].number, 15, 1, format!("near {:?}", errors[0].near))
        })?;
        let mut rows = Vec::new();
        for statement in &batch.statements {
            let sink = self.statement(statement, sql)?;
            rows.extend(sink.rows.iter().map(|row| query::scripts::show_row(row)));
        }
        Ok(rows)
    }

    /// Runs one statement in a transaction of its own.
    pub fn statement(&mut self, statement: &ast::Statement, text: &str) -> Result<Collect, SqlError> {
        self.transactions.statement_begin();
        let result = self.statement_inside(statement, text);
        match result {
            Ok(sink) => {
                self.transactions.statement_end()?;
                self.transactions.commit(None)?;
                Ok(sink)
            }
            Err(error) => {
                self.transactions.rollback()?;
                Err(error)
            }
        }
    }

    fn statement_inside(&mut self, statement: &ast::Statement, text: &str) -> Result<Collect, SqlError> {
        let mut sink = Collect::default();
        match &statement.kind {
            StatementKind::Declare(list) => {
                for declared in list {
                    let sql_type = query::resolve_type(&declared.data_type, query::TypePlace::Variable(1))?;
                    self.variables.push(VariableDef { name: declared.name.clone(), sql_type });
                    self.values.push(Value::Null);
                    if let Some(initial) = &declared.initial {
                        self.assign(self.values.len() - 1, initial, sql_type)?;
                    }
                }
            }
            StatementKind::SetVariable(set) => {
                let ast::SetVariable::Assign { variable, value, .. } = &**set else {
                    panic!("plain SET only")
                };
                let slot = self
                    .variables
                    .iter()
                    .position(|known| known.name.eq_ignore_ascii_case(variable))
                    .unwrap();
                let sql_type = self.variables[slot].sql_type;
                self.assign(slot, value, sql_type)?;
            }
            StatementKind::DeclareTable(declare) => {
                let real = self.names.add_temp_table(&declare.name)?;
                self.with(|context| query::ddl::create_table_variable(declare, &real, context))?;
            }
            StatementKind::Select(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Truncate(_) => {
                let outcome = self.run(statement, &mut sink)?;
                self.state.row_count = outcome.row_count.unwrap_or(0) as i64;
                if let Some(identity) = outcome.identity {
                    self.state.identity = identity;
                }
            }
            _ => self.with(|context| query::ddl::execute(statement, text, context).map(drop))?,
        }
        Ok(sink)
    }

    fn run(&mut self, statement: &ast::Statement, sink: &mut Collect) -> Result<StatementOutcome, SqlError> {
        let compiled = query::compile(statement, &self.bind())?;
        self.with(|context| compiled.execute(context, sink))
    }

    fn assign(&mut self, slot: usize, value: &ast::Expr, sql_type: SqlType) -> Result<(), SqlError> {
        let program = query::compile_scalar(value, Some(&sql_type), &self.bind())?;
        self.with(|context| program.assign(slot, context))
    }

    pub fn bind(&self) -> BindContext<'_> {
        BindContext {
            instance: &self.instance,
            database: &self.database,
            default_schema: "dbo",
            variables: &self.variables,
            options: &self.options,
            names: &self.names,
            lookup: engine::Lookup::new(&self.transactions),
            undeclared: None,
            missing: None,
            in_function: false,
            trigger: None,
        }
    }

    pub fn with<T>(&mut self, f: impl FnOnce(&mut ExecContext<'_>) -> T) -> T {
        f(&mut ExecContext {
            instance: &self.instance,
            database: &self.database,
            variables: &mut self.values,
            transactions: &mut self.transactions,
            state: &self.state,
            functions: &plan_ir::context::NoFunctions,
            options: &self.options,
            names: &self.names,
            front_end: query::FRONT_END,
            trigger: None,
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.transactions.rollback();
        self.instance.shutdown();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
