//! The WITH (...) settings of an index in the catalog: fill factor, allowed locks, handling of duplicates.

use access::BuildFill;

/// FILLFACTOR and the switches of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// FILLFACTOR: how many percent of a leaf page are filled when the index is built; 0: not specified, full pages.
    pub fill_factor: u8,
    /// PAD_INDEX: the fill factor applies also to the pages above the leaves.
    pub is_padded: bool,
    /// ALLOW_ROW_LOCKS.
    pub allow_row_locks: bool,
    /// ALLOW_PAGE_LOCKS.
    pub allow_page_locks: bool,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY.
    pub optimize_for_sequential_key: bool,
    /// IGNORE_DUP_KEY: an INSERT skips rows with existing keys. Only for unique indexes without a filter.
    pub ignore_dup_key: bool,
    /// SUPPRESS_MESSAGES of IGNORE_DUP_KEY: without a message.
    pub suppress_dup_key_messages: bool,
}

impl Default for IndexSettings {
    fn default() -> IndexSettings {
        IndexSettings {
            fill_factor: 0,
            is_padded: false,
            allow_row_locks: true,
            allow_page_locks: true,
            optimize_for_sequential_key: false,
            ignore_dup_key: false,
            suppress_dup_key_messages: false,
        }
    }
}

/// The settings that one statement changes; the others stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSettingsChange {
    /// FILLFACTOR, 1 to 100.
    pub fill_factor: Option<u8>,
    /// PAD_INDEX.
    pub is_padded: Option<bool>,
    /// ALLOW_ROW_LOCKS.
    pub allow_row_locks: Option<bool>,
    /// ALLOW_PAGE_LOCKS.
    pub allow_page_locks: Option<bool>,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY.
    pub optimize_for_sequential_key: Option<bool>,
    /// IGNORE_DUP_KEY.
    pub ignore_dup_key: Option<bool>,
    /// SUPPRESS_MESSAGES of IGNORE_DUP_KEY; set together with it.
    pub suppress_dup_key_messages: Option<bool>,
}

impl IndexSettings {
    /// With the changes of a statement.
    pub fn taken(self, change: IndexSettingsChange) -> IndexSettings {
        let fill_factor = change.fill_factor.unwrap_or(self.fill_factor);
        assert!(fill_factor <= FILL_FACTOR_MAX, "a fill factor is a percentage");
        IndexSettings {
            fill_factor,
            is_padded: change.is_padded.unwrap_or(self.is_padded),
            allow_row_locks: change.allow_row_locks.unwrap_or(self.allow_row_locks),
            allow_page_locks: change.allow_page_locks.unwrap_or(self.allow_page_locks),
            optimize_for_sequential_key: change
                .optimize_for_sequential_key
                .unwrap_or(self.optimize_for_sequential_key),
            ignore_dup_key: change.ignore_dup_key.unwrap_or(self.ignore_dup_key),
            suppress_dup_key_messages: change
                .suppress_dup_key_messages
                .unwrap_or(self.suppress_dup_key_messages),
        }
    }

    /// The fill factors of its build.
    pub(crate) fn build_fill(self) -> BuildFill {
        let percent = if self.fill_factor == 0 { FILL_FACTOR_MAX } else { self.fill_factor };
        BuildFill { leaf: percent, above: if self.is_padded { percent } else { FILL_FACTOR_MAX } }
    }

    /// Its bits of sysidxstats.status.
    pub(crate) fn status(self) -> i32 {
        let flag = |on: bool, bit: i32| if on { bit } else { 0 };
        i32::from(self.fill_factor) << FILL_FACTOR_SHIFT
            | flag(self.is_padded, PADDED)
            | flag(!self.allow_row_locks, NO_ROW_LOCKS)
            | flag(!self.allow_page_locks, NO_PAGE_LOCKS)
            | flag(self.optimize_for_sequential_key, SEQUENTIAL_KEY)
            | flag(self.ignore_dup_key, IGNORE_DUPLICATES)
            | flag(self.suppress_dup_key_messages, NO_MESSAGES)
    }

    /// From the status of a row of sysidxstats; an invalid percentage counts as not specified.
    pub(crate) fn of_status(status: i32) -> IndexSettings {
        let percent = (status >> FILL_FACTOR_SHIFT & FILL_FACTOR_BITS) as u8;
        IndexSettings {
            fill_factor: if percent <= FILL_FACTOR_MAX { percent } else { 0 },
            is_padded: status & PADDED != 0,
            allow_row_locks: status & NO_ROW_LOCKS == 0,
            allow_page_locks: status & NO_PAGE_LOCKS == 0,
            optimize_for_sequential_key: status & SEQUENTIAL_KEY != 0,
            ignore_dup_key: status & IGNORE_DUPLICATES != 0,
            suppress_dup_key_messages: status & NO_MESSAGES != 0,
        }
    }
}

const FILL_FACTOR_MAX: u8 = 100;
const PADDED: i32 = 32;
const NO_ROW_LOCKS: i32 = 64;
const NO_PAGE_LOCKS: i32 = 128;
const SEQUENTIAL_KEY: i32 = 256;
const FILL_FACTOR_SHIFT: u32 = 9;
const FILL_FACTOR_BITS: i32 = 0x7f;
const IGNORE_DUPLICATES: i32 = 1 << 16;
const NO_MESSAGES: i32 = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_was_said_of_an_index() {
        for fill_factor in 0..=FILL_FACTOR_MAX {
            for bits in 0..64u8 {
                let on = |bit: u8| bits & bit != 0;
                let settings = IndexSettings {
                    fill_factor,
                    is_padded: on(1),
                    allow_row_locks: on(2),
                    allow_page_locks: on(4),
                    optimize_for_sequential_key: on(8),
                    ignore_dup_key: on(16),
                    suppress_dup_key_messages: on(32),
                };
                assert_eq!(IndexSettings::of_status(settings.status() | 31), settings);
                assert_eq!(settings.status() & 31, 0, "those bits are the index's own");
            }
        }
        assert_eq!(IndexSettings::of_status(0), IndexSettings::default());
        assert_eq!(IndexSettings::of_status(101 << FILL_FACTOR_SHIFT).fill_factor, 0);
        assert_eq!(IndexSettings::of_status(-1).fill_factor, 0);
    }
}
