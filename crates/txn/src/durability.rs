//! Must this commit wait for its log? The whole decision, as one pure function of the database's option, what COMMIT asked for and a few
//! facts of the transaction (claims 56-62 and 80; "Control Transaction Durability", table of the two options).

/// `ALTER DATABASE ... SET DELAYED_DURABILITY`, as `sys.databases.delayed_durability` numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DelayedDurability {
    /// Every commit is fully durable, whatever it asks for. The default (claim 41).
    #[default]
    Disabled = 0,
    /// A commit is delayed when it asks for it.
    Allowed = 1,
    /// Every commit is delayed, whatever it asks for.
    Forced = 2,
}

impl DelayedDurability {
    /// `sys.databases.delayed_durability_desc`.
    pub fn name(self) -> &'static str {
        match self {
            DelayedDurability::Disabled => "DISABLED",
            DelayedDurability::Allowed => "ALLOWED",
            DelayedDurability::Forced => "FORCED",
        }
    }

    /// The option of a stored number.
    pub fn from_number(number: u8) -> Option<DelayedDurability> {
        match number {
            0 => Some(DelayedDurability::Disabled),
            1 => Some(DelayedDurability::Allowed),
            2 => Some(DelayedDurability::Forced),
            _ => None,
        }
    }
}

/// What the decision needs to know of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XactFacts {
    /// It changes a database that is made anew at each start (tempdb): nothing of it needs to survive.
    pub is_volatile: bool,
    /// It changes more than one lasting database, or a distributed transaction coordinator runs it.
    pub is_cross_database: bool,
    /// It writes what other features rely on at once: change tracking, change data capture, replication, FileTables.
    pub is_always_durable: bool,
}

/// How a commit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// Wait until the commit record is hard; locks are held meanwhile.
    Full,
    /// Want the commit record hardened soon, do not wait.
    Delayed,
    /// Nothing needs to be hardened: tempdb, and system transactions, whose records the next hardening takes along.
    Volatile,
}

/// The commit mode for a database option, the request of the (outermost) COMMIT and the facts. `asked` is `None` when COMMIT said nothing.
pub fn resolve(database: DelayedDurability, asked: Option<bool>, facts: &XactFacts) -> CommitMode {
    if facts.is_volatile {
        return CommitMode::Volatile;
    }
    if facts.is_cross_database || facts.is_always_durable {
        return CommitMode::Full;
    }
    match (database, asked) {
        (DelayedDurability::Disabled, _) => CommitMode::Full,
        (DelayedDurability::Allowed, Some(true)) => CommitMode::Delayed,
        (DelayedDurability::Allowed, Some(false) | None) => CommitMode::Full,
        (DelayedDurability::Forced, _) => CommitMode::Delayed,
    }
}

#[cfg(test)]
mod tests {
    use super::CommitMode::{Delayed, Full, Volatile};
    use super::DelayedDurability::{Allowed, Disabled, Forced};
    use super::*;

    /// Claims 57 to 62: the published table, cell by cell.
    #[test]
    fn the_published_table() {
        let facts = XactFacts::default();
        let table = [
            (Disabled, None, Full),
            (Disabled, Some(false), Full),
            (Disabled, Some(true), Full),
            (Allowed, None, Full),
            (Allowed, Some(false), Full),
            (Allowed, Some(true), Delayed),
            (Forced, None, Delayed),
            (Forced, Some(false), Delayed),
            (Forced, Some(true), Delayed),
        ];
        for (database, asked, expected) in table {
            assert_eq!(resolve(database, asked, &facts), expected, "{database:?} {asked:?}");
        }
    }

    #[test]
    fn cross_database_and_tracked_changes_are_always_fully_durable() {
        for database in [Disabled, Allowed, Forced] {
            for asked in [None, Some(false), Some(true)] {
                let cross = XactFacts { is_cross_database: true, ..XactFacts::default() };
                let tracked = XactFacts { is_always_durable: true, ..XactFacts::default() };
                assert_eq!(resolve(database, asked, &cross), Full);
                assert_eq!(resolve(database, asked, &tracked), Full);
            }
        }
    }

    /// Claim 80: in tempdb no option makes a commit flush.
    #[test]
    fn tempdb_is_volatile_whatever_is_asked() {
        for database in [Disabled, Allowed, Forced] {
            for asked in [None, Some(false), Some(true)] {
                let facts = XactFacts { is_volatile: true, ..XactFacts::default() };
                assert_eq!(resolve(database, asked, &facts), Volatile);
            }
        }
    }

    /// Claim 56: exactly three values, with the numbers of sys.databases.
    #[test]
    fn the_option_has_three_values() {
        let names: Vec<_> =
            (0..=255).filter_map(DelayedDurability::from_number).map(DelayedDurability::name).collect();
        assert_eq!(names, ["DISABLED", "ALLOWED", "FORCED"]);
    }
}
