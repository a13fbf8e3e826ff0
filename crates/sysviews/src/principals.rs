//! The principals that every server and every database has: views list them, functions name them. Others cannot be created; a session with another login name
//! than sa is shown as one more login. Numbers and SIDs of the fixed ones are SQL Server's (sys.server_principals, sys.database_principals).

/// A login, user or role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) name: String,
    pub(crate) id: i32,
    /// None: it has none.
    pub(crate) sid: Option<Vec<u8>>,
    pub(crate) is_role: bool,
}

/// `principal_id` of the login that asks, when it is not sa.
pub(crate) const OTHER_LOGIN: i32 = 257;
/// That of the first fixed role of a database; the others follow.
pub(crate) const DB_OWNER: i32 = 16_384;

const SA: &str = "sa";
const SERVER_ROLES: [(&str, i32); 9] = [
    ("public", 2),
    ("sysadmin", 3),
    ("securityadmin", 4),
    ("serveradmin", 5),
    ("setupadmin", 6),
    ("processadmin", 7),
    ("diskadmin", 8),
    ("dbcreator", 9),
    ("bulkadmin", 10),
];
const USERS: [(&str, i32, Option<&[u8]>); 4] =
    [("dbo", 1, Some(&[1])), ("guest", 2, Some(&[0])), ("INFORMATION_SCHEMA", 3, None), ("sys", 4, None)];
const DATABASE_ROLES: [(&str, i32); 9] = [
    ("db_owner", DB_OWNER),
    ("db_accessadmin", 16_385),
    ("db_securityadmin", 16_386),
    ("db_ddladmin", 16_387),
    ("db_backupoperator", 16_389),
    ("db_datareader", 16_390),
    ("db_datawriter", 16_391),
    ("db_denydatareader", 16_392),
    ("db_denydatawriter", 16_393),
];
/// SID of public in a database.
const PUBLIC_SID: [u8; 28] = [
    1, 5, 0, 0, 0, 0, 0, 9, 4, 0, 0, 0, 0x83, 0x74, 0x1B, 0, 0x67, 0x49, 0xC0, 0x4B, 0xA9, 0x43, 0xC0, 0x27,
    2, 0xF2, 0xA7, 0x62,
];

/// The principals of the server, as a session with this login sees them.
pub(crate) fn of_server(login: &str) -> Vec<Principal> {
    let mut all = vec![Principal { name: SA.into(), id: 1, sid: Some(vec![1]), is_role: false }];
    let roles = SERVER_ROLES.iter().map(|(name, id)| Principal {
        name: (*name).into(),
        id: *id,
        sid: Some(vec![*id as u8]),
        is_role: true,
    });
    all.extend(roles);
    if !login.eq_ignore_ascii_case(SA) {
        all.push(Principal { name: login.into(), id: OTHER_LOGIN, sid: Some(sid_of(login)), is_role: false });
    }
    all
}

/// Of any database.
pub(crate) fn of_database() -> Vec<Principal> {
    let public = Principal { name: "public".into(), id: 0, sid: Some(PUBLIC_SID.into()), is_role: true };
    let users = USERS.iter().map(|(name, id, sid)| Principal {
        name: (*name).into(),
        id: *id,
        sid: sid.map(Into::into),
        is_role: false,
    });
    let roles = DATABASE_ROLES.iter().map(|(name, id)| Principal {
        name: (*name).into(),
        id: *id,
        sid: Some(sid_of_role(*id)),
        is_role: true,
    });
    std::iter::once(public).chain(users).chain(roles).collect()
}

/// The principal of a name, which is compared as names of logins are.
pub(crate) fn named<'a>(all: &'a [Principal], name: &str) -> Option<&'a Principal> {
    all.iter().find(|principal| plan_ir::names::same_name(&principal.name, name))
}

/// 16 bytes, the same for the same name.
fn sid_of(login: &str) -> Vec<u8> {
    let mut sid = vec![0; 16];
    for (at, byte) in login.to_lowercase().bytes().enumerate() {
        sid[at % 16] = u8::rotate_left(sid[at % 16], 3) ^ byte;
    }
    sid
}

/// Revision 1, five parts, authority 9: 4, three zeros, the number.
fn sid_of_role(id: i32) -> Vec<u8> {
    let mut sid = vec![1, 5, 0, 0, 0, 0, 0, 9, 4, 0, 0, 0];
    sid.extend([0; 12]);
    sid.extend(id.to_le_bytes());
    sid
}
