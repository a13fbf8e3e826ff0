//! Name scopes: the temporary names of a session, and the place from which names are looked up.

use std::sync::Arc;

use engine::Database;
use types::SqlError;

/// Names that only this session sees. `session` owns the mapping; the tables themselves live in tempdb.
pub trait SessionNames {
    /// Real name in tempdb's `dbo` of `#name` or of the table variable `@name`, if the session made one; of `##name` that name itself.
    fn temp_table(&self, name: &str) -> Option<String>;
    /// The written name of a table variable, given that name or its real one, if it is a READONLY parameter.
    fn read_only_table(&self, _name: &str) -> Option<String> {
        None
    }
    /// The table type with which a table variable was declared: the number of its database, of its object there, and its name.
    fn type_of_table_variable(&self, _name: &str) -> Option<((u16, i32), Arc<str>)> {
        None
    }
    /// Changes whenever `temp_table` may give another answer, unless that is because of what tempdb's catalog says.
    fn version(&self) -> u64;
    /// Reserves a real name for `CREATE TABLE #name`; error 2714 if the session has one at this nesting level.
    fn add_temp_table(&self, name: &str) -> Result<String, SqlError>;
    /// Reserves a real name for `CREATE PROCEDURE #name` or `##name`; error 2714 if the session has one.
    fn add_temp_procedure(&self, name: &str) -> Result<String, SqlError> {
        self.add_temp_table(name)
    }
    /// Records the object created under a reserved global name (`##name`): only this object is dropped with the session.
    fn note_made(&self, _real_name: &str, _object_id: i32) {}
    /// Forgets one that was not made, or is dropped for good.
    fn remove_temp_table(&self, name: &str);
    /// It is dropped in a transaction, whose rollback brings it back.
    fn drop_temp_table(&self, name: &str) {
        self.remove_temp_table(name);
    }
}

/// No temporary tables at all (tests, constant folding).
pub struct NoNames;

impl SessionNames for NoNames {
    fn temp_table(&self, _name: &str) -> Option<String> {
        None
    }
    fn version(&self) -> u64 {
        0
    }
    fn add_temp_table(&self, name: &str) -> Result<String, SqlError> {
        Ok(name.to_string())
    }
    fn remove_temp_table(&self, _name: &str) {}
}

/// The place from which a statement's names are looked up: a bound plan depends on it and on the catalogs.
#[derive(Clone, Copy)]
pub struct NameScope<'a> {
    /// The current database.
    pub database: &'a Arc<Database>,
    /// Temporary tables of the session.
    pub names: &'a dyn SessionNames,
}
