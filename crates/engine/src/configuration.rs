//! The server's configuration options: their definitions, the configured values (rows of master's sysconfigvalues, set by sp_configure) and the
//! values in use (since the start, or since RECONFIGURE).
//!
//! An option has an effect here or it cannot be changed: its value is then fixed, and sp_configure takes that value only. Names, ranges
//! and descriptions: "Server configuration options" and `sys.configurations` of the documentation.

use std::collections::BTreeMap;

use os::Latch;

mod options;

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
    /// The value until a user configures another.
    pub default: i32,
    /// RECONFIGURE makes it effective; otherwise the next start does.
    pub is_dynamic: bool,
    /// Shown and set while `show advanced options` is 1.
    pub is_advanced: bool,
    /// Its description.
    pub description: &'static str,
}

/// `allow updates`: has no effect any more; RECONFIGURE reports that (5808) while it is 1.
pub const ALLOW_UPDATES: i32 = 102;
/// `show advanced options`.
pub const SHOW_ADVANCED_OPTIONS: i32 = 518;
/// `min memory per query (KB)`: the least memory grant of a query, for which it waits.
pub const MIN_QUERY_MEMORY: i32 = 1540;
/// `query wait (s)`: how long it waits.
pub const QUERY_WAIT: i32 = 1541;
/// `user options`: the initial SET options of sessions.
pub const USER_OPTIONS: i32 = 1534;
/// `nested triggers`: the statements of triggers fire AFTER triggers.
pub const NESTED_TRIGGERS: i32 = 115;
/// `max server memory (MB)`: the memory of all requests together; without a configured value, the page memory of --memory.
pub(crate) const MAX_SERVER_MEMORY: i32 = 1544;

/// Values in use that differ from the defaults.
pub(crate) type InUse = Latch<BTreeMap<i32, i32>>;

/// Options that only permit a feature which does not exist, or ask for another plan: they are stored and shown. The feature that they would permit is
/// refused by name where it is used.
const PERMITTING: [i32; 20] = [
    400,   // cross db ownership chaining
    542,   // remote proc trans
    1562,  // clr enabled
    1579,  // backup compression default
    1581,  // optimize for ad hoc workloads
    1584,  // backup checksum default
    1586,  // external scripts enabled
    1587,  // clr strict security
    16384, // Agent XPs
    16386, // Database Mail XPs
    16387, // SMO and DMO XPs
    16388, // Ole Automation Procedures
    16390, // xp_cmdshell
    16391, // Ad Hoc Distributed Queries
    16392, // Replication XPs
    16393, // contained database authentication
    16396, // remote data archive
    16397, // allow polybase export
    16398, // allow filesystem enumeration
    16399, // polybase enabled
];

impl ConfigurationOption {
    /// May another value than the default be set: has it an effect, or does it only permit a feature that is refused by name?
    pub fn may_be_set(&self) -> bool {
        PERMITTING.contains(&self.id) || self.has_effect()
    }

    fn has_effect(&self) -> bool {
        matches!(
            self.id,
            ALLOW_UPDATES
                | SHOW_ADVANCED_OPTIONS
                | USER_OPTIONS
                | MIN_QUERY_MEMORY
                | QUERY_WAIT
                | MAX_SERVER_MEMORY
                | NESTED_TRIGGERS
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_in_order_and_their_defaults_in_range() {
        assert!(OPTIONS.windows(2).all(|pair| pair[0].id < pair[1].id));
        for option in OPTIONS {
            // 0 means "as many as needed" where it is below the least number.
            let in_range = (option.minimum..=option.maximum).contains(&option.default);
            assert!(in_range || option.default == 0, "{}", option.name);
            assert!(!option.description.is_empty(), "{}", option.name);
            assert!(option.name.len() <= 35, "the column is nvarchar(35): {}", option.name);
        }
        let names: std::collections::BTreeSet<_> = OPTIONS.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), OPTIONS.len());
    }
}
