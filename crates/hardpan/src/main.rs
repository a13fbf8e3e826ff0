//! `hardpan`: the command line; each subcommand lives in a module of its own.

fn main() {}
