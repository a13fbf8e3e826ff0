//! Page 0 of each data file (the identity of the file) and the boot page of the first (docs/formats/data-file.md).

use std::path::Path;

use crate::checksum::{self, PageCheck};
use crate::error::PageError;
use crate::header::{self, PageType};
use crate::page_id::{BODY_BYTES, HEADER_BYTES, PAGE_BYTES, PageBytes, PageId};
use crate::structure;

/// First bytes of the body of page 0.
pub const MAGIC: [u8; 8] = *b"HARDPAN\0";
/// The version of data files that this code writes and the highest it reads.
pub const FILE_FORMAT_VERSION: u16 = 2;
/// The boot page: in file 1, where SQL Server has it.
pub const BOOT_PAGE: PageId = PageId::new(1, 9);
/// Bytes of the boot page that belong to the engine, at most.
pub const BOOT_PAYLOAD_BYTES_MAX: usize = BODY_BYTES - 64;
/// Bytes of a logical file name in UTF-8, at most (128 UTF-16 units).
pub const LOGICAL_NAME_BYTES_MAX: usize = 384;
/// Offset in page 0 of the size that the file was made with; 0 in files of versions that did not note it.
const CREATED_PAGES_AT: usize = 428;
const _: () = assert!(42 + LOGICAL_NAME_BYTES_MAX <= CREATED_PAGES_AT, "the name ends before it");
/// Offset in page 0 of the incarnation of the database; 0 in files of version 1.
const INCARNATION_AT: usize = 432;
const _: () = assert!(CREATED_PAGES_AT + 4 <= INCARNATION_AT, "one behind the other");
const _: () = assert!(INCARNATION_AT + 8 <= BODY_BYTES, "the fields fit page 0");
const _: () =
    assert!(BOOT_PAYLOAD_BYTES_MAX <= u16::MAX as usize && 64 + BOOT_PAYLOAD_BYTES_MAX <= BODY_BYTES);

/// How a file grows when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Doubles while small, then by 64 MB.
    Automatic,
    /// By this many pages.
    Pages(u32),
    /// By this share of its size, 1..=100 (at least 8 pages).
    Percent(u32),
    /// Not at all (FILEGROWTH = 0).
    Fixed,
}

/// The contents of page 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// The database that the file belongs to.
    pub database_guid: [u8; 16],
    /// File number in its database, from 1.
    pub file_id: u16,
    /// Name in ALTER DATABASE and sys.database_files.
    pub logical_name: String,
    /// How it grows.
    pub growth: Growth,
    /// MAXSIZE in pages; 0 is unlimited.
    pub max_pages: u32,
    /// Its size when it was made, in pages; 0 when that was not noted.
    pub created_pages: u32,
    /// The newest incarnation of the database that the file was opened in (`log::Incarnation`, raw); 0 when that was not noted.
    pub incarnation: u64,
}

/// The facts that are needed before log and catalog can be read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BootPage {
    /// The database.
    pub database_guid: [u8; 16],
    /// Begin of the last completed checkpoint, raw LSN (`dbi_checkptLSN`).
    pub checkpoint_lsn: u64,
    /// The engine's own facts, at most [`BOOT_PAYLOAD_BYTES_MAX`] bytes.
    pub payload: Vec<u8>,
}

fn put(page: &mut PageBytes, at: usize, bytes: &[u8]) {
    page[HEADER_BYTES + at..HEADER_BYTES + at + bytes.len()].copy_from_slice(bytes);
}

fn take<const N: usize>(page: &PageBytes, at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&page[HEADER_BYTES + at..HEADER_BYTES + at + N]);
    bytes
}

impl FileHeader {
    /// The page, checksum included.
    pub fn encode(&self) -> Box<PageBytes> {
        assert!(self.logical_name.len() <= LOGICAL_NAME_BYTES_MAX, "logical name too long");
        assert!(self.file_id > 0, "files are numbered from 1");
        let mut page = Box::new([0u8; PAGE_BYTES]);
        header::format(&mut page, PageId::new(self.file_id, 0), PageType::FileHeader, 0, 0);
        let (kind, amount) = match self.growth {
            Growth::Automatic => (0u8, 0),
            Growth::Pages(pages) => (1, pages),
            Growth::Percent(percent) => (2, percent),
            Growth::Fixed => (3, 0),
        };
        put(&mut page, 0, &MAGIC);
        put(&mut page, 8, &FILE_FORMAT_VERSION.to_le_bytes());
        put(&mut page, 10, &self.file_id.to_le_bytes());
        put(&mut page, 12, &[kind]);
        put(&mut page, 16, &self.database_guid);
        put(&mut page, 32, &amount.to_le_bytes());
        put(&mut page, 36, &self.max_pages.to_le_bytes());
        put(&mut page, 40, &(self.logical_name.len() as u16).to_le_bytes());
        put(&mut page, 42, self.logical_name.as_bytes());
        put(&mut page, CREATED_PAGES_AT, &self.created_pages.to_le_bytes());
        put(&mut page, INCARNATION_AT, &self.incarnation.to_le_bytes());
        checksum::stamp(&mut page);
        let read_back = FileHeader::decode(&page, Path::new("")).ok();
        assert_eq!(read_back.as_ref(), Some(self), "what is written can be read back");
        page
    }

    /// From the bytes of page 0 of the file at `path`; refuses foreign files and newer formats.
    pub fn decode(page: &PageBytes, path: &Path) -> Result<FileHeader, PageError> {
        let not_ours = |what: &str| PageError::NotOurs { path: path.to_owned(), what: what.to_owned() };
        if take::<8>(page, 0) != MAGIC {
            return Err(not_ours("not a data file of this server"));
        }
        let version = u16::from_le_bytes(take(page, 8));
        if version > FILE_FORMAT_VERSION {
            let supported = FILE_FORMAT_VERSION;
            return Err(PageError::NewerFormat { path: path.to_owned(), found: version, supported });
        }
        let file_id = u16::from_le_bytes(take(page, 10));
        let check = checksum::check(page, PageId::new(file_id, 0));
        if check != PageCheck::Sound {
            let what = format!("file header damaged: {check:?}");
            return Err(PageError::Corrupt {
                page: PageId::new(file_id, 0),
                path: path.to_owned(),
                what,
                bad_checksum: matches!(check, PageCheck::BadChecksum(..)),
            });
        }
        if let Err(what) = structure::verify(page) {
            let what = format!("file header: {what}");
            return Err(PageError::Corrupt {
                page: PageId::new(file_id, 0),
                path: path.to_owned(),
                what,
                bad_checksum: false,
            });
        }
        let amount = u32::from_le_bytes(take(page, 32));
        let growth = match take::<1>(page, 12)[0] {
            1 => Growth::Pages(amount),
            2 => Growth::Percent(amount),
            3 => Growth::Fixed,
            _ => Growth::Automatic,
        };
        let name_bytes = usize::from(u16::from_le_bytes(take(page, 40)));
        let name = page.get(HEADER_BYTES + 42..HEADER_BYTES + 42 + name_bytes);
        let name = name.filter(|_| name_bytes <= LOGICAL_NAME_BYTES_MAX);
        let logical_name = name.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        Ok(FileHeader {
            database_guid: take(page, 16),
            file_id,
            logical_name: logical_name.ok_or_else(|| not_ours("impossible file name in the header"))?,
            growth,
            max_pages: u32::from_le_bytes(take(page, 36)),
            created_pages: u32::from_le_bytes(take(page, CREATED_PAGES_AT)),
            incarnation: u64::from_le_bytes(take(page, INCARNATION_AT)),
        })
    }
}

impl BootPage {
    /// The page, checksum included.
    pub fn encode(&self) -> Box<PageBytes> {
        assert!(self.payload.len() <= BOOT_PAYLOAD_BYTES_MAX, "boot payload of {} bytes", self.payload.len());
        let mut page = Box::new([0u8; PAGE_BYTES]);
        header::format(&mut page, BOOT_PAGE, PageType::Boot, 0, 0);
        put(&mut page, 0, &self.database_guid);
        put(&mut page, 16, &self.checkpoint_lsn.to_le_bytes());
        put(&mut page, 24, &(self.payload.len() as u16).to_le_bytes());
        put(&mut page, 64, &self.payload);
        checksum::stamp(&mut page);
        let read_back = BootPage::decode(&page, Path::new("")).ok();
        assert_eq!(read_back.as_ref(), Some(self), "what is written can be read back");
        page
    }

    /// From the bytes of the boot page; the caller has checked the checksum.
    pub fn decode(page: &PageBytes, path: &Path) -> Result<BootPage, PageError> {
        let payload_bytes = usize::from(u16::from_le_bytes(take(page, 24)));
        if header::page_type(page) != PageType::Boot || payload_bytes > BOOT_PAYLOAD_BYTES_MAX {
            let what = "not a boot page".to_owned();
            return Err(PageError::Corrupt {
                page: BOOT_PAGE,
                path: path.to_owned(),
                what,
                bad_checksum: false,
            });
        }
        let payload = page[HEADER_BYTES + 64..HEADER_BYTES + 64 + payload_bytes].to_vec();
        Ok(BootPage {
            database_guid: take(page, 0),
            checkpoint_lsn: u64::from_le_bytes(take(page, 16)),
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> FileHeader {
        FileHeader {
            database_guid: [7; 16],
            file_id: 2,
            logical_name: "PerformanceV3_data".into(),
            growth: Growth::Percent(10),
            max_pages: 12_800,
            created_pages: 256,
            incarnation: 5 << 32 | 8,
        }
    }

    #[test]
    fn headers_round_trip() {
        let path = Path::new("x.mdf");
        assert_eq!(FileHeader::decode(&sample().encode(), path).expect("ours"), sample());
        let boot =
            BootPage { database_guid: [1; 16], checkpoint_lsn: 99, payload: vec![3; BOOT_PAYLOAD_BYTES_MAX] };
        assert_eq!(BootPage::decode(&boot.encode(), path).expect("ours"), boot);
    }

    #[test]
    fn foreign_newer_and_damaged_files_are_told_apart() {
        let path = Path::new("x.mdf");
        let zeros = Box::new([0u8; PAGE_BYTES]);
        assert!(matches!(FileHeader::decode(&zeros, path), Err(PageError::NotOurs { .. })));
        let mut newer = sample().encode();
        newer[HEADER_BYTES + 8] = 200;
        assert!(matches!(FileHeader::decode(&newer, path), Err(PageError::NewerFormat { found: 200, .. })));
        let mut damaged = sample().encode();
        damaged[HEADER_BYTES + 45] ^= 1;
        assert!(matches!(FileHeader::decode(&damaged, path), Err(PageError::Corrupt { .. })));
    }
}
