//! The files of one log: the first, whose header has the state of the log, and those that were added to it.
//!
//! The caller knows the members and opens the log with all of them; the header of each names its log and
//! its number. A log that has, or may have, more files than one says so in its first header before another file is used, so
//! that the first file is never taken for the whole log.

use std::path::Path;
use std::sync::Arc;

use os::{File, Latch, LatchRank, Os};
use rustc_hash::FxHashMap;

use crate::error::LogError;
use crate::file::{FIRST_LOG_FILE, LogFile, NewLogFile};
use crate::limits::LOG_BYTES_MIN;
use crate::lsn::Lsn;
use crate::options::{LogFileOptions, LogOptions};
use crate::vlf::Vlf;

/// The files of one log.
pub(crate) struct LogFiles {
    first: Arc<LogFile>,
    /// All of them, in the order of their numbers, in which their VLFs are used.
    all: Latch<Vec<Arc<LogFile>>>,
}

impl LogFiles {
    fn new(all: Vec<Arc<LogFile>>) -> LogFiles {
        assert!(all.first().is_some_and(|file| file.number == FIRST_LOG_FILE), "a log has a first file");
        assert!(all.is_sorted_by(|one, next| one.number < next.number), "files have numbers of their own");
        LogFiles { first: Arc::clone(&all[0]), all: Latch::new(LatchRank::Leaf, all) }
    }

    /// The opened files of one log, in any order; some may be missing. Errors: [`LogError::NotOurs`] without the first, or of several logs.
    pub(crate) fn of_all(files: Vec<LogFile>) -> Result<LogFiles, LogError> {
        let mut files: Vec<Arc<LogFile>> = files.into_iter().map(Arc::new).collect();
        files.sort_by_key(|file| file.number);
        let log_id = files.first().map(|file| file.header().log_id);
        for (at, file) in files.iter().enumerate() {
            let not_ours = |what: &str| LogError::NotOurs { file: file.path.clone(), what: what.to_owned() };
            match at {
                0 if file.number != FIRST_LOG_FILE => {
                    return Err(not_ours("the first file of its log is needed, too"));
                }
                0 => {}
                _ if Some(file.header().log_id) != log_id => return Err(not_ours("it is of another log")),
                _ if files[at - 1].number == file.number => {
                    return Err(not_ours("it is the same file once more"));
                }
                _ => {}
            }
        }
        Ok(LogFiles::new(files))
    }

    /// Makes all files of a new log. When one cannot be made, those before it stay: the caller removes them.
    pub(crate) fn create(os: &Os, options: &LogOptions) -> Result<LogFiles, LogError> {
        let layout = |size: u64| options.vlf_rule.layout(0, rounded(size));
        let new = NewLogFile {
            path: &options.path,
            number: FIRST_LOG_FILE,
            growth: options.growth,
            bytes_max: options.bytes_max,
            volatile: options.volatile,
            first_vlf: options.first_vlf,
            log_id: None,
            has_more_files: !options.more_files.is_empty(),
        };
        let first = LogFile::create(os, &new, &layout(options.size_bytes), Lsn::NULL)?;
        let header = first.header();
        let mut all = vec![Arc::new(first)];
        for file in &options.more_files {
            let new = NewLogFile {
                path: &file.path,
                number: file.number,
                growth: file.growth,
                bytes_max: file.bytes_max,
                log_id: Some(header.log_id),
                has_more_files: false,
                ..new
            };
            all.push(Arc::new(LogFile::create(os, &new, &layout(file.size_bytes), Lsn::NULL)?));
        }
        Ok(LogFiles::new(all))
    }

    /// Opens all files of a log; nothing is changed. Errors: those of the first; [`LogError::NotOurs`] when another is not of this log.
    pub(crate) fn open(os: &Os, options: &LogOptions, read_only: bool) -> Result<LogFiles, LogError> {
        let first = LogFile::open(os, &options.path, read_only)?;
        let header = first.header();
        if header.number != FIRST_LOG_FILE {
            let what = format!("it is file {} of a log, not the first", header.number);
            return Err(LogError::NotOurs { file: options.path.clone(), what });
        }
        first.set_growth(options.growth, options.bytes_max);
        let mut all = vec![Arc::new(first)];
        for file in &options.more_files {
            let one = LogFile::open(os, &file.path, read_only)?;
            let theirs = one.header();
            if theirs.log_id != header.log_id || theirs.number != file.number {
                let what = format!(
                    "it is file {} of log {:08x}, not file {} of log {:08x}",
                    theirs.number, theirs.log_id, file.number, header.log_id
                );
                return Err(LogError::NotOurs { file: file.path.clone(), what });
            }
            one.set_growth(file.growth, file.bytes_max);
            all.push(Arc::new(one));
        }
        Ok(LogFiles::new(all))
    }

    /// The first file.
    pub(crate) fn first(&self) -> &Arc<LogFile> {
        &self.first
    }

    /// All files, in the order of their numbers.
    pub(crate) fn all(&self) -> Vec<Arc<LogFile>> {
        self.all.lock().clone()
    }

    /// A file by its number; none once it has left the log.
    pub(crate) fn get(&self, number: u16) -> Option<Arc<LogFile>> {
        self.all.lock().iter().find(|file| file.number == number).cloned()
    }

    /// The handle for blocks of a file that has a VLF in use.
    pub(crate) fn blocks(&self, number: u16) -> Arc<dyn File> {
        if number == FIRST_LOG_FILE {
            return Arc::clone(&self.first.file);
        }
        assert!(number > FIRST_LOG_FILE, "files are numbered from {FIRST_LOG_FILE}");
        let file = self.get(number).expect("a file with a VLF in use does not leave the log");
        Arc::clone(&file.file)
    }

    /// A file joins the log.
    pub(crate) fn add(&self, file: Arc<LogFile>) {
        let mut all = self.all.lock();
        assert!(all.iter().all(|other| other.number != file.number), "each file has its own number");
        all.push(file);
        all.sort_by_key(|file| file.number);
        assert_eq!(all[0].number, FIRST_LOG_FILE, "the first file stays the first");
    }

    /// A file leaves the log.
    pub(crate) fn remove(&self, number: u16) {
        assert_ne!(number, FIRST_LOG_FILE, "a log keeps its first file");
        let mut all = self.all.lock();
        let before = all.len();
        all.retain(|file| file.number != number);
        assert_eq!(all.len() + 1, before, "a file that leaves was there");
    }

    /// The unit that blocks are padded to: the largest that a device of one of the files asks for.
    pub(crate) fn sector_bytes(&self) -> usize {
        self.all.lock().iter().map(|file| file.sector_bytes).max().unwrap_or(crate::limits::SECTOR_BYTES)
    }

    /// Damage at `offset` of the file with this number.
    pub(crate) fn corrupt(&self, number: u16, offset: u64, what: impl Into<String>) -> LogError {
        self.get(number).as_ref().unwrap_or(&self.first).corrupt(offset, what)
    }

    /// Every VLF, file after file, with the sequence number that its first block shows (0: none).
    pub(crate) fn read_vlfs(&self, os: &Os) -> Result<Vec<Vlf>, LogError> {
        let mut vlfs: Vec<Vlf> = Vec::new();
        let mut newest: FxHashMap<u32, (usize, u32)> = FxHashMap::default();
        for file in self.all() {
            for (mut vlf, use_shown) in file.read_vlfs(os)? {
                // Blocks of an earlier run that were never part of the log may have the same sequence number: those of the newest run count.
                if let Some((sequence, epoch)) = use_shown {
                    let known = newest.get(&sequence).copied();
                    if known.is_none_or(|(_, other)| other < epoch) {
                        vlf.sequence = sequence;
                        newest.insert(sequence, (vlfs.len(), epoch));
                        if let Some((index, _)) = known {
                            vlfs[index].sequence = 0;
                        }
                    }
                }
                vlfs.push(vlf);
            }
        }
        assert!(vlfs.len() >= newest.len(), "each sequence number is that of one VLF");
        Ok(vlfs)
    }
}

/// The size that a log file of `size_bytes` is made with.
pub(crate) fn rounded(size_bytes: u64) -> u64 {
    let bytes = size_bytes.max(LOG_BYTES_MIN).next_multiple_of(64 * 1024);
    assert!(bytes >= size_bytes, "a file has what was asked for");
    bytes
}

/// Makes a file that is to join an existing log: formatted, durable, not yet used.
pub(crate) fn create_another(
    os: &Os,
    first: &LogFile,
    file: &LogFileOptions,
    layout: &[(u64, u64)],
    create_lsn: Lsn,
) -> Result<LogFile, LogError> {
    let header = first.header();
    assert!(file.number > FIRST_LOG_FILE, "a log has one first file");
    let new = NewLogFile {
        path: Path::new(&file.path),
        number: file.number,
        growth: file.growth,
        bytes_max: file.bytes_max,
        volatile: header.volatile,
        first_vlf: header.first_vlf,
        log_id: Some(header.log_id),
        has_more_files: false,
    };
    LogFile::create(os, &new, layout, create_lsn)
}
