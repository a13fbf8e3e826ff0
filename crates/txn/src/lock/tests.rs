//! Tests of the lock manager.
