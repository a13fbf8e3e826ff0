//! CREATE, ALTER and DROP DATABASE.

use super::{Parsed, Parser};
use crate::ast::{
    AlterDatabase, AlterDatabaseAction, AlterDatabaseScopedConfiguration, AttachKind, CreateDatabase,
    DatabaseOption, DelayedDurability, DelayedDurabilityMode, DropDatabase, Expr, ExprKind, FileSize,
    FileSpec, FilegroupSpec, Ident, Literal, MaxSize, NamedOption, OptionValue, RecoveryModel,
    ScopedConfiguration, SizeUnit, StatementKind, Termination,
};
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

/// Words of SET that stand alone.
const STATES: [&str; 14] = [
    "READ_ONLY",
    "READ_WRITE",
    "ONLINE",
    "OFFLINE",
    "EMERGENCY",
    "SINGLE_USER",
    "RESTRICTED_USER",
    "MULTI_USER",
    "ENABLE_BROKER",
    "DISABLE_BROKER",
    "NEW_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
    "SUPPLEMENTAL_LOGGING",
    "SUSPEND",
];

/// Options of SET that are switched on or off without `=`.
const BARE_SWITCHES: [&str; 27] = [
    "ALLOW_SNAPSHOT_ISOLATION",
    "ANSI_NULLS",
    "ANSI_NULL_DEFAULT",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "AUTO_CLOSE",
    "AUTO_CREATE_STATISTICS",
    "AUTO_SHRINK",
    "AUTO_UPDATE_STATISTICS",
    "AUTO_UPDATE_STATISTICS_ASYNC",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "DATA_RETENTION",
    "DATE_CORRELATION_OPTIMIZATION",
    "DB_CHAINING",
    "ENCRYPTION",
    "HONOR_BROKER_PRIORITY",
    "MIXED_PAGE_ALLOCATION",
    "NUMERIC_ROUNDABORT",
    "QUOTED_IDENTIFIER",
    "READ_COMMITTED_SNAPSHOT",
    "RECURSIVE_TRIGGERS",
    "TEMPORAL_HISTORY_RETENTION",
    "TORN_PAGE_DETECTION",
    "TRUSTWORTHY",
    "VARDECIMAL_STORAGE_FORMAT",
];

impl Parser<'_> {
    /// The rest of CREATE DATABASE.
    pub(super) fn create_database(&mut self) -> Parsed<StatementKind> {
        let start = self.token();
        let mut database = CreateDatabase {
            name: self.ident()?,
            containment: None,
            filegroups: Vec::new(),
            log_files: Vec::new(),
            collation: None,
            options: Vec::new(),
            attach: None,
            snapshot_of: None,
            copy_of: None,
        };
        if self.accept_word("CONTAINMENT") {
            self.expect_symbol(b'=')?;
            database.containment = Some(self.ident()?);
        }
        if self.at(Keyword::On) {
            self.advance();
            database.filegroups = self.filegroup_specs()?;
        }
        if self.at_word("LOG") && self.at_ahead(1, Keyword::On) {
            self.advance();
            self.advance();
            database.log_files = self.comma_list(Self::file_spec)?;
        }
        database.collation = self.collation_opt()?;
        self.create_database_tail(&mut database)?;
        self.check_new_files(&database, start)?;
        Ok(StatementKind::CreateDatabase(Box::new(database)))
    }

    /// Every file has its two names; the logical one of a file that is attached stands in it: 1036.
    fn check_new_files(&self, database: &CreateDatabase, start: Token) -> Parsed<()> {
        let data_files = database.filegroups.iter().flat_map(|group| &group.files);
        for file in data_files.chain(&database.log_files) {
            let missing = match file {
                FileSpec { file_name: None, .. } => "FILENAME",
                FileSpec { name: None, .. } if database.attach.is_none() => "NAME",
                _ => continue,
            };
            return Err(self.error_at(1036, start, missing.to_string()));
        }
        Ok(())
    }

    fn create_database_tail(&mut self, database: &mut CreateDatabase) -> Parsed<()> {
        if self.accept(Keyword::For) {
            database.attach = Some(if self.accept_word("ATTACH_REBUILD_LOG") {
                AttachKind::AttachRebuildLog
            } else if self.accept_word("ATTACH") {
                AttachKind::Attach
            } else {
                self.expect(Keyword::Load)?;
                AttachKind::Attach
            });
        }
        if self.accept(Keyword::As) {
            if self.accept_word("SNAPSHOT") {
                self.expect(Keyword::Of)?;
                database.snapshot_of = Some(self.ident()?);
            } else {
                self.expect_word("COPY")?;
                self.expect(Keyword::Of)?;
                database.copy_of = Some(self.object_name()?);
            }
        }
        if self.at_symbol(b'(') {
            // Cloud editions: CREATE DATABASE d (EDITION = ..).
            database.options = self.option_list()?;
        }
        if self.accept(Keyword::With) {
            let options = self.comma_list(Self::database_create_option)?;
            database.options.extend(options);
        }
        if self.accept(Keyword::For) {
            self.expect_word("ATTACH")?;
            database.attach = Some(AttachKind::Attach);
        }
        Ok(())
    }

    /// An option of CREATE DATABASE .. WITH; `TRUSTWORTHY ON` needs no `=`.
    fn database_create_option(&mut self) -> Parsed<NamedOption> {
        let name = self.ident()?;
        let value = if self.accept_symbol(b'=') {
            Some(self.option_value()?)
        } else if self.at(Keyword::On) || self.at(Keyword::Off) {
            Some(OptionValue::Switch(self.on_off()?, Vec::new()))
        } else if self.at_symbol(b'(') {
            Some(OptionValue::List(self.option_list()?))
        } else {
            None
        };
        Ok(NamedOption { name, value })
    }

    /// `[PRIMARY] (file), .., FILEGROUP g [CONTAINS ..] [DEFAULT] (file), ..`
    fn filegroup_specs(&mut self) -> Parsed<Vec<FilegroupSpec>> {
        let mut groups: Vec<FilegroupSpec> = Vec::new();
        loop {
            if self.at_word("FILEGROUP") {
                groups.push(self.filegroup_head()?);
            } else if groups.is_empty() {
                let primary = self.accept(Keyword::Primary);
                groups.push(FilegroupSpec { primary, ..empty_group() });
            }
            let file = self.file_spec()?;
            match groups.last_mut() {
                Some(group) => group.files.push(file),
                None => return Err(self.unexpected()),
            }
            if !self.accept_symbol(b',') {
                return Ok(groups);
            }
        }
    }

    fn filegroup_head(&mut self) -> Parsed<FilegroupSpec> {
        self.advance();
        let mut group = FilegroupSpec { name: Some(self.ident()?), ..empty_group() };
        loop {
            if self.at(Keyword::Contains) {
                group.contains_memory_optimized = self.filegroup_contents_opt()?;
            } else if self.accept(Keyword::Default) {
                group.is_default = true;
            } else {
                return Ok(group);
            }
        }
    }

    /// `CONTAINS FILESTREAM` (false) or `CONTAINS MEMORY_OPTIMIZED_DATA` (true), if present.
    fn filegroup_contents_opt(&mut self) -> Parsed<Option<bool>> {
        if !self.accept(Keyword::Contains) {
            return Ok(None);
        }
        if self.accept_word("MEMORY_OPTIMIZED_DATA") {
            return Ok(Some(true));
        }
        self.expect_word("FILESTREAM")?;
        Ok(Some(false))
    }

    /// `( NAME = x, FILENAME = '..', .. )`
    fn file_spec(&mut self) -> Parsed<FileSpec> {
        self.expect_symbol(b'(')?;
        let mut file = FileSpec::default();
        loop {
            self.file_property(&mut file)?;
            if !self.accept_symbol(b',') {
                break;
            }
        }
        self.expect_symbol(b')')?;
        Ok(file)
    }

    fn file_property(&mut self, file: &mut FileSpec) -> Parsed<()> {
        if self.accept_word("OFFLINE") {
            file.offline = true;
            return Ok(());
        }
        let token = self.token();
        let property = self.ident()?;
        self.expect_symbol(b'=')?;
        match property.value.to_ascii_uppercase().as_str() {
            "NAME" => file.name = Some(self.ident_or_string()?.value),
            "NEWNAME" => file.new_name = Some(self.ident_or_string()?.value),
            "FILENAME" => file.file_name = Some(self.expect_string()?),
            "SIZE" => file.size = Some(self.file_size()?),
            "MAXSIZE" => file.max_size = Some(self.max_size()?),
            "FILEGROWTH" => file.growth = Some(self.file_size()?),
            _ => return Err(self.unknown_word(&property, token)),
        }
        Ok(())
    }

    fn max_size(&mut self) -> Parsed<MaxSize> {
        if self.accept_word("UNLIMITED") {
            return Ok(MaxSize::Unlimited);
        }
        Ok(MaxSize::Size(self.file_size()?))
    }

    /// `10`, `512KB`, `1.5 GB`, `10 %`
    fn file_size(&mut self) -> Parsed<FileSize> {
        let token = self.token();
        if !matches!(token.kind, TokenKind::Integer | TokenKind::Decimal) {
            return Err(self.unexpected());
        }
        self.advance();
        let amount = self.token_text(token).parse::<f64>().unwrap_or(f64::MAX);
        let unit = match () {
            () if self.accept_word("KB") => Some(SizeUnit::Kb),
            () if self.accept_word("MB") => Some(SizeUnit::Mb),
            () if self.accept_word("GB") => Some(SizeUnit::Gb),
            () if self.accept_word("TB") => Some(SizeUnit::Tb),
            () if self.accept_symbol(b'%') => Some(SizeUnit::Percent),
            () => None,
        };
        Ok(FileSize { amount, unit })
    }

    /// The rest of ALTER DATABASE.
    pub(super) fn alter_database(&mut self) -> Parsed<StatementKind> {
        if self.at_word("SCOPED") && self.word_ahead(1, "CONFIGURATION") {
            self.advance();
            self.advance();
            return self.scoped_configuration();
        }
        let name = if self.accept(Keyword::Current) { None } else { Some(self.ident()?) };
        let action = self.alter_database_action()?;
        Ok(StatementKind::AlterDatabase(Box::new(AlterDatabase { name, action })))
    }

    fn alter_database_action(&mut self) -> Parsed<AlterDatabaseAction> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Set) => {
                self.advance();
                self.set_database_options()
            }
            TokenKind::Keyword(Keyword::Collate) => {
                self.advance();
                Ok(AlterDatabaseAction::Collate(self.ident()?))
            }
            TokenKind::Keyword(Keyword::Add) => {
                self.advance();
                self.add_database_file()
            }
            _ if self.accept_word("REMOVE") => {
                if self.accept_word("FILEGROUP") {
                    return Ok(AlterDatabaseAction::RemoveFilegroup(self.ident()?));
                }
                if !self.accept(Keyword::File) {
                    return Ok(AlterDatabaseAction::Other(format!("REMOVE {}", self.rest_as_text()?)));
                }
                Ok(AlterDatabaseAction::RemoveFile(self.ident_or_string()?.value))
            }
            _ if self.accept_word("MODIFY") => self.modify_database(),
            _ if self.accept_words(&["REBUILD", "LOG"]) => {
                let file = if self.accept(Keyword::On) { Some(self.file_spec()?) } else { None };
                Ok(AlterDatabaseAction::RebuildLog(file))
            }
            _ if self.at_word("FAILOVER") || self.at_word("FORCE_FAILOVER_ALLOW_DATA_LOSS") => {
                Ok(AlterDatabaseAction::Other(self.rest_as_text()?))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn add_database_file(&mut self) -> Parsed<AlterDatabaseAction> {
        if self.accept(Keyword::File) {
            let files = self.comma_list(Self::file_spec)?;
            let filegroup = if self.accept(Keyword::To) {
                self.expect_word("FILEGROUP")?;
                Some(if self.at(Keyword::Primary) || self.at(Keyword::Default) {
                    self.ident_or_keyword()?
                } else {
                    self.ident_or_string()?
                })
            } else {
                None
            };
            return Ok(AlterDatabaseAction::AddFile { files, filegroup });
        }
        if self.accept_word("LOG") {
            self.expect(Keyword::File)?;
            return Ok(AlterDatabaseAction::AddLogFile(self.comma_list(Self::file_spec)?));
        }
        if self.accept_word("FILEGROUP") {
            let name = self.ident()?;
            let contains_memory_optimized = self.filegroup_contents_opt()?;
            return Ok(AlterDatabaseAction::AddFilegroup { name, contains_memory_optimized });
        }
        if self.at_word("SECONDARY") {
            return Ok(AlterDatabaseAction::Other(format!("ADD {}", self.rest_as_text()?)));
        }
        Err(self.unexpected())
    }

    fn modify_database(&mut self) -> Parsed<AlterDatabaseAction> {
        if self.accept_word("NAME") {
            self.expect_symbol(b'=')?;
            return Ok(AlterDatabaseAction::ModifyName(self.ident()?));
        }
        if self.accept(Keyword::File) {
            return Ok(AlterDatabaseAction::ModifyFile(self.file_spec()?));
        }
        if self.accept_word("FILEGROUP") {
            let name = match self.at(Keyword::Primary) {
                true => self.ident_or_keyword()?,
                false => self.ident()?,
            };
            let property_name = self.ident_or_keyword()?;
            let value = if self.accept_symbol(b'=') { Some(self.option_value()?) } else { None };
            let property = NamedOption { name: property_name, value };
            let termination = self.termination_opt()?;
            return Ok(AlterDatabaseAction::ModifyFilegroup { name, property, termination });
        }
        if self.at_symbol(b'(') || self.at(Keyword::Backup) {
            return Ok(AlterDatabaseAction::Other(format!("MODIFY {}", self.rest_as_text()?)));
        }
        Err(self.unexpected())
    }

    fn set_database_options(&mut self) -> Parsed<AlterDatabaseAction> {
        let options = self.comma_list(Self::database_option)?;
        let termination = self.termination_opt()?;
        Ok(AlterDatabaseAction::Set { options, termination })
    }

    fn database_option(&mut self) -> Parsed<DatabaseOption> {
        let name = self.ident_or_keyword()?;
        if STATES.iter().any(|state| name.is(state)) {
            return Ok(DatabaseOption::State(name));
        }
        match name.value.to_ascii_uppercase().as_str() {
            "DELAYED_DURABILITY" => return Ok(DatabaseOption::DelayedDurability(self.delayed_durability()?)),
            "RECOVERY" => return Ok(DatabaseOption::Recovery(self.recovery_model()?)),
            "HADR" | "PARTNER" | "WITNESS" => {
                return Ok(DatabaseOption::Other(name, self.rest_as_text()?));
            }
            "PAGE_VERIFY" | "CURSOR_DEFAULT" | "PARAMETERIZATION" => {
                return Ok(DatabaseOption::Word(name, self.ident_or_keyword()?));
            }
            _ => {}
        }
        if self.at_symbol(b'=') && BARE_SWITCHES.iter().any(|switch| name.is(switch)) {
            return Err(self.unexpected());
        }
        if self.at_symbol(b'=') || self.at_symbol(b'(') {
            let value = if self.accept_symbol(b'=') {
                self.option_value()?
            } else {
                OptionValue::List(self.option_list()?)
            };
            let unit_is_missing = match &value {
                OptionValue::Value(_, unit) => !unit.as_ref().is_some_and(is_unit_of_time),
                _ => true,
            };
            if name.is("TARGET_RECOVERY_TIME") && unit_is_missing {
                return Err(self.unexpected_at(self.position - 1));
            }
            return Ok(DatabaseOption::Value(NamedOption { name, value: Some(value) }));
        }
        if self.at(Keyword::On) || self.at(Keyword::Off) {
            return Ok(DatabaseOption::Switch(name, self.on_off()?));
        }
        // QUERY_STORE CLEAR [ALL]
        if self.at_ident() {
            let mut word = self.ident()?;
            if self.accept(Keyword::All) {
                word.value.push_str(" ALL");
            }
            return Ok(DatabaseOption::Word(name, word));
        }
        Err(self.unexpected())
    }

    /// `= DISABLED | ALLOWED | FORCED`, with Hardpan's `(MAX_DELAY = 10 MS, MAX_LOSS = 480 KB)` behind.
    fn delayed_durability(&mut self) -> Parsed<DelayedDurability> {
        self.expect_symbol(b'=')?;
        let mode = match () {
            () if self.accept_word("DISABLED") => DelayedDurabilityMode::Disabled,
            () if self.accept_word("ALLOWED") => DelayedDurabilityMode::Allowed,
            () if self.accept_word("FORCED") => DelayedDurabilityMode::Forced,
            () => return Err(self.unexpected()),
        };
        let mut durability = DelayedDurability { mode, ..DelayedDurability::default() };
        if self.at_symbol(b'(') {
            for option in self.option_list()? {
                self.durability_bound(&mut durability, option)?;
            }
        }
        Ok(durability)
    }

    fn durability_bound(&self, durability: &mut DelayedDurability, option: NamedOption) -> Parsed<()> {
        let amount = match &option.value {
            Some(OptionValue::Value(Expr { kind: ExprKind::Literal(Literal::Int(n)), .. }, unit)) => {
                let amount = u64::try_from(*n).ok();
                amount.zip(Some(unit.as_ref().map_or(String::new(), |unit| unit.value.to_ascii_uppercase())))
            }
            _ => None,
        };
        let scale = |units: &[(&str, u64)]| {
            let (amount, unit) = amount.as_ref()?;
            units.iter().find(|(word, _)| word == unit).map(|(_, factor)| amount * factor)
        };
        if option.name.is("MAX_DELAY") {
            durability.max_delay_ms = scale(&[("", 1), ("MS", 1), ("SECONDS", 1000), ("S", 1000)]);
            if durability.max_delay_ms.is_none() {
                return Err(self.unexpected_at(self.position - 1));
            }
        } else if option.name.is("MAX_LOSS") {
            durability.max_loss_bytes =
                scale(&[("", 1), ("B", 1), ("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)]);
            if durability.max_loss_bytes.is_none() {
                return Err(self.unexpected_at(self.position - 1));
            }
        } else {
            durability.options.push(option);
        }
        Ok(())
    }

    fn recovery_model(&mut self) -> Parsed<RecoveryModel> {
        if self.accept(Keyword::Full) {
            return Ok(RecoveryModel::Full);
        }
        if self.accept_word("SIMPLE") {
            return Ok(RecoveryModel::Simple);
        }
        self.expect_word("BULK_LOGGED")?;
        Ok(RecoveryModel::BulkLogged)
    }

    /// `WITH ROLLBACK AFTER n [SECONDS] | ROLLBACK IMMEDIATE | NO_WAIT`, if present.
    fn termination_opt(&mut self) -> Parsed<Option<Termination>> {
        if !self.at(Keyword::With) || !(self.at_ahead(1, Keyword::Rollback) || self.word_ahead(1, "NO_WAIT"))
        {
            return Ok(None);
        }
        self.advance();
        if self.accept_word("NO_WAIT") {
            return Ok(Some(Termination::NoWait));
        }
        self.advance();
        if self.accept_word("IMMEDIATE") {
            return Ok(Some(Termination::RollbackImmediate));
        }
        self.expect_word("AFTER")?;
        let token = self.token();
        if token.kind != TokenKind::Integer {
            return Err(self.unexpected());
        }
        self.advance();
        self.accept_word("SECONDS");
        Ok(Some(Termination::RollbackAfter(self.token_text(token).parse().unwrap_or(u32::MAX))))
    }

    fn scoped_configuration(&mut self) -> Parsed<StatementKind> {
        let for_secondary = self.accept_words(&["FOR", "SECONDARY"]);
        let action = if self.accept_word("CLEAR") {
            let what = self.ident()?;
            let handle = if self.kind() == TokenKind::Binary { Some(self.value()?) } else { None };
            ScopedConfiguration::Clear(what, handle)
        } else {
            self.expect(Keyword::Set)?;
            let name = self.ident_or_keyword()?;
            self.expect_symbol(b'=')?;
            ScopedConfiguration::Set(NamedOption { name, value: Some(self.option_value()?) })
        };
        let configuration = AlterDatabaseScopedConfiguration { for_secondary, action };
        Ok(StatementKind::AlterDatabaseScopedConfiguration(Box::new(configuration)))
    }

    /// The rest of DROP DATABASE.
    pub(super) fn drop_database(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let names: Vec<Ident> = self.comma_list(Self::ident)?;
        Ok(StatementKind::DropDatabase(Box::new(DropDatabase { if_exists, names })))
    }
}

fn is_unit_of_time(word: &Ident) -> bool {
    word.is("SECONDS") || word.is("MINUTES")
}

fn empty_group() -> FilegroupSpec {
    FilegroupSpec {
        name: None,
        primary: false,
        is_default: false,
        contains_memory_optimized: None,
        files: Vec::new(),
    }
}
