//! A plain TDS connection for the benchmarks: login, batches, prepared statements; blocking.

use std::io::{Read, Write};
use std::net::TcpStream;

use tds::client::{RequestWriter, Token, TokenReader};
use tds::limits::PACKET_BYTES_DEFAULT;
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::{MessageReader, ReadLimits};
use tds::prelogin::{Encryption, PreLogin};
use tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use types::{SqlType, Value};

/// The protocol version.
pub const VERSION: TdsVersion = TdsVersion::V7_4;
/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A logged-in session.
pub struct Connection {
    stream: TcpStream,
    reader: MessageReader,
    writer: RequestWriter,
}

impl Connection {
    /// Connects without TLS (the server accepts that from its own machine) and logs in as sa.
    pub fn open(address: &str, password: &str, database: &str) -> Result<Connection, String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let reader = MessageReader::new(ReadLimits::session(ANSWER_BYTES_MAX));
        let writer = RequestWriter::new(VERSION, PACKET_BYTES_DEFAULT);
        let mut connection = Connection { stream, reader, writer };
        let hello = PreLogin {
            version: Some((0, 1, 0, 0)),
            encryption: Some(Encryption::NotSupported),
            mars: Some(false),
            ..PreLogin::default()
        };
        let packets = connection.writer.prelogin(&hello);
        connection.send(&packets)?;
        connection.receive()?;
        let login = Login7 {
            packet_bytes: PACKET_BYTES_DEFAULT as u32,
            user_name: "sa".into(),
            password: Password(password.into()),
            application_name: "hardpan bench".into(),
            database: database.into(),
            ..Login7::default()
        };
        let packets = connection.writer.login7(&login);
        let tokens = connection.ask(&packets)?;
        if !tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })) {
            return Err("the login was refused".into());
        }
        Ok(connection)
    }

    /// Runs a batch; returns the first value of its first row.
    pub fn batch(&mut self, text: &str) -> Result<Option<Value>, String> {
        let packets = self.writer.batch(text, 0);
        let tokens = self.ask(&packets)?;
        Ok(tokens.into_iter().find_map(|token| match token {
            Token::Row(values) => values.into_iter().next(),
            _ => None,
        }))
    }

    /// Runs a batch; returns all of its rows.
    #[allow(dead_code, reason = "only the bench `queries` reads rows")]
    pub fn rows(&mut self, text: &str) -> Result<Vec<Vec<Value>>, String> {
        let packets = self.writer.batch(text, 0);
        let tokens = self.ask(&packets)?;
        let rows = tokens.into_iter().filter_map(|token| match token {
            Token::Row(values) => Some(values),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// The time limit of an answer.
    #[allow(dead_code, reason = "only the bench `queries` reads rows")]
    pub fn set_limit(&self, limit: std::time::Duration) -> Result<(), String> {
        self.stream.set_read_timeout(Some(limit)).map_err(|error| error.to_string())
    }

    /// Prepares `text`, whose parameters are `@p1 int` and so on; returns the packets of one execution, with the last parameter's value in
    /// their last four bytes.
    pub fn prepare(&mut self, text: &str, parameters: usize) -> Result<Vec<u8>, String> {
        let parameter = |sql_type, value, output| Parameter {
            name: String::new(),
            output,
            default: false,
            table: None,
            sql_type,
            value,
        };
        let wide = |text: &str| Value::NChar(text.encode_utf16().collect::<Vec<u16>>().into());
        let nvarchar = || SqlType::NVarChar(types::Length::Max);
        let call = |id, parameters| RpcCall { procedure: Procedure::Id(id), flags: 0, parameters };
        let declarations: Vec<String> = (1..=parameters).map(|number| format!("@p{number} int")).collect();
        let prepare = call(
            ProcedureId::Prepare,
            vec![
                parameter(SqlType::Int, Value::Null, true),
                parameter(nvarchar(), wide(&declarations.join(",")), false),
                parameter(nvarchar(), wide(text), false),
                parameter(SqlType::Int, Value::Int(1), false),
            ],
        );
        let packets = self.writer.rpc(&[prepare]);
        let handle = self.ask(&packets)?.into_iter().find_map(|token| match token {
            Token::ReturnValue { value, .. } => Some(value),
            _ => None,
        });
        let handle = handle.ok_or("sp_prepare gave no handle")?;
        let values = (0..parameters).map(|_| parameter(SqlType::Int, Value::Int(0x7465_7374), false));
        let values = std::iter::once(parameter(SqlType::Int, handle, false)).chain(values).collect();
        let packets = self.writer.rpc(&[call(ProcedureId::Execute, values)]);
        if packets.ends_with(&0x7465_7374_i32.to_le_bytes()) {
            Ok(packets)
        } else {
            Err("the parameter is not the end of the request".into())
        }
    }

    /// The socket, for an event loop.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    fn ask(&mut self, packets: &[u8]) -> Result<Vec<Token>, String> {
        self.send(packets)?;
        self.receive()?;
        let tokens =
            TokenReader::new(self.reader.payload(), VERSION).collect().map_err(|error| error.to_string())?;
        match tokens.iter().find_map(|token| match token {
            Token::Message { error, .. } if error.severity > 10 => Some(error),
            _ => None,
        }) {
            Some(error) => Err(format!("Msg {}: {}", error.number, error.message)),
            None => Ok(tokens),
        }
    }

    fn send(&mut self, packets: &[u8]) -> Result<(), String> {
        self.stream.write_all(packets).map_err(|error| error.to_string())
    }

    fn receive(&mut self) -> Result<(), String> {
        let mut buffer = [0; 16 * 1024];
        while self.reader.next().map_err(|error| error.to_string())?.is_none() {
            let count = self.stream.read(&mut buffer).map_err(|error| error.to_string())?;
            if count == 0 {
                return Err("the server closed the connection".into());
            }
            self.reader.feed(&buffer[..count]).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
