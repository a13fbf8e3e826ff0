//! Which type converts to which: the documented matrix of implicit and explicit conversions.

use crate::{SqlError, SqlType};

/// How a conversion may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Done unasked.
    Implicit,
    /// Needs CAST or CONVERT (error 257 otherwise).
    Explicit,
    /// Never (error 529 for CAST, 206 unasked).
    NotAllowed,
}

/// The matrix.
pub fn conversion(from: &SqlType, to: &SqlType) -> Conversion {
    let _ = (from, to);
    todo!("next landing")
}

/// May `from` become `to`? `explicit`: by CAST or CONVERT. Errors 206, 257, 529.
pub fn check(from: &SqlType, to: &SqlType, explicit: bool) -> Result<(), SqlError> {
    let _ = (from, to, explicit);
    todo!("next landing")
}
