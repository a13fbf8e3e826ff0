//! CREATE, ALTER and DROP DATABASE.

use super::{Expr, Ident, NamedOption};

/// CREATE DATABASE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateDatabase {
    pub name: Ident,
    /// CONTAINMENT = NONE|PARTIAL
    pub containment: Option<Ident>,
    /// Files of ON, grouped; the first group is PRIMARY unless named.
    pub filegroups: Vec<FilegroupSpec>,
    pub log_files: Vec<FileSpec>,
    pub collation: Option<Ident>,
    /// WITH options, FOR ATTACH options.
    pub options: Vec<NamedOption>,
    pub attach: Option<AttachKind>,
    /// AS SNAPSHOT OF name
    pub snapshot_of: Option<Ident>,
    /// AS COPY OF [server.]database
    pub copy_of: Option<super::ObjectName>,
}

/// FOR ATTACH..
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AttachKind {
    Attach,
    AttachRebuildLog,
}

/// Files of one filegroup.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct FilegroupSpec {
    /// None for PRIMARY.
    pub name: Option<Ident>,
    /// PRIMARY written.
    pub primary: bool,
    pub is_default: bool,
    /// CONTAINS FILESTREAM (false) or MEMORY_OPTIMIZED_DATA (true).
    pub contains_memory_optimized: Option<bool>,
    pub files: Vec<FileSpec>,
}

/// `(NAME = .., FILENAME = .., SIZE = .., MAXSIZE = .., FILEGROWTH = ..)`
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct FileSpec {
    /// Logical name.
    pub name: Option<String>,
    pub new_name: Option<String>,
    pub file_name: Option<String>,
    pub size: Option<FileSize>,
    pub max_size: Option<MaxSize>,
    pub growth: Option<FileSize>,
    pub offline: bool,
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileSize {
    /// Amount as written.
    pub amount: f64,
    /// None means MB.
    pub unit: Option<SizeUnit>,
}

/// Units of file sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SizeUnit {
    Kb,
    Mb,
    Gb,
    Tb,
    Percent,
}

/// MAXSIZE.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum MaxSize {
    Unlimited,
    Size(FileSize),
}

/// ALTER DATABASE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterDatabase {
    /// None for CURRENT.
    pub name: Option<Ident>,
    pub action: AlterDatabaseAction,
}

/// What ALTER DATABASE does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum AlterDatabaseAction {
    ModifyName(Ident),
    Collate(Ident),
    AddFile {
        files: Vec<FileSpec>,
        filegroup: Option<Ident>,
    },
    AddLogFile(Vec<FileSpec>),
    RemoveFile(String),
    ModifyFile(FileSpec),
    AddFilegroup {
        name: Ident,
        contains_memory_optimized: Option<bool>,
    },
    RemoveFilegroup(Ident),
    /// DEFAULT, READ_ONLY, NAME = x, AUTOGROW_ALL_FILES, ..
    ModifyFilegroup {
        name: Ident,
        property: NamedOption,
        termination: Option<Termination>,
    },
    Set {
        options: Vec<DatabaseOption>,
        termination: Option<Termination>,
    },
    /// REBUILD LOG ON file
    RebuildLog(Option<FileSpec>),
    /// MODIFY (EDITION = ..), ADD SECONDARY.., FAILOVER ..: kept as text.
    Other(String),
}

/// WITH ROLLBACK AFTER n | ROLLBACK IMMEDIATE | NO_WAIT
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Termination {
    RollbackAfter(u32),
    RollbackImmediate,
    NoWait,
}

/// One option of ALTER DATABASE .. SET.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum DatabaseOption {
    /// ANSI_NULLS ON, READ_COMMITTED_SNAPSHOT ON, AUTO_CLOSE OFF, ...; the name as written.
    Switch(Ident, bool),
    DelayedDurability(DelayedDurability),
    Recovery(RecoveryModel),
    /// READ_ONLY, READ_WRITE, ONLINE, OFFLINE, EMERGENCY, SINGLE_USER, RESTRICTED_USER, MULTI_USER,
    /// ENABLE_BROKER, NEW_BROKER, ...
    State(Ident),
    /// PAGE_VERIFY CHECKSUM, CURSOR_DEFAULT GLOBAL, PARAMETERIZATION FORCED
    Word(Ident, Ident),
    /// COMPATIBILITY_LEVEL = 150, TARGET_RECOVERY_TIME = 60 SECONDS, CONTAINMENT = NONE,
    /// QUERY_STORE = ON (..), CHANGE_TRACKING (..), ACCELERATED_DATABASE_RECOVERY = ON, ...
    Value(NamedOption),
    /// HADR .., PARTNER .., WITNESS ..: kept as text.
    Other(Ident, String),
}

/// DELAYED_DURABILITY with the bounds that Hardpan adds:
/// `DELAYED_DURABILITY = ALLOWED (MAX_DELAY = 10 MS, MAX_LOSS = 480 KB)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DelayedDurability {
    /// DISABLED, ALLOWED, FORCED.
    pub mode: DelayedDurabilityMode,
    /// MAX_DELAY in milliseconds.
    pub max_delay_ms: Option<u64>,
    /// MAX_LOSS in bytes.
    pub max_loss_bytes: Option<u64>,
    /// FLUSH = EAGER | BLOCK_FULL | TIMED (n MS) and further options of ours.
    pub options: Vec<NamedOption>,
}

/// Mode of DELAYED_DURABILITY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum DelayedDurabilityMode {
    #[default]
    Disabled,
    Allowed,
    Forced,
}

/// RECOVERY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RecoveryModel {
    Full,
    BulkLogged,
    Simple,
}

/// DROP DATABASE [IF EXISTS] names
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DropDatabase {
    pub if_exists: bool,
    pub names: Vec<Ident>,
}

/// ALTER DATABASE SCOPED CONFIGURATION
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterDatabaseScopedConfiguration {
    pub for_secondary: bool,
    pub action: ScopedConfiguration,
}

/// SET name = value or CLEAR.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ScopedConfiguration {
    Set(NamedOption),
    /// CLEAR PROCEDURE_CACHE [plan handle]
    Clear(Ident, Option<Expr>),
}
