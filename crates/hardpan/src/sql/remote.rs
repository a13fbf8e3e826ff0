//! Batches over the wire: the network half is `crate::remote`; here its tokens become printed lines.

use os::Os;
use tds::client::Token;

use super::printer::{PrintedColumn, Printer};
use super::{Arguments, Backend, BatchEnd};
use crate::remote::RemoteOptions;

/// A connection to a server.
pub(super) struct Remote {
    inner: crate::remote::Remote,
    server: String,
}

impl Remote {
    pub(super) fn connect(os: &Os, server: &str, arguments: &Arguments) -> Result<Remote, String> {
        let (host, port) = server.split_once(',').unwrap_or((server, "1433"));
        let port: u16 = port.trim().parse().map_err(|_| format!("-S wants HOST or HOST,PORT, not '{server}'"))?;
        let host = host.strip_prefix("tcp:").unwrap_or(host).trim();
        let host = if matches!(host, "." | "(local)" | "") { "127.0.0.1" } else { host };
        let options = RemoteOptions {
            address: format!("{host}:{port}"),
            user: arguments.user.clone(),
            password: arguments.password.clone(),
            database: arguments.database.clone().unwrap_or_default(),
            application: "hardpan sql".into(),
        };
        let inner = crate::remote::Remote::connect(os, &options, &mut |_| {})?;
        Ok(Remote { inner, server: host.to_string() })
    }
}

impl Backend for Remote {
    fn batch(&mut self, text: &str, printer: &mut Printer) -> BatchEnd {
        let outcome = self.inner.batch(text, &mut |token| print_token(token, printer));
        match outcome {
            Ok(()) => BatchEnd::Next,
            Err(problem) => {
                eprintln!("hardpan sql: {problem}");
                BatchEnd::Closed
            }
        }
    }

    fn server_name(&self) -> String {
        self.server.clone()
    }

    fn close(self: Box<Self>) {}
}

fn print_token(token: &Token, printer: &mut Printer) {
    match token {
        Token::Columns(columns) => {
            printer.columns(columns.iter().map(|c| PrintedColumn { name: c.name.clone(), sql_type: c.sql_type.clone() }).collect());
        }
        Token::Row(row) => printer.row(row),
        Token::Message { error, .. } => printer.message(error),
        Token::Done(done) => printer.done((done.status & tds::token::done::COUNT != 0).then_some(done.row_count)),
        Token::ReturnStatus(_)
        | Token::ReturnValue { .. }
        | Token::EnvChange(_)
        | Token::LoginAck { .. }
        | Token::FeatureAcks(_)
        | Token::Ignored(_) => {}
    }
}
