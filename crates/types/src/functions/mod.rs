//! Kernels of built-in functions that need no session: pure functions over text and values. `query` gives them their names.

pub mod culture;
pub mod format;
pub mod json;
pub mod parse;

pub use culture::Culture;
