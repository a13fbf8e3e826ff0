//! Shared code of the benches: the servers that they start and stop, connections, both dialects, random rows, the machine. Each bench uses a part.

pub mod answer;
pub mod connection;
pub mod dialect;
pub mod hardpan;
pub mod machine;
pub mod postgres;
pub mod random;
pub mod server;
pub mod sessions;
pub mod work;
