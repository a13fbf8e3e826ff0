//! Durability and the log: the claims about commits, flushes, caches and limits, tickets, loss windows, crashes. One binary, since each costs a link of the whole engine.

mod claims_delay;
mod claims_durability;
mod claims_exceptions;
mod claims_experiment;
mod claims_flushes;
mod claims_growth;
mod claims_identity;
mod claims_limits;
mod claims_mistakes;
mod claims_sequences;
mod claims_tempdb;
mod claims_template;
mod commit_tickets;
mod common;
mod dblog;
mod failing_io;
mod flush_experiment;
mod identity_rollback;
mod log_doctor;
mod log_files;
mod loss_window;
mod pending_commits;
mod pending_io;
mod persisted_buffer;
mod sequences;
mod wide_numbers;
