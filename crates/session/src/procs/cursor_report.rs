//! sp_cursor_list, sp_describe_cursor, sp_describe_cursor_columns, sp_describe_cursor_tables: what is known of cursors, as a cursor of the caller.

use tsql::ast::{self, StatementKind};
use types::{SqlError, SqlResult, SqlType, Value};

use super::arguments::{argument, int_argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::batch::cell::Compiled;
use crate::batch::cursor::{CursorPlan, Properties, Sensitivity};
use crate::cursors::{Cursor, CursorReference};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

/// The OUTPUT parameter of all these procedures.
const RETURNED: &str = "@cursor_return";

/// `sp_cursor_list @cursor_return CURSOR OUTPUT, @cursor_scope`: 1 local, 2 global cursors, 3 both.
pub(super) fn sp_cursor_list(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    check_returned(&arguments, "sp_cursor_list")?;
    let scope = int_argument(&arguments, 1, "@cursor_scope")?.unwrap_or(0);
    if !(1..=3).contains(&scope) {
        return Err(SqlError::new(16902, &[&"sp_cursor_list", &"@cursor_scope"]).into());
    }
    let found = session.state.cursors.references();
    let wanted = found.into_iter().filter(|found| scope == 3 || found.is_global == (scope == 2));
    let rows: Vec<String> = wanted.map(|reference| attributes(session, &reference)).collect();
    give(session, &arguments, (&rows, ATTRIBUTES), sink)
}

/// `sp_describe_cursor @cursor_return CURSOR OUTPUT, @cursor_source, @cursor_identity`
pub(super) fn sp_describe_cursor(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let reference = named(session, &arguments, "sp_describe_cursor")?;
    let row = attributes(session, &reference);
    give(session, &arguments, (&[row], ATTRIBUTES), sink)
}

/// `sp_describe_cursor_columns @cursor_return CURSOR OUTPUT, @cursor_source, @cursor_identity`
pub(super) fn sp_describe_cursor_columns(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let reference = named(session, &arguments, "sp_describe_cursor_columns")?;
    let rows = columns(session.state.cursors.get(reference.id));
    give(session, &arguments, (&rows, COLUMNS), sink)
}

/// Error 201 without the cursor variable, 206 for what is none.
fn check_returned(arguments: &[Argument], procedure: &str) -> SqlResult<()> {
    match argument(arguments, 0, RETURNED) {
        None => Err(SqlError::new(201, &[&procedure, &RETURNED])),
        Some(given) if !given.is_cursor => Err(SqlError::new(206, &[&given.sql_type.name(), &"cursor"])),
        Some(_) => Ok(()),
    }
}

/// The cursor that a call names. Errors 201, 16902, 16916, 16950.
fn named(session: &Session, arguments: &[Argument], procedure: &str) -> SqlResult<CursorReference> {
    check_returned(arguments, procedure)?;
    let text = |at: usize, name: &str| {
        text_argument(arguments, at, name).ok_or_else(|| SqlError::new(201, &[&procedure, &name]))
    };
    let (source, identity) = (text(1, "@cursor_source")?.to_lowercase(), text(2, "@cursor_identity")?);
    let is_it = |found: &CursorReference| {
        let kind = match (found.is_variable, found.is_global) {
            (true, _) => "variable",
            (false, true) => "global",
            (false, false) => "local",
        };
        kind == source && found.name.eq_ignore_ascii_case(&identity)
    };
    if !["local", "global", "variable"].contains(&source.as_str()) {
        return Err(SqlError::new(16902, &[&procedure, &"@cursor_source"]));
    }
    let found = session.state.cursors.references().into_iter().find(is_it);
    found.ok_or_else(|| match source.as_str() {
        "variable" => {
            let mut error = SqlError::new(16950, &[&identity]);
            error.severity = 16;
            error
        }
        _ => SqlError::new(16916, &[&identity]),
    })
}

const ATTRIBUTES: &str = "CAST(r.c1 AS sysname) AS reference_name, CAST(r.c2 AS sysname) AS cursor_name, CAST(r.c3 AS tinyint) AS cursor_scope, \
     CAST(r.c4 AS int) AS status, CAST(r.c5 AS tinyint) AS model, CAST(r.c6 AS tinyint) AS concurrency, CAST(r.c7 AS tinyint) AS scrollable, \
     CAST(r.c8 AS tinyint) AS open_status, CAST(r.c9 AS decimal(10, 0)) AS cursor_rows, CAST(r.c10 AS smallint) AS fetch_status, \
     CAST(r.c11 AS smallint) AS column_count, CAST(r.c12 AS decimal(10, 0)) AS row_count, CAST(r.c13 AS tinyint) AS last_operation, \
     CAST(r.c14 AS int) AS cursor_handle";

/// The values of a row of sp_cursor_list.
fn attributes(session: &mut Session, reference: &CursorReference) -> String {
    let cursor = session.state.cursors.get(reference.id);
    let properties = &cursor.plan.properties;
    let (model, is_copy) = match cursor.shown_type() {
        "Snapshot" => (1, true),
        "Keyset" => (2, false),
        "Dynamic" => (3, false),
        _ => (4, true),
    };
    let concurrency = match properties.locks {
        _ if properties.is_read_only || is_copy => 1,
        true => 2,
        false => 3,
    };
    let rows = match &cursor.opened {
        Some(opened) if opened.is_dynamic() => -1,
        Some(opened) => i64::try_from(opened.count).unwrap_or(i64::MAX),
        None => 0,
    };
    let name = if cursor.plan.name.is_empty() { &reference.name } else { &cursor.plan.name };
    let handle = cursor
        .api
        .as_ref()
        .map_or_else(|| i32::try_from(reference.id).unwrap_or(i32::MAX).saturating_add(1), |api| api.handle);
    let (operation, row_count) = cursor.last_operation;
    format!(
        "{}, {}, {}, {}, {model}, {concurrency}, {}, {}, {rows}, {}, {}, {row_count}, {operation}, {handle}",
        literal(&reference.name),
        literal(name),
        if reference.is_global { 2 } else { 1 },
        cursor.status(),
        i32::from(properties.scrolls),
        i32::from(cursor.opened.is_some()),
        cursor.fetch_status,
        cursor_columns(cursor).len(),
    )
}

const COLUMNS: &str = "CAST(r.c1 AS sysname) AS column_name, CAST(r.c2 AS int) AS ordinal_position, \
     CAST(r.c3 AS int) AS column_characteristics_flags, CAST(r.c4 AS int) AS column_size, CAST(r.c5 AS smallint) AS data_type_sql, \
     CAST(r.c6 AS tinyint) AS column_precision, CAST(r.c7 AS tinyint) AS column_scale, CAST(r.c8 AS int) AS order_position, \
     CAST(r.c9 AS varchar(1)) AS order_direction, CAST(r.c10 AS smallint) AS hidden_column, CAST(r.c11 AS int) AS columnid, \
     CAST(r.c12 AS int) AS objectid, CAST(r.c13 AS int) AS dbid, CAST(r.c14 AS sysname) AS dbname";

/// The columns of an open or declared cursor.
fn cursor_columns(cursor: &Cursor) -> &[query::ColumnDescription] {
    match (&cursor.opened, cursor.compiled.as_ref()) {
        (Some(opened), _) => &opened.columns,
        (None, Compiled::Statement(statement)) => statement.result_columns().unwrap_or_default(),
        (None, Compiled::Scalar(_)) => &[],
    }
}

/// The values of the rows of sp_describe_cursor_columns.
fn columns(cursor: &Cursor) -> Vec<String> {
    const FIXED: i32 = 2;
    const NULLABLE: i32 = 4;
    const ROW_VERSION: i32 = 8;
    const UPDATABLE: i32 = 16;
    let keyed = cursor.opened.as_ref().and_then(|opened| opened.keyed.as_ref());
    let row = |(at, column): (usize, &query::ColumnDescription)| {
        let table = keyed.map(|keyed| &keyed.table);
        let base = table.and_then(|table| (*table.column_ids.get(at)?).map(|id| (table, id)));
        let sql_type = &column.sql_type;
        let is_text = sql_type.is_character() || sql_type.family() == types::sql_type::TypeFamily::Binary;
        let is_changed = base.is_some() && !cursor.plan.properties.is_read_only;
        let bits = [
            (!is_text, FIXED),
            (column.nullable, NULLABLE),
            (*sql_type == SqlType::RowVersion, ROW_VERSION),
            (is_changed, UPDATABLE),
        ];
        let flags = bits.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, bit)| flags | bit);
        let (column_id, object_id, database_id, database) = match base {
            Some((table, id)) => {
                (id, table.object_id, i32::from(table.database.id()), literal(table.database.name()))
            }
            None => (-1, -1, -1, "NULL".to_string()),
        };
        let name = if column.name.is_empty() { "NULL".to_string() } else { literal(&column.name) };
        let (place, direction) = order_of(&cursor.plan.select, &column.name);
        format!(
            "{name}, {at}, {flags}, {}, {}, {}, {}, {place}, {direction}, 0, {column_id}, {object_id}, {database_id}, {database}",
            sql_type.max_length(),
            sql_type.system_type_id(),
            sql_type.precision(),
            sql_type.scale(),
        )
    };
    cursor_columns(cursor).iter().enumerate().map(row).collect()
}

/// The place of a column in ORDER BY from 1, and its direction; 0 when it is not there.
fn order_of(select: &ast::SelectStatement, name: &str) -> (usize, &'static str) {
    let is_it = |item: &ast::OrderByItem| matches!(&item.expr.kind, ast::ExprKind::Column(column) if column.name.is(name));
    match select.query.order_by.iter().position(is_it) {
        Some(at) if select.query.order_by[at].descending == Some(true) => (at + 1, "'D'"),
        Some(at) => (at + 1, "'A'"),
        None => (0, "NULL"),
    }
}

const TABLES: &str = "CAST(r.c1 AS sysname) AS [table owner], CAST(r.c2 AS sysname) AS Table_name, CAST(r.c3 AS smallint) AS Optimizer_hints, \
     CAST(r.c4 AS smallint) AS lock_type, CAST(r.c5 AS sysname) AS server_name, CAST(r.c6 AS int) AS Objectid, CAST(r.c7 AS int) AS dbid, \
     CAST(r.c8 AS sysname) AS dbname";

/// `sp_describe_cursor_tables @cursor_return CURSOR OUTPUT, @cursor_source, @cursor_identity`
pub(super) fn sp_describe_cursor_tables(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let reference = named(session, &arguments, "sp_describe_cursor_tables")?;
    let cursor = session.state.cursors.get(reference.id);
    let mut tables = Vec::new();
    if let ast::QueryBody::Select(block) = &cursor.plan.select.query.body {
        block.from.iter().for_each(|source| tables_of(source, &mut tables));
    }
    let lock = if cursor.plan.properties.locks { 3 } else { 0 };
    let database = cursor.database.name().to_string();
    let rows: Vec<String> = tables.into_iter().map(|table| table_row(table, lock, &database)).collect();
    give(session, &arguments, (&rows, TABLES), sink)
}

/// The tables and views that FROM names.
fn tables_of<'a>(source: &'a ast::TableSource, tables: &mut Vec<&'a ast::TableRef>) {
    match source {
        ast::TableSource::Table(table) => tables.push(table),
        ast::TableSource::Join(join) => {
            tables_of(&join.left, tables);
            tables_of(&join.right, tables);
        }
        _ => {}
    }
}

fn table_row(table: &ast::TableRef, lock: i32, own_database: &str) -> String {
    const HINTS: [(&str, i32); 8] = [
        ("ROWLOCK", 1),
        ("PAGLOCK", 4),
        ("TABLOCK", 8),
        ("TABLOCKX", 16),
        ("UPDLOCK", 32),
        ("NOLOCK", 64),
        ("FASTFIRSTROW", 128),
        ("HOLDLOCK", 4096),
    ];
    let has = |name: &str| table.hints.iter().any(|hint| hint.name.is(name));
    let hints: i32 = HINTS.iter().filter(|(name, _)| has(name)).map(|(_, bit)| bit).sum();
    let quoted = |part: &str| format!("[{}]", part.replace(']', "]]"));
    let written =
        |part: &Option<ast::Ident>| part.as_ref().map_or("", |part| part.value.as_str()).to_string();
    let database = Some(written(&table.name.database)).filter(|name| !name.is_empty());
    let database = database.unwrap_or_else(|| own_database.to_string());
    let schema = Some(written(&table.name.schema)).filter(|name| !name.is_empty());
    let schema = schema.unwrap_or_else(|| "dbo".to_string());
    let name = &table.name.name.value;
    let database = if name.starts_with('#') { "tempdb".to_string() } else { database };
    let whole = [&database, &schema, name].map(|part| quoted(part)).join(".");
    format!(
        "{}, {}, {hints}, {lock}, @@SERVERNAME, OBJECT_ID({}), DB_ID({}), {}",
        literal(&schema),
        literal(name),
        literal(&whole),
        literal(&database),
        literal(&database),
    )
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// Hands the rows to the caller as a scrollable cursor that only reads.
fn give(
    session: &mut Session,
    arguments: &[Argument],
    (rows, items): (&[String], &str),
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let count = items.matches("CAST(r.").count();
    let names = (1..=count).map(|at| format!("c{at}")).collect::<Vec<_>>().join(", ");
    let none = vec!["NULL"; count].join(", ");
    // Without rows it has its columns all the same.
    let (values, filter) = match rows {
        [] => (format!("({none})"), " WHERE 1 = 0"),
        rows => (rows.iter().map(|row| format!("({row})")).collect::<Vec<_>>().join(", "), ""),
    };
    let text = format!("SELECT {items} FROM (VALUES {values}) AS r ({names}){filter}");
    let batch = tsql::parse_batch(&text, &tsql::ParseOptions::default());
    let statement = batch.ok().and_then(|mut batch| batch.statements.pop());
    let Some(StatementKind::Select(select)) = statement.map(|statement| statement.kind) else {
        unreachable!("the text is a SELECT")
    };
    let properties = Properties {
        sensitivity: Sensitivity::Static,
        scrolls: true,
        is_read_only: true,
        locks: false,
        warns: false,
        is_global: Some(false),
        updatable: Vec::new(),
        is_for_update: false,
    };
    let plan = CursorPlan::for_client(*select, Default::default(), properties, &[]);
    let compiled = query::compile(&plan.statement(), &session.bind_context_with(&[], None))?;
    let (database, created) = (session.database.clone(), session.now_ticks());
    let cursor = Cursor::new(
        std::sync::Arc::new(plan),
        std::sync::Arc::new(Compiled::Statement(compiled)),
        Vec::new(),
        (database, None),
        created,
    );
    let id = session.state.cursors.add_returned(RETURNED, cursor);
    session.open_cursor(id, None, sink)?;
    let is_it =
        |given: &Argument| given.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(RETURNED));
    let at = arguments.iter().position(is_it).unwrap_or(0);
    let outputs = vec![(at, RETURNED.to_string(), SqlType::Int, Value::Null)];
    Ok(CallResult { outputs, ..CallResult::default() })
}
