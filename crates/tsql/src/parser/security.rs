//! GRANT, DENY, REVOKE, logins, users, roles, ownership.

use super::{Parsed, Parser};
use crate::ast::{
    AlterAuthorization, AlterLogin, AlterLoginAction, AlterRole, AlterRoleAction, AlterUser, CreateLogin,
    CreateRole, CreateUser, Expr, Ident, LoginSource, NamedOption, OptionValue, Password, Permission,
    PermissionAction, Securable, StatementKind, UserSource,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn permission(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        self.advance();
        let action = match keyword {
            Keyword::Grant => PermissionAction::Grant,
            Keyword::Deny => PermissionAction::Deny,
            _ => PermissionAction::Revoke,
        };
        let mut grant_option =
            action == PermissionAction::Revoke && self.accept_words(&["GRANT", "OPTION", "FOR"]);
        let permissions = self.comma_list(Self::permission_item)?;
        let securable = if self.accept(Keyword::On) { Some(self.securable()?) } else { None };
        if !(action == PermissionAction::Revoke && self.accept(Keyword::From)) {
            self.expect(Keyword::To)?;
        }
        let principals = self.comma_list(Self::principal)?;
        grant_option |= action == PermissionAction::Grant && self.accept_words(&["WITH", "GRANT", "OPTION"]);
        let cascade = self.accept(Keyword::Cascade);
        let as_principal = if self.accept(Keyword::As) { Some(self.principal()?) } else { None };
        let permission =
            Permission { action, permissions, securable, principals, grant_option, cascade, as_principal };
        Ok(StatementKind::Permission(Box::new(permission)))
    }

    /// `SELECT (a, b)`, `VIEW ANY DEFINITION`, `ALL PRIVILEGES`
    fn permission_item(&mut self) -> Parsed<(Ident, Vec<Ident>)> {
        let mut words = self.ident_or_keyword()?;
        loop {
            match self.kind() {
                TokenKind::Keyword(Keyword::On | Keyword::To | Keyword::From) => break,
                TokenKind::Word | TokenKind::Keyword(_) => {
                    let token = self.advance();
                    words.value = format!("{} {}", words.value, self.token_text(token));
                }
                _ => break,
            }
        }
        Ok((words, self.ident_list_opt()?))
    }

    fn securable(&mut self) -> Parsed<Securable> {
        let class = self.securable_class_opt()?;
        let name = self.object_name()?;
        let columns = self.ident_list_opt()?;
        Ok(Securable { class, name, columns })
    }

    /// `CLASS ::`, of one word or several, if present.
    pub(super) fn securable_class_opt(&mut self) -> Parsed<Option<Ident>> {
        let mut words = 0;
        while matches!(self.peek_kind(words), TokenKind::Word | TokenKind::Keyword(_)) {
            words += 1;
        }
        if words == 0 || !self.symbol_ahead(words, b':') || !self.symbol_ahead(words + 1, b':') {
            return Ok(None);
        }
        let mut class = self.ident_or_keyword()?;
        for _ in 1..words {
            let token = self.advance();
            class.value = format!("{} {}", class.value, self.token_text(token));
        }
        self.advance();
        self.advance();
        Ok(Some(class))
    }

    /// The rest of CREATE LOGIN.
    pub(super) fn create_login(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let mut options = Vec::new();
        let source = if self.accept(Keyword::From) {
            let source = match () {
                () if self.accept_word("WINDOWS") => LoginSource::Windows,
                () if self.accept_words(&["EXTERNAL", "PROVIDER"]) => LoginSource::ExternalProvider,
                () if self.accept_word("CERTIFICATE") => LoginSource::Certificate(self.ident()?),
                () => {
                    self.expect_word("ASYMMETRIC")?;
                    self.expect(Keyword::Key)?;
                    LoginSource::AsymmetricKey(self.ident()?)
                }
            };
            if self.accept(Keyword::With) {
                options = self.comma_list(Self::principal_option)?;
            }
            source
        } else {
            self.expect(Keyword::With)?;
            self.expect_word("PASSWORD")?;
            let password = self.password()?;
            if self.accept_symbol(b',') {
                options = self.comma_list(Self::principal_option)?;
            }
            LoginSource::Password(password)
        };
        Ok(StatementKind::CreateLogin(Box::new(CreateLogin { name, source, options })))
    }

    /// `= 'secret' [HASHED] [MUST_CHANGE]`, behind PASSWORD.
    fn password(&mut self) -> Parsed<Password> {
        self.expect_symbol(b'=')?;
        let value = self.signed_constant()?;
        let (mut hashed, mut must_change) = (false, false);
        loop {
            if self.accept_word("HASHED") {
                hashed = true;
            } else if self.accept_word("MUST_CHANGE") {
                must_change = true;
            } else {
                return Ok(Password { value, hashed, must_change });
            }
        }
    }

    /// `name = value` of logins and users.
    fn principal_option(&mut self) -> Parsed<NamedOption> {
        let name = self.ident()?;
        self.expect_symbol(b'=')?;
        let value = match self.kind() {
            TokenKind::Bracketed | TokenKind::Quoted | TokenKind::Word => {
                OptionValue::Name(self.object_name()?)
            }
            TokenKind::Keyword(Keyword::Null) => OptionValue::Word(self.ident_or_keyword()?),
            _ => self.option_value()?,
        };
        Ok(NamedOption { name, value: Some(value) })
    }

    /// The rest of ALTER LOGIN.
    pub(super) fn alter_login(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let action = match () {
            () if self.accept_word("ENABLE") => AlterLoginAction::Enable,
            () if self.accept_word("DISABLE") => AlterLoginAction::Disable,
            () if self.at(Keyword::Add) || self.at(Keyword::Drop) => {
                let add = self.at(Keyword::Add);
                self.advance();
                self.expect_word("CREDENTIAL")?;
                AlterLoginAction::Credential { add, name: self.ident()? }
            }
            () => {
                self.expect(Keyword::With)?;
                self.alter_login_options()?
            }
        };
        Ok(StatementKind::AlterLogin(Box::new(AlterLogin { name, action })))
    }

    fn alter_login_options(&mut self) -> Parsed<AlterLoginAction> {
        let (mut password, mut old_password, mut unlock, mut options) =
            (None, None::<Expr>, false, Vec::new());
        loop {
            if self.at_word("NO") && self.word_ahead(1, "CREDENTIAL") {
                self.advance();
                self.advance();
                options.push(NamedOption { name: Ident::new("NO CREDENTIAL"), value: None });
            } else if self.accept_word("PASSWORD") {
                password = Some(self.password()?);
                unlock |= self.accept_word("UNLOCK");
                if self.accept_word("OLD_PASSWORD") {
                    self.expect_symbol(b'=')?;
                    old_password = Some(self.signed_constant()?);
                }
            } else {
                options.push(self.principal_option()?);
            }
            if !self.accept_symbol(b',') {
                return Ok(AlterLoginAction::With { password, old_password, unlock, options });
            }
        }
    }

    /// The rest of CREATE USER.
    pub(super) fn create_user(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let mut user =
            CreateUser { name, source: UserSource::Login(None), options: Vec::new(), password: None };
        if self.accept(Keyword::For) || self.accept(Keyword::From) {
            user.source = match () {
                () if self.accept_word("LOGIN") => UserSource::Login(Some(self.ident()?)),
                () if self.accept_words(&["EXTERNAL", "PROVIDER"]) => UserSource::ExternalProvider,
                () if self.accept_word("CERTIFICATE") => UserSource::Certificate(self.ident()?),
                () => {
                    self.expect_word("ASYMMETRIC")?;
                    self.expect(Keyword::Key)?;
                    UserSource::AsymmetricKey(self.ident()?)
                }
            };
        } else if self.accept_word("WITHOUT") {
            self.expect_word("LOGIN")?;
            user.source = UserSource::WithoutLogin;
        }
        if self.accept(Keyword::With) {
            (user.options, user.password, _) = self.user_options()?;
        }
        Ok(StatementKind::CreateUser(Box::new(user)))
    }

    fn user_options(&mut self) -> Parsed<(Vec<NamedOption>, Option<Password>, Option<Expr>)> {
        let (mut options, mut password, mut old_password) = (Vec::new(), None, None);
        loop {
            if self.accept_word("PASSWORD") {
                password = Some(self.password()?);
                if self.accept_word("OLD_PASSWORD") {
                    self.expect_symbol(b'=')?;
                    old_password = Some(self.signed_constant()?);
                }
            } else {
                options.push(self.principal_option()?);
            }
            if !self.accept_symbol(b',') {
                return Ok((options, password, old_password));
            }
        }
    }

    /// The rest of ALTER USER.
    pub(super) fn alter_user(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        self.expect(Keyword::With)?;
        let (options, password, old_password) = self.user_options()?;
        Ok(StatementKind::AlterUser(Box::new(AlterUser { name, options, password, old_password })))
    }

    /// The rest of CREATE [SERVER] ROLE.
    pub(super) fn create_role(&mut self, server: bool) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let authorization = if self.accept(Keyword::Authorization) { Some(self.principal()?) } else { None };
        Ok(StatementKind::CreateRole(Box::new(CreateRole { server, name, authorization })))
    }

    /// The rest of ALTER [SERVER] ROLE.
    pub(super) fn alter_role(&mut self, server: bool) -> Parsed<StatementKind> {
        let name = self.principal()?;
        let action = if self.accept(Keyword::Add) {
            self.expect_word("MEMBER")?;
            AlterRoleAction::AddMember(self.principal()?)
        } else if self.accept(Keyword::Drop) {
            self.expect_word("MEMBER")?;
            AlterRoleAction::DropMember(self.principal()?)
        } else {
            self.expect(Keyword::With)?;
            self.expect_word("NAME")?;
            self.expect_symbol(b'=')?;
            AlterRoleAction::Rename(self.ident()?)
        };
        Ok(StatementKind::AlterRole(Box::new(AlterRole { server, name, action })))
    }

    /// The rest of ALTER AUTHORIZATION.
    pub(super) fn alter_authorization(&mut self) -> Parsed<StatementKind> {
        self.expect(Keyword::On)?;
        let securable = self.securable()?;
        self.expect(Keyword::To)?;
        let owner = if self.accept(Keyword::Schema) {
            self.expect_word("OWNER")?;
            None
        } else {
            Some(self.principal()?)
        };
        Ok(StatementKind::AlterAuthorization(Box::new(AlterAuthorization { securable, owner })))
    }
}
