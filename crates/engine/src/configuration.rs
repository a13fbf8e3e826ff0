//! The server's configuration options: which there are, what is configured (a row of master's sysconfigvalues, by sp_configure) and what is
//! in use (since the start, or since RECONFIGURE).
//!
//! An option has an effect here or it cannot be changed: its value is then a fact, and sp_configure takes that value only. Names, ranges
//! and descriptions: "Server configuration options" and `sys.configurations` of the documentation.

use std::collections::BTreeMap;

use os::Latch;

mod options;

use crate::catalog::{Entry, EntryKey};
use crate::instance::Instance;

pub use options::OPTIONS;

/// One option.
#[derive(Debug)]
pub struct ConfigurationOption {
    /// `configuration_id`.
    pub id: i32,
    /// Name.
    pub name: &'static str,
    /// Least value.
    pub minimum: i32,
    /// Greatest value.
    pub maximum: i32,
    /// The value as long as nobody has configured another.
    pub default: i32,
    /// RECONFIGURE installs it; else the next start does.
    pub is_dynamic: bool,
    /// Shown and set while `show advanced options` is 1.
    pub is_advanced: bool,
    /// What it is about.
    pub description: &'static str,
}

/// `allow updates`: nothing may be changed by hand any more; RECONFIGURE says so (5808) while it is 1.
pub const ALLOW_UPDATES: i32 = 102;
/// `show advanced options`.
pub const SHOW_ADVANCED_OPTIONS: i32 = 518;
/// `min memory per query (KB)`: what a query waits for that needs a grant.
pub const MIN_QUERY_MEMORY: i32 = 1540;
/// `query wait (s)`: how long it does.
pub const QUERY_WAIT: i32 = 1541;
/// `user options`: SET options with which sessions begin.
pub const USER_OPTIONS: i32 = 1534;
/// `max server memory (MB)`: what requests may use together; as much as --memory gives to pages where nobody has configured it.
const MAX_SERVER_MEMORY: i32 = 1544;

/// Requests have so much together, however little is configured.
const REQUESTS_MB_MIN: u64 = 64;

/// Values in use that differ from the defaults.
pub(crate) type InUse = Latch<BTreeMap<i32, i32>>;

impl ConfigurationOption {
    /// Has another value than the default an effect?
    pub fn may_be_set(&self) -> bool {
        matches!(
            self.id,
            ALLOW_UPDATES
                | SHOW_ADVANCED_OPTIONS
                | USER_OPTIONS
                | MIN_QUERY_MEMORY
                | QUERY_WAIT
                | MAX_SERVER_MEMORY
        )
    }
}

impl Instance {
    /// What an option has been configured to: `value`.
    pub fn configured(&self, option: &ConfigurationOption) -> i32 {
        match self.master().catalog().entry(&EntryKey::Configuration(option.id)).as_deref() {
            Some(Entry::Configuration(_, value)) => *value,
            _ => self.unconfigured(option),
        }
    }

    /// What holds: `value_in_use`.
    pub fn configured_in_use(&self, option: &ConfigurationOption) -> i32 {
        self.configuration_in_use.lock().get(&option.id).copied().unwrap_or_else(|| self.unconfigured(option))
    }

    /// The value in use of an option of that number.
    pub fn configuration(&self, id: i32) -> i32 {
        let found = OPTIONS.iter().find(|option| option.id == id);
        self.configured_in_use(found.expect("the options that have an effect are in the list"))
    }

    /// RECONFIGURE, and the start: what is configured holds.
    pub fn reconfigure(&self) {
        let configured: BTreeMap<i32, i32> =
            OPTIONS.iter().map(|one| (one.id, self.configured(one))).collect();
        let memory = |values: &BTreeMap<i32, i32>| values.get(&MAX_SERVER_MEMORY).copied();
        let (before, now) = {
            let mut in_use = self.configuration_in_use.lock();
            let before = memory(&in_use);
            let now = memory(&configured);
            *in_use = configured;
            (before, now)
        };
        let option = OPTIONS.iter().find(|one| one.id == MAX_SERVER_MEMORY).expect("it is in the list");
        // What nobody has configured is the business of whoever has started the server.
        let is_changed = before.map_or(now != Some(self.unconfigured(option)), |before| Some(before) != now);
        if is_changed {
            self.budget_requests();
        }
    }

    /// What requests may use together follows `max server memory (MB)`. To be asked once more by whoever sets limits after the start.
    pub fn budget_requests(&self) {
        let megabytes = u64::try_from(self.configuration(MAX_SERVER_MEMORY)).unwrap_or(0);
        os::memory::set_requests(megabytes.max(REQUESTS_MB_MIN) << 20);
    }

    fn unconfigured(&self, option: &ConfigurationOption) -> i32 {
        if option.id == MAX_SERVER_MEMORY {
            let megabytes = self.memory_bytes() >> 20;
            return i32::try_from(megabytes).unwrap_or(i32::MAX);
        }
        option.default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_in_order_and_their_defaults_in_range() {
        assert!(OPTIONS.windows(2).all(|pair| pair[0].id < pair[1].id));
        for option in OPTIONS {
            // 0 is "as many as needed" where it is below the least number.
            let in_range = (option.minimum..=option.maximum).contains(&option.default);
            assert!(in_range || option.default == 0, "{}", option.name);
            assert!(!option.description.is_empty(), "{}", option.name);
            assert!(option.name.len() <= 35, "the column is nvarchar(35): {}", option.name);
        }
        let names: std::collections::BTreeSet<_> = OPTIONS.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), OPTIONS.len());
    }
}
