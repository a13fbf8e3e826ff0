//! Reading blocks from the log's files through a window of read-ahead.

use std::sync::Arc;

use os::{AlignedBuf, File};

use crate::block::BlockHeader;
use crate::error::LogError;
use crate::files::LogFiles;
use crate::limits::{BLOCK_BYTES_MAX, SECTOR_BYTES};
use crate::lsn::Lsn;
use crate::vlf::Vlf;

/// First read of a window: two blocks; most readers need no more.
const FIRST_BYTES: usize = 128 * 1024;
/// Later reads: sequential scans.
const NEXT_BYTES: usize = 1024 * 1024;
/// Reads are aligned to this, whatever the device.
const ALIGN_BYTES: u64 = 4096;

/// A range of the file in memory.
pub(crate) struct Window {
    files: Arc<LogFiles>,
    /// The file of the range, with its number.
    file: Option<(u16, Arc<dyn File>)>,
    buffer: AlignedBuf,
    offset: u64,
    len: usize,
    /// Bytes read from the file so far.
    pub(crate) read_bytes_total: u64,
}

impl Window {
    pub(crate) fn new(files: Arc<LogFiles>) -> Window {
        Window { files, file: None, buffer: AlignedBuf::new(0), offset: 0, len: 0, read_bytes_total: 0 }
    }

    /// Drops the contents: the file may have changed since.
    pub(crate) fn forget(&mut self) {
        self.len = 0;
    }

    /// Switches to a file; false when it has left the log.
    fn turn_to(&mut self, number: u16) -> bool {
        if self.file.as_ref().is_some_and(|file| file.0 == number) {
            return true;
        }
        self.len = 0;
        self.file = self.files.get(number).map(|file| (number, Arc::clone(&file.file)));
        assert_eq!(self.len, 0, "what was read of another file is forgotten");
        self.file.is_some()
    }

    /// The bytes at `offset` of the file of `vlf`, at most `len`, reading no further than its end. Fewer only there, none when the
    /// file has left the log.
    pub(crate) fn bytes_of(&mut self, vlf: &Vlf, offset: u64, len: usize) -> Result<&[u8], LogError> {
        let end = vlf.begin_offset + vlf.size_bytes;
        assert!((vlf.begin_offset..=end).contains(&offset), "the bytes at {offset} are of the VLF");
        if self.turn_to(vlf.file) { self.bytes(offset, len, end) } else { Ok(&[]) }
    }

    fn bytes(&mut self, offset: u64, len: usize, end: u64) -> Result<&[u8], LogError> {
        let len = len.min(end.saturating_sub(offset) as usize);
        let inside = offset >= self.offset && offset + len as u64 <= self.offset + self.len as u64;
        if !inside {
            self.load(offset, len, end)?;
        }
        assert!(self.offset <= offset, "the window begins before what was asked for");
        let at = (offset - self.offset) as usize;
        assert!(at + len <= self.len, "the window holds what it was asked for");
        Ok(&self.buffer[at..at + len])
    }

    /// Reads around `offset`: behind it when the reader walks forward (or at first), before it when it walks back.
    fn load(&mut self, offset: u64, len: usize, end: u64) -> Result<(), LogError> {
        let bytes = if self.buffer.is_empty() { FIRST_BYTES } else { NEXT_BYTES };
        if self.buffer.len() < bytes {
            self.buffer = AlignedBuf::new(bytes);
        }
        let backward = self.len > 0 && offset < self.offset && self.offset - offset < NEXT_BYTES as u64;
        let room_before = self.buffer.len() as u64 - (BLOCK_BYTES_MAX as u64 + 2 * ALIGN_BYTES);
        let wished = if backward { offset.saturating_sub(room_before) } else { offset };
        let from = wished / ALIGN_BYTES * ALIGN_BYTES;
        let to = (from + self.buffer.len() as u64).min(end.next_multiple_of(ALIGN_BYTES));
        assert!(offset + len as u64 <= to, "a window of {from}..{to} misses {offset}+{len}");
        assert!(
            from <= offset && from.is_multiple_of(ALIGN_BYTES),
            "a window begins at a boundary, before what is asked for"
        );
        self.len = 0;
        let file = &self.file.as_ref().expect("the caller has turned to a file").1;
        let count = file.read_at(&mut self.buffer[..(to - from) as usize], from)?;
        if (from + count as u64) < offset + len as u64 {
            let what = format!("read {len} bytes at {offset} of {}: end of file", file.path().display());
            return Err(os::IoError::new(os::IoErrorKind::UnexpectedEof, what).into());
        }
        assert!(from <= offset && count <= self.buffer.len(), "what was read is what was asked for");
        self.offset = from;
        self.len = count;
        self.read_bytes_total += count as u64;
        Ok(())
    }

    /// The block at `start` in `vlf`: header and padded bytes, if a complete and valid block of this log is
    /// there; else the reason why not.
    pub(crate) fn block(
        &mut self,
        vlf: &Vlf,
        start: Lsn,
        log_id: u32,
    ) -> Result<Result<(BlockHeader, &[u8]), &'static str>, LogError> {
        if start.block() >= vlf.sectors() {
            return Ok(Err("the VLF ends"));
        }
        let offset = vlf.begin_offset + u64::from(start.block()) * SECTOR_BYTES as u64;
        let end = vlf.begin_offset + vlf.size_bytes;
        if !self.turn_to(vlf.file) {
            return Ok(Err("its file has left the log"));
        }
        let header = match BlockHeader::decode(self.bytes(offset, SECTOR_BYTES, end)?) {
            Ok(header) => header,
            Err(error) => return Ok(Err(error.0)),
        };
        if header.log_id != log_id || header.start() != start {
            return Ok(Err("a block of another place or log"));
        }
        if offset + header.padded_bytes() as u64 > end {
            return Ok(Err("the block passes the end of its VLF"));
        }
        let bytes = self.bytes(offset, header.padded_bytes(), end)?;
        assert_eq!(bytes.len(), header.padded_bytes(), "a whole block");
        if header.checksum_matches(bytes) { Ok(Ok((header, bytes))) } else { Ok(Err("block checksum")) }
    }
}
