//! Remote procedure calls (0x03): procedures by number or name, their parameters, several calls in one message.

use types::{SqlType, Value};

use crate::error::ProtocolError;
use crate::limits::{RPC_CALLS_MAX, RPC_PARAMETERS_MAX};
use crate::login7::TdsVersion;
use crate::request::{Headers, put_headers, read_headers};
use crate::table_value;
pub use crate::table_value::Table;
use crate::type_info::TypeInfo;
use crate::wire::{Reader, put_b_varchar, put_us_varchar};

/// Procedures that have a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum ProcedureId {
    /// sp_cursor
    Cursor = 1,
    /// sp_cursoropen
    CursorOpen = 2,
    /// sp_cursorprepare
    CursorPrepare = 3,
    /// sp_cursorexecute
    CursorExecute = 4,
    /// sp_cursorprepexec
    CursorPrepExec = 5,
    /// sp_cursorunprepare
    CursorUnprepare = 6,
    /// sp_cursorfetch
    CursorFetch = 7,
    /// sp_cursoroption
    CursorOption = 8,
    /// sp_cursorclose
    CursorClose = 9,
    /// sp_executesql
    ExecuteSql = 10,
    /// sp_prepare
    Prepare = 11,
    /// sp_execute
    Execute = 12,
    /// sp_prepexec
    PrepExec = 13,
    /// sp_prepexecrpc
    PrepExecRpc = 14,
    /// sp_unprepare
    Unprepare = 15,
}

impl ProcedureId {
    const ALL: [(ProcedureId, &'static str); 15] = [
        (ProcedureId::Cursor, "sp_cursor"),
        (ProcedureId::CursorOpen, "sp_cursoropen"),
        (ProcedureId::CursorPrepare, "sp_cursorprepare"),
        (ProcedureId::CursorExecute, "sp_cursorexecute"),
        (ProcedureId::CursorPrepExec, "sp_cursorprepexec"),
        (ProcedureId::CursorUnprepare, "sp_cursorunprepare"),
        (ProcedureId::CursorFetch, "sp_cursorfetch"),
        (ProcedureId::CursorOption, "sp_cursoroption"),
        (ProcedureId::CursorClose, "sp_cursorclose"),
        (ProcedureId::ExecuteSql, "sp_executesql"),
        (ProcedureId::Prepare, "sp_prepare"),
        (ProcedureId::Execute, "sp_execute"),
        (ProcedureId::PrepExec, "sp_prepexec"),
        (ProcedureId::PrepExecRpc, "sp_prepexecrpc"),
        (ProcedureId::Unprepare, "sp_unprepare"),
    ];

    /// The procedure with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.iter().find(|(id, _)| *id as u16 == number).map(|(id, _)| *id)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize - 1].1
    }
}

/// The procedure of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Procedure {
    /// By number.
    Id(ProcedureId),
    /// By name as the client wrote it: `dbo.p`, `[sys].sp_tables`, `..sp_who`.
    Name(String),
}

impl Procedure {
    /// The name, also of a numbered procedure.
    pub fn name(&self) -> &str {
        match self {
            Procedure::Id(id) => id.name(),
            Procedure::Name(name) => name,
        }
    }
}

/// Option flags of a call.
pub mod call_flags {
    /// The client keeps the column metadata of an earlier answer (this server always sends it).
    pub const NO_METADATA: u16 = 0x0002;
}

/// Status bits of a parameter.
pub mod parameter_flags {
    /// OUTPUT.
    pub const BY_REFERENCE: u8 = 0x01;
    /// Use the procedure's default value.
    pub const DEFAULT: u8 = 0x02;
    /// Encrypted (not supported).
    pub const ENCRYPTED: u8 = 0x08;
}

/// One parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name with its `@`, empty when positional.
    pub name: String,
    /// OUTPUT wanted.
    pub output: bool,
    /// DEFAULT given instead of a value.
    pub default: bool,
    /// Declared type.
    pub sql_type: SqlType,
    /// Value sent.
    pub value: Value,
    /// Table sent in place of a value.
    pub table: Option<Box<Table>>,
}

/// One remote procedure call.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcCall {
    /// What to call.
    pub procedure: Procedure,
    /// Bits of [`call_flags`].
    pub flags: u16,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
}

const BY_NUMBER: u16 = 0xFFFF;
const SEPARATOR: u8 = 0xFF;
const SEPARATOR_NO_EXECUTE: u8 = 0xFE;
const SEPARATOR_7_1: u8 = 0x80;

fn is_separator(byte: u8, version: TdsVersion) -> bool {
    if version.is_7_2_or_later() {
        byte == SEPARATOR || byte == SEPARATOR_NO_EXECUTE
    } else {
        byte == SEPARATOR_7_1
    }
}

/// Decodes the payload of an RPC message into its calls (at least one).
pub fn decode_rpc(payload: &[u8], version: TdsVersion) -> Result<(Headers, Vec<RpcCall>), ProtocolError> {
    let mut reader = Reader::new(payload, "RPC");
    let headers = read_headers(&mut reader, version)?;
    let mut calls = Vec::new();
    loop {
        if calls.len() == RPC_CALLS_MAX {
            return Err(ProtocolError::TooLong { part: "RPC message (calls)", limit: RPC_CALLS_MAX });
        }
        calls.push(read_call(&mut reader, version)?);
        // A separator may also end the message.
        if reader.is_empty() || (reader.u8().is_ok() && reader.is_empty()) {
            return Ok((headers, calls));
        }
    }
}

/// Reads one call, up to the end or the separator behind it.
fn read_call(reader: &mut Reader<'_>, version: TdsVersion) -> Result<RpcCall, ProtocolError> {
    reader.set_part("RPC procedure");
    let procedure = match reader.u16()? {
        BY_NUMBER => {
            let number = reader.u16()?;
            let id = ProcedureId::from_number(number)
                .ok_or_else(|| ProtocolError::invalid("procedure id", number))?;
            Procedure::Id(id)
        }
        units => Procedure::Name(reader.utf16(units.into())?),
    };
    let flags = reader.u16()?;
    let mut parameters = Vec::new();
    while let Some(byte) = reader.peek() {
        if is_separator(byte, version) {
            break;
        }
        let parameter = read_parameter(reader, version)?;
        // One parameter beyond the limit is kept, so that the executor of the call refuses it (8003); the others are read and dropped.
        if parameters.len() <= RPC_PARAMETERS_MAX {
            parameters.push(parameter);
        }
    }
    Ok(RpcCall { procedure, flags, parameters })
}

fn read_parameter(reader: &mut Reader<'_>, version: TdsVersion) -> Result<Parameter, ProtocolError> {
    reader.set_part("RPC parameter");
    let name = reader.b_varchar()?;
    let flags = reader.u8()?;
    if flags & parameter_flags::ENCRYPTED != 0 {
        return Err(ProtocolError::Unsupported { what: format!("the encrypted parameter '{name}'") });
    }
    let (output, default) =
        (flags & parameter_flags::BY_REFERENCE != 0, flags & parameter_flags::DEFAULT != 0);
    if table_value::is_next(reader) {
        let table = Some(Box::new(table_value::read(reader, version)?));
        return Ok(Parameter { name, output, default, sql_type: SqlType::Int, value: Value::Null, table });
    }
    let info = TypeInfo::read(reader, version)?;
    let value = info.read_value(reader)?;
    Ok(Parameter { name, output, default, sql_type: info.sql_type_of(&value), value, table: None })
}

/// Encodes the payload of an RPC message.
pub fn put_rpc(out: &mut Vec<u8>, version: TdsVersion, headers: Headers, calls: &[RpcCall]) {
    put_headers(out, version, headers);
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            out.push(if version.is_7_2_or_later() { SEPARATOR } else { SEPARATOR_7_1 });
        }
        match &call.procedure {
            Procedure::Id(id) => {
                out.extend_from_slice(&BY_NUMBER.to_le_bytes());
                out.extend_from_slice(&(*id as u16).to_le_bytes());
            }
            Procedure::Name(name) => put_us_varchar(out, name),
        }
        out.extend_from_slice(&call.flags.to_le_bytes());
        for parameter in &call.parameters {
            put_b_varchar(out, &parameter.name);
            let output = if parameter.output { parameter_flags::BY_REFERENCE } else { 0 };
            let default = if parameter.default { parameter_flags::DEFAULT } else { 0 };
            out.push(output | default);
            if let Some(table) = &parameter.table {
                table_value::put(out, table, version);
                continue;
            }
            let info = TypeInfo::for_type(&parameter.sql_type, version);
            info.put(out);
            info.put_value(out, &parameter.value);
        }
    }
}
