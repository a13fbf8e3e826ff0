//! DECLARE CURSOR, OPEN, CLOSE, DEALLOCATE and SET of cursor variables.

use std::sync::Arc;

use query::context::RunningTrigger;
use query::{
    ColumnDescription, CompiledStatement, CursorRow, ExecContext, Flow, RowSink, StatementOutcome,
    VariableDef,
};
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::cell::{Compiled, STALE_PLANS_MAX};
use crate::batch::cursor::{
    CursorName, CursorPlan, CursorStep, Keyed, Sensitivity, seek_places, select_statement,
};
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::cursors::{Cursor, CursorId, Opened, bytes_of};
use crate::interruption::{Interruption, Stop, refused_entry};
use crate::session::Session;
use crate::sink::{Done, ResultSink, SinkLayer};

/// Takes in the rows of a cursor's query: of each row its last `width` values.
#[derive(Default)]
pub(super) struct Collected {
    columns: Vec<ColumnDescription>,
    values: Vec<Value>,
    count: usize,
    /// `None`: all of them.
    width: Option<usize>,
    bytes: u64,
    pub(super) failure: Option<SqlError>,
    messages: Vec<SqlError>,
}

impl RowSink for Collected {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        self.columns = columns.to_vec();
        Flow::Continue
    }

    fn row(&mut self, row: &[Value]) -> Flow {
        if let Err(spent) = os::memory::check_session() {
            self.failure = Some(query::errors::out_of_memory(spent));
            return Flow::Stop;
        }
        let kept = &row[self.width.map_or(0, |width| row.len() - width)..];
        self.bytes += bytes_of(kept);
        self.values.extend_from_slice(kept);
        self.count += 1;
        Flow::Continue
    }

    fn message(&mut self, message: &SqlError) {
        self.messages.push(message.clone());
    }
}

/// Takes in the first result set of a text; everything else goes to the client.
struct Captured<'a> {
    sink: &'a mut dyn ResultSink,
    rows: Collected,
    has_columns: bool,
}

impl SinkLayer for Captured<'_> {
    fn next(&mut self) -> &mut dyn ResultSink {
        self.sink
    }
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        if std::mem::replace(&mut self.has_columns, true) {
            return Flow::Stop;
        }
        self.rows.columns(columns)
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.rows.row(row)
    }
    fn done(&mut self, _done: Done) {}
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
}

impl Session {
    pub(crate) fn cursor_step(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        step: &CursorStep,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        // DECLARE CURSOR and FETCH set @@ROWCOUNT to 1, the others to 0.
        let row_count = match step {
            CursorStep::Fetch(fetch) => {
                let fetched = self.fetch(frame, instruction, fetch, sink);
                if fetched.is_err() {
                    self.state.cursors.fetch_status = -1;
                }
                i64::from(fetched?)
            }
            CursorStep::Current(current) => {
                return self.change_current(frame, instruction, at, current, sink);
            }
            CursorStep::Declare(plan) => {
                let cursor = self.new_cursor(frame, instruction, plan)?;
                let is_global = plan.properties.is_global.unwrap_or_else(|| !self.makes_local_cursors());
                self.state.cursors.declare(cursor, is_global)?;
                1
            }
            CursorStep::DeclareVariable(key) => {
                self.state.cursors.declare_variable(key);
                0
            }
            CursorStep::SetNew(key, plan) => {
                let cursor = self.new_cursor(frame, instruction, plan)?;
                self.state.cursors.assign_new(key, cursor);
                1
            }
            CursorStep::SetOther(key, name) => {
                self.state.cursors.assign_other(key, name)?;
                1
            }
            CursorStep::Open(name) => {
                self.open(frame, instruction, name, sink)?;
                0
            }
            CursorStep::Close(name) => {
                let id = self.state.cursors.id_of(name)?;
                let cursor = self.state.cursors.get(id);
                if cursor.opened.take().is_none() {
                    return Err(SqlError::new(16917, &[]).into());
                }
                cursor.last_operation = (6, 0);
                0
            }
            CursorStep::Deallocate(name) => {
                self.state.cursors.deallocate(name)?;
                0
            }
        };
        self.state.row_count = row_count;
        if !matches!(step, CursorStep::Fetch(_) | CursorStep::DeclareVariable(_)) {
            self.publish_cursors();
        }
        Ok(())
    }

    /// Publishes the cursors for the views of other sessions.
    pub(crate) fn publish_cursors(&mut self) {
        self.state.closes_cursors = self.closes_cursors_on_commit();
        let rows: Arc<[CursorRow]> = self.state.cursors.rows(self.state.closes_cursors).into();
        self.slot.update(|published| published.row.cursors = rows);
    }

    /// The database option CURSOR_DEFAULT.
    fn makes_local_cursors(&self) -> bool {
        self.database.options().switches.get("CURSOR_DEFAULT_LOCAL").copied().unwrap_or(false)
    }

    /// SET CURSOR_CLOSE_ON_COMMIT, or the database option as long as the session has set none.
    pub(crate) fn closes_cursors_on_commit(&self) -> bool {
        if self.state.cursors.is_closing_set {
            return self.options.cursor_close_on_commit;
        }
        let options = self.database.options();
        self.options.cursor_close_on_commit
            || options.switches.get("CURSOR_CLOSE_ON_COMMIT").copied().unwrap_or(false)
    }

    fn new_cursor(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        plan: &Arc<CursorPlan>,
    ) -> Result<Cursor, Interruption> {
        let compiled = self.bound(frame, instruction, plan.cell)?;
        let variables = frame.variables[..plan.variables.len()].to_vec();
        let place = (self.database.clone(), frame.program.schema.clone());
        Ok(Cursor::new(plan.clone(), compiled, variables, place, self.now_ticks()))
    }

    fn open(
        &mut self,
        frame: &Frame,
        instruction: &Instruction,
        name: &CursorName,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let id = self.state.cursors.id_of(name)?;
        if self.state.cursors.get(id).opened.is_some() {
            return Err(SqlError::new(16905, &[]).into());
        }
        let mut messages = self.open_cursor(id, frame.trigger.as_deref(), sink)?;
        let cursor = self.state.cursors.get(id);
        if cursor.plan.properties.warns && cursor.is_converted() {
            messages.push(SqlError::new(16956, &[]));
        }
        for message in messages {
            sink.message(&message.at_line(instruction.line).in_procedure(frame.procedure.as_deref()));
        }
        Ok(())
    }

    /// Opens the cursor; returns the messages of its query.
    pub(crate) fn open_cursor(
        &mut self,
        id: CursorId,
        trigger: Option<&RunningTrigger>,
        sink: &mut dyn ResultSink,
    ) -> Result<Vec<SqlError>, Interruption> {
        self.state.cursors.note_opened(id);
        let (opened, messages) = self.in_database_of(id, |session| session.opened(id, trigger, sink))?;
        let cursor = self.state.cursors.get(id);
        (cursor.opened, cursor.last_operation) = (Some(Box::new(opened)), (1, 0));
        Ok(messages)
    }

    /// Opens the cursor over the rows that a text gives, which calls a procedure; returns the last values of the text's parameters.
    /// Error 16937 when it gives no rows.
    pub(crate) fn open_cursor_of_text(
        &mut self,
        id: CursorId,
        (text, parameters): (&str, &[VariableDef]),
        sink: &mut dyn ResultSink,
    ) -> Result<Vec<Value>, Interruption> {
        self.state.cursors.note_opened(id);
        let values = self.state.cursors.get(id).variables.clone();
        let mut captured = Captured { sink, rows: Collected::default(), has_columns: false };
        let last = self.run_text(text, parameters, values, &mut captured)?;
        let Captured { mut rows, has_columns, .. } = captured;
        if let Some(failure) = rows.failure.take() {
            return Err(failure.into());
        }
        if !has_columns {
            return Err(SqlError::new(16937, &[]).into());
        }
        self.state.cursors.get(id).opened = Some(Box::new(opened_with(rows, None).0));
        Ok(last)
    }

    /// Runs something in the database of a cursor.
    pub(crate) fn in_database_of<T>(
        &mut self,
        id: CursorId,
        run: impl FnOnce(&mut Session) -> Result<T, Interruption>,
    ) -> Result<T, Interruption> {
        let database = self.state.cursors.get(id).database.clone();
        if Arc::ptr_eq(&database, &self.database) {
            return run(self);
        }
        self.transactions.enter_known_database(&database).map_err(refused_entry)?;
        let outer = std::mem::replace(&mut self.database, database);
        let result = run(self);
        self.move_to(outer);
        result
    }

    /// Runs the query of a cursor, and again when a definition has changed meanwhile.
    fn opened(
        &mut self,
        id: CursorId,
        trigger: Option<&RunningTrigger>,
        sink: &mut dyn ResultSink,
    ) -> Result<(Opened, Vec<SqlError>), Interruption> {
        for _ in 0..STALE_PLANS_MAX {
            let cursor = self.state.cursors.get(id);
            let (plan, schema) = (cursor.plan.clone(), cursor.schema.clone());
            let keyed = self.keyed(&plan, schema.as_deref())?;
            if plan.properties.is_for_update && keyed.is_none() {
                return Err(SqlError::new(16957, &[]).into());
            }
            let mut collected = Collected::default();
            let ran = match &keyed {
                // Its rows are sought one by one when they are fetched.
                Some(keyed) if keyed.is_seeking() => {
                    collected.width = Some(keyed.table.key.len());
                    let columns = keyed.keys.result_columns().unwrap_or_default();
                    collected.columns(columns);
                    Ok(StatementOutcome::default())
                }
                Some(keyed) => {
                    collected.width = Some(keyed.table.key.len());
                    let mut variables = self.state.cursors.get(id).variables.clone();
                    variables.resize(plan.variables.len() + keyed.table.key.len() + 1, Value::Null);
                    self.run_for_cursor(&keyed.keys, (&mut variables, trigger), &mut collected, sink)
                }
                None => {
                    let compiled = self.valid_query(id, &plan, schema.as_deref())?;
                    let Compiled::Statement(statement) = compiled.as_ref() else {
                        unreachable!("the cell of a query holds a statement")
                    };
                    let mut variables = self.state.cursors.get(id).variables.clone();
                    self.run_for_cursor(statement, (&mut variables, trigger), &mut collected, sink)
                }
            };
            match (ran, collected.failure.take()) {
                (Err(interruption), _) if interruption.is_stale_plan() => *plan.keyed.lock() = None,
                (Err(interruption), _) => return Err(interruption),
                (Ok(_), Some(failure)) => return Err(failure.into()),
                (Ok(_), None) => return Ok(opened_with(collected, keyed)),
            }
        }
        Err(SqlError::new(2801, &[]).into())
    }

    /// The query as it was bound when the cursor was declared, or bound again.
    fn valid_query(
        &mut self,
        id: CursorId,
        plan: &CursorPlan,
        schema: Option<&str>,
    ) -> Result<Arc<Compiled>, Interruption> {
        let compiled = self.state.cursors.get(id).compiled.clone();
        if compiled.is_valid(self.name_scope()) {
            return Ok(compiled);
        }
        let context = self.bind_context_with(&plan.variables, schema);
        let fresh = Arc::new(Compiled::Statement(query::compile(&plan.statement(), &context)?));
        self.state.cursors.get(id).compiled = fresh.clone();
        Ok(fresh)
    }

    /// The statements for rows by their keys. `None`: the cursor keeps a copy of its rows, because it is declared so or because its query
    /// does not show the rows of one table with a unique key one for one.
    fn keyed(&mut self, plan: &CursorPlan, schema: Option<&str>) -> SqlResult<Option<Arc<Keyed>>> {
        let properties = &plan.properties;
        if matches!(properties.sensitivity, Sensitivity::Static | Sensitivity::FastForward) {
            return Ok(None);
        }
        let kept = plan.keyed.lock().clone();
        let is_valid = |keyed: &Arc<Keyed>| {
            keyed.keys.is_valid(self.name_scope()) && keyed.row.is_valid(self.name_scope())
        };
        if let Some(kept) = kept.filter(is_valid) {
            return Ok(Some(kept));
        }
        let Some(table) =
            query::cursors::cursor_table(&plan.select, &self.bind_context_with(&plan.variables, schema))?
        else {
            return Ok(None);
        };
        // Rows that are sorted first have fixed places.
        let is_dynamic = properties.sensitivity == Sensitivity::Dynamic && table.is_ordered_by_index;
        let mut variables = plan.variables.clone();
        variables.extend(query::cursors::key_variables(&table));
        let context = self.bind_context_with(&variables, schema);
        let with_keys = query::cursors::with_keys(&plan.select, &table);
        let one_row = query::cursors::one_row(
            &plan.select,
            &table,
            is_dynamic,
            properties.is_checked(),
            properties.locks,
        );
        let keys = query::compile(&select_statement(with_keys, plan.span), &context)?;
        let row = query::compile(&select_statement(one_row, plan.span), &context)?;
        let is_seeking = is_dynamic && table.seek_order.is_some();
        let seeks = if is_seeking { seek_places() } else { Vec::new() };
        let keyed = Arc::new(Keyed { table, keys, row, is_dynamic, seeks });
        // No other session may see definitions of this transaction before it commits.
        if keyed.keys.is_shareable() && !self.transactions.has_changed_catalog() {
            *plan.keyed.lock() = Some(keyed.clone());
        }
        Ok(Some(keyed))
    }

    /// Runs one query for a cursor as a statement of its own.
    pub(crate) fn run_for_cursor(
        &mut self,
        statement: &CompiledStatement,
        (variables, trigger): (&mut [Value], Option<&RunningTrigger>),
        rows: &mut dyn RowSink,
        sink: &mut dyn ResultSink,
    ) -> Result<StatementOutcome, Interruption> {
        if statement.begins_transaction() {
            self.begin_implicit(sink)?;
        }
        self.transactions.statement_begin();
        let mut context = ExecContext { trigger, ..self.context_with(variables) };
        let result = statement.execute(&mut context, rows);
        self.end_statement(result.is_ok())?;
        match result {
            Err(_) if os::task::current().is_interrupted() => Err(Stop::Attention.into()),
            other => Ok(other?),
        }
    }
}

pub(super) fn opened_with(collected: Collected, keyed: Option<Arc<Keyed>>) -> (Opened, Vec<SqlError>) {
    let Collected { mut columns, values, count, width, bytes, messages, .. } = collected;
    let all = columns.len();
    // Behind the query's own columns stands the key.
    columns.truncate(all - width.unwrap_or(0));
    let opened = Opened {
        columns,
        values,
        width: width.unwrap_or(all),
        count,
        position: 0,
        keyed,
        has_row: false,
        checksum: Value::Null,
        bytes,
    };
    (opened, messages)
}
