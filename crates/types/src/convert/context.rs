//! The session's settings that affect conversions.

use crate::DateFormat;
use crate::datetime::parse::ParseOptions;

/// The session's settings that affect conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertContext {
    /// SET DATEFORMAT.
    pub date_format: DateFormat,
    /// SET DATEFIRST, 1 (Monday)..=7 (Sunday, us_english).
    pub date_first: u8,
    /// SET ANSI_WARNINGS: off lets assignments truncate in silence.
    pub ansi_warnings: bool,
    /// Two digits of a year mean the hundred years that end with this one.
    pub two_digit_year_cutoff: u16,
}

impl Default for ConvertContext {
    fn default() -> Self {
        ConvertContext {
            date_format: DateFormat::Mdy,
            date_first: 7,
            ansi_warnings: true,
            two_digit_year_cutoff: 2049,
        }
    }
}

impl ConvertContext {
    /// How text is read as a date under these settings.
    pub fn parse_options(&self, is_old_type: bool) -> ParseOptions {
        ParseOptions {
            date_format: self.date_format,
            is_old_type,
            two_digit_year_cutoff: self.two_digit_year_cutoff,
        }
    }
}
