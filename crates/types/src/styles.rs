//! CONVERT's styles, as far as they mean the same for all types.

/// No style given: CAST, implicit conversion, CONVERT with two arguments.
pub const DEFAULT_STYLE: i32 = -1;
