//! From the first byte to an open session: TLS, PRELOGIN, LOGIN7, authentication, the answer.
//!
//! ```text
//!  first byte 0x16 ─► strict TLS ─┐
//!  otherwise ─────────────────────┴► PRELOGIN (may be absent) ─► plan_encryption ─► [TLS in PRELOGIN packets]
//!     ─► LOGIN7 ─► [back to plain packets] ─► authenticate ─► open_session ─► answer
//! ```

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use os::IoError;
use tds::ProtocolError;
use tds::limits::{PACKET_BYTES_MAX, PACKET_BYTES_MIN};
use tds::login7::{Login7, feature, options};
use tds::packet::PacketKind;
use tds::prelogin::{Encryption, EncryptionPlan, PreLogin, agree};
use tds::server::Encoder;
use tds::token::{DEFAULT_COLLATION, DoneKind, DoneToken, EnvChange, done};
use types::SqlError;

use crate::channel::{Channel, ChannelError};
use crate::seam::{ClientSession, LoginInfo};
use crate::shared::Shared;
use crate::sink::PacketSink;

/// Version that LOGINACK and PRELOGIN report: drivers choose dialects by it.
pub const REPORTED_VERSION: (u8, u8, u16) = (16, 0, 1000);
/// Program name of LOGINACK; drivers show it, some compare it.
const PROGRAM_NAME: &str = "Microsoft SQL Server";
/// Packet size when the client leaves it to us.
const PACKET_BYTES_CHOSEN: usize = 8_000;
const LANGUAGE: &str = "us_english";

/// A connection whose login has been answered.
pub struct LoggedIn {
    /// Its session.
    pub session: Box<dyn ClientSession>,
    /// The encoder as negotiated.
    pub encoder: Encoder,
}

/// Runs the whole handshake. `None`: the client was refused and has been told why, or went away.
pub fn log_in(
    shared: &Shared,
    channel: &mut Channel,
    admitted: bool,
) -> Result<Option<LoggedIn>, ChannelError> {
    let strict = channel.begins_with_tls()?;
    if strict {
        channel.start_strict_tls(shared.tls.start_strict()?)?;
    }
    let Some(login) = receive_login(shared, channel, strict)? else {
        return Ok(None);
    };
    let spid = 0;
    let mut encoder = Encoder::new(login.version, packet_bytes(&login), spid, &shared.config.server_name);
    let opened =
        authenticate(shared, channel, &login, admitted).and_then(|info| open_session(shared, info, &login));
    match opened {
        Ok(session) => {
            encoder.set_spid(session.id());
            answer(&mut encoder, &login, session.as_ref());
            send(channel, &mut encoder)?;
            Ok(Some(LoggedIn { session, encoder }))
        }
        Err(errors) => {
            refuse(channel, &mut encoder, &errors)?;
            Ok(None)
        }
    }
}

/// PRELOGIN and LOGIN7 with the encryption they agree on.
fn receive_login(
    shared: &Shared,
    channel: &mut Channel,
    strict: bool,
) -> Result<Option<Login7>, ChannelError> {
    let mut login_only = false;
    let mut seen_prelogin = false;
    loop {
        let Some(head) = channel.next_message()? else {
            return Ok(None);
        };
        match head.kind {
            PacketKind::PreLogin if !seen_prelogin => {
                seen_prelogin = true;
                let message = PreLogin::decode(channel.payload())?;
                let plan = answer_prelogin(shared, channel, &message, strict)?;
                login_only = plan == EncryptionPlan::LoginOnly;
                if plan != EncryptionPlan::Plaintext {
                    channel.start_wrapped_tls(shared.tls.start_wrapped()?, login_only)?;
                }
            }
            PacketKind::Login7 => {
                let login = Login7::decode(channel.payload())?;
                let protected = channel.is_encrypted();
                if login_only {
                    channel.stop_tls();
                }
                if !protected && !plaintext_is_allowed(shared, channel) {
                    let mut encoder = Encoder::new(login.version, 4096, 0, &shared.config.server_name);
                    refuse(
                        channel,
                        &mut encoder,
                        &[login_failed(&login, "A login without encryption is taken only from this machine")],
                    )?;
                    return Ok(None);
                }
                return Ok(Some(login));
            }
            kind => {
                return Err(
                    ProtocolError::Invalid { part: "packet type before login", value: kind as u64 }.into()
                );
            }
        }
    }
}

/// Answers PRELOGIN and returns what follows. Under strict TLS the encryption byte means nothing and is echoed.
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
        // The client cannot encrypt and must: it hangs up on this byte before it sends its password.
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

/// Checks who it is. The error is what the client is told; the log knows more.
fn authenticate(
    shared: &Shared,
    channel: &Channel,
    login: &Login7,
    admitted: bool,
) -> Result<LoginInfo, Vec<SqlError>> {
    let peer = peer_of(channel);
    if !admitted {
        let text = format!(
            "Could not connect because the maximum number of '{}' user connections has already been reached.",
            shared.config.connections_max
        );
        return Err(vec![SqlError::custom(17809, 20, 1, text)]);
    }
    let integrated = login.flags[1] & options::FLAGS2_INTEGRATED_SECURITY != 0 || !login.sspi.is_empty();
    let federated = login.features.iter().any(|(id, _)| *id == feature::FEDERATED_AUTHENTICATION);
    if integrated || federated {
        let text =
            "Login failed. This server takes SQL logins only, not Windows or federated authentication.";
        return Err(vec![SqlError::custom(18452, 14, 1, text.into())]);
    }
    let Some(account) = shared.logins.authenticate(&login.user_name, &login.password.0, peer.ip()) else {
        os::report::warn(
            "Logon",
            &format!("login failed for user '{}' from {}", login.user_name.escape_debug(), peer.ip()),
        );
        return Err(vec![login_failed(login, "")]);
    };
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
    Ok(LoginInfo {
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
    })
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

/// The packet size to use for what the client asked (0 leaves it to us).
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
