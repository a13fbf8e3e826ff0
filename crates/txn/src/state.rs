//! `XactState`: the state of a transaction.

/// The state of a transaction; transitions in the heading of transaction.rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum XactState {
    /// May read and change.
    Active = 0,
    /// The commit record is being written or hardened.
    Committing = 1,
    /// The commit record is as durable as the commit mode asks.
    Hardened = 2,
    /// Undoing.
    RollingBack = 3,
    /// Ended; its locks are released.
    Ended = 4,
    /// Its changes are durable; another database has the decision to commit (see prepare.rs).
    Prepared = 5,
}

impl XactState {
    pub(crate) fn from_number(number: u8) -> XactState {
        let state = [
            XactState::Active,
            XactState::Committing,
            XactState::Hardened,
            XactState::RollingBack,
            XactState::Ended,
            XactState::Prepared,
        ][usize::from(number)];
        assert_eq!(state as u8, number, "states stand in the order of their numbers");
        state
    }
}
