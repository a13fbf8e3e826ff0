//! The files of a `FileSpace`: found by number, growing, joining and leaving, and giving the end of one back.
//!
//! ```text
//!  make_file (nobody knows it) ─► join_file ─► pages are allocated ─► limit_allocation(0) ─► empty ─► detach_file
//!  limit_allocation(n) ─► nothing from page n on is in use ─► truncate_file(n) ─► limit_allocation(None)
//! ```
//! Whoever gives pages up (the engine) has seen, under the latches of their maps, that nobody owns them, and has made a checkpoint since from which
//! redo starts behind all of their records.

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

/// A data file that was made and is of no space yet.
pub struct IdleFile(Arc<DataFile>);

impl FileSpace {
    pub(crate) fn file(&self, number: u16) -> Result<Arc<DataFile>, PageError> {
        let files = self.files.read();
        let file = files.get(usize::from(number).wrapping_sub(1)).and_then(Option::as_ref);
        debug_assert!(file.is_none_or(|file| file.file_id() == number), "files stand at their numbers");
        file.cloned().ok_or(PageError::NoSuchPage(PageId::new(number, 0)))
    }

    /// The numbers of the data files, ascending. Asked for each page that is allocated: who asks says what they are put into.
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

    /// Has the file this page, today?
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
    /// Error 1105 when disk or MAXSIZE forbid; the file is then as before.
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

    /// Growth syncs the file, too. Should that fail, it may be writes of the last batch that the system has dropped, and their own sync
    /// may not hear of it: so none is under way meanwhile, and its images keep their room.
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

    /// The file belongs to the space from now on, which says so elsewhere, durably.
    pub fn join_file(&self, file: IdleFile) {
        let IdleFile(file) = file;
        let at = usize::from(file.file_id()) - 1;
        assert!(at > 0, "the first file is the space's from its beginning");
        assert_eq!(file.header().database_guid, self.database_guid, "a file of another database");
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

    /// Pages below this may be allocated; 0 in a file that does not exist. Asked with the map latched that says whose the page is.
    pub fn allocation_end(&self, number: u16) -> u32 {
        assert!(number > 0, "files are numbered from 1");
        self.file(number).map_or(0, |file| file.allocation_end())
    }

    /// May the file grow for somebody who needs a page?
    pub fn grows_for_allocation(&self, number: u16) -> bool {
        self.file(number).is_ok_and(|file| !file.is_limited())
    }

    /// Is nothing to be put into the file any more (EMPTYFILE)?
    pub fn is_closed_to_allocation(&self, number: u16) -> bool {
        self.file(number).is_ok_and(|file| file.is_closed())
    }

    /// From now on no page from `limit` on is allocated (0: none at all), and the file does not grow for it. `None`: as ever.
    pub fn limit_allocation(&self, number: u16, limit: Option<u32>) -> Result<(), PageError> {
        assert!(number > 1 || limit != Some(0), "the first file is never emptied");
        self.file(number)?.set_allocation_limit(limit);
        Ok(())
    }

    /// Somebody needs room: files that are only being shrunk may be filled and grow again. True when there was such a file.
    pub fn lift_limits(&self) -> bool {
        let files: Vec<Arc<DataFile>> = self.files.read().iter().flatten().cloned().collect();
        files.iter().filter(|file| file.lift_allocation_limit()).count() > 0
    }

    /// Gives the pages of a file from `pages` on back; false when somebody has needed room meanwhile, and the limit there is gone. See the
    /// head of this file for what the caller has seen to. It holds no page latch.
    pub fn truncate_file(&self, number: u16, pages: u32) -> Result<bool, PageError> {
        assert_no_page_latch_held();
        assert!(pages >= FILE_PAGES_MIN, "a file keeps its system pages");
        let target = self.file(number)?;
        {
            // No batch is under way that would write there.
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

    /// The file is of this space no more. See the head of this file for what the caller has seen to. It holds no page latch.
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

    /// Pages that their file has no more go from memory. They have no changes that were not written.
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

    /// Are the files of the time at which the log stands? Each names the incarnation that it was opened in last. A file that was put back as it
    /// was earlier, or whose log was, has an older one, and changes that the log will not bring back are missing in one of them.
    pub fn check_incarnation(&self, newest: Incarnation, next: Incarnation) -> Result<(), PageError> {
        // A recovery notes the next one before the log does.
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

    /// Notes in each file, durably, in which incarnation of the database it is used.
    pub fn note_incarnation(&self, incarnation: Incarnation) -> Result<(), PageError> {
        assert!(!self.volatile, "what is made anew at each start is of no earlier time");
        for file in self.present_files() {
            let header = FileHeader { incarnation: incarnation.raw(), ..file.header() };
            self.write_page_now(PageId::new(file.file_id(), 0), &header.encode())?;
            file.set_header(header);
            assert_eq!(file.header().incarnation, incarnation.raw(), "the next start finds it noted");
        }
        Ok(())
    }
}
