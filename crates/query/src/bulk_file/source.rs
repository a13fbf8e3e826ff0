//! The bytes of a file, a window at a time; UTF-16 is turned into UTF-8.

use std::path::Path;
use std::sync::Arc;

use os::{File, IoError, OpenOptions};
use types::SqlError;

use super::options::Encoding;

/// Bytes read at once.
const READ_BYTES: usize = 256 * 1024;
/// A window longer than this asks for memory before it grows.
const LARGE_BYTES: usize = 1 << 20;

/// The window: bytes of the present row and of some rows behind it.
pub(crate) struct ByteSource {
    file: Arc<dyn File>,
    is_wide: bool,
    offset: u64,
    window: Vec<u8>,
    begin: usize,
    /// Bytes of UTF-16 that are no whole character yet.
    unpaired: Vec<u8>,
    chunk: Vec<u8>,
}

impl ByteSource {
    /// The file, behind its byte order mark.
    pub(crate) fn open(disk: &dyn os::Disk, path: &Path, encoding: Encoding) -> Result<ByteSource, IoError> {
        let options = OpenOptions { no_links: true, ..OpenOptions::read_only() };
        let file = disk.open(path, &options)?;
        let mut start = [0; 3];
        let count = file.read_at(&mut start, 0)?;
        let offset = match (encoding, &start[..count]) {
            (Encoding::Utf8, [0xEF, 0xBB, 0xBF]) => 3,
            (Encoding::Wide, [0xFF, 0xFE, ..]) => 2,
            _ => 0,
        };
        let is_wide = encoding == Encoding::Wide;
        let (window, unpaired, chunk) = (Vec::new(), Vec::new(), vec![0; READ_BYTES]);
        Ok(ByteSource { file, is_wide, offset, window, begin: 0, unpaired, chunk })
    }

    /// The bytes in sight.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.window[self.begin..]
    }

    /// Passes over bytes in sight.
    pub(crate) fn pass(&mut self, count: usize) {
        self.begin += count;
        assert!(self.begin <= self.window.len(), "only what is in sight is passed over");
    }

    /// Puts more bytes behind those in sight; false at the end of the file.
    pub(crate) fn fill(&mut self) -> Result<bool, SqlError> {
        if self.begin > 0 {
            self.window.drain(..self.begin);
            self.begin = 0;
        }
        if self.window.len() > LARGE_BYTES {
            os::memory::ask(self.window.len()).map_err(crate::errors::out_of_memory)?;
        }
        let count = self
            .file
            .read_at(&mut self.chunk, self.offset)
            .map_err(|error| unreadable(&self.file, &error))?;
        self.offset += count as u64;
        if !self.is_wide {
            self.window.extend_from_slice(&self.chunk[..count]);
            return Ok(count > 0);
        }
        let before = self.window.len();
        self.unpaired.extend_from_slice(&self.chunk[..count]);
        self.narrow(count == 0);
        Ok(count > 0 || self.window.len() > before)
    }

    /// Appends the whole characters of `unpaired` to the window, at the end of the file all that is left.
    fn narrow(&mut self, is_end: bool) {
        let (pairs, _) = self.unpaired.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        let is_half = units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit));
        if is_half && !is_end {
            units.pop();
        }
        self.window.extend_from_slice(String::from_utf16_lossy(&units).as_bytes());
        self.unpaired.drain(..units.len() * 2);
        if is_end {
            self.unpaired.clear();
        }
    }
}

fn unreadable(file: &Arc<dyn File>, error: &IoError) -> SqlError {
    SqlError::new(4861, &[&file.path().display(), error])
}
