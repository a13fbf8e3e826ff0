//! Making a data file, and the list of files by number.

use std::path::PathBuf;
use std::sync::Arc;

use os::Os;

use crate::data_file::DataFile;
use crate::error::PageError;
use crate::file_header::{FileHeader, Growth};

/// Pages of a new file, at least: 128 KB.
pub const FILE_PAGES_MIN: u32 = 16;

/// A data file to be made.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// Its number in the database: that of its pages' addresses. The first file's is 1.
    pub number: u16,
    /// Its path; it must not exist.
    pub path: PathBuf,
    /// Its name in the catalog.
    pub logical_name: String,
    /// Its size in pages; at least [`FILE_PAGES_MIN`].
    pub pages: u32,
    /// How it grows.
    pub growth: Growth,
    /// MAXSIZE in pages; 0 is unlimited.
    pub max_pages: u32,
}

impl NewFile {
    /// A file of the smallest size that grows automatically without limit.
    pub fn new(path: impl Into<PathBuf>, logical_name: impl Into<String>) -> NewFile {
        NewFile {
            number: 1,
            path: path.into(),
            logical_name: logical_name.into(),
            pages: 32,
            growth: Growth::Automatic,
            max_pages: 0,
        }
    }
}

/// Makes the file of a database with this identity.
pub(super) fn make(
    os: &Os,
    new: &NewFile,
    database_guid: [u8; 16],
    (volatile, incarnation): (bool, u64),
) -> Result<DataFile, PageError> {
    assert!(new.number > 0, "files are numbered from 1");
    let pages = new.pages.max(FILE_PAGES_MIN);
    let header = FileHeader {
        database_guid,
        file_id: new.number,
        logical_name: new.logical_name.clone(),
        growth: new.growth,
        max_pages: new.max_pages,
        created_pages: pages,
        incarnation,
    };
    let file = DataFile::create(os, &new.path, header, pages, volatile)?;
    assert!(file.pages() == pages && file.file_id() == new.number, "the file is as large as it says");
    Ok(file)
}

/// The files, in ascending order of their numbers, each at the index of its number.
pub(super) fn at_their_numbers(files: Vec<Arc<DataFile>>) -> Vec<Option<Arc<DataFile>>> {
    assert!(files.is_sorted_by(|one, next| one.file_id() < next.file_id()), "each number once");
    assert!(files.first().is_some_and(|first| first.file_id() == 1), "the first file has the boot page");
    let count = files.len();
    let mut placed = vec![None; usize::from(files.last().map_or(0, |last| last.file_id()))];
    for file in files {
        let at = usize::from(file.file_id()) - 1;
        placed[at] = Some(file);
    }
    assert_eq!(placed.iter().flatten().count(), count, "each has its place");
    placed
}
