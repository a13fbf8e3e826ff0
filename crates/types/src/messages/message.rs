//! The type of the catalogue's entries.

/// One entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// SQL Server's number.
    pub number: i32,
    /// Severity in `sys.messages`; `raised` has those that are raised with another one.
    pub severity: u8,
    /// Text; `%s` and `%d` stand for arguments, `%%` for a percent sign.
    pub text: &'static str,
}

/// An entry, for the parts.
pub(super) const fn entry(number: i32, severity: u8, text: &'static str) -> Message {
    Message { number, severity, text }
}
