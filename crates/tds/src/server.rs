//! The server side: [`Request`]s from messages, and an [`Encoder`] that writes responses directly into packets.

use types::{Length, SqlError, SqlType, Value};

use crate::error::ProtocolError;
use crate::login7::{Login7, TdsVersion};
use crate::packet::{MessageWriter, PacketKind};
use crate::prelogin::PreLogin;
use crate::request::{Headers, TransactionRequest, decode_batch, decode_transaction_request};
use crate::rpc::{RpcCall, decode_rpc};
use crate::token::{self, DoneKind, DoneToken, EnvChange, done, kind};
use crate::type_info::TypeInfo;
use crate::value::CHUNK_BYTES;
use crate::wire::{put_b_varchar, put_us_varchar};

/// A client's request, decoded from one message.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// PRELOGIN.
    PreLogin(PreLogin),
    /// LOGIN7.
    Login7(Box<Login7>),
    /// A batch of T-SQL text.
    Batch {
        /// ALL_HEADERS.
        headers: Headers,
        /// The text.
        text: String,
    },
    /// Remote procedure calls, at least one.
    Rpc {
        /// ALL_HEADERS.
        headers: Headers,
        /// The calls in order.
        calls: Vec<RpcCall>,
    },
    /// A transaction manager request.
    Transaction {
        /// ALL_HEADERS.
        headers: Headers,
        /// The request.
        request: TransactionRequest,
    },
    /// Cancel.
    Attention,
}

/// Decodes a whole message of a client that speaks `version` (any value before login).
pub fn decode_request(
    kind: PacketKind,
    payload: &[u8],
    version: TdsVersion,
) -> Result<Request, ProtocolError> {
    match kind {
        PacketKind::PreLogin => Ok(Request::PreLogin(PreLogin::decode(payload)?)),
        PacketKind::Login7 => Ok(Request::Login7(Box::new(Login7::decode(payload)?))),
        PacketKind::SqlBatch => {
            let (headers, text) = decode_batch(payload, version)?;
            Ok(Request::Batch { headers, text })
        }
        PacketKind::Rpc => {
            let (headers, calls) = decode_rpc(payload, version)?;
            Ok(Request::Rpc { headers, calls })
        }
        PacketKind::TransactionManager => {
            let (headers, request) = decode_transaction_request(payload, version)?;
            Ok(Request::Transaction { headers, request })
        }
        PacketKind::Attention => Ok(Request::Attention),
        PacketKind::BulkLoad => Err(ProtocolError::invalid("packet type before the login", kind as u8)),
        PacketKind::OldLogin => Err(ProtocolError::Unsupported { what: "a login older than TDS 7.0".into() }),
        PacketKind::Sspi => Err(ProtocolError::Unsupported { what: "Windows authentication".into() }),
        PacketKind::FederatedAuthentication => {
            Err(ProtocolError::Unsupported { what: "federated authentication".into() })
        }
        PacketKind::TabularResult => Err(ProtocolError::invalid("packet type from a client", kind as u8)),
    }
}

/// A column of a result set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column<'a> {
    /// Name, empty for expressions without one.
    pub name: &'a str,
    /// Type.
    pub sql_type: SqlType,
    /// May hold NULL.
    pub nullable: bool,
    /// Identity column.
    pub identity: bool,
    /// An expression or computed column.
    pub computed: bool,
    /// Parts of its base table's name, for text, ntext and image; may be empty.
    pub table: &'a [String],
}

/// Where a column of a cursor's result comes from, for COLINFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    /// No column of a table.
    pub is_expression: bool,
    /// Its name in the table, when that is another one.
    pub renamed: Option<&'a str>,
    /// Part of the key of its row.
    pub is_key: bool,
    /// The query does not name it.
    pub is_hidden: bool,
}

impl Origin<'_> {
    fn put(self, out: &mut Vec<u8>, number: usize, has_table: bool) {
        const EXPRESSION: u8 = 0x04;
        const KEY: u8 = 0x08;
        const HIDDEN: u8 = 0x10;
        const DIFFERENT_NAME: u8 = 0x20;
        let is_base = has_table && !self.is_expression;
        let renamed = self.renamed.filter(|_| is_base);
        let bits = [
            (!is_base, EXPRESSION),
            (self.is_key, KEY),
            (self.is_hidden, HIDDEN),
            (renamed.is_some(), DIFFERENT_NAME),
        ];
        let status = bits.iter().filter(|(is_set, _)| *is_set).fold(0, |status, (_, bit)| status | bit);
        // The number has one byte; clients go by the order.
        out.extend_from_slice(&[(number % 256) as u8, u8::from(is_base), status]);
        if let Some(base) = renamed {
            put_b_varchar(out, base);
        }
    }
}

impl<'a> Column<'a> {
    /// A nullable column.
    pub fn new(name: &'a str, sql_type: SqlType) -> Self {
        Column { name, sql_type, nullable: true, identity: false, computed: false, table: &[] }
    }

    /// Flags as SQL Server sends them: updatability unknown but for identity and computed columns.
    fn flags(&self) -> u16 {
        const NULLABLE: u16 = 0x0001;
        const UPDATABLE_UNKNOWN: u16 = 0x0008;
        const IDENTITY: u16 = 0x0010;
        const COMPUTED: u16 = 0x0020;
        let origin = match (self.computed, self.identity) {
            (true, _) => COMPUTED,
            (_, true) => IDENTITY,
            _ => UPDATABLE_UNKNOWN,
        };
        origin | if self.nullable { NULLABLE } else { 0 }
    }
}

/// Writes the answer to one request as packets. Rows go straight into the outgoing payload; the owner moves packets to
/// the socket with [`take_packets`](Self::take_packets) now and then and with [`finish`](Self::finish) at the end.
#[derive(Debug)]
pub struct Encoder {
    version: TdsVersion,
    server_name: String,
    writer: MessageWriter,
    columns: Vec<TypeInfo>,
    /// Some of them are of a max type.
    has_max: bool,
    /// The last COLMETADATA, when it is kept to be sent again; else empty.
    kept_columns: Vec<u8>,
}

impl Encoder {
    /// An encoder for a client that speaks `version` and takes packets of `packet_bytes`.
    pub fn new(version: TdsVersion, packet_bytes: usize, spid: u16, server_name: &str) -> Self {
        let writer = MessageWriter::new(PacketKind::TabularResult, packet_bytes, spid);
        Encoder {
            version,
            server_name: server_name.to_string(),
            writer,
            columns: Vec::new(),
            has_max: false,
            kept_columns: Vec::new(),
        }
    }

    /// Sets the values that LOGIN7 has negotiated; the packet size holds from the next packet on.
    pub fn negotiate(&mut self, version: TdsVersion, packet_bytes: usize) {
        self.version = version;
        self.kept_columns.clear();
        self.writer.set_packet_bytes(packet_bytes);
    }

    /// Sets the session number that packets carry.
    pub fn set_spid(&mut self, spid: u16) {
        self.writer.set_spid(spid);
    }

    /// Protocol version in use.
    pub fn version(&self) -> TdsVersion {
        self.version
    }

    /// Packet size in use in bytes, header included.
    pub fn packet_bytes(&self) -> usize {
        self.writer.packet_bytes()
    }

    /// Bytes written and not yet moved into packets.
    #[inline]
    pub fn pending_bytes(&self) -> usize {
        self.writer.payload.len()
    }

    /// Between messages, exchanges the (empty) buffer of the message for `payload`: see
    /// [`MessageReader::exchange`](crate::packet::MessageReader::exchange).
    pub fn exchange(&mut self, payload: &mut Vec<u8>) {
        if self.writer.payload.is_empty() {
            std::mem::swap(&mut self.writer.payload, payload);
        }
    }

    /// Discards the pending bytes beyond the first `bytes`.
    pub fn take_back(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.pending_bytes(), "nothing was sent since");
        self.writer.payload.truncate(bytes);
    }

    /// Moves full packets into `out` when more than `threshold` bytes are pending.
    pub fn take_packets(&mut self, threshold: usize, out: &mut Vec<u8>) {
        self.writer.take_full(threshold, out);
    }

    /// Moves everything pending into `out`, the last packet short if need be; the message goes on.
    pub fn take_all(&mut self, out: &mut Vec<u8>) {
        self.writer.take_all(out);
    }

    /// Ends the message: everything pending goes into `out`, the last packet marked.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.writer.finish(out);
    }

    /// The answer to PRELOGIN (a payload without tokens).
    pub fn prelogin(&mut self, answer: &PreLogin) {
        self.writer.payload.extend_from_slice(&answer.encode());
    }

    /// LOGINACK.
    pub fn login_ack(&mut self, program: &str, program_version: (u8, u8, u16)) {
        token::put_login_ack(&mut self.writer.payload, self.version, program, program_version);
    }

    /// FEATUREEXTACK, nothing when no feature is granted.
    pub fn feature_acks(&mut self, features: &[(u8, Vec<u8>)]) {
        token::put_feature_acks(&mut self.writer.payload, features);
    }

    /// ENVCHANGE.
    pub fn env_change(&mut self, change: &EnvChange) {
        token::put_env_change(&mut self.writer.payload, change);
    }

    /// ERROR (severity above 10) or INFO.
    pub fn message(&mut self, error: &SqlError) {
        token::put_message(&mut self.writer.payload, self.version, error, &self.server_name);
    }

    /// COLMETADATA; the rows that follow have these columns. It is kept for [`Encoder::columns_again`] if `keep` says so.
    pub fn columns<'c>(&mut self, columns: impl ExactSizeIterator<Item = Column<'c>>, keep: bool) {
        self.columns.clear();
        self.kept_columns.clear();
        let out = &mut self.writer.payload;
        let start = out.len();
        out.push(kind::COLUMN_METADATA);
        out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        for column in columns {
            let info = TypeInfo::for_type(&column.sql_type, self.version);
            let info = if column.nullable { info } else { info.never_null() };
            put_user_type(out, self.version, &column.sql_type);
            out.extend_from_slice(&column.flags().to_le_bytes());
            info.put(out);
            if info.is_long() {
                put_table_name(out, self.version, column.table);
            }
            put_b_varchar(out, column.name);
            self.columns.push(info);
        }
        self.has_max = self.columns.iter().any(TypeInfo::is_plp);
        if keep {
            self.kept_columns.extend_from_slice(&out[start..]);
        }
    }

    /// COLMETADATA equal to the last one; false, with nothing written, when that was not kept.
    pub fn columns_again(&mut self) -> bool {
        self.writer.payload.extend_from_slice(&self.kept_columns);
        !self.kept_columns.is_empty()
    }

    /// TABNAME and COLINFO behind the COLMETADATA of a cursor's result: its only table, if it has one, and where each column comes from.
    pub fn origins<'c>(&mut self, table: &[String], columns: impl Iterator<Item = Origin<'c>>) {
        let has_table = !table.is_empty();
        let mut info = Vec::new();
        for (at, origin) in columns.enumerate() {
            origin.put(&mut info, at + 1, has_table);
        }
        let Ok(info_bytes) = u16::try_from(info.len()) else { return };
        let out = &mut self.writer.payload;
        if has_table {
            let mut name = vec![table.len() as u8];
            table.iter().for_each(|part| put_us_varchar(&mut name, part));
            out.push(kind::TABLE_NAME);
            out.extend_from_slice(&(name.len() as u16).to_le_bytes());
            out.extend_from_slice(&name);
        }
        out.push(kind::COLUMN_INFO);
        out.extend_from_slice(&info_bytes.to_le_bytes());
        out.extend_from_slice(&info);
    }

    /// ROW, with as many values as the last [`columns`](Self::columns) had. False, with nothing written, when a column holds a NULL that
    /// its description excludes: that cannot be sent.
    #[inline]
    #[must_use]
    pub fn row(&mut self, values: &[Value]) -> bool {
        debug_assert_eq!(values.len(), self.columns.len());
        let out = &mut self.writer.payload;
        let start = out.len();
        out.push(kind::ROW);
        for (info, value) in self.columns.iter().zip(values) {
            if !info.put_row_value(out, value) {
                out.truncate(start);
                return false;
            }
        }
        true
    }

    /// Does the row have values so large that its parts should be sent one by one?
    #[inline]
    pub fn is_large(&self, values: &[Value]) -> bool {
        self.has_max && values.iter().any(|value| string_bytes(value) > CHUNK_BYTES)
    }

    /// A row as `row` writes it, of which `send` takes parts before it is whole when it has large values.
    #[must_use]
    pub fn row_in_parts(&mut self, values: &[Value], send: &mut dyn FnMut(&mut MessageWriter)) -> bool {
        debug_assert_eq!(values.len(), self.columns.len());
        // Nothing of a row that cannot be sent may be on its way.
        let cannot_be = |(info, value): (&TypeInfo, &Value)| info.is_fixed() && value.is_null();
        if self.columns.iter().zip(values).any(cannot_be) {
            return false;
        }
        self.writer.payload.push(kind::ROW);
        for (info, value) in self.columns.iter().zip(values) {
            if !info.put_in_chunks(&mut self.writer, value, send)
                && !info.put_row_value(&mut self.writer.payload, value)
            {
                return false;
            }
        }
        true
    }

    /// One of the DONE tokens.
    pub fn done(&mut self, token: &DoneToken) {
        token::put_done(&mut self.writer.payload, self.version, token);
    }

    /// The final DONE that acknowledges an attention.
    pub fn done_attention(&mut self) {
        let status = done::ATTENTION;
        self.done(&DoneToken { kind: DoneKind::Statement, status, command: 0, row_count: 0 });
    }

    /// RETURNSTATUS.
    pub fn return_status(&mut self, status: i32) {
        token::put_return_status(&mut self.writer.payload, status);
    }

    /// RETURNVALUE of the OUTPUT parameter `name` at `ordinal` of its call. Clients differ in how they read one of text, ntext or image: those of 7.1
    /// and before as a column and its value in a row, with the name of a table and a text pointer; of the later ones some expect the name and
    /// some do not. These get it as the (max) type, which all of them read.
    pub fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value) {
        self.put_return_value(token::OUTPUT_PARAMETER, (ordinal, name), sql_type, value);
    }

    /// RETURNVALUE of a scalar function: it has neither a name nor a place in its call.
    pub fn function_value(&mut self, sql_type: &SqlType, value: &Value) {
        self.put_return_value(token::FUNCTION_VALUE, (0, ""), sql_type, value);
    }

    fn put_return_value(&mut self, status: u8, place: (u16, &str), sql_type: &SqlType, value: &Value) {
        let (ordinal, name) = place;
        let info = TypeInfo::for_type(&returned_type(sql_type, self.version), self.version);
        let out = &mut self.writer.payload;
        out.push(kind::RETURN_VALUE);
        out.extend_from_slice(&ordinal.to_le_bytes());
        put_b_varchar(out, name);
        out.push(status);
        put_user_type(out, self.version, sql_type);
        out.extend_from_slice(&[0, 0]);
        info.put(out);
        if info.is_long() {
            put_table_name(out, self.version, &[]);
            info.put_row_value(out, value);
        } else {
            info.put_value(out, value);
        }
    }
}

/// Bytes of a string on the wire.
fn string_bytes(value: &Value) -> usize {
    match value {
        Value::Char(bytes) | Value::Binary(bytes) => bytes.len(),
        Value::NChar(units) => units.len() * 2,
        _ => 0,
    }
}

/// The base table's name in its parts (one part below 7.2, which has no more). A client may insist on at least one part, so a column
/// without a table has an empty one.
fn put_table_name(out: &mut Vec<u8>, version: TdsVersion, parts: &[String]) {
    let unnamed = [String::new()];
    let parts = if parts.is_empty() { &unnamed } else { parts };
    if version.is_7_2_or_later() {
        out.push(parts.len() as u8);
        parts.iter().for_each(|part| put_us_varchar(out, part));
    } else {
        put_us_varchar(out, &parts.join("."));
    }
}

/// The type in which an OUTPUT parameter comes back.
fn returned_type(sql_type: &SqlType, version: TdsVersion) -> SqlType {
    match sql_type {
        SqlType::Text if version.is_7_2_or_later() => SqlType::VarChar(Length::Max),
        SqlType::NText if version.is_7_2_or_later() => SqlType::NVarChar(Length::Max),
        SqlType::Image if version.is_7_2_or_later() => SqlType::VarBinary(Length::Max),
        other => *other,
    }
}

/// The user type: 0, or 80 for timestamp; four bytes from 7.2 on.
fn put_user_type(out: &mut Vec<u8>, version: TdsVersion, sql_type: &SqlType) {
    let user_type: u16 = if *sql_type == SqlType::RowVersion { 80 } else { 0 };
    out.extend_from_slice(&user_type.to_le_bytes());
    if version.is_7_2_or_later() {
        out.extend_from_slice(&[0, 0]);
    }
}
