//! The columns of sys.fn_dblog in order: 130, as tools expect them. docs/fn_dblog.md says which are filled, and with which values.

/// Defines the columns: those that this crate fills have a name here. `COLUMN_LIST` is the column list, `Field` the positions.
macro_rules! columns {
    ($($column:ident $name:literal $sql_type:literal;)*) => {
        pub(super) const COLUMN_LIST: &str = concat!($("[", $name, "] ", $sql_type, ", ",)*);

        /// A column; as a number it is its position.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(dead_code, reason = "columns of features that are not here stay NULL, but keep their place")]
        pub(super) enum Field {
            $(#[doc = $name] $column,)*
        }

        /// Number of columns.
        pub(super) const COLUMNS: usize = [$($name),*].len();
    };
}

columns! {
    CurrentLsn "Current LSN" "nvarchar(23) not null";
    Operation "Operation" "nvarchar(31) not null";
    Context "Context" "nvarchar(31) not null";
    TransactionId "Transaction ID" "nvarchar(14) not null";
    LogBlockGeneration "LogBlockGeneration" "bigint not null";
    TagBits "Tag Bits" "binary(2)";
    LogRecordFixedLength "Log Record Fixed Length" "smallint";
    LogRecordLength "Log Record Length" "int";
    PreviousLsn "Previous LSN" "nvarchar(23)";
    FlagBits "Flag Bits" "binary(2)";
    LogReserve "Log Reserve" "int";
    AllocUnitId "AllocUnitId" "bigint";
    AllocUnitName "AllocUnitName" "nvarchar(387)";
    PageId "Page ID" "nvarchar(14)";
    SlotId "Slot ID" "int";
    PreviousPageLsn "Previous Page LSN" "nvarchar(23)";
    PartitionId "PartitionId" "bigint";
    RowFlags "RowFlags" "smallint";
    NumElements "Num Elements" "smallint";
    OffsetInRow "Offset in Row" "smallint";
    ModifySize "Modify Size" "smallint";
    CheckpointBegin "Checkpoint Begin" "nvarchar(24)";
    ChkptBeginDbVersion "CHKPT Begin DB Version" "smallint";
    MaxXdesid "Max XDESID" "nvarchar(14)";
    NumTransactions "Num Transactions" "smallint";
    CheckpointEnd "Checkpoint End" "nvarchar(24)";
    ChkptEndDbVersion "CHKPT End DB Version" "smallint";
    MinimumLsn "Minimum LSN" "nvarchar(23)";
    DirtyPages "Dirty Pages" "int";
    OldestReplicatedBeginLsn "Oldest Replicated Begin LSN" "nvarchar(23)";
    NextReplicatedEndLsn "Next Replicated End LSN" "nvarchar(23)";
    LastDistributedBackupEndLsn "Last Distributed Backup End LSN" "nvarchar(23)";
    LastDistributedEndLsn "Last Distributed End LSN" "nvarchar(23)";
    ReplMinHoldLsn "Repl Min Hold LSN" "nvarchar(23)";
    ServerUid "Server UID" "int";
    Spid "SPID" "int";
    BeginlogStatus "Beginlog Status" "binary(4)";
    XactType "Xact Type" "int";
    BeginTime "Begin Time" "nvarchar(24)";
    TransactionName "Transaction Name" "nvarchar(33)";
    TransactionSid "Transaction SID" "varbinary(85)";
    ParentTransactionId "Parent Transaction ID" "nvarchar(14)";
    OldestActiveTransactionId "Oldest Active Transaction ID" "nvarchar(14)";
    XactId "Xact ID" "bigint";
    XactNodeId "Xact Node ID" "int";
    XactNodeLocalId "Xact Node Local ID" "int";
    EndAge "End AGE" "bigint";
    EndTime "End Time" "nvarchar(24)";
    TransactionBegin "Transaction Begin" "nvarchar(23)";
    ReplicatedRecords "Replicated Records" "bigint";
    OldestActiveLsn "Oldest Active LSN" "nvarchar(23)";
    ServerName "Server Name" "nvarchar(129)";
    DatabaseName "Database Name" "nvarchar(129)";
    MarkName "Mark Name" "nvarchar(33)";
    ReplPartitionId "Repl Partition ID" "smallint";
    ReplEpoch "Repl Epoch" "int";
    ReplCsn "Repl CSN" "bigint";
    ReplFlags "Repl Flags" "int";
    ReplMsg "Repl Msg" "varbinary(8000)";
    ReplSourceCommitTime "Repl Source Commit Time" "datetime";
    MasterXdesid "Master XDESID" "nvarchar(14)";
    MasterDbid "Master DBID" "int";
    PreplogBeginLsn "Preplog Begin LSN" "nvarchar(23)";
    PrepareTime "Prepare Time" "nvarchar(24)";
    VirtualClock "Virtual Clock" "bigint";
    PreviousSavepoint "Previous Savepoint" "nvarchar(23)";
    SavepointName "Savepoint Name" "nvarchar(33)";
    RowbitsFirstBit "Rowbits First Bit" "smallint";
    RowbitsBitCount "Rowbits Bit Count" "smallint";
    RowbitsBitValue "Rowbits Bit Value" "binary(1)";
    NumberOfLocks "Number of Locks" "smallint";
    LockInformation "Lock Information" "nvarchar(256)";
    LsnBeforeWrites "LSN before writes" "nvarchar(23)";
    PagesWritten "Pages Written" "smallint";
    CommandType "Command Type" "int";
    PublicationId "Publication ID" "int";
    ArticleId "Article ID" "int";
    PartialStatus "Partial Status" "int";
    Command "Command" "nvarchar(26)";
    ByteOffset "Byte Offset" "smallint";
    NewValue "New Value" "binary(1)";
    OldValue "Old Value" "binary(1)";
    NewSplitPage "New Split Page" "nvarchar(14)";
    RowsDeleted "Rows Deleted" "smallint";
    BytesFreed "Bytes Freed" "smallint";
    CiTableId "CI Table Id" "int";
    CiIndexId "CI Index Id" "smallint";
    NewAllocUnitId "NewAllocUnitId" "bigint";
    FileGroupId "FileGroup ID" "smallint";
    MetaStatus "Meta Status" "binary(4)";
    FileStatus "File Status" "binary(4)";
    FileId "File ID" "smallint";
    PhysicalName "Physical Name" "nvarchar(261)";
    LogicalName "Logical Name" "nvarchar(129)";
    FormatLsn "Format LSN" "nvarchar(23)";
    RowsetId "RowsetId" "bigint";
    TextPtr "TextPtr" "binary(16)";
    ColumnOffset "Column Offset" "int";
    Flags "Flags" "int";
    TextSize "Text Size" "bigint";
    Offset "Offset" "bigint";
    OldSize "Old Size" "bigint";
    NewSize "New Size" "bigint";
    Description "Description" "nvarchar(256) not null";
    BulkAllocatedExtentCount "Bulk allocated extent count" "int";
    BulkRowsetId "Bulk RowsetId" "bigint";
    BulkAllocUnitId "Bulk AllocUnitId" "bigint";
    BulkAllocationFirstIamPageId "Bulk allocation first IAM Page ID" "nvarchar(14)";
    BulkAllocatedExtentIds "Bulk allocated extent ids" "nvarchar(961)";
    VLFsAdded "VLFs added" "nvarchar(688)";
    InvalidateCacheId "InvalidateCache Id" "int";
    InvalidateCacheKeys "InvalidateCache keys" "int";
    CopyVerionInfoSourcePageId "CopyVerionInfo Source Page Id" "nvarchar(14)";
    CopyVerionInfoSourcePageLsn "CopyVerionInfo Source Page LSN" "nvarchar(23)";
    CopyVerionInfoSourceSlotId "CopyVerionInfo Source Slot Id" "int";
    CopyVerionInfoSourceSlotCount "CopyVerionInfo Source Slot Count" "int";
    RowLogContents0 "RowLog Contents 0" "varbinary(8000)";
    RowLogContents1 "RowLog Contents 1" "varbinary(8000)";
    RowLogContents2 "RowLog Contents 2" "varbinary(8000)";
    RowLogContents3 "RowLog Contents 3" "varbinary(8000)";
    RowLogContents4 "RowLog Contents 4" "varbinary(8000)";
    RowLogContents5 "RowLog Contents 5" "varbinary(8000)";
    CompressionLogType "Compression Log Type" "smallint";
    CompressionInfo "Compression Info" "varbinary(8000)";
    PageFormatPageType "PageFormat PageType" "smallint";
    PageFormatPageFlags "PageFormat PageFlags" "smallint";
    PageFormatPageLevel "PageFormat PageLevel" "smallint";
    PageFormatPageStat "PageFormat PageStat" "smallint";
    PageFormatFormatOption "PageFormat FormatOption" "smallint";
    LogRecord "Log Record" "varbinary(8000) not null";
}
