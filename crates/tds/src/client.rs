//! The client side: requests as packets and the token stream of responses as [`Token`]s (`hardpan sql -S` and tests).

use types::{SqlError, SqlType, Value};

use crate::error::ProtocolError;
use crate::limits::COLUMNS_MAX;
use crate::login7::{Login7, TdsVersion};
use crate::packet::{MessageWriter, PacketKind};
use crate::prelogin::PreLogin;
use crate::request::{Headers, TransactionRequest, put_batch, put_transaction_request};
use crate::rpc::{RpcCall, put_rpc};
use crate::token::{DoneKind, DoneToken, EnvChange, FUNCTION_VALUE, kind};
use crate::type_info::TypeInfo;
use crate::wire::Reader;

/// Builds the packets of requests.
#[derive(Debug)]
pub struct RequestWriter {
    version: TdsVersion,
    writer: MessageWriter,
    /// The transaction descriptor to send along; keep it up to date from [`Token::EnvChange`].
    pub transaction_descriptor: u64,
}

impl RequestWriter {
    /// A writer for a server of `version` with packets of `packet_bytes`.
    pub fn new(version: TdsVersion, packet_bytes: usize) -> Self {
        let writer = MessageWriter::new(PacketKind::SqlBatch, packet_bytes, 0);
        RequestWriter { version, writer, transaction_descriptor: 0 }
    }

    /// Applies the values that the login has negotiated.
    pub fn negotiate(&mut self, version: TdsVersion, packet_bytes: usize) {
        self.version = version;
        self.writer.set_packet_bytes(packet_bytes);
    }

    fn headers(&self) -> Headers {
        Headers { transaction_descriptor: self.transaction_descriptor, outstanding_requests: 1 }
    }

    fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.writer.finish(&mut out);
        out
    }

    /// PRELOGIN.
    pub fn prelogin(&mut self, message: &PreLogin) -> Vec<u8> {
        self.writer.start(PacketKind::PreLogin, 0);
        self.writer.payload.extend_from_slice(&message.encode());
        self.finish()
    }

    /// LOGIN7.
    pub fn login7(&mut self, login: &Login7) -> Vec<u8> {
        self.writer.start(PacketKind::Login7, 0);
        self.writer.payload.extend_from_slice(&login.encode());
        self.finish()
    }

    /// A SQL batch; `first_status` may carry a reset bit.
    pub fn batch(&mut self, text: &str, first_status: u8) -> Vec<u8> {
        self.writer.start(PacketKind::SqlBatch, first_status);
        let headers = self.headers();
        put_batch(&mut self.writer.payload, self.version, headers, text);
        self.finish()
    }

    /// Remote procedure calls.
    pub fn rpc(&mut self, calls: &[RpcCall]) -> Vec<u8> {
        self.writer.start(PacketKind::Rpc, 0);
        let headers = self.headers();
        put_rpc(&mut self.writer.payload, self.version, headers, calls);
        self.finish()
    }

    /// A transaction manager request.
    pub fn transaction(&mut self, request: &TransactionRequest) -> Vec<u8> {
        self.writer.start(PacketKind::TransactionManager, 0);
        let headers = self.headers();
        put_transaction_request(&mut self.writer.payload, self.version, headers, request);
        self.finish()
    }

    /// The columns and rows of a bulk load, whose INSERT BULK has been answered. `nulls_in_bitmaps`: rows as NBCROW.
    pub fn bulk_load(
        &mut self,
        columns: &[(&str, SqlType)],
        rows: &[Vec<Value>],
        nulls_in_bitmaps: bool,
    ) -> Vec<u8> {
        self.writer.start(PacketKind::BulkLoad, 0);
        crate::bulk::put(&mut self.writer.payload, columns, rows, nulls_in_bitmaps, self.version);
        self.finish()
    }

    /// An attention.
    pub fn attention(&mut self) -> Vec<u8> {
        self.writer.start(PacketKind::Attention, 0);
        self.finish()
    }
}

/// A column of a result set as the server described it.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultColumn {
    /// Name.
    pub name: String,
    /// Type on the wire.
    pub info: TypeInfo,
    /// Type, `int` for an untyped NULL.
    pub sql_type: SqlType,
    /// May hold NULL.
    pub nullable: bool,
}

/// One token of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// COLMETADATA.
    Columns(Vec<ResultColumn>),
    /// ROW or NBCROW.
    Row(Vec<Value>),
    /// ERROR or INFO; see its severity.
    Message {
        /// The message.
        error: SqlError,
        /// Name of the server that sent it.
        server_name: String,
    },
    /// One of the DONE tokens.
    Done(DoneToken),
    /// RETURNSTATUS.
    ReturnStatus(i32),
    /// RETURNVALUE.
    ReturnValue {
        /// Position of the parameter in its call.
        ordinal: u16,
        /// Name with `@`.
        name: String,
        /// Type.
        sql_type: SqlType,
        /// Value.
        value: Value,
    },
    /// RETURNVALUE of a scalar function.
    FunctionValue {
        /// Type.
        sql_type: SqlType,
        /// Value.
        value: Value,
    },
    /// ENVCHANGE of a kind this client knows.
    EnvChange(EnvChange),
    /// LOGINACK.
    LoginAck {
        /// Version of the protocol.
        version: TdsVersion,
        /// Name of the server program.
        program: String,
        /// Its version: major, minor, build.
        program_version: (u8, u8, u16),
    },
    /// FEATUREEXTACK.
    FeatureAcks(Vec<(u8, Vec<u8>)>),
    /// A token this client skips (ORDER, other ENVCHANGEs).
    Ignored(u8),
}

/// Decodes the tokens of one whole answer.
#[derive(Debug)]
pub struct TokenReader<'a> {
    reader: Reader<'a>,
    version: TdsVersion,
    columns: Vec<TypeInfo>,
}

impl<'a> TokenReader<'a> {
    /// Reads `payload`, the joined packets of an answer.
    pub fn new(payload: &'a [u8], version: TdsVersion) -> Self {
        TokenReader { reader: Reader::new(payload, "token stream"), version, columns: Vec::new() }
    }

    /// The next token, `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Token>, ProtocolError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let token = self.reader.u8()?;
        Ok(Some(match token {
            kind::COLUMN_METADATA => self.columns()?,
            kind::ROW => self.row()?,
            kind::NULL_BITMAP_ROW => self.null_bitmap_row()?,
            kind::ERROR | kind::INFO => self.message()?,
            kind::DONE => self.done(DoneKind::Statement)?,
            kind::DONE_PROC => self.done(DoneKind::Procedure)?,
            kind::DONE_IN_PROC => self.done(DoneKind::InProcedure)?,
            kind::RETURN_STATUS => Token::ReturnStatus(self.reader.u32()? as i32),
            kind::RETURN_VALUE => self.return_value()?,
            kind::ENV_CHANGE => self.env_change()?,
            kind::LOGIN_ACK => self.login_ack()?,
            kind::FEATURE_EXTENSION_ACK => self.feature_acks()?,
            kind::ORDER | kind::TABLE_NAME | kind::COLUMN_INFO => {
                let length = self.reader.u16()?;
                self.reader.take(length.into())?;
                Token::Ignored(token)
            }
            _ => return Err(ProtocolError::invalid("token", token)),
        }))
    }

    /// All tokens up to the end.
    pub fn collect(mut self) -> Result<Vec<Token>, ProtocolError> {
        let mut tokens = Vec::new();
        while let Some(token) = self.next()? {
            tokens.push(token);
        }
        Ok(tokens)
    }

    fn skip_user_type(&mut self) -> Result<(), ProtocolError> {
        self.reader.take(if self.version.is_7_2_or_later() { 4 } else { 2 })?;
        Ok(())
    }

    fn columns(&mut self) -> Result<Token, ProtocolError> {
        const NO_METADATA: u16 = 0xFFFF;
        let count = self.reader.u16()?;
        let count = if count == NO_METADATA { 0 } else { usize::from(count) };
        if count > COLUMNS_MAX {
            return Err(ProtocolError::TooLong { part: "COLMETADATA (columns)", limit: COLUMNS_MAX });
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            self.skip_user_type()?;
            let flags = self.reader.u16()?;
            let info = TypeInfo::read(&mut self.reader, self.version)?;
            if info.is_long() {
                let parts = if self.version.is_7_2_or_later() { self.reader.u8()? } else { 1 };
                for _ in 0..parts {
                    self.reader.us_varchar()?;
                }
            }
            let name = self.reader.b_varchar()?;
            let sql_type = info.sql_type().unwrap_or(SqlType::Int);
            columns.push(ResultColumn { name, info, sql_type, nullable: flags & 1 != 0 });
        }
        self.columns = columns.iter().map(|column| column.info).collect();
        Ok(Token::Columns(columns))
    }

    fn row(&mut self) -> Result<Token, ProtocolError> {
        let mut values = Vec::with_capacity(self.columns.len());
        for info in &self.columns {
            values.push(info.read_row_value(&mut self.reader)?);
        }
        Ok(Token::Row(values))
    }

    fn null_bitmap_row(&mut self) -> Result<Token, ProtocolError> {
        let bitmap = self.reader.take(self.columns.len().div_ceil(8))?;
        let mut values = Vec::with_capacity(self.columns.len());
        for (index, info) in self.columns.iter().enumerate() {
            let null = bitmap[index / 8] & (1 << (index % 8)) != 0;
            values.push(if null { Value::Null } else { info.read_row_value(&mut self.reader)? });
        }
        Ok(Token::Row(values))
    }

    fn message(&mut self) -> Result<Token, ProtocolError> {
        let length = self.reader.u16()?;
        let mut body = Reader::new(self.reader.take(length.into())?, "ERROR or INFO");
        let number = body.u32()? as i32;
        let (state, severity) = (body.u8()?, body.u8()?);
        let mut error = SqlError::custom(number, severity, state, body.us_varchar()?);
        let server_name = body.b_varchar()?;
        error.procedure = Some(body.b_varchar()?).filter(|name| !name.is_empty());
        error.line = if self.version.is_7_2_or_later() { body.u32()? } else { body.u16()?.into() };
        Ok(Token::Message { error, server_name })
    }

    fn done(&mut self, kind: DoneKind) -> Result<Token, ProtocolError> {
        let (status, command) = (self.reader.u16()?, self.reader.u16()?);
        let row_count =
            if self.version.is_7_2_or_later() { self.reader.u64()? } else { self.reader.u32()?.into() };
        Ok(Token::Done(DoneToken { kind, status, command, row_count }))
    }

    fn return_value(&mut self) -> Result<Token, ProtocolError> {
        let ordinal = self.reader.u16()?;
        let name = self.reader.b_varchar()?;
        let is_of_function = self.reader.u8()? == FUNCTION_VALUE;
        self.skip_user_type()?;
        self.reader.u16()?;
        let info = TypeInfo::read(&mut self.reader, self.version)?;
        let is_long = info.is_long();
        if is_long && !self.version.is_7_2_or_later() {
            self.reader.us_varchar()?;
        }
        let value =
            if is_long { info.read_row_value(&mut self.reader) } else { info.read_value(&mut self.reader) }?;
        let sql_type = info.sql_type_of(&value);
        Ok(match is_of_function {
            true => Token::FunctionValue { sql_type, value },
            false => Token::ReturnValue { ordinal, name, sql_type, value },
        })
    }

    fn env_change(&mut self) -> Result<Token, ProtocolError> {
        let length = self.reader.u16()?;
        let mut body = Reader::new(self.reader.take(length.into())?, "ENVCHANGE");
        let number = body.u8()?;
        let change = match number {
            1 => EnvChange::Database(body.b_varchar()?, body.b_varchar()?),
            2 => EnvChange::Language(body.b_varchar()?, body.b_varchar()?),
            4 => {
                let (new, old) = (body.b_varchar()?, body.b_varchar()?);
                let size = |text: &str| {
                    text.parse().map_err(|_| ProtocolError::invalid("packet size", text.len() as u64))
                };
                EnvChange::PacketSize(size(&new)?, size(&old)?)
            }
            7 if body.peek() == Some(5) => {
                body.u8()?;
                EnvChange::Collation(body.array()?)
            }
            8 => EnvChange::BeginTransaction(read_descriptor(&mut body)?),
            9 | 10 => {
                let new = body.u8()?;
                body.take(new.into())?;
                let descriptor = read_descriptor(&mut body)?;
                if number == 9 {
                    EnvChange::CommitTransaction(descriptor)
                } else {
                    EnvChange::RollbackTransaction(descriptor)
                }
            }
            18 => EnvChange::ResetConnection,
            _ => return Ok(Token::Ignored(kind::ENV_CHANGE)),
        };
        Ok(Token::EnvChange(change))
    }

    fn login_ack(&mut self) -> Result<Token, ProtocolError> {
        let length = self.reader.u16()?;
        let mut body = Reader::new(self.reader.take(length.into())?, "LOGINACK");
        body.u8()?;
        let version = TdsVersion(u32::from_be_bytes(body.array()?));
        let program = body.b_varchar()?;
        let program_version = (body.u8()?, body.u8()?, body.u16_be()?);
        Ok(Token::LoginAck { version, program, program_version })
    }

    fn feature_acks(&mut self) -> Result<Token, ProtocolError> {
        let mut features = Vec::new();
        loop {
            let id = self.reader.u8()?;
            if id == crate::login7::feature::TERMINATOR {
                return Ok(Token::FeatureAcks(features));
            }
            let length = self.reader.u32()? as usize;
            features.push((id, self.reader.take(length)?.to_vec()));
        }
    }
}

fn read_descriptor(body: &mut Reader<'_>) -> Result<u64, ProtocolError> {
    match body.u8()? {
        8 => body.u64(),
        length => Err(ProtocolError::invalid("length of a transaction descriptor", length)),
    }
}
