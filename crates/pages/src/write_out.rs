//! Writing pages to their files. Implements the WAL rule: no page image is written before the log records of its changes are
//! durable.
//!
//! The steps of a batch: copy images (shared latches) → harden the log up to the highest page LSN → doublewrite file, durable →
//! in place → sync. tempdb's pages skip the log and the doublewrite file: they are not read after a restart.

use std::sync::Arc;

use log::{FlushReason, Lsn};
use os::sim::{Bug, is_planted};
use os::{AlignedBuf, ReadGuard};

use crate::checksum::{self, PageCheck};
use crate::data_file::page_of;
use crate::doublewrite::{BATCH_PAGES_MAX, Doublewrite, PREFIX_BYTES};
use crate::error::PageError;
use crate::frame::{Frame, FrameBytes};
use crate::header;
use crate::page_id::{PAGE_BYTES, PageBytes, PageId};
use crate::pool::{IfLatched, WriteOut};
use crate::space::FileSpace;

impl WriteOut for FileSpace {
    fn write_out(&self, frames: Vec<Arc<Frame>>, if_latched: IfLatched) -> Result<usize, PageError> {
        write_out(self, frames, if_latched)
    }
}

impl FileSpace {
    /// Writes one page that is not in the pool.
    pub(crate) fn write_page_now(&self, id: PageId, image: &PageBytes) -> Result<(), PageError> {
        self.refuse_if_suspect()?;
        assert_eq!(crate::header::id(image), id, "an image knows its address");
        let mut buffer = Doublewrite::buffer(1);
        buffer[PREFIX_BYTES..].copy_from_slice(image);
        write_images(self, &mut buffer, &[id])
    }
}

/// Writes those of `frames` that are dirty and belong to `space`; returns how many. When a write fails, the pages stay
/// dirty and the database becomes suspect: the content of the device is unknown, and a later sync could wrongly succeed.
pub(crate) fn write_out(
    space: &FileSpace,
    mut frames: Vec<Arc<Frame>>,
    if_latched: IfLatched,
) -> Result<usize, PageError> {
    let (mut written, count_max) = (0, frames.len());
    while !frames.is_empty() {
        // Written frames are unpinned at once: a thread may be waiting for a frame while it latches a page that this function waits for.
        let mut some = frames;
        frames = some.split_off(some.len().min(BATCH_PAGES_MAX));
        let (count, passed_over) = write_batch(space, &some, IfLatched::PassOver)?;
        written += count;
        if if_latched == IfLatched::PassOver {
            continue;
        }
        // One after the other, with no other frame pinned: these may be all frames of the pool.
        let latched: Vec<u64> = passed_over.iter().map(|frame| frame.key()).collect();
        drop((some, passed_over));
        for key in latched {
            let Some(frame) = space.pool().lookup(key) else { continue };
            written += write_batch(space, &[frame], IfLatched::Wait)?.0;
        }
    }
    assert!(written <= count_max, "a page is written once: {written} of {count_max}");
    Ok(written)
}

/// Writes what it can of `frames`; returns how many, and those that were latched. It waits for a latch only while it has claimed
/// no page: the holder of the latch may be searching for a frame, and must not wait for pages that wait for its latch.
fn write_batch(
    space: &FileSpace,
    frames: &[Arc<Frame>],
    if_latched: IfLatched,
) -> Result<(usize, Vec<Arc<Frame>>), PageError> {
    if let Err(error) = space.refuse_if_suspect() {
        give_up(space, frames);
        return Err(error);
    }
    let mut sorted: Vec<&Arc<Frame>> = frames.iter().collect();
    sorted.sort_by_key(|frame| frame.key());
    sorted.dedup_by_key(|frame| frame.key());
    let count_max = sorted.len();
    let mut batch = Batch::new(count_max);
    let mut passed_over = Vec::new();
    for frame in sorted {
        let guard = match if_latched {
            IfLatched::Wait if batch.frames.is_empty() => Some(frame.latch().read()),
            _ => frame.latch().try_read(),
        };
        match guard {
            Some(guard) => batch.take_image(space, frame, guard),
            None => passed_over.push(Arc::clone(frame)),
        }
    }
    if batch.frames.is_empty() {
        return Ok((0, passed_over));
    }
    let written = batch.frames.len();
    assert!(written + passed_over.len() <= count_max, "a page is written or passed over");
    assert!(batch.frames.iter().all(|frame| frame.is_being_written()), "each page is claimed");
    let result = harden(space, batch.highest_lsn).and_then(|()| {
        let (buffer, pages) = batch.parts();
        assert_log_is_hard(space, &buffer[PREFIX_BYTES..]);
        write_images(space, buffer, pages)
    });
    batch.frames.iter().for_each(|frame| frame.end_write(result.is_ok()));
    result?;
    space.pool().note_writes(written);
    Ok((written, passed_over))
}

/// Marks the pages of a database that writes no more pages as failed: a search for a frame neither waits for them nor tries them again.
fn give_up(space: &FileSpace, frames: &[Arc<Frame>]) {
    assert!(space.suspect_reason().is_some(), "only a suspect database gives up its pages");
    for frame in frames {
        // The latch keeps the page in its frame; a page that is being changed is marked another time.
        let latched = frame.latch().try_read();
        if latched.is_some() && space.owns(frame.key()) {
            frame.note_failed();
        }
    }
}

/// The page images of a batch, in page order.
struct Batch<'a> {
    buffer: Option<AlignedBuf>,
    capacity: usize,
    pages: Vec<PageId>,
    frames: Vec<&'a Arc<Frame>>,
    highest_lsn: Lsn,
}

impl<'a> Batch<'a> {
    fn new(capacity: usize) -> Batch<'a> {
        assert!(capacity > 0 && capacity <= BATCH_PAGES_MAX, "a batch of {capacity} pages");
        Batch { buffer: None, capacity, pages: Vec::new(), frames: Vec::new(), highest_lsn: Lsn::NULL }
    }

    /// Invariants between two images: a slot for each, none twice, in page order.
    fn assert_state(&self) {
        assert!(self.pages.len() == self.frames.len() && self.pages.len() <= self.capacity);
        assert!(self.pages.is_empty() || self.buffer.is_some(), "images lie in the buffer");
        let last_two = self.pages.last_chunk::<2>();
        assert!(last_two.is_none_or(|[one, next]| one < next), "images go out in page order, each once");
        assert!(self.pages.is_empty() || !self.highest_lsn.is_null(), "a changed page has a log record");
    }

    fn take_image(&mut self, space: &FileSpace, frame: &'a Arc<Frame>, guard: ReadGuard<'_, FrameBytes>) {
        let key = frame.key();
        if !space.owns(key) || !frame.begin_write() {
            return;
        }
        assert!(self.pages.len() < self.capacity, "a batch has room for what it was made for");
        let capacity = self.capacity;
        let buffer = self.buffer.get_or_insert_with(|| Doublewrite::buffer(capacity));
        let at = PREFIX_BYTES + self.pages.len() * PAGE_BYTES;
        let image: &mut PageBytes =
            (&mut buffer[at..at + PAGE_BYTES]).try_into().expect("a slice of one page");
        image.copy_from_slice(guard.page());
        drop(guard);
        assert!(header::version(image) != 0, "page {} was changed but never formatted", PageId::unpack(key));
        checksum::stamp(image);
        assert_eq!(header::id(image), PageId::unpack(key), "a page knows its address");
        assert!(!header::lsn(image).is_null(), "a dirty page was changed by a log record");
        let has_changes = frame.oldest_unwritten().is_some_and(|oldest| oldest <= header::lsn(image));
        assert!(has_changes, "the image has the change for which the page counts as dirty");
        self.highest_lsn = self.highest_lsn.max(header::lsn(image));
        self.pages.push(PageId::unpack(key));
        self.frames.push(frame);
        self.assert_state();
    }

    fn parts(&mut self) -> (&mut AlignedBuf, &[PageId]) {
        self.assert_state();
        assert!(!self.pages.is_empty(), "an empty batch is not written");
        let used = PREFIX_BYTES + self.pages.len() * PAGE_BYTES;
        let buffer = self.buffer.as_mut().expect("a batch with frames has a buffer");
        if buffer.len() != used {
            *buffer = AlignedBuf::from_slice(&buffer[..used], used);
        }
        assert_eq!(buffer.len(), used, "the buffer ends with the last image");
        (buffer, &self.pages)
    }
}

/// The WAL rule.
fn harden(space: &FileSpace, lsn: Lsn) -> Result<(), PageError> {
    if space.is_volatile() || is_planted(Bug::PageBeforeLog) {
        return Ok(());
    }
    let log = space.log().expect("a durable database has its log before a page of it is changed");
    assert!(lsn < log.end(), "page LSN {lsn} is of a record that was appended");
    if log.hardened() < lsn {
        log.harden(lsn, FlushReason::WriteAhead)?;
    }
    assert!(log.hardened() >= lsn, "harden({lsn}) came back at {}", log.hardened());
    Ok(())
}

/// Asserts the WAL rule for each image that is about to be written. Not where the simulation plants the bug that breaks it: its oracles must
/// detect that by themselves.
fn assert_log_is_hard(space: &FileSpace, images: &[u8]) {
    if space.is_volatile() || is_planted(Bug::PageBeforeLog) {
        return;
    }
    let hardened = space.log().map_or(Lsn::NULL, |log| log.hardened());
    for image in images.chunks_exact(PAGE_BYTES) {
        let page: &PageBytes = image.try_into().expect("a slice of one page");
        let (id, lsn) = (header::id(page), header::lsn(page));
        assert!(lsn <= hardened, "page {id} goes out with {lsn}, hard is {hardened}");
    }
}

/// Makes images durable in their places. `buffer` holds them behind the doublewrite prefix, in the order of `pages`.
pub(crate) fn write_images(
    space: &FileSpace,
    buffer: &mut AlignedBuf,
    pages: &[PageId],
) -> Result<(), PageError> {
    assert!(pages.is_sorted_by(|one, other| one < other), "images go out in page order, each once");
    assert_eq!(buffer.len(), PREFIX_BYTES + pages.len() * PAGE_BYTES, "an image for each page");
    let images = buffer[PREFIX_BYTES..].chunks(PAGE_BYTES).zip(pages);
    let is_sound = |image, page| checksum::check(page_of(image), page) == PageCheck::Sound;
    assert!(
        images.into_iter().all(|(image, page)| is_sound(image, *page)),
        "what is written can be read back"
    );
    // Held to the end, including the result of the sync: after a failed sync the images of its batch may be the only copies of the pages, and
    // the next batch must not overwrite them.
    let mut doublewrite = space.doublewrite().lock();
    space.refuse_if_suspect()?;
    let written = write_in_place(space, doublewrite.as_mut(), buffer, pages);
    if let Err(error) = &written {
        space.become_suspect(error);
    }
    written
}

fn write_in_place(
    space: &FileSpace,
    doublewrite: Option<&mut Doublewrite>,
    buffer: &mut AlignedBuf,
    pages: &[PageId],
) -> Result<(), PageError> {
    assert_eq!(doublewrite.is_none(), space.is_volatile(), "pages that last go through the doublewrite file");
    if let Some(doublewrite) = doublewrite {
        doublewrite.write(buffer, pages)?;
    }
    let (mut first, mut written, mut gone) = (0, 0, 0);
    while first < pages.len() {
        // Pages of tempdb without an owner may have been removed with the end of their file, or with the whole file, since they were copied.
        let is_there = |page: PageId| !space.is_volatile() || space.has_page(page);
        if !is_there(pages[first]) {
            gone += 1;
            first += 1;
            continue;
        }
        let mut last = first;
        while last + 1 < pages.len()
            && pages[last + 1].file == pages[first].file
            && pages[last + 1].page == pages[last].page + 1
            && is_there(pages[last + 1])
        {
            last += 1;
        }
        let bytes = &buffer[PREFIX_BYTES + first * PAGE_BYTES..PREFIX_BYTES + (last + 1) * PAGE_BYTES];
        space.file(pages[first].file)?.write(pages[first].page, bytes)?;
        written += bytes.len() / PAGE_BYTES;
        first = last + 1;
    }
    assert_eq!(written + gone, pages.len(), "each image goes to its place");
    if !space.is_volatile() {
        for file in pages.chunk_by(|one, other| one.file == other.file) {
            space.file(file[0].file)?.sync()?;
        }
    }
    Ok(())
}
