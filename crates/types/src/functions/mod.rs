//! Kernels of built-in functions that need no session: pure functions over values.
