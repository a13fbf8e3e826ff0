//! What the benches share: the servers that they start and stop, connections to them, both dialects, random rows, the machine. Each uses its part.

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
