//! One data file: reading and writing whole pages, growing so that the new size is durable before it is used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Release},
};

use os::{
    AlignedBuf, File, FileStats, IoErrorKind, Latch, LatchRank, OpenOptions, Os, PendingIo, WaitType,
    WriteMode,
};

use crate::checksum::{self, PageCheck};
use crate::error::PageError;
use crate::file_header::{FileHeader, Growth};
use crate::header;
use crate::page_id::{PAGE_BYTES, PageBytes, PageId};
use crate::structure;

/// Pages of a growth step, at most: 64 MB.
const GROWTH_PAGES_MAX: u32 = 8192;
/// Pages of an automatic growth step, at least: 256 KB.
const GROWTH_PAGES_MIN: u32 = 32;
/// Page numbers stay below this, whatever MAXSIZE says: 16 TB.
const PAGES_MAX: u32 = 1 << 31;

/// The facts of a file for sys.database_files and sys.dm_io_virtual_file_stats.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// Number in the database.
    pub file_id: u16,
    /// Name in the catalog.
    pub logical_name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Size in pages.
    pub pages: u32,
    /// MAXSIZE in pages; 0 is unlimited.
    pub max_pages: u32,
    /// Its size when it was made, in pages; 0 when that was not noted.
    pub created_pages: u32,
    /// How it grows.
    pub growth: Growth,
    /// Reads, writes and stalls since it was opened.
    pub stats: FileStats,
    /// Its I/O requests in progress.
    pub pending: Vec<PendingIo>,
}

/// An open data file.
pub(crate) struct DataFile {
    file_id: u16,
    file: Arc<dyn File>,
    path: PathBuf,
    /// Pages that may be used; raised only after the growth is durable.
    pages: AtomicU32,
    /// The header as on disk; its latch is needed to grow the file.
    header: Latch<FileHeader>,
    /// The last growth failed, and that was reported.
    growth_failed: AtomicBool,
    /// Pages from here on are not allocated, and the file does not grow; usually [`NO_LIMIT`]. Changed under the header's latch.
    allocation_limit: AtomicU32,
    /// Its number of pages when it was opened; 0: it was made since.
    pages_at_open: u32,
}

/// Pages that [`DataFile::each_stored`] reads together.
const STORED_PAGES_AT_ONCE: u32 = 64;
/// Every page of a file may be allocated, and it may grow.
const NO_LIMIT: u32 = u32::MAX;

impl DataFile {
    fn options(create: bool, volatile: bool) -> OpenOptions {
        OpenOptions {
            create_new: create,
            direct: !volatile,
            no_links: true,
            read_wait: WaitType::PAGEIOLATCH_SH,
            write_wait: WaitType::IO_COMPLETION,
            ..OpenOptions::default()
        }
    }

    /// Makes a file of `pages` zeroed pages with its header; everything but the directory entry is durable.
    pub(crate) fn create(
        os: &Os,
        path: &Path,
        header: FileHeader,
        pages: u32,
        volatile: bool,
    ) -> Result<DataFile, PageError> {
        assert!(header.file_id > 0 && pages >= 16, "a file has room for its system pages");
        let file = os.disk().open(path, &DataFile::options(true, volatile))?;
        let bytes = u64::from(pages) * PAGE_BYTES as u64;
        let made = if volatile { file.set_len(bytes) } else { file.allocate_zeroed(0, bytes) };
        if let Err(error) = made {
            drop(file);
            let _ = os.disk().remove(path);
            return Err(full_or_io(error, path));
        }
        assert!(
            file.len().map_or(true, |length| length >= bytes),
            "the file has the pages that are counted from now on"
        );
        let file_id = header.file_id;
        let page = AlignedBuf::from_slice(&header.encode()[..], PAGE_BYTES);
        file.write_at(&page, 0, if volatile { WriteMode::Cached } else { WriteMode::Durable })?;
        let path = path.to_owned();
        let header = Latch::new(LatchRank::DataFiles, header);
        Ok(DataFile {
            file_id,
            file,
            path,
            pages: AtomicU32::new(pages),
            header,
            growth_failed: AtomicBool::new(false),
            allocation_limit: AtomicU32::new(NO_LIMIT),
            pages_at_open: 0,
        })
    }

    /// Opens a file without reading it: torn pages may have to be repaired first.
    pub(crate) fn open_raw(os: &Os, path: &Path) -> Result<Arc<dyn File>, PageError> {
        Ok(os.disk().open(path, &DataFile::options(false, false))?)
    }

    /// Reads the header of an opened file and refuses foreign files.
    pub(crate) fn adopt(file: Arc<dyn File>) -> Result<DataFile, PageError> {
        let path = file.path().to_owned();
        let mut page = AlignedBuf::new(PAGE_BYTES);
        let length = file.len()?;
        if length < PAGE_BYTES as u64 || file.read_at(&mut page, 0)? < PAGE_BYTES {
            let what = format!("{length} bytes are too few for a data file");
            return Err(PageError::NotOurs { path, what });
        }
        let header = FileHeader::decode(page_of(&page), &path)?;
        let pages_at_open = (length / PAGE_BYTES as u64).min(u64::from(PAGES_MAX)) as u32;
        assert!(u64::from(pages_at_open) * PAGE_BYTES as u64 <= length, "every page lies in the file");
        Ok(DataFile {
            file_id: header.file_id,
            file,
            path,
            pages: AtomicU32::new(pages_at_open),
            header: Latch::new(LatchRank::DataFiles, header),
            growth_failed: AtomicBool::new(false),
            allocation_limit: AtomicU32::new(NO_LIMIT),
            pages_at_open,
        })
    }

    fn assert_state(&self) {
        assert!(self.file_id > 0, "files are numbered from 1");
        let pages = self.pages();
        assert!(pages > 0 && pages <= PAGES_MAX, "a file of {pages} pages");
    }

    pub(crate) fn file_id(&self) -> u16 {
        self.file_id
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages.load(Acquire)
    }

    pub(crate) fn header(&self) -> FileHeader {
        let header = self.header.lock().clone();
        assert!(header.file_id == self.file_id, "a file keeps its number");
        header
    }

    pub(crate) fn info(&self) -> FileInfo {
        let header = self.header();
        FileInfo {
            file_id: self.file_id,
            logical_name: header.logical_name,
            path: self.path.clone(),
            pages: self.pages(),
            max_pages: header.max_pages,
            created_pages: header.created_pages,
            growth: header.growth,
            stats: self.file.stats(),
            pending: self.file.pending(),
        }
    }

    /// Reads a page and checks it: checksum, address, header and slot array. A page that was never formatted is returned as zeros.
    pub(crate) fn read(&self, page: u32, into: &mut [u8]) -> Result<(), PageError> {
        assert!(into.len() == PAGE_BYTES);
        let id = PageId::new(self.file_id, page);
        if page >= self.pages() {
            return Err(PageError::NoSuchPage(id));
        }
        self.file.read_exact_at(into, id.offset())?;
        let checked = checksum::check(page_of(into), id);
        let bad_checksum = matches!(checked, PageCheck::BadChecksum(..));
        let what = match checked {
            PageCheck::NeverFormatted => return Ok(()),
            PageCheck::Sound => match structure::verify(page_of(into)) {
                Ok(()) => return Ok(()),
                Err(what) => format!("its checksum is right, but {what}"),
            },
            PageCheck::BadChecksum(expected, found) => {
                format!("wrong checksum (expected 0x{expected:08x}, found 0x{found:08x})")
            }
            PageCheck::WrongAddress(other) => format!("holds page {other}"),
            PageCheck::NewerFormat(version) => {
                format!("page format version {version} is newer than this server")
            }
        };
        Err(PageError::Corrupt { page: id, path: self.path.clone(), what, bad_checksum })
    }

    /// Reads these pages unchecked, without pages that the file got since it was opened: those were zeros then.
    pub(crate) fn each_stored(
        &self,
        pages: std::ops::Range<u32>,
        mut show: impl FnMut(u32, &PageBytes),
    ) -> Result<(), PageError> {
        // The file may be shrunk, and grow again, at any time.
        let end_now = || pages.end.min(self.pages_at_open).min(self.pages());
        let mut from = pages.start;
        loop {
            let count = STORED_PAGES_AT_ONCE.min(end_now().saturating_sub(from));
            if count == 0 {
                return Ok(());
            }
            let mut bytes = AlignedBuf::new(count as usize * PAGE_BYTES);
            match self.file.read_exact_at(&mut bytes, PageId::new(self.file_id, from).offset()) {
                // The file was shrunk meanwhile: reads again up to its present end.
                Err(_) if end_now() < from + count => continue,
                read => read?,
            }
            (from..).zip(bytes.chunks_exact(PAGE_BYTES)).for_each(|(page, bytes)| show(page, page_of(bytes)));
            from += count;
            assert!(from <= pages.end, "only pages that were asked for are shown");
        }
    }

    /// Writes consecutive whole pages; durable only after [`DataFile::sync`].
    pub(crate) fn write(&self, first_page: u32, bytes: &[u8]) -> Result<(), PageError> {
        self.assert_state();
        assert!(bytes.len().is_multiple_of(PAGE_BYTES) && !bytes.is_empty(), "whole pages");
        assert!(
            first_page as usize + bytes.len() / PAGE_BYTES <= self.pages() as usize,
            "writes stay inside the file"
        );
        let is_at_home =
            |(at, image): (u32, &[u8])| header::id(page_of(image)) == PageId::new(self.file_id, at);
        assert!(
            (first_page..).zip(bytes.chunks(PAGE_BYTES)).all(is_at_home),
            "an image goes to its own place"
        );
        Ok(self.file.write_at(bytes, PageId::new(self.file_id, first_page).offset(), WriteMode::Cached)?)
    }

    pub(crate) fn sync(&self) -> Result<(), PageError> {
        Ok(self.file.sync()?)
    }

    /// Grows by one step so that page `wanted` exists; durable when it returns. Fails with `SpaceFull` and leaves the file
    /// as it was when the disk is full or MAXSIZE is reached.
    pub(crate) fn grow_to_hold(&self, wanted: u32, volatile: bool) -> Result<(), PageError> {
        let header = self.header.lock();
        let before = self.pages();
        if wanted < before {
            return Ok(());
        }
        let step = match header.growth {
            Growth::Automatic => before.clamp(GROWTH_PAGES_MIN, GROWTH_PAGES_MAX),
            Growth::Pages(pages) => pages.max(1),
            Growth::Percent(percent) => {
                (u64::from(before) * u64::from(percent) / 100).clamp(8, 1 << 30) as u32
            }
            Growth::Fixed => 0,
        };
        let most = if header.max_pages == 0 { PAGES_MAX } else { header.max_pages.min(PAGES_MAX) };
        let full = |what: &str| PageError::SpaceFull { path: self.path.clone(), what: what.to_owned() };
        if step == 0 {
            return Err(full("FILEGROWTH is 0"));
        }
        let after = before.saturating_add(step).max(wanted.saturating_add(1)).min(most);
        if after <= wanted {
            return Err(full("MAXSIZE is reached"));
        }
        assert!(after > before && after <= most, "growth from {before} to {after} pages, {most} at most");
        self.extend(before, after, volatile)?;
        assert!(self.pages() > wanted, "the page that was wanted exists");
        Ok(())
    }

    /// Grows to exactly `pages` (ALTER DATABASE ... MODIFY FILE SIZE); never shrinks.
    pub(crate) fn grow_to(&self, pages: u32, volatile: bool) -> Result<(), PageError> {
        let _growing = self.header.lock();
        let before = self.pages();
        let grown = if pages > before { self.extend(before, pages, volatile) } else { Ok(()) };
        assert_eq!(
            self.pages(),
            if grown.is_ok() { before.max(pages) } else { before },
            "all of it or nothing"
        );
        grown
    }

    fn extend(&self, before: u32, after: u32, volatile: bool) -> Result<(), PageError> {
        let bytes = |pages: u32| u64::from(pages) * PAGE_BYTES as u64;
        if !volatile {
            os::sim::reach(|| "growth of a data file begins".to_owned());
        }
        let grown = match volatile {
            true => self.file.set_len(bytes(after)),
            false => self.set_aside(bytes(before), bytes(after)),
        };
        assert!(after > before, "a file grows from {before} to {after} pages");
        if let Err(error) = grown {
            // Best effort: a file that stays longer is harmless, its length is only read at the next open.
            let _ = self.file.set_len(bytes(before));
            self.report_failed_growth(after - before, &error);
            return Err(full_or_io(error, &self.path));
        }
        assert_eq!(self.pages(), before, "one grows a file at a time");
        assert!(
            self.file.len().map_or(true, |length| length >= bytes(after)),
            "the file has the pages that are counted from now on"
        );
        self.growth_failed.store(false, Release);
        self.pages.store(after, Release);
        if !volatile {
            os::sim::reach(|| "growth of a data file ends".to_owned());
        }
        self.assert_state();
        Ok(())
    }

    /// Adds space for `from..to` that reads as zeros, durable with the file's length. It is preallocated, not written, where the file system can:
    /// an allocation waits for it (perhaps with a tree latched), and a checkpoint pays the extra cost of the first write
    /// to each page. A file that a failed growth has left longer is zeroed, since its content may be anything.
    fn set_aside(&self, from: u64, to: u64) -> Result<(), os::IoError> {
        assert!(from < to, "a file grows from {from} to {to} bytes");
        if self.file.len()? == from && self.file.reserve(from, to)? {
            return self.file.sync();
        }
        self.file.allocate_zeroed(from, to)
    }

    /// A growth that the disk refuses is a problem of the machine, not of a statement: the error log reports it, once until growth succeeds.
    fn report_failed_growth(&self, pages: u32, error: &os::IoError) {
        assert!(pages > 0, "a growth adds pages");
        if !self.growth_failed.swap(true, AcqRel) {
            let bytes = u64::from(pages) * PAGE_BYTES as u64;
            let file = self.path.display();
            os::report::error("pages", &format!("data file {file} cannot grow by {bytes} bytes: {error}"));
        }
    }

    /// Pages below this may be allocated. The caller has latched the map with the page's entry: after a limit was set,
    /// every later allocation reads it.
    pub(crate) fn allocation_end(&self) -> u32 {
        self.pages().min(self.allocation_limit.load(Acquire))
    }

    /// Has it an allocation limit, so that it does not grow for an allocation?
    pub(crate) fn is_limited(&self) -> bool {
        self.allocation_limit.load(Acquire) != NO_LIMIT
    }

    /// Is it closed to all allocations?
    pub(crate) fn is_closed(&self) -> bool {
        self.allocation_limit.load(Acquire) == 0
    }

    /// Sets the limit: pages from `limit` on are not allocated; with `None` all may be.
    pub(crate) fn set_allocation_limit(&self, limit: Option<u32>) {
        assert!(limit != Some(NO_LIMIT), "no limit is None");
        let header = self.header.lock();
        assert!(
            limit != Some(0) || header.file_id > 1,
            "the first file has the boot page: it is never emptied"
        );
        self.allocation_limit.store(limit.unwrap_or(NO_LIMIT), Release);
    }

    /// Lifts a limit that a shrink has set; true when there was one.
    pub(crate) fn lift_allocation_limit(&self) -> bool {
        let _header = self.header.lock();
        let is_soft = self.is_limited() && !self.is_closed();
        if is_soft {
            self.allocation_limit.store(NO_LIMIT, Release);
        }
        assert!(!self.is_limited() || self.is_closed(), "only a file that is being emptied stays limited");
        is_soft
    }

    /// Removes the pages from `pages` on; false, without effect, when the limit was lifted because an allocation needed the space.
    pub(crate) fn give_up_tail(&self, pages: u32) -> bool {
        let _header = self.header.lock();
        let stands = pages > 0 && self.allocation_limit.load(Acquire) <= pages;
        if stands && pages < self.pages() {
            self.pages.store(pages, Release);
        }
        assert!(!stands || self.pages() <= pages, "what is given up is not counted any more");
        stands
    }

    /// Truncates the file behind its last page. A crash leaves it long or short: the pages behind are free either way.
    pub(crate) fn cut(&self, volatile: bool) -> Result<(), PageError> {
        let _header = self.header.lock();
        let bytes = u64::from(self.pages()) * PAGE_BYTES as u64;
        assert!(bytes > 0, "a file keeps its header");
        if self.file.len()? <= bytes {
            return Ok(());
        }
        if let Err(error) = self.file.set_len(bytes) {
            os::report::warn("pages", &format!("{} was not cut: {error}", self.path.display()));
            return Ok(());
        }
        assert!(self.file.len().map_or(true, |length| length == bytes), "the file ends with its last page");
        self.assert_state();
        if volatile { Ok(()) } else { self.sync() }
    }

    /// Stores a changed header in memory; the caller writes it to disk.
    pub(crate) fn set_header(&self, header: FileHeader) {
        self.assert_state();
        assert!(header.file_id == self.file_id, "a file keeps its number");
        let mut current = self.header.lock();
        assert_eq!(header.database_guid, current.database_guid, "a file stays in its database");
        assert_eq!(header.created_pages, current.created_pages, "a file was made once");
        *current = header;
    }
}

/// Bytes of one page as a page.
pub(crate) fn page_of(bytes: &[u8]) -> &PageBytes {
    bytes.try_into().expect("callers give exactly one page")
}

fn full_or_io(error: os::IoError, path: &Path) -> PageError {
    match error.kind {
        IoErrorKind::NoSpace => PageError::SpaceFull { path: path.to_owned(), what: error.to_string() },
        _ => PageError::Io(error),
    }
}
