//! The rows of a bulk load as they come from the client: packets are read while the session inserts.
//!
//! While it waits for a packet the worker waits for the client (ASYNC_NETWORK_IO), as when it sends. An attention is found between two packets:
//! the monitor does not look at the stream meanwhile.

use std::cell::RefCell;

use os::IoError;
use tds::ProtocolError;
use tds::bulk::{BulkError, BulkReader, BulkStep};
use tds::login7::TdsVersion;
use tds::packet::{MessageHead, Piece, status};
use types::{SqlError, SqlResult, SqlType, Value};

use crate::channel::{Channel, ChannelError};
use crate::monitor::ConnectionEntry;
use crate::seam::{BulkRows, BulkSource};
use crate::sink::PacketSink;

/// Kept bytes from which memory is asked for before more are taken.
const LARGE_BYTES: usize = 256 * 1024;
/// While a value is made of its bytes there are so many copies of it.
const COPIES: usize = 3;

/// A channel from which rows are read and to which the answer is sent.
pub(crate) struct Both<'a, 'c>(pub(crate) &'a RefCell<&'c mut Channel>);

impl PacketSink for Both<'_, '_> {
    fn send(&mut self, packets: &[u8]) -> Result<(), IoError> {
        self.0.borrow_mut().send(packets)
    }
}

/// The rows of one message.
pub(crate) struct ClientRows<'a, 'c> {
    channel: &'a RefCell<&'c mut Channel>,
    entry: &'a ConnectionEntry,
    reader: BulkReader,
    /// The first packet has been fed.
    has_begun: bool,
    /// The status bits of the first packet.
    head: MessageHead,
    /// The client is gone, or has sent what ends the connection.
    is_over: bool,
}

impl<'a, 'c> ClientRows<'a, 'c> {
    /// The head has been read, with the first packet.
    pub(crate) fn new(
        channel: &'a RefCell<&'c mut Channel>,
        entry: &'a ConnectionEntry,
        version: TdsVersion,
        head: MessageHead,
    ) -> Self {
        let reader = BulkReader::new(version);
        ClientRows { channel, entry, reader, has_begun: false, head, is_over: false }
    }

    fn step(&mut self) -> SqlResult<BulkStep> {
        loop {
            match self.reader.step() {
                Ok(BulkStep::NeedsMore) => self.take_packet()?,
                Ok(step) => return Ok(step),
                Err(error) => return Err(self.refused(error)),
            }
        }
    }

    /// Feeds the next packet.
    fn take_packet(&mut self) -> SqlResult<()> {
        let kept_bytes = self.reader.kept_bytes();
        if kept_bytes > LARGE_BYTES {
            os::memory::ask(kept_bytes.saturating_mul(COPIES)).map_err(query_out_of_memory)?;
        }
        let mut channel = self.channel.borrow_mut();
        if !std::mem::replace(&mut self.has_begun, true) {
            let is_last = !channel.is_in_bulk_load();
            if is_last && self.head.has(status::IGNORE) {
                return Err(given_up());
            }
            self.reader.feed(channel.payload(), is_last);
            return Ok(());
        }
        match channel.next_piece() {
            Ok(Piece::Last { is_ignored: true }) => Err(given_up()),
            Ok(piece) if piece != Piece::Attention => {
                self.reader.feed(channel.payload(), piece != Piece::More);
                Ok(())
            }
            Ok(_) => {
                self.entry.interrupt_by_attention();
                Err(SqlError::custom(3617, 10, 1, "The bulk load was cancelled.".into()))
            }
            Err(error) => {
                drop(channel);
                Err(self.lost(&error))
            }
        }
    }

    /// The client is gone, or violates the protocol: the connection ends.
    fn lost(&mut self, error: &ChannelError) -> SqlError {
        self.is_over = true;
        match error {
            ChannelError::Protocol(error) => self.incorrect(error),
            ChannelError::Io(_) => {
                let text = "The client's rows cannot be read any more: its connection has ended.";
                SqlError::custom(4014, 20, 1, text.into())
            }
        }
    }

    fn incorrect(&mut self, error: &ProtocolError) -> SqlError {
        self.is_over = true;
        let peer = self.channel.borrow().stream().peer_address();
        os::report::warn("Network", &format!("connection from {peer} closed: {error}"));
        let text = format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {error}.");
        SqlError::custom(4002, 20, 1, text)
    }

    fn refused(&mut self, error: BulkError) -> SqlError {
        match error {
            BulkError::Protocol(ProtocolError::Unsupported { what }) => {
                SqlError::custom(40510, 16, 1, format!("{what} is not supported."))
            }
            BulkError::Protocol(error) => self.incorrect(&error),
            BulkError::EndsEarly => SqlError::new(4804, &[]),
            BulkError::ColumnLength(column) => SqlError::new(4815, &[&column]),
            BulkError::OddLength(column) => SqlError::new(4895, &[&column]),
            BulkError::ColumnValue(column) => {
                let name = self.reader.columns().get(column - 1).and_then(|column| column.sql_type);
                let name = name.map_or_else(|| "NULL".to_string(), |sql_type| sql_type.to_string());
                SqlError::new(9803, &[&name])
            }
        }
    }

    /// Reads what is left of the message and drops it: the answer comes behind it.
    pub(crate) fn skip_rest(&mut self) {
        let mut channel = self.channel.borrow_mut();
        while !self.is_over && channel.is_in_bulk_load() {
            self.is_over = channel.next_piece().is_err();
        }
    }
}

impl BulkRows for ClientRows<'_, '_> {
    fn next(&mut self, row: &mut Vec<Value>) -> SqlResult<bool> {
        match self.step()? {
            BulkStep::Row => {
                self.reader.take_row(row);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl BulkSource for ClientRows<'_, '_> {
    fn columns(&mut self) -> SqlResult<Vec<SqlType>> {
        self.step()?;
        Ok(self.reader.columns().iter().map(|column| column.sql_type.unwrap_or(SqlType::Int)).collect())
    }
}

/// 3617: the client has given the load up.
fn given_up() -> SqlError {
    SqlError::custom(3617, 16, 1, "The client gave the bulk load up while sending it.".into())
}

fn query_out_of_memory(_: os::memory::OutOfMemory) -> SqlError {
    SqlError::new(701, &[&"default"])
}
