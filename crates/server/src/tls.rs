//! TLS by rustls: certificates, the two configurations (wrapped in PRELOGIN, and strict), and the record pump.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use os::{IoError, Os};
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::config::ServeError;

/// ALPN name of strict TDS 8.0.
const ALPN_TDS_8: &[u8] = b"tds/8.0";
/// Names of the pair in the data directory.
const CERTIFICATE_FILE: &str = "server-cert.pem";
const KEY_FILE: &str = "server-key.pem";

/// The data to start TLS for a connection.
#[derive(Clone)]
pub struct TlsContext {
    wrapped: Arc<ServerConfig>,
    strict: Arc<ServerConfig>,
}

impl TlsContext {
    /// Uses the given certificate chain and key (both PEM).
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<TlsContext, ServeError> {
        let bad = |what: &str, error: &dyn std::fmt::Display| ServeError::Tls(format!("{what}: {error}"));
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| bad("the certificate file is not PEM", &error))?;
        if chain.is_empty() {
            return Err(ServeError::Tls("the certificate file holds no certificate".into()));
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| bad("the key file is not a PEM key", &error))?;
        // TLS 1.3 inside PRELOGIN packets breaks stock clients (ODBC, JDBC, GnuTLS); only strict may use it.
        let wrapped = configuration(&[&rustls::version::TLS12], chain.clone(), key.clone_key(), &[])?;
        let both: [&rustls::SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];
        let strict = configuration(&both, chain, key, &[ALPN_TDS_8.to_vec()])?;
        Ok(TlsContext { wrapped: Arc::new(wrapped), strict: Arc::new(strict) })
    }

    /// Uses the pair in `data_dir`; creates a self-signed one when there is none.
    pub fn from_data_dir(os: &Os, data_dir: &Path, host_name: &str) -> Result<TlsContext, ServeError> {
        let (certificate_path, key_path) = (data_dir.join(CERTIFICATE_FILE), data_dir.join(KEY_FILE));
        if !os.disk().exists(&certificate_path) || !os.disk().exists(&key_path) {
            let (certificate, key) = self_signed(host_name)?;
            os.disk().replace_private_file(&key_path, key.as_bytes())?;
            os.disk().replace_private_file(&certificate_path, certificate.as_bytes())?;
        }
        TlsContext::from_files(os, &certificate_path, &key_path)
    }

    /// Uses a pair of PEM files.
    pub fn from_files(os: &Os, certificate: &Path, key: &Path) -> Result<TlsContext, ServeError> {
        TlsContext::from_pem(&os.disk().read_file(certificate)?, &os.disk().read_file(key)?)
    }

    /// A handshake whose records are wrapped in PRELOGIN packets: TLS 1.2 only.
    pub fn start_wrapped(&self) -> Result<TlsSession, IoError> {
        TlsSession::new(&self.wrapped)
    }

    /// A handshake before anything else (strict, TDS 8.0).
    pub fn start_strict(&self) -> Result<TlsSession, IoError> {
        TlsSession::new(&self.strict)
    }
}

fn configuration(
    versions: &[&'static rustls::SupportedProtocolVersion],
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    protocols: &[Vec<u8>],
) -> Result<ServerConfig, ServeError> {
    let refused =
        |error: rustls::Error| ServeError::Tls(format!("the certificate and key cannot be used: {error}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_protocol_versions(versions).map_err(refused)?;
    let mut configuration = builder.with_no_client_auth().with_single_cert(chain, key).map_err(refused)?;
    configuration.alpn_protocols = protocols.to_vec();
    configuration.send_tls13_tickets = 0;
    Ok(configuration)
}

/// A new self-signed certificate and its key, both PEM.
fn self_signed(host_name: &str) -> Result<(String, String), ServeError> {
    let failed =
        |error: rcgen::Error| ServeError::Tls(format!("a self-signed certificate cannot be made: {error}"));
    let mut names = vec!["localhost".to_string(), "127.0.0.1".to_string(), "::1".to_string()];
    if !host_name.is_empty() && host_name.is_ascii() {
        names.push(host_name.to_string());
    }
    let mut parameters = CertificateParams::new(names).map_err(failed)?;
    parameters.distinguished_name.push(DnType::CommonName, "Hardpan self-signed");
    parameters.not_before = rcgen::date_time_ymd(2025, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2049, 12, 31);
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// One TLS session as a pump between records (from and to the wire) and plain bytes; it uses no socket.
pub struct TlsSession {
    connection: ServerConnection,
}

impl TlsSession {
    fn new(configuration: &Arc<ServerConfig>) -> Result<TlsSession, IoError> {
        let connection =
            ServerConnection::new(configuration.clone()).map_err(|error| protocol_error(&error))?;
        Ok(TlsSession { connection })
    }

    /// True until both sides have finished their handshakes.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Takes records from the wire; plain bytes that come out are appended to `plain`. An error may leave an alert
    /// to send in [`take_records`](Self::take_records).
    pub fn receive(&mut self, mut records: &[u8], plain: &mut Vec<u8>) -> Result<(), IoError> {
        while !records.is_empty() {
            if self
                .connection
                .read_tls(&mut records)
                .map_err(|error| IoError::from_std(&error, "read TLS"))?
                == 0
            {
                break;
            }
            let state = self.connection.process_new_packets().map_err(|error| protocol_error(&error))?;
            let at = plain.len();
            plain.resize(at + state.plaintext_bytes_to_read(), 0);
            let read = self.connection.reader().read_exact(&mut plain[at..]);
            read.map_err(|error| IoError::from_std(&error, "read TLS"))?;
        }
        Ok(())
    }

    /// Encrypts plain bytes; records are appended to `records`.
    pub fn send(&mut self, plain: &[u8], records: &mut Vec<u8>) -> Result<(), IoError> {
        for piece in plain.chunks(32 * 1024) {
            let written = self.connection.writer().write_all(piece);
            written.map_err(|error| IoError::from_std(&error, "write TLS"))?;
            self.take_records(records)?;
        }
        Ok(())
    }

    /// Appends the records to send (handshake, alerts, data).
    pub fn take_records(&mut self, records: &mut Vec<u8>) -> Result<(), IoError> {
        while self.connection.wants_write() {
            self.connection.write_tls(records).map_err(|error| IoError::from_std(&error, "write TLS"))?;
        }
        Ok(())
    }
}

fn protocol_error(error: &rustls::Error) -> IoError {
    let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string());
    IoError::from_std(&error, "TLS")
}
