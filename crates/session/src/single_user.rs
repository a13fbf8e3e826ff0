//! ALTER DATABASE ... SET SINGLE_USER and RESTRICTED_USER: whoever is in the database leaves first, by himself or because he is ended. Then
//! one session at a time is in a single one (924, by the DATABASE locks of the engine); into a restricted one come those of db_owner,
//! dbcreator and sysadmin, as many as like, and every login here is one of these.
//!
//! ```text
//!  many users ──SINGLE_USER, RESTRICTED_USER: others in it? ──no──► single, restricted
//!                  │ WITH NO_WAIT: 5070     │ WITH ROLLBACK IMMEDIATE, AFTER n: killed     │ else: waited for
//!  single, another in it ──any SET──► 5064
//! ```

use engine::{MASTER, OptionChange, TEMPDB};
use os::WaitType;
use tsql::ast::Termination;
use types::{SqlError, SqlResult};

use crate::session::Session;
use crate::sink::ResultSink;

/// `user_access` for one session at a time.
const SINGLE_USER: u8 = 1;
/// `user_access` for members of roles of administrators.
const RESTRICTED_USER: u8 = 2;
const A_SECOND_NS: u64 = 1_000_000_000;

/// Changes options of a database.
///
/// # Errors
/// 5058 (a database that cannot be single), 5064, 5070, both with 5069 behind; those of waiting and of the change itself.
pub(crate) fn set_options(
    session: &mut Session,
    name: &str,
    changes: &[OptionChange],
    termination: Option<Termination>,
    sink: &mut dyn ResultSink,
) -> SqlResult<()> {
    let number = session.instance.database_number(name)?;
    let asked = changes.iter().rev().find_map(|change| match change {
        OptionChange::UserAccess(access) => Some(*access),
        _ => None,
    });
    let narrower = asked.filter(|access| [SINGLE_USER, RESTRICTED_USER].contains(access));
    if let Some(access) = narrower.filter(|_| [MASTER, TEMPDB].contains(&number)) {
        let option = if access == SINGLE_USER { "SINGLE_USER" } else { "RESTRICTED_USER" };
        return Err(SqlError::new(5058, &[&option, &name]));
    }
    let switch = |wanted: &str| {
        changes.iter().find_map(|change| match change {
            OptionChange::Switch(name, on) if name == wanted => Some(*on),
            _ => None,
        })
    };
    for option in [engine::COMMITTED_SNAPSHOT_SWITCH, engine::SNAPSHOT_SWITCH] {
        // Their rows are the server's own and have no versions.
        if switch(option) == Some(true) && number < engine::FIRST_USER_DATABASE {
            return Err(SqlError::new(5058, &[&option, &name]));
        }
    }
    // Nobody else is in it while readers change how they read.
    let committed = session.instance.database(name).is_ok_and(|database| database.reads_committed_snapshot());
    let changes_reading = switch(engine::COMMITTED_SNAPSHOT_SWITCH).is_some_and(|on| on != committed);
    // One that is not open says so itself.
    let current = session.instance.database(name).map_or(0, |database| database.options().user_access);
    let is_single = current == SINGLE_USER;
    let empties = asked == Some(SINGLE_USER) || (asked == Some(RESTRICTED_USER) && current == 0);
    if !empties && !is_single && !changes_reading {
        return session.instance.alter_database(name, changes);
    }
    let is_free = session.transactions.lock_database_exclusively(name)?.is_some();
    if !is_free && is_single {
        return Err(failed(SqlError::new(5064, &[&name])));
    }
    if !is_free {
        clear(session, name, number, termination, sink)?;
    }
    let _alone = session.transactions.wait_for_database(name)?;
    session.instance.alter_database(name, changes)
}

/// Sees to it that the others leave, as the statement says.
fn clear(
    session: &mut Session,
    name: &str,
    number: u16,
    termination: Option<Termination>,
    sink: &mut dyn ResultSink,
) -> SqlResult<()> {
    let seconds = match termination {
        None => return Ok(()),
        Some(Termination::NoWait) => return Err(failed(SqlError::new(5070, &[&name]))),
        Some(Termination::RollbackImmediate) => 0,
        Some(Termination::RollbackAfter(seconds)) => seconds,
    };
    let os = session.instance.os().clone();
    for _ in 0..seconds {
        if session.transactions.others_in_database(number).is_empty() {
            return Ok(());
        }
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).map_err(|_| engine::interrupted())?;
    }
    let others = session.transactions.others_in_database(number);
    if !others.is_empty() {
        sink.message(&SqlError::new(5060, &[&0]));
    }
    others.into_iter().for_each(|other| {
        session.facts.registry.kill(other);
    });
    Ok(())
}

fn failed(reason: SqlError) -> SqlError {
    SqlError::new(5069, &[]).after(reason)
}
