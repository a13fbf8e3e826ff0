//! `hardpan log dump`: prints the closed or copied files of a log with the server's own decoders and says where damage begins.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use os::Os;

use crate::block::{BlockHeader, SlotTable};
use crate::error::LogError;
use crate::file::{FIRST_LOG_FILE, LogFile};
use crate::files::LogFiles;
use crate::limits::{FIRST_BLOCK_SECTOR, SECTOR_BYTES};
use crate::lsn::Lsn;
use crate::records::LogTime;
use crate::tail::Walk;
use crate::vlf::VlfMap;

/// What to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpOptions {
    /// From this record (or its block) on; NULL: the oldest log that is still needed.
    pub from: Lsn,
    /// Each record, not only the blocks.
    pub records: bool,
}

/// What a dump has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpSummary {
    /// Blocks.
    pub blocks_total: u64,
    /// Records.
    pub records_total: u64,
    /// Bytes of records.
    pub record_bytes_total: u64,
    /// Records by operation name.
    pub records_by_operation: BTreeMap<&'static str, u64>,
    /// The newest record; NULL: none.
    pub last: Lsn,
    /// Where the log is damaged and how; `None`: it ends as a log may end.
    pub damage: Option<String>,
}

/// Prints the log file at `path`, one call of `line` a line; see [`dump_files`].
pub fn dump_file(
    os: &Os,
    path: &Path,
    options: &DumpOptions,
    line: &mut dyn FnMut(&str),
) -> Result<DumpSummary, LogError> {
    dump_files(os, &[path], options, line)
}

/// Prints a log whose files are given in any order, one call of `line` a line. Nothing is changed. Damage in the middle is reported in the
/// summary (and as a line), after everything before it; errors are for files that cannot be read at all.
pub fn dump_files(
    os: &Os,
    paths: &[&Path],
    options: &DumpOptions,
    line: &mut dyn FnMut(&str),
) -> Result<DumpSummary, LogError> {
    let files = paths.iter().map(|path| LogFile::open(os, path, true)).collect::<Result<Vec<_>, _>>()?;
    let files = Arc::new(LogFiles::of_all(files)?);
    let vlfs = VlfMap::new(files.read_vlfs(os)?);
    describe_files(&files, &vlfs, line);
    let (start, checksum) = first_block(files.first(), &vlfs, options.from);
    describe_start(files.first(), &vlfs, options.from, start, line);
    let mut walk = Walk::new(&files, &vlfs, start, checksum);
    let mut summary = DumpSummary::default();
    let ended = loop {
        match walk.next_block() {
            Ok(Some((header, bytes, slots))) => {
                dump_block(&header, bytes, &slots, options, &mut summary, &vlfs, line);
            }
            Ok(None) => break walk.judge_end(),
            Err(error) => break Err(error),
        }
    };
    summary.last = walk.last;
    assert!(summary.blocks_total == 0 || !summary.last.is_null(), "a block has a last record");
    let counted: u64 = summary.records_by_operation.values().sum();
    assert_eq!(counted, summary.records_total, "each record has one operation");
    match ended {
        Ok(()) => line(&format!("end of log after {}", walk.last)),
        Err(LogError::Corrupt { offset, what, .. }) => {
            let text = format!("DAMAGE at offset {offset}, after record {}: {what}", walk.last);
            line(&text);
            summary.damage = Some(text);
        }
        Err(error) => return Err(error),
    }
    line(&format!(
        "{} blocks, {} records of {} bytes",
        summary.blocks_total, summary.records_total, summary.record_bytes_total
    ));
    for (operation, count) in &summary.records_by_operation {
        line(&format!("  {operation:<24} {count}"));
    }
    Ok(summary)
}

fn describe_files(files: &LogFiles, vlfs: &VlfMap, line: &mut dyn FnMut(&str)) {
    let header = files.first().header();
    let all = files.all();
    let is_one_of_several = all.len() > 1;
    line(&format!(
        "log {:08x}, {} bytes in {} VLFs, run {}, {}",
        header.log_id,
        vlfs.size_bytes(),
        vlfs.vlfs().len(),
        header.epoch,
        if header.clean { "closed properly" } else { "not closed properly" }
    ));
    if header.has_more_files && !is_one_of_several {
        line("the log has further files: without them it seems to end early, or to be damaged");
    }
    line(&format!(
        "checkpoint {}, needed from {}, durable at least up to {}",
        header.checkpoint, header.min, header.hardened
    ));
    for file in all.iter().filter(|_| is_one_of_several) {
        line(&format!("file {}: {}, {} bytes", file.number, file.path.display(), file.header().size_bytes));
    }
    for vlf in vlfs.info() {
        let file = if is_one_of_several { format!(" of file {}", vlf.file) } else { String::new() };
        line(&format!(
            "VLF at {:>12}{file}, {:>12} bytes, sequence {:08x}, parity {:02x}, made at {}",
            vlf.begin_offset, vlf.size_bytes, vlf.sequence, vlf.parity, vlf.create_lsn
        ));
    }
}

/// Prints where the dump begins and why, and where older log is.
fn describe_start(log_file: &LogFile, vlfs: &VlfMap, from: Lsn, start: Lsn, line: &mut dyn FnMut(&str)) {
    let header = log_file.header();
    if !from.is_null() {
        line(&format!("begins with block {start}, as asked"));
        return;
    }
    let why = match header.clean && header.min == header.checkpoint && !header.min.is_null() {
        true => "the last checkpoint, with which it was closed",
        false => "the oldest log that is still needed",
    };
    line(&format!("begins with block {start}: {why}"));
    let used = vlfs.info().into_iter().map(|vlf| vlf.first_lsn).filter(|first| !first.is_null());
    if let Some(oldest) = used.min().filter(|oldest| oldest.block_start() < start) {
        line(&format!("older log is still there: --from {oldest} begins with the oldest VLF"));
    }
}

/// The block to begin with, and the checksum before it if it is the very first of the log.
fn first_block(log_file: &LogFile, vlfs: &VlfMap, from: Lsn) -> (Lsn, Option<u32>) {
    let header = log_file.header();
    let very_first = Lsn::new(header.first_vlf, FIRST_BLOCK_SECTOR, 0);
    let start = match (from, header.min) {
        (Lsn::NULL, Lsn::NULL) => very_first,
        (Lsn::NULL, min) => min.block_start(),
        (from, _) => from.block_start(),
    };
    assert_eq!(start.slot(), 0, "a dump begins with a block");
    let checksum =
        (start == very_first && vlfs.by_sequence(header.first_vlf).is_some()).then_some(header.log_id);
    (start, checksum)
}

fn dump_block(
    header: &BlockHeader,
    bytes: &[u8],
    slots: &SlotTable,
    options: &DumpOptions,
    summary: &mut DumpSummary,
    vlfs: &VlfMap,
    line: &mut dyn FnMut(&str),
) {
    let offset = vlfs.offset_of(header.start()).unwrap_or(0);
    let file = vlfs.by_sequence(header.vlf).map_or(FIRST_LOG_FILE, |vlf| vlf.file);
    let file = if file == FIRST_LOG_FILE { String::new() } else { format!(" of file {file}") };
    line(&format!(
        "block {} at {offset}{file}: {} of {} bytes, {} records, run {}, hardened {}, checksum {:08x} after {:08x}, {}",
        header.start(),
        header.used_bytes,
        usize::from(header.sectors) * SECTOR_BYTES,
        header.slots,
        header.epoch,
        header.hardened,
        header.checksum,
        header.previous_checksum,
        LogTime::from_utc_100ns(header.time_100ns),
    ));
    summary.blocks_total += 1;
    assert!(header.slots > 0 && header.last() > header.start(), "a block has records");
    for slot in 1..=header.slots {
        let Some(Ok((record, encoded_bytes))) = slots.record(header, bytes, slot) else { continue };
        let lsn = header.start().with_slot(slot);
        summary.records_total += 1;
        summary.record_bytes_total += encoded_bytes as u64;
        *summary.records_by_operation.entry(record.header.op.name()).or_default() += 1;
        if options.records && lsn >= options.from {
            line(&format!(
                "  {lsn} {:<24} {:<18} {} prev {} {:>5} bytes  {}",
                record.header.op.name(),
                record.header.context.name(),
                record.header.txn,
                record.header.prev,
                encoded_bytes,
                crate::body::describe(&record.header, record.payload),
            ));
        }
    }
}
