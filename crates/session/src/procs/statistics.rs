//! `sp_autostats`: shows and sets which statistics of a table are updated automatically.

use types::{SqlError, Value};

use super::{argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

/// `sp_autostats @tblname [, @flagc [, @indname]]`. Errors 201, 15009, 15323, 17000.
pub(super) fn sp_autostats(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if argument(&arguments, 0, "@tblname").is_none() {
        return Err(SqlError::new(201, &[&"sp_autostats", &"@tblname"]).into());
    }
    let table = text_argument(&arguments, 0, "@tblname").unwrap_or_default();
    let flag = text_argument(&arguments, 1, "@flagc").map(|flag| flag.trim().to_uppercase());
    let name = text_argument(&arguments, 2, "@indname");
    let is_on = match flag.as_deref() {
        None => None,
        Some("ON") => Some(true),
        Some("OFF") => Some(false),
        Some(_) => return Err(SqlError::new(17000, &[]).into()),
    };
    match is_on {
        Some(is_on) => {
            let told = std::cell::Cell::new(0);
            session.change_definitions(sink, |context| {
                told.set(query::ddl::set_auto_statistics(context, &table, is_on, name.as_deref())?);
                Ok(())
            })?;
            let (word, count) = (if is_on { "ON" } else { "OFF" }, told.get());
            sink.message(&SqlError::custom(
                0,
                0,
                1,
                format!("Automatic statistics maintenance turned {word} for {count} indices."),
            ));
        }
        None => show(session, &table, name, sink)?,
    }
    Ok(CallResult::default())
}

/// Sends the settings of the database, and a row for each of the table's statistics.
fn show(
    session: &mut Session,
    table: &str,
    name: Option<String>,
    sink: &mut dyn ResultSink,
) -> Result<(), Interruption> {
    let variable =
        |name: &str| query::VariableDef { name: name.into(), sql_type: types::SqlType::nvarchar(1035) };
    let values = vec![Value::nvarchar(table), name.map_or(Value::Null, |name| Value::nvarchar(&name))];
    session.run_text(SHOWN, &[variable("@table"), variable("@name")], values, sink)?;
    Ok(())
}

const SHOWN: &str = "SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@table, 'U'), @database sysname = DB_NAME()
    IF @id IS NULL BEGIN RAISERROR(15009, -1, -1, @table, @database) RETURN END
    IF @name IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.stats WHERE object_id = @id AND name = @name)
        BEGIN RAISERROR(15323, -1, -1, @name, @table) RETURN END
    DECLARE @create varchar(3), @update varchar(3), @full nvarchar(520) = QUOTENAME(OBJECT_SCHEMA_NAME(@id)) + N'.' + QUOTENAME(OBJECT_NAME(@id))
    SELECT @create = CASE is_auto_create_stats_on WHEN 1 THEN 'ON' ELSE 'OFF' END, @update = CASE is_auto_update_stats_on WHEN 1 THEN 'ON' ELSE 'OFF' END
        FROM sys.databases WHERE database_id = DB_ID()
    PRINT N'Global statistics settings for ' + QUOTENAME(@database) + N':'
    PRINT '  Automatic update statistics: ' + @update
    PRINT '  Automatic create statistics: ' + @create
    PRINT N'Settings for table ' + @full
    SELECT [Index Name] = QUOTENAME(name), AUTOSTATS = CASE no_recompute WHEN 1 THEN 'OFF' ELSE 'ON' END, [Last Updated] = STATS_DATE(object_id, stats_id)
        FROM sys.stats WHERE object_id = @id AND (@name IS NULL OR name = @name) ORDER BY stats_id";
