//! ALTER DATABASE: options, the database's name, the sizes, limits and growth of its files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use log::Growth;
use types::{Collation, SqlError};

use super::{FIRST_USER_DATABASE, Instance};
use crate::database::Database;
use crate::error::{SqlResult, StorageError};
use crate::options::{DatabaseOptions, OptionChange};
use crate::registry::Entry;

/// MODIFY FILE: what is to change of the file with this logical name.
#[derive(Clone, Debug, Default)]
pub struct FileChange {
    /// NAME.
    pub logical_name: String,
    /// NEWNAME.
    pub new_name: Option<String>,
    /// SIZE, bytes: files only grow this way.
    pub size_bytes: Option<u64>,
    /// MAXSIZE, bytes; 0 is UNLIMITED.
    pub max_bytes: Option<u64>,
    /// FILEGROWTH.
    pub growth: Option<Growth>,
}

impl Instance {
    /// ALTER DATABASE ... SET. The change is durable and in force when it returns.
    ///
    /// # Errors
    /// 5011 when there is none; those of storage.
    pub fn alter_database(self: &Arc<Self>, name: &str, changes: &[OptionChange]) -> SqlResult<()> {
        let database = self.database(name)?;
        let had_cache = database.caches_identities();
        self.change_options(&database, changes)?;
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

    /// Trace flag 272 for all databases, present and to come: identity values are noted one by one, so that a crash leaves no gap.
    ///
    /// # Errors
    /// Those of storage: what is noted ahead is taken back when it is turned on.
    pub fn set_identity_uncached(self: &Arc<Self>, is_on: bool) -> SqlResult<()> {
        let was_on = self.foundation.identity_uncached.swap(is_on, Ordering::AcqRel);
        if is_on && !was_on {
            self.databases().iter().try_for_each(|database| database.settle_identities())?;
        }
        Ok(())
    }

    fn entry_of(&self, database: &Database) -> SqlResult<Entry> {
        let entry = self.databases.lock().get(&database.number()).map(|slot| slot.entry.clone());
        entry.ok_or_else(|| SqlError::new(5011, &[&database.name()]))
    }

    /// The entry of a database is replaced, in memory and, unless it is made anew at each start, in master.
    fn replace_entry(&self, database: &Database, entry: Entry) -> SqlResult<()> {
        if !database.is_volatile() {
            self.save_entry(&entry)?;
        }
        if let Some(slot) = self.databases.lock().get_mut(&database.number()) {
            slot.entry = entry;
        }
        Ok(())
    }

    /// ALTER DATABASE ... MODIFY NAME; nobody else may be using it (the caller has seen to that). The files keep their names.
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
        // Plans that named it by the old name are bound again.
        database.catalog().touch();
        crate::counters::rename(self, &old, new_name);
        Ok(())
    }

    /// ALTER DATABASE ... MODIFY FILE.
    ///
    /// # Errors
    /// 5041 when no file has the name, 1828 when another has the new one, 5039 for a size that is not above the present one, 5040 for one
    /// above MAXSIZE; those of storage.
    pub fn modify_file(self: &Arc<Self>, name: &str, change: &FileChange) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        let entry = self.entry_of(&database)?;
        let files = database.space().files();
        let same = |a: &str, b: &str| Collation::DEFAULT.same_name(a, b);
        if let Some(new_name) = &change.new_name {
            let mut names =
                files.iter().map(|file| file.logical_name.as_str()).chain([entry.log_name.as_str()]);
            if names.any(|known| same(known, new_name) && !same(known, &change.logical_name)) {
                return Err(SqlError::new(1828, &[new_name]));
            }
        }
        if same(&entry.log_name, &change.logical_name) {
            return self.modify_log_file(&database, entry, change);
        }
        let file = files.into_iter().find(|file| same(&file.logical_name, &change.logical_name));
        let Some(file) = file else { return Err(SqlError::new(5041, &[&change.logical_name])) };
        let limit = change.max_bytes.map_or(file.max_pages, pages_of);
        check_size(change, u64::from(file.pages), u64::from(limit), |bytes| u64::from(pages_of(bytes)))?;
        let growth = change.growth.map_or(file.growth, data_growth);
        let logical_name = change.new_name.as_deref().unwrap_or(&file.logical_name);
        let space = database.space();
        let failed = |error: pages::PageError| storage_error(&database, error.into());
        space.set_file_options(file.file_id, logical_name, growth, limit).map_err(failed)?;
        match change.size_bytes {
            Some(bytes) => space.grow_file(file.file_id, pages_of(bytes)).map_err(failed),
            None => Ok(()),
        }
    }

    fn modify_log_file(&self, database: &Database, mut entry: Entry, change: &FileChange) -> SqlResult<()> {
        match change.max_bytes {
            Some(0) => entry.log_bytes_max = log::LogOptions::new("", "").bytes_max,
            Some(bytes) => entry.log_bytes_max = bytes,
            None => {}
        }
        entry.log_growth = change.growth.unwrap_or(entry.log_growth);
        if let Some(new_name) = &change.new_name {
            entry.log_name.clone_from(new_name);
        }
        let log = database.log();
        check_size(change, log.stats().size_bytes, entry.log_bytes_max, |bytes| bytes)?;
        let (growth, limit) = (entry.log_growth, entry.log_bytes_max);
        self.replace_entry(database, entry)?;
        log.set_growth(growth, limit);
        match change.size_bytes {
            Some(bytes) => log.grow_to(bytes).map_err(|error| storage_error(database, error.into())),
            None => Ok(()),
        }
    }
}

/// A size asked for must be above the present one and not above the limit (0: none); all in the file's unit.
fn check_size(change: &FileChange, present: u64, limit: u64, unit: impl Fn(u64) -> u64) -> SqlResult<()> {
    let wanted = change.size_bytes.map(unit);
    if wanted.is_some_and(|wanted| wanted <= present) {
        return Err(SqlError::new(5039, &[]));
    }
    if limit > 0 && wanted.unwrap_or(present) > limit {
        return Err(SqlError::new(5040, &[]));
    }
    Ok(())
}

fn storage_error(database: &Database, error: StorageError) -> SqlError {
    SqlError::new(5149, &[&error, &database.name()])
}

/// Bytes as pages of a data file.
pub(super) fn pages_of(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(pages::PAGE_BYTES as u64)).unwrap_or(u32::MAX)
}

/// FILEGROWTH as data files have it.
pub(super) fn data_growth(growth: Growth) -> pages::Growth {
    match growth {
        Growth::None => pages::Growth::Fixed,
        Growth::Bytes(bytes) => pages::Growth::Pages(pages_of(bytes)),
        Growth::Percent(percent) => pages::Growth::Percent(percent),
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
        OptionChange::Switch(name, on) => drop(options.switches.insert(name.to_uppercase(), *on)),
        OptionChange::DelayedFlush(policy) => options.delayed_flush = *policy,
        OptionChange::MaxDelay(ns) => options.loss_bounds.delay_ns_max = *ns,
        OptionChange::MaxLoss(bytes) => options.loss_bounds.bytes_max = *bytes,
    }
}
