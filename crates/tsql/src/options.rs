//! Options of the parser.

/// Session settings that change the meaning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOptions {
    /// SET QUOTED_IDENTIFIER: whether `"x"` is a name (true, the default) or a string.
    pub quoted_identifier: bool,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { quoted_identifier: true }
    }
}
