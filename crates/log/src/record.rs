//! Log records: operation and context codes, the record header, its compact encoding, and the reusable builder.

use std::cell::Cell;

use crate::codec::{DecodeError, Reader, zigzag};
use crate::limits::{RECORD_HEADER_BYTES_MAX, RECORD_PAYLOAD_BYTES_MAX};
use crate::lsn::{Lsn, SLOT_BITS, SLOT_MAX, TxnId};

macro_rules! coded_enum {
    ($(#[$doc:meta])* $enum_name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $enum_name { $($(#[$variant_doc])* #[doc = $text] $variant = $code,)* }

        impl $enum_name {
            /// Every value, in code order.
            pub const ALL: &'static [$enum_name] = &[$($enum_name::$variant),*];

            /// The name as fn_dblog prints it.
            pub const fn name(self) -> &'static str {
                match self { $($enum_name::$variant => $text,)* }
            }

            /// The code kept on disk (SQL Server's, reference 3.2).
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The value with this code.
            pub const fn from_code(code: u8) -> Option<$enum_name> {
                match code { $($code => Some($enum_name::$variant),)* _ => None }
            }
        }
    };
}

coded_enum! {
    /// What a record does. Names and codes are SQL Server's (reference 3.2).
    LogOp {
        Null = 0x00, "LOP_NULL";
        FormatPage = 0x01, "LOP_FORMAT_PAGE";
        InsertRows = 0x02, "LOP_INSERT_ROWS";
        DeleteRows = 0x03, "LOP_DELETE_ROWS";
        ModifyRow = 0x04, "LOP_MODIFY_ROW";
        ModifyHeader = 0x05, "LOP_MODIFY_HEADER";
        ModifyColumns = 0x06, "LOP_MODIFY_COLUMNS";
        SetBits = 0x07, "LOP_SET_BITS";
        SetFreeSpace = 0x0a, "LOP_SET_FREE_SPACE";
        DeleteSplit = 0x0b, "LOP_DELETE_SPLIT";
        UndoDeleteSplit = 0x0c, "LOP_UNDO_DELETE_SPLIT";
        ExpungeRows = 0x0d, "LOP_EXPUNGE_ROWS";
        FileHdrModify = 0x10, "LOP_FILE_HDR_MODIFY";
        ClearGamBits = 0x11, "LOP_CLEAR_GAM_BITS";
        CountDelta = 0x12, "LOP_COUNT_DELTA";
        RootChange = 0x13, "LOP_ROOT_CHANGE";
        InSysXact = 0x16, "LOP_INSYSXACT";
        BeginXact = 0x80, "LOP_BEGIN_XACT";
        CommitXact = 0x81, "LOP_COMMIT_XACT";
        AbortXact = 0x82, "LOP_ABORT_XACT";
        PrepXact = 0x83, "LOP_PREP_XACT";
        MarkSavepoint = 0x84, "LOP_MARK_SAVEPOINT";
        ForgetXact = 0x85, "LOP_FORGET_XACT";
        CreateFile = 0x86, "LOP_CREATE_FILE";
        DropFile = 0x87, "LOP_DROP_FILE";
        MarkDdl = 0x88, "LOP_MARK_DDL";
        HobtDdl = 0x89, "LOP_HOBT_DDL";
        IdentNewval = 0x8a, "LOP_IDENT_NEWVAL";
        IdentSentval = 0x8b, "LOP_IDENT_SENTVAL";
        HobtDelta = 0x8c, "LOP_HOBT_DELTA";
        LockXact = 0x8d, "LOP_LOCK_XACT";
        BeginCkpt = 0x96, "LOP_BEGIN_CKPT";
        XactCkpt = 0x98, "LOP_XACT_CKPT";
        EndCkpt = 0x99, "LOP_END_CKPT";
        BufWrite = 0x9a, "LOP_BUF_WRITE";
        BeginRecovery = 0xa0, "LOP_BEGIN_RECOVERY";
        EndRecovery = 0xa1, "LOP_END_RECOVERY";
        CreateIndex = 0xad, "LOP_CREATE_INDEX";
        DropIndex = 0xae, "LOP_DROP_INDEX";
        CreateAllocchain = 0xb0, "LOP_CREATE_ALLOCCHAIN";
        ShrinkNoop = 0xd3, "LOP_SHRINK_NOOP";
        BulkExtAllocation = 0xd6, "LOP_BULK_EXT_ALLOCATION";
        Hk = 0xe6, "LOP_HK";
        HkCheckpoint = 0xe7, "LOP_HK_CHECKPOINT";
        HkChained = 0xe8, "LOP_HK_CHAINED";
    }
}

coded_enum! {
    /// Where a record acts. Names and codes are SQL Server's (reference 3.2).
    LogContext {
        Null = 0x00, "LCX_NULL";
        Heap = 0x01, "LCX_HEAP";
        Clustered = 0x02, "LCX_CLUSTERED";
        IndexLeaf = 0x03, "LCX_INDEX_LEAF";
        IndexInterior = 0x04, "LCX_INDEX_INTERIOR";
        TextMix = 0x05, "LCX_TEXT_MIX";
        TextTree = 0x06, "LCX_TEXT_TREE";
        Diagnostics = 0x07, "LCX_DIAGNOSTICS";
        Gam = 0x08, "LCX_GAM";
        Sgam = 0x09, "LCX_SGAM";
        Iam = 0x0a, "LCX_IAM";
        Pfs = 0x0b, "LCX_PFS";
        IdentityValue = 0x0c, "LCX_IDENTITY_VALUE";
        ObjectId = 0x0d, "LCX_OBJECT_ID";
        NonsysSplit = 0x0e, "LCX_NONSYS_SPLIT";
        FileHeader = 0x11, "LCX_FILE_HEADER";
        SchemaVersion = 0x12, "LCX_SCHEMA_VERSION";
        MarkAsGhost = 0x13, "LCX_MARK_AS_GHOST";
        BootPage = 0x14, "LCX_BOOT_PAGE";
        BootPageCkpt = 0x17, "LCX_BOOT_PAGE_CKPT";
        DiffMap = 0x18, "LCX_DIFF_MAP";
        MlMap = 0x19, "LCX_ML_MAP";
        UnlinkedReorgPage = 0x1c, "LCX_UNLINKED_REORG_PAGE";
        BulkOperationPage = 0x1d, "LCX_BULK_OPERATION_PAGE";
        SortPage = 0x20, "LCX_SORT_PAGE";
        WorkFilePage = 0x21, "LCX_WORK_FILE_PAGE";
    }
}

/// Marks on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RecordFlags(u8);

impl RecordFlags {
    /// No mark.
    pub const NONE: RecordFlags = RecordFlags(0);
    /// A compensation record: it redoes an undo, is never undone itself, and carries `undo_next`.
    pub const COMPENSATION: RecordFlags = RecordFlags(0x20);
    /// Changes structure (page allocation, split) and belongs to no transaction: never rolled back.
    pub const SYSTEM: RecordFlags = RecordFlags(0x40);
    /// The commit of a delayed durable transaction.
    pub const DELAYED: RecordFlags = RecordFlags(0x80);

    /// Whether every mark of `other` is set.
    pub const fn contains(self, other: RecordFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The marks as stored on disk (docs/formats/log-record.md).
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Both sets of marks.
    #[must_use]
    pub const fn with(self, other: RecordFlags) -> RecordFlags {
        RecordFlags(self.0 | other.0)
    }
}

/// The header of every record; the payload follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// What it does.
    pub op: LogOp,
    /// Where it acts.
    pub context: LogContext,
    /// Marks.
    pub flags: RecordFlags,
    /// The transaction, or NULL.
    pub txn: TxnId,
    /// The previous record of the same transaction, or NULL for its first.
    pub prev: Lsn,
    /// Compensation records only: the next record of the transaction that is still to be undone (NULL: none). NULL otherwise.
    pub undo_next: Lsn,
}

impl RecordHeader {
    /// A header outside any transaction.
    pub fn new(op: LogOp) -> RecordHeader {
        RecordHeader {
            op,
            context: LogContext::Null,
            flags: RecordFlags::NONE,
            txn: TxnId::NULL,
            prev: Lsn::NULL,
            undo_next: Lsn::NULL,
        }
    }

    /// Whether this is a compensation record.
    pub fn is_compensation(&self) -> bool {
        self.flags.contains(RecordFlags::COMPENSATION)
    }
}

thread_local! {
    /// The payload buffer of a dropped record, reused by the next one: a small transaction makes two records.
    static SPARE_PAYLOAD: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Larger buffers are not kept.
const SPARE_PAYLOAD_BYTES_MAX: usize = 1024;

/// A reusable record under construction: set `header`, write the payload, append, `clear`, again.
#[derive(Clone, Debug)]
pub struct RecordBuf {
    /// The header; `prev` must be below the LSN that the record will get.
    pub header: RecordHeader,
    payload: Vec<u8>,
}

impl Default for RecordBuf {
    fn default() -> RecordBuf {
        RecordBuf::new()
    }
}

impl RecordBuf {
    /// An empty builder.
    pub fn new() -> RecordBuf {
        RecordBuf { header: RecordHeader::new(LogOp::Null), payload: Vec::new() }
    }

    /// Starts a record: sets the header, empties the payload, keeps its allocation.
    pub fn start(&mut self, header: RecordHeader) -> &mut Vec<u8> {
        self.header = header;
        self.payload.clear();
        &mut self.payload
    }

    /// A whole record from a header and a typed payload of records.rs.
    pub fn from_payload<P: crate::records::Payload>(header: RecordHeader, payload: &P) -> RecordBuf {
        let mut encoded = SPARE_PAYLOAD.try_with(Cell::take).unwrap_or_default();
        assert!(encoded.is_empty(), "of a record that is gone the room is kept, not the bytes");
        // Enough for most, so that it need not grow.
        encoded.reserve(64);
        payload.encode(&mut encoded);
        assert!(encoded.len() <= RECORD_PAYLOAD_BYTES_MAX, "a payload of {} bytes", encoded.len());
        RecordBuf { header, payload: encoded }
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Upper bound of the record's encoded size in bytes, before its LSN is known.
    pub fn encoded_bytes_max(&self) -> usize {
        RECORD_HEADER_BYTES_MAX + self.payload.len()
    }
}

/// The address and size of an appended record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Its address.
    pub lsn: Lsn,
    /// Its size in its block: its header is packed, so this is less than `RecordBuf::encoded_bytes_max`.
    pub bytes: u32,
}

impl Drop for RecordBuf {
    fn drop(&mut self) {
        if (1..=SPARE_PAYLOAD_BYTES_MAX).contains(&self.payload.capacity()) {
            let mut spare = std::mem::take(&mut self.payload);
            spare.clear();
            // At the end of a thread there is no next record.
            let _ = SPARE_PAYLOAD.try_with(|kept| kept.set(spare));
        }
    }
}

/// A decoded record that borrows its payload from the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Header.
    pub header: RecordHeader,
    /// Payload; its layout belongs to records.rs.
    pub payload: &'a [u8],
}

/// A record copied out of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    /// Its address.
    pub lsn: Lsn,
    /// Header.
    pub header: RecordHeader,
    /// Payload.
    pub payload: Vec<u8>,
    /// Bytes the record takes in its block (fn_dblog's Log Record Length).
    pub encoded_bytes: u32,
}

// On-disk flag bits beside those of RecordFlags (docs/formats/log-record.md).
const HAS_CONTEXT: u8 = 0x01;
const HAS_TXN: u8 = 0x02;
const PREV_SAME_BLOCK: u8 = 0x04;
const PREV_OTHER_BLOCK: u8 = 0x08;
const RESERVED_BIT: u8 = 0x10;
const USER_FLAGS: u8 = RecordFlags::COMPENSATION.0 | RecordFlags::SYSTEM.0 | RecordFlags::DELAYED.0;
const DISK_FLAGS: u8 = HAS_CONTEXT | HAS_TXN | PREV_SAME_BLOCK | PREV_OTHER_BLOCK | RESERVED_BIT;
const _: () =
    assert!(USER_FLAGS & DISK_FLAGS == 0 && USER_FLAGS | DISK_FLAGS == 0xff, "each bit means one thing");

/// Bytes written one after another to the beginning of a place that is known to be large enough.
struct HeaderWriter<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl HeaderWriter<'_> {
    #[inline]
    fn put(&mut self, byte: u8) {
        self.out[self.at] = byte;
        self.at += 1;
    }

    /// As `codec::put_varint`.
    #[inline]
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(value as u8 | 0x80);
            value >>= 7;
        }
        self.put(value as u8);
    }

    fn put_distance(&mut self, own: Lsn, target: Lsn) {
        assert!(target.block_start() < own.block_start(), "{target} lies in an older block than {own}");
        self.put_varint(block_index(own) - block_index(target));
        self.put_varint(u64::from(target.slot()));
    }
}

/// Writes the encoding of a record header for address `own` in a block with base transaction `base_txn`; returns its length.
pub(crate) fn encode_header(
    out: &mut [u8],
    header: &RecordHeader,
    payload_bytes: usize,
    own: Lsn,
    base_txn: TxnId,
) -> usize {
    assert!(payload_bytes <= RECORD_PAYLOAD_BYTES_MAX, "record payload of {payload_bytes} bytes");
    assert!(header.prev < own, "previous record {} is not before {own}", header.prev);
    assert!(header.undo_next < own, "undo-next {} is not before {own}", header.undo_next);
    assert!(
        header.is_compensation() || header.undo_next.is_null(),
        "undo-next on a record that is no compensation"
    );
    assert!(own.slot() > 0 && own.vlf() > 0, "{own} is no record's address");
    let same_block = header.prev.block_start() == own.block_start();
    let mut flags = header.flags.0;
    flags |= if header.context == LogContext::Null { 0 } else { HAS_CONTEXT };
    flags |= if header.txn.is_null() { 0 } else { HAS_TXN };
    flags |= match (header.prev.is_null(), same_block) {
        (true, _) => 0,
        (false, true) => PREV_SAME_BLOCK,
        (false, false) => PREV_OTHER_BLOCK,
    };
    let mut writer = HeaderWriter { out, at: 0 };
    writer.put(header.op.code());
    writer.put(flags);
    writer.put_varint(payload_bytes as u64);
    if flags & HAS_CONTEXT != 0 {
        writer.put(header.context.code());
    }
    if flags & HAS_TXN != 0 {
        writer.put_varint(zigzag(header.txn.0.wrapping_sub(base_txn.0) as i64));
    }
    if flags & PREV_SAME_BLOCK != 0 {
        writer.put_varint(u64::from(own.slot() - header.prev.slot()));
    } else if flags & PREV_OTHER_BLOCK != 0 {
        writer.put_distance(own, header.prev);
    }
    if header.is_compensation() {
        if header.undo_next.is_null() {
            writer.put_varint(0);
        } else {
            writer.put_varint(block_index(own) - block_index(header.undo_next) + 1);
            writer.put_varint(u64::from(header.undo_next.slot()));
        }
    }
    assert!(writer.at <= RECORD_HEADER_BYTES_MAX);
    writer.at
}

/// Decodes the record at the start of `bytes`, whose address is `own`; returns it and its encoded size.
/// Arbitrary bytes give an error, never a panic.
#[inline]
pub fn decode_record(bytes: &[u8], own: Lsn, base_txn: TxnId) -> Result<(Record<'_>, usize), DecodeError> {
    let mut reader = Reader::new(bytes);
    let op = LogOp::from_code(reader.u8()?).ok_or(DecodeError("unknown operation"))?;
    let flags = reader.u8()?;
    if flags & RESERVED_BIT != 0 || flags & PREV_SAME_BLOCK != 0 && flags & PREV_OTHER_BLOCK != 0 {
        return Err(DecodeError("impossible flags"));
    }
    let payload_bytes = reader.varint()? as usize;
    if payload_bytes > RECORD_PAYLOAD_BYTES_MAX {
        return Err(DecodeError("payload too long"));
    }
    let context = match flags & HAS_CONTEXT {
        0 => LogContext::Null,
        _ => LogContext::from_code(reader.u8()?).ok_or(DecodeError("unknown context"))?,
    };
    let txn = match flags & HAS_TXN {
        0 => TxnId::NULL,
        _ => TxnId(base_txn.0.wrapping_add(reader.zigzag()? as u64)),
    };
    let prev = if flags & PREV_SAME_BLOCK != 0 {
        let back = reader.varint()?;
        if back == 0 || back >= u64::from(own.slot()) {
            return Err(DecodeError("previous record outside the block"));
        }
        own.with_slot(own.slot() - back as u16)
    } else if flags & PREV_OTHER_BLOCK != 0 {
        let distance = reader.varint()?;
        take_distance(&mut reader, own, distance)?
    } else {
        Lsn::NULL
    };
    let undo_next = match flags & RecordFlags::COMPENSATION.0 {
        0 => Lsn::NULL,
        _ => match reader.varint()? {
            0 => Lsn::NULL,
            distance => take_distance(&mut reader, own, distance - 1)?,
        },
    };
    let header_bytes = bytes.len() - reader.remaining();
    let payload = reader.take(payload_bytes)?;
    let user_flags = RecordFlags(flags & USER_FLAGS);
    assert!(prev < own && undo_next < own, "what was read points back, so every chain ends");
    let header = RecordHeader { op, context, flags: user_flags, txn, prev, undo_next };
    Ok((Record { header, payload }, header_bytes + payload_bytes))
}

fn block_index(lsn: Lsn) -> u64 {
    lsn.raw() >> SLOT_BITS
}

fn take_distance(reader: &mut Reader<'_>, own: Lsn, distance: u64) -> Result<Lsn, DecodeError> {
    let slot = reader.varint()?;
    let index = block_index(own).checked_sub(distance).ok_or(DecodeError("points before the log"))?;
    if slot > u64::from(SLOT_MAX) {
        return Err(DecodeError("slot out of range"));
    }
    let target = Lsn::from_raw((index << SLOT_BITS) | slot);
    if target >= own { Err(DecodeError("points forward")) } else { Ok(target) }
}
