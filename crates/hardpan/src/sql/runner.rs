//! Runs scripts line by line, as sqlcmd does: text is collected in a batch, GO sends it, directives are executed at once.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::{OpenOptions, Os, WriteMode};
use tsql::{GoLine, ScriptPlace};

use super::arguments::Arguments;
use super::backend::{Backend, BatchEnd};
use super::directives::{self, Connect, Directive};
use super::interrupts::{Activity, Interrupts, STATUS_INTERRUPTED};
use super::printer::{Layout, Printer};
use super::variables::Variables;

/// The greatest depth of nested `:r` files: a deeper one is a cycle.
const READ_DEPTH_MAX: usize = 32;
/// Status of EXIT(query) whose query gives no row (-100 in sqlcmd), or no number (-102).
const STATUS_NO_ROW: u8 = 156;
const STATUS_NO_NUMBER: u8 = 154;

/// May the script continue?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    Stop,
}

/// Runs scripts against a back end.
pub(super) struct Runner {
    pub(super) os: Os,
    pub(super) backend: Box<dyn Backend>,
    pub(super) arguments: Arguments,
    pub(super) layout: Layout,
    pub(super) variables: Variables,
    pub(super) interrupts: Interrupts,
    pub(super) is_interactive: bool,
    pub(super) status: u8,
    stop_on_error: bool,
    /// The text since the last GO, and the lexical state at its end.
    batch: String,
    place: ScriptPlace,
    /// The line where an open comment or string began.
    opened: String,
    out: Output,
    /// Files being read, the innermost last.
    reading: Vec<PathBuf>,
}

/// The target of results.
enum Output {
    Stdout,
    Stderr,
    File(FileOutput),
}

/// A file that is written sequentially.
struct FileOutput {
    file: Arc<dyn os::File>,
    length: u64,
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write_at(bytes, self.length, WriteMode::Cached)?;
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn writer(&mut self) -> Box<dyn Write + '_> {
        match self {
            Output::Stdout => Box::new(std::io::stdout().lock()),
            Output::Stderr => Box::new(std::io::stderr().lock()),
            Output::File(file) => Box::new(file),
        }
    }
}

impl Runner {
    pub(super) fn new(
        os: &Os,
        backend: Box<dyn Backend>,
        arguments: &Arguments,
        interrupts: Interrupts,
    ) -> Result<Runner, String> {
        let mut variables = Variables::default();
        for argument in &arguments.variable {
            variables.set_from_argument(argument)?;
        }
        Ok(Runner {
            os: os.clone(),
            backend,
            layout: arguments.layout(),
            variables,
            interrupts,
            is_interactive: false,
            status: 0,
            stop_on_error: arguments.stop_on_error,
            arguments: arguments.clone(),
            batch: String::new(),
            place: ScriptPlace::default(),
            opened: String::new(),
            out: Output::Stdout,
            reading: Vec::new(),
        })
    }

    /// Runs a whole script.
    pub(super) fn script(&mut self, name: &str, text: &str) -> Next {
        match self.lines(name, text) {
            Next::Line => self.finish(name),
            Next::Stop => Next::Stop,
        }
    }

    /// Runs a script from a file. Errors when it cannot be read.
    pub(super) fn file(&mut self, path: &Path) -> Result<Next, String> {
        let text = crate::files::read_text(&self.os, path)?;
        self.reading.push(path.to_path_buf());
        let next = self.script(&path.display().to_string(), &text);
        self.reading.pop();
        Ok(next)
    }

    fn lines(&mut self, name: &str, text: &str) -> Next {
        for (line, number) in text.split_inclusive('\n').zip(1u32..) {
            if self.line_of(name, number, line) == Next::Stop {
                return Next::Stop;
            }
        }
        Next::Line
    }

    /// Processes one line of a script; an error stops the script.
    pub(super) fn line_of(&mut self, name: &str, number: u32, line: &str) -> Next {
        match self.line(&format!("{name}, line {number}"), line) {
            Ok(next) => next,
            Err(problem) => {
                eprintln!("hardpan sql: {name}, line {number}: {problem}");
                self.status = self.status.max(1);
                Next::Stop
            }
        }
    }

    /// Runs the collected text at the end of a script. An open comment or string has consumed the rest of the script: an error.
    pub(super) fn finish(&mut self, name: &str) -> Next {
        if let Some(open) = self.place.open() {
            eprintln!(
                "hardpan sql: {name} ends inside {open} that begins in {}; its last batch was not run",
                self.opened
            );
            self.reset();
            self.status = self.status.max(1);
            return Next::Stop;
        }
        let batch = std::mem::take(&mut self.batch);
        self.work(&batch, 1)
    }

    /// The text that waits for its GO.
    pub(super) fn waiting(&self) -> &str {
        &self.batch
    }

    /// Drops it.
    pub(super) fn reset(&mut self) {
        self.batch.clear();
        self.place = ScriptPlace::default();
    }

    /// Processes one line. `at` names its place.
    pub(super) fn line(&mut self, at: &str, line: &str) -> Result<Next, String> {
        let line = &self.expanded(line)?;
        if self.place.is_code() {
            if let Some(directive) = directives::parse(line) {
                self.batch.push('\n');
                return self.directive(directive?);
            }
            match ScriptPlace::go(line) {
                GoLine::Count(count) => {
                    let batch = std::mem::take(&mut self.batch);
                    return Ok(self.work(&batch, count));
                }
                GoLine::Wrong => {
                    return Err(format!("Incorrect syntax was encountered while parsing '{}'.", line.trim()));
                }
                GoLine::No => {}
            }
        }
        let was_open = self.place.open();
        self.place.advance(line);
        if self.place.open().is_some() && self.place.open() != was_open {
            self.opened = at.to_string();
        }
        self.batch.push_str(line);
        Ok(Next::Line)
    }

    /// The line with its variables replaced, except inside comments.
    fn expanded(&self, line: &str) -> Result<String, String> {
        let mut out = String::with_capacity(line.len());
        for (piece, is_comment) in self.place.pieces(line) {
            match is_comment {
                true => out.push_str(piece),
                false => out.push_str(&self.variables.expand(piece)?),
            }
        }
        Ok(out)
    }

    fn directive(&mut self, directive: Directive) -> Result<Next, String> {
        match directive {
            Directive::Quit => return Ok(Next::Stop),
            Directive::ExitWith(query) => {
                self.exit_with(&query);
                return Ok(Next::Stop);
            }
            Directive::Reset => self.reset(),
            Directive::Read(path) => return self.read(&path),
            Directive::SetVariable(name, Some(value)) => self.variables.set(&name, &value),
            Directive::SetVariable(name, None) => self.variables.unset(&name),
            Directive::StopOnError(stops) => self.stop_on_error = stops,
            Directive::Out(target) => self.out = self.output(&target)?,
            Directive::Connect(target) => self.connect(&target)?,
            Directive::ListVariables => self.print(&self.variables.listed()),
            Directive::List => self.print(self.batch.trim_start_matches('\n')),
            Directive::Help => self.print(directives::HELP),
        }
        Ok(Next::Line)
    }

    fn print(&self, text: &str) {
        drop(std::io::stdout().lock().write_all(text.as_bytes()));
    }

    /// `:r`: the file is searched in the working directory, as sqlcmd documents, then beside the file that contains the directive.
    fn read(&mut self, path: &str) -> Result<Next, String> {
        if self.reading.len() >= READ_DEPTH_MAX {
            return Err(format!("'{path}' is not read: {READ_DEPTH_MAX} files already read each other."));
        }
        let own = PathBuf::from(path);
        let beside = self.reading.last().and_then(|file| file.parent()).map(|folder| folder.join(path));
        let found = match beside {
            Some(beside) if !self.os.disk().exists(&own) && self.os.disk().exists(&beside) => beside,
            _ => own,
        };
        let text =
            crate::files::read_text(&self.os, &found).map_err(|problem| format!("':r {path}': {problem}"))?;
        self.reading.push(found.clone());
        let next = self.lines(&found.display().to_string(), &text);
        self.reading.pop();
        // The last line counts also without a line feed.
        if !self.batch.is_empty() && !self.batch.ends_with('\n') {
            self.batch.push('\n');
            self.place.advance("\n");
        }
        Ok(next)
    }

    fn output(&self, target: &str) -> Result<Output, String> {
        match target.to_lowercase().as_str() {
            "stdout" => Ok(Output::Stdout),
            "stderr" => Ok(Output::Stderr),
            _ => {
                let open = || -> Result<Output, os::IoError> {
                    let file = self.os.disk().open(Path::new(target), &OpenOptions::create())?;
                    file.set_len(0)?;
                    Ok(Output::File(FileOutput { file, length: 0 }))
                };
                open().map_err(|error| format!("':out {target}': {error}"))
            }
        }
    }

    fn connect(&mut self, target: &Connect) -> Result<(), String> {
        if self.arguments.server.is_none() {
            return Err(
                "':connect' needs a client of a server (-S): this one works on a data directory.".into()
            );
        }
        let mut arguments = self.arguments.clone();
        arguments.server = Some(target.server.clone());
        arguments.database = None;
        if let Some(user) = &target.user {
            arguments.user.clone_from(user);
        }
        if target.password.is_some() {
            arguments.password.clone_from(&target.password);
        }
        let backend = super::remote::Remote::connect(&self.os, &target.server, &arguments)?;
        std::mem::replace(&mut self.backend, Box::new(backend)).close();
        self.arguments = arguments;
        Ok(())
    }

    /// Runs one batch as often as requested.
    fn work(&mut self, text: &str, count: u64) -> Next {
        if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}').is_empty() {
            return Next::Line;
        }
        self.run(text, count).0
    }

    /// Runs it; also returns the first value of the last result set.
    fn run(&mut self, text: &str, count: u64) -> (Next, Option<types::Value>) {
        let server = self.backend.server_name();
        let mut out = std::io::BufWriter::new(self.out.writer());
        if count > 1 {
            // A closed pipe is no error of this program.
            drop(writeln!(out, "Beginning execution loop"));
        }
        let mut value = None;
        for _ in 0..count {
            if self.interrupts.count() > 0 && !self.is_interactive {
                self.status = STATUS_INTERRUPTED;
                return (Next::Stop, None);
            }
            let before = self.interrupts.count();
            let mut printer = Printer::new(&self.layout, &server, &mut out);
            let (backend, interrupts) = (&mut self.backend, &self.interrupts);
            let end = interrupts
                .during(Activity::Batch, || backend.batch(text, &mut printer, &|| interrupts.count()));
            let (has_failed, is_broken) = (printer.severity_max() > 10, printer.is_broken());
            value = printer.first_value();
            drop(out.flush());
            if end == BatchEnd::Closed || is_broken {
                self.status = 1;
                return (Next::Stop, None);
            }
            if self.interrupts.count() > before {
                eprintln!("hardpan sql: the batch was cancelled");
                if self.is_interactive {
                    return (Next::Line, None);
                }
                self.status = STATUS_INTERRUPTED;
                return (Next::Stop, None);
            }
            if has_failed {
                value = None;
                if self.stop_on_error {
                    self.status = 1;
                    return (Next::Stop, None);
                }
            }
        }
        if count > 1 {
            drop(writeln!(out, "Batch execution completed {count} times."));
        }
        drop(out.flush());
        (Next::Line, value)
    }

    /// EXIT(query): the status is the query's first value, of which the system keeps the lowest eight bits.
    fn exit_with(&mut self, query: &str) {
        let mut text = std::mem::take(&mut self.batch);
        text.push_str(query);
        if text.trim().is_empty() {
            return;
        }
        let (next, value) = self.run(&text, 1);
        if next == Next::Stop || query.is_empty() {
            return;
        }
        self.status = match value {
            None => STATUS_NO_ROW,
            Some(value) => {
                let number = value.as_i64().or_else(|| value.as_text()?.trim().parse().ok());
                number.map_or(STATUS_NO_NUMBER, |number| number.to_le_bytes()[0])
            }
        };
    }
}
