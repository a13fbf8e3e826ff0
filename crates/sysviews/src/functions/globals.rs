//! The `@@` functions.

use plan_ir::function_def::ResultRule::Fixed;
use plan_ir::function_def::{Call, FunctionDef};
use types::{SqlError, SqlType, Value};

type Result<T> = std::result::Result<T, SqlError>;

/// Product version in `@@VERSION` and SERVERPROPERTY. Clients choose dialects by 16.0.
pub(crate) const PRODUCT_VERSION: &str = "16.0.4135.4";
/// The long text of `@@VERSION`: tools parse its first words.
pub(crate) const VERSION_TEXT: &str = concat!(
    "Microsoft SQL Server 2022 compatible - 16.0.4135.4 (X64) \n\tHardpan ",
    env!("CARGO_PKG_VERSION"),
    "\n\tDeveloper Edition (64-bit) on Linux\n"
);

const INT: plan_ir::function_def::ResultRule = Fixed(SqlType::Int);

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("@@ROWCOUNT", &[], INT, |call| {
        Ok(Value::Int(call.runtime.state.row_count().min(i64::from(i32::MAX)) as i32))
    })
    .runtime(),
    FunctionDef::new("ROWCOUNT_BIG", &[], Fixed(SqlType::BigInt), |call| {
        Ok(Value::BigInt(call.runtime.state.row_count()))
    })
    .runtime(),
    FunctionDef::new("@@ERROR", &[], INT, |call| Ok(Value::Int(call.runtime.state.last_error()))).runtime(),
    FunctionDef::new("@@TRANCOUNT", &[], INT, |call| Ok(Value::Int(call.runtime.state.transaction_count())))
        .runtime(),
    FunctionDef::new("@@SPID", &[], Fixed(SqlType::SmallInt), |call| {
        Ok(Value::SmallInt(call.runtime.state.session_id()))
    })
    .runtime(),
    FunctionDef::new("@@VERSION", &[], Fixed(SqlType::nvarchar(300)), |_| Ok(Value::nvarchar(VERSION_TEXT)))
        .runtime(),
    FunctionDef::new("@@SERVERNAME", &[], Fixed(SqlType::nvarchar(128)), |call| {
        Ok(Value::nvarchar(call.runtime.state.server_name()))
    })
    .runtime(),
    FunctionDef::new("@@SERVICENAME", &[], Fixed(SqlType::nvarchar(128)), |_| {
        Ok(Value::nvarchar("MSSQLSERVER"))
    })
    .runtime(),
    FunctionDef::new("@@IDENTITY", &[], Fixed(SqlType::Numeric { precision: 38, scale: 0 }), |call| {
        identity(call.runtime.state.last_identity())
    })
    .runtime(),
    FunctionDef::new("SCOPE_IDENTITY", &[], Fixed(SqlType::Numeric { precision: 38, scale: 0 }), |call| {
        identity(call.runtime.state.scope_identity())
    })
    .runtime(),
    FunctionDef::new("@@COMMIT_TICKET", &[], Fixed(SqlType::varbinary(32)), |call| {
        let ticket = call.runtime.state.commit_ticket();
        ticket.iter().for_each(|ticket| call.runtime.instance.note_told(ticket));
        Ok(ticket.map_or(Value::Null, |ticket| Value::binary(&ticket.to_bytes())))
    })
    .runtime(),
    FunctionDef::new(
        "FN_COMMIT_STATUS",
        &[plan_ir::function_def::Parameter::Any],
        Fixed(SqlType::nvarchar(8)),
        |call| {
            let Value::Binary(bytes) = &call.args[0] else {
                return Err(SqlError::new(8116, &[&call.types[0].name(), &1, &"fn_commit_status"]));
            };
            let ticket = engine::CommitTicket::from_bytes(bytes.as_bytes());
            let status = ticket.and_then(|ticket| call.runtime.instance.commit_status(&ticket));
            Ok(status.map_or(Value::Null, |status| Value::nvarchar(status.name())))
        },
    )
    .runtime(),
    FunctionDef::new("@@PROCID", &[], INT, |call| Ok(Value::Int(call.runtime.state.procedure_id())))
        .runtime(),
    FunctionDef::new("@@NESTLEVEL", &[], INT, |call| Ok(Value::Int(call.runtime.state.nest_level())))
        .runtime(),
    FunctionDef::new("@@FETCH_STATUS", &[], INT, |call| Ok(Value::Int(call.runtime.state.fetch_status())))
        .runtime(),
    FunctionDef::new("@@CURSOR_ROWS", &[], INT, |call| Ok(Value::Int(call.runtime.state.cursor_rows())))
        .runtime(),
    FunctionDef::new("@@OPTIONS", &[], INT, |call| Ok(Value::Int(call.runtime.options.bits()))).runtime(),
    FunctionDef::new("@@LOCK_TIMEOUT", &[], INT, |call| Ok(Value::Int(call.runtime.options.lock_timeout_ms)))
        .runtime(),
    FunctionDef::new("@@DATEFIRST", &[], Fixed(SqlType::TinyInt), |call| {
        Ok(Value::TinyInt(call.runtime.options.date_first))
    })
    .runtime(),
    FunctionDef::new("@@LANGUAGE", &[], Fixed(SqlType::nvarchar(128)), |call| {
        Ok(Value::nvarchar(&call.runtime.options.language))
    })
    .runtime(),
    FunctionDef::new("@@LANGID", &[], Fixed(SqlType::SmallInt), |_| Ok(Value::SmallInt(0))).runtime(),
    FunctionDef::new("@@TEXTSIZE", &[], INT, |call| Ok(Value::Int(call.runtime.options.text_size))).runtime(),
    FunctionDef::new("@@MAX_PRECISION", &[], Fixed(SqlType::TinyInt), |_| Ok(Value::TinyInt(38))).runtime(),
    FunctionDef::new("@@MAX_CONNECTIONS", &[], INT, |_| Ok(Value::Int(32767))).runtime(),
    FunctionDef::new("@@MICROSOFTVERSION", &[], INT, |_| Ok(Value::Int(0x1000_1027))).runtime(),
    FunctionDef::new("@@DBTS", &[], Fixed(SqlType::varbinary(8)), |call| {
        Ok(plan_ir::row::row_version(call.runtime.database.last_row_version()))
    })
    .runtime(),
    FunctionDef::new("@@REMSERVER", &[], Fixed(SqlType::nvarchar(128)), |_| Ok(Value::Null)).runtime(),
    FunctionDef::new("@@PACKET_ERRORS", &[], INT, |_| Ok(Value::Int(0))).runtime(),
    FunctionDef::new("@@CONNECTIONS", &[], INT, |call| {
        Ok(whole(call.runtime.state.server_totals().sessions))
    })
    .runtime(),
    FunctionDef::new("@@PACK_RECEIVED", &[], INT, |call| {
        Ok(whole(call.runtime.state.server_totals().packets.0))
    })
    .runtime(),
    FunctionDef::new("@@PACK_SENT", &[], INT, |call| Ok(whole(call.runtime.state.server_totals().packets.1)))
        .runtime(),
    FunctionDef::new("@@TOTAL_READ", &[], INT, |call| Ok(whole(io_totals(call)[0].unsigned_abs()))).runtime(),
    FunctionDef::new("@@TOTAL_WRITE", &[], INT, |call| Ok(whole(io_totals(call)[1].unsigned_abs())))
        .runtime(),
    FunctionDef::new("@@IO_BUSY", &[], INT, |call| {
        Ok(whole(io_totals(call)[2].unsigned_abs() * 1_000 / TICK_US))
    })
    .runtime(),
    FunctionDef::new("@@CPU_BUSY", &[], INT, |_| Ok(whole(cpu_us() / TICK_US))).runtime(),
    FunctionDef::new("@@IDLE", &[], INT, |call| {
        let facts = call.runtime.state;
        let now_ticks = call.runtime.instance.os().clock().utc_100ns().max(0).cast_unsigned();
        let all_us =
            now_ticks.saturating_sub(facts.server_start_ticks()) / 10 * os::process::processor_count() as u64;
        Ok(whole(all_us.saturating_sub(cpu_us()) / TICK_US))
    })
    .runtime(),
    FunctionDef::new("@@TIMETICKS", &[], INT, |_| Ok(Value::Int(31250))).runtime(),
    FunctionDef::new("@@TOTAL_ERRORS", &[], INT, |_| Ok(Value::Int(0))).runtime(),
];

/// A tick of the busy times, in microseconds: `@@TIMETICKS`.
const TICK_US: u64 = 31_250;

/// As an int, limited to its range.
fn whole(number: u64) -> Value {
    Value::Int(i32::try_from(number).unwrap_or(i32::MAX))
}

fn cpu_us() -> u64 {
    let (user_ms, kernel_ms) = os::process::processor_times_ms();
    (user_ms + kernel_ms) * 1_000
}

fn io_totals(call: &Call<'_, '_>) -> [i64; 3] {
    crate::io_totals(call.runtime.instance)
}

/// Identity values are numeric(38,0).
fn identity(value: Value) -> Result<Value> {
    Ok(match value.as_i64() {
        Some(number) => Value::Decimal(types::Decimal::new(i128::from(number), 38, 0)),
        None => value,
    })
}

#[cfg(test)]
mod tests {
    /// The lexer distinguishes these functions from variables whose names begin with two at signs.
    #[test]
    fn the_lexer_knows_every_name() {
        for function in super::TABLE.iter().filter(|function| function.name.starts_with("@@")) {
            assert!(tsql::is_global(function.name), "{}", function.name);
        }
        assert!(!tsql::is_global("@@MINE") && !tsql::is_global("@ERROR"));
    }
}
