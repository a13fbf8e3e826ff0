//! Data files and the buffer pool; never writes a page ahead of its log.
