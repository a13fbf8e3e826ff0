//! The limit of logged-in connections. A connection takes a place only after its password check; the administrators' port has one place of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use types::SqlError;

/// Dedicated administrator connections at once.
const ADMINISTRATORS_MAX: usize = 1;

/// The places of one server.
pub struct ConnectionSlots {
    users_max: usize,
    users: Arc<AtomicUsize>,
    administrators: Arc<AtomicUsize>,
}

/// One place; released when dropped.
pub struct ConnectionSlot(Arc<AtomicUsize>);

impl ConnectionSlots {
    /// All free.
    pub fn new(users_max: usize) -> ConnectionSlots {
        ConnectionSlots { users_max, users: Arc::default(), administrators: Arc::default() }
    }

    /// Why no place is free now, if so: 17809, or 17810 for administrators.
    pub fn refusal(&self, is_administrator: bool) -> Option<SqlError> {
        let (taken, most, number) = self.of(is_administrator);
        (taken.load(Ordering::Acquire) >= most).then(|| SqlError::new(number, &[&most]).at_line(1))
    }

    /// Takes a place.
    ///
    /// # Errors
    /// As `refusal`.
    pub fn take(&self, is_administrator: bool) -> Result<ConnectionSlot, SqlError> {
        let (taken, most, number) = self.of(is_administrator);
        let more = |count: usize| (count < most).then_some(count + 1);
        match taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(ConnectionSlot(taken.clone())),
            Err(_) => Err(SqlError::new(number, &[&most]).at_line(1)),
        }
    }

    fn of(&self, is_administrator: bool) -> (&Arc<AtomicUsize>, usize, i32) {
        match is_administrator {
            true => (&self.administrators, ADMINISTRATORS_MAX, 17810),
            false => (&self.users, self.users_max, 17809),
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "a place is given back once");
    }
}
