//! The transaction log of one database: append, harden, read, truncate.
