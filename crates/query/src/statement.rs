//! Compiled statements and expressions: bound and planned once, run many times.

use std::sync::{Arc, OnceLock};

use binder::item::SelectParts;
use binder::next_values::{LIMITED, LIMITED_DEFAULT};
use binder::{Binder, Clause, Scope, coerce};
use executor::operations::{Evaluate, Open, Test};
use plan_ir::bound::variable_ranges::{Magnitudes, VariableRanges};
use plan_ir::context::{BindContext, ColumnDescription, Flow, NameScope, RowSink, StatementOutcome};
use plan_ir::exec_context::ExecContext;
use plan_ir::optimizer_rules::RuleSet;
use plan_ir::physical::change::{DeletePlan, InsertPlan, MergePlan, OutputPlan, Store, UpdatePlan};
use plan_ir::physical::plan::{BoolNode, Node, Plan};
use plan_ir::plan_dependencies::PlanDependencies;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::{SequenceSource, TableSource};
use planner::Planner;
use planner::catalog::as_a_whole;
use planner::change::ChangePlanner;
use planner::compile::Layout;
use rustc_hash::FxHashSet;
use tsql::ast;
use types::{SqlError, SqlType, Value};

use crate::ddl::SelectIntoPlan;
use crate::ranged_plans::RangedPlans;

/// What a compiled thing depends on: recompile when it changes.
pub(crate) struct Dependencies {
    names: PlanDependencies,
    /// The tables on whose rows its plans hang.
    sizes: Vec<Arc<TableSource>>,
}

impl Dependencies {
    pub(crate) fn of(binder: &mut Binder<'_>) -> Dependencies {
        let sizes = std::mem::take(&mut binder.tables).into_iter().filter(|table| table.is_planned_by_rows());
        Dependencies { sizes: sizes.collect(), names: std::mem::take(&mut binder.dependencies) }
    }

    /// One atomic read for each database in which nothing has changed, six for each table on whose rows the plan hangs.
    #[inline]
    fn hold(&self, from: NameScope<'_>) -> bool {
        self.names.hold(from) && !self.sizes.iter().any(|table| table.has_other_rows())
    }
}

/// INSERT ... VALUES takes at most this many rows.
const VALUES_ROWS_MAX: usize = 1000;

/// A statement ready to run.
pub struct CompiledStatement {
    pub(crate) kind: StatementKind,
    dependencies: Dependencies,
    /// The tables of a query that reads more than one. They are locked before anything has been sent or assigned: later the plan could
    /// turn out to be stale when it is too late to bind again. One table alone is locked before its first row.
    tables: Vec<Arc<TableSource>>,
    /// The sequences that it draws from, held as long as it runs.
    sequences: Vec<Arc<SequenceSource>>,
    /// It draws from them itself, not by defaults alone.
    has_next_value_itself: bool,
    max_recursion: Option<u32>,
    /// It reads a table, view or function.
    names_rows: bool,
    /// Its plans for other widths of its ranges between variables.
    ranged: RangedPlans<CompiledStatement>,
    /// Computed on the first request.
    pub(crate) plan_hash: OnceLock<Option<u64>>,
}

/// What it does.
pub(crate) enum StatementKind {
    Select(SelectPlan),
    Assign(AssignPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    Merge(Box<MergePlan>),
    SelectInto(Box<SelectIntoPlan>),
    Truncate(Arc<TableSource>),
}

/// A query whose rows go to the client.
pub(crate) struct SelectPlan {
    pub(crate) plan: Plan,
    columns: Vec<ColumnDescription>,
}

/// `SELECT @v = ...`.
pub(crate) struct AssignPlan {
    pub(crate) plan: Plan,
    pub(crate) items: Vec<(usize, Node)>,
}

/// An expression ready to run: SET, IF, WHILE, PRINT, arguments.
pub struct ScalarProgram {
    form: ScalarForm,
    sql_type: SqlType,
    dependencies: Dependencies,
    reads_tables: bool,
    /// The sequences that it draws from.
    sequences: Vec<Arc<SequenceSource>>,
}

enum ScalarForm {
    Value(Node),
    Predicate(BoolNode),
}

/// Compiles a SELECT, INSERT, UPDATE, DELETE, MERGE or TRUNCATE.
pub fn compile(statement: &ast::Statement, context: &BindContext<'_>) -> Result<CompiledStatement, SqlError> {
    compile_with(statement, context, VariableRanges::default())
}

fn compile_with(
    statement: &ast::Statement,
    context: &BindContext<'_>,
    ranges: VariableRanges,
) -> Result<CompiledStatement, SqlError> {
    let mut binder = crate::registry::binder(context);
    binder.tells_all_names = true;
    binder.columns.ranges = ranges;
    let compiled = compile_inside(statement, &mut binder);
    let compiled = binder.with_unknown_names(compiled).map_err(|error| error.at_line(statement.span.line));
    compiled.inspect_err(|_| leave_missing(&mut binder))
}

/// The widths of a statement's ranges between variables, by their order of magnitude.
#[derive(Clone, Copy, Debug)]
pub struct Widths(Magnitudes);

/// Compiles a statement once more, for these widths of the ranges in its `general` plan.
///
/// # Errors
/// As `compile`.
pub fn compile_for(
    statement: &ast::Statement,
    context: &BindContext<'_>,
    general: &CompiledStatement,
    widths: Widths,
) -> Result<CompiledStatement, SqlError> {
    compile_with(statement, context, VariableRanges::of_magnitudes(&general.ranged.ranges, &widths.0))
}

/// For the one that asks why it could not be bound.
fn leave_missing(binder: &mut Binder<'_>) {
    if let Some(slot) = binder.context.missing {
        slot.set(Some(std::mem::take(&mut binder.dependencies).into_missing()));
    }
}

/// What the text of a statement names, as it is written and what it means; not what stands behind views and functions.
///
/// # Errors
/// As `compile`.
pub fn objects_named_in(
    statement: &ast::Statement,
    context: &BindContext<'_>,
) -> Result<Vec<(ast::ObjectName, engine::ObjectDef)>, SqlError> {
    let mut binder = crate::registry::binder(context);
    binder.observed = Some(Default::default());
    compile_inside(statement, &mut binder).map_err(|error| error.at_line(statement.span.line))?;
    Ok(binder.observed.map(|observed| observed.into_inner().written).unwrap_or_default())
}

/// The same of an expression.
///
/// # Errors
/// As `compile_scalar`.
pub fn objects_named_in_expression(
    expr: &ast::Expr,
    is_condition: bool,
    context: &BindContext<'_>,
) -> Result<Vec<(ast::ObjectName, engine::ObjectDef)>, SqlError> {
    let mut binder = crate::registry::binder(context);
    binder.observed = Some(Default::default());
    let bound = scoped(&mut binder, |binder| match is_condition {
        true => binder.condition(expr).map(drop),
        false => binder.value(expr).map(drop),
    });
    bound.map_err(|error| error.at_line(expr.span.line))?;
    Ok(binder.observed.map(|observed| observed.into_inner().written).unwrap_or_default())
}

/// The OPTION of a statement.
fn options_of(statement: &ast::StatementKind) -> &[ast::QueryHint] {
    match statement {
        ast::StatementKind::Select(select) => &select.options,
        ast::StatementKind::Insert(insert) => &insert.options,
        ast::StatementKind::Update(update) => &update.options,
        ast::StatementKind::Delete(delete) => &delete.options,
        ast::StatementKind::Merge(merge) => &merge.options,
        _ => &[],
    }
}

pub(crate) fn compile_inside(
    statement: &ast::Statement,
    binder: &mut Binder<'_>,
) -> Result<CompiledStatement, SqlError> {
    binder.table_hints = binder::hinted_tables::hinted_tables(options_of(&statement.kind))?;
    binder.columns.rules = RuleSet::of_hints(options_of(&statement.kind));
    let (kind, options): (StatementKind, &[ast::QueryHint]) = match &statement.kind {
        ast::StatementKind::Select(select) => (compile_select(binder, select)?, &select.options),
        ast::StatementKind::Insert(insert) => {
            if let ast::InsertSource::Values(rows) = &insert.source
                && rows.len() > VALUES_ROWS_MAX
            {
                return Err(SqlError::new(10738, &[&rows.len(), &VALUES_ROWS_MAX]));
            }
            let bound = binder.insert(insert)?;
            (StatementKind::Insert(changes(binder).insert(bound)?), &insert.options)
        }
        ast::StatementKind::Update(update) => {
            let bound = binder.update(update)?;
            (StatementKind::Update(changes(binder).update(bound)?), &update.options)
        }
        ast::StatementKind::Delete(delete) => {
            let bound = binder.delete(delete)?;
            (StatementKind::Delete(changes(binder).delete(bound)?), &delete.options)
        }
        ast::StatementKind::Truncate(truncate) => {
            if !truncate.partitions.is_empty() {
                return Err(crate::errors::unsupported("TRUNCATE TABLE ... WITH (PARTITIONS)"));
            }
            let table = binder.base_table(&truncate.table).map_err(|error| match error.number {
                208 => SqlError::new(4701, &[&truncate.table.name.value]).at_line(error.line),
                _ => error,
            });
            (StatementKind::Truncate(table?), &[])
        }
        ast::StatementKind::Merge(merge) => {
            let bound = binder.merge(merge)?;
            (StatementKind::Merge(Box::new(changes(binder).merge(bound)?)), &merge.options)
        }
        _ => return Err(crate::errors::unsupported("this statement")),
    };
    binder::clauses::check_query_hints(options)?;
    binder.check_table_hints()?;
    binder.check_variables_of_hints(options)?;
    binder::clauses::check_join_hints_agree(&binder.join_hints, options)?;
    let max_recursion = recursion_limit(options);
    let is_query = matches!(kind, StatementKind::Select(_) | StatementKind::Assign(_));
    let mut tables = binder.tables.clone();
    if !is_query || tables.len() == 1 {
        tables.clear();
    }
    let sequences = std::mem::take(&mut binder.next_values.sequences);
    let dependencies = Dependencies::of(binder);
    let names_rows = !dependencies.names.names_nothing()
        || matches!(&statement.kind, ast::StatementKind::Select(select)
            if !binder::set_op::first_block(&select.query.body).from.is_empty());
    let plan_hash = OnceLock::new();
    let has_next_value_itself = binder.next_values.is_written;
    Ok(CompiledStatement {
        kind,
        dependencies,
        tables,
        sequences,
        has_next_value_itself,
        max_recursion,
        names_rows,
        ranged: RangedPlans::new(binder.columns.ranges.take_found()),
        plan_hash,
    })
}

/// The planner of a data change statement that has been bound.
fn changes<'b>(binder: &'b Binder<'_>) -> ChangePlanner<'b> {
    ChangePlanner::new(&binder.columns)
}

/// The seed and increment that an identity column of SELECT INTO keeps. A join, a set operation, GROUP BY and several tables behind a view
/// lose the property.
fn inherited_identity(
    body: &ast::QueryBody,
    tables: &[Arc<plan_ir::table::TableSource>],
) -> Option<engine::IdentityDef> {
    let ast::QueryBody::Select(block) = body else { return None };
    let [source] = block.from.as_slice() else { return None };
    if matches!(source, ast::TableSource::Join(_)) || block.group_by.is_some() {
        return None;
    }
    let mut found = tables
        .iter()
        .filter_map(|table| table.def.identity_ordinal().and_then(|at| table.def.columns[at].identity));
    let first = found.next();
    // The first table that was bound is the one in FROM, unless a view or a derived table stands there.
    let is_table = matches!(source, ast::TableSource::Table(_) | ast::TableSource::Variable { .. });
    if is_table || found.next().is_none() { first } else { None }
}

/// Does it make a table of its rows?
pub fn is_select_into(select: &ast::SelectStatement) -> bool {
    binder::set_op::first_block(&select.query.body).into.is_some()
}

fn compile_select(binder: &mut Binder<'_>, select: &ast::SelectStatement) -> Result<StatementKind, SqlError> {
    if let Some(with) = &select.with {
        binder.add_common_tables(with)?;
    }
    let into = &binder::set_op::first_block(&select.query.body).into;
    if let ast::QueryBody::Select(block) = &select.query.body
        && block.items.iter().any(|item| matches!(item, ast::SelectItem::Assign { .. }))
    {
        if into.is_some() {
            return Err(SqlError::new(194, &[]));
        }
        binder::formatted::refuse_text_clause(&select.query, "ASSIGNMENT")?;
        binder.next_values.is_statement_next = true;
        let parts = binder.select(block, &select.query)?;
        return assignment(binder, parts);
    }
    if let Some(into) = into {
        binder::formatted::refuse_text_clause(&select.query, "SELECT INTO")?;
        binder.expects_into = true;
        binder.into_name.clone_from(&into.table.name.value);
        binder.next_values.is_statement_next = true;
        let query = binder.query(&select.query)?;
        binder.check_output(&query)?;
        let inherits = inherited_identity(&select.query.body, &binder.tables);
        return crate::ddl::select_into(binder, &into.table, query, inherits)
            .map(|plan| StatementKind::SelectInto(Box::new(plan)));
    }
    binder.next_values.is_statement_next = true;
    let query = binder.query(&select.query)?;
    binder.check_output(&query)?;
    let columns = query
        .columns
        .iter()
        .map(|column| {
            let info = &binder.columns[column.id.0 as usize];
            ColumnDescription {
                name: column.name.clone(),
                sql_type: info.sql_type,
                nullable: info.nullable,
                identity: column.identity,
                updatable: column.base && !column.identity,
                computed: !column.base,
                table: binder
                    .long_columns
                    .iter()
                    .find(|(id, _)| *id == column.id)
                    .map(|(_, table)| table.clone()),
            }
        })
        .collect();
    let order: Vec<_> = query.columns.iter().map(|column| column.id).collect();
    let mut planner = Planner::new(&binder.columns).wanting(&query.rel, order.iter().copied());
    let planned = planner.plan(&query.rel, Vec::new())?;
    let plan = as_a_whole(planner::in_order(planned, &order));
    Ok(StatementKind::Select(SelectPlan { plan, columns }))
}

fn assignment(binder: &mut Binder<'_>, parts: SelectParts) -> Result<StatementKind, SqlError> {
    if parts.items.iter().any(|item| item.variable.is_none()) {
        return Err(crate::errors::assignment_mixed());
    }
    let mut read = FxHashSet::default();
    parts.items.iter().for_each(|item| item.expr.collect_read(&mut read));
    let mut planner = Planner::new(&binder.columns).wanting(&parts.rel, read);
    let planned = planner.plan(&parts.rel, Vec::new())?;
    let layout = planned.layout();
    let mut items = Vec::new();
    for item in &parts.items {
        items.push((item.variable.expect("checked above"), planner.node(&item.expr, &layout)?));
    }
    Ok(StatementKind::Assign(AssignPlan { plan: as_a_whole(planned.plan), items }))
}

fn recursion_limit(options: &[ast::QueryHint]) -> Option<u32> {
    options.iter().find_map(|hint| match hint {
        ast::QueryHint::Plain(name, Some(value)) if name.is("MAXRECURSION") => match &value.kind {
            ast::ExprKind::Literal(ast::Literal::Int(limit)) => u32::try_from(*limit).ok(),
            _ => None,
        },
        _ => None,
    })
}

impl CompiledStatement {
    /// Does it mean there what it meant where it was compiled, and is each table about as large? Costs one atomic read a database in which
    /// nothing has changed, and six a table.
    pub fn is_valid(&self, from: NameScope<'_>) -> bool {
        self.dependencies.hold(from)
    }

    /// Are the definitions that it was compiled against still there?
    pub fn is_current(&self) -> bool {
        self.dependencies.names.hold_in_catalogs()
    }

    /// May other sessions use it?
    pub fn is_shareable(&self) -> bool {
        self.dependencies.names.are_of_all_sessions()
    }

    /// The plan for the widths that its ranges between variables have now; `None`: it is this one. `Some(Err)`: there is none yet, and the widths
    /// for which [`compile_for`] makes it.
    #[inline]
    pub fn suited(&self, variables: &[Value]) -> Option<Result<Arc<CompiledStatement>, Widths>> {
        let widths = self.ranged.magnitudes(variables)?;
        match self.ranged.find(&widths) {
            Ok(found) => Some(Ok(found)),
            Err(has_room) => has_room.then_some(Err(Widths(widths))),
        }
    }

    /// Keeps a plan that has been made for these widths.
    pub fn keep_suited(&self, widths: Widths, plan: &Arc<CompiledStatement>) {
        self.ranged.keep(widths.0, plan);
    }

    /// Drops the plan for the widths that the ranges have now, because it is stale.
    pub fn forget_suited(&self, variables: &[Value]) {
        if let Some(widths) = self.ranged.magnitudes(variables) {
            self.ranged.forget(&widths);
        }
    }

    /// Does it begin a transaction under SET IMPLICIT_TRANSACTIONS ON? A SELECT without tables does not.
    pub fn begins_transaction(&self) -> bool {
        let reads_only = matches!(self.kind, StatementKind::Select(_) | StatementKind::Assign(_));
        !reads_only || self.names_rows
    }

    /// The columns of its result set, if it has one.
    pub fn result_columns(&self) -> Option<&[ColumnDescription]> {
        match &self.kind {
            StatementKind::Select(select) => Some(&select.columns),
            StatementKind::Insert(InsertPlan { outputs, .. })
            | StatementKind::Update(UpdatePlan { outputs, .. })
            | StatementKind::Delete(DeletePlan { outputs, .. }) => sent_columns(outputs),
            StatementKind::Merge(merge) => sent_columns(&merge.outputs),
            _ => None,
        }
    }

    /// Runs it.
    pub fn execute(
        &self,
        context: &mut ExecContext<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<StatementOutcome, SqlError> {
        let runtime = Runtime::new(context);
        if let Some(limit) = self.max_recursion {
            runtime.set_max_recursion(limit);
        }
        if !self.sequences.is_empty() {
            refuse_counted_draws(&runtime, self.has_next_value_itself)?;
        }
        runtime.hold_sequences(&self.sequences)?;
        for source in &self.tables {
            let mut transactions = runtime.transactions.borrow_mut();
            let isolation = runtime.options.isolation;
            source.table.hold_definition(transactions.for_table(&source.table, isolation)?)?;
        }
        let mut outcome = match &self.kind {
            StatementKind::Select(select) => run_select(select, &runtime, sink),
            StatementKind::Assign(assign) => run_assign(assign, &runtime),
            StatementKind::Insert(insert) => executor::insert::run(insert, &runtime, sink),
            StatementKind::Update(update) => executor::update::run(update, &runtime, sink),
            StatementKind::Delete(delete) => executor::delete::run(delete, &runtime, sink),
            StatementKind::Merge(merge) => executor::merge::run(merge, &runtime, sink),
            StatementKind::SelectInto(into) => crate::ddl::run_select_into(into, &runtime, sink),
            StatementKind::Truncate(source) => crate::ddl::truncate(source, &runtime),
        }?;
        outcome.memory = runtime.memory_use();
        outcome.profile = runtime.profile().cloned();
        outcome.fired = runtime.take_fired();
        runtime.tell_warnings(sink);
        Ok(outcome)
    }
}

/// Under SET ROWCOUNT nothing draws from sequences, neither a statement itself nor a default.
fn refuse_counted_draws(runtime: &Runtime<'_>, by_itself: bool) -> Result<(), SqlError> {
    match runtime.options.row_count {
        0 => Ok(()),
        _ => Err(SqlError::new(if by_itself { LIMITED } else { LIMITED_DEFAULT }, &[])),
    }
}

/// The columns of the OUTPUT clause whose rows go to the client.
fn sent_columns(outputs: &[OutputPlan]) -> Option<&[ColumnDescription]> {
    outputs.iter().find(|output| output.into.is_none()).map(|output| output.columns.as_slice())
}

fn run_select(
    select: &SelectPlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    let mut outcome = StatementOutcome { sent_rows: true, row_count: Some(0), ..StatementOutcome::default() };
    if runtime.options.format_only {
        sink.columns(&select.columns);
        return Ok(outcome);
    }
    let limit = runtime.rows_max();
    let mut row = Row::with_capacity(select.columns.len());
    // The first row comes before anything is sent: until its tables are locked the plan may turn out to be stale.
    let first = select.plan.open(runtime).and_then(|mut source| {
        let found = source.next(runtime, &mut row)?;
        Ok((source, found))
    });
    if first.as_ref().is_err_and(|error| error.is_stale_plan()) {
        return Err(SqlError::stale_plan());
    }
    if sink.columns(&select.columns) == Flow::Stop {
        return Ok(outcome);
    }
    let (mut source, mut found) = first?;
    let any_large = select.columns.iter().any(|column| column.sql_type.is_large_object());
    let mut count = 0;
    while found {
        count += 1;
        runtime.check_cancelled()?;
        if any_large {
            room_to_send(&row)?;
        }
        if sink.row(&row) == Flow::Stop || count == limit {
            break;
        }
        found = source.next(runtime, &mut row)?;
    }
    outcome.row_count = Some(count);
    Ok(outcome)
}

/// A large value is copied into the answer, then into its packets, then into TLS's records: 701 before that is tried in vain.
fn room_to_send(row: &Row) -> Result<(), SqlError> {
    let bytes: usize = row.iter().map(Value::long_bytes).sum();
    os::memory::ask(bytes.saturating_mul(3)).map_err(crate::errors::out_of_memory)
}

fn run_assign(assign: &AssignPlan, runtime: &Runtime<'_>) -> Result<StatementOutcome, SqlError> {
    let mut count = 0;
    let mut source = assign.plan.open(runtime)?;
    let mut row = runtime.take_row();
    while count < runtime.rows_max() && source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        count += 1;
        for (slot, node) in &assign.items {
            let value = node.eval(runtime, &row)?;
            runtime.variables.borrow_mut()[*slot] = value;
        }
    }
    runtime.give_back(row);
    Ok(StatementOutcome { row_count: Some(count), ..StatementOutcome::default() })
}

/// Compiles an expression; with a target it is converted as an assignment to a variable of that type.
pub fn compile_scalar(
    expr: &ast::Expr,
    target: Option<&SqlType>,
    context: &BindContext<'_>,
) -> Result<ScalarProgram, SqlError> {
    let mut binder = crate::registry::binder(context);
    let bound = scoped_telling_all(&mut binder, |binder| binder.value(expr))
        .map_err(|error| error.at_line(expr.span.line))
        .inspect_err(|_| leave_missing(&mut binder))?;
    let bound = match target {
        Some(target) => {
            binder::next_values::check_single_use(&bound).map_err(|error| error.at_line(expr.span.line))?;
            coerce::for_variable(bound, target)?
        }
        None => bound,
    };
    let node = Planner::new(&binder.columns).wanting_value(&bound).node(&bound, &Layout::default())?;
    Ok(ScalarProgram {
        form: ScalarForm::Value(node),
        sql_type: bound.sql_type,
        reads_tables: bound.has_subquery(),
        sequences: std::mem::take(&mut binder.next_values.sequences),
        dependencies: Dependencies::of(&mut binder),
    })
}

/// Compiles a condition.
pub fn compile_predicate(expr: &ast::Expr, context: &BindContext<'_>) -> Result<ScalarProgram, SqlError> {
    let mut binder = crate::registry::binder(context);
    let bound = scoped_telling_all(&mut binder, |binder| binder.condition(expr))
        .map_err(|error| error.at_line(expr.span.line))
        .inspect_err(|_| leave_missing(&mut binder))?;
    let node = Planner::new(&binder.columns).wanting_value(&bound).predicate(&bound, &Layout::default())?;
    Ok(ScalarProgram {
        form: ScalarForm::Predicate(node),
        sql_type: SqlType::Bit,
        reads_tables: bound.has_subquery(),
        sequences: std::mem::take(&mut binder.next_values.sequences),
        dependencies: Dependencies::of(&mut binder),
    })
}

/// Binds in a scope without tables.
fn scoped<T>(
    binder: &mut Binder<'_>,
    f: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    binder.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
    let result = f(binder);
    binder.scopes.pop();
    result
}

/// The same, all names told that cannot be found.
fn scoped_telling_all<T>(
    binder: &mut Binder<'_>,
    f: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    binder.tells_all_names = true;
    let result = scoped(binder, f);
    binder.with_unknown_names(result)
}

impl ScalarProgram {
    /// Its value, if it is an integer of variables and constants and overflows nowhere; after `None` the caller uses `eval`.
    #[inline]
    pub fn plain_value(&self, variables: &[Value]) -> Option<Value> {
        match &self.form {
            ScalarForm::Value(node) => node.plain(variables),
            ScalarForm::Predicate(_) => None,
        }
    }

    /// Is the condition TRUE? As `eval_predicate`, if it compares integers of variables and constants.
    #[inline]
    pub fn plain_truth(&self, variables: &[Value]) -> Option<bool> {
        match &self.form {
            ScalarForm::Predicate(node) => node.plain(variables).map(|truth| truth == Some(true)),
            ScalarForm::Value(_) => None,
        }
    }

    /// Its value.
    #[inline]
    pub fn eval(&self, context: &mut ExecContext<'_>) -> Result<Value, SqlError> {
        let runtime = Runtime::new(context);
        runtime.hold_sequences(&self.sequences)?;
        match &self.form {
            ScalarForm::Value(node) => node.eval(&runtime, &[]),
            ScalarForm::Predicate(node) => Ok(node.test(&runtime, &[])?.map_or(Value::Null, Value::Bit)),
        }
    }

    /// Is the condition TRUE (not FALSE, not UNKNOWN)?
    #[inline]
    pub fn eval_predicate(&self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        let runtime = Runtime::new(context);
        runtime.hold_sequences(&self.sequences)?;
        match &self.form {
            ScalarForm::Predicate(node) => node.is_true(&runtime, &[]),
            ScalarForm::Value(node) => {
                Ok(node.eval(&runtime, &[])?.as_i64().is_some_and(|number| number != 0))
            }
        }
    }

    /// Evaluates and stores into a variable's slot.
    #[inline]
    pub fn assign(&self, slot: usize, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let value = self.eval(context)?;
        context.variables[slot] = value;
        Ok(())
    }

    /// Does it draw from sequences?
    pub fn has_next_value(&self) -> bool {
        !self.sequences.is_empty()
    }

    /// Has it a subquery, so that it needs a transaction?
    pub fn reads_tables(&self) -> bool {
        self.reads_tables
    }

    /// Type of the value.
    pub fn sql_type(&self) -> &SqlType {
        &self.sql_type
    }

    /// Does it mean there what it meant where it was compiled?
    #[inline]
    pub fn is_valid(&self, from: NameScope<'_>) -> bool {
        self.dependencies.hold(from)
    }

    /// Are the definitions that it was compiled against still there?
    pub fn is_current(&self) -> bool {
        self.dependencies.names.hold_in_catalogs()
    }

    /// May other sessions use it?
    pub fn is_shareable(&self) -> bool {
        self.dependencies.names.are_of_all_sessions()
    }
}

/// `INSERT ... EXEC`: the rows come from the procedure's result sets.
pub struct InsertRows {
    plan: InsertPlan,
    stores: Vec<Store>,
    sequences: Vec<Arc<SequenceSource>>,
}

/// Compiles the INSERT of an `INSERT ... EXEC` for rows of the given types. Error 213 when their number does not fit.
pub fn compile_insert_rows(
    statement: &ast::Statement,
    columns: &[SqlType],
    context: &BindContext<'_>,
) -> Result<InsertRows, SqlError> {
    let ast::StatementKind::Insert(insert) = &statement.kind else {
        return Err(crate::errors::unsupported("rows for anything but INSERT"));
    };
    let mut binder = crate::registry::binder(context);
    let bound = binder.insert_rows(insert, columns);
    let planned = bound.and_then(|bound| changes(&binder).insert_rows(bound));
    let (plan, stores) = planned.map_err(|error| error.at_line(statement.span.line))?;
    let sequences = std::mem::take(&mut binder.next_values.sequences);
    Ok(InsertRows { plan, stores, sequences })
}

impl InsertRows {
    /// Inserts the rows.
    pub fn execute(
        &self,
        rows: &[Vec<Value>],
        context: &mut ExecContext<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<StatementOutcome, SqlError> {
        let runtime = Runtime::new(context);
        if !self.sequences.is_empty() {
            refuse_counted_draws(&runtime, false)?;
        }
        runtime.hold_sequences(&self.sequences)?;
        let mut outcome = executor::insert::run_rows(&self.plan, &self.stores, rows, &runtime, sink)?;
        outcome.fired = runtime.take_fired();
        Ok(outcome)
    }
}
