//! sys.fn_dblog: the log of a database, one row per record, from the decoders of the `log` crate that recovery and `hardpan log dump` use.
//!
//! Rows are produced one at a time while the log is read, so a large log needs no more memory. Columns that the query does not need are not
//! computed. Bounds on `[Current LSN]` and an equality on `[Transaction ID]` limit the part of the log that is read; the predicate itself is
//! still evaluated on each row. docs/fn_dblog.md describes columns and units.

use std::sync::Arc;

use engine::{
    CatalogImage, Database, LogBody, LogOp, LogScan, Lsn, ObjectDef, RecordHeader, ScanRange, ScanStep, TxnId,
};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::view::SystemView;
use plan_ir::view::stream::{BoundKind, StreamRequest};
use rustc_hash::FxHashMap;
use types::{SqlError, Value};

use super::dblog_columns::{COLUMN_LIST, COLUMNS, Field};
use super::transaction_ids::TransactionIds;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::streamed("fn_dblog", COLUMN_LIST, open, &["Current LSN", "Transaction ID"])
        .with_parameters(2),
    SystemView::streamed(
        "fn_dump_dblog",
        COLUMN_LIST,
        |_, _, _| Err(plan_ir::errors::unsupported("fn_dump_dblog: the log in a backup")),
        &[],
    )
    .with_parameters(68),
];

/// The longest `varbinary` value of a row; longer values are truncated.
const BINARY_BYTES_MAX: usize = 8_000;

struct DbLog {
    database: Arc<Database>,
    scan: LogScan,
    /// The columns to fill; `None`: all.
    wanted: Option<Vec<bool>>,
    /// Names of allocation units by number; `None` until the first is needed.
    units: Option<FxHashMap<u32, Arc<str>>>,
    /// The last page looked up, with its unit.
    last_page: Option<(u64, Option<u32>)>,
    /// Ids of the transactions that were active when the query began.
    transaction_ids: TransactionIds,
}

fn open(
    runtime: &Runtime<'_>,
    database: &Arc<Database>,
    request: &StreamRequest<'_>,
) -> Result<Box<dyn RowSource>, SqlError> {
    let Some(range) = range_of(database, request)? else {
        return Ok(Box::new(plan_ir::row_source::Empty));
    };
    let owner = format!("fn_dblog of session {}", runtime.state.session_id());
    let scan = database.scan_log(&owner, range)?;
    let wanted = request.wanted.map(|ordinals| {
        let mut wanted = vec![false; COLUMNS];
        ordinals.iter().for_each(|at| wanted[*at] = true);
        wanted
    });
    let transaction_ids = TransactionIds::new(runtime, &runtime.state.sessions());
    let database = database.clone();
    Ok(Box::new(DbLog { database, scan, wanted, units: None, last_page: None, transaction_ids }))
}

/// The range of the log to read, from the arguments and the query's bounds; `None`: empty. Error 9005.
fn range_of(database: &Database, request: &StreamRequest<'_>) -> Result<Option<ScanRange>, SqlError> {
    let log = database.log();
    let (oldest, last) = (log.min(), log.last());
    let argument = |index: usize| match request.arguments.get(index) {
        None | Some(Value::Null) => Ok(None),
        Some(text) => lsn_argument(text).map(Some),
    };
    let (start, end) = (argument(0)?, argument(1)?);
    if start.is_some_and(|start| start < oldest.block_start() || start > last) {
        return Err(SqlError::new(9005, &[]));
    }
    let mut range =
        ScanRange { from: start.unwrap_or(Lsn::NULL), to: end.unwrap_or(last).min(last), txn: None };
    for bound in request.bounds {
        let Some(text) = bound.value.as_text() else { continue };
        let text = text.trim_end_matches(' ');
        if bound.column == Field::TransactionId as usize {
            range.txn = range.txn.or(shown_transaction(text).filter(|_| bound.kind == BoundKind::Equal));
            continue;
        }
        let Some(lsn) = shown_lsn(text, bound.kind) else { continue };
        if bound.kind != BoundKind::Lower {
            range.to = range.to.min(lsn);
        }
        if bound.kind != BoundKind::Upper {
            // An LSN at which no record begins gives no bound: the predicate filters each row.
            if lsn > last {
                return Ok(None);
            }
            if lsn > range.from.max(oldest) && log.read(lsn).is_ok() {
                range.from = lsn;
            }
        }
    }
    Ok((range.from <= range.to).then_some(range))
}

/// An LSN in the formats of the arguments: `37:424:3` in decimal, `0x00000025:000001a8:0003` or as shown in hexadecimal. Error 9005.
fn lsn_argument(value: &Value) -> Result<Lsn, SqlError> {
    let text = value.as_text().unwrap_or_default();
    text.trim().parse().map_err(|_| SqlError::new(9005, &[]))
}

/// The LSN for a text of `[Current LSN]`. Texts and LSNs have one order only if the texts have the shown format.
fn shown_lsn(text: &str, kind: BoundKind) -> Option<Lsn> {
    let lsn: Lsn = text.parse().ok()?;
    let shown = lsn.to_string();
    match kind {
        BoundKind::Equal => shown.eq_ignore_ascii_case(text).then_some(lsn),
        BoundKind::Lower | BoundKind::Upper => (shown == text).then_some(lsn),
    }
}

/// The transaction for a text of `[Transaction ID]`; `None` for records without a transaction.
fn shown_transaction(text: &str) -> Option<TxnId> {
    let (high, low) = text.split_once(':')?;
    let number = |part: &str| u64::from_str_radix(part, 16).ok();
    let txn = TxnId(number(high)? << 32 | number(low)?);
    (!txn.is_null() && txn.to_string().eq_ignore_ascii_case(text)).then_some(txn)
}

impl RowSource for DbLog {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            runtime.check_cancelled()?;
            match self.scan.step().map_err(|error| self.database.log_scan_error(error))? {
                ScanStep::Record(lsn, header) => {
                    row.clear();
                    row.resize(COLUMNS, Value::Null);
                    return self.fill(runtime, lsn, &header, row).map(|()| true);
                }
                ScanStep::PassedOver => {}
                ScanStep::End => return Ok(false),
            }
        }
    }
}

/// A row that is being filled.
struct Cells<'a> {
    row: &'a mut Row,
    wanted: Option<&'a [bool]>,
}

impl Cells<'_> {
    fn wants(&self, column: Field) -> bool {
        self.wanted.is_none_or(|wanted| wanted[column as usize])
    }

    fn set(&mut self, column: Field, value: impl FnOnce() -> Value) {
        if self.wants(column) {
            self.row[column as usize] = value();
        }
    }

    fn text(&mut self, column: Field, text: &dyn std::fmt::Display) {
        self.set(column, || Value::nvarchar(&text.to_string()));
    }

    fn small(&mut self, column: Field, number: usize) {
        self.set(column, || Value::SmallInt(i16::try_from(number).unwrap_or(i16::MAX)));
    }

    fn bytes(&mut self, column: Field, bytes: &[u8]) {
        self.set(column, || Value::binary(&bytes[..bytes.len().min(BINARY_BYTES_MAX)]));
    }

    /// Sets an image, NULL if the record does not contain it.
    fn image(&mut self, column: Field, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.bytes(column, bytes);
        }
    }

    fn page(&mut self, column: Field, page: u64) {
        self.set(column, || Value::nvarchar(&format!("{:04x}:{:08x}", page >> 32, page & 0xffff_ffff)));
    }
}

/// The allocation unit that a record belongs to.
#[derive(Clone, Copy)]
enum Subject {
    /// No page.
    Nothing,
    /// The record names the unit.
    Unit(u32),
    /// The unit that owns this page now.
    Page(u64),
    /// System pages.
    System,
}

impl DbLog {
    fn fill(
        &mut self,
        runtime: &Runtime<'_>,
        lsn: Lsn,
        header: &RecordHeader,
        row: &mut Row,
    ) -> Result<(), SqlError> {
        let Some((record, encoded)) = self.scan.record() else { return Ok(()) };
        let mut cells = Cells { row, wanted: self.wanted.as_deref() };
        cells.text(Field::CurrentLsn, &lsn);
        cells.text(Field::Operation, &header.op.name());
        cells.text(Field::Context, &header.context.name());
        cells.text(Field::TransactionId, &header.txn);
        cells.set(Field::LogBlockGeneration, || Value::BigInt(0));
        cells.small(Field::LogRecordFixedLength, encoded.len() - record.payload.len());
        cells.set(Field::LogRecordLength, || Value::Int(encoded.len() as i32));
        cells.text(Field::PreviousLsn, &header.prev);
        cells.bytes(Field::FlagBits, &[0, header.flags.bits()]);
        cells.set(Field::Description, || {
            let line = engine::describe_log_record(header, record.payload);
            Value::nvarchar(&line.chars().take(256).collect::<String>())
        });
        cells.bytes(Field::LogRecord, encoded);
        if header.op == engine::LogOp::BeginXact {
            let id = || self.transaction_ids.of_record(self.database.number(), header.txn);
            cells.set(Field::XactId, || Value::BigInt(id().cast_signed()));
        }
        let subject = match LogBody::decode(header.op, header.context, record.payload) {
            Some(Ok(body)) => fill_body(&mut cells, header, &body),
            _ => Subject::Nothing,
        };
        let wants_name = cells.wants(Field::AllocUnitName);
        if wants_name || cells.wants(Field::AllocUnitId) || cells.wants(Field::PartitionId) {
            let is_lob = header.context == engine::LogContext::TextMix;
            self.fill_unit(runtime, subject, is_lob, wants_name, row)?;
        }
        Ok(())
    }

    /// The allocation unit, as sys.allocation_units numbers it, and its name.
    fn fill_unit(
        &mut self,
        runtime: &Runtime<'_>,
        subject: Subject,
        is_lob: bool,
        wants_name: bool,
        row: &mut Row,
    ) -> Result<(), SqlError> {
        let unit = match subject {
            Subject::Nothing => return Ok(()),
            Subject::Unit(unit) => Some(unit),
            Subject::System => None,
            Subject::Page(page) => match self.last_page {
                Some((last, unit)) if last == page => unit,
                _ => {
                    let unit = self.database.unit_of_page(page)?;
                    self.last_page = Some((page, unit));
                    unit
                }
            },
        };
        if let Some(unit) = unit {
            let kind = if is_lob { 2 } else { 1 };
            row[Field::AllocUnitId as usize] = Value::BigInt(i64::from(unit) * 4 + kind);
            row[Field::PartitionId as usize] = Value::BigInt(i64::from(unit));
        }
        if wants_name {
            let names = self.units.get_or_insert_with(|| names_of_units(runtime, &self.database));
            let name = unit.and_then(|unit| names.get(&unit));
            row[Field::AllocUnitName as usize] =
                Value::nvarchar(name.map_or("Unknown Alloc Unit", |name| name));
        }
        Ok(())
    }
}

/// Names of units: `schema.table`, followed by the index.
fn names_of_units(runtime: &Runtime<'_>, database: &Database) -> FxHashMap<u32, Arc<str>> {
    let before = runtime.catalog_image.replace(CatalogImage::Present);
    let objects = runtime.objects_of(database);
    runtime.catalog_image.set(before);
    let mut names: FxHashMap<u32, Arc<str>> = FxHashMap::default();
    for object in objects {
        let ObjectDef::Table(table) = object else { continue };
        for index in table.indexes.iter().filter(|index| index.has_unit()) {
            let table_name = format!("{}.{}", table.schema, table.name);
            let name = match &index.name {
                Some(_) if table.is_system => format!("{table_name}.clst"),
                Some(index) => format!("{table_name}.{index}"),
                None => table_name,
            };
            names.insert(index.unit, name.into());
        }
    }
    names
}

/// Fills the columns that depend on the kind of record.
fn fill_body(cells: &mut Cells<'_>, header: &RecordHeader, body: &LogBody<'_>) -> Subject {
    match body {
        LogBody::BeginXact(begin) => {
            cells.text(Field::BeginTime, &begin.begin_time);
            cells.set(Field::Spid, || Value::Int(begin.spid.cast_signed()));
            cells.set(Field::TransactionName, || {
                Value::nvarchar(&begin.name.chars().take(33).collect::<String>())
            });
            Subject::Nothing
        }
        LogBody::CommitXact(end) => {
            cells.text(Field::EndTime, &end.end_time);
            Subject::Nothing
        }
        LogBody::AbortXact(end) => {
            cells.text(Field::EndTime, &end.end_time);
            Subject::Nothing
        }
        LogBody::MarkSavepoint(savepoint) => {
            let name: String = savepoint.name.chars().take(33).collect();
            cells.text(Field::SavepointName, &name);
            Subject::Nothing
        }
        LogBody::BeginCkpt(begin) => {
            cells.text(Field::CheckpointBegin, &begin.begin_time);
            cells.text(Field::MaxXdesid, &begin.max_txn);
            Subject::Nothing
        }
        LogBody::XactCkpt(active) => {
            cells.small(Field::NumTransactions, active.transactions.len());
            Subject::Nothing
        }
        LogBody::EndCkpt(end) => {
            cells.text(Field::CheckpointEnd, &end.end_time);
            cells.text(Field::MinimumLsn, &end.min);
            cells.set(Field::DirtyPages, || Value::Int(end.dirty_page_count.cast_signed()));
            Subject::Nothing
        }
        LogBody::PrepXact(_) => Subject::Nothing,
        rows => fill_page(cells, header, rows),
    }
}

/// Fills them for records about pages.
fn fill_page(cells: &mut Cells<'_>, header: &RecordHeader, body: &LogBody<'_>) -> Subject {
    let slot = |cells: &mut Cells<'_>, page: u64, slot: u16| {
        cells.page(Field::PageId, page);
        cells.set(Field::SlotId, || Value::Int(i32::from(slot)));
        cells.small(Field::NumElements, 1);
    };
    match body {
        LogBody::HeapRow(row) => {
            slot(cells, row.page, row.slot);
            cells.image(Field::RowLogContents0, row.row);
            Subject::Page(row.page)
        }
        LogBody::TreeRow(row) => {
            slot(cells, row.page, row.slot);
            cells.image(Field::RowLogContents0, row.value);
            cells.image(Field::RowLogContents2, row.key);
            Subject::Page(row.root)
        }
        LogBody::PageRows(rows) => {
            slot(cells, rows.page, rows.rows.first().map_or(0, |(slot, _)| *slot));
            cells.small(Field::NumElements, rows.rows.len());
            if header.op == LogOp::DeleteRows {
                cells.small(Field::RowsDeleted, rows.rows.len());
            }
            Subject::Page(if rows.root == 0 { rows.page } else { rows.root })
        }
        LogBody::RowPatch(patch) => {
            slot(cells, patch.page, patch.slot);
            cells.small(Field::OffsetInRow, usize::from(patch.offset));
            cells.small(Field::ModifySize, usize::from(patch.lengths.1));
            cells.image(Field::RowLogContents0, patch.old);
            cells.image(Field::RowLogContents1, patch.new);
            cells.image(Field::RowLogContents2, patch.tree.map_or(&[], |tree| tree.1));
            Subject::Page(patch.tree.map_or(patch.page, |tree| tree.0))
        }
        LogBody::Expunge(expunge) => {
            slot(cells, expunge.page, expunge.slots.first().copied().unwrap_or(0));
            cells.small(Field::NumElements, expunge.slots.len());
            cells.small(Field::RowsDeleted, expunge.slots.len());
            Subject::Page(expunge.page)
        }
        LogBody::MapBits(bits) => {
            cells.page(Field::PageId, bits.map);
            cells.small(Field::NumElements, bits.runs.len());
            if let [(first, count)] = bits.runs.as_slice() {
                cells.small(Field::RowbitsFirstBit, usize::from(*first));
                cells.small(Field::RowbitsBitCount, usize::from(*count));
            }
            cells.bytes(Field::RowbitsBitValue, &[bits.change as u8]);
            Subject::System
        }
        other => fill_structure(cells, other),
    }
}

/// Fills them for records about the structure of heaps and trees.
fn fill_structure(cells: &mut Cells<'_>, body: &LogBody<'_>) -> Subject {
    match body {
        LogBody::UnitCreate(create) => {
            cells.page(Field::PageId, create.page);
            cells.small(Field::PageFormatPageType, usize::from(create.page_type));
            cells.small(Field::PageFormatPageFlags, usize::from(create.page_flags));
            Subject::Unit(create.unit)
        }
        LogBody::HeapAppend(append) => {
            cells.page(Field::PageId, append.page);
            cells.small(Field::PageFormatPageType, 1);
            Subject::Unit(append.unit)
        }
        LogBody::TreePage(page) => {
            cells.page(Field::PageId, page.page);
            cells.small(Field::NumElements, page.rows.len());
            cells.small(Field::PageFormatPageType, 2);
            cells.small(Field::PageFormatPageFlags, usize::from(page.flags));
            cells.small(Field::PageFormatPageLevel, usize::from(page.level));
            Subject::Unit(page.unit)
        }
        LogBody::LobPage(lob) => {
            cells.page(Field::PageId, lob.page);
            cells.small(Field::PageFormatPageType, 3);
            cells.set(Field::TextSize, || Value::BigInt(lob.data.len() as i64));
            cells.image(Field::RowLogContents0, lob.data);
            Subject::Unit(lob.unit)
        }
        LogBody::TreeSplit(split) => {
            cells.page(Field::PageId, split.left);
            cells.set(Field::SlotId, || Value::Int(i32::from(split.split_slot)));
            cells.page(Field::NewSplitPage, split.right);
            cells.small(Field::NumElements, split.rows.len());
            cells.small(Field::PageFormatPageLevel, usize::from(split.level));
            Subject::Unit(split.unit)
        }
        LogBody::RootGrow(grow) => {
            cells.page(Field::PageId, grow.root);
            cells.page(Field::NewSplitPage, grow.child);
            cells.small(Field::NumElements, grow.rows.len());
            cells.small(Field::PageFormatPageLevel, usize::from(grow.level) + 1);
            Subject::Unit(grow.unit)
        }
        LogBody::TreeUnlink(unlink) => {
            cells.page(Field::PageId, unlink.page);
            Subject::Page(unlink.parent)
        }
        _ => Subject::Nothing,
    }
}
