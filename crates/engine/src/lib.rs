//! Databases as a whole: instance, catalog, checkpoint, recovery, tempdb.
//!
//! The entry points: [`Instance`] (a data directory), [`Database`] (one of its databases), [`TransactionSet`] and [`DbTransaction`] (a session's
//! transactions in them), [`Catalog`] with its definitions, [`Table`] and [`Cursor`] (rows by value). Knows no syntax tree, no session, no network.

mod acknowledgement;
mod background;
mod catalog;
mod catalog_dependencies;
mod check;
mod checkpoint;
mod checkpoint_state;
mod configuration;
mod counters;
mod database;
mod database_counters;
mod db_transaction;
mod decision;
mod definition;
pub mod doctor;
mod error;
mod files;
mod filter;
mod ghost_cleanup;
mod identity;
mod incarnations;
mod index_settings;
mod index_uses;
mod instance;
mod known_commits;
mod log_scan;
mod lookup;
mod missing_indexes;
mod model;
mod object_id;
mod open;
mod options;
mod points_held;
mod quiesce;
mod read_point;
mod recover;
mod registry;
mod row_counts;
mod row_version;
mod schema;
mod sequence;
mod sequence_def;
mod shared_lock;
mod shutdown;
mod snapshot_state;
mod statistics;
mod system_databases;
mod table;
mod table_statistics;
mod ticket;
mod transaction_set;
mod trigger_def;
mod value_notes;
mod version_counters;
mod versioning;
mod workspace;

pub use access::{
    Accepted, Condition, ConditionKind, LevelFigures, LookAt, NumberSet, NumberStep, NumberSteps, NumberTest,
    UnitFigures, UnitUsage, UnitUse, UnitUses, compare_as_numbers, decode_variable, encode_variable,
    is_fixed_length,
};
pub use acknowledgement::Acknowledgement;
pub use catalog::{
    Catalog, CatalogImage, CatalogUndo, Entry, EntryKey, FIRST_USER_TYPE_ID, MessageDef, PropertyDef,
    PropertyOwner, TABLE_SYSTEM_TYPE_ID, TypeDef,
};
pub use catalog_dependencies::{CatalogDependencies, Validity};
pub use configuration::{
    ALLOW_UPDATES, ConfigurationOption, MIN_QUERY_MEMORY, NESTED_TRIGGERS, OPTIONS as CONFIGURATION_OPTIONS,
    QUERY_WAIT, SHOW_ADVANCED_OPTIONS, USER_OPTIONS,
};
pub use database::{Database, date_time_of};
pub use db_transaction::{DbSavepoint, DbTransaction};
pub use definition::{
    AlteredSequence, CONSTRAINT_NAME_TAKEN, ColumnFill, ColumnProperty, NewColumn, NewConstraint, NewFilter,
    NewForeignKey, NewIndex, NewSequence, NewTable, NewTrigger, TablePart,
};
pub use error::{SqlResult, StorageError, interrupted};
pub use files::FilePlaces;
pub use filter::{FilterOp, FilterTerm, FilterTest, IndexFilter};
pub use identity::{
    NUMBER_MAX as IDENTITY_NUMBER_MAX, number_of as identity_number, value_of as identity_value,
};
pub use index_settings::{IndexSettings, IndexSettingsChange};
pub use index_uses::{INDEX_USES, IndexUse, IndexUses, UsesTold};
pub use instance::{
    CreateDatabaseOptions, DataShrink, DatabaseInfo, FileChange, Instance, InstanceOptions, LOG_CACHE_FOLDER,
    NewDatabaseFile, ShrinkAim, ShrinkHeld, ShrunkFile,
};
pub use log::records::LogTime;
pub use log::{
    Body as LogBody, DelayedFlushPolicy, FIRST_LOG_FILE, Growth, LogContext, LogLimitsProfile, LogOp,
    LogReuseWait, LogScan, LossBounds, LossFigures, LossWindowInfo, Lsn, RecordHeader, ScanRange, ScanStep,
    TxnId, VlfRule, describe as describe_log_record,
};
pub use lookup::{Lookup, US_ENGLISH};
pub use missing_indexes::{
    MISSING_INDEXES_MAX, MissedRun, MissingIndex, MissingIndexFigures, MissingIndexes,
};
pub use options::{DatabaseOptions, DatabaseState, DelayedDurability, OptionChange, RecoveryModel};
pub use pages::Growth as DataGrowth;
pub use pages::PageType;
pub use registry::{DataFileShape, DatabaseDataFile, DatabaseLogFile, FilePhase};
pub use row_counts::Density;
pub use schema::*;
pub use sequence_def::{
    AHEAD_RANGES_MAX, Counting, DEFAULT_CACHE, HardenAhead, SequenceCache, SequenceCounter, SequenceDef,
    SequenceRange, SequenceState,
};
pub use snapshot_state::{COMMITTED_SNAPSHOT_SWITCH, SNAPSHOT_SWITCH, SnapshotState};
pub use statistics::{
    FIRST_COLUMN_STATISTICS_ID, HistogramStep, PrefixDensity, STEPS_MAX, StatisticsCollector,
    StatisticsContent, StatisticsDef, StatisticsFilter,
};
pub use system_databases::{FIRST_USER_DATABASE, MASTER, MODEL, MSDB, TEMPDB};
pub use table::io::{TableIo, measure_io, take_io};
pub use table::{
    CheckOptions, Cursor, Deletion, GatheredEntries, GatheredMemory, Halves, KeyRange, KeyValues, NewRow,
    RowChange, RowLocator, RowLock, SampleSize, ScanOptions, Table, TableCheck, Victim,
};
pub use table_statistics::{NewStatistics, StatisticsSettings};
pub use ticket::{COMMIT_TICKET_BYTES, CommitStatus, CommitTicket};
pub use transaction_set::{BlockSavepoint, CommitRequest, CommitResult, ExclusiveDatabase, TransactionSet};
pub use trigger_def::{TriggerDef, TriggerEvent, TriggerEvents};
pub use txn::{
    ActiveRow, Before, IsolationLevel, LockMode, LockOwner, LockRow, LockWait, OpenSnapshot, Resource,
    SnapshotKind,
};
pub use workspace::spill::{BLOCK_BYTES as SPILL_BLOCK_BYTES, Run, RunReader, RunWriter, SpillFile};
pub use workspace::{Grant, GrantRequest, GrantRow, WorkspaceFigures, Workspaces};
