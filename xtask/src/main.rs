//! `cargo xtask`: the project's chores as one program.

fn main() {}
