//! Usage counts of a heap or index and the time of its last use, for `sys.dm_db_index_usage_stats`.
//!
//! The counts belong to the index's definition and survive its changes: they begin when the database is opened or the index is created, and
//! end with either. The code that runs a plan counts each use of an index once per statement, whatever the number of rows.

use std::fmt;
use std::sync::Arc;

use os::CounterSet;

/// The kind of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum IndexUse {
    /// Searches for a range or a key.
    Seek,
    /// Reads all of it.
    Scan,
    /// Looks up rows that entries of another index name.
    Lookup,
    /// Inserts, updates or deletes.
    Update,
}

/// Each of them, in the order of the view's columns.
pub const INDEX_USES: [IndexUse; 4] = [IndexUse::Seek, IndexUse::Scan, IndexUse::Lookup, IndexUse::Update];
const KINDS: usize = INDEX_USES.len();

/// Counts and times of users' statements, then those of the server's own.
type Cells = CounterSet<{ 4 * KINDS }>;

/// See the heading. Clones share the counts.
#[derive(Clone, Default)]
pub struct IndexUses(Arc<Cells>);

/// The number of uses, and the time of the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsesTold {
    /// The number.
    pub count: i64,
    /// UTC in ticks of 100 ns since 0001-01-01; none for never.
    pub last: Option<i64>,
}

impl IndexUses {
    /// Counts a use by a user's statement at this time (UTC in ticks of 100 ns since 0001-01-01).
    #[inline]
    pub fn note(&self, what: IndexUse, now: i64) {
        self.0.count_at(what as usize, (KINDS + what as usize, now));
    }

    /// Counts a use by the server itself.
    pub fn note_own(&self, what: IndexUse, now: i64) {
        self.0.count_at(2 * KINDS + what as usize, (3 * KINDS + what as usize, now));
    }

    /// Has any statement used it?
    pub fn is_used(&self) -> bool {
        self.0.is_used()
    }

    /// The counts of users' statements, or of the server's own.
    pub fn told(&self, what: IndexUse, of_users: bool) -> UsesTold {
        let first = if of_users { 0 } else { 2 * KINDS };
        let last = self.0.latest(first + KINDS + what as usize);
        UsesTold { count: self.0.sum(first + what as usize), last: (last != 0).then_some(last) }
    }
}

/// The counts are not part of an index's identity.
impl PartialEq for IndexUses {
    fn eq(&self, _: &IndexUses) -> bool {
        true
    }
}

impl fmt::Debug for IndexUses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("IndexUses")
    }
}
