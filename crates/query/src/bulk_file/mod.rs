//! Bulk load from a file: its rows as values of a table's columns, its errors counted (MAXERRORS) and written out (ERRORFILE).

mod fields;
mod format_file;
mod options;
mod source;
mod text_value;
mod xml_format_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Instance, TableDef};
use os::{File, IoErrorKind, OpenOptions, WriteMode};
use plan_ir::row::Row;
use tsql::ast::Ident;
use types::{ConvertContext, SqlError, SqlType, Value};

use crate::bulk::BulkRows;
use fields::{FieldShape, RowFault, RowReader};
use format_file::FormatField;
use options::{Encoding, Terminator};
use source::ByteSource;
use text_value::{FieldFault, text_value};

pub use options::{FileOptions, file_options, literal_text};

/// The longest format file.
const FORMAT_BYTES_MAX: u64 = 1 << 20;

/// Where a field goes.
struct Target {
    /// Its place in the rows of the load; `None`: it is passed over.
    place: Option<usize>,
    sql_type: SqlType,
    name: String,
}

/// The rows of a file.
pub struct FileRows {
    reader: RowReader,
    path: PathBuf,
    targets: Vec<Target>,
    /// The columns into which the rows go.
    columns: Vec<Ident>,
    encoding: Encoding,
    context: ConvertContext,
    first_row: u64,
    last_row: u64,
    batch_rows: u64,
    left_in_batch: u64,
    /// The number of the present row, from 1.
    row_number: u64,
    has_ended: bool,
    errors_max: u64,
    errors: u64,
    /// What was wrong with rows that were left out, and was not told yet.
    messages: Vec<SqlError>,
    error_file: Option<ErrorFile>,
}

/// Opens a file for a load into a table.
///
/// # Errors
/// 4860 when it is not there, 4861 when it cannot be opened or the error file is there already, 5105 and 5133 for paths outside the allowed folders;
/// those of a format file.
pub fn open_bulk_file(
    written: &str,
    options: &FileOptions,
    table: &TableDef,
    instance: &Instance,
    context: ConvertContext,
) -> Result<FileRows, SqlError> {
    let mut options = options.clone();
    let format = match &options.format_file {
        Some(name) => Some(read_format_file(name, &mut options.encoding, instance)?),
        None => None,
    };
    let (targets, columns) = targets_of(table, format.as_deref(), options.format_file.as_deref())?;
    let shapes = shapes_of(&targets, format.as_deref(), &options);
    let path = instance.resolve_path(written)?;
    let source = ByteSource::open(instance.os().disk(), &path, options.encoding)
        .map_err(|error| not_opened(written, &error))?;
    let error_file = match &options.error_file {
        Some(name) => Some(ErrorFile::create(name, instance)?),
        None => None,
    };
    Ok(FileRows {
        reader: RowReader::new(source, shapes, &options),
        path,
        targets,
        columns,
        encoding: options.encoding,
        context,
        first_row: options.first_row,
        last_row: options.last_row,
        batch_rows: options.batch_rows.unwrap_or(u64::MAX),
        left_in_batch: 0,
        row_number: 0,
        has_ended: false,
        errors_max: options.errors_max,
        errors: 0,
        messages: Vec::new(),
        error_file,
    })
}

fn not_opened(written: &str, error: &os::IoError) -> SqlError {
    match error.kind {
        IoErrorKind::NotFound | IoErrorKind::Permission => SqlError::new(4860, &[&written]),
        _ => SqlError::new(4861, &[&written, error]),
    }
}

/// The fields of a format file; those of Unicode text make the file one of UTF-16.
fn read_format_file(
    written: &str,
    encoding: &mut Encoding,
    instance: &Instance,
) -> Result<Vec<FormatField>, SqlError> {
    let disk = instance.os().disk();
    let unreadable = |error: os::IoError| match error.kind {
        IoErrorKind::NotFound | IoErrorKind::Permission => SqlError::new(4860, &[&written]),
        _ => SqlError::new(4862, &[&written, &error]),
    };
    let path = instance.resolve_path(written)?;
    let options = OpenOptions { no_links: true, ..OpenOptions::read_only() };
    let file = disk.open(&path, &options).map_err(unreadable)?;
    let length = file.len().map_err(unreadable)?;
    if length > FORMAT_BYTES_MAX {
        return Err(SqlError::new(4822, &[&written]));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&bytes);
    let is_xml = text.trim_start_matches(|c: char| c == '\u{FEFF}' || c.is_whitespace()).starts_with('<');
    let fields = match is_xml {
        true => xml_format_file::xml_fields(written, &text)?,
        false => format_file::format_fields(written, &text)?,
    };
    let wide = fields.iter().filter(|field| field.is_wide).count();
    match wide {
        0 => {}
        all if all == fields.len() => *encoding = Encoding::Wide,
        _ => return Err(crate::errors::unsupported("a format file with SQLCHAR and SQLNCHAR")),
    }
    Ok(fields)
}

/// Where each field goes, and the columns into which something goes. Without a format file the fields are the columns of the table; what stands for
/// computed and rowversion columns is passed over.
fn targets_of(
    table: &TableDef,
    format: Option<&[FormatField]>,
    name: Option<&str>,
) -> Result<(Vec<Target>, Vec<Ident>), SqlError> {
    let numbers: Vec<usize> = match format {
        Some(fields) => fields.iter().map(|field| field.column).collect(),
        None => (1..=table.columns.len()).collect(),
    };
    let (mut targets, mut columns) = (Vec::new(), Vec::new());
    for (at, number) in numbers.iter().enumerate() {
        if *number > table.columns.len() || (*number > 0 && numbers[..at].contains(number)) {
            return Err(SqlError::new(4823, &[&name.unwrap_or_default()]));
        }
        let column = number.checked_sub(1).map(|ordinal| &table.columns[ordinal]);
        let filled =
            column.filter(|column| column.computed.is_none() && column.sql_type != SqlType::RowVersion);
        let place = filled.map(|column| {
            columns.push(Ident { value: column.name.to_string(), ..Ident::default() });
            columns.len() - 1
        });
        targets.push(Target {
            place,
            sql_type: column.map_or(SqlType::VARCHAR_MAX, |column| column.sql_type),
            name: column.map_or_else(String::new, |column| column.name.to_string()),
        });
    }
    Ok((targets, columns))
}

fn shapes_of(targets: &[Target], format: Option<&[FormatField]>, options: &FileOptions) -> Vec<FieldShape> {
    let end_of = |at: usize| -> Terminator {
        match format {
            Some(fields) => fields[at].end.clone(),
            None if at + 1 == targets.len() => options.row.clone(),
            None => options.field.clone(),
        }
    };
    let shape = |(at, target): (usize, &Target)| FieldShape {
        end: end_of(at),
        is_large: target.place.is_none() || target.sql_type.is_large_object(),
    };
    targets.iter().enumerate().map(shape).collect()
}

impl FileRows {
    /// The columns into which the rows go.
    pub fn columns(&self) -> &[Ident] {
        &self.columns
    }

    /// The next rows, as many as BATCHSIZE says, are a load of their own.
    pub fn begin_batch(&mut self) {
        self.left_in_batch = self.batch_rows;
    }

    /// Is the file read to its end?
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// What was wrong with the rows that were left out.
    pub fn take_messages(&mut self) -> Vec<SqlError> {
        std::mem::take(&mut self.messages)
    }

    /// An error that ends the load.
    fn fault(&self, fault: RowFault) -> SqlError {
        let row = self.row_number + 1;
        let cause = match fault {
            RowFault::Failed(error) => return error,
            RowFault::EndsEarly => SqlError::new(4832, &[]),
            RowFault::TooLong(column) => SqlError::new(4866, &[&row, &column]),
            RowFault::Csv(column) => SqlError::new(4879, &[&self.path.display(), &row, &column]),
        };
        provider_failed(cause)
    }

    /// The values of the present row; `None`: it is left out.
    fn values(&mut self, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        row.resize(self.columns.len(), Value::Null);
        for (at, target) in self.targets.iter().enumerate() {
            let field = self.reader.fields()[at];
            let bytes = self.reader.bytes(field);
            let (Some(place), false) = (target.place, bytes.is_empty() && !field.is_quoted) else { continue };
            // An empty text, as bcp writes it.
            let bytes = if bytes == b"\0" && target.sql_type.is_character() { &[] } else { bytes };
            match text_value(bytes, &target.sql_type, self.encoding, &self.context) {
                Ok(value) => row[place] = value,
                Err(fault) => {
                    let number = match fault {
                        FieldFault::Type => 4864,
                        FieldFault::Truncation => 4863,
                        FieldFault::Overflow => 4867,
                    };
                    self.messages.push(SqlError::new(number, &[&self.row_number, &(at + 1), &target.name]));
                    self.leave_out()?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Counts a row that is left out: 4865 when that is one too many.
    fn leave_out(&mut self) -> Result<(), SqlError> {
        self.errors += 1;
        if let Some(file) = &mut self.error_file {
            file.add(self.reader.raw())?;
        }
        if self.errors > self.errors_max {
            return Err(provider_failed(SqlError::new(4865, &[&self.errors_max])));
        }
        Ok(())
    }
}

/// The errors that follow one that ends a load.
fn provider_failed(cause: SqlError) -> SqlError {
    SqlError::new(7330, &[]).after(SqlError::new(7399, &[]).after(cause))
}

impl BulkRows for FileRows {
    fn next(&mut self, row: &mut Row) -> Result<bool, SqlError> {
        while self.left_in_batch > 0 && self.row_number < self.last_row {
            match self.reader.next_row() {
                Ok(true) => self.row_number += 1,
                Ok(false) => {
                    self.has_ended = true;
                    return Ok(false);
                }
                Err(fault) => return Err(self.fault(fault)),
            }
            if self.row_number < self.first_row {
                continue;
            }
            self.left_in_batch -= 1;
            if self.values(row)? {
                return Ok(true);
            }
        }
        self.has_ended |= self.row_number >= self.last_row;
        Ok(false)
    }
}

/// ERRORFILE: the rows that were left out, as they are.
struct ErrorFile {
    file: Arc<dyn File>,
    bytes: u64,
}

impl ErrorFile {
    /// Error 4861 when it is there already.
    fn create(written: &str, instance: &Instance) -> Result<ErrorFile, SqlError> {
        let path = instance.resolve_path(written)?;
        let file = create_new(instance.os().disk(), &path)
            .map_err(|error| SqlError::new(4861, &[&written, &error]))?;
        Ok(ErrorFile { file, bytes: 0 })
    }

    fn add(&mut self, row: &[u8]) -> Result<(), SqlError> {
        let written = self.file.write_at(row, self.bytes, WriteMode::Cached);
        written.map_err(|error| SqlError::new(4861, &[&self.file.path().display(), &error]))?;
        self.bytes += row.len() as u64;
        Ok(())
    }
}

fn create_new(disk: &dyn os::Disk, path: &Path) -> Result<Arc<dyn File>, os::IoError> {
    disk.open(path, &OpenOptions { no_links: true, ..OpenOptions::create_new() })
}
