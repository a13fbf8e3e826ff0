//! The files of a `FileSpace`: lookup by number, growth, adding and removing files, and shrinking.
//!
//! ```text
//!  make_file (not in the space) ─► join_file ─► pages are allocated ─► limit_allocation(0) ─► empty ─► detach_file
//!  limit_allocation(n) ─► nothing from page n on is in use ─► truncate_file(n) ─► limit_allocation(None)
//! ```
//! Before the caller (the engine) removes pages, it has checked, under the latches of their maps, that they have no owner, and has then made a
//! checkpoint from which redo starts behind all of their records.

use std::path::Path;
use std::sync::Arc;

use log::Incarnation;

use super::FileSpace;
use super::new_file::{FILE_PAGES_MIN, NewFile, make};
use crate::data_file::{DataFile, FileInfo};
use crate::error::PageError;
use crate::file_header::{FileHeader, Growth};
use crate::frame::assert_no_page_latch_held;
use crate::page_id::PageId;

/// A data file that was made and has not joined a space yet.
pub struct IdleFile(Arc<DataFile>);

impl FileSpace {
    pub(crate) fn file(&self, number: u16) -> Result<Arc<DataFile>, PageError> {
        let files = self.files.read();
        let file = files.get(usize::from(number).wrapping_sub(1)).and_then(Option::as_ref);
        debug_assert!(file.is_none_or(|file| file.file_id() == number), "files stand at their numbers");
        file.cloned().ok_or(PageError::NoSuchPage(PageId::new(number, 0)))
    }

    /// The numbers of the data files, ascending. Called for each page allocation: the caller chooses the collection type.
    pub fn file_numbers<C: FromIterator<u16> + AsRef<[u16]>>(&self) -> C {
        let numbers: C = self.files.read().iter().flatten().map(|file| file.file_id()).collect();
        let seen = numbers.as_ref();
        assert!(seen.first() == Some(&1) && seen.is_sorted(), "the first file stays, numbers ascend");
        numbers
    }

    /// Pages of a file that may be used; 0 for a file that does not exist.
    pub fn file_pages(&self, number: u16) -> u32 {
        self.file(number).map_or(0, |file| file.pages())
    }

    /// Has the file this page at present?
    pub fn has_page(&self, id: PageId) -> bool {
        id.page < self.file_pages(id.file)
    }

    /// Facts and statistics of every file.
    pub fn files(&self) -> Vec<FileInfo> {
        let files: Vec<Arc<DataFile>> = self.files.read().iter().flatten().cloned().collect();
        assert!(!files.is_empty(), "a space has a file");
        assert!(files.is_sorted_by_key(|file| file.file_id()), "files stand at their numbers");
        files.iter().map(|file| file.info()).collect()
    }

    /// Makes page `wanted` of a file exist, growing by the file's growth step; the growth is durable when it returns.
    /// Error 1105 when the disk is full or MAXSIZE is reached; the file is then unchanged.
    pub fn grow_to_hold(&self, file: u16, wanted: u32) -> Result<(), PageError> {
        let target = self.file(file)?;
        self.grow(|| target.grow_to_hold(wanted, self.volatile))?;
        assert!(target.pages() > wanted, "page {wanted} is there, {} are", target.pages());
        Ok(())
    }

    /// Makes a file at least `pages` long.
    pub fn grow_file(&self, file: u16, pages: u32) -> Result<(), PageError> {
        let target = self.file(file)?;
        self.grow(|| target.grow_to(pages, self.volatile))?;
        assert!(target.pages() >= pages, "{pages} pages are there, {} are", target.pages());
        Ok(())
    }

    /// Growth syncs the file, too. If that sync fails, the system may have dropped writes of the last batch, and the batch's own sync
    /// may not report it: so no batch runs meanwhile, and the images in the doublewrite file are kept.
    fn grow(&self, work: impl FnOnce() -> Result<(), PageError>) -> Result<(), PageError> {
        let _no_batch = self.doublewrite.lock();
        self.refuse_if_suspect()?;
        let grown = work();
        if let Err(error @ PageError::Io(_)) = &grown {
            self.become_suspect(error);
        }
        grown
    }

    /// Makes a data file for this space, durable (tempdb's apart) with its directory entry. No page of it is used before [`FileSpace::join_file`].
    pub fn make_file(&self, new: &NewFile) -> Result<IdleFile, PageError> {
        assert!(self.file(new.number).is_err(), "file {} is there already", new.number);
        let os = self.pool.os();
        let incarnation = self.log().filter(|_| !self.volatile).map_or(0, |log| log.incarnation().raw());
        let file = make(os, new, self.database_guid, (self.volatile, incarnation))?;
        if !self.volatile {
            os.disk().sync_dir(new.path.parent().unwrap_or(Path::new(".")))?;
        }
        Ok(IdleFile(Arc::new(file)))
    }

    /// Adds the file to the space; the caller has noted that durably.
    pub fn join_file(&self, file: IdleFile) {
        let IdleFile(file) = file;
        let at = usize::from(file.file_id()) - 1;
        assert!(at > 0, "the first file is the space's from its beginning");
        assert_eq!(file.header().database_guid, self.database_guid, "a file of another database");
        assert!(file.pages() >= FILE_PAGES_MIN, "a file has its system pages");
        assert!(!file.is_limited(), "pages are allocated in a file that joins");
        let mut files = self.files.write();
        if files.len() <= at {
            files.resize(at + 1, None);
        }
        let number = file.file_id();
        assert!(files[at].is_none(), "one file has number {number}");
        files[at] = Some(file);
        drop(files);
        assert!(self.file(number).is_ok(), "file {number} is found by its number");
    }

    /// Pages below this may be allocated; 0 in a file that does not exist. The caller has latched the map with the page's entry.
    pub fn allocation_end(&self, number: u16) -> u32 {
        assert!(number > 0, "files are numbered from 1");
        self.file(number).map_or(0, |file| file.allocation_end())
    }

    /// May the file grow for an allocation?
    pub fn grows_for_allocation(&self, number: u16) -> bool {
        self.file(number).is_ok_and(|file| !file.is_limited())
    }

    /// Is the file closed to allocations (EMPTYFILE)?
    pub fn is_closed_to_allocation(&self, number: u16) -> bool {
        self.file(number).is_ok_and(|file| file.is_closed())
    }

    /// Sets a limit: no page from `limit` on is allocated (0: none at all), and the file does not grow for allocations. `None`: no limit.
    pub fn limit_allocation(&self, number: u16, limit: Option<u32>) -> Result<(), PageError> {
        assert!(number > 1 || limit != Some(0), "the first file is never emptied");
        let keeps_system_pages = limit.is_none_or(|limit| limit == 0 || limit >= FILE_PAGES_MIN);
        assert!(keeps_system_pages, "a limit lies behind the system pages, or nothing is allocated");
        self.file(number)?.set_allocation_limit(limit);
        Ok(())
    }

    /// Called when an allocation needs space: lifts the limits of files that are only being shrunk. True when there was such a file.
    pub fn lift_limits(&self) -> bool {
        let files: Vec<Arc<DataFile>> = self.files.read().iter().flatten().cloned().collect();
        files.iter().filter(|file| file.lift_allocation_limit()).count() > 0
    }

    /// Removes the pages of a file from `pages` on; false when an allocation has lifted the limit meanwhile. See the
    /// heading of this file for the caller's duties. It holds no page latch.
    pub fn truncate_file(&self, number: u16, pages: u32) -> Result<bool, PageError> {
        assert_no_page_latch_held();
        assert!(pages >= FILE_PAGES_MIN, "a file keeps its system pages");
        let target = self.file(number)?;
        {
            // Excludes batches that would write there.
            let _no_batch = self.doublewrite.lock();
            self.refuse_if_suspect()?;
            if !target.give_up_tail(pages) {
                return Ok(false);
            }
        }
        self.discard_given_up(number);
        let _no_batch = self.doublewrite.lock();
        self.refuse_if_suspect()?;
        let cut = target.cut(self.volatile);
        if let Err(error) = &cut {
            self.become_suspect(error);
        }
        cut.map(|()| true)
    }

    /// Removes the file from this space. See the heading of this file for the caller's duties. It holds no page latch.
    pub fn detach_file(&self, number: u16) -> Result<IdleFile, PageError> {
        assert_no_page_latch_held();
        assert!(number > 1, "the first file stays");
        assert!(self.is_closed_to_allocation(number), "a file is emptied before it leaves");
        let file = {
            let _no_batch = self.doublewrite.lock();
            self.refuse_if_suspect()?;
            let mut files = self.files.write();
            files[usize::from(number) - 1].take().expect("it was there a moment ago")
        };
        assert_eq!(file.file_id(), number, "files stand at their numbers");
        assert!(self.file(number).is_err(), "nobody finds it any more");
        self.discard_given_up(number);
        Ok(IdleFile(file))
    }

    /// Discards pages from memory that their file does not have any more. They have no unwritten changes.
    fn discard_given_up(&self, number: u16) {
        self.pool.discard_where(|key| {
            let id = PageId::unpack(key);
            self.owns(key) && id.file == number && !self.has_page(id)
        });
    }

    /// Changes name, growth or MAXSIZE of a file, durably.
    pub fn set_file_options(
        &self,
        file: u16,
        logical_name: &str,
        growth: Growth,
        max_pages: u32,
    ) -> Result<(), PageError> {
        let target = self.file(file)?;
        let header =
            FileHeader { logical_name: logical_name.to_owned(), growth, max_pages, ..target.header() };
        self.write_page_now(PageId::new(file, 0), &header.encode())?;
        assert!(
            header.file_id == file && header.database_guid == self.database_guid,
            "a file keeps its identity"
        );
        target.set_header(header);
        Ok(())
    }
}

impl FileSpace {
    fn present_files(&self) -> Vec<Arc<DataFile>> {
        let files: Vec<_> = self.files.read().iter().flatten().cloned().collect();
        assert!(!files.is_empty(), "a database has a file");
        files
    }

    /// Are the files as new as the log? Each names the incarnation that it was last opened in. If an older copy of a file, or of
    /// the log, was restored, the incarnations differ, and changes that redo cannot restore are missing.
    pub fn check_incarnation(&self, newest: Incarnation, next: Incarnation) -> Result<(), PageError> {
        // A recovery notes the next one before the log does.
        assert!(newest < next, "incarnations rise");
        let is_of_now = |one: Incarnation| one == newest || one == next;
        for file in self.present_files() {
            let noted = file.header().incarnation;
            if noted != 0 && !is_of_now(Incarnation::from_raw(noted)) {
                let what = format!(
                    "is of another time than the log (incarnation {noted:x}, the log's is {:x}): one of them was put back from a copy. \
                     Put back all files of the database as they were at one moment",
                    newest.raw()
                );
                return Err(PageError::NotOurs { path: file.path().to_owned(), what });
            }
        }
        Ok(())
    }

    /// Notes the incarnation of the database in each file, durably.
    pub fn note_incarnation(&self, incarnation: Incarnation) -> Result<(), PageError> {
        assert!(!self.volatile, "what is made anew at each start is of no earlier time");
        for file in self.present_files() {
            let header = FileHeader { incarnation: incarnation.raw(), ..file.header() };
            assert!(file.header().incarnation <= header.incarnation, "incarnations rise");
            self.write_page_now(PageId::new(file.file_id(), 0), &header.encode())?;
            file.set_header(header);
            assert_eq!(file.header().incarnation, incarnation.raw(), "the next start finds it noted");
        }
        Ok(())
    }
}
