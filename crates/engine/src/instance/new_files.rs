//! New files: the checks of their clauses in CREATE and ALTER DATABASE, and the options for the log and the data files.

use std::path::PathBuf;

use log::{FIRST_LOG_FILE, Growth, LogFileOptions, LogOptions, VlfRule};
use pages::NewFile;
use types::{Collation, SqlError};

use crate::error::SqlResult;
use crate::registry::{DatabaseDataFile, DatabaseLogFile, FilePhase};

const PAGE_BYTES: u64 = pages::PAGE_BYTES as u64;
/// SIZE of a file is this at least (5174).
const FILE_BYTES_MIN: u64 = 512 * 1024;

/// A file clause of CREATE DATABASE.
#[derive(Clone, Debug, Default)]
pub struct NewDatabaseFile {
    /// NAME.
    pub logical_name: Option<String>,
    /// FILENAME as written.
    pub path: Option<String>,
    /// SIZE, bytes.
    pub size_bytes: Option<u64>,
    /// MAXSIZE, bytes; 0 is UNLIMITED.
    pub max_bytes: Option<u64>,
    /// FILEGROWTH.
    pub growth: Option<Growth>,
}

/// CREATE DATABASE.
#[derive(Clone, Debug, Default)]
pub struct CreateDatabaseOptions {
    /// Name.
    pub name: String,
    /// ON: data files, the primary first.
    pub data_files: Vec<NewDatabaseFile>,
    /// LOG ON: log files, the first first.
    pub log_files: Vec<NewDatabaseFile>,
}

/// The options to create or open the log of a database. `wanted`: the clauses of CREATE DATABASE, for the sizes of new files.
pub(super) fn log_options(
    files: &[DatabaseLogFile],
    wanted: &[NewDatabaseFile],
    database: &str,
    vlf_rule: VlfRule,
) -> LogOptions {
    let members: Vec<&DatabaseLogFile> =
        files.iter().filter(|file| file.phase == FilePhase::Member).collect();
    let (first, more) = members.split_first().expect("a database has a log file");
    assert_eq!(first.number, FIRST_LOG_FILE, "the first log file comes first");
    let size_of = |at: usize| wanted.get(at).and_then(|file| file.size_bytes).or(members[at].size_bytes);
    let mut options = LogOptions::new(&first.path, database);
    options.size_bytes = size_of(0).unwrap_or(default_log_bytes(first));
    options.growth = first.growth;
    options.bytes_max = first.bytes_max;
    options.vlf_rule = vlf_rule;
    let more = more.iter().enumerate();
    options.more_files = more.map(|(at, file)| member_options(file, size_of(at + 1))).collect();
    options
}

/// The size of a new log file without SIZE: the default, or its limit if that is less.
pub(super) fn default_log_bytes(file: &DatabaseLogFile) -> u64 {
    LogOptions::new("", "").size_bytes.min(file.bytes_max)
}

pub(super) fn member_options(file: &DatabaseLogFile, size_bytes: Option<u64>) -> LogFileOptions {
    LogFileOptions {
        number: file.number,
        path: file.path.clone(),
        size_bytes: size_bytes.unwrap_or(default_log_bytes(file)),
        growth: file.growth,
        bytes_max: file.bytes_max,
    }
}

/// The least number that no data or log file of the database has; the first two belong to the first data and the first log file.
pub(super) fn next_number(data_files: &[DatabaseDataFile], log_files: &[DatabaseLogFile]) -> u16 {
    let is_taken = |number: u16| {
        log_files.iter().any(|file| file.number == number)
            || data_files.iter().any(|file| file.number == number || file.file_id == number)
    };
    (FIRST_LOG_FILE + 1..u16::MAX).find(|number| !is_taken(*number)).expect("fewer files than numbers")
}

/// The data files that are members of their database.
pub(super) fn members(files: &[DatabaseDataFile]) -> impl Iterator<Item = &DatabaseDataFile> {
    files.iter().filter(|file| file.phase == FilePhase::Member)
}

/// Error 1828 when two files of a new database have one logical name.
pub(super) fn refuse_same_names<'a>(names: impl Iterator<Item = &'a str>) -> SqlResult<()> {
    let names: Vec<&str> = names.collect();
    let again = |(at, name): (usize, &&'a str)| names[..at].iter().any(|other| same(other, name));
    match names.iter().enumerate().find(|one| again(*one)) {
        Some((_, name)) => Err(SqlError::new(1828, &[name])),
        None => Ok(()),
    }
}

pub(super) fn same(a: &str, b: &str) -> bool {
    Collation::DEFAULT.same_name(a, b)
}

/// Sizes of a new file must fit each other: errors 5174, 5103 and 5169. `None`: nothing limits it.
pub(super) fn check_new_file(file: &NewDatabaseFile, limit: Option<u64>, name: &str) -> SqlResult<()> {
    if file.size_bytes.is_some_and(|bytes| bytes < FILE_BYTES_MIN) {
        return Err(SqlError::new(5174, &[]));
    }
    let limit = limit.unwrap_or(u64::MAX);
    if file.size_bytes.is_some_and(|size| size > limit) {
        return Err(SqlError::new(5103, &[&name]));
    }
    if matches!(file.growth, Some(Growth::Bytes(bytes)) if bytes > limit) {
        return Err(SqlError::new(5169, &[&name]));
    }
    Ok(())
}

/// Bytes as pages of a data file.
pub(super) fn pages_of(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX)
}

/// FILEGROWTH in the form of data files.
pub(super) fn data_growth(growth: Growth) -> pages::Growth {
    match growth {
        Growth::None => pages::Growth::Fixed,
        Growth::Bytes(bytes) => pages::Growth::Pages(pages_of(bytes)),
        Growth::Percent(percent) => pages::Growth::Percent(percent),
    }
}
/// MAXSIZE of a file, if given.
pub(super) fn data_limit(file: &NewDatabaseFile) -> Option<u64> {
    file.max_bytes.filter(|bytes| *bytes > 0)
}

/// A data file as requested by CREATE DATABASE and ADD FILE.
pub(super) fn new_data_file(
    file: &NewDatabaseFile,
    number: u16,
    path: PathBuf,
    logical_name: String,
) -> NewFile {
    assert!(number == 1 || number > FIRST_LOG_FILE, "number {FIRST_LOG_FILE} is the log's");
    let mut new = NewFile { number, ..NewFile::new(path, logical_name) };
    if let Some(bytes) = file.size_bytes {
        new.pages = pages_of(bytes).max(pages::FILE_PAGES_MIN);
    }
    if let Some(growth) = file.growth {
        new.growth = data_growth(growth);
    }
    new.max_pages = file.max_bytes.map_or(0, pages_of);
    new
}
