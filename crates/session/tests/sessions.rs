//! Sessions side by side: locks, isolation, versions, waits, definitions that are not committed. One binary, since each costs a link of the whole engine.

mod attentions;
mod common;
mod database_locks;
mod definitions_random;
mod dirty_reads;
mod fewer_locks;
mod foreign_key_locks;
mod global_temporary_tables;
mod incarnations;
mod isolation;
mod kept_ranges;
mod lock_timeout;
mod moved_rows;
mod published_schedules;
mod queue_readers;
mod row_versions;
mod single_user;
mod snapshots;
mod version_room;
