//! Data files and the buffer pool; never writes a page ahead of its log.
//!
//! A [`FileSpace`] is the data files of one database; [`FileSpace::fix`] gives a latched page of it as a [`PageGuard`], from
//! the instance's one [`BufferPool`]. [`header`] and [`slots`] read and change a page's bytes. A change appends the
//! log record first, then calls [`PageGuard::set_lsn`]; write_out.rs keeps the WAL rule, doublewrite.rs repairs torn pages.

mod buffered;
pub mod checksum;
mod data_file;
mod dirty_pages;
mod doublewrite;
mod dump;
mod error;
mod file_header;
mod frame;
pub mod header;
mod lazy_writer;
mod page_id;
mod pool;
mod prefetch_hint;
pub mod slots;
mod space;
pub mod structure;
mod suspect_pages;
pub mod tree_rows;
mod write_out;

pub use buffered::{BufferedHeader, BufferedPage};
pub use data_file::FileInfo;
pub use doublewrite::doublewrite_path;
pub use dump::{dump_page, read_page_of_file};
pub use error::PageError;
pub use file_header::{BOOT_PAGE, BOOT_PAYLOAD_BYTES_MAX, BootPage, FileHeader, Growth};
pub use frame::{LatchMode, PageGuard};
pub use header::PageType;
pub use lazy_writer::LazyWriter;
pub use page_id::{BODY_BYTES, HEADER_BYTES, PAGE_BYTES, PageBytes, PageId, SLOT_BYTES};
pub use pool::{BufferPool, PoolOptions, PoolStats};
pub use prefetch_hint::PrefetchHint;
pub use space::{CreateSpace, FILE_PAGES_MIN, FileSpace, IdleFile, NewFile, OpenSpace};
pub use suspect_pages::{SuspectEvent, SuspectPage};
