//! Numbers of the system databases, and the lock of a session on a user database.

use txn::Resource;

/// `database_id` of the system databases.
pub const MASTER: u16 = 1;
/// tempdb.
pub const TEMPDB: u16 = 2;
/// model.
pub const MODEL: u16 = 3;
/// msdb.
pub const MSDB: u16 = 4;
/// User databases begin here, as in SQL Server.
pub const FIRST_USER_DATABASE: u16 = 5;

/// The lock resource of a session in a database. None for master and tempdb, which cannot be dropped or renamed.
pub(crate) fn shared_resource(number: u16) -> Option<Resource> {
    (number != MASTER && number != TEMPDB).then_some(Resource::Database { database: number })
}
