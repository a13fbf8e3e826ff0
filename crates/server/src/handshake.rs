//! From the first byte to an open session: TLS, PRELOGIN, LOGIN7, authentication, the answer.
//!
//! ```text
//!  first byte 0x16 ─► strict TLS ─┐
//!  otherwise ─────────────────────┴► PRELOGIN (may be absent) ─► plan_encryption ─► [TLS in PRELOGIN packets]
//!     ─► LOGIN7 ─► [back to plain packets] ─► Authenticator::check ─► admit ─► open_session ─► answer
//! ```
//! Workers run it for each received message, like any request: a silent client has no thread, and no place among the logged-in
//! connections.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use os::IoError;
use tds::ProtocolError;
use tds::limits::{PACKET_BYTES_MAX, PACKET_BYTES_MIN};
use tds::login7::{Login7, feature, options};
use tds::packet::{MessageHead, PacketKind};
use tds::prelogin::{Encryption, EncryptionPlan, PreLogin, agree};
use tds::server::Encoder;
use tds::token::{DEFAULT_COLLATION, DoneKind, DoneToken, EnvChange, done};
use types::SqlError;

use crate::authentication::Attempt;
use crate::channel::{Channel, ChannelError, First, Next};
use crate::connection_slots::ConnectionSlot;
use crate::logins::Login;
use crate::monitor::ConnectionEntry;
use crate::seam::{ClientSession, LoginInfo};
use crate::shared::Shared;
use crate::sink::PacketSink;
use crate::tls::TlsSession;

/// The version in LOGINACK and PRELOGIN: drivers choose dialects by it.
pub const REPORTED_VERSION: (u8, u8, u16) = (16, 0, 1000);
/// Program name of LOGINACK; drivers show it, some compare it.
const PROGRAM_NAME: &str = "Microsoft SQL Server";
/// Packet size when the client leaves it to the server.
const PACKET_BYTES_CHOSEN: usize = 8_000;
const LANGUAGE: &str = "us_english";

/// A connection whose login has been answered.
pub struct LoggedIn {
    /// Its session.
    pub session: Box<dyn ClientSession>,
    /// The encoder as negotiated.
    pub encoder: Encoder,
    /// Its place among the logged-in connections.
    pub place: ConnectionSlot,
    /// The client multiplexes several sessions from now on (MARS).
    pub is_multiplexed: bool,
}

/// The progress of a login.
pub enum Progress {
    /// Waits for the client.
    Waits,
    /// The password is being checked; the checking thread wakes the connection.
    Checking,
    /// The client was refused with an error, or has closed the connection.
    Ended,
    /// The login has been answered.
    LoggedIn(LoggedIn),
}

/// A login in progress. It never blocks the thread that runs it, except while the session is opened.
pub struct Handshake {
    is_administrator: bool,
    /// The client has asked for several sessions on the connection.
    is_multiplexed: bool,
    stage: Stage,
}

enum Stage {
    /// Nothing was received yet.
    First,
    /// PRELOGIN, the steps of a TLS handshake, LOGIN7.
    Messages { strict: bool, seen_prelogin: bool },
    /// The steps of a TLS handshake in PRELOGIN packets.
    Tls { session: Box<TlsSession>, login_only: bool },
    /// LOGIN7, after such a handshake.
    Login { login_only: bool },
    /// The password is being checked.
    Checking { login: Box<Login7>, attempt: Arc<Attempt> },
}

impl Handshake {
    /// For a client from which nothing was received yet. `is_administrator`: it came through the administrators' port.
    pub fn new(is_administrator: bool) -> Handshake {
        Handshake { is_administrator, is_multiplexed: false, stage: Stage::First }
    }

    /// Is another thread working for it?
    pub fn is_checking(&self) -> bool {
        matches!(self.stage, Stage::Checking { .. })
    }

    /// Continues as far as possible with the received bytes.
    pub fn go_on(
        &mut self,
        shared: &Shared,
        channel: &mut Channel,
        entry: &Arc<ConnectionEntry>,
    ) -> Result<Progress, ChannelError> {
        loop {
            if let Stage::Checking { login, attempt } = &self.stage {
                let Some(account) = attempt.outcome() else { return Ok(Progress::Checking) };
                let mut progress = conclude(shared, channel, login, account, self.is_administrator)?;
                if let Progress::LoggedIn(logged_in) = &mut progress {
                    logged_in.is_multiplexed = self.is_multiplexed;
                }
                return Ok(progress);
            }
            if let Stage::First = self.stage {
                let strict = match channel.poll_first()? {
                    First::Nothing => return Ok(Progress::Waits),
                    First::Closed => return Ok(Progress::Ended),
                    First::Tls => true,
                    First::Message => false,
                };
                if strict {
                    channel.start_strict_tls(shared.tls.start_strict()?)?;
                }
                self.stage = Stage::Messages { strict, seen_prelogin: false };
            }
            let head = match channel.poll_message()? {
                Next::Message(head) => head,
                Next::Nothing => return Ok(Progress::Waits),
                Next::Closed => return Ok(Progress::Ended),
            };
            if let Some(login) = self.message(shared, channel, head)? {
                let Some(attempt) = self.receive(shared, channel, &login, entry)? else {
                    return Ok(Progress::Ended);
                };
                self.stage = Stage::Checking { login: Box::new(login), attempt };
            }
            shared.table.half_open().has_spoken(entry.number());
        }
    }

    /// One message: PRELOGIN, a step of a handshake, or LOGIN7.
    fn message(
        &mut self,
        shared: &Shared,
        channel: &mut Channel,
        head: MessageHead,
    ) -> Result<Option<Login7>, ChannelError> {
        match (&mut self.stage, head.kind) {
            (Stage::Messages { strict, seen_prelogin }, PacketKind::PreLogin) if !*seen_prelogin => {
                *seen_prelogin = true;
                let message = PreLogin::decode(channel.payload())?;
                self.is_multiplexed = message.mars == Some(true);
                let plan = answer_prelogin(shared, channel, &message, *strict)?;
                if plan != EncryptionPlan::Plaintext {
                    let session = Box::new(shared.tls.start_wrapped()?);
                    self.stage = Stage::Tls { session, login_only: plan == EncryptionPlan::LoginOnly };
                }
                Ok(None)
            }
            (Stage::Tls { session, login_only }, PacketKind::PreLogin) => {
                if channel.step_wrapped_tls(session)? {
                    let login_only = *login_only;
                    if let Stage::Tls { session, .. } =
                        std::mem::replace(&mut self.stage, Stage::Login { login_only })
                    {
                        channel.finish_wrapped_tls(session, login_only)?;
                    }
                }
                Ok(None)
            }
            (Stage::Messages { .. } | Stage::Login { .. }, PacketKind::Login7) => {
                Ok(Some(Login7::decode(channel.payload())?))
            }
            (Stage::Tls { .. }, kind) => {
                Err(ProtocolError::Invalid { part: "packet type in a TLS handshake", value: kind as u64 }
                    .into())
            }
            (_, kind) => {
                Err(ProtocolError::Invalid { part: "packet type before login", value: kind as u64 }.into())
            }
        }
    }

    /// LOGIN7 was received: refuses it, or starts the password check.
    fn receive(
        &self,
        shared: &Shared,
        channel: &mut Channel,
        login: &Login7,
        entry: &Arc<ConnectionEntry>,
    ) -> Result<Option<Arc<Attempt>>, ChannelError> {
        let protected = channel.is_encrypted();
        if matches!(self.stage, Stage::Login { login_only: true }) {
            channel.stop_tls();
        }
        let refusal = if !protected && !plaintext_is_allowed(shared, channel) {
            Some(login_failed(login, "A login without encryption is taken only from this machine"))
        } else {
            kind_refused(login).or_else(|| shared.places.refusal(self.is_administrator))
        };
        if let Some(refusal) = refusal {
            refuse(channel, &mut encoder_for(shared, login), &[refusal])?;
            return Ok(None);
        }
        let attempt = Attempt::new(
            &login.user_name,
            &login.password.0,
            peer_of(channel).ip(),
            self.is_administrator,
            entry,
        );
        shared.table.half_open().is_checked(entry.number());
        shared.authenticator.check(&attempt);
        Ok(Some(attempt))
    }
}

fn encoder_for(shared: &Shared, login: &Login7) -> Encoder {
    let spid = 0;
    Encoder::new(login.version, packet_bytes(login), spid, &shared.config.server_name)
}

/// The password has been checked: opens the session and answers, or sends the client the error.
fn conclude(
    shared: &Shared,
    channel: &mut Channel,
    login: &Login7,
    account: Option<Login>,
    is_administrator: bool,
) -> Result<Progress, ChannelError> {
    let mut encoder = encoder_for(shared, login);
    let opened = admit(shared, channel, login, account, is_administrator)
        .and_then(|(info, place)| Ok((open_session(shared, info, login)?, place)));
    match opened {
        Ok((session, place)) => {
            encoder.set_spid(session.id());
            answer(&mut encoder, login, session.as_ref());
            send(channel, &mut encoder)?;
            Ok(Progress::LoggedIn(LoggedIn { session, encoder, place, is_multiplexed: false }))
        }
        Err(errors) => {
            refuse(channel, &mut encoder, &errors)?;
            Ok(Progress::Ended)
        }
    }
}

/// Answers PRELOGIN and returns the next step. Under strict TLS the encryption byte has no meaning and is echoed.
fn answer_prelogin(
    shared: &Shared,
    channel: &mut Channel,
    message: &PreLogin,
    strict: bool,
) -> Result<EncryptionPlan, ChannelError> {
    let asked = message.encryption.unwrap_or(Encryption::NotSupported);
    let (mut reply, mut plan) = agree(asked);
    if strict {
        (reply, plan) = (asked, EncryptionPlan::Plaintext);
    } else if plan == EncryptionPlan::Plaintext && !plaintext_is_allowed(shared, channel) {
        // The client cannot encrypt but must: it disconnects at this byte before it sends its password.
        reply = Encryption::Required;
    }
    let (major, minor, build) = REPORTED_VERSION;
    let mut encoder = Encoder::new(tds::login7::TdsVersion::V7_4, 4096, 0, "");
    encoder.prelogin(&message.answer((major, minor, build, 0), reply));
    send(channel, &mut encoder)?;
    Ok(plan)
}

fn plaintext_is_allowed(shared: &Shared, channel: &Channel) -> bool {
    shared.config.allow_plaintext_login || channel.stream().is_loopback()
}

/// Why a login of this kind is refused without a password check.
fn kind_refused(login: &Login7) -> Option<SqlError> {
    let integrated = login.flags[1] & options::FLAGS2_INTEGRATED_SECURITY != 0 || !login.sspi.is_empty();
    let federated = login.features.iter().any(|(id, _)| *id == feature::FEDERATED_AUTHENTICATION);
    let text = "Login failed. This server takes SQL logins only, not Windows or federated authentication.";
    (integrated || federated).then(|| SqlError::custom(18452, 14, 1, text.into()))
}

/// Takes a place for a client with the right password. The error goes to the client; the log has more detail.
fn admit(
    shared: &Shared,
    channel: &Channel,
    login: &Login7,
    account: Option<Login>,
    is_administrator: bool,
) -> Result<(LoginInfo, ConnectionSlot), Vec<SqlError>> {
    let peer = peer_of(channel);
    let Some(account) = account else {
        os::report::warn(
            "Logon",
            &format!("login failed for user '{}' from {}", login.user_name.escape_debug(), peer.ip()),
        );
        return Err(vec![login_failed(login, "")]);
    };
    let place = shared.places.take(is_administrator).map_err(|refusal| vec![refusal])?;
    if login.flags[3] & options::FLAGS3_CHANGE_PASSWORD != 0
        && let Err(error) = shared.logins.set_password(&account.name, &login.new_password.0)
    {
        os::report::error(
            "Logon",
            &format!("the password of '{}' could not be changed: {error}", account.name),
        );
        return Err(vec![login_failed(login, "The password could not be changed.")]);
    }
    let local: Option<SocketAddr> = channel.stream().local_address().parse().ok();
    let info = LoginInfo {
        login_name: account.name,
        host_name: login.host_name.clone(),
        program_name: login.application_name.clone(),
        host_process_id: login.client_process_id as i32,
        client_interface_name: login.library_name.clone(),
        database: if login.database.is_empty() { account.default_database } else { login.database.clone() },
        language: login.language.clone(),
        ansi_defaults: login.flags[1] & options::FLAGS2_ODBC != 0,
        client_address: peer.ip().to_string(),
        client_port: peer.port(),
        server_port: local.map_or(0, |address| address.port()),
        encrypted: channel.is_encrypted(),
        packet_bytes: packet_bytes(login) as u32,
    };
    Ok((info, place))
}

fn peer_of(channel: &Channel) -> SocketAddr {
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    channel.stream().peer_address().parse().unwrap_or(nowhere)
}

fn open_session(
    shared: &Shared,
    info: LoginInfo,
    login: &Login7,
) -> Result<Box<dyn ClientSession>, Vec<SqlError>> {
    shared.sessions.open(info).map_err(|error| vec![error, login_failed(login, "")])
}

fn login_failed(login: &Login7, why: &str) -> SqlError {
    let text =
        format!("Login failed for user '{}'.{}{why}", login.user_name, if why.is_empty() { "" } else { " " });
    SqlError::custom(18456, 14, 1, text).at_line(1)
}

/// The packet size from the client's request (0 leaves it to the server).
fn packet_bytes(login: &Login7) -> usize {
    match login.packet_bytes as usize {
        0 => PACKET_BYTES_CHOSEN,
        asked => asked.clamp(PACKET_BYTES_MIN, PACKET_BYTES_MAX),
    }
}

/// The tokens of an accepted login, in SQL Server's order. Features are not acknowledged: none is supported, and all
/// clients accept that.
fn answer(encoder: &mut Encoder, login: &Login7, session: &dyn ClientSession) {
    let database = session.database_name();
    let bytes = encoder.packet_bytes() as u32;
    let information =
        |number: i32, text: String, state: u8| SqlError::custom(number, 0, state, text).at_line(1);
    encoder.env_change(&EnvChange::Database(database.clone(), "master".into()));
    encoder.message(&information(5701, format!("Changed database context to '{database}'."), 2));
    encoder.env_change(&EnvChange::Collation(DEFAULT_COLLATION));
    encoder.env_change(&EnvChange::Language(LANGUAGE.into(), String::new()));
    encoder.message(&information(5703, format!("Changed language setting to {LANGUAGE}."), 1));
    encoder.login_ack(PROGRAM_NAME, REPORTED_VERSION);
    encoder.env_change(&EnvChange::PacketSize(
        bytes,
        if login.packet_bytes == 0 { 4096 } else { login.packet_bytes },
    ));
    encoder.done(&DoneToken { kind: DoneKind::Statement, status: 0, command: 0, row_count: 0 });
}

fn refuse(channel: &mut Channel, encoder: &mut Encoder, errors: &[SqlError]) -> Result<(), IoError> {
    errors.iter().for_each(|error| encoder.message(error));
    encoder.done(&DoneToken { kind: DoneKind::Statement, status: done::ERROR, command: 0, row_count: 0 });
    send(channel, encoder)
}

fn send(channel: &mut Channel, encoder: &mut Encoder) -> Result<(), IoError> {
    let mut packets = Vec::new();
    encoder.finish(&mut packets);
    channel.send(&packets)
}
