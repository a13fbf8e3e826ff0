//! Logins, users, roles, permissions, impersonation.

use super::{Expr, Ident, NamedOption, ObjectName};

/// GRANT, DENY, REVOKE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Permission {
    pub action: PermissionAction,
    /// Several words joined by one blank, with columns; `ALL` alone.
    pub permissions: Vec<(Ident, Vec<Ident>)>,
    pub securable: Option<Securable>,
    pub principals: Vec<Ident>,
    /// GRANT: WITH GRANT OPTION; REVOKE: GRANT OPTION FOR.
    pub grant_option: bool,
    pub cascade: bool,
    pub as_principal: Option<Ident>,
}

/// Which of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PermissionAction {
    Grant,
    Deny,
    Revoke,
}

/// ON [class::]name (columns)
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Securable {
    /// OBJECT, SCHEMA, DATABASE, .. several words joined by one blank.
    pub class: Option<Ident>,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
}

/// CREATE LOGIN.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateLogin {
    pub name: Ident,
    pub source: LoginSource,
    /// SID, DEFAULT_DATABASE, DEFAULT_LANGUAGE, CHECK_EXPIRATION, CHECK_POLICY, CREDENTIAL
    pub options: Vec<NamedOption>,
}

/// The source of a login.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum LoginSource {
    Password(Password),
    Windows,
    ExternalProvider,
    Certificate(Ident),
    AsymmetricKey(Ident),
}

/// A password as written.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Password {
    /// A string, or a binary literal with HASHED.
    pub value: Expr,
    pub hashed: bool,
    pub must_change: bool,
}

/// ALTER LOGIN.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterLogin {
    pub name: Ident,
    pub action: AlterLoginAction,
}

/// What ALTER LOGIN does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum AlterLoginAction {
    Enable,
    Disable,
    With {
        password: Option<Password>,
        old_password: Option<Expr>,
        unlock: bool,
        options: Vec<NamedOption>,
    },
    /// ADD|DROP CREDENTIAL name
    Credential {
        add: bool,
        name: Ident,
    },
}

/// CREATE USER.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateUser {
    pub name: Ident,
    pub source: UserSource,
    /// DEFAULT_SCHEMA, DEFAULT_LANGUAGE, SID, ..
    pub options: Vec<NamedOption>,
    pub password: Option<Password>,
}

/// The source of a user.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum UserSource {
    /// FOR|FROM LOGIN name, or nothing said.
    Login(Option<Ident>),
    WithoutLogin,
    ExternalProvider,
    Certificate(Ident),
    AsymmetricKey(Ident),
}

/// ALTER USER name WITH ..
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterUser {
    pub name: Ident,
    /// NAME, DEFAULT_SCHEMA, LOGIN, ..
    pub options: Vec<NamedOption>,
    pub password: Option<Password>,
    pub old_password: Option<Expr>,
}

/// CREATE [SERVER] ROLE
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateRole {
    pub server: bool,
    pub name: Ident,
    pub authorization: Option<Ident>,
}

/// ALTER [SERVER] ROLE
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterRole {
    pub server: bool,
    pub name: Ident,
    pub action: AlterRoleAction,
}

/// What ALTER ROLE does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum AlterRoleAction {
    AddMember(Ident),
    DropMember(Ident),
    Rename(Ident),
}

/// ALTER AUTHORIZATION ON securable TO owner; None for SCHEMA OWNER.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterAuthorization {
    pub securable: Securable,
    pub owner: Option<Ident>,
}

/// EXECUTE AS as a statement.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ExecuteAs {
    pub context: ExecuteAsContext,
    pub no_revert: bool,
    /// WITH COOKIE INTO @v
    pub cookie: Option<String>,
}

/// The principal to impersonate.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExecuteAsContext {
    Caller,
    Login(Expr),
    User(Expr),
}
