//! ALTER DATABASE: options and the database's name.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::{Collation, SqlError};

use super::Instance;
use crate::database::Database;
use crate::error::SqlResult;
use crate::options::{DatabaseOptions, OptionChange};
use crate::registry::Entry;
use crate::snapshot_state::SNAPSHOT_SWITCH;
use crate::system_databases::FIRST_USER_DATABASE;

impl Instance {
    /// ALTER DATABASE ... SET. The change is durable and in force when it returns.
    ///
    /// # Errors
    /// 5011 when there is none; those of storage.
    pub fn alter_database(self: &Arc<Self>, name: &str, changes: &[OptionChange]) -> SqlResult<()> {
        let database = self.database(name)?;
        let had_cache = database.caches_identities();
        let snapshots = changes.iter().find_map(|change| match change {
            OptionChange::Switch(name, on) if name.eq_ignore_ascii_case(SNAPSHOT_SWITCH) => Some(*on),
            _ => None,
        });
        if let Some(on) = snapshots {
            database.begin_snapshot_change(on)?;
        }
        let changed = self.change_options(&database, changes);
        if let Some(on) = snapshots {
            database.end_snapshot_change(on, changed.is_ok());
        }
        changed?;
        if had_cache && !database.caches_identities() { database.settle_identities() } else { Ok(()) }
    }

    fn change_options(&self, database: &Arc<Database>, changes: &[OptionChange]) -> SqlResult<()> {
        let _changing = self.changing.lock();
        let mut options = database.options();
        for change in changes {
            apply(&mut options, change);
        }
        let entry = self.entry_of(database)?;
        self.replace_entry(database, Entry { options: options.clone(), ..entry })?;
        database.set_options(options);
        Ok(())
    }

    /// Trace flag 272 for all databases, present and future: identity values are reserved one by one, so that a crash leaves no gap.
    ///
    /// # Errors
    /// Those of storage: when it is turned on, reserved values are returned.
    pub fn set_identity_uncached(self: &Arc<Self>, is_on: bool) -> SqlResult<()> {
        let was_on = self.foundation.identity_uncached.swap(is_on, Ordering::AcqRel);
        if is_on && !was_on {
            self.databases().iter().try_for_each(|database| database.settle_identities())?;
        }
        Ok(())
    }

    pub(super) fn entry_of(&self, database: &Database) -> SqlResult<Entry> {
        let entry = self.databases.lock().get(&database.number()).map(|slot| slot.entry.clone());
        entry.ok_or_else(|| SqlError::new(5011, &[&database.name()]))
    }

    /// Replaces the description of a database's files, in memory and in master: that of tempdb, too, which each start creates from it.
    pub(super) fn note_files(&self, database: &Database, entry: Entry) -> SqlResult<()> {
        if database.is_volatile() {
            self.save_entry(&entry)?;
        }
        self.replace_entry(database, entry)
    }

    /// Replaces the entry of a database, in memory and, unless each start creates the database anew, in master.
    pub(super) fn replace_entry(&self, database: &Database, entry: Entry) -> SqlResult<()> {
        if !database.is_volatile() {
            self.save_entry(&entry)?;
        }
        if let Some(slot) = self.databases.lock().get_mut(&database.number()) {
            slot.entry = entry;
        }
        Ok(())
    }

    /// ALTER DATABASE ... MODIFY NAME; the caller has made sure that no other session uses the database. The files keep their names.
    ///
    /// # Errors
    /// 5011, 911, 1801 when the new name is taken, 3708 for a system database.
    pub fn rename_database(self: &Arc<Self>, name: &str, new_name: &str) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        if database.number() < FIRST_USER_DATABASE {
            return Err(SqlError::new(3708, &[&"rename", &"database", &name, &"database"]));
        }
        let is_taken = |entry: &Entry| {
            entry.number != database.number() && Collation::DEFAULT.same_name(&entry.name, new_name)
        };
        if self.databases.lock().values().any(|slot| is_taken(&slot.entry)) {
            return Err(SqlError::new(1801, &[&new_name]));
        }
        let entry = self.entry_of(&database)?;
        let old = entry.name.clone();
        self.replace_entry(&database, Entry { name: new_name.to_string(), ..entry })?;
        database.rename(new_name);
        // Plans that used the old name are bound again.
        database.catalog().touch();
        crate::database_counters::rename(self.os(), &old, new_name);
        Ok(())
    }
}

fn apply(options: &mut DatabaseOptions, change: &OptionChange) {
    match change {
        OptionChange::DelayedDurability(mode) => options.delayed_durability = *mode,
        OptionChange::LogLimits(profile) => options.log_limits = *profile,
        OptionChange::VlfRule(rule) => options.vlf_rule = *rule,
        OptionChange::Recovery(model) => options.recovery_model = *model,
        OptionChange::CompatibilityLevel(level) => options.compatibility_level = *level,
        OptionChange::ReadOnly(on) => options.read_only = *on,
        OptionChange::UserAccess(access) => options.user_access = *access,
        OptionChange::TargetRecovery(seconds) => options.target_recovery_seconds = *seconds,
        OptionChange::Switch(name, on) => drop(options.switches.insert(name.to_uppercase(), *on)),
        OptionChange::DelayedFlush(policy) => options.delayed_flush = *policy,
        OptionChange::MaxDelay(ns) => options.loss_bounds.delay_ns_max = *ns,
        OptionChange::MaxLoss(bytes) => options.loss_bounds.bytes_max = *bytes,
    }
}
