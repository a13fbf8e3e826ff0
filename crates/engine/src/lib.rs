//! Databases as whole things: instance, catalog, checkpoint, recovery, tempdb.
