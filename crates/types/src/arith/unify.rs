//! One type for several: CASE, COALESCE, IIF, UNION, VALUES lists.

use crate::{SqlResult, SqlType};

/// The type of a CASE, COALESCE or UNION over these branches; `None` is an untyped NULL, which has no say. `Ok(None)`: all are
/// untyped (the caller raises 8133, or takes int). Errors 206, 257.
pub fn unify(branches: &[Option<SqlType>]) -> SqlResult<Option<SqlType>> {
    let _ = branches;
    todo!("next landing")
}
