//! `FileSpace`: the data files of one database as one space of pages, accessed through the buffer pool.

mod files;
mod new_file;

pub use files::IdleFile;
pub use new_file::{FILE_PAGES_MIN, NewFile};

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use log::Log;
use os::sim::{Bug, is_planted};
use os::{AlignedBuf, Latch, LatchRank, RwLatch, WaitType};

use crate::data_file::{DataFile, page_of};
use crate::doublewrite::{self, Doublewrite, doublewrite_path};
use crate::error::PageError;
use crate::file_header::{BOOT_PAGE, BootPage};
use crate::frame::{LatchMode, PageGuard, assert_no_page_latch_held};
use crate::page_id::{PAGE_BYTES, PageBytes, PageId};
use crate::pool::BufferPool;
use crate::suspect_pages::{SuspectPage, SuspectPages};

/// A space to be made.
#[derive(Clone, Debug)]
pub struct CreateSpace {
    /// Identity of the database; also in its log.
    pub database_guid: [u8; 16],
    /// In the order of their numbers; the first has number 1.
    pub files: Vec<NewFile>,
    /// tempdb: existing files are replaced, nothing is ever made durable.
    pub volatile: bool,
}

/// A space to be opened.
#[derive(Clone, Debug)]
pub struct OpenSpace {
    /// The data files with their numbers, in that order; the first has number 1.
    pub files: Vec<(u16, PathBuf)>,
    /// The log says that the database was closed properly: all of its pages are durable in the data files.
    pub was_closed: bool,
}

/// The data files of one database.
///
/// `Online ──a write fails (become_suspect)──► Suspect`: from then on no page is written, reads still work.
pub struct FileSpace {
    number: u16,
    pool: Arc<BufferPool>,
    database_guid: [u8; 16],
    volatile: bool,
    /// Each file at the index of its number, counted from 1.
    files: RwLatch<Vec<Option<Arc<DataFile>>>>,
    doublewrite: Latch<Option<Doublewrite>>,
    boot: Latch<BootPage>,
    log: OnceLock<Arc<Log>>,
    suspect: OnceLock<String>,
    repaired: Vec<PageId>,
    suspect_pages: SuspectPages,
}

impl FileSpace {
    /// Makes the files of a new database; all is durable when it returns (except for tempdb).
    pub fn create(pool: &Arc<BufferPool>, options: &CreateSpace) -> Result<Arc<FileSpace>, PageError> {
        assert!(!options.files.is_empty() && options.files.len() < 32_767, "at least one data file");
        let os = pool.os();
        let mut files = Vec::new();
        for new in &options.files {
            if options.volatile && os.disk().exists(&new.path) {
                os.disk().remove(&new.path)?;
            }
            files.push(Arc::new(new_file::make(os, new, options.database_guid, (options.volatile, 0))?));
        }
        let doublewrite = match options.volatile {
            true => None,
            false => {
                let path = doublewrite_path(&options.files[0].path);
                Some(Doublewrite::create(os, &path, options.database_guid)?)
            }
        };
        let boot = BootPage { database_guid: options.database_guid, ..BootPage::default() };
        let space = FileSpace::assemble(pool, files, doublewrite, boot.clone(), options.volatile, Vec::new());
        space.write_boot(&boot)?;
        if !options.volatile {
            for new in &options.files {
                os.disk().sync_dir(new.path.parent().unwrap_or(Path::new(".")))?;
            }
        }
        Ok(space)
    }

    /// Opens the files of a database. Pages torn by a power loss are repaired first; [`FileSpace::repaired`] names them.
    /// Refuses foreign files, and files of another database or of a newer format.
    pub fn open(pool: &Arc<BufferPool>, options: &OpenSpace) -> Result<Arc<FileSpace>, PageError> {
        assert!(!options.files.is_empty(), "at least one data file");
        let os = pool.os();
        let mut raw = Vec::new();
        for (number, path) in &options.files {
            raw.push((*number, DataFile::open_raw(os, path)?));
        }
        let doublewrite_path = doublewrite_path(&options.files[0].1);
        let repaired = doublewrite::repair(os, &doublewrite_path, &raw, options.was_closed)?;
        let is_ours = |page: &PageId| options.files.iter().any(|(number, _)| *number == page.file);
        assert!(repaired.iter().all(is_ours), "only pages of these files are repaired");
        let mut files: Vec<Arc<DataFile>> = Vec::new();
        for (number, file) in raw {
            let file = DataFile::adopt(file)?;
            let guid = file.header().database_guid;
            let wanted = files.first().map_or(guid, |first| first.header().database_guid);
            if file.file_id() != number || guid != wanted {
                let what =
                    format!("is file {} of another database or place, not file {number}", file.file_id());
                return Err(PageError::NotOurs { path: file.path().to_owned(), what });
            }
            files.push(Arc::new(file));
        }
        let mut page = AlignedBuf::new(PAGE_BYTES);
        files[0].read(BOOT_PAGE.page, &mut page)?;
        let boot = BootPage::decode(page_of(&page), files[0].path())?;
        let doublewrite = Doublewrite::create(os, &doublewrite_path, boot.database_guid)?;
        Ok(FileSpace::assemble(pool, files, Some(doublewrite), boot, false, repaired))
    }

    fn assemble(
        pool: &Arc<BufferPool>,
        files: Vec<Arc<DataFile>>,
        doublewrite: Option<Doublewrite>,
        boot: BootPage,
        volatile: bool,
        repaired: Vec<PageId>,
    ) -> Arc<FileSpace> {
        let (shared, exclusive) = (WaitType::LATCH_SH, WaitType::LATCH_EX);
        assert_eq!(doublewrite.is_none(), volatile, "pages that last go through the doublewrite file");
        assert!(!volatile || repaired.is_empty(), "tempdb is made anew: nothing of it is repaired");
        let files = new_file::at_their_numbers(files);
        pool.register(|number| {
            Arc::new(FileSpace {
                number,
                pool: Arc::clone(pool),
                database_guid: boot.database_guid,
                volatile,
                files: RwLatch::with_wait_types(LatchRank::DataFiles, shared, exclusive, files),
                doublewrite: Latch::new(LatchRank::WriteOut, doublewrite),
                boot: Latch::new(LatchRank::BufferPartition, boot),
                log: OnceLock::new(),
                suspect: OnceLock::new(),
                repaired,
                suspect_pages: SuspectPages::new(),
            })
        })
    }

    /// Sets the log that must be ahead of every page written. Once, before the first change.
    pub fn attach_log(&self, log: Arc<Log>) {
        assert_eq!(log.is_volatile(), self.volatile, "pages last as long as their log");
        assert!(self.log.set(log).is_ok(), "a database has one log");
    }

    /// The database's log, once attached.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.log.get()
    }

    /// The pool that the pages live in.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Identity of the database.
    pub fn database_guid(&self) -> [u8; 16] {
        self.database_guid
    }

    /// tempdb?
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Torn pages that were repaired when the space was opened.
    pub fn repaired(&self) -> &[PageId] {
        &self.repaired
    }

    pub(crate) fn doublewrite(&self) -> &Latch<Option<Doublewrite>> {
        &self.doublewrite
    }

    #[inline]
    fn key(&self, id: PageId) -> u64 {
        debug_assert!(self.number != 0 && id.pack() >> 48 == 0, "a key has room for space and page");
        u64::from(self.number) << 48 | id.pack()
    }

    /// The number of this space in [`BufferedPage::space`](crate::BufferedPage::space).
    pub fn pool_number(&self) -> u16 {
        assert!(self.owns(self.key(PageId::NULL)), "the pool knows the pages of a space by its number");
        self.number
    }

    /// Is this the key of one of our pages?
    pub(crate) fn owns(&self, key: u64) -> bool {
        (key >> 48) as u16 == self.number
    }

    /// Latches a page, reading it when it is not in memory. A page never formatted is returned as zeros (`PageType::Empty`).
    /// Errors: 823, 824 (this page only), 701, a page beyond the file.
    #[inline]
    pub fn fix(&self, id: PageId, mode: LatchMode) -> Result<PageGuard, PageError> {
        let key = self.key(id);
        if let Some(frame) = self.pool.lookup(key) {
            frame.note_use();
            let guard = PageGuard::take(frame, mode);
            if guard.frame().key() == key {
                debug_assert!(is_of(&guard, id), "the frame holds page {id}");
                os::task::note_page_use(false);
                return Ok(guard);
            }
        }
        self.fix_slowly(id, mode, Missing::Read)
    }

    /// The memory addresses of a page and its frame.
    #[inline]
    pub(crate) fn place_of(&self, id: PageId) -> Option<(usize, usize)> {
        self.pool.place_of(self.key(id))
    }

    /// Latches a page exclusively that the caller is about to format: its old content does not matter and is not read.
    pub fn fix_new(&self, id: PageId) -> Result<PageGuard, PageError> {
        assert!(!id.is_null(), "no page is formatted at the end of a chain");
        self.fix_slowly(id, LatchMode::Exclusive, Missing::Zeros)
    }

    /// Latches a free page exclusively to format it; `None` when another thread has it latched: it is in use, whatever
    /// the map says, or was just deallocated. Never waits for a latch: the caller holds others.
    pub fn try_fix_new(&self, id: PageId) -> Result<Option<PageGuard>, PageError> {
        assert!(!id.is_null(), "no page is formatted at the end of a chain");
        let key = self.key(id);
        loop {
            if let Some(frame) = self.pool.lookup(key) {
                frame.note_use();
                let Some(guard) = PageGuard::try_take(frame, LatchMode::Exclusive) else { return Ok(None) };
                if guard.frame().key() == key {
                    assert!(guard.is_exclusive() && guard.id() == id, "page {id} is nobody else's");
                    assert!(is_of(&guard, id), "the frame holds page {id}");
                    os::task::note_page_use(false);
                    return Ok(Some(guard));
                }
            } else if let Some(guard) = self.bring_in(id, LatchMode::Exclusive, Missing::Zeros)? {
                return Ok(Some(guard));
            }
        }
    }

    /// For redo of a record that formats the page. A page in memory counts, by its LSN; the page in the file does not and
    /// is not read: redo continues to the end of the log, so it also repeats every later change of the page. A page
    /// that is not in memory, or is beyond the end of the file (which grows), is returned as zeros with LSN NULL.
    pub fn fix_for_format_redo(&self, id: PageId) -> Result<PageGuard, PageError> {
        self.reach(id)?;
        assert!(self.file_pages(id.file) > id.page, "redo makes the page that it needs");
        self.fix_new(id)
    }

    /// For redo of a change to a page that no record formats (an allocation map): zeros are its first state, and a page beyond the end of the
    /// file (which grows) is returned as zeros with LSN NULL. A damaged page is not taken for a new one: the log does not have its full content.
    pub fn fix_for_map_redo(&self, id: PageId) -> Result<PageGuard, PageError> {
        self.reach(id)?;
        assert!(self.file_pages(id.file) > id.page, "redo makes the map that it needs");
        match self.fix(id, LatchMode::Exclusive) {
            Err(PageError::Corrupt { .. }) if is_planted(Bug::DamagedMapIsFree) => self.fix_new(id),
            other => other,
        }
    }

    /// Reads these pages of a file unchecked, whatever is in memory. Without pages that the file has got since it was opened.
    pub fn each_stored(
        &self,
        file: u16,
        pages: std::ops::Range<u32>,
        show: impl FnMut(u32, &PageBytes),
    ) -> Result<(), PageError> {
        assert!(pages.start < pages.end, "some pages are looked at");
        self.file(file)?.each_stored(pages, show)
    }

    fn reach(&self, id: PageId) -> Result<(), PageError> {
        let file = self.file(id.file)?;
        if id.page >= file.pages() { self.grow_to_hold(id.file, id.page) } else { Ok(()) }
    }

    #[cold]
    fn fix_slowly(&self, id: PageId, mode: LatchMode, missing: Missing) -> Result<PageGuard, PageError> {
        let key = self.key(id);
        loop {
            if let Some(frame) = self.pool.lookup(key) {
                frame.note_use();
                let guard = PageGuard::take(frame, mode);
                if guard.frame().key() == key {
                    assert!(is_of(&guard, id), "the frame holds page {id}");
                    os::task::note_page_use(false);
                    return Ok(guard);
                }
                continue;
            }
            if let Some(guard) = self.bring_in(id, mode, missing)? {
                return Ok(guard);
            }
        }
    }

    /// Reads a page into a frame; `None` when another thread does so at the same time.
    fn bring_in(
        &self,
        id: PageId,
        mode: LatchMode,
        missing: Missing,
    ) -> Result<Option<PageGuard>, PageError> {
        let key = self.key(id);
        let frame = self.pool.take_frame()?;
        let mut guard = PageGuard::take(Arc::clone(&frame), LatchMode::Exclusive);
        if self.pool.publish(key, &frame).is_err() {
            drop(guard);
            self.pool.give_back(frame);
            return Ok(None);
        }
        frame.note_use();
        let filled = match missing {
            Missing::Zeros => {
                guard.page_mut().fill(0);
                Ok(())
            }
            Missing::Read => self.read_page(id, guard.page_mut()),
        };
        assert_eq!(guard.id(), id, "the frame was taken for this page");
        assert!(!frame.is_dirty(), "a page that was just brought in has no changes");
        if let Err(error) = filled {
            self.pool.withdraw(key, &frame);
            drop(guard);
            self.pool.give_back(frame);
            return Err(error);
        }
        assert!(is_of(&guard, id), "the frame holds page {id}");
        os::task::note_page_use(matches!(missing, Missing::Read));
        Ok(Some(if mode == LatchMode::Shared { guard.downgrade() } else { guard }))
    }

    /// The pages that could not be read since the space was opened.
    pub fn suspect_pages(&self) -> Vec<SuspectPage> {
        self.suspect_pages.all()
    }

    fn read_page(&self, id: PageId, into: &mut PageBytes) -> Result<(), PageError> {
        let read = self.read_sound_page(id, into);
        if let Err(error) = &read {
            self.suspect_pages.note(id, error, self.pool.os().clock().utc_100ns());
        }
        read
    }

    fn read_sound_page(&self, id: PageId, into: &mut PageBytes) -> Result<(), PageError> {
        if id.is_null() {
            return Err(PageError::NoSuchPage(id));
        }
        self.file(id.file)?.read(id.page, into)?;
        assert!(
            crate::header::version(into) == 0 || crate::header::id(into) == id,
            "what was read is page {id}"
        );
        self.refuse_foreign_lsn(id, into)?;
        self.pool.note_read();
        Ok(())
    }

    /// The log is always ahead of the files: a page with the LSN of a record that the log does not have is not of this database's
    /// history, and redo would skip later changes of it.
    fn refuse_foreign_lsn(&self, id: PageId, page: &PageBytes) -> Result<(), PageError> {
        let lsn = crate::header::lsn(page);
        match self.log.get() {
            Some(log) if lsn >= log.end() => {
                let what = format!("its last change is {lsn}, the log ends at {}", log.end());
                let path = self.file(id.file)?.path().to_owned();
                Err(PageError::Corrupt { page: id, path, what, bad_checksum: false })
            }
            _ => Ok(()),
        }
    }

    /// The boot page as last written.
    pub fn boot(&self) -> BootPage {
        let boot = self.boot.lock().clone();
        assert_eq!(boot.database_guid, self.database_guid, "a database keeps its identity");
        boot
    }

    /// Writes the boot page: durable and protected from tearing when it returns.
    pub fn write_boot(&self, boot: &BootPage) -> Result<(), PageError> {
        assert!(boot.database_guid == self.database_guid, "a database keeps its identity");
        let mut current = self.boot.lock();
        assert!(boot.checkpoint_lsn >= current.checkpoint_lsn, "checkpoints only go forward");
        self.write_page_now(BOOT_PAGE, &boot.encode())?;
        *current = boot.clone();
        Ok(())
    }

    /// The doublewrite file; `None` for tempdb.
    pub fn doublewrite_path(&self) -> Option<PathBuf> {
        let first = self.file(1).ok()?;
        (!self.volatile).then(|| doublewrite_path(first.path()))
    }

    /// Discards all pages of this database in memory, changed ones too. Before dropping it, and after a clean
    /// [`FileSpace::write_out_dirty`] when it goes offline.
    pub fn discard_pages(&self) {
        assert_no_page_latch_held();
        self.pool.discard(self.number);
    }

    /// Why no page is written any more; `None` if the space is not suspect.
    pub fn suspect_reason(&self) -> Option<&str> {
        self.suspect.get().map(String::as_str)
    }

    /// An error once a page could not be written.
    pub fn refuse_if_suspect(&self) -> Result<(), PageError> {
        self.suspect.get().map_or(Ok(()), |reason| Err(PageError::Suspect(reason.clone())))
    }

    /// Stops all page writes: the pages in memory are not trustworthy.
    pub fn stop_writing(&self, why: &str) {
        assert!(!why.is_empty(), "there is a reason");
        self.become_suspect(&PageError::Suspect(why.to_owned()));
        assert!(self.refuse_if_suspect().is_err(), "nothing is written from now on");
    }

    pub(crate) fn become_suspect(&self, error: &PageError) {
        let first = self.suspect.set(error.to_string()).is_ok();
        assert!(self.suspect_reason().is_some(), "from now on nothing is written");
        if first {
            os::report::error("pages", &format!("database is suspect, nothing more is written: {error}"));
        }
    }
}

/// Does the page know this address, or was it never formatted? True of each page that was checked when it was read.
fn is_of(guard: &PageGuard, id: PageId) -> bool {
    crate::header::version(guard.page()) == 0 || crate::header::id(guard.page()) == id
}

#[derive(Clone, Copy)]
enum Missing {
    Read,
    Zeros,
}
