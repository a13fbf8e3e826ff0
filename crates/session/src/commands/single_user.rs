//! ALTER DATABASE ... SET and other users of the database. Some options ([`empties`]) need exclusive access: other sessions must leave first, by
//! themselves or because they are killed. Other options change while the database is in use: for them WITH ROLLBACK kills no session, and WITH
//! NO_WAIT has nothing to wait for. After SINGLE_USER one session at a time may be in the database (924, by the DATABASE locks of the engine).
//! RESTRICTED_USER admits any number of members of db_owner, dbcreator and sysadmin; every login here is such a member.
//! ALLOW_SNAPSHOT_ISOLATION waits for transactions, not for users; it can be combined neither with a clause (5083) nor other options (5082).
//!
//! ```text
//!  many users ──an option that needs exclusive access: other sessions in it? ──no──► changed
//!                  │ WITH NO_WAIT: 5070     │ WITH ROLLBACK IMMEDIATE, AFTER n: killed     │ else: waited for
//!  single, another in it ──any SET──► 5064
//! ```

use engine::{DatabaseOptions, MASTER, OptionChange, TEMPDB};
use os::WaitType;
use tsql::ast::Termination;
use types::{SqlError, SqlResult};

use crate::session::Session;
use crate::sink::ResultSink;

/// `user_access` for one session at a time.
const SINGLE_USER: u8 = 1;
/// `user_access` for members of administrative roles only.
const RESTRICTED_USER: u8 = 2;
/// Changes no plan here, but needs exclusive access to be turned on, as documented.
const DATE_CORRELATION: &str = "DATE_CORRELATION_OPTIMIZATION";
const A_SECOND_NS: u64 = 1_000_000_000;

/// Changes options of a database.
///
/// # Errors
/// 5058 (a database that cannot be single-user), 5064, 5070, both followed by 5069; those of waiting and of the change itself.
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
    if let Some(option) = changes.iter().find_map(|change| fixed_option(number, change)) {
        return Err(SqlError::new(5058, &[&option, &name]));
    }
    let switch = |wanted: &str| {
        changes.iter().find_map(|change| match change {
            OptionChange::Switch(name, on) if name == wanted => Some(*on),
            _ => None,
        })
    };
    for option in [engine::COMMITTED_SNAPSHOT_SWITCH, engine::SNAPSHOT_SWITCH] {
        // The rows of a system database are the server's own and have no versions.
        if switch(option) == Some(true) && number < engine::FIRST_USER_DATABASE {
            return Err(SqlError::new(5058, &[&option, &name]));
        }
    }
    // A database that is not open reports that itself.
    let (current, reads_committed) = match session.instance.database(name) {
        Ok(database) => (database.options(), database.reads_committed_snapshot()),
        Err(_) => (DatabaseOptions::default(), false),
    };
    let is_single = current.user_access == SINGLE_USER;
    let alone = changes.iter().any(|change| empties(change, &current, reads_committed));
    if !alone && !is_single {
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

/// Does the change need exclusive access? The options that are documented so ("exclusive access", "no active connections"): who may
/// enter, whether it is writable, how readers read. An option that already has the value changes nothing.
fn empties(change: &OptionChange, current: &DatabaseOptions, reads_committed: bool) -> bool {
    match change {
        OptionChange::UserAccess(SINGLE_USER) => true,
        OptionChange::UserAccess(RESTRICTED_USER) => current.user_access == 0,
        OptionChange::ReadOnly(on) => *on != current.read_only,
        OptionChange::Switch(name, on) if name == engine::COMMITTED_SNAPSHOT_SWITCH => *on != reads_committed,
        OptionChange::Switch(name, on) if name == DATE_CORRELATION => {
            *on && !current.switches.get(name).copied().unwrap_or(false)
        }
        _ => false,
    }
}

/// May these options be combined in one statement with this clause? Errors 5082, 5083.
pub(crate) fn check_together(
    name: &str,
    changes: &[OptionChange],
    options: usize,
    termination: Option<Termination>,
) -> SqlResult<()> {
    let has = |wanted: &str| {
        changes.iter().any(|change| matches!(change, OptionChange::Switch(name, _) if name == wanted))
    };
    let has_snapshot = has(engine::SNAPSHOT_SWITCH);
    if options > 1 && (has_snapshot || has(engine::COMMITTED_SNAPSHOT_SWITCH)) {
        return Err(failed(SqlError::new(5082, &[&name])));
    }
    if has_snapshot && termination.is_some() {
        return Err(failed(SqlError::new(5083, &[])));
    }
    Ok(())
}

/// Makes other sessions leave, as the statement's clause asks for.
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
        session.state.registry.kill(other);
    });
    Ok(())
}

fn failed(reason: SqlError) -> SqlError {
    SqlError::new(5069, &[]).after(reason)
}

/// The option's name if it cannot be changed: master must stay writable, the server manages tempdb (learn.microsoft.com, tempdb database,
/// database options).
fn fixed_option(number: u16, change: &OptionChange) -> Option<&str> {
    const OF_TEMPDB: [&str; 5] =
        ["AUTO_CLOSE", "AUTO_SHRINK", "DB_CHAINING", "MIXED_PAGE_ALLOCATION", "TRUSTWORTHY"];
    match change {
        OptionChange::ReadOnly(true) if [MASTER, TEMPDB].contains(&number) => Some("READ_ONLY"),
        OptionChange::ReadOnly(false) if number == TEMPDB => Some("READ_WRITE"),
        OptionChange::Recovery(_) if number == TEMPDB => Some("RECOVERY"),
        OptionChange::Switch(name, _) if number == TEMPDB && OF_TEMPDB.contains(&name.as_str()) => Some(name),
        _ => None,
    }
}
