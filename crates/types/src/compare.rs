//! Comparison of values: SQL's three-valued [`compare()`], the total order [`sort_compare`] (NULLs first), equality and hashing that agree.

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::{Collation, Value};

/// Compares two values of one type family (convert first when the types differ; numbers of different types compare as they are).
/// `None` when either is NULL.
pub fn compare(left: &Value, right: &Value, collation: Collation) -> Option<Ordering> {
    let _ = (left, right, collation);
    todo!("next landing")
}

/// [`compare()`] = equal: `None` when either is NULL.
pub fn is_equal(left: &Value, right: &Value, collation: Collation) -> Option<bool> {
    compare(left, right, collation).map(Ordering::is_eq)
}

/// The order of ORDER BY, DISTINCT and indexes: NULLs equal to each other and before everything.
pub fn sort_compare(left: &Value, right: &Value, collation: Collation) -> Ordering {
    let _ = (left, right, collation);
    todo!("next landing")
}

/// Feeds a hash so that values equal under [`sort_compare`] (of one type) hash alike.
pub fn hash_value<H: Hasher>(value: &Value, collation: Collation, state: &mut H) {
    let _ = (value, collation, state);
    todo!("next landing")
}
