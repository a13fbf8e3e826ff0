//! DBCC commands about the log: SQLPERF, LOGINFO, LOG, OPENTRAN. Views supply their rows.

use tsql::ast;
use types::{SqlError, SqlResult, Value};

use crate::commands::dbcc_check::argument;
use crate::interruption::Interruption;
use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;

/// DBCC OPENTRAN shows times as `mon dd yyyy hh:mi:ss:mmmAM`.
const BEGIN_TIME_STYLE: i32 = 109;
/// The user id is unknown.
const NO_USER: i32 = -1;
/// Security id of every login, as sys.dm_exec_sessions shows it.
const SID: &str = "0x01";

impl Session {
    /// Runs one of the four commands; the caller sends the closing 2528.
    pub(crate) fn dbcc_log(
        &mut self,
        dbcc: &ast::Dbcc,
        name: &str,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let mut has_table_results = false;
        for option in &dbcc.options {
            match option.name.value.to_uppercase().as_str() {
                "NO_INFOMSGS" => {}
                "TABLERESULTS" if name == "OPENTRAN" => has_table_results = true,
                _ => return Err(SqlError::new(2526, &[]).into()),
            }
        }
        let arguments = dbcc.args.iter().map(argument).collect::<SqlResult<Vec<_>>>()?;
        match (name, arguments.as_slice()) {
            ("SQLPERF", arguments) => self.sqlperf(arguments, sink),
            ("LOG", [] | [_] | [_, _]) => {
                let database = self.named_for_check(arguments.first())?;
                let detail = arguments.get(1).map_or(Some(0), Value::as_i64);
                let columns = detail.and_then(columns_of_log).ok_or_else(|| SqlError::new(2526, &[]))?;
                let name = database.name().replace(']', "]]");
                self.show_rows_of(&format!("SELECT {columns} FROM [{name}].sys.fn_dblog(NULL, NULL)"), sink)
            }
            (_, [] | [_]) => {
                let database = self.named_for_check(arguments.first())?;
                match name {
                    "LOGINFO" => self.show_rows_of(
                        &format!("SELECT * FROM sys.dm_db_log_file_vlfs({})", database.id()),
                        sink,
                    ),
                    _ => self.open_transaction(&database, has_table_results, sink),
                }
            }
            _ => Err(SqlError::new(2526, &[]).into()),
        }
    }

    pub(crate) fn show_rows_of(&mut self, text: &str, sink: &mut dyn ResultSink) -> Result<(), Interruption> {
        self.run_text(text, &[], Vec::new(), sink).map(|_| ())
    }

    fn sqlperf(&mut self, arguments: &[Value], sink: &mut dyn ResultSink) -> Result<(), Interruption> {
        let words: Vec<String> =
            arguments.iter().map(|word| word.as_text().unwrap_or_default().to_uppercase()).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["LOGSPACE"] => self.show_rows_of(
                "SELECT [Database Name] = RTRIM(s.instance_name), [Log Size (MB)] = CAST(s.cntr_value / 1024.0 AS real), \
                 [Log Space Used (%)] = CAST(ISNULL(100.0 * u.cntr_value / NULLIF(s.cntr_value, 0), 0) AS real), Status = 0 \
                 FROM sys.dm_os_performance_counters AS s JOIN sys.dm_os_performance_counters AS u \
                 ON u.instance_name = s.instance_name AND u.counter_name = 'Log File(s) Used Size (KB)' \
                 JOIN sys.databases AS d ON d.name = s.instance_name \
                 WHERE s.counter_name = 'Log File(s) Size (KB)' ORDER BY d.database_id",
                sink,
            ),
            ["SYS.DM_OS_WAIT_STATS", "CLEAR"] => {
                self.instance.os().wait_stats().clear();
                Ok(())
            }
            ["SYS.DM_OS_LATCH_STATS", "CLEAR"] => {
                self.instance.os().wait_stats().clear_latches();
                Ok(())
            }
            [what, "CLEAR"] => Err(not_supported(&format!("DBCC SQLPERF ({}, CLEAR)", what.to_lowercase())).into()),
            _ => Err(SqlError::new(2526, &[]).into()),
        }
    }

    /// The oldest transaction with changes: as messages, or as name and value pairs.
    fn open_transaction(
        &mut self,
        database: &engine::Database,
        has_table_results: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let rows = database.transactions().active();
        let oldest =
            rows.iter().filter(|row| !row.begin.is_null() && !row.is_ended).min_by_key(|row| row.begin);
        let Some(oldest) = oldest else {
            if has_table_results {
                return self.show_rows_of(
                    "SELECT CAST(NULL AS nvarchar(60)) AS [1], CAST(NULL AS nvarchar(60)) AS [2] WHERE 1 = 0",
                    sink,
                );
            }
            // The message list gives it severity 16; it is sent as information.
            let mut told = SqlError::new(7969, &[]);
            told.severity = 10;
            sink.message(&told);
            return Ok(());
        };
        let began = engine::date_time_of(oldest.begin_time.to_utc_100ns().cast_signed());
        let began = types::temporal::format::to_text(
            &Value::DateTime(began),
            &types::SqlType::DateTime,
            BEGIN_TIME_STYLE,
        )
        .unwrap_or_default();
        let lsn = format!("({}:{}:{})", oldest.begin.vlf(), oldest.begin.block(), oldest.begin.slot());
        let name = self.state.name_of_transaction(oldest.session_id);
        let pairs = [
            ("OLDACT_SPID", oldest.session_id.to_string()),
            ("OLDACT_UID", NO_USER.to_string()),
            ("OLDACT_NAME", name.to_owned()),
            ("OLDACT_RECOVERYUNITID", "0".to_owned()),
            ("OLDACT_LSN", lsn.clone()),
            ("OLDACT_STARTTIME", began.clone()),
            ("OLDACT_SID", SID.to_owned()),
        ];
        if has_table_results {
            let rows: Vec<String> = pairs
                .iter()
                .enumerate()
                .map(|(at, (name, value))| format!("({at}, N'{name}', N'{value}')"))
                .collect();
            let text = format!(
                "SELECT [1] = CAST(o.name AS nvarchar(60)), [2] = CAST(o.value AS nvarchar(60)) \
                 FROM (VALUES {}) AS o(place, name, value) ORDER BY o.place",
                rows.join(", ")
            );
            return self.show_rows_of(&text, sink);
        }
        let place = (oldest.begin.vlf(), oldest.begin.block(), oldest.begin.slot());
        for line in [
            SqlError::new(7968, &[&database.name()]),
            SqlError::new(7970, &[]),
            SqlError::new(7971, &[&oldest.session_id]),
            SqlError::new(7972, &[&NO_USER]),
            SqlError::new(7974, &[&name]),
            SqlError::new(7975, &[&place.0, &place.1, &place.2]),
            SqlError::new(7977, &[&began]),
            SqlError::new(7979, &[&SID]),
        ] {
            sink.message(&line);
        }
        Ok(())
    }
}

/// The columns of DBCC LOG: 0 operation and context of each record, 1 also lengths and flags, 2 also pages, 3 all columns of sys.fn_dblog but
/// the record itself, 4 also the record.
fn columns_of_log(detail: i64) -> Option<String> {
    const WHICH: &str = "[Current LSN], Operation, Context, [Transaction ID], LogBlockGeneration";
    const LENGTHS: &str = "[Tag Bits], [Log Record Fixed Length], [Log Record Length], [Previous LSN], [Flag Bits], [Log Reserve], Description";
    const PAGES: &str = "AllocUnitId, AllocUnitName, [Page ID], [Slot ID]";
    Some(match detail {
        0 => WHICH.to_owned(),
        1 => format!("{WHICH}, {LENGTHS}"),
        2 => format!("{WHICH}, {LENGTHS}, {PAGES}"),
        3 => {
            let columns = query::sysviews::log_columns().iter().map(|column| column.name.as_str());
            let shown: Vec<String> =
                columns.filter(|name| *name != "Log Record").map(|name| format!("[{name}]")).collect();
            shown.join(", ")
        }
        4 => "*".to_owned(),
        _ => return None,
    })
}
