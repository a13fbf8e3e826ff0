//! The server's configuration options: which there are, what is configured (a row of master's sysconfigvalues, by sp_configure) and what is
//! in use (since the start, or since RECONFIGURE).
//!
//! An option has an effect here or it cannot be changed: its value is then a fact, and sp_configure takes that value only. Names, ranges
//! and descriptions: "Server configuration options" and `sys.configurations` of the documentation.

use std::collections::BTreeMap;

use os::Latch;

use crate::catalog::{Entry, EntryKey};
use crate::instance::Instance;

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

/// `show advanced options`.
pub const SHOW_ADVANCED_OPTIONS: i32 = 518;
/// `user options`: SET options with which sessions begin.
pub const USER_OPTIONS: i32 = 1534;
/// `max server memory (MB)`: what --memory says.
const MAX_SERVER_MEMORY: i32 = 1544;

/// Values in use that differ from the defaults.
pub(crate) type InUse = Latch<BTreeMap<i32, i32>>;

const fn option(
    id: i32,
    name: &'static str,
    range: (i32, i32, i32),
    (is_dynamic, is_advanced): (bool, bool),
    description: &'static str,
) -> ConfigurationOption {
    let (minimum, maximum, default) = range;
    ConfigurationOption { id, name, minimum, maximum, default, is_dynamic, is_advanced, description }
}

const PLAIN: (bool, bool) = (true, false);
const ADVANCED: (bool, bool) = (true, true);
const STATIC: (bool, bool) = (false, true);
const SWITCH: (i32, i32, i32) = (0, 1, 0);

/// All options, by number.
pub static OPTIONS: &[ConfigurationOption] = &[
    option(101, "recovery interval (min)", (0, 32767, 0), ADVANCED, "Maximum recovery interval in minutes"),
    option(102, "allow updates", SWITCH, PLAIN, "Allow updates to system tables"),
    option(103, "user connections", (0, 32767, 0), STATIC, "Number of user connections allowed"),
    option(109, "fill factor (%)", (0, 100, 0), STATIC, "Default fill factor percentage"),
    option(
        114,
        "disallow results from triggers",
        SWITCH,
        ADVANCED,
        "Disallow returning results from triggers",
    ),
    option(115, "nested triggers", (0, 1, 1), PLAIN, "Allow triggers to be invoked within triggers"),
    option(116, "server trigger recursion", (0, 1, 1), PLAIN, "Allow recursion for server level triggers"),
    option(117, "remote access", SWITCH, (false, false), "Allow remote access"),
    option(124, "default language", (0, 9999, 0), PLAIN, "default language"),
    option(400, "cross db ownership chaining", SWITCH, PLAIN, "Allow cross db ownership chaining"),
    option(503, "max worker threads", (128, 65535, 0), ADVANCED, "Maximum worker threads"),
    option(505, "network packet size (B)", (512, 32767, 4096), ADVANCED, "Network packet size"),
    option(SHOW_ADVANCED_OPTIONS, "show advanced options", SWITCH, PLAIN, "show advanced options"),
    option(542, "remote proc trans", SWITCH, PLAIN, "Create DTC transaction for remote procedures"),
    option(544, "c2 audit mode", SWITCH, STATIC, "c2 audit mode"),
    option(1127, "two digit year cutoff", (1753, 9999, 2049), ADVANCED, "two digit year cutoff"),
    option(1519, "remote login timeout (s)", (0, i32::MAX, 10), PLAIN, "remote login timeout"),
    option(1520, "remote query timeout (s)", (0, i32::MAX, 600), PLAIN, "remote query timeout"),
    option(USER_OPTIONS, "user options", (0, 32767, 0), PLAIN, "user options"),
    option(
        1536,
        "max text repl size (B)",
        (-1, i32::MAX, 65536),
        PLAIN,
        "Maximum size of a text field in replication.",
    ),
    option(1538, "cost threshold for parallelism", (0, 32767, 5), ADVANCED, "cost threshold for parallelism"),
    option(1539, "max degree of parallelism", (0, 32767, 1), ADVANCED, "maximum degree of parallelism"),
    option(1541, "query wait (s)", (-1, i32::MAX, -1), ADVANCED, "maximum time to wait for query memory (s)"),
    option(1543, "min server memory (MB)", (0, i32::MAX, 0), ADVANCED, "Minimum size of server memory (MB)"),
    option(
        MAX_SERVER_MEMORY,
        "max server memory (MB)",
        (128, i32::MAX, i32::MAX),
        ADVANCED,
        "Maximum size of server memory (MB)",
    ),
    option(
        1545,
        "query governor cost limit",
        (0, i32::MAX, 0),
        ADVANCED,
        "Maximum estimated cost allowed by query governor",
    ),
    option(1547, "scan for startup procs", SWITCH, STATIC, "scan for startup stored procedures"),
    option(1562, "clr enabled", SWITCH, PLAIN, "CLR user code execution enabled in the server"),
    option(1568, "default trace enabled", SWITCH, ADVANCED, "Enable or disable the default trace"),
    option(
        1569,
        "blocked process threshold (s)",
        (0, 86400, 0),
        ADVANCED,
        "Blocked process reporting threshold",
    ),
    option(
        1576,
        "remote admin connections",
        SWITCH,
        PLAIN,
        "Dedicated Admin Connections are allowed from remote clients",
    ),
    option(1579, "backup compression default", SWITCH, PLAIN, "Enable compression of backups by default"),
    option(1580, "filestream access level", (0, 2, 0), PLAIN, "Sets the FILESTREAM access level"),
    option(
        1581,
        "optimize for ad hoc workloads",
        SWITCH,
        ADVANCED,
        "When this option is set, plan cache size is further reduced for single-use adhoc OLTP workload.",
    ),
    option(1584, "backup checksum default", SWITCH, PLAIN, "Enable checksum of backups by default"),
    option(1587, "clr strict security", (0, 1, 1), ADVANCED, "CLR strict security enabled in the server"),
    option(16384, "Agent XPs", SWITCH, ADVANCED, "Enable or disable Agent XPs"),
    option(16386, "Database Mail XPs", SWITCH, ADVANCED, "Enable or disable Database Mail XPs"),
    option(
        16388,
        "Ole Automation Procedures",
        SWITCH,
        ADVANCED,
        "Enable or disable Ole Automation Procedures",
    ),
    option(16390, "xp_cmdshell", SWITCH, ADVANCED, "Enable or disable command shell"),
    option(
        16391,
        "Ad Hoc Distributed Queries",
        SWITCH,
        ADVANCED,
        "Enable or disable Ad Hoc Distributed Queries",
    ),
    option(
        16393,
        "contained database authentication",
        SWITCH,
        PLAIN,
        "Enables contained databases and contained authentication",
    ),
];

impl ConfigurationOption {
    /// Has another value than the default an effect?
    pub fn may_be_set(&self) -> bool {
        matches!(self.id, SHOW_ADVANCED_OPTIONS | USER_OPTIONS)
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
        *self.configuration_in_use.lock() = configured;
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
            assert!(option.name.len() <= 35, "the column is nvarchar(35): {}", option.name);
        }
        let names: std::collections::BTreeSet<_> = OPTIONS.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), OPTIONS.len());
    }
}
