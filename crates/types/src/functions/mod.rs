//! Kernels of built-in functions that need no session: pure functions over text and values. `query` gives them their names.

pub mod format;
pub mod json;
