//! Wait statistics of the instance, of sessions and of latches, and current waits.

use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::lock_resources::{Entities, LockWaits, describe_wait, lock_address};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_os_wait_stats",
        "wait_type nvarchar(60) not null, waiting_tasks_count bigint not null, wait_time_ms bigint not null, max_wait_time_ms bigint not null, \
         signal_wait_time_ms bigint not null",
        wait_stats,
    ),
    SystemView::new(
        "dm_exec_session_wait_stats",
        "session_id smallint not null, wait_type nvarchar(60) not null, waiting_tasks_count bigint not null, \
         wait_time_ms bigint not null, max_wait_time_ms bigint not null, signal_wait_time_ms bigint not null",
        session_wait_stats,
    ),
    SystemView::new(
        "dm_os_latch_stats",
        "latch_class nvarchar(60) not null, waiting_requests_count bigint not null, wait_time_ms bigint not null, \
         max_wait_time_ms bigint not null",
        latch_stats,
    ),
    SystemView::new(
        "dm_os_waiting_tasks",
        "waiting_task_address varbinary(8) not null, session_id smallint, exec_context_id int, wait_duration_ms bigint, wait_type nvarchar(60), \
         resource_address varbinary(8), blocking_task_address varbinary(8), blocking_session_id smallint, blocking_exec_context_id int, \
         resource_description nvarchar(3072)",
        waiting_tasks,
    ),
];

fn cells(row: &os::WaitRow) -> [(&'static str, Cell); 5] {
    [
        ("wait_type", row.wait_type.name().into()),
        ("waiting_tasks_count", row.waiting_tasks_count.into()),
        ("wait_time_ms", row.wait_time_ms.into()),
        ("max_wait_time_ms", row.max_wait_time_ms.into()),
        ("signal_wait_time_ms", row.signal_wait_time_ms.into()),
    ]
}

fn wait_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for row in context.runtime.instance.os().wait_stats().snapshot() {
        context.row(&cells(&row));
    }
    Ok(())
}

/// Since the session's login or last reset; only wait types that have occurred.
fn session_wait_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for (session_id, waits) in context.runtime.state.session_waits() {
        for row in waits {
            let mut cells = cells(&row).to_vec();
            cells.push(("session_id", i32::from(session_id).into()));
            context.row(&cells);
        }
    }
    Ok(())
}

/// Classes are the ranks of docs/latches.md; only those with waits.
fn latch_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for row in context.runtime.instance.os().wait_stats().latches() {
        context.row(&[
            ("latch_class", row.class.into()),
            ("waiting_requests_count", row.waits_total.into()),
            ("wait_time_ms", (row.wait_ns_total / 1_000_000).into()),
            ("max_wait_time_ms", (row.wait_ns_max / 1_000_000).into()),
        ]);
    }
    Ok(())
}

fn waiting_tasks(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let (mut locks, mut entities) = (LockWaits::new(context.runtime.instance), Entities::default());
    let address = |session_id: i32| Value::binary(&i64::from(session_id).to_be_bytes());
    for session in context.runtime.state.sessions() {
        let Some(wait_type) = session.wait_type else { continue };
        let number = u32::from(session.session_id.unsigned_abs());
        let mut cells: Vec<(&str, Cell)> = vec![
            ("waiting_task_address", address(i32::from(session.session_id)).into()),
            ("session_id", i32::from(session.session_id).into()),
            ("exec_context_id", 0.into()),
            ("wait_duration_ms", session.wait_time_ms.into()),
            ("wait_type", wait_type.into()),
        ];
        if let Some(asked) = locks.of(&session) {
            let (resource, blocker) = (&asked.resource, asked.blocking_session_id);
            let described = describe_wait(
                resource,
                locks.mode_in_the_way(&asked),
                entities.of(context.runtime, resource),
            );
            cells.push(("resource_address", lock_address(resource, number).into()));
            cells.push(("resource_description", described.into()));
            if blocker != 0 {
                cells.push(("blocking_task_address", address(blocker.cast_signed()).into()));
                cells.push(("blocking_session_id", blocker.cast_signed().into()));
                cells.push(("blocking_exec_context_id", 0.into()));
            }
        }
        context.row(&cells);
    }
    Ok(())
}
