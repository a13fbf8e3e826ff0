//! Databases, BACKUP, RESTORE, USE.

use super::Printer;
use crate::ast::{
    AlterDatabaseAction, AttachKind, Backup, BackupDatabaseName, BackupDevice, BackupFile, BackupKind,
    CreateDatabase, DatabaseOption, DelayedDurability, DelayedDurabilityMode, FileSize, FileSpec,
    FilegroupSpec, MaxSize, RecoveryModel, Restore, RestoreKind, ScopedConfiguration, SizeUnit,
    StatementKind, Termination,
};

impl Printer {
    pub(super) fn database_statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::CreateDatabase(database) => self.create_database(database),
            StatementKind::AlterDatabase(alter) => {
                self.w("ALTER DATABASE ");
                match &alter.name {
                    Some(name) => self.ident(name),
                    None => self.w("CURRENT"),
                }
                self.w(" ");
                self.alter_database(&alter.action);
            }
            StatementKind::DropDatabase(drop) => {
                self.w("DROP DATABASE ");
                self.flag("IF EXISTS ", drop.if_exists);
                self.idents(&drop.names);
            }
            StatementKind::AlterDatabaseScopedConfiguration(alter) => {
                self.w("ALTER DATABASE SCOPED CONFIGURATION ");
                self.flag("FOR SECONDARY ", alter.for_secondary);
                match &alter.action {
                    ScopedConfiguration::Set(option) => {
                        self.w("SET ");
                        self.option(option);
                    }
                    ScopedConfiguration::Clear(what, handle) => {
                        self.w("CLEAR ");
                        self.ident(what);
                        self.opt(" ", handle, Self::expr);
                    }
                }
            }
            StatementKind::Use(name) => {
                self.w("USE ");
                self.ident(name);
            }
            StatementKind::Backup(backup) => self.backup(backup),
            StatementKind::Restore(restore) => self.restore(restore),
            _ => {}
        }
    }

    fn create_database(&mut self, database: &CreateDatabase) {
        self.w("CREATE DATABASE ");
        self.ident(&database.name);
        self.opt(" CONTAINMENT = ", &database.containment, Self::ident);
        if !database.filegroups.is_empty() {
            self.w(" ON ");
            self.list(&database.filegroups, Self::filegroup);
        }
        if !database.log_files.is_empty() {
            self.w(" LOG ON ");
            self.list(&database.log_files, Self::file);
        }
        self.opt(" COLLATE ", &database.collation, Self::ident);
        match database.attach {
            Some(AttachKind::Attach) => self.w(" FOR ATTACH"),
            Some(AttachKind::AttachRebuildLog) => self.w(" FOR ATTACH_REBUILD_LOG"),
            None => {}
        }
        self.opt(" AS SNAPSHOT OF ", &database.snapshot_of, Self::ident);
        self.opt(" AS COPY OF ", &database.copy_of, Self::name);
        self.bare_options(&database.options);
    }

    fn filegroup(&mut self, group: &FilegroupSpec) {
        self.flag("PRIMARY ", group.primary);
        self.opt("FILEGROUP ", &group.name, |p, name| {
            p.ident(name);
            p.w(" ");
        });
        self.opt("", &group.contains_memory_optimized, |p, memory| p.contents(*memory));
        self.flag("DEFAULT ", group.is_default);
        self.list(&group.files, Self::file);
    }

    fn contents(&mut self, memory_optimized: bool) {
        self.w(if memory_optimized { "CONTAINS MEMORY_OPTIMIZED_DATA " } else { "CONTAINS FILESTREAM " });
    }

    fn file(&mut self, file: &FileSpec) {
        self.w("(");
        let mut first = true;
        let mut comma = |p: &mut Self| p.flag(", ", !std::mem::take(&mut first));
        for (word, text) in
            [("NAME = ", &file.name), ("NEWNAME = ", &file.new_name), ("FILENAME = ", &file.file_name)]
        {
            if let Some(text) = text {
                comma(self);
                self.w(word);
                self.w("N");
                self.string(text);
            }
        }
        if let Some(size) = &file.size {
            comma(self);
            self.w("SIZE = ");
            self.file_size(size);
        }
        match &file.max_size {
            Some(MaxSize::Unlimited) => {
                comma(self);
                self.w("MAXSIZE = UNLIMITED");
            }
            Some(MaxSize::Size(size)) => {
                comma(self);
                self.w("MAXSIZE = ");
                self.file_size(size);
            }
            None => {}
        }
        if let Some(size) = &file.growth {
            comma(self);
            self.w("FILEGROWTH = ");
            self.file_size(size);
        }
        if file.offline {
            comma(self);
            self.w("OFFLINE");
        }
        self.w(")");
    }

    fn file_size(&mut self, size: &FileSize) {
        self.w(&size.amount.to_string());
        self.w(match size.unit {
            Some(SizeUnit::Kb) => " KB",
            Some(SizeUnit::Mb) => " MB",
            Some(SizeUnit::Gb) => " GB",
            Some(SizeUnit::Tb) => " TB",
            Some(SizeUnit::Percent) => "%",
            None => "",
        });
    }

    fn alter_database(&mut self, action: &AlterDatabaseAction) {
        match action {
            AlterDatabaseAction::ModifyName(name) => {
                self.w("MODIFY NAME = ");
                self.ident(name);
            }
            AlterDatabaseAction::Collate(collation) => {
                self.w("COLLATE ");
                self.ident(collation);
            }
            AlterDatabaseAction::AddFile { files, filegroup } => {
                self.w("ADD FILE ");
                self.list(files, Self::file);
                self.opt(" TO FILEGROUP ", filegroup, Self::ident);
            }
            AlterDatabaseAction::AddLogFile(files) => {
                self.w("ADD LOG FILE ");
                self.list(files, Self::file);
            }
            AlterDatabaseAction::RemoveFile(name) => {
                self.w("REMOVE FILE [");
                self.w(&name.replace(']', "]]"));
                self.w("]");
            }
            AlterDatabaseAction::ModifyFile(file) => {
                self.w("MODIFY FILE ");
                self.file(file);
            }
            AlterDatabaseAction::AddFilegroup { name, contains_memory_optimized } => {
                self.w("ADD FILEGROUP ");
                self.ident(name);
                self.opt(" ", contains_memory_optimized, |p, memory| p.contents(*memory));
            }
            AlterDatabaseAction::RemoveFilegroup(name) => {
                self.w("REMOVE FILEGROUP ");
                self.ident(name);
            }
            AlterDatabaseAction::ModifyFilegroup { name, property, termination } => {
                self.w("MODIFY FILEGROUP ");
                self.ident(name);
                self.w(" ");
                self.option(property);
                self.termination(*termination);
            }
            AlterDatabaseAction::Set { options, termination } => {
                self.w("SET ");
                self.list(options, Self::database_option);
                self.termination(*termination);
            }
            AlterDatabaseAction::RebuildLog(file) => {
                self.w("REBUILD LOG");
                self.opt(" ON ", file, Self::file);
            }
            AlterDatabaseAction::Other(text) => self.w(text),
        }
    }

    fn termination(&mut self, termination: Option<Termination>) {
        match termination {
            Some(Termination::RollbackAfter(seconds)) => {
                self.w(&format!(" WITH ROLLBACK AFTER {seconds} SECONDS"))
            }
            Some(Termination::RollbackImmediate) => self.w(" WITH ROLLBACK IMMEDIATE"),
            Some(Termination::NoWait) => self.w(" WITH NO_WAIT"),
            None => {}
        }
    }

    fn database_option(&mut self, option: &DatabaseOption) {
        match option {
            DatabaseOption::Switch(name, on) => {
                self.ident(name);
                self.w(" ");
                self.on_off(*on);
            }
            DatabaseOption::DelayedDurability(durability) => self.delayed_durability(durability),
            DatabaseOption::Recovery(model) => self.w(match model {
                RecoveryModel::Full => "RECOVERY FULL",
                RecoveryModel::BulkLogged => "RECOVERY BULK_LOGGED",
                RecoveryModel::Simple => "RECOVERY SIMPLE",
            }),
            DatabaseOption::State(name) => self.ident(name),
            DatabaseOption::Word(name, value) => {
                self.ident(name);
                self.w(" ");
                self.ident(value);
            }
            DatabaseOption::Value(option) => self.option(option),
            DatabaseOption::Other(name, text) => {
                self.ident(name);
                self.w(" ");
                self.w(text);
            }
        }
    }

    fn delayed_durability(&mut self, durability: &DelayedDurability) {
        self.w(match durability.mode {
            DelayedDurabilityMode::Disabled => "DELAYED_DURABILITY = DISABLED",
            DelayedDurabilityMode::Allowed => "DELAYED_DURABILITY = ALLOWED",
            DelayedDurabilityMode::Forced => "DELAYED_DURABILITY = FORCED",
        });
        let mut bounds = Vec::new();
        bounds.extend(durability.max_delay_ms.map(|ms| format!("MAX_DELAY = {ms} MS")));
        bounds.extend(durability.max_loss_bytes.map(|bytes| match bytes % 1024 {
            0 => format!("MAX_LOSS = {} KB", bytes / 1024),
            _ => format!("MAX_LOSS = {bytes} B"),
        }));
        if bounds.is_empty() && durability.options.is_empty() {
            return;
        }
        self.w(" (");
        self.w(&bounds.join(", "));
        for (index, option) in durability.options.iter().enumerate() {
            self.flag(", ", index > 0 || !bounds.is_empty());
            self.option(option);
        }
        self.w(")");
    }

    fn database_name(&mut self, name: &BackupDatabaseName) {
        match name {
            BackupDatabaseName::Name(name) => self.ident(name),
            BackupDatabaseName::Variable(name) => self.w(name),
        }
    }

    fn backup_files(&mut self, files: &[BackupFile]) {
        self.flag(" ", !files.is_empty());
        self.list(files, |p, file| {
            let (word, value) = match file {
                BackupFile::File(value) => ("FILE = ", value),
                BackupFile::Filegroup(value) => ("FILEGROUP = ", value),
                BackupFile::Page(value) => ("PAGE = ", value),
                BackupFile::ReadWriteFilegroups => return p.w("READ_WRITE_FILEGROUPS"),
            };
            p.w(word);
            p.expr(value);
        });
    }

    fn device(&mut self, device: &BackupDevice) {
        match device {
            BackupDevice::Physical(word, value) => {
                self.ident(word);
                self.w(" = ");
                self.expr(value);
            }
            BackupDevice::Logical(name) => self.database_name(name),
        }
    }

    fn backup(&mut self, backup: &Backup) {
        self.w(if backup.kind == BackupKind::Log { "BACKUP LOG " } else { "BACKUP DATABASE " });
        self.database_name(&backup.database);
        self.backup_files(&backup.files);
        if !backup.to.is_empty() {
            self.w(" TO ");
            self.list(&backup.to, Self::device);
        }
        for mirror in &backup.mirrors {
            self.w(" MIRROR TO ");
            self.list(mirror, Self::device);
        }
        self.bare_options(&backup.options);
    }

    fn restore(&mut self, restore: &Restore) {
        self.w(match restore.kind {
            RestoreKind::Database => "RESTORE DATABASE ",
            RestoreKind::Log => "RESTORE LOG ",
            RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
            RestoreKind::FileListOnly => "RESTORE FILELISTONLY",
            RestoreKind::LabelOnly => "RESTORE LABELONLY",
            RestoreKind::VerifyOnly => "RESTORE VERIFYONLY",
            RestoreKind::RewindOnly => "RESTORE REWINDONLY",
        });
        self.opt("", &restore.database, Self::database_name);
        self.backup_files(&restore.files);
        if !restore.from.is_empty() {
            self.w(" FROM ");
            self.list(&restore.from, Self::device);
        }
        self.opt(" FROM DATABASE_SNAPSHOT = ", &restore.from_snapshot, Self::ident);
        self.flag(" WITH ", !restore.options.is_empty() || !restore.moves.is_empty());
        self.options(&restore.options);
        self.flag(", ", !restore.options.is_empty() && !restore.moves.is_empty());
        self.list(&restore.moves, |p, (from, to)| {
            p.w("MOVE ");
            p.expr(from);
            p.w(" TO ");
            p.expr(to);
        });
    }
}
