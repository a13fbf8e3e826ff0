//! Views of databases' logs: VLFs, space, limits, and what prevents log truncation.

use plan_ir::view::{Cell, ViewContext};
use types::{SqlError, Value};

use super::shown::{argument_database, begin_time, megabytes, numeric_lsn};
use super::transaction_ids::TransactionIds;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) fn log_info(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(database) = argument_database(context) else {
        return Ok(());
    };
    for vlf in database.log().vlfs() {
        context.row(&[
            ("database_id", i32::from(database.id()).into()),
            ("file_id", i32::from(vlf.file).into()),
            ("vlf_begin_offset", vlf.begin_offset.into()),
            ("vlf_size_mb", megabytes(vlf.size_bytes)),
            ("vlf_sequence_number", i64::from(vlf.sequence).into()),
            ("vlf_active", vlf.active.into()),
            ("vlf_status", i32::from(vlf.status).into()),
            ("vlf_parity", i32::from(vlf.parity).into()),
            ("vlf_first_lsn", vlf.first_lsn.to_string().into()),
            ("vlf_create_lsn", vlf.create_lsn.to_string().into()),
        ]);
    }
    Ok(())
}

/// Hardpan's own: the rows of DBCC LOGINFO.
pub(super) fn log_file_vlfs(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(database) = argument_database(context) else {
        return Ok(());
    };
    for vlf in database.log().vlfs() {
        context.row(&[
            ("FileId", i32::from(vlf.file).into()),
            ("FileSize", vlf.size_bytes.into()),
            ("StartOffset", vlf.begin_offset.into()),
            ("FSeqNo", i64::from(vlf.sequence).into()),
            ("Status", if vlf.active { 2 } else { 0 }.into()),
            ("Parity", i32::from(vlf.parity).into()),
            ("CreateLSN", if vlf.create_lsn.is_null() { 0.into() } else { numeric_lsn(vlf.create_lsn) }),
        ]);
    }
    Ok(())
}

/// Hardpan's own: everything that prevents log truncation, with its LSN, and which of them holds most log; a transaction with its session.
/// sys.dm_exec_requests and sys.dm_exec_connections have the session's current or last statement.
pub(super) fn log_holders(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let ids = TransactionIds::new(context.runtime, &context.runtime.state.sessions());
    for database in context.runtime.instance.databases() {
        let oldest = database.transactions().active().into_iter().filter(|row| !row.begin.is_null());
        let oldest = oldest.min_by_key(|row| row.begin);
        // The transactions' own pin moves only at truncation; the transaction table has the current value.
        let mut pins = database.log().pins();
        pins.retain(|pin| {
            pin.lsn != engine::Lsn::MAX && pin.reason != engine::LogReuseWait::ActiveTransaction
        });
        let mut holders: Vec<_> =
            pins.into_iter().map(|pin| (pin.lsn, pin.reason, pin.owner, None)).collect();
        if let Some(row) = oldest {
            let owner = "oldest transaction";
            holders.push((row.begin, engine::LogReuseWait::ActiveTransaction, owner.to_owned(), Some(row)));
        }
        let lowest = holders.iter().map(|holder| holder.0.vlf()).min();
        for (lsn, reason, owner, transaction) in holders {
            context.row(&[
                ("database_id", i32::from(database.id()).into()),
                ("log_reuse_wait", i32::from(reason.number()).into()),
                ("log_reuse_wait_desc", reason.name().into()),
                ("holder", owner.into()),
                ("is_lowest", (Some(lsn.vlf()) == lowest).into()),
                ("held_from_lsn", lsn.to_string().into()),
                ("vlf_sequence_number", i64::from(lsn.vlf()).into()),
                (
                    "session_id",
                    transaction.filter(|row| row.session_id > 0).map(|row| i64::from(row.session_id)).into(),
                ),
                (
                    "transaction_id",
                    transaction
                        .map(|row| ids.of(row.session_id, database.number(), row.id).cast_signed())
                        .into(),
                ),
                (
                    "transaction_begin_time",
                    transaction.map_or(Value::Null, |row| begin_time(row.begin_time)).into(),
                ),
            ]);
        }
    }
    Ok(())
}

pub(super) fn log_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(database) = argument_database(context) else {
        return Ok(());
    };
    let log = database.log().stats();
    let vlfs = database.log().vlfs();
    let active: u64 = vlfs.iter().filter(|vlf| vlf.active).map(|vlf| vlf.size_bytes).sum();
    let current = vlfs.iter().max_by_key(|vlf| vlf.sequence);
    let recovery = database.log().recovery_extent();
    context.row(&[
        ("database_id", i32::from(database.id()).into()),
        ("recovery_model", database.options().recovery_model.description().into()),
        ("log_min_lsn", log.min.to_string().into()),
        ("log_end_lsn", log.end.to_string().into()),
        ("current_vlf_sequence_number", current.map(|vlf| i64::from(vlf.sequence)).into()),
        ("current_vlf_size_mb", current.map_or(Cell::Null, |vlf| megabytes(vlf.size_bytes))),
        ("total_vlf_count", log.vlf_count.into()),
        ("total_log_size_mb", megabytes(log.size_bytes)),
        ("active_vlf_count", log.active_vlf_count.into()),
        ("active_log_size_mb", megabytes(active)),
        ("log_truncation_holdup_reason", database.log().reuse_wait().name().into()),
        ("log_checkpoint_lsn", log.checkpoint.to_string().into()),
        ("log_since_last_checkpoint_mb", megabytes(recovery.since_checkpoint_bytes)),
        ("log_recovery_lsn", recovery.from.to_string().into()),
        ("log_recovery_size_mb", megabytes(recovery.bytes)),
        ("recovery_vlf_count", recovery.vlf_count.into()),
    ]);
    Ok(())
}

pub(super) fn log_space(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let log = context.database.log().stats();
    let percent =
        if log.size_bytes == 0 { 0.0 } else { log.used_bytes as f32 * 100.0 / log.size_bytes as f32 };
    context.row(&[
        ("database_id", i32::from(context.database.id()).into()),
        ("total_log_size_in_bytes", log.size_bytes.into()),
        ("used_log_space_in_bytes", log.used_bytes.into()),
        ("used_log_space_in_percent", Value::Real(percent).into()),
        ("log_space_in_bytes_since_last_backup", log.used_bytes.into()),
    ]);
    Ok(())
}

/// Hardpan's own: which sessions had to wait because the log had reached its limit of I/O in progress. NULL stands for ended sessions and for the
/// server's own work.
pub(super) fn log_limit_sessions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sessions: std::collections::BTreeMap<u64, i16> =
        context.runtime.state.session_numbers().into_iter().map(|(id, number)| (number, id)).collect();
    for info in context.runtime.instance.database_infos() {
        let Some(database) = &info.database else {
            continue;
        };
        let mut rows: std::collections::BTreeMap<Option<i16>, [u64; 4]> = std::collections::BTreeMap::new();
        for met in database.log().limits_met() {
            let id = met.session.and_then(|number| sessions.get(&number).copied());
            let figures = [met.ios_total, met.ios_ns_total, met.bytes_total, met.bytes_ns_total];
            let sum = rows.entry(id).or_default();
            sum.iter_mut().zip(figures).for_each(|(sum, more)| *sum += more);
        }
        for (id, [ios, ios_ns, bytes, bytes_ns]) in rows {
            context.row(&[
                ("database_id", i32::from(info.id).into()),
                ("session_id", id.map_or(Value::Null, Value::SmallInt).into()),
                ("ios_limit_met_count", (ios as i64).into()),
                ("ios_limit_met_ms", ((ios_ns / 1_000_000) as i64).into()),
                ("kb_limit_met_count", (bytes as i64).into()),
                ("kb_limit_met_ms", ((bytes_ns / 1_000_000) as i64).into()),
            ]);
        }
    }
    Ok(())
}

/// Hardpan's own: the limit of each log's I/O in progress (article 002; ALTER DATABASE ... SET LOG_LIMITS), its current and highest
/// value, and how often and how long requests waited for the limit. `outstanding_kb_max` NULL: unlimited.
pub(super) fn log_limits(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for info in context.runtime.instance.database_infos() {
        let Some(database) = &info.database else {
            continue;
        };
        let stats = database.log().stats();
        let kb = |bytes: u64| (bytes / 1024) as i64;
        let ms = |ns: u64| (ns / 1_000_000) as i64;
        let limits = stats.limits;
        let kb_max = (limits.outstanding_bytes_max < u64::MAX).then(|| kb(limits.outstanding_bytes_max));
        context.row(&[
            ("database_id", i32::from(info.id).into()),
            ("log_limits", database.options().log_limits.word().into()),
            ("outstanding_ios_max", (limits.outstanding_ios_max as i32).into()),
            ("outstanding_kb_max", kb_max.map_or(Value::Null, Value::BigInt).into()),
            ("outstanding_ios", (stats.outstanding_ios as i32).into()),
            ("outstanding_kb", kb(stats.outstanding_bytes).into()),
            ("highest_outstanding_ios", (stats.outstanding_ios_high_water as i32).into()),
            ("highest_outstanding_kb", kb(stats.outstanding_bytes_high_water).into()),
            ("ios_limit_reached_count", (stats.outstanding_ios_limit_reached_total as i64).into()),
            ("ios_limit_reached_ms", ms(stats.outstanding_ios_limit_ns_total).into()),
            ("kb_limit_reached_count", (stats.outstanding_bytes_limit_reached_total as i64).into()),
            ("kb_limit_reached_ms", ms(stats.outstanding_bytes_limit_ns_total).into()),
        ]);
    }
    Ok(())
}
