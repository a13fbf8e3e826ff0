//! The configured values of the instance: those stored in master, and those in use.

use std::collections::BTreeMap;

use super::Instance;
use crate::catalog::{Entry, EntryKey};
use crate::configuration::{ConfigurationOption, MAX_SERVER_MEMORY, OPTIONS};

/// The least memory of all requests together, whatever is configured.
const REQUESTS_MB_MIN: u64 = 64;

impl Instance {
    /// The configured value of an option: `value`.
    pub fn configured(&self, option: &ConfigurationOption) -> i32 {
        match self.master().catalog().entry(&EntryKey::Configuration(option.id)).as_deref() {
            Some(Entry::Configuration(_, value)) => *value,
            _ => self.unconfigured(option),
        }
    }

    /// The value in use: `value_in_use`.
    pub fn configured_in_use(&self, option: &ConfigurationOption) -> i32 {
        self.configuration_in_use.lock().get(&option.id).copied().unwrap_or_else(|| self.unconfigured(option))
    }

    /// The value in use of an option of that number.
    pub fn configuration(&self, id: i32) -> i32 {
        let found = OPTIONS.iter().find(|option| option.id == id);
        self.configured_in_use(found.expect("the options that have an effect are in the list"))
    }

    /// RECONFIGURE, and the start: the configured values come into use.
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
        // An option that no user has configured keeps the value that the server was started with.
        let is_changed = before.map_or(now != Some(self.unconfigured(option)), |before| Some(before) != now);
        if is_changed {
            self.budget_requests();
        }
    }

    /// Sets the memory limit of all requests together from `max server memory (MB)`. A caller that sets limits after the start calls it again.
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
