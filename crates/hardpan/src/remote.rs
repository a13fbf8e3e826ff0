//! A connection to a server over TDS, for `hardpan sql -S` and `hardpan doctor`: TLS inside PRELOGIN, login, batches, tokens.

use core::net::Ipv6Addr;
use std::io::{Read, Write};
use std::sync::Arc;

use os::{IoErrorKind, Os, Stream};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use tds::client::{RequestWriter, Token, TokenReader};
use tds::limits::PACKET_BYTES_DEFAULT;
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::{MessageReader, MessageWriter, PacketKind, ReadLimits};
use tds::prelogin::{Encryption, PreLogin};
use tds::token::{EnvChange, done};

/// The requested packet size.
const PACKET_BYTES: u32 = 16_384;
const CONNECT_TIMEOUT_NS: u64 = 15_000_000_000;
/// The largest answer held at once, in bytes.
const ANSWER_BYTES_MAX: usize = 2 << 30;

const DEFAULT_PORT: &str = "1433";
/// The prefix that requests the dedicated administrator connection, and its port.
const ADMINISTRATOR_PREFIX: &str = "admin:";
const ADMINISTRATOR_PORT: &str = "1434";

/// The poll interval for interrupts while an answer is awaited.
const INTERRUPT_POLL_NS: u64 = 50_000_000;

/// The address and login of a connection.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// `host:port`.
    pub address: String,
    /// Login name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Initial database, empty for the login's own.
    pub database: String,
    /// Name of this program as the server shows it.
    pub application: String,
    /// Trust any certificate also from another machine.
    pub trust_certificate: bool,
}

/// `host`, `host,port`, `tcp:host,port`, `[::1],port` and `admin:host` (the dedicated administrator connection) as an address to connect to.
///
/// # Errors
/// An error text with the correct form.
pub fn address_of(server: &str) -> Result<String, String> {
    let (is_administrator, name) = match server.split_at_checked(ADMINISTRATOR_PREFIX.len()) {
        Some((prefix, name)) if prefix.eq_ignore_ascii_case(ADMINISTRATOR_PREFIX) => (true, name),
        _ => (false, server),
    };
    let name = name.strip_prefix("tcp:").unwrap_or(name);
    let default_port = if is_administrator { ADMINISTRATOR_PORT } else { DEFAULT_PORT };
    let (host, port) = name.rsplit_once(',').unwrap_or((name, default_port));
    let (host, port) = (host.trim(), port.trim());
    if host.contains('\\') {
        return Err(format!(
            "'{server}': there are no named instances; a server is written HOST or HOST,PORT"
        ));
    }
    if !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Err(format!(
            "'{server}': the port '{port}' is no number from 1 to 65535; a server is written HOST or HOST,PORT"
        ));
    }
    let host = match host {
        "." | "(local)" | "" => "127.0.0.1",
        host => host,
    };
    let is_ipv6 = host.trim_matches(['[', ']']).parse::<Ipv6Addr>().is_ok();
    if host.contains(':') && !is_ipv6 {
        let written = host.replacen(':', ",", 1);
        return Err(format!("'{server}': a comma stands before the port, as in {written}"));
    }
    let is_bare = is_ipv6 && !host.starts_with('[');
    Ok(if is_bare { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// The password, asked for at the terminal when it was given neither as an argument nor in the environment; empty without a terminal.
///
/// # Errors
/// The user has cancelled the question.
pub fn password_for(given: Option<&str>, user: &str) -> Result<String, String> {
    if let Some(password) = given {
        return Ok(password.into());
    }
    match os::terminal::ask_secret(&format!("Password of {user}: ")) {
        Ok(answer) => Ok(answer.unwrap_or_default()),
        Err(_) => Err("no password was given (-P, or HARDPAN_SA_PASSWORD)".into()),
    }
}

/// An open connection.
pub struct Connection {
    stream: Arc<dyn Stream>,
    tls: Option<ClientConnection>,
    reader: MessageReader,
    writer: RequestWriter,
    version: TdsVersion,
}

impl Connection {
    /// Connects, encrypts, logs in. Tokens of the login's answer (messages among them) are passed to `seen`.
    pub fn open(
        os: &Os,
        options: &ConnectionOptions,
        seen: &mut dyn FnMut(&Token),
    ) -> Result<Connection, String> {
        let stream =
            os.net().connect(&options.address, CONNECT_TIMEOUT_NS).map_err(|error| error.to_string())?;
        let version = TdsVersion::V7_4;
        let mut connection = Connection {
            stream,
            tls: None,
            reader: MessageReader::new(ReadLimits::session(ANSWER_BYTES_MAX)),
            writer: RequestWriter::new(version, PACKET_BYTES_DEFAULT),
            version,
        };
        connection.negotiate(options)?;
        connection.log_in(options, seen)?;
        Ok(connection)
    }

    /// Runs a batch; each token of its answer is passed to `seen`. While the answer is awaited, the next interrupt sends an
    /// attention, and a second one closes the connection.
    pub fn batch(
        &mut self,
        text: &str,
        interrupts: &dyn Fn() -> u32,
        seen: &mut dyn FnMut(&Token),
    ) -> Result<(), String> {
        let mut cancel = Cancel { interrupts, before: interrupts(), is_sent: false };
        let packets = self.writer.batch(text, 0);
        self.send(&packets)?;
        self.stream.set_read_timeout(Some(INTERRUPT_POLL_NS)).map_err(|error| error.to_string())?;
        let mut is_acknowledged = self.answer(Some(&mut cancel), seen)?;
        // The server acknowledges an attention even if the batch had ended before it came.
        while cancel.is_sent && !is_acknowledged {
            is_acknowledged = self.answer(Some(&mut cancel), seen)?;
        }
        self.stream.set_read_timeout(None).map_err(|error| error.to_string())
    }

    fn negotiate(&mut self, options: &ConnectionOptions) -> Result<(), String> {
        let message = PreLogin {
            version: Some((0, 1, 0, 0)),
            encryption: Some(Encryption::On),
            mars: Some(false),
            ..PreLogin::default()
        };
        let packets = self.writer.prelogin(&message);
        self.send(&packets)?;
        self.receive(None)?;
        let answer = PreLogin::decode(self.reader.payload()).map_err(|error| error.to_string())?;
        match answer.encryption {
            Some(Encryption::On | Encryption::Required)
                if options.trust_certificate || self.stream.is_loopback() =>
            {
                self.start_tls()
            }
            Some(Encryption::On | Encryption::Required) => {
                Err("the server's certificate cannot be checked; -C trusts it as it is".into())
            }
            _ => Err("the server does not offer encryption".into()),
        }
    }

    /// The TLS handshake, with its records wrapped in PRELOGIN packets.
    fn start_tls(&mut self) -> Result<(), String> {
        let name = ServerName::try_from("localhost").map_err(|error| error.to_string())?;
        let mut tls = ClientConnection::new(Arc::new(trusting_configuration()?), name)
            .map_err(|error| error.to_string())?;
        let mut writer = MessageWriter::new(PacketKind::PreLogin, PACKET_BYTES_DEFAULT, 0);
        while tls.is_handshaking() {
            while tls.wants_write() {
                tls.write_tls(&mut writer.payload).map_err(|error| error.to_string())?;
            }
            if !writer.payload.is_empty() {
                let mut packets = Vec::new();
                writer.finish(&mut packets);
                self.send(&packets)?;
            }
            if tls.is_handshaking() {
                self.receive(None)?;
                let mut records = self.reader.payload();
                while !records.is_empty() {
                    tls.read_tls(&mut records).map_err(|error| error.to_string())?;
                    tls.process_new_packets().map_err(|error| error.to_string())?;
                }
            }
        }
        self.tls = Some(tls);
        Ok(())
    }

    fn log_in(&mut self, options: &ConnectionOptions, seen: &mut dyn FnMut(&Token)) -> Result<(), String> {
        let login = Login7 {
            packet_bytes: PACKET_BYTES,
            client_process_id: os::process::id(),
            host_name: os::process::host_name(),
            user_name: options.user.clone(),
            password: Password(options.password.clone()),
            application_name: options.application.clone(),
            server_name: options.address.clone(),
            library_name: "hardpan".into(),
            database: options.database.clone(),
            ..Login7::default()
        };
        let packets = self.writer.login7(&login);
        self.send(&packets)?;
        let mut accepted = false;
        self.answer(None, &mut |token| {
            accepted |= matches!(token, Token::LoginAck { .. });
            seen(token);
        })?;
        if accepted { Ok(()) } else { Err("the login was refused".into()) }
    }

    /// Reads one whole answer and applies its environment changes. True when it acknowledges an attention.
    fn answer(
        &mut self,
        cancel: Option<&mut Cancel<'_>>,
        seen: &mut dyn FnMut(&Token),
    ) -> Result<bool, String> {
        self.receive(cancel)?;
        let mut changes = Vec::new();
        let mut is_acknowledged = false;
        let mut tokens = TokenReader::new(self.reader.payload(), self.version);
        while let Some(token) = tokens.next().map_err(|error| error.to_string())? {
            if let Token::EnvChange(change) = &token {
                changes.push(change.clone());
            }
            is_acknowledged |= matches!(&token, Token::Done(end) if end.status & done::ATTENTION != 0);
            seen(&token);
        }
        for change in changes {
            match change {
                EnvChange::PacketSize(bytes, _) => self.writer.negotiate(self.version, bytes as usize),
                EnvChange::BeginTransaction(descriptor) => self.writer.transaction_descriptor = descriptor,
                EnvChange::CommitTransaction(_) | EnvChange::RollbackTransaction(_) => {
                    self.writer.transaction_descriptor = 0;
                }
                _ => {}
            }
        }
        Ok(is_acknowledged)
    }

    fn send(&mut self, packets: &[u8]) -> Result<(), String> {
        let Some(tls) = &mut self.tls else {
            return self.stream.write_all(packets).map_err(|error| error.to_string());
        };
        let mut records = Vec::new();
        for piece in packets.chunks(32 * 1024) {
            tls.writer().write_all(piece).map_err(|error| error.to_string())?;
            while tls.wants_write() {
                tls.write_tls(&mut records).map_err(|error| error.to_string())?;
            }
        }
        self.stream.write_all(&records).map_err(|error| error.to_string())
    }

    /// Reads until the reader holds a whole message.
    fn receive(&mut self, mut cancel: Option<&mut Cancel<'_>>) -> Result<(), String> {
        let mut buffer = [0; 16 * 1024];
        let mut plain = Vec::new();
        loop {
            if self.reader.next().map_err(|error| error.to_string())?.is_some() {
                return Ok(());
            }
            if let Some(cancel) = &mut cancel
                && cancel.is_due()?
            {
                let packets = self.writer.attention();
                self.send(&packets)?;
            }
            let count = match self.stream.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if cancel.is_some() && error.kind == IoErrorKind::TimedOut => continue,
                Err(error) => return Err(error.to_string()),
            };
            if count == 0 {
                return Err("the server closed the connection".into());
            }
            let Some(tls) = &mut self.tls else {
                self.reader.feed(&buffer[..count]).map_err(|error| error.to_string())?;
                continue;
            };
            let mut records = &buffer[..count];
            while !records.is_empty() {
                tls.read_tls(&mut records).map_err(|error| error.to_string())?;
                let state = tls.process_new_packets().map_err(|error| error.to_string())?;
                let at = plain.len();
                plain.resize(at + state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(&mut plain[at..]).map_err(|error| error.to_string())?;
            }
            self.reader.feed(&plain).map_err(|error| error.to_string())?;
            plain.clear();
        }
    }
}

/// Handles Ctrl-C while an answer is awaited.
struct Cancel<'a> {
    interrupts: &'a dyn Fn() -> u32,
    before: u32,
    is_sent: bool,
}

impl Cancel<'_> {
    /// Must an attention be sent now? An error when the server does not answer the one that was sent.
    fn is_due(&mut self) -> Result<bool, String> {
        match (self.interrupts)() - self.before {
            0 => Ok(false),
            1 => Ok(!std::mem::replace(&mut self.is_sent, true)),
            _ if !self.is_sent => {
                self.is_sent = true;
                Ok(true)
            }
            _ => Err("the server has not answered the cancellation yet; the connection is given up".into()),
        }
    }
}

/// TLS 1.2 (the only version that fits into PRELOGIN packets), any certificate: as sqlcmd with -C. This protects the password from
/// eavesdroppers, not from a false server.
fn trusting_configuration() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS12])
        .map_err(|error| error.to_string())?;
    let verifier = Arc::new(AnyCertificate { provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts every certificate, but checks that the server holds its key.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn servers_are_named_as_sqlcmd_names_them() {
        for (server, address) in [
            ("localhost", "localhost:1433"),
            ("127.0.0.1,14330", "127.0.0.1:14330"),
            ("tcp:db, 99", "db:99"),
            (".", "127.0.0.1:1433"),
            ("::1,5", "[::1]:5"),
            ("[::1]", "[::1]:1433"),
            ("admin:", "127.0.0.1:1434"),
            ("ADMIN:db", "db:1434"),
            ("admin:127.0.0.1,14331", "127.0.0.1:14331"),
        ] {
            assert_eq!(address_of(server).as_deref(), Ok(address));
        }
    }

    #[test]
    fn what_is_no_server_is_told_with_how_to_write_it() {
        for (server, part) in [
            ("127.0.0.1:1433", "127.0.0.1,1433"),
            ("db:1433", "db,1433"),
            ("admin:db:1434", "db,1434"),
            ("db,", "HOST,PORT"),
            ("db,many", "HOST,PORT"),
            ("db,0", "HOST,PORT"),
            ("db,70000", "HOST,PORT"),
            ("db\\SQLEXPRESS", "named instances"),
        ] {
            let told = address_of(server).expect_err(server);
            assert!(told.contains(part) && told.contains(server), "{told}");
        }
    }
}
