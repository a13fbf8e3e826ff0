//! DBCC SHRINKFILE and SHRINKDATABASE: selection of files, target sizes and messages.
//!
//! A log file shrinks by whole VLFs; the log moves to another VLF if the active one is in the way. In a data file, tables with pages at its end
//! are rebuilt nearer to its begin, unless TRUNCATEONLY is given; free pages at its end are released, unless NOTRUNCATE is given.

use std::sync::Arc;

use engine::{DataShrink, Database, ShrinkAim, ShrinkHeld, ShrunkFile};
use tsql::ast;
use types::{SqlError, SqlResult, Value};

use crate::commands::dbcc_check::argument;
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

const PAGE_BYTES: u64 = 8192;

/// A file of a database, as both commands need it.
struct File {
    file_id: i32,
    /// File number as in page addresses or in the log.
    number: u16,
    name: String,
    is_log: bool,
    /// The persisted log buffer: its size is fixed.
    is_buffer: bool,
    /// 8 KB pages.
    size_pages: u64,
}

impl Session {
    /// DBCC SHRINKFILE (name or number [, EMPTYFILE | megabytes [, NOTRUNCATE | TRUNCATEONLY]]).
    pub(crate) fn shrink_file(
        &mut self,
        dbcc: &ast::Dbcc,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        self.refuse_in_transaction("DBCC SHRINKFILE")?;
        says_little(dbcc)?;
        let arguments = dbcc.args.iter().map(argument).collect::<SqlResult<Vec<_>>>()?;
        let Some(which) = arguments.first().filter(|_| arguments.len() <= 3) else {
            return Err(SqlError::new(2526, &[]).into());
        };
        let database = self.database.clone();
        let file = named_file(&database, &self.instance, which)?;
        let (mut target, mut word) = (None, None);
        for argument in &arguments[1..] {
            match argument.as_i64() {
                Some(megabytes) if target.is_none() && word.is_none() => {
                    let megabytes = u64::try_from(megabytes).map_err(|_| SqlError::new(2560, &[&2]))?;
                    target = Some(megabytes << 20);
                }
                Some(_) => return Err(SqlError::new(2560, &[&2]).into()),
                None => word = Some(argument.as_text().unwrap_or_default().to_uppercase()),
            }
        }
        let aim = match (word.as_deref(), target) {
            (None | Some("NOTRUNCATE" | "TRUNCATEONLY"), Some(0) | None) => ShrinkAim::Created,
            (None | Some("NOTRUNCATE" | "TRUNCATEONLY"), Some(bytes)) => ShrinkAim::Bytes(bytes),
            (Some("EMPTYFILE"), None) => ShrinkAim::Empty,
            _ => return Err(SqlError::new(2560, &[&2]).into()),
        };
        let how = steps(aim, word.as_deref());
        let shrunk = self.shrink_one(&database, &file, how, sink)?;
        self.show_shrunk(&database, &[(file, shrunk)], sink)
    }

    /// DBCC SHRINKDATABASE (name or number [, percent of free space] [, NOTRUNCATE | TRUNCATEONLY]).
    pub(crate) fn shrink_database(
        &mut self,
        dbcc: &ast::Dbcc,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        self.refuse_in_transaction("DBCC SHRINKDATABASE")?;
        says_little(dbcc)?;
        let arguments = dbcc.args.iter().map(argument).collect::<SqlResult<Vec<_>>>()?;
        if arguments.is_empty() || arguments.len() > 3 {
            return Err(SqlError::new(2526, &[]).into());
        }
        let database = self.named_for_check(arguments.first())?;
        let (mut percent, mut word) = (0, None);
        for argument in &arguments[1..] {
            match argument.as_i64() {
                Some(number) => {
                    let given = u64::try_from(number).ok().filter(|percent| *percent < 100);
                    percent = given.ok_or_else(|| SqlError::new(2560, &[&2]))?;
                }
                None => match argument.as_text().unwrap_or_default().to_uppercase() {
                    known if ["TRUNCATEONLY", "NOTRUNCATE"].contains(&known.as_str()) => word = Some(known),
                    _ => return Err(SqlError::new(2560, &[&2]).into()),
                },
            }
        }
        let mut shrunk = Vec::new();
        for file in files_of(&database, &self.instance) {
            let used = match file.is_log {
                true => database.log().stats().used_bytes,
                false => database.used_pages(file.number)? * PAGE_BYTES,
            };
            let how = steps(ShrinkAim::CreatedOr(used * 100 / (100 - percent)), word.as_deref());
            if file.is_log && !how.cuts {
                continue;
            }
            let one = self.shrink_one(&database, &file, how, sink)?;
            if one.current_pages < file.size_pages {
                shrunk.push((file, one));
            }
        }
        self.show_shrunk(&database, &shrunk, sink)
    }

    fn shrink_one(
        &mut self,
        database: &Arc<Database>,
        file: &File,
        how: DataShrink,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<ShrunkFile> {
        if database.options().read_only {
            return Err(SqlError::new(7992, &[&database.name()]));
        }
        if !file.is_log {
            let timeout_ms = self.transactions.lock_timeout_ms();
            return self.instance.shrink_data_file(database, file.number, how, timeout_ms);
        }
        let aim = how.aim;
        if aim == ShrinkAim::Empty && file.file_id == i32::from(engine::FIRST_LOG_FILE) {
            return Err(SqlError::new(2555, &[&file.name]));
        }
        let shrunk = match file.is_buffer {
            false => self.instance.shrink_log_file(database, file.number, aim)?,
            true => {
                let (size, held) = (file.size_pages, Some(ShrinkHeld::LeastSize));
                ShrunkFile { current_pages: size, minimum_pages: size, used_pages: size, held }
            }
        };
        match shrunk.held {
            Some(ShrinkHeld::InUse) => sink.message(&SqlError::new(9008, &[&file.file_id, &file.name])),
            Some(ShrinkHeld::LeastSize) if matches!(aim, ShrinkAim::Bytes(_)) => {
                sink.message(&SqlError::new(9009, &[&file.file_id, &file.name]));
            }
            _ => {}
        }
        Ok(shrunk)
    }

    fn show_shrunk(
        &mut self,
        database: &Database,
        files: &[(File, ShrunkFile)],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let row = |(file, shrunk): &(File, ShrunkFile)| {
            let ShrunkFile { current_pages, minimum_pages, used_pages, .. } = shrunk;
            let (database, file) = (database.id(), file.file_id);
            format!("({database}, {file}, {current_pages}, {minimum_pages}, {used_pages}, {used_pages})")
        };
        let rows: Vec<String> = files.iter().map(row).collect();
        let source = match rows.is_empty() {
            true => "(SELECT 0, 0, 0, 0, 0, 0 WHERE 1 = 0)".to_owned(),
            false => format!("(VALUES {})", rows.join(", ")),
        };
        let text = format!(
            "SELECT DbId = CAST(s.a AS smallint), FileId = CAST(s.b AS int), CurrentSize = CAST(s.c AS int), \
             MinimumSize = CAST(s.d AS int), UsedPages = CAST(s.e AS int), EstimatedPages = CAST(s.f AS int) \
             FROM {source} AS s(a, b, c, d, e, f)"
        );
        self.show_rows_of(&text, sink)
    }
}

/// The steps that NOTRUNCATE and TRUNCATEONLY select. TRUNCATEONLY ignores the target size of a data file: it releases all free pages at the end.
fn steps(aim: ShrinkAim, word: Option<&str>) -> DataShrink {
    DataShrink { aim, moves: word != Some("TRUNCATEONLY"), cuts: word != Some("NOTRUNCATE") }
}

/// Accepts only WITH NO_INFOMSGS.
fn says_little(dbcc: &ast::Dbcc) -> SqlResult<bool> {
    if dbcc.options.iter().any(|option| !option.name.is("NO_INFOMSGS")) {
        return Err(SqlError::new(2526, &[]));
    }
    Ok(!dbcc.options.is_empty())
}

fn files_of(database: &Arc<Database>, instance: &Arc<engine::Instance>) -> Vec<File> {
    query::sysviews::database_files(instance, database)
        .into_iter()
        .map(|file| File {
            file_id: file.file_id,
            number: file.number,
            name: file.name,
            is_log: file.is_log,
            is_buffer: file.is_buffer,
            size_pages: file.size_pages,
        })
        .collect()
}

/// A file of a database by its logical name or number. Error 8985.
fn named_file(database: &Arc<Database>, instance: &Arc<engine::Instance>, which: &Value) -> SqlResult<File> {
    let (number, name) = (which.as_i64(), which.as_text().unwrap_or_default());
    let is_it = |file: &File| match number {
        Some(number) => i64::from(file.file_id) == number,
        None => types::Collation::DEFAULT.same_name(&file.name, &name),
    };
    let not_there = || {
        let shown = number.map_or(name.clone(), |number| number.to_string());
        SqlError::new(8985, &[&shown, &database.name()])
    };
    files_of(database, instance).into_iter().find(is_it).ok_or_else(not_there)
}
