//! PRELOGIN: the first message of either side, a small table of options, which negotiates encryption.

use crate::error::ProtocolError;

/// The encryption byte of PRELOGIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Encryption {
    /// Encrypt the login only.
    Off = 0,
    /// Encrypt everything.
    On = 1,
    /// This side cannot encrypt.
    NotSupported = 2,
    /// Encrypt everything or disconnect.
    Required = 3,
    /// TLS came first (TDS 8.0); the byte has no meaning.
    Strict = 4,
}

impl Encryption {
    fn from_byte(byte: u8) -> Result<Self, ProtocolError> {
        // 0x80 (ENCRYPT_CLIENT_CERT) may be added to the others; client certificates are not requested.
        match byte & 0x7F {
            0 => Ok(Encryption::Off),
            1 => Ok(Encryption::On),
            2 => Ok(Encryption::NotSupported),
            3 => Ok(Encryption::Required),
            4 => Ok(Encryption::Strict),
            _ => Err(ProtocolError::invalid("PRELOGIN encryption", byte)),
        }
    }
}

/// The encryption of the connection after PRELOGIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncryptionPlan {
    /// LOGIN7 and everything else in plain packets.
    Plaintext,
    /// TLS for LOGIN7 alone, then plain packets.
    LoginOnly,
    /// TLS to the end of the connection.
    Everything,
}

/// Agrees on encryption as the protocol's table says, for a server that can encrypt: returns the byte to answer
/// with and what follows. A client that cannot encrypt (2) gets 2 back; whether its plaintext login is taken is not
/// decided here.
pub fn agree(client: Encryption) -> (Encryption, EncryptionPlan) {
    match client {
        Encryption::Off => (Encryption::Off, EncryptionPlan::LoginOnly),
        Encryption::On => (Encryption::On, EncryptionPlan::Everything),
        Encryption::NotSupported => (Encryption::NotSupported, EncryptionPlan::Plaintext),
        Encryption::Required | Encryption::Strict => (Encryption::On, EncryptionPlan::Everything),
    }
}

const VERSION: u8 = 0x00;
const ENCRYPTION: u8 = 0x01;
const INSTANCE: u8 = 0x02;
const THREAD_ID: u8 = 0x03;
const MARS: u8 = 0x04;
const TRACE_ID: u8 = 0x05;
const FEDERATED_AUTHENTICATION: u8 = 0x06;
const TERMINATOR: u8 = 0xFF;

/// A PRELOGIN message; options that were absent are `None`, unknown ones are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreLogin {
    /// Version of the sender: major, minor, build, sub-build.
    pub version: Option<(u8, u8, u16, u16)>,
    /// Encryption wanted (client) or agreed (server).
    pub encryption: Option<Encryption>,
    /// Requested instance name, without its final zero; in an answer empty means that it matches.
    pub instance: Option<Vec<u8>>,
    /// Thread of the client; no value in answers.
    pub thread_id: Option<Vec<u8>>,
    /// Several active result sets wanted.
    pub mars: Option<bool>,
    /// Connection and activity identifiers for tracing.
    pub trace_id: Option<Vec<u8>>,
    /// Federated authentication wanted.
    pub federated_authentication: Option<u8>,
}

impl PreLogin {
    /// Decodes the payload of a PRELOGIN message, any options in any order.
    pub fn decode(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut message = PreLogin::default();
        let mut table = payload;
        loop {
            let (&token, rest) =
                table.split_first().ok_or(ProtocolError::Truncated { part: "PRELOGIN options" })?;
            if token == TERMINATOR {
                return Ok(message);
            }
            let (entry, rest) =
                rest.split_first_chunk::<4>().ok_or(ProtocolError::Truncated { part: "PRELOGIN options" })?;
            let offset = usize::from(u16::from_be_bytes([entry[0], entry[1]]));
            let length = usize::from(u16::from_be_bytes([entry[2], entry[3]]));
            let data = payload
                .get(offset..offset + length)
                .ok_or(ProtocolError::Truncated { part: "PRELOGIN option data" })?;
            message.set(token, data)?;
            table = rest;
        }
    }

    fn set(&mut self, token: u8, data: &[u8]) -> Result<(), ProtocolError> {
        match token {
            VERSION => {
                let (head, tail) = data
                    .split_first_chunk::<4>()
                    .ok_or(ProtocolError::Truncated { part: "PRELOGIN version" })?;
                let sub_build = tail.first_chunk::<2>().map_or(0, |pair| u16::from_be_bytes(*pair));
                self.version = Some((head[0], head[1], u16::from_be_bytes([head[2], head[3]]), sub_build));
            }
            ENCRYPTION => {
                let byte = *data.first().ok_or(ProtocolError::Truncated { part: "PRELOGIN encryption" })?;
                self.encryption = Some(Encryption::from_byte(byte)?);
            }
            INSTANCE => {
                let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
                self.instance = Some(name.to_vec());
            }
            THREAD_ID => self.thread_id = Some(data.to_vec()),
            MARS => self.mars = Some(data.first().is_some_and(|byte| *byte != 0)),
            TRACE_ID => self.trace_id = Some(data.to_vec()),
            FEDERATED_AUTHENTICATION => {
                self.federated_authentication = Some(data.first().copied().unwrap_or(0))
            }
            _ => {}
        }
        Ok(())
    }

    /// Encodes the payload of a PRELOGIN message with the options that are set.
    pub fn encode(&self) -> Vec<u8> {
        let mut options: Vec<(u8, Vec<u8>)> = Vec::new();
        if let Some((major, minor, build, sub_build)) = self.version {
            let (build, sub_build) = (build.to_be_bytes(), sub_build.to_be_bytes());
            options.push((VERSION, vec![major, minor, build[0], build[1], sub_build[0], sub_build[1]]));
        }
        if let Some(encryption) = self.encryption {
            options.push((ENCRYPTION, vec![encryption as u8]));
        }
        if let Some(name) = &self.instance {
            options.push((INSTANCE, [name.as_slice(), &[0]].concat()));
        }
        if let Some(thread_id) = &self.thread_id {
            options.push((THREAD_ID, thread_id.clone()));
        }
        if let Some(mars) = self.mars {
            options.push((MARS, vec![mars.into()]));
        }
        if let Some(trace_id) = &self.trace_id {
            options.push((TRACE_ID, trace_id.clone()));
        }
        if let Some(byte) = self.federated_authentication {
            options.push((FEDERATED_AUTHENTICATION, vec![byte]));
        }
        let mut offset = options.len() * 5 + 1;
        let mut out = Vec::new();
        for (token, data) in &options {
            out.push(*token);
            out.extend_from_slice(&(offset as u16).to_be_bytes());
            out.extend_from_slice(&(data.len() as u16).to_be_bytes());
            offset += data.len();
        }
        out.push(TERMINATOR);
        out.extend(options.into_iter().flat_map(|(_, data)| data));
        out
    }

    /// The server's answer "in kind": version and encryption always, the rest as the client asked; federated authentication is declined.
    pub fn answer(&self, version: (u8, u8, u16, u16), encryption: Encryption) -> PreLogin {
        PreLogin {
            version: Some(version),
            encryption: Some(encryption),
            instance: self.instance.as_ref().map(|_| Vec::new()),
            thread_id: self.thread_id.as_ref().map(|_| Vec::new()),
            mars: self.mars,
            trace_id: self.trace_id.as_ref().map(|_| Vec::new()),
            federated_authentication: self.federated_authentication.map(|_| 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> PreLogin {
        PreLogin {
            version: Some((18, 6, 2, 1)),
            encryption: Some(Encryption::On),
            instance: Some(b"MSSQLServer".to_vec()),
            thread_id: Some(vec![1, 2, 3, 4]),
            mars: Some(true),
            trace_id: Some(vec![9; 36]),
            federated_authentication: Some(1),
        }
    }

    #[test]
    fn every_set_of_options_survives() {
        let full = full();
        assert_eq!(PreLogin::decode(&full.encode()), Ok(full.clone()));
        assert_eq!(PreLogin::decode(&[0xFF]), Ok(PreLogin::default()));
        let reversed = [&[1, 0, 11, 0, 1, 0, 0, 12, 0, 6, 0xFF, 3][..], &[9, 0, 0, 1, 0, 0]].concat();
        let message = PreLogin::decode(&reversed).unwrap();
        assert_eq!((message.encryption, message.version), (Some(Encryption::Required), Some((9, 0, 1, 0))));
    }

    #[test]
    fn hostile_offsets_are_errors() {
        let bytes = full().encode();
        for length in 0..bytes.len() {
            let _ = PreLogin::decode(&bytes[..length]);
        }
        assert!(PreLogin::decode(&[0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]).is_err());
        assert!(PreLogin::decode(&[]).is_err());
    }

    #[test]
    fn the_answer_agrees_by_the_table() {
        let answer = full().answer((16, 0, 1000, 0), Encryption::On);
        assert_eq!((answer.mars, answer.federated_authentication), (Some(true), Some(0)));
        let without = PreLogin { mars: Some(false), ..full() };
        assert_eq!(without.answer((16, 0, 1000, 0), Encryption::On).mars, Some(false));
        assert_eq!(agree(Encryption::Off), (Encryption::Off, EncryptionPlan::LoginOnly));
        assert_eq!(agree(Encryption::Required), (Encryption::On, EncryptionPlan::Everything));
        assert_eq!(agree(Encryption::NotSupported), (Encryption::NotSupported, EncryptionPlan::Plaintext));
    }
}
