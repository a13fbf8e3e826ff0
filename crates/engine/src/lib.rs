//! Databases as whole things: instance, catalog, checkpoint, recovery, tempdb.
//!
//! The doors: [`Instance`] (a data directory), [`Database`] (one of its databases), [`TransactionSet`] and [`DbTransaction`] (a session's
//! work in them), [`Catalog`] with its definitions, [`Table`] and [`Cursor`] (rows by value). Knows no syntax tree, no session, no network.

mod acknowledgement;
mod catalog;
mod check;
mod checkpoint;
mod configuration;
mod counters;
mod cursor;
mod database;
mod db_transaction;
mod decision;
pub mod doctor;
mod error;
mod files;
mod filter;
mod ghost_cleanup;
mod identity;
mod instance;
mod log_scan;
mod lookup;
mod model;
mod open;
mod options;
mod read_point;
mod recover;
mod registry;
mod row_counts;
mod row_version;
mod schema;
mod sequence;
mod shutdown;
mod statistics;
mod table;
mod ticket;
mod transaction_set;
mod version_counters;
mod versioning;
mod workspace;

pub use access::{
    Accepted, Condition, ConditionKind, UnitUsage, decode_variable, encode_variable, is_fixed_length,
};
pub use acknowledgement::Acknowledgement;
pub use catalog::{
    AlteredSequence, CONSTRAINT_NAME_TAKEN, Catalog, CatalogImage, CatalogUndo, ColumnFill, Entry, EntryKey,
    FIRST_USER_TYPE_ID, MessageDef, NewColumn, NewConstraint, NewFilter, NewForeignKey, NewIndex,
    NewSequence, NewTable, PropertyDef, PropertyOwner, TablePart, TypeDef,
};
pub use configuration::{
    ALLOW_UPDATES, ConfigurationOption, MIN_QUERY_MEMORY, OPTIONS as CONFIGURATION_OPTIONS, QUERY_WAIT,
    SHOW_ADVANCED_OPTIONS, USER_OPTIONS,
};
pub use cursor::Cursor;
pub use database::{Database, date_time_of};
pub use db_transaction::{DbSavepoint, DbTransaction};
pub use error::{STALE_PLAN, SqlResult, StorageError, interrupted, stale_plan};
pub use files::FilePlaces;
pub use filter::{FilterOp, FilterTerm, FilterTest, IndexFilter};
pub use identity::{
    NUMBER_MAX as IDENTITY_NUMBER_MAX, number_of as identity_number, value_of as identity_value,
};
pub use instance::{
    CreateDatabaseOptions, DataShrink, DatabaseInfo, FIRST_USER_DATABASE, FileChange, Instance,
    InstanceOptions, LOG_CACHE_FOLDER, MASTER, MODEL, MSDB, NewDatabaseFile, ShrinkAim, ShrinkHeld,
    ShrunkFile, TEMPDB,
};
pub use log::records::LogTime;
pub use log::{
    Body as LogBody, DelayedFlushPolicy, FIRST_LOG_FILE, Growth, LogContext, LogLimitsProfile, LogReuseWait,
    LogScan, LossBounds, LossFigures, LossWindowInfo, Lsn, RecordHeader, ScanRange, ScanStep, TxnId, VlfRule,
    describe as describe_log_record,
};
pub use lookup::Lookup;
pub use options::{DatabaseOptions, DatabaseState, DelayedDurability, OptionChange, RecoveryModel};
pub use pages::Growth as DataGrowth;
pub use registry::{DataFileShape, DatabaseDataFile, DatabaseLogFile, FilePhase};
pub use row_counts::Density;
pub use schema::*;
pub use sequence::{
    AHEAD_RANGES_MAX, DEFAULT_CACHE, HardenAhead, SequenceCache, SequenceCounter, SequenceDef, SequenceRange,
    SequenceState,
};
pub use statistics::{
    FIRST_COLUMN_STATISTICS_ID, HistogramStep, NewStatistics, PrefixDensity, STEPS_MAX, SampleSize,
    StatisticsCollector, StatisticsContent, StatisticsDef,
};
pub use table::io::{TableIo, measure_io, take_io};
pub use table::{
    CheckOptions, Halves, KeyRange, KeyValues, RowChange, RowLocator, RowLock, ScanOptions, Table,
    TableCheck, Victim,
};
pub use ticket::{COMMIT_TICKET_BYTES, CommitStatus, CommitTicket};
pub use transaction_set::{BlockSavepoint, CommitRequest, CommitResult, ExclusiveDatabase, TransactionSet};
pub use txn::{Before, IsolationLevel, LockMode, LockOwner, LockRow, LockWait, Resource, SnapshotKind};
pub use versioning::{COMMITTED_SNAPSHOT_SWITCH, SNAPSHOT_SWITCH, SnapshotState};
pub use workspace::spill::{BLOCK_BYTES as SPILL_BLOCK_BYTES, Run, RunReader, RunWriter, SpillFile};
pub use workspace::{Grant, GrantRequest, GrantRow, WorkspaceFigures, Workspaces};
