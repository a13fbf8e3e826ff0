//! SELECT ... INTO and TRUNCATE TABLE: statements that combine DDL and DML.

use std::sync::Arc;

use binder::{Binder, BoundQuery};
use engine::{Database, IdentityDef, NewColumn, NewTable};
use executor::new_rows::NewRows;
use executor::operations::Open;
use plan_ir::context::{RowSink, StatementOutcome};
use plan_ir::names::same_name;
use plan_ir::physical::change::Constraints;
use plan_ir::physical::plan::Plan;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use planner::catalog::as_a_whole;
use planner::{Planner, in_order};
use tsql::ast::ObjectName;
use types::{Length, SqlError, SqlType};

/// A compiled SELECT INTO.
pub(crate) struct SelectIntoPlan {
    pub(crate) plan: Plan,
    pub(crate) database: Arc<Database>,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<NewColumn>,
    /// The column that IDENTITY(...) fills.
    generated: Option<usize>,
}

/// Plans a SELECT INTO. `inherits`: the identity property that a column of the only source table keeps. Errors 1038, 2705, 8108.
pub(crate) fn select_into(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    query: BoundQuery,
    inherits: Option<IdentityDef>,
) -> Result<SelectIntoPlan, SqlError> {
    let generated = binder.identity_item.take();
    let mut columns: Vec<NewColumn> = Vec::new();
    for (at, column) in query.columns.iter().enumerate() {
        let inherits = inherits.filter(|_| generated.is_none_or(|generated| generated.0 != at));
        if column.name.is_empty() {
            return Err(crate::errors::column_name_missing());
        }
        if columns.iter().any(|other| same_name(&other.name, &column.name)) {
            return Err(SqlError::new(2705, &[&column.name, &name.name.value]));
        }
        let info = &binder.columns[column.id.0 as usize];
        columns.push(NewColumn {
            name: column.name.clone(),
            sql_type: storable(info.sql_type),
            nullable: info.nullable,
            collation: info.collation,
            identity: inherits
                .filter(|_| column.identity)
                .map(|identity| IdentityDef { is_not_for_replication: false, ..identity }),
            default: None,
            computed: None,
            is_rowguidcol: false,
            user_type_id: 0,
        });
    }
    if columns.iter().filter(|column| column.identity.is_some()).count() > 1 {
        columns.iter_mut().for_each(|column| column.identity = None);
    }
    if let Some((position, def)) = generated {
        if let Some(other) = columns.iter().find(|column| column.identity.is_some()) {
            return Err(SqlError::new(8108, &[&name.name.value, &other.name]));
        }
        columns[position].identity = Some(def);
        columns[position].nullable = false;
    }
    let order: Vec<_> = query.columns.iter().map(|column| column.id).collect();
    let planned = Planner::new(&binder.columns)
        .wanting(&query.rel, order.iter().copied())
        .plan(&query.rel, Vec::new())?;
    let temporary = name.name.value.starts_with('#');
    let database = match (&name.database, temporary) {
        (_, true) => binder.named_database("tempdb")?,
        (Some(database), false) => match super::subject::there(binder.named_database(&database.value))? {
            Some(home) => home,
            None => return Err(SqlError::new(2702, &[&database.value])),
        },
        (None, false) => binder.current_database(),
    };
    Ok(SelectIntoPlan {
        plan: as_a_whole(in_order(planned, &order)),
        database,
        schema: super::subject::schema_of(name),
        name: name.name.value.clone(),
        columns,
        generated: generated.map(|generated| generated.0),
    })
}

/// A column cannot have length 0 or the alias sysname.
fn storable(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::VarChar(Length::N(0)) => SqlType::varchar(1),
        SqlType::NVarChar(Length::N(0)) => SqlType::nvarchar(1),
        SqlType::VarBinary(Length::N(0)) => SqlType::varbinary(1),
        other => other,
    }
}

/// Creates the table and fills it. On failure the statement is rolled back, and the table's name in the session is removed.
pub(crate) fn run_select_into(
    into: &SelectIntoPlan,
    runtime: &Runtime<'_>,
    _sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    if !into.name.starts_with('#') {
        return make_and_fill(into, into.name.clone(), runtime);
    }
    let name = runtime.names.add_temp_table(&into.name)?;
    make_and_fill(into, name, runtime).inspect_err(|_| runtime.names.remove_temp_table(&into.name))
}

fn make_and_fill(
    into: &SelectIntoPlan,
    name: String,
    runtime: &Runtime<'_>,
) -> Result<StatementOutcome, SqlError> {
    let new = NewTable {
        ansi_nulls: runtime.options.ansi_nulls,
        schema: into.schema.clone(),
        name,
        columns: into.columns.clone(),
        constraints: Vec::new(),
        indexes: Vec::new(),
    };
    // A small source is read completely before the table exists; otherwise rows are streamed.
    let mut source = into.plan.open(runtime)?;
    let def = {
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.in_database(&into.database, runtime.options.isolation)?;
        into.database.create_table(transaction, &new)?
    };
    if into.name.starts_with('#') {
        runtime.names.note_made(&new.name, def.object_id);
    }
    let target = TableSource::new(into.database.clone(), def);
    let constraints = Constraints::default();
    let mut new = NewRows::new(&target, &constraints, "SELECT");
    let has_given_identity = into.generated.is_none() && target.def.identity_ordinal().is_some();
    let mut row = Row::new();
    let mut count = 0;
    while count < runtime.rows_max() && source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        if let Some(ordinal) = into.generated {
            row[ordinal] = executor::generated::next_identity(runtime, &target)?;
        }
        new.add_made(&mut row, has_given_identity);
        if new.is_full() {
            new.put_in(runtime)?;
        }
        count += 1;
    }
    new.put_in(runtime)?;
    new.finish(runtime)?;
    let identity = runtime.last_identity();
    Ok(StatementOutcome { row_count: Some(count), identity, ..StatementOutcome::default() })
}

/// Runs TRUNCATE TABLE.
pub(crate) fn truncate(source: &TableSource, runtime: &Runtime<'_>) -> Result<StatementOutcome, SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
    source.database.truncate_table(transaction, &source.def)?;
    Ok(StatementOutcome::default())
}
