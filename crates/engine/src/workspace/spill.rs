//! Temporary files for rows that do not fit into memory: blocks of one size, allocated and freed; runs of records in them.
//!
//! A file is unlinked as soon as it is created: it disappears with its last user, however that ends. Files left by a crash between the two
//! steps are removed at the start ([`clear_left`]). Spill files are never hardened: no result depends on them after a crash.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use os::{Disk, File, IoError, OpenOptions, Os, WriteMode};
use types::SqlError;

use crate::error::{SqlResult, interrupted, io_failed};
use crate::workspace::Workspaces;

/// Bytes of a block: the memory of a run while it is written or read.
pub const BLOCK_BYTES: usize = 32 << 10;
/// Free space that spilling leaves on the disk of the data directory: one query must not use the space that logs and data files need to grow.
const LEFT_FREE_BYTES: u64 = 512 << 20;
/// The free disk space is checked each time a file has grown by so many blocks (8 MB).
const BLOCKS_BETWEEN_LOOKS: u32 = 256;
const FILE_PREFIX: &str = "hardpan.spill.";
/// Every record begins with its length.
const LENGTH_BYTES: usize = 4;

/// The spill file of one statement.
pub struct SpillFile {
    file: Arc<dyn File>,
    os: Os,
    folder: PathBuf,
    /// Blocks that were used and are free again.
    free: RefCell<Vec<u32>>,
    blocks: Cell<u32>,
}

/// Records in the order in which they were written.
pub struct Run {
    file: Rc<SpillFile>,
    blocks: Vec<u32>,
    /// The number of records.
    records: u64,
}

/// A run that is being written.
pub struct RunWriter {
    run: Run,
    buffer: Vec<u8>,
}

/// A position in a run.
pub struct RunReader<R> {
    run: R,
    next_block: usize,
    buffer: Vec<u8>,
    at: usize,
}

/// The temporary name of the file of a database's row versions.
pub(crate) fn versions_path(data_dir: &Path, database: u16) -> PathBuf {
    data_dir.join(format!("{FILE_PREFIX}versions.{database}"))
}

/// Removes files that a crash has left in the data directory.
pub(crate) fn clear_left(disk: &dyn Disk, data_dir: &Path) -> Result<(), IoError> {
    for entry in disk.list(data_dir)? {
        if entry.name.starts_with(FILE_PREFIX) && !entry.is_directory {
            disk.remove(&data_dir.join(&entry.name))?;
        }
    }
    Ok(())
}

/// 1105 when the disk is full, else 823: only this statement fails, no database is affected.
fn failed(error: &IoError) -> SqlError {
    if error.is_no_space() { no_room(&error.to_string()) } else { io_failed("tempdb", &error.to_string()) }
}

fn no_room(why: &str) -> SqlError {
    let text = format!(
        "No space could be allocated in database 'tempdb' for rows that do not fit into the memory of their query: {why}. \
         Free space on the disk of the data directory, or give the query more memory."
    );
    SqlError::custom(1105, 17, 2, text)
}

impl SpillFile {
    /// A new file, empty.
    ///
    /// # Errors
    /// 1105, 823.
    pub fn create(workspaces: &Workspaces) -> SqlResult<Rc<SpillFile>> {
        let disk = workspaces.os.disk();
        let number = workspaces.files_total.fetch_add(1, Relaxed);
        let path = workspaces.folder.join(format!("{FILE_PREFIX}{number}"));
        let options = OpenOptions { private: true, ..OpenOptions::create_new() };
        let file = disk.open(&path, &options).map_err(|error| failed(&error))?;
        disk.remove(&path).map_err(|error| failed(&error))?;
        let (os, folder) = (workspaces.os.clone(), workspaces.folder.clone());
        Ok(Rc::new(SpillFile { file, os, folder, free: RefCell::default(), blocks: Cell::new(0) }))
    }

    /// Begins a run.
    pub fn writer(self: &Rc<Self>) -> RunWriter {
        RunWriter { run: Run { file: self.clone(), blocks: Vec::new(), records: 0 }, buffer: Vec::new() }
    }

    /// Blocks that hold rows.
    #[cfg(test)]
    fn used_blocks(&self) -> usize {
        self.blocks.get() as usize - self.free.borrow().len()
    }

    fn write(&self, bytes: &[u8]) -> SqlResult<u32> {
        assert_eq!(bytes.len(), BLOCK_BYTES, "blocks are written whole");
        if os::task::interrupt_pending() {
            return Err(interrupted());
        }
        let taken = self.free.borrow_mut().pop();
        let block = taken.map_or_else(|| self.grow(), Ok)?;
        let offset = u64::from(block) * BLOCK_BYTES as u64;
        match self.file.write_at(bytes, offset, WriteMode::Cached) {
            Ok(()) => Ok(block),
            Err(error) => {
                self.free.borrow_mut().push(block);
                Err(failed(&error))
            }
        }
    }

    /// Appends a block.
    fn grow(&self) -> SqlResult<u32> {
        let block = self.blocks.get();
        if block > 0 && block.is_multiple_of(BLOCKS_BETWEEN_LOOKS) {
            let free_bytes = self.os.disk().free_bytes(&self.folder).map_err(|error| failed(&error))?;
            if free_bytes < LEFT_FREE_BYTES {
                return Err(no_room(&format!("less than {} MB are free", LEFT_FREE_BYTES >> 20)));
            }
        }
        self.blocks.set(block + 1);
        Ok(block)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.file.free.borrow_mut().append(&mut self.blocks);
    }
}

impl Run {
    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Reads it from its beginning; its blocks are freed when the reader is dropped.
    pub fn into_reader(self) -> RunReader<Run> {
        RunReader { run: self, next_block: 0, buffer: Vec::new(), at: 0 }
    }

    /// Reads it from its beginning; it can be read again.
    pub fn reader(self: &Rc<Self>) -> RunReader<Rc<Run>> {
        RunReader { run: self.clone(), next_block: 0, buffer: Vec::new(), at: 0 }
    }
}

impl RunWriter {
    /// Adds a record.
    ///
    /// # Errors
    /// 1105, 823; cancelled.
    pub fn push(&mut self, record: &[u8]) -> SqlResult<()> {
        let length = u32::try_from(record.len()).expect("a row is smaller than 4 GB");
        self.put(&length.to_le_bytes())?;
        self.put(record)?;
        self.run.records += 1;
        Ok(())
    }

    fn put(&mut self, mut bytes: &[u8]) -> SqlResult<()> {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(BLOCK_BYTES);
        }
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == BLOCK_BYTES {
                self.write_out()?;
            }
        }
        Ok(())
    }

    fn write_out(&mut self) -> SqlResult<()> {
        let block = self.run.file.write(&self.buffer)?;
        self.run.blocks.push(block);
        self.buffer.clear();
        Ok(())
    }

    /// Ends the run.
    ///
    /// # Errors
    /// 1105, 823; cancelled.
    pub fn finish(mut self) -> SqlResult<Run> {
        if !self.buffer.is_empty() {
            self.buffer.resize(BLOCK_BYTES, 0);
            self.write_out()?;
        }
        Ok(self.run)
    }
}

impl<R: AsRef<Run>> RunReader<R> {
    /// The next record.
    ///
    /// # Errors
    /// 823; cancelled.
    pub fn next(&mut self, record: &mut Vec<u8>) -> SqlResult<()> {
        let mut length = [0; LENGTH_BYTES];
        self.take(&mut length)?;
        record.clear();
        record.resize(u32::from_le_bytes(length) as usize, 0);
        self.take(record)
    }

    fn take(&mut self, mut bytes: &mut [u8]) -> SqlResult<()> {
        while !bytes.is_empty() {
            if self.at == self.buffer.len() {
                self.read_block()?;
            }
            let count = bytes.len().min(self.buffer.len() - self.at);
            let (now, later) = bytes.split_at_mut(count);
            now.copy_from_slice(&self.buffer[self.at..self.at + count]);
            self.at += count;
            bytes = later;
        }
        Ok(())
    }

    fn read_block(&mut self) -> SqlResult<()> {
        if os::task::interrupt_pending() {
            return Err(interrupted());
        }
        let run = self.run.as_ref();
        let block = *run.blocks.get(self.next_block).expect("as many records are read as were written");
        self.buffer.resize(BLOCK_BYTES, 0);
        let offset = u64::from(block) * BLOCK_BYTES as u64;
        run.file.file.read_exact_at(&mut self.buffer, offset).map_err(|error| failed(&error))?;
        self.next_block += 1;
        self.at = 0;
        Ok(())
    }

    /// The run that is read.
    pub fn run(&self) -> &Run {
        self.run.as_ref()
    }
}

impl AsRef<Run> for Run {
    fn as_ref(&self) -> &Run {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Instance, InstanceOptions};
    use os::Os;

    /// Records of all sizes are read back in order, blocks are reused, no file has a name, and files left by a crash are removed.
    #[test]
    fn runs_come_back_and_their_blocks_are_used_again() {
        let folder = std::env::temp_dir().join(format!("hardpan-engine-spill-{}", os::process::id()));
        let os = Os::real();
        os.disk().create_dir_all(&folder).expect("a folder");
        let left = folder.join(format!("{FILE_PREFIX}9"));
        let options = InstanceOptions { background: false, ..InstanceOptions::new(&folder) };
        Instance::open(&os, &options).expect("opens").shutdown();
        os.disk().replace_private_file(&left, b"of a dead server").expect("written");
        let instance = Instance::open(&os, &options).expect("opens");
        assert!(!os.disk().exists(&left), "cleared at the start");

        let file = SpillFile::create(instance.workspaces()).expect("a file");
        let records: Vec<Vec<u8>> = (0..400_usize)
            .map(|at| vec![at as u8; [0, 1, 7, 1_000, BLOCK_BYTES - 4, 3 * BLOCK_BYTES][at % 6]])
            .collect();
        let mut most = 0;
        for round in 0..3 {
            let mut writer = file.writer();
            records.iter().for_each(|record| writer.push(record).expect("written"));
            let run = Rc::new(writer.finish().expect("finished"));
            assert_eq!(run.records(), 400);
            let mut record = Vec::new();
            for _ in 0..2 {
                let mut reader = run.reader();
                for expected in &records {
                    reader.next(&mut record).expect("read");
                    assert!(record == *expected, "round {round}");
                }
            }
            most = most.max(file.used_blocks());
            drop(run);
            assert_eq!(file.used_blocks(), 0);
        }
        assert_eq!(file.blocks.get() as usize, most, "no more blocks than one round needs");
        let names = os.disk().list(&folder).expect("listed");
        assert!(names.iter().all(|entry| !entry.name.starts_with(FILE_PREFIX)), "{names:?}");
        instance.shutdown();
        for entry in os.disk().list(&folder).expect("listed") {
            drop(os.disk().remove(&folder.join(entry.name)));
        }
        drop(os.disk().remove_dir(&folder));
    }
}
