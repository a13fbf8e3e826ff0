//! Must this commit wait for its log? The decision is one pure function of the database's option, the options of COMMIT and a few
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

/// The facts of a transaction that the decision depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XactFacts {
    /// It changes a database that is created again at each start (tempdb): its changes need not survive.
    pub is_volatile: bool,
}

/// How a commit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// Wait until the commit record is durable; locks are held meanwhile.
    Full,
    /// Request hardening of the commit record, do not wait.
    Delayed,
    /// Fully durable, but the acknowledgement to the client waits, not the commit (COMMIT_ACK = BATCH). Which other sessions must wait, too:
    /// see [`crate::TxnManager::last_early_release`].
    EarlyRelease,
    /// Wait until the commit record is durable, but only so many nanoseconds; then the commit is delayed (MAX_WAIT).
    Within(u64),
    /// Nothing needs to be hardened: tempdb, whose records are written with the next block.
    Volatile,
}

/// The options of the (outermost) COMMIT, and its session's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitRequest {
    /// DELAYED_DURABILITY; `None`: COMMIT says nothing.
    pub delayed: Option<bool>,
    /// MAX_WAIT, ms: then the commit is to be delayed.
    pub max_wait_ms: Option<u32>,
    /// COMMIT_ACK = BATCH: the client gets the acknowledgement only at the end of its request.
    pub is_acknowledged_later: bool,
}

impl From<Option<bool>> for CommitRequest {
    fn from(delayed: Option<bool>) -> CommitRequest {
        CommitRequest { delayed, ..CommitRequest::default() }
    }
}

/// The commit mode for a database option, the request and the facts.
///
/// Where every commit is fully durable (DISABLED), MAX_WAIT is without effect: other sessions would see changes that are not durable.
/// Where a commit may be delayed and is not asked to be, MAX_WAIT bounds the wait. COMMIT_ACK changes only when the wait for a fully durable
/// commit takes place; a commit with MAX_WAIT waits at once.
pub fn resolve_request(
    database: DelayedDurability,
    request: &CommitRequest,
    facts: &XactFacts,
) -> CommitMode {
    let mode = match resolve(database, request.delayed, facts) {
        CommitMode::Full => match request.max_wait_ms {
            Some(wait_ms) if database == DelayedDurability::Allowed => {
                CommitMode::Within(u64::from(wait_ms) * 1_000_000)
            }
            _ if request.is_acknowledged_later => CommitMode::EarlyRelease,
            _ => CommitMode::Full,
        },
        mode => mode,
    };
    let may_be_lost = matches!(mode, CommitMode::Delayed | CommitMode::Within(_));
    assert!(!may_be_lost || database != DelayedDurability::Disabled, "DISABLED acknowledges no commit early");
    assert_eq!(mode == CommitMode::Volatile, facts.is_volatile, "only what is lost anyway is never hardened");
    mode
}

/// The published half of the decision: `asked` is DELAYED_DURABILITY of COMMIT, `None` when it says nothing.
pub fn resolve(database: DelayedDurability, asked: Option<bool>, facts: &XactFacts) -> CommitMode {
    if facts.is_volatile {
        return CommitMode::Volatile;
    }
    let mode = match (database, asked) {
        (DelayedDurability::Disabled, _) => CommitMode::Full,
        (DelayedDurability::Allowed, Some(true)) => CommitMode::Delayed,
        (DelayedDurability::Allowed, Some(false) | None) => CommitMode::Full,
        (DelayedDurability::Forced, _) => CommitMode::Delayed,
    };
    assert!(
        mode == CommitMode::Full || database != DelayedDurability::Disabled,
        "nothing is delayed unasked"
    );
    mode
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
    fn max_wait_bounds_the_wait_where_a_commit_may_be_delayed() {
        let facts = XactFacts::default();
        let request = |delayed| CommitRequest { delayed, max_wait_ms: Some(3), is_acknowledged_later: false };
        let within = CommitMode::Within(3_000_000);
        let table = [
            (Disabled, None, Full),
            (Disabled, Some(false), Full),
            (Allowed, None, within),
            (Allowed, Some(false), within),
            (Forced, None, Delayed),
            (Forced, Some(false), Delayed),
        ];
        for (database, asked, expected) in table {
            assert_eq!(
                resolve_request(database, &request(asked), &facts),
                expected,
                "{database:?} {asked:?}"
            );
        }
        let volatile = XactFacts { is_volatile: true };
        assert_eq!(resolve_request(Allowed, &request(None), &volatile), Volatile);
    }

    #[test]
    fn a_later_acknowledgement_releases_early_what_is_fully_durable_and_nothing_else() {
        let facts = XactFacts::default();
        for database in [Disabled, Allowed, Forced] {
            for delayed in [None, Some(false), Some(true)] {
                let request = CommitRequest { delayed, max_wait_ms: None, is_acknowledged_later: true };
                let published = resolve(database, delayed, &facts);
                let expected = if published == Full { CommitMode::EarlyRelease } else { published };
                assert_eq!(resolve_request(database, &request, &facts), expected, "{database:?} {delayed:?}");
            }
        }
        let both = CommitRequest { delayed: None, max_wait_ms: Some(1), is_acknowledged_later: true };
        assert_eq!(resolve_request(Allowed, &both, &facts), CommitMode::Within(1_000_000));
        assert_eq!(resolve_request(Disabled, &both, &facts), CommitMode::EarlyRelease);
    }

    /// Claim 80: in tempdb no option makes a commit flush.
    #[test]
    fn tempdb_is_volatile_whatever_is_asked() {
        for database in [Disabled, Allowed, Forced] {
            for asked in [None, Some(false), Some(true)] {
                let facts = XactFacts { is_volatile: true };
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
