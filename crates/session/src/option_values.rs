//! Values of options that both SET and atomic blocks accept.

use std::sync::Arc;

use types::{SqlError, SqlResult};

/// Checks a value of DATEFIRST. Error 2742.
pub(crate) fn date_first(wanted: i64) -> SqlResult<u8> {
    match u8::try_from(wanted) {
        Ok(day @ 1..=7) => Ok(day),
        _ => Err(SqlError::new(2742, &[&wanted])),
    }
}

/// Checks a value of DATEFORMAT. Error 2741.
pub(crate) fn date_format(wanted: &str) -> SqlResult<Arc<str>> {
    let wanted = wanted.to_lowercase();
    match wanted.as_str() {
        "mdy" | "dmy" | "ymd" | "ydm" | "myd" | "dym" => Ok(wanted.into()),
        _ => Err(SqlError::new(2741, &[&wanted])),
    }
}

/// Checks a value of LANGUAGE. Error 2740.
pub(crate) fn language(wanted: &str) -> SqlResult<Arc<str>> {
    match wanted.to_lowercase().as_str() {
        "us_english" | "english" => Ok("us_english".into()),
        _ => Err(SqlError::new(2740, &[&wanted])),
    }
}
