//! Simulated worlds, workloads, nemeses and checkers over the real crates.
