//! LOGIN7: login name, database, packet size; TDS 7.0 to 7.4 layouts, and its encoder.

use std::fmt;

use crate::error::ProtocolError;
use crate::wire::{Reader, put_utf16, utf16_text};

/// A version of the protocol as LOGIN7 carries it (`0x74000004` is 7.4). Ordered: later versions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TdsVersion(pub u32);

impl TdsVersion {
    /// 7.1 (SQL Server 2000 SP1): no ALL_HEADERS, 4-byte row counts, 2-byte user types.
    pub const V7_1: TdsVersion = TdsVersion(0x7100_0001);
    /// 7.2 (SQL Server 2005).
    pub const V7_2: TdsVersion = TdsVersion(0x7209_0002);
    /// 7.3 revision B (SQL Server 2008 R2).
    pub const V7_3: TdsVersion = TdsVersion(0x730B_0003);
    /// 7.4 (SQL Server 2012 and later).
    pub const V7_4: TdsVersion = TdsVersion(0x7400_0004);
    /// 8.0 (strict encryption); most strict clients still say 7.4.
    pub const V8_0: TdsVersion = TdsVersion(0x0800_0000);

    /// Version times ten, from its first byte: 70 to 74, or 80.
    fn generation(self) -> u32 {
        match self.0 >> 24 {
            0x08 => 80,
            major => major.saturating_sub(0x70) + 70,
        }
    }

    /// 7.2 or later: ALL_HEADERS in requests, 8-byte row counts and 4-byte user types in answers, PLP types.
    pub fn is_7_2_or_later(self) -> bool {
        self.generation() >= 72
    }

    /// 7.3 or later: DATE, TIME, DATETIME2 and DATETIMEOFFSET exist.
    pub fn is_7_3_or_later(self) -> bool {
        self.generation() >= 73
    }

    fn check(self) -> Result<Self, ProtocolError> {
        match self.0 >> 24 {
            0x70..=0x74 | 0x08 => Ok(self),
            _ => Err(ProtocolError::invalid("TDS version", self.0)),
        }
    }
}

/// A password; its text appears neither in logs nor in `Debug` output.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// Bits of the option bytes that this server uses.
pub mod options {
    /// OptionFlags2: an ODBC-like client, ANSI defaults on.
    pub const FLAGS2_ODBC: u8 = 0x02;
    /// OptionFlags2: Windows authentication.
    pub const FLAGS2_INTEGRATED_SECURITY: u8 = 0x80;
    /// OptionFlags3: the client wants to change its password.
    pub const FLAGS3_CHANGE_PASSWORD: u8 = 0x01;
    /// OptionFlags3: a feature extension block follows.
    pub const FLAGS3_EXTENSION: u8 = 0x10;
}

/// Identifiers of the feature extension block that the server uses.
pub mod feature {
    /// Federated authentication.
    pub const FEDERATED_AUTHENTICATION: u8 = 0x02;
    /// End of the block.
    pub const TERMINATOR: u8 = 0xFF;
}

/// A login request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login7 {
    /// Requested protocol version.
    pub version: TdsVersion,
    /// Requested packet size; 0 leaves it to the server.
    pub packet_bytes: u32,
    /// Version of the client program.
    pub client_program_version: u32,
    /// Process id of the client.
    pub client_process_id: u32,
    /// Option bytes 1, 2, type flags, 3; see [`options`].
    pub flags: [u8; 4],
    /// Time zone of the client in minutes (historical).
    pub time_zone_minutes: i32,
    /// LCID and collation flags of the client.
    pub client_lcid: u32,
    /// Name of the client's machine.
    pub host_name: String,
    /// Login name.
    pub user_name: String,
    /// Password.
    pub password: Password,
    /// Name of the program.
    pub application_name: String,
    /// Name by which the client calls this server.
    pub server_name: String,
    /// Name of the client library.
    pub library_name: String,
    /// Requested language, empty for the default.
    pub language: String,
    /// Initial database, empty for the login's default.
    pub database: String,
    /// Network address of the client, as it says.
    pub client_id: [u8; 6],
    /// An SSPI token, empty for SQL authentication.
    pub sspi: Vec<u8>,
    /// A database file to attach (user instances; not supported).
    pub attach_file: String,
    /// The password to change to.
    pub new_password: Password,
    /// Requested feature extensions, in order, with their data.
    pub features: Vec<(u8, Vec<u8>)>,
}

/// Fixed part up to 7.1, and from 7.2 (with ChangePassword and the long SSPI length).
const FIXED_BYTES_7_1: usize = 86;
const FIXED_BYTES: usize = 94;

impl Default for Login7 {
    fn default() -> Self {
        let flags = [0xE0, options::FLAGS2_ODBC | 0x01, 0, 0];
        Login7 {
            version: TdsVersion::V7_4,
            packet_bytes: 4096,
            client_program_version: 0,
            client_process_id: 0,
            flags,
            time_zone_minutes: 0,
            client_lcid: 0x0409,
            host_name: String::new(),
            user_name: String::new(),
            password: Password::default(),
            application_name: String::new(),
            server_name: String::new(),
            library_name: String::new(),
            language: String::new(),
            database: String::new(),
            client_id: [0; 6],
            sspi: Vec::new(),
            attach_file: String::new(),
            new_password: Password::default(),
            features: Vec::new(),
        }
    }
}

/// One offset/length pair of the fixed part, resolved against the whole record.
struct Fields<'a> {
    record: &'a [u8],
    reader: Reader<'a>,
}

impl<'a> Fields<'a> {
    fn bytes(&mut self, unit_bytes: usize) -> Result<&'a [u8], ProtocolError> {
        let offset = usize::from(self.reader.u16()?);
        let length = usize::from(self.reader.u16()?) * unit_bytes;
        self.slice(offset, length)
    }

    fn slice(&self, offset: usize, length: usize) -> Result<&'a [u8], ProtocolError> {
        if length == 0 {
            return Ok(&[]);
        }
        self.record.get(offset..offset + length).ok_or(ProtocolError::Truncated { part: "LOGIN7 field" })
    }

    fn text(&mut self) -> Result<String, ProtocolError> {
        Ok(utf16_text(self.bytes(2)?))
    }

    fn password(&mut self) -> Result<Password, ProtocolError> {
        let clear: Vec<u8> = self.bytes(2)?.iter().map(|byte| (byte ^ 0xA5).rotate_left(4)).collect();
        Ok(Password(utf16_text(&clear)))
    }
}

impl Login7 {
    /// Decodes the payload of a LOGIN7 message. Offsets may overlap and come in any order; none may leave the record.
    pub fn decode(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader::new(payload, "LOGIN7");
        let length = reader.u32()? as usize;
        if length > payload.len() {
            return Err(ProtocolError::Truncated { part: "LOGIN7" });
        }
        let record = &payload[..length];
        let mut reader = Reader::new(record, "LOGIN7");
        reader.u32()?;
        let version = TdsVersion(reader.u32()?).check()?;
        let packet_bytes = reader.u32()?;
        let client_program_version = reader.u32()?;
        let client_process_id = reader.u32()?;
        reader.u32()?; // connection id, always 0
        let flags = reader.array()?;
        let time_zone_minutes = reader.u32()? as i32;
        let client_lcid = reader.u32()?;
        let mut fields = Fields { record, reader };
        let mut login = Login7 {
            version,
            packet_bytes,
            client_program_version,
            client_process_id,
            flags,
            time_zone_minutes,
            client_lcid,
            host_name: fields.text()?,
            user_name: fields.text()?,
            password: fields.password()?,
            application_name: fields.text()?,
            server_name: fields.text()?,
            ..Login7::default()
        };
        let extension = fields.bytes(1)?;
        login.decode_rest(fields)?;
        if flags[3] & options::FLAGS3_EXTENSION != 0 {
            login.features = decode_features(record, extension)?;
        }
        Ok(login)
    }

    /// The fields after the extension pointer.
    fn decode_rest(&mut self, mut fields: Fields<'_>) -> Result<(), ProtocolError> {
        self.library_name = fields.text()?;
        self.language = fields.text()?;
        self.database = fields.text()?;
        self.client_id = fields.reader.array()?;
        let sspi_offset = usize::from(fields.reader.u16()?);
        let mut sspi_length = usize::from(fields.reader.u16()?);
        self.attach_file = fields.text()?;
        if self.version.is_7_2_or_later() {
            self.new_password = fields.password()?;
            let long = fields.reader.u32()? as usize;
            if sspi_length == usize::from(u16::MAX) && long > 0 {
                sspi_length = long;
            }
        }
        self.sspi = fields.slice(sspi_offset, sspi_length)?.to_vec();
        Ok(())
    }

    /// Encodes the payload of a LOGIN7 message.
    pub fn encode(&self) -> Vec<u8> {
        let fixed_bytes = if self.version.is_7_2_or_later() { FIXED_BYTES } else { FIXED_BYTES_7_1 };
        let mut fixed = vec![0; 4];
        let mut data = Vec::new();
        for word in
            [self.version.0, self.packet_bytes, self.client_program_version, self.client_process_id, 0]
        {
            fixed.extend_from_slice(&word.to_le_bytes());
        }
        let mut flags = self.flags;
        if !self.features.is_empty() {
            flags[3] |= options::FLAGS3_EXTENSION;
        }
        fixed.extend_from_slice(&flags);
        fixed.extend_from_slice(&self.time_zone_minutes.to_le_bytes());
        fixed.extend_from_slice(&self.client_lcid.to_le_bytes());
        let mut text = |fixed: &mut Vec<u8>, text: &str| {
            put_pair(fixed, fixed_bytes + data.len(), text.encode_utf16().count());
            put_utf16(&mut data, text);
        };
        text(&mut fixed, &self.host_name);
        text(&mut fixed, &self.user_name);
        put_pair(&mut fixed, fixed_bytes + data.len(), put_obfuscated(&mut data, &self.password.0) / 2);
        for field in [&self.application_name, &self.server_name] {
            put_pair(&mut fixed, fixed_bytes + data.len(), field.encode_utf16().count());
            put_utf16(&mut data, field);
        }
        let extension_at = data.len();
        put_pair(&mut fixed, fixed_bytes + extension_at, if self.features.is_empty() { 0 } else { 4 });
        if !self.features.is_empty() {
            data.extend_from_slice(&[0; 4]);
        }
        for field in [&self.library_name, &self.language, &self.database] {
            put_pair(&mut fixed, fixed_bytes + data.len(), field.encode_utf16().count());
            put_utf16(&mut data, field);
        }
        fixed.extend_from_slice(&self.client_id);
        put_pair(&mut fixed, fixed_bytes + data.len(), self.sspi.len());
        data.extend_from_slice(&self.sspi);
        put_pair(&mut fixed, fixed_bytes + data.len(), self.attach_file.encode_utf16().count());
        put_utf16(&mut data, &self.attach_file);
        if self.version.is_7_2_or_later() {
            put_pair(
                &mut fixed,
                fixed_bytes + data.len(),
                put_obfuscated(&mut data, &self.new_password.0) / 2,
            );
            fixed.extend_from_slice(&[0; 4]);
        }
        if !self.features.is_empty() {
            let at = ((fixed_bytes + data.len()) as u32).to_le_bytes();
            data[extension_at..extension_at + 4].copy_from_slice(&at);
            put_features(&mut data, &self.features);
        }
        fixed.extend_from_slice(&data);
        let length = (fixed.len() as u32).to_le_bytes();
        fixed[..4].copy_from_slice(&length);
        fixed
    }
}

/// `pointer` holds the 32-bit offset of the feature block within `record`.
fn decode_features(record: &[u8], pointer: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, ProtocolError> {
    let Some(pointer) = pointer.first_chunk::<4>() else {
        return Ok(Vec::new());
    };
    let at = u32::from_le_bytes(*pointer) as usize;
    let block = record.get(at..).ok_or(ProtocolError::Truncated { part: "LOGIN7 feature extension" })?;
    let mut reader = Reader::new(block, "LOGIN7 feature extension");
    let mut features = Vec::new();
    loop {
        let id = reader.u8()?;
        if id == feature::TERMINATOR {
            return Ok(features);
        }
        let length = reader.u32()? as usize;
        features.push((id, reader.take(length)?.to_vec()));
    }
}

fn put_features(out: &mut Vec<u8>, features: &[(u8, Vec<u8>)]) {
    for (id, data) in features {
        out.push(*id);
        out.extend_from_slice(&(data.len() as u32).to_le_bytes());
        out.extend_from_slice(data);
    }
    out.push(feature::TERMINATOR);
}

fn put_pair(out: &mut Vec<u8>, offset: usize, length: usize) {
    out.extend_from_slice(&(offset as u16).to_le_bytes());
    out.extend_from_slice(&(length as u16).to_le_bytes());
}

/// Appends the scrambled text and returns its length in bytes.
fn put_obfuscated(out: &mut Vec<u8>, text: &str) -> usize {
    let start = out.len();
    put_utf16(out, text);
    for byte in &mut out[start..] {
        *byte = byte.rotate_left(4) ^ 0xA5;
    }
    out.len() - start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(version: TdsVersion) -> Login7 {
        Login7 {
            version,
            packet_bytes: 8000,
            host_name: "host".into(),
            user_name: "sa".into(),
            password: Password("Pä$$wörd 🦀".into()),
            application_name: "app".into(),
            server_name: "server".into(),
            library_name: "library".into(),
            language: "us_english".into(),
            database: "master".into(),
            client_id: [1, 2, 3, 4, 5, 6],
            ..Login7::default()
        }
    }

    #[test]
    fn every_version_survives() {
        for version in
            [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_3, TdsVersion::V7_4, TdsVersion::V8_0]
        {
            let login = login(version);
            assert_eq!(Login7::decode(&login.encode()), Ok(login));
        }
        let mut with_features = login(TdsVersion::V7_4);
        with_features.features = vec![(0x0A, vec![1]), (0x01, vec![])];
        with_features.flags[3] |= options::FLAGS3_EXTENSION;
        assert_eq!(Login7::decode(&with_features.encode()), Ok(with_features));
    }

    #[test]
    fn the_fixed_part_has_the_documented_size() {
        let empty = Login7 { version: TdsVersion::V7_1, ..Login7::default() };
        assert_eq!(empty.encode().len(), FIXED_BYTES_7_1);
        assert_eq!(Login7::default().encode().len(), FIXED_BYTES);
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", login(TdsVersion::V7_4)).contains("wörd"));
    }

    #[test]
    fn truncation_and_flipped_bits_never_panic() {
        let mut login = login(TdsVersion::V7_4);
        login.features = vec![(0x0A, vec![1])];
        let bytes = login.encode();
        for length in 0..bytes.len() {
            assert!(Login7::decode(&bytes[..length]).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let _ = Login7::decode(&flipped);
            }
        }
    }

    #[test]
    fn unknown_versions_are_refused() {
        let login = Login7 { version: TdsVersion(0x7500_0000), ..Login7::default() };
        assert!(Login7::decode(&login.encode()).is_err());
        let old = Login7 { version: TdsVersion(0x0402_0000), ..Login7::default() };
        assert!(Login7::decode(&old.encode()).is_err());
    }
}
