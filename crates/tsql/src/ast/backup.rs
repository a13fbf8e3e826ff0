//! BACKUP and RESTORE.

use super::{Expr, Ident, NamedOption};

/// BACKUP DATABASE|LOG.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Backup {
    pub kind: BackupKind,
    pub database: BackupDatabaseName,
    /// FILE = .., FILEGROUP = .., READ_WRITE_FILEGROUPS
    pub files: Vec<BackupFile>,
    pub to: Vec<BackupDevice>,
    /// MIRROR TO
    pub mirrors: Vec<Vec<BackupDevice>>,
    pub options: Vec<NamedOption>,
}

/// What is backed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BackupKind {
    Database,
    Log,
}

/// A name or a variable.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum BackupDatabaseName {
    Name(Ident),
    Variable(String),
}

/// Part of a database.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum BackupFile {
    File(Expr),
    Filegroup(Expr),
    ReadWriteFilegroups,
    Page(Expr),
}

/// Where to or from.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum BackupDevice {
    /// DISK = .., TAPE = .., URL = .., VIRTUAL_DEVICE = ..: the word and the value.
    Physical(Ident, Expr),
    /// Logical device.
    Logical(BackupDatabaseName),
}

/// RESTORE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Restore {
    pub kind: RestoreKind,
    /// None for HEADERONLY and friends.
    pub database: Option<BackupDatabaseName>,
    pub files: Vec<BackupFile>,
    pub from: Vec<BackupDevice>,
    /// FROM DATABASE_SNAPSHOT = name
    pub from_snapshot: Option<Ident>,
    /// MOVE 'a' TO 'b' comes as option `MOVE` with a list of two values.
    pub options: Vec<NamedOption>,
    /// MOVE logical TO physical
    pub moves: Vec<(Expr, Expr)>,
}

/// Which RESTORE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RestoreKind {
    Database,
    Log,
    HeaderOnly,
    FileListOnly,
    LabelOnly,
    VerifyOnly,
    RewindOnly,
}
