//! The instance's list of databases as rows of master's sys.sysdbreg, with their options and files as JSON.
//!
//! Files below the data directory are stored relative to it: a directory that was moved, copied or started from elsewhere finds its own files,
//! never those at its former place.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use types::{DateTime, Value};

use crate::catalog::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::{SqlResult, StorageError};
use crate::options::{DatabaseOptions, DelayedDurability, RecoveryModel};

/// The phase of a database. CREATE and DROP first write what they will do; after a crash in between the row tells the next start what to
/// clean up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its files are being created: the next start removes them.
    Creating = 0,
    /// It exists.
    Present = 1,
    /// Its files are being removed: the next start finishes that.
    Dropping = 2,
    /// It exists and must not be opened.
    Offline = 3,
}

/// The phase of a file besides the first of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePhase {
    /// It belongs to the database.
    Member = 0,
    /// It is being created: the next start removes it.
    Joining = 1,
    /// It is being removed: the next start finishes that.
    Leaving = 2,
    /// It is the persisted log buffer, with log that the other files lack.
    Buffer = 3,
}

/// A log file in the instance's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseLogFile {
    /// `file_id`; that of the first is [`log::FIRST_LOG_FILE`].
    pub number: u16,
    /// Whether it belongs to the log.
    pub phase: FilePhase,
    /// Its path.
    pub path: PathBuf,
    /// Its logical name.
    pub name: String,
    /// FILEGROWTH.
    pub growth: log::Growth,
    /// MAXSIZE, bytes.
    pub bytes_max: u64,
    /// SIZE for the creation of tempdb's log file; none: the server's default, or it is no file of tempdb.
    pub size_bytes: Option<u64>,
}

/// A data file in the instance's list. Data and log files of a database share one numbering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseDataFile {
    /// The file number in its pages' addresses.
    pub number: u16,
    /// The number in views. It differs from `number` in databases that were created with several data files before the two became one.
    pub file_id: u16,
    /// Whether it belongs to the database.
    pub phase: FilePhase,
    /// Its path.
    pub path: PathBuf,
    /// The sizes for the creation of a file of tempdb; none elsewhere, where the file itself has them.
    pub shape: Option<DataFileShape>,
}

/// The recorded sizes of a data file of tempdb, which each start creates anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFileShape {
    /// Its logical name.
    pub name: String,
    /// SIZE, bytes.
    pub size_bytes: u64,
    /// FILEGROWTH; none: automatic.
    pub growth: Option<log::Growth>,
    /// MAXSIZE, bytes; 0 for none.
    pub bytes_max: u64,
}

impl DatabaseDataFile {
    /// The member with this number.
    pub(crate) fn new(number: u16, path: PathBuf) -> DatabaseDataFile {
        DatabaseDataFile { number, file_id: number, phase: FilePhase::Member, path, shape: None }
    }

    fn json(&self, noted: &dyn Fn(&Path) -> String) -> Json {
        let shape = self.shape.as_ref().map(|shape| {
            json!({
                "name": shape.name,
                "size_bytes": shape.size_bytes,
                "growth": shape.growth.map(growth_json),
                "bytes_max": shape.bytes_max,
            })
        });
        json!({
            "number": self.number,
            "file_id": self.file_id,
            "phase": self.phase as u8,
            "path": noted(&self.path),
            "shape": shape,
        })
    }

    /// The entry at this place of the list. An older format has only paths, and the place is the number.
    fn from_json(at: usize, json: &Json, data_dir: &Path) -> Option<DatabaseDataFile> {
        if let Some(path) = json.as_str() {
            let number = u16::try_from(at + 1).ok()?;
            let file = DatabaseDataFile::new(number, data_dir.join(path));
            return Some(DatabaseDataFile {
                file_id: number + u16::from(number >= log::FIRST_LOG_FILE),
                ..file
            });
        }
        let short = |name: &str| u16::try_from(json[name].as_u64()?).ok();
        let shape = match &json["shape"] {
            Json::Null => None,
            shape => Some(DataFileShape {
                name: shape["name"].as_str()?.to_owned(),
                size_bytes: shape["size_bytes"].as_u64()?,
                growth: match &shape["growth"] {
                    Json::Null => None,
                    growth => Some(growth_from_json(growth)?),
                },
                bytes_max: shape["bytes_max"].as_u64()?,
            }),
        };
        Some(DatabaseDataFile {
            number: short("number")?,
            file_id: short("file_id")?,
            phase: FilePhase::from_number(json["phase"].as_u64()?)?,
            path: data_dir.join(json["path"].as_str()?),
            shape,
        })
    }
}

impl FilePhase {
    fn from_number(number: u64) -> Option<FilePhase> {
        [FilePhase::Member, FilePhase::Joining, FilePhase::Leaving, FilePhase::Buffer]
            .into_iter()
            .find(|phase| *phase as u64 == number)
    }
}

impl DatabaseLogFile {
    fn json(&self, noted: &dyn Fn(&Path) -> String) -> Json {
        json!({
            "number": self.number,
            "phase": self.phase as u8,
            "path": noted(&self.path),
            "name": self.name,
            "growth": growth_json(self.growth),
            "bytes_max": self.bytes_max,
            "size_bytes": self.size_bytes,
        })
    }

    fn from_json(json: &Json, data_dir: &Path) -> Option<DatabaseLogFile> {
        Some(DatabaseLogFile {
            number: u16::try_from(json["number"].as_u64()?).ok()?,
            phase: FilePhase::from_number(json["phase"].as_u64()?)?,
            path: data_dir.join(json["path"].as_str()?),
            name: json["name"].as_str()?.to_owned(),
            growth: growth_from_json(&json["growth"])?,
            bytes_max: json["bytes_max"].as_u64()?,
            size_bytes: json["size_bytes"].as_u64(),
        })
    }
}

fn growth_json(growth: log::Growth) -> Json {
    match growth {
        log::Growth::None => json!({ "none": true }),
        log::Growth::Bytes(bytes) => json!({ "bytes": bytes }),
        log::Growth::Percent(percent) => json!({ "percent": percent }),
    }
}

fn growth_from_json(json: &Json) -> Option<log::Growth> {
    Some(match (json["bytes"].as_u64(), json["percent"].as_u64()) {
        (Some(bytes), _) => log::Growth::Bytes(bytes),
        (_, Some(percent)) => log::Growth::Percent(u32::try_from(percent).ok()?),
        _ => log::Growth::None,
    })
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) number: u16,
    pub(crate) name: String,
    pub(crate) phase: Phase,
    pub(crate) created: DateTime,
    pub(crate) options: DatabaseOptions,
    /// Data files in order of their numbers; there is a first one.
    pub(crate) data_files: Vec<DatabaseDataFile>,
    /// Log files in order of their numbers; there is a first one.
    pub(crate) log_files: Vec<DatabaseLogFile>,
}

impl Entry {
    fn row(&self, data_dir: &Path) -> Vec<Value> {
        vec![
            Value::Int(i32::from(self.number)),
            Value::nvarchar(&self.name),
            Value::TinyInt(self.phase as u8),
            Value::DateTime(self.created),
            Value::nvarchar(&options_json(&self.options).to_string()),
            Value::nvarchar(&self.files_json(data_dir).to_string()),
        ]
    }

    fn files_json(&self, data_dir: &Path) -> Json {
        let noted = |path: &Path| path.strip_prefix(data_dir).unwrap_or(path).to_string_lossy().into_owned();
        let data: Vec<Json> = self.data_files.iter().map(|file| file.json(&noted)).collect();
        let (first, more) = self.log_files.split_first().expect("a database has a log file");
        assert_eq!((first.number, first.phase), (log::FIRST_LOG_FILE, FilePhase::Member));
        let more: Vec<Json> = more.iter().map(|file| file.json(&noted)).collect();
        json!({
            "data": data,
            "log": noted(&first.path),
            "log_name": first.name,
            "log_growth": growth_json(first.growth),
            "log_bytes_max": first.bytes_max,
            "log_size_bytes": first.size_bytes,
            "more_logs": more,
        })
    }

    /// From a row; none when it is damaged.
    fn from_row(row: &[Value], data_dir: &Path) -> Option<Entry> {
        let text = |at: usize| row.get(at).and_then(Value::as_text);
        let number = |at: usize| row.get(at).and_then(Value::as_i64);
        let created = match row.get(3)? {
            Value::DateTime(created) => *created,
            _ => return None,
        };
        let files: Json = serde_json::from_str(&text(5)?).ok()?;
        let data = files["data"].as_array()?.iter().enumerate();
        let data = data.map(|(at, file)| DatabaseDataFile::from_json(at, file, data_dir));
        let first = DatabaseLogFile {
            number: log::FIRST_LOG_FILE,
            phase: FilePhase::Member,
            path: data_dir.join(files["log"].as_str()?),
            name: files["log_name"].as_str().unwrap_or("log").to_string(),
            growth: growth_from_json(&files["log_growth"])?,
            bytes_max: files["log_bytes_max"].as_u64()?,
            size_bytes: files["log_size_bytes"].as_u64(),
        };
        let no_more = Vec::new();
        let more = files["more_logs"].as_array().unwrap_or(&no_more);
        let more = more.iter().map(|file| DatabaseLogFile::from_json(file, data_dir));
        Some(Entry {
            number: u16::try_from(number(0)?).ok()?,
            name: text(1)?,
            phase: [Phase::Creating, Phase::Present, Phase::Dropping, Phase::Offline]
                .into_iter()
                .find(|p| *p as i64 == number(2).unwrap_or(-1))?,
            created,
            options: options_from_json(&serde_json::from_str(&text(4)?).ok()?),
            data_files: data.collect::<Option<Vec<_>>>()?,
            log_files: std::iter::once(Some(first)).chain(more).collect::<Option<Vec<_>>>()?,
        })
    }

    /// Its persisted log buffer.
    pub(crate) fn buffer(&self) -> Option<&DatabaseLogFile> {
        self.log_files.iter().find(|file| file.phase == FilePhase::Buffer)
    }

    /// Every file it has.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self.data_files.iter().map(|file| file.path.clone()).collect();
        all.extend(all.first().map(|first| pages::doublewrite_path(first)));
        all.extend(self.log_files.iter().map(|file| file.path.clone()));
        all
    }
}

fn options_json(options: &DatabaseOptions) -> Json {
    let switches: serde_json::Map<String, Json> =
        options.switches.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    json!({
        "delayed_durability": options.delayed_durability as u8,
        "delayed_flush": options.delayed_flush.to_raw(),
        "max_delay_ns": options.loss_bounds.delay_ns_max,
        "max_loss_bytes": options.loss_bounds.bytes_max,
        "log_limits": options.log_limits as u8,
        "vlf_rule": options.vlf_rule as u8,
        "recovery_model": options.recovery_model.number(),
        "compatibility_level": options.compatibility_level,
        "read_only": options.read_only,
        "user_access": options.user_access,
        "target_recovery_seconds": options.target_recovery_seconds,
        "switches": switches,
    })
}

fn options_from_json(json: &Json) -> DatabaseOptions {
    let byte = |name: &str| json[name].as_u64().and_then(|n| u8::try_from(n).ok());
    let mut options = DatabaseOptions {
        read_only: json["read_only"].as_bool().unwrap_or(false),
        ..DatabaseOptions::default()
    };
    options.delayed_durability = byte("delayed_durability")
        .and_then(DelayedDurability::from_number)
        .unwrap_or(DelayedDurability::Disabled);
    options.delayed_flush = log::DelayedFlushPolicy::from_raw(json["delayed_flush"].as_u64().unwrap_or(0));
    options.loss_bounds = log::LossBounds {
        delay_ns_max: json["max_delay_ns"].as_u64(),
        bytes_max: json["max_loss_bytes"].as_u64(),
    };
    options.log_limits = byte("log_limits").and_then(log::LogLimitsProfile::from_number).unwrap_or_default();
    options.vlf_rule = byte("vlf_rule").and_then(log::VlfRule::from_number).unwrap_or_default();
    options.recovery_model =
        byte("recovery_model").and_then(RecoveryModel::from_number).unwrap_or(RecoveryModel::Simple);
    options.compatibility_level = byte("compatibility_level").unwrap_or(160);
    options.user_access = byte("user_access").unwrap_or(0);
    let target = json["target_recovery_seconds"].as_u64().and_then(|seconds| u32::try_from(seconds).ok());
    options.target_recovery_seconds = target.unwrap_or(options.target_recovery_seconds);
    for (name, on) in json["switches"].as_object().into_iter().flatten() {
        options.switches.insert(name.clone(), on.as_bool().unwrap_or(false));
    }
    options
}

/// Writes an entry, new or changed, into master.
pub(crate) fn save(
    master: &std::sync::Arc<Database>,
    txn: &DbTransaction,
    entry: &Entry,
    data_dir: &Path,
) -> SqlResult<()> {
    remove(master, txn, entry.number)?;
    master.system_table(system_tables::DATABASES).insert(txn, &entry.row(data_dir))
}

/// Deletes an entry from master; it may be absent.
pub(crate) fn remove(master: &std::sync::Arc<Database>, txn: &DbTransaction, number: u16) -> SqlResult<()> {
    master.system_table(system_tables::DATABASES).delete_key(txn, &[Value::Int(i32::from(number))])?;
    Ok(())
}

/// All entries.
pub(crate) fn load(rows: &[Vec<Value>], data_dir: &Path) -> Result<Vec<Entry>, StorageError> {
    let read = |row: &Vec<Value>| {
        Entry::from_row(row, data_dir)
            .ok_or_else(|| StorageError::Catalog("master: a row of sys.sysdbreg is damaged".into()))
    };
    rows.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_file(number: u16, path: &str) -> DatabaseLogFile {
        let phase = if number == log::FIRST_LOG_FILE { FilePhase::Member } else { FilePhase::Leaving };
        let (path, name) = (path.into(), format!("log {number}"));
        let (growth, bytes_max) = (log::Growth::Percent(10), 1 << 30);
        DatabaseLogFile { number, phase, path, name, growth, bytes_max, size_bytes: Some(1 << 20) }
    }

    #[test]
    fn an_entry_survives_as_a_row() {
        let mut options = DatabaseOptions {
            delayed_durability: DelayedDurability::Forced,
            delayed_flush: log::DelayedFlushPolicy::Timed(7),
            loss_bounds: log::LossBounds { delay_ns_max: Some(10_000_000), bytes_max: Some(1 << 20) },
            log_limits: log::LogLimitsProfile::Sql2005X64,
            vlf_rule: log::VlfRule::Pre2014,
            read_only: true,
            target_recovery_seconds: 7_200,
            ..DatabaseOptions::default()
        };
        options.switches.insert("AUTO_CLOSE".into(), true);
        let shape = DataFileShape {
            name: "temp2".into(),
            size_bytes: 8 << 20,
            growth: Some(log::Growth::None),
            bytes_max: 0,
        };
        let second = DatabaseDataFile {
            phase: FilePhase::Joining,
            shape: Some(shape),
            ..DatabaseDataFile::new(3, "/d/b.ndf".into())
        };
        let entry = Entry {
            number: 7,
            name: "Sales [x]".into(),
            phase: Phase::Present,
            created: DateTime { days: 46_000, ticks: 9 },
            options,
            data_files: vec![DatabaseDataFile::new(1, "/d/a.mdf".into()), second],
            log_files: vec![log_file(2, "/d/a.ldf"), log_file(4, "/d/b.ldf")],
        };
        let elsewhere = Path::new("/elsewhere");
        assert_eq!(Entry::from_row(&entry.row(elsewhere), elsewhere), Some(entry.clone()));
        // Written in /d, read in /elsewhere: the files are searched where the directory is now.
        let moved = Entry::from_row(&entry.row(Path::new("/d")), elsewhere).expect("a whole row");
        let logs: Vec<&Path> = moved.log_files.iter().map(|file| file.path.as_path()).collect();
        assert_eq!(logs, [Path::new("/elsewhere/a.ldf"), Path::new("/elsewhere/b.ldf")]);
        let data: Vec<&Path> = moved.data_files.iter().map(|file| file.path.as_path()).collect();
        assert_eq!(data, [Path::new("/elsewhere/a.mdf"), Path::new("/elsewhere/b.ndf")]);
    }

    /// In the older format with only paths the second data file has number 2 in its pages' addresses, and is shown as file 3.
    #[test]
    fn data_files_of_before_they_had_numbers_are_read() {
        let read = |at: usize| DatabaseDataFile::from_json(at, &json!("x.ndf"), Path::new("/d"));
        let numbers = |at: usize| read(at).map(|file| (file.number, file.file_id, file.phase));
        assert_eq!(numbers(0), Some((1, 1, FilePhase::Member)));
        assert_eq!(numbers(1), Some((2, 3, FilePhase::Member)));
        assert_eq!(numbers(2), Some((3, 4, FilePhase::Member)));
    }

    #[test]
    fn a_damaged_row_is_refused() {
        assert!(load(&[vec![Value::Int(1)]], Path::new("/d")).is_err());
    }
}
