//! `sys.dm_exec_cached_plans`, `sys.dm_exec_query_stats` and the functions that return the text and plan of a handle.
//!
//! A handle consists of its kind's first bytes as in SQL Server, then the program's number in the cache (plan handle) or a hash of its text (SQL
//! handle). It denotes one program while that is cached, and nothing afterwards. Columns for values that are not measured are NULL.

use std::sync::Arc;

use engine::{Database, ObjectDef};
use plan_ir::context::{CachedPlan, CachedPlanKind, CachedStatement};
use plan_ir::measure::Measure;
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::dm_exec::moment;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

const SQL_HANDLE: [u8; 4] = [2, 0, 0, 0];
const PLAN_HANDLE: [u8; 4] = [6, 0, 1, 0];
/// `database_id` of the system's own procedures.
const RESOURCE_DATABASE: i32 = 32767;

const TEXT_LIST: &str = "dbid smallint, objectid int, number smallint, encrypted bit, text nvarchar";

/// Columns of the figures of procedures and of triggers.
const MODULE_STATS: &str = "database_id int not null, object_id int not null, type char(2), type_desc nvarchar(60), sql_handle varbinary(64) not null, \
     plan_handle varbinary(64) not null, cached_time datetime, last_execution_time datetime, execution_count bigint not null, \
     total_worker_time bigint not null, last_worker_time bigint not null, min_worker_time bigint not null, \
     max_worker_time bigint not null, total_physical_reads bigint not null, last_physical_reads bigint not null, \
     min_physical_reads bigint not null, max_physical_reads bigint not null, total_logical_writes bigint, last_logical_writes bigint, \
     min_logical_writes bigint, max_logical_writes bigint, total_logical_reads bigint not null, last_logical_reads bigint not null, \
     min_logical_reads bigint not null, max_logical_reads bigint not null, total_elapsed_time bigint not null, \
     last_elapsed_time bigint not null, min_elapsed_time bigint not null, max_elapsed_time bigint not null, total_spills bigint not null, \
     last_spills bigint not null, min_spills bigint not null, max_spills bigint not null";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_exec_cached_plans",
        "bucketid int not null, refcounts int not null, usecounts int not null, size_in_bytes int not null, \
         memory_object_address varbinary(8), cacheobjtype nvarchar(34) not null, objtype nvarchar(16) not null, \
         plan_handle varbinary(64) not null, pool_id int not null, parent_plan_handle varbinary(64)",
        cached_plans,
    ),
    SystemView::new(
        "dm_exec_query_stats",
        "sql_handle varbinary(64) not null, statement_start_offset int not null, statement_end_offset int not null, \
         plan_generation_num bigint not null, plan_handle varbinary(64) not null, creation_time datetime, last_execution_time datetime, \
         execution_count bigint not null, total_worker_time bigint not null, last_worker_time bigint not null, \
         min_worker_time bigint not null, max_worker_time bigint not null, total_physical_reads bigint, last_physical_reads bigint, \
         min_physical_reads bigint, max_physical_reads bigint, total_logical_writes bigint, last_logical_writes bigint, \
         min_logical_writes bigint, max_logical_writes bigint, total_logical_reads bigint, last_logical_reads bigint, \
         min_logical_reads bigint, max_logical_reads bigint, total_clr_time bigint not null, last_clr_time bigint not null, \
         min_clr_time bigint not null, max_clr_time bigint not null, total_elapsed_time bigint not null, \
         last_elapsed_time bigint not null, min_elapsed_time bigint not null, max_elapsed_time bigint not null, query_hash binary(8), \
         query_plan_hash binary(8), total_rows bigint not null, last_rows bigint not null, min_rows bigint not null, \
         max_rows bigint not null, statement_sql_handle varbinary(64), statement_context_id bigint, total_dop bigint not null, \
         last_dop bigint not null, min_dop bigint not null, max_dop bigint not null, total_grant_kb bigint, last_grant_kb bigint, \
         min_grant_kb bigint, max_grant_kb bigint, total_used_grant_kb bigint, last_used_grant_kb bigint, min_used_grant_kb bigint, \
         max_used_grant_kb bigint, total_ideal_grant_kb bigint, last_ideal_grant_kb bigint, min_ideal_grant_kb bigint, \
         max_ideal_grant_kb bigint, total_spills bigint, last_spills bigint, min_spills bigint, max_spills bigint",
        query_stats,
    ),
    SystemView::new("dm_exec_procedure_stats", MODULE_STATS, procedure_stats),
    SystemView::new("dm_exec_trigger_stats", MODULE_STATS, trigger_stats),
    SystemView::new("dm_exec_sql_text", TEXT_LIST, sql_text).with_parameters(1),
    SystemView::new("fn_get_sql", TEXT_LIST, sql_text).with_parameters(1),
    SystemView::new(
        "dm_exec_query_plan",
        "dbid smallint, objectid int, number smallint, encrypted bit, query_plan xml",
        query_plan,
    )
    .with_parameters(1),
    SystemView::new(
        "dm_exec_text_query_plan",
        "dbid smallint, objectid int, number smallint, encrypted bit, query_plan nvarchar",
        query_plan,
    )
    .with_parameters(3),
    SystemView::new(
        "dm_exec_plan_attributes",
        "attribute nvarchar(128) not null, value sql_variant, is_cache_key bit",
        plan_attributes,
    )
    .with_parameters(1),
];

fn handle(kind: [u8; 4], number: u64) -> Value {
    Value::binary(&[&kind[..], &number.to_be_bytes()].concat())
}

fn plan_handle(plan: &CachedPlan) -> Value {
    handle(PLAN_HANDLE, plan.number)
}

fn sql_handle(plan: &CachedPlan) -> Value {
    // FNV-1a: the handle of a text is the same in every database and after a restart.
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    handle(SQL_HANDLE, plan.text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

fn cached_plans(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for plan in context.runtime.state.cached_plans() {
        let kind = match plan.kind {
            CachedPlanKind::Adhoc => "Adhoc",
            CachedPlanKind::Prepared => "Prepared",
            CachedPlanKind::Procedure => "Proc",
            CachedPlanKind::Trigger => "Trigger",
        };
        context.row(&[
            ("bucketid", i32::try_from(plan.number % 40_009).unwrap_or(0).into()),
            ("refcounts", 1.into()),
            ("usecounts", i32::try_from(plan.runs).unwrap_or(i32::MAX).into()),
            ("size_in_bytes", i32::try_from(plan.size_bytes).unwrap_or(i32::MAX).into()),
            ("cacheobjtype", "Compiled Plan".into()),
            ("objtype", kind.into()),
            ("plan_handle", plan_handle(&plan).into()),
            ("pool_id", 2.into()),
        ]);
    }
    Ok(())
}

fn query_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for plan in context.runtime.state.cached_plans() {
        for statement in &plan.statements {
            let cells = statement_cells(&plan, statement);
            context.row(&cells);
        }
    }
    Ok(())
}

fn procedure_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    module_stats(context, CachedPlanKind::Procedure, ("P ", "SQL_STORED_PROCEDURE"))
}

fn trigger_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    module_stats(context, CachedPlanKind::Trigger, ("TR", "SQL_TRIGGER"))
}

/// Cached procedures or triggers that have run. The figures of a run are the sums over its own statements.
fn module_stats(
    context: Context<'_, '_, '_>,
    kind: CachedPlanKind,
    (code, description): (&'static str, &'static str),
) -> Result<(), SqlError> {
    for plan in context.runtime.state.cached_plans() {
        if plan.kind != kind || plan.runs == 0 {
            continue;
        }
        let [(_, database), (_, object), ..] = origin(context, &plan);
        if matches!(object, Cell::Null) {
            continue;
        }
        let mut cells = vec![
            ("database_id", database),
            ("object_id", object),
            ("type", code.into()),
            ("type_desc", description.into()),
            ("sql_handle", sql_handle(&plan).into()),
            ("plan_handle", plan_handle(&plan).into()),
            ("cached_time", moment(plan.made_ticks).into()),
            ("last_execution_time", moment(plan.whole.last_began_ticks).into()),
            ("execution_count", plan.runs.into()),
        ];
        let whole = &plan.whole;
        let measured = [
            (
                ["total_worker_time", "last_worker_time", "min_worker_time", "max_worker_time"],
                whole.working_ns,
                1_000,
            ),
            (
                ["total_elapsed_time", "last_elapsed_time", "min_elapsed_time", "max_elapsed_time"],
                whole.elapsed_ns,
                1_000,
            ),
            (
                ["total_logical_reads", "last_logical_reads", "min_logical_reads", "max_logical_reads"],
                whole.logical_reads,
                1,
            ),
            (
                ["total_physical_reads", "last_physical_reads", "min_physical_reads", "max_physical_reads"],
                whole.physical_reads,
                1,
            ),
            (["total_spills", "last_spills", "min_spills", "max_spills"], whole.spills, 1),
        ];
        for (names, measure, unit) in measured {
            cells.extend(names.into_iter().zip(parts(&measure).map(|part| Cell::from(part / unit))));
        }
        context.row(&cells);
    }
    Ok(())
}

fn statement_cells(plan: &CachedPlan, statement: &CachedStatement) -> Vec<(&'static str, Cell)> {
    let (begin, end) = offsets(&plan.text, statement.start, statement.end);
    let mut cells = vec![
        ("sql_handle", sql_handle(plan).into()),
        ("statement_start_offset", begin.into()),
        ("statement_end_offset", end.into()),
        ("plan_generation_num", statement.generation.into()),
        ("plan_handle", plan_handle(plan).into()),
        ("creation_time", moment(plan.made_ticks).into()),
        ("last_execution_time", moment(statement.last_began_ticks).into()),
        ("execution_count", statement.executions.into()),
        ("total_dop", statement.executions.into()),
    ];
    // A statement runs on one thread.
    cells.extend(["last_dop", "min_dop", "max_dop"].map(|name| (name, 1.into())));
    let microseconds = |measure: &Measure| {
        let [total, last, least, most] = parts(measure).map(|ns| ns / 1000);
        [total, last, least, most].map(Cell::from)
    };
    let worker = ["total_worker_time", "last_worker_time", "min_worker_time", "max_worker_time"];
    cells.extend(worker.into_iter().zip(microseconds(&statement.working_ns)));
    let elapsed = ["total_elapsed_time", "last_elapsed_time", "min_elapsed_time", "max_elapsed_time"];
    cells.extend(elapsed.into_iter().zip(microseconds(&statement.elapsed_ns)));
    let rows = ["total_rows", "last_rows", "min_rows", "max_rows"];
    cells.extend(rows.into_iter().zip(parts(&statement.rows).map(Cell::from)));
    let spills = ["total_spills", "last_spills", "min_spills", "max_spills"];
    cells.extend(spills.into_iter().zip(parts(&statement.spills).map(Cell::from)));
    let kilobytes = |measure: &Measure| parts(measure).map(|bytes| Cell::from(bytes / 1024));
    let granted = ["total_grant_kb", "last_grant_kb", "min_grant_kb", "max_grant_kb"];
    cells.extend(granted.into_iter().zip(kilobytes(&statement.granted_bytes)));
    let used = ["total_used_grant_kb", "last_used_grant_kb", "min_used_grant_kb", "max_used_grant_kb"];
    cells.extend(used.into_iter().zip(kilobytes(&statement.used_bytes)));
    let ideal = ["total_ideal_grant_kb", "last_ideal_grant_kb", "min_ideal_grant_kb", "max_ideal_grant_kb"];
    cells.extend(ideal.into_iter().zip(kilobytes(&statement.ideal_bytes)));
    let hash = |number: u64| Cell::Value(Value::binary(&number.to_be_bytes()));
    cells.push(("query_hash", hash(statement.query_hash)));
    cells.extend(statement.plan_hash.map(|number| ("query_plan_hash", hash(number))));
    let logical = ["total_logical_reads", "last_logical_reads", "min_logical_reads", "max_logical_reads"];
    cells.extend(logical.into_iter().zip(parts(&statement.logical_reads).map(Cell::from)));
    let physical =
        ["total_physical_reads", "last_physical_reads", "min_physical_reads", "max_physical_reads"];
    cells.extend(physical.into_iter().zip(parts(&statement.physical_reads).map(Cell::from)));
    cells
}

fn parts(measure: &Measure) -> [u64; 4] {
    [measure.total, measure.last, measure.minimum.unwrap_or(0), measure.maximum]
}

/// Begin and end of a statement in its text, in bytes of UTF-16 as documented: the end is the first byte of its last character.
fn offsets(text: &str, start: usize, end: usize) -> (i32, i32) {
    let units = |part: Option<&str>| part.map_or(0, |part| part.encode_utf16().count());
    let begin = units(text.get(..start)) * 2;
    let last = begin + units(text.get(start..end)).saturating_sub(1) * 2;
    (i32::try_from(begin).unwrap_or(i32::MAX), i32::try_from(last).unwrap_or(i32::MAX))
}

/// The program that the handle in the first argument denotes.
fn meant(context: &ViewContext<'_, '_>) -> Option<CachedPlan> {
    let given = context.arguments.first().filter(|value| !value.is_null())?;
    let mut plans = context.runtime.state.cached_plans().into_iter();
    plans.find(|plan| plan_handle(plan) == *given || sql_handle(plan) == *given)
}

/// Database and object of a program: those of its module, otherwise the database only.
fn origin(context: &ViewContext<'_, '_>, plan: &CachedPlan) -> [(&'static str, Cell); 4] {
    let databases = context.runtime.instance.databases();
    let database = databases.iter().find(|one| one.incarnation() == plan.incarnation);
    let is_module = plan.kind.is_module();
    let module = database.filter(|_| is_module).and_then(|one| module_of(one, &plan.text));
    let database_id = match (is_module, module) {
        (true, None) => Cell::from(RESOURCE_DATABASE),
        _ => database.map(|one| i32::from(one.id())).into(),
    };
    let number: Cell = if is_module { 1.into() } else { Cell::Null };
    [("dbid", database_id), ("objectid", module.into()), ("number", number), ("encrypted", false.into())]
}

fn module_of(database: &Arc<Database>, text: &str) -> Option<i32> {
    database.catalog().objects().into_iter().find_map(|object| match object {
        ObjectDef::Module(module) if *module.definition == *text => Some(module.object_id),
        _ => None,
    })
}

fn sql_text(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    if let Some(plan) = meant(context) {
        let mut cells = origin(context, &plan).to_vec();
        cells.push(("text", plan.text.to_string().into()));
        context.row(&cells);
    }
    Ok(())
}

fn query_plan(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    if let Some(plan) = meant(context)
        && let Some(document) = context.runtime.state.plan_document(plan.number)
    {
        let mut cells = origin(context, &plan).to_vec();
        cells.push(("query_plan", document.into()));
        context.row(&cells);
    }
    Ok(())
}

/// The settings on which the plan depends.
fn plan_attributes(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(plan) = meant(context) else { return Ok(()) };
    let [(_, database), (_, object), ..] = origin(context, &plan);
    let to_int = |cell: Cell| match cell {
        Cell::Integer(number) => Value::Int(number as i32),
        _ => Value::Int(0),
    };
    for (name, value, is_key) in [("dbid", to_int(database), true), ("objectid", to_int(object), true)] {
        let value = plan_ir::values::variant(value);
        context.row(&[("attribute", name.into()), ("value", value.into()), ("is_cache_key", is_key.into())]);
    }
    let handle = plan_ir::values::variant(sql_handle(&plan));
    context.row(&[
        ("attribute", "sql_handle".into()),
        ("value", handle.into()),
        ("is_cache_key", false.into()),
    ]);
    Ok(())
}
