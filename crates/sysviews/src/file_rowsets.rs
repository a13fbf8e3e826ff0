//! OPENROWSET(BULK 'file', SINGLE_...): a file of the allowed folders as one value.

use std::sync::Arc;

use engine::Database;
use os::{IoError, IoErrorKind, OpenOptions};
use plan_ir::row::Row;
use plan_ir::row_source::{Empty, RowSource};
use plan_ir::runtime::Runtime;
use plan_ir::view::SystemView;
use plan_ir::view::stream::StreamRequest;
use types::{ByteStr, SqlError, Value, WideStr};

type Opened = Result<Box<dyn RowSource>, SqlError>;

/// The longest value.
const VALUE_BYTES_MAX: u64 = 0x7FFF_FFFF;
/// While the value is made there are so many copies of the file.
const COPIES: usize = 2;
/// The mark at the begin of a file of UTF-16.
const BYTE_ORDER_MARK: [u8; 2] = [0xFF, 0xFE];

// Not to be called by name: a name has no spaces.
pub(super) static VIEWS: &[SystemView] = &[
    SystemView::streamed("OPENROWSET SINGLE_BLOB", "BulkColumn varbinary(max)", single_blob, &[])
        .with_parameters(1)
        .in_schema("dbo"),
    SystemView::streamed("OPENROWSET SINGLE_CLOB", "BulkColumn varchar(max)", single_clob, &[])
        .with_parameters(1)
        .in_schema("dbo"),
    SystemView::streamed("OPENROWSET SINGLE_NCLOB", "BulkColumn nvarchar(max)", single_nclob, &[])
        .with_parameters(1)
        .in_schema("dbo"),
];

fn single_blob(runtime: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    one_value(runtime, request, |bytes| Ok(Value::Binary(ByteStr::new(bytes))))
}

fn single_clob(runtime: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    one_value(runtime, request, |bytes| Ok(Value::Char(ByteStr::new(bytes))))
}

/// Error 4809 unless the file says that it is UTF-16.
fn single_nclob(runtime: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    one_value(runtime, request, |bytes| match bytes.strip_prefix(&BYTE_ORDER_MARK) {
        Some(text) => Ok(Value::NChar(WideStr::from_le_bytes(text))),
        None => Err(SqlError::new(4809, &[])),
    })
}

fn one_value(
    runtime: &Runtime<'_>,
    request: &StreamRequest<'_>,
    value_of: fn(&[u8]) -> Result<Value, SqlError>,
) -> Opened {
    let Some(written) = request.arguments.first().and_then(Value::as_text) else {
        return Ok(Box::new(Empty));
    };
    let failed = |error: IoError| match error.kind {
        IoErrorKind::NotFound | IoErrorKind::Permission => SqlError::new(4860, &[&written]),
        _ => SqlError::new(4861, &[&written, &error]),
    };
    let path = runtime.instance.resolve_path(&written)?;
    let options = OpenOptions { no_links: true, ..OpenOptions::read_only() };
    let file = runtime.instance.os().disk().open(&path, &options).map_err(failed)?;
    let length = file.len().map_err(failed)?;
    if length > VALUE_BYTES_MAX {
        return Err(SqlError::new(4861, &[&written, &"the file is longer than 2 GB"]));
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    os::memory::ask(length.saturating_mul(COPIES)).map_err(plan_ir::errors::out_of_memory)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(Box::new(One(Some(value_of(&bytes)?))))
}

/// One row of one value.
struct One(Option<Value>);

impl RowSource for One {
    fn next(&mut self, _: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        row.extend(self.0.take());
        Ok(!row.is_empty())
    }
}
