//! Permissions, logins, users, roles, impersonation, DBCC, KILL.

use super::Printer;
use crate::ast::{
    AlterLoginAction, AlterRoleAction, Dbcc, DbccArgument, ExecuteAsContext, Expr, Kill, LoginSource,
    NamedOption, Password, Permission, PermissionAction, Securable, StatementKind, UserSource,
};

impl Printer {
    pub(super) fn security_statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Permission(permission) => self.permission(permission),
            StatementKind::CreateLogin(login) => {
                self.w("CREATE LOGIN ");
                self.ident(&login.name);
                let before_options = match &login.source {
                    LoginSource::Password(password) => {
                        self.w(" WITH ");
                        self.password(password);
                        ", "
                    }
                    LoginSource::Windows => {
                        self.w(" FROM WINDOWS");
                        " WITH "
                    }
                    LoginSource::ExternalProvider => {
                        self.w(" FROM EXTERNAL PROVIDER");
                        " WITH "
                    }
                    LoginSource::Certificate(name) => {
                        self.w(" FROM CERTIFICATE ");
                        self.ident(name);
                        " WITH "
                    }
                    LoginSource::AsymmetricKey(name) => {
                        self.w(" FROM ASYMMETRIC KEY ");
                        self.ident(name);
                        " WITH "
                    }
                };
                self.flag(before_options, !login.options.is_empty());
                self.options(&login.options);
            }
            StatementKind::AlterLogin(login) => {
                self.w("ALTER LOGIN ");
                self.ident(&login.name);
                self.alter_login(&login.action);
            }
            StatementKind::CreateUser(user) => {
                self.w("CREATE USER ");
                self.ident(&user.name);
                match &user.source {
                    UserSource::Login(login) => self.opt(" FOR LOGIN ", login, Self::ident),
                    UserSource::WithoutLogin => self.w(" WITHOUT LOGIN"),
                    UserSource::ExternalProvider => self.w(" FROM EXTERNAL PROVIDER"),
                    UserSource::Certificate(name) => {
                        self.w(" FOR CERTIFICATE ");
                        self.ident(name);
                    }
                    UserSource::AsymmetricKey(name) => {
                        self.w(" FOR ASYMMETRIC KEY ");
                        self.ident(name);
                    }
                }
                self.principal_options(&user.password, &None, false, &user.options);
            }
            StatementKind::AlterUser(user) => {
                self.w("ALTER USER ");
                self.ident(&user.name);
                self.principal_options(&user.password, &user.old_password, false, &user.options);
            }
            _ => self.role_statement(kind),
        }
    }

    fn role_statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::CreateRole(role) => {
                self.w(if role.server { "CREATE SERVER ROLE " } else { "CREATE ROLE " });
                self.ident(&role.name);
                self.opt(" AUTHORIZATION ", &role.authorization, Self::ident);
            }
            StatementKind::AlterRole(role) => {
                self.w(if role.server { "ALTER SERVER ROLE " } else { "ALTER ROLE " });
                self.ident(&role.name);
                let (word, name) = match &role.action {
                    AlterRoleAction::AddMember(name) => (" ADD MEMBER ", name),
                    AlterRoleAction::DropMember(name) => (" DROP MEMBER ", name),
                    AlterRoleAction::Rename(name) => (" WITH NAME = ", name),
                };
                self.w(word);
                self.ident(name);
            }
            StatementKind::AlterAuthorization(alter) => {
                self.w("ALTER AUTHORIZATION ON ");
                self.securable(&alter.securable);
                self.w(" TO ");
                match &alter.owner {
                    Some(owner) => self.ident(owner),
                    None => self.w("SCHEMA OWNER"),
                }
            }
            StatementKind::ExecuteAs(execute) => {
                self.w("EXECUTE AS ");
                match &execute.context {
                    ExecuteAsContext::Caller => self.w("CALLER"),
                    ExecuteAsContext::Login(name) => {
                        self.w("LOGIN = ");
                        self.expr(name);
                    }
                    ExecuteAsContext::User(name) => {
                        self.w("USER = ");
                        self.expr(name);
                    }
                }
                self.flag(" WITH NO REVERT", execute.no_revert);
                self.opt(" WITH COOKIE INTO ", &execute.cookie, |p, cookie| p.w(cookie));
            }
            StatementKind::Revert(cookie) => {
                self.w("REVERT");
                self.opt(" WITH COOKIE = ", cookie, |p, cookie| p.expr(cookie));
            }
            _ => self.administration(kind),
        }
    }

    fn administration(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Dbcc(dbcc) => self.dbcc(dbcc),
            StatementKind::Checkpoint(duration) => {
                self.w("CHECKPOINT");
                self.opt(" ", duration, |p, duration| p.expr(duration));
            }
            StatementKind::Kill(kill) => {
                self.w("KILL ");
                match &**kill {
                    Kill::Session { id, option } => {
                        self.expr(id);
                        self.opt(" WITH ", option, Self::ident);
                    }
                    Kill::QueryNotification(id) => {
                        self.w("QUERY NOTIFICATION SUBSCRIPTION ");
                        match id {
                            Some(id) => self.expr(id),
                            None => self.w("ALL"),
                        }
                    }
                    Kill::StatsJob(id) => {
                        self.w("STATS JOB ");
                        self.expr(id);
                    }
                }
            }
            StatementKind::Shutdown { no_wait } => {
                self.w("SHUTDOWN");
                self.flag(" WITH NOWAIT", *no_wait);
            }
            StatementKind::Reconfigure { with_override } => {
                self.w("RECONFIGURE");
                self.flag(" WITH OVERRIDE", *with_override);
            }
            _ => {}
        }
    }

    fn permission(&mut self, permission: &Permission) {
        let revoke = permission.action == PermissionAction::Revoke;
        self.w(match permission.action {
            PermissionAction::Grant => "GRANT ",
            PermissionAction::Deny => "DENY ",
            PermissionAction::Revoke => "REVOKE ",
        });
        self.flag("GRANT OPTION FOR ", revoke && permission.grant_option);
        self.list(&permission.permissions, |p, (name, columns)| {
            p.ident(name);
            p.paren_idents(columns);
        });
        self.opt(" ON ", &permission.securable, Self::securable);
        self.w(if revoke { " FROM " } else { " TO " });
        self.idents(&permission.principals);
        self.flag(" WITH GRANT OPTION", !revoke && permission.grant_option);
        self.flag(" CASCADE", permission.cascade);
        self.opt(" AS ", &permission.as_principal, Self::ident);
    }

    fn securable(&mut self, securable: &Securable) {
        self.opt("", &securable.class, |p, class| {
            p.ident(class);
            p.w("::");
        });
        self.name(&securable.name);
        self.paren_idents(&securable.columns);
    }

    fn password(&mut self, password: &Password) {
        self.w("PASSWORD = ");
        self.expr(&password.value);
        self.flag(" HASHED", password.hashed);
        self.flag(" MUST_CHANGE", password.must_change);
    }

    fn alter_login(&mut self, action: &AlterLoginAction) {
        match action {
            AlterLoginAction::Enable => self.w(" ENABLE"),
            AlterLoginAction::Disable => self.w(" DISABLE"),
            AlterLoginAction::With { password, old_password, unlock, options } => {
                self.principal_options(password, old_password, *unlock, options);
            }
            AlterLoginAction::Credential { add, name } => {
                self.w(if *add { " ADD CREDENTIAL " } else { " DROP CREDENTIAL " });
                self.ident(name);
            }
        }
    }

    /// ` WITH PASSWORD = .., options`, or nothing.
    fn principal_options(
        &mut self,
        password: &Option<Password>,
        old_password: &Option<Expr>,
        unlock: bool,
        options: &[NamedOption],
    ) {
        if password.is_none() && options.is_empty() {
            return;
        }
        self.w(" WITH ");
        self.opt("", password, Self::password);
        self.flag(" UNLOCK", unlock);
        self.opt(" OLD_PASSWORD = ", old_password, Self::expr);
        self.flag(", ", password.is_some() && !options.is_empty());
        self.options(options);
    }

    fn dbcc(&mut self, dbcc: &Dbcc) {
        self.w("DBCC ");
        self.ident(&dbcc.name);
        if dbcc.parenthesized {
            self.w(" ");
            self.paren_list(&dbcc.args, |p, arg| match arg {
                DbccArgument::Value(value) => p.expr(value),
                DbccArgument::Named(name, value) => {
                    p.ident(name);
                    p.w(" = ");
                    p.expr(value);
                }
            });
        }
        self.bare_options(&dbcc.options);
    }
}
