//! Batches over the wire: the back end of `hardpan sql -S`.

use os::Os;
use tds::client::Token;
use tds::token::done;

use super::arguments::Arguments;
use super::backend::{Backend, BatchEnd};
use super::printer::{PrintedColumn, Printer};
use crate::remote::{Connection, ConnectionOptions, address_of, password_for};

/// From this severity on the server ends the session with an error.
const FATAL_SEVERITY: u8 = 20;

/// A connection to a server.
pub(super) struct Remote {
    connection: Connection,
    server_name: String,
}

impl Remote {
    pub(super) fn connect(os: &Os, server: &str, arguments: &Arguments) -> Result<Remote, String> {
        let options = ConnectionOptions {
            address: address_of(server)?,
            user: arguments.user.clone(),
            password: password_for(arguments.password.as_deref(), &arguments.user)?,
            database: arguments.database.clone().unwrap_or_default(),
            application: "hardpan sql".into(),
            trust_certificate: arguments.trust_certificate,
        };
        let mut refusals = Vec::new();
        let mut server_name = server.to_string();
        let connection = Connection::open(os, &options, &mut |token| {
            if let Token::Message { error, server_name: name } = token {
                server_name.clone_from(name);
                if !error.is_information() {
                    refusals.push(error.message.clone());
                }
            }
        });
        let connection =
            connection.map_err(|problem| if refusals.is_empty() { problem } else { refusals.join(" ") })?;
        Ok(Remote { connection, server_name })
    }
}

impl Backend for Remote {
    fn batch(&mut self, text: &str, printer: &mut Printer, interrupts: &dyn Fn() -> u32) -> BatchEnd {
        let before = interrupts();
        let mut is_ended = false;
        let outcome = self.connection.batch(text, interrupts, &mut |token| match token {
            // The remaining rows of a cancelled batch are not shown, only the server's messages.
            Token::Columns(_) | Token::Row(_) | Token::Done(_) if interrupts() > before => {}
            Token::Columns(columns) => printer.columns(
                columns
                    .iter()
                    .map(|column| PrintedColumn { name: column.name.clone(), sql_type: column.sql_type })
                    .collect(),
            ),
            Token::Row(row) => printer.row(row),
            Token::Message { error, .. } => {
                is_ended |= error.severity >= FATAL_SEVERITY;
                printer.message(error);
            }
            Token::Done(end) => printer.done((end.status & done::COUNT != 0).then_some(end.row_count)),
            _ => {}
        });
        match outcome {
            Ok(()) if is_ended => BatchEnd::Closed,
            Ok(()) => BatchEnd::Next,
            Err(problem) => {
                eprintln!("hardpan sql: {problem}");
                BatchEnd::Closed
            }
        }
    }

    fn server_name(&self) -> String {
        self.server_name.clone()
    }

    fn close(self: Box<Self>) {}
}
