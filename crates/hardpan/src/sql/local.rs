//! Batches in this process: it opens the data directory itself and needs no server.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Instance, InstanceOptions};
use os::Os;
use session::{
    ColumnDescription, Done, EnvironmentChange, Flow, LoginInfo, RequestEnd, ResultSink, Session,
    SessionShared,
};
use types::{SqlError, SqlType, Value};

use crate::files::absolute;

use super::arguments::Arguments;
use super::backend::{Backend, BatchEnd};
use super::printer::{PrintedColumn, Printer};

/// A session on an instance of this process.
pub(super) struct Local {
    instance: Arc<Instance>,
    session: Option<Session>,
}

impl Local {
    pub(super) fn open(os: &Os, arguments: &Arguments) -> Result<Local, String> {
        let mut options = InstanceOptions::new(absolute(&arguments.data));
        options.drives = parse_drives(&arguments.drive)?;
        options.allowed_paths = arguments.allow_path.iter().map(|folder| absolute(folder)).collect();
        // Log caches left by a dead server are used, as the next server would.
        options.log_cache_folder = crate::files::log_cache_folder(&arguments.log_cache);
        options.log_cache_is_only_taken = true;
        let instance = Instance::open(os, &options).map_err(|error| error.to_string())?;
        if let Some(rows) = arguments.rows_in_memory_test {
            instance.workspaces().keep_no_more_than(rows as usize);
        }
        let shared = SessionShared::new(instance.clone(), "hardpan", os.clock().utc_100ns().unsigned_abs());
        let login = LoginInfo {
            login_name: "sa".into(),
            program_name: "hardpan sql".into(),
            database: arguments.database.clone().unwrap_or_default(),
            ansi_defaults: true,
            ..LoginInfo::default()
        };
        let session = Session::new(&shared, login).map_err(|error| error.message.clone())?;
        Ok(Local { instance, session: Some(session) })
    }
}

/// `C=DIR` of `--drive`.
pub(crate) fn parse_drives(arguments: &[String]) -> Result<Vec<(char, PathBuf)>, String> {
    let parse = |argument: &String| {
        let (letter, folder) =
            argument.split_once('=').ok_or_else(|| format!("--drive wants LETTER=DIR, not '{argument}'"))?;
        let mut letters = letter.trim_end_matches(':').chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if letter.is_ascii_alphabetic() => {
                Ok((letter.to_ascii_uppercase(), absolute(folder.as_ref())))
            }
            _ => Err(format!("--drive wants one letter, not '{letter}'")),
        }
    };
    arguments.iter().map(parse).collect()
}

impl Backend for Local {
    fn batch(&mut self, text: &str, printer: &mut Printer, _interrupts: &dyn Fn() -> u32) -> BatchEnd {
        // Ctrl-C interrupts this thread's task; see `interrupts`.
        let Some(session) = &mut self.session else { return BatchEnd::Closed };
        match session.execute_batch(text, &mut PrintingSink(printer)) {
            RequestEnd::Finished | RequestEnd::Attention => BatchEnd::Next,
            RequestEnd::Close => BatchEnd::Closed,
        }
    }

    fn server_name(&self) -> String {
        "hardpan".into()
    }

    fn close(mut self: Box<Self>) {
        if let Some(session) = self.session.take() {
            session.close();
        }
        self.instance.shutdown();
    }
}

/// Prints the output of a session.
struct PrintingSink<'a, 'b>(&'a mut Printer<'b>);

impl ResultSink for PrintingSink<'_, '_> {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        self.0.columns(
            columns.iter().map(|c| PrintedColumn { name: c.name.clone(), sql_type: c.sql_type }).collect(),
        );
        self.flow()
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.0.row(row);
        self.flow()
    }
    fn message(&mut self, message: &SqlError) {
        self.0.message(message);
    }
    fn done(&mut self, done: Done) {
        self.0.done(done.row_count);
    }
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
    fn environment(&mut self, _change: EnvironmentChange) {}
}

impl PrintingSink<'_, '_> {
    fn flow(&self) -> Flow {
        if self.0.is_broken() { Flow::Stop } else { Flow::Continue }
    }
}
