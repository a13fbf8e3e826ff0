//! BACKUP and RESTORE.

use super::{Parsed, Parser};
use crate::ast::{
    Backup, BackupDatabaseName, BackupDevice, BackupFile, BackupKind, Expr, NamedOption, Restore,
    RestoreKind, StatementKind,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn backup(&mut self) -> Parsed<StatementKind> {
        let kind = match self.peek_kind(1) {
            TokenKind::Keyword(Keyword::Database) => BackupKind::Database,
            TokenKind::Word if self.word_ahead(1, "LOG") => BackupKind::Log,
            _ => return self.opaque_backup("BACKUP"),
        };
        self.advance();
        self.advance();
        let database = self.backup_database_name()?;
        let files = self.backup_files()?;
        let mut to = Vec::new();
        let mut mirrors = Vec::new();
        if self.accept(Keyword::To) {
            to = self.comma_list(Self::backup_device)?;
            while self.at_word("MIRROR") {
                self.advance();
                self.expect(Keyword::To)?;
                mirrors.push(self.comma_list(Self::backup_device)?);
            }
        }
        let options =
            if self.accept(Keyword::With) { self.comma_list(Self::backup_option)? } else { Vec::new() };
        Ok(StatementKind::Backup(Box::new(Backup { kind, database, files, to, mirrors, options })))
    }

    /// BACKUP and RESTORE of keys and certificates are kept as text.
    fn opaque_backup(&mut self, verb: &str) -> Parsed<StatementKind> {
        for (words, name) in [
            (&["CERTIFICATE"][..], "CERTIFICATE"),
            (&["SERVICE", "MASTER", "KEY"], "SERVICE MASTER KEY"),
            (&["MASTER", "KEY"], "MASTER KEY"),
            (&["SYMMETRIC", "KEY"], "SYMMETRIC KEY"),
        ] {
            if words.iter().enumerate().all(|(index, word)| self.spells_ahead(1 + index, word)) {
                return self.other(&format!("{verb} {name}"));
            }
        }
        self.advance();
        Err(self.unexpected())
    }

    fn backup_database_name(&mut self) -> Parsed<BackupDatabaseName> {
        if self.kind() == TokenKind::Variable {
            return Ok(BackupDatabaseName::Variable(self.variable()?));
        }
        Ok(BackupDatabaseName::Name(self.ident()?))
    }

    /// `FILE = 'f', FILEGROUP = 'g', READ_WRITE_FILEGROUPS, PAGE = '1:57'`
    fn backup_files(&mut self) -> Parsed<Vec<BackupFile>> {
        let mut files = Vec::new();
        loop {
            if self.accept_word("READ_WRITE_FILEGROUPS") {
                files.push(BackupFile::ReadWriteFilegroups);
            } else if self.at(Keyword::File) || self.at_word("FILEGROUP") || self.at_word("PAGE") {
                let token = self.advance();
                self.expect_symbol(b'=')?;
                let value = self.signed_constant()?;
                files.push(match self.token_text(token).to_ascii_uppercase().as_str() {
                    "FILE" => BackupFile::File(value),
                    "PAGE" => BackupFile::Page(value),
                    _ => BackupFile::Filegroup(value),
                });
            } else {
                return Ok(files);
            }
            if !self.accept_symbol(b',') {
                return Ok(files);
            }
        }
    }

    fn backup_device(&mut self) -> Parsed<BackupDevice> {
        let physical = self.at(Keyword::Disk)
            || ["TAPE", "URL", "VIRTUAL_DEVICE", "PIPE"].iter().any(|word| self.at_word(word));
        if physical && self.symbol_ahead(1, b'=') {
            let word = self.ident_or_keyword()?;
            self.advance();
            return Ok(BackupDevice::Physical(word, self.signed_constant()?));
        }
        Ok(BackupDevice::Logical(self.backup_database_name()?))
    }

    /// One option of WITH; a word alone, `= value`, or a list.
    fn backup_option(&mut self) -> Parsed<NamedOption> {
        let name = self.ident_or_keyword()?;
        let value = if self.accept_symbol(b'=') {
            Some(self.option_value()?)
        } else if self.at_symbol(b'(') {
            Some(crate::ast::OptionValue::List(self.option_list()?))
        } else {
            None
        };
        Ok(NamedOption { name, value })
    }

    pub(super) fn restore(&mut self) -> Parsed<StatementKind> {
        let kind = match () {
            () if self.at_ahead(1, Keyword::Database) => RestoreKind::Database,
            () if self.word_ahead(1, "LOG") => RestoreKind::Log,
            () if self.word_ahead(1, "HEADERONLY") => RestoreKind::HeaderOnly,
            () if self.word_ahead(1, "FILELISTONLY") => RestoreKind::FileListOnly,
            () if self.word_ahead(1, "LABELONLY") => RestoreKind::LabelOnly,
            () if self.word_ahead(1, "VERIFYONLY") => RestoreKind::VerifyOnly,
            () if self.word_ahead(1, "REWINDONLY") => RestoreKind::RewindOnly,
            () => return self.opaque_backup("RESTORE"),
        };
        self.advance();
        self.advance();
        let mut restore = Restore {
            kind,
            database: None,
            files: Vec::new(),
            from: Vec::new(),
            from_snapshot: None,
            options: Vec::new(),
            moves: Vec::new(),
        };
        if matches!(kind, RestoreKind::Database | RestoreKind::Log) {
            restore.database = Some(self.backup_database_name()?);
            restore.files = self.backup_files()?;
        }
        if self.accept(Keyword::From) {
            if self.at_word("DATABASE_SNAPSHOT") {
                self.advance();
                self.expect_symbol(b'=')?;
                restore.from_snapshot = Some(self.ident_or_string()?);
            } else {
                restore.from = self.comma_list(Self::backup_device)?;
            }
        }
        if self.accept(Keyword::With) {
            self.restore_options(&mut restore)?;
        }
        Ok(StatementKind::Restore(Box::new(restore)))
    }

    fn restore_options(&mut self, restore: &mut Restore) -> Parsed<()> {
        loop {
            if self.at_word("MOVE") {
                self.advance();
                let from: Expr = self.signed_constant()?;
                self.expect(Keyword::To)?;
                restore.moves.push((from, self.signed_constant()?));
            } else {
                let mut option = self.backup_option()?;
                // STOPATMARK = 'm' AFTER '2020-01-01'
                let mark = option.name.is("STOPATMARK") || option.name.is("STOPBEFOREMARK");
                if mark && self.at_word("AFTER") {
                    self.advance();
                    let after = self.signed_constant()?;
                    option.name.value.push_str(" AFTER");
                    if let Some(crate::ast::OptionValue::Value(mark, _)) = option.value.take() {
                        let ranges = vec![(mark, None), (after, None)];
                        option.value = Some(crate::ast::OptionValue::Ranges(ranges));
                    }
                }
                restore.options.push(option);
            }
            if !self.accept_symbol(b',') {
                return Ok(());
            }
        }
    }
}
