//! `ObjectId`: the number of an object.

/// Number of an object (`object_id`), unique in its database.
pub type ObjectId = i32;
