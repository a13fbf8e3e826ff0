//! The doublewrite file: page images are made durable here before they overwrite their places, so that a page torn by a
//! power loss is repaired at the next open (docs/formats/doublewrite.md).
//!
//! It holds the last batch. A batch replaces its predecessor only after the predecessor's pages are durable in place; so
//! every image in it is the newest version of its page, and a repair never restores an older version.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::{AlignedBuf, File, IoError, OpenOptions, Os, WriteMode};

use crate::checksum::{self, PageCheck};
use crate::data_file::page_of;
use crate::error::PageError;
use crate::header;
use crate::page_id::{PAGE_BYTES, PageId};

/// Pages of a batch, at most.
pub(crate) const BATCH_PAGES_MAX: usize = 64;
/// Bytes before the first image.
pub(crate) const PREFIX_BYTES: usize = 4096;
const MAGIC: [u8; 8] = *b"HARDPDWB";
const VERSION: u16 = 1;
const ENTRIES_AT: usize = 40;
const ENTRY_BYTES: usize = 8;
const _: () = assert!(PREFIX_BYTES.is_multiple_of(4096), "images are aligned for direct I/O");
const _: () = assert!(ENTRIES_AT + BATCH_PAGES_MAX * ENTRY_BYTES <= PREFIX_BYTES);

/// The doublewrite file of a database.
pub(crate) struct Doublewrite {
    file: Arc<dyn File>,
    database_guid: [u8; 16],
    batches_total: u64,
}

/// The path of the doublewrite file of the database with this first data file.
pub fn doublewrite_path(first_data_file: &Path) -> PathBuf {
    let mut path = first_data_file.as_os_str().to_owned();
    path.push(".dwb");
    PathBuf::from(path)
}

impl Doublewrite {
    /// Makes the file at its full size (so that no later write can fail for space), or uses an existing one.
    pub(crate) fn create(os: &Os, path: &Path, database_guid: [u8; 16]) -> Result<Doublewrite, IoError> {
        let options = OpenOptions { direct: true, no_links: true, ..OpenOptions::create() };
        let file = os.disk().open(path, &options)?;
        let bytes = (PREFIX_BYTES + BATCH_PAGES_MAX * PAGE_BYTES) as u64;
        let length = file.len()?;
        if length < bytes {
            file.allocate_zeroed(length / PAGE_BYTES as u64 * PAGE_BYTES as u64, bytes)?;
        }
        assert!(file.len().map_or(true, |length| length >= bytes), "no batch fails for lack of space");
        Ok(Doublewrite { file, database_guid, batches_total: 0 })
    }

    /// A buffer for a batch of `pages` images; the images begin at [`PREFIX_BYTES`].
    pub(crate) fn buffer(pages: usize) -> AlignedBuf {
        assert!(pages > 0 && pages <= BATCH_PAGES_MAX);
        AlignedBuf::new(PREFIX_BYTES + pages * PAGE_BYTES)
    }

    /// Makes the batch durable. `buffer` holds the images behind its prefix, which is filled in here.
    pub(crate) fn write(&mut self, buffer: &mut AlignedBuf, pages: &[PageId]) -> Result<(), IoError> {
        assert!(!pages.is_empty() && pages.len() <= BATCH_PAGES_MAX);
        assert!(buffer.len() == PREFIX_BYTES + pages.len() * PAGE_BYTES, "prefix and images");
        assert!(pages.is_sorted_by(|one, next| one < next), "each page once");
        assert!(pages.iter().all(|page| !page.is_null()), "each image has an address");
        let is_of = |(image, page): (&[u8], &PageId)| header::id(page_of(image)) == *page;
        let images_in_order = buffer[PREFIX_BYTES..].chunks(PAGE_BYTES).zip(pages);
        assert!(images_in_order.into_iter().all(is_of), "each image is of the page that its entry names");
        self.batches_total += 1;
        buffer[..PREFIX_BYTES].fill(0);
        buffer[..8].copy_from_slice(&MAGIC);
        buffer[8..10].copy_from_slice(&VERSION.to_le_bytes());
        buffer[10..12].copy_from_slice(&(pages.len() as u16).to_le_bytes());
        buffer[16..32].copy_from_slice(&self.database_guid);
        buffer[32..40].copy_from_slice(&self.batches_total.to_le_bytes());
        for (index, page) in pages.iter().enumerate() {
            let at = ENTRIES_AT + index * ENTRY_BYTES;
            buffer[at..at + 6].copy_from_slice(&page.to_bytes());
        }
        let checksum = crc32c::crc32c(&buffer[16..PREFIX_BYTES]);
        buffer[12..16].copy_from_slice(&checksum.to_le_bytes());
        let named = images(buffer).into_iter().map(|(page, _)| page);
        assert!(named.eq(pages.iter().copied()), "what is written can be read back");
        self.file.write_at(buffer, 0, WriteMode::Durable)
    }
}

/// Repairs pages that the last batch before a crash may have left torn. `files` are the raw data files by number. Returns
/// the repaired pages. A missing, foreign or torn doublewrite file repairs nothing: its batch never reached the data files.
pub(crate) fn repair(
    os: &Os,
    path: &Path,
    files: &[(u16, Arc<dyn File>)],
    was_closed: bool,
) -> Result<Vec<PageId>, PageError> {
    if !os.disk().exists(path) {
        return Ok(Vec::new());
    }
    let file =
        os.disk().open(path, &OpenOptions { direct: true, no_links: true, ..OpenOptions::default() })?;
    let mut buffer = AlignedBuf::new(PREFIX_BYTES + BATCH_PAGES_MAX * PAGE_BYTES);
    let got = file.read_at(&mut buffer, 0)?;
    let (mut repaired, mut written) = (Vec::new(), BTreeSet::new());
    for (id, image) in images(&buffer[..got]) {
        let Some((_, target)) = files.iter().find(|(number, _)| *number == id.file) else { continue };
        if checksum::check(page_of(image), id) != PageCheck::Sound
            || target.len()? < id.offset() + PAGE_BYTES as u64
        {
            continue;
        }
        let mut in_place = AlignedBuf::new(PAGE_BYTES);
        let read = target.read_at(&mut in_place, id.offset())?;
        let torn = read < PAGE_BYTES
            || matches!(
                checksum::check(page_of(&in_place), id),
                PageCheck::BadChecksum(..) | PageCheck::WrongAddress(_)
            );
        // A process that died, or met a failed sync, before its batch was durable in place leaves pages that are sound in
        // the page cache only: they are written again before the next batch overwrites their images. A database is closed properly only
        // after its pages were synced.
        if torn || (!was_closed && in_place[..] == *image) {
            let copy = AlignedBuf::from_slice(image, PAGE_BYTES);
            target.write_at(&copy, id.offset(), WriteMode::Cached)?;
            written.insert(id.file);
        }
        if torn {
            os::sim::reach(|| "torn page put right".to_owned());
            repaired.push(id);
        }
    }
    assert!(repaired.len() <= BATCH_PAGES_MAX, "only pages of the last batch are repaired");
    let is_to_sync = |page: &PageId| written.contains(&page.file);
    assert!(repaired.iter().all(is_to_sync), "the file of a repaired page is synced");
    for (_, file) in files.iter().filter(|(number, _)| written.contains(number)) {
        file.sync()?;
    }
    Ok(repaired)
}

/// The images of a doublewrite file's bytes; none when they are not a complete, valid batch header.
pub(crate) fn images(bytes: &[u8]) -> Vec<(PageId, &[u8])> {
    let Some(prefix) = bytes.get(..PREFIX_BYTES) else { return Vec::new() };
    let checksum = u32::from_le_bytes([prefix[12], prefix[13], prefix[14], prefix[15]]);
    let count = usize::from(u16::from_le_bytes([prefix[10], prefix[11]]));
    let sound = prefix[..8] == MAGIC
        && u16::from_le_bytes([prefix[8], prefix[9]]) == VERSION
        && count <= BATCH_PAGES_MAX
        && checksum == crc32c::crc32c(&prefix[16..]);
    if !sound {
        return Vec::new();
    }
    let entry = |index: usize| {
        let at = ENTRIES_AT + index * ENTRY_BYTES;
        let mut id = [0; 6];
        id.copy_from_slice(&prefix[at..at + 6]);
        let image = bytes.get(PREFIX_BYTES + index * PAGE_BYTES..PREFIX_BYTES + (index + 1) * PAGE_BYTES)?;
        Some((PageId::from_bytes(id), image))
    };
    (0..count).filter_map(entry).collect()
}
