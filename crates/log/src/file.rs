//! One log file: its header page (two copies, written in turn), VLF headers, creation, growth and shrinking.
//! Byte tables: docs/formats/log-file.md.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::sim::{Bug, is_planted};
use os::{AlignedBuf, File, Latch, LatchRank, OpenOptions, Os, WriteMode};

use crate::block::{BlockHeader, LOG_FORMAT_VERSION};
use crate::codec::DecodeError;
use crate::error::LogError;
use crate::incarnation::Incarnation;
use crate::limits::{FILE_HEADER_BYTES, FIRST_BLOCK_SECTOR, LOG_BYTES_MIN, SECTOR_BYTES, VLF_HEADER_BYTES};
use crate::lsn::Lsn;
use crate::options::Growth;
use crate::vlf::{VLF_HEADER_USED_BYTES, Vlf, VlfHeader};
use crate::vlf_headers::VlfHeaders;

const FILE_MAGIC: [u8; 8] = *b"HPDNLOG1";
const COPY_BYTES: usize = 4096;
const CHECKSUM_OFFSET: usize = COPY_BYTES - 4;
/// No log has more VLFs than this; a larger number in a header is damage.
const VLF_COUNT_MAX: u32 = 1 << 22;

/// Number of the first file of a log; only its header has the state of the log. The number is that of SQL Server's file_id.
pub const FIRST_LOG_FILE: u16 = 2;
/// Version of the header of a file that is not the only one of its log: a server that knows logs of one file must not open it.
const VERSION_OF_SEVERAL: u16 = 2;

const _: () = assert!(2 * COPY_BYTES as u64 == FILE_HEADER_BYTES);
const _: () = assert!(VERSION_OF_SEVERAL > LOG_FORMAT_VERSION);

/// The contents of the header page of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Random number that every block and VLF of this log carries.
    pub log_id: u32,
    /// Number of the header write; the valid copy with the higher one counts.
    pub generation: u64,
    /// Bytes of the file that are formatted: header page and whole VLFs. Bytes beyond belong to an unfinished growth.
    pub size_bytes: u64,
    /// Number of VLFs in them.
    pub vlf_count: u32,
    /// Number of the run that owns the log; rises at each opening.
    pub epoch: u32,
    /// Sequence number of the first VLF ever used.
    pub first_vlf: u32,
    /// LOP_BEGIN_CKPT of the last completed checkpoint; NULL: none yet.
    pub checkpoint: Lsn,
    /// The oldest record that recovery from that checkpoint needs.
    pub min: Lsn,
    /// `hardened` when this header was written: the end of the log cannot be before it.
    pub hardened: Lsn,
    /// Whether the log was closed properly; `hardened` is then its very last record.
    pub clean: bool,
    /// tempdb: never recovered.
    pub volatile: bool,
    /// UTC when the log was made, 100 ns ticks since 0001-01-01.
    pub created_100ns: u64,
    /// The newest incarnation, whose commits have tickets; see [`crate::Log::record_recovery`].
    pub incarnation: Incarnation,
    /// The end of the log when that incarnation ended; none while it lasts.
    pub incarnation_end: Option<Lsn>,
    /// Random half of the incarnation that recovery will begin, unchanged when recovery is interrupted and repeated; 0 while none has ended.
    pub next_random: u32,
    /// Random number of the present run, also stored in a cache that outlives the process; 0 in files of versions without it.
    pub run_id: u64,
    /// Number of the file in its log. In other files than the first, the fields about the log's state mean nothing.
    pub number: u16,
    /// The first file: whether the log has others.
    pub has_more_files: bool,
    /// Size with which the file was made, bytes; 0 in files of versions that did not note it.
    pub created_bytes: u64,
    /// Random number of the persisted log buffer that may hold the end of the log; 0: the file has the whole log.
    pub persisted_id: u64,
}

impl FileHeader {
    /// One copy as on disk.
    pub fn encode(&self) -> [u8; COPY_BYTES] {
        assert!(self.is_possible(), "what decode refuses is never written: {self:?}");
        assert!(self.min <= self.checkpoint, "recovery from {} needs {}", self.checkpoint, self.min);
        assert!(self.checkpoint <= self.hardened || self.volatile, "a checkpoint is durable");
        let end = self.incarnation_end;
        assert!(end.is_none_or(|end| end <= self.hardened), "an incarnation ends with what is durable");
        assert!(self.next_random == 0 || end.is_some(), "one begins when another has ended");
        let mut out = [0; COPY_BYTES];
        out[..8].copy_from_slice(&FILE_MAGIC);
        out[8..10].copy_from_slice(&self.version().to_le_bytes());
        out[10] = u8::from(self.clean)
            | u8::from(self.volatile) << 1
            | u8::from(self.incarnation_end.is_some()) << 2
            | u8::from(self.has_more_files) << 3;
        out[12..16].copy_from_slice(&self.log_id.to_le_bytes());
        out[16..24].copy_from_slice(&self.generation.to_le_bytes());
        out[24..32].copy_from_slice(&self.size_bytes.to_le_bytes());
        out[32..36].copy_from_slice(&self.vlf_count.to_le_bytes());
        out[36..40].copy_from_slice(&self.epoch.to_le_bytes());
        out[40..44].copy_from_slice(&self.first_vlf.to_le_bytes());
        let noted_number = if self.number == FIRST_LOG_FILE { 0 } else { self.number };
        out[44..46].copy_from_slice(&noted_number.to_le_bytes());
        out[48..56].copy_from_slice(&self.checkpoint.raw().to_le_bytes());
        out[56..64].copy_from_slice(&self.min.raw().to_le_bytes());
        out[64..72].copy_from_slice(&self.hardened.raw().to_le_bytes());
        out[72..80].copy_from_slice(&self.created_100ns.to_le_bytes());
        out[80..88].copy_from_slice(&self.incarnation.to_bytes());
        out[88..96].copy_from_slice(&self.incarnation_end.unwrap_or_default().raw().to_le_bytes());
        out[96..104].copy_from_slice(&self.run_id.to_le_bytes());
        out[104..112].copy_from_slice(&self.created_bytes.to_le_bytes());
        out[112..120].copy_from_slice(&self.persisted_id.to_le_bytes());
        out[120..124].copy_from_slice(&self.next_random.to_le_bytes());
        let checksum = crc32c::crc32c(&out[..CHECKSUM_OFFSET]);
        out[CHECKSUM_OFFSET..].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    fn version(&self) -> u16 {
        let is_alone = self.number == FIRST_LOG_FILE && !self.has_more_files;
        if is_alone { LOG_FORMAT_VERSION } else { VERSION_OF_SEVERAL }
    }

    /// How headers are written: a volatile log is never made durable.
    fn write_mode(&self) -> WriteMode {
        if self.volatile { WriteMode::Cached } else { WriteMode::Durable }
    }

    /// Reads and checks one copy. Arbitrary bytes give an error, never a panic.
    pub fn decode(bytes: &[u8]) -> Result<FileHeader, DecodeError> {
        let copy = bytes.get(..COPY_BYTES).ok_or(DecodeError("file header ends early"))?;
        let u32_at = |at: usize| u32::from_le_bytes([copy[at], copy[at + 1], copy[at + 2], copy[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if copy[..8] != FILE_MAGIC {
            return Err(DecodeError("no log file magic"));
        }
        match u16::from_le_bytes([copy[8], copy[9]]) {
            LOG_FORMAT_VERSION | VERSION_OF_SEVERAL => {}
            0 => return Err(DecodeError("file header version")),
            _ => return Err(NEWER_VERSION),
        }
        if crc32c::crc32c(&copy[..CHECKSUM_OFFSET]) != u32_at(CHECKSUM_OFFSET) {
            return Err(DecodeError("file header checksum"));
        }
        let header = FileHeader {
            log_id: u32_at(12),
            generation: u64_at(16),
            size_bytes: u64_at(24),
            vlf_count: u32_at(32),
            epoch: u32_at(36),
            first_vlf: u32_at(40),
            checkpoint: Lsn::from_raw(u64_at(48)),
            min: Lsn::from_raw(u64_at(56)),
            hardened: Lsn::from_raw(u64_at(64)),
            clean: copy[10] & 1 != 0,
            volatile: copy[10] & 2 != 0,
            created_100ns: u64_at(72),
            incarnation: Incarnation::from_bytes(u64_at(80).to_le_bytes()),
            incarnation_end: (copy[10] & 4 != 0).then(|| Lsn::from_raw(u64_at(88))),
            run_id: u64_at(96),
            number: match u16::from_le_bytes([copy[44], copy[45]]) {
                0 => FIRST_LOG_FILE,
                number => number,
            },
            has_more_files: copy[10] & 8 != 0,
            created_bytes: u64_at(104),
            persisted_id: u64_at(112),
            next_random: u32_at(120),
        };
        if header.is_possible() { Ok(header) } else { Err(DecodeError("impossible file header")) }
    }

    fn is_possible(&self) -> bool {
        self.vlf_count > 0
            && self.vlf_count <= VLF_COUNT_MAX
            && self.size_bytes >= LOG_BYTES_MIN
            && self.first_vlf > 0
            && self.first_vlf <= crate::lsn::VLF_MAX
            && self.number >= FIRST_LOG_FILE
    }

    /// The valid copy with the higher generation out of a header page.
    pub fn decode_page(page: &[u8]) -> Result<FileHeader, DecodeError> {
        let first = FileHeader::decode(page);
        let second = FileHeader::decode(page.get(COPY_BYTES..).unwrap_or_default());
        match (first, second) {
            (Ok(one), Ok(two)) => Ok(if one.generation > two.generation { one } else { two }),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(error), Err(_)) => Err(error),
        }
    }
}

/// The number of a new run.
pub(crate) fn new_run_id(os: &Os, log_id: u32, epoch: u32) -> u64 {
    let mut id = [0; 8];
    os.rng(&format!("run {epoch} of log {log_id}")).fill(&mut id);
    u64::from_le_bytes(id)
}

const NEWER_VERSION: DecodeError = DecodeError("log file of a newer format version");

/// The header as last written.
struct Noted {
    header: FileHeader,
    /// A write has failed since: the newer copy on disk is this one or the next one.
    is_doubtful: bool,
}

/// An open log file and its header.
pub(crate) struct LogFile {
    /// For blocks.
    pub(crate) file: Arc<dyn File>,
    /// For headers and growth, opened apart: the system reports a failed write-back only once per open file,
    /// and a failed sync of a growth must not consume the error of a block's write.
    control: Arc<dyn File>,
    pub(crate) path: PathBuf,
    /// Its file number.
    pub(crate) number: u16,
    /// FILEGROWTH and MAXSIZE, as last set.
    pub(crate) growth: Latch<(Growth, u64)>,
    header: Latch<Noted>,
    /// The unit that blocks are padded to.
    pub(crate) sector_bytes: usize,
}

/// The part that growth has added to a file.
pub(crate) struct Grown {
    pub(crate) headers: Vec<VlfHeader>,
    /// Zeros were written; else the part only reads as zeros.
    pub(crate) is_zeroed: bool,
}

/// A log file to be made.
pub(crate) struct NewLogFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) number: u16,
    pub(crate) growth: Growth,
    pub(crate) bytes_max: u64,
    pub(crate) volatile: bool,
    /// See [`FileHeader::first_vlf`].
    pub(crate) first_vlf: u32,
    /// Id of the log that the file joins; none for a log's first file.
    pub(crate) log_id: Option<u32>,
    pub(crate) has_more_files: bool,
}

impl LogFile {
    /// Makes a file of one header page and the VLFs of `layout`, all durable.
    pub(crate) fn create(
        os: &Os,
        new: &NewLogFile<'_>,
        layout: &[(u64, u64)],
        create_lsn: Lsn,
    ) -> Result<LogFile, LogError> {
        let disk = os.disk();
        if new.volatile && disk.exists(new.path) {
            disk.remove(new.path)?;
        }
        // A volatile log is never made durable: the page cache is the fastest place for it.
        let direct = !new.volatile;
        let file =
            disk.open(new.path, &OpenOptions { direct, no_links: true, ..OpenOptions::create_new() })?;
        let control =
            disk.open(new.path, &OpenOptions { direct, no_links: true, ..OpenOptions::default() })?;
        match LogFile::format(os, new, layout, create_lsn, (Arc::clone(&file), control)) {
            Ok(log_file) => Ok(log_file),
            Err(error) => {
                // The incomplete file is useless; the first error is returned.
                drop(file);
                let _ = disk.remove(new.path);
                Err(error)
            }
        }
    }

    fn format(
        os: &Os,
        new: &NewLogFile<'_>,
        layout: &[(u64, u64)],
        create_lsn: Lsn,
        (file, control): (Arc<dyn File>, Arc<dyn File>),
    ) -> Result<LogFile, LogError> {
        let size_bytes = layout.last().map_or(0, |vlf| vlf.0 + vlf.1);
        assert!(layout.first().is_some_and(|vlf| vlf.0 == FILE_HEADER_BYTES), "VLFs follow the header page");
        assert_eq!(new.log_id.is_none(), new.number == FIRST_LOG_FILE, "the first file begins a log");
        let mut id = [0; 4];
        if new.log_id.is_none() {
            os.fill_random(&mut id);
        }
        let log_id = new.log_id.unwrap_or(u32::from_le_bytes(id));
        let run_id = new_run_id(os, log_id, 1);
        let header = FileHeader {
            log_id,
            generation: 1,
            size_bytes,
            vlf_count: layout.len() as u32,
            epoch: 1,
            first_vlf: new.first_vlf.max(1),
            checkpoint: Lsn::NULL,
            min: Lsn::NULL,
            hardened: Lsn::NULL,
            clean: false,
            volatile: new.volatile,
            created_100ns: os.clock().utc_100ns() as u64,
            incarnation: Incarnation::first(Incarnation::random_of(run_id)),
            incarnation_end: None,
            next_random: 0,
            run_id,
            number: new.number,
            has_more_files: new.has_more_files,
            created_bytes: size_bytes,
            persisted_id: 0,
        };
        if new.volatile {
            control.set_len(size_bytes)?;
        } else {
            control.allocate_zeroed(0, size_bytes)?;
        }
        let log_file = LogFile::new(file, control, new.path, header);
        log_file.set_growth(new.growth, new.bytes_max);
        log_file.write_vlf_headers(&vlf_headers(header.log_id, layout, create_lsn))?;
        let is_left_soft = new.number != FIRST_LOG_FILE && is_planted(Bug::JoinBeforeHard);
        let mode = if is_left_soft { WriteMode::Cached } else { header.write_mode() };
        let mut page = AlignedBuf::new(FILE_HEADER_BYTES as usize);
        page[..COPY_BYTES].copy_from_slice(&header.encode());
        page[COPY_BYTES..].copy_from_slice(&header.encode());
        log_file.control.write_at(&page, 0, mode)?;
        if !new.volatile && !is_left_soft {
            os.disk().sync_dir(new.path.parent().unwrap_or(Path::new(".")))?;
        }
        Ok(log_file)
    }

    fn new(file: Arc<dyn File>, control: Arc<dyn File>, path: &Path, header: FileHeader) -> LogFile {
        let sector_bytes = (file.device().sector_bytes as usize).max(SECTOR_BYTES);
        assert!(
            crate::limits::BLOCK_BYTES_MAX.is_multiple_of(sector_bytes),
            "device sector of {sector_bytes} bytes"
        );
        LogFile {
            file,
            control,
            path: path.to_owned(),
            number: header.number,
            growth: Latch::new(LatchRank::Leaf, (Growth::None, header.size_bytes)),
            header: Latch::new(LatchRank::LogFile, Noted { header, is_doubtful: false }),
            sector_bytes,
        }
    }

    /// Opens a log file and reads its header; nothing is changed.
    pub(crate) fn open(os: &Os, path: &Path, read_only: bool) -> Result<LogFile, LogError> {
        let how =
            OpenOptions { direct: !read_only, read_only, no_links: !read_only, ..OpenOptions::default() };
        let (file, control) = (os.disk().open(path, &how)?, os.disk().open(path, &how)?);
        let not_ours = |what: String| LogError::NotOurs { file: path.to_owned(), what };
        let len = file.len()?;
        let mut page = AlignedBuf::new(FILE_HEADER_BYTES as usize);
        if len < FILE_HEADER_BYTES {
            return Err(not_ours(format!("it has {len} bytes, less than a header page")));
        }
        file.read_exact_at(&mut page, 0)?;
        let header = FileHeader::decode_page(&page).map_err(|error| match error {
            NEWER_VERSION => LogError::NewerFormat {
                file: path.to_owned(),
                found: u16::from_le_bytes([page[8], page[9]]),
                supported: VERSION_OF_SEVERAL,
            },
            error => not_ours(error.to_string()),
        })?;
        if len < header.size_bytes {
            return Err(not_ours(format!("it has {len} bytes and its header says {}", header.size_bytes)));
        }
        Ok(LogFile::new(file, control, path, header))
    }

    pub(crate) fn header(&self) -> FileHeader {
        self.header.lock().header
    }

    /// FILEGROWTH and MAXSIZE from now on.
    pub(crate) fn set_growth(&self, growth: Growth, bytes_max: u64) {
        *self.growth.lock() = (growth, bytes_max);
    }

    /// I/O counts of all handles together.
    pub(crate) fn stats(&self) -> os::FileStats {
        self.file.stats() + self.control.stats()
    }

    /// Requests of all handles that have not been answered.
    pub(crate) fn pending(&self) -> Vec<os::PendingIo> {
        let mut pending = self.file.pending();
        pending.extend(self.control.pending());
        pending
    }

    pub(crate) fn corrupt(&self, offset: u64, what: impl Into<String>) -> LogError {
        LogError::Corrupt { file: self.path.clone(), offset, what: what.into() }
    }

    /// Every VLF of the file, and the sequence number and epoch that its first block shows, if there is one.
    pub(crate) fn read_vlfs(&self, os: &Os) -> Result<Vec<(Vlf, Option<(u32, u32)>)>, LogError> {
        let header = self.header();
        let mut vlfs: Vec<(Vlf, Option<(u32, u32)>)> = Vec::new();
        let mut at = FILE_HEADER_BYTES;
        let mut headers = VlfHeaders::new(os, &self.file, header.size_bytes);
        for _ in 0..header.vlf_count {
            if at + VLF_HEADER_BYTES + COPY_BYTES as u64 > header.size_bytes {
                return Err(self.corrupt(at, "VLF header: the VLFs do not fill the file"));
            }
            let page = headers.page(at, vlfs.last().map_or(0, |(before, _)| before.size_bytes))?;
            let vlf = VlfHeader::decode(&page).map_err(|error| self.corrupt(at, error.to_string()))?;
            if vlf.log_id != header.log_id
                || vlf.begin_offset != at
                || vlf.size_bytes > header.size_bytes - at
            {
                return Err(self.corrupt(at, "VLF header of another place or log"));
            }
            let mut vlf_in_memory = Vlf::unused(&vlf, self.number);
            let mut use_shown = None;
            if let Ok(first) = BlockHeader::decode(&page[VLF_HEADER_BYTES as usize..])
                && first.log_id == header.log_id
                && first.sector == FIRST_BLOCK_SECTOR
            {
                vlf_in_memory.parity = first.parity();
                use_shown = Some((first.vlf, first.epoch));
            }
            vlfs.push((vlf_in_memory, use_shown));
            at += vlf.size_bytes;
        }
        if at != header.size_bytes {
            return Err(self.corrupt(at, "the VLFs do not fill the file"));
        }
        Ok(vlfs)
    }

    /// The first blocks, and their places, of VLFs behind the part that the header counts.
    pub(crate) fn uncounted_blocks(&self) -> Result<Vec<(u64, BlockHeader)>, LogError> {
        let header = self.header();
        let (mut found, mut at, len) = (Vec::new(), header.size_bytes, self.file.len()?);
        let mut page = AlignedBuf::new(VLF_HEADER_BYTES as usize + COPY_BYTES);
        while at + page.len() as u64 <= len {
            self.file.read_exact_at(&mut page, at)?;
            let Ok(vlf) = VlfHeader::decode(&page) else { break };
            if vlf.log_id != header.log_id || vlf.begin_offset != at {
                break;
            }
            let first = BlockHeader::decode(&page[VLF_HEADER_BYTES as usize..]).ok();
            let is_in_place =
                |block: &BlockHeader| block.log_id == header.log_id && block.sector == FIRST_BLOCK_SECTOR;
            if let Some(block) = first.filter(is_in_place) {
                let offset = at + VLF_HEADER_BYTES;
                let mut bytes = AlignedBuf::new(block.padded_bytes().next_multiple_of(COPY_BYTES));
                let is_there = offset + bytes.len() as u64 <= len;
                if is_there && self.file.read_exact_at(&mut bytes, offset).is_ok() {
                    let is_whole = block.checksum_matches(&bytes[..block.padded_bytes()]);
                    found.extend(is_whole.then_some((offset, block)));
                }
            }
            assert!(vlf.size_bytes > 0, "the next VLF lies behind this one");
            at += vlf.size_bytes;
        }
        Ok(found)
    }

    /// Changes the header, durably: the copy that is not the newest is overwritten.
    pub(crate) fn update_header(&self, change: impl FnOnce(&mut FileHeader)) -> Result<(), LogError> {
        self.write_header(|next| {
            let before = *next;
            change(next);
            assert!(next.size_bytes >= before.size_bytes, "only `shrink` makes a file smaller");
            assert!(next.vlf_count >= before.vlf_count, "and takes VLFs away");
        })
    }

    /// Changes both copies, for facts that the older copy must not contradict if the newer one is damaged: the run, the incarnation,
    /// the memory that may hold the end of the log (else the loss of records that only the memory has would not be noticed), and the VLFs.
    pub(crate) fn update_header_twice(&self, change: impl FnOnce(&mut FileHeader)) -> Result<(), LogError> {
        self.update_header(change)?;
        // A checkpoint or a growth in between writes the change, too.
        let first = self.header().generation;
        self.update_header(|_| {})?;
        assert!(self.header().generation > first, "the other copy is written after the first");
        Ok(())
    }

    fn write_header(&self, change: impl FnOnce(&mut FileHeader)) -> Result<(), LogError> {
        let mut noted = self.header.lock();
        let header = noted.header;
        let mut next = header;
        change(&mut next);
        assert_eq!(next.generation, header.generation, "writes of the header are counted here");
        assert!(next.volatile == header.volatile && next.created_100ns == header.created_100ns);
        next.generation += 1;
        assert_eq!(next.log_id, header.log_id);
        assert!(next.checkpoint >= header.checkpoint && next.min <= next.checkpoint);
        assert!(next.epoch >= header.epoch && next.first_vlf == header.first_vlf);
        assert_eq!(next.number, header.number, "a file keeps its number");
        assert!(next.hardened >= header.hardened, "what was durable once stays so");
        assert!(next.incarnation >= header.incarnation, "incarnations are counted");
        assert!(
            next.incarnation_end == header.incarnation_end
                || header.incarnation_end.is_none()
                || next.incarnation > header.incarnation,
            "an end stands until the next incarnation"
        );
        let mut copy = AlignedBuf::new(COPY_BYTES);
        copy.copy_from_slice(&next.encode());
        let offset = (next.generation % 2) * COPY_BYTES as u64;
        // A write that fails may have reached the device or not: the next one goes to the same copy.
        noted.is_doubtful = true;
        self.control.write_at(&copy, offset, next.write_mode())?;
        *noted = Noted { header: next, is_doubtful: false };
        Ok(())
    }

    /// Makes the header on disk the one in memory, after a write of it that failed.
    fn settle_header(&self) -> Result<(), LogError> {
        if !self.header.lock().is_doubtful {
            return Ok(());
        }
        self.update_header(|_| {})?;
        assert!(!self.header.lock().is_doubtful, "a header that has been written is certain");
        Ok(())
    }

    /// Removes unused VLFs at the end: the header's size is the commit point, then the space goes back to the file
    /// system. An error leaves the file as it was; if even that is not certain, the error is [`LogError::Failed`].
    pub(crate) fn shrink(&self, size_bytes: u64, vlf_count: u32) -> Result<(), LogError> {
        self.settle_header()?;
        let header = self.header();
        assert!(size_bytes < header.size_bytes && vlf_count < header.vlf_count, "a file shrinks by VLFs");
        os::sim::reach(|| "shrinking of a log file begins".to_owned());
        if is_planted(Bug::ShrinkBeforeNoted) {
            self.control.set_len(size_bytes).and_then(|()| self.control.sync())?;
        }
        let noted = self.write_header(|next| {
            next.size_bytes = size_bytes;
            next.vlf_count = vlf_count;
        });
        if let Err(error) = noted {
            // The disk may have either header: the larger size is written once more, so that its VLFs can be used again.
            return match (self.settle_header(), error) {
                (Ok(()), error) => Err(error),
                (Err(_), LogError::Io(error)) => Err(LogError::Failed(error)),
                (Err(_), error) => Err(error),
            };
        }
        // If the newer copy is damaged, an older copy that counts more bytes than the file has would make the file unusable.
        let is_in_both = self.update_header(|_| {}).is_ok();
        // Bytes behind the size are ignored; if they stay, the next growth uses them.
        if is_in_both && self.control.set_len(size_bytes).is_ok() && !header.volatile {
            let _ = self.control.sync();
        }
        os::sim::reach(|| "shrinking of a log file ends".to_owned());
        Ok(())
    }

    /// The file leaves its log: its space goes back at once, though readers may have it open for a while.
    pub(crate) fn empty(&self) {
        let _ = self.control.set_len(0);
    }

    /// Adds VLFs at the end, described and durable, that read as zeros; the header's size is the commit point. The file keeps its formatted
    /// size when this fails. One growth runs at a time. It takes as long as a few writes, whatever its size, where the file system can preallocate.
    pub(crate) fn grow(&self, layout: &[(u64, u64)], create_lsn: Lsn) -> Result<Grown, LogError> {
        // The header of an earlier growth may have reached the disk although its write failed: the VLFs that it counts must not be
        // zeroed or cut off while it counts them.
        self.settle_header()?;
        let header = self.header();
        let end = layout.last().map_or(header.size_bytes, |vlf| vlf.0 + vlf.1);
        assert!(end > header.size_bytes && layout.first().is_some_and(|vlf| vlf.0 == header.size_bytes));
        os::sim::reach(|| "growth of a log file begins".to_owned());
        let count = || {
            self.update_header(|next| {
                next.size_bytes = end;
                next.vlf_count += layout.len() as u32;
            })
        };
        let is_counted_first = is_planted(Bug::GrowBeforeHard);
        if is_counted_first {
            count()?;
        }
        let prepared = self.prepare_growth(&header, layout, create_lsn, end);
        if prepared.is_err() {
            // Give the space back; if that fails too, the next growth reuses the excess.
            let _ = self.control.set_len(header.size_bytes);
        }
        let grown = prepared?;
        // From here on the larger size may be on disk even if the write fails: the file keeps its length.
        if !is_counted_first {
            count()?;
        }
        // In both copies, before blocks go there: if the newest is damaged, the older one counts them too. A copy that cannot be written
        // now is written with the next change, or before the next growth; until then blocks that are not counted are detected (corruption_check.rs).
        let _ = self.update_header(|_| {});
        os::sim::reach(|| "growth of a log file ends".to_owned());
        Ok(grown)
    }

    fn prepare_growth(
        &self,
        header: &FileHeader,
        layout: &[(u64, u64)],
        create_lsn: Lsn,
        end: u64,
    ) -> Result<Grown, LogError> {
        let mut is_zeroed = true;
        if header.volatile {
            self.control.set_len(end)?;
        } else {
            // Bytes that an earlier growth or shrink has left behind the size may have any content.
            if self.control.len()? > header.size_bytes {
                self.control.set_len(header.size_bytes)?;
            }
            is_zeroed = !self.control.reserve(header.size_bytes, end)?;
            if is_zeroed {
                self.control.allocate_zeroed(header.size_bytes, end)?;
            }
        }
        let headers = vlf_headers(header.log_id, layout, create_lsn);
        self.write_vlf_headers(&headers)?;
        Ok(Grown { headers, is_zeroed })
    }

    /// Writes zeros over zeros, so that the file system has marked the space as written before blocks are written there.
    pub(crate) fn write_zeros(&self, zeros: &[u8], offset: u64) -> Result<(), LogError> {
        assert!(offset > FILE_HEADER_BYTES, "zeros at {offset} are of a VLF");
        Ok(self.control.write_at(zeros, offset, WriteMode::Cached)?)
    }

    fn write_vlf_headers(&self, headers: &[VlfHeader]) -> Result<(), LogError> {
        let mut page = AlignedBuf::new(VLF_HEADER_BYTES as usize);
        let follow =
            |one: &VlfHeader, next: &VlfHeader| one.begin_offset + one.size_bytes == next.begin_offset;
        assert!(headers.is_sorted_by(follow), "VLFs lie side by side");
        for header in headers {
            page[..VLF_HEADER_USED_BYTES].copy_from_slice(&header.encode());
            self.control.write_at(&page, header.begin_offset, WriteMode::Cached)?;
        }
        if !self.header().volatile {
            self.control.sync()?;
        }
        Ok(())
    }
}

fn vlf_headers(log_id: u32, layout: &[(u64, u64)], create_lsn: Lsn) -> Vec<VlfHeader> {
    let of = |vlf: &(u64, u64)| VlfHeader { log_id, begin_offset: vlf.0, size_bytes: vlf.1, create_lsn };
    layout.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(generation: u64) -> FileHeader {
        FileHeader {
            log_id: 5,
            generation,
            size_bytes: 8 << 20,
            vlf_count: 4,
            epoch: 3,
            first_vlf: 37,
            checkpoint: Lsn::new(37, 20, 1),
            min: Lsn::new(37, 16, 1),
            hardened: Lsn::new(37, 30, 2),
            clean: true,
            volatile: false,
            created_100ns: 7,
            incarnation: Incarnation::from_raw(7 << 32 | 9),
            incarnation_end: Some(Lsn::NULL),
            next_random: 4,
            run_id: 77,
            number: FIRST_LOG_FILE,
            has_more_files: false,
            created_bytes: 1 << 20,
            persisted_id: 78,
        }
    }

    #[test]
    fn the_newer_valid_copy_counts() {
        let mut page = [header(4).encode(), header(5).encode()].concat();
        assert_eq!(FileHeader::decode_page(&page), Ok(header(5)));
        page[COPY_BYTES + 100] ^= 1;
        assert_eq!(FileHeader::decode_page(&page), Ok(header(4)), "a torn copy leaves the older one");
        page[100] ^= 1;
        assert!(FileHeader::decode_page(&page).is_err());
    }

    /// A reader of version 1 knows one file only: it must refuse a log that continues in another file.
    #[test]
    fn a_file_of_several_has_another_version() {
        let alone = header(1);
        let others = [
            FileHeader { has_more_files: true, ..alone },
            FileHeader { number: FIRST_LOG_FILE + 1, ..alone },
        ];
        assert_eq!(alone.encode()[8..10], LOG_FORMAT_VERSION.to_le_bytes());
        assert_eq!(alone.encode()[44..46], [0, 0], "as before there were several");
        for one in others {
            let copy = one.encode();
            assert_eq!(copy[8..10], VERSION_OF_SEVERAL.to_le_bytes());
            assert_eq!(FileHeader::decode(&copy), Ok(one));
        }
    }

    #[test]
    fn another_format_version_is_named() {
        let mut copy = header(1).encode();
        copy[8] = 3;
        assert_eq!(FileHeader::decode_page(&[copy, copy].concat()), Err(NEWER_VERSION));
        assert!(FileHeader::decode_page(&[]).is_err());
    }
}
